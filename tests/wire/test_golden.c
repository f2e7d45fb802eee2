/*
 * tests/wire/test_golden.c - what RFC 1813, and NFSACL, put on the wire, byte for byte.
 *
 * The hex was written from the RFC's definitions (nfs_acl.x for NFSACL), field by field, not taken from a program. Each
 * row holds the same message twice, as bytes and as a value: the value must encode to the bytes, and the bytes, decoded
 * and encoded, must come back. Calls are shown without the RPC header, replies from the status on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/lib/bulk_codecs.h"
#include "tests/lib/bytes.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/nfs_acl.h"

struct golden {
    const char *what;
    xdrproc_t codec;
    void *value;                            /* not const: xdr_pointer() stores a NULL over a NULL */
    const char *hex;
    bool (*get)(struct wire_in *in, void *args);            /* where bulk.h has a codec of its own */
    void (*put)(struct wire_out *out, const void *res);
};

/* nfs_fh3: four bytes; and one whose length needs padding */
#define FH_HEX    "00000004 f00dcafe "
#define FH        { { 4, "\xf0\x0d\xca\xfe" } }
#define CHILD_HEX "00000005 0102030405 000000 "
#define CHILD     { { 5, "\1\2\3\4\5" } }

/* filename3 "hello" */
#define NAME_HEX  "00000005 68656c6c6f 000000 "
#define NAME      { 5, "hello" }

#define ATIME_HEX "65000000 00000001 "
#define ATIME     { 0x65000000, 1 }
#define MTIME_HEX "65000001 00000002 "
#define MTIME     { 0x65000001, 2 }
#define CTIME_HEX "ffffffff 3b9ac9ff "
#define CTIME     { 0xffffffff, 999999999 }

/* fattr3: type mode nlink uid gid size used rdev fsid fileid atime mtime ctime */
#define FATTR_HEX "00000001 000001a4 00000002 000003e8 000003e9 00000001 00000005 00000000 00001000 " \
                  "00000008 00000011 00000000 00000801 00000000 00003039 " ATIME_HEX MTIME_HEX CTIME_HEX
#define FATTR     { NF3REG, 0644, 2, 1000, 1001, 0x100000005, 4096, { 8, 17 }, 0x801, 12345, ATIME, MTIME, CTIME }

/* post_op_attr */
#define ATTR_HEX     "00000001 " FATTR_HEX
#define ATTR         { TRUE, { FATTR } }
#define NO_ATTR_HEX  "00000000 "
#define NO_ATTR      { FALSE, { { 0 } } }

/* wcc_data: size mtime ctime before, all after; and none */
#define WCC_HEX     "00000001 00000000 00000007 " MTIME_HEX CTIME_HEX ATTR_HEX
#define WCC         { { TRUE, { { 7, MTIME, CTIME } } }, ATTR }
#define NO_WCC_HEX  "00000000 00000000 "
#define NO_WCC      { { FALSE, { { 0 } } }, NO_ATTR }

/* post_op_fh3 */
#define POST_FH_HEX "00000001 " CHILD_HEX
#define POST_FH     { TRUE, { CHILD } }

/* secattr: the mask, the access ACL of a mode 0750 and the default ACL of another user; and one that has no entries */
#define ACL_HEX     "0000000f 00000004 00000004 00000001 000003e8 00000007 00000004 000003e9 00000005 " \
                    "00000010 00000000 00000005 00000020 00000000 00000000 " \
                    "00000005 00000005 00001001 000003e8 00000007 00001002 000007d0 00000006 " \
                    "00001004 000003e9 00000005 00001010 00000000 00000007 00001020 00000000 00000000 "
#define ACL         { 0xf, 4, { 4, (aclent[]){ { 1, 1000, 7 }, { 4, 1001, 5 }, { 16, 0, 5 }, { 32, 0, 0 } } }, \
                      5, { 5, (aclent[]){ { 0x1001, 1000, 7 }, { 0x1002, 2000, 6 }, { 0x1004, 1001, 5 }, \
                                          { 0x1010, 0, 7 }, { 0x1020, 0, 0 } } } }
#define COUNT_HEX   "00000002 00000004 00000000 00000000 00000000 "
#define COUNT       { NFS_ACLCNT, 4, { 0, NULL }, 0, { 0, NULL } }

