/* tests/unit/test_store_data.c - what every store does: READ, WRITE, COMMIT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/lib/store_each.h"

static void
what_was_written_is_read(void **state)
{
    static const struct {
        uint64_t offset;
        uint32_t length;
    } pieces[] = { { 0, 20000 }, { 1, 1 }, { 3, 4093 }, { 4095, 2 }, { 4096, 4096 }, { 8191, 8193 }, { 19999, 1 } };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    uint8_t data[20000], back[20000];
    unsigned i;

    for (i = 0; i < sizeof(data); i++)
        data[i] = i * 31 + i / 256;
    assert_int_equal(rig_write(rig, &rig_root, file, 0, data, sizeof(data)), 0);
    assert_int_equal(rig->call.op.r.write.done, sizeof(data));
    assert_int_equal(rig_attr(rig, file).size, sizeof(data));
    for (i = 0; i < COUNT(pieces); i++) {
        assert_int_equal(rig_read(rig, &rig_root, file, pieces[i].offset, pieces[i].length, back), 0);
        assert_int_equal(rig->call.op.r.read.done, pieces[i].length);
        assert_int_equal(rig->call.op.r.read.eof, pieces[i].offset + pieces[i].length == sizeof(data));
        assert_memory_equal(back, data + pieces[i].offset, pieces[i].length);
    }
}

static void
eof_is_told_exactly(void **state)
{
    static const struct {
        uint64_t offset;
        uint32_t length, done;
        bool eof;
    } reads[] = {
        { 0, 10, 10, true }, { 5, 5, 5, true }, { 9, 1, 1, true }, { 5, 6, 5, true }, { 0, 1000, 10, true },
        { 0, 9, 9, false }, { 5, 4, 4, false }, { 0, 0, 0, false }, { 5, 0, 0, false }, { 10, 0, 0, true },
        { 10, 1, 0, true }, { 11, 1, 0, true }, { UINT64_C(1) << 40, 4096, 0, true }, { INT64_MAX, 4096, 0, true },
        { UINT64_C(1) << 63, 1, 0, true }, { UINT64_MAX, 1, 0, true }, { UINT64_MAX - 4095, 8192, 0, true },
    };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    char data[8192];
    unsigned i;

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "0123456789", 10), 0);
    for (i = 0; i < COUNT(reads); i++) {
        assert_int_equal(rig_read(rig, &rig_root, file, reads[i].offset, reads[i].length, data), 0);
        assert_int_equal(rig->call.op.r.read.done, reads[i].done);
        assert_int_equal(rig->call.op.r.read.eof, reads[i].eof);
        assert_true(rig->call.op.attr.present && rig->call.op.attr.size == 10);
    }
}

static void
holes_read_as_zeros_and_take_no_space(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    uint64_t far = UINT64_C(1) << 40;
    char data[16], zeros[16] = { 0 };

    assert_int_equal(rig_write(rig, &rig_root, file, far, "end", 3), 0);
    assert_true(rig_attr(rig, file).size == far + 3);
    assert_true(rig_attr(rig, file).used < 1 << 20);
    assert_int_equal(rig_read(rig, &rig_root, file, far - 8, 16, data), 0);
    assert_int_equal(rig->call.op.r.read.done, 11);
    assert_memory_equal(data, "\0\0\0\0\0\0\0\0end", 11);
    assert_int_equal(rig_read(rig, &rig_root, file, 12345, 16, data), 0);
    assert_memory_equal(data, zeros, 16);
    assert_false(rig->call.op.r.read.eof);
}

static void
a_write_past_the_end_leaves_zeros_in_between(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    char data[16];

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "0123456789", 10), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(3)), 0);
    assert_int_equal(rig_write(rig, &rig_root, file, 8, "x", 1), 0);
    assert_int_equal(rig_read(rig, &rig_root, file, 0, 16, data), 0);
    assert_int_equal(rig->call.op.r.read.done, 9);
    assert_memory_equal(data, "012\0\0\0\0\0x", 9);
}

static void
write_moves_times_and_reports_before_and_after(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct store_attr before = rig_attr(rig, file), after;
    struct store_wcc wcc;

    rig_tick();
    assert_int_equal(rig_write(rig, &rig_root, file, 0, "hello", 5), 0);
    wcc = rig->call.op.wcc;
    after = rig_attr(rig, file);
    assert_true(wcc.before_present);
    rig_assert_wcc(&wcc, before, after);
    assert_true(rig_is_later(after.mtime, before.mtime) && rig_is_later(after.ctime, before.ctime));
    assert_int_equal(after.size, 5);
}

static void
a_write_is_as_stable_as_asked(void **state)
{
    static const enum store_stability asked[] = { STORE_UNSTABLE, STORE_DATA_SYNC, STORE_FILE_SYNC };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    unsigned i;

    for (i = 0; i < COUNT(asked); i++) {
        struct store_op *op = rig_op(rig, &rig_root);

        op->u.write.length = 1;
        op->u.write.data = "x";
        op->u.write.stable = asked[i];
        assert_int_equal(rig_finish(rig, store_write(file, op)), 0);
        assert_true(op->r.write.committed >= asked[i]);
    }
}

static void
a_write_of_nothing_changes_nothing_but_needs_permission(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct store_attr before, after;

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "abc", 3), 0);
    before = rig_attr(rig, file);
    assert_int_equal(rig_write(rig, &rig_root, file, 1000, "", 0), 0);
    assert_int_equal(rig->call.op.r.write.done, 0);
    after = rig_attr(rig, file);
    assert_true(after.size == 3 && rig_same_time(after.mtime, before.mtime) && rig_same_time(after.ctime, before.ctime));
    NEEDS_IDENTITIES(rig);
    assert_int_equal(rig_write(rig, &rig_bob, file, 0, "", 0), -EACCES);
}

static void
a_write_past_the_greatest_offset_is_refused(void **state)
{
    static const struct {
        uint64_t offset;
        uint32_t length;
    } writes[] = {
        { INT64_MAX, 1 }, { UINT64_C(1) << 63, 1 }, { UINT64_MAX, 2 }, { UINT64_MAX - 1, 1 }, { INT64_MAX - 1, 2 }
    };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    unsigned i;

    for (i = 0; i < COUNT(writes); i++)
        assert_int_equal(rig_write(rig, &rig_root, file, writes[i].offset, "xx", writes[i].length), -EFBIG);
    assert_int_equal(rig_attr(rig, file).size, 0);
}

static void
data_is_of_regular_files_only(void **state)
{
    static const char *const types[] = { "link", "fifo", "sock" };
    struct rig *rig = *state;
    char byte;
    unsigned i;

    assert_int_equal(rig_read(rig, &rig_root, rig->dir, 0, 1, &byte), -EISDIR);
    assert_int_equal(rig_write(rig, &rig_root, rig->dir, 0, "x", 1), -EISDIR);
    assert_int_equal(rig_commit(rig, &rig_root, rig->dir), -EISDIR);
    for (i = 0; i < COUNT(types); i++) {
        struct store_node *node = rig_make(rig, rig->dir, types[i], types[i], 0666);

        assert_int_equal(rig_read(rig, &rig_root, node, 0, 1, &byte), -EINVAL);
        assert_int_equal(rig_write(rig, &rig_root, node, 0, "x", 1), -EINVAL);
        assert_int_equal(rig_commit(rig, &rig_root, node), -EINVAL);
    }
}

static void
reading_moves_an_access_time_before_the_last_change(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct store_attr before;
    char data[4];

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "abc", 3), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file,
                                 (struct store_setattr){ .set_atime = STORE_TIME_SET, .atime = { 1000, 0 } }), 0);
    before = rig_attr(rig, file);
    assert_int_equal(rig_read(rig, &rig_root, file, 0, 3, data), 0);
    assert_true(rig_same_time(rig_attr(rig, file).mtime, before.mtime));
    assert_true(rig_same_time(rig_attr(rig, file).ctime, before.ctime));
    if (rig->path[0] == '\0')                           /* in memory */
        assert_true(rig_attr(rig, file).atime.tv_sec > 1000);           /* else the mount may say noatime */
}

