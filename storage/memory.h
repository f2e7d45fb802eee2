/* storage/memory.h - a store in memory, gone when it is freed: for tests and scratch space. */
#ifndef RINGNFS_STORAGE_MEMORY_H
#define RINGNFS_STORAGE_MEMORY_H

#include "storage/store.h"

struct memory_config {
    uint64_t max_bytes;                 /* of file data and names; -ENOSPC beyond */
    uint64_t max_files;                 /* -ENOSPC beyond */
    uint32_t root_mode;                 /* permission bits of the root directory, e.g. 01777 */
    uint32_t root_uid, root_gid;
    bool unstable;                      /* UNSTABLE data is that until COMMIT, for memory_crash(), and takes twice the memory
                                           until then. Otherwise all that is written is stable at once */
};

/* Returns 0 or -ENOMEM. Operations finish at once, on the calling thread; any number of threads. */
int memory_new(const struct memory_config *config, struct store **store);

/*
 * Lose what a machine loses with its power: data that was written UNSTABLE and not committed is as it was before, and the
 * write verifier is a fresh one. Names, ids, and attributes (but for the times of files that have lost something) stay:
 * all that changes them is stable at once. Any thread.
 */
void memory_crash(struct store *store);

#endif
