/*
 * server/recorder.c - see recorder.h.
 *
 * The queue is a ring of bytes. A record lies there in one piece: what does not fit before the end of the ring begins at
 * its start. The thread works on the oldest record where it lies, and then makes room.
 */
#include "server/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/sandbox.h"

#define ALIGN 16u
#define WRITE_BYTES ((size_t)256 << 10) /* written at once, while there is more */
#define SHOWN_MAX 256                   /* bytes of a file's name that are shown */

struct record {
    size_t bytes;                       /* with this; 0: the ring goes on at its start */
    uint64_t lost;                      /* calls that found no room before it */
    struct ringnfs_call seen;           /* pointers are to be set anew */
    struct sockaddr_storage client, server;
    size_t path_bytes, to_path_bytes;   /* with their ends; 0: none */
};

struct recorder {
    const struct recorder_format *format;
    void *context;
    const struct log *log;
    const struct sandbox *sandbox;
    char *file;
    int fd;
    off_t good;                         /* bytes of the file that are whole */
    bool follows;                       /* what another process has written is not counted yet */
    bool failing;                       /* the disk does not take anything; told once */
    uint64_t unwritten;                 /* calls that it has not taken, and the file has not been told of */
    uint64_t unwritten_ever;
    pthread_t thread;
    struct recorder_bytes out;
    uint64_t calls_in_out;              /* calls that are in it, */
    uint64_t told_in_out;               /* and those that it tells are lost */

    pthread_mutex_t lock;               /* for the rest */
    pthread_cond_t wake, drained;
    uint8_t *ring;
    size_t size, head, used;            /* head: where the next record goes */
    uint64_t lost, lost_ever;
    bool waits, drains, ends;
    bool drained_all;                   /* the disk has taken it, the last time that somebody waited for that */
};

uint8_t *
recorder_room(struct recorder_bytes *bytes, size_t n)
{
    if (bytes->size - bytes->len < n) {
        size_t size = MAX(2 * bytes->size, roundup(bytes->len + n, WRITE_BYTES));
        uint8_t *grown = realloc(bytes->data, size);

        if (grown == NULL) {
            bytes->err = -ENOMEM;
            return NULL;
        }
        bytes->data = grown;
        bytes->size = size;
    }
    bytes->len += n;
    return bytes->data + bytes->len - n;
}

void
recorder_add(struct recorder_bytes *bytes, const void *data, size_t n)
{
    uint8_t *p = recorder_room(bytes, n);

    if (p != NULL && n > 0)
        memcpy(p, data, n);
}

/* ---- The queue ---- */

static void *
copy(uint8_t **at, const void *data, size_t len)
{
    uint8_t *p = *at;

    if (len > 0)
        memcpy(p, data, len);
    *at += roundup(len, sizeof(uint64_t));
    return p;
}

