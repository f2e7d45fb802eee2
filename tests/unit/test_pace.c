/* tests/unit/test_pace.c - which operations run on the event worker. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "storage/pace.h"

#define US(n) ((uint64_t)(n) * 1000)
#define MS(n) ((uint64_t)(n) * 1000000)
#define FIRST 16                        /* quick ones until the first time on the worker */
#define WATCHED 64                      /* after a slow one */

static void
learn_threads(struct pace *pace, unsigned count, uint64_t took_ns)
{
    for (unsigned i = 0; i < count; i++)
        pace_learn_thread(pace, took_ns, 0, 0);
}

static void
learn_inline(struct pace *pace, unsigned count, struct pace_run run)
{
    for (unsigned i = 0; i < count; i++)
        pace_learn_inline(pace, &run);
}

static void
pace_inline(struct pace *pace)
{
    pace_init(pace);
    learn_threads(pace, FIRST, US(5));
    assert_true(pace_is_inline(pace));
}

static void
a_kind_begins_on_threads_and_comes_to_the_worker_after_16_quick_ones(void **state)
{
    struct pace pace;

    (void)state;
    pace_init(&pace);
    learn_threads(&pace, FIRST - 1, US(5));
    assert_false(pace_is_inline(&pace));
    learn_threads(&pace, 1, US(5));
    assert_true(pace_is_inline(&pace));
}

static void
one_that_is_not_quick_counts_back_and_a_slow_one_starts_anew(void **state)
{
    struct pace pace;

    (void)state;
    pace_init(&pace);
    learn_threads(&pace, FIRST - 1, US(5));
    learn_threads(&pace, 1, US(100));
    learn_threads(&pace, 1, US(5));
    assert_false(pace_is_inline(&pace));
    learn_threads(&pace, 1, US(5));
    assert_true(pace_is_inline(&pace));
    pace_init(&pace);
    learn_threads(&pace, FIRST - 1, US(5));
    learn_threads(&pace, 1, US(501));
    learn_threads(&pace, FIRST - 1, US(5));
    assert_false(pace_is_inline(&pace));
    learn_threads(&pace, 1, US(5));
    assert_true(pace_is_inline(&pace));
}

/* On a slow processor, or one that others use as well. */
static void
what_a_thread_only_computed_for_is_quick_up_to_100_us(void **state)
{
    struct pace pace;

    (void)state;
    pace_init(&pace);
    for (unsigned i = 0; i < FIRST; i++)
        pace_learn_thread(&pace, US(120), US(95), 0);
    assert_true(pace_is_inline(&pace));
    pace_init(&pace);
    for (unsigned i = 0; i < FIRST; i++)
        pace_learn_thread(&pace, US(131), US(95), 0);    /* it waited for more than 30 us */
    assert_false(pace_is_inline(&pace));
    for (unsigned i = 0; i < FIRST; i++)
        pace_learn_thread(&pace, US(105), US(105), 0);
    assert_false(pace_is_inline(&pace));
}

static void
a_slow_one_alone_does_not_move_a_kind_off_the_worker(void **state)
{
    struct pace pace;

    (void)state;
    pace_inline(&pace);
    for (unsigned i = 0; i < 10; i++) {
        learn_inline(&pace, 1, (struct pace_run){ .took_ns = MS(4) });
        learn_inline(&pace, WATCHED, (struct pace_run){ .took_ns = US(3), .watched = true });
    }
    assert_true(pace_is_inline(&pace));
}

static void
one_that_blocks_while_it_is_watched_moves_the_kind_off(void **state)
{
    struct pace pace;

    (void)state;
    pace_inline(&pace);
    learn_inline(&pace, 1, (struct pace_run){ .took_ns = MS(4) });
    learn_inline(&pace, WATCHED - 1, (struct pace_run){ .took_ns = US(3), .watched = true });
    learn_inline(&pace, 1, (struct pace_run){ .took_ns = US(501), .watched = true, .blocked = true });
    assert_false(pace_is_inline(&pace));
}

