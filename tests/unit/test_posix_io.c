/*
 * tests/unit/test_posix_io.c - ways of file data through the page cache: read-ahead, and leaving nothing there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/posix.h"
#include "tests/lib/disk_rig.h"

#define AHEAD (2u << 20)
#define PATIENCE 200                    /* looks at the page cache, 10 ms apart */
#define ATTEMPTS 3

/* Reading ahead is a request: it may be a moment before the pages come. */
static bool
get_cached(int fd, uint64_t offset, uint64_t length)
{
    for (unsigned i = 0; disk_cached_pages(fd, offset, length) < length / DISK_PAGE; i++) {
        if (i == PATIENCE)
            return false;
        usleep(10000);
    }
    return true;
}

/* What nobody waits for is done as well. */
static void
await_pool(struct rig *rig)
{
    struct pool_stats stats;

    for (unsigned i = 0;; i++) {
        pool_read_stats(rig->pool, &stats);
        if (stats.busy == 0 && stats.queued == 0)
            return;
        assert_true(i < 10 * PATIENCE);
        usleep(i < 10 ? 100 : 10000);
    }
}

static void
read_ahead(struct rig *rig, struct store_node *node, uint64_t offset, uint32_t length, uint32_t ahead)
{
    static uint8_t got[1 << 20];
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.read.offset = offset;
    op->u.read.length = length;
    op->u.read.data = got;
    op->u.read.pipe = -1;
    op->u.read.ahead = ahead;
    assert_int_equal(rig_finish(rig, store_read(node, op)), 0);
    assert_int_equal(op->r.read.done, length);
    await_pool(rig);
}

static bool
stream_is_fetched(struct rig *rig, struct store_node *node, int fd)
{
    for (unsigned i = 0; i < 8; i++)
        read_ahead(rig, node, i * DISK_PAGE, DISK_PAGE, AHEAD);
    if (!get_cached(fd, 0, AHEAD))
        return false;
    assert_int_equal(disk_cached_pages(fd, DISK_FILE / 2, DISK_FILE / 2), 0);
    for (unsigned i = 8; i < DISK_FILE / DISK_PAGE - AHEAD / DISK_PAGE; i++)
        read_ahead(rig, node, (uint64_t)i * DISK_PAGE, DISK_PAGE, AHEAD);
    return get_cached(fd, DISK_FILE - AHEAD, AHEAD);
}

/* Somebody on this machine may empty the page cache meanwhile. */
static void
what_a_stream_will_read_is_fetched_ahead_of_it(void **state)
{
    struct rig *rig = *state;
    struct store_node *node;
    bool fetched = false;
    int fd;

    disk_need(rig);
    for (unsigned i = 0; i < ATTEMPTS && !fetched; i++) {
        node = disk_cold_file(rig, &fd);
        fetched = stream_is_fetched(rig, node, fd);
        close(fd);
        assert_int_equal(rig_remove(rig, &rig_root, rig->dir, "file"), 0);
    }
    assert_true(fetched);
}

/* The kernel reads ahead by itself, so only what lies far from all reads says something. */
static void
random_reads_fetch_nothing_ahead(void **state)
{
    static const unsigned pages[] = { 3, 900, 17, 800, 250, 700, 40, 600, 333, 500, 99, 150 };
    struct rig *rig = *state;
    struct store_node *node;
    int fd;

    disk_need(rig);
    node = disk_cold_file(rig, &fd);
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
        read_ahead(rig, node, pages[i] * DISK_PAGE, DISK_PAGE, 64u << 20);
    assert_int_equal(disk_cached_pages(fd, DISK_FILE / 2, DISK_FILE / 2), 0);
    close(fd);
}

static void
need_dontcache(struct rig *rig)
{
    disk_need(rig);
    if (rig->store->dontcache)
        return;
    print_message("left out: %s cannot be read and written without the page cache\n", rig->path);
    skip();
}

static void
reading_without_caching_leaves_next_to_nothing_in_the_cache(void **state)
{
    struct rig *rig = *state;
    struct store_node *node;
    uint8_t *got;
    int fd;

    need_dontcache(rig);
    node = disk_cold_file(rig, &fd);
    for (uint32_t at = 0; at < DISK_FILE; at += 64 << 10) {
        assert_int_equal(disk_read(rig, node, STORE_IO_DONTCACHE, at, 64 << 10, &got), 64 << 10);
        assert_memory_equal(got, disk_data + at, 64 << 10);
    }
    assert_in_range(disk_cached_pages(fd, 0, DISK_FILE), 0, DISK_FILE / DISK_PAGE / 8);
    close(fd);
}

static void
writing_without_caching_leaves_next_to_nothing_in_the_cache(void **state)
{
    struct rig *rig = *state;
    struct store_node *node;
    uint8_t *got;
    int fd;

    need_dontcache(rig);
    node = disk_new_file(rig, &fd);
    for (uint32_t at = 0; at < DISK_FILE; at += 64 << 10)
        disk_write(rig, node, STORE_IO_DONTCACHE, at, disk_data + at, 64 << 10, STORE_UNSTABLE);
    assert_int_equal(fsync(fd), 0);
    for (unsigned i = 0; disk_cached_pages(fd, 0, DISK_FILE) > DISK_FILE / DISK_PAGE / 8; i++) {
        assert_true(i < PATIENCE);
        usleep(10000);
    }
    assert_int_equal(disk_read(rig, node, STORE_IO_BUFFERED, 12345, DISK_PIECE, &got), DISK_PIECE);
    assert_memory_equal(got, disk_data + 12345, DISK_PIECE);
    close(fd);
}

static void
what_is_in_memory_anyway_has_neither(void **state)
{
    const struct posix_config config = { .path = "/dev/shm", .max_open = 64 };
    struct store *store;

    (void)state;
    assert_int_equal(posix_new(&config, &store), 0);
    assert_int_equal(store->direct_align, 0);
    assert_false(store->dontcache);
    store_free(store);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        disk_test(what_a_stream_will_read_is_fetched_ahead_of_it),
        disk_test(random_reads_fetch_nothing_ahead),
        disk_test(reading_without_caching_leaves_next_to_nothing_in_the_cache),
        disk_test(writing_without_caching_leaves_next_to_nothing_in_the_cache),
        disk_test(what_is_in_memory_anyway_has_neither),
    };

    return disk_main(tests, sizeof(tests) / sizeof(tests[0]));
}
