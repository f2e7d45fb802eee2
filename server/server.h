/*
 * server/server.h - the whole server as a value: made, started, asked, stopped; several in one process if one likes.
 *
 * It installs no signal handlers and keeps nothing outside of this structure. server_new() and server_free() are for
 * one thread, all else is for any; the work is done on threads of the server's own.
 */
#ifndef RINGNFS_SERVER_SERVER_H
#define RINGNFS_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "rpc/drc.h"
#include "rpc/gss.h"
#include "server/exports.h"
#include "server/faults.h"
#include "server/groups.h"
#include "server/hosts.h"
#include "server/log.h"
#include "server/nfs3_stats.h"
#include "server/principals.h"
#include "server/rate.h"
#include "server/ringnfs.h"
#include "server/settings.h"
#include "storage/cred.h"
#include "storage/pool.h"

#define SERVER_ERROR_MAX 1024           /* bytes of an error line that is kept */

struct observer;
struct server;
struct takeover;

/* The process that a server has for itself, and can be followed in by another (handover.h). */
struct server_process {
    int starter;                        /* of starter.h; -1: there is none */
    int parent;                         /* watched because of --parent-death, for the new process to go on; -1: nothing */
};

/* What a memory: export is filled with before anybody can ask for it. */
struct server_fill {
    char *export, *source;              /* its name; a directory or an archive (fill.h) */
};

struct server_config {
    const struct settings *settings;    /* copied */
    struct exports_source exports;      /* copied */
    const struct server_fill *fills;
    size_t nfills;
    const struct sockaddr_storage *addresses;   /* to listen on; none: all; see listen.h for those without port */
    size_t naddresses;
    struct log log;                     /* copied; its meter is the server's own */
    const struct hosts_source *hosts;   /* where host names are looked up; NULL: on this machine */
    const struct groups_source *groups; /* where groups of users are looked up; NULL: on this machine */
    const struct principals_source *principals; /* where users of Kerberos are looked up by name; NULL: on this machine */
    const struct rate_clock *clock;     /* of max_rate and max_iops; NULL: the monotonic one */
    struct faults *faults;              /* rules of faults, which outlive it; NULL: there may be none, no crash, no pause */
    ringnfs_hook *hook;                 /* is told of each call (ringnfs.h); NULL: none */
    void *hook_context;
    size_t keep_calls;                  /* calls that are kept for questions; 0: none */
    bool stateless;                     /* keep nothing: state_dir does not count */
    bool driven;                        /* by the caller's loop: see server_turn() */
    const struct server_process *process;   /* NULL: it has none, and cannot be restarted */
    struct takeover *takeover;          /* follow another server; the caller's, who frees it afterwards; NULL: begin afresh */
    bool control;                       /* open a control socket in the state directory (control.h); not if stateless */
};

/* Where it can be reached. */
struct server_ports {
    uint16_t nfs, mount;                /* TCP and UDP alike; 0: it listens on none */
};

/* How the last change of the exports went. */
struct server_reload {
    time_t at;                          /* 0: there was none since the start */
    int err;
    char error[SERVER_ERROR_MAX];       /* err < 0: why the exports stayed as they were */
};

struct server_status {
    uint64_t uptime_ms;
    struct server_ports ports;
    const char *engine;                 /* "uring" or "pool" */
    bool polls;                         /* a thread of the kernel takes what workers submit */
    unsigned workers;
    uint32_t connections;
    struct pool_stats pool;
    enum cred_mode identity;
    size_t exports;
    struct server_reload last_reload;
};

/* Counters since the start, and what is in use now. */
struct server_stats {
    uint64_t calls, replies, bytes_in, bytes_out;
    uint64_t connections_opened, connections_closed, connections_refused, connections_idle;
    uint64_t bad_records, bad_messages, auth_errors, dropped;
    uint64_t unknown_errors;            /* told as NFS3ERR_IO */
    uint64_t delayed, delay_refused;    /* calls over max_rate or max_iops: put aside; dropped or told to come again */
    uint64_t disk_errors;               /* calls and flushes that the disk of an export failed */
    uint64_t nfs3[NFS3_STATS_PROCS][NFS3_STATS_PLACES];
    struct pool_stats pool;
    struct drc_stats drc;
    struct gss_stats gss;
    uint64_t flushes, flushed_calls;    /* of the exports that are served now: flushes, and the calls they served */
    uint64_t buffer_bytes, buffer_bytes_max;
    uint64_t call_bytes;                /* of buffer_bytes: for calls; what there were at most at once is kept */
    uint64_t registered_bytes;          /* of buffer_bytes: the kernel holds their pages, for I/O past the page cache */
    uint64_t register_refused;          /* how often it would not take more */
    size_t mounts;                      /* entries of the MOUNT list */
    uint64_t log_lost, log_left_out;    /* lines: that could not be written, that were too many */
};

