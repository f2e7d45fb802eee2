/*
 * xdr/bulk.c - arguments of calls read, and results of those that come in numbers written, by hand.
 *
 * Reading: each field goes through wire's bounded reader, whose flag is looked at once, at the end. Numbers that are no
 * value of their enumeration or bool set the flag as well; libtirpc lets some of them pass.
 *
 * Writing: what is always sent together (attributes, wcc data, an entry of a directory) is measured first, asked for
 * once, and stored without further checks by store_...(), each of which returns where the next byte goes.
 */
#include <assert.h>

#include "xdr/bulk.h"

#define SIZE_FATTR3 84                  /* bytes: RFC 1813 2.6 has no variable part in it */
#define SIZE_WCC_ATTR 24

static inline uint32_t
get_enum(struct wire_in *in, uint32_t last)
{
    uint32_t value = wire_get_u32(in);

    if (value > last)
        in->bad = true;
    return value;
}

static inline void
get_fh(struct wire_in *in, nfs_fh3 *fh)
{
    fh->data.data_val = (char *)wire_get_opaque(in, NFS3_FHSIZE, &fh->data.data_len);
}

static inline void
get_diropargs(struct wire_in *in, diropargs3 *args)
{
    get_fh(in, &args->dir);
    args->name.filename3_val = (char *)wire_get_opaque(in, UINT32_MAX, &args->name.filename3_len);
}

/* Verifiers: all eight bytes, whatever they are. */
static inline void
get_verifier(struct wire_in *in, char verifier[8])
{
    const uint8_t *p = wire_get_bytes(in, 8);

    if (p != NULL)
        memcpy(verifier, p, 8);
    else
        memset(verifier, 0, 8);
}

static inline void
get_time(struct wire_in *in, nfstime3 *time)
{
    time->seconds = wire_get_u32(in);
    time->nseconds = wire_get_u32(in);
}

static void
get_sattr(struct wire_in *in, sattr3 *attr)
{
    attr->mode.set_it = wire_get_bool(in);
    if (attr->mode.set_it)
        attr->mode.set_mode3_u.mode = wire_get_u32(in);
    attr->uid.set_it = wire_get_bool(in);
    if (attr->uid.set_it)
        attr->uid.set_uid3_u.uid = wire_get_u32(in);
    attr->gid.set_it = wire_get_bool(in);
    if (attr->gid.set_it)
        attr->gid.set_gid3_u.gid = wire_get_u32(in);
    attr->size.set_it = wire_get_bool(in);
    if (attr->size.set_it)
        attr->size.set_size3_u.size = wire_get_u64(in);
    attr->atime.set_it = get_enum(in, SET_TO_CLIENT_TIME);
    if (attr->atime.set_it == SET_TO_CLIENT_TIME)
        get_time(in, &attr->atime.set_atime_u.atime);
    attr->mtime.set_it = get_enum(in, SET_TO_CLIENT_TIME);
    if (attr->mtime.set_it == SET_TO_CLIENT_TIME)
        get_time(in, &attr->mtime.set_mtime_u.mtime);
}

bool
bulk_get_GETATTR3args(struct wire_in *in, GETATTR3args *args)
{
    get_fh(in, &args->object);
    return !in->bad;
}

bool
bulk_get_SETATTR3args(struct wire_in *in, SETATTR3args *args)
{
    get_fh(in, &args->object);
    get_sattr(in, &args->new_attributes);
    args->guard.check = wire_get_bool(in);
    if (args->guard.check)
        get_time(in, &args->guard.sattrguard3_u.obj_ctime);
    return !in->bad;
}

bool
bulk_get_LOOKUP3args(struct wire_in *in, LOOKUP3args *args)
{
    get_diropargs(in, &args->what);
    return !in->bad;
}

bool
bulk_get_ACCESS3args(struct wire_in *in, ACCESS3args *args)
{
    get_fh(in, &args->object);
    args->access = wire_get_u32(in);
    return !in->bad;
}

bool
bulk_get_READ3args(struct wire_in *in, READ3args *args)
{
    get_fh(in, &args->file);
    args->offset = wire_get_u64(in);
    args->count = wire_get_u32(in);
    return !in->bad;
}

