/* rpc/record.c - whole calls from a stream of bytes (RFC 5531 section 11). */
#include "rpc/record.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#define EMPTY_MAX 1024                  /* marks a record may have beyond one for each of its bytes */

void
record_init(struct record *record, uint32_t max_bytes)
{
    memset(record, 0, sizeof(*record));
    record->max_bytes = MIN(max_bytes, RECORD_LAST - 1);
}

bool
record_restore(struct record *record, const struct record *from, size_t held)
{
    uint32_t max = record->max_bytes;

    if (from->marks == 0)
        return from->length == 0 && from->left == 0 && !from->last;
    if (from->length > max || from->left > max - from->length || held < (size_t)RECORD_MARK_BYTES + from->length)
        return false;
    *record = *from;
    record->max_bytes = max;
    return true;
}

static uint32_t
mark_at(const uint8_t *data)
{
    uint32_t mark;

    memcpy(&mark, data, sizeof(mark));
    return be32toh(mark);
}

/* The current record goes on with the fragment that a mark announces. */
static int
begin_fragment(struct record *record, uint32_t mark)
{
    uint32_t size = mark & ~RECORD_LAST;

    if (size > record->max_bytes - record->length || record->marks > (uint64_t)record->max_bytes + EMPTY_MAX)
        return -EMSGSIZE;
    record->marks++;
    record->left = size;
    record->last = (mark & RECORD_LAST) != 0;
    return 0;
}

/* The general case: `to` is where the record's next byte belongs, `from` the first byte not looked at. */
static int
join(struct record *record, uint8_t *data, size_t *len, size_t *size, size_t *used)
{
    size_t to = record_extent(record) - record->left;
    size_t from = to;

    for (;;) {
        size_t n = MIN(record->left, *len - from);

        if (n > 0 && from != to)
            memmove(data + to, data + from, n);
        to += n;
        from += n;
        record->length += (uint32_t)n;
        record->left -= (uint32_t)n;
        if (record->left > 0)
            break;
        if (record->last) {
            *size = record->length;
            *used = from;
            record_init(record, record->max_bytes);
            return 1;
        }
        if (*len - from < RECORD_MARK_BYTES)
            break;
        if (begin_fragment(record, mark_at(data + from)) < 0)
            return -EMSGSIZE;
        from += RECORD_MARK_BYTES;
        if (record->marks == 1)
            to = from;
    }
    if (from != to) {                                    /* at most three bytes follow: a part of a mark */
        memmove(data + to, data + from, *len - from);
        *len -= from - to;
    }
    return 0;
}

int
record_cut(struct record *record, uint8_t *data, size_t *len, size_t *size, size_t *used)
{
    if (record->marks == 0 && *len >= RECORD_MARK_BYTES) {
        uint32_t mark = mark_at(data);
        uint32_t n = mark & ~RECORD_LAST;

        if ((mark & RECORD_LAST) != 0 && n <= record->max_bytes && n <= *len - RECORD_MARK_BYTES) {
            *size = n;
            *used = RECORD_MARK_BYTES + n;
            return 1;
        }
    }
    return join(record, data, len, size, used);
}

size_t
record_extent(const struct record *record)
{
    return record->marks == 0 ? 0 : (size_t)RECORD_MARK_BYTES + record->length + record->left;
}
