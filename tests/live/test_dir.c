/*
 * tests/live/test_dir.c - READDIR and READDIRPLUS (RFC 1813 3.3.16, 3.3.17).
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/lib/live.h"

#define ALICE 1001
#define MANY 5000
#define NAMES_MAX 8192

/* How a directory is read: READDIR, or READDIRPLUS. */
enum listing { PLAIN, PLUS };

struct seen {
    char name[256];
    uint64_t fileid, cookie;
    bool has_attr, has_handle;
    fattr3 attr;
    nfs_fh3 handle;
};

struct page {
    nfsstat3 status;
    bool eof;
    size_t count;
    size_t bytes;                       /* of the reply, from the status on */
    char verifier[NFS3_COOKIEVERFSIZE];
    struct seen *entries;
};

static void
note_entry(struct page *page, uint64_t fileid, const filename3 *name, uint64_t cookie)
{
    struct seen *seen = &page->entries[page->count++];

    assert_in_range(page->count, 1, NAMES_MAX);
    assert_in_range(name->filename3_len, 1, 255);
    memset(seen, 0, sizeof(*seen));
    memcpy(seen->name, name->filename3_val, name->filename3_len);
    seen->fileid = fileid;
    seen->cookie = cookie;
}

static struct page
list(struct live *srv, enum listing how, const nfs_fh3 *dir, uint64_t cookie, const char *verifier, uint32_t count)
{
    struct page page = { .entries = live_keep(srv, NAMES_MAX * sizeof(struct seen)) };
    READDIRPLUS3res *plus;
    READDIR3res *plain;
    entryplus3 *p;
    entry3 *e;

    if (how == PLAIN) {
        plain = live_readdir(srv, dir, cookie, verifier, count);
        page.status = plain->status;
        page.bytes = xdr_sizeof((xdrproc_t)xdr_READDIR3res, plain);
        if (page.status != NFS3_OK)
            return page;
        memcpy(page.verifier, plain->READDIR3res_u.resok.cookieverf, NFS3_COOKIEVERFSIZE);
        page.eof = plain->READDIR3res_u.resok.reply.eof;
        for (e = plain->READDIR3res_u.resok.reply.entries; e != NULL; e = e->nextentry)
            note_entry(&page, e->fileid, &e->name, e->cookie);
        return page;
    }
    plus = live_readdirplus(srv, dir, cookie, verifier, count, count);
    page.status = plus->status;
    page.bytes = xdr_sizeof((xdrproc_t)xdr_READDIRPLUS3res, plus);
    if (page.status != NFS3_OK)
        return page;
    memcpy(page.verifier, plus->READDIRPLUS3res_u.resok.cookieverf, NFS3_COOKIEVERFSIZE);
    page.eof = plus->READDIRPLUS3res_u.resok.reply.eof;
    for (p = plus->READDIRPLUS3res_u.resok.reply.entries; p != NULL; p = p->nextentry) {
        struct seen *seen = &page.entries[page.count];

        note_entry(&page, p->fileid, &p->name, p->cookie);
        seen->has_attr = p->name_attributes.attributes_follow;
        seen->attr = p->name_attributes.post_op_attr_u.attributes;
        seen->has_handle = p->name_handle.handle_follows;
        seen->handle = p->name_handle.post_op_fh3_u.handle;
    }
    return page;
}

