/*
 * server/log.h - what is told to the operator: one line an event, with what, who and why.
 *
 * A logger belongs to a server; there is none for the whole process. Lines go to a descriptor (standard error) as
 * "ringnfsd: level: text" or, with timestamps, "2026-01-31T12:00:00.000Z level text", each with one write(2) and of
 * LOG_LINE_MAX bytes at most. Any thread.
 *
 * Bytes from the network or from files are quoted first (log_quote); control characters that come through all the same
 * are written as '?', so that nobody can forge a line.
 */
#ifndef RINGNFS_SERVER_LOG_H
#define RINGNFS_SERVER_LOG_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_LINE_MAX 2048               /* bytes, the newline among them; what is longer ends in "..." */

enum log_level { LOG_ERROR_LEVEL, LOG_WARN_LEVEL, LOG_INFO_LEVEL, LOG_DEBUG_LEVEL };

struct log {
    _Atomic enum log_level level;       /* lines above it are left out; may be changed at any time */
    int fd;                             /* -1: nothing is written */
    bool timestamps;                    /* for a file that nobody else puts a time to */
};

void log_write(const struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(log, ...) log_write(log, LOG_ERROR_LEVEL, __VA_ARGS__)
#define log_warn(log, ...)  log_write(log, LOG_WARN_LEVEL, __VA_ARGS__)
#define log_info(log, ...)  log_write(log, LOG_INFO_LEVEL, __VA_ARGS__)
#define log_debug(log, ...) log_write(log, LOG_DEBUG_LEVEL, __VA_ARGS__)

/*
 * Make bytes fit to be read: printable ASCII as it is, all else and the backslash as "\012", three octal digits, which
 * exports(5) would read back. out (size bytes, at least 4) is NUL-terminated and ends in "..." when it was too small.
 * Returns out.
 */
const char *log_quote(char *out, size_t size, const void *bytes, size_t len);

#endif
