/* tests/live/test_limits.c - max_rate and max_iops of an export; by a clock that stands still until a test moves it. */
#include "tests/lib/live.h"

#include <stdatomic.h>
#include <stdio.h>

#define USUAL "rw,no_root_squash,insecure"
#define QUIET_MS 150                    /* without a reply for this long, a call waits */
#define MS UINT64_C(1000000)            /* ns */
#define SECOND (1000 * MS)
#define MANY 200
#define LARGE (256 << 10)
#define SMALL_BYTES 512
#define MEMORY (16 << 20)
#define WRITE_BYTES (256 << 10)
#define WRITERS 50

static _Atomic uint64_t now_ns;

static uint64_t
fake_now(void *context)
{
    (void)context;
    return atomic_load(&now_ns);
}

static const struct rate_clock fake_clock = { .now_ns = fake_now };

static void
wait_an_hour(struct settings *settings)
{
    settings->drain_timeout = 3600;
}

/* A server without limits yet. */
static struct live *
start(struct live *srv)
{
    const struct live_options options = { .export_options = USUAL, .clock = &fake_clock, .tune = wait_an_hour };

    atomic_store(&now_ns, 1000 * SECOND);
    return live_start_beside(srv, &options);
}

static void
send_proc(struct live *srv, struct live_conn *conn, uint32_t proc, const void *args)
{
    static uint8_t message[SMALL_BYTES];
    size_t len = live_make_call(srv, message, sizeof(message), NFS_PROGRAM, NFS_V3, proc, live_args_codec(proc), args);

    assert_true(live_send_message(conn, message, len));
}

static void
send_getattr(struct live *srv, struct live_conn *conn)
{
    const GETATTR3args args = { srv->root };

    send_proc(srv, conn, NFSPROC3_GETATTR, &args);
}

static nfsstat3
status_of(struct live *srv, struct live_conn *conn)
{
    struct wire_in results;
    const uint8_t *reply;
    uint32_t xid;
    ssize_t len = live_receive(srv, conn, LIVE_WAIT_MS, &reply);

    assert_true(len > 0);
    assert_int_equal(live_parse_reply(conn, reply, (size_t)len, &xid, &results), LIVE_SUCCESS);
    return wire_get_u32(&results);
}

static void
assert_answered(struct live *srv, struct live_conn *conn)
{
    assert_int_equal(status_of(srv, conn), NFS3_OK);
}

static void
assert_waits(struct live *srv, struct live_conn *conn)
{
    const uint8_t *reply;

    assert_int_equal(live_receive(srv, conn, QUIET_MS, &reply), LIVE_TIMEOUT);
}

static struct server_stats
stats_of(struct live *srv)
{
    struct server_stats stats;

    server_stats(srv->server, &stats);
    return stats;
}

/* From here on: two calls at once, then one every 100 ms. */
static void
limit_calls(struct live *srv, struct live_conn *conn)
{
    live_reload(srv, USUAL ",max_iops=10", NULL);
    for (unsigned i = 0; i < 2; i++) {
        send_getattr(srv, conn);
        assert_answered(srv, conn);
    }
}

/* So limited, with one call too many under way. */
static void
call_too_often(struct live *srv, struct live_conn *conn)
{
    limit_calls(srv, conn);
    send_getattr(srv, conn);
    assert_waits(srv, conn);
}

static void
a_call_over_the_limit_waits_until_it_is_due(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

    call_too_often(srv, &conn);
    atomic_fetch_add(&now_ns, 99 * MS);
    assert_waits(srv, &conn);
    atomic_fetch_add(&now_ns, MS);
    assert_answered(srv, &conn);
    assert_int_equal(stats_of(srv).delayed, 1);
    assert_int_equal(stats_of(srv).delay_refused, 0);
    live_close(&conn);
}

static void
other_clients_other_exports_and_mounting_do_not_wait(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET), other;
    nfs_fh3 root = srv->root;

    live_need_ipv6();
    live_reload(srv, USUAL, USUAL);
    limit_calls(srv, &conn);
    live_reload(srv, USUAL ",max_iops=10", USUAL);
    send_getattr(srv, &conn);
    assert_waits(srv, &conn);
    other = live_connect(srv, SOCK_STREAM, AF_INET6);
    send_getattr(srv, &other);
    assert_answered(srv, &other);
    srv->root = live_mount(srv, srv->second);
    send_getattr(srv, &srv->conn);
    assert_answered(srv, &srv->conn);
    srv->root = root;
    live_close(&other);
    live_close(&conn);
}

