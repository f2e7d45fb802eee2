/* tests/unit/test_state.c - the state directory: one key for ever, and files that are whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/state.h"

#define ERROR_MAX 512
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RACERS 8

static char base[] = "/tmp/ringnfs-state.XXXXXX";
static char dir[64], key_file[96];

static struct state *
must_open(void)
{
    char error[ERROR_MAX];
    struct state *opened;

    if (state_open(dir, &opened, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    return opened;
}

static void
write_key(const char *text, mode_t mode)
{
    int fd;

    mkdir(dir, 0700);
    fd = open(key_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* Opening fails with this error, which names the file or directory. */
static void
assert_refused(int want, const char *named, const char *why)
{
    char error[ERROR_MAX] = "";
    struct state *opened;

    assert_int_equal(state_open(dir, &opened, error, sizeof(error)), want);
    if (strstr(error, named) == NULL || strstr(error, why) == NULL)
        fail_msg("%s: names not %s, or not %s", error, named, why);
}

static void
a_state_without_a_directory_has_a_key_of_its_own_and_keeps_nothing(void **state)
{
    struct state *one, *other;
    void *data;
    size_t len;

    (void)state;
    assert_int_equal(state_new_stateless(&one), 0);
    assert_int_equal(state_new_stateless(&other), 0);
    assert_memory_not_equal(state_key(one), state_key(other), sizeof(struct fh_key));
    assert_int_equal(state_write_file(one, "mounts", "x", 1), 0);
    assert_int_equal(state_read_file(one, "mounts", 100, &data, &len), -ENOENT);
    assert_null(state_dir(one));
    state_close(one);
    state_close(other);
}

static void
a_directory_and_a_key_are_made_when_missing(void **state)
{
    struct state *opened = must_open();
    struct stat st;

    (void)state;
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(key_file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, 33);
    assert_string_equal(state_dir(opened), dir);
    state_close(opened);
}

static void
directories_above_are_made_too(void **state)
{
    char below[96], error[ERROR_MAX];
    struct state *opened;

    (void)state;
    snprintf(below, sizeof(below), "%s/a/b/", dir);
    assert_int_equal(state_open(below, &opened, error, sizeof(error)), 0);
    state_close(opened);
}

static void
the_key_stays_the_same(void **state)
{
    struct state *opened = must_open();
    struct fh_key key = *state_key(opened);

    (void)state;
    state_close(opened);
    opened = must_open();
    assert_memory_equal(key.bytes, state_key(opened)->bytes, sizeof(key.bytes));
    state_close(opened);
}

static void
another_directory_has_another_key(void **state)
{
    struct state *opened = must_open();
    struct fh_key key = *state_key(opened);

    (void)state;
    state_close(opened);
    assert_int_equal(unlink(key_file), 0);
    opened = must_open();
    assert_memory_not_equal(key.bytes, state_key(opened)->bytes, sizeof(key.bytes));
    state_close(opened);
}

static void
a_key_is_read_as_it_is_written(void **state)
{
    static const uint8_t want[FH_KEY_SIZE] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                               0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff };
    struct state *opened;

    (void)state;
    write_key("00112233445566778899aabbccddeeff\n", 0600);
    opened = must_open();
    assert_memory_equal(state_key(opened)->bytes, want, sizeof(want));
    state_close(opened);
}

static void
a_torn_or_foreign_key_is_refused_and_left_alone(void **state)
{
    static const char *const texts[] = {
        "", "\n", "00112233445566778899aabbccddeef\n", "00112233445566778899aabbccddeeff",
        "00112233445566778899aabbccddeeff\n\n", "00112233445566778899aabbccddeeff00\n",
        "00112233445566778899aabbccddeefg\n", "00112233445566778899AABBCCDDEEFF\n",
        "0x112233445566778899aabbccddeeff\n",
    };
    struct stat before, after;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(texts); i++) {
        write_key(texts[i], 0600);
        assert_int_equal(stat(key_file, &before), 0);
        assert_refused(-EBADMSG, key_file, "is not a handle key");
        assert_int_equal(stat(key_file, &after), 0);
        assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size);
    }
}

