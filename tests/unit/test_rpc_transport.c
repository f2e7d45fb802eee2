/*
 * tests/unit/test_rpc_transport.c - connections and datagram sockets with a small program behind them.
 *
 * Over real sockets: the transport runs on a thread of its own; the tests are its clients.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "rpc/call.h"
#include "rpc/listen.h"
#include "rpc/transport.h"
#include "xdr/wire.h"

#define PROG 0x20000042
#define RECORD_MAX ((uint32_t)(1 << 20) + 4096)
#define REPLY_BYTES_MAX ((uint64_t)4 << 20)
#define BUDGET ((uint64_t)64 << 20)
#define SMALL_BUDGET ((uint64_t)12 << 20)
#define TIMEOUT_MS 10000
#define LARGE_REPLY ((size_t)1 << 20)

enum {
    PROC_NULL, PROC_ECHO,               /* opaque: the same back */
    PROC_HOLD,                          /* u32: the same back, but not before ... */
    PROC_RELEASE,                       /* ... this one, and then the newest first */
    PROC_LARGE_HOLD,                    /* as PROC_HOLD, and says that its reply will be large */
    PROC_LEND,                          /* u32 n: an opaque of n bytes, lent */
    PROC_PIPE,                          /* u32 n: the same out of a pipe */
    PROC_OVERFLOW,                      /* stores more than it asked room for */
    PROC_DROP,
    PROC_ALLOC,                         /* u32 n: n times 100 bytes of the call's memory */
};

struct held_call {
    struct call call;                   /* first */
    uint32_t value;
    struct held_call *older;
};

/* A server; what is not atomic belongs to its thread once that runs. */
struct server {
    struct transport_shared shared;
    struct listen_set sockets;
    pthread_t thread;
    struct transport *transport;
    struct listener *listeners[2];      /* IPv4 and IPv6 */
    size_t nlisteners;
    struct held_call *held;
    struct buf *pattern;
    atomic_uint held_count;
    atomic_uint released_count;         /* of all calls that were held */
    atomic_bool drained;
    pthread_barrier_t started;
};

static uint8_t
pattern_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static void
reply_u32(struct call *call, uint32_t value)
{
    struct wire_out *out = call_reply_begin(call, 4);

    assert_non_null(out);
    wire_put_u32(out, value);
    call_reply_end(call);
}

static void
reply_echo(struct call *call)
{
    struct wire_out *out;
    uint32_t len;
    const uint8_t *data = wire_get_opaque(&call->args, UINT32_MAX, &len);

    if (call->args.bad) {
        call_reply_error(call, CALL_GARBAGE_ARGS, 0, 0);
        return;
    }
    out = call_reply_begin(call, 4 + wire_padded(len) + 100);
    if (out == NULL) {
        call_drop(call);
        return;
    }
    wire_put_opaque(out, data, len);
    call_reply_end(call);
}

static void
hold(struct server *server, struct held_call *held)
{
    held->value = wire_get_u32(&held->call.args);
    held->older = server->held;
    server->held = held;
    atomic_fetch_add(&server->held_count, 1);
}

static void
release_all(struct server *server)
{
    struct held_call *held = server->held;
    struct held_call *older;

    server->held = NULL;
    for (; held != NULL; held = older) {
        older = held->older;
        reply_u32(&held->call, held->value);
        atomic_fetch_sub(&server->held_count, 1);
        atomic_fetch_add(&server->released_count, 1);
    }
}

static void
reply_lent(struct server *server, struct call *call)
{
    uint32_t n = wire_get_u32(&call->args);
    struct wire_out *out = call_reply_begin(call, 4);

    if (out == NULL) {
        call_drop(call);
        return;
    }
    wire_put_u32(out, n);
    call_reply_lend(call, server->pattern, server->pattern->data, n);
    call_reply_end(call);
}

static void
reply_piped(struct server *server, struct call *call)
{
    uint32_t n = wire_get_u32(&call->args);
    struct pipe *pipe = pipe_get(call->transport->pipes, (n + 4095) / 4096);
    struct wire_out *out = call_reply_begin(call, 4);

    assert_non_null(pipe);
    assert_non_null(out);
    assert_int_equal(write(pipe->in, server->pattern->data, n), n);
    wire_put_u32(out, n);
    call_reply_lend_pipe(call, pipe, n);
    call_reply_end(call);
}

static void
reply_alloc(struct call *call)
{
    uint32_t n = wire_get_u32(&call->args);
    uint8_t *blocks[1000];

    assert_true(n <= 1000);
    for (uint32_t i = 0; i < n; i++) {
        blocks[i] = call_alloc(call, 100);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)i, 100);
    }
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(blocks[i][99], (uint8_t)i);
    reply_u32(call, n);
}

static void
dispatch(struct call *call)
{
    struct server *server = call->transport->context;
    struct wire_out *out;

    switch (call->proc) {
    case PROC_NULL:
        assert_non_null(call_reply_begin(call, 0));
        call_reply_end(call);
        break;
    case PROC_ECHO:
        reply_echo(call);
        break;
    case PROC_HOLD:
        hold(server, (struct held_call *)call);
        break;
    case PROC_LARGE_HOLD:
        call_expect(call, LARGE_REPLY);
        hold(server, (struct held_call *)call);
        break;
    case PROC_RELEASE:
        release_all(server);
        reply_u32(call, 0);
        break;
    case PROC_LEND:
        reply_lent(server, call);
        break;
    case PROC_PIPE:
        reply_piped(server, call);
        break;
    case PROC_OVERFLOW:
        out = call_reply_begin(call, 4);
        wire_put_u64(out, 1);
        call_reply_end(call);
        break;
    case PROC_DROP:
        call_drop(call);
        break;
    case PROC_ALLOC:
        reply_alloc(call);
        break;
    default:
        call_reply_error(call, CALL_PROC_UNAVAIL, 0, 0);
        break;
    }
}

static void
accepted(void *context, int fd)
{
    struct server *server = context;

    (void)transport_add_connection(server->transport, fd);
}

