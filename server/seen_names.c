/* server/seen_names.c - see seen_names.h. An entry is a handle, the entry of its directory, and its name there. */
#include "server/seen_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/seen.h"
#include "storage/fh.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/shape.h"

#define ENTRIES 16384u
#define BUCKETS 16384u
#define NONE UINT32_MAX
#define DEPTH_MAX 2048                  /* directories in a path: more do not fit anyhow */

struct entry {
    uint8_t handle[NFS3_FHSIZE];
    uint8_t handle_len;                 /* 0: the entry is free */
    uint32_t parent;                    /* NONE: name is a whole path */
    uint64_t parent_age;
    uint64_t age;                       /* tells entries apart that have had the same place */
    char *name;                         /* owned; NULL: it has lost its name */
    size_t name_len;
    uint32_t next_handle, next_name;    /* in their buckets */
};

struct seen_names {
    struct entry entries[ENTRIES];
    uint32_t by_handle[BUCKETS], by_name[BUCKETS];
    uint32_t next;                      /* the place to be taken next */
    uint64_t ages;
};

static const uint8_t no_key[16];        /* a client who makes paths slow to find slows down who looks on */

static uint32_t
hash_handle(const void *handle, size_t len)
{
    return (uint32_t)(siphash(no_key, handle, len) % BUCKETS);
}

static uint32_t
hash_name(uint32_t parent, const char *name, size_t len)
{
    return (uint32_t)((siphash(no_key, name, len) ^ (parent * UINT64_C(0x9e3779b97f4a7c15))) % BUCKETS);
}

int
seen_names_new(struct seen_names **out)
{
    struct seen_names *names = calloc(1, sizeof(*names));

    if (names == NULL)
        return -ENOMEM;
    memset(names->by_handle, 0xff, sizeof(names->by_handle));
    memset(names->by_name, 0xff, sizeof(names->by_name));
    *out = names;
    return 0;
}

void
seen_names_free(struct seen_names *names)
{
    for (uint32_t i = 0; names != NULL && i < ENTRIES; i++)
        free(names->entries[i].name);
    free(names);
}

static uint32_t
find(const struct seen_names *names, const void *handle, size_t len)
{
    uint32_t at = len > 0 ? names->by_handle[hash_handle(handle, len)] : NONE;

    while (at != NONE && (names->entries[at].handle_len != len || memcmp(names->entries[at].handle, handle, len) != 0))
        at = names->entries[at].next_handle;
    return at;
}

static bool
is_child(const struct seen_names *names, const struct entry *entry, uint32_t parent, const char *name, size_t len)
{
    return entry->parent == parent && entry->parent_age == names->entries[parent].age && entry->name_len == len &&
           memcmp(entry->name, name, len) == 0;
}

static uint32_t
find_child(const struct seen_names *names, uint32_t parent, const char *name, size_t len)
{
    uint32_t at = names->by_name[hash_name(parent, name, len)];

    while (at != NONE && !is_child(names, &names->entries[at], parent, name, len))
        at = names->entries[at].next_name;
    return at;
}

static void
unlink_from(uint32_t *link, uint32_t at, struct entry *entries, size_t next)
{
    while (*link != at)
        link = (uint32_t *)((char *)&entries[*link] + next);
    *link = *(uint32_t *)((char *)&entries[at] + next);
}

static void
lose_name(struct seen_names *names, uint32_t at)
{
    struct entry *entry = &names->entries[at];

    if (entry->name == NULL)
        return;
    unlink_from(&names->by_name[hash_name(entry->parent, entry->name, entry->name_len)], at, names->entries,
                offsetof(struct entry, next_name));
    free(entry->name);
    entry->name = NULL;
}

static void
give_name(struct seen_names *names, uint32_t at, uint32_t parent, const char *name, size_t len)
{
    struct entry *entry = &names->entries[at];
    char *copy = malloc(len + 1);
    uint32_t *bucket = &names->by_name[hash_name(parent, name, len)];

    if (copy != NULL)
        memcpy(copy, name, len);
    lose_name(names, at);
    if (copy == NULL)
        return;
    copy[len] = '\0';
    entry->name = copy;
    entry->name_len = len;
    entry->parent = parent;
    entry->parent_age = parent != NONE ? names->entries[parent].age : 0;
    entry->next_name = *bucket;
    *bucket = at;
}

/* The entry of a handle, made where there is none; other: one that must stay. */
static uint32_t
get(struct seen_names *names, const void *handle, size_t len, uint32_t other)
{
    uint32_t at = find(names, handle, len), *bucket;
    struct entry *entry;

    if (at != NONE || len == 0 || len > NFS3_FHSIZE)
        return at;
    if (names->next == other)
        names->next = (names->next + 1) % ENTRIES;
    at = names->next;
    names->next = (names->next + 1) % ENTRIES;
    entry = &names->entries[at];
    lose_name(names, at);
    if (entry->handle_len > 0)
        unlink_from(&names->by_handle[hash_handle(entry->handle, entry->handle_len)], at, names->entries,
                    offsetof(struct entry, next_handle));
    bucket = &names->by_handle[hash_handle(handle, len)];
    memcpy(entry->handle, handle, len);
    entry->handle_len = (uint8_t)len;
    entry->age = ++names->ages;
    entry->next_handle = *bucket;
    *bucket = at;
    return at;
}

