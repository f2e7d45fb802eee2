/* tests/unit/test_rpc_record.c - record marking: every way of cutting a stream into fragments and segments. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include <cmocka.h>

#include "rpc/record.h"

#define STREAM_MAX (1 << 20)
#define RECORD_MAX 4096

/* A stream as it is received, and the records that it should turn into. */
struct stream {
    uint8_t bytes[STREAM_MAX];
    size_t len;
    uint8_t records[STREAM_MAX];        /* all records, one after the other */
    size_t records_len;
    size_t sizes[1024];
    size_t count;
    uint8_t next;                       /* byte value to be sent next */
};

static struct stream *
stream_new(void)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    assert_non_null(stream);
    return stream;
}

static void
put_mark(struct stream *stream, uint32_t mark)
{
    uint8_t bytes[4] = { (uint8_t)(mark >> 24), (uint8_t)(mark >> 16), (uint8_t)(mark >> 8), (uint8_t)mark };

    memcpy(stream->bytes + stream->len, bytes, sizeof(bytes));
    stream->len += sizeof(bytes);
}

static void
put_fragment(struct stream *stream, size_t size, bool last)
{
    put_mark(stream, (uint32_t)size | (last ? RECORD_LAST : 0));
    for (size_t i = 0; i < size; i++) {
        stream->records[stream->records_len++] = stream->next;
        stream->bytes[stream->len++] = stream->next++;
    }
    stream->sizes[stream->count] += size;
    if (last)
        stream->count++;
}

/* Receive the stream in pieces of `piece` bytes; returns 0 or the error, and checks each record. */
static int
receive(const struct stream *stream, size_t piece, size_t *count)
{
    uint8_t *buf = malloc(STREAM_MAX);
    struct record record;
    size_t start = 0, end = 0, checked = 0;
    size_t len, size, used;
    int err = 0;

    assert_non_null(buf);
    record_init(&record, RECORD_MAX);
    *count = 0;
    for (size_t at = 0; at < stream->len; at += piece) {
        size_t n = MIN(piece, stream->len - at);

        memcpy(buf + end, stream->bytes + at, n);
        end += n;
        for (;;) {
            len = end - start;
            err = record_cut(&record, buf + start, &len, &size, &used);
            if (err <= 0)
                break;
            assert_true(used <= len);
            assert_int_equal(size, stream->sizes[*count]);
            assert_memory_equal(buf + start + RECORD_MARK_BYTES, stream->records + checked, size);
            checked += size;
            start += used;
            (*count)++;
        }
        if (err < 0)
            break;
        end = start + len;
        assert_true(len <= record_extent(&record) + RECORD_MARK_BYTES);
        memmove(buf, buf + start, len);                  /* as a connection does from time to time */
        start = 0;
        end = len;
    }
    free(buf);
    return err;
}

static void
check_in_all_pieces(const struct stream *stream)
{
    static const size_t pieces[] = { 1, 2, 3, 4, 5, 7, 8, 13, 64, 999, 4096, STREAM_MAX };
    size_t count;

    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        assert_int_equal(receive(stream, pieces[i], &count), 0);
        assert_int_equal(count, stream->count);
    }
}

static void
every_fragmentation_is_joined_however_it_arrives(void **state)
{
    static const struct {
        const char *name;
        size_t sizes[8];
        size_t n;
    } rows[] = {
        { "one fragment", { 40 }, 1 },
        { "a long one", { RECORD_MAX }, 1 },
        { "two", { 20, 20 }, 2 },
        { "two that fill the record", { 1, RECORD_MAX - 1 }, 2 },
        { "empty first", { 0, 40 }, 2 },
        { "empty in the middle", { 20, 0, 20 }, 3 },
        { "empty last", { 40, 0 }, 2 },
        { "many empty ones", { 0, 0, 7, 0, 0, 9, 0, 0 }, 8 },
        { "odd sizes", { 1, 2, 3, 4, 5, 6, 7, 8 }, 8 },
        { "an empty record", { 0 }, 1 },
        { "an empty record in pieces", { 0, 0, 0 }, 3 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stream *stream = stream_new();

        print_message("%s\n", rows[i].name);
        for (int repeat = 0; repeat < 3; repeat++) {
            put_fragment(stream, 12, true);
            for (size_t k = 0; k < rows[i].n; k++)
                put_fragment(stream, rows[i].sizes[k], k + 1 == rows[i].n);
        }
        check_in_all_pieces(stream);
        free(stream);
    }
}

static void
fragments_of_one_byte_are_joined(void **state)
{
    struct stream *stream = stream_new();

    (void)state;
    for (size_t i = 0; i < RECORD_MAX; i++)
        put_fragment(stream, 1, i + 1 == RECORD_MAX);
    put_fragment(stream, 8, true);
    check_in_all_pieces(stream);
    free(stream);
}

static void
random_fragmentations_are_joined(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 50; round++) {
        struct stream *stream = stream_new();

        for (int r = 0; r < 20; r++) {
            size_t left = (size_t)rand() % RECORD_MAX;

            while (left > 0) {
                size_t n = (size_t)rand() % 300;

                n = MIN(n, left);
                put_fragment(stream, n, false);
                left -= n;
            }
            put_fragment(stream, 0, true);
        }
        check_in_all_pieces(stream);
        free(stream);
    }
}

