/*
 * storage/posix_open.c - the descriptors that data is read and written through.
 *
 * A file is opened for writing when it is written, and only as long as that goes on: a program that is open for writing
 * anywhere cannot be executed (ETXTBSY), and its file system cannot be made read-only. So once a file has not been written
 * for IDLE_S seconds, a thread of the store opens it for reading only, under the same number (dup3(2)): whoever reads
 * meanwhile notices nothing. Whoever writes has announced that before (`writers`), and is not disturbed. The same thread
 * closes nodes that have not been used for a while.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "storage/posix_private.h"

#define IDLE_S 2
#define CLOSE_S 5                       /* between two looks for nodes that nobody uses */
#define CLOSING INT_MIN                 /* in `writers`: wait a moment */
#define SWEEP_MAX 64                    /* nodes taken from the list at once */

static uint32_t
now_s(void)
{
    return (uint32_t)(pace_now_ns() / 1000000000u);
}

static int
open_patiently(struct posix_store *ps, struct posix_node *node, int how)
{
    int fd = posix_reopen(ps, node, how | O_NONBLOCK | O_NOCTTY);

    if (fd == -EMFILE || fd == -ENFILE) {
        posix_relieve(ps);
        fd = posix_reopen(ps, node, how | O_NONBLOCK | O_NOCTTY);
    }
    return fd;
}

int
posix_install(_Atomic int *place, int fd)
{
    int old = -1, err;

    if (atomic_compare_exchange_strong(place, &old, fd))
        return fd;
    err = dup3(fd, old, O_CLOEXEC) < 0 ? -errno : old;
    close(fd);
    return err;
}

int
posix_read_fd(struct posix_store *ps, struct posix_node *node)
{
    int fd = atomic_load(&node->io_fd), other = -1;

    if (fd >= 0)
        return fd;
    fd = open_patiently(ps, node, O_RDONLY);
    if (fd < 0 || atomic_compare_exchange_strong(&node->io_fd, &other, fd))
        return fd;
    close(fd);
    return other;
}

int
posix_flush_apart(struct posix_store *ps, struct posix_node *node)
{
    uint32_t covers = atomic_load(&node->data_changes);
    int fd = open_patiently(ps, node, O_RDONLY), err;

    if (fd == -EACCES)                  /* an ordinary user's own file that he may not read himself */
        fd = open_patiently(ps, node, O_WRONLY);
    if (fd == -EACCES)
        err = posix_syncfs(ps);
    else
        err = fd < 0 ? fd : posix_fsync(ps, fd);
    if (fd >= 0)
        close(fd);
    if (err == 0)
        posix_note_flushed(node, covers);
    return err;
}

static void *janitor(void *arg);

