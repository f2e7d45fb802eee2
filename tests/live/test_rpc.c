/*
 * tests/live/test_rpc.c - calls as they arrive: records, messages, credentials, datagrams (RFC 5531 sections 8 to 11).
 */
#include <unistd.h>

#include "tests/lib/bytes.h"
#include "tests/lib/live.h"

#define RECORD_LAST 0x80000000u
#define CALL_MAX 4096

/* GETATTR of the export's root, without record mark. */
static size_t
getattr_call(struct live *srv, uint8_t call[CALL_MAX])
{
    return live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR, (xdrproc_t)xdr_GETATTR3args,
                          &(GETATTR3args){ srv->root });
}

static size_t
put_fragment(uint8_t *out, const void *bytes, size_t len, bool last)
{
    uint32_t mark = htobe32((uint32_t)len | (last ? RECORD_LAST : 0));

    memcpy(out, &mark, 4);
    if (len > 0)
        memcpy(out + 4, bytes, len);
    return len + 4;
}

/* The next reply is a success of NFS, to the call with this xid. */
static void
assert_answered(struct live *srv, struct live_conn *conn, uint32_t want)
{
    struct wire_in results;
    const uint8_t *reply;
    ssize_t received = live_receive(srv, conn, LIVE_WAIT_MS, &reply);
    uint32_t xid;

    if (received <= 0)
        fail_msg("no reply (%zd)", received);
    assert_int_equal(live_parse_reply(conn, reply, (size_t)received, &xid, &results), LIVE_SUCCESS);
    assert_int_equal(wire_get_u32(&results), NFS3_OK);
    assert_int_equal(xid, want);
}

/* Send a call whose header was changed by hand; its outcome, or LIVE_TIMEOUT or LIVE_CLOSED. */
static int
outcome_of(struct live *srv, struct live_conn *conn, const struct live_header *header, const nfs_fh3 *handle)
{
    static uint8_t message[16384];
    struct wire_out out = { message, message + sizeof(message), false };
    struct wire_in results;
    const uint8_t *reply;
    ssize_t received;
    uint32_t xid;

    live_put_header(&out, header);
    if (handle != NULL)
        wire_put_opaque(&out, handle->data.data_val, handle->data.data_len);
    if (!live_send_message(conn, message, (size_t)(out.p - message)))
        return LIVE_CLOSED;
    received = live_receive(srv, conn, 2000, &reply);
    if (received < 0)
        return (int)received;
    return live_parse_reply(conn, reply, (size_t)received, &xid, &results);
}

static void
null_takes_no_credentials_and_gives_nothing(void **state)
{
    struct live *srv = *state;

    live_as_nobody(srv);
    assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL, NULL, NULL, NULL, NULL),
                     LIVE_SUCCESS);
}

static void
any_xid_comes_back(void **state)
{
    static const uint32_t xids[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    size_t i, len;

    for (i = 0; i < sizeof(xids) / sizeof(*xids); i++) {
        srv->xid = xids[i] - 1;
        len = getattr_call(srv, call);
        assert_true(live_send_message(&srv->conn, call, len));
        assert_answered(srv, &srv->conn, xids[i]);
    }
}

static void
a_call_in_fragments_of_one_byte_is_put_together(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX], stream[5 * CALL_MAX];
    size_t len = getattr_call(srv, call), at = 0, i;

    for (i = 0; i < len; i++)
        at += put_fragment(stream + at, call + i, 1, i == len - 1);
    assert_true(live_send(&srv->conn, stream, at));
    assert_answered(srv, &srv->conn, srv->xid);
}

static void
empty_fragments_do_not_count(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX], stream[2 * CALL_MAX];
    size_t len, at;
    int where;

    for (where = 0; where < 3; where++) {
        len = getattr_call(srv, call);
        at = 0;
        if (where == 0)
            at += put_fragment(stream + at, NULL, 0, false);
        at += put_fragment(stream + at, call, 40, false);
        if (where == 1)
            at += put_fragment(stream + at, NULL, 0, false);
        at += put_fragment(stream + at, call + 40, len - 40, where != 2);
        if (where == 2)
            at += put_fragment(stream + at, NULL, 0, true);
        assert_true(live_send(&srv->conn, stream, at));
        assert_answered(srv, &srv->conn, srv->xid);
    }
}

