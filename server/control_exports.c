/*
 * server/control_exports.c - the commands about exports: what there is, what would change, and the changes.
 *
 * Paths and clients are spelled as exports(5) spells them, so every result can be pasted into a file or a command.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/access.h"
#include "server/control_commands.h"
#include "server/export_options.h"
#include "server/text.h"

/* Where a text is gathered that may be of any length. */
struct text {
    char *bytes;
    size_t len;
    FILE *out;
};

/* Returns text->out, NULL when memory is short. */
static FILE *
text_begin(struct text *text)
{
    *text = (struct text){ .bytes = NULL };
    text->out = open_memstream(&text->bytes, &text->len);
    return text->out;
}

/* What has been printed; NULL when memory is short. */
static json_t *
text_end(struct text *text)
{
    json_t *string = NULL;

    if (fclose(text->out) == 0)
        string = json_stringn(text->bytes, text->len);
    free(text->bytes);
    return string;
}

static json_t *
spell(const char *prefix, const char *word)
{
    struct text text;

    if (text_begin(&text) == NULL)
        return NULL;
    fputs(prefix, text.out);
    text_print_exports(text.out, word);
    return text_end(&text);
}

static json_t *
spell_path(const struct export *export)
{
    return spell(export->memory ? "memory:" : "", export->path);
}

static json_t *
spell_options(const struct export_rights *rights)
{
    struct text text;

    if (text_begin(&text) == NULL)
        return NULL;
    export_rights_print(text.out, rights);
    return text_end(&text);
}

static json_t *
pack_client(const struct export_client *client)
{
    return json_pack("{s:o, s:o}", "client", spell("", client->text), "options", spell_options(&client->rights));
}

static json_t *
pack_export(const struct export *export)
{
    json_t *clients = json_array();

    for (size_t i = 0; i < export->nclients; i++)
        json_array_append_new(clients, pack_client(&export->clients[i]));
    return json_pack("{s:o, s:o*, s:o}", "path", spell_path(export), "directory",
                     export->dir != NULL ? spell("", export->dir) : NULL, "clients", clients);
}

int
control_exports_show(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    struct exports *set = server_exports(server);

    (void)texts;
    (void)error;
    (void)error_size;
    *result = json_array();
    for (size_t i = 0; i < set->count; i++)
        json_array_append_new(*result, pack_export(&set->list[i]));
    exports_put(set);
    return 0;
}

/* What a set holds, and the warnings of its loading. */
static json_t *
pack_loaded(const struct exports *set, const char *warnings)
{
    size_t clients = 0;

    for (size_t i = 0; i < set->count; i++)
        clients += set->list[i].nclients;
    return json_pack("{s:i, s:i, s:o}", "exports", (int)set->count, "clients", (int)clients, "warnings",
                     control_text(warnings));
}

/* After a change: err and error are what came of it. */
static int
tell_change(struct server *server, int err, const char *error, json_t **result)
{
    struct exports *set;

    if (err < 0)
        return err;
    set = server_exports(server);
    *result = pack_loaded(set, error);
    exports_put(set);
    return 0;
}

int
control_exports_reload(struct server *server, const char *const *texts, json_t **result, char *error,
                       size_t error_size)
{
    (void)texts;
    return tell_change(server, server_reload_exports(server, error, error_size), error, result);
}

int
control_exports_add(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    return tell_change(server, server_add_export(server, texts[0], error, error_size), error, result);
}

int
control_exports_remove(struct server *server, const char *const *texts, json_t **result, char *error,
                       size_t error_size)
{
    return tell_change(server, server_remove_export(server, texts[0], error, error_size), error, result);
}

int
control_exports_check(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    const struct exports_source source = { .files = texts, .nfiles = 1, .all_mistakes = true };
    struct exports *set;
    int err = exports_parse(&source, &set, error, error_size);

    (void)server;
    if (err < 0)
        return err;
    *result = pack_loaded(set, error);
    exports_put(set);
    return 0;
}

static const char *
change_name(const void *old, const void *new)
{
    return old == NULL ? "added" : new == NULL ? "removed" : "changed";
}

/* A client of an old and a new export, either of which may be missing; nothing when both are the same. */
static void
compare_client(json_t *changes, const struct export_client *old, const struct export_client *new)
{
    json_t *before = old != NULL ? spell_options(&old->rights) : NULL;
    json_t *after = new != NULL ? spell_options(&new->rights) : NULL;

    if (old != NULL && new != NULL && json_equal(before, after)) {
        json_decref(before);
        json_decref(after);
        return;
    }
    json_array_append_new(changes, json_pack("{s:o, s:s, s:o*, s:o*}", "client",
                                             spell("", new != NULL ? new->text : old->text), "change",
                                             change_name(old, new), "old", before, "new", after));
}

