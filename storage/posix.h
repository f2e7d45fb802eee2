/* storage/posix.h - a store over a directory of the machine's own file systems. */
#ifndef RINGNFS_STORAGE_POSIX_H
#define RINGNFS_STORAGE_POSIX_H

#include "storage/store.h"

struct posix_config {
    const char *path;                   /* directory to serve; absolute, links in it resolved by the caller */
    unsigned max_open;                  /* files kept open, shared by nobody else */
    enum { POSIX_INLINE_AUTO, POSIX_INLINE_ON, POSIX_INLINE_OFF } inline_mode;  /* whether name operations run on the worker */
};

/*
 * Returns 0, or -errno: -ENOENT, -ENOTDIR, -EACCES as open(2) has them, -EOPNOTSUPP where the file system has no usable
 * ids. Any thread.
 */
int posix_new(const struct posix_config *config, struct store **store);

#endif
