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
 * sandbox (if the setting says so), each for itself. A server of memory: exports may be driven by a loop of the caller's
 * own in place of that: ringnfs_drive().
 *
 * Threads: calls about one server are for one thread at a time, and that may be any; calls about different servers may run
 * at once. After a fork() a server is its maker's alone: in the child all calls fail with -EPERM and ringnfs_free() does
 * nothing.
 *
 * Errors: calls return 0 (or what they say), or a negative errno; ringnfs_error() then has the reason in one line. -EINVAL
 * stands for NULL, for a value that is wrong, and for a call that comes at the wrong time, such as a second
 * ringnfs_start(); -ENOMEM may come from all. A failed call changes nothing, unless it says so.
 *
 * Strings that are passed in are copied. All of this since 0.1. Before 1.0 the interface may still change, and the name of
 * the shared library with it.
 */
#ifndef RINGNFS_H
#define RINGNFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

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

/*
 * Listen on this numeric IPv4 or IPv6 address instead ("0.0.0.0" and "::" are all), or on a Unix socket with this absolute
 * path; may be repeated. The socket's mode is 0600, since whoever connects counts as 127.0.0.1 with a reserved port; one
 * that is there and has no server any more is replaced, and the name is gone after the stop. "none": listen on nothing;
 * clients come by ringnfs_add_connection(). -ENAMETOOLONG: a path of more than 107 bytes. Before the start.
 */
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

/*
 * Have a loop of the caller's own do the server's work, in place of threads: nothing is answered but within
 * ringnfs_process(). Such a server has memory: exports only (-EOPNOTSUPP for others), one worker, and no sandbox: the
 * calling thread keeps its rights, signals and all. Some threads there are all the same; they wait for what such exports
 * never need. Before the start.
 */
RINGNFS_API int ringnfs_drive(struct ringnfs *server);

/*
 * The descriptor to watch for reading, with poll(2), epoll(7) or any loop: then ringnfs_process() has something to do, for
 * a client, for a timer of the server's, or because of a call about it. It stays the server's. -EINVAL: it is not driven.
 * While it runs.
 */
RINGNFS_API int ringnfs_fd(struct ringnfs *server);

/*
 * Do what there is to do, without waiting. After a turn's worth the descriptor just stays readable. It may be called at any
 * time; from any thread, as all calls. Functions of the caller's that the server calls run within. While it runs.
 */
RINGNFS_API int ringnfs_process(struct ringnfs *server);

/*
 * The port of NFS, NFSACL and MOUNT, and of MOUNT if it has another; TCP and UDP alike; 0 if it listens on none. While it
 * runs.
 */
RINGNFS_API int ringnfs_nfs_port(struct ringnfs *server);
RINGNFS_API int ringnfs_mount_port(struct ringnfs *server);

/*
 * The command by which root mounts an export on /mnt, and its URL for libnfs. *out is to be freed by free(), NULL on
 * error. -ENOENT: it is not exported; -EADDRNOTAVAIL: the server listens on no port. While it runs.
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
 * Seeing what clients do. A call of NFS, NFSACL or MOUNT is told of when it begins (RINGNFS_BEGINS), and again when it is
 * over, right before its reply leaves (RINGNFS_ENDS): who has got a reply can rely on it that it has been told. What no
 * program gets is not told of: bad credentials, and the calls by which Kerberos makes its contexts.
 *
 * Everything points to memory that is good until the function returns. Fields that do not apply are 0, NULL or as it says
 * here. The structure grows at its end: what lies behind `size` bytes is not there.
 */
enum ringnfs_moment { RINGNFS_BEGINS, RINGNFS_ENDS };

#define RINGNFS_DROPPED (-1)            /* the call has ended without a reply */

struct ringnfs_call {
    size_t size;
    uint64_t number;                    /* when it ends: 1, 2, ... in the order of the ends */
    uint64_t ended_before;              /* how many calls had ended when it began */

    const struct sockaddr *client;      /* who has called, and the address that he has called */
    const struct sockaddr *server;
    int stream;                         /* 1: over TCP, or a socket like it; 0: over UDP */
    uint32_t xid;
    uint32_t program, version, procedure;
    const char *name;                   /* "READ"; "?" for a procedure that there is not */

