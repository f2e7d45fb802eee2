/*
 * tests/live/test_mount.c - the MOUNT protocol, versions 3 and 1 (RFC 1813 section 5, RFC 1094 appendix A).
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "tests/lib/live.h"

#define PATH_LONGEST 1024

static const char usual[] = "rw,insecure,no_root_squash";

/* A path below an export, in memory of the server's. */
static const char *
below(struct live *srv, const char *export, const char *rest)
{
    char *path = live_keep(srv, strlen(export) + strlen(rest) + 1);

    sprintf(path, "%s%s", export, rest);
    return path;
}

static size_t
count_mounts(struct live *srv, const char *path)
{
    size_t count = 0;
    mountlist entry;

    for (entry = live_dump(srv); entry != NULL; entry = entry->ml_next)
        count += path == NULL || (entry->ml_directory.mount_dirpath_len == strlen(path) &&
                                  memcmp(entry->ml_directory.mount_dirpath_val, path, strlen(path)) == 0);
    return count;
}

static void
mnt_gives_the_handle_of_the_exports_root(void **state)
{
    struct live *srv = *state;
    mountres3 *res = live_mnt(srv, srv->export);
    mountres3_ok *ok = &res->mountres3_u.mountinfo;
    nfs_fh3 handle;

    assert_int_equal(res->fhs_status, MNT3_OK);
    handle = (nfs_fh3){ { ok->fhandle.fhandle3_len, ok->fhandle.fhandle3_val } };
    assert_int_equal(live_attr(srv, &handle).type, NF3DIR);
    live_put(srv, "f", "x", 1);
    assert_true(live_has(srv, &handle, "f"));
}

static void
mnt_lists_auth_sys_among_the_flavours(void **state)
{
    struct live *srv = *state;
    mountres3 *res = live_mnt(srv, srv->export);
    mountres3_ok *ok = &res->mountres3_u.mountinfo;
    bool has_sys = false;
    u_int i;

    assert_int_equal(res->fhs_status, MNT3_OK);
    assert_in_range(ok->auth_flavors.auth_flavors_len, 1, 10);
    for (i = 0; i < ok->auth_flavors.auth_flavors_len; i++)
        has_sys = has_sys || ok->auth_flavors.auth_flavors_val[i] == AUTH_SYS;
    assert_true(has_sys);
}

static void
assert_flavours(struct live *srv, const char *options, unsigned count, const uint32_t *flavours)
{
    mountres3 *res;
    mountres3_ok *ok;
    u_int i;

    live_reload(srv, options, NULL);
    res = live_mnt(srv, srv->export);
    ok = &res->mountres3_u.mountinfo;
    assert_int_equal(res->fhs_status, MNT3_OK);
    assert_int_equal(ok->auth_flavors.auth_flavors_len, count);
    for (i = 0; i < count; i++)
        assert_int_equal(ok->auth_flavors.auth_flavors_val[i], flavours[i]);
}

/* As mountd: some clients take the last one, so AUTH_NONE is told only where there is no other. */
static void
mnt_lists_the_flavours_of_the_export_in_their_order(void **state)
{
    struct live *srv = *state;

    assert_flavours(srv, "rw,insecure", 1, (const uint32_t[]){ AUTH_SYS });
    assert_flavours(srv, "rw,insecure,sec=sys:none", 1, (const uint32_t[]){ AUTH_SYS });
    assert_flavours(srv, "rw,insecure,sec=none", 1, (const uint32_t[]){ AUTH_NONE });
#ifdef HAVE_KERBEROS
    assert_flavours(srv, "rw,insecure,sec=krb5p:none:krb5:sys", 3, (const uint32_t[]){ 390005, 390003, AUTH_SYS });
    assert_flavours(srv, "rw,insecure,sec=sys,ro,sec=krb5i", 2, (const uint32_t[]){ AUTH_SYS, 390004 });
#endif
}

static void
nobody_may_mount(void **state)
{
    struct live *srv = *state;

    live_as_nobody(srv);
    assert_int_equal(live_mnt(srv, srv->export)->fhs_status, MNT3_OK);
}

