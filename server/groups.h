/*
 * server/groups.h - which groups a user is in as this machine knows it (manage_gids), without a wait for a directory
 * service.
 *
 * A call carries 16 groups at most; with manage_gids they are not looked at, and the list of the server's own user
 * database counts instead, as with mountd --manage-gids. One thread of its own asks the source; all others see a bounded
 * cache. What is not known yet is asked for, and a call waits by having a message posted to its loop. An answer is good
 * for ttl_ms and is asked for again a little before that, if it is still wanted. A user who is not known here is an
 * answer: no groups, kept for a shorter time.
 *
 * A failing source is no answer: the last good one stays in use until the source answers again. Who was never asked
 * about successfully is told to come again, since no groups at all would be a wrong answer. Failing is logged once.
 */
#ifndef RINGNFS_SERVER_GROUPS_H
#define RINGNFS_SERVER_GROUPS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "rpc/loop.h"
#include "server/log.h"

#define GROUPS_MAX 65536                /* of one user: NGROUPS_MAX of Linux */

struct groups;

/* The groups of a user: in order, each once, never -1. Does not change. */
struct groups_list {
    _Atomic uint32_t refs;
    uint32_t count;
    gid_t gids[];
};

/*
 * Where lists come from. list() may block; it is called by the one thread of a struct groups. gids has room for
 * GROUPS_MAX. It returns 0 with *count, in any order, 0 for a user whom nobody knows; or -errno when it could not be
 * found out for now.
 */
struct groups_source {
    void *context;
    int (*list)(void *context, uid_t uid, gid_t *gids, uint32_t *count);
    uint64_t (*now_ms)(void *context);  /* never blocks; any thread */
};

/* getpwuid_r(3), getgrouplist(3) and the monotonic clock. */
extern const struct groups_source groups_libc;

struct groups_config {
    const struct groups_source *source; /* NULL: groups_libc; outlives a function of its own that still blocks */
    const struct log *log;
    uint32_t entries;                   /* users who are remembered */
    uint64_t ttl_ms;
    uint32_t waiting;                   /* calls that may wait at once */
};

/* A call that waits; embedded in it. */
struct groups_wait {
    struct loop_message message;        /* first; groups.c's, like the links */
    TAILQ_ENTRY(groups_wait) link;
    struct loop *loop;                  /* set these two before it is used */
    void (*answered)(struct groups_wait *wait);
};

/* Returns 0 or -errno. */
int groups_new(const struct groups_config *config, struct groups **groups);

/* Wake up everybody who waits, and let nobody wait any more. To be called before the loops end. Any thread. */
void groups_stop(struct groups *groups);

/* A function of the source that still blocks is waited for a second, then the thread is left to end once it returns. */
void groups_free(struct groups *groups);

/*
 * The groups of a user. Returns 0 and a reference; -EINPROGRESS when they are not known yet: wait->answered(wait) then
 * runs on the wait's loop once there is more to be said, and the question is put again; -EAGAIN when they are not known
 * and the caller must come again by himself: too many wait already, or the source fails. Any thread.
 */
int groups_find(struct groups *groups, uid_t uid, struct groups_wait *wait, struct groups_list **list);

/* Give a list back; NULL is none. Any thread. */
void groups_put(struct groups_list *list);

#endif