static void *
run(void *context)
{
    static const uint32_t versions[] = { 2, 3 };
    static const struct program program = { PROG, versions, 2, dispatch };
    static const struct program *const programs[] = { &program };
    struct server *server = context;
    struct transport_config config = {
        .shared = &server->shared, .programs = programs, .nprograms = 1, .call_size = sizeof(struct held_call),
        .context = server,
    };

    assert_int_equal(transport_new(&config, &server->transport), 0);
    server->pattern = buf_get(server->transport->buffers, 1 << 20);
    assert_non_null(server->pattern);
    for (size_t i = 0; i < server->pattern->capacity; i++)
        server->pattern->data[i] = pattern_at(i);
    for (size_t i = 0; i < server->sockets.count; i++) {
        int fd = server->sockets.sockets[i].fd;

        if (server->sockets.sockets[i].type == SOCK_STREAM)
            assert_int_equal(listener_new(server->transport->loop, fd, accepted, server,
                                          &server->listeners[server->nlisteners++]), 0);
        else
            assert_int_equal(transport_add_datagram(server->transport, fd), 0);
    }
    pthread_barrier_wait(&server->started);
    loop_run(server->transport->loop);
    for (size_t i = 0; i < server->nlisteners; i++)
        listener_free(server->listeners[i]);
    while (server->held != NULL) {
        struct held_call *held = server->held;

        server->held = held->older;
        call_drop(&held->call);
    }
    buf_put(server->pattern);
    transport_free(server->transport);
    return NULL;
}

static int
start_with_budget(void **state, uint64_t budget_bytes)
{
    struct server *server = calloc(1, sizeof(*server));
    struct listen_config config = { .tcp = true, .udp = true, .udp_sockets = 1, .backlog = 64, .udp_buffer = 1 << 20 };
    char error[200] = "";

    assert_non_null(server);
    server->shared.limits = (struct transport_limits){
        .record_bytes = RECORD_MAX, .calls_per_conn = 64, .reply_bytes_per_conn = REPLY_BYTES_MAX, .connections = 100,
    };
    server->shared.budget.max_bytes = budget_bytes;
    if (listen_open(&config, &server->sockets, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    pthread_barrier_init(&server->started, NULL, 2);
    assert_int_equal(pthread_create(&server->thread, NULL, run, server), 0);
    pthread_barrier_wait(&server->started);
    *state = server;
    return 0;
}

static int
server_start(void **state)
{
    return start_with_budget(state, BUDGET);
}

static int
small_server_start(void **state)
{
    return start_with_budget(state, SMALL_BUDGET);
}

static int
server_stop(void **state)
{
    struct server *server = *state;

    loop_stop(server->transport->loop);
    pthread_join(server->thread, NULL);
    assert_int_equal(atomic_load(&server->shared.budget.used_bytes), 0);
    assert_int_equal(atomic_load(&server->shared.connections), 0);
    free(server->sockets.sockets);
    pthread_barrier_destroy(&server->started);
    free(server);
    return 0;
}

static void
sleep_ms(unsigned ms)
{
    struct timespec time = { ms / 1000, (long)(ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

static uint64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int
connect_to(const struct server *server, int type, const char *host)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(server->sockets.port) };
    struct timeval timeout = { TIMEOUT_MS / 1000, 0 };
    int fd = socket(AF_INET, type, 0);

    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, host, &address.sin_addr), 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)), 0);
    return fd;
}

/* Store a call; the mark is left out for UDP. Returns its length. */
static size_t
put_call(uint8_t *p, bool mark, uint32_t xid, uint32_t proc, const void *args, size_t len)
{
    struct wire_out out = { p, p + 64 + len, false };

    if (mark)
        wire_put_u32(&out, 0x80000000u | (uint32_t)(40 + len));
    wire_put_u32(&out, xid);
    wire_put_u32(&out, 0);
    wire_put_u32(&out, 2);
    wire_put_u32(&out, PROG);
    wire_put_u32(&out, 3);
    wire_put_u32(&out, proc);
    for (int i = 0; i < 4; i++)
        wire_put_u32(&out, 0);
    if (len > 0)
        memcpy(wire_put_space(&out, len), args, len);
    assert_false(out.full);
    return (size_t)(out.p - p);
}

static size_t
put_call_u32(uint8_t *p, bool mark, uint32_t xid, uint32_t proc, uint32_t value)
{
    value = htobe32(value);
    return put_call(p, mark, xid, proc, &value, 4);
}

static void
send_all(int fd, const void *data, size_t len)
{
    const uint8_t *p = data;
    ssize_t n;

    for (; len > 0; p += n, len -= (size_t)n) {
        n = send(fd, p, len, MSG_NOSIGNAL);
        assert_true(n > 0);
    }
}

static void
receive_exactly(int fd, void *data, size_t len)
{
    uint8_t *p = data;
    ssize_t n;

    for (; len > 0; p += n, len -= (size_t)n) {
        n = recv(fd, p, len, 0);
        assert_true(n > 0);
    }
}

/* One reply over TCP without its mark; returns its length. */
static size_t
receive_reply(int fd, uint8_t *reply, size_t size)
{
    uint32_t mark;

    receive_exactly(fd, &mark, 4);
    mark = be32toh(mark);
    assert_true(mark & 0x80000000u);
    mark &= 0x7fffffff;
    assert_true(mark <= size);
    receive_exactly(fd, reply, mark);
    return mark;
}

static uint32_t
u32_at(const uint8_t *p)
{
    uint32_t value;

    memcpy(&value, p, 4);
    return be32toh(value);
}

static void
expect_success(const uint8_t *reply, size_t len, uint32_t xid)
{
    assert_true(len >= 24);
    assert_int_equal(u32_at(reply), xid);
    assert_int_equal(u32_at(reply + 4), 1);
    for (int i = 8; i < 24; i += 4)
        assert_int_equal(u32_at(reply + i), 0);
}

static void
expect_null_works(int fd, uint32_t xid)
{
    uint8_t data[64];

    send_all(fd, data, put_call(data, true, xid, PROC_NULL, NULL, 0));
    expect_success(data, receive_reply(fd, data, sizeof(data)), xid);
}

static void
expect_closed(int fd)
{
    uint8_t byte;
    ssize_t n = recv(fd, &byte, 1, 0);

    assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
}

