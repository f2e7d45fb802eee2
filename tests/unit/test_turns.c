/* tests/unit/test_turns.c - a worker's time is shared out among clients, not among connections or calls. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/turns.h"
#include "tests/lib/echo_server.h"

#define SHARE_NS (TURN_US * UINT64_C(1000))
#define ALONE_NS (TURN_ALONE_US * UINT64_C(1000))

/* ---- Turns ---- */

static uint64_t clock_now_ns;

static uint64_t
clock_read(void)
{
    return clock_now_ns;
}

static void
have_turn(struct turns *turns, unsigned client, uint64_t ns)
{
    assert_true(turns_begin(turns, client));
    clock_now_ns += ns;
    turns_end(turns);
}

/* Clients whose turns have just followed one another. */
static void
begin_shared(struct turns *turns)
{
    turns_init(turns, clock_read);
    have_turn(turns, 0, 0);
    have_turn(turns, 1, 0);
    turns_next_round(turns);
}

static void
a_share_may_be_used_in_several_turns_and_is_there_again_in_the_next_round(void **state)
{
    struct turns turns;

    (void)state;
    begin_shared(&turns);
    for (unsigned round = 0; round < 3; round++) {
        have_turn(&turns, 0, SHARE_NS / 2);
        have_turn(&turns, 0, SHARE_NS / 2 - 1);
        have_turn(&turns, 0, 1);
        assert_false(turns_begin(&turns, 0));
        turns_next_round(&turns);
    }
}

static void
what_one_uses_is_not_taken_from_another(void **state)
{
    struct turns turns;

    (void)state;
    begin_shared(&turns);
    have_turn(&turns, 0, 100 * SHARE_NS);
    assert_false(turns_begin(&turns, 0));
    have_turn(&turns, 1, 1);
}

static void
a_turn_is_over_when_the_share_is_used_up(void **state)
{
    struct turns turns;

    (void)state;
    begin_shared(&turns);
    have_turn(&turns, 0, SHARE_NS / 2);
    assert_true(turns_begin(&turns, 0));
    assert_false(turns_is_over(&turns));
    clock_now_ns += SHARE_NS / 2 - 1;
    assert_false(turns_is_over(&turns));
    clock_now_ns += 1;
    assert_true(turns_is_over(&turns));
    turns_end(&turns);
}

/* A turn of minutes, after the machine slept, is no more than a share either. */
static void
a_turn_of_any_length_ends_with_the_round(void **state)
{
    struct turns turns;

    (void)state;
    begin_shared(&turns);
    have_turn(&turns, 0, UINT64_C(5000000000));
    turns_next_round(&turns);
    assert_true(turns_begin(&turns, 0));
    turns_end(&turns);
}

static void
who_has_been_alone_for_a_while_has_longer_turns_until_another_one_comes(void **state)
{
    struct turns turns;

    (void)state;
    begin_shared(&turns);
    assert_true(turns_are_shared(&turns));
    clock_now_ns += TURN_ALONE_MS * UINT64_C(1000000);
    have_turn(&turns, 1, ALONE_NS - 1);
    have_turn(&turns, 1, 1);
    assert_false(turns_begin(&turns, 1));
    assert_false(turns_are_shared(&turns));
    turns_next_round(&turns);
    have_turn(&turns, 0, 1);
    have_turn(&turns, 1, SHARE_NS);
    assert_false(turns_begin(&turns, 1));
}

static void
with_many_clients_turns_are_shorter_so_that_the_round_is_not_longer(void **state)
{
    struct turns turns;

    (void)state;
    begin_shared(&turns);
    for (unsigned client = 0; client < 16; client++)
        have_turn(&turns, client, 1);
    turns_next_round(&turns);
    have_turn(&turns, 0, TURN_ROUND_US * 1000 / 16 - 1);
    have_turn(&turns, 0, 1);
    assert_false(turns_begin(&turns, 0));
    for (unsigned client = 0; client < TURN_LANES; client++)
        (void)turns_begin(&turns, client);
    turns_next_round(&turns);
    have_turn(&turns, 1, TURN_LEAST_US * 1000 - 1);
    have_turn(&turns, 1, 1);
    assert_false(turns_begin(&turns, 1));
    turns_next_round(&turns);
    have_turn(&turns, 0, 0);
    turns_next_round(&turns);
    have_turn(&turns, 1, SHARE_NS - 1);
    assert_true(turns_begin(&turns, 1));
}

/* ---- Behind a transport ---- */

#define CROWD 30                        /* connections of one client */
#define EACH 60                         /* calls on each */
#define CALL_BYTES 100
#define BURN_US 200

static int
connect_as(const struct echo_server *server, const char *from)
{
    struct sockaddr_in here = { .sin_family = AF_INET }, there = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    there.sin_port = htons(server->sockets.port);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(inet_pton(AF_INET, from, &here.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&there, sizeof(there)), 0);
    return fd;
}

/* However many calls of his a client has sent, another one's is done after a few of them. */
static void
a_client_with_many_connections_and_long_calls_leaves_others_their_turn(void **state)
{
    struct echo_server *server = *state;
    uint8_t calls[EACH * CALL_BYTES], reply[100];
    int crowd[CROWD], other = connect_as(server, "127.0.0.3");
    size_t len = 0;
    unsigned before;

    echo_expect_works(other, 1);
    for (uint32_t i = 0; i < EACH; i++)
        len += echo_put_u32(calls + len, true, i, PROC_BURN, BURN_US);
    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = connect_as(server, "127.0.0.2");
        echo_send(crowd[i], calls, len);
    }
    while (atomic_load(&server->burnt_count) < EACH)     /* at work */
        echo_sleep_ms(1);
    for (uint32_t i = 0; i < 5; i++) {
        before = atomic_load(&server->burnt_count);
        echo_expect_works(other, i);
        assert_in_range(atomic_load(&server->burnt_count) - before, 0, CROWD * EACH / 10);
    }
    assert_in_range(atomic_load(&server->burnt_count), EACH, CROWD * EACH - 1);      /* or it showed nothing */
    for (size_t i = 0; i < CROWD; i++)
        for (uint32_t n = 0; n < EACH; n++)
            echo_expect_success(reply, echo_receive(crowd[i], reply, sizeof(reply)), n);
    for (size_t i = 0; i < CROWD; i++)
        close(crowd[i]);
    close(other);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_may_be_used_in_several_turns_and_is_there_again_in_the_next_round),
        cmocka_unit_test(what_one_uses_is_not_taken_from_another),
        cmocka_unit_test(a_turn_is_over_when_the_share_is_used_up),
        cmocka_unit_test(a_turn_of_any_length_ends_with_the_round),
        cmocka_unit_test(with_many_clients_turns_are_shorter_so_that_the_round_is_not_longer),
        cmocka_unit_test(who_has_been_alone_for_a_while_has_longer_turns_until_another_one_comes),
        ECHO_TEST(a_client_with_many_connections_and_long_calls_leaves_others_their_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
