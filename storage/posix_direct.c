/*
 * storage/posix_direct.c - READ and WRITE past the page cache (O_DIRECT), whatever their offsets and lengths are.
 *
 * A READ is widened to what the file wants and lands in the caller's buffer with a few bytes in front. Of a WRITE the whole
 * pages go past the cache, and what is left at its two ends goes through it, where the kernel puts bytes of others that are
 * in the same page together with ours; it writes such a page out before it lets anybody read past the cache.
 *
 * One thing must not happen: a page that is in the cache being changed at one end while a write past the cache is under way
 * to it, or to the same folio. What came from disk before would be written back over it, or stay in the cache. So ends
 * and whole pages that come that near to one another exclude each other: a list of ranges for each file, in which whole
 * pages never wait for whole pages, nor ends for ends. Other programs on this machine are in the kernel's hands alone.
 *
 * A write past the cache is not stable by that: the flushes of posix_flush.c are as for any other.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/posix_private.h"

#define PAGE 4096u
#define FOLIO ((uint64_t)2 << 20)       /* bytes; the largest that the page cache has */
#define ALIGN_MAX (64u << 10)           /* what wants more is read and written through the cache */

#ifndef STATX_DIOALIGN                  /* Linux 6.1 */
#define STATX_DIOALIGN 0x2000u
#endif

/* struct statx of Linux 6.1; older headers lack the end. */
struct statx_sizes {
    uint32_t mask;
    uint8_t between[148];
    uint32_t dio_mem_align, dio_offset_align;
    uint8_t rest[96];
};

struct posix_direct {
    _Atomic int fd;                     /* O_DIRECT; -1: not opened yet */
    _Atomic int quiet_fd;               /* the same, and the time of access stays as it is */
    _Atomic bool writable;              /* fd is open for writing, too; see posix_open.c */
    _Atomic bool off;                   /* this file cannot */
    pthread_mutex_t lock;               /* of the lists */
    struct store_op *holders, *waiting; /* waiting: the oldest first */
};

static struct store_op *
next_of(const struct store_op *op)
{
    return (struct store_op *)(uintptr_t)op->private[P_LINK];
}

static void
set_next(struct store_op *op, struct store_op *next)
{
    op->private[P_LINK] = (uintptr_t)next;
}

/* What a file wants: false when it cannot; nothing changes where the kernel does not say. */
static bool
ask_alignment(int fd, uint32_t *offset, uint32_t *memory)
{
    struct statx_sizes sizes;

    memset(&sizes, 0, sizeof(sizes));
    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sizes) < 0 || (sizes.mask & STATX_DIOALIGN) == 0)
        return true;
    *offset = sizes.dio_offset_align;
    *memory = sizes.dio_mem_align;
    return sizes.dio_offset_align > 0 && sizes.dio_offset_align <= ALIGN_MAX && sizes.dio_mem_align <= PAGE;
}

/* Where nothing can be made, files themselves will tell. */
void
posix_probe_io(struct posix_store *ps, int dir_fd)
{
    const struct iovec one = { .iov_base = &(char){ 0 }, .iov_len = 1 };
    uint32_t offset = PAGE, memory = PAGE;
    int fd;

    if (ps->never_waits)
        return;
    fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    atomic_init(&ps->store.dontcache, fd < 0 || preadv2(fd, &one, 1, 0, RWF_DONTCACHE) >= 0);
    if (fd >= 0)
        close(fd);
    fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | O_DIRECT, 0600);
    if ((fd >= 0 && ask_alignment(fd, &offset, &memory)) || (fd < 0 && errno != EINVAL)) {
        ps->store.direct_align = MAX(offset, PAGE);
        ps->store.direct_memory = memory;
    }
    if (fd >= 0)
        close(fd);
}

static struct posix_direct *
direct_of(struct posix_node *node)
{
    struct posix_direct *direct = atomic_load_explicit(&node->direct, memory_order_acquire), *other = NULL;

    if (direct != NULL)
        return direct;
    direct = calloc(1, sizeof(*direct));
    if (direct == NULL)
        return NULL;
    atomic_init(&direct->fd, -1);
    atomic_init(&direct->quiet_fd, -1);
    pthread_mutex_init(&direct->lock, NULL);
    if (atomic_compare_exchange_strong(&node->direct, &other, direct))
        return direct;
    posix_direct_free(direct);
    return other;
}

void
posix_direct_free(struct posix_direct *direct)
{
    if (direct == NULL)
        return;
    if (direct->fd >= 0)
        close(direct->fd);
    if (direct->quiet_fd >= 0)
        close(direct->quiet_fd);
    pthread_mutex_destroy(&direct->lock);
    free(direct);
}