static void
a_write_in_many_fragments_arrives_whole(void **state)
{
    static const size_t sizes[] = { 4, 7, 999, 4096, 65537 };
    struct live *srv = *state;
    struct bytes_random random = bytes_random_seed(1);
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    size_t data_len = 100000, i, at, in, part, len;
    char *data = live_keep(srv, data_len);
    uint8_t *call = live_keep(srv, data_len + CALL_MAX), *stream = live_keep(srv, 3 * data_len);

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        bytes_random_fill(&random, data, data_len);
        len = live_make_call(srv, call, data_len + CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE,
                             (xdrproc_t)xdr_WRITE3args,
                             &(WRITE3args){ file, 0, (uint32_t)data_len, UNSTABLE, { (u_int)data_len, data } });
        for (at = in = 0; in < len; in += part) {
            part = len - in < sizes[i] ? len - in : sizes[i];
            at += put_fragment(stream + at, call + in, part, in + part == len);
        }
        assert_true(live_send(&srv->conn, stream, at));
        assert_answered(srv, &srv->conn, srv->xid);
        live_assert_content(srv, &file, data, data_len);
    }
}

static void
a_call_may_arrive_in_pieces_and_with_the_next_ones_beginning(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX], stream[2 * CALL_MAX];
    size_t first = put_fragment(stream, call, getattr_call(srv, call), true), second, split, i;
    uint32_t xid = srv->xid;

    second = getattr_call(srv, call);
    second = put_fragment(stream + first, call, second, true);
    for (split = 1; split < 20; split += 3) {
        assert_true(live_send(&srv->conn, stream, first + split));
        assert_answered(srv, &srv->conn, xid);
        for (i = split; i < second; i += 16) {
            assert_true(live_send(&srv->conn, stream + first + i, second - i < 16 ? second - i : 16));
            usleep(500);
        }
        assert_answered(srv, &srv->conn, srv->xid);
    }
}

static void
pipelined_calls_are_each_answered_once(void **state)
{
    enum { COUNT = 256 };
    struct live *srv = *state;
    uint8_t call[CALL_MAX], *stream = live_keep(srv, COUNT * 512);
    bool seen[COUNT] = { false };
    uint32_t first = srv->xid + 1, xid;
    struct wire_in results;
    const uint8_t *reply;
    size_t at = 0, i, len;

    for (i = 0; i < COUNT; i++) {
        len = i % 2 == 0 ? getattr_call(srv, call)
                         : live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP,
                                          (xdrproc_t)xdr_LOOKUP3args,
                                          &(LOOKUP3args){ { srv->root, live_name("none") } });
        at += put_fragment(stream + at, call, len, true);
    }
    assert_true(live_send(&srv->conn, stream, at));
    for (i = 0; i < COUNT; i++) {
        ssize_t received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);

        assert_true(received > 0);
        assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_SUCCESS);
        assert_in_range(xid - first, 0, COUNT - 1);
        assert_false(seen[xid - first]);
        seen[xid - first] = true;
        assert_int_equal(wire_get_u32(&results), (xid - first) % 2 == 0 ? NFS3_OK : NFS3ERR_NOENT);
    }
}

static void
records_that_announce_too_much_close_their_connection_only(void **state)
{
    static const uint32_t marks[] = { 0x7fffffff, 0xffffffff, 0x40000000, 0xc0000000, 0x88000000,
                                      0x47455420, 0x16030100 };     /* "GET ", and the hello of TLS */
    struct live *srv = *state;
    uint8_t rest[64] = "";
    size_t i;

    for (i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
        uint32_t mark = htobe32(marks[i]);

        assert_true(live_send(&conn, &mark, 4));
        live_send(&conn, rest, sizeof(rest));
        if (!live_closes(&conn, 3000))
            fail_msg("mark %08x: the connection stays open", marks[i]);
        live_close(&conn);
        assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    }
}

