/*
 * storage/posix_node.c - ids, nodes, and the open descriptors behind them.
 *
 * An id is the kernel's own file handle (name_to_handle_at(2)): one byte of type, then its bytes. Where a file system has
 * none that fits, it is made of the inode number and the time of birth, and type is ID_SYNTHETIC.
 *
 * Nodes stay open in a table of shards, each bounded: when a shard is full, the oldest node that nobody uses and that was
 * not asked for since the last look is closed. A second table finds nodes by inode number: LOOKUP and READDIRPLUS save a
 * system call by it, REMOVE and RENAME let go of files that have lost their last name. Beside it are the ids of files that
 * are not open, known by inode number and time of birth. Only files older than YOUNG_NS are remembered so: when the number
 * is used again, the new file's time of birth is another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "storage/fh.h"
#include "storage/posix_private.h"

#define ID_SYNTHETIC 0xff
#define YOUNG_NS 2000000000
#define FLUSH_AT_ONCE 16                /* idle nodes of a shard that are flushed before the next is looked at */
#define KERNEL_HANDLE_MAX (STORE_ID_MAX - 1)

struct kernel_handle {
    struct file_handle head;
    uint8_t bytes[MAX_HANDLE_SZ];
};

static uint64_t
hash_id(const struct posix_store *ps, const struct store_id *id)
{
    return siphash(ps->hash_key, id->bytes, id->len);
}

static uint64_t
hash_ino(dev_t dev, ino_t ino)
{
    uint64_t x = (uint64_t)ino * 0x9e3779b97f4a7c15u ^ (uint64_t)dev;

    return x ^ x >> 29;
}

