/* tests/live/test_attr.c - GETATTR, SETATTR and READLINK (RFC 1813 3.3.1, 3.3.2, 3.3.5). */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/lib/live.h"

#define ALICE 1001
#define GROUP 2000

static bool
is_later(nfstime3 a, nfstime3 b)
{
    return a.seconds > b.seconds || (a.seconds == b.seconds && a.nseconds > b.nseconds);
}

static void
getattr_tells_type_mode_links_and_size(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5), dir = live_dir(srv, &srv->root, "d", 0750);
    nfs_fh3 link = live_link_to(srv, &srv->root, "l", "target");
    fattr3 attr = live_attr(srv, &file);

    assert_int_equal(attr.type, NF3REG);
    assert_int_equal(attr.mode, 0644);
    assert_int_equal(attr.nlink, 1);
    assert_int_equal(attr.uid, srv->auth.uid);
    assert_int_equal(attr.gid, srv->auth.gid);
    assert_int_equal(attr.size, 5);
    assert_true(attr.fileid != 0);
    assert_true(attr.mtime.nseconds < 1000000000);
    assert_true(attr.atime.nseconds < 1000000000);
    assert_true(attr.ctime.nseconds < 1000000000);
    attr = live_attr(srv, &dir);
    assert_int_equal(attr.type, NF3DIR);
    assert_int_equal(attr.mode, 0750);
    attr = live_attr(srv, &link);
    assert_int_equal(attr.type, NF3LNK);
    assert_int_equal(attr.size, 6);
}

static void
getattr_agrees_with_stat(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;
    struct stat st;
    fattr3 attr;

    live_need_directory(srv);
    file = live_put(srv, "f", "hello", 5);
    assert_int_equal(stat(live_local(srv, "f"), &st), 0);
    attr = live_attr(srv, &file);
    assert_true(attr.fileid == st.st_ino);
    assert_true(attr.used == (uint64_t)st.st_blocks * 512);
    assert_int_equal(attr.nlink, st.st_nlink);
    assert_int_equal(attr.mtime.seconds, st.st_mtim.tv_sec);
    assert_int_equal(attr.mtime.nseconds, st.st_mtim.tv_nsec);
    assert_int_equal(attr.ctime.nseconds, st.st_ctim.tv_nsec);
}

static void
all_objects_of_an_export_have_one_fsid_and_own_fileids(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0), dir = live_dir(srv, &srv->root, "d", 0755);
    fattr3 root = live_attr(srv, &srv->root), a = live_attr(srv, &file), b = live_attr(srv, &dir);

    assert_true(root.fsid == a.fsid && a.fsid == b.fsid);
    assert_true(a.fileid != b.fileid && a.fileid != root.fileid && b.fileid != root.fileid);
}

static void
a_sparse_file_uses_little(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    fattr3 attr;

    live_write_all(srv, &file, 1 << 30, "x", 1);
    attr = live_attr(srv, &file);
    assert_true(attr.size == (1 << 30) + 1);
    assert_in_range(attr.used, 1, 1 << 20);
    assert_int_equal(attr.used % 512, 0);
}

static void
setattr_sets_only_what_is_asked(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    fattr3 before = live_attr(srv, &file), after;

    live_tick();
    assert_int_equal(live_setattr(srv, &file, live_mode(0601))->status, NFS3_OK);
    after = live_attr(srv, &file);
    assert_int_equal(after.mode, 0601);
    assert_true(live_same_time(after.mtime, before.mtime));
    assert_true(live_same_time(after.atime, before.atime));
    assert_true(is_later(after.ctime, before.ctime));
    assert_int_equal(after.size, 5);
    assert_int_equal(after.uid, before.uid);
}

static void
setattr_of_nothing_is_fine(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    fattr3 before = live_attr(srv, &file), after;

    assert_int_equal(live_setattr(srv, &file, live_keep_all())->status, NFS3_OK);
    after = live_attr(srv, &file);
    assert_int_equal(after.mode, before.mode);
    assert_int_equal(after.size, before.size);
    assert_true(live_same_time(after.mtime, before.mtime));
}