static void
a_record_that_never_ends_is_not_collected(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    uint8_t *chunk = live_keep(srv, 65536 + 4);
    size_t len = put_fragment(chunk, chunk + 4, 65536, false);
    bool sent = true;
    int i;

    for (i = 0; i < 800 && sent; i++)                    /* 50 MiB */
        sent = live_send(&conn, chunk, len);
    assert_true(!sent || live_closes(&conn, 3000));
    live_close(&conn);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
}

static void
random_streams_harm_nobody(void **state)
{
    struct live *srv = *state;
    uint8_t bytes[4096];
    uint64_t seed;

    for (seed = 0; seed < 50; seed++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
        struct bytes_random random = bytes_random_seed(seed);

        bytes_random_fill(&random, bytes, sizeof(bytes));
        if (seed % 2 == 0)                               /* a good record mark, so that the message is looked at */
            put_fragment(bytes, bytes + 4, sizeof(bytes) - 4, true);
        live_send(&conn, bytes, sizeof(bytes));
        live_close(&conn);
    }
    live_assert_alive(srv);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
}

static void
unknown_programs_versions_and_procedures_are_told_apart(void **state)
{
    static const uint32_t programs[] = { 0, 100000, 123456, 0xffffffff };
    static const uint32_t versions[] = { 0, 1, 2, 4, 99, 0xffffffff };
    static const uint32_t procedures[] = { 22, 23, 99, 0xffffffff };
    struct live *srv = *state;
    size_t i;

    for (i = 0; i < sizeof(programs) / sizeof(*programs); i++)
        assert_int_equal(live_call(srv, &srv->conn, programs[i], 3, 0, NULL, NULL, NULL, NULL), LIVE_PROG_UNAVAIL);
    for (i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, versions[i], i % 2, NULL, NULL, NULL, NULL),
                         LIVE_PROG_MISMATCH);
        assert_int_equal(srv->conn.low, 3);
        assert_int_equal(srv->conn.high, 3);
    }
    for (i = 0; i < sizeof(procedures) / sizeof(*procedures); i++)
        assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, NFS_V3, procedures[i], NULL, NULL, NULL, NULL),
                         LIVE_PROC_UNAVAIL);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
}

static void
other_versions_of_rpc_are_denied(void **state)
{
    static const uint32_t versions[] = { 0, 1, 3, 0xffffffff };
    struct live *srv = *state;
    struct live_header header;
    size_t i;

    for (i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        live_make_header(srv, &header, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL);
        header.rpcvers = versions[i];
        assert_int_equal(outcome_of(srv, &srv->conn, &header, NULL), LIVE_RPC_MISMATCH);
        assert_int_equal(srv->conn.low, 2);
        assert_int_equal(srv->conn.high, 2);
    }
}

static void
what_is_no_call_gets_no_success(void **state)
{
    static const uint32_t types[] = { 1, 2, 0xffffffff };
    struct live *srv = *state;
    struct live_header header;
    uint8_t call[CALL_MAX];
    size_t i, len;

    for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

        live_make_header(srv, &header, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL);
        header.mtype = types[i];
        assert_true(outcome_of(srv, &conn, &header, NULL) < 0);
        live_close(&conn);
    }
    for (len = 0; len < 40; len += 3) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
        uint8_t message[64];

        getattr_call(srv, call);
        assert_true(live_send(&conn, message, put_fragment(message, call, len, true)));
        live_closes(&conn, 20);
        live_close(&conn);
    }
    live_assert_alive(srv);
}

