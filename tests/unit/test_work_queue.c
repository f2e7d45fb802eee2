/* tests/unit/test_work_queue.c - clients take turns at the threads, and no object holds all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "storage/pool.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- The queue ---- */

static void
add(struct work_queue *queue, struct pool_work *work, uint32_t client, uint32_t object)
{
    *work = (struct pool_work){ .client = client, .object = object };
    work_queue_add(queue, work);
}

static int
set_up(void **state)
{
    struct work_queue *queue = malloc(sizeof(*queue));

    assert_non_null(queue);
    work_queue_init(queue);
    *state = queue;
    return 0;
}

static int
tear_down(void **state)
{
    free(*state);
    return 0;
}

static void
work_of_one_client_is_taken_oldest_first(void **state)
{
    struct work_queue *queue = *state;
    struct pool_work works[5];

    for (size_t i = 0; i < COUNT(works); i++)
        add(queue, &works[i], 7, 0);
    assert_int_equal(queue->queued, COUNT(works));
    for (size_t i = 0; i < COUNT(works); i++)
        assert_ptr_equal(work_queue_take(queue, 1), &works[i]);
    assert_null(work_queue_take(queue, 1));
    assert_int_equal(queue->queued, 0);
}

static void
a_list_is_added_in_its_order(void **state)
{
    struct work_queue *queue = *state;
    struct pool_work works[3] = { { .client = 1 }, { .client = 2 }, { .client = 1 } };

    works[0].next = &works[1];
    works[1].next = &works[2];
    work_queue_add(queue, &works[0]);
    assert_ptr_equal(work_queue_take(queue, 1), &works[0]);
    assert_ptr_equal(work_queue_take(queue, 1), &works[1]);
    assert_ptr_equal(work_queue_take(queue, 1), &works[2]);
}

static void
clients_take_turns_however_much_each_has_waiting(void **state)
{
    struct work_queue *queue = *state;
    struct pool_work many[100], few[2];

    for (size_t i = 0; i < COUNT(many); i++)
        add(queue, &many[i], 1, 0);
    for (size_t i = 0; i < COUNT(few); i++)
        add(queue, &few[i], 2, 0);
    assert_ptr_equal(work_queue_take(queue, 1), &many[0]);
    assert_ptr_equal(work_queue_take(queue, 1), &few[0]);
    assert_ptr_equal(work_queue_take(queue, 1), &many[1]);
    assert_ptr_equal(work_queue_take(queue, 1), &few[1]);
    for (size_t i = 2; i < COUNT(many); i++)
        assert_ptr_equal(work_queue_take(queue, 1), &many[i]);
    assert_null(work_queue_take(queue, 1));
}

static void
work_beyond_the_limit_of_its_object_steps_aside_for_that_of_others(void **state)
{
    struct work_queue *queue = *state;
    struct pool_work stuck[4], other;

    for (size_t i = 0; i < COUNT(stuck); i++)
        add(queue, &stuck[i], 1, 50);
    add(queue, &other, 1, 51);
    assert_ptr_equal(work_queue_take(queue, 2), &stuck[0]);
    assert_ptr_equal(work_queue_take(queue, 2), &stuck[1]);
    assert_ptr_equal(work_queue_take(queue, 2), &other);
    assert_null(work_queue_take(queue, 2));
    assert_int_equal(queue->queued, 2);
    work_queue_over(queue, other.object);
    assert_null(work_queue_take(queue, 2));
    work_queue_over(queue, 50);
    assert_ptr_equal(work_queue_take(queue, 2), &stuck[2]);
    assert_null(work_queue_take(queue, 2));
    work_queue_over(queue, 50);
    work_queue_over(queue, 50);
    assert_ptr_equal(work_queue_take(queue, 2), &stuck[3]);
    work_queue_over(queue, 50);
    assert_int_equal(queue->queued, 0);
}

static void
what_stepped_aside_comes_before_what_its_client_added_since(void **state)
{
    struct work_queue *queue = *state;
    struct pool_work first, aside, later;

    add(queue, &first, 1, 50);
    add(queue, &aside, 1, 50);
    assert_ptr_equal(work_queue_take(queue, 1), &first);
    assert_null(work_queue_take(queue, 1));
    add(queue, &later, 1, 51);
    work_queue_over(queue, 50);
    assert_ptr_equal(work_queue_take(queue, 1), &aside);
    assert_ptr_equal(work_queue_take(queue, 1), &later);
}

