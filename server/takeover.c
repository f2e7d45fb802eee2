/* server/takeover.c - see takeover.h. */
#include "server/takeover.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/channel.h"

#define OFFER_MS 20000                  /* for the old server to make its offer */
#define OFFER_BYTES_MAX ((size_t)256 << 20)             /* 1024 lines of 1 MiB at most are added; few are that long */
#define STATE_BYTES_MAX ((size_t)UINT32_MAX)
#define GONE_MS 1000                    /* between the end of a channel and that of a process which has died */
#define SOCKETS_MAX 65536
#define STRINGS_MAX 4096

/* All descriptors of a message and of those behind it. */
struct descriptors {
    int *fds;
    size_t count;
};

static void
drop_descriptors(struct descriptors *descriptors)
{
    for (size_t i = 0; i < descriptors->count; i++)
        if (descriptors->fds[i] >= 0)
            close(descriptors->fds[i]);
    free(descriptors->fds);
    *descriptors = (struct descriptors){ NULL, 0 };
}

static int
take_descriptors(struct descriptors *descriptors, struct channel_message *message)
{
    int *grown = reallocarray(descriptors->fds, descriptors->count + message->nfds + 1, sizeof(*grown));

    if (grown == NULL) {
        channel_drop(message);
        return -ENOMEM;
    }
    memcpy(grown + descriptors->count, message->fds, message->nfds * sizeof(*grown));
    descriptors->fds = grown;
    descriptors->count += message->nfds;
    message->nfds = 0;
    return 0;
}

/* Any descriptor, and -1 in its place. */
static int
take(struct descriptors *descriptors, size_t at)
{
    int fd = at < descriptors->count ? descriptors->fds[at] : -1;

    if (fd >= 0)
        descriptors->fds[at] = -1;
    return fd;
}

static int
tell(int err, const char *what, char *error, size_t error_size)
{
    const char *why = err == -EBADMSG ? "it is torn, or of another program"
                      : err == -EPROTO ? "it is of another version of ringnfs: stop the old server and start the new one"
                      : err == -EPIPE ? "it has gone away" : strerror(-err);

    snprintf(error, error_size, "%s: %s", what, why);
    return err;
}

/* A message of this kind; with another one -ECANCELED and error. */
static int
expect(struct takeover *takeover, enum channel_kind kind, int timeout_ms, struct channel_message *message, char *error,
       size_t error_size)
{
    int err = channel_receive(takeover->channel, timeout_ms, message);

    if (err < 0)
        return tell(err, "the old server", error, error_size);
    if (message->kind == kind)
        return 0;
    channel_drop(message);
    snprintf(error, error_size, "the old server: %s", message->kind == CHANNEL_REFUSED ? message->text : "not understood");
    return -ECANCELED;
}

/* Strings of an array, into strings[*used] and on. */
static bool
take_strings(struct takeover *takeover, const json_t *list, size_t *used, const char *const **where, size_t *count)
{
    const json_t *value;
    size_t i;

    *where = (const char *const *)takeover->strings + *used;
    json_array_foreach(list, i, value) {
        const char *text = json_string_value(value);
        char *copy = text != NULL && *used < STRINGS_MAX ? strdup(text) : NULL;

        if (copy == NULL)
            return false;
        takeover->strings[(*used)++] = copy;
        ++*count;
    }
    return true;
}

/* Returns how many sockets there are, or -errno. */
static int
read_offer(struct takeover *takeover, const json_t *offer)
{
    int pid, nfs_port, mount_port, registered, parent, sockets, whole;
    const char *dir, *journal, *capture;
    json_t *added, *removed;
    size_t used = 0;

    if (json_unpack((json_t *)(uintptr_t)offer, "{s:i, s:s, s:i, s:i, s:b, s:b, s:i, s:o, s:o, s:s, s:s, s:b}", "pid", &pid,
                    "state_dir", &dir, "nfs_port", &nfs_port, "mount_port", &mount_port, "registered", &registered,
                    "parent", &parent, "sockets", &sockets, "added", &added, "removed", &removed, "journal", &journal,
                    "capture", &capture, "whole_data", &whole) < 0)
        return -EBADMSG;
    if (pid <= 0 || nfs_port < 0 || nfs_port > UINT16_MAX || mount_port < 0 || mount_port > UINT16_MAX || sockets < 0 ||
        sockets > SOCKETS_MAX)
        return -EBADMSG;
    takeover->pid = pid;
    takeover->nfs_port = (uint16_t)nfs_port;
    takeover->mount_port = (uint16_t)mount_port;
    takeover->registered = registered;
    takeover->parent = parent ? 0 : -1;                  /* to come with the descriptors */
    takeover->files.whole_data = whole;
    if ((journal[0] != '\0' && (takeover->files.journal.file = strdup(journal)) == NULL) ||
        (capture[0] != '\0' && (takeover->files.capture.file = strdup(capture)) == NULL))
        return -ENOMEM;
    takeover->state_dir = strdup(dir);
    takeover->strings = calloc(STRINGS_MAX + 1, sizeof(*takeover->strings));
    if (takeover->state_dir == NULL || takeover->strings == NULL ||
        !take_strings(takeover, added, &used, &takeover->changes.added, &takeover->changes.nadded) ||
        !take_strings(takeover, removed, &used, &takeover->changes.removed, &takeover->changes.nremoved))
        return -ENOMEM;
    return sockets;
}

