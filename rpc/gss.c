/*
 * rpc/gss.c - the making of security contexts, on a thread of its own; what calls do with them is in gss_call.c.
 *
 * A call that begins a context or goes on with one is a job; jobs wait in a bounded queue. A job has its own copy of the
 * token and outlives a call that is given up, so a mechanism that hangs holds up nothing but itself.
 */
#include <endian.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "rpc/gss_private.h"
#include "rpc/transport.h"

#define NO_ID UINT32_MAX
#define MAJOR_FAILURE (13u << 16)       /* GSS_S_FAILURE (RFC 2203 appendix A) */
#define UNFINISHED_MS 60000             /* how long a context that is not complete waits for the client's next token */
#define FREE_WAIT_S 1                   /* how long the end of the thread is waited for */

void
gss_job_free(struct gss_job *job)
{
    gss_context_put(job->context);
    free(job->accepted.token);
    free(job->accepted.principal);
    free(job->accepted.local);
    free(job);
}

static void
gss_delete(struct gss *gss)
{
    gss_table_free(gss->table);
    gss->config.mech->close(gss->mech);
    pthread_cond_destroy(&gss->work);
    pthread_mutex_destroy(&gss->lock);
    free(gss);
}

int
gss_new(const struct gss_config *config, struct gss **out)
{
    struct gss *gss = calloc(1, sizeof(*gss));
    int err;

    if (gss == NULL)
        return -ENOMEM;
    gss->config = *config;
    gss->mech = config->mech->open(config->keytab, config->principal);
    gss->config.keytab = gss->config.principal = NULL;   /* the mechanism has its own copies */
    err = gss->mech == NULL ? -ENOMEM : gss_table_new(config->contexts, config->now_ms, &gss->table);
    if (err == 0 && getrandom(gss->hash_key, sizeof(gss->hash_key), 0) != sizeof(gss->hash_key))
        err = -EIO;
    pthread_mutex_init(&gss->lock, NULL);
    pthread_cond_init(&gss->work, NULL);
    STAILQ_INIT(&gss->jobs);
    if (err < 0) {
        gss_delete(gss);
        return err;
    }
    *out = gss;
    return 0;
}

/* ---- The thread: contexts are made ---- */

/* What the client is told has gone wrong on our side. */
static void
fail(struct gss_accepted *accepted, const char *what, int err)
{
    accepted->complete = false;
    accepted->major = MAJOR_FAILURE;
    accepted->minor = 0;
    snprintf(accepted->error, sizeof(accepted->error), "%s: %s", what, strerror(-err));
}

/* The mechanism knows who it is: fill in the rest, and have the context used from now on. */
static void
establish(struct gss *gss, struct gss_job *job)
{
    const struct gss_config *config = &gss->config;
    struct gss_accepted *accepted = &job->accepted;
    struct gss_context *context = job->context;
    uint32_t window = htobe32(GSS_WINDOW);
    int err = 0;

    context->uid = context->gid = NO_ID;
    if (accepted->local != NULL)
        err = config->identify(config->source, accepted->local, &context->uid, &context->gid);
    if (err < 0) {
        fail(accepted, "his ids", err);
        return;
    }
    context->principal = config->hash(gss->hash_key, accepted->principal, strlen(accepted->principal));
    context->sizes = accepted->sizes;
    if (!config->mech->sign(context->security, (const uint8_t *)&window, sizeof(window), job->mic)) {
        fail(accepted, "a checksum", -EIO);
        return;
    }
    atomic_store(&context->expires_ms, config->now_ms() + accepted->lifetime_s * 1000);
    atomic_store(&context->established, true);
}

static void
run_job(struct gss *gss, struct gss_job *job)
{
    struct gss_context *context = job->context;
    struct gss_accepted *accepted = &job->accepted;

    if (job->listed && atomic_load(&context->established)) {
        fail(accepted, "a context that is complete", -EINVAL);
    } else {
        gss->config.mech->accept(gss->mech, &context->security, job->token, job->len, accepted);
        atomic_store(&context->expires_ms, gss->config.now_ms() + UNFINISHED_MS);
        if (accepted->complete)
            establish(gss, job);
        if (gss_failed(accepted) && job->listed)
            gss_table_remove(gss->table, context);
        else if (!gss_failed(accepted) && !job->listed)
            gss_table_add(gss->table, context);
    }
    if (accepted->complete)
        atomic_fetch_add(&gss->made, 1);
    else if (gss_failed(accepted))
        atomic_fetch_add(&gss->refused, 1);
}

