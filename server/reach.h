/* server/reach.h - how clients get at a server: the command that mounts an export, libnfs' URL, and both as JSON. */
#ifndef RINGNFS_SERVER_REACH_H
#define RINGNFS_SERVER_REACH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "server/server.h"

struct reach {
    char host[INET6_ADDRSTRLEN + 2];    /* a numeric address, in brackets if it is of IPv6 */
    struct server_ports ports;
    bool tcp;                           /* else UDP */
};

/*
 * Fill in what holds for all exports of a server that listens on these addresses (none: all). The host is the first one of
 * IPv4, or else of IPv6; the loopback address stands for a server that listens on all. Any thread.
 */
void reach_init(struct reach *reach, struct server *server, const struct sockaddr_storage *addresses, size_t naddresses);

/* The command by which root mounts an export on /mnt, quoted for a shell. To be freed; NULL when memory is short. */
char *reach_command(const struct reach *reach, const char *path);

/*
 * The URL of an export (RFC 2224) with libnfs' parameters. Unusual bytes are percent-encoded, which libnfs 4.0 does not
 * undo. To be freed; NULL when memory is short.
 */
char *reach_url(const struct reach *reach, const char *path);

/* One line of JSON, without the newline, with the ports and all exports. To be freed; NULL when memory is short. */
char *reach_json(const struct reach *reach, struct server *server);

#endif
