/*
 * tests/live/test_name.c - LOOKUP, REMOVE, RMDIR, RENAME and LINK (RFC 1813 3.3.3, 3.3.12 to 3.3.15), and what a name
 * may be in all procedures that take one (3.2).
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/live.h"

#define ALICE 1001
#define BOB 1002

static nfs_fh3
fifo(struct live *srv, const char *name)
{
    MKNOD3res *res = live_mknod(srv, &srv->root, name, NF3FIFO, 0, 0, live_mode(0644));

    assert_int_equal(res->status, NFS3_OK);
    return res->MKNOD3res_u.resok.obj.post_op_fh3_u.handle;
}

static void
lookup_finds_what_was_made_with_attributes_of_both(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    LOOKUP3res *res = live_lookup(srv, &srv->root, "f");
    LOOKUP3resok *ok = &res->LOOKUP3res_u.resok;

    assert_int_equal(res->status, NFS3_OK);
    assert_true(live_same_handle(&ok->object, &file));
    assert_true(ok->obj_attributes.attributes_follow);
    assert_int_equal(ok->obj_attributes.post_op_attr_u.attributes.size, 5);
    assert_true(ok->dir_attributes.attributes_follow);
    assert_int_equal(ok->dir_attributes.post_op_attr_u.attributes.type, NF3DIR);
}

static void
lookup_of_a_missing_name_is_noent_with_the_directorys_attributes(void **state)
{
    struct live *srv = *state;
    LOOKUP3res *res = live_lookup(srv, &srv->root, "missing");

    assert_int_equal(res->status, NFS3ERR_NOENT);
    assert_true(res->LOOKUP3res_u.resfail.dir_attributes.attributes_follow);
}

static void
lookup_knows_dot_and_dotdot_and_stays_inside_the_export(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755), sub = live_dir(srv, &dir, "s", 0755);
    nfs_fh3 found;

    found = live_find(srv, &sub, ".");
    assert_true(live_same_handle(&found, &sub));
    found = live_find(srv, &sub, "..");
    assert_true(live_same_handle(&found, &dir));
    found = live_find(srv, &dir, "..");
    assert_true(live_same_handle(&found, &srv->root));
    found = live_find(srv, &srv->root, "..");
    assert_true(live_same_handle(&found, &srv->root));
    found = live_find(srv, &srv->root, ".");
    assert_true(live_same_handle(&found, &srv->root));
}

static void
lookup_in_what_is_no_directory_is_notdir(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0), link = live_link_to(srv, &srv->root, "l", "."), pipe_ = fifo(srv, "p");

    assert_int_equal(live_lookup(srv, &file, "x")->status, NFS3ERR_NOTDIR);
    assert_int_equal(live_lookup(srv, &link, "x")->status, NFS3ERR_NOTDIR);
    assert_int_equal(live_lookup(srv, &pipe_, "x")->status, NFS3ERR_NOTDIR);
    assert_int_equal(live_lookup(srv, &file, ".")->status, NFS3ERR_NOTDIR);
}

static void
lookup_gives_a_link_itself(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755), link = live_link_to(srv, &srv->root, "l", "d"), found;

    found = live_find(srv, &srv->root, "l");
    assert_true(live_same_handle(&found, &link));
    assert_false(live_same_handle(&found, &dir));
    assert_int_equal(live_attr(srv, &found).type, NF3LNK);
}

static void
lookup_needs_search_permission(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);

    live_need_identities(srv);
    live_file(srv, &dir, "f", 0644);
    live_chmod(srv, &dir, 0744);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_lookup(srv, &dir, "f")->status, NFS3ERR_ACCES);
    live_as(srv, 0, 0);
    live_chmod(srv, &dir, 0711);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_lookup(srv, &dir, "f")->status, NFS3_OK);
}

/* The arguments of each procedure that takes a name, with that name in it; RENAME twice. */
union named_args {
    LOOKUP3args lookup;
    CREATE3args create;
    MKDIR3args mkdir;
    SYMLINK3args symlink;
    MKNOD3args mknod;
    REMOVE3args remove;
    RMDIR3args rmdir;
    RENAME3args rename;
    LINK3args link;
};

