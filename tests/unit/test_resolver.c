/* tests/unit/test_resolver.c - what is looked up aside: how much at once, how much is kept, and many who ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/resolver.h"
#include "tests/lib/resolver_rig.h"

#define TTL_MS 1000
#define ENTRIES 100
#define ANSWER_WORDS 8                  /* of a number's answer, each the number; odd ones have none */
#define KEPT_ANSWERS 10                 /* for which there is room */
#define ASKERS 8
#define ROUNDS 2000                     /* of each of them */

/* Numbers are the questions. */
struct rig {
    struct resolver_rig base;
    struct resolver *resolver;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool blocked;
    unsigned inside;                    /* questions that wait for that to end */
    bool failing;
    _Atomic unsigned asked;
    _Atomic unsigned failures;          /* that were told */
    _Atomic uint64_t now_ms;
};

static int
fake_ask(void *context, const void *key, struct resolver_answer **answer)
{
    struct rig *rig = context;
    uint32_t number = *(const uint32_t *)key, words[ANSWER_WORDS];
    bool failing;

    pthread_mutex_lock(&rig->lock);
    atomic_fetch_add(&rig->asked, 1);
    rig->inside++;
    pthread_cond_broadcast(&rig->changed);
    while (rig->blocked)
        pthread_cond_wait(&rig->changed, &rig->lock);
    rig->inside--;
    failing = rig->failing;
    pthread_mutex_unlock(&rig->lock);
    if (failing)
        return -EIO;
    for (unsigned i = 0; i < ANSWER_WORDS; i++)
        words[i] = number;
    if (number % 2 == 0)
        *answer = resolver_answer_new(words, sizeof(words));
    return 0;
}

static uint64_t
fake_now_ms(void *context)
{
    return atomic_load(&((struct rig *)context)->now_ms);
}

static void
fake_failed(void *context, const void *key, int err)
{
    (void)key;
    (void)err;
    atomic_fetch_add(&((struct rig *)context)->failures, 1);
}

static void
ignore(void *context)
{
    (void)context;
}

static const struct resolver_user fake_user = {
    .ask = fake_ask,
    .now_ms = fake_now_ms,
    .failed = fake_failed,
    .recovered = ignore,
    .release = ignore,
};

static void
block(struct rig *rig, bool blocked)
{
    pthread_mutex_lock(&rig->lock);
    rig->blocked = blocked;
    pthread_cond_broadcast(&rig->changed);
    pthread_mutex_unlock(&rig->lock);
}

static void
wait_blocked(struct rig *rig, unsigned questions)
{
    pthread_mutex_lock(&rig->lock);
    while (rig->inside < questions)
        pthread_cond_wait(&rig->changed, &rig->lock);
    pthread_mutex_unlock(&rig->lock);
}

static void
fail_all(struct rig *rig, bool failing)
{
    pthread_mutex_lock(&rig->lock);
    rig->failing = failing;
    pthread_mutex_unlock(&rig->lock);
}

static int
set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    const struct resolver_config config = {
        .user = &fake_user, .context = rig, .reserved = 1, .entries = ENTRIES,
        .bytes = KEPT_ANSWERS * ANSWER_WORDS * sizeof(uint32_t), .ttl_ms = TTL_MS, .stale_ms = RESOLVER_FOREVER,
        .waiting = 2 * ASKERS, .waiting_each = ASKERS
    };

    assert_non_null(rig);
    resolver_rig_init(&rig->base);
    pthread_mutex_init(&rig->lock, NULL);
    pthread_cond_init(&rig->changed, NULL);
    atomic_init(&rig->now_ms, 1000000);
    assert_int_equal(resolver_new(&config, &rig->resolver), 0);
    *state = rig;
    return 0;
}

static int
tear_down(void **state)
{
    struct rig *rig = *state;

    block(rig, false);
    resolver_free(rig->resolver);
    resolver_rig_fini(&rig->base);
    pthread_cond_destroy(&rig->changed);
    pthread_mutex_destroy(&rig->lock);
    free(rig);
    return 0;
}

/* As resolver_find(). */
static int
put_question(struct rig *rig, uint32_t number, bool urgent, struct waiter *waiter, struct resolver_answer **answer)
{
    struct resolver_query query = {
        .key = &number, .key_len = sizeof(number), .urgent = urgent, .wait = waiter != NULL ? &waiter->wait : NULL,
        .until_ms = UINT64_MAX
    };

    return resolver_find(rig->resolver, &query, answer);
}

/* Ask without waiting. */
static int
begin(struct rig *rig, uint32_t number, bool urgent)
{
    struct resolver_answer *answer;
    int err = put_question(rig, number, urgent, NULL, &answer);

    resolver_answer_put(answer);
    return err;
}

