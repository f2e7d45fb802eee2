/*
 * server/delay.h - calls of one worker that are to begin later, by the loop's timer.
 *
 * All that is delayed can be let go at once: when limits change, and when the server ends. What calls that are delayed
 * hold is bounded for the whole server. All functions belong to the worker's thread.
 */
#ifndef RINGNFS_SERVER_DELAY_H
#define RINGNFS_SERVER_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/loop.h"
#include "server/rate.h"

/* Shared by the workers of one server. */
struct delay_budget {
    _Atomic uint64_t max_bytes;         /* may be changed while there are queues */
    _Atomic uint64_t used_bytes;
};

/* One call; embedded in it. Set timer.fired to NULL before it is first used. */
struct delay {
    struct loop_timer timer;            /* first; delay.c's, like all but over */
    TAILQ_ENTRY(delay) link;
    struct delay_queue *queue;
    uint64_t due_ns;
    size_t bytes;                       /* of the budget */
    void (*over)(struct delay *delay);  /* set this */
};

struct delay_queue {
    struct loop *loop;
    const struct rate *rate;            /* whose clock counts */
    struct delay_budget *budget;
    TAILQ_HEAD(delay_list, delay) list;
    bool ended;                         /* nothing is delayed any more */
};

/* rate and budget outlive it. */
void delay_queue_init(struct delay_queue *queue, struct loop *loop, const struct rate *rate,
                      struct delay_budget *budget);

/* Nothing may be delayed. */
void delay_queue_fini(struct delay_queue *queue);

/*
 * Have delay->over() called once it is due. bytes: of the budget, until then. Returns 0, -EAGAIN when the
 * budget is used up, or -ECANCELED when the queue has ended: then the call begins now.
 */
int delay_start(struct delay_queue *queue, struct delay *delay, uint64_t due_ns, size_t bytes);

/* Let all go now. */
void delay_release(struct delay_queue *queue);

/* The same, and delay nothing from now on; or do so again. */
void delay_end(struct delay_queue *queue);
void delay_resume(struct delay_queue *queue);

#endif
