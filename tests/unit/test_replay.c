/*
 * tests/unit/test_replay.c - recordings as they are read: streams whose packets come in any order, and files with anything
 * in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/capture.h"
#include "server/journal.h"
#include "server/recorder.h"
#include "server/replay_source.h"
#include "server/replay_streams.h"
#include "tests/lib/bytes.h"
#include "xdr/nfs3.h"
#include "xdr/wire.h"

#define SEED 20261130
#define ERROR_MAX 512
#define ROUNDS 400
#define CALLS 20
#define MESSAGE_MAX 512
#define STREAM_MAX (CALLS * MESSAGE_MAX)
#define FILE_MAX 65536

/* A record with a call or its reply, that has this many bytes of arguments or results. Returns its length. */
static size_t
make_record(uint8_t *out, uint32_t xid, bool reply, size_t len)
{
    const uint32_t call[] = { xid, 0, 2, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR, 0, 0, 0, 0 };
    const uint32_t answer[] = { xid, 1, 0, 0, 0, 0 };
    const uint32_t *words = reply ? answer : call;
    size_t count = reply ? 6 : 10;
    struct wire_out wire = { out, out + MESSAGE_MAX, false };

    wire_put_u32(&wire, 0x80000000u | (uint32_t)(4 * count + len));
    for (size_t i = 0; i < count; i++)
        wire_put_u32(&wire, words[i]);
    memset(wire.p, (int)xid, len);
    return (size_t)(wire.p - out) + len;
}

static struct replay_packet
packet_of(bool from_client, uint32_t sequence, const uint8_t *data, size_t len)
{
    struct replay_packet packet = { .from = { 192, 0, 2, 1 }, .to = { 192, 0, 2, 2 }, .from_port = 800, .to_port = 2049,
                                    .tcp = true, .sequence = sequence, .data = data, .len = len };

    if (!from_client) {
        packet.from[3] = 2;
        packet.to[3] = 1;
        packet.from_port = 2049;
        packet.to_port = 800;
    }
    return packet;
}

/* Both directions of a connection. */
struct talk {
    uint8_t bytes[2][STREAM_MAX];
    size_t len[2];
};

static void
make_talk(struct talk *talk)
{
    memset(talk, 0, sizeof(*talk));
    for (uint32_t i = 0; i < CALLS; i++)
        for (int reply = 0; reply < 2; reply++)
            talk->len[reply] += make_record(talk->bytes[reply] + talk->len[reply], i + 1, reply == 1, 4 * (i % 50));
}

/* The calls of the talk come out, each with its reply, in their order. */
static void
assert_whole(struct replay_streams *streams)
{
    struct ringnfs_call call;

    for (uint32_t i = 0; i < CALLS; i++) {
        assert_true(replay_streams_take(streams, &call));
        assert_int_equal(call.xid, i + 1);
        assert_int_equal(call.arguments_len, 4 * (i % 50));
        assert_int_equal(call.results_len, 4 * (i % 50));
        assert_int_equal(call.outcome, 0);
        assert_string_equal(call.name, "GETATTR");
    }
    assert_false(replay_streams_take(streams, &call));
    assert_int_equal(replay_streams_unanswered(streams), 0);
}

static void
segments_of_any_size_in_any_order_and_twice_make_the_same_calls(void **state)
{
    struct bytes_random random = bytes_random_seed(SEED);
    struct talk talk;

    (void)state;
    make_talk(&talk);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct replay_packet packets[2 * STREAM_MAX / 8];
        struct replay_left_out left_out = { 0 };
        struct replay_streams *streams;
        size_t count = 0;

        assert_int_equal(replay_streams_new(&left_out, &streams), 0);
        for (int from_client = 1; from_client >= 0; from_client--) {
            uint32_t start = (uint32_t)bytes_random_u64(&random);
            struct replay_packet syn = packet_of(from_client, start, NULL, 0);
            size_t first = count, step;

            syn.begins = true;
            assert_int_equal(replay_streams_add(streams, &syn), 0);
            for (size_t at = 0; at < talk.len[!from_client]; at += step) {
                size_t left = talk.len[!from_client] - at;

                step = 8 + bytes_random_below(&random, 600);
                step = step < left ? step : left;
                packets[count++] = packet_of(from_client, start + 1 + (uint32_t)at, talk.bytes[!from_client] + at, step);
            }
            for (size_t i = count; i > first + 1; i--) {
                size_t other = first + bytes_random_below(&random, (uint32_t)(i - first));
                struct replay_packet kept = packets[i - 1];

                packets[i - 1] = packets[other];
                packets[other] = kept;
            }
        }
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(replay_streams_add(streams, &packets[i]), 0);
            if (bytes_random_below(&random, 4) == 0)
                assert_int_equal(replay_streams_add(streams, &packets[bytes_random_below(&random, (uint32_t)i + 1)]), 0);
        }
        assert_whole(streams);
        assert_int_equal(left_out.torn, 0);
        replay_streams_free(streams);
    }
}