struct named_call {
    uint32_t proc;
    union named_args args;
};
#define NAMED_CALLS 12

static void
make_named_calls(const nfs_fh3 *dir, const nfs_fh3 *file, filename3 name, struct named_call calls[NAMED_CALLS])
{
    const diropargs3 what = { *dir, name }, ok = { *dir, live_name("fine") };
    const mknoddata3 node = { NF3FIFO, { .pipe_attributes = live_mode(0644) } };

    calls[0] = (struct named_call){ NFSPROC3_LOOKUP, { .lookup = { what } } };
    calls[1] = (struct named_call){ NFSPROC3_CREATE,
                                    { .create = { what, { UNCHECKED, { .obj_attributes = live_mode(0600) } } } } };
    calls[2] = (struct named_call){ NFSPROC3_CREATE,
                                    { .create = { what, { GUARDED, { .obj_attributes = live_mode(0600) } } } } };
    calls[3] = (struct named_call){ NFSPROC3_CREATE, { .create = { what, { EXCLUSIVE, { .verf = "verifie" } } } } };
    calls[4] = (struct named_call){ NFSPROC3_MKDIR, { .mkdir = { what, live_mode(0700) } } };
    calls[5] = (struct named_call){ NFSPROC3_SYMLINK, { .symlink = { what, { live_keep_all(), { 1, "t" } } } } };
    calls[6] = (struct named_call){ NFSPROC3_MKNOD, { .mknod = { what, node } } };
    calls[7] = (struct named_call){ NFSPROC3_REMOVE, { .remove = { what } } };
    calls[8] = (struct named_call){ NFSPROC3_RMDIR, { .rmdir = { what } } };
    calls[9] = (struct named_call){ NFSPROC3_RENAME, { .rename = { what, ok } } };
    calls[10] = (struct named_call){ NFSPROC3_RENAME, { .rename = { ok, what } } };
    calls[11] = (struct named_call){ NFSPROC3_LINK, { .link = { *file, what } } };
}

static void
names_that_are_none_are_refused_by_every_procedure(void **state)
{
    static const filename3 names[] = {
        { 0, "" }, { 1, "/" }, { 3, "a/b" }, { 3, "d/f" }, { 2, "a/" }, { 4, "../x" }, { 4, "/tmp" }, { 1, "\0" },
        { 3, "a\0b" }, { 2, "f\0" }, { 5, "fine\0" },
    };
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "work", 0755), file = live_file(srv, &dir, "fine", 0644);
    nfs_fh3 below = live_dir(srv, &dir, "d", 0755);
    struct named_call calls[NAMED_CALLS];
    const nfsstat3 *status;
    int outcome;
    size_t i, k;

    live_file(srv, &below, "f", 0644);
    for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
        make_named_calls(&dir, &file, names[i], calls);
        for (k = 0; k < NAMED_CALLS; k++) {
            status = live_try(srv, calls[k].proc, &calls[k].args, &outcome);
            if (status == NULL && outcome != LIVE_GARBAGE_ARGS)
                fail_msg("%s, name %zu: outcome %d", live_proc_name(calls[k].proc), i, outcome);
            if (status != NULL && *status != NFS3ERR_ACCES && *status != NFS3ERR_INVAL)
                fail_msg("%s, name %zu: status %d", live_proc_name(calls[k].proc), i, *status);
        }
    }
    assert_int_equal(live_count(srv, &srv->root), 1);
    assert_int_equal(live_count(srv, &dir), 2);
    assert_int_equal(live_count(srv, &below), 1);
    assert_int_equal(live_attr(srv, &file).nlink, 1);
}