static void
setattr_tells_the_state_before_and_after(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    fattr3 before = live_attr(srv, &file), after;
    SETATTR3res *res;
    wcc_data *wcc;

    live_tick();
    res = live_setattr(srv, &file, live_size(2));
    assert_int_equal(res->status, NFS3_OK);
    wcc = &res->SETATTR3res_u.resok.obj_wcc;
    after = live_attr(srv, &file);
    assert_true(wcc->after.attributes_follow);
    assert_int_equal(wcc->after.post_op_attr_u.attributes.size, 2);
    assert_true(live_same_time(wcc->after.post_op_attr_u.attributes.ctime, after.ctime));
    if (wcc->before.attributes_follow) {
        assert_int_equal(wcc->before.pre_op_attr_u.attributes.size, 5);
        assert_true(live_same_time(wcc->before.pre_op_attr_u.attributes.ctime, before.ctime));
        assert_true(live_same_time(wcc->before.pre_op_attr_u.attributes.mtime, before.mtime));
    }
}

static void
a_guard_that_matches_lets_the_change_pass(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    nfstime3 ctime = live_attr(srv, &file).ctime;

    assert_int_equal(live_setattr_guarded(srv, &file, live_mode(0600), ctime)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0600);
}

static void
a_guard_that_differs_stops_every_change(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    nfstime3 ctime = live_attr(srv, &file).ctime, wrong;
    SETATTR3res *res;

    wrong = (nfstime3){ ctime.seconds, (ctime.nseconds + 1) % 1000000000 };
    res = live_setattr_guarded(srv, &file, live_size(0), wrong);
    assert_int_equal(res->status, NFS3ERR_NOT_SYNC);
    assert_true(res->SETATTR3res_u.resfail.obj_wcc.after.attributes_follow);
    wrong = (nfstime3){ ctime.seconds - 1, ctime.nseconds };
    assert_int_equal(live_setattr_guarded(srv, &file, live_mode(0), wrong)->status, NFS3ERR_NOT_SYNC);
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_attr(srv, &file).mode, 0644);
}

static void
times_come_back_to_the_nanosecond(void **state)
{
    static const nfstime3 times[][2] = {
        { { 1, 1 }, { 1700000000, 999999999 } },
        { { 0, 0 }, { 0, 1 } },
        { { 2147483647, 999999999 }, { 1000000000, 123456789 } },
        { { 2147483648u, 1 }, { 4000000000u, 500000000 } },         /* 2038 and 2096: seconds are unsigned */
        { { 4294967295u, 999999999 }, { 4294967295u, 0 } },
    };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0), dir = live_dir(srv, &srv->root, "d", 0755);
    size_t i;

    for (i = 0; i < sizeof(times) / sizeof(*times); i++) {
        assert_int_equal(live_setattr(srv, &file, live_client_times(times[i][0], times[i][1]))->status, NFS3_OK);
        assert_true(live_same_time(live_attr(srv, &file).atime, times[i][0]));
        assert_true(live_same_time(live_attr(srv, &file).mtime, times[i][1]));
        assert_int_equal(live_setattr(srv, &dir, live_client_times(times[i][0], times[i][1]))->status, NFS3_OK);
        assert_true(live_same_time(live_attr(srv, &dir).mtime, times[i][1]));
    }
}

static void
one_time_can_be_set_without_the_other(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);
    sattr3 attr = live_keep_all();

    assert_int_equal(live_setattr(srv, &file, live_client_times((nfstime3){ 10, 0 }, (nfstime3){ 20, 0 }))->status,
                     NFS3_OK);
    attr.mtime.set_it = SET_TO_CLIENT_TIME;
    attr.mtime.set_mtime_u.mtime = (nfstime3){ 30, 3 };
    assert_int_equal(live_setattr(srv, &file, attr)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).atime.seconds, 10);
    assert_int_equal(live_attr(srv, &file).mtime.seconds, 30);
    attr = live_keep_all();
    attr.atime.set_it = SET_TO_CLIENT_TIME;
    attr.atime.set_atime_u.atime = (nfstime3){ 40, 4 };
    assert_int_equal(live_setattr(srv, &file, attr)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).atime.seconds, 40);
    assert_int_equal(live_attr(srv, &file).mtime.seconds, 30);
}

