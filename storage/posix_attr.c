/* storage/posix_attr.c - attributes and permissions of open files, and the numbers of their file system. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/posix_private.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452               /* Linux 6.6 */
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439              /* Linux 5.8 */
#endif

void
posix_fill_attr(struct store_attr *attr, const struct stat *st)
{
    attr->present = true;
    attr->mode = st->st_mode;
    attr->nlink = (uint32_t)st->st_nlink;
    attr->uid = st->st_uid;
    attr->gid = st->st_gid;
    attr->rdev_major = major(st->st_rdev);
    attr->rdev_minor = minor(st->st_rdev);
    attr->size = (uint64_t)st->st_size;
    attr->used = (uint64_t)st->st_blocks * 512;
    attr->fsid = st->st_dev;
    attr->fileid = st->st_ino;
    attr->atime = st->st_atim;
    attr->mtime = st->st_mtim;
    attr->ctime = st->st_ctim;
}

int
posix_attr(struct posix_node *node, struct store_attr *attr)
{
    struct stat st;

    if (fstat(node->fd, &st) < 0)
        return -errno;
    if (st.st_nlink == 0) {
        posix_forget(store_of(node->base.store), node);
        return -ESTALE;
    }
    posix_fill_attr(attr, &st);
    return 0;
}

/* What is kept between the beginning and the end of a change: its number, and whether it was alone when it began. */
union change_state {
    uint64_t all;
    struct {
        uint32_t number;
        uint32_t alone;
    } is;
};

void
posix_change_begin(struct posix_node *node, struct store_wcc *wcc, uint64_t *state)
{
    union change_state change;
    struct stat st;

    change.is.alone = atomic_fetch_add(&node->changing, 1) == 0;
    change.is.number = atomic_fetch_add(&node->changes, 1) + 1;
    if (change.is.alone && fstat(node->fd, &st) == 0) {
        wcc->before_size = (uint64_t)st.st_size;
        wcc->before_mtime = st.st_mtim;
        wcc->before_ctime = st.st_ctim;
    } else {
        change.is.alone = 0;
    }
    *state = change.all;
}

void
posix_change_end(struct posix_node *node, struct store_wcc *wcc, uint64_t state)
{
    union change_state change = { .all = state };

    posix_attr(node, &wcc->after);
    wcc->before_present = change.is.alone && atomic_load(&node->changes) == change.is.number;
    atomic_fetch_sub(&node->changing, 1);
}

int
posix_check_mode(struct store_op *op, struct posix_node *node, int mode)
{
    cred_assume(op->cred);
    if (syscall(SYS_faccessat2, node->fd, "", mode, AT_EMPTY_PATH | AT_EACCESS) < 0)
        return -errno;
    return 0;
}

int
posix_may_access(struct store_op *op, struct posix_node *node, bool write, const struct stat *st)
{
    struct stat now;
    int err;

    if (cred_mode() == CRED_SELF || cred_is_root(op->cred))
        return 0;
    if (st == NULL) {
        if (fstat(node->fd, &now) < 0)
            return -errno;
        st = &now;
    }
    if (st->st_uid == op->cred->uid)
        return 0;
    err = posix_check_mode(op, node, write ? W_OK : R_OK);
    if (err == -EACCES && !write)
        err = posix_check_mode(op, node, X_OK);
    return err;
}

void
posix_getattr(struct store_op *op)
{
    op->err = posix_attr(node_of(op->node), &op->attr);
}

static struct timespec
time_to_set(enum store_time_how how, struct timespec time)
{
    if (how == STORE_TIME_SET)
        return time;
    return (struct timespec){ .tv_nsec = how == STORE_TIME_NOW ? UTIME_NOW : UTIME_OMIT };
}

/* chmod of an open file, O_PATH or not; a symbolic link has no mode to set. */
static int
set_mode(struct posix_store *ps, int fd, uint32_t mode)
{
    char name[POSIX_PROC_NAME_MAX];
    struct stat st;

    if (fchmod(fd, mode) == 0)
        return 0;
    if (errno != EBADF)
        return -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (S_ISLNK(st.st_mode))
        return -EOPNOTSUPP;
    if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != ENOSYS && errno != EINVAL)
        return -errno;
    return fchmodat(ps->proc_fd, posix_proc_name(name, fd), mode, 0) < 0 ? -errno : 0;
}

