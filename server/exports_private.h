/*
 * server/exports_private.h - how a set of exports is made; for exports*.c only.
 *
 * exports.c        sets: counted, searched, freed
 * exports_build.c  entries (a client of a path, exports_file.c) are gathered into exports, and what lines say of one
 *                  export is compared
 * exports_open.c   directories are opened, or their stores taken over from the set before
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

/* Exports by their ids, in order. */
struct id_row {
    uint64_t id;
    size_t export;                      /* place in the list */
};

struct exports_private {
    struct shared_store **stores;       /* one for each export */
    const struct export_entry **first;  /* the entry that each export comes from; while the set is built */
    struct id_row *ids;
};

/* While a set is built. */
struct exports_builder {
    const struct settings *settings;
    struct exports *old, *set;
    struct export_entries entries;
    struct exports_report report;
};

/* exports.c: a set with room for as many exports, and one reference; NULL when memory is short. */
struct exports *exports_new(size_t room);
void exports_free_client(struct export_client *client);
void exports_shared_store_put(struct shared_store *shared);

/* exports_build.c: read a source, and make a set of it that has neither directories nor stores. Returns 0 or -errno. */
int exports_build(struct exports_builder *builder, const struct exports_source *source, char *error,
                  size_t error_size);
/* All is well: give the set away, and tell what is no mistake. */
void exports_build_hand_over(struct exports_builder *builder, struct exports **set);
void exports_builder_fini(struct exports_builder *builder);

/* An export's id, from a name that does not change: what the operator chose ('f'), or where the files are ('p'). */
uint64_t exports_make_id(char kind, const uint64_t name[2], const char *path);
/* Fill in the rows of all exports that have an id, in order. No two may have the same: -EINVAL. */
int exports_sort_ids(struct exports_builder *builder);
const char *exports_show_path(char out[EXPORTS_SHOWN_MAX], const char *path);

#endif
