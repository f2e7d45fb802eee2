/* tests/live/test_rights.c - which attributes a caller may change, and what ACCESS tells him (RFC 1813 3.3.2, 3.3.4). */
#include "tests/lib/live.h"

#define ALICE 1001
#define BOB 1002
#define GROUP 2000
#define CHANGES (ACCESS3_MODIFY | ACCESS3_EXTEND | ACCESS3_DELETE)
#define ALL_ACCESS (ACCESS3_READ | ACCESS3_LOOKUP | ACCESS3_EXECUTE | CHANGES)

static void
only_root_gives_files_away(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);

    live_need_identities(srv);
    live_chown(srv, &file, ALICE, ALICE);
    assert_int_equal(live_attr(srv, &file).uid, ALICE);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_setattr(srv, &file, live_owner(BOB, UINT32_MAX))->status, NFS3ERR_PERM);
    assert_int_equal(live_setattr(srv, &file, live_owner(UINT32_MAX, GROUP))->status, NFS3ERR_PERM);
    live_as_member(srv, ALICE, ALICE, 1, (const uint32_t[]){ GROUP });
    assert_int_equal(live_setattr(srv, &file, live_owner(UINT32_MAX, GROUP))->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).gid, GROUP);
    live_as(srv, BOB, BOB);
    assert_int_equal(live_setattr(srv, &file, live_owner(BOB, UINT32_MAX))->status, NFS3ERR_PERM);
}

static void
only_the_owner_changes_the_mode(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);

    live_need_identities(srv);
    live_chown(srv, &file, ALICE, ALICE);
    live_as(srv, BOB, BOB);
    assert_int_equal(live_setattr(srv, &file, live_mode(0777))->status, NFS3ERR_PERM);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_setattr(srv, &file, live_mode(0700))->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0700);
}

/* utimensat(2): whoever may write may touch; only the owner sets times of his choice. */
static void
touching_needs_write_permission_choosing_times_needs_the_owner(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);

    live_need_identities(srv);
    live_chown(srv, &file, ALICE, ALICE);
    live_chmod(srv, &file, 0666);
    live_as(srv, BOB, BOB);
    assert_int_equal(live_setattr(srv, &file, live_server_times())->status, NFS3_OK);
    assert_int_equal(live_setattr(srv, &file, live_client_times((nfstime3){ 1, 0 }, (nfstime3){ 2, 0 }))->status,
                     NFS3ERR_PERM);
    live_as(srv, ALICE, ALICE);
    live_chmod(srv, &file, 0644);
    live_as(srv, BOB, BOB);
    assert_int_equal(live_setattr(srv, &file, live_server_times())->status, NFS3ERR_ACCES);
}

static void
truncating_needs_write_permission_or_ownership(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);

    live_need_identities(srv);
    live_chown(srv, &file, ALICE, ALICE);
    live_chmod(srv, &file, 0444);
    live_as(srv, BOB, BOB);
    assert_int_equal(live_setattr(srv, &file, live_size(0))->status, NFS3ERR_ACCES);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_setattr(srv, &file, live_size(1))->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).size, 1);
}

static void
suid_and_sgid_are_cleared_by_writing_truncating_and_giving_away(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);

    live_need_identities(srv);
    live_chown(srv, &file, 0, GROUP);
    live_chmod(srv, &file, 06775);
    live_as(srv, ALICE, GROUP);
    assert_int_equal(live_write(srv, &file, 0, "H", 1, FILE_SYNC)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0775);
    live_as(srv, 0, 0);
    live_chmod(srv, &file, 06775);
    live_as(srv, ALICE, GROUP);
    assert_int_equal(live_setattr(srv, &file, live_size(1))->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0775);
    live_as(srv, 0, 0);
    live_chmod(srv, &file, 06755);
    live_chown(srv, &file, ALICE, ALICE);
    assert_int_equal(live_attr(srv, &file).mode, 0755);
}

static void
reading_leaves_suid_alone(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "hello", 5);

    live_chmod(srv, &file, 04755);
    assert_int_equal(live_read(srv, &file, 0, 5)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 04755);
}

/* Whether rwx bits of one class, seen through ACCESS: READ, MODIFY|EXTEND, EXECUTE for a file. */
static uint32_t
file_access(uint32_t rwx)
{
    return ((rwx & 4) != 0 ? ACCESS3_READ : 0) | ((rwx & 2) != 0 ? ACCESS3_MODIFY | ACCESS3_EXTEND : 0) |
           ((rwx & 1) != 0 ? ACCESS3_EXECUTE : 0);
}

/* For a directory: changing it takes search permission too. */
static uint32_t
dir_access(uint32_t rwx)
{
    return ((rwx & 4) != 0 ? ACCESS3_READ : 0) | ((rwx & 1) != 0 ? ACCESS3_LOOKUP : 0) |
           ((rwx & 3) == 3 ? CHANGES : 0);
}

