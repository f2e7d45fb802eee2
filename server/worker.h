/*
 * server/worker.h - one event worker: a thread with its loop, its connections and datagram sockets, and its engine.
 *
 * All functions are for the thread that made the worker, but for worker_add_connection() and worker_connections(): any
 * thread. What they ask for is done on the worker's thread, soon.
 */
#ifndef RINGNFS_SERVER_WORKER_H
#define RINGNFS_SERVER_WORKER_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rpc/drc.h"
#include "rpc/handed.h"
#include "rpc/loop.h"
#include "rpc/program.h"
#include "rpc/transport.h"
#include "server/delay.h"
#include "server/export_view.h"
#include "server/log.h"
#include "server/nfs3_stats.h"
#include "server/rate.h"
#include "server/settings.h"
#include "storage/cred.h"
#include "storage/engine.h"
#include "storage/fh.h"
#include "storage/pool.h"

struct groups;
struct hosts;
struct mount_list;
struct sandbox;

/* Of settings, as they are now; any thread may change them. */
struct worker_sizes {
    _Atomic uint32_t rtmax, wtmax, dtpref;      /* bytes */
    _Atomic uint32_t rtpref, wtpref;            /* likewise; 0: as much as there can be */
};

/* What all workers of a server use; set up before the first one is made, and outlives them. */
struct worker_shared {
    const struct settings *settings;    /* those that do not change while a server runs */
    struct worker_sizes sizes;
    const struct log *log;
    const struct fh_key *key;           /* of all handles */
    struct mount_list *mounts;
    struct drc *drc;                    /* NULL: calls are never replayed */
    struct hosts *hosts;                /* what names in the exports mean */
    struct groups *groups;              /* which groups users are in */
    struct rate *rate;                  /* what clients owe, of exports that have limits */
    struct delay_budget delay_budget;
    uint64_t register_max;              /* bytes of buffers that a worker registers; 0: no bound */
    struct pool *pool;                  /* threads that may block */
    struct pool *paths;                 /* likewise, and find files by path */
    const struct sandbox *sandbox;      /* NULL: none */
    struct transport_shared transport;
    const struct program *const *programs;
    size_t nprograms;
    size_t call_size;                   /* of the largest structure that a program's calls are first member of */
    bool driven;                        /* there is one worker, and it has no thread: see worker_turn() */
};

/* Written by the worker, read by anyone. */
struct worker_stats {
    _Atomic uint64_t unknown_errors;    /* errnos that nobody had thought of */
    _Atomic uint64_t delayed, delay_refused;    /* calls over the limits of their export: put aside, not even that */
    struct nfs3_stats nfs3;
};

/* The transport's context, so what programs find the rest by. Fields are for the worker's own thread. */
struct worker {
    struct worker_shared *shared;
    struct transport *transport;
    struct engine *engine;
    struct export_view *view;           /* what new calls use */
    struct delay_queue delays;          /* calls that are to begin later */
    unsigned delayed_datagrams;
    struct worker_stats stats;
    struct worker_private *private;
};

/*
 * Start a worker that serves `set` (it takes a reference of its own). When it returns, the thread runs. Returns 0 or
 * -errno.
 */
int worker_new(struct worker_shared *shared, struct exports *set, struct worker **worker);

/*
 * What op->memory is for data that goes past the page cache by way of this buffer, which is registered if it has been used
 * before. The worker's thread.
 */
uint32_t worker_memory(struct worker *worker, struct buf *buf);

/*
 * Of a driven worker: the descriptor that is readable when it has something to do, and doing it. The thread that calls this
 * is the worker's meanwhile; none of its rights, signals and the like is changed, so files must need none: memory: only.
 */
int worker_fd(const struct worker *worker);
void worker_turn(struct worker *worker);

/* Wait for a post by this worker, which the calling thread drives if need be. */
void worker_wait(struct worker *worker, sem_t *posted);

/* How the worker acts for callers, and "uring" or "pool". */
enum cred_mode worker_cred_mode(const struct worker *worker);
const char *worker_engine_name(const struct worker *worker);

/* Whether a thread of the kernel takes its submissions. */
bool worker_polls(const struct worker *worker);

/* Have its thread run on these CPUs. Returns 0 or -errno. Any thread. */
int worker_run_on(struct worker *worker, const uint16_t *list, size_t count);

/* The limits of the transport have changed. Returns 0 or -ENOMEM. Any thread. */
int worker_retune(struct worker *worker);

/* Serve a connected stream socket, or a bound datagram socket; taken over whatever becomes of it. */
void worker_add_connection(struct worker *worker, int fd);
void worker_add_datagram(struct worker *worker, int fd);

/*
 * Accept connections on a listening socket, which is taken over; accepted(context, fd) runs on this worker's thread.
 * Returns 0 or -ENOMEM.
 */
int worker_listen(struct worker *worker, int fd, void (*accepted)(void *context, int fd), void *context);

/* Connections that it has now. */
uint32_t worker_connections(const struct worker *worker);

/*
 * An order to use other exports for new calls. Orders for all workers are made before the first one is given, so that a
 * reload happens on all of them or on none. Returns NULL when memory is short.
 */
struct worker_reload;
struct worker_reload *worker_reload_new(struct exports *set);
void worker_reload_free(struct worker_reload *reload);
/* The order is taken over; applied is posted once it has been carried out. One thread at a time. */
void worker_reload(struct worker *worker, struct worker_reload *reload, sem_t *applied);

/*
 * Accept, read and send nothing, or again; reset all connections. When they return, that is so. One thread at a time, which
 * may be another than the one that made the worker.
 */
void worker_pause(struct worker *worker, bool pause);
void worker_reset(struct worker *worker);

/* Go on with a connection of another process: *from is taken over and left empty. Returns 0 or -ENOMEM. */
int worker_restore_connection(struct worker *worker, struct handed_conn *from);

/* Accept no connections for a while: when it returns, accepted() is not running; or go on. Like worker_pause(). */
void worker_pause_listening(struct worker *worker, bool pause);

/*
 * Read no more calls, and post `frozen` once those under way are answered and nothing is sent or received any more, or
 * when that takes longer than timeout_ms. Then worker_frozen() says which, and copies the worker's connections into a
 * list: it returns 0, -ETIMEDOUT or another -errno. Nobody may give it connections, or pause it, until worker_thaw().
 */
void worker_freeze(struct worker *worker, uint64_t timeout_ms, sem_t *frozen);
int worker_frozen(struct worker *worker, struct handed_list *list);

/* Go on, whatever came of it. */
void worker_thaw(struct worker *worker);

/* Accept no more connections: when it returns, accepted() is not running and will not run again. */
void worker_stop_listening(struct worker *worker);

/*
 * Read no more calls, and end once those under way are answered, or timeout_ms later. Nobody may give it connections
 * any more.
 */
void worker_stop(struct worker *worker, uint64_t timeout_ms);

/* Wait for the end of a worker that has been stopped, and free it. */
void worker_free(struct worker *worker);

#endif
