/* tests/unit/test_store_attr.c - what every store does: SETATTR. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/store_each.h"

static void
setattr_sets_every_mode(void **state)
{
    static const uint32_t modes[] = { 0, 0644, 0777, 04755, 02755, 01777, 07777 };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0600);
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0700);
    unsigned i;

    NEEDS_IDENTITIES(rig);
    for (i = 0; i < COUNT(modes); i++) {
        assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(modes[i])), 0);
        assert_int_equal(rig_attr(rig, file).mode, S_IFREG | modes[i]);
        assert_int_equal(rig_setattr(rig, &rig_root, dir, MODE(modes[i])), 0);
        assert_int_equal(rig_attr(rig, dir).mode, S_IFDIR | modes[i]);
    }
}

static void
setattr_moves_ctime_and_reports_before_and_after(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0600);
    struct store_attr before = rig_attr(rig, file), after;
    struct store_wcc wcc;

    rig_tick();
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(0640)), 0);
    wcc = rig->call.op.wcc;
    after = rig_attr(rig, file);
    assert_true(wcc.before_present);
    rig_assert_wcc(&wcc, before, after);
    assert_true(rig_is_later(after.ctime, before.ctime));
    assert_true(rig_same_time(after.mtime, before.mtime));
}

static void
setattr_of_nothing_changes_nothing(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0600);
    struct store_attr before = rig_attr(rig, file), after;

    assert_int_equal(rig_setattr(rig, &rig_root, file, NOTHING), 0);
    after = rig_attr(rig, file);
    assert_true(rig_same_time(after.mtime, before.mtime) && rig_same_time(after.atime, before.atime));
    assert_int_equal(after.mode, before.mode);
}

static void
a_guard_that_is_not_the_ctime_refuses_all_changes(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0600);
    struct store_attr before = rig_attr(rig, file);
    struct timespec guard = before.ctime;
    struct store_setattr set = MODE(0644);
    struct store_op *op;

    guard.tv_nsec ^= 1;
    op = rig_op(rig, &rig_root);
    op->u.setattr.set = &set;
    op->u.setattr.guard = &guard;
    assert_int_equal(rig_finish(rig, store_setattr(file, op)), -STORE_ENOTSYNC);
    assert_true(op->wcc.after.present);
    assert_int_equal(rig_attr(rig, file).mode, before.mode);
    guard = before.ctime;
    op = rig_op(rig, &rig_root);
    op->u.setattr.set = &set;
    op->u.setattr.guard = &guard;
    assert_int_equal(rig_finish(rig, store_setattr(file, op)), 0);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 0644);
}

static void
times_are_set_to_the_nanosecond_and_apart(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0600);
    struct timespec atime = { 1, 1 }, mtime = { 1700000000, 999999999 };
    struct store_setattr set = {
        .set_atime = STORE_TIME_SET, .set_mtime = STORE_TIME_SET, .atime = atime, .mtime = mtime
    };
    struct store_attr attr;

    assert_int_equal(rig_setattr(rig, &rig_root, file, set), 0);
    attr = rig_attr(rig, file);
    assert_true(rig_same_time(attr.atime, atime) && rig_same_time(attr.mtime, mtime));
    set.set_mtime = STORE_TIME_KEEP;
    set.atime.tv_sec = 0x80000000;
    assert_int_equal(rig_setattr(rig, &rig_root, file, set), 0);
    attr = rig_attr(rig, file);
    assert_true(attr.atime.tv_sec == 0x80000000 && rig_same_time(attr.mtime, mtime));
    set.set_atime = STORE_TIME_KEEP;
    set.set_mtime = STORE_TIME_NOW;
    assert_int_equal(rig_setattr(rig, &rig_root, file, set), 0);
    attr = rig_attr(rig, file);
    assert_true(attr.atime.tv_sec == 0x80000000 && labs(attr.mtime.tv_sec - time(NULL)) < 5);
}

/* open(O_TRUNC) of another's file: size 0, and mtime "now" alone. */
static void
a_writer_may_truncate_and_touch_one_of_the_times(void **state)
{
    struct store_setattr truncate = { .set_size = true, .set_mtime = STORE_TIME_NOW };
    struct store_setattr touch = { .set_atime = STORE_TIME_NOW };
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0666);
    assert_int_equal(rig_write(rig, &rig_alice, file, 0, "abc", 3), 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, truncate), 0);
    assert_int_equal(rig_attr(rig, file).size, 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, touch), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(0644)), 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, touch), -EACCES);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, truncate), -EACCES);
}

