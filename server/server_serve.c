/*
 * server/server_serve.c - how a server can be reached: its sockets, who gets their connections, what rpcbind is told, and
 * the beginning of service.
 */
#include "server/server_private.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/sysctls.h"
#include "server/takeover.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/nfs_acl.h"

#define AUTO_UDP_BUFFER (4u << 20)      /* bytes, as far as the kernel gives them */
#define LOGGED_EXPORTS 8                /* named in the line at the start */
#define LOGGED_PATH 128                 /* bytes of each */

int
server_open_sockets(struct server *server, const struct server_config *config, unsigned workers, char *error,
                    size_t error_size)
{
    const struct settings *settings = &server->settings;
    const struct takeover *from = config->takeover;
    struct listen_config listen = {
        .addresses = config->addresses,
        .naddresses = config->naddresses,
        .port = (uint16_t)settings->port,
        .tcp = settings->tcp,
        .udp = settings->udp,
        .udp_sockets = workers,
        .backlog = (int)settings->backlog,
        .udp_buffer = settings->udp_buffer != 0 ? settings->udp_buffer : AUTO_UDP_BUFFER,
        .inherited = from != NULL ? from->sockets : NULL,
        .ninherited = from != NULL ? from->nsockets : 0,
        .inherited_port = from != NULL ? from->nfs_port : 0,
    };
    int err = listen_open(&listen, &server->nfs_sockets, error, error_size);

    if (err < 0)
        return err;
    server->ports.nfs = server->ports.mount = server->nfs_sockets.port;
    if (server->ports.nfs == 0 || settings->mount_port == 0 || settings->mount_port == server->ports.nfs)
        return 0;
    listen.port = (uint16_t)settings->mount_port;
    listen.skip_local = true;
    err = listen_open(&listen, &server->mount_sockets, error, error_size);
    server->ports.mount = server->mount_sockets.port;
    return err;
}

/* A new connection is for the worker that has fewest; the search begins behind the last one that got any. */
static void
give_connection(void *context, int fd)
{
    struct server *server = context;
    const struct transport_shared *shared = &server->shared.transport;
    bool full = atomic_load_explicit(&shared->connections, memory_order_relaxed) >= shared->limits.connections;
    unsigned best = (server->last_given + 1) % server->nworkers;

    for (unsigned i = 0, at = best; i < server->nworkers; i++, at = (at + 1) % server->nworkers) {
        uint32_t here = worker_connections(server->workers[at]);
        uint32_t there = worker_connections(server->workers[best]);

        if (full ? here > there : here < there)
            best = at;
    }
    server->last_given = best;
    worker_add_connection(server->workers[best], fd);
}

int
server_list_sockets(struct server *server)
{
    const struct listen_set *sets[] = { &server->nfs_sockets, &server->mount_sockets };
    struct socket_list *list = &server->handed_sockets;

    list->fds = calloc(sets[0]->count + sets[1]->count + 1, sizeof(*list->fds));
    if (list->fds == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sets[i]->count; k++)
            list->fds[list->count++] = sets[i]->sockets[k].fd;
    return 0;
}

/* What another process has had: spread over the workers, as connections are. */
static void
restore_connections(struct server *server, struct handed_list *conns)
{
    for (size_t i = 0; i < conns->count; i++)
        worker_restore_connection(server->workers[i % server->nworkers], &conns->conns[i]);
}

static int
hand_out(struct server *server, struct listen_set *set)
{
    int err = 0;

    for (size_t i = 0; i < set->count && err == 0; i++) {
        struct listen_socket *socket = &set->sockets[i];
        int fd = socket->fd;

        socket->fd = -1;
        if (socket->type == SOCK_STREAM)
            err = worker_listen(server->workers[0], fd, give_connection, server);
        else
            worker_add_datagram(server->workers[socket->worker], fd);
    }
    return err;
}

