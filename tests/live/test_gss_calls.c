/*
 * tests/live/test_gss_calls.c - calls of RPCSEC_GSS: what they may do, and what becomes of those that somebody has changed
 * or sent again (RFC 2203 5.3).
 */
#include "tests/lib/live.h"

#include <stdio.h>
#include <unistd.h>

#include "server/observer.h"
#include "tests/lib/live_gss.h"

#define USUAL "rw,insecure,sec=sys:krb5:krb5i:krb5p"
#define CREDPROBLEM (LIVE_AUTH_ERROR + 13)
#define CTXPROBLEM (LIVE_AUTH_ERROR + 14)
#define WINDOW 128
#define MAXSEQ 0x80000000u
#define LARGE (1 << 20)
#define CONNS 4
#define AT_ONCE 120
#define QUIET_MS 150                    /* without a reply for this long, there will be none */

enum { NONE = 1, INTEGRITY, PRIVACY };

static const char *const users[] = { "alice", "bob", "root", NULL };
static const struct live_options usual = { .export_options = USUAL };

static int
outcome_of(struct live *srv, struct live_gss *gss, uint32_t proc, const void *args)
{
    int outcome;

    srv->security = &gss->security;
    live_try(srv, proc, args, &outcome);
    srv->security = NULL;
    return outcome;
}

/* From here on all calls of srv are alice's, with this service; until fall_silent(). */
static void
speak(struct live *srv, struct live_gss *gss, uint32_t service)
{
    live_gss_begin(srv, &srv->conn, gss, "alice", service);
    srv->security = &gss->security;
}

static void
fall_silent(struct live *srv, struct live_gss *gss)
{
    srv->security = NULL;
    live_gss_end(gss);
}

static void
go_over_udp(struct live *srv)
{
    live_close(&srv->conn);
    srv->conn = live_connect(srv, SOCK_DGRAM, AF_INET);
}

static uint8_t *
pattern(struct live *srv, size_t len)
{
    uint8_t *data = live_keep(srv, len);

    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)(i * 31 + i / 253);
    return data;
}

/* All kinds of procedures, with short and long data of odd and even lengths. */
static void
work(struct live *srv, const char *name)
{
    static const size_t lengths[] = { 1, 3, 4, 777, 4096, 4097, 65535, LARGE - 1, LARGE };
    const uint8_t *data = pattern(srv, LARGE);
    nfs_fh3 dir = live_dir(srv, &srv->root, name, 0755), file = live_file(srv, &dir, "file", 0600);

    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        live_write_all(srv, &file, 0, data, lengths[i]);
        live_assert_content(srv, &file, data, lengths[i]);
    }
    live_link_to(srv, &dir, "link", "somewhere");
    assert_int_equal(live_readdirplus(srv, &dir, 0, NULL, 8192, 32768)->status, NFS3_OK);
    assert_int_equal(live_count(srv, &dir), 2);
    assert_int_equal(live_commit(srv, &file, 0, 0)->status, NFS3_OK);
    assert_int_equal(live_rename(srv, &dir, "file", &dir, "other")->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &dir, "other")->status, NFS3_OK);
    assert_int_equal(live_lookup(srv, &dir, "other")->status, NFS3ERR_NOENT);
    assert_int_equal(live_fsinfo(srv, &dir)->status, NFS3_OK);
    assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL, NULL, NULL, NULL, NULL),
                     LIVE_SUCCESS);
}

static void
every_service_carries_all_that_clients_do(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;
    char name[16];

    for (uint32_t service = NONE; service <= PRIVACY; service++) {
        speak(srv, &gss, service);
        snprintf(name, sizeof(name), "service-%u", service);
        work(srv, name);
        fall_silent(srv, &gss);
    }
}

static void
every_service_goes_over_udp_too(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    const uint8_t *data = pattern(srv, 32768);
    struct live_gss gss;
    nfs_fh3 file;

    go_over_udp(srv);
    for (uint32_t service = NONE; service <= PRIVACY; service++) {
        speak(srv, &gss, service);
        file = live_put(srv, service == NONE ? "none" : service == INTEGRITY ? "integrity" : "privacy", data, 32768);
        live_assert_content(srv, &file, data, 32768);
        fall_silent(srv, &gss);
    }
}