/* Ask and wait; whether it came to the right answer, or -EAGAIN. */
static bool
learns(struct rig *rig, uint32_t number, struct waiter *waiter, int *err)
{
    struct resolver_answer *answer;
    bool right;

    while ((*err = put_question(rig, number, false, waiter, &answer)) == -EINPROGRESS)
        if (!waiter_answered(waiter, WAITER_PATIENCE_MS))
            return false;
    if (*err < 0)
        return *err == -EAGAIN && answer == NULL;
    right = (answer == NULL) == (number % 2 == 1);
    for (unsigned i = 0; right && answer != NULL && i < ANSWER_WORDS; i++)
        right = ((const uint32_t *)answer->data)[i] == number;
    resolver_answer_put(answer);
    return right;
}

static void
only_so_many_questions_are_asked_at_once(void **state)
{
    struct rig *rig = *state;

    block(rig, true);
    for (uint32_t i = 0; i < 2 * RESOLVER_THREADS; i++)
        assert_int_equal(begin(rig, i, true), -EAGAIN);
    wait_blocked(rig, RESOLVER_THREADS);
    usleep(20000);
    assert_int_equal(atomic_load(&rig->asked), RESOLVER_THREADS);
    block(rig, false);
    for (int i = 0; i < WAITER_PATIENCE_MS && atomic_load(&rig->asked) < 2 * RESOLVER_THREADS; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&rig->asked), 2 * RESOLVER_THREADS);
}

static void
a_question_is_asked_once_however_many_want_to_know(void **state)
{
    struct rig *rig = *state;
    struct waiter waiters[ASKERS];
    struct resolver_answer *answer;

    block(rig, true);
    for (unsigned i = 0; i < ASKERS; i++) {
        waiter_init(&waiters[i], &rig->base);
        assert_int_equal(put_question(rig, 2, false, &waiters[i], &answer), -EINPROGRESS);
    }
    block(rig, false);
    for (unsigned i = 0; i < ASKERS; i++) {
        assert_true(waiter_answered(&waiters[i], WAITER_PATIENCE_MS));
        waiter_fini(&waiters[i]);
    }
    assert_int_equal(begin(rig, 2, false), 0);
    assert_int_equal(atomic_load(&rig->asked), 1);
}

/* More than there is room for, each of which is an answer of its own; "none" takes no room. */
static void
answers_in_all_have_a_bound(void **state)
{
    struct rig *rig = *state;
    struct waiter waiter;
    int err;

    waiter_init(&waiter, &rig->base);
    for (uint32_t i = 0; i < 4 * KEPT_ANSWERS; i++)
        assert_true(learns(rig, i, &waiter, &err));
    assert_int_equal(atomic_load(&rig->asked), 4 * KEPT_ANSWERS);
    for (uint32_t i = 2 * KEPT_ANSWERS + 1; i < 4 * KEPT_ANSWERS; i++)
        assert_int_equal(begin(rig, i, false), 0);
    assert_int_equal(begin(rig, 0, false), -EAGAIN);
    waiter_fini(&waiter);
}

static void
an_answer_without_a_limit_outlives_any_failure(void **state)
{
    struct rig *rig = *state;
    struct waiter waiter;
    int err;

    waiter_init(&waiter, &rig->base);
    assert_true(learns(rig, 2, &waiter, &err) && err == 0);
    fail_all(rig, true);
    for (unsigned i = 0; i < 5; i++) {
        atomic_fetch_add(&rig->now_ms, UINT64_C(1) << 50);
        assert_true(learns(rig, 2, &waiter, &err) && err == 0);
        assert_true(learns(rig, 4, &waiter, &err) && err == -EAGAIN);
    }
    assert_int_equal(atomic_load(&rig->failures), 1);
    waiter_fini(&waiter);
}

struct asker {
    struct rig *rig;
    pthread_t thread;
    unsigned first;
    unsigned wrong, refused;
};

static void *
asker_main(void *arg)
{
    struct asker *asker = arg;
    struct waiter waiter;
    int err;

    waiter_init(&waiter, &asker->rig->base);
    for (unsigned i = 0; i < ROUNDS; i++) {
        asker->wrong += !learns(asker->rig, (asker->first + i * 7) % (2 * ENTRIES), &waiter, &err);
        asker->refused += err < 0;
        if (i % 64 == 0)
            atomic_fetch_add(&asker->rig->now_ms, TTL_MS / 4);
    }
    waiter_fini(&waiter);
    return NULL;
}

/* Entries come, go and expire while others wait for them, and there are more questions than entries. */
static void
many_who_ask_at_once_get_the_answers_to_their_own_questions(void **state)
{
    struct rig *rig = *state;
    struct asker askers[ASKERS];

    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){ .rig = rig, .first = i * 31 };
        assert_int_equal(pthread_create(&askers[i].thread, NULL, asker_main, &askers[i]), 0);
    }
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].wrong, 0);
        assert_int_equal(askers[i].refused, 0);
    }
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(only_so_many_questions_are_asked_at_once),
        RIG_TEST(a_question_is_asked_once_however_many_want_to_know),
        RIG_TEST(answers_in_all_have_a_bound),
        RIG_TEST(an_answer_without_a_limit_outlives_any_failure),
        RIG_TEST(many_who_ask_at_once_get_the_answers_to_their_own_questions),
    };

    return cmocka_run_group_tests_name("resolver", tests, NULL, NULL);
}
