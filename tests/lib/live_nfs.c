/* tests/lib/live_nfs.c - the procedures of NFS and MOUNT as functions; see live.h. */
#include <stdlib.h>

#include "tests/lib/live_private.h"

#define SCAN_COUNT 32768                /* bytes of a READDIR reply when a whole directory is read */

struct nfs_proc {
    const char *name;
    xdrproc_t args, res;
    size_t size;                        /* of the result */
};

#define PROC(name) { #name, (xdrproc_t)xdr_##name##3args, (xdrproc_t)xdr_##name##3res, sizeof(name##3res) }
static const struct nfs_proc procs[] = {
    [NFSPROC3_NULL]        = { "NULL", NULL, NULL, 1 },
    [NFSPROC3_GETATTR]     = PROC(GETATTR),
    [NFSPROC3_SETATTR]     = PROC(SETATTR),
    [NFSPROC3_LOOKUP]      = PROC(LOOKUP),
    [NFSPROC3_ACCESS]      = PROC(ACCESS),
    [NFSPROC3_READLINK]    = PROC(READLINK),
    [NFSPROC3_READ]        = PROC(READ),
    [NFSPROC3_WRITE]       = PROC(WRITE),
    [NFSPROC3_CREATE]      = PROC(CREATE),
    [NFSPROC3_MKDIR]       = PROC(MKDIR),
    [NFSPROC3_SYMLINK]     = PROC(SYMLINK),
    [NFSPROC3_MKNOD]       = PROC(MKNOD),
    [NFSPROC3_REMOVE]      = PROC(REMOVE),
    [NFSPROC3_RMDIR]       = PROC(RMDIR),
    [NFSPROC3_RENAME]      = PROC(RENAME),
    [NFSPROC3_LINK]        = PROC(LINK),
    [NFSPROC3_READDIR]     = PROC(READDIR),
    [NFSPROC3_READDIRPLUS] = PROC(READDIRPLUS),
    [NFSPROC3_FSSTAT]      = PROC(FSSTAT),
    [NFSPROC3_FSINFO]      = PROC(FSINFO),
    [NFSPROC3_PATHCONF]    = PROC(PATHCONF),
    [NFSPROC3_COMMIT]      = PROC(COMMIT),
};

xdrproc_t
live_args_codec(uint32_t proc)
{
    return procs[proc].args;
}

xdrproc_t
live_res_codec(uint32_t proc)
{
    return procs[proc].res;
}

size_t
live_res_size(uint32_t proc)
{
    return procs[proc].size;
}

const char *
live_proc_name(uint32_t proc)
{
    return procs[proc].name;
}

void *
live_try(struct live *srv, uint32_t proc, const void *args, int *outcome)
{
    void *res = live_keep_decoded(srv, procs[proc].size, procs[proc].res);
    int came = live_call(srv, &srv->conn, NFS_PROGRAM, NFS_V3, proc, procs[proc].args, args, procs[proc].res, res);

    if (outcome != NULL)
        *outcome = came;
    return came == LIVE_SUCCESS ? res : NULL;
}

void *
live_nfs(struct live *srv, uint32_t proc, const void *args)
{
    int outcome;
    void *res = live_try(srv, proc, args, &outcome);

    if (res == NULL)
        fail_msg("%s: no success from RPC (outcome %d)", procs[proc].name, outcome);
    return res;
}

filename3
live_name(const char *name)
{
    return (filename3){ (u_int)strlen(name), (char *)name };
}

filename3
live_long_name(struct live *srv, char c, size_t len)
{
    filename3 name = { (u_int)len, live_keep(srv, len + 1) };

    memset(name.filename3_val, c, len);
    return name;
}

sattr3
live_keep_all(void)
{
    return (sattr3){ .atime.set_it = DONT_CHANGE, .mtime.set_it = DONT_CHANGE };
}

sattr3
live_mode(uint32_t mode)
{
    sattr3 attr = live_keep_all();

    attr.mode.set_it = TRUE;
    attr.mode.set_mode3_u.mode = mode;
    return attr;
}

sattr3
live_size(uint64_t size)
{
    sattr3 attr = live_keep_all();

    attr.size.set_it = TRUE;
    attr.size.set_size3_u.size = size;
    return attr;
}

