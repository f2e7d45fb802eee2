/* tests/unit/test_rpc_bounds.c - what connections may hold, one and all together: calls, replies, memory, descriptors. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rpc/record.h"
#include "tests/lib/echo_server.h"

static void
beyond_the_bound_of_calls_the_connection_waits(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    int other = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 200], reply[64];
    bool seen[200] = { false };
    size_t len = 0;

    for (uint32_t i = 0; i < 200; i++)
        len += echo_put_u32(data + len, true, i, PROC_HOLD, i);
    echo_send(fd, data, len);
    for (unsigned done = 0; done < 200; done += 64) {
        while (atomic_load(&server->held_count) < MIN(64, 200 - done))
            echo_sleep_ms(1);
        echo_sleep_ms(20);
        assert_int_equal(atomic_load(&server->held_count), MIN(64, 200 - done));
        echo_send(other, data, echo_put(data, true, 1000, PROC_RELEASE, NULL, 0));
        echo_expect_success(reply, echo_receive(other, reply, sizeof(reply)), 1000);
    }
    for (int i = 0; i < 200; i++) {
        echo_receive(fd, reply, sizeof(reply));
        assert_true(echo_u32_at(reply) < 200);
        assert_false(seen[echo_u32_at(reply)]);
        seen[echo_u32_at(reply)] = true;
    }
    close(fd);
    close(other);
}

/* Send calls until the server takes no more; returns how many. */
static uint32_t
fill(int fd, uint32_t proc, uint32_t value)
{
    uint8_t data[64];
    uint32_t count = 0;

    for (; count < 100000; count++) {
        size_t len = echo_put_u32(data, true, count, proc, value);
        struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
        ssize_t n;

        if (poll(&poll_fd, 1, 300) == 0)
            break;
        n = send(fd, data, len, MSG_NOSIGNAL);
        assert_true(n > 0);
        if ((size_t)n < len)
            echo_send(fd, data + n, len - (size_t)n);
    }
    return count;
}

static void
a_client_that_does_not_read_is_not_read_and_others_are_served(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    int other = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    uint8_t *reply = malloc(64 + (1 << 20));
    const uint32_t size = 100003;
    uint32_t count;

    assert_non_null(reply);
    count = 2000;
    for (uint32_t i = 0; i < count; i++)
        echo_send(fd, reply, echo_put_u32(reply, true, i, PROC_LEND, size));
    echo_sleep_ms(200);
    assert_true(atomic_load(&server->shared.budget.used_bytes) < ECHO_BUDGET / 4);
    for (uint32_t i = 0; i < 100; i++)
        echo_expect_works(other, i);
    for (uint32_t i = 0; i < count; i++) {
        size_t len = echo_receive(fd, reply, 64 + (1 << 20));

        echo_expect_success(reply, len, i);
        assert_int_equal(len, 28 + wire_padded(size));
    }
    free(reply);
    close(fd);
    close(other);
}

static void
a_client_that_never_reads_is_stopped_in_the_end(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    int other = echo_connect(server, SOCK_STREAM, "127.0.0.1");

    assert_true(fill(fd, PROC_LEND, 50000) < 100000);
    assert_true(atomic_load(&server->shared.budget.used_bytes) < ECHO_BUDGET / 4);
    echo_expect_works(other, 1);
    close(fd);
    close(other);
}

static void
announcing_a_large_record_costs_little_once_memory_is_tight(void **state)
{
    struct echo_server *server = *state;
    uint8_t data[6000] = { 0x80, 0x10, 0, 0 };
    int fds[80];

    for (size_t i = 0; i < 80; i++) {
        fds[i] = echo_connect(server, SOCK_STREAM, "127.0.0.1");
        echo_send(fds[i], data, sizeof(data));
    }
    echo_sleep_ms(100);
    assert_true(atomic_load(&server->shared.budget.used_bytes) < ECHO_BUDGET * 3 / 4);
    for (size_t i = 0; i < 80; i++)
        close(fds[i]);
}

static void
at_the_bound_of_connections_the_one_that_is_idle_longest_makes_room(void **state)
{
    struct echo_server *server = *state;
    int fds[101];

    for (size_t i = 0; i < 101; i++) {
        fds[i] = echo_connect(server, SOCK_STREAM, "127.0.0.1");
        echo_expect_works(fds[i], (uint32_t)i);
    }
    echo_expect_closed(fds[0]);
    for (size_t i = 1; i < 101; i++)
        echo_expect_works(fds[i], (uint32_t)i);
    for (size_t i = 0; i < 101; i++)
        close(fds[i]);
}

static void
a_connection_beyond_the_bound_is_closed_where_none_is_idle(void **state)
{
    struct echo_server *server = *state;
    uint8_t data[64];
    int fds[100], late;

    for (uint32_t i = 0; i < 100; i++) {
        fds[i] = echo_connect(server, SOCK_STREAM, "127.0.0.1");
        echo_send(fds[i], data, echo_put_u32(data, true, i, PROC_HOLD, i));
    }
    while (atomic_load(&server->held_count) < 100)
        echo_sleep_ms(1);
    late = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    echo_expect_closed(late);
    close(late);
    echo_release(server);
    for (uint32_t i = 0; i < 100; i++) {
        size_t len = echo_receive(fds[i], data, sizeof(data));

        echo_expect_success(data, len, i);
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
    struct echo_server *server = *state;
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
    echo_sleep_ms(400);
    used = cpu_ms() - used;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &normal), 0);
    assert_int_equal(atomic_load(&server->shared.connections), 0);
    assert_true(used < 200);
    echo_expect_works(fd, 1);
    close(fd);
}

