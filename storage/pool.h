/*
 * storage/pool.h - threads that may block: the RPCNFSDCOUNT of this server.
 *
 * Work arrives in batches and is taken one by one, oldest first. Any thread may submit. The number of threads can be
 * changed while running.
 */
#ifndef RINGNFS_STORAGE_POOL_H
#define RINGNFS_STORAGE_POOL_H

#include <stdint.h>

struct pool;

/* One piece of work, embedded in what it is about. run() owns it from then on. */
struct pool_work {
    struct pool_work *next;
    void (*run)(struct pool_work *work);
};

struct pool_stats {
    unsigned threads;                   /* running */
    unsigned busy;                      /* of them at work */
    unsigned queued;                    /* waiting for a thread */
    uint64_t done;                      /* pieces of work finished since the start */
};

/* Start `threads` threads (1 to 1024). Returns 0 or -errno. */
int pool_new(unsigned threads, struct pool **pool);

/* The same, and each thread, those of pool_resize() too, calls begin(context) before anything else. */
int pool_new_with(unsigned threads, void (*begin)(void *context), void *context, struct pool **pool);

/* Finishes what is queued, then ends the threads. NULL is fine. */
void pool_free(struct pool *pool);

/* Queue a list of work linked by next, first to last, under one lock; wakes as many threads as it takes. */
void pool_submit(struct pool *pool, struct pool_work *first, struct pool_work *last, unsigned count);

/* Grow at once, or shrink as threads finish what they are at. Returns 0 or -errno when a thread cannot be started. */
int pool_resize(struct pool *pool, unsigned threads);

void pool_read_stats(struct pool *pool, struct pool_stats *stats);

#endif