sattr3
live_client_times(nfstime3 atime, nfstime3 mtime)
{
    sattr3 attr = live_keep_all();

    attr.atime.set_it = SET_TO_CLIENT_TIME;
    attr.atime.set_atime_u.atime = atime;
    attr.mtime.set_it = SET_TO_CLIENT_TIME;
    attr.mtime.set_mtime_u.mtime = mtime;
    return attr;
}

sattr3
live_server_times(void)
{
    sattr3 attr = live_keep_all();

    attr.atime.set_it = SET_TO_SERVER_TIME;
    attr.mtime.set_it = SET_TO_SERVER_TIME;
    return attr;
}

sattr3
live_owner(uint32_t uid, uint32_t gid)
{
    sattr3 attr = live_keep_all();

    attr.uid.set_it = uid != UINT32_MAX;
    attr.uid.set_uid3_u.uid = uid;
    attr.gid.set_it = gid != UINT32_MAX;
    attr.gid.set_gid3_u.gid = gid;
    return attr;
}

GETATTR3res *
live_getattr(struct live *srv, const nfs_fh3 *file)
{
    return live_nfs(srv, NFSPROC3_GETATTR, &(GETATTR3args){ *file });
}

SETATTR3res *
live_setattr(struct live *srv, const nfs_fh3 *file, sattr3 attr)
{
    return live_nfs(srv, NFSPROC3_SETATTR, &(SETATTR3args){ *file, attr, { .check = FALSE } });
}

SETATTR3res *
live_setattr_guarded(struct live *srv, const nfs_fh3 *file, sattr3 attr, nfstime3 ctime)
{
    return live_nfs(srv, NFSPROC3_SETATTR, &(SETATTR3args){ *file, attr, { TRUE, { ctime } } });
}

LOOKUP3res *
live_lookup(struct live *srv, const nfs_fh3 *dir, const char *name)
{
    return live_nfs(srv, NFSPROC3_LOOKUP, &(LOOKUP3args){ { *dir, live_name(name) } });
}

ACCESS3res *
live_access(struct live *srv, const nfs_fh3 *file, uint32_t bits)
{
    return live_nfs(srv, NFSPROC3_ACCESS, &(ACCESS3args){ *file, bits });
}

READLINK3res *
live_readlink(struct live *srv, const nfs_fh3 *link)
{
    return live_nfs(srv, NFSPROC3_READLINK, &(READLINK3args){ *link });
}

READ3res *
live_read(struct live *srv, const nfs_fh3 *file, uint64_t offset, uint32_t count)
{
    return live_nfs(srv, NFSPROC3_READ, &(READ3args){ *file, offset, count });
}

WRITE3res *
live_write(struct live *srv, const nfs_fh3 *file, uint64_t offset, const void *data, uint32_t len, stable_how stable)
{
    return live_nfs(srv, NFSPROC3_WRITE, &(WRITE3args){ *file, offset, len, stable, { len, (char *)data } });
}

CREATE3res *
live_create(struct live *srv, const nfs_fh3 *dir, const char *name, createmode3 mode, sattr3 attr)
{
    return live_nfs(srv, NFSPROC3_CREATE,
                    &(CREATE3args){ { *dir, live_name(name) }, { mode, { .obj_attributes = attr } } });
}

CREATE3res *
live_create_exclusive(struct live *srv, const nfs_fh3 *dir, const char *name, const void *verifier)
{
    CREATE3args args = { { *dir, live_name(name) }, { .mode = EXCLUSIVE } };

    memcpy(args.how.createhow3_u.verf, verifier, NFS3_CREATEVERFSIZE);
    return live_nfs(srv, NFSPROC3_CREATE, &args);
}

MKDIR3res *
live_mkdir(struct live *srv, const nfs_fh3 *dir, const char *name, sattr3 attr)
{
    return live_nfs(srv, NFSPROC3_MKDIR, &(MKDIR3args){ { *dir, live_name(name) }, attr });
}

SYMLINK3res *
live_symlink(struct live *srv, const nfs_fh3 *dir, const char *name, const char *text, sattr3 attr)
{
    return live_nfs(srv, NFSPROC3_SYMLINK,
                    &(SYMLINK3args){ { *dir, live_name(name) }, { attr, { (u_int)strlen(text), (char *)text } } });
}

MKNOD3res *
live_mknod(struct live *srv, const nfs_fh3 *dir, const char *name, ftype3 type, uint32_t major, uint32_t minor,
           sattr3 attr)
{
    MKNOD3args args = { { *dir, live_name(name) }, { .type = type } };

    if (type == NF3CHR || type == NF3BLK)
        args.what.mknoddata3_u.device = (devicedata3){ attr, { major, minor } };
    else
        args.what.mknoddata3_u.pipe_attributes = attr;
    return live_nfs(srv, NFSPROC3_MKNOD, &args);
}

