/* server/fill.c - fill a memory: export from a directory; fill_archive.c has the other kind. */
#include "server/fill.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CHUNK ((size_t)256 << 10)       /* bytes that are read at once */
#define DEPTH_MAX 256                   /* directories within one another: each takes a descriptor */
#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

/* A file with several names, and the first of them. */
struct first_name {
    dev_t dev;
    ino_t ino;
    char *path;
};

struct filling {
    const struct tree *tree;
    void *first_names;                  /* tsearch(3) */
    uint8_t *chunk;
    unsigned depth;
};

static int fill_dir(struct filling *filling, int fd, const char *path);

static int
compare_files(const void *a, const void *b)
{
    const struct first_name *one = a, *other = b;

    if (one->dev != other->dev)
        return one->dev < other->dev ? -1 : 1;
    return one->ino < other->ino ? -1 : one->ino > other->ino;
}

static void
free_first_name(void *entry)
{
    free(((struct first_name *)entry)->path);
    free(entry);
}

/* Whether a file has been put there by another name, which *first then is; else this name is the first. */
static int
find_first_name(struct filling *filling, const struct stat *st, const char *path, const char **first)
{
    struct first_name *entry = calloc(1, sizeof(*entry)), **found;

    *first = NULL;
    if (entry == NULL)
        return -ENOMEM;
    *entry = (struct first_name){ .dev = st->st_dev, .ino = st->st_ino };
    found = tsearch(entry, &filling->first_names, compare_files);
    if (found != NULL && *found != entry)
        *first = (*found)->path;
    else if (found != NULL && (entry->path = strdup(path)) != NULL)
        return 0;
    if (found != NULL && *found == entry)
        tdelete(entry, &filling->first_names, compare_files);
    free(entry);
    return *first != NULL ? 0 : -ENOMEM;
}

static struct tree_attr
attr_of(const struct stat *st)
{
    return (struct tree_attr){ .mode = st->st_mode & 07777, .uid = st->st_uid, .gid = st->st_gid, .has_mtime = true,
                               .mtime = st->st_mtim };
}

/* Copy what a file has between two offsets. */
static int
copy_range(struct filling *filling, int fd, const char *path, struct store_node *file, off_t from, off_t to)
{
    while (from < to) {
        ssize_t n = pread(fd, filling->chunk, to - from < (off_t)CHUNK ? (size_t)(to - from) : CHUNK, from);
        int err;

        if (n < 0)
            return tree_fail(filling->tree, path, -errno, NULL);
        if (n == 0)
            return 0;                                   /* it has been cut meanwhile */
        err = tree_write(filling->tree, path, file, (uint64_t)from, filling->chunk, (size_t)n);
        if (err < 0)
            return err;
        from += n;
    }
    return 0;
}

static int
copy_data(struct filling *filling, int fd, const char *path, struct store_node *file, off_t size)
{
    off_t from, to = 0;
    int err = 0;

    while (err == 0 && to < size) {
        from = lseek(fd, to, SEEK_DATA);
        if (from < 0)
            return errno == ENXIO ? 0 : tree_fail(filling->tree, path, -errno, NULL);
        to = lseek(fd, from, SEEK_HOLE);
        if (to < 0)
            return tree_fail(filling->tree, path, -errno, NULL);
        err = copy_range(filling, fd, path, file, from, to);
    }
    return err;
}

static int
put_file(struct filling *filling, int fd, const char *path, const struct stat *st)
{
    struct tree_attr attr = attr_of(st);
    struct store_node *file;
    int err = tree_file(filling->tree, path, &attr, &file);

    if (err < 0)
        return err;
    err = copy_data(filling, fd, path, file, st->st_size);
    if (err < 0) {
        store_put(filling->tree->store, file);
        return err;
    }
    return tree_file_end(filling->tree, path, file, (uint64_t)st->st_size, &attr);
}

