/*
 * tests/live/test_handle.c - file handles: what the server makes of those that it gave, and of those that it did not
 * (RFC 1813 2.6, nfs_fh3; 4.8).
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/bytes.h"
#include "tests/lib/live.h"

#define HANDLE_MAX_WANTED 56            /* bytes; some clients cannot store longer ones */
#define REUSE_ATTEMPTS 300

static nfs_fh3
copy_handle(struct live *srv, const nfs_fh3 *handle)
{
    nfs_fh3 copy = { { handle->data.data_len, live_keep(srv, NFS3_FHSIZE + 64) } };

    memcpy(copy.data.data_val, handle->data.data_val, handle->data.data_len);
    return copy;
}

/* A handle that names nothing: refused as such, or as no arguments at all, and never taken for an object. */
static void
assert_refused(struct live *srv, const nfs_fh3 *handle, const char *what, size_t which)
{
    int outcome;
    const GETATTR3res *res = live_try(srv, NFSPROC3_GETATTR, &(GETATTR3args){ *handle }, &outcome);

    if (res == NULL && outcome != LIVE_GARBAGE_ARGS)
        fail_msg("%s %zu: outcome %d", what, which, outcome);
    if (res != NULL && res->status != NFS3ERR_BADHANDLE && res->status != NFS3ERR_STALE)
        fail_msg("%s %zu: status %d", what, which, res->status);
}

static void
handles_are_short_and_one_object_has_one(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755), file = live_file(srv, &dir, "f", 0644), again;
    READDIRPLUS3res *list = live_readdirplus(srv, &dir, 0, NULL, 8192, 8192);
    entryplus3 *entry;

    assert_in_range(srv->root.data.data_len, 1, HANDLE_MAX_WANTED);
    assert_in_range(dir.data.data_len, 1, HANDLE_MAX_WANTED);
    assert_in_range(file.data.data_len, 1, HANDLE_MAX_WANTED);
    again = live_find(srv, &dir, "f");
    assert_true(live_same_handle(&again, &file));
    again = live_mount(srv, srv->export);
    assert_true(live_same_handle(&again, &srv->root));
    for (entry = list->READDIRPLUS3res_u.resok.reply.entries; entry != NULL; entry = entry->nextentry)
        if (entry->fileid == live_attr(srv, &file).fileid && entry->name_handle.handle_follows)
            assert_true(live_same_handle(&entry->name_handle.post_op_fh3_u.handle, &file));
}

static void
a_handle_with_one_bit_flipped_is_none(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "secret", 6), forged;
    const nfs_fh3 *real[2] = { &file, &srv->root };
    size_t which, bit;

    for (which = 0; which < 2; which++) {
        forged = copy_handle(srv, real[which]);
        for (bit = 0; bit < 8 * (size_t)forged.data.data_len; bit++) {
            forged.data.data_val[bit / 8] ^= (char)(1 << bit % 8);
            assert_refused(srv, &forged, "bit", bit);
            forged.data.data_val[bit / 8] ^= (char)(1 << bit % 8);
        }
        assert_int_equal(live_getattr(srv, &forged)->status, NFS3_OK);
    }
}

static void
a_handle_cut_short_or_made_longer_is_none(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "secret", 6), forged = copy_handle(srv, &file);
    u_int len;

    for (len = 0; len < file.data.data_len; len++) {
        forged.data.data_len = len;
        assert_refused(srv, &forged, "length", len);
    }
    for (len = file.data.data_len + 1; len <= NFS3_FHSIZE; len++) {
        forged.data.data_len = len;
        assert_refused(srv, &forged, "length", len);
    }
    live_assert_alive(srv);
}

static void
handles_over_64_bytes_are_no_arguments(void **state)
{
    static const uint32_t lengths[] = { 65, 68, 100, 1000, 0x7fffffff, 0xffffffff };
    struct live *srv = *state;
    uint8_t message[2048], call[256];
    size_t head = live_make_call(srv, call, sizeof(call), NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR, NULL, NULL), i;
    struct wire_in results;
    struct wire_out out;
    const uint8_t *reply;
    ssize_t received;
    uint32_t xid;

    for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        out = (struct wire_out){ message, message + sizeof(message), false };
        wire_put_fixed(&out, call, head);
        wire_put_u32(&out, lengths[i]);
        memset(wire_put_space(&out, 1000), 0x5a, 1000);
        assert_true(live_send_message(&srv->conn, message, (size_t)(out.p - message)));
        received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);
        assert_true(received > 0);
        assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_GARBAGE_ARGS);
    }
}

