/*
 * tests/unit/test_posix_direct.c - READ and WRITE past the page cache (storage/posix_direct.c): any range, next to others
 * that read and write the same file in any way, is as if there were no cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/disk_rig.h"

#define PATIENCE 2000                   /* looks at a file, 10 ms apart */
#define MODEL_BYTES (1u << 20)
#define STEPS 3000
#define CLIENTS 3
#define CALLS 16
#define ROUNDS 12
#define LARGE_BYTES (1u << 20)
#define SMALL_WRITES 16
#define SMALL_BYTES 100u
#define OVERLAPS 60

static void
need_direct(struct rig *rig)
{
    disk_need(rig);
    if (rig->store->direct_align > 0)
        return;
    print_message("left out: %s has no direct I/O\n", rig->path);
    skip();
}

/* Where data lies as the file wants it, or an odd byte off. */
static uint8_t *
place_for(uint8_t *room, uint64_t offset, bool odd)
{
    return room + offset % DISK_PAGE + odd;
}

static void
a_direct_read_of_any_range_gets_what_is_there_and_leaves_nothing_in_the_cache(void **state)
{
    static const struct { uint64_t offset; uint32_t length; } ranges[] = {
        { 0, DISK_PAGE }, { 0, 1 }, { 1, 1 }, { DISK_PAGE - 1, 2 }, { 511, 1026 }, { DISK_PAGE, 3 * DISK_PAGE },
        { 12345, 54321 },
        { 100 * DISK_PAGE + 7, DISK_PIECE }, { DISK_FILE - 1, 1 }, { DISK_FILE - 5000, 5000 },
    };
    struct rig *rig = *state;
    struct store_node *node;
    uint8_t *got;
    int fd;

    need_direct(rig);
    node = disk_cold_file(rig, &fd);
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        assert_int_equal(disk_read(rig, node, STORE_IO_DIRECT, ranges[i].offset, ranges[i].length, &got), ranges[i].length);
        assert_memory_equal(got, disk_data + ranges[i].offset, ranges[i].length);
        assert_int_equal(rig->call.op.r.read.eof, ranges[i].offset + ranges[i].length == DISK_FILE);
    }
    assert_int_equal(disk_cached_pages(fd, 0, DISK_FILE), 0);
    close(fd);
}

static void
a_direct_read_ends_where_the_file_ends(void **state)
{
    static const uint32_t sizes[] = { 1, 511, 512, DISK_PAGE - 1, DISK_PAGE, DISK_PAGE + 1, 10000 };
    struct rig *rig = *state;
    struct store_node *node;
    uint8_t *got;
    int fd;

    need_direct(rig);
    node = disk_new_file(rig, &fd);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t size = sizes[i];

        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, disk_data, size, 0), size);
        assert_int_equal(disk_read(rig, node, STORE_IO_DIRECT, 0, DISK_PIECE, &got), size);
        assert_memory_equal(got, disk_data, size);
        assert_true(rig->call.op.r.read.eof);
        assert_int_equal(disk_read(rig, node, STORE_IO_DIRECT, size - 1, 100, &got), 1);
        assert_int_equal(got[0], disk_data[size - 1]);
        assert_int_equal(disk_read(rig, node, STORE_IO_DIRECT, size, 100, &got), 0);
        assert_true(rig->call.op.r.read.eof);
        assert_int_equal(disk_read(rig, node, STORE_IO_DIRECT, size + 99999, 100, &got), 0);
        assert_true(rig->call.op.r.read.eof);
    }
    close(fd);
}

static void
a_direct_write_leaves_only_its_ends_in_the_cache(void **state)
{
    struct rig *rig = *state;
    struct store_node *node;
    int fd;

    need_direct(rig);
    node = disk_cold_file(rig, &fd);
    memcpy(disk_space, disk_data + 5, 8 * DISK_PAGE);
    disk_write(rig, node, STORE_IO_DIRECT, 16 * DISK_PAGE, disk_space, 8 * DISK_PAGE, STORE_UNSTABLE);
    assert_int_equal(disk_cached_pages(fd, 0, DISK_FILE), 0);
    disk_write(rig, node, STORE_IO_DIRECT, 100 * DISK_PAGE - 10, place_for(disk_space, DISK_PAGE - 10, false),
               8 * DISK_PAGE, STORE_UNSTABLE);
    assert_in_range(disk_cached_pages(fd, 90 * DISK_PAGE, 20 * DISK_PAGE), 1, 2);
    close(fd);
}

