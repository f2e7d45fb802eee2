/*
 * tests/live/test_make.c - CREATE, MKDIR, SYMLINK and MKNOD (RFC 1813 3.3.8 to 3.3.11).
 */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/lib/live.h"

#define ALICE 1001
#define BOB 1002
#define GROUP 2000
#define MAKERS 7
#define SYMLINK_MAX_BYTES 4095

/* The seven ways to make something, by one name each. */
static const char *const makers[MAKERS] = { "CREATE UNCHECKED", "CREATE GUARDED", "CREATE EXCLUSIVE", "MKDIR",
                                            "SYMLINK", "MKNOD FIFO", "MKNOD SOCK" };
static const ftype3 made_types[MAKERS] = { NF3REG, NF3REG, NF3REG, NF3DIR, NF3LNK, NF3FIFO, NF3SOCK };

/* The four procedures' results have the same fields in the same places. */
static CREATE3res *
make(struct live *srv, size_t maker, const nfs_fh3 *dir, const char *name, sattr3 attr)
{
    switch (maker) {
    case 0:
        return live_create(srv, dir, name, UNCHECKED, attr);
    case 1:
        return live_create(srv, dir, name, GUARDED, attr);
    case 2:
        return live_create_exclusive(srv, dir, name, "verifier");
    case 3:
        return (CREATE3res *)live_mkdir(srv, dir, name, attr);
    case 4:
        return (CREATE3res *)live_symlink(srv, dir, name, "to/somewhere", attr);
    case 5:
        return (CREATE3res *)live_mknod(srv, dir, name, NF3FIFO, 0, 0, attr);
    default:
        return (CREATE3res *)live_mknod(srv, dir, name, NF3SOCK, 0, 0, attr);
    }
}

static void
what_is_made_comes_with_handle_attributes_and_wcc(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0777), found;
    CREATE3resok *ok;
    CREATE3res *res;
    char name[8];
    size_t i;

    live_chmod(srv, &dir, 0777);
    for (i = 0; i < MAKERS; i++) {
        snprintf(name, sizeof(name), "n%zu", i);
        res = make(srv, i, &dir, name, live_mode(0640));
        if (res->status != NFS3_OK)
            fail_msg("%s: status %d", makers[i], res->status);
        ok = &res->CREATE3res_u.resok;
        assert_true(ok->obj.handle_follows);
        assert_true(ok->obj_attributes.attributes_follow);
        assert_true(ok->dir_wcc.after.attributes_follow);
        assert_int_equal(ok->obj_attributes.post_op_attr_u.attributes.type, made_types[i]);
        found = live_find(srv, &dir, name);
        assert_true(live_same_handle(&found, &ok->obj.post_op_fh3_u.handle));
        assert_true(live_attr(srv, &found).fileid == ok->obj_attributes.post_op_attr_u.attributes.fileid);
        if (made_types[i] != NF3LNK && i != 2)
            assert_int_equal(live_attr(srv, &found).mode, 0640);
        assert_int_equal(live_attr(srv, &found).uid, srv->auth.uid);
    }
}

static void
the_mode_is_taken_as_given_without_a_umask(void **state)
{
    static const uint32_t modes[] = { 0, 0400, 0444, 0622, 0666, 0777, 04755 };
    struct live *srv = *state;
    nfs_fh3 found;
    size_t i, maker;

    for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        for (maker = 0; maker < MAKERS; maker++) {
            if (maker == 2 || maker == 4 || (maker == 3 && modes[i] > 0777))
                continue;
            assert_int_equal(make(srv, maker, &srv->root, "n", live_mode(modes[i]))->status, NFS3_OK);
            found = live_find(srv, &srv->root, "n");
            if (live_attr(srv, &found).mode != modes[i])
                fail_msg("%s: mode %o instead of %o", makers[maker], live_attr(srv, &found).mode, modes[i]);
            if (maker == 3)
                assert_int_equal(live_rmdir(srv, &srv->root, "n")->status, NFS3_OK);
            else
                assert_int_equal(live_remove(srv, &srv->root, "n")->status, NFS3_OK);
        }
    }
}

