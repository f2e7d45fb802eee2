/*
 * storage/memory_private.h - inside of the store in memory.
 *
 *     memory.c         the store, its nodes by id, the start of every operation
 *     memory_access.c  what a caller may do (no kernel decides it here), ACCESS, SETATTR
 *     memory_acl.c     their ACLs, GETACL, SETACL
 *     memory_dir.c     a directory's entries, LOOKUP, READDIR
 *     memory_name.c    operations that make, remove and move names
 *     memory_pages.c   the pages of a sparse file
 *     memory_crash.c   what of a file is stable, and the loss of the rest
 *     memory_data.c    READ, WRITE, COMMIT, truncation, READLINK
 *     memory_users.c   what each user has, and may have
 *     memory_snapshot.c copies of the whole tree
 *
 * One lock guards the tree. memory.c takes it around each operation, so everything declared here runs under it: shared
 * for what only looks, exclusive for what changes something.
 */
#ifndef RINGNFS_STORAGE_MEMORY_PRIVATE_H
#define RINGNFS_STORAGE_MEMORY_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "storage/memory.h"
#include "storage/node.h"

#define MEMORY_PAGE 4096                /* bytes */
#define MEMORY_LINK_MAX 65000           /* names of one file, as ext4 */
#define MEMORY_USER_BUCKETS 256
#define MEMORY_SIZE_MAX ((uint64_t)INT64_MAX)   /* bytes of a file */

/* Pages of a file by number, in a radix tree of 64 branches. Those that were never written are not there. */
struct memory_pages {
    void *root;                         /* a branch, or the page itself while height is 0 */
    unsigned height;                    /* levels of branches: pages 0 to 64^height - 1 have their place */
    uint64_t count;                     /* pages there are */
};

struct memory_entry {
    struct memory_entry *next;          /* in the same bucket */
    struct memory_node *node;
    uint64_t hash;
    uint64_t cookie;
    uint8_t len;
    char name[];                        /* no NUL */
};

/*
 * Entries by name in a hash table, and in the order of their cookies in an array. A new entry has the greatest cookie
 * so far and goes last; a removed one leaves a gap, and the array is packed when more than half are gaps.
 */
struct memory_dir {
    struct memory_node *parent;         /* itself for the root */
    struct memory_entry **buckets;
    size_t nbuckets;                    /* a power of 2, or 0 */
    struct memory_slot {
        uint64_t cookie;
        struct memory_entry *entry;     /* NULL: a gap */
    } *slots;
    size_t first, end, room;            /* used are [first, end), neither of which is a gap */
    size_t entries;
    uint64_t last_cookie;
    uint64_t name_bytes;
};

struct memory_file {
    struct memory_pages pages;
    struct memory_pages stable;         /* what pages held when they were last stable: of those that no longer do */
    uint64_t stable_size;               /* likewise, while unstable */
    bool unstable;                      /* something would be lost by a crash */
    bool exclusive;                     /* made by an EXCLUSIVE create and not written since */
    uint8_t verifier[STORE_VERIFIER_SIZE];
};

/* What one user owns; there is one for each owner of a file, and none where nobody is limited. */
struct memory_user {
    struct memory_user *next;           /* in the same bucket of the store */
    uint32_t uid;
    uint64_t files;
    uint64_t bytes;                     /* of pages, texts of links, and ACLs */
};

struct memory_node {
    struct store_node base;             /* first */
    struct store_id id;
    atomic_uint refs;                   /* one for being in the tree */
    struct memory_node *next;           /* in the same bucket of the store */
    uint64_t fileid;
    mode_t type;                        /* the S_IFMT bits of mode, to be read without the lock */
    uint32_t mode, nlink, uid, gid;     /* nlink 0: gone; uid changes by memory_chown() */
    struct memory_user *owner;          /* NULL: not counted */
    struct memory_node *copy;           /* while a tree is copied: what this one became */
    uint32_t major, minor;
    uint64_t size;
    struct timespec atime, mtime, ctime;
    struct store_acl *access_acl;       /* NULL: mode says it all */
    struct store_acl *default_acl;      /* of a directory; NULL: none */
    union {
        struct memory_dir dir;
        struct memory_file file;
        char *text;                     /* of a symbolic link, size bytes */
    };
};

