/* server/squash.h - who a caller is on an export: its squashing of ids, as exports(5) has it. */
#ifndef RINGNFS_SERVER_SQUASH_H
#define RINGNFS_SERVER_SQUASH_H

#include <sys/types.h>

#include "rpc/call.h"
#include "server/exports.h"
#include "storage/cred.h"

/*
 * Fill in cred; groups has room for CALL_GIDS_MAX and stays with it. The result never has an id of -1, which means "no
 * change" to the kernel. Any thread.
 */
void squash(const struct export_rights *rights, const struct call_auth *auth, struct store_cred *cred, gid_t *groups);

#endif
