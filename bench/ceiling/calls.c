/* bench/ceiling/calls.c - the procedures of NFS and MOUNT that nfsload calls. */
#include "bench/ceiling/ceiling.h"

#include <errno.h>
#include <unistd.h>

uint8_t *
put_reply(uint8_t *p, uint32_t xid)
{
    p = put32(p, xid);
    p = put32(p, RPC_REPLY);
    memset(p, 0, 16); /* accepted, no verifier, success */
    return p + 16;
}

static uint8_t *
put_attr(uint8_t *p, uint32_t i)
{
    const struct node *n = &nodes[i];

    p = put32(p, n->type);
    p = put32(p, n->type == NF3DIR ? 0755 : 0644);
    p = put32(p, 1);
    p = put32(p, 0);
    p = put32(p, 0);
    p = put64(p, ceiling.lie == LIE_SIZE && n->size > 0 ? n->size + 1 : n->size);
    p = put64(p, (n->size + 4095) & ~4095ull);
    p = put64(p, 0);
    p = put64(p, 1);
    p = put64(p, i + 1000);
    p = put64(p, n->mtime << 32);
    p = put64(p, n->mtime << 32);
    return put64(p, n->mtime << 32);
}

static uint8_t *
put_post(uint8_t *p, uint32_t i)
{
    return put_attr(put32(p, 1), i);
}

static uint8_t *
put_wcc(uint8_t *p, uint32_t i)
{
    p = put32(p, 1);
    p = put64(p, nodes[i].size);
    p = put64(p, nodes[i].mtime << 32);
    p = put64(p, nodes[i].mtime << 32);
    return put_post(p, i);
}

static uint8_t *
put_handle(uint8_t *p, uint32_t i)
{
    p = put32(p, 16);
    p = put64(p, 0x6365696c696e67u);
    return put64(p, i);
}

bool
get_node(struct in *in, uint32_t *i)
{
    struct fh fh;
    uint64_t v;

    if (!get_fh(in, &fh) || fh.len != 16)
        return false;
    memcpy(&v, fh.data + 8, 8);
    v = be64toh(v);
    *i = (uint32_t)v;
    return v < nnodes && nodes[v].used;
}

static bool
get_name(struct in *in, const uint8_t **name, uint32_t *len)
{
    *name = get_opaque(in, 255, len);
    return *name && *len < sizeof(nodes->name);
}

/* A name in a directory: what has it, or what is wrong. */
static uint32_t
get_entry(struct in *in, uint32_t dir, uint32_t *i)
{
    const uint8_t *name;
    uint32_t len;

    if (!get_name(in, &name, &len))
        return NFS3ERR_INVAL;
    *i = find(dir, name, len);
    return *i ? NFS3_OK : NFS3ERR_NOENT;
}

static uint8_t *
do_lookup(struct in *in, uint8_t *p, uint32_t dir)
{
    uint32_t i, status = get_entry(in, dir, &i);

    if (status != NFS3_OK)
        return put_post(put32(p, status), dir);
    p = put_handle(put32(p, NFS3_OK), i);
    return put_post(put_post(p, i), dir);
}

static void
skip_sattr(struct in *in)
{
    int i;

    for (i = 0; i < 3; i++)
        if (get32(in))
            get32(in);
    if (get32(in))
        get64(in);
    for (i = 0; i < 2; i++)
        if (get32(in) == 2)
            get64(in);
}

/* Only the size is of interest: for sparse files. */
static uint8_t *
do_setattr(struct in *in, uint8_t *p, uint32_t i)
{
    for (int k = 0; k < 3; k++)         /* mode, uid, gid */
        if (get32(in))
            get32(in);
    if (get32(in) && !set_size(i, get64(in)))
        return put_wcc(put32(p, NFS3ERR_FBIG), i);
    return put_wcc(put32(p, NFS3_OK), i);
}

