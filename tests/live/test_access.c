/* tests/live/test_access.c - which client may do what: addresses, host names, ports, reloads, nested exports. */
#include "tests/lib/live.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/fake_hosts.h"

#define ONE "127.0.0.1"
#define TWO "127.0.0.2"
#define QUIET_MS 150                    /* without a reply for this long, a call waits */

static struct fake_hosts fake;

/* A connection from one of this machine's addresses; port 0: any. fd -1 where the port cannot be had. */
static struct live_conn
connect_from(struct live *srv, const char *address, uint16_t port)
{
    struct live_conn conn = { .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .type = SOCK_STREAM };
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(srv->nfs_port) };
    int one = 1;

    assert_true(conn.fd >= 0);
    setsockopt(conn.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));   /* a message follows its mark at once */
    from.sin_addr.s_addr = inet_addr(address);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(conn.fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
        connect(conn.fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        live_close(&conn);
    return conn;
}

/* All NFS calls come from this address from now on. */
static void
call_from(struct live *srv, const char *address)
{
    live_close(&srv->conn);
    srv->conn = connect_from(srv, address, 0);
    assert_true(srv->conn.fd >= 0);
}

/* Serve other lines: the export and the second one for these clients; NULL: not at all. */
static void
serve(struct live *srv, const char *clients, const char *second_clients)
{
    const char *scheme = srv->config->store == LIVE_MEMORY ? "memory:" : "";
    char path[PATH_MAX + 8], error[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/exports", srv->base);
    file = fopen(path, "w");
    assert_non_null(file);
    if (clients != NULL)
        fprintf(file, "%s%s %s\n", scheme, srv->export, clients);
    if (second_clients != NULL)
        fprintf(file, "%s%s %s\n", scheme, srv->second, second_clients);
    assert_int_equal(fclose(file), 0);
    if (server_reload_exports(srv->server, error, sizeof(error)) < 0)
        fail_msg("%s", error);
}

/* Mount over a connection that is there; the outcome of the call, and the reply in *res. */
static int
mount_over(struct live *srv, struct live_conn *conn, const char *path, mountres3 *res)
{
    const mount_dirpath name = { (u_int)strlen(path), (char *)path };

    memset(res, 0, sizeof(*res));
    return live_call(srv, conn, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, (xdrproc_t)xdr_mount_dirpath, &name,
                     (xdrproc_t)xdr_mountres3, res);
}

/* Mount over srv->conn. The handle lives as long as the server. */
static mountstat3
mount_here(struct live *srv, const char *path, nfs_fh3 *root)
{
    mountres3 res;
    mountstat3 status;

    assert_int_equal(mount_over(srv, &srv->conn, path, &res), LIVE_SUCCESS);
    status = res.fhs_status;
    if (status == MNT3_OK) {
        const fhandle3 *handle = &res.mountres3_u.mountinfo.fhandle;

        root->data.data_len = handle->fhandle3_len;
        root->data.data_val = live_keep(srv, handle->fhandle3_len);
        memcpy(root->data.data_val, handle->fhandle3_val, handle->fhandle3_len);
    }
    xdr_free((xdrproc_t)xdr_mountres3, (char *)&res);
    return status;
}

static nfs_fh3
mounted(struct live *srv, const char *path)
{
    nfs_fh3 root = { { 0, NULL } };

    assert_int_equal(mount_here(srv, path, &root), MNT3_OK);
    return root;
}

static nfsstat3
status_of(struct live *srv, const nfs_fh3 *file)
{
    return live_getattr(srv, file)->status;
}

/* A server beside the test's own whose names are what the test says. */
static struct live *
start_with_names(struct live *srv)
{
    const struct live_options options = { .hosts = &fake.source };

    fake_hosts_init(&fake);
    return live_start_beside(srv, &options);
}

/* Begin a GETATTR without waiting for its reply. */
static void
send_getattr(struct live *srv, struct live_conn *conn, const nfs_fh3 *file)
{
    const GETATTR3args args = { *file };
    uint8_t message[1024];
    size_t len = live_make_call(srv, message, sizeof(message), NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR,
                                (xdrproc_t)xdr_GETATTR3args, &args);

    assert_true(live_send_message(conn, message, len));
}

/* The status in the reply to it, or LIVE_TIMEOUT. */
static int
receive_status(struct live *srv, struct live_conn *conn, int timeout_ms)
{
    const uint8_t *reply;
    struct wire_in results;
    uint32_t xid;
    ssize_t len = live_receive(srv, conn, timeout_ms, &reply);

    if (len < 0)
        return (int)len;
    assert_int_equal(live_parse_reply(conn, reply, (size_t)len, &xid, &results), LIVE_SUCCESS);
    return (int)wire_get_u32(&results);
}

static void
each_export_is_for_its_own_clients(void **state)
{
    struct live *srv = *state;
    nfs_fh3 root;

    serve(srv, ONE "(rw,insecure)", TWO "(rw,insecure)");
    call_from(srv, ONE);
    assert_int_equal(mount_here(srv, srv->export, &root), MNT3_OK);
    assert_int_equal(mount_here(srv, srv->second, &root), MNT3ERR_ACCES);
    call_from(srv, TWO);
    assert_int_equal(mount_here(srv, srv->second, &root), MNT3_OK);
    assert_int_equal(mount_here(srv, srv->export, &root), MNT3ERR_ACCES);
}

/* Arguments that are right but for the handle. */
union any_args {
    nfs_fh3 first;
    SETATTR3args setattr;
    LOOKUP3args lookup;
    ACCESS3args access;
    READ3args read;
    WRITE3args write;
    CREATE3args create;
    MKDIR3args mkdir;
    SYMLINK3args symlink;
    MKNOD3args mknod;
    REMOVE3args remove;
    RMDIR3args rmdir;
    RENAME3args rename;
    LINK3args link;
    READDIR3args readdir;
    READDIRPLUS3args readdirplus;
    COMMIT3args commit;
};

static void
make_args(union any_args *args, uint32_t proc, const nfs_fh3 *file)
{
    const diropargs3 what = { *file, live_name("x") };

    memset(args, 0, sizeof(*args));
    args->first = *file;
    switch (proc) {
    case NFSPROC3_LOOKUP:
    case NFSPROC3_REMOVE:
    case NFSPROC3_RMDIR:
        args->lookup.what = what;
        break;
    case NFSPROC3_CREATE:
        args->create = (CREATE3args){ what, { UNCHECKED, { .obj_attributes = live_mode(0600) } } };
        break;
    case NFSPROC3_MKDIR:
        args->mkdir = (MKDIR3args){ what, live_mode(0700) };
        break;
    case NFSPROC3_SYMLINK:
        args->symlink = (SYMLINK3args){ what, { live_mode(0777), { 1, (char *)"y" } } };
        break;
    case NFSPROC3_MKNOD:
        args->mknod = (MKNOD3args){ what, { NF3FIFO, { .pipe_attributes = live_mode(0600) } } };
        break;
    case NFSPROC3_RENAME:
        args->rename = (RENAME3args){ what, what };
        break;
    case NFSPROC3_LINK:
        args->link = (LINK3args){ *file, what };
        break;
    case NFSPROC3_READ:
        args->read.count = 1;
        break;
    case NFSPROC3_READDIR:
        args->readdir.count = 1000;
        break;
    case NFSPROC3_READDIRPLUS:
        args->readdirplus.dircount = args->readdirplus.maxcount = 1000;
        break;
    }
}

/* Every procedure but NULL, on a handle: all come to this status. */
static void
assert_all(struct live *srv, const nfs_fh3 *file, nfsstat3 want)
{
    for (uint32_t proc = NFSPROC3_GETATTR; proc <= NFSPROC3_COMMIT; proc++) {
        union any_args args;
        const nfsstat3 *status;

        make_args(&args, proc, file);
        status = live_nfs(srv, proc, &args);
        if (*status != want)
            fail_msg("%s: status %d, not %d", live_proc_name(proc), *status, want);
    }
}

static void
a_handle_is_stale_for_every_other_client_in_every_procedure(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "secret", 6);

    serve(srv, ONE "(rw,insecure,no_root_squash)", TWO "(rw,insecure)");
    call_from(srv, TWO);
    assert_all(srv, &file, NFS3ERR_STALE);
    assert_all(srv, &srv->root, NFS3ERR_STALE);
    call_from(srv, ONE);
    live_assert_content(srv, &file, "secret", 6);
    assert_int_equal(live_count(srv, &srv->root), 1);
}

static void
the_other_handle_of_rename_and_link_is_checked_too(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "", 0), second;

    serve(srv, ONE "(rw,insecure,no_root_squash)", TWO "(rw,insecure,no_root_squash)");
    call_from(srv, TWO);
    second = mounted(srv, srv->second);
    call_from(srv, ONE);
    assert_int_equal(live_rename(srv, &srv->root, "file", &second, "gone")->status, NFS3ERR_STALE);
    assert_int_equal(live_rename(srv, &second, "x", &srv->root, "file")->status, NFS3ERR_STALE);
    assert_int_equal(live_link(srv, &file, &second, "gone")->status, NFS3ERR_STALE);
    assert_int_equal(live_link(srv, &second, &srv->root, "x")->status, NFS3ERR_STALE);
    assert_true(live_has(srv, &srv->root, "file"));
    serve(srv, ONE "(rw,insecure,no_root_squash)", "127.0.0.0/8(ro,insecure)");
    assert_int_equal(live_rename(srv, &srv->root, "file", &second, "gone")->status, NFS3ERR_ROFS);
    assert_int_equal(live_link(srv, &file, &second, "gone")->status, NFS3ERR_ROFS);
    serve(srv, ONE "(rw,insecure,no_root_squash)", "127.0.0.0/8(rw,insecure)");
    assert_int_equal(live_rename(srv, &srv->root, "file", &second, "gone")->status, NFS3ERR_XDEV);
    assert_int_equal(live_link(srv, &file, &second, "gone")->status, NFS3ERR_XDEV);
    call_from(srv, TWO);
    assert_int_equal(live_count(srv, &second), 0);
}

