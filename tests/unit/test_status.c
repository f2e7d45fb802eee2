/* tests/unit/test_status.c - errnos leave as the nfsstat3 that a client can make something of (RFC 1813 2.6). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/nfs3_call.h"
#include "server/nfs3_status.h"
#include "storage/store.h"

static nfsstat3
status_of(int err)
{
    bool known;
    nfsstat3 status = nfs3_status(-err, true, &known);

    assert_true(known);
    return status;
}

static void
success_is_ok(void **state)
{
    (void)state;
    assert_int_equal(status_of(0), NFS3_OK);
}

static void
errors_of_the_file_system_keep_their_meaning(void **state)
{
    (void)state;
    assert_int_equal(status_of(EACCES), NFS3ERR_ACCES);
    assert_int_equal(status_of(EPERM), NFS3ERR_PERM);
    assert_int_equal(status_of(EEXIST), NFS3ERR_EXIST);
    assert_int_equal(status_of(ENOTDIR), NFS3ERR_NOTDIR);
    assert_int_equal(status_of(EISDIR), NFS3ERR_ISDIR);
    assert_int_equal(status_of(ENOTEMPTY), NFS3ERR_NOTEMPTY);
    assert_int_equal(status_of(ENOSPC), NFS3ERR_NOSPC);
    assert_int_equal(status_of(EDQUOT), NFS3ERR_DQUOT);
    assert_int_equal(status_of(EROFS), NFS3ERR_ROFS);
    assert_int_equal(status_of(EFBIG), NFS3ERR_FBIG);
    assert_int_equal(status_of(EIO), NFS3ERR_IO);
    assert_int_equal(status_of(EMLINK), NFS3ERR_MLINK);
    assert_int_equal(status_of(EXDEV), NFS3ERR_XDEV);
    assert_int_equal(status_of(ENAMETOOLONG), NFS3ERR_NAMETOOLONG);
    assert_int_equal(status_of(EOPNOTSUPP), NFS3ERR_NOTSUPP);
}

static void
errors_without_an_errno_have_their_own(void **state)
{
    (void)state;
    assert_int_equal(status_of(STORE_ENOTSYNC), NFS3ERR_NOT_SYNC);
    assert_int_equal(status_of(STORE_EBADCOOKIE), NFS3ERR_BAD_COOKIE);
    assert_int_equal(status_of(STORE_EBADTYPE), NFS3ERR_BADTYPE);
    assert_int_equal(status_of(NFS3_ETOOSMALL), NFS3ERR_TOOSMALL);
    assert_int_equal(status_of(EBADMSG), NFS3ERR_BADHANDLE);
    assert_int_equal(status_of(ESTALE), NFS3ERR_STALE);
}

static void
what_passes_by_itself_is_told_as_try_again_and_never_as_stale(void **state)
{
    static const int passing[] = { EAGAIN, ENOMEM, EMFILE, ENFILE, ETIMEDOUT, EINTR };

    (void)state;
    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
        assert_int_equal(status_of(passing[i]), NFS3ERR_JUKEBOX);
}

static void
not_found_without_a_name_means_that_the_object_is_gone(void **state)
{
    bool known;

    (void)state;
    assert_int_equal(nfs3_status(-ENOENT, true, &known), NFS3ERR_NOENT);
    assert_int_equal(nfs3_status(-ENOENT, false, &known), NFS3ERR_STALE);
}

static void
an_errno_nobody_has_thought_of_is_an_io_error_and_noticed(void **state)
{
    bool known;

    (void)state;
    assert_int_equal(nfs3_status(-ECHILD, true, &known), NFS3ERR_IO);
    assert_false(known);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_is_ok),
        cmocka_unit_test(errors_of_the_file_system_keep_their_meaning),
        cmocka_unit_test(errors_without_an_errno_have_their_own),
        cmocka_unit_test(what_passes_by_itself_is_told_as_try_again_and_never_as_stale),
        cmocka_unit_test(not_found_without_a_name_means_that_the_object_is_gone),
        cmocka_unit_test(an_errno_nobody_has_thought_of_is_an_io_error_and_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
