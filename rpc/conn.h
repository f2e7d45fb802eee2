/* rpc/conn.h - one stream connection: bytes in, calls out, replies back. */
#ifndef RINGNFS_RPC_CONN_H
#define RINGNFS_RPC_CONN_H

struct handed_conn;
struct transport;

/*
 * Serve a connected stream socket from now on; from: where another process was with it, or NULL. Returns 0 or -errno
 * (-EMFILE: the server has as many connections as it may; -EUSERS: this client has; -ESHUTDOWN: it is draining;
 * -EBADMSG: `from` makes no sense); the descriptor is closed then.
 */
int conn_open(struct transport *transport, int fd, const struct handed_conn *from);

#endif
