/* tests/unit/test_rpc_conn.c - connections: calls and replies as they are cut, gathered and refused. */
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/echo_server.h"

static void
a_thousand_calls_in_one_segment_are_all_answered(void **state)
{
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t *data = malloc(64 * 1000);
    uint8_t reply[64];
    size_t len = 0;

    assert_non_null(data);
    for (uint32_t i = 0; i < 1000; i++)
        len += echo_put(data + len, true, i, PROC_NULL, NULL, 0);
    echo_send(fd, data, len);
    for (uint32_t i = 0; i < 1000; i++)
        echo_expect_success(reply, echo_receive(fd, reply, sizeof(reply)), i);
    free(data);
    close(fd);
}

static void
calls_cut_into_segments_and_fragments_of_one_byte_are_answered(void **state)
{
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64], fragments[5 * 64], reply[64];
    size_t len = echo_put(data, true, 1, PROC_NULL, NULL, 0);
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        echo_send(fd, data + i, 1);
        echo_sleep_ms(1);
    }
    echo_expect_success(reply, echo_receive(fd, reply, sizeof(reply)), 1);
    len = echo_put(data, false, 2, PROC_NULL, NULL, 0);
    for (size_t i = 0; i < len; i++) {
        memcpy(fragments + n, i + 1 == len ? "\x80\0\0\1" : "\0\0\0\1", 4);
        fragments[n + 4] = data[i];
        n += 5;
    }
    echo_send(fd, fragments, n);
    echo_expect_success(reply, echo_receive(fd, reply, sizeof(reply)), 2);
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
            args[4 + k] = echo_pattern(k + i);
        echo_send(fd, data, echo_put(data, true, i, PROC_ECHO, args, 4 + wire_padded(n)));
    }
    free(args);
    free(data);
    return NULL;
}

static void
large_and_small_records_in_turn_arrive_whole(void **state)
{
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t *reply = malloc(64 + (1 << 20));
    pthread_t sender;

    assert_non_null(reply);
    assert_int_equal(pthread_create(&sender, NULL, send_records, &fd), 0);
    for (uint32_t i = 0; i < 24; i++) {
        uint32_t n = i % 3 == 2 ? 100 + i : (1u << 20) - i * 4;
        size_t len = echo_receive(fd, reply, 64 + (1 << 20));

        echo_expect_success(reply, len, i);
        assert_int_equal(len, 28 + wire_padded(n));
        assert_int_equal(echo_u32_at(reply + 24), n);
        for (size_t k = 0; k < n; k++) {
            if (reply[28 + k] != echo_pattern(k + i))
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
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 20], reply[64];
    size_t len = 0;

    for (uint32_t i = 0; i < 10; i++)
        len += echo_put_u32(data + len, true, i, PROC_HOLD, 100 + i);
    len += echo_put(data + len, true, 50, PROC_NULL, NULL, 0);
    echo_send(fd, data, len);
    echo_expect_success(reply, echo_receive(fd, reply, sizeof(reply)), 50);
    echo_send(fd, data, echo_put(data, true, 60, PROC_RELEASE, NULL, 0));
    for (uint32_t i = 10; i-- > 0;) {
        len = echo_receive(fd, reply, sizeof(reply));
        echo_expect_success(reply, len, i);
        assert_int_equal(echo_u32_at(reply + 24), 100 + i);
    }
    echo_expect_success(reply, echo_receive(fd, reply, sizeof(reply)), 60);
    close(fd);
}

static void
after_the_end_of_the_stream_calls_are_still_answered(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    int other = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64 * 8], reply[64];
    size_t len = 0;

    for (uint32_t i = 0; i < 4; i++)
        len += echo_put_u32(data + len, true, i, PROC_HOLD, i);
    len += echo_put(data + len, true, 9, PROC_NULL, NULL, 0);
    echo_send(fd, data, len);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    echo_expect_success(reply, echo_receive(fd, reply, sizeof(reply)), 9);
    while (atomic_load(&server->held_count) < 4)
        echo_sleep_ms(1);
    echo_send(other, data, echo_put(data, true, 60, PROC_RELEASE, NULL, 0));
    for (uint32_t i = 4; i-- > 0;)
        echo_expect_success(reply, echo_receive(fd, reply, sizeof(reply)), i);
    echo_expect_closed(fd);
    close(fd);
    close(other);
}

