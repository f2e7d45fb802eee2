/* tests/unit/test_cpus.c - lists of CPUs: how they are read, and which of them this process may use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "server/cpus.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
lists_are_taken(void **state)
{
    static const char *const lists[] = { "off", "auto", "0", "1023", "0-3", "0-3,6", "6,0-3", "2-2", "1,3,5-1000" };
    char error[160];

    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++)
        if (cpus_check(lists[i], error, sizeof(error)) != 0)
            fail_msg("%s: %s", lists[i], error);
}

static void
what_is_no_list_is_named(void **state)
{
    static const struct { const char *text, *want; } rows[] = {
        { "", " is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "all", "all is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "0-", "0- is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "-3", "-3 is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "0,", "0, is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "0;1", "0;1 is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "0-3-5", "0-3-5 is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "0 1", "0 1 is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "1024", "1024 is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "99999999999999999999", "99999999999999999999 is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "3-1", "3-1 has a range that ends before it begins" },
        { "0-3,2", "0-3,2 names a CPU twice" },
    };
    char error[160];

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(cpus_check(rows[i].text, error, sizeof(error)), -EINVAL);
        assert_string_equal(error, rows[i].want);
    }
}

static void
off_is_no_cpu_and_auto_all_that_may_be_used(void **state)
{
    struct cpus cpus;
    char error[160];
    cpu_set_t mine;

    (void)state;
    assert_int_equal(cpus_choose("off", &cpus, error, sizeof(error)), 0);
    assert_int_equal(cpus.count, 0);
    assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
    assert_int_equal(cpus_choose("auto", &cpus, error, sizeof(error)), 0);
    assert_int_equal(cpus.count, CPU_COUNT(&mine));
    assert_int_equal(cpus.count, cpus_usable());
    for (unsigned i = 0; i < cpus.count; i++)
        assert_true(CPU_ISSET(cpus.list[i], &mine));
}

static void
a_cpu_that_may_not_be_used_is_refused(void **state)
{
    char first[16], error[160], want[160];
    cpu_set_t mine, one;
    struct cpus cpus;
    unsigned cpu = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
    while (!CPU_ISSET(cpu, &mine))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    snprintf(first, sizeof(first), "%u", cpu);
    assert_int_equal(cpus_choose(first, &cpus, error, sizeof(error)), 0);
    assert_int_equal(cpus.count, 1);
    assert_int_equal(cpus.list[0], cpu);
    snprintf(want, sizeof(want), "CPU 1000 is none that this process may use (those are %u)", cpu);
    assert_int_equal(cpus_choose("1000", &cpus, error, sizeof(error)), -ENODEV);
    assert_string_equal(error, want);
    assert_int_equal(sched_setaffinity(0, sizeof(mine), &mine), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_taken),
        cmocka_unit_test(what_is_no_list_is_named),
        cmocka_unit_test(off_is_no_cpu_and_auto_all_that_may_be_used),
        cmocka_unit_test(a_cpu_that_may_not_be_used_is_refused),
    };

    return cmocka_run_group_tests_name("cpus", tests, NULL, NULL);
}
