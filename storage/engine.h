/*
 * storage/engine.h - how an event worker gets work done that may take time.
 *
 * Each event worker owns one engine. What is started on it between two engine_flush() goes out together: one submission
 * to the ring, one hand-off to the pool of blocking threads. When engine_fd() is readable, engine_reap() finishes what is
 * done. All functions run on the thread that called engine_new(), but for the step that engine_run() is given.
 *
 * Two kinds: "uring" gives file data and flushes to an io_uring, "pool" does the same with plain calls on the pool's
 * threads. Name operations go to the pool in both.
 */
#ifndef RINGNFS_STORAGE_ENGINE_H
#define RINGNFS_STORAGE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "storage/pool.h"
#include "storage/store.h"

enum engine_type { ENGINE_AUTO, ENGINE_URING, ENGINE_POOL };

struct engine_config {
    enum engine_type type;              /* AUTO: a ring where the kernel gives one */
    unsigned ring_entries;              /* submissions that fit at once */
    unsigned poll_ms;                   /* a thread of the kernel takes them, and looks for so long; 0: there is none */
    uint64_t register_max;              /* bytes of memory to register, at most; 0: as much as the kernel lets one */
    struct pool *pool;                  /* shared by all engines of a server; outlives them */
};

/*
 * Make an engine for the calling thread. Returns 0 or -errno: -ENOSYS, -EPERM or -ENOMEM (memlock limit) when a ring was
 * asked for and there is none.
 */
int engine_new(const struct engine_config *config, struct engine **engine);

/* Nothing may be pending. */
void engine_free(struct engine *engine);

/* "uring" or "pool". */
const char *engine_name(const struct engine *engine);

/* Whether a thread of the kernel takes submissions: where that was asked for and can be had. */
bool engine_polls(const struct engine *engine);

/* The descriptor to watch for reading: then engine_reap() has something to do. */
int engine_fd(const struct engine *engine);

/* Hand over all that was started since the last call. To be called before the thread waits. */
void engine_flush(struct engine *engine);

/* Finish what is done: runs steps and op->done. */
void engine_reap(struct engine *engine);

/*
 * Have the kernel hold the pages of memory that I/O comes back to, so that it need not look for them each time; they count
 * against RLIMIT_MEMLOCK. Ops name the memory by the number that is returned (op->memory). 0: it is not worth it, or cannot
 * be had for now; do without. It must be unregistered before it is given back to the system, while no op uses it: else the
 * kernel holds pages that nobody has any more.
 */
uint32_t engine_register(struct engine *engine, void *data, size_t length);
void engine_unregister(struct engine *engine, uint32_t memory);

/* What is registered now, and how often there was no room for more. Any thread may read it. */
struct engine_memory {
    _Atomic uint64_t bytes, refused;
};
const struct engine_memory *engine_memory(const struct engine *engine);

/* How many operations are pending, flushed or not. */
unsigned engine_pending(const struct engine *engine);

/*
 * From now on what no thread of the pool has begun comes back undone, with -ECANCELED: for an end that cannot wait for a
 * long queue. What is under way is finished. The engine's thread.
 */
void engine_abandon(struct engine *engine);

/*
 * For stores. Each starts one thing for op and makes it pending. engine_run() calls step(op) on a thread of the pool and
 * then finishes op: op->done on the engine's thread. The others call step(op) on the engine's thread with the outcome in
 * op->io_result (bytes, or -errno); the step then starts the next thing or calls engine_finish(). Reads and writes are
 * done with the rights of op->cred, and with the flags in op->io.flags (preadv2(2)).
 */
void engine_run(struct engine *engine, struct store_op *op, void (*step)(struct store_op *op));
void engine_read(struct engine *engine, struct store_op *op, int fd, void *data, size_t length, uint64_t offset,
                 void (*step)(struct store_op *op));
void engine_write(struct engine *engine, struct store_op *op, int fd, const void *data, size_t length, uint64_t offset,
                  void (*step)(struct store_op *op));
/* Flush a file: data only, or everything (fdatasync(2), fsync(2)). */
void engine_sync(struct engine *engine, struct store_op *op, int fd, bool data_only, void (*step)(struct store_op *op));
/*
 * An op that waits for another's I/O: parked and unparked on its engine's thread, so that it counts as pending; woken
 * from any thread: unparked there, and step(op) runs with this result.
 */
void engine_park(struct store_op *op);
void engine_unpark(struct store_op *op);
void engine_wake(struct store_op *op, int result, void (*step)(struct store_op *op));
/* Changes whenever what was started is handed over: I/O started in this round has not begun yet. The engine's thread. */
uint64_t engine_round(const struct engine *engine);
/* Have the pool do something that no op waits for. It does not count as pending. */
void engine_aside(struct engine *engine, struct pool_work *work);
/* op is over: op->err is set; calls op->done. */
void engine_finish(struct store_op *op);

#endif
