/*
 * rpc/transport.h - what one event worker has for its connections and datagrams: loop, buffers, calls, counters.
 */
#ifndef RINGNFS_RPC_TRANSPORT_H
#define RINGNFS_RPC_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/call.h"
#include "rpc/clients.h"
#include "rpc/fault.h"
#include "rpc/gss.h"
#include "rpc/loop.h"
#include "rpc/pipe.h"
#include "rpc/program.h"
#include "rpc/tap.h"

/*
 * Bounds, the same for all workers of a server. Any thread may change those that are atomic while they run; what concerns
 * sockets is for new ones, and of idle_ms transport_retune() is told.
 */
struct transport_limits {
    uint32_t record_bytes;              /* longest call accepted over TCP */
    _Atomic uint32_t calls_per_client;  /* outstanding, over TCP; beyond it none of his connections is read; 0: no bound */
    _Atomic uint32_t calls_per_conn;    /* outstanding; beyond it the connection is not read */
    _Atomic uint64_t bytes_per_client;  /* of large calls and of replies, over TCP; beyond it he is not read; 0: no bound */
    _Atomic uint64_t reply_bytes_per_conn;  /* held by calls, or replies not taken yet; beyond it it is not read */
    _Atomic uint32_t connections;       /* of all workers together */
    _Atomic uint64_t idle_ms;           /* a connection that moves no byte for so long is closed; 0: never */
    _Atomic uint32_t keepalive_s;       /* before a silent peer is asked whether it is there; 0: the kernel's own time */
    _Atomic uint32_t socket_buffer;     /* SO_SNDBUF and SO_RCVBUF of connections, in bytes; 0: the kernel tunes them */
    _Atomic bool delay_small;           /* connections go without TCP_NODELAY */
    uint32_t udp_buffer;                /* SO_RCVBUF of UDP sockets */
};

/* Counters of one worker; written by it alone, read by anyone. */
struct transport_stats {
    _Atomic uint64_t calls, replies, bytes_in, bytes_out;
    _Atomic uint64_t conns_opened, conns_closed, conns_refused, conns_idle, bad_records, bad_messages, auth_errors, dropped;
};

/* Shared by the workers of one server. */
struct transport_shared {
    struct transport_limits limits;
    struct buf_budget budget;
    struct clients *clients;            /* NULL: a client may have all connections */
    _Atomic uint32_t connections;       /* open now */
    struct gss *gss;                    /* NULL: RPCSEC_GSS is not spoken */
    struct fault_gate faults;           /* calls that are to go wrong */
    struct call_tap tap;                /* who looks on */
    _Atomic uint64_t call_bytes;        /* of the budget, that calls themselves have; never given back */
};

struct handed_conn;
struct handed_list;

struct transport_config {
    struct transport_shared *shared;    /* outlives the transport */
    const struct program *const *programs;
    size_t nprograms;
    size_t call_size;                   /* of the structure that begins with a struct call; the rest is not cleared */
    void (*before_wait)(void *context); /* before the loop sleeps, ahead of the sending of replies */
    void *context;
    bool driven;                        /* its loop is driven by the caller's (loop_new_driven()); SIGPIPE stays as it is */
};

struct transport {
    struct loop *loop;
    struct buf_pool *buffers;
    struct pipe_pool *pipes;
    void *context;                      /* as configured; for the programs */
    struct transport_stats stats;
    _Atomic uint32_t connections;       /* of this worker */
    uint32_t outstanding;               /* calls handed to programs and not ended */
    bool draining;                      /* no new calls are read */
    bool paused;                        /* nothing is read, and nothing sent */
    struct transport_private *private;
};

/* Returns 0 or -errno. To be called, run and freed on the worker's thread, on which SIGPIPE is blocked from then on. */
int transport_new(const struct transport_config *config, struct transport **transport);

/* Close all connections and sockets and free everything; no call may be outstanding. */
void transport_free(struct transport *transport);

/*
 * Take over a connected stream socket: it is this worker's from now on, also when an error is returned (then it is
 * closed).
 */
int transport_add_connection(struct transport *transport, int fd);

/*
 * Go on with a connection that another process has had, whose descriptor is taken over in the same way; the rest of
 * `from` stays the caller's.
 */
int transport_restore_connection(struct transport *transport, struct handed_conn *from);

/* Serve a bound datagram socket: taken over like a connection. */
int transport_add_datagram(struct transport *transport, int fd);

/* The limit for idle connections has changed. */
void transport_retune(struct transport *transport);

/*
 * Read nothing and send nothing until it is resumed; calls under way go on, and their replies wait. transport_drain()
 * resumes. On the worker's thread, like all here.
 */
void transport_pause(struct transport *transport, bool pause);

/* Reset all connections: what was not sent is lost. Datagram sockets stay. */
void transport_reset(struct transport *transport);

/*
 * Stop reading calls, and call drained(context) on this thread once every call is answered and every reply is sent, or
 * after timeout_ms.
 */
void transport_drain(struct transport *transport, uint64_t timeout_ms, void (*drained)(void *context));

/*
 * Stop reading calls, and call frozen(context, 0) on this thread once every call is answered, from when on it is paused; or
 * frozen(context, -ETIMEDOUT) when that takes longer than timeout_ms. Replies that clients have not taken are kept. In both
 * cases only transport_thaw(), or transport_drain(), which is over at once, may follow. It is not paused before.
 */
void transport_freeze(struct transport *transport, uint64_t timeout_ms, void (*frozen)(void *context, int err));

/* Copy the connections of a transport that is frozen, for another process. Returns 0 or -errno. */
int transport_copy_connections(struct transport *transport, struct handed_list *list);

/* Go on as if nothing had been. */
void transport_thaw(struct transport *transport);

#endif
