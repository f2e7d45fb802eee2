/*
 * storage/posix_acl.c - ACLs, as the kernel keeps them: in extended attributes of its own (acl(5), xattr(7)).
 *
 * The kernel checks who may set them, and what the mode becomes. f...xattr(2) does not take an O_PATH descriptor, but
 * /proc/self/fd leads to the very file that is open there, whatever has become of its name. For a thread that finds no
 * files by path that is its root directory; ...xattrat(2), which would do without that, is of Linux 6.13.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "storage/acl.h"
#include "storage/posix_private.h"

#define XATTR_ACCESS "system.posix_acl_access"
#define XATTR_DEFAULT "system.posix_acl_default"
#define XATTR_VERSION 2

/* The value of such an attribute; numbers are little-endian (linux/posix_acl_xattr.h). */
struct acl_value {
    uint32_t version;
    struct {
        uint16_t tag;
        uint16_t perm;
        uint32_t id;
    } entries[STORE_ACL_MAX];
};
#define VALUE_BYTES(count) (offsetof(struct acl_value, entries) + (count) * sizeof(((struct acl_value *)0)->entries[0]))

struct fd_path {
    char text[32];
};

static const char *
path_of(const struct posix_store *ps, int fd, struct fd_path *path)
{
    struct stat root, proc;
    bool jailed = stat("/", &root) == 0 && fstat(ps->proc_fd, &proc) == 0 && root.st_dev == proc.st_dev &&
                  root.st_ino == proc.st_ino;

    snprintf(path->text, sizeof(path->text), jailed ? "/%d" : "/proc/self/fd/%d", fd);
    return path->text;
}

static ssize_t
get_value(const struct posix_store *ps, int fd, const char *name, struct acl_value *value)
{
    struct fd_path path;
    ssize_t len = fgetxattr(fd, name, value, sizeof(*value));

    if (len < 0 && errno == EBADF)
        len = getxattr(path_of(ps, fd, &path), name, value, sizeof(*value));
    return len < 0 ? -errno : len;
}

/* count 0 in *acl where there is none, and where the file system has none at all. */
static int
read_acl(const struct posix_node *node, const char *name, struct store_acl *acl)
{
    struct acl_value value;
    ssize_t len = get_value(store_of(node->base.store), node->fd, name, &value);

    acl->count = 0;
    if (len == -ENODATA || len == -EOPNOTSUPP)
        return 0;
    if (len < 0)
        return len == -ERANGE ? -EFBIG : (int)len;
    if (len < (ssize_t)VALUE_BYTES(0) || le32toh(value.version) != XATTR_VERSION)
        return -EIO;
    acl->count = (uint32_t)((size_t)len - VALUE_BYTES(0)) / sizeof(value.entries[0]);
    for (uint32_t i = 0; i < acl->count; i++) {
        acl->entries[i].tag = le16toh(value.entries[i].tag);
        acl->entries[i].perm = le16toh(value.entries[i].perm);
        acl->entries[i].id = le32toh(value.entries[i].id);
    }
    return 0;
}

void
posix_getacl(struct store_op *op)
{
    struct posix_node *node = node_of(op->node);
    struct store_acl *access = op->u.getacl.access, *defaults = op->u.getacl.defaults;

    op->err = posix_attr(node, &op->attr);
    if (op->err < 0)
        return;
    if (access != NULL) {
        access->count = 0;
        if (!S_ISLNK(node->type))
            op->err = read_acl(node, XATTR_ACCESS, access);
        if (op->err == 0 && access->count == 0)
            acl_from_mode(op->attr.mode, access);
    }
    if (defaults != NULL) {
        defaults->count = 0;
        if (op->err == 0 && S_ISDIR(node->type))
            op->err = read_acl(node, XATTR_DEFAULT, defaults);
    }
}

static int
remove_value(const struct posix_store *ps, int fd, const char *name)
{
    struct fd_path path;
    int result = fremovexattr(fd, name);

    if (result < 0 && errno == EBADF)
        result = removexattr(path_of(ps, fd, &path), name);
    return result < 0 && errno != ENODATA ? -errno : 0;
}

static int
set_value(const struct posix_store *ps, int fd, const char *name, const struct acl_value *value, size_t len)
{
    struct fd_path path;
    int result = fsetxattr(fd, name, value, len, 0);

    if (result < 0 && errno == EBADF)
        result = setxattr(path_of(ps, fd, &path), name, value, len, 0);
    return result < 0 ? -errno : 0;
}

static int
write_acl(const struct posix_node *node, const char *name, const struct store_acl *acl)
{
    struct acl_value value = { .version = htole32(XATTR_VERSION) };

    if (acl == NULL)
        return 0;
    if (acl->count == 0)
        return remove_value(store_of(node->base.store), node->fd, name);
    for (uint32_t i = 0; i < acl->count; i++) {
        value.entries[i].tag = htole16(acl->entries[i].tag);
        value.entries[i].perm = htole16(acl->entries[i].perm);
        value.entries[i].id = htole32(acl->entries[i].id);
    }
    return set_value(store_of(node->base.store), node->fd, name, &value, VALUE_BYTES(acl->count));
}

/* What is refused is refused before anything is set. The kernel checks again. */
static int
may_set(const struct store_op *op, const struct posix_node *node)
{
    struct stat st;

    if (fstat(node->fd, &st) < 0)
        return -errno;
    return acl_may_set(node->type, cred_mode() == CRED_SELF || cred_is_root(op->cred) || op->cred->uid == st.st_uid,
                       op->u.setacl.access, op->u.setacl.defaults);
}

static int
change_acls(struct store_op *op, struct posix_node *node)
{
    int err = may_set(op, node);

    if (err < 0)
        return err;
    cred_assume(op->cred);
    err = write_acl(node, XATTR_ACCESS, op->u.setacl.access);
    if (err == 0 && S_ISDIR(node->type))
        err = write_acl(node, XATTR_DEFAULT, op->u.setacl.defaults);
    if (err == 0 && op->sync)
        err = posix_flush_attr(op_store(op), node);
    return err;
}

void
posix_setacl(struct store_op *op)
{
    struct posix_node *node = node_of(op->node);

    posix_change_begin(node, &op->wcc, &op->private[0]);
    op->err = change_acls(op, node);
    posix_change_end(node, &op->wcc, op->private[0]);
    op->attr = op->wcc.after;
    if (op->err == 0 && !op->attr.present)
        op->err = -ESTALE;
}
