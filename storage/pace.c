/* storage/pace.c - whether operations run on the event worker; see pace.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "storage/pace.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define SLOW_NS 500000                  /* on the worker: that is too long for those who wait behind it */
#define WATCHED 64                      /* after a slow one */
#define QUICK_NS 30000                  /* on a thread: counts towards the return */
#define COMPUTED_NS 100000              /* likewise, without any waiting: processors differ, and busy ones take longer */
#define QUEUED 16                       /* handed to the kernel: as many others may be in front of it */
#define QUICK_FIRST 16                  /* in a row, at first */
#define QUICK_MAX 16384

void
pace_init(struct pace *pace)
{
    atomic_init(&pace->fast_left, QUICK_FIRST);
    atomic_init(&pace->fast_needed, QUICK_FIRST);
    atomic_init(&pace->suspect, 0);
}

static uint64_t
read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
pace_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t
pace_computed_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t
microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000u + (uint64_t)time->tv_usec;
}

static void
read_usage(uint64_t *computed_us, uint64_t *slept)
{
    struct rusage usage;

    memset(&usage, 0, sizeof(usage));
    getrusage(RUSAGE_THREAD, &usage);
    *computed_us = microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime);
    *slept = (uint64_t)usage.ru_nvcsw;
}

void
pace_begin(const struct pace *pace, struct pace_mark *mark)
{
    mark->watched = atomic_load_explicit(&pace->suspect, memory_order_relaxed) > 0;
    if (mark->watched)
        read_usage(&mark->computed_us, &mark->slept);
    mark->started_ns = pace_now_ns();
}

void
pace_end(struct pace *pace, const struct pace_mark *mark, uint64_t allowance_ns)
{
    struct pace_run run = {
        .took_ns = pace_now_ns() - mark->started_ns, .allowance_ns = allowance_ns, .watched = mark->watched,
    };
    uint64_t computed_us, slept;

    if (run.watched && run.took_ns > SLOW_NS + allowance_ns) {
        read_usage(&computed_us, &slept);
        run.blocked = slept != mark->slept || (computed_us - mark->computed_us) * 1000 > SLOW_NS + allowance_ns;
    }
    pace_learn_inline(pace, &run);
}

static void
move_off(struct pace *pace)
{
    uint32_t needed = atomic_load_explicit(&pace->fast_needed, memory_order_relaxed);

    needed = needed < QUICK_MAX ? 2 * needed : QUICK_MAX;
    atomic_store_explicit(&pace->suspect, 0, memory_order_relaxed);
    atomic_store_explicit(&pace->fast_needed, needed, memory_order_relaxed);
    atomic_store_explicit(&pace->fast_left, needed, memory_order_relaxed);
}

void
pace_learn_inline(struct pace *pace, const struct pace_run *run)
{
    uint32_t suspect = atomic_load_explicit(&pace->suspect, memory_order_relaxed);
    bool slow = run->took_ns > SLOW_NS + run->allowance_ns;

    if (slow && run->watched && run->blocked)
        move_off(pace);
    else if (slow)
        atomic_store_explicit(&pace->suspect, WATCHED, memory_order_relaxed);
    else if (suspect > 0)
        atomic_store_explicit(&pace->suspect, suspect - 1, memory_order_relaxed);
}

/* slow: starts again; not quick: sets it back by one. */
static void
learn_elsewhere(struct pace *pace, bool quick, bool slow)
{
    uint32_t needed = atomic_load_explicit(&pace->fast_needed, memory_order_relaxed);
    uint32_t left = atomic_load_explicit(&pace->fast_left, memory_order_relaxed);

    if (slow)
        left = needed;
    else if (!quick)
        left = left < needed ? left + 1 : needed;
    else if (left > 0)
        left--;
    atomic_store_explicit(&pace->fast_left, left, memory_order_relaxed);
}

void
pace_learn_thread(struct pace *pace, uint64_t took_ns, uint64_t computed_ns, uint64_t allowance_ns)
{
    uint64_t waited_ns = took_ns > computed_ns ? took_ns - computed_ns : 0;
    bool quick = took_ns <= QUICK_NS + allowance_ns ||
                 (waited_ns <= QUICK_NS && computed_ns <= COMPUTED_NS + allowance_ns);

    learn_elsewhere(pace, quick, took_ns > SLOW_NS + allowance_ns);
}

void
pace_learn_queued(struct pace *pace, uint64_t took_ns, uint64_t allowance_ns)
{
    uint64_t slow_ns = SLOW_NS + QUEUED * allowance_ns;

    learn_elsewhere(pace, took_ns <= slow_ns, took_ns > slow_ns);
}
