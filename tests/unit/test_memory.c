/* tests/unit/test_memory.c - what only the store in memory has: bounds, order of entries, size, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/memory.h"
#include "tests/lib/store_rig.h"

#define MANY 200000
#define THREADS 4
#define ROUNDS 300

static struct rig rig_now;

static void
open_store(struct rig *rig, uint64_t max_bytes, uint64_t max_files)
{
    struct memory_config config = { .max_bytes = max_bytes, .max_files = max_files, .root_mode = 01777 };

    memset(rig, 0, sizeof(*rig));
    rig->decides = true;
    assert_int_equal(memory_new(&config, &rig->store), 0);
    rig->dir = rig->store->root;
}

static int
rig_up(void **state)
{
    open_store(&rig_now, UINT64_C(1) << 30, 1000000);
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

static int
small_up(void **state)
{
    open_store(&rig_now, 4 * 4096 + 100, 4);
    *state = &rig_now;
    return 0;
}

static void
the_root_is_as_configured(void **state)
{
    struct rig *rig = *state;
    struct store_attr attr = rig_attr(rig, rig->store->root);

    assert_int_equal(attr.mode, S_IFDIR | 01777);
    assert_true(attr.nlink == 2 && attr.uid == 0 && attr.gid == 0);
    assert_false(rig->store->read_only);
    assert_string_equal(rig->store->ops->name, "memory");
}

static void
two_stores_do_not_mix(void **state)
{
    struct rig *rig = *state;
    static struct rig other;
    struct store_node *node;

    open_store(&other, 1 << 20, 100);
    assert_int_equal(rig_get(&other, store_node_id(rig->store, rig->store->root), &node), -EBADMSG);
    assert_int_equal(rig_get(rig, store_node_id(other.store, other.store->root), &node), -EBADMSG);
    assert_true(rig_attr(rig, rig->store->root).fsid != rig_attr(&other, other.store->root).fsid);
    assert_memory_not_equal(rig->store->fsid_hint, other.store->fsid_hint, sizeof(other.store->fsid_hint));
    assert_true(rig->store->write_verifier != other.store->write_verifier);
    store_free(other.store);
}

static void
a_write_that_fits_in_part_is_short_and_then_there_is_no_space(void **state)
{
    static char data[5 * 4096], back[5 * 4096];
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0666);
    struct store_attr before;

    memset(data, 'd', sizeof(data));
    assert_int_equal(rig_write(rig, &rig_root, file, 0, data, sizeof(data)), 0);
    assert_int_equal(rig->call.op.r.write.done, 4 * 4096);
    before = rig_attr(rig, file);
    assert_true(before.size == 4 * 4096 && before.used == 4 * 4096);
    assert_int_equal(rig_write(rig, &rig_root, file, 4 * 4096, data, 1), -ENOSPC);
    assert_true(rig->call.op.wcc.after.present);
    assert_memory_equal(&before.mtime, &rig->call.op.wcc.after.mtime, sizeof(before.mtime));
    assert_int_equal(rig_write(rig, &rig_root, file, 100, "over", 4), 0);
    assert_int_equal(rig_read(rig, &rig_root, file, 0, sizeof(back), back), 0);
    assert_int_equal(rig->call.op.r.read.done, 4 * 4096);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(4096)), 0);
    assert_int_equal(rig_write(rig, &rig_root, file, 3 * 4096, data, 4096), 0);
}

static void
names_and_texts_of_links_take_space_too(void **state)
{
    struct rig *rig = *state;
    char text[17000], name[102];

    memset(text, 't', sizeof(text));
    memset(name, 'n', sizeof(name));
    name[101] = '\0';
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "a", text, 4095), 0);
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "b", text, 4095), 0);
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "c", text, 4095), 0);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "a"), 0);
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "a", text, 4095), 0);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "a"), 0);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_GUARDED, NOTHING), 0);
    assert_int_equal(rig_write(rig, &rig_root, rig_child(rig), 0, text, 8192), 0);
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "f", rig->dir, name), -ENOSPC);
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "f", rig->dir, "g"), 0);
}

static void
no_more_files_than_allowed(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "a", STORE_GUARDED, NOTHING), 0);
    assert_int_equal(rig_mkdir(rig, &rig_root, rig->dir, "b", NOTHING), 0);
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "c", "x", 1), 0);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "d", STORE_GUARDED, NOTHING), -ENOSPC);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, "d"), -ENOENT);
    assert_int_equal(rig_link(rig, &rig_root, rig_find(rig, rig->dir, "a"), rig->dir, "d"), 0);
    assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "b"), 0);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "e", STORE_GUARDED, NOTHING), 0);
}

static void
what_is_removed_is_free_again(void **state)
{
    struct rig *rig = *state;
    struct store_node *file;
    struct store_fs empty, full, again;

    assert_int_equal(rig_fsstat(rig, rig->dir), 0);
    empty = rig->call.op.r.fs;
    file = rig_make(rig, rig->dir, "f", "file", 0644);
    assert_int_equal(rig_write(rig, &rig_root, file, 0, "x", 1), 0);
    assert_int_equal(rig_fsstat(rig, rig->dir), 0);
    full = rig->call.op.r.fs;
    assert_true(full.free_bytes == empty.free_bytes - 4096 - 1 && full.free_files == empty.free_files - 1);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
    assert_int_equal(rig_fsstat(rig, rig->dir), 0);
    again = rig->call.op.r.fs;
    assert_true(again.free_bytes == empty.free_bytes && again.free_files == empty.free_files);
}

static int
set_acls(struct rig *rig, struct store_node *node, const struct store_acl *access, const struct store_acl *defaults)
{
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.setacl.access = access;
    op->u.setacl.defaults = defaults;
    return rig_finish(rig, store_setacl(node, op));
}

/* A valid ACL of that many entries, which is the caller's to free. */
static struct store_acl *
make_acl(uint32_t count)
{
    struct store_acl *acl = calloc(1, STORE_ACL_BYTES);

    assert_non_null(acl);
    acl->entries[acl->count++] = (struct store_ace){ STORE_ACL_USER_OBJ, 7, STORE_ACL_NO_ID };
    for (; acl->count < count - 3; acl->count++)
        acl->entries[acl->count] = (struct store_ace){ STORE_ACL_USER, 4, acl->count };
    acl->entries[acl->count++] = (struct store_ace){ STORE_ACL_GROUP_OBJ, 5, STORE_ACL_NO_ID };
    acl->entries[acl->count++] = (struct store_ace){ STORE_ACL_MASK, 5, STORE_ACL_NO_ID };
    acl->entries[acl->count++] = (struct store_ace){ STORE_ACL_OTHER, 5, STORE_ACL_NO_ID };
    return acl;
}

