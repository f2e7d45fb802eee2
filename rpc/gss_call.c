/*
 * rpc/gss_call.c - calls of RPCSEC_GSS on their way in, and their replies on the way out; see gss.h.
 *
 * Of a call that uses a context first the checksum over its header is looked at, then its number, so that nobody else can
 * use numbers up, then its arguments (RFC 2203 5.3.3.1).
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/gss_private.h"
#include "rpc/message.h"

#define INIT_RESULT_BYTES (4 + GSS_HANDLE_BYTES + 4 + 4 + 4 + 4)    /* RFC 2203 5.2.3.1, without the token */

/* Refuse the call; for returning from gss_receive(). */
static bool
refuse(struct call *call, enum call_auth_stat why)
{
    call_reply_auth_error(call, why);
    return false;
}

static bool
refuse_garbage(struct call *call)
{
    call_reply_error(call, CALL_GARBAGE_ARGS, 0, 0);
    return false;
}

static struct wire_out *
put_init_result(struct call *call, const struct gss_job *job)
{
    const struct gss_accepted *accepted = &job->accepted;
    bool failed = gss_failed(accepted);
    struct wire_out *out = call_reply_begin(call, INIT_RESULT_BYTES + wire_padded(accepted->token_len));

    if (out == NULL)
        return NULL;
    wire_put_opaque(out, job->context->handle, failed ? 0 : GSS_HANDLE_BYTES);
    wire_put_u32(out, accepted->major);
    wire_put_u32(out, accepted->minor);
    wire_put_u32(out, GSS_WINDOW);
    wire_put_opaque(out, accepted->token, (uint32_t)accepted->token_len);
    return out;
}

static void
report(const struct gss_job *job, const struct call *call)
{
    const struct gss_config *config = &job->gss->config;
    const struct gss_accepted *accepted = &job->accepted;
    const struct gss_outcome outcome = {
        .peer = &call->peer,
        .principal = accepted->complete ? accepted->principal : NULL,
        .uid = job->context->uid,
        .error = accepted->error,
    };

    if (accepted->complete || gss_failed(accepted))
        config->report(config->context, &outcome);
}

/* A job is over, or was given up. */
static void
answer_init(struct loop_message *message)
{
    struct gss_call *gss_call = (struct gss_call *)message;
    struct call *call = gss_call->call;
    struct gss_job *job = gss_call->job;
    struct wire_out *out;

    if (job == NULL) {
        call_drop(call);
        return;
    }
    if (job->accepted.complete) {
        gss_call->mic_len = job->context->sizes.mic;
        memcpy(gss_call->mic, job->mic, gss_call->mic_len);
    }
    report(job, call);
    out = put_init_result(call, job);
    gss_job_free(job);
    if (out != NULL)
        call_reply_end(call);
    else
        call_drop(call);
}

/* The context that a call is to begin or to go on with, with a reference; NULL: there is none. */
static struct gss_context *
context_to_make(struct gss *gss, const struct gss_cred *cred)
{
    if (cred->proc == GSS_PROC_CONTINUE_INIT)
        return gss_table_find(gss->table, cred->handle, cred->handle_len);
    return gss_context_new(gss->config.mech);
}

static bool
receive_init(struct gss *gss, struct call *call)
{
    const struct gss_cred *cred = &call->gss_header.cred;
    struct gss_context *context;
    uint32_t len;
    const uint8_t *token;
    struct gss_job *job;

    if (call->proc != 0 || (cred->proc == GSS_PROC_INIT && cred->handle_len != 0))
        return refuse(call, CALL_AUTH_BADCRED);
    token = wire_get_opaque(&call->args, GSS_TOKEN_MAX, &len);
    if (token == NULL)
        return refuse_garbage(call);
    context = context_to_make(gss, cred);
    if (context == NULL)
        return refuse(call, CALL_AUTH_CREDPROBLEM);
    job = calloc(1, sizeof(*job) + len);
    if (job == NULL) {
        gss_context_put(context);
        call_drop(call);
        return false;
    }
    job->gss = gss;
    job->waiter = call->gss;
    job->context = context;
    job->listed = cred->proc == GSS_PROC_CONTINUE_INIT;
    job->len = len;
    memcpy(job->token, token, len);
    if (gss_queue(gss, job) < 0) {
        gss_job_free(job);
        call_reply_error(call, CALL_SYSTEM_ERR, 0, 0);
    }
    return false;
}

/* A counted opaque that ends with the arguments' bytes, or before. */
static const uint8_t *
get_body(struct wire_in *in, uint32_t *len)
{
    return wire_get_opaque(in, UINT32_MAX - 3, len);
}

