/*
 * tests/live/test_fs.c - FSSTAT, FSINFO and PATHCONF (RFC 1813 3.3.18 to 3.3.20).
 */
#include <sys/statvfs.h>

#include "tests/lib/live.h"

/* One object of each kind, the root of the export first. */
static size_t
make_objects(struct live *srv, nfs_fh3 objects[4])
{
    MKNOD3res *fifo = live_mknod(srv, &srv->root, "fifo", NF3FIFO, 0, 0, live_mode(0644));

    assert_int_equal(fifo->status, NFS3_OK);
    objects[0] = srv->root;
    objects[1] = live_put(srv, "file", "x", 1);
    objects[2] = live_link_to(srv, &srv->root, "link", "nowhere");
    objects[3] = fifo->MKNOD3res_u.resok.obj.post_op_fh3_u.handle;
    return 4;
}

static void
fsstat_numbers_hang_together(void **state)
{
    struct live *srv = *state;
    FSSTAT3res *res = live_fsstat(srv, &srv->root);
    FSSTAT3resok *ok = &res->FSSTAT3res_u.resok;

    assert_int_equal(res->status, NFS3_OK);
    assert_true(ok->obj_attributes.attributes_follow);
    assert_true(ok->tbytes > 0);
    assert_true(ok->fbytes <= ok->tbytes);
    assert_true(ok->abytes <= ok->fbytes);
    assert_true(ok->ffiles <= ok->tfiles);
    assert_true(ok->afiles <= ok->ffiles);
}

static void
fsstat_is_what_statvfs_says(void **state)
{
    struct live *srv = *state;
    FSSTAT3res *res = live_fsstat(srv, &srv->root);
    struct statvfs vfs;
    uint64_t slack, free_bytes;

    live_need_directory(srv);
    assert_int_equal(statvfs(srv->export, &vfs), 0);
    assert_int_equal(res->status, NFS3_OK);
    assert_true(res->FSSTAT3res_u.resok.tbytes == (uint64_t)vfs.f_blocks * vfs.f_frsize);
    assert_true(res->FSSTAT3res_u.resok.tfiles == vfs.f_files);
    /* What is free moves while others work on the same disk: within a sixteenth of the whole. */
    slack = (uint64_t)vfs.f_blocks * vfs.f_frsize / 16;
    free_bytes = (uint64_t)vfs.f_bfree * vfs.f_frsize;
    assert_in_range(res->FSSTAT3res_u.resok.fbytes + slack, free_bytes, free_bytes + 2 * slack);
}

static void
fsinfo_sizes_can_be_used(void **state)
{
    struct live *srv = *state;
    FSINFO3res *res = live_fsinfo(srv, &srv->root);
    FSINFO3resok *ok = &res->FSINFO3res_u.resok;

    assert_int_equal(res->status, NFS3_OK);
    assert_int_equal(ok->rtmax, 1 << 20);
    assert_int_equal(ok->wtmax, 1 << 20);
    assert_in_range(ok->rtpref, 4096, ok->rtmax);
    assert_in_range(ok->wtpref, 4096, ok->wtmax);
    assert_int_equal(ok->rtpref % 4096, 0);
    assert_int_equal(ok->wtpref % 4096, 0);
    assert_in_range(ok->rtmult, 1, 4096);
    assert_in_range(ok->wtmult, 1, 4096);
    assert_in_range(ok->dtpref, 4096, 1 << 20);
    assert_true(ok->maxfilesize > UINT64_C(1) << 32);
    assert_true(ok->maxfilesize <= INT64_MAX);
    assert_true(ok->time_delta.seconds > 0 || ok->time_delta.nseconds > 0);
    assert_true(ok->time_delta.nseconds < 1000000000);
    assert_int_equal(ok->properties & (FSF3_LINK | FSF3_SYMLINK | FSF3_CANSETTIME),
                     FSF3_LINK | FSF3_SYMLINK | FSF3_CANSETTIME);
}

static void
shrink_transfers(struct settings *settings)
{
    settings->rtmax = 64 << 10;
    settings->wtmax = 32 << 10;
    settings->dtpref = 8 << 10;
}

static void
fsinfo_follows_the_settings(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .tune = shrink_transfers });
    FSINFO3res *res = live_fsinfo(srv, &srv->root);

    assert_int_equal(res->status, NFS3_OK);
    assert_int_equal(res->FSINFO3res_u.resok.rtmax, 64 << 10);
    assert_int_equal(res->FSINFO3res_u.resok.wtmax, 32 << 10);
    assert_int_equal(res->FSINFO3res_u.resok.dtpref, 8 << 10);
}

