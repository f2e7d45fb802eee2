/* tests/unit/test_pool.c - threads that may block: their number, their queue, and what is counted of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/pool.h"

#define WAIT_MS 20000                   /* for what must happen */
#define QUIET_MS 100                    /* for what must not */

/* Work that is not done until it is let go. */
struct held {
    struct pool_work work;              /* first */
    sem_t *gate;
    _Atomic unsigned *begun;
};

static void
run_held(struct pool_work *work)
{
    struct held *held = (struct held *)work;

    atomic_fetch_add(held->begun, 1);
    while (sem_wait(held->gate) < 0)
        continue;
}

struct rig {
    struct pool *pool;
    sem_t gate;
    _Atomic unsigned begun;
    struct held held[64];
};

static struct rig *
start(unsigned min, unsigned max)
{
    const struct pool_config config = { .min = min, .max = max };
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    sem_init(&rig->gate, 0, 0);
    assert_int_equal(pool_new_with(&config, &rig->pool), 0);
    return rig;
}

static void
submit_held(struct rig *rig, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        rig->held[i] = (struct held){ .work = { .run = run_held }, .gate = &rig->gate, .begun = &rig->begun };
        rig->held[i].work.next = &rig->held[i + 1].work;
    }
    pool_submit(rig->pool, &rig->held[first].work, &rig->held[first + count - 1].work, count);
}

static void
let_go(struct rig *rig, unsigned count)
{
    while (count-- > 0)
        sem_post(&rig->gate);
}

static void
stop(struct rig *rig)
{
    pool_free(rig->pool);
    sem_destroy(&rig->gate);
    free(rig);
}

static struct pool_stats
stats_of(struct rig *rig)
{
    struct pool_stats stats;

    pool_read_stats(rig->pool, &stats);
    return stats;
}

static void
wait_begun(struct rig *rig, unsigned count)
{
    for (unsigned ms = 0; atomic_load(&rig->begun) < count && ms < WAIT_MS; ms++)
        usleep(1000);
    assert_int_equal(atomic_load(&rig->begun), count);
}

static void
wait_threads(struct rig *rig, unsigned count)
{
    for (unsigned ms = 0; stats_of(rig).threads != count && ms < WAIT_MS; ms++)
        usleep(1000);
    assert_int_equal(stats_of(rig).threads, count);
}

static void
a_number_holds_whatever_waits(void **state)
{
    struct rig *rig = start(2, 2);

    (void)state;
    submit_held(rig, 0, 5);
    wait_begun(rig, 2);
    usleep(QUIET_MS * 1000);
    assert_int_equal(atomic_load(&rig->begun), 2);
    assert_int_equal(stats_of(rig).threads, 2);
    assert_int_equal(stats_of(rig).busy, 2);
    assert_int_equal(stats_of(rig).queued, 3);
    let_go(rig, 5);
    wait_begun(rig, 5);
    stop(rig);
}

static void
work_that_waits_gets_threads_up_to_the_maximum(void **state)
{
    struct rig *rig = start(1, 6);

    (void)state;
    assert_int_equal(stats_of(rig).threads, 1);
    submit_held(rig, 0, 8);
    wait_begun(rig, 6);
    usleep(QUIET_MS * 1000);
    assert_int_equal(stats_of(rig).threads, 6);
    assert_int_equal(stats_of(rig).queued, 2);
    let_go(rig, 8);
    wait_begun(rig, 8);
    stop(rig);
}

/* One piece behind threads that never end: nobody else comes to notice it. */
static void
a_single_piece_that_waits_is_enough(void **state)
{
    struct rig *rig = start(2, 8);

    (void)state;
    submit_held(rig, 0, 2);
    wait_begun(rig, 2);
    submit_held(rig, 2, 1);
    wait_begun(rig, 3);
    assert_int_equal(stats_of(rig).threads, 3);
    let_go(rig, 3);
    stop(rig);
}

static void
threads_that_are_not_needed_end(void **state)
{
    struct rig *rig = start(1, 8);

    (void)state;
    submit_held(rig, 0, 8);
    wait_begun(rig, 8);
    let_go(rig, 8);
    wait_threads(rig, 1);
    submit_held(rig, 8, 1);
    wait_begun(rig, 9);
    let_go(rig, 1);
    stop(rig);
}

