/*
 * storage/posix_flush.c - group commit: calls that wait for the same file share one flush.
 *
 * A flush answers every call whose data was in the page cache before the flush was handed to the kernel. Calls that come
 * while one is only prepared join it; those that come while it runs wait for the next, which then answers all of them.
 * The calls may be on different engines: each is continued on its own. (Flushes of different files that run at the same
 * time are put together by the file system's journal.)
 *
 * The kernel tells each open description of a write-back error once, those that are opened later only as long as nobody
 * has been told, and nobody once the inode has left memory. So data that clients may still COMMIT must not lose its
 * description (posix_unflushed()), a description is asked before it goes (posix_check_writeback()), and whoever else
 * flushes such a file takes a description of his own (posix_flush_apart()): the error would be his alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "storage/posix_private.h"

/* private[]: what a waiting call remembers; the rest is posix_data.c's. */
enum { P_STEP = 4, P_DATA_ONLY = 5, P_NEXT = 6 };

static bool
data_only(const struct store_op *op)
{
    return op->private[P_DATA_ONLY] != 0;
}

static struct store_op *
next_of(const struct store_op *op)
{
    return (struct store_op *)(uintptr_t)op->private[P_NEXT];
}

static void
push(struct store_op **list, struct store_op *op)
{
    op->private[P_NEXT] = (uintptr_t)*list;
    *list = op;
}

static void flush_done(struct store_op *leader);

/* The batch has a leader, on whose thread this runs. */
static void
start_flush(struct store_op *leader)
{
    struct posix_node *node = node_of(leader->node);
    bool only_data = true;
    uint64_t calls = 0;

    pthread_mutex_lock(&node->flush_lock);
    for (const struct store_op *op = node->flush_batch; op != NULL; op = next_of(op)) {
        only_data = only_data && data_only(op);
        calls++;
    }
    node->flush_engine = leader->engine;
    node->flush_round = engine_round(leader->engine);
    node->flush_data_only = only_data;
    node->flush_covers = atomic_load(&node->data_changes);
    pthread_mutex_unlock(&node->flush_lock);
    atomic_fetch_add_explicit(&leader->store->flushes, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&leader->store->flushed_calls, calls, memory_order_relaxed);
    engine_sync(leader->engine, leader, node->flush_fd, only_data, flush_done);
}

/* Go on with a call that took part in a flush that is done, on the thread of its own engine. */
static void
go_on(struct store_op *op, const struct engine *here, int result)
{
    void (*step)(struct store_op *op);

    memcpy(&step, &op->private[P_STEP], sizeof(step));
    if (op->engine == here) {
        op->io_result = result;
        engine_unpark(op);
        step(op);
    } else {
        engine_wake(op, result, step);
    }
}

static void
all_go_on(struct store_op *op, const struct engine *here, int result)
{
    struct store_op *next;

    for (; op != NULL; op = next) {
        next = next_of(op);
        go_on(op, here, result);
    }
}

/* Make the calls that have been waiting the next batch; its leader, or NULL when there are none. The lock is held. */
static struct store_op *
next_batch(struct posix_node *node, const struct engine *here)
{
    struct store_op *leader = node->flush_waiting;

    for (struct store_op *op = leader; op != NULL; op = next_of(op)) {
        if (op->engine == here)
            leader = op;
    }
    node->flush_batch = node->flush_waiting;
    node->flush_waiting = NULL;
    node->flush_engine = NULL;          /* nobody joins before it is prepared */
    node->flushing = leader != NULL;
    return leader;
}

