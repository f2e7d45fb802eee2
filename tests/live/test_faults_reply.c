/* tests/live/test_faults_reply.c - rules of faults that the transport carries out, crash, and pause. */
#include "tests/lib/live.h"

#include <errno.h>
#include <poll.h>

#define QUIET_MS 150                    /* without a reply for this long, none comes */
#define LARGE (1 << 20)

/* One call, by its procedure and its arguments, over a connection; returns its xid. */
static uint32_t
send_proc(struct live *srv, struct live_conn *conn, uint32_t proc, const void *args)
{
    size_t len = live_make_call(srv, srv->message, LIVE_MESSAGE_MAX, NFS_PROGRAM, NFS_V3, proc, live_args_codec(proc),
                                args);

    assert_true(live_send_message(conn, srv->message, len));
    return srv->xid;
}

static uint32_t
send_getattr(struct live *srv, struct live_conn *conn)
{
    return send_proc(srv, conn, NFSPROC3_GETATTR, &(GETATTR3args){ srv->root });
}

static void
assert_silent(struct live *srv, struct live_conn *conn)
{
    const uint8_t *reply;

    assert_int_equal(live_receive(srv, conn, QUIET_MS, &reply), LIVE_TIMEOUT);
}

/* Run a test over TCP, and over UDP. */
static void
over_both(struct live *srv, void (*test)(struct live *srv, struct live_conn *conn))
{
    static const int types[] = { SOCK_STREAM, SOCK_DGRAM };

    for (size_t i = 0; i < 2; i++) {
        struct live_conn conn = live_connect(srv, types[i], AF_INET);

        test(srv, &conn);
        live_clear_faults(srv);
        live_close(&conn);
    }
}

static void
drop_reply(struct live *srv, struct live_conn *conn)
{
    const char *name = conn->type == SOCK_STREAM ? "tcp" : "udp";
    MKDIR3args args = { { srv->root, live_name(name) }, live_mode(0755) };

    live_fault(srv, "when proc=MKDIR times=1 do drop-reply");
    send_proc(srv, conn, NFSPROC3_MKDIR, &args);
    assert_silent(srv, conn);
    assert_true(live_has(srv, &srv->root, name));
    live_assert_served(srv, conn);
}

static void
a_call_whose_reply_is_dropped_has_been_done(void **state)
{
    over_both(*state, drop_reply);
}

static void
resend(struct live *srv, struct live_conn *conn)
{
    MKDIR3args args = { { srv->root, live_name(conn->type == SOCK_STREAM ? "tcp" : "udp") }, live_mode(0755) };
    uint8_t call[LIVE_CALL_MAX];
    size_t len = live_make_call(srv, call, sizeof(call), NFS_PROGRAM, NFS_V3, NFSPROC3_MKDIR,
                                live_args_codec(NFSPROC3_MKDIR), &args);

    live_fault(srv, "when proc=MKDIR times=1 do drop-reply");
    assert_true(live_send_message(conn, call, len));
    assert_silent(srv, conn);
    assert_true(live_send_message(conn, call, len));
    live_assert_answered(srv, conn, srv->xid);
}

static void
a_call_whose_reply_was_dropped_is_not_done_again_when_it_is_sent_again(void **state)
{
    over_both(*state, resend);
}

static void
silence(struct live *srv, struct live_conn *conn)
{
    MKDIR3args args = { { srv->root, live_name("never") }, live_mode(0755) };

    live_fault(srv, "when proc=MKDIR do silence");
    send_proc(srv, conn, NFSPROC3_MKDIR, &args);
    assert_silent(srv, conn);
    assert_false(live_has(srv, &srv->root, "never"));
    live_assert_served(srv, conn);
}

static void
a_call_that_meets_silence_is_not_done(void **state)
{
    over_both(*state, silence);
}

static void
silence_for_all_programs(struct live *srv, struct live_conn *conn)
{
    live_fault(srv, "do silence");
    for (uint32_t prog = NFS_PROGRAM; prog <= MOUNT_PROGRAM; prog += MOUNT_PROGRAM - NFS_PROGRAM) {
        size_t len = live_make_call(srv, srv->message, LIVE_MESSAGE_MAX, prog, 3, 0, NULL, NULL);

        assert_true(live_send_message(conn, srv->message, len));
    }
    assert_silent(srv, conn);
}

static void
silence_is_for_null_and_for_mount_too(void **state)
{
    over_both(*state, silence_for_all_programs);
}

static void
duplicate(struct live *srv, struct live_conn *conn)
{
    uint32_t xid;

    live_fault(srv, "when proc=GETATTR times=1 do duplicate");
    xid = send_getattr(srv, conn);
    live_assert_answered(srv, conn, xid);
    live_assert_answered(srv, conn, xid);
    live_assert_served(srv, conn);
}