static void
commit_answers_for_any_range(void **state)
{
    static const struct {
        uint64_t offset, length;
    } ranges[] = {
        { 0, 0 }, { 1, 1 }, { 100, 0 }, { UINT64_C(1) << 63, 0 }, { UINT64_MAX, 2 }, { UINT64_MAX - 4095, 8192 }
    };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    uint64_t verifier = rig->store->write_verifier;
    unsigned i;

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "abc", 3), 0);
    for (i = 0; i < COUNT(ranges); i++) {
        struct store_op *op = rig_op(rig, &rig_root);

        op->u.commit.offset = ranges[i].offset;
        op->u.commit.length = ranges[i].length;
        assert_int_equal(rig_finish(rig, store_commit(file, op)), 0);
        assert_true(op->wcc.after.present && op->wcc.after.size == 3);
    }
    assert_true(rig->store->write_verifier == verifier);
}

static void
a_renewed_verifier_is_another(void **state)
{
    struct rig *rig = *state;
    uint64_t old = rig->store->write_verifier;
    unsigned i;

    for (i = 0; i < 100; i++) {
        store_renew_verifier(rig->store);
        assert_true(rig->store->write_verifier != old);
        old = rig->store->write_verifier;
    }
}

static const struct CMUnitTest tests[] = {
    STORE_TEST(what_was_written_is_read),
    STORE_TEST(eof_is_told_exactly),
    STORE_TEST(holes_read_as_zeros_and_take_no_space),
    STORE_TEST(a_write_past_the_end_leaves_zeros_in_between),
    STORE_TEST(write_moves_times_and_reports_before_and_after),
    STORE_TEST(a_write_is_as_stable_as_asked),
    STORE_TEST(a_write_of_nothing_changes_nothing_but_needs_permission),
    STORE_TEST(a_write_past_the_greatest_offset_is_refused),
    STORE_TEST(data_is_of_regular_files_only),
    STORE_TEST(reading_moves_an_access_time_before_the_last_change),
    STORE_TEST(commit_answers_for_any_range),
    STORE_TEST(a_renewed_verifier_is_another),
};

int
main(void)
{
    return store_each_main(tests, COUNT(tests));
}
