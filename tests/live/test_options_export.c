/* tests/live/test_options_export.c - options of an export that change what is answered, not who may ask. */
#include "tests/lib/live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/lib/fake_groups.h"

#define USUAL "rw,no_root_squash,insecure"
#define LONG_AGO 1000                   /* seconds; a time of access that relatime moves on */
#define SMALL 100
#define LARGE (256 << 10)
#define ALICE 1000
#define HER_GROUP 100                   /* as the client says */
#define FIRST 500                       /* her groups as the server says: so many from this on */
#define MANY 100
#define LAST (FIRST + MANY - 1)
#define ELSEWHERE 900
#define ANONYMOUS 65534
#define QUIET_MS 150                    /* without a reply for this long, a call waits */

static struct fake_groups fake;

static void
an_export_without_readdirplus_lists_names_alone(void **state)
{
    struct live *srv = *state;

    live_put(srv, "file", "", 0);
    assert_int_equal(live_readdirplus(srv, &srv->root, 0, NULL, 4096, 4096)->status, NFS3_OK);
    live_reload(srv, USUAL ",nordirplus", NULL);
    assert_int_equal(live_readdirplus(srv, &srv->root, 0, NULL, 4096, 4096)->status, NFS3ERR_NOTSUPP);
    assert_int_equal(live_readdir(srv, &srv->root, 0, NULL, 4096)->status, NFS3_OK);
    assert_int_equal(live_count(srv, &srv->root), 1);
}

static FSINFO3resok
fsinfo(struct live *srv)
{
    FSINFO3res *res = live_fsinfo(srv, &srv->root);

    assert_int_equal(res->status, NFS3_OK);
    return res->FSINFO3res_u.resok;
}

static void
preferred_sizes_are_the_largest_unless_an_option_says_less(void **state)
{
    struct live *srv = *state;
    FSINFO3resok info = fsinfo(srv);

    assert_int_equal(info.rtpref, info.rtmax);
    assert_int_equal(info.wtpref, info.wtmax);
    live_reload(srv, USUAL ",rtpref=32K,wtpref=64K", NULL);
    info = fsinfo(srv);
    assert_int_equal(info.rtmax, 1 << 20);
    assert_int_equal(info.wtmax, 1 << 20);
    assert_int_equal(info.rtpref, 32 << 10);
    assert_int_equal(info.wtpref, 64 << 10);
    live_reload(srv, USUAL ",rtpref=4M,rtmax=128K,wtpref=2M", NULL);
    info = fsinfo(srv);
    assert_int_equal(info.rtpref, 128 << 10);
    assert_int_equal(info.wtpref, 1 << 20);
}

static void
make_old(struct live *srv, const nfs_fh3 *file)
{
    sattr3 attr = live_keep_all();

    attr.atime.set_it = SET_TO_CLIENT_TIME;
    attr.atime.set_atime_u.atime.seconds = LONG_AGO;
    assert_int_equal(live_setattr(srv, file, attr)->status, NFS3_OK);
}

static bool
atime_moves(struct live *srv, const nfs_fh3 *file)
{
    make_old(srv, file);
    if (live_attr(srv, file).type == NF3DIR) {
        live_count(srv, file);
        assert_int_equal(live_readdirplus(srv, file, 0, NULL, 4096, 4096)->status, NFS3_OK);
    } else {
        assert_int_equal(live_read(srv, file, 0, SMALL)->status, NFS3_OK);
        assert_int_equal(live_read(srv, file, 0, LARGE)->status, NFS3_OK);
    }
    return live_attr(srv, file).atime.seconds != LONG_AGO;
}

