/* server/exports.c - see exports.h: sets of exports, counted, searched and freed. */
#include "server/exports_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/export_options.h"
#include "storage/store.h"

void
exports_shared_store_put(struct shared_store *shared)
{
    if (shared == NULL || atomic_fetch_sub(&shared->refs, 1) > 1)
        return;
    store_free(shared->store);
    free(shared->name);
    free(shared);
}

void
exports_free_client(struct export_client *client)
{
    free(client->text);
    export_rights_fini(&client->rights);
}

static void
exports_free(struct exports *set)
{
    size_t i, j;

    for (i = 0; i < set->count; i++) {
        struct export *export = &set->list[i];

        for (j = 0; j < export->nclients; j++)
            exports_free_client(&export->clients[j]);
        free(export->clients);
        free(export->path);
        free(export->dir);
        exports_shared_store_put(set->private->stores[i]);
    }
    free(set->list);
    free(set->private->stores);
    free(set->private->first);
    free(set->private->ids);
    free(set->private);
    free(set);
}

struct exports *
exports_ref(struct exports *set)
{
    atomic_fetch_add(&set->refs, 1);
    return set;
}

void
exports_put(struct exports *set)
{
    if (set != NULL && atomic_fetch_sub(&set->refs, 1) == 1)
        exports_free(set);
}

struct exports *
exports_new(size_t room)
{
    struct exports *set = calloc(1, sizeof(*set));

    if (set == NULL)
        return NULL;
    atomic_init(&set->refs, 1);
    set->private = calloc(1, sizeof(*set->private));
    if (set->private == NULL) {
        free(set);
        return NULL;
    }
    set->list = calloc(room + 1, sizeof(*set->list));
    set->private->stores = calloc(room + 1, sizeof(*set->private->stores));
    set->private->first = calloc(room + 1, sizeof(*set->private->first));
    set->private->ids = calloc(room + 1, sizeof(*set->private->ids));
    if (set->list == NULL || set->private->stores == NULL || set->private->first == NULL ||
        set->private->ids == NULL) {
        exports_free(set);
        return NULL;
    }
    return set;
}

const struct export *
exports_find_id(const struct exports *set, uint64_t id)
{
    const struct id_row *ids = set->private->ids;
    size_t low = 0, high = set->count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (ids[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count && ids[low].id == id ? &set->list[ids[low].export] : NULL;
}

static size_t
skip_slashes(const char *path, size_t len, size_t at)
{
    while (at < len && path[at] == '/')
        at++;
    return at;
}

/* Whether a path is this export's or below it; *end is where what follows begins, behind slashes. */
static bool
lies_in(const struct export *export, const char *path, size_t len, size_t *end)
{
    const char *name = export->path;
    size_t at = skip_slashes(path, len, 0), part;

    while (*name == '/' && name[1] != '\0') {
        name++;
        part = strcspn(name, "/");
        if (len - at < part || memcmp(path + at, name, part) != 0 || (at + part < len && path[at + part] != '/'))
            return false;
        at = skip_slashes(path, len, at + part);
        name += part;
    }
    *end = at;
    return true;
}

const struct export *
exports_find_path(const struct exports *set, const char *path, size_t len, const struct export *below,
                  const char **rest, size_t *rest_len)
{
    const struct export *best = NULL;
    size_t i, end;

    if (len == 0 || path[0] != '/')
        return NULL;
    for (i = 0; i < set->count; i++) {
        const struct export *export = &set->list[i];

        if (!lies_in(export, path, len, &end) || (best != NULL && best->path_len >= export->path_len) ||
            (below != NULL && export->path_len >= below->path_len))
            continue;
        best = export;
        *rest = path + end;
        *rest_len = len - end;
    }
    return best;
}