static void
a_thousand_calls_in_one_segment_are_all_answered(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t *data = malloc(64 * 1000);
    uint8_t reply[64];
    size_t len = 0;

    assert_non_null(data);
    for (uint32_t i = 0; i < 1000; i++)
        len += put_call(data + len, true, i, PROC_NULL, NULL, 0);
    send_all(fd, data, len);
    for (uint32_t i = 0; i < 1000; i++)
        expect_success(reply, receive_reply(fd, reply, sizeof(reply)), i);
    free(data);
    close(fd);
}

static void
calls_cut_into_segments_and_fragments_of_one_byte_are_answered(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64], fragments[5 * 64], reply[64];
    size_t len = put_call(data, true, 1, PROC_NULL, NULL, 0);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        send_all(fd, data + i, 1);
        sleep_ms(1);
    }
    expect_success(reply, receive_reply(fd, reply, sizeof(reply)), 1);
    len = put_call(data, false, 2, PROC_NULL, NULL, 0);
    for (size_t i = 0; i < len; i++) {
        memcpy(fragments + n, i + 1 == len ? "\x80\0\0\1" : "\0\0\0\1", 4);
        fragments[n + 4] = data[i];
        n += 5;
    }
    send_all(fd, fragments, n);
    expect_success(reply, receive_reply(fd, reply, sizeof(reply)), 2);
    close(fd);
}

static void *
send_records(void *context)
{
    int fd = *(int *)context;
    uint8_t *args = malloc(4 + (1 << 20));
    uint8_t *data = malloc(64 + 4 + (1 << 20));
    uint32_t count = 1 << 20;

    assert_non_null(args);
    assert_non_null(data);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t n = i % 3 == 2 ? 100 + i : count - i * 4;
        uint32_t word = htobe32(n);

        memcpy(args, &word, 4);
        for (size_t k = 0; k < n; k++)
            args[4 + k] = pattern_at(k + i);
        send_all(fd, data, put_call(data, true, i, PROC_ECHO, args, 4 + wire_padded(n)));
    }
    free(args);
    free(data);
    return NULL;
}

static void
large_and_small_records_in_turn_arrive_whole(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t *reply = malloc(64 + (1 << 20));
    pthread_t sender;

    assert_non_null(reply);
    assert_int_equal(pthread_create(&sender, NULL, send_records, &fd), 0);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t n = i % 3 == 2 ? 100 + i : (1u << 20) - i * 4;
        size_t len = receive_reply(fd, reply, 64 + (1 << 20));

        expect_success(reply, len, i);
        assert_int_equal(len, 28 + wire_padded(n));
        assert_int_equal(u32_at(reply + 24), n);
        for (size_t k = 0; k < n; k++) {
            if (reply[28 + k] != pattern_at(k + i))
                fail_msg("record %u: byte %zu differs", i, k);
        }
    }
    pthread_join(sender, NULL);
    free(reply);
    close(fd);
}

static void
replies_leave_in_the_order_in_which_they_are_ready(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 20], reply[64];
    size_t len = 0;

    for (uint32_t i = 0; i < 10; i++)
        len += put_call_u32(data + len, true, i, PROC_HOLD, 100 + i);
    len += put_call(data + len, true, 50, PROC_NULL, NULL, 0);
    send_all(fd, data, len);
    expect_success(reply, receive_reply(fd, reply, sizeof(reply)), 50);
    send_all(fd, data, put_call(data, true, 60, PROC_RELEASE, NULL, 0));
    for (uint32_t i = 10; i-- > 0;) {
        len = receive_reply(fd, reply, sizeof(reply));
        expect_success(reply, len, i);
        assert_int_equal(u32_at(reply + 24), 100 + i);
    }
    expect_success(reply, receive_reply(fd, reply, sizeof(reply)), 60);
    close(fd);
}

static void
beyond_the_bound_of_calls_the_connection_waits(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    int other = connect_to(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 200], reply[64];
    bool seen[200] = { false };
    size_t len = 0;

    for (uint32_t i = 0; i < 200; i++)
        len += put_call_u32(data + len, true, i, PROC_HOLD, i);
    send_all(fd, data, len);
    for (unsigned done = 0; done < 200; done += 64) {
        while (atomic_load(&server->held_count) < MIN(64, 200 - done))
            sleep_ms(1);
        sleep_ms(20);
        assert_int_equal(atomic_load(&server->held_count), MIN(64, 200 - done));
        send_all(other, data, put_call(data, true, 1000, PROC_RELEASE, NULL, 0));
        expect_success(reply, receive_reply(other, reply, sizeof(reply)), 1000);
    }
    for (int i = 0; i < 200; i++) {
        receive_reply(fd, reply, sizeof(reply));
        assert_true(u32_at(reply) < 200);
        assert_false(seen[u32_at(reply)]);
        seen[u32_at(reply)] = true;
    }
    close(fd);
    close(other);
}

static void
after_the_end_of_the_stream_calls_are_still_answered(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    int other = connect_to(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 8], reply[64];
    size_t len = 0;

    for (uint32_t i = 0; i < 4; i++)
        len += put_call_u32(data + len, true, i, PROC_HOLD, i);
    len += put_call(data + len, true, 9, PROC_NULL, NULL, 0);
    send_all(fd, data, len);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    expect_success(reply, receive_reply(fd, reply, sizeof(reply)), 9);
    while (atomic_load(&server->held_count) < 4)
        sleep_ms(1);
    send_all(other, data, put_call(data, true, 60, PROC_RELEASE, NULL, 0));
    for (uint32_t i = 4; i-- > 0;)
        expect_success(reply, receive_reply(fd, reply, sizeof(reply)), i);
    expect_closed(fd);
    close(fd);
    close(other);
}

static void
a_connection_that_ends_before_its_calls_does_no_harm(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    int other = connect_to(server, SOCK_STREAM, "127.0.0.1");
    struct linger reset = { 1, 0 };
    uint8_t data[64];

    send_all(fd, data, put_call_u32(data, true, 1, PROC_HOLD, 1));
    while (atomic_load(&server->held_count) < 1)
        sleep_ms(1);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    while (atomic_load(&server->shared.connections) > 1)
        sleep_ms(1);
    send_all(other, data, put_call(data, true, 60, PROC_RELEASE, NULL, 0));
    expect_success(data, receive_reply(other, data, sizeof(data)), 60);
    assert_int_equal(atomic_load(&server->held_count), 0);
    close(other);
}

