/*
 * server/server_private.h - what a server is made of; for server.c and server_....c.
 */
#ifndef RINGNFS_SERVER_SERVER_PRIVATE_H
#define RINGNFS_SERVER_SERVER_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/listen.h"
#include "rpc/rpcbind.h"
#include "server/control.h"
#include "server/handover.h"
#include "server/mount_keeper.h"
#include "server/mount_list.h"
#include "server/mount_watch.h"
#include "server/observer.h"
#include "server/principals.h"
#include "server/sandbox.h"
#include "server/server.h"
#include "server/state.h"
#include "server/worker.h"

#define REGISTRATIONS 4                 /* NFS 3, NFSACL 3, MOUNT 1 and 3 */

/* A list of strings of its own. */
struct string_list {
    char **list;
    size_t count;
};

/* exports_source with strings of its own. */
struct source_copy {
    struct string_list files, lines, removed, added;
    struct string_list added_paths;     /* what each added line exports */
};

/* Descriptors of sockets that others own. */
struct socket_list {
    int *fds;
    size_t count;
};

struct server {
    struct settings settings;           /* those that change while it runs: with the lock */
    struct log log;
    struct log_meter log_meter;
    struct state *state;
    struct mount_list *mounts;
    struct mount_keeper *mount_keeper;  /* NULL: there is no directory to keep it in */
    struct hosts *hosts;
    struct groups *groups;
    struct gss *gss;                    /* NULL: this build has no Kerberos */
    struct rate *rate;
    struct observer *observer;
    struct sandbox *sandbox;            /* NULL: its threads give up nothing */
    struct pool *pool;
    struct pool *paths;                 /* one thread that may look at any path */
    struct drc *drc;                    /* NULL: drc_entries is 0 */
    uint64_t started_ms;                /* CLOCK_MONOTONIC */
    struct worker_shared shared;
    struct worker **workers;
    unsigned nworkers;                  /* that run */
    bool placed;                        /* they have been told where to run */
    unsigned last_given;                /* the worker that got the last connection; the first one's thread only */
    struct listen_set nfs_sockets;      /* until the workers have them */
    struct listen_set mount_sockets;    /* empty when the ports are the same */
    struct socket_list handed_sockets;  /* all of them, for a process that follows */
    struct server_ports ports;
    struct rpcbind_entry registrations[REGISTRATIONS];
    bool registered;
    struct faults *faults;              /* NULL: there may be none */
    struct control *control;            /* NULL: there is no control socket */
    struct handover *handover;          /* NULL: it cannot be restarted */
    bool has_run;                       /* it has started: what it knows is worth keeping */

    pthread_mutex_t lock;               /* for the rest; no worker ever takes it */
    bool paused;
    struct source_copy source;
    struct exports *exports;            /* those in use; a reference */
    char *warnings;                     /* what was last told about them; NULL: nothing */
    struct mount_watch *mount_watch;    /* NULL: nobody has asked for what is mounted */
    struct server_reload last_reload;
};

/* One line for an error that is not told where it happens; returns err. */
int server_explain(int err, const char *what, char *error, size_t error_size);

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t server_now_ms(void);

/* The same, late by a tick of the kernel at most (10 ms), and without reading a clock. */
uint64_t server_coarse_ms(void);

/* How many threads there may be for calls that wait. */
void server_threads(const struct settings *settings, unsigned *min, unsigned *max);

/* Have the workers go by the settings of their connections, memory and sizes. */
void server_use_limits(struct server *server);

/* Have the workers run where cpu_affinity says. Returns 0 or -errno with error. */
int server_place_workers(struct server *server, const char *cpu_affinity, char *error, size_t error_size);

/* Copy where exports come from. Returns 0 or -ENOMEM. */
int server_source_init(struct source_copy *copy, const struct exports_source *from);
void server_source_fini(struct source_copy *copy);

/* Exports added to and removed from another server. Returns 0 or -errno with error. */
int server_source_change(struct source_copy *copy, const struct exports_source *changes, char *error, size_t error_size);

/* What is changed now, a server that is being started would not know: 0, or -EBUSY with error. With the lock held. */
int server_refuse_while_restarting(const struct server *server, char *error, size_t error_size);

/* Begin to use rules of faults, NULL: none ever. Before the workers start. Returns 0 or -errno with error. */
int server_use_faults(struct server *server, struct faults *faults, char *error, size_t error_size);

/* The export of exactly that name, spelled as in exports(5); NULL: there is none, or memory is short. */
const struct export *server_find_export(const struct exports *set, const char *path);

/* Load the exports for the first time. Returns 0 or -errno with error. */
int server_load_exports(struct server *server, char *error, size_t error_size);

/* Watch what is mounted, if that matters to the exports in use; with the lock held, or before anybody else has the server. */
void server_watch_mounts(struct server *server);

/* Open the sockets to listen on, or take those of another server; ports are known then. Returns 0 or -errno with error. */
int server_open_sockets(struct server *server, const struct server_config *config, unsigned workers, char *error,
                        size_t error_size);

/* For a process that follows: the workers keep them open until they end. Returns 0 or -ENOMEM. */
int server_list_sockets(struct server *server);

/* Tell rpcbind, unless that is off. Returns 0, or -errno with error when it has to know and does not. */
int server_register_ports(struct server *server, char *error, size_t error_size);

/*
 * Calls are read from here on; the control socket, by which this server may be followed in turn, comes last. from: the
 * server that this one follows, whose connections are emptied; or NULL. Returns 0 or -errno with error.
 */
int server_begin_to_serve(struct server *server, const struct takeover *from, struct handed_list *conns, char *error,
                          size_t error_size);

#endif
