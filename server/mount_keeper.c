/* server/mount_keeper.c - see mount_keeper.h. */
#include "server/mount_keeper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define AGAIN_S 60                      /* between attempts, once one has failed */

struct mount_keeper {
    struct mount_list *list;
    struct state *state;
    const struct sandbox *sandbox;
    const struct log *log;
    pthread_t thread;
    pthread_mutex_t saving;             /* held by whoever writes the file */
    bool failing;                       /* the last attempt was in vain, which has been told */
    pthread_mutex_t lock;               /* for the rest; taken with the list locked, never the other way round */
    pthread_cond_t wake;
    bool changed, ends;
};

static void
list_changed(void *context)
{
    struct mount_keeper *keeper = context;

    pthread_mutex_lock(&keeper->lock);
    keeper->changed = true;
    pthread_mutex_unlock(&keeper->lock);
    pthread_cond_signal(&keeper->wake);
}

/* Returns whether all is saved. */
static bool
save(struct mount_keeper *keeper)
{
    char error[512];
    int err = 0;

    pthread_mutex_lock(&keeper->saving);
    if (mount_list_is_unsaved(keeper->list))
        err = mount_list_save(keeper->list, keeper->state, error, sizeof(error));
    if (err < 0 && !keeper->failing)
        log_warn(keeper->log, "the MOUNT list cannot be kept: %s", error);
    keeper->failing = err < 0;
    pthread_mutex_unlock(&keeper->saving);
    return err == 0;
}

void
mount_keeper_save(struct mount_keeper *keeper)
{
    save(keeper);
}

/* For so long, or until it is to end; with the lock. */
static void
rest(struct mount_keeper *keeper, time_t seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    while (!keeper->ends && pthread_cond_timedwait(&keeper->wake, &keeper->lock, &until) != ETIMEDOUT)
        continue;
}

static void *
keeper_main(void *arg)
{
    struct mount_keeper *keeper = arg;
    time_t pause_s = MOUNT_KEEPER_S;
    bool saved;

    if (sandbox_enter(keeper->sandbox, SANDBOX_WRITER) < 0)
        abort();                        /* sandbox_new() has tried it */
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->ends) {
        if (!keeper->changed) {
            pthread_cond_wait(&keeper->wake, &keeper->lock);
            continue;
        }
        rest(keeper, pause_s);
        if (keeper->ends)
            break;
        keeper->changed = false;
        pthread_mutex_unlock(&keeper->lock);
        saved = save(keeper);
        pthread_mutex_lock(&keeper->lock);
        keeper->changed = keeper->changed || !saved;
        pause_s = saved ? MOUNT_KEEPER_S : AGAIN_S;
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

static void
init_locks(struct mount_keeper *keeper)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&keeper->saving, NULL);
    pthread_mutex_init(&keeper->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static void
free_all(struct mount_keeper *keeper)
{
    pthread_cond_destroy(&keeper->wake);
    pthread_mutex_destroy(&keeper->lock);
    pthread_mutex_destroy(&keeper->saving);
    free(keeper);
}

int
mount_keeper_new(struct mount_list *list, struct state *state, const struct sandbox *sandbox, const struct log *log,
                 struct mount_keeper **out)
{
    struct mount_keeper *keeper = calloc(1, sizeof(*keeper));
    sigset_t all, old;
    int err;

    if (keeper == NULL)
        return -ENOMEM;
    keeper->list = list;
    keeper->state = state;
    keeper->sandbox = sandbox;
    keeper->log = log;
    init_locks(keeper);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = -pthread_create(&keeper->thread, NULL, keeper_main, keeper);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err < 0) {
        free_all(keeper);
        return err;
    }
    mount_list_on_change(list, list_changed, keeper);
    *out = keeper;
    return 0;
}

void
mount_keeper_free(struct mount_keeper *keeper, bool wanted)
{
    if (keeper == NULL)
        return;
    mount_list_on_change(keeper->list, NULL, NULL);
    pthread_mutex_lock(&keeper->lock);
    keeper->ends = true;
    pthread_mutex_unlock(&keeper->lock);
    pthread_cond_signal(&keeper->wake);
    pthread_join(keeper->thread, NULL);
    if (wanted)
        save(keeper);
    free_all(keeper);
}
