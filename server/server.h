/*
 * server/server.h - the whole server as a value: made, started, asked, stopped; several in one process if one likes.
 *
 * It installs no signal handlers and keeps nothing outside of this structure. All functions are for one thread at a time,
 * the one that made it; the work is done on threads of its own.
 */
#ifndef RINGNFS_SERVER_SERVER_H
#define RINGNFS_SERVER_SERVER_H

#include <stdint.h>
#include <sys/socket.h>

#include "server/exports.h"
#include "server/log.h"
#include "server/settings.h"

struct server;

struct server_config {
    const struct settings *settings;    /* copied */
    struct exports_source exports;      /* copied */
    const struct sockaddr_storage *addresses;   /* to listen on; none: all */
    size_t naddresses;
    struct log log;
};

/* Where it can be reached. */
struct server_ports {
    uint16_t nfs, mount;                /* TCP and UDP alike */
};

/*
 * Make and start: exports are opened, sockets bound, workers running, calls answered when it returns. Returns 0 or -errno;
 * then error holds one line that names the thing (a directory, an export line, an address and port).
 */
int server_new(const struct server_config *config, struct server **server, char *error, size_t error_size);

void server_ports(const struct server *server, struct server_ports *ports);

/*
 * Read the exports again. Returns 0, or -errno with error, and then the old ones stay as they are. Calls under way end
 * with the exports they began with.
 */
int server_reload_exports(struct server *server, char *error, size_t error_size);

/* Finish what is under way (at most drain_timeout), close everything, end all threads, free. */
void server_free(struct server *server);

#endif