static uint32_t
granted(struct live *srv, const nfs_fh3 *object, uint32_t bits)
{
    ACCESS3res *res = live_access(srv, object, bits);

    assert_int_equal(res->status, NFS3_OK);
    assert_true(res->ACCESS3res_u.resok.obj_attributes.attributes_follow);
    return res->ACCESS3res_u.resok.access;
}

static void
access_is_what_the_modes_of_owner_group_and_others_give(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1), dir = live_dir(srv, &srv->root, "d", 0755);
    uint32_t mode, rwx, who;

    live_need_identities(srv);
    live_chown(srv, &file, ALICE, GROUP);
    live_chown(srv, &dir, ALICE, GROUP);
    for (rwx = 0; rwx < 8; rwx++) {
        for (who = 0; who < 3; who++) {
            mode = (07 ^ rwx) * 0111 & ~(07u << (6 - 3 * who));        /* the other classes have the opposite */
            mode |= rwx << (6 - 3 * who);
            live_as(srv, 0, 0);
            live_chmod(srv, &file, mode);
            live_chmod(srv, &dir, mode);
            if (who == 0)
                live_as(srv, ALICE, ALICE);
            else if (who == 1)
                live_as_member(srv, BOB, BOB, 2, (const uint32_t[]){ 77, GROUP });
            else
                live_as(srv, BOB, BOB);
            assert_int_equal(granted(srv, &file, ALL_ACCESS), file_access(rwx));
            assert_int_equal(granted(srv, &dir, ALL_ACCESS) & ~ACCESS3_DELETE, dir_access(rwx) & ~ACCESS3_DELETE);
        }
    }
}

static void
access_answers_only_what_is_asked_and_means_something(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0777), dir = live_dir(srv, &srv->root, "d", 0777);
    uint32_t bit;

    for (bit = 1; bit <= ACCESS3_EXECUTE; bit <<= 1) {
        assert_int_equal(granted(srv, &file, bit) & ~bit, 0);
        assert_int_equal(granted(srv, &dir, bit) & ~bit, 0);
    }
    assert_int_equal(granted(srv, &file, UINT32_MAX) & ~ALL_ACCESS, 0);
    assert_int_equal(granted(srv, &file, ALL_ACCESS) & (ACCESS3_LOOKUP | ACCESS3_DELETE), 0);
    assert_int_equal(granted(srv, &dir, ALL_ACCESS) & ACCESS3_EXECUTE, 0);
    assert_int_equal(granted(srv, &dir, ALL_ACCESS), ALL_ACCESS & ~ACCESS3_EXECUTE);
    assert_int_equal(granted(srv, &file, 0), 0);
}

static void
a_read_only_export_grants_no_changes(void **state)
{
    const struct live_options options = { .export_options = "ro,insecure,no_root_squash" };
    struct live *srv = live_start_beside(*state, &options);

    assert_int_equal(granted(srv, &srv->root, ALL_ACCESS) & CHANGES, 0);
    assert_int_equal(granted(srv, &srv->root, ALL_ACCESS) & ACCESS3_READ, ACCESS3_READ);
    assert_int_equal(live_setattr(srv, &srv->root, live_mode(0700))->status, NFS3ERR_ROFS);
}

static void
uids_of_all_32_bits_come_back(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);

    live_need_root(srv);
    live_chown(srv, &file, 0x80000001, 0xfffffff0);
    live_chmod(srv, &file, 0600);
    assert_int_equal(live_attr(srv, &file).uid, 0x80000001);
    assert_int_equal(live_attr(srv, &file).gid, 0xfffffff0);
    live_as(srv, 0x80000001, 5);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3_OK);
    live_as(srv, 1, 0xfffffff1);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3ERR_ACCES);
}

static void
uid_minus_one_is_never_root(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "x", 1);
    int outcome = LIVE_SUCCESS;
    READ3res *res;

    live_need_identities(srv);
    live_chmod(srv, &file, 0600);
    live_as(srv, UINT32_MAX, UINT32_MAX);
    res = live_try(srv, NFSPROC3_READ, &(READ3args){ file, 0, 1 }, &outcome);
    if (res != NULL)
        assert_int_equal(res->status, NFS3ERR_ACCES);
    else
        assert_true(outcome >= LIVE_AUTH_ERROR);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_root_gives_files_away),
        cmocka_unit_test(only_the_owner_changes_the_mode),
        cmocka_unit_test(touching_needs_write_permission_choosing_times_needs_the_owner),
        cmocka_unit_test(truncating_needs_write_permission_or_ownership),
        cmocka_unit_test(suid_and_sgid_are_cleared_by_writing_truncating_and_giving_away),
        cmocka_unit_test(reading_leaves_suid_alone),
        cmocka_unit_test(access_is_what_the_modes_of_owner_group_and_others_give),
        cmocka_unit_test(access_answers_only_what_is_asked_and_means_something),
        cmocka_unit_test(a_read_only_export_grants_no_changes),
        cmocka_unit_test(uids_of_all_32_bits_come_back),
        cmocka_unit_test(uid_minus_one_is_never_root),
    };

    return live_main("rights", tests, sizeof(tests) / sizeof(*tests));
}