static void
the_range_is_changed_while_there_is_work(void **state)
{
    struct rig *rig = start(1, 1);

    (void)state;
    submit_held(rig, 0, 6);
    wait_begun(rig, 1);
    assert_int_equal(pool_resize(rig->pool, 3, 3), 0);
    wait_begun(rig, 3);
    assert_int_equal(pool_resize(rig->pool, 1, 8), 0);
    wait_begun(rig, 6);
    assert_int_equal(pool_resize(rig->pool, 2, 2), 0);
    let_go(rig, 6);
    wait_threads(rig, 2);
    assert_int_equal(pool_resize(rig->pool, 4, 9), 0);
    wait_threads(rig, 4);
    stop(rig);
}

static void
a_range_that_is_none_is_refused(void **state)
{
    static const unsigned ranges[][2] = { { 0, 1 }, { 0, 0 }, { 3, 2 }, { 1, POOL_THREADS_MAX + 1 } };
    struct rig *rig = start(1, 1);
    struct pool *pool;

    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        const struct pool_config config = { .min = ranges[i][0], .max = ranges[i][1] };

        assert_int_equal(pool_new_with(&config, &pool), -EINVAL);
        assert_int_equal(pool_resize(rig->pool, ranges[i][0], ranges[i][1]), -EINVAL);
    }
    stop(rig);
}

static void
waiting_and_the_time_of_busy_threads_are_counted(void **state)
{
    struct rig *rig = start(2, 2);
    struct pool_stats before, after;

    (void)state;
    submit_held(rig, 0, 2);
    wait_begun(rig, 2);
    before = stats_of(rig);
    submit_held(rig, 2, 3);
    usleep(QUIET_MS * 1000);
    after = stats_of(rig);
    assert_int_equal(after.waited - before.waited, 3);
    assert_int_equal(after.busy_ns - before.busy_ns, after.thread_ns - before.thread_ns);
    assert_true(after.thread_ns - before.thread_ns >= 2 * QUIET_MS * UINT64_C(1000000));
    let_go(rig, 5);
    wait_begun(rig, 5);
    for (unsigned ms = 0; stats_of(rig).busy > 0 && ms < WAIT_MS; ms++)
        usleep(1000);
    before = stats_of(rig);
    usleep(QUIET_MS * 1000);
    after = stats_of(rig);
    assert_int_equal(after.done, 5);
    assert_int_equal(after.busy_ns, before.busy_ns);
    assert_true(after.thread_ns > before.thread_ns);
    stop(rig);
}

static void
what_is_queued_is_finished_before_the_end(void **state)
{
    struct rig *rig = start(1, 4);
    _Atomic unsigned *begun = &rig->begun;

    (void)state;
    submit_held(rig, 0, 40);
    let_go(rig, 40);
    pool_free(rig->pool);
    assert_int_equal(atomic_load(begun), 40);
    sem_destroy(&rig->gate);
    free(rig);
}

static _Atomic unsigned threads_begun, keepers_begun;

static void
count_thread(void *context)
{
    atomic_fetch_add((_Atomic unsigned *)context, 1);
}

static void
count_keeper(void *context)
{
    (void)context;
    atomic_fetch_add(&keepers_begun, 1);
}

static void
each_thread_begins_as_it_is_told_to(void **state)
{
    const struct pool_config config = { .min = 3, .max = 9, .begin = count_thread, .begin_keeper = count_keeper,
                                        .context = &threads_begun };
    struct pool *pool;

    (void)state;
    assert_int_equal(pool_new_with(&config, &pool), 0);
    pool_free(pool);
    assert_int_equal(atomic_load(&threads_begun), 3);
    assert_int_equal(atomic_load(&keepers_begun), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_holds_whatever_waits),
        cmocka_unit_test(work_that_waits_gets_threads_up_to_the_maximum),
        cmocka_unit_test(a_single_piece_that_waits_is_enough),
        cmocka_unit_test(threads_that_are_not_needed_end),
        cmocka_unit_test(the_range_is_changed_while_there_is_work),
        cmocka_unit_test(a_range_that_is_none_is_refused),
        cmocka_unit_test(waiting_and_the_time_of_busy_threads_are_counted),
        cmocka_unit_test(what_is_queued_is_finished_before_the_end),
        cmocka_unit_test(each_thread_begins_as_it_is_told_to),
    };

    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