static uint8_t *
do_make(struct in *in, uint8_t *p, uint32_t dir, uint32_t type)
{
    const uint8_t *name, *target = NULL;
    uint32_t len, tlen = 0, i;

    if (!get_name(in, &name, &len))
        return put32(p, NFS3ERR_INVAL);
    if (type == NF3LNK) {
        skip_sattr(in);
        target = get_opaque(in, sizeof(nodes->target) - 1, &tlen);
        if (!target)
            return put32(p, NFS3ERR_INVAL);
    }
    i = find(dir, name, len);
    if (!i) {
        i = new_node(type);
        link_node(i, dir, name, len);
    }
    if (target)
        memcpy(nodes[i].target, target, tlen);
    p = put32(put32(p, NFS3_OK), 1);
    p = put_post(put_handle(p, i), i);
    return put_wcc(p, dir);
}

static uint8_t *
do_remove(struct in *in, uint8_t *p, uint32_t dir)
{
    uint32_t i, status = get_entry(in, dir, &i);

    if (status != NFS3_OK)
        return put_wcc(put32(p, status), dir);
    unlink_node(i);
    drop_node(i);
    return put_wcc(put32(p, NFS3_OK), dir);
}

static uint8_t *
do_rename(struct in *in, uint8_t *p, uint32_t from)
{
    const uint8_t *a, *b;
    uint32_t alen, blen, to, i;

    if (!get_name(in, &a, &alen) || !get_node(in, &to) || !get_name(in, &b, &blen))
        return put32(p, NFS3ERR_INVAL);
    i = find(from, a, alen);
    if (!i)
        return put_wcc(put_wcc(put32(p, NFS3ERR_NOENT), from), to);
    unlink_node(i);
    link_node(i, to, b, blen);
    return put_wcc(put_wcc(put32(p, NFS3_OK), from), to);
}

static uint8_t *
put_entry(uint8_t *p, uint32_t i, const char *name, uint64_t cookie, bool plus)
{
    p = put32(p, 1);
    p = put64(p, i + 1000);
    p = put_str(p, name);
    p = put64(p, cookie);
    if (!plus)
        return p;
    p = put_post(p, i);
    return put_handle(put32(p, 1), i);
}

static uint8_t *
do_readdir(struct in *in, uint8_t *p, uint32_t dir, bool plus)
{
    uint64_t cookie = get64(in);
    uint8_t *end;
    uint32_t max, k;

    get_bytes(in, 8);
    max = get32(in);
    if (plus)
        max = get32(in);
    if (max > REPLY_MAX / 2)
        max = REPLY_MAX / 2;
    end = p + max - 300;
    p = put_post(put32(p, NFS3_OK), dir);
    p = put64(p, 1);
    if (cookie == 0)
        p = put_entry(p, dir, ".", ++cookie, plus);
    if (cookie == 1)
        p = put_entry(p, nodes[dir].parent, "..", ++cookie, plus);
    for (k = (uint32_t)cookie - 2; k < nodes[dir].nslots; k++) {
        uint32_t i = nodes[dir].children[k];

        if (!i || (ceiling.lie == LIE_ENTRY && k % 7 == 6))
            continue;
        if (p > end)
            return put32(put32(p, 0), 0);
        p = put_entry(p, i, nodes[i].name, k + 3, plus);
    }
    return put32(put32(p, 0), 1);
}

static uint8_t *
do_fsstat(uint8_t *p, uint32_t i)
{
    int k;

    p = put_post(put32(p, NFS3_OK), i);
    for (k = 0; k < 6; k++)
        p = put64(p, 1 << 30);
    return put32(p, 0);
}

static uint8_t *
do_fsinfo(uint8_t *p, uint32_t i)
{
    int k;

    p = put_post(put32(p, NFS3_OK), i);
    for (k = 0; k < 2; k++) {
        p = put32(p, ceiling.iomax);
        p = put32(p, ceiling.iomax);
        p = put32(p, 4096);
    }
    p = put32(p, 65536);
    p = put64(p, FILE_MAX);
    p = put64(p, 1);
    return put32(p, 0x1b);
}

uint8_t *
put_written(uint8_t *p, uint32_t i, uint32_t count, uint32_t how)
{
    p = put_wcc(put32(p, NFS3_OK), i);
    p = put32(p, ceiling.lie == LIE_COUNT && count > 0 ? count - 1 : count);
    p = put32(p, ceiling.lie == LIE_UNSTABLE ? UNSTABLE : how);
    return put64(p, 1);
}

