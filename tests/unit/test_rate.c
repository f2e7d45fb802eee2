/* tests/unit/test_rate.c - max_rate and max_iops: what clients may move in a time, by a clock that the tests turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/param.h>

#include "server/rate.h"

#define MS UINT64_C(1000000)            /* ns */
#define SECOND (1000 * MS)
#define FOREVER UINT64_MAX
#define ENTRIES 64
#define WINDOW_MAX 64
#define THREADS 4

struct rig {
    _Atomic uint64_t now_ns;
    struct rate_clock clock;
    struct rate *rate;
};

static uint64_t
fake_now(void *context)
{
    return atomic_load(&((struct rig *)context)->now_ns);
}

static int
set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    atomic_init(&rig->now_ns, 1000 * SECOND);
    rig->clock = (struct rate_clock){ rig, fake_now };
    assert_int_equal(rate_new(ENTRIES, &rig->clock, &rig->rate), 0);
    *state = rig;
    return 0;
}

static int
tear_down(void **state)
{
    struct rig *rig = *state;

    rate_free(rig->rate);
    free(rig);
    return 0;
}

/* A client by his last byte. */
static struct rate_key
client(uint8_t n)
{
    return (struct rate_key){ .export_id = 7, .peer = { .bytes = { 10, 0, 0, n }, .bits = 32 } };
}

/* How long a call of so many bytes has to wait, in ns. */
static uint64_t
charge_as(struct rig *rig, struct rate_key key, struct rate_limits limits, uint64_t bytes)
{
    struct rate_charge charge = { .bytes = bytes };

    assert_int_equal(rate_charge(rig->rate, &key, &limits, FOREVER, &charge), 0);
    return charge.due_ns > rig->now_ns ? charge.due_ns - rig->now_ns : 0;
}

static uint64_t
charge(struct rig *rig, struct rate_limits limits, uint64_t bytes)
{
    return charge_as(rig, client(1), limits, bytes);
}

/* How long a call that moves something would have to wait. */
static uint64_t
wait_of(struct rig *rig, struct rate_key key, struct rate_limits limits)
{
    struct rate_charge charge = { .bytes = 1 };

    if (rate_charge(rig->rate, &key, &limits, 0, &charge) == 0)
        rate_settle(rig->rate, &key, &charge, 0);
    return charge.due_ns > rig->now_ns ? charge.due_ns - rig->now_ns : 0;
}

static void
the_first_call_begins_at_once_however_large_it_is(void **state)
{
    assert_int_equal(charge(*state, (struct rate_limits){ .bytes = 1000 }, 1000000), 0);
}

static void
what_follows_waits_until_all_but_a_burst_has_leaked(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000000 };

    charge(rig, limits, 1000000);
    assert_int_equal(charge(rig, limits, 500000), SECOND - RATE_BURST_MS * MS);
    assert_int_equal(charge(rig, limits, 1), SECOND + SECOND / 2 - RATE_BURST_MS * MS);
    rig->now_ns += SECOND;
    assert_int_equal(wait_of(rig, client(1), limits), SECOND / 2 - RATE_BURST_MS * MS + 1000);
}

static void
calls_are_counted_as_bytes_are(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .calls = 10 };

    assert_int_equal(charge(rig, limits, 1 << 20), 0);
    assert_int_equal(charge(rig, limits, 1 << 20), 0);              /* one call is the burst of ten a second */
    assert_int_equal(charge(rig, limits, 1 << 20), 100 * MS);
    assert_int_equal(charge(rig, limits, 0), 200 * MS);
}

static void
calls_that_move_nothing_wait_for_no_bytes(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000, .calls = 100 };

    charge(rig, limits, 1000000);
    assert_int_equal(charge(rig, limits, 0), 0);
    assert_true(charge(rig, limits, 1) > 900 * SECOND);
}

static void
the_slower_of_two_limits_counts(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000000, .calls = 1 };

    charge(rig, limits, 500000);
    assert_int_equal(charge(rig, limits, 5000000), SECOND - RATE_BURST_MS * MS);
    assert_int_equal(charge(rig, limits, 1), 5 * SECOND + SECOND / 2 - RATE_BURST_MS * MS);
}

