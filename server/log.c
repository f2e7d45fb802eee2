/* server/log.c - see log.h. */
#include "server/log.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = { "error", "warning", "info", "debug" };

/* Of poll() and the write() after it: what was free is still free. */
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

static int
write_prefix(const struct log *log, enum log_level level, char *line, size_t size)
{
    struct timespec now;
    struct tm tm;
    size_t n;

    if (!log->timestamps)
        return snprintf(line, size, "ringnfsd: %s: ", level_names[level]);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    n = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &tm);
    return (int)n + snprintf(line + n, size - n, ".%03ldZ %s ", now.tv_nsec / 1000000, level_names[level]);
}

void
log_write(const struct log *log, enum log_level level, const char *format, ...)
{
    char line[LOG_LINE_MAX];
    size_t max = sizeof(line) - 1;                        /* without the newline */
    size_t start, len, i;
    va_list args;
    int saved = errno;

    if (level > log->level || log->fd < 0)
        return;
    start = (size_t)write_prefix(log, level, line, sizeof(line));
    va_start(args, format);
    len = start + (size_t)vsnprintf(line + start, sizeof(line) - start, format, args);
    va_end(args);
    if (len > max) {
        len = max;
        memcpy(line + max - 3, "...", 3);
    }
    for (i = start; i < len; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    line[len++] = '\n';
    pthread_mutex_lock(&write_lock);
    if (poll(&(struct pollfd){ .fd = log->fd, .events = POLLOUT }, 1, 0) > 0)      /* a full pipe: the line is lost */
        while (write(log->fd, line, len) < 0 && errno == EINTR)
            continue;
    pthread_mutex_unlock(&write_lock);
    errno = saved;
}

const char *
log_quote(char *out, size_t size, const void *bytes, size_t len)
{
    const unsigned char *in = bytes;
    size_t used = 0, fits = 0, i;                        /* fits: what may stay when "..." must follow */

    assert(size >= 4);
    for (i = 0; i < len; i++) {
        bool plain = in[i] >= ' ' && in[i] < 0x7f && in[i] != '\\';
        size_t need = plain ? 1 : 4;

        if (used + need + 1 > size) {
            strcpy(out + fits, "...");
            return out;
        }
        if (plain)
            out[used] = (char)in[i];
        else
            snprintf(out + used, 5, "\\%03o", in[i]);
        used += need;
        if (used + 4 <= size)
            fits = used;
    }
    out[used] = '\0';
    return out;
}
