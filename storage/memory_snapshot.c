/*
 * storage/memory_snapshot.c - a copy of the whole tree, and going back to it.
 *
 * A snapshot is the nodes of the tree once more, with contents of their own, in no store's table. To go back a copy is made
 * of these, so that memory can run out before anything has changed; then a node that is still there takes over what its
 * copy holds, since others may refer to it, and where none is the copy itself goes into the tree.
 */
#include "storage/memory_private.h"

#include <stdlib.h>
#include <string.h>

struct memory_snapshot {
    uint64_t identity;                  /* of its store */
    struct memory_node **nodes;
    size_t count;
};

/* Free a node that is in no tree. */
static void
free_loose(struct memory_node *node)
{
    if (S_ISREG(node->type))
        memory_pages_cut(&node->file.pages, 0);
    else if (S_ISLNK(node->type))
        free(node->text);
    else if (S_ISDIR(node->type))
        memory_dir_free(node);
    free(node->access_acl);
    free(node->default_acl);
    free(node);
}

void
memory_snapshot_free(struct memory_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    for (size_t i = 0; i < snapshot->count; i++)
        free_loose(snapshot->nodes[i]);
    free(snapshot->nodes);
    free(snapshot);
}

static int
copy_contents(struct memory_node *to, const struct memory_node *from)
{
    int err = memory_acl_copy(from->access_acl, &to->access_acl);

    if (err == 0)
        err = memory_acl_copy(from->default_acl, &to->default_acl);
    if (err == 0 && S_ISREG(from->type)) {
        to->file.exclusive = from->file.exclusive;
        memcpy(to->file.verifier, from->file.verifier, sizeof(to->file.verifier));
        err = memory_pages_copy(&to->file.pages, &from->file.pages);
    } else if (err == 0 && S_ISLNK(from->type)) {
        to->text = malloc(from->size);
        err = to->text != NULL ? 0 : -ENOMEM;
        if (err == 0)
            memcpy(to->text, from->text, from->size);
    }
    return err;
}

/* What is the same in a node and its copy, whatever the type. */
static void
copy_plain(struct memory_node *to, const struct memory_node *from)
{
    to->mode = from->mode;
    to->nlink = from->nlink;
    to->uid = from->uid;
    to->gid = from->gid;
    to->major = from->major;
    to->minor = from->minor;
    to->size = from->size;
    to->atime = from->atime;
    to->mtime = from->mtime;
    to->ctime = from->ctime;
}

/* A copy of a node; a directory's has no entries yet. NULL when memory is short. */
static struct memory_node *
copy_node(const struct memory_node *node)
{
    struct memory_node *copy = calloc(1, sizeof(*copy));

    if (copy == NULL)
        return NULL;
    copy->base.store = node->base.store;
    copy->id = node->id;
    atomic_init(&copy->refs, 1);
    copy->fileid = node->fileid;
    copy->type = node->type;
    copy_plain(copy, node);
    if (copy_contents(copy, node) < 0) {
        free_loose(copy);
        return NULL;
    }
    return copy;
}

/* Copy a tree, whose nodes know their copies then. NULL when memory is short. */
static struct memory_snapshot *
copy_tree(struct memory_node *const *nodes, size_t count, uint64_t identity)
{
    struct memory_snapshot *copy = calloc(1, sizeof(*copy));

    if (copy == NULL || (copy->nodes = calloc(count, sizeof(copy->nodes[0]))) == NULL)
        goto fail;
    copy->identity = identity;
    for (; copy->count < count; copy->count++) {
        nodes[copy->count]->copy = copy->nodes[copy->count] = copy_node(nodes[copy->count]);
        if (copy->nodes[copy->count] == NULL)
            goto fail;
    }
    for (size_t i = 0; i < count; i++) {
        if (!S_ISDIR(nodes[i]->type))
            continue;
        copy->nodes[i]->dir.parent = nodes[i]->dir.parent->copy;
        if (memory_dir_copy(copy->nodes[i], nodes[i]) < 0)
            goto fail;
    }
    return copy;
fail:
    memory_snapshot_free(copy);
    return NULL;
}

