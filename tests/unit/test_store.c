/*
 * tests/unit/test_store.c - what every store does, through store.h alone: the same tests on the store in memory and on
 * the posix store with each engine, on the disk below $TMPDIR and on the tmpfs of /dev/shm.
 *
 * Each test works in a fresh directory that everybody may write to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/memory.h"
#include "storage/posix.h"
#include "tests/lib/store_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MODE(bits) ((struct store_setattr){ .set_mode = true, .mode = (bits) })
#define SIZE(bytes) ((struct store_setattr){ .set_size = true, .size = (bytes) })
#define NOTHING ((struct store_setattr){ 0 })

/* One row per store that is tried. */
static const struct store_kind_row {
    const char *name;
    const char *below;                  /* NULL: in memory; "": $TMPDIR */
    enum engine_type engine;
    int inline_mode;
} rows[] = {
    { "memory",                            NULL,       ENGINE_POOL,  POSIX_INLINE_ON },
    { "posix, disk, uring, on the worker", "",         ENGINE_URING, POSIX_INLINE_ON },
    { "posix, disk, uring, on the pool",   "",         ENGINE_URING, POSIX_INLINE_OFF },
    { "posix, disk, pool, on the pool",    "",         ENGINE_POOL,  POSIX_INLINE_OFF },
    { "posix, tmpfs, uring, on the worker", "/dev/shm", ENGINE_URING, POSIX_INLINE_ON },
    { "posix, tmpfs, pool, on the worker", "/dev/shm", ENGINE_POOL,  POSIX_INLINE_ON },
    { "posix, tmpfs, pool, on the pool",   "/dev/shm", ENGINE_POOL,  POSIX_INLINE_OFF },
};
static const struct store_kind_row *row;        /* under test */
static struct rig rig_now;

static int
memory_rig(struct rig *rig)
{
    struct memory_config config = {
        .max_bytes = 64 << 20, .max_files = 10000, .root_mode = 0755, .root_uid = 0, .root_gid = 0
    };

    rig->decides = true;
    return memory_new(&config, &rig->store);
}

static int
posix_rig(struct rig *rig)
{
    struct posix_config config = { .path = rig->path, .max_open = 1024, .inline_mode = row->inline_mode };
    struct engine_config engine = { .type = row->engine, .ring_entries = 64 };
    const char *below = row->below[0] != '\0' ? row->below : getenv("TMPDIR");
    int err;

    rig->decides = cred_thread_init() == CRED_SWITCH;
    snprintf(rig->path, sizeof(rig->path), "%s/ringnfs-store-XXXXXX", below != NULL ? below : "/tmp");
    if (mkdtemp(rig->path) == NULL)
        return -errno;
    err = pool_new(3, &rig->pool);
    if (err < 0)
        return err;
    engine.pool = rig->pool;
    err = engine_new(&engine, &rig->engine);
    if (err < 0)
        return err;
    return posix_new(&config, &rig->store);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int
rig_down(void **state)
{
    struct rig *rig = *state;

    store_free(rig->store);
    engine_free(rig->engine);
    if (rig->pool != NULL)
        pool_free(rig->pool);
    if (rig->path[0] != '\0')
        nftw(rig->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

static int
rig_up(void **state)
{
    struct rig *rig = &rig_now;
    int err;

    memset(rig, 0, sizeof(*rig));
    *state = rig;
    err = row->below == NULL ? memory_rig(rig) : posix_rig(rig);
    if (err < 0) {
        fprintf(stderr, "%s: %s\n", row->name, strerror(-err));
        rig_down(state);
    }
    return err;
}

static int
fresh_directory(void **state)
{
    static unsigned number;
    struct rig *rig = *state;
    char name[32];

    snprintf(name, sizeof(name), "t%u", ++number);
    if (rig_mkdir(rig, &rig_root, rig->store->root, name, MODE(0777)) != 0)
        return -1;
    rig->dir = rig_child(rig);
    return 0;
}

static int
give_back(void **state)
{
    rig_put_all(*state);
    return 0;
}

/* Tests about who may do what, where the store cannot act for others. */
#define NEEDS_IDENTITIES(rig) do { if (!(rig)->decides) skip(); } while (0)

static struct store_cred
member(uid_t uid, gid_t gid, const gid_t *second)
{
    return (struct store_cred){ uid, gid, second != NULL, second };
}

static const gid_t group[] = { RIG_GROUP };

static bool
later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

static bool
same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static void
assert_names(struct rig *rig, struct store_node *dir, const char *expected)
{
    char text[4096];
    char *names[64], *name, *rest = text;
    unsigned count = 0, i, j;
    char sorted[4096] = "";

    rig_names(rig, dir, 1000, text, sizeof(text));
    while ((name = strsep(&rest, " ")) != NULL && name[0] != '\0')
        names[count++] = name;
    for (i = 0; i < count; i++) {
        for (j = i + 1; j < count; j++) {
            if (strcmp(names[j], names[i]) < 0) {
                name = names[i];
                names[i] = names[j];
                names[j] = name;
            }
        }
        strcat(strcat(sorted, i > 0 ? " " : ""), names[i]);
    }
    assert_string_equal(sorted, expected);
}

/* That a failed or successful operation told the truth about what it changed. */
static void
assert_wcc(const struct store_wcc *wcc, struct store_attr before, struct store_attr after)
{
    if (wcc->before_present) {
        assert_true(wcc->before_size == before.size);
        assert_true(same_time(wcc->before_mtime, before.mtime));
        assert_true(same_time(wcc->before_ctime, before.ctime));
    }
    assert_true(wcc->after.present);
    assert_true(wcc->after.fileid == after.fileid);
    assert_true(wcc->after.size == after.size);
    assert_true(wcc->after.mode == after.mode);
    assert_true(same_time(wcc->after.mtime, after.mtime));
    assert_true(same_time(wcc->after.ctime, after.ctime));
}

/* ---- GET, GETATTR ---- */

static void
an_id_finds_the_same_node_again(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct store_id id = *store_node_id(rig->store, file);
    struct store_node *again;

    assert_int_equal(rig_get(rig, &id, &again), 0);
    assert_true(rig_attr(rig, again).fileid == rig_attr(rig, file).fileid);
    assert_int_equal(store_node_id(rig->store, again)->len, id.len);
    assert_memory_equal(store_node_id(rig->store, again)->bytes, id.bytes, id.len);
}

static void
the_root_is_found_by_its_id(void **state)
{
    struct rig *rig = *state;
    struct store_node *root;

    assert_int_equal(rig_get(rig, store_node_id(rig->store, rig->store->root), &root), 0);
    assert_true(rig_attr(rig, root).fileid == rig_attr(rig, rig->store->root).fileid);
    assert_int_equal(store_node_type(rig->store, root), S_IFDIR);
}

static void
an_id_of_another_form_is_not_one_of_ours(void **state)
{
    struct rig *rig = *state;
    struct store_id id = *store_node_id(rig->store, rig->store->root);
    struct store_node *node;
    int err;

    id.len = 1;
    err = rig_get(rig, &id, &node);
    assert_true(err == -EBADMSG || err == -ESTALE);
    memset(&id, 0xff, sizeof(id));
    id.len = STORE_ID_MAX;
    err = rig_get(rig, &id, &node);
    assert_true(err == -EBADMSG || err == -ESTALE);
}

static void
a_removed_objects_id_is_stale(void **state)
{
    static const char *const types[] = { "file", "dir", "link", "fifo" };
    struct rig *rig = *state;
    struct store_node *node;
    struct store_id id;
    unsigned i;

    for (i = 0; i < COUNT(types); i++) {
        id = *store_node_id(rig->store, rig_make(rig, rig->dir, "o", types[i], 0755));
        assert_int_equal(strcmp(types[i], "dir") == 0 ? rig_rmdir(rig, &rig_root, rig->dir, "o")
                                                      : rig_remove(rig, &rig_root, rig->dir, "o"), 0);
        assert_int_equal(rig_get(rig, &id, &node), -ESTALE);
        rig_make(rig, rig->dir, "o", types[i], 0755);
        assert_int_equal(rig_get(rig, &id, &node), -ESTALE);
        assert_int_equal(strcmp(types[i], "dir") == 0 ? rig_rmdir(rig, &rig_root, rig->dir, "o")
                                                      : rig_remove(rig, &rig_root, rig->dir, "o"), 0);
    }
}

static void
a_node_that_is_held_is_stale_once_removed(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0666);
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0777);
    char byte = 'x';

    assert_int_equal(rig_write(rig, &rig_root, file, 0, &byte, 1), 0);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
    assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "d"), 0);
    assert_int_equal(rig_finish(rig, store_getattr(file, rig_op(rig, &rig_root))), -ESTALE);
    assert_false(rig->call.op.attr.present);
    assert_int_equal(rig_finish(rig, store_getattr(dir, rig_op(rig, &rig_root))), -ESTALE);
    assert_int_equal(rig_create(rig, &rig_root, dir, "n", STORE_GUARDED, NOTHING), -ESTALE);
    assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, "again"), -ESTALE);
}

