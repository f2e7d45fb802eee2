/*
 * server/replay_target.h - the server that calls are sent to: one TCP connection for NFS and one for MOUNT, one call at a
 * time.
 */
#ifndef RINGNFS_SERVER_REPLAY_TARGET_H
#define RINGNFS_SERVER_REPLAY_TARGET_H

#include <stddef.h>
#include <stdint.h>

#include "server/ringnfs.h"

struct replay_target_config {
    const char *host;                   /* a name or an address */
    uint16_t port, mount_port;          /* 0: 2049, and what rpcbind there says */
    int timeout_ms;                     /* that a call may take */
};

struct replay_target;

/* Returns 0 or -errno with error. */
int replay_target_open(const struct replay_target_config *config, struct replay_target **target, char *error,
                       size_t error_size);
void replay_target_close(struct replay_target *target);

/*
 * Make a call like this one, with its credentials and these arguments. Returns its outcome, an accept_stat, with the bytes
 * of the results, good until the next call; or -errno with error: -EPERM when the credentials are refused.
 */
int replay_target_call(struct replay_target *target, const struct ringnfs_call *call, const uint8_t *args, size_t args_len,
                       const uint8_t **results, size_t *len, char *error, size_t error_size);

#endif