static int
set_times(struct posix_store *ps, int fd, const struct store_setattr *set)
{
    struct timespec times[2] = { time_to_set(set->set_atime, set->atime), time_to_set(set->set_mtime, set->mtime) };
    char name[POSIX_PROC_NAME_MAX];

    if (utimensat(fd, "", times, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != EINVAL)
        return -errno;
    return utimensat(ps->proc_fd, posix_proc_name(name, fd), times, 0) < 0 ? -errno : 0;      /* before Linux 5.8 */
}

int
posix_apply(struct posix_store *ps, int fd, const struct store_setattr *set)
{
    int err = 0;

    if (set->set_uid || set->set_gid) {
        if (fchownat(fd, "", set->set_uid ? set->uid : (uid_t)-1, set->set_gid ? set->gid : (gid_t)-1,
                     AT_EMPTY_PATH) < 0)
            err = -errno;
    }
    if (err == 0 && set->set_mode)
        err = set_mode(ps, fd, set->mode & 07777);
    if (err == 0 && (set->set_atime != STORE_TIME_KEEP || set->set_mtime != STORE_TIME_KEEP))
        err = set_times(ps, fd, set);
    return err;
}

/*
 * What the owner alone may do is refused before anything is changed, so that a SETATTR of several attributes is done
 * whole or not at all. The kernel checks again.
 */
static int
may_set(struct store_op *op, const struct store_setattr *set, const struct stat *st)
{
    const struct store_cred *cred = op->cred;
    bool owner = cred->uid == st->st_uid;

    if (cred_mode() == CRED_SELF || cred_is_root(cred))
        return 0;
    if (set->set_mode && !owner)
        return -EPERM;
    if ((set->set_atime == STORE_TIME_SET || set->set_mtime == STORE_TIME_SET) && !owner)
        return -EPERM;
    if (set->set_uid && !(owner && set->uid == st->st_uid))
        return -EPERM;
    if (set->set_gid && !(owner && (set->gid == st->st_gid || cred_in_group(cred, set->gid))))
        return -EPERM;
    return 0;
}

static int
set_size(struct store_op *op, struct posix_node *node, uint64_t size, const struct stat *st)
{
    struct posix_store *ps = op_store(op);
    int fd, err;

    if (S_ISDIR(node->type))
        return -EISDIR;
    if (!S_ISREG(node->type))
        return -EINVAL;
    if (size > INT64_MAX)
        return -EFBIG;
    err = posix_may_access(op, node, true, st);
    if (err < 0)
        return err;
    fd = posix_write_begin(ps, node);
    if (fd < 0)
        return fd;
    cred_assume(op->cred);
    err = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
    posix_write_end(node);
    return err == -EINVAL && size > ps->max_file_size ? -EFBIG : err;
}

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Nothing opens a device or a link to flush it, and an ordinary user not what he may not read: the file system takes it. */
int
posix_flush_attr(struct posix_store *ps, struct posix_node *node)
{
    int err = -EBADF;

    if (S_ISREG(node->type))
        return posix_flush_apart(ps, node);
    if (S_ISDIR(node->type))
        err = posix_fsync(ps, node->fd);
    return err == -EBADF ? posix_syncfs(ps) : err;
}

/*
 * Whether one of the times is set to "now" by somebody who is not the owner. RFC 1813 3.3.2 and knfsd ask him for write
 * permission, utimensat(2) for ownership; open(O_TRUNC) of another's file is SETATTR of size 0 and mtime "now". He sets
 * nothing else than a size and times: may_set() has seen to that.
 */
static bool
touches_as_writer(const struct store_op *op, const struct store_setattr *set, const struct stat *st)
{
    return (set->set_atime == STORE_TIME_NOW) != (set->set_mtime == STORE_TIME_NOW) && cred_mode() == CRED_SWITCH &&
           !cred_is_root(op->cred) && op->cred->uid != st->st_uid;
}

static int
change_attributes(struct store_op *op, struct posix_node *node)
{
    const struct store_setattr *set = op->u.setattr.set;
    struct posix_store *ps = op_store(op);
    struct stat st;
    int err;

    if (fstat(node->fd, &st) < 0)
        return -errno;
    if (op->u.setattr.guard != NULL && !same_time(op->u.setattr.guard, &st.st_ctim))
        return -STORE_ENOTSYNC;
    err = may_set(op, set, &st);
    if (err == 0 && set->set_size)
        err = set_size(op, node, set->size, &st);
    if (err < 0)
        return err;
    cred_assume(op->cred);
    if (touches_as_writer(op, set, &st)) {
        err = posix_check_mode(op, node, W_OK);
        if (err < 0)
            return err;
        cred_revert();
    }
    err = posix_apply(op_store(op), node->fd, set);
    if (err == 0 && op->sync)
        err = posix_flush_attr(ps, node);
    return err;
}

int
posix_change_size(struct store_op *op, struct posix_node *node)
{
    return change_attributes(op, node);
}

void
posix_setattr(struct store_op *op)
{
    struct posix_store *ps = op_store(op);
    struct posix_node *node = node_of(op->node);
    bool guarded = op->u.setattr.guard != NULL;

    if (guarded)
        pthread_mutex_lock(&ps->guard_lock);
    posix_change_begin(node, &op->wcc, &op->private[0]);
    op->err = change_attributes(op, node);
    posix_change_end(node, &op->wcc, op->private[0]);
    if (guarded)
        pthread_mutex_unlock(&ps->guard_lock);
    if (op->err == 0 && !op->wcc.after.present)
        op->err = -ESTALE;
}

/* Which of R_OK, W_OK, X_OK the kernel grants, asking for all at once first. */
static int
granted_modes(struct store_op *op, struct posix_node *node, int wanted)
{
    static const int each[] = { R_OK, W_OK, X_OK };
    int granted = 0;

    if (posix_check_mode(op, node, wanted) == 0)
        return wanted;
    for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
        if ((wanted & each[i]) && posix_check_mode(op, node, each[i]) == 0)
            granted |= each[i];
    }
    return granted;
}

