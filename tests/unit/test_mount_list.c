/* tests/unit/test_mount_list.c - the MOUNT list: one entry for each host and path, bounded, kept over a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/mount_list.h"
#include "server/state.h"

#define THREADS 4
#define ROUNDS 500
#define FLOOD 200000

/* The list as one line: "HOST:PATH HOST:PATH", oldest first. */
struct line {
    char text[4096];
    size_t count;
};

static void
append(void *context, const char *host, const char *path, size_t path_len)
{
    struct line *line = context;
    size_t used = strlen(line->text);

    snprintf(line->text + used, sizeof(line->text) - used, "%s%s:%.*s", line->count++ > 0 ? " " : "", host,
             (int)path_len, path);
}

static void
assert_list(struct mount_list *list, const char *want)
{
    struct line line = { .text = "" };

    mount_list_walk(list, append, &line);
    assert_string_equal(line.text, want);
}

static struct mount_list *
list_of(size_t max)
{
    struct mount_list *list;

    assert_int_equal(mount_list_new(max, NULL, &list), 0);
    return list;
}

static void
add(struct mount_list *list, const char *host, const char *path)
{
    mount_list_add(list, host, path, strlen(path));
}

static void
mounting_twice_is_one_entry_and_the_newest(void **state)
{
    struct mount_list *list = list_of(10);

    (void)state;
    add(list, "10.0.0.1", "/a");
    add(list, "10.0.0.2", "/a");
    add(list, "10.0.0.1", "/a");
    assert_list(list, "10.0.0.2:/a 10.0.0.1:/a");
    mount_list_free(list);
}

static void
unmounting_removes_just_that_path_of_that_host(void **state)
{
    struct mount_list *list = list_of(10);

    (void)state;
    add(list, "10.0.0.1", "/a");
    add(list, "10.0.0.1", "/a/b");
    add(list, "10.0.0.2", "/a");
    mount_list_remove(list, "10.0.0.1", "/a", 2);
    assert_list(list, "10.0.0.1:/a/b 10.0.0.2:/a");
    mount_list_remove(list, "10.0.0.1", "/never", 6);
    mount_list_remove(list, "10.0.0.9", "/a", 2);
    assert_list(list, "10.0.0.1:/a/b 10.0.0.2:/a");
    mount_list_free(list);
}

static void
unmounting_all_removes_one_host(void **state)
{
    struct mount_list *list = list_of(10);

    (void)state;
    add(list, "10.0.0.1", "/a");
    add(list, "10.0.0.2", "/a");
    add(list, "10.0.0.1", "/b");
    mount_list_remove_host(list, "10.0.0.1");
    assert_list(list, "10.0.0.2:/a");
    mount_list_free(list);
}

static void
the_oldest_is_forgotten_when_the_list_is_full(void **state)
{
    struct mount_list *list = list_of(2);

    (void)state;
    add(list, "10.0.0.1", "/a");
    add(list, "10.0.0.2", "/a");
    add(list, "10.0.0.3", "/a");
    assert_list(list, "10.0.0.2:/a 10.0.0.3:/a");
    mount_list_free(list);
}

static void
a_list_of_no_entries_stays_empty(void **state)
{
    struct mount_list *list = list_of(0);

    (void)state;
    add(list, "10.0.0.1", "/a");
    assert_list(list, "");
    mount_list_free(list);
}

static void
the_list_survives_a_restart_with_any_bytes_in_its_paths(void **state)
{
    char dir[] = "/tmp/ringnfs-mounts.XXXXXX";
    char file[64], key[64], error[512];
    struct state *kept;
    struct mount_list *list = list_of(10);

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(state_open(dir, &kept, error, sizeof(error)), 0);
    add(list, "10.0.0.1", "/a b\n\xff");
    add(list, "::1", "/");
    assert_int_equal(mount_list_save(list, kept), 0);
    mount_list_free(list);
    assert_int_equal(mount_list_new(10, kept, &list), 0);
    assert_list(list, "10.0.0.1:/a b\n\xff ::1:/");
    mount_list_free(list);
    assert_int_equal(mount_list_new(1, kept, &list), 0);
    assert_list(list, "::1:/");
    mount_list_free(list);
    state_close(kept);
    snprintf(file, sizeof(file), "%s/mounts", dir);
    snprintf(key, sizeof(key), "%s/handle-key", dir);
    unlink(file);
    unlink(key);
    rmdir(dir);
}

static void *
mount_and_unmount(void *arg)
{
    struct mount_list *list = arg;
    char host[32];

    snprintf(host, sizeof(host), "%lx", (unsigned long)pthread_self());
    for (int i = 0; i < ROUNDS; i++) {
        add(list, host, i % 2 == 0 ? "/even" : "/odd");
        if (i % 10 == 9)
            mount_list_remove_host(list, host);
    }
    return NULL;
}

static void
any_number_of_threads_may_use_it(void **state)
{
    struct mount_list *list = list_of(3);
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, mount_and_unmount, list), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_list(list, "");
    mount_list_free(list);
}

/* Going through the list for each would take hours, and the test be ended from outside. */
static void
a_flood_of_mounts_of_a_long_list_comes_to_an_end(void **state)
{
    struct mount_list *list = list_of(FLOOD);
    char path[32];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < FLOOD; i++) {
            snprintf(path, sizeof(path), "/export/%d", i);
            add(list, i % 2 == 0 ? "10.0.0.1" : "10.0.0.2", path);
        }
        assert_int_equal(mount_list_count(list), FLOOD);
    }
    for (int i = 0; i < FLOOD; i += 2) {
        snprintf(path, sizeof(path), "/export/%d", i);
        mount_list_remove(list, "10.0.0.1", path, strlen(path));
    }
    assert_int_equal(mount_list_count(list), FLOOD / 2);
    mount_list_remove_host(list, "10.0.0.2");
    assert_int_equal(mount_list_count(list), 0);
    mount_list_free(list);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounting_twice_is_one_entry_and_the_newest),
        cmocka_unit_test(unmounting_removes_just_that_path_of_that_host),
        cmocka_unit_test(unmounting_all_removes_one_host),
        cmocka_unit_test(the_oldest_is_forgotten_when_the_list_is_full),
        cmocka_unit_test(a_list_of_no_entries_stays_empty),
        cmocka_unit_test(the_list_survives_a_restart_with_any_bytes_in_its_paths),
        cmocka_unit_test(any_number_of_threads_may_use_it),
        cmocka_unit_test(a_flood_of_mounts_of_a_long_list_comes_to_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
