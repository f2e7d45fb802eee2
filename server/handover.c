/* server/handover.c - see handover.h. */
#include "server/handover.h"

#include <errno.h>
#include <jansson.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <sys/time.h>
#include <unistd.h>

#include "server/channel.h"
#include "server/control_commands.h"
#include "server/notify.h"
#include "server/server_private.h"
#include "server/starter.h"
#include "server/takeover.h"

#define READY_MS 60000                  /* for the new server to open its exports and build itself */
#define SERVING_MS 20000                /* for it to take in what it is given, and then to go on to its control socket */
#define DRAIN_LEAST_MS 1000             /* for calls under way, be drain_timeout as short as it may */
#define FILES_MS 5000                   /* for the journal and the capture file to take the calls that are over */
#define ANSWER_S 5                      /* for whoever has asked to take the answer */
#define ERROR_MAX SERVER_ERROR_MAX

struct handover {
    struct server *server;
    int starter, parent;
    int event;
    pthread_mutex_t lock;
    pthread_t thread;
    bool started;                       /* there is a thread to be joined */
    bool stopped;
    int channel;                        /* -1: none is open */
    int answer;                         /* where the answer goes; the thread's */
    _Atomic bool busy, done;
};

static int
explain(int err, char *error, size_t error_size, const char *what)
{
    snprintf(error, error_size, "%s: %s", what, strerror(-err));
    return err;
}

int
handover_new(struct server *server, const struct server_process *process, struct handover **out)
{
    struct handover *handover = calloc(1, sizeof(*handover));

    if (handover == NULL)
        return -ENOMEM;
    handover->server = server;
    handover->starter = process->starter;
    handover->parent = process->parent;
    handover->channel = handover->answer = -1;
    handover->event = eventfd(0, EFD_CLOEXEC);
    if (handover->event < 0) {
        free(handover);
        return -errno;
    }
    pthread_mutex_init(&handover->lock, NULL);
    *out = handover;
    return 0;
}

static json_t *
pack_strings(const struct string_list *strings)
{
    json_t *list = json_array();

    for (size_t i = 0; i < strings->count; i++)
        json_array_append_new(list, json_string(strings->list[i]));
    return list;
}

static json_t *
pack_offer(struct server *server, const struct handover *handover, size_t nsockets)
{
    struct observer_files files;
    json_t *offer;

    observer_files(server->observer, &files);
    pthread_mutex_lock(&server->lock);
    offer = json_pack("{s:i, s:s, s:i, s:i, s:b, s:b, s:i, s:o, s:o, s:s, s:s, s:b}", "pid", (int)getpid(),
                      "state_dir", state_dir(server->state), "nfs_port", server->ports.nfs,
                      "mount_port", server->ports.mount, "registered", server->registered,
                      "parent", handover->parent >= 0, "sockets", (int)nsockets,
                      "added", pack_strings(&server->source.added), "removed", pack_strings(&server->source.removed),
                      "journal", files.journal.file != NULL ? files.journal.file : "",
                      "capture", files.capture.file != NULL ? files.capture.file : "", "whole_data", files.whole_data);
    pthread_mutex_unlock(&server->lock);
    return offer;
}

static int
make_offer_document(struct handover *handover, size_t nsockets)
{
    json_t *offer = pack_offer(handover->server, handover, nsockets);
    char *text = offer != NULL ? json_dumps(offer, JSON_COMPACT) : NULL;
    int fd = text != NULL ? document_new(TAKEOVER_OFFER, text, strlen(text)) : -ENOMEM;

    free(text);
    json_decref(offer);
    return fd;
}

static int
send_offer(struct handover *handover, int channel)
{
    struct server *server = handover->server;
    size_t nsockets = server->handed_sockets.count, used = 0;
    int *fds = calloc(nsockets + 6, sizeof(*fds)), err;
    struct observer_files files;

    if (fds == NULL)
        return -ENOMEM;
    fds[used++] = err = make_offer_document(handover, nsockets);
    if (err >= 0) {
        control_descriptors(server->control, &fds[used], &fds[used + 1]);
        used += 2;
        if (handover->parent >= 0)
            fds[used++] = handover->parent;
        observer_files(server->observer, &files);
        if (files.journal.fd >= 0)
            fds[used++] = files.journal.fd;
        if (files.capture.fd >= 0)
            fds[used++] = files.capture.fd;
        memcpy(fds + used, server->handed_sockets.fds, nsockets * sizeof(*fds));
        err = channel_send_many(channel, CHANNEL_OFFER, "", fds, used + nsockets);
        close(fds[0]);
    }
    free(fds);
    return err;
}

