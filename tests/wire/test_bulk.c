/*
 * tests/wire/test_bulk.c - the hand-made codecs of bulk.c against rpcgen's, which are the oracle.
 *
 * Each row of bulk_rows.h is one type; each test holds for every row: random values in both directions, every prefix,
 * every bit flipped, every too small space. Messages and spaces end where an allocation ends, so a sanitizer sees the
 * first byte outside.
 *
 * Where the two may differ, and nowhere else: a bool other than 0 and 1, which libtirpc takes for TRUE, and a
 * stable_how beyond FILE_SYNC, which libtirpc lets pass. bulk.c refuses both.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/bulk_rows.h"
#include "tests/lib/bytes.h"

#define SEED 20260131
#define MESSAGE_MAX 65536

static size_t
oracle_encode(const char *name, xdrproc_t oracle, const void *value, uint8_t *out)
{
    XDR xdrs;

    xdrmem_create(&xdrs, (char *)out, MESSAGE_MAX, XDR_ENCODE);
    if (!oracle(&xdrs, (void *)value))
        fail_msg("%s: rpcgen's codec does not encode this value", name);
    return xdr_getpos(&xdrs);
}

/* Decode with rpcgen's codec, into memory that is given. */
static bool
oracle_decode(const struct args_row *row, uint8_t *message, size_t len, union args *args)
{
    static char fh_space[MESSAGE_MAX], name_space[MESSAGE_MAX], data_space[MESSAGE_MAX];
    static char other_fh_space[MESSAGE_MAX], other_name_space[MESSAGE_MAX], text_space[MESSAGE_MAX];
    struct args_place place = bulk_place(row, args);
    XDR xdrs;

    memset(args, 0, sizeof(*args));
    place.fh->data.data_val = fh_space;
    if (place.name != NULL)
        place.name->filename3_val = name_space;
    if (place.other_fh != NULL)
        place.other_fh->data.data_val = other_fh_space;
    if (place.other_name != NULL)
        place.other_name->filename3_val = other_name_space;
    if (place.text != NULL)
        place.text->nfspath3_val = text_space;
    if (place.write != NULL)
        place.write->data.data_val = data_space;
    xdrmem_create(&xdrs, (char *)message, (u_int)len, XDR_DECODE);
    return row->oracle(&xdrs, args) != FALSE;
}

static bool
hand_decode(const struct args_row *row, const uint8_t *message, size_t len, union args *args, size_t *taken)
{
    struct wire_in in = { message, message + len, false };
    bool ok = row->get(&in, args);

    assert_int_equal(ok, !in.bad);
    *taken = (size_t)(in.p - message);
    return ok;
}

/* Bytes at the very end of an allocation. */
static uint8_t *
exact_copy(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return copy;
}

static size_t
random_message(const struct args_row *row, uint8_t *message)
{
    union args args;

    bulk_make_args(row, &args);
    return oracle_encode(row->name, row->oracle, &args, message);
}

static void
what_rpcgen_encodes_is_decoded_by_hand(void **state)
{
    static uint8_t message[MESSAGE_MAX], again[MESSAGE_MAX];
    size_t row, i, len, taken;
    union args args;
    uint8_t *copy;

    (void)state;
    for (row = 0; row < args_rows_count; row++) {
        for (i = 0; i < 5000; i++) {
            len = random_message(&args_rows[row], message);
            copy = exact_copy(message, len);
            memset(&args, 0xaa, sizeof(args));
            if (!hand_decode(&args_rows[row], copy, len, &args, &taken))
                fail_msg("%s: a valid message is refused (seed %d, round %zu)", args_rows[row].name, SEED, i);
            assert_int_equal(taken, len);
            bytes_assert_same(args_rows[row].name, again,
                              oracle_encode(args_rows[row].name, args_rows[row].oracle, &args, again), message, len);
            free(copy);
        }
    }
}

