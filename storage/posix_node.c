/*
 * storage/posix_node.c - nodes, and the open descriptors behind them.
 *
 * Nodes stay open in a table of shards, each bounded: when a shard is full, the oldest node that nobody uses and that was
 * not asked for since the last look is closed. A second table finds nodes by inode number: LOOKUP and READDIRPLUS save a
 * system call by it, REMOVE and RENAME let go of files that have lost their last name.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/fh.h"
#include "storage/posix_private.h"

#define FLUSH_AT_ONCE 16                /* idle nodes of a shard that are flushed before the next is looked at */

static uint64_t
hash_id(const struct posix_store *ps, const struct store_id *id)
{
    return siphash(ps->hash_key, id->bytes, id->len);
}

static bool
same_id(const struct store_id *a, const struct store_id *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

int
posix_reopen(struct posix_store *ps, struct posix_node *node, int flags)
{
    char name[POSIX_PROC_NAME_MAX];
    int fd;

    if (!ps->by_path && node != ps->root)
        return posix_open_id(ps, &node->id, flags);
    cred_revert();
    fd = openat(ps->proc_fd, posix_proc_name(name, node->fd), flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static struct posix_node *
new_node(struct posix_store *ps, const struct store_id *id, const struct stat *st, int fd, int io_fd)
{
    struct posix_node *node = calloc(1, sizeof(*node));

    if (node == NULL)
        return NULL;
    node->base.store = &ps->store;
    node->id = *id;
    node->dev = st->st_dev;
    node->ino = st->st_ino;
    node->type = st->st_mode & S_IFMT;
    node->fd = fd;
    pthread_mutex_init(&node->flush_lock, NULL);
    atomic_init(&node->refs, 1);
    atomic_init(&node->io_fd, io_fd);
    atomic_init(&node->quiet_fd, -1);
    return node;
}

/* With its descriptor go the errors that it has not told of yet, and those still to come: then clients must send again. */
static void
give_up_data(struct posix_store *ps, struct posix_node *node, int io_fd)
{
    if (atomic_load(&node->data_changes) == 0)
        return;
    if (posix_unflushed(node))
        store_renew_verifier(&ps->store);
    else
        posix_check_writeback(ps, io_fd);
}

static void
free_node(struct posix_node *node)
{
    int io_fd = atomic_load(&node->io_fd), quiet_fd = atomic_load(&node->quiet_fd);

    posix_forget_writable(store_of(node->base.store), node);
    give_up_data(store_of(node->base.store), node, io_fd);
    if (quiet_fd >= 0)
        close(quiet_fd);
    if (io_fd >= 0 && io_fd != node->fd)
        close(io_fd);
    if (node->fd >= 0)
        close(node->fd);
    pthread_mutex_destroy(&node->flush_lock);
    posix_readahead_free(atomic_load(&node->readahead));
    posix_direct_free(atomic_load(&node->direct));
    free(node);
}

void
posix_ref(struct store_node *base)
{
    atomic_fetch_add_explicit(&node_of(base)->refs, 1, memory_order_relaxed);
}

void
posix_put(struct store_node *base)
{
    struct posix_node *node = node_of(base);

    if (atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) == 1)
        free_node(node);
}

static struct node_shard *
shard_of(struct posix_store *ps, uint64_t hash)
{
    return &ps->shards[hash % NODE_SHARDS];
}

static struct posix_node **
bucket_of(struct node_shard *shard, uint64_t hash)
{
    return &shard->by_id[hash / NODE_SHARDS % NODE_BUCKETS];
}

static struct posix_node **
ino_bucket_of(struct ino_shard *shard, uint64_t hash)
{
    return &shard->by_ino[hash / NODE_SHARDS % NODE_BUCKETS];
}

/* In a shard that is locked. */
static struct posix_node *
find_locked(struct node_shard *shard, uint64_t hash, const struct store_id *id)
{
    struct posix_node *node = *bucket_of(shard, hash);

    while (node != NULL && !same_id(&node->id, id))
        node = node->next_by_id;
    if (node != NULL) {
        node->used = true;
        atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    }
    return node;
}

struct posix_node *
posix_find(struct posix_store *ps, const struct store_id *id)
{
    uint64_t hash = hash_id(ps, id);
    struct node_shard *shard = shard_of(ps, hash);
    struct posix_node *node;

    pthread_mutex_lock(&shard->lock);
    node = find_locked(shard, hash, id);
    pthread_mutex_unlock(&shard->lock);
    return node;
}

struct posix_node *
posix_find_ino_locked(struct ino_shard *shard, uint64_t hash, const struct stat *st)
{
    struct posix_node *node = *ino_bucket_of(shard, hash);

    while (node != NULL && (node->ino != st->st_ino || node->dev != st->st_dev))
        node = node->next_by_ino;
    return node;
}

static void
unlink_from(struct posix_node **list, struct posix_node *node, size_t next_offset)
{
    while (*list != node)
        list = (struct posix_node **)((char *)*list + next_offset);
    *list = *(struct posix_node **)((char *)node + next_offset);
}

/* Out of both tables; the table's reference is the caller's now. The node's shard is locked. */
static void
remove_locked(struct posix_store *ps, struct node_shard *shard, struct posix_node *node)
{
    uint64_t ino_hash = posix_hash_ino(node->dev, node->ino);
    struct ino_shard *ino_shard = posix_ino_shard(ps, ino_hash);

    unlink_from(bucket_of(shard, hash_id(ps, &node->id)), node, offsetof(struct posix_node, next_by_id));
    pthread_mutex_lock(&ino_shard->lock);
    unlink_from(ino_bucket_of(ino_shard, ino_hash), node, offsetof(struct posix_node, next_by_ino));
    pthread_mutex_unlock(&ino_shard->lock);
    if (node->older != NULL)
        node->older->newer = node->newer;
    else
        shard->oldest = node->newer;
    if (node->newer != NULL)
        node->newer->older = node->older;
    else
        shard->newest = node->older;
    node->in_table = false;
    shard->count--;
}

static void
append_locked(struct node_shard *shard, struct posix_node *node)
{
    node->older = shard->newest;
    node->newer = NULL;
    if (shard->newest != NULL)
        shard->newest->newer = node;
    else
        shard->oldest = node;
    shard->newest = node;
}

/* A node that was used of late becomes the newest of its shard. */
static void
renew_locked(struct node_shard *shard, struct posix_node *node)
{
    if (node->newer == NULL)
        return;
    if (node->older != NULL)
        node->older->newer = node->newer;
    else
        shard->oldest = node->newer;
    node->newer->older = node->older;
    append_locked(shard, node);
}

/*
 * Close what has not been used for long until at most `max` nodes are left, as far as they are not in use. Nodes that are
 * closed are collected in a list by next_by_id, to be given back without the lock. Those with data to be flushed go only
 * when there are more than `hard` nodes.
 */
static struct posix_node *
shrink_locked(struct posix_store *ps, struct node_shard *shard, unsigned max, unsigned hard, unsigned looks)
{
    struct posix_node *closed = NULL, *node = shard->oldest;

    while (shard->count > max && node != NULL && looks-- > 0) {
        struct posix_node *newer = node->newer;

        if (node->used) {
            node->used = false;
            renew_locked(shard, node);
        } else if (atomic_load(&node->refs) == 1 && (shard->count > hard || !posix_unflushed(node))) {
            remove_locked(ps, shard, node);
            node->next_by_id = closed;
            closed = node;
        }
        node = newer != NULL ? newer : shard->oldest;
    }
    return closed;
}

static void
put_list(struct posix_node *node)
{
    while (node != NULL) {
        struct posix_node *next = node->next_by_id;

        posix_put(&node->base);
        node = next;
    }
}

/* Put a new node into the table, or give it back and return the one that was faster. The result has a reference. */
static struct posix_node *
insert(struct posix_store *ps, struct posix_node *node)
{
    uint64_t hash = hash_id(ps, &node->id), ino_hash = posix_hash_ino(node->dev, node->ino);
    struct node_shard *shard = shard_of(ps, hash);
    struct ino_shard *ino_shard = posix_ino_shard(ps, ino_hash);
    struct posix_node *other, *closed = NULL;

    pthread_mutex_lock(&shard->lock);
    other = find_locked(shard, hash, &node->id);
    if (other == NULL) {
        node->next_by_id = *bucket_of(shard, hash);
        *bucket_of(shard, hash) = node;
        append_locked(shard, node);
        node->in_table = true;
        shard->count++;
        atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
        pthread_mutex_lock(&ino_shard->lock);
        node->next_by_ino = *ino_bucket_of(ino_shard, ino_hash);
        *ino_bucket_of(ino_shard, ino_hash) = node;
        pthread_mutex_unlock(&ino_shard->lock);
        closed = shrink_locked(ps, shard, ps->shard_max, 2 * ps->shard_max, 2 * shard->count);
    }
    pthread_mutex_unlock(&shard->lock);
    put_list(closed);
    posix_need_janitor(ps);
    if (other == NULL)
        return node;
    posix_put(&node->base);
    return other;
}

/* Half of the nodes, those with data to be flushed only if need be; false: there was none to close. */
static bool
close_half(struct posix_store *ps, bool unflushed)
{
    bool any = false;

    for (size_t i = 0; i < NODE_SHARDS; i++) {
        struct node_shard *shard = &ps->shards[i];
        struct posix_node *closed;

        pthread_mutex_lock(&shard->lock);
        closed = shrink_locked(ps, shard, shard->count / 2, unflushed ? 0 : UINT_MAX, 2 * shard->count);
        pthread_mutex_unlock(&shard->lock);
        any = any || closed != NULL;
        put_list(closed);
    }
    return any;
}

void
posix_relieve(struct posix_store *ps)
{
    if (!close_half(ps, false))
        close_half(ps, true);
}

/* Nodes of a locked shard that nobody has used since the last look, but that have data to be flushed; with a reference. */
static unsigned
take_unflushed(const struct node_shard *shard, struct posix_node **taken, unsigned max)
{
    unsigned count = 0;

    for (struct posix_node *node = shard->oldest; node != NULL && count < max; node = node->newer) {
        if (!node->used && atomic_load(&node->refs) == 1 && posix_unflushed(node)) {
            posix_ref(&node->base);
            taken[count++] = node;
        }
    }
    return count;
}

void
posix_close_idle(struct posix_store *ps)
{
    struct posix_node *unflushed[FLUSH_AT_ONCE];

    for (size_t i = 0; i < NODE_SHARDS; i++) {
        struct node_shard *shard = &ps->shards[i];
        struct posix_node *closed;
        unsigned count;

        pthread_mutex_lock(&shard->lock);
        count = take_unflushed(shard, unflushed, FLUSH_AT_ONCE);
        closed = shrink_locked(ps, shard, 0, UINT_MAX, shard->count);   /* one look: what was used since the last stays */
        pthread_mutex_unlock(&shard->lock);
        put_list(closed);
        for (unsigned n = 0; n < count; n++) {
            posix_flush_apart(ps, unflushed[n]);                        /* and closed the next time */
            posix_put(&unflushed[n]->base);
        }
    }
}

static int
open_id_patiently(struct posix_store *ps, const struct store_id *id, int flags)
{
    int fd = posix_open_id(ps, id, flags);

    if (fd == -EMFILE || fd == -ENFILE) {
        posix_relieve(ps);
        fd = posix_open_id(ps, id, flags);
    }
    return fd;
}

/* Directories are kept open for reading, so that entries can be read and the directory can be flushed. */
static int
open_as_type(struct posix_store *ps, const struct store_id *id, struct stat *st)
{
    int fd = open_id_patiently(ps, id, O_PATH | O_NOFOLLOW), dir_fd;

    if (fd < 0)
        return fd == -ENOENT || fd == -EINVAL || fd == -ELOOP || fd == -ENOTDIR ? -ESTALE : fd;
    if (fstat(fd, st) < 0 || st->st_nlink == 0) {
        close(fd);
        return -ESTALE;
    }
    if (!S_ISDIR(st->st_mode))
        return fd;
    dir_fd = open_id_patiently(ps, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (dir_fd < 0)
        return fd;                      /* not readable for this process: names can still be looked up */
    close(fd);
    return dir_fd;
}

int
posix_open(struct posix_store *ps, const struct store_id *id, struct posix_node **out)
{
    struct posix_node *node;
    struct stat st;
    int fd;

    if (same_id(id, &ps->root->id)) {
        posix_ref(&ps->root->base);
        *out = ps->root;
        return 0;
    }
    *out = posix_find(ps, id);
    if (*out != NULL)
        return 0;
    fd = open_as_type(ps, id, &st);
    if (fd < 0)
        return fd;
    node = new_node(ps, id, &st, fd, -1);
    if (node == NULL) {
        close(fd);
        return -ENOMEM;
    }
    *out = insert(ps, node);
    return 0;
}

void
posix_adopt(struct posix_store *ps, const struct store_id *id, const struct stat *st, int fd)
{
    struct posix_node *node = new_node(ps, id, st, fd, fd);

    if (node == NULL) {
        close(fd);
        return;
    }
    posix_note_writable(ps, node);
    posix_put(&insert(ps, node)->base);
}

void
posix_forget(struct posix_store *ps, struct posix_node *node)
{
    struct node_shard *shard;
    bool was_in_table;

    if (node == ps->root)
        return;
    posix_note_flushed(node, atomic_load(&node->data_changes));         /* gone with the file */
    shard = shard_of(ps, hash_id(ps, &node->id));
    pthread_mutex_lock(&shard->lock);
    was_in_table = node->in_table;
    if (was_in_table)
        remove_locked(ps, shard, node);
    pthread_mutex_unlock(&shard->lock);
    if (was_in_table)
        posix_put(&node->base);
}

void
posix_forget_ino(struct posix_store *ps, const struct stat *st)
{
    uint64_t hash = posix_hash_ino(st->st_dev, st->st_ino);
    struct ino_shard *shard = posix_ino_shard(ps, hash);
    struct posix_node *node;
    struct stat now;

    pthread_mutex_lock(&shard->lock);
    node = posix_find_ino_locked(shard, hash, st);
    if (node != NULL)
        posix_ref(&node->base);
    posix_forget_id_locked(shard, hash, st->st_ino);
    pthread_mutex_unlock(&shard->lock);
    if (node == NULL)
        return;
    if (fstat(node->fd, &now) == 0 && now.st_nlink == 0)
        posix_forget(ps, node);
    posix_put(&node->base);
}

int
posix_quiet_fd(struct posix_store *ps, struct posix_node *node)
{
    int fd = atomic_load(&node->quiet_fd), expected = -1;

    if (fd >= 0)
        return fd;
    fd = posix_reopen(ps, node, O_RDONLY | O_NOATIME | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)                         /* not ours: only its owner and root may */
        return posix_read_fd(ps, node);
    if (!atomic_compare_exchange_strong(&node->quiet_fd, &expected, fd)) {
        close(fd);
        fd = expected;
    }
    return fd;
}

/* Whether open_by_handle_at(2) works here, tried on the root itself. */
static bool
opens_handles(struct posix_store *ps, const struct store_id *id)
{
    int fd;

    if (cred_process_mode() == CRED_SELF || id->bytes[0] == POSIX_ID_SYNTHETIC)
        return false;
    fd = posix_open_id(ps, id, O_PATH);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

int
posix_make_root(struct posix_store *ps, int fd)
{
    struct store_id id;
    struct stat st;
    int err = 0;

    if (fstat(fd, &st) < 0)
        err = -errno;
    if (err == 0)
        err = posix_id_at(ps, fd, "", AT_EMPTY_PATH, &st, &id);
    if (err == 0) {
        ps->mount_fd = fd;
        ps->dev = st.st_dev;
        ps->root = new_node(ps, &id, &st, fd, -1);
        if (ps->root == NULL)
            err = -ENOMEM;
    }
    if (err < 0) {
        close(fd);
        return err;
    }
    ps->store.root = &ps->root->base;
    ps->by_path = !opens_handles(ps, &id);
    return ps->by_path ? posix_keep_names(&ps->store) : 0;
}

int
posix_nodes_init(struct posix_store *ps, unsigned max_open)
{
    /* Each node may have two descriptors; more where it is read with noatime and otherwise as well, or past the cache. */
    ps->shard_max = max_open / 2 / NODE_SHARDS;
    if (ps->shard_max < 2)
        ps->shard_max = 2;
    for (size_t i = 0; i < NODE_SHARDS; i++) {
        pthread_mutex_init(&ps->shards[i].lock, NULL);
        pthread_mutex_init(&ps->ino_shards[i].lock, NULL);
    }
    return 0;
}

void
posix_nodes_fini(struct posix_store *ps)
{
    for (size_t i = 0; i < NODE_SHARDS; i++) {
        struct node_shard *shard = &ps->shards[i];

        while (shard->oldest != NULL) {
            struct posix_node *node = shard->oldest;

            remove_locked(ps, shard, node);
            posix_put(&node->base);
        }
    }
    for (size_t i = 0; i < NODE_SHARDS; i++) {
        pthread_mutex_destroy(&ps->shards[i].lock);
        pthread_mutex_destroy(&ps->ino_shards[i].lock);
    }
}
