/* tests/unit/test_memory_snapshot.c - going back to what the store in memory had; and stores with the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/memory.h"
#include "tests/lib/store_rig.h"

#define ROUNDS 200

static struct rig rig_now;

static void
open_store(struct rig *rig, uint64_t seed)
{
    const struct memory_config config = { .max_bytes = 1 << 24, .max_files = 1000, .root_mode = 01777, .seed = seed,
                                          .counted_clock = seed != 0 };

    memset(rig, 0, sizeof(*rig));
    rig->decides = true;
    assert_int_equal(memory_new(&config, &rig->store), 0);
    rig->dir = rig->store->root;
}

static int
rig_up(void **state)
{
    open_store(&rig_now, 0);
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

static struct memory_snapshot *
take(struct rig *rig)
{
    struct memory_snapshot *snapshot;

    assert_int_equal(memory_snapshot_new(rig->store, &snapshot), 0);
    return snapshot;
}

static void
go_back(struct rig *rig, const struct memory_snapshot *snapshot)
{
    assert_int_equal(memory_restore(rig->store, snapshot), 0);
}

static void
must_contain(struct rig *rig, struct store_node *file, const char *text)
{
    char back[64] = "";

    assert_int_equal(rig_read(rig, &rig_root, file, 0, sizeof(back) - 1, back), 0);
    assert_int_equal(rig->call.op.r.read.done, strlen(text));
    assert_memory_equal(back, text, strlen(text));
}

static void
must_list(struct rig *rig, struct store_node *dir, const char *names)
{
    char text[512];

    rig_names(rig, dir, 100, text, sizeof(text));
    assert_string_equal(text, names);
}

static void
data_names_and_attributes_are_as_they_were(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir = rig_make(rig, rig->dir, "dir", "dir", 0755);
    struct store_node *file = rig_make(rig, dir, "file", "file", 0644);
    struct memory_snapshot *snapshot;
    struct store_attr before, after;
    char text[STORE_LINK_MAX + 1];

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "before", 6), 0);
    assert_int_equal(rig_symlink(rig, &rig_root, dir, "link", "there", 5), 0);
    before = rig_attr(rig, file);
    snapshot = take(rig);
    assert_int_equal(rig_write(rig, &rig_root, file, 0, "after, and longer", 17), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(0600)), 0);
    assert_int_equal(rig_rename(rig, &rig_root, dir, "file", rig->dir, "moved"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, dir, "link"), 0);
    assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "dir"), 0);
    go_back(rig, snapshot);
    must_list(rig, rig->dir, "dir ");
    dir = rig_find(rig, rig->dir, "dir");
    must_list(rig, dir, "file link ");
    file = rig_find(rig, dir, "file");
    after = rig_attr(rig, file);
    assert_memory_equal(&before, &after, sizeof(before));
    must_contain(rig, file, "before");
    assert_int_equal(rig_readlink(rig, rig_find(rig, dir, "link"), text), 0);
    assert_memory_equal(text, "there", 5);
    assert_int_equal(rig_lookup(rig, &rig_root, dir, ".."), 0);
    assert_memory_equal(rig->call.op.child.bytes, store_node_id(rig->store, rig->store->root)->bytes, 16);
    memory_snapshot_free(snapshot);
}

static void
a_node_in_use_is_good_after_it_if_its_file_was_there_then(void **state)
{
    struct rig *rig = *state;
    struct store_node *kept = rig_make(rig, rig->dir, "kept", "file", 0644), *later;
    struct memory_snapshot *snapshot;

    assert_int_equal(rig_write(rig, &rig_root, kept, 0, "kept", 4), 0);
    snapshot = take(rig);
    later = rig_make(rig, rig->dir, "later", "file", 0644);
    assert_int_equal(rig_write(rig, &rig_root, kept, 0, "changed", 7), 0);
    go_back(rig, snapshot);
    must_contain(rig, kept, "kept");
    assert_int_equal(rig_write(rig, &rig_root, kept, 4, "!", 1), 0);
    must_contain(rig, rig_find(rig, rig->dir, "kept"), "kept!");
    assert_int_equal(rig_write(rig, &rig_root, later, 0, "x", 1), -ESTALE);
    memory_snapshot_free(snapshot);
}

static void
ids_of_what_was_made_since_are_stale_for_ever(void **state)
{
    struct rig *rig = *state;
    struct memory_snapshot *snapshot = take(rig);
    struct store_id id;
    struct store_node *node;

    for (int i = 0; i < 5; i++) {
        assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_GUARDED, NOTHING), 0);
        if (i > 0)
            assert_int_equal(rig_get(rig, &id, &node), -ESTALE);
        assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, "f"), 0);
        id = rig->call.op.child;
        go_back(rig, snapshot);
        assert_int_equal(rig_get(rig, &id, &node), -ESTALE);
    }
    memory_snapshot_free(snapshot);
}

static void
ids_of_what_was_removed_since_are_good_again(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644), *again;
    struct store_id id = *store_node_id(rig->store, file);
    struct memory_snapshot *snapshot;

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "back", 4), 0);
    snapshot = take(rig);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
    assert_int_equal(rig_get(rig, &id, &again), -ESTALE);
    go_back(rig, snapshot);
    assert_int_equal(rig_get(rig, &id, &again), 0);
    must_contain(rig, again, "back");
    memory_snapshot_free(snapshot);
}

static void
hard_links_stay_one_file(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "a", "file", 0644);
    struct memory_snapshot *snapshot;

    assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, "b"), 0);
    snapshot = take(rig);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "a"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "b"), 0);
    go_back(rig, snapshot);
    assert_int_equal(rig_write(rig, &rig_root, rig_find(rig, rig->dir, "a"), 0, "one", 3), 0);
    must_contain(rig, rig_find(rig, rig->dir, "b"), "one");
    assert_int_equal(rig_attr(rig, rig_find(rig, rig->dir, "a")).nlink, 2);
    memory_snapshot_free(snapshot);
}

static void
a_listing_goes_on_where_it_was(void **state)
{
    static _Alignas(8) char buffer[4096];
    struct rig *rig = *state;
    const struct store_dirent *dirent = (const struct store_dirent *)buffer;
    struct memory_snapshot *snapshot;
    uint64_t cookie = 2;

    for (const char *name = "a\0b\0c\0d\0"; *name != '\0'; name += 2)
        rig_make(rig, rig->dir, name, "file", 0644);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "b"), 0);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, cookie, buffer, sizeof(buffer), 1, false), 0);
    cookie = dirent->cookie;
    snapshot = take(rig);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "a"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "c"), 0);
    go_back(rig, snapshot);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, cookie, buffer, sizeof(buffer), 9, false), 0);
    assert_int_equal(rig->call.op.r.dir.entries, 2);
    assert_memory_equal(dirent->name, "c", 1);
    memory_snapshot_free(snapshot);
}

static void
space_is_as_it_was(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct memory_snapshot *snapshot;
    struct store_fs before;

    assert_int_equal(rig_write(rig, &rig_root, file, 100000, "x", 1), 0);
    assert_int_equal(rig_fsstat(rig, rig->dir), 0);
    before = rig->call.op.r.fs;
    snapshot = take(rig);
    for (int i = 0; i < 100; i++) {
        char name[16];

        snprintf(name, sizeof(name), "more%d", i);
        rig_make(rig, rig->dir, name, "dir", 0755);
        assert_int_equal(rig_write(rig, &rig_root, file, (uint64_t)i * 8192, "x", 1), 0);
    }
    go_back(rig, snapshot);
    assert_int_equal(rig_fsstat(rig, rig->dir), 0);
    assert_memory_equal(&before, &rig->call.op.r.fs, sizeof(before));
    memory_snapshot_free(snapshot);
}

static void
what_is_restored_is_stable(void **state)
{
    static struct rig rig;
    const struct memory_config config = { .max_bytes = 1 << 24, .max_files = 100, .root_mode = 01777, .unstable = true };
    struct memory_snapshot *snapshot = NULL;
    struct store_node *file;
    struct store_op *op;

    (void)state;
    rig.decides = true;
    assert_int_equal(memory_new(&config, &rig.store), 0);
    rig.dir = rig.store->root;
    file = rig_make(&rig, rig.dir, "f", "file", 0644);
    for (const char *text = "one\0two\0"; *text != '\0'; text += 4) {
        op = rig_op(&rig, &rig_root);
        op->u.write.length = 3;
        op->u.write.data = text;
        op->u.write.stable = STORE_UNSTABLE;
        assert_int_equal(rig_finish(&rig, store_write(file, op)), 0);
        assert_int_equal(rig.call.op.r.write.committed, STORE_UNSTABLE);
        if (*text == 'o')
            snapshot = take(&rig);
    }
    go_back(&rig, snapshot);
    memory_crash(rig.store);
    must_contain(&rig, file, "one");
    memory_snapshot_free(snapshot);
    rig_down(&(void *){ &rig });
}

static void
a_snapshot_outlives_its_store_and_is_no_other_ones(void **state)
{
    static struct rig other, same_seed;
    struct rig *rig = *state;
    struct memory_snapshot *snapshot = take(rig), *seeded;

    open_store(&other, 7);
    open_store(&same_seed, 7);
    assert_int_equal(memory_restore(other.store, snapshot), -EXDEV);
    seeded = take(&other);
    assert_int_equal(memory_restore(same_seed.store, seeded), -EXDEV);
    store_free(other.store);
    memory_snapshot_free(seeded);
    store_free(same_seed.store);
    memory_snapshot_free(snapshot);
}

struct writer {
    struct rig rig;
    atomic_bool stop;
    atomic_uint odd;                    /* how often a write was neither done nor stale */
};