static void
reading_leaves_the_times_of_access_alone_where_that_is_asked_for(void **state)
{
    struct live *srv = *state;
    char *data = live_keep(srv, LARGE);
    nfs_fh3 file = live_put(srv, "file", data, LARGE), dir = live_dir(srv, &srv->root, "dir", 0755);

    live_file(srv, &dir, "entry", 0600);
    if (!atime_moves(srv, &file)) {
        print_message("left out: the file system keeps no times of access\n");
        return;
    }
    assert_true(atime_moves(srv, &dir));
    live_reload(srv, USUAL ",nodiratime", NULL);
    assert_true(atime_moves(srv, &file));
    assert_false(atime_moves(srv, &dir));
    live_reload(srv, USUAL ",noatime", NULL);
    assert_false(atime_moves(srv, &file));
    assert_false(atime_moves(srv, &dir));
    assert_int_equal(live_count(srv, &dir), 1);
    live_reload(srv, USUAL, NULL);
    assert_true(atime_moves(srv, &file));
    assert_true(atime_moves(srv, &dir));
}

static void
data_that_is_not_cached_is_read_without_a_time_of_access(void **state)
{
    struct live *srv = *state;
    char *data = live_keep(srv, LARGE);
    nfs_fh3 file;
    int fd;

    live_need_directory(srv);
    memset(data, 'x', LARGE);
    file = live_put(srv, "file", data, LARGE);
    live_reload(srv, USUAL ",noatime", NULL);
    fd = open(live_local(srv, "file"), O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
    make_old(srv, &file);
    live_assert_content(srv, &file, data, LARGE);
    assert_int_equal(live_attr(srv, &file).atime.seconds, LONG_AGO);
}

static mountstat3
mount_status(struct live *srv)
{
    return live_mnt(srv, srv->export)->fhs_status;
}

static void
an_export_is_served_while_its_mount_point_is_one(void **state)
{
    struct live *srv = *state;

    live_reload(srv, USUAL ",mountpoint=/proc", NULL);
    assert_int_equal(mount_status(srv), MNT3_OK);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    live_reload(srv, USUAL ",mp=/proc/self", NULL);
    assert_int_equal(mount_status(srv), MNT3ERR_NOENT);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_STALE);
    live_reload(srv, USUAL ",mp=/proc/nowhere", NULL);
    assert_int_equal(mount_status(srv), MNT3ERR_NOENT);
    live_reload(srv, USUAL, NULL);
    assert_int_equal(mount_status(srv), MNT3_OK);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
}

static void
without_a_path_the_exported_directory_must_be_the_mount_point(void **state)
{
    struct live *srv = *state;

    live_need_directory(srv);
    live_reload(srv, USUAL ",mountpoint", NULL);
    assert_int_equal(mount_status(srv), MNT3ERR_NOENT);
    live_reload(srv, USUAL ",path=/dev/shm,fsid=7,mountpoint", NULL);
    assert_int_equal(mount_status(srv), MNT3_OK);
}

static void
each_mount_looks_whether_the_mount_is_still_there(void **state)
{
    struct live *srv = *state;

    live_need_directory(srv);
    live_put(srv, "underneath", "", 0);
    if (mount("tmpfs", srv->export, "tmpfs", 0, "mode=1777") < 0) {
        print_message("left out: a file system can be mounted by root only\n");
        return;
    }
    live_reload(srv, USUAL ",mountpoint", NULL);
    srv->root = live_mount(srv, srv->export);
    assert_int_equal(live_count(srv, &srv->root), 0);
    assert_int_equal(umount2(srv->export, MNT_DETACH), 0);
    assert_int_equal(mount_status(srv), MNT3ERR_NOENT);
}

/* A server beside the test's own with manage_gids, whose groups are what the test says. */
static struct live *
start_with_groups(struct live *srv, const char *options)
{
    const struct live_options with_groups = { .export_options = options, .groups = &fake.source };

    live_need_identities(srv);
    fake_groups_init(&fake);
    fake_groups_user(&fake, ALICE, FIRST, MANY);
    return live_start_beside(srv, &with_groups);
}

/* A file that nobody but this group may read; made by root. */
static nfs_fh3
file_of_group(struct live *srv, const char *name, uint32_t gid)
{
    nfs_fh3 file = live_file(srv, &srv->root, name, 0040);

    live_chown(srv, &file, 0, gid);
    live_chmod(srv, &file, 0040);
    return file;
}

