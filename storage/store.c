/*
 * storage/store.c - the operations of store.h: each fills in what it is about, clears the results, and starts.
 */
#include "storage/store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "storage/node.h"
#include "storage/seed.h"

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

static uint64_t
monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

bool
store_is_disk_error(int err)
{
    static const int errors[] = { EIO, EROFS, EUCLEAN, ENODEV, ENOMEDIUM, EREMOTEIO, ENODATA, ESHUTDOWN };

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (err == -errors[i])
            return true;
    }
    return false;
}

void
store_disk_failed(struct store *store, int err)
{
    struct store_disk *disk = &store->disk;
    int well = 0;

    atomic_fetch_add_explicit(&disk->errors, 1, memory_order_relaxed);
    atomic_store(&disk->last_ns, monotonic_ns());
    if (atomic_load(&disk->trouble) != 0)
        return;
    atomic_store(&disk->since, (int64_t)time(NULL));
    if (atomic_compare_exchange_strong(&disk->trouble, &well, err))
        atomic_store(&disk->news, true);
}

static void
leave_trouble(struct store *store)
{
    if (atomic_exchange(&store->disk.trouble, 0) != 0)
        atomic_store(&store->disk.news, true);
}

void
store_disk_worked(struct store *store)
{
    const struct store_disk *disk = &store->disk;

    if (atomic_load_explicit(&disk->trouble, memory_order_relaxed) == 0)
        return;
    if (monotonic_ns() - atomic_load(&disk->last_ns) < STORE_QUIET_S * UINT64_C(1000000000) || store_read_only(store))
        return;                         /* fsync(2) of a file system that is read-only is a success, too */
    leave_trouble(store);
}

bool
store_disk_news(struct store *store, int *trouble)
{
    if (!atomic_load_explicit(&store->disk.news, memory_order_relaxed) || !atomic_exchange(&store->disk.news, false))
        return false;
    *trouble = atomic_load(&store->disk.trouble);
    return true;
}

bool
store_read_only(struct store *store)
{
    bool now;

    if (!atomic_load_explicit(&store->read_only, memory_order_relaxed))
        return false;
    now = store->ops->read_only(store);
    atomic_store_explicit(&store->read_only, now, memory_order_relaxed);
    if (!now && atomic_load(&store->disk.trouble) == -EROFS)
        leave_trouble(store);
    return now;
}

void
store_renew_verifier(struct store *store)
{
    uint64_t old = atomic_load(&store->write_verifier);
    uint64_t fresh;
    char purpose[32];

    do {
        snprintf(purpose, sizeof(purpose), "write verifier %" PRIu32, atomic_fetch_add(&store->verifiers, 1));
        seed_fill(store->seed, purpose, &fresh, sizeof(fresh));
    } while (fresh == old);
    atomic_store(&store->write_verifier, fresh);
}

void
store_free(struct store *store)
{
    if (store != NULL)
        store->ops->free(store);
}