static void
without_a_mode_what_is_made_can_be_used(void **state)
{
    struct live *srv = *state;
    nfs_fh3 found;

    assert_int_equal(live_create(srv, &srv->root, "f", GUARDED, live_keep_all())->status, NFS3_OK);
    assert_int_equal(live_mkdir(srv, &srv->root, "d", live_keep_all())->status, NFS3_OK);
    found = live_find(srv, &srv->root, "f");
    assert_int_equal(live_attr(srv, &found).mode & 0600, 0600);
    assert_int_equal(live_attr(srv, &found).mode & 07002, 0);
    found = live_find(srv, &srv->root, "d");
    assert_int_equal(live_attr(srv, &found).mode & 0700, 0700);
    assert_int_equal(live_attr(srv, &found).mode & 0002, 0);
}

static void
an_existing_name_is_exist_for_all_but_unchecked(void **state)
{
    static const char *const names[] = { "f", "d", "l", "p" };
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "keep", 4);
    CREATE3res *res;
    size_t i, k;

    live_dir(srv, &srv->root, "d", 0755);
    live_link_to(srv, &srv->root, "l", "nowhere");
    assert_int_equal(live_mknod(srv, &srv->root, "p", NF3FIFO, 0, 0, live_mode(0644))->status, NFS3_OK);
    for (i = 1; i < MAKERS; i++) {
        for (k = 0; k < 4; k++) {
            res = make(srv, i, &srv->root, names[k], live_mode(0600));
            if (res->status != NFS3ERR_EXIST)
                fail_msg("%s of %s: status %d", makers[i], names[k], res->status);
            assert_true(res->CREATE3res_u.resfail.dir_wcc.after.attributes_follow);
        }
    }
    live_assert_content(srv, &file, "keep", 4);
    assert_int_equal(live_count(srv, &srv->root), 4);
}

static void
unchecked_takes_an_existing_file_and_changes_its_size_only(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "keep", 4);
    CREATE3res *res;
    sattr3 attr;

    live_chmod(srv, &file, 0600);
    res = live_create(srv, &srv->root, "f", UNCHECKED, live_mode(0644));
    assert_int_equal(res->status, NFS3_OK);
    assert_true(live_same_handle(&res->CREATE3res_u.resok.obj.post_op_fh3_u.handle, &file));
    live_assert_content(srv, &file, "keep", 4);
    assert_int_equal(live_attr(srv, &file).mode, 0600);
    attr = live_mode(0644);
    attr.size.set_it = TRUE;
    attr.size.set_size3_u.size = 0;
    assert_int_equal(live_create(srv, &srv->root, "f", UNCHECKED, attr)->status, NFS3_OK);
    live_assert_content(srv, &file, "", 0);
    assert_int_equal(live_attr(srv, &file).mode, 0600);
}

static void
unchecked_with_size_zero_moves_the_times_of_an_empty_file(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "f", "", 0);
    fattr3 before = live_attr(srv, &file);

    live_tick();
    assert_int_equal(live_create(srv, &srv->root, "f", UNCHECKED, live_size(0))->status, NFS3_OK);
    assert_false(live_same_time(live_attr(srv, &file).mtime, before.mtime));
}