static void
each_client_has_its_own_options(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "old", 3);

    serve(srv, ONE "(ro,insecure,no_root_squash) 127.0.0.0/8(rw,insecure,no_root_squash)", NULL);
    call_from(srv, ONE);
    assert_int_equal(live_write(srv, &file, 0, "new", 3, FILE_SYNC)->status, NFS3ERR_ROFS);
    call_from(srv, TWO);
    assert_int_equal(live_write(srv, &file, 0, "new", 3, FILE_SYNC)->status, NFS3_OK);
    serve(srv, "127.0.0.0/30(ro,insecure,no_root_squash) 127.0.0.2/32(rw,insecure,no_root_squash)", NULL);
    assert_int_equal(live_write(srv, &file, 0, "old", 3, FILE_SYNC)->status, NFS3ERR_ROFS);
    live_assert_content(srv, &file, "new", 3);
}

static void
a_reload_takes_rights_away_from_the_next_call_on(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "", 0);

    call_from(srv, ONE);
    assert_int_equal(status_of(srv, &file), NFS3_OK);
    serve(srv, TWO "(rw,insecure)", NULL);
    assert_all(srv, &file, NFS3ERR_STALE);
    serve(srv, ONE "(ro,insecure)", NULL);
    assert_int_equal(status_of(srv, &file), NFS3_OK);
    assert_int_equal(live_write(srv, &file, 0, "x", 1, FILE_SYNC)->status, NFS3ERR_ROFS);
    serve(srv, NULL, "*(insecure)");
    assert_int_equal(status_of(srv, &file), NFS3ERR_STALE);
}

