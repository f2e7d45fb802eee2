/* rpc/fault.c - see fault.h. A reply that something is done to has been stored in one piece (call_reply_is_sealed()). */
#include "rpc/fault.h"

#include <assert.h>
#include <string.h>
#include <sys/param.h>

#include "rpc/source.h"

/* A reply that waits, in the memory of its call, which is outstanding meanwhile. */
struct fault_late {
    struct loop_timer timer;            /* first */
    struct call *call;
    size_t len;
    uint8_t bytes[];
};

static size_t
reply_len(const struct call *call)
{
    return (size_t)(call->reply.p - call->reply_start);
}

static size_t
kept_bytes(const struct call *call)
{
    size_t len = reply_len(call);

    return call->fault->bytes == FAULT_HALF ? len / 2 : MIN(call->fault->bytes, len);
}

static void
send_copy(struct call *call, const uint8_t *bytes, size_t len)
{
    uint8_t *p = call_space(call, len);

    if (p == NULL)
        return;
    memcpy(p, bytes, len);
    call->reply.p = p + len;
    call->source->ops->send(call->source, call);
}

/* The copy is made before the first one goes: nobody holds the bytes of a reply that could not be queued. */
static void
send_twice(struct call *call)
{
    size_t len = reply_len(call);
    uint8_t *copy = call_alloc(call, len);

    if (copy != NULL)
        memcpy(copy, call->reply_start, len);
    call->source->ops->send(call->source, call);
    if (copy != NULL)
        send_copy(call, copy, len);
}

static void
send_late(struct call_source *source)
{
    struct fault_late *late = source->late;

    source->late = NULL;
    loop_timer_stop(source->transport->loop, &late->timer);
    send_copy(late->call, late->bytes, late->len);
    call_end(late->call);
}

static void
waited_long(struct loop_timer *timer)
{
    send_late(((struct fault_late *)timer)->call->source);
}

/* Put a reply aside. Returns false when another one waits already, or memory is short: then this one leaves now. */
static bool
put_aside(struct call *call)
{
    struct call_source *source = call->source;
    size_t len = reply_len(call);
    struct fault_late *late = source->late == NULL ? call_alloc(call, sizeof(*late) + len) : NULL;

    if (late == NULL)
        return false;
    late->timer.fired = NULL;
    late->call = call;
    late->len = len;
    memcpy(late->bytes, call->reply_start, len);
    source->late = late;
    source->replying = NULL;
    loop_timer_start(source->transport->loop, &late->timer, FAULT_LATE_MS, waited_long);
    return true;
}

/* Whether the reply that waits leaves after that to this call. */
static bool
is_next(const struct call *call)
{
    const struct fault_late *late = call->source->late;
    size_t len = call->peer.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

    return late != NULL && late->call != call && memcmp(&late->call->peer, &call->peer, len) == 0;
}

/* Do to the reply what is to be done. Returns false when it waits, and with it the end of the call. */
static bool
act(struct call *call)
{
    struct call_source *source = call->source;

    assert(call->payload == NULL && call->pipe == NULL);
    switch (call->fault->reply) {
    case FAULT_REPLY_SENT:
        source->ops->send(source, call);
        break;
    case FAULT_REPLY_DROPPED:
        stat_add(&call->transport->stats.dropped, 1);
        break;
    case FAULT_REPLY_TORN:
        call->reply.p = call->reply_start + kept_bytes(call);
        source->ops->send(source, call);
        break;
    case FAULT_REPLY_TWICE:
        send_twice(call);
        break;
    case FAULT_REPLY_LATE:
        if (put_aside(call))
            return false;
        source->ops->send(source, call);
        break;
    case FAULT_REPLY_RESET:
        if (source->ops->reset != NULL)
            source->ops->reset(source, call, kept_bytes(call));
        break;
    }
    return true;
}

void
fault_send(struct call *call)
{
    struct call_source *source = call->source;
    bool next = is_next(call), over = true;

    if (call->fault != NULL)
        over = act(call);
    else
        source->ops->send(source, call);
    if (over)
        call_end(call);
    if (next)
        send_late(source);
}
