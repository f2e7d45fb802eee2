/*
 * server/server.c - the whole server: made from its parts in order, and taken apart in the opposite one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>

#include "server/cpus.h"
#include "server/fill.h"
#include "server/mount3.h"
#include "server/nfs3_call.h"
#include "server/nfsacl.h"
#include "server/server_private.h"
#include "server/takeover.h"

#define AUTO_WORKERS_MAX 8
#define WORKERS_MAX 256
#define ERROR_MAX 256
#define RECORD_MAX ((4u << 20) + (64u << 10))           /* bytes: the largest wtmax, and what is around it */
#define WAITING_MAX 1024                /* calls that wait for host names, or for groups */
#define WAITING_EACH_MAX 128            /* for one answer: a client's burst, and room for others while it is slow */
#define RATES_MAX 16384                 /* clients of exports with limits that are told apart */

static const struct program *const programs[] = { &nfs3_program, &nfsacl_program, &mount3_program };

int
server_explain(int err, const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s: %s", what, strerror(-err));
    return err;
}

/* All host names of the exports are asked for now, so that the first calls need not wait. */
static int
start_hosts(struct server *server, const struct hosts_source *source)
{
    const struct settings *settings = &server->settings;
    const struct hosts_config config = {
        .source = source,
        .log = &server->log,
        .sandbox = server->sandbox,
        .entries = settings->host_cache,
        .ttl_ms = settings->host_ttl * UINT64_C(1000),
        .stale_ms = settings->host_stale * UINT64_C(1000),
        .waiting = WAITING_MAX,
        .waiting_each = WAITING_EACH_MAX,
    };
    int err = hosts_new(&config, &server->hosts);

    if (err == 0)
        access_prefetch(server->exports, server->hosts);
    return err;
}

static int
start_groups(struct server *server, const struct groups_source *source)
{
    const struct settings *settings = &server->settings;
    const struct groups_config config = {
        .source = source,
        .log = &server->log,
        .sandbox = server->sandbox,
        .entries = settings->groups_cache,
        .ttl_ms = settings->groups_ttl * UINT64_C(1000),
        .waiting = WAITING_MAX,
        .waiting_each = WAITING_EACH_MAX,
    };

    return groups_new(&config, &server->groups);
}

static void
enter_calls(void *context)
{
    if (sandbox_enter(context, SANDBOX_CALLS) < 0)
        abort();                        /* sandbox_new() has tried it */
}

static void
enter_lookup(void *context)
{
    if (sandbox_enter(context, SANDBOX_LOOKUP) < 0)
        abort();
}

/* The keeper starts threads, which give up more than it does. */
static void
enter_operator(void *context)
{
    if (sandbox_enter(context, SANDBOX_OPERATOR) < 0)
        abort();
}

static int
start_pools(struct server *server)
{
    struct pool_config calls = { .begin = enter_calls, .begin_keeper = enter_operator, .context = server->sandbox };
    const struct pool_config paths = { .min = 1, .max = 1, .begin = enter_lookup, .context = server->sandbox };
    int err;

    server_threads(&server->settings, &calls.min, &calls.max);
    err = pool_new_with(&calls, &server->pool);
    return err < 0 ? err : pool_new_with(&paths, &server->paths);
}

/* How many workers there shall be. Returns 0 or -errno with error. */
static int
choose_workers(const struct settings *settings, bool driven, unsigned *count, char *error, size_t error_size)
{
    bool listed = strcmp(settings->cpu_affinity, "off") != 0 && strcmp(settings->cpu_affinity, "auto") != 0;
    char why[ERROR_MAX];
    struct cpus cpus;
    int err = cpus_choose(settings->cpu_affinity, &cpus, why, sizeof(why));

    if (err < 0)
        snprintf(error, error_size, "cpu_affinity: %s", why);
    if (driven)
        *count = 1;
    else if (settings->workers != 0)
        *count = settings->workers;
    else
        *count = listed ? MIN(cpus.count, WORKERS_MAX) : MIN(cpus_usable(), AUTO_WORKERS_MAX);
    return err;
}

static int
set_up_shared(struct server *server)
{
    struct worker_shared *shared = &server->shared;
    int err = clients_new(1, &shared->transport.clients);

    if (err < 0)
        return err;
    shared->settings = &server->settings;
    shared->log = &server->log;
    shared->key = state_key(server->state);
    shared->mounts = server->mounts;
    shared->hosts = server->hosts;
    shared->groups = server->groups;
    shared->rate = server->rate;
    shared->pool = server->pool;
    shared->paths = server->paths;
    shared->sandbox = server->sandbox;
    shared->drc = server->drc;
    shared->programs = programs;
    shared->nprograms = sizeof(programs) / sizeof(programs[0]);
    shared->call_size = MAX(sizeof(struct nfs3_call), sizeof(struct mount3_call));
    shared->transport.limits.record_bytes = RECORD_MAX;
    shared->transport.gss = server->gss;
    server_use_limits(server);
    return 0;
}

