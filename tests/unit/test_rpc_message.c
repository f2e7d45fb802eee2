/* tests/unit/test_rpc_message.c - call headers: what is read from them, and every reason to refuse one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/message.h"

#define PROG 100003
#define XID 0xfedcba98u

/* A call header whose parts can be spoilt one by one. */
struct header {
    uint32_t type, rpcvers;
    uint32_t cred_flavor, cred_announced;       /* announced: 0 for the true length */
    uint8_t cred[1024];
    size_t cred_len;
    uint32_t verf_flavor, verf_len;
};

static size_t
put_header(const struct header *header, uint8_t *data, size_t size)
{
    struct wire_out out = { data, data + size, false };

    wire_put_u32(&out, XID);
    wire_put_u32(&out, header->type);
    wire_put_u32(&out, header->rpcvers);
    wire_put_u32(&out, PROG);
    wire_put_u32(&out, 3);
    wire_put_u32(&out, 7);
    wire_put_u32(&out, header->cred_flavor);
    wire_put_u32(&out, header->cred_announced != 0 ? header->cred_announced : (uint32_t)header->cred_len);
    wire_put_fixed(&out, header->cred, header->cred_len);
    wire_put_u32(&out, header->verf_flavor);
    wire_put_u32(&out, header->verf_len);
    for (size_t i = 0; i < wire_padded(header->verf_len); i++)
        *wire_put_space(&out, 1) = 0xee;
    assert_false(out.full);
    return (size_t)(out.p - data);
}

static void
put_auth_sys(struct header *header, uint32_t machine_len, uint32_t ngids)
{
    struct wire_out out = { header->cred, header->cred + sizeof(header->cred), false };
    uint8_t machine[512];

    memset(machine, 'm', sizeof(machine));
    wire_put_u32(&out, 12345);
    wire_put_opaque(&out, machine, machine_len);
    wire_put_u32(&out, 1001);
    wire_put_u32(&out, 1002);
    wire_put_u32(&out, ngids);
    for (uint32_t i = 0; i < ngids && i < 64; i++)
        wire_put_u32(&out, 2000 + i);
    assert_false(out.full);
    header->cred_flavor = CALL_AUTH_SYS;
    header->cred_len = (size_t)(out.p - header->cred);
}

static enum message_kind
read_header(struct call *call, const struct header *header, enum call_auth_stat *why)
{
    uint8_t data[2048];
    size_t len = put_header(header, data, sizeof(data));
    uint8_t *copy = malloc(len);                         /* so that a byte too far is noticed */
    enum message_kind kind;

    assert_non_null(copy);
    memcpy(copy, data, len);
    kind = message_read(call, copy, len, why);
    free(copy);
    return kind;
}

static struct header
good_header(void)
{
    struct header header = { .type = 0, .rpcvers = 2 };

    put_auth_sys(&header, 5, 3);
    return header;
}

static void
a_good_header_is_read_whole(void **state)
{
    struct header header = good_header();
    uint8_t data[2048];
    size_t len = put_header(&header, data, sizeof(data));
    enum call_auth_stat why;
    struct call call;

    (void)state;
    memset(data + len, 0, 8);
    assert_int_equal(message_read(&call, data, len + 8, &why), MESSAGE_CALL);
    assert_int_equal(call.xid, XID);
    assert_int_equal(call.prog, PROG);
    assert_int_equal(call.vers, 3);
    assert_int_equal(call.proc, 7);
    assert_int_equal(call.auth.flavor, CALL_AUTH_SYS);
    assert_int_equal(call.auth.uid, 1001);
    assert_int_equal(call.auth.gid, 1002);
    assert_int_equal(call.auth.ngids, 3);
    assert_int_equal(call.auth.gids[2], 2002);
    assert_int_equal(call.auth.machine_len, 5);
    assert_memory_equal(call.auth.machine, "mmmmm", 5);
    assert_ptr_equal(call.args.p, data + len);
    assert_int_equal(wire_left(&call.args), 8);
}

