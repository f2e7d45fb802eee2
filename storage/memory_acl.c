/*
 * storage/memory_acl.c - ACLs of the store in memory: kept in their nodes, and counted with the bytes they take. Their
 * rules are acl.c's; who may do what by them, memory_access.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/acl.h"
#include "storage/memory_private.h"

uint64_t
memory_acl_bytes(const struct store_acl *acl)
{
    return acl != NULL ? sizeof(*acl) + acl->count * sizeof(acl->entries[0]) : 0;
}

int
memory_acl_copy(const struct store_acl *acl, struct store_acl **copy)
{
    *copy = NULL;
    if (acl == NULL || acl->count == 0)
        return 0;
    *copy = malloc(memory_acl_bytes(acl));
    if (*copy == NULL)
        return -ENOMEM;
    memcpy(*copy, acl, memory_acl_bytes(acl));
    return 0;
}

static int
copy_both(const struct store_acl *access, const struct store_acl *defaults, struct store_acl *copies[2])
{
    int err = memory_acl_copy(access, &copies[0]);

    if (err < 0)
        return err;
    err = memory_acl_copy(defaults, &copies[1]);
    if (err < 0)
        free(copies[0]);
    return err;
}

static void
give_copy(const struct store_acl *acl, struct store_acl *out)
{
    if (acl != NULL)
        memcpy(out, acl, memory_acl_bytes(acl));
    else
        out->count = 0;
}

int
memory_getacl(struct memory_store *store, struct store_op *op)
{
    const struct memory_node *node = memory_node(op->node);
    struct store_acl *access = op->u.getacl.access;

    (void)store;
    if (access != NULL && node->access_acl == NULL)
        acl_from_mode(node->mode, access);
    else if (access != NULL)
        give_copy(node->access_acl, access);
    if (op->u.getacl.defaults != NULL)
        give_copy(node->default_acl, op->u.getacl.defaults);
    return 0;
}

/* Take over an ACL in the place of another. */
static void
put_in_place(struct memory_store *store, struct memory_node *node, struct store_acl **place, struct store_acl *acl)
{
    memory_charge(store, node, (int64_t)memory_acl_bytes(acl) - (int64_t)memory_acl_bytes(*place));
    free(*place);
    *place = acl;
}

void
memory_acl_free(struct memory_store *store, struct memory_node *node)
{
    put_in_place(store, node, &node->access_acl, NULL);
    put_in_place(store, node, &node->default_acl, NULL);
}

/* Take over an access ACL; a minimal one is nothing else than a mode. */
static void
put_access(struct memory_store *store, struct memory_node *node, struct store_acl *acl)
{
    bool minimal = true;

    if (acl != NULL)
        node->mode = (node->mode & ~0777u) | acl_to_mode(acl, &minimal);
    put_in_place(store, node, &node->access_acl, minimal ? NULL : acl);
    if (minimal)
        free(acl);
}

int
memory_acl_inherit(struct memory_store *store, const struct memory_node *dir, struct memory_node *node)
{
    struct store_acl *copies[2] = { NULL, NULL };
    int err;

    if (dir->default_acl == NULL || S_ISLNK(node->mode))
        return 0;
    err = copy_both(dir->default_acl, S_ISDIR(node->mode) ? dir->default_acl : NULL, copies);
    if (err < 0)
        return err;
    acl_inherit(copies[0], node->mode);
    put_access(store, node, copies[0]);
    put_in_place(store, node, &node->default_acl, copies[1]);
    return 0;
}

int
memory_setacl(struct memory_store *store, struct store_op *op)
{
    const struct store_acl *access = op->u.setacl.access, *defaults = op->u.setacl.defaults;
    struct memory_node *node = memory_node(op->node);
    struct store_acl *copies[2] = { NULL, NULL };
    int err = acl_may_set(node->type, op->cred->uid == 0 || op->cred->uid == node->uid, access, defaults);

    if (err == 0 && !memory_has_room(store, 0, memory_acl_bytes(access) + memory_acl_bytes(defaults)))
        err = -ENOSPC;
    if (err == 0)
        err = memory_within_quota(store, op->cred, node->uid, 0, memory_acl_bytes(access) + memory_acl_bytes(defaults));
    if (err == 0)
        err = copy_both(access, defaults, copies);
    if (err < 0)
        return err;
    if (access != NULL && access->count > 0 && op->cred->uid != 0 && !cred_in_group(op->cred, node->gid))
        node->mode &= ~(uint32_t)S_ISGID;               /* as chmod(2) */
    if (access != NULL)
        put_access(store, node, copies[0]);
    if (defaults != NULL)
        put_in_place(store, node, &node->default_acl, copies[1]);
    if (access != NULL || defaults != NULL)
        memory_touch(node);
    return 0;
}