static void
a_duplicated_reply_comes_twice(void **state)
{
    over_both(*state, duplicate);
}

static void
reorder(struct live *srv, struct live_conn *conn)
{
    uint32_t first, second;

    live_fault(srv, "when proc=GETATTR times=1 do reorder");
    first = send_getattr(srv, conn);
    second = send_getattr(srv, conn);
    live_assert_answered(srv, conn, second);
    live_assert_answered(srv, conn, first);
    live_assert_served(srv, conn);
}

static void
a_reordered_reply_comes_after_the_next(void **state)
{
    over_both(*state, reorder);
}

static void
reorder_alone(struct live *srv, struct live_conn *conn)
{
    uint32_t xid;

    live_fault(srv, "when proc=GETATTR times=1 do reorder");
    xid = send_getattr(srv, conn);
    live_assert_answered(srv, conn, xid);
}

static void
a_reordered_reply_comes_by_itself_when_there_is_no_next(void **state)
{
    over_both(*state, reorder_alone);
}

static void
a_reordered_reply_of_a_client_that_leaves_is_forgotten(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

    live_fault(srv, "when proc=GETATTR times=1 do reorder");
    send_getattr(srv, &conn);
    assert_silent(srv, &conn);
    live_close(&conn);
    live_assert_alive(srv);
}

/* A reply of so many bytes that cannot be taken apart, and nothing wrong afterwards. */
static void
assert_torn(struct live *srv, struct live_conn *conn, uint32_t xid, ssize_t bytes)
{
    struct wire_in results;
    const uint8_t *reply;
    uint32_t got;

    assert_int_equal(live_receive(srv, conn, LIVE_WAIT_MS, &reply), bytes);
    live_parse_reply(conn, reply, (size_t)bytes, &got, &results);
    assert_true(bytes < 4 || got == xid);
    live_assert_served(srv, conn);
}

static void
tear(struct live *srv, struct live_conn *conn)
{
    const ssize_t whole = 24 + 4 + 84;                   /* header, status, fattr3 */

    live_fault(srv, "when proc=GETATTR times=1 do tear=30");
    assert_torn(srv, conn, send_getattr(srv, conn), 30);
    live_fault(srv, "when proc=GETATTR times=1 do tear");
    assert_torn(srv, conn, send_getattr(srv, conn), whole / 2);
    live_fault(srv, "when proc=GETATTR times=1 do tear=1M");
    live_assert_answered(srv, conn, send_getattr(srv, conn));
}

static void
a_torn_reply_ends_in_the_middle(void **state)
{
    over_both(*state, tear);
}

static void
a_torn_read_ends_in_the_middle_of_its_data(void **state)
{
    struct live *srv = *state;
    char *data = live_keep(srv, LARGE);
    nfs_fh3 file = live_put(srv, "f", data, LARGE);
    const uint8_t *reply;

    live_fault(srv, "when proc=READ do tear=700000");
    send_proc(srv, &srv->conn, NFSPROC3_READ, &(READ3args){ file, 0, LARGE });
    assert_int_equal(live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply), 700000);
}

/* Read all that comes until the connection ends; returns how many bytes, and the error of the end in *err. */
static size_t
read_all(struct live_conn *conn, int *err)
{
    static char bytes[LARGE];
    size_t sum = 0;
    ssize_t n;

    while (poll(&(struct pollfd){ .fd = conn->fd, .events = POLLIN }, 1, LIVE_WAIT_MS) > 0) {
        n = recv(conn->fd, bytes, sizeof(bytes), 0);
        *err = n < 0 ? errno : 0;
        if (n <= 0)
            return sum;
        sum += (size_t)n;
    }
    fail_msg("the connection does not end");
    return 0;
}

static void
a_connection_is_reset_in_the_middle_of_a_reply(void **state)
{
    static const struct { const char *rule; size_t bytes; } cases[] = {
        { "when proc=GETATTR do reset=10", 4 + 10 }, { "when proc=GETATTR do reset", 4 + 56 },
        { "when proc=GETATTR do reset=0", 4 },
    };
    struct live *srv = *state;
    int err;

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
        uint32_t id = live_fault(srv, "%s", cases[i].rule);

        live_assert_fault(srv, id, 0, 0);
        send_getattr(srv, &conn);
        assert_int_equal(read_all(&conn, &err), cases[i].bytes);
        assert_int_equal(err, ECONNRESET);
        live_close(&conn);
        live_clear_faults(srv);
    }
    live_assert_alive(srv);
}

