/* tests/unit/test_principals.c - users by their names, as this machine knows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/principals.h"

static void
root_is_found_by_name(void **state)
{
    uint32_t uid = 7, gid = 7;

    (void)state;
    assert_int_equal(principals_libc.find(NULL, "root", &uid, &gid), 0);
    assert_int_equal(uid, 0);
    assert_int_equal(gid, 0);
}

static void
a_name_that_nobody_has_is_an_answer(void **state)
{
    static const char *const names[] = { "no-such-user-here", "", "root/admin", "nfs/client.example.org" };
    uint32_t uid, gid;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uid = gid = 7;
        assert_int_equal(principals_libc.find(NULL, names[i], &uid, &gid), 0);
        assert_int_equal(uid, UINT32_MAX);
        assert_int_equal(gid, UINT32_MAX);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_is_found_by_name),
        cmocka_unit_test(a_name_that_nobody_has_is_an_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
