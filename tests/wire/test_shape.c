/*
 * tests/wire/test_shape.c - the tables that say what arguments and results are made of, against rpcgen's codecs: what
 * those write is walked to its last byte, comes out the same when it is written value by value, and when it has been JSON
 * in between.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/seen_json.h"
#include "tests/lib/bulk_rows.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/shape.h"

#define SEED 20261130
#define ROUNDS 400
#define MESSAGE_MAX (1 << 20)
#define ERROR_MAX 256

static uint8_t message[MESSAGE_MAX], again[MESSAGE_MAX];

static size_t
encode(xdrproc_t codec, void *value)
{
    size_t len;
    XDR xdrs;

    xdrmem_create(&xdrs, (char *)message, sizeof(message), XDR_ENCODE);
    assert_true(codec(&xdrs, value));
    len = xdr_getpos(&xdrs);
    XDR_DESTROY(&xdrs);
    return len;
}

/* "READ3args" and "READ3res" are of READ. */
static const struct shape_proc *
proc_of(const char *type)
{
    char name[32];
    int number;

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(type, "3"), type);
    number = shape_proc_number(NFS_PROGRAM, NFS_V3, name);
    if (number < 0)
        fail_msg("there is no procedure %s", name);
    return shape_proc(NFS_PROGRAM, NFS_V3, (uint32_t)number);
}

static bool
put_again(void *context, const struct shape *shape, const struct shape_value *value)
{
    shape_put(context, shape, value);
    return true;
}

static bool
walk(const struct shape *shape, const uint8_t *bytes, size_t len, struct wire_out *out)
{
    static const struct shape_visitor visitor = { .value = put_again };
    struct wire_in in = { bytes, bytes + len, false };

    return shape_walk(shape, &in, &visitor, out) && in.p == in.end;
}

static void
assert_walked(const char *type, const struct shape *shape, size_t len)
{
    struct wire_out out = { again, again + sizeof(again), false };

    if (!walk(shape, message, len, &out))
        fail_msg("%s: it is taken for something else", type);
    bytes_assert_same(type, again, (size_t)(out.p - again), message, len);
}

static void
assert_json_keeps(const char *type, const struct shape *shape, size_t len)
{
    struct wire_out out = { again, again + sizeof(again), false };
    json_t *object = seen_json_pack(shape, message, len, true), *read;
    char error[ERROR_MAX] = "", *text;

    assert_non_null(object);
    if (json_object_get(object, "raw") != NULL)
        fail_msg("%s: it is taken for something else", type);
    text = json_dumps(object, JSON_COMPACT);
    assert_non_null(text);
    read = json_loads(text, JSON_ALLOW_NUL, NULL);
    assert_non_null(read);
    if (seen_json_unpack(shape, read, &out, error, sizeof(error)) < 0)
        fail_msg("%s: %s in %s", type, error, text);
    bytes_assert_same(type, again, (size_t)(out.p - again), message, len);
    json_decref(read);
    json_decref(object);
    free(text);
}

static void
for_each_row(void (*check)(const char *type, const struct shape *shape, size_t len))
{
    union args args;
    union res res;

    bulk_random = bytes_random_seed(SEED);
    for (size_t i = 0; i < args_rows_count; i++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            bulk_make_args(&args_rows[i], &args);
            check(args_rows[i].name, proc_of(args_rows[i].name)->args, encode(args_rows[i].oracle, &args));
        }
    for (size_t i = 0; i < res_rows_count; i++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            memset(&res, 0, sizeof(res));
            bulk_make_res(&res_rows[i], &res);
            check(res_rows[i].name, proc_of(res_rows[i].name)->results, encode(res_rows[i].oracle, &res));
        }
}

static void
what_rpcgen_writes_is_walked_to_its_last_byte(void **state)
{
    (void)state;
    for_each_row(assert_walked);
}

static void
what_has_been_json_is_the_same_again(void **state)
{
    (void)state;
    for_each_row(assert_json_keeps);
}

static void
assert_no_prefix(const char *type, const struct shape *shape, size_t len)
{
    for (size_t cut = 0; cut < len; cut += 1 + len / 64) {
        struct wire_out out = { again, again + sizeof(again), false };
        uint8_t *copy = malloc(cut + 1);

        assert_non_null(copy);
        memcpy(copy, message, cut);
        if (walk(shape, copy, cut, &out))
            fail_msg("%s: %zu of its %zu bytes are taken for all", type, cut, len);
        free(copy);
    }
}

static void
a_message_that_is_cut_is_noticed(void **state)
{
    (void)state;
    for_each_row(assert_no_prefix);
}

