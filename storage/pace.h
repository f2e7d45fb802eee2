/*
 * storage/pace.h - whether operations of one kind run on the event worker, learnt from how long they take.
 *
 * They run elsewhere until so many in a row were much quicker than a hand-off; then on the worker, until they block it
 * twice within a few. Each time they are moved off they have to be quick for twice as long before they come back.
 *
 * What takes long need not have blocked: on a busy machine the worker may just have lost the processor. The first slow
 * one is a suspicion; the following ones are watched, and count only if the thread slept of itself or really computed for so
 * long.
 *
 * Any thread; threads that learn at once may miss each other's count, which does not matter.
 */
#ifndef RINGNFS_STORAGE_PACE_H
#define RINGNFS_STORAGE_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pace {
    _Atomic uint32_t fast_left;         /* 0: runs on the worker; else: so many fast ones until it does */
    _Atomic uint32_t fast_needed;       /* the next time it is moved off */
    _Atomic uint32_t suspect;           /* one was slow: so many more are watched */
};

/* Where an operation on the worker began. */
struct pace_mark {
    uint64_t started_ns;
    uint64_t computed_us;               /* of the thread, and how often it slept: if it is watched */
    uint64_t slept;
    bool watched;
};

/* What one came to. */
struct pace_run {
    uint64_t took_ns;
    uint64_t allowance_ns;              /* of that, what its size explains */
    bool watched, blocked;              /* blocked: slept, or computed for long; known of watched ones */
};

void pace_init(struct pace *pace);

static inline bool
pace_is_inline(const struct pace *pace)
{
    return atomic_load_explicit(&pace->fast_left, memory_order_relaxed) == 0;
}

uint64_t pace_now_ns(void);

/* Of the calling thread, so far. */
uint64_t pace_computed_ns(void);

/* Around an operation on the worker. */
void pace_begin(const struct pace *pace, struct pace_mark *mark);
void pace_end(struct pace *pace, const struct pace_mark *mark, uint64_t allowance_ns);

/* What pace_end() concludes from. */
void pace_learn_inline(struct pace *pace, const struct pace_run *run);

/* One that ran on a thread of its own, measured from when it began there, and what the thread computed meanwhile. */
void pace_learn_thread(struct pace *pace, uint64_t took_ns, uint64_t computed_ns, uint64_t allowance_ns);

/* One that the kernel did, measured from when it was handed over: it may have waited behind others. */
void pace_learn_queued(struct pace *pace, uint64_t took_ns, uint64_t allowance_ns);

#endif