static void
slashes_behind_and_within_do_not_count(void **state)
{
    static const char *const rests[] = { "/", "//", "/a", "/a/", "/a//b", "//a/b///" };
    struct live *srv = *state;
    nfs_fh3 a = live_dir(srv, &srv->root, "a", 0755), b = live_dir(srv, &a, "b", 0755), handle;
    const nfs_fh3 *want[] = { &srv->root, &srv->root, &a, &a, &b, &b };
    size_t i;

    for (i = 0; i < sizeof(rests) / sizeof(*rests); i++) {
        handle = live_mount(srv, below(srv, srv->export, rests[i]));
        if (!live_same_handle(&handle, want[i]))
            fail_msg("%s: another directory's handle", rests[i]);
    }
}

static void
what_lies_below_is_looked_for_and_must_be_a_directory(void **state)
{
    struct live *srv = *state;

    live_put(srv, "file", "x", 1);
    live_dir(srv, &srv->root, "d", 0755);
    assert_int_equal(live_mnt(srv, below(srv, srv->export, "/d"))->fhs_status, MNT3_OK);
    assert_int_equal(live_mnt(srv, below(srv, srv->export, "/file"))->fhs_status, MNT3ERR_NOTDIR);
    assert_int_equal(live_mnt(srv, below(srv, srv->export, "/file/x"))->fhs_status, MNT3ERR_NOTDIR);
    assert_int_equal(live_mnt(srv, below(srv, srv->export, "/missing"))->fhs_status, MNT3ERR_NOENT);
    assert_int_equal(live_mnt(srv, below(srv, srv->export, "/d/missing"))->fhs_status, MNT3ERR_NOENT);
}

static void
paths_outside_of_every_export_are_refused_alike(void **state)
{
    static const char *const paths[] = { "/", "/etc", "/proc", "/no/such/path", "relative", "", "." };
    struct live *srv = *state;
    mountstat3 status;
    size_t i;

    for (i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        status = live_mnt(srv, paths[i])->fhs_status;
        if (status != MNT3ERR_ACCES && status != MNT3ERR_NOENT)
            fail_msg("MNT %s: status %d", paths[i], status);
    }
    assert_int_equal(live_mnt(srv, "/etc")->fhs_status, live_mnt(srv, "/no/such/path")->fhs_status);
    assert_int_equal(live_mnt(srv, below(srv, srv->export, "x"))->fhs_status, MNT3ERR_ACCES);
}

static void
dotdot_does_not_lead_out(void **state)
{
    static const char *const rests[] = { "/..", "/../..", "/a/../..", "/a/../../../etc", "/../../etc/passwd" };
    struct live *srv = *state;
    mountres3 *res;
    nfs_fh3 handle;
    size_t i;

    live_dir(srv, &srv->root, "a", 0755);
    for (i = 0; i < sizeof(rests) / sizeof(*rests); i++) {
        res = live_mnt(srv, below(srv, srv->export, rests[i]));
        if (res->fhs_status != MNT3_OK)
            continue;
        handle = (nfs_fh3){ { res->mountres3_u.mountinfo.fhandle.fhandle3_len,
                              res->mountres3_u.mountinfo.fhandle.fhandle3_val } };
        assert_true(live_same_handle(&handle, &srv->root));
    }
}

static void
a_symbolic_link_does_not_lead_out(void **state)
{
    struct live *srv = *state;

    live_link_to(srv, &srv->root, "out", "/etc");
    live_link_to(srv, &srv->root, "up", "..");
    assert_int_not_equal(live_mnt(srv, below(srv, srv->export, "/out"))->fhs_status, MNT3_OK);
    assert_int_not_equal(live_mnt(srv, below(srv, srv->export, "/up"))->fhs_status, MNT3_OK);
    assert_int_not_equal(live_mnt(srv, below(srv, srv->export, "/out/passwd"))->fhs_status, MNT3_OK);
}