static void *
run(void *argument)
{
    struct gss *gss = argument;
    bool abandoned;

    pthread_mutex_lock(&gss->lock);
    while (!gss->stopping) {
        struct gss_job *job = STAILQ_FIRST(&gss->jobs);

        if (job == NULL) {
            pthread_cond_wait(&gss->work, &gss->lock);
            continue;
        }
        STAILQ_REMOVE_HEAD(&gss->jobs, next);
        gss->current = job;
        pthread_mutex_unlock(&gss->lock);
        run_job(gss, job);
        pthread_mutex_lock(&gss->lock);
        gss->current = NULL;
        gss->waiting--;
        if (job->waiter == NULL) {
            gss_job_free(job);
            continue;
        }
        job->waiter->job = job;
        loop_post(job->waiter->call->transport->loop, &job->waiter->message);
    }
    gss->ended = true;
    abandoned = gss->abandoned;
    pthread_mutex_unlock(&gss->lock);
    if (abandoned)
        gss_delete(gss);
    return NULL;
}

/* All signals are for others. */
static int
start_thread(struct gss *gss)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&gss->thread, NULL, run, gss);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    gss->started = err == 0;
    return -err;
}

int
gss_allow(struct gss *gss, bool allowed)
{
    int err = allowed && !gss->started ? start_thread(gss) : 0;

    if (err == 0)
        atomic_store(&gss->allowed, allowed);
    return err;
}

bool
gss_has_keys(struct gss *gss, char *error)
{
    return gss->config.mech->has_keys(gss->mech, error);
}

int
gss_queue(struct gss *gss, struct gss_job *job)
{
    int err = 0;

    pthread_mutex_lock(&gss->lock);
    if (gss->stopping)
        err = -ESHUTDOWN;
    else if (gss->waiting >= gss->config.waiting)
        err = -EAGAIN;
    if (err == 0) {
        gss->waiting++;
        STAILQ_INSERT_TAIL(&gss->jobs, job, next);
        pthread_cond_signal(&gss->work);
    }
    pthread_mutex_unlock(&gss->lock);
    return err;
}

/* Let the one who waits go on with nothing. With the lock. */
static void
give_up(struct gss_job *job)
{
    struct gss_call *waiter = job->waiter;

    job->waiter = NULL;
    if (waiter == NULL)
        return;
    waiter->job = NULL;
    loop_post(waiter->call->transport->loop, &waiter->message);
}

void
gss_stop(struct gss *gss)
{
    struct gss_job *job;

    if (gss == NULL)
        return;
    pthread_mutex_lock(&gss->lock);
    gss->stopping = true;
    while ((job = STAILQ_FIRST(&gss->jobs)) != NULL) {
        STAILQ_REMOVE_HEAD(&gss->jobs, next);
        gss->waiting--;
        give_up(job);
        gss_job_free(job);
    }
    if (gss->current != NULL)
        give_up(gss->current);
    pthread_cond_signal(&gss->work);
    pthread_mutex_unlock(&gss->lock);
}

/* Whether a thread that hangs was left to itself; it frees everything then. */
static bool
abandon(struct gss *gss)
{
    bool abandoned;

    pthread_mutex_lock(&gss->lock);
    abandoned = gss->abandoned = !gss->ended;
    if (abandoned)
        pthread_detach(gss->thread);
    pthread_mutex_unlock(&gss->lock);
    return abandoned;
}

void
gss_free(struct gss *gss)
{
    struct timespec until;

    if (gss == NULL)
        return;
    gss_stop(gss);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FREE_WAIT_S;
    if (gss->started && pthread_timedjoin_np(gss->thread, NULL, &until) != 0) {
        if (abandon(gss))
            return;
        pthread_join(gss->thread, NULL);
    }
    gss_delete(gss);
}

void
gss_read_stats(struct gss *gss, struct gss_stats *stats)
{
    gss_table_count(gss->table, &stats->contexts, &stats->evicted);
    stats->made = atomic_load(&gss->made);
    stats->refused = atomic_load(&gss->refused);
    stats->replayed = atomic_load(&gss->replayed);
}