/* Wait for one kind of message; *pid: what it says. */
static int
expect(int channel, enum channel_kind kind, int timeout_ms, long *pid, char *error, size_t error_size)
{
    struct channel_message message;
    int err = channel_receive(channel, timeout_ms, &message);

    if (err == -EPIPE)
        snprintf(error, error_size, "the new server has ended before it served; its messages are in the log");
    else if (err == -ETIMEDOUT)
        snprintf(error, error_size, "the new server is not ready after %d s", timeout_ms / 1000);
    else if (err < 0)
        explain(err, error, error_size, "the new server");
    if (err < 0)
        return err;
    channel_drop(&message);
    *pid = strtol(message.text, NULL, 10);
    if (message.kind == kind)
        return 0;
    snprintf(error, error_size, "%s", message.kind == CHANNEL_REFUSED ? message.text
                                                                       : "the new server speaks another language");
    return -ECANCELED;
}

static void
thaw(struct server *server)
{
    for (unsigned i = 0; i < server->nworkers; i++)
        worker_thaw(server->workers[i]);
    worker_pause_listening(server->workers[0], false);
    control_hold(server->control, false);
}

/* No call is read any more, and all are answered; thaw() whatever comes of it. */
static int
freeze(struct server *server, struct handed_list *conns, char *error, size_t error_size)
{
    uint64_t timeout_ms;
    int err = 0, each;
    sem_t frozen;

    pthread_mutex_lock(&server->lock);
    timeout_ms = MAX(server->settings.drain_timeout * UINT64_C(1000), DRAIN_LEAST_MS);
    pthread_mutex_unlock(&server->lock);
    control_hold(server->control, true);
    worker_pause_listening(server->workers[0], true);
    sem_init(&frozen, 0, 0);
    for (unsigned i = 0; i < server->nworkers; i++)
        worker_freeze(server->workers[i], timeout_ms, &frozen);
    for (unsigned i = 0; i < server->nworkers; i++)
        while (sem_wait(&frozen) < 0 && errno == EINTR)
            continue;
    sem_destroy(&frozen);
    for (unsigned i = 0; i < server->nworkers; i++) {
        each = worker_frozen(server->workers[i], conns);
        err = err < 0 ? err : each;
    }
    if (err == -ETIMEDOUT)
        snprintf(error, error_size, "calls are still under way after %llu ms (drain_timeout)",
                 (unsigned long long)timeout_ms);
    else if (err < 0)
        explain(err, error, error_size, "the connections");
    return err;
}

/* The documents of a state: connections, and the replay cache where there is one. Returns how many, or -errno. */
static int
make_documents(struct server *server, const struct handed_list *conns, int fds[2])
{
    int err, used = 0;
    void *data;
    size_t len;

    err = handed_save(conns, &data, &len);
    if (err < 0)
        return err;
    fds[used] = err = document_new(TAKEOVER_CONNECTIONS, data, len);
    free(data);
    if (err < 0 || server->drc == NULL)
        return err < 0 ? err : 1;
    used++;
    err = drc_save(server->drc, &data, &len);
    if (err == 0) {
        fds[used] = err = document_new(TAKEOVER_REPLIES, data, len);
        free(data);
    }
    if (err < 0)
        close(fds[0]);
    return err < 0 ? err : 2;
}

