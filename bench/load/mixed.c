/* bench/load/mixed.c - workload: a mix of operations as clients have it. */
#include "bench/load/load.h"

#include <stdio.h>
#include <stdlib.h>

#define LINKS 16                        /* symbolic links */
#define TEMPS_MAX 1024                  /* files that are made and removed */

static struct {
    struct fh links[LINKS];
    uint64_t *temps;                    /* numbers of those that exist */
    size_t ntemps, captemps;
    bool no_plus;                       /* the server has no READDIRPLUS */
} mixed;

/* Percentages of SPECsfs2008 for NFSv3; sizes of files and all else are our own (bench/README.md). */
static const struct { uint32_t proc, percent; } mix[] = {
    { P_GETATTR, 26 },    { P_LOOKUP, 24 },  { P_READ, 18 },   { P_ACCESS, 11 }, { P_WRITE, 10 }, { P_SETATTR, 4 },
    { P_READDIRPLUS, 2 }, { P_READLINK, 1 }, { P_READDIR, 1 }, { P_CREATE, 1 },  { P_REMOVE, 1 }, { P_FSSTAT, 1 },
};
static const struct { uint32_t percent, size; } mixed_sizes[] = {
    { 30, 1 << 10 }, { 25, 4 << 10 }, { 20, 16 << 10 }, { 15, 64 << 10 }, { 8, 256 << 10 }, { 2, 1 << 20 },
};

static void
links_next(struct slot *s)
{
    char name[NAME_SIZE];

    name_of(name, 'l', s->task);
    if (s->step == 0)
        call_symlink(s, name, "target");
    else
        call_name(s, P_LOOKUP, name);
}

static void
links_done(struct slot *s, struct reply *r)
{
    if (s->step++ == 0)
        return;
    check(s, get_fh(&r->in, &mixed.links[s->task]), "no file handle");
    finish_task(s);
}

static void
links_remove_next(struct slot *s)
{
    char name[NAME_SIZE];

    call_name(s, P_REMOVE, name_of(name, 'l', s->task));
}

static void
temps_remove_next(struct slot *s)
{
    char name[NAME_SIZE];

    call_name(s, P_REMOVE, name_of(name, 'c', mixed.temps[s->task]));
}

static const struct workload links_wl = {
    .name = "links",
    .next = links_next,
    .done = links_done,
};
static const struct workload links_remove_wl = {
    .name = "unlinks",
    .next = links_remove_next,
    .done = wcc_done,
};
static const struct workload temps_remove_wl = {
    .name = "untemps",
    .next = temps_remove_next,
    .done = wcc_done,
};

/* Clients of a server without READDIRPLUS use READDIR; so does the mix. */
static void
probe_readdirplus(void)
{
    uint32_t status;

    mixed.no_plus = !sync_readdirplus(&status) && status == NFS3ERR_NOTSUPP;
    if (mixed.no_plus)
        fprintf(stderr, "nfsload: no READDIRPLUS, using READDIR\n");
}

static void
mixed_setup(void)
{
    uint32_t i, k, pick;

    probe_readdirplus();
    alloc_files(options.files ? options.files : 2000, 0);
    for (i = 0; i < load.nfiles; i++) {
        pick = i * 37 % 100;
        for (k = 0; pick >= mixed_sizes[k].percent; k++)
            pick -= mixed_sizes[k].percent;
        load.files[i].size = mixed_sizes[k].size;
    }
    populate();
    run_tasks(&links_wl, LINKS);
}

static void
mixed_cleanup(void)
{
    run_tasks(&temps_remove_wl, mixed.ntemps);
    run_tasks(&links_remove_wl, LINKS);
    remove_files();
}

static uint32_t
mixed_pick(void)
{
    uint32_t r = (uint32_t)(rnd() >> 20) % 100, k;

    for (k = 0; r >= mix[k].percent; k++)
        r -= mix[k].percent;
    if (mix[k].proc == P_REMOVE && mixed.ntemps == 0)
        return P_CREATE;
    if (mix[k].proc == P_CREATE && mixed.ntemps >= TEMPS_MAX)
        return P_REMOVE;
    if (mix[k].proc == P_READDIRPLUS && mixed.no_plus)
        return P_READDIR;
    return mix[k].proc;
}