static void
a_read_over_udp_leaves_room_for_what_protects_it(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    const uint8_t *data = pattern(srv, LARGE);
    nfs_fh3 file = live_put(srv, "file", data, LARGE);
    struct live_gss gss;
    READ3res *res;

    go_over_udp(srv);
    for (uint32_t service = NONE; service <= PRIVACY; service++) {
        speak(srv, &gss, service);
        res = live_read(srv, &file, 0, LARGE);
        assert_int_equal(res->status, NFS3_OK);
        assert_in_range(res->READ3res_u.resok.count, 60000, 65507);
        assert_memory_equal(res->READ3res_u.resok.data.data_val, data, res->READ3res_u.resok.count);
        fall_silent(srv, &gss);
    }
}

static void
a_context_serves_several_connections(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_conn conns[4];
    struct live_gss gss;
    GETATTR3res res;

    speak(srv, &gss, PRIVACY);
    for (int i = 0; i < 4; i++)
        conns[i] = live_connect(srv, i == 3 ? SOCK_DGRAM : SOCK_STREAM, AF_INET);
    for (int i = 0; i < 40; i++) {
        memset(&res, 0, sizeof(res));
        assert_int_equal(live_call(srv, &conns[i % 4], NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR,
                                   (xdrproc_t)xdr_GETATTR3args, &srv->root, (xdrproc_t)xdr_GETATTR3res, &res),
                         LIVE_SUCCESS);
        assert_int_equal(res.status, NFS3_OK);
    }
    srv->security = NULL;
    for (int i = 0; i < 4; i++)
        live_close(&conns[i]);
    live_gss_end(&gss);
}

/* A GETATTR of the root as it is sent; returns its length. */
static size_t
make_getattr(struct live *srv, struct live_gss *gss, uint8_t *message, size_t size)
{
    return gss->security.make_call(&gss->security, srv, message, size, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR,
                                   (xdrproc_t)xdr_GETATTR3args, &srv->root);
}

/* Both workers are in the context at the same time, and the window is as good as used up. */
static void
calls_over_several_connections_at_once_are_all_answered(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_conn conns[CONNS];
    uint32_t first_xid, first_seq, xid;
    struct wire_in results;
    const uint8_t *reply;
    struct live_gss gss;
    uint8_t message[1024];
    ssize_t received;
    size_t len;

    live_gss_begin(srv, &srv->conn, &gss, "alice", PRIVACY);
    for (int i = 0; i < CONNS; i++)
        conns[i] = live_connect(srv, SOCK_STREAM, AF_INET);
    first_xid = srv->xid + 1;
    first_seq = gss.seq + 1;
    for (int i = 0; i < AT_ONCE; i++) {
        len = make_getattr(srv, &gss, message, sizeof(message));
        assert_true(live_send_message(&conns[i % CONNS], message, len));
    }
    for (int i = 0; i < AT_ONCE; i++) {
        received = live_receive(srv, &conns[i % CONNS], LIVE_WAIT_MS, &reply);
        assert_true(received > 8);
        memcpy(&xid, reply, sizeof(xid));
        gss.seq = first_seq + (be32toh(xid) - first_xid);
        assert_int_equal(gss.security.take_reply(&gss.security, &conns[i % CONNS], reply, (size_t)received, &xid, &results),
                         LIVE_SUCCESS);
        assert_int_equal(wire_get_u32(&results), NFS3_OK);
    }
    for (int i = 0; i < CONNS; i++)
        live_close(&conns[i]);
    live_gss_end(&gss);
}

static void
refusals_of_the_call_itself_carry_a_checksum_too(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    speak(srv, &gss, INTEGRITY);
    assert_int_equal(live_call(srv, &srv->conn, 400000, 1, 0, NULL, NULL, NULL, NULL), LIVE_PROG_UNAVAIL);
    assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, 4, 0, NULL, NULL, NULL, NULL), LIVE_PROG_MISMATCH);
    assert_int_equal(srv->conn.low, 3);
    assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, NFS_V3, 22, NULL, NULL, NULL, NULL), LIVE_PROC_UNAVAIL);
    assert_int_equal(live_call(srv, &srv->conn, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR, NULL, NULL, NULL, NULL),
                     LIVE_GARBAGE_ARGS);
    fall_silent(srv, &gss);
}

