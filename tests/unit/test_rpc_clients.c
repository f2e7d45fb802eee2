/* tests/unit/test_rpc_clients.c - who counts as one client, and what is counted for him. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/clients.h"

static struct sockaddr *
address(struct sockaddr_storage *storage, const char *text)
{
    bool v6 = strchr(text, ':') != NULL;

    memset(storage, 0, sizeof(*storage));
    storage->ss_family = v6 ? AF_INET6 : AF_INET;
    assert_int_equal(inet_pton(storage->ss_family, text, v6 ? (void *)&((struct sockaddr_in6 *)storage)->sin6_addr
                                                            : (void *)&((struct sockaddr_in *)storage)->sin_addr), 1);
    return (struct sockaddr *)storage;
}

static int
enter(struct clients *clients, const char *text, struct client **client)
{
    struct sockaddr_storage storage;

    return clients_enter(clients, address(&storage, text), client);
}

static void
leave(struct clients *clients, struct client *client)
{
    clients_leave(clients, client);
    clients_put(clients, client);
}

static void
each_address_has_its_own_share(void **state)
{
    struct client *one, *two, *other, *none;
    struct clients *clients;

    (void)state;
    assert_int_equal(clients_new(2, &clients), 0);
    assert_int_equal(enter(clients, "192.0.2.1", &one), 0);
    assert_int_equal(enter(clients, "192.0.2.1", &two), 0);
    assert_int_equal(enter(clients, "192.0.2.1", &none), -EUSERS);
    assert_int_equal(enter(clients, "192.0.2.2", &other), 0);
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, other);
    leave(clients, one);
    assert_int_equal(enter(clients, "192.0.2.1", &one), 0);
    leave(clients, one);
    leave(clients, two);
    leave(clients, other);
    clients_free(clients);
}

static void
a_network_of_64_bits_is_one_client_of_ipv6(void **state)
{
    struct sockaddr_storage storage;
    struct client *one, *other, *none;
    struct clients *clients;

    (void)state;
    assert_int_equal(clients_new(1, &clients), 0);
    assert_int_equal(enter(clients, "2001:db8:0:1::1", &one), 0);
    assert_int_equal(enter(clients, "2001:db8:0:1:ffff::2", &none), -EUSERS);
    assert_int_equal(enter(clients, "2001:db8:0:2::1", &other), 0);
    assert_true(clients_is(one, address(&storage, "2001:db8:0:1::77")));
    assert_false(clients_is(one, address(&storage, "2001:db8:0:2::1")));
    assert_false(clients_is(NULL, address(&storage, "2001:db8:0:1::1")));
    leave(clients, one);
    leave(clients, other);
    clients_free(clients);
}

static void
what_is_held_after_the_connection_is_closed_still_counts(void **state)
{
    struct client *first, *second;
    struct clients *clients;

    (void)state;
    assert_int_equal(clients_new(1, &clients), 0);
    assert_int_equal(enter(clients, "192.0.2.1", &first), 0);
    client_hold(first, 1000, 0);
    client_count_calls(first, 1, 0);
    clients_leave(clients, first);
    assert_int_equal(enter(clients, "192.0.2.1", &second), 0);
    assert_int_equal(client_held(second), 1000);
    assert_int_equal(client_calls(second), 1);
    client_hold(first, 0, 1000);
    client_count_calls(first, 0, 1);
    clients_put(clients, first);
    assert_int_equal(client_held(second), 0);
    assert_int_equal(client_calls(second), 0);
    leave(clients, second);
    clients_free(clients);
}

static void
without_a_table_and_without_an_address_nobody_is_counted(void **state)
{
    struct sockaddr local = { .sa_family = AF_UNIX };
    struct clients *clients;
    struct client *client;

    (void)state;
    assert_int_equal(enter(NULL, "192.0.2.1", &client), 0);
    assert_null(client);
    assert_int_equal(clients_new(1, &clients), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(clients_enter(clients, &local, &client), 0);
        assert_null(client);
    }
    leave(clients, client);
    client_hold(client, 1, 0);
    assert_int_equal(client_held(client), 0);
    clients_free(clients);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_address_has_its_own_share),
        cmocka_unit_test(a_network_of_64_bits_is_one_client_of_ipv6),
        cmocka_unit_test(what_is_held_after_the_connection_is_closed_still_counts),
        cmocka_unit_test(without_a_table_and_without_an_address_nobody_is_counted),
    };

    return cmocka_run_group_tests_name("clients", tests, NULL, NULL);
}
