/*
 * rpc/buf.c - pooled buffers.
 *
 * There are four sizes to each power of two. A pool keeps what is given back, newest first (its pages are warm), up to
 * a share of the budget; beyond it, when the budget is used up, and when it has not been needed for a while, memory goes
 * back to the system.
 */
#include "rpc/buf.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/param.h>

#define PAGE ((size_t)4096)
#define SIZES_MAX 64                    /* the largest is 512 MiB */
#define RESERVED_SHARE 8                /* of the budget, that is not for receiving */
#define KEPT_SHARE 16                   /* of the budget, that a pool keeps when it is given back ... */
#define KEPT_MIN ((uint64_t)2 << 20)    /* ... but not less than this */
#define KEPT_MAX ((uint64_t)64 << 20)   /* ... nor more than this */

struct buf_pool {
    struct buf_budget *budget;
    struct buf *free[SIZES_MAX];
    uint64_t kept_bytes;
    uint64_t spare_bytes;               /* the least that was kept since buf_pool_rest() */
    uint64_t lent;                      /* buffers given out */
    void (*released)(void *context, struct buf *buf);   /* NULL: nobody asks */
    void *context;
};

/* Sizes are (4 + quarter) << shift pages: index 0 to 3 are 1 to 4 pages, then 5 6 7 8, 10 12 14 16, ... */
static unsigned
size_index(size_t size, size_t *capacity)
{
    size_t pages = size <= PAGE ? 1 : (size - 1) / PAGE + 1;
    unsigned shift, quarters;

    if (pages <= 4) {
        *capacity = pages * PAGE;
        return (unsigned)pages - 1;
    }
    shift = 61 - (unsigned)__builtin_clzl(pages - 1);
    quarters = (unsigned)((pages - 1) >> shift) + 1;
    *capacity = ((size_t)quarters << shift) * PAGE;
    return 4 * shift + quarters - 1;
}

struct buf_pool *
buf_pool_new(struct buf_budget *budget)
{
    struct buf_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL)
        return NULL;
    pool->budget = budget;
    return pool;
}

void
buf_pool_watch(struct buf_pool *pool, void (*released)(void *context, struct buf *buf), void *context)
{
    pool->released = released;
    pool->context = context;
}

static void
buf_destroy(struct buf_pool *pool, struct buf *buf)
{
    atomic_fetch_sub_explicit(&pool->budget->used_bytes, buf->capacity, memory_order_relaxed);
    if (buf->mark != 0)
        pool->released(pool->context, buf);
    munmap(buf->data, buf->capacity);
    free(buf);
}

/* Give all that is kept back to the system. */
static void
pool_trim(struct buf_pool *pool)
{
    struct buf *buf;

    for (unsigned i = 0; i < SIZES_MAX; i++) {
        while ((buf = pool->free[i]) != NULL) {
            pool->free[i] = buf->next;
            buf_destroy(pool, buf);
        }
    }
    pool->kept_bytes = pool->spare_bytes = 0;
}

/* The largest first: they are the ones that a flood leaves. */
void
buf_pool_rest(struct buf_pool *pool)
{
    for (unsigned i = SIZES_MAX; i-- > 0;) {
        struct buf *buf;

        while ((buf = pool->free[i]) != NULL && buf->capacity <= pool->spare_bytes) {
            pool->free[i] = buf->next;
            pool->kept_bytes -= buf->capacity;
            pool->spare_bytes -= buf->capacity;
            buf_destroy(pool, buf);
        }
    }
    pool->spare_bytes = pool->kept_bytes;
}

void
buf_pool_free(struct buf_pool *pool)
{
    if (pool == NULL)
        return;
    assert(pool->lent == 0);
    pool_trim(pool);
    free(pool);
}

static bool
budget_take(struct buf_budget *budget, size_t size)
{
    uint64_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
    uint64_t max_bytes = atomic_load_explicit(&budget->max_bytes, memory_order_relaxed);

    do {
        if (size > max_bytes || used > max_bytes - size)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&budget->used_bytes, &used, used + size, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static struct buf *
buf_create(struct buf_pool *pool, size_t capacity)
{
    struct buf *buf;
    void *data;

    if (!budget_take(pool->budget, capacity)) {
        pool_trim(pool);
        if (!budget_take(pool->budget, capacity))
            return NULL;
    }
    buf = malloc(sizeof(*buf));
    data = buf == NULL ? MAP_FAILED
                       : mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
        atomic_fetch_sub_explicit(&pool->budget->used_bytes, capacity, memory_order_relaxed);
        free(buf);
        return NULL;
    }
    buf->data = data;
    buf->capacity = capacity;
    buf->pool = pool;
    buf->mark = 0;
    buf->reused = false;
    return buf;
}

struct buf *
buf_get(struct buf_pool *pool, size_t size)
{
    size_t capacity;
    unsigned index = size_index(size, &capacity);
    struct buf *buf;

    if (index >= SIZES_MAX)
        return NULL;
    buf = pool->free[index];
    if (buf != NULL) {
        pool->free[index] = buf->next;
        pool->kept_bytes -= buf->capacity;
        pool->spare_bytes = MIN(pool->spare_bytes, pool->kept_bytes);
        buf->reused = true;
    } else {
        buf = buf_create(pool, capacity);
        if (buf == NULL)
            return NULL;
    }
    buf->refs = 1;
    buf->next = NULL;
    pool->lent++;
    return buf;
}

struct buf *
buf_ref(struct buf *buf)
{
    assert(buf->refs > 0);
    buf->refs++;
    return buf;
}

static uint64_t
kept_max(const struct buf_budget *budget)
{
    uint64_t share = atomic_load_explicit(&budget->max_bytes, memory_order_relaxed) / KEPT_SHARE;

    return MAX(MIN(share, KEPT_MAX), KEPT_MIN);
}

void
buf_put(struct buf *buf)
{
    struct buf_pool *pool;
    size_t capacity;
    unsigned index;

    if (buf == NULL)
        return;
    assert(buf->refs > 0);
    if (--buf->refs > 0)
        return;
    pool = buf->pool;
    pool->lent--;
    if (pool->kept_bytes + buf->capacity > kept_max(pool->budget)) {
        buf_destroy(pool, buf);
        return;
    }
    index = size_index(buf->capacity, &capacity);
    buf->next = pool->free[index];
    pool->free[index] = buf;
    pool->kept_bytes += buf->capacity;
}

/* What the budget has given away, without what this pool could use at once. */
static uint64_t
taken_bytes(const struct buf_pool *pool)
{
    return atomic_load_explicit(&pool->budget->used_bytes, memory_order_relaxed) - pool->kept_bytes;
}

struct buf *
buf_get_spare(struct buf_pool *pool, size_t size)
{
    uint64_t max_bytes = atomic_load_explicit(&pool->budget->max_bytes, memory_order_relaxed);

    max_bytes -= max_bytes / RESERVED_SHARE;
    if (size > max_bytes || taken_bytes(pool) > max_bytes - size)
        return NULL;
    return buf_get(pool, size);
}

bool
buf_tight(const struct buf_pool *pool)
{
    return taken_bytes(pool) > atomic_load_explicit(&pool->budget->max_bytes, memory_order_relaxed) / 2;
}