/* A descriptor past the cache, in its place. Returns it or -errno; the file is asked whether it can. */
static int
open_direct(struct posix_store *ps, struct posix_node *node, struct posix_direct *direct, _Atomic int *place, int how)
{
    uint32_t offset = ps->store.direct_align, memory = ps->store.direct_memory;
    int fd = posix_reopen(ps, node, how | O_DIRECT | O_NONBLOCK | O_NOCTTY);
    bool can = fd >= 0 && ask_alignment(fd, &offset, &memory) && offset <= ps->store.direct_align &&
               memory <= ps->store.direct_memory;

    if (fd == -EINVAL || (fd >= 0 && !can))
        atomic_store(&direct->off, true);
    if (fd >= 0 && !can) {
        close(fd);
        return -EINVAL;
    }
    return fd < 0 ? fd : posix_install(place, fd);
}

static int
read_fd(struct posix_store *ps, struct posix_node *node, struct posix_direct *direct, bool keep_atime)
{
    int fd = atomic_load(keep_atime ? &direct->quiet_fd : &direct->fd);

    if (fd >= 0)
        return fd;
    if (keep_atime) {
        fd = open_direct(ps, node, direct, &direct->quiet_fd, O_RDONLY | O_NOATIME);
        return fd == -EPERM ? read_fd(ps, node, direct, false) : fd;
    }
    return open_direct(ps, node, direct, &direct->fd, O_RDONLY);
}

/* Between posix_write_begin() and posix_write_end(). */
static int
write_fd(struct posix_store *ps, struct posix_node *node, struct posix_direct *direct)
{
    int fd;

    if (atomic_load(&direct->writable))
        return atomic_load(&direct->fd);
    fd = open_direct(ps, node, direct, &direct->fd, O_RDWR);
    if (fd >= 0)
        atomic_store(&direct->writable, true);
    return fd;
}

bool
posix_direct_writable(const struct posix_node *node)
{
    struct posix_direct *direct = atomic_load(&node->direct);

    return direct != NULL && atomic_load(&direct->writable);
}

void
posix_direct_close_writing(struct posix_node *node, int fd)
{
    struct posix_direct *direct = atomic_load(&node->direct);

    if (posix_install(&direct->fd, fd) >= 0)
        atomic_store(&direct->writable, false);
}

/* The outcome of a READ past the cache: *raw bytes from the widened range's beginning are there. */
static void
end_read(struct store_op *op, int err)
{
    uint64_t raw = op->private[P_DONE], skip = op->u.read.offset % op->store->direct_align;

    op->private[P_DONE] = raw > skip ? MIN(raw - skip, op->u.read.length) : 0;
    op->r.read.skip = (uint32_t)skip;
    posix_end_read(op, err);
    engine_finish(op);
}

static void read_step(struct store_op *op);

static void
read_more(struct store_op *op)
{
    uint64_t done = op->private[P_DONE];

    engine_read(op->engine, op, (int)op->private[P_DIRECT_FD], (uint8_t *)op->u.read.data + done,
                op->private[P_TO] - op->private[P_FROM] - done, op->private[P_FROM] + done, read_step);
}

static void
read_step(struct store_op *op)
{
    uint64_t *done = &op->private[P_DONE];
    int result = op->io_result;

    if (result > 0)
        *done += (uint64_t)result;
    if (result == -EINVAL && *done == 0) {
        atomic_store(&direct_of(node_of(op->node))->off, true);
        posix_read_buffered(op);
    } else if (result == -EINTR || result == -EAGAIN ||
               (result > 0 && *done < op->private[P_TO] - op->private[P_FROM] && *done % op->store->direct_align == 0)) {
        read_more(op);
    } else {
        end_read(op, result < 0 && *done == 0 ? result : 0);    /* an odd number of bytes is the end of the file */
    }
}

bool
posix_direct_read(struct store_op *op)
{
    struct posix_store *ps = op_store(op);
    struct posix_node *node = node_of(op->node);
    uint32_t align = ps->store.direct_align;
    uint64_t from, to;
    struct posix_direct *direct;
    int fd;

    if (align == 0)
        return false;
    from = op->u.read.offset / align * align;
    to = roundup(op->u.read.offset + op->u.read.length, (uint64_t)align);
    if (to > INT64_MAX || to - from > op->u.read.room || (uintptr_t)op->u.read.data % ps->store.direct_memory != 0)
        return false;
    direct = direct_of(node);
    if (direct == NULL || atomic_load_explicit(&direct->off, memory_order_relaxed))
        return false;
    fd = read_fd(ps, node, direct, op->u.read.keep_atime);
    if (fd < 0)
        return false;
    op->private[P_DIRECT_FD] = (uint64_t)fd;
    op->private[P_FROM] = from;
    op->private[P_TO] = to;
    read_more(op);
    return true;
}

