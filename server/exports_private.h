/*
 * server/exports_private.h - how a set of exports is made; for exports*.c only.
 *
 * exports.c        sets: counted, searched, freed
 * exports_build.c  entries (a client of a path, exports_file.c) are gathered into exports, and what lines say of one
 *                  export is compared
 * exports_open.c   directories are opened, or their stores taken over from the set before
 * exports_mounts.c what is mounted inside of exports
 */
#ifndef RINGNFS_SERVER_EXPORTS_PRIVATE_H
#define RINGNFS_SERVER_EXPORTS_PRIVATE_H

#include <sys/types.h>

#include "server/exports.h"
#include "server/exports_file.h"

#define EXPORTS_SHOWN_MAX 128           /* bytes of a path that are shown */

/* A store and what it was made from; each export that uses it holds a reference. */
struct shared_store {
    _Atomic uint32_t refs;
    struct store *store;
    char *name;                         /* the directory, or a memory export's name */
    bool memory;
    dev_t dev;
    ino_t ino;
};

/* What the lines of a source say; each set that was made from them holds a reference. */
struct exports_lines {
    _Atomic uint32_t refs;
    struct export_entries entries;
};

/* Exports by their ids, in order. */
struct id_row {
    uint64_t id;
    size_t export;                      /* place in the list */
};

struct exports_private {
    struct exports_lines *lines;
    struct shared_store **stores;       /* one for each export */
    const struct export_entry **first;  /* the first entry of each export; NULL: it is only mounted there */
    struct id_row *ids;
    uint64_t mounted;                   /* digest of what was mounted when it was opened */
};

/* While a set is built. */
struct exports_builder {
    const struct settings *settings;
    struct exports *old, *set;
    size_t nmounts;                     /* file systems inside of exports that may be served, at most */
    struct exports_report report;
};

/* exports.c: a set with room for as many exports, and one reference; NULL when memory is short. */
struct exports *exports_new(size_t room);
/* Make room for more exports, as long as nothing points to one. Returns 0 or -ENOMEM. */
int exports_grow(struct exports *set, size_t more);
void exports_free_client(struct export_client *client);
void exports_shared_store_put(struct shared_store *shared);

/* exports.c: of those that are written in lines, the one of that very path, and the nearest one around it, or NULL. */
struct export *exports_find_exact(const struct exports *set, const char *path, size_t len);
struct export *exports_find_around(const struct exports *set, const char *path);

/*
 * exports_build.c: make a set that has neither directories nor stores, of what a source says, or of the lines of a set
 * that there is already. Returns 0 or -errno.
 */
int exports_build(struct exports_builder *builder, const struct exports_source *source, char *error,
                  size_t error_size);
int exports_build_again(struct exports_builder *builder, char *error, size_t error_size);
/* All is well: give the set away, and tell what is no mistake. */
void exports_build_hand_over(struct exports_builder *builder, struct exports **set);
void exports_builder_fini(struct exports_builder *builder);

/* An export's id, from a name that does not change: what the operator chose ('f'), or where the files are ('p'). */
uint64_t exports_make_id(char kind, const uint64_t name[2], const char *path);
/* Fill in the rows of all exports that have an id, in order. No two may have the same: -EINVAL. */
int exports_sort_ids(struct exports_builder *builder);
const char *exports_show_path(char out[EXPORTS_SHOWN_MAX], const char *path);
int exports_out_of_memory(struct exports_builder *builder);

/* exports_open.c: the store of an export whose directory is known. Returns 0 or -errno. */
int exports_open_store(struct exports_builder *builder, size_t i);

/* What is mounted on this machine now: each directory once, what lies below one right behind it. */
struct mount_table {
    struct mounted {
        char *dir;                      /* absolute */
        size_t line;                    /* of the table, the later the further on top */
        uint64_t digest;                /* of where it is and what: numbers of mounts are used again at once */
    } *list;
    size_t count;
};

/* exports_mounts.c: returns 0 or -ENOMEM; a machine that does not tell has none. */
int exports_read_mounts(struct mount_table *table);
void exports_free_mounts(struct mount_table *table);
/* How many file systems may be found inside of the exports, whose directories are known. */
size_t exports_count_mounts(const struct exports *set, const struct mount_table *table);
/* A number that changes with whatever of it may make a difference to a set. */
uint64_t exports_digest_mounts(const struct exports *set, const struct mount_table *table);
/* Find them, and open those that are served. Returns 0 or -errno. */
int exports_add_mounts(struct exports_builder *builder, const struct mount_table *table);

#endif