/* All nodes in a store's table; to be freed. NULL when memory is short. */
static struct memory_node **
list_nodes(const struct memory_store *store)
{
    struct memory_node **nodes = calloc(store->files, sizeof(nodes[0]));
    size_t count = 0;

    for (size_t i = 0; nodes != NULL && i < store->nbuckets; i++)
        for (struct memory_node *node = store->buckets[i]; node != NULL; node = node->next)
            nodes[count++] = node;
    return nodes;
}

int
memory_snapshot_new(struct store *base, struct memory_snapshot **out)
{
    struct memory_store *store = (struct memory_store *)base;
    struct memory_node **nodes;

    pthread_rwlock_wrlock(&store->lock);                /* nodes are told their copies */
    nodes = list_nodes(store);
    *out = nodes != NULL ? copy_tree(nodes, store->files, store->identity) : NULL;
    pthread_rwlock_unlock(&store->lock);
    free(nodes);
    return *out != NULL ? 0 : -ENOMEM;
}

/* Have a node in the tree and what is to take its place know each other; what has none to take over stays itself. */
static void
pair(const struct memory_store *store, struct memory_node **nodes, const struct memory_snapshot *fresh)
{
    struct memory_node *there;

    for (size_t i = 0; i < store->files; i++)
        nodes[i]->copy = NULL;
    for (size_t i = 0; i < fresh->count; i++) {
        struct memory_node *node = fresh->nodes[i];

        node->copy = node;
        if (memory_find(store, &node->id, &there) < 0)
            continue;
        node->copy = there;
        there->copy = node;
    }
}

/* Take everything out of the table; what stays gets its new contents. */
static void
clear(struct memory_store *store, struct memory_node **nodes)
{
    for (size_t i = 0; i < store->files; i++) {
        struct memory_node *node = nodes[i], *from = node->copy;

        memory_free_contents(store, node);
        memory_user_leave(store, node);
        if (from == NULL) {
            node->nlink = 0;
            memory_put(node);
            continue;
        }
        copy_plain(node, from);
        node->access_acl = from->access_acl;
        node->default_acl = from->default_acl;
        if (S_ISREG(node->type))
            node->file = from->file;
        else if (S_ISLNK(node->type))
            node->text = from->text;
        else if (S_ISDIR(node->type))
            node->dir = from->dir;
    }
    memset(store->buckets, 0, store->nbuckets * sizeof(store->buckets[0]));
    store->files = 0;
    store->bytes = 0;
}

/* A directory names nodes of the tree in place of those they were copied to. */
static void
rename_nodes(struct memory_dir *dir)
{
    dir->parent = dir->parent->copy;
    for (size_t i = dir->first; i < dir->end; i++)
        if (dir->slots[i].entry != NULL)
            dir->slots[i].entry->node = dir->slots[i].entry->node->copy;
}

/* Put into the table what is to be there. */
static void
fill(struct memory_store *store, struct memory_snapshot *fresh)
{
    for (size_t i = 0; i < fresh->count; i++) {
        struct memory_node *node = fresh->nodes[i]->copy;

        node->next = NULL;
        (void)memory_table_add(store, node);            /* there were enough buckets for as many before */
        memory_user_enter(store, node);
        store->bytes += memory_node_bytes(node);
        if (S_ISDIR(node->type)) {
            store->bytes += node->dir.name_bytes;
            rename_nodes(&node->dir);
        }
    }
    for (size_t i = 0; i < fresh->count; i++)
        if (fresh->nodes[i]->copy != fresh->nodes[i])
            free(fresh->nodes[i]);                      /* all it held has a new owner */
    free(fresh->nodes);
    free(fresh);
}

int
memory_restore(struct store *base, const struct memory_snapshot *snapshot)
{
    struct memory_store *store = (struct memory_store *)base;
    struct memory_snapshot *fresh = NULL;
    struct memory_node **nodes;
    int err = -ENOMEM;

    if (snapshot->identity != store->identity)
        return -EXDEV;
    pthread_rwlock_wrlock(&store->lock);
    nodes = list_nodes(store);
    if (nodes != NULL)
        fresh = copy_tree(snapshot->nodes, snapshot->count, snapshot->identity);
    if (fresh != NULL) {
        pair(store, nodes, fresh);
        clear(store, nodes);
        fill(store, fresh);
        err = 0;
    }
    pthread_rwlock_unlock(&store->lock);
    free(nodes);
    return err;
}
