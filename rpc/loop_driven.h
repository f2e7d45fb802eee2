/*
 * rpc/loop_driven.h - a loop that has no thread: another loop watches its one descriptor and has it do what there is to do.
 * For loop.c, whose verbs come here for such a loop.
 *
 * The descriptor is an epoll set of all that is watched, of a timerfd that stands at the next timer, and of an eventfd that
 * wakes it. libev is not part of it, since it tells neither its descriptor nor its next timer.
 */
#ifndef RINGNFS_RPC_LOOP_DRIVEN_H
#define RINGNFS_RPC_LOOP_DRIVEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/loop.h"

struct driven {
    int fd, timer_fd, wake_fd;
    LIST_HEAD(, loop_timer) timers;     /* that run */
    bool busy;
};

/* Returns 0 or -errno; on error there is nothing to be closed. */
int driven_open(struct driven *driven);
void driven_close(struct driven *driven);

/* What a watch is to be told of; 0: nothing. */
void driven_watch(struct driven *driven, struct loop_fd *watch, int events);

void driven_timer_start(struct driven *driven, struct loop_timer *timer, uint64_t ms);
void driven_timer_stop(struct loop_timer *timer);

/* Any thread. */
void driven_wake(struct driven *driven);

/*
 * Handle what there is without waiting: one event after the other, and the timers that are due. Returns whether there was
 * any. *woken: driven_wake() was called since the last time.
 */
bool driven_step(struct driven *driven, bool *woken);

/* Nothing more is done for now. again: though there is something to do. */
void driven_rest(struct driven *driven, bool again);

/* Wait until the descriptor is readable. */
void driven_wait(const struct driven *driven);

#endif
