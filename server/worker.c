/*
 * server/worker.c - the thread of an event worker, from its start to its end.
 */
#include "server/worker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#include "rpc/listen.h"
#include "server/sandbox.h"
#include "server/worker_private.h"

/* Storage may still be at work for calls whose connection is gone: the thread ends after the last one. */
static void
end_if_idle(struct worker *worker)
{
    if (worker->private->stopping && worker->transport->outstanding == 0 && engine_pending(worker->engine) == 0)
        loop_stop(worker->transport->loop);
}

/* All that the calls of this turn have started goes out together, and what was done at once is answered with them. */
static void
before_wait(void *context)
{
    struct worker *worker = context;

    engine_flush(worker->engine);
    if (engine_pending(worker->engine) > 0) {
        engine_reap(worker->engine);
        engine_flush(worker->engine);
    }
    end_if_idle(worker);
}

static void
engine_ready(struct loop_fd *watch, int events)
{
    struct worker_private *private =
        (struct worker_private *)((char *)watch - offsetof(struct worker_private, engine_watch));

    (void)events;
    engine_reap(private->worker->engine);
}

/* What the log has not written so far; there may be no further line to say it with. */
static void
log_timer_fired(struct loop_timer *timer)
{
    struct worker_private *private =
        (struct worker_private *)((char *)timer - offsetof(struct worker_private, log_timer));
    struct worker *worker = private->worker;

    log_catch_up(worker->shared->log, false);
    loop_timer_start(worker->transport->loop, timer, LOG_WINDOW_MS, log_timer_fired);
}

/* A ring is for one thread, and a driven worker has none. */
static enum engine_type
engine_type(const struct worker_shared *shared)
{
    enum setting_engine setting = shared->settings->engine;

    if (shared->driven)
        return ENGINE_POOL;
    return setting == SETTING_ENGINE_URING ? ENGINE_URING : setting == SETTING_ENGINE_POOL ? ENGINE_POOL : ENGINE_AUTO;
}

/* Its memory goes back to the system. */
static void
buf_released(void *context, struct buf *buf)
{
    struct worker *worker = context;

    engine_unregister(worker->engine, buf->mark);
}

static int
set_up(struct worker *worker)
{
    struct worker_shared *shared = worker->shared;
    const struct engine_config engine = {
        .type = engine_type(shared),
        .ring_entries = shared->settings->ring_entries,
        .poll_ms = shared->settings->sqpoll,
        .register_max = shared->register_max,
        .pool = shared->pool,
    };
    const struct transport_config transport = {
        .shared = &shared->transport,
        .programs = shared->programs,
        .nprograms = shared->nprograms,
        .call_size = shared->call_size,
        .before_wait = before_wait,
        .context = worker,
        .driven = shared->driven,
    };
    int err;

    err = sandbox_enter_place(shared->sandbox, SANDBOX_CALLS);
    if (err < 0)
        return err;
    worker->private->cred_mode = shared->driven ? cred_process_mode() : cred_thread_init();
    err = engine_new(&engine, &worker->engine);
    if (err == 0)
        err = sandbox_enter_filter(shared->sandbox, SANDBOX_CALLS);
    if (err < 0)
        return err;
    err = transport_new(&transport, &worker->transport);
    if (err < 0)
        return err;
    buf_pool_watch(worker->transport->buffers, buf_released, worker);
    loop_watch(worker->transport->loop, &worker->private->engine_watch, engine_fd(worker->engine), EV_READ, engine_ready);
    loop_timer_start(worker->transport->loop, &worker->private->log_timer, LOG_WINDOW_MS, log_timer_fired);
    delay_queue_init(&worker->delays, worker->transport->loop, shared->rate, &shared->delay_budget);
    return 0;
}

static void
close_listeners(struct worker *worker)
{
    struct worker_private *private = worker->private;
    struct worker_listener *listener;

    while ((listener = SLIST_FIRST(&private->listeners)) != NULL) {
        SLIST_REMOVE_HEAD(&private->listeners, next);
        listener_free(listener->listener);
        free(listener);
    }
}

static void
tear_down(struct worker *worker)
{
    if (worker->transport != NULL) {
        close_listeners(worker);
        delay_queue_fini(&worker->delays);
        loop_unwatch(worker->transport->loop, &worker->private->engine_watch);
        transport_free(worker->transport);
    }
    engine_free(worker->engine);
    export_view_put(worker->view);
}

static void
run_and_tear_down(struct worker *worker)
{
    if (worker->private->start_err == 0)
        loop_run(worker->transport->loop);
    tear_down(worker);
}

