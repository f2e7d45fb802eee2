/*
 * server/recorder.h - writes calls to a file on a thread of its own: a bounded queue, and what a kind of file makes of a
 * call.
 *
 * Whoever puts a call into the queue copies it and never waits: for what finds no room, and for what the disk does not
 * take, there is a count, which the file is told before the next call that it gets.
 */
#ifndef RINGNFS_SERVER_RECORDER_H
#define RINGNFS_SERVER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log.h"
#include "server/ringnfs.h"

struct sandbox;

/* Bytes that are to be written. */
struct recorder_bytes {
    uint8_t *data;
    size_t len, size;
    int err;                            /* -ENOMEM: something is missing */
};

/* Room for n bytes at the end, or NULL (and then err is set). */
uint8_t *recorder_room(struct recorder_bytes *bytes, size_t n);
void recorder_add(struct recorder_bytes *bytes, const void *data, size_t n);

/* A kind of file. All on the recorder's thread, but for free(). */
struct recorder_format {
    const char *name;                   /* "journal" */
    void (*begin)(void *context, struct recorder_bytes *out);
    void (*call)(void *context, struct recorder_bytes *out, const struct ringnfs_call *seen);
    void (*lost)(void *context, struct recorder_bytes *out, uint64_t calls);
    void (*free)(void *context);
};

struct recorder_config {
    const struct recorder_format *format;
    void *context;                      /* the recorder's from then on, also on error */
    const char *file;
    bool follows;                       /* go on where another process has stopped, */
    int fd;                             /* in this file, which is the recorder's from then on, also on error */
    size_t queue_bytes;
    const struct log *log;              /* outlives it, like the next */
    const struct sandbox *sandbox;      /* NULL: none */
};

struct recorder;

/*
 * Empty the file or make it (mode 0600), and begin; one that follows does neither, and finds its place with the first call.
 * Returns 0 or -errno with error: -EINVAL if it is no regular file.
 */
int recorder_new(const struct recorder_config *config, struct recorder **recorder, char *error, size_t error_size);

/* A call that is over. Any thread. */
void recorder_put(struct recorder *recorder, const struct ringnfs_call *seen);

/*
 * Wait until all that was put into the queue is in the file, so that another process can go on there; then nothing more is
 * written unless there are more calls. Returns 0, or with error -ETIMEDOUT, or -EIO when the disk does not take it.
 */
int recorder_drain(struct recorder *recorder, uint64_t timeout_ms, char *error, size_t error_size);

/* The file; a descriptor and a name, which stay the recorder's. */
int recorder_fd(const struct recorder *recorder);
const char *recorder_file(const struct recorder *recorder);

/* Write what is in the queue, and close. Returns how many calls were lost in all. NULL is fine. */
uint64_t recorder_free(struct recorder *recorder);

#endif