/* Send calls until the server takes no more; returns how many. */
static uint32_t
fill(int fd, uint32_t proc, uint32_t value)
{
    uint8_t data[64];
    uint32_t count = 0;

    for (; count < 100000; count++) {
        size_t len = put_call_u32(data, true, count, proc, value);
        struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
        ssize_t n;

        if (poll(&poll_fd, 1, 300) == 0)
            break;
        n = send(fd, data, len, MSG_NOSIGNAL);
        assert_true(n > 0);
        if ((size_t)n < len)
            send_all(fd, data + n, len - (size_t)n);
    }
    return count;
}

static void
a_client_that_does_not_read_is_not_read_and_others_are_served(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    int other = connect_to(server, SOCK_STREAM, "127.0.0.1");
    uint8_t *reply = malloc(64 + (1 << 20));
    const uint32_t size = 100003;
    uint32_t count;

    assert_non_null(reply);
    count = 2000;
    for (uint32_t i = 0; i < count; i++)
        send_all(fd, reply, put_call_u32(reply, true, i, PROC_LEND, size));
    sleep_ms(200);
    assert_true(atomic_load(&server->shared.budget.used_bytes) < BUDGET / 4);
    for (uint32_t i = 0; i < 100; i++)
        expect_null_works(other, i);
    for (uint32_t i = 0; i < count; i++) {
        size_t len = receive_reply(fd, reply, 64 + (1 << 20));

        expect_success(reply, len, i);
        assert_int_equal(len, 28 + wire_padded(size));
    }
    free(reply);
    close(fd);
    close(other);
}

static void
a_client_that_never_reads_is_stopped_in_the_end(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    int other = connect_to(server, SOCK_STREAM, "127.0.0.1");

    assert_true(fill(fd, PROC_LEND, 50000) < 100000);
    assert_true(atomic_load(&server->shared.budget.used_bytes) < BUDGET / 4);
    expect_null_works(other, 1);
    close(fd);
    close(other);
}

/* Ask for payloads of these sizes in one go; their bytes, padding and order must be right. */
static void
expect_payloads(struct server *server, uint32_t proc, const uint32_t *sizes, uint32_t n)
{
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    uint8_t *reply = malloc(64 + (1 << 20));
    uint8_t data[64 * 16];
    size_t len = 0;

    assert_non_null(reply);
    assert_true(n <= 16);
    for (uint32_t i = 0; i < n; i++)
        len += put_call_u32(data + len, true, i, proc, sizes[i]);
    send_all(fd, data, len);
    for (uint32_t i = 0; i < n; i++) {
        len = receive_reply(fd, reply, 64 + (1 << 20));
        expect_success(reply, len, i);
        assert_int_equal(len, 28 + wire_padded(sizes[i]));
        assert_int_equal(u32_at(reply + 24), sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(reply[28 + k], pattern_at(k));
        for (size_t k = sizes[i]; k < wire_padded(sizes[i]); k++)
            assert_int_equal(reply[28 + k], 0);
    }
    free(reply);
    close(fd);
}

static void
lent_bytes_arrive_with_their_padding(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 3, 4, 4095, 4096, 4097, 5001, 65535, 1000001, 1 << 20 };

    expect_payloads(*state, PROC_LEND, sizes, sizeof(sizes) / sizeof(sizes[0]));
}

static void
bytes_of_a_pipe_arrive_with_their_padding(void **state)
{
    static const uint32_t sizes[] = { 1, 3, 4, 4095, 4096, 4097, 65535, 65536, 300001, 1000001, 1 << 20, 5 };

    expect_payloads(*state, PROC_PIPE, sizes, sizeof(sizes) / sizeof(sizes[0]));
}

static void
a_client_that_leaves_takes_its_pipes_along(void **state)
{
    static const uint32_t sizes[] = { 1 << 20, 5 };
    struct server *server = *state;

    for (uint32_t i = 0; i < 100; i++) {                 /* more pipes than a worker has */
        int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
        uint8_t data[128], reply[100];
        size_t len = put_call_u32(data, true, 1, PROC_PIPE, 1 << 20);

        len += put_call_u32(data + len, true, 2, PROC_PIPE, 1 << 20);
        send_all(fd, data, len);
        assert_true(recv(fd, reply, sizeof(reply), 0) > 0);
        close(fd);
    }
    expect_payloads(server, PROC_PIPE, sizes, 2);
}

static void
refusals_leave_the_connection_in_step(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64], reply[64];
    size_t len;

    len = put_call(data, true, 1, PROC_NULL, NULL, 0);
    memcpy(data + 16, "\0\0\0\1", 4);
    send_all(fd, data, len);
    assert_int_equal(receive_reply(fd, reply, sizeof(reply)), 24);
    assert_int_equal(u32_at(reply + 20), CALL_PROG_UNAVAIL);

    len = put_call(data, true, 2, PROC_NULL, NULL, 0);
    data[23] = 9;
    send_all(fd, data, len);
    assert_int_equal(receive_reply(fd, reply, sizeof(reply)), 32);
    assert_int_equal(u32_at(reply + 20), CALL_PROG_MISMATCH);
    assert_int_equal(u32_at(reply + 24), 2);
    assert_int_equal(u32_at(reply + 28), 3);

    send_all(fd, data, put_call(data, true, 3, 99, NULL, 0));
    assert_int_equal(receive_reply(fd, reply, sizeof(reply)), 24);
    assert_int_equal(u32_at(reply + 20), CALL_PROC_UNAVAIL);

    len = put_call(data, true, 4, PROC_NULL, NULL, 0);
    data[15] = 3;
    send_all(fd, data, len);
    assert_int_equal(receive_reply(fd, reply, sizeof(reply)), 24);
    assert_int_equal(u32_at(reply + 8), 1);
    assert_int_equal(u32_at(reply + 12), 0);

    len = put_call(data, true, 5, PROC_NULL, NULL, 0);
    data[31] = 77;
    send_all(fd, data, len);
    assert_int_equal(receive_reply(fd, reply, sizeof(reply)), 20);
    assert_int_equal(u32_at(reply + 16), CALL_AUTH_BADCRED);

    len = put_call(data, true, 6, PROC_NULL, NULL, 0);
    data[11] = 1;
    send_all(fd, data, len);                             /* a reply: ignored */
    send_all(fd, "\x80\0\0\0", 4);                       /* an empty record: ignored */
    send_all(fd, data, put_call(data, true, 7, PROC_DROP, NULL, 0));
    expect_null_works(fd, 8);
    close(fd);
}

