/*
 * storage/posix_dir.c - READDIR and READDIRPLUS.
 *
 * Cookies are the file system's own (d_off of getdents64(2)). Whoever comes first reads from the descriptor that the node
 * keeps open and goes on where it stands; others open the directory once more, since the position belongs to the
 * descriptor, and so does whether reading moves the time of access.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/param.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/posix_private.h"

#define RAW_SIZE 32768                  /* bytes asked of the kernel at once, at most */
#define RAW_MIN 280                     /* room for a name of 255 bytes, which is the longest mostly ... */
#define RAW_LONG 2048                   /* ... and for FUSE's 1024 */
#define USUAL_NAME 8                    /* bytes, and what an entry with one takes of the kernel's */
#define USUAL_RAW 32

/* As getdents64(2) fills them in. */
struct raw_dirent {
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type;
    char name[];
};

/* A directory being read: the kernel's entries, and where ours go. */
struct listing {
    struct store_op *op;
    struct posix_node *dir;
    int fd;
    bool may_look;                      /* attributes of entries can be had */
    size_t id_len;                      /* of the last id: the next one's, most likely */
    uint8_t raw[RAW_SIZE] __attribute__((aligned(8)));
};

static bool
is_dot(const char *name)
{
    return name[0] == '.' && name[1] == '\0';
}

static bool
is_dotdot(const char *name)
{
    return name[0] == '.' && name[1] == '.' && name[2] == '\0';
}

/* Attributes and id of an entry, for READDIRPLUS; what cannot be had is left out, as for ".." always. */
static void
fill_plus(struct listing *listing, struct store_dirent *entry, const char *name)
{
    struct posix_store *ps = op_store(listing->op);
    struct posix_paths *paths = atomic_load(&ps->paths);
    struct posix_node *dir = listing->dir;
    struct stat st;

    if (is_dotdot(name) && dir != ps->root)
        return;
    if (is_dot(name) || is_dotdot(name)) {
        if (posix_attr(dir, &entry->attr) == 0)
            entry->id = dir->id;
        return;
    }
    if (!listing->may_look || posix_look(ps, dir->fd, dir->dev, name, &st, &entry->id) < 0) {
        entry->id.len = 0;
        return;
    }
    posix_fill_attr(&entry->attr, &st);
    if (paths != NULL)
        posix_paths_note(paths, &entry->id, &dir->id, name);
}

/* Store one entry; false when it does not fit any more. */
static bool
add_entry(struct listing *listing, const struct raw_dirent *raw, size_t name_len)
{
    struct store_op *op = listing->op;
    struct posix_store *ps = op_store(op);
    size_t size = (offsetof(struct store_dirent, name) + name_len + 7) & ~(size_t)7;
    struct store_dirent *entry;

    if (op->r.dir.entries >= op->u.dir.max_entries || op->u.dir.size - op->r.dir.used < size ||
        !store_dir_has_room(op, name_len, listing->id_len))
        return false;
    entry = (struct store_dirent *)((uint8_t *)op->u.dir.buffer + op->r.dir.used);
    entry->fileid = is_dotdot(raw->name) && listing->dir == ps->root ? ps->root->ino : raw->ino;
    entry->cookie = (uint64_t)raw->off;
    entry->attr.present = false;
    entry->id.len = 0;
    entry->name_len = (uint8_t)name_len;
    memcpy(entry->name, raw->name, name_len);
    if (op->u.dir.plus)
        fill_plus(listing, entry, raw->name);
    if (entry->attr.present)
        entry->fileid = entry->attr.fileid;     /* of what is mounted there, if anything is */
    if (entry->id.len > 0)
        listing->id_len = entry->id.len;
    op->r.dir.told += store_dir_tells(op, name_len, entry->id.len);
    op->r.dir.used += size;
    op->r.dir.entries++;
    return true;
}

/*
 * How much to ask of the kernel: about what the caller has room for. What is read in vain costs twice, since the
 * descriptor then stands behind it. Too little is made up for by asking again. 0: the caller has no room for more.
 */