static void
paths_that_are_too_long_or_hold_nul_are_refused(void **state)
{
    struct live *srv = *state;
    char *path = live_keep(srv, 6000);
    struct live_conn conn = live_connect_to("127.0.0.1", srv->mount_port, SOCK_STREAM);
    static const uint32_t lengths[] = { PATH_LONGEST + 1, 2000, 5000 };
    struct wire_out out;
    struct wire_in results;
    const uint8_t *reply;
    uint8_t *message = live_keep(srv, 8192);
    mountstat3 status;
    ssize_t received;
    uint32_t xid;
    size_t i, len;
    int outcome;

    memset(path, 'x', 6000);
    memcpy(path, srv->export, strlen(srv->export));
    path[strlen(srv->export)] = '/';
    status = live_mnt_bytes(srv, path, PATH_LONGEST)->fhs_status;
    assert_true(status == MNT3ERR_NAMETOOLONG || status == MNT3ERR_NOENT);
    for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        len = live_make_call(srv, message, 8192, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, NULL, NULL);
        out = (struct wire_out){ message + len, message + 8192, false };
        wire_put_opaque(&out, path, lengths[i]);
        assert_true(live_send_message(&conn, message, (size_t)(out.p - message)));
        received = live_receive(srv, &conn, LIVE_WAIT_MS, &reply);
        assert_true(received > 0);
        outcome = live_parse_reply(&conn, reply, (size_t)received, &xid, &results);
        assert_true(outcome == LIVE_GARBAGE_ARGS ||
                    (outcome == LIVE_SUCCESS && wire_get_u32(&results) == MNT3ERR_NAMETOOLONG));
    }
    live_close(&conn);
    len = strlen(srv->export);
    memcpy(path + len, "\0/etc", 5);
    assert_int_not_equal(live_mnt_bytes(srv, path, len + 5)->fhs_status, MNT3_OK);
    assert_int_not_equal(live_mnt_bytes(srv, path, len + 1)->fhs_status, MNT3_OK);
}

static void
version_1_gives_a_32_byte_handle_or_says_that_it_cannot(void **state)
{
    struct live *srv = *state;
    fhstatus *res = live_mnt_v1(srv, srv->export);

    assert_int_equal(srv->root.data.data_len <= FHSIZE, res->status == 0);
    if (res->status == 0)
        assert_memory_equal(res->fhstatus_u.directory, srv->root.data.data_val, srv->root.data.data_len);
    assert_int_not_equal(live_mnt_v1(srv, "/etc")->status, 0);
    assert_int_not_equal(live_mnt_v1(srv, below(srv, srv->export, "/missing"))->status, 0);
}

static void
dump_remembers_each_success_once(void **state)
{
    struct live *srv = *state;
    const char *path;

    live_dir(srv, &srv->root, "a", 0755);
    path = below(srv, srv->export, "/a");
    assert_int_equal(live_mnt(srv, path)->fhs_status, MNT3_OK);
    assert_int_equal(live_mnt(srv, path)->fhs_status, MNT3_OK);
    assert_int_equal(live_mnt(srv, below(srv, srv->export, "/missing"))->fhs_status, MNT3ERR_NOENT);
    assert_int_equal(count_mounts(srv, path), 1);
    assert_int_equal(count_mounts(srv, srv->export), 1);
    assert_int_equal(count_mounts(srv, below(srv, srv->export, "/missing")), 0);
    assert_int_equal(count_mounts(srv, NULL), 2);
}

static void
a_path_is_mounted_from_the_longest_export_that_the_client_may_use(void **state)
{
    struct live *srv = *state;
    const char *path = below(srv, srv->export, "/a"), *scheme = srv->config->store == LIVE_MEMORY ? "memory:" : "";
    nfs_fh3 a = live_dir(srv, &srv->root, "a", 0755), handle;
    char line[PATH_MAX + 64], error[1024];

    snprintf(line, sizeof(line), "%s%s 192.0.2.1(rw)", scheme, path);
    assert_int_equal(server_add_export(srv->server, line, error, sizeof(error)), 0);
    handle = live_mount(srv, path);
    assert_true(live_same_handle(&handle, &a));                         /* of the outer export, under its rules */
    snprintf(line, sizeof(line), "%s%s 127.0.0.1(rw,no_root_squash,insecure)", scheme, path);
    assert_int_equal(server_add_export(srv->server, line, error, sizeof(error)), 0);
    handle = live_mount(srv, path);
    assert_false(live_same_handle(&handle, &a));
    snprintf(line, sizeof(line), "%s%s 127.0.0.0/8(rw,secure)", scheme, srv->export);
    assert_int_equal(server_add_export(srv->server, line, error, sizeof(error)), 0);
    assert_int_equal(live_mnt(srv, path)->fhs_status, MNT3_OK);
}