bool
bulk_get_WRITE3args(struct wire_in *in, WRITE3args *args)
{
    get_fh(in, &args->file);
    args->offset = wire_get_u64(in);
    args->count = wire_get_u32(in);
    args->stable = get_enum(in, FILE_SYNC);
    args->data.data_val = (char *)wire_get_opaque(in, UINT32_MAX, &args->data.data_len);
    return !in->bad;
}

bool
bulk_get_CREATE3args(struct wire_in *in, CREATE3args *args)
{
    get_diropargs(in, &args->where);
    args->how.mode = get_enum(in, EXCLUSIVE);
    if (args->how.mode == EXCLUSIVE)
        get_verifier(in, args->how.createhow3_u.verf);
    else
        get_sattr(in, &args->how.createhow3_u.obj_attributes);
    return !in->bad;
}

bool
bulk_get_REMOVE3args(struct wire_in *in, REMOVE3args *args)
{
    get_diropargs(in, &args->object);
    return !in->bad;
}

bool
bulk_get_READDIR3args(struct wire_in *in, READDIR3args *args)
{
    get_fh(in, &args->dir);
    args->cookie = wire_get_u64(in);
    get_verifier(in, args->cookieverf);
    args->count = wire_get_u32(in);
    return !in->bad;
}

bool
bulk_get_READDIRPLUS3args(struct wire_in *in, READDIRPLUS3args *args)
{
    get_fh(in, &args->dir);
    args->cookie = wire_get_u64(in);
    get_verifier(in, args->cookieverf);
    args->dircount = wire_get_u32(in);
    args->maxcount = wire_get_u32(in);
    return !in->bad;
}

bool
bulk_get_COMMIT3args(struct wire_in *in, COMMIT3args *args)
{
    get_fh(in, &args->file);
    args->offset = wire_get_u64(in);
    args->count = wire_get_u32(in);
    return !in->bad;
}

bool
bulk_get_READLINK3args(struct wire_in *in, READLINK3args *args)
{
    get_fh(in, &args->symlink);
    return !in->bad;
}

bool
bulk_get_MKDIR3args(struct wire_in *in, MKDIR3args *args)
{
    get_diropargs(in, &args->where);
    get_sattr(in, &args->attributes);
    return !in->bad;
}

bool
bulk_get_SYMLINK3args(struct wire_in *in, SYMLINK3args *args)
{
    nfspath3 *text = &args->symlink.symlink_data;

    get_diropargs(in, &args->where);
    get_sattr(in, &args->symlink.symlink_attributes);
    text->nfspath3_val = (char *)wire_get_opaque(in, UINT32_MAX, &text->nfspath3_len);
    return !in->bad;
}

bool
bulk_get_MKNOD3args(struct wire_in *in, MKNOD3args *args)
{
    get_diropargs(in, &args->where);
    args->what.type = wire_get_u32(in);
    switch (args->what.type) {
    case NF3CHR:
    case NF3BLK:
        get_sattr(in, &args->what.mknoddata3_u.device.dev_attributes);
        args->what.mknoddata3_u.device.spec.specdata1 = wire_get_u32(in);
        args->what.mknoddata3_u.device.spec.specdata2 = wire_get_u32(in);
        break;
    case NF3SOCK:
    case NF3FIFO:
        get_sattr(in, &args->what.mknoddata3_u.pipe_attributes);
        break;
    default:                            /* void: the procedure answers BADTYPE */
        break;
    }
    return !in->bad;
}

bool
bulk_get_RMDIR3args(struct wire_in *in, RMDIR3args *args)
{
    get_diropargs(in, &args->object);
    return !in->bad;
}

bool
bulk_get_RENAME3args(struct wire_in *in, RENAME3args *args)
{
    get_diropargs(in, &args->from);
    get_diropargs(in, &args->to);
    return !in->bad;
}

bool
bulk_get_LINK3args(struct wire_in *in, LINK3args *args)
{
    get_fh(in, &args->file);
    get_diropargs(in, &args->link);
    return !in->bad;
}

bool
bulk_get_FSSTAT3args(struct wire_in *in, FSSTAT3args *args)
{
    get_fh(in, &args->fsroot);
    return !in->bad;
}

bool
bulk_get_FSINFO3args(struct wire_in *in, FSINFO3args *args)
{
    get_fh(in, &args->fsroot);
    return !in->bad;
}

