/* server/sandbox_filter.h - which system calls each kind of thread may make; for sandbox.c. */
#ifndef RINGNFS_SERVER_SANDBOX_FILTER_H
#define RINGNFS_SERVER_SANDBOX_FILTER_H

#include <linux/filter.h>

#include "server/sandbox.h"

/* A filter for seccomp(2), made once and loaded by each thread. */
struct sandbox_filter {
    struct sock_fprog program;
};

/* Returns 0 or -errno: -ENOSYS when this build has no libseccomp. */
int sandbox_filter_make(enum sandbox_role role, struct sandbox_filter *filter);
void sandbox_filter_fini(struct sandbox_filter *filter);

/* Put the calling thread under it; it may gain no privileges by then (PR_SET_NO_NEW_PRIVS). Returns 0 or -errno. */
int sandbox_filter_load(const struct sandbox_filter *filter);

#endif
