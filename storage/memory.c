/* storage/memory.c - the store in memory: its life, its nodes by id, and how every operation starts. */
#include "storage/memory_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "storage/seed.h"

#define FIRST_BUCKETS 64
#define ID_SIZE 16                      /* fileid, generation */
#define COUNTED_BEGIN 946684800         /* 2000-01-01 00:00:00 UTC */
#define ATIME_SECONDS (24 * 60 * 60)    /* an access time older than this moves although nothing was changed */
#define INLINE_LINK 60                  /* bytes of a symbolic link's text that take no block, as ext4 */

static const struct store_ops memory_ops;

static struct memory_store *
memory_store(struct store *store)
{
    return (struct memory_store *)store;
}

static bool
is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static struct timespec
now_of(const struct memory_store *store)
{
    struct timespec now = { .tv_sec = COUNTED_BEGIN + (time_t)(store->changes / 1000),
                            .tv_nsec = (long)(store->changes % 1000) * 1000000 };

    if (!store->config.counted_clock)
        clock_gettime(CLOCK_REALTIME, &now);
    return now;
}

struct timespec
memory_tick(struct memory_store *store)
{
    store->changes++;
    return now_of(store);
}

void
memory_touch(struct memory_node *node)
{
    struct timespec now = memory_tick(memory_store(node->base.store));

    if (!is_later(&now, &node->ctime)) {
        now = node->ctime;
        if (++now.tv_nsec == 1000000000) {
            now.tv_nsec = 0;
            now.tv_sec++;
        }
    }
    node->ctime = now;
}

void
memory_modify(struct memory_node *node)
{
    memory_touch(node);
    node->mtime = node->ctime;
}

/* Whether looking at a node moves its access time; the rule of the mount option relatime. */
static bool
is_atime_due(const struct memory_node *node)
{
    if (!is_later(&node->atime, &node->mtime) || !is_later(&node->atime, &node->ctime))
        return true;
    return now_of(memory_store(node->base.store)).tv_sec - node->atime.tv_sec >= ATIME_SECONDS;
}

static uint64_t
node_size(const struct memory_node *node)
{
    return S_ISDIR(node->mode) ? memory_dir_size(node) : node->size;
}

static uint64_t
node_used(const struct memory_node *node)
{
    if (S_ISREG(node->mode))
        return node->file.pages.count * MEMORY_PAGE;
    if (S_ISLNK(node->mode))
        return node->size < INLINE_LINK ? 0 : MEMORY_PAGE;
    return node_size(node);
}

void
memory_fill_attr(const struct memory_node *node, struct store_attr *attr)
{
    const struct memory_store *store = memory_store(node->base.store);

    *attr = (struct store_attr){
        .present = true,
        .mode = node->mode,
        .nlink = node->nlink,
        .uid = node->uid,
        .gid = node->gid,
        .rdev_major = node->major,
        .rdev_minor = node->minor,
        .size = node_size(node),
        .used = node_used(node),
        .fsid = store->fsid,
        .fileid = node->fileid,
        .atime = node->atime,
        .mtime = node->mtime,
        .ctime = node->ctime,
    };
}

bool
memory_has_room(const struct memory_store *store, uint64_t files, uint64_t bytes)
{
    return store->files + files <= store->config.max_files && store->bytes + bytes <= store->config.max_bytes;
}

static struct memory_node **
bucket_of(const struct memory_store *store, uint64_t fileid)
{
    return &store->buckets[fileid & (store->nbuckets - 1)];
}

/* Room for one more node in the table. */
static bool
grow_buckets(struct memory_store *store)
{
    size_t old_nbuckets = store->nbuckets;
    struct memory_node **old = store->buckets;
    struct memory_node **bucket, *node;
    size_t i;

    if (store->files < old_nbuckets)
        return true;
    store->nbuckets = old_nbuckets == 0 ? FIRST_BUCKETS : 2 * old_nbuckets;
    store->buckets = calloc(store->nbuckets, sizeof(struct memory_node *));
    if (store->buckets == NULL) {
        store->buckets = old;
        store->nbuckets = old_nbuckets;
        return false;
    }
    for (i = 0; i < old_nbuckets; i++) {
        while (old[i] != NULL) {
            node = old[i];
            old[i] = node->next;
            bucket = bucket_of(store, node->fileid);
            node->next = *bucket;
            *bucket = node;
        }
    }
    free(old);
    return true;
}

