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
#include "server/exports_report.h"

#define EXPORTS_LINE_MAX (64 << 10)     /* bytes of a line, with those that continue it */

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
 * order; one that ends in '/' may be missing. Returns 0, or -errno when nothing more is to be done, -EINVAL for a mistake;
 * when all mistakes are told, entries are those without one, report->err tells of the others, and only a file with a NUL
 * byte or too long a line is not read to its end. Entries are to be freed in all cases.
 */
int exports_read(const struct exports_source *source, struct export_entries *entries, struct exports_report *report);
void export_entries_fini(struct export_entries *entries);

#endif
