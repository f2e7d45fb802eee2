/*
 * storage/engine.c - what both kinds of engine share: hand-off to the pool, and the way back.
 *
 * The way back is a list that threads of the pool push to and the engine's thread takes whole; the eventfd is written
 * only by the push that finds the list empty.
 */
#include "storage/engine.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/engine_io.h"

int
engine_init(struct engine *engine, const struct engine_kind *kind, struct pool *pool)
{
    engine->kind = kind;
    engine->pool = pool;
    engine->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return engine->wake_fd < 0 ? -errno : 0;
}

void
engine_fini(struct engine *engine)
{
    assert(engine->pending == 0);
    while (atomic_load(&engine->giving) > 0)
        sched_yield();                  /* its last op is back, its last giver not done yet */
    if (engine->wake_fd >= 0)
        close(engine->wake_fd);
}

int
engine_new(const struct engine_config *config, struct engine **engine)
{
    int err = -ENOSYS;

    if (config->type != ENGINE_POOL)
        err = engine_uring_new(config, engine);
    if (config->type == ENGINE_POOL || (config->type == ENGINE_AUTO && err < 0))
        err = engine_pool_new(config, engine);
    return err;
}

void
engine_free(struct engine *engine)
{
    if (engine != NULL)
        engine->kind->free(engine);
}

const char *
engine_name(const struct engine *engine)
{
    return engine->kind->name;
}

bool
engine_polls(const struct engine *engine)
{
    return engine->polls;
}

int
engine_fd(const struct engine *engine)
{
    return engine->wake_fd;
}

unsigned
engine_pending(const struct engine *engine)
{
    return engine->pending;
}

uint32_t
engine_register(struct engine *engine, void *data, size_t length)
{
    return engine->kind->register_memory == NULL ? 0 : engine->kind->register_memory(engine, data, length);
}

void
engine_unregister(struct engine *engine, uint32_t memory)
{
    engine->kind->unregister_memory(engine, memory);
}

const struct engine_memory *
engine_memory(const struct engine *engine)
{
    return &engine->memory;
}

void
engine_abandon(struct engine *engine)
{
    atomic_store(&engine->abandoned, true);
}

void
engine_flush(struct engine *engine)
{
    if (engine->pending == 0)
        return;
    engine->round++;
    engine->kind->flush(engine);
    if (engine->batch > 0) {
        pool_submit(engine->pool, engine->first, engine->last, engine->batch);
        engine->first = engine->last = NULL;
        engine->batch = 0;
    }
}

void
engine_io_done(struct store_op *op)
{
    op->engine->pending--;
    op->step(op);
}

void
engine_finish(struct store_op *op)
{
    op->done(op);
}

/* The pool's list, oldest first. */
static struct store_op *
take_finished(struct engine *engine)
{
    struct store_op *op = atomic_exchange_explicit(&engine->finished, NULL, memory_order_acquire);
    struct store_op *ordered = NULL;

    while (op != NULL) {
        struct store_op *next = op->next;

        op->next = ordered;
        ordered = op;
        op = next;
    }
    return ordered;
}

void
engine_reap(struct engine *engine)
{
    struct store_op *op;
    uint64_t ignored;

    if (read(engine->wake_fd, &ignored, sizeof(ignored)) < 0)
        assert(errno == EAGAIN);
    op = take_finished(engine);
    while (op != NULL) {
        struct store_op *next = op->next;

        if (op->io.what == IO_RUN) {
            engine->pending--;
            engine_finish(op);
        } else {
            engine_io_done(op);
        }
        op = next;
    }
    engine->kind->reap(engine);
}

/* On another thread: hand op back to its engine. From the moment it is in the list, op may be gone. */
static void
give_back(struct store_op *op)
{
    struct engine *engine = op->engine;
    struct store_op *head = atomic_load_explicit(&engine->finished, memory_order_relaxed);
    const uint64_t one = 1;

    atomic_fetch_add(&engine->giving, 1);
    do {
        op->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&engine->finished, &head, op, memory_order_release,
                                                    memory_order_relaxed));
    if (head == NULL && write(engine->wake_fd, &one, sizeof(one)) < 0)
        assert(errno == EAGAIN);
    atomic_fetch_sub(&engine->giving, 1);
}

void
engine_park(struct store_op *op)
{
    op->engine->pending++;
}