static void
names_of_more_than_255_bytes_are_too_long_for_every_procedure(void **state)
{
    static const size_t lengths[] = { 256, 257, 300, 1023, 1024, 4096, 65536 };
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "work", 0755), file = live_file(srv, &dir, "fine", 0644);
    struct named_call calls[NAMED_CALLS];
    const nfsstat3 *status;
    size_t i, k;

    for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        make_named_calls(&dir, &file, live_long_name(srv, 'n', lengths[i]), calls);
        for (k = 0; k < NAMED_CALLS; k++) {
            status = live_nfs(srv, calls[k].proc, &calls[k].args);
            if (*status != NFS3ERR_NAMETOOLONG)
                fail_msg("%s, %zu bytes: status %d", live_proc_name(calls[k].proc), lengths[i], *status);
        }
    }
    assert_int_equal(live_count(srv, &dir), 1);
}

static void
names_of_255_bytes_and_of_any_byte_work(void **state)
{
    struct live *srv = *state;
    filename3 longest = live_long_name(srv, 'n', 255);
    nfs_fh3 file = live_put(srv, longest.filename3_val, "x", 1), found;
    char name[4] = "a?b";
    int byte;

    found = live_find(srv, &srv->root, longest.filename3_val);
    assert_true(live_same_handle(&found, &file));
    assert_int_equal(live_rename(srv, &srv->root, longest.filename3_val, &srv->root,
                                 live_long_name(srv, 'm', 255).filename3_val)->status, NFS3_OK);
    for (byte = 1; byte < 256; byte++) {
        if (byte == '/')
            continue;
        name[1] = (char)byte;
        file = live_file(srv, &srv->root, name, 0600);
        found = live_find(srv, &srv->root, name);
        assert_true(live_same_handle(&found, &file));
    }
    assert_int_equal(live_count(srv, &srv->root), 1 + 254);
}

static void
dot_and_dotdot_cannot_be_made_removed_or_renamed(void **state)
{
    static const char *const names[] = { ".", ".." };
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755), file = live_file(srv, &dir, "fine", 0644);
    struct named_call calls[NAMED_CALLS];
    const nfsstat3 *status;
    size_t i, k;

    for (i = 0; i < 2; i++) {
        make_named_calls(&dir, &file, live_name(names[i]), calls);
        for (k = 1; k < NAMED_CALLS; k++) {
            status = live_nfs(srv, calls[k].proc, &calls[k].args);
            if (*status == NFS3_OK)
                fail_msg("%s of %s succeeds", live_proc_name(calls[k].proc), names[i]);
        }
        assert_int_equal(live_rmdir(srv, &dir, ".")->status, NFS3ERR_INVAL);
        assert_int_equal(live_rename(srv, &dir, names[i], &dir, "x")->status, NFS3ERR_INVAL);
        assert_int_equal(live_rename(srv, &dir, "fine", &dir, names[i])->status, NFS3ERR_INVAL);
        assert_int_equal(live_create(srv, &dir, names[i], GUARDED, live_mode(0600))->status, NFS3ERR_EXIST);
        assert_int_equal(live_mkdir(srv, &dir, names[i], live_mode(0600))->status, NFS3ERR_EXIST);
    }
    assert_int_equal(live_count(srv, &dir), 1);
    assert_int_equal(live_count(srv, &srv->root), 1);
}

static void
names_that_only_look_like_dots_are_names(void **state)
{
    static const char *const names[] = { "...", "..a", ".a", "a.", "a..", " ", ".. " };
    struct live *srv = *state;
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
        live_file(srv, &srv->root, names[i], 0600);
        assert_true(live_has(srv, &srv->root, names[i]));
        assert_int_equal(live_remove(srv, &srv->root, names[i])->status, NFS3_OK);
    }
}

