/* server/ctl_replay.c - see ctl_replay.h. */
#include "server/ctl_replay.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log.h"
#include "server/replay.h"
#include "server/seen_json.h"
#include "server/text.h"

#define EXIT_DIFFERENT 1
#define EXIT_TROUBLE 2
#define ERROR_MAX 1024
#define SHOWN_MAX 256                   /* bytes of a path or a wrong word that are shown */
#define HELP_INDENT 26
#define LONG_VALUE 256                  /* getopt's value of row i is LONG_VALUE + i */
#define TIMEOUT_MAX 86400u              /* seconds */

struct replay_options {
    struct replay_target_config target;
    struct replay_config config;
    const char *file;
    bool json;
};

enum option_kind { KIND_SERVER, KIND_PORT, KIND_MOUNT_PORT, KIND_ROOT, KIND_TIMEOUT, KIND_STRICT, KIND_JSON, KIND_HELP };

static const struct option_row {
    const char *name;
    const char *argument;               /* NULL: there is none */
    const char *help;
} rows[] = {
    [KIND_SERVER] = { "server", "HOST", "The server that the calls are sent to; default 127.0.0.1." },
    [KIND_PORT] = { "port", "N", "Its port for NFS; default 2049." },
    [KIND_MOUNT_PORT] = { "mount-port", "N", "Its port for MOUNT; default what rpcbind there says, or with --port that "
                                           "one." },
    [KIND_ROOT] = { "root", "PATH", "The first handle that nothing in the recording has given is that of this path: for a "
                                    "recording that began after the client had mounted." },
    [KIND_TIMEOUT] = { "timeout", "SECONDS", "How long a reply may take; default 60." },
    [KIND_STRICT] = { "strict", NULL, "Compare times, numbers of files, sizes of directories and of the disk as well." },
    [KIND_JSON] = { "json", NULL, "Print each difference, and the counts at the end, as a line of JSON." },
    [KIND_HELP] = { "help", NULL, "Print this." },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int
complain(const char *what, const char *why)
{
    fprintf(stderr, "ringnfsctl: replay: %s%s%s\n", what, why != NULL ? ": " : "", why != NULL ? why : "");
    return EXIT_TROUBLE;
}

static int
print_help(void)
{
    char head[SHOWN_MAX];

    printf("Usage: ringnfsctl replay [OPTION]... FILE\n"
           "Send the calls of a journal or a capture file to an NFSv3 server, and list the replies that differ.\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(head, sizeof(head), "  --%s%s%s", rows[i].name, rows[i].argument != NULL ? " " : "",
                 rows[i].argument != NULL ? rows[i].argument : "");
        text_print_help(stdout, head, HELP_INDENT, rows[i].help);
    }
    printf("\nIt ends with 0 when nothing differs, 1 when something does, and 2 when not all could be sent.\n");
    return EXIT_SUCCESS;
}

/* Returns whether it is a number from 1 to max; else it has been told. */
static bool
read_number(const char *option, const char *text, uint64_t max, uint64_t *number)
{
    char what[SHOWN_MAX], shown[SHOWN_MAX / 2];

    if (text_number(text, number) == 0 && *number > 0 && *number <= max)
        return true;
    snprintf(what, sizeof(what), "--%s: %s is no number from 1 to %" PRIu64, option,
             log_quote(shown, sizeof(shown), text, strlen(text)), max);
    complain(what, NULL);
    return false;
}

static bool
take_option(struct replay_options *options, enum option_kind kind, const char *argument)
{
    uint64_t number = 0;
    bool good = true;

    switch (kind) {
    case KIND_SERVER:
        options->target.host = argument;
        break;
    case KIND_PORT:
        good = read_number(rows[kind].name, argument, UINT16_MAX, &number);
        options->target.port = (uint16_t)number;
        break;
    case KIND_MOUNT_PORT:
        good = read_number(rows[kind].name, argument, UINT16_MAX, &number);
        options->target.mount_port = (uint16_t)number;
        break;
    case KIND_ROOT:
        options->config.root = argument;
        break;
    case KIND_TIMEOUT:
        good = read_number(rows[kind].name, argument, TIMEOUT_MAX, &number);
        options->target.timeout_ms = (int)number * 1000;
        break;
    case KIND_STRICT:
        options->config.strict = true;
        break;
    case KIND_JSON:
        options->json = true;
        break;
    case KIND_HELP:
        break;
    }
    return good;
}

