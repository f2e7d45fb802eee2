/*
 * server/main.c - the daemon: parses, starts, waits and stops. What it starts is in server.h.
 *
 * Exit status: 0 after an orderly end, 1 when a start failed, 2 for a mistake in the command line, settings or exports.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/daemon.h"
#include "server/ephemeral.h"
#include "server/exports.h"
#include "server/log.h"
#include "server/notify.h"
#include "server/options.h"
#include "server/parent.h"
#include "server/reach.h"
#include "server/sandbox.h"
#include "server/server.h"
#include "server/starter.h"
#include "server/takeover.h"

#define EXIT_USAGE 2
#define ERROR_MAX 1024
#define DESCRIPTORS 262144              /* that may be open, if root starts it */

static int
exit_status(int err)
{
    return err == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
}

/* Whether standard error is a file: then nobody else notes the time of what is written there. */
static bool
logs_to_file(void)
{
    struct stat st;

    return fstat(STDERR_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

/* To `wanted`, if only root may do that; else as far as it may be. What is not given is lived without. */
static void
raise_limit(int resource, rlim_t wanted)
{
    struct rlimit limit, raised = { wanted, wanted };

    if (getrlimit(resource, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    if (limit.rlim_max < wanted && setrlimit(resource, &raised) == 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);
}

/*
 * Files that are in use stay open, and connections have a part as well: with 4096, a usual bound, those of a directory of
 * some thousand files are opened and closed over and over.
 *
 * Since Linux 6.13 rings count against the memory that may be locked, for who has no CAP_IPC_LOCK (the workers have given it
 * up), and with all others of this user: 8 MiB, the usual bound, are some 250 of them.
 */
static void
raise_limits(void)
{
    raise_limit(RLIMIT_NOFILE, DESCRIPTORS);
    raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}

/* What main() waits for; -1: nothing is there. */
struct events {
    sigset_t set;                       /* blocked in all threads to come */
    int signals;
    int parent;                         /* readable when it has ended */
};

/* The signals have their default actions before. Returns 0 or -errno with error. */
static int
block_signals(struct events *events, char *error, size_t error_size)
{
    static const int waited[] = { SIGTERM, SIGINT, SIGHUP };
    size_t i;

    sigemptyset(&events->set);
    for (i = 0; i < sizeof(waited) / sizeof(*waited); i++) {
        signal(waited[i], SIG_DFL);
        sigaddset(&events->set, waited[i]);
    }
    sigprocmask(SIG_BLOCK, &events->set, NULL);
    signal(SIGPIPE, SIG_IGN);
    events->signals = signalfd(-1, &events->set, SFD_CLOEXEC);
    if (events->signals >= 0)
        return 0;
    snprintf(error, error_size, "signals: %s", strerror(errno));
    return -errno;
}

/*
 * To be closed in all cases. Whoever takes over goes on watching whom the other one has watched. Returns 0 or -errno with
 * error.
 */
static int
open_events(const struct options *options, struct takeover *takeover, struct events *events, char *error,
            size_t error_size)
{
    int err;

    events->parent = -1;
    err = block_signals(events, error, error_size);
    if (takeover != NULL) {
        events->parent = takeover->parent;
        takeover->parent = -1;
    } else if (err == 0 && options->parent_death) {
        events->parent = parent_watch(options->parent, error, error_size);
        err = events->parent < 0 ? events->parent : 0;
    }
    return err;
}

static void
close_events(struct events *events)
{
    if (events->signals >= 0)
        close(events->signals);
    if (events->parent >= 0)
        close(events->parent);
}

static int
announce_to(int fd, const char *line, const char *what, char *error, size_t error_size)
{
    if (dprintf(fd, "%s\n", line) >= 0)
        return 0;
    snprintf(error, error_size, "%s: %s", what, strerror(errno));
    return -errno;
}

/* Tell whoever asked that calls are accepted, and where. Returns 0 or -errno with error. */
static int
announce(const struct options *options, struct server *server, char *error, size_t error_size)
{
    struct reach reach;
    char *line;
    int err = 0;

    if (!options->print_ports && options->ready_fd < 0)
        return 0;
    reach_init(&reach, server, options->addresses, options->naddresses);
    line = reach_json(&reach, server);
    if (line == NULL) {
        snprintf(error, error_size, "the ports: out of memory");
        return -ENOMEM;
    }
    if (options->print_ports)
        err = announce_to(STDOUT_FILENO, line, "standard output", error, error_size);
    if (err == 0 && options->ready_fd >= 0) {
        err = announce_to(options->ready_fd, line, "--ready-fd", error, error_size);
        close(options->ready_fd);
    }
    free(line);
    return err;
}

/* Whoever does not listen keeps nobody from serving. */
static void
tell_manager(int (*tell)(char *error, size_t error_size), const struct log *log)
{
    char error[ERROR_MAX];

    if (tell(error, sizeof(error)) < 0)
        log_warn(log, "%s", error);
}

/* What comes of a reload is in the server's log. */
static void
reload(struct server *server, const struct log *log)
{
    char error[ERROR_MAX];

    tell_manager(notify_reloading, log);
    server_reload_exports(server, error, sizeof(error));
    tell_manager(notify_ready, log);
}

static void
wait_for_end(struct server *server, const struct events *events, const struct log *log)
{
    struct pollfd ready[] = { { .fd = events->signals, .events = POLLIN }, { .fd = events->parent, .events = POLLIN },
                              { .fd = server_restarted_event(server), .events = POLLIN } };
    struct signalfd_siginfo signal;

    for (;;) {
        if (poll(ready, 3, -1) < 0)
            continue;
        if (ready[2].revents != 0)
            return;
        if (ready[1].revents != 0) {
            log_info(log, "the process that this server was started for has ended");
            return;
        }
        if (read(events->signals, &signal, sizeof(signal)) != sizeof(signal))
            continue;
        if (signal.ssi_signo != SIGHUP)
            return;
        reload(server, log);
    }
}

/* The whole process keeps what an operator's commands take; its threads then give up the rest. */
static int
enter_sandbox(const struct options *options, const struct log *log, struct sandbox **sandbox, char *error,
              size_t error_size)
{
    int err = sandbox_new(options->settings.sandbox, log, sandbox, error, error_size);

    if (err == 0)
        err = sandbox_enter(*sandbox, SANDBOX_OPERATOR);
    if (err < 0 && error[0] == '\0')
        snprintf(error, error_size, "sandbox: %s", strerror(-err));
    return err;
}

/* What a run of the server has for itself. */
struct run {
    struct options *options;
    const struct log *log;
    struct events events;
    struct takeover *takeover;          /* NULL: it begins afresh */
    int starter;                        /* -1: it cannot be restarted */
    int daemon;                         /* from daemon_begin(), or -1 */
    bool owns_state;                    /* the state directory is this process's, not that of one before or after it */
};

/* Serve from the start to the end. Returns 0 or -errno with error. */
static int
run_server(struct run *run, char *error, size_t error_size)
{
    const struct options *options = run->options;
    const struct server_process process = { .starter = run->starter, .parent = run->events.parent };
    struct server_config config = { .settings = &options->settings, .exports = options_exports(options),
                                    .fills = options->fills, .nfills = options->nfills,
                                    .addresses = options->addresses, .naddresses = options->naddresses,
                                    .log = *run->log, .process = &process, .takeover = run->takeover, .control = true,
                                    .faults = options->faults };
    const bool follows = run->takeover != NULL;
    struct server *server;
    int err;

    config.log.timestamps = logs_to_file();
    err = server_new(&config, &server, error, error_size);
    takeover_free(run->takeover, err < 0 ? error : NULL);
    run->takeover = NULL;
    if (err < 0)
        return err;
    run->owns_state = true;
    err = announce(options, server, error, error_size);
    if (err == 0 && run->daemon >= 0 && (err = daemon_ready(run->daemon)) < 0)
        snprintf(error, error_size, "cannot go to the background: %s", strerror(-err));
    if (err == 0 && !follows)                            /* else the other process tells that this one is the service */
        tell_manager(notify_ready, &config.log);
    if (err == 0)
        wait_for_end(server, &run->events, &config.log);
    run->owns_state = !server_end_restart(server);
    if (run->owns_state)
        tell_manager(notify_stopping, &config.log);
    if (!options->ephemeral)                             /* that would leave its directory behind */
        sigprocmask(SIG_UNBLOCK, &run->events.set, NULL);   /* whoever does not want to wait any longer signals again */
    server_free(server);
    return err;
}

/* Where an ephemeral server keeps its state: in a new directory, or where the one was that it follows. */
static int
choose_state_dir(struct run *run, char *error, size_t error_size)
{
    char **dir = &run->options->settings.state_dir;
    int err;

    if (!run->options->ephemeral)
        return 0;
    if (run->takeover == NULL) {
        err = ephemeral_new(dir, error, error_size);
        run->owns_state = err == 0;
        return err;
    }
    *dir = strdup(run->takeover->state_dir);
    if (*dir == NULL)
        snprintf(error, error_size, "out of memory");
    return *dir == NULL ? -ENOMEM : 0;
}

static int
begin_run(struct run *run, struct sandbox **sandbox, char *error, size_t error_size)
{
    int err = 0;

    if (run->options->channel >= 0)
        err = takeover_new(run->options->channel, &run->takeover, error, error_size);
    if (err == 0)
        err = open_events(run->options, run->takeover, &run->events, error, error_size);
    raise_limits();
    if (err == 0)
        err = choose_state_dir(run, error, error_size);
    return err < 0 ? err : enter_sandbox(run->options, run->log, sandbox, error, error_size);
}

/* Start, wait for a signal, stop. Returns the exit status. */
static int
run_to_the_end(struct run *run)
{
    struct options *options = run->options;
    struct sandbox *sandbox = NULL;
    char error[ERROR_MAX] = "";
    int err = begin_run(run, &sandbox, error, sizeof(error));

    if (err == 0)
        err = run_server(run, error, sizeof(error));
    if (err < 0)
        log_error(run->log, "%s", error);
    takeover_free(run->takeover, error);
    if (options->ephemeral && run->owns_state) {
        ephemeral_remove(options->settings.state_dir);
        options->settings.state_dir = NULL;
    }
    sandbox_free(sandbox);
    close_events(&run->events);
    return err < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * Tell that nothing is started, by a line of the log for each mistake, and whom it would have taken over from. Returns the
 * exit status.
 */
static int
refuse(const struct options *options, const struct log *log, int err, const char *lines)
{
    const char *line = lines;

    for (size_t len; *line != '\0'; line += len + (line[len] == '\n')) {
        len = strcspn(line, "\n");
        log_error(log, "%.*s", (int)len, line);
    }
    if (options->channel >= 0)
        takeover_refuse(options->channel, lines);
    return exit_status(err);
}

static int
serve(struct options *options, const struct log *log)
{
    struct exports_source source = options_exports(options);
    struct run run = { .options = options, .log = log, .events = { .signals = -1, .parent = -1 }, .daemon = -1 };
    char error[EXPORTS_ERROR_MAX];
    int err, status;

    source.all_mistakes = true;
    err = exports_check(&source, error, sizeof(error));
    if (err < 0)
        return refuse(options, log, err, error);
    if (!options->foreground) {
        run.daemon = daemon_begin();
        if (run.daemon < 0) {
            log_error(log, "cannot go to the background: %s", strerror(-run.daemon));
            return EXIT_FAILURE;
        }
    }
    run.starter = starter_new(options->argv);
    if (run.starter < 0)
        log_warn(log, "this server cannot be restarted by ringnfsctl: %s", strerror(-run.starter));
    status = run_to_the_end(&run);
    if (run.starter >= 0)
        close(run.starter);
    return status;
}

static int
check(const struct options *options, const struct log *log)
{
    struct exports_source source = options_exports(options);
    struct exports *set = NULL;
    char error[EXPORTS_ERROR_MAX];
    int err;

    source.all_mistakes = true;
    err = exports_load(&source, &options->settings, NULL, &set, error, sizeof(error));
    if (err < 0)
        return refuse(options, log, err, error);
    if (error[0] != '\0')
        log_warn(log, "%s", error);
    exports_put(set);
    return EXIT_SUCCESS;
}

static int
print_roff(const struct options *options, const struct log *log)
{
    if (options_print_roff(stdout, options->roff) == 0)
        return EXIT_SUCCESS;
    log_error(log, "--print-roff: there are options, settings, exports and faults");
    return EXIT_USAGE;
}

static int
act(struct options *options, const struct log *log)
{
    switch (options->action) {
    case ACTION_SERVE:
        return serve(options, log);
    case ACTION_CHECK:
        return check(options, log);
    case ACTION_HELP:
        options_print_help(stdout);
        break;
    case ACTION_HELP_SETTINGS:
        settings_print_help(stdout);
        break;
    case ACTION_HELP_EXPORTS:
        export_options_print_help(stdout);
        break;
    case ACTION_HELP_FAULTS:
        fault_rule_print_help(stdout);
        break;
    case ACTION_VERSION:
        printf("ringnfsd %s\n", PACKAGE_VERSION);
        break;
    case ACTION_ROFF:
        return print_roff(options, log);
    }
    return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
    struct options options;
    char error[ERROR_MAX];
    struct log log = { .fd = STDERR_FILENO };
    int err = options_parse(&options, argc, argv, error, sizeof(error)), status;

    log.level = (enum log_level)options.settings.log_level;
    if (err < 0) {
        status = refuse(&options, &log, err, error);
    } else {
        status = act(&options, &log);
    }
    options_fini(&options);
    if (status == EXIT_SUCCESS && fflush(stdout) != 0)
        status = EXIT_FAILURE;
    return status;
}
