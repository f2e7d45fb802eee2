/* server/notify.c - see notify.h. */
#include "server/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LISTENS_S 5                     /* so long may the manager not listen */

/* A path, or '@' and the name of an abstract socket. */
static int
make_address(const char *name, struct sockaddr_un *address, socklen_t *len)
{
    size_t name_len = strlen(name);

    if ((name[0] != '/' && name[0] != '@') || name_len < 2)
        return -EAFNOSUPPORT;
    if (name_len >= sizeof(address->sun_path))
        return -ENAMETOOLONG;
    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    memcpy(address->sun_path, name, name_len);
    if (name[0] == '@')
        address->sun_path[0] = '\0';
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name_len);
    return 0;
}

static int
send_text(const struct sockaddr_un *address, socklen_t len, const char *text)
{
    const struct timeval longest = { .tv_sec = LISTENS_S };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)address, len) < 0)
        err = -errno;
    close(fd);
    return err;
}

static int
notify(const char *text, char *error, size_t error_size)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address;
    socklen_t len;
    int err;

    if (name == NULL || name[0] == '\0')
        return 0;
    err = make_address(name, &address, &len);
    if (err == 0)
        err = send_text(&address, len, text);
    if (err < 0)
        snprintf(error, error_size, "the service manager cannot be told: NOTIFY_SOCKET %s: %s", name, strerror(-err));
    return err;
}

int
notify_ready(char *error, size_t error_size)
{
    return notify("READY=1", error, error_size);
}

int
notify_reloading(char *error, size_t error_size)
{
    struct timespec now;
    char text[64];

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
             (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    return notify(text, error, error_size);
}

int
notify_stopping(char *error, size_t error_size)
{
    return notify("STOPPING=1", error, error_size);
}

int
notify_follower(pid_t pid, char *error, size_t error_size)
{
    char text[32];

    snprintf(text, sizeof(text), "MAINPID=%ld", (long)pid);
    return notify(text, error, error_size);
}