static bool
is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* All names, sorted, by replies of at most count bytes: each name once, each reply within its count. */
static size_t
read_all(struct live *srv, enum listing how, const nfs_fh3 *dir, uint32_t count, char names[][256])
{
    char verifier[NFS3_COOKIEVERFSIZE] = "";
    uint64_t cookie = 0;
    size_t total = 0, i;
    struct page page;

    do {
        page = list(srv, how, dir, cookie, verifier, count);
        if (page.status != NFS3_OK)
            fail_msg("count %u: status %d", count, page.status);
        if (page.bytes > count)
            fail_msg("count %u: the reply has %zu bytes", count, page.bytes);
        if (page.count == 0 && !page.eof)
            fail_msg("count %u: no entries, but not the end", count);
        for (i = 0; i < page.count; i++) {
            cookie = page.entries[i].cookie;
            if (is_dots(page.entries[i].name))
                continue;
            assert_in_range(total, 0, NAMES_MAX - 1);
            memcpy(names[total++], page.entries[i].name, 256);
        }
        memcpy(verifier, page.verifier, sizeof(verifier));
    } while (!page.eof);
    qsort(names, total, 256, compare_names);
    for (i = 1; i < total; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            fail_msg("count %u: %s is listed twice", count, names[i]);
    return total;
}

/* Files "e00000..." in a directory, their names filled up with x to `width` bytes; made by pipelined calls. */
static void
populate(struct live *srv, const nfs_fh3 *dir, size_t count, int width)
{
    uint8_t call[1024];
    const uint8_t *reply;
    struct wire_in results;
    char name[300];
    uint32_t xid;
    size_t i, k, len, batch;

    for (i = 0; i < count; i += batch) {
        batch = count - i < 100 ? count - i : 100;
        for (k = 0; k < batch; k++) {
            CREATE3args args = { { *dir, { 0, name } }, { GUARDED, { .obj_attributes = live_mode(0644) } } };
            int n = snprintf(name, sizeof(name), "e%05zu", i + k);

            memset(name + n, 'x', sizeof(name) - (size_t)n);
            args.where.name.filename3_len = (u_int)(n < width ? width : n);
            len = live_make_call(srv, call, sizeof(call), NFS_PROGRAM, NFS_V3, NFSPROC3_CREATE,
                                 (xdrproc_t)xdr_CREATE3args, &args);
            assert_true(live_send_message(&srv->conn, call, len));
        }
        for (k = 0; k < batch; k++) {
            ssize_t received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);

            assert_true(received > 0);
            assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_SUCCESS);
            assert_int_equal(wire_get_u32(&results), NFS3_OK);
        }
    }
}

static void
an_empty_directory_lists_dot_and_dotdot_with_their_fileids(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);
    enum listing how;
    size_t i, dots;

    for (how = PLAIN; how <= PLUS; how++) {
        struct page page = list(srv, how, &dir, 0, NULL, 8192);

        assert_int_equal(page.status, NFS3_OK);
        assert_true(page.eof);
        assert_int_equal(page.count, 2);
        for (dots = i = 0; i < page.count; i++) {
            if (strcmp(page.entries[i].name, ".") == 0) {
                assert_true(page.entries[i].fileid == live_attr(srv, &dir).fileid);
                dots++;
            } else if (strcmp(page.entries[i].name, "..") == 0) {
                assert_true(page.entries[i].fileid == live_attr(srv, &srv->root).fileid);
                dots++;
            }
        }
        assert_int_equal(dots, 2);
    }
}

static void
many_entries_are_listed_once_each_at_every_count(void **state)
{
    static const uint32_t counts[] = { 512, 700, 1031, 4096, 8191, 32768, 65536 };
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);
    char(*names)[256] = live_keep(srv, NAMES_MAX * 256);
    enum listing how;
    char want[32];
    size_t i, k, total;

    populate(srv, &dir, MANY, 0);
    for (how = PLAIN; how <= PLUS; how++) {
        for (i = how == PLUS ? 2 : 0; i < sizeof(counts) / sizeof(*counts); i++) {
            total = read_all(srv, how, &dir, counts[i], names);
            assert_int_equal(total, MANY);
            for (k = 0; k < total; k++) {
                snprintf(want, sizeof(want), "e%05zu", k);
                assert_string_equal(names[k], want);
            }
        }
    }
}

static void
long_names_are_listed_once_each_at_small_counts(void **state)
{
    static const uint32_t counts[] = { 420, 512, 600, 700, 1000, 1024, 1031, 4097 };
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);
    char(*names)[256] = live_keep(srv, NAMES_MAX * 256);
    size_t i;

    populate(srv, &dir, 40, 255);
    for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        assert_int_equal(read_all(srv, PLAIN, &dir, counts[i], names), 40);
        if (counts[i] >= 600)
            assert_int_equal(read_all(srv, PLUS, &dir, counts[i], names), 40);
    }
}

static void
a_huge_count_is_cut_down(void **state)
{
    static const uint32_t counts[] = { 1 << 20, 0x7fffffff, 0xffffffff };
    struct live *srv = *state;
    struct page page;
    size_t i;

    populate(srv, &srv->root, 50, 0);
    for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        page = list(srv, PLAIN, &srv->root, 0, NULL, counts[i]);
        assert_int_equal(page.status, NFS3_OK);
        assert_int_equal(page.count, 52);
        assert_true(page.eof);
        page = list(srv, PLUS, &srv->root, 0, NULL, counts[i]);
        assert_int_equal(page.status, NFS3_OK);
        assert_int_equal(page.count, 52);
    }
}

