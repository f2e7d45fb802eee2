/* tests/live/test_acl.c - NFSACL: ACLs are told and set as the kernel's server does. What they mean is acl(5). */
#include "tests/lib/live_acl.h"

#include <sys/xattr.h>

#define CALL_MAX 32768

static void
a_file_without_an_acl_has_the_four_entries_of_its_mode(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0751), dir = live_her_dir(srv, "dir", 0700);

    ASSERT_ACL(srv, &file, { OWNER(7), GROUP_OBJ(5), MASK(5), OTHER(1) });
    ASSERT_ACL(srv, &dir, { OWNER(7), GROUP_OBJ(0), MASK(0), OTHER(0) });
    live_assert_default(srv, &file, NULL, 0);
    live_assert_default(srv, &dir, NULL, 0);
}

static void
what_is_not_asked_for_is_not_told(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0755);
    uint32_t mask;

    assert_int_equal(live_setacl(srv, &dir, BOTH, bob_reads, COUNT(bob_reads), team_writes, COUNT(team_writes))->status,
                     NFS3_OK);
    for (mask = 0; mask <= ALL; mask++) {
        GETACL3res *res = live_getacl(srv, &dir, mask);
        const secattr *acl = &res->GETACL3res_u.resok.acl;

        assert_int_equal(res->status, NFS3_OK);
        assert_int_equal(acl->mask, mask);
        assert_int_equal(acl->aclcnt, mask & (NFS_ACL | NFS_ACLCNT) ? COUNT(bob_reads) : 0);
        assert_int_equal(acl->aclents.aclents_len, mask & NFS_ACL ? COUNT(bob_reads) : 0);
        assert_int_equal(acl->dfaclcnt, mask & (NFS_DFACL | NFS_DFACLCNT) ? COUNT(team_writes) : 0);
        assert_int_equal(acl->dfaclents.dfaclents_len, mask & NFS_DFACL ? COUNT(team_writes) : 0);
    }
    assert_int_equal(live_getacl(srv, &dir, ALL + 1)->status, NFS3ERR_INVAL);
    assert_int_equal(live_getacl(srv, &dir, 0x80000001)->status, NFS3ERR_INVAL);
}

static void
what_is_set_is_told_again_and_the_group_bits_of_the_mode_are_its_mask(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0644);
    nfstime3 before = live_attr(srv, &file).ctime;
    SETACL3res *res;

    live_tick();
    live_as(srv, ALICE, HERS);
    res = SET(srv, &file, team_writes);
    assert_int_equal(res->status, NFS3_OK);
    assert_true(res->SETACL3res_u.resok.attr.attributes_follow);
    assert_int_equal(res->SETACL3res_u.resok.attr.post_op_attr_u.attributes.mode, 0761);
    assert_false(live_same_time(res->SETACL3res_u.resok.attr.post_op_attr_u.attributes.ctime, before));
    assert_int_equal(live_attr(srv, &file).mode, 0761);
    live_assert_acl(srv, &file, team_writes, COUNT(team_writes));
}

static void
entries_are_taken_in_any_order_and_told_in_one(void **state)
{
    static const aclent mixed[] = { OTHER(1), GROUP(TEAM, 6), MASK(6), USER(BOB, 7), GROUP_OBJ(5), OWNER(7) };
    static const aclent users[] = { USER(7, 1), USER(0x80000000, 2), USER(3, 3), OWNER(7), USER(0xfffffffe, 4),
                                    GROUP_OBJ(0), OTHER(0), MASK(7), GROUP(9, 1), GROUP(8, 2) };
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0644);

    assert_int_equal(SET(srv, &file, mixed)->status, NFS3_OK);
    live_assert_acl(srv, &file, team_writes, COUNT(team_writes));
    assert_int_equal(SET(srv, &file, users)->status, NFS3_OK);
    ASSERT_ACL(srv, &file, { OWNER(7), USER(3, 3), USER(7, 1), USER(0x80000000, 2), USER(0xfffffffe, 4), GROUP_OBJ(0),
                             GROUP(8, 2), GROUP(9, 1), MASK(7), OTHER(0) });
}

