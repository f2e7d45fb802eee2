/*
 * server/replay_source.h - calls that were recorded, one after the other: out of a journal (ringnfs-journal(5)), or out of
 * a capture file, one of ours or of any other program that writes pcap or pcapng.
 *
 * Files may be hostile: everything that they can make grow has a bound.
 */
#ifndef RINGNFS_SERVER_REPLAY_SOURCE_H
#define RINGNFS_SERVER_REPLAY_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "server/ringnfs.h"

/* What was in the file and cannot be sent. */
struct replay_left_out {
    uint64_t lost;                      /* calls that the recording itself says are missing */
    uint64_t torn;                      /* pieces of TCP streams, and fragments, that do not go together */
    uint64_t sealed;                    /* calls with RPCSEC_GSS, whose arguments cannot be read */
    uint64_t unanswered;                /* calls without a reply */
};

struct replay_source;

struct replay_source_ops {
    int (*next)(struct replay_source *source, struct ringnfs_call *call, uint64_t *at, char *error, size_t error_size);
    void (*free)(struct replay_source *source);
};

struct replay_source {
    const struct replay_source_ops *ops;
    struct replay_left_out left_out;
};

/* Open a file of either kind. Returns 0, or -errno with error: -EINVAL if it is neither. */
int replay_source_open(const char *file, struct replay_source **source, char *error, size_t error_size);

/*
 * The next call that has ended, with its reply, good until the next one; *at: the line or the packet that has it. Returns
 * 1, 0 at the end, or -errno with error, which says where.
 */
int replay_source_next(struct replay_source *source, struct ringnfs_call *call, uint64_t *at, char *error,
                       size_t error_size);

void replay_source_free(struct replay_source *source);

/* The kinds; file is theirs from then on. */
int replay_journal_open(FILE *file, struct replay_source **source, char *error, size_t error_size);
int replay_capture_open(FILE *file, struct replay_source **source, char *error, size_t error_size);

#endif
