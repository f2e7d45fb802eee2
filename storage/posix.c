/*
 * storage/posix.c - a store over a directory: opened, started on, closed.
 *
 * What cannot block runs on the event worker. The rest runs there when operations of its kind have been quick for a
 * while (pace.h), else on a thread of the pool.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "storage/posix.h"

#ifdef HAVE_BLKID
#include <blkid/blkid.h>
#endif
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/posix_private.h"

#define LOOK_NS 2000                    /* for the attributes of an entry, when they are in memory ... */
#define NAME_NS 200                     /* ... and for its name */

#ifndef FS_IOC_GETFSUUID                /* Linux 6.9 */
struct fsuuid2 {
    uint8_t len;
    uint8_t uuid[16];
};
#define FS_IOC_GETFSUUID _IOR(0x15, 0, struct fsuuid2)
#endif

const char *
posix_cname(char *buffer, const char *name, size_t len)
{
    memcpy(buffer, name, len);
    buffer[len] = '\0';
    return buffer;
}

const char *
posix_proc_name(char *buffer, int fd)
{
    snprintf(buffer, POSIX_PROC_NAME_MAX, "%d", fd);
    return buffer;
}

static struct pace *
pace_of(const struct store_op *op)
{
    return &op_store(op)->pace[op->sync][op->kind];
}

bool
posix_runs_inline(const struct store_op *op)
{
    struct posix_store *ps = op_store(op);

    if (ps->inline_mode != POSIX_INLINE_AUTO)
        return ps->inline_mode == POSIX_INLINE_ON;
    if (op->kind == STORE_SETATTR && op->u.setattr.guard != NULL)
        return false;                   /* takes a lock that a blocked thread may hold */
    return pace_is_inline(pace_of(op));
}

/* What takes its time, though nobody waits for a disk: copying, 1 ns a byte, and looking at the files of a directory. */
static uint64_t
allowance_ns(const struct store_op *op)
{
    if (op->kind == STORE_READDIR)
        return (uint64_t)op->r.dir.entries * (op->u.dir.plus ? LOOK_NS : NAME_NS);
    return op->kind == STORE_WRITE ? op->u.write.length : 0;
}

void
posix_inline_begin(const struct store_op *op, struct pace_mark *mark)
{
    pace_begin(pace_of(op), mark);
}

void
posix_inline_end(const struct store_op *op, const struct pace_mark *mark)
{
    pace_end(pace_of(op), mark, allowance_ns(op));
}

void
posix_learn_queued(const struct store_op *op, uint64_t started_ns)
{
    pace_learn_queued(pace_of(op), pace_now_ns() - started_ns, allowance_ns(op));
}

static bool
posix_read_only(struct store *store)
{
    struct statfs sfs;

    return fstatfs(store_of(store)->mount_fd, &sfs) == 0 && (sfs.f_flags & ST_RDONLY) != 0;
}

/*
 * A file system that has turned read-only under us: from now on that is known before anything is tried. (ext4 may answer
 * EROFS after an error without being mounted read-only, btrfs does for snapshots, where it is no trouble.)
 */
void
posix_note_error(struct store_op *op)
{
    bool read_only = op->err == -EROFS && posix_read_only(op->store);

    if (!store_is_disk_error(op->err) || (op->err == -EROFS && !read_only && op_store(op)->has_snapshots))
        return;
    if (read_only)
        atomic_store_explicit(&op->store->read_only, true, memory_order_relaxed);
    store_disk_failed(op->store, op->err);
}

static void
note_outcome(struct store_op *op)
{
    if (op->err < 0)
        posix_note_error(op);
}

/* On a thread of the pool. */
static void
run_and_learn(struct store_op *op)
{
    void (*run)(struct store_op *op);
    uint64_t computed_ns = pace_computed_ns(), started_ns = pace_now_ns();

    memcpy(&run, &op->private[5], sizeof(run));
    run(op);
    note_outcome(op);
    pace_learn_thread(pace_of(op), pace_now_ns() - started_ns, pace_computed_ns() - computed_ns, allowance_ns(op));
}

int
posix_run(struct store_op *op, void (*run)(struct store_op *op))
{
    struct pace_mark mark;

    if (posix_runs_inline(op)) {
        posix_inline_begin(op, &mark);
        run(op);
        note_outcome(op);
        posix_inline_end(op, &mark);
        return op->err;
    }
    memcpy(&op->private[5], &run, sizeof(run));
    engine_run(op->engine, op, run_and_learn);
    return STORE_PENDING;
}

