/*
 * storage/pool.h - threads that may block: the RPCNFSDCOUNT of this server.
 *
 * Work arrives in batches and is taken one by one; work_queue.h tells who is next. Any thread may submit. The number of
 * threads can be changed while running. Between two numbers the pool finds its own: a thread that does nothing else, the
 * keeper, starts more while work waits and ends those that are not needed, so that whoever submits never does.
 */
#ifndef RINGNFS_STORAGE_POOL_H
#define RINGNFS_STORAGE_POOL_H

#include <stdint.h>

#include "storage/work_queue.h"

struct pool;

#define POOL_THREADS_MAX 1024

struct pool_config {
    unsigned min, max;                  /* threads, 1 to POOL_THREADS_MAX; when they differ, as many as the work takes */
    void (*begin)(void *context);       /* what each thread calls before anything else, those of pool_resize() too, ... */
    void (*begin_keeper)(void *context);    /* ... and what the keeper calls; NULL: nothing */
    void *context;
};

/* Times add up since the start: the difference of two readings says how busy the threads were in between. */
struct pool_stats {
    unsigned threads;                   /* running */
    unsigned min, max;                  /* that there may be */
    unsigned busy;                      /* of them at work */
    unsigned queued;                    /* waiting for a thread */
    uint64_t done;                      /* pieces of work finished since the start */
    uint64_t waited;                    /* pieces that found all threads at work */
    uint64_t busy_ns;                   /* time of threads at work ... */
    uint64_t thread_ns;                 /* ... and of all that there were */
};

/* Start `threads` threads (1 to POOL_THREADS_MAX), no more and no less. Returns 0 or -errno. */
int pool_new(unsigned threads, struct pool **pool);

/* The same with all that can be chosen; the context outlives the pool. */
int pool_new_with(const struct pool_config *config, struct pool **pool);

/* Finishes what is queued, then ends the threads. NULL is fine. */
void pool_free(struct pool *pool);

/* Queue a list of work linked by next, first to last, under one lock; wakes as many threads as it takes. */
void pool_submit(struct pool *pool, struct pool_work *first, struct pool_work *last, unsigned count);

/*
 * Grow to min at once, or shrink to max as threads finish what they are at. Returns 0 or -errno when a thread cannot be
 * started. One thread at a time; threads that are started inherit what it may do.
 */
int pool_resize(struct pool *pool, unsigned min, unsigned max);

void pool_read_stats(struct pool *pool, struct pool_stats *stats);

#endif