static void
a_name_that_is_no_text_survives_json(void **state)
{
    static const uint8_t name[] = { 'a', 0xff, '\\', 0, '"' };
    LOOKUP3args args = { { { 3, (char []){ 1, 2, 3 } }, { sizeof(name), (char *)(uintptr_t)name } } };

    (void)state;
    assert_json_keeps("LOOKUP3args", proc_of("LOOKUP3args")->args, encode((xdrproc_t)xdr_LOOKUP3args, &args));
    args.what.name.filename3_len = 1;
    args.what.name.filename3_val = "\0";
    assert_json_keeps("LOOKUP3args", proc_of("LOOKUP3args")->args, encode((xdrproc_t)xdr_LOOKUP3args, &args));
}

static void
bytes_that_fit_no_shape_stay_as_they_are(void **state)
{
    static const uint8_t junk[] = { 0xff, 0xff, 0xff, 0xff, 7 };
    const struct shape *shape = proc_of("READ3args")->args;
    struct wire_out out = { again, again + sizeof(again), false };
    json_t *object = seen_json_pack(shape, junk, sizeof(junk), true);
    char error[ERROR_MAX];

    (void)state;
    assert_string_equal(json_string_value(json_object_get(object, "raw")), "ffffffff07");
    assert_int_equal(seen_json_unpack(shape, object, &out, error, sizeof(error)), 0);
    bytes_assert_same("raw", again, (size_t)(out.p - again), junk, sizeof(junk));
    json_decref(object);
}

static void
json_that_is_of_no_such_shape_is_refused_by_the_field_it_lacks(void **state)
{
    static const struct { const char *json, *field; } wrong[] = {
        { "{}", "\"file\"" },
        { "{\"file\":\"0\"}", "\"file\"" },
        { "{\"file\":\"zz\"}", "\"file\"" },
        { "{\"file\":\"00\",\"offset\":-1}", "\"offset\"" },
        { "{\"file\":\"00\",\"offset\":0,\"count\":4294967296}", "\"count\"" },
        { "{\"file\":\"00\",\"offset\":0,\"count\":1,\"stable\":\"SOMEHOW\"}", "\"stable\"" },
        { "{\"file\":\"00\",\"offset\":0,\"count\":1,\"stable\":0}", "\"data\"" },
        { "{\"raw\":\"abc\"}", "\"raw\"" },
        { "[]", "\"file\"" },
    };
    const struct shape *shape = proc_of("WRITE3args")->args;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct wire_out out = { again, again + sizeof(again), false };
        json_t *object = json_loads(wrong[i].json, 0, NULL);
        char error[ERROR_MAX] = "";

        assert_int_equal(seen_json_unpack(shape, object, &out, error, sizeof(error)), -EINVAL);
        if (strstr(error, wrong[i].field) == NULL)
            fail_msg("%s: \"%s\" says nothing about %s", wrong[i].json, error, wrong[i].field);
        json_decref(object);
    }
}

static void
a_digest_is_no_data(void **state)
{
    const struct shape *shape = proc_of("WRITE3args")->args;
    struct wire_out out = { again, again + sizeof(again), false };
    json_t *object = json_loads("{\"file\":\"00\",\"offset\":0,\"count\":1,\"stable\":0,\"data\":{\"length\":1,"
                                "\"siphash\":\"0123456789abcdef\"}}", 0, NULL);
    char error[ERROR_MAX] = "";

    (void)state;
    assert_int_equal(seen_json_unpack(shape, object, &out, error, sizeof(error)), -ENODATA);
    json_decref(object);
}

static void
every_procedure_that_is_served_has_a_shape(void **state)
{
    static const struct { uint32_t program, version, procedures; } served[] = {
        { NFS_PROGRAM, NFS_V3, 22 }, { 100227, 3, 3 }, { MOUNT_PROGRAM, MOUNT_V3, 6 }, { MOUNT_PROGRAM, MOUNT_V1, 6 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++) {
        for (uint32_t j = 0; j < served[i].procedures; j++) {
            const struct shape_proc *proc = shape_proc(served[i].program, served[i].version, j);

            assert_non_null(proc);
            assert_int_equal(shape_proc_number(served[i].program, served[i].version, proc->name), j);
        }
        assert_null(shape_proc(served[i].program, served[i].version, served[i].procedures));
        assert_int_equal(shape_program_number(shape_program_name(served[i].program)), served[i].program);
    }
    assert_null(shape_proc(NFS_PROGRAM, 4, 1));
    assert_null(shape_program_name(1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rpcgen_writes_is_walked_to_its_last_byte),
        cmocka_unit_test(what_has_been_json_is_the_same_again),
        cmocka_unit_test(a_message_that_is_cut_is_noticed),
        cmocka_unit_test(a_name_that_is_no_text_survives_json),
        cmocka_unit_test(bytes_that_fit_no_shape_stay_as_they_are),
        cmocka_unit_test(json_that_is_of_no_such_shape_is_refused_by_the_field_it_lacks),
        cmocka_unit_test(a_digest_is_no_data),
        cmocka_unit_test(every_procedure_that_is_served_has_a_shape),
    };

    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
