/*
 * tests/live/test_mounts_inside.c - file systems that are mounted inside of exports: hidden, or followed with crossmnt and
 * nohide (exports(5)). In a mount namespace of its own, as root; what the kernel's server does is in
 * tests/mount/compare-nfsd.
 */
#include "tests/lib/live.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL "rw,insecure,no_root_squash"
#define SMALL (8 << 20)                 /* bytes of a file system that is mounted */
#define LATER_MS 10000                  /* by then the server has seen what is mounted */
#define QUIET_MS 150                    /* without a reply for this long, a call waits */
#define DIR_MODE 01777

static bool can_mount;

static const char *
local(struct live *srv, const char *name)
{
    return live_local(srv, name);
}

static void
make_local_dir(struct live *srv, const char *name)
{
    if (mkdir(local(srv, name), DIR_MODE) < 0 || chmod(local(srv, name), DIR_MODE) < 0)
        fail_msg("%s: cannot be made", name);
}

static void
make_local_file(struct live *srv, const char *name)
{
    FILE *file = fopen(local(srv, name), "w");

    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/* Mount a file system with one file, `inside`, on a directory of the export, which has one called `underneath`. */
static void
mount_on(struct live *srv, const char *name)
{
    char path[256];

    make_local_dir(srv, name);
    snprintf(path, sizeof(path), "%s/underneath", name);
    make_local_file(srv, path);
    if (mount("tmpfs", local(srv, name), "tmpfs", 0, "mode=1777,size=8M") < 0)
        fail_msg("%s: nothing can be mounted there", name);
    snprintf(path, sizeof(path), "%s/inside", name);
    make_local_file(srv, path);
}

/* The test's server, with something mounted on m. */
static struct live *
with_mount(void **state)
{
    struct live *srv = *state;

    live_need_directory(srv);
    if (!can_mount) {
        print_message("left out: only root mounts file systems\n");
        skip();
    }
    mount_on(srv, "m");
    return srv;
}

static void
unmount(struct live *srv, const char *name)
{
    assert_int_equal(umount2(local(srv, name), 0), 0);
}

static void
reload_for(struct live *srv, const char *client, const char *options, const char *more)
{
    char lines[3 * PATH_MAX];

    snprintf(lines, sizeof(lines), "%s %s(%s)\n%s", srv->export, client, options, more);
    live_reload_lines(srv, lines);
}

static void
reload(struct live *srv, const char *options, const char *more)
{
    reload_for(srv, "*", options, more);
}

/* A line for what lies at a name in the export. */
static const char *
line_of(struct live *srv, const char *name, const char *clients)
{
    char *line = live_keep(srv, PATH_MAX + 256);

    snprintf(line, PATH_MAX + 256, "%s %s\n", local(srv, name), clients);
    return line;
}

static mountstat3
mnt(struct live *srv, const char *name)
{
    return live_mnt(srv, local(srv, name))->fhs_status;
}

/* What a client finds in a directory: "inside" or "underneath". */
static bool
is_inside(struct live *srv, const nfs_fh3 *dir)
{
    bool inside = live_has(srv, dir, "inside");

    assert_int_equal(live_has(srv, dir, "underneath"), !inside);
    return inside;
}

static bool
leads_inside(struct live *srv, const char *name)
{
    nfs_fh3 dir = live_find(srv, &srv->root, name);

    return is_inside(srv, &dir);
}

/* The same while that may change between two calls: whether the file `inside` is there. */
static bool
shows_inside(struct live *srv, const char *name)
{
    nfs_fh3 dir = live_find(srv, &srv->root, name);

    return live_lookup(srv, &dir, "inside")->status == NFS3_OK;
}

/* Whether that becomes so: the server notices by itself what is mounted. */
static bool
comes_to_lead_inside(struct live *srv, const char *name, bool inside)
{
    uint64_t end = live_now_ms() + LATER_MS;

    while (shows_inside(srv, name) != inside && live_now_ms() < end)
        usleep(5000);
    return leads_inside(srv, name) == inside;
}

static void
a_lookup_into_what_does_not_accept_the_callers_flavour_is_refused(void **state)
{
    struct live *srv = with_mount(state);

    reload(srv, USUAL, line_of(srv, "m", "*(rw,insecure,nohide,sec=none)"));
    assert_int_equal(live_lookup(srv, &srv->root, "m")->status, NFS3ERR_ACCES);
    reload(srv, USUAL, line_of(srv, "m", "*(rw,insecure,nohide,sec=none:sys)"));
    assert_true(comes_to_lead_inside(srv, "m", true));
    unmount(srv, "m");
}

static void
what_is_mounted_inside_is_hidden_unless_asked_for(void **state)
{
    struct live *srv = with_mount(state);
    nfs_fh3 m;

    reload(srv, USUAL, "");
    m = live_find(srv, &srv->root, "m");
    assert_false(is_inside(srv, &m));
    assert_true(live_attr(srv, &m).fsid == live_attr(srv, &srv->root).fsid);
    assert_int_equal(mnt(srv, "m"), MNT3ERR_ACCES);     /* as mountd: not what is underneath */
    reload(srv, USUAL ",crossmnt", "");
    assert_true(leads_inside(srv, "m"));
    reload(srv, USUAL ",crossmnt,nocrossmnt", "");
    assert_false(leads_inside(srv, "m"));
    unmount(srv, "m");
}

static void
with_crossmnt_a_mounted_file_system_is_one_of_its_own(void **state)
{
    struct live *srv = with_mount(state);
    FSSTAT3res *fs;
    struct stat st;
    nfs_fh3 m, up, file, plain;
    fattr3 attr;

    reload(srv, USUAL ",crossmnt", "");
    m = live_find(srv, &srv->root, "m");
    attr = live_attr(srv, &m);
    assert_true(attr.fsid != live_attr(srv, &srv->root).fsid);
    assert_int_equal(stat(local(srv, "m"), &st), 0);
    assert_true(attr.fileid == st.st_ino);
    file = live_file(srv, &m, "new", 0644);
    assert_true(live_attr(srv, &file).fsid == attr.fsid);
    assert_int_equal(access(local(srv, "m/new"), F_OK), 0);
    up = live_find(srv, &m, "..");
    assert_true(live_same_handle(&up, &m));
    fs = live_fsstat(srv, &file);
    assert_int_equal(fs->status, NFS3_OK);
    assert_true(fs->FSSTAT3res_u.resok.tbytes == SMALL);
    assert_true(live_fsstat(srv, &srv->root)->FSSTAT3res_u.resok.tbytes != SMALL);
    plain = live_put(srv, "plain", "", 0);
    assert_int_equal(live_rename(srv, &m, "new", &srv->root, "new")->status, NFS3ERR_XDEV);
    assert_int_equal(live_rename(srv, &srv->root, "plain", &m, "plain")->status, NFS3ERR_XDEV);
    assert_int_equal(live_link(srv, &file, &srv->root, "new")->status, NFS3ERR_XDEV);
    assert_int_equal(live_link(srv, &plain, &m, "plain")->status, NFS3ERR_XDEV);
    unmount(srv, "m");
}

static void
lookup_tells_the_attributes_of_what_it_walks_into(void **state)
{
    struct live *srv = with_mount(state);
    LOOKUP3resok *ok;
    nfs_fh3 m;

    reload(srv, USUAL ",crossmnt", "");
    ok = &live_lookup(srv, &srv->root, "m")->LOOKUP3res_u.resok;
    m = live_find(srv, &srv->root, "m");
    assert_true(ok->obj_attributes.attributes_follow);
    assert_true(ok->obj_attributes.post_op_attr_u.attributes.fsid == live_attr(srv, &m).fsid);
    assert_true(ok->obj_attributes.post_op_attr_u.attributes.fileid == live_attr(srv, &m).fileid);
    assert_true(ok->dir_attributes.attributes_follow);
    assert_true(ok->dir_attributes.post_op_attr_u.attributes.fileid == live_attr(srv, &srv->root).fileid);
    unmount(srv, "m");
}

static void
readdirplus_leaves_it_to_lookup_what_is_mounted_on_a_name(void **state)
{
    struct live *srv = with_mount(state);
    READDIRPLUS3res *res;
    entryplus3 *entry;
    bool seen = false;

    make_local_dir(srv, "plain");
    reload(srv, USUAL ",crossmnt", "");
    res = live_readdirplus(srv, &srv->root, 0, NULL, 8192, 8192);
    assert_int_equal(res->status, NFS3_OK);
    for (entry = res->READDIRPLUS3res_u.resok.reply.entries; entry != NULL; entry = entry->nextentry) {
        bool m = entry->name.filename3_len == 1 && entry->name.filename3_val[0] == 'm';

        seen = seen || m;
        if (m || entry->name.filename3_val[0] == 'p') {
            assert_int_equal(entry->name_attributes.attributes_follow, !m);
            assert_int_equal(entry->name_handle.handle_follows, !m);
        }
    }
    assert_true(seen);
    unmount(srv, "m");
}

static void
mnt_walks_into_what_is_mounted_as_lookup_does(void **state)
{
    struct live *srv = with_mount(state);
    nfs_fh3 m, dir, mounted;

    make_local_dir(srv, "m/dir");
    reload(srv, USUAL ",crossmnt", "");
    m = live_find(srv, &srv->root, "m");
    dir = live_find(srv, &m, "dir");
    mounted = live_mount(srv, local(srv, "m"));
    assert_true(live_same_handle(&mounted, &m));
    mounted = live_mount(srv, local(srv, "m/dir"));
    assert_true(live_same_handle(&mounted, &dir));
    assert_int_equal(mnt(srv, "m/missing"), MNT3ERR_NOENT);
    reload(srv, USUAL, line_of(srv, "m", "192.0.2.1(rw)"));
    assert_int_equal(mnt(srv, "m"), MNT3ERR_ACCES);     /* as mountd: another file system than the export's */
    assert_int_equal(mnt(srv, "m/dir"), MNT3ERR_ACCES);
    unmount(srv, "m");
}

static void
file_systems_are_followed_however_deep(void **state)
{
    struct live *srv = with_mount(state);
    nfs_fh3 m, n, o;

    make_local_dir(srv, "m/dir");
    mount_on(srv, "m/dir/n");
    mount_on(srv, "m/dir/n/o");
    reload(srv, USUAL ",crossmnt", "");
    m = live_find(srv, &srv->root, "m");
    m = live_find(srv, &m, "dir");
    n = live_find(srv, &m, "n");
    assert_true(is_inside(srv, &n));
    o = live_find(srv, &n, "o");
    assert_true(is_inside(srv, &o));
    assert_true(live_attr(srv, &n).fsid != live_attr(srv, &o).fsid);
    o = live_mount(srv, local(srv, "m/dir/n/o"));
    assert_true(is_inside(srv, &o));
    unmount(srv, "m/dir/n/o");
    unmount(srv, "m/dir/n");
    unmount(srv, "m");
}

static void
a_directory_that_is_mounted_once_more_is_followed_like_a_file_system(void **state)
{
    struct live *srv = with_mount(state);

    unmount(srv, "m");
    make_local_dir(srv, "source");
    make_local_file(srv, "source/inside");
    assert_int_equal(mount(local(srv, "source"), local(srv, "m"), NULL, MS_BIND, NULL), 0);
    reload(srv, USUAL, "");
    assert_false(leads_inside(srv, "m"));
    reload(srv, USUAL ",crossmnt", "");
    assert_true(leads_inside(srv, "m"));
    unmount(srv, "m");
}

static void
what_is_mounted_is_under_the_rules_of_the_export_around_it(void **state)
{
    struct live *srv = with_mount(state);
    nfs_fh3 m;

    reload(srv, "ro,insecure,crossmnt", "");
    m = live_find(srv, &srv->root, "m");
    assert_int_equal(live_mkdir(srv, &m, "dir", live_mode(0755))->status, NFS3ERR_ROFS);
    reload_for(srv, "192.0.2.1", "rw,crossmnt", "");
    assert_int_equal(live_getattr(srv, &m)->status, NFS3ERR_STALE);
    reload(srv, USUAL, "");                             /* nobody is led there any more */
    assert_int_equal(live_getattr(srv, &m)->status, NFS3ERR_STALE);
    unmount(srv, "m");
}

static void
a_line_of_its_own_gives_a_mount_point_other_rules(void **state)
{
    struct live *srv = with_mount(state);
    nfs_fh3 m, mounted;

    reload(srv, USUAL ",crossmnt", line_of(srv, "m", "*(ro,insecure)"));
    m = live_find(srv, &srv->root, "m");
    assert_true(is_inside(srv, &m));
    assert_int_equal(live_mkdir(srv, &m, "dir", live_mode(0755))->status, NFS3ERR_ROFS);
    mounted = live_mount(srv, local(srv, "m"));
    assert_true(live_same_handle(&mounted, &m));
    reload(srv, USUAL ",crossmnt", line_of(srv, "m", "192.0.2.1(ro,insecure)"));
    assert_int_equal(live_mkdir(srv, &m, "dir", live_mode(0755))->status, NFS3_OK);     /* as a client of the outer one */
    reload(srv, USUAL ",nocrossmnt", line_of(srv, "m", "192.0.2.1(ro,insecure)"));
    assert_int_equal(live_getattr(srv, &m)->status, NFS3ERR_STALE);
    unmount(srv, "m");
}

static void
nohide_shows_an_export_to_its_own_clients_in_the_one_around_it(void **state)
{
    struct live *srv = with_mount(state);

    reload(srv, USUAL, line_of(srv, "m", "*(" USUAL ")"));
    assert_false(leads_inside(srv, "m"));
    reload(srv, USUAL, line_of(srv, "m", "*(" USUAL ",nohide)"));
    assert_true(leads_inside(srv, "m"));
    reload(srv, USUAL, line_of(srv, "m", "*(" USUAL ",nohide,hide)"));
    assert_false(leads_inside(srv, "m"));
    reload(srv, USUAL, line_of(srv, "m", "192.0.2.1(" USUAL ",nohide)"));
    assert_false(leads_inside(srv, "m"));
    unmount(srv, "m");
}

static void
what_is_mounted_later_is_followed_from_then_on(void **state)
{
    struct live *srv = with_mount(state);
    nfs_fh3 m;

    unmount(srv, "m");
    reload(srv, USUAL ",crossmnt", "");
    assert_false(leads_inside(srv, "m"));
    assert_int_equal(mount("tmpfs", local(srv, "m"), "tmpfs", 0, "mode=1777"), 0);
    make_local_file(srv, "m/inside");
    assert_true(comes_to_lead_inside(srv, "m", true));
    m = live_find(srv, &srv->root, "m");
    live_file(srv, &m, "file", 0644);
    unmount(srv, "m");                                  /* works at once: the server holds nobody up */
    assert_true(comes_to_lead_inside(srv, "m", false));
    assert_int_equal(live_getattr(srv, &m)->status, NFS3ERR_STALE);
}

static void
handles_of_what_is_mounted_outlive_a_restart(void **state)
{
    struct live *srv = with_mount(state);
    nfs_fh3 m, file;

    reload(srv, USUAL ",crossmnt", "");
    m = live_find(srv, &srv->root, "m");
    file = live_file(srv, &m, "file", 0644);
    live_restart(srv);
    assert_int_equal(live_getattr(srv, &m)->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);
    reload(srv, USUAL ",crossmnt", line_of(srv, "m", "*(" USUAL ")"));
    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);        /* nor does a line of its own change them */
    unmount(srv, "m");
}

