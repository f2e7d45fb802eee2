/*
 * rpc/call.c - calls: their memory, their delivery, their replies.
 *
 * Calls are cut from slabs of the worker's buffers and go back to a free list, so that none costs an allocation and all
 * are counted in the server's memory.
 */
#include "rpc/call.h"

#include <assert.h>
#include <errno.h>
#include <sys/param.h>

#include "rpc/fault.h"
#include "rpc/gss.h"
#include "rpc/message.h"
#include "rpc/source.h"
#include "rpc/tap.h"

#define SLAB_BYTES ((size_t)64 << 10)
#define CALL_ALIGN ((size_t)64)         /* a cache line */
#define CALLS_SHARE 4                   /* of the budget, that calls may have */
#define TOLD_BYTES ((size_t)64 << 10)
#define ARENA_BYTES ((size_t)16 << 10)
#define ARENA_ALIGN ((size_t)16)

static bool
add_slab(struct transport *transport)
{
    struct transport_private *private = transport->private;
    struct transport_shared *shared = private->shared;
    struct buf *slab;

    if (atomic_load_explicit(&shared->call_bytes, memory_order_relaxed) >= shared->budget.max_bytes / CALLS_SHARE)
        return false;
    slab = buf_get_spare(transport->buffers, MAX(SLAB_BYTES, private->call_size));
    if (slab == NULL)
        return false;
    atomic_fetch_add_explicit(&shared->call_bytes, slab->capacity, memory_order_relaxed);
    slab->next = private->slabs;
    private->slabs = slab;
    for (size_t at = 0; at + private->call_size <= slab->capacity; at += roundup(private->call_size, CALL_ALIGN)) {
        struct call *call = (struct call *)(slab->data + at);

        call->next = private->calls;
        private->calls = call;
    }
    return true;
}

bool
call_scarce(const struct transport *transport)
{
    const struct transport_shared *shared = transport->private->shared;

    return transport->private->calls == NULL &&
           atomic_load_explicit(&shared->call_bytes, memory_order_relaxed) >=
               shared->budget.max_bytes / CALLS_SHARE / 2;
}

struct call *
call_new(struct call_source *source)
{
    struct transport *transport = source->transport;
    struct transport_private *private = transport->private;
    struct call *call;

    if (private->calls == NULL && !add_slab(transport))
        return NULL;
    call = private->calls;
    private->calls = call->next;
    call->next = NULL;
    call->transport = transport;
    call->source = source;
    call->stream = source->stream;
    call->request = NULL;
    call->arena = NULL;
    call->arena_used = 0;
    call->reply_start = NULL;
    call->gss = NULL;
    call->payload = NULL;
    call->payload_len = 0;
    call->pipe = NULL;
    call->expected = 0;
    call->holds = false;
    call->fault = NULL;
    call->watched = false;
    call->replayed = false;
    return call;
}

static void
drop_payload(struct call *call)
{
    buf_put(call->payload);
    if (call->pipe != NULL)
        pipe_put(call->pipe, call->payload_len);
    call->payload = NULL;
    call->pipe = NULL;
    call->payload_len = 0;
}

void
call_free(struct call *call)
{
    struct transport_private *private = call->transport->private;
    struct buf *next;

    if (call->gss != NULL)
        gss_call_end(call);
    if (call->fault != NULL)
        call->fault->end(call->fault);
    for (; call->arena != NULL; call->arena = next) {
        next = call->arena->next;
        buf_put(call->arena);
    }
    drop_payload(call);
    buf_put(call->request);
    call->next = private->calls;
    private->calls = call;
}

void *
call_alloc(struct call *call, size_t size)
{
    uint8_t *space = call->arena == NULL ? call->small : call->arena->data;
    size_t capacity = call->arena == NULL ? sizeof(call->small) : call->arena->capacity;
    size_t used = call->arena_used;
    struct buf *arena;

    if (size > SIZE_MAX - ARENA_ALIGN)
        return NULL;
    size = roundup(size, ARENA_ALIGN);
    if (size > capacity - used) {
        arena = buf_get(call->transport->buffers, MAX(size, ARENA_BYTES));
        if (arena == NULL)
            return NULL;
        arena->next = call->arena;
        call->arena = arena;
        space = arena->data;
        used = 0;
    }
    call->arena_used = used + size;
    return space + used;
}

