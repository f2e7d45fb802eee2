/* rpc/rpcbind.h - tell the system's rpcbind (RFC 1833) which programs are served where. Blocking; any thread. */
#ifndef RINGNFS_RPC_RPCBIND_H
#define RINGNFS_RPC_RPCBIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpcbind_entry {
    uint32_t prog, vers;
    bool tcp, udp, ipv4, ipv6;
    uint16_t port;
};

/*
 * Register all entries, replacing older registrations of the same programs. Returns 0 or -errno (-ECONNREFUSED: no
 * rpcbind answers; -EPERM: it refused); error then holds one line. What had been registered is taken back.
 */
int rpcbind_register(const struct rpcbind_entry *entries, size_t count, char *error, size_t error_size);

/* Take the registrations back; failures are of no consequence. */
void rpcbind_unregister(const struct rpcbind_entry *entries, size_t count);

#endif
