/*
 * server/principals.h - Kerberos as this server has it: whom its callers are known as on this machine, and what the
 * operator is told of them.
 *
 * Who a caller is by name - his name on this machine for a principal - is Kerberos' own to say (auth_to_local in
 * krb5.conf(5): by default a principal of the default realm that is one word). His ids are looked up when his context is
 * made, and stay with it until it ends, as with rpc.svcgssd; his groups are looked up like those of manage_gids (groups.h).
 */
#ifndef RINGNFS_SERVER_PRINCIPALS_H
#define RINGNFS_SERVER_PRINCIPALS_H

#include <stdint.h>

#include "rpc/gss.h"
#include "server/exports.h"
#include "server/log.h"
#include "server/settings.h"

/*
 * Where ids come from. find() may block; it is called by one thread, and outlives a server that does not wait for it. It
 * returns 0, with UINT32_MAX for a name that nobody has, or -errno when it could not be found out for now.
 */
struct principals_source {
    void *context;
    int (*find)(void *context, const char *name, uint32_t *uid, uint32_t *gid);
};

/* getpwnam_r(3). */
extern const struct principals_source principals_libc;

/*
 * What a server needs for RPCSEC_GSS; source NULL: principals_libc. log outlives it. now_ms: the server's clock. Returns 0
 * or -errno; without Kerberos in this build *gss is NULL.
 */
int principals_new(const struct settings *settings, const struct principals_source *source, const struct log *log,
                   uint64_t (*now_ms)(void), struct gss **gss);

/*
 * Speak RPCSEC_GSS if one of these exports accepts it; where the server has no keys for that yet, it is told. gss NULL is
 * fine. May block on the disk; not for a worker. Returns 0 or -errno.
 */
int principals_follow(struct gss *gss, const struct exports *set, const struct log *log);

#endif
