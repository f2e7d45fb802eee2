/*
 * tests/unit/test_fault.c - a disk that fails: what a store over a directory tells, and to whom.
 *
 * The linker puts this file between the store and the system (-Wl,--wrap): flushes fail as a test says, descriptors
 * cannot be had, time goes on without being waited for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "storage/posix.h"
#include "tests/lib/store_rig.h"

#define MANY 400                        /* files, more than the store ever keeps open */
#define AT_ONCE 8                       /* calls, and more than there are threads */
#define PATIENCE_MS 20000

/* What goes wrong: an errno, or 0 for nothing. Read by threads of the store. */
static _Atomic int file_flush_error, dir_flush_error, syncfs_error, writeback_error;
static _Atomic int read_open_error, write_open_error, handle_error;
static _Atomic unsigned file_flushes, dir_flushes, syncfs_calls;
static _Atomic int64_t seconds_ahead;

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
int __real_sync_file_range(int fd, off_t offset, off_t length, unsigned flags);
int __wrap_sync_file_range(int fd, off_t offset, off_t length, unsigned flags);
int __real_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags);
int __wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);
int __real_futimens(int fd, const struct timespec times[2]);
int __wrap_futimens(int fd, const struct timespec times[2]);
int __real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);

static int
outcome(int error)
{
    errno = error;
    return error == 0 ? 0 : -1;
}

/* A disk that takes its time. */
static _Atomic bool flushes_wait;
static sem_t hold_flushes, flush_begun;

int
__wrap_fsync(int fd)
{
    struct stat st;
    int done = __real_fsync(fd);

    if (flushes_wait) {
        sem_post(&flush_begun);
        sem_wait(&hold_flushes);
    }
    if (done < 0 || fstat(fd, &st) < 0)
        return -1;
    atomic_fetch_add(S_ISDIR(st.st_mode) ? &dir_flushes : &file_flushes, 1);
    return outcome(S_ISDIR(st.st_mode) ? dir_flush_error : file_flush_error);
}

int
__wrap_syncfs(int fd)
{
    (void)fd;
    atomic_fetch_add(&syncfs_calls, 1);
    return outcome(syncfs_error);
}

int
__wrap_sync_file_range(int fd, off_t offset, off_t length, unsigned flags)
{
    int done = __real_sync_file_range(fd, offset, length, flags);

    return done < 0 ? done : outcome(writeback_error);
}

int
__wrap_open_by_handle_at(int mount_fd, struct file_handle *handle, int flags)
{
    int error = flags & O_PATH ? handle_error : (flags & O_ACCMODE) == O_RDONLY ? read_open_error : write_open_error;

    return error != 0 && !(flags & O_DIRECTORY) ? outcome(error) : __real_open_by_handle_at(mount_fd, handle, flags);
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int done = __real_clock_gettime(clock, time);

    time->tv_sec += seconds_ahead;
    return done;
}

int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    struct timespec soon;

    (void)until;                        /* whoever waits looks at the clock himself */
    __real_clock_gettime(CLOCK_MONOTONIC, &soon);
    soon.tv_nsec += 20000000;
    soon.tv_sec += soon.tv_nsec / 1000000000;
    soon.tv_nsec %= 1000000000;
    return __real_pthread_cond_timedwait(cond, mutex, &soon);
}

/* A directory that takes a while to read. */
static _Atomic bool reads_slowly;

struct dirent *
__wrap_readdir(DIR *dir)
{
    const struct timespec moment = { .tv_nsec = 100000 };

    if (reads_slowly)
        nanosleep(&moment, NULL);
    return __real_readdir(dir);
}

static unsigned set_without_name;       /* times of files that had none yet */

/* How a file system keeps times. */
static enum { ALL_OF_IT, WHOLE_SECONDS, AS_VFAT } times_kept;

int
__wrap_futimens(int fd, const struct timespec times[2])
{
    struct timespec kept[2] = { times[0], times[1] };
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_nlink == 0)
        set_without_name++;
    if (times_kept != ALL_OF_IT)
        kept[0].tv_nsec = kept[1].tv_nsec = 0;
    if (times_kept == AS_VFAT) {
        kept[0].tv_sec -= kept[0].tv_sec % 86400;
        kept[1].tv_sec -= kept[1].tv_sec % 2;
    }
    return __real_futimens(fd, kept);
}

