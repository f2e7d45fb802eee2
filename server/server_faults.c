/*
 * server/server_faults.c - a server that misbehaves because it was told to: rules of faults, a crash, a pause.
 */
#include <errno.h>
#include <string.h>

#include "server/fault_call.h"
#include "server/server_private.h"
#include "storage/memory.h"

#define SHOWN_MAX 256                   /* bytes of a path that are shown */

static int
refuse(int err, const char *why, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s", why);
    return err;
}

/* What of a rule depends on the server: its exports, and the key of its handles. */
static int
check_rule(void *context, const struct fault_rule *rule, char *error, size_t error_size)
{
    const struct server *server = context;
    const char *path = rule->path != NULL ? rule->path : rule->export;
    struct store_id id, dir;
    char shown[SHOWN_MAX];
    uint64_t export_id;
    const char *rest;
    size_t rest_len = 0;

    if (rule->handle_len > 0 &&
        fh_decode(state_key(server->state), rule->handle, rule->handle_len, &export_id, &id, &dir) < 0)
        return refuse(-EINVAL, "no call can match: the handle is none that this server has made", error, error_size);
    if (path == NULL)
        return 0;
    if (exports_find_path(server->exports, path, strlen(path), NULL, &rest, &rest_len) != NULL &&
        (rule->export == NULL || rule->path != NULL || rest_len == 0))
        return 0;
    snprintf(error, error_size, "no call can match: %s is %s", log_quote(shown, sizeof(shown), path, strlen(path)),
             rule->path != NULL ? "in none of the exports" : "not exported");
    return -EINVAL;
}

int
server_use_faults(struct server *server, struct faults *faults, char *error, size_t error_size)
{
    int err;

    server->shared.transport.faults.take = fault_take_call;
    server->shared.transport.faults.context = faults;
    if (faults == NULL)
        return 0;
    err = faults_attach(faults, &server->shared.transport.faults.armed, check_rule, server, error, error_size);
    if (err == 0)
        server->faults = faults;
    return err;
}

/* May there be faults? Returns 0 or -EPERM with error. */
static int
check_allowed(const struct server *server, char *error, size_t error_size)
{
    return server->faults != NULL ? 0 : refuse(-EPERM, "this server was not started for faults: ringnfsd takes them with "
                                               "--allow-faults, --fault, --faults or --ephemeral", error, error_size);
}

int
server_fault_add(struct server *server, const char *text, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    int id = check_allowed(server, error, error_size);

    if (id < 0)
        return id;
    pthread_mutex_lock(&server->lock);
    id = faults_add(server->faults, text, error, error_size);
    pthread_mutex_unlock(&server->lock);
    if (id > 0)
        log_info(&server->log, "fault rule %d: %s", id, log_quote(shown, sizeof(shown), text, strlen(text)));
    return id;
}

int
server_fault_load(struct server *server, const char *file, char *error, size_t error_size)
{
    int count = check_allowed(server, error, error_size);

    if (count < 0)
        return count;
    pthread_mutex_lock(&server->lock);
    count = faults_load(server->faults, file, error, error_size);
    pthread_mutex_unlock(&server->lock);
    if (count > 0)
        log_info(&server->log, "%d fault rules more", count);
    return count;
}

int
server_fault_clear(struct server *server, uint32_t id, char *error, size_t error_size)
{
    int err = check_allowed(server, error, error_size);

    return err == 0 ? faults_clear(server->faults, id, error, error_size) : err;
}

int
server_fault_rules(struct server *server, struct fault_set **set, char *error, size_t error_size)
{
    int err = check_allowed(server, error, error_size);

    if (err == 0)
        *set = faults_get(server->faults);
    return err;
}

/* With the lock held. */
static int
crash(struct server *server, char *error, size_t error_size)
{
    const struct exports *set = server->exports;
    char shown[SHOWN_MAX];

    for (size_t i = 0; i < set->total; i++) {
        const struct export *export = &set->list[i];

        if (export->memory)
            continue;
        snprintf(error, error_size, "only memory exports can crash: what the kernel holds for %s is not lost with a server",
                 log_quote(shown, sizeof(shown), export->path, export->path_len));
        return -EOPNOTSUPP;
    }
    for (unsigned i = 0; i < server->nworkers; i++)
        worker_reset(server->workers[i]);
    if (server->drc != NULL)
        drc_clear(server->drc);
    for (size_t i = 0; i < set->total; i++)
        memory_crash(set->list[i].store);
    return 0;
}

int
server_crash(struct server *server, char *error, size_t error_size)
{
    int err = check_allowed(server, error, error_size);

    if (err < 0)
        return err;
    pthread_mutex_lock(&server->lock);
    err = server_refuse_while_restarting(server, error, error_size);
    if (err == 0)
        err = crash(server, error, error_size);
    pthread_mutex_unlock(&server->lock);
    if (err == 0)
        log_info(&server->log, "crashed, as it was told to");
    return err;
}

int
server_pause(struct server *server, bool pause, char *error, size_t error_size)
{
    int err = check_allowed(server, error, error_size);

    if (err < 0)
        return err;
    pthread_mutex_lock(&server->lock);
    err = server_refuse_while_restarting(server, error, error_size);
    if (err == 0 && server->paused == pause)
        err = refuse(-EINVAL, pause ? "the server is paused already" : "the server is not paused", error, error_size);
    else if (err == 0)
        server->paused = pause;
    for (unsigned i = 0; i < server->nworkers && err == 0; i++)
        worker_pause(server->workers[i], pause);
    pthread_mutex_unlock(&server->lock);
    return err;
}
