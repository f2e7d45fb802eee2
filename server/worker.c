/*
 * server/worker.c - the thread of an event worker, and the messages that others send to it.
 */
#include "server/worker.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include "rpc/listen.h"
#include "server/sandbox.h"

struct worker_listener {
    struct listener *listener;
    SLIST_ENTRY(worker_listener) next;
};

struct worker_private {
    pthread_t thread;
    sem_t reached;                      /* the thread has done what its maker waits for */
    int start_err;
    enum cred_mode cred_mode;
    struct loop_fd engine_watch;
    struct loop_timer log_timer;
    SLIST_HEAD(, worker_listener) listeners;
    struct loop_message stop_listening_message;
    struct loop_message stop_message;
    struct loop_message pause_message, reset_message;
    bool pause;
    struct loop_message listening_message;  /* posted and waited for by one at a time, like the next two */
    bool pause_listening;
    struct loop_message freeze_message;
    struct loop_message thaw_message;
    sem_t *frozen;
    int freeze_err;
    struct handed_list connections;     /* copied when it froze */
    struct worker *worker;
    uint64_t drain_ms;
    bool stopping;                      /* drained, or no longer willing to wait for the last replies */
};

/* A message with a descriptor. */
struct fd_message {
    struct loop_message message;        /* first */
    struct worker *worker;
    int fd;
};

struct restore_message {
    struct loop_message message;        /* first */
    struct worker *worker;
    struct handed_conn from;
};

struct listen_message {
    struct loop_message message;        /* first */
    struct worker *worker;
    struct worker_listener *listener;
    int fd;
    void (*accepted)(void *context, int fd);
    void *context;
};

struct retune_message {
    struct loop_message message;        /* first */
    struct worker *worker;
};

struct worker_reload {
    struct loop_message message;        /* first */
    struct worker *worker;
    struct export_view *view;
    sem_t *applied;
};

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
post_fd(struct worker *worker, int fd, void (*run)(struct loop_message *message))
{
    struct fd_message *message = malloc(sizeof(*message));

    if (message == NULL) {
        close(fd);
        return;
    }
    message->message.run = run;
    message->worker = worker;
    message->fd = fd;
    loop_post(worker->transport->loop, &message->message);
}

static void
run_add_connection(struct loop_message *message)
{
    struct fd_message *add = (struct fd_message *)message;

    transport_add_connection(add->worker->transport, add->fd);
    free(add);
}

void
worker_add_connection(struct worker *worker, int fd)
{
    post_fd(worker, fd, run_add_connection);
}

static void
run_restore_connection(struct loop_message *message)
{
    struct restore_message *restore = (struct restore_message *)message;

    transport_restore_connection(restore->worker->transport, &restore->from);
    free(restore->from.in);
    free(restore->from.out);
    free(restore);
}

int
worker_restore_connection(struct worker *worker, struct handed_conn *from)
{
    struct restore_message *message = malloc(sizeof(*message));

    if (message == NULL)
        return -ENOMEM;
    *message = (struct restore_message){
        .message = { .run = run_restore_connection }, .worker = worker, .from = *from,
    };
    *from = (struct handed_conn){ .fd = -1 };
    loop_post(worker->transport->loop, &message->message);
    return 0;
}

static void
run_add_datagram(struct loop_message *message)
{
    struct fd_message *add = (struct fd_message *)message;
    int err = transport_add_datagram(add->worker->transport, add->fd);

    if (err < 0)
        log_error(add->worker->shared->log, "a UDP socket cannot be served: error %d", -err);
    free(add);
}

void
worker_add_datagram(struct worker *worker, int fd)
{
    post_fd(worker, fd, run_add_datagram);
}

static void
run_listen(struct loop_message *message)
{
    struct listen_message *listen = (struct listen_message *)message;
    struct worker *worker = listen->worker;
    int err = listener_new(worker->transport->loop, listen->fd, listen->accepted, listen->context,
                           &listen->listener->listener);

    if (err == 0) {
        SLIST_INSERT_HEAD(&worker->private->listeners, listen->listener, next);
    } else {
        log_error(worker->shared->log, "a TCP socket cannot be listened on: error %d", -err);
        free(listen->listener);
        close(listen->fd);
    }
    free(listen);
}

int
worker_listen(struct worker *worker, int fd, void (*accepted)(void *context, int fd), void *context)
{
    struct listen_message *message = malloc(sizeof(*message));
    struct worker_listener *listener = malloc(sizeof(*listener));

    if (message == NULL || listener == NULL) {
        free(message);
        free(listener);
        close(fd);
        return -ENOMEM;
    }
    *message = (struct listen_message){
        .message = { .run = run_listen },
        .worker = worker,
        .listener = listener,
        .fd = fd,
        .accepted = accepted,
        .context = context,
    };
    loop_post(worker->transport->loop, &message->message);
    return 0;
}

struct worker_reload *
worker_reload_new(struct exports *set)
{
    struct worker_reload *reload = malloc(sizeof(*reload));

    if (reload == NULL)
        return NULL;
    reload->view = export_view_new(set);
    if (reload->view == NULL) {
        free(reload);
        return NULL;
    }
    return reload;
}

