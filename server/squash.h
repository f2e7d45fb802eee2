/* server/squash.h - who a caller is on an export: its squashing of ids, as exports(5) has it. */
#ifndef RINGNFS_SERVER_SQUASH_H
#define RINGNFS_SERVER_SQUASH_H

#include <stdbool.h>
#include <sys/types.h>

#include "rpc/call.h"
#include "server/exports.h"
#include "server/groups.h"
#include "storage/cred.h"

/*
 * Fill in cred, for a call of the flavour that sec is for; groups has room for CALL_GIDS_MAX and stays with it. The
 * result never has an id of -1, which means "no change" to the kernel. Returns whether the caller stays himself, so that
 * his groups count. Any thread.
 */
bool squash(const struct export_rights *rights, const struct export_sec *sec, const struct call_auth *auth,
            struct store_cred *cred, gid_t *groups);

/*
 * Let the list count for the groups of a caller who stays himself. It is borrowed, or, where it must be changed, copied:
 * into groups, as above, or else into *more, which is the caller's to free. Returns 0 or -ENOMEM. Any thread.
 */
int squash_groups(const struct export_rights *rights, const struct export_sec *sec, const struct groups_list *list,
                  struct store_cred *cred, gid_t *groups, gid_t **more);

#endif
