/* tests/unit/test_rpc_handed.c - connections on their way to another process, and records that go on there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/handed.h"

static uint8_t *
bytes(const char *text, size_t *len)
{
    *len = strlen(text);
    return (uint8_t *)strdup(text);
}

static void
fill(struct handed_list *list)
{
    static const char *const came[] = { "", "a", "half of a call", "abc" };
    static const char *const waits[] = { "a reply", "", "", "and another" };

    for (size_t i = 0; i < sizeof(came) / sizeof(came[0]); i++) {
        struct handed_conn *conn = handed_add(list);

        assert_non_null(conn);
        assert_int_equal(conn->fd, -1);
        conn->record = (struct record){ .marks = (uint32_t)i, .length = 2, .left = (uint32_t)(3 * i), .last = i % 2 };
        if (came[i][0] != '\0')
            conn->in = bytes(came[i], &conn->in_len);
        if (waits[i][0] != '\0')
            conn->out = bytes(waits[i], &conn->out_len);
    }
}

static void
what_is_saved_is_loaded(void **state)
{
    struct handed_list list = { 0 }, other = { 0 };
    size_t len;
    void *data;

    (void)state;
    fill(&list);
    assert_int_equal(handed_save(&list, &data, &len), 0);
    assert_int_equal(handed_load(&other, data, len), 0);
    assert_int_equal(other.count, list.count);
    for (size_t i = 0; i < list.count; i++) {
        const struct handed_conn *a = &list.conns[i], *b = &other.conns[i];

        assert_int_equal(b->fd, -1);
        assert_int_equal(b->record.marks, a->record.marks);
        assert_int_equal(b->record.length, a->record.length);
        assert_int_equal(b->record.left, a->record.left);
        assert_int_equal(b->record.last, a->record.last);
        assert_int_equal(b->in_len, a->in_len);
        assert_int_equal(b->out_len, a->out_len);
        if (a->in_len > 0)
            assert_memory_equal(b->in, a->in, a->in_len);
        if (a->out_len > 0)
            assert_memory_equal(b->out, a->out, a->out_len);
    }
    free(data);
    handed_fini(&list);
    handed_fini(&other);
}

static void
what_is_cut_short_or_too_long_is_refused(void **state)
{
    struct handed_list list = { 0 };
    uint8_t *data;
    size_t len;

    (void)state;
    fill(&list);
    assert_int_equal(handed_save(&list, (void **)&data, &len), 0);
    data = realloc(data, len + 4);
    assert_non_null(data);
    memset(data + len, 0, 4);
    for (size_t cut = 0; cut < len + 4; cut++) {
        struct handed_list other = { 0 };
        uint8_t *exact = malloc(cut + 1);

        assert_non_null(exact);
        memcpy(exact, data, cut);
        assert_int_equal(handed_load(&other, exact, cut), cut == len ? 0 : -EBADMSG);
        handed_fini(&other);
        free(exact);
    }
    free(data);
    handed_fini(&list);
}

static void
descriptors_that_are_left_are_closed(void **state)
{
    struct handed_list list = { 0 };
    struct handed_conn *conn = handed_add(&list);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    assert_non_null(conn);
    conn->fd = fd;
    handed_fini(&list);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(list.count, 0);
}

/* A stream of two fragments and another record, cut everywhere: the rest is read by another record. */
static void
a_record_goes_on_wherever_it_was_left(void **state)
{
    static const uint8_t stream[] = { 0, 0, 0, 3, 'a', 'b', 'c', 0x80, 0, 0, 2, 'd', 'e', 0x80, 0, 0, 1, 'f' };

    (void)state;
    for (size_t cut = 0; cut < 13; cut++) {
        uint8_t data[sizeof(stream)];
        struct record first, second;
        size_t len = cut, size, used;

        memcpy(data, stream, cut);
        record_init(&first, 100);
        assert_int_equal(record_cut(&first, data, &len, &size, &used), 0);
        record_init(&second, 50);
        assert_true(record_restore(&second, &first, len));
        assert_int_equal(second.max_bytes, 50);
        memcpy(data + len, stream + cut, sizeof(stream) - cut);
        len += sizeof(stream) - cut;
        assert_int_equal(record_cut(&second, data, &len, &size, &used), 1);
        assert_int_equal(size, 5);
        assert_memory_equal(data + RECORD_MARK_BYTES, "abcde", 5);
    }
}

static void
a_record_that_cannot_be_is_refused(void **state)
{
    static const struct { struct record from; size_t held; } wrong[] = {
        { { .marks = 0, .length = 1 }, 100 },           /* bytes of a record that has not begun */
        { { .marks = 0, .left = 1 }, 100 },
        { { .marks = 0, .last = true }, 100 },
        { { .marks = 1, .length = 101 }, 200 },         /* longer than it may get */
        { { .marks = 1, .length = 50, .left = 51 }, 100 },
        { { .marks = 1, .length = 50, .left = UINT32_MAX }, 100 },
        { { .marks = 1, .length = 50, .left = 1 }, 53 },        /* fewer bytes than it says to have */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct record record;

        record_init(&record, 100);
        assert_false(record_restore(&record, &wrong[i].from, wrong[i].held));
        assert_int_equal(record.marks, 0);
        assert_int_equal(record.length, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(what_is_cut_short_or_too_long_is_refused),
        cmocka_unit_test(descriptors_that_are_left_are_closed),
        cmocka_unit_test(a_record_goes_on_wherever_it_was_left),
        cmocka_unit_test(a_record_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
