/* tests/unit/test_readahead.c - which reads are a stream (storage/readahead.c), and what is fetched ahead of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "storage/readahead.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define AHEAD MIB(1)
#define LONG_FILE MIB(1024)

/* What was fetched in all, looked at as it is asked for. */
struct seen {
    struct readahead ra;
    uint64_t size;
    uint32_t ahead;
    uint64_t requests, bytes, last;
};

static struct seen
file_of(uint64_t size)
{
    struct seen seen;

    memset(&seen, 0, sizeof(seen));
    seen.size = size;
    seen.ahead = AHEAD;
    return seen;
}

static void
read_at(struct seen *seen, uint64_t offset, uint32_t length)
{
    struct readahead_range range;

    if (!readahead_note(&seen->ra, offset, length, seen->size, seen->ahead, &range))
        return;
    assert_true(range.from < range.to);
    assert_true(range.to <= seen->size);
    assert_true(range.to - range.from <= READAHEAD_ONCE);
    seen->requests++;
    seen->bytes += range.to - range.from;
    seen->last = range.to;
}

/* A generator of its own, so that a failure comes again. */
static uint64_t
draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 24;
}

static void
the_first_reads_are_no_stream_yet(void **state)
{
    struct seen seen = file_of(LONG_FILE);

    (void)state;
    for (unsigned i = 0; i < READAHEAD_RUN - 1; i++)
        read_at(&seen, KIB(64) * i, KIB(64));
    assert_int_equal(seen.requests, 0);
    read_at(&seen, KIB(64) * (READAHEAD_RUN - 1), KIB(64));
    assert_int_equal(seen.requests, 1);
    assert_int_equal(seen.bytes, AHEAD);
    assert_int_equal(seen.last, KIB(64) * READAHEAD_RUN + AHEAD);
}

static void
a_stream_is_fetched_once_in_large_pieces_up_to_the_end_of_the_file(void **state)
{
    struct seen seen = file_of(MIB(64) + 1234);

    (void)state;
    for (uint64_t at = 0; at < seen.size; at += KIB(64))
        read_at(&seen, at, KIB(64));
    assert_int_equal(seen.bytes, seen.size - READAHEAD_RUN * KIB(64));
    assert_int_equal(seen.last, seen.size);
    assert_in_range(seen.requests, 64, 2 * 64 + 2);
}

static void
a_stream_can_begin_anywhere(void **state)
{
    struct seen seen = file_of(LONG_FILE);

    (void)state;
    for (uint64_t at = MIB(500) + 77; at < MIB(510); at += 5000)
        read_at(&seen, at, 5000);
    assert_true(seen.bytes >= MIB(10));
    assert_true(seen.last >= MIB(510));
}

static void
much_is_asked_for_in_several_pieces(void **state)
{
    struct seen seen = file_of(LONG_FILE);

    (void)state;
    seen.ahead = MIB(64);
    for (unsigned i = 0; i < 3 * READAHEAD_RUN; i++)
        read_at(&seen, KIB(64) * i, KIB(64));
    assert_int_equal(seen.requests, MIB(64) / READAHEAD_ONCE);
    assert_int_equal(seen.bytes, MIB(64));
}

static void
what_could_not_be_fetched_comes_with_a_later_read(void **state)
{
    struct seen seen = file_of(LONG_FILE);

    (void)state;
    for (unsigned i = 0; i < 20; i++)
        assert_false(readahead_note(&seen.ra, KIB(64) * i, KIB(64), seen.size, AHEAD, NULL));
    read_at(&seen, KIB(64) * 20, KIB(64));
    assert_int_equal(seen.requests, 1);
    assert_int_equal(seen.last, KIB(64) * 21 + AHEAD);
}

static void
a_file_that_ends_with_the_stream_needs_nothing(void **state)
{
    struct seen seen = file_of(KIB(64) * READAHEAD_RUN);

    (void)state;
    for (unsigned i = 0; i < 3 * READAHEAD_RUN; i++)
        read_at(&seen, KIB(64) * i, KIB(64));
    assert_int_equal(seen.requests, 0);
}

/* Each read of a group of so many is at another place in it. */
static void
shuffled(uint32_t length, unsigned group)
{
    struct seen seen = file_of(LONG_FILE);
    uint64_t random = length + group;
    unsigned order[16];

    seen.ahead = 16 * length;
    for (unsigned base = 0; base < 256; base += group) {
        for (unsigned i = 0; i < group; i++)
            order[i] = i;
        for (unsigned i = group; i > 1; i--) {
            unsigned j = (unsigned)(draw(&random) % i), other = order[i - 1];

            order[i - 1] = order[j];
            order[j] = other;
        }
        for (unsigned i = 0; i < group; i++)
            read_at(&seen, (uint64_t)(base + order[i]) * length, length);
    }
    if (seen.bytes < (uint64_t)length * 200)
        fail_msg("of %u bytes in groups of %u only %llu bytes were fetched", length, group,
                 (unsigned long long)seen.bytes);
}

static void
a_stream_out_of_order_is_one_nevertheless(void **state)
{
    static const uint32_t lengths[] = { 4096, 32768, 131072, 1 << 20, 1000 };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (unsigned group = 2; group <= 16; group *= 2)
            shuffled(lengths[i], group);
    }
}