static void
a_direct_write_makes_the_file_as_long_as_it_is_and_no_longer(void **state)
{
    struct rig *rig = *state;
    uint8_t zeros[DISK_PAGE] = { 0 }, *got;
    struct store_node *node;
    int fd;

    need_direct(rig);
    node = disk_new_file(rig, &fd);
    disk_write(rig, node, STORE_IO_DIRECT, 0, memcpy(disk_space, disk_data, 20000), 20000, STORE_FILE_SYNC);
    assert_int_equal(rig_attr(rig, node).size, 20000);
    disk_write(rig, node, STORE_IO_DIRECT, 30001, memcpy(place_for(disk_space, 30001, false), disk_data, 20000), 20000,
               STORE_DATA_SYNC);
    assert_int_equal(rig_attr(rig, node).size, 50001);
    assert_int_equal(disk_read(rig, node, STORE_IO_DIRECT, 0, DISK_PIECE, &got), 50001);
    assert_memory_equal(got, disk_data, 20000);
    for (unsigned at = 20000; at < 30001; at++)
        assert_int_equal(got[at], 0);
    assert_memory_equal(got + 30001, disk_data, 20000);
    assert_int_equal(ftruncate(fd, 60000), 0);
    assert_int_equal(disk_read(rig, node, STORE_IO_DIRECT, 50001, DISK_PAGE, &got), DISK_PAGE);
    assert_memory_equal(got, zeros, DISK_PAGE);
    close(fd);
}

/* One random step on the file and on the model of it. */
static void
step(struct rig *rig, struct store_node *node, int fd, uint8_t *model, uint32_t *size, uint64_t *seed)
{
    static const enum store_io ways[] = { STORE_IO_DIRECT, STORE_IO_DIRECT, STORE_IO_BUFFERED, STORE_IO_DONTCACHE };
    enum store_io io = ways[disk_draw(seed, 4)];
    uint32_t offset = disk_draw(seed, MODEL_BYTES);
    uint32_t length = 1 + disk_draw(seed, disk_draw(seed, 2) != 0 ? DISK_PIECE : 3 * DISK_PAGE);
    bool page = disk_draw(seed, 4) == 0;
    uint8_t *got;

    offset = page ? offset / DISK_PAGE * DISK_PAGE : offset;
    length = page ? (length + DISK_PAGE - 1) / DISK_PAGE * DISK_PAGE : length;
    length = offset + length > MODEL_BYTES ? MODEL_BYTES - offset : length;
    if (disk_draw(seed, 2) != 0) {
        uint32_t done = disk_read(rig, node, io, offset, length, &got);

        assert_int_equal(done, offset >= *size ? 0 : offset + length > *size ? *size - offset : length);
        assert_memory_equal(got, model + offset, done);
        return;
    }
    got = place_for(disk_space, offset, disk_draw(seed, 3) == 0);
    for (uint32_t i = 0; i < length; i++)
        got[i] = (uint8_t)(*seed + i * 13 + i / 256);
    memcpy(model + offset, got, length);
    *size = offset + length > *size ? offset + length : *size;
    if (disk_draw(seed, 8) == 0)
        assert_int_equal(pwrite(fd, got, length, offset), length);
    else
        disk_write(rig, node, io, offset, got, length, disk_draw(seed, 16) == 0 ? STORE_FILE_SYNC : STORE_UNSTABLE);
}

static void
all_ways_and_other_programs_see_the_same_bytes(void **state)
{
    static uint8_t model[MODEL_BYTES], got[MODEL_BYTES];
    struct rig *rig = *state;
    struct store_node *node;
    uint64_t seed = 42;
    uint32_t size = 0;
    int fd;

    need_direct(rig);
    node = disk_new_file(rig, &fd);
    memset(model, 0, sizeof(model));
    for (unsigned i = 0; i < STEPS; i++) {
        step(rig, node, fd, model, &size, &seed);
        if (i % 50 != 0)
            continue;
        assert_int_equal(pread(fd, got, sizeof(got), 0), size);
        assert_memory_equal(got, model, size);
    }
    disk_drop_cache(fd);
    assert_int_equal(pread(fd, got, sizeof(got), 0), size);
    assert_memory_equal(got, model, size);
    close(fd);
}

/* A thread with an engine of its own that writes its part of a file, many calls at once. */
struct writer {
    struct rig *rig;
    struct store_node *node;
    enum store_io io;
    unsigned number;
    uint8_t *room;                      /* CALLS times DISK_PIECE + 2 * DISK_PAGE */
    struct store_op ops[CALLS];
};

/* Ranges of no two calls have a byte in common, and they hardly ever begin or end at a page. */
static uint32_t
start_of(unsigned call)
{
    return call * 21001 + call % 7;
}

