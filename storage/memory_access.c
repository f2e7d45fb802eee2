/*
 * storage/memory_access.c - what a caller may do, by the rules of Linux with NFS's additions; ACCESS (RFC 1813 3.3.4)
 * and SETATTR (3.3.2).
 */
#include "storage/acl.h"
#include "storage/memory_private.h"

static bool
is_root(const struct store_cred *cred)
{
    return cred->uid == 0;
}

static bool
is_owner(const struct memory_node *node, const struct store_cred *cred)
{
    return cred->uid == node->uid || is_root(cred);
}

/* The three bits of the mode that are about this caller. */
static unsigned
class_bits(const struct memory_node *node, const struct store_cred *cred)
{
    if (cred->uid == node->uid)
        return node->mode >> 6 & 7;
    if (cred_in_group(cred, node->gid))
        return node->mode >> 3 & 7;
    return node->mode & 7;
}

bool
memory_may(const struct memory_node *node, const struct store_cred *cred, unsigned wanted)
{
    if (is_root(cred))
        return !(wanted & MAY_EXEC) || S_ISDIR(node->mode) || (node->mode & 0111) != 0;
    if (node->access_acl != NULL)
        return acl_permits(node->access_acl, node->uid, node->gid, cred, wanted);
    return (wanted & ~class_bits(node, cred)) == 0;
}

bool
memory_may_use_data(const struct memory_node *node, const struct store_cred *cred, unsigned wanted)
{
    if (is_owner(node, cred) || memory_may(node, cred, wanted))
        return true;
    return wanted == MAY_READ && memory_may(node, cred, MAY_EXEC);
}

int
memory_may_remove(const struct memory_node *dir, const struct memory_node *node, const struct store_cred *cred)
{
    if (!memory_may(dir, cred, MAY_WRITE | MAY_EXEC))
        return -EACCES;
    if ((dir->mode & S_ISVTX) && !is_owner(dir, cred) && !is_owner(node, cred))
        return -EPERM;
    return 0;
}

int
memory_access(struct memory_store *store, struct store_op *op)
{
    const struct memory_node *node = memory_node(op->node);
    uint32_t change = STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND;
    uint32_t granted = 0;

    (void)store;
    if (memory_may(node, op->cred, MAY_READ))
        granted |= STORE_ACCESS_READ;
    if (S_ISDIR(node->mode)) {
        if (memory_may(node, op->cred, MAY_EXEC))
            granted |= STORE_ACCESS_LOOKUP;
        if (memory_may(node, op->cred, MAY_WRITE | MAY_EXEC))
            granted |= change | STORE_ACCESS_DELETE;
    } else {
        if (memory_may(node, op->cred, MAY_WRITE))
            granted |= change;
        if (S_ISREG(node->mode) && memory_may(node, op->cred, MAY_EXEC))
            granted |= STORE_ACCESS_EXECUTE;
    }
    op->r.access.granted = granted & op->u.access.mask;
    return 0;
}

/* Nothing ever leaves the tree; what is asked is whether the caller may pass the directories above. */
int
memory_inside(struct memory_store *store, struct store_op *op)
{
    const struct memory_node *node = memory_node(op->node);
    struct memory_node *dir;

    if (S_ISDIR(node->type))
        dir = node->dir.parent;
    else if (memory_find(store, op->u.inside.parent, &dir) < 0)
        return -ESTALE;
    if (node == memory_node(store->base.root))
        return 0;
    for (; memory_may(dir, op->cred, MAY_EXEC); dir = dir->dir.parent)
        if (dir == dir->dir.parent)
            return 0;
    return -ESTALE;
}

void
memory_drop_setid(struct memory_node *node)
{
    node->mode &= ~(uint32_t)S_ISUID;
    if (node->mode & S_IXGRP)
        node->mode &= ~(uint32_t)S_ISGID;
}

