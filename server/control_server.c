/* server/control_server.c - the commands about the server as a whole: status, stats, show and set. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/control_commands.h"
#include "server/nfs3_call.h"
#include "server/nfsacl.h"
#include "server/settings_table.h"
#include "storage/store.h"

#define VALUE_MAX PATH_MAX
#define NS_PER_MS 1000000u

/* Since JSON has signed integers only. */
static json_int_t
number(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (json_int_t)value;
}

static json_t *
pack_pool(const struct pool_stats *pool)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I}", "threads", (int)pool->threads,
                     "min", (int)pool->min, "max", (int)pool->max, "busy", (int)pool->busy, "queued", (int)pool->queued,
                     "done", number(pool->done), "waited", number(pool->waited),
                     "busy_ms", number(pool->busy_ns / NS_PER_MS), "thread_ms", number(pool->thread_ns / NS_PER_MS));
}

static json_t *
pack_time(time_t time)
{
    char text[32];
    struct tm tm;

    gmtime_r(&time, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_string(text);
}

/* null when there was none. */
static json_t *
pack_reload(const struct server_reload *reload)
{
    if (reload->at == 0)
        return json_null();
    return json_pack("{s:o, s:b, s:o}", "at", pack_time(reload->at), "ok", reload->err == 0,
                     "error", control_text(reload->error));
}

/* The exports whose disk fails. */
static json_t *
pack_degraded(struct server *server)
{
    struct exports *set = server_exports(server);
    json_t *list = json_array();

    for (size_t i = 0; i < set->total; i++) {
        struct store *store = set->list[i].store;
        int trouble;

        store_read_only(store);                          /* it may have been made writable, and nobody has tried yet */
        trouble = atomic_load(&store->disk.trouble);
        if (trouble == 0)
            continue;
        json_array_append_new(list, json_pack("{s:o, s:s, s:o, s:I}", "path", control_text(set->list[i].path),
                                              "error", strerror(-trouble),
                                              "since", pack_time(atomic_load(&store->disk.since)),
                                              "errors", number(atomic_load(&store->disk.errors))));
    }
    exports_put(set);
    return list;
}

int
control_status(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    struct server_status status;

    (void)texts;
    (void)error;
    (void)error_size;
    server_status(server, &status);
    *result = json_pack("{s:s, s:i, s:I, s:{s:i, s:i}, s:s, s:b, s:i, s:i, s:o, s:s, s:I, s:I, s:o, s:o}",
                        "version", PACKAGE_VERSION, "pid", (int)getpid(), "uptime_ms", number(status.uptime_ms),
                        "ports", "nfs", (int)status.ports.nfs, "mount", (int)status.ports.mount,
                        "engine", status.engine, "sqpoll", status.polls, "workers", (int)status.workers,
                        "connections", (int)status.connections, "pool", pack_pool(&status.pool),
                        "identity", status.identity == CRED_SELF ? "self" : "callers", "uid", number(geteuid()),
                        "exports", number(status.exports), "degraded", pack_degraded(server),
                        "last_reload", pack_reload(&status.last_reload));
    return 0;
}

/* Of one procedure: how often it was answered, and each error that it was answered with. */
static json_t *
pack_procedure(const uint64_t replies[NFS3_STATS_PLACES])
{
    json_t *errors = json_object();
    uint64_t calls = 0, failed = 0;

    for (unsigned place = 0; place < NFS3_STATS_PLACES; place++) {
        calls += replies[place];
        if (place == NFS3_OK || replies[place] == 0)
            continue;
        failed += replies[place];
        json_object_set_new(errors, nfs3_stats_status(place), json_integer(number(replies[place])));
    }
    return json_pack("{s:I, s:I, s:o}", "calls", number(calls), "failed", number(failed), "errors", errors);
}

/* Those of a program, whose counters begin at `first`. */
static json_t *
pack_procedures(const struct server_stats *stats, const struct nfs3_proc *(*row)(uint32_t number), uint32_t first)
{
    json_t *procedures = json_object();

    for (uint32_t proc = 0; row(proc) != NULL; proc++)
        json_object_set_new(procedures, row(proc)->name, pack_procedure(stats->nfs3[first + proc]));
    return procedures;
}

static json_t *
pack_rpc(const struct server_stats *stats)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                     "calls", number(stats->calls), "replies", number(stats->replies),
                     "bytes_in", number(stats->bytes_in), "bytes_out", number(stats->bytes_out),
                     "connections_opened", number(stats->connections_opened),
                     "connections_closed", number(stats->connections_closed),
                     "connections_refused", number(stats->connections_refused),
                     "connections_idle", number(stats->connections_idle),
                     "bad_records", number(stats->bad_records), "bad_messages", number(stats->bad_messages),
                     "auth_errors", number(stats->auth_errors), "dropped", number(stats->dropped));
}

