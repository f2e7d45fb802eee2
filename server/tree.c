/* server/tree.c - see tree.h. */
#include "server/tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "server/log.h"

#define SHOWN_MAX 256                   /* bytes of a path that are shown */
#define WRITE_MAX ((size_t)1 << 20)     /* bytes of one operation */
#define PARENT_MODE 0755

static const struct store_cred root = { .uid = 0 };

/* One name in a directory, of which a reference is held. */
struct place {
    struct store_node *dir;
    const char *name;
    size_t len;
};

int
tree_fail(const struct tree *tree, const char *path, int err, const char *why)
{
    char shown[SHOWN_MAX];

    snprintf(tree->error, tree->error_size, "%s%s%s: %s", tree->source, *tree->source != '\0' ? ": " : "",
             log_quote(shown, sizeof(shown), path, strlen(path)), why != NULL ? why : strerror(-err));
    return err;
}

static struct store_op
begin(const char *name, size_t len)
{
    return (struct store_op){ .cred = &root, .name = name, .name_len = len };
}

/* The node that an operation has found or made. */
static int
get_child(const struct tree *tree, const struct store_op *op, struct store_node **node)
{
    struct store_op get = begin(NULL, 0);
    int err = store_get(tree->store, &op->child, &get);

    *node = err == 0 ? get.r.get.node : NULL;
    return err;
}

/* A name in a directory. Returns 0, -ENOENT or another -errno. */
static int
look_up(const struct tree *tree, const struct place *at, struct store_node **node)
{
    struct store_op op = begin(at->name, at->len);
    int err = store_lookup(at->dir, &op);

    *node = NULL;
    return err < 0 ? err : get_child(tree, &op, node);
}

static int
make_dir(const struct tree *tree, const struct place *at, uint32_t mode, struct store_node **node)
{
    const struct store_setattr set = { .set_mode = true, .mode = mode };
    struct store_op op = begin(at->name, at->len);
    int err;

    op.u.mkdir.set = &set;
    err = store_mkdir(at->dir, &op);
    return err < 0 ? err : get_child(tree, &op, node);
}

/* The next component of a path, which *path then stands behind; false: there is none. */
static bool
next_name(const char **path, const char **name, size_t *len)
{
    do {
        *path += strspn(*path, "/");
        *name = *path;
        *len = strcspn(*path, "/");
        *path += *len;
    } while (*len == 1 && **name == '.');
    return *len > 0;
}

static const char *
explain_name(const char *name, size_t len)
{
    if (len == 2 && memcmp(name, "..", 2) == 0)
        return "it has .. in it";
    return len > STORE_NAME_MAX ? "a name in it is longer than 255 bytes" : NULL;
}

/* Go from a directory, whose reference is taken over, into one below it. */
static int
enter(const struct tree *tree, struct place *at, bool make)
{
    struct store_node *below;
    int err = look_up(tree, at, &below);

    if (err == -ENOENT && make)
        err = make_dir(tree, at, PARENT_MODE, &below);
    if (err < 0)
        return err;
    store_put(tree->store, at->dir);
    at->dir = below;
    return 0;
}

/*
 * Where a path leads; at->dir is to be given back. at->len is 0 for the root itself. make: directories above that are
 * missing.
 */
static int
find_place(const struct tree *tree, const char *path, bool make, struct place *at)
{
    const char *rest = path, *name;
    size_t len;
    int err = 0;

    *at = (struct place){ .dir = tree->store->root };
    store_ref(tree->store, at->dir);
    while (err == 0 && next_name(&rest, &name, &len)) {
        const char *wrong = explain_name(name, len);

        if (at->len > 0)
            err = enter(tree, at, make);
        if (wrong != NULL)
            err = tree_fail(tree, path, len > STORE_NAME_MAX ? -ENAMETOOLONG : -EINVAL, wrong);
        else if (err < 0)
            tree_fail(tree, path, err, NULL);
        at->name = name;
        at->len = len;
    }
    if (err < 0)
        store_put(tree->store, at->dir);
    return err;
}

/* The node of a path; to be given back. */
static int
find(const struct tree *tree, const char *path, struct store_node **node)
{
    struct place at;
    int err = find_place(tree, path, false, &at);

    if (err < 0)
        return err;
    if (at.len == 0) {
        *node = at.dir;
        return 0;
    }
    err = look_up(tree, &at, node);
    store_put(tree->store, at.dir);
    return err < 0 ? tree_fail(tree, path, err, NULL) : 0;
}

