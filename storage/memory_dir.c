/* storage/memory_dir.c - a directory's entries, LOOKUP and READDIR (RFC 1813 3.3.3, 3.3.16-17). */
#include "storage/memory_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "storage/fh.h"

#define COOKIE_DOT 1
#define COOKIE_DOTDOT 2                 /* those of other entries are greater */
#define FIRST_ROOM 8                    /* slots and buckets of a directory with one entry */
#define ENTRY_OVERHEAD 16               /* bytes that an entry takes on a disk besides its name */

uint64_t
memory_dir_size(const struct memory_node *dir)
{
    uint64_t bytes = dir->dir.name_bytes + ENTRY_OVERHEAD * (dir->dir.entries + 2);

    return (bytes + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
}

struct memory_entry *
memory_dir_find(const struct memory_store *store, const struct memory_node *dir, const char *name, size_t len)
{
    uint64_t hash = siphash(store->hash_key, name, len);
    struct memory_entry *entry;

    if (dir->dir.nbuckets == 0)
        return NULL;
    for (entry = dir->dir.buckets[hash & (dir->dir.nbuckets - 1)]; entry != NULL; entry = entry->next) {
        if (entry->hash == hash && entry->len == len && memcmp(entry->name, name, len) == 0)
            return entry;
    }
    return NULL;
}

static void
link_bucket(struct memory_entry **buckets, size_t nbuckets, struct memory_entry *entry)
{
    struct memory_entry **bucket = &buckets[entry->hash & (nbuckets - 1)];

    entry->next = *bucket;
    *bucket = entry;
}

/* Room for one more in the hash table. */
static bool
grow_buckets(struct memory_dir *dir)
{
    size_t nbuckets = dir->nbuckets == 0 ? FIRST_ROOM : 2 * dir->nbuckets;
    struct memory_entry **buckets;
    size_t i;

    if (dir->entries < dir->nbuckets)
        return true;
    buckets = calloc(nbuckets, sizeof(*buckets));
    if (buckets == NULL)
        return false;
    for (i = dir->first; i < dir->end; i++) {
        if (dir->slots[i].entry != NULL)
            link_bucket(buckets, nbuckets, dir->slots[i].entry);
    }
    free(dir->buckets);
    dir->buckets = buckets;
    dir->nbuckets = nbuckets;
    return true;
}

/* Squeeze the gaps out. */
static void
pack_slots(struct memory_dir *dir)
{
    size_t i, to = 0;

    for (i = dir->first; i < dir->end; i++) {
        if (dir->slots[i].entry != NULL)
            dir->slots[to++] = dir->slots[i];
    }
    dir->first = 0;
    dir->end = to;
}

/* Room for one more behind the last slot. */
static bool
grow_slots(struct memory_dir *dir)
{
    size_t room = dir->room == 0 ? FIRST_ROOM : 2 * dir->room;
    struct memory_slot *slots;

    if (dir->end < dir->room)
        return true;
    if (dir->room > 0 && dir->entries <= dir->room / 2) {
        pack_slots(dir);
        return true;
    }
    slots = realloc(dir->slots, room * sizeof(*slots));
    if (slots == NULL)
        return false;
    dir->slots = slots;
    dir->room = room;
    return true;
}

int
memory_dir_add(struct memory_store *store, struct memory_node *dir, const char *name, size_t len,
               struct memory_node *node)
{
    struct memory_dir *d = &dir->dir;
    struct memory_entry *entry;

    if (!grow_slots(d) || !grow_buckets(d))
        return -ENOMEM;
    entry = malloc(sizeof(*entry) + len);
    if (entry == NULL)
        return -ENOMEM;
    entry->node = node;
    entry->hash = siphash(store->hash_key, name, len);
    entry->cookie = ++d->last_cookie;
    entry->len = len;
    memcpy(entry->name, name, len);
    link_bucket(d->buckets, d->nbuckets, entry);
    d->slots[d->end++] = (struct memory_slot){ entry->cookie, entry };
    d->entries++;
    d->name_bytes += len;
    store->bytes += len;
    return 0;
}

/* The first slot with a greater cookie; dir->end when there is none. */
static size_t
slot_behind(const struct memory_dir *dir, uint64_t cookie)
{
    size_t low = dir->first, high = dir->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (dir->slots[middle].cookie > cookie)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void
free_tables(struct memory_dir *dir)
{
    free(dir->slots);
    free(dir->buckets);
    dir->slots = NULL;
    dir->buckets = NULL;
    dir->first = dir->end = dir->room = dir->nbuckets = 0;
}

void
memory_dir_remove(struct memory_store *store, struct memory_node *dir, struct memory_entry *entry)
{
    struct memory_dir *d = &dir->dir;
    size_t slot = slot_behind(d, entry->cookie - 1);
    struct memory_entry **at = &d->buckets[entry->hash & (d->nbuckets - 1)];

    assert(slot < d->end && d->slots[slot].entry == entry);
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    d->slots[slot].entry = NULL;
    d->entries--;
    d->name_bytes -= entry->len;
    store->bytes -= entry->len;
    free(entry);
    if (d->entries == 0) {
        free_tables(d);
        return;
    }
    while (d->slots[d->first].entry == NULL)
        d->first++;
    while (d->slots[d->end - 1].entry == NULL)
        d->end--;
    if (d->entries < (d->end - d->first) / 2)
        pack_slots(d);
}

void
memory_dir_free(struct memory_node *dir)
{
    size_t i;

    for (i = dir->dir.first; i < dir->dir.end; i++)
        free(dir->dir.slots[i].entry);
    free_tables(&dir->dir);
}

int
memory_dir_copy(struct memory_node *to, const struct memory_node *from)
{
    const struct memory_dir *old = &from->dir;
    struct memory_dir *new = &to->dir;

    new->last_cookie = old->last_cookie;
    for (size_t i = old->first; i < old->end; i++) {
        const struct memory_entry *entry = old->slots[i].entry;
        struct memory_entry *copy;

        if (entry == NULL)
            continue;
        if (!grow_slots(new) || !grow_buckets(new) || (copy = malloc(sizeof(*copy) + entry->len)) == NULL)
            return -ENOMEM;
        memcpy(copy, entry, sizeof(*copy) + entry->len);
        copy->node = entry->node->copy;
        link_bucket(new->buckets, new->nbuckets, copy);
        new->slots[new->end++] = (struct memory_slot){ copy->cookie, copy };
        new->entries++;
        new->name_bytes += copy->len;
    }
    return 0;
}

int
memory_lookup(struct memory_store *store, struct store_op *op)
{
    struct memory_node *dir = memory_node(op->node);
    struct memory_node *child = NULL;
    struct memory_entry *entry;

    if (!memory_may(dir, op->cred, MAY_EXEC))
        return -EACCES;
    if (op->name_len == 1 && op->name[0] == '.') {
        child = dir;
    } else if (op->name_len == 2 && memcmp(op->name, "..", 2) == 0) {
        child = dir->dir.parent;
    } else {
        entry = memory_dir_find(store, dir, op->name, op->name_len);
        if (entry == NULL)
            return -ENOENT;
        child = entry->node;
    }
    op->child = child->id;
    memory_fill_attr(child, &op->child_attr);
    return 0;
}

/* Append an entry to the reply; false when it is full. */
static bool
emit(struct store_op *op, bool details, uint64_t cookie, const char *name, size_t len, const struct memory_node *node)
{
    size_t size = (offsetof(struct store_dirent, name) + len + 7) & ~(size_t)7;
    struct store_dirent *dirent;

    if (op->r.dir.entries >= op->u.dir.max_entries || size > op->u.dir.size - op->r.dir.used ||
        !store_dir_has_room(op, len, details ? node->id.len : 0))
        return false;
    dirent = (struct store_dirent *)((char *)op->u.dir.buffer + op->r.dir.used);
    dirent->fileid = node->fileid;
    dirent->cookie = cookie;
    dirent->attr.present = false;
    dirent->id.len = 0;
    if (details) {
        memory_fill_attr(node, &dirent->attr);
        dirent->id = node->id;
    }
    dirent->name_len = len;
    memcpy(dirent->name, name, len);
    op->r.dir.entries++;
    op->r.dir.used += size;
    op->r.dir.told += store_dir_tells(op, len, dirent->id.len);
    return true;
}

int
memory_readdir(struct memory_store *store, struct store_op *op)
{
    const struct memory_node *dir = memory_node(op->node);
    uint64_t cookie = op->u.dir.cookie;
    bool details = op->u.dir.plus && memory_may(dir, op->cred, MAY_EXEC);
    const struct memory_entry *entry;
    size_t i;

    (void)store;
    if (!memory_may(dir, op->cred, MAY_READ))
        return -EACCES;
    if (cookie < COOKIE_DOT && !emit(op, details, COOKIE_DOT, ".", 1, dir))
        return 0;
    if (cookie < COOKIE_DOTDOT && !emit(op, details, COOKIE_DOTDOT, "..", 2, dir->dir.parent))
        return 0;
    for (i = slot_behind(&dir->dir, cookie); i < dir->dir.end; i++) {
        entry = dir->dir.slots[i].entry;
        if (entry != NULL && !emit(op, details, entry->cookie, entry->name, entry->len, entry->node))
            return 0;
    }
    op->r.dir.eof = true;
    return 0;
}
