/*
 * storage/posix_data.c - READ, WRITE and COMMIT.
 *
 * READ tries the page cache on the worker, into the caller's pipe (splice(2), no copy) or into memory (preadv2(2) with
 * RWF_NOWAIT), and gives what is not there to the engine. WRITE to the page cache runs on the worker as long as that is
 * quick (pace.h), else on the engine; flushes always go to the engine. Both can go past the page cache, all or in
 * part (posix_direct.c), or leave nothing in it (RWF_DONTCACHE).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "storage/posix_private.h"

static int
finished(struct store_op *op, int err)
{
    op->err = err;
    if (err < 0)
        posix_note_error(op);
    return err;
}

static int
type_error(const struct posix_node *node)
{
    if (S_ISREG(node->type))
        return 0;
    return S_ISDIR(node->type) ? -EISDIR : -EINVAL;
}

/* The end of a READ, wherever its bytes came from: attributes come last, so that eof fits what was read. */
int
posix_end_read(struct store_op *op, int err)
{
    int attr_err = posix_attr(node_of(op->node), &op->attr);

    op->r.read.done = (uint32_t)op->private[P_DONE];
    if (err == 0)
        err = attr_err;
    if (err == 0)
        op->r.read.eof = op->u.read.offset >= op->attr.size || op->attr.size - op->u.read.offset <= op->r.read.done;
    return finished(op, err);
}

/* A file, or all of them, cannot do without the page cache after all: once more, as if nobody had asked. */
static bool
forget_dontcache(struct store_op *op)
{
    if (op->io_result != -EOPNOTSUPP || op->io.flags == 0)
        return false;
    atomic_store_explicit(&op->store->dontcache, false, memory_order_relaxed);
    op->io.flags = 0;
    return true;
}

static void
read_step(struct store_op *op)
{
    uint64_t *done = &op->private[P_DONE];

    if (op->io_result > 0)
        *done += (uint64_t)op->io_result;
    if (op->io_result == -EINTR || op->io_result == -EAGAIN || forget_dontcache(op) ||
        (op->io_result > 0 && *done < op->u.read.length)) {
        posix_read_buffered(op);
        return;
    }
    posix_end_read(op, op->io_result < 0 && *done == 0 ? op->io_result : 0);
    engine_finish(op);
}

void
posix_read_buffered(struct store_op *op)
{
    uint64_t done = op->private[P_DONE];

    engine_read(op->engine, op, (int)op->private[P_FD], (uint8_t *)op->u.read.data + done, op->u.read.length - done,
                op->u.read.offset + done, read_step);
}

/* What the page cache has: how much of the read it was, or -EAGAIN when none. */
static ssize_t
read_cached(const struct posix_store *ps, const struct store_op *op, int fd)
{
    struct iovec iov = { .iov_base = op->u.read.data, .iov_len = op->u.read.length };
    ssize_t n;

    if (ps->never_waits)
        n = preadv2(fd, &iov, 1, (off_t)op->u.read.offset, 0);
    else
        n = preadv2(fd, &iov, 1, (off_t)op->u.read.offset, RWF_NOWAIT | op->io.flags);
    if (n < 0 && errno == EBADF)
        return -EACCES;                 /* open for writing only: an ordinary user's file that he may not read */
    if (n < 0)
        return errno == EOPNOTSUPP || errno == EINTR ? -EAGAIN : -errno;
    return n;
}

#ifndef SYS_cachestat
#define SYS_cachestat 451               /* Linux 6.5 */
#endif

/* Whether all of a range that lies in the file is in the page cache: splice(2) would wait for the rest. */
static bool
is_cached(int fd, uint64_t offset, uint32_t length)
{
    struct { uint64_t off, len; } range = { offset, length };
    struct { uint64_t cached, dirty, writeback, evicted, recently_evicted; } found;
    struct stat st;
    uint64_t end;

    if (fstat(fd, &st) < 0 || offset >= (uint64_t)st.st_size)
        return false;
    end = offset + length < (uint64_t)st.st_size ? offset + length : (uint64_t)st.st_size;
    if (syscall(SYS_cachestat, fd, &range, &found, 0) < 0)
        return false;
    return found.cached >= (end + 4095) / 4096 - offset / 4096;
}

/* Put cached pages into the caller's pipe: how many bytes, or -EAGAIN when it is to be done by copying. */
static ssize_t
read_into_pipe(const struct posix_store *ps, const struct store_op *op, int fd)
{
    loff_t offset = (loff_t)op->u.read.offset;
    size_t done = 0;
    ssize_t n = 1;

    if (!ps->never_waits && !is_cached(fd, op->u.read.offset, op->u.read.length))
        return -EAGAIN;
    while (n > 0 && done < op->u.read.length) {
        n = splice(fd, &offset, op->u.read.pipe, NULL, op->u.read.length - done, SPLICE_F_NONBLOCK);
        if (n > 0)
            done += (size_t)n;
    }
    return done > 0 ? (ssize_t)done : -EAGAIN;
}

