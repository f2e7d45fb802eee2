/* tests/unit/test_rpc_buf.c - pooled buffers: their sizes, and the bound on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/buf.h"

#define MIB ((size_t)1 << 20)

static void
a_buffer_is_as_large_as_asked_and_not_much_larger(void **state)
{
    struct buf_budget budget = { .max_bytes = 64 * MIB };
    struct buf_pool *pool = buf_pool_new(&budget);

    (void)state;
    assert_non_null(pool);
    for (size_t size = 1; size < 8 * MIB; size += size / 7 + 1) {
        struct buf *buf = buf_get(pool, size);

        assert_non_null(buf);
        assert_true(buf->capacity >= size);
        assert_true(buf->capacity <= size + size / 4 + 4096);
        assert_int_equal(buf->capacity % 4096, 0);
        assert_int_equal((uintptr_t)buf->data % 4096, 0);
        buf->data[0] = buf->data[buf->capacity - 1] = 1;
        buf_put(buf);
    }
    buf_pool_free(pool);
    assert_int_equal(budget.used_bytes, 0);
}

static void
the_last_reference_gives_a_buffer_back_to_be_used_again(void **state)
{
    struct buf_budget budget = { .max_bytes = 64 * MIB };
    struct buf_pool *pool = buf_pool_new(&budget);
    struct buf *buf = buf_get(pool, 100);
    struct buf *other;

    (void)state;
    assert_ptr_equal(buf_ref(buf), buf);
    buf_put(buf);
    other = buf_get(pool, 100);
    assert_ptr_not_equal(other, buf);
    buf_put(buf);
    assert_ptr_equal(buf_get(pool, 4096), buf);
    buf_put(buf);
    buf_put(other);
    buf_put(NULL);
    buf_pool_free(pool);
}

static void
at_the_bound_there_is_no_buffer_until_one_comes_back(void **state)
{
    struct buf_budget budget = { .max_bytes = 4 * MIB };
    struct buf_pool *pool = buf_pool_new(&budget);
    struct buf *bufs[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        bufs[i] = buf_get(pool, MIB);
        assert_non_null(bufs[i]);
    }
    assert_null(buf_get(pool, 1));
    buf_put(bufs[0]);
    bufs[0] = buf_get(pool, 4096);                       /* of another size: what was kept is given up for it */
    assert_non_null(bufs[0]);
    assert_null(buf_get(pool, MIB));
    assert_null(buf_get(pool, SIZE_MAX));
    for (int i = 0; i < 4; i++)
        buf_put(bufs[i]);
    buf_pool_free(pool);
    assert_int_equal(budget.used_bytes, 0);
}

static void
two_pools_share_one_budget_and_keep_little(void **state)
{
    struct buf_budget budget = { .max_bytes = 64 * MIB };
    struct buf_pool *one = buf_pool_new(&budget);
    struct buf_pool *two = buf_pool_new(&budget);
    struct buf *bufs[64];

    (void)state;
    for (int i = 0; i < 64; i++) {
        bufs[i] = buf_get(one, MIB);
        assert_non_null(bufs[i]);
    }
    assert_null(buf_get(two, 1));
    for (int i = 0; i < 64; i++)
        buf_put(bufs[i]);
    assert_true(budget.used_bytes <= 4 * MIB);
    for (int i = 0; i < 60; i++) {
        bufs[i] = buf_get(two, MIB);
        assert_non_null(bufs[i]);
    }
    for (int i = 0; i < 60; i++)
        buf_put(bufs[i]);
    buf_pool_free(one);
    buf_pool_free(two);
    assert_int_equal(budget.used_bytes, 0);
}

static void
what_was_not_needed_between_two_looks_goes_back_to_the_system(void **state)
{
    struct buf_budget budget = { .max_bytes = 64 * MIB };
    struct buf_pool *pool = buf_pool_new(&budget);
    struct buf *large, *small;

    (void)state;
    large = buf_get(pool, MIB);
    small = buf_get(pool, 4096);
    buf_put(large);
    buf_put(small);
    buf_pool_rest(pool);
    assert_int_equal(budget.used_bytes, MIB + 4096);    /* who knows */
    small = buf_get(pool, 4096);
    buf_put(small);
    buf_pool_rest(pool);
    assert_int_equal(budget.used_bytes, 4096);
    buf_pool_rest(pool);
    assert_int_equal(budget.used_bytes, 0);
    buf_pool_free(pool);
}

