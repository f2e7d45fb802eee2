/* tests/unit/test_memory_crash.c - what a store in memory loses by a crash, compared with a file that is kept beside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "storage/memory.h"
#include "tests/lib/bytes.h"
#include "tests/lib/store_rig.h"

#define PAGE 4096
#define FILE_MAX (40 * PAGE)
#define FAR (UINT64_C(1) << 40)
#define ROUNDS 300
#define STEPS 12

static struct rig rig_now;

static void
open_store(struct rig *rig, bool unstable)
{
    struct memory_config config = { .max_bytes = 1 << 30, .max_files = 1000, .root_mode = 01777, .unstable = unstable };

    memset(rig, 0, sizeof(*rig));
    rig->decides = true;
    assert_int_equal(memory_new(&config, &rig->store), 0);
    rig->dir = rig->store->root;
}

static int
rig_up(void **state)
{
    open_store(&rig_now, true);
    *state = &rig_now;
    return 0;
}

static int
rig_down(void **state)
{
    struct rig *rig = *state;

    rig_put_all(rig);
    store_free(rig->store);
    return 0;
}

static struct store_node *
new_file(struct rig *rig, const char *name)
{
    return rig_make(rig, rig->store->root, name, "file", 0644);
}

/* Returns how stable it is. */
static enum store_stability
write_as(struct rig *rig, struct store_node *file, uint64_t offset, const void *data, uint32_t len,
         enum store_stability stable)
{
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.write.offset = offset;
    op->u.write.length = len;
    op->u.write.data = data;
    op->u.write.stable = stable;
    assert_int_equal(rig_finish(rig, store_write(file, op)), 0);
    return op->r.write.committed;
}

static enum store_stability
write_text(struct rig *rig, struct store_node *file, uint64_t offset, const char *text, enum store_stability stable)
{
    return write_as(rig, file, offset, text, (uint32_t)strlen(text), stable);
}

static void
commit(struct rig *rig, struct store_node *file, uint64_t offset, uint64_t length)
{
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.commit.offset = offset;
    op->u.commit.length = length;
    assert_int_equal(rig_finish(rig, store_commit(file, op)), 0);
}

static void
set_size(struct rig *rig, struct store_node *file, uint64_t size)
{
    assert_int_equal(rig_setattr(rig, &rig_root, file, (struct store_setattr){ .set_size = true, .size = size }), 0);
}

static void
assert_holds(struct rig *rig, struct store_node *file, const char *text)
{
    char data[64];

    assert_int_equal(rig_read(rig, &rig_root, file, 0, sizeof(data), data), 0);
    assert_int_equal(rig->call.op.r.read.done, strlen(text));
    assert_memory_equal(data, text, strlen(text));
}

static void
what_was_committed_or_written_stable_stays(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "f"), *other = new_file(rig, "g"), *gone = new_file(rig, "h");
    uint64_t verifier = rig->store->write_verifier;

    assert_int_equal(write_text(rig, file, 0, "file", STORE_FILE_SYNC), STORE_FILE_SYNC);
    assert_int_equal(write_text(rig, other, 0, "other", STORE_UNSTABLE), STORE_UNSTABLE);
    commit(rig, other, 0, 0);
    assert_int_equal(write_text(rig, gone, 0, "gone", STORE_UNSTABLE), STORE_UNSTABLE);
    memory_crash(rig->store);
    assert_holds(rig, file, "file");
    assert_holds(rig, other, "other");
    assert_holds(rig, gone, "");
    assert_true(rig->store->write_verifier != verifier);
    memory_crash(rig->store);
    assert_holds(rig, file, "file");
}

static void
an_overwritten_page_is_as_it_was_but_for_what_was_stable(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "f");

    write_text(rig, file, 0, "0123456789", STORE_FILE_SYNC);
    write_text(rig, file, 2, "xxxx", STORE_UNSTABLE);
    write_text(rig, file, 3, "S", STORE_DATA_SYNC);
    write_text(rig, file, 3, "y", STORE_UNSTABLE);
    memory_crash(rig->store);
    assert_holds(rig, file, "012S456789");
}

static void
times_of_a_file_that_has_lost_something_move_and_of_no_other(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "f"), *other = new_file(rig, "g");
    struct timespec before, others, now;

    write_text(rig, file, 0, "gone", STORE_UNSTABLE);
    before = rig_attr(rig, file).mtime;
    others = rig_attr(rig, other).mtime;
    memory_crash(rig->store);
    now = rig_attr(rig, file).mtime;
    assert_memory_not_equal(&now, &before, sizeof(before));
    now = rig_attr(rig, other).mtime;
    assert_memory_equal(&now, &others, sizeof(others));
}

static void
sizes_that_were_set_are_stable(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "f"), *other = new_file(rig, "g");

    write_text(rig, file, 0, "stable", STORE_FILE_SYNC);
    write_text(rig, file, 0, "GONE!!", STORE_UNSTABLE);
    set_size(rig, file, 3);
    set_size(rig, file, 5);
    memory_crash(rig->store);
    assert_int_equal(rig_attr(rig, file).size, 5);
    write_text(rig, other, 0, "gone", STORE_UNSTABLE);
    set_size(rig, other, 0);
    write_text(rig, other, 0, "kept", STORE_FILE_SYNC);
    memory_crash(rig->store);
    assert_holds(rig, other, "kept");
}

static void
a_sparse_file_costs_what_it_has(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "f");

    write_text(rig, file, FAR, "far", STORE_UNSTABLE);
    commit(rig, file, FAR - PAGE, 2 * PAGE);
    write_text(rig, file, 3 * FAR, "farther", STORE_UNSTABLE);
    commit(rig, file, 0, FAR);
    memory_crash(rig->store);
    assert_int_equal(rig_attr(rig, file).size, FAR + 3);
}

