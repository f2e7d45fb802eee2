/*
 * storage/posix_private.h - shared by the posix_*.c files; nobody else includes it.
 *
 * posix.c        opening a store, starting operations, deciding where they run
 * posix_id.c     ids of files
 * posix_node.c   nodes, open descriptors and their cache
 * posix_paths.c  finding files by parent and name, where the kernel does not open handles for us
 * posix_attr.c   attributes, permissions, FSSTAT
 * posix_acl.c    ACLs
 * posix_name.c   look-ups and all that makes, moves or removes names
 * posix_dir.c    READDIR
 * posix_data.c   READ, WRITE, COMMIT
 * posix_direct.c READ and WRITE past the page cache
 * posix_flush.c  group commit
 * posix_open.c   descriptors for data
 * posix_inside.c whether a file is still in the tree
 * posix_readahead.c  what streams of reads will want next
 */
#ifndef RINGNFS_STORAGE_POSIX_PRIVATE_H
#define RINGNFS_STORAGE_POSIX_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "storage/engine.h"
#include "storage/node.h"
#include "storage/pace.h"
#include "storage/posix.h"
#include "storage/store.h"

#define NODE_SHARDS 64
#define NODE_BUCKETS 256                /* per shard */
#define ID_SLOTS 1024                   /* per shard: 2 MiB in all, touched as they are used */

struct posix_paths;
struct posix_direct;
struct posix_readahead;
struct posix_store;

#ifndef RWF_DONTCACHE                   /* Linux 6.14 */
#define RWF_DONTCACHE 0x80
#endif

/* private[]: what a READ, WRITE or COMMIT under way remembers; posix_flush.c has 4 to 6, posix_direct.c the last ones. */
enum {
    P_CHANGE = 0, P_FD = 1, P_DONE = 2, P_STARTED = 3,
    P_DIRECT_FD = 7, P_FROM = 8, P_TO = 9, P_LINK = 10, P_LOCKED = 11
};

/*
 * One file that is open here. The table holds one reference as long as the node is in it, callers hold the others. An
 * open descriptor pins the inode, so its (dev, ino) cannot come to mean another file while the node is in the table.
 */
struct posix_node {
    struct store_node base;             /* first */
    struct store_id id;
    dev_t dev;
    ino_t ino;
    mode_t type;                        /* S_IFMT bits */
    _Atomic uint32_t refs;
    int fd;                             /* directories: O_RDONLY; others: O_PATH, or the same as io_fd */
    _Atomic int io_fd;                  /* regular files: to read and write data; -1: not opened yet */
    _Atomic int quiet_fd;               /* regular files: to read without moving the time of access; -1: not opened yet */
    _Atomic bool writable;              /* io_fd is open for writing, too; see posix_open.c */
    _Atomic int writers;                /* calls that write through it now */
    _Atomic uint32_t written_s;         /* when one last began, in seconds of the monotonic clock */
    bool in_writable;                   /* the store's writable_lock */
    TAILQ_ENTRY(posix_node) writable_link;
    struct posix_readahead *_Atomic readahead;  /* regular files, once one is read with u.read.ahead */
    struct posix_direct *_Atomic direct;        /* regular files, once one is read or written past the page cache */
    _Atomic uint32_t changes;           /* how many changes have begun */
    _Atomic uint32_t changing;          /* how many are under way */
    _Atomic bool streaming;             /* directories: somebody reads entries from fd */
    uint64_t stream_cookie;             /* where fd stands; the streaming thread's */
    _Atomic uint32_t data_changes;      /* WRITEs whose data a flush has to take along; see posix_flush.c */
    _Atomic uint32_t data_flushed;      /* how many of them one did */
    pthread_mutex_t flush_lock;         /* of the next seven; see posix_flush.c */
    bool flushing;
    bool flush_data_only;
    int flush_fd;
    uint32_t flush_covers;              /* data_changes when it began */
    uint64_t flush_round;               /* of flush_engine: the flush may be joined as long as this lasts */
    struct engine *flush_engine;
    struct store_op *flush_batch, *flush_waiting;
    bool used;                          /* since the cache last looked; its shard's lock */
    bool in_table;                      /* its shard's lock */
    struct posix_node *next_by_id, *next_by_ino;
    struct posix_node *older, *newer;   /* in the shard, by insertion */
};

struct node_shard {
    pthread_mutex_t lock;               /* of ids; taken before an ino_shard's */
    unsigned count;
    struct posix_node *oldest, *newest;
    struct posix_node *by_id[NODE_BUCKETS];
};

/* The id of a file that is not open, by its number and time of birth; see posix_node.c. */
struct id_slot {
    uint64_t ino;                       /* 0: empty */
    uint64_t birth_ns;
    uint8_t len;
    uint8_t bytes[15];
};