static void
a_reload_with_a_mistake_changes_nothing(void **state)
{
    struct live *srv = *state;
    char path[PATH_MAX + 8], error[1024];
    FILE *file;

    serve(srv, ONE "(rw,insecure)", NULL);
    snprintf(path, sizeof(path), "%s/exports", srv->base);
    file = fopen(path, "a");
    assert_non_null(file);
    fprintf(file, "memory:/other %s(rw,insecrue)\n", TWO);
    fclose(file);
    assert_int_equal(server_reload_exports(srv->server, error, sizeof(error)), -EINVAL);
    assert_non_null(strstr(error, "exports:2:28: unknown option insecrue (did you mean insecure?)"));
    call_from(srv, ONE);
    assert_int_equal(status_of(srv, &srv->root), NFS3_OK);
    call_from(srv, TWO);
    assert_int_equal(status_of(srv, &srv->root), NFS3ERR_STALE);
}

static void
a_secure_export_takes_calls_from_low_ports_only(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "", 0), root;
    uint16_t port;

    serve(srv, "*(rw,no_root_squash)", NULL);
    call_from(srv, ONE);
    assert_int_equal(mount_here(srv, srv->export, &root), MNT3ERR_ACCES);
    assert_all(srv, &file, NFS3ERR_PERM);
    live_close(&srv->conn);
    for (port = IPPORT_RESERVED - 1; port > 800 && srv->conn.fd < 0; port--)
        srv->conn = connect_from(srv, ONE, port);
    if (srv->conn.fd < 0) {
        print_message("left out: only root has ports below 1024\n");
        call_from(srv, ONE);
        return;
    }
    assert_int_equal(mount_here(srv, srv->export, &root), MNT3_OK);
    assert_int_equal(status_of(srv, &file), NFS3_OK);
}