static void
every_name_taking_procedure_wants_a_directory(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0);
    struct named_call calls[NAMED_CALLS];
    const nfsstat3 *status;
    size_t k;

    make_named_calls(&file, &file, live_name("n"), calls);
    for (k = 0; k < NAMED_CALLS; k++) {
        status = live_nfs(srv, calls[k].proc, &calls[k].args);
        if (*status != NFS3ERR_NOTDIR)
            fail_msg("%s in a file: status %d", live_proc_name(calls[k].proc), *status);
    }
}

static void
remove_takes_all_but_directories(void **state)
{
    struct live *srv = *state;
    REMOVE3res *res;

    live_put(srv, "f", "", 0);
    live_link_to(srv, &srv->root, "l", "f");
    fifo(srv, "p");
    live_dir(srv, &srv->root, "d", 0755);
    assert_int_equal(live_remove(srv, &srv->root, "l")->status, NFS3_OK);
    assert_true(live_has(srv, &srv->root, "f"));
    assert_int_equal(live_remove(srv, &srv->root, "f")->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &srv->root, "p")->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &srv->root, "d")->status, NFS3ERR_ISDIR);
    res = live_remove(srv, &srv->root, "f");
    assert_int_equal(res->status, NFS3ERR_NOENT);
    assert_true(res->REMOVE3res_u.resfail.dir_wcc.after.attributes_follow);
    assert_int_equal(live_count(srv, &srv->root), 1);
}

static void
rmdir_takes_only_empty_directories(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);

    live_file(srv, &dir, ".hidden", 0644);
    live_put(srv, "f", "", 0);
    live_link_to(srv, &srv->root, "l", "d");
    assert_int_equal(live_rmdir(srv, &srv->root, "d")->status, NFS3ERR_NOTEMPTY);
    assert_int_equal(live_rmdir(srv, &srv->root, "f")->status, NFS3ERR_NOTDIR);
    assert_int_equal(live_rmdir(srv, &srv->root, "l")->status, NFS3ERR_NOTDIR);
    assert_int_equal(live_rmdir(srv, &srv->root, "n")->status, NFS3ERR_NOENT);
    assert_int_equal(live_remove(srv, &dir, ".hidden")->status, NFS3_OK);
    assert_int_equal(live_rmdir(srv, &srv->root, "d")->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &dir)->status, NFS3ERR_STALE);
}

/* RENAME of something onto something: what each pair gives. "own": a directory into itself. */
struct rename_row {
    const char *from, *to;
    nfsstat3 status, or_status;
};

