/*
 * ringnfs.h - an NFS server inside of another program: libringnfs, the server of ringnfsd as a value.
 *
 *     struct ringnfs *server;
 *     char *url;
 *
 *     if (ringnfs_new(&server) == 0 && ringnfs_add_export(server, "memory:/x *(rw,insecure)") == 0 &&
 *         ringnfs_start(server) == 0 && ringnfs_url(server, "/x", &url) == 0)
 *         ...
 *     else
 *         fprintf(stderr, "%s\n", ringnfs_error(server));
 *     ringnfs_free(server);
 *
 * Any number of servers may be in a process; they share nothing. A server works on threads of its own, which take no
 * signals. It installs no signal handlers, writes nothing unless it was told where to, keeps nothing on disk unless
 * state_dir is set, and changes nothing of the process: its threads act as other users (if it is root's), and enter a
 * sandbox (if the setting says so), each for itself. To be driven by a loop of the caller's own is not possible yet.
 *
 * Threads: calls about one server are for one thread at a time, and that may be any; calls about different servers may run
 * at once. After a fork() a server is its maker's alone: in the child all calls fail with -EPERM and ringnfs_free() does
 * nothing.
 *
 * Errors: calls return 0 (or what they say), or a negative errno; ringnfs_error() then has the reason in one line. -EINVAL
 * stands for NULL, for a value that is wrong, and for a call that comes at the wrong time, such as a second
 * ringnfs_start(); -ENOMEM may come from all. A failed call changes nothing.
 *
 * Strings that are passed in are copied. All of this since 0.1. Before 1.0 the interface may still change, and the name of
 * the shared library with it.
 */
#ifndef RINGNFS_H
#define RINGNFS_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define RINGNFS_API __attribute__((visibility("default")))
#else
#define RINGNFS_API
#endif

struct ringnfs;

enum ringnfs_level { RINGNFS_ERROR, RINGNFS_WARNING, RINGNFS_INFO, RINGNFS_DEBUG };

/* A line for whoever operates the server, without newline; text is good until the function returns. */
typedef void ringnfs_log(void *context, enum ringnfs_level level, const char *text);

/* The version of the library, such as "0.1.0". Any thread, at any time; not to be freed. */
RINGNFS_API const char *ringnfs_version(void);

/*
 * Make a server that is not started. It will listen on 127.0.0.1, TCP and UDP, on a port that the kernel chooses, leave
 * rpcbind alone and not use a sandbox. *server is the caller's, to be given to ringnfs_free(); NULL on error.
 */
RINGNFS_API int ringnfs_new(struct ringnfs **server);

/*
 * Change a setting: those of ringnfs.conf(5), by the same words. After the start -EPERM for those that can be changed at
 * the start only.
 */
RINGNFS_API int ringnfs_set(struct ringnfs *server, const char *key, const char *value);

/* Listen on this numeric IPv4 or IPv6 address instead; may be repeated. "0.0.0.0" and "::" are all. Before the start. */
RINGNFS_API int ringnfs_listen_on(struct ringnfs *server, const char *address);

/*
 * Export what a line of exports(5) says (ringnfs-exports(5)): "/srv/data 192.0.2.0/24(rw)", "memory:/x *(rw,insecure)".
 * Before the start the line is only read, and the directory is opened at the start; after it, the export is there on
 * return, or an error such as -ENOENT says why it cannot be.
 */
RINGNFS_API int ringnfs_add_export(struct ringnfs *server, const char *line);

/* Take the export of this name away; what clients still ask of it is stale. -ENOENT: there is none. After the start. */
RINGNFS_API int ringnfs_remove_export(struct ringnfs *server, const char *path);

/*
 * Have what the server tells (setting log_level) given to a function, with a context that is the caller's. It is called
 * on the server's threads, by several at once, and from within calls about the server; it must not call anything about
 * this server. NULL: tell nobody, as it is at first. Before the start.
 */
RINGNFS_API int ringnfs_log_to(struct ringnfs *server, ringnfs_log *log, void *context);

/* Have it written to a descriptor, which stays the caller's and open until the server is freed; -1: none. Likewise. */
RINGNFS_API int ringnfs_log_to_fd(struct ringnfs *server, int fd);