/*
 * Make and start: exports are opened, sockets bound, workers running, calls answered when it returns. Returns 0 or
 * -errno; then error holds one line that names the thing (a directory, an export line, an address and port).
 */
int server_new(const struct server_config *config, struct server **server, char *error, size_t error_size);

void server_ports(const struct server *server, struct server_ports *ports);

/* Who looks on: as long as the server lives. */
struct observer *server_observer(struct server *server);

/* Whether its files may be opened and closed now: 0, or -EBUSY with error while a restart hands them over. */
int server_may_change_observer(struct server *server, char *error, size_t error_size);

/*
 * Read the exports again. Returns 0, and error holds what should be told but is no mistake, or ""; or -errno with
 * error, and then the old ones stay as they are. Calls under way end with the exports they began with, calls that
 * arrive after the return find the new ones. What came of it goes to the log as well.
 */
int server_reload_exports(struct server *server, char *error, size_t error_size);

/*
 * Export what one more line says, on top of all others, until the server ends: reloads keep it. Returns as
 * server_reload_exports().
 */
int server_add_export(struct server *server, const char *line, char *error, size_t error_size);

/*
 * Take away the export of this name, whatever says it, until the server ends or the name is added again. The path is
 * spelled as in exports(5). Returns as server_reload_exports(), -ENOENT when there is none.
 */
int server_remove_export(struct server *server, const char *path, char *error, size_t error_size);

/*
 * Start this program anew and let the new process go on; what comes of it is written to fd (handover_begin() in
 * handover.h has the rest, and what is returned).
 */
int server_restart(struct server *server, int fd, char *error, size_t error_size);

/* A descriptor that is readable once another process serves, so that this one is to end; -1: that will never be. */
int server_restarted_event(const struct server *server);

/*
 * Give up a restart that is under way, if it can still be given up, and allow no more. Returns whether another process
 * serves: then what the server has on disk is that one's.
 */
bool server_end_restart(struct server *server);

/*
 * Serve the client at the other end of a connected stream socket. Returns 0, and the socket is the server's, or -errno, and
 * it stays the caller's.
 */
int server_add_connection(struct server *server, int fd);

/*
 * The store of the memory: export of this name, spelled as in exports(5), and the set it belongs to, to be given back with
 * exports_put(). Returns 0, -ENOENT, or -EINVAL when it is another kind of export, with error.
 */
int server_memory_store(struct server *server, const char *path, struct exports **set, struct store **store, char *error,
                        size_t error_size);

/*
 * Of a driven server, which has one worker and no thread for it: the descriptor that is readable when there is something to
 * do, and doing it without waiting. Then all calls about the server are for one thread at a time, and server_free() does
 * what is left. -1: it is not driven.
 */
int server_fd(const struct server *server);
void server_turn(struct server *server);

/* The exports in use; give them back with exports_put(). */
struct exports *server_exports(struct server *server);

/*
 * What a reload would make of the exports, with nothing opened: read from `file` instead of all files, or from those
 * that there are when file is NULL. Returns as exports_parse().
 */
int server_read_exports(struct server *server, const char *file, struct exports **set, char *error, size_t error_size);

void server_status(struct server *server, struct server_status *status);
void server_stats(struct server *server, struct server_stats *stats);

/* A setting's value as it would be written. Returns 0, or -EINVAL with error when there is no such setting. */
int server_setting(struct server *server, const char *key, char *value, size_t value_size, char *error,
                   size_t error_size);

/*
 * Change a setting while the server runs. Returns 0 or -errno with error: -EPERM when it can be changed at the start
 * only.
 */
int server_set(struct server *server, const char *key, const char *value, char *error, size_t error_size);

/* Rules of faults, as faults.h has it; -EPERM with error: none may be here. Any thread, like all up to server_pause(). */
int server_fault_add(struct server *server, const char *text, char *error, size_t error_size);
int server_fault_load(struct server *server, const char *file, char *error, size_t error_size);
int server_fault_clear(struct server *server, uint32_t id, char *error, size_t error_size);
/* The rules there are; to be given back with fault_set_put(). */
int server_fault_rules(struct server *server, struct fault_set **set, char *error, size_t error_size);

/*
 * Lose what a machine would that loses its power: connections, the replay cache, and what was written to memory exports
 * and is not stable (memory_crash()). Handles, names, and the MOUNT list stay. Returns 0, -EPERM as above, or -EOPNOTSUPP
 * when a directory is exported; with error.
 */
int server_crash(struct server *server, char *error, size_t error_size);

/*
 * Accept, read and send nothing from now on, or again. Calls under way go on, and their replies wait. Returns 0, -EPERM, or
 * -EINVAL when that is so already; with error. server_free() works at any time.
 */
int server_pause(struct server *server, bool pause, char *error, size_t error_size);

/* Finish what is under way (at most drain_timeout), close everything, end all threads, free. */
void server_free(struct server *server);

#endif
