/* server/exports_open.c - directories are opened, or taken over from the set before; see exports_private.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "server/export_io.h"
#include "server/exports_private.h"
#include "server/mount_point.h"
#include "storage/cred.h"
#include "storage/memory.h"
#include "storage/posix.h"
#include "storage/seed.h"

#define FD_CACHE_MIN 64
#define FD_CACHE_MAX 65536
#define MEMORY_ROOT_MODE 01777

static struct shared_store *
find_store(const struct exports *set, const struct shared_store *like)
{
    size_t i;

    for (i = 0; set != NULL && i < set->total; i++) {
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
    share = limit.rlim_cur / 2 / (builder->set->count + builder->nmounts);
    if (share < FD_CACHE_MIN)
        return FD_CACHE_MIN;
    return share > FD_CACHE_MAX ? FD_CACHE_MAX : (unsigned)share;
}

static int
open_memory(const struct settings *settings, const char *name, struct store **store)
{
    const struct memory_config config = {
        .max_bytes = settings->memory_bytes,
        .max_files = settings->memory_files,
        .user_bytes = settings->memory_user_bytes,
        .user_files = settings->memory_user_files,
        .root_mode = MEMORY_ROOT_MODE,
        .unstable = settings->memory_unstable,
        .seed = seed_for(settings->deterministic, name),
        .counted_clock = settings->memory_clock == MEMORY_CLOCK_AUTO ? settings->deterministic != 0
                                                                     : settings->memory_clock == MEMORY_CLOCK_COUNTED,
    };

    return memory_new(&config, store);
}

static int
open_store(const struct exports_builder *builder, const struct shared_store *like, struct store **store)
{
    const struct settings *settings = builder->settings;
    struct posix_config posix = { .path = like->name, .max_open = fd_cache_size(builder) };

    if (like->memory)
        return open_memory(settings, like->name, store);
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

/* What a directory is. Returns 0 or -errno. */
static int
look_at(const char *dir, struct shared_store *like)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    like->name = (char *)dir;
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

int
exports_open_store(struct exports_builder *builder, size_t i)
{
    struct exports *set = builder->set;
    struct export *export = &set->list[i];
    struct shared_store like = { .memory = export->memory, .name = export->path };
    int err = 0;

    if (!export->memory)
        err = look_at(export->dir, &like);
    if (err == 0)
        err = share_store(builder, &like, &set->private->stores[i]);
    if (err < 0)
        return err;
    export->device = like.dev;
    export->store = set->private->stores[i]->store;
    return 0;
}

/* What clients call the export, or what its path= says. */
static const char *
written_dir(const struct export_entry *entry)
{
    return entry->rights.dir != NULL ? entry->rights.dir : entry->path;
}

static int
refuse_dir(struct exports_builder *builder, const struct export_entry *entry, int err)
{
    char shown[EXPORTS_SHOWN_MAX];

    return exports_report_error(&builder->report, entry->rights.dir != NULL ? &entry->place : &entry->path_place, err,
                                "%s: %s", exports_show_path(shown, written_dir(entry)), explain(err));
}

static int
find_dirs(struct exports_builder *builder)
{
    struct exports *set = builder->set;
    int err = 0;

    for (size_t i = 0; i < set->count && err == 0; i++) {
        struct export *export = &set->list[i];

        if (export->memory)
            continue;
        export->dir = realpath(written_dir(set->private->first[i]), NULL);
        if (export->dir == NULL)
            err = exports_report_go_on(&builder->report, refuse_dir(builder, set->private->first[i], -errno));
    }
    return err == 0 ? builder->report.err : err;
}

static void
warn_of_locks(struct exports_builder *builder, const struct export *export, const struct export_entry *entry)
{
    for (size_t i = 0; i < export->nclients; i++) {
        if (!export->clients[i].rights.insecure_locks)
            continue;
        exports_report_warning(&builder->report, &entry->place, "insecure_locks does nothing: there are no locks (NLM) yet");
        return;
    }
}

static void
warn_of_io(struct exports_builder *builder, const struct export *export, const struct export_entry *entry)
{
    const char *why = export_io_explain(export);

    if (why != NULL)
        exports_report_warning(&builder->report, &entry->place, "%s", why);
}

static int
open_export(struct exports_builder *builder, size_t i)
{
    const struct export_entry *entry = builder->set->private->first[i];
    struct export *export = &builder->set->list[i];
    int err = exports_open_store(builder, i);

    if (err < 0)
        return refuse_dir(builder, entry, err);
    if (!entry->rights.has_fsid)
        export->id = exports_make_id('p', export->store->fsid_hint, export->path);
    withhold_unmounted(builder, export, entry);
    warn_of_access_times(builder, export, entry);
    warn_of_io(builder, export, entry);
    warn_of_locks(builder, export, entry);
    return 0;
}