/* sattr3 with everything set: mode uid gid size, atime by the server, mtime by the client; and with nothing set */
#define SATTR_HEX   "00000001 000001ed 00000001 000003e8 00000001 00000064 00000001 00000000 00000400 " \
                    "00000001 00000002 " MTIME_HEX
#define SATTR       { { TRUE, { 0755 } }, { TRUE, { 1000 } }, { TRUE, { 100 } }, { TRUE, { 1024 } }, \
                      { SET_TO_SERVER_TIME, { { 0 } } }, { SET_TO_CLIENT_TIME, { MTIME } } }
#define KEEP_HEX    "00000000 00000000 00000000 00000000 00000000 00000000 "
#define KEEP        { { FALSE, { 0 } }, { FALSE, { 0 } }, { FALSE, { 0 } }, { FALSE, { 0 } }, \
                      { DONT_CHANGE, { { 0 } } }, { DONT_CHANGE, { { 0 } } } }

#define VERF_HEX "0102030405060708 "
#define VERF     "\1\2\3\4\5\6\7\x8"

#define ROW(what, type, hex, ...)     { what, (xdrproc_t)xdr_##type, &(type)__VA_ARGS__, hex, NULL, NULL }
#define HOT_ARGS(what, type, hex, ...) { what, (xdrproc_t)xdr_##type, &(type)__VA_ARGS__, hex, get_##type, NULL }
#define HOT_RES(what, type, hex, ...)  { what, (xdrproc_t)xdr_##type, &(type)__VA_ARGS__, hex, NULL, put_##type }