static void
every_type_has_its_attributes(void **state)
{
    static const struct {
        const char *type;
        mode_t bits;
    } types[] = {
        { "file", S_IFREG }, { "dir", S_IFDIR }, { "link", S_IFLNK }, { "fifo", S_IFIFO }, { "sock", S_IFSOCK },
        { "chr", S_IFCHR }, { "blk", S_IFBLK }
    };
    struct rig *rig = *state;
    uint64_t fsid = rig_attr(rig, rig->store->root).fsid;
    unsigned i;

    for (i = 0; i < COUNT(types); i++) {
        struct store_node *node;
        struct store_attr attr;

        if (!rig->decides && (types[i].bits == S_IFCHR || types[i].bits == S_IFBLK))
            continue;
        node = rig_make(rig, rig->dir, types[i].type, types[i].type, 0751);
        attr = rig_attr(rig, node);
        assert_int_equal(store_node_type(rig->store, node), types[i].bits);
        assert_int_equal(attr.mode, types[i].bits | (types[i].bits == S_IFLNK ? 0777 : 0751));
        assert_int_equal(attr.nlink, types[i].bits == S_IFDIR ? 2 : 1);
        assert_true(attr.fsid == fsid);
        assert_true(attr.fileid != 0);
        if (types[i].bits == S_IFLNK)
            assert_int_equal(attr.size, 10);
        if (types[i].bits == S_IFCHR || types[i].bits == S_IFBLK) {
            assert_int_equal(attr.rdev_major, 7);
            assert_int_equal(attr.rdev_minor, 513);
        }
        if (rig->decides)
            assert_true(attr.uid == RIG_ALICE && attr.gid == RIG_ALICE);
    }
}

/* ---- permissions ---- */

/* One caller in each class: with mode bits in that class's place he gets what they say. */
static const struct {
    uid_t uid;
    gid_t gid;
    bool in_group;
    unsigned shift;
} classes[] = {
    { RIG_ALICE, RIG_ALICE, false, 6 },         /* the owner */
    { RIG_BOB, RIG_GROUP, false, 3 },           /* by his first group */
    { RIG_BOB, RIG_BOB, true, 3 },              /* by a further group */
    { RIG_BOB, RIG_BOB, false, 0 },             /* others */
};

static struct store_node *
of_group(struct rig *rig, const char *name, const char *type)
{
    struct store_node *node = rig_make(rig, rig->dir, name, type, 0);

    assert_int_equal(rig_setattr(rig, &rig_root, node, (struct store_setattr){ .set_gid = true, .gid = RIG_GROUP }), 0);
    return node;
}

static void
access_to_a_file_follows_the_mode(void **state)
{
    uint32_t all = STORE_ACCESS_READ | STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND | STORE_ACCESS_EXECUTE;
    struct rig *rig = *state;
    struct store_node *file;
    unsigned i, bits;

    NEEDS_IDENTITIES(rig);
    file = of_group(rig, "f", "file");
    for (i = 0; i < COUNT(classes); i++) {
        struct store_cred cred = member(classes[i].uid, classes[i].gid, classes[i].in_group ? group : NULL);

        for (bits = 0; bits < 8; bits++) {
            uint32_t want = (bits & 4 ? STORE_ACCESS_READ : 0) | (bits & 1 ? STORE_ACCESS_EXECUTE : 0) |
                            (bits & 2 ? STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND : 0);

            assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(bits << classes[i].shift)), 0);
            assert_int_equal(rig_access(rig, &cred, file, all), want);
        }
    }
}

static void
access_to_a_directory_follows_the_mode(void **state)
{
    uint32_t change = STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND | STORE_ACCESS_DELETE;
    struct rig *rig = *state;
    struct store_node *dir;
    unsigned i, bits;

    NEEDS_IDENTITIES(rig);
    dir = of_group(rig, "d", "dir");
    for (i = 0; i < COUNT(classes); i++) {
        struct store_cred cred = member(classes[i].uid, classes[i].gid, classes[i].in_group ? group : NULL);

        for (bits = 0; bits < 8; bits++) {
            uint32_t want = (bits & 4 ? STORE_ACCESS_READ : 0) | (bits & 1 ? STORE_ACCESS_LOOKUP : 0) |
                            ((bits & 3) == 3 ? change : 0);

            assert_int_equal(rig_setattr(rig, &rig_root, dir, MODE(bits << classes[i].shift)), 0);
            assert_int_equal(rig_access(rig, &cred, dir, change | STORE_ACCESS_READ | STORE_ACCESS_LOOKUP), want);
        }
    }
}

static void
access_grants_only_what_was_asked_for_and_means_something(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0777);
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0777);
    struct store_node *link = rig_make(rig, rig->dir, "l", "link", 0);

    assert_int_equal(rig_access(rig, &rig_root, file, STORE_ACCESS_READ), STORE_ACCESS_READ);
    assert_int_equal(rig_access(rig, &rig_root, file, UINT32_MAX), 0x2d);
    assert_int_equal(rig_access(rig, &rig_root, dir, UINT32_MAX), 0x1f);
    assert_int_equal(rig_access(rig, &rig_root, link, UINT32_MAX) & ~0xdu, 0);
    assert_int_equal(rig_access(rig, &rig_bob, link, STORE_ACCESS_READ), STORE_ACCESS_READ);
    assert_int_equal(rig_access(rig, &rig_root, file, 0), 0);
}