static void
server_time_is_now(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);
    time_t now;

    assert_int_equal(live_setattr(srv, &file, live_client_times((nfstime3){ 10, 0 }, (nfstime3){ 20, 0 }))->status,
                     NFS3_OK);
    now = time(NULL);
    assert_int_equal(live_setattr(srv, &file, live_server_times())->status, NFS3_OK);
    assert_in_range(live_attr(srv, &file).mtime.seconds, now - 2, now + 5);
    assert_in_range(live_attr(srv, &file).atime.seconds, now - 2, now + 5);
}

static void
nanoseconds_of_a_second_and_more_are_refused_everywhere(void **state)
{
    static const uint32_t wrong[] = { 1000000000, 0x3fffffff, 0x3ffffffe, 0x80000000, 0xffffffff };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    fattr3 before = live_attr(srv, &file);
    sattr3 attr;
    size_t i, side;

    for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        for (side = 0; side < 2; side++) {
            attr = live_client_times((nfstime3){ 5, side == 0 ? wrong[i] : 0 }, (nfstime3){ 6, side == 1 ? wrong[i] : 0 });
            attr.mode.set_it = TRUE;
            attr.mode.set_mode3_u.mode = 0700;
            assert_int_equal(live_setattr(srv, &file, attr)->status, NFS3ERR_INVAL);
            assert_int_equal(live_create(srv, &srv->root, "n", GUARDED, attr)->status, NFS3ERR_INVAL);
            assert_int_equal(live_create(srv, &srv->root, "n", UNCHECKED, attr)->status, NFS3ERR_INVAL);
            assert_int_equal(live_mkdir(srv, &srv->root, "n", attr)->status, NFS3ERR_INVAL);
            assert_int_equal(live_symlink(srv, &srv->root, "n", "t", attr)->status, NFS3ERR_INVAL);
            assert_int_equal(live_mknod(srv, &srv->root, "n", NF3FIFO, 0, 0, attr)->status, NFS3ERR_INVAL);
        }
    }
    assert_int_equal(live_attr(srv, &file).mode, before.mode);
    assert_true(live_same_time(live_attr(srv, &file).mtime, before.mtime));
    assert_int_equal(live_count(srv, &srv->root), 1);
}

/* What is on the disk may lie outside of what 32 unsigned bits of seconds tell: the answer is the same everywhere. */
static void
odd_times_on_the_disk_are_told_the_same_everywhere(void **state)
{
    static const time_t odd[] = { -1, -2177452800, 2208988800, 4294967295, 4294967296, 6000000000 };
    struct live *srv = *state;
    READDIRPLUS3res *list;
    LOOKUP3res *found;
    entryplus3 *entry;
    struct stat st;
    fattr3 attr;
    nfs_fh3 file;
    size_t i;

    live_need_directory(srv);
    for (i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        const struct timespec at = { .tv_sec = odd[i], .tv_nsec = 500000000 }, times[2] = { at, at };

        file = live_put(srv, "f", "", 0);
        assert_int_equal(utimensat(AT_FDCWD, live_local(srv, "f"), times, 0), 0);
        assert_int_equal(stat(live_local(srv, "f"), &st), 0);
        attr = live_attr(srv, &file);
        assert_int_equal(attr.mtime.nseconds, st.st_mtim.tv_nsec);
        if (st.st_mtim.tv_sec >= 0 && st.st_mtim.tv_sec <= UINT32_MAX)
            assert_int_equal(attr.mtime.seconds, st.st_mtim.tv_sec);
        found = live_lookup(srv, &srv->root, "f");
        assert_int_equal(found->status, NFS3_OK);
        assert_true(live_same_time(found->LOOKUP3res_u.resok.obj_attributes.post_op_attr_u.attributes.mtime,
                                   attr.mtime));
        list = live_readdirplus(srv, &srv->root, 0, NULL, 8192, 32768);
        assert_int_equal(list->status, NFS3_OK);
        for (entry = list->READDIRPLUS3res_u.resok.reply.entries; entry != NULL; entry = entry->nextentry)
            if (entry->fileid == attr.fileid && entry->name_attributes.attributes_follow)
                assert_true(live_same_time(entry->name_attributes.post_op_attr_u.attributes.mtime, attr.mtime));
        assert_int_equal(live_remove(srv, &srv->root, "f")->status, NFS3_OK);
    }
}

