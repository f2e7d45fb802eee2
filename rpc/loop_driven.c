/* rpc/loop_driven.c - see loop_driven.h. */
#include "rpc/loop_driven.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define EVENTS_MAX 64                   /* in one step */

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static int
add_own(const struct driven *driven, const int *own)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = (void *)(uintptr_t)own };

    return epoll_ctl(driven->fd, EPOLL_CTL_ADD, *own, &event);
}

int
driven_open(struct driven *driven)
{
    int err;

    LIST_INIT(&driven->timers);
    driven->busy = false;
    driven->fd = epoll_create1(EPOLL_CLOEXEC);
    driven->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    driven->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (driven->fd >= 0 && driven->timer_fd >= 0 && driven->wake_fd >= 0 && add_own(driven, &driven->timer_fd) == 0 &&
        add_own(driven, &driven->wake_fd) == 0)
        return 0;
    err = -errno;
    driven_close(driven);
    return err;
}

void
driven_close(struct driven *driven)
{
    if (driven->fd >= 0)
        close(driven->fd);
    if (driven->timer_fd >= 0)
        close(driven->timer_fd);
    if (driven->wake_fd >= 0)
        close(driven->wake_fd);
}

void
driven_watch(struct driven *driven, struct loop_fd *watch, int events)
{
    struct epoll_event event = { .events = (events & EV_READ ? EPOLLIN : 0u) | (events & EV_WRITE ? EPOLLOUT : 0u),
                                 .data.ptr = watch };
    int change = watch->events == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

    if (watch->events == events)
        return;
    watch->events = events;
    if (epoll_ctl(driven->fd, change, watch->io.fd, &event) < 0)
        assert(errno == ENOMEM || errno == ENOSPC);     /* what is not watched is given up by its timers */
}

void
driven_timer_stop(struct loop_timer *timer)
{
    if (timer->listed)
        LIST_REMOVE(timer, link);
    timer->listed = false;
}

void
driven_timer_start(struct driven *driven, struct loop_timer *timer, uint64_t ms)
{
    timer->due_ns = now_ns() + ms * 1000000;
    timer->listed = true;
    LIST_INSERT_HEAD(&driven->timers, timer, link);
}

void
driven_wake(struct driven *driven)
{
    const uint64_t one = 1;

    if (write(driven->wake_fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
}

/* One timer that was due at a time, since it may start or stop any other. */
static bool
fire(struct driven *driven, uint64_t at_ns)
{
    struct loop_timer *timer;

    LIST_FOREACH(timer, &driven->timers, link) {
        if (timer->due_ns > at_ns)
            continue;
        driven_timer_stop(timer);
        timer->fired(timer);
        return true;
    }
    return false;
}

static void
drain(int fd)
{
    uint64_t ignored;

    if (read(fd, &ignored, sizeof(ignored)) < 0)
        assert(errno == EAGAIN);
}

static void
handle(struct driven *driven, const struct epoll_event *event, bool *woken)
{
    struct loop_fd *watch = event->data.ptr;

    if (event->data.ptr == &driven->timer_fd) {
        drain(driven->timer_fd);
    } else if (event->data.ptr == &driven->wake_fd) {
        drain(driven->wake_fd);
        *woken = true;
    } else {
        int events = (event->events & EPOLLOUT ? EV_WRITE : 0) | (event->events & EPOLLIN ? EV_READ : 0);

        if (event->events & (EPOLLERR | EPOLLHUP))
            events = watch->events;                     /* whoever waits for one or the other learns of it by trying */
        watch->ready(watch, events & watch->events);
    }
}

/* One event at a time: what is handled may end the watching of any other. epoll gives them in turn. */
bool
driven_step(struct driven *driven, bool *woken)
{
    uint64_t began_ns = now_ns();
    struct epoll_event event;
    unsigned done = 0;

    *woken = false;
    for (; done < EVENTS_MAX && epoll_wait(driven->fd, &event, 1, 0) > 0; done++)
        handle(driven, &event, woken);
    while (fire(driven, began_ns))
        done++;
    return done > 0;
}

void
driven_rest(struct driven *driven, bool again)
{
    struct itimerspec next = { .it_value = { 0, 0 } };
    const struct loop_timer *timer;
    uint64_t due_ns = again ? 1 : UINT64_MAX;           /* by the clock: 1 is long ago */

    LIST_FOREACH(timer, &driven->timers, link)
        if (timer->due_ns < due_ns)
            due_ns = timer->due_ns;
    if (due_ns != UINT64_MAX)
        next.it_value = (struct timespec){ (time_t)(due_ns / SECOND_NS), (long)(due_ns % SECOND_NS) };
    timerfd_settime(driven->timer_fd, TFD_TIMER_ABSTIME, &next, NULL);
}

void
driven_wait(const struct driven *driven)
{
    struct pollfd readable = { .fd = driven->fd, .events = POLLIN };

    poll(&readable, 1, -1);
}