static void
root_may_everything_but_execute_what_nobody_can(void **state)
{
    struct rig *rig = *state;
    struct store_node *file, *dir;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "f", "file", 0);
    dir = rig_make(rig, rig->dir, "d", "dir", 0);
    assert_int_equal(rig_access(rig, &rig_root, file, 0x3f), 0x0d);
    assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(0001)), 0);
    assert_int_equal(rig_access(rig, &rig_root, file, 0x3f), 0x2d);
    assert_int_equal(rig_access(rig, &rig_root, dir, 0x3f), 0x1f);
}

static void
lookup_and_readdir_follow_the_mode_of_the_directory(void **state)
{
    static _Alignas(8) char buffer[8192];
    struct rig *rig = *state;
    struct store_node *dir;
    unsigned i, bits;

    NEEDS_IDENTITIES(rig);
    dir = of_group(rig, "d", "dir");
    rig_make(rig, dir, "f", "file", 0644);
    for (i = 0; i < COUNT(classes); i++) {
        struct store_cred cred = member(classes[i].uid, classes[i].gid, classes[i].in_group ? group : NULL);

        for (bits = 0; bits < 8; bits++) {
            assert_int_equal(rig_setattr(rig, &rig_root, dir, MODE(bits << classes[i].shift)), 0);
            assert_int_equal(rig_lookup(rig, &cred, dir, "f"), bits & 1 ? 0 : -EACCES);
            assert_int_equal(rig_readdir(rig, &cred, dir, 0, buffer, sizeof(buffer), 9, false), bits & 4 ? 0 : -EACCES);
        }
    }
}

static void
changing_names_needs_write_and_search(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir, *file;
    unsigned bits;

    NEEDS_IDENTITIES(rig);
    file = rig_make(rig, rig->dir, "elsewhere", "file", 0666);
    dir = rig_make(rig, rig->dir, "d", "dir", 0);
    rig_make(rig, dir, "old", "file", 0666);
    rig_make(rig, dir, "sub", "dir", 0777);
    for (bits = 0; bits < 8; bits++) {
        int want = (bits & 3) == 3 ? 0 : -EACCES;

        assert_int_equal(rig_setattr(rig, &rig_root, dir, MODE(bits)), 0);
        assert_int_equal(rig_create(rig, &rig_bob, dir, "c", STORE_GUARDED, NOTHING), want);
        assert_int_equal(rig_exclusive(rig, &rig_bob, dir, "e", "VERIFIER"), want);
        assert_int_equal(rig_mkdir(rig, &rig_bob, dir, "m", NOTHING), want);
        assert_int_equal(rig_symlink(rig, &rig_bob, dir, "s", "x", 1), want);
        assert_int_equal(rig_mknod(rig, &rig_bob, dir, "n", S_IFIFO, 0, 0), want);
        assert_int_equal(rig_link(rig, &rig_bob, file, dir, "l"), want);
        assert_int_equal(rig_rename(rig, &rig_bob, dir, "old", dir, "new"), want);
        if (want == 0) {
            assert_int_equal(rig_remove(rig, &rig_bob, dir, "c"), 0);
            assert_int_equal(rig_rmdir(rig, &rig_bob, dir, "m"), 0);
        } else {
            assert_int_equal(rig_remove(rig, &rig_bob, dir, "old"), want);
            assert_int_equal(rig_rmdir(rig, &rig_bob, dir, "sub"), want);
            assert_names(rig, dir, "old sub");
        }
        rig_remove(rig, &rig_root, dir, "e");
        rig_remove(rig, &rig_root, dir, "s");
        rig_remove(rig, &rig_root, dir, "n");
        rig_remove(rig, &rig_root, dir, "l");
        rig_rename(rig, &rig_root, dir, "new", dir, "old");
    }
}

static void
read_and_write_follow_the_mode_for_all_but_the_owner(void **state)
{
    struct rig *rig = *state;
    struct store_node *file;
    unsigned i, bits;
    char byte = 'x';

    NEEDS_IDENTITIES(rig);
    file = of_group(rig, "f", "file");
    for (i = 0; i < COUNT(classes); i++) {
        struct store_cred cred = member(classes[i].uid, classes[i].gid, classes[i].in_group ? group : NULL);
        bool owner = classes[i].uid == RIG_ALICE;

        for (bits = 0; bits < 8; bits++) {
            assert_int_equal(rig_setattr(rig, &rig_root, file, MODE(bits << classes[i].shift)), 0);
            assert_int_equal(rig_write(rig, &cred, file, 0, &byte, 1), owner || bits & 2 ? 0 : -EACCES);
            assert_int_equal(rig_read(rig, &cred, file, 0, 1, &byte), owner || bits & 5 ? 0 : -EACCES);
        }
    }
}

static void
an_owner_without_his_own_bits_is_not_served_by_those_of_others(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir, *file;

    NEEDS_IDENTITIES(rig);
    dir = rig_make(rig, rig->dir, "d", "dir", 0077);
    file = rig_make(rig, dir, "f", "file", 0077);
    assert_int_equal(rig_lookup(rig, &rig_alice, dir, "f"), -EACCES);
    assert_int_equal(rig_access(rig, &rig_alice, file, STORE_ACCESS_READ | STORE_ACCESS_MODIFY), 0);
    assert_int_equal(rig_access(rig, &rig_bob, file, STORE_ACCESS_READ), STORE_ACCESS_READ);
}

static void
a_sticky_directory_keeps_names_to_their_owners(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir, *other;

    NEEDS_IDENTITIES(rig);
    other = rig_make(rig, rig->dir, "open", "dir", 0777);
    dir = rig_make(rig, rig->dir, "d", "dir", 01777);
    assert_int_equal(rig_setattr(rig, &rig_root, dir, (struct store_setattr){ .set_uid = true, .uid = 0 }), 0);
    rig_make(rig, dir, "f", "file", 0666);
    rig_make(rig, dir, "sub", "dir", 0777);
    assert_int_equal(rig_create(rig, &rig_bob, dir, "mine", STORE_GUARDED, NOTHING), 0);
    assert_int_equal(rig_remove(rig, &rig_bob, dir, "f"), -EPERM);
    assert_int_equal(rig_rmdir(rig, &rig_bob, dir, "sub"), -EPERM);
    assert_int_equal(rig_rename(rig, &rig_bob, dir, "f", dir, "g"), -EPERM);
    assert_int_equal(rig_rename(rig, &rig_bob, dir, "f", other, "g"), -EPERM);
    assert_int_equal(rig_rename(rig, &rig_bob, dir, "mine", dir, "f"), -EPERM);
    assert_names(rig, dir, "f mine sub");
    assert_int_equal(rig_remove(rig, &rig_alice, dir, "f"), 0);
    assert_int_equal(rig_rename(rig, &rig_bob, dir, "mine", dir, "yours"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, dir, "yours"), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, dir, (struct store_setattr){ .set_uid = true, .uid = RIG_BOB }), 0);
    assert_int_equal(rig_rmdir(rig, &rig_bob, dir, "sub"), 0);
}

/* ---- SETATTR ---- */

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
    assert_wcc(&wcc, before, after);
    assert_true(later(after.ctime, before.ctime));
    assert_true(same_time(after.mtime, before.mtime));
}