static void
rights_are_those_of_the_service(void **state)
{
    const struct live_options options = { .export_options = "insecure,sec=krb5,ro,sec=krb5p,rw" };
    struct live *srv = live_start_kerberos(*state, &options);
    MKDIR3args args = { { srv->root, live_name("d") }, live_keep_all() };
    struct live_gss gss;
    MKDIR3res *res;

    speak(srv, &gss, NONE);
    res = live_nfs(srv, NFSPROC3_MKDIR, &args);
    assert_int_equal(res->status, NFS3ERR_ROFS);
    fall_silent(srv, &gss);
    speak(srv, &gss, INTEGRITY);
    res = live_nfs(srv, NFSPROC3_MKDIR, &args);
    assert_int_equal(res->status, NFS3ERR_ACCES);
    assert_int_equal(live_fsinfo(srv, &srv->root)->status, NFS3ERR_ACCES);
    fall_silent(srv, &gss);
    speak(srv, &gss, PRIVACY);
    res = live_nfs(srv, NFSPROC3_MKDIR, &args);
    assert_int_equal(res->status, NFS3_OK);
    srv->security = NULL;
    res = live_nfs(srv, NFSPROC3_MKDIR, &args);
    assert_int_equal(res->status, NFS3ERR_ACCES);
    live_gss_end(&gss);
}

/* With Kerberos the port means nothing (exports(5), "secure"). */
static void
a_secure_export_takes_kerberos_from_any_port(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    live_gss_begin(srv, &srv->conn, &gss, "alice", NONE);
    live_reload(srv, "rw,sec=sys:krb5", NULL);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_PERM);
    srv->security = &gss.security;
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    fall_silent(srv, &gss);
}

/* ---- By hand ---- */

/* The outcome of a message, LIVE_TIMEOUT if there is none. */
static int
send_it(struct live *srv, const uint8_t *message, size_t len, int wait_ms)
{
    struct wire_in results;
    const uint8_t *reply;
    uint32_t xid;
    ssize_t received;

    assert_true(live_send_message(&srv->conn, message, len));
    received = live_receive(srv, &srv->conn, wait_ms, &reply);
    return received < 0 ? (int)received : live_parse_reply(&srv->conn, reply, (size_t)received, &xid, &results);
}

static void
a_header_that_was_changed_is_a_credential_problem(void **state)
{
    /* xid; program to procedure; number; handle; checksum */
    static const struct { size_t from, to; } places[] = { { 0, 4 }, { 12, 24 }, { 40, 44 }, { 52, 68 }, { 76, 104 } };
    struct live *srv = live_start_kerberos(*state, &usual);
    uint8_t message[1024];
    struct live_gss gss;
    size_t len;

    live_gss_begin(srv, &srv->conn, &gss, "alice", NONE);
    assert_int_equal(gss.handle_len, 68 - 52);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        for (size_t at = places[i].from; at < places[i].to; at++) {
            len = make_getattr(srv, &gss, message, sizeof(message));
            message[at] ^= 1;
            assert_int_equal(send_it(srv, message, len, LIVE_WAIT_MS), CREDPROBLEM);
        }
    }
    assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
    live_gss_end(&gss);
}

/* Bytes before the arguments of a GETATTR of the root. */
static size_t
header_of_getattr(struct live *srv, struct live_gss *gss)
{
    uint32_t service = gss->service;
    uint8_t message[1024];
    size_t len;

    gss->service = NONE;                                /* the arguments as they are */
    len = make_getattr(srv, gss, message, sizeof(message));
    gss->service = service;
    return len - 4 - wire_padded(srv->root.data.data_len);
}

static void
arguments_that_were_changed_are_garbage(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    uint8_t message[1024];
    struct live_gss gss;
    size_t len, header;

    for (uint32_t service = INTEGRITY; service <= PRIVACY; service++) {
        live_gss_begin(srv, &srv->conn, &gss, "alice", service);
        header = header_of_getattr(srv, &gss);
        len = make_getattr(srv, &gss, message, sizeof(message));
        for (size_t at = header; at < len; at++) {
            len = make_getattr(srv, &gss, message, sizeof(message));
            message[at] ^= 0x40;
            assert_int_equal(send_it(srv, message, len, LIVE_WAIT_MS), LIVE_GARBAGE_ARGS);
        }
        assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
        live_gss_end(&gss);
    }
}

static void
arguments_that_were_cut_short_are_garbage(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    uint8_t message[1024];
    struct live_gss gss;
    size_t len, header;

    for (uint32_t service = INTEGRITY; service <= PRIVACY; service++) {
        live_gss_begin(srv, &srv->conn, &gss, "alice", service);
        header = header_of_getattr(srv, &gss);
        len = make_getattr(srv, &gss, message, sizeof(message));
        for (size_t at = header; at < len; at += 4) {
            make_getattr(srv, &gss, message, sizeof(message));
            assert_int_equal(send_it(srv, message, at, LIVE_WAIT_MS), LIVE_GARBAGE_ARGS);
        }
        live_gss_end(&gss);
    }
}