static const struct store_setattr nothing = { .set_mode = false };

static uint64_t
verifier(struct rig *rig)
{
    return atomic_load(&rig->store->write_verifier);
}

static int
write_as(struct rig *rig, struct store_node *file, enum store_stability stable)
{
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.write.length = 4;
    op->u.write.data = "data";
    op->u.write.stable = stable;
    return rig_finish(rig, store_write(file, op));
}

static struct store_node *
new_file(struct rig *rig, const char *name)
{
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, name, STORE_GUARDED, nothing), 0);
    return rig_child(rig);
}

static void
a_stable_write_whose_flush_fails_is_told_so_and_the_verifier_is_renewed(void **state)
{
    static const int errors[] = { EIO, ENOSPC, EDQUOT, EROFS };
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "file");

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        uint64_t before = verifier(rig);

        file_flush_error = errors[i];
        assert_int_equal(write_as(rig, file, STORE_FILE_SYNC), -errors[i]);
        assert_true(verifier(rig) != before);
        file_flush_error = 0;
        before = verifier(rig);
        assert_int_equal(write_as(rig, file, STORE_FILE_SYNC), 0);
        assert_true(verifier(rig) == before);
    }
}

static void
a_commit_whose_flush_fails_is_told_so_and_the_verifier_is_renewed(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "file");
    uint64_t before = verifier(rig);

    assert_int_equal(write_as(rig, file, STORE_UNSTABLE), 0);
    file_flush_error = EIO;
    assert_int_equal(rig_commit(rig, &rig_root, file), -EIO);
    assert_true(verifier(rig) != before);
}

static void
an_attribute_whose_flush_fails_is_told_so(void **state)
{
    const struct store_setattr mode = { .set_mode = true, .mode = 0600 }, size = { .set_size = true, .size = 9 };
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "file"), *dir = rig_make(rig, rig->dir, "dir", "dir", 0755);
    struct store_node *fifo = rig_make(rig, rig->dir, "fifo", "fifo", 0644);

    file_flush_error = dir_flush_error = syncfs_error = EIO;
    assert_int_equal(rig_setattr(rig, &rig_root, file, mode), -EIO);
    assert_int_equal(rig_setattr(rig, &rig_root, file, size), -EIO);
    assert_int_equal(rig_setattr(rig, &rig_root, dir, mode), -EIO);
    assert_int_equal(rig_setattr(rig, &rig_root, fifo, mode), -EIO);
}

/* SETATTR flushes too, and the kernel tells an open description only once: it must not be the one that COMMIT asks. */
static void
a_flush_for_attributes_takes_a_descriptor_of_its_own(void **state)
{
    const struct store_setattr mode = { .set_mode = true, .mode = 0600 };
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "file");

    assert_int_equal(write_as(rig, file, STORE_UNSTABLE), 0);
    read_open_error = EIO;
    assert_int_equal(rig_setattr(rig, &rig_root, file, mode), -EIO);
    read_open_error = 0;
    assert_int_equal(rig_setattr(rig, &rig_root, file, mode), 0);
}

static void
a_name_whose_directory_cannot_be_flushed_is_told_so(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "file"), *other = rig_make(rig, rig->dir, "other", "dir", 0755);
    const struct store_cred *root = &rig_root;

    assert_int_equal(rig_mkdir(rig, root, rig->dir, "gone", nothing), 0);
    dir_flush_error = EIO;
    assert_int_equal(rig_create(rig, root, rig->dir, "new", STORE_GUARDED, nothing), -EIO);
    assert_int_equal(rig_exclusive(rig, root, rig->dir, "once", "verifier"), -EIO);
    assert_int_equal(rig_mkdir(rig, root, rig->dir, "newdir", nothing), -EIO);
    assert_int_equal(rig_symlink(rig, root, rig->dir, "link", "text", 4), -EIO);
    assert_int_equal(rig_mknod(rig, root, rig->dir, "fifo", S_IFIFO, 0, 0), -EIO);
    assert_int_equal(rig_link(rig, root, file, rig->dir, "hard"), -EIO);
    assert_int_equal(rig_rename(rig, root, rig->dir, "hard", rig->dir, "harder"), -EIO);
    assert_int_equal(rig_rename(rig, root, rig->dir, "harder", other, "hardest"), -EIO);
    assert_int_equal(rig_remove(rig, root, other, "hardest"), -EIO);
    assert_int_equal(rig_rmdir(rig, root, rig->dir, "gone"), -EIO);
}