static void
setattr_of_nothing_changes_nothing(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0600);
    struct store_attr before = rig_attr(rig, file), after;

    assert_int_equal(rig_setattr(rig, &rig_root, file, NOTHING), 0);
    after = rig_attr(rig, file);
    assert_true(same_time(after.mtime, before.mtime) && same_time(after.atime, before.atime));
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
    assert_true(same_time(attr.atime, atime) && same_time(attr.mtime, mtime));
    set.set_mtime = STORE_TIME_KEEP;
    set.atime.tv_sec = 0x80000000;
    assert_int_equal(rig_setattr(rig, &rig_root, file, set), 0);
    attr = rig_attr(rig, file);
    assert_true(attr.atime.tv_sec == 0x80000000 && same_time(attr.mtime, mtime));
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
    struct store_cred alice_in_group = member(RIG_ALICE, RIG_ALICE, group);
    struct store_cred bob_in_group = member(RIG_BOB, RIG_BOB, group);
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
    struct store_cred alice_in_group = member(RIG_ALICE, RIG_ALICE, group);
    struct rig *rig = *state;
    struct store_node *file;

    NEEDS_IDENTITIES(rig);
    file = of_group(rig, "f", "file");
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
    assert_true(later(after.mtime, before.mtime) && later(after.ctime, before.ctime));
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

/* ---- LOOKUP, READLINK ---- */

static void
dot_and_dotdot_are_found(void **state)
{
    struct rig *rig = *state;
    uint64_t root = rig_attr(rig, rig->store->root).fileid;
    uint64_t dir = rig_attr(rig, rig->dir).fileid;

    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, "."), 0);
    assert_true(rig->call.op.child_attr.fileid == dir);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, ".."), 0);
    assert_true(rig->call.op.child_attr.fileid == root);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->store->root, ".."), 0);
    assert_true(rig->call.op.child_attr.fileid == root);
}

static void
names_are_bytes(void **state)
{
    static const char *const names[] = {
        "a", " a b ", "a\nb", "a\\b", "gr\303\274\303\237e", "\377\376\200abc", "...", ".hidden", "-rf", "%s%n", "\177",
        "\300\257", "A", "a."
    };
    struct rig *rig = *state;
    unsigned i;

    for (i = 0; i < COUNT(names); i++) {
        assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, names[i]), -ENOENT);
        assert_true(rig->call.op.attr.present);
        assert_int_equal(rig_create(rig, &rig_root, rig->dir, names[i], STORE_GUARDED, NOTHING), 0);
        assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, names[i]), 0);
    }
    for (i = 0; i < COUNT(names); i++)
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, names[i]), 0);
    assert_names(rig, rig->dir, "");
}

static void
a_name_of_255_bytes_works(void **state)
{
    struct rig *rig = *state;
    char name[STORE_NAME_MAX + 1];

    memset(name, 'n', STORE_NAME_MAX);
    name[STORE_NAME_MAX] = '\0';
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, name, STORE_GUARDED, NOTHING), 0);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, name), 0);
    assert_names(rig, rig->dir, name);
}

static void
operations_on_names_need_a_directory(void **state)
{
    static const char *const types[] = { "file", "link", "fifo" };
    static _Alignas(8) char buffer[4096];
    struct rig *rig = *state;
    unsigned i;

    rig_make(rig, rig->dir, "x", "file", 0666);
    for (i = 0; i < COUNT(types); i++) {
        struct store_node *node = rig_make(rig, rig->dir, types[i], types[i], 0777);

        assert_int_equal(rig_lookup(rig, &rig_root, node, "n"), -ENOTDIR);
        assert_int_equal(rig_create(rig, &rig_root, node, "n", STORE_UNCHECKED, NOTHING), -ENOTDIR);
        assert_int_equal(rig_exclusive(rig, &rig_root, node, "n", "VERIFIER"), -ENOTDIR);
        assert_int_equal(rig_mkdir(rig, &rig_root, node, "n", NOTHING), -ENOTDIR);
        assert_int_equal(rig_symlink(rig, &rig_root, node, "n", "x", 1), -ENOTDIR);
        assert_int_equal(rig_mknod(rig, &rig_root, node, "n", S_IFIFO, 0, 0), -ENOTDIR);
        assert_int_equal(rig_remove(rig, &rig_root, node, "n"), -ENOTDIR);
        assert_int_equal(rig_rmdir(rig, &rig_root, node, "n"), -ENOTDIR);
        assert_int_equal(rig_link(rig, &rig_root, node, node, "n"), -ENOTDIR);
        assert_int_equal(rig_rename(rig, &rig_root, node, "n", rig->dir, "m"), -ENOTDIR);
        assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "x", node, "n"), -ENOTDIR);
        assert_int_equal(rig_readdir(rig, &rig_root, node, 0, buffer, sizeof(buffer), 9, false), -ENOTDIR);
    }
}

static void
a_links_text_comes_back_unchanged(void **state)
{
    static const char *const texts[] = { "x", "/etc/passwd", "../../..", "//a//b", "\377\376", " a ", "a\nb" };
    struct rig *rig = *state;
    char text[STORE_LINK_MAX + 1];
    unsigned i;

    for (i = 0; i < COUNT(texts); i++) {
        assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "l", texts[i], strlen(texts[i])), 0);
        assert_int_equal(rig->call.op.child_attr.size, strlen(texts[i]));
        assert_int_equal(rig_readlink(rig, rig_child(rig), text), 0);
        assert_string_equal(text, texts[i]);
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "l"), 0);
    }
}

static void
a_links_text_has_1_to_4095_bytes(void **state)
{
    struct rig *rig = *state;
    char text[5000], back[STORE_LINK_MAX + 1];

    memset(text, 't', sizeof(text));
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "l", text, 0), -ENOENT);
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "l", text, 4096), -ENAMETOOLONG);
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "l", text, 5000), -ENAMETOOLONG);
    assert_names(rig, rig->dir, "");
    assert_int_equal(rig_symlink(rig, &rig_root, rig->dir, "l", text, 4095), 0);
    assert_int_equal(rig_readlink(rig, rig_child(rig), back), 0);
    assert_int_equal(strlen(back), 4095);
}

static void
readlink_is_for_links(void **state)
{
    struct rig *rig = *state;
    char text[STORE_LINK_MAX + 1];

    assert_int_equal(rig_readlink(rig, rig->dir, text), -EINVAL);
    assert_int_equal(rig_readlink(rig, rig_make(rig, rig->dir, "f", "file", 0644), text), -EINVAL);
    assert_int_equal(rig_readlink(rig, rig_make(rig, rig->dir, "p", "fifo", 0644), text), -EINVAL);
}

/* ---- READ, WRITE, COMMIT ---- */

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
    assert_wcc(&wcc, before, after);
    assert_true(later(after.mtime, before.mtime) && later(after.ctime, before.ctime));
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
    assert_true(after.size == 3 && same_time(after.mtime, before.mtime) && same_time(after.ctime, before.ctime));
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
    assert_true(same_time(rig_attr(rig, file).mtime, before.mtime));
    assert_true(same_time(rig_attr(rig, file).ctime, before.ctime));
    if (row->below == NULL)
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

/* ---- CREATE, MKDIR, SYMLINK, MKNOD ---- */