static void
an_idle_client_saves_no_more_than_a_burst(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000 };

    charge(rig, limits, 1000);
    rig->now_ns += 3600 * SECOND;
    assert_int_equal(charge(rig, limits, 1000), 0);
    assert_int_equal(charge(rig, limits, 1000), SECOND - RATE_BURST_MS * MS);
}

static void
each_address_and_each_export_has_a_bucket_of_its_own(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000 };
    struct rate_key elsewhere = client(1);

    elsewhere.export_id++;
    charge(rig, limits, 1000000);
    assert_true(wait_of(rig, client(1), limits) > 0);
    assert_int_equal(wait_of(rig, client(2), limits), 0);
    assert_int_equal(wait_of(rig, elsewhere, limits), 0);
}

static void
a_limit_that_is_raised_holds_for_what_is_owed(void **state)
{
    struct rig *rig = *state;

    charge(rig, (struct rate_limits){ .bytes = 1000 }, 1000000);
    assert_int_equal(wait_of(rig, client(1), (struct rate_limits){ .bytes = 1000000 }), SECOND - RATE_BURST_MS * MS);
    assert_int_equal(wait_of(rig, client(1), (struct rate_limits){ .calls = 1000 }), 0);
}

static void
who_has_no_patience_is_not_charged(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000 };
    const struct rate_key key = client(1);
    struct rate_charge call = { .bytes = 5000 };
    uint64_t wait_ns;

    charge(rig, limits, 1000);
    assert_int_equal(rate_charge(rig->rate, &key, &limits, SECOND / 2, &call), -EAGAIN);
    wait_ns = wait_of(rig, client(1), limits);
    assert_int_equal(wait_ns, SECOND - RATE_BURST_MS * MS);
    assert_int_equal(rate_charge(rig->rate, &key, &limits, wait_ns, &call), 0);
}

/* A READ that asks for more than it gets is charged what it gets; the next one is believed to get as little. */
static void
bytes_that_were_not_moved_are_given_back(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000000 };
    const struct rate_key key = client(1);
    struct rate_charge call = { .bytes = 1000000, .at_most = true };
    uint64_t owed = 0;

    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(rate_charge(rig->rate, &key, &limits, FOREVER, &call), 0);
        rate_settle(rig->rate, &key, &call, 10000);
        owed += 10000;
        assert_int_equal(wait_of(rig, client(1), limits) / MS, owed > 100000 ? (owed - 100000) / 1000 : 0);
    }
    assert_in_range(call.paid, 9000, 12000);
}

static void
a_full_table_forgets_the_one_that_owes_least(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000 };
    unsigned still_owe = 0;

    charge_as(rig, client(0), limits, 1000000);
    for (unsigned n = 1; n < 255; n++)
        charge_as(rig, client((uint8_t)n), limits, 1000 + n);
    assert_true(wait_of(rig, client(0), limits) > 900 * SECOND);
    for (unsigned n = 1; n < 255; n++)
        still_owe += wait_of(rig, client((uint8_t)n), limits) > 0;
    assert_true(still_owe < ENTRIES);
}

static void
empty_buckets_make_room_and_lose_nothing(void **state)
{
    struct rig *rig = *state;
    const struct rate_limits limits = { .bytes = 1000 };

    charge(rig, limits, 100000);
    for (unsigned n = 0; n < 10000; n++) {
        charge_as(rig, client((uint8_t)(2 + n % 250)), limits, 1);
        rig->now_ns += 2 * MS;
    }
    assert_int_equal(wait_of(rig, client(1), limits), 80 * SECOND - RATE_BURST_MS * MS);
}