static uint64_t
free_bytes(struct rig *rig)
{
    assert_int_equal(rig_fsstat(rig, rig->dir), 0);
    return rig->call.op.r.fs.free_bytes;
}

/* A default ACL is kept twice more by each directory below it. */
static void
acls_take_space_and_give_it_back(void **state)
{
    struct rig *rig = *state;
    struct store_acl *acl = make_acl(STORE_ACL_MAX);
    const struct store_acl none = { 0 };
    const uint64_t one = sizeof(*acl) + STORE_ACL_MAX * sizeof(acl->entries[0]);
    struct store_node *dir = rig_make(rig, rig->dir, "dir", "dir", 0755);
    uint64_t empty = free_bytes(rig);

    assert_int_equal(set_acls(rig, dir, acl, acl), 0);
    assert_int_equal(free_bytes(rig), empty - 2 * one);
    assert_int_equal(rig_mkdir(rig, &rig_root, dir, "d", NOTHING), 0);
    assert_int_equal(rig_create(rig, &rig_root, dir, "f", STORE_GUARDED, NOTHING), 0);
    assert_int_equal(free_bytes(rig), empty - 5 * one - 2);
    assert_int_equal(rig_rmdir(rig, &rig_root, dir, "d"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, dir, "f"), 0);
    assert_int_equal(set_acls(rig, dir, NULL, &none), 0);
    assert_int_equal(free_bytes(rig), empty - one);
    assert_int_equal(set_acls(rig, dir, &none, NULL), 0);
    assert_int_equal(free_bytes(rig), empty);
    free(acl);
}

static void
an_acl_that_does_not_fit_is_refused_and_changes_nothing(void **state)
{
    struct rig *rig = *state;
    struct store_acl *acl = make_acl(STORE_ACL_MAX), *small = make_acl(5), *large = make_acl(800);
    struct store_node *dir = rig_make(rig, rig->dir, "dir", "dir", 0700);
    uint64_t before;

    assert_int_equal(set_acls(rig, dir, small, large), 0);
    before = free_bytes(rig);
    assert_int_equal(set_acls(rig, dir, acl, acl), -ENOSPC);
    assert_int_equal(free_bytes(rig), before);
    assert_int_equal(rig_attr(rig, dir).mode & 07777, 0755);
    assert_int_equal(rig_mkdir(rig, &rig_root, dir, "d", NOTHING), -ENOSPC);
    assert_int_equal(free_bytes(rig), before);
    free(acl);
    free(small);
    free(large);
}

