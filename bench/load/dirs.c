/* bench/load/dirs.c - workloads: whole directories, each entry exactly once. */
#include "bench/load/load.h"

static void
dir_setup(void)
{
    make_files(10000, 0);
}

static void
dir_start(struct slot *s)
{
    if (!s->seen)
        s->seen = xcalloc(load.nfiles + 2, 1);
    memset(s->seen, 0, load.nfiles + 2);
    memset(s->cookieverf, 0, 8);
    s->cookie = s->entries = 0;
}

static void
readdir_next(struct slot *s)
{
    if (s->step == 0)
        dir_start(s);
    call_readdir(s, false);
}

static void
readdirplus_next(struct slot *s)
{
    if (s->step == 0)
        dir_start(s);
    call_readdir(s, true);
}

/* Position of a name in the seen table, -1 for a foreign name. */
static int64_t
entry_index(const uint8_t *name, uint32_t len)
{
    uint64_t v = 0;
    uint32_t i;

    if (len == 1 && name[0] == '.')
        return load.nfiles;
    if (len == 2 && name[0] == '.' && name[1] == '.')
        return (int64_t)load.nfiles + 1;
    if (len != 8 || name[0] != 'f')
        return -1;
    for (i = 1; i < len; i++)
        v = v * 10 + (uint64_t)(name[i] - '0');
    return v < load.nfiles ? (int64_t)v : -1;
}

static void
entry_plus(struct slot *s, struct in *in, int64_t i)
{
    struct attr a;
    struct fh fh;
    struct file *f = i < (int64_t)load.nfiles ? &load.files[i] : NULL;

    get_post_attr(in, &a);
    if (a.present && f)
        check(s, a.fileid == f->fileid, "entry with wrong fileid");
    if (get32(in) == 1 && get_fh(in, &fh) && f)
        check(s, fh_equal(&fh, &f->fh), "entry with wrong handle");
}

static bool
one_entry(struct slot *s, struct in *in)
{
    uint32_t len;
    const uint8_t *name;
    uint64_t fileid = get64(in);
    int64_t i;

    name = get_opaque(in, 255, &len);
    s->cookie = get64(in);
    if (!check(s, !in->bad, "bad entry"))
        return false;
    i = entry_index(name, len);
    if (!check(s, i >= 0, "foreign entry"))
        return false;
    check(s, !s->seen[i], "entry seen twice");
    s->seen[i] = 1;
    if (i < (int64_t)load.nfiles) {
        s->entries++;
        check(s, fileid == load.files[i].fileid, "wrong fileid");
    }
    if (s->proc == P_READDIRPLUS)
        entry_plus(s, in, i);
    return !in->bad;
}

static void
readdir_done(struct slot *s, struct reply *r)
{
    struct attr a;
    const uint8_t *v;
    bool eof;

    s->step = 1;
    get_post_attr(&r->in, &a);
    v = get_bytes(&r->in, 8);
    if (!check(s, v != NULL, "bad reply")) {
        finish_task(s);
        return;
    }
    memcpy(s->cookieverf, v, 8);
    while (get32(&r->in) == 1) {
        if (!one_entry(s, &r->in)) {
            finish_task(s);
            return;
        }
        if (load.measuring)
            stats.entries++;
    }
    eof = get32(&r->in);
    if (!check(s, !r->in.bad && r->in.p == r->in.end, "bad length"))
        eof = true;
    if (eof) {
        check(s, s->entries == load.nfiles, "entries missing");
        finish_task(s);
    }
}

const struct workload dirs_workloads[] = {
    { "readdir", "READDIR of a directory of --files entries", dir_setup, readdir_next, readdir_done, remove_files, 0 },
    { "readdirplus", "READDIRPLUS likewise", dir_setup, readdirplus_next, readdir_done, remove_files, 0 },
    { 0 },
};
