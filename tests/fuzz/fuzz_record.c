/*
 * tests/fuzz/fuzz_record.c - any stream of bytes, in any pieces, cut into calls (RFC 5531 section 11) as the RFC's own
 * words would cut it.
 *
 * An input is a bound, how the stream arrives, and the stream.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/record.h"
#include "tests/fuzz/fuzz.h"

#define HEAD 2                          /* bytes of an input before the stream */
#define EMPTY_MAX 1024                  /* record.c's: marks beyond one for each byte that a record may have */

const char fuzz_name[] = "record";

/* The stream as it should be read: what has been taken of it, and the record that was found. */
struct reader {
    const uint8_t *data;
    size_t len, at;
    uint32_t max_bytes;
    uint8_t *record;
    size_t size;
};

static void
require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "record: %s\n", what);
    abort();
}

/* The next record, simply: 1, 0 when the stream ends before it does, -EMSGSIZE when it is too long. */
static int
read_plainly(struct reader *reader)
{
    size_t at = reader->at;
    uint32_t mark, size, marks = 0;

    reader->size = 0;
    for (;;) {
        if (reader->len - at < RECORD_MARK_BYTES)
            return 0;
        memcpy(&mark, reader->data + at, sizeof(mark));
        mark = ntohl(mark);
        size = mark & ~RECORD_LAST;
        if (size > reader->max_bytes - reader->size || marks++ > reader->max_bytes + EMPTY_MAX)
            return -EMSGSIZE;
        at += RECORD_MARK_BYTES;
        if (reader->len - at < size)
            return 0;
        memcpy(reader->record + reader->size, reader->data + at, size);
        reader->size += size;
        at += size;
        if ((mark & RECORD_LAST) != 0)
            break;
    }
    reader->at = at;
    return 1;
}

/* Every record that is whole in what has arrived is the one that the plain reader finds; -EMSGSIZE from both, too. */
static int
cut(struct record *record, struct reader *plain, uint8_t *held, size_t *len)
{
    size_t size, used, start = 0;
    int err;

    for (;;) {
        size_t left = *len - start;

        err = record_cut(record, held + start, &left, &size, &used);
        *len = start + left;
        if (err != 1)
            break;
        require(used <= left && size <= record->max_bytes, "longer than what arrived, or than it may be");
        require(read_plainly(plain) == 1, "a record where there is none");
        require(plain->size == size, "another length");
        require(memcmp(plain->record, held + start + RECORD_MARK_BYTES, size) == 0, "other bytes");
        start += used;
    }
    memmove(held, held + start, *len - start);
    *len -= start;
    require(err == 0 || read_plainly(plain) == -EMSGSIZE, "refused what is no longer than it may be");
    require(record_extent(record) <= RECORD_MARK_BYTES + (size_t)record->max_bytes, "more room asked for than allowed");
    return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader plain = { .data = data + HEAD, .len = size - HEAD };
    struct record record;
    uint8_t *held;
    size_t len = 0, at = 0, step, n;
    int err = 0;

    if (size < HEAD)
        return 0;
    plain.max_bytes = 1u << data[0] % 18;
    step = 1 + data[1];
    record_init(&record, plain.max_bytes);
    plain.record = malloc(plain.max_bytes);
    held = malloc(plain.len + 1);
    if (plain.record == NULL || held == NULL)
        abort();
    while (at < plain.len && err == 0) {
        n = plain.len - at < step ? plain.len - at : step;
        memcpy(held + len, plain.data + at, n);
        at += n;
        len += n;
        err = cut(&record, &plain, held, &len);
        step = step * 5 % 257 + 1;
    }
    if (err == 0)
        require(read_plainly(&plain) == 0, "missed a record, or one that is too long");
    free(plain.record);
    free(held);
    return 0;
}