/* Rings count against the same limit, those of this user's other servers, too: half of it is left to them. */
static uint64_t
register_max(unsigned workers)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return MAX(limit.rlim_cur / 2 / workers, 1);
}

static int
start_workers(struct server *server, unsigned count, char *error, size_t error_size)
{
    int err;

    server->workers = calloc(count, sizeof(server->workers[0]));
    if (server->workers == NULL)
        return server_explain(-ENOMEM, "workers", error, error_size);
    server->shared.register_max = register_max(count);
    for (; server->nworkers < count; server->nworkers++) {
        err = worker_new(&server->shared, server->exports, &server->workers[server->nworkers]);
        if (err < 0)
            return server_explain(err, server->settings.engine == SETTING_ENGINE_URING ? "a worker with io_uring"
                                                                                       : "a worker",
                                  error, error_size);
    }
    return 0;
}

static int
open_drc(struct server *server)
{
    const struct drc_config config = {
        .entries = server->settings.drc_entries,
        .hash = siphash,
        .now_ms = server_coarse_ms,
    };

    return config.entries > 0 ? drc_new(&config, &server->drc) : 0;
}

/* Who looks on does so from the first call on. */
static int
start_observer(struct server *server, const struct server_config *server_config, char *error, size_t error_size)
{
    const struct settings *settings = &server->settings;
    const struct observer_config config = {
        .hook = server_config->hook,
        .hook_context = server_config->hook_context,
        .keep_calls = server_config->keep_calls,
        .queue_bytes = settings->journal_queue,
        .log = &server->log,
        .sandbox = server->sandbox,
        .tap = &server->shared.transport.tap,
    };
    struct observer_files *files = server_config->takeover != NULL ? &server_config->takeover->files : NULL;
    int err = observer_new(&config, &server->observer);

    if (err < 0)
        return server_explain(err, "looking on", error, error_size);
    observer_learn_exports(server->observer, state_key(server->state), server->exports);
    if (files != NULL)
        err = observer_follow(server->observer, files, error, error_size);
    if (err == 0 && settings->journal != NULL && (files == NULL || files->journal.file == NULL))
        err = observer_journal_open(server->observer, settings->journal, settings->journal_data == SETTING_JOURNAL_WHOLE,
                                    error, error_size);
    if (err == 0 && settings->capture != NULL && (files == NULL || files->capture.file == NULL))
        err = observer_capture_open(server->observer, settings->capture, error, error_size);
    return err;
}

static int
open_control(struct server *server, struct takeover *from, char *error, size_t error_size)
{
    const struct control_config config = {
        .server = server,
        .dir = state_dir(server->state),
        .log = &server->log,
        .sandbox = server->sandbox,
        .idle_ms = CONTROL_IDLE_MS,
        .inherits = from != NULL,
        .lock_fd = from != NULL ? from->lock_fd : -1,
        .socket_fd = from != NULL ? from->control_fd : -1,
    };
    int err = control_new(&config, &server->control, error, error_size);

    if (err == 0 && from != NULL)
        from->lock_fd = from->control_fd = -1;
    return err;
}

static int
open_handover(struct server *server, const struct server_process *process)
{
    int err = server_list_sockets(server);

    return err < 0 ? err : handover_new(server, process, &server->handover);
}

/* The list is a courtesy to showmount(8): what cannot be read keeps nobody from serving. */
static void
load_mounts(struct server *server)
{
    char error[ERROR_MAX];

    if (mount_list_load(server->mounts, server->state, error, sizeof(error)) < 0)
        log_warn(&server->log, "%s; it is left alone, and the MOUNT list is new and in memory only, until it is moved away",
                 error);
}

/* From its end on nothing may fail: the other server does not serve any more. */
static int
take_over(struct server *server, struct takeover *from, struct handed_list *conns, char *error, size_t error_size)
{
    int err = takeover_finish(from, server->drc, conns, &server->log, error, error_size);

    if (err < 0)
        return err;
    load_mounts(server);
    return takeover_serve(from, error, error_size);
}

