/* tests/unit/test_procs.c - the tables of the NFSv3 (RFC 1813 3.3) and NFSACL procedures are whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/nfs3_call.h"
#include "server/nfsacl.h"

static const char *const names[NFS3_PROCS] = {
    "NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK",
    "MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT",
};

static bool
is_one_of(uint32_t number, const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == number)
            return true;
    }
    return false;
}

static void
every_procedure_has_a_row_under_its_number(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NFS3_PROCS; i++) {
        assert_non_null(nfs3_proc(i));
        assert_string_equal(nfs3_proc(i)->name, names[i]);
    }
}

static void
there_is_no_row_beyond_commit(void **state)
{
    (void)state;
    assert_null(nfs3_proc(NFS3_PROCS));
    assert_null(nfs3_proc(99));
    assert_null(nfs3_proc(UINT32_MAX));
}

static void
every_row_but_null_can_be_decoded_begun_finished_and_encoded(void **state)
{
    (void)state;
    assert_null(nfs3_proc(NFSPROC3_NULL)->begin);
    for (uint32_t i = NFSPROC3_GETATTR; i < NFS3_PROCS; i++) {
        const struct nfs3_proc *proc = nfs3_proc(i);

        assert_non_null(proc->begin);
        assert_non_null(proc->finish);
        assert_non_null(proc->decode);
        assert_true((proc->encode != NULL) != (proc->xdr_res != NULL));
        assert_true(proc->reply_bytes > 0);
    }
}

static void
only_an_error_of_getattr_carries_nothing(void **state)
{
    (void)state;
    for (uint32_t i = NFSPROC3_GETATTR; i < NFS3_PROCS; i++)
        assert_true((nfs3_proc(i)->fail != NULL) == (i != NFSPROC3_GETATTR));
}

static void
procedures_that_change_something_need_the_right_to_write_and_are_replayed(void **state)
{
    static const uint32_t changing[] = {
        NFSPROC3_SETATTR, NFSPROC3_WRITE, NFSPROC3_CREATE, NFSPROC3_MKDIR, NFSPROC3_SYMLINK, NFSPROC3_MKNOD,
        NFSPROC3_REMOVE, NFSPROC3_RMDIR, NFSPROC3_RENAME, NFSPROC3_LINK,
    };

    (void)state;
    for (uint32_t i = NFSPROC3_GETATTR; i < NFS3_PROCS; i++) {
        bool changes = is_one_of(i, changing, sizeof(changing) / sizeof(changing[0]));

        assert_int_equal(nfs3_proc(i)->needs, changes ? RIGHT_WRITE : RIGHT_READ);
        assert_true(nfs3_proc(i)->replay == changes);
    }
}

static void
rename_and_link_have_a_second_handle(void **state)
{
    union nfs3_args args;

    (void)state;
    for (uint32_t i = 0; i < NFS3_PROCS; i++)
        assert_true((nfs3_proc(i)->second != NULL) == (i == NFSPROC3_RENAME || i == NFSPROC3_LINK));
    assert_ptr_equal(nfs3_proc(NFSPROC3_RENAME)->second(&args), &args.rename.to.dir);
    assert_ptr_equal(nfs3_proc(NFSPROC3_LINK)->second(&args), &args.link.link.dir);
}

static void
nfsacl_has_rows_for_getacl_and_for_setacl_which_is_a_change(void **state)
{
    static const char *const acl_names[NFSACL_PROCS] = { "NULL", "GETACL", "SETACL" };

    (void)state;
    assert_null(nfsacl_proc(NFSACL_PROCS));
    assert_null(nfsacl_proc(UINT32_MAX));
    assert_null(nfsacl_proc(ACLPROC3_NULL)->begin);
    for (uint32_t i = 0; i < NFSACL_PROCS; i++) {
        const struct nfs3_proc *proc = nfsacl_proc(i);

        assert_string_equal(proc->name, acl_names[i]);
        if (i == ACLPROC3_NULL)
            continue;
        assert_true(proc->begin != NULL && proc->finish != NULL && proc->fail != NULL && proc->decode != NULL);
        assert_true((proc->encode != NULL) != (proc->xdr_res != NULL));
        assert_int_equal(proc->needs, i == ACLPROC3_SETACL ? RIGHT_WRITE : RIGHT_READ);
        assert_true(proc->replay == (i == ACLPROC3_SETACL));
        assert_null(proc->second);
    }
}

static void
each_procedure_of_both_programs_has_a_counter_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(NFS3_STATS_NFS + NFS3_PROCS, NFS3_STATS_NFSACL);
    assert_int_equal(NFS3_STATS_NFSACL + NFSACL_PROCS, NFS3_STATS_PROCS);
}

/* What dispatch.c takes for granted when it looks for the handle before it knows the procedure. */
static void
arguments_begin_with_a_handle_and_results_with_a_status(void **state)
{
    union nfs3_args args;
    union nfs3_res res;

    (void)state;
    assert_ptr_equal(&args.getattr.object, &args.first);
    assert_ptr_equal(&args.setattr.object, &args.first);
    assert_ptr_equal(&args.lookup.what.dir, &args.first);
    assert_ptr_equal(&args.write.file, &args.first);
    assert_ptr_equal(&args.create.where.dir, &args.first);
    assert_ptr_equal(&args.rename.from.dir, &args.first);
    assert_ptr_equal(&args.link.file, &args.first);
    assert_ptr_equal(&args.readdirplus.dir, &args.first);
    assert_ptr_equal(&args.commit.file, &args.first);
    assert_ptr_equal(&args.getacl.fh, &args.first);
    assert_ptr_equal(&args.setacl.fh, &args.first);
    assert_ptr_equal(&res.getattr.status, &res.status);
    assert_ptr_equal(&res.read.status, &res.status);
    assert_ptr_equal(&res.readdirplus.status, &res.status);
    assert_ptr_equal(&res.commit.status, &res.status);
    assert_ptr_equal(&res.getacl.status, &res.status);
    assert_ptr_equal(&res.setacl.status, &res.status);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_procedure_has_a_row_under_its_number),
        cmocka_unit_test(there_is_no_row_beyond_commit),
        cmocka_unit_test(every_row_but_null_can_be_decoded_begun_finished_and_encoded),
        cmocka_unit_test(only_an_error_of_getattr_carries_nothing),
        cmocka_unit_test(procedures_that_change_something_need_the_right_to_write_and_are_replayed),
        cmocka_unit_test(rename_and_link_have_a_second_handle),
        cmocka_unit_test(nfsacl_has_rows_for_getacl_and_for_setacl_which_is_a_change),
        cmocka_unit_test(each_procedure_of_both_programs_has_a_counter_of_its_own),
        cmocka_unit_test(arguments_begin_with_a_handle_and_results_with_a_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