static void
arguments_that_cannot_be_read_are_garbage_in_every_procedure(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    nfs_fh3 file = live_put(srv, "f", "x", 1);
    const diropargs3 what = { srv->root, live_name("n") };
    const union {
        GETATTR3args getattr;
        LOOKUP3args lookup;
        RENAME3args rename;
        LINK3args link;
    } args[] = {
        { .getattr = { srv->root } }, { .lookup = { what } }, { .rename = { what, what } }, { .link = { file, what } },
    };
    static const uint32_t procs[] = { NFSPROC3_GETATTR, NFSPROC3_LOOKUP, NFSPROC3_RENAME, NFSPROC3_LINK };
    struct wire_in results;
    const uint8_t *reply;
    ssize_t received;
    uint32_t proc, xid;
    size_t i, len;

    for (proc = NFSPROC3_GETATTR; proc <= NFSPROC3_COMMIT; proc++)
        assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, NFS_V3, proc, NULL, NULL, NULL, NULL),
                         LIVE_GARBAGE_ARGS);
    for (i = 0; i < 4; i++) {
        len = live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, procs[i], live_args_codec(procs[i]), &args[i]);
        assert_true(live_send_message(&srv->conn, call, len - 4));
        received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);
        assert_true(received > 0);
        assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_GARBAGE_ARGS);
    }
    assert_int_equal(live_count(srv, &srv->root), 1);
}

static void
a_write_that_announces_more_than_it_carries_is_garbage(void **state)
{
    static const uint32_t lengths[] = { 65, 1 << 20, 0x7fffffff, 0x80000000, 0xffffffff };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    uint8_t call[CALL_MAX], data[64] = "";
    struct wire_in results;
    struct wire_out out;
    const uint8_t *reply;
    ssize_t received;
    uint32_t xid;
    size_t i, len;

    for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        len = live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, NULL, NULL);
        out = (struct wire_out){ call + len, call + CALL_MAX, false };
        wire_put_opaque(&out, file.data.data_val, file.data.data_len);
        wire_put_u64(&out, 0);
        wire_put_u32(&out, lengths[i]);
        wire_put_u32(&out, FILE_SYNC);
        wire_put_u32(&out, lengths[i]);
        wire_put_fixed(&out, data, sizeof(data));
        assert_true(live_send_message(&srv->conn, call, (size_t)(out.p - call)));
        received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);
        assert_true(received > 0);
        assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_GARBAGE_ARGS);
    }
    live_assert_content(srv, &file, "hello", 5);
}

static void
a_name_that_announces_more_than_it_carries_is_garbage(void **state)
{
    static const uint32_t procs[] = { NFSPROC3_LOOKUP, NFSPROC3_MKDIR, NFSPROC3_RMDIR, NFSPROC3_REMOVE,
                                      NFSPROC3_RENAME };
    static const uint32_t lengths[] = { 5, 0x7ffffffc, 0x80000000, 0xfffffff0, 0xffffffff };
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    struct wire_in results;
    struct wire_out out;
    const uint8_t *reply;
    ssize_t received;
    uint32_t xid;
    size_t i, k, len;

    for (i = 0; i < sizeof(procs) / sizeof(*procs); i++) {
        for (k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
            len = live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, procs[i], NULL, NULL);
            out = (struct wire_out){ call + len, call + CALL_MAX, false };
            wire_put_opaque(&out, srv->root.data.data_val, srv->root.data.data_len);
            wire_put_u32(&out, lengths[k]);
            wire_put_fixed(&out, "abcd", 4);
            assert_true(live_send_message(&srv->conn, call, (size_t)(out.p - call)));
            received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);
            assert_true(received > 0);
            assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_GARBAGE_ARGS);
        }
    }
}

static void
bytes_behind_the_arguments_do_not_matter(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    size_t len = getattr_call(srv, call);

    memset(call + len, 0xff, 64);
    assert_true(live_send_message(&srv->conn, call, len + 64));
    assert_answered(srv, &srv->conn, srv->xid);
}

/* Write an AUTH_SYS credential into a header. */
static void
put_auth_sys(struct live_header *header, uint32_t machine_len, uint32_t ngids, uint32_t announced)
{
    struct wire_out out = { header->cred, header->cred + sizeof(header->cred), false };
    uint8_t machine[1024];
    uint32_t i;

    memset(machine, 'm', sizeof(machine));
    header->cred_flavor = AUTH_SYS;
    wire_put_u32(&out, 1);
    wire_put_opaque(&out, machine, machine_len);
    wire_put_u32(&out, 0);
    wire_put_u32(&out, 0);
    wire_put_u32(&out, announced);
    for (i = 0; i < ngids; i++)
        wire_put_u32(&out, i);
    header->cred_len = (uint32_t)(out.p - header->cred);
}