static void
credentials_are_judged_like_this(void **state)
{
    static const struct {
        const char *name;
        uint32_t machine_len, ngids;
        enum message_kind kind;
    } rows[] = {
        { "no machine name, no groups", 0, 0, MESSAGE_CALL },
        { "machine name of 255 bytes", 255, 0, MESSAGE_CALL },
        { "machine name of 256 bytes", 256, 0, MESSAGE_AUTH_ERROR },
        { "machine name of 300 bytes", 300, 0, MESSAGE_AUTH_ERROR },
        { "16 groups", 4, 16, MESSAGE_CALL },
        { "17 groups", 4, 17, MESSAGE_AUTH_ERROR },
        { "2^30 groups", 4, 1u << 30, MESSAGE_AUTH_ERROR },
        { "odd machine name and 16 groups", 255, 16, MESSAGE_CALL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct header header = { .rpcvers = 2 };
        enum call_auth_stat why = CALL_AUTH_OK;
        struct call call;

        print_message("%s\n", rows[i].name);
        put_auth_sys(&header, rows[i].machine_len, rows[i].ngids);
        assert_int_equal(read_header(&call, &header, &why), rows[i].kind);
        assert_int_equal(why, rows[i].kind == MESSAGE_CALL ? CALL_AUTH_OK : CALL_AUTH_BADCRED);
    }
}

static void
a_credential_cut_short_anywhere_is_bad(void **state)
{
    struct header whole = good_header();

    (void)state;
    for (size_t len = 0; len < whole.cred_len; len++) {
        struct header header = whole;
        enum call_auth_stat why = CALL_AUTH_OK;
        struct call call;

        header.cred_len = len;
        assert_int_equal(read_header(&call, &header, &why), MESSAGE_AUTH_ERROR);
        assert_int_equal(why, CALL_AUTH_BADCRED);
    }
}

static void
a_credential_with_bytes_left_over_is_bad(void **state)
{
    struct header header = good_header();
    enum call_auth_stat why = CALL_AUTH_OK;
    struct call call;

    (void)state;
    header.cred_len += 4;
    assert_int_equal(read_header(&call, &header, &why), MESSAGE_AUTH_ERROR);
    assert_int_equal(why, CALL_AUTH_BADCRED);
}

static void
bodies_of_more_than_400_bytes_are_bad_whether_they_are_there_or_not(void **state)
{
    static const uint32_t lengths[] = { 401, 404, 1024, 0x7fffffff, 0x80000000, 0xffffffff };
    enum call_auth_stat why;
    struct call call;

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct header header = good_header();

        header.cred_announced = lengths[i];
        why = CALL_AUTH_OK;
        assert_int_equal(read_header(&call, &header, &why), MESSAGE_AUTH_ERROR);
        assert_int_equal(why, CALL_AUTH_BADCRED);
    }
}

static void
auth_none_is_accepted_and_other_flavors_are_not(void **state)
{
    static const uint32_t flavors[] = { 2, 3, 6, 0x1234, 300001, 0xffffffff };
    struct header header = { .rpcvers = 2 };
    enum call_auth_stat why = CALL_AUTH_OK;
    struct call call;

    (void)state;
    assert_int_equal(read_header(&call, &header, &why), MESSAGE_CALL);
    assert_int_equal(call.auth.flavor, CALL_AUTH_NONE);
    for (size_t i = 0; i < sizeof(flavors) / sizeof(flavors[0]); i++) {
        header.cred_flavor = flavors[i];
        header.cred_len = 16;
        assert_int_equal(read_header(&call, &header, &why), MESSAGE_AUTH_ERROR);
        assert_int_equal(why, CALL_AUTH_BADCRED);
    }
}

