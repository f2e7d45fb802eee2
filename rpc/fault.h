/*
 * rpc/fault.h - calls that are to go wrong on their way, for tests of clients: what becomes of their replies.
 *
 * While the gate is armed, its owner gets each call before the program does. He may keep it for a while, end it, or let
 * it go on, and say by call->fault what is to be done to the reply. Who else uses a call does not notice. As long as the
 * gate is open, a call pays for a few branches that never change.
 */
#ifndef RINGNFS_RPC_FAULT_H
#define RINGNFS_RPC_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_HALF SIZE_MAX             /* of a reply */
#define FAULT_LATE_MS 1000              /* a reply that waits for another leaves by itself then */

struct call;

enum fault_reply {
    FAULT_REPLY_SENT,                   /* nothing is done to it */
    FAULT_REPLY_DROPPED,
    FAULT_REPLY_TORN,                   /* it ends after so many bytes, and so does its record or datagram */
    FAULT_REPLY_TWICE,
    FAULT_REPLY_LATE,                   /* after the next reply to the same client */
    FAULT_REPLY_RESET                   /* the connection is reset after so many bytes; over UDP it is dropped */
};

/* Of one call: of the gate's owner, who sets it before the call goes on. */
struct call_fault {
    enum fault_reply reply;
    size_t bytes;                       /* TORN, RESET: that leave of the reply, without a record mark; or FAULT_HALF */
    void (*end)(struct call_fault *fault);      /* the call is over; on its thread, like all here */
};

/* Of all transports of a server. */
struct fault_gate {
    _Atomic bool armed;                 /* may change at any time, and then counts for calls that come later */
    /* Set up before the first transport. Takes the call: to be ended, or given to fault_go_on(), now or later. */
    void (*take)(void *context, struct call *call);
    void *context;
};

static inline bool
fault_is_armed(const struct fault_gate *gate)
{
    return __builtin_expect(atomic_load_explicit(&gate->armed, memory_order_relaxed), false);
}

/* Let the program have a call that the gate has taken. */
void fault_go_on(struct call *call);

/* For call.c: send a finished reply as its fault says, if it has one, then one that has waited for it; both calls end. */
void fault_send(struct call *call);

#endif
