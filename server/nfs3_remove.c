/*
 * server/nfs3_remove.c - REMOVE and RMDIR (RFC 1813 3.3.12, 3.3.13).
 */
#include <errno.h>
#include <string.h>

#include "server/nfs3_procs.h"
#include "server/nfs3_reply.h"

static int
prepare(struct nfs3_call *call, const filename3 *name, int dot_err)
{
    int err = nfs3_check_dir(call);

    if (err == 0)
        err = nfs3_check_name(name, dot_err);
    call->op.name = name->filename3_val;
    call->op.name_len = name->filename3_len;
    return err;
}

int
nfs3_remove_begin(struct nfs3_call *call)
{
    int err = prepare(call, &call->args.remove.object.name, -EACCES);

    return err < 0 ? err : store_remove(call->node, &call->op);
}

int
nfs3_remove_finish(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.remove.REMOVE3res_u.resok.dir_wcc);
    return 0;
}

void
nfs3_remove_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.remove.REMOVE3res_u.resfail.dir_wcc);
}

int
nfs3_rmdir_begin(struct nfs3_call *call)
{
    const filename3 *name = &call->args.rmdir.object.name;
    int err = prepare(call, name, name->filename3_len == 1 ? -EINVAL : -EEXIST);       /* 3.3.13: "." and ".." */

    return err < 0 ? err : store_rmdir(call->node, &call->op);
}

int
nfs3_rmdir_finish(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.rmdir.RMDIR3res_u.resok.dir_wcc);
    return 0;
}

void
nfs3_rmdir_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.rmdir.RMDIR3res_u.resfail.dir_wcc);
}
