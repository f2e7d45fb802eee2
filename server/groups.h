/*
 * server/groups.h - which groups a user is in as this machine knows it (manage_gids), without a wait for a directory
 * service.
 *
 * A call carries 16 groups at most; with manage_gids they are not looked at, and the list of the server's own user
 * database counts instead, as with mountd --manage-gids. A resolver (resolver.h) asks the source, remembers the answers and
 * lets calls wait. A user who is not known here is an answer: no groups, kept for a shorter time.
 *
 * A failing source is no answer: the last good one stays in use until the source answers again. Who was never asked
 * about successfully is told to come again, since no groups at all would be a wrong answer. Failing is logged once.
 */
#ifndef RINGNFS_SERVER_GROUPS_H
#define RINGNFS_SERVER_GROUPS_H

#include <stdint.h>
#include <sys/types.h>

#include "server/log.h"
#include "server/resolver.h"

#define GROUPS_MAX 65536                /* of one user: NGROUPS_MAX of Linux */

struct groups;
struct sandbox;

/* The groups of a user: in order, each once, never -1. They do not change. */
struct groups_list {
    struct resolver_answer *answer;     /* a reference to what holds them; NULL: there are none */
    const gid_t *gids;
    uint32_t count;
};

/*
 * Where lists come from. list() may block; it is called by several threads at once. gids has room for GROUPS_MAX. It
 * returns 0 with *count, in any order, 0 for a user whom nobody knows; or -errno when it could not be found out for now.
 */
struct groups_source {
    void *context;
    int (*list)(void *context, uid_t uid, gid_t *gids, uint32_t *count);
    uint64_t (*now_ms)(void *context);  /* never blocks; any thread */
};

/* getpwuid_r(3), getgrouplist(3) and the monotonic clock. */
extern const struct groups_source groups_libc;

struct groups_config {
    const struct sandbox *sandbox;      /* of the threads that look up; NULL: none */
    const struct groups_source *source; /* NULL: groups_libc; outlives a function of its own that still blocks */
    const struct log *log;
    uint32_t entries;                   /* users who are remembered */
    uint64_t ttl_ms;
    uint32_t waiting;                   /* calls that may wait at once, */
    uint32_t waiting_each;              /* and for one answer */
};

/* Returns 0 or -errno. */
int groups_new(const struct groups_config *config, struct groups **groups);

/* Another ttl_ms, as with resolver_set_times(). */
void groups_set_ttl(struct groups *groups, uint64_t ttl_ms);

/* Wake up everybody who waits, and let nobody wait any more. To be called before the loops end. Any thread. */
void groups_stop(struct groups *groups);

/* A function of the source that still blocks is waited for a second, as with resolver_free(). NULL is none. */
void groups_free(struct groups *groups);

/*
 * The groups of a user. Returns 0 and a list, to be given back; else as resolver_find(): -EINPROGRESS or -EAGAIN, and no
 * list. Any thread.
 */
int groups_find(struct groups *groups, uid_t uid, struct resolver_wait *wait, struct groups_list *list);

/* Give a list back, which is empty then, or was. Any thread. */
void groups_put(struct groups_list *list);

#endif