static void
a_stream_is_taken_up_where_a_record_begins(void **state)
{
    struct replay_left_out left_out = { 0 };
    struct replay_streams *streams;
    struct talk talk;
    struct replay_packet packet;

    (void)state;
    make_talk(&talk);
    assert_int_equal(replay_streams_new(&left_out, &streams), 0);
    packet = packet_of(true, 77, (const uint8_t *)"the end of something else", 25);
    assert_int_equal(replay_streams_add(streams, &packet), 0);
    packet = packet_of(true, 102, talk.bytes[0], talk.len[0]);
    assert_int_equal(replay_streams_add(streams, &packet), 0);
    packet = packet_of(false, 5, talk.bytes[1], talk.len[1]);
    assert_int_equal(replay_streams_add(streams, &packet), 0);
    assert_whole(streams);
    replay_streams_free(streams);
}

static void
a_call_that_was_sent_again_is_one_call(void **state)
{
    struct replay_left_out left_out = { 0 };
    struct replay_streams *streams;
    struct ringnfs_call call;
    uint8_t request[MESSAGE_MAX], reply[MESSAGE_MAX];
    size_t request_len = make_record(request, 1, false, 8), reply_len = make_record(reply, 1, true, 8);

    (void)state;
    assert_int_equal(replay_streams_new(&left_out, &streams), 0);
    for (int i = 0; i < 3; i++) {
        struct replay_packet there = packet_of(true, 0, request + 4, request_len - 4);
        struct replay_packet back = packet_of(false, 0, reply + 4, reply_len - 4);

        there.tcp = back.tcp = false;
        assert_int_equal(replay_streams_add(streams, &there), 0);
        assert_int_equal(replay_streams_add(streams, &back), 0);
    }
    assert_true(replay_streams_take(streams, &call));
    assert_int_equal(call.stream, 0);
    assert_false(replay_streams_take(streams, &call));
    replay_streams_free(streams);
}

/* ---- Files ---- */

static char path[] = "/tmp/ringnfs-recording-XXXXXX";

static int
make_path(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 || close(fd) < 0 ? -1 : 0;
}

static int
remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

