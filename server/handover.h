/*
 * server/handover.h - the old server's part in a restart: a new one is started, gets the sockets, and goes on.
 *
 * The order of things (channel.h has the messages):
 *   1. The starter runs the program anew. The new server reads its settings and exports, gets an offer (the listening
 *      sockets, the control socket, journal and capture file, exports that were added and removed), and builds all of
 *      itself. The old one serves.
 *   2. When the new one is ready, the old one reads no more calls, answers those under way, and sends what it knows: the
 *      replay cache, the connections, and bytes of theirs on either side of a call.
 *   3. The new one says that it serves, and does. The old one ends without a word to anybody.
 * Whatever goes wrong before the last message: the old server goes on where it was. It cuts the channel first, so that the
 * message has come or never will.
 */
#ifndef RINGNFS_SERVER_HANDOVER_H
#define RINGNFS_SERVER_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>

struct handover;
struct server;
struct server_process;

/* The server can hand over from now on; it outlives this. Returns 0 or -errno. */
int handover_new(struct server *server, const struct server_process *process, struct handover **handover);

/*
 * Begin; what comes of it is written to fd as one of the control socket's answers, and fd, a descriptor of its own, is
 * closed. Returns 0, or -errno with error and fd is still the caller's: -EALREADY when one is under way, -EOPNOTSUPP when
 * this server cannot, or when a restart would lose what it serves. Any thread; NULL cannot.
 */
int handover_begin(struct handover *handover, int fd, char *error, size_t error_size);

/* One is under way, or is done. Any thread; NULL never is. */
bool handover_is_busy(const struct handover *handover);

/* A descriptor that is readable once another process serves; -1: that will never be. */
int handover_event(const struct handover *handover);

/* Another process serves. */
bool handover_is_done(const struct handover *handover);

/* Give up what is under way, if it can still be given up, and begin nothing any more. NULL is fine, as for all below. */
void handover_stop(struct handover *handover);

void handover_free(struct handover *handover);

#endif