static void
a_rename_flushes_both_directories(void **state)
{
    struct rig *rig = *state;
    struct store_node *other = rig_make(rig, rig->dir, "other", "dir", 0755);
    unsigned before;

    new_file(rig, "file");
    before = dir_flushes;
    assert_int_equal(rig_rename(rig, &rig_root, rig->dir, "file", other, "file"), 0);
    assert_int_equal(dir_flushes, before + 2);
}

static void
attributes_given_to_what_is_made_are_flushed_with_it(void **state)
{
    const struct store_setattr owned = { .set_uid = true, .uid = RIG_ALICE };
    struct rig *rig = *state;
    unsigned dirs = dir_flushes, files = file_flushes, all = syncfs_calls;

    assert_int_equal(rig_mkdir(rig, &rig_root, rig->dir, "dir", owned), 0);
    assert_int_equal(dir_flushes, dirs + 2);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "file", STORE_GUARDED, owned), 0);
    assert_int_equal(file_flushes, files + 1);
    assert_int_equal(rig_mknod(rig, &rig_root, rig->dir, "fifo", S_IFIFO, 0, 0), 0);
    assert_int_equal(syncfs_calls, all);
    file_flush_error = dir_flush_error = syncfs_error = EIO;
    assert_int_equal(rig_mkdir(rig, &rig_root, rig->dir, "dir2", owned), -EIO);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "file2", STORE_GUARDED, owned), -EIO);
}

/* The first try was told of an error: a success of the second must mean that it is on disk now. */
static void
a_create_that_is_sent_again_is_flushed_again(void **state)
{
    struct rig *rig = *state;

    dir_flush_error = EIO;
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), -EIO);
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), -EIO);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "once", STORE_UNCHECKED, nothing), -EIO);
    dir_flush_error = 0;
    file_flush_error = EIO;
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), -EIO);
    file_flush_error = 0;
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), 0);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "once", STORE_UNCHECKED, nothing), 0);
}

static void
an_exclusive_create_is_found_again_where_times_are_whole_seconds(void **state)
{
    struct rig *rig = *state;

    times_kept = WHOLE_SECONDS;
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), 0);
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), 0);
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "another!"), -EEXIST);
}

/* Killed in between, the server would leave a file that its maker does not find again. */
static void
an_exclusive_create_has_its_verifier_before_it_has_its_name(void **state)
{
    struct rig *rig = *state;

    set_without_name = 0;
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), 0);
    assert_int_equal(set_without_name, 1);
    assert_int_equal(rig_attr(rig, rig_child(rig)).nlink, 1);
}

/* RFC 1813 3.3.8: NFS3ERR_NOTSUPP, and the client takes a GUARDED one. */
static void
an_exclusive_create_is_not_supported_where_times_do_not_hold_a_verifier(void **state)
{
    struct rig *rig = *state;

    times_kept = AS_VFAT;
    assert_int_equal(rig_exclusive(rig, &rig_root, rig->dir, "once", "verifier"), -EOPNOTSUPP);
    assert_int_equal(rig_lookup(rig, &rig_root, rig->dir, "once"), -ENOENT);
    assert_int_equal(rig_create(rig, &rig_root, rig->dir, "once", STORE_GUARDED, nothing), 0);
}

static void
write_many(struct rig *rig, bool commit)
{
    for (unsigned i = 0; i < MANY; i++) {
        struct store_node *file;
        char name[16];

        snprintf(name, sizeof(name), "%u", i);
        file = new_file(rig, name);
        assert_int_equal(write_as(rig, file, STORE_UNSTABLE), 0);
        if (commit)
            assert_int_equal(rig_commit(rig, &rig_root, file), 0);
        rig_put_all(rig);
    }
}