/* As the kernel's server: acl(5) has no such ACLs. */
static void
somebody_who_is_named_twice_counts_with_the_first_entry(void **state)
{
    static const aclent twice[] = { OWNER(6), USER(BOB, 4), USER(BOB, 2), USER(BOB, 6), GROUP_OBJ(4), MASK(6), OTHER(0) };
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0600);

    assert_int_equal(SET(srv, &file, twice)->status, NFS3_OK);
    live_assert_acl(srv, &file, twice, COUNT(twice));
    assert_int_equal(live_may(srv, &file, BOB, 1), ACCESS3_READ);
}

static void
the_ids_of_entries_that_name_nobody_are_not_looked_at(void **state)
{
    static const aclent odd[] = { { NFS_ACL_USER_OBJ, 77, 7 }, USER(BOB, 4), { NFS_ACL_GROUP_OBJ, 0xffffffff, 5 },
                                  { NFS_ACL_CLASS_OBJ, 9, 5 }, { NFS_ACL_OTHER_OBJ, 0xffffffff, 0 } };
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0644);

    assert_int_equal(SET(srv, &file, odd)->status, NFS3_OK);
    live_assert_acl(srv, &file, bob_reads, COUNT(bob_reads));
    assert_int_equal(live_attr(srv, &file).uid, ALICE);
}

static void
a_minimal_acl_is_a_mode(void **state)
{
    static const aclent three[] = { OWNER(6), GROUP_OBJ(4), OTHER(0) };
    static const aclent four[] = { OWNER(7), GROUP_OBJ(5), MASK(5), OTHER(1) };
    static const aclent masked[] = { OWNER(7), GROUP_OBJ(7), MASK(1), OTHER(1) };
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0777);

    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    assert_int_equal(SET(srv, &file, three)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0640);
    ASSERT_ACL(srv, &file, { OWNER(6), GROUP_OBJ(4), MASK(4), OTHER(0) });
    assert_int_equal(SET(srv, &file, four)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0751);
    live_chmod(srv, &file, 0720);       /* its group's bits are the group's: there is no mask behind them */
    ASSERT_ACL(srv, &file, { OWNER(7), GROUP_OBJ(2), MASK(2), OTHER(0) });
    assert_int_equal(SET(srv, &file, masked)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0711);
    live_assert_acl(srv, &file, masked, COUNT(masked));
}

static void
chmod_sets_the_mask(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0644);

    assert_int_equal(SET(srv, &file, team_writes)->status, NFS3_OK);
    live_chmod(srv, &file, 0604);
    ASSERT_ACL(srv, &file, { OWNER(6), USER(BOB, 7), GROUP_OBJ(5), GROUP(TEAM, 6), MASK(0), OTHER(4) });
}

static void
setacl_without_entries_removes_the_acl_and_leaves_the_mode(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0755);
    const aclent none[] = { OWNER(0) };

    assert_int_equal(live_setacl(srv, &dir, BOTH, team_writes, COUNT(team_writes), bob_reads, COUNT(bob_reads))->status,
                     NFS3_OK);
    live_assert_default(srv, &dir, bob_reads, COUNT(bob_reads));
    assert_int_equal(live_setacl(srv, &dir, BOTH, team_writes, COUNT(team_writes), none, 0)->status, NFS3_OK);
    live_assert_default(srv, &dir, NULL, 0);
    live_assert_acl(srv, &dir, team_writes, COUNT(team_writes));
    assert_int_equal(live_setacl(srv, &dir, BOTH, none, 0, none, 0)->status, NFS3_OK);
    ASSERT_ACL(srv, &dir, { OWNER(7), GROUP_OBJ(6), MASK(6), OTHER(1) });
    assert_int_equal(live_attr(srv, &dir).mode, 0761);
}

