/* tests/lib/disk_rig.c - see disk_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "storage/posix.h"
#include "tests/lib/disk_rig.h"

enum engine_type disk_engine;
uint8_t disk_data[DISK_FILE];
_Alignas(DISK_PAGE) uint8_t disk_space[DISK_PIECE + (1u << 20)];

static struct rig rig_now;

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

int
disk_rig_up(void **state)
{
    struct rig *rig = &rig_now;
    struct posix_config config = { .path = rig->path, .max_open = 1024 };
    struct engine_config engine = { .type = disk_engine, .ring_entries = 64 };
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

int
disk_rig_down(void **state)
{
    struct rig *rig = *state;

    rig_put_all(rig);
    store_free(rig->store);
    engine_free(rig->engine);
    pool_free(rig->pool);
    nftw(rig->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

int
disk_open(struct rig *rig, const char *name)
{
    char path[PATH_MAX + 300];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", rig->path, name);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

void
disk_need(struct rig *rig)
{
    struct statfs sfs;

    assert_int_equal(statfs(rig->path, &sfs), 0);
    if (sfs.f_type != TMPFS_MAGIC && sfs.f_type != RAMFS_MAGIC)
        return;
    print_message("left out: %s is in memory\n", rig->path);
    skip();
}

void
disk_drop_cache(int fd)
{
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

unsigned
disk_cached_pages(int fd, uint64_t offset, uint64_t length)
{
    static unsigned char seen[DISK_FILE / DISK_PAGE];
    void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)offset);
    unsigned pages = 0;

    assert_true(map != MAP_FAILED);
    assert_int_equal(mincore(map, length, seen), 0);
    munmap(map, length);
    for (uint64_t i = 0; i < length / DISK_PAGE; i++)
        pages += seen[i] & 1;
    return pages;
}

struct store_node *
disk_cold_file(struct rig *rig, int *fd)
{
    struct store_node *node = rig_make(rig, rig->dir, "file", "file", 0644);

    *fd = disk_open(rig, "file");
    assert_int_equal(write(*fd, disk_data, sizeof(disk_data)), sizeof(disk_data));
    disk_drop_cache(*fd);
    return node;
}

uint32_t
disk_draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

uint32_t
disk_read(struct rig *rig, struct store_node *node, enum store_io io, uint64_t offset, uint32_t length, uint8_t **got)
{
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.read.offset = offset;
    op->u.read.length = length;
    op->u.read.data = disk_space;
    op->u.read.room = sizeof(disk_space);
    op->u.read.pipe = -1;
    op->u.read.io = io;
    assert_int_equal(rig_finish(rig, store_read(node, op)), 0);
    *got = disk_space + op->r.read.skip;
    return op->r.read.done;
}

void
disk_write(struct rig *rig, struct store_node *node, enum store_io io, uint64_t offset, const void *from,
           uint32_t length, enum store_stability stable)
{
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.write.offset = offset;
    op->u.write.length = length;
    op->u.write.data = from;
    op->u.write.stable = stable;
    op->u.write.io = io;
    assert_int_equal(rig_finish(rig, store_write(node, op)), 0);
    assert_int_equal(op->r.write.done, length);
    assert_int_equal(op->r.write.committed, stable);
}

struct store_node *
disk_new_file(struct rig *rig, int *fd)
{
    struct store_node *node = rig_make(rig, rig->dir, "file", "file", 0644);

    *fd = disk_open(rig, "file");
    return node;
}

void
disk_await(struct engine *engine)
{
    struct pollfd polled = { .fd = engine_fd(engine), .events = POLLIN };

    while (engine_pending(engine) > 0) {
        engine_flush(engine);
        assert_true(poll(&polled, 1, 30000) > 0);
        engine_reap(engine);
    }
}

int
disk_main(const struct CMUnitTest *tests, size_t count)
{
    static const enum engine_type engines[] = { ENGINE_POOL, ENGINE_URING };
    int failed = 0;

    for (size_t i = 0; i < sizeof(disk_data); i++)
        disk_data[i] = (uint8_t)(i * 7 + i / 251);
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        disk_engine = engines[i];
        failed += _cmocka_run_group_tests(engines[i] == ENGINE_POOL ? "pool" : "uring", tests, count, NULL, NULL);
    }
    return failed;
}