/* Data of calls that were too late for a flush that failed may have been lost with it: they fail, too. */
static void
flush_done(struct store_op *leader)
{
    struct posix_node *node = node_of(leader->node);
    struct engine *here = leader->engine;
    int result = leader->io_result;
    bool failed = result < 0 && result != -EINVAL;
    struct store_op *batch, *late = NULL, *next_leader;

    engine_park(leader);                /* counted like the others of its batch from here on */
    if (result == -ECANCELED)
        store_renew_verifier(leader->store);
    else if (failed)
        posix_flush_failed(op_store(leader), result);   /* before another COMMIT can flush and hear of no error */
    else
        store_disk_worked(leader->store);
    posix_note_flushed(node, node->flush_covers);
    pthread_mutex_lock(&node->flush_lock);
    batch = node->flush_batch;
    if (failed) {
        late = node->flush_waiting;
        node->flush_waiting = NULL;
    }
    next_leader = next_batch(node, here);
    pthread_mutex_unlock(&node->flush_lock);
    if (next_leader != NULL && next_leader->engine == here) {
        engine_unpark(next_leader);
        start_flush(next_leader);
    } else if (next_leader != NULL) {
        engine_wake(next_leader, 0, start_flush);
    }
    all_go_on(batch, here, result);
    all_go_on(late, here, result);
}

void
posix_flush(struct store_op *op, int fd, bool only_data, void (*step)(struct store_op *op))
{
    struct posix_node *node = node_of(op->node);
    bool leads, joins;

    memcpy(&op->private[P_STEP], &step, sizeof(step));
    op->private[P_DATA_ONLY] = only_data;
    pthread_mutex_lock(&node->flush_lock);
    leads = !node->flushing;
    joins = !leads && node->flush_engine == op->engine && node->flush_round == engine_round(op->engine) &&
            (only_data || !node->flush_data_only);
    if (leads) {
        node->flushing = true;
        node->flush_fd = fd;
        push(&node->flush_batch, op);
    } else {
        push(joins ? &node->flush_batch : &node->flush_waiting, op);
    }
    pthread_mutex_unlock(&node->flush_lock);
    if (leads) {
        start_flush(op);
        if (op->prompt)
            engine_flush(op->engine);   /* from here on nobody joins */
        return;
    }
    if (joins)
        atomic_fetch_add_explicit(&op->store->flushed_calls, 1, memory_order_relaxed);
    engine_park(op);
}

void
posix_note_data(struct posix_node *node)
{
    atomic_fetch_add(&node->data_changes, 1);
}

bool
posix_unflushed(struct posix_node *node)
{
    return atomic_load(&node->data_changes) != atomic_load(&node->data_flushed);
}

void
posix_note_flushed(struct posix_node *node, uint32_t covers)
{
    atomic_store(&node->data_flushed, covers);
}

int
posix_flush_failed(struct posix_store *ps, int err)
{
    store_renew_verifier(&ps->store);
    store_disk_failed(&ps->store, err);
    return err;
}

int
posix_fsync(struct posix_store *ps, int fd)
{
    if (fsync(fd) == 0) {
        store_disk_worked(&ps->store);
        return 0;
    }
    if (errno == EINVAL)
        return 0;                       /* nothing that could be flushed */
    return errno == EBADF ? -EBADF : posix_flush_failed(ps, -errno);
}

/* An error is told to one of those who ask at once; the others learn of it here. */
int
posix_syncfs(struct posix_store *ps)
{
    uint32_t failures = atomic_load(&ps->syncfs_failures);
    int err = 0;

    pthread_mutex_lock(&ps->syncfs_lock);
    if (syncfs(ps->mount_fd) < 0 && errno != EBADF) {
        err = posix_flush_failed(ps, -errno);
        atomic_fetch_add(&ps->syncfs_failures, 1);
    }
    pthread_mutex_unlock(&ps->syncfs_lock);
    return err == 0 && atomic_load(&ps->syncfs_failures) != failures ? -EIO : err;
}

/*
 * Waits for pages of a range that no file has, so for none, and then looks at the error (sync_file_range(2)). Errors other
 * than those of write-back say nothing about the data: a sandbox may forbid the call.
 */
void
posix_check_writeback(struct posix_store *ps, int fd)
{
    if (sync_file_range(fd, LLONG_MAX - 4095, 1, SYNC_FILE_RANGE_WAIT_BEFORE) < 0 &&
        (store_is_disk_error(-errno) || errno == ENOSPC || errno == EDQUOT))
        posix_flush_failed(ps, -errno);
}