static void
what_is_decoded_lies_in_the_message(void **state)
{
    static uint8_t message[MESSAGE_MAX];
    size_t row, len, taken;
    struct args_place place;
    union args args;

    (void)state;
    for (row = 0; row < args_rows_count; row++) {
        len = random_message(&args_rows[row], message);
        assert_true(hand_decode(&args_rows[row], message, len, &args, &taken));
        place = bulk_place(&args_rows[row], &args);
        assert_in_range((uintptr_t)place.fh->data.data_val, (uintptr_t)message, (uintptr_t)message + len);
        if (place.name != NULL)
            assert_in_range((uintptr_t)place.name->filename3_val, (uintptr_t)message, (uintptr_t)message + len);
        if (place.write != NULL)
            assert_in_range((uintptr_t)place.write->data.data_val, (uintptr_t)message, (uintptr_t)message + len);
    }
}

static void
bytes_behind_the_arguments_are_left_alone(void **state)
{
    static uint8_t message[MESSAGE_MAX];
    size_t row, len, taken;
    union args args;

    (void)state;
    for (row = 0; row < args_rows_count; row++) {
        len = random_message(&args_rows[row], message);
        memset(message + len, 0xff, 40);
        assert_true(hand_decode(&args_rows[row], message, len + 40, &args, &taken));
        assert_int_equal(taken, len);
    }
}

static void
a_message_cut_anywhere_is_refused_as_rpcgen_refuses_it(void **state)
{
    static uint8_t message[MESSAGE_MAX];
    size_t row, i, cut, len, taken;
    union args args;
    uint8_t *copy;
    bool hand;

    (void)state;
    for (row = 0; row < args_rows_count; row++) {
        for (i = 0; i < 40; i++) {
            len = random_message(&args_rows[row], message);
            for (cut = 0; cut < len; cut++) {
                copy = exact_copy(message, cut);
                hand = hand_decode(&args_rows[row], copy, cut, &args, &taken);
                if (hand || oracle_decode(&args_rows[row], copy, cut, &args))
                    fail_msg("%s: the first %zu of %zu bytes are taken (by hand: %d)", args_rows[row].name, cut, len,
                             hand);
                free(copy);
            }
        }
    }
}

/*
 * rpcgen's codec took the message, bulk.c did not. Right where there is a bool that is neither 0 nor 1, which libtirpc
 * has read as TRUE (so it is encoded as 1 again), and for a stable_how out of range.
 */
static bool
refused_on_purpose(const struct args_row *row, const union args *oracle, const uint8_t *message)
{
    static uint8_t again[MESSAGE_MAX];
    size_t word, len = oracle_encode(row->name, row->oracle, oracle, again);
    uint32_t sent, read_as;

    if (row->oracle == (xdrproc_t)xdr_WRITE3args && oracle->write.stable > FILE_SYNC)
        return true;
    for (word = 0; word < len; word += 4) {
        memcpy(&sent, message + word, 4);
        memcpy(&read_as, again + word, 4);
        if (be32toh(sent) > 1 && be32toh(read_as) == TRUE)
            return true;
    }
    return false;
}

static void
any_bit_flipped_is_judged_as_rpcgen_judges_it(void **state)
{
    static uint8_t message[MESSAGE_MAX], by_hand[MESSAGE_MAX], by_rpcgen[MESSAGE_MAX];
    size_t row, i, bit, len, taken;
    union args hand, oracle;
    bool hand_ok, oracle_ok;
    uint8_t *copy;

    (void)state;
    for (row = 0; row < args_rows_count; row++) {
        for (i = 0; i < 40; i++) {
            len = random_message(&args_rows[row], message);
            for (bit = 0; bit < 8 * len && bit < 8 * 300; bit++) {
                copy = exact_copy(message, len);
                copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
                hand_ok = hand_decode(&args_rows[row], copy, len, &hand, &taken);
                oracle_ok = oracle_decode(&args_rows[row], copy, len, &oracle);
                if (hand_ok && !oracle_ok)
                    fail_msg("%s: bit %zu flipped is taken by hand only", args_rows[row].name, bit);
                if (!hand_ok && oracle_ok && !refused_on_purpose(&args_rows[row], &oracle, copy))
                    fail_msg("%s: bit %zu flipped is refused by hand only", args_rows[row].name, bit);
                if (hand_ok)
                    bytes_assert_same(args_rows[row].name, by_hand,
                                      oracle_encode(args_rows[row].name, args_rows[row].oracle, &hand, by_hand),
                                      by_rpcgen,
                                      oracle_encode(args_rows[row].name, args_rows[row].oracle, &oracle, by_rpcgen));
                free(copy);
            }
        }
    }
}

