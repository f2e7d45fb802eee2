/*
 * server/state.h - the state directory: the handle key, and lists that outlive the server.
 *
 * Whoever can read the key can make handles, so directory and files belong to the server's user alone. A key that is
 * torn, foreign or readable by others is refused and never written over: a new key would turn every client's handles
 * stale, and that is for the operator to decide.
 */
#ifndef RINGNFS_SERVER_STATE_H
#define RINGNFS_SERVER_STATE_H

#include <stddef.h>

#include "storage/fh.h"

struct state;

/*
 * Open the directory, making it (mode 0700) and the key (file "handle-key", 32 hexadecimal digits, mode 0600) when they
 * are missing. dir NULL: /var/lib/ringnfs for root, else $XDG_STATE_HOME/ringnfs or $HOME/.local/state/ringnfs.
 * Two that start at once agree on one key. Returns 0, or -errno and error holds one line that names the file: -EBADMSG
 * for a key that is no key, -EPERM for one that is not ours alone.
 */
int state_open(const char *dir, struct state **state, char *error, size_t error_size);

/*
 * A state without a directory: a key that nobody else has, and files that are never there; what is written is lost. For a
 * server that leaves nothing behind. Returns 0 or -errno.
 */
int state_new_stateless(struct state **state);

/* From now on the key is made from a seed (storage/seed.h), whatever the directory has. Before anybody uses it. */
void state_seed_key(struct state *state, uint64_t seed);

void state_close(struct state *state);

/* Where state is kept when nobody says; to be freed. NULL when memory is short, or (errno ENOENT) there is no home. */
char *state_default_dir(void);

/* The key of all handles; lives as long as the state. Any thread, like all below. */
const struct fh_key *state_key(const struct state *state);

/* The directory's path; NULL: there is none. */
const char *state_dir(const struct state *state);

/*
 * Replace a file whole: after a crash it has the old contents or the new. name has no slash. May block on the disk.
 * Returns 0 or -errno.
 */
int state_write_file(struct state *state, const char *name, const void *data, size_t len);

/*
 * Read a file whole; *data is the caller's to free and has a NUL behind its len bytes. Returns 0, -ENOENT when there is
 * none, -EPERM when others than the server's user may write to it, -EINVAL when it is no plain file (-ELOOP: a symbolic
 * link), -EFBIG when it has more than max bytes, or another -errno.
 */
int state_read_file(struct state *state, const char *name, size_t max, void **data, size_t *len);

#endif
