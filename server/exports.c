/*
 * server/exports.c - see exports.h.
 *
 * A set is built in three steps: entries (a client of a path, exports_file.c) are gathered into exports, what lines say
 * of one export is compared, and then directories are opened or their stores taken over from the set before.
 */
#include "server/exports.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "server/access.h"
#include "server/export_io.h"
#include "server/export_options.h"
#include "server/exports_file.h"
#include "server/log.h"
#include "server/mount_point.h"
#include "storage/cred.h"
#include "storage/memory.h"
#include "storage/posix.h"

#define SHOWN_MAX 128                                    /* bytes of a path that are shown */
#define TEXT_MAX 512
#define FD_CACHE_MIN 64
#define FD_CACHE_MAX 65536
#define MEMORY_ROOT_MODE 01777

/* Fixed, so that ids are the same at every start; it is the server's key that keeps handles from forgers, not this. */
static const uint8_t id_key[16] = "ringnfs exportid";

/* A store and what it was made from; each export that uses it holds a reference. */
struct shared_store {
    _Atomic uint32_t refs;
    struct store *store;
    char *name;                         /* the directory, or a memory export's name */
    bool memory;
    dev_t dev;
    ino_t ino;
};

/* Exports by their ids, in order. */
struct id_row {
    uint64_t id;
    size_t export;                      /* place in the list */
};

struct exports_private {
    struct shared_store **stores;       /* one for each export */
    const struct export_entry **first;  /* the entry that each export comes from; while the set is built */
    struct id_row *ids;
};

/* A client and the entry that it comes from. */
struct placed_client {
    struct export_client client;
    const struct export_entry *entry;
    size_t order;                       /* as written */
};

/* While a set is built. */
struct builder {
    const struct settings *settings;
    struct exports *old, *set;
    struct export_entries entries;
    struct exports_report report;
};

static void
shared_store_put(struct shared_store *shared)
{
    if (shared == NULL || atomic_fetch_sub(&shared->refs, 1) > 1)
        return;
    store_free(shared->store);
    free(shared->name);
    free(shared);
}

static void
free_client(struct export_client *client)
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
            free_client(&export->clients[j]);
        free(export->clients);
        free(export->path);
        free(export->dir);
        shared_store_put(set->private->stores[i]);
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

/* A set with room for as many exports. */
static struct exports *
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

static int
out_of_memory(struct builder *builder)
{
    const struct export_place place = { .file = "exports" };

    return exports_report_error(&builder->report, &place, -ENOMEM, "out of memory");
}

static const char *
show_path(char *out, const char *path)
{
    return log_quote(out, SHOWN_MAX, path, strlen(path));
}

