/* tests/unit/test_memory_users.c - what one user may have of the store in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>

#include "storage/memory.h"
#include "tests/lib/store_rig.h"

#define PAGES 4                         /* that a user may have */
#define FILES 3

static struct rig rig_now;
static char data[8 * 4096];

static int
rig_up(void **state)
{
    const struct memory_config config = { .max_bytes = 1 << 20, .max_files = 100, .user_bytes = PAGES * 4096 + 100,
                                          .user_files = FILES, .root_mode = 01777 };

    memset(&rig_now, 0, sizeof(rig_now));
    rig_now.decides = true;
    assert_int_equal(memory_new(&config, &rig_now.store), 0);
    rig_now.dir = rig_now.store->root;
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
create(struct rig *rig, const struct store_cred *cred, const char *name)
{
    assert_int_equal(rig_create(rig, cred, rig->dir, name, STORE_GUARDED, MODE(0666)), 0);
    return rig_child(rig);
}

static void
data_over_the_quota_is_refused_and_what_fits_is_written(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = create(rig, &rig_alice, "f");

    assert_int_equal(rig_write(rig, &rig_alice, file, 0, data, sizeof(data)), 0);
    assert_int_equal(rig->call.op.r.write.done, PAGES * 4096);
    assert_int_equal(rig_write(rig, &rig_alice, file, PAGES * 4096, data, 1), -EDQUOT);
    assert_int_equal(rig_write(rig, &rig_alice, file, 0, data, 4096), 0);       /* there is a page already */
}

static void
each_user_has_a_quota_of_his_own(void **state)
{
    struct rig *rig = *state;
    struct store_node *alices = create(rig, &rig_alice, "a"), *bobs = create(rig, &rig_bob, "b");

    assert_int_equal(rig_write(rig, &rig_alice, alices, 0, data, PAGES * 4096), 0);
    assert_int_equal(rig_write(rig, &rig_bob, bobs, 0, data, PAGES * 4096), 0);
    assert_int_equal(rig_write(rig, &rig_bob, bobs, PAGES * 4096, data, 1), -EDQUOT);
}

static void
the_owner_pays_whoever_writes(void **state)
{
    struct rig *rig = *state;
    struct store_node *alices = create(rig, &rig_alice, "a"), *bobs = create(rig, &rig_bob, "b");

    assert_int_equal(rig_write(rig, &rig_bob, alices, 0, data, PAGES * 4096), 0);
    assert_int_equal(rig_write(rig, &rig_bob, alices, PAGES * 4096, data, 1), -EDQUOT);
    assert_int_equal(rig_write(rig, &rig_bob, bobs, 0, data, 4096), 0);
}

static void
root_is_not_limited_but_what_he_gives_away_counts(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = create(rig, &rig_root, "f"), *more = create(rig, &rig_alice, "more");
    struct store_setattr chown = { .set_uid = true, .uid = RIG_ALICE };

    assert_int_equal(rig_write(rig, &rig_root, file, 0, data, sizeof(data)), 0);
    assert_int_equal(rig->call.op.r.write.done, sizeof(data));
    assert_int_equal(rig_write(rig, &rig_alice, more, 0, data, 4096), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, chown), 0);
    assert_int_equal(rig_write(rig, &rig_alice, more, 4096, data, 4096), -EDQUOT);
    chown.uid = RIG_BOB;
    assert_int_equal(rig_setattr(rig, &rig_root, file, chown), 0);
    assert_int_equal(rig_write(rig, &rig_alice, more, 4096, data, 4096), 0);
}

