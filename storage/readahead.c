/* storage/readahead.c - see readahead.h. */
#include "storage/readahead.h"

#include <string.h>
#include <sys/param.h>

#define WINDOW_READS 16                 /* how far ahead of a stream a read of it may be, in reads of its size, */
#define WINDOW_MIN ((uint64_t)32 << 10) /* bytes, in any case */
#define WINDOW_MAX ((uint64_t)16 << 20)
#define KEPT 64                         /* reads of others for which a stream keeps its place */

static uint64_t
window_of(uint32_t length)
{
    return MIN(MAX((uint64_t)length * WINDOW_READS, WINDOW_MIN), WINDOW_MAX);
}

/* Holes that are far behind will not be read any more: the client has those bytes. */
static void
forget_old_holes(struct readahead_stream *stream, uint64_t window)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < stream->nholes; i++) {
        if (stream->holes[i].to + window >= stream->end)
            stream->holes[kept++] = stream->holes[i];
    }
    stream->nholes = kept;
}

/* A read within a hole: what is left of it on either side. Returns whether there is such a hole, and room. */
static bool
fill_hole(struct readahead_stream *stream, uint64_t from, uint64_t to)
{
    for (uint32_t i = 0; i < stream->nholes; i++) {
        struct readahead_range *hole = &stream->holes[i];
        struct readahead_range behind = { to, hole->to };

        if (from < hole->from || to > hole->to)
            continue;
        if (from > hole->from && to < hole->to && stream->nholes == READAHEAD_HOLES)
            return false;
        if (from > hole->from && to < hole->to)
            stream->holes[stream->nholes++] = behind;
        if (from > hole->from)
            hole->to = from;
        else if (to < hole->to)
            hole->from = to;
        else
            *hole = stream->holes[--stream->nholes];
        return true;
    }
    return false;
}

/* Whether a read belongs to the stream, which then goes on with it. */
static bool
continues(struct readahead_stream *stream, uint64_t from, uint64_t to, uint64_t window)
{
    if (to <= stream->end)
        return fill_hole(stream, from, to);
    if (from > stream->end + window)
        return false;
    forget_old_holes(stream, window);
    if (from > stream->end) {
        if (stream->nholes == READAHEAD_HOLES)
            return false;
        stream->holes[stream->nholes++] = (struct readahead_range){ stream->end, from };
    }
    stream->end = to;
    return true;
}

/* The place for a new stream: one that has hardly begun, or else was not used for long; NULL when there is none. */
static struct readahead_stream *
make_room(struct readahead *ra)
{
    struct readahead_stream *best = NULL;

    for (size_t i = 0; i < READAHEAD_STREAMS; i++) {
        struct readahead_stream *stream = &ra->streams[i];

        if (stream->run >= READAHEAD_RUN && ra->clock - stream->used <= KEPT)
            continue;
        if (best == NULL || stream->used < best->used)
            best = stream;
    }
    return best;
}

static struct readahead_stream *
find_stream(struct readahead *ra, uint64_t from, uint64_t to, uint64_t window)
{
    for (size_t i = 0; i < READAHEAD_STREAMS; i++) {
        if (ra->streams[i].end > 0 && continues(&ra->streams[i], from, to, window))
            return &ra->streams[i];
    }
    return NULL;
}

/* It has read nearly all of what lies behind it. */
static bool
is_sequential(const struct readahead_stream *stream)
{
    return stream->run >= READAHEAD_RUN && stream->bytes >= (stream->end - stream->start) / 4 * 3;
}

/* What the stream should have fetched now, in pieces that are worth a request. */
static bool
next_range(struct readahead_stream *stream, uint64_t size, uint32_t ahead, struct readahead_range *range)
{
    uint64_t target = MIN(stream->end + ahead, size);

    range->from = MAX(stream->asked, stream->end);
    range->to = MIN(target, range->from + READAHEAD_ONCE);
    if (range->from >= target || (target - range->from < MIN(ahead, READAHEAD_ONCE) / 2 && target < size))
        return false;
    stream->asked = range->to;
    return true;
}

bool
readahead_note(struct readahead *ra, uint64_t offset, uint32_t length, uint64_t size, uint32_t ahead,
               struct readahead_range *range)
{
    uint64_t window = window_of(length), end = offset + length;
    struct readahead_stream *stream = find_stream(ra, offset, end, window);

    ra->clock++;
    if (stream == NULL) {
        stream = make_room(ra);
        if (stream == NULL)
            return false;
        memset(stream, 0, sizeof(*stream));
        stream->start = offset;
        stream->end = end;
    }
    stream->used = ra->clock;
    stream->bytes += length;
    stream->run += stream->run < READAHEAD_RUN;
    return range != NULL && is_sequential(stream) && next_range(stream, size, ahead, range);
}