struct told {
    uint32_t marks;                     /* of the buffers that went, added up */
    unsigned times;
};

/* The memory is there still. */
static void
note_released(void *context, struct buf *buf)
{
    struct told *told = context;

    assert_int_equal(buf->data[buf->capacity - 1], buf->mark);
    told->marks += buf->mark;
    told->times++;
}

static struct buf *
get_marked(struct buf_pool *pool, size_t size, uint8_t mark)
{
    struct buf *buf = buf_get(pool, size);

    assert_non_null(buf);
    buf->mark = mark;
    buf->data[buf->capacity - 1] = mark;
    return buf;
}

static void
the_owner_hears_of_each_marked_buffer_whose_memory_goes(void **state)
{
    struct buf_budget budget = { .max_bytes = 8 * MIB };
    struct buf_pool *pool = buf_pool_new(&budget);
    struct told told = { 0 };
    struct buf *bufs[4];

    (void)state;
    buf_pool_watch(pool, note_released, &told);
    for (uint8_t i = 0; i < 4; i++)
        bufs[i] = get_marked(pool, MIB, (uint8_t)(1 << i));
    buf_put(buf_get(pool, 4096));                       /* without a mark */
    buf_put(bufs[0]);
    assert_ptr_equal(buf_get(pool, MIB), bufs[0]);
    assert_true(bufs[0]->reused);
    assert_int_equal(bufs[0]->mark, 1);
    assert_int_equal(told.times, 0);
    for (int i = 0; i < 4; i++)
        buf_put(bufs[i]);                               /* two are as much as is kept */
    assert_int_equal(told.times, 3);
    buf_pool_rest(pool);
    buf_pool_rest(pool);
    assert_int_equal(told.times, 4);
    assert_int_equal(told.marks, 15);
    buf_put(get_marked(pool, MIB, 16));
    bufs[0] = get_marked(pool, 7 * MIB + 1, 32);        /* what was kept is given up for it */
    assert_int_equal(told.marks, 31);
    buf_put(bufs[0]);
    assert_int_equal(told.marks, 63);
    buf_put(get_marked(pool, MIB, 64));
    buf_pool_free(pool);
    assert_int_equal(told.marks, 127);
    assert_int_equal(told.times, 7);
}

static void
a_new_buffer_at_an_old_address_has_no_mark(void **state)
{
    struct buf_budget budget = { .max_bytes = 8 * MIB };
    struct buf_pool *pool = buf_pool_new(&budget);
    struct told told = { 0 };
    struct buf *buf;

    (void)state;
    buf_pool_watch(pool, note_released, &told);
    for (unsigned i = 1; i < 10; i++) {
        buf = get_marked(pool, 4 * MIB, (uint8_t)i);    /* more than is kept */
        buf_put(buf);
        assert_int_equal(told.times, i);
        buf = buf_get(pool, 4 * MIB);
        assert_int_equal(buf->mark, 0);
        assert_false(buf->reused);
        buf_put(buf);
    }
    buf_pool_free(pool);
}

static void
receiving_leaves_a_part_to_replies(void **state)
{
    struct buf_budget budget = { .max_bytes = 8 * MIB };
    struct buf_pool *pool = buf_pool_new(&budget);
    struct buf *bufs[8];

    (void)state;
    for (int i = 0; i < 7; i++) {
        assert_int_equal(buf_tight(pool), i > 4);
        bufs[i] = buf_get_spare(pool, MIB);
        assert_non_null(bufs[i]);
    }
    assert_null(buf_get_spare(pool, 4096));
    bufs[7] = buf_get(pool, MIB);
    assert_non_null(bufs[7]);
    for (int i = 0; i < 8; i++)
        buf_put(bufs[i]);
    assert_false(buf_tight(pool));
    buf_pool_free(pool);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_is_as_large_as_asked_and_not_much_larger),
        cmocka_unit_test(the_last_reference_gives_a_buffer_back_to_be_used_again),
        cmocka_unit_test(at_the_bound_there_is_no_buffer_until_one_comes_back),
        cmocka_unit_test(two_pools_share_one_budget_and_keep_little),
        cmocka_unit_test(what_was_not_needed_between_two_looks_goes_back_to_the_system),
        cmocka_unit_test(the_owner_hears_of_each_marked_buffer_whose_memory_goes),
        cmocka_unit_test(a_new_buffer_at_an_old_address_has_no_mark),
        cmocka_unit_test(receiving_leaves_a_part_to_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