int
memory_table_add(struct memory_store *store, struct memory_node *node)
{
    struct memory_node **bucket;

    if (!grow_buckets(store))
        return -ENOMEM;
    bucket = bucket_of(store, node->fileid);
    node->next = *bucket;
    *bucket = node;
    store->files++;
    return 0;
}

int
memory_node_new(struct memory_store *store, uint32_t mode, uint32_t uid, uint32_t gid, struct memory_node **out)
{
    struct memory_node *node;

    if (!memory_has_room(store, 1, 0))
        return -ENOSPC;
    node = calloc(1, sizeof(*node));
    if (node == NULL)
        return -ENOMEM;
    node->base.store = &store->base;
    node->fileid = ++store->last_fileid;
    node->id.len = ID_SIZE;
    memcpy(node->id.bytes, &node->fileid, sizeof(node->fileid));
    memcpy(node->id.bytes + sizeof(node->fileid), &store->generation, sizeof(store->generation));
    atomic_init(&node->refs, 1);
    node->type = mode & S_IFMT;
    node->mode = mode;
    node->nlink = 1;
    node->uid = uid;
    node->gid = gid;
    memory_modify(node);
    node->atime = node->ctime;
    if (S_ISDIR(mode)) {
        node->dir.parent = node;
        node->dir.last_cookie = 2;                      /* "." and ".." */
    }
    if (memory_table_add(store, node) < 0) {
        free(node);
        return -ENOMEM;
    }
    memory_user_enter(store, node);
    *out = node;
    return 0;
}

void
memory_put(struct memory_node *node)
{
    if (atomic_fetch_sub(&node->refs, 1) == 1)
        free(node);
}

void
memory_free_contents(struct memory_store *store, struct memory_node *node)
{
    memory_acl_free(store, node);
    if (S_ISREG(node->mode)) {
        memory_charge(store, node, -(int64_t)(MEMORY_PAGE * memory_pages_cut(&node->file.pages, 0)));
        memory_stable_free(node);
    } else if (S_ISLNK(node->mode) && node->text != NULL) {
        memory_charge(store, node, -(int64_t)node->size);
        free(node->text);
        node->text = NULL;
    } else if (S_ISDIR(node->mode)) {
        memory_dir_free(node);
    }
}

void
memory_node_remove(struct memory_store *store, struct memory_node *node)
{
    struct memory_node **at = bucket_of(store, node->fileid);

    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    node->nlink = 0;
    memory_free_contents(store, node);
    memory_user_leave(store, node);
    store->files--;
    memory_put(node);
}

int
memory_find(const struct memory_store *store, const struct store_id *id, struct memory_node **out)
{
    struct memory_node *node;
    uint64_t fileid, generation;

    if (id->len != ID_SIZE)
        return -EBADMSG;
    memcpy(&fileid, id->bytes, sizeof(fileid));
    memcpy(&generation, id->bytes + sizeof(fileid), sizeof(generation));
    if (generation != store->generation)
        return -EBADMSG;
    for (node = *bucket_of(store, fileid); node != NULL && node->fileid != fileid; node = node->next)
        continue;
    *out = node;
    return node != NULL ? 0 : -ESTALE;
}

static int
memory_get(struct memory_store *store, struct store_op *op)
{
    struct memory_node *node;
    int err = memory_find(store, op->u.get.id, &node);

    if (err < 0)
        return err;
    atomic_fetch_add(&node->refs, 1);
    op->r.get.node = &node->base;
    memory_fill_attr(node, &op->attr);
    return 0;
}

/* GETATTR: the attributes come with every operation. */
static int
memory_getattr(struct memory_store *store, struct store_op *op)
{
    (void)store;
    (void)op;
    return 0;
}

static int
memory_fsstat(struct memory_store *store, struct store_op *op)
{
    uint64_t bytes = store->config.max_bytes - store->bytes;
    uint64_t files = store->config.max_files - store->files;

    op->r.fs = (struct store_fs){
        .total_bytes = store->config.max_bytes,
        .free_bytes = bytes,
        .avail_bytes = bytes,
        .total_files = store->config.max_files,
        .free_files = files,
        .avail_files = files,
        .max_file_size = MEMORY_SIZE_MAX,
        .time_delta = { 0, 1 },
        .link_max = MEMORY_LINK_MAX,
        .name_max = STORE_NAME_MAX,
        .hard_links = true,
        .symlinks = true,
        .can_set_time = true,
        .homogeneous = true,
        .no_trunc = true,
        .chown_restricted = true,
        .case_insensitive = false,
        .case_preserving = true,
    };
    return 0;
}

