/* server/exports_open.c - directories are opened, or taken over from the set before; see exports_private.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "server/exports_private.h"
#include "server/mount_point.h"
#include "storage/cred.h"
#include "storage/memory.h"
#include "storage/posix.h"

#define FD_CACHE_MIN 64
#define FD_CACHE_MAX 65536
#define MEMORY_ROOT_MODE 01777

static struct shared_store *
find_store(const struct exports *set, const struct shared_store *like)
{
    size_t i;

    for (i = 0; set != NULL && i < set->count; i++) {
        struct shared_store *shared = set->private->stores[i];

        if (shared != NULL && shared->memory == like->memory && shared->dev == like->dev && shared->ino == like->ino &&
            strcmp(shared->name, like->name) == 0)
            return shared;
    }
    return NULL;
}

/* How many files a store may keep open: what the operator says, or its part of half of the limit. */
static unsigned
fd_cache_size(const struct exports_builder *builder)
{
    struct rlimit limit;
    uint64_t share;

    if (builder->settings->fd_cache > 0)
        return builder->settings->fd_cache;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return FD_CACHE_MIN;
    share = limit.rlim_cur / 2 / builder->set->count;
    if (share < FD_CACHE_MIN)
        return FD_CACHE_MIN;
    return share > FD_CACHE_MAX ? FD_CACHE_MAX : (unsigned)share;
}

static int
open_store(const struct exports_builder *builder, const struct shared_store *like, struct store **store)
{
    const struct settings *settings = builder->settings;
    struct posix_config posix = { .path = like->name, .max_open = fd_cache_size(builder) };
    struct memory_config memory = { .max_bytes = settings->memory_bytes, .max_files = settings->memory_files,
                                    .root_mode = MEMORY_ROOT_MODE };

    if (like->memory)
        return memory_new(&memory, store);
    posix.inline_mode = settings->inline_mode == SETTING_INLINE_ON    ? POSIX_INLINE_ON
                        : settings->inline_mode == SETTING_INLINE_OFF ? POSIX_INLINE_OFF
                                                                      : POSIX_INLINE_AUTO;
    return posix_new(&posix, store);
}

/* The store that is like this one: from this set, from the old one, or new. Returns 0 and a reference, or -errno. */
static int
share_store(const struct exports_builder *builder, const struct shared_store *like, struct shared_store **out)
{
    struct shared_store *shared = find_store(builder->set, like);
    int err;

    if (shared == NULL)
        shared = find_store(builder->old, like);
    if (shared != NULL) {
        atomic_fetch_add(&shared->refs, 1);
        *out = shared;
        return 0;
    }
    shared = calloc(1, sizeof(*shared));
    if (shared == NULL)
        return -ENOMEM;
    shared->memory = like->memory;
    shared->dev = like->dev;
    shared->ino = like->ino;
    shared->name = strdup(like->name);
    err = shared->name == NULL ? -ENOMEM : open_store(builder, shared, &shared->store);
    if (err < 0) {
        free(shared->name);
        free(shared);
        return err;
    }
    atomic_init(&shared->refs, 1);
    *out = shared;
    return 0;
}

/* Find out what a directory is. Returns 0, and *dir is the caller's to free, or -errno. */
static int
resolve_dir(const char *path, char **dir, struct shared_store *like)
{
    struct stat st;

    *dir = realpath(path, NULL);
    if (*dir == NULL || stat(*dir, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    like->name = *dir;
    like->dev = st.st_dev;
    like->ino = st.st_ino;
    return 0;
}

static const char *
explain(int err)
{
    return err == -EOPNOTSUPP ? "its file system gives files no lasting ids, so there could be no handles"
                              : strerror(-err);
}

/* Who may use the export only while something is mounted gets nothing where that is not so. */
static void
withhold_unmounted(struct exports_builder *builder, struct export *export, const struct export_entry *entry)
{
    char shown[EXPORTS_SHOWN_MAX], client_shown[EXPORTS_SHOWN_MAX];
    size_t i;

    for (i = 0; i < export->nclients; i++) {
        struct export_client *client = &export->clients[i];
        const char *path = client->rights.mount_point;

        if (path == NULL)
            continue;
        path = *path != '\0' ? path : export->dir;
        client->rights.withheld = !mount_point_here(path);
        if (client->rights.withheld)
            exports_report_warning(&builder->report, &entry->place, "not served to %s: %s is no mount point",
                                   exports_show_path(client_shown, client->text), exports_show_path(shown, path));
    }
}

/* Whose times of access are left alone is up to the owner of a file and root (O_NOATIME). */
static void
warn_of_access_times(struct exports_builder *builder, const struct export *export, const struct export_entry *entry)
{
    size_t i;

    for (i = 0; i < export->nclients && !export->memory && cred_process_mode() == CRED_SELF; i++) {
        const struct export_rights *rights = &export->clients[i].rights;

        if (!rights->noatime && !rights->nodiratime)
            continue;
        exports_report_warning(&builder->report, &entry->place,
                               "without root, %s does nothing for files of other users",
                               rights->noatime ? "noatime" : "nodiratime");
        return;
    }
}

static int
open_export(struct exports_builder *builder, size_t i)
{
    struct exports *set = builder->set;
    const struct export_entry *entry = set->private->first[i];
    const char *path = entry->rights.dir != NULL ? entry->rights.dir : entry->path;
    struct export *export = &set->list[i];
    struct shared_store like = { .memory = export->memory, .name = export->path };
    char shown[EXPORTS_SHOWN_MAX];
    int err = 0;

    if (!export->memory)
        err = resolve_dir(path, &export->dir, &like);
    if (err == 0)
        err = share_store(builder, &like, &set->private->stores[i]);
    if (err < 0)
        return exports_report_error(&builder->report, entry->rights.dir != NULL ? &entry->place : &entry->path_place,
                                    err, "%s: %s", exports_show_path(shown, path), explain(err));
    export->store = set->private->stores[i]->store;
    if (!entry->rights.has_fsid)
        export->id = exports_make_id('p', export->store->fsid_hint, export->path);
    withhold_unmounted(builder, export, entry);
    warn_of_access_times(builder, export, entry);
    return 0;
}

int
exports_load(const struct exports_source *source, const struct settings *settings, struct exports *old,
             struct exports **set, char *error, size_t error_size)
{
    struct exports_builder builder = { .settings = settings, .old = old };
    int err = exports_build(&builder, source, error, error_size);
    size_t i;

    if (err == 0 && builder.set->count == 0)
        exports_report_warning(&builder.report, &(struct export_place){ .file = "exports" }, "there are none");
    for (i = 0; err == 0 && i < builder.set->count; i++)
        err = open_export(&builder, i);
    if (err == 0)
        err = exports_sort_ids(&builder);
    if (err == 0)
        exports_build_hand_over(&builder, set);
    exports_builder_fini(&builder);
    return err;
}
