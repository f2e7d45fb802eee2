/* tests/live/test_faults.c - rules of faults that the store and the procedures carry out, and which calls they are for. */
#include "tests/lib/live.h"

#include <stdatomic.h>
#include <stdio.h>

#define USUAL "rw,no_root_squash,insecure"
#define QUIET_MS 150                    /* without a reply for this long, a call waits */
#define SECOND UINT64_C(1000000000)     /* ns */
#define MANY 200

static _Atomic uint64_t now_ns;

static uint64_t
fake_now(void *context)
{
    (void)context;
    return atomic_load(&now_ns);
}

static const struct rate_clock fake_clock = { .now_ns = fake_now };

/* The name of a status as rules have it, and the status. */
static const struct {
    const char *name;
    nfsstat3 status;
} statuses[] = {
    { "PERM", NFS3ERR_PERM }, { "NOENT", NFS3ERR_NOENT }, { "IO", NFS3ERR_IO }, { "NXIO", NFS3ERR_NXIO },
    { "ACCES", NFS3ERR_ACCES }, { "EXIST", NFS3ERR_EXIST }, { "XDEV", NFS3ERR_XDEV }, { "NODEV", NFS3ERR_NODEV },
    { "NOTDIR", NFS3ERR_NOTDIR }, { "ISDIR", NFS3ERR_ISDIR }, { "INVAL", NFS3ERR_INVAL }, { "FBIG", NFS3ERR_FBIG },
    { "NOSPC", NFS3ERR_NOSPC }, { "ROFS", NFS3ERR_ROFS }, { "MLINK", NFS3ERR_MLINK },
    { "NAMETOOLONG", NFS3ERR_NAMETOOLONG }, { "NOTEMPTY", NFS3ERR_NOTEMPTY }, { "DQUOT", NFS3ERR_DQUOT },
    { "STALE", NFS3ERR_STALE }, { "REMOTE", NFS3ERR_REMOTE }, { "BADHANDLE", NFS3ERR_BADHANDLE },
    { "NOT_SYNC", NFS3ERR_NOT_SYNC }, { "BAD_COOKIE", NFS3ERR_BAD_COOKIE }, { "NOTSUPP", NFS3ERR_NOTSUPP },
    { "TOOSMALL", NFS3ERR_TOOSMALL }, { "SERVERFAULT", NFS3ERR_SERVERFAULT }, { "BADTYPE", NFS3ERR_BADTYPE },
    { "JUKEBOX", NFS3ERR_JUKEBOX },
};

static void
use_udp(struct live *srv)
{
    live_close(&srv->conn);
    srv->conn = live_connect(srv, SOCK_DGRAM, AF_INET);
}

static void
every_error_of_the_rfc_can_be_told_by_every_kind_of_call(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);

    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        live_fault(srv, "when proc=GETATTR,READ,LOOKUP,WRITE do error=%s", statuses[i].name);
        assert_int_equal(live_getattr(srv, &file)->status, statuses[i].status);
        assert_int_equal(live_read(srv, &file, 0, 5)->status, statuses[i].status);
        assert_int_equal(live_lookup(srv, &srv->root, "f")->status, statuses[i].status);
        assert_int_equal(live_write(srv, &file, 0, "H", 1, FILE_SYNC)->status, statuses[i].status);
        live_clear_faults(srv);
        live_fault(srv, "do error=NFS3ERR_%s", statuses[i].name);
        assert_int_equal(live_getattr(srv, &file)->status, statuses[i].status);
        live_clear_faults(srv);
    }
    live_assert_content(srv, &file, "hello", 5);
}

static void
an_error_is_told_with_the_attributes_and_nothing_is_done(void **state)
{
    struct live *srv = *state;
    CREATE3res *made;

    live_fault(srv, "when proc=CREATE do error=DQUOT");
    made = live_create(srv, &srv->root, "new", GUARDED, live_mode(0644));
    assert_int_equal(made->status, NFS3ERR_DQUOT);
    assert_true(made->CREATE3res_u.resfail.dir_wcc.after.attributes_follow);
    assert_false(live_has(srv, &srv->root, "new"));
    use_udp(srv);
    assert_int_equal(live_create(srv, &srv->root, "new", GUARDED, live_mode(0644))->status, NFS3ERR_DQUOT);
}

