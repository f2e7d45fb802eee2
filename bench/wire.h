/*
 * bench/wire.h - the parts of XDR (RFC 4506), RPC (RFC 5531) and NFSv3 (RFC 1813) that nfsload and nfsceiling share.
 *
 * By hand, and not with the server's own xdr/: a mistake there must not be made twice and go unseen.
 */
#ifndef RINGNFS_BENCH_WIRE_H
#define RINGNFS_BENCH_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RPC_CALL = 0, RPC_REPLY = 1, RPC_VERSION = 2 };
enum { AUTH_NONE = 0, AUTH_SYS = 1 };
enum { PMAP_PROG = 100000, NFS_PROG = 100003, MOUNT_PROG = 100005 };
enum { PMAP_GETPORT = 3 };
enum { MOUNT_NULL = 0, MOUNT_MNT = 1, MOUNT_UMNT = 3 };

#define LAST_FRAGMENT 0x80000000u

enum nfs_proc {
    P_NULL, P_GETATTR, P_SETATTR, P_LOOKUP, P_ACCESS, P_READLINK, P_READ, P_WRITE, P_CREATE, P_MKDIR, P_SYMLINK, P_MKNOD,
    P_REMOVE, P_RMDIR, P_RENAME, P_LINK, P_READDIR, P_READDIRPLUS, P_FSSTAT, P_FSINFO, P_PATHCONF, P_COMMIT, P_COUNT
};

enum { NF3REG = 1, NF3DIR = 2, NF3LNK = 5 };
enum { UNSTABLE = 0, DATA_SYNC = 1, FILE_SYNC = 2 };
enum {
    NFS3_OK = 0,
    NFS3ERR_NOENT = 2,
    NFS3ERR_IO = 5,
    NFS3ERR_EXIST = 17,
    NFS3ERR_NOTDIR = 20,
    NFS3ERR_INVAL = 22,
    NFS3ERR_FBIG = 27,
    NFS3ERR_STALE = 70,
    NFS3ERR_NOTSUPP = 10004
};

#define FHMAX 64
#define FATTR_SIZE 84

struct fh {
    uint32_t len;
    uint8_t data[FHMAX];
};

static inline size_t
pad4(size_t n)
{
    return (4 - (n & 3)) & 3;
}

/* Encoding: each function stores a value and returns the next position. */

static inline uint8_t *
put32(uint8_t *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, 4);
    return p + 4;
}

static inline uint8_t *
put64(uint8_t *p, uint64_t v)
{
    v = htobe64(v);
    memcpy(p, &v, 8);
    return p + 8;
}

static inline uint8_t *
put_opaque(uint8_t *p, const void *data, uint32_t len)
{
    p = put32(p, len);
    memcpy(p, data, len);
    memset(p + len, 0, pad4(len));
    return p + len + pad4(len);
}

static inline uint8_t *
put_str(uint8_t *p, const char *s)
{
    return put_opaque(p, s, (uint32_t)strlen(s));
}

static inline uint8_t *
put_fh(uint8_t *p, const struct fh *fh)
{
    return put_opaque(p, fh->data, fh->len);
}

/* Decoding: reading past the end sets bad and yields zeros. */

struct in {
    const uint8_t *p, *end;
    bool bad;
};

static inline const uint8_t *
get_bytes(struct in *in, size_t n)
{
    const uint8_t *p = in->p;

    if ((size_t)(in->end - in->p) < n) {
        in->bad = true;
        return NULL;
    }
    in->p += n;
    return p;
}

static inline uint32_t
get32(struct in *in)
{
    const uint8_t *p = get_bytes(in, 4);
    uint32_t v = 0;

    if (p)
        memcpy(&v, p, 4);
    return be32toh(v);
}

static inline uint64_t
get64(struct in *in)
{
    const uint8_t *p = get_bytes(in, 8);
    uint64_t v = 0;

    if (p)
        memcpy(&v, p, 8);
    return be64toh(v);
}

/* A counted opaque of at most max bytes; the result points into the input. */
static inline const uint8_t *
get_opaque(struct in *in, uint32_t max, uint32_t *len)
{
    const uint8_t *p;

    *len = get32(in);
    if (in->bad || *len > max) {
        in->bad = true;
        *len = 0;
        return NULL;
    }
    p = get_bytes(in, *len + pad4(*len));
    if (!p)
        *len = 0;
    return p;
}

static inline bool
get_fh(struct in *in, struct fh *fh)
{
    uint32_t len;
    const uint8_t *p = get_opaque(in, FHMAX, &len);

    if (!p)
        return false;
    fh->len = len;
    memcpy(fh->data, p, len);
    return true;
}

static inline bool
fh_equal(const struct fh *a, const struct fh *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

#endif
