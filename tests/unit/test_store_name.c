/* tests/unit/test_store_name.c - what every store does: LOOKUP, READLINK, REMOVE, RMDIR, LINK, RENAME. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/store_each.h"

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
    rig_assert_names(rig, rig->dir, "");
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
    rig_assert_names(rig, rig->dir, name);
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
    rig_assert_names(rig, rig->dir, "");
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
    rig_assert_wcc(&wcc, before, before);
    rig_tick();
    assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "f"), 0);
    wcc = rig->call.op.wcc;
    after = rig_attr(rig, rig->dir);
    rig_assert_wcc(&wcc, before, after);
    assert_true(rig_is_later(after.mtime, before.mtime));
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
        rig_assert_wcc(&wcc, dir_before, rig_attr(rig, dir));
        after = rig_attr(rig, rig_find(rig, dir, types[i]));
        assert_true(after.fileid == before.fileid && after.nlink == 2);
        assert_true(rig_is_later(after.ctime, before.ctime) && rig_same_time(after.mtime, before.mtime));
        rig_tick();
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, types[i]), 0);
        assert_int_equal(rig_attr(rig, node).nlink, 1);
        assert_true(rig_is_later(rig_attr(rig, node).ctime, after.ctime));
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
    rig_assert_names(rig, rig->dir, "d f");
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
                assert_true(rig_same_time(after.mtime, before.mtime));
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
        assert_int_equal(store_each_set_up(state), 0);
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
    rig_assert_wcc(&wcc, from_before, from_before);
    rig_assert_wcc(&wcc_to, to_before, to_before);
    rig_tick();
    assert_int_equal(rig_rename(rig, &rig_root, from, "f", to, "g"), 0);
    wcc = rig->call.op.wcc;
    wcc_to = rig->call.op.wcc_to;
    rig_assert_wcc(&wcc, from_before, rig_attr(rig, from));
    rig_assert_wcc(&wcc_to, to_before, rig_attr(rig, to));
    assert_true(rig_is_later(rig_attr(rig, from).mtime, from_before.mtime));
    assert_true(rig_is_later(rig_attr(rig, to).mtime, to_before.mtime));
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
    rig_assert_names(rig, rig->dir, "d f g");
    assert_int_equal(rig_attr(rig, file).nlink, 2);
    assert_true(rig_same_time(rig_attr(rig, rig->dir).mtime, before.mtime));
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
    rig_assert_names(rig, rig->dir, "f g");
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
    rig_assert_names(rig, rig->dir, "a");
    rig_assert_names(rig, a, "b");
    rig_assert_names(rig, b, "c");
    rig_assert_names(rig, c, "");
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
    rig_assert_names(rig, rig_find(rig, to, "e"), "f");
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
    rig_assert_names(rig, open, "f");
    rig_assert_names(rig, closed, "g");
}

static const struct CMUnitTest tests[] = {
    STORE_TEST(dot_and_dotdot_are_found),
    STORE_TEST(names_are_bytes),
    STORE_TEST(a_name_of_255_bytes_works),
    STORE_TEST(operations_on_names_need_a_directory),
    STORE_TEST(a_links_text_comes_back_unchanged),
    STORE_TEST(a_links_text_has_1_to_4095_bytes),
    STORE_TEST(readlink_is_for_links),
    STORE_TEST(remove_takes_every_type_but_directories),
    STORE_TEST(removal_moves_the_directorys_times_and_reports_them),
    STORE_TEST(rmdir_takes_empty_directories_only),
    STORE_TEST(a_link_is_another_name_of_the_same_file),
    STORE_TEST(a_link_is_refused_where_it_cannot_be),
    STORE_TEST(rename_over_each_type),
    STORE_TEST(rename_reports_both_directories),
    STORE_TEST(rename_between_names_of_one_file_keeps_both),
    STORE_TEST(rename_over_one_of_two_names_leaves_the_other),
    STORE_TEST(a_directory_does_not_move_below_itself),
    STORE_TEST(a_moved_directory_takes_its_dotdot_along),
    STORE_TEST(moving_a_directory_needs_write_permission_on_it),
    STORE_TEST(rename_needs_rights_on_both_directories),
};

int
main(void)
{
    return store_each_main(tests, COUNT(tests));
}
