/* tests/unit/test_rpc_drc_save.c - the duplicate request cache on its way to another process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/drc_cache.h"

/* A request is done in the cache; results are its xid and as many bytes as it says. */
static void
done(struct drc *drc, const struct request *request, size_t len)
{
    struct drc_call call;
    struct drc_reply reply;
    uint8_t results[DRC_REPLY_MAX];

    for (size_t i = 0; i < sizeof(results); i++)
        results[i] = (uint8_t)(request->call.xid + i);
    request_identify(drc, request, &call);
    assert_int_equal(drc_begin(drc, &call, &reply), DRC_NEW);
    drc_keep(drc, &call, results, len);
}

/* Whether it is answered with the same results. */
static bool
answered(struct drc *drc, const struct request *request, size_t len)
{
    struct drc_call call;
    struct drc_reply reply;

    request_identify(drc, request, &call);
    if (drc_begin(drc, &call, &reply) != DRC_DONE) {
        drc_forget(drc, &call);
        return false;
    }
    assert_int_equal(reply.len, len);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(reply.results[i], (uint8_t)(request->call.xid + i));
    return true;
}

/* Several of all kinds: short and long, over TCP and UDP, IPv4 and IPv6, results of all lengths. */
static void
vary(struct request *request, unsigned i)
{
    request_fill(request);
    request->call.xid = 1000 + i;
    request->call.stream = i % 2 == 0;
    request->len = i % 3 == 0 ? REQUEST_LONG : REQUEST_USUAL + i;
    if (i % 4 == 1)
        request->call.auth = (struct call_auth){ .flavor = CALL_AUTH_KRB5, .principal = UINT64_C(0x123456789) + i };
    if (i % 5 == 0)
        *request_address6(request) = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons(800), .sin6_addr.s6_addr = { 0xfe, 0x80, [15] = (uint8_t)i },
            .sin6_scope_id = 3,
        };
}

static void
fill(struct drc *drc, unsigned count)
{
    struct request request;

    for (unsigned i = 0; i < count; i++) {
        vary(&request, i);
        done(drc, &request, i * 7 % (DRC_REPLY_MAX + 1));
    }
}

/* Returns what is saved, to be freed. */
static void *
saved(struct drc *drc, size_t *len)
{
    void *data;

    assert_int_equal(drc_save(drc, &data, len), 0);
    return data;
}

/* Another cache that knows what this one does. */
static struct drc *
moved(struct drc *drc, size_t entries)
{
    size_t len;
    void *data = saved(drc, &len);
    struct drc *other = cache_new(entries);

    assert_int_equal(drc_load(other, data, len), 0);
    free(data);
    return other;
}

static void
what_was_answered_is_answered_by_the_next_one(void **state)
{
    static const size_t sizes[] = { 40, 64, 4096 };     /* one part, the same, and many parts */
    struct request request;

    fill(*state, 40);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct drc *other = moved(*state, sizes[s]);

        for (unsigned i = 0; i < 40; i++) {
            vary(&request, i);
            assert_true(answered(other, &request, i * 7 % (DRC_REPLY_MAX + 1)));
            assert_true(answered(*state, &request, i * 7 % (DRC_REPLY_MAX + 1)));
        }
        vary(&request, 41);
        assert_false(answered(other, &request, 0));
        drc_free(other);
    }
}

static void
nothing_is_a_cache_too(void **state)
{
    struct drc *other = moved(*state, 8);

    assert_int_equal(cache_ask(other, 1, REQUEST_USUAL), DRC_NEW);
    assert_int_equal(cache_ask(other, 1, REQUEST_USUAL), DRC_DONE);
    drc_free(other);
}

static void
where_there_is_less_room_the_oldest_are_left_out(void **state)
{
    struct drc *other;

    for (uint32_t xid = 0; xid < 30; xid++, cache_clock_ms++)
        cache_ask(*state, xid, REQUEST_USUAL);
    other = moved(*state, 10);
    cache_clock_ms = 2000;
    for (uint32_t xid = 20; xid < 30; xid++)
        assert_int_equal(cache_ask(other, xid, REQUEST_USUAL), DRC_DONE);
    assert_int_equal(cache_ask(other, 19, REQUEST_USUAL), DRC_NEW);
    drc_free(other);
}

