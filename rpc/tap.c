/* rpc/tap.c - see tap.h. */
#include "rpc/tap.h"

#include <time.h>

uint64_t
tap_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void
tap_tell_begin(const struct call_tap *tap, struct call *call)
{
    call->watched = true;
    call->args_start = call->args.p;
    call->began_ns = tap_now_ns();
    call->tap_mark = tap->begins(tap->context, call);
}

void
tap_tell_end(const struct call_tap *tap, struct call *call, int how, const uint8_t *results, size_t len)
{
    call->watched = false;
    tap->ends(tap->context, call, how, results, len);
}