/* Returns an exit status, or -1 to go on. */
static int
read_options(struct replay_options *options, int argc, char **argv)
{
    struct option longs[ROWS + 1] = { { NULL, 0, NULL, 0 } };
    int found;

    for (size_t i = 0; i < ROWS; i++)
        longs[i] = (struct option){ rows[i].name, rows[i].argument != NULL ? required_argument : no_argument, NULL,
                                    LONG_VALUE + (int)i };
    while ((found = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (found < LONG_VALUE)
            return EXIT_TROUBLE;
        if (found == LONG_VALUE + KIND_HELP)
            return print_help();
        if (!take_option(options, (enum option_kind)(found - LONG_VALUE), optarg))
            return EXIT_TROUBLE;
    }
    if (optind != argc - 1)
        return complain(optind == argc ? "a file is missing" : "one file at a time", "ringnfsctl replay --help");
    options->file = argv[optind];
    return -1;
}

static void
print_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static json_t *
text_or_null(const char *text)
{
    return text != NULL ? seen_json_name(text, strlen(text)) : json_null();
}

static void
tell(void *context, const struct replay_difference *difference)
{
    const struct replay_options *options = context;
    char path[SHOWN_MAX];

    if (options->json) {
        print_json(json_pack("{s:I, s:s, s:o, s:o, s:o, s:o}", "at", (json_int_t)difference->at, "proc",
                             difference->procedure, "path", text_or_null(difference->path), "field",
                             text_or_null(difference->field), "recorded", text_or_null(difference->recorded), "now",
                             text_or_null(difference->now)));
        return;
    }
    printf("%" PRIu64 ": %s", difference->at, difference->procedure);
    if (difference->path != NULL)
        printf(" %s", log_quote(path, sizeof(path), difference->path, strlen(difference->path)));
    printf(": %s: recorded %s, now %s\n", difference->field, difference->recorded, difference->now);
}

static void
print_count(uint64_t count, const char *what)
{
    if (count > 0)
        printf("%" PRIu64 " %s\n", count, what);
}

static void
print_counts(const struct replay_options *options, const struct replay_counts *counts, const struct replay_left_out *left)
{
    if (options->json) {
        print_json(json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "calls", (json_int_t)counts->calls, "differences",
                             (json_int_t)counts->differences, "unknown", (json_int_t)counts->unknown, "copies",
                             (json_int_t)counts->copies, "lost", (json_int_t)left->lost, "torn", (json_int_t)left->torn,
                             "sealed", (json_int_t)left->sealed, "unanswered", (json_int_t)left->unanswered));
        return;
    }
    printf("%" PRIu64 " calls sent, %" PRIu64 " differences\n", counts->calls, counts->differences);
    print_count(counts->unknown, "calls not sent: nothing in the recording gives their handles (see --root)");
    print_count(counts->copies, "calls not sent: retransmissions, without a reply, or told to come again");
    print_count(left->lost, "calls are missing in the recording, as it says itself");
    print_count(left->torn, "pieces of the capture do not go together: calls are missing");
    print_count(left->sealed, "calls not sent: they have RPCSEC_GSS");
    print_count(left->unanswered, "calls not sent: the capture has no replies to them");
}

/* Returns an exit status. */
static int
run(struct replay_options *options, struct replay_source *source)
{
    struct replay_target *target;
    struct replay_counts counts;
    char error[ERROR_MAX] = "";
    int err = replay_target_open(&options->target, &target, error, sizeof(error));

    if (err < 0)
        return complain(error, NULL);
    err = replay_run(source, target, &options->config, &counts, error, sizeof(error));
    replay_target_close(target);
    print_counts(options, &counts, &source->left_out);
    if (fflush(stdout) != 0)
        return complain("standard output", strerror(errno));
    if (err < 0)
        return complain(options->file, error);
    if (counts.unknown + source->left_out.lost + source->left_out.torn + source->left_out.sealed > 0)
        return EXIT_TROUBLE;
    return counts.differences > 0 ? EXIT_DIFFERENT : EXIT_SUCCESS;
}

int
ctl_replay(int argc, char **argv)
{
    struct replay_options options = { .target = { .host = "127.0.0.1", .timeout_ms = 60000 }, .config = { .tell = tell } };
    int status = read_options(&options, argc, argv);
    struct replay_source *source;
    char error[ERROR_MAX] = "";

    if (status >= 0)
        return status;
    options.config.context = &options;
    if (replay_source_open(options.file, &source, error, sizeof(error)) < 0)
        return complain(options.file, error);
    status = run(&options, source);
    replay_source_free(source);
    return status;
}