struct memory_store {
    struct store base;                  /* first */
    struct memory_config config;
    uint64_t generation;                /* random: no other store's ids are ours */
    uint64_t identity;                  /* random, even with a seed: no other store's snapshots are ours */
    uint64_t fsid;
    uint8_t hash_key[16];
    pthread_rwlock_t lock;
    struct memory_node **buckets;       /* nodes by fileid */
    size_t nbuckets;                    /* a power of 2 */
    uint64_t files;
    uint64_t bytes;                     /* of pages, names, texts of links, and ACLs */
    uint64_t last_fileid;
    uint64_t changes;                   /* of the counted clock */
    struct memory_user *users[MEMORY_USER_BUCKETS];
};

/* Permission to be asked for, as in mode bits. */
enum { MAY_EXEC = 1, MAY_WRITE = 2, MAY_READ = 4 };

static inline struct memory_node *
memory_node(struct store_node *node)
{
    return (struct memory_node *)node;
}

/* memory.c */

/* A new node in the tree without a name yet; nlink 1. Returns 0, -ENOSPC or -ENOMEM. */
int memory_node_new(struct memory_store *store, uint32_t mode, uint32_t uid, uint32_t gid, struct memory_node **node);

/* Take a node out of the tree and free its contents; the node itself goes with the last reference. */
void memory_node_remove(struct memory_store *store, struct memory_node *node);

/* The node with an id, without a reference; the lock is held. Returns 0, -EBADMSG or -ESTALE as store_get(). */
int memory_find(const struct memory_store *store, const struct store_id *id, struct memory_node **node);

/* Put a node into the table of ids. Returns 0 or -ENOMEM. */
int memory_table_add(struct memory_store *store, struct memory_node *node);

/* Give a reference back. */
void memory_put(struct memory_node *node);

/* Free what a node holds; a directory's entries without what they name. */
void memory_free_contents(struct memory_store *store, struct memory_node *node);

/* Whether so many files and bytes more fit. */
bool memory_has_room(const struct memory_store *store, uint64_t files, uint64_t bytes);

/* The time of a change. */
struct timespec memory_tick(struct memory_store *store);

/* The object changes now: ctime moves, always forwards. memory_modify(): its contents change, mtime moves with it. */
void memory_touch(struct memory_node *node);
void memory_modify(struct memory_node *node);

void memory_fill_attr(const struct memory_node *node, struct store_attr *attr);

/* memory_access.c */

/* Whether the mode, or the ACL, gives a caller all of these permissions. */
bool memory_may(const struct memory_node *node, const struct store_cred *cred, unsigned wanted);

/* The same for data of a regular file, where the owner may always and execute serves for read (RFC 1813 4.4). */
bool memory_may_use_data(const struct memory_node *node, const struct store_cred *cred, unsigned wanted);

/* Whether an entry may be taken out of a directory. Returns 0, -EACCES, or -EPERM in a sticky directory. */
int memory_may_remove(const struct memory_node *dir, const struct memory_node *node, const struct store_cred *cred);

/* Set attributes, all or none. Returns 0 or -errno; see store_setattr(). */
int memory_change_attr(struct memory_store *store, struct memory_node *node, const struct store_cred *cred,
                       const struct store_setattr *set);

/* Attributes of an object just made: all but the mode, and what the caller may not set is left as it is. */
void memory_init_attr(struct memory_store *store, struct memory_node *node, const struct store_cred *cred,
                      const struct store_setattr *set);

/* A change by the caller takes set-user-ID away, and set-group-ID where the group may execute. */
void memory_drop_setid(struct memory_node *node);

int memory_setattr(struct memory_store *store, struct store_op *op);
int memory_access(struct memory_store *store, struct store_op *op);
int memory_inside(struct memory_store *store, struct store_op *op);

/* memory_acl.c */

/* What an ACL counts among the store's bytes; NULL: nothing. */
uint64_t memory_acl_bytes(const struct store_acl *acl);

/* A copy, NULL of what has no entries. Returns 0 or -ENOMEM. */
int memory_acl_copy(const struct store_acl *acl, struct store_acl **copy);

/* Give a node that has just been made what it gets of its directory's default ACL. Returns 0 or -ENOMEM. */
int memory_acl_inherit(struct memory_store *store, const struct memory_node *dir, struct memory_node *node);

/* Free those of a node that goes away. */
void memory_acl_free(struct memory_store *store, struct memory_node *node);

int memory_getacl(struct memory_store *store, struct store_op *op);
int memory_setacl(struct memory_store *store, struct store_op *op);

/* memory_users.c */

