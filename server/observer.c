/*
 * server/observer.c - see observer.h.
 *
 * Calls that end come one after the other, under a lock: they get their numbers, paths are learnt in their order, and the
 * files have them in this order, too. A hook is called without it.
 */
#include "server/observer.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/capture.h"
#include "server/journal.h"
#include "server/recent.h"
#include "server/recorder.h"
#include "server/seen.h"
#include "server/seen_names.h"

struct observer {
    struct observer_config config;
    _Atomic uint64_t ended;             /* calls; raised with the lock */
    pthread_mutex_t lock;               /* for the rest */
    struct seen_names *names;
    struct recorder *journal, *capture; /* NULL: not open */
    bool whole_data;                    /* the journal has it */
    struct recent *recent;              /* NULL: no calls are kept */
};

/* The paths of a call, which the structure then points to. */
struct paths {
    char path[SEEN_PATH_MAX], to_path[SEEN_PATH_MAX];
};

static void
find_paths(const struct seen_names *names, struct ringnfs_call *seen, struct paths *paths)
{
    if (seen->handle != NULL) {
        seen->path = seen_names_path(names, seen->handle, seen->handle_len, seen->file, seen->file_len, paths->path);
    } else if (seen->file != NULL && seen->file_len < sizeof(paths->path)) {    /* MNT and UMNT name one */
        memcpy(paths->path, seen->file, seen->file_len);
        paths->path[seen->file_len] = '\0';
        seen->path = paths->path;
    }
    if (seen->to_handle != NULL)
        seen->to_path = seen_names_path(names, seen->to_handle, seen->to_handle_len, seen->to_file, seen->to_file_len,
                                        paths->to_path);
}

static uint64_t
call_begins(void *context, const struct call *call)
{
    struct observer *observer = context;
    uint64_t ended = atomic_load_explicit(&observer->ended, memory_order_acquire);
    struct ringnfs_call seen;
    struct paths paths;

    if (observer->config.hook == NULL)
        return ended;
    seen_begin(&seen, call);
    seen.ended_before = ended;
    pthread_mutex_lock(&observer->lock);
    find_paths(observer->names, &seen, &paths);
    pthread_mutex_unlock(&observer->lock);
    observer->config.hook(observer->config.hook_context, RINGNFS_BEGINS, &seen);
    return ended;
}

static void
call_ends(void *context, const struct call *call, int how, const uint8_t *results, size_t len)
{
    struct observer *observer = context;
    struct ringnfs_call seen;
    struct paths paths;

    seen_begin(&seen, call);
    seen_end(&seen, call, how, results, len);
    pthread_mutex_lock(&observer->lock);
    seen.number = atomic_fetch_add_explicit(&observer->ended, 1, memory_order_release) + 1;
    find_paths(observer->names, &seen, &paths);
    seen_names_learn(observer->names, &seen);
    if (observer->recent != NULL)
        recent_add(observer->recent, &seen);
    if (observer->journal != NULL)
        recorder_put(observer->journal, &seen);
    if (observer->capture != NULL)
        recorder_put(observer->capture, &seen);
    pthread_mutex_unlock(&observer->lock);
    if (observer->config.hook != NULL)
        observer->config.hook(observer->config.hook_context, RINGNFS_ENDS, &seen);
}

/* Calls come here as long as there is somebody to tell. With the lock, or before there are others. */
static void
open_or_close(struct observer *observer)
{
    bool open = observer->config.hook != NULL || observer->journal != NULL || observer->capture != NULL ||
                observer->recent != NULL;

    atomic_store_explicit(&observer->config.tap->open, open, memory_order_release);
}

int
observer_new(const struct observer_config *config, struct observer **out)
{
    struct observer *observer = calloc(1, sizeof(*observer));
    int err;

    if (observer == NULL)
        return -ENOMEM;
    observer->config = *config;
    pthread_mutex_init(&observer->lock, NULL);
    config->tap->begins = call_begins;
    config->tap->ends = call_ends;
    config->tap->context = observer;
    err = seen_names_new(&observer->names);
    if (err == 0 && config->keep_calls > 0)
        err = recent_new(config->keep_calls, &observer->recent);
    if (err < 0) {
        observer_free(observer);
        return err;
    }
    open_or_close(observer);
    *out = observer;
    return 0;
}

void
observer_free(struct observer *observer)
{
    if (observer == NULL)
        return;
    recorder_free(observer->journal);
    recorder_free(observer->capture);
    recent_free(observer->recent);
    seen_names_free(observer->names);
    pthread_mutex_destroy(&observer->lock);
    free(observer);
}

void
observer_learn_exports(struct observer *observer, const struct fh_key *key, const struct exports *set)
{
    uint8_t fh[FH_MAX];

    pthread_mutex_lock(&observer->lock);
    for (size_t i = 0; i < set->count; i++) {
        const struct export *export = &set->list[i];
        size_t len;

        if (export->store == NULL)
            continue;
        len = fh_encode(key, export->id, store_node_id(export->store, export->store->root), NULL, fh);
        seen_names_root(observer->names, fh, len, export->path, export->path_len);
    }
    pthread_mutex_unlock(&observer->lock);
}