static void
files_whose_data_is_on_disk_are_closed_and_nothing_is_sent_again(void **state)
{
    struct rig *rig = *state;
    uint64_t before = verifier(rig);

    write_many(rig, true);
    assert_true(verifier(rig) == before);
}

/* A write-back error that comes after the last close may be forgotten with the inode. */
static void
a_file_that_must_be_closed_before_its_data_is_on_disk_renews_the_verifier(void **state)
{
    struct rig *rig = *state;
    uint64_t before = verifier(rig);

    write_many(rig, false);
    assert_true(verifier(rig) != before);
}

static void
a_write_back_error_that_nobody_was_told_of_renews_the_verifier_when_the_file_is_closed(void **state)
{
    struct rig *rig = *state;
    uint64_t before = verifier(rig);

    writeback_error = EIO;
    write_many(rig, true);
    assert_true(verifier(rig) != before);
    assert_int_equal(atomic_load(&rig->store->disk.trouble), -EIO);
}

/* Time goes quickly meanwhile. */
static bool
becomes_another(struct rig *rig, uint64_t before)
{
    const struct timespec pause = { .tv_nsec = 10000000 };

    for (unsigned ms = 0; ms < PATIENCE_MS && verifier(rig) == before; ms += 10) {
        seconds_ahead++;
        nanosleep(&pause, NULL);
    }
    return verifier(rig) != before;
}

static void
a_write_back_error_is_asked_for_before_a_file_is_closed_for_writing(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "file");
    uint64_t before = verifier(rig);

    assert_int_equal(write_as(rig, file, STORE_UNSTABLE), 0);
    writeback_error = EIO;
    assert_true(becomes_another(rig, before));
}

static void
idle_data_is_flushed_before_its_file_is_closed(void **state)
{
    struct rig *rig = *state;
    uint64_t before = verifier(rig);

    assert_int_equal(write_as(rig, new_file(rig, "file"), STORE_UNSTABLE), 0);
    rig_put_all(rig);
    file_flush_error = EIO;
    assert_true(becomes_another(rig, before));
}

/* A second store over the same directory, in which nothing is open yet. */
static struct store_node *
in_fresh_store(struct rig *rig, struct store_node *file)
{
    const struct posix_config config = { .path = rig->path, .max_open = 100, .inline_mode = POSIX_INLINE_ON };
    const struct store_id id = *store_node_id(rig->store, file);
    struct store_node *node;

    rig_put_all(rig);
    store_free(rig->store);
    assert_int_equal(posix_new(&config, &rig->store), 0);
    rig->dir = rig->store->root;
    assert_int_equal(rig_get(rig, &id, &node), 0);
    return node;
}

/* Mode 0200 where the server is not root, and the node was closed after the last write. */
static void
a_commit_of_a_file_that_cannot_be_read_flushes_it(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = in_fresh_store(rig, new_file(rig, "file"));
    unsigned before = file_flushes;

    read_open_error = EACCES;
    assert_int_equal(rig_commit(rig, &rig_root, file), 0);
    assert_int_equal(file_flushes, before + 1);
    file_flush_error = EIO;
    assert_int_equal(rig_commit(rig, &rig_root, file), -EIO);
}

static void
a_commit_of_a_file_that_cannot_be_opened_flushes_the_file_system(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = in_fresh_store(rig, new_file(rig, "file"));
    uint64_t before = verifier(rig);

    read_open_error = write_open_error = EACCES;
    assert_int_equal(rig_commit(rig, &rig_root, file), 0);
    assert_int_equal(syncfs_calls, 1);
    syncfs_error = EIO;
    assert_int_equal(rig_commit(rig, &rig_root, file), -EIO);
    assert_true(verifier(rig) != before);
}

struct bystander {
    struct store_op op;                 /* first */
    bool over;
};

static void
note_bystander(struct store_op *op)
{
    ((struct bystander *)op)->over = true;
}

