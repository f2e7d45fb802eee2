/* storage/posix.h - a store over a directory of the machine's own file systems. */
#ifndef RINGNFS_STORAGE_POSIX_H
#define RINGNFS_STORAGE_POSIX_H

#include "storage/store.h"

struct posix_config {
    const char *path;                   /* directory to serve; absolute, links in it resolved by the caller */
    unsigned max_open;                  /* files kept open; twice as many while their data waits for a flush */
    enum { POSIX_INLINE_AUTO, POSIX_INLINE_ON, POSIX_INLINE_OFF } inline_mode;  /* whether name operations run on the worker */
};

/*
 * Returns 0, or -errno: -ENOENT, -ENOTDIR, -EACCES as open(2) has them, -EOPNOTSUPP where the file system has no usable
 * ids. Any thread.
 */
int posix_new(const struct posix_config *config, struct store **store);

/* Remember the names of files that are looked up, for store_inside(). May be called again. Returns 0 or -ENOMEM. Any thread. */
int posix_keep_names(struct store *store);

/*
 * What a directory below the root is to look-ups from its parent: its fsid and fileid as in store_attr. path: names
 * between slashes, the first one below the root. Where something is mounted on it, that is the directory underneath, or
 * what is mounted when this process cannot look underneath. Returns 0 or -errno, -ELOOP for a symbolic link on the way.
 * May block. Any thread.
 */
int posix_see(struct store *store, const char *path, uint64_t *fsid, uint64_t *fileid);

#endif