void
worker_reload_free(struct worker_reload *reload)
{
    if (reload == NULL)
        return;
    export_view_put(reload->view);
    free(reload);
}

static void
run_reload(struct loop_message *message)
{
    struct worker_reload *reload = (struct worker_reload *)message;

    export_view_put(reload->worker->view);
    reload->worker->view = reload->view;
    delay_release(&reload->worker->delays);             /* there may be other limits now */
    sem_post(reload->applied);
    free(reload);
}

void
worker_reload(struct worker *worker, struct worker_reload *reload, sem_t *applied)
{
    reload->message.run = run_reload;
    reload->worker = worker;
    reload->applied = applied;
    loop_post(worker->transport->loop, &reload->message);
}

static void
run_retune(struct loop_message *message)
{
    struct retune_message *retune = (struct retune_message *)message;

    transport_retune(retune->worker->transport);
    free(retune);
}

int
worker_retune(struct worker *worker)
{
    struct retune_message *retune = malloc(sizeof(*retune));

    if (retune == NULL)
        return -ENOMEM;
    retune->message.run = run_retune;
    retune->worker = worker;
    loop_post(worker->transport->loop, &retune->message);
    return 0;
}

static void
run_pause_listening(struct loop_message *message)
{
    struct worker_private *private =
        (struct worker_private *)((char *)message - offsetof(struct worker_private, listening_message));
    struct worker_listener *listener;

    SLIST_FOREACH(listener, &private->listeners, next)
        listener_pause(listener->listener, private->pause_listening);
    sem_post(&private->reached);
}

void
worker_pause_listening(struct worker *worker, bool pause)
{
    struct worker_private *private = worker->private;

    private->pause_listening = pause;
    private->listening_message.run = run_pause_listening;
    loop_post(worker->transport->loop, &private->listening_message);
    worker_wait(worker, &private->reached);
}

static void
frozen(void *context, int err)
{
    struct worker *worker = context;
    struct worker_private *private = worker->private;

    private->freeze_err = err;
    if (err == 0)
        private->freeze_err = transport_copy_connections(worker->transport, &private->connections);
    sem_post(private->frozen);
}

static void
run_freeze(struct loop_message *message)
{
    struct worker_private *private =
        (struct worker_private *)((char *)message - offsetof(struct worker_private, freeze_message));

    transport_freeze(private->worker->transport, private->drain_ms, frozen);
    delay_end(&private->worker->delays);
}

void
worker_freeze(struct worker *worker, uint64_t timeout_ms, sem_t *posted)
{
    struct worker_private *private = worker->private;

    private->drain_ms = timeout_ms;
    private->frozen = posted;
    private->freeze_message.run = run_freeze;
    loop_post(worker->transport->loop, &private->freeze_message);
}

int
worker_frozen(struct worker *worker, struct handed_list *list)
{
    struct handed_list *mine = &worker->private->connections;
    int err = worker->private->freeze_err;

    for (size_t i = 0; i < mine->count && err == 0; i++) {
        struct handed_conn *conn = handed_add(list);

        if (conn == NULL) {
            err = -ENOMEM;
        } else {
            *conn = mine->conns[i];
            mine->conns[i] = (struct handed_conn){ .fd = -1 };
        }
    }
    handed_fini(mine);
    return err;
}

static void
run_thaw(struct loop_message *message)
{
    struct worker_private *private =
        (struct worker_private *)((char *)message - offsetof(struct worker_private, thaw_message));

    delay_resume(&private->worker->delays);
    transport_thaw(private->worker->transport);
}

void
worker_thaw(struct worker *worker)
{
    struct worker_private *private = worker->private;

    private->thaw_message.run = run_thaw;
    loop_post(worker->transport->loop, &private->thaw_message);
}

static void
run_pause(struct loop_message *message)
{
    struct worker_private *private =
        (struct worker_private *)((char *)message - offsetof(struct worker_private, pause_message));
    struct worker_listener *listener;

    SLIST_FOREACH(listener, &private->listeners, next)
        listener_pause(listener->listener, private->pause);
    transport_pause(private->worker->transport, private->pause);
    sem_post(&private->reached);
}

void
worker_pause(struct worker *worker, bool pause)
{
    struct worker_private *private = worker->private;

    private->pause = pause;
    private->pause_message.run = run_pause;
    loop_post(worker->transport->loop, &private->pause_message);
    worker_wait(worker, &private->reached);
}

static void
run_reset(struct loop_message *message)
{
    struct worker_private *private =
        (struct worker_private *)((char *)message - offsetof(struct worker_private, reset_message));

    transport_reset(private->worker->transport);
    sem_post(&private->reached);
}

void
worker_reset(struct worker *worker)
{
    struct worker_private *private = worker->private;

    private->reset_message.run = run_reset;
    loop_post(worker->transport->loop, &private->reset_message);
    worker_wait(worker, &private->reached);
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