static void *
write_on(void *arg)
{
    struct writer *writer = arg;

    while (!writer->stop) {
        int err = rig_create(&writer->rig, &rig_alice, writer->rig.dir, "w", STORE_UNCHECKED, NOTHING);

        if (err == 0)
            err = rig_write(&writer->rig, &rig_alice, writer->rig.store->root, 0, "x", 1);
        writer->odd += err != -EISDIR;
        rig_remove(&writer->rig, &rig_alice, writer->rig.dir, "w");
    }
    return NULL;
}

static void
calls_of_others_come_before_or_after(void **state)
{
    static struct writer writer;
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct memory_snapshot *snapshot;
    pthread_t thread;

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "f", 1), 0);
    snapshot = take(rig);
    memset(&writer, 0, sizeof(writer));
    writer.rig.store = rig->store;
    writer.rig.dir = rig->dir;
    assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct memory_snapshot *meanwhile = take(rig);

        go_back(rig, snapshot);
        must_contain(rig, file, "f");
        go_back(rig, meanwhile);
        memory_snapshot_free(meanwhile);
    }
    writer.stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(writer.odd, 0);
    go_back(rig, snapshot);
    must_list(rig, rig->dir, "f ");
    memory_snapshot_free(snapshot);
}

/* What a store tells about itself and a few files that are made in it. */
static void
describe(struct rig *rig, char *text, size_t size)
{
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    const struct store_id *id = store_node_id(rig->store, file);
    struct store_attr attr;
    size_t used;

    assert_int_equal(rig_write(rig, &rig_root, file, 0, "text", 4), 0);
    attr = rig_attr(rig, file);
    used = (size_t)snprintf(text, size, "%llx %llx %llu %lld.%09ld %llx %llx ", (unsigned long long)attr.fsid,
                            (unsigned long long)rig->store->write_verifier, (unsigned long long)attr.fileid,
                            (long long)attr.ctime.tv_sec, attr.ctime.tv_nsec, (unsigned long long)rig->store->fsid_hint[0],
                            (unsigned long long)rig->store->fsid_hint[1]);
    for (unsigned i = 0; i < id->len; i++)
        used += (size_t)snprintf(text + used, size - used, "%02x", id->bytes[i]);
    store_renew_verifier(rig->store);
    snprintf(text + used, size - used, " %llx", (unsigned long long)rig->store->write_verifier);
}