static int
set_attr(const struct tree *tree, struct store_node *node, const struct tree_attr *attr, const uint64_t *size)
{
    struct store_setattr set = { .set_mode = store_node_type(tree->store, node) != S_IFLNK, .mode = attr->mode,
                                 .set_uid = true, .uid = attr->uid, .set_gid = true, .gid = attr->gid,
                                 .set_size = size != NULL, .size = size != NULL ? *size : 0 };
    struct store_op op = begin(NULL, 0);

    if (attr->has_mtime) {
        set.set_mtime = set.set_atime = STORE_TIME_SET;
        set.mtime = set.atime = attr->mtime;
    }
    op.u.setattr.set = &set;
    return store_setattr(node, &op);
}

/* Give what was just made its attributes, and its reference back; err: what making it came to. */
static int
finish(const struct tree *tree, const char *path, const struct place *at, struct store_node *node, int err,
       const struct tree_attr *attr)
{
    struct store_setattr mode = { .set_mode = true };
    struct store_op op = begin(NULL, 0);

    if (err == 0)
        err = set_attr(tree, node, attr, NULL);
    if (err == 0 && (attr->mode & (S_ISUID | S_ISGID)) != 0) {
        mode.mode = attr->mode;                         /* a change of the owner takes these away */
        op.u.setattr.set = &mode;
        err = store_setattr(node, &op);
    }
    if (node != NULL)
        store_put(tree->store, node);
    store_put(tree->store, at->dir);
    return err < 0 ? tree_fail(tree, path, err, NULL) : 0;
}

int
tree_dir(const struct tree *tree, const char *path, const struct tree_attr *attr)
{
    struct store_node *node = NULL;
    struct place at;
    int err = find_place(tree, path, true, &at);

    if (err < 0)
        return err;
    if (at.len == 0) {
        node = at.dir;
        store_ref(tree->store, node);
    } else {
        err = look_up(tree, &at, &node);
        if (err == -ENOENT)
            err = make_dir(tree, &at, attr->mode, &node);
        else if (err == 0 && !S_ISDIR(store_node_type(tree->store, node)))
            err = -ENOTDIR;
    }
    return finish(tree, path, &at, node, err, attr);
}

int
tree_file(const struct tree *tree, const char *path, const struct tree_attr *attr, struct store_node **file)
{
    const struct store_setattr set = { .set_mode = true, .mode = attr->mode & 0777, .set_size = true };
    struct store_op op;
    struct place at;
    int err = find_place(tree, path, true, &at);

    if (err < 0)
        return err;
    op = begin(at.name, at.len);
    op.u.create.how = STORE_UNCHECKED;
    op.u.create.set = &set;
    err = at.len > 0 ? store_create(at.dir, &op) : -EISDIR;
    if (err == 0)
        err = get_child(tree, &op, file);
    store_put(tree->store, at.dir);
    return err < 0 ? tree_fail(tree, path, err, NULL) : 0;
}

int
tree_write(const struct tree *tree, const char *path, struct store_node *file, uint64_t offset, const void *data,
           size_t len)
{
    const uint8_t *from = data;

    while (len > 0) {
        struct store_op op = begin(NULL, 0);
        int err;

        op.u.write.offset = offset;
        op.u.write.length = (uint32_t)MIN(len, WRITE_MAX);
        op.u.write.data = from;
        err = store_write(file, &op);
        if (err < 0)
            return tree_fail(tree, path, err, NULL);
        offset += op.r.write.done;
        from += op.r.write.done;
        len -= op.r.write.done;
    }
    return 0;
}

int
tree_file_end(const struct tree *tree, const char *path, struct store_node *file, uint64_t size,
              const struct tree_attr *attr)
{
    const struct place at = { .dir = tree->store->root };
    int err = set_attr(tree, file, attr, &size);

    store_ref(tree->store, at.dir);
    return finish(tree, path, &at, file, err, attr);
}

/* A place for something new: what is there goes, unless it is a directory. */
static int
find_free_place(const struct tree *tree, const char *path, struct place *at)
{
    struct store_op op;
    int err = find_place(tree, path, true, at);

    if (err < 0)
        return err;
    op = begin(at->name, at->len);
    err = at->len > 0 ? store_remove(at->dir, &op) : -EISDIR;
    if (err == 0 || err == -ENOENT)
        return 0;
    store_put(tree->store, at->dir);
    return tree_fail(tree, path, err, NULL);
}