/* What each kind does, and whether it may block. */
static const struct {
    void (*run)(struct store_op *op);
    bool blocks;
} kinds[STORE_KINDS] = {
    [STORE_GET]      = { posix_get, true },
    [STORE_GETATTR]  = { posix_getattr, false },
    [STORE_SETATTR]  = { posix_setattr, true },
    [STORE_LOOKUP]   = { posix_lookup, true },
    [STORE_ACCESS]   = { posix_access, false },
    [STORE_READLINK] = { posix_readlink, true },
    [STORE_CREATE]   = { posix_create, true },
    [STORE_MKDIR]    = { posix_mkdir, true },
    [STORE_SYMLINK]  = { posix_symlink, true },
    [STORE_MKNOD]    = { posix_mknod, true },
    [STORE_REMOVE]   = { posix_remove, true },
    [STORE_RMDIR]    = { posix_rmdir, true },
    [STORE_RENAME]   = { posix_rename, true },
    [STORE_LINK]     = { posix_link, true },
    [STORE_READDIR]  = { posix_readdir, true },
    [STORE_FSSTAT]   = { posix_fsstat, true },
    [STORE_INSIDE]   = { posix_inside, true },
    [STORE_GETACL]   = { posix_getacl, true },
    [STORE_SETACL]   = { posix_setacl, true },
};

/* A node that is open already needs no thread. */
static bool
get_open_node(struct store_op *op)
{
    struct posix_store *ps = op_store(op);
    const struct store_id *id = op->u.get.id;
    struct posix_node *node = ps->root;

    if (id->len == node->id.len && memcmp(id->bytes, node->id.bytes, id->len) == 0)
        posix_ref(&node->base);
    else
        node = posix_find(ps, id);
    op->err = 0;
    op->r.get.node = node != NULL ? &node->base : NULL;
    return node != NULL;
}

static int
posix_start(struct store_op *op)
{
    switch (op->kind) {
    case STORE_READ:
        return posix_read(op);
    case STORE_WRITE:
        return posix_write(op);
    case STORE_COMMIT:
        return posix_commit(op);
    case STORE_GET:
        if (get_open_node(op))
            return 0;
        break;
    default:
        break;
    }
    if (kinds[op->kind].blocks)
        return posix_run(op, kinds[op->kind].run);
    kinds[op->kind].run(op);
    note_outcome(op);
    return op->err;
}

static const struct store_id *
posix_node_id(const struct store_node *node)
{
    return &((const struct posix_node *)node)->id;
}

static mode_t
posix_node_type(const struct store_node *node)
{
    return ((const struct posix_node *)node)->type;
}

static void
posix_free(struct store *store)
{
    struct posix_store *ps = store_of(store);

    posix_writable_stop(ps);
    posix_readahead_stop(ps);
    posix_nodes_fini(ps);
    if (ps->root != NULL)
        posix_put(&ps->root->base);
    posix_paths_free(atomic_load(&ps->paths));
    posix_writable_fini(ps);
    if (ps->tree_fd >= 0)
        close(ps->tree_fd);
    if (ps->proc_fd >= 0)
        close(ps->proc_fd);
    pthread_mutex_destroy(&ps->guard_lock);
    pthread_mutex_destroy(&ps->syncfs_lock);
    free(ps);
}

static void
init_pace(struct posix_store *ps)
{
    for (size_t sync = 0; sync < 2; sync++) {
        for (size_t kind = 0; kind < STORE_KINDS; kind++)
            pace_init(&ps->pace[sync][kind]);
    }
}

static const struct store_ops posix_ops = {
    .name = "posix",
    .start = posix_start,
    .ref = posix_ref,
    .put = posix_put,
    .id = posix_node_id,
    .type = posix_node_type,
    .read_only = posix_read_only,
    .free = posix_free,
};

/*
 * Open the directory, as root through a mount of our own that has none of the mounts below it: a name that something is
 * mounted on leads to the directory underneath, as in the kernel's nfsd without crossmnt.
 */
static int
open_root(struct posix_store *ps, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), own;

    if (fd < 0 || cred_process_mode() == CRED_SELF)
        return fd < 0 ? -errno : fd;
    ps->tree_fd = (int)syscall(SYS_open_tree, fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
    if (ps->tree_fd < 0)
        return fd;
    own = openat(ps->tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0)
        return fd;
    ps->own_mount = true;
    close(fd);
    return own;
}

