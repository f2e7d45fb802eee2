/* tests/fuzz/rig_replies.c - see rig_replies.h. */
#include "tests/fuzz/rig_replies.h"

#include <stdbool.h>
#include <string.h>

#include "server/nfs3_call.h"
#include "tests/fuzz/rig.h"
#include "xdr/mount3.h"
#include "xdr/wire.h"

enum { SUCCESS_STAT = 0, PROG_MISMATCH_STAT = 2, LAST_STAT = 5 };      /* RFC 5531 section 9: accept_stat */

#define MOUNT_PROCEDURES 6
#define ACL_PROCEDURES 3

union any_result {
    union nfs3_res nfs3;
    mountres3 mnt;
    fhstatus mnt1;
    mountlist dump;
    mount_exports exports;
};

/* xdr_void() takes no arguments, so it is no xdrproc_t. */
static bool_t
xdr_no_results(XDR *xdrs, void *nothing)
{
    (void)xdrs;
    (void)nothing;
    return TRUE;
}

#define CODEC(type) (xdrproc_t)xdr_##type
static const xdrproc_t nfs_results[] = {
    [NFSPROC3_NULL] = CODEC(no_results),
    [NFSPROC3_GETATTR] = CODEC(GETATTR3res), [NFSPROC3_SETATTR] = CODEC(SETATTR3res),
    [NFSPROC3_LOOKUP] = CODEC(LOOKUP3res), [NFSPROC3_ACCESS] = CODEC(ACCESS3res),
    [NFSPROC3_READLINK] = CODEC(READLINK3res), [NFSPROC3_READ] = CODEC(READ3res),
    [NFSPROC3_WRITE] = CODEC(WRITE3res), [NFSPROC3_CREATE] = CODEC(CREATE3res),
    [NFSPROC3_MKDIR] = CODEC(MKDIR3res), [NFSPROC3_SYMLINK] = CODEC(SYMLINK3res),
    [NFSPROC3_MKNOD] = CODEC(MKNOD3res), [NFSPROC3_REMOVE] = CODEC(REMOVE3res),
    [NFSPROC3_RMDIR] = CODEC(RMDIR3res), [NFSPROC3_RENAME] = CODEC(RENAME3res),
    [NFSPROC3_LINK] = CODEC(LINK3res), [NFSPROC3_READDIR] = CODEC(READDIR3res),
    [NFSPROC3_READDIRPLUS] = CODEC(READDIRPLUS3res), [NFSPROC3_FSSTAT] = CODEC(FSSTAT3res),
    [NFSPROC3_FSINFO] = CODEC(FSINFO3res), [NFSPROC3_PATHCONF] = CODEC(PATHCONF3res),
    [NFSPROC3_COMMIT] = CODEC(COMMIT3res),
};

static const xdrproc_t acl_results[ACL_PROCEDURES] = {
    [ACLPROC3_NULL] = CODEC(no_results), [ACLPROC3_GETACL] = CODEC(GETACL3res), [ACLPROC3_SETACL] = CODEC(SETACL3res),
};

static const xdrproc_t mount_results[MOUNT_PROCEDURES] = {
    [MOUNTPROC3_NULL] = CODEC(no_results), [MOUNTPROC3_MNT] = CODEC(mountres3), [MOUNTPROC3_DUMP] = CODEC(mountlist),
    [MOUNTPROC3_UMNT] = CODEC(no_results), [MOUNTPROC3_UMNTALL] = CODEC(no_results),
    [MOUNTPROC3_EXPORT] = CODEC(mount_exports),
};
#undef CODEC

/* NULL: a procedure that there is not, so it cannot have succeeded. */
static xdrproc_t
codec_of(const struct rig_call *call)
{
    if (call->prog == NFS_PROGRAM)
        return call->proc < sizeof(nfs_results) / sizeof(nfs_results[0]) ? nfs_results[call->proc] : NULL;
    if (call->prog == NFS_ACL_PROGRAM)
        return call->proc < ACL_PROCEDURES ? acl_results[call->proc] : NULL;
    if (call->vers == MOUNT_V1 && call->proc == MOUNTPROC3_MNT)
        return (xdrproc_t)xdr_fhstatus;
    return call->proc < MOUNT_PROCEDURES ? mount_results[call->proc] : NULL;
}

