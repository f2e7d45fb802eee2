/*
 * tests/unit/test_rpc_gss.c - RPCSEC_GSS without Kerberos: the bytes of credentials, the window of numbers, and the table
 * of contexts, on a clock of the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/gss_message.h"
#include "rpc/gss_table.h"
#include "xdr/wire.h"

#define HANDLE "handle"
#define NEVER UINT64_MAX
#define MANY 5000                       /* numbers that are compared with a plain list of those that have come */

/* ---- Credentials ---- */

static size_t
put_cred(uint8_t *body, size_t size, uint32_t version, uint32_t proc, uint32_t service)
{
    struct wire_out out = { body, body + size, false };

    wire_put_u32(&out, version);
    wire_put_u32(&out, proc);
    wire_put_u32(&out, 0x01020304);
    wire_put_u32(&out, service);
    wire_put_opaque(&out, HANDLE, sizeof(HANDLE) - 1);
    assert_false(out.full);
    return (size_t)(out.p - body);
}

static void
a_good_credential_is_read_whole(void **state)
{
    uint8_t body[64];
    size_t len = put_cred(body, sizeof(body), 1, GSS_PROC_DESTROY, GSS_SERVICE_PRIVACY);
    struct gss_cred cred;

    (void)state;
    assert_int_equal(gss_message_read_cred(&cred, body, len), 0);
    assert_int_equal(cred.proc, GSS_PROC_DESTROY);
    assert_int_equal(cred.service, GSS_SERVICE_PRIVACY);
    assert_int_equal(cred.seq, 0x01020304);
    assert_int_equal(cred.handle_len, sizeof(HANDLE) - 1);
    assert_memory_equal(cred.handle, HANDLE, sizeof(HANDLE) - 1);
}

static void
other_versions_procedures_and_services_are_none(void **state)
{
    static const uint32_t wrong[][3] = { { 0, 0, 1 }, { 2, 0, 1 }, { 1, 4, 1 }, { 1, UINT32_MAX, 1 }, { 1, 0, 0 },
                                         { 1, 0, 4 }, { 1, 0, UINT32_MAX } };
    struct gss_cred cred;
    uint8_t body[64];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_true(gss_message_read_cred(&cred, body, put_cred(body, sizeof(body), wrong[i][0], wrong[i][1],
                                                                wrong[i][2])) < 0);
}

static void
a_credential_ends_where_it_says(void **state)
{
    uint8_t body[64], *cut;
    size_t len = put_cred(body, sizeof(body), 1, 0, 1);
    struct gss_cred cred;

    (void)state;
    for (size_t n = 0; n < len; n++) {
        cut = malloc(n + 1);                             /* so that a byte too far is noticed */
        assert_non_null(cut);
        memcpy(cut, body, n);
        assert_true(gss_message_read_cred(&cred, cut, n) < 0);
        free(cut);
    }
    assert_true(gss_message_read_cred(&cred, body, len + 4) < 0);
}

/* ---- Numbers ---- */

static void
each_number_is_taken_once(void **state)
{
    struct gss_window window = { 0 };

    (void)state;
    assert_true(gss_window_take(&window, 5));
    assert_false(gss_window_take(&window, 5));
    assert_true(gss_window_take(&window, 4));
    assert_true(gss_window_take(&window, 0));
    assert_false(gss_window_take(&window, 4));
    assert_true(gss_window_take(&window, 6));
    assert_false(gss_window_take(&window, 5));
    assert_false(gss_window_take(&window, 0));
}

static void
the_last_one_in_the_window_is_taken_and_the_one_below_is_not(void **state)
{
    struct gss_window window = { 0 };

    (void)state;
    assert_true(gss_window_take(&window, 1000));
    assert_true(gss_window_take(&window, 1000 - (GSS_WINDOW - 1)));
    assert_false(gss_window_take(&window, 1000 - GSS_WINDOW));
    assert_true(gss_window_take(&window, 1001));
    assert_false(gss_window_take(&window, 1001 - GSS_WINDOW));
    assert_true(gss_window_take(&window, 1001 - GSS_WINDOW + 1));
}

static void
a_leap_forgets_what_came_before(void **state)
{
    static const uint32_t leaps[] = { 1, 63, 64, 65, 127, 128, 129, 1 << 20, GSS_MAXSEQ - 1000 };

    (void)state;
    for (size_t i = 0; i < sizeof(leaps) / sizeof(leaps[0]); i++) {
        struct gss_window window = { 0 };

        assert_true(gss_window_take(&window, 1000));
        assert_true(gss_window_take(&window, 999));
        assert_true(gss_window_take(&window, 1000 + leaps[i]));
        assert_false(gss_window_take(&window, 1000));
        assert_false(gss_window_take(&window, 999));
        if (leaps[i] > 1)
            assert_true(gss_window_take(&window, 1000 + leaps[i] - 1));
    }
}

static void
any_order_is_as_a_plain_list_has_it(void **state)
{
    static bool seen[2 * MANY];
    struct gss_window window = { 0 };
    uint32_t highest = 0, seq, random = 1;
    bool fresh;

    (void)state;
    for (unsigned i = 0; i < 4 * MANY; i++) {
        random = random * 1103515245 + 12345;
        seq = i / 4 + (random >> 16) % 300;
        fresh = !seen[seq] && (i == 0 || seq > highest || highest - seq < GSS_WINDOW);
        assert_int_equal(gss_window_take(&window, seq), fresh);
        seen[seq] = seen[seq] || fresh;
        highest = fresh && seq > highest ? seq : highest;
    }
}