static void
note_written(struct store_op *op)
{
    assert_int_equal(op->err, 0);
    assert_int_equal(op->r.write.done, op->u.write.length);
}

static void
start_write(struct writer *writer, struct engine *engine, unsigned i, unsigned round)
{
    unsigned call = i * CLIENTS + writer->number;
    uint32_t offset = start_of(call), length = start_of(call + 1) - offset;
    uint8_t *from = place_for(writer->room + i * (DISK_PIECE + 2 * DISK_PAGE), offset, false);
    struct store_op *op = &writer->ops[i];
    int err;

    memset(op, 0, sizeof(*op));
    memset(from, (int)(call + round * 3), length);
    op->engine = engine;
    op->cred = &rig_root;
    op->sync = true;
    op->done = note_written;
    op->u.write.offset = offset;
    op->u.write.length = length;
    op->u.write.data = from;
    op->u.write.stable = call % 5 == 0 ? STORE_FILE_SYNC : STORE_UNSTABLE;
    op->u.write.io = writer->io;
    err = store_write(writer->node, op);
    assert_true(err == 0 || err == STORE_PENDING);
}

static void *
write_part(void *arg)
{
    struct writer *writer = arg;
    struct engine_config config = { .type = disk_engine, .ring_entries = 8, .pool = writer->rig->pool };
    struct engine *engine;

    cred_thread_init();
    assert_int_equal(engine_new(&config, &engine), 0);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < CALLS; i++)
            start_write(writer, engine, i, round);
        disk_await(engine);
    }
    engine_free(engine);
    return NULL;
}

struct reader {
    int fd;
    _Atomic bool ends;
};

/* Somebody else who reads the file through the page cache all the time. */
static void *
read_all(void *arg)
{
    struct reader *reader = arg;
    static uint8_t got[MODEL_BYTES];

    while (!atomic_load(&reader->ends))
        assert_true(pread(reader->fd, got, sizeof(got), 0) >= 0);
    return NULL;
}

static void
check_parts(int fd)
{
    static uint8_t got[CLIENTS * CALLS * 21001 + 7];
    uint32_t size = start_of(CLIENTS * CALLS);

    assert_int_equal(pread(fd, got, sizeof(got), 0), size);
    for (unsigned call = 0; call < CLIENTS * CALLS; call++) {
        for (uint32_t at = start_of(call); at < start_of(call + 1); at++) {
            if (got[at] != (uint8_t)(call + (ROUNDS - 1) * 3))
                fail_msg("byte %u of call %u, which begins at %u, is %u", at, call, start_of(call), got[at]);
        }
    }
}

static void
write_parts(struct rig *rig, enum store_io last_way)
{
    struct writer *writers = calloc(CLIENTS, sizeof(*writers));
    pthread_t threads[CLIENTS], reading;
    struct reader reader = { .ends = false };
    struct store_node *node = disk_new_file(rig, &reader.fd);

    assert_non_null(writers);
    assert_int_equal(pthread_create(&reading, NULL, read_all, &reader), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        writers[i] = (struct writer){ .rig = rig, .node = node, .number = i,
                                      .io = i == CLIENTS - 1 ? last_way : STORE_IO_DIRECT };
        assert_int_equal(posix_memalign((void **)&writers[i].room, DISK_PAGE, CALLS * (DISK_PIECE + 2 * DISK_PAGE)), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, write_part, &writers[i]), 0);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        free(writers[i].room);
    }
    atomic_store(&reader.ends, true);
    pthread_join(reading, NULL);
    check_parts(reader.fd);
    disk_drop_cache(reader.fd);
    check_parts(reader.fd);
    close(reader.fd);
    free(writers);
}

static void
direct_writes_of_neighbours_lose_nothing(void **state)
{
    need_direct(*state);
    write_parts(*state, STORE_IO_DIRECT);
}

static void
direct_and_buffered_writes_of_neighbours_lose_nothing(void **state)
{
    need_direct(*state);
    write_parts(*state, STORE_IO_BUFFERED);
}

/* One large write, and many small ones within it that are under way at the same time. */
struct overlap {
    struct rig *rig;
    struct store_node *node;
    struct store_op large, small[SMALL_WRITES];
    uint8_t bytes[SMALL_WRITES][SMALL_BYTES];
};

static uint32_t
small_offset(unsigned i)
{
    return i * (LARGE_BYTES / SMALL_WRITES) + 777;
}

