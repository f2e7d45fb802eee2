/*
 * xdr/shape_tables.c - the shapes of NFSv3 (RFC 1813 section 3.3), MOUNT (its section 5.2, and RFC 1094 appendix A) and
 * NFSACL (nfs_acl.x), field by field. A struct or an optional field without a name is part of what is around it.
 */
#include "xdr/shape.h"

#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/nfs_acl.h"

#define NAME_MAX_BYTES UINT32_MAX       /* as RFC 1813: the message bounds it */
#define FLAVORS_MAX 64
#define KIND(text, of, what) { .name = text, .kind = of, .role = what }
#define END { .kind = SHAPE_END }
#define U32(text) KIND(text, SHAPE_U32, ROLE_PLAIN)
#define U64(text) KIND(text, SHAPE_U64, ROLE_PLAIN)
#define BOOL(text) KIND(text, SHAPE_BOOL, ROLE_PLAIN)
#define ENUM(text, list) { .name = text, .kind = SHAPE_U32, .words = list }
#define TIME(text) KIND(text, SHAPE_TIME, ROLE_PLAIN)
#define HANDLE(text) { .name = text, .kind = SHAPE_HANDLE, .size = NFS3_FHSIZE }
#define NAME(text) { .name = text, .kind = SHAPE_NAME, .size = NAME_MAX_BYTES }
#define DATA(text) { .name = text, .kind = SHAPE_DATA, .size = UINT32_MAX }
#define VERIFIER(text, what) { .name = text, .kind = SHAPE_FIXED, .role = what, .size = 8 }
#define STRUCT(text, list) { .name = text, .kind = SHAPE_STRUCT, .fields = list }
#define MAYBE(text, list) { .name = text, .kind = SHAPE_MAYBE, .fields = list }
#define CHAIN(text, list) { .name = text, .kind = SHAPE_CHAIN, .fields = list }
#define ARRAY(text, list, most) { .name = text, .kind = SHAPE_ARRAY, .size = most, .fields = list }
#define SWITCH(text, list, cases) { .name = text, .kind = SHAPE_SWITCH, .words = list, .arms = cases }
#define OTHERWISE(list) { .otherwise = true, .fields = list }
#define SHAPE(id, ...) static const struct shape id[] = { __VA_ARGS__, END }
/* A result: a status, and fields that depend on it. */
#define RESULT(id, bad) \
    static const struct shape_arm id##_arms[] = { { 0, false, id##_ok }, OTHERWISE(bad) }; \
    static const struct shape id[] = { SWITCH("status", statuses, id##_arms), END }

static const struct shape_word statuses[] = {
    { NFS3_OK, "OK" },
    { NFS3ERR_PERM, "PERM" },
    { NFS3ERR_NOENT, "NOENT" },
    { NFS3ERR_IO, "IO" },
    { NFS3ERR_NXIO, "NXIO" },
    { NFS3ERR_ACCES, "ACCES" },
    { NFS3ERR_EXIST, "EXIST" },
    { NFS3ERR_XDEV, "XDEV" },
    { NFS3ERR_NODEV, "NODEV" },
    { NFS3ERR_NOTDIR, "NOTDIR" },
    { NFS3ERR_ISDIR, "ISDIR" },
    { NFS3ERR_INVAL, "INVAL" },
    { NFS3ERR_FBIG, "FBIG" },
    { NFS3ERR_NOSPC, "NOSPC" },
    { NFS3ERR_ROFS, "ROFS" },
    { NFS3ERR_MLINK, "MLINK" },
    { NFS3ERR_NAMETOOLONG, "NAMETOOLONG" },
    { NFS3ERR_NOTEMPTY, "NOTEMPTY" },
    { NFS3ERR_DQUOT, "DQUOT" },
    { NFS3ERR_STALE, "STALE" },
    { NFS3ERR_REMOTE, "REMOTE" },
    { NFS3ERR_BADHANDLE, "BADHANDLE" },
    { NFS3ERR_NOT_SYNC, "NOT_SYNC" },
    { NFS3ERR_BAD_COOKIE, "BAD_COOKIE" },
    { NFS3ERR_NOTSUPP, "NOTSUPP" },
    { NFS3ERR_TOOSMALL, "TOOSMALL" },
    { NFS3ERR_SERVERFAULT, "SERVERFAULT" },
    { NFS3ERR_BADTYPE, "BADTYPE" },
    { NFS3ERR_JUKEBOX, "JUKEBOX" },
    { 0, NULL }
};

static const struct shape_word mount_statuses[] = {
    { MNT3_OK, "OK" }, { MNT3ERR_PERM, "PERM" }, { MNT3ERR_NOENT, "NOENT" }, { MNT3ERR_IO, "IO" },
    { MNT3ERR_ACCES, "ACCES" }, { MNT3ERR_NOTDIR, "NOTDIR" }, { MNT3ERR_INVAL, "INVAL" },
    { MNT3ERR_NAMETOOLONG, "NAMETOOLONG" }, { MNT3ERR_NOTSUPP, "NOTSUPP" }, { MNT3ERR_SERVERFAULT, "SERVERFAULT" },
    { 0, NULL }
};

static const struct shape_word types[] = {
    { NF3REG, "REG" }, { NF3DIR, "DIR" }, { NF3BLK, "BLK" }, { NF3CHR, "CHR" }, { NF3LNK, "LNK" }, { NF3SOCK, "SOCK" },
    { NF3FIFO, "FIFO" }, { 0, NULL }
};

static const struct shape_word stabilities[] = {
    { UNSTABLE, "UNSTABLE" }, { DATA_SYNC, "DATA_SYNC" }, { FILE_SYNC, "FILE_SYNC" }, { 0, NULL }
};

static const struct shape_word create_modes[] = {
    { UNCHECKED, "UNCHECKED" }, { GUARDED, "GUARDED" }, { EXCLUSIVE, "EXCLUSIVE" }, { 0, NULL }
};

static const struct shape_word time_hows[] = {
    { DONT_CHANGE, "DONT_CHANGE" }, { SET_TO_SERVER_TIME, "SERVER_TIME" }, { SET_TO_CLIENT_TIME, "CLIENT_TIME" },
    { 0, NULL }
};

/* RFC 1813 2.6: what all procedures use. */
SHAPE(device, U32("major"), U32("minor"));
SHAPE(attributes, ENUM("type", types), U32("mode"), U32("nlink"), U32("uid"), U32("gid"), U64("size"),
      KIND("used", SHAPE_U64, ROLE_IDENTITY), STRUCT("rdev", device), KIND("fsid", SHAPE_U64, ROLE_IDENTITY),
      KIND("fileid", SHAPE_U64, ROLE_IDENTITY), KIND("atime", SHAPE_TIME, ROLE_TIME), KIND("mtime", SHAPE_TIME, ROLE_TIME),
      KIND("ctime", SHAPE_TIME, ROLE_TIME));
SHAPE(before, U64("size"), KIND("mtime", SHAPE_TIME, ROLE_TIME), KIND("ctime", SHAPE_TIME, ROLE_TIME));
SHAPE(wcc, MAYBE("before", before), MAYBE("after", attributes));
SHAPE(handle, HANDLE("handle"));
SHAPE(set_mode, U32("mode"));
SHAPE(set_uid, U32("uid"));
SHAPE(set_gid, U32("gid"));
SHAPE(set_size, U64("size"));
SHAPE(client_atime, TIME("atime"));
SHAPE(client_mtime, TIME("mtime"));
static const struct shape_arm atime_arms[] = { { SET_TO_CLIENT_TIME, false, client_atime }, OTHERWISE(NULL) };
static const struct shape_arm mtime_arms[] = { { SET_TO_CLIENT_TIME, false, client_mtime }, OTHERWISE(NULL) };
SHAPE(settable, MAYBE(NULL, set_mode), MAYBE(NULL, set_uid), MAYBE(NULL, set_gid), MAYBE(NULL, set_size),
      SWITCH("set_atime", time_hows, atime_arms), SWITCH("set_mtime", time_hows, mtime_arms));
#define IN_DIRECTORY HANDLE("dir"), NAME("name")

SHAPE(getattr_args, HANDLE("object"));
SHAPE(getattr_res_ok, STRUCT("obj_attributes", attributes));
static const struct shape_arm getattr_res_arms[] = { { 0, false, getattr_res_ok }, OTHERWISE(NULL) };
SHAPE(getattr_res, SWITCH("status", statuses, getattr_res_arms));

SHAPE(guard, TIME("obj_ctime"));
SHAPE(setattr_args, HANDLE("object"), STRUCT("new_attributes", settable), MAYBE("guard", guard));
SHAPE(setattr_res_ok, STRUCT("obj_wcc", wcc));
RESULT(setattr_res, setattr_res_ok);

SHAPE(lookup_args, IN_DIRECTORY);
SHAPE(lookup_res_ok, HANDLE("object"), MAYBE("obj_attributes", attributes), MAYBE("dir_attributes", attributes));
SHAPE(lookup_bad, MAYBE("dir_attributes", attributes));
RESULT(lookup_res, lookup_bad);

SHAPE(access_args, HANDLE("object"), U32("access"));
SHAPE(access_res_ok, MAYBE("obj_attributes", attributes), U32("access"));
SHAPE(object_bad, MAYBE("obj_attributes", attributes));
RESULT(access_res, object_bad);

SHAPE(readlink_args, HANDLE("symlink"));
SHAPE(readlink_res_ok, MAYBE("symlink_attributes", attributes), NAME("data"));
SHAPE(readlink_bad, MAYBE("symlink_attributes", attributes));
RESULT(readlink_res, readlink_bad);

SHAPE(read_args, HANDLE("file"), U64("offset"), U32("count"));
SHAPE(read_res_ok, MAYBE("file_attributes", attributes), U32("count"), BOOL("eof"), DATA("data"));
SHAPE(read_bad, MAYBE("file_attributes", attributes));
RESULT(read_res, read_bad);

SHAPE(write_args, HANDLE("file"), U64("offset"), U32("count"), ENUM("stable", stabilities), DATA("data"));
SHAPE(write_res_ok, STRUCT("file_wcc", wcc), U32("count"), ENUM("committed", stabilities),
      VERIFIER("verf", ROLE_WRITE_VERIFIER));
SHAPE(write_bad, STRUCT("file_wcc", wcc));
RESULT(write_res, write_bad);

SHAPE(create_attributes, STRUCT("obj_attributes", settable));
SHAPE(create_exclusive, VERIFIER("verf", ROLE_PLAIN));
static const struct shape_arm create_how[] = { { EXCLUSIVE, false, create_exclusive }, OTHERWISE(create_attributes) };
SHAPE(create_args, IN_DIRECTORY, SWITCH("how", create_modes, create_how));
SHAPE(make_res_ok, MAYBE("obj", handle), MAYBE("obj_attributes", attributes), STRUCT("dir_wcc", wcc));
SHAPE(make_bad, STRUCT("dir_wcc", wcc));
static const struct shape_arm make_res_arms[] = { { 0, false, make_res_ok }, OTHERWISE(make_bad) };
SHAPE(make_res, SWITCH("status", statuses, make_res_arms));

SHAPE(mkdir_args, IN_DIRECTORY, STRUCT("attributes", settable));
SHAPE(symlink_args, IN_DIRECTORY, STRUCT("symlink_attributes", settable), NAME("symlink_data"));
SHAPE(mknod_device, STRUCT("dev_attributes", settable), STRUCT("spec", device));
SHAPE(mknod_pipe, STRUCT("pipe_attributes", settable));
static const struct shape_arm mknod_what[] = {
    { NF3CHR, false, mknod_device }, { NF3BLK, false, mknod_device }, { NF3SOCK, false, mknod_pipe },
    { NF3FIFO, false, mknod_pipe }, OTHERWISE(NULL)
};
SHAPE(mknod_args, IN_DIRECTORY, SWITCH("type", types, mknod_what));

SHAPE(remove_args, IN_DIRECTORY);
SHAPE(remove_res_ok, STRUCT("dir_wcc", wcc));
RESULT(remove_res, remove_res_ok);

SHAPE(rename_args, STRUCT("from", remove_args), STRUCT("to", remove_args));
SHAPE(rename_res_ok, STRUCT("fromdir_wcc", wcc), STRUCT("todir_wcc", wcc));
RESULT(rename_res, rename_res_ok);

SHAPE(link_args, HANDLE("file"), STRUCT("link", remove_args));
SHAPE(link_res_ok, MAYBE("file_attributes", attributes), STRUCT("linkdir_wcc", wcc));
RESULT(link_res, link_res_ok);

#define COOKIE KIND("cookie", SHAPE_U64, ROLE_COOKIE)
#define COOKIE_VERIFIER VERIFIER("cookieverf", ROLE_COOKIE_VERIFIER)
SHAPE(readdir_args, HANDLE("dir"), COOKIE, COOKIE_VERIFIER, U32("count"));
SHAPE(entry, KIND("fileid", SHAPE_U64, ROLE_IDENTITY), NAME("name"), COOKIE);
SHAPE(readdir_res_ok, MAYBE("dir_attributes", attributes), COOKIE_VERIFIER, CHAIN("entries", entry), BOOL("eof"));
SHAPE(readdir_bad, MAYBE("dir_attributes", attributes));
RESULT(readdir_res, readdir_bad);

SHAPE(readdirplus_args, HANDLE("dir"), COOKIE, COOKIE_VERIFIER, U32("dircount"), U32("maxcount"));
SHAPE(entry_plus, KIND("fileid", SHAPE_U64, ROLE_IDENTITY), NAME("name"), COOKIE, MAYBE("name_attributes", attributes),
      MAYBE("name_handle", handle));
SHAPE(readdirplus_res_ok, MAYBE("dir_attributes", attributes), COOKIE_VERIFIER,
      CHAIN("entries", entry_plus), BOOL("eof"));
RESULT(readdirplus_res, readdir_bad);

#define DISK_U64(text) { .name = text, .kind = SHAPE_U64, .role = ROLE_IDENTITY }
#define DISK_U32(text) { .name = text, .kind = SHAPE_U32, .role = ROLE_IDENTITY }
SHAPE(fs_args, HANDLE("fsroot"));
SHAPE(fsstat_res_ok, MAYBE("obj_attributes", attributes), DISK_U64("tbytes"), DISK_U64("fbytes"), DISK_U64("abytes"),
      DISK_U64("tfiles"), DISK_U64("ffiles"), DISK_U64("afiles"), DISK_U32("invarsec"));
RESULT(fsstat_res, object_bad);
SHAPE(fsinfo_res_ok, MAYBE("obj_attributes", attributes), DISK_U32("rtmax"), DISK_U32("rtpref"), DISK_U32("rtmult"),
      DISK_U32("wtmax"), DISK_U32("wtpref"), DISK_U32("wtmult"), DISK_U32("dtpref"), DISK_U64("maxfilesize"),
      KIND("time_delta", SHAPE_TIME, ROLE_IDENTITY), U32("properties"));
RESULT(fsinfo_res, object_bad);
SHAPE(pathconf_res_ok, MAYBE("obj_attributes", attributes), DISK_U32("linkmax"), U32("name_max"), BOOL("no_trunc"),
      BOOL("chown_restricted"), BOOL("case_insensitive"), BOOL("case_preserving"));
RESULT(pathconf_res, object_bad);

SHAPE(commit_args, HANDLE("file"), U64("offset"), U32("count"));
SHAPE(commit_res_ok, STRUCT("file_wcc", wcc), VERIFIER("verf", ROLE_WRITE_VERIFIER));
RESULT(commit_res, write_bad);

static const struct shape_proc nfs_procs[] = {
    { "NULL", NULL, NULL }, { "GETATTR", getattr_args, getattr_res }, { "SETATTR", setattr_args, setattr_res },
    { "LOOKUP", lookup_args, lookup_res }, { "ACCESS", access_args, access_res },
    { "READLINK", readlink_args, readlink_res },
    { "READ", read_args, read_res }, { "WRITE", write_args, write_res }, { "CREATE", create_args, make_res },
    { "MKDIR", mkdir_args, make_res }, { "SYMLINK", symlink_args, make_res }, { "MKNOD", mknod_args, make_res },
    { "REMOVE", remove_args, remove_res }, { "RMDIR", remove_args, remove_res }, { "RENAME", rename_args, rename_res },
    { "LINK", link_args, link_res }, { "READDIR", readdir_args, readdir_res },
    { "READDIRPLUS", readdirplus_args, readdirplus_res },
    { "FSSTAT", fs_args, fsstat_res }, { "FSINFO", fs_args, fsinfo_res }, { "PATHCONF", getattr_args, pathconf_res },
    { "COMMIT", commit_args, commit_res },
};

SHAPE(acl_entry, U32("type"), U32("id"), U32("perm"));
#define ACL U32("mask"), U32("aclcnt"), ARRAY("aclents", acl_entry, NFS_ACL_MAX_ENTRIES), U32("dfaclcnt"), \
            ARRAY("dfaclents", acl_entry, NFS_ACL_MAX_ENTRIES)
SHAPE(getacl_args, HANDLE("fh"), U32("mask"));
SHAPE(getacl_res_ok, MAYBE("attr", attributes), ACL);
SHAPE(acl_attr, MAYBE("attr", attributes));
RESULT(getacl_res, acl_attr);
SHAPE(setacl_args, HANDLE("fh"), ACL);
static const struct shape_arm setacl_res_arms[] = { { 0, false, acl_attr }, OTHERWISE(acl_attr) };
SHAPE(setacl_res, SWITCH("status", statuses, setacl_res_arms));

static const struct shape_proc acl_procs[] = {
    { "NULL", NULL, NULL }, { "GETACL", getacl_args, getacl_res }, { "SETACL", setacl_args, setacl_res },
};

SHAPE(mount_path, { .name = "dirpath", .kind = SHAPE_NAME, .size = MNTPATHLEN });
SHAPE(flavor, U32("flavor"));
SHAPE(mnt_res_ok, { .name = "fhandle", .kind = SHAPE_HANDLE, .size = FHSIZE3 }, ARRAY("auth_flavors", flavor, FLAVORS_MAX));
static const struct shape_arm mnt_res_arms[] = { { MNT3_OK, false, mnt_res_ok }, OTHERWISE(NULL) };
SHAPE(mnt_res, SWITCH("status", mount_statuses, mnt_res_arms));
SHAPE(mnt_v1_ok, { .name = "fhandle", .kind = SHAPE_FIXED, .role = ROLE_IDENTITY, .size = FHSIZE });
static const struct shape_arm mnt_v1_arms[] = { { MNT3_OK, false, mnt_v1_ok }, OTHERWISE(NULL) };
SHAPE(mnt_v1, SWITCH("status", mount_statuses, mnt_v1_arms));
SHAPE(mounted, { .name = "hostname", .kind = SHAPE_NAME, .role = ROLE_IDENTITY, .size = MNTNAMLEN },
      { .name = "directory", .kind = SHAPE_NAME, .size = MNTPATHLEN });
SHAPE(mount_list, CHAIN("mounts", mounted));
SHAPE(group, { .name = "name", .kind = SHAPE_NAME, .size = MNTNAMLEN });
SHAPE(exported, { .name = "dir", .kind = SHAPE_NAME, .size = MNTPATHLEN }, CHAIN("groups", group));
SHAPE(export_list, CHAIN("exports", exported));

static const struct shape_proc mount_procs[] = {
    { "NULL", NULL, NULL }, { "MNT", mount_path, mnt_res }, { "DUMP", NULL, mount_list }, { "UMNT", mount_path, NULL },
    { "UMNTALL", NULL, NULL }, { "EXPORT", NULL, export_list },
};
static const struct shape_proc mount_v1_procs[] = {
    { "NULL", NULL, NULL }, { "MNT", mount_path, mnt_v1 }, { "DUMP", NULL, mount_list }, { "UMNT", mount_path, NULL },
    { "UMNTALL", NULL, NULL }, { "EXPORT", NULL, export_list },
};

#define PROCS(list) .procs = list, .count = sizeof(list) / sizeof(list[0])

static const struct {
    uint32_t number, version;
    const char *name;
    const struct shape_proc *procs;
    size_t count;
} programs[] = {
    { NFS_PROGRAM, NFS_V3, "NFS", PROCS(nfs_procs) },
    { NFS_ACL_PROGRAM, NFS_ACL_V3, "NFSACL", PROCS(acl_procs) },
    { MOUNT_PROGRAM, MOUNT_V3, "MOUNT", PROCS(mount_procs) },
    { MOUNT_PROGRAM, MOUNT_V1, "MOUNT", PROCS(mount_v1_procs) },
};

#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

const struct shape_proc *
shape_proc(uint32_t program, uint32_t version, uint32_t procedure)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        if (programs[i].number == program && programs[i].version == version)
            return procedure < programs[i].count ? &programs[i].procs[procedure] : NULL;
    return NULL;
}

const char *
shape_program_name(uint32_t program)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        if (programs[i].number == program)
            return programs[i].name;
    return NULL;
}

uint32_t
shape_program_number(const char *name)
{
    for (size_t i = 0; i < PROGRAMS; i++)
        if (strcmp(programs[i].name, name) == 0)
            return programs[i].number;
    return 0;
}

int
shape_proc_number(uint32_t program, uint32_t version, const char *name)
{
    const struct shape_proc *proc;

    for (uint32_t i = 0; (proc = shape_proc(program, version, i)) != NULL; i++)
        if (strcmp(proc->name, name) == 0)
            return (int)i;
    return -1;
}
