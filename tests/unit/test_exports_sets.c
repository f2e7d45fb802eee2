/*
 * tests/unit/test_exports_sets.c - a set of exports as a whole: which of them a path or an id is of, what a reload keeps,
 * and how long a set lives.
 */
#include "tests/lib/exports_rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
a_path_is_found_in_the_longest_export_it_lies_in(void **state)
{
    struct exports *set = exp_must_load("memory:/srv\nmemory:/srv/data\nmemory:/srv/data/deep\nmemory:/home", NULL);
    static const struct { const char *path, *export, *rest; } rows[] = {
        { "/srv", "/srv", "" }, { "/srv/", "/srv", "" }, { "//srv//", "/srv", "" }, { "/srv/x", "/srv", "x" },
        { "/srv/dat", "/srv", "dat" }, { "/srv/data", "/srv/data", "" }, { "/srv//data///x//y/", "/srv/data", "x//y/" },
        { "/srv/database", "/srv", "database" }, { "/srv/data/deeper", "/srv/data", "deeper" },
        { "/srv/data/deep/er", "/srv/data/deep", "er" }, { "/home/u", "/home", "u" }, { "/homer", NULL, NULL },
        { "/", NULL, NULL }, { "", NULL, NULL }, { "srv", NULL, NULL }, { "/sr", NULL, NULL },
        { "/srv/data/..", "/srv/data", ".." },
    };
    const struct export *export;
    const char *rest;
    size_t i, len;

    (void)state;
    for (i = 0; i < COUNT(rows); i++) {
        export = exports_find_path(set, rows[i].path, strlen(rows[i].path), NULL, &rest, &len);
        if (rows[i].export == NULL) {
            assert_null(export);
            continue;
        }
        assert_non_null(export);
        assert_string_equal(export->path, rows[i].export);
        assert_int_equal(len, strlen(rows[i].rest));
        assert_memory_equal(rest, rows[i].rest, len);
    }
    exports_put(set);
    set = exp_must_load("memory:/\nmemory:/a", NULL);
    assert_string_equal(exports_find_path(set, "/b/c", 4, NULL, &rest, &len)->path, "/");
    assert_int_equal(len, 3);
    assert_string_equal(exports_find_path(set, "/", 1, NULL, &rest, &len)->path, "/");
    assert_string_equal(exports_find_path(set, "/a", 2, NULL, &rest, &len)->path, "/a");
    exports_put(set);
}

static void
shorter_exports_that_a_path_lies_in_follow_one_by_one(void **state)
{
    struct exports *set = exp_must_load("memory:/\nmemory:/srv\nmemory:/srv/data\nmemory:/srv/other", NULL);
    static const char *const paths[] = { "/srv/data", "/srv", "/" }, *const rests[] = { "x", "data/x", "srv/data/x" };
    const char path[] = "/srv/data/x", *rest;
    const struct export *export = NULL;
    size_t i, len;

    (void)state;
    for (i = 0; i < COUNT(paths); i++) {
        export = exports_find_path(set, path, strlen(path), export, &rest, &len);
        assert_non_null(export);
        assert_string_equal(export->path, paths[i]);
        assert_int_equal(len, strlen(rests[i]));
        assert_memory_equal(rest, rests[i], len);
    }
    assert_null(exports_find_path(set, path, strlen(path), export, &rest, &len));
    exports_put(set);
}

static uint64_t
id_of(const struct exports *set, const char *path)
{
    const struct export *export;
    const char *rest;
    size_t len;

    export = exports_find_path(set, path, strlen(path), NULL, &rest, &len);
    assert_non_null(export);
    assert_int_equal(len, 0);
    assert_ptr_equal(exports_find_id(set, export->id), export);
    return export->id;
}

static void
ids_do_not_depend_on_the_order_of_lines(void **state)
{
    struct exports *one = exp_must_load("/x *(path=/)\n/y *(path=/)\n/f *(path=/,fsid=7)", NULL);
    struct exports *other = exp_must_load("/f *(path=/,fsid=7)\n/new *(path=/)\n/y 10.0.0.1(rw,path=/)\n"
                                          "/x *(path=/)", NULL);

    (void)state;
    assert_true(id_of(one, "/x") == id_of(other, "/x"));
    assert_true(id_of(one, "/y") == id_of(other, "/y"));
    assert_true(id_of(one, "/f") == id_of(other, "/f"));
    assert_true(id_of(one, "/x") != id_of(one, "/y"));
    assert_null(exports_find_id(one, id_of(other, "/new")));
    exports_put(one);
    exports_put(other);
}