static void
start_overlapping(struct overlap *overlap, struct store_op *op, uint64_t offset, const void *from, uint32_t length)
{
    int err;

    memset(op, 0, sizeof(*op));
    op->engine = overlap->rig->engine;
    op->cred = &rig_root;
    op->sync = true;
    op->done = note_written;
    op->u.write.offset = offset;
    op->u.write.length = length;
    op->u.write.data = from;
    op->u.write.io = STORE_IO_DIRECT;
    err = store_write(overlap->node, op);
    assert_true(err == 0 || err == STORE_PENDING);
}

/* A small write may have come before the large one or after it, and nothing else may be seen. */
static void
check_overlap(int fd, uint8_t large, uint8_t small)
{
    static uint8_t got[LARGE_BYTES];
    bool within = false;
    unsigned i = 0;

    assert_int_equal(pread(fd, got, sizeof(got), 0), LARGE_BYTES);
    for (uint32_t at = 0; at < LARGE_BYTES; at++) {
        if (i < SMALL_WRITES && at >= small_offset(i) + SMALL_BYTES)
            i++;
        within = i < SMALL_WRITES && at >= small_offset(i);
        if (got[at] != large && !(within && got[at] == small))
            fail_msg("byte %u is %u, not %u", at, got[at], large);
    }
}

static void
a_small_write_within_a_large_direct_one_brings_nothing_old_back(void **state)
{
    struct overlap *overlap = calloc(1, sizeof(*overlap));
    int fd;

    need_direct(*state);
    assert_non_null(overlap);
    overlap->rig = *state;
    overlap->node = disk_new_file(overlap->rig, &fd);
    for (unsigned round = 0; round < OVERLAPS; round++) {
        uint8_t large = (uint8_t)(round % 100), small = (uint8_t)(128 + round % 100);

        disk_drop_cache(fd);
        memset(overlap->bytes, small, sizeof(overlap->bytes));
        memset(disk_space, large, LARGE_BYTES);
        for (unsigned i = 0; i < SMALL_WRITES / 2 && round > 0; i++)
            start_overlapping(overlap, &overlap->small[i], small_offset(i), overlap->bytes[i], SMALL_BYTES);
        start_overlapping(overlap, &overlap->large, 0, disk_space, LARGE_BYTES);
        for (unsigned i = SMALL_WRITES / 2; i < SMALL_WRITES && round > 0; i++)
            start_overlapping(overlap, &overlap->small[i], small_offset(i), overlap->bytes[i], SMALL_BYTES);
        disk_await(overlap->rig->engine);
        check_overlap(fd, large, small);
        disk_drop_cache(fd);
        check_overlap(fd, large, small);
    }
    close(fd);
    free(overlap);
}

static void
a_file_that_was_written_direct_can_be_executed_soon_after(void **state)
{
    struct rig *rig = *state;
    struct store_node *node;
    int fd, reading;
    char path[64];

    need_direct(rig);
    node = disk_new_file(rig, &fd);
    disk_write(rig, node, STORE_IO_DIRECT, 0, memcpy(disk_space, disk_data, 4 * DISK_PAGE), 4 * DISK_PAGE, STORE_UNSTABLE);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    reading = open(path, O_RDONLY | O_CLOEXEC);
    close(fd);
    for (unsigned i = 0; fcntl(reading, F_SETLEASE, F_RDLCK) < 0; i++) {       /* nobody has it open for writing */
        assert_int_equal(errno, EAGAIN);
        assert_true(i < PATIENCE);
        usleep(10000);
    }
    close(reading);
    disk_write(rig, node, STORE_IO_DIRECT, 4 * DISK_PAGE, disk_space, 4 * DISK_PAGE, STORE_UNSTABLE);
    assert_int_equal(rig_attr(rig, node).size, 8 * DISK_PAGE);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        disk_test(a_direct_read_of_any_range_gets_what_is_there_and_leaves_nothing_in_the_cache),
        disk_test(a_direct_read_ends_where_the_file_ends),
        disk_test(a_direct_write_leaves_only_its_ends_in_the_cache),
        disk_test(a_direct_write_makes_the_file_as_long_as_it_is_and_no_longer),
        disk_test(all_ways_and_other_programs_see_the_same_bytes),
        disk_test(direct_writes_of_neighbours_lose_nothing),
        disk_test(direct_and_buffered_writes_of_neighbours_lose_nothing),
        disk_test(a_small_write_within_a_large_direct_one_brings_nothing_old_back),
        disk_test(a_file_that_was_written_direct_can_be_executed_soon_after),
    };

    return disk_main(tests, sizeof(tests) / sizeof(tests[0]));
}