struct ino_shard {
    pthread_mutex_t lock;
    struct posix_node *by_ino[NODE_BUCKETS];
    struct id_slot slots[ID_SLOTS];
};

struct posix_store {
    struct store store;                 /* first */
    struct posix_node *root;            /* in no table; one reference */
    int tree_fd;                        /* a mount of our own without the mounts below it; -1: none */
    int proc_fd;                        /* /proc/self/fd; see posix_proc_name() */
    int mount_fd;                       /* for open_by_handle_at(2) */
    dev_t dev;
    bool own_mount;                     /* mounts below cannot be entered by name */
    bool by_path;                       /* the kernel does not open handles for us */
    bool has_snapshots;                 /* parts of it may be read-only (btrfs) */
    bool never_waits;                   /* file data is always in memory (tmpfs) */
    int inline_mode;                    /* enum of posix.h */
    unsigned shard_max;                 /* nodes kept in a shard */
    uint64_t max_file_size;
    uint8_t hash_key[16];
    pthread_mutex_t writable_lock;
    pthread_cond_t writable_more;
    TAILQ_HEAD(, posix_node) writable;  /* open for writing; they hold no reference */
    pthread_t janitor;                  /* closes them for writing after a while, and nodes that are idle */
    _Atomic bool janitor_runs;
    bool janitor_ends;
    pthread_mutex_t guard_lock;         /* SETATTR with a guard: compare and change are one */
    pthread_mutex_t syncfs_lock;        /* see posix_syncfs() */
    _Atomic uint32_t syncfs_failures;
    struct posix_paths *_Atomic paths;  /* by_path, and where names are kept; else NULL */
    _Atomic uint32_t readaheads;        /* that the pool runs now */
    struct pace pace[2][STORE_KINDS];      /* [op->sync][op->kind] */
    struct node_shard shards[NODE_SHARDS];
    struct ino_shard ino_shards[NODE_SHARDS];
};

static inline struct posix_store *
store_of(struct store *store)
{
    return (struct posix_store *)store;
}

static inline struct posix_node *
node_of(struct store_node *node)
{
    return (struct posix_node *)node;
}

static inline struct posix_store *
op_store(const struct store_op *op)
{
    return (struct posix_store *)op->store;
}

/* posix.c: run a blocking function for op, here or on the pool, whichever suits; returns as the store_...() functions do. */
int posix_run(struct store_op *op, void (*run)(struct store_op *op));

/*
 * posix.c: whether an operation may run on the worker now; around one that does; and after one that the kernel was given
 * at `started_ns` (pace_now_ns()).
 */
bool posix_runs_inline(const struct store_op *op);
void posix_inline_begin(const struct store_op *op, struct pace_mark *mark);
void posix_inline_end(const struct store_op *op, const struct pace_mark *mark);
void posix_learn_queued(const struct store_op *op, uint64_t started_ns);
/* posix.c: op->err is an error: whether the disk is in trouble, or has turned read-only. */
void posix_note_error(struct store_op *op);

/*
 * posix.c: the name in proc_fd that stands for an open descriptor, for system calls that take a name; buffer has
 * POSIX_PROC_NAME_MAX bytes. Threads that act for callers may be unable to find /proc itself (their root is elsewhere).
 */
#define POSIX_PROC_NAME_MAX 16
const char *posix_proc_name(char *buffer, int fd);

/* posix.c: a name as a C string; buffer has STORE_NAME_MAX + 1 bytes. */
const char *posix_cname(char *buffer, const char *name, size_t len);

/* posix_id.c */
#define POSIX_ID_SYNTHETIC 0xff         /* the first byte of an id that is not a kernel handle */
/* Open what an id names. Returns a descriptor or -errno. Reverts the thread's rights. */
int posix_open_id(struct posix_store *ps, const struct store_id *id, int flags);
/* A number is no longer this file's; its shard is locked. */
void posix_forget_id_locked(struct ino_shard *shard, uint64_t hash, ino_t ino);
/* The id of dirfd/name (or of dirfd itself: "" and AT_EMPTY_PATH), whose attributes are st. */
int posix_id_at(struct posix_store *ps, int dirfd, const char *name, int flags, const struct stat *st,
                struct store_id *id);
/*
 * Attributes and id of dirfd/name, no link followed: -ENOENT and the like as stat(2), -ESTALE when the name changed hands,
 * -EXDEV, with the attributes, where something is mounted on the name and the store has no mount of its own.
 */
int posix_look(struct posix_store *ps, int dirfd, dev_t dir_dev, const char *name, struct stat *st,
               struct store_id *id);

static inline uint64_t
posix_hash_ino(dev_t dev, ino_t ino)
{
    uint64_t x = (uint64_t)ino * 0x9e3779b97f4a7c15u ^ (uint64_t)dev;

    return x ^ x >> 29;
}

