/*
 * storage/store.h - find files by handle and act on them; no NFS, no network.
 *
 * A store is a tree of files. Its nodes are found by an id that the store made (store_id), and each of the operations
 * below does the work of one NFS procedure on them: asynchronously, one struct store_op each.
 *
 * Rules for every operation:
 *   - It returns 0 or -errno when it has finished at once, or STORE_PENDING; then op->done(op) is called later, once,
 *     from engine_reap() of op->engine, that is on the thread that started it, with the outcome in op->err.
 *   - The caller keeps op, everything it points to, and its references to nodes until then.
 *   - Whatever the outcome, attributes and wcc data that could be had are filled in (their "present" says so).
 *   - Names are bytes with a length, never empty, without '/' and NUL, at most STORE_NAME_MAX; "." and ".." are given
 *     to store_lookup() only. The caller checks this. Names are not NUL-terminated.
 *   - The caller's identity is op->cred, squashed already. The store decides by it what is permitted.
 */
#ifndef RINGNFS_STORAGE_STORE_H
#define RINGNFS_STORAGE_STORE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "storage/cred.h"
#include "storage/pool.h"

#define STORE_PENDING (-EINPROGRESS)
#define STORE_NAME_MAX 255              /* bytes of a name, without a NUL */
#define STORE_ID_MAX 44                 /* bytes of an id: a handle around it stays within 64 */
#define STORE_LINK_MAX 4095             /* bytes of a symbolic link's text */
#define STORE_VERIFIER_SIZE 8           /* RFC 1813 2.4: createverf3, writeverf3 */

struct engine;
struct store;
struct store_node;                      /* one file, reference counted; opaque to the caller */

/* What names a file for as long as it exists: never the same bytes for another file of this store, even after it is gone. */
struct store_id {
    uint8_t len;
    uint8_t bytes[STORE_ID_MAX];
};

struct store_attr {
    bool present;
    uint32_t mode;                      /* S_IFMT and permission bits, as in struct stat */
    uint32_t nlink;
    uint32_t uid;
    uint32_t gid;
    uint32_t rdev_major;
    uint32_t rdev_minor;
    uint64_t size;                      /* bytes */
    uint64_t used;                      /* bytes on disk */
    uint64_t fsid;                      /* of the file system, as the kernel numbers it (st_dev) */
    uint64_t fileid;
    struct timespec atime;
    struct timespec mtime;
    struct timespec ctime;
};

/* Attributes just before and after a change; before is left out when another change of ours may have come between. */
struct store_wcc {
    bool before_present;
    uint64_t before_size;
    struct timespec before_mtime;
    struct timespec before_ctime;
    struct store_attr after;
};

/* What SETATTR and the creating calls set (RFC 1813 2.6, sattr3). */
enum store_time_how { STORE_TIME_KEEP, STORE_TIME_NOW, STORE_TIME_SET };
struct store_setattr {
    bool set_mode, set_uid, set_gid, set_size;
    uint32_t mode;                      /* 07777 */
    uint32_t uid, gid;
    uint64_t size;
    enum store_time_how set_atime, set_mtime;
    struct timespec atime, mtime;
};

/*
 * A POSIX ACL (acl(5)): sorted by tag, users and groups by id as well. count 0: there is none.
 */
#define STORE_ACL_MAX 1024              /* entries */
#define STORE_ACL_NO_ID UINT32_MAX      /* in entries that name nobody */
#define STORE_ACL_BYTES (sizeof(struct store_acl) + STORE_ACL_MAX * sizeof(struct store_ace))   /* room for any */
enum {
    STORE_ACL_USER_OBJ = 0x01, STORE_ACL_USER = 0x02, STORE_ACL_GROUP_OBJ = 0x04, STORE_ACL_GROUP = 0x08,
    STORE_ACL_MASK = 0x10, STORE_ACL_OTHER = 0x20
};
struct store_ace {
    uint16_t tag;
    uint16_t perm;                      /* 4 read, 2 write, 1 execute */
    uint32_t id;
};
struct store_acl {
    uint32_t count;
    struct store_ace entries[];
};

