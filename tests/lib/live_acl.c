/* tests/lib/live_acl.c - see live_acl.h. */
#include "tests/lib/live_acl.h"

#define ANYTHING 0x3f                   /* all bits of ACCESS */

const aclent bob_reads[5] = { OWNER(7), USER(BOB, 4), GROUP_OBJ(5), MASK(5), OTHER(0) };
const aclent team_writes[6] = { OWNER(7), USER(BOB, 7), GROUP_OBJ(5), GROUP(TEAM, 6), MASK(6), OTHER(1) };

const secattr *
live_acl(struct live *srv, const nfs_fh3 *file)
{
    GETACL3res *res = live_getacl(srv, file, ALL);

    assert_int_equal(res->status, NFS3_OK);
    assert_true(res->GETACL3res_u.resok.attr.attributes_follow);
    assert_int_equal(res->GETACL3res_u.resok.acl.mask, ALL);
    return &res->GETACL3res_u.resok.acl;
}

static void
assert_list(const aclent *got, u_int got_count, uint32_t announced, const aclent *want, u_int count, uint32_t flag)
{
    assert_int_equal(announced, count);
    assert_int_equal(got_count, count);
    for (u_int i = 0; i < count; i++) {
        assert_int_equal(got[i].type, want[i].type | flag);
        assert_int_equal(got[i].id, want[i].id);
        assert_int_equal(got[i].perm, want[i].perm);
    }
}

void
live_assert_acl(struct live *srv, const nfs_fh3 *file, const aclent *want, u_int count)
{
    const secattr *acl = live_acl(srv, file);

    assert_list(acl->aclents.aclents_val, acl->aclents.aclents_len, acl->aclcnt, want, count, 0);
}

void
live_assert_default(struct live *srv, const nfs_fh3 *dir, const aclent *want, u_int count)
{
    const secattr *acl = live_acl(srv, dir);

    assert_list(acl->dfaclents.dfaclents_val, acl->dfaclents.dfaclents_len, acl->dfaclcnt, want, count, NFS_ACL_DEFAULT);
}

nfs_fh3
live_her_file(struct live *srv, const char *name, uint32_t mode)
{
    nfs_fh3 file = live_file(srv, &srv->root, name, mode);

    live_need_root(srv);
    live_chown(srv, &file, ALICE, HERS);
    return file;
}

nfs_fh3
live_her_dir(struct live *srv, const char *name, uint32_t mode)
{
    nfs_fh3 dir = live_dir(srv, &srv->root, name, mode);

    live_need_root(srv);
    live_chown(srv, &dir, ALICE, HERS);
    return dir;
}

uint32_t
live_may(struct live *srv, const nfs_fh3 *file, uint32_t uid, uint32_t gid)
{
    ACCESS3res *res;

    live_as(srv, uid, gid);
    res = live_access(srv, file, ANYTHING);
    assert_int_equal(res->status, NFS3_OK);
    return res->ACCESS3res_u.resok.access;
}
