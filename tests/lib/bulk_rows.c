/* tests/lib/bulk_rows.c - see bulk_rows.h. */
#include "tests/lib/bulk_rows.h"

#include <string.h>

#include "tests/lib/bulk_codecs.h"

#define NAME_MAX_TESTED 4096
#define DATA_MAX_TESTED 5000
#define ENTRIES_MAX 20

struct bytes_random bulk_random;

/* What random values point to. */
static char handles[2 * ENTRIES_MAX + 2][NFS3_FHSIZE];
static char names[2 * ENTRIES_MAX + 2][NAME_MAX_TESTED];
static char data_bytes[DATA_MAX_TESTED];
static size_t used;                     /* of handles and names */

static uint32_t
number(void)
{
    static const uint32_t edges[] = { 0, 1, 2, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff };

    if (bytes_random_below(&bulk_random, 4) == 0)
        return edges[bytes_random_below(&bulk_random, sizeof(edges) / sizeof(*edges))];
    return (uint32_t)bytes_random_u64(&bulk_random);
}

static uint64_t
long_number(void)
{
    return (uint64_t)number() << 32 | number();
}

bool
bulk_coin(void)
{
    return bytes_random_below(&bulk_random, 2) != 0;
}

static void
make_fh(nfs_fh3 *fh)
{
    fh->data.data_len = bytes_random_below(&bulk_random, NFS3_FHSIZE + 1);
    fh->data.data_val = handles[used++];
    bytes_random_fill(&bulk_random, fh->data.data_val, fh->data.data_len);
}

static void
make_name(filename3 *name)
{
    static const uint32_t lengths[] = { 0, 1, 2, 3, 4, 255, 256, 1023, NAME_MAX_TESTED };
    bool edge = bytes_random_below(&bulk_random, 4) == 0;

    name->filename3_len = edge ? lengths[bytes_random_below(&bulk_random, sizeof(lengths) / sizeof(*lengths))]
                               : bytes_random_below(&bulk_random, 40);
    name->filename3_val = names[used++];
    bytes_random_fill(&bulk_random, name->filename3_val, name->filename3_len);
}

static void
make_time(nfstime3 *time)
{
    time->seconds = number();
    time->nseconds = number();
}

static void
make_sattr(sattr3 *attr)
{
    attr->mode.set_it = bulk_coin();
    attr->mode.set_mode3_u.mode = number();
    attr->uid.set_it = bulk_coin();
    attr->uid.set_uid3_u.uid = number();
    attr->gid.set_it = bulk_coin();
    attr->gid.set_gid3_u.gid = number();
    attr->size.set_it = bulk_coin();
    attr->size.set_size3_u.size = long_number();
    attr->atime.set_it = bytes_random_below(&bulk_random, 3);
    make_time(&attr->atime.set_atime_u.atime);
    attr->mtime.set_it = bytes_random_below(&bulk_random, 3);
    make_time(&attr->mtime.set_mtime_u.mtime);
}

static void
make_fattr(fattr3 *attr)
{
    attr->type = NF3REG + bytes_random_below(&bulk_random, 7);
    attr->mode = number();
    attr->nlink = number();
    attr->uid = number();
    attr->gid = number();
    attr->size = long_number();
    attr->used = long_number();
    attr->rdev.specdata1 = number();
    attr->rdev.specdata2 = number();
    attr->fsid = long_number();
    attr->fileid = long_number();
    make_time(&attr->atime);
    make_time(&attr->mtime);
    make_time(&attr->ctime);
}

static void
make_post_op_attr(post_op_attr *attr)
{
    attr->attributes_follow = bulk_coin();
    make_fattr(&attr->post_op_attr_u.attributes);
}

static void
make_post_op_fh(post_op_fh3 *fh)
{
    fh->handle_follows = bulk_coin();
    make_fh(&fh->post_op_fh3_u.handle);
}

static void
make_wcc(wcc_data *wcc)
{
    wcc->before.attributes_follow = bulk_coin();
    wcc->before.pre_op_attr_u.attributes.size = long_number();
    make_time(&wcc->before.pre_op_attr_u.attributes.mtime);
    make_time(&wcc->before.pre_op_attr_u.attributes.ctime);
    make_post_op_attr(&wcc->after);
}

static nfsstat3
make_status(void)
{
    static const nfsstat3 errors[] = { NFS3ERR_PERM, NFS3ERR_NOENT, NFS3ERR_STALE, NFS3ERR_BADHANDLE, NFS3ERR_JUKEBOX };

    return bulk_coin() ? NFS3_OK : errors[bytes_random_below(&bulk_random, sizeof(errors) / sizeof(*errors))];
}

