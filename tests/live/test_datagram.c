/* tests/live/test_datagram.c - calls over UDP, and over IPv6. */
#include "tests/lib/bytes.h"
#include "tests/lib/live.h"

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
    uint8_t call[LIVE_CALL_MAX];
    ssize_t received;
    uint32_t xid;
    size_t len, cut;

    for (cut = 4; cut <= 400; cut += 36) {
        char data[400];

        memset(data, 'X', sizeof(data));
        len = live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR, (xdrproc_t)xdr_GETATTR3args,
                             &(GETATTR3args){ file });
        assert_true(live_send_message(&conn, call, len));
        live_assert_answered(srv, &conn, srv->xid);
        len = live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args,
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
    uint8_t bytes[2048];
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
    live_assert_served(srv, &conn);
    live_close(&conn);
}

/* A connected UDP socket takes datagrams from the address that it asked only. */
static void
a_reply_over_udp_comes_from_the_address_that_was_asked(void **state)
{
    static const char *const addresses[] = { "127.0.0.1", "127.0.0.2", "127.0.0.3" };
    struct live *srv = live_start_beside(*state, &(struct live_options){ .everywhere = true });
    size_t i;

    for (i = 0; i < 3; i++) {
        struct live_conn conn = live_connect_to(addresses[i], srv->nfs_port, SOCK_DGRAM);

        live_assert_served(srv, &conn);
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_procedure_answers_over_udp),
        cmocka_unit_test(a_reply_over_udp_is_whole_or_short_but_never_cut),
        cmocka_unit_test(a_truncated_datagram_is_not_filled_up_from_an_earlier_one),
        cmocka_unit_test(rubbish_datagrams_harm_nobody),
        cmocka_unit_test(a_reply_over_udp_comes_from_the_address_that_was_asked),
        cmocka_unit_test(calls_are_answered_over_ipv6),
    };

    return live_main("datagram", tests, sizeof(tests) / sizeof(*tests));
}
