/*
 * server/server_exports.c - a server's exports while it runs: read again, added to, taken from.
 *
 * A change is made to a copy of the sources first; it takes effect only when everything that they say has been loaded.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "server/server_private.h"
#include "server/text.h"

#define CHANGES_MAX 1024                /* lines added, and exports taken away, that are remembered */
#define REASON_MAX 1024                 /* bytes of an error that is told in the log */
#define SHOWN_MAX 256                   /* bytes of a line or path that are shown */

static const char memory_prefix[] = "memory:";

static void
strings_fini(struct string_list *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        free(strings->list[i]);
    free(strings->list);
    *strings = (struct string_list){ 0 };
}

static int
strings_add(struct string_list *strings, const char *text)
{
    char **grown = reallocarray(strings->list, strings->count + 1, sizeof(*grown));

    if (grown == NULL)
        return -ENOMEM;
    strings->list = grown;
    grown[strings->count] = strdup(text);
    if (grown[strings->count] == NULL)
        return -ENOMEM;
    strings->count++;
    return 0;
}

static int
strings_copy(struct string_list *strings, const char *const *from, size_t count)
{
    int err = 0;

    for (size_t i = 0; i < count && err == 0; i++)
        err = strings_add(strings, from[i]);
    return err;
}

static void
strings_remove(struct string_list *strings, size_t at)
{
    free(strings->list[at]);
    memmove(strings->list + at, strings->list + at + 1, (--strings->count - at) * sizeof(strings->list[0]));
}

int
server_source_init(struct source_copy *copy, const struct exports_source *from)
{
    int err;

    *copy = (struct source_copy){ 0 };
    err = strings_copy(&copy->files, from->files, from->nfiles);
    if (err == 0)
        err = strings_copy(&copy->lines, from->lines, from->nlines);
    return err;
}

void
server_source_fini(struct source_copy *copy)
{
    strings_fini(&copy->files);
    strings_fini(&copy->lines);
    strings_fini(&copy->removed);
    strings_fini(&copy->added);
    strings_fini(&copy->added_paths);
}

static int
copy_source(struct source_copy *copy, const struct source_copy *from)
{
    static const size_t lists[] = {
        offsetof(struct source_copy, files), offsetof(struct source_copy, lines),
        offsetof(struct source_copy, removed), offsetof(struct source_copy, added),
        offsetof(struct source_copy, added_paths)
    };
    int err = 0;

    *copy = (struct source_copy){ 0 };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && err == 0; i++) {
        const struct string_list *strings = (const struct string_list *)((const char *)from + lists[i]);

        err = strings_copy((struct string_list *)((char *)copy + lists[i]), (const char *const *)strings->list,
                           strings->count);
    }
    if (err < 0)
        server_source_fini(copy);
    return err;
}

/* Borrows from copy. */
static struct exports_source
source_of(const struct source_copy *copy)
{
    return (struct exports_source){
        .files = (const char *const *)copy->files.list, .nfiles = copy->files.count,
        .lines = (const char *const *)copy->lines.list, .nlines = copy->lines.count,
        .removed = (const char *const *)copy->removed.list, .nremoved = copy->removed.count,
        .added = (const char *const *)copy->added.list, .nadded = copy->added.count,
    };
}

/* What is no mistake, but should be known, goes to the log. */
static void
warn(struct server *server, const char *warnings)
{
    if (warnings[0] != '\0')
        log_warn(&server->log, "%s", warnings);
    free(server->warnings);
    server->warnings = strdup(warnings);
}

static int
load(struct server *server, const struct source_copy *copy, struct exports **set, char *error, size_t error_size)
{
    struct exports_source source = source_of(copy);
    int err = exports_load(&source, &server->settings, server->exports, set, error, error_size);

    if (err == 0 && server->shared.driven && exports_have_dirs(*set)) {
        exports_put(*set);
        *set = NULL;
        snprintf(error, error_size, "a server that the caller's loop drives exports memory: only, no directories");
        return -EOPNOTSUPP;
    }
    if (err == 0)
        warn(server, error);
    return err;
}

int
server_load_exports(struct server *server, char *error, size_t error_size)
{
    return load(server, &server->source, &server->exports, error, error_size);
}

static void
free_reloads(struct worker_reload **reloads, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        worker_reload_free(reloads[i]);
    free(reloads);
}

