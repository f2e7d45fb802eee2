/*
 * tests/live/test_acl_rights.c - ACLs decide who may do what, a default ACL in what is made there, too; and who may set
 * them, on which exports. What they mean is acl(5).
 */
#include "tests/lib/live_acl.h"

static void
an_acl_decides_who_may_do_what(void **state)
{
    static const aclent mixed[] = { OWNER(6), USER(BOB, 4), USER(CAROL, 0), GROUP_OBJ(4), GROUP(TEAM, 6), MASK(6),
                                    OTHER(4) };
    const uint32_t reads = ACCESS3_READ, writes = ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND;
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0600);

    assert_int_equal(SET(srv, &file, mixed)->status, NFS3_OK);
    assert_int_equal(live_may(srv, &file, ALICE, 1), writes);
    assert_int_equal(live_may(srv, &file, BOB, TEAM), reads);        /* his own entry, not the team's */
    assert_int_equal(live_may(srv, &file, CAROL, TEAM), 0);
    assert_int_equal(live_may(srv, &file, DAVE, TEAM), writes);
    assert_int_equal(live_may(srv, &file, DAVE, HERS), reads);
    assert_int_equal(live_may(srv, &file, DAVE, 1), reads);
    live_as_member(srv, DAVE, 1, 2, (uint32_t[]){ HERS, TEAM });
    assert_int_equal(live_write(srv, &file, 0, "dave", 4, FILE_SYNC)->status, NFS3_OK);
    live_as(srv, BOB, 1);
    assert_int_equal(live_write(srv, &file, 0, "bob", 3, FILE_SYNC)->status, NFS3ERR_ACCES);
    live_assert_content(srv, &file, "dave", 4);
    live_as(srv, CAROL, 1);
    assert_int_equal(live_read(srv, &file, 0, 4)->status, NFS3ERR_ACCES);
}

static void
the_mask_bounds_all_but_the_owner_and_others(void **state)
{
    static const aclent masked[] = { OWNER(6), USER(BOB, 6), GROUP_OBJ(6), GROUP(TEAM, 7), MASK(4), OTHER(2) };
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0600);

    assert_int_equal(SET(srv, &file, masked)->status, NFS3_OK);
    assert_int_equal(live_may(srv, &file, ALICE, 1), ACCESS3_READ | ACCESS3_MODIFY | ACCESS3_EXTEND);
    assert_int_equal(live_may(srv, &file, BOB, 1), ACCESS3_READ);
    assert_int_equal(live_may(srv, &file, DAVE, HERS), ACCESS3_READ);
    assert_int_equal(live_may(srv, &file, DAVE, TEAM), ACCESS3_READ);
    assert_int_equal(live_may(srv, &file, DAVE, 1), ACCESS3_MODIFY | ACCESS3_EXTEND);
}

static void
a_folder_is_passed_by_its_acl(void **state)
{
    static const aclent bob_enters[] = { OWNER(7), USER(BOB, 1), GROUP_OBJ(0), MASK(1), OTHER(0) };
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0700);

    live_file(srv, &dir, "file", 0644);
    assert_int_equal(SET(srv, &dir, bob_enters)->status, NFS3_OK);
    live_as(srv, BOB, 1);
    assert_int_equal(live_lookup(srv, &dir, "file")->status, NFS3_OK);
    assert_int_equal(live_readdir(srv, &dir, 0, NULL, 4096)->status, NFS3ERR_ACCES);
    live_as(srv, CAROL, 1);
    assert_int_equal(live_lookup(srv, &dir, "file")->status, NFS3ERR_ACCES);
}

static void
the_owner_and_root_alone_set_acls_and_everybody_reads_them(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0600);
    SETACL3res *res;

    live_as(srv, BOB, HERS);
    ASSERT_ACL(srv, &file, { OWNER(6), GROUP_OBJ(0), MASK(0), OTHER(0) });
    res = SET(srv, &file, bob_reads);
    assert_int_equal(res->status, NFS3ERR_PERM);
    assert_true(res->SETACL3res_u.resfail.attr.attributes_follow);
    assert_int_equal(live_setacl(srv, &file, BOTH, bob_reads, 0, NULL, 0)->status, NFS3ERR_PERM);
    ASSERT_ACL(srv, &file, { OWNER(6), GROUP_OBJ(0), MASK(0), OTHER(0) });
    live_as(srv, ALICE, 1);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    live_as(srv, 0, 0);
    assert_int_equal(SET(srv, &file, team_writes)->status, NFS3_OK);
    live_assert_acl(srv, &file, team_writes, COUNT(team_writes));
}

