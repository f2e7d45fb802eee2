/*
 * server/groups_libc.c - the groups that this machine knows: /etc/group, LDAP, and whatever else nsswitch.conf(5) says.
 *
 * getgrouplist(3) cannot say that a service fails, getpwuid_r(3) can: so the user is looked up before his groups and once
 * more behind them.
 */
#include "server/groups.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <time.h>

#define PASSWD_BYTES (16 << 10)         /* of an entry, at first */
#define PASSWD_BYTES_MAX (1 << 20)

/* An entry of the user database. *found is NULL when there is none; *memory holds its strings and is to be freed. */
static int
find_user(uid_t uid, struct passwd *entry, struct passwd **found, char **memory)
{
    size_t size = PASSWD_BYTES / 2;
    int err = ERANGE;

    *memory = NULL;
    while (err == ERANGE && size < PASSWD_BYTES_MAX) {
        size *= 2;
        free(*memory);
        *memory = malloc(size);
        if (*memory == NULL)
            return -ENOMEM;
        do
            err = getpwuid_r(uid, entry, *memory, size, found);
        while (err == EINTR);
    }
    return -err;
}

static int
libc_list(void *context, uid_t uid, gid_t *gids, uint32_t *count)
{
    struct passwd entry, again, *user, *still;
    char *memory, *more = NULL;
    int room = GROUPS_MAX, err = find_user(uid, &entry, &user, &memory);

    (void)context;
    *count = 0;
    if (err == 0 && user != NULL) {
        if (getgrouplist(user->pw_name, user->pw_gid, gids, &room) < 0)
            err = -E2BIG;
        else
            *count = (uint32_t)room;
        if (err == 0)
            err = find_user(uid, &again, &still, &more);
    }
    free(more);
    free(memory);
    return err;
}

static uint64_t
libc_now_ms(void *context)
{
    struct timespec now;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const struct groups_source groups_libc = {
    .list = libc_list,
    .now_ms = libc_now_ms,
};