static void
a_count_too_small_for_one_entry_is_toosmall(void **state)
{
    static const uint32_t counts[] = { 0, 1, 8, 20, 32, 60, 100 };
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);
    size_t i;

    populate(srv, &dir, 3, 255);
    for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        assert_int_equal(list(srv, PLAIN, &dir, 0, NULL, counts[i]).status, NFS3ERR_TOOSMALL);
        assert_int_equal(live_readdirplus(srv, &dir, 0, NULL, 8192, counts[i])->status, NFS3ERR_TOOSMALL);
    }
}

static void
a_count_too_small_in_mid_listing_is_toosmall(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);
    enum listing how;
    struct page page;
    uint64_t cookie;
    size_t i;

    populate(srv, &dir, 3, 255);
    for (how = PLAIN; how <= PLUS; how++) {
        page = list(srv, how, &dir, 0, NULL, 8192);
        assert_int_equal(page.status, NFS3_OK);
        for (i = 0; i < page.count && is_dots(page.entries[i].name); i++)
            ;
        cookie = i > 0 ? page.entries[i - 1].cookie : 0;
        assert_int_equal(list(srv, how, &dir, cookie, page.verifier, 200).status, NFS3ERR_TOOSMALL);
    }
}

static void
dircount_is_a_hint_that_never_leaves_a_reply_empty(void **state)
{
    static const uint32_t dircounts[] = { 0, 1, 100, 512, 8192, 0xffffffff };
    struct live *srv = *state;
    size_t i, total;

    populate(srv, &srv->root, 60, 0);
    for (i = 0; i < sizeof(dircounts) / sizeof(*dircounts); i++) {
        uint64_t cookie = 0;
        READDIRPLUS3res *res;
        entryplus3 *entry;

        total = 0;
        do {
            res = live_readdirplus(srv, &srv->root, cookie, NULL, dircounts[i], 32768);
            assert_int_equal(res->status, NFS3_OK);
            entry = res->READDIRPLUS3res_u.resok.reply.entries;
            assert_true(entry != NULL || res->READDIRPLUS3res_u.resok.reply.eof);
            for (; entry != NULL; entry = entry->nextentry, total++)
                cookie = entry->cookie;
        } while (!res->READDIRPLUS3res_u.resok.reply.eof);
        assert_int_equal(total, 62);
    }
}

static void
every_cookie_goes_on_behind_its_entry(void **state)
{
    struct live *srv = *state;
    struct page all, rest;
    enum listing how;
    size_t i, k;

    populate(srv, &srv->root, 30, 0);
    for (how = PLAIN; how <= PLUS; how++) {
        all = list(srv, how, &srv->root, 0, NULL, 32768);
        assert_true(all.eof);
        assert_int_equal(all.count, 32);
        for (i = 0; i < all.count; i++) {
            assert_true(all.entries[i].cookie != 0);
            for (k = 0; k < i; k++)
                assert_true(all.entries[k].cookie != all.entries[i].cookie);
            rest = list(srv, how, &srv->root, all.entries[i].cookie, all.verifier, 32768);
            assert_int_equal(rest.status, NFS3_OK);
            assert_true(rest.eof);
            assert_int_equal(rest.count, all.count - i - 1);
            for (k = 0; k < rest.count; k++)
                assert_string_equal(rest.entries[k].name, all.entries[i + 1 + k].name);
        }
    }
}

static void
a_cookie_of_one_procedure_is_good_in_the_other(void **state)
{
    struct live *srv = *state;
    struct page plain, plus, rest;
    size_t i;

    populate(srv, &srv->root, 30, 0);
    plain = list(srv, PLAIN, &srv->root, 0, NULL, 32768);
    plus = list(srv, PLUS, &srv->root, 0, NULL, 32768);
    assert_int_equal(plain.count, plus.count);
    for (i = 0; i < plain.count; i++) {
        assert_string_equal(plain.entries[i].name, plus.entries[i].name);
        rest = list(srv, PLUS, &srv->root, plain.entries[i].cookie, plain.verifier, 32768);
        assert_int_equal(rest.count, plain.count - i - 1);
        rest = list(srv, PLAIN, &srv->root, plus.entries[i].cookie, plus.verifier, 32768);
        assert_int_equal(rest.count, plain.count - i - 1);
    }
}