static void
put_gss(struct header *header, uint32_t proc)
{
    struct wire_out out = { header->cred, header->cred + sizeof(header->cred), false };

    *header = (struct header){ .rpcvers = 2, .cred_flavor = GSS_FLAVOR };
    wire_put_u32(&out, 1);
    wire_put_u32(&out, proc);
    wire_put_u32(&out, 77);
    wire_put_u32(&out, GSS_SERVICE_INTEGRITY);
    wire_put_opaque(&out, "abc", 3);
    header->cred_len = (size_t)(out.p - header->cred);
}

static void
a_header_of_rpcsec_gss_says_what_is_signed_and_by_what(void **state)
{
    enum call_auth_stat why;
    struct header header;
    uint8_t data[2048];
    struct call call;
    size_t len;

    (void)state;
    put_gss(&header, GSS_PROC_DATA);
    header.verf_flavor = GSS_FLAVOR;
    header.verf_len = 28;
    len = put_header(&header, data, sizeof(data));
    assert_int_equal(message_read(&call, data, len, &why), MESSAGE_CALL);
    assert_int_equal(call.auth.flavor, CALL_AUTH_GSS);
    assert_int_equal(call.gss_header.cred.seq, 77);
    assert_int_equal(call.gss_header.cred.service, GSS_SERVICE_INTEGRITY);
    assert_ptr_equal(call.gss_header.signed_bytes, data);
    assert_int_equal(call.gss_header.signed_len, len - 8 - 28);
    assert_ptr_equal(call.gss_header.verifier, data + len - 28);
    assert_int_equal(call.gss_header.verifier_len, 28);
    assert_int_equal(wire_left(&call.args), 0);
}

static void
the_verifier_of_rpcsec_gss_is_a_checksum_once_there_is_a_context(void **state)
{
    static const struct { uint32_t proc, flavor; } good[] = {
        { GSS_PROC_DATA, GSS_FLAVOR }, { GSS_PROC_DESTROY, GSS_FLAVOR }, { GSS_PROC_INIT, CALL_AUTH_NONE },
        { GSS_PROC_CONTINUE_INIT, CALL_AUTH_NONE },
    };
    enum call_auth_stat why;
    struct header header;
    struct call call;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        put_gss(&header, good[i].proc);
        for (header.verf_flavor = 0; header.verf_flavor < 8; header.verf_flavor++) {
            why = CALL_AUTH_OK;
            if (header.verf_flavor == good[i].flavor) {
                assert_int_equal(read_header(&call, &header, &why), MESSAGE_CALL);
                continue;
            }
            assert_int_equal(read_header(&call, &header, &why), MESSAGE_AUTH_ERROR);
            assert_int_equal(why, CALL_AUTH_BADVERF);
        }
    }
}

static void
the_verifier_is_none_and_its_content_ignored(void **state)
{
    struct header header = good_header();
    enum call_auth_stat why = CALL_AUTH_OK;
    struct call call;

    (void)state;
    header.verf_len = 9;
    assert_int_equal(read_header(&call, &header, &why), MESSAGE_CALL);
    assert_int_equal(wire_left(&call.args), 0);
    for (uint32_t flavor = 1; flavor < 7; flavor++) {
        header.verf_flavor = flavor;
        assert_int_equal(read_header(&call, &header, &why), MESSAGE_AUTH_ERROR);
        assert_int_equal(why, CALL_AUTH_BADVERF);
    }
}

static void
other_versions_of_rpc_are_a_mismatch(void **state)
{
    static const uint32_t versions[] = { 0, 1, 3, 0xffffffff };
    enum call_auth_stat why;
    struct call call;

    (void)state;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        struct header header = good_header();

        header.rpcvers = versions[i];
        assert_int_equal(read_header(&call, &header, &why), MESSAGE_RPC_MISMATCH);
        assert_int_equal(call.xid, XID);
    }
}