/* What rpcbind is told: the families follow from the sockets. */
static void
list_registrations(struct server *server)
{
    static const struct { uint32_t prog, vers; } served[REGISTRATIONS] = {
        { NFS_PROGRAM, NFS_V3 }, { NFS_ACL_PROGRAM, NFS_ACL_V3 }, { MOUNT_PROGRAM, MOUNT_V1 }, { MOUNT_PROGRAM, MOUNT_V3 },
    };
    bool ipv4 = false, ipv6 = false;

    for (size_t i = 0; i < server->nfs_sockets.count; i++) {
        ipv6 = ipv6 || server->nfs_sockets.sockets[i].address.ss_family == AF_INET6;
        ipv4 = ipv4 || server->nfs_sockets.sockets[i].address.ss_family == AF_INET;
    }
    for (size_t i = 0; i < REGISTRATIONS; i++)
        server->registrations[i] = (struct rpcbind_entry){
            .prog = served[i].prog,
            .vers = served[i].vers,
            .tcp = server->settings.tcp,
            .udp = server->settings.udp,
            .ipv4 = ipv4,
            .ipv6 = ipv6,
            .port = served[i].prog == MOUNT_PROGRAM ? server->ports.mount : server->ports.nfs,
        };
}

int
server_register_ports(struct server *server, char *error, size_t error_size)
{
    char reason[256];
    int err;

    list_registrations(server);
    if (server->settings.rpcbind == RPCBIND_OFF || server->ports.nfs == 0)
        return 0;
    err = rpcbind_register(server->registrations, REGISTRATIONS, reason, sizeof(reason));
    server->registered = err == 0;
    if (err == 0)
        return 0;
    if (server->settings.rpcbind == RPCBIND_SYSTEM) {
        snprintf(error, error_size, "%s", reason);
        return err;
    }
    log_info(&server->log, "%s; clients have to name the port when they mount", reason);
    return 0;
}

/*
 * What the server that this one follows has registered is good as long as the ports are the same. That one does not serve
 * any more, so a failure is told and nothing else.
 */
static void
follow_registration(struct server *server, const struct takeover *from)
{
    char error[SERVER_ERROR_MAX];

    list_registrations(server);
    if (from->registered && server->settings.rpcbind == RPCBIND_OFF)
        rpcbind_unregister(server->registrations, REGISTRATIONS);
    else if (from->registered && from->nfs_port == server->ports.nfs && from->mount_port == server->ports.mount)
        server->registered = true;
    else if (server_register_ports(server, error, sizeof(error)) < 0)
        log_error(&server->log, "%s", error);
}

static void
log_start(const struct server *server)
{
    const struct exports *set = server->exports;
    struct pool_stats stats;
    char names[LOGGED_EXPORTS * (LOGGED_PATH + 2) + 32] = "nothing";
    char path[LOGGED_PATH], ports[64] = "no port";
    size_t used = 0;

    for (size_t i = 0; i < MIN(set->count, LOGGED_EXPORTS); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                                 log_quote(path, sizeof(path), set->list[i].path, set->list[i].path_len));
    if (set->count > LOGGED_EXPORTS)
        snprintf(names + used, sizeof(names) - used, " and %zu more", set->count - LOGGED_EXPORTS);
    pool_read_stats(server->pool, &stats);
    if (server->ports.nfs != 0)
        snprintf(ports, sizeof(ports), "port %u, MOUNT on port %u", server->ports.nfs, server->ports.mount);
    log_info(&server->log, "serving %s on %s; engine %s, workers %u, threads %u", names, ports,
             worker_engine_name(server->workers[0]), server->nworkers, stats.threads);
    if (server->settings.sqpoll > 0 && !worker_polls(server->workers[0]))
        log_warn(&server->log, "sqpoll: this kernel gives no such thread; workers submit themselves");
    if (worker_cred_mode(server->workers[0]) == CRED_SELF)
        log_warn(&server->log, "not root: every caller acts as user %u here, whoever he is", (unsigned)geteuid());
}

int
server_begin_to_serve(struct server *server, const struct takeover *from, struct handed_list *conns, char *error,
                      size_t error_size)
{
    int err;

    restore_connections(server, conns);
    err = hand_out(server, &server->nfs_sockets);
    if (err == 0)
        err = hand_out(server, &server->mount_sockets);
    if (err < 0)
        return server_explain(err, "listening", error, error_size);
    log_start(server);
    sysctls_warn(&server->settings, NULL, &server->log);
    server_watch_mounts(server);
    server->has_run = true;
    if (from != NULL)
        follow_registration(server, from);
    if (server->control != NULL)
        err = control_start(server->control);
    return err < 0 ? server_explain(err, "the control socket", error, error_size) : 0;
}
