/* tests/unit/test_rpc_drc.c - the duplicate request cache: what makes two calls the same, and how long replies are kept. */
#include <string.h>

#include "tests/lib/drc_cache.h"

/* The worst there is: everything meets in one bucket with one digest. */
static uint64_t
no_hash(const uint8_t key[16], const void *data, size_t len)
{
    (void)key;
    (void)data;
    (void)len;
    return 0;
}

static void
the_same_call_gets_the_same_results(void **state)
{
    struct drc *drc = *state;
    struct request request;
    struct drc_call first, second;
    struct drc_reply reply;
    uint8_t results[DRC_REPLY_MAX];
    size_t lens[] = { 0, 1, 136, DRC_REPLY_MAX };

    request_fill(&request);
    for (size_t i = 0; i < sizeof(results); i++)
        results[i] = (uint8_t)(i * 3 + 1);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        request.call.xid++;
        request_identify(drc, &request, &first);
        request_identify(drc, &request, &second);
        assert_int_equal(drc_begin(drc, &first, &reply), DRC_NEW);
        drc_keep(drc, &first, results, lens[i]);
        for (int times = 0; times < 3; times++) {
            assert_int_equal(drc_begin(drc, &second, &reply), DRC_DONE);
            assert_int_equal(reply.len, lens[i]);
            assert_memory_equal(reply.results, results, lens[i]);
            assert_null(second.entry);
        }
    }
    assert_int_equal(cache_stats(drc).hits, 12);
    assert_int_equal(cache_stats(drc).misses, 4);
}

/* Each change makes another call of it. */
static void change_nothing(struct request *r) { (void)r; }
static void change_xid(struct request *r) { r->call.xid++; }
static void change_prog(struct request *r) { r->call.prog++; }
static void change_vers(struct request *r) { r->call.vers++; }
static void change_proc(struct request *r) { r->call.proc++; }
static void change_port(struct request *r) { request_address4(r)->sin_port ^= htons(1); }
static void change_address(struct request *r) { request_address4(r)->sin_addr.s_addr ^= htonl(1); }
static void change_protocol(struct request *r) { r->call.stream = false; }
static void change_uid(struct request *r) { r->call.auth.uid++; }
static void change_gid(struct request *r) { r->call.auth.gid++; }
static void change_flavor(struct request *r) { r->call.auth.flavor = CALL_AUTH_NONE; }
static void change_first_byte(struct request *r) { r->args[0] ^= 1; }
static void change_last_byte(struct request *r) { r->args[r->len - 1] ^= 1; }
static void shorten(struct request *r) { r->len -= 4; }
static void lengthen(struct request *r) { r->len += 4; }

static void
change_family(struct request *r)
{
    struct sockaddr_in old = *request_address4(r);

    memset(&r->call.peer, 0, sizeof(r->call.peer));
    *request_address6(r) = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = old.sin_port };
    memcpy(&request_address6(r)->sin6_addr, &old.sin_addr, sizeof(old.sin_addr));
}

static void (*const changes[])(struct request *r) = {
    change_nothing, change_xid, change_prog, change_vers, change_proc, change_port, change_address, change_protocol,
    change_uid, change_gid, change_flavor, change_family, shorten, lengthen, change_first_byte, change_last_byte,
};
#define CHANGES (sizeof(changes) / sizeof(changes[0]))
#define DIGESTED 2                      /* the last ones change what only the digest tells apart */

static void
assert_told_apart(struct drc *drc, size_t count)
{
    struct request request;

    for (size_t i = 0; i < count; i++) {
        request_fill(&request);
        changes[i](&request);
        assert_int_equal(request_ask(drc, &request), DRC_NEW);
    }
    for (size_t i = 0; i < count; i++) {
        request_fill(&request);
        changes[i](&request);
        assert_int_equal(request_ask(drc, &request), DRC_DONE);
    }
    drc_free(drc);
}

static void
every_part_of_the_key_makes_another_call(void **state)
{
    (void)state;
    assert_told_apart(cache_new(64), CHANGES);
    assert_told_apart(cache_new(4096), CHANGES);
}

static void
calls_that_collide_are_told_apart(void **state)
{
    (void)state;
    assert_told_apart(cache_new_hashed(64, no_hash), CHANGES - DIGESTED);
}

static void
all_of_an_ipv6_address_counts(void **state)
{
    struct drc *drc = *state;
    struct request request;

    request_fill(&request);
    memset(&request.call.peer, 0, sizeof(request.call.peer));
    *request_address6(&request) = (struct sockaddr_in6){
        .sin6_family = AF_INET6, .sin6_port = htons(700), .sin6_scope_id = 2,
    };
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request_address6(&request)->sin6_flowinfo = 99;              /* no part of who it is */
    assert_int_equal(request_ask(drc, &request), DRC_DONE);
    request_address6(&request)->sin6_addr.s6_addr[15] = 1;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request_address6(&request)->sin6_scope_id = 3;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request_address6(&request)->sin6_port = htons(701);
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    assert_int_equal(request_ask(drc, &request), DRC_DONE);
}

