/*
 * tests/live/test_drc.c - a call that is sent again is not done again (RFC 1813 4.8): over datagrams, over one
 * connection, over a new one from the same port, and while the first is still running.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/lib/live.h"

#define CALL_MAX 4096
#define REPLY_MAX 1024
#define BURST 5

/* Each builds a call that would come out otherwise if it were done twice, on a file or name of its own. */
struct scene {
    const char *name;
    size_t (*make)(struct live *srv, const nfs_fh3 *dir, uint8_t call[CALL_MAX]);
};

struct reply {
    uint8_t bytes[REPLY_MAX];
    ssize_t len;                        /* or LIVE_TIMEOUT or LIVE_CLOSED */
};

static size_t
make_call(struct live *srv, uint8_t *call, uint32_t proc, const void *args)
{
    return live_make_call(srv, call, CALL_MAX, NFS_PROGRAM, NFS_V3, proc, live_args_codec(proc), args);
}

static size_t
create_call(struct live *srv, const nfs_fh3 *dir, const char *name, uint8_t *call)
{
    return make_call(srv, call, NFSPROC3_CREATE,
                     &(CREATE3args){ { *dir, live_name(name) }, { GUARDED, { .obj_attributes = live_mode(0640) } } });
}

static size_t
remove_call(struct live *srv, const nfs_fh3 *dir, const char *name, uint8_t *call)
{
    return make_call(srv, call, NFSPROC3_REMOVE, &(REMOVE3args){ { *dir, live_name(name) } });
}

static size_t
mkdir_call(struct live *srv, const nfs_fh3 *dir, const char *name, uint8_t *call)
{
    return make_call(srv, call, NFSPROC3_MKDIR, &(MKDIR3args){ { *dir, live_name(name) }, live_mode(0755) });
}

static size_t
write_call(struct live *srv, const nfs_fh3 *file, const char *text, uint8_t *call)
{
    u_int len = (u_int)strlen(text);

    return make_call(srv, call, NFSPROC3_WRITE, &(WRITE3args){ *file, 0, len, FILE_SYNC, { len, (char *)text } });
}

static size_t
make_create(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    return create_call(srv, dir, "new", call);
}

static size_t
make_mkdir(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    return mkdir_call(srv, dir, "new", call);
}

static size_t
make_symlink(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    return make_call(srv, call, NFSPROC3_SYMLINK,
                     &(SYMLINK3args){ { *dir, live_name("new") }, { live_mode(0777), { 2, "to" } } });
}

static size_t
make_mknod(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    return make_call(srv, call, NFSPROC3_MKNOD,
                     &(MKNOD3args){ { *dir, live_name("new") },
                                    { NF3FIFO, { .pipe_attributes = live_mode(0600) } } });
}

static size_t
make_remove(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    live_file(srv, dir, "old", 0644);
    return remove_call(srv, dir, "old", call);
}

static size_t
make_rmdir(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    live_dir(srv, dir, "old", 0755);
    return make_call(srv, call, NFSPROC3_RMDIR, &(RMDIR3args){ { *dir, live_name("old") } });
}

static size_t
make_rename(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    live_file(srv, dir, "old", 0644);
    return make_call(srv, call, NFSPROC3_RENAME,
                     &(RENAME3args){ { *dir, live_name("old") }, { *dir, live_name("new") } });
}

static size_t
make_link(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    nfs_fh3 file = live_file(srv, dir, "old", 0644);

    return make_call(srv, call, NFSPROC3_LINK, &(LINK3args){ file, { *dir, live_name("new") } });
}

static size_t
make_setattr(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    nfs_fh3 file = live_file(srv, dir, "old", 0644);
    nfstime3 ctime = live_attr(srv, &file).ctime;

    live_tick();                                         /* so that the guard holds once */
    return make_call(srv, call, NFSPROC3_SETATTR, &(SETATTR3args){ file, live_mode(0600), { TRUE, { ctime } } });
}

static size_t
make_write(struct live *srv, const nfs_fh3 *dir, uint8_t *call)
{
    nfs_fh3 file = live_file(srv, dir, "old", 0644);

    return write_call(srv, &file, "written", call);
}

