/* tests/live/test_rpc.c - calls as they arrive: records, messages, credentials (RFC 5531 sections 8 to 11). */
#include <unistd.h>

#include "tests/lib/bytes.h"
#include "tests/lib/live.h"

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
    size_t i;

    for (i = 0; i < sizeof(xids) / sizeof(*xids); i++) {
        srv->xid = xids[i] - 1;
        live_assert_served(srv, &srv->conn);
        assert_int_equal(srv->xid, xids[i]);
    }
}

static void
a_call_in_fragments_of_one_byte_is_put_together(void **state)
{
    struct live *srv = *state;
    uint8_t call[LIVE_CALL_MAX], stream[5 * LIVE_CALL_MAX];
    size_t len = live_getattr_call(srv, call), at = 0, i;

    for (i = 0; i < len; i++)
        at += live_put_fragment(stream + at, call + i, 1, i == len - 1);
    assert_true(live_send(&srv->conn, stream, at));
    live_assert_answered(srv, &srv->conn, srv->xid);
}

static void
empty_fragments_do_not_count(void **state)
{
    struct live *srv = *state;
    uint8_t call[LIVE_CALL_MAX], stream[2 * LIVE_CALL_MAX];
    size_t len, at;
    int where;

    for (where = 0; where < 3; where++) {
        len = live_getattr_call(srv, call);
        at = 0;
        if (where == 0)
            at += live_put_fragment(stream + at, NULL, 0, false);
        at += live_put_fragment(stream + at, call, 40, false);
        if (where == 1)
            at += live_put_fragment(stream + at, NULL, 0, false);
        at += live_put_fragment(stream + at, call + 40, len - 40, where != 2);
        if (where == 2)
            at += live_put_fragment(stream + at, NULL, 0, true);
        assert_true(live_send(&srv->conn, stream, at));
        live_assert_answered(srv, &srv->conn, srv->xid);
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
    uint8_t *call = live_keep(srv, data_len + LIVE_CALL_MAX), *stream = live_keep(srv, 3 * data_len);

    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        bytes_random_fill(&random, data, data_len);
        len = live_make_call(srv, call, data_len + LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE,
                             (xdrproc_t)xdr_WRITE3args,
                             &(WRITE3args){ file, 0, (uint32_t)data_len, UNSTABLE, { (u_int)data_len, data } });
        for (at = in = 0; in < len; in += part) {
            part = len - in < sizes[i] ? len - in : sizes[i];
            at += live_put_fragment(stream + at, call + in, part, in + part == len);
        }
        assert_true(live_send(&srv->conn, stream, at));
        live_assert_answered(srv, &srv->conn, srv->xid);
        live_assert_content(srv, &file, data, data_len);
    }
}

static void
a_call_may_arrive_in_pieces_and_with_the_next_ones_beginning(void **state)
{
    struct live *srv = *state;
    uint8_t call[LIVE_CALL_MAX], stream[2 * LIVE_CALL_MAX];
    size_t first = live_put_fragment(stream, call, live_getattr_call(srv, call), true), second, split, i;
    uint32_t xid = srv->xid;

    second = live_getattr_call(srv, call);
    second = live_put_fragment(stream + first, call, second, true);
    for (split = 1; split < 20; split += 3) {
        assert_true(live_send(&srv->conn, stream, first + split));
        live_assert_answered(srv, &srv->conn, xid);
        for (i = split; i < second; i += 16) {
            assert_true(live_send(&srv->conn, stream + first + i, second - i < 16 ? second - i : 16));
            usleep(500);
        }
        live_assert_answered(srv, &srv->conn, srv->xid);
    }
}

static void
pipelined_calls_are_each_answered_once(void **state)
{
    enum { COUNT = 256 };
    struct live *srv = *state;
    uint8_t call[LIVE_CALL_MAX], *stream = live_keep(srv, COUNT * 512);
    bool seen[COUNT] = { false };
    uint32_t first = srv->xid + 1, xid;
    struct wire_in results;
    const uint8_t *reply;
    size_t at = 0, i, len;

    for (i = 0; i < COUNT; i++) {
        len = i % 2 == 0 ? live_getattr_call(srv, call)
                         : live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_LOOKUP,
                                          (xdrproc_t)xdr_LOOKUP3args,
                                          &(LOOKUP3args){ { srv->root, live_name("none") } });
        at += live_put_fragment(stream + at, call, len, true);
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
    size_t len = live_put_fragment(chunk, chunk + 4, 65536, false);
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
            live_put_fragment(bytes, bytes + 4, sizeof(bytes) - 4, true);
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
    uint8_t call[LIVE_CALL_MAX];
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

        live_getattr_call(srv, call);
        assert_true(live_send(&conn, message, live_put_fragment(message, call, len, true)));
        live_closes(&conn, 20);
        live_close(&conn);
    }
    live_assert_alive(srv);
}

static void
arguments_that_cannot_be_read_are_garbage_in_every_procedure(void **state)
{
    struct live *srv = *state;
    uint8_t call[LIVE_CALL_MAX];
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
        len = live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, procs[i], live_args_codec(procs[i]), &args[i]);
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
    uint8_t call[LIVE_CALL_MAX], data[64] = "";
    struct wire_in results;
    struct wire_out out;
    const uint8_t *reply;
    ssize_t received;
    uint32_t xid;
    size_t i, len;

    for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        len = live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, NULL, NULL);
        out = (struct wire_out){ call + len, call + LIVE_CALL_MAX, false };
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
    uint8_t call[LIVE_CALL_MAX];
    struct wire_in results;
    struct wire_out out;
    const uint8_t *reply;
    ssize_t received;
    uint32_t xid;
    size_t i, k, len;

    for (i = 0; i < sizeof(procs) / sizeof(*procs); i++) {
        for (k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
            len = live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, procs[i], NULL, NULL);
            out = (struct wire_out){ call + len, call + LIVE_CALL_MAX, false };
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
    uint8_t call[LIVE_CALL_MAX];
    size_t len = live_getattr_call(srv, call);

    memset(call + len, 0xff, 64);
    assert_true(live_send_message(&srv->conn, call, len + 64));
    live_assert_answered(srv, &srv->conn, srv->xid);
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
    };

    return live_main("rpc", tests, sizeof(tests) / sizeof(*tests));
}
