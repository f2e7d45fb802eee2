/*
 * storage/engine_uring.c - file data and flushes through an io_uring of the worker's own.
 *
 * Writes carry the caller's rights as a personality (io_uring_register_personality(3)): set-user-ID bits are cleared,
 * quotas are charged and reserved blocks are kept as if he had written himself. Personalities are registered at first use
 * and remembered; a caller with more groups than are remembered has his writes done by the pool. Reads and flushes need
 * no rights of their own.
 *
 * With poll_ms a thread of the kernel takes submissions as they come (IORING_SETUP_SQPOLL). Handing over is a store to
 * memory then, and a system call only when that thread has gone to sleep; but what was handed over may not be taken yet.
 *
 * Memory that I/O comes back to may be registered: the kernel holds its pages, and an O_DIRECT request need not look for
 * them. An entry names a slot, never an address, so what has been at an address before cannot be taken for what is there.
 */
#include <errno.h>
#include <liburing.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/engine_io.h"

#define PERSONALITIES 16
#define PERSONALITY_GROUPS 32
#define KERNEL_THREADS 32               /* that may wait for files at once */
#define MEMORIES 64                     /* of an engine, registered at once */
#define MEMORY_MIN (64u << 10)          /* bytes; below, finding the pages each time costs next to nothing */

struct personality {
    int id;                             /* of the ring; 0: unused */
    uint64_t used;                      /* when it was last used */
    uid_t uid;
    gid_t gid;
    uint32_t ngroups;
    gid_t groups[PERSONALITY_GROUPS];
};

/* Memory that a slot of the ring's table of buffers stands for. */
struct memory {
    uint8_t *data;                      /* NULL: the slot is free */
    size_t length;
};

struct uring_engine {
    struct engine engine;               /* first */
    struct io_uring ring;
    unsigned in_ring;                   /* submitted or about to be, not reaped */
    uint64_t clock;
    struct personality personalities[PERSONALITIES];
    bool has_room;                      /* there is a table, and one more may fit into it and under the memlock limit */
    struct memory memories[MEMORIES];
    uint64_t register_max;              /* bytes; 0: no bound */
};

static struct uring_engine *
uring_of(struct engine *engine)
{
    return (struct uring_engine *)engine;
}

/* Some builds of liburing 2.3 lack functions for some of what is registered here. */
static int
register_in(struct io_uring *ring, unsigned what, void *arg, unsigned n)
{
    return syscall(SYS_io_uring_register, ring->ring_fd, what, arg, n) < 0 ? -errno : 0;
}

static bool
is_cred(const struct personality *known, const struct store_cred *cred)
{
    return known->id > 0 && known->uid == cred->uid && known->gid == cred->gid && known->ngroups == cred->ngroups &&
           (cred->ngroups == 0 || memcmp(known->groups, cred->groups, cred->ngroups * sizeof(gid_t)) == 0);
}

static void
submit(struct uring_engine *uring)
{
    uring->engine.round++;
    io_uring_submit(&uring->ring);
}

/* Submit, and have the kernel look at everything now. */
static void
submit_all(struct uring_engine *uring)
{
    do
        submit(uring);
    while (uring->engine.polls && io_uring_sq_ready(&uring->ring) > 0 && sched_yield() == 0);
}