static void
a_connection_is_reset_in_the_middle_of_data(void **state)
{
    struct live *srv = *state;
    char *data = live_keep(srv, LARGE);
    nfs_fh3 file = live_put(srv, "f", data, LARGE);
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    int err;

    live_fault(srv, "when proc=READ do reset=100000");
    send_proc(srv, &conn, NFSPROC3_READ, &(READ3args){ file, 0, LARGE });
    assert_in_range(read_all(&conn, &err), 1, 100004);
    assert_int_equal(err, ECONNRESET);
    live_close(&conn);
}

static void
there_is_no_reset_over_udp(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);

    live_fault(srv, "when proc=GETATTR do reset");
    live_assert_served(srv, &conn);
    live_close(&conn);
}

static void
mnt_and_null_are_answered_as_rules_say(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    uint32_t id = live_fault(srv, "when proc=MNT do duplicate");

    live_mount(srv, srv->export);
    live_assert_fault(srv, id, 1, 1);
    live_close(&conn);
}

static void
must(int err, const char *error)
{
    if (err < 0)
        fail_msg("%s", error);
}

static void
a_paused_server_does_nothing_until_it_is_resumed(void **state)
{
    struct live *srv = *state;
    struct live_conn udp = live_connect(srv, SOCK_DGRAM, AF_INET), later;
    char error[1024];
    uint32_t tcp_xid, udp_xid, later_xid;

    must(server_pause(srv->server, true, error, sizeof(error)), error);
    assert_int_equal(server_pause(srv->server, true, error, sizeof(error)), -EINVAL);
    tcp_xid = send_getattr(srv, &srv->conn);
    udp_xid = send_getattr(srv, &udp);
    later = live_connect(srv, SOCK_STREAM, AF_INET);     /* the kernel takes it into the backlog */
    later_xid = send_getattr(srv, &later);
    assert_silent(srv, &srv->conn);
    assert_silent(srv, &udp);
    assert_silent(srv, &later);
    must(server_pause(srv->server, false, error, sizeof(error)), error);
    assert_int_equal(server_pause(srv->server, false, error, sizeof(error)), -EINVAL);
    live_assert_answered(srv, &srv->conn, tcp_xid);
    live_assert_answered(srv, &udp, udp_xid);
    live_assert_answered(srv, &later, later_xid);
    live_close(&udp);
    live_close(&later);
}

/* Whether the first rule has. */
static bool
has_fired(struct live *srv)
{
    struct fault_set *set = faults_get(srv->faults);
    bool fired = set->rules[0]->fired > 0;

    fault_set_put(set);
    return fired;
}

/* A call whose reply becomes due while the server is paused. Returns whether it waits: it may have left just before. */
static bool
pause_before_reply(struct live *srv, uint32_t *xid)
{
    const uint8_t *reply;
    char error[1024];

    live_fault(srv, "when proc=GETATTR times=1 do delay=20ms");
    *xid = send_getattr(srv, &srv->conn);
    while (!has_fired(srv))
        ;
    must(server_pause(srv->server, true, error, sizeof(error)), error);
    if (live_receive(srv, &srv->conn, QUIET_MS, &reply) == LIVE_TIMEOUT)
        return true;
    must(server_pause(srv->server, false, error, sizeof(error)), error);
    live_clear_faults(srv);
    return false;
}

static void
replies_wait_while_a_server_is_paused(void **state)
{
    struct live *srv = *state;
    unsigned tries = 0;
    char error[1024];
    uint32_t xid;

    while (!pause_before_reply(srv, &xid))
        assert_true(++tries < 20);
    must(server_pause(srv->server, false, error, sizeof(error)), error);
    live_assert_answered(srv, &srv->conn, xid);
}

static void
exports_are_read_again_and_the_server_stops_while_it_is_paused(void **state)
{
    struct live *srv = live_start_beside(*state, NULL);
    char error[1024];

    must(server_pause(srv->server, true, error, sizeof(error)), error);
    live_reload(srv, "rw,no_root_squash,insecure", NULL);
    send_getattr(srv, &srv->conn);
    live_restart(srv);
}

static void
have_unstable_data(struct settings *settings)
{
    settings->memory_unstable = true;
}

/* A server in memory that a crash takes something from. */
static struct live *
start_crashable(struct live *srv)
{
    if (srv->config->store != LIVE_MEMORY) {
        char error[1024];

        assert_int_equal(server_crash(srv->server, error, sizeof(error)), -EOPNOTSUPP);
        assert_non_null(strstr(error, "only memory exports can crash"));
        print_message("left out: a directory keeps what a crash would lose\n");
        skip();
    }
    return live_start_beside(srv, &(struct live_options){ .tune = have_unstable_data });
}