static void
an_acl_that_the_mask_does_not_name_stays(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0755), link = live_link_to(srv, &srv->root, "link", "dir");
    nfstime3 before;

    assert_int_equal(live_setacl(srv, &dir, BOTH, team_writes, COUNT(team_writes), bob_reads, COUNT(bob_reads))->status,
                     NFS3_OK);
    assert_int_equal(SET(srv, &dir, bob_reads)->status, NFS3_OK);
    live_assert_acl(srv, &dir, bob_reads, COUNT(bob_reads));
    live_assert_default(srv, &dir, bob_reads, COUNT(bob_reads));
    assert_int_equal(live_setacl(srv, &dir, NFS_DFACL, NULL, 0, team_writes, COUNT(team_writes))->status, NFS3_OK);
    live_assert_acl(srv, &dir, bob_reads, COUNT(bob_reads));
    live_assert_default(srv, &dir, team_writes, COUNT(team_writes));
    before = live_attr(srv, &dir).ctime;
    live_tick();
    live_as(srv, BOB, 1);               /* nothing is asked, so nobody is refused */
    assert_int_equal(live_setacl(srv, &dir, NFS_ACLCNT | NFS_DFACLCNT, team_writes, COUNT(team_writes), NULL, 0)->status,
                     NFS3_OK);
    assert_int_equal(live_setacl(srv, &link, 0, NULL, 0, NULL, 0)->status, NFS3_OK);
    live_assert_acl(srv, &dir, bob_reads, COUNT(bob_reads));
    assert_true(live_same_time(live_attr(srv, &dir).ctime, before));
}

static void
what_is_no_acl_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        u_int count;
        aclent list[8];
    } wrong[] = {
        { 1, { OWNER(7) } },
        { 2, { OWNER(7), GROUP_OBJ(7) } },
        { 3, { GROUP_OBJ(5), OTHER(5), MASK(5) } },
        { 3, { OWNER(7), GROUP_OBJ(7), GROUP_OBJ(7) } },
        { 4, { OWNER(7), OWNER(7), GROUP_OBJ(5), OTHER(5) } },
        { 4, { OWNER(7), GROUP_OBJ(5), OTHER(5), OTHER(5) } },
        { 4, { GROUP_OBJ(5), MASK(5), MASK(5), OTHER(5) } },
        { 4, { GROUP_OBJ(5), MASK(5), OTHER(5), OTHER(5) } },
        { 4, { GROUP_OBJ(5), GROUP_OBJ(5), GROUP_OBJ(5), MASK(5) } },
        { 4, { OWNER(7), USER(BOB, 7), GROUP_OBJ(5), OTHER(5) } },              /* no mask */
        { 4, { OWNER(7), GROUP_OBJ(5), GROUP(TEAM, 7), OTHER(5) } },
        { 5, { OWNER(7), GROUP_OBJ(5), MASK(5), MASK(5), OTHER(5) } },
    };
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0750);
    SETACL3res *res;
    size_t i;

    assert_int_equal(live_setacl(srv, &dir, BOTH, team_writes, COUNT(team_writes), bob_reads, COUNT(bob_reads))->status,
                     NFS3_OK);
    for (i = 0; i < COUNT(wrong); i++) {
        res = live_setacl(srv, &dir, BOTH, wrong[i].list, wrong[i].count, team_writes, COUNT(team_writes));
        assert_int_equal(res->status, NFS3ERR_INVAL);
        assert_true(res->SETACL3res_u.resfail.attr.attributes_follow);
        res = live_setacl(srv, &dir, BOTH, bob_reads, COUNT(bob_reads), wrong[i].list, wrong[i].count);
        assert_int_equal(res->status, NFS3ERR_INVAL);
    }
    live_assert_acl(srv, &dir, team_writes, COUNT(team_writes));
    live_assert_default(srv, &dir, bob_reads, COUNT(bob_reads));
    assert_int_equal(live_attr(srv, &dir).mode, 0761);
}

static void
a_default_acl_is_for_folders(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0640);

    assert_int_equal(live_setacl(srv, &file, BOTH, bob_reads, COUNT(bob_reads), team_writes, COUNT(team_writes))->status,
                     NFS3ERR_ACCES);
    ASSERT_ACL(srv, &file, { OWNER(6), GROUP_OBJ(4), MASK(4), OTHER(0) });
    assert_int_equal(live_setacl(srv, &file, BOTH, bob_reads, COUNT(bob_reads), team_writes, 0)->status, NFS3_OK);
    live_assert_acl(srv, &file, bob_reads, COUNT(bob_reads));
}

