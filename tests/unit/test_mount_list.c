/* tests/unit/test_mount_list.c - the MOUNT list: one entry for each host and path, bounded, kept over a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/mount_list.h"
#include "server/state.h"

#define THREADS 4
#define ROUNDS 500
#define FLOOD 200000
#define LONG_LIST 70000
#define ERROR_MAX 512

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

    assert_int_equal(mount_list_new(max, &list), 0);
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

/* A state directory of a test's own. */
struct place {
    char dir[64], file[96], key[96];
    struct state *state;
};

static void
make_place(struct place *place)
{
    char error[ERROR_MAX];

    strcpy(place->dir, "/tmp/ringnfs-mounts.XXXXXX");
    assert_non_null(mkdtemp(place->dir));
    snprintf(place->file, sizeof(place->file), "%s/mounts", place->dir);
    snprintf(place->key, sizeof(place->key), "%s/handle-key", place->dir);
    assert_int_equal(state_open(place->dir, &place->state, error, sizeof(error)), 0);
}

/* Nothing may be there but the key and the list. */
static void
remove_place(struct place *place)
{
    state_close(place->state);
    unlink(place->file);
    unlink(place->key);
    assert_int_equal(rmdir(place->dir), 0);
}

static void
must_save(struct mount_list *list, const struct place *place)
{
    char error[ERROR_MAX] = "";

    if (mount_list_save(list, place->state, error, sizeof(error)) != 0)
        fail_msg("%s", error);
}

