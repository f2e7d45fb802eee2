/*
 * server/options.h - the daemon's command line.
 *
 * Options are rows of a table in options.c, which feeds getopt_long(3), --help and the manual page.
 */
#ifndef RINGNFS_SERVER_OPTIONS_H
#define RINGNFS_SERVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "server/exports.h"
#include "server/faults.h"
#include "server/server.h"
#include "server/settings.h"

enum options_action {
    ACTION_SERVE, ACTION_CHECK, ACTION_HELP, ACTION_HELP_SETTINGS, ACTION_HELP_EXPORTS, ACTION_HELP_FAULTS,
    ACTION_VERSION, ACTION_ROFF
};

struct options {
    char **argv;                        /* all of them; the caller's */
    enum options_action action;
    struct settings settings;           /* defaults, then the configuration file, then the command line */
    char **files, **lines;              /* where exports come from */
    size_t nfiles, nlines;
    struct server_fill *fills;          /* of memory: exports, at the start */
    size_t nfills;
    struct sockaddr_storage *addresses; /* to listen on */
    size_t naddresses;
    int ready_fd;                       /* -1: none, which is so too when it takes over */
    int channel;                        /* of takeover.h, to the server that it takes over from; -1: none */
    bool print_ports;
    bool foreground;
    bool ephemeral;                     /* settings.state_dir is for the caller to choose */
    bool parent_death;                  /* end when a process does: */
    pid_t parent;                       /* 0: the parent */
    struct faults *faults;              /* rules of faults; NULL: there may be none */
    const char *roff;                   /* ACTION_ROFF: which table */
};

/*
 * Read a command line. Returns 0, -EINVAL for one that is wrong, or the -errno of a file that cannot be read; error
 * then holds one line. options are to be freed in all cases. Not for two threads at once (getopt).
 */
int options_parse(struct options *options, int argc, char **argv, char *error, size_t error_size);
void options_fini(struct options *options);

/* The exports as exports.h wants them; borrows from options. */
struct exports_source options_exports(const struct options *options);

void options_print_help(FILE *out);

/* Print a table for the manual pages: "options", "settings", "exports" or "faults". Returns 0, or -EINVAL for others. */
int options_print_roff(FILE *out, const char *table);

#endif