static void
rename_onto_each_kind_of_target(void **state)
{
    static const struct rename_row rows[] = {
        { "file", "new", NFS3_OK, NFS3_OK },
        { "file", "other", NFS3_OK, NFS3_OK },
        { "file", "link", NFS3_OK, NFS3_OK },
        { "file", "fifo", NFS3_OK, NFS3_OK },
        { "file", "empty", NFS3ERR_ISDIR, NFS3ERR_EXIST },
        { "file", "full", NFS3ERR_ISDIR, NFS3ERR_EXIST },
        { "link", "file", NFS3_OK, NFS3_OK },
        { "link", "empty", NFS3ERR_ISDIR, NFS3ERR_EXIST },
        { "fifo", "file", NFS3_OK, NFS3_OK },
        { "empty", "new", NFS3_OK, NFS3_OK },
        { "empty", "file", NFS3ERR_NOTDIR, NFS3ERR_EXIST },
        { "empty", "link", NFS3ERR_NOTDIR, NFS3ERR_EXIST },
        { "empty", "fifo", NFS3ERR_NOTDIR, NFS3ERR_EXIST },
        { "full", "empty", NFS3_OK, NFS3_OK },
        { "full", "new", NFS3_OK, NFS3_OK },
        { "empty", "full", NFS3ERR_NOTEMPTY, NFS3ERR_EXIST },
        { "missing", "new", NFS3ERR_NOENT, NFS3ERR_NOENT },
        { "missing", "file", NFS3ERR_NOENT, NFS3ERR_NOENT },
        { "file", "file", NFS3_OK, NFS3_OK },
        { "full", "full", NFS3_OK, NFS3_OK },
    };
    struct live *srv = *state;
    char name[32];
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        nfs_fh3 dir, full, from = { { 0, NULL } }, found;
        RENAME3res *res;
        size_t before;

        snprintf(name, sizeof(name), "work%zu", i);
        dir = live_dir(srv, &srv->root, name, 0755);
        live_file(srv, &dir, "file", 0644);
        live_file(srv, &dir, "other", 0644);
        live_link_to(srv, &dir, "link", "file");
        assert_int_equal(live_mknod(srv, &dir, "fifo", NF3FIFO, 0, 0, live_mode(0644))->status, NFS3_OK);
        live_dir(srv, &dir, "empty", 0755);
        full = live_dir(srv, &dir, "full", 0755);
        live_file(srv, &full, "inside", 0644);
        if (strcmp(rows[i].from, "missing") != 0)
            from = live_find(srv, &dir, rows[i].from);
        before = live_count(srv, &dir);
        res = live_rename(srv, &dir, rows[i].from, &dir, rows[i].to);
        if (res->status != rows[i].status && res->status != rows[i].or_status)
            fail_msg("%s onto %s: status %d", rows[i].from, rows[i].to, res->status);
        if (res->status != NFS3_OK) {
            assert_int_equal(live_count(srv, &dir), before);
            assert_true(res->RENAME3res_u.resfail.fromdir_wcc.after.attributes_follow);
            assert_true(res->RENAME3res_u.resfail.todir_wcc.after.attributes_follow);
            continue;
        }
        found = live_find(srv, &dir, rows[i].to);
        assert_true(live_same_handle(&found, &from));
        if (strcmp(rows[i].from, rows[i].to) != 0)
            assert_false(live_has(srv, &dir, rows[i].from));
    }
}

static void
a_directory_cannot_move_into_itself_or_onto_its_parent(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755), sub = live_dir(srv, &dir, "s", 0755);
    nfsstat3 status;

    assert_int_equal(live_rename(srv, &srv->root, "d", &dir, "x")->status, NFS3ERR_INVAL);
    assert_int_equal(live_rename(srv, &srv->root, "d", &sub, "x")->status, NFS3ERR_INVAL);
    status = live_rename(srv, &dir, "s", &srv->root, "d")->status;
    assert_true(status == NFS3ERR_NOTEMPTY || status == NFS3ERR_EXIST);
    assert_true(live_has(srv, &dir, "s"));
    assert_int_equal(live_count(srv, &sub), 0);
}

static void
rename_between_directories_moves_dotdot_and_tells_both(void **state)
{
    struct live *srv = *state;
    nfs_fh3 a = live_dir(srv, &srv->root, "a", 0755), b = live_dir(srv, &srv->root, "b", 0755);
    nfs_fh3 moved = live_dir(srv, &a, "m", 0755), parent;
    RENAME3res *res = live_rename(srv, &a, "m", &b, "n");
    const post_op_attr *from = &res->RENAME3res_u.resok.fromdir_wcc.after;
    const post_op_attr *to = &res->RENAME3res_u.resok.todir_wcc.after;

    assert_int_equal(res->status, NFS3_OK);
    assert_true(from->attributes_follow);
    assert_true(to->attributes_follow);
    assert_true(from->post_op_attr_u.attributes.fileid == live_attr(srv, &a).fileid);
    assert_true(to->post_op_attr_u.attributes.fileid == live_attr(srv, &b).fileid);
    parent = live_find(srv, &moved, "..");
    assert_true(live_same_handle(&parent, &b));
    assert_false(live_has(srv, &a, "m"));
}