static void
what_the_kernel_shows_as_files_is_not_followed_unasked(void **state)
{
    struct live *srv = with_mount(state);

    unmount(srv, "m");
    assert_int_equal(mount("mqueue", local(srv, "m"), "mqueue", 0, NULL), 0);
    reload(srv, USUAL ",crossmnt", "");
    assert_false(leads_inside(srv, "m"));
    unmount(srv, "m");
}

static void
a_directory_that_something_is_mounted_on_cannot_be_removed_or_moved(void **state)
{
    struct live *srv = with_mount(state);

    reload(srv, USUAL ",crossmnt", "");
    assert_int_not_equal(live_rmdir(srv, &srv->root, "m")->status, NFS3_OK);
    assert_int_not_equal(live_rename(srv, &srv->root, "m", &srv->root, "n")->status, NFS3_OK);
    reload(srv, USUAL, "");
    assert_int_equal(unlink(local(srv, "m/inside")), 0);
    assert_int_not_equal(live_rmdir(srv, &srv->root, "m")->status, NFS3_OK);
    unmount(srv, "m");
}

static void
only_exports_that_are_written_are_listed(void **state)
{
    struct live *srv = with_mount(state);
    mount_exports list;

    reload(srv, USUAL ",crossmnt", "");
    assert_true(leads_inside(srv, "m"));
    list = live_exports(srv);
    assert_non_null(list);
    assert_null(list->ex_next);
    unmount(srv, "m");
}