enum store_create_how { STORE_UNCHECKED, STORE_GUARDED, STORE_EXCLUSIVE };
/* How file data goes to and from the disk; what a store or a file cannot do goes through the page cache. */
enum store_io { STORE_IO_AUTO, STORE_IO_BUFFERED, STORE_IO_DONTCACHE, STORE_IO_DIRECT };       /* AUTO: BUFFERED */
enum store_stability { STORE_UNSTABLE, STORE_DATA_SYNC, STORE_FILE_SYNC };

/* Bits of ACCESS (RFC 1813 3.3.4). */
enum {
    STORE_ACCESS_READ = 0x01, STORE_ACCESS_LOOKUP = 0x02, STORE_ACCESS_MODIFY = 0x04,
    STORE_ACCESS_EXTEND = 0x08, STORE_ACCESS_DELETE = 0x10, STORE_ACCESS_EXECUTE = 0x20
};

/* Numbers of FSSTAT, FSINFO and PATHCONF that the file system knows. */
struct store_fs {
    uint64_t total_bytes, free_bytes, avail_bytes;
    uint64_t total_files, free_files, avail_files;
    uint64_t max_file_size;             /* bytes, at most 2^63-1 */
    struct timespec time_delta;         /* granularity of times */
    uint32_t link_max;
    uint32_t name_max;
    bool hard_links, symlinks, can_set_time, homogeneous;
    bool no_trunc, chown_restricted, case_insensitive, case_preserving;
};

/* One directory entry, packed one after another in op->dir.buffer; the next begins at the next multiple of 8. */
struct store_dirent {
    uint64_t fileid;
    uint64_t cookie;                    /* resumes behind this entry; never 0 */
    struct store_attr attr;             /* READDIRPLUS; absent when it could not be had */
    struct store_id id;                 /* READDIRPLUS; len 0 when it could not be had */
    uint8_t name_len;
    char name[];                        /* name_len bytes, no NUL */
};

enum store_kind {
    STORE_GET, STORE_GETATTR, STORE_SETATTR, STORE_LOOKUP, STORE_ACCESS, STORE_READLINK, STORE_READ, STORE_WRITE,
    STORE_CREATE, STORE_MKDIR, STORE_SYMLINK, STORE_MKNOD, STORE_REMOVE, STORE_RMDIR, STORE_RENAME, STORE_LINK,
    STORE_READDIR, STORE_FSSTAT, STORE_COMMIT, STORE_INSIDE, STORE_GETACL, STORE_SETACL, STORE_KINDS
};