static void
credentials_of_every_allowed_size_are_taken(void **state)
{
    static const uint32_t machines[] = { 0, 1, 2, 3, 4, 64, 255 };
    struct live *srv = *state;
    struct live_header header;
    size_t i;

    for (i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
        live_make_header(srv, &header, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR);
        put_auth_sys(&header, machines[i], 16, 16);
        assert_int_equal(outcome_of(srv, &srv->conn, &header, &srv->root), LIVE_SUCCESS);
    }
}

static void
credentials_that_break_the_rules_are_denied(void **state)
{
    static const struct {
        uint32_t machine_len, ngids, announced;
    } rows[] = { { 4, 17, 17 }, { 4, 0, 1 << 30 }, { 4, 0, 0xffffffff }, { 4, 2, 3 }, { 256, 0, 0 }, { 300, 0, 0 },
                 { 1000, 0, 0 } };
    struct live *srv = *state;
    struct live_header header;
    uint32_t len;
    int outcome;
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        live_make_header(srv, &header, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR);
        put_auth_sys(&header, rows[i].machine_len, rows[i].ngids, rows[i].announced);
        outcome = outcome_of(srv, &srv->conn, &header, &srv->root);
        if (outcome != LIVE_AUTH_ERROR + AUTH_BADCRED)
            fail_msg("row %zu: outcome %d", i, outcome);
    }
    live_make_header(srv, &header, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR);
    put_auth_sys(&header, 4, 3, 3);
    for (len = header.cred_len; len > 0; len -= 4) {
        header.cred_len = len - 4;
        header.xid++;
        assert_int_equal(outcome_of(srv, &srv->conn, &header, &srv->root), LIVE_AUTH_ERROR + AUTH_BADCRED);
    }
}

static void
credentials_beyond_400_bytes_get_no_success(void **state)
{
    static const uint32_t lengths[] = { 404, 1024, 8000 };
    struct live *srv = *state;
    struct live_header header;
    size_t i;
    int outcome;

    for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

        live_make_header(srv, &header, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR);
        put_auth_sys(&header, 4, 0, 0);
        header.cred_len = lengths[i];
        outcome = outcome_of(srv, &conn, &header, &srv->root);
        assert_true(outcome == LIVE_CLOSED || outcome == LIVE_TIMEOUT || outcome >= LIVE_AUTH_ERROR ||
                    outcome == LIVE_GARBAGE_ARGS);
        live_close(&conn);
    }
    live_assert_alive(srv);
}

static void
unknown_flavours_are_denied(void **state)
{
    static const uint32_t flavors[] = { 2, 3, 6, 300001, 0xffffffff };
    struct live *srv = *state;
    struct live_header header;
    size_t i;

    for (i = 0; i < sizeof(flavors) / sizeof(*flavors); i++) {
        live_make_header(srv, &header, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR);
        header.cred_flavor = flavors[i];
        header.cred_len = 16;
        assert_true(outcome_of(srv, &srv->conn, &header, &srv->root) > LIVE_AUTH_ERROR);
    }
}

static void
credentials_belong_to_a_call_not_to_the_connection(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);
    int i;

    live_need_identities(srv);
    live_chmod(srv, &file, 0600);
    for (i = 0; i < 3; i++) {
        live_as(srv, 0, 0);
        assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3_OK);
        live_as(srv, 1001, 1001);
        assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3ERR_ACCES);
    }
}

static void
every_procedure_answers_over_udp(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file, dir;

    live_close(&srv->conn);
    srv->conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    file = live_put(srv, "f", "hello", 5);
    dir = live_dir(srv, &srv->root, "d", 0755);
    live_assert_content(srv, &file, "hello", 5);
    assert_int_equal(live_rename(srv, &srv->root, "f", &dir, "g")->status, NFS3_OK);
    assert_int_equal(live_count(srv, &dir), 1);
    assert_int_equal(live_commit(srv, &file, 0, 0)->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &dir, "g")->status, NFS3_OK);
    assert_int_equal(live_rmdir(srv, &srv->root, "d")->status, NFS3_OK);
}

