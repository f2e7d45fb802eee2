/*
 * server/exports_report.h - what is wrong with exports, told with its place, and what is no mistake but should be known.
 *
 * Who reads exports to use them needs the first mistake; who corrects a file wants all of them. All of a file come in the
 * order of their places, though some are found only when lines are compared.
 */
#ifndef RINGNFS_SERVER_EXPORTS_REPORT_H
#define RINGNFS_SERVER_EXPORTS_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "server/exports.h"

/*
 * Where something is written; file is "--export" for a line of the command line, "exports add" for one that was added
 * since, and line then says which.
 */
struct export_place {
    const char *file;                   /* outlives the report */
    unsigned line, column;              /* from 1; 0: the file as a whole */
};

struct exports_report {
    char *error;                        /* the caller's: a line for each mistake */
    size_t error_size;
    struct exports_mistake {
        struct export_place place;
        size_t at;                      /* where its line begins */
    } mistakes[EXPORTS_MISTAKES_MAX];
    unsigned told, limit;
    int err;                            /* of the first that was found; 0: there is none */
    char warnings[1024];                /* joined by "; " */
};

/* all: up to EXPORTS_MISTAKES_MAX are told, as far as they fit, not only the first. */
void exports_report_init(struct exports_report *report, bool all, char *error, size_t error_size);

/* Tell a mistake, unless enough have been told: "FILE:LINE:COLUMN: text". Returns err. */
int exports_report_error(struct exports_report *report, const struct export_place *place, int err,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* After a step that ended with err: 0 when the next one may find more that is worth telling, else err. */
int exports_report_go_on(const struct exports_report *report, int err);

void exports_report_warning(struct exports_report *report, const struct export_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