/* Let all workers use a set, or none of them; returns when none uses another for new calls. */
static int
hand_to_workers(struct server *server, struct exports *set)
{
    struct worker_reload **reloads = calloc(server->nworkers, sizeof(*reloads));
    sem_t applied;

    if (reloads == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < server->nworkers; i++) {
        reloads[i] = worker_reload_new(set);
        if (reloads[i] == NULL) {
            free_reloads(reloads, server->nworkers);
            return -ENOMEM;
        }
    }
    sem_init(&applied, 0, 0);
    for (unsigned i = 0; i < server->nworkers; i++)
        worker_reload(server->workers[i], reloads[i], &applied);
    for (unsigned i = 0; i < server->nworkers; i++)
        worker_wait(server->workers[i], &applied);
    sem_destroy(&applied);
    free(reloads);
    return 0;
}

static void
note_reload(struct server *server, int err, const char *error)
{
    struct server_reload *last = &server->last_reload;

    last->at = time(NULL);
    last->err = err;
    snprintf(last->error, sizeof(last->error), "%s", err < 0 ? error : "");
    if (err < 0)
        log_error(&server->log, "the exports stay as they were: %s", error);
}

/* Make a set, whose reference is taken over, the one in use. Returns 0, or -ENOMEM and all is as it was. */
static int
install(struct server *server, struct exports *set, char *error, size_t error_size)
{
    int err;

    access_prefetch(set, server->hosts);
    err = principals_follow(server->gss, set, &server->log);
    if (err == 0)
        err = hand_to_workers(server, set);
    if (err < 0) {
        exports_put(set);
        return server_explain(err, "exports", error, error_size);
    }
    observer_learn_exports(server->observer, state_key(server->state), set);
    exports_put(server->exports);
    server->exports = set;
    return 0;
}

/* Make what a source says the exports in use; with the lock held. */
static int
use(struct server *server, const struct source_copy *source, char *error, size_t error_size)
{
    struct exports *set;
    int err = load(server, source, &set, error, error_size);

    if (err == 0)
        err = install(server, set, error, error_size);
    note_reload(server, err, error);
    if (err == 0)
        server_watch_mounts(server);
    return err;
}

/* Serve what is mounted now, under the lines that were read last. On the watch's thread. */
static void
remount(void *context)
{
    struct server *server = context;
    char error[REASON_MAX];
    struct exports *set = NULL;
    int err = 0;

    pthread_mutex_lock(&server->lock);
    err = exports_remount(&server->settings, server->exports, &set, error, sizeof(error));
    if (set != NULL && (server->warnings == NULL || strcmp(server->warnings, error) != 0))
        warn(server, error);
    if (set != NULL)
        err = install(server, set, error, sizeof(error));
    pthread_mutex_unlock(&server->lock);
    if (err < 0)
        log_error(&server->log, "what is mounted has changed, the exports stay as they were: %s", error);
    else if (set != NULL)
        log_info(&server->log, "what is mounted inside of exports has changed");
}

void
server_watch_mounts(struct server *server)
{
    int err = 0;

    if (server->mount_watch == NULL && exports_have_dirs(server->exports))
        err = mount_watch_new(remount, server, &server->mount_watch);
    if (err < 0)
        log_warn(&server->log, "what is mounted later is not served before the exports are read again: %s",
                 strerror(-err));
}

int
server_refuse_while_restarting(const struct server *server, char *error, size_t error_size)
{
    if (!handover_is_busy(server->handover))
        return 0;
    snprintf(error, error_size, "a restart is under way: try again when it is over");
    return -EBUSY;
}

int
server_reload_exports(struct server *server, char *error, size_t error_size)
{
    int err;

    pthread_mutex_lock(&server->lock);
    err = server_refuse_while_restarting(server, error, error_size);
    if (err == 0)
        err = use(server, &server->source, error, error_size);
    else
        note_reload(server, err, error);
    pthread_mutex_unlock(&server->lock);
    if (err == 0)
        log_info(&server->log, "the exports have been read again");
    return err;
}

/* What a change does to a copy of the sources. Returns 0 or -errno with error. */
typedef int edit_source(struct source_copy *copy, const struct server *server, const char *text, char *error,
                        size_t error_size);

/* Do a change, and keep the copy when all is well. */
static int
change(struct server *server, edit_source *edit, const char *text, char *error, size_t error_size)
{
    struct source_copy copy;
    int err;

    pthread_mutex_lock(&server->lock);
    err = server_refuse_while_restarting(server, error, error_size);
    if (err == 0 && copy_source(&copy, &server->source) < 0)
        err = server_explain(-ENOMEM, "exports", error, error_size);
    if (err < 0) {
        pthread_mutex_unlock(&server->lock);
        return err;
    }
    err = edit(&copy, server, text, error, error_size);
    if (err == 0)
        err = use(server, &copy, error, error_size);
    if (err == 0) {
        struct source_copy old = server->source;

        server->source = copy;
        copy = old;
    }
    pthread_mutex_unlock(&server->lock);
    server_source_fini(&copy);
    return err;
}

