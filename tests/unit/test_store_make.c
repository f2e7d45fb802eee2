/* tests/unit/test_store_make.c - what every store does: CREATE, MKDIR, SYMLINK, MKNOD. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>

#include "tests/lib/store_each.h"

static void
a_new_object_belongs_to_the_caller(void **state)
{
    static const char *const names[] = { "c", "e", "m", "s", "n" };
    struct store_cred cred = rig_member(RIG_ALICE, RIG_GROUP, false);
    struct rig *rig = *state;
    unsigned i;

    NEEDS_IDENTITIES(rig);
    assert_int_equal(rig_create(rig, &cred, rig->dir, "c", STORE_GUARDED, MODE(0640)), 0);
    assert_int_equal(rig->call.op.child_attr.mode, S_IFREG | 0640);
    assert_int_equal(rig_exclusive(rig, &cred, rig->dir, "e", "VERIFIER"), 0);
    assert_int_equal(rig_mkdir(rig, &cred, rig->dir, "m", MODE(0750)), 0);
    assert_int_equal(rig->call.op.child_attr.mode, S_IFDIR | 0750);
    assert_int_equal(rig_symlink(rig, &cred, rig->dir, "s", "x", 1), 0);
    assert_int_equal(rig_mknod(rig, &cred, rig->dir, "n", S_IFIFO, 0, 0), 0);
    for (i = 0; i < COUNT(names); i++) {
        struct store_attr attr = rig_attr(rig, rig_find(rig, rig->dir, names[i]));

        assert_true(attr.uid == RIG_ALICE && attr.gid == RIG_GROUP);
    }
}

static void
creating_moves_the_directorys_times_and_reports_them(void **state)
{
    struct rig *rig = *state;
    struct store_attr before = rig_attr(rig, rig->dir), after;
    struct store_wcc wcc;

    rig_tick();
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_GUARDED, MODE(0644)), 0);
    wcc = rig->call.op.wcc;
    assert_true(rig->call.op.child.len > 0 && rig->call.op.child_attr.present);
    after = rig_attr(rig, rig->dir);
    rig_assert_wcc(&wcc, before, after);
    assert_true(rig_is_later(after.mtime, before.mtime) && rig_is_later(after.ctime, before.ctime));
    before = after;
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_GUARDED, MODE(0644)), -EEXIST);
    wcc = rig->call.op.wcc;
    rig_assert_wcc(&wcc, before, rig_attr(rig, rig->dir));
}

static void
a_mode_is_taken_as_given(void **state)
{
    static const uint32_t modes[] = { 0, 0400, 0666, 0777, 04755 };
    struct rig *rig = *state;
    unsigned i;

    for (i = 0; i < COUNT(modes); i++) {
        assert_int_equal(rig_create(rig, &rig_alice, rig->dir, "f", STORE_GUARDED, MODE(modes[i])), 0);
        assert_int_equal(rig->call.op.child_attr.mode, S_IFREG | modes[i]);
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
        assert_int_equal(rig_mkdir(rig, &rig_alice, rig->dir, "d", MODE(modes[i] & 0777)), 0);
        assert_int_equal(rig->call.op.child_attr.mode, S_IFDIR | (modes[i] & 0777));
        assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "d"), 0);
    }
    assert_int_equal(rig_mkdir(rig, &rig_alice, rig->dir, "d", MODE(01777)), 0);
    assert_int_equal(rig->call.op.child_attr.mode, S_IFDIR | 01777);
}

static void
an_object_without_a_mode_gets_a_sensible_one(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "c", STORE_UNCHECKED, NOTHING), 0);
    assert_int_equal(rig->call.op.child_attr.mode, S_IFREG | 0644);
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "e", "VERIFIER"), 0);
    assert_int_equal(rig->call.op.child_attr.mode, S_IFREG | 0600);
    assert_int_equal(rig_mkdir(rig, &rig_root, rig->dir, "m", NOTHING), 0);
    assert_int_equal(rig->call.op.child_attr.mode, S_IFDIR | 0755);
}

static void
create_sets_size_and_times(void **state)
{
    struct store_setattr set = {
        .set_mode = true, .mode = 0600, .set_size = true, .size = 1000, .set_atime = STORE_TIME_SET,
        .set_mtime = STORE_TIME_SET, .atime = { 11, 12 }, .mtime = { 21, 22 }
    };
    struct rig *rig = *state;
    struct store_attr attr;

    assert_int_equal(rig_create(rig, &rig_alice, rig->dir, "f", STORE_GUARDED, set), 0);
    attr = rig_attr(rig, rig_find(rig, rig->dir, "f"));
    assert_int_equal(attr.size, 1000);
    assert_true(rig_same_time(attr.atime, set.atime) && rig_same_time(attr.mtime, set.mtime));
    set.set_size = false;
    assert_int_equal(rig_mkdir(rig, &rig_alice, rig->dir, "d", set), 0);
    attr = rig_attr(rig, rig_find(rig, rig->dir, "d"));
    assert_true(rig_same_time(attr.mtime, set.mtime));
    set.set_size = true;
    set.size = UINT64_C(1) << 63;
    assert_int_equal(rig_create(rig, &rig_alice, rig->dir, "g", STORE_GUARDED, set), -EFBIG);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, "g"), -ENOENT);
}

static void
only_root_makes_objects_of_others(void **state)
{
    struct store_setattr set = {
        .set_mode = true, .mode = 0755, .set_uid = true, .uid = RIG_BOB, .set_gid = true, .gid = RIG_GROUP
    };
    struct rig *rig = *state;
    struct store_attr attr;

    NEEDS_IDENTITIES(rig);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_GUARDED, set), 0);
    assert_true(rig->call.op.child_attr.uid == RIG_BOB && rig->call.op.child_attr.gid == RIG_GROUP);
    assert_int_equal(rig_mkdir(rig, &rig_root, rig->dir, "d", set), 0);
    assert_true(rig->call.op.child_attr.uid == RIG_BOB && rig->call.op.child_attr.gid == RIG_GROUP);
    assert_int_equal(rig_create(rig, &rig_alice, rig->dir, "g", STORE_GUARDED, set), 0);
    attr = rig_attr(rig, rig_find(rig, rig->dir, "g"));
    assert_true(attr.uid == RIG_ALICE && attr.gid == RIG_ALICE);
}

static void
a_setgid_directory_hands_its_group_on(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir;

    NEEDS_IDENTITIES(rig);
    dir = rig_make_of_group(rig, "d", "dir");
    assert_int_equal(rig_setattr(rig, &rig_root, dir, MODE(02777)), 0);
    assert_int_equal(rig_create(rig, &rig_bob, dir, "f", STORE_GUARDED, MODE(0640)), 0);
    assert_int_equal(rig->call.op.child_attr.gid, RIG_GROUP);
    assert_int_equal(rig_symlink(rig, &rig_bob, dir, "l", "x", 1), 0);
    assert_int_equal(rig->call.op.child_attr.gid, RIG_GROUP);
    assert_int_equal(rig_mkdir(rig, &rig_bob, dir, "sub", MODE(0750)), 0);
    assert_int_equal(rig->call.op.child_attr.gid, RIG_GROUP);
    assert_int_equal(rig->call.op.child_attr.mode, S_IFDIR | 02750);
}

static void
a_name_that_is_there_is_not_made_again(void **state)
{
    static const char *const types[] = { "file", "dir", "link" };
    struct rig *rig = *state;
    unsigned i;

    for (i = 0; i < COUNT(types); i++) {
        struct store_node *node = rig_make(rig, rig->dir, types[i], types[i], 0755);
        uint64_t fileid = rig_attr(rig, node).fileid;

        assert_int_equal(rig_create(rig, &rig_root, rig->dir, types[i], STORE_GUARDED, NOTHING), -EEXIST);
        assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, types[i], "VERIFIER"), -EEXIST);
        assert_int_equal(rig_mkdir(rig, &rig_root, rig->dir, types[i], NOTHING), -EEXIST);
        assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, types[i], "x", 1), -EEXIST);
        assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, types[i], S_IFIFO, 0, 0), -EEXIST);
        if (i > 0)
            assert_int_equal(rig_create(rig, &rig_root, rig->dir, types[i], STORE_UNCHECKED, SIZE(0)), -EEXIST);
        assert_true(rig_attr(rig, rig_find(rig, rig->dir, types[i])).fileid == fileid);
    }
}

static void
unchecked_create_of_a_file_changes_its_size_only(void **state)
{
    struct store_setattr set = { .set_mode = true, .mode = 0644 };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0600);
    struct store_attr before;

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "abc", 3), 0);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_UNCHECKED, set), 0);
    assert_true(rig->call.op.child_attr.fileid == rig_attr(rig, file).fileid);
    assert_true(rig_attr(rig, file).size == 3 && rig_attr(rig, file).mode == (S_IFREG | 0600));
    set.set_size = true;
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_UNCHECKED, set), 0);
    before = rig_attr(rig, file);
    assert_true(before.size == 0 && before.mode == (S_IFREG | 0600));
    rig_tick();
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_UNCHECKED, set), 0);
    assert_true(rig_is_later(rig_attr(rig, file).mtime, before.mtime));
}

static void
unchecked_create_of_a_file_needs_no_right_on_the_directory(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir, *file;

    NEEDS_IDENTITIES(rig);
    dir = rig_make(rig, rig->dir, "d", "dir", 0555);
    file = rig_make(rig, dir, "f", "file", 0666);
    assert_int_equal(rig_create(rig, &rig_bob, dir, "f", STORE_UNCHECKED, NOTHING), 0);
    assert_int_equal(rig_create(rig, &rig_bob, dir, "f", STORE_UNCHECKED, SIZE(0)), 0);
    assert_int_equal(rig_write(rig, &rig_root, file, 0, "abc", 3), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(0644)), 0);
    assert_int_equal(rig_create(rig, &rig_bob, dir, "f", STORE_UNCHECKED, SIZE(0)), -EACCES);
    assert_int_equal(rig_attr(rig, file).size, 3);
}

static void
exclusive_create_may_be_sent_again_with_its_verifier_only(void **state)
{
    static const char verifiers[][STORE_VERIFIER_SIZE + 1] = {
        "VERIFIER", "\0\0\0\0\0\0\0\0", "\377\377\377\377\377\377\377\377", "\200\0\0\0\377\377\377\377"
    };
    struct rig *rig = *state;
    unsigned i, bit;

    for (i = 0; i < COUNT(verifiers); i++) {
        char other[STORE_VERIFIER_SIZE];
        uint64_t fileid;

        assert_int_equal(rig_exclusive(rig, &rig_alice, rig->dir, "f", verifiers[i]), 0);
        fileid = rig->call.op.child_attr.fileid;
        assert_int_equal(rig_exclusive(rig, &rig_alice, rig->dir, "f", verifiers[i]), 0);
        assert_true(rig->call.op.child_attr.fileid == fileid && rig->call.op.child.len > 0);
        for (bit = 0; bit < 64; bit++) {
            memcpy(other, verifiers[i], sizeof(other));
            other[bit / 8] ^= 1 << bit % 8;
            assert_int_equal(rig_exclusive(rig, &rig_alice, rig->dir, "f", other), -EEXIST);
        }
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
    }
}

static void
an_exclusive_verifier_does_not_outlive_the_file(void **state)
{
    struct rig *rig = *state;
    uint64_t fileid;
    struct store_id id;

    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "f", "VERIFIER"), 0);
    id = rig->call.op.child;
    fileid = rig->call.op.child_attr.fileid;
    assert_int_equal(rig_write(rig, &rig_root, rig_child(rig), 0, "x", 1), 0);
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "f", "VERIFIER"), -EEXIST);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "f", "VERIFIER"), 0);
    assert_true(rig->call.op.child.len != id.len || memcmp(rig->call.op.child.bytes, id.bytes, id.len) != 0 ||
                rig->call.op.child_attr.fileid != fileid);
}

static void
mkdir_counts_links(void **state)
{
    struct rig *rig = *state;
    uint32_t nlink = rig_attr(rig, rig->dir).nlink;

    rig_make(rig, rig->dir, "d", "dir", 0755);
    assert_int_equal(rig_attr(rig, rig->dir).nlink, nlink + 1);
    rig_make(rig, rig->dir, "f", "file", 0755);
    assert_int_equal(rig_attr(rig, rig->dir).nlink, nlink + 1);
    assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "d"), 0);
    assert_int_equal(rig_attr(rig, rig->dir).nlink, nlink);
}

static void
mknod_makes_what_is_a_node(void **state)
{
    static const mode_t bad[] = { S_IFREG, S_IFDIR, S_IFLNK, 0, 0170000 };
    struct rig *rig = *state;
    unsigned i;

    for (i = 0; i < COUNT(bad); i++)
        assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, "n", bad[i], 1, 3), -STORE_EBADTYPE);
    assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, "n", S_IFCHR, 4096, 0), -EINVAL);
    assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, "n", S_IFBLK, 0, 1048576), -EINVAL);
    assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, "n", S_IFCHR, UINT32_MAX, UINT32_MAX), -EINVAL);
    rig_assert_names(rig, rig->dir, "");
    NEEDS_IDENTITIES(rig);
    assert_int_equal(rig_mknod(rig, &rig_alice, rig->dir, "n", S_IFCHR, 1, 3), -EPERM);
    assert_int_equal(rig_mknod(rig, &rig_alice, rig->dir, "n", S_IFBLK, 1, 3), -EPERM);
    assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, "n", S_IFBLK, 4095, 1048575), 0);
    assert_int_equal(rig->call.op.child_attr.rdev_major, 4095);
    assert_int_equal(rig->call.op.child_attr.rdev_minor, 1048575);
}

static const struct CMUnitTest tests[] = {
    STORE_TEST(a_new_object_belongs_to_the_caller),
    STORE_TEST(creating_moves_the_directorys_times_and_reports_them),
    STORE_TEST(a_mode_is_taken_as_given),
    STORE_TEST(an_object_without_a_mode_gets_a_sensible_one),
    STORE_TEST(create_sets_size_and_times),
    STORE_TEST(only_root_makes_objects_of_others),
    STORE_TEST(a_setgid_directory_hands_its_group_on),
    STORE_TEST(a_name_that_is_there_is_not_made_again),
    STORE_TEST(unchecked_create_of_a_file_changes_its_size_only),
    STORE_TEST(unchecked_create_of_a_file_needs_no_right_on_the_directory),
    STORE_TEST(exclusive_create_may_be_sent_again_with_its_verifier_only),
    STORE_TEST(an_exclusive_verifier_does_not_outlive_the_file),
    STORE_TEST(mkdir_counts_links),
    STORE_TEST(mknod_makes_what_is_a_node),
};

int
main(void)
{
    return store_each_main(tests, COUNT(tests));
}
