/* server/log.c - see log.h. */
#include "server/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = { "error", "warning", "info", "debug" };

static const char *const kind_names[LOG_KINDS] = {
    [LOG_MOUNTS] = "of mounts",
    [LOG_REFUSED_MOUNTS] = "of refused mounts",
};

void
log_meter_init(struct log_meter *meter, uint32_t limit, uint64_t (*now_ms)(void))
{
    *meter = (struct log_meter){ .now_ms = now_ms, .limit = limit };
    pthread_mutex_init(&meter->lock, NULL);
}

void
log_meter_fini(struct log_meter *meter)
{
    pthread_mutex_destroy(&meter->lock);
}

/* As write(2), but the reader of a pipe is not waited for. */
static ssize_t
write_promptly(int fd, const char *bytes, size_t len)
{
    const struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
    struct stat st;
    int flags;
    ssize_t n;

    flags = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : RWF_NOWAIT;    /* a file has no reader to wait for */
    if (poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 0) <= 0)
        return -1;
    do
        n = pwritev2(fd, &iov, 1, -1, flags);           /* others may have filled it since */
    while (n < 0 && errno == EINTR);
    if (n >= 0 || errno != EOPNOTSUPP)
        return n;
    do
        n = write(fd, bytes, len);                       /* a terminal */
    while (n < 0 && errno == EINTR);
    return n;
}

static int
write_prefix(const struct log *log, enum log_level level, char *line, size_t size)
{
    struct timespec now;
    struct tm tm;
    size_t n;

    if (log->sink != NULL)
        return 0;
    if (!log->timestamps)
        return snprintf(line, size, "ringnfsd: %s: ", level_names[level]);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    n = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &tm);
    return (int)n + snprintf(line + n, size - n, ".%03ldZ %s ", now.tv_nsec / 1000000, level_names[level]);
}

/* Whether nobody gets the lines. */
static bool
is_mute(const struct log *log)
{
    return log->fd < 0 && log->sink == NULL;
}

/* Returns the line's length, with the newline; line has LOG_LINE_MAX bytes. */
static size_t
format_line(const struct log *log, enum log_level level, char *line, const char *format, va_list args)
{
    size_t max = LOG_LINE_MAX - 1;                        /* without the newline */
    size_t start = (size_t)write_prefix(log, level, line, LOG_LINE_MAX);
    size_t len = start + (size_t)vsnprintf(line + start, LOG_LINE_MAX - start, format, args);

    if (len > max) {
        len = max;
        memcpy(line + max - 3, "...", 3);
    }
    for (size_t i = start; i < len; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = '?';
    line[len++] = '\n';
    return len;
}

/* Returns whether the whole line has been written. */
static bool
put_line(const struct log *log, enum log_level level, const char *format, va_list args)
{
    char bytes[1 + LOG_LINE_MAX] = "\n";                 /* first the end of a line that has none */
    size_t len = format_line(log, level, bytes + 1, format, args);
    bool torn = log->meter != NULL && atomic_exchange(&log->meter->torn, false);
    const char *from = torn ? bytes : bytes + 1;
    ssize_t n;

    if (log->sink != NULL) {
        bytes[len] = '\0';
        log->sink(log->sink_context, level, bytes + 1);
        return true;
    }
    n = write_promptly(log->fd, from, torn ? len + 1 : len);
    if (n >= 0 && from + n == bytes + 1 + len)
        return true;
    if (log->meter != NULL && (n > 0 ? from + n > bytes + 1 : torn))
        log->meter->torn = true;
    return false;
}

/* The same for our own. */
static bool __attribute__((format(printf, 3, 4)))
put_own_line(const struct log *log, enum log_level level, const char *format, ...)
{
    va_list args;
    bool whole;

    va_start(args, format);
    whole = put_line(log, level, format, args);
    va_end(args);
    return whole;
}

/* Returns whether there is nothing left to be told. */
static bool
tell_lost(const struct log *log)
{
    struct log_meter *meter = log->meter;
    uint64_t lost = meter == NULL ? 0 : atomic_exchange(&meter->lost_untold, 0);

    if (lost == 0 || put_own_line(log, LOG_WARN_LEVEL, "%" PRIu64 " %s lost: the log could not be written", lost,
                                  lost == 1 ? "line was" : "lines were"))
        return true;
    meter->lost_untold += lost;
    return false;
}

static void
write_counted(const struct log *log, enum log_level level, const char *format, va_list args)
{
    int saved = errno;

    if ((!tell_lost(log) || !put_line(log, level, format, args)) && log->meter != NULL) {
        log->meter->lost++;
        log->meter->lost_untold++;
    }
    errno = saved;
}

void
log_write(const struct log *log, enum log_level level, const char *format, ...)
{
    va_list args;

    if (level > log->level || is_mute(log))
        return;
    va_start(args, format);
    write_counted(log, level, format, args);
    va_end(args);
}

/* With the lock held. */
static bool
is_over(const struct log_meter *meter, const struct log_window *window)
{
    return meter->now_ms() - window->since_ms >= LOG_WINDOW_MS;
}

/* With the lock held. Returns how many lines were left out and not told of. */
static uint64_t
take_left_out(struct log_window *window)
{
    uint64_t left_out = window->left_out;

    window->left_out = 0;
    return left_out;
}

/* May there be one more line of this kind? *left_out: how many were left out in the window before. */
static bool
admit(struct log_meter *meter, enum log_kind kind, uint64_t *left_out)
{
    struct log_window *window = &meter->windows[kind];
    uint32_t limit = meter->limit;
    bool fits;

    *left_out = 0;
    pthread_mutex_lock(&meter->lock);
    if (is_over(meter, window)) {
        *left_out = take_left_out(window);
        window->since_ms = meter->now_ms();
        window->written = 0;
    }
    fits = limit == 0 || window->written < limit;
    if (fits)
        window->written++;
    else
        window->left_out++;
    pthread_mutex_unlock(&meter->lock);
    if (!fits)
        meter->left_out++;
    return fits;
}

static void
tell_left_out(const struct log *log, enum log_kind kind, uint64_t left_out)
{
    if (left_out > 0)
        log_warn(log, "%" PRIu64 " more %s %s %s left out (log_limit)", left_out, left_out == 1 ? "line" : "lines",
                 kind_names[kind], left_out == 1 ? "was" : "were");
}

void
log_limited(const struct log *log, enum log_kind kind, const char *format, ...)
{
    uint64_t left_out = 0;
    va_list args;
    bool fits;

    if (LOG_INFO_LEVEL > log->level || is_mute(log))
        return;
    fits = log->meter == NULL || admit(log->meter, kind, &left_out);
    tell_left_out(log, kind, left_out);
    if (!fits)
        return;
    va_start(args, format);
    write_counted(log, LOG_INFO_LEVEL, format, args);
    va_end(args);
}

void
log_catch_up(const struct log *log, bool at_end)
{
    struct log_meter *meter = log->meter;
    uint64_t left_out;

    if (meter == NULL || is_mute(log))
        return;
    (void)tell_lost(log);
    for (enum log_kind kind = 0; kind < LOG_KINDS; kind++) {
        struct log_window *window = &meter->windows[kind];

        pthread_mutex_lock(&meter->lock);
        left_out = at_end || is_over(meter, window) ? take_left_out(window) : 0;
        pthread_mutex_unlock(&meter->lock);
        tell_left_out(log, kind, left_out);
    }
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