static void
call_as_alice(struct live *srv)
{
    const uint32_t claimed[] = { ELSEWHERE };

    live_as_member(srv, ALICE, HER_GROUP, 1, claimed);
}

static nfsstat3
read_status(struct live *srv, const nfs_fh3 *file)
{
    return live_read(srv, file, 0, 1)->status;
}

static void
the_servers_own_groups_count_however_many_there_are(void **state)
{
    struct live *srv = start_with_groups(*state, USUAL ",manage_gids");
    nfs_fh3 first = file_of_group(srv, "first", FIRST), last = file_of_group(srv, "last", LAST);
    nfs_fh3 own = file_of_group(srv, "own", HER_GROUP), claimed = file_of_group(srv, "claimed", ELSEWHERE);

    call_as_alice(srv);
    assert_int_equal(read_status(srv, &first), NFS3_OK);
    assert_int_equal(read_status(srv, &last), NFS3_OK);
    assert_int_equal(read_status(srv, &own), NFS3_OK);
    assert_int_equal(read_status(srv, &claimed), NFS3ERR_ACCES);
    live_reload(srv, USUAL, NULL);
    assert_int_equal(read_status(srv, &last), NFS3ERR_ACCES);
    assert_int_equal(read_status(srv, &claimed), NFS3_OK);
}

static void
who_is_not_known_here_keeps_his_ids_and_no_other_groups(void **state)
{
    struct live *srv = start_with_groups(*state, USUAL ",manage_gids");
    nfs_fh3 own = file_of_group(srv, "own", HER_GROUP), claimed = file_of_group(srv, "claimed", ELSEWHERE);

    fake_groups_user(&fake, ALICE + 1, FIRST, MANY);
    call_as_alice(srv);
    assert_int_equal(read_status(srv, &own), NFS3_OK);
    assert_int_equal(read_status(srv, &claimed), NFS3ERR_ACCES);
}

static void
a_failing_directory_service_takes_no_groups_away(void **state)
{
    struct live *srv = start_with_groups(*state, USUAL ",manage_gids");
    nfs_fh3 last = file_of_group(srv, "last", LAST);
    const uint32_t none[] = { 0 };

    call_as_alice(srv);
    assert_int_equal(read_status(srv, &last), NFS3_OK);
    fake_groups_fail(&fake, -EIO);
    fake_groups_pass_ms(&fake, 86400000);
    assert_int_equal(read_status(srv, &last), NFS3_OK);
    live_as_member(srv, ALICE + 1, HER_GROUP, 0, none);
    assert_int_equal(read_status(srv, &last), NFS3ERR_JUKEBOX);
}

static void
the_servers_own_groups_are_squashed_too(void **state)
{
    struct live *srv = start_with_groups(*state, USUAL ",manage_gids");
    nfs_fh3 roots = file_of_group(srv, "roots", 0), nobodys = file_of_group(srv, "nobodys", ANONYMOUS);
    nfs_fh3 first = file_of_group(srv, "first", FIRST);

    fake_groups_root(&fake);
    call_as_alice(srv);
    assert_int_equal(read_status(srv, &roots), NFS3_OK);
    assert_int_equal(read_status(srv, &nobodys), NFS3ERR_ACCES);
    live_reload(srv, "rw,insecure,manage_gids", NULL);
    assert_int_equal(read_status(srv, &roots), NFS3ERR_ACCES);
    assert_int_equal(read_status(srv, &nobodys), NFS3_OK);
    assert_int_equal(read_status(srv, &first), NFS3_OK);
    live_reload(srv, "rw,insecure,manage_gids,all_squash", NULL);
    assert_int_equal(read_status(srv, &first), NFS3ERR_ACCES);
    assert_int_equal(read_status(srv, &nobodys), NFS3_OK);
}

