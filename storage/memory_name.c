/*
 * storage/memory_name.c - operations that make, remove and move names (RFC 1813 3.3.8-15). What is refused, and in
 * which order it is looked at, follows Linux's VFS.
 */
#include "storage/memory_private.h"

#include <stdlib.h>
#include <string.h>

#define MAJOR_MAX 4095                  /* what a device number of Linux holds */
#define MINOR_MAX 1048575

/* Look for a name as the caller. Returns 0 with *entry NULL when it is not there, or -EACCES. */
static int
search(const struct memory_store *store, const struct memory_node *dir, const struct store_cred *cred, const char *name,
       size_t len, struct memory_entry **entry)
{
    *entry = NULL;
    if (!memory_may(dir, cred, MAY_EXEC))
        return -EACCES;
    *entry = memory_dir_find(store, dir, name, len);
    return 0;
}

/* Whether the caller may make the operation's name in a directory. */
static int
may_make(const struct memory_store *store, const struct memory_node *dir, const struct store_op *op)
{
    struct memory_entry *entry;
    int err = search(store, dir, op->cred, op->name, op->name_len, &entry);

    if (err < 0)
        return err;
    if (entry != NULL)
        return -EEXIST;
    return memory_may(dir, op->cred, MAY_WRITE | MAY_EXEC) ? 0 : -EACCES;
}

static void
found_child(struct store_op *op, const struct memory_node *child)
{
    op->child = child->id;
    memory_fill_attr(child, &op->child_attr);
}

/* The mode of an object made in a directory: a set-group-ID directory keeps the bit to directories and to members. */
static uint32_t
inherited_mode(const struct memory_node *dir, const struct store_cred *cred, uint32_t mode)
{
    if (!(dir->mode & S_ISGID))
        return mode;
    if (S_ISDIR(mode))
        return mode | S_ISGID;
    if ((mode & S_IXGRP) && cred->uid != 0 && !cred_in_group(cred, dir->gid))
        return mode & ~(uint32_t)S_ISGID;
    return mode;
}

/* Make an object of a type and mode under the operation's name. more_bytes: what it will take besides the name. */
static int
make(struct memory_store *store, struct store_op *op, uint32_t mode, size_t more_bytes, struct memory_node **made)
{
    struct memory_node *dir = memory_node(op->node);
    gid_t gid = dir->mode & S_ISGID ? dir->gid : op->cred->gid;
    uint64_t bytes = more_bytes + 2 * memory_acl_bytes(dir->default_acl);
    struct memory_node *node;
    int err = may_make(store, dir, op);

    if (err < 0)
        return err;
    if (!memory_has_room(store, 1, op->name_len + bytes))
        return -ENOSPC;
    err = memory_within_quota(store, op->cred, op->cred->uid, 1, bytes);
    if (err < 0)
        return err;
    err = memory_node_new(store, inherited_mode(dir, op->cred, mode), op->cred->uid, gid, &node);
    if (err < 0)
        return err;
    err = memory_acl_inherit(store, dir, node);
    if (err == 0)
        err = memory_dir_add(store, dir, op->name, op->name_len, node);
    if (err < 0) {
        memory_node_remove(store, node);
        return err;
    }
    if (S_ISDIR(mode)) {
        node->nlink = 2;
        node->dir.parent = dir;
        dir->nlink++;
    }
    memory_modify(dir);
    *made = node;
    return 0;
}

/* CREATE of a name that is there. */
static int
create_existing(struct memory_store *store, struct store_op *op, struct memory_node *node)
{
    const struct store_setattr *set = op->u.create.set;
    struct store_setattr size_only = { 0 };
    int err;

    if (!S_ISREG(node->mode) || op->u.create.how == STORE_GUARDED)
        return -EEXIST;
    if (op->u.create.how == STORE_EXCLUSIVE) {
        if (!node->file.exclusive || memcmp(node->file.verifier, op->u.create.verifier, STORE_VERIFIER_SIZE) != 0)
            return -EEXIST;
    } else if (set->set_size) {
        size_only.set_size = true;
        size_only.size = set->size;
        err = memory_change_attr(store, node, op->cred, &size_only);
        if (err < 0)
            return err;
    }
    found_child(op, node);
    return 0;
}