/* Whatever is added, taken and over in whatever order, each piece is taken once, and none is left behind. */
static void
nothing_is_lost_or_taken_twice(void **state)
{
    static struct pool_work works[2000];
    struct work_queue *queue = *state;
    struct pool_work *out[8];
    size_t added = 0, taken = 0, nout = 0;
    unsigned seed = 1;

    while (taken < COUNT(works)) {
        struct pool_work *work;
        unsigned n = (unsigned)rand_r(&seed);

        if (added < COUNT(works) && n % 3 != 0) {
            add(queue, &works[added++], n / 3 % 100, n / 300 % 5);
        } else if (nout < COUNT(out) && (work = work_queue_take(queue, 2)) != NULL) {
            assert_null(work->run);
            work->run = (void (*)(struct pool_work *))free;      /* taken: never called */
            out[nout++] = work;
            taken++;
        } else if (nout > 0) {
            work = out[n / 3 % nout];
            out[n / 3 % nout] = out[nout - 1];
            nout--;
            work_queue_over(queue, work->object);
        }
    }
    assert_int_equal(queue->queued, 0);
    assert_null(work_queue_take(queue, 8));
}

/* ---- Behind threads ---- */

struct piece {
    struct pool_work work;              /* first */
    pthread_barrier_t *until;           /* NULL: over at once */
    _Atomic unsigned *over;
};

static void
run(struct pool_work *work)
{
    struct piece *piece = (struct piece *)work;
    _Atomic unsigned *over = piece->over;

    if (piece->until != NULL)
        pthread_barrier_wait(piece->until);
    atomic_fetch_add(over, 1);
}

static void
submit(struct pool *pool, struct piece *piece, uint32_t client, uint32_t object)
{
    piece->work = (struct pool_work){ .run = run, .client = client, .object = object };
    pool_submit(pool, &piece->work, &piece->work, 1);
}

static void
wait_for(_Atomic unsigned *over, unsigned count)
{
    while (atomic_load(over) < count)
        sched_yield();
}

/* More calls to a file that hangs than there are threads: those to others are done all the same, and then these. */
static void
an_object_that_hangs_delays_only_work_on_itself(void **state)
{
    struct piece stuck[8], others[100];
    _Atomic unsigned stuck_over = 0, others_over = 0;
    pthread_barrier_t hangs;
    struct pool *pool;

    (void)state;
    assert_int_equal(pool_new(4, &pool), 0);
    pthread_barrier_init(&hangs, NULL, 3);               /* two of the pool, and this thread */
    for (size_t i = 0; i < COUNT(stuck); i++) {
        stuck[i] = (struct piece){ .until = i < 2 ? &hangs : NULL, .over = &stuck_over };
        submit(pool, &stuck[i], 1, 50);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        others[i] = (struct piece){ .over = &others_over };
        submit(pool, &others[i], 1, 51);
    }
    wait_for(&others_over, COUNT(others));
    assert_int_equal(atomic_load(&stuck_over), 0);
    pthread_barrier_wait(&hangs);
    wait_for(&stuck_over, COUNT(stuck));
    pool_free(pool);
    pthread_barrier_destroy(&hangs);
}

static void
a_pool_that_ends_finishes_what_stepped_aside(void **state)
{
    struct piece pieces[50];
    _Atomic unsigned over = 0;
    struct pool *pool;

    (void)state;
    assert_int_equal(pool_new(3, &pool), 0);
    for (size_t i = 0; i < COUNT(pieces); i++) {
        pieces[i] = (struct piece){ .over = &over };
        submit(pool, &pieces[i], 1, 50);
    }
    pool_free(pool);
    assert_int_equal(atomic_load(&over), COUNT(pieces));
}

static void
a_pool_that_shrinks_leaves_nothing_aside(void **state)
{
    _Atomic unsigned over = 0;
    struct piece pieces[50];

    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct pool *pool;

        atomic_store(&over, 0);
        assert_int_equal(pool_new(8, &pool), 0);
        for (size_t i = 0; i < COUNT(pieces); i++) {
            pieces[i] = (struct piece){ .over = &over };
            submit(pool, &pieces[i], 1, 50);
            if (i == COUNT(pieces) / 2)
                assert_int_equal(pool_resize(pool, 1, 1), 0);
        }
        wait_for(&over, COUNT(pieces));
        pool_free(pool);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(work_of_one_client_is_taken_oldest_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_is_added_in_its_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(clients_take_turns_however_much_each_has_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(work_beyond_the_limit_of_its_object_steps_aside_for_that_of_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_stepped_aside_comes_before_what_its_client_added_since, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_lost_or_taken_twice, set_up, tear_down),
        cmocka_unit_test(an_object_that_hangs_delays_only_work_on_itself),
        cmocka_unit_test(a_pool_that_ends_finishes_what_stepped_aside),
        cmocka_unit_test(a_pool_that_shrinks_leaves_nothing_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