static void
make_setattr(union args *args)
{
    make_sattr(&args->setattr.new_attributes);
    args->setattr.guard.check = bulk_coin();
    make_time(&args->setattr.guard.sattrguard3_u.obj_ctime);
}

static void
make_access(union args *args)
{
    args->access.access = number();
}

static void
make_read(union args *args)
{
    args->read.offset = long_number();
    args->read.count = number();
}

static void
make_write(union args *args)
{
    args->write.offset = long_number();
    args->write.stable = bytes_random_below(&bulk_random, 3);
    args->write.data.data_len = bytes_random_below(&bulk_random, bulk_coin() ? 20 : DATA_MAX_TESTED + 1);
    args->write.data.data_val = data_bytes;
    args->write.count = bulk_coin() ? args->write.data.data_len : number();
    bytes_random_fill(&bulk_random, data_bytes, args->write.data.data_len);
}

static void
make_create(union args *args)
{
    args->create.how.mode = bytes_random_below(&bulk_random, 3);
    if (args->create.how.mode == EXCLUSIVE)
        bytes_random_fill(&bulk_random, args->create.how.createhow3_u.verf, NFS3_CREATEVERFSIZE);
    else
        make_sattr(&args->create.how.createhow3_u.obj_attributes);
}

static void
make_readdir(union args *args)
{
    args->readdir.cookie = long_number();
    bytes_random_fill(&bulk_random, args->readdir.cookieverf, NFS3_COOKIEVERFSIZE);
    args->readdir.count = number();
}

static void
make_readdirplus(union args *args)
{
    args->readdirplus.cookie = long_number();
    bytes_random_fill(&bulk_random, args->readdirplus.cookieverf, NFS3_COOKIEVERFSIZE);
    args->readdirplus.dircount = number();
    args->readdirplus.maxcount = number();
}

static void
make_commit(union args *args)
{
    args->commit.offset = long_number();
    args->commit.count = number();
}

static void
make_mkdir(union args *args)
{
    make_sattr(&args->mkdir.attributes);
}

static void
make_symlink(union args *args)
{
    make_sattr(&args->symlink.symlink.symlink_attributes);
}

static void
make_mknod(union args *args)
{
    mknoddata3 *what = &args->mknod.what;

    what->type = NF3REG + bytes_random_below(&bulk_random, 7);
    if (what->type == NF3CHR || what->type == NF3BLK) {
        make_sattr(&what->mknoddata3_u.device.dev_attributes);
        what->mknoddata3_u.device.spec.specdata1 = number();
        what->mknoddata3_u.device.spec.specdata2 = number();
    } else {
        make_sattr(&what->mknoddata3_u.pipe_attributes);
    }
}

static void
make_getattr_res(union res *res)
{
    res->getattr.status = make_status();
    make_fattr(&res->getattr.GETATTR3res_u.resok.obj_attributes);
}

static void
make_setattr_res(union res *res)
{
    res->setattr.status = make_status();
    make_wcc(&res->setattr.SETATTR3res_u.resok.obj_wcc);
}

static void
make_lookup_res(union res *res)
{
    LOOKUP3resok *ok = &res->lookup.LOOKUP3res_u.resok;

    res->lookup.status = make_status();
    if (res->lookup.status != NFS3_OK) {
        make_post_op_attr(&res->lookup.LOOKUP3res_u.resfail.dir_attributes);
        return;
    }
    make_fh(&ok->object);
    make_post_op_attr(&ok->obj_attributes);
    make_post_op_attr(&ok->dir_attributes);
}

static void
make_access_res(union res *res)
{
    res->access.status = make_status();
    make_post_op_attr(&res->access.ACCESS3res_u.resok.obj_attributes);
    if (res->access.status == NFS3_OK)
        res->access.ACCESS3res_u.resok.access = number();
}

static void
make_read_res(union res *res)
{
    READ3resok *ok = &res->read.READ3res_u.resok;

    res->read.status = make_status();
    make_post_op_attr(&ok->file_attributes);
    if (res->read.status != NFS3_OK)
        return;
    ok->count = number();
    ok->eof = bulk_coin();
    ok->data.data_len = bytes_random_below(&bulk_random, bulk_coin() ? 20 : DATA_MAX_TESTED + 1);
    ok->data.data_val = data_bytes;
    bytes_random_fill(&bulk_random, data_bytes, ok->data.data_len);
}