static void
unchecked_of_an_existing_file_asks_the_file_not_the_directory(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0555), open_file, closed;

    live_need_identities(srv);
    open_file = live_file(srv, &dir, "open", 0666);
    closed = live_file(srv, &dir, "closed", 0644);
    live_write_all(srv, &open_file, 0, "x", 1);
    live_write_all(srv, &closed, 0, "y", 1);
    live_as(srv, ALICE, ALICE);
    assert_int_equal(live_create(srv, &dir, "open", UNCHECKED, live_mode(0644))->status, NFS3_OK);
    assert_int_equal(live_create(srv, &dir, "open", UNCHECKED, live_size(0))->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &open_file).size, 0);
    assert_int_equal(live_create(srv, &dir, "closed", UNCHECKED, live_size(0))->status, NFS3ERR_ACCES);
    assert_int_equal(live_create(srv, &dir, "new", UNCHECKED, live_mode(0644))->status, NFS3ERR_ACCES);
    live_as(srv, 0, 0);
    live_assert_content(srv, &closed, "y", 1);
    assert_int_equal(live_count(srv, &dir), 2);
}

static void
unchecked_does_not_follow_a_symbolic_link(void **state)
{
    struct live *srv = *state;
    nfs_fh3 target = live_put(srv, "target", "keep", 4), link;

    live_link_to(srv, &srv->root, "l", "target");
    live_link_to(srv, &srv->root, "m", "not-there");
    live_create(srv, &srv->root, "l", UNCHECKED, live_size(0));
    live_create(srv, &srv->root, "m", UNCHECKED, live_size(0));
    live_assert_content(srv, &target, "keep", 4);
    assert_false(live_has(srv, &srv->root, "not-there"));
    link = live_find(srv, &srv->root, "l");
    assert_int_equal(live_attr(srv, &link).type, NF3LNK);
}

static const char verifiers[][NFS3_CREATEVERFSIZE + 1] = {
    "\0\0\0\0\0\0\0\0", "\xff\xff\xff\xff\xff\xff\xff\xff", "\x80\0\0\0\xff\xff\xff\xff", "\0\0\0\0\xff\xff\xff\xff",
    "\xff\xff\xff\xff\0\0\0\0", "\0\0\0\1\0\0\0\0", "\0\0\0\0\0\0\0\1", "ABCDEFGH", "\x7f\xff\xff\xff\x3b\x9a\xca\0",
    "\x80\0\0\0\x80\0\0\0", "\1\2\3\4\x3b\x9a\xc9\xff",
};
#define VERIFIERS (sizeof(verifiers) / sizeof(*verifiers))

static void
exclusive_again_with_the_same_verifier_is_the_same_file(void **state)
{
    struct live *srv = *state;
    CREATE3res *first, *again;
    char name[8];
    size_t i, k;

    for (i = 0; i < VERIFIERS; i++) {
        snprintf(name, sizeof(name), "n%zu", i);
        first = live_create_exclusive(srv, &srv->root, name, verifiers[i]);
        assert_int_equal(first->status, NFS3_OK);
        again = live_create_exclusive(srv, &srv->root, name, verifiers[i]);
        if (again->status != NFS3_OK)
            fail_msg("verifier %zu again: status %d", i, again->status);
        assert_true(live_same_handle(&first->CREATE3res_u.resok.obj.post_op_fh3_u.handle,
                                     &again->CREATE3res_u.resok.obj.post_op_fh3_u.handle));
        for (k = 0; k < VERIFIERS; k++)
            if (k != i && live_create_exclusive(srv, &srv->root, name, verifiers[k])->status != NFS3ERR_EXIST)
                fail_msg("verifier %zu passes for %zu", k, i);
        assert_int_equal(live_create(srv, &srv->root, name, GUARDED, live_mode(0600))->status, NFS3ERR_EXIST);
    }
}

static void
every_bit_of_the_verifier_counts(void **state)
{
    struct live *srv = *state;
    char verifier[NFS3_CREATEVERFSIZE];
    int bit;

    memcpy(verifier, "\x12\x34\x56\x78\x9a\xbc\xde\xf0", sizeof(verifier));
    assert_int_equal(live_create_exclusive(srv, &srv->root, "n", verifier)->status, NFS3_OK);
    for (bit = 0; bit < 64; bit++) {
        verifier[bit / 8] ^= (char)(1 << bit % 8);
        if (live_create_exclusive(srv, &srv->root, "n", verifier)->status != NFS3ERR_EXIST)
            fail_msg("bit %d of the verifier does not count", bit);
        verifier[bit / 8] ^= (char)(1 << bit % 8);
    }
    assert_int_equal(live_create_exclusive(srv, &srv->root, "n", verifier)->status, NFS3_OK);
}

