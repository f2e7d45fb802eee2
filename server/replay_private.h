/* server/replay_private.h - what the files of a replay have in common: replay.c, replay_compare.c, replay_listing.c. */
#ifndef RINGNFS_SERVER_REPLAY_PRIVATE_H
#define RINGNFS_SERVER_REPLAY_PRIVATE_H

#include <sys/queue.h>

#include "server/replay.h"
#include "server/replay_map.h"
#include "server/seen_names.h"
#include "xdr/shape.h"

#define REPLAY_ARGS_MAX ((size_t)16 << 20)      /* bytes of arguments */

struct listing;
struct comparison;

struct replay {
    const struct replay_config *config;
    struct replay_target *target;
    struct replay_counts *counts;
    struct replay_map *handles, *verifiers;
    struct comparison *comparison;      /* replay_compare.c's */
    LIST_HEAD(, listing) listings;      /* replay_listing.c's */
    unsigned nlistings;
    size_t names_listed;                /* in all of them */
    bool root_used;
    uint8_t *args;                      /* REPLAY_ARGS_MAX bytes: of the call that is sent */
    struct seen_names *names;           /* of handles in the recording */
    char path[SEEN_PATH_MAX];

    /* The call under way. */
    const struct ringnfs_call *call;
    const struct shape_proc *proc;
    uint64_t at;
    char *error;
    size_t error_size;
};

/* One of the two sides of a comparison. */
struct replay_bytes {
    const uint8_t *data;
    size_t len;
};

/* Something differs. */
void replay_differs(struct replay *replay, const char *field, const char *recorded, const char *now);

/* Send the call with other arguments. Returns as replay_target_call(). */
int replay_send(struct replay *replay, const uint8_t *args, size_t len, struct replay_bytes *results);

/* replay_compare.c */
int replay_comparison_new(struct comparison **comparison);
void replay_comparison_free(struct comparison *comparison);
/*
 * Compare two of a shape, field by field, and learn handles and verifiers. Names of fields begin with a prefix. Lists in
 * them are left out. Returns 0 or -errno.
 */
int replay_compare(struct replay *replay, const struct shape *fields, const char *prefix, struct replay_bytes recorded,
                   struct replay_bytes now);

/* replay_listing.c: a READDIR or READDIRPLUS. args: its own with the server's handle in it. Returns 0 or -errno. */
int replay_listing(struct replay *replay, size_t args_len);
void replay_listings_free(struct replay *replay);

#endif