static const struct golden rows[] = {
    HOT_ARGS("GETATTR call", GETATTR3args, FH_HEX, { FH }),
    HOT_RES("GETATTR reply", GETATTR3res, "00000000 " FATTR_HEX, { NFS3_OK, { .resok = { FATTR } } }),
    HOT_RES("GETATTR failed", GETATTR3res, "00000046", { NFS3ERR_STALE, { { { 0 } } } }),

    HOT_ARGS("SETATTR call, guarded", SETATTR3args, FH_HEX SATTR_HEX "00000001 " CTIME_HEX,
             { FH, SATTR, { TRUE, { CTIME } } }),
    HOT_ARGS("SETATTR call of nothing", SETATTR3args, FH_HEX KEEP_HEX "00000000", { FH, KEEP, { FALSE, { { 0 } } } }),
    HOT_RES("SETATTR reply", SETATTR3res, "00000000 " WCC_HEX, { NFS3_OK, { .resok = { WCC } } }),
    HOT_RES("SETATTR failed", SETATTR3res, "00002712 " NO_WCC_HEX, { NFS3ERR_NOT_SYNC, { .resfail = { NO_WCC } } }),

    HOT_ARGS("LOOKUP call", LOOKUP3args, FH_HEX NAME_HEX, { { FH, NAME } }),
    HOT_ARGS("LOOKUP call, NUL in the name", LOOKUP3args, FH_HEX "00000003 61006200", { { FH, { 3, "a\0b" } } }),
    HOT_RES("LOOKUP reply", LOOKUP3res, "00000000 " CHILD_HEX ATTR_HEX NO_ATTR_HEX,
            { NFS3_OK, { .resok = { CHILD, ATTR, NO_ATTR } } }),
    HOT_RES("LOOKUP failed", LOOKUP3res, "00000002 " ATTR_HEX, { NFS3ERR_NOENT, { .resfail = { ATTR } } }),

    HOT_ARGS("ACCESS call", ACCESS3args, FH_HEX "0000003f", { FH, 0x3f }),
    HOT_RES("ACCESS reply", ACCESS3res, "00000000 " ATTR_HEX "0000000d",
            { NFS3_OK, { .resok = { ATTR, ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND } } }),
    HOT_RES("ACCESS failed", ACCESS3res, "00002711 " NO_ATTR_HEX, { NFS3ERR_BADHANDLE, { .resfail = { NO_ATTR } } }),

    ROW("READLINK call", READLINK3args, FH_HEX, { FH }),
    ROW("READLINK reply", READLINK3res, "00000000 " ATTR_HEX "00000006 2f612f622f63 0000",
        { NFS3_OK, { .resok = { ATTR, { 6, "/a/b/c" } } } }),
    ROW("READLINK failed", READLINK3res, "00000016 " ATTR_HEX, { NFS3ERR_INVAL, { .resfail = { ATTR } } }),

    HOT_ARGS("READ call", READ3args, FH_HEX "00000001 00000000 00001000", { FH, 0x100000000, 4096 }),
    HOT_RES("READ reply", READ3res, "00000000 " ATTR_HEX "00000005 00000001 00000005 68656c6c6f 000000",
            { NFS3_OK, { .resok = { ATTR, 5, TRUE, { 5, "hello" } } } }),
    HOT_RES("READ reply, nothing left", READ3res, "00000000 " NO_ATTR_HEX "00000000 00000001 00000000",
            { NFS3_OK, { .resok = { NO_ATTR, 0, TRUE, { 0, NULL } } } }),
    HOT_RES("READ failed", READ3res, "0000000d " ATTR_HEX, { NFS3ERR_ACCES, { .resfail = { ATTR } } }),

    HOT_ARGS("WRITE call", WRITE3args, FH_HEX "00000000 00000400 00000005 00000001 00000005 68656c6c6f 000000",
             { FH, 1024, 5, DATA_SYNC, { 5, "hello" } }),
    HOT_RES("WRITE reply", WRITE3res, "00000000 " WCC_HEX "00000005 00000002 " VERF_HEX,
            { NFS3_OK, { .resok = { WCC, 5, FILE_SYNC, VERF } } }),
    HOT_RES("WRITE failed", WRITE3res, "0000001c " WCC_HEX, { NFS3ERR_NOSPC, { .resfail = { WCC } } }),

    HOT_ARGS("CREATE call, unchecked", CREATE3args, FH_HEX NAME_HEX "00000000 " SATTR_HEX,
             { { FH, NAME }, { UNCHECKED, { .obj_attributes = SATTR } } }),
    HOT_ARGS("CREATE call, guarded", CREATE3args, FH_HEX NAME_HEX "00000001 " KEEP_HEX,
             { { FH, NAME }, { GUARDED, { .obj_attributes = KEEP } } }),
    HOT_ARGS("CREATE call, exclusive", CREATE3args, FH_HEX NAME_HEX "00000002 " VERF_HEX,
             { { FH, NAME }, { EXCLUSIVE, { .verf = VERF } } }),
    HOT_RES("CREATE reply", CREATE3res, "00000000 " POST_FH_HEX ATTR_HEX WCC_HEX,
            { NFS3_OK, { .resok = { POST_FH, ATTR, WCC } } }),
    HOT_RES("CREATE reply without a handle", CREATE3res, "00000000 00000000 " NO_ATTR_HEX NO_WCC_HEX,
            { NFS3_OK, { .resok = { { FALSE, { { { 0, NULL } } } }, NO_ATTR, NO_WCC } } }),
    HOT_RES("CREATE failed", CREATE3res, "00000011 " WCC_HEX, { NFS3ERR_EXIST, { .resfail = { WCC } } }),

    ROW("MKDIR call", MKDIR3args, FH_HEX NAME_HEX SATTR_HEX, { { FH, NAME }, SATTR }),
    ROW("MKDIR reply", MKDIR3res, "00000000 " POST_FH_HEX ATTR_HEX WCC_HEX,
        { NFS3_OK, { .resok = { POST_FH, ATTR, WCC } } }),
    ROW("MKDIR failed", MKDIR3res, "0000003f " WCC_HEX, { NFS3ERR_NAMETOOLONG, { .resfail = { WCC } } }),

    ROW("SYMLINK call", SYMLINK3args, FH_HEX NAME_HEX KEEP_HEX "00000002 2e2e 0000",
        { { FH, NAME }, { KEEP, { 2, ".." } } }),
    ROW("SYMLINK reply", SYMLINK3res, "00000000 " POST_FH_HEX ATTR_HEX WCC_HEX,
        { NFS3_OK, { .resok = { POST_FH, ATTR, WCC } } }),
    ROW("SYMLINK failed", SYMLINK3res, "0000001e " WCC_HEX, { NFS3ERR_ROFS, { .resfail = { WCC } } }),

    ROW("MKNOD call, character device", MKNOD3args, FH_HEX NAME_HEX "00000004 " KEEP_HEX "00000001 00000003",
        { { FH, NAME }, { NF3CHR, { .device = { KEEP, { 1, 3 } } } } }),
    ROW("MKNOD call, block device", MKNOD3args, FH_HEX NAME_HEX "00000003 " SATTR_HEX "00000008 00000011",
        { { FH, NAME }, { NF3BLK, { .device = { SATTR, { 8, 17 } } } } }),
    ROW("MKNOD call, socket", MKNOD3args, FH_HEX NAME_HEX "00000006 " KEEP_HEX,
        { { FH, NAME }, { NF3SOCK, { .pipe_attributes = KEEP } } }),
    ROW("MKNOD call, FIFO", MKNOD3args, FH_HEX NAME_HEX "00000007 " SATTR_HEX,
        { { FH, NAME }, { NF3FIFO, { .pipe_attributes = SATTR } } }),
    ROW("MKNOD call, regular file", MKNOD3args, FH_HEX NAME_HEX "00000001",
        { { FH, NAME }, { NF3REG, { .pipe_attributes = KEEP } } }),
    ROW("MKNOD reply", MKNOD3res, "00000000 " POST_FH_HEX ATTR_HEX WCC_HEX,
        { NFS3_OK, { .resok = { POST_FH, ATTR, WCC } } }),
    ROW("MKNOD failed", MKNOD3res, "00002717 " NO_WCC_HEX, { NFS3ERR_BADTYPE, { .resfail = { NO_WCC } } }),

    HOT_ARGS("REMOVE call", REMOVE3args, FH_HEX NAME_HEX, { { FH, NAME } }),
    HOT_RES("REMOVE reply", REMOVE3res, "00000000 " WCC_HEX, { NFS3_OK, { .resok = { WCC } } }),
    HOT_RES("REMOVE failed", REMOVE3res, "00000015 " WCC_HEX, { NFS3ERR_ISDIR, { .resfail = { WCC } } }),

    ROW("RMDIR call", RMDIR3args, FH_HEX NAME_HEX, { { FH, NAME } }),
    ROW("RMDIR reply", RMDIR3res, "00000000 " WCC_HEX, { NFS3_OK, { .resok = { WCC } } }),
    ROW("RMDIR failed", RMDIR3res, "00000042 " WCC_HEX, { NFS3ERR_NOTEMPTY, { .resfail = { WCC } } }),

    ROW("RENAME call", RENAME3args, FH_HEX NAME_HEX CHILD_HEX "00000001 78 000000",
        { { FH, NAME }, { CHILD, { 1, "x" } } }),
    ROW("RENAME reply", RENAME3res, "00000000 " WCC_HEX NO_WCC_HEX, { NFS3_OK, { .resok = { WCC, NO_WCC } } }),
    ROW("RENAME failed", RENAME3res, "00000012 " NO_WCC_HEX WCC_HEX, { NFS3ERR_XDEV, { .resfail = { NO_WCC, WCC } } }),

    ROW("LINK call", LINK3args, CHILD_HEX FH_HEX NAME_HEX, { CHILD, { FH, NAME } }),
    ROW("LINK reply", LINK3res, "00000000 " ATTR_HEX WCC_HEX, { NFS3_OK, { .resok = { ATTR, WCC } } }),
    ROW("LINK failed", LINK3res, "0000001f " ATTR_HEX NO_WCC_HEX, { NFS3ERR_MLINK, { .resfail = { ATTR, NO_WCC } } }),

    HOT_ARGS("READDIR call", READDIR3args, FH_HEX "00000000 00000003 " VERF_HEX "00002000", { FH, 3, VERF, 8192 }),
    HOT_RES("READDIR reply of two", READDIR3res, "00000000 " ATTR_HEX VERF_HEX
            "00000001 00000000 00000002 00000001 2e 000000 00000000 00000001 "
            "00000001 00000000 00003039 " NAME_HEX "80000000 00000002 "
            "00000000 00000001",
            { NFS3_OK, { .resok = { ATTR, VERF, {
                &(entry3){ 2, { 1, "." }, 1, &(entry3){ 12345, NAME, 0x8000000000000002, NULL } }, TRUE } } } }),
    HOT_RES("READDIR reply of none, more to come", READDIR3res, "00000000 " NO_ATTR_HEX VERF_HEX "00000000 00000000",
            { NFS3_OK, { .resok = { NO_ATTR, VERF, { NULL, FALSE } } } }),
    HOT_RES("READDIR failed", READDIR3res, "00002713 " ATTR_HEX, { NFS3ERR_BAD_COOKIE, { .resfail = { ATTR } } }),

    HOT_ARGS("READDIRPLUS call", READDIRPLUS3args, FH_HEX "00000000 00000000 " "0000000000000000 " "00000200 00008000",
             { FH, 0, { 0 }, 512, 32768 }),
    HOT_RES("READDIRPLUS reply of two", READDIRPLUS3res, "00000000 " ATTR_HEX VERF_HEX
            "00000001 00000000 00003039 " NAME_HEX "00000000 00000001 " ATTR_HEX POST_FH_HEX
            "00000001 00000000 0000303a 00000002 2e2e 0000 00000000 00000002 00000000 00000000 "
            "00000000 00000000",
            { NFS3_OK, { .resok = { ATTR, VERF, {
                &(entryplus3){ 12345, NAME, 1, ATTR, POST_FH,
                    &(entryplus3){ 12346, { 2, ".." }, 2, NO_ATTR, { FALSE, { { { 0, NULL } } } }, NULL } },
                FALSE } } } }),
    HOT_RES("READDIRPLUS failed", READDIRPLUS3res, "00002715 " ATTR_HEX,
            { NFS3ERR_TOOSMALL, { .resfail = { ATTR } } }),

    ROW("FSSTAT call", FSSTAT3args, FH_HEX, { FH }),
    ROW("FSSTAT reply", FSSTAT3res, "00000000 " ATTR_HEX
        "00000010 00000000 00000008 00000000 00000004 00000000 "
        "00000000 00100000 00000000 00080000 00000000 00040000 0000001e",
        { NFS3_OK, { .resok = { ATTR, 0x1000000000, 0x800000000, 0x400000000, 0x100000, 0x80000, 0x40000, 30 } } }),
    ROW("FSSTAT failed", FSSTAT3res, "00000005 " NO_ATTR_HEX, { NFS3ERR_IO, { .resfail = { NO_ATTR } } }),

    ROW("FSINFO call", FSINFO3args, FH_HEX, { FH }),
    ROW("FSINFO reply", FSINFO3res, "00000000 " NO_ATTR_HEX
        "00100000 00080000 00001000 00200000 00040000 00000200 00010000 7fffffff ffffffff 00000000 00000001 0000001b",
        { NFS3_OK, { .resok = { NO_ATTR, 1 << 20, 512 << 10, 4096, 2 << 20, 256 << 10, 512, 64 << 10,
                                0x7fffffffffffffff, { 0, 1 },
                                FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME } } }),
    ROW("FSINFO failed", FSINFO3res, "00002716 " NO_ATTR_HEX, { NFS3ERR_SERVERFAULT, { .resfail = { NO_ATTR } } }),

    ROW("PATHCONF call", PATHCONF3args, FH_HEX, { FH }),
    ROW("PATHCONF reply", PATHCONF3res, "00000000 " ATTR_HEX "0000fde8 000000ff 00000001 00000001 00000000 00000001",
        { NFS3_OK, { .resok = { ATTR, 65000, 255, TRUE, TRUE, FALSE, TRUE } } }),
    ROW("PATHCONF failed", PATHCONF3res, "00002718 " NO_ATTR_HEX, { NFS3ERR_JUKEBOX, { .resfail = { NO_ATTR } } }),

    HOT_ARGS("COMMIT call", COMMIT3args, FH_HEX "00000000 00100000 00010000", { FH, 0x100000, 0x10000 }),
    HOT_RES("COMMIT reply", COMMIT3res, "00000000 " WCC_HEX VERF_HEX, { NFS3_OK, { .resok = { WCC, VERF } } }),
    HOT_RES("COMMIT failed", COMMIT3res, "00000045 " WCC_HEX, { NFS3ERR_DQUOT, { .resfail = { WCC } } }),

    ROW("GETACL call", GETACL3args, FH_HEX "00000005", { FH, NFS_ACL | NFS_DFACL }),
    ROW("GETACL reply", GETACL3res, "00000000 " ATTR_HEX ACL_HEX, { NFS3_OK, { .resok = { ATTR, ACL } } }),
    ROW("GETACL reply, a number alone", GETACL3res, "00000000 " NO_ATTR_HEX COUNT_HEX,
        { NFS3_OK, { .resok = { NO_ATTR, COUNT } } }),
    ROW("GETACL failed", GETACL3res, "00002714 " ATTR_HEX, { NFS3ERR_NOTSUPP, { .resfail = { ATTR } } }),
    ROW("SETACL call", SETACL3args, FH_HEX ACL_HEX, { FH, ACL }),
    ROW("SETACL reply", SETACL3res, "00000000 " ATTR_HEX, { NFS3_OK, { .resok = { ATTR } } }),
    ROW("SETACL failed", SETACL3res, "00000001 " ATTR_HEX, { NFS3ERR_PERM, { .resfail = { ATTR } } }),

    ROW("MOUNT MNT call, both versions", mount_dirpath, "00000007 2f6578706f7274 00", { 7, "/export" }),
    ROW("MOUNT v3 MNT reply", mountres3, "00000000 " FH_HEX "00000002 00000001 00000000",
        { MNT3_OK, { { { 4, "\xf0\x0d\xca\xfe" }, { 2, (int[]){ 1, 0 } } } } }),
    ROW("MOUNT v3 MNT failed", mountres3, "0000000d", { MNT3ERR_ACCES, { { { 0, NULL }, { 0, NULL } } } }),
    ROW("MOUNT DUMP reply of two", mountlist,
        "00000001 00000009 3139322e302e322e31 000000 00000002 2f61 0000 "
        "00000001 00000001 68 000000 00000001 2f 000000 00000000",
        { &(struct mountbody){ { 9, "192.0.2.1" }, { 2, "/a" },
            &(struct mountbody){ { 1, "h" }, { 1, "/" }, NULL } } }),
    ROW("MOUNT DUMP reply of none", mountlist, "00000000", { NULL }),
    ROW("MOUNT EXPORT reply of two", mount_exports,
        "00000001 00000002 2f61 0000 00000001 0000000c 3139322e302e322e302f3234 00000001 00000001 2a 000000 00000000 "
        "00000001 00000002 2f62 0000 00000000 00000000",
        { &(struct exportnode){ { 2, "/a" },
            &(struct groupnode){ { 12, "192.0.2.0/24" }, &(struct groupnode){ { 1, "*" }, NULL } },
            &(struct exportnode){ { 2, "/b" }, NULL, NULL } } }),
    ROW("MOUNT EXPORT reply of none", mount_exports, "00000000", { NULL }),
    ROW("MOUNT v1 MNT reply", fhstatus,
        "00000000 000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f",
        { 0, { "\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e"
               "\x1f" } }),
    ROW("MOUNT v1 MNT failed", fhstatus, "00000002", { 2, { { 0 } } }),
};
#define ROWS (sizeof(rows) / sizeof(*rows))