static void
exclusive_is_remembered_over_a_restart(void **state)
{
    struct live *srv = *state;
    CREATE3res *first, *again;
    char name[8];
    size_t i;

    live_need_directory(srv);
    for (i = 0; i < VERIFIERS; i++) {
        snprintf(name, sizeof(name), "n%zu", i);
        assert_int_equal(live_create_exclusive(srv, &srv->root, name, verifiers[i])->status, NFS3_OK);
    }
    first = live_create_exclusive(srv, &srv->root, "n0", verifiers[0]);
    live_restart(srv);
    for (i = 0; i < VERIFIERS; i++) {
        snprintf(name, sizeof(name), "n%zu", i);
        again = live_create_exclusive(srv, &srv->root, name, verifiers[i]);
        if (again->status != NFS3_OK)
            fail_msg("verifier %zu after a restart: status %d", i, again->status);
        assert_int_equal(live_create_exclusive(srv, &srv->root, name, verifiers[(i + 1) % VERIFIERS])->status,
                         NFS3ERR_EXIST);
    }
    again = live_create_exclusive(srv, &srv->root, "n0", verifiers[0]);
    assert_true(live_same_handle(&first->CREATE3res_u.resok.obj.post_op_fh3_u.handle,
                                 &again->CREATE3res_u.resok.obj.post_op_fh3_u.handle));
}

static void
exclusive_is_finished_by_the_setattr_of_its_maker(void **state)
{
    struct live *srv = *state;
    CREATE3res *res;
    sattr3 attr;
    nfs_fh3 file;

    live_need_identities(srv);
    live_as(srv, ALICE, ALICE);
    res = live_create_exclusive(srv, &srv->root, "n", "ABCDEFGH");
    assert_int_equal(res->status, NFS3_OK);
    file = res->CREATE3res_u.resok.obj.post_op_fh3_u.handle;
    assert_int_equal(live_attr(srv, &file).mode & 06022, 0);
    attr = live_mode(0644);
    attr.atime.set_it = SET_TO_SERVER_TIME;
    attr.mtime.set_it = SET_TO_SERVER_TIME;
    assert_int_equal(live_setattr(srv, &file, attr)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).mode, 0644);
    assert_int_equal(live_attr(srv, &file).uid, ALICE);
    assert_int_equal(live_attr(srv, &file).size, 0);
    assert_int_equal(live_write(srv, &file, 0, "x", 1, FILE_SYNC)->status, NFS3_OK);
}

static void
exclusive_after_a_removal_makes_another_file(void **state)
{
    struct live *srv = *state;
    CREATE3res *first = live_create_exclusive(srv, &srv->root, "n", "ABCDEFGH"), *second;

    assert_int_equal(first->status, NFS3_OK);
    assert_int_equal(live_remove(srv, &srv->root, "n")->status, NFS3_OK);
    second = live_create_exclusive(srv, &srv->root, "n", "ABCDEFGH");
    assert_int_equal(second->status, NFS3_OK);
    assert_false(live_same_handle(&first->CREATE3res_u.resok.obj.post_op_fh3_u.handle,
                                  &second->CREATE3res_u.resok.obj.post_op_fh3_u.handle));
}

