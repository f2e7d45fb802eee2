/*
 * storage/posix_id.c - ids of files, without opening them where that can be saved.
 *
 * An id is the kernel's own file handle (name_to_handle_at(2)): one byte of type, then its bytes. Where a file system has
 * none that fits, it is made of the inode number and the time of birth, and type is POSIX_ID_SYNTHETIC.
 *
 * Asking for a handle is a system call. It is saved for files that are open, and for those whose ids are remembered by inode
 * number and time of birth. Only files older than YOUNG_NS are remembered so: when the number is used again, the new
 * file's time of birth is another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "storage/posix_private.h"

#define YOUNG_NS 2000000000
#define KERNEL_HANDLE_MAX (STORE_ID_MAX - 1)

struct kernel_handle {
    struct file_handle head;
    uint8_t bytes[MAX_HANDLE_SZ];
};

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
    id->bytes[0] = POSIX_ID_SYNTHETIC;
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
    if (handle.head.handle_type < 0 || handle.head.handle_type >= POSIX_ID_SYNTHETIC)
        return synthetic_id(dirfd, name, flags, st, id);
    if (!plausible(&handle, dirfd, name, flags, st))
        return -ESTALE;                 /* the name was given to another file meanwhile */
    id->bytes[0] = (uint8_t)handle.head.handle_type;
    memcpy(id->bytes + 1, handle.head.f_handle, handle.head.handle_bytes);
    id->len = (uint8_t)(1 + handle.head.handle_bytes);
    return 0;
}

int
posix_open_id(struct posix_store *ps, const struct store_id *id, int flags)
{
    struct kernel_handle handle;
    int fd;

    if (id->len < 2)
        return -EBADMSG;
    cred_revert();
    if (ps->by_path)
        return posix_paths_open(ps->paths, id, flags);
    if (id->bytes[0] == POSIX_ID_SYNTHETIC)
        return -ESTALE;
    handle.head.handle_type = id->bytes[0];
    handle.head.handle_bytes = id->len - 1u;
    memcpy(handle.head.f_handle, id->bytes + 1, id->len - 1u);
    fd = open_by_handle_at(ps->mount_fd, &handle.head, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
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
    uint64_t hash = posix_hash_ino(st->st_dev, st->st_ino);
    struct ino_shard *shard = posix_ino_shard(ps, hash);
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
    if (birth_ns != 0 && slot->ino == st->st_ino && slot->birth_ns == birth_ns && st->st_dev == ps->dev) {
        id->len = slot->len;
        memcpy(id->bytes, slot->bytes, sizeof(slot->bytes));
    } else {
        node = posix_find_ino_locked(shard, hash, st);
        known = node != NULL;
        if (known)
            *id = node->id;
    }
    pthread_mutex_unlock(&shard->lock);
    return known;
}

static void
remember_id(struct posix_store *ps, const struct stat *st, uint64_t birth_ns, const struct store_id *id)
{
    uint64_t hash = posix_hash_ino(st->st_dev, st->st_ino);
    struct ino_shard *shard = posix_ino_shard(ps, hash);
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

void
posix_forget_id_locked(struct ino_shard *shard, uint64_t hash, ino_t ino)
{
    if (slot_of(shard, hash)->ino == ino)
        slot_of(shard, hash)->ino = 0;
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