static struct mount_list *
must_load(size_t max, const struct place *place)
{
    struct mount_list *list = list_of(max);
    char error[ERROR_MAX] = "";

    if (mount_list_load(list, place->state, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    return list;
}

/* Room for `size` bytes; returns how many there are. */
static size_t
read_list_file(const struct place *place, char *data, size_t size)
{
    int fd = open(place->file, O_RDONLY);
    ssize_t n = read(fd, data, size);

    assert_true(fd >= 0 && n >= 0 && (size_t)n < size);
    close(fd);
    return (size_t)n;
}

static void
write_list_file(const struct place *place, const char *data, size_t len)
{
    int fd = open(place->file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

/* What is there is neither read nor written over, and the reason names it. */
static void
assert_left_alone(const struct place *place, int want, const char *why)
{
    struct mount_list *list = list_of(10);
    char error[ERROR_MAX] = "", again[ERROR_MAX] = "";
    struct stat before, after;

    assert_int_equal(lstat(place->file, &before), 0);
    assert_int_equal(mount_list_load(list, place->state, error, sizeof(error)), want);
    assert_list(list, "");
    if (strstr(error, place->file) == NULL || strstr(error, why) == NULL)
        fail_msg("%s: names not %s, or not %s", error, place->file, why);
    add(list, "10.0.0.9", "/new");
    assert_int_equal(mount_list_save(list, place->state, again, sizeof(again)), want);
    assert_string_equal(error, again);
    assert_true(mount_list_is_unsaved(list));
    assert_int_equal(lstat(place->file, &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size && before.st_mode == after.st_mode);
    mount_list_free(list);
}

static void
the_list_survives_a_restart_with_any_bytes_in_its_paths(void **state)
{
    struct mount_list *list = list_of(10);
    struct place place;

    (void)state;
    make_place(&place);
    add(list, "10.0.0.1", "/a b\n\xff");
    add(list, "::1", "/");
    must_save(list, &place);
    mount_list_free(list);
    list = must_load(10, &place);
    assert_list(list, "10.0.0.1:/a b\n\xff ::1:/");
    assert_false(mount_list_is_unsaved(list));
    mount_list_free(list);
    list = must_load(1, &place);
    assert_list(list, "::1:/");
    mount_list_free(list);
    remove_place(&place);
}

static void
an_empty_list_survives_too_and_none_at_all_is_no_error(void **state)
{
    struct mount_list *list;
    struct place place;

    (void)state;
    make_place(&place);
    list = must_load(10, &place);
    must_save(list, &place);
    mount_list_free(list);
    list = must_load(10, &place);
    assert_list(list, "");
    mount_list_free(list);
    remove_place(&place);
}

/* More than a file may have that is read back. */
static void
of_a_list_too_long_for_its_file_the_newest_are_kept(void **state)
{
    struct mount_list *list = list_of(LONG_LIST);
    char path[1025];
    struct place place;
    size_t kept;

    (void)state;
    make_place(&place);
    memset(path, 'x', sizeof(path));
    for (int i = 0; i < LONG_LIST; i++) {
        path[snprintf(path, sizeof(path), "/%d", i)] = 'x';
        mount_list_add(list, "10.0.0.1", path, sizeof(path) - 1);
    }
    must_save(list, &place);
    mount_list_free(list);
    list = must_load(LONG_LIST, &place);
    kept = mount_list_count(list);
    assert_in_range(kept, LONG_LIST / 2, LONG_LIST - 1);
    mount_list_remove(list, "10.0.0.1", path, sizeof(path) - 1);
    assert_int_equal(mount_list_count(list), kept - 1);
    mount_list_free(list);
    remove_place(&place);
}

static void
count_change(void *count)
{
    ++*(int *)count;
}

static void
a_change_is_told_once_until_the_list_is_saved(void **state)
{
    struct mount_list *list = list_of(10);
    struct place place;
    int changes = 0;

    (void)state;
    make_place(&place);
    mount_list_on_change(list, count_change, &changes);
    mount_list_remove(list, "10.0.0.1", "/a", 2);
    mount_list_remove_host(list, "10.0.0.1");
    assert_int_equal(changes, 0);
    add(list, "10.0.0.1", "/a");
    add(list, "10.0.0.1", "/b");
    assert_int_equal(changes, 1);
    must_save(list, &place);
    assert_false(mount_list_is_unsaved(list));
    mount_list_remove(list, "10.0.0.1", "/a", 2);
    assert_int_equal(changes, 2);
    must_save(list, &place);
    mount_list_remove_host(list, "10.0.0.1");
    assert_int_equal(changes, 3);
    mount_list_free(list);
    remove_place(&place);
}

static void
a_list_torn_at_any_length_or_with_any_bit_flipped_is_left_alone(void **state)
{
    struct mount_list *list = list_of(10);
    struct place place;
    char whole[256];
    size_t len;

    (void)state;
    make_place(&place);
    add(list, "10.0.0.1", "/a");
    add(list, "10.0.0.2", "/b");
    must_save(list, &place);
    mount_list_free(list);
    len = read_list_file(&place, whole, sizeof(whole));
    for (size_t cut = 0; cut < len; cut++) {
        write_list_file(&place, whole, cut);
        assert_left_alone(&place, -EBADMSG, cut < strlen("ringnfs-mounts 1 ") ? "is no MOUNT list" : "is torn");
    }
    for (size_t bit = 0; bit < 8 * len; bit++) {
        whole[bit / 8] ^= (char)(1 << bit % 8);
        write_list_file(&place, whole, len);
        assert_left_alone(&place, -EBADMSG, bit / 8 < strlen("ringnfs-mounts 1 ") ? "is no MOUNT list" : "is torn");
        whole[bit / 8] ^= (char)(1 << bit % 8);
    }
    write_list_file(&place, whole, len);
    mount_list_free(must_load(10, &place));
    remove_place(&place);
}

static void
somebody_elses_file_is_left_alone_until_it_is_moved_away(void **state)
{
    static const char *const texts[] = { "", "\n", "192.0.2.1 /one", "ringnfs-mounts 2 0 0000000000000000\n",
                                         "ringnfs-mounts 1 \n", "ringnfs-mounts 1 0 0\n", "#!/bin/sh\nexit\n" };
    struct mount_list *list = list_of(10);
    struct place place;

    (void)state;
    make_place(&place);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_list_file(&place, texts[i], strlen(texts[i]));
        assert_left_alone(&place, -EBADMSG, "is ");
    }
    assert_int_equal(unlink(place.file), 0);
    add(list, "10.0.0.1", "/a");
    must_save(list, &place);
    mount_list_free(list);
    list = must_load(10, &place);
    assert_list(list, "10.0.0.1:/a");
    mount_list_free(list);
    remove_place(&place);
}

static void
a_list_that_others_may_write_or_that_is_no_plain_file_is_left_alone(void **state)
{
    struct mount_list *list = list_of(10);
    struct place place;

    (void)state;
    make_place(&place);
    must_save(list, &place);
    mount_list_free(list);
    assert_int_equal(chmod(place.file, 0620), 0);
    assert_left_alone(&place, -EPERM, "mode 0600");
    assert_int_equal(chmod(place.file, 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(place.file, 65534, 65534), 0);
        assert_left_alone(&place, -EPERM, "others than the server's user");
    }
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(symlink("/dev/zero", place.file), 0);
    assert_left_alone(&place, -ELOOP, "is a symbolic link");
    assert_int_equal(unlink(place.file), 0);
    assert_int_equal(mkfifo(place.file, 0600), 0);
    assert_left_alone(&place, -EINVAL, "is no plain file");
    remove_place(&place);
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
        cmocka_unit_test(an_empty_list_survives_too_and_none_at_all_is_no_error),
        cmocka_unit_test(of_a_list_too_long_for_its_file_the_newest_are_kept),
        cmocka_unit_test(a_change_is_told_once_until_the_list_is_saved),
        cmocka_unit_test(a_list_torn_at_any_length_or_with_any_bit_flipped_is_left_alone),
        cmocka_unit_test(somebody_elses_file_is_left_alone_until_it_is_moved_away),
        cmocka_unit_test(a_list_that_others_may_write_or_that_is_no_plain_file_is_left_alone),
        cmocka_unit_test(any_number_of_threads_may_use_it),
        cmocka_unit_test(a_flood_of_mounts_of_a_long_list_comes_to_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
