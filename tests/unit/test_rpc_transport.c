/* tests/unit/test_rpc_transport.c - a worker's transport as a whole: its messages, its end, the ports it listens on. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/echo_server.h"

struct drain_message {
    struct loop_message message;        /* first */
    struct echo_server *server;
    uint64_t timeout_ms;
};

static void
drained(void *context)
{
    struct echo_server *server = context;

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
post_drain(struct echo_server *server, uint64_t timeout_ms)
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
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    int udp = echo_connect(server, SOCK_DGRAM, "127.0.0.1");
    uint8_t data[64];

    echo_send(fd, data, echo_put_u32(data, true, 1, PROC_HOLD, 7));
    echo_send(udp, data, echo_put_u32(data, false, 2, PROC_HOLD, 8));
    while (atomic_load(&server->held_count) < 2)
        echo_sleep_ms(1);
    post_drain(server, 60000);
    echo_sleep_ms(20);
    echo_send(fd, data, echo_put(data, true, 3, PROC_NULL, NULL, 0));
    echo_sleep_ms(20);
    assert_false(atomic_load(&server->drained));
    echo_release(server);
    echo_expect_success(data, echo_receive(fd, data, sizeof(data)), 1);
    echo_expect_success(data, (size_t)recv(udp, data, sizeof(data), 0), 2);
    while (!atomic_load(&server->drained))
        echo_sleep_ms(1);
    assert_int_equal(recv(fd, data, sizeof(data), MSG_DONTWAIT), -1);
    close(fd);
    close(udp);
}

static void
draining_gives_up_after_its_timeout(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64];
    uint64_t begin;

    echo_send(fd, data, echo_put_u32(data, true, 1, PROC_HOLD, 7));
    while (atomic_load(&server->held_count) < 1)
        echo_sleep_ms(1);
    begin = echo_now_ms();
    post_drain(server, 50);
    while (!atomic_load(&server->drained))
        echo_sleep_ms(1);
    assert_true(echo_now_ms() - begin >= 40);
    close(fd);
}

/* In one segment. */
static void
send_yield_and_null(int fd, uint32_t times, uint32_t yield_xid, uint32_t null_xid)
{
    uint8_t data[256];
    size_t len = echo_put_u32(data, true, yield_xid, PROC_YIELD, times);

    len += echo_put(data + len, true, null_xid, PROC_NULL, NULL, 0);
    echo_send(fd, data, len);
}

static void
a_call_lets_others_go_first_and_goes_on(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    int udp = echo_connect(server, SOCK_DGRAM, "127.0.0.1");
    uint8_t data[64];

    echo_send(udp, data, echo_put_u32(data, false, 1, PROC_YIELD, 10));
    echo_expect_success(data, (size_t)recv(udp, data, sizeof(data), 0), 1);
    send_yield_and_null(fd, 1000, 2, 3);
    echo_expect_success(data, echo_receive(fd, data, sizeof(data)), 3);
    echo_expect_success(data, echo_receive(fd, data, sizeof(data)), 2);
    close(fd);
    close(udp);
}

static void
a_call_that_lets_others_go_first_outlives_its_connection(void **state)
{
    struct echo_server *server = *state;
    int fd = echo_connect(server, SOCK_STREAM, "127.0.0.1");
    uint8_t data[64];
    uint64_t begin;

    send_yield_and_null(fd, 20000, 1, 2);
    echo_expect_success(data, echo_receive(fd, data, sizeof(data)), 2);
    close(fd);
    begin = echo_now_ms();
    post_drain(server, 60000);
    while (!atomic_load(&server->drained))
        echo_sleep_ms(1);
    assert_true(echo_now_ms() - begin < 60000);
}

struct counted_message {
    struct loop_message message;        /* first */
    unsigned *next;                     /* of the sender: the number that should come next */
    unsigned number;
    atomic_uint *count;
};

struct sender {
    struct echo_server *server;
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
        echo_sleep_ms(1);
}

static void
a_port_in_use_is_named(void **state)
{
    struct echo_server *server = *state;
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ECHO_TEST(draining_answers_what_is_under_way_and_reads_no_more),
        ECHO_TEST(draining_gives_up_after_its_timeout),
        ECHO_TEST(a_call_lets_others_go_first_and_goes_on),
        ECHO_TEST(a_call_that_lets_others_go_first_outlives_its_connection),
        ECHO_TEST(messages_from_many_threads_all_run_and_in_order),
        ECHO_TEST(a_port_in_use_is_named),
        cmocka_unit_test(one_port_serves_every_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
