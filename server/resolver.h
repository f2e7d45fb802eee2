/*
 * server/resolver.h - questions whose answers may take long, asked by threads of their own and remembered: what hosts.h
 * and groups.h have in common.
 *
 * A question is a key of bytes. A few threads call the user's ask(), so that one slow answer does not hold up all
 * questions; everybody else sees a bounded cache. What is not known yet is asked for, and a call waits by having a message
 * posted to its loop. An answer is good for ttl_ms and is asked for again a little before that, if it is still wanted.
 * "There is none" is an answer, kept for a shorter time.
 *
 * A failing source is no answer: the last good one is kept until stale_ms after it came. A question that has never been
 * answered stays open for as long; the caller is told to come again meanwhile. After that it counts as "none", until the
 * source answers. Failing is told once.
 */
#ifndef RINGNFS_SERVER_RESOLVER_H
#define RINGNFS_SERVER_RESOLVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/loop.h"

#define RESOLVER_FOREVER UINT64_MAX     /* as stale_ms */
#define RESOLVER_THREADS 4              /* at most; each but the first is started when all others are busy */

struct resolver;
struct sandbox;

/* What a source said. Does not change. */
struct resolver_answer {
    _Atomic uint32_t refs;
    uint32_t len;                       /* bytes of data */
    unsigned char data[];               /* aligned for numbers of up to 8 bytes */
};

/*
 * Whose questions they are. A key is as it was given to resolver_find(), in memory aligned for any type. changed(),
 * failed() and recovered() are called under the resolver's lock: they must be quick and may not call back.
 */
struct resolver_user {
    /*
     * May block; called by several threads at once, never for the same key. Returns 0 with an answer, which is the
     * resolver's then, or with NULL for "there is none", as it is before; or -errno when it could not be found out for now.
     */
    int (*ask)(void *context, const void *key, struct resolver_answer **answer);
    uint64_t (*now_ms)(void *context);  /* never blocks; any thread */
    /* An answer, NULL for "none", is the first one to this key or differs from the last. NULL: nobody wants to know. */
    void (*changed)(void *context, const void *key, const struct resolver_answer *answer);
    void (*failed)(void *context, const void *key, int err);    /* for the first time since recovered() */
    void (*recovered)(void *context);
    void (*release)(void *context);     /* nothing uses the context any more */
};

struct resolver_config {
    const struct sandbox *sandbox;      /* of its threads; NULL: none */
    const struct resolver_user *user;
    void *context;
    unsigned reserved;                  /* threads that take urgent questions only; fewer than RESOLVER_THREADS */
    uint32_t entries;                   /* questions that are remembered */
    size_t bytes;                       /* in all answers that are remembered */
    uint64_t ttl_ms;
    uint64_t stale_ms;                  /* at least ttl_ms is used */
    uint32_t waiting;                   /* calls that may wait at once, */
    uint32_t waiting_each;              /* and for one answer: others shall get in while a slow one is awaited */
};

/* A call that waits; embedded in it. It can be used for one question after the other. */
struct resolver_wait {
    struct loop_message message;        /* first; resolver.c's, like the link */
    TAILQ_ENTRY(resolver_wait) link;
    struct loop *loop;                  /* set these two before it is used */
    void (*answered)(struct resolver_wait *wait);
};

struct resolver_query {
    const void *key;
    size_t key_len;
    bool urgent;                        /* goes before those that are not; always the same for the same key */
    struct resolver_wait *wait;         /* NULL: the caller cannot wait */
    uint64_t until_ms;                  /* lowered to the time when the answer has to be asked for again */
};

/* Returns NULL when there is no memory. */
struct resolver_answer *resolver_answer_new(const void *data, size_t len);

/* Give an answer back; NULL is none. Any thread. */
void resolver_answer_put(struct resolver_answer *answer);

/* Returns 0, or -errno; the context is released only after success. */
int resolver_new(const struct resolver_config *config, struct resolver **resolver);

/* How long answers are good for from now on; those that there are keep their time. Any thread. */
void resolver_set_times(struct resolver *resolver, uint64_t ttl_ms, uint64_t stale_ms);

/* Wake up everybody who waits, and let nobody wait any more. To be called before the loops end. Any thread. */
void resolver_stop(struct resolver *resolver);

/*
 * Calls of ask() that still block are waited for a second in all; then their threads are left behind, and the last one to
 * return releases the context. changed(), failed() and recovered() are not called any more.
 */
void resolver_free(struct resolver *resolver);

/*
 * Put a question. Returns 0 with a reference to the answer, NULL for "none"; -EINPROGRESS when it is not known yet:
 * wait->answered(wait) then runs on the wait's loop once there is more to be said, and the question is put again; -EAGAIN
 * when it is not known and the caller must come again by himself: there was no wait, too many wait already, for this
 * answer or in all, or the source fails. Any thread.
 */
int resolver_find(struct resolver *resolver, struct resolver_query *query, struct resolver_answer **answer);

#endif