static json_t *
pack_replay_cache(const struct drc_stats *stats)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}",
                     "hits", number(stats->hits), "misses", number(stats->misses),
                     "dropped", number(stats->dropped), "waited", number(stats->waited),
                     "evicted", number(stats->evicted), "unkept", number(stats->unkept));
}

static json_t *
pack_kerberos(const struct gss_stats *stats)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}",
                     "contexts", number(stats->contexts), "made", number(stats->made),
                     "refused", number(stats->refused), "evicted", number(stats->evicted),
                     "replayed", number(stats->replayed));
}

int
control_stats(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    struct server_stats stats;

    (void)texts;
    (void)error;
    (void)error_size;
    server_stats(server, &stats);
    *result = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:{s:I, s:I}, s:{s:I, s:I}, s:{s:I, s:I, s:I, s:I, s:I},"
                        "s:{s:I, s:I}, s:I, s:I, s:I}",
                        "rpc", pack_rpc(&stats), "nfs3", pack_procedures(&stats, nfs3_proc, NFS3_STATS_NFS),
                        "nfsacl", pack_procedures(&stats, nfsacl_proc, NFS3_STATS_NFSACL),
                        "replay_cache", pack_replay_cache(&stats.drc),
                        "kerberos", pack_kerberos(&stats.gss), "pool", pack_pool(&stats.pool),
                        "flushes", "flushes", number(stats.flushes), "calls_served", number(stats.flushed_calls),
                        "limits", "delayed", number(stats.delayed), "refused", number(stats.delay_refused),
                        "buffers", "bytes", number(stats.buffer_bytes), "max_bytes", number(stats.buffer_bytes_max),
                        "call_bytes", number(stats.call_bytes), "registered_bytes", number(stats.registered_bytes),
                        "register_refused", number(stats.register_refused),
                        "log", "lost", number(stats.log_lost), "left_out", number(stats.log_left_out),
                        "mounts", number(stats.mounts), "unknown_errors", number(stats.unknown_errors),
                        "disk_errors", number(stats.disk_errors));
    return 0;
}

/* Append a setting. Returns 0, or -EINVAL with error when there is none of that name. */
static int
append_setting(json_t *list, struct server *server, const char *key, char *error, size_t error_size)
{
    const struct setting *row = settings_find(key, error, error_size);
    char value[VALUE_MAX];
    int err = server_setting(server, key, value, sizeof(value), error, error_size);

    if (err == 0)
        json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:b}", "key", key, "value", control_text(value),
                                              "default", row->initial, "live", row->live));
    return err;
}

int
control_show(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    json_t *list = json_array();
    int err = 0;

    if (texts[0] != NULL)
        err = append_setting(list, server, texts[0], error, error_size);
    for (size_t i = 0; texts[0] == NULL && i < settings_table_rows; i++)
        append_setting(list, server, settings_table[i].key, error, error_size);
    if (err < 0)
        json_decref(list);
    else
        *result = list;
    return err;
}

int
control_set(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    int err = server_set(server, texts[0], texts[1], error, error_size);
    char value[VALUE_MAX];

    if (err == 0)
        err = server_setting(server, texts[0], value, sizeof(value), error, error_size);
    if (err == 0)
        *result = json_pack("{s:s, s:s}", "key", texts[0], "value", value);
    return err;
}

int
control_restart(struct server *server, int fd, char *error, size_t error_size)
{
    return server_restart(server, fd, error, error_size);
}