    uint32_t flavor;                    /* 0 AUTH_NONE, 1 AUTH_SYS, 390003 krb5, 390004 krb5i, 390005 krb5p */
    uint32_t uid, gid;                  /* as they were sent, before any squashing; UINT32_MAX: none */
    const uint32_t *groups;
    size_t ngroups;
    const char *machine;                /* what the client calls itself; not NUL-terminated */
    size_t machine_len;

    const void *handle;                 /* the first handle among the arguments, and the second one of RENAME and LINK */
    size_t handle_len;
    const void *to_handle;
    size_t to_handle_len;
    const char *file;                   /* the name after the first handle, and after the second; not NUL-terminated */
    size_t file_len;
    const char *to_file;
    size_t to_file_len;
    const char *path;                   /* of the file that the call is about, or the name it gives; NULL: not known */
    const char *to_path;                /* likewise of RENAME's and LINK's new name */
    uint64_t offset;
    uint32_t count;                     /* READ, WRITE, COMMIT: bytes asked for */
    int stable;                         /* WRITE: 0 UNSTABLE, 1 DATA_SYNC, 2 FILE_SYNC; else -1 */
    const void *data;                   /* WRITE's, and READ's when it ends */
    size_t data_len;
    const void *arguments;              /* as XDR */
    size_t arguments_len;

    /* When it ends. */
    int outcome;                        /* 0: it has results; RINGNFS_DROPPED; or accept_stat of RFC 5531 */
    int replayed;                       /* 1: it was sent again, and gets the reply of the first time */
    uint32_t status;                    /* nfsstat3 or mountstat3, with results */
    const char *status_name;            /* "OK", "NOENT"; "?" */
    uint32_t done;                      /* READ, WRITE: bytes moved */
    int committed;                      /* WRITE: as `stable`; else -1 */
    uint64_t verifier;                  /* WRITE, COMMIT: the server's, as a number */
    int64_t began_s;                    /* when it began, by the clock of the day */
    uint32_t began_ns;
    uint64_t duration_ns;
    const void *results;                /* as XDR */
    size_t results_len;
};

/*
 * Called on the server's threads, by several at once, while the call waits; it must not call anything about this server.
 * Nothing can be changed.
 */
typedef void ringnfs_hook(void *context, enum ringnfs_moment moment, const struct ringnfs_call *call);

/* Have a function called for each call; NULL: none, as it is at first. Before the start. */
RINGNFS_API int ringnfs_on_call(struct ringnfs *server, ringnfs_hook *hook, void *context);

/*
 * Write calls to a file from now on, one that is there is emptied: as lines of JSON (ringnfs-journal(5)) or as a capture
 * file (pcapng), which wireshark and tshark read, with the calls in the clear whatever they were on the wire. The calls
 * never wait for the disk: what it does not take is lost, and the file says how much that was. whole_data: with the data
 * of READ and WRITE, which `ringnfsctl replay` needs, in place of its length and digest. -EINVAL: one is open already.
 * While it runs; for all calls from the start on there are the settings "journal" and "capture".
 */
RINGNFS_API int ringnfs_journal_open(struct ringnfs *server, const char *file, int whole_data);
RINGNFS_API int ringnfs_capture_open(struct ringnfs *server, const char *file);

/* Write what has been seen so far, and close the file. -EINVAL: none is open. While it runs. */
RINGNFS_API int ringnfs_journal_close(struct ringnfs *server);
RINGNFS_API int ringnfs_capture_close(struct ringnfs *server);

/*
 * Keep the last `most` calls in memory, for the questions below; 0: none, as it is at first. What was kept is forgotten.
 * At any time before the stop. At most 1,000,000.
 */
RINGNFS_API int ringnfs_keep_calls(struct ringnfs *server, size_t most);

/* Forget the calls that are kept: questions are about later ones. While it runs. */
RINGNFS_API int ringnfs_forget_calls(struct ringnfs *server);