static void
a_reply_over_udp_is_whole_or_short_but_never_cut(void **state)
{
    static const uint32_t counts[] = { 32768, 60000, 65535, 65536, 1 << 20 };
    struct live *srv = *state;
    char *data = live_keep(srv, 1 << 20);
    nfs_fh3 file = live_put(srv, "f", data, 1 << 20);
    READDIRPLUS3res *list;
    READ3res *res;
    size_t i;

    live_close(&srv->conn);
    srv->conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        res = live_read(srv, &file, 0, counts[i]);
        assert_int_equal(res->status, NFS3_OK);
        assert_in_range(res->READ3res_u.resok.count, 32768, 65500);
        assert_int_equal(res->READ3res_u.resok.data.data_len, res->READ3res_u.resok.count);
        assert_false(res->READ3res_u.resok.eof);
    }
    list = live_readdirplus(srv, &srv->root, 0, NULL, 65536, 65536);
    assert_int_equal(list->status, NFS3_OK);
}

static void
a_truncated_datagram_is_not_filled_up_from_an_earlier_one(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    nfs_fh3 file = live_put(srv, "f", "before", 6);
    struct wire_in results;
    const uint8_t *reply;
    uint8_t call[CALL_MAX];
    ssize_t received;
    uint32_t xid;
    size_t len, cut;

    for (cut = 4; cut <= 400; cut += 36) {
        char data[400];

        memset(data, 'X', sizeof(data));
        len = live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR, (xdrproc_t)xdr_GETATTR3args,
                             &(GETATTR3args){ file });
        assert_true(live_send_message(&conn, call, len));
        assert_answered(srv, &conn, srv->xid);
        len = live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args,
                             &(WRITE3args){ file, 0, 400, FILE_SYNC, { 400, data } });
        assert_true(live_send_message(&conn, call, len - cut));
        received = live_receive(srv, &conn, 50, &reply);
        if (received > 0)
            assert_int_not_equal(live_parse_reply(&conn, reply, (size_t)received, &xid, &results), LIVE_SUCCESS);
    }
    live_close(&conn);
    live_assert_content(srv, &file, "before", 6);
}

static void
rubbish_datagrams_harm_nobody(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    uint8_t bytes[2048], call[CALL_MAX];
    const uint8_t *reply;
    uint64_t seed;
    size_t len;

    for (seed = 0; seed < 100; seed++) {
        struct bytes_random random = bytes_random_seed(seed);

        len = bytes_random_below(&random, sizeof(bytes));
        bytes_random_fill(&random, bytes, len);
        live_send(&conn, bytes, len);
    }
    live_send(&conn, bytes, 0);
    while (live_receive(srv, &conn, 50, &reply) > 0)
        ;
    len = getattr_call(srv, call);
    assert_true(live_send_message(&conn, call, len));
    assert_answered(srv, &conn, srv->xid);
    live_close(&conn);
}

/* A connected UDP socket takes datagrams from the address that it asked only. */
static void
a_reply_over_udp_comes_from_the_address_that_was_asked(void **state)
{
    static const char *const addresses[] = { "127.0.0.1", "127.0.0.2", "127.0.0.3" };
    struct live *srv = live_start_beside(*state, &(struct live_options){ .everywhere = true });
    uint8_t call[CALL_MAX];
    size_t i, len;

    for (i = 0; i < 3; i++) {
        struct live_conn conn = live_connect_to(addresses[i], srv->nfs_port, SOCK_DGRAM);

        len = getattr_call(srv, call);
        assert_true(live_send_message(&conn, call, len));
        assert_answered(srv, &conn, srv->xid);
        live_close(&conn);
    }
}

static void
calls_are_answered_over_ipv6(void **state)
{
    static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
    struct live *srv = *state;
    size_t i;

    live_need_ipv6();
    for (i = 0; i < 2; i++) {
        live_close(&srv->conn);
        srv->conn = live_connect(srv, types[i], AF_INET6);
        assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
        assert_int_equal(live_create(srv, &srv->root, "f", UNCHECKED, live_mode(0644))->status, NFS3_OK);
    }
}

