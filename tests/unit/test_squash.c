/* tests/unit/test_squash.c - who a caller is on an export: root_squash, all_squash, anonuid, anongid and manage_gids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "server/squash.h"

#define ANON_UID 1001
#define ANON_GID 1002

static struct export_rights
rights_with(bool root_squash, bool all_squash)
{
    struct export_rights rights = { .usual = { .root_squash = root_squash, .all_squash = all_squash } };

    rights.anon_uid = ANON_UID;
    rights.anon_gid = ANON_GID;
    return rights;
}

static struct call_auth
caller(uint32_t uid, uint32_t gid)
{
    struct call_auth auth = { .flavor = CALL_AUTH_SYS, .uid = uid, .gid = gid };

    auth.ngids = 3;
    auth.gids[0] = 0;
    auth.gids[1] = 5;
    auth.gids[2] = UINT32_MAX;
    return auth;
}

static void
assert_is(const struct store_cred *cred, uid_t uid, gid_t gid, uint32_t ngroups)
{
    assert_int_equal(cred->uid, uid);
    assert_int_equal(cred->gid, gid);
    assert_int_equal(cred->ngroups, ngroups);
}

static void
root_becomes_anonymous_and_keeps_what_groups_are_not_roots(void **state)
{
    struct export_rights rights = rights_with(true, false);
    struct call_auth auth = caller(0, 0);
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, ANON_UID, ANON_GID, 2);
    assert_int_equal(cred.groups[0], ANON_GID);
    assert_int_equal(cred.groups[1], 5);
    auth = caller(0, 100);
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, ANON_UID, 100, 2);
    rights.manage_gids = true;
    assert_false(squash(&rights, &rights.usual, &auth, &cred, groups));
    assert_is(&cred, ANON_UID, 100, 0);
}

static void
root_stays_root_without_root_squash(void **state)
{
    const struct export_rights rights = rights_with(false, false);
    const struct call_auth auth = caller(0, 0);
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, 0, 0, 2);
    assert_int_equal(cred.groups[0], 0);
    assert_int_equal(cred.groups[1], 5);
}

static void
group_zero_of_a_user_is_mapped_in_the_list_too(void **state)
{
    const struct export_rights rights = rights_with(true, false);
    const struct call_auth auth = caller(1000, 0);
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, 1000, ANON_GID, 2);
    assert_int_equal(cred.groups[0], ANON_GID);
    assert_int_equal(cred.groups[1], 5);
}

static void
all_squash_makes_everyone_anonymous(void **state)
{
    const struct export_rights rights = rights_with(false, true);
    const struct call_auth callers[] = { caller(0, 0), caller(5, 5), caller(1000, 100) };
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
        squash(&rights, &rights.usual, &callers[i], &cred, groups);
        assert_is(&cred, ANON_UID, ANON_GID, 0);
    }
}

static void
minus_one_is_never_passed_on(void **state)
{
    struct export_rights rights = rights_with(false, false);
    struct call_auth auth = caller(UINT32_MAX, 100);
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, ANON_UID, ANON_GID, 0);
    auth = caller(1000, UINT32_MAX);
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, 1000, ANON_GID, 2);
    rights.anon_uid = rights.anon_gid = UINT32_MAX;
    rights.usual.all_squash = true;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, 65534, 65534, 0);
}

static void
auth_none_is_anonymous_and_not_root_even_where_the_anonymous_user_is(void **state)
{
    struct export_rights rights = rights_with(false, false);
    const struct call_auth auth = { .flavor = CALL_AUTH_NONE };
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, ANON_UID, ANON_GID, 0);
    rights.anon_uid = rights.anon_gid = 0;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, 65534, 65534, 0);
}

static void
sixteen_groups_all_count(void **state)
{
    const struct export_rights rights = rights_with(true, false);
    struct call_auth auth = { .flavor = CALL_AUTH_SYS, .uid = 1000, .gid = 100, .ngids = CALL_GIDS_MAX };
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    for (uint32_t i = 0; i < CALL_GIDS_MAX; i++)
        auth.gids[i] = 200 + i;
    squash(&rights, &rights.usual, &auth, &cred, groups);
    assert_is(&cred, 1000, 100, CALL_GIDS_MAX);
    assert_int_equal(cred.groups[CALL_GIDS_MAX - 1], 200 + CALL_GIDS_MAX - 1);
}

/* gids has room for count. */
static struct groups_list
list_of(gid_t *gids, uint32_t count, gid_t first)
{
    for (uint32_t i = 0; i < count; i++)
        gids[i] = i == 0 ? first : 1000 + i;
    return (struct groups_list){ .gids = gids, .count = count };
}