static int
refuse_more(const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "%d %s already: write it into a file", CHANGES_MAX, what);
    return -ENOSPC;
}

static int
add_line(struct source_copy *copy, const struct server *server, const char *line, char *error, size_t error_size)
{
    const struct exports_source alone = { .added = &line, .nadded = 1 };
    struct exports *set;
    int err;

    (void)server;
    if (strchr(line, '\n') != NULL) {
        snprintf(error, error_size, "one line can be added at a time");
        return -EINVAL;
    }
    if (copy->added.count == CHANGES_MAX)
        return refuse_more("lines have been added", error, error_size);
    err = exports_parse(&alone, &set, error, error_size);
    if (err < 0)
        return err;
    err = strings_add(&copy->added_paths, set->list[0].path);
    exports_put(set);
    if (err == 0)
        err = strings_add(&copy->added, line);
    return err < 0 ? server_explain(err, "exports", error, error_size) : 0;
}

int
server_source_change(struct source_copy *copy, const struct exports_source *changes, char *error, size_t error_size)
{
    int err = strings_copy(&copy->removed, changes->removed, changes->nremoved);

    if (err < 0)
        return server_explain(err, "exports", error, error_size);
    for (size_t i = 0; i < changes->nadded && err == 0; i++)
        err = add_line(copy, NULL, changes->added[i], error, error_size);
    return err;
}

int
server_add_export(struct server *server, const char *line, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    int err = change(server, add_line, line, error, error_size);

    if (err == 0)
        log_info(&server->log, "an export has been added: %s", log_quote(shown, sizeof(shown), line, strlen(line)));
    return err;
}

const struct export *
server_find_export(const struct exports *set, const char *path)
{
    bool memory = strncmp(path, memory_prefix, sizeof(memory_prefix) - 1) == 0;
    char *plain = strdup(memory ? path + sizeof(memory_prefix) - 1 : path);
    const struct export *export = NULL;
    const char *rest;
    size_t rest_len;

    if (plain == NULL)
        return NULL;
    export = exports_find_path(set, plain, text_unescape(plain), NULL, &rest, &rest_len);
    if (export != NULL && (rest_len > 0 || (memory && !export->memory)))
        export = NULL;
    free(plain);
    return export;
}

static int
take_away(struct source_copy *copy, const struct server *server, const char *path, char *error, size_t error_size)
{
    const struct export *export = server_find_export(server->exports, path);
    char shown[SHOWN_MAX];
    bool known = false;
    size_t i;

    if (export == NULL) {
        snprintf(error, error_size, "%s is not exported", log_quote(shown, sizeof(shown), path, strlen(path)));
        return -ENOENT;
    }
    for (i = copy->added.count; i-- > 0;) {
        if (strcmp(copy->added_paths.list[i], export->path) != 0)
            continue;
        strings_remove(&copy->added, i);
        strings_remove(&copy->added_paths, i);
    }
    for (i = 0; i < copy->removed.count; i++)
        known = known || strcmp(copy->removed.list[i], export->path) == 0;
    if (known)
        return 0;
    if (copy->removed.count == CHANGES_MAX)
        return refuse_more("exports have been removed", error, error_size);
    if (strings_add(&copy->removed, export->path) < 0)
        return server_explain(-ENOMEM, "exports", error, error_size);
    return 0;
}

int
server_remove_export(struct server *server, const char *path, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    int err = change(server, take_away, path, error, error_size);

    if (err == 0)
        log_info(&server->log, "an export has been removed: %s", log_quote(shown, sizeof(shown), path, strlen(path)));
    return err;
}

struct exports *
server_exports(struct server *server)
{
    struct exports *set;

    pthread_mutex_lock(&server->lock);
    set = exports_ref(server->exports);
    pthread_mutex_unlock(&server->lock);
    return set;
}

int
server_read_exports(struct server *server, const char *file, struct exports **set, char *error, size_t error_size)
{
    struct exports_source source;
    struct source_copy copy;
    int err;

    pthread_mutex_lock(&server->lock);
    err = copy_source(&copy, &server->source);
    pthread_mutex_unlock(&server->lock);
    if (err < 0)
        return server_explain(err, "exports", error, error_size);
    source = source_of(&copy);
    if (file != NULL) {
        source.files = &file;
        source.nfiles = 1;
    }
    err = exports_parse(&source, set, error, error_size);
    server_source_fini(&copy);
    return err;
}
