/*
 * server/ctl_main.c - ringnfsctl: sends one command to a running server and prints what it says.
 *
 * Exit status: 0, 1 when the server refuses or fails, 2 for a mistake in the command line, 3 when no server answers.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/control.h"
#include "server/control_commands.h"
#include "server/ctl_replay.h"
#include "server/log.h"
#include "server/state.h"

#define EXIT_USAGE 2
#define EXIT_NO_SERVER 3
#define ERROR_MAX 1024
#define SHOWN_MAX 128                   /* bytes of a wrong word that are shown */

struct ctl {
    char *dir;                          /* the state directory; NULL: the default */
    bool json;                          /* print results as they are */
    const struct control_command *command;
    const char *texts[CONTROL_ARGUMENTS_MAX];
    char *absolute;                     /* what a relative file name has become */
};

static int
complain(int status, const char *what, const char *why)
{
    fprintf(stderr, "ringnfsctl: %s%s%s\n", what, why != NULL ? ": " : "", why != NULL ? why : "");
    return status;
}

/* A line for each of the server's. */
static int
complain_all(int status, const char *lines)
{
    for (size_t len; lines != NULL && *lines != '\0'; lines += len + (lines[len] == '\n')) {
        len = strcspn(lines, "\n");
        fprintf(stderr, "ringnfsctl: %.*s\n", (int)len, lines);
    }
    return status;
}

static void
print_help(void)
{
    printf("Usage: ringnfsctl [OPTION]... COMMAND [ARGUMENT]...\n"
           "Ask and change a running ringnfsd.\n\n"
           "  -d, --state-dir DIR  The server's state directory, where its control socket is.\n"
           "  -j, --json           Print the result as JSON.\n"
           "  -h, --help           Print this.\n"
           "  -V, --version        Print the version.\n\n"
           "Commands:\n");
    control_print_help(stdout);
    printf("\nringnfsctl replay FILE sends recorded calls to a server; ringnfsctl replay --help tells how.\n");
}

static int
print_roff(const char *table)
{
    if (strcmp(table, "commands") != 0)
        return complain(EXIT_USAGE, "--print-roff", "there are commands only");
    control_print_roff(stdout);
    return EXIT_SUCCESS;
}

/* The command is one word or two. Returns how many; 0: there is none, and the error has been told. */
static int
find_command(struct ctl *ctl, int nwords, char *const *words)
{
    char name[SHOWN_MAX], error[ERROR_MAX];

    if (nwords >= 2 && (size_t)snprintf(name, sizeof(name), "%s %s", words[0], words[1]) < sizeof(name)) {
        ctl->command = control_find(name, error, sizeof(error));
        if (ctl->command != NULL)
            return 2;
    }
    ctl->command = control_find(words[0], error, sizeof(error));
    if (ctl->command != NULL)
        return 1;
    if (nwords >= 2 && (strcmp(words[0], "exports") == 0 || strcmp(words[0], "fault") == 0 ||
                        strcmp(words[0], "journal") == 0 || strcmp(words[0], "capture") == 0))
        control_find(name, error, sizeof(error));
    complain(EXIT_USAGE, error, "ringnfsctl --help lists them");
    return 0;
}

/* The absolute name of a file that there need not be; to be freed, NULL with errno. */
static char *
make_absolute(const char *file)
{
    char *cwd = getcwd(NULL, 0), *absolute = NULL;

    if (cwd != NULL && asprintf(&absolute, "%s/%s", cwd, file) < 0)
        absolute = NULL;
    free(cwd);
    return absolute;
}

static int
take_arguments(struct ctl *ctl, int nwords, char *const *words)
{
    const struct control_argument *arguments = ctl->command->arguments;
    char shown[SHOWN_MAX], what[2 * SHOWN_MAX];
    int i;

    for (i = 0; arguments[i].name != NULL && i < nwords; i++) {
        ctl->texts[i] = words[i];
        if (!arguments[i].file || words[i][0] == '/')
            continue;
        ctl->absolute = arguments[i].made ? make_absolute(words[i]) : realpath(words[i], NULL);
        if (ctl->absolute == NULL)
            return complain(EXIT_FAILURE, log_quote(shown, sizeof(shown), words[i], strlen(words[i])),
                            strerror(errno));
        ctl->texts[i] = ctl->absolute;
    }
    if (i < nwords) {
        snprintf(what, sizeof(what), "%s: unexpected argument %s", ctl->command->name,
                 log_quote(shown, sizeof(shown), words[i], strlen(words[i])));
        return complain(EXIT_USAGE, what, NULL);
    }
    if (arguments[i].name != NULL && !arguments[i].optional) {
        snprintf(what, sizeof(what), "%s: %s is missing", ctl->command->name, arguments[i].name);
        return complain(EXIT_USAGE, what, NULL);
    }
    return EXIT_SUCCESS;
}