static bool
same_id(const struct store_id *a, const struct store_id *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* An id out of inode number and time of birth (statx(2)), for file systems without handles. */
static int
synthetic_id(int dirfd, const char *name, int flags, const struct stat *st, struct store_id *id)
{
    struct statx stx;

    if (statx(dirfd, name, flags | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &stx) < 0)
        return -errno;
    if (stx.stx_ino != st->st_ino)
        return -ESTALE;
    if (!(stx.stx_mask & STATX_BTIME))
        memset(&stx.stx_btime, 0, sizeof(stx.stx_btime));
    id->bytes[0] = ID_SYNTHETIC;
    memcpy(id->bytes + 1, &stx.stx_ino, 8);
    memcpy(id->bytes + 9, &stx.stx_btime.tv_sec, 8);
    memcpy(id->bytes + 17, &stx.stx_btime.tv_nsec, 4);
    id->len = 21;
    return 0;
}

/*
 * Does the handle belong to what stat(2) saw? Many have the low half of the inode number in a known place (exportfs.h;
 * tmpfs and ocfs2 one word further; XFS, but FUSE has another number there). Where it does not show, stat(2) is asked
 * again.
 */
static bool
plausible(const struct kernel_handle *handle, int dirfd, const char *name, int flags, const struct stat *st)
{
    unsigned bytes = handle->head.handle_bytes;
    int type = handle->head.handle_type;
    struct stat now;
    uint32_t ino;

    if ((type == 0x01 && (bytes == 8 || bytes == 12)) || (type == 0x81 && bytes == 12)) {
        memcpy(&ino, handle->head.f_handle + (type == 0x01 && bytes == 12 ? 4 : 0), sizeof(ino));
        if (ino == (uint32_t)st->st_ino)
            return true;
    }
    return fstatat(dirfd, name, &now, flags | AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == st->st_ino &&
           now.st_dev == st->st_dev;
}

/* The kernel's handle of dirfd/name as an id, or one made up. */
static int
make_id(int dirfd, const char *name, int flags, const struct stat *st, struct store_id *id)
{
    struct kernel_handle handle;
    int mount_id;

    handle.head.handle_bytes = KERNEL_HANDLE_MAX;
    if (name_to_handle_at(dirfd, name, &handle.head, &mount_id, flags) < 0) {
        if (errno == EOPNOTSUPP || errno == EOVERFLOW)
            return synthetic_id(dirfd, name, flags, st, id);
        return -errno;
    }
    if (handle.head.handle_type < 0 || handle.head.handle_type >= ID_SYNTHETIC)
        return synthetic_id(dirfd, name, flags, st, id);
    if (!plausible(&handle, dirfd, name, flags, st))
        return -ESTALE;                 /* the name was given to another file meanwhile */
    id->bytes[0] = (uint8_t)handle.head.handle_type;
    memcpy(id->bytes + 1, handle.head.f_handle, handle.head.handle_bytes);
    id->len = (uint8_t)(1 + handle.head.handle_bytes);
    return 0;
}

/* Open what an id names. Returns a descriptor or -errno. */
static int
open_id(struct posix_store *ps, const struct store_id *id, int flags)
{
    struct kernel_handle handle;
    int fd;

    if (id->len < 2)
        return -EBADMSG;
    cred_revert();
    if (ps->by_path)
        return posix_paths_open(ps->paths, id, flags);
    if (id->bytes[0] == ID_SYNTHETIC)
        return -ESTALE;
    handle.head.handle_type = id->bytes[0];
    handle.head.handle_bytes = id->len - 1u;
    memcpy(handle.head.f_handle, id->bytes + 1, id->len - 1u);
    fd = open_by_handle_at(ps->mount_fd, &handle.head, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int
posix_reopen(struct posix_store *ps, struct posix_node *node, int flags)
{
    char name[POSIX_PROC_NAME_MAX];
    int fd;

    if (!ps->by_path && node != ps->root)
        return open_id(ps, &node->id, flags);
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

static struct ino_shard *
ino_shard_of(struct posix_store *ps, uint64_t hash)
{
    return &ps->ino_shards[hash % NODE_SHARDS];
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

/* The node with this number in a locked shard of numbers. */
static struct posix_node *
find_ino_locked(struct ino_shard *shard, uint64_t hash, const struct stat *st)
{
    struct posix_node *node = *ino_bucket_of(shard, hash);

    while (node != NULL && (node->ino != st->st_ino || node->dev != st->st_dev))
        node = node->next_by_ino;
    return node;
}

static struct id_slot *
slot_of(struct ino_shard *shard, uint64_t hash)
{
    return &shard->slots[hash / NODE_SHARDS % ID_SLOTS];
}

/* The id of a file that is open here, or was seen before: birth_ns 0 when that is not known. */
static bool
known_id(struct posix_store *ps, const struct stat *st, uint64_t birth_ns, struct store_id *id)
{
    uint64_t hash = hash_ino(st->st_dev, st->st_ino);
    struct ino_shard *shard = ino_shard_of(ps, hash);
    const struct id_slot *slot = slot_of(shard, hash);
    const struct posix_node *node;
    bool known = true;

    if (ps->root == NULL)
        return false;
    if (st->st_ino == ps->root->ino && st->st_dev == ps->root->dev) {
        *id = ps->root->id;
        return true;
    }
    pthread_mutex_lock(&shard->lock);
    node = find_ino_locked(shard, hash, st);
    if (node != NULL) {
        *id = node->id;
    } else if (birth_ns != 0 && slot->ino == st->st_ino && slot->birth_ns == birth_ns && st->st_dev == ps->dev) {
        id->len = slot->len;
        memcpy(id->bytes, slot->bytes, sizeof(slot->bytes));
    } else {
        known = false;
    }
    pthread_mutex_unlock(&shard->lock);
    return known;
}

static void
remember_id(struct posix_store *ps, const struct stat *st, uint64_t birth_ns, const struct store_id *id)
{
    uint64_t hash = hash_ino(st->st_dev, st->st_ino);
    struct ino_shard *shard = ino_shard_of(ps, hash);
    struct id_slot *slot = slot_of(shard, hash);
    struct timespec now;

    if (birth_ns == 0 || id->len > sizeof(slot->bytes) || st->st_dev != ps->dev)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    if ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)birth_ns < YOUNG_NS)
        return;
    pthread_mutex_lock(&shard->lock);
    slot->ino = st->st_ino;
    slot->birth_ns = birth_ns;
    slot->len = id->len;
    memcpy(slot->bytes, id->bytes, sizeof(slot->bytes));
    pthread_mutex_unlock(&shard->lock);
}

int
posix_id_at(struct posix_store *ps, int dirfd, const char *name, int flags, const struct stat *st, struct store_id *id)
{
    return known_id(ps, st, 0, id) ? 0 : make_id(dirfd, name, flags, st, id);
}

static struct timespec
stat_time(const struct statx_timestamp *time)
{
    return (struct timespec){ .tv_sec = time->tv_sec, .tv_nsec = time->tv_nsec };
}

static void
fill_stat(struct stat *st, const struct statx *stx)
{
    memset(st, 0, sizeof(*st));
    st->st_dev = makedev(stx->stx_dev_major, stx->stx_dev_minor);
    st->st_rdev = makedev(stx->stx_rdev_major, stx->stx_rdev_minor);
    st->st_ino = stx->stx_ino;
    st->st_mode = stx->stx_mode;
    st->st_nlink = stx->stx_nlink;
    st->st_uid = stx->stx_uid;
    st->st_gid = stx->stx_gid;
    st->st_size = (off_t)stx->stx_size;
    st->st_blocks = (blkcnt_t)stx->stx_blocks;
    st->st_atim = stat_time(&stx->stx_atime);
    st->st_mtim = stat_time(&stx->stx_mtime);
    st->st_ctim = stat_time(&stx->stx_ctime);
}

/* Linux 5.8 tells; before that, only another device does. */
static bool
is_mounted(const struct statx *stx, const struct stat *st, dev_t dir_dev)
{
    return (stx->stx_attributes & stx->stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 || st->st_dev != dir_dev;
}

int
posix_look(struct posix_store *ps, int dirfd, dev_t dir_dev, const char *name, struct stat *st, struct store_id *id)
{
    struct statx stx;
    uint64_t birth_ns = 0;
    int err;

    if (statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
        return -errno;
    fill_stat(st, &stx);
    if ((stx.stx_mask & STATX_BTIME) && stx.stx_btime.tv_sec > 0)
        birth_ns = (uint64_t)stx.stx_btime.tv_sec * 1000000000u + stx.stx_btime.tv_nsec;
    if (!ps->own_mount && is_mounted(&stx, st, dir_dev))
        return -EXDEV;
    if (known_id(ps, st, birth_ns, id))
        return 0;
    err = make_id(dirfd, name, 0, st, id);
    if (err == 0)
        remember_id(ps, st, birth_ns, id);
    return err;
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
    uint64_t ino_hash = hash_ino(node->dev, node->ino);
    struct ino_shard *ino_shard = ino_shard_of(ps, ino_hash);

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
    uint64_t hash = hash_id(ps, &node->id), ino_hash = hash_ino(node->dev, node->ino);
    struct node_shard *shard = shard_of(ps, hash);
    struct ino_shard *ino_shard = ino_shard_of(ps, ino_hash);
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
    int fd = open_id(ps, id, flags);

    if (fd == -EMFILE || fd == -ENFILE) {
        posix_relieve(ps);
        fd = open_id(ps, id, flags);
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
    uint64_t hash = hash_ino(st->st_dev, st->st_ino);
    struct ino_shard *shard = ino_shard_of(ps, hash);
    struct posix_node *node;
    struct stat now;

    pthread_mutex_lock(&shard->lock);
    node = find_ino_locked(shard, hash, st);
    if (node != NULL)
        posix_ref(&node->base);
    if (slot_of(shard, hash)->ino == st->st_ino)
        slot_of(shard, hash)->ino = 0;
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

    if (cred_process_mode() == CRED_SELF || id->bytes[0] == ID_SYNTHETIC)
        return false;
    fd = open_id(ps, id, O_PATH);
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
