/*
 * server/server_settings.c - settings while a server runs: what they are, and what a change of one does.
 *
 * A change that may fail is made first. Then the setting is noted, and everything that can follow does, changed or not.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>

#include "server/cpus.h"
#include "server/server_private.h"
#include "server/settings_table.h"
#include "server/sysctls.h"

#define AUTO_THREADS_MIN 8
#define AUTO_THREADS_MAX 64
#define REPLIES_MAX ((uint64_t)32 << 20)                /* bytes of replies to come, or that wait for one client ... */
#define REPLIES_SHARE 8                                 /* ... but not more than this part of all memory */
#define CLIENT_SHARE 4                  /* of all connections, and of the memory, that one client may have */
#define CLIENT_LEAST 16                 /* connections that he may have in any case */
#define DELAYED_SHARE 16                /* of all memory, for calls over their limits; half of where calls are scarce */

int
server_setting(struct server *server, const char *key, char *value, size_t value_size, char *error, size_t error_size)
{
    const struct setting *row = settings_find(key, error, error_size);

    if (row == NULL)
        return -EINVAL;
    pthread_mutex_lock(&server->lock);
    settings_format(&server->settings, row, value, value_size);
    pthread_mutex_unlock(&server->lock);
    return 0;
}

void
server_threads(const struct settings *settings, unsigned *min, unsigned *max)
{
    *min = settings->threads != 0 ? settings->threads : AUTO_THREADS_MIN;
    *max = settings->threads != 0 ? settings->threads : AUTO_THREADS_MAX;
}

/* Connections leave descriptors to files, pipes and rings: else the first that are idle would end all reading. */
static uint32_t
choose_connections(const struct server *server)
{
    uint32_t wanted = server->settings.max_connections, most;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY || wanted <= limit.rlim_cur / 4)
        return wanted;
    most = (uint32_t)MAX(limit.rlim_cur / 4, 1);
    if (most != server->shared.transport.limits.connections)
        log_warn(&server->log, "at most %u connections (max_connections is %u): RLIMIT_NOFILE is %llu", most, wanted,
                 (unsigned long long)limit.rlim_cur);
    return most;
}

static void
use_connections(struct server *server)
{
    struct transport_shared *transport = &server->shared.transport;
    uint32_t connections = choose_connections(server), share = server->settings.client_connections;

    transport->limits.connections = connections;
    clients_set_max(transport->clients, share != 0 ? share : MAX(connections / CLIENT_SHARE, CLIENT_LEAST));
}

static void
use_sizes(struct worker_sizes *sizes, const struct settings *settings)
{
    sizes->rtmax = settings->rtmax;
    sizes->wtmax = settings->wtmax;
    sizes->dtpref = settings->dtpref;
    sizes->rtpref = settings->rtpref;
    sizes->wtpref = settings->wtpref;
}

void
server_use_limits(struct server *server)
{
    const struct settings *settings = &server->settings;
    struct transport_limits *limits = &server->shared.transport.limits;

    limits->calls_per_client = settings->calls_per_client;
    limits->calls_per_conn = settings->calls_per_connection;
    limits->bytes_per_client = settings->max_memory / CLIENT_SHARE;
    limits->reply_bytes_per_conn = MIN(REPLIES_MAX, settings->max_memory / REPLIES_SHARE);
    limits->idle_ms = settings->idle_timeout * UINT64_C(1000);
    limits->keepalive_s = settings->keepalive;
    limits->socket_buffer = settings->socket_buffer;
    limits->delay_small = !settings->tcp_nodelay;
    server->shared.transport.budget.max_bytes = settings->max_memory;
    server->shared.delay_budget.max_bytes = settings->max_memory / DELAYED_SHARE;
    use_connections(server);
    use_sizes(&server->shared.sizes, settings);
}

