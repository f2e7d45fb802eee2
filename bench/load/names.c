/* bench/load/names.c - workloads: attributes and names. */
#include "bench/load/load.h"

#include <stdio.h>

static void
null_next(struct slot *s)
{
    uint8_t *p = call_begin(s, P_NULL);

    call_end(s, p, NULL, 0);
}

static void
null_done(struct slot *s, struct reply *r)
{
    (void)r;
    finish_task(s);
}

static void
small_set(void)
{
    make_files(1000, 4096);
}

static void
getattr_next(struct slot *s)
{
    call_fh(s, P_GETATTR, &task_file(s)->fh);
}

static void
getattr_done(struct slot *s, struct reply *r)
{
    check_attr(s, r, NF3REG, task_file(s));
    finish_task(s);
}

static void
access_next(struct slot *s)
{
    call_access(s, &task_file(s)->fh);
}

static void
access_done(struct slot *s, struct reply *r)
{
    check_access(s, r);
    finish_task(s);
}

static void
lookup_next(struct slot *s)
{
    char name[NAME_SIZE];

    call_name(s, P_LOOKUP, name_of(name, 'f', s->task % load.nfiles));
}

static void
lookup_done(struct slot *s, struct reply *r)
{
    check_lookup(s, r, task_file(s));
    finish_task(s);
}

static void
create_next(struct slot *s)
{
    char name[NAME_SIZE];

    name_of(name, 'c', s->task);
    if (s->step == 0)
        call_create(s, name);
    else
        call_name(s, P_REMOVE, name);
}

static void
create_done(struct slot *s, struct reply *r)
{
    if (s->step == 0) {
        check_created(s, r, NF3REG);
        s->step = 1;
    } else {
        wcc_done(s, r);
    }
}

static void
mkdir_next(struct slot *s)
{
    char name[NAME_SIZE];

    name_of(name, 'd', s->task);
    if (s->step == 0)
        call_mkdir(s, name);
    else
        call_name(s, P_RMDIR, name);
}

static void
mkdir_done(struct slot *s, struct reply *r)
{
    if (s->step == 0) {
        check_created(s, r, NF3DIR);
        s->step = 1;
    } else {
        wcc_done(s, r);
    }
}

/* Each slot renames a file of its own to and fro. */
static uint64_t
slot_number(struct slot *s)
{
    return (uint64_t)(s->conn - load.conns) * options.depth + s->index;
}

static void
rename_setup(void)
{
    alloc_files(options.conns * options.depth, 0);
    populate();
}

static void
rename_next(struct slot *s)
{
    char a[NAME_SIZE], b[NAME_SIZE];

    name_of(a, 'f', slot_number(s));
    name_of(b, 'r', slot_number(s));
    if (s->step == 0)
        call_rename(s, a, b);
    else
        call_rename(s, b, a);
}

static void
rename_done(struct slot *s, struct reply *r)
{
    check_wcc(s, r);
    check_wcc(s, r);
    if (s->step == 0)
        s->step = 1;
    else
        finish_task(s);
}

/* SYMLINK, LOOKUP, READLINK, REMOVE of one link. */
static void
symlink_next(struct slot *s)
{
    char name[NAME_SIZE], target[NAME_SIZE];

    name_of(name, 'l', s->task);
    name_of(target, 't', s->task);
    switch (s->step) {
    case 0:
        call_symlink(s, name, target);
        break;
    case 1:
        call_name(s, P_LOOKUP, name);
        break;
    case 2:
        call_fh(s, P_READLINK, &s->fh);
        break;
    default:
        call_name(s, P_REMOVE, name);
    }
}

static void
symlink_done(struct slot *s, struct reply *r)
{
    char target[NAME_SIZE];

    name_of(target, 't', s->task);
    switch (s->step++) {
    case 0:
        check_created(s, r, NF3LNK);
        break;
    case 1:
        check(s, get_fh(&r->in, &s->fh), "no file handle");
        break;
    case 2:
        check_readlink(s, r, target);
        break;
    default:
        wcc_done(s, r);
    }
}

const struct workload names_workloads[] = {
    { "null", "the NULL procedure", NULL, null_next, null_done, NULL, 0 },
    { "getattr", "GETATTR over --files files", small_set, getattr_next, getattr_done, remove_files, 0 },
    { "access", "ACCESS over --files files", small_set, access_next, access_done, remove_files, 0 },
    { "lookup", "LOOKUP over --files names", small_set, lookup_next, lookup_done, remove_files, 0 },
    { "create", "CREATE + REMOVE", NULL, create_next, create_done, NULL, 0 },
    { "mkdir", "MKDIR + RMDIR", NULL, mkdir_next, mkdir_done, NULL, 0 },
    { "rename", "RENAME to and fro", rename_setup, rename_next, rename_done, remove_files, 0 },
    { "symlink", "SYMLINK + LOOKUP + READLINK + REMOVE", NULL, symlink_next, symlink_done, NULL, 0 },
    { 0 },
};