/* What of a call counts at once for its client: the rest is little, or counts when it is queued. */
static size_t
told_bytes(size_t bytes)
{
    return bytes >= TOLD_BYTES ? bytes : 0;
}

void
call_expect(struct call *call, size_t bytes)
{
    client_hold(call->source->client, told_bytes(bytes), told_bytes(call->expected));
    call->source->expected_bytes += bytes - call->expected;
    call->expected = bytes;
}

void
call_hold(struct call *call, bool hold)
{
    struct call_source *source = call->source;

    if (call->holds == hold)
        return;
    call->holds = hold;
    source->holds += hold ? 1 : -1;
    source_dirty(source);
}

void
call_yield(struct call *call, void (*go_on)(struct call *call))
{
    struct transport_private *private = call->transport->private;

    call->go_on = go_on;
    call->next = NULL;
    if (private->first_yielded == NULL)
        private->first_yielded = call;
    else
        private->last_yielded->next = call;
    private->last_yielded = call;
    private->nyielded++;
}

int
call_deliver(struct call *call, struct buf *buf, const uint8_t *data, size_t len)
{
    struct call_source *source = call->source;
    struct transport *transport = call->transport;
    enum call_auth_stat why;
    enum message_kind kind = message_read(call, data, len, &why);

    if (kind == MESSAGE_REPLY || kind == MESSAGE_UNREADABLE) {
        stat_add(&transport->stats.bad_messages, 1);
        call_free(call);
        return kind == MESSAGE_REPLY ? 0 : -EBADMSG;
    }
    stat_add(&transport->stats.calls, 1);
    call->request = buf_ref(buf);
    source->has_called = true;
    source->outstanding++;
    transport->outstanding++;
    switch (kind) {
    case MESSAGE_RPC_MISMATCH:
        call_reply_rpc_mismatch(call);
        break;
    case MESSAGE_AUTH_ERROR:
        call_reply_auth_error(call, why);
        break;
    case MESSAGE_GARBAGE:
        call_reply_error(call, CALL_GARBAGE_ARGS, 0, 0);
        break;
    default:
        if (call->auth.flavor == CALL_AUTH_GSS && !gss_receive(transport->private->shared->gss, call))
            break;
        tap_begin(&transport->private->shared->tap, call);
        if (fault_is_armed(&transport->private->shared->faults))
            transport->private->shared->faults.take(transport->private->shared->faults.context, call);
        else
            program_dispatch(transport->private->programs, transport->private->nprograms, call);
        break;
    }
    return 0;
}

void
fault_go_on(struct call *call)
{
    const struct transport_private *private = call->transport->private;

    program_dispatch(private->programs, private->nprograms, call);
}

void
call_end(struct call *call)
{
    struct call_source *source = call->source;

    if (source->replying == call)
        source->replying = NULL;
    call_hold(call, false);
    source->outstanding--;
    source->expected_bytes -= call->expected;
    client_hold(source->client, 0, told_bytes(call->expected));
    call->transport->outstanding--;
    call_free(call);
    source_dirty(source);
}

uint8_t *
call_space(struct call *call, size_t bytes)
{
    struct call_source *source = call->source;

    assert(source->replying == NULL || source->replying == call);
    call->reply_start = source->ops->space(source, bytes);
    if (call->reply_start != NULL)
        source->replying = call;
    return call->reply_start;
}

static void
reply_send(struct call *call)
{
    stat_add(&call->transport->stats.replies, 1);
    if (__builtin_expect(call->fault != NULL || call->source->late != NULL, false)) {
        fault_send(call);
        return;
    }
    call->source->ops->send(call->source, call);
    call_end(call);
}

/* Room for a reply without results; NULL when memory is short, and then the call has been dropped. */
static uint8_t *
refusal_space(struct call *call)
{
    uint8_t *p = call_space(call, MESSAGE_REFUSED_MAX + wire_padded(GSS_MIC_MAX));

    drop_payload(call);
    if (p == NULL)
        call_drop(call);
    return p;
}