static int
send_state(struct server *server, int channel, const struct handed_list *conns)
{
    int *fds = calloc(conns->count + 2, sizeof(*fds)), documents, err;
    char text[16];

    if (fds == NULL)
        return -ENOMEM;
    err = documents = make_documents(server, conns, fds);
    if (documents > 0) {
        for (size_t i = 0; i < conns->count; i++)
            fds[(size_t)documents + i] = conns->conns[i].fd;
        snprintf(text, sizeof(text), "%d", documents);
        err = channel_send_many(channel, CHANNEL_STATE, text, fds, (size_t)documents + conns->count);
        for (int i = 0; i < documents; i++)
            close(fds[i]);
    }
    free(fds);
    return err;
}

/* Tell the new server why not, and cut the channel. Returns true when it has said that it serves all the same. */
static bool
give_up(int channel, const char *why)
{
    struct channel_message message;
    bool serves = false;

    channel_send(channel, CHANNEL_REFUSED, why, NULL, 0);
    shutdown(channel, SHUT_RDWR);                        /* from here on nothing more can come, */
    while (!serves && channel_receive(channel, 0, &message) == 0) {     /* but it may be there already */
        serves = message.kind == CHANNEL_SERVING;
        channel_drop(&message);
    }
    return serves;
}

/* Until the new one has closed the channel its control socket may not answer. There is no way back any more. */
static void
see_off(int channel, const struct log *log)
{
    struct channel_message message;
    int err = channel_receive(channel, SERVING_MS, &message);

    if (err < 0)
        return;
    channel_drop(&message);
    log_error(log, "the new server has failed: %s", message.text);
}

/* Steps 2 and 3. */
static int
hand_over(struct server *server, int channel, char *error, size_t error_size)
{
    struct handed_list conns = { 0 };
    long pid;
    int err;

    mount_keeper_save(server->mount_keeper);             /* most of what there is, while calls are still answered */
    err = freeze(server, &conns, error, error_size);
    if (err == 0)
        err = observer_drain(server->observer, FILES_MS, error, error_size);
    if (err == 0) {
        mount_keeper_save(server->mount_keeper);
        err = send_state(server, channel, &conns);
        if (err == -EPIPE)                               /* why the new one has gone it may have said */
            err = 0;
        else if (err < 0)
            explain(err, error, error_size, "what the new server has to know");
    }
    handed_fini(&conns);
    if (err == 0)
        err = expect(channel, CHANNEL_SERVING, SERVING_MS, &pid, error, error_size);
    if (err < 0 && give_up(channel, error))
        err = 0;
    if (err < 0)
        thaw(server);
    else
        see_off(channel, &server->log);
    return err;
}

/* All steps. *pid: the new server's. */
static int
converse(struct handover *handover, int channel, long *pid, char *error, size_t error_size)
{
    int err = send_offer(handover, channel);

    if (err < 0 && err != -EPIPE)                        /* why the new one has gone it may have said */
        explain(err, error, error_size, "what the new server has to know");
    else
        err = expect(channel, CHANNEL_READY, READY_MS, pid, error, error_size);
    if (err < 0) {
        give_up(channel, error);
        return err;
    }
    return hand_over(handover->server, channel, error, error_size);
}

/* The channel is there for handover_stop() to interrupt. */
static int
open_channel(struct handover *handover, char *error, size_t error_size)
{
    int err;

    pthread_mutex_lock(&handover->lock);
    err = handover->stopped ? -ESHUTDOWN : starter_start(handover->starter, &handover->channel);
    pthread_mutex_unlock(&handover->lock);
    if (err == -EPIPE)
        snprintf(error, error_size, "the process that starts new servers (ringnfs-starter) is gone: stop and start it");
    else if (err < 0)
        explain(err, error, error_size, "a new server cannot be started");
    return err;
}

static void
close_channel(struct handover *handover)
{
    pthread_mutex_lock(&handover->lock);
    if (handover->channel >= 0)
        close(handover->channel);
    handover->channel = -1;
    pthread_mutex_unlock(&handover->lock);
}