static const struct scene scenes[] = {
    { "create", make_create }, { "mkdir", make_mkdir }, { "symlink", make_symlink }, { "mknod", make_mknod },
    { "remove", make_remove }, { "rmdir", make_rmdir }, { "rename", make_rename }, { "link", make_link },
    { "setattr", make_setattr }, { "write", make_write },
};
#define SCENES (sizeof(scenes) / sizeof(scenes[0]))

/* A connection to the NFS port at this address, from 127.0.0.1 and a port: *port, or one that the kernel chooses. */
static struct live_conn
connect_from(struct live *srv, const char *address, int type, uint16_t *port)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(*port) };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(srv->nfs_port) };
    struct live_conn conn = { .type = type };
    socklen_t len = sizeof(from);
    int one = 1;

    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
    conn.fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_true(conn.fd >= 0);
    setsockopt(conn.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(conn.fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    if (bind(conn.fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
        connect(conn.fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        fail_msg("%s from port %u: %s", address, *port, strerror(errno));
    assert_int_equal(getsockname(conn.fd, (struct sockaddr *)&from, &len), 0);
    *port = ntohs(from.sin_port);
    if (type == SOCK_STREAM)
        setsockopt(conn.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return conn;
}

/* End a connection so that its port is free at once. */
static void
reset(struct live_conn *conn)
{
    struct linger now = { .l_onoff = 1 };

    setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    live_close(conn);
}

static void
receive(struct live *srv, struct live_conn *conn, int timeout_ms, struct reply *reply)
{
    const uint8_t *bytes;

    reply->len = live_receive(srv, conn, timeout_ms, &bytes);
    if (reply->len <= 0)
        return;
    assert_in_range(reply->len, 1, REPLY_MAX);
    memcpy(reply->bytes, bytes, (size_t)reply->len);
}

static void
exchange(struct live *srv, struct live_conn *conn, const uint8_t *call, size_t len, struct reply *reply)
{
    assert_true(live_send_message(conn, call, len));
    receive(srv, conn, LIVE_WAIT_MS, reply);
}

static nfsstat3
status_of(const struct reply *reply)
{
    struct live_conn unused;
    struct wire_in results;
    uint32_t xid;

    if (reply->len <= 0)
        fail_msg("no reply (%zd)", reply->len);
    assert_int_equal(live_parse_reply(&unused, reply->bytes, (size_t)reply->len, &xid, &results), LIVE_SUCCESS);
    return wire_get_u32(&results);
}

static nfsstat3
ask(struct live *srv, struct live_conn *conn, const uint8_t *call, size_t len)
{
    struct reply reply;

    exchange(srv, conn, call, len, &reply);
    return status_of(&reply);
}

static void
assert_same(const char *what, const struct reply *first, const struct reply *second)
{
    if (status_of(first) != NFS3_OK || status_of(second) != NFS3_OK)
        fail_msg("%s: the first reply was %u, the second one %u", what, status_of(first), status_of(second));
    assert_int_equal(first->len, second->len);
    assert_memory_equal(first->bytes, second->bytes, (size_t)first->len);
}

static struct drc_stats
stats_of(struct live *srv)
{
    struct server_stats stats;

    server_stats(srv->server, &stats);
    return stats.drc;
}

/* Every procedure that changes something, sent twice over one socket. */
static void
send_twice(struct live *srv, int type)
{
    struct live_conn conn = live_connect(srv, type, AF_INET);
    struct reply first, second;
    uint8_t call[CALL_MAX];
    size_t i, len;

    for (i = 0; i < SCENES; i++) {
        nfs_fh3 dir = live_dir(srv, &srv->root, scenes[i].name, 0755);

        len = scenes[i].make(srv, &dir, call);
        exchange(srv, &conn, call, len, &first);
        exchange(srv, &conn, call, len, &second);
        assert_same(scenes[i].name, &first, &second);
    }
    live_close(&conn);
    assert_int_equal(stats_of(srv).hits, SCENES);
}

static void
a_datagram_sent_twice_is_done_once(void **state)
{
    send_twice(*state, SOCK_DGRAM);
}

static void
a_call_sent_twice_over_one_connection_is_done_once(void **state)
{
    send_twice(*state, SOCK_STREAM);
}

/* With and without another connection in between, so that the new one is on the same worker and on another. */
static void
a_call_sent_again_over_a_new_connection_is_done_once(void **state)
{
    struct live *srv = *state;
    struct reply first, second;
    uint8_t call[CALL_MAX];
    char name[32];
    size_t i, len;
    int others;

    for (others = 0; others < 2; others++) {
        for (i = 0; i < SCENES; i++) {
            struct live_conn conn, other = { .fd = -1 };
            uint16_t port = 0;
            nfs_fh3 dir;

            snprintf(name, sizeof(name), "%s-%d", scenes[i].name, others);
            dir = live_dir(srv, &srv->root, name, 0755);
            len = scenes[i].make(srv, &dir, call);
            conn = connect_from(srv, "127.0.0.1", SOCK_STREAM, &port);
            exchange(srv, &conn, call, len, &first);
            if (others > 0)
                other = live_connect(srv, SOCK_STREAM, AF_INET);
            reset(&conn);
            conn = connect_from(srv, "127.0.0.1", SOCK_STREAM, &port);
            exchange(srv, &conn, call, len, &second);
            assert_same(name, &first, &second);
            reset(&conn);
            live_close(&other);
        }
    }
}

static void
a_connection_that_breaks_before_the_reply_does_not_have_it_done_again(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    char name[32];
    size_t len;
    int i;

    for (i = 0; i < 30; i++) {
        uint16_t port = 0;
        struct live_conn conn = connect_from(srv, "127.0.0.1", SOCK_STREAM, &port);

        snprintf(name, sizeof(name), "f%d", i);
        len = create_call(srv, &srv->root, name, call);
        assert_true(live_send_message(&conn, call, len));
        if (i % 3 == 0)
            while (!live_has(srv, &srv->root, name))
                ;
        assert_int_equal(shutdown(conn.fd, SHUT_WR), 0); /* the call arrives; nobody takes the reply */
        if (i % 3 == 1)
            usleep(2000);
        reset(&conn);
        conn = connect_from(srv, "127.0.0.1", SOCK_STREAM, &port);
        assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
        reset(&conn);
    }
}

/* One port of the client, two addresses of the server: the same caller has two connections open. */
static void
a_call_sent_over_two_connections_at_once_is_done_once(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .everywhere = true });
    uint16_t port = 0;
    struct live_conn one = connect_from(srv, "127.0.0.1", SOCK_STREAM, &port);
    struct live_conn two = connect_from(srv, "127.0.0.2", SOCK_STREAM, &port);
    struct reply first, second;
    uint8_t call[CALL_MAX];
    struct drc_stats stats;
    char name[32];
    size_t i, len;

    for (i = 0; i < 10 * SCENES; i++) {
        nfs_fh3 dir;

        snprintf(name, sizeof(name), "%s-%zu", scenes[i % SCENES].name, i);
        dir = live_dir(srv, &srv->root, name, 0755);
        len = scenes[i % SCENES].make(srv, &dir, call);
        assert_true(live_send_message(&one, call, len));
        assert_true(live_send_message(&two, call, len));
        receive(srv, &one, LIVE_WAIT_MS, &first);
        receive(srv, &two, LIVE_WAIT_MS, &second);
        assert_same(name, &first, &second);
    }
    stats = stats_of(srv);
    assert_int_equal(stats.hits, 10 * SCENES);           /* those that waited are told by a hit as well */
    assert_int_equal(stats.dropped, 0);
    live_close(&one);
    live_close(&two);
}

/* Copies that arrive while the first is at work get no reply of their own, but never a wrong one. */
static void
of_a_burst_of_copies_one_is_done(void **state)
{
    static const int types[] = { SOCK_DGRAM, SOCK_STREAM };
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    char name[32];
    int i, copy, type;

    for (type = 0; type < 2; type++) {
        struct live_conn conn = live_connect(srv, types[type], AF_INET);

        for (i = 0; i < 20; i++) {
            struct drc_stats before = stats_of(srv), after;
            struct reply reply;
            uint64_t replies;
            size_t len;

            snprintf(name, sizeof(name), "f%d-%d", type, i);
            len = create_call(srv, &srv->root, name, call);
            for (copy = 0; copy < BURST; copy++)
                assert_true(live_send_message(&conn, call, len));
            receive(srv, &conn, LIVE_WAIT_MS, &reply);
            assert_int_equal(status_of(&reply), NFS3_OK);
            do
                after = stats_of(srv);
            while (after.misses + after.hits + after.dropped < before.misses + before.hits + before.dropped + BURST);
            assert_int_equal(after.misses, before.misses + 1);
            for (replies = after.hits - before.hits; replies > 0; replies--) {
                receive(srv, &conn, LIVE_WAIT_MS, &reply);
                assert_int_equal(status_of(&reply), NFS3_OK);
            }
        }
        live_close(&conn);
    }
}

static void
other_arguments_with_the_same_xid_are_another_call(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    uint8_t call[CALL_MAX];
    size_t len = create_call(srv, &srv->root, "a", call);
    nfs_fh3 dir;

    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    srv->xid--;
    len = create_call(srv, &srv->root, "b", call);
    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    srv->xid--;
    len = mkdir_call(srv, &srv->root, "a", call);        /* the same length, another procedure */
    assert_int_equal(ask(srv, &conn, call, len), NFS3ERR_EXIST);
    dir = live_dir(srv, &srv->root, "dir", 0755);
    len = create_call(srv, &srv->root, "c", call);
    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    srv->xid--;
    len = create_call(srv, &dir, "c", call);
    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    live_close(&conn);
    assert_true(live_has(srv, &srv->root, "b"));
    assert_true(live_has(srv, &dir, "c"));
    assert_int_equal(stats_of(srv).hits, 0);
}

static void
the_same_call_from_another_port_or_protocol_is_anothers(void **state)
{
    struct live *srv = *state;
    uint16_t port = 0;
    struct live_conn stream = connect_from(srv, "127.0.0.1", SOCK_STREAM, &port);
    struct live_conn datagram = connect_from(srv, "127.0.0.1", SOCK_DGRAM, &port);
    struct live_conn elsewhere = live_connect(srv, SOCK_STREAM, AF_INET);
    uint8_t call[CALL_MAX];
    size_t len = create_call(srv, &srv->root, "f", call);

    assert_int_equal(ask(srv, &stream, call, len), NFS3_OK);
    assert_int_equal(ask(srv, &datagram, call, len), NFS3ERR_EXIST);
    assert_int_equal(ask(srv, &elsewhere, call, len), NFS3ERR_EXIST);
    assert_int_equal(ask(srv, &stream, call, len), NFS3_OK);
    assert_int_equal(ask(srv, &datagram, call, len), NFS3ERR_EXIST);
    live_close(&stream);
    live_close(&datagram);
    live_close(&elsewhere);
}

static void
nobody_gets_the_reply_of_another_user(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir;
    uint8_t call[CALL_MAX];
    size_t len;

    live_need_identities(srv);
    dir = live_dir(srv, &srv->root, "dir", 0755);
    len = mkdir_call(srv, &dir, "a", call);
    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3_OK);
    srv->xid--;
    live_as(srv, 61001, 61001);
    len = mkdir_call(srv, &dir, "a", call);
    assert_int_not_equal(ask(srv, &srv->conn, call, len), NFS3_OK);
    srv->xid--;
    live_as(srv, 0, 61001);
    len = mkdir_call(srv, &dir, "a", call);
    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3ERR_EXIST);
    assert_int_equal(stats_of(srv).hits, 0);
}

static void
a_late_copy_of_remove_spares_the_new_file(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    uint8_t call[CALL_MAX];
    size_t len;
    nfs_fh3 file;

    live_put(srv, "f", "old", 3);
    len = remove_call(srv, &srv->root, "f", call);
    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    file = live_put(srv, "f", "new", 3);
    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    live_assert_content(srv, &file, "new", 3);
    live_close(&conn);
}

static void
a_late_copy_of_write_does_not_undo_what_came_after(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    nfs_fh3 file = live_put(srv, "f", "", 0);
    uint8_t call[CALL_MAX];
    size_t len = write_call(srv, &file, "old", call);

    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    live_write_all(srv, &file, 0, "new", 3);
    assert_int_equal(ask(srv, &conn, call, len), NFS3_OK);
    live_assert_content(srv, &file, "new", 3);
    live_close(&conn);
}

static void
an_error_of_a_call_that_was_done_stays_its_answer(void **state)
{
    struct live *srv = *state;
    uint8_t call[CALL_MAX];
    size_t len;

    live_put(srv, "f", "", 0);
    len = create_call(srv, &srv->root, "f", call);
    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3ERR_EXIST);
    assert_int_equal(live_remove(srv, &srv->root, "f")->status, NFS3_OK);
    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3ERR_EXIST);
    assert_false(live_has(srv, &srv->root, "f"));
}

