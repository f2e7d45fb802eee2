/*
 * server/exports.h - which directories are served, to whom, and how.
 *
 * A set of exports is built whole from exports(5) lines, never changed afterwards, and counted: a reload makes a new
 * set beside the old one and swaps. Exports whose directory is the same share their store over a reload.
 */
#ifndef RINGNFS_SERVER_EXPORTS_H
#define RINGNFS_SERVER_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpc/call.h"
#include "server/hosts.h"
#include "server/peer.h"
#include "server/settings.h"
#include "storage/fh.h"
#include "storage/store.h"

#define EXPORTS_PATH_MAX 1024           /* bytes; MNTPATHLEN: no client could ask for a longer one */
#define EXPORTS_MISTAKES_MAX 20         /* that are told at once */
#define EXPORTS_MISTAKE_MAX 1024        /* bytes of a line that tells one */
#define EXPORTS_ERROR_MAX ((EXPORTS_MISTAKES_MAX + 1) * EXPORTS_MISTAKE_MAX)
#define EXPORT_FLAVORS_MAX 5            /* none, sys, krb5, krb5i, krb5p */

/* What may differ from one security flavour to another. */
struct export_sec {
    enum call_flavor flavor;
    bool read_only;                     /* default true */
    bool root_squash;                   /* default true */
    bool all_squash;
};

/* What the options of exports(5) say, for one client of one export. */
struct export_rights {
    struct export_sec usual;            /* where no option after a sec= says otherwise */
    struct export_sec sec[EXPORT_FLAVORS_MAX];      /* sec=: what is accepted, in the order of preference */
    unsigned nsec;                      /* 0: AUTH_SYS, as usual */
    unsigned sec_open;                  /* while options are read: bits of those that the next ones are for; 0: all */
    bool async;                         /* default false */
    bool secure;                        /* calls without Kerberos from ports below 1024 only; default true */
    bool wdelay;
    bool subtree_check;
    bool insecure_locks;                /* nothing yet: there are no locks */
    uint32_t anon_uid, anon_gid;        /* default 65534 */
    bool manage_gids;                   /* the server's own groups of a user, not those of the call */
    bool readdirplus;                   /* default true */
    bool crossmnt;                      /* file systems mounted inside of the export belong to it */
    bool nohide;                        /* this export, a mount point, is entered from the one around it */
    bool acl;                           /* NFSACL tells and sets ACLs; default true */
    bool noatime, nodiratime;           /* noatime is for directories, too */
    uint32_t rtmax, wtmax, dtpref;      /* bytes; 0: the server's */
    uint32_t rtpref, wtpref;            /* bytes; 0: the server's; never more than rtmax and wtmax */
    enum store_io io;                   /* the way of file data; default STORE_IO_AUTO */
    uint32_t readahead;                 /* bytes, of streams; 0: the kernel's */
    uint64_t max_rate;                  /* bytes of READ and WRITE a second, for each client; 0: no limit */
    uint32_t max_iops;                  /* calls a second, likewise */
    bool has_fsid;                      /* fsid= was given (number or UUID) */
    uint64_t fsid[2];
    const char *dir;                    /* path=: serve this directory under the export's name; NULL: the name itself */
    const char *mount_point;            /* mountpoint=: served only while this is one; "": what is served; NULL: always */
    bool withheld;                      /* it was none when the exports were read */
};

/* What a client is, in the order in which exports(5) goes through them; the first two count as one kind. */
enum export_match {
    MATCH_ADDRESS,
    MATCH_HOST,                         /* a name, by its addresses */
    MATCH_NETWORK,
    MATCH_WILDCARD,                     /* a pattern for the caller's name */
    MATCH_NETGROUP,                     /* "@" and its name */
    MATCH_ANYONE                        /* "*", or nothing */
};

struct export_client {
    char *text;                         /* as written, for showmount -e */
    enum export_match match;
    struct peer_address address;        /* ADDRESS, NETWORK */
    unsigned prefix;                    /* NETWORK: bits of it that count */
    struct export_rights rights;
};

/* A directory of an export that a file system is mounted on. */
struct export_mount {
    uint64_t fsid, fileid;              /* what it is to look-ups, as in store_attr; see posix_see() */
    const struct export *to;            /* what lies there; NULL: nothing that is exported */
};

/*
 * What is written in a line, or a file system mounted inside of that: such a one has no clients of its own. The clients
 * of the exports around it that have crossmnt may use it.
 */
