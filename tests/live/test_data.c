/*
 * tests/live/test_data.c - READ, WRITE and COMMIT (RFC 1813 3.3.6, 3.3.7, 3.3.21).
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/bytes.h"
#include "tests/lib/live.h"

#define ALICE 1001
#define BOB 1002
#define MIB (1u << 20)

static char *
random_bytes(struct live *srv, size_t len)
{
    struct bytes_random random = bytes_random_seed(len);
    char *data = live_keep(srv, len + 1);

    bytes_random_fill(&random, data, len);
    return data;
}

static nfs_fh3
put_random(struct live *srv, const char *name, size_t len, char **data)
{
    *data = random_bytes(srv, len);
    return live_put(srv, name, *data, len);
}

static nfs_fh3
fifo(struct live *srv)
{
    MKNOD3res *res = live_mknod(srv, &srv->root, "fifo", NF3FIFO, 0, 0, live_mode(0666));

    assert_int_equal(res->status, NFS3_OK);
    return res->MKNOD3res_u.resok.obj.post_op_fh3_u.handle;
}

static void
read_tells_eof_exactly_when_the_end_is_reached(void **state)
{
    static const struct {
        uint64_t offset;
        uint32_t count, want;
        bool eof;
    } rows[] = {
        { 0, 512, 139, true }, { 0, 139, 139, true }, { 0, 138, 138, false }, { 100, 39, 39, true },
        { 100, 100, 39, true }, { 100, 38, 38, false }, { 138, 1, 1, true }, { 139, 1, 0, true },
        { 140, 1, 0, true }, { UINT64_C(1) << 40, 4096, 0, true }, { 0, 0, 0, false }, { 5, 0, 0, false },
        { 139, 0, 0, true }, { 200, 0, 0, true }, { 0, 1, 1, false },
    };
    struct live *srv = *state;
    char *data;
    nfs_fh3 file = put_random(srv, "f", 139, &data);
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        READ3res *res = live_read(srv, &file, rows[i].offset, rows[i].count);
        READ3resok *ok = &res->READ3res_u.resok;

        if (res->status != NFS3_OK || ok->count != rows[i].want || ok->data.data_len != ok->count ||
            !ok->eof != !rows[i].eof)
            fail_msg("row %zu: status %d count %u length %u eof %d", i, res->status, ok->count, ok->data.data_len,
                     ok->eof);
        if (ok->count > 0)
            assert_memory_equal(ok->data.data_val, data + rows[i].offset, ok->count);
        assert_true(ok->file_attributes.attributes_follow);
        assert_int_equal(ok->file_attributes.post_op_attr_u.attributes.size, 139);
    }
}

static void
read_of_an_empty_file_is_empty_and_eof(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0);
    READ3res *res = live_read(srv, &file, 0, 1);

    assert_int_equal(res->status, NFS3_OK);
    assert_int_equal(res->READ3res_u.resok.count, 0);
    assert_true(res->READ3res_u.resok.eof);
}

static void
read_of_odd_sizes_at_odd_offsets_gives_the_right_bytes(void **state)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 511, 512, 767, 768, 769, 1000, 4093, 4096, 4097, 12345, 16384, 32767,
                                      32768, 65535, 65537, 131072, 262143, 262144 };
    static const uint64_t offsets[] = { 0, 1, 7, 511, 512, 4095, 4096, 4097, 65535, 65536, 100001 };
    struct live *srv = *state;
    char *data;
    nfs_fh3 file = put_random(srv, "f", 300001, &data);
    size_t i, k;

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (k = 0; k < sizeof(offsets) / sizeof(*offsets); k++) {
            READ3res *res = live_read(srv, &file, offsets[k], sizes[i]);
            uint64_t left = 300001 - offsets[k], want = sizes[i] < left ? sizes[i] : left;

            assert_int_equal(res->status, NFS3_OK);
            assert_int_equal(res->READ3res_u.resok.count, want);
            bytes_assert_same("READ", res->READ3res_u.resok.data.data_val, res->READ3res_u.resok.data.data_len,
                              data + offsets[k], want);
            assert_int_equal(res->READ3res_u.resok.eof, sizes[i] >= left);
        }
    }
}

static void
write_of_odd_sizes_at_odd_offsets_lands_where_it_belongs(void **state)
{
    static const uint32_t sizes[] = { 1, 2, 3, 5, 511, 512, 1000, 4093, 4096, 4097, 12345, 16384, 65535, 65537,
                                      262143 };
    static const uint64_t offsets[] = { 0, 1, 7, 511, 4095, 4096, 4097, 65535, 100001 };
    struct live *srv = *state;
    size_t size = 400000, i, k;
    char *image = live_keep(srv, size), *data;
    nfs_fh3 file = live_put(srv, "f", image, size);

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (k = 0; k < sizeof(offsets) / sizeof(*offsets); k++) {
            WRITE3res *res;

            data = random_bytes(srv, sizes[i]);
            data[0] = (char)k;
            memcpy(image + offsets[k], data, sizes[i]);
            res = live_write(srv, &file, offsets[k], data, sizes[i], (stable_how)((i + k) % 3));
            assert_int_equal(res->status, NFS3_OK);
            assert_int_equal(res->WRITE3res_u.resok.count, sizes[i]);
        }
        live_assert_content(srv, &file, image, size);
    }
}

static void
a_mebibyte_goes_and_comes_in_one_call(void **state)
{
    struct live *srv = *state;
    char *data = random_bytes(srv, 2 * MIB);
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    WRITE3res *written = live_write(srv, &file, 0, data, MIB, UNSTABLE);
    READ3res *read;

    assert_int_equal(written->status, NFS3_OK);
    assert_int_equal(written->WRITE3res_u.resok.count, MIB);
    read = live_read(srv, &file, 0, MIB);
    assert_int_equal(read->status, NFS3_OK);
    assert_true(read->READ3res_u.resok.eof);
    bytes_assert_same("READ", read->READ3res_u.resok.data.data_val, read->READ3res_u.resok.data.data_len, data, MIB);
}

static void
more_than_wtmax_is_written_in_part_or_not_taken(void **state)
{
    struct live *srv = *state;
    char *data = random_bytes(srv, 2 * MIB);
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    int outcome;
    WRITE3res *res = live_try(srv, NFSPROC3_WRITE,
                              &(WRITE3args){ file, 0, MIB + 1, FILE_SYNC, { MIB + 1, data } }, &outcome);

    if (res != NULL) {
        assert_int_equal(res->status, NFS3_OK);
        assert_in_range(res->WRITE3res_u.resok.count, 1, MIB);
        live_assert_content(srv, &file, data, res->WRITE3res_u.resok.count);
    } else {
        assert_int_equal(outcome, LIVE_CLOSED);
    }
    live_assert_alive(srv);
}

static void
read_of_a_huge_count_gives_at_most_rtmax(void **state)
{
    static const uint32_t counts[] = { MIB, MIB + 1, 2 * MIB, 0x7fffffff, 0x80000000, 0xffffffff };
    struct live *srv = *state;
    char *data;
    nfs_fh3 file = put_random(srv, "f", MIB + 100, &data), small = live_put(srv, "s", "hello", 5);
    size_t i;

    for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        READ3res *res = live_read(srv, &file, 0, counts[i]);

        assert_int_equal(res->status, NFS3_OK);
        assert_int_equal(res->READ3res_u.resok.count, MIB);
        assert_false(res->READ3res_u.resok.eof);
        res = live_read(srv, &small, 0, counts[i]);
        assert_int_equal(res->status, NFS3_OK);
        assert_int_equal(res->READ3res_u.resok.count, 5);
        assert_true(res->READ3res_u.resok.eof);
    }
}

static void
read_near_the_end_of_all_offsets_is_at_the_end_of_the_file(void **state)
{
    static const struct {
        uint64_t offset;
        uint32_t count;
    } rows[] = {
        { 0x7ffffffffffff000, 0x1000 }, { 0x7fffffffffffffff, 1 }, { 0x7fffffffffffffff, 4096 },
        { UINT64_C(1) << 63, 1 }, { UINT64_MAX, 1 }, { UINT64_MAX - 4095, 8192 }, { UINT64_MAX, 0xffffffff },
        { UINT64_MAX, 0 },
    };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        READ3res *res = live_read(srv, &file, rows[i].offset, rows[i].count);

        assert_int_equal(res->status, NFS3_OK);
        assert_int_equal(res->READ3res_u.resok.count, 0);
        assert_true(res->READ3res_u.resok.eof);
    }
}

static void
write_beyond_what_a_file_can_have_is_fbig(void **state)
{
    static const struct {
        uint64_t offset;
        uint32_t count;
    } rows[] = {
        { 0x7fffffffffffffff, 1 }, { UINT64_C(1) << 63, 1 }, { UINT64_MAX, 2 }, { UINT64_MAX, 1 },
        { UINT64_MAX - 4095, 4096 }, { 0x7fffffffffffff00, 4096 },
    };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    char data[4096] = "";
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        WRITE3res *res = live_write(srv, &file, rows[i].offset, data, rows[i].count, FILE_SYNC);

        if (res->status != NFS3ERR_FBIG)
            fail_msg("row %zu: status %d", i, res->status);
        assert_true(res->WRITE3res_u.resfail.file_wcc.after.attributes_follow);
    }
    live_assert_content(srv, &file, "hello", 5);
}

static void
write_of_another_count_than_its_data_is_refused(void **state)
{
    static const uint32_t lengths[] = { 0, 50, 99, 101, 200 };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    char data[200] = "";
    size_t i;

    for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        int outcome;
        WRITE3res *res = live_try(srv, NFSPROC3_WRITE,
                                  &(WRITE3args){ file, 0, 100, FILE_SYNC, { lengths[i], data } }, &outcome);

        if (res != NULL)
            assert_int_equal(res->status, NFS3ERR_INVAL);
        else
            assert_int_equal(outcome, LIVE_GARBAGE_ARGS);
    }
    live_assert_content(srv, &file, "hello", 5);
}

static void
write_of_nothing_changes_nothing(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    fattr3 before = live_attr(srv, &file), after;
    static const uint64_t offsets[] = { 0, 5, 1000000 };
    size_t i;

    live_tick();
    for (i = 0; i < 3; i++) {
        WRITE3res *res = live_write(srv, &file, offsets[i], "", 0, FILE_SYNC);

        assert_int_equal(res->status, NFS3_OK);
        assert_int_equal(res->WRITE3res_u.resok.count, 0);
    }
    after = live_attr(srv, &file);
    assert_int_equal(after.size, 5);
    assert_true(live_same_time(after.mtime, before.mtime));
}

static void
write_of_nothing_still_needs_permission(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);

    live_need_identities(srv);
    live_chmod(srv, &file, 0600);
    live_as(srv, BOB, BOB);
    assert_int_equal(live_write(srv, &file, 0, "", 0, FILE_SYNC)->status, NFS3ERR_ACCES);
    assert_int_equal(live_read(srv, &file, 0, 0)->status, NFS3ERR_ACCES);
}

static void
gaps_read_as_zeros(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "0123456789", 10);

    assert_int_equal(live_setattr(srv, &file, live_size(3))->status, NFS3_OK);
    live_write_all(srv, &file, 8, "x", 1);
    live_assert_content(srv, &file, "012\0\0\0\0\0x", 9);
    live_write_all(srv, &file, 10000, "y", 1);
    assert_int_equal(live_attr(srv, &file).size, 10001);
    assert_memory_equal(live_read(srv, &file, 5000, 4)->READ3res_u.resok.data.data_val, "\0\0\0\0", 4);
}

static void
write_tells_the_state_before_and_after(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    fattr3 before = live_attr(srv, &file);
    WRITE3res *res;
    wcc_data *wcc;

    live_tick();
    res = live_write(srv, &file, 5, " world", 6, FILE_SYNC);
    assert_int_equal(res->status, NFS3_OK);
    wcc = &res->WRITE3res_u.resok.file_wcc;
    assert_true(wcc->after.attributes_follow);
    assert_int_equal(wcc->after.post_op_attr_u.attributes.size, 11);
    assert_false(live_same_time(wcc->after.post_op_attr_u.attributes.mtime, before.mtime));
    assert_false(live_same_time(wcc->after.post_op_attr_u.attributes.ctime, before.ctime));
    if (wcc->before.attributes_follow) {
        assert_int_equal(wcc->before.pre_op_attr_u.attributes.size, 5);
        assert_true(live_same_time(wcc->before.pre_op_attr_u.attributes.mtime, before.mtime));
        assert_true(live_same_time(wcc->before.pre_op_attr_u.attributes.ctime, before.ctime));
    }
}

static void
written_data_is_as_stable_as_asked_or_more(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0);
    stable_how how;

    for (how = UNSTABLE; how <= FILE_SYNC; how++) {
        WRITE3res *res = live_write(srv, &file, 0, "x", 1, how);

        assert_int_equal(res->status, NFS3_OK);
        assert_in_range(res->WRITE3res_u.resok.committed, how, FILE_SYNC);
    }
}

static void
the_verifier_is_one_for_all_replies_of_a_server_and_new_after_a_restart(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0), other = live_put(srv, "g", "", 0);
    struct live_conn first = srv->conn, second = live_connect(srv, SOCK_STREAM, AF_INET);
    char verifier[NFS3_WRITEVERFSIZE];
    int i;

    memcpy(verifier, live_write(srv, &file, 0, "x", 1, UNSTABLE)->WRITE3res_u.resok.verf, sizeof(verifier));
    for (i = 0; i < 6; i++) {
        srv->conn = i % 2 != 0 ? second : first;
        assert_memory_equal(live_write(srv, i < 3 ? &file : &other, 0, "x", 1, (stable_how)(i % 3))->
                            WRITE3res_u.resok.verf, verifier, sizeof(verifier));
        assert_memory_equal(live_commit(srv, &other, 0, 0)->COMMIT3res_u.resok.verf, verifier, sizeof(verifier));
    }
    srv->conn = first;
    live_close(&second);
    live_need_directory(srv);
    live_restart(srv);
    assert_memory_not_equal(live_commit(srv, &file, 0, 0)->COMMIT3res_u.resok.verf, verifier, sizeof(verifier));
}

static void
commit_takes_any_range_of_a_file(void **state)
{
    static const struct {
        uint64_t offset;
        uint32_t count;
    } rows[] = {
        { 0, 0 }, { 0, 5 }, { 2, 1 }, { 5, 0 }, { 100, 100 }, { 0, 0xffffffff }, { UINT64_C(1) << 62, 4096 },
        { INT64_MAX, 4096 }, { UINT64_C(1) << 63, 0 }, { UINT64_MAX, 1 }, { UINT64_MAX, 0xffffffff },
    };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        COMMIT3res *res = live_commit(srv, &file, rows[i].offset, rows[i].count);

        if (res->status != NFS3_OK && !(rows[i].offset > INT64_MAX && res->status == NFS3ERR_INVAL))
            fail_msg("row %zu: status %d", i, res->status);
        if (res->status == NFS3_OK)
            assert_true(res->COMMIT3res_u.resok.file_wcc.after.attributes_follow);
    }
}

static void
data_of_what_is_no_file_is_refused_without_waiting(void **state)
{
    struct live *srv = *state;
    nfs_fh3 link = live_link_to(srv, &srv->root, "l", "f"), pipe_ = fifo(srv);
    nfsstat3 status = live_read(srv, &srv->root, 0, 10)->status;

    live_put(srv, "f", "hello", 5);
    assert_true(status == NFS3ERR_ISDIR || status == NFS3ERR_INVAL);
    status = live_write(srv, &srv->root, 0, "x", 1, FILE_SYNC)->status;
    assert_true(status == NFS3ERR_ISDIR || status == NFS3ERR_INVAL);
    assert_int_equal(live_read(srv, &link, 0, 10)->status, NFS3ERR_INVAL);
    assert_int_equal(live_write(srv, &link, 0, "x", 1, FILE_SYNC)->status, NFS3ERR_INVAL);
    assert_int_equal(live_read(srv, &pipe_, 0, 10)->status, NFS3ERR_INVAL);
    assert_int_equal(live_write(srv, &pipe_, 0, "x", 1, FILE_SYNC)->status, NFS3ERR_INVAL);
    assert_int_equal(live_commit(srv, &pipe_, 0, 0)->status, NFS3ERR_INVAL);
}

static void
the_owner_reads_and_writes_whatever_the_mode(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    live_need_identities(srv);
    live_as(srv, ALICE, ALICE);
    file = live_file(srv, &srv->root, "f", 0444);
    assert_int_equal(live_write(srv, &file, 0, "hello", 5, FILE_SYNC)->status, NFS3_OK);
    live_chmod(srv, &file, 0);
    assert_int_equal(live_read(srv, &file, 0, 5)->status, NFS3_OK);
    assert_int_equal(live_write(srv, &file, 0, "HELLO", 5, FILE_SYNC)->status, NFS3_OK);
    assert_int_equal(live_access(srv, &file, ACCESS3_READ | ACCESS3_MODIFY)->ACCESS3res_u.resok.access, 0);
    live_as(srv, BOB, BOB);
    assert_int_equal(live_read(srv, &file, 0, 5)->status, NFS3ERR_ACCES);
    assert_int_equal(live_write(srv, &file, 0, "x", 1, FILE_SYNC)->status, NFS3ERR_ACCES);
    live_as(srv, 0, 0);
    live_assert_content(srv, &file, "HELLO", 5);
}

static void
who_may_execute_may_read(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);

    live_need_identities(srv);
    live_chmod(srv, &file, 0711);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_read(srv, &file, 0, 5)->status, NFS3_OK);
    assert_int_equal(live_access(srv, &file, ACCESS3_READ | ACCESS3_EXECUTE)->ACCESS3res_u.resok.access,
                     ACCESS3_EXECUTE);
    assert_int_equal(live_write(srv, &file, 0, "x", 1, FILE_SYNC)->status, NFS3ERR_ACCES);
    live_as(srv, 0, 0);
    live_chmod(srv, &file, 0700);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_read(srv, &file, 0, 5)->status, NFS3ERR_ACCES);
}

static void
permission_is_checked_for_each_call_not_once(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "secret", 6);
    int i;

    live_need_identities(srv);
    live_chown(srv, &file, ALICE, ALICE);
    live_chmod(srv, &file, 0600);
    for (i = 0; i < 5; i++) {
        live_as(srv, ALICE, ALICE);
        assert_int_equal(live_read(srv, &file, 0, 6)->status, NFS3_OK);
        assert_int_equal(live_write(srv, &file, 0, "s", 1, UNSTABLE)->status, NFS3_OK);
        live_as(srv, BOB, ALICE);
        assert_int_equal(live_read(srv, &file, 0, 6)->status, NFS3ERR_ACCES);
        assert_int_equal(live_write(srv, &file, 0, "s", 1, UNSTABLE)->status, NFS3ERR_ACCES);
    }
    live_as(srv, 0, 0);
    live_chmod(srv, &file, 0660);
    live_as(srv, BOB, ALICE);
    assert_int_equal(live_write(srv, &file, 0, "s", 1, UNSTABLE)->status, NFS3_OK);
    live_as(srv, 0, 0);
    live_chown(srv, &file, ALICE, 0);
    live_as(srv, BOB, ALICE);
    assert_int_equal(live_write(srv, &file, 0, "s", 1, UNSTABLE)->status, NFS3ERR_ACCES);
}

static void
an_async_export_takes_writes_and_commits(void **state)
{
    struct live_options options = { .export_options = "rw,async,insecure,no_root_squash" };
    struct live *srv = live_start_beside(*state, &options);
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    WRITE3res *res = live_write(srv, &file, 0, "H", 1, FILE_SYNC);

    assert_int_equal(res->status, NFS3_OK);
    assert_int_equal(res->WRITE3res_u.resok.committed, FILE_SYNC);
    assert_int_equal(live_write(srv, &file, 1, "E", 1, UNSTABLE)->status, NFS3_OK);
    assert_int_equal(live_commit(srv, &file, 0, 0)->status, NFS3_OK);
    live_assert_content(srv, &file, "HEllo", 5);
}

static void
pipelined_writes_each_land_at_their_offset(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    size_t block = 3001, count = 64, i, len;
    char *data = random_bytes(srv, block * count);
    uint8_t *call = live_keep(srv, block + 4096);
    const uint8_t *reply;
    struct wire_in results;
    uint32_t xid;

    for (i = 0; i < count; i++) {
        WRITE3args args = { file, i * block, (uint32_t)block, UNSTABLE, { (u_int)block, data + i * block } };

        len = live_make_call(srv, call, block + 4096, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args,
                             &args);
        assert_true(live_send_message(&srv->conn, call, len));
    }
    for (i = 0; i < count; i++) {
        ssize_t received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);

        assert_true(received > 0);
        assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_SUCCESS);
        assert_int_equal(wire_get_u32(&results), NFS3_OK);
    }
    live_assert_content(srv, &file, data, block * count);
}

static void
a_file_removed_while_it_is_used_is_stale(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);

    assert_int_equal(live_write(srv, &file, 0, "H", 1, UNSTABLE)->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &srv->root, "f")->status, NFS3_OK);
    assert_int_equal(live_read(srv, &file, 0, 5)->status, NFS3ERR_STALE);
    assert_int_equal(live_write(srv, &file, 0, "x", 1, UNSTABLE)->status, NFS3ERR_STALE);
    assert_int_equal(live_commit(srv, &file, 0, 0)->status, NFS3ERR_STALE);
}

/* The exit status of a program, or -errno when it could not be executed. */
static int
execute(const char *path)
{
    int status, err = 0, pipes[2];
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        execl(path, path, (char *)NULL);
        err = errno;
        if (write(pipes[1], &err, sizeof(err)) < 0)
            _exit(1);
        _exit(0);
    }
    assert_true(pid > 0);
    close(pipes[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (read(pipes[0], &err, sizeof(err)) < (ssize_t)sizeof(err))
        err = 0;
    close(pipes[0]);
    return err != 0 ? -err : WEXITSTATUS(status);
}

/* The same, waiting for it to be closed for writing. */
static int
execute_soon(const char *path)
{
    int result = execute(path), i;

    for (i = 0; i < 100 && result == -ETXTBSY; i++) {
        usleep(100000);
        result = execute(path);
    }
    return result;
}

static void
a_program_that_was_written_can_soon_be_executed_on_the_server_and_be_written_again(void **state)
{
    static const char program[] = "#!/bin/sh\nexit 7\n", other[] = "#!/bin/sh\nexit 8\n";
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "program", program, sizeof(program) - 1);
    const char *path = live_local(srv, "program");

    if (path == NULL)
        skip();
    live_chmod(srv, &file, 0755);
    assert_int_equal(execute_soon(path), 7);
    assert_int_equal(live_read(srv, &file, 0, 9)->status, NFS3_OK);
    assert_int_equal(execute(path), 7);                  /* reading does not open it for writing */
    assert_int_equal(live_write(srv, &file, 0, other, sizeof(other) - 1, FILE_SYNC)->status, NFS3_OK);
    assert_int_equal(execute_soon(path), 8);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_tells_eof_exactly_when_the_end_is_reached),
        cmocka_unit_test(read_of_an_empty_file_is_empty_and_eof),
        cmocka_unit_test(read_of_odd_sizes_at_odd_offsets_gives_the_right_bytes),
        cmocka_unit_test(write_of_odd_sizes_at_odd_offsets_lands_where_it_belongs),
        cmocka_unit_test(a_mebibyte_goes_and_comes_in_one_call),
        cmocka_unit_test(more_than_wtmax_is_written_in_part_or_not_taken),
        cmocka_unit_test(read_of_a_huge_count_gives_at_most_rtmax),
        cmocka_unit_test(read_near_the_end_of_all_offsets_is_at_the_end_of_the_file),
        cmocka_unit_test(write_beyond_what_a_file_can_have_is_fbig),
        cmocka_unit_test(write_of_another_count_than_its_data_is_refused),
        cmocka_unit_test(write_of_nothing_changes_nothing),
        cmocka_unit_test(write_of_nothing_still_needs_permission),
        cmocka_unit_test(gaps_read_as_zeros),
        cmocka_unit_test(write_tells_the_state_before_and_after),
        cmocka_unit_test(written_data_is_as_stable_as_asked_or_more),
        cmocka_unit_test(the_verifier_is_one_for_all_replies_of_a_server_and_new_after_a_restart),
        cmocka_unit_test(commit_takes_any_range_of_a_file),
        cmocka_unit_test(data_of_what_is_no_file_is_refused_without_waiting),
        cmocka_unit_test(the_owner_reads_and_writes_whatever_the_mode),
        cmocka_unit_test(who_may_execute_may_read),
        cmocka_unit_test(permission_is_checked_for_each_call_not_once),
        cmocka_unit_test(an_async_export_takes_writes_and_commits),
        cmocka_unit_test(pipelined_writes_each_land_at_their_offset),
        cmocka_unit_test(a_file_removed_while_it_is_used_is_stale),
        cmocka_unit_test(a_program_that_was_written_can_soon_be_executed_on_the_server_and_be_written_again),
    };

    return live_main("data", tests, sizeof(tests) / sizeof(*tests));
}