static void
make_write_res(union res *res)
{
    WRITE3resok *ok = &res->write.WRITE3res_u.resok;

    res->write.status = make_status();
    make_wcc(&ok->file_wcc);
    if (res->write.status != NFS3_OK)
        return;
    ok->count = number();
    ok->committed = bytes_random_below(&bulk_random, 3);
    bytes_random_fill(&bulk_random, ok->verf, NFS3_WRITEVERFSIZE);
}

static void
make_create_res(union res *res)
{
    CREATE3resok *ok = &res->create.CREATE3res_u.resok;

    res->create.status = make_status();
    if (res->create.status != NFS3_OK) {
        make_wcc(&res->create.CREATE3res_u.resfail.dir_wcc);
        return;
    }
    make_post_op_fh(&ok->obj);
    make_post_op_attr(&ok->obj_attributes);
    make_wcc(&ok->dir_wcc);
}

static void
make_remove_res(union res *res)
{
    res->remove.status = make_status();
    make_wcc(&res->remove.REMOVE3res_u.resok.dir_wcc);
}

static void
make_readdir_res(union res *res)
{
    static entry3 entries[ENTRIES_MAX];
    READDIR3resok *ok = &res->readdir.READDIR3res_u.resok;
    entry3 **link = &ok->reply.entries;
    uint32_t i, count = bytes_random_below(&bulk_random, ENTRIES_MAX + 1);

    res->readdir.status = make_status();
    make_post_op_attr(&ok->dir_attributes);
    if (res->readdir.status != NFS3_OK)
        return;
    bytes_random_fill(&bulk_random, ok->cookieverf, NFS3_COOKIEVERFSIZE);
    for (i = 0; i < count; i++) {
        entries[i].fileid = long_number();
        make_name(&entries[i].name);
        entries[i].cookie = long_number();
        *link = &entries[i];
        link = &entries[i].nextentry;
    }
    *link = NULL;
    ok->reply.eof = bulk_coin();
}

static void
make_entry(entryplus3 *entry)
{
    entry->fileid = long_number();
    make_name(&entry->name);
    entry->cookie = long_number();
    make_post_op_attr(&entry->name_attributes);
    make_post_op_fh(&entry->name_handle);
}

static void
make_readdirplus_res(union res *res)
{
    static entryplus3 entries[ENTRIES_MAX];
    READDIRPLUS3resok *ok = &res->readdirplus.READDIRPLUS3res_u.resok;
    entryplus3 **link = &ok->reply.entries;
    uint32_t i, count = bytes_random_below(&bulk_random, ENTRIES_MAX + 1);

    res->readdirplus.status = make_status();
    make_post_op_attr(&ok->dir_attributes);
    if (res->readdirplus.status != NFS3_OK)
        return;
    bytes_random_fill(&bulk_random, ok->cookieverf, NFS3_COOKIEVERFSIZE);
    for (i = 0; i < count; i++) {
        make_entry(&entries[i]);
        *link = &entries[i];
        link = &entries[i].nextentry;
    }
    *link = NULL;
    ok->reply.eof = bulk_coin();
}

static void
make_commit_res(union res *res)
{
    res->commit.status = make_status();
    make_wcc(&res->commit.COMMIT3res_u.resok.file_wcc);
    if (res->commit.status == NFS3_OK)
        bytes_random_fill(&bulk_random, res->commit.COMMIT3res_u.resok.verf, NFS3_WRITEVERFSIZE);
}