static inline struct ino_shard *
posix_ino_shard(struct posix_store *ps, uint64_t hash)
{
    return &ps->ino_shards[hash % NODE_SHARDS];
}

/* posix_node.c */
/* The node with this number in a locked shard of numbers; NULL when there is none. */
struct posix_node *posix_find_ino_locked(struct ino_shard *shard, uint64_t hash, const struct stat *st);
int posix_nodes_init(struct posix_store *ps, unsigned max_open);
void posix_nodes_fini(struct posix_store *ps);
/* Make the root out of its open directory, which is taken over, and see whether handles can be opened here. */
int posix_make_root(struct posix_store *ps, int fd);
/* A node in the table, with a reference; NULL when it is not there. */
struct posix_node *posix_find(struct posix_store *ps, const struct store_id *id);
/* A node from the table or newly opened, with a reference. May block; reverts the thread's rights. */
int posix_open(struct posix_store *ps, const struct store_id *id, struct posix_node **node);
/* Put a file that has just been created, open for reading and writing, into the table. Takes fd over; may revert rights. */
void posix_adopt(struct posix_store *ps, const struct store_id *id, const struct stat *st, int fd);
/* The file is gone: close it as soon as nobody uses it. */
void posix_forget(struct posix_store *ps, struct posix_node *node);
void posix_forget_ino(struct posix_store *ps, const struct stat *st);
/* Descriptors have run out: close half of what can be closed. */
void posix_relieve(struct posix_store *ps);
/* A descriptor to read data with that leaves the time of access alone, where this process may have one; else any. */
int posix_quiet_fd(struct posix_store *ps, struct posix_node *node);
/* Close what has not been used since the last time: a file that was removed by others must not keep its space for long. */
void posix_close_idle(struct posix_store *ps);
/* Open a node again with other flags; the caller closes it. Returns it or -errno. Reverts the thread's rights. */
int posix_reopen(struct posix_store *ps, struct posix_node *node, int flags);
void posix_ref(struct store_node *node);
void posix_put(struct store_node *node);

/* posix_open.c: make fd what *place stands for; fd itself is used up. Returns *place or -errno. */
int posix_install(_Atomic int *place, int fd);
/* posix_open.c: a descriptor to read data with. Returns it or -errno. May revert the thread's rights. */
int posix_read_fd(struct posix_store *ps, struct posix_node *node);
/* One to write with, from now until posix_write_end(). Returns it or -errno (then nothing has begun). Likewise. */
int posix_write_begin(struct posix_store *ps, struct posix_node *node);
void posix_write_end(struct posix_node *node);
/* Flush a file through a descriptor of its own, so that no error is kept from those who wait for a flush. May block. */
int posix_flush_apart(struct posix_store *ps, struct posix_node *node);
/* io_fd has been opened for writing; the node is about to be freed; the store begins, ends, is about to be freed. */
void posix_note_writable(struct posix_store *ps, struct posix_node *node);
/* There are open nodes: somebody must look at them from time to time. Reverts the thread's rights the first time. */
void posix_need_janitor(struct posix_store *ps);
void posix_forget_writable(struct posix_store *ps, struct posix_node *node);
void posix_writable_init(struct posix_store *ps);
void posix_writable_stop(struct posix_store *ps);
void posix_writable_fini(struct posix_store *ps);

/* posix_inside.c */
/* Whether an open directory lies in the tree: 0 or -EACCES. With the rights of cred, or the process's own (NULL). */
int posix_climb(struct posix_store *ps, int fd, const struct store_cred *cred);
void posix_inside(struct store_op *op);

/* posix_direct.c: what the file system can: fills in direct_align, direct_memory and dontcache of the store. */
void posix_probe_io(struct posix_store *ps, int dir_fd);
/* Begin a READ past the page cache; false when it has to go through it. */
bool posix_direct_read(struct store_op *op);
/*
 * What of a WRITE goes past the page cache: private[P_FROM] to private[P_TO], on private[P_DIRECT_FD]. Returns whether it
 * has to be locked, since others may write this file past the cache. Between posix_write_begin() and posix_write_end().
 */
bool posix_direct_plan(struct store_op *op);
/* The file does not take it: nothing goes past the page cache. */
void posix_direct_give_up(struct store_op *op);
/* True when it may write now, else step(op) follows. To be unlocked once all is written. */
bool posix_direct_lock(struct store_op *op, void (*step)(struct store_op *op));
void posix_direct_unlock(struct store_op *op);
/* Whether it is open for writing past the cache; fd (reading only) takes that place. */
bool posix_direct_writable(const struct posix_node *node);
void posix_direct_close_writing(struct posix_node *node, int fd);
void posix_direct_free(struct posix_direct *direct);

/* posix_readahead.c: a READ that lies in the page cache's range begins, on fd; end those under way; of a node. */
void posix_readahead(struct store_op *op, int fd);
void posix_readahead_stop(struct posix_store *ps);
void posix_readahead_free(struct posix_readahead *ra);