void
posix_need_janitor(struct posix_store *ps)
{
    sigset_t all, before;

    if (atomic_load_explicit(&ps->janitor_runs, memory_order_relaxed))
        return;
    cred_revert();                      /* a thread begins with the rights of the one that starts it */
    sigfillset(&all);
    pthread_mutex_lock(&ps->writable_lock);
    if (!ps->janitor_runs) {
        pthread_sigmask(SIG_SETMASK, &all, &before);
        ps->janitor_runs = pthread_create(&ps->janitor, NULL, janitor, ps) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_mutex_unlock(&ps->writable_lock);
}

void
posix_note_writable(struct posix_store *ps, struct posix_node *node)
{
    atomic_store(&node->written_s, now_s());
    atomic_store(&node->writable, true);
    pthread_mutex_lock(&ps->writable_lock);
    if (!node->in_writable) {
        if (TAILQ_EMPTY(&ps->writable))
            pthread_cond_signal(&ps->writable_more);
        TAILQ_INSERT_TAIL(&ps->writable, node, writable_link);
        node->in_writable = true;
    }
    pthread_mutex_unlock(&ps->writable_lock);
}

void
posix_forget_writable(struct posix_store *ps, struct posix_node *node)
{
    if (atomic_load(&node->io_fd) < 0)
        return;
    pthread_mutex_lock(&ps->writable_lock);
    if (node->in_writable)
        TAILQ_REMOVE(&ps->writable, node, writable_link);
    node->in_writable = false;
    pthread_mutex_unlock(&ps->writable_lock);
}

/* An ordinary user may write what he cannot read. */
static int
make_writable(struct posix_store *ps, struct posix_node *node)
{
    int fd = open_patiently(ps, node, O_RDWR);

    if (fd == -EACCES)
        fd = open_patiently(ps, node, O_WRONLY);
    if (fd >= 0)
        fd = posix_install(&node->io_fd, fd);
    if (fd >= 0)
        posix_note_writable(ps, node);
    return fd;
}

int
posix_write_begin(struct posix_store *ps, struct posix_node *node)
{
    int writers = atomic_load(&node->writers), fd;

    while (writers < 0 || !atomic_compare_exchange_weak(&node->writers, &writers, writers + 1)) {
        if (writers < 0)
            sched_yield();
        writers = atomic_load(&node->writers);
    }
    if (atomic_load(&node->writable)) {
        atomic_store_explicit(&node->written_s, now_s(), memory_order_relaxed);
        return atomic_load(&node->io_fd);
    }
    fd = make_writable(ps, node);
    if (fd < 0)
        posix_write_end(node);
    return fd;
}

void
posix_write_end(struct posix_node *node)
{
    atomic_fetch_sub(&node->writers, 1);
}

/* Nobody has written it for a while: from now on it is open for reading only, unless somebody begins just now. */
static void
close_for_writing(struct posix_store *ps, struct posix_node *node)
{
    int nobody = 0, fd = open_patiently(ps, node, O_RDONLY), direct = -1;
    bool flushing;

    if (fd >= 0 && posix_direct_writable(node)) {
        direct = open_patiently(ps, node, O_RDONLY | O_DIRECT);
        if (direct < 0) {
            close(fd);
            fd = direct;
        }
    }
    if (fd < 0) {
        if (fd != -EACCES && fd != -ESTALE)
            posix_note_writable(ps, node);              /* another time */
        return;
    }
    if (!atomic_compare_exchange_strong(&node->writers, &nobody, CLOSING)) {
        close(fd);
        if (direct >= 0)
            close(direct);
        posix_note_writable(ps, node);
        return;
    }
    pthread_mutex_lock(&node->flush_lock);              /* an error that a flush hears of is the flush's */
    flushing = node->flushing;
    if (!flushing) {
        posix_check_writeback(ps, atomic_load(&node->io_fd));
        if (posix_install(&node->io_fd, fd) >= 0)
            atomic_store(&node->writable, false);
        if (direct >= 0)
            posix_direct_close_writing(node, direct);
    }
    pthread_mutex_unlock(&node->flush_lock);
    atomic_store(&node->writers, 0);
    if (flushing) {
        close(fd);
        if (direct >= 0)
            close(direct);
        posix_note_writable(ps, node);
    }
}

static bool
try_ref(struct posix_node *node)
{
    uint32_t refs = atomic_load(&node->refs);

    while (refs > 0) {
        if (atomic_compare_exchange_weak(&node->refs, &refs, refs + 1))
            return true;
    }
    return false;
}

/* Take nodes that have been idle out of the list, with a reference each. The lock is held. */
static unsigned
take_idle(struct posix_store *ps, struct posix_node *idle[SWEEP_MAX])
{
    struct posix_node *node = TAILQ_FIRST(&ps->writable), *next;
    uint32_t now = now_s();
    unsigned taken = 0;

    for (; node != NULL && taken < SWEEP_MAX; node = next) {
        next = TAILQ_NEXT(node, writable_link);
        if (now - atomic_load(&node->written_s) < IDLE_S || !try_ref(node))
            continue;                   /* in use, or about to be freed */
        TAILQ_REMOVE(&ps->writable, node, writable_link);
        node->in_writable = false;
        idle[taken++] = node;
    }
    return taken;
}

/* Wait a second while there are files open for writing, longer else. The lock is held. */
static void
wait_a_while(struct posix_store *ps)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += TAILQ_EMPTY(&ps->writable) ? CLOSE_S : 1;
    pthread_cond_timedwait(&ps->writable_more, &ps->writable_lock, &until);
}

static void
close_all_for_writing(struct posix_store *ps, struct posix_node *const *idle, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        close_for_writing(ps, idle[i]);
        posix_put(&idle[i]->base);
    }
}

static void *
janitor(void *arg)
{
    struct posix_store *ps = arg;
    struct posix_node *idle[SWEEP_MAX];
    uint32_t closed_s = now_s();
    unsigned taken = 0;

    cred_thread_init();
    pthread_mutex_lock(&ps->writable_lock);
    while (!ps->janitor_ends) {
        if (taken < SWEEP_MAX)
            wait_a_while(ps);
        taken = take_idle(ps, idle);
        pthread_mutex_unlock(&ps->writable_lock);
        close_all_for_writing(ps, idle, taken);
        if (now_s() - closed_s >= CLOSE_S) {
            posix_close_idle(ps);
            closed_s = now_s();
        }
        pthread_mutex_lock(&ps->writable_lock);
    }
    pthread_mutex_unlock(&ps->writable_lock);
    return NULL;
}

void
posix_writable_init(struct posix_store *ps)
{
    pthread_condattr_t attr;

    TAILQ_INIT(&ps->writable);
    pthread_mutex_init(&ps->writable_lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&ps->writable_more, &attr);
    pthread_condattr_destroy(&attr);
}

void
posix_writable_stop(struct posix_store *ps)
{
    pthread_mutex_lock(&ps->writable_lock);
    ps->janitor_ends = true;
    pthread_cond_signal(&ps->writable_more);
    pthread_mutex_unlock(&ps->writable_lock);
    if (ps->janitor_runs)
        pthread_join(ps->janitor, NULL);
}

void
posix_writable_fini(struct posix_store *ps)
{
    pthread_cond_destroy(&ps->writable_more);
    pthread_mutex_destroy(&ps->writable_lock);
}
