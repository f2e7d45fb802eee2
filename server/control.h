/*
 * server/control.h - the control socket: a Unix stream socket "control" in the state directory, by which the operator
 * asks and changes a running server.
 *
 * A line of JSON is a request, {"command":"exports show", ARGUMENT:TEXT...}, and gets one line back,
 * {"ok":true,"result":...} or {"ok":false,"error":"why not"}; control_commands.h has the commands. Of exports check the
 * error has a line for each mistake. Root and the user that the server runs as may send requests. Everything happens on
 * a thread of its own; workers never wait for it.
 *
 * A file "control.lock" tells a live server's socket from one that was left behind: two servers cannot have one in the
 * same directory.
 */
#ifndef RINGNFS_SERVER_CONTROL_H
#define RINGNFS_SERVER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log.h"

#define CONTROL_SOCKET "control"
#define CONTROL_LOCK "control.lock"
#define CONTROL_LINE_MAX (1 << 20)      /* bytes of a request, the newline among them */
#define CONTROL_CONNECTIONS_MAX 16
#define CONTROL_IDLE_MS 60000           /* without a whole request, or a byte of the reply taken */

struct control;
struct sandbox;
struct server;

struct control_config {
    struct server *server;              /* outlives the control socket; used from control_start() on */
    const char *dir;                    /* the state directory */
    const struct log *log;              /* outlives it, too */
    const struct sandbox *sandbox;      /* likewise; NULL: none */
    uint32_t idle_ms;
    bool inherits;                      /* another server's lock and socket, taken over when control_new() succeeds: */
    int lock_fd, socket_fd;
};

/*
 * Make the socket (mode 0600), in place of one that is left over. Returns 0, or -errno with error: -EADDRINUSE when a
 * live server has one there; -EXDEV when the one to be taken over is in another directory.
 */
int control_new(const struct control_config *config, struct control **control, char *error, size_t error_size);

/* Begin to answer. Returns 0 or -errno. */
int control_start(struct control *control);

/* Lock and socket, for another process. They stay as they are until control_free(). */
void control_descriptors(const struct control *control, int *lock_fd, int *socket_fd);

/* Accept no connections for a while, or go on: when it returns, that is so. Between control_start() and control_free(). */
void control_hold(struct control *control, bool hold);

/* Another process has the socket now: control_free() leaves it. NULL is fine. */
void control_leave(struct control *control);

/* Finish the command under way, close all connections, take the socket away. NULL is fine. */
void control_free(struct control *control);

/* For clients: connect to the socket in a directory. Returns the descriptor (blocking) or -errno. */
int control_connect(const char *dir);

#endif