static void
the_servers_own_list_takes_the_place_of_the_callers(void **state)
{
    const struct export_rights rights = rights_with(true, false);
    const struct call_auth auth = caller(1000, 100);
    gid_t groups[CALL_GIDS_MAX], known[40], *more = NULL;
    struct groups_list list = list_of(known, 40, 3);
    struct store_cred cred;

    (void)state;
    assert_true(squash(&rights, &rights.usual, &auth, &cred, groups));
    assert_int_equal(squash_groups(&rights, &rights.usual, &list, &cred, groups, &more), 0);
    assert_is(&cred, 1000, 100, 40);
    assert_ptr_equal(cred.groups, list.gids);
    assert_null(more);
}

static void
group_zero_of_the_servers_own_list_is_mapped_in_a_copy(void **state)
{
    static const uint32_t counts[] = { 1, CALL_GIDS_MAX, CALL_GIDS_MAX + 1, 40 };
    const struct export_rights squashing = rights_with(true, false), trusting = rights_with(false, false);
    const struct call_auth auth = caller(1000, 100);
    gid_t groups[CALL_GIDS_MAX], known[40];
    struct store_cred cred;

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct groups_list list = list_of(known, counts[i], 0);
        gid_t *more = NULL;

        assert_true(squash(&squashing, &squashing.usual, &auth, &cred, groups));
        assert_int_equal(squash_groups(&squashing, &squashing.usual, &list, &cred, groups, &more), 0);
        assert_is(&cred, 1000, 100, counts[i]);
        assert_int_equal(cred.groups[0], ANON_GID);
        assert_int_equal(more != NULL, counts[i] > CALL_GIDS_MAX);
        assert_int_equal(list.gids[0], 0);
        free(more);
        more = NULL;
        assert_int_equal(squash_groups(&trusting, &trusting.usual, &list, &cred, groups, &more), 0);
        assert_int_equal(cred.groups[0], 0);
    }
}

static void
who_is_squashed_does_not_stay_himself(void **state)
{
    const struct export_rights root = rights_with(true, false), all = rights_with(false, true);
    const struct call_auth none = { .flavor = CALL_AUTH_NONE };
    struct call_auth auth = caller(0, 0);
    gid_t groups[CALL_GIDS_MAX];
    struct store_cred cred;

    (void)state;
    assert_false(squash(&root, &root.usual, &auth, &cred, groups));
    assert_false(squash(&root, &root.usual, &none, &cred, groups));
    auth = caller(1000, 100);
    assert_true(squash(&root, &root.usual, &auth, &cred, groups));
    assert_false(squash(&all, &all.usual, &auth, &cred, groups));
    auth = caller(UINT32_MAX, 100);
    assert_false(squash(&root, &root.usual, &auth, &cred, groups));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(root_becomes_anonymous_and_keeps_what_groups_are_not_roots),
        cmocka_unit_test(root_stays_root_without_root_squash),
        cmocka_unit_test(group_zero_of_a_user_is_mapped_in_the_list_too),
        cmocka_unit_test(all_squash_makes_everyone_anonymous),
        cmocka_unit_test(minus_one_is_never_passed_on),
        cmocka_unit_test(auth_none_is_anonymous_and_not_root_even_where_the_anonymous_user_is),
        cmocka_unit_test(sixteen_groups_all_count),
        cmocka_unit_test(the_servers_own_list_takes_the_place_of_the_callers),
        cmocka_unit_test(group_zero_of_the_servers_own_list_is_mapped_in_a_copy),
        cmocka_unit_test(who_is_squashed_does_not_stay_himself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