static void
random_bytes_are_judged_as_rpcgen_judges_them(void **state)
{
    uint8_t message[400];
    size_t row, i, len, word, taken;
    union args args;
    uint8_t *copy;

    (void)state;
    for (row = 0; row < args_rows_count; row++) {
        for (i = 0; i < 20000; i++) {
            len = bytes_random_below(&bulk_random, sizeof(message));
            bytes_random_fill(&bulk_random, message, len);
            for (word = 0; word + 4 <= len; word += 4)   /* many small numbers, so that decoding gets somewhere */
                if (bulk_coin())
                    memset(message + word, 0, 3);
            copy = exact_copy(message, len);
            if (hand_decode(&args_rows[row], copy, len, &args, &taken)) {
                assert_true(oracle_decode(&args_rows[row], copy, len, &args));
                assert_in_range(taken, 0, len);
            }
            free(copy);
        }
    }
}

static void
lengths_near_the_limits_of_32_bits_are_refused(void **state)
{
    static const uint32_t lengths[] = { 65, 0x7fffffff, 0x80000000, 0xfffffffb, 0xfffffffc, 0xfffffffd, 0xffffffff };
    uint8_t message[16];
    struct wire_out out;
    union args args;
    size_t row, i, taken;

    (void)state;
    for (row = 0; row < args_rows_count; row++) {
        for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
            memset(message, 0, sizeof(message));
            out = (struct wire_out){ message, message + sizeof(message), false };
            wire_put_u32(&out, lengths[i]);
            assert_false(hand_decode(&args_rows[row], message, sizeof(message), &args, &taken));
            out = (struct wire_out){ message, message + sizeof(message), false };
            wire_put_u32(&out, 0);                       /* an empty handle, then the length of a name */
            wire_put_u32(&out, lengths[i]);
            if (bulk_place(&args_rows[row], &args).name != NULL)
                assert_false(hand_decode(&args_rows[row], message, sizeof(message), &args, &taken));
        }
    }
}

static void
write_may_announce_another_count_than_it_carries(void **state)
{
    static const char hex[] = "00000004 deadbeef 0000000000000010 00000064 00000002 00000003 61626300";
    uint8_t message[64];
    struct wire_in in = { message, message + bytes_from_hex(hex, message, sizeof(message)), false };
    WRITE3args args;

    (void)state;
    assert_true(bulk_get_WRITE3args(&in, &args));
    assert_int_equal(args.count, 100);
    assert_int_equal(args.data.data_len, 3);
    assert_memory_equal(args.data.data_val, "abc", 3);
}

static void
what_is_encoded_by_hand_is_what_rpcgen_encodes(void **state)
{
    static uint8_t want[MESSAGE_MAX], got[MESSAGE_MAX];
    struct wire_out out;
    union res res;
    size_t row, i, len;

    (void)state;
    for (row = 0; row < res_rows_count; row++) {
        for (i = 0; i < 5000; i++) {
            bulk_make_res(&res_rows[row], &res);
            len = oracle_encode(res_rows[row].name, res_rows[row].oracle, &res, want);
            memset(got, 0xaa, sizeof(got));
            out = (struct wire_out){ got, got + sizeof(got), false };
            res_rows[row].put(&out, &res);
            assert_false(out.full);
            bytes_assert_same(res_rows[row].name, got, (size_t)(out.p - got), want, len);
            assert_int_equal(got[len], 0xaa);
        }
    }
}