static void
a_refusal_is_not_kept(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){
        .export_options = "ro,no_root_squash,insecure",
    });
    uint8_t call[CALL_MAX];
    size_t len = create_call(srv, &srv->root, "f", call);

    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3ERR_ROFS);
    live_reload(srv, "rw,no_root_squash,insecure", NULL);
    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3_OK);
    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3_OK);
    assert_int_equal(stats_of(srv).hits, 1);
}

static void
reading_is_always_done_anew(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "old", 3);
    uint8_t call[CALL_MAX];
    size_t len = make_call(srv, call, NFSPROC3_READ, &(READ3args){ file, 0, 3 });
    struct drc_stats before = stats_of(srv);
    struct reply first, second;

    exchange(srv, &srv->conn, call, len, &first);
    live_write_all(srv, &file, 0, "new", 3);
    exchange(srv, &srv->conn, call, len, &second);
    assert_memory_equal(first.bytes + first.len - 4, "old", 3);
    assert_memory_equal(second.bytes + second.len - 4, "new", 3);
    assert_int_equal(stats_of(srv).misses, before.misses + 1);  /* the WRITE */
}

static void
keep_none(struct settings *settings)
{
    settings->drc_entries = 0;
}

static void
without_entries_every_call_is_done(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .tune = keep_none });
    uint8_t call[CALL_MAX];
    size_t len = create_call(srv, &srv->root, "f", call);

    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3_OK);
    assert_int_equal(ask(srv, &srv->conn, call, len), NFS3ERR_EXIST);
    assert_int_equal(stats_of(srv).misses, 0);
}

