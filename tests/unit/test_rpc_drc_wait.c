/* tests/unit/test_rpc_drc_wait.c - the duplicate request cache: calls that wait for one that runs, and many threads. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/drc_cache.h"

#define THREADS 4
#define ROUNDS 20000

/* Calls from another connection, and how often they were woken. */
struct waiter {
    struct drc_call call;               /* first */
    int woken;
};

static void
count_waking(struct drc_call *call)
{
    ((struct waiter *)call)->woken++;
}

static void
wait_for_first(struct drc *drc, struct waiter *waiters, size_t count)
{
    struct request request;
    struct drc_reply reply;

    for (size_t i = 0; i < count; i++) {
        request_fill(&request);
        request.call.xid = 1;
        request_identify(drc, &request, &waiters[i].call);
        waiters[i].woken = 0;
        waiters[i].call.origin = &waiters[i];
        waiters[i].call.ready = count_waking;
        assert_int_equal(drc_begin(drc, &waiters[i].call, &reply), DRC_WAIT);
        assert_int_equal(waiters[i].woken, 0);
    }
    assert_int_equal(cache_stats(drc).waited, count);
}

static void
from_another_connection_a_call_waits_for_the_one_that_runs(void **state)
{
    struct drc *drc = *state;
    struct waiter waiters[3];
    struct drc_call first;
    struct drc_reply reply;

    cache_begin(drc, 1, &first);
    wait_for_first(drc, waiters, 3);
    drc_keep(drc, &first, (const uint8_t *)"done", 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waiters[i].woken, 1);
        assert_int_equal(drc_begin(drc, &waiters[i].call, &reply), DRC_DONE);
        assert_int_equal(reply.len, 4);
    }
}

static void
one_of_those_that_wait_for_a_call_that_is_forgotten_is_new(void **state)
{
    struct drc *drc = *state;
    struct waiter waiters[3];
    struct drc_call first;
    struct drc_reply reply;

    cache_begin(drc, 1, &first);
    wait_for_first(drc, waiters, 3);
    drc_forget(drc, &first);
    assert_int_equal(drc_begin(drc, &waiters[1].call, &reply), DRC_NEW);
    assert_int_equal(drc_begin(drc, &waiters[0].call, &reply), DRC_WAIT);
    assert_int_equal(drc_begin(drc, &waiters[2].call, &reply), DRC_WAIT);
    drc_keep(drc, &waiters[1].call, (const uint8_t *)"r", 1);
    assert_int_equal(waiters[0].woken, 2);
    assert_int_equal(waiters[1].woken, 1);
    assert_int_equal(waiters[2].woken, 2);
}

static void
a_call_from_the_same_connection_is_dropped_though_it_could_wait(void **state)
{
    struct drc *drc = *state;
    struct drc_call first, second;
    struct drc_reply reply;

    cache_begin(drc, 1, &first);
    second = first;
    second.ready = count_waking;
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_RUNNING);
    drc_forget(drc, &first);
}

/* Threads that send the same calls, at about the same time. */
struct crowd {
    struct drc *drc;
    atomic_uint done[ROUNDS];
    pthread_barrier_t begin;
};

/* Each thread sends ROUNDS calls, and each call is done once. */
static struct drc_stats
run_crowd(void *(*send)(void *crowd))
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    pthread_t threads[THREADS];
    struct drc_stats stats;

    assert_non_null(crowd);
    crowd->drc = cache_new(2 * ROUNDS);                  /* room for all, however they spread over the parts */
    pthread_barrier_init(&crowd->begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send, crowd), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(crowd->done[i], 1);
    stats = cache_stats(crowd->drc);
    pthread_barrier_destroy(&crowd->begin);
    drc_free(crowd->drc);
    free(crowd);
    return stats;
}

static void *
send_all(void *arg)
{
    struct crowd *crowd = arg;
    struct request request;
    struct drc_call call;
    struct drc_reply reply;

    request_fill(&request);
    pthread_barrier_wait(&crowd->begin);
    for (uint32_t xid = 0; xid < ROUNDS; xid++) {
        request.call.xid = xid;
        request_identify(crowd->drc, &request, &call);
        switch (drc_begin(crowd->drc, &call, &reply)) {
        case DRC_NEW:
            atomic_fetch_add(&crowd->done[xid], 1);
            drc_keep(crowd->drc, &call, (const uint8_t *)&xid, sizeof(xid));
            break;
        case DRC_DONE:
            if (reply.len != sizeof(xid) || memcmp(reply.results, &xid, sizeof(xid)) != 0)
                atomic_fetch_add(&crowd->done[xid], 1000);
            break;
        default:
            break;
        }
    }
    return NULL;
}

static void
many_threads_do_each_call_once(void **state)
{
    struct drc_stats stats = run_crowd(send_all);

    (void)state;
    assert_int_equal(stats.misses, ROUNDS);
    assert_int_equal(stats.hits + stats.dropped, (THREADS - 1) * ROUNDS);
}

/* Threads that wait for each other: one runs the call, the others are woken by it. */
struct sleeper {
    struct drc_call call;               /* first */
    atomic_bool woken;
};

static void
wake_sleeper(struct drc_call *call)
{
    atomic_store(&((struct sleeper *)call)->woken, true);
}

static void *
send_and_wait(void *arg)
{
    struct crowd *crowd = arg;
    struct request request;
    struct sleeper sleeper;
    struct drc_reply reply;
    enum drc_verdict verdict;

    request_fill(&request);
    pthread_barrier_wait(&crowd->begin);
    for (uint32_t xid = 0; xid < ROUNDS; xid++) {
        request.call.xid = xid;
        request_identify(crowd->drc, &request, &sleeper.call);
        sleeper.call.origin = &sleeper;
        sleeper.call.ready = wake_sleeper;
        do {
            atomic_store(&sleeper.woken, false);
            verdict = drc_begin(crowd->drc, &sleeper.call, &reply);
            while (verdict == DRC_WAIT && !atomic_load(&sleeper.woken))
                sched_yield();
        } while (verdict == DRC_WAIT);
        if (verdict == DRC_NEW) {
            atomic_fetch_add(&crowd->done[xid], 1);
            sched_yield();
            drc_keep(crowd->drc, &sleeper.call, (const uint8_t *)&xid, sizeof(xid));
        }
    }
    return NULL;
}

static void
threads_that_wait_are_all_woken(void **state)
{
    (void)state;
    assert_int_equal(run_crowd(send_and_wait).hits, (THREADS - 1) * ROUNDS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CACHE_TEST(from_another_connection_a_call_waits_for_the_one_that_runs),
        CACHE_TEST(one_of_those_that_wait_for_a_call_that_is_forgotten_is_new),
        CACHE_TEST(a_call_from_the_same_connection_is_dropped_though_it_could_wait),
        cmocka_unit_test(many_threads_do_each_call_once),
        cmocka_unit_test(threads_that_wait_are_all_woken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