static void
replies_and_unknown_types_are_told_apart(void **state)
{
    struct header header = good_header();
    enum call_auth_stat why;
    struct call call;

    (void)state;
    header.type = 1;
    assert_int_equal(read_header(&call, &header, &why), MESSAGE_REPLY);
    header.type = 2;
    assert_int_equal(read_header(&call, &header, &why), MESSAGE_UNREADABLE);
}

/* xid to procedure are 24 bytes; what follows is credential and verifier. */
static void
a_header_cut_at_any_byte_is_unreadable_or_garbage(void **state)
{
    struct header header = good_header();
    uint8_t data[2048];
    size_t whole = put_header(&header, data, sizeof(data));

    (void)state;
    for (size_t len = 0; len < whole; len++) {
        uint8_t *copy = malloc(len + 1);
        enum call_auth_stat why;
        struct call call;

        assert_non_null(copy);
        memcpy(copy + 1, data, len);                     /* unaligned as well */
        assert_int_equal(message_read(&call, copy + 1, len, &why), len < 24 ? MESSAGE_UNREADABLE : MESSAGE_GARBAGE);
        free(copy);
    }
}

static void
reply_headers_are_these_bytes(void **state)
{
    static const uint8_t success[] = { 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
    static const uint8_t unavail[] = { 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    static const uint8_t mismatch[] = { 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                                        0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4 };
    static const uint8_t rpc[] = { 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2 };
    static const uint8_t auth[] = { 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3 };
    static const uint8_t verified[] = { 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 5, 'c', 'h', 'e', 'c',
                                        'k', 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4 };
    uint8_t data[MESSAGE_REFUSED_MAX + 8];

    (void)state;
    assert_ptr_equal(message_put_success(data, 9), data + MESSAGE_ACCEPTED_BYTES);
    assert_memory_equal(data, success, sizeof(success));
    assert_ptr_equal(message_put_error(data, 9, CALL_PROG_UNAVAIL, 3, 4), data + sizeof(unavail));
    assert_memory_equal(data, unavail, sizeof(unavail));
    assert_ptr_equal(message_put_error(data, 9, CALL_PROG_MISMATCH, 3, 4), data + sizeof(mismatch));
    assert_memory_equal(data, mismatch, sizeof(mismatch));
    assert_ptr_equal(message_put_rpc_mismatch(data, 9), data + sizeof(rpc));
    assert_memory_equal(data, rpc, sizeof(rpc));
    assert_ptr_equal(message_put_auth_error(data, 9, CALL_AUTH_BADVERF), data + sizeof(auth));
    assert_memory_equal(data, auth, sizeof(auth));
    memset(data, 0xee, sizeof(data));
    assert_ptr_equal(message_put_verified(data, 9, CALL_PROG_MISMATCH, 3, 4, (const uint8_t *)"check", 5),
                     data + sizeof(verified));
    assert_memory_equal(data, verified, sizeof(verified));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_header_is_read_whole),
        cmocka_unit_test(credentials_are_judged_like_this),
        cmocka_unit_test(a_credential_cut_short_anywhere_is_bad),
        cmocka_unit_test(a_credential_with_bytes_left_over_is_bad),
        cmocka_unit_test(bodies_of_more_than_400_bytes_are_bad_whether_they_are_there_or_not),
        cmocka_unit_test(auth_none_is_accepted_and_other_flavors_are_not),
        cmocka_unit_test(a_header_of_rpcsec_gss_says_what_is_signed_and_by_what),
        cmocka_unit_test(the_verifier_of_rpcsec_gss_is_a_checksum_once_there_is_a_context),
        cmocka_unit_test(the_verifier_is_none_and_its_content_ignored),
        cmocka_unit_test(other_versions_of_rpc_are_a_mismatch),
        cmocka_unit_test(replies_and_unknown_types_are_told_apart),
        cmocka_unit_test(a_header_cut_at_any_byte_is_unreadable_or_garbage),
        cmocka_unit_test(reply_headers_are_these_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