static int
put_symlink(struct filling *filling, int dir, const char *name, const char *path, const struct stat *st)
{
    struct tree_attr attr = attr_of(st);
    char text[STORE_LINK_MAX + 1];
    ssize_t len = readlinkat(dir, name, text, sizeof(text) - 1);

    if (len < 0)
        return tree_fail(filling->tree, path, -errno, NULL);
    text[len] = '\0';
    return tree_symlink(filling->tree, path, text, &attr);
}

/* A directory or a file, which has to be opened. */
static int
put_opened(struct filling *filling, int dir, const char *name, const char *path)
{
    int fd = openat(dir, name, OPEN_FLAGS), err;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        err = tree_fail(filling->tree, path, -errno, NULL);
        if (fd >= 0)
            close(fd);
        return err;
    }
    if (S_ISDIR(st.st_mode))
        return fill_dir(filling, fd, path);
    err = put_file(filling, fd, path, &st);
    close(fd);
    return err;
}

static int
put_entry(struct filling *filling, int dir, const char *name, const char *path)
{
    const char *first = NULL;
    struct tree_attr attr;
    struct stat st;
    int err = 0;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return tree_fail(filling->tree, path, -errno, NULL);
    if (!S_ISDIR(st.st_mode) && st.st_nlink > 1)
        err = find_first_name(filling, &st, path, &first);
    if (err < 0)
        return tree_fail(filling->tree, path, err, NULL);
    if (first != NULL)
        return tree_link(filling->tree, path, first);
    if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
        return put_opened(filling, dir, name, path);
    if (S_ISLNK(st.st_mode))
        return put_symlink(filling, dir, name, path, &st);
    attr = attr_of(&st);
    return tree_special(filling->tree, path, st.st_mode & S_IFMT, major(st.st_rdev), minor(st.st_rdev), &attr);
}

static int
compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int
is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* In the order of names, so that the same directory gives the same ids. */
static int
put_entries(struct filling *filling, int fd, const char *path)
{
    struct dirent **entries = NULL;
    int count = scandirat(fd, ".", &entries, is_entry, compare_names), err = 0;
    char *below;

    if (count < 0)
        return tree_fail(filling->tree, path, -errno, NULL);
    for (int i = 0; i < count; i++) {
        if (err == 0 && asprintf(&below, "%s/%s", path, entries[i]->d_name) < 0) {
            err = tree_fail(filling->tree, path, -ENOMEM, NULL);
        } else if (err == 0) {
            err = put_entry(filling, fd, entries[i]->d_name, below);
            free(below);
        }
        free(entries[i]);
    }
    free(entries);
    return err;
}

/* Put a directory and all below it; fd is taken over. path "": the export's root. */
static int
fill_dir(struct filling *filling, int fd, const char *path)
{
    struct tree_attr attr;
    struct stat st;
    int err;

    if (filling->depth == DEPTH_MAX) {
        close(fd);
        return tree_fail(filling->tree, path, -ELOOP, "it has more than 256 directories above it");
    }
    filling->depth++;
    err = fstat(fd, &st) < 0 ? tree_fail(filling->tree, path, -errno, NULL) : 0;
    attr = attr_of(&st);
    if (err == 0)
        err = tree_dir(filling->tree, path, &attr);
    if (err == 0)
        err = put_entries(filling, fd, path);
    if (err == 0)
        err = tree_set_mtime(filling->tree, path, attr.mtime);
    filling->depth--;
    close(fd);
    return err;
}

int
fill_from_dir(const struct tree *tree, int fd)
{
    struct filling filling = { .tree = tree, .chunk = malloc(CHUNK) };
    int err;

    if (filling.chunk == NULL) {
        close(fd);
        return tree_fail(tree, "", -ENOMEM, NULL);
    }
    err = fill_dir(&filling, fd, "");
    tdestroy(filling.first_names, free_first_name);
    free(filling.chunk);
    return err;
}

int
fill_store(const struct tree *tree)
{
    const struct tree named = { .store = tree->store, .source = "", .error = tree->error, .error_size = tree->error_size };
    int fd = open(tree->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return tree_fail(&named, tree->source, -errno, NULL);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return fill_from_dir(tree, fd);
    return fill_from_archive(tree, fd);
}