static void
a_writer_that_runs_full_becomes_a_system_error(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64];

    send_all(fd, data, put_call(data, true, 1, PROC_OVERFLOW, NULL, 0));
    assert_int_equal(receive_reply(fd, data, sizeof(data)), 24);
    assert_int_equal(u32_at(data + 20), CALL_SYSTEM_ERR);
    expect_null_works(fd, 2);
    close(fd);
}

static void
a_call_has_as_much_memory_as_it_wants(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64];

    for (uint32_t n = 0; n <= 1000; n += 50) {
        send_all(fd, data, put_call_u32(data, true, n, PROC_ALLOC, n));
        expect_success(data, receive_reply(fd, data, sizeof(data)), n);
    }
    close(fd);
}

static void
rubbish_closes_the_connection(void **state)
{
    static const struct {
        const char *name;
        uint8_t bytes[32];
        size_t len;
    } rows[] = {
        { "a record that is too long", { 0x7f, 0xff, 0xff, 0xff }, 4 },
        { "HTTP", "GET / HTTP/1.0\r\n\r\n", 18 },
        { "a record of one byte", { 0x80, 0, 0, 1, 1 }, 5 },
        { "a record of eight bytes", { 0x80, 0, 0, 8, 1, 2, 3, 4, 0, 0, 0, 0 }, 12 },
        { "an unknown message type", { 0x80, 0, 0, 12, 1, 2, 3, 4, 0, 0, 0, 2, 0, 0, 0, 2 }, 16 },
    };
    struct server *server = *state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");

        print_message("%s\n", rows[i].name);
        send_all(fd, rows[i].bytes, rows[i].len);
        expect_closed(fd);
        close(fd);
    }
    assert_int_equal(atomic_load(&server->transport->stats.bad_records), 2);
    assert_int_equal(atomic_load(&server->transport->stats.bad_messages), 3);
}

static void
announcing_a_large_record_costs_little_once_memory_is_tight(void **state)
{
    struct server *server = *state;
    uint8_t data[6000] = { 0x80, 0x10, 0, 0 };
    int fds[80];

    for (size_t i = 0; i < 80; i++) {
        fds[i] = connect_to(server, SOCK_STREAM, "127.0.0.1");
        send_all(fds[i], data, sizeof(data));
    }
    sleep_ms(100);
    assert_true(atomic_load(&server->shared.budget.used_bytes) < BUDGET * 3 / 4);
    for (size_t i = 0; i < 80; i++)
        close(fds[i]);
}

struct release_message {
    struct loop_message message;        /* first */
    struct server *server;
};

static void
release(struct loop_message *message)
{
    release_all(((struct release_message *)message)->server);
    free(message);
}

/* Have all that is held answered, and take the replies, those to calls that came just then included; how many. */
static uint32_t
release_and_receive(struct server *server, int fd)
{
    struct release_message *message = calloc(1, sizeof(*message));
    unsigned held = atomic_load(&server->held_count), before = atomic_load(&server->released_count);
    uint32_t taken = 0;
    uint8_t reply[64];

    assert_non_null(message);
    message->message.run = release;
    message->server = server;
    loop_post(server->transport->loop, &message->message);
    while (atomic_load(&server->released_count) - before < held)
        sleep_ms(1);
    for (; taken < atomic_load(&server->released_count) - before; taken++) {
        size_t len = receive_reply(fd, reply, sizeof(reply));

        expect_success(reply, len, u32_at(reply));
    }
    return taken;
}

static void
at_the_bound_of_connections_the_one_that_is_idle_longest_makes_room(void **state)
{
    struct server *server = *state;
    int fds[101];

    for (size_t i = 0; i < 101; i++) {
        fds[i] = connect_to(server, SOCK_STREAM, "127.0.0.1");
        expect_null_works(fds[i], (uint32_t)i);
    }
    expect_closed(fds[0]);
    for (size_t i = 1; i < 101; i++)
        expect_null_works(fds[i], (uint32_t)i);
    for (size_t i = 0; i < 101; i++)
        close(fds[i]);
}

static void
a_connection_beyond_the_bound_is_closed_where_none_is_idle(void **state)
{
    struct release_message *message = calloc(1, sizeof(*message));
    struct server *server = *state;
    uint8_t data[64];
    int fds[100], late;

    assert_non_null(message);
    for (uint32_t i = 0; i < 100; i++) {
        fds[i] = connect_to(server, SOCK_STREAM, "127.0.0.1");
        send_all(fds[i], data, put_call_u32(data, true, i, PROC_HOLD, i));
    }
    while (atomic_load(&server->held_count) < 100)
        sleep_ms(1);
    late = connect_to(server, SOCK_STREAM, "127.0.0.1");
    expect_closed(late);
    close(late);
    message->message.run = release;
    message->server = server;
    loop_post(server->transport->loop, &message->message);
    for (uint32_t i = 0; i < 100; i++) {
        size_t len = receive_reply(fds[i], data, sizeof(data));

        expect_success(data, len, i);
        close(fds[i]);
    }
}

static uint64_t
cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
without_descriptors_accepting_pauses_and_goes_on_later(void **state)
{
    struct server *server = *state;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(server->sockets.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);            /* the lowest that was free: none below is */
    struct rlimit normal, tight;
    uint64_t used;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &normal), 0);
    tight = normal;
    tight.rlim_cur = (rlim_t)fd + 1;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    used = cpu_ms();
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    sleep_ms(400);
    used = cpu_ms() - used;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &normal), 0);
    assert_int_equal(atomic_load(&server->shared.connections), 0);
    assert_true(used < 200);
    expect_null_works(fd, 1);
    close(fd);
}

