/*
 * storage/posix_readahead.c - fetching what a stream of reads will want next into the page cache.
 *
 * posix_fadvise(2) may wait for the disk's queue, so it runs on the pool and nobody waits for it. One call fetches no more
 * than the device takes at once (or its own read-ahead, if that is more), so there are many; that is also why they are not
 * requests of the ring, which would hand each of them to a thread of the kernel's.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include "storage/posix_private.h"
#include "storage/readahead.h"

#define PIECE_BYTES ((uint64_t)128 << 10)       /* what any device takes at once */
#define RUNNING_MAX 2                   /* of a store; others are put off to a later read */

/* Of one file. */
struct posix_readahead {
    struct pool_work work;              /* first */
    struct posix_node *node;            /* a reference while it runs */
    pthread_mutex_t lock;               /* of the rest */
    struct readahead detector;
    bool running;
    int fd;                             /* open as long as the node is */
    struct readahead_range range;
};

static struct posix_readahead *
readahead_of(struct posix_node *node)
{
    struct posix_readahead *ra = atomic_load_explicit(&node->readahead, memory_order_acquire), *other = NULL;

    if (ra != NULL)
        return ra;
    ra = calloc(1, sizeof(*ra));
    if (ra == NULL)
        return NULL;
    ra->node = node;
    pthread_mutex_init(&ra->lock, NULL);
    if (atomic_compare_exchange_strong(&node->readahead, &other, ra))
        return ra;
    posix_readahead_free(ra);
    return other;
}

void
posix_readahead_free(struct posix_readahead *ra)
{
    if (ra == NULL)
        return;
    pthread_mutex_destroy(&ra->lock);
    free(ra);
}

/* On a thread of the pool. The store is not freed before the count is back. */
static void
fetch(struct pool_work *work)
{
    struct posix_readahead *ra = (struct posix_readahead *)work;
    struct posix_node *node = ra->node;
    struct posix_store *ps = store_of(node->base.store);

    for (uint64_t at = ra->range.from; at < ra->range.to; at += PIECE_BYTES) {
        uint64_t left = ra->range.to - at;

        posix_fadvise(ra->fd, (off_t)at, (off_t)(left < PIECE_BYTES ? left : PIECE_BYTES), POSIX_FADV_WILLNEED);
    }
    pthread_mutex_lock(&ra->lock);
    ra->running = false;
    pthread_mutex_unlock(&ra->lock);
    posix_put(&node->base);
    atomic_fetch_sub(&ps->readaheads, 1);
}

/* Whether one more may run; then it is counted. */
static bool
may_run(struct posix_store *ps)
{
    if (atomic_fetch_add(&ps->readaheads, 1) < RUNNING_MAX)
        return true;
    atomic_fetch_sub(&ps->readaheads, 1);
    return false;
}

void
posix_readahead(struct store_op *op, int fd)
{
    struct posix_store *ps = op_store(op);
    struct posix_readahead *ra = readahead_of(node_of(op->node));
    struct stat st;
    bool may, wanted;

    if (ra == NULL || fstat(fd, &st) < 0)
        return;
    pthread_mutex_lock(&ra->lock);
    may = !ra->running && may_run(ps);
    wanted = readahead_note(&ra->detector, op->u.read.offset, op->u.read.length, (uint64_t)st.st_size,
                            op->u.read.ahead, may ? &ra->range : NULL);
    if (wanted) {
        ra->running = true;
        ra->fd = fd;
    }
    pthread_mutex_unlock(&ra->lock);
    if (wanted) {
        posix_ref(op->node);
        ra->work.run = fetch;
        engine_aside(op->engine, &ra->work);
    } else if (may) {
        atomic_fetch_sub(&ps->readaheads, 1);
    }
}

void
posix_readahead_stop(struct posix_store *ps)
{
    while (atomic_load(&ps->readaheads) > 0)
        sched_yield();
}
