/*
 * tests/unit/test_posix_io.c - how file data gets from and to the disk: readahead. On a directory of $TMPDIR, or else
 * /var/tmp, which must not be in memory; with both engines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/posix.h"
#include "tests/lib/store_rig.h"

#define PAGE 4096u
#define FILE_BYTES (8u << 20)
#define AHEAD (2u << 20)
#define PATIENCE 200                    /* looks at the page cache, 10 ms apart */
#define ATTEMPTS 3

static enum engine_type type;           /* under test */
static struct rig rig_now;
static uint8_t data[FILE_BYTES];

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static int
set_up(void **state)
{
    struct rig *rig = &rig_now;
    struct posix_config config = { .path = rig->path, .max_open = 1024 };
    struct engine_config engine = { .type = type, .ring_entries = 64 };
    const char *below = getenv("TMPDIR");

    memset(rig, 0, sizeof(*rig));
    *state = rig;
    rig->decides = cred_thread_init() == CRED_SWITCH;
    snprintf(rig->path, sizeof(rig->path), "%s/ringnfs-io-XXXXXX", below != NULL ? below : "/var/tmp");
    if (mkdtemp(rig->path) == NULL || pool_new(3, &rig->pool) < 0)
        return -1;
    engine.pool = rig->pool;
    if (engine_new(&engine, &rig->engine) < 0 || posix_new(&config, &rig->store) < 0)
        return -1;
    rig->dir = rig->store->root;
    return 0;
}

static int
tear_down(void **state)
{
    struct rig *rig = *state;

    rig_put_all(rig);
    store_free(rig->store);
    engine_free(rig->engine);
    pool_free(rig->pool);
    nftw(rig->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* The file as somebody else on this machine has it open. */
static int
open_local(struct rig *rig, const char *name)
{
    char path[PATH_MAX + 300];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", rig->path, name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void
need_disk(struct rig *rig)
{
    struct statfs sfs;

    assert_int_equal(statfs(rig->path, &sfs), 0);
    if (sfs.f_type != TMPFS_MAGIC && sfs.f_type != RAMFS_MAGIC)
        return;
    print_message("left out: %s is in memory\n", rig->path);
    skip();
}

/* Nothing of it is in the page cache afterwards. */
static void
drop_cache(int fd)
{
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

/* How many pages of a range are in the page cache; looking brings none there. */
static unsigned
cached_pages(int fd, uint64_t offset, uint64_t length)
{
    static unsigned char seen[FILE_BYTES / PAGE];
    void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    unsigned pages = 0;

    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, length, seen), 0);
    munmap(map, length);
    for (uint64_t i = 0; i < length / PAGE; i++)
        pages += seen[i] & 1;
    return pages;
}

/* Reading ahead is a request: it may be a moment before the pages come. */
static bool
get_cached(int fd, uint64_t offset, uint64_t length)
{
    for (unsigned i = 0; cached_pages(fd, offset, length) < length / PAGE; i++) {
        if (i == PATIENCE)
            return false;
        usleep(10000);
    }
    return true;
}

/* A file of FILE_BYTES, none of it in the page cache, and a descriptor of somebody else's. */
static struct store_node *
cold_file(struct rig *rig, int *fd)
{
    struct store_node *node = rig_make(rig, rig->dir, "file", "file", 0644);

    *fd = open_local(rig, "file");
    assert_int_equal(write(*fd, data, sizeof(data)), sizeof(data));
    drop_cache(*fd);
    return node;
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
        read_ahead(rig, node, i * PAGE, PAGE, AHEAD);
    if (!get_cached(fd, 0, AHEAD))
        return false;
    assert_int_equal(cached_pages(fd, FILE_BYTES / 2, FILE_BYTES / 2), 0);
    for (unsigned i = 8; i < FILE_BYTES / PAGE - AHEAD / PAGE; i++)
        read_ahead(rig, node, (uint64_t)i * PAGE, PAGE, AHEAD);
    return get_cached(fd, FILE_BYTES - AHEAD, AHEAD);
}

/* Somebody on this machine may empty the page cache meanwhile. */
static void
what_a_stream_will_read_is_fetched_ahead_of_it(void **state)
{
    struct rig *rig = *state;
    struct store_node *node;
    bool fetched = false;
    int fd;

    need_disk(rig);
    for (unsigned i = 0; i < ATTEMPTS && !fetched; i++) {
        node = cold_file(rig, &fd);
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

    need_disk(rig);
    node = cold_file(rig, &fd);
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
        read_ahead(rig, node, pages[i] * PAGE, PAGE, 64u << 20);
    assert_int_equal(cached_pages(fd, FILE_BYTES / 2, FILE_BYTES / 2), 0);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_stream_will_read_is_fetched_ahead_of_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_reads_fetch_nothing_ahead, set_up, tear_down),
    };
    int failed = 0;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    type = ENGINE_POOL;
    failed += cmocka_run_group_tests_name("posix_io, pool", tests, NULL, NULL);
    type = ENGINE_URING;
    failed += cmocka_run_group_tests_name("posix_io, uring", tests, NULL, NULL);
    return failed;
}
