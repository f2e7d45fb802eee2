/*
 * server/worker_post.c - the messages that others send to a worker: sockets for it to serve, orders to go by other exports
 * and limits, to pause, and to hand its connections over.
 */
#include "server/worker.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "rpc/listen.h"
#include "server/worker_private.h"

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