static void
truncating_shortens_and_extending_fills_with_zeros(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello world", 11);

    assert_int_equal(live_setattr(srv, &file, live_size(5))->status, NFS3_OK);
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_setattr(srv, &file, live_size(8))->status, NFS3_OK);
    live_assert_content(srv, &file, "hello\0\0\0", 8);
    assert_int_equal(live_setattr(srv, &file, live_size(0))->status, NFS3_OK);
    live_assert_content(srv, &file, "", 0);
}

static void
truncating_to_the_same_size_moves_mtime(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5), empty = live_put(srv, "e", "", 0);
    fattr3 before = live_attr(srv, &file), after;

    live_tick();
    assert_int_equal(live_setattr(srv, &file, live_size(5))->status, NFS3_OK);
    after = live_attr(srv, &file);
    assert_true(is_later(after.mtime, before.mtime));
    assert_true(is_later(after.ctime, before.ctime));
    before = live_attr(srv, &empty);
    live_tick();
    assert_int_equal(live_setattr(srv, &empty, live_size(0))->status, NFS3_OK);
    assert_true(is_later(live_attr(srv, &empty).mtime, before.mtime));
}

static void
a_size_and_a_time_in_one_call_are_both_set(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    sattr3 attr = live_client_times((nfstime3){ 100, 1 }, (nfstime3){ 200, 2 });

    attr.size.set_it = TRUE;
    attr.size.set_size3_u.size = 3;
    attr.mode.set_it = TRUE;
    attr.mode.set_mode3_u.mode = 0600;
    assert_int_equal(live_setattr(srv, &file, attr)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).size, 3);
    assert_int_equal(live_attr(srv, &file).mode, 0600);
    assert_int_equal(live_attr(srv, &file).mtime.seconds, 200);
}

static void
sizes_beyond_what_a_file_can_have_are_refused_whole(void **state)
{
    static const uint64_t sizes[] = { UINT64_C(1) << 63, UINT64_MAX, (UINT64_C(1) << 63) + 4096 };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    sattr3 attr;
    size_t i;

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        assert_int_equal(live_setattr(srv, &file, live_size(sizes[i]))->status, NFS3ERR_FBIG);
        attr = live_size(sizes[i]);
        attr.mode.set_it = TRUE;
        attr.mode.set_mode3_u.mode = 0600;
        assert_int_equal(live_create(srv, &srv->root, "new", UNCHECKED, attr)->status, NFS3ERR_FBIG);
        assert_int_equal(live_create(srv, &srv->root, "f", UNCHECKED, attr)->status, NFS3ERR_FBIG);
    }
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_attr(srv, &file).mode, 0644);
    assert_false(live_has(srv, &srv->root, "new"));
}

static void
size_of_what_is_no_file_cannot_be_set(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755), link = live_link_to(srv, &srv->root, "l", "f");
    nfs_fh3 target = live_put(srv, "f", "hello", 5);
    MKNOD3res *fifo = live_mknod(srv, &srv->root, "p", NF3FIFO, 0, 0, live_mode(0666));
    nfsstat3 status = live_setattr(srv, &dir, live_size(0))->status;

    assert_true(status == NFS3ERR_ISDIR || status == NFS3ERR_INVAL);
    assert_int_equal(live_setattr(srv, &link, live_size(0))->status, NFS3ERR_INVAL);
    assert_int_equal(fifo->status, NFS3_OK);
    assert_int_equal(live_setattr(srv, &fifo->MKNOD3res_u.resok.obj.post_op_fh3_u.handle, live_size(0))->status,
                     NFS3ERR_INVAL);
    live_assert_content(srv, &target, "hello", 5);
}