static void
random_handles_are_none(void **state)
{
    struct live *srv = *state;
    struct bytes_random random = bytes_random_seed(7);
    nfs_fh3 forged = copy_handle(srv, &srv->root);
    size_t i;

    for (i = 0; i < 500; i++) {
        forged.data.data_len = bytes_random_below(&random, NFS3_FHSIZE + 1);
        bytes_random_fill(&random, forged.data.data_val, forged.data.data_len);
        assert_refused(srv, &forged, "random handle", i);
    }
    live_assert_alive(srv);
}

/* Every procedure with a handle that is none, as its first and as its second. */
static void
every_procedure_refuses_a_forged_handle(void **state)
{
    struct live *srv = *state;
    nfs_fh3 forged = copy_handle(srv, &srv->root), file = live_put(srv, "f", "x", 1);
    union {
        nfs_fh3 first;
        RENAME3args rename;
        LINK3args link;
        WRITE3args write;
        uint8_t bytes[1024];
    } args;
    const nfsstat3 *status;
    uint32_t proc;

    forged.data.data_val[forged.data.data_len - 1] ^= 1;
    for (proc = NFSPROC3_GETATTR; proc <= NFSPROC3_COMMIT; proc++) {
        memset(&args, 0, sizeof(args));
        args.first = forged;
        if (proc == NFSPROC3_RENAME)
            args.rename.to.dir = srv->root;
        else if (proc == NFSPROC3_LINK)
            args.link.link.dir = srv->root;
        status = live_nfs(srv, proc, &args);
        if (*status != NFS3ERR_BADHANDLE && *status != NFS3ERR_STALE)
            fail_msg("%s: status %d", live_proc_name(proc), *status);
    }
    status = live_nfs(srv, NFSPROC3_RENAME,
                      &(RENAME3args){ { srv->root, live_name("f") }, { forged, live_name("g") } });
    assert_true(*status == NFS3ERR_BADHANDLE || *status == NFS3ERR_STALE);
    status = live_nfs(srv, NFSPROC3_LINK, &(LINK3args){ file, { forged, live_name("g") } });
    assert_true(*status == NFS3ERR_BADHANDLE || *status == NFS3ERR_STALE);
    assert_int_equal(live_count(srv, &srv->root), 1);
}

static void
the_handle_of_a_removed_object_is_stale_for_every_procedure(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1), dir = live_dir(srv, &srv->root, "d", 0755);
    nfs_fh3 other = live_put(srv, "g", "", 0);

    assert_int_equal(live_remove(srv, &srv->root, "f")->status, NFS3_OK);
    assert_int_equal(live_rmdir(srv, &srv->root, "d")->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_STALE);
    assert_int_equal(live_setattr(srv, &file, live_mode(0600))->status, NFS3ERR_STALE);
    assert_int_equal(live_access(srv, &file, 1)->status, NFS3ERR_STALE);
    assert_int_equal(live_readlink(srv, &file)->status, NFS3ERR_STALE);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3ERR_STALE);
    assert_int_equal(live_write(srv, &file, 0, "x", 1, UNSTABLE)->status, NFS3ERR_STALE);
    assert_int_equal(live_commit(srv, &file, 0, 0)->status, NFS3ERR_STALE);
    assert_int_equal(live_link(srv, &file, &srv->root, "x")->status, NFS3ERR_STALE);
    assert_int_equal(live_link(srv, &other, &dir, "x")->status, NFS3ERR_STALE);
    assert_int_equal(live_lookup(srv, &dir, "x")->status, NFS3ERR_STALE);
    assert_int_equal(live_create(srv, &dir, "x", GUARDED, live_mode(0600))->status, NFS3ERR_STALE);
    assert_int_equal(live_mkdir(srv, &dir, "x", live_mode(0600))->status, NFS3ERR_STALE);
    assert_int_equal(live_remove(srv, &dir, "x")->status, NFS3ERR_STALE);
    assert_int_equal(live_rename(srv, &dir, "x", &srv->root, "y")->status, NFS3ERR_STALE);
    assert_int_equal(live_rename(srv, &srv->root, "g", &dir, "y")->status, NFS3ERR_STALE);
    assert_int_equal(live_readdir(srv, &dir, 0, NULL, 8192)->status, NFS3ERR_STALE);
    assert_int_equal(live_count(srv, &srv->root), 1);
}

