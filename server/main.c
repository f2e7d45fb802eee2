/*
 * server/main.c - the daemon: parses, starts, waits and stops. What it starts is in server.h.
 *
 * Exit status: 0 after an orderly end, 1 when a start failed, 2 for a mistake in the command line, settings or exports.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/daemon.h"
#include "server/exports.h"
#include "server/log.h"
#include "server/options.h"
#include "server/sandbox.h"
#include "server/server.h"

#define EXIT_USAGE 2
#define ERROR_MAX 1024

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

static void
raise_limit(int resource)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(resource, &limit);                         /* what is not given is lived without */
}

/* Take the signals that main() waits for from all threads to come; they have their default actions before. */
static void
block_signals(sigset_t *set)
{
    static const int waited[] = { SIGTERM, SIGINT, SIGHUP };
    size_t i;

    sigemptyset(set);
    for (i = 0; i < sizeof(waited) / sizeof(*waited); i++) {
        signal(waited[i], SIG_DFL);
        sigaddset(set, waited[i]);
    }
    sigprocmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Tell whoever asked that calls are accepted, and where. Returns 0 or -errno with error. */
static int
announce(const struct options *options, const struct server *server, char *error, size_t error_size)
{
    struct server_ports ports;
    int err = 0;

    server_ports(server, &ports);
    if (options->print_ports && dprintf(STDOUT_FILENO, "{\"nfs\":%u,\"mount\":%u}\n", ports.nfs, ports.mount) < 0)
        err = -errno;
    if (err < 0) {
        snprintf(error, error_size, "standard output: %s", strerror(-err));
        return err;
    }
    if (options->ready_fd < 0)
        return 0;
    if (dprintf(options->ready_fd, "{\"nfs\":%u,\"mount\":%u}\n", ports.nfs, ports.mount) < 0)
        err = -errno;
    close(options->ready_fd);
    if (err < 0)
        snprintf(error, error_size, "--ready-fd %d: %s", options->ready_fd, strerror(-err));
    return err;
}

/* What comes of a reload is in the server's log. */
static void
wait_for_end(struct server *server, const sigset_t *signals)
{
    char error[ERROR_MAX];
    int number;

    while ((number = sigwaitinfo(signals, NULL)) != SIGTERM && number != SIGINT)
        if (number == SIGHUP)
            server_reload_exports(server, error, sizeof(error));
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

/* Start, wait for a signal, stop; daemon: from daemon_begin(), or -1. */
static int
run(const struct options *options, const struct log *log, int daemon)
{
    struct server_config config = { .settings = &options->settings, .exports = options_exports(options),
                                    .addresses = options->addresses, .naddresses = options->naddresses, .log = *log,
                                    .control = true };
    char error[ERROR_MAX] = "";
    struct sandbox *sandbox;
    struct server *server;
    sigset_t signals;
    int err;

    config.log.timestamps = logs_to_file();
    block_signals(&signals);
    raise_limit(RLIMIT_NOFILE);
    raise_limit(RLIMIT_MEMLOCK);
    err = enter_sandbox(options, log, &sandbox, error, sizeof(error));
    if (err == 0)
        err = server_new(&config, &server, error, sizeof(error));
    if (err < 0) {
        log_error(log, "%s", error);
        sandbox_free(sandbox);
        return EXIT_FAILURE;
    }
    err = announce(options, server, error, sizeof(error));
    if (err == 0 && daemon >= 0 && (err = daemon_ready(daemon)) < 0)
        snprintf(error, sizeof(error), "cannot go to the background: %s", strerror(-err));
    if (err < 0)
        log_error(log, "%s", error);
    else
        wait_for_end(server, &signals);
    sigprocmask(SIG_UNBLOCK, &signals, NULL);            /* whoever does not want to wait any longer signals again */
    server_free(server);
    sandbox_free(sandbox);
    return err < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int
serve(const struct options *options, const struct log *log)
{
    struct exports_source source = options_exports(options);
    char error[ERROR_MAX];
    int daemon = -1, err = exports_check(&source, error, sizeof(error));

    if (err < 0) {
        log_error(log, "%s", error);
        return exit_status(err);
    }
    if (!options->foreground) {
        daemon = daemon_begin();
        if (daemon < 0) {
            log_error(log, "cannot go to the background: %s", strerror(-daemon));
            return EXIT_FAILURE;
        }
    }
    return run(options, log, daemon);
}

static int
check(const struct options *options, const struct log *log)
{
    struct exports_source source = options_exports(options);
    struct exports *set = NULL;
    char error[ERROR_MAX];
    int err = exports_load(&source, &options->settings, NULL, &set, error, sizeof(error));

    if (err < 0)
        log_error(log, "%s", error);
    else if (error[0] != '\0')
        log_warn(log, "%s", error);
    exports_put(set);
    return err < 0 ? exit_status(err) : EXIT_SUCCESS;
}

static int
print_roff(const struct options *options, const struct log *log)
{
    if (options_print_roff(stdout, options->roff) == 0)
        return EXIT_SUCCESS;
    log_error(log, "--print-roff: there are options, settings and exports");
    return EXIT_USAGE;
}

static int
act(const struct options *options, const struct log *log)
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
        log_error(&log, "%s", error);
        status = exit_status(err);
    } else {
        status = act(&options, &log);
    }
    options_fini(&options);
    if (status == EXIT_SUCCESS && fflush(stdout) != 0)
        status = EXIT_FAILURE;
    return status;
}
