/*
 * storage/posix_inside.c - whether a file is still inside of the tree, and the caller may pass the directories above it
 * (exports(5) subtree_check).
 *
 * A directory is asked for the one above it, and so on up to the root. Any other file has no way up: the handle says in
 * which directory it was found, and there it must still have a name. That is known from the look-up, or else the
 * directory is read. A file that was given another directory by this server is found there instead.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "storage/posix_private.h"

#define PARENTS_MAX 4096                /* depth of a directory below its export, PATH_MAX being 4096 */

static bool
is_root(const struct posix_store *ps, const struct stat *st)
{
    return st->st_dev == ps->root->dev && st->st_ino == ps->root->ino;
}

/* One step up, with the rights that the thread has; fd is closed unless it is the one that the climb began with. */
static int
step_up(int fd, int first)
{
    int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC), err = -errno;

    if (fd != first)
        close(fd);
    return up < 0 ? err : up;
}

int
posix_climb(struct posix_store *ps, int fd, const struct store_cred *cred)
{
    struct stat st, below;
    int up = fd, err = -EACCES;

    cred_revert();
    if (cred != NULL)
        cred_assume(cred);
    if (fstat(fd, &st) < 0)
        return -errno;
    for (int depth = 0; depth < PARENTS_MAX && !is_root(ps, &st); depth++) {
        below = st;
        up = step_up(up, fd);
        if (up < 0)
            return up == -EMFILE || up == -ENFILE ? -EAGAIN : -EACCES;
        if (fstat(up, &st) < 0 || (st.st_dev == below.st_dev && st.st_ino == below.st_ino))
            break;                      /* at the top of the file system, and the root was not on the way */
    }
    if (is_root(ps, &st))
        err = 0;
    if (up != fd)
        close(up);
    return err;
}

/* From the directory above, since nobody needs permission to search the one that he begins with. */
static int
climb_from_below(struct store_op *op, const struct posix_node *dir)
{
    int fd, err;

    cred_revert();
    fd = openat(dir->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    err = posix_climb(op_store(op), fd, op->cred);
    close(fd);
    return err;
}

static bool
has_name(const struct posix_node *dir, const char *name, const struct posix_node *node)
{
    struct stat st;

    return fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_dev == node->dev && st.st_ino == node->ino;
}

/* Read the directory until the file's number comes. */
static bool
search(const struct posix_node *dir, const struct posix_node *node, char name[STORE_NAME_MAX + 1])
{
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    bool found = false;

    if (stream == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (!found && (entry = readdir(stream)) != NULL) {
        found = entry->d_ino == node->ino && strlen(entry->d_name) <= STORE_NAME_MAX &&
                has_name(dir, entry->d_name, node);
        if (found)
            strcpy(name, entry->d_name);
    }
    closedir(stream);
    return found;
}

/* Whether a directory has the file, under the name that it had there, or another one. */
static bool
holds(struct posix_paths *paths, const struct posix_node *dir, const struct posix_node *node)
{
    char name[STORE_NAME_MAX + 1];

    cred_revert();
    if (paths != NULL && posix_paths_name(paths, &node->id, &dir->id, name) && has_name(dir, name, node))
        return true;
    if (!search(dir, node, name))
        return false;
    if (paths != NULL)
        posix_paths_note(paths, &node->id, &dir->id, name);
    return true;
}

/* In the directory that the handle tells of. */
static int
file_inside(struct store_op *op, const struct posix_node *node)
{
    struct posix_store *ps = op_store(op);
    const struct store_id *parent = op->u.inside.parent;
    struct posix_node *dir;
    int err;

    if (parent == NULL || parent->len == 0)
        return -ESTALE;
    err = posix_open(ps, parent, &dir);
    if (err < 0)
        return err;
    if (!S_ISDIR(dir->type) || !holds(atomic_load(&ps->paths), dir, node))
        err = -ESTALE;
    else
        err = dir == ps->root ? 0 : posix_climb(ps, dir->fd, op->cred);
    posix_put(&dir->base);
    return err;
}

static int
inside(struct store_op *op, const struct posix_node *node)
{
    struct posix_store *ps = op_store(op);
    struct posix_paths *paths = atomic_load(&ps->paths);
    int err;

    if (node == ps->root)
        return 0;
    err = S_ISDIR(node->type) ? climb_from_below(op, node) : file_inside(op, node);
    if (err == -ESTALE && paths != NULL) {
        cred_revert();
        cred_assume(op->cred);
        err = posix_paths_check(paths, &node->id);
    }
    if (err == 0)
        err = posix_check_mode(op, ps->root, X_OK);
    return err;
}

void
posix_inside(struct store_op *op)
{
    int err = inside(op, node_of(op->node));

    if (err == -EMFILE || err == -ENFILE || err == -ENOMEM)
        err = -EAGAIN;
    op->err = err == 0 || err == -EAGAIN ? err : -ESTALE;
}