static int
read_offer_document(struct takeover *takeover, int fd)
{
    json_t *offer;
    void *data;
    size_t len;
    int err = document_read(fd, TAKEOVER_OFFER, OFFER_BYTES_MAX, &data, &len);

    if (err < 0)
        return err;
    offer = json_loadb(data, len, JSON_REJECT_DUPLICATES, NULL);
    free(data);
    err = offer != NULL ? read_offer(takeover, offer) : -EBADMSG;
    json_decref(offer);
    return err;
}

/* In the order of control_descriptors() and send_offer(). */
static int
place_descriptors(struct takeover *takeover, struct descriptors *got, bool parent, size_t sockets)
{
    size_t at = 1;

    takeover->lock_fd = take(got, at++);
    takeover->control_fd = take(got, at++);
    takeover->parent = parent ? take(got, at++) : -1;
    if (takeover->files.journal.file != NULL)
        takeover->files.journal.fd = take(got, at++);
    if (takeover->files.capture.file != NULL)
        takeover->files.capture.fd = take(got, at++);
    takeover->sockets = calloc(sockets + 1, sizeof(*takeover->sockets));
    if (takeover->sockets == NULL)
        return -ENOMEM;
    while (takeover->nsockets < sockets)
        takeover->sockets[takeover->nsockets++] = take(got, at++);
    return 0;
}

/* The first message says how many descriptors there are; the others bring the rest of them. */
static int
take_offer(struct takeover *takeover, struct descriptors *got, char *error, size_t error_size)
{
    struct channel_message message;
    int err = expect(takeover, CHANNEL_OFFER, OFFER_MS, &message, error, error_size), sockets;
    size_t wanted;
    bool parent;

    if (err < 0)
        return err;
    err = take_descriptors(got, &message);
    sockets = err == 0 ? read_offer_document(takeover, got->count > 0 ? got->fds[0] : -1) : err;
    if (sockets < 0)
        return tell(sockets, "the old server's offer", error, error_size);
    parent = takeover->parent >= 0;
    takeover->parent = -1;
    wanted = 3 + (size_t)parent + (takeover->files.journal.file != NULL) + (takeover->files.capture.file != NULL);
    while (got->count < wanted + (size_t)sockets) {
        err = expect(takeover, CHANNEL_MORE, OFFER_MS, &message, error, error_size);
        if (err < 0)
            return err;
        if (message.nfds == 0)
            return tell(-EBADMSG, "the old server's offer", error, error_size);
        err = take_descriptors(got, &message);
        if (err < 0)
            return tell(err, "the old server's offer", error, error_size);
    }
    err = place_descriptors(takeover, got, parent, (size_t)sockets);
    return err < 0 ? tell(err, "the old server's offer", error, error_size) : 0;
}

int
takeover_new(int channel, struct takeover **out, char *error, size_t error_size)
{
    struct takeover *takeover = calloc(1, sizeof(*takeover));
    struct descriptors got = { NULL, 0 };
    int err;

    if (takeover == NULL) {
        close(channel);
        return tell(-ENOMEM, "the old server", error, error_size);
    }
    takeover->channel = channel;
    takeover->old = takeover->lock_fd = takeover->control_fd = takeover->parent = -1;
    takeover->files.journal.fd = takeover->files.capture.fd = -1;
    err = take_offer(takeover, &got, error, error_size);
    drop_descriptors(&got);
    if (err < 0) {
        takeover_free(takeover, error);
        return err;
    }
    takeover->old = (int)syscall(SYS_pidfd_open, (pid_t)takeover->pid, 0);
    if (takeover->old < 0)
        takeover->old = -errno;
    *out = takeover;
    return 0;
}

/* Whether the old server has died: one that only cuts the channel goes on serving. */
static bool
is_dead(const struct takeover *takeover)
{
    struct pollfd ready = { .fd = takeover->old, .events = POLLIN };

    return takeover->old == -ESRCH || (takeover->old >= 0 && poll(&ready, 1, GONE_MS) > 0);
}