static void
reconnect(struct live *srv)
{
    live_close(&srv->conn);
    srv->conn = live_connect(srv, SOCK_STREAM, AF_INET);
}

static void
a_crash_loses_what_is_unstable_and_keeps_the_rest(void **state)
{
    struct live *srv = start_crashable(*state);
    nfs_fh3 kept = live_file(srv, &srv->root, "kept", 0644), lost = live_file(srv, &srv->root, "lost", 0644);
    nfs_fh3 both = live_put(srv, "both", "stable", 6);
    WRITE3res *res;
    char verifier[NFS3_WRITEVERFSIZE], error[1024];

    live_write(srv, &kept, 0, "committed", 9, UNSTABLE);
    live_commit(srv, &kept, 0, 0);
    res = live_write(srv, &lost, 0, "gone", 4, UNSTABLE);
    assert_true(res->status == NFS3_OK && res->WRITE3res_u.resok.committed == UNSTABLE);
    memcpy(verifier, res->WRITE3res_u.resok.verf, sizeof(verifier));
    live_write(srv, &both, 2, "XXXXXXXXX", 9, UNSTABLE);
    live_write(srv, &both, 0, "S", 1, FILE_SYNC);
    must(server_crash(srv->server, error, sizeof(error)), error);
    assert_true(live_closes(&srv->conn, LIVE_WAIT_MS));
    reconnect(srv);
    live_assert_content(srv, &kept, "committed", 9);
    live_assert_content(srv, &lost, "", 0);
    live_assert_content(srv, &both, "Stable", 6);
    assert_memory_not_equal(live_commit(srv, &lost, 0, 0)->COMMIT3res_u.resok.verf, verifier, sizeof(verifier));
}

static void
a_crash_takes_the_replay_cache_along(void **state)
{
    struct live *srv = start_crashable(*state);
    REMOVE3args args = { { srv->root, live_name("f") } };
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    uint8_t call[LIVE_CALL_MAX];
    struct wire_in results;
    const uint8_t *reply;
    char error[1024];
    uint32_t xid;
    size_t len;
    ssize_t n;

    live_put(srv, "f", "", 0);
    len = live_make_call(srv, call, sizeof(call), NFS_PROGRAM, NFS_V3, NFSPROC3_REMOVE, live_args_codec(NFSPROC3_REMOVE),
                         &args);
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            must(server_crash(srv->server, error, sizeof(error)), error);
        assert_true(live_send_message(&conn, call, len));
        n = live_receive(srv, &conn, LIVE_WAIT_MS, &reply);
        assert_true(n > 0 && live_parse_reply(&conn, reply, (size_t)n, &xid, &results) == LIVE_SUCCESS);
        assert_int_equal(wire_get_u32(&results), i == 2 ? NFS3ERR_NOENT : NFS3_OK);
    }
    live_close(&conn);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_whose_reply_is_dropped_has_been_done),
        cmocka_unit_test(a_call_whose_reply_was_dropped_is_not_done_again_when_it_is_sent_again),
        cmocka_unit_test(a_call_that_meets_silence_is_not_done),
        cmocka_unit_test(silence_is_for_null_and_for_mount_too),
        cmocka_unit_test(a_duplicated_reply_comes_twice),
        cmocka_unit_test(a_reordered_reply_comes_after_the_next),
        cmocka_unit_test(a_reordered_reply_comes_by_itself_when_there_is_no_next),
        cmocka_unit_test(a_reordered_reply_of_a_client_that_leaves_is_forgotten),
        cmocka_unit_test(a_torn_reply_ends_in_the_middle),
        cmocka_unit_test(a_torn_read_ends_in_the_middle_of_its_data),
        cmocka_unit_test(a_connection_is_reset_in_the_middle_of_a_reply),
        cmocka_unit_test(a_connection_is_reset_in_the_middle_of_data),
        cmocka_unit_test(there_is_no_reset_over_udp),
        cmocka_unit_test(mnt_and_null_are_answered_as_rules_say),
        cmocka_unit_test(a_paused_server_does_nothing_until_it_is_resumed),
        cmocka_unit_test(replies_wait_while_a_server_is_paused),
        cmocka_unit_test(exports_are_read_again_and_the_server_stops_while_it_is_paused),
        cmocka_unit_test(a_crash_loses_what_is_unstable_and_keeps_the_rest),
        cmocka_unit_test(a_crash_takes_the_replay_cache_along),
    };

    return live_main("faults_reply", tests, sizeof(tests) / sizeof(*tests));
}