static void
a_sparse_terabyte_costs_a_page(void **state)
{
    static const uint64_t offsets[] = {
        0, 4096 * 64 - 1, UINT64_C(1) << 32, (UINT64_C(1) << 40) - 1, INT64_MAX - 2
    };
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    char data[3];
    unsigned i;

    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(UINT64_C(1) << 40)), 0);
    assert_true(rig_attr(rig, file).used == 0);
    for (i = 0; i < 5; i++) {
        assert_int_equal(rig_write(rig, &rig_root, file, offsets[i], "x", 1), 0);
        assert_true(rig_attr(rig, file).used == (i + 1) * 4096);
    }
    for (i = 0; i < 5; i++) {
        assert_int_equal(rig_read(rig, &rig_root, file, offsets[i], 1, data), 0);
        assert_int_equal(data[0], 'x');
    }
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(INT64_MAX)), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(UINT64_C(1) << 40)), 0);
    assert_true(rig_attr(rig, file).used == 4 * 4096);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(1)), 0);
    assert_true(rig_attr(rig, file).used == 4096);
    assert_int_equal(rig_setattr(rig, &rig_root, file, SIZE(0)), 0);
    assert_true(rig_attr(rig, file).used == 0);
}

static void
change_times_never_repeat(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct timespec last = rig_attr(rig, file).ctime;
    unsigned i;

    for (i = 0; i < 10000; i++) {
        assert_int_equal(rig_write(rig, &rig_root, file, 0, "x", 1), 0);
        assert_true(rig->call.op.attr.ctime.tv_sec > last.tv_sec ||
                    (rig->call.op.attr.ctime.tv_sec == last.tv_sec && rig->call.op.attr.ctime.tv_nsec > last.tv_nsec));
        assert_memory_equal(&rig->call.op.wcc.before_ctime, &last, sizeof(last));
        last = rig->call.op.attr.ctime;
    }
}

static void
a_file_has_at_most_65000_names(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    char name[16];
    unsigned i;

    for (i = 1; i < 65000; i++) {
        snprintf(name, sizeof(name), "l%u", i);
        assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, name), 0);
    }
    assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, "one-more"), -EMLINK);
    assert_int_equal(rig_attr(rig, file).nlink, 65000);
    assert_int_equal(rig_fsstat(rig, file), 0);
    assert_int_equal(rig->call.op.r.fs.link_max, 65000);
}

/* Read a whole directory in pages; the number of entries. Cookies must ascend. */
static unsigned
count_entries(struct rig *rig, struct store_node *dir, uint64_t cookie)
{
    static _Alignas(8) char buffer[1 << 16];
    unsigned count = 0;
    uint32_t i;

    do {
        const struct store_dirent *dirent = (const struct store_dirent *)buffer;

        assert_int_equal(rig_readdir(rig, &rig_root, dir, cookie, buffer, sizeof(buffer), UINT32_MAX, false), 0);
        for (i = 0; i < rig->call.op.r.dir.entries; i++, dirent = rig_next_entry(dirent)) {
            assert_true(dirent->cookie > cookie);
            cookie = dirent->cookie;
        }
        count += rig->call.op.r.dir.entries;
    } while (!rig->call.op.r.dir.eof);
    return count;
}

static void
a_directory_holds_many_entries(void **state)
{
    struct rig *rig = *state;
    char name[16];
    unsigned i;

    for (i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "e%u", i);
        assert_int_equal(rig_create(rig, &rig_root, rig->dir, name, STORE_GUARDED, NOTHING), 0);
    }
    assert_int_equal(count_entries(rig, rig->dir, 0), MANY + 2);
    for (i = 0; i < MANY; i += 2) {
        snprintf(name, sizeof(name), "e%u", i);
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, name), 0);
    }
    assert_int_equal(count_entries(rig, rig->dir, 0), MANY / 2 + 2);
    assert_int_equal(count_entries(rig, rig->dir, MANY / 2 + 2), MANY / 4);
    for (i = MANY - 1; i < MANY; i -= 2) {              /* backwards, until i wraps */
        snprintf(name, sizeof(name), "e%u", i);
        assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, name), 0);
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, name), 0);
    }
    assert_int_equal(count_entries(rig, rig->dir, 0), 2);
}

static void
cookies_stay_with_their_entries_and_are_not_used_again(void **state)
{
    static _Alignas(8) char buffer[4096];
    struct rig *rig = *state;
    const struct store_dirent *first = (const struct store_dirent *)buffer;
    uint64_t last;

    rig_make(rig, rig->dir, "a", "file", 0644);
    rig_make(rig, rig->dir, "b", "file", 0644);
    rig_make(rig, rig->dir, "c", "file", 0644);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 2, buffer, sizeof(buffer), 3, false), 0);
    assert_true(first->cookie == 3 && first->name[0] == 'a');
    last = rig_next_entry(rig_next_entry(first))->cookie;
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "b"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "c"), 0);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 4, buffer, sizeof(buffer), 3, false), 0);
    assert_true(rig->call.op.r.dir.entries == 0 && rig->call.op.r.dir.eof);
    rig_make(rig, rig->dir, "d", "file", 0644);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, last, buffer, sizeof(buffer), 3, false), 0);
    assert_int_equal(rig->call.op.r.dir.entries, 1);
    assert_true(first->cookie > last && first->name[0] == 'd');
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "a"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "d"), 0);
    rig_make(rig, rig->dir, "e", "file", 0644);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, sizeof(buffer), 9, false), 0);
    assert_true(rig_next_entry(rig_next_entry(first))->cookie > last + 1);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, UINT64_MAX, buffer, sizeof(buffer), 9, false), 0);
    assert_true(rig->call.op.r.dir.entries == 0 && rig->call.op.r.dir.eof);
}

