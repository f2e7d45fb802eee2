/*
 * tests/wire/test_bulk_acl.c - arguments of NFSACL, read by hand: against bytes written from the definition (nfs_acl.x),
 * against rpcgen's codec, and against everything that can be wrong with them. Messages end where an allocation ends, so a
 * sanitizer sees the first byte outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/lib/bytes.h"
#include "xdr/bulk_acl.h"

#define SEED 20261130
#define ROUNDS 300
#define MESSAGE_MAX (2 * NFS_ACL_MAX_ENTRIES * BULK_ACL_ENTRY_BYTES + 256)
#define NO_ID 0xffffffffu

/* A handle of five bytes, and what follows it in a SETACL: mask, access ACL of six entries, default ACL of four. */
#define FH_HEX "00000005 0102030405 000000 "
#define SETACL_HEX FH_HEX \
    "0000000f " \
    "00000006 00000006 " \
    "00000001 000003e8 00000007 00000002 000007d0 00000006 00000002 000007d1 00000004 " \
    "00000004 00000064 00000005 00000010 00000000 00000007 00000020 00000000 00000000 " \
    "00000004 00000004 " \
    "00001001 000003e8 00000007 00001004 00000064 00000005 00001010 00000000 00000005 00001020 00000000 00000001 "
#define ACCESS_AT 16                    /* of the mask; its first list follows */

static const aclent access_entries[] = {
    { NFS_ACL_USER_OBJ, 1000, 7 }, { NFS_ACL_USER, 2000, 6 }, { NFS_ACL_USER, 2001, 4 }, { NFS_ACL_GROUP_OBJ, 100, 5 },
    { NFS_ACL_CLASS_OBJ, 0, 7 }, { NFS_ACL_OTHER_OBJ, 0, 0 },
};
static const aclent default_entries[] = {
    { NFS_ACL_USER_OBJ, 1000, 7 }, { NFS_ACL_GROUP_OBJ, 100, 5 }, { NFS_ACL_CLASS_OBJ, 0, 5 },
    { NFS_ACL_OTHER_OBJ, 0, 1 },
};

/* Read a message that ends where its allocation ends. The arguments are gone afterwards; only the outcome is good. */
static bool
reads(const uint8_t *message, size_t len)
{
    uint8_t *copy = malloc(len + !len);
    struct wire_in in = { copy, copy + len, false };
    struct bulk_SETACL3args args;
    bool good;

    assert_non_null(copy);
    memcpy(copy, message, len);
    good = bulk_get_SETACL3args(&in, &args);
    for (uint32_t i = 0; good && i < args.access.count; i++)
        bulk_acl_entry(&args.access, i);
    for (uint32_t i = 0; good && i < args.defaults.count; i++)
        bulk_acl_entry(&args.defaults, i);
    free(copy);
    return good;
}

static void
assert_entries(const struct bulk_acl *list, const aclent *want, uint32_t count)
{
    assert_int_equal(list->count, count);
    for (uint32_t i = 0; i < count; i++) {
        aclent entry = bulk_acl_entry(list, i);

        assert_int_equal(entry.type, want[i].type);
        assert_int_equal(entry.id, want[i].id);
        assert_int_equal(entry.perm, want[i].perm);
    }
}

static void
getacl_is_a_handle_and_a_mask(void **state)
{
    uint8_t message[64];
    size_t len = bytes_from_hex(FH_HEX "00000005", message, sizeof(message));
    struct wire_in in = { message, message + len, false };
    GETACL3args args;

    (void)state;
    assert_true(bulk_get_GETACL3args(&in, &args));
    assert_int_equal(args.fh.data.data_len, 5);
    assert_memory_equal(args.fh.data.data_val, "\1\2\3\4\5", 5);
    assert_int_equal(args.mask, NFS_ACL | NFS_DFACL);
    for (size_t cut = 0; cut < len; cut++) {
        in = (struct wire_in){ message, message + cut, false };
        assert_false(bulk_get_GETACL3args(&in, &args));
    }
}

static void
setacl_is_a_handle_a_mask_and_two_lists(void **state)
{
    uint8_t message[512];
    size_t len = bytes_from_hex(SETACL_HEX, message, sizeof(message));
    struct wire_in in = { message, message + len, false };
    struct bulk_SETACL3args args;

    (void)state;
    assert_true(bulk_get_SETACL3args(&in, &args));
    assert_int_equal(wire_left(&in), 0);
    assert_int_equal(args.mask, BULK_ACL_MASK);
    assert_memory_equal(args.fh.data.data_val, "\1\2\3\4\5", 5);
    assert_entries(&args.access, access_entries, 6);
    assert_entries(&args.defaults, default_entries, 4);
}

static void
a_message_cut_short_anywhere_cannot_be_read(void **state)
{
    uint8_t message[512] = { 0 };
    size_t len = bytes_from_hex(SETACL_HEX, message, sizeof(message));

    (void)state;
    for (size_t cut = 0; cut < len; cut++)
        assert_false(reads(message, cut));
    assert_true(reads(message, len));
    assert_true(reads(message, len + 4));       /* whatever follows */
}