static void
temps_push(uint64_t id)
{
    if (mixed.ntemps == mixed.captemps) {
        mixed.captemps = mixed.captemps * 2 + 64;
        mixed.temps = realloc(mixed.temps, mixed.captemps * sizeof(*mixed.temps));
        if (!mixed.temps)
            die("out of memory");
    }
    mixed.temps[mixed.ntemps++] = id;
}

static void
mixed_io(struct slot *s, uint32_t proc)
{
    struct file *f = s->file;
    uint64_t nb = (f->size + load.bs - 1) / load.bs, off = rnd() % nb * load.bs;
    uint32_t len = load.bs;

    if (proc == P_READ) {
        call_read(s, f, off, load.bs);
        return;
    }
    if (f->size - off < len)
        len = (uint32_t)(f->size - off);
    call_write(s, f, off, len, UNSTABLE, f->content);
}

static void
mixed_next(struct slot *s)
{
    uint32_t proc = mixed_pick();
    uint64_t i = rnd() % load.nfiles;
    char name[NAME_SIZE];

    s->file = &load.files[i];
    s->cookie = 0;
    memset(s->cookieverf, 0, 8);
    switch (proc) {
    case P_LOOKUP:
        call_name(s, proc, name_of(name, 'f', i));
        break;
    case P_ACCESS:
        call_access(s, &s->file->fh);
        break;
    case P_READ:
    case P_WRITE:
        mixed_io(s, proc);
        break;
    case P_SETATTR:
        call_setattr(s, &s->file->fh, s->task & 1 ? 0644 : 0640);
        break;
    case P_READDIR:
    case P_READDIRPLUS:
        call_readdir(s, proc == P_READDIRPLUS);
        break;
    case P_READLINK:
        call_fh(s, proc, &mixed.links[i % LINKS]);
        break;
    case P_CREATE:
        call_create(s, name_of(name, 'c', s->task));
        break;
    case P_REMOVE:
        call_name(s, proc, name_of(name, 'c', mixed.temps[--mixed.ntemps]));
        break;
    case P_FSSTAT:
        call_fh(s, proc, &load.dir);
        break;
    default:
        call_fh(s, P_GETATTR, &s->file->fh);
    }
}

static void
check_some_entries(struct slot *s, struct reply *r)
{
    struct attr a;
    struct fh fh;
    uint32_t len, n = 0;

    get_post_attr(&r->in, &a);
    get_bytes(&r->in, 8);
    while (get32(&r->in) == 1 && !r->in.bad) {
        get64(&r->in);
        get_opaque(&r->in, 255, &len);
        get64(&r->in);
        n++;
        if (s->proc == P_READDIR)
            continue;
        get_post_attr(&r->in, &a);
        if (get32(&r->in) == 1)
            get_fh(&r->in, &fh);
    }
    get32(&r->in);
    check(s, !r->in.bad && n > 0, "bad reply");
}

static void
check_fsstat(struct slot *s, struct reply *r)
{
    struct attr a;

    get_post_attr(&r->in, &a);
    check(s, get_bytes(&r->in, 52) != NULL, "bad reply");
}

static void
mixed_done(struct slot *s, struct reply *r)
{
    switch (s->proc) {
    case P_GETATTR:
        check_attr(s, r, NF3REG, s->file);
        break;
    case P_LOOKUP:
        check_lookup(s, r, s->file);
        break;
    case P_ACCESS:
        check_access(s, r);
        break;
    case P_WRITE:
        check_write(s, r, UNSTABLE);
        if (load.measuring)
            stats.bytes += s->len;
        break;
    case P_SETATTR:
    case P_REMOVE:
        check_wcc(s, r);
        break;
    case P_READDIR:
    case P_READDIRPLUS:
        check_some_entries(s, r);
        break;
    case P_READLINK:
        check_readlink(s, r, "target");
        break;
    case P_CREATE:
        check_created(s, r, NF3REG);
        temps_push(s->task);
        break;
    case P_FSSTAT:
        check_fsstat(s, r);
        break;
    }
    finish_task(s);
}

const struct workload mixed_workloads[] = {
    { "mixed", "the SPECsfs2008 operation mix", mixed_setup, mixed_next, mixed_done, mixed_cleanup, 32768 },
    { 0 },
};
