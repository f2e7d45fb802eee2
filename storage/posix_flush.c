/*
 * storage/posix_flush.c - group commit: calls that wait for the same file share one flush.
 *
 * A flush answers every call whose data was in the page cache before the flush was handed to the kernel. Calls that come
 * while one is only prepared join it; those that come while it runs wait for the next, which then answers all of them.
 * The calls may be on different engines: each is continued on its own. (Flushes of different files that run at the same
 * time are put together by the file system's journal.)
 */
#include <errno.h>
#include <string.h>

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
    if (failed)
        store_renew_verifier(leader->store);    /* before another COMMIT can flush, hear of no error and report the old one */
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
        return;
    }
    if (joins)
        atomic_fetch_add_explicit(&op->store->flushed_calls, 1, memory_order_relaxed);
    engine_park(op);
}
