/*
 * storage/store.c - the operations of store.h: each fills in what it is about, clears the results, and starts.
 */
#include "storage/store.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "storage/node.h"

static int
start(enum store_kind kind, struct store *store, struct store_node *node, struct store_op *op)
{
    int err;

    op->kind = kind;
    op->store = store;
    op->node = node;
    op->err = 0;
    op->io.flags = 0;
    op->attr.present = false;
    op->wcc.before_present = false;
    op->wcc.after.present = false;
    op->wcc_to.before_present = false;
    op->wcc_to.after.present = false;
    op->child.len = 0;
    op->child_attr.present = false;
    memset(&op->r, 0, sizeof(op->r));
    err = store->ops->start(op);
    if (err != STORE_PENDING)                           /* else the op may be in other hands already */
        op->err = err;
    return err;
}

/* An operation on a name, which the caller has found to be well-formed. */
static int
start_named(enum store_kind kind, struct store_node *dir, struct store_op *op)
{
    assert(op->name_len > 0 && op->name_len <= STORE_NAME_MAX);
    return start(kind, dir->store, dir, op);
}

int
store_get(struct store *store, const struct store_id *id, struct store_op *op)
{
    op->u.get.id = id;
    return start(STORE_GET, store, NULL, op);
}

int
store_inside(struct store_node *node, struct store_op *op)
{
    return start(STORE_INSIDE, node->store, node, op);
}

int
store_getattr(struct store_node *node, struct store_op *op)
{
    return start(STORE_GETATTR, node->store, node, op);
}

int
store_setattr(struct store_node *node, struct store_op *op)
{
    return start(STORE_SETATTR, node->store, node, op);
}

int
store_lookup(struct store_node *dir, struct store_op *op)
{
    return start_named(STORE_LOOKUP, dir, op);
}

int
store_access(struct store_node *node, struct store_op *op)
{
    return start(STORE_ACCESS, node->store, node, op);
}

int
store_readlink(struct store_node *node, struct store_op *op)
{
    return start(STORE_READLINK, node->store, node, op);
}

int
store_read(struct store_node *node, struct store_op *op)
{
    return start(STORE_READ, node->store, node, op);
}

int
store_write(struct store_node *node, struct store_op *op)
{
    return start(STORE_WRITE, node->store, node, op);
}

int
store_create(struct store_node *dir, struct store_op *op)
{
    return start_named(STORE_CREATE, dir, op);
}

int
store_mkdir(struct store_node *dir, struct store_op *op)
{
    return start_named(STORE_MKDIR, dir, op);
}

int
store_symlink(struct store_node *dir, struct store_op *op)
{
    return start_named(STORE_SYMLINK, dir, op);
}

int
store_mknod(struct store_node *dir, struct store_op *op)
{
    return start_named(STORE_MKNOD, dir, op);
}

int
store_remove(struct store_node *dir, struct store_op *op)
{
    return start_named(STORE_REMOVE, dir, op);
}

int
store_rmdir(struct store_node *dir, struct store_op *op)
{
    return start_named(STORE_RMDIR, dir, op);
}

int
store_rename(struct store_node *from, struct store_op *op)
{
    assert(op->u.rename.name_len > 0 && op->u.rename.name_len <= STORE_NAME_MAX);
    return start_named(STORE_RENAME, from, op);
}

int
store_link(struct store_node *node, struct store_op *op)
{
    return start_named(STORE_LINK, node, op);
}

int
store_readdir(struct store_node *dir, struct store_op *op)
{
    return start(STORE_READDIR, dir->store, dir, op);
}

int
store_fsstat(struct store_node *node, struct store_op *op)
{
    return start(STORE_FSSTAT, node->store, node, op);
}

int
store_commit(struct store_node *node, struct store_op *op)
{
    return start(STORE_COMMIT, node->store, node, op);
}

int
store_getacl(struct store_node *node, struct store_op *op)
{
    return start(STORE_GETACL, node->store, node, op);
}

int
store_setacl(struct store_node *node, struct store_op *op)
{
    return start(STORE_SETACL, node->store, node, op);
}

void
store_ref(struct store *store, struct store_node *node)
{
    store->ops->ref(node);
}

void
store_put(struct store *store, struct store_node *node)
{
    store->ops->put(node);
}

const struct store_id *
store_node_id(const struct store *store, const struct store_node *node)
{
    return store->ops->id(node);
}

mode_t
store_node_type(const struct store *store, const struct store_node *node)
{
    return store->ops->type(node);
}

bool
store_read_only(struct store *store)
{
    bool now;

    if (!atomic_load_explicit(&store->read_only, memory_order_relaxed))
        return false;
    now = store->ops->read_only(store);
    atomic_store_explicit(&store->read_only, now, memory_order_relaxed);
    return now;
}

void
store_renew_verifier(struct store *store)
{
    uint64_t old = atomic_load(&store->write_verifier);
    uint64_t fresh;

    do {
        while (getrandom(&fresh, sizeof(fresh), 0) != (ssize_t)sizeof(fresh))
            continue;                                   /* a signal, before the kernel has seeded its generator */
    } while (fresh == old);
    atomic_store(&store->write_verifier, fresh);
}

void
store_free(struct store *store)
{
    if (store != NULL)
        store->ops->free(store);
}