static void *
worker_main(void *arg)
{
    struct worker *worker = arg;
    struct worker_private *private = worker->private;

    private->start_err = set_up(worker);
    sem_post(&private->reached);
    run_and_tear_down(worker);
    return NULL;
}

/* Signals are for the thread that the server's owner has for them. */
static int
start_thread(struct worker *worker)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&worker->private->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -err;
}

static int
begin(struct worker *worker)
{
    if (!worker->shared->driven)
        return start_thread(worker);
    worker->private->start_err = set_up(worker);
    sem_post(&worker->private->reached);
    return 0;
}

int
worker_fd(const struct worker *worker)
{
    return loop_fd(worker->transport->loop);
}

void
worker_turn(struct worker *worker)
{
    loop_turn(worker->transport->loop);
}

void
worker_wait(struct worker *worker, sem_t *posted)
{
    if (worker->shared->driven) {
        while (sem_trywait(posted) < 0)
            worker_turn(worker);
        return;
    }
    while (sem_wait(posted) < 0 && errno == EINTR)
        continue;
}

static void
worker_delete(struct worker *worker)
{
    sem_destroy(&worker->private->reached);
    handed_fini(&worker->private->connections);
    free(worker->private);
    free(worker);
}

int
worker_new(struct worker_shared *shared, struct exports *set, struct worker **out)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    struct worker_private *private = calloc(1, sizeof(*private));
    int err;

    if (worker == NULL || private == NULL) {
        free(worker);
        free(private);
        return -ENOMEM;
    }
    worker->shared = shared;
    worker->private = private;
    private->worker = worker;
    SLIST_INIT(&private->listeners);
    sem_init(&private->reached, 0, 0);
    worker->view = export_view_new(set);
    err = worker->view != NULL ? begin(worker) : -ENOMEM;
    if (err < 0) {
        export_view_put(worker->view);
        worker_delete(worker);
        return err;
    }
    while (sem_wait(&private->reached) < 0 && errno == EINTR)
        continue;
    err = private->start_err;
    if (err < 0) {
        worker_free(worker);
        return err;
    }
    *out = worker;
    return 0;
}

void
worker_free(struct worker *worker)
{
    if (worker == NULL)
        return;
    if (worker->shared->driven)
        run_and_tear_down(worker);
    else
        pthread_join(worker->private->thread, NULL);
    worker_delete(worker);
}

uint32_t
worker_memory(struct worker *worker, struct buf *buf)
{
    if (buf->mark == 0 && buf->reused)
        buf->mark = engine_register(worker->engine, buf->data, buf->capacity);
    return buf->mark;
}

enum cred_mode
worker_cred_mode(const struct worker *worker)
{
    return worker->private->cred_mode;
}

const char *
worker_engine_name(const struct worker *worker)
{
    return engine_name(worker->engine);
}

bool
worker_polls(const struct worker *worker)
{
    return engine_polls(worker->engine);
}

int
worker_run_on(struct worker *worker, const uint16_t *list, size_t count)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    for (size_t i = 0; i < count; i++)
        CPU_SET(list[i], &cpus);
    return -pthread_setaffinity_np(worker->private->thread, sizeof(cpus), &cpus);
}

uint32_t
worker_connections(const struct worker *worker)
{
    return atomic_load_explicit(&worker->transport->connections, memory_order_relaxed);
}

static void
run_stop_listening(struct loop_message *message)
{
    struct worker_private *private =
        (struct worker_private *)((char *)message - offsetof(struct worker_private, stop_listening_message));

    close_listeners(private->worker);
    sem_post(&private->reached);
}

void
worker_stop_listening(struct worker *worker)
{
    struct worker_private *private = worker->private;

    private->stop_listening_message.run = run_stop_listening;
    loop_post(worker->transport->loop, &private->stop_listening_message);
    worker_wait(worker, &private->reached);
}

static void
drained(void *context)
{
    struct worker *worker = context;

    worker->private->stopping = true;
    engine_abandon(worker->engine);     /* whoever still waits for a thread asks the next server */
    end_if_idle(worker);
}

static void
run_stop(struct loop_message *message)
{
    struct worker_private *private =
        (struct worker_private *)((char *)message - offsetof(struct worker_private, stop_message));

    transport_drain(private->worker->transport, private->drain_ms, drained);
    delay_end(&private->worker->delays);
}

void
worker_stop(struct worker *worker, uint64_t timeout_ms)
{
    struct worker_private *private = worker->private;

    private->drain_ms = timeout_ms;
    private->stop_message.run = run_stop;
    loop_post(worker->transport->loop, &private->stop_message);
}
