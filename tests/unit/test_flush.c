/* tests/unit/test_flush.c - calls that wait for the same file share a flush (storage/posix_flush.c). */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "storage/engine.h"
#include "storage/posix.h"

#define CALLS 16
#define ROUNDS 200

static const struct store_cred root = { 0, 0, 0, NULL };

struct setting {
    char dir[64];
    struct pool *pool;
    struct store *store;
    struct store_node *file;
};

/* A thread with an engine of its own, and calls on it. */
struct client {
    struct engine *engine;
    struct store_op ops[CALLS];
    unsigned under_way;
    unsigned failed;
    bool prompt;
};

static void
note_done(struct store_op *op)
{
    struct client *client = (struct client *)(uintptr_t)op->u.write.offset;     /* not looked at any more */

    client->under_way--;
    client->failed += op->err != 0;
}

static void
open_engine(struct client *client, struct pool *pool, enum engine_type type)
{
    const struct engine_config config = { .type = type, .ring_entries = 8, .pool = pool };

    memset(client, 0, sizeof(*client));
    assert_int_equal(engine_new(&config, &client->engine), 0);
}

static void
wait_all(struct client *client)
{
    struct pollfd polled = { .fd = engine_fd(client->engine), .events = POLLIN };

    while (client->under_way > 0) {
        engine_flush(client->engine);
        assert_true(poll(&polled, 1, 30000) > 0);
        engine_reap(client->engine);
    }
}

static struct store_op *
prepare(struct client *client, unsigned i)
{
    struct store_op *op = &client->ops[i];

    memset(op, 0, sizeof(*op));
    op->engine = client->engine;
    op->cred = &root;
    op->sync = true;
    op->prompt = client->prompt;
    op->done = note_done;
    return op;
}

/* Start stable writes of one byte; the offset is used up by then and serves note_done(). */
static void
start_writes(struct client *client, struct store_node *file, unsigned first, unsigned count,
             enum store_stability stable)
{
    static const char byte = 'x';

    for (unsigned i = first; i < first + count; i++) {
        struct store_op *op = prepare(client, i);
        int err;

        op->u.write.offset = i;
        op->u.write.length = 1;
        op->u.write.data = &byte;
        op->u.write.stable = stable;
        err = store_write(file, op);
        op->u.write.offset = (uintptr_t)client;
        if (err == STORE_PENDING)
            client->under_way++;
        else
            client->failed += err != 0;
    }
}

static void
finish_one(struct client *client, struct store_op *op, int err)
{
    op->u.write.offset = (uintptr_t)client;
    if (err == STORE_PENDING) {
        client->under_way++;
        wait_all(client);
        err = op->err;
    }
    assert_int_equal(err, 0);
}

static int
set_up(void **state)
{
    struct setting *setting = calloc(1, sizeof(*setting));
    struct posix_config config = { .max_open = 100, .inline_mode = POSIX_INLINE_ON };
    const struct store_setattr set = { .set_mode = true, .mode = 0600 };
    struct client client;
    struct store_op *op;
    struct store_id id;

    snprintf(setting->dir, sizeof(setting->dir), "/var/tmp/ringnfs-flush.XXXXXX");
    assert_non_null(mkdtemp(setting->dir));
    config.path = setting->dir;
    cred_thread_init();
    assert_int_equal(pool_new(4, &setting->pool), 0);
    assert_int_equal(posix_new(&config, &setting->store), 0);
    open_engine(&client, setting->pool, ENGINE_POOL);
    op = prepare(&client, 0);
    op->name = "file";
    op->name_len = 4;
    op->u.create.how = STORE_GUARDED;
    op->u.create.set = &set;
    assert_int_equal(store_create(setting->store->root, op), 0);
    id = op->child;
    assert_int_equal(store_get(setting->store, &id, op), 0);
    setting->file = op->r.get.node;
    engine_free(client.engine);
    *state = setting;
    return 0;
}

static int
tear_down(void **state)
{
    struct setting *setting = *state;
    char path[96];

    store_put(setting->store, setting->file);
    store_free(setting->store);
    pool_free(setting->pool);
    snprintf(path, sizeof(path), "%s/file", setting->dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(setting->dir), 0);
    free(setting);
    return 0;
}

static void
expect_flushes(struct setting *setting, uint64_t wanted_flushes, uint64_t wanted_calls)
{
    assert_int_equal(atomic_load(&setting->store->flushes), wanted_flushes);
    assert_int_equal(atomic_load(&setting->store->flushed_calls), wanted_calls);
}