static void
without_credentials_nobodys_numbers_count(void **state)
{
    struct drc *drc = *state;
    struct request request;

    request_fill(&request);
    request.call.auth.flavor = CALL_AUTH_NONE;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request.call.auth.uid = 5;
    request.call.auth.gid = 6;
    assert_int_equal(request_ask(drc, &request), DRC_DONE);
}

/* The ids of users that nobody knows here are all the same, and a user's context may be a new one. */
static void
with_kerberos_the_name_counts(void **state)
{
    struct drc *drc = *state;
    struct request request;

    request_fill(&request);
    request.call.auth = (struct call_auth){ .flavor = CALL_AUTH_KRB5, .uid = UINT32_MAX, .gid = UINT32_MAX,
                                            .principal = UINT64_C(0x1122334455667788) };
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    assert_int_equal(request_ask(drc, &request), DRC_DONE);
    request.call.auth.principal ^= 1;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request.call.auth.principal ^= UINT64_C(1) << 63;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request.call.auth.flavor = CALL_AUTH_KRB5I;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
}

static void
long_arguments_are_told_apart_by_beginning_and_length(void **state)
{
    struct drc *drc = *state;
    struct request request;

    request_fill(&request);
    request.len = REQUEST_LONG;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request.args[255] ^= 1;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    request.len -= 4;
    assert_int_equal(request_ask(drc, &request), DRC_NEW);
    assert_int_equal(request_ask(drc, &request), DRC_DONE);
}

static void
a_call_that_runs_is_not_done_again(void **state)
{
    struct drc *drc = *state;
    struct drc_call first, second;
    struct drc_reply reply;

    cache_begin(drc, 1, &first);
    second = first;
    for (int times = 0; times < 4; times++)
        assert_int_equal(drc_begin(drc, &second, &reply), DRC_RUNNING);
    assert_int_equal(cache_stats(drc).dropped, 4);
    drc_keep(drc, &first, (const uint8_t *)"r", 1);
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_DONE);
}

static void
a_call_that_was_forgotten_is_new(void **state)
{
    struct drc *drc = *state;
    struct drc_call call;

    for (int times = 0; times < 200; times++) {          /* more often than there are entries */
        cache_begin(drc, 1, &call);
        drc_forget(drc, &call);
        assert_null(call.entry);
    }
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_NEW);
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_DONE);
}

static void
results_that_are_too_long_are_not_kept(void **state)
{
    static const uint8_t results[DRC_REPLY_MAX + 1];
    struct drc *drc = *state;
    struct drc_call call;

    cache_begin(drc, 1, &call);
    drc_keep(drc, &call, results, sizeof(results));
    cache_begin(drc, 1, &call);
    drc_keep(drc, &call, results, sizeof(results) - 1);
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_DONE);
}

static void
replies_are_good_for_two_minutes_after_they_were_last_sent(void **state)
{
    struct drc *drc = *state;

    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_NEW);
    cache_clock_ms += DRC_KEEP_MS - 1;
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_DONE);
    cache_clock_ms += DRC_KEEP_MS - 1;
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_DONE);
    cache_clock_ms += DRC_KEEP_MS;
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_NEW);
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_DONE);
    assert_int_equal(cache_stats(drc).evicted, 0);
}

static void
a_call_that_runs_does_not_expire(void **state)
{
    struct drc *drc = *state;
    struct drc_call first, second;
    struct drc_reply reply;

    cache_begin(drc, 1, &first);
    second = first;
    cache_clock_ms += 10 * DRC_KEEP_MS;
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_RUNNING);
    drc_keep(drc, &first, (const uint8_t *)"r", 1);
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_DONE);
}

static void
the_oldest_reply_makes_room(void **state)
{
    struct drc *drc = cache_new(8);
    uint32_t xid;

    (void)state;
    for (xid = 1; xid <= 8; xid++)
        assert_int_equal(cache_ask(drc, xid, REQUEST_USUAL), DRC_NEW);
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_DONE);    /* so that 2 is the oldest */
    assert_int_equal(cache_stats(drc).evicted, 0);
    assert_int_equal(cache_ask(drc, 9, REQUEST_USUAL), DRC_NEW);
    assert_int_equal(cache_stats(drc).evicted, 1);
    assert_int_equal(cache_ask(drc, 1, REQUEST_USUAL), DRC_DONE);
    for (xid = 3; xid <= 9; xid++)
        assert_int_equal(cache_ask(drc, xid, REQUEST_USUAL), DRC_DONE);
    assert_int_equal(cache_ask(drc, 2, REQUEST_USUAL), DRC_NEW);
    drc_free(drc);
}

static void
one_that_has_expired_makes_room_without_being_missed(void **state)
{
    struct drc *drc = cache_new(2);

    (void)state;
    cache_ask(drc, 1, REQUEST_USUAL);
    cache_ask(drc, 2, REQUEST_USUAL);
    cache_clock_ms += DRC_KEEP_MS;
    cache_ask(drc, 3, REQUEST_USUAL);
    cache_ask(drc, 4, REQUEST_USUAL);
    assert_int_equal(cache_stats(drc).evicted, 0);
    assert_int_equal(cache_ask(drc, 3, REQUEST_USUAL), DRC_DONE);
    assert_int_equal(cache_ask(drc, 4, REQUEST_USUAL), DRC_DONE);
    drc_free(drc);
}

