/*
 * rpc/loop.h - one thread's event loop: libev behind a few verbs.
 *
 * All functions belong to the loop's own thread, but for loop_post() and loop_stop().
 */
#ifndef RINGNFS_RPC_LOOP_H
#define RINGNFS_RPC_LOOP_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct loop;

/* A file descriptor that is watched; embedded in its owner. events: EV_READ, EV_WRITE or both. */
struct loop_fd {
    ev_io io;                           /* first; loop.c's */
    void (*ready)(struct loop_fd *watch, int events);
    int events;                         /* loop_driven.c's */
};

/* A timer; embedded in its owner, all zero before it is first started. */
struct loop_timer {
    ev_timer timer;                     /* first; loop.c's */
    void (*fired)(struct loop_timer *timer);
    LIST_ENTRY(loop_timer) link;        /* loop_driven.c's, like all below */
    uint64_t due_ns;
    bool listed;
};

/* A message to a loop from another thread; the sender allocates it, run() frees it. */
struct loop_message {
    struct loop_message *next;
    void (*run)(struct loop_message *message);
};

/* Returns 0 or -errno. before_wait(context) is called each time before the loop sleeps. */
int loop_new(void (*before_wait)(void *context), void *context, struct loop **loop);

/*
 * A loop that another one drives. Its descriptor is readable whenever there is something to do, a timer that is due
 * included: then loop_turn() does it, and does not wait. The loop's own thread is whichever calls loop_turn() or
 * loop_run(), one at a time.
 */
int loop_new_driven(void (*before_wait)(void *context), void *context, struct loop **loop);
int loop_fd(const struct loop *loop);
void loop_turn(struct loop *loop);

/*
 * Messages that have not been run are run first, so that what they carry is not lost. A loop_post() or loop_stop() that
 * has begun is waited for; none may begin any more.
 */
void loop_free(struct loop *loop);

/* Run until loop_stop(). */
void loop_run(struct loop *loop);

/* Any thread. */
void loop_stop(struct loop *loop);

/* Run message->run on the loop's thread, soon; messages of one sender in order. Any thread. */
void loop_post(struct loop *loop, struct loop_message *message);

/* While busy the loop looks for events without sleeping; for work that is left over for the next before_wait. */
void loop_busy(struct loop *loop, bool busy);

/* Start, change and end the watching of a descriptor. events 0 stops. */
void loop_watch(struct loop *loop, struct loop_fd *watch, int fd, int events,
                void (*ready)(struct loop_fd *watch, int events));
void loop_events(struct loop *loop, struct loop_fd *watch, int events);
void loop_unwatch(struct loop *loop, struct loop_fd *watch);

/* Fire once after `ms` milliseconds; starting again restarts. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t ms,
                      void (*fired)(struct loop_timer *timer));
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

#endif
