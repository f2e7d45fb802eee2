/*
 * server/squash.c - root_squash, all_squash, anonuid, anongid and manage_gids (exports(5)).
 *
 * Done once, in dispatch, before any procedure runs: what comes after sees only the result.
 */
#include "server/squash.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NO_ID UINT32_MAX                /* (uid_t)-1 */
#define NOBODY 65534

static void
become(struct store_cred *cred, uint32_t uid, uint32_t gid)
{
    cred->uid = uid;
    cred->gid = gid;
    cred->ngroups = 0;
}

bool
squash(const struct export_rights *rights, const struct export_sec *sec, const struct call_auth *auth,
       struct store_cred *cred, gid_t *groups)
{
    uint32_t anon_uid = rights->anon_uid != NO_ID ? rights->anon_uid : NOBODY;
    uint32_t anon_gid = rights->anon_gid != NO_ID ? rights->anon_gid : NOBODY;
    bool root_squashed = sec->root_squash && auth->uid == 0;

    cred->groups = groups;
    if (auth->flavor == CALL_AUTH_NONE) {               /* nobody vouches for him: not root, whatever anonuid says */
        become(cred, anon_uid != 0 ? anon_uid : NOBODY, anon_gid != 0 ? anon_gid : NOBODY);
        return false;
    }
    if (sec->all_squash || auth->uid == NO_ID) {
        become(cred, anon_uid, anon_gid);
        return false;
    }
    /* As in the kernel's server, uid 0 and gid 0 are each mapped for themselves; other groups stay. */
    become(cred, root_squashed ? anon_uid : auth->uid, auth->gid != NO_ID ? auth->gid : anon_gid);
    if (sec->root_squash && cred->gid == 0)
        cred->gid = anon_gid;
    if (root_squashed && rights->manage_gids)
        return false;                                   /* root's own list has no group but his */
    for (uint32_t i = 0; i < auth->ngids && i < CALL_GIDS_MAX; i++) {
        if (auth->gids[i] == NO_ID)
            continue;
        groups[cred->ngroups++] = sec->root_squash && auth->gids[i] == 0 ? anon_gid : auth->gids[i];
    }
    return !root_squashed;
}

/* As in the kernel's server, root's group becomes the anonymous one. */
int
squash_groups(const struct export_rights *rights, const struct export_sec *sec, const struct groups_list *list,
              struct store_cred *cred, gid_t *groups, gid_t **more)
{
    gid_t *copy = groups;

    cred->groups = list->gids;
    cred->ngroups = list->count;
    if (!sec->root_squash || list->count == 0 || list->gids[0] != 0)
        return 0;
    if (list->count > CALL_GIDS_MAX) {
        copy = *more = malloc(list->count * sizeof(*copy));
        if (copy == NULL)
            return -ENOMEM;
    }
    memcpy(copy, list->gids, list->count * sizeof(*copy));
    copy[0] = rights->anon_gid != NO_ID ? rights->anon_gid : NOBODY;
    cred->groups = copy;
    return 0;
}