REMOVE3res *
live_remove(struct live *srv, const nfs_fh3 *dir, const char *name)
{
    return live_nfs(srv, NFSPROC3_REMOVE, &(REMOVE3args){ { *dir, live_name(name) } });
}

RMDIR3res *
live_rmdir(struct live *srv, const nfs_fh3 *dir, const char *name)
{
    return live_nfs(srv, NFSPROC3_RMDIR, &(RMDIR3args){ { *dir, live_name(name) } });
}

RENAME3res *
live_rename(struct live *srv, const nfs_fh3 *from, const char *name, const nfs_fh3 *to, const char *new_name)
{
    return live_nfs(srv, NFSPROC3_RENAME, &(RENAME3args){ { *from, live_name(name) }, { *to, live_name(new_name) } });
}

LINK3res *
live_link(struct live *srv, const nfs_fh3 *file, const nfs_fh3 *dir, const char *name)
{
    return live_nfs(srv, NFSPROC3_LINK, &(LINK3args){ *file, { *dir, live_name(name) } });
}

READDIR3res *
live_readdir(struct live *srv, const nfs_fh3 *dir, uint64_t cookie, const char *verifier, uint32_t count)
{
    READDIR3args args = { .dir = *dir, .cookie = cookie, .count = count };

    if (verifier != NULL)
        memcpy(args.cookieverf, verifier, NFS3_COOKIEVERFSIZE);
    return live_nfs(srv, NFSPROC3_READDIR, &args);
}

READDIRPLUS3res *
live_readdirplus(struct live *srv, const nfs_fh3 *dir, uint64_t cookie, const char *verifier, uint32_t dircount,
                 uint32_t maxcount)
{
    READDIRPLUS3args args = { .dir = *dir, .cookie = cookie, .dircount = dircount, .maxcount = maxcount };

    if (verifier != NULL)
        memcpy(args.cookieverf, verifier, NFS3_COOKIEVERFSIZE);
    return live_nfs(srv, NFSPROC3_READDIRPLUS, &args);
}

FSSTAT3res *
live_fsstat(struct live *srv, const nfs_fh3 *file)
{
    return live_nfs(srv, NFSPROC3_FSSTAT, &(FSSTAT3args){ *file });
}

FSINFO3res *
live_fsinfo(struct live *srv, const nfs_fh3 *file)
{
    return live_nfs(srv, NFSPROC3_FSINFO, &(FSINFO3args){ *file });
}

PATHCONF3res *
live_pathconf(struct live *srv, const nfs_fh3 *file)
{
    return live_nfs(srv, NFSPROC3_PATHCONF, &(PATHCONF3args){ *file });
}

COMMIT3res *
live_commit(struct live *srv, const nfs_fh3 *file, uint64_t offset, uint32_t count)
{
    return live_nfs(srv, NFSPROC3_COMMIT, &(COMMIT3args){ *file, offset, count });
}

/* One call of NFSACL. */
static void *
call_acl(struct live *srv, uint32_t proc, xdrproc_t args_codec, const void *args, xdrproc_t res_codec, size_t size)
{
    void *res = live_keep_decoded(srv, size, res_codec);
    int outcome = live_call(srv, &srv->conn, NFS_ACL_PROGRAM, NFS_ACL_V3, proc, args_codec, args, res_codec, res);

    if (outcome != LIVE_SUCCESS)
        fail_msg("NFSACL procedure %u: no success from RPC (outcome %d)", proc, outcome);
    return res;
}

GETACL3res *
live_getacl(struct live *srv, const nfs_fh3 *file, uint32_t mask)
{
    return call_acl(srv, ACLPROC3_GETACL, (xdrproc_t)xdr_GETACL3args, &(GETACL3args){ *file, mask },
                    (xdrproc_t)xdr_GETACL3res, sizeof(GETACL3res));
}