static void
a_small_call_and_its_reply_do_not_wait(void **state)
{
    int fd = connect_to(*state, SOCK_STREAM, "127.0.0.1");
    uint64_t shortest = TIMEOUT_MS;

    for (uint32_t i = 0; i < 200; i++) {
        uint64_t begin = now_ms();

        expect_null_works(fd, i);
        shortest = MIN(shortest, now_ms() - begin);
    }
    assert_true(shortest < 30);                          /* Nagle's algorithm and delayed ACKs would cost 40 ms each */
    close(fd);
}

static void
a_datagram_is_answered_from_the_address_that_was_called(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "127.0.0.2", "127.1.2.3" };
    struct server *server = *state;

    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        int fd = connect_to(server, SOCK_DGRAM, "127.0.0.1");
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(server->sockets.port) };
        struct sockaddr_in from;
        struct sockaddr none = { .sa_family = AF_UNSPEC };
        socklen_t len = sizeof(from);
        uint8_t data[64];
        size_t n = put_call(data, false, 5, PROC_NULL, NULL, 0);

        assert_int_equal(connect(fd, &none, sizeof(none)), 0);
        inet_pton(AF_INET, hosts[i], &to.sin_addr);
        assert_int_equal(sendto(fd, data, n, 0, (struct sockaddr *)&to, sizeof(to)), n);
        expect_success(data, (size_t)recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len), 5);
        assert_int_equal(from.sin_addr.s_addr, to.sin_addr.s_addr);
        assert_int_equal(from.sin_port, to.sin_port);
        close(fd);
    }
}