void
engine_unpark(struct store_op *op)
{
    op->engine->pending--;
}

void
engine_wake(struct store_op *op, int result, void (*step)(struct store_op *op))
{
    op->io.what = IO_OTHERS;
    op->io_result = result;
    op->step = step;
    give_back(op);
}

uint64_t
engine_round(const struct engine *engine)
{
    return engine->round;
}

/* What an operation may have to wait for: its file or directory. */
static uint32_t
object_of(const struct store_op *op)
{
    uint64_t hash = (uintptr_t)op->node >> 4;

    if (op->kind == STORE_GET) {
        hash = 0;
        for (size_t i = 0; i < op->u.get.id->len; i++)
            hash = hash * 31 + op->u.get.id->bytes[i];
    }
    hash = hash * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return hash != 0 ? (uint32_t)hash : 1;
}

static void
queue_for_pool(struct engine *engine, struct store_op *op, void (*run)(struct pool_work *work))
{
    op->work.run = run;
    op->work.next = NULL;
    op->work.client = op->client;
    op->work.object = object_of(op);
    if (engine->last != NULL)
        engine->last->next = &op->work;
    else
        engine->first = &op->work;
    engine->last = &op->work;
    engine->batch++;
}

static struct store_op *
op_of(struct pool_work *work)
{
    return (struct store_op *)((char *)work - offsetof(struct store_op, work));
}

static void
run_step(struct pool_work *work)
{
    struct store_op *op = op_of(work);

    if (atomic_load_explicit(&op->engine->abandoned, memory_order_relaxed))
        op->err = -ECANCELED;
    else
        op->step(op);
    give_back(op);
}

void
engine_run(struct engine *engine, struct store_op *op, void (*step)(struct store_op *op))
{
    op->step = step;
    op->io.what = IO_RUN;
    engine->pending++;
    queue_for_pool(engine, op, run_step);
}

void
engine_aside(struct engine *engine, struct pool_work *work)
{
    pool_submit(engine->pool, work, work, 1);
}

static void
run_io(struct pool_work *work)
{
    struct store_op *op = op_of(work);
    ssize_t n;
    struct iovec iov = { .iov_base = op->io.data, .iov_len = op->io.length };

    if (atomic_load_explicit(&op->engine->abandoned, memory_order_relaxed)) {
        op->io_result = -ECANCELED;
        give_back(op);
        return;
    }
    switch (op->io.what) {
    case IO_READ:
        n = preadv2(op->io.fd, &iov, 1, (off_t)op->io.offset, op->io.flags);
        break;
    case IO_WRITE:
        cred_assume(op->cred);
        n = pwritev2(op->io.fd, &iov, 1, (off_t)op->io.offset, op->io.flags);
        break;
    case IO_SYNC:
        n = fsync(op->io.fd);
        break;
    default:
        n = fdatasync(op->io.fd);
        break;
    }
    op->io_result = n < 0 ? -errno : (int)n;
    give_back(op);
}

void
engine_io_on_pool(struct engine *engine, struct store_op *op)
{
    queue_for_pool(engine, op, run_io);
}

static void
start_io(struct engine *engine, struct store_op *op, void (*step)(struct store_op *op))
{
    op->step = step;
    engine->pending++;
    engine->kind->start(engine, op);
}

void
engine_read(struct engine *engine, struct store_op *op, int fd, void *data, size_t length, uint64_t offset,
            void (*step)(struct store_op *op))
{
    op->io.what = IO_READ;
    op->io.fd = fd;
    op->io.data = data;
    op->io.length = length;
    op->io.offset = offset;
    start_io(engine, op, step);
}

void
engine_write(struct engine *engine, struct store_op *op, int fd, const void *data, size_t length, uint64_t offset,
             void (*step)(struct store_op *op))
{
    op->io.what = IO_WRITE;
    op->io.fd = fd;
    op->io.data = (void *)(uintptr_t)data;
    op->io.length = length;
    op->io.offset = offset;
    start_io(engine, op, step);
}

void
engine_sync(struct engine *engine, struct store_op *op, int fd, bool data_only, void (*step)(struct store_op *op))
{
    op->io.what = data_only ? IO_DATASYNC : IO_SYNC;
    op->io.fd = fd;
    start_io(engine, op, step);
}