static int
load_replies(struct drc *drc, int fd)
{
    void *data;
    size_t len;
    int err = document_read(fd, TAKEOVER_REPLIES, STATE_BYTES_MAX, &data, &len);

    if (err < 0)
        return err;
    err = drc_load(drc, data, len);
    free(data);
    return err;
}

static int
load_connections(struct handed_list *conns, int fd)
{
    void *data;
    size_t len;
    int err = document_read(fd, TAKEOVER_CONNECTIONS, STATE_BYTES_MAX, &data, &len);

    if (err < 0)
        return err;
    err = handed_load(conns, data, len);
    free(data);
    return err;
}

/* What the message with the state says, and the connections' descriptors out of those behind it. */
static int
take_state(struct takeover *takeover, struct descriptors *got, struct drc *drc, struct handed_list *conns, char *error,
           size_t error_size)
{
    struct channel_message message;
    int err = expect(takeover, CHANNEL_STATE, -1, &message, error, error_size);     /* drain_timeout is the old one's */
    size_t documents;

    if (err < 0)
        return err;
    documents = strtoul(message.text, NULL, 10);
    err = take_descriptors(got, &message);
    if (err == 0 && (documents < 1 || documents > 2 || got->count < documents))
        err = -EBADMSG;
    if (err == 0)
        err = load_connections(conns, got->fds[0]);
    if (err < 0)
        return tell(err, "the old server's connections", error, error_size);
    if (documents == 2 && drc != NULL)
        err = load_replies(drc, got->fds[1]);
    if (err < 0)
        return tell(err, "the old server's replay cache", error, error_size);
    while (got->count < documents + conns->count) {
        err = expect(takeover, CHANNEL_MORE, -1, &message, error, error_size);
        if (err < 0)
            return err;
        err = message.nfds > 0 ? take_descriptors(got, &message) : -EBADMSG;
        if (err < 0)
            return tell(err, "the old server's connections", error, error_size);
    }
    for (size_t i = 0; i < conns->count; i++)
        conns->conns[i].fd = take(got, documents + i);
    return 0;
}

int
takeover_finish(struct takeover *takeover, struct drc *drc, struct handed_list *conns, const struct log *log, char *error,
                size_t error_size)
{
    struct descriptors got = { NULL, 0 };
    char pid[32];
    int err;

    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    err = channel_send(takeover->channel, CHANNEL_READY, pid, NULL, 0);
    if (err == 0 || err == -EPIPE)                       /* why it has gone it may have said */
        err = take_state(takeover, &got, drc, conns, error, error_size);
    else
        tell(err, "the old server", error, error_size);
    drop_descriptors(&got);
    if (err != -EPIPE || !is_dead(takeover))
        return err;
    handed_fini(conns);
    log_warn(log, "process %ld has died while it was handing over: calls that are sent again may be done again",
             takeover->pid);
    return 0;
}

int
takeover_serve(struct takeover *takeover, char *error, size_t error_size)
{
    struct channel_message message;
    int err = channel_send(takeover->channel, CHANNEL_SERVING, "", NULL, 0);

    if (err == 0 || (err == -EPIPE && is_dead(takeover)))
        return 0;
    tell(err, "the old server goes on", error, error_size);
    if (channel_receive(takeover->channel, 0, &message) == 0) {
        channel_drop(&message);
        if (message.kind == CHANNEL_REFUSED)
            snprintf(error, error_size, "the old server: %s", message.text);
    }
    return err;
}

static void
close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

void
takeover_free(struct takeover *takeover, const char *why)
{
    if (takeover == NULL)
        return;
    if (why != NULL)
        takeover_refuse(takeover->channel, why);
    close_one(takeover->channel);
    close_one(takeover->old);
    close_one(takeover->lock_fd);
    close_one(takeover->control_fd);
    close_one(takeover->parent);
    close_one(takeover->files.journal.fd);
    close_one(takeover->files.capture.fd);
    free((void *)(uintptr_t)takeover->files.journal.file);
    free((void *)(uintptr_t)takeover->files.capture.file);
    for (size_t i = 0; i < takeover->nsockets; i++)
        close_one(takeover->sockets[i]);
    for (size_t i = 0; takeover->strings != NULL && i < STRINGS_MAX; i++)
        free(takeover->strings[i]);
    free(takeover->strings);
    free(takeover->sockets);
    free(takeover->state_dir);
    free(takeover);
}

void
takeover_refuse(int channel, const char *why)
{
    char line[CHANNEL_TEXT_MAX];

    snprintf(line, sizeof(line), "%s", why);
    for (char *end = strchr(line, '\n'); end != NULL; end = strchr(end, '\n'))
        *end = end[1] != '\0' ? ';' : '\0';
    channel_send(channel, CHANNEL_REFUSED, line, NULL, 0);
}
