/* bench/load/checks.c - parts of replies, and what must be in them. */
#include "bench/load/load.h"

void
get_fattr(struct in *in, struct attr *a)
{
    a->present = true;
    a->type = get32(in);
    get_bytes(in, 16);                  /* mode, nlink, uid, gid */
    a->size = get64(in);
    get_bytes(in, 24);
    a->fileid = get64(in);
    get_bytes(in, 24);
    if (a->type < 1 || a->type > 7)
        in->bad = true;
}

void
get_post_attr(struct in *in, struct attr *a)
{
    a->present = false;
    switch (get32(in)) {
    case 0:
        break;
    case 1:
        get_fattr(in, a);
        break;
    default:
        in->bad = true;
    }
}

static void
skip_wcc(struct in *in)
{
    struct attr a;

    switch (get32(in)) {
    case 0:
        break;
    case 1:
        get_bytes(in, 24);
        break;
    default:
        in->bad = true;
    }
    get_post_attr(in, &a);
}

/* The accepted-reply header; false unless the call was executed. */
bool
get_reply_header(struct in *in)
{
    uint32_t len;

    get32(in);
    if (get32(in) != RPC_REPLY || get32(in) != 0)
        return false;
    get32(in);
    get_opaque(in, 400, &len);
    return get32(in) == 0 && !in->bad;
}

void
check_attr(struct slot *s, struct reply *r, uint32_t type, struct file *f)
{
    struct attr a = { 0 };

    get_fattr(&r->in, &a);
    check(s, !r->in.bad && a.type == type, "bad attributes");
    if (f)
        check(s, a.size == f->size && a.fileid == f->fileid, "wrong size or fileid");
}

void
check_lookup(struct slot *s, struct reply *r, struct file *f)
{
    struct fh fh;
    struct attr a;

    if (!check(s, get_fh(&r->in, &fh), "no file handle"))
        return;
    check(s, fh_equal(&fh, &f->fh), "another file handle than at creation");
    get_post_attr(&r->in, &a);
    check(s, !r->in.bad, "bad reply");
    if (a.present)
        check(s, a.fileid == f->fileid, "wrong fileid");
}

void
check_access(struct slot *s, struct reply *r)
{
    struct attr a;
    uint32_t bits;

    get_post_attr(&r->in, &a);
    bits = get32(&r->in);
    check(s, !r->in.bad && (bits & 1), "READ access denied");
}

static void
check_verf(struct slot *s, struct reply *r)
{
    const uint8_t *v = get_bytes(&r->in, 8);

    if (!check(s, v != NULL, "bad reply"))
        return;
    if (load.have_writeverf)
        check(s, memcmp(v, load.writeverf, 8) == 0, "the write verifier changed");
    memcpy(load.writeverf, v, 8);
    load.have_writeverf = true;
}

void
check_write(struct slot *s, struct reply *r, uint32_t stable)
{
    uint32_t count, how;

    skip_wcc(&r->in);
    count = get32(&r->in);
    how = get32(&r->in);
    check(s, count == s->len, "short count");
    check(s, how >= stable && how <= FILE_SYNC, "less stable than asked");
    check_verf(s, r);
}

void
check_commit(struct slot *s, struct reply *r)
{
    skip_wcc(&r->in);
    check_verf(s, r);
}

void
check_wcc(struct slot *s, struct reply *r)
{
    skip_wcc(&r->in);
    check(s, !r->in.bad, "bad reply");
}

/* CREATE, MKDIR, SYMLINK: false when the reply leaves out the handle. */
bool
take_created(struct slot *s, struct reply *r, struct fh *fh, struct attr *a)
{
    bool has = get32(&r->in) == 1;

    if (has)
        get_fh(&r->in, fh);
    get_post_attr(&r->in, a);
    skip_wcc(&r->in);
    check(s, !r->in.bad, "bad reply");
    return has && !r->in.bad;
}

void
check_created(struct slot *s, struct reply *r, uint32_t type)
{
    struct fh fh;
    struct attr a;

    take_created(s, r, &fh, &a);
    if (a.present)
        check(s, a.type == type, "wrong type");
}

void
check_readlink(struct slot *s, struct reply *r, const char *want)
{
    struct attr a;
    const uint8_t *p;
    uint32_t len;

    get_post_attr(&r->in, &a);
    p = get_opaque(&r->in, 1024, &len);
    check(s, p && len == strlen(want) && !memcmp(p, want, len), "wrong target");
}
