/* server/nfs3_reply.c - attributes, wcc data and handles of results; names, attributes and sizes of calls. */
#include "server/nfs3_reply.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>

#define NSEC_PER_SEC 1000000000u

static ftype3
file_type(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return NF3DIR;
    case S_IFBLK:
        return NF3BLK;
    case S_IFCHR:
        return NF3CHR;
    case S_IFLNK:
        return NF3LNK;
    case S_IFSOCK:
        return NF3SOCK;
    case S_IFIFO:
        return NF3FIFO;
    default:
        return NF3REG;
    }
}

/* Seconds are unsigned and 32 bits wide there (2.6, nfstime3): the years 1970 to 2106, and others modulo that. */
static void
put_time(const struct timespec *time, nfstime3 *out)
{
    out->seconds = (uint32_t)time->tv_sec;
    out->nseconds = (uint32_t)time->tv_nsec % NSEC_PER_SEC;
}

/*
 * To clients each export is a file system of its own, whose number stays over restarts: the export's id. What lies on
 * another device below it gets another one.
 */
static uint64_t
file_system_id(const struct export *export, uint64_t device)
{
    if (device == export->device || export->memory)
        return export->id;
    return export->id ^ (device * 0x9e3779b97f4a7c15u);
}

static void
put_attr(const struct export *export, const struct store_attr *attr, fattr3 *out)
{
    out->type = file_type(attr->mode);
    out->mode = attr->mode & 07777;
    out->nlink = attr->nlink;
    out->uid = attr->uid;
    out->gid = attr->gid;
    out->size = attr->size;
    out->used = attr->used;
    out->rdev.specdata1 = attr->rdev_major;
    out->rdev.specdata2 = attr->rdev_minor;
    out->fsid = file_system_id(export, attr->fsid);
    out->fileid = attr->fileid;
    put_time(&attr->atime, &out->atime);
    put_time(&attr->mtime, &out->mtime);
    put_time(&attr->ctime, &out->ctime);
}

void
nfs3_fattr(const struct nfs3_call *call, const struct store_attr *attr, fattr3 *out)
{
    put_attr(call->export, attr, out);
}

void
nfs3_post_op_of(const struct export *export, const struct store_attr *attr, post_op_attr *out)
{
    out->attributes_follow = attr->present;
    if (attr->present)
        put_attr(export, attr, &out->post_op_attr_u.attributes);
}

void
nfs3_post_op(const struct nfs3_call *call, const struct store_attr *attr, post_op_attr *out)
{
    nfs3_post_op_of(call->export, attr, out);
}

void
nfs3_wcc(const struct nfs3_call *call, const struct store_wcc *wcc, wcc_data *out)
{
    wcc_attr *before = &out->before.pre_op_attr_u.attributes;

    out->before.attributes_follow = wcc->before_present;
    if (wcc->before_present) {
        before->size = wcc->before_size;
        put_time(&wcc->before_mtime, &before->mtime);
        put_time(&wcc->before_ctime, &before->ctime);
    }
    nfs3_post_op(call, &wcc->after, &out->after);
}

static void
put_handle(const struct nfs3_call *call, const struct export *export, const struct store_id *id,
           const struct store_id *dir, uint8_t *fh, nfs_fh3 *out)
{
    out->data.data_len = (u_int)fh_encode(call->worker->shared->key, export->id, id, dir, fh);
    out->data.data_val = (char *)fh;
}

/* Where somebody asks whether it is still in its directory, a handle tells which one that was; directories know. */
void
nfs3_handle(const struct nfs3_call *call, const struct store_id *id, const struct store_attr *attr, uint8_t *fh,
            nfs_fh3 *out)
{
    const struct store_id *dir = NULL;

    if (call->rights->subtree_check && !(attr->present && S_ISDIR(attr->mode)))
        dir = store_node_id(call->export->store, call->node);
    put_handle(call, call->export, id, dir, fh, out);
}

void
nfs3_root_handle(const struct nfs3_call *call, const struct export *export, uint8_t *fh, nfs_fh3 *out)
{
    put_handle(call, export, store_node_id(export->store, export->store->root), NULL, fh, out);
}