/*
 * How many of the calls that have ended fit a description: a procedure, or "call" for any, and what else it must be:
 *
 *     "COMMIT"   "READ over 64K"   "WRITE of /x/file unstable"   "CREATE answered EXIST"   "call by 1000 from 192.0.2.7"
 *
 *     over SIZE, under SIZE       bytes asked for; SIZE may end in K, M or G
 *     at OFFSET                   where they begin
 *     of PATH                     about this file; a path with spaces stands in double quotes
 *     unstable, data_sync, file_sync      what WRITE asks for
 *     answered STATUS             "OK", "NOENT" ...; "failing": any but OK; "dropped": no reply
 *     by UID, from ADDRESS
 *
 * Returns the number; -EINVAL for a description that cannot be read, or if no calls are kept, and -EOVERFLOW if there were
 * more calls than are kept: the answer is not known. While it runs.
 */
RINGNFS_API int ringnfs_count_calls(struct ringnfs *server, const char *description);

/*
 * Whether this is so: "exactly 1 COMMIT", "no READ over 64K", "at least 2 LOOKUP failing", "at most 10 call of /x/file",
 * "every WRITE file_sync" (no others), "every unstable WRITE covered": each range that was written, and that the server has
 * called unstable, has been committed since, by a COMMIT that began after the WRITE had ended, under the same verifier, or
 * was written anew and stable. Returns 0 if it is so; -EDOM if it is not, and ringnfs_error() says what there was instead;
 * other errors as ringnfs_count_calls().
 */
RINGNFS_API int ringnfs_expect(struct ringnfs *server, const char *expectation);

/*
 * What a memory: export holds, all while the server runs. export_name is as for ringnfs_remove_export(). -ENOENT: it is
 * not exported, or there is no such file; -EINVAL: it is no memory: export. Paths begin at its root, with or without a
 * slash; no symbolic link in them is followed, and ".." is refused. Clients may call meanwhile: each file that is put is
 * made, written and given its mode one after the other.
 */

/*
 * Put all that is in a directory, or in a tar archive (ustar, pax, GNU; plain, or compressed by gzip, bzip2, xz or zstd),
 * into an export, beside and in the place of what is there: with owners, modes, times of modification, links, devices and
 * holes, without extended attributes. An archive with absolute names or ".." in them is refused. -EOPNOTSUPP: this build
 * reads no archives. What was put there before an error stays. The setting memory_bytes bounds it (-ENOSPC).
 */
RINGNFS_API int ringnfs_fill(struct ringnfs *server, const char *export_name, const char *source);

/*
 * Put a file with these contents (it may be there), a directory (likewise), or a symbolic link (what is there goes, but no
 * directory). They are root's; mode is permission bits. Directories above are made if they are missing. data is copied. Of
 * a file that does not fit (-ENOSPC) there is a part.
 */
RINGNFS_API int ringnfs_put_file(struct ringnfs *server, const char *export_name, const char *path, const void *data,
                                 size_t len, unsigned mode);
RINGNFS_API int ringnfs_put_dir(struct ringnfs *server, const char *export_name, const char *path, unsigned mode);
RINGNFS_API int ringnfs_put_symlink(struct ringnfs *server, const char *export_name, const char *path, const char *text);

/* Give what a path names to a user and a group. */
RINGNFS_API int ringnfs_set_owner(struct ringnfs *server, const char *export_name, const char *path, unsigned uid,
                                  unsigned gid);

/* A file's contents as they are now. *data is to be freed by free(), NULL on error. */
RINGNFS_API int ringnfs_get_file(struct ringnfs *server, const char *export_name, const char *path, void **data,
                                 size_t *len);

/*
 * A copy of an export's whole tree, and going back to it, any number of times. A call of a client's comes before all of it
 * or after. After going back handles name files that are in the snapshot as they were then, also if they had been removed;
 * those of all others are stale for ever. The clock, and the numbers that new files get, go on. A snapshot takes as much
 * memory as the tree does. It is the caller's, to be freed by ringnfs_snapshot_free() before or after the server; NULL is
 * fine there. -EINVAL: NULL; -EXDEV: it is of another export, or of one that was removed meanwhile.
 */
struct ringnfs_snapshot;
RINGNFS_API int ringnfs_snapshot(struct ringnfs *server, const char *export_name, struct ringnfs_snapshot **snapshot);
RINGNFS_API int ringnfs_restore(struct ringnfs *server, const char *export_name,
                                const struct ringnfs_snapshot *snapshot);
RINGNFS_API void ringnfs_snapshot_free(struct ringnfs_snapshot *snapshot);

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