static void
an_fsid_alone_makes_the_id(void **state)
{
    struct exports *one = exp_must_load("/here *(path=/,fsid=7)", NULL);
    struct exports *other = exp_must_load("memory:/there *(fsid=7)", NULL);

    (void)state;
    assert_true(id_of(one, "/here") == id_of(other, "/there"));
    exports_put(one);
    exports_put(other);
}

static void
a_reload_keeps_stores_and_ids(void **state)
{
    struct exports *old = exp_must_load("memory:/m *\n/x *(path=/)\nmemory:/gone", NULL);
    struct exports *set = exp_must_load("/x *(path=/,rw)\nmemory:/m *(rw)\nmemory:/n", old);
    struct store *memory = old->list[1].store, *posix = old->list[2].store;
    uint64_t id = id_of(old, "/m");

    (void)state;
    assert_string_equal(old->list[1].path, "/m");
    assert_string_equal(old->list[2].path, "/x");
    exports_put(old);
    assert_ptr_equal(set->list[0].store, memory);
    assert_ptr_equal(set->list[2].store, posix);
    assert_true(id_of(set, "/m") == id);
    assert_ptr_not_equal(set->list[1].store, memory);
    exports_put(set);
}

static void
two_exports_of_one_directory_share_its_store(void **state)
{
    struct exports *set = exp_must_load("/x *(path=/)\n/y *(path=/)\n/z *(path=/tmp)", NULL);

    (void)state;
    assert_ptr_equal(set->list[0].store, set->list[1].store);
    assert_ptr_not_equal(set->list[0].store, set->list[2].store);
    exports_put(set);
}

static void
a_directory_that_was_replaced_gets_a_store_of_its_own(void **state)
{
    char cwd[256], text[512];
    struct exports *old, *set;

    (void)state;
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(text, sizeof(text), "/x *(path=%s/d)", cwd);
    assert_int_equal(mkdir("d", 0700), 0);
    old = exp_must_load(text, NULL);
    assert_int_equal(rename("d", "moved"), 0);
    assert_int_equal(mkdir("d", 0700), 0);
    set = exp_must_load(text, old);
    assert_ptr_not_equal(set->list[0].store, old->list[0].store);
    exports_put(old);
    exports_put(set);
}

static void
a_symbolic_link_is_served_as_what_it_points_to(void **state)
{
    char cwd[256], text[512], want[512];
    struct exports *set;

    (void)state;
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    assert_int_equal(mkdir("target", 0700), 0);
    assert_int_equal(symlink("target", "link"), 0);
    snprintf(text, sizeof(text), "%s/link *", cwd);
    snprintf(want, sizeof(want), "%s/target", cwd);
    set = exp_must_load(text, NULL);
    assert_string_equal(set->list[0].dir, want);
    exports_put(set);
}

static void
a_bad_line_leaves_the_old_set_as_it_was(void **state)
{
    struct exports *old = exp_must_load("memory:/m *(rw)", NULL), *set;
    char error[EXP_ERROR_MAX], got[EXP_ERROR_MAX];

    (void)state;
    assert_int_equal(exp_load("memory:/m *\nmemory:/n *(frob)", old, &set, error), -EINVAL);
    assert_null(set);
    assert_int_equal(exp_load("memory:/m *\n/nowhere *", old, &set, error), -ENOENT);
    assert_null(set);
    exp_say(got, old);
    assert_string_equal(got, "/m: * rw");
    assert_int_equal(old->refs, 1);
    exports_put(old);
}

static void
a_set_lives_as_long_as_somebody_holds_it(void **state)
{
    struct exports *set = exp_must_load("memory:/m *(rw)", NULL);

    (void)state;
    assert_ptr_equal(exports_ref(set), set);
    exports_put(set);
    assert_string_equal(set->list[0].path, "/m");
    exports_put(set);
    exports_put(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_found_in_the_longest_export_it_lies_in),
        cmocka_unit_test(shorter_exports_that_a_path_lies_in_follow_one_by_one),
        cmocka_unit_test(ids_do_not_depend_on_the_order_of_lines),
        cmocka_unit_test(an_fsid_alone_makes_the_id),
        cmocka_unit_test(a_reload_keeps_stores_and_ids),
        cmocka_unit_test(two_exports_of_one_directory_share_its_store),
        cmocka_unit_test(a_directory_that_was_replaced_gets_a_store_of_its_own),
        cmocka_unit_test(a_symbolic_link_is_served_as_what_it_points_to),
        cmocka_unit_test(a_bad_line_leaves_the_old_set_as_it_was),
        cmocka_unit_test(a_set_lives_as_long_as_somebody_holds_it),
    };

    return cmocka_run_group_tests(tests, exp_set_up, exp_tear_down);
}
