/*
 * server/control_commands.h - THE table of what can be asked of a running server.
 *
 * A row feeds the server that answers (control.c), ringnfsctl with its --help, and the manual page.
 */
#ifndef RINGNFS_SERVER_CONTROL_COMMANDS_H
#define RINGNFS_SERVER_CONTROL_COMMANDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "server/server.h"

#define CONTROL_ARGUMENTS_MAX 2

struct control_argument {
    const char *name;                   /* NULL: there are no more */
    bool optional;                      /* so are all behind it */
    bool file;                          /* a file's name: absolute when it reaches the server, */
    bool made;                          /* which makes it, if it is not there */
};

struct control_command {
    const char *name;
    struct control_argument arguments[CONTROL_ARGUMENTS_MAX + 1];
    /*
     * Do it: texts holds the arguments, NULL for those left out. Returns 0 and a result with one reference, or -errno
     * with error, a line, or one for each mistake in a file.
     */
    int (*run)(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size);
    void (*print)(FILE *out, const json_t *result);     /* for people; NULL: there is nothing to tell */
    const char *help;                   /* one sentence */
    /*
     * In place of run(), for what takes its time: see that the answer will be written to a descriptor, which is taken over.
     * Returns 0, or -errno with error and the descriptor is the caller's.
     */
    int (*later)(struct server *server, int fd, char *error, size_t error_size);
};

extern const struct control_command control_commands[];
extern const size_t control_commands_rows;

/* The row of a name, or NULL with error, which says what is near. */
const struct control_command *control_find(const char *name, char *error, size_t error_size);

/* The table for people and as roff for the manual page. */
void control_print_help(FILE *out);
void control_print_roff(FILE *out);

/*
 * Answer a request of len bytes, which has come by fd. Returns a line to be freed, NULL when memory is short. *later: the
 * answer will be written by somebody who has a copy of fd, and there is none now.
 */
char *control_answer(struct server *server, int fd, const char *request, size_t len, bool *later);

/* The line that refuses a request. Returns as control_answer(). */
char *control_refusal(const char *why);

/* The line that tells of a new server. Returns as control_answer(). */
char *control_restarted(long pid);

/* A string; what is no UTF-8 gets octal escapes. */
json_t *control_text(const char *text);

/* control_server.c: the functions of the commands, as in struct control_command. */
#define CONTROL_COMMAND(name) \
    int control_##name(struct server *server, const char *const *texts, json_t **result, char *error, \
                       size_t error_size)
CONTROL_COMMAND(status);
CONTROL_COMMAND(stats);
CONTROL_COMMAND(show);
CONTROL_COMMAND(set);
int control_restart(struct server *server, int fd, char *error, size_t error_size);

/* control_exports.c */
CONTROL_COMMAND(exports_show);
CONTROL_COMMAND(exports_reload);
CONTROL_COMMAND(exports_check);
CONTROL_COMMAND(exports_diff);
CONTROL_COMMAND(exports_add);
CONTROL_COMMAND(exports_remove);

/* control_faults.c */
CONTROL_COMMAND(fault_add);
CONTROL_COMMAND(fault_load);
CONTROL_COMMAND(fault_list);
CONTROL_COMMAND(fault_clear);
CONTROL_COMMAND(crash);
CONTROL_COMMAND(pause);
CONTROL_COMMAND(resume);
/* control_seeing.c */
CONTROL_COMMAND(journal_open);
CONTROL_COMMAND(journal_close);
CONTROL_COMMAND(capture_open);
CONTROL_COMMAND(capture_close);
#undef CONTROL_COMMAND

/* control_print.c: their results for people. */
void control_print_status(FILE *out, const json_t *result);
void control_print_stats(FILE *out, const json_t *result);
void control_print_restarted(FILE *out, const json_t *result);
void control_print_settings(FILE *out, const json_t *result);
void control_print_exports(FILE *out, const json_t *result);
void control_print_loaded(FILE *out, const json_t *result);
void control_print_diff(FILE *out, const json_t *result);
void control_print_lost(FILE *out, const json_t *result);

/* control_faults.c, likewise. */
void control_print_fault(FILE *out, const json_t *result);
void control_print_fault_load(FILE *out, const json_t *result);
void control_print_faults(FILE *out, const json_t *result);

#endif