static void
only_the_owner_sets_times_but_a_writer_may_touch(void **state)
{
    struct store_setattr now = { .set_atime = STORE_TIME_NOW, .set_mtime = STORE_TIME_NOW };
    struct store_setattr then = { .set_atime = STORE_TIME_SET, .set_mtime = STORE_TIME_SET, .mtime = { 6, 0 } };
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0666);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, now), 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, then), -EPERM);
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(0444)), 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, now), -EACCES);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, now), 0);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, then), 0);
    assert_true(rig_attr(rig, file).mtime.tv_sec == 6);
}

static void
only_the_owner_changes_the_mode(void **state)
{
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0666);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, MODE(0)), -EPERM);
    assert_true(rig->call.op.wcc.after.present);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, MODE(0)), 0);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, MODE(0640)), 0);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 0640);
}

static void
only_root_gives_files_away(void **state)
{
    struct store_setattr to_bob = { .set_uid = true, .uid = RIG_BOB }, to_alice = { .set_uid = true, .uid = RIG_ALICE };
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0666);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, to_bob), -EPERM);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, to_bob), -EPERM);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, to_alice), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, to_bob), 0);
    assert_int_equal(rig_attr(rig, file).uid, RIG_BOB);
}

static void
an_owner_changes_the_group_to_his_own_only(void **state)
{
    struct store_setattr to_group = { .set_gid = true, .gid = RIG_GROUP };
    struct store_cred alice_in_group = rig_member(RIG_ALICE, RIG_ALICE, true);
    struct store_cred bob_in_group = rig_member(RIG_BOB, RIG_BOB, true);
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0666);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, to_group), -EPERM);
    assert_int_equal(rig_setattr(rig, &bob_in_group, file, to_group), -EPERM);
    assert_int_equal(rig_attr(rig, file).gid, RIG_ALICE);
    assert_int_equal(rig_setattr(rig, &alice_in_group, file, to_group), 0);
    assert_int_equal(rig_attr(rig, file).gid, RIG_GROUP);
}

static void
chmod_drops_setgid_for_a_group_that_is_not_the_callers(void **state)
{
    struct store_cred alice_in_group = rig_member(RIG_ALICE, RIG_ALICE, true);
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make_of_group(rig, "f", "file");
    assert_int_equal(rig_setattr(rig, &rig_alice, file, MODE(02755)), 0);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 0755);
    assert_int_equal(rig_setattr(rig, &alice_in_group, file, MODE(02755)), 0);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 02755);
}

static void
chown_of_a_file_takes_setuid_away(void **state)
{
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 06755);
    assert_int_equal(rig_setattr(rig, &rig_root, file, (struct store_setattr){ .set_uid = true, .uid = RIG_BOB }), 0);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 0755);
}

static void
a_writer_who_is_not_root_takes_setuid_away(void **state)
{
    struct rig *rig = *state;
    struct store_node *file;
    char byte = 'x';

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 06777);
    assert_int_equal(rig_write(rig, &rig_root, file, 0, &byte, 1), 0);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 06777);
    assert_int_equal(rig_write(rig, &rig_bob, file, 0, &byte, 1), 0);
    assert_int_equal(rig->call.op.wcc.after.mode, S_IFREG | 0777);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 0777);
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(04777)), 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, SIZE(0)), 0);
    assert_int_equal(rig_attr(rig, file).mode, S_IFREG | 0777);
}

static void
a_size_cuts_and_extends_with_zeros(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    char data[10000], back[10000];
    unsigned i;

    memset(data, 'd', sizeof(data));
    assert_int_equal(rig_write(rig, &rig_root, file, 0, data, sizeof(data)), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(4999)), 0);
    assert_int_equal(rig_attr(rig, file).size, 4999);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(10000)), 0);
    assert_int_equal(rig_read(rig, &rig_root, file, 0, sizeof(back), back), 0);
    assert_int_equal(rig->call.op.r.read.done, 10000);
    for (i = 0; i < sizeof(back); i++)
        assert_int_equal(back[i], i < 4999 ? 'd' : 0);
}

static void
setting_the_size_it_has_moves_the_times(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct store_attr before = rig_attr(rig, file), after;

    rig_tick();
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(0)), 0);
    after = rig_attr(rig, file);
    assert_true(rig_is_later(after.mtime, before.mtime) && rig_is_later(after.ctime, before.ctime));
}