static void
a_record_of_one_fragment_is_not_moved(void **state)
{
    uint8_t data[16] = { 0x80, 0, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0, 0, 1 };
    struct record record;
    size_t len = sizeof(data);
    size_t size, used;

    (void)state;
    record_init(&record, RECORD_MAX);
    assert_int_equal(record_cut(&record, data, &len, &size, &used), 1);
    assert_int_equal(size, 8);
    assert_int_equal(used, 12);
    assert_int_equal(data[4], 1);
    len -= used;
    assert_int_equal(record_cut(&record, data + used, &len, &size, &used), 0);
    assert_int_equal(record_extent(&record), 5);
}

static void
a_record_that_is_announced_too_long_is_refused_at_once(void **state)
{
    static const struct {
        const char *name;
        uint32_t marks[3];              /* each but the last is followed by its bytes */
        size_t n;
    } rows[] = {
        { "one byte too many", { RECORD_LAST | (RECORD_MAX + 1) }, 1 },
        { "the longest", { 0xffffffff }, 1 },
        { "the longest that is not last", { 0x7fffffff }, 1 },
        { "a fragment that goes too far", { 100, RECORD_LAST | (RECORD_MAX - 99) }, 2 },
        { "one more byte", { RECORD_MAX, 1 }, 2 },
        { "GET / in place of a mark", { 0x47455420 }, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stream *stream = stream_new();
        size_t count;

        print_message("%s\n", rows[i].name);
        put_fragment(stream, 4, true);
        for (size_t k = 0; k + 1 < rows[i].n; k++)
            put_fragment(stream, rows[i].marks[k], false);
        put_mark(stream, rows[i].marks[rows[i].n - 1]);
        for (size_t piece = 1; piece < 9; piece++) {
            assert_int_equal(receive(stream, piece, &count), -EMSGSIZE);
            assert_int_equal(count, 1);
        }
        free(stream);
    }
}

static void
empty_fragments_without_end_are_refused(void **state)
{
    struct stream *stream = stream_new();
    size_t count;

    (void)state;
    while (stream->len < STREAM_MAX)
        put_fragment(stream, 0, false);
    assert_int_equal(receive(stream, 4096, &count), -EMSGSIZE);
    assert_int_equal(count, 0);
    free(stream);
}

static void
the_extent_says_how_much_is_still_to_come(void **state)
{
    uint8_t data[32] = { 0, 0, 0, 10 };
    struct record record;
    size_t len = 3;
    size_t size, used;

    (void)state;
    record_init(&record, RECORD_MAX);
    assert_int_equal(record_cut(&record, data, &len, &size, &used), 0);
    assert_int_equal(record_extent(&record), 0);
    len = 4;
    assert_int_equal(record_cut(&record, data, &len, &size, &used), 0);
    assert_int_equal(record_extent(&record), 14);
    len = 14;
    assert_int_equal(record_cut(&record, data, &len, &size, &used), 0);
    assert_int_equal(record_extent(&record), 14);
    memcpy(data + 14, "\x80\0\0\x06", 4);
    len = 18;
    assert_int_equal(record_cut(&record, data, &len, &size, &used), 0);
    assert_int_equal(len, 14);
    assert_int_equal(record_extent(&record), 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fragmentation_is_joined_however_it_arrives),
        cmocka_unit_test(fragments_of_one_byte_are_joined),
        cmocka_unit_test(random_fragmentations_are_joined),
        cmocka_unit_test(a_record_of_one_fragment_is_not_moved),
        cmocka_unit_test(a_record_that_is_announced_too_long_is_refused_at_once),
        cmocka_unit_test(empty_fragments_without_end_are_refused),
        cmocka_unit_test(the_extent_says_how_much_is_still_to_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
