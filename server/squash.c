/*
 * server/squash.c - root_squash, all_squash, anonuid and anongid (exports(5)).
 *
 * Done once, in dispatch, before any procedure runs: what comes after sees only the result.
 */
#include "server/squash.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_ID UINT32_MAX                /* (uid_t)-1 */
#define NOBODY 65534

static void
become(struct store_cred *cred, uint32_t uid, uint32_t gid)
{
    cred->uid = uid;
    cred->gid = gid;
    cred->ngroups = 0;
}

void
squash(const struct export_rights *rights, const struct call_auth *auth, struct store_cred *cred, gid_t *groups)
{
    uint32_t anon_uid = rights->anon_uid != NO_ID ? rights->anon_uid : NOBODY;
    uint32_t anon_gid = rights->anon_gid != NO_ID ? rights->anon_gid : NOBODY;
    bool root_squashed = rights->root_squash && auth->uid == 0;

    cred->groups = groups;
    if (auth->flavor == CALL_AUTH_NONE) {               /* nobody vouches for him: not root, whatever anonuid says */
        become(cred, anon_uid != 0 ? anon_uid : NOBODY, anon_gid != 0 ? anon_gid : NOBODY);
        return;
    }
    if (rights->all_squash || root_squashed || auth->uid == NO_ID) {
        become(cred, anon_uid, anon_gid);
        return;
    }
    become(cred, auth->uid, auth->gid != NO_ID ? auth->gid : anon_gid);
    if (rights->root_squash && cred->gid == 0)
        cred->gid = anon_gid;
    for (uint32_t i = 0; i < auth->ngids && i < CALL_GIDS_MAX; i++) {
        if (auth->gids[i] == NO_ID)
            continue;
        groups[cred->ngroups++] = rights->root_squash && auth->gids[i] == 0 ? anon_gid : auth->gids[i];
    }
}