/* RFC 1813 3.3.4: the bits that mean something for a type, and the permission behind each. */
void
posix_access(struct store_op *op)
{
    struct posix_node *node = node_of(op->node);
    uint32_t mask = op->u.access.mask, granted = 0;
    bool is_dir = S_ISDIR(node->type), can_write;
    int wanted = 0, modes;

    op->r.access.granted = 0;
    op->err = posix_attr(node, &op->attr);
    if (op->err < 0)
        return;
    if (mask & STORE_ACCESS_READ)
        wanted |= R_OK;
    if (mask & (STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND | STORE_ACCESS_DELETE))
        wanted |= is_dir ? W_OK | X_OK : W_OK;
    if (mask & (is_dir ? STORE_ACCESS_LOOKUP : STORE_ACCESS_EXECUTE))
        wanted |= X_OK;
    modes = wanted == 0 ? 0 : granted_modes(op, node, wanted);
    can_write = (modes & W_OK) && (!is_dir || (modes & X_OK));
    if (modes & R_OK)
        granted |= STORE_ACCESS_READ;
    if (can_write)
        granted |= STORE_ACCESS_MODIFY | STORE_ACCESS_EXTEND | (is_dir ? (uint32_t)STORE_ACCESS_DELETE : 0);
    if (modes & X_OK)
        granted |= is_dir ? STORE_ACCESS_LOOKUP : S_ISREG(node->type) ? STORE_ACCESS_EXECUTE : 0;
    op->r.access.granted = granted & mask;
}

void
posix_readlink(struct store_op *op)
{
    struct posix_node *node = node_of(op->node);
    ssize_t len;

    if (!S_ISLNK(node->type)) {
        op->err = posix_attr(node, &op->attr);
        if (op->err == 0)
            op->err = -EINVAL;
        return;
    }
    len = readlinkat(node->fd, "", op->u.readlink.text, op->u.readlink.size);
    op->err = len < 0 ? -errno : 0;
    op->r.readlink.len = len < 0 ? 0 : (uint32_t)len;
    if (op->err == 0)
        op->err = posix_attr(node, &op->attr);
}

/* How fine times are kept: what cannot be asked is known by the file system's type. */
static struct timespec
time_granularity(const struct statfs *sfs)
{
    if (sfs->f_type == MSDOS_SUPER_MAGIC)
        return (struct timespec){ .tv_sec = 2 };
    return (struct timespec){ .tv_nsec = 1 };
}

/* glibc knows the limits of the common file systems, but not that tmpfs has none. */
static uint32_t
link_limit(int fd, const struct statfs *sfs)
{
    long max = fpathconf(fd, _PC_LINK_MAX);

    if (sfs->f_type == TMPFS_MAGIC || sfs->f_type == RAMFS_MAGIC || max <= 0 || max > UINT32_MAX)
        return UINT32_MAX;
    return (uint32_t)max;
}

void
posix_fsstat(struct store_op *op)
{
    struct posix_node *node = node_of(op->node);
    struct posix_store *ps = op_store(op);
    struct store_fs *fs = &op->r.fs;
    struct statfs sfs;
    uint64_t unit;

    if (fstatfs(node->fd, &sfs) < 0) {
        op->err = -errno;
        return;
    }
    unit = (uint64_t)(sfs.f_frsize != 0 ? sfs.f_frsize : sfs.f_bsize);
    memset(fs, 0, sizeof(*fs));
    fs->total_bytes = sfs.f_blocks * unit;
    fs->free_bytes = sfs.f_bfree * unit;
    fs->avail_bytes = sfs.f_bavail * unit;
    fs->total_files = sfs.f_files;
    fs->free_files = sfs.f_ffree;
    fs->avail_files = sfs.f_ffree;
    fs->max_file_size = ps->max_file_size;
    fs->time_delta = time_granularity(&sfs);
    fs->link_max = link_limit(node->fd, &sfs);
    fs->name_max = sfs.f_namelen > 0 && sfs.f_namelen < STORE_NAME_MAX ? (uint32_t)sfs.f_namelen : STORE_NAME_MAX;
    fs->hard_links = fs->symlinks = sfs.f_type != MSDOS_SUPER_MAGIC;
    fs->can_set_time = fs->homogeneous = true;
    fs->no_trunc = fs->chown_restricted = fs->case_preserving = true;
    fs->case_insensitive = sfs.f_type == MSDOS_SUPER_MAGIC;
    op->err = posix_attr(node, &op->attr);
}