static void
two_streams_of_one_file_are_both_followed(void **state)
{
    struct seen seen = file_of(LONG_FILE);

    (void)state;
    for (uint64_t at = 0; at < MIB(16); at += KIB(32)) {
        read_at(&seen, at, KIB(32));
        read_at(&seen, MIB(512) + at, KIB(32));
    }
    assert_true(seen.bytes >= 2 * MIB(16));
}

static void
random_reads_are_no_stream(void **state)
{
    static const uint32_t lengths[] = { 4096, 65536, 1 << 20 };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct seen seen = file_of(LONG_FILE);
        uint64_t random = i;

        for (unsigned n = 0; n < 200000; n++)
            read_at(&seen, draw(&random) % (LONG_FILE / lengths[i]) * lengths[i], lengths[i]);
        assert_int_equal(seen.requests, 0);
    }
}

static void
random_reads_of_a_small_place_are_no_stream(void **state)
{
    struct seen seen = file_of(LONG_FILE), smaller = file_of(LONG_FILE);
    uint64_t random = 5;

    (void)state;
    for (unsigned n = 0; n < 200000; n++) {
        read_at(&seen, MIB(100) + draw(&random) % 512 * 4096, 4096);
        read_at(&smaller, MIB(100) + draw(&random) % 256 * 4096, 4096);
    }
    assert_int_equal(seen.requests, 0);
    assert_true(smaller.requests <= 10);                /* a few do come in order by chance, one after the other */
}

static void
reading_the_same_again_is_no_stream(void **state)
{
    struct seen seen = file_of(LONG_FILE);

    (void)state;
    for (unsigned n = 0; n < 1000; n++)
        read_at(&seen, KIB(64), KIB(64));
    assert_int_equal(seen.requests, 0);
}

static void
reading_backwards_or_in_steps_is_no_stream(void **state)
{
    struct seen seen = file_of(LONG_FILE), steps = file_of(LONG_FILE);

    (void)state;
    for (unsigned n = 1000; n > 0; n--)
        read_at(&seen, KIB(64) * n, KIB(64));
    assert_int_equal(seen.requests, 0);
    for (unsigned n = 0; n < 1000; n++)
        read_at(&steps, KIB(64) * 4 * n, KIB(64));
    assert_int_equal(steps.requests, 0);
}

static void
random_reads_of_others_do_not_end_a_stream(void **state)
{
    struct seen seen = file_of(LONG_FILE);
    uint64_t random = 1;

    (void)state;
    for (uint64_t at = 0; at < MIB(4); at += KIB(32))
        read_at(&seen, at, KIB(32));
    for (uint64_t at = MIB(4); at < MIB(36); at += KIB(32)) {
        read_at(&seen, at, KIB(32));
        for (unsigned n = 0; n < 10; n++)
            read_at(&seen, MIB(64) + draw(&random) % MIB(900), 4096);
    }
    assert_in_range(seen.bytes, MIB(36) - READAHEAD_RUN * KIB(32), MIB(36) + AHEAD);
}

/* What a client has kept is not asked for: the stream goes on behind it. */
static void
a_stream_with_parts_left_out_goes_on(void **state)
{
    struct seen seen = file_of(LONG_FILE);

    (void)state;
    for (uint64_t at = 0; at < MIB(64); at += KIB(64))
        if (at / KIB(64) % 16 != 7)
            read_at(&seen, at, KIB(64));
    assert_true(seen.last >= MIB(64));
    assert_true(seen.bytes >= MIB(48));
}

static void
offsets_as_far_as_a_file_can_go_are_fine(void **state)
{
    struct seen seen = file_of(INT64_MAX);

    (void)state;
    for (unsigned n = 16; n > 0; n--)
        read_at(&seen, INT64_MAX - (uint64_t)n * 4096, 4096);
    assert_int_equal(seen.last, INT64_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_reads_are_no_stream_yet),
        cmocka_unit_test(a_stream_is_fetched_once_in_large_pieces_up_to_the_end_of_the_file),
        cmocka_unit_test(a_stream_can_begin_anywhere),
        cmocka_unit_test(much_is_asked_for_in_several_pieces),
        cmocka_unit_test(what_could_not_be_fetched_comes_with_a_later_read),
        cmocka_unit_test(a_file_that_ends_with_the_stream_needs_nothing),
        cmocka_unit_test(a_stream_out_of_order_is_one_nevertheless),
        cmocka_unit_test(two_streams_of_one_file_are_both_followed),
        cmocka_unit_test(random_reads_are_no_stream),
        cmocka_unit_test(random_reads_of_a_small_place_are_no_stream),
        cmocka_unit_test(reading_the_same_again_is_no_stream),
        cmocka_unit_test(reading_backwards_or_in_steps_is_no_stream),
        cmocka_unit_test(random_reads_of_others_do_not_end_a_stream),
        cmocka_unit_test(a_stream_with_parts_left_out_goes_on),
        cmocka_unit_test(offsets_as_far_as_a_file_can_go_are_fine),
    };

    return cmocka_run_group_tests_name("readahead", tests, NULL, NULL);
}