static void
a_new_object_belongs_to_the_caller(void **state)
{
    static const char *const names[] = { "c", "e", "m", "s", "n" };
    struct store_cred cred = member(RIG_ALICE, RIG_GROUP, NULL);
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
    assert_wcc(&wcc, before, after);
    assert_true(later(after.mtime, before.mtime) && later(after.ctime, before.ctime));
    before = after;
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "f", STORE_GUARDED, MODE(0644)), -EEXIST);
    wcc = rig->call.op.wcc;
    assert_wcc(&wcc, before, rig_attr(rig, rig->dir));
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
    assert_true(same_time(attr.atime, set.atime) && same_time(attr.mtime, set.mtime));
    set.set_size = false;
    assert_int_equal(rig_mkdir(rig, &rig_alice, rig->dir, "d", set), 0);
    attr = rig_attr(rig, rig_find(rig, rig->dir, "d"));
    assert_true(same_time(attr.mtime, set.mtime));
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
    dir = of_group(rig, "d", "dir");
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
    assert_true(later(rig_attr(rig, file).mtime, before.mtime));
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
    assert_names(rig, rig->dir, "");
    NEEDS_IDENTITIES(rig);
    assert_int_equal(rig_mknod(rig, &rig_alice, rig->dir, "n", S_IFCHR, 1, 3), -EPERM);
    assert_int_equal(rig_mknod(rig, &rig_alice, rig->dir, "n", S_IFBLK, 1, 3), -EPERM);
    assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, "n", S_IFBLK, 4095, 1048575), 0);
    assert_int_equal(rig->call.op.child_attr.rdev_major, 4095);
    assert_int_equal(rig->call.op.child_attr.rdev_minor, 1048575);
}

/* ---- REMOVE, RMDIR, LINK ---- */

static void
remove_takes_every_type_but_directories(void **state)
{
    static const char *const types[] = { "file", "link", "fifo", "sock" };
    struct rig *rig = *state;
    unsigned i;

    for (i = 0; i < COUNT(types); i++) {
        rig_make(rig, rig->dir, "o", types[i], 0644);
        assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "o"), -ENOTDIR);
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "o"), 0);
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "o"), -ENOENT);
    }
    rig_make(rig, rig->dir, "o", "dir", 0755);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "o"), -EISDIR);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, "o"), 0);
}

static void
removal_moves_the_directorys_times_and_reports_them(void **state)
{
    struct rig *rig = *state;
    struct store_attr before, after;
    struct store_wcc wcc;

    rig_make(rig, rig->dir, "f", "file", 0644);
    before = rig_attr(rig, rig->dir);
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "nothing"), -ENOENT);
    wcc = rig->call.op.wcc;
    assert_wcc(&wcc, before, before);
    rig_tick();
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
    wcc = rig->call.op.wcc;
    after = rig_attr(rig, rig->dir);
    assert_wcc(&wcc, before, after);
    assert_true(later(after.mtime, before.mtime));
}

static void
rmdir_takes_empty_directories_only(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0755);

    rig_make(rig, dir, ".hidden", "file", 0644);
    assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "d"), -ENOTEMPTY);
    assert_int_equal(rig_remove(rig, &rig_root, dir, ".hidden"), 0);
    assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "d"), 0);
    assert_int_equal(rig_rmdir(rig, &rig_root, rig->dir, "d"), -ENOENT);
}

static void
a_link_is_another_name_of_the_same_file(void **state)
{
    static const char *const types[] = { "file", "link", "fifo" };
    struct rig *rig = *state;
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0755);
    unsigned i;

    for (i = 0; i < COUNT(types); i++) {
        struct store_node *node = rig_make(rig, rig->dir, types[i], types[i], 0644);
        struct store_attr before = rig_attr(rig, node), dir_before = rig_attr(rig, dir), after;
        struct store_wcc wcc;

        rig_tick();
        assert_int_equal(rig_link(rig, &rig_root, node, dir, types[i]), 0);
        wcc = rig->call.op.wcc;
        assert_int_equal(rig->call.op.attr.nlink, 2);
        assert_true(rig->call.op.attr.fileid == before.fileid);
        assert_wcc(&wcc, dir_before, rig_attr(rig, dir));
        after = rig_attr(rig, rig_find(rig, dir, types[i]));
        assert_true(after.fileid == before.fileid && after.nlink == 2);
        assert_true(later(after.ctime, before.ctime) && same_time(after.mtime, before.mtime));
        rig_tick();
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, types[i]), 0);
        assert_int_equal(rig_attr(rig, node).nlink, 1);
        assert_true(later(rig_attr(rig, node).ctime, after.ctime));
    }
}

static void
a_link_is_refused_where_it_cannot_be(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0755);

    assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, "d"), -EEXIST);
    assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, "f"), -EEXIST);
    assert_int_equal(rig_link(rig, &rig_root, dir, rig->dir, "e"), -EPERM);
    assert_int_equal(rig_attr(rig, file).nlink, 1);
    assert_names(rig, rig->dir, "d f");
}

/* ---- RENAME ---- */

static void
rename_over_each_type(void **state)
{
    static const struct {
        const char *from, *over;
        int want;
    } pairs[] = {
        { "file", NULL, 0 }, { "file", "file", 0 }, { "file", "link", 0 }, { "file", "fifo", 0 },
        { "file", "dir", -EISDIR }, { "file", "full", -EISDIR }, { "link", "file", 0 }, { "link", "dir", -EISDIR },
        { "fifo", "file", 0 },
        { "dir", NULL, 0 }, { "dir", "dir", 0 }, { "dir", "full", -ENOTEMPTY }, { "dir", "file", -ENOTDIR },
        { "dir", "link", -ENOTDIR }, { "dir", "fifo", -ENOTDIR },
    };
    struct rig *rig = *state;
    unsigned i, apart;

    for (i = 0; i < COUNT(pairs); i++) {
        for (apart = 0; apart < 2; apart++) {
            char name[16];
            struct store_node *from, *to, *moved, *over = NULL;
            struct store_attr before, after;
            uint64_t over_id = 0;

            snprintf(name, sizeof(name), "from%u.%u", i, apart);
            from = rig_make(rig, rig->dir, name, "dir", 0777);
            snprintf(name, sizeof(name), "to%u.%u", i, apart);
            to = apart ? rig_make(rig, rig->dir, name, "dir", 0777) : from;
            moved = rig_make(rig, from, "a", pairs[i].from, 0755);
            if (pairs[i].over != NULL) {
                bool full = strcmp(pairs[i].over, "full") == 0;

                over = rig_make(rig, to, "b", full ? "dir" : pairs[i].over, 0755);
                over_id = rig_attr(rig, over).fileid;
                if (full)
                    rig_make(rig, over, "inside", "file", 0644);
            }
            before = rig_attr(rig, moved);
            assert_int_equal(rig_rename(rig, &rig_root, from, "a", to, "b"), pairs[i].want);
            after = rig_attr(rig, moved);
            if (pairs[i].want == 0) {
                assert_int_equal(rig_lookup(rig, &rig_root, from, "a"), -ENOENT);
                assert_true(rig_attr(rig, rig_find(rig, to, "b")).fileid == before.fileid);
                assert_true(same_time(after.mtime, before.mtime));
                assert_int_equal(rig_attr(rig, from).nlink, S_ISDIR(before.mode) && !apart ? 3 : 2);
                assert_int_equal(rig_attr(rig, to).nlink, S_ISDIR(before.mode) ? 3 : 2);
                if (over != NULL)
                    assert_int_equal(rig_finish(rig, store_getattr(over, rig_op(rig, &rig_root))), -ESTALE);
            } else {
                assert_true(rig_attr(rig, rig_find(rig, from, "a")).fileid == before.fileid);
                assert_true(rig_attr(rig, rig_find(rig, to, "b")).fileid == over_id);
            }
        }
        rig_put_all(rig);
        rig->dir = NULL;
        assert_int_equal(fresh_directory(state), 0);
    }
}

