/*
 * server/parent.h - to notice the end of the process that a server was started for.
 *
 * PR_SET_PDEATHSIG would not do: it goes off when the thread ends that forked, and the kernel takes it back when a thread
 * changes its credentials, as those of a server do.
 */
#ifndef RINGNFS_SERVER_PARENT_H
#define RINGNFS_SERVER_PARENT_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Watch a process; 0: the parent. Returns a descriptor (close-on-exec) that poll(2) finds readable once the process has
 * ended, or -errno with error: -ESRCH when it has ended already.
 *
 * Whoever has lost his parent before this call has another one, so that only those who give the number are sure to notice.
 */
int parent_watch(pid_t pid, char *error, size_t error_size);

#endif
