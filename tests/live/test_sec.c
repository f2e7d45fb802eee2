/* tests/live/test_sec.c - sec= with the flavours that need no Kerberos: who is accepted, and what differs between them. */
#include "config.h"

#include "tests/lib/live.h"

#define ALICE 1000
#define ANONYMOUS 65534

static nfsstat3
create(struct live *srv, const nfs_fh3 *dir, const char *name)
{
    return live_create(srv, dir, name, UNCHECKED, live_keep_all())->status;
}

static nfsstat3
read_one(struct live *srv, const nfs_fh3 *file)
{
    return live_read(srv, file, 0, 1)->status;
}

static uint32_t
owner(struct live *srv, const char *name)
{
    nfs_fh3 file = live_find(srv, &srv->root, name);

    return live_attr(srv, &file).uid;
}

static void
sys_alone_is_the_default_and_refuses_callers_without_credentials(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "x", 1);

    live_as_nobody(srv);
    assert_int_equal(read_one(srv, &file), NFS3ERR_ACCES);
    assert_int_equal(create(srv, &srv->root, "new"), NFS3ERR_ACCES);
    live_reload(srv, "rw,insecure,sec=sys", NULL);
    assert_int_equal(read_one(srv, &file), NFS3ERR_ACCES);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(read_one(srv, &file), NFS3_OK);
}

static void
none_takes_callers_without_credentials_as_the_anonymous_user_and_no_others(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "x", 1);

    live_need_identities(srv);
    live_reload(srv, "rw,insecure,no_root_squash,sec=none", NULL);
    assert_int_equal(read_one(srv, &file), NFS3ERR_ACCES);
    live_as_nobody(srv);
    assert_int_equal(read_one(srv, &file), NFS3_OK);
    assert_int_equal(create(srv, &srv->root, "new"), NFS3_OK);
    assert_int_equal(owner(srv, "new"), ANONYMOUS);
}

static void
what_follows_a_sec_is_for_its_flavours_alone(void **state)
{
    struct live *srv = *state;

    live_need_identities(srv);
    live_reload(srv, "insecure,sec=none,sec=sys,rw,no_root_squash", NULL);
    assert_int_equal(create(srv, &srv->root, "new"), NFS3_OK);
    assert_int_equal(owner(srv, "new"), 0);
    live_as_nobody(srv);
    assert_int_equal(create(srv, &srv->root, "more"), NFS3ERR_ROFS);
    live_reload(srv, "insecure,sec=sys,ro,sec=none,rw", NULL);
    assert_int_equal(create(srv, &srv->root, "more"), NFS3_OK);
    live_as(srv, 0, 0);
    assert_int_equal(create(srv, &srv->root, "third"), NFS3ERR_ROFS);
}

static void
access_tells_what_the_flavour_may_do(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0777);

    live_reload(srv, "insecure,sec=sys,rw,sec=none,ro", NULL);
    assert_true(live_access(srv, &dir, ACCESS3_EXTEND)->ACCESS3res_u.resok.access != 0);
    live_as_nobody(srv);
    assert_true(live_access(srv, &dir, ACCESS3_EXTEND)->ACCESS3res_u.resok.access == 0);
}

static void
a_call_that_was_refused_for_its_flavour_is_done_when_it_is_accepted(void **state)
{
    struct live *srv = *state;
    uint32_t xid = srv->xid;

    live_as_nobody(srv);
    assert_int_equal(create(srv, &srv->root, "new"), NFS3ERR_ACCES);
    live_reload(srv, "rw,insecure,sec=sys:none", NULL);
    srv->xid = xid;                                      /* the same call again: the refusal was not kept */
    assert_int_equal(create(srv, &srv->root, "new"), NFS3_OK);
}

static void
the_other_handle_of_a_rename_must_accept_the_flavour_too(void **state)
{
    const struct live_options options = { .export_options = "rw,insecure,sec=sys:none", .second_options = "rw,insecure" };
    struct live *srv = live_start_beside(*state, &options);
    nfs_fh3 second = live_mount(srv, srv->second);

    live_as_nobody(srv);
    assert_int_equal(live_rename(srv, &srv->root, "a", &second, "b")->status, NFS3ERR_ACCES);
}

#ifdef HAVE_KERBEROS
static void
an_export_for_kerberos_refuses_sys_but_for_what_clients_ask_while_they_mount(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "x", 1);

    live_reload(srv, "rw,insecure,sec=krb5:krb5i:krb5p", NULL);
    assert_int_equal(live_mnt(srv, srv->export)->fhs_status, MNT3_OK);
    assert_int_equal(live_fsinfo(srv, &srv->root)->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    assert_int_equal(read_one(srv, &file), NFS3ERR_ACCES);
    assert_int_equal(create(srv, &srv->root, "new"), NFS3ERR_ACCES);
    live_as_nobody(srv);
    assert_int_equal(live_fsinfo(srv, &srv->root)->status, NFS3_OK);
    assert_int_equal(read_one(srv, &file), NFS3ERR_ACCES);
}
#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sys_alone_is_the_default_and_refuses_callers_without_credentials),
        cmocka_unit_test(none_takes_callers_without_credentials_as_the_anonymous_user_and_no_others),
        cmocka_unit_test(what_follows_a_sec_is_for_its_flavours_alone),
        cmocka_unit_test(access_tells_what_the_flavour_may_do),
        cmocka_unit_test(a_call_that_was_refused_for_its_flavour_is_done_when_it_is_accepted),
        cmocka_unit_test(the_other_handle_of_a_rename_must_accept_the_flavour_too),
#ifdef HAVE_KERBEROS
        cmocka_unit_test(an_export_for_kerberos_refuses_sys_but_for_what_clients_ask_while_they_mount),
#endif
    };

    return live_main("sec", tests, sizeof(tests) / sizeof(*tests));
}