static void
a_key_torn_at_any_length_is_refused_and_left_alone(void **state)
{
    static const char whole[] = "00112233445566778899aabbccddeeff\n";
    char torn[sizeof(whole)] = "";
    struct stat before, after;

    (void)state;
    for (size_t len = 0; len < strlen(whole); len++) {
        memcpy(torn, whole, len);
        torn[len] = '\0';
        write_key(torn, 0600);
        assert_int_equal(stat(key_file, &before), 0);
        assert_refused(-EBADMSG, key_file, "is not a handle key");
        assert_int_equal(stat(key_file, &after), 0);
        assert_true(before.st_ino == after.st_ino && (size_t)after.st_size == len);
    }
}

static bool
exists(const char *name)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void
make_old(const char *name, time_t age)
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - age }, { .tv_sec = time(NULL) - age } };
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void
what_a_crash_left_half_written_is_removed_later(void **state)
{
    (void)state;
    assert_int_equal(mkdir(dir, 0700), 0);
    make_old(".handle-key.0123abcd", 7200);
    make_old(".mounts.0123abce", 7200);
    make_old(".mounts.0123abcf", 60);           /* somebody may be at it */
    make_old(".profile", 7200);                 /* none of ours */
    make_old("mounts.0123abcd", 7200);
    state_close(must_open());
    assert_false(exists(".handle-key.0123abcd"));
    assert_false(exists(".mounts.0123abce"));
    assert_true(exists(".mounts.0123abcf"));
    assert_true(exists(".profile"));
    assert_true(exists("mounts.0123abcd"));
}

static void
a_key_that_others_may_read_is_refused(void **state)
{
    static const mode_t modes[] = { 0640, 0604, 0644, 0660, 0601 };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(modes); i++) {
        write_key("00112233445566778899aabbccddeeff\n", modes[i]);
        assert_refused(-EPERM, key_file, "chmod 600");
    }
}

static void
a_key_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    write_key("00112233445566778899aabbccddeeff\n", 0600);
    assert_int_equal(chown(key_file, 65534, 65534), 0);
    assert_refused(-EPERM, key_file, "another user (uid 65534)");
}

static void
a_key_that_is_no_plain_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(symlink("/dev/zero", key_file), 0);
    assert_refused(-ELOOP, key_file, "symbolic link");
    assert_int_equal(unlink(key_file), 0);
    assert_int_equal(mkfifo(key_file, 0600), 0);
    assert_refused(-EBADMSG, key_file, "is not a handle key");
}

static void
a_directory_that_others_may_write_to_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 01777), 0);
    assert_refused(-EPERM, dir, "chmod 700");
    assert_int_equal(access(key_file, F_OK), -1);
}

static void
a_directory_that_is_none_is_refused(void **state)
{
    int fd = open(dir, O_WRONLY | O_CREAT, 0600);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    assert_refused(-ENOTDIR, dir, "Not a directory");
}

static pthread_barrier_t barrier;

static void *
race(void *out)
{
    char error[ERROR_MAX];
    struct state *opened;

    pthread_barrier_wait(&barrier);
    if (state_open(dir, &opened, error, sizeof(error)) != 0)
        return error[0] != '\0' ? out : NULL;
    memcpy(out, state_key(opened)->bytes, FH_KEY_SIZE);
    state_close(opened);
    return NULL;
}

static void
servers_that_start_at_once_agree_on_one_key(void **state)
{
    uint8_t keys[RACERS][FH_KEY_SIZE];
    pthread_t threads[RACERS];
    unsigned round, i;
    void *failed;

    (void)state;
    for (round = 0; round < 20; round++) {
        assert_int_equal(pthread_barrier_init(&barrier, NULL, RACERS), 0);
        for (i = 0; i < RACERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, race, keys[i]), 0);
        for (i = 0; i < RACERS; i++) {
            assert_int_equal(pthread_join(threads[i], &failed), 0);
            assert_null(failed);
        }
        for (i = 1; i < RACERS; i++)
            assert_memory_equal(keys[0], keys[i], FH_KEY_SIZE);
        pthread_barrier_destroy(&barrier);
        assert_int_equal(unlink(key_file), 0);
    }
    assert_int_equal(rmdir(dir), 0);                     /* nothing is left lying about */
}

