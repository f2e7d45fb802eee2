/* server/ringnfs_private.h - what the files of the public interface have in common. */
#ifndef RINGNFS_SERVER_RINGNFS_PRIVATE_H
#define RINGNFS_SERVER_RINGNFS_PRIVATE_H

#include <stdbool.h>

#include "server/ringnfs.h"
#include "server/server.h"

/* Who is to look on from the start. */
struct ringnfs_seeing {
    ringnfs_hook *hook;
    void *hook_context;
    size_t keep_calls;
};

/* A call that goes before the start only. Returns 0 or -errno, and the reason has been noted. */
int ringnfs_enter_fresh(struct ringnfs *rig, struct ringnfs_seeing **seeing);

/* Note a reason. Returns err, or -EINVAL without a server (NULL). */
int ringnfs_refuse(struct ringnfs *rig, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether there is a server that runs. */
bool ringnfs_runs(const struct ringnfs *rig);

/* A call about a server that runs: it, and where an error goes. Returns as above. */
int ringnfs_enter_running(struct ringnfs *rig, struct server **server, char **error, size_t *error_size);

#endif