static int
dontcache_flag(const struct store_op *op, enum store_io io)
{
    return io == STORE_IO_DONTCACHE && atomic_load_explicit(&op->store->dontcache, memory_order_relaxed) ? RWF_DONTCACHE
                                                                                                          : 0;
}

int
posix_read(struct store_op *op)
{
    struct posix_store *ps = op_store(op);
    struct posix_node *node = node_of(op->node);
    ssize_t n;
    int fd, err;

    op->private[P_DONE] = 0;
    op->r.read.eof = false;
    err = type_error(node);
    if (err == 0)
        err = posix_may_access(op, node, false, NULL);
    if (err < 0 || op->u.read.length == 0 || op->u.read.offset > INT64_MAX)
        return posix_end_read(op, err);
    fd = op->u.read.keep_atime ? posix_quiet_fd(ps, node) : posix_read_fd(ps, node);
    if (fd < 0)
        return posix_end_read(op, fd);
    if (op->u.read.length > INT64_MAX - op->u.read.offset)
        op->u.read.length = (uint32_t)(INT64_MAX - op->u.read.offset);
    op->private[P_FD] = (uint64_t)fd;
    if (op->u.read.io == STORE_IO_DIRECT && posix_direct_read(op))
        return STORE_PENDING;
    op->io.flags = dontcache_flag(op, op->u.read.io);
    if (op->u.read.ahead > 0 && op->io.flags == 0 && !ps->never_waits)
        posix_readahead(op, fd);
    n = op->u.read.pipe >= 0 ? read_into_pipe(ps, op, fd) : -EAGAIN;
    if (n > 0) {
        op->r.read.in_pipe = true;
        op->private[P_DONE] = (uint64_t)n;
        return posix_end_read(op, 0);
    }
    n = read_cached(ps, op, fd);
    if (n < 0 && n != -EAGAIN)
        return posix_end_read(op, (int)n);
    op->private[P_DONE] = n > 0 ? (uint64_t)n : 0;
    if (n >= 0 && (n == 0 || n == (ssize_t)op->u.read.length || ps->never_waits))
        return posix_end_read(op, 0);
    /* A short read of the cache is the end of the file, or of what is cached. */
    if (n > 0) {
        posix_end_read(op, 0);
        if (op->err < 0 || op->r.read.eof)
            return op->err;
    }
    posix_read_buffered(op);
    return STORE_PENDING;
}

static int
end_write(struct store_op *op, int err)
{
    posix_change_end(node_of(op->node), &op->wcc, op->private[P_CHANGE]);
    op->r.write.done = (uint32_t)op->private[P_DONE];
    if (err == 0 && !op->wcc.after.present)
        err = -ESTALE;
    return finished(op, err);
}

static void
write_flushed(struct store_op *op)
{
    int err = op->io_result;

    if (err == -EINVAL)
        err = 0;                        /* nothing to flush there; EROFS is another matter: the data cannot get there */
    end_write(op, err < 0 ? err : 0);
    engine_finish(op);
}

/* The bytes are in the page cache: flush them if that was asked for. Returns as store_write() does. */
static int
after_write(struct store_op *op, bool pending)
{
    op->r.write.committed = op->u.write.stable;
    if (op->sync)
        posix_note_data(node_of(op->node));
    if (op->sync && op->u.write.stable != STORE_UNSTABLE) {
        posix_flush(op, (int)op->private[P_FD], op->u.write.stable == STORE_DATA_SYNC, write_flushed);
        return STORE_PENDING;
    }
    end_write(op, 0);
    if (pending)
        engine_finish(op);
    return op->err;
}

static void write_step(struct store_op *op);

static bool
goes_direct(const struct store_op *op)
{
    uint64_t at = op->u.write.offset + op->private[P_DONE];

    return at >= op->private[P_FROM] && at < op->private[P_TO] && at % op->store->direct_align == 0;
}

/* The next stretch of a WRITE that goes one way, through the page cache or past it. */
static void
write_more(struct store_op *op)
{
    uint64_t done = op->private[P_DONE], at = op->u.write.offset + done, end = op->u.write.offset + op->u.write.length;
    uint64_t fd = op->private[P_FD];

    if (goes_direct(op)) {
        fd = op->private[P_DIRECT_FD];
        end = op->private[P_TO];
    } else if (at < op->private[P_FROM]) {
        end = op->private[P_FROM];
    }
    op->private[P_STARTED] = pace_now_ns();
    engine_write(op->engine, op, (int)fd, (const uint8_t *)op->u.write.data + done, end - at, at, write_step);
}