/* How many of the calls from this xid on are still known; asking makes no room for those that are not. */
static unsigned
known(struct drc *drc, uint32_t first, uint32_t count, size_t len)
{
    unsigned found = 0;

    for (uint32_t xid = first + count; xid-- > first;) {
        struct request request;
        struct drc_call call;
        struct drc_reply reply;

        request_fill(&request);
        request.call.xid = xid;
        request.len = len;
        request_identify(drc, &request, &call);
        if (drc_begin(drc, &call, &reply) == DRC_DONE)
            found++;
        else
            drc_forget(drc, &call);
    }
    return found;
}

static void
calls_with_data_leave_half_to_others_and_the_other_way_round(void **state)
{
    static const size_t lens[] = { REQUEST_USUAL, REQUEST_LONG };
    struct drc *drc;
    uint32_t xid;

    (void)state;
    for (int i = 0; i < 2; i++) {
        drc = cache_new(16);
        for (xid = 0; xid < 16; xid++)                   /* alone each kind may have it all */
            cache_ask(drc, xid, lens[i]);
        assert_int_equal(cache_stats(drc).evicted, 0);
        for (xid = 100; xid < 200; xid++)
            cache_ask(drc, xid, lens[1 - i]);
        assert_int_equal(cache_stats(drc).evicted, 100);
        assert_int_equal(known(drc, 8, 8, lens[i]), 8);
        assert_int_equal(known(drc, 192, 8, lens[1 - i]), 8);
        drc_free(drc);
    }
}

static void
replies_of_the_other_kind_that_have_expired_make_room_first(void **state)
{
    struct drc *drc = cache_new(16);
    uint32_t xid;

    (void)state;
    for (xid = 0; xid < 8; xid++)
        cache_ask(drc, xid, REQUEST_LONG);
    cache_clock_ms += DRC_KEEP_MS;
    for (xid = 100; xid < 116; xid++)
        cache_ask(drc, xid, REQUEST_USUAL);
    assert_int_equal(cache_stats(drc).evicted, 0);
    assert_int_equal(known(drc, 100, 16, 100), 16);
    drc_free(drc);
}

static void
calls_that_run_are_never_pushed_out(void **state)
{
    struct drc *drc = cache_new(4);
    struct drc_call running[4], beyond, again;
    struct drc_reply reply;

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        cache_begin(drc, i, &running[i]);
    cache_begin(drc, 9, &beyond);
    assert_null(beyond.entry);
    assert_int_equal(cache_stats(drc).unkept, 1);
    for (int i = 0; i < 4; i++) {
        again = running[i];
        assert_int_equal(drc_begin(drc, &again, &reply), DRC_RUNNING);
        drc_keep(drc, &running[i], (const uint8_t *)"r", 1);
    }
    assert_int_equal(cache_ask(drc, 9, REQUEST_USUAL), DRC_NEW);
    assert_int_equal(cache_ask(drc, 9, REQUEST_USUAL), DRC_DONE);
    drc_free(drc);
}

static void
any_number_of_entries_holds_that_many_replies(void **state)
{
    static const size_t sizes[] = { 1, 2, 3, 511, 512, 513, 4096, 5000 };
    struct drc *drc;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t calls = (uint32_t)sizes[i] * 3;

        drc = cache_new(sizes[i]);
        for (uint32_t xid = 0; xid < calls; xid++)
            assert_int_equal(cache_ask(drc, xid, REQUEST_USUAL), DRC_NEW);
        assert_int_equal(cache_stats(drc).evicted, calls - sizes[i]);
        assert_int_equal(cache_ask(drc, calls - 1, REQUEST_USUAL), DRC_DONE);
        drc_free(drc);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(the_same_call_gets_the_same_results),
        cmocka_unit_test(every_part_of_the_key_makes_another_call),
        cmocka_unit_test(calls_that_collide_are_told_apart),
        CACHE_TEST(all_of_an_ipv6_address_counts),
        CACHE_TEST(without_credentials_nobodys_numbers_count),
        CACHE_TEST(with_kerberos_the_name_counts),
        CACHE_TEST(long_arguments_are_told_apart_by_beginning_and_length),
        CACHE_TEST(a_call_that_runs_is_not_done_again),
        CACHE_TEST(a_call_that_was_forgotten_is_new),
        CACHE_TEST(results_that_are_too_long_are_not_kept),
        CACHE_TEST(replies_are_good_for_two_minutes_after_they_were_last_sent),
        CACHE_TEST(a_call_that_runs_does_not_expire),
        cmocka_unit_test(the_oldest_reply_makes_room),
        cmocka_unit_test(one_that_has_expired_makes_room_without_being_missed),
        cmocka_unit_test(calls_with_data_leave_half_to_others_and_the_other_way_round),
        cmocka_unit_test(replies_of_the_other_kind_that_have_expired_make_room_first),
        cmocka_unit_test(calls_that_run_are_never_pushed_out),
        cmocka_unit_test(any_number_of_entries_holds_that_many_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
