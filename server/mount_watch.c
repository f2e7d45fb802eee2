/* server/mount_watch.c - see mount_watch.h. The kernel marks /proc/self/mountinfo for poll(2) at each change (proc(5)). */
#include "server/mount_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PAUSE_MS 50                     /* one mount(8) is several changes */

struct mount_watch {
    void (*changed)(void *context);
    void *context;
    int table_fd;
    int end_fd;                         /* an eventfd: readable once the thread is to end */
    pthread_t thread;
};

/* Wait for a change, or for so long; false: it is time to end. */
static bool
wait_for_change(const struct mount_watch *watch, bool for_change, int timeout_ms)
{
    struct pollfd fds[2] = {
        { .fd = watch->end_fd, .events = POLLIN },
        { .fd = for_change ? watch->table_fd : -1, .events = POLLPRI },
    };

    while (poll(fds, 2, timeout_ms) < 0 && errno == EINTR)
        continue;
    return fds[0].revents == 0;
}

static void *
watch_main(void *arg)
{
    struct mount_watch *watch = arg;

    do
        watch->changed(watch->context);
    while (wait_for_change(watch, true, -1) && wait_for_change(watch, false, PAUSE_MS));
    return NULL;
}

static int
start(struct mount_watch *watch)
{
    sigset_t all, old;
    int err;

    watch->table_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (watch->table_fd < 0)
        return -errno;
    watch->end_fd = eventfd(0, EFD_CLOEXEC);
    if (watch->end_fd < 0)
        return -errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&watch->thread, NULL, watch_main, watch);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -err;
}

static void
close_and_free(struct mount_watch *watch)
{
    if (watch->table_fd >= 0)
        close(watch->table_fd);
    if (watch->end_fd >= 0)
        close(watch->end_fd);
    free(watch);
}

int
mount_watch_new(void (*changed)(void *context), void *context, struct mount_watch **out)
{
    struct mount_watch *watch = calloc(1, sizeof(*watch));
    int err;

    if (watch == NULL)
        return -ENOMEM;
    *watch = (struct mount_watch){ .changed = changed, .context = context, .table_fd = -1, .end_fd = -1 };
    err = start(watch);
    if (err < 0)
        close_and_free(watch);
    else
        *out = watch;
    return err;
}

void
mount_watch_free(struct mount_watch *watch)
{
    const uint64_t one = 1;

    if (watch == NULL)
        return;
    while (write(watch->end_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
    pthread_join(watch->thread, NULL);
    close_and_free(watch);
}
