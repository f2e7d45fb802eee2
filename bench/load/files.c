/* bench/load/files.c - the files that a workload needs: made before it, read back and removed after it. */
#include "bench/load/load.h"

#include <stdio.h>
#include <stdlib.h>

const char *
name_of(char *buf, char prefix, uint64_t i)
{
    snprintf(buf, NAME_SIZE, "%c%07" PRIu64, prefix, i);
    return buf;
}

struct file *
task_file(struct slot *s)
{
    return &load.files[s->task % load.nfiles];
}

/* Bytes of a WRITE while files are made. */
static uint32_t
setup_block(void)
{
    uint32_t n = 1 << 20;

    if (load.wtmax && load.wtmax < n)
        n = load.wtmax;
    if (options.udp && n > 8192)
        n = 8192; /* what every server takes */
    return n;
}

/* One task makes one file: CREATE [LOOKUP] GETATTR, then WRITE* COMMIT or, of a sparse one, SETATTR of its size. */
enum { F_CREATE, F_LOOKUP, F_ATTR, F_WRITE, F_COMMIT, F_SIZE };

static void
populate_next(struct slot *s)
{
    struct file *f = &load.files[s->task];
    char name[NAME_SIZE];
    uint32_t bs = setup_block();

    switch (s->step) {
    case F_CREATE:
        s->off = 0;
        call_create(s, name_of(name, 'f', s->task));
        break;
    case F_LOOKUP:
        call_name(s, P_LOOKUP, name_of(name, 'f', s->task));
        break;
    case F_ATTR:
        call_fh(s, P_GETATTR, &f->fh);
        break;
    case F_WRITE:
        if (f->size - s->off < bs)
            bs = (uint32_t)(f->size - s->off);
        call_write(s, f, s->off, bs, UNSTABLE, f->content);
        break;
    case F_COMMIT:
        call_commit(s, f, 0, 0);
        break;
    case F_SIZE:
        call_set_size(s, f);
        break;
    }
}

static void
populate_attr(struct slot *s, struct file *f, struct reply *r)
{
    struct attr a = { 0 };

    get_fattr(&r->in, &a);
    f->fileid = a.fileid;
    check(s, !r->in.bad && a.type == NF3REG && a.size == 0, "bad attributes of a new file");
}

static void
populate_done(struct slot *s, struct reply *r)
{
    struct file *f = &load.files[s->task];
    struct attr a;

    switch (s->step) {
    case F_CREATE:
        s->step = take_created(s, r, &f->fh, &a) ? F_ATTR : F_LOOKUP;
        break;
    case F_LOOKUP:
        get_fh(&r->in, &f->fh);
        s->step = F_ATTR;
        break;
    case F_ATTR:
        populate_attr(s, f, r);
        s->step = options.sparse && f->size ? F_SIZE : F_WRITE;
        break;
    case F_WRITE:
        check_write(s, r, UNSTABLE);
        s->off += s->len;
        break;
    case F_COMMIT:
        check_commit(s, r);
        finish_task(s);
        return;
    case F_SIZE:
        wcc_done(s, r);
        return;
    }
    if (s->step == F_WRITE && s->off >= f->size) {
        if (f->size)
            s->step = F_COMMIT;
        else
            finish_task(s);
    }
}

static void
unlink_next(struct slot *s)
{
    char name[NAME_SIZE];

    call_name(s, P_REMOVE, name_of(name, 'f', s->task));
}

void
wcc_done(struct slot *s, struct reply *r)
{
    check_wcc(s, r);
    finish_task(s);
}

static const struct workload populate_wl = {
    .name = "populate",
    .next = populate_next,
    .done = populate_done,
};
static const struct workload unlink_wl = {
    .name = "unlink",
    .next = unlink_next,
    .done = wcc_done,
};

void
alloc_files(uint32_t n, uint64_t size)
{
    uint32_t i;

    load.nfiles = n;
    load.files = xcalloc(n, sizeof(*load.files));
    for (i = 0; i < n; i++) {
        load.files[i].size = size;
        load.files[i].content = options.sparse ? CONTENT_ZERO : i;
    }
}

void
populate(void)
{
    run_tasks(&populate_wl, load.nfiles);
}

void
make_files(uint32_t n, uint64_t size)
{
    alloc_files(options.files ? options.files : n, options.size ? options.size : size);
    populate();
}

void
remove_files(void)
{
    run_tasks(&unlink_wl, load.nfiles);
}

uint64_t
blocks_per_file(void)
{
    return (load.files[0].size + load.bs - 1) / load.bs;
}

/* READs that compare what a workload has written: all blocks (--verify), or some that are spread over all files. */
#define READBACK_SAMPLE 64

static uint64_t
readback_stride(void)
{
    uint64_t all = blocks_per_file() * load.nfiles;

    return options.verify || all <= READBACK_SAMPLE ? 1 : all / READBACK_SAMPLE;
}

static void
readback_next(struct slot *s)
{
    uint64_t blocks = blocks_per_file(), block = s->task * readback_stride();
    struct file *f = &load.files[block / blocks];

    block %= blocks;
    call_read(s, f, block * load.bs, load.bs);
    s->verify = true;
    if (f->rewritten != NULL && f->rewritten[block])
        s->content = f->content + CONTENT_REWRITTEN;
}

static void
readback_done(struct slot *s, struct reply *r)
{
    (void)r;
    finish_task(s);
}

static const struct workload readback_wl = {
    .name = "readback",
    .next = readback_next,
    .done = readback_done,
};

void
readback(void)
{
    run_tasks(&readback_wl, blocks_per_file() * load.nfiles / readback_stride());
}