static void
stores_with_the_same_seed_are_the_same_and_others_are_not(void **state)
{
    static struct rig one, same, other;
    char texts[3][512];

    (void)state;
    open_store(&one, 5);
    open_store(&same, 5);
    open_store(&other, 6);
    describe(&one, texts[0], sizeof(texts[0]));
    describe(&same, texts[1], sizeof(texts[1]));
    describe(&other, texts[2], sizeof(texts[2]));
    assert_string_equal(texts[0], texts[1]);
    assert_string_not_equal(texts[0], texts[2]);
    assert_true(one.call.op.attr.ctime.tv_sec >= 946684800 && one.call.op.attr.ctime.tv_sec < 946684801);
    rig_down(&(void *){ &one });
    rig_down(&(void *){ &same });
    rig_down(&(void *){ &other });
}

#define on_a_store(test) cmocka_unit_test_setup_teardown(test, rig_up, rig_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        on_a_store(data_names_and_attributes_are_as_they_were),
        on_a_store(a_node_in_use_is_good_after_it_if_its_file_was_there_then),
        on_a_store(ids_of_what_was_made_since_are_stale_for_ever),
        on_a_store(ids_of_what_was_removed_since_are_good_again),
        on_a_store(hard_links_stay_one_file),
        on_a_store(a_listing_goes_on_where_it_was),
        on_a_store(space_is_as_it_was),
        cmocka_unit_test(what_is_restored_is_stable),
        on_a_store(a_snapshot_outlives_its_store_and_is_no_other_ones),
        on_a_store(calls_of_others_come_before_or_after),
        cmocka_unit_test(stores_with_the_same_seed_are_the_same_and_others_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
