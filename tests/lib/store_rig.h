/*
 * tests/lib/store_rig.h - a store to try, and one function for each operation that waits until it is done.
 *
 * The functions return what the operation came to; its other results are in rig->call.op until the next one. Nodes that
 * the rig hands out are given back by rig_put_all().
 */
#ifndef RINGNFS_TESTS_STORE_RIG_H
#define RINGNFS_TESTS_STORE_RIG_H

#include <limits.h>

#include "storage/engine.h"
#include "storage/store.h"

#define RIG_NODES 512                   /* held at once */

struct rig {
    struct store *store;
    struct engine *engine;              /* NULL where operations always finish at once */
    struct pool *pool;
    struct store_node *dir;             /* where a test works */
    bool decides;                       /* the caller's identity counts: false for an ordinary user's posix store */
    struct {
        struct store_op op;             /* first */
        bool over;
    } call;
    struct store_node *nodes[RIG_NODES];
    unsigned nnodes;
    char path[PATH_MAX];                /* of a posix store */
};

extern const struct store_cred rig_root;
extern const struct store_cred rig_alice;       /* owner of what the tests make */
extern const struct store_cred rig_bob;         /* somebody else */
#define RIG_ALICE 1001
#define RIG_BOB 1002
#define RIG_GROUP 2000                  /* nobody's first group */

#define MODE(bits) ((struct store_setattr){ .set_mode = true, .mode = (bits) })
#define SIZE(bytes) ((struct store_setattr){ .set_size = true, .size = (bytes) })
#define NOTHING ((struct store_setattr){ 0 })

/* An operation ready to be filled in. */
struct store_op *rig_op(struct rig *rig, const struct store_cred *cred);

/* Wait until a started operation is done: err is what the store_...() function returned. */
int rig_finish(struct rig *rig, int err);

int rig_get(struct rig *rig, const struct store_id *id, struct store_node **node);
struct store_attr rig_attr(struct rig *rig, struct store_node *node);           /* must work */
int rig_setattr(struct rig *rig, const struct store_cred *cred, struct store_node *node, struct store_setattr set);
int rig_lookup(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name);
uint32_t rig_access(struct rig *rig, const struct store_cred *cred, struct store_node *node, uint32_t mask);
int rig_readlink(struct rig *rig, struct store_node *node, char text[STORE_LINK_MAX + 1]);
int rig_read(struct rig *rig, const struct store_cred *cred, struct store_node *node, uint64_t offset, uint32_t length,
             void *data);
int rig_write(struct rig *rig, const struct store_cred *cred, struct store_node *node, uint64_t offset,
              const void *data, uint32_t length);
int rig_create(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name,
               enum store_create_how how, struct store_setattr set);
int rig_exclusive(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name,
                  const char verifier[STORE_VERIFIER_SIZE]);
int rig_mkdir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name,
              struct store_setattr set);
int rig_symlink(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name,
                const char *text, size_t len);
int rig_mknod(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name, mode_t type,
              uint32_t major, uint32_t minor);
int rig_remove(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name);
int rig_rmdir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name);
int rig_rename(struct rig *rig, const struct store_cred *cred, struct store_node *from, const char *name,
               struct store_node *to, const char *new_name);
int rig_link(struct rig *rig, const struct store_cred *cred, struct store_node *node, struct store_node *dir,
             const char *name);
int rig_readdir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, uint64_t cookie, void *buffer,
                size_t size, uint32_t max_entries, bool plus);
/* With attributes, for a caller who has room for so much, 10 bytes an entry beside names and ids, 5 for an id. */
int rig_readdir_room(struct rig *rig, struct store_node *dir, uint64_t cookie, void *buffer, size_t size, size_t room);
int rig_fsstat(struct rig *rig, struct store_node *node);
int rig_commit(struct rig *rig, const struct store_cred *cred, struct store_node *node);

/* The object that a look-up or a creating call has just found or made. */
struct store_node *rig_child(struct rig *rig);

/* An object: "file", "dir", "link", "fifo", "sock", "chr" or "blk". Made by root, then alice's where that counts. */
struct store_node *rig_make(struct rig *rig, struct store_node *dir, const char *name, const char *type, uint32_t mode);

/* The node of a name that must be there. */
struct store_node *rig_find(struct rig *rig, struct store_node *dir, const char *name);

/* The names in a directory, read in pages of so many entries, "." and ".." left out; each is followed by a space. */
void rig_names(struct rig *rig, struct store_node *dir, uint32_t page, char *text, size_t size);

/* The entry behind one in a READDIR buffer. */
const struct store_dirent *rig_next_entry(const struct store_dirent *dirent);

void rig_put_all(struct rig *rig);

/* Let the file system's clock move on. */
void rig_tick(void);

#endif