/* What start() has to know about each kind of operation. */
static const struct memory_kind {
    int (*run)(struct memory_store *store, struct store_op *op);
    bool changes;                       /* needs the lock for itself */
    bool reads;                         /* moves the access time of the node */
    bool wcc;                           /* reports before and after: of the directory for LINK, else of the node */
    bool in_directory;                  /* works on a name, or on a whole directory */
} kinds[STORE_KINDS] = {
    [STORE_GETATTR]  = { .run = memory_getattr },
    [STORE_SETATTR]  = { .run = memory_setattr, .changes = true, .wcc = true },
    [STORE_LOOKUP]   = { .run = memory_lookup,  .in_directory = true },
    [STORE_ACCESS]   = { .run = memory_access },
    [STORE_READLINK] = { .run = memory_readlink,.reads = true },
    [STORE_READ]     = { .run = memory_read,    .reads = true },
    [STORE_WRITE]    = { .run = memory_write,   .changes = true, .wcc = true },
    [STORE_CREATE]   = { .run = memory_create,  .changes = true, .wcc = true, .in_directory = true },
    [STORE_MKDIR]    = { .run = memory_mkdir,   .changes = true, .wcc = true, .in_directory = true },
    [STORE_SYMLINK]  = { .run = memory_symlink, .changes = true, .wcc = true, .in_directory = true },
    [STORE_MKNOD]    = { .run = memory_mknod,   .changes = true, .wcc = true, .in_directory = true },
    [STORE_REMOVE]   = { .run = memory_remove,  .changes = true, .wcc = true, .in_directory = true },
    [STORE_RMDIR]    = { .run = memory_rmdir,   .changes = true, .wcc = true, .in_directory = true },
    [STORE_RENAME]   = { .run = memory_rename,  .changes = true, .wcc = true, .in_directory = true },
    [STORE_LINK]     = { .run = memory_link,    .changes = true, .wcc = true, .in_directory = true },
    [STORE_READDIR]  = { .run = memory_readdir, .reads = true, .in_directory = true },
    [STORE_FSSTAT]   = { .run = memory_fsstat },
    [STORE_COMMIT]   = { .run = memory_commit,  .changes = true, .wcc = true },
    [STORE_INSIDE]   = { .run = memory_inside },
    [STORE_GETACL]   = { .run = memory_getacl },
    [STORE_SETACL]   = { .run = memory_setacl,  .changes = true, .wcc = true },
};

static bool
keeps_atime(const struct store_op *op)
{
    return (op->kind == STORE_READ && op->u.read.keep_atime) || (op->kind == STORE_READDIR && op->u.dir.keep_atime);
}

/* Take the lock as the operation needs it; moving the access time is a change. Returns whether it has to move. */
static bool
lock_for(struct memory_store *store, const struct memory_kind *kind, const struct store_op *op,
         const struct memory_node *node)
{
    bool due;

    if (kind->changes) {
        pthread_rwlock_wrlock(&store->lock);
        return false;
    }
    pthread_rwlock_rdlock(&store->lock);
    due = kind->reads && !keeps_atime(op) && node->nlink > 0 && is_atime_due(node);
    if (due) {
        pthread_rwlock_unlock(&store->lock);
        pthread_rwlock_wrlock(&store->lock);
    }
    return due;
}

static void
wcc_before(const struct memory_node *node, struct store_wcc *wcc)
{
    wcc->before_present = true;
    wcc->before_size = node_size(node);
    wcc->before_mtime = node->mtime;
    wcc->before_ctime = node->ctime;
}

/* One operation on nodes, under the lock. second: RENAME's target and LINK's directory, else NULL. */
static int
run(struct memory_store *store, const struct memory_kind *kind, struct store_op *op, struct memory_node *second)
{
    struct memory_node *node = memory_node(op->node);
    struct memory_node *subject = op->kind == STORE_LINK ? second : node;
    struct store_wcc *second_wcc = op->kind == STORE_RENAME ? &op->wcc_to : NULL;
    int err;

    if (node->nlink == 0 || (second != NULL && second->nlink == 0))
        return -ESTALE;
    if (kind->wcc)
        wcc_before(subject, &op->wcc);
    if (second_wcc != NULL)
        wcc_before(second, second_wcc);
    if (kind->in_directory && (!S_ISDIR(subject->mode) || (second != NULL && !S_ISDIR(second->mode))))
        err = -ENOTDIR;
    else
        err = kind->run(store, op);
    memory_fill_attr(node, &op->attr);
    if (kind->wcc)
        memory_fill_attr(subject, &op->wcc.after);
    if (second_wcc != NULL)
        memory_fill_attr(second, &second_wcc->after);
    return err;
}