/* Where a descriptor can be opened again; as root through a mount of its own, from which ".." leads nowhere. */
static int
open_proc(void)
{
    static const char path[] = "/proc/self/fd";
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (fd < 0)
        fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

#ifdef HAVE_BLKID
/* A UUID, or whatever else of hexadecimal digits, as bytes; true when all of them were there. */
static bool
parse_uuid(const char *text, uint8_t *bytes, size_t size)
{
    size_t digits = 0;

    memset(bytes, 0, size);
    for (; *text != '\0' && digits < 2 * size; text++) {
        int c = tolower((unsigned char)*text);

        if (isxdigit(c)) {
            bytes[digits / 2] |= (uint8_t)((c <= '9' ? c - '0' : c - 'a' + 10) << (digits % 2 == 0 ? 4 : 0));
            digits++;
        }
    }
    return digits == 2 * size;
}

/* The UUID that is written on the device. */
static bool
read_device_uuid(dev_t device, uint8_t *uuid, size_t size)
{
    char *name = blkid_devno_to_devname(device);
    char *text = name != NULL ? blkid_get_tag_value(NULL, "UUID", name) : NULL;
    bool found = text != NULL && parse_uuid(text, uuid, size);

    free(text);
    free(name);
    return found;
}
#else
static bool
read_device_uuid(dev_t device, uint8_t *uuid, size_t size)
{
    (void)device;
    (void)uuid;
    (void)size;
    return false;
}
#endif

/* What names the file system over a restart: its UUID, from the kernel or the device, else what statfs(2) makes of it. */
static void
read_fsid(struct posix_store *ps, int fd, const struct statfs *sfs)
{
    uint8_t *hint = (uint8_t *)ps->store.fsid_hint;
    size_t size = sizeof(ps->store.fsid_hint);
    struct fsuuid2 uuid;

    if (ioctl(fd, FS_IOC_GETFSUUID, &uuid) == 0 && uuid.len == size) {
        memcpy(hint, uuid.uuid, size);
    } else if (!read_device_uuid(ps->dev, hint, size)) {
        memset(hint, 0, size);
        memcpy(hint, &sfs->f_fsid, sizeof(sfs->f_fsid));
    }
}

int
posix_keep_names(struct store *store)
{
    struct posix_store *ps = store_of(store);
    struct posix_paths *paths, *other = NULL;
    int err;

    if (atomic_load(&ps->paths) != NULL)
        return 0;
    err = posix_paths_new(ps, &paths);
    if (err == 0 && !atomic_compare_exchange_strong(&ps->paths, &other, paths))
        posix_paths_free(paths);
    return err;
}

int
posix_see(struct store *store, const char *path, uint64_t *fsid, uint64_t *fileid)
{
    struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };
    int fd = (int)syscall(SYS_openat2, store_of(store)->root->fd, path, &how, sizeof(how)), err = 0;
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) < 0)
        err = -errno;
    close(fd);
    *fsid = st.st_dev;
    *fileid = st.st_ino;
    return err;
}

/* The largest file: where seeking ends. A file without a name is made for the question. */
static uint64_t
probe_max_file_size(int dir_fd)
{
    uint64_t low = 0, high = INT64_MAX;
    int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0)
        return INT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2 + 1;

        if (lseek(fd, (off_t)middle, SEEK_SET) < 0)
            high = middle - 1;
        else
            low = middle;
    }
    close(fd);
    return low;
}

int
posix_new(const struct posix_config *config, struct store **store)
{
    struct posix_store *ps = calloc(1, sizeof(*ps));
    struct statfs sfs;
    int fd, err;

    if (ps == NULL)
        return -ENOMEM;
    ps->store.ops = &posix_ops;
    ps->inline_mode = config->inline_mode;
    ps->tree_fd = ps->proc_fd = -1;
    pthread_mutex_init(&ps->guard_lock, NULL);
    pthread_mutex_init(&ps->syncfs_lock, NULL);
    posix_writable_init(ps);
    posix_nodes_init(ps, config->max_open);
    init_pace(ps);
    if (getrandom(ps->hash_key, sizeof(ps->hash_key), 0) != sizeof(ps->hash_key)) {
        err = -EIO;
        goto fail;
    }
    ps->proc_fd = open_proc();
    if (ps->proc_fd < 0) {
        err = ps->proc_fd;
        goto fail;
    }
    fd = open_root(ps, config->path);
    if (fd < 0) {
        err = fd;
        goto fail;
    }
    err = posix_make_root(ps, fd);
    if (err == 0 && fstatfs(fd, &sfs) < 0)
        err = -errno;
    if (err < 0)
        goto fail;
    read_fsid(ps, fd, &sfs);
    ps->has_snapshots = sfs.f_type == BTRFS_SUPER_MAGIC;
    ps->never_waits = sfs.f_type == TMPFS_MAGIC || sfs.f_type == RAMFS_MAGIC;
    atomic_init(&ps->store.read_only, (sfs.f_flags & ST_RDONLY) != 0);
    posix_probe_io(ps, fd);
    ps->max_file_size = probe_max_file_size(fd);
    store_renew_verifier(&ps->store);
    *store = &ps->store;
    return 0;
fail:
    posix_free(&ps->store);             /* copes with a half-built store */
    return err;
}
