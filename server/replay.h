/*
 * server/replay.h - send calls that were recorded to a server, in their order, and find the replies that differ in what
 * they mean.
 *
 * Handles of the recording become those that the server gives for the same things. A listing is compared when it is
 * complete, as a set of names. Times, numbers of files, sizes of directories and what depends on the disk are not
 * compared; a write verifier has to change when the recorded one did, and only then.
 */
#ifndef RINGNFS_SERVER_REPLAY_H
#define RINGNFS_SERVER_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/replay_source.h"
#include "server/replay_target.h"

/* One thing that differs; texts are good until the function returns. */
struct replay_difference {
    uint64_t at;                        /* the line or packet of the recording */
    const char *procedure;
    const char *path;                   /* of the file, as it was recorded; NULL: not known */
    const char *field;                  /* "status", "obj_attributes.mode", "entry \"name\"" */
    const char *recorded, *now;
};

struct replay_config {
    const char *root;                   /* whose handle the first one is that nothing has given; NULL: unknown */
    bool strict;                        /* compare times and numbers of files, too */
    void (*tell)(void *context, const struct replay_difference *difference);
    void *context;
};

struct replay_counts {
    uint64_t calls;                     /* that were sent */
    uint64_t differences;
    uint64_t unknown;                   /* not sent: with a handle that nothing in the recording has given */
    uint64_t copies;                    /* not sent: retransmissions, and replies that only said "come again" */
};

/* Send everything. Returns 0, whatever differs, or -errno with error when it cannot go on. */
int replay_run(struct replay_source *source, struct replay_target *target, const struct replay_config *config,
               struct replay_counts *counts, char *error, size_t error_size);

#endif
