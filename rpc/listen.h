/* rpc/listen.h - the sockets that calls arrive at: made, bound, accepting. */
#ifndef RINGNFS_RPC_LISTEN_H
#define RINGNFS_RPC_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "rpc/loop.h"
#include "rpc/transport.h"

struct listen_config {
    /*
     * Ports are ignored. None: all of IPv4 and, where there is IPv6, of IPv6. Those of AF_UNIX are stream sockets whatever
     * tcp and udp say; AF_UNSPEC stands for no socket at all.
     */
    const struct sockaddr_storage *addresses;
    size_t naddresses;
    bool skip_local;                    /* somebody else has opened those of AF_UNIX */
    uint16_t port;                      /* 0: the kernel chooses one that is free for TCP and UDP on every address */
    bool tcp, udp;
    unsigned udp_sockets;               /* per address, one a worker (SO_REUSEPORT) */
    int backlog;
    uint32_t udp_buffer;                /* bytes of SO_RCVBUF */
    /*
     * Sockets that another process has made and that may be used in place of new ones; each that is taken is replaced by
     * -1. A port that the kernel is to choose is theirs.
     */
    int *inherited;
    size_t ninherited;
    uint16_t inherited_port;
};

struct listen_socket {
    int fd;
    int type;                           /* SOCK_STREAM, already listening, or SOCK_DGRAM */
    unsigned worker;                    /* which worker a datagram socket is for */
    struct sockaddr_storage address;
    dev_t dev;                          /* of a Unix socket: what its name stands for */
    ino_t ino;
};

struct listen_set {
    struct listen_socket *sockets;
    size_t count;
    uint16_t port;                      /* 0: there is none, for want of addresses that have one */
};

/*
 * Make and bind everything. Returns 0 or -errno (-EADDRINUSE, -EACCES, -EADDRNOTAVAIL, ...); then error holds one line
 * that names the address, port and protocol. Any thread.
 */
int listen_open(const struct listen_config *config, struct listen_set *set, char *error, size_t error_size);
/* Sockets that have been given away (fd -1) are not closed; Unix sockets lose their names in any case. */
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