static void
a_client_that_does_not_read_hurts_no_other(void **state)
{
    struct live *srv = *state;
    char *data = live_keep(srv, 1 << 20);
    nfs_fh3 file = live_put(srv, "f", data, 1 << 20);
    struct live_conn greedy = live_connect(srv, SOCK_STREAM, AF_INET);
    struct timeval soon = { .tv_usec = 200000 };
    uint8_t call[CALL_MAX], stream[CALL_MAX];
    size_t len;
    int i;

    assert_int_equal(setsockopt(greedy.fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)), 0);
    for (i = 0; i < 2000; i++) {
        len = live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args,
                             &(READ3args){ file, 0, 1 << 20 });
        if (!live_send(&greedy, stream, put_fragment(stream, call, len, true)))
            break;
    }
    for (i = 0; i < 100; i++)
        assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    live_assert_alive(srv);
    live_close(&greedy);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
}

static void
replies_wait_for_a_client_that_reads_late(void **state)
{
    enum { COUNT = 64, BLOCK = 65536 };
    struct live *srv = *state;
    struct bytes_random random = bytes_random_seed(3);
    char *data = live_keep(srv, BLOCK);
    struct wire_in results;
    const uint8_t *reply, *bytes;
    uint8_t call[CALL_MAX];
    uint32_t xid, len;
    nfs_fh3 file;
    int i;

    bytes_random_fill(&random, data, BLOCK);
    file = live_put(srv, "f", data, BLOCK);
    for (i = 0; i < COUNT; i++) {
        size_t size = live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args,
                                     &(READ3args){ file, 0, BLOCK });

        assert_true(live_send_message(&srv->conn, call, size));
    }
    usleep(200000);
    for (i = 0; i < COUNT; i++) {
        ssize_t received = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);

        assert_true(received > BLOCK);
        assert_int_equal(live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results), LIVE_SUCCESS);
        bytes = reply + received - BLOCK;
        memcpy(&len, bytes - 4, 4);
        assert_int_equal(be32toh(len), BLOCK);
        assert_memory_equal(bytes, data, BLOCK);
    }
}

static void
half_sent_calls_and_silent_clients_hurt_no_other(void **state)
{
    enum { COUNT = 40 };
    struct live *srv = *state;
    struct live_conn conns[COUNT];
    uint8_t call[CALL_MAX], stream[CALL_MAX];
    int i;

    for (i = 0; i < COUNT; i++) {
        conns[i] = live_connect(srv, SOCK_STREAM, AF_INET);
        put_fragment(stream, call, getattr_call(srv, call), true);
        if (i % 2 == 0)
            assert_true(live_send(&conns[i], stream, 30));
    }
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    live_assert_alive(srv);
    for (i = 0; i < COUNT; i++)
        live_close(&conns[i]);
}

static void
a_write_cut_off_by_the_end_of_its_connection_is_not_done(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "before", 6);
    size_t data_len = 60000, len;
    char *data = live_keep(srv, data_len);
    uint8_t *call = live_keep(srv, data_len + CALL_MAX), *stream = live_keep(srv, data_len + CALL_MAX);
    struct linger reset = { .l_onoff = 1 };
    int i;

    for (i = 0; i < 4; i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

        len = live_make_call(srv, call, data_len + CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE,
                             (xdrproc_t)xdr_WRITE3args,
                             &(WRITE3args){ file, 0, (uint32_t)data_len, FILE_SYNC, { (u_int)data_len, data } });
        put_fragment(stream, call, len, true);
        assert_true(live_send(&conn, stream, len / 2));
        if (i % 2 == 0)
            setsockopt(conn.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        usleep(20000);
        live_close(&conn);
    }
    usleep(50000);
    live_assert_content(srv, &file, "before", 6);
}

static void
a_half_closed_connection_still_gets_its_replies_and_is_then_closed(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    uint8_t call[CALL_MAX];
    uint32_t xid[4];
    int i;

    for (i = 0; i < 4; i++) {
        size_t len = getattr_call(srv, call);

        xid[i] = srv->xid;
        assert_true(live_send_message(&conn, call, len));
    }
    assert_int_equal(shutdown(conn.fd, SHUT_WR), 0);
    for (i = 0; i < 4; i++)
        assert_answered(srv, &conn, xid[i]);
    assert_true(live_closes(&conn, 3000));
    live_close(&conn);
}