static void
removing_what_is_listed_finds_every_entry_once(void **state)
{
    struct live *srv = *state;
    enum listing how;

    for (how = PLAIN; how <= PLUS; how++) {
        char verifier[NFS3_COOKIEVERFSIZE] = "";
        size_t removed = 0, i, turns;
        uint64_t cookie = 0;
        struct page page;

        populate(srv, &srv->root, 400, 0);
        for (turns = 0; turns < 1000; turns++) {
            page = list(srv, how, &srv->root, cookie, verifier, 1024);
            assert_int_equal(page.status, NFS3_OK);
            for (i = 0; i < page.count; i++) {
                cookie = page.entries[i].cookie;
                if (is_dots(page.entries[i].name))
                    continue;
                assert_int_equal(live_remove(srv, &srv->root, page.entries[i].name)->status, NFS3_OK);
                removed++;
            }
            memcpy(verifier, page.verifier, sizeof(verifier));
            if (page.eof)
                break;
        }
        assert_int_equal(removed, 400);
        assert_int_equal(live_count(srv, &srv->root), 0);
    }
}

static void
the_cookie_of_a_removed_entry_goes_on_at_the_next_that_is_left(void **state)
{
    struct live *srv = *state;
    struct page all, rest;
    size_t i, k, left;

    populate(srv, &srv->root, 40, 0);
    all = list(srv, PLAIN, &srv->root, 0, NULL, 32768);
    for (i = 0; i < all.count; i += 3)
        if (!is_dots(all.entries[i].name))
            assert_int_equal(live_remove(srv, &srv->root, all.entries[i].name)->status, NFS3_OK);
    for (i = 0; i < all.count; i++) {
        rest = list(srv, PLAIN, &srv->root, all.entries[i].cookie, all.verifier, 32768);
        assert_int_equal(rest.status, NFS3_OK);
        for (left = 0, k = i + 1; k < all.count; k++) {
            if (k % 3 == 0 && !is_dots(all.entries[k].name))
                continue;
            assert_string_equal(rest.entries[left].name, all.entries[k].name);
            left++;
        }
        assert_int_equal(rest.count, left);
    }
}

static void
adding_while_listing_repeats_and_loses_nothing(void **state)
{
    struct live *srv = *state;
    enum listing how;
    size_t made = 0;

    populate(srv, &srv->root, 200, 0);
    for (how = PLAIN; how <= PLUS; how++) {
        char verifier[NFS3_COOKIEVERFSIZE] = "", seen[200] = "";
        uint64_t cookie = 0;
        size_t old = 0, i, turns;
        struct page page;
        char name[16];

        for (turns = 0; turns < 1000; turns++) {
            page = list(srv, how, &srv->root, cookie, verifier, 1024);
            assert_int_equal(page.status, NFS3_OK);
            for (i = 0; i < page.count; i++) {
                cookie = page.entries[i].cookie;
                if (page.entries[i].name[0] != 'e')
                    continue;
                assert_int_equal(seen[atoi(page.entries[i].name + 1)]++, 0);
                old++;
            }
            memcpy(verifier, page.verifier, sizeof(verifier));
            if (page.eof)
                break;
            snprintf(name, sizeof(name), "new%zu", made++);
            live_file(srv, &srv->root, name, 0600);
        }
        assert_int_equal(old, 200);
    }
}

static void
a_cookie_that_was_never_given_harms_nobody(void **state)
{
    static const uint64_t cookies[] = { 1, 2, 3, 77, UINT64_C(1) << 31, UINT64_C(1) << 32, INT64_MAX, UINT64_C(1) << 63,
                                        UINT64_MAX, UINT64_C(0x123456789abcdef) };
    struct live *srv = *state;
    enum listing how;
    nfsstat3 status;
    size_t i;

    populate(srv, &srv->root, 20, 0);
    for (how = PLAIN; how <= PLUS; how++) {
        for (i = 0; i < sizeof(cookies) / sizeof(*cookies); i++) {
            status = list(srv, how, &srv->root, cookies[i], NULL, 8192).status;
            assert_true(status == NFS3_OK || status == NFS3ERR_BAD_COOKIE || status == NFS3ERR_INVAL);
        }
    }
    live_assert_alive(srv);
}

