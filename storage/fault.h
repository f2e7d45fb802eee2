/*
 * storage/fault.h - a store over any store, for one operation: it does less than it was asked for, or fails.
 *
 * fault_read() and its like stand in place of store_read() and its like, and hold to the same rules (store.h). What goes
 * wrong is said for each operation, so it may change from one to the next, and nodes are those of the store below.
 */
#ifndef RINGNFS_STORAGE_FAULT_H
#define RINGNFS_STORAGE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/store.h"

/* For one operation; kept until it is over. */
struct store_fault {
    bool cut;
    uint32_t most;                      /* READ and WRITE, if cut: bytes that are moved at most */
    _Atomic uint64_t *room;             /* WRITE: bytes that the disk still takes, -ENOSPC beyond; NULL: as it is */
    bool flush_fails;                   /* a stable WRITE, COMMIT: -EIO and a fresh write verifier; data stays unstable */

    void (*done)(struct store_op *op);  /* fault.c's, like all below */
    uint32_t taken;                     /* of room */
    bool flushed;                       /* the operation was to flush */
};

/* fault NULL: nothing goes wrong. */
int fault_read(struct store_fault *fault, struct store_node *node, struct store_op *op);
int fault_write(struct store_fault *fault, struct store_node *node, struct store_op *op);
int fault_commit(struct store_fault *fault, struct store_node *node, struct store_op *op);

#endif
