/*
 * tests/live/test_race.c - somebody on the server's machine moves things about while calls run: nothing outside of the
 * export is ever read or written, and what a thread of the store does for everybody it does as the server.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/live.h"

#ifdef __SANITIZE_THREAD__
#define ROUNDS 20                       /* a round takes the sanitizer a second */
#else
#define ROUNDS 400
#endif
#define INSIDE "what clients may see"
#define OUTSIDE "what is outside of the export"

/* A directory "swap" that becomes a symbolic link to the outside and back, all the time. */
struct swapper {
    char dir[PATH_MAX], link[PATH_MAX];
    char outside[PATH_MAX];
    _Atomic bool ends;
    _Atomic unsigned swaps;
    pthread_t thread;
};

static void
write_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX + 16];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0666), 0);
}

static void *
swap_on(void *arg)
{
    struct swapper *swapper = arg;

    while (!atomic_load(&swapper->ends)) {
        if (syscall(SYS_renameat2, AT_FDCWD, swapper->dir, AT_FDCWD, swapper->link, RENAME_EXCHANGE) == 0)
            atomic_fetch_add(&swapper->swaps, 1);
    }
    return NULL;
}

static void
start_swapping(struct live *srv, struct swapper *swapper)
{
    memset(swapper, 0, sizeof(*swapper));
    snprintf(swapper->dir, sizeof(swapper->dir), "%s", live_local(srv, "swap"));
    snprintf(swapper->link, sizeof(swapper->link), "%s", live_local(srv, "link"));
    snprintf(swapper->outside, sizeof(swapper->outside), "%.4000s/outside", srv->base);
    assert_int_equal(mkdir(swapper->dir, 0777), 0);
    assert_int_equal(mkdir(swapper->outside, 0777), 0);
    assert_int_equal(chmod(swapper->dir, 0777), 0);
    assert_int_equal(chmod(swapper->outside, 0777), 0);
    assert_int_equal(symlink(swapper->outside, swapper->link), 0);
    write_file(swapper->dir, "file", INSIDE);
    write_file(swapper->outside, "file", OUTSIDE);
    assert_int_equal(pthread_create(&swapper->thread, NULL, swap_on, swapper), 0);
}

static void
stop_swapping(struct swapper *swapper)
{
    atomic_store(&swapper->ends, true);
    pthread_join(swapper->thread, NULL);
    assert_true(atomic_load(&swapper->swaps) > 0);
}

/* The outside has the one file that it had, untouched. */
static void
assert_outside_as_it_was(const struct swapper *swapper, const struct stat *before)
{
    char path[PATH_MAX + 16], text[sizeof(OUTSIDE)] = "";
    struct dirent **names;
    struct stat now;
    FILE *file;
    int count = scandir(swapper->outside, &names, NULL, NULL);

    assert_int_equal(count, 3);
    while (count-- > 0)
        free(names[count]);
    free(names);
    snprintf(path, sizeof(path), "%s/file", swapper->outside);
    assert_int_equal(stat(path, &now), 0);
    assert_int_equal(now.st_ctim.tv_sec, before->st_ctim.tv_sec);
    assert_int_equal(now.st_ctim.tv_nsec, before->st_ctim.tv_nsec);
    assert_int_equal(now.st_nlink, 1);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof(text), file), strlen(OUTSIDE));
    fclose(file);
    assert_string_equal(text, OUTSIDE);
}

static struct stat
stat_outside(const struct swapper *swapper)
{
    char path[PATH_MAX + 16];
    struct stat st;

    snprintf(path, sizeof(path), "%s/file", swapper->outside);
    assert_int_equal(stat(path, &st), 0);
    return st;
}

/* What the name leads to at the moment, by LOOKUP or MNT; false when it is no directory now. */
static bool
find_swapped(struct live *srv, bool by_mount, nfs_fh3 *dir)
{
    char path[PATH_MAX + 16];
    LOOKUP3res *found;
    mountres3 *mounted;

    if (!by_mount) {
        found = live_lookup(srv, &srv->root, "swap");
        if (found->status != NFS3_OK)
            return false;
        *dir = found->LOOKUP3res_u.resok.object;
        return true;
    }
    snprintf(path, sizeof(path), "%s/swap", srv->export);
    mounted = live_mnt(srv, path);
    if (mounted->fhs_status != MNT3_OK)
        return false;
    dir->data.data_len = mounted->mountres3_u.mountinfo.fhandle.fhandle3_len;
    dir->data.data_val = mounted->mountres3_u.mountinfo.fhandle.fhandle3_val;
    return true;
}

/* An ordinary user's server opens a file by the names above it, which may just be other ones. */
static bool
found_by_path(void)
{
    return geteuid() != 0;
}