static void
connections_come_and_go(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    size_t len;
    int i;

    for (i = 0; i < 300; i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

        len = getattr_call(srv, call);
        assert_true(live_send_message(&conn, call, len));
        if (i % 3 == 0)
            assert_answered(srv, &conn, srv->xid);
        live_close(&conn);
    }
    live_assert_alive(srv);
}

static void
few_connections(struct settings *settings)
{
    settings->max_connections = 8;
}

static void
beyond_max_connections_idle_ones_make_room(void **state)
{
    enum { COUNT = 20 };
    struct live *srv = live_start_beside(*state, &(struct live_options){ .tune = few_connections });
    struct live_conn conns[COUNT];
    int i;

    for (i = 0; i < COUNT; i++)
        conns[i] = live_connect(srv, SOCK_STREAM, AF_INET);
    usleep(50000);
    live_assert_alive(srv);
    for (i = 0; i < COUNT; i++)
        live_close(&conns[i]);
    usleep(100000);
    live_assert_alive(srv);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_takes_no_credentials_and_gives_nothing),
        cmocka_unit_test(any_xid_comes_back),
        cmocka_unit_test(a_call_in_fragments_of_one_byte_is_put_together),
        cmocka_unit_test(empty_fragments_do_not_count),
        cmocka_unit_test(a_write_in_many_fragments_arrives_whole),
        cmocka_unit_test(a_call_may_arrive_in_pieces_and_with_the_next_ones_beginning),
        cmocka_unit_test(pipelined_calls_are_each_answered_once),
        cmocka_unit_test(records_that_announce_too_much_close_their_connection_only),
        cmocka_unit_test(a_record_that_never_ends_is_not_collected),
        cmocka_unit_test(random_streams_harm_nobody),
        cmocka_unit_test(unknown_programs_versions_and_procedures_are_told_apart),
        cmocka_unit_test(other_versions_of_rpc_are_denied),
        cmocka_unit_test(what_is_no_call_gets_no_success),
        cmocka_unit_test(arguments_that_cannot_be_read_are_garbage_in_every_procedure),
        cmocka_unit_test(a_write_that_announces_more_than_it_carries_is_garbage),
        cmocka_unit_test(a_name_that_announces_more_than_it_carries_is_garbage),
        cmocka_unit_test(bytes_behind_the_arguments_do_not_matter),
        cmocka_unit_test(credentials_of_every_allowed_size_are_taken),
        cmocka_unit_test(credentials_that_break_the_rules_are_denied),
        cmocka_unit_test(credentials_beyond_400_bytes_get_no_success),
        cmocka_unit_test(unknown_flavours_are_denied),
        cmocka_unit_test(credentials_belong_to_a_call_not_to_the_connection),
        cmocka_unit_test(every_procedure_answers_over_udp),
        cmocka_unit_test(a_reply_over_udp_is_whole_or_short_but_never_cut),
        cmocka_unit_test(a_truncated_datagram_is_not_filled_up_from_an_earlier_one),
        cmocka_unit_test(rubbish_datagrams_harm_nobody),
        cmocka_unit_test(a_reply_over_udp_comes_from_the_address_that_was_asked),
        cmocka_unit_test(calls_are_answered_over_ipv6),
        cmocka_unit_test(a_client_that_does_not_read_hurts_no_other),
        cmocka_unit_test(replies_wait_for_a_client_that_reads_late),
        cmocka_unit_test(half_sent_calls_and_silent_clients_hurt_no_other),
        cmocka_unit_test(a_write_cut_off_by_the_end_of_its_connection_is_not_done),
        cmocka_unit_test(a_half_closed_connection_still_gets_its_replies_and_is_then_closed),
        cmocka_unit_test(connections_come_and_go),
        cmocka_unit_test(beyond_max_connections_idle_ones_make_room),
    };

    return live_main("rpc", tests, sizeof(tests) / sizeof(*tests));
}
