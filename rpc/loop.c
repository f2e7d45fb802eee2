/*
 * rpc/loop.c - one thread's event loop over libev.
 *
 * Messages from other threads are pushed on a lock-free stack; the loop takes the whole stack at once and turns it
 * round, so that they run in the order in which they were posted. Only the message that finds the stack empty wakes the
 * loop.
 *
 * A loop that is driven by another has no libev (ev is NULL).
 */
#include "rpc/loop.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "rpc/loop_driven.h"

#define STEPS_MAX 64                    /* in one turn of a driven loop: then the caller's other business has its turn */

struct loop {
    struct ev_loop *ev;                 /* NULL: it is driven */
    struct driven driven;
    ev_prepare prepare;
    ev_async wake;
    ev_idle busy;
    void (*before_wait)(void *context);
    void *context;
    _Atomic(struct loop_message *) posted;
    atomic_bool stopping;
    atomic_uint callers;                /* threads within loop_post() or loop_stop() */
};

static void
run_posted(struct loop *loop)
{
    struct loop_message *newest = atomic_exchange_explicit(&loop->posted, NULL, memory_order_acquire);
    struct loop_message *oldest = NULL;
    struct loop_message *next;

    for (; newest != NULL; newest = next) {
        next = newest->next;
        newest->next = oldest;
        oldest = newest;
    }
    for (; oldest != NULL; oldest = next) {
        next = oldest->next;
        oldest->run(oldest);
    }
}

/* Whatever was posted. Returns whether the loop is to stop. */
static bool
take_posted(struct loop *loop)
{
    run_posted(loop);
    return atomic_load(&loop->stopping);
}

static void
woken(struct ev_loop *ev, ev_async *wake, int events)
{
    struct loop *loop = wake->data;

    (void)events;
    if (take_posted(loop))
        ev_break(ev, EVBREAK_ALL);
}

static void
prepared(struct ev_loop *ev, ev_prepare *prepare, int events)
{
    struct loop *loop = prepare->data;

    (void)ev;
    (void)events;
    loop->before_wait(loop->context);
}

static void
idled(struct ev_loop *ev, ev_idle *idle, int events)
{
    (void)ev;
    (void)idle;
    (void)events;
}

int
loop_new(void (*before_wait)(void *context), void *context, struct loop **out)
{
    struct loop *loop = calloc(1, sizeof(*loop));

    if (loop == NULL)
        return -ENOMEM;
    loop->ev = ev_loop_new(EVFLAG_NOENV | EVBACKEND_EPOLL);
    if (loop->ev == NULL)
        loop->ev = ev_loop_new(EVFLAG_AUTO);
    if (loop->ev == NULL) {
        free(loop);
        return -ENOMEM;
    }
    loop->before_wait = before_wait;
    loop->context = context;
    ev_prepare_init(&loop->prepare, prepared);
    loop->prepare.data = loop;
    if (before_wait != NULL)
        ev_prepare_start(loop->ev, &loop->prepare);
    ev_async_init(&loop->wake, woken);
    loop->wake.data = loop;
    ev_async_start(loop->ev, &loop->wake);
    ev_idle_init(&loop->busy, idled);
    *out = loop;
    return 0;
}

int
loop_new_driven(void (*before_wait)(void *context), void *context, struct loop **out)
{
    struct loop *loop = calloc(1, sizeof(*loop));
    int err;

    if (loop == NULL)
        return -ENOMEM;
    loop->before_wait = before_wait;
    loop->context = context;
    err = driven_open(&loop->driven);
    if (err < 0) {
        free(loop);
        return err;
    }
    *out = loop;
    return 0;
}

int
loop_fd(const struct loop *loop)
{
    return loop->driven.fd;
}

/* What a step has brought about is sent before the next, so it goes on until there was nothing to do. */
void
loop_turn(struct loop *loop)
{
    bool woken, any = true;

    for (int i = 0; i < STEPS_MAX && any && !atomic_load(&loop->stopping); i++) {
        any = driven_step(&loop->driven, &woken);
        if (woken)
            take_posted(loop);
        if (loop->before_wait != NULL)
            loop->before_wait(loop->context);
        any = any || loop->driven.busy;
    }
    driven_rest(&loop->driven, any);
}