#define AT(member) offsetof(union args, member)
#define ARGS_ROW(type, ...) { #type, (xdrproc_t)xdr_##type, get_##type, __VA_ARGS__ }
const struct args_row args_rows[] = {
    ARGS_ROW(GETATTR3args, NULL, .fh_at = AT(getattr.object)),
    ARGS_ROW(SETATTR3args, make_setattr, .fh_at = AT(setattr.object)),
    ARGS_ROW(LOOKUP3args, NULL, .fh_at = AT(lookup.what.dir), .name_at = AT(lookup.what.name)),
    ARGS_ROW(ACCESS3args, make_access, .fh_at = AT(access.object)),
    ARGS_ROW(READ3args, make_read, .fh_at = AT(read.file)),
    ARGS_ROW(WRITE3args, make_write, .fh_at = AT(write.file), .carries_data = true),
    ARGS_ROW(CREATE3args, make_create, .fh_at = AT(create.where.dir), .name_at = AT(create.where.name)),
    ARGS_ROW(REMOVE3args, NULL, .fh_at = AT(remove.object.dir), .name_at = AT(remove.object.name)),
    ARGS_ROW(READDIR3args, make_readdir, .fh_at = AT(readdir.dir)),
    ARGS_ROW(READDIRPLUS3args, make_readdirplus, .fh_at = AT(readdirplus.dir)),
    ARGS_ROW(COMMIT3args, make_commit, .fh_at = AT(commit.file)),
    ARGS_ROW(READLINK3args, NULL, .fh_at = AT(readlink.symlink)),
    ARGS_ROW(MKDIR3args, make_mkdir, .fh_at = AT(mkdir.where.dir), .name_at = AT(mkdir.where.name)),
    ARGS_ROW(SYMLINK3args, make_symlink, .fh_at = AT(symlink.where.dir), .name_at = AT(symlink.where.name),
             .text_at = AT(symlink.symlink.symlink_data)),
    ARGS_ROW(MKNOD3args, make_mknod, .fh_at = AT(mknod.where.dir), .name_at = AT(mknod.where.name)),
    ARGS_ROW(RMDIR3args, NULL, .fh_at = AT(rmdir.object.dir), .name_at = AT(rmdir.object.name)),
    ARGS_ROW(RENAME3args, NULL, .fh_at = AT(rename.from.dir), .name_at = AT(rename.from.name),
             .other_fh_at = AT(rename.to.dir), .other_name_at = AT(rename.to.name)),
    ARGS_ROW(LINK3args, NULL, .fh_at = AT(link.file), .other_fh_at = AT(link.link.dir), .name_at = AT(link.link.name)),
    ARGS_ROW(FSSTAT3args, NULL, .fh_at = AT(fsstat.fsroot)),
    ARGS_ROW(FSINFO3args, NULL, .fh_at = AT(fsinfo.fsroot)),
    ARGS_ROW(PATHCONF3args, NULL, .fh_at = AT(pathconf.object)),
};
const size_t args_rows_count = sizeof(args_rows) / sizeof(*args_rows);

#define RES_ROW(type, verb) { #type, (xdrproc_t)xdr_##type, put_##type, make_##verb##_res }
const struct res_row res_rows[] = {
    RES_ROW(GETATTR3res, getattr),
    RES_ROW(SETATTR3res, setattr),
    RES_ROW(LOOKUP3res, lookup),
    RES_ROW(ACCESS3res, access),
    RES_ROW(READ3res, read),
    RES_ROW(WRITE3res, write),
    RES_ROW(CREATE3res, create),
    RES_ROW(REMOVE3res, remove),
    RES_ROW(READDIR3res, readdir),
    RES_ROW(READDIRPLUS3res, readdirplus),
    RES_ROW(COMMIT3res, commit),
};
const size_t res_rows_count = sizeof(res_rows) / sizeof(*res_rows);

static void *
member_at(union args *args, size_t offset)
{
    return offset > 0 ? (char *)args + offset : NULL;
}

struct args_place
bulk_place(const struct args_row *row, union args *args)
{
    return (struct args_place){
        .fh = (nfs_fh3 *)((char *)args + row->fh_at),
        .other_fh = member_at(args, row->other_fh_at),
        .name = member_at(args, row->name_at),
        .other_name = member_at(args, row->other_name_at),
        .text = member_at(args, row->text_at),
        .write = row->carries_data ? &args->write : NULL,
    };
}

void
bulk_make_args(const struct args_row *row, union args *args)
{
    struct args_place place = bulk_place(row, args);
    filename3 text;

    memset(args, 0, sizeof(*args));
    used = 0;
    make_fh(place.fh);
    if (place.other_fh != NULL)
        make_fh(place.other_fh);
    if (place.name != NULL)
        make_name(place.name);
    if (place.other_name != NULL)
        make_name(place.other_name);
    if (place.text != NULL) {
        make_name(&text);
        *place.text = (nfspath3){ text.filename3_len, text.filename3_val };
    }
    if (row->make != NULL)
        row->make(args);
}

void
bulk_make_entry(entryplus3 *entry)
{
    memset(entry, 0, sizeof(*entry));
    used = 0;
    make_entry(entry);
}

void
bulk_make_res(const struct res_row *row, union res *res)
{
    memset(res, 0, sizeof(*res));
    used = 0;
    row->make(res);
}