static void
what_is_asked_of_a_stranger_is_refused_in_the_kernels_order(void **state)
{
    static const aclent wrong[] = { OWNER(7) };
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0600), dir = live_her_dir(srv, "dir", 0700);

    live_as(srv, BOB, 1);
    assert_int_equal(SET(srv, &file, wrong)->status, NFS3ERR_PERM);
    assert_int_equal(live_setacl(srv, &file, BOTH, bob_reads, COUNT(bob_reads), wrong, 1)->status, NFS3ERR_PERM);
    assert_int_equal(live_setacl(srv, &file, NFS_DFACL, NULL, 0, wrong, 1)->status, NFS3ERR_ACCES);
    assert_int_equal(live_setacl(srv, &file, NFS_DFACL, NULL, 0, NULL, 0)->status, NFS3_OK);
    assert_int_equal(live_setacl(srv, &dir, NFS_DFACL, NULL, 0, wrong, 1)->status, NFS3ERR_PERM);
    assert_int_equal(live_setacl(srv, &dir, NFS_DFACL, NULL, 0, NULL, 0)->status, NFS3ERR_PERM);
    live_as(srv, ALICE, HERS);
    assert_int_equal(live_setacl(srv, &file, BOTH, wrong, 1, bob_reads, COUNT(bob_reads))->status, NFS3ERR_INVAL);
}

static void
an_owner_outside_of_the_group_loses_the_set_group_id_bit(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0640);

    live_chmod(srv, &file, 02770);
    live_as(srv, ALICE, 1);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0750);
    live_as(srv, 0, 0);
    live_chmod(srv, &file, 02770);
    live_as(srv, ALICE, HERS);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 02750);
}

static void
what_is_made_in_a_folder_gets_its_default_acl_cut_to_the_mode(void **state)
{
    static const aclent defaults[] = { OWNER(7), USER(BOB, 7), GROUP_OBJ(5), MASK(7), OTHER(4) };
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0755), file, inner, fifo;

    assert_int_equal(live_setacl(srv, &dir, BOTH, bob_reads, COUNT(bob_reads), defaults, COUNT(defaults))->status, NFS3_OK);
    live_as(srv, ALICE, HERS);
    file = live_file(srv, &dir, "file", 0666);
    assert_int_equal(live_attr(srv, &file).mode, 0664);
    ASSERT_ACL(srv, &file, { OWNER(6), USER(BOB, 7), GROUP_OBJ(5), MASK(6), OTHER(4) });
    file = live_file(srv, &dir, "closed", 0600);
    assert_int_equal(live_attr(srv, &file).mode, 0600);
    ASSERT_ACL(srv, &file, { OWNER(6), USER(BOB, 7), GROUP_OBJ(5), MASK(0), OTHER(0) });
    file = live_create_exclusive(srv, &dir, "exclusive", "verifier")->CREATE3res_u.resok.obj.post_op_fh3_u.handle;
    ASSERT_ACL(srv, &file, { OWNER(6), USER(BOB, 7), GROUP_OBJ(5), MASK(0), OTHER(0) });
    inner = live_dir(srv, &dir, "inner", 0777);
    assert_int_equal(live_attr(srv, &inner).mode, 0774);
    ASSERT_ACL(srv, &inner, { OWNER(7), USER(BOB, 7), GROUP_OBJ(5), MASK(7), OTHER(4) });
    live_assert_default(srv, &inner, defaults, COUNT(defaults));
    fifo = live_mknod(srv, &dir, "fifo", NF3FIFO, 0, 0, live_mode(0622))->MKNOD3res_u.resok.obj.post_op_fh3_u.handle;
    assert_int_equal(live_attr(srv, &fifo).mode, 0620);
    assert_int_equal(live_symlink(srv, &dir, "link", "file", live_keep_all())->status, NFS3_OK);
}

static void
a_minimal_default_acl_cuts_the_modes_and_leaves_no_acl(void **state)
{
    static const aclent defaults[] = { OWNER(7), GROUP_OBJ(5), OTHER(0) };
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0755), file, inner;

    assert_int_equal(live_setacl(srv, &dir, BOTH, bob_reads, COUNT(bob_reads), defaults, COUNT(defaults))->status, NFS3_OK);
    live_assert_default(srv, &dir, (const aclent[]){ OWNER(7), GROUP_OBJ(5), MASK(5), OTHER(0) }, 4);
    live_as(srv, ALICE, HERS);
    file = live_file(srv, &dir, "file", 0666);
    assert_int_equal(live_attr(srv, &file).mode, 0640);
    live_chmod(srv, &file, 0660);
    ASSERT_ACL(srv, &file, { OWNER(6), GROUP_OBJ(6), MASK(6), OTHER(0) });
    inner = live_dir(srv, &dir, "inner", 0777);
    assert_int_equal(live_attr(srv, &inner).mode, 0750);
    live_assert_default(srv, &inner, (const aclent[]){ OWNER(7), GROUP_OBJ(5), MASK(5), OTHER(0) }, 4);
}