int
memory_create(struct memory_store *store, struct store_op *op)
{
    const struct store_setattr *set = op->u.create.set;
    bool exclusive = op->u.create.how == STORE_EXCLUSIVE;
    uint32_t mode = exclusive ? 0600 : set->set_mode ? set->mode & 07777 : 0644;
    struct memory_node *node;
    struct memory_entry *entry;
    int err = search(store, memory_node(op->node), op->cred, op->name, op->name_len, &entry);

    if (err < 0)
        return err;
    if (entry != NULL)
        return create_existing(store, op, entry->node);
    if (!exclusive && set->set_size && set->size > MEMORY_SIZE_MAX)
        return -EFBIG;
    err = make(store, op, S_IFREG | mode, 0, &node);
    if (err < 0)
        return err;
    if (exclusive) {
        node->file.exclusive = true;
        memcpy(node->file.verifier, op->u.create.verifier, STORE_VERIFIER_SIZE);
    } else {
        memory_init_attr(store, node, op->cred, set);
    }
    found_child(op, node);
    return 0;
}

int
memory_mkdir(struct memory_store *store, struct store_op *op)
{
    const struct store_setattr *set = op->u.mkdir.set;
    uint32_t mode = set->set_mode ? set->mode & (0777 | S_ISVTX) : 0755;
    struct memory_node *node;
    int err = make(store, op, S_IFDIR | mode, 0, &node);

    if (err < 0)
        return err;
    memory_init_attr(store, node, op->cred, set);
    found_child(op, node);
    return 0;
}

int
memory_symlink(struct memory_store *store, struct store_op *op)
{
    size_t len = op->u.symlink.text_len;
    struct memory_node *node;
    char *text;
    int err;

    if (len == 0)
        return -ENOENT;
    if (len > STORE_LINK_MAX)
        return -ENAMETOOLONG;
    text = malloc(len);
    if (text == NULL)
        return -ENOMEM;
    err = make(store, op, S_IFLNK | 0777, len, &node);
    if (err < 0) {
        free(text);
        return err;
    }
    memcpy(text, op->u.symlink.text, len);
    node->text = text;
    node->size = len;
    memory_charge(store, node, (int64_t)len);
    memory_init_attr(store, node, op->cred, op->u.symlink.set);
    found_child(op, node);
    return 0;
}

int
memory_mknod(struct memory_store *store, struct store_op *op)
{
    const struct store_setattr *set = op->u.mknod.set;
    mode_t type = op->u.mknod.type;
    bool device = S_ISCHR(type) || S_ISBLK(type);
    struct memory_node *node;
    int err;

    if (!device && !S_ISFIFO(type) && !S_ISSOCK(type))
        return -STORE_EBADTYPE;
    if (device && (op->u.mknod.major > MAJOR_MAX || op->u.mknod.minor > MINOR_MAX))
        return -EINVAL;
    err = may_make(store, memory_node(op->node), op);
    if (err < 0)
        return err;
    if (device && op->cred->uid != 0)
        return -EPERM;
    err = make(store, op, type | (set->set_mode ? set->mode & 07777 : 0644), 0, &node);
    if (err < 0)
        return err;
    if (device) {
        node->major = op->u.mknod.major;
        node->minor = op->u.mknod.minor;
    }
    memory_init_attr(store, node, op->cred, set);
    found_child(op, node);
    return 0;
}

/* One name of a node is gone: with the last one, or for a directory with its only one, the node goes as well. */
static void
lose_name(struct memory_store *store, struct memory_node *node)
{
    node->nlink = S_ISDIR(node->mode) ? 0 : node->nlink - 1;
    if (node->nlink == 0)
        memory_node_remove(store, node);
    else
        memory_touch(node);
}

/* The entry that an operation is to remove, which its caller may; what type it has is not looked at. */
static int
find_removable(struct memory_store *store, const struct store_op *op, struct memory_entry **entry)
{
    struct memory_node *dir = memory_node(op->node);
    int err = search(store, dir, op->cred, op->name, op->name_len, entry);

    if (err < 0)
        return err;
    return *entry == NULL ? -ENOENT : memory_may_remove(dir, (*entry)->node, op->cred);
}

int
memory_remove(struct memory_store *store, struct store_op *op)
{
    struct memory_node *dir = memory_node(op->node);
    struct memory_entry *entry;
    struct memory_node *node;
    int err = find_removable(store, op, &entry);

    if (err < 0)
        return err;
    node = entry->node;
    if (S_ISDIR(node->mode))
        return -EISDIR;
    memory_dir_remove(store, dir, entry);
    memory_modify(dir);
    lose_name(store, node);
    return 0;
}

