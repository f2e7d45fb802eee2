/*
 * server/exports_file.h - reads the language of exports(5): lines into paths, clients and their options.
 *
 * Nothing is opened or looked up here but the files themselves. Quotes, octal escapes and continued lines are undone in
 * one pass over the bytes; an escaped byte is only ever itself, never a comma, a bracket or the beginning of another
 * escape. Each byte keeps its place, so a mistake is told by file, line and column.
 */
#ifndef RINGNFS_SERVER_EXPORTS_FILE_H
#define RINGNFS_SERVER_EXPORTS_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "server/exports.h"

#define EXPORTS_LINE_MAX (64 << 10)     /* bytes of a line, with those that continue it */

/*
 * Where something is written; file is "--export" for a line of the command line, "exports add" for one that was added
 * since, and line then says which.
 */
struct export_place {
    const char *file;
    unsigned line, column;              /* from 1 */
};

/* What is told: the first mistake, or warnings. */
struct exports_report {
    char *error;
    size_t error_size;
    char warnings[1024];                /* joined by "; " */
};

/* Set the error, unless there is one already: "FILE:LINE:COLUMN: text". Returns err. */
int exports_report_error(struct exports_report *report, const struct export_place *place, int err,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
void exports_report_warning(struct exports_report *report, const struct export_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One client of one export, as written. */
struct export_entry {
    char *path;                         /* without slashes too many; a memory export's has lost its "memory:" */
    bool memory;
    char *client;                       /* "" for one that was left out */
    struct export_rights rights;
    struct export_place path_place, place;
};

struct export_entries {
    struct export_entry *list;
    size_t count, capacity;
    char **files;                       /* names that places point to */
    size_t nfiles;
};

/*
 * Append what all files and lines of a source say. A file that is a directory stands for the "*.exports" in it, in
 * order; one that ends in '/' may be missing. Returns 0 or -errno, -EINVAL for a mistake; entries are to be freed in
 * both cases.
 */
int exports_read(const struct exports_source *source, struct export_entries *entries, struct exports_report *report);
void export_entries_fini(struct export_entries *entries);

#endif