static size_t
raw_bytes(const struct listing *listing, size_t raw_taken)
{
    const struct store_op *op = listing->op;
    size_t had = op->r.dir.entries, each = had > 0 ? raw_taken / had : USUAL_RAW;
    size_t left = (op->u.dir.size - op->r.dir.used) / offsetof(struct store_dirent, name);
    size_t bytes;

    left = MIN(left, op->u.dir.max_entries - had);
    if (op->u.dir.room > 0) {
        size_t usual = had > 0 ? op->r.dir.told / had : store_dir_tells(op, USUAL_NAME, listing->id_len);
        size_t entries = op->u.dir.room > op->r.dir.told ? (op->u.dir.room - op->r.dir.told) / usual : 0;

        if (entries == 0 && had > 0)
            return 0;
        left = MIN(left, entries);
    }
    bytes = left < RAW_SIZE / each ? left * each : RAW_SIZE;
    return MAX(bytes, RAW_MIN);
}

static long
get_raw(struct listing *listing, size_t ask)
{
    long n = syscall(SYS_getdents64, listing->fd, listing->raw, ask);

    if (n < 0 && errno == EINVAL && ask < RAW_LONG)
        n = syscall(SYS_getdents64, listing->fd, listing->raw, RAW_LONG);
    return n;
}

/* Read on until the end, or until no more fits. *cookie follows: where the descriptor stands, 0 when that is unknown. */
static int
read_entries(struct listing *listing, uint64_t *cookie)
{
    struct store_op *op = listing->op;
    size_t raw_taken = 0, ask = raw_bytes(listing, 0);

    while (ask > 0) {
        long n = get_raw(listing, ask);
        long at = 0;

        if (n <= 0) {
            op->r.dir.eof = n == 0;
            return n < 0 ? -errno : 0;
        }
        while (at < n) {
            const struct raw_dirent *raw = (const struct raw_dirent *)(listing->raw + at);
            size_t name_len = strlen(raw->name);

            /* vfat and FUSE have longer names than NFS and store.h let through: they are left out. */
            if (name_len <= STORE_NAME_MAX && !add_entry(listing, raw, name_len)) {
                *cookie = 0;
                return 0;
            }
            at += raw->reclen;
            *cookie = (uint64_t)raw->off;
        }
        raw_taken += (size_t)n;
        ask = raw_bytes(listing, raw_taken);
    }
    return 0;
}

static int
seek_and_read(struct listing *listing, uint64_t *stands)
{
    struct store_op *op = listing->op;
    uint64_t cookie = op->u.dir.cookie;

    if (cookie > INT64_MAX)
        return -STORE_EBADCOOKIE;
    if ((cookie == 0 || cookie != *stands) && lseek(listing->fd, (off_t)cookie, SEEK_SET) < 0)
        return errno == EINVAL ? -STORE_EBADCOOKIE : -errno;
    *stands = cookie;
    return read_entries(listing, stands);
}

static int
read_dir(struct store_op *op, struct posix_node *dir)
{
    struct posix_store *ps = op_store(op);
    struct listing listing = { .op = op, .dir = dir, .fd = dir->fd };
    uint64_t nowhere = 0;
    bool shared = false;
    int err;

    if (!S_ISDIR(dir->type))
        return -ENOTDIR;
    err = posix_check_mode(op, dir, R_OK);
    if (err < 0)
        return err;
    listing.may_look = op->u.dir.plus && posix_check_mode(op, dir, X_OK) == 0;
    listing.id_len = listing.may_look ? dir->id.len : 0;
    if (!op->u.dir.keep_atime && atomic_compare_exchange_strong(&dir->streaming, &shared, true)) {
        err = seek_and_read(&listing, &dir->stream_cookie);
        if (err < 0)
            dir->stream_cookie = 0;
        atomic_store(&dir->streaming, false);
        return err;
    }
    listing.fd = op->u.dir.keep_atime ? posix_reopen(ps, dir, O_RDONLY | O_DIRECTORY | O_NOATIME) : -EPERM;
    if (listing.fd == -EPERM)           /* only its owner and root may leave the time of access alone */
        listing.fd = posix_reopen(ps, dir, O_RDONLY | O_DIRECTORY);
    if (listing.fd < 0)
        return listing.fd;
    cred_assume(op->cred);              /* the attributes of entries are read with his rights */
    err = seek_and_read(&listing, &nowhere);
    close(listing.fd);
    return err;
}

void
posix_readdir(struct store_op *op)
{
    struct posix_node *dir = node_of(op->node);
    int err;

    op->r.dir.entries = 0;
    op->r.dir.used = op->r.dir.told = 0;
    op->r.dir.eof = false;
    op->err = read_dir(op, dir);
    err = posix_attr(dir, &op->attr);
    if (err < 0 && (op->err == 0 || op->err == -ENOENT))
        op->err = -ESTALE;
}
