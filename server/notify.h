/*
 * server/notify.h - what a service manager is told of this process: sd_notify(3)'s datagrams to $NOTIFY_SOCKET.
 *
 * Where nobody has set that variable nobody is told, and all is well. Whoever does not listen is waited for a few seconds
 * at most. All functions return 0 or -errno with error, one line. Any thread that may use sockets (sandbox.h).
 */
#ifndef RINGNFS_SERVER_NOTIFY_H
#define RINGNFS_SERVER_NOTIFY_H

#include <stddef.h>
#include <sys/types.h>

/* Calls are answered, or a reload is over. */
int notify_ready(char *error, size_t error_size);

/* Exports are being read again; notify_ready() is to follow. */
int notify_reloading(char *error, size_t error_size);

/* The end has begun. */
int notify_stopping(char *error, size_t error_size);

/* From now on another process is the service. The manager believes that of the one before it alone. */
int notify_follower(pid_t pid, char *error, size_t error_size);

#endif