static void
all_connections_of_an_address_have_one_limit(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET), other = live_connect(srv, SOCK_STREAM, AF_INET);

    limit_calls(srv, &conn);
    send_getattr(srv, &other);
    assert_waits(srv, &other);
    atomic_fetch_add(&now_ns, SECOND);
    assert_answered(srv, &other);
    live_close(&other);
    live_close(&conn);
}

static void
data_is_limited_and_calls_without_data_are_not(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    char *data = live_keep(srv, LARGE);
    nfs_fh3 file = live_put(srv, "file", data, LARGE);
    const READ3args read = { file, 0, SMALL_BYTES };
    const WRITE3args write = { file, 0, 4, UNSTABLE, { 4, data } };

    live_reload(srv, USUAL ",max_rate=64K", NULL);
    assert_int_equal(live_read(srv, &file, 0, LARGE)->READ3res_u.resok.count, LARGE);      /* four seconds' worth */
    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);
    send_proc(srv, &conn, NFSPROC3_READ, &read);
    assert_waits(srv, &conn);
    atomic_fetch_add(&now_ns, 4 * SECOND);
    assert_answered(srv, &conn);
    live_write(srv, &file, 0, data, LARGE, UNSTABLE);
    send_proc(srv, &conn, NFSPROC3_WRITE, &write);
    assert_waits(srv, &conn);
    atomic_fetch_add(&now_ns, 4 * SECOND);
    assert_answered(srv, &conn);
    live_close(&conn);
}

static void
a_read_is_charged_what_it_got(void **state)
{
    struct live *srv = start(*state);
    nfs_fh3 file = live_put(srv, "file", "four", 4);

    live_reload(srv, USUAL ",max_rate=64K", NULL);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(live_read(srv, &file, 0, 1 << 20)->READ3res_u.resok.count, 4);
    assert_int_equal(live_read(srv, &srv->root, 0, 1 << 20)->status, NFS3ERR_ISDIR);
    assert_int_equal(live_read(srv, &file, 0, 1 << 20)->READ3res_u.resok.count, 4);
}

static void
a_connection_that_is_far_over_its_limit_is_not_read_any_more(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    uint64_t before;

    limit_calls(srv, &conn);
    before = stats_of(srv).calls;
    for (unsigned i = 0; i < MANY; i++)
        send_getattr(srv, &conn);
    assert_waits(srv, &conn);
    assert_in_range(stats_of(srv).calls - before, 1, 5);
    live_reload(srv, USUAL, NULL);
    for (unsigned i = 0; i < MANY; i++)
        assert_answered(srv, &conn);
    live_close(&conn);
}

static void
limits_that_are_lifted_let_waiting_calls_go(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

    call_too_often(srv, &conn);
    live_reload(srv, USUAL, NULL);
    assert_answered(srv, &conn);
    live_close(&conn);
}

static void
a_server_that_stops_answers_calls_that_wait_and_does_not_wait_itself(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

    call_too_often(srv, &conn);
    server_free(srv->server);
    srv->server = NULL;
    assert_answered(srv, &conn);
    live_close(&conn);
}

static void
a_client_that_leaves_meanwhile_does_no_harm(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

    limit_calls(srv, &conn);
    for (unsigned i = 0; i < MANY; i++)
        send_getattr(srv, &conn);
    assert_waits(srv, &conn);
    live_close(&conn);
    live_reload(srv, USUAL, NULL);
    live_assert_alive(srv);
}

static void
datagrams_wait_for_a_moment(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);

    limit_calls(srv, &conn);
    for (unsigned i = 0; i < 5; i++)                    /* 100 ms to 500 ms */
        send_getattr(srv, &conn);
    assert_waits(srv, &conn);
    assert_int_equal(stats_of(srv).delay_refused, 0);
    atomic_fetch_add(&now_ns, SECOND);
    for (unsigned i = 0; i < 5; i++)
        assert_answered(srv, &conn);
    live_close(&conn);
}