static void
rename_of_one_name_onto_another_of_the_same_file_does_nothing(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "a", "x", 1), dir = live_dir(srv, &srv->root, "d", 0755);

    assert_int_equal(live_link(srv, &file, &srv->root, "b")->status, NFS3_OK);
    assert_int_equal(live_link(srv, &file, &dir, "c")->status, NFS3_OK);
    assert_int_equal(live_rename(srv, &srv->root, "a", &srv->root, "b")->status, NFS3_OK);
    assert_int_equal(live_rename(srv, &dir, "c", &srv->root, "a")->status, NFS3_OK);
    assert_true(live_has(srv, &srv->root, "a"));
    assert_true(live_has(srv, &srv->root, "b"));
    assert_true(live_has(srv, &dir, "c"));
    assert_int_equal(live_attr(srv, &file).nlink, 3);
}

static void
a_replaced_file_lives_on_under_its_other_name(void **state)
{
    struct live *srv = *state;
    nfs_fh3 old = live_put(srv, "b", "old", 3);

    live_put(srv, "a", "new", 3);
    assert_int_equal(live_link(srv, &old, &srv->root, "c")->status, NFS3_OK);
    assert_int_equal(live_rename(srv, &srv->root, "a", &srv->root, "b")->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &old).nlink, 1);
    live_assert_content(srv, &old, "old", 3);
    assert_int_equal(live_remove(srv, &srv->root, "c")->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &old)->status, NFS3ERR_STALE);
}

static void
link_adds_a_name_and_counts_it(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1), dir = live_dir(srv, &srv->root, "d", 0755), found;
    LINK3res *res = live_link(srv, &file, &dir, "g");

    assert_int_equal(res->status, NFS3_OK);
    assert_true(res->LINK3res_u.resok.file_attributes.attributes_follow);
    assert_int_equal(res->LINK3res_u.resok.file_attributes.post_op_attr_u.attributes.nlink, 2);
    assert_true(res->LINK3res_u.resok.linkdir_wcc.after.attributes_follow);
    found = live_find(srv, &dir, "g");
    assert_true(live_same_handle(&found, &file));
    assert_int_equal(live_remove(srv, &srv->root, "f")->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).nlink, 1);
}

static void
link_onto_an_existing_name_is_exist(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);
    LINK3res *res;

    live_put(srv, "g", "y", 1);
    live_dir(srv, &srv->root, "d", 0755);
    assert_int_equal(live_link(srv, &file, &srv->root, "d")->status, NFS3ERR_EXIST);
    assert_int_equal(live_link(srv, &file, &srv->root, "f")->status, NFS3ERR_EXIST);
    res = live_link(srv, &file, &srv->root, "g");
    assert_int_equal(res->status, NFS3ERR_EXIST);
    assert_true(res->LINK3res_u.resfail.file_attributes.attributes_follow);
    assert_true(res->LINK3res_u.resfail.linkdir_wcc.after.attributes_follow);
    assert_int_equal(live_attr(srv, &file).nlink, 1);
}

static void
link_takes_a_symbolic_link_itself_and_no_directory(void **state)
{
    struct live *srv = *state;
    nfs_fh3 link = live_link_to(srv, &srv->root, "l", "nowhere"), dir = live_dir(srv, &srv->root, "d", 0755);
    nfs_fh3 found;
    nfsstat3 status;

    assert_int_equal(live_link(srv, &link, &srv->root, "m")->status, NFS3_OK);
    found = live_find(srv, &srv->root, "m");
    assert_int_equal(live_attr(srv, &found).type, NF3LNK);
    assert_int_equal(live_attr(srv, &link).nlink, 2);
    status = live_link(srv, &dir, &srv->root, "e")->status;
    assert_true(status == NFS3ERR_ISDIR || status == NFS3ERR_PERM || status == NFS3ERR_INVAL);
}

