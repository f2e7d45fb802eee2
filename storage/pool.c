/*
 * storage/pool.c - one queue, some threads.
 *
 * A thread that finds the queue empty waits; a batch wakes as many waiting threads as it has pieces. Threads that are too
 * many after pool_resize() end when they next look at the queue.
 */
#include "storage/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "storage/cred.h"

#define POOL_THREADS_MAX 1024

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t more;                /* work has come, or threads shall end */
    pthread_cond_t ended;               /* a thread has ended */
    struct pool_work *first, *last;
    unsigned wanted;                    /* threads there shall be */
    unsigned threads;                   /* threads there are */
    unsigned idle;
    unsigned queued;
    uint64_t done;
    void (*begin)(void *context);       /* NULL: nothing to begin with */
    void *context;
};

/* The next piece of work, or NULL when the calling thread shall end; called and returns with the lock held. */
static struct pool_work *
take(struct pool *pool)
{
    struct pool_work *work;

    while (pool->threads <= pool->wanted && pool->first == NULL) {
        pool->idle++;
        pthread_cond_wait(&pool->more, &pool->lock);
        pool->idle--;
    }
    if (pool->threads > pool->wanted && (pool->wanted > 0 || pool->first == NULL))
        return NULL;
    work = pool->first;
    pool->first = work->next;
    if (pool->first == NULL)
        pool->last = NULL;
    pool->queued--;
    return work;
}

static void *
pool_thread(void *arg)
{
    struct pool *pool = arg;
    struct pool_work *work;

    if (pool->begin != NULL)
        pool->begin(pool->context);
    cred_thread_init();
    pthread_mutex_lock(&pool->lock);
    while ((work = take(pool)) != NULL) {
        pthread_mutex_unlock(&pool->lock);
        work->run(work);
        pthread_mutex_lock(&pool->lock);
        pool->done++;
    }
    pool->threads--;
    pthread_cond_signal(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Start threads up to the wanted number; called with the lock held. Signals stay with the program that owns us. */
static int
grow(struct pool *pool)
{
    sigset_t all, before;
    pthread_attr_t attr;
    int err = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool->threads < pool->wanted && err == 0) {
        pthread_t thread;

        err = pthread_create(&thread, &attr, pool_thread, pool);
        if (err == 0)
            pool->threads++;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

int
pool_new(unsigned threads, struct pool **out)
{
    return pool_new_with(threads, NULL, NULL, out);
}

int
pool_new_with(unsigned threads, void (*begin)(void *context), void *context, struct pool **out)
{
    struct pool *pool;
    int err;

    if (threads < 1 || threads > POOL_THREADS_MAX)
        return -EINVAL;
    pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return -ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->more, NULL);
    pthread_cond_init(&pool->ended, NULL);
    pool->begin = begin;
    pool->context = context;
    err = pool_resize(pool, threads);
    if (err < 0) {
        pool_free(pool);
        return err;
    }
    *out = pool;
    return 0;
}

void
pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->wanted = 0;
    pthread_cond_broadcast(&pool->more);
    while (pool->threads > 0)
        pthread_cond_wait(&pool->ended, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&pool->ended);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void
pool_submit(struct pool *pool, struct pool_work *first, struct pool_work *last, unsigned count)
{
    unsigned wake;

    last->next = NULL;
    pthread_mutex_lock(&pool->lock);
    if (pool->last != NULL)
        pool->last->next = first;
    else
        pool->first = first;
    pool->last = last;
    pool->queued += count;
    wake = count < pool->idle ? count : pool->idle;
    while (wake-- > 0)
        pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}

int
pool_resize(struct pool *pool, unsigned threads)
{
    int err;

    if (threads < 1 || threads > POOL_THREADS_MAX)
        return -EINVAL;
    pthread_mutex_lock(&pool->lock);
    pool->wanted = threads;
    err = grow(pool);
    if (pool->threads > pool->wanted)
        pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    return err;
}

void
pool_read_stats(struct pool *pool, struct pool_stats *stats)
{
    pthread_mutex_lock(&pool->lock);
    stats->threads = pool->threads;
    stats->busy = pool->threads - pool->idle;
    stats->queued = pool->queued;
    stats->done = pool->done;
    pthread_mutex_unlock(&pool->lock);
}
