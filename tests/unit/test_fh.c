/* tests/unit/test_fh.c - file handles: none but ours decode, and SipHash is SipHash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "storage/fh.h"

static const struct fh_key key = { "0123456789abcdef" };
static const struct fh_key other_key = { "0123456789abcdeF" };

static struct store_id
id_of(uint8_t len)
{
    struct store_id id = { .len = len };
    unsigned i;

    for (i = 0; i < len; i++)
        id.bytes[i] = 0x80 + i;
    return id;
}

static void
siphash_gives_the_numbers_of_its_authors(void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(0x726fdb47dd0e0e31), UINT64_C(0x74f839c593dc67fd), UINT64_C(0x0d6c8009d9a94f5a),
        UINT64_C(0x85676696d7fb7e2d), UINT64_C(0xcf2794e0277187b7), UINT64_C(0x18765564cd99a68d),
        UINT64_C(0xcbc9466e58fee3ce), UINT64_C(0xab0200f58b01d137), UINT64_C(0x93f5f5799a932462),
    };
    uint8_t sip_key[16], input[16];
    unsigned i;

    (void)state;
    for (i = 0; i < 16; i++)
        sip_key[i] = input[i] = i;
    for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_true(siphash(sip_key, input, i) == expected[i]);
    assert_true(siphash(sip_key, input, 15) == UINT64_C(0xa129ca6149be45e5));
}

static void
siphash_reads_unaligned_input(void **state)
{
    uint8_t input[80];
    unsigned i;

    (void)state;
    for (i = 0; i < sizeof(input); i++)
        input[i] = i * 7;
    for (i = 1; i < 16; i++) {
        uint8_t shifted[96];

        memcpy(shifted + i, input, sizeof(input));
        assert_true(siphash(key.bytes, shifted + i, sizeof(input)) == siphash(key.bytes, input, sizeof(input)));
    }
}

static struct store_id dir;             /* of the handle decoded last */

static void
every_length_of_id_comes_back(void **state)
{
    uint8_t fh[FH_MAX];
    uint8_t len;

    (void)state;
    for (len = 1; len <= STORE_ID_MAX; len++) {
        struct store_id id = id_of(len), back;
        size_t size = fh_encode(&key, UINT64_C(0x0123456789abcdef), &id, NULL, fh);
        uint64_t export_id = 0;

        assert_true(size <= FH_MAX && size % 4 == 0);
        assert_int_equal(fh_decode(&key, fh, size, &export_id, &back, &dir), 0);
        assert_true(export_id == UINT64_C(0x0123456789abcdef));
        assert_int_equal(back.len, len);
        assert_memory_equal(back.bytes, id.bytes, len);
        assert_int_equal(dir.len, 0);
    }
}

static void
the_directory_comes_back_where_there_is_room_for_it(void **state)
{
    uint8_t fh[FH_MAX];
    uint8_t len, dir_len;

    (void)state;
    for (len = 1; len <= STORE_ID_MAX; len++) {
        for (dir_len = 1; dir_len <= STORE_ID_MAX; dir_len++) {
            struct store_id id = id_of(len), in = id_of(dir_len), back;
            size_t size = fh_encode(&key, 5, &id, &in, fh);
            uint64_t export_id = 0;

            assert_true(size <= FH_MAX && size % 4 == 0);
            assert_int_equal(fh_decode(&key, fh, size, &export_id, &back, &dir), 0);
            assert_int_equal(back.len, len);
            assert_memory_equal(back.bytes, id.bytes, len);
            assert_int_equal(dir.len, len + dir_len <= FH_MAX - 20 ? dir_len : 0);
            assert_memory_equal(dir.bytes, in.bytes, dir.len);
        }
    }
}

static void
a_handle_is_as_long_as_it_needs_to_be(void **state)
{
    struct store_id ext4 = id_of(8), tmpfs = id_of(12), longest = id_of(STORE_ID_MAX);
    uint8_t fh[FH_MAX];

    (void)state;
    assert_int_equal(fh_encode(&key, 1, &ext4, NULL, fh), 28);
    assert_int_equal(fh_encode(&key, 1, &tmpfs, NULL, fh), 32);
    assert_int_equal(fh_encode(&key, 1, &longest, NULL, fh), 64);
}

static void
the_layout_is_the_one_in_the_header(void **state)
{
    static const uint8_t expected[] = { 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0x80, 0x81, 0x82, 0x83, 0x84, 0, 0, 0 };
    struct store_id id = id_of(5);
    uint8_t fh[FH_MAX];

    (void)state;
    memset(fh, 0xff, sizeof(fh));
    assert_int_equal(fh_encode(&key, 0x102, &id, NULL, fh), sizeof(expected) + 8);
    assert_memory_equal(fh, expected, sizeof(expected));
}

