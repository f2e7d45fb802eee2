/* server/log.c - see log.h. */
#include "server/log.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = { "error", "warning", "info", "debug" };

/* One line, or none where the reader of a pipe does not take it: nobody waits for the log. */
static void
put_line(int fd, const char *line, size_t len)
{
    const struct iovec iov = { .iov_base = (void *)(uintptr_t)line, .iov_len = len };
    struct stat st;
    int flags;
    ssize_t n;

    flags = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : RWF_NOWAIT;    /* a file has no reader to wait for */
    if (poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 0) <= 0)
        return;
    do
        n = pwritev2(fd, &iov, 1, -1, flags);           /* others may have filled it since */
    while (n < 0 && errno == EINTR);
    if (n >= 0 || errno != EOPNOTSUPP)
        return;
    while (write(fd, line, len) < 0 && errno == EINTR)  /* a terminal */
        continue;
}

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
    put_line(log->fd, line, len);
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