bool
bulk_get_PATHCONF3args(struct wire_in *in, PATHCONF3args *args)
{
    get_fh(in, &args->object);
    return !in->bad;
}

static inline uint8_t *
store_u32(uint8_t *p, uint32_t value)
{
    value = htobe32(value);
    memcpy(p, &value, 4);
    return p + 4;
}

static inline uint8_t *
store_u64(uint8_t *p, uint64_t value)
{
    value = htobe64(value);
    memcpy(p, &value, 8);
    return p + 8;
}

static inline uint8_t *
store_opaque(uint8_t *p, const void *data, uint32_t len)
{
    p = store_u32(p, len);
    if (len > 0) {
        memset(p + wire_padded(len) - 4, 0, 4);          /* the padding is in the last four bytes; the rest follows */
        memcpy(p, data, len);
    }
    return p + wire_padded(len);
}

static inline uint8_t *
store_time(uint8_t *p, const nfstime3 *time)
{
    p = store_u32(p, time->seconds);
    return store_u32(p, time->nseconds);
}

static inline uint8_t *
store_fattr(uint8_t *p, const fattr3 *attr)
{
    p = store_u32(p, attr->type);
    p = store_u32(p, attr->mode);
    p = store_u32(p, attr->nlink);
    p = store_u32(p, attr->uid);
    p = store_u32(p, attr->gid);
    p = store_u64(p, attr->size);
    p = store_u64(p, attr->used);
    p = store_u32(p, attr->rdev.specdata1);
    p = store_u32(p, attr->rdev.specdata2);
    p = store_u64(p, attr->fsid);
    p = store_u64(p, attr->fileid);
    p = store_time(p, &attr->atime);
    p = store_time(p, &attr->mtime);
    return store_time(p, &attr->ctime);
}

static inline size_t
size_post_op_attr(const post_op_attr *attr)
{
    return attr->attributes_follow ? 4 + SIZE_FATTR3 : 4;
}

static inline uint8_t *
store_post_op_attr(uint8_t *p, const post_op_attr *attr)
{
    if (!attr->attributes_follow)
        return store_u32(p, FALSE);
    p = store_u32(p, TRUE);
    return store_fattr(p, &attr->post_op_attr_u.attributes);
}

static inline size_t
size_post_op_fh(const post_op_fh3 *fh)
{
    return fh->handle_follows ? 8 + wire_padded(fh->post_op_fh3_u.handle.data.data_len) : 4;
}

static inline uint8_t *
store_post_op_fh(uint8_t *p, const post_op_fh3 *fh)
{
    const nfs_fh3 *handle = &fh->post_op_fh3_u.handle;

    if (!fh->handle_follows)
        return store_u32(p, FALSE);
    assert(handle->data.data_len <= NFS3_FHSIZE);
    p = store_u32(p, TRUE);
    return store_opaque(p, handle->data.data_val, handle->data.data_len);
}

static inline size_t
size_wcc(const wcc_data *wcc)
{
    return (wcc->before.attributes_follow ? 4 + SIZE_WCC_ATTR : 4) + size_post_op_attr(&wcc->after);
}

static inline uint8_t *
store_wcc(uint8_t *p, const wcc_data *wcc)
{
    const wcc_attr *before = &wcc->before.pre_op_attr_u.attributes;

    p = store_u32(p, wcc->before.attributes_follow ? TRUE : FALSE);
    if (wcc->before.attributes_follow) {
        p = store_u64(p, before->size);
        p = store_time(p, &before->mtime);
        p = store_time(p, &before->ctime);
    }
    return store_post_op_attr(p, &wcc->after);
}

/* A status and attributes that may be there: how LOOKUP, ACCESS, READ, READDIR and READDIRPLUS fail. */
static void
put_status_attr(struct wire_out *out, nfsstat3 status, const post_op_attr *attr)
{
    uint8_t *p = wire_put_space(out, 4 + size_post_op_attr(attr));

    if (p != NULL)
        store_post_op_attr(store_u32(p, status), attr);
}

/* A status and wcc data: how every call that changes something fails, and some succeed. */
static void
put_status_wcc(struct wire_out *out, nfsstat3 status, const wcc_data *wcc)
{
    uint8_t *p = wire_put_space(out, 4 + size_wcc(wcc));

    if (p != NULL)
        store_wcc(store_u32(p, status), wcc);
}