/* Whether an end of one, widened to folios, comes to what another writes past the cache. */
static bool
ends_touch(const struct store_op *one, const struct store_op *other)
{
    uint64_t start = one->u.write.offset, end = start + one->u.write.length;
    uint64_t from = one->private[P_FROM], to = one->private[P_TO];
    uint64_t other_from = other->private[P_FROM], other_to = other->private[P_TO];

    if (other_from == other_to)
        return false;
    if (from == to)
        return start / FOLIO * FOLIO < other_to && other_from < roundup(end, FOLIO);
    return (start < from && start / FOLIO * FOLIO < other_to && other_from < roundup(from, FOLIO)) ||
           (to < end && to / FOLIO * FOLIO < other_to && other_from < roundup(end, FOLIO));
}

static bool
exclude(const struct store_op *one, const struct store_op *other)
{
    return ends_touch(one, other) || ends_touch(other, one);
}

/* Whether op has to wait for one in a list, up to but not including `end`. */
static bool
must_wait(const struct store_op *op, const struct store_op *list, const struct store_op *end)
{
    for (; list != end; list = next_of(list)) {
        if (exclude(op, list))
            return true;
    }
    return false;
}

bool
posix_direct_plan(struct store_op *op)
{
    struct posix_store *ps = op_store(op);
    struct posix_node *node = node_of(op->node);
    uint32_t align = ps->store.direct_align;
    uint64_t offset = op->u.write.offset, from, to;
    struct posix_direct *direct;
    int fd;

    op->private[P_FROM] = op->private[P_TO] = offset;
    if (op->u.write.io != STORE_IO_DIRECT || align == 0)
        return atomic_load_explicit(&node->direct, memory_order_acquire) != NULL;
    direct = direct_of(node);
    from = roundup(offset, (uint64_t)align);
    to = (offset + op->u.write.length) / align * align;
    if (direct == NULL || from >= to || atomic_load_explicit(&direct->off, memory_order_relaxed) ||
        ((uintptr_t)op->u.write.data + (from - offset)) % ps->store.direct_memory != 0)
        return direct != NULL;
    fd = write_fd(ps, node, direct);
    if (fd >= 0) {
        op->private[P_DIRECT_FD] = (uint64_t)fd;
        op->private[P_FROM] = from;
        op->private[P_TO] = to;
    }
    return true;
}

void
posix_direct_give_up(struct store_op *op)
{
    atomic_store(&direct_of(node_of(op->node))->off, true);
    op->private[P_FROM] = op->private[P_TO] = op->u.write.offset;
}

bool
posix_direct_lock(struct store_op *op, void (*step)(struct store_op *op))
{
    struct posix_direct *direct = direct_of(node_of(op->node));
    struct store_op *last;
    bool wait;

    pthread_mutex_lock(&direct->lock);
    wait = must_wait(op, direct->holders, NULL) || must_wait(op, direct->waiting, NULL);
    if (!wait) {
        set_next(op, direct->holders);
        direct->holders = op;
    } else {
        op->step = step;
        set_next(op, NULL);
        for (last = direct->waiting; last != NULL && next_of(last) != NULL; last = next_of(last))
            continue;
        if (last != NULL)
            set_next(last, op);
        else
            direct->waiting = op;
        engine_park(op);
    }
    pthread_mutex_unlock(&direct->lock);
    return !wait;
}

/* Take op out of a list that it is in. */
static void
take_out(struct store_op **list, struct store_op *op)
{
    struct store_op *before = *list;

    if (before == op) {
        *list = next_of(op);
        return;
    }
    while (next_of(before) != op)
        before = next_of(before);
    set_next(before, next_of(op));
}

/* The oldest that need wait no longer, now a holder; NULL when there is none. The lock is held. */
static struct store_op *
next_holder(struct posix_direct *direct)
{
    struct store_op *op;

    for (op = direct->waiting; op != NULL; op = next_of(op)) {
        if (must_wait(op, direct->holders, NULL) || must_wait(op, direct->waiting, op))
            continue;
        take_out(&direct->waiting, op);
        set_next(op, direct->holders);
        direct->holders = op;
        return op;
    }
    return NULL;
}

void
posix_direct_unlock(struct store_op *op)
{
    struct posix_direct *direct = atomic_load(&node_of(op->node)->direct);
    const struct engine *here = op->engine;
    struct store_op *next;

    pthread_mutex_lock(&direct->lock);
    take_out(&direct->holders, op);
    while ((next = next_holder(direct)) != NULL) {
        pthread_mutex_unlock(&direct->lock);
        if (next->engine == here) {
            engine_unpark(next);
            next->step(next);
        } else {
            engine_wake(next, 0, next->step);
        }
        pthread_mutex_lock(&direct->lock);
    }
    pthread_mutex_unlock(&direct->lock);
}
