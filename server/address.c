/* server/address.c - see address.h. */
#include "server/address.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "server/log.h"

#define SHOWN_MAX 256                   /* bytes of a wrong word that are shown */

static int
parse_path(const char *path, struct sockaddr_storage *address, char *error, size_t error_size)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX };
    char shown[SHOWN_MAX];
    size_t len = strlen(path);

    if (len >= sizeof(local.sun_path)) {
        snprintf(error, error_size, "%s has %zu bytes; the name of a Unix socket has %zu at most",
                 log_quote(shown, sizeof(shown), path, len), len, sizeof(local.sun_path) - 1);
        return -ENAMETOOLONG;
    }
    memcpy(local.sun_path, path, len);
    memset(address, 0, sizeof(*address));
    memcpy(address, &local, sizeof(local));
    return 0;
}

int
address_parse(const char *text, struct sockaddr_storage *address, char *error, size_t error_size)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found;
    char shown[SHOWN_MAX];

    if (text[0] == '/')
        return parse_path(text, address, error, error_size);
    if (getaddrinfo(text, NULL, &hints, &found) != 0) {
        snprintf(error, error_size, "%s is neither a numeric IPv4 or IPv6 address nor the absolute path of a socket",
                 log_quote(shown, sizeof(shown), text, strlen(text)));
        return -EINVAL;
    }
    memset(address, 0, sizeof(*address));
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}