static void
times_and_size_can_be_given_at_creation(void **state)
{
    struct live *srv = *state;
    sattr3 attr = live_mode(0640);
    nfs_fh3 found;
    size_t i;

    attr.atime.set_it = SET_TO_CLIENT_TIME;
    attr.atime.set_atime_u.atime = (nfstime3){ 1000000000, 1 };
    attr.mtime.set_it = SET_TO_CLIENT_TIME;
    attr.mtime.set_mtime_u.mtime = (nfstime3){ 4000000000u, 999999999 };
    attr.size.set_it = TRUE;
    attr.size.set_size3_u.size = 0;
    for (i = 0; i < 4; i++) {
        if (i == 2)
            continue;
        assert_int_equal(make(srv, i, &srv->root, makers[i], attr)->status, NFS3_OK);
        found = live_find(srv, &srv->root, makers[i]);
        assert_true(live_same_time(live_attr(srv, &found).mtime, attr.mtime.set_mtime_u.mtime));
        assert_true(live_same_time(live_attr(srv, &found).atime, attr.atime.set_atime_u.atime));
    }
    attr.size.set_size3_u.size = 1000;
    assert_int_equal(live_create(srv, &srv->root, "sized", GUARDED, attr)->status, NFS3_OK);
    found = live_find(srv, &srv->root, "sized");
    assert_int_equal(live_attr(srv, &found).size, 1000);
}

static void
root_may_give_away_what_he_makes_others_may_not(void **state)
{
    struct live *srv = *state;
    sattr3 attr = live_mode(0644);
    nfs_fh3 found;
    size_t i;

    live_need_identities(srv);
    attr.uid.set_it = TRUE;
    attr.uid.set_uid3_u.uid = BOB;
    attr.gid.set_it = TRUE;
    attr.gid.set_gid3_u.gid = GROUP;
    for (i = 0; i < MAKERS; i++) {
        if (i == 2)
            continue;
        assert_int_equal(make(srv, i, &srv->root, makers[i], attr)->status, NFS3_OK);
        found = live_find(srv, &srv->root, makers[i]);
        assert_int_equal(live_attr(srv, &found).uid, BOB);
        assert_int_equal(live_attr(srv, &found).gid, GROUP);
    }
    live_as(srv, ALICE, ALICE);
    for (i = 0; i < MAKERS; i++) {
        LOOKUP3res *res;
        char name[8];

        if (i == 2)
            continue;
        snprintf(name, sizeof(name), "n%zu", i);
        make(srv, i, &srv->root, name, attr);
        res = live_lookup(srv, &srv->root, name);
        if (res->status == NFS3_OK)
            assert_int_equal(live_attr(srv, &res->LOOKUP3res_u.resok.object).uid, ALICE);
    }
    attr.uid.set_uid3_u.uid = ALICE;
    live_as_member(srv, ALICE, ALICE, 1, (const uint32_t[]){ GROUP });
    assert_int_equal(live_create(srv, &srv->root, "own", GUARDED, attr)->status, NFS3_OK);
    found = live_find(srv, &srv->root, "own");
    assert_int_equal(live_attr(srv, &found).uid, ALICE);        /* of the group knfsd takes no notice here */
}

static void
a_setgid_directory_passes_its_group_on(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0777), found;
    size_t i;

    live_need_identities(srv);
    live_chown(srv, &dir, 0, GROUP);
    live_chmod(srv, &dir, 02777);
    live_as(srv, ALICE, ALICE);
    for (i = 0; i < MAKERS; i++) {
        assert_int_equal(make(srv, i, &dir, makers[i], live_mode(0640))->status, NFS3_OK);
        found = live_find(srv, &dir, makers[i]);
        assert_int_equal(live_attr(srv, &found).gid, GROUP);
        if (made_types[i] == NF3DIR)
            assert_int_equal(live_attr(srv, &found).mode & 02000, 02000);
    }
}

