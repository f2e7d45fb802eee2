/* server/exports_report.c - see exports_report.h. */
#include "server/exports_report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#define TEXT_MAX 512                                     /* bytes of a message without its place */

static void
print_placed(char *out, size_t size, const struct export_place *place, const char *text)
{
    if (place->line == 0)
        snprintf(out, size, "%s: %s", place->file, text);
    else
        snprintf(out, size, "%s:%u:%u: %s", place->file, place->line, place->column, text);
}

void
exports_report_init(struct exports_report *report, bool all, char *error, size_t error_size)
{
    *report = (struct exports_report){ .error = error, .error_size = error_size,
                                       .limit = all ? EXPORTS_MISTAKES_MAX : 1 };
    error[0] = '\0';
}

static bool
comes_before(const struct export_place *a, const struct export_place *b)
{
    return a->file == b->file && (a->line < b->line || (a->line == b->line && a->column < b->column));
}

/* Add a line in its place; false: it does not fit. The first one is cut instead. */
static bool
insert_line(struct exports_report *report, const struct export_place *place, const char *line)
{
    size_t used = strlen(report->error), len = strlen(line), at = used;
    unsigned i = report->told;

    if (i == 0)
        len = MIN(len, report->error_size - 1);
    else if (used + 1 + len >= report->error_size)
        return false;
    for (; i > 0 && comes_before(place, &report->mistakes[i - 1].place); i--) {
        at = report->mistakes[i - 1].at;
        report->mistakes[i] = report->mistakes[i - 1];
        report->mistakes[i].at += len + 1;
    }
    if (i < report->told) {
        memmove(report->error + at + len + 1, report->error + at, used - at + 1);
        report->error[at + len] = '\n';
    } else {
        if (i > 0)
            report->error[at++] = '\n';
        report->error[at + len] = '\0';
    }
    memcpy(report->error + at, line, len);
    report->mistakes[i] = (struct exports_mistake){ .place = *place, .at = at };
    report->told++;
    return true;
}

static void
tell_the_limit(struct exports_report *report)
{
    size_t used = strlen(report->error);
    char line[64];
    int len = snprintf(line, sizeof(line), "\nexports: no more than these %u mistakes are told", report->told);

    if (used + (size_t)len < report->error_size)
        strcpy(report->error + used, line);
    report->limit = report->told;
}

int
exports_report_error(struct exports_report *report, const struct export_place *place, int err, const char *format, ...)
{
    char text[TEXT_MAX], line[EXPORTS_MISTAKE_MAX];
    va_list args;
    bool fits;

    if (report->told == report->limit)
        return err;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_placed(line, sizeof(line), place, text);
    if (report->err == 0)
        report->err = err;
    fits = insert_line(report, place, line);
    if (!fits || (report->told == report->limit && report->limit > 1))
        tell_the_limit(report);
    return err;
}

int
exports_report_go_on(const struct exports_report *report, int err)
{
    return err == -ENOMEM || report->told == report->limit ? err : 0;
}

void
exports_report_warning(struct exports_report *report, const struct export_place *place, const char *format, ...)
{
    size_t used = strlen(report->warnings);
    char text[TEXT_MAX];
    va_list args;

    if (used > 0 && used + 2 < sizeof(report->warnings)) {
        strcpy(report->warnings + used, "; ");
        used += 2;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_placed(report->warnings + used, sizeof(report->warnings) - used, place, text);
}
