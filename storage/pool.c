/*
 * storage/pool.c - a queue, some threads.
 *
 * A thread that finds the queue empty waits; a batch wakes as many waiting threads as it has pieces. Threads that are too
 * many end when they next look at the queue.
 *
 * The keeper of a pool that finds its own size sleeps while all goes well. Work that finds no thread wakes it; then it
 * looks every few milliseconds, and starts threads for what has waited from one look to the next: a queue that is long but
 * moves needs none. Now and then it compares the threads with how many were busy on average since, and ends what is more
 * than twice that.
 */
#include "storage/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/param.h>
#include <time.h>

#include "storage/cred.h"

#define GROW_MS 5                       /* that work waits before there is another thread for it */
#define SHRINK_MS 10000                 /* between two looks for threads that are not needed */
#define ROOM 2                          /* threads to keep for each that is busy on average */

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t more;                /* work has come, or threads shall end */
    pthread_cond_t ended;               /* a thread has ended */
    struct work_queue queue;
    unsigned min, max;
    unsigned wanted;                    /* threads there shall be */
    unsigned threads;                   /* threads there are */
    unsigned idle;
    uint64_t submitted, waited, done;
    uint64_t clock_ns;                  /* up to which the next two are counted */
    uint64_t busy_ns, thread_ns;
    pthread_cond_t look;                /* the keeper has something to look at */
    bool has_keeper;
    bool keeper_sleeps;                 /* until there is something, or for long */
    void (*begin)(void *context);       /* NULL: nothing to begin with */
    void (*begin_keeper)(void *context);
    void *context;
};

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Add up what has passed; called with the lock held, before the number of threads or of idle ones changes. */
static void
count_time(struct pool *pool)
{
    uint64_t now = now_ns();

    pool->busy_ns += (pool->threads - pool->idle) * (now - pool->clock_ns);
    pool->thread_ns += pool->threads * (now - pool->clock_ns);
    pool->clock_ns = now;
}

/* How many threads may be at work on one object: when it hangs, there are others. */
static unsigned
object_limit(const struct pool *pool)
{
    return MAX(pool->wanted / 2, 1);
}