static void
making_takes_write_and_search_permission_by_any_of_sixteen_groups(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0770);
    uint32_t groups[LIVE_GIDS_MAX], i;
    CREATE3res *res;

    live_need_identities(srv);
    live_chown(srv, &dir, 0, GROUP);
    for (i = 0; i < LIVE_GIDS_MAX; i++)
        groups[i] = 3000 + i;
    groups[LIVE_GIDS_MAX - 1] = GROUP;
    for (i = 0; i < MAKERS; i++) {
        live_as(srv, ALICE, ALICE);
        res = make(srv, i, &dir, makers[i], live_mode(0640));
        assert_int_equal(res->status, NFS3ERR_ACCES);
        assert_true(res->CREATE3res_u.resfail.dir_wcc.after.attributes_follow);
        live_as_member(srv, ALICE, ALICE, LIVE_GIDS_MAX, groups);
        assert_int_equal(make(srv, i, &dir, makers[i], live_mode(0640))->status, NFS3_OK);
    }
    live_as(srv, 0, 0);
    live_chmod(srv, &dir, 0722);
    live_as(srv, BOB, BOB);
    assert_int_equal(make(srv, 1, &dir, "n", live_mode(0640))->status, NFS3ERR_ACCES);
}

static void
a_symbolic_link_holds_up_to_4095_bytes(void **state)
{
    struct live *srv = *state;
    filename3 longest = live_long_name(srv, 'x', SYMLINK_MAX_BYTES);
    filename3 longer = live_long_name(srv, 'x', SYMLINK_MAX_BYTES + 1);
    SYMLINK3res *res = live_symlink(srv, &srv->root, "l", longest.filename3_val, live_keep_all());
    READLINK3res *text;

    assert_int_equal(res->status, NFS3_OK);
    text = live_readlink(srv, &res->SYMLINK3res_u.resok.obj.post_op_fh3_u.handle);
    assert_int_equal(text->status, NFS3_OK);
    assert_int_equal(text->READLINK3res_u.resok.data.nfspath3_len, SYMLINK_MAX_BYTES);
    assert_memory_equal(text->READLINK3res_u.resok.data.nfspath3_val, longest.filename3_val, SYMLINK_MAX_BYTES);
    assert_int_equal(live_symlink(srv, &srv->root, "m", longer.filename3_val, live_keep_all())->status,
                     NFS3ERR_NAMETOOLONG);
    assert_int_not_equal(live_symlink(srv, &srv->root, "m", "", live_keep_all())->status, NFS3_OK);
    assert_false(live_has(srv, &srv->root, "m"));
}

static void
a_link_text_with_nul_is_refused(void **state)
{
    struct live *srv = *state;
    int outcome;
    SYMLINK3res *res = live_try(srv, NFSPROC3_SYMLINK, &(SYMLINK3args){ { srv->root, live_name("l") },
                                                                       { live_keep_all(), { 3, "a\0b" } } }, &outcome);

    assert_true(res == NULL ? outcome == LIVE_GARBAGE_ARGS : res->status != NFS3_OK);
    assert_false(live_has(srv, &srv->root, "l"));
}

static void
making_a_link_leaves_its_target_alone(void **state)
{
    struct live *srv = *state;
    nfs_fh3 target = live_put(srv, "target", "keep", 4);
    fattr3 before = live_attr(srv, &target);
    sattr3 attr = live_mode(0755);

    attr.mtime.set_it = SET_TO_CLIENT_TIME;
    attr.mtime.set_mtime_u.mtime = (nfstime3){ 7, 7 };
    assert_int_equal(live_symlink(srv, &srv->root, "l", "target", attr)->status, NFS3_OK);
    assert_int_equal(live_symlink(srv, &srv->root, "loop", "loop", attr)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &target).mode, before.mode);
    assert_true(live_same_time(live_attr(srv, &target).mtime, before.mtime));
}