static void
a_symbolic_link_has_the_acl_of_its_mode_and_takes_no_other(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0640);
    nfs_fh3 link = live_link_to(srv, &srv->root, "link", "file");
    const secattr *acl = live_acl(srv, &link);

    assert_int_equal(acl->aclcnt, 4);
    for (u_int i = 0; i < 4; i++)
        assert_int_equal(acl->aclents.aclents_val[i].perm, 7);
    assert_int_equal(acl->dfaclcnt, 0);
    assert_int_equal(SET(srv, &link, bob_reads)->status, NFS3ERR_NOTSUPP);
    ASSERT_ACL(srv, &file, { OWNER(6), GROUP_OBJ(4), MASK(4), OTHER(0) });
}

static void
fifos_and_devices_have_acls_as_well(void **state)
{
    struct live *srv = *state;
    MKNOD3res *res = live_mknod(srv, &srv->root, "fifo", NF3FIFO, 0, 0, live_mode(0640));
    nfs_fh3 fifo;

    live_need_root(srv);
    assert_int_equal(res->status, NFS3_OK);
    fifo = res->MKNOD3res_u.resok.obj.post_op_fh3_u.handle;
    live_chown(srv, &fifo, ALICE, HERS);
    live_as(srv, ALICE, HERS);
    assert_int_equal(SET(srv, &fifo, bob_reads)->status, NFS3_OK);
    live_assert_acl(srv, &fifo, bob_reads, COUNT(bob_reads));
    assert_int_equal(live_attr(srv, &fifo).mode, 0750);
}

static void
an_acl_may_have_1024_entries(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0755);
    struct live_conn udp = live_connect(srv, SOCK_DGRAM, AF_INET);
    aclent *list = live_keep(srv, NFS_ACL_MAX_ENTRIES * sizeof(*list));
    SETACL3res *res;
    GETACL3res got = { 0 };
    u_int i, n = 0;

    list[n++] = (aclent)OWNER(7);
    for (; n < NFS_ACL_MAX_ENTRIES - 3; n++)
        list[n] = (aclent)USER(5000 + n, n % 8);
    list[n++] = (aclent)GROUP_OBJ(5);
    list[n++] = (aclent)MASK(7);
    list[n++] = (aclent)OTHER(0);
    res = live_setacl(srv, &dir, BOTH, list, n, list, n);
    if (srv->config->store == LIVE_DISK && res->status == NFS3ERR_NOSPC) {
        assert_true(res->SETACL3res_u.resfail.attr.attributes_follow);      /* ext4 has a block for all of them */
    } else {
        assert_int_equal(res->status, NFS3_OK);
        live_assert_acl(srv, &dir, list, n);
        live_assert_default(srv, &dir, list, n);
        assert_int_equal(live_call(srv, &udp, NFS_ACL_PROGRAM, NFS_ACL_V3, ACLPROC3_GETACL, (xdrproc_t)xdr_GETACL3args,
                                   &(GETACL3args){ dir, ALL }, (xdrproc_t)xdr_GETACL3res, &got), LIVE_SUCCESS);
        assert_int_equal(got.GETACL3res_u.resok.acl.dfaclents.dfaclents_len, n);
        for (i = 0; i < n; i++)
            assert_int_equal(got.GETACL3res_u.resok.acl.dfaclents.dfaclents_val[i].id, list[i].id);
        xdr_free((xdrproc_t)xdr_GETACL3res, (char *)&got);
    }
    live_close(&udp);
}

/* An entry of the attribute that the kernel keeps an ACL in (linux/posix_acl_xattr.h), without any permission. */
static uint8_t *
put_attribute(uint8_t *p, uint16_t tag, uint32_t id)
{
    tag = htole16(tag);
    id = htole32(id);
    memcpy(p, &tag, sizeof(tag));
    memcpy(p + 4, &id, sizeof(id));
    return p + 8;
}

