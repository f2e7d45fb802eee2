/*
 * server/log.h - what is told to the operator: one line an event, with what, who and why.
 *
 * A logger belongs to a server; there is none for the whole process. Lines go to a descriptor (standard error) as
 * "ringnfsd: level: text" or, with timestamps, "2026-01-31T12:00:00.000Z level text". Any thread.
 */
#ifndef RINGNFS_SERVER_LOG_H
#define RINGNFS_SERVER_LOG_H

enum log_level { LOG_ERROR_LEVEL, LOG_WARN_LEVEL, LOG_INFO_LEVEL, LOG_DEBUG_LEVEL };

struct log {
    enum log_level level;               /* lines above it are left out */
    int fd;                             /* -1: nothing is written */
};

void log_write(const struct log *log, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(log, ...) log_write(log, LOG_ERROR_LEVEL, __VA_ARGS__)
#define log_warn(log, ...)  log_write(log, LOG_WARN_LEVEL, __VA_ARGS__)
#define log_info(log, ...)  log_write(log, LOG_INFO_LEVEL, __VA_ARGS__)
#define log_debug(log, ...) log_write(log, LOG_DEBUG_LEVEL, __VA_ARGS__)

#endif