SETACL3res *
live_setacl(struct live *srv, const nfs_fh3 *file, uint32_t mask, const aclent *access, u_int count,
            const aclent *defaults, u_int default_count)
{
    const SETACL3args args = {
        .fh = *file,
        .acl.mask = mask,
        .acl.aclcnt = count,
        .acl.aclents = { count, (aclent *)access },
        .acl.dfaclcnt = default_count,
        .acl.dfaclents = { default_count, (aclent *)defaults },
    };

    return call_acl(srv, ACLPROC3_SETACL, (xdrproc_t)xdr_SETACL3args, &args, (xdrproc_t)xdr_SETACL3res,
                    sizeof(SETACL3res));
}

fattr3
live_attr(struct live *srv, const nfs_fh3 *file)
{
    GETATTR3res *res = live_getattr(srv, file);

    assert_int_equal(res->status, NFS3_OK);
    return res->GETATTR3res_u.resok.obj_attributes;
}

nfs_fh3
live_find(struct live *srv, const nfs_fh3 *dir, const char *name)
{
    LOOKUP3res *res = live_lookup(srv, dir, name);

    if (res->status != NFS3_OK)
        fail_msg("LOOKUP %s: status %d", name, res->status);
    return res->LOOKUP3res_u.resok.object;
}

nfs_fh3
live_file(struct live *srv, const nfs_fh3 *dir, const char *name, uint32_t mode)
{
    CREATE3res *res = live_create(srv, dir, name, GUARDED, live_mode(mode));

    if (res->status != NFS3_OK)
        fail_msg("CREATE %s: status %d", name, res->status);
    assert_true(res->CREATE3res_u.resok.obj.handle_follows);
    return res->CREATE3res_u.resok.obj.post_op_fh3_u.handle;
}

nfs_fh3
live_dir(struct live *srv, const nfs_fh3 *dir, const char *name, uint32_t mode)
{
    MKDIR3res *res = live_mkdir(srv, dir, name, live_mode(mode));

    if (res->status != NFS3_OK)
        fail_msg("MKDIR %s: status %d", name, res->status);
    assert_true(res->MKDIR3res_u.resok.obj.handle_follows);
    return res->MKDIR3res_u.resok.obj.post_op_fh3_u.handle;
}

nfs_fh3
live_link_to(struct live *srv, const nfs_fh3 *dir, const char *name, const char *text)
{
    SYMLINK3res *res = live_symlink(srv, dir, name, text, live_keep_all());

    if (res->status != NFS3_OK)
        fail_msg("SYMLINK %s: status %d", name, res->status);
    assert_true(res->SYMLINK3res_u.resok.obj.handle_follows);
    return res->SYMLINK3res_u.resok.obj.post_op_fh3_u.handle;
}

void
live_write_all(struct live *srv, const nfs_fh3 *file, uint64_t offset, const void *data, size_t len)
{
    const char *p = data;
    WRITE3res *res;
    size_t part;

    for (; len > 0; p += part, offset += part, len -= part) {
        res = live_write(srv, file, offset, p, (uint32_t)(len < 1 << 20 ? len : 1 << 20), FILE_SYNC);
        assert_int_equal(res->status, NFS3_OK);
        part = res->WRITE3res_u.resok.count;
        assert_in_range(part, 1, len);
    }
}

nfs_fh3
live_put(struct live *srv, const char *name, const void *data, size_t len)
{
    nfs_fh3 file = live_file(srv, &srv->root, name, 0644);

    live_write_all(srv, &file, 0, data, len);
    return file;
}

void
live_chown(struct live *srv, const nfs_fh3 *file, uint32_t uid, uint32_t gid)
{
    sattr3 attr = live_keep_all();

    attr.uid.set_it = TRUE;
    attr.uid.set_uid3_u.uid = uid;
    attr.gid.set_it = TRUE;
    attr.gid.set_gid3_u.gid = gid;
    assert_int_equal(live_setattr(srv, file, attr)->status, NFS3_OK);
}

void
live_chmod(struct live *srv, const nfs_fh3 *file, uint32_t mode)
{
    assert_int_equal(live_setattr(srv, file, live_mode(mode))->status, NFS3_OK);
}

static bool
is_dots(const filename3 *name)
{
    return (name->filename3_len == 1 && name->filename3_val[0] == '.') ||
           (name->filename3_len == 2 && memcmp(name->filename3_val, "..", 2) == 0);
}

size_t
live_count(struct live *srv, const nfs_fh3 *dir)
{
    READDIR3res *res;
    const entry3 *entry;
    uint64_t cookie = 0;
    size_t count = 0;

    do {
        res = live_readdir(srv, dir, cookie, NULL, SCAN_COUNT);
        assert_int_equal(res->status, NFS3_OK);
        for (entry = res->READDIR3res_u.resok.reply.entries; entry != NULL; entry = entry->nextentry) {
            count += !is_dots(&entry->name);
            cookie = entry->cookie;
        }
    } while (!res->READDIR3res_u.resok.reply.eof);
    return count;
}