void
nfs3_child_handle(struct nfs3_call *call, post_op_fh3 *out)
{
    out->handle_follows = call->op.child.len > 0;
    if (out->handle_follows)
        nfs3_handle(call, &call->op.child, &call->op.child_attr, call->fh, &out->post_op_fh3_u.handle);
}

static int
get_time(time_how how, const nfstime3 *time, enum store_time_how *out_how, struct timespec *out)
{
    *out_how = how == DONT_CHANGE ? STORE_TIME_KEEP : how == SET_TO_SERVER_TIME ? STORE_TIME_NOW : STORE_TIME_SET;
    out->tv_sec = 0;
    out->tv_nsec = 0;
    if (*out_how != STORE_TIME_SET)
        return 0;
    if (time->nseconds >= NSEC_PER_SEC)
        return -EINVAL;
    out->tv_sec = time->seconds;
    out->tv_nsec = time->nseconds;
    return 0;
}

int
nfs3_sattr(const sattr3 *in, struct store_setattr *out)
{
    int err;

    out->set_mode = in->mode.set_it;
    out->mode = in->mode.set_it ? in->mode.set_mode3_u.mode & 07777 : 0;
    out->uid = in->uid.set_it ? in->uid.set_uid3_u.uid : UINT32_MAX;
    out->set_uid = out->uid != UINT32_MAX;              /* -1 is "no change" to chown(2), and to the kernel's server */
    out->gid = in->gid.set_it ? in->gid.set_gid3_u.gid : UINT32_MAX;
    out->set_gid = out->gid != UINT32_MAX;
    out->set_size = in->size.set_it;
    out->size = in->size.set_it ? in->size.set_size3_u.size : 0;
    err = get_time(in->atime.set_it, &in->atime.set_atime_u.atime, &out->set_atime, &out->atime);
    if (err == 0)
        err = get_time(in->mtime.set_it, &in->mtime.set_mtime_u.mtime, &out->set_mtime, &out->mtime);
    if (err == 0 && out->size > INT64_MAX)
        err = -EFBIG;
    return err;
}

static bool
is_dots(const filename3 *name)
{
    return (name->filename3_len == 1 && name->filename3_val[0] == '.') ||
           (name->filename3_len == 2 && memcmp(name->filename3_val, "..", 2) == 0);
}

int
nfs3_check_name(const filename3 *name, int dot_err)
{
    if (name->filename3_len == 0)
        return -EACCES;
    if (name->filename3_len > STORE_NAME_MAX)
        return -ENAMETOOLONG;
    if (memchr(name->filename3_val, '/', name->filename3_len) != NULL ||
        memchr(name->filename3_val, '\0', name->filename3_len) != NULL)
        return -EACCES;
    return is_dots(name) ? dot_err : 0;
}

mode_t
nfs3_node_type(const struct nfs3_call *call)
{
    return store_node_type(call->export->store, call->node);
}

int
nfs3_check_dir(const struct nfs3_call *call)
{
    return S_ISDIR(nfs3_node_type(call)) ? 0 : -ENOTDIR;
}

bool
nfs3_read_only(const struct export *export, const struct export_sec *sec)
{
    return sec->read_only || store_read_only(export->store);
}

/* An export's own limit goes before the server's. */
static uint32_t
limit(uint32_t of_export, uint32_t of_server)
{
    return of_export != 0 ? of_export : of_server;
}

uint32_t
nfs3_rtmax(const struct nfs3_call *call)
{
    uint32_t max = limit(call->rights->rtmax, call->worker->shared->sizes.rtmax);

    return (uint32_t)MIN(max, call_reply_max(&call->rpc) - BULK_REPLY_MAX);
}

uint32_t
nfs3_wtmax(const struct nfs3_call *call)
{
    return limit(call->rights->wtmax, call->worker->shared->sizes.wtmax);
}

uint32_t
nfs3_dtpref(const struct nfs3_call *call)
{
    return limit(call->rights->dtpref, call->worker->shared->sizes.dtpref);
}