/* An export's callers may have rights by way of those around it, which may need names. */
static void
gather_uses_of_names(struct exports *set)
{
    for (size_t i = 0; i < set->total; i++) {
        struct export *export = &set->list[i];
        const struct export *around = export->inherits ? export->around : NULL;

        for (; around != NULL && !export->uses_names; around = around->around)
            export->uses_names = around->uses_names;
    }
}

/* From here on exports are pointed to: there has to be room for those that are found at mount points. */
static int
make_room(struct exports_builder *builder, const struct mount_table *table)
{
    struct exports *set = builder->set;

    builder->nmounts = exports_count_mounts(set, table);
    if (exports_grow(set, builder->nmounts) < 0)
        return exports_out_of_memory(builder);
    for (size_t i = 0; i < set->count; i++)
        set->list[i].around = exports_find_around(set, set->list[i].path);
    return 0;
}

static bool
has_subtree_check(const struct export *export)
{
    for (size_t i = 0; i < export->nclients; i++)
        if (export->clients[i].rights.subtree_check)
            return true;
    return false;
}

/* subtree_check has to know where files were found. */
static int
keep_names(struct exports_builder *builder)
{
    struct exports *set = builder->set;

    for (size_t i = 0; i < set->total; i++) {
        const struct export *asks = &set->list[i];

        while (asks != NULL && !has_subtree_check(asks))
            asks = set->list[i].inherits ? asks->around : NULL;
        if (asks != NULL && !set->list[i].memory && posix_keep_names(set->list[i].store) < 0)
            return exports_out_of_memory(builder);
    }
    return 0;
}

/* Open the directories of a set, and what is mounted inside of them. */
static int
open_all(struct exports_builder *builder)
{
    struct mount_table table = { .list = NULL };
    int err = find_dirs(builder);

    if (err == 0 && exports_read_mounts(&table) < 0)
        err = exports_out_of_memory(builder);
    if (err == 0)
        err = make_room(builder, &table);
    if (err == 0)
        builder->set->private->mounted = exports_digest_mounts(builder->set, &table);
    for (size_t i = 0; err == 0 && i < builder->set->count; i++)
        err = exports_report_go_on(&builder->report, open_export(builder, i));
    if (err == 0)
        err = builder->report.err;
    if (err == 0)
        err = exports_add_mounts(builder, &table);
    exports_free_mounts(&table);
    if (err == 0)
        err = exports_sort_ids(builder);
    if (err == 0)
        err = keep_names(builder);
    if (err == 0)
        gather_uses_of_names(builder->set);
    return err;
}

int
exports_load(const struct exports_source *source, const struct settings *settings, struct exports *old,
             struct exports **set, char *error, size_t error_size)
{
    struct exports_builder builder = { .settings = settings, .old = old };
    int err = exports_build(&builder, source, error, error_size);

    if (err == 0 && builder.set->count == 0)
        exports_report_warning(&builder.report, &(struct export_place){ .file = "exports" }, "there are none");
    if (err == 0)
        err = open_all(&builder);
    if (err == 0)
        exports_build_hand_over(&builder, set);
    exports_builder_fini(&builder);
    return err;
}

/* Whether two sets of the same lines serve the same file systems to the same clients. */
static bool
serve_the_same(const struct exports *a, const struct exports *b)
{
    if (a->total != b->total)
        return false;
    for (size_t i = 0; i < a->total; i++) {
        const struct export *one = &a->list[i], *other = &b->list[i];

        if (one->store != other->store || strcmp(one->path, other->path) != 0 || one->nmounts != other->nmounts)
            return false;
        for (size_t j = 0; j < one->nclients; j++)
            if (one->clients[j].rights.withheld != other->clients[j].rights.withheld)
                return false;
        for (size_t j = 0; j < one->nmounts; j++)
            if (one->mounts[j].fsid != other->mounts[j].fsid || one->mounts[j].fileid != other->mounts[j].fileid)
                return false;
    }
    return true;
}

/* Asks no file system, which might be one that does not answer. */
static bool
is_up_to_date(const struct exports *set)
{
    struct mount_table table;
    bool same = exports_read_mounts(&table) == 0 && exports_digest_mounts(set, &table) == set->private->mounted;

    exports_free_mounts(&table);
    return same;
}

int
exports_remount(const struct settings *settings, struct exports *old, struct exports **set, char *error,
                size_t error_size)
{
    struct exports_builder builder = { .settings = settings, .old = old };
    int err;

    *set = NULL;
    if (is_up_to_date(old))
        return 0;
    err = exports_build_again(&builder, error, error_size);
    if (err == 0)
        err = open_all(&builder);
    if (err == 0 && !serve_the_same(old, builder.set))
        exports_build_hand_over(&builder, set);
    exports_builder_fini(&builder);
    return err;
}