static void
umnt_removes_its_path_only_and_always_succeeds(void **state)
{
    struct live *srv = *state;
    const char *path;

    live_dir(srv, &srv->root, "a", 0755);
    path = below(srv, srv->export, "/a");
    assert_int_equal(live_mnt(srv, path)->fhs_status, MNT3_OK);
    live_umnt(srv, "/never/mounted");
    assert_int_equal(count_mounts(srv, NULL), 2);
    live_umnt(srv, path);
    assert_int_equal(count_mounts(srv, path), 0);
    assert_int_equal(count_mounts(srv, srv->export), 1);
    live_umnt(srv, path);
    live_umntall(srv);
    assert_int_equal(count_mounts(srv, NULL), 0);
    live_umntall(srv);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);   /* the list is a note, no permission */
}

static void
a_short_list(struct settings *settings)
{
    settings->mount_list = 3;
}

static void
the_list_of_mounts_is_bounded(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .tune = a_short_list });
    char name[16], rest[20];
    int i;

    for (i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        snprintf(rest, sizeof(rest), "/%s", name);
        live_dir(srv, &srv->root, name, 0755);
        assert_int_equal(live_mnt(srv, below(srv, srv->export, rest))->fhs_status, MNT3_OK);
    }
    assert_in_range(count_mounts(srv, NULL), 0, 3);
}

static void
export_lists_every_export_with_its_clients(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .second_options = usual });
    size_t first = 0, second = 0, others = 0;
    mount_exports entry;

    for (entry = live_exports(srv); entry != NULL; entry = entry->ex_next) {
        const mount_dirpath *dir = &entry->ex_dir;

        if (dir->mount_dirpath_len == strlen(srv->export) &&
            memcmp(dir->mount_dirpath_val, srv->export, dir->mount_dirpath_len) == 0)
            first++;
        else if (dir->mount_dirpath_len == strlen(srv->second) &&
                 memcmp(dir->mount_dirpath_val, srv->second, dir->mount_dirpath_len) == 0)
            second++;
        else
            others++;
        if (entry->ex_groups != NULL) {
            assert_int_equal(entry->ex_groups->gr_name.mount_name_len, 1);
            assert_memory_equal(entry->ex_groups->gr_name.mount_name_val, "*", 1);
        }
    }
    assert_int_equal(first, 1);
    assert_int_equal(second, 1);
    assert_int_equal(others, 0);
}

static void
export_follows_a_reload(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .second_options = usual });

    live_reload(srv, usual, NULL);
    assert_non_null(live_exports(srv));
    assert_null(live_exports(srv)->ex_next);
    assert_int_equal(live_mnt(srv, srv->second)->fhs_status, MNT3ERR_ACCES);
    live_reload(srv, usual, usual);
    assert_int_equal(live_mnt(srv, srv->second)->fhs_status, MNT3_OK);
}

static void
two_exports_are_two_file_systems(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .second_options = usual });
    nfs_fh3 second = live_mount(srv, srv->second);

    live_put(srv, "f", "x", 1);
    assert_false(live_has(srv, &second, "f"));
    assert_true(live_attr(srv, &second).fsid != live_attr(srv, &srv->root).fsid);
}

static void
secure_wants_a_port_below_1024(void **state)
{
    struct live *srv = *state;
    mountres3 *res;

    srv = live_start_beside(srv, NULL);
    live_reload(srv, "rw,no_root_squash", NULL);         /* secure is the default */
    res = live_mnt(srv, srv->export);
    assert_int_equal(res->fhs_status, MNT3ERR_ACCES);
    assert_true(live_getattr(srv, &srv->root)->status == NFS3ERR_PERM ||
                live_getattr(srv, &srv->root)->status == NFS3ERR_ACCES);
}