static void
an_exports_own_limits_go_before_the_servers(void **state)
{
    struct live_options options = { .export_options = "rw,insecure,no_root_squash,rtmax=8192,wtmax=16384",
                                    .tune = shrink_transfers };
    struct live *srv = live_start_beside(*state, &options);
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    FSINFO3res *res = live_fsinfo(srv, &srv->root);
    char *data = live_keep(srv, 20000);
    WRITE3res *written;

    assert_int_equal(res->status, NFS3_OK);
    assert_int_equal(res->FSINFO3res_u.resok.rtmax, 8192);
    assert_int_equal(res->FSINFO3res_u.resok.wtmax, 16384);
    written = live_write(srv, &file, 0, data, 20000, FILE_SYNC);
    assert_int_equal(written->status, NFS3_OK);
    assert_int_equal(written->WRITE3res_u.resok.count, 16384);
    assert_int_equal(live_read(srv, &file, 0, 16384)->READ3res_u.resok.count, 8192);
}

/* Over UDP everything that FSINFO promises must fit into a datagram, header included. */
static void
fsinfo_over_udp_promises_what_fits_a_datagram(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_file(srv, &srv->root, "f", 0644);
    char *data = live_keep(srv, 65536);
    READ3res *read;
    FSINFO3res *res;
    WRITE3res *written;
    uint32_t rtmax, wtmax;

    live_close(&srv->conn);
    srv->conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    res = live_fsinfo(srv, &srv->root);
    assert_int_equal(res->status, NFS3_OK);
    rtmax = res->FSINFO3res_u.resok.rtmax;
    wtmax = res->FSINFO3res_u.resok.wtmax;
    assert_in_range(rtmax, 4096, 60000);
    assert_in_range(wtmax, 4096, 60000);
    memset(data, 'u', 65536);
    written = live_write(srv, &file, 0, data, wtmax, FILE_SYNC);
    assert_int_equal(written->status, NFS3_OK);
    assert_int_equal(written->WRITE3res_u.resok.count, wtmax);
    read = live_read(srv, &file, 0, rtmax);
    assert_int_equal(read->status, NFS3_OK);
    assert_int_equal(read->READ3res_u.resok.count, rtmax < wtmax ? rtmax : wtmax);
}

static void
pathconf_tells_what_names_may_be(void **state)
{
    struct live *srv = *state;
    PATHCONF3res *res = live_pathconf(srv, &srv->root);
    PATHCONF3resok *ok = &res->PATHCONF3res_u.resok;

    assert_int_equal(res->status, NFS3_OK);
    assert_true(ok->linkmax >= 1000);
    assert_int_equal(ok->name_max, 255);
    assert_true(ok->no_trunc);
    assert_true(ok->chown_restricted);
    assert_false(ok->case_insensitive);
    assert_true(ok->case_preserving);
}

static void
all_three_answer_for_every_kind_of_object(void **state)
{
    struct live *srv = *state;
    nfs_fh3 objects[4];
    size_t i, count = make_objects(srv, objects);

    for (i = 0; i < count; i++) {
        fattr3 attr = live_attr(srv, &objects[i]);
        FSSTAT3res *stat = live_fsstat(srv, &objects[i]);
        FSINFO3res *info = live_fsinfo(srv, &objects[i]);
        PATHCONF3res *conf = live_pathconf(srv, &objects[i]);

        assert_int_equal(stat->status, NFS3_OK);
        assert_int_equal(info->status, NFS3_OK);
        assert_int_equal(conf->status, NFS3_OK);
        assert_true(stat->FSSTAT3res_u.resok.obj_attributes.attributes_follow);
        assert_true(info->FSINFO3res_u.resok.obj_attributes.attributes_follow);
        assert_true(conf->PATHCONF3res_u.resok.obj_attributes.attributes_follow);
        assert_true(stat->FSSTAT3res_u.resok.obj_attributes.post_op_attr_u.attributes.fileid == attr.fileid);
        assert_true(info->FSINFO3res_u.resok.obj_attributes.post_op_attr_u.attributes.fileid == attr.fileid);
        assert_true(conf->PATHCONF3res_u.resok.obj_attributes.post_op_attr_u.attributes.fileid == attr.fileid);
    }
}