/* At the end of a server: one call is under way on the only thread, another waits for it. */
static void
what_waits_for_a_thread_when_the_engine_is_abandoned_is_not_done(void **state)
{
    struct rig *rig = *state;
    struct engine_config config = { .type = ENGINE_POOL, .ring_entries = 8 };
    struct bystander first = { .over = false }, second = { .over = false };
    struct store_node *file = new_file(rig, "file"), *other = new_file(rig, "other");

    assert_int_equal(pool_new(1, &config.pool), 0);
    engine_free(rig->engine);
    assert_int_equal(engine_new(&config, &rig->engine), 0);
    first.op = second.op = *rig_op(rig, &rig_root);
    first.op.done = second.op.done = note_bystander;
    sem_init(&hold_flushes, 0, 0);
    sem_init(&flush_begun, 0, 0);
    flushes_wait = true;
    assert_int_equal(store_commit(file, &first.op), STORE_PENDING);
    assert_int_equal(store_commit(other, &second.op), STORE_PENDING);
    engine_flush(rig->engine);
    sem_wait(&flush_begun);
    engine_abandon(rig->engine);
    flushes_wait = false;
    sem_post(&hold_flushes);
    while (!first.over || !second.over) {
        engine_reap(rig->engine);
        engine_flush(rig->engine);
    }
    assert_int_equal(first.op.err, 0);
    assert_int_equal(second.op.err, -ECANCELED);
    assert_int_equal(file_flushes, 1);
    engine_free(rig->engine);
    pool_free(config.pool);
    config.pool = rig->pool;
    assert_int_equal(engine_new(&config, &rig->engine), 0);
}

/* Without kernel handles the first unknown one makes the tree be read; those who come meanwhile must not be told STALE. */
static void
handles_that_are_looked_for_at_once_after_a_restart_are_all_found(void **state)
{
    struct rig *rig = *state;
    struct posix_config config = { .path = rig->path, .max_open = 1000, .inline_mode = POSIX_INLINE_OFF };
    struct bystander calls[AT_ONCE];
    struct store_id ids[AT_ONCE];
    unsigned over = 0;
    char name[16];

    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof(name), "%u", i);
        ids[i % AT_ONCE] = *store_node_id(rig->store, new_file(rig, name));
        rig_put_all(rig);
    }
    store_free(rig->store);
    handle_error = EPERM;
    reads_slowly = true;
    assert_int_equal(posix_new(&config, &rig->store), 0);
    for (unsigned i = 0; i < AT_ONCE; i++) {
        calls[i].over = false;
        calls[i].op = *rig_op(rig, &rig_root);
        calls[i].op.done = note_bystander;
        assert_int_equal(store_get(rig->store, &ids[i], &calls[i].op), STORE_PENDING);
    }
    while (over < AT_ONCE) {
        engine_flush(rig->engine);
        engine_reap(rig->engine);
        for (unsigned i = over = 0; i < AT_ONCE; i++)
            over += calls[i].over;
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        assert_int_equal(calls[i].op.err, 0);
        store_put(rig->store, calls[i].op.r.get.node);
    }
}

static void
trouble_is_told_once_when_it_comes_and_once_when_it_goes(void **state)
{
    struct rig *rig = *state;
    struct store_node *file = new_file(rig, "file");
    struct store_disk *disk = &rig->store->disk;
    int trouble;

    assert_false(store_disk_news(rig->store, &trouble));
    file_flush_error = EIO;
    assert_int_equal(write_as(rig, file, STORE_FILE_SYNC), -EIO);
    assert_int_equal(write_as(rig, file, STORE_FILE_SYNC), -EIO);
    assert_true(store_disk_news(rig->store, &trouble));
    assert_int_equal(trouble, -EIO);
    assert_false(store_disk_news(rig->store, &trouble));
    assert_true(atomic_load(&disk->since) > 0);
    assert_true(atomic_load(&disk->errors) >= 2);
    file_flush_error = 0;
    assert_int_equal(write_as(rig, file, STORE_FILE_SYNC), 0);
    assert_int_equal(atomic_load(&disk->trouble), -EIO);        /* too early to say */
    seconds_ahead += STORE_QUIET_S;
    assert_int_equal(write_as(rig, file, STORE_FILE_SYNC), 0);
    assert_true(store_disk_news(rig->store, &trouble));
    assert_int_equal(trouble, 0);
}