static void
an_acl_of_more_than_1024_entries_is_too_long_to_tell(void **state)
{
    const uint32_t version = htole32(2);
    struct live *srv = *state;
    uint8_t *value = live_keep(srv, 4 + 8 * (NFS_ACL_MAX_ENTRIES + 1)), *p = value + 4;
    nfs_fh3 file;
    GETACL3res *res;

    live_need_directory(srv);
    file = live_her_file(srv, "file", 0640);
    memcpy(value, &version, sizeof(version));
    p = put_attribute(p, NFS_ACL_USER_OBJ, UINT32_MAX);
    for (uint32_t id = 1; id < NFS_ACL_MAX_ENTRIES - 2; id++)
        p = put_attribute(p, NFS_ACL_USER, id);
    p = put_attribute(p, NFS_ACL_GROUP_OBJ, UINT32_MAX);
    p = put_attribute(p, NFS_ACL_CLASS_OBJ, UINT32_MAX);
    p = put_attribute(p, NFS_ACL_OTHER_OBJ, UINT32_MAX);
    assert_int_equal(p - value, 4 + 8 * (NFS_ACL_MAX_ENTRIES + 1));
    if (setxattr(live_local(srv, "file"), "system.posix_acl_access", value, (size_t)(p - value), 0) < 0) {
        print_message("left out: this file system has no room for so many\n");
        skip();
    }
    res = live_getacl(srv, &file, NFS_ACL);
    assert_int_equal(res->status, NFS3ERR_FBIG);
    assert_true(res->GETACL3res_u.resfail.attr.attributes_follow);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    live_assert_acl(srv, &file, bob_reads, COUNT(bob_reads));
}

static void
an_acl_stays_over_a_restart_and_is_the_file_systems_own(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;
    char value[128];

    live_need_directory(srv);
    file = live_her_file(srv, "file", 0644);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    assert_int_equal(getxattr(live_local(srv, "file"), "system.posix_acl_access", value, sizeof(value)),
                     4 + 8 * COUNT(bob_reads));
    live_restart(srv);
    live_assert_acl(srv, &file, bob_reads, COUNT(bob_reads));
    assert_int_equal(removexattr(live_local(srv, "file"), "system.posix_acl_access"), 0);
    ASSERT_ACL(srv, &file, { OWNER(7), GROUP_OBJ(5), MASK(5), OTHER(0) });
}

static void
handles_and_ports_are_checked_as_for_nfs(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "file", 0640), forged = { { 8, "nonsense" } };

    assert_int_equal(live_getacl(srv, &forged, ALL)->status, NFS3ERR_BADHANDLE);
    assert_int_equal(SET(srv, &forged, bob_reads)->status, NFS3ERR_BADHANDLE);
    assert_int_equal(live_remove(srv, &srv->root, "file")->status, NFS3_OK);
    assert_int_equal(live_getacl(srv, &file, ALL)->status, NFS3ERR_STALE);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3ERR_STALE);
    live_reload(srv, "rw,secure", NULL);
    assert_int_equal(live_getacl(srv, &srv->root, ALL)->status, NFS3ERR_PERM);
    assert_int_equal(SET(srv, &srv->root, bob_reads)->status, NFS3ERR_PERM);
    live_reload(srv, "", USUAL);
    assert_int_equal(live_getacl(srv, &srv->root, ALL)->status, NFS3ERR_STALE);
}

static void
a_setacl_that_is_sent_again_is_not_done_again(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0600);
    const SETACL3args args = {
        file, { NFS_ACL, COUNT(bob_reads), { COUNT(bob_reads), (aclent *)bob_reads }, 0, { 0, NULL } }
    };
    uint8_t call[CALL_MAX], first[512];
    const uint8_t *reply;
    ssize_t len, again;
    size_t size;

    size = live_make_call(srv, call, sizeof(call), NFS_ACL_PROGRAM, NFS_ACL_V3, ACLPROC3_SETACL,
                          (xdrproc_t)xdr_SETACL3args, &args);
    assert_true(live_send_message(&srv->conn, call, size));
    len = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);
    assert_in_range(len, 24, sizeof(first));
    memcpy(first, reply, (size_t)len);
    live_assert_acl(srv, &file, bob_reads, COUNT(bob_reads));
    assert_int_equal(SET(srv, &file, team_writes)->status, NFS3_OK);
    assert_true(live_send_message(&srv->conn, call, size));
    again = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);
    assert_int_equal(again, len);
    assert_memory_equal(reply, first, (size_t)len);
    live_assert_acl(srv, &file, team_writes, COUNT(team_writes));
}