/* Whether somebody may have so much more that a user owns. Returns 0 or -EDQUOT. */
int memory_within_quota(const struct memory_store *store, const struct store_cred *cred, uint32_t uid, uint64_t files,
                        uint64_t bytes);

/* A node's contents have grown by so many bytes, or shrunk by -bytes. */
void memory_charge(struct memory_store *store, struct memory_node *node, int64_t bytes);

/* Begin and end to count a node, with all it has, among what its owner has. */
void memory_user_enter(struct memory_store *store, struct memory_node *node);
void memory_user_leave(struct memory_store *store, struct memory_node *node);

void memory_chown(struct memory_store *store, struct memory_node *node, uint32_t uid);

/* What a node counts among the store's bytes, but for a directory's names. */
uint64_t memory_node_bytes(const struct memory_node *node);

/* memory_dir.c */

/* The entry of a name, or NULL. */
struct memory_entry *memory_dir_find(const struct memory_store *store, const struct memory_node *dir, const char *name,
                                     size_t len);

/* Add an entry, which must not be there. Returns 0 or -ENOMEM. */
int memory_dir_add(struct memory_store *store, struct memory_node *dir, const char *name, size_t len,
                   struct memory_node *node);

/* Take an entry out and free it. */
void memory_dir_remove(struct memory_store *store, struct memory_node *dir, struct memory_entry *entry);

/* Free all entries of a directory that is going away with the whole store. */
void memory_dir_free(struct memory_node *dir);

/* Give an empty directory the entries of another, under the same cookies, naming the copies of its nodes. */
int memory_dir_copy(struct memory_node *to, const struct memory_node *from);

/* Size of a directory in bytes, as stat(2) would tell it. */
uint64_t memory_dir_size(const struct memory_node *dir);

int memory_lookup(struct memory_store *store, struct store_op *op);
int memory_readdir(struct memory_store *store, struct store_op *op);

/* memory_name.c */
int memory_create(struct memory_store *store, struct store_op *op);
int memory_mkdir(struct memory_store *store, struct store_op *op);
int memory_symlink(struct memory_store *store, struct store_op *op);
int memory_mknod(struct memory_store *store, struct store_op *op);
int memory_remove(struct memory_store *store, struct store_op *op);
int memory_rmdir(struct memory_store *store, struct store_op *op);
int memory_rename(struct memory_store *store, struct store_op *op);
int memory_link(struct memory_store *store, struct store_op *op);

/* memory_pages.c */

/* The page of a number, or NULL where there is none. */
uint8_t *memory_pages_find(const struct memory_pages *pages, uint64_t number);

/* Add a page of zeros where there is none; NULL when memory ran out. */
uint8_t *memory_pages_add(struct memory_pages *pages, uint64_t number);

/* Call see() for each page there is, in order. It adds and frees none. */
void memory_pages_walk(const struct memory_pages *pages, void (*see)(void *context, uint64_t number, uint8_t *page),
                       void *context);

/* Fill an empty one with a copy of all pages. Returns 0, or -ENOMEM and a part of them. */
int memory_pages_copy(struct memory_pages *to, const struct memory_pages *from);

/* Free the pages from a number on. Returns how many there were. */
uint64_t memory_pages_cut(struct memory_pages *pages, uint64_t from);

/* memory_crash.c */

/* A page is about to be written UNSTABLE, now NULL where there is none yet. Returns 0 or -ENOMEM. */
int memory_keep_stable(struct memory_node *node, uint64_t number, const uint8_t *now);

/* Bytes of a page are written, and are stable at once. */
void memory_write_stable(struct memory_node *node, uint64_t offset, const uint8_t *from, uint32_t len);

/* A file is unstable from here on, with all that comes behind its size as it is now. */
void memory_become_unstable(struct memory_node *node);

/* Make a range stable; length 0: to the end. */
void memory_make_stable(struct memory_node *node, uint64_t offset, uint64_t length);

/* The size has been set, which is stable at once. */
void memory_resize_stable(struct memory_node *node, uint64_t size);

/* Free what is kept of a file that goes away. */
void memory_stable_free(struct memory_node *node);

/* memory_data.c */

/* Set the size of a regular file; the times are the caller's business. */
void memory_resize(struct memory_store *store, struct memory_node *node, uint64_t size);

int memory_readlink(struct memory_store *store, struct store_op *op);
int memory_read(struct memory_store *store, struct store_op *op);
int memory_write(struct memory_store *store, struct store_op *op);
int memory_commit(struct memory_store *store, struct store_op *op);

#endif