static void
a_datagram_far_over_the_limit_is_dropped_and_done_when_it_is_sent_again(void **state)
{
    struct live *srv = start(*state);
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    nfs_fh3 file = live_put(srv, "file", "....", 4);
    const WRITE3args args = { file, 0, 4, UNSTABLE, { 4, "new!" } };
    uint8_t message[SMALL_BYTES];
    size_t len = live_make_call(srv, message, sizeof(message), NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE,
                                (xdrproc_t)xdr_WRITE3args, &args);

    live_reload(srv, USUAL ",max_iops=1", NULL);
    send_getattr(srv, &conn);
    assert_answered(srv, &conn);
    assert_true(live_send_message(&conn, message, len));
    assert_waits(srv, &conn);
    assert_int_equal(stats_of(srv).delay_refused, 1);
    atomic_fetch_add(&now_ns, 2 * SECOND);
    assert_waits(srv, &conn);
    assert_true(live_send_message(&conn, message, len));
    assert_answered(srv, &conn);
    live_reload(srv, USUAL, NULL);
    live_assert_content(srv, &file, "new!", 4);
    live_close(&conn);
}

static void
little_memory(struct settings *settings)
{
    settings->max_memory = MEMORY;
}

/* All of them have been looked at: put aside, or refused. */
static void
await_decisions(struct live *srv, uint64_t calls)
{
    uint64_t until = live_now_ms() + LIVE_WAIT_MS;

    while (stats_of(srv).delayed + stats_of(srv).delay_refused < calls)
        assert_true(live_now_ms() < until);
}

static void
when_memory_is_tight_who_is_over_his_limit_is_told_to_come_again(void **state)
{
    const struct live_options options = { .export_options = USUAL, .clock = &fake_clock, .tune = little_memory };
    struct live *srv = live_start_beside(*state, &options);
    char *data = live_keep(srv, WRITE_BYTES);
    WRITE3args args = { live_put(srv, "file", "", 0), 0, WRITE_BYTES, UNSTABLE, { WRITE_BYTES, data } };
    struct live_conn conns[WRITERS];
    unsigned came_again = 0;

    limit_calls(srv, &srv->conn);
    for (unsigned i = 0; i < WRITERS; i++) {
        size_t len = live_make_call(srv, srv->message, LIVE_MESSAGE_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_WRITE,
                                    (xdrproc_t)xdr_WRITE3args, &args);

        conns[i] = live_connect(srv, SOCK_STREAM, AF_INET);
        assert_true(live_send_message(&conns[i], srv->message, len));
    }
    await_decisions(srv, WRITERS);
    assert_in_range(stats_of(srv).delayed, 1, MEMORY / 2 / WRITE_BYTES);
    live_assert_alive(srv);
    live_reload(srv, USUAL, NULL);
    for (unsigned i = 0; i < WRITERS; i++)
        came_again += status_of(srv, &conns[i]) == NFS3ERR_JUKEBOX;
    assert_in_range(came_again, WRITERS - MEMORY / 2 / WRITE_BYTES, WRITERS - 1);
    for (unsigned i = 0; i < WRITERS; i++)
        live_close(&conns[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_over_the_limit_waits_until_it_is_due),
        cmocka_unit_test(other_clients_other_exports_and_mounting_do_not_wait),
        cmocka_unit_test(all_connections_of_an_address_have_one_limit),
        cmocka_unit_test(data_is_limited_and_calls_without_data_are_not),
        cmocka_unit_test(a_read_is_charged_what_it_got),
        cmocka_unit_test(a_connection_that_is_far_over_its_limit_is_not_read_any_more),
        cmocka_unit_test(limits_that_are_lifted_let_waiting_calls_go),
        cmocka_unit_test(a_server_that_stops_answers_calls_that_wait_and_does_not_wait_itself),
        cmocka_unit_test(a_client_that_leaves_meanwhile_does_no_harm),
        cmocka_unit_test(datagrams_wait_for_a_moment),
        cmocka_unit_test(a_datagram_far_over_the_limit_is_dropped_and_done_when_it_is_sent_again),
        cmocka_unit_test(when_memory_is_tight_who_is_over_his_limit_is_told_to_come_again),
    };

    return live_main("limits", tests, sizeof(tests) / sizeof(*tests));
}