static void
other_versions_and_procedures_are_told_apart(void **state)
{
    static const uint32_t versions[] = { 0, 1, 2, 4, 0xffffffff };
    static const uint32_t procedures[] = { 3, 4, 22, 0xffffffff };
    struct live *srv = *state;
    size_t i;

    assert_int_equal(live_call(srv, &srv->conn, NFS_ACL_PROGRAM, NFS_ACL_V3, ACLPROC3_NULL, NULL, NULL, NULL, NULL),
                     LIVE_SUCCESS);
    for (i = 0; i < COUNT(versions); i++) {
        assert_int_equal(live_call(srv, &srv->conn, NFS_ACL_PROGRAM, versions[i], 0, NULL, NULL, NULL, NULL),
                         LIVE_PROG_MISMATCH);
        assert_int_equal(srv->conn.low, 3);
        assert_int_equal(srv->conn.high, 3);
    }
    for (i = 0; i < COUNT(procedures); i++)
        assert_int_equal(live_call(srv, &srv->conn, NFS_ACL_PROGRAM, NFS_ACL_V3, procedures[i], NULL, NULL, NULL, NULL),
                         LIVE_PROC_UNAVAIL);
    for (i = ACLPROC3_GETACL; i <= ACLPROC3_SETACL; i++)
        assert_int_equal(live_call(srv, &srv->conn, NFS_ACL_PROGRAM, NFS_ACL_V3, (uint32_t)i, NULL, NULL, NULL, NULL),
                         LIVE_GARBAGE_ARGS);
}

static void
entries_that_no_acl_can_have_are_garbage(void **state)
{
    static const aclent wrong[] = { { 0x3, 0, 7 }, USER(BOB, 8), USER(0xffffffff, 7), OTHER(0x10) };
    struct live *srv = *state;
    size_t i;

    for (i = 0; i < COUNT(wrong); i++) {
        const SETACL3args args = { srv->root, { NFS_ACL, 1, { 1, (aclent *)&wrong[i] }, 0, { 0, NULL } } };

        assert_int_equal(live_call(srv, &srv->conn, NFS_ACL_PROGRAM, NFS_ACL_V3, ACLPROC3_SETACL,
                                   (xdrproc_t)xdr_SETACL3args, &args, NULL, NULL), LIVE_GARBAGE_ARGS);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_without_an_acl_has_the_four_entries_of_its_mode),
        cmocka_unit_test(what_is_not_asked_for_is_not_told),
        cmocka_unit_test(what_is_set_is_told_again_and_the_group_bits_of_the_mode_are_its_mask),
        cmocka_unit_test(entries_are_taken_in_any_order_and_told_in_one),
        cmocka_unit_test(somebody_who_is_named_twice_counts_with_the_first_entry),
        cmocka_unit_test(the_ids_of_entries_that_name_nobody_are_not_looked_at),
        cmocka_unit_test(a_minimal_acl_is_a_mode),
        cmocka_unit_test(chmod_sets_the_mask),
        cmocka_unit_test(setacl_without_entries_removes_the_acl_and_leaves_the_mode),
        cmocka_unit_test(an_acl_that_the_mask_does_not_name_stays),
        cmocka_unit_test(what_is_no_acl_is_refused_and_changes_nothing),
        cmocka_unit_test(a_default_acl_is_for_folders),
        cmocka_unit_test(a_symbolic_link_has_the_acl_of_its_mode_and_takes_no_other),
        cmocka_unit_test(fifos_and_devices_have_acls_as_well),
        cmocka_unit_test(an_acl_may_have_1024_entries),
        cmocka_unit_test(an_acl_of_more_than_1024_entries_is_too_long_to_tell),
        cmocka_unit_test(an_acl_stays_over_a_restart_and_is_the_file_systems_own),
        cmocka_unit_test(handles_and_ports_are_checked_as_for_nfs),
        cmocka_unit_test(a_setacl_that_is_sent_again_is_not_done_again),
        cmocka_unit_test(other_versions_and_procedures_are_told_apart),
        cmocka_unit_test(entries_that_no_acl_can_have_are_garbage),
    };

    return live_main("acl", tests, sizeof(tests) / sizeof(*tests));
}