static void
changing_a_directory_takes_write_permission_in_it(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755), open_dir = live_dir(srv, &srv->root, "o", 0777), file;
    REMOVE3res *res;

    live_need_identities(srv);
    live_file(srv, &dir, "f", 0666);
    file = live_file(srv, &open_dir, "g", 0666);
    live_dir(srv, &dir, "s", 0777);
    live_as(srv, ALICE, ALICE);
    res = live_remove(srv, &dir, "f");
    assert_int_equal(res->status, NFS3ERR_ACCES);
    assert_true(res->REMOVE3res_u.resfail.dir_wcc.after.attributes_follow);
    assert_int_equal(live_rmdir(srv, &dir, "s")->status, NFS3ERR_ACCES);
    assert_int_equal(live_rename(srv, &dir, "f", &open_dir, "f")->status, NFS3ERR_ACCES);
    assert_int_equal(live_rename(srv, &open_dir, "g", &dir, "g")->status, NFS3ERR_ACCES);
    live_as(srv, 0, 0);
    live_chown(srv, &file, ALICE, ALICE);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_link(srv, &file, &dir, "h")->status, NFS3ERR_ACCES);
    assert_int_equal(live_count(srv, &dir), 2);
    assert_int_equal(live_count(srv, &open_dir), 1);
}

static void
refused(nfsstat3 status)
{
    assert_true(status == NFS3ERR_ACCES || status == NFS3ERR_PERM);
}

static void
in_a_sticky_directory_only_owners_remove_and_rename(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "t", 01777), other = live_dir(srv, &srv->root, "o", 0777), alices;

    live_need_identities(srv);
    live_chmod(srv, &dir, 01777);
    live_as(srv, ALICE, ALICE);
    alices = live_file(srv, &dir, "alice", 0666);
    live_dir(srv, &dir, "alicedir", 0777);
    live_as(srv, BOB, BOB);
    live_file(srv, &dir, "bob", 0666);
    live_file(srv, &other, "bob2", 0666);
    refused(live_remove(srv, &dir, "alice")->status);
    refused(live_rmdir(srv, &dir, "alicedir")->status);
    refused(live_rename(srv, &dir, "alice", &dir, "mine")->status);
    refused(live_rename(srv, &dir, "alice", &other, "mine")->status);
    refused(live_rename(srv, &dir, "bob", &dir, "alice")->status);
    refused(live_rename(srv, &other, "bob2", &dir, "alice")->status);
    assert_int_equal(live_count(srv, &dir), 3);
    assert_int_equal(live_attr(srv, &alices).uid, ALICE);
    assert_int_equal(live_rename(srv, &dir, "bob", &dir, "bob3")->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &dir, "bob3")->status, NFS3_OK);
}

static void
a_read_only_export_changes_nothing(void **state)
{
    struct live *srv = live_start_beside(*state, NULL);
    nfs_fh3 file = live_put(srv, "fine", "x", 1);
    struct named_call calls[NAMED_CALLS];
    const nfsstat3 *status;
    size_t k;

    live_dir(srv, &srv->root, "d", 0755);
    live_reload(srv, "ro,insecure,no_root_squash", NULL);
    make_named_calls(&srv->root, &file, live_name("n"), calls);
    for (k = 1; k < NAMED_CALLS; k++) {
        status = live_nfs(srv, calls[k].proc, &calls[k].args);
        if (*status != NFS3ERR_ROFS)
            fail_msg("%s: status %d", live_proc_name(calls[k].proc), *status);
    }
    assert_int_equal(live_remove(srv, &srv->root, "fine")->status, NFS3ERR_ROFS);
    assert_int_equal(live_write(srv, &file, 0, "y", 1, UNSTABLE)->status, NFS3ERR_ROFS);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3_OK);
    assert_int_equal(live_count(srv, &srv->root), 2);
}