static int
fill_exports(struct server *server, const struct server_config *config, char *error, size_t error_size)
{
    int err = 0;

    for (size_t i = 0; i < config->nfills && err == 0; i++) {
        struct tree tree = { .source = config->fills[i].source, .error = error, .error_size = error_size };
        struct exports *set;

        err = server_memory_store(server, config->fills[i].export, &set, &tree.store, error, error_size);
        if (err < 0)
            return err;
        err = fill_store(&tree);
        exports_put(set);
    }
    return err;
}

/* What handles and mounts are remembered by. */
static int
start_state(struct server *server, const struct server_config *config, char *error, size_t error_size)
{
    int err = config->stateless ? state_new_stateless(&server->state)
                                : state_open(server->settings.state_dir, &server->state, error, error_size);

    if (err < 0)
        return config->stateless ? server_explain(err, "the key of handles", error, error_size) : err;
    if (server->settings.deterministic != 0)
        state_seed_key(server->state, server->settings.deterministic);
    err = mount_list_new(server->settings.mount_list, &server->mounts);
    if (err < 0)
        return server_explain(err, "the MOUNT list", error, error_size);
    if (config->takeover == NULL)
        load_mounts(server);
    return 0;
}

static int
start_mount_keeper(struct server *server, const struct server_config *config, char *error, size_t error_size)
{
    int err = config->stateless ? 0 : mount_keeper_new(server->mounts, server->state, server->sandbox, &server->log,
                                                       &server->mount_keeper);

    return err < 0 ? server_explain(err, "the thread for the MOUNT list", error, error_size) : 0;
}

/* The threads that find out who calls. */
static int
start_lookups(struct server *server, const struct server_config *config, char *error, size_t error_size)
{
    int err = start_hosts(server, config->hosts);

    if (err < 0)
        return server_explain(err, "the thread for host names", error, error_size);
    err = start_groups(server, config->groups);
    if (err < 0)
        return server_explain(err, "the thread for groups of users", error, error_size);
    err = principals_new(&server->settings, config->principals, &server->log, server_now_ms, &server->gss);
    if (err == 0)
        err = principals_follow(server->gss, server->exports, &server->log);
    return err < 0 ? server_explain(err, "the thread for Kerberos", error, error_size) : 0;
}

/* What calls of all workers share, but for sockets. */
static int
start_shared(struct server *server, const struct server_config *config, char *error, size_t error_size)
{
    int err = rate_new(RATES_MAX, config->clock != NULL ? config->clock : &rate_clock_system, &server->rate);

    if (err < 0)
        return server_explain(err, "the table of rates", error, error_size);
    err = start_pools(server);
    if (err < 0)
        return server_explain(err, "the pool of threads", error, error_size);
    err = open_drc(server);
    return err < 0 ? server_explain(err, "the replay cache", error, error_size) : 0;
}

static int
start(struct server *server, const struct server_config *config, char *error, size_t error_size)
{
    struct handed_list conns = { 0 };
    unsigned workers = 0;
    int err = choose_workers(&server->settings, config->driven, &workers, error, error_size);

    if (err == 0)
        err = server_load_exports(server, error, error_size);
    if (err == 0)
        err = fill_exports(server, config, error, error_size);
    if (err == 0)
        err = start_state(server, config, error, error_size);
    if (err == 0)
        err = sandbox_new(server->settings.sandbox, &server->log, &server->sandbox, error, error_size);
    if (err == 0)
        err = start_observer(server, config, error, error_size);
    if (err == 0)
        err = start_mount_keeper(server, config, error, error_size);
    if (err == 0)
        err = start_lookups(server, config, error, error_size);
    if (err == 0)
        err = start_shared(server, config, error, error_size);
    if (err == 0)
        err = server_open_sockets(server, config, workers, error, error_size);
    if (err == 0 && config->control)
        err = open_control(server, config->takeover, error, error_size);
    if (err < 0)
        return err;
    if (config->process != NULL)
        err = open_handover(server, config->process);
    if (err < 0)
        return server_explain(err, "restarts", error, error_size);
    err = set_up_shared(server);
    if (err < 0)
        return server_explain(err, "the table of clients", error, error_size);
    err = server_use_faults(server, config->faults, error, error_size);
    if (err < 0)
        return err;
    err = start_workers(server, workers, error, error_size);
    if (err == 0)
        err = server_place_workers(server, server->settings.cpu_affinity, error, error_size);
    if (err == 0)
        err = config->takeover == NULL ? server_register_ports(server, error, error_size)
                                       : take_over(server, config->takeover, &conns, error, error_size);
    if (err == 0)
        err = server_begin_to_serve(server, config->takeover, &conns, error, error_size);
    handed_fini(&conns);
    return err;
}