static size_t
text_bytes(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static size_t
record_bytes(const struct ringnfs_call *seen)
{
    const size_t parts[] = { seen->ngroups * sizeof(uint32_t), seen->machine_len, text_bytes(seen->path),
                             text_bytes(seen->to_path), seen->arguments_len, seen->results_len };
    size_t bytes = sizeof(struct record);

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        bytes += roundup(parts[i], sizeof(uint64_t));
    return roundup(bytes, ALIGN);
}

static void
copy_address(struct sockaddr_storage *to, const struct sockaddr *from)
{
    memset(to, 0, sizeof(*to));
    memcpy(to, from, from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
}

/* The parts lie behind the record, in this order. */
static void
fill(struct record *record, size_t bytes, const struct ringnfs_call *seen)
{
    uint8_t *at = (uint8_t *)(record + 1);

    record->bytes = bytes;
    record->seen = *seen;
    record->path_bytes = text_bytes(seen->path);
    record->to_path_bytes = text_bytes(seen->to_path);
    copy_address(&record->client, seen->client);
    copy_address(&record->server, seen->server);
    copy(&at, seen->groups, seen->ngroups * sizeof(uint32_t));
    copy(&at, seen->machine, seen->machine_len);
    copy(&at, seen->path, record->path_bytes);
    copy(&at, seen->to_path, record->to_path_bytes);
    copy(&at, seen->arguments, seen->arguments_len);
    copy(&at, seen->results, seen->results_len);
}

static const void *
part(const uint8_t **at, size_t len)
{
    const uint8_t *p = *at;

    *at += roundup(len, sizeof(uint64_t));
    return len > 0 ? p : NULL;
}

/* What was decoded is not kept: a format decodes what it needs. */
static void
point(struct record *record)
{
    struct ringnfs_call *seen = &record->seen;
    const uint8_t *at = (const uint8_t *)(record + 1);

    seen->client = (const struct sockaddr *)&record->client;
    seen->server = (const struct sockaddr *)&record->server;
    seen->groups = part(&at, seen->ngroups * sizeof(uint32_t));
    seen->machine = part(&at, seen->machine_len);
    seen->path = part(&at, record->path_bytes);
    seen->to_path = part(&at, record->to_path_bytes);
    seen->arguments = part(&at, seen->arguments_len);
    seen->results = part(&at, seen->results_len);
    seen->handle = seen->to_handle = seen->data = NULL;
    seen->file = seen->to_file = NULL;
}

/* Room in one piece; NULL when there is none. */
static struct record *
reserve(struct recorder *recorder, size_t bytes)
{
    size_t to_end = recorder->size - recorder->head;
    struct record *record;

    if (bytes > to_end) {
        if (bytes + to_end > recorder->size - recorder->used)
            return NULL;
        ((struct record *)(recorder->ring + recorder->head))->bytes = 0;
        recorder->used += to_end;
        recorder->head = 0;
    } else if (bytes > recorder->size - recorder->used) {
        return NULL;
    }
    record = (struct record *)(recorder->ring + recorder->head);
    recorder->used += bytes;
    recorder->head = (recorder->head + bytes) % recorder->size;
    return record;
}

void
recorder_put(struct recorder *recorder, const struct ringnfs_call *seen)
{
    size_t bytes = record_bytes(seen);
    struct record *record;
    bool wake = false;

    pthread_mutex_lock(&recorder->lock);
    record = reserve(recorder, bytes);
    if (record == NULL) {
        recorder->lost++;
        recorder->lost_ever++;
    } else {
        fill(record, bytes, seen);
        record->lost = recorder->lost;
        recorder->lost = 0;
        wake = recorder->waits;
    }
    pthread_mutex_unlock(&recorder->lock);
    if (wake)
        pthread_cond_signal(&recorder->wake);
}

/* ---- The thread ---- */

static int
write_all(int fd, const uint8_t *data, size_t len, off_t at)
{
    while (len > 0) {
        ssize_t n = pwrite(fd, data, len, at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        data += n;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Where calls go: behind what the other process has written. */
static int
find_end(struct recorder *recorder)
{
    struct stat st;

    if (!recorder->follows)
        return 0;
    if (fstat(recorder->fd, &st) < 0)
        return -errno;
    recorder->good = st.st_size;
    recorder->follows = false;
    return 0;
}

/* What is not taken as a whole is not in the file at all: half a line would spoil the next one. */
static void
flush(struct recorder *recorder)
{
    struct recorder_bytes *out = &recorder->out;
    int err = out->err;

    if (err == 0 && out->len > 0)
        err = find_end(recorder);
    if (err == 0)
        err = write_all(recorder->fd, out->data, out->len, recorder->good);
    if (err == 0) {
        recorder->good += (off_t)out->len;
        recorder->failing = recorder->failing && out->len == 0;
    } else {
        if (!recorder->failing)
            log_warn(recorder->log, "the %s %s: %s; calls are lost there", recorder->format->name, recorder->file,
                     strerror(-err));
        recorder->failing = true;
        recorder->unwritten += recorder->calls_in_out + recorder->told_in_out;
        recorder->unwritten_ever += recorder->calls_in_out;
        if (!recorder->follows && ftruncate(recorder->fd, recorder->good) < 0)
            recorder->failing = true;   /* then what comes next lies over it */
    }
    out->len = 0;
    out->err = 0;
    recorder->calls_in_out = recorder->told_in_out = 0;
}

static void
write_record(struct recorder *recorder, struct record *record)
{
    uint64_t lost = record->lost + recorder->unwritten;

    point(record);
    if (lost > 0)
        recorder->format->lost(recorder->context, &recorder->out, lost);
    recorder->calls_in_out++;
    recorder->told_in_out += lost;
    recorder->unwritten = 0;
    recorder->format->call(recorder->context, &recorder->out, &record->seen);
    if (recorder->out.len >= WRITE_BYTES)
        flush(recorder);
}

/* Write all that there is to be told; the queue is empty. */
static void
catch_up(struct recorder *recorder, uint64_t lost)
{
    recorder->unwritten += lost;
    if (recorder->unwritten > 0) {
        recorder->format->lost(recorder->context, &recorder->out, recorder->unwritten);
        recorder->told_in_out += recorder->unwritten;
        recorder->unwritten = 0;
    }
    flush(recorder);
}

/* Somebody waits until nothing is left to be written; with the lock. */
static void
drain(struct recorder *recorder)
{
    uint64_t lost = recorder->lost;

    recorder->lost = 0;
    pthread_mutex_unlock(&recorder->lock);
    catch_up(recorder, lost);
    pthread_mutex_lock(&recorder->lock);
    recorder->drains = recorder->used > 0 || recorder->lost > 0;
    recorder->drained_all = !recorder->failing;
    pthread_cond_broadcast(&recorder->drained);
}

/* The oldest record; NULL: there is none, and there will be none. With the lock. */
static struct record *
next_record(struct recorder *recorder)
{
    size_t tail;
    struct record *record;

    while (recorder->used == 0 && !recorder->ends) {
        if (recorder->drains) {
            drain(recorder);
            continue;
        }
        pthread_mutex_unlock(&recorder->lock);
        flush(recorder);
        pthread_mutex_lock(&recorder->lock);
        recorder->waits = true;
        if (recorder->used == 0 && !recorder->ends && !recorder->drains)
            pthread_cond_wait(&recorder->wake, &recorder->lock);
        recorder->waits = false;
    }
    if (recorder->used == 0)
        return NULL;
    tail = (recorder->head + recorder->size - recorder->used) % recorder->size;
    record = (struct record *)(recorder->ring + tail);
    if (record->bytes == 0) {
        recorder->used -= recorder->size - tail;
        record = (struct record *)recorder->ring;
    }
    return record;
}

static void *
run(void *arg)
{
    struct recorder *recorder = arg;
    struct record *record;

    if (sandbox_enter(recorder->sandbox, SANDBOX_WRITER) < 0)
        abort();                        /* sandbox_new() has tried it */
    if (!recorder->follows)
        recorder->format->begin(recorder->context, &recorder->out);
    pthread_mutex_lock(&recorder->lock);
    while ((record = next_record(recorder)) != NULL) {
        pthread_mutex_unlock(&recorder->lock);
        write_record(recorder, record);
        pthread_mutex_lock(&recorder->lock);
        recorder->used -= record->bytes;
    }
    pthread_mutex_unlock(&recorder->lock);
    catch_up(recorder, recorder->lost);                  /* nobody puts anything in any more */
    return NULL;
}

static int
fail(struct recorder *recorder, int err, const char *what, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];

    snprintf(error, error_size, "%s %s: %s", recorder->format->name,
             log_quote(shown, sizeof(shown), recorder->file, strlen(recorder->file)), what != NULL ? what : strerror(-err));
    return err;
}

static int
open_file(struct recorder *recorder, char *error, size_t error_size)
{
    struct stat st;

    if (recorder->follows)
        return 0;
    recorder->fd = open(recorder->file, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (recorder->fd < 0)
        return fail(recorder, -errno, NULL, error, error_size);
    if (fstat(recorder->fd, &st) < 0 || !S_ISREG(st.st_mode))
        return fail(recorder, -EINVAL, "this is no regular file", error, error_size);
    return ftruncate(recorder->fd, 0) < 0 ? fail(recorder, -errno, NULL, error, error_size) : 0;
}

static void
discard(struct recorder *recorder)
{
    if (recorder->fd >= 0)
        close(recorder->fd);
    recorder->format->free(recorder->context);
    pthread_mutex_destroy(&recorder->lock);
    pthread_cond_destroy(&recorder->wake);
    pthread_cond_destroy(&recorder->drained);
    free(recorder->out.data);
    free(recorder->ring);
    free(recorder->file);
    free(recorder);
}

static int
start_thread(struct recorder *recorder)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = -pthread_create(&recorder->thread, NULL, run, recorder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

static void
init_locks(struct recorder *recorder)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_cond_init(&recorder->wake, NULL);
    pthread_cond_init(&recorder->drained, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int
recorder_new(const struct recorder_config *config, struct recorder **out, char *error, size_t error_size)
{
    struct recorder *recorder = calloc(1, sizeof(*recorder));
    int err;

    if (recorder == NULL) {
        if (config->follows)
            close(config->fd);
        config->format->free(config->context);
        snprintf(error, error_size, "%s: out of memory", config->format->name);
        return -ENOMEM;
    }
    recorder->format = config->format;
    recorder->context = config->context;
    recorder->log = config->log;
    recorder->sandbox = config->sandbox;
    recorder->follows = config->follows;
    recorder->fd = config->follows ? config->fd : -1;
    recorder->size = roundup(config->queue_bytes, ALIGN);
    init_locks(recorder);
    recorder->file = strdup(config->file);
    recorder->ring = malloc(recorder->size);
    if (recorder->file == NULL || recorder->ring == NULL) {
        snprintf(error, error_size, "%s: out of memory", config->format->name);
        err = -ENOMEM;
    } else {
        err = open_file(recorder, error, error_size);
        if (err == 0 && (err = start_thread(recorder)) < 0)
            fail(recorder, err, NULL, error, error_size);
    }
    if (err < 0)
        discard(recorder);
    else
        *out = recorder;
    return err;
}

int
recorder_drain(struct recorder *recorder, uint64_t timeout_ms, char *error, size_t error_size)
{
    struct timespec until;
    bool all;
    int err = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(timeout_ms / 1000);
    pthread_mutex_lock(&recorder->lock);
    recorder->drains = true;
    pthread_cond_signal(&recorder->wake);
    while (recorder->drains && err == 0)
        err = -pthread_cond_timedwait(&recorder->drained, &recorder->lock, &until);
    all = recorder->drained_all;
    recorder->drains = false;
    pthread_mutex_unlock(&recorder->lock);
    if (err < 0)
        return fail(recorder, err, NULL, error, error_size);
    return all ? 0 : fail(recorder, -EIO, "its disk takes no calls; close it first", error, error_size);
}

int
recorder_fd(const struct recorder *recorder)
{
    return recorder->fd;
}

const char *
recorder_file(const struct recorder *recorder)
{
    return recorder->file;
}

uint64_t
recorder_free(struct recorder *recorder)
{
    uint64_t lost;

    if (recorder == NULL)
        return 0;
    pthread_mutex_lock(&recorder->lock);
    recorder->ends = true;
    pthread_mutex_unlock(&recorder->lock);
    pthread_cond_signal(&recorder->wake);
    pthread_join(recorder->thread, NULL);
    lost = recorder->lost_ever + recorder->unwritten_ever;
    discard(recorder);
    return lost;
}
