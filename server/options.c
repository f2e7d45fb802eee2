/* server/options.c - see options.h. */
#include "server/options.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/address.h"
#include "server/log.h"
#include "server/starter.h"
#include "server/text.h"

#define EXPORTS_FILE "/etc/exports"
#define EXPORTS_DIR "/etc/exports.d/"                    /* the slash: it may be missing */
#define SHOWN_MAX 128                                    /* bytes of a wrong word that are shown */
#define REASON_MAX 512                                   /* bytes of a line from another module */
#define HELP_INDENT 30
#define LONG_VALUE 256                                   /* getopt's value of row i is LONG_VALUE + i */

enum option_kind {
    KIND_SETTING,                       /* name is a setting; the value is the argument */
    KIND_SET, KIND_CONFIG, KIND_EXPORT, KIND_EXPORTS, KIND_FILL, KIND_ADDRESS, KIND_READY_FD, KIND_PRINT_PORTS,
    KIND_FOREGROUND, KIND_EPHEMERAL, KIND_PARENT_DEATH, KIND_TAKE_OVER, KIND_FAULT, KIND_FAULTS, KIND_ALLOW_FAULTS,
    KIND_ACTION                         /* do something else than to serve */
};

struct option_row {
    const char *name;
    char letter;                        /* '\0': none */
    const char *argument;               /* for people; NULL: there is none */
    enum option_kind kind;
    const char *setting;                /* KIND_SETTING */
    enum options_action action;         /* KIND_ACTION */
    const char *help;                   /* NULL: for the build only */
    bool optional;                      /* the argument: it is given as --NAME=ARGUMENT, or not at all */
};