static void
jukebox_some_times_and_then_all_is_well(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    uint32_t id = live_fault(srv, "when proc=READ times=3 do error=JUKEBOX");

    for (int i = 0; i < 3; i++)
        assert_int_equal(live_read(srv, &file, 0, 5)->status, NFS3ERR_JUKEBOX);
    live_assert_content(srv, &file, "hello", 5);
    live_assert_fault(srv, id, 4, 3);
}

static void
the_nth_call_fails_and_no_other(void **state)
{
    struct live *srv = *state;
    uint32_t id = live_fault(srv, "when proc=GETATTR nth=3 do error=IO");
    uint32_t two = live_fault(srv, "when proc=ACCESS nth=2 times=2 do error=IO");

    for (int i = 1; i <= 5; i++)
        assert_int_equal(live_getattr(srv, &srv->root)->status, i == 3 ? NFS3ERR_IO : NFS3_OK);
    for (int i = 1; i <= 5; i++)
        assert_int_equal(live_access(srv, &srv->root, 1)->status, i == 2 || i == 3 ? NFS3ERR_IO : NFS3_OK);
    live_assert_fault(srv, id, 5, 1);
    live_assert_fault(srv, two, 5, 2);
}

/* Bit i: the i-th of many calls failed. */
static void
draw(struct live *srv, const char *seed, bool failed[MANY])
{
    live_fault(srv, "when proc=GETATTR probability=25%% %s do error=IO", seed);
    for (int i = 0; i < MANY; i++)
        failed[i] = live_getattr(srv, &srv->root)->status == NFS3ERR_IO;
    live_clear_faults(srv);
}

static void
with_the_same_seed_the_same_calls_fail(void **state)
{
    struct live *srv = *state;
    bool one[MANY], again[MANY], other[MANY];
    int count = 0;

    draw(srv, "seed=7", one);
    draw(srv, "seed=7", again);
    draw(srv, "", other);
    for (int i = 0; i < MANY; i++)
        count += one[i];
    assert_in_range(count, MANY / 8, MANY * 3 / 8);
    assert_memory_equal(one, again, sizeof(one));
    assert_memory_not_equal(one, other, sizeof(one));
}

static void
a_rule_is_for_its_client_alone(void **state)
{
    struct live *srv = *state;

    live_fault(srv, "when client=127.0.0.0/8 do error=IO");
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_IO);
    live_clear_faults(srv);
    live_fault(srv, "when client=127.0.0.1 do error=IO");
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_IO);
    live_clear_faults(srv);
    live_fault(srv, "when client=192.0.2.0/24 do error=IO");
    live_fault(srv, "when client=::/0 do error=IO");
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
}

static void
a_rule_is_for_its_transport_alone(void **state)
{
    struct live *srv = *state;

    live_fault(srv, "when over=udp do error=IO");
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    use_udp(srv);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_IO);
}

static void
a_rule_is_for_its_handle_alone(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5), other = live_put(srv, "g", "hello", 5);
    char hex[2 * NFS3_FHSIZE + 1] = "";

    for (u_int i = 0; i < file.data.data_len; i++)
        sprintf(hex + 2 * i, "%02X", (uint8_t)file.data.data_val[i]);
    live_fault(srv, "when handle=%s do error=IO", hex);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_IO);
    assert_int_equal(live_getattr(srv, &other)->status, NFS3_OK);
}

static void
a_rule_is_for_its_export_alone(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .second_options = USUAL });
    nfs_fh3 second = live_mount(srv, srv->second);

    live_fault(srv, "when export=%s do error=IO", srv->second);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &second)->status, NFS3ERR_IO);
}