static void
ipv6_is_served_where_there_is_any(void **state)
{
    struct server *server = *state;
    struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(server->sockets.port),
                               .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in6 from;
    socklen_t from_len = sizeof(from);
    int tcp, udp;
    uint8_t data[64];
    size_t len;

    if (server->nlisteners == 1)
        skip();
    tcp = socket(AF_INET6, SOCK_STREAM, 0);
    udp = socket(AF_INET6, SOCK_DGRAM, 0);
    if (connect(tcp, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(tcp);
        close(udp);
        skip();                                          /* the loopback device has no IPv6 address */
    }
    expect_null_works(tcp, 1);
    len = put_call(data, false, 2, PROC_NULL, NULL, 0);
    assert_int_equal(sendto(udp, data, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
    len = (size_t)recvfrom(udp, data, sizeof(data), 0, (struct sockaddr *)&from, &from_len);
    expect_success(data, len, 2);
    assert_memory_equal(&from.sin6_addr, &to.sin6_addr, sizeof(to.sin6_addr));
    close(tcp);
    close(udp);
}

static void
datagrams_of_every_size_are_answered(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 4000, 4097, 9000, 32768, 65507 - 28 - 40 };
    int fd = connect_to(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t *args = malloc(1 << 16);
    uint8_t *data = malloc(1 << 17);

    assert_non_null(args);
    assert_non_null(data);
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct wire_out out = { args, args + (1 << 16), false };
        uint32_t size = MIN(sizes[i], 65507 - 24 - 4 - 100 - 4);
        size_t len;

        for (size_t k = 0; k < size; k++)
            data[k] = pattern_at(k);
        wire_put_opaque(&out, data, size);
        len = put_call(data, false, i, PROC_ECHO, args, (size_t)(out.p - args));
        assert_int_equal(send(fd, data, len, 0), len);
        len = (size_t)recv(fd, data, 1 << 17, 0);
        expect_success(data, len, i);
        assert_int_equal(len, 28 + wire_padded(size));
        assert_memory_equal(data + 24, args, len - 24);
    }
    free(args);
    free(data);
    close(fd);
}

static void
a_lent_datagram_holds_what_fits_and_no_more(void **state)
{
    int fd = connect_to(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t *data = malloc(1 << 17);
    size_t len;

    assert_non_null(data);
    len = put_call_u32(data, false, 1, PROC_LEND, 60001);
    assert_int_equal(send(fd, data, len, 0), len);
    len = (size_t)recv(fd, data, 1 << 17, 0);
    expect_success(data, len, 1);
    assert_int_equal(len, 28 + 60004);
    for (size_t k = 0; k < 60001; k++)
        assert_int_equal(data[28 + k], pattern_at(k));
    len = put_call_u32(data, false, 2, PROC_LEND, 65500);
    assert_int_equal(send(fd, data, len, 0), len);
    len = (size_t)recv(fd, data, 1 << 17, 0);
    assert_int_equal(len, 24);
    assert_int_equal(u32_at(data + 20), CALL_SYSTEM_ERR);
    free(data);
    close(fd);
}

static void
rubbish_in_datagrams_is_ignored(void **state)
{
    int fd = connect_to(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t data[128];
    size_t len;

    for (len = 0; len < 24; len++) {
        put_call(data, false, 1, PROC_NULL, NULL, 0);
        assert_int_equal(send(fd, data, len, 0), len);
    }
    len = put_call(data, true, 2, PROC_NULL, NULL, 0);
    assert_int_equal(send(fd, data, len, 0), len);       /* a record mark in a datagram: type is no CALL */
    len = put_call(data, false, 3, PROC_NULL, NULL, 0);
    assert_int_equal(send(fd, data, len, 0), len);
    expect_success(data, (size_t)recv(fd, data, sizeof(data), 0), 3);
    close(fd);
}

/* What an earlier, longer datagram left behind is not taken for arguments. */
static void
a_datagram_is_read_within_its_own_length(void **state)
{
    int fd = connect_to(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t args[5008] = { 0, 0, 0x13, 0x88 };
    uint8_t data[6000];
    size_t len;

    len = put_call(data, false, 1, PROC_ECHO, args, 5004);
    assert_int_equal(send(fd, data, len, 0), len);
    assert_true(recv(fd, data, sizeof(data), 0) > 5000);
    len = put_call(data, false, 2, PROC_ECHO, args, 4500);
    assert_int_equal(send(fd, data, len, 0), len);
    assert_int_equal(recv(fd, data, sizeof(data), 0), 24);
    assert_int_equal(u32_at(data + 20), CALL_GARBAGE_ARGS);
    close(fd);
}

static void
a_burst_of_datagrams_is_answered(void **state)
{
    int fd = connect_to(*state, SOCK_DGRAM, "127.0.0.1");
    bool seen[100] = { false };
    uint8_t data[64];

    for (uint32_t i = 0; i < 100; i++) {
        size_t len = put_call_u32(data, false, i, i % 2 ? PROC_NULL : PROC_HOLD, 0);

        assert_int_equal(send(fd, data, len, 0), len);
    }
    assert_int_equal(send(fd, data, put_call(data, false, 1000, PROC_RELEASE, NULL, 0), 0), 40);
    for (uint32_t i = 0; i < 101; i++) {
        assert_true(recv(fd, data, sizeof(data), 0) >= 24);
        if (u32_at(data) == 1000)
            continue;
        assert_true(u32_at(data) < 100);
        assert_false(seen[u32_at(data)]);
        seen[u32_at(data)] = true;
    }
    close(fd);
}

struct drain_message {
    struct loop_message message;        /* first */
    struct server *server;
    uint64_t timeout_ms;
};

static void
drained(void *context)
{
    struct server *server = context;

    atomic_store(&server->drained, true);
}

static void
begin_drain(struct loop_message *message)
{
    struct drain_message *drain = (struct drain_message *)message;

    transport_drain(drain->server->transport, drain->timeout_ms, drained);
    free(drain);
}

static void
post_drain(struct server *server, uint64_t timeout_ms)
{
    struct drain_message *drain = calloc(1, sizeof(*drain));

    assert_non_null(drain);
    drain->message.run = begin_drain;
    drain->server = server;
    drain->timeout_ms = timeout_ms;
    loop_post(server->transport->loop, &drain->message);
}

static void
draining_answers_what_is_under_way_and_reads_no_more(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    int udp = connect_to(server, SOCK_DGRAM, "127.0.0.1");
    struct release_message *message = calloc(1, sizeof(*message));
    uint8_t data[64];

    assert_non_null(message);
    send_all(fd, data, put_call_u32(data, true, 1, PROC_HOLD, 7));
    send_all(udp, data, put_call_u32(data, false, 2, PROC_HOLD, 8));
    while (atomic_load(&server->held_count) < 2)
        sleep_ms(1);
    post_drain(server, 60000);
    sleep_ms(20);
    send_all(fd, data, put_call(data, true, 3, PROC_NULL, NULL, 0));
    sleep_ms(20);
    assert_false(atomic_load(&server->drained));
    message->message.run = release;
    message->server = server;
    loop_post(server->transport->loop, &message->message);
    expect_success(data, receive_reply(fd, data, sizeof(data)), 1);
    expect_success(data, (size_t)recv(udp, data, sizeof(data), 0), 2);
    while (!atomic_load(&server->drained))
        sleep_ms(1);
    assert_int_equal(recv(fd, data, sizeof(data), MSG_DONTWAIT), -1);
    close(fd);
    close(udp);
}

/* How many calls are held once no more seem to come; at least one. */
static unsigned
wait_for_held(struct server *server)
{
    uint64_t end = now_ms() + TIMEOUT_MS;

    while (atomic_load(&server->held_count) == 0 && now_ms() < end)
        sleep_ms(1);
    sleep_ms(100);
    return atomic_load(&server->held_count);
}

static void
calls_that_will_have_large_replies_are_taken_up_to_the_bound(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 20];
    size_t len = 0;

    for (uint32_t i = 0; i < 20; i++)
        len += put_call_u32(data + len, true, i, PROC_LARGE_HOLD, i);
    send_all(fd, data, len);
    for (uint32_t answered = 0; answered < 20; answered += release_and_receive(server, fd))
        assert_in_range(wait_for_held(server), 1, REPLY_BYTES_MAX / LARGE_REPLY);
    close(fd);
}

static void
draining_gives_up_after_its_timeout(void **state)
{
    struct server *server = *state;
    int fd = connect_to(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64];
    uint64_t begin;

    send_all(fd, data, put_call_u32(data, true, 1, PROC_HOLD, 7));
    while (atomic_load(&server->held_count) < 1)
        sleep_ms(1);
    begin = now_ms();
    post_drain(server, 50);
    while (!atomic_load(&server->drained))
        sleep_ms(1);
    assert_true(now_ms() - begin >= 40);
    close(fd);
}

struct large_sender {
    int fd;
    uint32_t proc;
    uint32_t count;
};

/* Calls with a megabyte of arguments. */
static void *
send_large_calls(void *context)
{
    const struct large_sender *sender = context;
    uint8_t *args = calloc(1, 1 << 20);
    uint8_t *data = malloc(64 + (1 << 20));

    assert_non_null(args);
    assert_non_null(data);
    for (uint32_t i = 0; i < sender->count; i++)
        send_all(sender->fd, data, put_call(data, true, i, sender->proc, args, 1 << 20));
    free(args);
    free(data);
    return NULL;
}

static void
when_memory_is_short_connections_wait_and_go_on_later(void **state)
{
    struct server *server = *state;
    struct large_sender sender = { connect_to(server, SOCK_STREAM, "127.0.0.1"), PROC_HOLD, 30 };
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, send_large_calls, &sender), 0);
    for (uint32_t answered = 0; answered < sender.count; answered += release_and_receive(server, sender.fd))
        assert_in_range(wait_for_held(server), 1, SMALL_BUDGET >> 20);
    pthread_join(thread, NULL);
    close(sender.fd);
}

static void
large_calls_of_several_connections_share_little_memory(void **state)
{
    struct large_sender senders[4];
    pthread_t threads[4];
    uint8_t reply[64];

    for (int i = 0; i < 4; i++) {
        senders[i] = (struct large_sender){ connect_to(*state, SOCK_STREAM, "127.0.0.1"), PROC_NULL, 20 };
        assert_int_equal(pthread_create(&threads[i], NULL, send_large_calls, &senders[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < senders[i].count; k++)
            expect_success(reply, receive_reply(senders[i].fd, reply, sizeof(reply)), k);
        pthread_join(threads[i], NULL);
        close(senders[i].fd);
    }
}

struct counted_message {
    struct loop_message message;        /* first */
    unsigned *next;                     /* of the sender: the number that should come next */
    unsigned number;
    atomic_uint *count;
};

struct sender {
    struct server *server;
    atomic_uint *count;
    unsigned next;
};

#define MESSAGES 20000

static void
count_message(struct loop_message *message)
{
    struct counted_message *counted = (struct counted_message *)message;

    assert_int_equal(counted->number, *counted->next);
    (*counted->next)++;
    atomic_fetch_add(counted->count, 1);
    free(counted);
}

static void *
post_messages(void *context)
{
    struct sender *sender = context;

    for (unsigned i = 0; i < MESSAGES; i++) {
        struct counted_message *message = calloc(1, sizeof(*message));

        message->message.run = count_message;
        message->next = &sender->next;
        message->number = i;
        message->count = sender->count;
        loop_post(sender->server->transport->loop, &message->message);
    }
    return NULL;
}

static void
messages_from_many_threads_all_run_and_in_order(void **state)
{
    struct sender senders[4];
    pthread_t threads[4];
    atomic_uint count = 0;

    for (int i = 0; i < 4; i++) {
        senders[i] = (struct sender){ *state, &count, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, post_messages, &senders[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    while (atomic_load(&count) < 4 * MESSAGES)
        sleep_ms(1);
}

static void
a_port_in_use_is_named(void **state)
{
    struct server *server = *state;
    struct sockaddr_storage loopback = { .ss_family = AF_INET };
    struct listen_config config = { .addresses = &loopback, .naddresses = 1, .port = server->sockets.port, .udp = true,
                                    .udp_sockets = 2, .backlog = 8 };
    struct listen_set set;
    char error[200], expected[200];

    ((struct sockaddr_in *)&loopback)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(listen_open(&config, &set, error, sizeof(error)), -EADDRINUSE);
    snprintf(expected, sizeof(expected), "UDP port %u on 127.0.0.1 is in use", config.port);
    assert_string_equal(error, expected);
    config.tcp = true;
    assert_int_equal(listen_open(&config, &set, error, sizeof(error)), -EADDRINUSE);
    snprintf(expected, sizeof(expected), "TCP port %u on 127.0.0.1 is in use", config.port);
    assert_string_equal(error, expected);
    ((struct sockaddr_in *)&loopback)->sin_addr.s_addr = htonl(0x0a090909);
    assert_int_equal(listen_open(&config, &set, error, sizeof(error)), -EADDRNOTAVAIL);
    assert_string_equal(error, "address 10.9.9.9 is not one of this machine");
}

static void
one_port_serves_every_socket(void **state)
{
    struct listen_config config = { .tcp = true, .udp = true, .udp_sockets = 3, .backlog = 8, .udp_buffer = 1 << 20 };
    struct listen_set set;
    char error[200];

    (void)state;
    assert_int_equal(listen_open(&config, &set, error, sizeof(error)), 0);
    assert_true(set.port != 0);
    assert_true(set.count == 4 || set.count == 8);
    for (size_t i = 0; i < set.count; i++) {
        const struct sockaddr_in *address = (const struct sockaddr_in *)&set.sockets[i].address;

        assert_int_equal(ntohs(address->sin_port), set.port);
    }
    listen_close(&set);
}

#define SERVED(test) cmocka_unit_test_setup_teardown(test, server_start, server_stop)
#define SERVED_SMALL(test) cmocka_unit_test_setup_teardown(test, small_server_start, server_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SERVED(a_thousand_calls_in_one_segment_are_all_answered),
        SERVED(calls_cut_into_segments_and_fragments_of_one_byte_are_answered),
        SERVED(large_and_small_records_in_turn_arrive_whole),
        SERVED(replies_leave_in_the_order_in_which_they_are_ready),
        SERVED(beyond_the_bound_of_calls_the_connection_waits),
        SERVED(after_the_end_of_the_stream_calls_are_still_answered),
        SERVED(a_connection_that_ends_before_its_calls_does_no_harm),
        SERVED(a_client_that_does_not_read_is_not_read_and_others_are_served),
        SERVED(a_client_that_never_reads_is_stopped_in_the_end),
        SERVED(lent_bytes_arrive_with_their_padding),
        SERVED(bytes_of_a_pipe_arrive_with_their_padding),
        SERVED(a_client_that_leaves_takes_its_pipes_along),
        SERVED(calls_that_will_have_large_replies_are_taken_up_to_the_bound),
        SERVED(refusals_leave_the_connection_in_step),
        SERVED(a_writer_that_runs_full_becomes_a_system_error),
        SERVED(a_call_has_as_much_memory_as_it_wants),
        SERVED(rubbish_closes_the_connection),
        SERVED(announcing_a_large_record_costs_little_once_memory_is_tight),
        SERVED(at_the_bound_of_connections_the_one_that_is_idle_longest_makes_room),
        SERVED(a_connection_beyond_the_bound_is_closed_where_none_is_idle),
        SERVED(without_descriptors_accepting_pauses_and_goes_on_later),
        SERVED(a_small_call_and_its_reply_do_not_wait),
        SERVED(a_datagram_is_answered_from_the_address_that_was_called),
        SERVED(ipv6_is_served_where_there_is_any),
        SERVED(datagrams_of_every_size_are_answered),
        SERVED(a_lent_datagram_holds_what_fits_and_no_more),
        SERVED(rubbish_in_datagrams_is_ignored),
        SERVED(a_datagram_is_read_within_its_own_length),
        SERVED(a_burst_of_datagrams_is_answered),
        SERVED(draining_answers_what_is_under_way_and_reads_no_more),
        SERVED(draining_gives_up_after_its_timeout),
        SERVED_SMALL(when_memory_is_short_connections_wait_and_go_on_later),
        SERVED_SMALL(large_calls_of_several_connections_share_little_memory),
        SERVED(messages_from_many_threads_all_run_and_in_order),
        SERVED(a_port_in_use_is_named),
        cmocka_unit_test(one_port_serves_every_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