/* A client that keeps `window` calls of these sizes under way, for so many seconds: bytes that were moved. */
static uint64_t
stream(struct rig *rig, struct rate_limits limits, const uint32_t *sizes, unsigned nsizes, unsigned window,
       unsigned seconds, uint64_t *calls)
{
    uint64_t due_ns[WINDOW_MAX], size[WINDOW_MAX], end_ns = rig->now_ns + seconds * SECOND, moved = 0;
    unsigned sent = 0;

    *calls = 0;
    for (unsigned i = 0; i < window; i++) {
        size[i] = sizes[sent++ % nsizes];
        due_ns[i] = rig->now_ns + charge(rig, limits, size[i]);
    }
    for (;;) {
        unsigned first = 0;

        for (unsigned i = 1; i < window; i++)
            if (due_ns[i] < due_ns[first])
                first = i;
        if (due_ns[first] >= end_ns)
            return moved;
        rig->now_ns = MAX(due_ns[first], rig->now_ns) + 1000;       /* it takes a microsecond, too */
        moved += size[first];
        (*calls)++;
        size[first] = sizes[sent++ % nsizes];
        due_ns[first] = rig->now_ns + charge(rig, limits, size[first]);
    }
}

static void
assert_near(uint64_t got, uint64_t wanted)
{
    if (got < wanted - wanted / 20 || got > wanted + wanted / 20)
        fail_msg("%llu, not %llu", (unsigned long long)got, (unsigned long long)wanted);
}

static void
a_stream_gets_its_rate_whatever_its_transfers_are(void **state)
{
    static const struct { uint64_t rate; uint32_t sizes[3]; unsigned nsizes, seconds; } cases[] = {
        { 64 << 10, { 4096 }, 1, 60 }, { 1 << 20, { 512 }, 1, 20 }, { 1 << 20, { 4096 }, 1, 20 },
        { 10 << 20, { 65536 }, 1, 20 }, { 10 << 20, { 1 << 20 }, 1, 20 }, { 10 << 20, { 4 << 20 }, 1, 20 },
        { 10 << 20, { 512, 1 << 20, 8191 }, 3, 20 }, { 1 << 30, { 32768, 1 << 20 }, 2, 10 },
    };
    static const unsigned windows[] = { 1, 2, 16, WINDOW_MAX };
    struct rig *rig = *state;
    uint64_t calls;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
            rig->now_ns += 10000 * SECOND;
            assert_near(stream(rig, (struct rate_limits){ .bytes = cases[i].rate }, cases[i].sizes, cases[i].nsizes,
                               windows[w], cases[i].seconds, &calls),
                        cases[i].rate * cases[i].seconds);
        }
    }
}

static void
calls_get_their_rate(void **state)
{
    static const uint32_t sizes[] = { 0 };
    static const uint32_t rates[] = { 1, 10, 1000, 10000 };
    struct rig *rig = *state;
    uint64_t calls;

    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        rig->now_ns += 10000 * SECOND;
        stream(rig, (struct rate_limits){ .calls = rates[i] }, sizes, 1, 4, 60, &calls);
        assert_near(calls, rates[i] * UINT64_C(60));
    }
}

static void *
charge_often(void *arg)
{
    struct rig *rig = arg;

    for (unsigned i = 0; i < 10000; i++)
        charge(rig, (struct rate_limits){ .bytes = 1000 }, 1);
    return NULL;
}

static void
threads_share_a_bucket(void **state)
{
    struct rig *rig = *state;
    pthread_t threads[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, charge_often, rig), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(wait_of(rig, client(1), (struct rate_limits){ .bytes = 1000 }),
                     THREADS * 10 * SECOND - RATE_BURST_MS * MS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_call_begins_at_once_however_large_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_follows_waits_until_all_but_a_burst_has_leaked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_are_counted_as_bytes_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_that_move_nothing_wait_for_no_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_slower_of_two_limits_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_idle_client_saves_no_more_than_a_burst, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_address_and_each_export_has_a_bucket_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_limit_that_is_raised_holds_for_what_is_owed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_no_patience_is_not_charged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_that_were_not_moved_are_given_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_table_forgets_the_one_that_owes_least, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_buckets_make_room_and_lose_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_gets_its_rate_whatever_its_transfers_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_get_their_rate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_share_a_bucket, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
