/* server/fill.h - fill a memory: export from a directory or an archive. */
#ifndef RINGNFS_SERVER_FILL_H
#define RINGNFS_SERVER_FILL_H

#include "server/tree.h"

/*
 * Put all that is in a directory, or in a tar archive (ustar, pax, GNU; also compressed), into a store: types, contents,
 * holes, modes, owners, times of modification, symbolic and hard links, devices; no extended attributes. What is there
 * stays or is replaced. source->source is the file's name. Nothing leads out of the store: archives with absolute names or
 * ".." are refused. Returns 0 or -errno, and then the error line names what was the trouble; what was put there before
 * stays. -EOPNOTSUPP: this build reads no archives. Blocks on the disk; any thread.
 */
int fill_store(const struct tree *tree);

/* The two kinds. fd: of the directory, or of the archive, and taken over. */
int fill_from_dir(const struct tree *tree, int fd);
int fill_from_archive(const struct tree *tree, int fd);

#endif