struct store_op {
    /* given by the caller */
    enum store_kind kind;               /* set by the store_...() function */
    struct store *store;                /* likewise */
    struct store_node *node;            /* likewise: the object, or the directory */
    struct engine *engine;              /* of the calling thread; finishes what is pending */
    const struct store_cred *cred;
    uint32_t client;                    /* a hash of whose it is: clients take turns where an operation has to wait */
    bool sync;                          /* what it changes is on disk before it is done (exports(5) sync) */
    bool prompt;                        /* its flush begins at once, not with those that arrive together (no_wdelay) */
    void (*done)(struct store_op *op);  /* only after STORE_PENDING */
    uint32_t memory;                    /* READ and WRITE: the data lies in what engine_register() gave this number; 0: none */
    const char *name;                   /* LOOKUP, the creating and the removing calls, RENAME's source, LINK's new name */
    size_t name_len;
    union {
        struct { const struct store_id *id; } get;
        struct { const struct store_id *parent; } inside;                                       /* len 0: not known */
        struct { const struct store_setattr *set; const struct timespec *guard; } setattr;      /* guard: ctime or NULL */
        struct { uint32_t mask; } access;
        struct { char *text; size_t size; } readlink;                                           /* size >= STORE_LINK_MAX */
        struct {
            uint64_t offset;
            uint32_t length;
            void *data;                 /* length bytes, or room */
            uint32_t room;              /* bytes at data, if more than length: DIRECT needs some on either side */
            enum store_io io;
            int pipe;                   /* its writing end: cached pages may go there instead; -1: not wanted */
            bool keep_atime;            /* the time of access stays as it is, as far as the store may do that */
            uint32_t ahead;             /* bytes behind a stream of reads to have in memory; 0: as the system does */
        } read;
        struct { uint64_t offset; uint32_t length; const void *data; enum store_stability stable; enum store_io io; } write;
        struct { enum store_create_how how; const struct store_setattr *set; const uint8_t *verifier; } create;
        struct { const struct store_setattr *set; } mkdir;
        struct { const struct store_setattr *set; const char *text; size_t text_len; } symlink;
        struct { const struct store_setattr *set; mode_t type; uint32_t major, minor; } mknod; /* type: S_IFMT bits */
        struct { struct store_node *to; const char *name; size_t name_len; } rename;            /* node, name -> to, name */
        struct { struct store_node *dir; } link;                                                /* node: the file */
        struct { uint64_t offset; uint64_t length; } commit;                                    /* length 0: to the end */
        struct {
            uint64_t cookie;            /* 0: from the beginning */
            void *buffer;               /* 8-aligned; struct store_dirent */
            size_t size;                /* bytes of buffer */
            uint32_t max_entries;       /* stop after so many */
            size_t room;                /* what the caller can tell of, so that no more is looked up; 0: all of it */
            uint32_t entry_room;        /* of that, what an entry takes beside its name ... */
            uint32_t id_room;           /* ... and beside its id; name and id take whole words of 4 bytes */
            bool plus;                  /* with attributes and ids */
            bool keep_atime;            /* as for READ */
        } dir;
        struct { struct store_acl *access, *defaults; } getacl;                 /* room for any; NULL: not wanted */
        struct { const struct store_acl *access, *defaults; } setacl;           /* NULL: stays as it is */
    } u;

    /* filled in by the store */
    int err;                            /* 0 or -errno; also the return value unless pending */
    struct store_attr attr;             /* of node after the operation; of the file for LINK */
    struct store_wcc wcc;               /* of the object (SETATTR, WRITE, COMMIT) or the directory (all that change names) */
    struct store_wcc wcc_to;            /* RENAME: of the target directory */
    struct store_id child;              /* LOOKUP and the creating calls: the object's id; len 0 when unknown */
    struct store_attr child_attr;
    union {
        struct { struct store_node *node; } get;                        /* a reference for the caller */
        struct { uint32_t granted; } access;
        struct { uint32_t len; } readlink;                              /* bytes in u.readlink.text, no NUL */
        struct { uint32_t done, skip; bool eof, in_pipe; } read;        /* the bytes read begin at u.read.data + skip */
        struct { uint32_t done; enum store_stability committed; } write;
        struct { uint32_t entries; size_t used, told; bool eof; } dir;  /* used: bytes of buffer; told: of u.dir.room */
        struct store_fs fs;
    } r;

    struct store_fault *fault;          /* fault.c's */

    /* private to the store and its engine */
    struct pool_work work;              /* in a queue of the pool */
    struct store_op *next;              /* in a list of the engine */
    void (*step)(struct store_op *op);  /* what to do next: on a thread of the pool, or when an I/O is done */
    int io_result;                      /* of the I/O that is done: bytes or -errno */
    struct {
        uint8_t what;                   /* engine_io.h */
        int fd;
        void *data;
        size_t length;
        uint64_t offset;
        int flags;                      /* RWF_...; 0 unless the store says otherwise */
    } io;
    uint64_t private[12];               /* the store's own */
};

/* Of u.dir.room, what an entry takes; id_len 0: it has no id. */
static inline size_t
store_dir_tells(const struct store_op *op, size_t name_len, size_t id_len)
{
    size_t id = id_len > 0 ? op->u.dir.id_room + ((id_len + 3) & ~(size_t)3) : 0;

    return op->u.dir.entry_room + ((name_len + 3) & ~(size_t)3) + id;
}

/* Whether a listing goes on with such an entry; the first one always is in it, or there would be no end. */
static inline bool
store_dir_has_room(const struct store_op *op, size_t name_len, size_t id_len)
{
    return op->u.dir.room == 0 || op->r.dir.entries == 0 ||
           op->r.dir.told + store_dir_tells(op, name_len, id_len) <= op->u.dir.room;
}