static void
a_change_of_the_directory_does_not_spoil_cookies(void **state)
{
    struct live *srv = *state;
    enum listing how;

    populate(srv, &srv->root, 100, 0);
    for (how = PLAIN; how <= PLUS; how++) {
        struct page page = list(srv, how, &srv->root, 0, NULL, 1024), next;

        live_file(srv, &srv->root, how == PLAIN ? "new" : "newer", 0600);
        next = list(srv, how, &srv->root, page.entries[page.count - 1].cookie, page.verifier, 1024);
        assert_int_equal(next.status, NFS3_OK);
        assert_true(next.count > 0);
    }
}

static void
cookies_are_good_after_a_restart(void **state)
{
    struct live *srv = *state;
    struct page all, rest;

    live_need_directory(srv);
    populate(srv, &srv->root, 30, 0);
    all = list(srv, PLAIN, &srv->root, 0, NULL, 32768);
    live_restart(srv);
    rest = list(srv, PLAIN, &srv->root, all.entries[9].cookie, all.verifier, 32768);
    assert_int_equal(rest.status, NFS3_OK);
    assert_int_equal(rest.count, all.count - 10);
    assert_string_equal(rest.entries[0].name, all.entries[10].name);
}

static void
readdirplus_tells_attributes_and_handles(void **state)
{
    struct live *srv = *state;
    nfs_fh3 found;
    struct page page;
    fattr3 attr;
    size_t i;

    live_put(srv, "f", "hello", 5);
    live_dir(srv, &srv->root, "d", 0750);
    live_link_to(srv, &srv->root, "l", "f");
    assert_int_equal(live_mknod(srv, &srv->root, "p", NF3FIFO, 0, 0, live_mode(0600))->status, NFS3_OK);
    page = list(srv, PLUS, &srv->root, 0, NULL, 8192);
    assert_int_equal(page.count, 6);
    for (i = 0; i < page.count; i++) {
        struct seen *seen = &page.entries[i];

        if (is_dots(seen->name))
            continue;
        assert_true(seen->has_attr);
        assert_true(seen->has_handle);
        assert_true(seen->attr.fileid == seen->fileid);
        found = live_find(srv, &srv->root, seen->name);
        assert_true(live_same_handle(&found, &seen->handle));
        attr = live_attr(srv, &found);
        assert_int_equal(attr.type, seen->attr.type);
        assert_int_equal(attr.mode, seen->attr.mode);
        assert_true(attr.size == seen->attr.size);
        assert_true(live_same_time(attr.ctime, seen->attr.ctime));
    }
}

static void
dotdot_of_the_exports_root_leads_nowhere_else(void **state)
{
    struct live *srv = *state;
    struct page page = list(srv, PLUS, &srv->root, 0, NULL, 8192);
    fattr3 root = live_attr(srv, &srv->root);
    size_t i;

    for (i = 0; i < page.count; i++) {
        if (strcmp(page.entries[i].name, "..") != 0)
            continue;
        assert_true(page.entries[i].fileid == root.fileid);
        if (page.entries[i].has_handle)
            assert_true(live_same_handle(&page.entries[i].handle, &srv->root));
    }
}

static void
listing_what_is_no_directory_is_notdir(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0), link = live_link_to(srv, &srv->root, "l", ".");
    enum listing how;

    for (how = PLAIN; how <= PLUS; how++) {
        assert_int_equal(list(srv, how, &file, 0, NULL, 8192).status, NFS3ERR_NOTDIR);
        assert_int_equal(list(srv, how, &link, 0, NULL, 8192).status, NFS3ERR_NOTDIR);
    }
}

static void
listing_needs_read_permission_and_failing_tells_true_attributes(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0711);
    READDIR3res *res;

    live_need_identities(srv);
    live_file(srv, &dir, "f", 0644);
    live_as(srv, ALICE, ALICE);
    res = live_readdir(srv, &dir, 0, NULL, 8192);
    assert_int_equal(res->status, NFS3ERR_ACCES);
    if (res->READDIR3res_u.resfail.dir_attributes.attributes_follow)
        assert_int_equal(res->READDIR3res_u.resfail.dir_attributes.post_op_attr_u.attributes.mode, 0711);
    assert_int_equal(live_readdirplus(srv, &dir, 0, NULL, 8192, 8192)->status, NFS3ERR_ACCES);
    live_as(srv, 0, 0);
    live_chmod(srv, &dir, 0744);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_count(srv, &dir), 1);
}