static void
a_rule_is_for_what_its_path_names_now(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "dir", 0755), sub = live_dir(srv, &dir, "sub", 0755);
    uint32_t id = live_fault(srv, "when path=%s/dir/sub/file do error=IO", srv->export);
    nfs_fh3 file, other;

    assert_int_equal(live_create(srv, &sub, "file", GUARDED, live_mode(0644))->status, NFS3ERR_IO);
    other = live_file(srv, &sub, "other", 0644);
    assert_int_equal(live_rename(srv, &sub, "other", &sub, "file")->status, NFS3_OK);
    file = other;
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_IO);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3ERR_IO);
    assert_int_equal(live_lookup(srv, &sub, "file")->status, NFS3ERR_IO);
    assert_int_equal(live_getattr(srv, &sub)->status, NFS3_OK);
    assert_int_equal(live_rename(srv, &dir, "sub", &srv->root, "sub")->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);
    live_assert_fault(srv, id, 4, 4);
    live_clear_faults(srv);
    live_fault(srv, "when path=%s do error=IO", srv->export);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_IO);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3_OK);
}

static void
a_rule_is_for_names_that_fit(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "a.txt", "", 0);

    live_fault(srv, "when name=*.tmp do error=ACCES");
    assert_int_equal(live_create(srv, &srv->root, "a.tmp", GUARDED, live_mode(0644))->status, NFS3ERR_ACCES);
    assert_int_equal(live_link(srv, &file, &srv->root, "b.tmp")->status, NFS3ERR_ACCES);
    assert_int_equal(live_rename(srv, &srv->root, "a.txt", &srv->root, "c.tmp")->status, NFS3_OK);
    assert_int_equal(live_rename(srv, &srv->root, "c.tmp", &srv->root, "a.txt")->status, NFS3ERR_ACCES);
}

static void
nfsacl_has_faults_too(void **state)
{
    struct live *srv = *state;

    live_fault(srv, "when proc=GETACL do error=IO");
    assert_int_equal(live_getacl(srv, &srv->root, NFS_ACL)->status, NFS3ERR_IO);
}

static void
a_stale_handle_is_told_without_attributes(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);
    READ3res *res;

    live_fault(srv, "when path=%s/f proc=READ,GETATTR do stale", srv->export);
    res = live_read(srv, &file, 0, 5);
    assert_int_equal(res->status, NFS3ERR_STALE);
    assert_false(res->READ3res_u.resfail.file_attributes.attributes_follow);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_STALE);
    use_udp(srv);
    assert_int_equal(live_getattr(srv, &file)->status, NFS3ERR_STALE);
}

static void
a_short_read_is_a_success_with_fewer_bytes(void **state)
{
    struct live *srv = *state;
    size_t size = 1 << 20;
    char *data = live_keep(srv, size);
    nfs_fh3 file;
    READ3res *res;

    memset(data, 'x', size);
    file = live_put(srv, "f", data, size);
    live_fault(srv, "when proc=READ do short-read=1000");
    for (uint32_t count = 2000; count <= size; count *= 8) {
        res = live_read(srv, &file, 0, count);
        assert_int_equal(res->status, NFS3_OK);
        assert_int_equal(res->READ3res_u.resok.count, 1000);
        assert_false(res->READ3res_u.resok.eof);
    }
    res = live_read(srv, &file, size - 500, 2000);
    assert_true(res->READ3res_u.resok.count == 500 && res->READ3res_u.resok.eof);
    live_clear_faults(srv);
    live_fault(srv, "do short-read=0");
    res = live_read(srv, &file, 0, 10);
    assert_true(res->status == NFS3_OK && res->READ3res_u.resok.count == 0 && !res->READ3res_u.resok.eof);
}

static void
a_short_write_is_a_success_with_fewer_bytes(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    WRITE3res *res;

    live_fault(srv, "do short-write=3");
    res = live_write(srv, &file, 0, "hello", 5, FILE_SYNC);
    assert_int_equal(res->status, NFS3_OK);
    assert_int_equal(res->WRITE3res_u.resok.count, 3);
    live_assert_content(srv, &file, "hel", 3);
}