static void
rename_reports_both_directories(void **state)
{
    struct rig *rig = *state;
    struct store_node *from = rig_make(rig, rig->dir, "from", "dir", 0777);
    struct store_node *to = rig_make(rig, rig->dir, "to", "dir", 0777);
    struct store_attr from_before, to_before;
    struct store_wcc wcc, wcc_to;

    rig_make(rig, from, "f", "file", 0644);
    from_before = rig_attr(rig, from);
    to_before = rig_attr(rig, to);
    assert_int_equal(rig_rename(rig, &rig_root, from, "nothing", to, "g"), -ENOENT);
    wcc = rig->call.op.wcc;
    wcc_to = rig->call.op.wcc_to;
    assert_wcc(&wcc, from_before, from_before);
    assert_wcc(&wcc_to, to_before, to_before);
    rig_tick();
    assert_int_equal(rig_rename(rig, &rig_root, from, "f", to, "g"), 0);
    wcc = rig->call.op.wcc;
    wcc_to = rig->call.op.wcc_to;
    assert_wcc(&wcc, from_before, rig_attr(rig, from));
    assert_wcc(&wcc_to, to_before, rig_attr(rig, to));
    assert_true(later(rig_attr(rig, from).mtime, from_before.mtime));
    assert_true(later(rig_attr(rig, to).mtime, to_before.mtime));
}

static void
rename_between_names_of_one_file_keeps_both(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);
    struct store_attr before;

    assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, "g"), 0);
    rig_make(rig, rig->dir, "d", "dir", 0755);
    before = rig_attr(rig, rig->dir);
    rig_tick();
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "f", rig->dir, "g"), 0);
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "f", rig->dir, "f"), 0);
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "d", rig->dir, "d"), 0);
    assert_names(rig, rig->dir, "d f g");
    assert_int_equal(rig_attr(rig, file).nlink, 2);
    assert_true(same_time(rig_attr(rig, rig->dir).mtime, before.mtime));
}

static void
rename_over_one_of_two_names_leaves_the_other(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = rig_make(rig, rig->dir, "f", "file", 0644);

    rig_make(rig, rig->dir, "new", "file", 0644);
    assert_int_equal(rig_link(rig, &rig_root, file, rig->dir, "g"), 0);
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "new", rig->dir, "f"), 0);
    assert_int_equal(rig_attr(rig, file).nlink, 1);
    assert_names(rig, rig->dir, "f g");
}

static void
a_directory_does_not_move_below_itself(void **state)
{
    struct rig *rig = *state;
    struct store_node *a = rig_make(rig, rig->dir, "a", "dir", 0777);
    struct store_node *b = rig_make(rig, a, "b", "dir", 0777);
    struct store_node *c = rig_make(rig, b, "c", "dir", 0777);

    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "a", a, "x"), -EINVAL);
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "a", c, "x"), -EINVAL);
    assert_int_equal(rig_rename(rig, &rig_root, a, "b", rig->dir, "a"), -ENOTEMPTY);
    assert_int_equal(rig_rename(rig, &rig_root, b, "c", rig->dir, "a"), -ENOTEMPTY);
    assert_names(rig, rig->dir, "a");
    assert_names(rig, a, "b");
    assert_names(rig, b, "c");
    assert_names(rig, c, "");
}

static void
a_moved_directory_takes_its_dotdot_along(void **state)
{
    struct rig *rig = *state;
    struct store_node *from = rig_make(rig, rig->dir, "from", "dir", 0777);
    struct store_node *to = rig_make(rig, rig->dir, "to", "dir", 0777);
    struct store_node *moved = rig_make(rig, from, "d", "dir", 0777);

    assert_int_equal(rig_rename(rig, &rig_root, from, "d", to, "e"), 0);
    assert_int_equal(rig_lookup(rig, &rig_root, moved, ".."), 0);
    assert_true(rig->call.op.child_attr.fileid == rig_attr(rig, to).fileid);
    rig_make(rig, moved, "f", "file", 0644);
    assert_names(rig, rig_find(rig, to, "e"), "f");
}

static void
moving_a_directory_needs_write_permission_on_it(void **state)
{
    struct rig *rig = *state;
    struct store_node *from, *to;

    NEEDS_IDENTITIES(rig);
    from = rig_make(rig, rig->dir, "from", "dir", 0777);
    to = rig_make(rig, rig->dir, "to", "dir", 0777);
    rig_make(rig, from, "d", "dir", 0755);
    assert_int_equal(rig_rename(rig, &rig_bob, from, "d", to, "d"), -EACCES);
    assert_int_equal(rig_rename(rig, &rig_bob, from, "d", from, "e"), 0);
    assert_int_equal(rig_rename(rig, &rig_root, from, "e", to, "d"), 0);
}

static void
rename_needs_rights_on_both_directories(void **state)
{
    struct rig *rig = *state;
    struct store_node *open, *closed;

    NEEDS_IDENTITIES(rig);
    open = rig_make(rig, rig->dir, "open", "dir", 0777);
    closed = rig_make(rig, rig->dir, "closed", "dir", 0755);
    rig_make(rig, open, "f", "file", 0666);
    rig_make(rig, closed, "g", "file", 0666);
    assert_int_equal(rig_rename(rig, &rig_bob, open, "f", closed, "f"), -EACCES);
    assert_int_equal(rig_rename(rig, &rig_bob, open, "f", closed, "g"), -EACCES);
    assert_int_equal(rig_rename(rig, &rig_bob, closed, "g", open, "g"), -EACCES);
    assert_names(rig, open, "f");
    assert_names(rig, closed, "g");
}

/* ---- READDIR ---- */

static void
an_empty_directory_has_dot_and_dotdot(void **state)
{
    static _Alignas(8) char buffer[4096];
    struct rig *rig = *state;
    uint64_t ids[2] = { rig_attr(rig, rig->dir).fileid, rig_attr(rig, rig->store->root).fileid };
    const struct store_dirent *dirent = (const struct store_dirent *)buffer;
    unsigned i;

    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, sizeof(buffer), 100, false), 0);
    assert_int_equal(rig->call.op.r.dir.entries, 2);
    assert_true(rig->call.op.r.dir.eof && rig->call.op.attr.present);
    for (i = 0; i < 2; i++, dirent = rig_next_entry(dirent)) {
        assert_in_range(dirent->name_len, 1, 2);
        assert_memory_equal(dirent->name, "..", dirent->name_len);
        assert_true(dirent->fileid == ids[dirent->name_len - 1]);
        assert_true(dirent->cookie != 0);
        assert_false(dirent->attr.present);
        assert_int_equal(dirent->id.len, 0);
    }
}

