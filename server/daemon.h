/* server/daemon.h - leaving the terminal, but not before everything works. */
#ifndef RINGNFS_SERVER_DAEMON_H
#define RINGNFS_SERVER_DAEMON_H

/*
 * Go on in a child. The parent does not return from here: it waits until the child calls daemon_ready(), and then exits
 * with 0, or until the child ends, and then exits with the child's status. Before any thread is started. Returns a
 * descriptor for daemon_ready() in the child, or -errno.
 */
int daemon_begin(void);

/*
 * Let the parent go, and leave its session, its directory, standard input and output; standard error too, unless it is
 * a file or a socket, where somebody may read it later. Returns 0 or -errno.
 */
int daemon_ready(int fd);

#endif