int
server_place_workers(struct server *server, const char *cpu_affinity, char *error, size_t error_size)
{
    struct cpus cpus, all;
    char why[256];
    int err = cpus_choose(cpu_affinity, &cpus, why, sizeof(why));

    if (err == 0 && (server->shared.driven || (cpus.count == 0 && !server->placed)))
        return 0;                                       /* where the caller's thread runs is his */
    if (err == 0 && cpus.count == 0)
        err = cpus_choose("auto", &all, why, sizeof(why));
    if (err < 0) {
        snprintf(error, error_size, "cpu_affinity: %s", why);
        return err;
    }
    server->placed = true;
    for (unsigned i = 0; i < server->nworkers && err == 0; i++)
        err = cpus.count > 0 ? worker_run_on(server->workers[i], &cpus.list[i % cpus.count], 1)
                             : worker_run_on(server->workers[i], all.list, all.count);
    return err < 0 ? server_explain(err, "cpu_affinity", error, error_size) : 0;
}

/* Of a change what may fail; with the lock held. */
static int
prepare(struct server *server, const struct settings *changed, char *error, size_t error_size)
{
    unsigned min, max;
    int err = 0;

    if (strcmp(changed->cpu_affinity, server->settings.cpu_affinity) != 0)
        err = server_place_workers(server, changed->cpu_affinity, error, error_size);
    if (err < 0 || changed->threads == server->settings.threads)
        return err;
    server_threads(changed, &min, &max);
    err = pool_resize(server->pool, min, max);
    if (err == 0)
        return 0;
    server_threads(&server->settings, &min, &max);
    pool_resize(server->pool, min, max);
    return server_explain(err, "threads", error, error_size);
}

/* Take over a row's value; the old one is freed with `changed`. */
static void
take_over(struct settings *settings, struct settings *changed, const struct setting *row)
{
    unsigned char *mine = (unsigned char *)settings + row->offset, *other = (unsigned char *)changed + row->offset;

    for (size_t i = 0; i < row->width; i++) {
        unsigned char byte = mine[i];

        mine[i] = other[i];
        other[i] = byte;
    }
}

/* Everything that goes by settings; workers have to be told that they look for idle connections at other times. */
static int
follow(struct server *server)
{
    const struct settings *settings = &server->settings;
    bool retune = server->shared.transport.limits.idle_ms != settings->idle_timeout * UINT64_C(1000);
    int err = 0;

    server->log.level = settings->log_level;
    server->log_meter.limit = settings->log_limit;
    hosts_set_times(server->hosts, settings->host_ttl * UINT64_C(1000), settings->host_stale * UINT64_C(1000));
    groups_set_ttl(server->groups, settings->groups_ttl * UINT64_C(1000));
    server_use_limits(server);
    for (unsigned i = 0; i < server->nworkers && retune && err == 0; i++)
        err = worker_retune(server->workers[i]);
    return err;
}

static int
set_locked(struct server *server, const struct setting *row, const char *value, char *error, size_t error_size)
{
    struct settings changed;
    int err = settings_copy(&changed, &server->settings);

    if (err < 0)
        return server_explain(err, row->key, error, error_size);
    err = settings_set(&changed, row->key, value, error, error_size);
    if (err == 0)
        err = settings_check(&changed, error, error_size);
    if (err == 0)
        err = prepare(server, &changed, error, error_size);
    if (err == 0) {
        take_over(&server->settings, &changed, row);
        err = follow(server);
        if (err < 0)
            server_explain(err, row->key, error, error_size);
    }
    settings_fini(&changed);
    return err;
}

int
server_set(struct server *server, const char *key, const char *value, char *error, size_t error_size)
{
    const struct setting *row = settings_find(key, error, error_size);
    int err;

    if (row == NULL)
        return -EINVAL;
    if (!row->live) {
        snprintf(error, error_size, "%s can be changed only at the start", key);
        return -EPERM;
    }
    pthread_mutex_lock(&server->lock);
    err = set_locked(server, row, value, error, error_size);
    if (err == 0)
        sysctls_warn(&server->settings, key, &server->log);
    pthread_mutex_unlock(&server->lock);
    if (err == 0)
        log_info(&server->log, "%s is %s now", key, value);
    return err;
}
