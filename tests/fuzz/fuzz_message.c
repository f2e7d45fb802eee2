/*
 * tests/fuzz/fuzz_message.c - any bytes as a call's header and credential: what is taken for a call is what libtirpc reads,
 * and what is refused gets a reply that libtirpc reads.
 */
#include <rpc/rpc.h>
#include <rpc/auth_unix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/message.h"
#include "tests/fuzz/fuzz.h"

const char fuzz_name[] = "message";

static void
require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "message: %s\n", what);
    abort();
}

/* The credential's body as libtirpc takes it. */
static void
check_auth_sys(const struct call_auth *auth, char *body, u_int len)
{
    struct authunix_parms parms = { 0 };
    XDR xdrs;

    xdrmem_create(&xdrs, body, len, XDR_DECODE);
    require(xdr_authunix_parms(&xdrs, &parms), "libtirpc reads no AUTH_SYS there");
    require(xdr_getpos(&xdrs) == len, "bytes behind AUTH_SYS");
    require(parms.aup_uid == auth->uid && parms.aup_gid == auth->gid, "another user");
    require(parms.aup_len == auth->ngids && auth->ngids <= CALL_GIDS_MAX, "other groups");
    for (uint32_t i = 0; i < auth->ngids; i++)
        require(parms.aup_gids[i] == auth->gids[i], "another group");
    xdr_free((xdrproc_t)xdr_authunix_parms, &parms);
}

/* A whole call: its header decodes with libtirpc to the same values, and the arguments begin where it ends. */
static void
check_call(const struct call *call, const uint8_t *data, size_t size)
{
    char cred[MAX_AUTH_BYTES], verf[MAX_AUTH_BYTES];
    struct rpc_msg msg = { 0 };
    XDR xdrs;

    msg.rm_call.cb_cred.oa_base = cred;
    msg.rm_call.cb_verf.oa_base = verf;
    xdrmem_create(&xdrs, (char *)(uintptr_t)data, (u_int)size, XDR_DECODE);
    require(xdr_callmsg(&xdrs, &msg), "libtirpc reads no call there");
    require(msg.rm_xid == call->xid && msg.rm_call.cb_prog == call->prog && msg.rm_call.cb_vers == call->vers &&
            msg.rm_call.cb_proc == call->proc, "another header");
    require(msg.rm_call.cb_cred.oa_flavor == (enum_t)call->auth.flavor, "another flavour");
    require(call->args.p == data + xdr_getpos(&xdrs) && call->args.end == data + size, "other arguments");
    if (call->auth.flavor == CALL_AUTH_SYS)
        check_auth_sys(&call->auth, cred, msg.rm_call.cb_cred.oa_length);
}

/* xdr_void() takes no arguments, so it is no xdrproc_t. */
static bool_t
xdr_no_results(XDR *xdrs, void *nothing)
{
    (void)xdrs;
    (void)nothing;
    return TRUE;
}

static void
check_reply(const struct call *call, uint8_t *reply, const uint8_t *end)
{
    struct rpc_msg msg = { 0 };
    XDR xdrs;

    msg.acpted_rply.ar_results.proc = (xdrproc_t)xdr_no_results;
    xdrmem_create(&xdrs, (char *)reply, (u_int)(end - reply), XDR_DECODE);
    require(xdr_replymsg(&xdrs, &msg), "a refusal that libtirpc does not read");
    require(msg.rm_xid == call->xid && xdr_getpos(&xdrs) == (u_int)(end - reply), "a refusal of something else");
    require(msg.rm_reply.rp_stat != MSG_ACCEPTED || msg.acpted_rply.ar_stat != SUCCESS, "a refusal that is none");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct call call;
    enum call_auth_stat why = CALL_AUTH_OK;
    uint8_t reply[MESSAGE_REFUSED_MAX];

    memset(&call, 0, sizeof(call));
    switch (message_read(&call, data, size, &why)) {
    case MESSAGE_CALL:
        check_call(&call, data, size);
        break;
    case MESSAGE_RPC_MISMATCH:
        check_reply(&call, reply, message_put_rpc_mismatch(reply, call.xid));
        break;
    case MESSAGE_AUTH_ERROR:
        require(why != CALL_AUTH_OK, "refused without a reason");
        check_reply(&call, reply, message_put_auth_error(reply, call.xid, why));
        break;
    case MESSAGE_GARBAGE:
        check_reply(&call, reply, message_put_error(reply, call.xid, CALL_GARBAGE_ARGS, 0, 0));
        break;
    case MESSAGE_REPLY:
    case MESSAGE_UNREADABLE:
        break;
    }
    return 0;
}