static void
arguments_of_another_call_are_garbage(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    for (uint32_t service = INTEGRITY; service <= PRIVACY; service++) {
        live_gss_begin(srv, &srv->conn, &gss, "alice", service);
        gss.body_seq = 1;
        assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_GARBAGE_ARGS);
        gss.body_seq = 0;
        assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
        live_gss_end(&gss);
    }
}

static void
a_call_that_is_sent_again_with_its_number_is_dropped(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    uint8_t message[1024];
    struct live_gss gss;
    struct server_stats stats;
    size_t len;

    live_gss_begin(srv, &srv->conn, &gss, "alice", NONE);
    len = make_getattr(srv, &gss, message, sizeof(message));
    assert_int_equal(send_it(srv, message, len, LIVE_WAIT_MS), LIVE_SUCCESS);
    assert_int_equal(send_it(srv, message, len, QUIET_MS), LIVE_TIMEOUT);
    server_stats(srv->server, &stats);
    assert_int_equal(stats.gss.replayed, 1);
    assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
    live_gss_end(&gss);
}

static void
numbers_may_come_in_any_order_within_the_window_and_none_below_it(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    uint8_t message[1024];
    struct live_gss gss;
    size_t len;

    live_gss_begin(srv, &srv->conn, &gss, "alice", NONE);
    gss.seq = 1000 - 1;
    assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
    gss.seq = 1000 - WINDOW;                             /* the next is the last that is in it */
    assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
    gss.seq = 1000 - WINDOW - 1;
    len = make_getattr(srv, &gss, message, sizeof(message));
    assert_int_equal(send_it(srv, message, len, QUIET_MS), LIVE_TIMEOUT);
    gss.seq = 998;
    assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
    live_gss_end(&gss);
}

static void
numbers_that_others_send_use_none_up(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    uint8_t message[1024];
    struct live_gss gss;
    size_t len;

    live_gss_begin(srv, &srv->conn, &gss, "alice", NONE);
    len = make_getattr(srv, &gss, message, sizeof(message));
    message[3] ^= 1;                                     /* another xid: the checksum is wrong */
    assert_int_equal(send_it(srv, message, len, LIVE_WAIT_MS), CREDPROBLEM);
    message[3] ^= 1;
    assert_int_equal(send_it(srv, message, len, LIVE_WAIT_MS), LIVE_SUCCESS);
    live_gss_end(&gss);
}

static void
a_number_beyond_the_last_one_ends_the_context(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    live_gss_begin(srv, &srv->conn, &gss, "alice", NONE);
    gss.seq = MAXSEQ;
    assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), CTXPROBLEM);
    gss.seq = MAXSEQ - 1;
    assert_int_equal(outcome_of(srv, &gss, NFSPROC3_GETATTR, &srv->root), LIVE_SUCCESS);
    live_gss_end(&gss);
}

/* ---- Calls that are sent again ---- */

static nfsstat3
remove_with_xid(struct live *srv, struct live_gss *gss, uint32_t xid, const char *name)
{
    REMOVE3res *res;

    srv->xid = xid - 1;
    srv->security = &gss->security;
    res = live_remove(srv, &srv->root, name);
    srv->security = NULL;
    return res->status;
}

static void
a_call_that_is_sent_again_under_a_new_number_or_context_is_done_once(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss first, second;

    for (uint32_t service = NONE; service <= PRIVACY; service++) {
        live_put(srv, "file", "", 0);
        live_gss_begin(srv, &srv->conn, &first, "root", service);
        live_gss_begin(srv, &srv->conn, &second, "root", service);
        live_reload(srv, USUAL ",no_root_squash", NULL);
        assert_int_equal(remove_with_xid(srv, &first, 77 + service, "file"), NFS3_OK);
        assert_int_equal(remove_with_xid(srv, &first, 77 + service, "file"), NFS3_OK);
        assert_int_equal(remove_with_xid(srv, &second, 77 + service, "file"), NFS3_OK);
        assert_int_equal(remove_with_xid(srv, &first, 99 + service, "file"), NFS3ERR_NOENT);
        live_gss_end(&first);
        live_gss_end(&second);
    }
}