static void
losing_the_processor_however_often_does_not_move_a_kind_off(void **state)
{
    struct pace pace;

    (void)state;
    pace_inline(&pace);
    learn_inline(&pace, 1, (struct pace_run){ .took_ns = MS(4) });
    learn_inline(&pace, 1000, (struct pace_run){ .took_ns = MS(4), .watched = true });
    assert_true(pace_is_inline(&pace));
}

static void
what_the_size_explains_is_not_slow(void **state)
{
    struct pace pace;

    (void)state;
    pace_inline(&pace);
    learn_inline(&pace, 10, (struct pace_run){
        .took_ns = MS(1), .allowance_ns = MS(1), .watched = true, .blocked = true });
    assert_true(pace_is_inline(&pace));
}

static void
each_time_a_kind_has_to_be_quick_for_twice_as_long(void **state)
{
    unsigned needed = FIRST;
    struct pace pace;

    (void)state;
    pace_inline(&pace);
    for (unsigned i = 0; i < 14; i++) {
        learn_inline(&pace, 1, (struct pace_run){ .took_ns = MS(4), .watched = true, .blocked = true });
        needed = needed < 16384 ? 2 * needed : 16384;
        learn_threads(&pace, needed - 1, US(5));
        assert_false(pace_is_inline(&pace));
        learn_threads(&pace, 1, US(5));
        assert_true(pace_is_inline(&pace));
    }
}

/* A WRITE of 4 KiB in the kernel's hands with fifteen others in front of it takes no less than this. */
static void
what_waits_in_a_queue_is_not_slow_for_that(void **state)
{
    struct pace pace;

    (void)state;
    pace_init(&pace);
    for (unsigned i = 0; i < FIRST; i++)
        pace_learn_queued(&pace, US(150), 4096);
    assert_true(pace_is_inline(&pace));
    pace_init(&pace);
    for (unsigned i = 0; i < 10 * FIRST; i++)
        pace_learn_queued(&pace, MS(1), 4096);
    assert_false(pace_is_inline(&pace));
}

static void
sleep_ms(long ms)
{
    struct timespec left = { .tv_nsec = ms * 1000000 };

    while (nanosleep(&left, &left) < 0)
        assert_int_equal(errno, EINTR);
}

static void
a_thread_that_sleeps_twice_is_found_out(void **state)
{
    struct pace_mark mark;
    struct pace pace;

    (void)state;
    pace_inline(&pace);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(pace_is_inline(&pace));
        pace_begin(&pace, &mark);
        assert_int_equal(mark.watched, i > 0);
        sleep_ms(2);
        pace_end(&pace, &mark, 0);
    }
    assert_false(pace_is_inline(&pace));
}

static void
a_thread_that_computes_for_long_twice_is_found_out(void **state)
{
    struct timespec now, begin;
    struct pace_mark mark;
    struct pace pace;

    (void)state;
    pace_inline(&pace);
    for (unsigned i = 0; i < 2; i++) {
        pace_begin(&pace, &mark);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        do
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 20000000);
        pace_end(&pace, &mark, 0);
    }
    assert_false(pace_is_inline(&pace));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_begins_on_threads_and_comes_to_the_worker_after_16_quick_ones),
        cmocka_unit_test(one_that_is_not_quick_counts_back_and_a_slow_one_starts_anew),
        cmocka_unit_test(what_a_thread_only_computed_for_is_quick_up_to_100_us),
        cmocka_unit_test(a_slow_one_alone_does_not_move_a_kind_off_the_worker),
        cmocka_unit_test(one_that_blocks_while_it_is_watched_moves_the_kind_off),
        cmocka_unit_test(losing_the_processor_however_often_does_not_move_a_kind_off),
        cmocka_unit_test(what_the_size_explains_is_not_slow),
        cmocka_unit_test(each_time_a_kind_has_to_be_quick_for_twice_as_long),
        cmocka_unit_test(what_waits_in_a_queue_is_not_slow_for_that),
        cmocka_unit_test(a_thread_that_sleeps_twice_is_found_out),
        cmocka_unit_test(a_thread_that_computes_for_long_twice_is_found_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
