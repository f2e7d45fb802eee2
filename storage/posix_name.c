/*
 * storage/posix_name.c - look-ups, and everything that makes, moves or removes a name.
 *
 * All of it works with one name below an open directory, never with a path, and follows no symbolic link. Each function
 * may block; it runs where posix_run() lets it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "storage/posix_private.h"

/* Flush a directory, for an export that is sync. Directories that this process may not read cannot be flushed alone. */
static int
flush_dir(struct posix_store *ps, struct posix_node *dir)
{
    int err = posix_fsync(ps, dir->fd);

    return err == -EBADF ? posix_syncfs(ps) : err;
}

static int
dir_error(const struct posix_node *dir)
{
    return S_ISDIR(dir->type) ? 0 : -ENOTDIR;
}

/* A failure of the directory itself shows when its attributes are read: its own answer is STALE. */
static void
end_change(struct store_op *op, struct posix_node *dir, struct store_wcc *wcc, uint64_t state)
{
    posix_change_end(dir, wcc, state);
    if (!wcc->after.present && op->err == -ENOENT)
        op->err = -ESTALE;
}

static void
note_path(struct store_op *op, const struct posix_node *dir, const char *name)
{
    struct posix_paths *paths = atomic_load(&op_store(op)->paths);

    if (paths != NULL && op->child.len > 0)
        posix_paths_note(paths, &op->child, &dir->id, name);
}

void
posix_get(struct store_op *op)
{
    struct posix_node *node = NULL;

    op->err = posix_open(op_store(op), op->u.get.id, &node);
    op->r.get.node = op->err == 0 ? &node->base : NULL;
    if (op->err == -EMFILE || op->err == -ENFILE || op->err == -ENOMEM)
        op->err = -EAGAIN;
}

/*
 * In a mount of our own the kernel follows ".." only from what is below its root (path_connected() in fs/namei.c, since
 * Linux 4.3), so nothing has to be climbed: that takes three system calls for each directory above.
 */