/* How many calls are held once no more seem to come; at least one. */
static unsigned
wait_for_held(struct echo_server *server)
{
    uint64_t end = echo_now_ms() + ECHO_TIMEOUT_MS;

    while (atomic_load(&server->held_count) == 0 && echo_now_ms() < end)
        echo_sleep_ms(1);
    echo_sleep_ms(100);
    return atomic_load(&server->held_count);
}

/* Have all that is held answered, and take the replies, those to calls that came just then included; how many. */
static uint32_t
release_and_receive(struct echo_server *server, int fd)
{
    unsigned held = atomic_load(&server->held_count), before = atomic_load(&server->released_count);
    uint32_t taken = 0;
    uint8_t reply[64];

    echo_release(server);
    while (atomic_load(&server->released_count) - before < held)
        echo_sleep_ms(1);
    for (; taken < atomic_load(&server->released_count) - before; taken++) {
        size_t len = echo_receive(fd, reply, sizeof(reply));

        echo_expect_success(reply, len, echo_u32_at(reply));
    }
    return taken;
}

static void
calls_that_will_have_large_replies_are_taken_up_to_the_bound(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 20];
    size_t len = 0;

    for (uint32_t i = 0; i < 20; i++)
        len += echo_put_u32(data + len, true, i, PROC_LARGE_HOLD, i);
    echo_send(fd, data, len);
    for (uint32_t answered = 0; answered < 20; answered += release_and_receive(server, fd))
        assert_in_range(wait_for_held(server), 1, ECHO_REPLY_BYTES_MAX / ECHO_LARGE_REPLY);
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
        echo_send(sender->fd, data, echo_put(data, true, i, sender->proc, args, 1 << 20));
    free(args);
    free(data);
    return NULL;
}

static void
when_memory_is_short_connections_wait_and_go_on_later(void **state)
{
    struct echo_server *server = *state;
    struct large_sender sender = { echo_connect(server, SOCK_STREAM, "127.0.0.1"), PROC_HOLD, 30 };
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, send_large_calls, &sender), 0);
    for (uint32_t answered = 0; answered < sender.count; answered += release_and_receive(server, sender.fd))
        assert_in_range(wait_for_held(server), 1, ECHO_SMALL_BUDGET >> 20);
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
        senders[i] = (struct large_sender){ echo_connect(*state, SOCK_STREAM, "127.0.0.1"), PROC_NULL, 20 };
        assert_int_equal(pthread_create(&threads[i], NULL, send_large_calls, &senders[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < senders[i].count; k++)
            echo_expect_success(reply, echo_receive(senders[i].fd, reply, sizeof(reply)), k);
        pthread_join(threads[i], NULL);
        close(senders[i].fd);
    }
}

/* A whole call of PROC_NULL with so many bytes of arguments, zeros all of them; to be freed. *len: of all. */
static uint8_t *
null_with(uint32_t xid, uint32_t args, size_t *len)
{
    uint8_t *data = calloc(1, 64 + args);
    uint32_t mark;

    assert_non_null(data);
    *len = echo_put(data, true, xid, PROC_NULL, NULL, 0) + args;
    mark = htonl(RECORD_LAST | (uint32_t)(*len - RECORD_MARK_BYTES));
    memcpy(data, &mark, sizeof(mark));
    return data;
}

/* Calls that are held leave too little for the first halves of the others. */
static void
calls_that_have_come_by_half_and_fill_all_memory_are_ended_one_after_the_other(void **state)
{
    enum { HELD = 6, CLIENTS = 60, HALF = 250 << 10 };
    struct large_sender holder = { echo_connect(*state, SOCK_STREAM, "127.0.0.1"), PROC_HOLD, HELD };
    uint8_t *data, reply[64];
    int fds[CLIENTS];
    size_t len;

    send_large_calls(&holder);
    while (wait_for_held(*state) < HELD)
        echo_sleep_ms(1);
    data = null_with(7, 400 << 10, &len);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
        echo_send(fds[i], data, HALF);
    }
    echo_sleep_ms(200);
    for (int i = 0; i < CLIENTS; i++)
        echo_send(fds[i], data + HALF, len - HALF);
    for (int i = 0; i < CLIENTS; i++) {
        echo_expect_success(reply, echo_receive(fds[i], reply, sizeof(reply)), 7);
        close(fds[i]);
    }
    free(data);
    for (unsigned answered = 0; answered < HELD; answered += release_and_receive(*state, holder.fd))
        continue;
    close(holder.fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ECHO_TEST(beyond_the_bound_of_calls_the_connection_waits),
        ECHO_TEST(a_client_that_does_not_read_is_not_read_and_others_are_served),
        ECHO_TEST(a_client_that_never_reads_is_stopped_in_the_end),
        ECHO_TEST(calls_that_will_have_large_replies_are_taken_up_to_the_bound),
        ECHO_TEST(announcing_a_large_record_costs_little_once_memory_is_tight),
        ECHO_TEST(at_the_bound_of_connections_the_one_that_is_idle_longest_makes_room),
        ECHO_TEST(a_connection_beyond_the_bound_is_closed_where_none_is_idle),
        ECHO_TEST(without_descriptors_accepting_pauses_and_goes_on_later),
        ECHO_TEST_SMALL(when_memory_is_short_connections_wait_and_go_on_later),
        ECHO_TEST_SMALL(large_calls_of_several_connections_share_little_memory),
        ECHO_TEST_SMALL(calls_that_have_come_by_half_and_fill_all_memory_are_ended_one_after_the_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