static void
root_makes_devices_with_their_numbers(void **state)
{
    static const struct {
        ftype3 type;
        uint32_t major, minor;
    } rows[] = { { NF3CHR, 1, 3 }, { NF3BLK, 7, 0 }, { NF3CHR, 255, 255 }, { NF3CHR, 10, 1000 },
                 { NF3BLK, 4095, 1048575 } };
    struct live *srv = *state;
    struct stat st;
    nfs_fh3 found;
    char name[8];
    fattr3 attr;
    size_t i;

    live_need_root(srv);
    for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(name, sizeof(name), "n%zu", i);
        assert_int_equal(live_mknod(srv, &srv->root, name, rows[i].type, rows[i].major, rows[i].minor,
                                    live_mode(0640))->status, NFS3_OK);
        found = live_find(srv, &srv->root, name);
        attr = live_attr(srv, &found);
        assert_int_equal(attr.type, rows[i].type);
        assert_int_equal(attr.mode, 0640);
        assert_int_equal(attr.rdev.specdata1, rows[i].major);
        assert_int_equal(attr.rdev.specdata2, rows[i].minor);
        if (live_local(srv, name) == NULL)
            continue;
        assert_int_equal(lstat(live_local(srv, name), &st), 0);
        assert_int_equal(major(st.st_rdev), rows[i].major);
        assert_int_equal(minor(st.st_rdev), rows[i].minor);
    }
}

static void
users_make_no_devices(void **state)
{
    struct live *srv = *state;
    nfsstat3 status;

    live_need_identities(srv);
    live_as(srv, ALICE, ALICE);
    status = live_mknod(srv, &srv->root, "n", NF3CHR, 1, 3, live_mode(0666))->status;
    assert_true(status == NFS3ERR_PERM || status == NFS3ERR_ACCES);
    status = live_mknod(srv, &srv->root, "n", NF3BLK, 8, 0, live_mode(0666))->status;
    assert_true(status == NFS3ERR_PERM || status == NFS3ERR_ACCES);
    assert_false(live_has(srv, &srv->root, "n"));
    assert_int_equal(live_mknod(srv, &srv->root, "p", NF3FIFO, 0, 0, live_mode(0666))->status, NFS3_OK);
}

static void
mknod_of_files_directories_and_links_is_badtype(void **state)
{
    static const ftype3 types[] = { NF3REG, NF3DIR, NF3LNK };
    static const uint32_t none[] = { 0, 8, 0xffffffff };
    struct live *srv = *state;
    MKNOD3args args = { .where = { srv->root, live_name("n") } };
    MKNOD3res *res;
    int outcome;
    size_t i;

    for (i = 0; i < 3; i++) {
        args.what.type = types[i];
        res = live_nfs(srv, NFSPROC3_MKNOD, &args);
        assert_int_equal(res->status, NFS3ERR_BADTYPE);
    }
    for (i = 0; i < 3; i++) {
        args.what.type = (ftype3)none[i];
        res = live_try(srv, NFSPROC3_MKNOD, &args, &outcome);
        assert_true(res == NULL ? outcome == LIVE_GARBAGE_ARGS : res->status == NFS3ERR_BADTYPE);
    }
    assert_false(live_has(srv, &srv->root, "n"));
}

static void
a_new_directory_is_empty_and_counts_its_links(void **state)
{
    struct live *srv = *state;
    fattr3 before = live_attr(srv, &srv->root);
    nfs_fh3 dir = live_dir(srv, &srv->root, "d", 0755);

    assert_int_equal(live_count(srv, &dir), 0);
    assert_int_equal(live_attr(srv, &dir).nlink, 2);
    assert_int_equal(live_attr(srv, &srv->root).nlink, before.nlink + 1);
}

static void
what_is_made_is_there_after_a_restart(void **state)
{
    struct live *srv = *state;
    nfs_fh3 found;
    size_t i;

    live_need_directory(srv);
    for (i = 0; i < MAKERS; i++)
        assert_int_equal(make(srv, i, &srv->root, makers[i], live_mode(0640))->status, NFS3_OK);
    live_restart(srv);
    for (i = 0; i < MAKERS; i++) {
        found = live_find(srv, &srv->root, makers[i]);
        assert_int_equal(live_attr(srv, &found).type, made_types[i]);
    }
}