/* The client of an export, which may be missing, that is the same as another's; NULL when there is none. */
static const struct export_client *
find_client(const struct export *export, const struct export_client *like)
{
    for (size_t i = 0; export != NULL && i < export->nclients; i++)
        if (access_compare(&export->clients[i], like) == 0)
            return &export->clients[i];
    return NULL;
}

/* Those that there will be, in the order in which they count, then those that go. */
static json_t *
compare_clients(const struct export *old, const struct export *new)
{
    json_t *changes = json_array();

    for (size_t i = 0; new != NULL && i < new->nclients; i++)
        compare_client(changes, find_client(old, &new->clients[i]), &new->clients[i]);
    for (size_t i = 0; old != NULL && i < old->nclients; i++)
        if (find_client(new, &old->clients[i]) == NULL)
            compare_client(changes, &old->clients[i], NULL);
    return changes;
}

/* The clients of an export that another has as well, in the order in which they count. Returns how many. */
static size_t
find_common(const struct export *export, const struct export *other, const struct export_client **common)
{
    size_t count = 0;

    for (size_t i = 0; i < export->nclients; i++)
        if (find_client(other, &export->clients[i]) != NULL)
            common[count++] = &export->clients[i];
    return count;
}

static json_t *
spell_clients(const struct export_client *const *clients, size_t count)
{
    json_t *names = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(names, spell("", clients[i]->text));
    return names;
}

/*
 * The first client that fits counts, so their order is a change as well: those of both exports from the first to the last
 * that is in another place. NULL when there is none, or memory is short.
 */
static json_t *
compare_order(const struct export *old, const struct export *new)
{
    const struct export_client **before = calloc(old->nclients + 1, sizeof(*before));
    const struct export_client **after = calloc(new->nclients + 1, sizeof(*after));
    json_t *order = NULL;
    size_t count, first = 0;

    if (before != NULL && after != NULL) {
        count = find_common(old, new, before);
        find_common(new, old, after);
        while (first < count && access_compare(before[first], after[first]) == 0)
            first++;
        while (count > first && access_compare(before[count - 1], after[count - 1]) == 0)
            count--;
        if (first < count)
            order = json_pack("{s:o, s:o}", "old", spell_clients(before + first, count - first), "new",
                              spell_clients(after + first, count - first));
    }
    free(before);
    free(after);
    return order;
}

static void
compare_export(json_t *changes, const struct export *old, const struct export *new)
{
    json_t *clients = compare_clients(old, new);
    json_t *order = old != NULL && new != NULL ? compare_order(old, new) : NULL;

    if (old != NULL && new != NULL && json_array_size(clients) == 0 && order == NULL) {
        json_decref(clients);
        return;
    }
    json_array_append_new(changes, json_pack("{s:o, s:s, s:o, s:o*}", "path", spell_path(new != NULL ? new : old),
                                             "change", change_name(old, new), "clients", clients, "order", order));
}

/* By name; what was a directory and is in memory now is another export. */
static int
compare_names(const struct export *a, const struct export *b)
{
    int order = strcmp(a->path, b->path);

    return order != 0 ? order : (int)a->memory - (int)b->memory;
}

static json_t *
compare_sets(const struct exports *old, const struct exports *new)
{
    json_t *changes = json_array();
    size_t i = 0, j = 0;

    while (i < old->count || j < new->count) {
        const struct export *before = i < old->count ? &old->list[i] : NULL;
        const struct export *after = j < new->count ? &new->list[j] : NULL;
        int order = before == NULL ? 1 : after == NULL ? -1 : compare_names(before, after);

        compare_export(changes, order <= 0 ? before : NULL, order >= 0 ? after : NULL);
        i += order <= 0;
        j += order >= 0;
    }
    return changes;
}

int
control_exports_diff(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    struct exports *old, *new;
    int err = server_read_exports(server, texts[0], &new, error, error_size);

    if (err < 0)
        return err;
    old = server_exports(server);
    *result = json_pack("{s:o, s:o}", "changes", compare_sets(old, new), "warnings", control_text(error));
    exports_put(old);
    exports_put(new);
    return 0;
}