static void
a_handle_never_opens_the_next_file_with_the_same_inode(void **state)
{
    struct live *srv = *state;
    nfs_fh3 old = live_put(srv, "old", "old", 3), new;
    uint64_t fileid = live_attr(srv, &old).fileid;
    char name[16];
    int i;

    assert_int_equal(live_remove(srv, &srv->root, "old")->status, NFS3_OK);
    for (i = 0; i < REUSE_ATTEMPTS; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        new = live_file(srv, &srv->root, name, 0644);
        assert_int_equal(live_getattr(srv, &old)->status, NFS3ERR_STALE);
        assert_false(live_same_handle(&new, &old));
        if (live_attr(srv, &new).fileid == fileid)
            break;
    }
    assert_int_equal(live_read(srv, &old, 0, 3)->status, NFS3ERR_STALE);
    assert_int_equal(live_write(srv, &old, 0, "x", 1, FILE_SYNC)->status, NFS3ERR_STALE);
}

static void
handles_survive_renames_of_themselves_and_above(void **state)
{
    struct live *srv = *state;
    nfs_fh3 a = live_dir(srv, &srv->root, "a", 0755), c = live_dir(srv, &srv->root, "c", 0755);
    nfs_fh3 sub = live_dir(srv, &a, "sub", 0755), file = live_file(srv, &sub, "f", 0644), found;

    live_write_all(srv, &file, 0, "hello", 5);
    assert_int_equal(live_rename(srv, &srv->root, "a", &srv->root, "b")->status, NFS3_OK);
    live_file(srv, &a, "new", 0644);
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_rename(srv, &srv->root, "b", &c, "b")->status, NFS3_OK);
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_rename(srv, &sub, "f", &srv->root, "g")->status, NFS3_OK);
    live_assert_content(srv, &file, "hello", 5);
    found = live_find(srv, &srv->root, "g");
    assert_true(live_same_handle(&found, &file));
    assert_int_equal(live_rmdir(srv, &a, "sub")->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &a)->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &sub)->status, NFS3ERR_STALE);
}

static void
a_handle_lives_as_long_as_one_of_the_files_names(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "a", "x", 1), dir = live_dir(srv, &srv->root, "d", 0755);

    assert_int_equal(live_link(srv, &file, &dir, "b")->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &srv->root, "a")->status, NFS3_OK);
    live_assert_content(srv, &file, "x", 1);
    assert_int_equal(live_remove(srv, &dir, "b")->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_STALE);
}

static void
handles_survive_a_restart(void **state)
{
    struct live *srv = *state;
    nfs_fh3 root = srv->root, dir, file, link, again;

    live_need_directory(srv);
    dir = live_dir(srv, &srv->root, "d", 0755);
    file = live_file(srv, &dir, "f", 0644);
    link = live_link_to(srv, &dir, "l", "f");
    live_write_all(srv, &file, 0, "hello", 5);
    live_restart(srv);
    assert_int_equal(live_getattr(srv, &root)->status, NFS3_OK);
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_readlink(srv, &link)->status, NFS3_OK);
    assert_int_equal(live_count(srv, &dir), 2);
    again = live_find(srv, &dir, "f");
    assert_true(live_same_handle(&again, &file));
    again = live_mount(srv, srv->export);
    assert_true(live_same_handle(&again, &root));
    assert_int_equal(rename(live_local(srv, "d"), live_local(srv, "e")), 0);
    live_restart(srv);
    if (geteuid() == 0)                                  /* others find files by the names that the server has seen */
        live_assert_content(srv, &file, "hello", 5);
}

static void
a_removed_files_handle_is_stale_after_a_restart_too(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    live_need_directory(srv);
    file = live_put(srv, "f", "hello", 5);
    assert_int_equal(live_remove(srv, &srv->root, "f")->status, NFS3_OK);
    live_restart(srv);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_STALE);
    live_put(srv, "f", "other", 5);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_STALE);
}

static void
two_servers_do_not_take_each_others_handles(void **state)
{
    struct live *srv = *state, *other = live_start_beside(srv, NULL);
    nfs_fh3 file = live_put(srv, "f", "x", 1), others = live_put(other, "f", "y", 1);

    assert_refused(srv, &others, "handle of the other server", 0);
    assert_refused(srv, &other->root, "root of the other server", 0);
    assert_refused(other, &file, "handle of the other server", 1);
    assert_refused(other, &srv->root, "root of the other server", 1);
    live_assert_content(srv, &file, "x", 1);
    live_assert_content(other, &others, "y", 1);
}