static void
an_ordinary_users_directory_is_below_his_home(void **state)
{
    char error[ERROR_MAX], want[96];
    struct state *opened;

    (void)state;
    if (geteuid() == 0)
        skip();
    assert_int_equal(setenv("XDG_STATE_HOME", base, 1), 0);
    assert_int_equal(state_open(NULL, &opened, error, sizeof(error)), 0);
    snprintf(want, sizeof(want), "%s/ringnfs", base);
    assert_string_equal(state_dir(opened), want);
    state_close(opened);
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    assert_int_equal(state_open(NULL, &opened, error, sizeof(error)), -ENOENT);
    assert_non_null(strstr(error, "state_dir"));
}

static void
a_file_is_read_back_as_it_was_written(void **state)
{
    struct state *opened = must_open();
    void *data;
    size_t len;

    (void)state;
    assert_int_equal(state_read_file(opened, "list", 100, &data, &len), -ENOENT);
    assert_int_equal(state_write_file(opened, "list", "one\0two", 7), 0);
    assert_int_equal(state_read_file(opened, "list", 7, &data, &len), 0);
    assert_int_equal(len, 7);
    assert_memory_equal(data, "one\0two", 8);
    free(data);
    assert_int_equal(state_read_file(opened, "list", 6, &data, &len), -EFBIG);
    assert_int_equal(state_write_file(opened, "list", "", 0), 0);
    assert_int_equal(state_read_file(opened, "list", 6, &data, &len), 0);
    assert_int_equal(len, 0);
    free(data);
    state_close(opened);
}

static void
a_file_that_is_replaced_is_another_file(void **state)
{
    struct state *opened = must_open();
    struct stat before, after;
    char path[96];

    (void)state;
    snprintf(path, sizeof(path), "%s/list", dir);
    assert_int_equal(state_write_file(opened, "list", "old", 3), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(state_write_file(opened, "list", "new", 3), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino);
    assert_int_equal(after.st_mode & 07777, 0600);
    state_close(opened);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
    (void)st;
    (void)type;
    (void)place;
    return remove(path);
}

static int
make_base(void **state)
{
    (void)state;
    if (mkdtemp(base) == NULL)
        return -1;
    snprintf(dir, sizeof(dir), "%s/state", base);
    snprintf(key_file, sizeof(key_file), "%s/handle-key", dir);
    return 0;
}

static int
remove_dir(void **state)
{
    (void)state;
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

static int
remove_base(void **state)
{
    (void)state;
    return nftw(base, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define in_fresh_directory(test) cmocka_unit_test_teardown(test, remove_dir)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_without_a_directory_has_a_key_of_its_own_and_keeps_nothing),
        in_fresh_directory(a_directory_and_a_key_are_made_when_missing),
        in_fresh_directory(directories_above_are_made_too),
        in_fresh_directory(the_key_stays_the_same),
        in_fresh_directory(another_directory_has_another_key),
        in_fresh_directory(a_key_is_read_as_it_is_written),
        in_fresh_directory(a_torn_or_foreign_key_is_refused_and_left_alone),
        in_fresh_directory(a_key_torn_at_any_length_is_refused_and_left_alone),
        in_fresh_directory(what_a_crash_left_half_written_is_removed_later),
        in_fresh_directory(a_key_that_others_may_read_is_refused),
        in_fresh_directory(a_key_of_another_user_is_refused),
        in_fresh_directory(a_key_that_is_no_plain_file_is_refused),
        in_fresh_directory(a_directory_that_others_may_write_to_is_refused),
        in_fresh_directory(a_directory_that_is_none_is_refused),
        in_fresh_directory(servers_that_start_at_once_agree_on_one_key),
        in_fresh_directory(an_ordinary_users_directory_is_below_his_home),
        in_fresh_directory(a_file_is_read_back_as_it_was_written),
        in_fresh_directory(a_file_that_is_replaced_is_another_file),
    };

    return cmocka_run_group_tests(tests, make_base, remove_base);
}
