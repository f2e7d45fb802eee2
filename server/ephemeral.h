/* server/ephemeral.h - the state directory of a server that leaves nothing behind. */
#ifndef RINGNFS_SERVER_EPHEMERAL_H
#define RINGNFS_SERVER_EPHEMERAL_H

#include <stddef.h>

/*
 * Make a directory (mode 0700) with a name that nobody else has, below $TMPDIR or /tmp. *dir is to be given to
 * ephemeral_remove(). Returns 0 or -errno with error.
 */
int ephemeral_new(char **dir, char *error, size_t error_size);

/* Take the directory and the files in it away, and free its name. NULL is fine. */
void ephemeral_remove(char *dir);

#endif