static bool
same_dir(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
same_rights(const struct export_rights *a, const struct export_rights *b)
{
    return a->read_only == b->read_only && a->async == b->async && a->secure == b->secure && a->wdelay == b->wdelay &&
           a->root_squash == b->root_squash && a->all_squash == b->all_squash &&
           a->subtree_check == b->subtree_check && a->anon_uid == b->anon_uid && a->anon_gid == b->anon_gid &&
           a->manage_gids == b->manage_gids && a->readdirplus == b->readdirplus && a->noatime == b->noatime &&
           a->nodiratime == b->nodiratime &&
           a->rtmax == b->rtmax && a->wtmax == b->wtmax && a->dtpref == b->dtpref && a->rtpref == b->rtpref &&
           a->wtpref == b->wtpref && a->io == b->io && a->readahead == b->readahead &&
           a->max_rate == b->max_rate && a->max_iops == b->max_iops && same_dir(a->mount_point, b->mount_point);
}

/* What all entries of one export must agree on. */
static int
check_agreement(struct builder *builder, const struct export_entry *first, const struct export_entry *entry)
{
    const char *what = NULL;
    char shown[SHOWN_MAX];

    if (entry->memory != first->memory)
        what = "is a memory: export and a directory";
    else if (entry->rights.has_fsid != first->rights.has_fsid ||
             memcmp(entry->rights.fsid, first->rights.fsid, sizeof(entry->rights.fsid)) != 0)
        what = "has another fsid";
    else if (!same_dir(entry->rights.dir, first->rights.dir))
        what = "has another path=";
    if (what == NULL)
        return 0;
    return exports_report_error(&builder->report, &entry->place, -EINVAL, "%s %s at %s:%u:%u",
                                show_path(shown, entry->path), what, first->place.file, first->place.line,
                                first->place.column);
}

static int
check_entry(struct builder *builder, const struct export_entry *entry)
{
    if (entry->memory && entry->rights.dir != NULL)
        return exports_report_error(&builder->report, &entry->place, -EINVAL, "a memory: export has no path=");
    if (entry->memory && entry->rights.mount_point != NULL && *entry->rights.mount_point == '\0')
        return exports_report_error(&builder->report, &entry->place, -EINVAL,
                                    "a memory: export is no mount point (mountpoint=DIR names one)");
    return 0;
}

/* By path, then as written. */
static int
compare_entries(const void *a, const void *b)
{
    const struct export_entry *const *one = a, *const *other = b;
    int by_path = strcmp((*one)->path, (*other)->path);

    if (by_path != 0)
        return by_path;
    return *one < *other ? -1 : *one > *other;
}

/* Clients that are the same side by side, as written. */
static int
compare_clients(const void *a, const void *b)
{
    const struct placed_client *one = a, *other = b;
    int by_client = access_compare(&one->client, &other->client);

    if (by_client != 0)
        return by_client;
    return one->order < other->order ? -1 : one->order > other->order;
}

/* The order in which they are tried: by kind, then as written. */
static int
compare_ranks(const void *a, const void *b)
{
    const struct placed_client *one = a, *other = b;
    int by_kind = access_compare_kinds(&one->client, &other->client);

    if (by_kind != 0)
        return by_kind;
    return one->order < other->order ? -1 : one->order > other->order;
}

/* One entry's clients, with texts and rights of their own. */
static int
expand_client(struct builder *builder, const struct export_entry *entry, struct placed_client *out, size_t *count)
{
    struct export_client clients[ACCESS_CLIENTS_MAX];
    char error[TEXT_MAX];
    const char *text = *entry->client == '\0' ? "*" : entry->client;
    size_t found, i;
    int err = access_parse(entry->client, clients, &found, error, sizeof(error));

    if (err < 0)
        return exports_report_error(&builder->report, &entry->place, err, "%s", error);
    for (i = 0; i < found; i++) {
        struct placed_client *client = &out[*count];

        client->client = clients[i];
        client->entry = entry;
        client->order = (*count)++;
        client->client.text = strdup(i == 0 ? text : "::1");
        if (client->client.text == NULL || export_rights_copy(&client->client.rights, &entry->rights) < 0)
            return out_of_memory(builder);
    }
    return 0;
}

/* The network that is written first counts, not the smallest: tell what does nothing for that reason. */
static void
warn_of_order(struct builder *builder, const struct placed_client *clients, size_t count)
{
    char shown[SHOWN_MAX], outer_shown[SHOWN_MAX];
    size_t i, j;

    for (i = 0; i < count; i++) {
        for (j = 0; j < i; j++) {
            const struct placed_client *inner = &clients[i], *outer = &clients[j];

            if (!access_contains(&outer->client, &inner->client) ||
                same_rights(&outer->client.rights, &inner->client.rights))
                continue;
            exports_report_warning(&builder->report, &inner->entry->place,
                                   "these options are never used: %s is written before %s, and counts for all of it",
                                   show_path(outer_shown, outer->client.text), show_path(shown, inner->client.text));
            break;
        }
    }
}

static void
warn_of_patterns(struct builder *builder, const struct placed_client *clients, size_t count)
{
    char shown[SHOWN_MAX];
    size_t i;

    for (i = 0; i < count; i++)
        if (access_is_address_pattern(&clients[i].client))
            exports_report_warning(&builder->report, &clients[i].entry->place,
                                   "%s is compared with names, never with addresses: a network is ADDRESS/BITS",
                                   show_path(shown, clients[i].client.text));
}

/* Whether client says again what `first` says; with other options that is a mistake. */
static int
check_twin(struct builder *builder, const struct placed_client *first, const struct placed_client *client)
{
    char shown[SHOWN_MAX];

    show_path(shown, *client->entry->client == '\0' ? "everyone" : client->entry->client);
    if (!same_rights(&first->client.rights, &client->client.rights))
        return exports_report_error(&builder->report, &client->entry->place, -EINVAL,
                                    "%s has other options at %s:%u:%u", shown, first->entry->place.file,
                                    first->entry->place.line, first->entry->place.column);
    exports_report_warning(&builder->report, &client->entry->place, "%s is given at %s:%u:%u already", shown,
                           first->entry->place.file, first->entry->place.line, first->entry->place.column);
    return 0;
}

/* Free those that are given twice, and close the gaps. */
static int
drop_twins(struct builder *builder, struct placed_client *clients, size_t *count)
{
    size_t kept = 0, i;
    int err = 0;

    qsort(clients, *count, sizeof(*clients), compare_clients);
    for (i = 0; i < *count; i++) {
        bool twin = kept > 0 && access_compare(&clients[kept - 1].client, &clients[i].client) == 0;

        if (twin && err == 0)
            err = check_twin(builder, &clients[kept - 1], &clients[i]);
        if (twin)
            free_client(&clients[i].client);
        else
            clients[kept++] = clients[i];
    }
    *count = kept;
    return err;
}

/* Give the export its clients; what they own is its own. */
static int
take_clients(struct builder *builder, struct export *export, struct placed_client *clients, size_t *count)
{
    size_t i;

    export->clients = calloc(*count, sizeof(*export->clients));
    if (export->clients == NULL)
        return out_of_memory(builder);
    qsort(clients, *count, sizeof(*clients), compare_ranks);
    warn_of_order(builder, clients, *count);
    warn_of_patterns(builder, clients, *count);
    for (i = 0; i < *count; i++) {
        const struct export_client *client = &clients[i].client;

        export->clients[export->nclients++] = *client;
        if (client->match == MATCH_HOST || client->match == MATCH_WILDCARD || client->match == MATCH_NETGROUP)
            export->uses_names = true;
    }
    *count = 0;
    return 0;
}

static int
add_clients(struct builder *builder, struct export *export, const struct export_entry *const *entries, size_t count)
{
    struct placed_client *clients = calloc(count * ACCESS_CLIENTS_MAX, sizeof(*clients));
    size_t nclients = 0, i;
    int err = 0;

    if (clients == NULL)
        return out_of_memory(builder);
    for (i = 0; i < count && err == 0; i++) {
        err = check_entry(builder, entries[i]);
        if (err == 0)
            err = check_agreement(builder, entries[0], entries[i]);
        if (err == 0)
            err = expand_client(builder, entries[i], clients, &nclients);
    }
    if (err == 0)
        err = drop_twins(builder, clients, &nclients);
    if (err == 0)
        err = take_clients(builder, export, clients, &nclients);
    for (i = 0; i < nclients; i++)
        free_client(&clients[i].client);
    free(clients);
    return err;
}

static int
add_export(struct builder *builder, const struct export_entry *const *entries, size_t count)
{
    struct exports *set = builder->set;
    struct export *export = &set->list[set->count];

    set->private->first[set->count++] = entries[0];
    export->path = strdup(entries[0]->path);
    if (export->path == NULL)
        return out_of_memory(builder);
    export->path_len = strlen(export->path);
    export->memory = entries[0]->memory;
    return add_clients(builder, export, entries, count);
}

/* Make exports of the entries. */
static int
gather(struct builder *builder)
{
    size_t count = builder->entries.count, i, j;
    const struct export_entry **sorted = calloc(count + 1, sizeof(*sorted));
    int err = 0;

    builder->set = exports_new(count);
    if (sorted == NULL || builder->set == NULL) {
        free(sorted);
        return out_of_memory(builder);
    }
    for (i = 0; i < count; i++)
        sorted[i] = &builder->entries.list[i];
    qsort(sorted, count, sizeof(*sorted), compare_entries);
    for (i = 0; i < count && err == 0; i = j) {
        for (j = i + 1; j < count && strcmp(sorted[i]->path, sorted[j]->path) == 0; j++)
            continue;
        err = add_export(builder, sorted + i, j - i);
    }
    free(sorted);
    return err;
}

static void
put_be64(uint8_t *out, uint64_t value)
{
    unsigned i;

    for (i = 0; i < 8; i++)
        out[i] = (uint8_t)(value >> (56 - 8 * i));
}

/* From a name that does not change: what the operator chose, or where the files are. */
static uint64_t
make_id(char kind, const uint64_t name[2], const char *path)
{
    size_t path_len = strlen(path);
    uint8_t bytes[1 + 16 + 2048];

    assert(path_len <= sizeof(bytes) - 17);               /* exports_file.c takes no longer ones */
    bytes[0] = (uint8_t)kind;
    put_be64(bytes + 1, name[0]);
    put_be64(bytes + 9, name[1]);
    memcpy(bytes + 17, path, path_len);
    return siphash(id_key, bytes, 17 + path_len);
}

static int
compare_ids(const void *a, const void *b)
{
    const struct id_row *one = a, *other = b;

    if (one->id != other->id)
        return one->id < other->id ? -1 : 1;
    return one->export < other->export ? -1 : one->export > other->export;
}

static int
refuse_same_id(struct builder *builder, size_t a, size_t b)
{
    const struct export_entry *one = builder->set->private->first[a], *other = builder->set->private->first[b];
    const struct export_entry *later = one < other ? other : one, *earlier = one < other ? one : other;
    char shown[SHOWN_MAX], earlier_shown[SHOWN_MAX];

    return exports_report_error(&builder->report, &later->place, -EINVAL, "%s has the fsid of %s at %s:%u:%u",
                                show_path(shown, later->path), show_path(earlier_shown, earlier->path),
                                earlier->place.file, earlier->place.line, earlier->place.column);
}

/* Fill in the rows of all exports that have an id, in order. No two may have the same. */
static int
sort_ids(struct builder *builder)
{
    struct exports *set = builder->set;
    struct id_row *ids = set->private->ids;
    size_t count = 0, i;

    for (i = 0; i < set->count; i++)
        if (set->private->first[i]->rights.has_fsid || set->list[i].store != NULL)
            ids[count++] = (struct id_row){ set->list[i].id, i };
    qsort(ids, count, sizeof(*ids), compare_ids);
    for (i = 1; i < count; i++)
        if (ids[i].id == ids[i - 1].id)
            return refuse_same_id(builder, ids[i - 1].export, ids[i].export);
    return 0;
}

/* The ids that need no store. */
static int
set_chosen_ids(struct builder *builder)
{
    struct exports *set = builder->set;
    size_t i;

    for (i = 0; i < set->count; i++) {
        const struct export_rights *rights = &set->private->first[i]->rights;

        if (rights->has_fsid)
            set->list[i].id = make_id('f', rights->fsid, "");
    }
    return sort_ids(builder);
}

static int
parse(struct builder *builder, const struct exports_source *source, char *error, size_t error_size)
{
    int err;

    error[0] = '\0';
    builder->report.error = error;
    builder->report.error_size = error_size;
    err = exports_read(source, &builder->entries, &builder->report);
    if (err == 0)
        err = gather(builder);
    if (err == 0)
        err = set_chosen_ids(builder);
    return err;
}

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
fd_cache_size(const struct builder *builder)
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
open_store(const struct builder *builder, const struct shared_store *like, struct store **store)
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
share_store(const struct builder *builder, const struct shared_store *like, struct shared_store **out)
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
withhold_unmounted(struct builder *builder, struct export *export, const struct export_entry *entry)
{
    char shown[SHOWN_MAX], client_shown[SHOWN_MAX];
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
                                   show_path(client_shown, client->text), show_path(shown, path));
    }
}

