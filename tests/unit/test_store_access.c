/* tests/unit/test_store_access.c - what every store does: finding objects by their id, and who may do what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>

#include "tests/lib/store_each.h"

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

/* What holds for a caller whose bits of the mode are these. */
typedef void check_mode(struct rig *rig, const struct store_cred *cred, struct store_node *node, unsigned bits);

/* In each class, with all that its three bits can be, the others off. */
static void
check_all_modes(struct rig *rig, struct store_node *node, check_mode *check)
{
    for (unsigned i = 0; i < COUNT(classes); i++) {
        struct store_cred cred = rig_member(classes[i].uid, classes[i].gid, classes[i].in_group);

        for (unsigned bits = 0; bits < 8; bits++) {
            assert_int_equal(rig_setattr(rig, &rig_root, node, MODE(bits << classes[i].shift)), 0);
            check(rig, &cred, node, bits);
        }
    }
}

static void
check_access_to_file(struct rig *rig, const struct store_cred *cred, struct store_node *file, unsigned bits)
{
    uint32_t all = STORE_ACCESS_READ | STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND | STORE_ACCESS_EXECUTE;
    uint32_t want = (bits & 4 ? STORE_ACCESS_READ : 0) | (bits & 1 ? STORE_ACCESS_EXECUTE : 0) |
                    (bits & 2 ? STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND : 0);

    assert_int_equal(rig_access(rig, cred, file, all), want);
}

static void
access_to_a_file_follows_the_mode(void **state)
{
    struct rig *rig = *state;

    NEEDS_IDENTITIES(rig);
    check_all_modes(rig, rig_make_of_group(rig, "f", "file"), check_access_to_file);
}

static void
check_access_to_dir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, unsigned bits)
{
    uint32_t change = STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND | STORE_ACCESS_DELETE;
    uint32_t want = (bits & 4 ? STORE_ACCESS_READ : 0) | (bits & 1 ? STORE_ACCESS_LOOKUP : 0) |
                    ((bits & 3) == 3 ? change : 0);

    assert_int_equal(rig_access(rig, cred, dir, change | STORE_ACCESS_READ | STORE_ACCESS_LOOKUP), want);
}

static void
access_to_a_directory_follows_the_mode(void **state)
{
    struct rig *rig = *state;

    NEEDS_IDENTITIES(rig);
    check_all_modes(rig, rig_make_of_group(rig, "d", "dir"), check_access_to_dir);
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
check_lookup_and_readdir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, unsigned bits)
{
    static _Alignas(8) char buffer[8192];

    assert_int_equal(rig_lookup(rig, cred, dir, "f"), bits & 1 ? 0 : -EACCES);
    assert_int_equal(rig_readdir(rig, cred, dir, 0, buffer, sizeof(buffer), 9, false), bits & 4 ? 0 : -EACCES);
}

static void
lookup_and_readdir_follow_the_mode_of_the_directory(void **state)
{
    struct rig *rig = *state;
    struct store_node *dir;

    NEEDS_IDENTITIES(rig);
    dir = rig_make_of_group(rig, "d", "dir");
    rig_make(rig, dir, "f", "file", 0644);
    check_all_modes(rig, dir, check_lookup_and_readdir);
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
            rig_assert_names(rig, dir, "old sub");
        }
        rig_remove(rig, &rig_root, dir, "e");
        rig_remove(rig, &rig_root, dir, "s");
        rig_remove(rig, &rig_root, dir, "n");
        rig_remove(rig, &rig_root, dir, "l");
        rig_rename(rig, &rig_root, dir, "new", dir, "old");
    }
}

static void
check_read_and_write(struct rig *rig, const struct store_cred *cred, struct store_node *file, unsigned bits)
{
    bool owner = cred->uid == RIG_ALICE;
    char byte = 'x';

    assert_int_equal(rig_write(rig, cred, file, 0, &byte, 1), owner || bits & 2 ? 0 : -EACCES);
    assert_int_equal(rig_read(rig, cred, file, 0, 1, &byte), owner || bits & 5 ? 0 : -EACCES);
}

static void
read_and_write_follow_the_mode_for_all_but_the_owner(void **state)
{
    struct rig *rig = *state;

    NEEDS_IDENTITIES(rig);
    check_all_modes(rig, rig_make_of_group(rig, "f", "file"), check_read_and_write);
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
    rig_assert_names(rig, dir, "f mine sub");
    assert_int_equal(rig_remove(rig, &rig_alice, dir, "f"), 0);
    assert_int_equal(rig_rename(rig, &rig_bob, dir, "mine", dir, "yours"), 0);
    assert_int_equal(rig_remove(rig, &rig_root, dir, "yours"), 0);
    assert_int_equal(rig_setattr(rig, &rig_root, dir, (struct store_setattr){ .set_uid = true, .uid = RIG_BOB }), 0);
    assert_int_equal(rig_rmdir(rig, &rig_bob, dir, "sub"), 0);
}

static const struct CMUnitTest tests[] = {
    STORE_TEST(an_id_finds_the_same_node_again),
    STORE_TEST(the_root_is_found_by_its_id),
    STORE_TEST(an_id_of_another_form_is_not_one_of_ours),
    STORE_TEST(a_removed_objects_id_is_stale),
    STORE_TEST(a_node_that_is_held_is_stale_once_removed),
    STORE_TEST(every_type_has_its_attributes),
    STORE_TEST(access_to_a_file_follows_the_mode),
    STORE_TEST(access_to_a_directory_follows_the_mode),
    STORE_TEST(access_grants_only_what_was_asked_for_and_means_something),
    STORE_TEST(root_may_everything_but_execute_what_nobody_can),
    STORE_TEST(lookup_and_readdir_follow_the_mode_of_the_directory),
    STORE_TEST(changing_names_needs_write_and_search),
    STORE_TEST(read_and_write_follow_the_mode_for_all_but_the_owner),
    STORE_TEST(an_owner_without_his_own_bits_is_not_served_by_those_of_others),
    STORE_TEST(a_sticky_directory_keeps_names_to_their_owners),
};

int
main(void)
{
    return store_each_main(tests, COUNT(tests));
}
