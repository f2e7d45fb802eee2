/* bench/load/data.c - workloads: READ, WRITE, COMMIT. */
#include "bench/load/load.h"

#include <stdlib.h>

static void
data_set(void)
{
    make_files(4, 64u << 20);
}

static void
seq_next(struct slot *s)
{
    uint64_t blocks = blocks_per_file(), block = s->task % (blocks * load.nfiles);

    call_read(s, &load.files[block / blocks], block % blocks * load.bs, load.bs);
}

static void
read_done(struct slot *s, struct reply *r)
{
    (void)r;
    finish_task(s);
}

static void
rand_next(struct slot *s)
{
    uint64_t nb = load.files[0].size / load.bs;

    if (nb == 0)
        nb = 1;
    call_read(s, &load.files[rnd() % load.nfiles], rnd() % nb * load.bs, load.bs);
}

static void
write_block(struct slot *s, uint32_t stable)
{
    uint64_t nb = blocks_per_file(), b = s->task % (nb * load.nfiles);
    struct file *f = &load.files[b / nb];
    uint64_t off = b % nb * load.bs;
    uint32_t len = load.bs;

    if (f->size - off < len)
        len = (uint32_t)(f->size - off);
    call_write(s, f, off, len, stable, f->content + CONTENT_REWRITTEN);
}

/* What was acknowledged must be there when it is read back. */
static void
written(struct slot *s)
{
    if (s->file->rewritten == NULL)
        s->file->rewritten = xcalloc(blocks_per_file(), 1);
    s->file->rewritten[s->off / load.bs] = 1;
    if (load.measuring)
        stats.bytes += s->len;
}

/* A COMMIT follows when all blocks of a file have been acknowledged. */
static void
unstable_next(struct slot *s)
{
    if (s->step == 0)
        write_block(s, UNSTABLE);
    else
        call_commit(s, s->file, 0, 0);
}

static void
unstable_done(struct slot *s, struct reply *r)
{
    if (s->step == 1) {
        check_commit(s, r);
        finish_task(s);
        return;
    }
    check_write(s, r, UNSTABLE);
    written(s);
    if (++s->file->acked == blocks_per_file()) {
        s->file->acked = 0;
        s->step = 1;
    } else {
        finish_task(s);
    }
}

static void
filesync_next(struct slot *s)
{
    write_block(s, FILE_SYNC);
}

static void
filesync_done(struct slot *s, struct reply *r)
{
    check_write(s, r, FILE_SYNC);
    written(s);
    finish_task(s);
}

/* A COMMIT of each block behind its WRITE, as of a client that is short of memory. */
static void
commit_next(struct slot *s)
{
    if (s->step == 0)
        write_block(s, UNSTABLE);
    else
        call_commit(s, s->file, s->off, s->len);
}

static void
commit_done(struct slot *s, struct reply *r)
{
    if (s->step == 0) {
        check_write(s, r, UNSTABLE);
        written(s);
        s->step = 1;
        return;
    }
    check_commit(s, r);
    finish_task(s);
}

/* Like cat(1) of many small files through a mount. */
static void
smallfile_set(void)
{
    make_files(10000, 4096);
}

static void
smallfile_next(struct slot *s)
{
    struct file *f = task_file(s);
    char name[NAME_SIZE];

    switch (s->step) {
    case 0:
        call_name(s, P_LOOKUP, name_of(name, 'f', s->task % load.nfiles));
        break;
    case 1:
        call_access(s, &f->fh);
        break;
    case 2:
        call_fh(s, P_GETATTR, &f->fh);
        break;
    default:
        call_read(s, f, 0, load.bs);
    }
}

static void
smallfile_done(struct slot *s, struct reply *r)
{
    struct file *f = task_file(s);

    switch (s->step++) {
    case 0:
        check_lookup(s, r, f);
        break;
    case 1:
        check_access(s, r);
        break;
    case 2:
        check_attr(s, r, NF3REG, f);
        break;
    default:
        finish_task(s);
    }
}

/* READ of a block of file 0, WRITE of it to file 1, COMMIT at the end. */
static void
copy_set(void)
{
    if (!options.size)
        options.size = 256u << 20;
    alloc_files(2, options.size);
    load.files[1].size = 0;
    populate();
    load.files[1].size = options.size;
    load.files[1].content = 0;      /* what is read back is the copy */
    if (!options.count)
        options.count = (options.size + load.bs - 1) / load.bs;
}

static void
copy_next(struct slot *s)
{
    uint64_t nb = blocks_per_file(), off = s->task % nb * load.bs;

    switch (s->step) {
    case 0:
        call_read(s, &load.files[0], off, load.bs);
        break;
    case 1:
        call_write(s, &load.files[1], off, s->len, UNSTABLE, load.files[1].content);
        break;
    default:
        call_commit(s, &load.files[1], 0, 0);
    }
}

static void
copy_done(struct slot *s, struct reply *r)
{
    switch (s->step) {
    case 0:
        s->step = 1;
        return;
    case 1:
        check_write(s, r, UNSTABLE);
        if (++load.files[1].acked == blocks_per_file()) {
            load.files[1].acked = 0;
            s->step = 2;
            return;
        }
        break;
    default:
        check_commit(s, r);
    }
    finish_task(s);
}

static void
readback_remove(void)
{
    readback();
    remove_files();
}

const struct workload data_workloads[] = {
    { "read-seq", "READ in sequence", data_set, seq_next, read_done, remove_files, 1 << 20 },
    { "read-rand", "READ at random aligned offsets", data_set, rand_next, read_done, remove_files, 4096 },
    { "write-unstable", "WRITE UNSTABLE in sequence, a COMMIT per file", data_set, unstable_next, unstable_done,
      readback_remove, 1 << 20 },
    { "write-commit", "WRITE UNSTABLE in sequence, a COMMIT per block", data_set, commit_next, commit_done,
      readback_remove, 1 << 20 },
    { "write-filesync", "WRITE FILE_SYNC in sequence", data_set, filesync_next, filesync_done, readback_remove, 4096 },
    { "smallfile", "LOOKUP + ACCESS + GETATTR + READ of each file", smallfile_set, smallfile_next, smallfile_done,
      remove_files, 65536 },
    { "copy", "READ + WRITE of one big file, COMMIT at the end", copy_set, copy_next, copy_done, readback_remove,
      1 << 20 },
    { 0 },
};