/* How a store is built; see posix.h and memory.h for how to make one. */
struct store_ops {
    const char *name;                                                   /* "posix", "memory" */
    int (*start)(struct store_op *op);                                  /* one of the kinds: 0, -errno or STORE_PENDING */
    void (*ref)(struct store_node *node);
    void (*put)(struct store_node *node);
    const struct store_id *(*id)(const struct store_node *node);
    mode_t (*type)(const struct store_node *node);
    bool (*read_only)(struct store *store);                             /* NULL: never; otherwise asks the system */
    void (*free)(struct store *store);
};

/* How the disk below a store does; see store_disk_failed(). Any thread. */
struct store_disk {
    _Atomic int trouble;                /* -errno of the first error since it last worked; 0: none, all is well */
    _Atomic int64_t since;              /* when that was, in seconds of CLOCK_REALTIME */
    _Atomic uint64_t last_ns;           /* the latest error, CLOCK_MONOTONIC */
    _Atomic uint64_t errors;            /* since the store was made */
    _Atomic bool news;                  /* trouble has changed, and nobody has told the operator */
};

struct store {
    const struct store_ops *ops;
    struct store_node *root;            /* held by the store */
    uint64_t fsid_hint[2];              /* the file system's UUID or what comes nearest; names the export when it has no fsid= */
    _Atomic bool read_only;             /* the file system was mounted read-only when it was last looked at */
    /* The write verifier (RFC 1813 3.3.7): new at every start, and after any flush that failed. Any thread. */
    _Atomic uint64_t write_verifier;
    uint64_t seed;                      /* of the verifiers (seed.h) */
    _Atomic uint32_t verifiers;         /* that were drawn */
    /* DIRECT: what offsets and addresses are multiples of, at least; 0: there is no such thing here. */
    uint32_t direct_align, direct_memory;
    _Atomic bool dontcache;             /* DONTCACHE works here */
    /* Counters since the store was made: flushes of files, and the WRITE and COMMIT calls that they served together. */
    _Atomic uint64_t flushes, flushed_calls;
    struct store_disk disk;
};

/*
 * Find the file that an id names. On success op->r.get.node holds a reference: give it back with store_put().
 * Errors: -ESTALE when the file is gone, -EBADMSG when the id is not one of this store's, -EAGAIN when descriptors or
 * memory ran out.
 */
int store_get(struct store *store, const struct store_id *id, struct store_op *op);

/*
 * Whether a node is still in the tree, and op->cred may search all directories above it (exports(5) subtree_check).
 * u.inside.parent: where a file that is no directory was found. -ESTALE when not. attr is not filled in.
 */
int store_inside(struct store_node *node, struct store_op *op);

/* The object's attributes (GETATTR, RFC 1813 3.3.1). Needs no permission. */
int store_getattr(struct store_node *node, struct store_op *op);

/* SETATTR (3.3.2): wcc. -STORE_ENOTSYNC and no change when a guard is given and is not the object's ctime. */
int store_setattr(struct store_node *node, struct store_op *op);

/*
 * LOOKUP (3.3.3) of op->name in a directory: child, child_attr; ".." of the root is the root. attr: the directory's.
 * -EACCES with child_attr, and no child: another file system is mounted on the name.
 */
int store_lookup(struct store_node *dir, struct store_op *op);

/* ACCESS (3.3.4): r.access.granted, the asked-for bits that mean something for this type and are permitted. */
int store_access(struct store_node *node, struct store_op *op);

/* READLINK (3.3.5): r.readlink. -EINVAL for anything but a symbolic link. */
int store_readlink(struct store_node *node, struct store_op *op);

/* READ (3.3.6): r.read. -EISDIR for a directory, -EINVAL for anything else but a regular file. */
int store_read(struct store_node *node, struct store_op *op);

/* WRITE (3.3.7): r.write, wcc. A short write that moved some bytes is a success. -EFBIG past 2^63-1. */
int store_write(struct store_node *node, struct store_op *op);