/* The ring's number for a caller; 0 when writes need none; -errno when there is none to be had. */
static int
personality_of(struct uring_engine *uring, const struct store_cred *cred)
{
    struct personality *oldest = &uring->personalities[0];
    int id;

    if (cred_mode() == CRED_SELF)
        return 0;
    if (cred->ngroups > PERSONALITY_GROUPS)
        return -E2BIG;
    for (size_t i = 0; i < PERSONALITIES; i++) {
        struct personality *known = &uring->personalities[i];

        if (is_cred(known, cred)) {
            known->used = ++uring->clock;
            return known->id;
        }
        if (known->used < oldest->used)
            oldest = known;
    }
    if (oldest->id > 0) {
        submit_all(uring);              /* entries that are prepared still name it */
        io_uring_unregister_personality(&uring->ring, oldest->id);
        oldest->id = 0;
    }
    cred_assume(cred);
    id = io_uring_register_personality(&uring->ring);
    if (id <= 0)
        return id < 0 ? id : -EINVAL;
    oldest->id = id;
    oldest->used = ++uring->clock;
    oldest->uid = cred->uid;
    oldest->gid = cred->gid;
    oldest->ngroups = cred->ngroups;
    if (cred->ngroups > 0)
        memcpy(oldest->groups, cred->groups, cred->ngroups * sizeof(gid_t));
    return id;
}

/* A free entry; submits what is there when the ring is full. */
static struct io_uring_sqe *
get_entry(struct uring_engine *uring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&uring->ring);

    if (sqe == NULL) {
        submit(uring);
        sqe = io_uring_get_sqe(&uring->ring);
    }
    return sqe;
}

/* Where all of the I/O is in the registered memory that op names, say so: opcode is the one for that. */
static void
use_registered(const struct uring_engine *uring, const struct store_op *op, struct io_uring_sqe *sqe, uint8_t opcode)
{
    const uint8_t *data = op->io.data;
    const struct memory *memory;

    if (op->memory == 0)
        return;
    memory = &uring->memories[op->memory - 1];
    if (memory->data == NULL || data < memory->data || data + op->io.length > memory->data + memory->length)
        return;
    sqe->opcode = opcode;
    sqe->buf_index = (uint16_t)(op->memory - 1);
}

static void
uring_start(struct engine *engine, struct store_op *op)
{
    struct uring_engine *uring = uring_of(engine);
    struct io_uring_sqe *sqe;
    int personality = 0;

    if (op->io.what == IO_WRITE)
        personality = personality_of(uring, op->cred);
    sqe = personality < 0 ? NULL : get_entry(uring);
    if (sqe == NULL) {
        engine_io_on_pool(engine, op);
        return;
    }
    switch (op->io.what) {
    case IO_READ:
        io_uring_prep_read(sqe, op->io.fd, op->io.data, (unsigned)op->io.length, op->io.offset);
        use_registered(uring, op, sqe, IORING_OP_READ_FIXED);
        sqe->rw_flags = op->io.flags;
        break;
    case IO_WRITE:
        io_uring_prep_write(sqe, op->io.fd, op->io.data, (unsigned)op->io.length, op->io.offset);
        use_registered(uring, op, sqe, IORING_OP_WRITE_FIXED);
        sqe->rw_flags = op->io.flags;
        sqe->personality = (uint16_t)personality;
        break;
    default:
        io_uring_prep_fsync(sqe, op->io.fd, op->io.what == IO_DATASYNC ? IORING_FSYNC_DATASYNC : 0);
        break;
    }
    io_uring_sqe_set_data(sqe, op);
    uring->in_ring++;
}

static void
uring_flush(struct engine *engine)
{
    struct uring_engine *uring = uring_of(engine);

    if (io_uring_sq_ready(&uring->ring) > 0)
        io_uring_submit(&uring->ring);
}

/* Go on with what is in the completion queue; says how much that was. */
static unsigned
take_completions(struct uring_engine *uring)
{
    struct io_uring_cqe *cqe;
    unsigned taken = 0;

    while (io_uring_peek_cqe(&uring->ring, &cqe) == 0) {
        struct store_op *op = io_uring_cqe_get_data(cqe);

        op->io_result = cqe->res;
        io_uring_cqe_seen(&uring->ring, cqe);
        uring->in_ring--;
        taken++;
        engine_io_done(op);
    }
    return taken;
}

/* Whether the kernel has put something off until this thread enters it: completions, or the end of requests long done. */
static bool
has_deferred(const struct uring_engine *uring)
{
    return (__atomic_load_n(uring->ring.sq.kflags, __ATOMIC_RELAXED) & IORING_SQ_TASKRUN) != 0;
}

