/* tests/unit/test_wire.c - wire.h never reads or stores outside of its bounds, and remembers that it was asked to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/lib/bytes.h"
#include "xdr/wire.h"

/* A reader over a copy whose last byte is the last of an allocation: a sanitizer sees the first byte too many. */
static struct wire_in
reader(const char *hex, uint8_t **copy)
{
    uint8_t bytes[256];
    size_t len = bytes_from_hex(hex, bytes, sizeof(bytes));
    struct wire_in in;

    *copy = malloc(len > 0 ? len : 1);
    assert_non_null(*copy);
    memcpy(*copy, bytes, len);
    in = (struct wire_in){ *copy, *copy + len, false };
    return in;
}

static void
numbers_are_big_endian_and_follow_each_other(void **state)
{
    uint8_t *copy;
    struct wire_in in = reader("01020304 05060708090a0b0c 00000001 00000000", &copy);

    (void)state;
    assert_int_equal(wire_get_u32(&in), 0x01020304);
    assert_true(wire_get_u64(&in) == 0x05060708090a0b0cull);
    assert_true(wire_get_bool(&in));
    assert_false(wire_get_bool(&in));
    assert_int_equal(wire_left(&in), 0);
    assert_false(in.bad);
    free(copy);
}

static void
a_number_cut_short_is_bad_and_reads_as_zero(void **state)
{
    static const char *const cut[] = { "", "ff", "ffff", "ffffff" };
    static const char *const cut_long[] = { "", "ff", "ffffffff", "ffffffffffffff" };
    struct wire_in in;
    uint8_t *copy;
    size_t i;

    (void)state;
    for (i = 0; i < 4; i++) {
        in = reader(cut[i], &copy);
        assert_int_equal(wire_get_u32(&in), 0);
        assert_true(in.bad);
        free(copy);
        in = reader(cut_long[i], &copy);
        assert_true(wire_get_u64(&in) == 0);
        assert_true(in.bad);
        free(copy);
    }
}

static void
after_something_bad_everything_reads_as_zero(void **state)
{
    uint8_t *copy;
    struct wire_in in = reader("00000002 ffffffff ffffffff ffffffff", &copy);
    uint32_t len = 7;

    (void)state;
    assert_false(wire_get_bool(&in));
    assert_true(in.bad);
    assert_int_equal(wire_get_u32(&in), 0);
    assert_true(wire_get_u64(&in) == 0);
    assert_false(wire_get_bool(&in));
    assert_null(wire_get_bytes(&in, 1));
    assert_null(wire_get_bytes(&in, 0));
    assert_null(wire_get_opaque(&in, UINT32_MAX, &len));
    assert_int_equal(len, 0);
    free(copy);
}

static void
a_bool_is_zero_or_one(void **state)
{
    static const char *const wrong[] = { "00000002", "01000000", "80000000", "ffffffff", "00000100" };
    struct wire_in in;
    uint8_t *copy;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        in = reader(wrong[i], &copy);
        assert_false(wire_get_bool(&in));
        assert_true(in.bad);
        free(copy);
    }
}

static void
opaque_points_into_the_input_and_skips_its_padding(void **state)
{
    uint8_t *copy;
    struct wire_in in = reader("00000005 68656c6c6f 000000 0000002a", &copy);
    uint32_t len;
    const uint8_t *data = wire_get_opaque(&in, 5, &len);

    (void)state;
    assert_ptr_equal(data, copy + 4);
    assert_int_equal(len, 5);
    assert_int_equal(wire_get_u32(&in), 42);
    assert_false(in.bad);
    free(copy);
}

static void
empty_opaque_is_good_and_not_null_even_at_the_end(void **state)
{
    uint8_t *copy;
    struct wire_in in = reader("00000000", &copy);
    uint32_t len = 9;

    (void)state;
    assert_non_null(wire_get_opaque(&in, 0, &len));
    assert_int_equal(len, 0);
    assert_false(in.bad);
    free(copy);
}

static void
opaque_longer_than_allowed_or_than_the_input_is_bad(void **state)
{
    static const struct {
        const char *hex;
        uint32_t max;
    } rows[] = {
        { "00000005 68656c6c6f 000000", 4 },            /* one more than max */
        { "00000005 68656c6c6f 0000", 5 },              /* padding cut */
        { "00000005 68656c6c6f", 5 },                   /* no padding */
        { "00000005 68656c6c", 5 },                     /* data cut */
        { "00000004", 4 },                              /* no data */
        { "000000", 4 },                                /* length cut */
        { "ffffffff 00000000", UINT32_MAX },            /* the padded length would wrap in 32 bits */
        { "fffffffd 00000000", UINT32_MAX },
        { "fffffffc 00000000", UINT32_MAX },
        { "7fffffff 00000000", UINT32_MAX },
        { "80000000 00000000", UINT32_MAX },
    };
    struct wire_in in;
    uint8_t *copy;
    uint32_t len;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        in = reader(rows[i].hex, &copy);
        len = 1;
        assert_null(wire_get_opaque(&in, rows[i].max, &len));
        assert_int_equal(len, 0);
        assert_true(in.bad);
        free(copy);
    }
}