static void
the_same_object_always_has_the_same_handle(void **state)
{
    struct store_id id = id_of(13);
    uint8_t first[FH_MAX], second[FH_MAX];
    size_t size;

    (void)state;
    memset(first, 0x55, sizeof(first));
    memset(second, 0xaa, sizeof(second));
    memset(id.bytes + id.len, 1, sizeof(id.bytes) - id.len);
    size = fh_encode(&key, 7, &id, NULL, first);
    memset(id.bytes + id.len, 2, sizeof(id.bytes) - id.len);
    assert_int_equal(fh_encode(&key, 7, &id, NULL, second), size);
    assert_memory_equal(first, second, size);
}

static void
one_changed_bit_is_refused(void **state)
{
    uint8_t len;

    (void)state;
    for (len = 1; len <= STORE_ID_MAX; len += 9) {
        struct store_id id = id_of(len), back;
        uint8_t fh[FH_MAX];
        size_t size = fh_encode(&key, 99, &id, NULL, fh);
        uint64_t export_id;
        size_t bit;

        for (bit = 0; bit < 8 * size; bit++) {
            fh[bit / 8] ^= 1 << bit % 8;
            assert_int_equal(fh_decode(&key, fh, size, &export_id, &back, &dir), -EBADMSG);
            fh[bit / 8] ^= 1 << bit % 8;
        }
        assert_int_equal(fh_decode(&key, fh, size, &export_id, &back, &dir), 0);
    }
}

static void
a_handle_cut_short_or_extended_is_refused(void **state)
{
    struct store_id id = id_of(16), back;
    uint8_t fh[2 * FH_MAX] = { 0 };
    size_t size = fh_encode(&key, 99, &id, NULL, fh);
    uint64_t export_id;
    size_t len;

    (void)state;
    for (len = 0; len <= sizeof(fh); len++) {
        if (len != size)
            assert_int_equal(fh_decode(&key, fh, len, &export_id, &back, &dir), -EBADMSG);
    }
}

static void
another_servers_handle_is_refused(void **state)
{
    struct store_id id = id_of(16), back;
    uint8_t fh[FH_MAX];
    size_t size = fh_encode(&other_key, 99, &id, NULL, fh);
    uint64_t export_id;

    (void)state;
    assert_int_equal(fh_decode(&key, fh, size, &export_id, &back, &dir), -EBADMSG);
}

/* A handle of our own making with a right code, but with something in it that fh_encode() never writes. */
static int
decode_sealed(uint8_t *fh, size_t body)
{
    uint64_t mac = siphash(key.bytes, fh, body);
    struct store_id back;
    uint64_t export_id;
    unsigned i;

    for (i = 0; i < 8; i++)
        fh[body + i] = mac >> 8 * i;
    return fh_decode(&key, fh, body + 8, &export_id, &back, &dir);
}

static void
a_right_code_does_not_excuse_a_wrong_form(void **state)
{
    uint8_t good[FH_MAX] = { 1, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 1, 2, 3, 4, 5 };
    uint8_t fh[FH_MAX];
    static const struct {
        unsigned at;
        uint8_t value;
    } wrong[] = {
        { 0, 0 }, { 0, 2 }, { 1, 0 }, { 1, 4 }, { 1, 9 }, { 1, 255 }, { 2, 4 }, { 2, 255 }, { 3, 1 }, { 17, 1 }, { 19, 128 }
    };
    unsigned i;

    (void)state;
    memcpy(fh, good, sizeof(fh));
    assert_int_equal(decode_sealed(fh, 20), 0);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memcpy(fh, good, sizeof(fh));
        fh[wrong[i].at] = wrong[i].value;
        assert_int_equal(decode_sealed(fh, 20), -EBADMSG);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siphash_gives_the_numbers_of_its_authors),
        cmocka_unit_test(siphash_reads_unaligned_input),
        cmocka_unit_test(every_length_of_id_comes_back),
        cmocka_unit_test(the_directory_comes_back_where_there_is_room_for_it),
        cmocka_unit_test(a_handle_is_as_long_as_it_needs_to_be),
        cmocka_unit_test(the_layout_is_the_one_in_the_header),
        cmocka_unit_test(the_same_object_always_has_the_same_handle),
        cmocka_unit_test(one_changed_bit_is_refused),
        cmocka_unit_test(a_handle_cut_short_or_extended_is_refused),
        cmocka_unit_test(another_servers_handle_is_refused),
        cmocka_unit_test(a_right_code_does_not_excuse_a_wrong_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