static void
another_users_call_is_another_call(void **state)
{
    const struct live_options options = { .export_options = USUAL ",all_squash" };
    struct live *srv = live_start_kerberos(*state, &options);
    struct live_gss alice, bob;

    live_put(srv, "file", "", 0);
    live_gss_begin(srv, &srv->conn, &alice, "alice", NONE);
    live_gss_begin(srv, &srv->conn, &bob, "bob", NONE);
    assert_int_equal(remove_with_xid(srv, &alice, 77, "file"), NFS3_OK);
    assert_int_equal(remove_with_xid(srv, &bob, 77, "file"), NFS3ERR_NOENT);
    live_gss_end(&alice);
    live_gss_end(&bob);
}

/* A file has these bytes somewhere. */
static bool
has_bytes(struct live *srv, const char *path, const void *bytes, size_t len)
{
    uint8_t *content = live_keep(srv, LARGE);
    FILE *file = fopen(path, "r");
    size_t size;

    assert_non_null(file);
    size = fread(content, 1, LARGE, file);
    fclose(file);
    return memmem(content, size, bytes, len) != NULL;
}

static void
who_looks_on_sees_in_the_clear_what_is_encrypted(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    char capture[] = "/tmp/ringnfs-capture-XXXXXX", journal[] = "/tmp/ringnfs-journal-XXXXXX", error[256];
    struct observer *observer = server_observer(srv->server);
    struct live_gss gss;
    uint64_t lost;
    nfs_fh3 file;

    close(mkstemp(capture));
    close(mkstemp(journal));
    live_gss_begin(srv, &srv->conn, &gss, "alice", PRIVACY);
    srv->security = &gss.security;
    assert_int_equal(observer_capture_open(observer, capture, error, sizeof(error)), 0);
    assert_int_equal(observer_journal_open(observer, journal, true, error, sizeof(error)), 0);
    file = live_put(srv, "file", "for nobody's eyes", 17);
    live_assert_content(srv, &file, "for nobody's eyes", 17);
    assert_int_equal(observer_capture_close(observer, &lost, error, sizeof(error)), 0);
    assert_int_equal(observer_journal_close(observer, &lost, error, sizeof(error)), 0);
    srv->security = NULL;
    live_gss_end(&gss);
    assert_true(has_bytes(srv, capture, "for nobody's eyes", 17));
    assert_true(has_bytes(srv, capture, "\0\0\0\5krb5p\0\0\0\0\0\3\350", 16));   /* AUTH_SYS of user 1000 */
    assert_true(has_bytes(srv, journal, "\"flavor\":\"krb5p\",\"uid\":1000", 27));
    assert_true(has_bytes(srv, journal, "666f72206e6f626f647927732065796573", 34));
    assert_false(has_bytes(srv, journal, "\"raw\"", 5));
    unlink(capture);
    unlink(journal);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_service_carries_all_that_clients_do),
        cmocka_unit_test(every_service_goes_over_udp_too),
        cmocka_unit_test(a_read_over_udp_leaves_room_for_what_protects_it),
        cmocka_unit_test(a_context_serves_several_connections),
        cmocka_unit_test(calls_over_several_connections_at_once_are_all_answered),
        cmocka_unit_test(refusals_of_the_call_itself_carry_a_checksum_too),
        cmocka_unit_test(rights_are_those_of_the_service),
        cmocka_unit_test(a_secure_export_takes_kerberos_from_any_port),
        cmocka_unit_test(a_header_that_was_changed_is_a_credential_problem),
        cmocka_unit_test(arguments_that_were_changed_are_garbage),
        cmocka_unit_test(arguments_that_were_cut_short_are_garbage),
        cmocka_unit_test(arguments_of_another_call_are_garbage),
        cmocka_unit_test(a_call_that_is_sent_again_with_its_number_is_dropped),
        cmocka_unit_test(numbers_may_come_in_any_order_within_the_window_and_none_below_it),
        cmocka_unit_test(numbers_that_others_send_use_none_up),
        cmocka_unit_test(a_number_beyond_the_last_one_ends_the_context),
        cmocka_unit_test(a_call_that_is_sent_again_under_a_new_number_or_context_is_done_once),
        cmocka_unit_test(another_users_call_is_another_call),
        cmocka_unit_test(who_looks_on_sees_in_the_clear_what_is_encrypted),
    };
    int status;

    if (!live_realm_begin(users))
        return 77;
    status = live_main("gss_calls", tests, sizeof(tests) / sizeof(*tests));
    live_realm_end();
    return status;
}