static void
a_connection_that_ends_before_its_calls_does_no_harm(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    int other = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    struct linger reset = { 1, 0 };
    uint8_t data[64];

    echo_send(fd, data, echo_put_u32(data, true, 1, PROC_HOLD, 1));
    while (atomic_load(&server->held_count) < 1)
        echo_sleep_ms(1);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    close(fd);
    while (atomic_load(&server->shared.connections) > 1)
        echo_sleep_ms(1);
    echo_send(other, data, echo_put(data, true, 60, PROC_RELEASE, NULL, 0));
    echo_expect_success(data, echo_receive(other, data, sizeof(data)), 60);
    assert_int_equal(atomic_load(&server->held_count), 0);
    close(other);
}

/* Ask for payloads of these sizes in one go; their bytes, padding and order must be right. */
static void
expect_payloads(struct echo_server *server, uint32_t proc, const uint32_t *sizes, uint32_t n)
{
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    uint8_t *reply = malloc(64 + (1 << 20));
    uint8_t data[64 * 16];
    size_t len = 0;

    assert_non_null(reply);
    assert_true(n <= 16);
    for (uint32_t i = 0; i < n; i++)
        len += echo_put_u32(data + len, true, i, proc, sizes[i]);
    echo_send(fd, data, len);
    for (uint32_t i = 0; i < n; i++) {
        len = echo_receive(fd, reply, 64 + (1 << 20));
        echo_expect_success(reply, len, i);
        assert_int_equal(len, 28 + wire_padded(sizes[i]));
        assert_int_equal(echo_u32_at(reply + 24), sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(reply[28 + k], echo_pattern(k));
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

    expect_payloads(*state, PROC_LEND, sizes, COUNT(sizes));
}

static void
bytes_of_a_pipe_arrive_with_their_padding(void **state)
{
    static const uint32_t sizes[] = { 1, 3, 4, 4095, 4096, 4097, 65535, 65536, 300001, 1000001, 1 << 20, 5 };

    expect_payloads(*state, PROC_PIPE, sizes, COUNT(sizes));
}

static void
a_client_that_leaves_takes_its_pipes_along(void **state)
{
    static const uint32_t sizes[] = { 1 << 20, 5 };
    struct echo_server *server = *state;

    for (uint32_t i = 0; i < 100; i++) {                 /* more pipes than a worker has */
        int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
        uint8_t data[128], reply[100];
        size_t len = echo_put_u32(data, true, 1, PROC_PIPE, 1 << 20);

        len += echo_put_u32(data + len, true, 2, PROC_PIPE, 1 << 20);
        echo_send(fd, data, len);
        assert_true(recv(fd, reply, sizeof(reply), 0) > 0);
        close(fd);
    }
    expect_payloads(server, PROC_PIPE, sizes, 2);
}

static void
refusals_leave_the_connection_in_step(void **state)
{
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64], reply[64];
    size_t len;

    len = echo_put(data, true, 1, PROC_NULL, NULL, 0);
    memcpy(data + 16, "\0\0\0\1", 4);
    echo_send(fd, data, len);
    assert_int_equal(echo_receive(fd, reply, sizeof(reply)), 24);
    assert_int_equal(echo_u32_at(reply + 20), CALL_PROG_UNAVAIL);

    len = echo_put(data, true, 2, PROC_NULL, NULL, 0);
    data[23] = 9;
    echo_send(fd, data, len);
    assert_int_equal(echo_receive(fd, reply, sizeof(reply)), 32);
    assert_int_equal(echo_u32_at(reply + 20), CALL_PROG_MISMATCH);
    assert_int_equal(echo_u32_at(reply + 24), 2);
    assert_int_equal(echo_u32_at(reply + 28), 3);

    echo_send(fd, data, echo_put(data, true, 3, 99, NULL, 0));
    assert_int_equal(echo_receive(fd, reply, sizeof(reply)), 24);
    assert_int_equal(echo_u32_at(reply + 20), CALL_PROC_UNAVAIL);

    len = echo_put(data, true, 4, PROC_NULL, NULL, 0);
    data[15] = 3;
    echo_send(fd, data, len);
    assert_int_equal(echo_receive(fd, reply, sizeof(reply)), 24);
    assert_int_equal(echo_u32_at(reply + 8), 1);
    assert_int_equal(echo_u32_at(reply + 12), 0);

    len = echo_put(data, true, 5, PROC_NULL, NULL, 0);
    data[31] = 77;
    echo_send(fd, data, len);
    assert_int_equal(echo_receive(fd, reply, sizeof(reply)), 20);
    assert_int_equal(echo_u32_at(reply + 16), CALL_AUTH_BADCRED);

    len = echo_put(data, true, 6, PROC_NULL, NULL, 0);
    data[11] = 1;
    echo_send(fd, data, len);                             /* a reply: ignored */
    echo_send(fd, "\x80\0\0\0", 4);                       /* an empty record: ignored */
    echo_send(fd, data, echo_put(data, true, 7, PROC_DROP, NULL, 0));
    echo_expect_works(fd, 8);
    close(fd);
}

static void
a_writer_that_runs_full_becomes_a_system_error(void **state)
{
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64];

    echo_send(fd, data, echo_put(data, true, 1, PROC_OVERFLOW, NULL, 0));
    assert_int_equal(echo_receive(fd, data, sizeof(data)), 24);
    assert_int_equal(echo_u32_at(data + 20), CALL_SYSTEM_ERR);
    echo_expect_works(fd, 2);
    close(fd);
}