/* Whose times of access are left alone is up to the owner of a file and root (O_NOATIME). */
static void
warn_of_access_times(struct builder *builder, const struct export *export, const struct export_entry *entry)
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

static void
warn_of_io(struct builder *builder, const struct export *export, const struct export_entry *entry)
{
    char text[TEXT_MAX];

    if (export_io_explain(export, text, sizeof(text)))
        exports_report_warning(&builder->report, &entry->place, "%s", text);
}

static int
open_export(struct builder *builder, size_t i)
{
    struct exports *set = builder->set;
    const struct export_entry *entry = set->private->first[i];
    const char *path = entry->rights.dir != NULL ? entry->rights.dir : entry->path;
    struct export *export = &set->list[i];
    struct shared_store like = { .memory = export->memory, .name = export->path };
    char shown[SHOWN_MAX];
    int err = 0;

    if (!export->memory)
        err = resolve_dir(path, &export->dir, &like);
    if (err == 0)
        err = share_store(builder, &like, &set->private->stores[i]);
    if (err < 0)
        return exports_report_error(&builder->report, entry->rights.dir != NULL ? &entry->place : &entry->path_place,
                                    err, "%s: %s", show_path(shown, path), explain(err));
    export->store = set->private->stores[i]->store;
    if (!entry->rights.has_fsid)
        export->id = make_id('p', export->store->fsid_hint, export->path);
    withhold_unmounted(builder, export, entry);
    warn_of_access_times(builder, export, entry);
    warn_of_io(builder, export, entry);
    return 0;
}