/*
 * Nothing that is put off may stay behind: the kernel signals only for the first of a list, so what comes after it would
 * never be heard of.
 */
static void
uring_reap(struct engine *engine)
{
    struct uring_engine *uring = uring_of(engine);
    unsigned taken;

    do {
        if (has_deferred(uring))
            io_uring_get_events(&uring->ring);
        taken = take_completions(uring);
    } while (taken > 0 || has_deferred(uring));
}

/* Let a slot of the ring's table stand for this memory, or for none. Returns 0 or -errno. */
static int
set_slot(struct uring_engine *uring, uint32_t slot, void *data, size_t length)
{
    struct iovec range = { .iov_base = data, .iov_len = length };
    uint64_t tag = 0;
    struct io_uring_rsrc_update2 update = {
        .offset = slot,
        .data = (uintptr_t)&range,
        .tags = (uintptr_t)&tag,
        .nr = 1,
    };

    return register_in(&uring->ring, IORING_REGISTER_BUFFERS_UPDATE, &update, sizeof(update));
}

static bool
is_beyond(const struct uring_engine *uring, size_t length)
{
    return uring->register_max > 0 && uring->engine.memory.bytes + length > uring->register_max;
}

static uint32_t
uring_register_memory(struct engine *engine, void *data, size_t length)
{
    struct uring_engine *uring = uring_of(engine);
    uint32_t slot = 0;

    if (!uring->has_room || length < MEMORY_MIN)
        return 0;
    while (slot < MEMORIES && uring->memories[slot].data != NULL)
        slot++;
    if (slot == MEMORIES || is_beyond(uring, length) || set_slot(uring, slot, data, length) < 0) {
        uring->has_room = false;        /* asked again once something has gone */
        atomic_fetch_add_explicit(&engine->memory.refused, 1, memory_order_relaxed);
        return 0;
    }
    uring->memories[slot] = (struct memory){ .data = data, .length = length };
    atomic_fetch_add_explicit(&engine->memory.bytes, length, memory_order_relaxed);
    return slot + 1;
}

/* Where the kernel lacks the memory to forget, the slot is lost until the ring ends: no op will name it again. */
static void
uring_unregister_memory(struct engine *engine, uint32_t number)
{
    struct uring_engine *uring = uring_of(engine);
    struct memory *memory = &uring->memories[number - 1];

    if (set_slot(uring, number - 1, NULL, 0) < 0)
        return;
    atomic_fetch_sub_explicit(&engine->memory.bytes, memory->length, memory_order_relaxed);
    *memory = (struct memory){ .data = NULL };
    uring->has_room = true;
}

static void
uring_free(struct engine *engine)
{
    struct uring_engine *uring = uring_of(engine);

    engine_fini(engine);
    io_uring_queue_exit(&uring->ring);
    free(uring);
}

static const struct engine_kind engine_uring_kind = {
    .name = "uring",
    .start = uring_start,
    .flush = uring_flush,
    .reap = uring_reap,
    .free = uring_free,
    .register_memory = uring_register_memory,
    .unregister_memory = uring_unregister_memory,
};

/*
 * What this engine asks of its rings is all that they will ever do: io_uring does not pass the filters for system calls
 * that a thread may be under (seccomp(2)). Linux 5.10.
 */
