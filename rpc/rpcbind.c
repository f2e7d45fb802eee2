/*
 * rpc/rpcbind.c - registration with the system's rpcbind, by libtirpc's client.
 *
 * libtirpc speaks to rpcbind over its local socket, which tells rpcbind who owns a registration. Where nobody listens
 * it would try one transport after the other for a long time, so that is asked first.
 */
#include "rpc/rpcbind.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_clnt.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define RPCBIND_SOCKET "/run/rpcbind.sock"
#define RPCBIND_PORT 111
#define CONNECT_TIMEOUT_S 2

static struct netconfig transports[] = {
    { .nc_netid = "tcp", .nc_semantics = NC_TPI_COTS_ORD, .nc_flag = NC_VISIBLE, .nc_protofmly = NC_INET,
      .nc_proto = NC_TCP, .nc_device = "-" },
    { .nc_netid = "udp", .nc_semantics = NC_TPI_CLTS, .nc_flag = NC_VISIBLE, .nc_protofmly = NC_INET,
      .nc_proto = NC_UDP, .nc_device = "-" },
    { .nc_netid = "tcp6", .nc_semantics = NC_TPI_COTS_ORD, .nc_flag = NC_VISIBLE, .nc_protofmly = NC_INET6,
      .nc_proto = NC_TCP, .nc_device = "-" },
    { .nc_netid = "udp6", .nc_semantics = NC_TPI_CLTS, .nc_flag = NC_VISIBLE, .nc_protofmly = NC_INET6,
      .nc_proto = NC_UDP, .nc_device = "-" },
};
#define NTRANSPORTS (sizeof(transports) / sizeof(transports[0]))

static bool
can_connect(const void *address, socklen_t len, int family)
{
    const struct timeval timeout = { CONNECT_TIMEOUT_S, 0 };
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok;

    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    ok = connect(fd, address, len) == 0;
    close(fd);
    return ok;
}

static bool
is_running(void)
{
    struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = RPCBIND_SOCKET };
    struct sockaddr_in inet = { .sin_family = AF_INET, .sin_port = htons(RPCBIND_PORT),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    return can_connect(&local, sizeof(local), AF_UNIX) || can_connect(&inet, sizeof(inet), AF_INET);
}

static bool
is_wanted(const struct rpcbind_entry *entry, const struct netconfig *transport)
{
    bool is_tcp = transport->nc_semantics == NC_TPI_COTS_ORD;
    bool is_ipv6 = strcmp(transport->nc_protofmly, NC_INET6) == 0;

    return (is_tcp ? entry->tcp : entry->udp) && (is_ipv6 ? entry->ipv6 : entry->ipv4);
}

static bool
register_one(const struct rpcbind_entry *entry, const struct netconfig *transport)
{
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(entry->port) };
    struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(entry->port) };
    struct netbuf address = { sizeof(any), sizeof(any), &any };

    if (strcmp(transport->nc_protofmly, NC_INET6) == 0)
        address = (struct netbuf){ sizeof(any6), sizeof(any6), &any6 };
    return rpcb_set(entry->prog, entry->vers, transport, &address);
}

static void
unregister_all(const struct rpcbind_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        rpcb_unset(entries[i].prog, entries[i].vers, NULL);
}

int
rpcbind_register(const struct rpcbind_entry *entries, size_t count, char *error, size_t error_size)
{
    if (!is_running()) {
        snprintf(error, error_size, "no rpcbind is running on this machine");
        return -ECONNREFUSED;
    }
    unregister_all(entries, count);
    for (size_t i = 0; i < count; i++) {
        for (size_t t = 0; t < NTRANSPORTS; t++) {
            if (!is_wanted(&entries[i], &transports[t]) || register_one(&entries[i], &transports[t]))
                continue;
            snprintf(error, error_size, "rpcbind refused to register program %u version %u for %s port %u",
                     entries[i].prog, entries[i].vers, transports[t].nc_netid, entries[i].port);
            unregister_all(entries, count);
            return -EPERM;
        }
    }
    return 0;
}

void
rpcbind_unregister(const struct rpcbind_entry *entries, size_t count)
{
    if (is_running())
        unregister_all(entries, count);
}