static void
a_store_is_freed_with_all_that_is_in_it(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0755);

    rig_make(rig, dir, "l", "link", 0);
    assert_int_equal(rig_write(rig, &rig_root, rig_make(rig, dir, "f", "file", 0644), 1 << 20, "x", 1), 0);
    assert_int_equal(rig_mkdir(rig, &rig_root, dir, "empty", NOTHING), 0);
}

/* One of several threads that all work on the same names and the same file. */
static void *
work(void *argument)
{
    struct rig *rig = argument;
    char data[8192], text[STORE_LINK_MAX + 1];
    static _Thread_local _Alignas(8) char buffer[8192];
    struct store_node *file = rig_find(rig, rig->dir, "shared");
    unsigned i;

    for (i = 0; i < ROUNDS; i++) {
        struct store_node *child;
        struct store_id id;
        char name[8];

        snprintf(name, sizeof(name), "n%u", i % 5);
        if (rig_create(rig, &rig_root, rig->dir, name, STORE_UNCHECKED, NOTHING) == 0) {
            id = rig->call.op.child;
            if (rig_get(rig, &id, &child) == 0) {
                rig_write(rig, &rig_root, child, i * 1000, data, 1);
                assert_int_equal(store_node_type(rig->store, child), S_IFREG);
            }
        }
        rig_rename(rig, &rig_root, rig->dir, name, rig->dir, "moved");
        rig_symlink(rig, &rig_root, rig->dir, "link", "text", 4);
        if (rig_lookup(rig, &rig_root, rig->dir, "link") == 0) {
            id = rig->call.op.child;
            if (rig_get(rig, &id, &child) == 0)
                rig_readlink(rig, child, text);
        }
        rig_remove(rig, &rig_root, rig->dir, i % 2 ? "moved" : "link");
        memset(data, 'a' + i % 26, sizeof(data));
        assert_int_equal(rig_write(rig, &rig_root, file, 0, data, sizeof(data)), 0);
        assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(i % 512)), 0);
        assert_int_equal(rig_read(rig, &rig_root, file, 0, sizeof(data), data), 0);
        assert_int_equal(rig->call.op.r.read.done, sizeof(data));
        assert_int_equal(data[0], data[sizeof(data) - 1]);              /* no write is seen by halves */
        assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, sizeof(buffer), 100, true), 0);
        assert_true(rig->call.op.r.dir.eof);
        if (rig->nnodes > RIG_NODES / 2) {
            rig_put_all(rig);
            file = rig_find(rig, rig->dir, "shared");
        }
    }
    return NULL;
}

static void
many_threads_share_a_store(void **state)
{
    struct rig *rig = *state;
    static struct rig rigs[THREADS];
    pthread_t threads[THREADS];
    unsigned i;

    rig_make(rig, rig->dir, "shared", "file", 0666);
    for (i = 0; i < THREADS; i++) {
        memset(&rigs[i], 0, sizeof(rigs[i]));
        rigs[i].store = rig->store;
        rigs[i].dir = rig->dir;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &rigs[i]), 0);
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < THREADS; i++)
        rig_put_all(&rigs[i]);
}

#define TEST(name, up) { #name, name, up, rig_down, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_root_is_as_configured, rig_up),
        TEST(two_stores_do_not_mix, rig_up),
        TEST(a_write_that_fits_in_part_is_short_and_then_there_is_no_space, small_up),
        TEST(names_and_texts_of_links_take_space_too, small_up),
        TEST(no_more_files_than_allowed, small_up),
        TEST(what_is_removed_is_free_again, rig_up),
        TEST(acls_take_space_and_give_it_back, rig_up),
        TEST(an_acl_that_does_not_fit_is_refused_and_changes_nothing, small_up),
        TEST(a_sparse_terabyte_costs_a_page, rig_up),
        TEST(change_times_never_repeat, rig_up),
        TEST(a_file_has_at_most_65000_names, rig_up),
        TEST(a_directory_holds_many_entries, rig_up),
        TEST(cookies_stay_with_their_entries_and_are_not_used_again, rig_up),
        TEST(a_store_is_freed_with_all_that_is_in_it, rig_up),
        TEST(many_threads_share_a_store, rig_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