int
tree_symlink(const struct tree *tree, const char *path, const char *text, const struct tree_attr *attr)
{
    const struct store_setattr set = { .set_mode = false };
    struct store_node *node = NULL;
    struct store_op op;
    struct place at;
    int err = find_free_place(tree, path, &at);

    if (err < 0)
        return err;
    op = begin(at.name, at.len);
    op.u.symlink.set = &set;
    op.u.symlink.text = text;
    op.u.symlink.text_len = strlen(text);
    err = store_symlink(at.dir, &op);
    if (err == 0)
        err = get_child(tree, &op, &node);
    return finish(tree, path, &at, node, err, attr);
}

int
tree_special(const struct tree *tree, const char *path, mode_t type, uint32_t major, uint32_t minor,
             const struct tree_attr *attr)
{
    const struct store_setattr set = { .set_mode = true, .mode = attr->mode & 0777 };
    struct store_node *node = NULL;
    struct store_op op;
    struct place at;
    int err = find_free_place(tree, path, &at);

    if (err < 0)
        return err;
    op = begin(at.name, at.len);
    op.u.mknod.set = &set;
    op.u.mknod.type = type;
    op.u.mknod.major = major;
    op.u.mknod.minor = minor;
    err = store_mknod(at.dir, &op);
    if (err == 0)
        err = get_child(tree, &op, &node);
    return finish(tree, path, &at, node, err, attr);
}

int
tree_link(const struct tree *tree, const char *path, const char *to)
{
    struct store_node *node;
    struct store_op op;
    struct place at;
    int err = find(tree, to, &node);

    if (err < 0)
        return err;
    err = find_free_place(tree, path, &at);
    if (err == 0) {
        op = begin(at.name, at.len);
        op.u.link.dir = at.dir;
        err = store_link(node, &op);
        if (err < 0)
            tree_fail(tree, path, err, NULL);
        store_put(tree->store, at.dir);
    }
    store_put(tree->store, node);
    return err;
}

static int
change(const struct tree *tree, const char *path, const struct store_setattr *set)
{
    struct store_op op = begin(NULL, 0);
    struct store_node *node;
    int err = find(tree, path, &node);

    if (err < 0)
        return err;
    op.u.setattr.set = set;
    err = store_setattr(node, &op);
    store_put(tree->store, node);
    return err < 0 ? tree_fail(tree, path, err, NULL) : 0;
}

int
tree_set_mtime(const struct tree *tree, const char *path, struct timespec mtime)
{
    const struct store_setattr set = { .set_mtime = STORE_TIME_SET, .mtime = mtime, .set_atime = STORE_TIME_SET,
                                       .atime = mtime };

    return change(tree, path, &set);
}

int
tree_set_owner(const struct tree *tree, const char *path, uint32_t uid, uint32_t gid)
{
    const struct store_setattr set = { .set_uid = true, .uid = uid, .set_gid = true, .gid = gid };

    return change(tree, path, &set);
}

/* Read a file, however long it is now. */
static int
read_all(struct store_node *node, void **data, size_t *len)
{
    size_t room = 0;
    bool eof = false;

    *data = NULL;
    for (*len = 0; !eof;) {
        struct store_op op = begin(NULL, 0);
        void *grown = realloc(*data, room = *len + WRITE_MAX);
        int err;

        if (grown == NULL)
            return -ENOMEM;
        *data = grown;
        op.u.read.offset = *len;
        op.u.read.length = (uint32_t)(room - *len);
        op.u.read.data = (uint8_t *)*data + *len;
        op.u.read.pipe = -1;
        err = store_read(node, &op);
        if (err < 0)
            return err;
        *len += op.r.read.done;
        eof = op.r.read.eof;
    }
    return 0;
}

int
tree_read(const struct tree *tree, const char *path, void **data, size_t *len)
{
    struct store_node *node;
    int err = find(tree, path, &node);

    if (err < 0)
        return err;
    err = read_all(node, data, len);
    store_put(tree->store, node);
    if (err == 0)
        return 0;
    free(*data);
    *data = NULL;
    return tree_fail(tree, path, err, NULL);
}