/* Room for any decoded value, and for any message. */
union value {
    max_align_t align;
    uint8_t bytes[1024];
};
#define MESSAGE_MAX 4096

static size_t
encode(const struct golden *row, void *value, uint8_t *out)
{
    XDR xdrs;

    xdrmem_create(&xdrs, (char *)out, MESSAGE_MAX, XDR_ENCODE);
    if (!row->codec(&xdrs, value))
        fail_msg("%s: does not encode", row->what);
    return xdr_getpos(&xdrs);
}

static void
values_encode_to_the_bytes_of_the_rfc(void **state)
{
    uint8_t want[MESSAGE_MAX], got[MESSAGE_MAX];
    size_t i, len;

    (void)state;
    for (i = 0; i < ROWS; i++) {
        len = bytes_from_hex(rows[i].hex, want, sizeof(want));
        bytes_assert_same(rows[i].what, got, encode(&rows[i], rows[i].value, got), want, len);
    }
}

static void
bytes_of_the_rfc_survive_decoding_and_encoding(void **state)
{
    uint8_t want[MESSAGE_MAX], got[MESSAGE_MAX];
    union value value;
    size_t i, len;
    XDR xdrs;

    (void)state;
    for (i = 0; i < ROWS; i++) {
        len = bytes_from_hex(rows[i].hex, want, sizeof(want));
        memset(&value, 0, sizeof(value));
        xdrmem_create(&xdrs, (char *)want, (u_int)len, XDR_DECODE);
        if (!rows[i].codec(&xdrs, &value))
            fail_msg("%s: does not decode", rows[i].what);
        assert_int_equal(xdr_getpos(&xdrs), len);
        bytes_assert_same(rows[i].what, got, encode(&rows[i], &value, got), want, len);
        xdr_free(rows[i].codec, &value);
    }
}