static void
no_more_files_than_a_user_may_own(void **state)
{
    struct rig *rig = *state;

    create(rig, &rig_alice, "a");
    assert_int_equal(rig_mkdir(rig, &rig_alice, rig->dir, "d", NOTHING), 0);
    assert_int_equal(rig_symlink(rig, &rig_alice, rig->dir, "l", "x", 1), 0);
    assert_int_equal(rig_create(rig, &rig_alice, rig->dir, "b", STORE_GUARDED, NOTHING), -EDQUOT);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, "b"), -ENOENT);
    assert_int_equal(rig_mkdir(rig, &rig_alice, rig->dir, "b", NOTHING), -EDQUOT);
    assert_int_equal(rig_mknod(rig, &rig_alice, rig->dir, "b", S_IFIFO, 0, 0), -EDQUOT);
    assert_int_equal(rig_create(rig, &rig_bob, rig->dir, "b", STORE_GUARDED, NOTHING), 0);
    assert_int_equal(rig_link(rig, &rig_alice, rig_find(rig, rig->dir, "a"), rig->dir, "a2"), 0);
}

static void
what_is_removed_or_cut_can_be_used_again(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = create(rig, &rig_alice, "f");

    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_write(rig, &rig_alice, file, 0, data, PAGES * 4096), 0);
        assert_int_equal(rig_setattr(rig, &rig_alice, file, SIZE(0)), 0);
    }
    for (int i = 0; i < 3 * FILES; i++) {
        assert_int_equal(rig_write(rig, &rig_alice, create(rig, &rig_alice, "g"), 0, data, PAGES * 4096), 0);
        assert_int_equal(rig->call.op.r.write.done, PAGES * 4096);
        assert_int_equal(rig_remove(rig, &rig_alice, rig->dir, "g"), 0);
    }
    assert_int_equal(rig_write(rig, &rig_alice, file, 0, data, PAGES * 4096), 0);
}

static void
texts_of_links_count(void **state)
{
    static char text[4000];
    struct rig *rig = *state;
    struct store_node *file = create(rig, &rig_alice, "f");

    memset(text, 't', sizeof(text));
    assert_int_equal(rig_symlink(rig, &rig_alice, rig->dir, "a", text, sizeof(text)), 0);
    assert_int_equal(rig_write(rig, &rig_alice, file, 0, data, PAGES * 4096), 0);
    assert_int_equal(rig->call.op.r.write.done, (PAGES - 1) * 4096);
    assert_int_equal(rig_symlink(rig, &rig_alice, rig->dir, "b", text, sizeof(text)), -EDQUOT);
    assert_int_equal(rig_remove(rig, &rig_alice, rig->dir, "a"), 0);
    assert_int_equal(rig_symlink(rig, &rig_alice, rig->dir, "b", text, sizeof(text)), 0);
}

static void
going_back_to_a_snapshot_counts_anew(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = create(rig, &rig_alice, "f");
    struct memory_snapshot *snapshot;

    assert_int_equal(rig_write(rig, &rig_alice, file, 0, data, 4096), 0);
    assert_int_equal(memory_snapshot_new(rig->store, &snapshot), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_write(rig, &rig_alice, file, 4096, data, (PAGES - 1) * 4096), 0);
        assert_int_equal(rig->call.op.r.write.done, (PAGES - 1) * 4096);
        assert_int_equal(rig_write(rig, &rig_alice, file, PAGES * 4096, data, 1), -EDQUOT);
        create(rig, &rig_alice, "g");
        create(rig, &rig_alice, "h");
        assert_int_equal(rig_mkdir(rig, &rig_alice, rig->dir, "d", NOTHING), -EDQUOT);
        assert_int_equal(memory_restore(rig->store, snapshot), 0);
    }
    memory_snapshot_free(snapshot);
}

#define on_a_store(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        on_a_store(data_over_the_quota_is_refused_and_what_fits_is_written),
        on_a_store(each_user_has_a_quota_of_his_own),
        on_a_store(the_owner_pays_whoever_writes),
        on_a_store(root_is_not_limited_but_what_he_gives_away_counts),
        on_a_store(no_more_files_than_a_user_may_own),
        on_a_store(what_is_removed_or_cut_can_be_used_again),
        on_a_store(texts_of_links_count),
        on_a_store(going_back_to_a_snapshot_counts_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