static void
log_one_line(struct settings *settings)
{
    settings->log_limit = 1;
}

static void
refused_mounts_do_not_flood_the_log(void **state)
{
    enum { CALLS = 10 };
    FILE *file = tmpfile();
    const struct live_options options = { .tune = log_one_line, .log_fd = fileno(file) };
    struct live *srv = live_start(((struct live *)*state)->config, &options);
    uint64_t lines = 0, left_out = 0, more;
    struct server_stats stats;
    bool unlimited = false;
    char line[1024];

    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(live_mnt(srv, "/etc")->fhs_status, MNT3ERR_ACCES);
    server_stats(srv->server, &stats);
    assert_int_equal(server_set(srv->server, "log_limit", "0", line, sizeof(line)), 0);
    assert_int_equal(live_mnt(srv, "/usr")->fhs_status, MNT3ERR_ACCES);
    live_stop(srv);
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        unlimited = unlimited || strstr(line, "may not mount /usr") != NULL;
        lines += strstr(line, "may not mount /etc") != NULL;
        if (sscanf(line, "ringnfsd: warning: %" SCNu64 " more line", &more) == 1)
            left_out += more;
    }
    fclose(file);
    assert_true(unlimited);
    assert_true(left_out > 0);
    assert_int_equal(stats.log_left_out, left_out);
    assert_int_equal(lines + left_out, CALLS);
}

static void
all_procedures_answer_over_udp_and_both_versions(void **state)
{
    static const uint32_t versions[] = { MOUNT_V1, MOUNT_V3 };
    struct live *srv = *state;
    struct live_conn conn = live_connect_to("127.0.0.1", srv->mount_port, SOCK_DGRAM);
    mount_dirpath path = { (u_int)strlen(srv->export), srv->export };
    mount_exports exports = NULL;
    mountlist mounts = NULL;
    size_t i;

    for (i = 0; i < 2; i++) {
        uint32_t v = versions[i];
        fhstatus old = { .status = 1 };
        mountres3 res = { .fhs_status = MNT3ERR_IO };
        xdrproc_t codec = v == MOUNT_V1 ? (xdrproc_t)xdr_fhstatus : (xdrproc_t)xdr_mountres3;
        void *result = v == MOUNT_V1 ? (void *)&old : (void *)&res;

        assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, v, MOUNTPROC3_NULL, NULL, NULL, NULL, NULL),
                         LIVE_SUCCESS);
        assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, v, MOUNTPROC3_MNT, (xdrproc_t)xdr_mount_dirpath, &path,
                                   codec, result), LIVE_SUCCESS);
        xdr_free(codec, result);
        assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, v, MOUNTPROC3_DUMP, NULL, NULL, (xdrproc_t)xdr_mountlist,
                                   &mounts), LIVE_SUCCESS);
        xdr_free((xdrproc_t)xdr_mountlist, &mounts);
        assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, v, MOUNTPROC3_EXPORT, NULL, NULL,
                                   (xdrproc_t)xdr_mount_exports, &exports), LIVE_SUCCESS);
        assert_non_null(exports);
        xdr_free((xdrproc_t)xdr_mount_exports, &exports);
        assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, v, MOUNTPROC3_UMNT, (xdrproc_t)xdr_mount_dirpath, &path,
                                   NULL, NULL), LIVE_SUCCESS);
        assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, v, MOUNTPROC3_UMNTALL, NULL, NULL, NULL, NULL),
                         LIVE_SUCCESS);
    }
    live_close(&conn);
}

static void
other_versions_and_procedures_are_told_apart(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect_to("127.0.0.1", srv->mount_port, SOCK_STREAM);

    assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, 4, 0, NULL, NULL, NULL, NULL), LIVE_PROG_MISMATCH);
    assert_int_equal(conn.low, 1);
    assert_int_equal(conn.high, 3);
    assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, 0, 0, NULL, NULL, NULL, NULL), LIVE_PROG_MISMATCH);
    assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, MOUNT_V3, 6, NULL, NULL, NULL, NULL), LIVE_PROC_UNAVAIL);
    assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, MOUNT_V3, 99, NULL, NULL, NULL, NULL), LIVE_PROC_UNAVAIL);
    assert_int_equal(live_call(srv, &conn, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, NULL, NULL, NULL, NULL),
                     LIVE_GARBAGE_ARGS);
    live_close(&conn);
}