static int
restrict_ring(struct io_uring *ring)
{
    static const uint8_t entries[] = {
        IORING_OP_READ, IORING_OP_READ_FIXED, IORING_OP_WRITE, IORING_OP_WRITE_FIXED, IORING_OP_FSYNC,
    };
    static const uint8_t registrations[] = {
        IORING_REGISTER_PERSONALITY, IORING_UNREGISTER_PERSONALITY, IORING_REGISTER_BUFFERS_UPDATE,
    };
    struct io_uring_restriction restrictions[sizeof(entries) + sizeof(registrations)] = { { 0 } };
    unsigned n = 0;

    for (size_t i = 0; i < sizeof(entries); i++, n++) {
        restrictions[n].opcode = IORING_RESTRICTION_SQE_OP;
        restrictions[n].sqe_op = entries[i];
    }
    for (size_t i = 0; i < sizeof(registrations); i++, n++) {
        restrictions[n].opcode = IORING_RESTRICTION_REGISTER_OP;
        restrictions[n].register_op = registrations[i];
    }
    return register_in(ring, IORING_REGISTER_RESTRICTIONS, restrictions, n);
}

/* Empty; before the restrictions, which allow only changes to it. Linux 5.19. */
static int
make_table(struct io_uring *ring)
{
    struct io_uring_rsrc_register table = { .nr = MEMORIES, .flags = IORING_RSRC_REGISTER_SPARSE };

    return register_in(ring, IORING_REGISTER_BUFFERS2, &table, sizeof(table));
}

/*
 * What has to wait is done by threads of the kernel, four for each CPU by itself; flushes are most of it. They share a
 * commit of the journal when they wait together: 64 files that 16 connections wrote FILE_SYNC on ext4 came to 16,000 to
 * 19,000 a second with 8 threads, 25,000 to 31,000 with 32, and no more with 64 (one core). Linux 5.15; before it all stays
 * as it was.
 */
static void
allow_threads(struct io_uring *ring)
{
    unsigned most[2] = { KERNEL_THREADS, 0 };           /* for files; 0: for all else as it is */

    (void)register_in(ring, IORING_REGISTER_IOWQ_MAX_WORKERS, most, 2);
}

/*
 * The best set of flags that this kernel takes. A thread that takes submissions excludes all others, which are about who
 * does what in the worker's own thread.
 */
static int
open_ring(struct io_uring *ring, unsigned entries, unsigned poll_ms)
{
    static const unsigned flags[] = {
        IORING_SETUP_CLAMP | IORING_SETUP_SQPOLL,
        IORING_SETUP_CLAMP | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
        IORING_SETUP_CLAMP | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_COOP_TASKRUN,
        IORING_SETUP_CLAMP,
    };
    int err = -ENOSYS;

    for (size_t i = poll_ms > 0 ? 0 : 1; i < sizeof(flags) / sizeof(flags[0]); i++) {
        struct io_uring_params params = { .flags = flags[i] | IORING_SETUP_R_DISABLED, .sq_thread_idle = poll_ms };

        err = io_uring_queue_init_params(entries, ring, &params);
        if (err == 0 || (err != -EINVAL && (flags[i] & IORING_SETUP_SQPOLL) == 0))
            return err;
    }
    return err;
}

int
engine_uring_new(const struct engine_config *config, struct engine **out)
{
    struct uring_engine *uring = calloc(1, sizeof(*uring));
    int err;

    if (uring == NULL)
        return -ENOMEM;
    err = open_ring(&uring->ring, config->ring_entries, config->poll_ms);
    if (err < 0)
        goto fail;
    err = engine_init(&uring->engine, &engine_uring_kind, config->pool);
    if (err < 0)
        goto fail_ring;
    uring->engine.polls = (uring->ring.flags & IORING_SETUP_SQPOLL) != 0;
    uring->has_room = make_table(&uring->ring) == 0;
    allow_threads(&uring->ring);
    uring->register_max = config->register_max;
    err = io_uring_register_eventfd(&uring->ring, uring->engine.wake_fd);
    if (err == 0)
        err = restrict_ring(&uring->ring);
    if (err == 0)
        err = register_in(&uring->ring, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
    if (err < 0)
        goto fail_engine;
    *out = &uring->engine;
    return 0;
fail_engine:
    engine_fini(&uring->engine);
fail_ring:
    io_uring_queue_exit(&uring->ring);
fail:
    free(uring);
    return err;
}
