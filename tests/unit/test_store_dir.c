/* tests/unit/test_store_dir.c - what every store does: READDIR, READDIRPLUS, FSSTAT. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/store_each.h"

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

/* What the entries of a reply take, as rig_readdir_room() counts. */
static size_t
told(const void *buffer, uint32_t entries)
{
    const struct store_dirent *dirent = buffer;
    size_t bytes = 0;

    for (; entries > 0; entries--, dirent = rig_next_entry(dirent))
        bytes += 10 + (dirent->name_len + 3) / 4 * 4 + (dirent->id.len > 0 ? 5 + (dirent->id.len + 3) / 4 * 4 : 0);
    return bytes;
}

static void
a_listing_ends_where_the_caller_has_no_room_for_more(void **state)
{
    static const size_t rooms[] = { 1, 40, 41, 100, 333, 1000, 100000 };
    static _Alignas(8) char buffer[1 << 16];
    struct rig *rig = *state;

    make_numbered(rig, rig->dir, 60);
    for (size_t i = 0; i < COUNT(rooms); i++) {
        uint64_t cookie = 0;
        unsigned seen = 0;
        size_t largest = 0;

        do {
            const struct store_dirent *dirent = (const struct store_dirent *)buffer;
            uint32_t entries;

            assert_int_equal(rig_readdir_room(rig, rig->dir, cookie, buffer, sizeof(buffer), rooms[i]), 0);
            entries = rig->call.op.r.dir.entries;
            assert_true(entries > 0 || rig->call.op.r.dir.eof);
            if (entries > 1)
                assert_in_range(told(buffer, entries), 1, rooms[i]);
            for (uint32_t n = 0; n < entries; n++, dirent = rig_next_entry(dirent)) {
                size_t alone = told(dirent, 1);

                cookie = dirent->cookie;
                largest = alone > largest ? alone : largest;
            }
            seen += entries;
            if (!rig->call.op.r.dir.eof && rooms[i] > 2 * largest)       /* no room is left for another entry */
                assert_true(told(buffer, entries) + largest > rooms[i]);
        } while (!rig->call.op.r.dir.eof);
        assert_int_equal(seen, 62);
    }
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
    rig_assert_names(rig, rig->dir, "");
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

static const struct CMUnitTest tests[] = {
    STORE_TEST(an_empty_directory_has_dot_and_dotdot),
    STORE_TEST(dotdot_of_the_root_is_the_root),
    STORE_TEST(readdir_goes_on_behind_every_cookie),
    STORE_TEST(pages_of_any_size_list_every_name_once),
    STORE_TEST(eof_is_true_with_the_last_entry),
    STORE_TEST(a_listing_ends_where_the_caller_has_no_room_for_more),
    STORE_TEST(an_entry_too_large_for_the_buffer_is_left_for_the_next_call),
    STORE_TEST(removing_all_that_was_listed_empties_the_directory),
    STORE_TEST(readdirplus_tells_what_lookup_and_getattr_tell),
    STORE_TEST(readdirplus_gives_no_ids_away_without_search_permission),
    STORE_TEST(the_file_system_has_plausible_numbers),
};

int
main(void)
{
    return store_each_main(tests, COUNT(tests));
}