/* One of everything that takes a directory and a name, and all that is read must be the inside's. */
static void
try_everything(struct live *srv, const nfs_fh3 *dir, unsigned round)
{
    LOOKUP3res *found = live_lookup(srv, dir, "file");
    READ3res *read;
    char name[32], other[32];

    snprintf(name, sizeof(name), "new-%u", round);
    snprintf(other, sizeof(other), "other-%u", round);
    if (found->status == NFS3_OK) {
        read = live_read(srv, &found->LOOKUP3res_u.resok.object, 0, 100);
        assert_true(read->status == NFS3_OK || (read->status == NFS3ERR_STALE && found_by_path()));
        if (read->status == NFS3_OK) {
            assert_int_equal(read->READ3res_u.resok.count, strlen(INSIDE));
            assert_memory_equal(read->READ3res_u.resok.data.data_val, INSIDE, strlen(INSIDE));
        }
        live_setattr(srv, &found->LOOKUP3res_u.resok.object, live_mode(0600 + round % 2));
        live_link(srv, &found->LOOKUP3res_u.resok.object, dir, other);
    }
    live_create(srv, dir, name, UNCHECKED, live_mode(0644));
    live_mkdir(srv, dir, "made", live_mode(0755));
    live_symlink(srv, dir, "made-link", "/", live_keep_all());
    live_rename(srv, dir, name, dir, "renamed");
    live_rename(srv, &srv->root, "swap", &srv->root, "swap");
    live_readdirplus(srv, dir, 0, "\0\0\0\0\0\0\0", 4096, 16384);
    live_remove(srv, dir, "renamed");
    live_remove(srv, dir, other);
    live_remove(srv, dir, "made-link");
    live_rmdir(srv, dir, "made");
}

static void
a_name_that_turns_into_a_link_leads_nowhere(void **state)
{
    struct live *srv = *state;
    struct swapper swapper;
    struct stat before;
    unsigned tried = 0;
    nfs_fh3 dir;

    live_need_directory(srv);
    start_swapping(srv, &swapper);
    before = stat_outside(&swapper);
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (!find_swapped(srv, round % 4 == 3, &dir))
            continue;
        try_everything(srv, &dir, round);
        tried++;
    }
    stop_swapping(&swapper);
    assert_true(tried > 0);
    assert_outside_as_it_was(&swapper, &before);
}

/* Calls on the root itself: each works with the name "swap", whatever that is at the moment. */
static void
what_a_link_points_to_is_never_changed_by_its_name(void **state)
{
    struct live *srv = *state;
    struct swapper swapper;
    struct stat before;

    live_need_directory(srv);
    start_swapping(srv, &swapper);
    before = stat_outside(&swapper);
    for (unsigned round = 0; round < ROUNDS; round++) {
        live_create(srv, &srv->root, "swap", UNCHECKED, live_size(0));
        live_create(srv, &srv->root, "link", UNCHECKED, live_size(0));
        live_remove(srv, &srv->root, "nothing");
        live_readdirplus(srv, &srv->root, 0, "\0\0\0\0\0\0\0", 4096, 16384);
        live_rmdir(srv, &srv->root, "link");
    }
    stop_swapping(&swapper);
    assert_outside_as_it_was(&swapper, &before);
}

/* Whether a descriptor of this process is open for writing to that file. */
static bool
is_open_for_writing(ino_t ino)
{
    char path[32];
    struct stat st;

    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFL);

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);      /* by path: other threads close theirs meanwhile */
        if (flags >= 0 && (flags & O_PATH) == 0 && (flags & O_ACCMODE) != O_RDONLY && stat(path, &st) == 0 &&
            st.st_ino == ino)
            return true;
    }
    return false;
}

static void
a_file_is_closed_for_writing_though_the_first_call_of_all_was_an_ordinary_users(void **state)
{
    struct live *srv = *state;
    uint64_t patience = live_now_ms() + LIVE_WAIT_MS;
    CREATE3res *made;
    struct stat st;

    live_need_directory(srv);
    live_need_root(srv);
    live_restart(srv);                  /* no file has been opened since, and no thread started for that */
    live_as(srv, 1000, 1000);
    made = live_create(srv, &srv->root, "his", GUARDED, live_mode(0200));
    assert_int_equal(stat(live_local(srv, "his"), &st), 0);
    assert_true(is_open_for_writing(st.st_ino));
    while (is_open_for_writing(st.st_ino) && live_now_ms() < patience) {
        usleep(100000);
        live_attr(srv, &made->CREATE3res_u.resok.obj.post_op_fh3_u.handle);    /* in use: it is not closed as idle */
    }
    assert_false(is_open_for_writing(st.st_ino));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_turns_into_a_link_leads_nowhere),
        cmocka_unit_test(what_a_link_points_to_is_never_changed_by_its_name),
        cmocka_unit_test(a_file_is_closed_for_writing_though_the_first_call_of_all_was_an_ordinary_users),
    };

    return live_main("race", tests, sizeof(tests) / sizeof(*tests));
}
