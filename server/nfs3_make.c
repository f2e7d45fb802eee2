/*
 * server/nfs3_make.c - CREATE, MKDIR, SYMLINK and MKNOD (RFC 1813 3.3.8 to 3.3.11).
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "server/nfs3_procs.h"
#include "server/nfs3_reply.h"

/* What the four have in common: a directory, a name in it that is not there yet, attributes of the new object. */
static int
prepare(struct nfs3_call *call, const filename3 *name, const sattr3 *attributes)
{
    int err = nfs3_check_dir(call);

    if (err == 0)
        err = nfs3_check_name(name, -EEXIST);
    if (err == 0 && attributes != NULL)
        err = nfs3_sattr(attributes, &call->set);
    call->op.name = name->filename3_val;
    call->op.name_len = name->filename3_len;
    return err;
}

static void
put_made(struct nfs3_call *call, post_op_fh3 *handle, post_op_attr *attributes, wcc_data *dir_wcc)
{
    nfs3_child_handle(call, handle);
    nfs3_post_op(call, &call->op.child_attr, attributes);
    nfs3_wcc(call, &call->op.wcc, dir_wcc);
}

static enum store_create_how
create_how(createmode3 mode)
{
    return mode == UNCHECKED ? STORE_UNCHECKED : mode == GUARDED ? STORE_GUARDED : STORE_EXCLUSIVE;
}

int
nfs3_create_begin(struct nfs3_call *call)
{
    const CREATE3args *args = &call->args.create;
    bool exclusive = args->how.mode == EXCLUSIVE;
    struct store_op *op = &call->op;
    int err = prepare(call, &args->where.name, exclusive ? NULL : &args->how.createhow3_u.obj_attributes);

    if (err < 0)
        return err;
    if (exclusive)
        memset(&call->set, 0, sizeof(call->set));
    op->u.create.how = create_how(args->how.mode);
    op->u.create.set = &call->set;
    op->u.create.verifier = exclusive ? (const uint8_t *)args->how.createhow3_u.verf : NULL;
    return store_create(call->node, op);
}

int
nfs3_create_finish(struct nfs3_call *call)
{
    CREATE3resok *ok = &call->res.create.CREATE3res_u.resok;

    put_made(call, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
    return 0;
}

void
nfs3_create_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.create.CREATE3res_u.resfail.dir_wcc);
}

int
nfs3_mkdir_begin(struct nfs3_call *call)
{
    const MKDIR3args *args = &call->args.mkdir;
    int err = prepare(call, &args->where.name, &args->attributes);

    if (err < 0)
        return err;
    call->set.set_size = false;                         /* a directory has none that could be set */
    call->op.u.mkdir.set = &call->set;
    return store_mkdir(call->node, &call->op);
}

int
nfs3_mkdir_finish(struct nfs3_call *call)
{
    MKDIR3resok *ok = &call->res.mkdir.MKDIR3res_u.resok;

    put_made(call, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
    return 0;
}

void
nfs3_mkdir_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.mkdir.MKDIR3res_u.resfail.dir_wcc);
}

static int
check_link_text(const nfspath3 *text)
{
    if (text->nfspath3_len == 0)
        return -EINVAL;
    if (text->nfspath3_len > STORE_LINK_MAX)
        return -ENAMETOOLONG;
    return memchr(text->nfspath3_val, '\0', text->nfspath3_len) != NULL ? -EINVAL : 0;
}

int
nfs3_symlink_begin(struct nfs3_call *call)
{
    const SYMLINK3args *args = &call->args.symlink;
    const nfspath3 *text = &args->symlink.symlink_data;
    struct store_op *op = &call->op;
    int err = prepare(call, &args->where.name, &args->symlink.symlink_attributes);

    if (err == 0)
        err = check_link_text(text);
    if (err < 0)
        return err;
    call->set.set_size = false;
    op->u.symlink.set = &call->set;
    op->u.symlink.text = text->nfspath3_val;
    op->u.symlink.text_len = text->nfspath3_len;
    return store_symlink(call->node, op);
}

int
nfs3_symlink_finish(struct nfs3_call *call)
{
    SYMLINK3resok *ok = &call->res.symlink.SYMLINK3res_u.resok;

    put_made(call, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
    return 0;
}

void
nfs3_symlink_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.symlink.SYMLINK3res_u.resfail.dir_wcc);
}

/* The S_IFMT bits of what MKNOD can make, 0 for what it cannot; attributes and device numbers where they are. */
static mode_t
node_to_make(const mknoddata3 *what, const sattr3 **attributes, specdata3 *device)
{
    *device = (specdata3){ 0, 0 };
    switch (what->type) {
    case NF3CHR:
    case NF3BLK:
        *attributes = &what->mknoddata3_u.device.dev_attributes;
        *device = what->mknoddata3_u.device.spec;
        return what->type == NF3CHR ? S_IFCHR : S_IFBLK;
    case NF3SOCK:
    case NF3FIFO:
        *attributes = &what->mknoddata3_u.pipe_attributes;
        return what->type == NF3SOCK ? S_IFSOCK : S_IFIFO;
    default:
        return 0;
    }
}

int
nfs3_mknod_begin(struct nfs3_call *call)
{
    const MKNOD3args *args = &call->args.mknod;
    const sattr3 *attributes = NULL;
    struct store_op *op = &call->op;
    specdata3 device;
    mode_t type = node_to_make(&args->what, &attributes, &device);
    int err = prepare(call, &args->where.name, attributes);

    if (err == 0 && type == 0)
        err = -STORE_EBADTYPE;
    if (err < 0)
        return err;
    call->set.set_size = false;
    op->u.mknod.set = &call->set;
    op->u.mknod.type = type;
    op->u.mknod.major = device.specdata1;
    op->u.mknod.minor = device.specdata2;
    return store_mknod(call->node, op);
}

int
nfs3_mknod_finish(struct nfs3_call *call)
{
    MKNOD3resok *ok = &call->res.mknod.MKNOD3res_u.resok;

    put_made(call, &ok->obj, &ok->obj_attributes, &ok->dir_wcc);
    return 0;
}

void
nfs3_mknod_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.mknod.MKNOD3res_u.resfail.dir_wcc);
}