int
server_new(const struct server_config *config, struct server **out, char *error, size_t error_size)
{
    struct server *server = calloc(1, sizeof(*server));
    int err;

    if (server == NULL)
        return server_explain(-ENOMEM, "the server", error, error_size);
    pthread_mutex_init(&server->lock, NULL);
    server->started_ms = server_now_ms();
    log_meter_init(&server->log_meter, config->settings->log_limit, server_now_ms);
    server->log = config->log;
    server->log.meter = &server->log_meter;
    server->shared.driven = config->driven;
    err = settings_copy(&server->settings, config->settings);
    server->settings.log_level = config->log.level;      /* what is in force, whoever chose it */
    if (err == 0)
        err = server_source_init(&server->source, &config->exports);
    if (err < 0)
        server_explain(err, "the settings", error, error_size);
    else if (config->takeover != NULL)
        err = server_source_change(&server->source, &config->takeover->changes, error, error_size);
    if (err == 0)
        err = start(server, config, error, error_size);
    if (err < 0) {
        server_free(server);
        return err;
    }
    *out = server;
    return 0;
}

void
server_ports(const struct server *server, struct server_ports *ports)
{
    *ports = server->ports;
}

struct observer *
server_observer(struct server *server)
{
    return server->observer;
}

int
server_add_connection(struct server *server, int fd)
{
    struct worker *best = server->workers[0];
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
    for (unsigned i = 1; i < server->nworkers; i++)
        if (worker_connections(server->workers[i]) < worker_connections(best))
            best = server->workers[i];
    worker_add_connection(best, fd);
    return 0;
}

int
server_fd(const struct server *server)
{
    return server->shared.driven ? worker_fd(server->workers[0]) : -1;
}

int
server_may_change_observer(struct server *server, char *error, size_t error_size)
{
    int err;

    pthread_mutex_lock(&server->lock);
    err = server_refuse_while_restarting(server, error, error_size);
    pthread_mutex_unlock(&server->lock);
    return err;
}

void
server_turn(struct server *server)
{
    worker_turn(server->workers[0]);
}

int
server_restart(struct server *server, int fd, char *error, size_t error_size)
{
    return handover_begin(server->handover, fd, error, error_size);
}

int
server_restarted_event(const struct server *server)
{
    return handover_event(server->handover);
}

bool
server_end_restart(struct server *server)
{
    handover_stop(server->handover);
    return handover_is_done(server->handover);
}

static void
stop_workers(struct server *server)
{
    if (server->nworkers > 0)
        worker_stop_listening(server->workers[0]);
    for (unsigned i = 0; i < server->nworkers; i++)
        worker_stop(server->workers[i], server->settings.drain_timeout * UINT64_C(1000));
    for (unsigned i = 0; i < server->nworkers; i++)
        worker_free(server->workers[i]);
    free(server->workers);
}

void
server_free(struct server *server)
{
    bool restarted;

    if (server == NULL)
        return;
    restarted = server_end_restart(server);
    if (restarted)
        control_leave(server->control);
    control_free(server->control);
    mount_watch_free(server->mount_watch);
    if (server->registered && !restarted)
        rpcbind_unregister(server->registrations, REGISTRATIONS);
    if (server->hosts != NULL)
        hosts_stop(server->hosts);      /* no call waits for a name server any more, */
    if (server->groups != NULL)
        groups_stop(server->groups);    /* or for a directory service, */
    gss_stop(server->gss);              /* or for a ticket to be looked at */
    stop_workers(server);
    if (server->faults != NULL)
        faults_detach(server->faults);
    observer_free(server->observer);
    gss_free(server->gss);
    clients_free(server->shared.transport.clients);
    groups_free(server->groups);
    hosts_free(server->hosts);
    listen_close(&server->mount_sockets);
    listen_close(&server->nfs_sockets);
    pool_free(server->pool);
    pool_free(server->paths);
    rate_free(server->rate);
    drc_free(server->drc);
    mount_keeper_free(server->mount_keeper, server->has_run && !restarted);
    log_catch_up(&server->log, true);
    mount_list_free(server->mounts);
    exports_put(server->exports);
    if (server->state != NULL)
        state_close(server->state);
    sandbox_free(server->sandbox);
    server_source_fini(&server->source);
    handover_free(server->handover);
    free(server->handed_sockets.fds);
    free(server->warnings);
    settings_fini(&server->settings);
    log_meter_fini(&server->log_meter);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