/* The next piece of work, or NULL when the calling thread shall end; called and returns with the lock held. */
static struct pool_work *
take(struct pool *pool)
{
    struct pool_work *work;

    while (pool->threads <= pool->wanted) {
        work = work_queue_take(&pool->queue, object_limit(pool));
        if (work != NULL)
            return work;
        count_time(pool);
        pool->idle++;
        pthread_cond_wait(&pool->more, &pool->lock);
        count_time(pool);
        pool->idle--;
    }
    if (pool->wanted == 0)              /* what is queued is finished first */
        return work_queue_take(&pool->queue, pool->threads);
    if (pool->queue.queued > 0 && pool->idle > 0)
        pthread_cond_signal(&pool->more);       /* what stepped aside for the last piece here is another thread's now */
    return NULL;
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
        uint32_t object = work->object;

        pthread_mutex_unlock(&pool->lock);
        work->run(work);
        pthread_mutex_lock(&pool->lock);
        work_queue_over(&pool->queue, object);
        pool->done++;
    }
    count_time(pool);
    pool->threads--;
    pthread_cond_broadcast(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Signals stay with the program that owns us. */
static int
start_thread(struct pool *pool, void *(*run)(void *pool))
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    err = pthread_create(&thread, &attr, run, pool);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

/* Start threads up to the wanted number; called with the lock held, which nobody has to wait for meanwhile. */
static int
grow(struct pool *pool)
{
    int err = 0;

    while (pool->threads < pool->wanted && err == 0) {
        count_time(pool);
        pool->threads++;
        pthread_mutex_unlock(&pool->lock);
        err = start_thread(pool, pool_thread);
        pthread_mutex_lock(&pool->lock);
        if (err == 0)
            continue;
        count_time(pool);
        pool->threads--;
        pthread_cond_broadcast(&pool->ended);
    }
    return err;
}

/* Wait for so long, or, asleep, until pool_submit() or pool_resize() has something for the keeper. */
static void
keeper_wait(struct pool *pool, unsigned ms, bool asleep)
{
    uint64_t until = now_ns() + ms * UINT64_C(1000000);
    const struct timespec at = { .tv_sec = (time_t)(until / 1000000000u), .tv_nsec = (long)(until % 1000000000u) };

    pool->keeper_sleeps = asleep;
    if (ms > 0)
        pthread_cond_timedwait(&pool->look, &pool->lock, &at);
    else
        pthread_cond_wait(&pool->look, &pool->lock);
    pool->keeper_sleeps = false;
}

/* Another look at a queue: what was in it when it had `before` pieces behind it, and still is, has waited for too long. */
static int
grow_for_waiting(struct pool *pool, uint64_t before)
{
    uint64_t taken = pool->submitted - pool->queue.queued, waiting = before > taken ? before - taken : 0;
    int err;

    pool->wanted = (unsigned)MIN(pool->wanted + MIN(waiting, pool->wanted / 2 + 1), pool->max);
    err = grow(pool);
    if (err < 0)
        pool->wanted = MAX(MIN(pool->threads, pool->max), pool->min);
    return err;
}

/* End threads, if fewer had enough to do since there were so many nanoseconds on both clocks. */
static void
shrink_to_need(struct pool *pool, uint64_t busy_ns, uint64_t clock_ns)
{
    uint64_t busy = (pool->busy_ns - busy_ns) / MAX(pool->clock_ns - clock_ns, 1);      /* threads, on average */
    unsigned needed = (unsigned)MAX(MIN(busy * ROOM + 1, pool->max), pool->min);

    if (pool->wanted <= needed)
        return;
    pool->wanted = needed;
    pthread_cond_broadcast(&pool->more);
}

static void *
keeper(void *arg)
{
    struct pool *pool = arg;
    uint64_t busy_ns, clock_ns, before;
    bool woken = false;
    int err = 0;

    if (pool->begin_keeper != NULL)
        pool->begin_keeper(pool->context);
    pthread_mutex_lock(&pool->lock);
    count_time(pool);
    busy_ns = pool->busy_ns;
    clock_ns = pool->clock_ns;
    while (pool->min < pool->max) {
        before = pool->submitted;
        if ((woken || pool->queue.queued > 0) && pool->wanted < pool->max && err == 0) {
            keeper_wait(pool, GROW_MS, false);           /* so it is not woken more often than that */
            err = grow_for_waiting(pool, before);
            woken = false;
        } else {
            keeper_wait(pool, pool->wanted > pool->min || err < 0 ? SHRINK_MS : 0, err == 0);
            woken = true;
            err = 0;
        }
        count_time(pool);
        if (pool->clock_ns - clock_ns < SHRINK_MS * UINT64_C(1000000))
            continue;
        shrink_to_need(pool, busy_ns, clock_ns);
        busy_ns = pool->busy_ns;
        clock_ns = pool->clock_ns;
    }
    pool->has_keeper = false;
    pthread_cond_broadcast(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int
pool_new(unsigned threads, struct pool **out)
{
    const struct pool_config config = { .min = threads, .max = threads };

    return pool_new_with(&config, out);
}

static bool
is_range(unsigned min, unsigned max)
{
    return min >= 1 && min <= max && max <= POOL_THREADS_MAX;
}

int
pool_new_with(const struct pool_config *config, struct pool **out)
{
    pthread_condattr_t monotonic;
    struct pool *pool;
    int err;

    if (!is_range(config->min, config->max))
        return -EINVAL;
    pool = calloc(1, sizeof(*pool));
    if (pool == NULL)
        return -ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->more, NULL);
    pthread_cond_init(&pool->ended, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->look, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pool->clock_ns = now_ns();
    work_queue_init(&pool->queue);
    pool->begin = config->begin;
    pool->begin_keeper = config->begin_keeper;
    pool->context = config->context;
    err = pool_resize(pool, config->min, config->max);
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
    pool->min = pool->max = 0;
    pthread_cond_signal(&pool->look);
    while (pool->has_keeper)
        pthread_cond_wait(&pool->ended, &pool->lock);
    pool->wanted = 0;
    pthread_cond_broadcast(&pool->more);
    while (pool->threads > 0)
        pthread_cond_wait(&pool->ended, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&pool->look);
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
    work_queue_add(&pool->queue, first);
    pool->submitted += count;
    pool->waited += pool->queue.queued > pool->idle ? MIN(count, pool->queue.queued - pool->idle) : 0;
    if (pool->queue.queued > pool->idle && pool->keeper_sleeps && pool->wanted < pool->max)
        pthread_cond_signal(&pool->look);
    wake = count < pool->idle ? count : pool->idle;
    while (wake-- > 0)
        pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}

static int
start_keeper(struct pool *pool)
{
    int err = start_thread(pool, keeper);

    pool->has_keeper = err == 0;
    return err;
}

int
pool_resize(struct pool *pool, unsigned min, unsigned max)
{
    int err;

    if (!is_range(min, max))
        return -EINVAL;
    pthread_mutex_lock(&pool->lock);
    pool->min = min;
    pool->max = max;
    pool->wanted = MAX(MIN(pool->wanted, max), min);
    err = grow(pool);
    if (err == 0 && min < max && !pool->has_keeper)
        err = start_keeper(pool);
    pthread_cond_signal(&pool->look);
    if (pool->threads > pool->wanted)
        pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    return err;
}

void
pool_read_stats(struct pool *pool, struct pool_stats *stats)
{
    pthread_mutex_lock(&pool->lock);
    count_time(pool);
    *stats = (struct pool_stats){
        .threads = pool->threads,
        .min = pool->min,
        .max = pool->max,
        .busy = pool->threads - pool->idle,
        .queued = pool->queue.queued,
        .done = pool->done,
        .waited = pool->waited,
        .busy_ns = pool->busy_ns,
        .thread_ns = pool->thread_ns,
    };
    pthread_mutex_unlock(&pool->lock);
}