static void
calls_decoded_by_hand_are_those_of_the_rfc(void **state)
{
    uint8_t want[MESSAGE_MAX], got[MESSAGE_MAX];
    struct wire_in in;
    union value value;
    size_t i, len;

    (void)state;
    for (i = 0; i < ROWS; i++) {
        if (rows[i].get == NULL)
            continue;
        len = bytes_from_hex(rows[i].hex, want, sizeof(want));
        memset(&value, 0, sizeof(value));
        in = (struct wire_in){ want, want + len, false };
        if (!rows[i].get(&in, &value))
            fail_msg("%s: does not decode by hand", rows[i].what);
        assert_int_equal(wire_left(&in), 0);
        bytes_assert_same(rows[i].what, got, encode(&rows[i], &value, got), want, len);
    }
}

static void
replies_encoded_by_hand_are_those_of_the_rfc(void **state)
{
    uint8_t want[MESSAGE_MAX], got[MESSAGE_MAX];
    struct wire_out out;
    size_t i, len;

    (void)state;
    for (i = 0; i < ROWS; i++) {
        if (rows[i].put == NULL)
            continue;
        len = bytes_from_hex(rows[i].hex, want, sizeof(want));
        out = (struct wire_out){ got, got + sizeof(got), false };
        rows[i].put(&out, rows[i].value);
        assert_false(out.full);
        bytes_assert_same(rows[i].what, got, (size_t)(out.p - got), want, len);
    }
}

