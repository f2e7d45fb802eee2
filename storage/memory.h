/* storage/memory.h - a store in memory, gone when it is freed: for tests and scratch space. */
#ifndef RINGNFS_STORAGE_MEMORY_H
#define RINGNFS_STORAGE_MEMORY_H

#include "storage/store.h"

struct memory_config {
    uint64_t max_bytes;                 /* of file data and names; -ENOSPC beyond */
    uint64_t max_files;                 /* -ENOSPC beyond */
    uint64_t user_bytes, user_files;    /* of what one user owns, but root; -EDQUOT beyond; 0: no limit */
    uint32_t root_mode;                 /* permission bits of the root directory, e.g. 01777 */
    uint32_t root_uid, root_gid;
    bool unstable;                      /* UNSTABLE data is that until COMMIT, for memory_crash(), and takes twice the memory
                                           until then. Otherwise all that is written is stable at once */
    uint64_t seed;                      /* of all that is random (seed.h): the same calls get the same answers */
    bool counted_clock;                 /* time begins with the year 2000, and each change takes a millisecond */
};

/* Returns 0 or -ENOMEM. Operations finish at once, on the calling thread; any number of threads. */
int memory_new(const struct memory_config *config, struct store **store);

/*
 * Lose what a machine loses with its power: data that was written UNSTABLE and not committed is as it was before, and the
 * write verifier is a fresh one. Names, ids, and attributes (but for the times of files that have lost something) stay:
 * all that changes them is stable at once. Any thread.
 */
void memory_crash(struct store *store);

/* Whether a store is one of these. */
bool memory_is(const struct store *store);

/*
 * A copy of a store's whole tree, and going back to it, any number of times. Each operation of others comes before all of
 * it or after. After a restore the ids of files that are in the snapshot name them as they were, also of those that had
 * been removed; the ids of all others are stale for ever. Clock, and numbers for new files, go on: nothing that is made
 * afterwards is taken for something that was there before. What was not stable when the snapshot was made is so after the
 * restore. A snapshot takes as much memory as the tree does.
 */
struct memory_snapshot;

/* Returns 0 or -ENOMEM. *snapshot is the caller's; it may outlive the store. */
int memory_snapshot_new(struct store *store, struct memory_snapshot **snapshot);

/* Returns 0, -ENOMEM and nothing has changed, or -EXDEV when the snapshot is of another store. */
int memory_restore(struct store *store, const struct memory_snapshot *snapshot);

void memory_snapshot_free(struct memory_snapshot *snapshot);

#endif
