/* rpc/listen.h - the sockets that calls arrive at: made, bound, accepting. */
#ifndef RINGNFS_RPC_LISTEN_H
#define RINGNFS_RPC_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rpc/loop.h"
#include "rpc/transport.h"

struct listen_config {
    /* Ports are ignored. None: all of IPv4 and, where there is IPv6, of IPv6. */
    const struct sockaddr_storage *addresses;
    size_t naddresses;
    uint16_t port;                      /* 0: the kernel chooses one that is free for TCP and UDP on every address */
    bool tcp, udp;
    unsigned udp_sockets;               /* per address, one a worker (SO_REUSEPORT) */
    int backlog;
    uint32_t udp_buffer;                /* bytes of SO_RCVBUF */
};

struct listen_socket {
    int fd;
    int type;                           /* SOCK_STREAM, already listening, or SOCK_DGRAM */
    unsigned worker;                    /* which worker a datagram socket is for */
    struct sockaddr_storage address;
};

struct listen_set {
    struct listen_socket *sockets;
    size_t count;
    uint16_t port;
};

/*
 * Make and bind everything. Returns 0 or -errno (-EADDRINUSE, -EACCES, -EADDRNOTAVAIL, ...); then error holds one line
 * that names the address, port and protocol. Any thread.
 */
int listen_open(const struct listen_config *config, struct listen_set *set, char *error, size_t error_size);
void listen_close(struct listen_set *set);

/* A stream socket whose connections are accepted on a loop's thread and given away. */
struct listener;

/*
 * accepted(context, fd) owns the new descriptor (non-blocking, close-on-exec). When descriptors run out, accepting
 * pauses for a moment instead of spinning.
 */
int listener_new(struct loop *loop, int fd, void (*accepted)(void *context, int fd), void *context,
                 struct listener **listener);

/* Accept nothing until it is resumed: who connects waits in the backlog. On the loop's thread. */
void listener_pause(struct listener *listener, bool pause);

/* Closes the socket. */
void listener_free(struct listener *listener);

#endif