static void
a_disk_is_full_after_so_many_bytes(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    WRITE3res *res;

    live_fault(srv, "do full=10");
    assert_int_equal(live_write(srv, &file, 0, "12345678", 8, FILE_SYNC)->WRITE3res_u.resok.count, 8);
    assert_int_equal(live_create(srv, &srv->root, "g", GUARDED, live_mode(0644))->status, NFS3_OK);
    res = live_write(srv, &file, 8, "12345678", 8, FILE_SYNC);
    assert_true(res->status == NFS3_OK && res->WRITE3res_u.resok.count == 2);
    assert_int_equal(live_write(srv, &file, 10, "1", 1, FILE_SYNC)->status, NFS3ERR_NOSPC);
    assert_int_equal(live_create(srv, &srv->root, "h", GUARDED, live_mode(0644))->status, NFS3ERR_NOSPC);
    assert_int_equal(live_mkdir(srv, &srv->root, "h", live_mode(0755))->status, NFS3ERR_NOSPC);
    assert_int_equal(live_remove(srv, &srv->root, "g")->status, NFS3_OK);
    live_assert_content(srv, &file, "1234567812", 10);
    live_clear_faults(srv);
    assert_int_equal(live_write(srv, &file, 10, "1", 1, FILE_SYNC)->status, NFS3_OK);
}

static uint64_t
verifier_of(const char *verf)
{
    uint64_t verifier;

    memcpy(&verifier, verf, sizeof(verifier));
    return verifier;
}

static uint64_t
commit(struct live *srv, const nfs_fh3 *file)
{
    COMMIT3res *res = live_commit(srv, file, 0, 0);

    assert_int_equal(res->status, NFS3_OK);
    return verifier_of(res->COMMIT3res_u.resok.verf);
}

static void
a_flush_that_fails_is_told_and_changes_the_verifier(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    uint64_t before = commit(srv, &file);
    uint32_t id = live_fault(srv, "when times=2 do fail-flush");

    assert_int_equal(live_write(srv, &file, 0, "a", 1, UNSTABLE)->status, NFS3_OK);
    live_assert_fault(srv, id, 0, 0);
    assert_int_equal(live_commit(srv, &file, 0, 0)->status, NFS3ERR_IO);
    assert_int_equal(live_write(srv, &file, 0, "b", 1, DATA_SYNC)->status, NFS3ERR_IO);
    assert_true(commit(srv, &file) != before);
    live_assert_fault(srv, id, 3, 2);
}

static void
the_verifier_changes_when_it_is_told_to_and_stays_then(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    uint64_t before = commit(srv, &file), after;
    WRITE3res *res;

    live_fault(srv, "when proc=WRITE nth=1 do verifier");
    res = live_write(srv, &file, 0, "a", 1, UNSTABLE);
    assert_int_equal(res->status, NFS3_OK);
    after = verifier_of(res->WRITE3res_u.resok.verf);
    assert_true(after != before);
    assert_true(commit(srv, &file) == after);
    live_fault(srv, "when proc=COMMIT times=1 do verifier");
    assert_true(commit(srv, &file) != after);
    live_assert_content(srv, &file, "a", 1);
}

static void
send_getattr(struct live *srv, struct live_conn *conn)
{
    uint8_t call[LIVE_CALL_MAX];
    size_t len = live_getattr_call(srv, call);

    assert_true(live_send_message(conn, call, len));
}

static void
a_delayed_call_is_answered_when_its_time_has_come_and_others_before(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .clock = &fake_clock });
    static const int types[] = { SOCK_STREAM, SOCK_DGRAM };
    const uint8_t *reply;

    atomic_store(&now_ns, 1000 * SECOND);
    for (size_t i = 0; i < 2; i++) {
        struct live_conn conn = live_connect(srv, types[i], AF_INET);
        uint32_t xid;

        live_fault(srv, "when proc=GETATTR times=1 do delay=20ms");
        send_getattr(srv, &conn);
        xid = srv->xid;
        assert_int_equal(live_receive(srv, &conn, QUIET_MS, &reply), LIVE_TIMEOUT);
        send_getattr(srv, &conn);
        live_assert_answered(srv, &conn, srv->xid);
        atomic_fetch_add(&now_ns, SECOND);
        live_assert_answered(srv, &conn, xid);
        live_close(&conn);
        live_clear_faults(srv);
    }
}

static void
a_server_that_stops_does_not_wait_for_a_delayed_call(void **state)
{
    struct live *srv = live_start_beside(*state, NULL);

    live_fault(srv, "when proc=GETATTR do delay=3600s");
    send_getattr(srv, &srv->conn);
    live_restart(srv);
}

