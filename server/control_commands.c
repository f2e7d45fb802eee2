/* server/control_commands.c - see control_commands.h. */
#include "server/control_commands.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/log.h"
#include "server/text.h"

#define ERROR_MAX EXPORTS_ERROR_MAX
#define HEAD_MAX 64
#define HELP_INDENT 26
#define SHOWN_MAX 64                                     /* bytes of a wrong word that are shown */

#define ARGUMENT(text)  { .name = text }
#define OPTIONAL(text)  { .name = text, .optional = true }

const struct control_command control_commands[] = {
    { "status", .run = control_status, .print = control_print_status,
      .help = "Tell what the server is and how it is doing." },
    { "stats", .run = control_stats, .print = control_print_stats,
      .help = "Print the counters since the start: calls, bytes, procedures and how they ended, flushes, threads, "
              "buffers, log, mounts." },
    { "show", { OPTIONAL("key") }, control_show, control_print_settings,
      .help = "Print the settings, or one of them; those marked with * can be changed with set." },
    { "set", { ARGUMENT("key"), ARGUMENT("value") }, control_set, NULL,
      .help = "Change a setting until the server ends." },
    { "restart", .later = control_restart, .print = control_print_restarted,
      .help = "Start the server's program anew, with the same arguments and with what the files say now, and let it go on "
              "where this one is: clients notice nothing. If it does not start, all stays as it was." },
    { "journal open", { { .name = "file", .file = true, .made = true }, OPTIONAL("data") }, control_journal_open, NULL,
      .help = "Write calls to this file from now on (ringnfs-journal(5)); DATA is digest (the default) or whole." },
    { "journal close", .run = control_journal_close, .print = control_print_lost,
      .help = "Write what has been seen so far, and close the journal." },
    { "capture open", { { .name = "file", .file = true, .made = true } }, control_capture_open, NULL,
      .help = "Write calls to this file from now on, as packets that tshark and wireshark open." },
    { "capture close", .run = control_capture_close, .print = control_print_lost,
      .help = "Write what has been seen so far, and close the capture file." },
    { "exports show", .run = control_exports_show, .print = control_print_exports,
      .help = "Print the exports in use as exportfs -v does." },
    { "exports reload", .run = control_exports_reload, .print = control_print_loaded,
      .help = "Read the exports again; if there is a mistake in them, all stays as it was." },
    { "exports check", { { .name = "file", .file = true } }, control_exports_check, control_print_loaded,
      .help = "Tell the mistakes in a file of exports (or the *.exports of a directory), a line each, and change "
              "nothing." },
    { "exports diff", { { .name = "file", .optional = true, .file = true } }, control_exports_diff, control_print_diff,
      .help = "Tell what would change for whom if this file were read instead of all files, or, without one, what a "
              "reload would change." },
    { "exports add", { ARGUMENT("line") }, control_exports_add, control_print_loaded,
      .help = "Export what this line of exports(5) says, on top of the files, until the server ends." },
    { "exports remove", { ARGUMENT("path") }, control_exports_remove, control_print_loaded,
      .help = "Export this path no longer, whatever the files say, until the server ends or it is added again." },
    { "fault add", { ARGUMENT("rule") }, control_fault_add, control_print_fault,
      .help = "Have calls go wrong as this rule of ringnfs-faults(5) says, and print the rule's number. This and what "
              "follows are for servers that were started with --allow-faults, --fault, --faults or --ephemeral." },
    { "fault load", { { .name = "file", .file = true } }, control_fault_load, control_print_fault_load,
      .help = "Add the rules of a file, all of them or none." },
    { "fault list", .run = control_fault_list, .print = control_print_faults,
      .help = "Print the rules, how many calls each has matched, and for how many it has fired." },
    { "fault clear", { OPTIONAL("number") }, control_fault_clear, NULL,
      .help = "Take away the rule of this number, or all rules." },
    { "crash", .run = control_crash,
      .help = "Lose connections, replay cache and unstable data of memory exports, as a machine that lost its power." },
    { "pause", .run = control_pause, .help = "Accept, read and send nothing until it is resumed." },
    { "resume", .run = control_resume, .help = "Go on after a pause." },
};