static void
dotdot_of_the_root_is_the_root(void **state)
{
    static _Alignas(8) char buffer[1 << 16];
    struct rig *rig = *state;
    uint64_t root = rig_attr(rig, rig->store->root).fileid;
    const struct store_dirent *dirent = (const struct store_dirent *)buffer;
    unsigned i, seen = 0;

    assert_int_equal(rig_readdir(rig, &rig_root, rig->store->root, 0, buffer, sizeof(buffer), 1000, false), 0);
    for (i = 0; i < rig->call.op.r.dir.entries; i++, dirent = rig_next_entry(dirent)) {
        if (dirent->name_len == 2 && memcmp(dirent->name, "..", 2) == 0) {
            assert_true(dirent->fileid == root);
            seen++;
        }
    }
    assert_int_equal(seen, 1);
}

static void
make_numbered(struct rig *rig, struct store_node *dir, unsigned count)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        char name[16];

        snprintf(name, sizeof(name), "e%03u", i);
        assert_int_equal(rig_create(rig, &rig_root, dir, name, STORE_GUARDED, NOTHING), 0);
    }
}

static void
readdir_goes_on_behind_every_cookie(void **state)
{
    static _Alignas(8) char all[1 << 16], rest[1 << 16];
    struct rig *rig = *state;
    const struct store_dirent *dirent = (const struct store_dirent *)all, *a, *b;
    uint32_t entries, i, j;

    make_numbered(rig, rig->dir, 20);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, all, sizeof(all), 1000, false), 0);
    entries = rig->call.op.r.dir.entries;
    assert_int_equal(entries, 22);
    for (i = 0; i < entries; i++, dirent = rig_next_entry(dirent)) {
        assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, dirent->cookie, rest, sizeof(rest), 1000, i % 2), 0);
        assert_int_equal(rig->call.op.r.dir.entries, entries - 1 - i);
        assert_true(rig->call.op.r.dir.eof);
        a = rig_next_entry(dirent);
        b = (const struct store_dirent *)rest;
        for (j = i + 1; j < entries; j++, a = rig_next_entry(a), b = rig_next_entry(b)) {
            assert_int_equal(a->name_len, b->name_len);
            assert_memory_equal(a->name, b->name, a->name_len);
            assert_true(a->cookie == b->cookie);
        }
    }
}

static void
pages_of_any_size_list_every_name_once(void **state)
{
    static const uint32_t pages[] = { 1, 2, 3, 7, 22, 23 };
    struct rig *rig = *state;
    struct store_node *dir = rig_make(rig, rig->dir, "d", "dir", 0755);
    char text[1024];
    unsigned i;

    make_numbered(rig, dir, 20);
    for (i = 0; i < COUNT(pages); i++) {
        char *name, *rest = text;
        bool seen[20] = { false };
        unsigned count = 0;

        rig_names(rig, dir, pages[i], text, sizeof(text));
        while ((name = strsep(&rest, " ")) != NULL && name[0] != '\0') {
            unsigned number = atoi(name + 1);

            assert_true(number < 20 && !seen[number]);
            seen[number] = true;
            count++;
        }
        assert_int_equal(count, 20);
    }
}

static void
eof_is_true_with_the_last_entry(void **state)
{
    static _Alignas(8) char buffer[8192];
    struct rig *rig = *state;
    size_t used;

    make_numbered(rig, rig->dir, 3);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, sizeof(buffer), 1000, false), 0);
    assert_true(rig->call.op.r.dir.eof);
    used = rig->call.op.r.dir.used;
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, sizeof(buffer), 5, false), 0);
    assert_true(rig->call.op.r.dir.eof && rig->call.op.r.dir.entries == 5);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, sizeof(buffer), 4, false), 0);
    assert_true(!rig->call.op.r.dir.eof && rig->call.op.r.dir.entries == 4);
    used = (used + 7) & ~(size_t)7;
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, used, 1000, false), 0);
    assert_true(rig->call.op.r.dir.eof && rig->call.op.r.dir.entries == 5);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, used - 16, 1000, false), 0);
    assert_true(!rig->call.op.r.dir.eof && rig->call.op.r.dir.entries == 4);
}

static void
an_entry_too_large_for_the_buffer_is_left_for_the_next_call(void **state)
{
    static _Alignas(8) char buffer[8192];
    struct rig *rig = *state;

    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, 16, 1000, false), 0);
    assert_int_equal(rig->call.op.r.dir.entries, 0);
    assert_false(rig->call.op.r.dir.eof);
}

static void
removing_all_that_was_listed_empties_the_directory(void **state)
{
    static _Alignas(8) char buffer[8192];
    struct rig *rig = *state;
    uint64_t cookie = 0;
    unsigned removed = 0;
    bool eof;

    make_numbered(rig, rig->dir, 40);
    do {
        const struct store_dirent *dirent = (const struct store_dirent *)buffer;
        uint32_t i, entries;

        assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, cookie, buffer, sizeof(buffer), 7, false), 0);
        eof = rig->call.op.r.dir.eof;
        entries = rig->call.op.r.dir.entries;
        for (i = 0; i < entries; i++, dirent = rig_next_entry(dirent)) {
            char name[STORE_NAME_MAX + 1];

            cookie = dirent->cookie;
            snprintf(name, sizeof(name), "%.*s", (int)dirent->name_len, dirent->name);
            if (name[0] != '.') {
                assert_int_equal(rig_remove(rig, &rig_root, rig->dir, name), 0);
                removed++;
            }
        }
    } while (!eof);
    assert_int_equal(removed, 40);
    assert_names(rig, rig->dir, "");
}

static void
readdirplus_tells_what_lookup_and_getattr_tell(void **state)
{
    static _Alignas(8) char buffer[8192];
    struct rig *rig = *state;
    const struct store_dirent *dirent = (const struct store_dirent *)buffer;
    uint32_t i, entries;

    rig_make(rig, rig->dir, "f", "file", 0644);
    rig_make(rig, rig->dir, "d", "dir", 0755);
    rig_make(rig, rig->dir, "l", "link", 0);
    assert_int_equal(rig_readdir(rig, &rig_root, rig->dir, 0, buffer, sizeof(buffer), 100, true), 0);
    entries = rig->call.op.r.dir.entries;
    assert_int_equal(entries, 5);
    for (i = 0; i < entries; i++, dirent = rig_next_entry(dirent)) {
        char name[4] = "";

        memcpy(name, dirent->name, dirent->name_len);
        assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, name), 0);
        assert_true(dirent->fileid == rig->call.op.child_attr.fileid);
        if (name[0] == '.' && !dirent->attr.present)
            continue;                                   /* these two may be left out */
        assert_true(dirent->attr.present);
        assert_true(dirent->attr.fileid == dirent->fileid && dirent->attr.mode == rig->call.op.child_attr.mode);
        assert_int_equal(dirent->id.len, rig->call.op.child.len);
        assert_memory_equal(dirent->id.bytes, rig->call.op.child.bytes, dirent->id.len);
    }
}

static void
readdirplus_gives_no_ids_away_without_search_permission(void **state)
{
    static _Alignas(8) char buffer[8192];
    struct rig *rig = *state;
    const struct store_dirent *dirent = (const struct store_dirent *)buffer;
    struct store_node *dir;
    uint32_t i;
    int err;

    NEEDS_IDENTITIES(rig);
    dir = rig_make(rig, rig->dir, "d", "dir", 0744);
    rig_make(rig, dir, "f", "file", 0644);
    err = rig_readdir(rig, &rig_bob, dir, 0, buffer, sizeof(buffer), 100, true);
    assert_int_equal(err, 0);
    assert_int_equal(rig->call.op.r.dir.entries, 3);
    for (i = 0; i < 3; i++, dirent = rig_next_entry(dirent)) {
        if (dirent->name[0] == 'f')
            assert_true(!dirent->attr.present && dirent->id.len == 0);
    }
}