static void
rules_are_cleared_while_calls_wait(void **state)
{
    struct live *srv = live_start_beside(*state, NULL);

    live_fault(srv, "when proc=GETATTR do delay=50ms");
    for (int i = 0; i < 20; i++) {
        send_getattr(srv, &srv->conn);
        live_clear_faults(srv);
        live_fault(srv, "when proc=GETATTR do delay=%dms", 10 + i);
    }
    for (int i = 0; i < 20; i++) {
        const uint8_t *reply;

        assert_true(live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply) > 0);
    }
}

static void
faults_of_several_rules_come_together(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    uint32_t first = live_fault(srv, "when proc=WRITE do short-write=2");
    uint32_t second = live_fault(srv, "when proc=WRITE do error=IO");
    uint64_t before = commit(srv, &file);
    WRITE3res *res;

    live_fault(srv, "when proc=WRITE do verifier");
    live_fault(srv, "when proc=WRITE do delay=1ms");
    res = live_write(srv, &file, 0, "abc", 3, FILE_SYNC);
    assert_true(res->status == NFS3_OK && res->WRITE3res_u.resok.count == 2);
    assert_true(verifier_of(res->WRITE3res_u.resok.verf) != before);
    live_assert_fault(srv, first, 1, 1);
    live_assert_fault(srv, second, 0, 0);
}

static void
rules_stay_over_a_restart(void **state)
{
    struct live *srv = live_start_beside(*state, NULL);
    uint32_t id = live_fault(srv, "when proc=GETATTR do error=IO");

    live_restart(srv);
    srv->root = live_mount(srv, srv->export);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3ERR_IO);
    live_assert_fault(srv, id, 1, 1);
}

static void
a_rule_that_no_call_of_this_server_can_match_is_refused(void **state)
{
    static const char *const rules[] = {
        "when path=/nowhere/f do error=IO", "when export=/nowhere do error=IO",
        "when handle=00112233 do error=IO",
    };
    struct live *srv = *state;
    char error[1024], rule[PATH_MAX + 64];

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        assert_int_equal(server_fault_add(srv->server, rules[i], error, sizeof(error)), -EINVAL);
        assert_non_null(strstr(error, "no call can match"));
    }
    snprintf(rule, sizeof(rule), "when export=%s/below do error=IO", srv->export);
    assert_int_equal(server_fault_add(srv->server, rule, error, sizeof(error)), -EINVAL);
    assert_non_null(strstr(error, "not exported"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_of_the_rfc_can_be_told_by_every_kind_of_call),
        cmocka_unit_test(an_error_is_told_with_the_attributes_and_nothing_is_done),
        cmocka_unit_test(jukebox_some_times_and_then_all_is_well),
        cmocka_unit_test(the_nth_call_fails_and_no_other),
        cmocka_unit_test(with_the_same_seed_the_same_calls_fail),
        cmocka_unit_test(a_rule_is_for_its_client_alone),
        cmocka_unit_test(a_rule_is_for_its_transport_alone),
        cmocka_unit_test(a_rule_is_for_its_handle_alone),
        cmocka_unit_test(a_rule_is_for_its_export_alone),
        cmocka_unit_test(a_rule_is_for_what_its_path_names_now),
        cmocka_unit_test(a_rule_is_for_names_that_fit),
        cmocka_unit_test(nfsacl_has_faults_too),
        cmocka_unit_test(a_stale_handle_is_told_without_attributes),
        cmocka_unit_test(a_short_read_is_a_success_with_fewer_bytes),
        cmocka_unit_test(a_short_write_is_a_success_with_fewer_bytes),
        cmocka_unit_test(a_disk_is_full_after_so_many_bytes),
        cmocka_unit_test(a_flush_that_fails_is_told_and_changes_the_verifier),
        cmocka_unit_test(the_verifier_changes_when_it_is_told_to_and_stays_then),
        cmocka_unit_test(a_delayed_call_is_answered_when_its_time_has_come_and_others_before),
        cmocka_unit_test(a_server_that_stops_does_not_wait_for_a_delayed_call),
        cmocka_unit_test(rules_are_cleared_while_calls_wait),
        cmocka_unit_test(faults_of_several_rules_come_together),
        cmocka_unit_test(rules_stay_over_a_restart),
        cmocka_unit_test(a_rule_that_no_call_of_this_server_can_match_is_refused),
    };

    return live_main("faults", tests, sizeof(tests) / sizeof(*tests));
}