bool
live_has(struct live *srv, const nfs_fh3 *dir, const char *name)
{
    LOOKUP3res *res = live_lookup(srv, dir, name);

    if (res->status != NFS3_OK)
        assert_int_equal(res->status, NFS3ERR_NOENT);
    return res->status == NFS3_OK;
}

void
live_assert_content(struct live *srv, const nfs_fh3 *file, const void *data, size_t len)
{
    READ3res *res = live_read(srv, file, 0, (uint32_t)len + 1);

    assert_int_equal(res->status, NFS3_OK);
    assert_int_equal(res->READ3res_u.resok.count, len);
    assert_int_equal(res->READ3res_u.resok.data.data_len, len);
    assert_memory_equal(res->READ3res_u.resok.data.data_val, data, len);
    assert_true(res->READ3res_u.resok.eof);
}

bool
live_same_handle(const nfs_fh3 *a, const nfs_fh3 *b)
{
    return a->data.data_len == b->data.data_len && memcmp(a->data.data_val, b->data.data_val, a->data.data_len) == 0;
}

bool
live_same_time(nfstime3 a, nfstime3 b)
{
    return a.seconds == b.seconds && a.nseconds == b.nseconds;
}

/* One call of MOUNT over a connection of its own. */
static void *
call_mount(struct live *srv, uint32_t vers, uint32_t proc, const mount_dirpath *path, xdrproc_t res_codec, size_t size)
{
    struct live_conn conn = live_connect_to("127.0.0.1", srv->mount_port, SOCK_STREAM);
    void *res = live_keep_decoded(srv, size, res_codec);
    int outcome = live_call(srv, &conn, MOUNT_PROGRAM, vers, proc, path != NULL ? (xdrproc_t)xdr_mount_dirpath : NULL,
                            path, res_codec, res);

    live_close(&conn);
    if (outcome != LIVE_SUCCESS)
        fail_msg("MOUNT version %u procedure %u: no success from RPC (outcome %d)", vers, proc, outcome);
    return res;
}

mountres3 *
live_mnt_bytes(struct live *srv, const char *path, size_t len)
{
    return call_mount(srv, MOUNT_V3, MOUNTPROC3_MNT, &(mount_dirpath){ (u_int)len, (char *)path },
                      (xdrproc_t)xdr_mountres3, sizeof(mountres3));
}

mountres3 *
live_mnt(struct live *srv, const char *path)
{
    return live_mnt_bytes(srv, path, strlen(path));
}

fhstatus *
live_mnt_v1(struct live *srv, const char *path)
{
    return call_mount(srv, MOUNT_V1, MOUNTPROC_MNT, &(mount_dirpath){ (u_int)strlen(path), (char *)path },
                      (xdrproc_t)xdr_fhstatus, sizeof(fhstatus));
}

mountlist
live_dump(struct live *srv)
{
    return *(mountlist *)call_mount(srv, MOUNT_V3, MOUNTPROC3_DUMP, NULL, (xdrproc_t)xdr_mountlist, sizeof(mountlist));
}

void
live_umnt(struct live *srv, const char *path)
{
    call_mount(srv, MOUNT_V3, MOUNTPROC3_UMNT, &(mount_dirpath){ (u_int)strlen(path), (char *)path }, NULL, 1);
}

void
live_umntall(struct live *srv)
{
    call_mount(srv, MOUNT_V3, MOUNTPROC3_UMNTALL, NULL, NULL, 1);
}

mount_exports
live_exports(struct live *srv)
{
    return *(mount_exports *)call_mount(srv, MOUNT_V3, MOUNTPROC3_EXPORT, NULL, (xdrproc_t)xdr_mount_exports,
                                        sizeof(mount_exports));
}

nfs_fh3
live_mount(struct live *srv, const char *path)
{
    mountres3 *res = live_mnt(srv, path);
    fhandle3 *handle = &res->mountres3_u.mountinfo.fhandle;

    if (res->fhs_status != MNT3_OK)
        fail_msg("MNT %s: status %d", path, res->fhs_status);
    return (nfs_fh3){ { handle->fhandle3_len, handle->fhandle3_val } };
}
