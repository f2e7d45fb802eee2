/* server/nfs3_procs.c - the table of the NFSv3 procedures (RFC 1813 section 3.3): one row adds one. */
#include "server/nfs3_procs.h"

#define DECODER(PROC, member) \
    static bool \
    decode_##member(struct wire_in *in, union nfs3_args *args) \
    { \
        return bulk_get_##PROC##3args(in, &args->member); \
    }
#define HOT_CODECS(PROC, member) \
    DECODER(PROC, member) \
    static void \
    encode_##member(struct wire_out *out, const union nfs3_res *res) \
    { \
        bulk_put_##PROC##3res(out, &res->member); \
    }
#define RARE_CODECS(PROC, member) \
    DECODER(PROC, member) \
    static bool_t \
    xdr_res_##member(XDR *xdrs, union nfs3_res *res) \
    { \
        return xdr_##PROC##3res(xdrs, &res->member); \
    }

HOT_CODECS(GETATTR, getattr)
HOT_CODECS(SETATTR, setattr)
HOT_CODECS(LOOKUP, lookup)
HOT_CODECS(ACCESS, access)
HOT_CODECS(READ, read)
HOT_CODECS(WRITE, write)
HOT_CODECS(CREATE, create)
HOT_CODECS(REMOVE, remove)
HOT_CODECS(READDIR, readdir)
HOT_CODECS(READDIRPLUS, readdirplus)
HOT_CODECS(COMMIT, commit)
RARE_CODECS(READLINK, readlink)
RARE_CODECS(MKDIR, mkdir)
RARE_CODECS(SYMLINK, symlink)
RARE_CODECS(MKNOD, mknod)
RARE_CODECS(RMDIR, rmdir)
RARE_CODECS(RENAME, rename)
RARE_CODECS(LINK, link)
RARE_CODECS(FSSTAT, fsstat)
RARE_CODECS(FSINFO, fsinfo)
RARE_CODECS(PATHCONF, pathconf)

static const nfs_fh3 *
rename_second(const union nfs3_args *args)
{
    return &args->rename.to.dir;
}

static const nfs_fh3 *
link_second(const union nfs3_args *args)
{
    return &args->link.link.dir;
}

#define HOT(member) .decode = decode_##member, .encode = encode_##member, STEPS(member)
#define RARE(member) .decode = decode_##member, .xdr_res = xdr_res_##member, STEPS(member)
#define STEPS(member) .begin = nfs3_##member##_begin, .finish = nfs3_##member##_finish
#define FAIL(member) .fail = nfs3_##member##_fail, .reply_bytes = BULK_REPLY_MAX

/* Nothing refers to a row by its place but the number of its procedure. */
static const struct nfs3_proc nfs3_procs[NFS3_PROCS] = {
    [NFSPROC3_NULL]        = { .name = "NULL" },
    [NFSPROC3_GETATTR]     = { "GETATTR", HOT(getattr), .reply_bytes = BULK_REPLY_MAX, .needs = RIGHT_READ,
                               .mounting = true },
    [NFSPROC3_SETATTR]     = { "SETATTR", HOT(setattr), FAIL(setattr), .needs = RIGHT_WRITE, .replay = true },
    [NFSPROC3_LOOKUP]      = { "LOOKUP", HOT(lookup), FAIL(lookup), .needs = RIGHT_READ, .named = true },
    [NFSPROC3_ACCESS]      = { "ACCESS", HOT(access), FAIL(access), .needs = RIGHT_READ },
    [NFSPROC3_READLINK]    = { "READLINK", RARE(readlink), FAIL(readlink), .needs = RIGHT_READ },
    [NFSPROC3_READ]        = { "READ", HOT(read), FAIL(read), .payload = nfs3_read_payload, .needs = RIGHT_READ },
    [NFSPROC3_WRITE]       = { "WRITE", HOT(write), FAIL(write), .payload = nfs3_write_payload, .payload_in = true,
                               .needs = RIGHT_WRITE, .replay = true },
    [NFSPROC3_CREATE]      = { "CREATE", HOT(create), FAIL(create), .needs = RIGHT_WRITE, .named = true,
                               .replay = true },
    [NFSPROC3_MKDIR]       = { "MKDIR", RARE(mkdir), FAIL(mkdir), .needs = RIGHT_WRITE, .named = true, .replay = true },
    [NFSPROC3_SYMLINK]     = { "SYMLINK", RARE(symlink), FAIL(symlink), .needs = RIGHT_WRITE, .named = true,
                               .replay = true },
    [NFSPROC3_MKNOD]       = { "MKNOD", RARE(mknod), FAIL(mknod), .needs = RIGHT_WRITE, .named = true, .replay = true },
    [NFSPROC3_REMOVE]      = { "REMOVE", HOT(remove), FAIL(remove), .needs = RIGHT_WRITE, .named = true,
                               .replay = true },
    [NFSPROC3_RMDIR]       = { "RMDIR", RARE(rmdir), FAIL(rmdir), .needs = RIGHT_WRITE, .named = true, .replay = true },
    [NFSPROC3_RENAME]      = { "RENAME", RARE(rename), FAIL(rename), .needs = RIGHT_WRITE, .second = rename_second,
                               .named = true, .replay = true },
    [NFSPROC3_LINK]        = { "LINK", RARE(link), FAIL(link), .needs = RIGHT_WRITE, .second = link_second,
                               .named = true, .replay = true },
    [NFSPROC3_READDIR]     = { "READDIR", HOT(readdir), FAIL(readdir), .needs = RIGHT_READ },
    [NFSPROC3_READDIRPLUS] = { "READDIRPLUS", HOT(readdirplus), FAIL(readdirplus), .needs = RIGHT_READ },
    [NFSPROC3_FSSTAT]      = { "FSSTAT", RARE(fsstat), FAIL(fsstat), .needs = RIGHT_READ },
    [NFSPROC3_FSINFO]      = { "FSINFO", RARE(fsinfo), FAIL(fsinfo), .needs = RIGHT_READ, .mounting = true },
    [NFSPROC3_PATHCONF]    = { "PATHCONF", RARE(pathconf), FAIL(pathconf), .needs = RIGHT_READ },
    [NFSPROC3_COMMIT]      = { "COMMIT", HOT(commit), FAIL(commit), .needs = RIGHT_READ },
};

const struct nfs3_proc *
nfs3_proc(uint32_t number)
{
    return number < NFS3_PROCS ? &nfs3_procs[number] : NULL;
}