static void
a_call_waits_for_groups_and_holds_up_nobody_else(void **state)
{
    struct live *srv = start_with_groups(*state, USUAL ",manage_gids");
    nfs_fh3 last = file_of_group(srv, "last", LAST);
    const READ3args args = { last, 0, 1 };
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    struct wire_in results;
    const uint8_t *reply;
    uint8_t message[1024];
    uint32_t xid;
    ssize_t len;

    fake_groups_block(&fake, true);
    call_as_alice(srv);
    len = (ssize_t)live_make_call(srv, message, sizeof(message), NFS_PROGRAM, NFS_V3, NFSPROC3_READ,
                                  (xdrproc_t)xdr_READ3args, &args);
    assert_true(live_send_message(&conn, message, (size_t)len));
    assert_int_equal(live_receive(srv, &conn, QUIET_MS, &reply), LIVE_TIMEOUT);
    live_as(srv, 0, 0);
    assert_int_equal(live_getattr(srv, &last)->status, NFS3_OK);
    fake_groups_block(&fake, false);
    len = live_receive(srv, &conn, LIVE_WAIT_MS, &reply);
    assert_true(len > 0);
    assert_int_equal(live_parse_reply(&conn, reply, (size_t)len, &xid, &results), LIVE_SUCCESS);
    assert_int_equal(wire_get_u32(&results), NFS3_OK);
    live_close(&conn);
}

/* How many flushes serve eight stable writes of a file that arrive together. */
static uint64_t
flushes_of_writes_together(struct live *srv, const nfs_fh3 *file)
{
    WRITE3args args = { .file = *file, .count = 1, .stable = FILE_SYNC, .data = { 1, "x" } };
    struct server_stats before, after;
    uint8_t message[8 * 256];
    const uint8_t *reply;
    size_t used = 0;

    for (args.offset = 0; args.offset < 8; args.offset++) {
        size_t len = live_make_call(srv, message + used + 4, sizeof(message) - used - 4, NFS_PROGRAM, NFS_V3,
                                    NFSPROC3_WRITE, (xdrproc_t)xdr_WRITE3args, &args);
        uint32_t mark = htonl(0x80000000u | (uint32_t)len);

        memcpy(message + used, &mark, sizeof(mark));
        used += 4 + len;
    }
    server_stats(srv->server, &before);
    assert_true(live_send(&srv->conn, message, used));
    for (int i = 0; i < 8; i++)
        assert_true(live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply) > 0);
    server_stats(srv->server, &after);
    return after.flushes - before.flushes;
}

/* They may be read in two turns, and then they do not arrive together: but not each time. */
static void
with_wdelay_writes_that_arrive_together_share_a_flush(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;
    int tries = 50;

    live_need_directory(srv);
    file = live_put(srv, "file", "", 0);
    while (flushes_of_writes_together(srv, &file) != 1)
        assert_true(--tries > 0);
    live_reload(srv, USUAL ",no_wdelay", NULL);
    for (tries = 0; tries < 10; tries++)
        assert_true(flushes_of_writes_together(srv, &file) > 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_export_without_readdirplus_lists_names_alone),
        cmocka_unit_test(preferred_sizes_are_the_largest_unless_an_option_says_less),
        cmocka_unit_test(reading_leaves_the_times_of_access_alone_where_that_is_asked_for),
        cmocka_unit_test(data_that_is_not_cached_is_read_without_a_time_of_access),
        cmocka_unit_test(an_export_is_served_while_its_mount_point_is_one),
        cmocka_unit_test(without_a_path_the_exported_directory_must_be_the_mount_point),
        cmocka_unit_test(each_mount_looks_whether_the_mount_is_still_there),
        cmocka_unit_test(the_servers_own_groups_count_however_many_there_are),
        cmocka_unit_test(who_is_not_known_here_keeps_his_ids_and_no_other_groups),
        cmocka_unit_test(a_failing_directory_service_takes_no_groups_away),
        cmocka_unit_test(the_servers_own_groups_are_squashed_too),
        cmocka_unit_test(a_call_waits_for_groups_and_holds_up_nobody_else),
        cmocka_unit_test(with_wdelay_writes_that_arrive_together_share_a_flush),
    };

    return live_main("options_export", tests, sizeof(tests) / sizeof(*tests));
}