/* Put a file that was opened into its place. *fd: another process's, to go on in, which becomes -1; NULL: there is none. */
static int
add_file(struct observer *observer, struct recorder **place, const struct recorder_format *format, void *context,
         const char *file, int *fd, char *error, size_t error_size)
{
    const struct recorder_config config = {
        .format = format,
        .context = context,
        .file = file,
        .follows = fd != NULL,
        .fd = fd != NULL ? *fd : -1,
        .queue_bytes = observer->config.queue_bytes,
        .log = observer->config.log,
        .sandbox = observer->config.sandbox,
    };
    struct recorder *recorder;
    int err;

    if (context == NULL) {
        snprintf(error, error_size, "%s: out of memory", format->name);
        return -ENOMEM;
    }
    if (fd != NULL)
        *fd = -1;
    err = recorder_new(&config, &recorder, error, error_size);
    if (err < 0)
        return err;
    pthread_mutex_lock(&observer->lock);
    *place = recorder;
    open_or_close(observer);
    pthread_mutex_unlock(&observer->lock);
    return 0;
}

static int
take_file(struct observer *observer, struct recorder **place, const char *what, uint64_t *lost, char *error,
          size_t error_size)
{
    struct recorder *recorder;

    pthread_mutex_lock(&observer->lock);
    recorder = *place;
    *place = NULL;
    open_or_close(observer);
    pthread_mutex_unlock(&observer->lock);
    if (recorder == NULL) {
        snprintf(error, error_size, "no %s is open", what);
        return -EINVAL;
    }
    *lost = recorder_free(recorder);
    return 0;
}

static int
refuse_second(const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "a %s is open already: close it first", what);
    return -EINVAL;
}

int
observer_journal_open(struct observer *observer, const char *file, bool whole_data, char *error, size_t error_size)
{
    if (observer->journal != NULL)
        return refuse_second("journal", error, error_size);
    observer->whole_data = whole_data;
    return add_file(observer, &observer->journal, &journal_format, journal_new(whole_data), file, NULL, error, error_size);
}

int
observer_capture_open(struct observer *observer, const char *file, char *error, size_t error_size)
{
    if (observer->capture != NULL)
        return refuse_second("capture file", error, error_size);
    return add_file(observer, &observer->capture, &capture_format, capture_new(), file, NULL, error, error_size);
}

static struct observer_file
file_of(const struct recorder *recorder)
{
    if (recorder == NULL)
        return (struct observer_file){ -1, NULL };
    return (struct observer_file){ recorder_fd(recorder), recorder_file(recorder) };
}

void
observer_files(struct observer *observer, struct observer_files *files)
{
    pthread_mutex_lock(&observer->lock);
    files->journal = file_of(observer->journal);
    files->capture = file_of(observer->capture);
    files->whole_data = observer->whole_data;
    pthread_mutex_unlock(&observer->lock);
}

int
observer_drain(struct observer *observer, uint64_t timeout_ms, char *error, size_t error_size)
{
    int err = observer->journal != NULL ? recorder_drain(observer->journal, timeout_ms, error, error_size) : 0;

    return err == 0 && observer->capture != NULL ? recorder_drain(observer->capture, timeout_ms, error, error_size) : err;
}

int
observer_follow(struct observer *observer, struct observer_files *files, char *error, size_t error_size)
{
    int err = 0;

    observer->whole_data = files->whole_data;
    if (files->journal.fd >= 0)
        err = add_file(observer, &observer->journal, &journal_format, journal_new(files->whole_data), files->journal.file,
                       &files->journal.fd, error, error_size);
    if (err == 0 && files->capture.fd >= 0)
        err = add_file(observer, &observer->capture, &capture_format, capture_new(), files->capture.file,
                       &files->capture.fd, error, error_size);
    return err;
}

int
observer_journal_close(struct observer *observer, uint64_t *lost, char *error, size_t error_size)
{
    return take_file(observer, &observer->journal, "journal", lost, error, error_size);
}

int
observer_capture_close(struct observer *observer, uint64_t *lost, char *error, size_t error_size)
{
    return take_file(observer, &observer->capture, "capture file", lost, error, error_size);
}

int
observer_keep(struct observer *observer, size_t most, char *error, size_t error_size)
{
    struct recent *recent = NULL, *before;
    int err = most > 0 ? recent_new(most, &recent) : 0;

    if (err < 0) {
        snprintf(error, error_size, "out of memory for %zu calls", most);
        return err;
    }
    pthread_mutex_lock(&observer->lock);
    before = observer->recent;
    observer->recent = recent;
    open_or_close(observer);
    pthread_mutex_unlock(&observer->lock);
    recent_free(before);
    return 0;
}

void
observer_forget(struct observer *observer)
{
    pthread_mutex_lock(&observer->lock);
    if (observer->recent != NULL)
        recent_forget(observer->recent);
    pthread_mutex_unlock(&observer->lock);
}

int
observer_count(struct observer *observer, const char *description, char *error, size_t error_size)
{
    int result;

    pthread_mutex_lock(&observer->lock);
    result = recent_count(observer->recent, description, error, error_size);
    pthread_mutex_unlock(&observer->lock);
    return result;
}

int
observer_expect(struct observer *observer, const char *expectation, char *error, size_t error_size)
{
    int result;

    pthread_mutex_lock(&observer->lock);
    result = recent_expect(observer->recent, expectation, error, error_size);
    pthread_mutex_unlock(&observer->lock);
    return result;
}