static int
lookup_parent(struct store_op *op, struct posix_node *dir)
{
    struct posix_store *ps = op_store(op);
    struct stat st;
    int fd, err = 0;

    fd = openat(dir->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ps->own_mount && errno == ENOENT ? -EACCES : -errno;
    if (!ps->own_mount)
        err = posix_climb(ps, fd, NULL);
    if (err == 0 && fstat(fd, &st) < 0)
        err = -errno;
    if (err == 0)
        err = posix_id_at(ps, fd, "", AT_EMPTY_PATH, &st, &op->child);
    if (err == 0)
        posix_fill_attr(&op->child_attr, &st);
    close(fd);
    return err;
}

/*
 * The id and attributes of dir/name. A name that changes hands in between is looked at once more. Below a mount that is
 * not our own it must not lead into another one: then only the attributes are told.
 */
static int
find_child(struct store_op *op, struct posix_node *dir, const char *name)
{
    struct posix_store *ps = op_store(op);
    struct stat st;
    int err = -ESTALE;

    for (int attempt = 0; attempt < 3 && err == -ESTALE; attempt++)
        err = posix_look(ps, dir->fd, dir->dev, name, &st, &op->child);
    if (err == 0 || err == -EXDEV)
        posix_fill_attr(&op->child_attr, &st);
    if (err == -EXDEV)
        return -EACCES;
    if (err == 0)
        note_path(op, dir, name);
    return err;
}

static bool
is_name(const struct store_op *op, const char *name)
{
    return op->name_len == strlen(name) && memcmp(op->name, name, op->name_len) == 0;
}

static int
lookup(struct store_op *op, struct posix_node *dir)
{
    char name[STORE_NAME_MAX + 1];
    int err = dir_error(dir);

    if (err < 0)
        return err;
    cred_assume(op->cred);
    if (is_name(op, "..") && dir != op_store(op)->root)
        return lookup_parent(op, dir);
    if (!is_name(op, ".") && !is_name(op, ".."))
        return find_child(op, dir, posix_cname(name, op->name, op->name_len));
    err = posix_check_mode(op, dir, X_OK);
    if (err < 0)
        return err;
    op->child = dir->id;
    return posix_attr(dir, &op->child_attr);
}

void
posix_lookup(struct store_op *op)
{
    struct posix_node *dir = node_of(op->node);

    op->err = lookup(op, dir);
    if (posix_attr(dir, &op->attr) < 0 && op->err == -ENOENT)
        op->err = -ESTALE;
}

/*
 * The verifier of an EXCLUSIVE create, kept in the file's times as the kernel's nfsd does, so that it survives a restart:
 * 62 of its bits in the seconds (31 in each, which every file system keeps), 2 in the nanoseconds of atime, and in the
 * rest of the nanoseconds a sum over it, never zero, that tells such times from ordinary ones.
 */
static void
verifier_times(const uint8_t verifier[STORE_VERIFIER_SIZE], struct timespec times[2])
{
    uint64_t bits, sum;

    memcpy(&bits, verifier, sizeof(bits));
    sum = (bits ^ bits >> 31) * 0x9e3779b97f4a7c15u | 0x100u;
    times[0].tv_sec = (time_t)(bits >> 33);
    times[1].tv_sec = (time_t)(bits >> 2 & 0x7fffffff);
    times[0].tv_nsec = (long)((bits & 3) | (sum >> 40 & 0xffffff) << 2);
    times[1].tv_nsec = (long)(sum >> 8 & 0x1fffffff);
}

static bool
has_verifier(const struct stat *st, const uint8_t verifier[STORE_VERIFIER_SIZE])
{
    struct timespec times[2];

    verifier_times(verifier, times);
    if (st->st_size != 0 || st->st_atim.tv_sec != times[0].tv_sec || st->st_mtim.tv_sec != times[1].tv_sec)
        return false;
    if (st->st_atim.tv_nsec == 0 && st->st_mtim.tv_nsec == 0)
        return true;                    /* a file system that keeps whole seconds */
    return st->st_atim.tv_nsec == times[0].tv_nsec && st->st_mtim.tv_nsec == times[1].tv_nsec;
}

/* UNCHECKED with a size: as SETATTR of the size, by the caller's rights on the file; mtime moves also from 0 to 0. */
static int
resize_existing(struct store_op *op, uint64_t size)
{
    struct store_setattr set = { .set_size = true, .size = size };
    struct store_op resize = { .store = op->store, .cred = op->cred, .sync = op->sync, .u.setattr.set = &set };
    struct posix_node *node;
    uint64_t state;
    int err;

    err = posix_open(op_store(op), &op->child, &node);
    if (err < 0)
        return err;
    posix_change_begin(node, &resize.wcc, &state);
    err = posix_change_size(&resize, node);
    posix_change_end(node, &resize.wcc, state);
    op->child_attr = resize.wcc.after;
    posix_put(&node->base);
    return err;
}

/* Whoever made it may be waiting for his flush still, or have been told that it failed. */
static int
flush_existing(struct store_op *op, struct posix_node *dir)
{
    struct posix_store *ps = op_store(op);
    struct posix_node *node;
    int err = 0;

    if (op->u.create.how == STORE_EXCLUSIVE) {          /* its times hold the verifier */
        err = posix_open(ps, &op->child, &node);
        if (err == 0) {
            err = posix_flush_apart(ps, node);
            posix_put(&node->base);
        }
    }
    return err == 0 ? flush_dir(ps, dir) : err;
}

/* An existing file under the name of a CREATE: RFC 1813 3.3.8 says when that is a success. */
static int
create_existing(struct store_op *op, struct posix_node *dir, const char *name)
{
    struct stat st;
    int err;

    if (op->u.create.how == STORE_GUARDED)
        return -EEXIST;
    err = find_child(op, dir, name);
    if (err < 0)
        return err;
    if (S_ISREG(op->child_attr.mode) && op->u.create.how == STORE_UNCHECKED) {
        if (op->u.create.set->set_size)
            err = resize_existing(op, op->u.create.set->size);
    } else if (!S_ISREG(op->child_attr.mode) || fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
               !has_verifier(&st, op->u.create.verifier)) {
        op->child.len = 0;
        return -EEXIST;
    }
    return err == 0 && op->sync ? flush_existing(op, dir) : err;
}

/* What a creating call asks for beyond the mode. Owners are given by root alone, quietly left for others (as knfsd). */
static int
apply_to_new(const struct store_op *op, int fd, const struct store_setattr *wanted, bool with_mode)
{
    struct store_setattr set = *wanted;
    struct stat st;

    set.set_size = false;
    if (!cred_is_root(op->cred) || cred_mode() == CRED_SELF)
        set.set_uid = set.set_gid = false;
    set.set_mode = wanted->set_mode && (with_mode || set.set_uid || set.set_gid);
    if (set.set_mode && fstat(fd, &st) == 0) {
        set.mode = (wanted->mode & 07000) | (st.st_mode & 0777);        /* what a default ACL has left of it */
        if (S_ISDIR(st.st_mode))
            set.mode |= st.st_mode & S_ISGID;   /* its parent's, which mkdir(2) hands down */
    }
    return posix_apply(op_store(op), fd, &set);
}

static bool
has_extras(const struct store_setattr *set)
{
    return set->set_uid || set->set_gid || set->set_size || set->set_atime != STORE_TIME_KEEP ||
           set->set_mtime != STORE_TIME_KEEP;
}

/* A file has just been made under fd: its first attributes, its id, and stable storage if asked for. */
static int
finish_create(struct store_op *op, struct posix_node *dir, int fd, struct stat *st)
{
    const struct store_setattr *set = op->u.create.set;
    struct posix_store *ps = op_store(op);
    struct timespec times[2];
    bool exclusive = op->u.create.how == STORE_EXCLUSIVE;
    int err = 0;

    if (exclusive) {
        verifier_times(op->u.create.verifier, times);
        if (futimens(fd, times) < 0)
            err = -errno;
    } else if (has_extras(set)) {
        if (set->set_size && ftruncate(fd, (off_t)set->size) < 0)
            err = -errno;
        if (err == 0)
            err = apply_to_new(op, fd, set, false);
    }
    if (err == 0 && fstat(fd, st) < 0)
        err = -errno;
    if (err == 0 && exclusive && !has_verifier(st, op->u.create.verifier))
        return -EOPNOTSUPP;
    if (err == 0)
        err = posix_id_at(ps, fd, "", AT_EMPTY_PATH, st, &op->child);
    if (err == 0 && op->sync) {
        if (exclusive || has_extras(set))
            err = posix_fsync(ps, fd);
        if (err == 0)
            err = flush_dir(ps, dir);
    }
    return err;
}

/*
 * A file that has its verifier from the moment it has its name: whoever made it and died, or lost the reply, must find it
 * again (RFC 1813 3.3.8). It is made without a name, where the file system can do that. Returns a descriptor or -errno.
 */
static int
open_exclusive(const struct store_op *op, const struct posix_node *dir, const char *name)
{
    int fd = openat(dir->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), err;
    struct timespec times[2];
    char source[POSIX_PROC_NAME_MAX];

    if (fd >= 0) {
        verifier_times(op->u.create.verifier, times);
        if (futimens(fd, times) == 0 &&
            linkat(op_store(op)->proc_fd, posix_proc_name(source, fd), dir->fd, name, AT_SYMLINK_FOLLOW) == 0)
            return fd;
        err = -errno;
        close(fd);
        if (err == -EEXIST)
            return err;
    }
    fd = openat(dir->fd, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

static int
open_new(const struct store_op *op, const struct posix_node *dir, const char *name)
{
    const struct store_setattr *set = op->u.create.set;
    int fd;

    if (op->u.create.how == STORE_EXCLUSIVE)
        return open_exclusive(op, dir, name);
    fd = openat(dir->fd, name, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                set->set_mode ? set->mode & 07777 : 0644);
    return fd < 0 ? -errno : fd;
}

static int
create(struct store_op *op, struct posix_node *dir)
{
    const struct store_setattr *set = op->u.create.set;
    char buffer[STORE_NAME_MAX + 1];
    const char *name = posix_cname(buffer, op->name, op->name_len);
    struct stat st;
    int fd, err = dir_error(dir);

    if (err < 0)
        return err;
    if (op->u.create.how != STORE_EXCLUSIVE && set->set_size && set->size > INT64_MAX)
        return -EFBIG;
    cred_assume(op->cred);
    fd = open_new(op, dir, name);
    if (fd < 0)
        return fd == -EEXIST ? create_existing(op, dir, name) : fd;
    err = finish_create(op, dir, fd, &st);
    if (err == -EOPNOTSUPP && op->u.create.how == STORE_EXCLUSIVE)
        unlinkat(dir->fd, name, 0);     /* times here do not hold a verifier: 3.3.8, the client takes GUARDED */
    if (op->child.len == 0) {
        close(fd);
        return err;
    }
    posix_fill_attr(&op->child_attr, &st);
    note_path(op, dir, name);
    posix_adopt(op_store(op), &op->child, &st, fd);
    return err;
}

/*
 * Set what an object that is no regular file was not made with. That is a change of its own: on some file systems the flush
 * of its directory does not take it along.
 */
static int
set_on_made(struct store_op *op, struct posix_node *dir, const char *name, mode_t type, const struct store_setattr *set,
            bool with_mode)
{
    int fd = openat(dir->fd, name, (type == S_IFDIR ? O_RDONLY | O_DIRECTORY : O_PATH) | O_NOFOLLOW | O_CLOEXEC), err = 0;
    struct stat st;

    if (fd < 0 && errno == EACCES)      /* a directory whose mode does not let him read it */
        fd = openat(dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* Somebody who may write here could have put something else under the name. */
    if (fstat(fd, &st) < 0 || (st.st_mode & S_IFMT) != type ||
        (cred_mode() == CRED_SWITCH && st.st_uid != op->cred->uid))
        err = -ESTALE;
    if (err == 0)
        err = apply_to_new(op, fd, set, with_mode);
    if (err == 0 && op->sync) {
        err = posix_fsync(op_store(op), fd);
        if (err == -EBADF)
            err = posix_syncfs(op_store(op));
    }
    close(fd);
    return err;
}

/* What MKDIR, SYMLINK and MKNOD do after the object is there. */
static int
finish_make(struct store_op *op, struct posix_node *dir, const char *name, mode_t type,
            const struct store_setattr *set, bool with_mode)
{
    int err = 0;

    if (with_mode || has_extras(set))
        err = set_on_made(op, dir, name, type, set, with_mode);
    if (err == 0)
        err = find_child(op, dir, name);
    if (err == 0 && op->sync)
        err = flush_dir(op_store(op), dir);
    return err;
}

static int
make_dir(struct store_op *op, struct posix_node *dir)
{
    const struct store_setattr *set = op->u.mkdir.set;
    char buffer[STORE_NAME_MAX + 1];
    const char *name = posix_cname(buffer, op->name, op->name_len);
    mode_t mode = set->set_mode ? set->mode & 07777 : 0755;

    cred_assume(op->cred);
    if (mkdirat(dir->fd, name, mode) < 0)
        return -errno;
    /* mkdir(2) leaves the set-ID bits out. */
    return finish_make(op, dir, name, S_IFDIR, set, (mode & 06000) != 0);
}

static int
make_symlink(struct store_op *op, struct posix_node *dir)
{
    struct store_setattr set = *op->u.symlink.set;
    char buffer[STORE_NAME_MAX + 1], text[STORE_LINK_MAX + 1];
    const char *name = posix_cname(buffer, op->name, op->name_len);

    if (op->u.symlink.text_len > STORE_LINK_MAX)
        return -ENAMETOOLONG;
    memcpy(text, op->u.symlink.text, op->u.symlink.text_len);
    text[op->u.symlink.text_len] = '\0';
    cred_assume(op->cred);
    if (symlinkat(text, dir->fd, name) < 0)
        return -errno;
    set.set_mode = set.set_size = false;        /* a link has no mode of its own */
    return finish_make(op, dir, name, S_IFLNK, &set, false);
}

static int
make_node(struct store_op *op, struct posix_node *dir)
{
    const struct store_setattr *set = op->u.mknod.set;
    char buffer[STORE_NAME_MAX + 1];
    const char *name = posix_cname(buffer, op->name, op->name_len);
    mode_t type = op->u.mknod.type, mode = set->set_mode ? set->mode & 07777 : 0644;
    uint32_t major_number = op->u.mknod.major, minor_number = op->u.mknod.minor;
    dev_t device = 0;

    if (type != S_IFCHR && type != S_IFBLK && type != S_IFSOCK && type != S_IFIFO)
        return -STORE_EBADTYPE;
    if (type == S_IFCHR || type == S_IFBLK) {
        if (major_number > 0xfff || minor_number > 0xfffff)
            return -EINVAL;             /* the kernel's numbers have 12 and 20 bits */
        device = makedev(major_number, minor_number);
    }
    cred_assume(op->cred);
    if (mknodat(dir->fd, name, type | mode, device) < 0)
        return -errno;
    return finish_make(op, dir, name, type, set, false);
}

/* Every change of names in one directory: check it, and take its attributes before and after. */
static void
change_dir(struct store_op *op, int (*change)(struct store_op *op, struct posix_node *dir))
{
    struct posix_node *dir = node_of(op->node);
    uint64_t state;

    posix_change_begin(dir, &op->wcc, &state);
    op->err = dir_error(dir);
    if (op->err == 0)
        op->err = change(op, dir);
    end_change(op, dir, &op->wcc, state);
}

void
posix_create(struct store_op *op)
{
    change_dir(op, create);
}

void
posix_mkdir(struct store_op *op)
{
    change_dir(op, make_dir);
}

void
posix_symlink(struct store_op *op)
{
    change_dir(op, make_symlink);
}

void
posix_mknod(struct store_op *op)
{
    change_dir(op, make_node);
}

static int
remove_name(struct store_op *op, struct posix_node *dir, int flags)
{
    struct posix_store *ps = op_store(op);
    char buffer[STORE_NAME_MAX + 1];
    const char *name = posix_cname(buffer, op->name, op->name_len);
    struct stat st;

    cred_assume(op->cred);
    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    if (unlinkat(dir->fd, name, flags) < 0)
        return -errno;
    posix_forget_ino(ps, &st);
    return op->sync ? flush_dir(ps, dir) : 0;
}

static int
remove_file(struct store_op *op, struct posix_node *dir)
{
    return remove_name(op, dir, 0);
}

static int
remove_dir(struct store_op *op, struct posix_node *dir)
{
    return remove_name(op, dir, AT_REMOVEDIR);
}

void
posix_remove(struct store_op *op)
{
    change_dir(op, remove_file);
}

void
posix_rmdir(struct store_op *op)
{
    change_dir(op, remove_dir);
}

static int
rename_name(struct store_op *op, struct posix_node *from, struct posix_node *to)
{
    struct posix_store *ps = op_store(op);
    char from_buffer[STORE_NAME_MAX + 1], to_buffer[STORE_NAME_MAX + 1];
    const char *name = posix_cname(from_buffer, op->name, op->name_len);
    const char *new_name = posix_cname(to_buffer, op->u.rename.name, op->u.rename.name_len);
    struct stat replaced;
    bool replaces;
    int err;

    cred_assume(op->cred);
    replaces = fstatat(to->fd, new_name, &replaced, AT_SYMLINK_NOFOLLOW) == 0;
    if (renameat(from->fd, name, to->fd, new_name) < 0)
        return -errno;
    if (replaces)
        posix_forget_ino(ps, &replaced);
    if (atomic_load(&ps->paths) != NULL && find_child(op, to, new_name) == 0)
        op->child.len = 0;              /* only noted: RENAME has no object in its reply */
    if (!op->sync)
        return 0;
    err = flush_dir(ps, to);
    if (err == 0 && from != to)
        err = flush_dir(ps, from);
    return err;
}

void
posix_rename(struct store_op *op)
{
    struct posix_node *from = node_of(op->node), *to = node_of(op->u.rename.to);
    uint64_t from_state, to_state = 0;

    posix_change_begin(from, &op->wcc, &from_state);
    if (to != from)
        posix_change_begin(to, &op->wcc_to, &to_state);
    op->err = dir_error(from);
    if (op->err == 0)
        op->err = dir_error(to);
    if (op->err == 0)
        op->err = rename_name(op, from, to);
    end_change(op, from, &op->wcc, from_state);
    if (to != from)
        end_change(op, to, &op->wcc_to, to_state);
    else
        op->wcc_to = op->wcc;
}

static int
link_name(struct store_op *op, struct posix_node *node, struct posix_node *dir)
{
    struct posix_store *ps = op_store(op);
    char buffer[STORE_NAME_MAX + 1], source[POSIX_PROC_NAME_MAX];
    const char *name = posix_cname(buffer, op->name, op->name_len);

    if (S_ISDIR(node->type))
        return -EPERM;
    cred_assume(op->cred);
    /* linkat(2) with AT_EMPTY_PATH asks for a capability that the caller has not. */
    if (linkat(ps->proc_fd, posix_proc_name(source, node->fd), dir->fd, name, AT_SYMLINK_FOLLOW) < 0)
        return -errno;
    if (atomic_load(&ps->paths) != NULL)
        posix_paths_note(atomic_load(&ps->paths), &node->id, &dir->id, name);
    return op->sync ? flush_dir(ps, dir) : 0;
}

void
posix_link(struct store_op *op)
{
    struct posix_node *node = node_of(op->node), *dir = node_of(op->u.link.dir);
    uint64_t state;

    posix_change_begin(dir, &op->wcc, &state);
    op->err = dir_error(dir);
    if (op->err == 0)
        op->err = link_name(op, node, dir);
    end_change(op, dir, &op->wcc, state);
    if (posix_attr(node, &op->attr) < 0 && op->err == -ENOENT)
        op->err = -ESTALE;
}