struct export {
    char *path;                         /* its name for clients; absolute, without a slash at the end but for "/" */
    size_t path_len;
    char *dir;                          /* what is served, symbolic links resolved; NULL for a memory: export */
    bool memory;
    uint64_t id;                        /* in each handle; distinct in a set, the same over restarts */
    uint64_t device;                    /* of its root, as fsid in store_attr; memory has none */
    struct store *store;
    struct export_client *clients;      /* the first that fits counts */
    size_t nclients;
    bool uses_names;                    /* one of them, or of those below, needs more than the caller's address */
    const struct export *around;        /* the nearest export that its path lies in; NULL: there is none */
    bool inherits;                      /* it is a mount point of one of those around it: their clients come behind its own */
    struct export_mount *mounts;        /* by fileid */
    size_t nmounts;
};

struct exports {
    struct export *list;                /* by path; those that are only mounted there come behind them */
    size_t count;                       /* that are written in lines */
    size_t total;
    _Atomic uint32_t refs;
    struct exports_private *private;
};

/*
 * Where the lines come from: files, then lines given on the command line; both may be empty. A file that is a directory
 * stands for the "*.exports" in it, in order; one whose name ends in '/' may be missing. On top of these: exports that
 * have been removed since, by their names, and lines that have been added.
 */
struct exports_source {
    const char *const *files;
    size_t nfiles;
    const char *const *lines;
    size_t nlines;
    const char *const *removed;
    size_t nremoved;
    const char *const *added;
    size_t nadded;
    bool all_mistakes;                  /* are told, a line each, not only the first (error: EXPORTS_ERROR_MAX bytes) */
};

/*
 * Read everything and open nothing: returns 0, or -errno as exports_load() does. error as there. Any thread.
 */
int exports_check(const struct exports_source *source, char *error, size_t error_size);

/*
 * The same, and a set to look at, with one reference: its exports have neither directories nor stores. error as for
 * exports_load(). Any thread.
 */
int exports_parse(const struct exports_source *source, struct exports **set, char *error, size_t error_size);

/*
 * Read and open everything: returns 0 and a set with one reference, or -errno: -EINVAL for a mistake in a line (error:
 * file, line, column, what was read, what would be right), the error of the file or directory that cannot be opened
 * otherwise. old: the set in use, whose stores are shared; may be NULL. On success error holds what should be told but
 * is no mistake, on one line, or "". May block on the disk. Any thread.
 */
int exports_load(const struct exports_source *source, const struct settings *settings, struct exports *old,
                 struct exports **set, char *error, size_t error_size);

/* Whether a set serves directories, so that it matters what is mounted. Any thread. */
bool exports_have_dirs(const struct exports *set);

/*
 * The same lines again, with what is mounted now: returns as exports_load() does. *set is NULL when that makes no
 * difference. Any thread.
 */
int exports_remount(const struct settings *settings, struct exports *old, struct exports **set, char *error,
                    size_t error_size);

struct exports *exports_ref(struct exports *set);
/* The last reference frees the set and the stores that no other set shares. */
void exports_put(struct exports *set);

/* The export with this id; NULL when there is none. Any thread, like all below. */
const struct export *exports_find_id(const struct exports *set, uint64_t id);

/*
 * An export that a path lies in: the longest whose name is the path or a parent of it, and shorter than that of `below`
 * (NULL: of any length). *rest is what follows, without slashes in front. Repeated and trailing slashes do not count.
 * NULL when there is none.
 */
const struct export *exports_find_path(const struct exports *set, const char *path, size_t len,
                                       const struct export *below, const char **rest, size_t *rest_len);

/* What is mounted on the directory of an export that look-ups see so; NULL: nothing. */
const struct export_mount *exports_find_mount(const struct export *export, uint64_t fsid, uint64_t fileid);

/*
 * Whether a caller with these rights walks from an export into what is mounted inside of it: as exports(5) has it,
 * because of crossmnt here, or nohide there. there: NULL when he may not use it.
 */
bool exports_cross(const struct export_rights *here, const struct export_rights *there);

/*
 * What a client may do; *rights NULL: nothing. Returns 0, or -EINPROGRESS or -EAGAIN, as hosts_has_address() does, when
 * that depends on a name that is not known yet; never so for an export that does not use names.
 */
int access_rights(const struct export *export, struct hosts *hosts, struct hosts_query *query,
                  const struct export_rights **rights);

/* What holds for calls of this flavour; NULL: they are not accepted. */
const struct export_sec *export_sec_find(const struct export_rights *rights, enum call_flavor flavor);

/*
 * The flavours for the reply to MNT, best first; returns how many, at least one. As mountd does it, AUTH_NONE is left out
 * where there are others, since some clients take the last one in the list.
 */
size_t export_sec_list(const struct export_rights *rights, enum call_flavor flavors[EXPORT_FLAVORS_MAX]);

/* Have the addresses of all host names of a set looked up before somebody needs them. */
void access_prefetch(const struct exports *set, struct hosts *hosts);

/* Print the options that are known, for --help-exports and the manual page. */
void export_options_print_help(FILE *out);
void export_options_print_roff(FILE *out);

#endif