static void
share_one(struct setting *setting, enum engine_type type)
{
    struct client client;

    open_engine(&client, setting->pool, type);
    start_writes(&client, setting->file, 0, CALLS, STORE_FILE_SYNC);
    assert_int_equal(client.under_way, CALLS);
    wait_all(&client);
    assert_int_equal(client.failed, 0);
    expect_flushes(setting, 1, CALLS);
    engine_free(client.engine);
}

static void
stable_writes_that_arrive_together_share_one_flush_on_the_ring(void **state)
{
    share_one(*state, ENGINE_AUTO);
}

static void
stable_writes_that_arrive_together_share_one_flush_on_the_pool(void **state)
{
    share_one(*state, ENGINE_POOL);
}

/* exports(5) no_wdelay: the first one's flush has begun when the others arrive. */
static void
begin_promptly(struct setting *setting, enum engine_type type)
{
    struct client client;

    open_engine(&client, setting->pool, type);
    client.prompt = true;
    start_writes(&client, setting->file, 0, CALLS, STORE_FILE_SYNC);
    wait_all(&client);
    assert_int_equal(client.failed, 0);
    expect_flushes(setting, 2, CALLS);
    engine_free(client.engine);
}

static void
without_wdelay_a_flush_begins_with_the_first_write_on_the_ring(void **state)
{
    begin_promptly(*state, ENGINE_AUTO);
}

static void
without_wdelay_a_flush_begins_with_the_first_write_on_the_pool(void **state)
{
    begin_promptly(*state, ENGINE_POOL);
}

static void
a_call_that_comes_while_a_flush_runs_waits_for_the_next(void **state)
{
    struct setting *setting = *state;
    struct client client;

    open_engine(&client, setting->pool, ENGINE_POOL);
    start_writes(&client, setting->file, 0, 1, STORE_FILE_SYNC);
    engine_flush(client.engine);
    start_writes(&client, setting->file, 1, 1, STORE_FILE_SYNC);
    wait_all(&client);
    expect_flushes(setting, 2, 2);
    engine_free(client.engine);
}

static void
an_unstable_write_is_not_flushed_and_a_commit_is(void **state)
{
    struct setting *setting = *state;
    struct client client;
    struct store_op *op;

    open_engine(&client, setting->pool, ENGINE_POOL);
    start_writes(&client, setting->file, 0, CALLS, STORE_UNSTABLE);
    assert_int_equal(client.under_way, 0);
    expect_flushes(setting, 0, 0);
    op = prepare(&client, 0);
    finish_one(&client, op, store_commit(setting->file, op));
    expect_flushes(setting, 1, 1);
    engine_free(client.engine);
}

struct worker {
    pthread_t thread;
    struct setting *setting;
    enum engine_type type;
    unsigned failed;
};

static void *
write_and_commit(void *arg)
{
    struct worker *worker = arg;
    struct client client;

    cred_thread_init();
    open_engine(&client, worker->setting->pool, worker->type);
    for (unsigned i = 0; i < ROUNDS; i++) {
        start_writes(&client, worker->setting->file, 0, 1 + i % CALLS,
                     i % 3 == 0 ? STORE_DATA_SYNC : STORE_FILE_SYNC);
        wait_all(&client);
    }
    worker->failed = client.failed;
    engine_free(client.engine);
    return NULL;
}

static void
workers_with_engines_of_their_own_share_flushes_and_lose_none(void **state)
{
    struct worker workers[3] = { { .type = ENGINE_AUTO }, { .type = ENGINE_POOL }, { .type = ENGINE_AUTO } };
    struct setting *setting = *state;
    uint64_t wanted = 0;

    for (unsigned i = 0; i < ROUNDS; i++)
        wanted += 1 + i % CALLS;
    for (unsigned i = 0; i < 3; i++) {
        workers[i].setting = setting;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, write_and_commit, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].failed, 0);
    }
    assert_int_equal(atomic_load(&setting->store->flushed_calls), 3 * wanted);
    assert_true(atomic_load(&setting->store->flushes) <= 3 * ROUNDS);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(stable_writes_that_arrive_together_share_one_flush_on_the_ring),
        TEST(stable_writes_that_arrive_together_share_one_flush_on_the_pool),
        TEST(without_wdelay_a_flush_begins_with_the_first_write_on_the_ring),
        TEST(without_wdelay_a_flush_begins_with_the_first_write_on_the_pool),
        TEST(a_call_that_comes_while_a_flush_runs_waits_for_the_next),
        TEST(an_unstable_write_is_not_flushed_and_a_commit_is),
        TEST(workers_with_engines_of_their_own_share_flushes_and_lose_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