static void
replies_are_good_for_as_long_as_they_would_have_been(void **state)
{
    struct drc *other;
    size_t len;
    void *data;

    cache_ask(*state, 1, REQUEST_USUAL);
    cache_clock_ms += DRC_KEEP_MS / 2;
    cache_ask(*state, 2, REQUEST_USUAL);
    data = saved(*state, &len);
    other = cache_new(64);                               /* its clock begins anew */
    assert_int_equal(drc_load(other, data, len), 0);
    cache_clock_ms += DRC_KEEP_MS / 2 - 1;
    assert_int_equal(cache_ask(other, 1, REQUEST_USUAL), DRC_DONE);
    cache_clock_ms += DRC_KEEP_MS / 2;
    assert_int_equal(cache_ask(other, 2, REQUEST_USUAL), DRC_DONE);
    free(data);
    drc_free(other);

    other = cache_new(64);
    cache_ask(other, 1, REQUEST_USUAL);
    cache_clock_ms += DRC_KEEP_MS;
    data = saved(other, &len);
    assert_int_equal(len, 20);                           /* none: the key and a count */
    free(data);
    drc_free(other);
}

static void
it_is_not_saved_while_a_call_runs(void **state)
{
    struct drc_call call;
    size_t len;
    void *data;

    fill(*state, 5);
    cache_begin(*state, 77, &call);
    assert_int_equal(drc_save(*state, &data, &len), -EBUSY);
    drc_forget(*state, &call);
    free(saved(*state, &len));
}

static void
what_is_cut_short_or_too_long_is_refused_and_nothing_is_taken(void **state)
{
    struct request request;
    size_t len;
    uint8_t *data;

    fill(*state, 12);
    data = saved(*state, &len);
    data = realloc(data, len + 8);
    assert_non_null(data);
    memset(data + len, 0, 8);
    for (size_t cut = 0; cut < len + 8; cut++) {
        struct drc *other = cache_new(64);
        uint8_t *exact = malloc(cut + 1);                /* so that a sanitizer sees reads behind it */

        assert_non_null(exact);
        memcpy(exact, data, cut);
        if (cut != len) {
            assert_int_equal(drc_load(other, exact, cut), -EBADMSG);
            vary(&request, 1);
            assert_false(answered(other, &request, 7));
        }
        free(exact);
        drc_free(other);
    }
    free(data);
}

/* Bits of it may change without being noticed here (documents have a digest), but never to the cache's harm. */
static void
whatever_bit_is_wrong_the_cache_is_as_good_as_any(void **state)
{
    size_t len;
    uint8_t *data;

    fill(*state, 6);
    data = saved(*state, &len);
    for (size_t bit = 0; bit < len * 8; bit++) {
        struct drc *other = cache_new(64);
        int err;

        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        err = drc_load(other, data, len);
        assert_true(err == 0 || err == -EBADMSG);
        assert_int_equal(cache_ask(other, 5, REQUEST_USUAL), DRC_NEW);
        assert_int_equal(cache_ask(other, 5, REQUEST_USUAL), DRC_DONE);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        drc_free(other);
    }
    free(data);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(what_was_answered_is_answered_by_the_next_one),
        CACHE_TEST(nothing_is_a_cache_too),
        CACHE_TEST(where_there_is_less_room_the_oldest_are_left_out),
        CACHE_TEST(replies_are_good_for_as_long_as_they_would_have_been),
        CACHE_TEST(it_is_not_saved_while_a_call_runs),
        CACHE_TEST(what_is_cut_short_or_too_long_is_refused_and_nothing_is_taken),
        CACHE_TEST(whatever_bit_is_wrong_the_cache_is_as_good_as_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