/* ---- Contexts ---- */

static uint64_t now;
static unsigned released;

static uint64_t
clock_ms(void)
{
    return now;
}

static void
count_release(void *security)
{
    (void)security;
    released++;
}

static const struct gss_mech counting = { .release = count_release };

static struct gss_table *
table_of(uint32_t entries)
{
    struct gss_table *table;

    now = 1000;
    released = 0;
    assert_int_equal(gss_table_new(entries, clock_ms, &table), 0);
    return table;
}

/* One more, which only the table holds; its handle is stored. */
static void
add(struct gss_table *table, uint64_t expires_ms, uint8_t handle[GSS_HANDLE_BYTES])
{
    struct gss_context *context = gss_context_new(&counting);

    assert_non_null(context);
    context->expires_ms = expires_ms;
    gss_table_add(table, context);
    memcpy(handle, context->handle, GSS_HANDLE_BYTES);
    gss_context_put(context);
}

static bool
has(struct gss_table *table, const uint8_t *handle)
{
    struct gss_context *context = gss_table_find(table, handle, GSS_HANDLE_BYTES);

    gss_context_put(context);
    return context != NULL;
}

static void
a_context_is_found_by_its_handle_alone(void **state)
{
    struct gss_table *table = table_of(16);
    uint8_t handle[GSS_HANDLE_BYTES], other[GSS_HANDLE_BYTES];

    (void)state;
    add(table, NEVER, handle);
    add(table, NEVER, other);
    assert_memory_not_equal(handle, other, GSS_HANDLE_BYTES);
    assert_true(has(table, handle));
    for (size_t i = 0; i < GSS_HANDLE_BYTES; i++) {
        handle[i] ^= 0x80;
        assert_false(has(table, handle));
        handle[i] ^= 0x80;
    }
    assert_null(gss_table_find(table, handle, GSS_HANDLE_BYTES - 1));
    assert_null(gss_table_find(table, handle, 0));
    gss_table_free(table);
    assert_int_equal(released, 2);
}

static void
a_context_that_has_expired_is_gone(void **state)
{
    struct gss_table *table = table_of(16);
    uint8_t handle[GSS_HANDLE_BYTES];
    uint64_t contexts, evicted;

    (void)state;
    add(table, 2000, handle);
    now = 1999;
    assert_true(has(table, handle));
    now = 2000;
    assert_false(has(table, handle));
    assert_int_equal(released, 1);
    gss_table_count(table, &contexts, &evicted);
    assert_int_equal(contexts, 0);
    assert_int_equal(evicted, 0);
    gss_table_free(table);
}

static void
the_one_used_least_recently_makes_room(void **state)
{
    struct gss_table *table = table_of(3);
    uint8_t handles[4][GSS_HANDLE_BYTES];
    uint64_t contexts, evicted;

    (void)state;
    for (int i = 0; i < 3; i++)
        add(table, NEVER, handles[i]);
    assert_true(has(table, handles[0]));
    add(table, NEVER, handles[3]);
    assert_true(has(table, handles[0]));
    assert_false(has(table, handles[1]));
    assert_true(has(table, handles[2]));
    assert_true(has(table, handles[3]));
    gss_table_count(table, &contexts, &evicted);
    assert_int_equal(contexts, 3);
    assert_int_equal(evicted, 1);
    gss_table_free(table);
    assert_int_equal(released, 4);
}

static void
there_are_never_more_than_there_is_room_for(void **state)
{
    static const uint32_t rooms[] = { 16, 64, 100, 1000, 4097 };
    uint8_t handle[GSS_HANDLE_BYTES];
    uint64_t contexts, evicted;

    (void)state;
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        struct gss_table *table = table_of(rooms[i]);

        for (uint32_t n = 0; n < 2 * rooms[i]; n++) {
            add(table, NEVER, handle);
            assert_true(has(table, handle));
        }
        gss_table_count(table, &contexts, &evicted);
        assert_int_equal(contexts, rooms[i]);
        assert_int_equal(evicted, rooms[i]);
        gss_table_free(table);
        assert_int_equal(released, 2 * rooms[i]);
    }
}

static void
a_context_that_is_held_outlives_its_place(void **state)
{
    struct gss_table *table = table_of(16);
    struct gss_context *context;
    uint8_t handle[GSS_HANDLE_BYTES];

    (void)state;
    add(table, NEVER, handle);
    context = gss_table_find(table, handle, GSS_HANDLE_BYTES);
    assert_non_null(context);
    gss_table_remove(table, context);
    gss_table_remove(table, context);
    assert_false(has(table, handle));
    assert_int_equal(released, 0);
    gss_context_put(context);
    assert_int_equal(released, 1);
    gss_table_free(table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_credential_is_read_whole),
        cmocka_unit_test(other_versions_procedures_and_services_are_none),
        cmocka_unit_test(a_credential_ends_where_it_says),
        cmocka_unit_test(each_number_is_taken_once),
        cmocka_unit_test(the_last_one_in_the_window_is_taken_and_the_one_below_is_not),
        cmocka_unit_test(a_leap_forgets_what_came_before),
        cmocka_unit_test(any_order_is_as_a_plain_list_has_it),
        cmocka_unit_test(a_context_is_found_by_its_handle_alone),
        cmocka_unit_test(a_context_that_has_expired_is_gone),
        cmocka_unit_test(the_one_used_least_recently_makes_room),
        cmocka_unit_test(there_are_never_more_than_there_is_room_for),
        cmocka_unit_test(a_context_that_is_held_outlives_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