/* Of max_iops: it stands still. */
static uint64_t
same_time(void *context)
{
    (void)context;
    return 1;
}

static void
a_limit_holds_for_an_export_and_all_that_is_mounted_inside_together(void **state)
{
    static const struct rate_clock clock = { .now_ns = same_time };
    const struct live_options options = { .clock = &clock };
    struct live *srv = with_mount(state), *other = live_start_beside(srv, &options);
    struct live_conn conn = live_connect(other, SOCK_STREAM, AF_INET);
    const uint8_t *reply;
    uint8_t message[512];
    GETATTR3args args;
    size_t len;

    unmount(srv, "m");
    mount_on(other, "m");
    reload(other, USUAL ",crossmnt,max_iops=10", "");
    args.object = live_find(other, &other->root, "m");  /* one of two calls that begin at once */
    assert_int_equal(live_getattr(other, &args.object)->status, NFS3_OK);
    len = live_make_call(other, message, sizeof(message), NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR,
                         (xdrproc_t)xdr_GETATTR3args, &args);
    assert_true(live_send_message(&conn, message, len));
    assert_int_equal(live_receive(other, &conn, QUIET_MS, &reply), LIVE_TIMEOUT);
    reload(other, USUAL ",crossmnt", "");
    assert_true(live_receive(other, &conn, LIVE_WAIT_MS, &reply) > 0);
    live_close(&conn);
    unmount(other, "m");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_mounted_inside_is_hidden_unless_asked_for),
        cmocka_unit_test(a_lookup_into_what_does_not_accept_the_callers_flavour_is_refused),
        cmocka_unit_test(with_crossmnt_a_mounted_file_system_is_one_of_its_own),
        cmocka_unit_test(lookup_tells_the_attributes_of_what_it_walks_into),
        cmocka_unit_test(readdirplus_leaves_it_to_lookup_what_is_mounted_on_a_name),
        cmocka_unit_test(mnt_walks_into_what_is_mounted_as_lookup_does),
        cmocka_unit_test(file_systems_are_followed_however_deep),
        cmocka_unit_test(a_directory_that_is_mounted_once_more_is_followed_like_a_file_system),
        cmocka_unit_test(what_is_mounted_is_under_the_rules_of_the_export_around_it),
        cmocka_unit_test(a_line_of_its_own_gives_a_mount_point_other_rules),
        cmocka_unit_test(nohide_shows_an_export_to_its_own_clients_in_the_one_around_it),
        cmocka_unit_test(what_is_mounted_later_is_followed_from_then_on),
        cmocka_unit_test(handles_of_what_is_mounted_outlive_a_restart),
        cmocka_unit_test(what_the_kernel_shows_as_files_is_not_followed_unasked),
        cmocka_unit_test(a_directory_that_something_is_mounted_on_cannot_be_removed_or_moved),
        cmocka_unit_test(only_exports_that_are_written_are_listed),
        cmocka_unit_test(a_limit_holds_for_an_export_and_all_that_is_mounted_inside_together),
    };

    can_mount = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return live_main("mounts_inside", tests, sizeof(tests) / sizeof(*tests));
}
