/*
 * tests/unit/test_registered.c - memory that is registered with an engine: I/O through it moves the same bytes, it goes on
 * where there is none, and the kernel holds nothing that has been given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/disk_rig.h"

#define ROOM (256u << 10)               /* bytes of memory to register */
#define LENGTH (128u << 10)
#define MANY 1000                       /* more than an engine registers */

static uint8_t *
map(void *at)
{
    void *room = mmap(at, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(room != MAP_FAILED);
    return room;
}

/* What the kernel holds of this process, in bytes. */
static uint64_t
pinned_bytes(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    uint64_t kib = UINT64_MAX;
    char line[200];

    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "VmPin:", 6) == 0)
            kib = strtoull(line + 6, NULL, 10);
    }
    fclose(f);
    assert_true(kib != UINT64_MAX);
    return kib << 10;
}

/* Register, or skip the test where that cannot be. */
static uint32_t
need_registered(struct rig *rig, uint8_t *room)
{
    uint32_t memory = engine_register(rig->engine, room, ROOM);

    if (memory != 0)
        return memory;
    munmap(room, ROOM);
    print_message("left out: this engine, or this machine, registers nothing\n");
    skip();
    return 0;
}

static void
start_read(struct store_op *op, enum store_io io, uint64_t offset, uint8_t *data)
{
    op->u.read.offset = offset;
    op->u.read.length = LENGTH;
    op->u.read.data = data;
    op->u.read.room = LENGTH + 2 * DISK_PAGE;
    op->u.read.pipe = -1;
    op->u.read.io = io;
}

/* A READ into memory of this number, at data, gets what the file has. */
static void
check_read(struct rig *rig, struct store_node *node, uint32_t memory, enum store_io io, uint64_t offset, uint8_t *data)
{
    struct store_op *op = rig_op(rig, &rig_root);

    start_read(op, io, offset, data);
    op->memory = memory;
    assert_int_equal(rig_finish(rig, store_read(node, op)), 0);
    assert_int_equal(op->r.read.done, LENGTH);
    assert_memory_equal(data + op->r.read.skip, disk_data + offset, LENGTH);
}

static void
check_write(struct rig *rig, struct store_node *node, int fd, uint32_t memory, enum store_io io, uint64_t offset,
            uint8_t *data)
{
    static uint8_t got[LENGTH];
    struct store_op *op = rig_op(rig, &rig_root);

    for (unsigned i = 0; i < LENGTH; i++)
        data[i] = (uint8_t)(i * 3 + i / 255 + offset);
    op->u.write.offset = offset;
    op->u.write.length = LENGTH;
    op->u.write.data = data;
    op->u.write.stable = STORE_FILE_SYNC;
    op->u.write.io = io;
    op->memory = memory;
    assert_int_equal(rig_finish(rig, store_write(node, op)), 0);
    assert_int_equal(op->r.write.done, LENGTH);
    assert_int_equal(pread(fd, got, LENGTH, (off_t)offset), LENGTH);
    assert_memory_equal(got, data, LENGTH);
}

static void
reads_and_writes_through_registered_memory_move_the_same_bytes(void **state)
{
    static const enum store_io ways[] = { STORE_IO_DIRECT, STORE_IO_BUFFERED };
    struct rig *rig = *state;
    uint8_t *room = map(NULL);
    uint32_t memory = need_registered(rig, room);
    struct store_node *node;
    int fd;

    node = disk_cold_file(rig, &fd);
    assert_int_equal(engine_memory(rig->engine)->bytes, ROOM);
    assert_true(pinned_bytes() >= ROOM);
    for (unsigned i = 0; i < 2; i++) {
        check_read(rig, node, memory, ways[i], 0, room);
        check_read(rig, node, memory, ways[i], LENGTH + 777, room + DISK_PAGE);
    }
    for (unsigned i = 0; i < 2; i++) {
        check_write(rig, node, fd, memory, ways[i], 2 * LENGTH, room + LENGTH);
        check_write(rig, node, fd, memory, ways[i], 4 * LENGTH + 5, room + 5);
    }
    engine_unregister(rig->engine, memory);
    munmap(room, ROOM);
    close(fd);
}

static void
data_that_is_not_all_in_the_memory_that_is_named_goes_the_plain_way(void **state)
{
    struct rig *rig = *state;
    uint8_t *room = map(NULL), *other = map(NULL);
    struct store_node *node;
    uint32_t memory;
    int fd;

    memory = need_registered(rig, room);
    node = disk_cold_file(rig, &fd);
    check_read(rig, node, memory, STORE_IO_DIRECT, 0, other);
    check_write(rig, node, fd, memory, STORE_IO_DIRECT, 0, other);
    engine_unregister(rig->engine, memory);
    munmap(room, ROOM);
    munmap(other, ROOM);
    close(fd);
}

/* The pages are others: what is read must not land in those that were there before. */
static void
memory_that_comes_back_at_the_same_address_is_read_into_itself(void **state)
{
    struct rig *rig = *state;
    uint8_t *room = map(NULL), *again;
    struct store_node *node;
    uint32_t memory;
    int fd;

    memory = need_registered(rig, room);
    node = disk_cold_file(rig, &fd);
    check_read(rig, node, memory, STORE_IO_DIRECT, 0, room);
    engine_unregister(rig->engine, memory);
    munmap(room, ROOM);
    again = map(room);
    assert_ptr_equal(again, room);
    check_read(rig, node, 0, STORE_IO_DIRECT, LENGTH, again);
    check_read(rig, node, memory, STORE_IO_DIRECT, 2 * LENGTH, again);          /* the number is nobody's now */
    assert_int_equal(engine_register(rig->engine, again, ROOM), memory);
    check_read(rig, node, memory, STORE_IO_DIRECT, 3 * LENGTH, again);
    engine_unregister(rig->engine, memory);
    munmap(again, ROOM);
    close(fd);
}