static void
bytes_are_given_up_to_the_end_and_not_beyond(void **state)
{
    uint8_t *copy;
    struct wire_in in = reader("0102030405", &copy);

    (void)state;
    assert_ptr_equal(wire_get_bytes(&in, 0), copy);
    assert_ptr_equal(wire_get_bytes(&in, 5), copy);
    assert_ptr_equal(wire_get_bytes(&in, 0), copy + 5);
    assert_false(in.bad);
    assert_null(wire_get_bytes(&in, 1));
    assert_true(in.bad);
    in = (struct wire_in){ copy, copy + 5, false };
    assert_null(wire_get_bytes(&in, SIZE_MAX));
    assert_true(in.bad);
    free(copy);
}

static void
padding_fills_up_to_four(void **state)
{
    (void)state;
    assert_int_equal(wire_padding(0), 0);
    assert_int_equal(wire_padding(1), 3);
    assert_int_equal(wire_padding(2), 2);
    assert_int_equal(wire_padding(3), 1);
    assert_int_equal(wire_padding(4), 0);
    assert_int_equal(wire_padded(0), 0);
    assert_int_equal(wire_padded(5), 8);
    assert_true(wire_padded(UINT32_MAX) == 0x100000000ull);
}

static void
what_is_put_can_be_read_back(void **state)
{
    static const char want[] = "00000007 0000000100000002 00000001 00000000 00000003 61626300 7a000000";
    uint8_t bytes[64], expected[64];
    struct wire_out out = { bytes, bytes + sizeof(bytes), false };

    (void)state;
    memset(bytes, 0xee, sizeof(bytes));
    wire_put_u32(&out, 7);
    wire_put_u64(&out, 0x100000002ull);
    wire_put_bool(&out, true);
    wire_put_bool(&out, false);
    wire_put_opaque(&out, "abc", 3);
    wire_put_fixed(&out, "z", 1);
    assert_false(out.full);
    bytes_assert_same("put", bytes, (size_t)(out.p - bytes), expected,
                      bytes_from_hex(want, expected, sizeof(expected)));
    assert_int_equal(out.p[0], 0xee);
}

static void
a_full_writer_stores_nothing_more_and_keeps_what_it_has(void **state)
{
    uint8_t *space = malloc(10);                        /* a sanitizer watches its end */
    struct wire_out out = { space, space + 10, false };

    (void)state;
    assert_non_null(space);
    memset(space, 0xee, 10);
    wire_put_u64(&out, 1);
    assert_int_equal(wire_room(&out), 2);
    wire_put_u32(&out, 2);                              /* four do not fit in two */
    assert_true(out.full);
    assert_int_equal(space[7], 1);
    assert_int_equal(space[8], 0xee);
    assert_null(wire_put_space(&out, 1));               /* two bytes are left, but it stays full */
    wire_put_fixed(&out, "x", 1);
    wire_put_opaque(&out, "", 0);
    assert_int_equal(space[8], 0xee);
    assert_int_equal(space[9], 0xee);
    free(space);
}

static void
empty_opaque_needs_only_its_length(void **state)
{
    uint8_t *space = malloc(4);
    struct wire_out out = { space, space + 4, false };

    (void)state;
    assert_non_null(space);
    wire_put_opaque(&out, NULL, 0);
    assert_false(out.full);
    assert_int_equal(wire_room(&out), 0);
    assert_non_null(wire_put_space(&out, 0));
    free(space);
}

static void
a_length_that_can_never_fit_does_not_wrap(void **state)
{
    uint8_t space[16];
    struct wire_out out = { space, space + sizeof(space), false };

    (void)state;
    assert_null(wire_put_space(&out, wire_padded(UINT32_MAX)));
    assert_true(out.full);
    out.full = false;
    assert_null(wire_put_space(&out, SIZE_MAX));
    assert_true(out.full);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_big_endian_and_follow_each_other),
        cmocka_unit_test(a_number_cut_short_is_bad_and_reads_as_zero),
        cmocka_unit_test(after_something_bad_everything_reads_as_zero),
        cmocka_unit_test(a_bool_is_zero_or_one),
        cmocka_unit_test(opaque_points_into_the_input_and_skips_its_padding),
        cmocka_unit_test(empty_opaque_is_good_and_not_null_even_at_the_end),
        cmocka_unit_test(opaque_longer_than_allowed_or_than_the_input_is_bad),
        cmocka_unit_test(bytes_are_given_up_to_the_end_and_not_beyond),
        cmocka_unit_test(padding_fills_up_to_four),
        cmocka_unit_test(what_is_put_can_be_read_back),
        cmocka_unit_test(a_full_writer_stores_nothing_more_and_keeps_what_it_has),
        cmocka_unit_test(empty_opaque_needs_only_its_length),
        cmocka_unit_test(a_length_that_can_never_fit_does_not_wrap),
    };

    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
