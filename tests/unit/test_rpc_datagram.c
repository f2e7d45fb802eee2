/* tests/unit/test_rpc_datagram.c - datagram sockets. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/lib/echo_server.h"

static void
a_datagram_is_answered_from_the_address_that_was_called(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "127.0.0.2", "127.1.2.3" };
    struct echo_server *server = *state;

    for (size_t i = 0; i < COUNT(hosts); i++) {
        int fd = echo_connect(server, SOCK_DGRAM, "127.0.0.1");
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(server->sockets.port) };
        struct sockaddr_in from;
        struct sockaddr none = { .sa_family = AF_UNSPEC };
        socklen_t len = sizeof(from);
        uint8_t data[64];
        size_t n = echo_put(data, false, 5, PROC_NULL, NULL, 0);

        assert_int_equal(connect(fd, &none, sizeof(none)), 0);
        inet_pton(AF_INET, hosts[i], &to.sin_addr);
        assert_int_equal(sendto(fd, data, n, 0, (struct sockaddr *)&to, sizeof(to)), n);
        echo_expect_success(data, (size_t)recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len), 5);
        assert_int_equal(from.sin_addr.s_addr, to.sin_addr.s_addr);
        assert_int_equal(from.sin_port, to.sin_port);
        close(fd);
    }
}

static void
ipv6_is_served_where_there_is_any(void **state)
{
    struct echo_server *server = *state;
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
    echo_expect_works(tcp, 1);
    len = echo_put(data, false, 2, PROC_NULL, NULL, 0);
    assert_int_equal(sendto(udp, data, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
    len = (size_t)recvfrom(udp, data, sizeof(data), 0, (struct sockaddr *)&from, &from_len);
    echo_expect_success(data, len, 2);
    assert_memory_equal(&from.sin6_addr, &to.sin6_addr, sizeof(to.sin6_addr));
    close(tcp);
    close(udp);
}

static void
datagrams_of_every_size_are_answered(void **state)
{
    static const uint32_t sizes[] = { 0, 1, 4000, 4097, 9000, 32768, 65507 - 28 - 40 };
    int fd = echo_connect(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t *args = malloc(1 << 16);
    uint8_t *data = malloc(1 << 17);

    assert_non_null(args);
    assert_non_null(data);
    for (uint32_t i = 0; i < COUNT(sizes); i++) {
        struct wire_out out = { args, args + (1 << 16), false };
        uint32_t size = MIN(sizes[i], 65507 - 24 - 4 - 100 - 4);
        size_t len;

        for (size_t k = 0; k < size; k++)
            data[k] = echo_pattern(k);
        wire_put_opaque(&out, data, size);
        len = echo_put(data, false, i, PROC_ECHO, args, (size_t)(out.p - args));
        assert_int_equal(send(fd, data, len, 0), len);
        len = (size_t)recv(fd, data, 1 << 17, 0);
        echo_expect_success(data, len, i);
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
    int fd = echo_connect(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t *data = malloc(1 << 17);
    size_t len;

    assert_non_null(data);
    len = echo_put_u32(data, false, 1, PROC_LEND, 60001);
    assert_int_equal(send(fd, data, len, 0), len);
    len = (size_t)recv(fd, data, 1 << 17, 0);
    echo_expect_success(data, len, 1);
    assert_int_equal(len, 28 + 60004);
    for (size_t k = 0; k < 60001; k++)
        assert_int_equal(data[28 + k], echo_pattern(k));
    len = echo_put_u32(data, false, 2, PROC_LEND, 65500);
    assert_int_equal(send(fd, data, len, 0), len);
    len = (size_t)recv(fd, data, 1 << 17, 0);
    assert_int_equal(len, 24);
    assert_int_equal(echo_u32_at(data + 20), CALL_SYSTEM_ERR);
    free(data);
    close(fd);
}

static void
rubbish_in_datagrams_is_ignored(void **state)
{
    int fd = echo_connect(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t data[128];
    size_t len;

    for (len = 0; len < 24; len++) {
        echo_put(data, false, 1, PROC_NULL, NULL, 0);
        assert_int_equal(send(fd, data, len, 0), len);
    }
    len = echo_put(data, true, 2, PROC_NULL, NULL, 0);
    assert_int_equal(send(fd, data, len, 0), len);       /* a record mark in a datagram: type is no CALL */
    len = echo_put(data, false, 3, PROC_NULL, NULL, 0);
    assert_int_equal(send(fd, data, len, 0), len);
    echo_expect_success(data, (size_t)recv(fd, data, sizeof(data), 0), 3);
    close(fd);
}

/* What an earlier, longer datagram left behind is not taken for arguments. */
static void
a_datagram_is_read_within_its_own_length(void **state)
{
    int fd = echo_connect(*state, SOCK_DGRAM, "127.0.0.1");
    uint8_t args[5008] = { 0, 0, 0x13, 0x88 };
    uint8_t data[6000];
    size_t len;

    len = echo_put(data, false, 1, PROC_ECHO, args, 5004);
    assert_int_equal(send(fd, data, len, 0), len);
    assert_true(recv(fd, data, sizeof(data), 0) > 5000);
    len = echo_put(data, false, 2, PROC_ECHO, args, 4500);
    assert_int_equal(send(fd, data, len, 0), len);
    assert_int_equal(recv(fd, data, sizeof(data), 0), 24);
    assert_int_equal(echo_u32_at(data + 20), CALL_GARBAGE_ARGS);
    close(fd);
}

static void
a_burst_of_datagrams_is_answered(void **state)
{
    int fd = echo_connect(*state, SOCK_DGRAM, "127.0.0.1");
    bool seen[100] = { false };
    uint8_t data[64];

    for (uint32_t i = 0; i < 100; i++) {
        size_t len = echo_put_u32(data, false, i, i % 2 ? PROC_NULL : PROC_HOLD, 0);

        assert_int_equal(send(fd, data, len, 0), len);
    }
    assert_int_equal(send(fd, data, echo_put(data, false, 1000, PROC_RELEASE, NULL, 0), 0), 40);
    for (uint32_t i = 0; i < 101; i++) {
        assert_true(recv(fd, data, sizeof(data), 0) >= 24);
        if (echo_u32_at(data) == 1000)
            continue;
        assert_true(echo_u32_at(data) < 100);
        assert_false(seen[echo_u32_at(data)]);
        seen[echo_u32_at(data)] = true;
    }
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ECHO_TEST(a_datagram_is_answered_from_the_address_that_was_called),
        ECHO_TEST(ipv6_is_served_where_there_is_any),
        ECHO_TEST(datagrams_of_every_size_are_answered),
        ECHO_TEST(a_lent_datagram_holds_what_fits_and_no_more),
        ECHO_TEST(rubbish_in_datagrams_is_ignored),
        ECHO_TEST(a_datagram_is_read_within_its_own_length),
        ECHO_TEST(a_burst_of_datagrams_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
