/* server/exports_build.c - what the lines say becomes a set of exports with their clients; see exports_private.h. */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/access.h"
#include "server/export_options.h"
#include "server/export_sec.h"
#include "server/exports_private.h"
#include "server/log.h"
#include "storage/fh.h"

#define TEXT_MAX 512                    /* bytes of what is wrong with a client */

/* Fixed, so that ids are the same at every start; it is the server's key that keeps handles from forgers, not this. */
static const uint8_t id_key[16] = "ringnfs exportid";

/* A client and the entry that it comes from. */
struct placed_client {
    struct export_client client;
    const struct export_entry *entry;
    size_t order;                       /* as written */
};

int
exports_out_of_memory(struct exports_builder *builder)
{
    const struct export_place place = { .file = "exports" };

    return exports_report_error(&builder->report, &place, -ENOMEM, "out of memory");
}

const char *
exports_show_path(char out[EXPORTS_SHOWN_MAX], const char *path)
{
    return log_quote(out, EXPORTS_SHOWN_MAX, path, strlen(path));
}

static bool
same_dir(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
same_rights(const struct export_rights *a, const struct export_rights *b)
{
    return export_sec_same(a, b) && a->async == b->async && a->secure == b->secure && a->wdelay == b->wdelay &&
           a->subtree_check == b->subtree_check && a->anon_uid == b->anon_uid && a->anon_gid == b->anon_gid &&
           a->manage_gids == b->manage_gids && a->readdirplus == b->readdirplus && a->noatime == b->noatime &&
           a->nodiratime == b->nodiratime && a->acl == b->acl && a->crossmnt == b->crossmnt && a->nohide == b->nohide &&
           a->insecure_locks == b->insecure_locks &&
           a->rtmax == b->rtmax && a->wtmax == b->wtmax && a->dtpref == b->dtpref && a->rtpref == b->rtpref &&
           a->wtpref == b->wtpref && a->io == b->io && a->readahead == b->readahead &&
           a->max_rate == b->max_rate && a->max_iops == b->max_iops && same_dir(a->mount_point, b->mount_point);
}

/* What all entries of one export must agree on. */
static int
check_agreement(struct exports_builder *builder, const struct export_entry *first, const struct export_entry *entry)
{
    const char *what = NULL;
    char shown[EXPORTS_SHOWN_MAX];

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
                                exports_show_path(shown, entry->path), what, first->place.file, first->place.line,
                                first->place.column);
}

static int
check_entry(struct exports_builder *builder, const struct export_entry *entry)
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
expand_client(struct exports_builder *builder, const struct export_entry *entry, struct placed_client *out,
              size_t *count)
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
            return exports_out_of_memory(builder);
    }
    return 0;
}

/* The network that is written first counts, not the smallest: tell what does nothing for that reason. */
static void
warn_of_order(struct exports_builder *builder, const struct placed_client *clients, size_t count)
{
    char shown[EXPORTS_SHOWN_MAX], outer_shown[EXPORTS_SHOWN_MAX];
    size_t i, j;

    for (i = 0; i < count; i++) {
        for (j = 0; j < i; j++) {
            const struct placed_client *inner = &clients[i], *outer = &clients[j];

            if (!access_contains(&outer->client, &inner->client) ||
                same_rights(&outer->client.rights, &inner->client.rights))
                continue;
            exports_report_warning(&builder->report, &inner->entry->place,
                                   "these options are never used: %s is written before %s, and counts for all of it",
                                   exports_show_path(outer_shown, outer->client.text),
                                   exports_show_path(shown, inner->client.text));
            break;
        }
    }
}

static void
warn_of_patterns(struct exports_builder *builder, const struct placed_client *clients, size_t count)
{
    char shown[EXPORTS_SHOWN_MAX];
    size_t i;

    for (i = 0; i < count; i++)
        if (access_is_address_pattern(&clients[i].client))
            exports_report_warning(&builder->report, &clients[i].entry->place,
                                   "%s is compared with names, never with addresses: a network is ADDRESS/BITS",
                                   exports_show_path(shown, clients[i].client.text));
}

