/*
 * server/seen_names.h - which path a handle was found by: learnt from calls and their replies as they pass.
 *
 * The table is of a fixed size. When it is full the oldest entry goes, and what was found below it has no path any more:
 * a path that is told is one that the clients have seen, at worst there is none. Not locked.
 */
#ifndef RINGNFS_SERVER_SEEN_NAMES_H
#define RINGNFS_SERVER_SEEN_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/ringnfs.h"

#define SEEN_PATH_MAX 4096              /* bytes of a path, its end among them; a longer one is not known */

struct seen_names;

/* Returns 0 or -ENOMEM. */
int seen_names_new(struct seen_names **names);
void seen_names_free(struct seen_names *names);

/* This handle is a directory that clients name by this path. */
void seen_names_root(struct seen_names *names, const void *handle, size_t len, const char *path, size_t path_len);

/* Learn what a call that is over tells. */
void seen_names_learn(struct seen_names *names, const struct ringnfs_call *seen);

/*
 * The path of a handle, or of a name in the directory that it stands for (name_len 0: of the handle itself). Returns path
 * (SEEN_PATH_MAX bytes), or NULL where it is not known.
 */
const char *seen_names_path(const struct seen_names *names, const void *handle, size_t len, const char *name,
                            size_t name_len, char *path);

#endif