/* posix_paths.c */
int posix_paths_new(struct posix_store *ps, struct posix_paths **paths);
void posix_paths_free(struct posix_paths *paths);
/* Remember that child is `name` in the directory `parent`. Any thread. */
void posix_paths_note(struct posix_paths *paths, const struct store_id *child, const struct store_id *parent,
                      const char *name);
/* Open the file with an id; looks through the whole tree when it is not known. Returns a descriptor or -errno. */
int posix_paths_open(struct posix_paths *paths, const struct store_id *id, int flags);

/* The name under which a file was last seen, if that was in this directory. */
bool posix_paths_name(struct posix_paths *paths, const struct store_id *child, const struct store_id *parent,
                      char name[STORE_NAME_MAX + 1]);
/* Whether a file is where it was last seen, for the rights that the thread has now: 0 or -errno. */
int posix_paths_check(struct posix_paths *paths, const struct store_id *id);

/* posix_attr.c */
void posix_fill_attr(struct store_attr *attr, const struct stat *st);
/* Attributes of an open node; -ESTALE when it has no name left. */
int posix_attr(struct posix_node *node, struct store_attr *attr);
/* A change of a node begins and ends: fills wcc. state: 8 bytes that are kept in between. */
void posix_change_begin(struct posix_node *node, struct store_wcc *wcc, uint64_t *state);
void posix_change_end(struct posix_node *node, struct store_wcc *wcc, uint64_t state);
/* Flush attributes of a node, for an export that is sync. Returns 0 or -errno. */
int posix_flush_attr(struct posix_store *ps, struct posix_node *node);
/* SETATTR's size alone (op->u.setattr.set->size), checked and flushed as SETATTR does it. */
int posix_change_size(struct store_op *op, struct posix_node *node);
/* Apply attributes to an open file (fd may be O_PATH) with the thread's present rights. */
int posix_apply(struct posix_store *ps, int fd, const struct store_setattr *set);
/* Whether the caller may read (write) a regular file: RFC 1813 4.4. st: its attributes, if at hand. */
int posix_may_access(struct store_op *op, struct posix_node *node, bool write, const struct stat *st);
/* faccessat2(2) on the node itself with the rights of op->cred. */
int posix_check_mode(struct store_op *op, struct posix_node *node, int mode);
void posix_getattr(struct store_op *op);
void posix_setattr(struct store_op *op);
void posix_access(struct store_op *op);
void posix_readlink(struct store_op *op);
void posix_fsstat(struct store_op *op);

/* posix_acl.c */
void posix_getacl(struct store_op *op);
void posix_setacl(struct store_op *op);

/* posix_name.c */
void posix_get(struct store_op *op);
void posix_lookup(struct store_op *op);
void posix_create(struct store_op *op);
void posix_mkdir(struct store_op *op);
void posix_symlink(struct store_op *op);
void posix_mknod(struct store_op *op);
void posix_remove(struct store_op *op);
void posix_rmdir(struct store_op *op);
void posix_rename(struct store_op *op);
void posix_link(struct store_op *op);

/* posix_dir.c */
void posix_readdir(struct store_op *op);

/* posix_flush.c: flush the file of op, together with others that wait for that; then step(op) with op->io_result. */
void posix_flush(struct store_op *op, int fd, bool only_data, void (*step)(struct store_op *op));
/* Data of a WRITE is in the page cache, and a flush has yet to come. */
void posix_note_data(struct posix_node *node);
/* Whether a node must not be closed, since a flush error that is still to come would be lost with it. */
bool posix_unflushed(struct posix_node *node);
/* Nothing more is to be flushed: what was written is on disk, or gone with the file. */
void posix_note_flushed(struct posix_node *node, uint32_t covers);
/* A flush has failed: clients must send unstable data again. Returns err. */
int posix_flush_failed(struct posix_store *ps, int err);
/* Flush something now (fsync(2), fdatasync(2)) and keep the store's accounts. May block. Returns 0 or -errno. */
int posix_fsync(struct posix_store *ps, int fd);
/* Flush the whole file system: for what has no descriptor of its own. May block. Returns 0 or -errno. */
int posix_syncfs(struct posix_store *ps);
/* Ask for write-back errors that nobody was told of, before a descriptor goes; renews the verifier if there were. */
void posix_check_writeback(struct posix_store *ps, int fd);

/* posix_data.c; these decide themselves where they run */
int posix_read(struct store_op *op);
int posix_write(struct store_op *op);
int posix_commit(struct store_op *op);
/* The end of a READ of private[P_DONE] bytes; go on with one through the page cache. */
int posix_end_read(struct store_op *op, int err);
void posix_read_buffered(struct store_op *op);

#endif