static const struct option_row rows[] = {
    { "export", 'e', "LINE", KIND_EXPORT,
      .help = "Export what this line of exports(5) says, e.g. '/srv/data 10.0.0.0/8(rw)'; may be repeated." },
    { "exports", 'E', "FILE", KIND_EXPORTS,
      .help = "Read exports from this file, or from all *.exports of this directory; may be repeated. Without -e and "
              "-E: /etc/exports and /etc/exports.d/*.exports." },
    { "fill", '\0', "EXPORT=SOURCE", KIND_FILL,
      .help = "Fill a memory: export at the start with all that is in a directory, or in a tar archive, compressed or not, "
              "e.g. /x=tests/tree.tar.gz; may be repeated." },
    { "config", 'c', "FILE", KIND_CONFIG, .help = "Read settings from this file." },
    { "port", 'p', "N", KIND_SETTING, .setting = "port",
      .help = "TCP and UDP port, default 2049; 0 lets the kernel choose." },
    { "mount-port", 'm', "N", KIND_SETTING, .setting = "mount_port",
      .help = "Another port for MOUNT; default: the same." },
    { "address", 'a', "ADDR", KIND_ADDRESS,
      .help = "Listen on this IPv4 or IPv6 address, or on a Unix socket if it is an absolute path; may be repeated. Only "
              "its owner and root can connect to such a socket, and count as root on this machine. Default: all addresses." },
    { "rpcbind", '\0', "auto|system|off", KIND_SETTING, .setting = "rpcbind",
      .help = "Whether to register with the system's rpcbind." },
    { "threads", '\0', "N", KIND_SETTING, .setting = "threads",
      .help = "Threads for operations that wait for a disk, default 8." },
    { "set", '\0', "KEY=VALUE", KIND_SET, .help = "Change a setting (--help-settings lists them); may be repeated." },
    { "journal", '\0', "FILE", KIND_SETTING, .setting = "journal",
      .help = "Write all calls and their results to this file as lines of JSON (ringnfs-journal(5))." },
    { "capture", '\0', "FILE", KIND_SETTING, .setting = "capture",
      .help = "Write all calls and their results to this file as packets that tshark and wireshark open, in the clear." },
    { "foreground", 'f', NULL, KIND_FOREGROUND, .help = "Stay in the foreground." },
    { "print-ports", '\0', NULL, KIND_PRINT_PORTS,
      .help = "Print a line of JSON with the ports, and how to mount each export, once calls are accepted." },
    { "ready-fd", '\0', "N", KIND_READY_FD,
      .help = "Write the same line to this descriptor and close it." },
    { "ephemeral", '\0', NULL, KIND_EPHEMERAL,
      .help = "Leave nothing behind, for tests: state is kept in a directory of its own below $TMPDIR that is gone at the "
              "end, /etc/exports is not read, the kernel chooses the port, rpcbind is left alone, and only 127.0.0.1 is "
              "listened on, unless other options say otherwise. It stays in the foreground." },
    { "parent-death", '\0', "PID", KIND_PARENT_DEATH, .optional = true,
      .help = "End, as by SIGTERM, when the process does that has started it, or the one with this number, however that "
              "ends. With the number it is noticed even if that process has ended before the server could look. It "
              "stays in the foreground." },
    { "fault", '\0', "RULE", KIND_FAULT,
      .help = "Have calls go wrong as this rule says, for tests of clients, e.g. 'when proc=READ nth=3 do error=JUKEBOX' "
              "(--help-faults, ringnfs-faults(5)); may be repeated." },
    { "faults", '\0', "FILE", KIND_FAULTS, .help = "The same with the rules of a file, one in a line; may be repeated." },
    { "allow-faults", '\0', NULL, KIND_ALLOW_FAULTS,
      .help = "Let ringnfsctl add rules of faults, crash and pause this server, as --fault, --faults and --ephemeral do." },
    { "check", '\0', NULL, KIND_ACTION, .action = ACTION_CHECK,
      .help = "Check settings and exports, tell all mistakes in the exports, a line each, and end: 0 if there are none, 1 or "
              "2 as at a start." },
    { "help", 'h', NULL, KIND_ACTION, .action = ACTION_HELP, .help = "Print this." },
    { "help-settings", '\0', NULL, KIND_ACTION, .action = ACTION_HELP_SETTINGS, .help = "Print all settings." },
    { "help-exports", '\0', NULL, KIND_ACTION, .action = ACTION_HELP_EXPORTS, .help = "Print all export options." },
    { "help-faults", '\0', NULL, KIND_ACTION, .action = ACTION_HELP_FAULTS,
      .help = "Print how rules of faults are written." },
    { "version", 'V', NULL, KIND_ACTION, .action = ACTION_VERSION, .help = "Print the version." },
    { STARTER_OPTION, '\0', "N", KIND_TAKE_OVER, .help = NULL },
    { "print-roff", '\0', "options|settings|exports|faults", KIND_ACTION, .action = ACTION_ROFF },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static const char *
row_name(size_t i)
{
    return i < ROWS ? rows[i].name : NULL;
}

/* What getopt_long() wants: long options, and ":e:E:...". */
static void
make_getopt(struct option longs[ROWS + 1], char shorts[2 * ROWS + 2])
{
    size_t i, used = 0;

    memset(longs, 0, (ROWS + 1) * sizeof(*longs));
    shorts[used++] = ':';                                /* tell a missing argument from an unknown option */
    for (i = 0; i < ROWS; i++) {
        longs[i].name = rows[i].name;
        longs[i].has_arg = rows[i].argument == NULL ? no_argument : rows[i].optional ? optional_argument
                                                                                     : required_argument;
        longs[i].val = LONG_VALUE + (int)i;
        if (rows[i].letter == '\0')
            continue;
        shorts[used++] = rows[i].letter;
        if (rows[i].argument != NULL)
            shorts[used++] = ':';
    }
    shorts[used] = '\0';
}

static const struct option_row *
find_row(int value)
{
    size_t i;

    if (value >= LONG_VALUE && (size_t)(value - LONG_VALUE) < ROWS)
        return &rows[value - LONG_VALUE];
    for (i = 0; i < ROWS; i++)
        if (value != '\0' && rows[i].letter == value)
            return &rows[i];
    return NULL;
}

static int
refuse_long(const char *word, char *error, size_t error_size)
{
    char name[SHOWN_MAX], shown[SHOWN_MAX];
    const char *near;
    size_t i, like = 0;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (i = 0; i < ROWS; i++)
        like += strncmp(rows[i].name, name, strlen(name)) == 0;
    log_quote(shown, sizeof(shown), name, strlen(name));
    near = text_near(name, row_name);
    if (like > 1)
        snprintf(error, error_size, "option --%s is ambiguous", shown);
    else if (near != NULL)
        snprintf(error, error_size, "unknown option --%s (did you mean --%s?)", shown, near);
    else
        snprintf(error, error_size, "unknown option --%s", shown);
    return -EINVAL;
}

/* Say what getopt_long() did not like; word is where it stands. */
static int
refuse_option(int found, const char *word, char *error, size_t error_size)
{
    const struct option_row *row = find_row(optopt);
    char letter = (char)optopt, shown[SHOWN_MAX];

    if (found == ':') {
        assert(row != NULL);
        snprintf(error, error_size, "option --%s needs a value (%s)", row->name, row->argument);
    } else if (optopt == 0) {
        return refuse_long(word, error, error_size);
    } else if (row != NULL) {
        snprintf(error, error_size, "option --%s takes no value", row->name);
    } else {
        snprintf(error, error_size, "unknown option -%s", log_quote(shown, sizeof(shown), &letter, 1));
    }
    return -EINVAL;
}

static int
take_set(struct options *options, const char *text, char *error, size_t error_size)
{
    const char *equals = strchr(text, '=');
    char shown[SHOWN_MAX];
    char *key;
    int err;

    if (equals == NULL || equals == text) {
        snprintf(error, error_size, "--set %s: this is not KEY=VALUE",
                 log_quote(shown, sizeof(shown), text, strlen(text)));
        return -EINVAL;
    }
    key = strndup(text, (size_t)(equals - text));
    if (key == NULL) {
        snprintf(error, error_size, "--set: out of memory");
        return -ENOMEM;
    }
    err = settings_set(&options->settings, key, equals + 1, error, error_size);
    free(key);
    return err;
}

static int
take_fill(struct options *options, const char *text, char *error, size_t error_size)
{
    const char *equals = strchr(text, '=');
    struct server_fill *fill = &options->fills[options->nfills];
    char shown[SHOWN_MAX];

    if (equals == NULL || equals == text || equals[1] == '\0') {
        snprintf(error, error_size, "--fill %s: this is not EXPORT=SOURCE",
                 log_quote(shown, sizeof(shown), text, strlen(text)));
        return -EINVAL;
    }
    options->nfills++;
    fill->export = strndup(text, (size_t)(equals - text));
    fill->source = strdup(equals + 1);
    if (fill->export != NULL && fill->source != NULL)
        return 0;
    snprintf(error, error_size, "--fill: out of memory");
    return -ENOMEM;
}

static int
take_address(struct options *options, const char *text, char *error, size_t error_size)
{
    char reason[REASON_MAX];
    int err = address_parse(text, &options->addresses[options->naddresses], reason, sizeof(reason));

    if (err < 0)
        snprintf(error, error_size, "--address: %s", reason);
    else
        options->naddresses++;
    return err;
}

static int
take_descriptor(const char *name, const char *text, int *out, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    uint64_t fd;

    if (text_number(text, &fd) < 0 || fd > INT_MAX || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
        snprintf(error, error_size, "--%s: %s is not an open descriptor", name,
                 log_quote(shown, sizeof(shown), text, strlen(text)));
        return -EINVAL;
    }
    *out = (int)fd;
    return 0;
}

static int
take_parent(struct options *options, const char *text, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    uint64_t pid = 0;

    if (text != NULL && (text_number(text, &pid) < 0 || pid == 0 || pid > INT_MAX)) {
        snprintf(error, error_size, "--parent-death: %s is not the number of a process",
                 log_quote(shown, sizeof(shown), text, strlen(text)));
        return -EINVAL;
    }
    options->parent_death = options->foreground = true;
    options->parent = (pid_t)pid;
    return 0;
}

/* There may be faults; rule and file NULL: none of them yet. */
static int
take_faults(struct options *options, const char *rule, const char *file, char *error, size_t error_size)
{
    char reason[REASON_MAX];
    int err = options->faults == NULL ? faults_new(&options->faults) : 0;

    if (err < 0)
        snprintf(reason, sizeof(reason), "out of memory");
    else if (rule != NULL)
        err = faults_add(options->faults, rule, reason, sizeof(reason));
    else if (file != NULL)
        err = faults_load(options->faults, file, reason, sizeof(reason));
    if (err < 0)
        snprintf(error, error_size, "--%s: %s", rule != NULL ? "fault" : "faults", reason);
    return err < 0 ? err : 0;
}

static int
take_string(char **list, size_t *count, const char *text, char *error, size_t error_size)
{
    list[*count] = strdup(text);
    if (list[*count] == NULL) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    ++*count;
    return 0;
}

/* Do what an option says; what is for the other passes has been done. */
static int
take_option(struct options *options, const struct option_row *row, const char *argument, char *error,
            size_t error_size)
{
    switch (row->kind) {
    case KIND_SETTING:
        return settings_set(&options->settings, row->setting, argument, error, error_size);
    case KIND_SET:
        return take_set(options, argument, error, error_size);
    case KIND_CONFIG:
        return 0;
    case KIND_EXPORT:
        return take_string(options->lines, &options->nlines, argument, error, error_size);
    case KIND_EXPORTS:
        return take_string(options->files, &options->nfiles, argument, error, error_size);
    case KIND_FILL:
        return take_fill(options, argument, error, error_size);
    case KIND_ADDRESS:
        return take_address(options, argument, error, error_size);
    case KIND_READY_FD:                                  /* where the server is has been told at its first start */
        return options->channel < 0 ? take_descriptor(row->name, argument, &options->ready_fd, error, error_size) : 0;
    case KIND_PRINT_PORTS:
        options->print_ports = options->channel < 0;
        return 0;
    case KIND_FOREGROUND:
        options->foreground = true;
        return 0;
    case KIND_EPHEMERAL:
    case KIND_TAKE_OVER:
        return 0;
    case KIND_PARENT_DEATH:
        return take_parent(options, argument, error, error_size);
    case KIND_FAULT:
        return take_faults(options, argument, NULL, error, error_size);
    case KIND_FAULTS:
        return take_faults(options, NULL, argument, error, error_size);
    case KIND_ALLOW_FAULTS:
        return take_faults(options, NULL, NULL, error, error_size);
    case KIND_ACTION:
        options->action = row->action;
        options->roff = argument;
        return 0;
    }
    return -EINVAL;
}

/* What is usual for a server in a test; files and options may say otherwise. */
static void
use_ephemeral_defaults(struct options *options)
{
    options->ephemeral = options->foreground = true;
    options->settings.port = 0;
    options->settings.rpcbind = RPCBIND_OFF;
    options->settings.memory_unstable = true;
}

/* The command line is gone through for one thing after the other: what is said later overrides what was said before. */
enum pass { PASS_DEFAULTS, PASS_CONFIG, PASS_REST };

static int
walk(struct options *options, int argc, char **argv, enum pass pass, char *error, size_t error_size)
{
    struct option longs[ROWS + 1];
    char shorts[2 * ROWS + 2], shown[SHOWN_MAX];
    int found, err = 0;

    make_getopt(longs, shorts);
    optind = 0;                                          /* glibc: begin afresh */
    opterr = 0;
    while (err == 0 && (found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        const struct option_row *row = find_row(found);

        if (row == NULL)
            return refuse_option(found, argv[optind - 1], error, error_size);
        if (pass == PASS_DEFAULTS && row->kind == KIND_EPHEMERAL)
            use_ephemeral_defaults(options);
        else if (pass == PASS_DEFAULTS && row->kind == KIND_TAKE_OVER)
            err = take_descriptor(row->name, optarg, &options->channel, error, error_size);
        else if (pass == PASS_CONFIG && row->kind == KIND_CONFIG)
            err = settings_load(&options->settings, optarg, error, error_size);
        else if (pass == PASS_REST)
            err = take_option(options, row, optarg, error, error_size);
    }
    if (err == 0 && optind < argc) {
        snprintf(error, error_size, "unexpected argument %s (directories are exported with -e 'DIR CLIENT(OPTIONS)')",
                 log_quote(shown, sizeof(shown), argv[optind], strlen(argv[optind])));
        return -EINVAL;
    }
    return err;
}

static int
use_default_exports(struct options *options, char *error, size_t error_size)
{
    int err;

    if (options->ephemeral) {
        snprintf(error, error_size, "nothing to export: use -e 'DIR CLIENT(OPTIONS)' or -E FILE (--ephemeral does not read "
                 EXPORTS_FILE ")");
        return -EINVAL;
    }
    if (access(EXPORTS_FILE, F_OK) < 0) {
        snprintf(error, error_size, "nothing to export: use -e 'DIR CLIENT(OPTIONS)' or -E FILE (there is no "
                 EXPORTS_FILE ")");
        return -EINVAL;
    }
    err = take_string(options->files, &options->nfiles, EXPORTS_FILE, error, error_size);
    if (err == 0)
        err = take_string(options->files, &options->nfiles, EXPORTS_DIR, error, error_size);
    return err;
}

/* A name below a directory, where it is no absolute one; NULL: there is none. */
static int
make_absolute(char **file, const char *dir)
{
    char *absolute;

    if (*file == NULL || (*file)[0] == '/' || (*file)[0] == '\0')
        return 0;
    if (asprintf(&absolute, "%s/%s", dir, *file) < 0)
        return -ENOMEM;
    free(*file);
    *file = absolute;
    return 0;
}

/* A daemon leaves the directory that it was started in, and still reads its files, now and when it is told to. */
static int
make_files_absolute(struct options *options, char *error, size_t error_size)
{
    char *cwd = getcwd(NULL, 0);
    size_t i;
    int err = cwd == NULL ? -errno : 0;

    for (i = 0; i < options->nfiles && err == 0; i++)
        err = make_absolute(&options->files[i], cwd);
    if (err == 0)
        err = make_absolute(&options->settings.journal, cwd);
    if (err == 0)
        err = make_absolute(&options->settings.capture, cwd);
    for (i = 0; i < options->nfills && err == 0; i++)
        err = make_absolute(&options->fills[i].source, cwd);
    free(cwd);
    if (err < 0)
        snprintf(error, error_size, "the current directory: %s", strerror(-err));
    return err;
}

/* Only this machine is served, unless an address was given. */
static int
finish_ephemeral(struct options *options, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    const char *dir = options->settings.state_dir;

    if (dir != NULL) {
        snprintf(error, error_size, "--ephemeral keeps no state: it does not go with state_dir=%s",
                 log_quote(shown, sizeof(shown), dir, strlen(dir)));
        return -EINVAL;
    }
    if (take_faults(options, NULL, NULL, error, error_size) < 0)
        return -ENOMEM;
    return options->naddresses > 0 ? 0 : take_address(options, "127.0.0.1", error, error_size);
}

int
options_parse(struct options *options, int argc, char **argv, char *error, size_t error_size)
{
    size_t room = (size_t)argc + 2;                      /* more than any list can get entries, with the defaults */
    int err;

    memset(options, 0, sizeof(*options));
    options->argv = argv;
    options->ready_fd = options->channel = -1;
    settings_init(&options->settings);
    options->files = calloc(room, sizeof(*options->files));
    options->lines = calloc(room, sizeof(*options->lines));
    options->addresses = calloc(room, sizeof(*options->addresses));
    options->fills = calloc(room, sizeof(*options->fills));
    if (options->fills == NULL || options->files == NULL || options->lines == NULL || options->addresses == NULL) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    err = walk(options, argc, argv, PASS_DEFAULTS, error, error_size);
    if (err == 0)
        err = walk(options, argc, argv, PASS_CONFIG, error, error_size);
    if (err == 0)
        err = walk(options, argc, argv, PASS_REST, error, error_size);
    if (err < 0 || (options->action != ACTION_SERVE && options->action != ACTION_CHECK))
        return err;
    err = settings_check(&options->settings, error, error_size);
    if (err == 0 && options->ephemeral)
        err = finish_ephemeral(options, error, error_size);
    if (err == 0 && options->nfiles == 0 && options->nlines == 0)
        err = use_default_exports(options, error, error_size);
    if (err == 0 && options->action == ACTION_SERVE && !options->foreground)
        err = make_files_absolute(options, error, error_size);
    return err;
}

void
options_fini(struct options *options)
{
    size_t i;

    for (i = 0; i < options->nfiles; i++)
        free(options->files[i]);
    for (i = 0; i < options->nlines; i++)
        free(options->lines[i]);
    for (i = 0; i < options->nfills; i++) {
        free(options->fills[i].export);
        free(options->fills[i].source);
    }
    free(options->fills);
    free(options->files);
    free(options->lines);
    free(options->addresses);
    faults_free(options->faults);
    settings_fini(&options->settings);
}

struct exports_source
options_exports(const struct options *options)
{
    return (struct exports_source){
        .files = (const char *const *)options->files, .nfiles = options->nfiles,
        .lines = (const char *const *)options->lines, .nlines = options->nlines
    };
}

void
options_print_help(FILE *out)
{
    size_t i;

    fprintf(out, "Usage: ringnfsd [OPTION]...\nServe directories over NFSv3.\n\n");
    for (i = 0; i < ROWS; i++) {
        const struct option_row *row = &rows[i];
        char head[64];

        if (row->help == NULL)
            continue;
        snprintf(head, sizeof(head), "%c%c%s --%s%s%s%s", row->letter != '\0' ? '-' : ' ',
                 row->letter != '\0' ? row->letter : ' ', row->letter != '\0' ? "," : " ", row->name,
                 row->optional ? "[=" : row->argument != NULL ? " " : "", row->argument != NULL ? row->argument : "",
                 row->optional ? "]" : "");
        text_print_help(out, head, HELP_INDENT, row->help);
    }
}

static void
print_roff(FILE *out)
{
    size_t i;

    for (i = 0; i < ROWS; i++) {
        const struct option_row *row = &rows[i];

        if (row->help == NULL)
            continue;
        fprintf(out, ".TP\n.B ");
        if (row->letter != '\0')
            fprintf(out, "\\-%c, ", row->letter);
        fprintf(out, "\\-\\-");
        text_print_roff(out, row->name);
        if (row->argument != NULL) {
            fprintf(out, row->optional ? "[=\\fI" : " \\fI");
            text_print_roff(out, row->argument);
            fprintf(out, row->optional ? "\\fR]" : "\\fR");
        }
        fprintf(out, "\n");
        text_print_roff(out, row->help);
        fprintf(out, "\n");
    }
}

int
options_print_roff(FILE *out, const char *table)
{
    if (strcmp(table, "options") == 0)
        print_roff(out);
    else if (strcmp(table, "settings") == 0)
        settings_print_roff(out);
    else if (strcmp(table, "exports") == 0)
        export_options_print_roff(out);
    else if (strcmp(table, "faults") == 0)
        fault_rule_print_roff(out);
    else
        return -EINVAL;
    return 0;
}