/* What the arguments are inside of (5.3.2.2, 5.3.2.3); NULL when somebody has changed it. With the context's lock. */
static const uint8_t *
open_body(const struct gss_context *context, struct call *call, size_t *len)
{
    struct wire_in in = call->args;
    uint32_t outer, mic_len;
    const uint8_t *body = get_body(&in, &outer), *mic, *inner;

    if (body == NULL)
        return NULL;
    if (call->gss->service == GSS_SERVICE_PRIVACY)      /* the request's buffer is ours, and nobody else reads it */
        return context->mech->unwrap(context->security, (uint8_t *)(uintptr_t)body, outer, &inner, len) ? inner : NULL;
    mic = get_body(&in, &mic_len);
    *len = outer;
    return mic != NULL && context->mech->verify(context->security, body, outer, mic, mic_len) ? body : NULL;
}

/* Have call->args be the arguments alone. False: they are garbage (5.3.3.4.2, 5.3.3.4.3). With the context's lock. */
static bool
open_args(const struct gss_context *context, struct call *call)
{
    const uint8_t *body;
    struct wire_in in;
    size_t len;

    if (call->gss->service == GSS_SERVICE_NONE)
        return true;
    body = open_body(context, call, &len);
    if (body == NULL)
        return false;
    in = (struct wire_in){ body, body + len, false };
    if (wire_get_u32(&in) != call->gss->seq || in.bad)
        return false;
    call->args = in;
    return true;
}

enum look { LOOK_GOOD, LOOK_GARBAGE, LOOK_REPLAYED, LOOK_CREDPROBLEM, LOOK_CTXPROBLEM };

/* With the context's lock. */
static enum look
look_at_call(struct gss_context *context, struct call *call)
{
    const struct gss_header *header = &call->gss_header;
    struct gss_call *gss_call = call->gss;
    uint32_t seq = htobe32(gss_call->seq);

    if (!context->mech->verify(context->security, header->signed_bytes, header->signed_len, header->verifier,
                               header->verifier_len))
        return LOOK_CREDPROBLEM;
    if (gss_call->seq > GSS_MAXSEQ)
        return LOOK_CTXPROBLEM;
    if (!gss_window_take(&context->window, gss_call->seq))
        return LOOK_REPLAYED;
    if (!context->mech->sign(context->security, (const uint8_t *)&seq, sizeof(seq), gss_call->mic))
        return LOOK_CTXPROBLEM;
    gss_call->mic_len = context->sizes.mic;
    return header->cred.proc == GSS_PROC_DESTROY || open_args(context, call) ? LOOK_GOOD : LOOK_GARBAGE;
}

static bool
destroy(struct gss *gss, struct call *call)
{
    gss_table_remove(gss->table, call->gss->context);
    if (call_reply_begin(call, 0) != NULL)
        call_reply_end(call);
    else
        call_drop(call);
    return false;
}

static void
identify(struct call *call)
{
    const struct gss_context *context = call->gss->context;

    call->auth.flavor = (enum call_flavor)(CALL_AUTH_KRB5 + (call->gss->service - GSS_SERVICE_NONE));
    call->auth.uid = context->uid;
    call->auth.gid = context->gid;
    call->auth.principal = context->principal;
    call->auth.ngids = 0;
}

static bool
receive_data(struct gss *gss, struct call *call)
{
    const struct gss_cred *cred = &call->gss_header.cred;
    struct gss_context *context;
    enum look look;

    if (cred->proc == GSS_PROC_DESTROY && call->proc != 0)
        return refuse(call, CALL_AUTH_BADCRED);
    context = call->gss->context = gss_table_find(gss->table, cred->handle, cred->handle_len);
    if (context == NULL || !atomic_load(&context->established))
        return refuse(call, CALL_AUTH_CREDPROBLEM);
    call->gss->seq = cred->seq;
    call->gss->service = cred->proc == GSS_PROC_DESTROY ? GSS_SERVICE_NONE : cred->service;
    pthread_mutex_lock(&context->lock);
    look = look_at_call(context, call);
    pthread_mutex_unlock(&context->lock);
    switch (look) {
    case LOOK_GARBAGE:
        return refuse_garbage(call);
    case LOOK_CREDPROBLEM:
        return refuse(call, CALL_AUTH_CREDPROBLEM);
    case LOOK_CTXPROBLEM:
        return refuse(call, CALL_AUTH_CTXPROBLEM);
    case LOOK_REPLAYED:
        atomic_fetch_add_explicit(&gss->replayed, 1, memory_order_relaxed);
        call_drop(call);
        return false;
    case LOOK_GOOD:
        break;
    }
    if (cred->proc == GSS_PROC_DESTROY)
        return destroy(gss, call);
    identify(call);
    return true;
}