static void
without_search_permission_no_handles_are_given_out(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0744);
    struct page page;
    size_t i;

    live_need_identities(srv);
    live_file(srv, &dir, "f", 0644);
    live_as(srv, ALICE, ALICE);
    page = list(srv, PLUS, &dir, 0, NULL, 8192);
    for (i = 0; page.status == NFS3_OK && i < page.count; i++)
        if (!is_dots(page.entries[i].name))
            assert_false(page.entries[i].has_handle);
    if (page.status != NFS3_OK)
        assert_int_equal(page.status, NFS3ERR_ACCES);
}

static void
a_removed_directory_is_stale(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);

    assert_int_equal(list(srv, PLAIN, &dir, 0, NULL, 8192).status, NFS3_OK);
    assert_int_equal(live_rmdir(srv, &srv->root, "d")->status, NFS3_OK);
    assert_int_equal(list(srv, PLAIN, &dir, 0, NULL, 8192).status, NFS3ERR_STALE);
    assert_int_equal(list(srv, PLUS, &dir, 0, NULL, 8192).status, NFS3ERR_STALE);
}

static void
interleaved_readers_do_not_disturb_each_other(void **state)
{
    struct live *srv = *state;
    uint64_t cookies[4] = { 0 };
    size_t counts[4] = { 0 }, done = 0, i, turns;
    bool eof[4] = { false };
    struct page page;

    populate(srv, &srv->root, 200, 0);
    for (turns = 0; turns < 1000 && done < 4; turns++) {
        i = turns % 4;
        if (eof[i])
            continue;
        page = list(srv, i % 2 == 0 ? PLAIN : PLUS, &srv->root, cookies[i], NULL, 1024);
        assert_int_equal(page.status, NFS3_OK);
        counts[i] += page.count;
        if (page.count > 0)
            cookies[i] = page.entries[page.count - 1].cookie;
        eof[i] = page.eof;
        done += page.eof;
    }
    for (i = 0; i < 4; i++)
        assert_int_equal(counts[i], 202);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_directory_lists_dot_and_dotdot_with_their_fileids),
        cmocka_unit_test(many_entries_are_listed_once_each_at_every_count),
        cmocka_unit_test(long_names_are_listed_once_each_at_small_counts),
        cmocka_unit_test(a_huge_count_is_cut_down),
        cmocka_unit_test(a_count_too_small_for_one_entry_is_toosmall),
        cmocka_unit_test(a_count_too_small_in_mid_listing_is_toosmall),
        cmocka_unit_test(dircount_is_a_hint_that_never_leaves_a_reply_empty),
        cmocka_unit_test(every_cookie_goes_on_behind_its_entry),
        cmocka_unit_test(a_cookie_of_one_procedure_is_good_in_the_other),
        cmocka_unit_test(removing_what_is_listed_finds_every_entry_once),
        cmocka_unit_test(the_cookie_of_a_removed_entry_goes_on_at_the_next_that_is_left),
        cmocka_unit_test(adding_while_listing_repeats_and_loses_nothing),
        cmocka_unit_test(a_cookie_that_was_never_given_harms_nobody),
        cmocka_unit_test(a_change_of_the_directory_does_not_spoil_cookies),
        cmocka_unit_test(cookies_are_good_after_a_restart),
        cmocka_unit_test(readdirplus_tells_attributes_and_handles),
        cmocka_unit_test(dotdot_of_the_exports_root_leads_nowhere_else),
        cmocka_unit_test(listing_what_is_no_directory_is_notdir),
        cmocka_unit_test(listing_needs_read_permission_and_failing_tells_true_attributes),
        cmocka_unit_test(without_search_permission_no_handles_are_given_out),
        cmocka_unit_test(a_removed_directory_is_stale),
        cmocka_unit_test(interleaved_readers_do_not_disturb_each_other),
    };

    return live_main("dir", tests, sizeof(tests) / sizeof(*tests));
}