static void
numbers_of_programs_and_procedures_are_those_of_the_rfcs(void **state)
{
    (void)state;
    assert_int_equal(NFS_PROGRAM, 100003);
    assert_int_equal(NFS_V3, 3);
    assert_int_equal(NFSPROC3_NULL, 0);
    assert_int_equal(NFSPROC3_GETATTR, 1);
    assert_int_equal(NFSPROC3_SETATTR, 2);
    assert_int_equal(NFSPROC3_LOOKUP, 3);
    assert_int_equal(NFSPROC3_ACCESS, 4);
    assert_int_equal(NFSPROC3_READLINK, 5);
    assert_int_equal(NFSPROC3_READ, 6);
    assert_int_equal(NFSPROC3_WRITE, 7);
    assert_int_equal(NFSPROC3_CREATE, 8);
    assert_int_equal(NFSPROC3_MKDIR, 9);
    assert_int_equal(NFSPROC3_SYMLINK, 10);
    assert_int_equal(NFSPROC3_MKNOD, 11);
    assert_int_equal(NFSPROC3_REMOVE, 12);
    assert_int_equal(NFSPROC3_RMDIR, 13);
    assert_int_equal(NFSPROC3_RENAME, 14);
    assert_int_equal(NFSPROC3_LINK, 15);
    assert_int_equal(NFSPROC3_READDIR, 16);
    assert_int_equal(NFSPROC3_READDIRPLUS, 17);
    assert_int_equal(NFSPROC3_FSSTAT, 18);
    assert_int_equal(NFSPROC3_FSINFO, 19);
    assert_int_equal(NFSPROC3_PATHCONF, 20);
    assert_int_equal(NFSPROC3_COMMIT, 21);
    assert_int_equal(MOUNT_PROGRAM, 100005);
    assert_int_equal(MOUNT_V1, 1);
    assert_int_equal(MOUNT_V3, 3);
    assert_int_equal(MOUNTPROC3_MNT, 1);
    assert_int_equal(MOUNTPROC3_DUMP, 2);
    assert_int_equal(MOUNTPROC3_UMNT, 3);
    assert_int_equal(MOUNTPROC3_UMNTALL, 4);
    assert_int_equal(MOUNTPROC3_EXPORT, 5);
    assert_int_equal(NFS_ACL_PROGRAM, 100227);
    assert_int_equal(NFS_ACL_V3, 3);
    assert_int_equal(ACLPROC3_NULL, 0);
    assert_int_equal(ACLPROC3_GETACL, 1);
    assert_int_equal(ACLPROC3_SETACL, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_encode_to_the_bytes_of_the_rfc),
        cmocka_unit_test(bytes_of_the_rfc_survive_decoding_and_encoding),
        cmocka_unit_test(calls_decoded_by_hand_are_those_of_the_rfc),
        cmocka_unit_test(replies_encoded_by_hand_are_those_of_the_rfc),
        cmocka_unit_test(numbers_of_programs_and_procedures_are_those_of_the_rfcs),
    };

    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