/* The request as a line, to be freed; NULL when it cannot be written as JSON. */
static char *
make_request(const struct ctl *ctl)
{
    json_t *request = json_pack("{s:s}", "command", ctl->command->name);
    char *text = NULL, *line = NULL;
    bool good = request != NULL;

    for (int i = 0; ctl->command->arguments[i].name != NULL && ctl->texts[i] != NULL && good; i++)
        good = json_object_set_new(request, ctl->command->arguments[i].name, json_string(ctl->texts[i])) == 0;
    if (good)
        text = json_dumps(request, JSON_COMPACT);
    if (text != NULL && asprintf(&line, "%s\n", text) < 0)
        line = NULL;
    free(text);
    json_decref(request);
    return line;
}

static int
send_line(int fd, const char *line)
{
    size_t len = strlen(line);

    while (len > 0) {
        ssize_t n = send(fd, line, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        line += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Ask, and take the answer apart. Returns an exit status; on success *result is the result, with a reference. */
static int
ask(const struct ctl *ctl, int fd, json_t **result)
{
    char *line = make_request(ctl);
    FILE *stream = fdopen(fd, "r");
    json_t *answer = NULL;
    int status = EXIT_FAILURE;

    if (line == NULL)
        complain(status, ctl->command->name, "the arguments cannot be sent: they are no UTF-8");
    else if (stream == NULL)
        complain(status, ctl->command->name, strerror(errno));
    else if (send_line(fd, line) < 0 && errno != EPIPE)
        status = complain(EXIT_NO_SERVER, "the server has gone away", strerror(errno));
    else if ((answer = json_loadf(stream, JSON_DISABLE_EOF_CHECK, NULL)) == NULL)
        status = complain(EXIT_NO_SERVER, "the server has gone away without an answer", NULL);
    else if (!json_is_true(json_object_get(answer, "ok")))
        complain_all(status, json_string_value(json_object_get(answer, "error")));
    else
        status = EXIT_SUCCESS;
    if (status == EXIT_SUCCESS)
        *result = json_incref(json_object_get(answer, "result"));
    json_decref(answer);
    free(line);
    if (stream != NULL)
        fclose(stream);
    else
        close(fd);
    return status;
}

static int
talk(const struct ctl *ctl)
{
    char *dir = ctl->dir != NULL ? strdup(ctl->dir) : state_default_dir();
    json_t *result = NULL;
    int fd, status;

    if (dir == NULL)
        return complain(EXIT_NO_SERVER, "there is no default state directory; use --state-dir", NULL);
    fd = control_connect(dir);
    if (fd < 0) {
        status = fd == -EACCES ? complain(EXIT_FAILURE, dir, "only root and the server's own user may control it")
                               : complain(EXIT_NO_SERVER, dir, "no server answers here (see --state-dir)");
        free(dir);
        return status;
    }
    free(dir);
    status = ask(ctl, fd, &result);
    if (status == EXIT_SUCCESS && ctl->json) {
        json_dumpf(result, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
        putchar('\n');
    } else if (status == EXIT_SUCCESS && ctl->command->print != NULL) {
        ctl->command->print(stdout, result);
    }
    json_decref(result);
    return status;
}

static int
run(struct ctl *ctl, int nwords, char *const *words)
{
    int used, status;

    if (nwords == 0)
        return complain(EXIT_USAGE, "no command; ringnfsctl --help lists them", NULL);
    used = find_command(ctl, nwords, words);
    if (used == 0)
        return EXIT_USAGE;
    status = take_arguments(ctl, nwords - used, words + used);
    if (status == EXIT_SUCCESS)
        status = talk(ctl);
    free(ctl->absolute);
    return status;
}

int
main(int argc, char **argv)
{
    static const struct option longs[] = {
        { "state-dir", required_argument, NULL, 'd' }, { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' },
        { "print-roff", required_argument, NULL, 'R' }, { NULL, 0, NULL, 0 }
    };
    struct ctl ctl = { .dir = NULL };
    int found, status;

    if (argc > 1 && strcmp(argv[1], "replay") == 0)     /* it has options of its own, and asks another server */
        return ctl_replay(argc - 1, argv + 1);
    while ((found = getopt_long(argc, argv, "d:jhV", longs, NULL)) != -1) {
        switch (found) {
        case 'd':
            ctl.dir = optarg;
            break;
        case 'j':
            ctl.json = true;
            break;
        case 'h':
            print_help();
            return EXIT_SUCCESS;
        case 'V':
            printf("ringnfsctl %s\n", PACKAGE_VERSION);
            return EXIT_SUCCESS;
        case 'R':
            return print_roff(optarg);
        default:
            return EXIT_USAGE;
        }
    }
    status = run(&ctl, argc - optind, argv + optind);
    if (status == EXIT_SUCCESS && fflush(stdout) != 0)
        status = complain(EXIT_FAILURE, "standard output", strerror(errno));
    return status;
}
