/*
 * tests/live/test_subtree.c - exports(5) subtree_check: with each call, the file must be inside of the export, and the
 * caller must be allowed to pass the directories above it. As knfsd, what fails is NFS3ERR_STALE.
 */
#include "tests/lib/live.h"

#include <stdio.h>
#include <unistd.h>

#define CHECKED "rw,insecure,no_root_squash,subtree_check"
#define UNCHECKED_OPTIONS "rw,insecure,no_root_squash"
#define ALICE 1000

static nfsstat3
status(struct live *srv, const nfs_fh3 *file)
{
    return live_getattr(srv, file)->status;
}

/* A name beside the export, on the same file system. */
static const char *
outside(struct live *srv, const char *name)
{
    char *path = live_keep(srv, strlen(srv->base) + strlen(name) + 2);

    sprintf(path, "%s/%s", srv->base, name);
    return path;
}

static struct live *
checked(void **state)
{
    struct live *srv = *state;

    live_reload(srv, CHECKED, NULL);
    return srv;
}

static void
everything_inside_is_served_as_ever(void **state)
{
    struct live *srv = checked(state);
    nfs_fh3 dir = live_dir(srv, &srv->root, "dir", 0755), below = live_dir(srv, &dir, "below", 0755);
    nfs_fh3 file = live_file(srv, &below, "file", 0644), link = live_link_to(srv, &below, "link", "file"), found;

    live_write_all(srv, &file, 0, "hello", 5);
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_readlink(srv, &link)->status, NFS3_OK);
    assert_int_equal(status(srv, &srv->root), NFS3_OK);
    found = live_find(srv, &below, "file");
    assert_true(live_same_handle(&found, &file));
    found = live_find(srv, &below, "..");
    assert_true(live_same_handle(&found, &dir));
    assert_int_equal(live_rename(srv, &below, "file", &dir, "file")->status, NFS3_OK);
    assert_int_equal(live_link(srv, &file, &below, "again")->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &dir, "file")->status, NFS3_OK);
}

static void
handles_last_over_a_restart(void **state)
{
    struct live *srv = checked(state);
    nfs_fh3 dir, file;

    live_need_directory(srv);
    dir = live_dir(srv, &srv->root, "dir", 0755);
    file = live_file(srv, &dir, "file", 0644);
    live_restart(srv);
    assert_int_equal(status(srv, &file), NFS3_OK);      /* its directory is read for it: no look-up has told the name */
    assert_int_equal(status(srv, &dir), NFS3_OK);
}

static void
what_has_been_taken_out_of_the_export_is_stale(void **state)
{
    struct live *srv = checked(state);
    nfs_fh3 dir, below, file, inner, link;

    live_need_directory(srv);
    dir = live_dir(srv, &srv->root, "dir", 0755);
    below = live_dir(srv, &dir, "below", 0755);
    file = live_file(srv, &srv->root, "file", 0644);
    inner = live_file(srv, &below, "inner", 0644);
    link = live_link_to(srv, &srv->root, "link", "there");
    assert_int_equal(rename(live_local(srv, "file"), outside(srv, "file")), 0);
    assert_int_equal(rename(live_local(srv, "link"), outside(srv, "link")), 0);
    assert_int_equal(rename(live_local(srv, "dir"), outside(srv, "dir")), 0);
    assert_int_equal(status(srv, &file), NFS3ERR_STALE);
    assert_int_equal(status(srv, &link), NFS3ERR_STALE);
    assert_int_equal(status(srv, &dir), NFS3ERR_STALE);
    assert_int_equal(status(srv, &below), NFS3ERR_STALE);
    assert_int_equal(status(srv, &inner), NFS3ERR_STALE);
    assert_int_equal(live_read(srv, &inner, 0, 1)->status, NFS3ERR_STALE);
    assert_int_equal(live_mkdir(srv, &below, "new", live_mode(0755))->status, NFS3ERR_STALE);
    assert_int_equal(live_rename(srv, &srv->root, "x", &below, "x")->status, NFS3ERR_STALE);
    assert_int_equal(live_link(srv, &file, &srv->root, "back")->status, NFS3ERR_STALE);
    assert_int_equal(rename(outside(srv, "dir"), live_local(srv, "dir")), 0);
    assert_int_equal(status(srv, &inner), NFS3_OK);
    live_reload(srv, UNCHECKED_OPTIONS, NULL);
    assert_int_equal(status(srv, &file), NFS3_OK);      /* the server has it open yet, or opens it by its handle */
}

