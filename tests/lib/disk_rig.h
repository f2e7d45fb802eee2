/*
 * tests/lib/disk_rig.h - a posix store on a real disk, below $TMPDIR or else /var/tmp, and a look at what of its files is
 * in the page cache. On top of store_rig.h; each of these fails the test that it cannot serve.
 */
#ifndef RINGNFS_TESTS_LIB_DISK_RIG_H
#define RINGNFS_TESTS_LIB_DISK_RIG_H

#include "tests/lib/store_rig.h"

#define DISK_PAGE 4096u
#define DISK_FILE (8u << 20)            /* bytes of disk_cold_file() */
#define DISK_PIECE (200u << 10)         /* bytes that disk_read() takes at most */

extern enum engine_type disk_engine;    /* of the stores that are set up */
extern uint8_t disk_data[DISK_FILE];    /* what the file has; filled in by disk_main() */
extern uint8_t disk_space[DISK_PIECE + (1u << 20)];     /* what disk_read() reads into; page-aligned */

/* Run the tests on each engine; returns what main() returns. */
int disk_main(const struct CMUnitTest *tests, size_t count);

#define disk_test(name) cmocka_unit_test_setup_teardown(name, disk_rig_up, disk_rig_down)
int disk_rig_up(void **state);
int disk_rig_down(void **state);

/* Skip the test where files are in memory anyway. */
void disk_need(struct rig *rig);

/* A file as somebody else on this machine has it open. */
int disk_open(struct rig *rig, const char *name);

/* An empty file "file"; one with disk_data in it and nothing of it in the page cache. fd: somebody else's. */
struct store_node *disk_new_file(struct rig *rig, int *fd);
struct store_node *disk_cold_file(struct rig *rig, int *fd);

/* Nothing of it is in the page cache afterwards. */
void disk_drop_cache(int fd);

/* How many pages of a range are in the page cache; looking brings none there. */
unsigned disk_cached_pages(int fd, uint64_t offset, uint64_t length);

/* A READ that must work: how many bytes it got, at *got. */
uint32_t disk_read(struct rig *rig, struct store_node *node, enum store_io io, uint64_t offset, uint32_t length,
                   uint8_t **got);
/* A WRITE that must work, whole. */
void disk_write(struct rig *rig, struct store_node *node, enum store_io io, uint64_t offset, const void *from,
                uint32_t length, enum store_stability stable);

/* Wait until nothing is pending. */
void disk_await(struct engine *engine);

/* A number below a bound; the same seed gives the same numbers everywhere. */
uint32_t disk_draw(uint64_t *seed, uint32_t below);

#endif