void
bulk_put_GETATTR3res(struct wire_out *out, const GETATTR3res *res)
{
    uint8_t *p;

    if (res->status != NFS3_OK) {
        wire_put_u32(out, res->status);
        return;
    }
    p = wire_put_space(out, 4 + SIZE_FATTR3);
    if (p != NULL)
        store_fattr(store_u32(p, NFS3_OK), &res->GETATTR3res_u.resok.obj_attributes);
}

void
bulk_put_SETATTR3res(struct wire_out *out, const SETATTR3res *res)
{
    if (res->status == NFS3_OK)
        put_status_wcc(out, NFS3_OK, &res->SETATTR3res_u.resok.obj_wcc);
    else
        put_status_wcc(out, res->status, &res->SETATTR3res_u.resfail.obj_wcc);
}

void
bulk_put_LOOKUP3res(struct wire_out *out, const LOOKUP3res *res)
{
    const LOOKUP3resok *ok = &res->LOOKUP3res_u.resok;
    uint8_t *p;

    if (res->status != NFS3_OK) {
        put_status_attr(out, res->status, &res->LOOKUP3res_u.resfail.dir_attributes);
        return;
    }
    assert(ok->object.data.data_len <= NFS3_FHSIZE);
    p = wire_put_space(out, 8 + wire_padded(ok->object.data.data_len) + size_post_op_attr(&ok->obj_attributes) +
                       size_post_op_attr(&ok->dir_attributes));
    if (p == NULL)
        return;
    p = store_u32(p, NFS3_OK);
    p = store_opaque(p, ok->object.data.data_val, ok->object.data.data_len);
    p = store_post_op_attr(p, &ok->obj_attributes);
    store_post_op_attr(p, &ok->dir_attributes);
}

void
bulk_put_ACCESS3res(struct wire_out *out, const ACCESS3res *res)
{
    const ACCESS3resok *ok = &res->ACCESS3res_u.resok;

    if (res->status != NFS3_OK) {
        put_status_attr(out, res->status, &res->ACCESS3res_u.resfail.obj_attributes);
        return;
    }
    put_status_attr(out, NFS3_OK, &ok->obj_attributes);
    wire_put_u32(out, ok->access);
}

void
bulk_put_READ3res(struct wire_out *out, const READ3res *res)
{
    const READ3resok *ok = &res->READ3res_u.resok;
    uint8_t *p;

    if (res->status != NFS3_OK) {
        put_status_attr(out, res->status, &res->READ3res_u.resfail.file_attributes);
        return;
    }
    p = wire_put_space(out, 16 + size_post_op_attr(&ok->file_attributes));
    if (p == NULL)
        return;
    p = store_u32(p, NFS3_OK);
    p = store_post_op_attr(p, &ok->file_attributes);
    p = store_u32(p, ok->count);
    p = store_u32(p, ok->eof ? TRUE : FALSE);
    store_u32(p, ok->data.data_len);
}

void
bulk_put_WRITE3res(struct wire_out *out, const WRITE3res *res)
{
    const WRITE3resok *ok = &res->WRITE3res_u.resok;
    uint8_t *p;

    if (res->status != NFS3_OK) {
        put_status_wcc(out, res->status, &res->WRITE3res_u.resfail.file_wcc);
        return;
    }
    p = wire_put_space(out, 12 + NFS3_WRITEVERFSIZE + size_wcc(&ok->file_wcc));
    if (p == NULL)
        return;
    p = store_u32(p, NFS3_OK);
    p = store_wcc(p, &ok->file_wcc);
    p = store_u32(p, ok->count);
    p = store_u32(p, ok->committed);
    memcpy(p, ok->verf, NFS3_WRITEVERFSIZE);
}