/* EXPORT or DUMP over UDP. Returns how it came out. */
static int
list_over_udp(struct live *srv, uint32_t proc, size_t *reply_bytes)
{
    struct live_conn conn = live_connect_to("127.0.0.1", srv->mount_port, SOCK_DGRAM);
    size_t len = live_make_call(srv, srv->message, LIVE_MESSAGE_MAX, MOUNT_PROGRAM, MOUNT_V3, proc, NULL, NULL);
    struct wire_in results;
    const uint8_t *reply;
    ssize_t received;
    uint32_t xid;

    assert_true(live_send_message(&conn, srv->message, len));
    received = live_receive(srv, &conn, LIVE_WAIT_MS, &reply);
    assert_true(received > 0);
    *reply_bytes = (size_t)received;
    live_close(&conn);
    return live_parse_reply(&conn, reply, (size_t)received, &xid, &results);
}

static void
a_short_list_goes_into_a_datagram(void **state)
{
    struct live *srv = *state;
    size_t bytes;

    live_mount(srv, srv->export);
    assert_int_equal(list_over_udp(srv, MOUNTPROC3_EXPORT, &bytes), LIVE_SUCCESS);
    assert_int_equal(list_over_udp(srv, MOUNTPROC3_DUMP, &bytes), LIVE_SUCCESS);
}

/* The datagram's source may be forged: nobody gets many bytes for few that he has not sent. */
static void
a_long_list_is_for_tcp_only(void **state)
{
    struct live *srv = *state;
    char name[64], path[PATH_MAX + 64];
    size_t bytes;

    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "directory-number-%d", i);
        live_dir(srv, &srv->root, name, 0755);
        snprintf(path, sizeof(path), "%s/%s", srv->export, name);
        live_mount(srv, path);
    }
    assert_int_equal(list_over_udp(srv, MOUNTPROC3_DUMP, &bytes), LIVE_SYSTEM_ERR);
    assert_int_equal(bytes, 24);
    assert_true(count_mounts(srv, NULL) >= 40);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mnt_gives_the_handle_of_the_exports_root),
        cmocka_unit_test(mnt_lists_auth_sys_among_the_flavours),
        cmocka_unit_test(mnt_lists_the_flavours_of_the_export_in_their_order),
        cmocka_unit_test(nobody_may_mount),
        cmocka_unit_test(slashes_behind_and_within_do_not_count),
        cmocka_unit_test(what_lies_below_is_looked_for_and_must_be_a_directory),
        cmocka_unit_test(paths_outside_of_every_export_are_refused_alike),
        cmocka_unit_test(dotdot_does_not_lead_out),
        cmocka_unit_test(a_symbolic_link_does_not_lead_out),
        cmocka_unit_test(paths_that_are_too_long_or_hold_nul_are_refused),
        cmocka_unit_test(version_1_gives_a_32_byte_handle_or_says_that_it_cannot),
        cmocka_unit_test(dump_remembers_each_success_once),
        cmocka_unit_test(a_path_is_mounted_from_the_longest_export_that_the_client_may_use),
        cmocka_unit_test(umnt_removes_its_path_only_and_always_succeeds),
        cmocka_unit_test(the_list_of_mounts_is_bounded),
        cmocka_unit_test(export_lists_every_export_with_its_clients),
        cmocka_unit_test(export_follows_a_reload),
        cmocka_unit_test(two_exports_are_two_file_systems),
        cmocka_unit_test(secure_wants_a_port_below_1024),
        cmocka_unit_test(refused_mounts_do_not_flood_the_log),
        cmocka_unit_test(a_short_list_goes_into_a_datagram),
        cmocka_unit_test(a_long_list_is_for_tcp_only),
        cmocka_unit_test(all_procedures_answer_over_udp_and_both_versions),
        cmocka_unit_test(other_versions_and_procedures_are_told_apart),
    };

    return live_main("mount", tests, sizeof(tests) / sizeof(*tests));
}