static void
builder_fini(struct builder *builder)
{
    export_entries_fini(&builder->entries);
    if (builder->set != NULL)
        exports_free(builder->set);
}

/* All is well: give the set away, and tell what is no mistake. */
static void
hand_over(struct builder *builder, struct exports **set)
{
    free(builder->set->private->first);
    builder->set->private->first = NULL;
    snprintf(builder->report.error, builder->report.error_size, "%s", builder->report.warnings);
    *set = builder->set;
    builder->set = NULL;
}

int
exports_check(const struct exports_source *source, char *error, size_t error_size)
{
    struct exports *set;
    int err = exports_parse(source, &set, error, error_size);

    if (err == 0)
        exports_put(set);
    return err;
}

int
exports_parse(const struct exports_source *source, struct exports **set, char *error, size_t error_size)
{
    struct builder builder = { .set = NULL };
    int err = parse(&builder, source, error, error_size);

    if (err == 0)
        hand_over(&builder, set);
    builder_fini(&builder);
    return err;
}

int
exports_load(const struct exports_source *source, const struct settings *settings, struct exports *old,
             struct exports **set, char *error, size_t error_size)
{
    struct builder builder = { .settings = settings, .old = old };
    int err = parse(&builder, source, error, error_size);
    size_t i;

    if (err == 0 && builder.set->count == 0)
        exports_report_warning(&builder.report, &(struct export_place){ .file = "exports" }, "there are none");
    for (i = 0; err == 0 && i < builder.set->count; i++)
        err = open_export(&builder, i);
    if (err == 0)
        err = sort_ids(&builder);
    if (err == 0)
        hand_over(&builder, set);
    builder_fini(&builder);
    return err;
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
exports_find_path(const struct exports *set, const char *path, size_t len, const char **rest, size_t *rest_len)
{
    const struct export *best = NULL;
    size_t i, end;

    if (len == 0 || path[0] != '/')
        return NULL;
    for (i = 0; i < set->count; i++) {
        const struct export *export = &set->list[i];

        if (!lies_in(export, path, len, &end) || (best != NULL && best->path_len >= export->path_len))
            continue;
        best = export;
        *rest = path + end;
        *rest_len = len - end;
    }
    return best;
}