/* Whether client says again what `first` says; with other options that is a mistake. */
static int
check_twin(struct exports_builder *builder, const struct placed_client *first, const struct placed_client *client)
{
    char shown[EXPORTS_SHOWN_MAX];

    exports_show_path(shown, *client->entry->client == '\0' ? "everyone" : client->entry->client);
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
drop_twins(struct exports_builder *builder, struct placed_client *clients, size_t *count)
{
    size_t kept = 0, i;
    int err = 0;

    qsort(clients, *count, sizeof(*clients), compare_clients);
    for (i = 0; i < *count; i++) {
        bool twin = kept > 0 && access_compare(&clients[kept - 1].client, &clients[i].client) == 0;

        if (twin && err == 0)
            err = exports_report_go_on(&builder->report, check_twin(builder, &clients[kept - 1], &clients[i]));
        if (twin)
            exports_free_client(&clients[i].client);
        else
            clients[kept++] = clients[i];
    }
    *count = kept;
    return err;
}

/* Give the export its clients; what they own is its own. */
static int
take_clients(struct exports_builder *builder, struct export *export, struct placed_client *clients, size_t *count)
{
    size_t i;

    export->clients = calloc(*count, sizeof(*export->clients));
    if (export->clients == NULL)
        return exports_out_of_memory(builder);
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

/* The clients of one of an export's entries; first: what it has to agree with. */
static int
add_entry(struct exports_builder *builder, const struct export_entry *first, const struct export_entry *entry,
          struct placed_client *clients, size_t *count)
{
    int err = check_entry(builder, entry);

    if (err == 0)
        err = check_agreement(builder, first, entry);
    return err == 0 ? expand_client(builder, entry, clients, count) : err;
}

static int
add_clients(struct exports_builder *builder, struct export *export, const struct export_entry *const *entries,
            size_t count)
{
    struct placed_client *clients = calloc(count * ACCESS_CLIENTS_MAX, sizeof(*clients));
    size_t nclients = 0, i;
    int err = 0;

    if (clients == NULL)
        return exports_out_of_memory(builder);
    for (i = 0; i < count && err == 0; i++)
        err = exports_report_go_on(&builder->report, add_entry(builder, entries[0], entries[i], clients, &nclients));
    if (err == 0)
        err = drop_twins(builder, clients, &nclients);
    if (err == 0)
        err = take_clients(builder, export, clients, &nclients);
    for (i = 0; i < nclients; i++)
        exports_free_client(&clients[i].client);
    free(clients);
    return err;
}

static int
add_export(struct exports_builder *builder, const struct export_entry *const *entries, size_t count)
{
    struct exports *set = builder->set;
    struct export *export = &set->list[set->count];

    set->private->first[set->count++] = entries[0];
    set->total = set->count;
    export->path = strdup(entries[0]->path);
    if (export->path == NULL)
        return exports_out_of_memory(builder);
    export->path_len = strlen(export->path);
    export->memory = entries[0]->memory;
    return add_clients(builder, export, entries, count);
}

/* Make exports of the entries. */
static int
gather(struct exports_builder *builder)
{
    const struct export_entries *entries = &builder->set->private->lines->entries;
    size_t count = entries->count, i, j;
    const struct export_entry **sorted = calloc(count + 1, sizeof(*sorted));
    int err = 0;

    if (sorted == NULL || exports_grow(builder->set, count) < 0) {
        free(sorted);
        return exports_out_of_memory(builder);
    }
    for (i = 0; i < count; i++)
        sorted[i] = &entries->list[i];
    qsort(sorted, count, sizeof(*sorted), compare_entries);
    for (i = 0; i < count && err == 0; i = j) {
        for (j = i + 1; j < count && strcmp(sorted[i]->path, sorted[j]->path) == 0; j++)
            continue;
        err = exports_report_go_on(&builder->report, add_export(builder, sorted + i, j - i));
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

uint64_t
exports_make_id(char kind, const uint64_t name[2], const char *path)
{
    size_t path_len = strlen(path);
    uint8_t bytes[1 + 16 + EXPORTS_PATH_MAX];

    assert(path_len <= EXPORTS_PATH_MAX);
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
refuse_same_id(struct exports_builder *builder, size_t a, size_t b)
{
    const struct export_entry *one = builder->set->private->first[a], *other = builder->set->private->first[b];
    const struct export_entry *later = one < other ? other : one, *earlier = one < other ? one : other;
    char shown[EXPORTS_SHOWN_MAX], earlier_shown[EXPORTS_SHOWN_MAX];

    return exports_report_error(&builder->report, &later->place, -EINVAL, "%s has the fsid of %s at %s:%u:%u",
                                exports_show_path(shown, later->path), exports_show_path(earlier_shown, earlier->path),
                                earlier->place.file, earlier->place.line, earlier->place.column);
}

int
exports_sort_ids(struct exports_builder *builder)
{
    struct exports *set = builder->set;
    struct id_row *ids = set->private->ids;
    size_t count = 0, i;
    int err = 0;

    for (i = 0; i < set->total; i++)
        if (set->list[i].store != NULL || set->private->first[i]->rights.has_fsid)
            ids[count++] = (struct id_row){ set->list[i].id, i };
    qsort(ids, count, sizeof(*ids), compare_ids);
    for (i = 1; i < count && err == 0; i++)
        if (ids[i].id == ids[i - 1].id)
            err = exports_report_go_on(&builder->report, refuse_same_id(builder, ids[i - 1].export, ids[i].export));
    return err == 0 ? builder->report.err : err;
}

/* The ids that need no store. */
static int
set_chosen_ids(struct exports_builder *builder)
{
    struct exports *set = builder->set;
    size_t i;

    for (i = 0; i < set->count; i++) {
        const struct export_rights *rights = &set->private->first[i]->rights;

        if (rights->has_fsid)
            set->list[i].id = exports_make_id('f', rights->fsid, "");
    }
    return exports_sort_ids(builder);
}

static int
build(struct exports_builder *builder)
{
    int err = gather(builder);

    return err == 0 ? set_chosen_ids(builder) : err;
}

static int
begin(struct exports_builder *builder, struct exports_lines *lines, bool all, char *error, size_t error_size)
{
    exports_report_init(&builder->report, all, error, error_size);
    builder->set = exports_new(0);
    if (builder->set == NULL || lines == NULL)
        return exports_out_of_memory(builder);
    atomic_fetch_add(&lines->refs, 1);
    builder->set->private->lines = lines;
    return 0;
}

int
exports_build(struct exports_builder *builder, const struct exports_source *source, char *error, size_t error_size)
{
    struct exports_lines *lines = calloc(1, sizeof(*lines));
    int err = begin(builder, lines, source->all_mistakes, error, error_size);

    if (err < 0)
        free(lines);
    else
        err = exports_read(source, &lines->entries, &builder->report);
    return err == 0 ? build(builder) : err;
}

int
exports_build_again(struct exports_builder *builder, char *error, size_t error_size)
{
    int err = begin(builder, builder->old->private->lines, false, error, error_size);

    return err == 0 ? build(builder) : err;
}

void
exports_builder_fini(struct exports_builder *builder)
{
    exports_put(builder->set);
}

void
exports_build_hand_over(struct exports_builder *builder, struct exports **set)
{
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
    struct exports_builder builder = { .set = NULL };
    int err = exports_build(&builder, source, error, error_size);

    if (err == 0)
        exports_build_hand_over(&builder, set);
    exports_builder_fini(&builder);
    return err;
}