static void
a_host_name_is_a_client(void **state)
{
    struct live *srv = start_with_names(*state);
    nfs_fh3 root;

    fake_address(&fake, "trusted", TWO);
    serve(srv, "trusted(rw,insecure)", NULL);
    call_from(srv, ONE);
    assert_int_equal(mount_here(srv, srv->export, &root), MNT3ERR_ACCES);
    assert_all(srv, &srv->root, NFS3ERR_STALE);
    call_from(srv, TWO);
    assert_int_equal(mount_here(srv, srv->export, &root), MNT3_OK);
    assert_int_equal(status_of(srv, &srv->root), NFS3_OK);
}

static void
a_host_name_that_moves_takes_its_rights_along(void **state)
{
    struct live *srv = start_with_names(*state);
    struct live_conn two;

    fake_address(&fake, "trusted", ONE);
    serve(srv, "trusted(rw,insecure)", NULL);
    call_from(srv, ONE);
    assert_int_equal(status_of(srv, &srv->root), NFS3_OK);
    fake_forget(&fake, "trusted");
    fake_address(&fake, "trusted", TWO);
    fake_pass_ms(&fake, 121000);                        /* host_ttl and a bit */
    assert_int_equal(status_of(srv, &srv->root), NFS3ERR_STALE);
    two = connect_from(srv, TWO, 0);
    send_getattr(srv, &two, &srv->root);
    assert_int_equal(receive_status(srv, &two, LIVE_WAIT_MS), NFS3_OK);
    live_close(&two);
}

static void
patterns_and_netgroups_are_clients(void **state)
{
    struct live *srv = start_with_names(*state);

    fake_host(&fake, "one.lab.example.org", ONE);
    fake_host(&fake, "two.example.com", TWO);
    fake_member(&fake, "friends", "two");
    serve(srv, "*.example.org(rw,insecure)", NULL);
    call_from(srv, TWO);
    assert_int_equal(status_of(srv, &srv->root), NFS3ERR_STALE);
    call_from(srv, ONE);
    assert_int_equal(status_of(srv, &srv->root), NFS3_OK);
    serve(srv, "@friends(rw,insecure)", NULL);
    assert_int_equal(status_of(srv, &srv->root), NFS3ERR_STALE);
    call_from(srv, TWO);
    assert_int_equal(status_of(srv, &srv->root), NFS3_OK);
}