static void
a_handle_keeps_to_its_own_export(void **state)
{
    struct live_options options = { .second_options = "ro,insecure" };
    struct live *srv = live_start_beside(*state, &options);
    nfs_fh3 second = live_mount(srv, srv->second), file = live_put(srv, "f", "x", 1), found;

    assert_false(live_same_handle(&second, &srv->root));
    assert_true(live_attr(srv, &second).fsid != live_attr(srv, &srv->root).fsid);
    assert_int_equal(live_lookup(srv, &second, "f")->status, NFS3ERR_NOENT);
    found = live_find(srv, &second, "..");
    assert_true(live_same_handle(&found, &second));
    assert_int_equal(live_create(srv, &second, "g", GUARDED, live_mode(0600))->status, NFS3ERR_ROFS);
    live_assert_content(srv, &file, "x", 1);
}

static void
rights_that_are_withdrawn_count_from_the_reload_on(void **state)
{
    struct live_options options = { .second_options = "rw,insecure,no_root_squash" };
    struct live *srv = live_start_beside(*state, &options);
    nfs_fh3 second = live_mount(srv, srv->second), file = live_put(srv, "f", "x", 1);

    live_reload(srv, "ro,insecure", "rw,insecure,no_root_squash");
    assert_int_equal(live_write(srv, &file, 0, "y", 1, FILE_SYNC)->status, NFS3ERR_ROFS);
    assert_int_equal(live_mkdir(srv, &second, "d", live_mode(0755))->status, NFS3_OK);
    live_reload(srv, "", "rw,insecure,no_root_squash");
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_STALE);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_STALE);
    assert_int_equal(live_getattr(srv, &second)->status, NFS3_OK);
    assert_int_equal(live_mnt(srv, srv->export)->fhs_status, MNT3ERR_ACCES);
}

static void
an_export_that_comes_back_takes_its_old_handles(void **state)
{
    struct live_options options = { .second_options = "rw,insecure,no_root_squash" };
    struct live *srv = *state;
    nfs_fh3 file;

    live_need_directory(srv);
    srv = live_start_beside(srv, &options);
    file = live_put(srv, "f", "hello", 5);
    live_reload(srv, "", "rw,insecure,no_root_squash");
    live_reload(srv, "rw,insecure,no_root_squash", NULL);
    live_assert_content(srv, &file, "hello", 5);
}

static void
a_handle_is_good_whoever_asked_for_it(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    live_need_identities(srv);
    live_as(srv, 1001, 1001);
    file = live_file(srv, &srv->root, "f", 0644);
    live_as(srv, 1002, 1002);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);
    live_reload(srv, "rw,no_root_squash,insecure,sec=sys:none", NULL);
    live_as_nobody(srv);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);
}

static void
more_files_than_are_kept_open_all_stay_reachable(void **state)
{
    struct live *srv = *state;
    nfs_fh3 *files = live_keep(srv, 600 * sizeof(nfs_fh3));
    char name[16];
    int i;

    for (i = 0; i < 600; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        files[i] = live_file(srv, &srv->root, name, 0644);
        live_write_all(srv, &files[i], 0, name, strlen(name));
    }
    for (i = 599; i >= 0; i--) {
        snprintf(name, sizeof(name), "f%d", i);
        live_assert_content(srv, &files[i], name, strlen(name));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_are_short_and_one_object_has_one),
        cmocka_unit_test(a_handle_with_one_bit_flipped_is_none),
        cmocka_unit_test(a_handle_cut_short_or_made_longer_is_none),
        cmocka_unit_test(handles_over_64_bytes_are_no_arguments),
        cmocka_unit_test(random_handles_are_none),
        cmocka_unit_test(every_procedure_refuses_a_forged_handle),
        cmocka_unit_test(the_handle_of_a_removed_object_is_stale_for_every_procedure),
        cmocka_unit_test(a_handle_never_opens_the_next_file_with_the_same_inode),
        cmocka_unit_test(handles_survive_renames_of_themselves_and_above),
        cmocka_unit_test(a_handle_lives_as_long_as_one_of_the_files_names),
        cmocka_unit_test(handles_survive_a_restart),
        cmocka_unit_test(a_removed_files_handle_is_stale_after_a_restart_too),
        cmocka_unit_test(two_servers_do_not_take_each_others_handles),
        cmocka_unit_test(a_handle_keeps_to_its_own_export),
        cmocka_unit_test(rights_that_are_withdrawn_count_from_the_reload_on),
        cmocka_unit_test(an_export_that_comes_back_takes_its_old_handles),
        cmocka_unit_test(a_handle_is_good_whoever_asked_for_it),
        cmocka_unit_test(more_files_than_are_kept_open_all_stay_reachable),
    };

    return live_main("handle", tests, sizeof(tests) / sizeof(*tests));
}