void
bulk_put_CREATE3res(struct wire_out *out, const CREATE3res *res)
{
    const CREATE3resok *ok = &res->CREATE3res_u.resok;
    uint8_t *p;

    if (res->status != NFS3_OK) {
        put_status_wcc(out, res->status, &res->CREATE3res_u.resfail.dir_wcc);
        return;
    }
    p = wire_put_space(out, 4 + size_post_op_fh(&ok->obj) + size_post_op_attr(&ok->obj_attributes) +
                       size_wcc(&ok->dir_wcc));
    if (p == NULL)
        return;
    p = store_u32(p, NFS3_OK);
    p = store_post_op_fh(p, &ok->obj);
    p = store_post_op_attr(p, &ok->obj_attributes);
    store_wcc(p, &ok->dir_wcc);
}

void
bulk_put_REMOVE3res(struct wire_out *out, const REMOVE3res *res)
{
    if (res->status == NFS3_OK)
        put_status_wcc(out, NFS3_OK, &res->REMOVE3res_u.resok.dir_wcc);
    else
        put_status_wcc(out, res->status, &res->REMOVE3res_u.resfail.dir_wcc);
}

size_t
bulk_size_entry3(const entry3 *entry)
{
    return 24 + wire_padded(entry->name.filename3_len);
}

size_t
bulk_size_entryplus3(const entryplus3 *entry)
{
    return 24 + wire_padded(entry->name.filename3_len) + size_post_op_attr(&entry->name_attributes) +
           size_post_op_fh(&entry->name_handle);
}

/* The status, attributes and verifier that a listing begins with. */
static void
put_listing_head(struct wire_out *out, const post_op_attr *attr, const char verifier[NFS3_COOKIEVERFSIZE])
{
    put_status_attr(out, NFS3_OK, attr);
    wire_put_fixed(out, verifier, NFS3_COOKIEVERFSIZE);
}

/* No more entries in this reply, and whether there are any in the directory. */
static void
put_listing_tail(struct wire_out *out, bool eof)
{
    wire_put_bool(out, false);
    wire_put_bool(out, eof);
}

void
bulk_put_READDIR3res(struct wire_out *out, const READDIR3res *res)
{
    const READDIR3resok *ok = &res->READDIR3res_u.resok;
    const entry3 *entry;
    uint8_t *p;

    if (res->status != NFS3_OK) {
        put_status_attr(out, res->status, &res->READDIR3res_u.resfail.dir_attributes);
        return;
    }
    put_listing_head(out, &ok->dir_attributes, ok->cookieverf);
    for (entry = ok->reply.entries; entry != NULL; entry = entry->nextentry) {
        p = wire_put_space(out, bulk_size_entry3(entry));
        if (p == NULL)
            return;
        p = store_u32(p, TRUE);
        p = store_u64(p, entry->fileid);
        p = store_opaque(p, entry->name.filename3_val, entry->name.filename3_len);
        store_u64(p, entry->cookie);
    }
    put_listing_tail(out, ok->reply.eof);
}

void
bulk_put_READDIRPLUS3res(struct wire_out *out, const READDIRPLUS3res *res)
{
    const READDIRPLUS3resok *ok = &res->READDIRPLUS3res_u.resok;
    const entryplus3 *entry;
    uint8_t *p;

    if (res->status != NFS3_OK) {
        put_status_attr(out, res->status, &res->READDIRPLUS3res_u.resfail.dir_attributes);
        return;
    }
    put_listing_head(out, &ok->dir_attributes, ok->cookieverf);
    for (entry = ok->reply.entries; entry != NULL; entry = entry->nextentry) {
        p = wire_put_space(out, bulk_size_entryplus3(entry));
        if (p == NULL)
            return;
        p = store_u32(p, TRUE);
        p = store_u64(p, entry->fileid);
        p = store_opaque(p, entry->name.filename3_val, entry->name.filename3_len);
        p = store_u64(p, entry->cookie);
        p = store_post_op_attr(p, &entry->name_attributes);
        store_post_op_fh(p, &entry->name_handle);
    }
    put_listing_tail(out, ok->reply.eof);
}

void
bulk_put_COMMIT3res(struct wire_out *out, const COMMIT3res *res)
{
    const COMMIT3resok *ok = &res->COMMIT3res_u.resok;

    if (res->status != NFS3_OK) {
        put_status_wcc(out, res->status, &res->COMMIT3res_u.resfail.file_wcc);
        return;
    }
    put_status_wcc(out, NFS3_OK, &ok->file_wcc);
    wire_put_fixed(out, ok->verf, NFS3_WRITEVERFSIZE);
}