static int
start(struct store_op *op)
{
    struct memory_store *store = memory_store(op->store);
    const struct memory_kind *kind = &kinds[op->kind];
    struct memory_node *node = memory_node(op->node);
    struct memory_node *second = NULL;
    bool atime_due;
    int err;

    if (op->kind == STORE_GET) {
        pthread_rwlock_rdlock(&store->lock);
        err = memory_get(store, op);
        pthread_rwlock_unlock(&store->lock);
        return err;
    }
    if (op->kind == STORE_RENAME)
        second = memory_node(op->u.rename.to);
    else if (op->kind == STORE_LINK)
        second = memory_node(op->u.link.dir);
    atime_due = lock_for(store, kind, op, node);
    err = run(store, kind, op, second);
    if (atime_due && err == 0) {
        node->atime = memory_tick(store);
        op->attr.atime = node->atime;
    }
    pthread_rwlock_unlock(&store->lock);
    return err;
}

static void
node_ref(struct store_node *node)
{
    atomic_fetch_add(&memory_node(node)->refs, 1);
}

static void
node_put(struct store_node *node)
{
    memory_put(memory_node(node));
}

static const struct store_id *
node_id(const struct store_node *node)
{
    return &((const struct memory_node *)node)->id;
}

static mode_t
node_type(const struct store_node *node)
{
    return ((const struct memory_node *)node)->type;
}

static void
store_end(struct store *base)
{
    struct memory_store *store = memory_store(base);
    struct memory_node *node;
    size_t i;

    for (i = 0; i < store->nbuckets; i++) {
        while ((node = store->buckets[i]) != NULL) {
            store->buckets[i] = node->next;
            memory_free_contents(store, node);
            memory_user_leave(store, node);
            memory_put(node);
        }
    }
    free(store->buckets);
    pthread_rwlock_destroy(&store->lock);
    free(store);
}

static const struct store_ops memory_ops = {
    .name = "memory",
    .start = start,
    .ref = node_ref,
    .put = node_put,
    .id = node_id,
    .type = node_type,
    .free = store_end,
};

/* Readers must not keep a writer waiting for ever. */
static int
init_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attr;
    int err = pthread_rwlockattr_init(&attr);

    if (err != 0)
        return -err;
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    err = pthread_rwlock_init(lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    return -err;
}

/* Numbers that set this store apart from any other, but for those with the same seed. */
static void
draw_identity(struct memory_store *store)
{
    struct {
        uint64_t fsid_hint[2], generation, fsid;
        uint8_t hash_key[16];
    } drawn;

    seed_fill(store->config.seed, "store in memory", &drawn, sizeof(drawn));
    memcpy(store->base.fsid_hint, drawn.fsid_hint, sizeof(drawn.fsid_hint));
    store->generation = drawn.generation;
    store->fsid = drawn.fsid | UINT64_C(1) << 63;       /* the kernel's device numbers stay below */
    memcpy(store->hash_key, drawn.hash_key, sizeof(drawn.hash_key));
    seed_fill(SEED_RANDOM, "identity", &store->identity, sizeof(store->identity));
    store->base.seed = store->config.seed;
    store_renew_verifier(&store->base);
}

bool
memory_is(const struct store *store)
{
    return store->ops == &memory_ops;
}

int
memory_new(const struct memory_config *config, struct store **out)
{
    struct memory_store *store = calloc(1, sizeof(*store));
    struct memory_node *root;
    int err;

    if (store == NULL)
        return -ENOMEM;
    if (init_lock(&store->lock) < 0) {
        free(store);
        return -ENOMEM;
    }
    store->base.ops = &memory_ops;
    store->config = *config;
    store->config.max_files = MAX(store->config.max_files, 1);      /* the root */
    draw_identity(store);
    err = memory_node_new(store, S_IFDIR | (config->root_mode & 07777), config->root_uid, config->root_gid, &root);
    if (err < 0) {
        store_end(&store->base);
        return err;
    }
    root->nlink = 2;
    store->base.root = &root->base;
    *out = &store->base;
    return 0;
}