/* ---- FSSTAT ---- */

static void
the_file_system_has_plausible_numbers(void **state)
{
    struct rig *rig = *state;
    const struct store_fs *fs = &rig->call.op.r.fs;

    assert_int_equal(rig_fsstat(rig, rig_make(rig, rig->dir, "f", "file", 0644)), 0);
    assert_true(rig->call.op.attr.present);
    assert_true(fs->total_bytes >= fs->free_bytes && fs->free_bytes >= fs->avail_bytes && fs->avail_bytes > 0);
    assert_true(fs->total_files >= fs->free_files && fs->free_files >= fs->avail_files && fs->avail_files > 0);
    assert_true(fs->max_file_size > UINT32_MAX && fs->max_file_size <= INT64_MAX);
    assert_true(fs->time_delta.tv_sec == 0 && fs->time_delta.tv_nsec >= 1);
    assert_true(fs->name_max == STORE_NAME_MAX && fs->link_max > 1);
    assert_true(fs->hard_links && fs->symlinks && fs->can_set_time && fs->homogeneous);
    assert_true(fs->no_trunc && fs->chown_restricted && fs->case_preserving && !fs->case_insensitive);
}

#define TEST(name) { #name, name, fresh_directory, give_back, NULL }

static const struct CMUnitTest tests[] = {
    TEST(an_id_finds_the_same_node_again),
    TEST(the_root_is_found_by_its_id),
    TEST(an_id_of_another_form_is_not_one_of_ours),
    TEST(a_removed_objects_id_is_stale),
    TEST(a_node_that_is_held_is_stale_once_removed),
    TEST(every_type_has_its_attributes),
    TEST(access_to_a_file_follows_the_mode),
    TEST(access_to_a_directory_follows_the_mode),
    TEST(access_grants_only_what_was_asked_for_and_means_something),
    TEST(root_may_everything_but_execute_what_nobody_can),
    TEST(lookup_and_readdir_follow_the_mode_of_the_directory),
    TEST(changing_names_needs_write_and_search),
    TEST(read_and_write_follow_the_mode_for_all_but_the_owner),
    TEST(an_owner_without_his_own_bits_is_not_served_by_those_of_others),
    TEST(a_sticky_directory_keeps_names_to_their_owners),
    TEST(setattr_sets_every_mode),
    TEST(setattr_moves_ctime_and_reports_before_and_after),
    TEST(setattr_of_nothing_changes_nothing),
    TEST(a_guard_that_is_not_the_ctime_refuses_all_changes),
    TEST(times_are_set_to_the_nanosecond_and_apart),
    TEST(a_writer_may_truncate_and_touch_one_of_the_times),
    TEST(only_the_owner_sets_times_but_a_writer_may_touch),
    TEST(only_the_owner_changes_the_mode),
    TEST(only_root_gives_files_away),
    TEST(an_owner_changes_the_group_to_his_own_only),
    TEST(chmod_drops_setgid_for_a_group_that_is_not_the_callers),
    TEST(chown_of_a_file_takes_setuid_away),
    TEST(a_writer_who_is_not_root_takes_setuid_away),
    TEST(a_size_cuts_and_extends_with_zeros),
    TEST(setting_the_size_it_has_moves_the_times),
    TEST(only_regular_files_have_a_size_to_set),
    TEST(a_size_past_the_greatest_is_refused),
    TEST(truncation_needs_permission_to_write),
    TEST(attributes_of_a_link_are_its_own),
    TEST(everything_at_once),
    TEST(dot_and_dotdot_are_found),
    TEST(names_are_bytes),
    TEST(a_name_of_255_bytes_works),
    TEST(operations_on_names_need_a_directory),
    TEST(a_links_text_comes_back_unchanged),
    TEST(a_links_text_has_1_to_4095_bytes),
    TEST(readlink_is_for_links),
    TEST(what_was_written_is_read),
    TEST(eof_is_told_exactly),
    TEST(holes_read_as_zeros_and_take_no_space),
    TEST(a_write_past_the_end_leaves_zeros_in_between),
    TEST(write_moves_times_and_reports_before_and_after),
    TEST(a_write_is_as_stable_as_asked),
    TEST(a_write_of_nothing_changes_nothing_but_needs_permission),
    TEST(a_write_past_the_greatest_offset_is_refused),
    TEST(data_is_of_regular_files_only),
    TEST(reading_moves_an_access_time_before_the_last_change),
    TEST(commit_answers_for_any_range),
    TEST(a_renewed_verifier_is_another),
    TEST(a_new_object_belongs_to_the_caller),
    TEST(creating_moves_the_directorys_times_and_reports_them),
    TEST(a_mode_is_taken_as_given),
    TEST(an_object_without_a_mode_gets_a_sensible_one),
    TEST(create_sets_size_and_times),
    TEST(only_root_makes_objects_of_others),
    TEST(a_setgid_directory_hands_its_group_on),
    TEST(a_name_that_is_there_is_not_made_again),
    TEST(unchecked_create_of_a_file_changes_its_size_only),
    TEST(unchecked_create_of_a_file_needs_no_right_on_the_directory),
    TEST(exclusive_create_may_be_sent_again_with_its_verifier_only),
    TEST(an_exclusive_verifier_does_not_outlive_the_file),
    TEST(mkdir_counts_links),
    TEST(mknod_makes_what_is_a_node),
    TEST(remove_takes_every_type_but_directories),
    TEST(removal_moves_the_directorys_times_and_reports_them),
    TEST(rmdir_takes_empty_directories_only),
    TEST(a_link_is_another_name_of_the_same_file),
    TEST(a_link_is_refused_where_it_cannot_be),
    TEST(rename_over_each_type),
    TEST(rename_reports_both_directories),
    TEST(rename_between_names_of_one_file_keeps_both),
    TEST(rename_over_one_of_two_names_leaves_the_other),
    TEST(a_directory_does_not_move_below_itself),
    TEST(a_moved_directory_takes_its_dotdot_along),
    TEST(moving_a_directory_needs_write_permission_on_it),
    TEST(rename_needs_rights_on_both_directories),
    TEST(an_empty_directory_has_dot_and_dotdot),
    TEST(dotdot_of_the_root_is_the_root),
    TEST(readdir_goes_on_behind_every_cookie),
    TEST(pages_of_any_size_list_every_name_once),
    TEST(eof_is_true_with_the_last_entry),
    TEST(an_entry_too_large_for_the_buffer_is_left_for_the_next_call),
    TEST(removing_all_that_was_listed_empties_the_directory),
    TEST(readdirplus_tells_what_lookup_and_getattr_tell),
    TEST(readdirplus_gives_no_ids_away_without_search_permission),
    TEST(the_file_system_has_plausible_numbers),
};

int
main(void)
{
    int failed = 0;
    unsigned i;

    for (i = 0; i < COUNT(rows); i++) {
        row = &rows[i];
        failed += _cmocka_run_group_tests(row->name, tests, COUNT(tests), rig_up, rig_down);
    }
    return failed;
}