void
loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    while (atomic_load(&loop->callers) > 0)              /* what they posted may be why the loop ended */
        sched_yield();
    run_posted(loop);
    if (loop->ev != NULL)
        ev_loop_destroy(loop->ev);
    else
        driven_close(&loop->driven);
    free(loop);
}

static void
run_driven(struct loop *loop)
{
    for (loop_turn(loop); !atomic_load(&loop->stopping); loop_turn(loop))
        driven_wait(&loop->driven);
}

void
loop_run(struct loop *loop)
{
    if (loop->ev != NULL)
        ev_run(loop->ev, 0);
    else
        run_driven(loop);
    atomic_store(&loop->stopping, false);
}

static void
wake(struct loop *loop)
{
    if (loop->ev != NULL)
        ev_async_send(loop->ev, &loop->wake);
    else
        driven_wake(&loop->driven);
}

void
loop_stop(struct loop *loop)
{
    atomic_fetch_add(&loop->callers, 1);
    atomic_store(&loop->stopping, true);
    wake(loop);
    atomic_fetch_sub(&loop->callers, 1);
}

void
loop_post(struct loop *loop, struct loop_message *message)
{
    struct loop_message *newest;

    atomic_fetch_add(&loop->callers, 1);
    newest = atomic_load_explicit(&loop->posted, memory_order_relaxed);
    do {
        message->next = newest;
    } while (!atomic_compare_exchange_weak_explicit(&loop->posted, &newest, message, memory_order_release,
                                                    memory_order_relaxed));
    if (newest == NULL)
        wake(loop);
    atomic_fetch_sub(&loop->callers, 1);
}

void
loop_busy(struct loop *loop, bool busy)
{
    if (loop->ev == NULL)
        loop->driven.busy = busy;
    else if (busy)
        ev_idle_start(loop->ev, &loop->busy);
    else
        ev_idle_stop(loop->ev, &loop->busy);
}

static void
fd_ready(struct ev_loop *ev, ev_io *io, int events)
{
    struct loop_fd *watch = (struct loop_fd *)io;

    (void)ev;
    watch->ready(watch, events & (EV_READ | EV_WRITE));
}

void
loop_watch(struct loop *loop, struct loop_fd *watch, int fd, int events,
           void (*ready)(struct loop_fd *watch, int events))
{
    watch->ready = ready;
    ev_io_init(&watch->io, fd_ready, fd, events);
    watch->events = 0;
    if (loop->ev == NULL)
        driven_watch(&loop->driven, watch, events);
    else if (events != 0)
        ev_io_start(loop->ev, &watch->io);
}

void
loop_events(struct loop *loop, struct loop_fd *watch, int events)
{
    int now = ev_is_active(&watch->io) ? watch->io.events & (EV_READ | EV_WRITE) : 0;

    if (loop->ev == NULL) {
        driven_watch(&loop->driven, watch, events);
        return;
    }
    if (now == events)
        return;
    ev_io_stop(loop->ev, &watch->io);
    ev_io_set(&watch->io, watch->io.fd, events);
    if (events != 0)
        ev_io_start(loop->ev, &watch->io);
}

void
loop_unwatch(struct loop *loop, struct loop_fd *watch)
{
    if (loop->ev == NULL)
        driven_watch(&loop->driven, watch, 0);
    else
        ev_io_stop(loop->ev, &watch->io);
}

static void
timer_fired(struct ev_loop *ev, ev_timer *ev_timer_fired, int events)
{
    struct loop_timer *timer = (struct loop_timer *)ev_timer_fired;

    (void)ev;
    (void)events;
    timer->fired(timer);
}

void
loop_timer_start(struct loop *loop, struct loop_timer *timer, uint64_t ms, void (*fired)(struct loop_timer *timer))
{
    loop_timer_stop(loop, timer);
    timer->fired = fired;
    if (loop->ev == NULL) {
        driven_timer_start(&loop->driven, timer, ms);
        return;
    }
    ev_timer_init(&timer->timer, timer_fired, (double)ms / 1000, 0);
    ev_timer_start(loop->ev, &timer->timer);
}

void
loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
    if (timer->fired == NULL)
        timer->listed = false;                          /* it was never started */
    else if (loop->ev != NULL)
        ev_timer_stop(loop->ev, &timer->timer);
    else
        driven_timer_stop(timer);
}