static void
what_is_unregistered_is_held_no_longer(void **state)
{
    struct rig *rig = *state;
    uint64_t before = pinned_bytes();
    uint8_t *room = map(NULL);
    uint32_t memory = need_registered(rig, room);

    assert_int_equal(pinned_bytes(), before + ROOM);
    engine_unregister(rig->engine, memory);
    assert_int_equal(engine_memory(rig->engine)->bytes, 0);
    for (unsigned i = 0; pinned_bytes() != before; i++) {               /* the kernel may put it off */
        assert_true(i < 1000);
        usleep(10000);
    }
    munmap(room, ROOM);
}

static void
an_engine_registers_only_so_much_and_more_when_some_has_gone(void **state)
{
    static uint32_t numbers[MANY];
    struct rig *rig = *state;
    uint8_t *room = map(NULL);
    unsigned n = 0;

    numbers[n++] = need_registered(rig, room);
    while (n < MANY && (numbers[n] = engine_register(rig->engine, room, LENGTH)) != 0)
        n++;
    assert_true(n < MANY);
    assert_int_equal(engine_memory(rig->engine)->refused, 1);
    assert_int_equal(engine_register(rig->engine, room, LENGTH), 0);
    assert_int_equal(engine_memory(rig->engine)->refused, 1);           /* not asked again in vain */
    engine_unregister(rig->engine, numbers[0]);
    numbers[0] = engine_register(rig->engine, room, LENGTH);
    assert_true(numbers[0] != 0);
    while (n-- > 0)
        engine_unregister(rig->engine, numbers[n]);
    assert_int_equal(engine_memory(rig->engine)->bytes, 0);
    munmap(room, ROOM);
}

static void
an_engine_registers_no_more_bytes_than_it_may(void **state)
{
    struct rig *rig = *state;
    struct engine *usual = rig->engine;
    const struct engine_config config = {
        .type = disk_engine, .ring_entries = 64, .pool = rig->pool, .register_max = ROOM + LENGTH - 1,
    };
    uint8_t *room = map(NULL);
    uint32_t memory;

    engine_unregister(usual, need_registered(rig, room));
    assert_int_equal(engine_new(&config, &rig->engine), 0);
    memory = engine_register(rig->engine, room, ROOM);
    assert_true(memory != 0);
    assert_int_equal(engine_register(rig->engine, room, LENGTH), 0);
    assert_int_equal(engine_memory(rig->engine)->bytes, ROOM);
    engine_unregister(rig->engine, memory);
    assert_true(engine_register(rig->engine, room, LENGTH) != 0);
    engine_free(rig->engine);
    rig->engine = usual;
    munmap(room, ROOM);
}

static void
little_memory_is_not_worth_registering(void **state)
{
    struct rig *rig = *state;
    uint8_t *room = map(NULL);

    assert_int_equal(engine_register(rig->engine, room, DISK_PAGE), 0);
    assert_int_equal(engine_memory(rig->engine)->refused, 0);
    munmap(room, ROOM);
}

/* With or without the right to hold as much memory as one likes: for rings that this thread makes from now on. */
static void
set_unlimited(bool unlimited)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    const uint32_t right = 1u << CAP_IPC_LOCK;

    assert_int_equal(syscall(SYS_capget, &header, caps), 0);
    caps[0].effective = unlimited ? caps[0].effective | (caps[0].permitted & right) : caps[0].effective & ~right;
    assert_int_equal(syscall(SYS_capset, &header, caps), 0);
}

static void
where_the_memlock_limit_refuses_reads_and_writes_go_on_without(void **state)
{
    struct rig *rig = *state;
    struct engine *usual = rig->engine;
    const struct engine_config config = { .type = disk_engine, .ring_entries = 64, .pool = rig->pool };
    struct rlimit old, none;
    struct store_node *node;
    uint8_t *room = map(NULL);
    uint32_t memory = engine_register(usual, room, ROOM);
    int fd;

    if (memory != 0)
        engine_unregister(usual, memory);
    node = disk_cold_file(rig, &fd);
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &old), 0);
    none = old;
    none.rlim_cur = 0;
    set_unlimited(false);
    assert_int_equal(engine_new(&config, &rig->engine), 0);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &none), 0);
    assert_int_equal(engine_register(rig->engine, room, ROOM), 0);
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &old), 0);
    set_unlimited(true);
    assert_int_equal(engine_memory(rig->engine)->bytes, 0);
    assert_int_equal(engine_memory(rig->engine)->refused, memory != 0);     /* the usual one was given some */
    check_read(rig, node, 0, STORE_IO_DIRECT, 0, room);
    check_write(rig, node, fd, 0, STORE_IO_DIRECT, 0, room);
    engine_free(rig->engine);
    rig->engine = usual;
    munmap(room, ROOM);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        disk_test(reads_and_writes_through_registered_memory_move_the_same_bytes),
        disk_test(data_that_is_not_all_in_the_memory_that_is_named_goes_the_plain_way),
        disk_test(memory_that_comes_back_at_the_same_address_is_read_into_itself),
        disk_test(what_is_unregistered_is_held_no_longer),
        disk_test(an_engine_registers_only_so_much_and_more_when_some_has_gone),
        disk_test(an_engine_registers_no_more_bytes_than_it_may),
        disk_test(little_memory_is_not_worth_registering),
        disk_test(where_the_memlock_limit_refuses_reads_and_writes_go_on_without),
    };

    return disk_main(tests, sizeof(tests) / sizeof(tests[0]));
}