int
memory_rmdir(struct memory_store *store, struct store_op *op)
{
    struct memory_node *dir = memory_node(op->node);
    struct memory_entry *entry;
    struct memory_node *node;
    int err = find_removable(store, op, &entry);

    if (err < 0)
        return err;
    node = entry->node;
    if (!S_ISDIR(node->mode))
        return -ENOTDIR;
    if (node->dir.entries > 0)
        return -ENOTEMPTY;
    memory_dir_remove(store, dir, entry);
    dir->nlink--;
    memory_modify(dir);
    lose_name(store, node);
    return 0;
}

/* Whether a directory is `top` or below it. */
static bool
is_within(const struct memory_node *dir, const struct memory_node *top)
{
    while (dir != top && dir->dir.parent != dir)
        dir = dir->dir.parent;
    return dir == top;
}

/* Whether a node may take the place of a name, or of nothing (victim NULL), in another directory or the same. */
static int
may_move(const struct memory_node *from, const struct memory_node *node, const struct memory_node *to,
         const struct memory_node *victim, const struct store_cred *cred)
{
    int err = memory_may_remove(from, node, cred);

    if (err < 0)
        return err;
    if (victim != NULL) {
        err = memory_may_remove(to, victim, cred);
        if (err < 0)
            return err;
        if (S_ISDIR(node->mode) && !S_ISDIR(victim->mode))
            return -ENOTDIR;
        if (!S_ISDIR(node->mode) && S_ISDIR(victim->mode))
            return -EISDIR;
    } else if (!memory_may(to, cred, MAY_WRITE | MAY_EXEC)) {
        return -EACCES;
    }
    if (S_ISDIR(node->mode) && from != to && !memory_may(node, cred, MAY_WRITE))
        return -EACCES;                                 /* its ".." changes */
    if (victim != NULL && S_ISDIR(victim->mode) && victim->dir.entries > 0)
        return -ENOTEMPTY;
    return 0;
}

int
memory_rename(struct memory_store *store, struct store_op *op)
{
    struct memory_node *from = memory_node(op->node);
    struct memory_node *to = memory_node(op->u.rename.to);
    size_t new_len = op->u.rename.name_len;
    struct memory_entry *old, *new;
    struct memory_node *node, *victim;
    int err = search(store, from, op->cred, op->name, op->name_len, &old);

    if (err == 0)
        err = search(store, to, op->cred, op->u.rename.name, new_len, &new);
    if (err < 0)
        return err;
    if (old == NULL)
        return -ENOENT;
    node = old->node;
    victim = new != NULL ? new->node : NULL;
    if (S_ISDIR(node->mode) && is_within(to, node))
        return -EINVAL;
    if (victim != NULL && S_ISDIR(victim->mode) && is_within(from, victim))
        return -ENOTEMPTY;
    if (victim == node)                                 /* two names of one file: both stay */
        return 0;
    err = may_move(from, node, to, victim, op->cred);
    if (err < 0)
        return err;
    if (new == NULL) {
        if (new_len > op->name_len && !memory_has_room(store, 0, new_len - op->name_len))
            return -ENOSPC;
        err = memory_dir_add(store, to, op->u.rename.name, new_len, node);
        if (err < 0)
            return err;
    } else {
        new->node = node;
    }
    memory_dir_remove(store, from, old);
    if (S_ISDIR(node->mode)) {
        from->nlink--;
        to->nlink += victim == NULL;                    /* else it takes the place of another directory */
        node->dir.parent = to;
    }
    if (victim != NULL)
        lose_name(store, victim);
    memory_touch(node);
    memory_modify(from);
    if (to != from)
        memory_modify(to);
    return 0;
}

int
memory_link(struct memory_store *store, struct store_op *op)
{
    struct memory_node *node = memory_node(op->node);
    struct memory_node *dir = memory_node(op->u.link.dir);
    int err = may_make(store, dir, op);

    if (err < 0)
        return err;
    if (S_ISDIR(node->mode))
        return -EPERM;
    if (node->nlink >= MEMORY_LINK_MAX)
        return -EMLINK;
    if (!memory_has_room(store, 0, op->name_len))
        return -ENOSPC;
    err = memory_dir_add(store, dir, op->name, op->name_len, node);
    if (err < 0)
        return err;
    node->nlink++;
    memory_touch(node);
    memory_modify(dir);
    return 0;
}
