/*
 * server/fault_call.h - what rules of faults do to a call: looked at before its program gets it, carried out by the
 * transport (rpc/fault.h), by the store (storage/fault.h), and by dispatch.c.
 */
#ifndef RINGNFS_SERVER_FAULT_CALL_H
#define RINGNFS_SERVER_FAULT_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/call.h"
#include "rpc/fault.h"
#include "storage/fault.h"

/* What dispatch.c looks at; in the memory of the call. */
struct fault_verdict {
    struct call_fault reply;            /* first */
    struct store_fault store;
    int err;                            /* -errno: the answer in place of the operation; 0: none */
    bool stale;                         /* the answer to the handle */
    const _Atomic uint64_t *names_room; /* 0 there: a call that makes a name finds the disk full; NULL: as it is */
};

/* Of a call; NULL: nothing goes wrong. */
static inline struct fault_verdict *
fault_verdict(const struct call *call)
{
    return (struct fault_verdict *)call->fault;
}

/* The same of its operation. */
static inline struct store_fault *
fault_of_store(const struct call *call)
{
    return call->fault != NULL ? &fault_verdict(call)->store : NULL;
}

/* Likewise: what it is told in place of its operation; 0: nothing. */
static inline int
fault_err(const struct call *call)
{
    return call->fault != NULL ? fault_verdict(call)->err : 0;
}

/* For the transports' gate: context is the server's struct faults. On the worker's thread. */
void fault_take_call(void *context, struct call *call);

#endif