static void
a_result_without_room_is_marked_and_stays_inside(void **state)
{
    static uint8_t want[MESSAGE_MAX];
    struct wire_out out;
    union res res;
    size_t row, i, len, room;
    uint8_t *space;

    (void)state;
    for (row = 0; row < res_rows_count; row++) {
        for (i = 0; i < 10; i++) {
            bulk_make_res(&res_rows[row], &res);
            len = oracle_encode(res_rows[row].name, res_rows[row].oracle, &res, want);
            for (room = 0; room <= len; room++) {
                space = malloc(room > 0 ? room : 1);
                assert_non_null(space);
                out = (struct wire_out){ space, space + room, false };
                res_rows[row].put(&out, &res);
                assert_int_equal(out.full, room < len);
                bytes_assert_same(res_rows[row].name, space, (size_t)(out.p - space), want, (size_t)(out.p - space));
                free(space);
            }
        }
    }
}

static void
results_without_lists_and_data_are_within_their_bound(void **state)
{
    uint8_t space[BULK_REPLY_MAX];
    struct wire_out out;
    union res res;
    size_t row, i;

    (void)state;
    for (row = 0; row < res_rows_count; row++) {
        for (i = 0; i < 500; i++) {
            bulk_make_res(&res_rows[row], &res);
            if (res_rows[row].oracle == (xdrproc_t)xdr_READDIR3res)
                res.readdir.READDIR3res_u.resok.reply.entries = NULL;
            if (res_rows[row].oracle == (xdrproc_t)xdr_READDIRPLUS3res)
                res.readdirplus.READDIRPLUS3res_u.resok.reply.entries = NULL;
            out = (struct wire_out){ space, space + sizeof(space), false };
            if (res_rows[row].oracle == (xdrproc_t)xdr_READ3res)
                bulk_put_READ3res(&out, &res.read);
            else
                res_rows[row].put(&out, &res);
            assert_false(out.full);
        }
    }
}

static void
sizes_of_entries_are_what_they_take(void **state)
{
    static uint8_t message[MESSAGE_MAX];
    entryplus3 plus;
    entry3 entry;
    int i;

    (void)state;
    memset(&entry, 0, sizeof(entry));
    for (i = 0; i < 5000; i++) {
        bulk_make_entry(&plus);
        entry.fileid = plus.fileid;
        entry.name = plus.name;
        entry.cookie = plus.cookie;
        /* Encoded alone an entry ends with "no next one", as long as the "here is one" in front of it. */
        assert_int_equal(bulk_size_entry3(&entry), oracle_encode("entry3", (xdrproc_t)xdr_entry3, &entry, message));
        assert_int_equal(bulk_size_entryplus3(&plus),
                         oracle_encode("entryplus3", (xdrproc_t)xdr_entryplus3, &plus, message));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rpcgen_encodes_is_decoded_by_hand),
        cmocka_unit_test(what_is_decoded_lies_in_the_message),
        cmocka_unit_test(bytes_behind_the_arguments_are_left_alone),
        cmocka_unit_test(a_message_cut_anywhere_is_refused_as_rpcgen_refuses_it),
        cmocka_unit_test(any_bit_flipped_is_judged_as_rpcgen_judges_it),
        cmocka_unit_test(random_bytes_are_judged_as_rpcgen_judges_them),
        cmocka_unit_test(lengths_near_the_limits_of_32_bits_are_refused),
        cmocka_unit_test(write_may_announce_another_count_than_it_carries),
        cmocka_unit_test(what_is_encoded_by_hand_is_what_rpcgen_encodes),
        cmocka_unit_test(a_result_without_room_is_marked_and_stays_inside),
        cmocka_unit_test(results_without_lists_and_data_are_within_their_bound),
        cmocka_unit_test(sizes_of_entries_are_what_they_take),
    };

    bulk_random = bytes_random_seed(SEED);
    return cmocka_run_group_tests_name("bulk", tests, NULL, NULL);
}
