/*
 * rpc/tap.h - somebody who looks on: told of each call before its program gets it, and again when it is over, right
 * before its reply leaves. Whoever has a reply can rely on it that the tap has been told.
 *
 * With RPCSEC_GSS arguments and results are seen in the clear. Calls that no program gets (bad credentials, a ticket
 * that is to be looked at) are not seen. As long as nobody looks on, a call pays for two branches that never change.
 */
#ifndef RINGNFS_RPC_TAP_H
#define RINGNFS_RPC_TAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/call.h"

#define TAP_DROPPED (-1)                /* the call has ended without a reply */

/* Set up before the first transport; `open` may change at any time, and then counts for calls that come later. */
struct call_tap {
    _Atomic bool open;
    /* On the call's thread. The call is the program's: only to be looked at, like its bytes. Returns call->tap_mark. */
    uint64_t (*begins)(void *context, const struct call *call);
    /* how: an accept_stat or TAP_DROPPED; results: those of CALL_SUCCESS, len bytes. */
    void (*ends)(void *context, const struct call *call, int how, const uint8_t *results, size_t len);
    void *context;
};

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t tap_now_ns(void);

/* tap.c's: the slow halves of what follows. */
void tap_tell_begin(const struct call_tap *tap, struct call *call);
void tap_tell_end(const struct call_tap *tap, struct call *call, int how, const uint8_t *results, size_t len);

static inline void
tap_begin(const struct call_tap *tap, struct call *call)
{
    if (__builtin_expect(atomic_load_explicit(&tap->open, memory_order_relaxed), false))
        tap_tell_begin(tap, call);
}

static inline void
tap_end(const struct call_tap *tap, struct call *call, int how, const uint8_t *results, size_t len)
{
    if (__builtin_expect(call->watched, false))
        tap_tell_end(tap, call, how, results, len);
}

#endif