static void
squashed_callers_act_as_the_anonymous_user(void **state)
{
    const struct live_options options = {
        .export_options = "rw,insecure,all_squash,anonuid=1001,anongid=2000",
        .second_options = "rw,insecure,root_squash,anonuid=1002,anongid=2000,sec=sys:none",
    };
    struct live *srv = *state;
    nfs_fh3 second, file;

    live_need_identities(srv);
    srv = live_start_beside(srv, &options);
    second = live_mount(srv, srv->second);
    live_as_member(srv, BOB, BOB, 2, (const uint32_t[]){ 0, 77 });
    file = live_file(srv, &srv->root, "all", 0600);
    assert_int_equal(live_attr(srv, &file).uid, ALICE);
    assert_int_equal(live_attr(srv, &file).gid, GROUP);
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3_OK);
    live_as(srv, 0, 0);
    file = live_file(srv, &second, "root", 0600);
    assert_int_equal(live_attr(srv, &file).uid, BOB);
    assert_int_equal(live_attr(srv, &file).gid, GROUP);
    live_as_member(srv, ALICE, 0, 1, (const uint32_t[]){ 0 });
    file = live_file(srv, &second, "alice", 0600);
    assert_int_equal(live_attr(srv, &file).uid, ALICE);
    assert_int_equal(live_attr(srv, &file).gid, GROUP);
    live_as_nobody(srv);
    file = live_file(srv, &second, "nobody", 0600);
    assert_int_equal(live_attr(srv, &file).uid, BOB);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_comes_with_handle_attributes_and_wcc),
        cmocka_unit_test(the_mode_is_taken_as_given_without_a_umask),
        cmocka_unit_test(without_a_mode_what_is_made_can_be_used),
        cmocka_unit_test(an_existing_name_is_exist_for_all_but_unchecked),
        cmocka_unit_test(unchecked_takes_an_existing_file_and_changes_its_size_only),
        cmocka_unit_test(unchecked_with_size_zero_moves_the_times_of_an_empty_file),
        cmocka_unit_test(unchecked_of_an_existing_file_asks_the_file_not_the_directory),
        cmocka_unit_test(unchecked_does_not_follow_a_symbolic_link),
        cmocka_unit_test(exclusive_again_with_the_same_verifier_is_the_same_file),
        cmocka_unit_test(every_bit_of_the_verifier_counts),
        cmocka_unit_test(exclusive_is_remembered_over_a_restart),
        cmocka_unit_test(exclusive_is_finished_by_the_setattr_of_its_maker),
        cmocka_unit_test(exclusive_after_a_removal_makes_another_file),
        cmocka_unit_test(times_and_size_can_be_given_at_creation),
        cmocka_unit_test(root_may_give_away_what_he_makes_others_may_not),
        cmocka_unit_test(a_setgid_directory_passes_its_group_on),
        cmocka_unit_test(making_takes_write_and_search_permission_by_any_of_sixteen_groups),
        cmocka_unit_test(a_symbolic_link_holds_up_to_4095_bytes),
        cmocka_unit_test(a_link_text_with_nul_is_refused),
        cmocka_unit_test(making_a_link_leaves_its_target_alone),
        cmocka_unit_test(root_makes_devices_with_their_numbers),
        cmocka_unit_test(users_make_no_devices),
        cmocka_unit_test(mknod_of_files_directories_and_links_is_badtype),
        cmocka_unit_test(a_new_directory_is_empty_and_counts_its_links),
        cmocka_unit_test(what_is_made_is_there_after_a_restart),
        cmocka_unit_test(squashed_callers_act_as_the_anonymous_user),
    };

    return live_main("make", tests, sizeof(tests) / sizeof(*tests));
}