static void
a_call_has_as_much_memory_as_it_wants(void **state)
{
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64];

    for (uint32_t n = 0; n <= 1000; n += 50) {
        echo_send(fd, data, echo_put_u32(data, true, n, PROC_ALLOC, n));
        echo_expect_success(data, echo_receive(fd, data, sizeof(data)), n);
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
    struct echo_server *server = *state;

    for (size_t i = 0; i < COUNT(rows); i++) {
        int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");

        print_message("%s\n", rows[i].name);
        echo_send(fd, rows[i].bytes, rows[i].len);
        echo_expect_closed(fd);
        close(fd);
    }
    assert_int_equal(atomic_load(&server->transport->stats.bad_records), 2);
    assert_int_equal(atomic_load(&server->transport->stats.bad_messages), 3);
}

static void
a_small_call_and_its_reply_do_not_wait(void **state)
{
    int fd = echo_connect(*state, SOCK_STREAM, "127.0.0.1");
    uint64_t shortest = ECHO_TIMEOUT_MS;

    for (uint32_t i = 0; i < 200; i++) {
        uint64_t begin = echo_now_ms();

        echo_expect_works(fd, i);
        shortest = MIN(shortest, echo_now_ms() - begin);
    }
    assert_true(shortest < 30);                          /* Nagle's algorithm and delayed ACKs would cost 40 ms each */
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ECHO_TEST(a_thousand_calls_in_one_segment_are_all_answered),
        ECHO_TEST(calls_cut_into_segments_and_fragments_of_one_byte_are_answered),
        ECHO_TEST(large_and_small_records_in_turn_arrive_whole),
        ECHO_TEST(replies_leave_in_the_order_in_which_they_are_ready),
        ECHO_TEST(after_the_end_of_the_stream_calls_are_still_answered),
        ECHO_TEST(a_connection_that_ends_before_its_calls_does_no_harm),
        ECHO_TEST(lent_bytes_arrive_with_their_padding),
        ECHO_TEST(bytes_of_a_pipe_arrive_with_their_padding),
        ECHO_TEST(a_client_that_leaves_takes_its_pipes_along),
        ECHO_TEST(refusals_leave_the_connection_in_step),
        ECHO_TEST(a_writer_that_runs_full_becomes_a_system_error),
        ECHO_TEST(a_call_has_as_much_memory_as_it_wants),
        ECHO_TEST(rubbish_closes_the_connection),
        ECHO_TEST(a_small_call_and_its_reply_do_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
