/* server/exports.c - see exports.h: sets of exports, counted, searched and freed. */
#include "server/exports_private.h"

#include <errno.h>
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
lines_put(struct exports_lines *lines)
{
    if (lines == NULL || atomic_fetch_sub(&lines->refs, 1) > 1)
        return;
    export_entries_fini(&lines->entries);
    free(lines);
}

static void
exports_free(struct exports *set)
{
    size_t i, j;

    for (i = 0; i < set->total; i++) {
        struct export *export = &set->list[i];

        for (j = 0; j < export->nclients; j++)
            exports_free_client(&export->clients[j]);
        free(export->clients);
        free(export->mounts);
        free(export->path);
        free(export->dir);
        exports_shared_store_put(set->private->stores[i]);
    }
    free(set->list);
    free(set->private->stores);
    free(set->private->first);
    free(set->private->ids);
    lines_put(set->private->lines);
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

/* An array of `count` elements in place of a shorter one, its end zeroed; false: memory is short, and it is as it was. */
static bool
grow(void **array, size_t size, size_t old_count, size_t count)
{
    uint8_t *grown = reallocarray(*array, count, size);

    if (grown == NULL)
        return false;
    memset(grown + old_count * size, 0, (count - old_count) * size);
    *array = grown;
    return true;
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
    if (exports_grow(set, room) < 0) {
        exports_free(set);
        return NULL;
    }
    return set;
}

int
exports_grow(struct exports *set, size_t more)
{
    struct exports_private *private = set->private;
    size_t used = set->total, room = used + more + 1;

    return grow((void **)&set->list, sizeof(*set->list), used, room) &&
           grow((void **)&private->stores, sizeof(*private->stores), used, room) &&
           grow((void **)&private->first, sizeof(*private->first), used, room) &&
           grow((void **)&private->ids, sizeof(*private->ids), used, room) ? 0 : -ENOMEM;
}

const struct export *
exports_find_id(const struct exports *set, uint64_t id)
{
    const struct id_row *ids = set->private->ids;
    size_t low = 0, high = set->total, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (ids[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->total && ids[low].id == id ? &set->list[ids[low].export] : NULL;
}

const struct export_mount *
exports_find_mount(const struct export *export, uint64_t fsid, uint64_t fileid)
{
    size_t low = 0, high = export->nmounts, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (export->mounts[middle].fileid < fileid)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < export->nmounts && export->mounts[low].fileid == fileid; low++)
        if (export->mounts[low].fsid == fsid)
            return &export->mounts[low];
    return NULL;
}

bool
exports_cross(const struct export_rights *here, const struct export_rights *there)
{
    return there != NULL && !there->withheld && (here->crossmnt || there->nohide);
}

bool
exports_have_dirs(const struct exports *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->list[i].dir != NULL)
            return true;
    return false;
}

struct export *
exports_find_exact(const struct exports *set, const char *path, size_t len)
{
    size_t low = 0, high = set->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strncmp(set->list[middle].path, path, len);

        if (order == 0 && set->list[middle].path_len == len)
            return &set->list[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

struct export *
exports_find_around(const struct exports *set, const char *path)
{
    struct export *export = NULL;
    size_t len = strlen(path);

    while (export == NULL && len > 1) {
        do
            len--;
        while (len > 1 && path[len] != '/');
        export = exports_find_exact(set, path, len);
    }
    return export;
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
