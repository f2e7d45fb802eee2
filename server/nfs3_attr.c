/*
 * server/nfs3_attr.c - GETATTR, SETATTR, ACCESS and READLINK (RFC 1813 3.3.1, 3.3.2, 3.3.4, 3.3.5).
 */
#include <errno.h>
#include <sys/stat.h>

#include "server/nfs3_procs.h"
#include "server/nfs3_reply.h"

#define ACCESS_ALL 0x3fu                /* the bits that version 3 gives a meaning */
#define ACCESS_CHANGES (STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND | STORE_ACCESS_DELETE)

int
nfs3_getattr_begin(struct nfs3_call *call)
{
    return store_getattr(call->node, &call->op);
}

int
nfs3_getattr_finish(struct nfs3_call *call)
{
    if (!call->op.attr.present)
        return -EIO;
    nfs3_fattr(call, &call->op.attr, &call->res.getattr.GETATTR3res_u.resok.obj_attributes);
    return 0;
}

int
nfs3_setattr_begin(struct nfs3_call *call)
{
    const SETATTR3args *args = &call->args.setattr;
    const nfstime3 *ctime = &args->guard.sattrguard3_u.obj_ctime;
    struct store_op *op = &call->op;
    int err = nfs3_sattr(&args->new_attributes, &call->set);

    if (err < 0)
        return err;
    if (call->set.set_size && !S_ISREG(nfs3_node_type(call)))
        return S_ISDIR(nfs3_node_type(call)) ? -EISDIR : -EINVAL;
    op->u.setattr.set = &call->set;
    op->u.setattr.guard = NULL;
    if (args->guard.check) {
        call->guard = (struct timespec){ .tv_sec = ctime->seconds, .tv_nsec = ctime->nseconds };
        op->u.setattr.guard = &call->guard;
    }
    return store_setattr(call->node, op);
}

int
nfs3_setattr_finish(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.setattr.SETATTR3res_u.resok.obj_wcc);
    return 0;
}

void
nfs3_setattr_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.setattr.SETATTR3res_u.resfail.obj_wcc);
}

int
nfs3_access_begin(struct nfs3_call *call)
{
    call->op.u.access.mask = call->args.access.access & ACCESS_ALL;
    return store_access(call->node, &call->op);
}

int
nfs3_access_finish(struct nfs3_call *call)
{
    ACCESS3resok *ok = &call->res.access.ACCESS3res_u.resok;

    ok->access = call->op.r.access.granted;
    if (nfs3_read_only(call->export, call->sec))
        ok->access &= ~(uint32_t)ACCESS_CHANGES;
    nfs3_post_op(call, &call->op.attr, &ok->obj_attributes);
    return 0;
}

void
nfs3_access_fail(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.access.ACCESS3res_u.resfail.obj_attributes);
}

int
nfs3_readlink_begin(struct nfs3_call *call)
{
    if (!S_ISLNK(nfs3_node_type(call)))
        return -EINVAL;
    call->data = buf_get_spare(call->rpc.transport->buffers, STORE_LINK_MAX);
    call_expect(&call->rpc, STORE_LINK_MAX);
    if (call->data == NULL)
        return -ENOMEM;
    call->op.u.readlink.text = (char *)call->data->data;
    call->op.u.readlink.size = STORE_LINK_MAX;
    return store_readlink(call->node, &call->op);
}

int
nfs3_readlink_finish(struct nfs3_call *call)
{
    READLINK3resok *ok = &call->res.readlink.READLINK3res_u.resok;

    ok->data.nfspath3_val = (char *)call->data->data;
    ok->data.nfspath3_len = call->op.r.readlink.len;
    call->list_bytes = wire_padded(ok->data.nfspath3_len);
    nfs3_post_op(call, &call->op.attr, &ok->symlink_attributes);
    return 0;
}

void
nfs3_readlink_fail(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.readlink.READLINK3res_u.resfail.symlink_attributes);
}
