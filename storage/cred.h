/*
 * storage/cred.h - whose rights a thread has while it works for a caller.
 *
 * The kernel decides what a caller may do: a thread takes on the caller's fsuid, fsgid and groups (setfsuid(2)) before
 * it acts for him. Switching costs microseconds, so each thread remembers whom it acts for and switches only when the
 * next caller is another. CAP_SYS_RESOURCE goes with root, as in the kernel's nfsd, or users could fill the blocks that
 * are reserved for root.
 *
 * A process that cannot switch (no root) acts as itself for everybody: CRED_SELF.
 */
#ifndef RINGNFS_STORAGE_CRED_H
#define RINGNFS_STORAGE_CRED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A caller, squashed already. groups is borrowed and has ngroups entries. */
struct store_cred {
    uid_t uid;
    gid_t gid;
    uint32_t ngroups;
    const gid_t *groups;
};

enum cred_mode {
    CRED_SWITCH,                        /* root, or all capabilities that it takes */
    CRED_SELF                           /* an ordinary user: every caller acts as this process */
};

/*
 * To be called first on each thread that will act for callers: gives the thread a umask of its own (0) and notes what it
 * may do. Returns how this thread will act. The same on all threads of a process, as long as its capabilities stay.
 */
enum cred_mode cred_thread_init(void);

/* How the threads of this process will act; changes nothing. Any thread. */
enum cred_mode cred_process_mode(void);

/* How this thread acts; after cred_thread_init(). */
enum cred_mode cred_mode(void);

/* Act for a caller from now on; nothing happens in CRED_SELF. Calling thread only. */
void cred_assume(const struct store_cred *cred);

/* Act as the process itself again (root in CRED_SWITCH). Calling thread only. */
void cred_revert(void);

/* Whether a caller has root's rights (CAP_DAC_OVERRIDE, CAP_FOWNER) in this process. */
bool cred_is_root(const struct store_cred *cred);

/* Whether a gid is among the caller's: his own or a supplementary one. */
bool cred_in_group(const struct store_cred *cred, gid_t gid);

#endif