/* What RPCSEC_GSS puts around the results. */
static size_t
gss_bytes(const struct call *call)
{
    return call->gss == NULL ? 0 : gss_front_bytes(call) + gss_tail_bytes(call);
}

struct wire_out *
call_reply_begin(struct call *call, size_t max_bytes)
{
    uint8_t *p;

    if (max_bytes > call_reply_max(call))
        return NULL;
    p = call_space(call, MESSAGE_ACCEPTED_BYTES + max_bytes + gss_bytes(call));
    if (p == NULL)
        return NULL;
    call->results = call->gss != NULL ? gss_put_front(call, p) : message_put_success(p, call->xid);
    call->reply.p = call->results;
    call->reply.end = call->reply.p + max_bytes;
    call->reply.full = false;
    return &call->reply;
}

void
call_reply_lend(struct call *call, struct buf *buf, const uint8_t *data, size_t len)
{
    assert(call->payload == NULL && !call_reply_is_sealed(call));
    call->payload = buf_ref(buf);
    call->payload_data = data;
    call->payload_len = len;
}

void
call_reply_lend_pipe(struct call *call, struct pipe *pipe, size_t len)
{
    assert(call->payload == NULL && call->pipe == NULL && call->stream && !call_reply_is_sealed(call));
    call->pipe = pipe;
    call->payload_len = len;
}

void
call_reply_end(struct call *call)
{
    size_t bytes = (size_t)(call->reply.p - call->results) + wire_padded(call->payload_len);

    assert(call->source->replying == call);
    if (call->reply.full || bytes > call_reply_max(call)) {
        call_reply_error(call, CALL_SYSTEM_ERR, 0, 0);
        return;
    }
    tap_end(&call->transport->private->shared->tap, call, CALL_SUCCESS, call->results,
            (size_t)(call->reply.p - call->results));
    if (call->gss != NULL && !gss_seal_reply(call))
        call_drop(call);                                /* RFC 2203 5.3.3.4.1, 5.3.3.4.4 */
    else
        reply_send(call);
}

void
call_reply_error(struct call *call, enum call_accept status, uint32_t low, uint32_t high)
{
    uint8_t *p = refusal_space(call);

    if (p == NULL)
        return;
    tap_end(&call->transport->private->shared->tap, call, (int)status, NULL, 0);
    call->reply.p = call->gss != NULL ? gss_put_error(call, p, status, low, high)
                                      : message_put_error(p, call->xid, status, low, high);
    reply_send(call);
}

void
call_reply_auth_error(struct call *call, enum call_auth_stat status)
{
    uint8_t *p;

    stat_add(&call->transport->stats.auth_errors, 1);
    p = refusal_space(call);
    if (p == NULL)
        return;
    call->reply.p = message_put_auth_error(p, call->xid, status);
    reply_send(call);
}

void
call_reply_rpc_mismatch(struct call *call)
{
    uint8_t *p = refusal_space(call);

    if (p == NULL)
        return;
    call->reply.p = message_put_rpc_mismatch(p, call->xid);
    reply_send(call);
}

void
call_drop(struct call *call)
{
    stat_add(&call->transport->stats.dropped, 1);
    tap_end(&call->transport->private->shared->tap, call, TAP_DROPPED, NULL, 0);
    call_end(call);
}

size_t
call_reply_max(const struct call *call)
{
    size_t max = call->source->reply_max - gss_bytes(call);

    return max - max % 4;                                /* results are whole words */
}

bool
call_reply_is_sealed(const struct call *call)
{
    return call->watched || call->fault != NULL || (call->gss != NULL && gss_protects(call));
}

uint16_t
call_peer_port(const struct call *call)
{
    switch (call->peer.ss_family) {
    case AF_INET:
        return ntohs(((const struct sockaddr_in *)&call->peer)->sin_port);
    case AF_INET6:
        return ntohs(((const struct sockaddr_in6 *)&call->peer)->sin6_port);
    default:
        return 0;
    }
}
