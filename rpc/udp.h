/* rpc/udp.h - a datagram socket: each datagram is one call, each reply one datagram. */
#ifndef RINGNFS_RPC_UDP_H
#define RINGNFS_RPC_UDP_H

struct transport;

/* Serve a bound UDP socket from now on. Returns 0 or -errno; the descriptor is closed then. */
int udp_open(struct transport *transport, int fd);

/*
 * Have the address that a datagram was sent to reported with it. To be asked before the socket is bound: the kernel notes
 * it when a datagram arrives, not when it is read. Returns 0 or -errno.
 */
int udp_ask_for_local(int fd, int family);

#endif