/* Root names an owner, and a folder has a set-ID bit: both are set once the object is there. */
static void
what_is_set_after_making_does_not_undo_a_default_acl(void **state)
{
    static const aclent defaults[] = { OWNER(7), USER(BOB, 4), GROUP_OBJ(4), MASK(4), OTHER(0) };
    struct live *srv = *state;
    nfs_fh3 dir = live_her_dir(srv, "dir", 0755), file;
    sattr3 attr = live_mode(0666);
    CREATE3res *res;
    MKDIR3res *made;

    assert_int_equal(live_setacl(srv, &dir, BOTH, bob_reads, COUNT(bob_reads), defaults, COUNT(defaults))->status, NFS3_OK);
    attr.uid.set_it = TRUE;
    attr.uid.set_uid3_u.uid = ALICE;
    res = live_create(srv, &dir, "file", GUARDED, attr);
    assert_int_equal(res->status, NFS3_OK);
    file = res->CREATE3res_u.resok.obj.post_op_fh3_u.handle;
    assert_int_equal(live_attr(srv, &file).uid, ALICE);
    assert_int_equal(live_attr(srv, &file).mode, 0640);
    made = live_mkdir(srv, &dir, "inner", live_mode(02777));
    assert_int_equal(made->status, NFS3_OK);
    file = made->MKDIR3res_u.resok.obj.post_op_fh3_u.handle;
    assert_int_equal(live_attr(srv, &file).mode & 0777, 0740);
}

static void
an_export_with_no_acl_refuses_both_and_goes_by_acls_all_the_same(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0600);
    GETACL3res *res;

    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    live_reload(srv, USUAL ",no_acl", NULL);
    res = live_getacl(srv, &file, ALL);
    assert_int_equal(res->status, NFS3ERR_NOTSUPP);
    assert_true(res->GETACL3res_u.resfail.attr.attributes_follow);
    assert_int_equal(SET(srv, &file, team_writes)->status, NFS3ERR_NOTSUPP);
    assert_int_equal(live_may(srv, &file, BOB, 1), ACCESS3_READ);
    live_as(srv, 0, 0);
    live_reload(srv, USUAL ",acl", NULL);
    live_assert_acl(srv, &file, bob_reads, COUNT(bob_reads));
}

static void
a_read_only_export_tells_acls_and_sets_none(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_her_file(srv, "file", 0640);
    SETACL3res *res;

    live_reload(srv, "ro,no_root_squash,insecure", NULL);
    ASSERT_ACL(srv, &file, { OWNER(6), GROUP_OBJ(4), MASK(4), OTHER(0) });
    res = SET(srv, &file, bob_reads);
    assert_int_equal(res->status, NFS3ERR_ROFS);
    assert_true(res->SETACL3res_u.resfail.attr.attributes_follow);
}

static void
whoever_serves_his_own_files_sets_their_acls(void **state)
{
    static const aclent list[] = { OWNER(6), USER(BOB, 4), GROUP_OBJ(0), MASK(4), OTHER(0) };
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "file", 0600);
    const secattr *acl;
    u_int i;

    assert_int_equal(SET(srv, &file, list)->status, NFS3_OK);
    acl = live_acl(srv, &file);
    assert_int_equal(acl->aclents.aclents_len, COUNT(list));
    for (i = 0; i < COUNT(list); i++) {
        assert_int_equal(acl->aclents.aclents_val[i].type, list[i].type);
        assert_int_equal(acl->aclents.aclents_val[i].perm, list[i].perm);
    }
    assert_int_equal(acl->aclents.aclents_val[0].id, live_attr(srv, &file).uid);
    assert_int_equal(live_attr(srv, &file).mode, 0640);
}

static void
a_squashed_root_is_nobody_to_acls(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    live_need_identities(srv);
    file = live_her_file(srv, "file", 0600);
    live_reload(srv, "rw,root_squash,insecure", NULL);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3ERR_PERM);
    live_as(srv, ALICE, HERS);
    assert_int_equal(SET(srv, &file, bob_reads)->status, NFS3_OK);
    live_reload(srv, "rw,all_squash,insecure", NULL);
    assert_int_equal(SET(srv, &file, team_writes)->status, NFS3ERR_PERM);
    live_reload(srv, "rw,all_squash,anonuid=1000,insecure", NULL);
    live_as(srv, BOB, 1);
    assert_int_equal(SET(srv, &file, team_writes)->status, NFS3_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acl_decides_who_may_do_what),
        cmocka_unit_test(the_mask_bounds_all_but_the_owner_and_others),
        cmocka_unit_test(a_folder_is_passed_by_its_acl),
        cmocka_unit_test(the_owner_and_root_alone_set_acls_and_everybody_reads_them),
        cmocka_unit_test(what_is_asked_of_a_stranger_is_refused_in_the_kernels_order),
        cmocka_unit_test(an_owner_outside_of_the_group_loses_the_set_group_id_bit),
        cmocka_unit_test(what_is_made_in_a_folder_gets_its_default_acl_cut_to_the_mode),
        cmocka_unit_test(a_minimal_default_acl_cuts_the_modes_and_leaves_no_acl),
        cmocka_unit_test(what_is_set_after_making_does_not_undo_a_default_acl),
        cmocka_unit_test(an_export_with_no_acl_refuses_both_and_goes_by_acls_all_the_same),
        cmocka_unit_test(a_read_only_export_tells_acls_and_sets_none),
        cmocka_unit_test(whoever_serves_his_own_files_sets_their_acls),
        cmocka_unit_test(a_squashed_root_is_nobody_to_acls),
    };

    return live_main("acl_rights", tests, sizeof(tests) / sizeof(*tests));
}
