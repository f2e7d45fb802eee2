/* storage/engine_io.h - between engine.c and the two kinds of engine; nobody else includes it. */
#ifndef RINGNFS_STORAGE_ENGINE_IO_H
#define RINGNFS_STORAGE_ENGINE_IO_H

#include "storage/engine.h"

/* What a pending op waits for (op->io.what). */
enum { IO_RUN, IO_READ, IO_WRITE, IO_SYNC, IO_DATASYNC, IO_OTHERS };

/* One kind of engine: how file data and flushes are done. */
struct engine_kind {
    const char *name;
    void (*start)(struct engine *engine, struct store_op *op);          /* op->io says what */
    void (*flush)(struct engine *engine);
    void (*reap)(struct engine *engine);
    void (*free)(struct engine *engine);
    uint32_t (*register_memory)(struct engine *engine, void *data, size_t length);     /* NULL: there is no such thing */
    void (*unregister_memory)(struct engine *engine, uint32_t memory);
};

/* The common part; each kind embeds it first. */
struct engine {
    const struct engine_kind *kind;
    struct pool *pool;
    int wake_fd;                        /* eventfd: something is done */
    bool polls;                         /* a thread of the kernel takes submissions */
    unsigned pending;
    struct pool_work *first, *last;     /* the next hand-off to the pool */
    unsigned batch;
    uint64_t round;
    struct engine_memory memory;
    struct store_op *_Atomic finished;  /* by other threads, newest first */
    _Atomic unsigned giving;            /* other threads that are about to touch this engine */
    _Atomic bool abandoned;             /* what waits for a thread is not done any more */
};

/* An I/O is done: op->io_result is set; runs the step. The engine's thread. */
void engine_io_done(struct store_op *op);

/* Let a thread of the pool do op->io with the rights of op->cred. */
void engine_io_on_pool(struct engine *engine, struct store_op *op);

int engine_uring_new(const struct engine_config *config, struct engine **engine);
int engine_pool_new(const struct engine_config *config, struct engine **engine);

/* Set up and undo the common part. */
int engine_init(struct engine *engine, const struct engine_kind *kind, struct pool *pool);
void engine_fini(struct engine *engine);

#endif