static void
a_links_own_attributes_are_changed_not_its_targets(void **state)
{
    struct live *srv = *state;
    nfs_fh3 target = live_put(srv, "f", "hello", 5), link = live_link_to(srv, &srv->root, "l", "f");
    fattr3 before = live_attr(srv, &target);
    sattr3 attr;

    live_need_identities(srv);
    attr = live_owner(ALICE, GROUP);
    assert_int_equal(live_setattr(srv, &link, attr)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &link).uid, ALICE);
    assert_int_equal(live_setattr(srv, &link, live_client_times((nfstime3){ 7, 7 }, (nfstime3){ 8, 8 }))->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &link).mtime.seconds, 8);
    assert_int_equal(live_attr(srv, &target).uid, before.uid);
    assert_true(live_same_time(live_attr(srv, &target).mtime, before.mtime));
}

static void
readlink_gives_the_text_as_it_was_written(void **state)
{
    static const char *const texts[] = { "a", "/absolute/path", "../up", "no such thing", "x//y/./z", "loop" };
    struct live *srv = *state;
    READLINK3res *res;
    nfs_fh3 link;
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        link = live_link_to(srv, &srv->root, "loop", texts[i]);
        res = live_readlink(srv, &link);
        assert_int_equal(res->status, NFS3_OK);
        assert_int_equal(res->READLINK3res_u.resok.data.nfspath3_len, strlen(texts[i]));
        assert_memory_equal(res->READLINK3res_u.resok.data.nfspath3_val, texts[i], strlen(texts[i]));
        assert_int_equal(live_remove(srv, &srv->root, "loop")->status, NFS3_OK);
    }
}

static void
readlink_of_anything_else_is_refused(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);
    nfsstat3 status = live_readlink(srv, &srv->root)->status;

    assert_int_equal(live_readlink(srv, &file)->status, NFS3ERR_INVAL);
    assert_true(status == NFS3ERR_INVAL || status == NFS3ERR_ISDIR);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(getattr_tells_type_mode_links_and_size),
        cmocka_unit_test(getattr_agrees_with_stat),
        cmocka_unit_test(all_objects_of_an_export_have_one_fsid_and_own_fileids),
        cmocka_unit_test(a_sparse_file_uses_little),
        cmocka_unit_test(setattr_sets_only_what_is_asked),
        cmocka_unit_test(setattr_of_nothing_is_fine),
        cmocka_unit_test(setattr_tells_the_state_before_and_after),
        cmocka_unit_test(a_guard_that_matches_lets_the_change_pass),
        cmocka_unit_test(a_guard_that_differs_stops_every_change),
        cmocka_unit_test(times_come_back_to_the_nanosecond),
        cmocka_unit_test(one_time_can_be_set_without_the_other),
        cmocka_unit_test(server_time_is_now),
        cmocka_unit_test(nanoseconds_of_a_second_and_more_are_refused_everywhere),
        cmocka_unit_test(odd_times_on_the_disk_are_told_the_same_everywhere),
        cmocka_unit_test(truncating_shortens_and_extending_fills_with_zeros),
        cmocka_unit_test(truncating_to_the_same_size_moves_mtime),
        cmocka_unit_test(a_size_and_a_time_in_one_call_are_both_set),
        cmocka_unit_test(sizes_beyond_what_a_file_can_have_are_refused_whole),
        cmocka_unit_test(size_of_what_is_no_file_cannot_be_set),
        cmocka_unit_test(a_links_own_attributes_are_changed_not_its_targets),
        cmocka_unit_test(readlink_gives_the_text_as_it_was_written),
        cmocka_unit_test(readlink_of_anything_else_is_refused),
    };

    return live_main("attr", tests, sizeof(tests) / sizeof(*tests));
}