static void
a_list_that_the_mask_does_not_name_is_empty(void **state)
{
    static const struct {
        uint32_t mask, access, defaults;
    } cases[] = { { 0, 0, 0 }, { NFS_ACL, 6, 0 }, { NFS_DFACL, 0, 4 }, { NFS_ACLCNT | NFS_DFACLCNT, 0, 0 } };
    uint8_t message[512];
    size_t len = bytes_from_hex(SETACL_HEX, message, sizeof(message));
    struct bulk_SETACL3args args;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wire_in in = { message, message + len, false };
        struct wire_out out = { message + ACCESS_AT - 4, message + ACCESS_AT, false };

        wire_put_u32(&out, cases[i].mask);
        assert_true(bulk_get_SETACL3args(&in, &args));
        assert_int_equal(wire_left(&in), 0);
        assert_int_equal(args.access.count, cases[i].access);
        assert_int_equal(args.defaults.count, cases[i].defaults);
    }
}

/* handle, mask, then a list of announced, count and one entry `count` times, then an empty one. */
static size_t
build(uint8_t *message, uint32_t mask, uint32_t announced, uint32_t count, aclent entry)
{
    struct wire_out out = { message, message + MESSAGE_MAX, false };

    wire_put_opaque(&out, "\1\2\3\4", 4);
    wire_put_u32(&out, mask);
    wire_put_u32(&out, announced);
    wire_put_u32(&out, count);
    for (uint32_t i = 0; i < count && i <= NFS_ACL_MAX_ENTRIES; i++) {
        wire_put_u32(&out, entry.type);
        wire_put_u32(&out, entry.id);
        wire_put_u32(&out, entry.perm);
    }
    wire_put_u32(&out, 0);
    wire_put_u32(&out, 0);
    assert_false(out.full);
    return (size_t)(out.p - message);
}

static bool
reads_list(uint32_t mask, uint32_t announced, uint32_t count, aclent entry)
{
    static uint8_t message[MESSAGE_MAX];

    return reads(message, build(message, mask, announced, count, entry));
}

static void
a_list_has_as_many_entries_as_it_announces_and_at_most_1024(void **state)
{
    const aclent user = { NFS_ACL_USER, 1, 7 };

    (void)state;
    assert_true(reads_list(NFS_ACL, 0, 0, user));
    assert_true(reads_list(NFS_ACL, 1024, 1024, user));
    assert_false(reads_list(NFS_ACL, 1025, 1025, user));
    assert_false(reads_list(NFS_ACL, 1024, 1025, user));
    assert_false(reads_list(NFS_ACL, 4, 3, user));
    assert_false(reads_list(NFS_ACL, 3, 4, user));
    assert_false(reads_list(NFS_ACL, 0xffffffff, 0xffffffff, user));
    assert_false(reads_list(NFS_ACL, 1024, 0x55555556, user));          /* times 12 it is 8 */
    assert_true(reads_list(NFS_ACLCNT, 4, 0, user));
    assert_false(reads_list(NFS_ACLCNT, 1025, 0, user));
    assert_false(reads_list(NFS_ACLCNT, 3, 4, user));
}

static void
a_mask_has_four_bits(void **state)
{
    const aclent user = { NFS_ACL_USER, 1, 7 };

    (void)state;
    for (unsigned bit = 0; bit < 32; bit++)
        assert_true(reads_list(1u << bit, 0, 0, user) == (bit < 4));
}

static void
an_entry_has_a_known_type_three_bits_and_somebody_it_names(void **state)
{
    static const uint32_t types[] = { NFS_ACL_USER_OBJ, NFS_ACL_USER, NFS_ACL_GROUP_OBJ, NFS_ACL_GROUP,
                                      NFS_ACL_CLASS_OBJ, NFS_ACL_OTHER_OBJ };
    static const uint32_t wrong[] = { 0, 3, 0x11, 0x40, 0x80, 0x1000, 0x1003, 0x2001, 0x10001, 0x80000001, 0xffffffff };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        bool names = types[i] == NFS_ACL_USER || types[i] == NFS_ACL_GROUP;
        bool is_mask = types[i] == NFS_ACL_CLASS_OBJ;

        assert_true(reads_list(NFS_ACL, 1, 1, (aclent){ types[i], 5, 7 }));
        assert_true(reads_list(NFS_ACL, 1, 1, (aclent){ types[i] | NFS_ACL_DEFAULT, 5, 7 }));
        assert_true(reads_list(NFS_ACL, 1, 1, (aclent){ types[i], NO_ID, 7 }) != names);
        assert_true(reads_list(NFS_ACL, 1, 1, (aclent){ types[i], 5, 8 }) == is_mask);
        assert_true(reads_list(NFS_ACL, 1, 1, (aclent){ types[i], 5, 0x10007 }) == is_mask);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        assert_false(reads_list(NFS_ACL, 1, 1, (aclent){ wrong[i], 5, 7 }));
        assert_true(reads_list(NFS_ACLCNT, 1, 1, (aclent){ wrong[i], 5, 7 }));      /* nobody looks at it */
    }
}