/* What a stretch came to: whether there is more to be done, or to be done again. */
static bool
must_write_more(struct store_op *op)
{
    if (op->io_result == -EINVAL && goes_direct(op)) {
        posix_direct_give_up(op);
        return true;
    }
    if (op->io_result > 0)
        op->private[P_DONE] += (uint64_t)op->io_result;
    return op->io_result == -EINTR || op->io_result == -EAGAIN || forget_dontcache(op) ||
           (op->io_result > 0 && op->private[P_DONE] < op->u.write.length);
}

static void
write_step(struct store_op *op)
{
    uint64_t *done = &op->private[P_DONE];

    if (!op->private[P_LOCKED])
        posix_learn_queued(op, op->private[P_STARTED]);
    if (must_write_more(op)) {
        write_more(op);
        return;
    }
    if (op->private[P_LOCKED])
        posix_direct_unlock(op);
    posix_write_end(node_of(op->node));
    if (op->io_result < 0 && *done == 0) {
        end_write(op, op->io_result);
        engine_finish(op);
        return;
    }
    after_write(op, true);
}

/* The whole WRITE, or what there is room for, on this thread. */
static int
write_here(struct store_op *op, int fd)
{
    uint64_t *done = &op->private[P_DONE];
    struct pace_mark mark;
    struct iovec iov;
    ssize_t n;

    posix_inline_begin(op, &mark);
    cred_assume(op->cred);
    do {
        iov.iov_base = (uint8_t *)(uintptr_t)op->u.write.data + *done;
        iov.iov_len = op->u.write.length - *done;
        n = pwritev2(fd, &iov, 1, (off_t)(op->u.write.offset + *done), op->io.flags);
        op->io_result = n < 0 ? -errno : (int)n;
        if (n > 0)
            *done += (uint64_t)n;
    } while ((n > 0 && *done < op->u.write.length) || op->io_result == -EINTR || forget_dontcache(op));
    if (n < 0 && *done == 0)
        return op->io_result;
    posix_inline_end(op, &mark);
    return 0;
}

/* What must be true before a byte is written. */
static int
check_write(struct store_op *op, struct posix_node *node)
{
    int err = type_error(node);

    if (err == 0 && (op->u.write.offset > INT64_MAX || op->u.write.length > INT64_MAX - op->u.write.offset))
        err = -EFBIG;
    return err == 0 ? posix_may_access(op, node, true, NULL) : err;
}

int
posix_write(struct store_op *op)
{
    struct posix_store *ps = op_store(op);
    struct posix_node *node = node_of(op->node);
    int fd, err;

    op->private[P_DONE] = 0;
    op->r.write.committed = STORE_UNSTABLE;
    posix_change_begin(node, &op->wcc, &op->private[P_CHANGE]);
    err = check_write(op, node);
    if (err < 0)
        return end_write(op, err);
    fd = posix_write_begin(ps, node);
    if (fd < 0)
        return end_write(op, fd);
    op->private[P_FD] = (uint64_t)fd;
    op->private[P_LOCKED] = op->u.write.length > 0 && posix_direct_plan(op);
    op->io.flags = dontcache_flag(op, op->u.write.io);
    if (op->private[P_LOCKED]) {
        if (posix_direct_lock(op, write_more))
            write_more(op);
        return STORE_PENDING;
    }
    if (op->u.write.length == 0 || posix_runs_inline(op)) {
        err = op->u.write.length == 0 ? 0 : write_here(op, fd);
        posix_write_end(node);
        return err < 0 ? end_write(op, err) : after_write(op, false);
    }
    write_more(op);
    return STORE_PENDING;
}

static int
end_commit(struct store_op *op, int err)
{
    posix_change_end(node_of(op->node), &op->wcc, op->private[P_CHANGE]);
    if (err == 0 && !op->wcc.after.present)
        err = -ESTALE;
    return finished(op, err);
}

static void
commit_flushed(struct store_op *op)
{
    int err = op->io_result;

    if (err == -EINVAL)
        err = 0;
    end_commit(op, err < 0 ? err : 0);
    engine_finish(op);
}

/* On a thread of the pool: an ordinary user's own file that he may not read himself, and that is not open any more. */
static void
commit_apart(struct store_op *op)
{
    end_commit(op, posix_flush_apart(op_store(op), node_of(op->node)));
}

/* The range is a hint: what lies outside may be flushed too (RFC 1813 3.3.21). */
int
posix_commit(struct store_op *op)
{
    struct posix_store *ps = op_store(op);
    struct posix_node *node = node_of(op->node);
    int fd, err = type_error(node);

    posix_change_begin(node, &op->wcc, &op->private[P_CHANGE]);
    if (err < 0 || !op->sync)
        return end_commit(op, err);
    fd = posix_read_fd(ps, node);
    if (fd == -EACCES) {
        engine_run(op->engine, op, commit_apart);
        return STORE_PENDING;
    }
    if (fd < 0)
        return end_commit(op, fd);
    posix_flush(op, fd, false, commit_flushed);
    return STORE_PENDING;
}