static void
answer(struct handover *handover, char *line)
{
    const struct timeval longest = { .tv_sec = ANSWER_S };
    size_t len = line != NULL ? strlen(line) : 0, sent = 0;
    ssize_t n = 0;

    setsockopt(handover->answer, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
    for (; sent < len && n >= 0; sent += (size_t)MAX(n, 0))
        n = send(handover->answer, line + sent, len - sent, MSG_NOSIGNAL);
    free(line);
    close(handover->answer);
}

static void *
handover_main(void *arg)
{
    struct handover *handover = arg;
    const struct log *log = &handover->server->log;
    char error[ERROR_MAX] = "";
    long pid = 0;
    int err;

    if (sandbox_enter(handover->server->sandbox, SANDBOX_OPERATOR) < 0)
        abort();                        /* sandbox_new() has tried it */
    err = open_channel(handover, error, sizeof(error));
    if (err == 0)
        err = converse(handover, handover->channel, &pid, error, sizeof(error));
    close_channel(handover);
    if (err < 0)
        log_error(log, "not restarted, this server goes on: %s", error);
    else
        log_info(log, "process %ld has taken over", pid);
    if (err == 0 && notify_follower((pid_t)pid, error, sizeof(error)) < 0)
        log_warn(log, "%s", error);
    answer(handover, err < 0 ? control_refusal(error) : control_restarted(pid));
    atomic_store(&handover->done, err == 0);
    if (err < 0)
        atomic_store(&handover->busy, false);
    else
        eventfd_write(handover->event, 1);
    return NULL;
}

/* What is in memory alone would be lost; and a server that is paused answers no calls. */
static int
check_server(struct server *server, char *error, size_t error_size)
{
    struct exports *set = server_exports(server);
    int err = 0;

    pthread_mutex_lock(&server->lock);
    if (server->paused) {
        snprintf(error, error_size, "the server is paused: resume it first");
        err = -EOPNOTSUPP;
    }
    pthread_mutex_unlock(&server->lock);
    for (size_t i = 0; i < set->total && err == 0; i++) {
        if (!set->list[i].memory)
            continue;
        snprintf(error, error_size, "memory:%s would lose its files: a server with such exports is not restarted",
                 set->list[i].path);
        err = -EOPNOTSUPP;
    }
    exports_put(set);
    return err;
}

static int
start_thread(struct handover *handover, int fd, char *error, size_t error_size)
{
    sigset_t all, old;
    int err;

    if (handover->stopped || atomic_load(&handover->busy)) {
        snprintf(error, error_size, "%s", handover->stopped ? "the server is ending" : "a restart is under way");
        return -EALREADY;
    }
    if (handover->started)
        pthread_join(handover->thread, NULL);
    handover->answer = fd;
    atomic_store(&handover->busy, true);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = -pthread_create(&handover->thread, NULL, handover_main, handover);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    handover->started = err == 0;
    if (err < 0) {
        atomic_store(&handover->busy, false);
        return explain(err, error, error_size, "a thread");
    }
    return 0;
}

int
handover_begin(struct handover *handover, int fd, char *error, size_t error_size)
{
    int err;

    if (handover == NULL) {
        snprintf(error, error_size, "this server is not a process of its own");
        return -EOPNOTSUPP;
    }
    err = check_server(handover->server, error, error_size);
    if (err < 0)
        return err;
    pthread_mutex_lock(&handover->lock);
    err = start_thread(handover, fd, error, error_size);
    pthread_mutex_unlock(&handover->lock);
    return err;
}

bool
handover_is_busy(const struct handover *handover)
{
    return handover != NULL && atomic_load(&handover->busy);
}

int
handover_event(const struct handover *handover)
{
    return handover != NULL ? handover->event : -1;
}

bool
handover_is_done(const struct handover *handover)
{
    return handover != NULL && atomic_load(&handover->done);
}

void
handover_stop(struct handover *handover)
{
    if (handover == NULL)
        return;
    pthread_mutex_lock(&handover->lock);
    handover->stopped = true;
    if (handover->channel >= 0)
        shutdown(handover->channel, SHUT_RD);            /* it waits no longer, and can still say why */
    pthread_mutex_unlock(&handover->lock);
    if (handover->started)
        pthread_join(handover->thread, NULL);
    handover->started = false;
}

void
handover_free(struct handover *handover)
{
    if (handover == NULL)
        return;
    close(handover->event);
    pthread_mutex_destroy(&handover->lock);
    free(handover);
}