static void
a_call_waits_for_a_name_and_holds_up_nobody_else(void **state)
{
    struct live *srv = start_with_names(*state);
    struct live_conn conn;
    nfs_fh3 second;

    fake_block(&fake, true);
    serve(srv, "trusted(rw,insecure)", "*(rw,insecure)");
    second = mounted(srv, srv->second);
    conn = connect_from(srv, ONE, 0);
    send_getattr(srv, &conn, &srv->root);
    assert_int_equal(receive_status(srv, &conn, QUIET_MS), LIVE_TIMEOUT);
    send_getattr(srv, &conn, &second);
    assert_int_equal(receive_status(srv, &conn, LIVE_WAIT_MS), NFS3_OK);
    assert_int_equal(status_of(srv, &second), NFS3_OK);
    fake_address(&fake, "trusted", ONE);
    fake_block(&fake, false);
    assert_int_equal(receive_status(srv, &conn, LIVE_WAIT_MS), NFS3_OK);
    live_close(&conn);
}

static void
mnt_waits_for_a_name(void **state)
{
    struct live *srv = start_with_names(*state);
    const mount_dirpath path = { (u_int)strlen(srv->export), srv->export };
    uint8_t message[PATH_MAX + 1024];
    size_t len;

    fake_block(&fake, true);
    serve(srv, "trusted(rw,insecure)", NULL);
    call_from(srv, ONE);
    len = live_make_call(srv, message, sizeof(message), MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT,
                         (xdrproc_t)xdr_mount_dirpath, &path);
    assert_true(live_send_message(&srv->conn, message, len));
    assert_int_equal(receive_status(srv, &srv->conn, QUIET_MS), LIVE_TIMEOUT);
    fake_address(&fake, "trusted", TWO);
    fake_block(&fake, false);
    assert_int_equal(receive_status(srv, &srv->conn, LIVE_WAIT_MS), MNT3ERR_ACCES);
}

static void
rename_waits_for_the_names_of_both_exports(void **state)
{
    struct live *srv = start_with_names(*state);
    nfs_fh3 file = live_put(srv, "file", "", 0), second;

    serve(srv, "*(rw,insecure,no_root_squash)", "*(rw,insecure,no_root_squash)");
    second = mounted(srv, srv->second);
    fake_address(&fake, "here", ONE);
    serve(srv, "here(rw,insecure,no_root_squash)", "elsewhere(rw,insecure,no_root_squash)");
    call_from(srv, ONE);
    assert_int_equal(live_rename(srv, &srv->root, "file", &second, "gone")->status, NFS3ERR_STALE);
    assert_int_equal(live_rename(srv, &srv->root, "file", &srv->root, "moved")->status, NFS3_OK);
    assert_int_equal(status_of(srv, &file), NFS3_OK);
}

static void
names_that_cannot_be_looked_up_are_a_reason_to_come_again(void **state)
{
    struct live *srv = start_with_names(*state);
    struct live_conn conn;

    fake_fail(&fake, -EAGAIN);
    serve(srv, "trusted(rw,insecure) *(ro,insecure)", NULL);
    call_from(srv, ONE);
    assert_all(srv, &srv->root, NFS3ERR_JUKEBOX);
    fake_fail(&fake, 0);
    fake_address(&fake, "trusted", ONE);
    fake_pass_ms(&fake, 31000);
    conn = connect_from(srv, ONE, 0);
    send_getattr(srv, &conn, &srv->root);
    assert_int_equal(receive_status(srv, &conn, LIVE_WAIT_MS), NFS3_OK);
    live_close(&conn);
}

