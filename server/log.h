/*
 * server/log.h - what is told to the operator: one line an event, with what, who and why.
 *
 * A logger belongs to a server; there is none for the whole process. Lines go to a descriptor (standard error) as
 * "ringnfsd: level: text" or, with timestamps, "2026-01-31T12:00:00.000Z level text", each with one write(2) and of
 * LOG_LINE_MAX bytes at most. Any thread.
 *
 * Nobody waits for the reader of a pipe or a socket: what it does not take is lost, and so is what a full disk does not
 * take. Lost lines are counted, and a line says how many there were once lines can be written again.
 *
 * Bytes from the network or from files are quoted first (log_quote); control characters that come through all the same
 * are written as '?', so that nobody can forge a line.
 */
#ifndef RINGNFS_SERVER_LOG_H
#define RINGNFS_SERVER_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX 2048               /* bytes, the newline among them; what is longer ends in "..." */
#define LOG_WINDOW_MS 10000             /* the limit is for so many milliseconds */

enum log_level { LOG_ERROR_LEVEL, LOG_WARN_LEVEL, LOG_INFO_LEVEL, LOG_DEBUG_LEVEL };

/* Lines that clients can cause as often as they like; each kind is limited for itself. */
enum log_kind { LOG_MOUNTS, LOG_REFUSED_MOUNTS, LOG_KINDS };

/* What a logger does not write is counted here; embedded in its owner. */
struct log_meter {
    uint64_t (*now_ms)(void);           /* never goes back */
    _Atomic uint32_t limit;             /* lines of a kind in LOG_WINDOW_MS; 0: all. May be changed at any time */
    _Atomic uint64_t lost;              /* lines that could not be written, since the start */
    _Atomic uint64_t left_out;          /* lines beyond the limit, since the start */

    /* log.c's */
    _Atomic uint64_t lost_untold;
    _Atomic bool torn;                  /* the last line lacks its end */
    pthread_mutex_t lock;               /* for the rest */
    struct log_window {
        uint64_t since_ms;
        uint32_t written;
        uint64_t left_out;
    } windows[LOG_KINDS];
};

/* Takes a line without its end, with control characters made harmless; text is good until it returns. Any thread. */
typedef void log_sink(void *context, enum log_level level, const char *text);

struct log {
    _Atomic enum log_level level;       /* lines above it are left out; may be changed at any time */
    int fd;                             /* -1: nothing is written */
    log_sink *sink;                     /* gets the lines in place of fd; NULL: there is none */
    void *sink_context;
    bool timestamps;                    /* for a file that nobody else puts a time to */
    struct log_meter *meter;            /* outlives the logger; NULL: nothing is counted or limited */
};

void log_meter_init(struct log_meter *meter, uint32_t limit, uint64_t (*now_ms)(void));
void log_meter_fini(struct log_meter *meter);

void log_write(const struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(log, ...) log_write(log, LOG_ERROR_LEVEL, __VA_ARGS__)
#define log_warn(log, ...)  log_write(log, LOG_WARN_LEVEL, __VA_ARGS__)
#define log_info(log, ...)  log_write(log, LOG_INFO_LEVEL, __VA_ARGS__)
#define log_debug(log, ...) log_write(log, LOG_DEBUG_LEVEL, __VA_ARGS__)

/* Write a line of level info that a client has caused, unless there have been too many of its kind of late. */
void log_limited(const struct log *log, enum log_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Tell how many lines were lost, and how many left out in windows that are over, or in any (at_end). To be called now and
 * then, since the next line may be long in coming.
 */
void log_catch_up(const struct log *log, bool at_end);

/*
 * Make bytes fit to be read: printable ASCII as it is, all else and the backslash as "\012", three octal digits, which
 * exports(5) would read back. out (size bytes, at least 4) is NUL-terminated and ends in "..." when it was too small.
 * Returns out.
 */
const char *log_quote(char *out, size_t size, const void *bytes, size_t len);

#endif