/* Without subtree_check handles are good wherever the file is: nobody may climb from there to what was never exported. */
static void
there_is_no_way_up_from_what_has_been_taken_out(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir, below, found;

    live_need_directory(srv);
    live_reload(srv, UNCHECKED_OPTIONS, NULL);
    dir = live_dir(srv, &srv->root, "dir", 0755);
    below = live_dir(srv, &dir, "below", 0755);
    found = live_find(srv, &below, "..");
    assert_true(live_same_handle(&found, &dir));
    found = live_find(srv, &dir, "..");
    assert_true(live_same_handle(&found, &srv->root));
    assert_int_equal(rename(live_local(srv, "dir"), outside(srv, "dir")), 0);
    assert_int_equal(live_lookup(srv, &below, "..")->status, NFS3ERR_ACCES);
    assert_int_equal(live_lookup(srv, &dir, "..")->status, NFS3ERR_ACCES);
    assert_int_equal(rename(outside(srv, "dir"), live_local(srv, "dir")), 0);
    found = live_find(srv, &dir, "..");
    assert_true(live_same_handle(&found, &srv->root));
}

static void
what_a_client_has_moved_inside_is_found_there(void **state)
{
    struct live *srv = checked(state);
    nfs_fh3 dir = live_dir(srv, &srv->root, "dir", 0755), file = live_file(srv, &srv->root, "file", 0644);

    assert_int_equal(live_rename(srv, &srv->root, "file", &srv->root, "other")->status, NFS3_OK);
    assert_int_equal(status(srv, &file), NFS3_OK);
    assert_int_equal(live_rename(srv, &srv->root, "other", &dir, "other")->status, NFS3_OK);
    assert_int_equal(status(srv, &file), NFS3_OK);
}

static void
a_file_that_somebody_else_has_renamed_in_its_directory_is_found(void **state)
{
    struct live *srv = checked(state);
    nfs_fh3 file;

    live_need_directory(srv);
    file = live_file(srv, &srv->root, "file", 0644);
    assert_int_equal(rename(live_local(srv, "file"), live_local(srv, "other")), 0);
    assert_int_equal(status(srv, &file), NFS3_OK);
}

static void
a_caller_who_may_not_pass_a_directory_above_reaches_nothing_below(void **state)
{
    struct live *srv = checked(state);
    nfs_fh3 shut, dir, file;

    live_need_identities(srv);
    shut = live_dir(srv, &srv->root, "shut", 0700);
    dir = live_dir(srv, &shut, "dir", 0777);
    file = live_file(srv, &dir, "file", 0666);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(status(srv, &shut), NFS3_OK);      /* it is the directories above that he must pass */
    assert_int_equal(status(srv, &dir), NFS3ERR_STALE);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3ERR_STALE);
    live_as(srv, 0, 0);
    assert_int_equal(status(srv, &dir), NFS3_OK);
    live_chmod(srv, &shut, 0711);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(status(srv, &dir), NFS3_OK);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3_OK);
    live_reload(srv, UNCHECKED_OPTIONS, NULL);
    live_as(srv, 0, 0);
    live_chmod(srv, &shut, 0700);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3_OK);     /* without it, a handle is enough */
}

static void
handles_from_before_are_good_where_the_file_is_known(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file, dir;

    dir = live_dir(srv, &srv->root, "dir", 0755);
    live_reload(srv, CHECKED, NULL);
    assert_int_equal(status(srv, &dir), NFS3_OK);
    file = live_file(srv, &dir, "file", 0644);
    live_reload(srv, UNCHECKED_OPTIONS, NULL);
    assert_int_equal(status(srv, &file), NFS3_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_inside_is_served_as_ever),
        cmocka_unit_test(handles_last_over_a_restart),
        cmocka_unit_test(what_has_been_taken_out_of_the_export_is_stale),
        cmocka_unit_test(there_is_no_way_up_from_what_has_been_taken_out),
        cmocka_unit_test(what_a_client_has_moved_inside_is_found_there),
        cmocka_unit_test(a_file_that_somebody_else_has_renamed_in_its_directory_is_found),
        cmocka_unit_test(a_caller_who_may_not_pass_a_directory_above_reaches_nothing_below),
        cmocka_unit_test(handles_from_before_are_good_where_the_file_is_known),
    };

    return live_main("subtree", tests, sizeof(tests) / sizeof(*tests));
}