static void
keep_one(struct settings *settings)
{
    settings->drc_entries = 1;
}

static void
a_reply_that_had_to_make_room_is_not_known_any_more(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .tune = keep_one });
    uint8_t first[CALL_MAX], second[CALL_MAX];
    size_t first_len = create_call(srv, &srv->root, "a", first);
    size_t second_len = create_call(srv, &srv->root, "b", second);

    assert_int_equal(ask(srv, &srv->conn, first, first_len), NFS3_OK);
    assert_int_equal(ask(srv, &srv->conn, first, first_len), NFS3_OK);
    assert_int_equal(ask(srv, &srv->conn, second, second_len), NFS3_OK);
    assert_int_equal(ask(srv, &srv->conn, first, first_len), NFS3ERR_EXIST);
    assert_int_equal(stats_of(srv).evicted, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_sent_twice_is_done_once),
        cmocka_unit_test(a_call_sent_twice_over_one_connection_is_done_once),
        cmocka_unit_test(a_call_sent_again_over_a_new_connection_is_done_once),
        cmocka_unit_test(a_connection_that_breaks_before_the_reply_does_not_have_it_done_again),
        cmocka_unit_test(a_call_sent_over_two_connections_at_once_is_done_once),
        cmocka_unit_test(of_a_burst_of_copies_one_is_done),
        cmocka_unit_test(other_arguments_with_the_same_xid_are_another_call),
        cmocka_unit_test(the_same_call_from_another_port_or_protocol_is_anothers),
        cmocka_unit_test(nobody_gets_the_reply_of_another_user),
        cmocka_unit_test(a_late_copy_of_remove_spares_the_new_file),
        cmocka_unit_test(a_late_copy_of_write_does_not_undo_what_came_after),
        cmocka_unit_test(an_error_of_a_call_that_was_done_stays_its_answer),
        cmocka_unit_test(a_refusal_is_not_kept),
        cmocka_unit_test(reading_is_always_done_anew),
        cmocka_unit_test(without_entries_every_call_is_done),
        cmocka_unit_test(a_reply_that_had_to_make_room_is_not_known_any_more),
    };

    return live_main("drc", tests, sizeof(tests) / sizeof(*tests));
}
