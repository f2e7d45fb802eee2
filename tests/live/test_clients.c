/* tests/live/test_clients.c - clients that are slow, silent or many hurt nobody else. */
#include <unistd.h>

#include "tests/lib/bytes.h"
#include "tests/lib/live.h"

static void
a_client_that_does_not_read_hurts_no_other(void **state)
{
    struct live *srv = *state;
    char *data = live_keep(srv, 1 << 20);
    nfs_fh3 file = live_put(srv, "f", data, 1 << 20);
    struct live_conn greedy = live_connect(srv, SOCK_STREAM, AF_INET);
    struct timeval soon = { .tv_usec = 200000 };
    uint8_t call[LIVE_CALL_MAX], stream[LIVE_CALL_MAX];
    size_t len;
    int i;

    assert_int_equal(setsockopt(greedy.fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)), 0);
    for (i = 0; i < 2000; i++) {
        len = live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args,
                             &(READ3args){ file, 0, 1 << 20 });
        if (!live_send(&greedy, stream, live_put_fragment(stream, call, len, true)))
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
    uint8_t call[LIVE_CALL_MAX];
    uint32_t xid, len;
    nfs_fh3 file;
    int i;

    bytes_random_fill(&random, data, BLOCK);
    file = live_put(srv, "f", data, BLOCK);
    for (i = 0; i < COUNT; i++) {
        size_t size = live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_READ, (xdrproc_t)xdr_READ3args,
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
    uint8_t call[LIVE_CALL_MAX], stream[LIVE_CALL_MAX];
    int i;

    for (i = 0; i < COUNT; i++) {
        conns[i] = live_connect(srv, SOCK_STREAM, AF_INET);
        live_put_fragment(stream, call, live_getattr_call(srv, call), true);
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
    uint8_t *call = live_keep(srv, data_len + LIVE_CALL_MAX), *stream = live_keep(srv, data_len + LIVE_CALL_MAX);
    struct linger reset = { .l_onoff = 1 };
    int i;

    for (i = 0; i < 4; i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

        len = live_make_call(srv, call, data_len + LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE,
                             (xdrproc_t)xdr_WRITE3args,
                             &(WRITE3args){ file, 0, (uint32_t)data_len, FILE_SYNC, { (u_int)data_len, data } });
        live_put_fragment(stream, call, len, true);
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
    uint8_t call[LIVE_CALL_MAX];
    uint32_t xid[4];
    int i;

    for (i = 0; i < 4; i++) {
        size_t len = live_getattr_call(srv, call);

        xid[i] = srv->xid;
        assert_true(live_send_message(&conn, call, len));
    }
    assert_int_equal(shutdown(conn.fd, SHUT_WR), 0);
    for (i = 0; i < 4; i++)
        live_assert_answered(srv, &conn, xid[i]);
    assert_true(live_closes(&conn, 3000));
    live_close(&conn);
}

static void
connections_come_and_go(void **state)
{
    struct live *srv = *state;
    uint8_t call[LIVE_CALL_MAX];
    size_t len;
    int i;

    for (i = 0; i < 300; i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

        len = live_getattr_call(srv, call);
        assert_true(live_send_message(&conn, call, len));
        if (i % 3 == 0)
            live_assert_answered(srv, &conn, srv->xid);
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
        cmocka_unit_test(a_client_that_does_not_read_hurts_no_other),
        cmocka_unit_test(replies_wait_for_a_client_that_reads_late),
        cmocka_unit_test(half_sent_calls_and_silent_clients_hurt_no_other),
        cmocka_unit_test(a_write_cut_off_by_the_end_of_its_connection_is_not_done),
        cmocka_unit_test(a_half_closed_connection_still_gets_its_replies_and_is_then_closed),
        cmocka_unit_test(connections_come_and_go),
        cmocka_unit_test(beyond_max_connections_idle_ones_make_room),
    };

    return live_main("clients", tests, sizeof(tests) / sizeof(*tests));
}
