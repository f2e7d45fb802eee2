/* rpc/message.c - call headers in, reply headers out (RFC 5531 section 9 and appendix A). */
#include "rpc/message.h"

#define RPC_VERSION 2
#define MACHINE_MAX 255                 /* appendix A: machinename<255> */

enum { TYPE_CALL = 0, TYPE_REPLY = 1 };
enum { REPLY_ACCEPTED = 0, REPLY_DENIED = 1 };
enum { DENIED_RPC_MISMATCH = 0, DENIED_AUTH_ERROR = 1 };

/* The body of an AUTH_SYS credential, which must end where it says. */
static enum call_auth_stat
read_auth_sys(struct call_auth *auth, const uint8_t *body, size_t len)
{
    struct wire_in in = { body, body + len, false };

    wire_get_u32(&in);                                   /* the stamp means nothing to us */
    auth->machine = wire_get_opaque(&in, MACHINE_MAX, &auth->machine_len);
    auth->uid = wire_get_u32(&in);
    auth->gid = wire_get_u32(&in);
    auth->ngids = wire_get_u32(&in);
    if (in.bad || auth->ngids > CALL_GIDS_MAX)
        return CALL_AUTH_BADCRED;
    for (uint32_t i = 0; i < auth->ngids; i++)
        auth->gids[i] = wire_get_u32(&in);
    return in.bad || in.p != in.end ? CALL_AUTH_BADCRED : CALL_AUTH_OK;
}

static enum call_auth_stat
read_cred(struct call *call, uint32_t flavor, const uint8_t *body, uint32_t len)
{
    switch (flavor) {
    case CALL_AUTH_NONE:
        call->auth.flavor = CALL_AUTH_NONE;
        return CALL_AUTH_OK;
    case CALL_AUTH_SYS:
        call->auth.flavor = CALL_AUTH_SYS;
        return read_auth_sys(&call->auth, body, len);
    case CALL_AUTH_GSS:
        call->auth.flavor = CALL_AUTH_GSS;
        return gss_message_read_cred(&call->gss_header.cred, body, len) < 0 ? CALL_AUTH_BADCRED : CALL_AUTH_OK;
    default:
        return CALL_AUTH_BADCRED;
    }
}

/* One opaque_auth: flavour and body. *len is what is announced; the body is NULL when it is not there or too long. */
static const uint8_t *
read_opaque_auth(struct wire_in *in, uint32_t *flavor, uint32_t *len)
{
    *flavor = wire_get_u32(in);
    *len = wire_get_u32(in);
    if (in->bad || *len > MESSAGE_AUTH_BODY_MAX)
        return NULL;
    return wire_get_bytes(in, wire_padded(*len));
}

/* AUTH_NONE, but a checksum where an RPCSEC_GSS context is used (RFC 2203 5.2.2, 5.3.1). */
static uint32_t
wanted_verifier(const struct call *call)
{
    enum gss_proc proc;

    if (call->auth.flavor != CALL_AUTH_GSS)
        return CALL_AUTH_NONE;
    proc = call->gss_header.cred.proc;
    return proc == GSS_PROC_INIT || proc == GSS_PROC_CONTINUE_INIT ? CALL_AUTH_NONE : CALL_AUTH_GSS;
}

enum message_kind
message_read(struct call *call, const uint8_t *data, size_t len, enum call_auth_stat *why)
{
    struct wire_in in = { data, data + len, false };
    uint32_t type, rpcvers, flavor, size;
    const uint8_t *body;

    call->xid = wire_get_u32(&in);
    type = wire_get_u32(&in);
    if (!in.bad && type == TYPE_REPLY)
        return MESSAGE_REPLY;
    rpcvers = wire_get_u32(&in);
    if (in.bad || type != TYPE_CALL)
        return MESSAGE_UNREADABLE;
    if (rpcvers != RPC_VERSION)
        return MESSAGE_RPC_MISMATCH;
    call->prog = wire_get_u32(&in);
    call->vers = wire_get_u32(&in);
    call->proc = wire_get_u32(&in);
    if (in.bad)
        return MESSAGE_UNREADABLE;

    body = read_opaque_auth(&in, &flavor, &size);
    *why = CALL_AUTH_BADCRED;
    if (!in.bad && size > MESSAGE_AUTH_BODY_MAX)
        return MESSAGE_AUTH_ERROR;
    if (in.bad)
        return MESSAGE_GARBAGE;
    *why = read_cred(call, flavor, body, size);
    if (*why != CALL_AUTH_OK)
        return MESSAGE_AUTH_ERROR;

    call->gss_header.signed_bytes = data;
    call->gss_header.signed_len = (size_t)(in.p - data);
    call->gss_header.verifier = read_opaque_auth(&in, &flavor, &call->gss_header.verifier_len);
    size = call->gss_header.verifier_len;
    if (in.bad)
        return MESSAGE_GARBAGE;
    if (flavor != wanted_verifier(call) || size > MESSAGE_AUTH_BODY_MAX) {
        *why = CALL_AUTH_BADVERF;
        return MESSAGE_AUTH_ERROR;
    }
    call->args = in;
    return MESSAGE_CALL;
}

static uint8_t *
put_u32(uint8_t *p, uint32_t value)
{
    value = htobe32(value);
    memcpy(p, &value, 4);
    return p + 4;
}

static uint8_t *
put_accepted(uint8_t *p, uint32_t xid, enum call_accept status)
{
    p = put_u32(p, xid);
    p = put_u32(p, TYPE_REPLY);
    p = put_u32(p, REPLY_ACCEPTED);
    p = put_u32(p, CALL_AUTH_NONE);
    p = put_u32(p, 0);
    return put_u32(p, status);
}

uint8_t *
message_put_success(uint8_t *p, uint32_t xid)
{
    return put_accepted(p, xid, CALL_SUCCESS);
}

uint8_t *
message_put_error(uint8_t *p, uint32_t xid, enum call_accept status, uint32_t low, uint32_t high)
{
    p = put_accepted(p, xid, status);
    if (status != CALL_PROG_MISMATCH)
        return p;
    p = put_u32(p, low);
    return put_u32(p, high);
}

uint8_t *
message_put_verified(uint8_t *p, uint32_t xid, enum call_accept status, uint32_t low, uint32_t high, const uint8_t *mic,
                     size_t len)
{
    p = put_u32(p, xid);
    p = put_u32(p, TYPE_REPLY);
    p = put_u32(p, REPLY_ACCEPTED);
    p = put_u32(p, CALL_AUTH_GSS);
    p = put_u32(p, (uint32_t)len);
    memcpy(p, mic, len);
    memset(p + len, 0, wire_padding(len));
    p = put_u32(p + wire_padded(len), status);
    if (status != CALL_PROG_MISMATCH)
        return p;
    p = put_u32(p, low);
    return put_u32(p, high);
}

static uint8_t *
put_denied(uint8_t *p, uint32_t xid, uint32_t reject)
{
    p = put_u32(p, xid);
    p = put_u32(p, TYPE_REPLY);
    p = put_u32(p, REPLY_DENIED);
    return put_u32(p, reject);
}

uint8_t *
message_put_rpc_mismatch(uint8_t *p, uint32_t xid)
{
    p = put_denied(p, xid, DENIED_RPC_MISMATCH);
    p = put_u32(p, RPC_VERSION);
    return put_u32(p, RPC_VERSION);
}

uint8_t *
message_put_auth_error(uint8_t *p, uint32_t xid, enum call_auth_stat why)
{
    return put_u32(put_denied(p, xid, DENIED_AUTH_ERROR), why);
}
