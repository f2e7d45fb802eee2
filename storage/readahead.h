/*
 * storage/readahead.h - which reads of a file are a stream, and what it will read next; knows no files.
 *
 * Clients send the reads of a stream together, and they arrive a little out of order. So a stream is known by where it
 * ends and by the holes before that which have not been read yet: a read continues it by beginning near its end, or by
 * lying in a hole. Reads all over a file leave holes that nobody fills, and make no stream.
 */
#ifndef RINGNFS_STORAGE_READAHEAD_H
#define RINGNFS_STORAGE_READAHEAD_H

#include <stdbool.h>
#include <stdint.h>

#define READAHEAD_STREAMS 4             /* of one file that are followed at once */
#define READAHEAD_HOLES 8               /* of one stream */
#define READAHEAD_RUN 6                 /* reads until it is believed to be one */
#define READAHEAD_ONCE (8u << 20)       /* bytes that are asked for at once, at most */

struct readahead_range {
    uint64_t from, to;                  /* to: behind the last byte */
};

struct readahead_stream {
    uint64_t start;                     /* of its first read */
    uint64_t end;                       /* of the read that got furthest; 0: no stream */
    uint64_t asked;                     /* what was asked for ahead of it ends here */
    uint64_t bytes;                     /* that it has read */
    uint64_t used;                      /* when, by the clock */
    uint32_t run;                       /* reads that belong to it */
    uint32_t nholes;
    struct readahead_range holes[READAHEAD_HOLES];
};

/* Of one file; all zero before its first read. */
struct readahead {
    uint64_t clock;                     /* reads */
    struct readahead_stream streams[READAHEAD_STREAMS];
};

/*
 * A read of length > 0 bytes is made. Returns whether *range should be fetched: up to `ahead` bytes behind a stream, at
 * most READAHEAD_ONCE, never past `size`, never twice. range NULL: nothing can be fetched now; what is due comes later.
 */
bool readahead_note(struct readahead *ra, uint64_t offset, uint32_t length, uint64_t size, uint32_t ahead,
                    struct readahead_range *range);

#endif