static void
names_stay_and_files_that_are_removed_are_gone(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "f");

    write_text(rig, file, 0, "gone", STORE_UNSTABLE);
    assert_int_equal(rig_rename(rig, &rig_root, rig->store->root, "f", rig->store->root, "g"), 0);
    new_file(rig, "h");
    write_text(rig, file, 0, "gone", STORE_UNSTABLE);
    assert_int_equal(rig_remove(rig, &rig_root, rig->store->root, "h"), 0);
    memory_crash(rig->store);
    assert_holds(rig, file, "");
    assert_int_equal(rig_lookup(rig, &rig_root, rig->store->root, "g"), 0);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->store->root, "h"), -ENOENT);
}

static void
without_the_setting_all_is_stable_at_once(void **state)
{
    struct rig *rig = &rig_now;
    struct store_node *file;

    (void)state;
    open_store(rig, false);
    file = new_file(rig, "f");
    assert_int_equal(write_text(rig, file, 0, "kept", STORE_UNSTABLE), STORE_FILE_SYNC);
    memory_crash(rig->store);
    assert_holds(rig, file, "kept");
    rig_put_all(rig);
    store_free(rig->store);
}

/* A file, and what must be of it after a crash: page by page, as a disk would have it. */
struct model {
    uint8_t now[FILE_MAX], stable[FILE_MAX];
    uint64_t size, stable_size;
    bool unstable;
};

static void
model_write(struct model *model, uint64_t offset, const uint8_t *data, uint32_t len, bool stable)
{
    if (!stable && !model->unstable) {
        model->unstable = true;
        model->stable_size = model->size;
    }
    memcpy(model->now + offset, data, len);
    model->size = MAX(model->size, offset + len);
    if (stable)
        memcpy(model->stable + offset, data, len);
    if (stable)
        model->stable_size = model->unstable ? MAX(model->stable_size, offset + len) : model->size;
}

static void
model_commit(struct model *model, uint64_t offset, uint64_t length)
{
    uint64_t end = length == 0 ? model->size : MIN(offset + length, model->size);
    uint64_t first = offset / PAGE * PAGE, last = MIN((end + PAGE - 1) / PAGE * PAGE, FILE_MAX);

    if (!model->unstable)
        return;
    if (offset == 0 && end == model->size) {
        memcpy(model->stable, model->now, FILE_MAX);
        model->unstable = false;
        return;
    }
    if (first < last)
        memcpy(model->stable + first, model->now + first, last - first);
    model->stable_size = MAX(model->stable_size, end);
}

static void
model_set_size(struct model *model, uint64_t size)
{
    if (size < FILE_MAX) {
        memset(model->now + size, 0, FILE_MAX - size);
        memset(model->stable + size, 0, FILE_MAX - size);
    }
    model->size = size;
    model->stable_size = size;
}

static void
model_crash(struct model *model)
{
    if (!model->unstable)
        return;
    model->unstable = false;
    model->size = model->stable_size;
    memset(model->stable + model->size, 0, FILE_MAX - model->size);
    memcpy(model->now, model->stable, FILE_MAX);
}

static void
step(struct rig *rig, struct store_node *file, struct model *model, struct bytes_random *random)
{
    static uint8_t data[3 * PAGE];
    uint64_t offset = bytes_random_below(random, FILE_MAX - sizeof(data));
    uint32_t len = (uint32_t)bytes_random_below(random, sizeof(data)) + 1;
    bool stable = bytes_random_below(random, 3) == 0;

    bytes_random_fill(random, data, len);
    switch (bytes_random_below(random, 6)) {
    case 0:
        commit(rig, file, offset, len);
        model_commit(model, offset, len);
        break;
    case 1:
        commit(rig, file, 0, 0);
        model_commit(model, 0, 0);
        break;
    case 2:
        set_size(rig, file, offset);
        model_set_size(model, offset);
        break;
    default:
        write_as(rig, file, offset, data, len, stable ? STORE_FILE_SYNC : STORE_UNSTABLE);
        model_write(model, offset, data, len, stable);
    }
}

static void
what_is_lost_is_what_a_model_says(void **state)
{
    static struct model model;
    static uint8_t data[FILE_MAX];
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "f");

    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        struct bytes_random random = bytes_random_seed(seed);

        for (int i = 0; i < STEPS; i++)
            step(rig, file, &model, &random);
        memory_crash(rig->store);
        model_crash(&model);
        assert_int_equal(rig_attr(rig, file).size, model.size);
        assert_int_equal(rig_read(rig, &rig_root, file, 0, FILE_MAX, data), 0);
        if (memcmp(data, model.now, model.size) != 0)
            fail_msg("round %d: other bytes", (int)seed);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_committed_or_written_stable_stays, rig_up, rig_down),
        cmocka_unit_test_setup_teardown(an_overwritten_page_is_as_it_was_but_for_what_was_stable, rig_up, rig_down),
        cmocka_unit_test_setup_teardown(times_of_a_file_that_has_lost_something_move_and_of_no_other, rig_up, rig_down),
        cmocka_unit_test_setup_teardown(sizes_that_were_set_are_stable, rig_up, rig_down),
        cmocka_unit_test_setup_teardown(a_sparse_file_costs_what_it_has, rig_up, rig_down),
        cmocka_unit_test_setup_teardown(names_stay_and_files_that_are_removed_are_gone, rig_up, rig_down),
        cmocka_unit_test(without_the_setting_all_is_stable_at_once),
        cmocka_unit_test_setup_teardown(what_is_lost_is_what_a_model_says, rig_up, rig_down),
    };

    return cmocka_run_group_tests_name("memory crash", tests, NULL, NULL);
}
