/* tests/lib/echo_server.c - see echo_server.h. */
#include "tests/lib/echo_server.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PROG 0x20000042
#define RECORD_MAX ((uint32_t)(1 << 20) + 4096)

struct held_call {
    struct call call;                   /* first */
    uint32_t value;
    struct held_call *older;
};

uint8_t
echo_pattern(size_t i)
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
hold(struct echo_server *server, struct held_call *held)
{
    held->value = wire_get_u32(&held->call.args);
    held->older = server->held;
    server->held = held;
    atomic_fetch_add(&server->held_count, 1);
}

static void
release_all(struct echo_server *server)
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

struct release_message {
    struct loop_message message;        /* first */
    struct echo_server *server;
};

static void
release(struct loop_message *message)
{
    release_all(((struct release_message *)message)->server);
    free(message);
}

void
echo_release(struct echo_server *server)
{
    struct release_message *message = calloc(1, sizeof(*message));

    assert_non_null(message);
    message->message.run = release;
    message->server = server;
    loop_post(server->transport->loop, &message->message);
}

static void
reply_lent(struct echo_server *server, struct call *call)
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
reply_piped(struct echo_server *server, struct call *call)
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
compute(uint32_t us)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void
burn(struct echo_server *server, struct call *call)
{
    uint32_t us = wire_get_u32(&call->args);

    compute(us);
    atomic_fetch_add(&server->burnt_count, 1);
    reply_u32(call, us);
}

static void
yield(struct call *call)
{
    struct held_call *held = (struct held_call *)call;

    if (held->value == 0) {
        reply_u32(call, 0);
        return;
    }
    held->value--;
    compute(ECHO_YIELD_US);
    call_yield(call, yield);
}

static void
dispatch(struct call *call)
{
    struct echo_server *server = call->transport->context;
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
        call_expect(call, ECHO_LARGE_REPLY);
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
    case PROC_BURN:
        burn(server, call);
        break;
    case PROC_YIELD:
        ((struct held_call *)call)->value = wire_get_u32(&call->args);
        yield(call);
        break;
    default:
        call_reply_error(call, CALL_PROC_UNAVAIL, 0, 0);
        break;
    }
}

static void
accepted(void *context, int fd)
{
    struct echo_server *server = context;

    (void)transport_add_connection(server->transport, fd);
}

static void *
run(void *context)
{
    static const uint32_t versions[] = { 2, 3 };
    static const struct program program = { PROG, versions, 2, dispatch };
    static const struct program *const programs[] = { &program };
    struct echo_server *server = context;
    struct transport_config config = {
        .shared = &server->shared, .programs = programs, .nprograms = 1, .call_size = sizeof(struct held_call),
        .context = server,
    };

    assert_int_equal(transport_new(&config, &server->transport), 0);
    server->pattern = buf_get(server->transport->buffers, 1 << 20);
    assert_non_null(server->pattern);
    for (size_t i = 0; i < server->pattern->capacity; i++)
        server->pattern->data[i] = echo_pattern(i);
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
    struct echo_server *server = calloc(1, sizeof(*server));
    struct listen_config config = { .tcp = true, .udp = true, .udp_sockets = 1, .backlog = 64, .udp_buffer = 1 << 20 };
    char error[200] = "";

    assert_non_null(server);
    server->shared.limits = (struct transport_limits){
        .record_bytes = RECORD_MAX, .calls_per_conn = ECHO_CALLS_MAX, .reply_bytes_per_conn = ECHO_REPLY_BYTES_MAX,
        .connections = ECHO_CONNECTIONS_MAX,
    };
    server->shared.budget.max_bytes = budget_bytes;
    assert_int_equal(clients_new(ECHO_CONNECTIONS_MAX, &server->shared.clients), 0);
    if (listen_open(&config, &server->sockets, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    pthread_barrier_init(&server->started, NULL, 2);
    assert_int_equal(pthread_create(&server->thread, NULL, run, server), 0);
    pthread_barrier_wait(&server->started);
    *state = server;
    return 0;
}

int
echo_start(void **state)
{
    return start_with_budget(state, ECHO_BUDGET);
}

int
echo_start_small(void **state)
{
    return start_with_budget(state, ECHO_SMALL_BUDGET);
}

int
echo_stop(void **state)
{
    struct echo_server *server = *state;

    loop_stop(server->transport->loop);
    pthread_join(server->thread, NULL);
    assert_int_equal(atomic_load(&server->shared.budget.used_bytes), 0);
    assert_int_equal(atomic_load(&server->shared.connections), 0);
    clients_free(server->shared.clients);
    free(server->sockets.sockets);
    pthread_barrier_destroy(&server->started);
    free(server);
    return 0;
}

void
echo_sleep_ms(unsigned ms)
{
    struct timespec time = { ms / 1000, (long)(ms % 1000) * 1000000 };

    nanosleep(&time, NULL);
}

uint64_t
echo_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int
echo_connect(const struct echo_server *server, int type, const char *host)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(server->sockets.port) };
    struct timeval timeout = { ECHO_TIMEOUT_MS / 1000, 0 };
    int fd = socket(AF_INET, type, 0);

    assert_true(fd >= 0);
    assert_int_equal(inet_pton(AF_INET, host, &address.sin_addr), 1);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)), 0);
    return fd;
}

size_t
echo_put(uint8_t *p, bool mark, uint32_t xid, uint32_t proc, const void *args, size_t len)
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

size_t
echo_put_u32(uint8_t *p, bool mark, uint32_t xid, uint32_t proc, uint32_t value)
{
    value = htobe32(value);
    return echo_put(p, mark, xid, proc, &value, 4);
}

void
echo_send(int fd, const void *data, size_t len)
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

size_t
echo_receive(int fd, uint8_t *reply, size_t size)
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

uint32_t
echo_u32_at(const uint8_t *p)
{
    uint32_t value;

    memcpy(&value, p, 4);
    return be32toh(value);
}

void
echo_expect_success(const uint8_t *reply, size_t len, uint32_t xid)
{
    assert_true(len >= 24);
    assert_int_equal(echo_u32_at(reply), xid);
    assert_int_equal(echo_u32_at(reply + 4), 1);
    for (int i = 8; i < 24; i += 4)
        assert_int_equal(echo_u32_at(reply + i), 0);
}

void
echo_expect_works(int fd, uint32_t xid)
{
    uint8_t data[64];

    echo_send(fd, data, echo_put(data, true, xid, PROC_NULL, NULL, 0));
    echo_expect_success(data, echo_receive(fd, data, sizeof(data)), xid);
}

void
echo_expect_closed(int fd)
{
    uint8_t byte;
    ssize_t n = recv(fd, &byte, 1, 0);

    assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
}
