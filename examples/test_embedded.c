/*
 * examples/test_embedded.c - a test in C that has an NFS server inside of it, and libnfs as its client.
 *
 *     cc -o test_embedded test_embedded.c $(pkg-config --cflags --libs libringnfs libnfs cmocka) && ./test_embedded
 *
 * Each test gets a fresh server with an empty file system in memory; nothing is left on disk. It needs no privilege.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>                   /* libnfs' header needs it */

#include <nfsc/libnfs.h>
#include <ringnfs.h>

/* A server, and a client that has mounted it. */
struct fixture {
    struct ringnfs *server;
    struct nfs_context *nfs;
};

static int
mount_it(struct fixture *fixture)
{
    struct nfs_url *url = NULL;
    char *text = NULL;
    int err = ringnfs_url(fixture->server, "/x", &text);

    fixture->nfs = nfs_init_context();
    if (err == 0 && fixture->nfs != NULL)
        url = nfs_parse_url_dir(fixture->nfs, text);
    err = url != NULL ? nfs_mount(fixture->nfs, url->server, url->path) : -1;
    if (url != NULL)
        nfs_destroy_url(url);
    free(text);
    return err;
}

static int
set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    if (fixture == NULL)
        return -1;
    *state = fixture;
    if (ringnfs_new(&fixture->server) != 0 || ringnfs_add_export(fixture->server, "memory:/x *(rw,insecure)") != 0 ||
        ringnfs_start(fixture->server) != 0) {
        print_error("%s\n", ringnfs_error(fixture->server));
        return -1;
    }
    return mount_it(fixture);
}

static int
tear_down(void **state)
{
    struct fixture *fixture = *state;

    if (fixture->nfs != NULL)
        nfs_destroy_context(fixture->nfs);
    ringnfs_free(fixture->server);
    free(fixture);
    return 0;
}

static void
what_is_made_is_found(void **state)
{
    struct fixture *fixture = *state;
    struct nfs_stat_64 st;

    assert_int_equal(nfs_mkdir(fixture->nfs, "/folder"), 0);
    assert_int_equal(nfs_stat64(fixture->nfs, "/folder", &st), 0);
    assert_true(S_ISDIR(st.nfs_mode));
}

static void
each_test_begins_with_an_empty_directory(void **state)
{
    struct fixture *fixture = *state;
    struct nfs_stat_64 st;

    assert_int_equal(nfs_stat64(fixture->nfs, "/folder", &st), -ENOENT);
}

static void
a_read_only_export_refuses_changes(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(ringnfs_remove_export(fixture->server, "/x"), 0);
    assert_int_equal(ringnfs_add_export(fixture->server, "memory:/x *(ro,insecure)"), 0);
    nfs_destroy_context(fixture->nfs);
    assert_int_equal(mount_it(fixture), 0);
    assert_int_equal(nfs_mkdir(fixture->nfs, "/folder"), -EROFS);
}

static void
a_full_disk_is_told_once_and_then_all_is_well(void **state)
{
    struct fixture *fixture = *state;

    assert_true(ringnfs_fault_add(fixture->server, "when proc=MKDIR times=1 do error=NOSPC") > 0);
    assert_int_equal(nfs_mkdir(fixture->nfs, "/folder"), -ENOSPC);
    assert_int_equal(nfs_mkdir(fixture->nfs, "/folder"), 0);
}

static void
the_client_makes_a_directory_with_one_call(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(ringnfs_keep_calls(fixture->server, 1000), 0);
    assert_int_equal(nfs_mkdir(fixture->nfs, "/folder"), 0);
    if (ringnfs_expect(fixture->server, "exactly 1 MKDIR of /x/folder") != 0 ||
        ringnfs_expect(fixture->server, "no call failing") != 0)
        fail_msg("%s", ringnfs_error(fixture->server));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_made_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_test_begins_with_an_empty_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_read_only_export_refuses_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_is_told_once_and_then_all_is_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_client_makes_a_directory_with_one_call, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
