/* storage/fault.c - see fault.h. */
#include "storage/fault.h"

#include <stdatomic.h>
#include <sys/param.h>

#include "storage/node.h"

/* Take up to `wanted` bytes of the room there is. */
static uint32_t
take_room(_Atomic uint64_t *room, uint32_t wanted)
{
    uint64_t left = atomic_load(room);
    uint32_t taken;

    do {
        taken = (uint32_t)MIN(left, wanted);
    } while (!atomic_compare_exchange_weak(room, &left, left - taken));
    return taken;
}

/* The operation below is over: room that was not used goes back, and a flush has failed. Returns the outcome. */
static int
finish(struct store_op *op, struct store_fault *fault, int err)
{
    if (fault->taken > 0)
        atomic_fetch_add(fault->room, fault->taken - (err == 0 ? op->r.write.done : 0));
    if (fault->flushed && err == 0) {
        if (op->kind == STORE_GETATTR)
            op->wcc.after = op->attr;
        store_renew_verifier(op->store);
        err = -EIO;
    }
    return err;
}

static void
below_done(struct store_op *op)
{
    struct store_fault *fault = op->fault;

    op->done = fault->done;
    op->err = finish(op, fault, op->err);
    op->done(op);
}

/* Ask the store below and see to the outcome, now or later. */
static int
ask_below(struct store_fault *fault, struct store_node *node, struct store_op *op,
          int (*ask)(struct store_node *node, struct store_op *op))
{
    int err;

    fault->done = op->done;
    op->fault = fault;
    op->done = below_done;
    err = ask(node, op);
    if (err == STORE_PENDING)
        return err;
    op->done = fault->done;
    op->err = finish(op, fault, err);
    return op->err;
}

int
fault_read(struct store_fault *fault, struct store_node *node, struct store_op *op)
{
    if (fault != NULL && fault->cut)
        op->u.read.length = MIN(op->u.read.length, fault->most);
    return store_read(node, op);
}

int
fault_write(struct store_fault *fault, struct store_node *node, struct store_op *op)
{
    if (fault == NULL)
        return store_write(node, op);
    fault->taken = 0;
    if (fault->cut)
        op->u.write.length = MIN(op->u.write.length, fault->most);
    fault->flushed = fault->flush_fails && op->u.write.stable != STORE_UNSTABLE;
    if (fault->flushed)
        op->u.write.stable = STORE_UNSTABLE;
    if (fault->room != NULL && op->u.write.length > 0) {
        fault->taken = take_room(fault->room, op->u.write.length);
        if (fault->taken == 0)
            return -ENOSPC;
        op->u.write.length = fault->taken;
    }
    return ask_below(fault, node, op, store_write);
}

int
fault_commit(struct store_fault *fault, struct store_node *node, struct store_op *op)
{
    if (fault == NULL || !fault->flush_fails)
        return store_commit(node, op);
    fault->taken = 0;
    fault->flushed = true;
    return ask_below(fault, node, op, store_getattr);
}