/* A WRITE call that is complete in memory. */
static uint8_t *
do_write(struct in *in, uint8_t *p, uint32_t i)
{
    uint64_t off = get64(in);
    uint32_t count, how, len;
    const uint8_t *data;

    count = get32(in);
    how = get32(in);
    data = get_opaque(in, ceiling.iomax, &len);
    if (!data || len != count)
        return put32(p, NFS3ERR_INVAL);
    store(i, off, data, len);
    return put_written(p, i, len, how);
}

uint8_t *
put_read_head(uint8_t *p, uint32_t i, uint64_t off, uint32_t count)
{
    p = put_post(put32(p, NFS3_OK), i);
    p = put32(p, count);
    p = put32(p, off + count >= nodes[i].size);
    return put32(p, count);
}

uint32_t
clip(uint32_t i, uint64_t off, uint32_t count)
{
    uint64_t left = off < nodes[i].size ? nodes[i].size - off : 0;

    if (count > ceiling.iomax)
        count = ceiling.iomax;
    return left < count ? (uint32_t)left : count;
}

static uint8_t *
read_inline(uint8_t *p, uint32_t i, uint64_t off, uint32_t count)
{
    p = put_read_head(p, i, off, count);
    if (count && pread(ceiling.backing, p, count, data_at(i, off)) != (ssize_t)count)
        die("pread: %s", strerror(errno));
    memset(p + count, 0, 4);
    return p + count + pad4(count);
}

static uint8_t *
mount_call(uint32_t proc, uint8_t *p)
{
    if (proc != MOUNT_MNT)
        return p;
    p = put_handle(put32(p, 0), 0);
    p = put32(p, 1);
    return put32(p, AUTH_SYS);
}

/* Every procedure but READ on a stream; results are appended at p. */
static uint8_t *
nfs_call(uint32_t proc, struct in *in, uint8_t *p)
{
    uint32_t i = 0, count;
    uint64_t off;

    if (proc == P_NULL)
        return p;
    if (!get_node(in, &i))
        return put32(p, NFS3ERR_STALE);
    switch (proc) {
    case P_GETATTR:
        if (ceiling.lie == LIE_STATUS)
            return put32(p, NFS3ERR_IO);
        return put_attr(put32(p, NFS3_OK), i);
    case P_SETATTR:
        return do_setattr(in, p, i);
    case P_LOOKUP:
        return do_lookup(in, p, i);
    case P_ACCESS:
        return put32(put_post(put32(p, NFS3_OK), i), get32(in));
    case P_READLINK:
        return put_str(put_post(put32(p, NFS3_OK), i), nodes[i].target);
    case P_READ:
        off = get64(in);
        count = clip(i, off, get32(in));
        if (count > REPLY_MAX / 2)
            count = REPLY_MAX / 2;
        return read_inline(p, i, off, count);
    case P_WRITE:
        return do_write(in, p, i);
    case P_CREATE:
        return do_make(in, p, i, NF3REG);
    case P_MKDIR:
        return do_make(in, p, i, NF3DIR);
    case P_SYMLINK:
        return do_make(in, p, i, NF3LNK);
    case P_REMOVE:
    case P_RMDIR:
        return do_remove(in, p, i);
    case P_RENAME:
        return do_rename(in, p, i);
    case P_READDIR:
    case P_READDIRPLUS:
        return do_readdir(in, p, i, proc == P_READDIRPLUS);
    case P_FSSTAT:
        return do_fsstat(p, i);
    case P_FSINFO:
        return do_fsinfo(p, i);
    case P_COMMIT:
        return put64(put_wcc(put32(p, NFS3_OK), i), 1);
    }
    return put32(p, NFS3ERR_INVAL);
}

bool
get_call(struct in *in, struct call *c)
{
    uint32_t len;

    c->xid = get32(in);
    get32(in);
    get32(in);
    c->prog = get32(in);
    get32(in);
    c->proc = get32(in);
    get32(in);
    get_opaque(in, 400, &len);
    get32(in);
    get_opaque(in, 400, &len);
    return !in->bad;
}

uint8_t *
answer(struct call *call, struct in *in, uint8_t *p)
{
    p = put_reply(p, call->xid);
    if (call->prog == MOUNT_PROG)
        return mount_call(call->proc, p);
    return nfs_call(call->proc, in, p);
}
