/*
 * server/nfs3_name.c - LOOKUP, RENAME and LINK (RFC 1813 3.3.3, 3.3.14, 3.3.15).
 *
 * A name that something is mounted on leads to the export that lies there, if the caller may walk into it.
 *
 * What a name must be like is checked here and in nfs3_make.c and nfs3_remove.c, by nfs3_check_name(): the store gets
 * only names that are names.
 */
#include <errno.h>
#include <sys/stat.h>

#include "server/nfs3_procs.h"
#include "server/nfs3_reply.h"

/* The root of what was walked into tells its attributes. */
static int
crossed(struct nfs3_call *call, int err)
{
    if (err == 0)
        call->op.child_attr = call->op.attr;
    call->op.attr = call->node_attr;
    return nfs3_answer(call, err);
}

/* What a caller walks into, as export_view_enter(); -EACCES, as knfsd, when that does not accept the flavour of the call. */
static int
enter(struct nfs3_call *call, const struct export_mount *mount)
{
    const struct sockaddr *peer = (const struct sockaddr *)&call->rpc.peer;
    struct hosts *hosts = call->worker->shared->hosts;
    const struct export_rights *there;
    int err = export_view_enter(call->view, hosts, mount, call->rights, peer, &call->wait, &call->crossed);

    if (err < 0 || call->crossed == NULL)
        return err;
    err = export_view_rights(call->view, hosts, call->crossed, peer, &call->wait, &there);
    if (err < 0)
        return err;
    return there != NULL && export_sec_find(there, call->rpc.auth.flavor) != NULL ? 0 : -EACCES;
}

/* Another file system may be mounted on the name that was found. */
static int
looked_up(struct nfs3_call *call, int err)
{
    const struct store_attr *child = &call->op.child_attr;
    const struct export_mount *mount = NULL;
    int waits;

    if (call->export->nmounts > 0 && child->present)
        mount = exports_find_mount(call->export, child->fsid, child->fileid);
    if (mount == NULL)
        return nfs3_answer(call, err);
    waits = enter(call, mount);
    if (waits == -EINPROGRESS) {                        /* the call begins anew then */
        store_put(call->export->store, call->node);
        call->node = NULL;
        return STORE_PENDING;
    }
    if (waits < 0 || call->crossed == NULL)
        return nfs3_answer(call, waits < 0 ? waits : err);
    call->node_attr = call->op.attr;
    call->step = crossed;
    return store_getattr(call->crossed->store->root, &call->op);
}

int
nfs3_lookup_begin(struct nfs3_call *call)
{
    const filename3 *name = &call->args.lookup.what.name;
    int err = nfs3_check_dir(call);

    if (err == 0)
        err = nfs3_check_name(name, 0);
    if (err < 0)
        return err;
    call->op.name = name->filename3_val;
    call->op.name_len = name->filename3_len;
    call->step = looked_up;
    return store_lookup(call->node, &call->op);
}

int
nfs3_lookup_finish(struct nfs3_call *call)
{
    LOOKUP3resok *ok = &call->res.lookup.LOOKUP3res_u.resok;

    if (call->crossed == NULL && call->op.child.len == 0)
        return -EIO;
    if (call->crossed != NULL)
        nfs3_root_handle(call, call->crossed, call->fh, &ok->object);
    else
        nfs3_handle(call, &call->op.child, &call->op.child_attr, call->fh, &ok->object);
    nfs3_post_op_of(call->crossed != NULL ? call->crossed : call->export, &call->op.child_attr, &ok->obj_attributes);
    nfs3_post_op(call, &call->op.attr, &ok->dir_attributes);
    return 0;
}

void
nfs3_lookup_fail(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.lookup.LOOKUP3res_u.resfail.dir_attributes);
}

static int
check_other_dir(const struct nfs3_call *call)
{
    return S_ISDIR(store_node_type(call->export->store, call->other)) ? 0 : -ENOTDIR;
}

int
nfs3_rename_begin(struct nfs3_call *call)
{
    const filename3 *from = &call->args.rename.from.name;
    const filename3 *to = &call->args.rename.to.name;
    struct store_op *op = &call->op;
    int err = nfs3_check_dir(call);

    if (err == 0)
        err = check_other_dir(call);
    if (err == 0)
        err = nfs3_check_name(from, -EINVAL);
    if (err == 0)
        err = nfs3_check_name(to, -EINVAL);
    if (err < 0)
        return err;
    op->name = from->filename3_val;
    op->name_len = from->filename3_len;
    op->u.rename.to = call->other;
    op->u.rename.name = to->filename3_val;
    op->u.rename.name_len = to->filename3_len;
    return store_rename(call->node, op);
}

int
nfs3_rename_finish(struct nfs3_call *call)
{
    RENAME3resok *ok = &call->res.rename.RENAME3res_u.resok;

    nfs3_wcc(call, &call->op.wcc, &ok->fromdir_wcc);
    nfs3_wcc(call, &call->op.wcc_to, &ok->todir_wcc);
    return 0;
}

void
nfs3_rename_fail(struct nfs3_call *call)
{
    RENAME3resfail *fail = &call->res.rename.RENAME3res_u.resfail;

    nfs3_wcc(call, &call->op.wcc, &fail->fromdir_wcc);
    nfs3_wcc(call, &call->op.wcc_to, &fail->todir_wcc);
}

int
nfs3_link_begin(struct nfs3_call *call)
{
    const filename3 *name = &call->args.link.link.name;
    int err = check_other_dir(call);

    if (err == 0)
        err = nfs3_check_name(name, -EEXIST);
    if (err == 0 && S_ISDIR(nfs3_node_type(call)))
        err = -EISDIR;
    if (err < 0)
        return err;
    call->op.name = name->filename3_val;
    call->op.name_len = name->filename3_len;
    call->op.u.link.dir = call->other;
    return store_link(call->node, &call->op);
}

int
nfs3_link_finish(struct nfs3_call *call)
{
    LINK3resok *ok = &call->res.link.LINK3res_u.resok;

    nfs3_post_op(call, &call->op.attr, &ok->file_attributes);
    nfs3_wcc(call, &call->op.wcc, &ok->linkdir_wcc);
    return 0;
}

void
nfs3_link_fail(struct nfs3_call *call)
{
    LINK3resfail *fail = &call->res.link.LINK3res_u.resfail;

    nfs3_post_op(call, &call->op.attr, &fail->file_attributes);
    nfs3_wcc(call, call->refusal == 0 ? &call->op.wcc : &call->op.wcc_to, &fail->linkdir_wcc);
}