/* Handles of a LOOKUP, of what was made, of a directory's entries. */
static void
tell_handles(const struct rig_call *call, const union any_result *res,
             void (*found)(void *context, const uint8_t *bytes, size_t len), void *context)
{
    const post_op_fh3 *made = &res->nfs3.create.CREATE3res_u.resok.obj;
    const nfs_fh3 *fh = NULL;

    if (call->prog != NFS_PROGRAM || res->nfs3.status != NFS3_OK)
        return;
    if (call->proc == NFSPROC3_LOOKUP)
        fh = &res->nfs3.lookup.LOOKUP3res_u.resok.object;
    else if (call->proc >= NFSPROC3_CREATE && call->proc <= NFSPROC3_MKNOD && made->handle_follows)
        fh = &made->post_op_fh3_u.handle;
    if (fh != NULL)
        found(context, (const uint8_t *)fh->data.data_val, fh->data.data_len);
}

/* Entries of an ACL that was asked for are all there; of another one there are none. */
static bool
is_whole(uint32_t announced, u_int sent, bool asked)
{
    return sent == (asked ? announced : 0);
}

static const char *
check_acls(const struct rig_call *call, const union any_result *res)
{
    const secattr *acl = &res->nfs3.getacl.GETACL3res_u.resok.acl;

    if (call->prog != NFS_ACL_PROGRAM || call->proc != ACLPROC3_GETACL || res->nfs3.status != NFS3_OK)
        return NULL;
    if (!is_whole(acl->aclcnt, acl->aclents.aclents_len, acl->mask & NFS_ACL) ||
        !is_whole(acl->dfaclcnt, acl->dfaclents.dfaclents_len, acl->mask & NFS_DFACL))
        return "an ACL of another length than it says";
    return NULL;
}

static const char *
check_results(const struct rig_call *call, struct wire_in *in,
              void (*found)(void *context, const uint8_t *bytes, size_t len), void *context)
{
    xdrproc_t codec = codec_of(call);
    union any_result res;
    const char *wrong = NULL;
    XDR xdrs;

    if (codec == NULL)
        return "success of a procedure that there is not";
    memset(&res, 0, sizeof(res));
    xdrmem_create(&xdrs, (char *)(uintptr_t)in->p, (u_int)wire_left(in), XDR_DECODE);
    if (!codec(&xdrs, &res))
        wrong = "results that rpcgen's codec does not read";
    else if (xdr_getpos(&xdrs) != wire_left(in))
        wrong = "bytes behind the results";
    else
        wrong = check_acls(call, &res);
    if (wrong == NULL)
        tell_handles(call, &res, found, context);
    xdr_free(codec, &res);
    return wrong;
}

const char *
rig_check_reply(const struct rig_call *call, const uint8_t *reply, size_t len,
                void (*found)(void *context, const uint8_t *bytes, size_t len), void *context)
{
    struct wire_in in = { reply, reply + len, false };
    uint32_t stat;

    if (wire_get_u32(&in) != call->xid)
        return "another xid";
    if (wire_get_u32(&in) != 1 || wire_get_u32(&in) != 0 || wire_get_u32(&in) != 0 || wire_get_u32(&in) != 0)
        return "no accepted reply with an empty verifier";
    stat = wire_get_u32(&in);
    if (in.bad || stat > LAST_STAT)
        return "no accept_stat";
    if (stat == SUCCESS_STAT)
        return check_results(call, &in, found, context);
    return wire_left(&in) == (stat == PROG_MISMATCH_STAT ? 8 : 0) ? NULL : "bytes behind a refusal";
}
