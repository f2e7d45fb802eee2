/*
 * rpc/source.h - what a connection and a datagram socket have in common: call.c and transport.c know them by this.
 *
 * Sources are never freed in the middle of something: one that is closed is freed by transport.c before the loop sleeps
 * next, once none of its calls is outstanding. All on the worker's thread.
 */
#ifndef RINGNFS_RPC_SOURCE_H
#define RINGNFS_RPC_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/call.h"
#include "rpc/handed.h"
#include "rpc/transport.h"
#include "rpc/turns.h"

struct call_source_ops {
    /* Room for a reply's header and results, valid until send() or the next space(); NULL when memory is short. */
    uint8_t *(*space)(struct call_source *source, size_t bytes);
    /* Queue the reply between call->reply_start and call->reply.p, and the payload after it. */
    void (*send)(struct call_source *source, struct call *call);
    /* Send so many bytes of the reply, behind what is queued, and reset the connection; call NULL: at once. NULL: none. */
    void (*reset)(struct call_source *source, struct call *call, size_t bytes);
    /* Take up reading where it was left: after a pause or when there were too many calls for one turn. */
    void (*resume)(struct call_source *source);
    /* Send what is queued, let go of memory that is not needed, close if it is time. */
    void (*flush)(struct call_source *source);
    /* Watch the socket for what is wanted of it now; called when the transport is paused or resumed. */
    void (*watch)(struct call_source *source);
    /* No new calls from now on. */
    void (*stop)(struct call_source *source);
    /* Put a copy of it into the list, with a descriptor of its own; NULL for datagrams. Returns 0 or -errno. */
    int (*copy)(struct call_source *source, struct handed_list *list);
    /* It holds memory for a client that has hardly moved a byte since this was asked last. */
    bool (*stalled)(struct call_source *source);
    /* It could be closed and nobody would miss anything. */
    bool (*idle)(const struct call_source *source);
    /* Nothing is left to be sent. */
    bool (*sent)(const struct call_source *source);
    /* Close the socket at once and call source_closed(). */
    void (*close)(struct call_source *source);
    void (*free)(struct call_source *source);
};

struct call_source {
    const struct call_source_ops *ops;
    struct transport *transport;
    TAILQ_ENTRY(call_source) all;       /* those that are open, or those that are closed */
    TAILQ_ENTRY(call_source) dirty;     /* to be flushed before the loop sleeps */
    TAILQ_ENTRY(call_source) ready;     /* to be resumed before the loop sleeps */
    TAILQ_ENTRY(call_source) starved;   /* to be resumed when there may be memory again */
    bool is_closed, is_dirty, is_ready, is_starved;
    uint16_t lane;                      /* its client's, in turns.h */
    bool stream;
    bool has_called;                    /* a whole call has come from it */
    struct client *client;              /* whose it is; NULL: nobody's that is counted */
    uint32_t moved_look;                /* transport_private.looks when it last moved a byte */
    uint32_t outstanding;               /* calls */
    int32_t holds;                      /* calls that hold it: call_hold() */
    uint64_t expected_bytes;            /* of replies to them, as far as that was said */
    size_t reply_max;                   /* bytes of results */
    struct call *replying;              /* has begun its reply */
    struct fault_late *late;            /* a reply that leaves after the next one; NULL: none waits */
};

TAILQ_HEAD(source_list, call_source);

/* Sources of a client that are to be resumed. */
struct ready_lane {
    struct source_list sources;
    TAILQ_ENTRY(ready_lane) next;
};

TAILQ_HEAD(lane_list, ready_lane);

struct transport_private {
    struct transport *transport;
    struct transport_shared *shared;
    const struct program *const *programs;
    size_t nprograms;
    size_t call_size;
    void (*before_wait)(void *context);
    struct source_list open, closed, dirty, starved;
    struct ready_lane ready[TURN_LANES];
    struct lane_list ready_lanes;       /* those that are not empty */
    unsigned nready_lanes;
    unsigned nready;                    /* sources in all of them */
    struct call_source *first;          /* may take memory that is reserved; NULL: nobody needs it */
    uint64_t first_ns;                  /* since when */
    struct turns turns;
    struct loop_timer starved_timer;
    struct loop_timer stalled_timer;
    struct loop_timer idle_timer;
    uint32_t looks;                     /* for idle connections, so far */
    struct call *calls;                 /* not in use */
    struct call *first_yielded, *last_yielded;          /* under way, and not their turn */
    unsigned nyielded;
    struct buf *slabs;                  /* what they are cut from */
    struct loop_timer drain_timer;
    void (*drained)(void *context);
    void (*frozen)(void *context, int err);
    bool is_frozen;                     /* paused with all calls answered, for another process */
};

/* transport.c */
void source_opened(struct transport *transport, struct call_source *source, const struct call_source_ops *ops);
void source_closed(struct call_source *source);
void source_dirty(struct call_source *source);
/* It has received something: the one that has not for longest is first to go. */
void source_used(struct call_source *source);
/* It has moved a byte either way. */
void source_moved(struct call_source *source);
/*
 * Close the one that has been idle for longest, if there is one; rather one that has never called. client: only of his;
 * NULL: of anybody's.
 */
bool source_close_idle(struct transport *transport, const struct sockaddr *client);
/* Let it have a turn before the loop sleeps, behind those of its client that wait already. */
void source_ready(struct call_source *source);
/* Some of its client wait. */
bool source_has_waiting(const struct call_source *source);
/* Its client's turn: false when that was over in this round. After true, source_turn_ends() follows. */
bool source_turn_begins(struct call_source *source);
bool source_turn_is_over(struct call_source *source);
/* How long it has lasted, as of source_turn_is_over(). */
uint64_t source_turn_ns(const struct call_source *source);
void source_turn_ends(struct call_source *source);
/* Whether other clients have had turns lately. */
bool source_is_among_others(const struct call_source *source);
/* Without memory for now: it is resumed in a moment. */
void source_starved(struct call_source *source);
/*
 * Half a call holds memory, and with enough of them there is none left for the other halves: one at a time may take of what
 * is reserved, until its call is whole, or a second has passed and another one asks. Returns whether it is this one.
 */
bool source_goes_first(struct call_source *source);
void source_went_first(struct call_source *source);

/* call.c: a call with nothing but its transport and source set; NULL when memory is short. */
struct call *call_new(struct call_source *source);

/* No call is free, and those that there are have much of what all may have: be modest. */
bool call_scarce(const struct transport *transport);

/* Room for a whole reply; the source lends it to one call at a time. NULL when memory is short. */
uint8_t *call_space(struct call *call, size_t bytes);

/* The call is over, answered or not. */
void call_end(struct call *call);

/* A call that has not been handed over. */
void call_free(struct call *call);

/*
 * Read the message's header and give the call to its program, or answer in the program's place. data lies in buf, of
 * which the call takes a reference. Returns 0, or -EBADMSG when it is no message; the call is used up either way.
 */
int call_deliver(struct call *call, struct buf *buf, const uint8_t *data, size_t len);

/* Counters have one writer, so no locked addition is needed. */
static inline void
stat_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

#endif