static void
rename_and_link_do_not_cross_exports(void **state)
{
    struct live_options options = { .second_options = "rw,insecure,no_root_squash" };
    struct live *srv = live_start_beside(*state, &options);
    nfs_fh3 second = live_mount(srv, srv->second), file = live_put(srv, "f", "x", 1);

    assert_int_equal(live_rename(srv, &srv->root, "f", &second, "f")->status, NFS3ERR_XDEV);
    assert_int_equal(live_link(srv, &file, &second, "f")->status, NFS3ERR_XDEV);
    live_reload(srv, "rw,insecure,no_root_squash", "ro,insecure,no_root_squash");
    assert_int_equal(live_rename(srv, &srv->root, "f", &second, "f")->status, NFS3ERR_ROFS);
    assert_int_equal(live_link(srv, &file, &second, "f")->status, NFS3ERR_ROFS);
    assert_int_equal(live_count(srv, &srv->root), 1);
    assert_int_equal(live_count(srv, &second), 0);
}

static void
what_changes_on_the_machine_itself_is_seen_at_once(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir, again;
    int i;

    live_need_directory(srv);
    for (i = 0; i < 5; i++) {
        dir = live_dir(srv, &srv->root, "d", 0755);
        assert_int_equal(rmdir(live_local(srv, "d")), 0);
        assert_false(live_has(srv, &srv->root, "d"));
        again = live_dir(srv, &srv->root, "d", 0755);
        assert_int_equal(live_getattr(srv, &dir)->status, NFS3ERR_STALE);
        live_file(srv, &again, "f", 0644);
        assert_int_equal(access(live_local(srv, "d/f"), F_OK), 0);
        assert_int_equal(rename(live_local(srv, "d/f"), live_local(srv, "d/g")), 0);
        assert_true(live_has(srv, &again, "g"));
        assert_false(live_has(srv, &again, "f"));
        assert_int_equal(live_remove(srv, &again, "g")->status, NFS3_OK);
        assert_int_equal(live_rmdir(srv, &srv->root, "d")->status, NFS3_OK);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookup_finds_what_was_made_with_attributes_of_both),
        cmocka_unit_test(lookup_of_a_missing_name_is_noent_with_the_directorys_attributes),
        cmocka_unit_test(lookup_knows_dot_and_dotdot_and_stays_inside_the_export),
        cmocka_unit_test(lookup_in_what_is_no_directory_is_notdir),
        cmocka_unit_test(lookup_gives_a_link_itself),
        cmocka_unit_test(lookup_needs_search_permission),
        cmocka_unit_test(names_that_are_none_are_refused_by_every_procedure),
        cmocka_unit_test(names_of_more_than_255_bytes_are_too_long_for_every_procedure),
        cmocka_unit_test(names_of_255_bytes_and_of_any_byte_work),
        cmocka_unit_test(dot_and_dotdot_cannot_be_made_removed_or_renamed),
        cmocka_unit_test(names_that_only_look_like_dots_are_names),
        cmocka_unit_test(every_name_taking_procedure_wants_a_directory),
        cmocka_unit_test(remove_takes_all_but_directories),
        cmocka_unit_test(rmdir_takes_only_empty_directories),
        cmocka_unit_test(rename_onto_each_kind_of_target),
        cmocka_unit_test(a_directory_cannot_move_into_itself_or_onto_its_parent),
        cmocka_unit_test(rename_between_directories_moves_dotdot_and_tells_both),
        cmocka_unit_test(rename_of_one_name_onto_another_of_the_same_file_does_nothing),
        cmocka_unit_test(a_replaced_file_lives_on_under_its_other_name),
        cmocka_unit_test(link_adds_a_name_and_counts_it),
        cmocka_unit_test(link_onto_an_existing_name_is_exist),
        cmocka_unit_test(link_takes_a_symbolic_link_itself_and_no_directory),
        cmocka_unit_test(changing_a_directory_takes_write_permission_in_it),
        cmocka_unit_test(in_a_sticky_directory_only_owners_remove_and_rename),
        cmocka_unit_test(a_read_only_export_changes_nothing),
        cmocka_unit_test(rename_and_link_do_not_cross_exports),
        cmocka_unit_test(what_changes_on_the_machine_itself_is_seen_at_once),
    };

    return live_main("name", tests, sizeof(tests) / sizeof(*tests));
}
