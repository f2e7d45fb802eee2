/* rpc/udp.h - a datagram socket: each datagram is one call, each reply one datagram. */
#ifndef RINGNFS_RPC_UDP_H
#define RINGNFS_RPC_UDP_H

struct transport;

/* Serve a bound UDP socket from now on. Returns 0 or -errno; the descriptor is closed then. */
int udp_open(struct transport *transport, int fd);

#endif