/* CREATE, MKDIR, SYMLINK, MKNOD (3.3.8-11): child, child_attr, wcc of the directory. */
int store_create(struct store_node *dir, struct store_op *op);
int store_mkdir(struct store_node *dir, struct store_op *op);
int store_symlink(struct store_node *dir, struct store_op *op);
int store_mknod(struct store_node *dir, struct store_op *op);

/* REMOVE (not of directories: -EISDIR) and RMDIR (only of directories) (3.3.12-13): wcc of the directory. */
int store_remove(struct store_node *dir, struct store_op *op);
int store_rmdir(struct store_node *dir, struct store_op *op);

/* RENAME (3.3.14): wcc of the source directory, wcc_to of the target directory. */
int store_rename(struct store_node *from, struct store_op *op);

/* LINK (3.3.15): a new name in u.link.dir for node; attr of the file, wcc of the directory. */
int store_link(struct store_node *node, struct store_op *op);

/*
 * READDIR and READDIRPLUS (3.3.16-17): entries behind u.dir.cookie, in order, "." and ".." among them, as many whole
 * ones as fit. eof: nothing follows the last one. -EBADCOOKIE (STORE_EBADCOOKIE) when the cookie cannot be used.
 */
int store_readdir(struct store_node *dir, struct store_op *op);

/* The numbers of FSSTAT, FSINFO and PATHCONF (3.3.18-20): r.fs, attr. */
int store_fsstat(struct store_node *node, struct store_op *op);

/* COMMIT (3.3.21): flush the range; wcc. A flush error renews the write verifier before it is returned. */
int store_commit(struct store_node *node, struct store_op *op);

/*
 * The access ACL of a file, and the default ACL of a directory (others have none). A file without an ACL, and one that can
 * have none, has the three entries that its mode says. Needs no permission. -EFBIG: more than STORE_ACL_MAX entries.
 */
int store_getacl(struct store_node *node, struct store_op *op);

/*
 * Set the same, or remove what has no entries; mode bits follow an access ACL that is set: attr. For the owner and root:
 * else -EPERM. -EINVAL: it is none; -EACCES: a default ACL for what is no directory; -EOPNOTSUPP: there can be none.
 * Nothing has been set then; when space runs out between the two (-ENOSPC), the access ACL has.
 */
int store_setacl(struct store_node *node, struct store_op *op);

/* Errors that errno.h has no name for; negated like the others. */
#define STORE_ENOTSYNC EDEADLK          /* NFS3ERR_NOT_SYNC */
#define STORE_EBADCOOKIE EBADR          /* NFS3ERR_BAD_COOKIE */
#define STORE_EBADTYPE EPFNOSUPPORT     /* NFS3ERR_BADTYPE */

/* References to nodes; any thread. */
void store_ref(struct store *store, struct store_node *node);
void store_put(struct store *store, struct store_node *node);

/* The node's id and its S_IFMT type, neither of which ever changes. The id lives as long as the reference. */
const struct store_id *store_node_id(const struct store *store, const struct store_node *node);
mode_t store_node_type(const struct store *store, const struct store_node *node);

/*
 * Whether nothing can be changed because the file system is mounted read-only. It is asked again as long as that is so: a
 * disk that is made writable again needs no restart. Any thread.
 */
bool store_read_only(struct store *store);

/* A fresh write verifier, unlike any before it. Any thread. */
void store_renew_verifier(struct store *store);

/*
 * For stores: something has failed on the disk (err), or has got there. The first error puts the store in trouble; it is
 * out of it when a flush succeeds STORE_QUIET_S after the last error, or when a file system that had turned read-only can
 * be written again. store_is_disk_error() tells such errors from those that are answers, as ENOENT and ENOSPC. Any
 * thread.
 */
#define STORE_QUIET_S 5
bool store_is_disk_error(int err);
void store_disk_failed(struct store *store, int err);
void store_disk_worked(struct store *store);

/* Whether there is something to tell the operator: once for each change of disk.trouble, whose value now is in *trouble. */
bool store_disk_news(struct store *store, int *trouble);

/* End a store that nobody uses any more: no operation under way, no reference held. */
void store_free(struct store *store);

#endif
