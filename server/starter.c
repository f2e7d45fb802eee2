/* server/starter.c - see starter.h. */
#include "server/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/channel.h"

#define CHANNEL_FD 3                    /* of the new server */
#define START_FDS 3                     /* channel, standard output, standard error */

static const char option_head[] = "--" STARTER_OPTION "=";

/* What is run, found out by the server itself. */
struct program {
    char path[PATH_MAX];
    char *directory;                    /* NULL: it cannot be told; then it is the root */
    char option[sizeof(option_head) + 8];   /* what it gets before all others */
    char **argv;
};

/* The arguments once more, without those of an earlier start, and with the channel. */
static int
copy_arguments(struct program *program, char *const *argv)
{
    size_t count = 0, used = 0;

    while (argv[count] != NULL)
        count++;
    program->argv = calloc(count + 3, sizeof(*program->argv));
    if (program->argv == NULL)
        return -ENOMEM;
    snprintf(program->option, sizeof(program->option), "%s%d", option_head, CHANNEL_FD);
    program->argv[used++] = count > 0 ? argv[0] : program->path;
    program->argv[used++] = program->option;
    for (size_t i = 1; i < count; i++)
        if (strncmp(argv[i], option_head, sizeof(option_head) - 1) != 0)
            program->argv[used++] = argv[i];
    return 0;
}

/* An update puts another file at the same path: that one is to be run. */
static int
find_program(struct program *program, char *const *argv)
{
    ssize_t len = readlink("/proc/self/exe", program->path, sizeof(program->path) - 1);

    if (len < 0)
        return -errno;
    program->path[len] = '\0';
    program->directory = getcwd(NULL, 0);
    return copy_arguments(program, argv);
}

/* What the starter has set aside for itself is as usual for the program. */
static void
restore_signals(void)
{
    static const int ignored[] = { SIGHUP, SIGINT, SIGTERM, SIGCHLD };
    sigset_t none;

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        signal(ignored[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Put descriptors where the program expects them; above all of these places first, so that none is in another's. */
static int
place_descriptors(const int fds[START_FDS])
{
    static const int places[START_FDS] = { CHANNEL_FD, STDOUT_FILENO, STDERR_FILENO };
    int high[START_FDS];

    for (int i = 0; i < START_FDS; i++) {
        high[i] = fcntl(fds[i], F_DUPFD, CHANNEL_FD + 1);
        if (high[i] < 0)
            return -errno;
    }
    for (int i = 0; i < START_FDS; i++)
        if (dup2(high[i], places[i]) < 0)
            return -errno;
    return close_range(CHANNEL_FD + 1, ~0U, 0) < 0 ? -errno : 0;
}

static _Noreturn void
run_program(const struct program *program, const int fds[START_FDS])
{
    char why[PATH_MAX + 64];
    int err = place_descriptors(fds);

    restore_signals();
    if (err == 0 && program->directory != NULL && chdir(program->directory) < 0)
        err = -errno;
    if (err == 0) {
        execv(program->path, program->argv);
        err = -errno;
    }
    snprintf(why, sizeof(why), "%s cannot be run: %s", program->path, strerror(-err));
    channel_send(CHANNEL_FD, CHANNEL_REFUSED, why, NULL, 0);
    _exit(EXIT_FAILURE);
}

/* Where it holds on to nothing: the server may leave its directory and its terminal. */
static int
leave_everything(int *fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
        dup2(*fd, CHANNEL_FD) < 0 || close_range(CHANNEL_FD + 1, ~0U, 0) < 0 || chdir("/") < 0)
        return -errno;
    *fd = CHANNEL_FD;
    return fcntl(*fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
}

static _Noreturn void
starter_main(const struct program *program, int fd)
{
    struct channel_message message;

    signal(SIGHUP, SIG_IGN);                             /* sent to all of a group; it ends when the server has */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);                            /* nobody waits for the servers that it starts */
    prctl(PR_SET_NAME, "ringnfs-starter", 0, 0, 0);
    if (leave_everything(&fd) < 0)
        _exit(EXIT_FAILURE);
    while (channel_receive(fd, -1, &message) == 0) {
        if (message.kind == CHANNEL_START && message.nfds == START_FDS && fork() == 0)
            run_program(program, message.fds);
        channel_drop(&message);
    }
    _exit(EXIT_SUCCESS);
}

int
starter_new(char *const *argv)
{
    struct program program = { .directory = NULL };
    int ends[2], err = find_program(&program, argv);
    pid_t child = -1;

    if (err == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        err = -errno;
    if (err == 0) {
        child = fork();
        if (child < 0) {
            err = -errno;
            close(ends[0]);
        }
        if (child == 0)
            starter_main(&program, ends[1]);
        close(ends[1]);
    }
    free(program.directory);
    free(program.argv);
    return err < 0 ? err : ends[0];
}

int
starter_start(int starter, int *channel)
{
    int ends[2], err;

    if (starter < 0)
        return -EPIPE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    err = channel_send(starter, CHANNEL_START, "", (const int[]){ ends[1], STDOUT_FILENO, STDERR_FILENO }, START_FDS);
    close(ends[1]);
    if (err < 0)
        close(ends[0]);
    else
        *channel = ends[0];
    return err;
}