/* A recording of some calls by way of a queue. Returns how many were lost. */
static uint64_t
record_calls(const struct recorder_format *format, void *context, uint32_t calls, size_t queue_bytes)
{
    static const struct log silent = { .fd = -1 };
    const struct sockaddr_in client = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) }, .sin_port = 800 };
    const struct sockaddr_in server = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) }, .sin_port = 2049 };
    const struct recorder_config config = { .format = format, .context = context, .file = path,
                                            .queue_bytes = queue_bytes, .log = &silent };
    static const uint8_t args[] = { 0, 0, 0, 4, 1, 2, 3, 4 }, results[] = { 0, 0, 0, 70 };
    struct ringnfs_call seen = { .size = sizeof(seen), .client = (const struct sockaddr *)&client,
                                 .server = (const struct sockaddr *)&server, .stream = 1, .program = NFS_PROGRAM,
                                 .version = NFS_V3, .procedure = NFSPROC3_GETATTR, .name = "GETATTR", .flavor = 1,
                                 .machine = "test", .machine_len = 4, .path = "/x", .arguments = args,
                                 .arguments_len = sizeof(args), .results = results, .results_len = sizeof(results) };
    struct recorder *recorder;
    char error[ERROR_MAX];

    if (recorder_new(&config, &recorder, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    for (seen.xid = 1; seen.xid <= calls; seen.xid++)
        recorder_put(recorder, &seen);
    return recorder_free(recorder);
}

/* A recording of a few calls. Returns its length. */
static size_t
record(const struct recorder_format *format, void *context, uint8_t *bytes)
{
    size_t len;
    FILE *file;

    assert_int_equal(record_calls(format, context, 5, 1 << 20), 0);
    file = fopen(path, "r");
    assert_non_null(file);
    len = fread(bytes, 1, FILE_MAX, file);
    fclose(file);
    return len;
}

static void
write_file(const uint8_t *bytes, size_t len)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* Read it to its end. Returns how many calls it has, or -errno, and then there is a reason. */
static int
read_all(void)
{
    struct replay_source *source = NULL;
    struct ringnfs_call call;
    char error[ERROR_MAX] = "";
    uint64_t at;
    int calls = 0, err = replay_source_open(path, &source, error, sizeof(error));

    if (err == 0)
        while ((err = replay_source_next(source, &call, &at, error, sizeof(error))) > 0)
            calls++;
    replay_source_free(source);
    if (err < 0 && (error[0] == '\0' || strchr(error, '\n') != NULL))
        fail_msg("no reason: \"%s\"", error);
    return err < 0 ? err : calls;
}

static void
assert_survives(const struct recorder_format *format, void *context, const char *what)
{
    static uint8_t bytes[FILE_MAX], changed[FILE_MAX];
    struct bytes_random random = bytes_random_seed(SEED);
    size_t len = record(format, context, bytes), whole = 0;

    assert_in_range(len, 100, FILE_MAX - 1);
    assert_int_equal(read_all(), 5);
    for (size_t cut = 0; cut < len; cut++) {
        write_file(bytes, cut);
        whole += read_all() >= 0;
    }
    print_message("%s: of %zu that were cut, %zu end where a call does\n", what, len, whole);
    assert_true(whole < len / 4);
    for (unsigned round = 0; round < 10 * ROUNDS; round++) {
        memcpy(changed, bytes, len);
        for (uint32_t i = 0; i <= bytes_random_below(&random, 8); i++)
            changed[bytes_random_below(&random, (uint32_t)len)] = (uint8_t)bytes_random_u64(&random);
        write_file(changed, len);
        read_all();
    }
}

static void
a_journal_that_is_cut_or_spoilt_is_refused_with_a_reason(void **state)
{
    (void)state;
    assert_survives(&journal_format, journal_new(true), "journal");
}

static void
a_capture_file_that_is_cut_or_spoilt_is_refused_with_a_reason(void **state)
{
    (void)state;
    assert_survives(&capture_format, capture_new(), "capture");
}

/* However the thread comes along: each call is in the file, or counted there. */
static void
what_finds_no_room_in_the_queue_is_counted_in_the_file(void **state)
{
    const uint32_t calls = 20000;
    uint64_t lost = record_calls(&journal_format, journal_new(true), calls, 4096), told = 0, number;
    struct replay_source *source;
    struct ringnfs_call call;
    char error[ERROR_MAX];
    uint32_t there = 0;

    (void)state;
    assert_int_equal(replay_source_open(path, &source, error, sizeof(error)), 0);
    while (replay_source_next(source, &call, &number, error, sizeof(error)) > 0) {
        there++;
        assert_int_equal(call.xid, there + source->left_out.lost);      /* in order, and told where they are missing */
    }
    told = source->left_out.lost;
    replay_source_free(source);
    print_message("%u of %u calls were written\n", there, calls);
    assert_int_equal(told, lost);
    assert_int_equal(there + told, calls);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_of_any_size_in_any_order_and_twice_make_the_same_calls),
        cmocka_unit_test(a_stream_is_taken_up_where_a_record_begins),
        cmocka_unit_test(a_call_that_was_sent_again_is_one_call),
        cmocka_unit_test(what_finds_no_room_in_the_queue_is_counted_in_the_file),
        cmocka_unit_test(a_journal_that_is_cut_or_spoilt_is_refused_with_a_reason),
        cmocka_unit_test(a_capture_file_that_is_cut_or_spoilt_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests_name("replay", tests, make_path, remove_path);
}