static void
a_mask_entry_keeps_three_bits_of_what_it_has(void **state)
{
    uint8_t message[128];
    size_t len = build(message, NFS_ACL, 1, 1, (aclent){ NFS_ACL_CLASS_OBJ, 0, 0xfffffffd });
    struct wire_in in = { message, message + len, false };
    struct bulk_SETACL3args args;

    (void)state;
    assert_true(bulk_get_SETACL3args(&in, &args));
    assert_entries(&args.access, &(aclent){ NFS_ACL_CLASS_OBJ, 0, 5 }, 1);
}

static void
fill(struct bytes_random *seeded, aclent *entries, uint32_t *announced, u_int *count, aclent **list)
{
    *announced = *count = bytes_random_below(seeded, 4) == 0 ? NFS_ACL_MAX_ENTRIES : bytes_random_below(seeded, 20);
    *list = entries;
    for (uint32_t i = 0; i < *count; i++)
        entries[i] = (aclent){ 1u << bytes_random_below(seeded, 6), bytes_random_below(seeded, 1u << 31),
                               bytes_random_below(seeded, 8) };
}

/* rpcgen's codec writes them and these read them. */
static void
random_arguments_are_what_rpcgen_wrote(void **state)
{
    static aclent lists[2][NFS_ACL_MAX_ENTRIES];
    static uint8_t message[MESSAGE_MAX];
    struct bytes_random seeded = bytes_random_seed(SEED);
    struct bulk_SETACL3args args;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        SETACL3args sent = { .fh = { { 4, "fhfh" } }, .acl.mask = NFS_ACL | NFS_DFACL };
        struct wire_in in;
        XDR xdrs;

        fill(&seeded, lists[0], &sent.acl.aclcnt, &sent.acl.aclents.aclents_len, &sent.acl.aclents.aclents_val);
        fill(&seeded, lists[1], &sent.acl.dfaclcnt, &sent.acl.dfaclents.dfaclents_len, &sent.acl.dfaclents.dfaclents_val);
        xdrmem_create(&xdrs, (char *)message, sizeof(message), XDR_ENCODE);
        assert_true(xdr_SETACL3args(&xdrs, &sent));
        in = (struct wire_in){ message, message + xdr_getpos(&xdrs), false };
        assert_true(bulk_get_SETACL3args(&in, &args));
        assert_int_equal(wire_left(&in), 0);
        assert_entries(&args.access, lists[0], sent.acl.aclcnt);
        assert_entries(&args.defaults, lists[1], sent.acl.dfaclcnt);
    }
}

/* A list that is taken has nothing in it that the checks above refuse, whatever bits a message has. */
static void
whatever_is_read_is_well_formed(void **state)
{
    struct bytes_random seeded = bytes_random_seed(SEED + 1);
    uint8_t original[512], message[512];
    size_t len = bytes_from_hex(SETACL_HEX, original, sizeof(original));
    struct bulk_SETACL3args args;
    size_t taken = 0;

    (void)state;
    for (int round = 0; round < 100 * ROUNDS; round++) {
        struct wire_in in = { message, message + len, false };

        memcpy(message, original, len);
        for (uint32_t n = bytes_random_below(&seeded, 4) + 1; n > 0; n--)
            message[bytes_random_below(&seeded, (uint32_t)len)] ^= (uint8_t)(1u << bytes_random_below(&seeded, 8));
        assert_int_equal(reads(message, len), bulk_get_SETACL3args(&in, &args));
        if (in.bad)
            continue;
        taken++;
        assert_in_range(args.access.count, 0, NFS_ACL_MAX_ENTRIES);
        for (uint32_t i = 0; i < args.access.count; i++) {
            aclent entry = bulk_acl_entry(&args.access, i);

            assert_in_range(entry.perm, 0, 7);
            assert_true(entry.type <= NFS_ACL_OTHER_OBJ && (entry.type & (entry.type - 1)) == 0 && entry.type != 0);
        }
    }
    assert_in_range(taken, ROUNDS, 99 * ROUNDS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(getacl_is_a_handle_and_a_mask),
        cmocka_unit_test(setacl_is_a_handle_a_mask_and_two_lists),
        cmocka_unit_test(a_message_cut_short_anywhere_cannot_be_read),
        cmocka_unit_test(a_list_that_the_mask_does_not_name_is_empty),
        cmocka_unit_test(a_list_has_as_many_entries_as_it_announces_and_at_most_1024),
        cmocka_unit_test(a_mask_has_four_bits),
        cmocka_unit_test(an_entry_has_a_known_type_three_bits_and_somebody_it_names),
        cmocka_unit_test(a_mask_entry_keeps_three_bits_of_what_it_has),
        cmocka_unit_test(random_arguments_are_what_rpcgen_wrote),
        cmocka_unit_test(whatever_is_read_is_well_formed),
    };

    return cmocka_run_group_tests_name("bulk_acl", tests, NULL, NULL);
}