/*
 * Open the exports and start to answer: on return clients are served. Returns an error that names the directory, the line
 * or the address and port that was the trouble; it may be mended and tried again.
 */
RINGNFS_API int ringnfs_start(struct ringnfs *server);

/* The port of NFS, NFSACL and MOUNT, and of MOUNT if it has another; TCP and UDP alike. While it runs. */
RINGNFS_API int ringnfs_nfs_port(struct ringnfs *server);
RINGNFS_API int ringnfs_mount_port(struct ringnfs *server);

/*
 * The command by which root mounts an export on /mnt, and its URL for libnfs. *out is to be freed by free(), NULL on
 * error. -ENOENT: it is not exported. While it runs.
 */
RINGNFS_API int ringnfs_mount_command(struct ringnfs *server, const char *path, char **out);
RINGNFS_API int ringnfs_url(struct ringnfs *server, const char *path, char **out);

/*
 * Serve the client at the other end of a connected stream socket, such as one of socketpair(2), as if it had connected to
 * the port. A Unix socket's peer counts as 127.0.0.1 with a reserved port. fd is the server's from then on; on error it
 * stays the caller's. While it runs.
 */
RINGNFS_API int ringnfs_add_connection(struct ringnfs *server, int fd);

/*
 * Faults: have calls go wrong as a rule of ringnfs-faults(5) says, such as "when proc=READ nth=3 do error=JUKEBOX" or "when
 * proc=WRITE times=1 do drop-reply". The rule counts for calls that come after the return. Returns the number of the rule,
 * greater than 0. -EINVAL: the rule cannot be read, or no call can ever match it; -ENOSPC: there are 64 rules. A rule that
 * is added before the start is compared with the exports at the start, which fails when it names something else. Before or
 * after the start, like all about rules.
 */
RINGNFS_API int ringnfs_fault_add(struct ringnfs *server, const char *rule);

/* Add the rules of a file, one in a line, all of them or none. Returns how many; the file's error or those above. */
RINGNFS_API int ringnfs_fault_load(struct ringnfs *server, const char *file);

/* Take a rule away, or all: 0. What it has begun to do to calls under way goes on. -ENOENT: none has that number. */
RINGNFS_API int ringnfs_fault_clear(struct ringnfs *server, int rule);

/* For how many calls a rule has fired so far. -ENOENT: there is none of that number. */
RINGNFS_API long ringnfs_fault_fired(struct ringnfs *server, int rule);

/*
 * The rules there are, one in a line: its number, how many calls it has matched, for how many it has fired, its text, with
 * blanks between. *out is to be freed by free(), NULL on error.
 */
RINGNFS_API int ringnfs_fault_list(struct ringnfs *server, char **out);

/*
 * Lose at once what a machine loses with its power: all connections (they are reset), the replies kept for calls that are
 * sent again, and data that was written UNSTABLE and not committed; the write verifier is another one. Names, handles and
 * what is stable stay, and the server goes on. A call that is under way may still be done, and over UDP be answered.
 * -EOPNOTSUPP: a directory of this machine is exported, and what the kernel holds for that is not lost. While it runs.
 */
RINGNFS_API int ringnfs_crash(struct ringnfs *server);

/*
 * Accept, read and send nothing from the return on, as a server that hangs; calls wait in the sockets. Calls under way go
 * on, but their replies wait. Everything else about the server works, ringnfs_stop() too. resume: go on. -EINVAL: it is
 * paused already, or is not. While it runs.
 */
RINGNFS_API int ringnfs_pause(struct ringnfs *server);
RINGNFS_API int ringnfs_resume(struct ringnfs *server);

/*
 * Finish the calls under way (for drain_timeout at most), close all connections and sockets, end all threads. What was in
 * memory: exports is gone. While it runs; it cannot be started again.
 */
RINGNFS_API int ringnfs_stop(struct ringnfs *server);

/* Stop it if it runs, and free everything. NULL is fine. */
RINGNFS_API void ringnfs_free(struct ringnfs *server);

/* Why the last call about this server failed that did: one line, "" if none has; good until the next call. Not freed. */
RINGNFS_API const char *ringnfs_error(const struct ringnfs *server);

#ifdef __cplusplus
}
#endif

#endif