const size_t control_commands_rows = sizeof(control_commands) / sizeof(control_commands[0]);

static const char *
command_name(size_t i)
{
    return i < control_commands_rows ? control_commands[i].name : NULL;
}

const struct control_command *
control_find(const char *name, char *error, size_t error_size)
{
    char shown[SHOWN_MAX], hint[SHOWN_MAX];

    for (size_t i = 0; i < control_commands_rows; i++)
        if (strcmp(control_commands[i].name, name) == 0)
            return &control_commands[i];
    snprintf(error, error_size, "unknown command %s%s", log_quote(shown, sizeof(shown), name, strlen(name)),
             text_suggest(hint, sizeof(hint), name, command_name));
    return NULL;
}

/* "set KEY VALUE", "show [KEY]" */
static const char *
format_head(const struct control_command *command, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", command->name);

    for (const struct control_argument *argument = command->arguments; argument->name != NULL; argument++) {
        size_t start = used;

        used += (size_t)snprintf(out + used, size - used, argument->optional ? " [%s]" : " %s", argument->name);
        for (; start < used; start++)
            out[start] = (char)toupper((unsigned char)out[start]);
    }
    return out;
}

void
control_print_help(FILE *out)
{
    char head[HEAD_MAX];

    for (size_t i = 0; i < control_commands_rows; i++)
        text_print_help(out, format_head(&control_commands[i], head, sizeof(head)), HELP_INDENT,
                        control_commands[i].help);
}

void
control_print_roff(FILE *out)
{
    char head[HEAD_MAX];

    for (size_t i = 0; i < control_commands_rows; i++) {
        const struct control_command *command = &control_commands[i];
        size_t name_len = strlen(command->name);

        format_head(command, head, sizeof(head));
        fprintf(out, ".TP\n.B ");
        text_print_roff(out, command->name);
        if (head[name_len] != '\0') {
            fprintf(out, "\\fI");
            text_print_roff(out, head + name_len);
            fprintf(out, "\\fR");
        }
        fprintf(out, "\n");
        text_print_roff(out, command->help);
        fprintf(out, "\n");
    }
}

/* A line of an object, which is taken over. */
static char *
to_line(json_t *object)
{
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT) : NULL;
    size_t len = text != NULL ? strlen(text) : 0;
    char *line = text != NULL ? realloc(text, len + 2) : NULL;

    json_decref(object);
    if (line == NULL) {
        free(text);
        return NULL;
    }
    memcpy(line + len, "\n", 2);
    return line;
}

json_t *
control_text(const char *text)
{
    char plain[ERROR_MAX];
    json_t *string = json_string(text);

    return string != NULL ? string : json_string(log_quote(plain, sizeof(plain), text, strlen(text)));
}

char *
control_refusal(const char *why)
{
    return to_line(json_pack("{s:b, s:o}", "ok", 0, "error", control_text(why)));
}

char *
control_restarted(long pid)
{
    return to_line(json_pack("{s:b, s:{s:I, s:I}}", "ok", 1, "result", "pid", (json_int_t)pid, "old_pid",
                             (json_int_t)getpid()));
}

/* Those of all commands, since nothing else tells text_near() which command it is about; "" is near to nothing. */
static const char *
argument_name(size_t i)
{
    const char *name;

    if (i >= control_commands_rows * CONTROL_ARGUMENTS_MAX)
        return NULL;
    name = control_commands[i / CONTROL_ARGUMENTS_MAX].arguments[i % CONTROL_ARGUMENTS_MAX].name;
    return name != NULL ? name : "";
}

/* The place of an argument, or of the end when the command has none of that name. */
static size_t
find_argument(const struct control_command *command, const char *name)
{
    size_t i;

    for (i = 0; command->arguments[i].name != NULL && strcmp(command->arguments[i].name, name) != 0; i++)
        continue;
    return i;
}

