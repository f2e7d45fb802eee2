/* tests/unit/test_ringnfs_cycles.c - a thousand servers one after the other in a process: nothing of them stays. */
#include "tests/lib/embedded_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CYCLES 1000
#define WARM 50                         /* cycles after which what a process keeps for itself is there */
#define KEPT_MAX ((size_t)64 << 10)     /* bytes in use that may be more than then, of all: 70 for each cycle */
#define THREADS_MS 20000                /* the kernel lists a thread for a moment after it has been waited for */

static size_t own_threads;

static void *
do_nothing(void *arg)
{
    return arg;
}

/* Once there has been a second thread: a sanitizer starts one of its own then. */
static int
count_own_threads(void **state)
{
    pthread_t thread;

    (void)state;
    if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
        return -1;
    pthread_join(thread, NULL);
    usleep(100000);
    own_threads = count_entries("/proc/self/task");
    return 0;
}

static size_t
bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static int64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One life, with a call over TCP and one over a socketpair; when the first reply was there, in ns since its beginning. */
static int64_t
live(bool driven)
{
    int64_t began = now_ns(), first;
    struct ringnfs *server = make(MEMORY);
    int fd;

    if (driven)
        must(server, ringnfs_drive(server));
    must(server, ringnfs_start(server));
    if (driven) {
        must(server, ringnfs_process(server));
        ringnfs_free(server);
        return 0;
    }
    fd = connect_to(ringnfs_nfs_port(server));
    assert_true(answers(fd));
    first = now_ns() - began;
    close(fd);
    fd = connect_pair(server);
    assert_int_equal(mount_status(fd, "/x"), 0);
    close(fd);
    ringnfs_free(server);
    return first;
}

static int
compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

    return one < other ? -1 : one > other;
}

static void
must_not_stay(bool driven)
{
    static int64_t first[CYCLES];
    size_t fds = 0, bytes = 0;

    for (int i = 0; i < CYCLES; i++) {
        first[i] = live(driven);
        if (i + 1 != WARM)
            continue;
        fds = count_entries("/proc/self/fd");
        bytes = bytes_in_use();
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_true(bytes_in_use() <= bytes + KEPT_MAX);
    for (int i = 0; i < THREADS_MS / 10 && count_entries("/proc/self/task") > own_threads; i++)
        usleep(10000);
    assert_int_equal(count_entries("/proc/self/task"), own_threads);
    qsort(first, CYCLES, sizeof(first[0]), compare);
    if (!driven)
        print_message("from ringnfs_new() to the first reply: %.2f ms, one in a hundred over %.2f ms\n",
                      (double)first[CYCLES / 2] / 1e6, (double)first[CYCLES - CYCLES / 100] / 1e6);
}

static void
a_thousand_servers_leave_nothing(void **state)
{
    (void)state;
    must_not_stay(false);
}

static void
a_thousand_driven_servers_leave_nothing(void **state)
{
    (void)state;
    must_not_stay(true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_servers_leave_nothing),
        cmocka_unit_test(a_thousand_driven_servers_leave_nothing),
    };

    return cmocka_run_group_tests(tests, count_own_threads, NULL);
}
