/* server/server_stats.c - what a running server tells of itself. */
#include <time.h>

#include "server/server_private.h"

uint64_t
server_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t
server_coarse_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void
server_status(struct server *server, struct server_status *status)
{
    *status = (struct server_status){
        .uptime_ms = server_now_ms() - server->started_ms,
        .ports = server->ports,
        .engine = worker_engine_name(server->workers[0]),
        .polls = worker_polls(server->workers[0]),
        .workers = server->nworkers,
        .connections = atomic_load_explicit(&server->shared.transport.connections, memory_order_relaxed),
        .identity = worker_cred_mode(server->workers[0]),
    };
    pool_read_stats(server->pool, &status->pool);
    pthread_mutex_lock(&server->lock);
    status->exports = server->exports->count;
    status->last_reload = server->last_reload;
    pthread_mutex_unlock(&server->lock);
}

static void
add(uint64_t *sum, const _Atomic uint64_t *counter)
{
    *sum += atomic_load_explicit(counter, memory_order_relaxed);
}

static void
add_worker(struct server_stats *stats, const struct worker *worker)
{
    const struct transport_stats *transport = &worker->transport->stats;

    add(&stats->calls, &transport->calls);
    add(&stats->replies, &transport->replies);
    add(&stats->bytes_in, &transport->bytes_in);
    add(&stats->bytes_out, &transport->bytes_out);
    add(&stats->connections_opened, &transport->conns_opened);
    add(&stats->connections_closed, &transport->conns_closed);
    add(&stats->connections_refused, &transport->conns_refused);
    add(&stats->connections_idle, &transport->conns_idle);
    add(&stats->bad_records, &transport->bad_records);
    add(&stats->bad_messages, &transport->bad_messages);
    add(&stats->auth_errors, &transport->auth_errors);
    add(&stats->dropped, &transport->dropped);
    add(&stats->unknown_errors, &worker->stats.unknown_errors);
    add(&stats->delayed, &worker->stats.delayed);
    add(&stats->delay_refused, &worker->stats.delay_refused);
    add(&stats->registered_bytes, &engine_memory(worker->engine)->bytes);
    add(&stats->register_refused, &engine_memory(worker->engine)->refused);
    for (unsigned proc = 0; proc < NFS3_STATS_PROCS; proc++)
        for (unsigned place = 0; place < NFS3_STATS_PLACES; place++)
            add(&stats->nfs3[proc][place], &worker->stats.nfs3.replies[proc][place]);
}

/* Exports of one directory share its store. */
static bool
is_counted(const struct exports *set, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (set->list[i].store == set->list[n].store)
            return true;
    }
    return false;
}

static void
add_stores(struct server_stats *stats, struct server *server)
{
    pthread_mutex_lock(&server->lock);
    for (size_t i = 0; i < server->exports->total; i++) {
        const struct store *store = server->exports->list[i].store;

        if (is_counted(server->exports, i))
            continue;
        add(&stats->flushes, &store->flushes);
        add(&stats->flushed_calls, &store->flushed_calls);
        add(&stats->disk_errors, &store->disk.errors);
    }
    pthread_mutex_unlock(&server->lock);
}

void
server_stats(struct server *server, struct server_stats *stats)
{
    *stats = (struct server_stats){ 0 };
    for (unsigned i = 0; i < server->nworkers; i++)
        add_worker(stats, server->workers[i]);
    add_stores(stats, server);
    pool_read_stats(server->pool, &stats->pool);
    if (server->gss != NULL)
        gss_read_stats(server->gss, &stats->gss);
    if (server->drc != NULL)
        drc_read_stats(server->drc, &stats->drc);
    add(&stats->buffer_bytes, &server->shared.transport.budget.used_bytes);
    add(&stats->call_bytes, &server->shared.transport.call_bytes);
    stats->buffer_bytes_max = server->shared.transport.budget.max_bytes;
    stats->mounts = mount_list_count(server->mounts);
    add(&stats->log_lost, &server->log_meter.lost);
    add(&stats->log_left_out, &server->log_meter.left_out);
}