static void
a_server_that_is_stopped_waits_for_no_name(void **state)
{
    struct live *srv = *state;
    const struct live_options options = { .hosts = &fake.source };
    struct live *other;
    struct live_conn conn;
    uint64_t before;

    fake_hosts_init(&fake);
    other = live_start(srv->config, &options);
    fake_block(&fake, true);
    serve(other, "trusted(rw,insecure)", NULL);
    conn = connect_from(other, ONE, 0);
    send_getattr(other, &conn, &other->root);
    assert_int_equal(receive_status(other, &conn, QUIET_MS), LIVE_TIMEOUT);
    before = live_now_ms();
    live_stop(other);
    assert_true(live_now_ms() - before < LIVE_WAIT_MS);
    live_close(&conn);
    fake_block(&fake, false);
    usleep(50000);                                      /* the thread that was left behind ends */
}

/*
 * As with the kernel's server: what lies below a nested export that is no mount point is reached through the outer one
 * as well, by handles of the outer one and under its rules.
 */
static void
a_nested_export_has_its_own_rules_for_its_own_handles(void **state)
{
    struct live *srv = *state;
    char path[PATH_MAX + 16], error[1024];
    nfs_fh3 dir, outer_root, outer, inner, found;
    FILE *file;

    live_need_directory(srv);
    dir = live_dir(srv, &srv->root, "b", 0777);
    live_file(srv, &dir, "f", 0666);
    snprintf(path, sizeof(path), "%s/exports", srv->base);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s *(ro,insecure,no_root_squash)\n%s/b " TWO "(rw,insecure,no_root_squash)\n", srv->export,
            srv->export);
    fclose(file);
    if (server_reload_exports(srv->server, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    snprintf(path, sizeof(path), "%.4000s/b", srv->export);
    call_from(srv, ONE);
    outer_root = mounted(srv, srv->export);
    outer = live_find(srv, &outer_root, "b");
    inner = mounted(srv, path);
    assert_true(live_same_handle(&inner, &outer));      /* as mountd: he is a client of the outer one alone */
    found = live_find(srv, &outer, "f");
    assert_int_equal(live_write(srv, &found, 0, "x", 1, FILE_SYNC)->status, NFS3ERR_ROFS);
    call_from(srv, TWO);
    inner = mounted(srv, path);
    assert_false(live_same_handle(&inner, &outer));
    assert_int_equal(live_create(srv, &outer, "new", GUARDED, live_mode(0600))->status, NFS3ERR_ROFS);
    assert_int_equal(live_create(srv, &inner, "new", GUARDED, live_mode(0600))->status, NFS3_OK);
    found = live_find(srv, &inner, "..");
    assert_true(live_same_handle(&found, &inner));
    assert_int_equal(live_rename(srv, &inner, "new", &outer, "moved")->status, NFS3ERR_ROFS);
    call_from(srv, ONE);
    assert_all(srv, &inner, NFS3ERR_STALE);
    assert_true(live_has(srv, &outer, "new"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_export_is_for_its_own_clients),
        cmocka_unit_test(a_handle_is_stale_for_every_other_client_in_every_procedure),
        cmocka_unit_test(the_other_handle_of_rename_and_link_is_checked_too),
        cmocka_unit_test(each_client_has_its_own_options),
        cmocka_unit_test(a_reload_takes_rights_away_from_the_next_call_on),
        cmocka_unit_test(a_reload_with_a_mistake_changes_nothing),
        cmocka_unit_test(a_secure_export_takes_calls_from_low_ports_only),
        cmocka_unit_test(a_host_name_is_a_client),
        cmocka_unit_test(a_host_name_that_moves_takes_its_rights_along),
        cmocka_unit_test(patterns_and_netgroups_are_clients),
        cmocka_unit_test(a_call_waits_for_a_name_and_holds_up_nobody_else),
        cmocka_unit_test(mnt_waits_for_a_name),
        cmocka_unit_test(rename_waits_for_the_names_of_both_exports),
        cmocka_unit_test(names_that_cannot_be_looked_up_are_a_reason_to_come_again),
        cmocka_unit_test(a_server_that_is_stopped_waits_for_no_name),
        cmocka_unit_test(a_nested_export_has_its_own_rules_for_its_own_handles),
    };

    return live_main("access", tests, sizeof(tests) / sizeof(*tests));
}