static void
what_clients_ask_while_they_mount_needs_no_credentials(void **state)
{
    struct live *srv = *state;
    nfs_fh3 below = live_dir(srv, &srv->root, "d", 0755);

    live_as_nobody(srv);
    assert_int_equal(live_fsinfo(srv, &srv->root)->status, NFS3_OK);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    assert_int_equal(live_pathconf(srv, &srv->root)->status, NFS3ERR_ACCES);
    assert_int_equal(live_fsstat(srv, &srv->root)->status, NFS3ERR_ACCES);
    assert_int_equal(live_fsinfo(srv, &below)->status, NFS3ERR_ACCES);
    assert_int_equal(live_getattr(srv, &below)->status, NFS3ERR_ACCES);
}

static void
a_removed_object_is_stale_for_all_three(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file = live_put(srv, "file", "x", 1);

    assert_int_equal(live_remove(srv, &srv->root, "file")->status, NFS3_OK);
    assert_int_equal(live_fsstat(srv, &file)->status, NFS3ERR_STALE);
    assert_int_equal(live_fsinfo(srv, &file)->status, NFS3ERR_STALE);
    assert_int_equal(live_pathconf(srv, &file)->status, NFS3ERR_STALE);
}

static void
writing_takes_from_what_is_free(void **state)
{
    struct live *srv = *state;
    FSSTAT3res *before, *after;
    nfs_fh3 file;
    char *data;

    if (srv->config->store != LIVE_MEMORY) {
        print_message("left out: others write to the same file system\n");
        skip();
    }
    data = live_keep(srv, 1 << 20);
    before = live_fsstat(srv, &srv->root);
    file = live_put(srv, "f", data, 1 << 20);
    after = live_fsstat(srv, &srv->root);
    assert_in_range(before->FSSTAT3res_u.resok.fbytes - after->FSSTAT3res_u.resok.fbytes, 1 << 20, 2 << 20);
    assert_int_equal(before->FSSTAT3res_u.resok.ffiles - after->FSSTAT3res_u.resok.ffiles, 1);
    assert_int_equal(live_attr(srv, &file).used % 512, 0);
}

static void
small_memory(struct settings *settings)
{
    settings->memory_bytes = 1 << 20;
    settings->memory_files = 20;
}

static void
a_full_store_says_so_and_works_on_after_a_removal(void **state)
{
    struct live *srv = *state;
    WRITE3res *written = NULL;
    nfs_fh3 file;
    char data[65536];
    uint64_t offset = 0;
    int i;

    if (srv->config->store != LIVE_MEMORY) {
        print_message("left out: filling a disk of this machine would hurt others\n");
        skip();
    }
    srv = live_start_beside(srv, &(struct live_options){ .tune = small_memory });
    memset(data, 'f', sizeof(data));
    file = live_file(srv, &srv->root, "big", 0644);
    for (i = 0; i < 100; i++, offset += written->WRITE3res_u.resok.count) {
        written = live_write(srv, &file, offset, data, sizeof(data), FILE_SYNC);
        if (written->status != NFS3_OK)
            break;
    }
    assert_int_equal(written->status, NFS3ERR_NOSPC);
    assert_int_equal(live_remove(srv, &srv->root, "big")->status, NFS3_OK);
    file = live_file(srv, &srv->root, "again", 0644);
    assert_int_equal(live_write(srv, &file, 0, data, sizeof(data), FILE_SYNC)->status, NFS3_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fsstat_numbers_hang_together),
        cmocka_unit_test(fsstat_is_what_statvfs_says),
        cmocka_unit_test(fsinfo_sizes_can_be_used),
        cmocka_unit_test(fsinfo_follows_the_settings),
        cmocka_unit_test(an_exports_own_limits_go_before_the_servers),
        cmocka_unit_test(fsinfo_over_udp_promises_what_fits_a_datagram),
        cmocka_unit_test(pathconf_tells_what_names_may_be),
        cmocka_unit_test(all_three_answer_for_every_kind_of_object),
        cmocka_unit_test(what_clients_ask_while_they_mount_needs_no_credentials),
        cmocka_unit_test(a_removed_object_is_stale_for_all_three),
        cmocka_unit_test(writing_takes_from_what_is_free),
        cmocka_unit_test(a_full_store_says_so_and_works_on_after_a_removal),
    };

    return live_main("fs", tests, sizeof(tests) / sizeof(*tests));
}
