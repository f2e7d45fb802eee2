/*
 * server/tree.h - files that the operator puts into a memory: export, by their paths and whoever's they are; fill.h takes
 * them from elsewhere.
 *
 * Paths begin at the export's root, with or without a slash. Components are looked up as they are: no symbolic link is
 * followed, and ".." is refused, so nothing leads out. Missing directories above are made, root's and with mode 0755. All
 * functions return 0 or -errno, and then the error line names source and path. Any thread: each step is one operation of
 * the store's, and calls of clients may come between two.
 */
#ifndef RINGNFS_SERVER_TREE_H
#define RINGNFS_SERVER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "storage/store.h"

/* Where to put files, and where to say what went wrong. The store's operations have to finish at once. */
struct tree {
    struct store *store;
    const char *source;                 /* stands before the path in errors; "": nothing does */
    char *error;
    size_t error_size;
};

struct tree_attr {
    uint32_t mode;                      /* 07777 */
    uint32_t uid, gid;
    bool has_mtime;
    struct timespec mtime;
};

/* Say what went wrong with a path; returns err. why NULL: what strerror(3) says. */
int tree_fail(const struct tree *tree, const char *path, int err, const char *why);

/* A directory; one that is there gets these attributes. */
int tree_dir(const struct tree *tree, const char *path, const struct tree_attr *attr);

/*
 * An empty file, to be written to; one that is there is emptied and keeps its handle. *file is a reference, to be given to
 * tree_file_end(), which sets the attributes and the size.
 */
int tree_file(const struct tree *tree, const char *path, const struct tree_attr *attr, struct store_node **file);
int tree_write(const struct tree *tree, const char *path, struct store_node *file, uint64_t offset, const void *data,
               size_t len);
int tree_file_end(const struct tree *tree, const char *path, struct store_node *file, uint64_t size,
                  const struct tree_attr *attr);

/* These take the place of what is there, if that is no directory. type: S_IFMT bits. */
int tree_symlink(const struct tree *tree, const char *path, const char *text, const struct tree_attr *attr);
int tree_special(const struct tree *tree, const char *path, mode_t type, uint32_t major, uint32_t minor,
                 const struct tree_attr *attr);
int tree_link(const struct tree *tree, const char *path, const char *to);

/* The time of a directory, once all is in it; and the owner of anything. */
int tree_set_mtime(const struct tree *tree, const char *path, struct timespec mtime);
int tree_set_owner(const struct tree *tree, const char *path, uint32_t uid, uint32_t gid);

/* A file's contents; *data is to be freed. */
int tree_read(const struct tree *tree, const char *path, void **data, size_t *len);

#endif
