/* rpc/listen_local.h - Unix sockets that calls arrive at: names in the file system, made and taken away. For listen.c. */
#ifndef RINGNFS_RPC_LISTEN_LOCAL_H
#define RINGNFS_RPC_LISTEN_LOCAL_H

#include <sys/socket.h>

#include "rpc/listen.h"

/*
 * Make a stream socket of an AF_UNIX address and listen on it. Only its owner and root can connect, since whoever can
 * counts as root here. A socket that is there and that nobody listens on is replaced. Returns 0 and fills in *made, or
 * -errno: -EADDRINUSE: somebody listens there; -EEXIST: it is something else than a socket.
 */
int listen_local_open(const struct sockaddr_storage *address, int backlog, struct listen_socket *made);

/* Take its name away, unless another server has it by now. */
void listen_local_remove(const struct listen_socket *socket);

#endif