static void
no_room_and_no_permission_are_no_trouble_of_the_disk(void **state)
{
    static const int errors[] = { ENOSPC, EDQUOT, EACCES, ENOENT, EEXIST, ESTALE, ENOTEMPTY, EMFILE, EILSEQ };

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        assert_false(store_is_disk_error(-errors[i]));
    assert_true(store_is_disk_error(-EIO));
    assert_true(store_is_disk_error(-EROFS));
}

static int
set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    struct posix_config config = { .max_open = 1, .inline_mode = POSIX_INLINE_ON };
    struct engine_config engine = { .type = ENGINE_POOL, .ring_entries = 8 };

    assert_non_null(rig);
    file_flush_error = dir_flush_error = syncfs_error = writeback_error = read_open_error = write_open_error = 0;
    file_flushes = dir_flushes = syncfs_calls = 0;
    handle_error = 0;
    reads_slowly = false;
    times_kept = ALL_OF_IT;
    flushes_wait = false;
    snprintf(rig->path, sizeof(rig->path), "/var/tmp/ringnfs-fault.XXXXXX");
    assert_non_null(mkdtemp(rig->path));
    config.path = rig->path;
    cred_thread_init();
    assert_int_equal(pool_new(4, &rig->pool), 0);
    engine.pool = rig->pool;
    assert_int_equal(engine_new(&engine, &rig->engine), 0);
    assert_int_equal(posix_new(&config, &rig->store), 0);
    rig->dir = rig->store->root;
    rig->decides = true;
    *state = rig;
    return 0;
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
tear_down(void **state)
{
    struct rig *rig = *state;

    rig_put_all(rig);
    store_free(rig->store);
    engine_free(rig->engine);
    pool_free(rig->pool);
    assert_int_equal(nftw(rig->path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(rig);
    return 0;
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_stable_write_whose_flush_fails_is_told_so_and_the_verifier_is_renewed),
        TEST(a_commit_whose_flush_fails_is_told_so_and_the_verifier_is_renewed),
        TEST(an_attribute_whose_flush_fails_is_told_so),
        TEST(a_flush_for_attributes_takes_a_descriptor_of_its_own),
        TEST(a_name_whose_directory_cannot_be_flushed_is_told_so),
        TEST(a_rename_flushes_both_directories),
        TEST(attributes_given_to_what_is_made_are_flushed_with_it),
        TEST(a_create_that_is_sent_again_is_flushed_again),
        TEST(an_exclusive_create_is_found_again_where_times_are_whole_seconds),
        TEST(an_exclusive_create_has_its_verifier_before_it_has_its_name),
        TEST(an_exclusive_create_is_not_supported_where_times_do_not_hold_a_verifier),
        TEST(files_whose_data_is_on_disk_are_closed_and_nothing_is_sent_again),
        TEST(a_file_that_must_be_closed_before_its_data_is_on_disk_renews_the_verifier),
        TEST(a_write_back_error_that_nobody_was_told_of_renews_the_verifier_when_the_file_is_closed),
        TEST(a_write_back_error_is_asked_for_before_a_file_is_closed_for_writing),
        TEST(idle_data_is_flushed_before_its_file_is_closed),
        TEST(a_commit_of_a_file_that_cannot_be_read_flushes_it),
        TEST(a_commit_of_a_file_that_cannot_be_opened_flushes_the_file_system),
        TEST(what_waits_for_a_thread_when_the_engine_is_abandoned_is_not_done),
        TEST(handles_that_are_looked_for_at_once_after_a_restart_are_all_found),
        TEST(trouble_is_told_once_when_it_comes_and_once_when_it_goes),
        TEST(no_room_and_no_permission_are_no_trouble_of_the_disk),
    };

    if (geteuid() != 0)
        return 77;                      /* handles are opened, and others' files are made */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