bool
gss_receive(struct gss *gss, struct call *call)
{
    enum gss_proc proc = call->gss_header.cred.proc;

    if (gss == NULL || !atomic_load_explicit(&gss->allowed, memory_order_relaxed))
        return refuse(call, CALL_AUTH_BADCRED);
    call->gss = call_alloc(call, sizeof(*call->gss));
    if (call->gss == NULL) {
        call_drop(call);
        return false;
    }
    *call->gss = (struct gss_call){ .message.run = answer_init, .call = call, .service = GSS_SERVICE_NONE };
    if (proc == GSS_PROC_INIT || proc == GSS_PROC_CONTINUE_INIT)
        return receive_init(gss, call);
    return receive_data(gss, call);
}

/* ---- Replies ---- */

size_t
gss_front_bytes(const struct call *call)
{
    const struct gss_call *gss_call = call->gss;

    switch (gss_call->service) {
    case GSS_SERVICE_INTEGRITY:                         /* length and number */
        return wire_padded(gss_call->mic_len) + 4 + 4;
    case GSS_SERVICE_PRIVACY:
        return wire_padded(gss_call->mic_len) + 4 + gss_call->context->sizes.wrap_header + 4;
    default:
        return wire_padded(gss_call->mic_len);
    }
}

size_t
gss_tail_bytes(const struct call *call)
{
    const struct gss_call *gss_call = call->gss;

    if (gss_call->service == GSS_SERVICE_NONE)
        return 0;
    if (gss_call->service == GSS_SERVICE_INTEGRITY)
        return 4 + wire_padded(gss_call->context->sizes.mic);
    return gss_call->context->sizes.wrap_trailer + wire_padding(1);
}

bool
gss_protects(const struct call *call)
{
    return call->gss->service != GSS_SERVICE_NONE;
}

uint8_t *
gss_put_error(const struct call *call, uint8_t *p, enum call_accept status, uint32_t low, uint32_t high)
{
    const struct gss_call *gss_call = call->gss;

    if (gss_call->mic_len == 0)
        return message_put_error(p, call->xid, status, low, high);
    return message_put_verified(p, call->xid, status, low, high, gss_call->mic, gss_call->mic_len);
}

static void
put_u32(uint8_t *p, size_t value)
{
    uint32_t wide = htobe32((uint32_t)value);

    memcpy(p, &wide, sizeof(wide));
}

uint8_t *
gss_put_front(const struct call *call, uint8_t *p)
{
    uint8_t *results = p + MESSAGE_ACCEPTED_BYTES + gss_front_bytes(call);

    gss_put_error(call, p, CALL_SUCCESS, 0, 0);
    if (gss_protects(call))
        put_u32(results - 4, call->gss->seq);
    return results;
}

/* A checksum behind the number and the results (5.3.2.2). */
static bool
seal_integrity(struct call *call, const struct gss_context *context)
{
    uint8_t *body = call->results - 4, *mic = call->reply.p + 4;
    size_t len = (size_t)(call->reply.p - body), mic_len = context->sizes.mic;

    if (!context->mech->sign(context->security, body, len, mic))
        return false;
    put_u32(body - 4, len);
    put_u32(call->reply.p, mic_len);
    memset(mic + mic_len, 0, wire_padding(mic_len));
    call->reply.p = mic + wire_padded(mic_len);
    return true;
}

/* The number and the results are encrypted where they are (5.3.2.3). */
static bool
seal_privacy(struct call *call, const struct gss_context *context)
{
    const struct gss_sizes *sizes = &context->sizes;
    uint8_t *body = call->results - 4, *token = body - sizes->wrap_header;
    size_t len = (size_t)(call->reply.p - body), token_len = sizes->wrap_header + len + sizes->wrap_trailer;

    if (!context->mech->wrap(context->security, body, len, sizes))
        return false;
    put_u32(token - 4, token_len);
    memset(token + token_len, 0, wire_padding(token_len));
    call->reply.p = token + wire_padded(token_len);
    return true;
}

bool
gss_seal_reply(struct call *call)
{
    struct gss_context *context = call->gss->context;
    bool sealed;

    if (!gss_protects(call))
        return true;
    assert(call->payload_len == 0);
    pthread_mutex_lock(&context->lock);
    sealed = call->gss->service == GSS_SERVICE_INTEGRITY ? seal_integrity(call, context) : seal_privacy(call, context);
    pthread_mutex_unlock(&context->lock);
    return sealed;
}

void
gss_call_end(struct call *call)
{
    gss_context_put(call->gss->context);
}