static int
refuse_argument(const struct control_command *command, const char *name, char *error, size_t error_size)
{
    const char *near = text_near(name, argument_name);
    char shown[SHOWN_MAX], hint[SHOWN_MAX] = "";

    if (near != NULL && command->arguments[find_argument(command, near)].name != NULL)
        snprintf(hint, sizeof(hint), " (did you mean %s?)", near);
    snprintf(error, error_size, "%s: unknown argument %s%s", command->name,
             log_quote(shown, sizeof(shown), name, strlen(name)), hint);
    return -EINVAL;
}

/* A file's name must say the same to the server as to whoever gave it, and reading it must come to an end. */
static int
check_file(const struct control_command *command, const char *path, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    const char *wrong = NULL;
    struct stat st;

    if (path[0] != '/')
        wrong = "is not an absolute path";
    else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        wrong = "is neither a file nor a directory";
    if (wrong == NULL)
        return 0;
    snprintf(error, error_size, "%s: %s %s", command->name, log_quote(shown, sizeof(shown), path, strlen(path)), wrong);
    return -EINVAL;
}

/* Find the texts of a command's arguments; they belong to the request. */
static int
read_arguments(const struct control_command *command, json_t *request, const char *texts[CONTROL_ARGUMENTS_MAX],
               char *error, size_t error_size)
{
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(request, key, value) {
        if (strcmp(key, "command") == 0)
            continue;
        i = find_argument(command, key);
        if (command->arguments[i].name == NULL)
            return refuse_argument(command, key, error, error_size);
        texts[i] = json_string_value(value);
        if (texts[i] == NULL) {
            snprintf(error, error_size, "%s: %s must be a string", command->name, key);
            return -EINVAL;
        }
    }
    for (i = 0; command->arguments[i].name != NULL; i++) {
        const struct control_argument *argument = &command->arguments[i];

        if (texts[i] == NULL && !argument->optional) {
            snprintf(error, error_size, "%s: %s is missing", command->name, argument->name);
            return -EINVAL;
        }
        if (texts[i] != NULL && argument->file && check_file(command, texts[i], error, error_size) < 0)
            return -EINVAL;
    }
    return 0;
}

/* Have a command answered later, by a descriptor of its own. Returns -EINPROGRESS, or -errno with error. */
static int
defer(const struct control_command *command, struct server *server, int fd, char *error, size_t error_size)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), err = copy < 0 ? -errno : 0;

    if (err < 0)
        snprintf(error, error_size, "%s: %s", command->name, strerror(-err));
    else if ((err = command->later(server, copy, error, error_size)) < 0)
        close(copy);
    return err < 0 ? err : -EINPROGRESS;
}

static int
run(struct server *server, int fd, json_t *request, json_t **result, char *error, size_t error_size)
{
    const char *texts[CONTROL_ARGUMENTS_MAX] = { NULL };
    const char *name = json_string_value(json_object_get(request, "command"));
    const struct control_command *command;
    int err;

    if (name == NULL) {
        snprintf(error, error_size, "a request is an object with a \"command\", which is a string");
        return -EINVAL;
    }
    command = control_find(name, error, error_size);
    if (command == NULL)
        return -EINVAL;
    err = read_arguments(command, request, texts, error, error_size);
    if (err == 0 && command->later != NULL)
        return defer(command, server, fd, error, error_size);
    return err < 0 ? err : command->run(server, texts, result, error, error_size);
}

char *
control_answer(struct server *server, int fd, const char *bytes, size_t len, bool *later)
{
    char error[ERROR_MAX] = "";
    json_t *request, *result = NULL;
    json_error_t mistake;
    int err;

    *later = false;
    request = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &mistake);
    if (request == NULL) {
        snprintf(error, sizeof(error), "the request is no JSON: %s", mistake.text);
        return control_refusal(error);
    }
    err = run(server, fd, request, &result, error, sizeof(error));
    json_decref(request);
    *later = err == -EINPROGRESS;
    if (*later)
        return NULL;
    if (err < 0)
        return control_refusal(error);
    return to_line(json_pack("{s:b, s:o}", "ok", 1, "result", result));
}