void
seen_names_root(struct seen_names *names, const void *handle, size_t len, const char *path, size_t path_len)
{
    uint32_t at = get(names, handle, len, NONE);

    if (at == NONE)
        return;
    while (path_len > 0 && path[path_len - 1] == '/')
        path_len--;
    give_name(names, at, NONE, path, path_len);
}

static bool
is_dots(const char *name, size_t len)
{
    return len <= 2 && memcmp(name, "..", len) == 0;
}

/* This handle was found by this name in that directory. A file that has more names keeps the last one. */
static void
add(struct seen_names *names, const void *dir, size_t dir_len, const char *name, size_t name_len, const void *handle,
    size_t len)
{
    uint32_t parent, at;

    if (is_dots(name, name_len))
        return;
    parent = get(names, dir, dir_len, NONE);
    at = parent != NONE ? get(names, handle, len, parent) : NONE;
    if (at != NONE && at != parent)
        give_name(names, at, parent, name, name_len);
}

static void
forget(struct seen_names *names, const struct ringnfs_call *seen)
{
    uint32_t parent = find(names, seen->handle, seen->handle_len);
    uint32_t at = parent != NONE ? find_child(names, parent, seen->file, seen->file_len) : NONE;

    if (at != NONE)
        lose_name(names, at);
}

static void
move(struct seen_names *names, const struct ringnfs_call *seen)
{
    uint32_t parent = find(names, seen->handle, seen->handle_len), to, old;
    uint32_t at = parent != NONE ? find_child(names, parent, seen->file, seen->file_len) : NONE;

    to = get(names, seen->to_handle, seen->to_handle_len, at);
    old = to != NONE ? find_child(names, to, seen->to_file, seen->to_file_len) : NONE;
    if (old != NONE && old != at)
        lose_name(names, old);
    if (at != NONE && to != NONE && at != to)
        give_name(names, at, to, seen->to_file, seen->to_file_len);
}

/* A listing, entry by entry. */
struct listing {
    struct seen_names *names;
    const struct ringnfs_call *seen;
    struct shape_value name;
};

static bool
take_entry(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct listing *listing = context;

    if (shape->kind == SHAPE_NAME)
        listing->name = *value;
    else if (shape->kind == SHAPE_HANDLE)
        add(listing->names, listing->seen->handle, listing->seen->handle_len, (const char *)listing->name.bytes,
            listing->name.len, value->bytes, value->len);
    return true;
}

static void
learn_listing(struct seen_names *names, const struct ringnfs_call *seen)
{
    static const struct shape_visitor visitor = { .value = take_entry };
    const struct shape_proc *proc = shape_proc(seen->program, seen->version, seen->procedure);
    struct wire_in in = { seen->results, (const uint8_t *)seen->results + seen->results_len, false };
    struct listing listing = { .names = names, .seen = seen };

    shape_walk(proc->results, &in, &visitor, &listing);
}

void
seen_names_learn(struct seen_names *names, const struct ringnfs_call *seen)
{
    const uint8_t *handle;
    size_t len;

    if (!seen_succeeded(seen))
        return;
    if (seen_is(seen, NFSPROC3_REMOVE) || seen_is(seen, NFSPROC3_RMDIR)) {
        forget(names, seen);
    } else if (seen_is(seen, NFSPROC3_RENAME)) {
        move(names, seen);
    } else if (seen_is(seen, NFSPROC3_READDIRPLUS)) {
        learn_listing(names, seen);
    } else if ((handle = seen_result_handle(seen, &len)) != NULL && seen->file != NULL) {
        if (seen->program == MOUNT_PROGRAM)
            seen_names_root(names, handle, len, seen->file, seen->file_len);
        else
            add(names, seen->handle, seen->handle_len, seen->file, seen->file_len, handle, len);
    }
}

/* Put a name in front of what is there from *at on. */
static bool
put_front(char *path, size_t *at, const char *name, size_t len, bool slash)
{
    if (*at < len + slash)
        return false;
    *at -= len;
    memcpy(path + *at, name, len);
    if (slash)
        path[--*at] = '/';
    return true;
}

static bool
climb(const struct seen_names *names, uint32_t from, char *path, size_t *at)
{
    const struct entry *entry = &names->entries[from];

    for (unsigned depth = 0; entry->name != NULL && depth < DEPTH_MAX; depth++) {
        if (!put_front(path, at, entry->name, entry->name_len, entry->parent != NONE))
            return false;
        if (entry->parent == NONE)
            return true;
        if (names->entries[entry->parent].age != entry->parent_age)
            return false;
        entry = &names->entries[entry->parent];
    }
    return false;
}

const char *
seen_names_path(const struct seen_names *names, const void *handle, size_t len, const char *name, size_t name_len,
                char *path)
{
    uint32_t from = find(names, handle, len);
    size_t at = SEEN_PATH_MAX - 1;

    path[at] = '\0';
    if (from == NONE || (name_len > 0 && !put_front(path, &at, name, name_len, true)) || !climb(names, from, path, &at))
        return NULL;
    if (path[at] == '\0')
        return "/";
    return memmove(path, path + at, SEEN_PATH_MAX - at);
}
