/* server/sysctls.c - see sysctls.h. */
#include "server/sysctls.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/text.h"

#define SOMAXCONN_FILE "/proc/sys/net/core/somaxconn"

/* What a buffer of so many bytes becomes, by trying it; the kernel doubles it for its own needs. 0: not known. */
static uint32_t
allowed_buffer(int option, int force_option, uint32_t bytes)
{
    const int size = (int)MIN(bytes, INT32_MAX / 2);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), got = 0;
    socklen_t len = sizeof(got);

    if (fd < 0)
        return 0;
    if (force_option == 0 || setsockopt(fd, SOL_SOCKET, force_option, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, option, &size, sizeof(size));
    getsockopt(fd, SOL_SOCKET, option, &got, &len);
    close(fd);
    return (uint32_t)got / 2;
}

static void
warn_buffer(const struct log *log, const char *key, uint32_t bytes, uint32_t allowed, const char *sysctl)
{
    char wanted_text[24], allowed_text[24];

    if (allowed > 0 && allowed < bytes)
        log_warn(log, "%s: the kernel allows %s of %s; the sysctl %s is its bound", key,
                 text_format_size(allowed_text, sizeof(allowed_text), allowed),
                 text_format_size(wanted_text, sizeof(wanted_text), bytes), sysctl);
}

static uint32_t
read_somaxconn(void)
{
    FILE *file = fopen(SOMAXCONN_FILE, "re");
    unsigned value = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%u", &value) != 1)
        value = 0;
    fclose(file);
    return value;
}

static void
warn_backlog(const struct log *log, uint32_t backlog)
{
    uint32_t allowed = read_somaxconn();

    if (allowed > 0 && allowed < backlog)
        log_warn(log, "backlog: the kernel allows %u of %u; the sysctl net.core.somaxconn is its bound", allowed, backlog);
}

static bool
concerns(const char *key, const char *setting)
{
    return key == NULL || strcmp(key, setting) == 0;
}

void
sysctls_warn(const struct settings *settings, const char *key, const struct log *log)
{
    uint32_t tcp = settings->socket_buffer, udp = settings->udp_buffer;

    if (concerns(key, "socket_buffer") && settings->tcp && tcp > 0) {
        warn_buffer(log, "socket_buffer", tcp, allowed_buffer(SO_RCVBUF, 0, tcp), "net.core.rmem_max");
        warn_buffer(log, "socket_buffer", tcp, allowed_buffer(SO_SNDBUF, 0, tcp), "net.core.wmem_max");
    }
    if (concerns(key, "udp_buffer") && settings->udp && udp > 0)
        warn_buffer(log, "udp_buffer", udp, allowed_buffer(SO_RCVBUF, SO_RCVBUFFORCE, udp), "net.core.rmem_max");
    if (concerns(key, "backlog") && settings->tcp)
        warn_backlog(log, settings->backlog);
}