/* Whether the object can have such attributes, whoever asks. */
static int
applicable(const struct memory_node *node, const struct store_setattr *set)
{
    if (set->set_size) {
        if (S_ISDIR(node->mode))
            return -EISDIR;
        if (!S_ISREG(node->mode))
            return -EINVAL;
        if (set->size > MEMORY_SIZE_MAX)
            return -EFBIG;
    }
    if (set->set_mode && S_ISLNK(node->mode))
        return -EOPNOTSUPP;
    return 0;
}

/* Whether the caller may set them. */
static int
permitted(const struct memory_node *node, const struct store_cred *cred, const struct store_setattr *set)
{
    bool owner = is_owner(node, cred);

    if (set->set_size && !memory_may_use_data(node, cred, MAY_WRITE))
        return -EACCES;
    if (set->set_mode && !owner)
        return -EPERM;
    if (set->set_uid && !is_root(cred) && !(owner && set->uid == node->uid))
        return -EPERM;
    if (set->set_gid && !is_root(cred) && !(owner && (set->gid == node->gid || cred_in_group(cred, set->gid))))
        return -EPERM;
    if ((set->set_atime == STORE_TIME_SET || set->set_mtime == STORE_TIME_SET) && !owner)
        return -EPERM;
    if ((set->set_atime == STORE_TIME_NOW || set->set_mtime == STORE_TIME_NOW) && !owner &&
        !memory_may(node, cred, MAY_WRITE))
        return -EACCES;
    return 0;
}

/* After memory_touch(): "now" is when the object changed. */
static void
apply_times(struct memory_node *node, const struct store_setattr *set)
{
    if (set->set_atime != STORE_TIME_KEEP)
        node->atime = set->set_atime == STORE_TIME_SET ? set->atime : node->ctime;
    if (set->set_mtime != STORE_TIME_KEEP)
        node->mtime = set->set_mtime == STORE_TIME_SET ? set->mtime : node->ctime;
}

int
memory_change_attr(struct memory_store *store, struct memory_node *node, const struct store_cred *cred,
                   const struct store_setattr *set)
{
    int err = applicable(node, set);

    if (err == 0)
        err = permitted(node, cred, set);
    if (err < 0)
        return err;
    if (!set->set_mode && !set->set_uid && !set->set_gid && !set->set_size && set->set_atime == STORE_TIME_KEEP &&
        set->set_mtime == STORE_TIME_KEEP)
        return 0;
    memory_touch(node);
    if (set->set_size) {
        memory_resize(store, node, set->size);
        node->mtime = node->ctime;
        if (!is_root(cred))
            memory_drop_setid(node);
    }
    if (set->set_uid)
        memory_chown(store, node, set->uid);
    if (set->set_gid)
        node->gid = set->gid;
    if (set->set_mode) {
        node->mode = (node->mode & S_IFMT) | (set->mode & 07777);
        if (node->access_acl != NULL)
            acl_chmod(node->access_acl, node->mode);
        if (!is_root(cred) && !cred_in_group(cred, node->gid))
            node->mode &= ~(uint32_t)S_ISGID;
    }
    if ((set->set_uid || set->set_gid) && !S_ISDIR(node->mode))
        memory_drop_setid(node);
    apply_times(node, set);
    return 0;
}

void
memory_init_attr(struct memory_store *store, struct memory_node *node, const struct store_cred *cred,
                 const struct store_setattr *set)
{
    bool owned = false;

    if (set->set_uid && is_root(cred)) {
        memory_chown(store, node, set->uid);
        owned = true;
    }
    if (set->set_gid && is_root(cred)) {
        node->gid = set->gid;
        owned = true;
    }
    if (owned && !S_ISDIR(node->mode))
        memory_drop_setid(node);
    if (set->set_size && S_ISREG(node->mode))
        node->size = set->size;
    apply_times(node, set);
}

int
memory_setattr(struct memory_store *store, struct store_op *op)
{
    struct memory_node *node = memory_node(op->node);
    const struct timespec *guard = op->u.setattr.guard;

    if (guard != NULL && (guard->tv_sec != node->ctime.tv_sec || guard->tv_nsec != node->ctime.tv_nsec))
        return -STORE_ENOTSYNC;
    return memory_change_attr(store, node, op->cred, op->u.setattr.set);
}