static void
only_regular_files_have_a_size_to_set(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0755);
    struct store_node *link = rig_make(rig, rig->dir, "l", "link", 0);
    struct store_node *fifo = rig_make(rig, rig->dir, "p", "fifo", 0644);

    assert_int_equal(rig_setattr(rig, &rig_root, dir, SIZE(0)), -EISDIR);
    assert_int_equal(rig_setattr(rig, &rig_root, link, SIZE(0)), -EINVAL);
    assert_int_equal(rig_setattr(rig, &rig_root, fifo, SIZE(0)), -EINVAL);
    assert_int_equal(rig_attr(rig, link).size, 10);
}

static void
a_size_past_the_greatest_is_refused(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);

    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(UINT64_C(1) << 63)), -EFBIG);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(UINT64_MAX)), -EFBIG);
    assert_int_equal(rig_attr(rig, file).size, 0);
}

static void
truncation_needs_permission_to_write(void **state)
{
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0444);
    assert_int_equal(rig_write(rig, &rig_root, file, 0, "abc", 3), 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, SIZE(0)), -EACCES);
    assert_int_equal(rig_attr(rig, file).size, 3);
    assert_int_equal(rig_setattr(rig, &rig_alice, file, SIZE(2)), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(0446)), 0);
    assert_int_equal(rig_setattr(rig, &rig_bob, file, SIZE(1)), 0);
}

static void
attributes_of_a_link_are_its_own(void **state)
{
    struct store_setattr times = { .set_mtime = STORE_TIME_SET, .mtime = { 6, 7 } };
    struct rig *rig = *state;
    struct store_node *link = rig_make(rig, rig->dir, "l", "link", 0);

    assert_int_equal(rig_setattr(rig, &rig_root, link, MODE(0600)), -EOPNOTSUPP);
    assert_int_equal(rig_setattr(rig, &rig_root, link, times), 0);
    assert_true(rig_attr(rig, link).mtime.tv_sec == 6);
    NEEDS_IDENTITIES(rig);
    assert_int_equal(rig_setattr(rig, &rig_root, link, (struct store_setattr){ .set_uid = true, .uid = RIG_BOB }), 0);
    assert_int_equal(rig_attr(rig, link).uid, RIG_BOB);
}

static void
everything_at_once(void **state)
{
    struct store_setattr set = {
        .set_mode = true, .set_uid = true, .set_gid = true, .set_size = true, .mode = 0640, .uid = RIG_BOB,
        .gid = RIG_GROUP, .size = 2, .set_atime = STORE_TIME_SET, .set_mtime = STORE_TIME_SET, .atime = { 10, 0 },
        .mtime = { 20, 0 }
    };
    struct rig *rig = *state;
    struct store_node *file;
    struct store_attr attr;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0600);
    assert_int_equal(rig_write(rig, &rig_root, file, 0, "abcdef", 6), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, set), 0);
    attr = rig_attr(rig, file);
    assert_int_equal(attr.mode, S_IFREG | 0640);
    assert_true(attr.uid == RIG_BOB && attr.gid == RIG_GROUP && attr.size == 2);
    assert_true(attr.atime.tv_sec == 10 && attr.mtime.tv_sec == 20);
}

static const struct CMUnitTest tests[] = {
    STORE_TEST(setattr_sets_every_mode),
    STORE_TEST(setattr_moves_ctime_and_reports_before_and_after),
    STORE_TEST(setattr_of_nothing_changes_nothing),
    STORE_TEST(a_guard_that_is_not_the_ctime_refuses_all_changes),
    STORE_TEST(times_are_set_to_the_nanosecond_and_apart),
    STORE_TEST(a_writer_may_truncate_and_touch_one_of_the_times),
    STORE_TEST(only_the_owner_sets_times_but_a_writer_may_touch),
    STORE_TEST(only_the_owner_changes_the_mode),
    STORE_TEST(only_root_gives_files_away),
    STORE_TEST(an_owner_changes_the_group_to_his_own_only),
    STORE_TEST(chmod_drops_setgid_for_a_group_that_is_not_the_callers),
    STORE_TEST(chown_of_a_file_takes_setuid_away),
    STORE_TEST(a_writer_who_is_not_root_takes_setuid_away),
    STORE_TEST(a_size_cuts_and_extends_with_zeros),
    STORE_TEST(setting_the_size_it_has_moves_the_times),
    STORE_TEST(only_regular_files_have_a_size_to_set),
    STORE_TEST(a_size_past_the_greatest_is_refused),
    STORE_TEST(truncation_needs_permission_to_write),
    STORE_TEST(attributes_of_a_link_are_its_own),
    STORE_TEST(everything_at_once),
};

int
main(void)
{
    return store_each_main(tests, COUNT(tests));
}
