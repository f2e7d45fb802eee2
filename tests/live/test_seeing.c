/* tests/live/test_seeing.c - who looks on: what is kept of calls, questions about them, the journal, the capture file. */
#include "tests/lib/live.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/observer.h"

#define KEPT 4000
#define ERROR_MAX 1024
#define BIG (256u << 10)

static void
keep(struct live *srv, size_t most)
{
    char error[ERROR_MAX];

    assert_int_equal(observer_keep(server_observer(srv->server), most, error, sizeof(error)), 0);
}

static void
assert_counted(struct live *srv, const char *description, int calls)
{
    char error[ERROR_MAX] = "";
    int counted = observer_count(server_observer(srv->server), description, error, sizeof(error));

    if (counted != calls)
        fail_msg("%s: %d in place of %d (%s)", description, counted, calls, error);
}

static void
assert_so(struct live *srv, const char *expectation)
{
    char error[ERROR_MAX] = "";

    if (observer_expect(server_observer(srv->server), expectation, error, sizeof(error)) != 0)
        fail_msg("%s: %s", expectation, error);
}

/* It is not, and the reason has this word in it. */
static void
assert_not_so(struct live *srv, const char *expectation, const char *word)
{
    char error[ERROR_MAX] = "";
    int result = observer_expect(server_observer(srv->server), expectation, error, sizeof(error));

    if (result != -EDOM || strstr(error, word) == NULL)
        fail_msg("%s: %d, and \"%s\" says nothing about %s", expectation, result, error, word);
}

static void
calls_are_counted_by_what_they_are(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    keep(srv, KEPT);
    file = live_file(srv, &srv->root, "file", 0644);
    live_write(srv, &file, 0, "some text", 9, UNSTABLE);
    live_write(srv, &file, 9, " and more", 9, FILE_SYNC);
    live_read(srv, &file, 4, 100);
    live_lookup(srv, &srv->root, "nothing");
    live_commit(srv, &file, 0, 0);
    assert_counted(srv, "call", 6);
    assert_counted(srv, "WRITE", 2);
    assert_counted(srv, "write unstable", 1);
    assert_counted(srv, "WRITE file_sync at 9", 1);
    assert_counted(srv, "WRITE data_sync", 0);
    assert_counted(srv, "READ over 99", 1);
    assert_counted(srv, "READ over 100", 0);
    assert_counted(srv, "READ under 101 at 4", 1);
    assert_counted(srv, "call failing", 1);
    assert_counted(srv, "LOOKUP answered NOENT", 1);
    assert_counted(srv, "LOOKUP answered OK", 0);
    assert_counted(srv, "call from 127.0.0.1", 6);
    assert_counted(srv, "call from ::1", 0);
    assert_counted(srv, "call dropped", 0);
    assert_counted(srv, "call by 4711", 0);
}

static void
files_are_known_by_their_paths(void **state)
{
    struct live *srv = *state;
    nfs_fh3 dir, file;
    char description[PATH_MAX + 64];

    keep(srv, KEPT);
    dir = live_dir(srv, &srv->root, "dir", 0755);
    file = live_file(srv, &dir, "a file", 0644);
    live_write(srv, &file, 0, "x", 1, FILE_SYNC);
    live_rename(srv, &dir, "a file", &srv->root, "moved");
    live_read(srv, &file, 0, 1);
    live_remove(srv, &srv->root, "moved");
    live_getattr(srv, &file);
    snprintf(description, sizeof(description), "WRITE of \"%s/dir/a file\"", srv->export);
    assert_counted(srv, description, 1);
    snprintf(description, sizeof(description), "READ of %s/moved", srv->export);
    assert_counted(srv, description, 1);
    snprintf(description, sizeof(description), "REMOVE of %s/moved", srv->export);
    assert_counted(srv, description, 1);
    snprintf(description, sizeof(description), "GETATTR of %s/moved", srv->export);
    assert_counted(srv, description, 0);
}

static void
what_is_expected_is_so_or_there_is_a_reason(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    keep(srv, KEPT);
    file = live_file(srv, &srv->root, "file", 0644);
    live_write(srv, &file, 0, "x", 1, FILE_SYNC);
    live_read(srv, &file, 0, 65537);
    live_commit(srv, &file, 0, 0);
    live_commit(srv, &file, 0, 0);
    assert_so(srv, "exactly 2 COMMIT");
    assert_so(srv, "at least 1 COMMIT");
    assert_so(srv, "at most 2 COMMIT");
    assert_so(srv, "some COMMIT");
    assert_so(srv, "no REMOVE");
    assert_so(srv, "no READ over 65537");
    assert_so(srv, "every WRITE file_sync");
    assert_so(srv, "every REMOVE failing");
    assert_not_so(srv, "exactly 1 COMMIT", "there were 2: COMMIT of ");
    assert_not_so(srv, "no READ over 64K", "65537 bytes");
    assert_not_so(srv, "at least 3 COMMIT", "there were 2");
    assert_not_so(srv, "at most 1 COMMIT", "there were 2");
    assert_not_so(srv, "some REMOVE", "there were 0");
    assert_not_so(srv, "every WRITE unstable", "file_sync");
    assert_not_so(srv, "every call answered NOENT", "answered OK");
}

static void
what_cannot_be_understood_is_refused_with_the_word(void **state)
{
    static const struct { const char *text, *word; } wrong[] = {
        { "", "ends where" }, { "2 COMMIT", "\"exactly\"" }, { "exactly COMMIT", "a number" }, { "exactly 1", "procedure" },
        { "exactly 1 COMMITS", "COMMITS" }, { "no READ above 64K", "above" }, { "no READ overr 64K", "did you mean over" },
        { "no READ over much", "much" }, { "no READ over", "ends where" }, { "no READ of file", "begins with /" },
        { "no READ of \"/x", "quote" }, { "no READ answered PERHAPS", "PERHAPS" }, { "no READ from here", "here" },
        { "no READ by me", "me" }, { "every WRITE", "has to be" }, { "at noon 2 READ", "noon" }, { "every", "procedure" },
        { "no call at 1 at 2 at 3 at 4 at 5 at 6 at 7 at 8 at 9 at 10 at 11 at 12 at 13 at 14 at 15 at 16 at 17", "many" },
    };
    struct live *srv = *state;

    keep(srv, KEPT);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char error[ERROR_MAX] = "";
        int result = observer_expect(server_observer(srv->server), wrong[i].text, error, sizeof(error));

        if (result != -EINVAL || strstr(error, wrong[i].word) == NULL)
            fail_msg("\"%s\": %d, and \"%s\" says nothing about %s", wrong[i].text, result, error, wrong[i].word);
    }
}

static void
a_question_about_more_calls_than_are_kept_has_no_answer(void **state)
{
    struct live *srv = *state;
    char error[ERROR_MAX];
    struct observer *observer = server_observer(srv->server);

    assert_int_equal(observer_count(observer, "call", error, sizeof(error)), -EINVAL);
    assert_non_null(strstr(error, "ringnfs_keep_calls"));
    keep(srv, 3);
    for (int i = 0; i < 3; i++)
        live_getattr(srv, &srv->root);
    assert_counted(srv, "GETATTR", 3);
    live_getattr(srv, &srv->root);
    assert_int_equal(observer_count(observer, "GETATTR", error, sizeof(error)), -EOVERFLOW);
    assert_int_equal(observer_expect(observer, "no READ", error, sizeof(error)), -EOVERFLOW);
    observer_forget(observer);
    assert_counted(srv, "GETATTR", 0);
    live_getattr(srv, &srv->root);
    assert_counted(srv, "GETATTR", 1);
}

/* A file on a server that does not make everything stable at once. */
static nfs_fh3
unstable_file(struct live *srv)
{
    nfs_fh3 file = live_file(srv, &srv->root, "file", 0644);

    if (live_write(srv, &file, 0, "x", 1, UNSTABLE)->WRITE3res_u.resok.committed != UNSTABLE) {
        print_message("everything is stable here\n");
        skip();
    }
    live_commit(srv, &file, 0, 0);
    return file;
}

#define COVERED "every unstable WRITE covered"

static void
an_unstable_write_is_covered_by_a_commit_of_its_range(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file, other;

    keep(srv, KEPT);
    file = unstable_file(srv);
    other = live_file(srv, &srv->root, "other", 0644);
    assert_so(srv, COVERED);
    live_write(srv, &file, 100, "0123456789", 10, UNSTABLE);
    assert_not_so(srv, COVERED, "bytes 100 to 109");
    live_commit(srv, &other, 0, 0);
    assert_not_so(srv, COVERED, "bytes 100 to 109");
    live_commit(srv, &file, 0, 100);
    assert_not_so(srv, COVERED, "bytes 100 to 109");
    live_commit(srv, &file, 0, 104);
    assert_not_so(srv, COVERED, "bytes 104 to 109");
    live_commit(srv, &file, 104, 6);
    assert_so(srv, COVERED);
    live_write(srv, &file, 0, "x", 1, UNSTABLE);
    assert_not_so(srv, COVERED, "bytes 0 to 0");
    live_commit(srv, &file, 0, 0);
    assert_so(srv, COVERED);
}

static void
a_stable_write_over_it_covers_an_unstable_one(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    keep(srv, KEPT);
    file = unstable_file(srv);
    live_write(srv, &file, 0, "0123456789", 10, UNSTABLE);
    live_write(srv, &file, 5, "0123456789", 10, FILE_SYNC);
    assert_not_so(srv, COVERED, "bytes 0 to 9");
    live_write(srv, &file, 0, "01234", 5, DATA_SYNC);
    assert_so(srv, COVERED);
    live_write(srv, &file, 2, "x", 1, UNSTABLE);
    assert_not_so(srv, COVERED, "bytes 2 to 2");
}

static void
a_commit_before_the_write_covers_nothing(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    keep(srv, KEPT);
    file = unstable_file(srv);
    live_commit(srv, &file, 0, 0);
    live_write(srv, &file, 0, "x", 1, UNSTABLE);
    assert_not_so(srv, COVERED, "bytes 0 to 0");
}

/* Each procedure once, with data that takes more than a packet. */
static void
make_every_call(struct live *srv)
{
    uint8_t *data = live_keep(srv, BIG);
    nfs_fh3 file = live_file(srv, &srv->root, "file", 0644), dir = live_dir(srv, &srv->root, "dir", 0755);
    nfs_fh3 link = live_link_to(srv, &srv->root, "symlink", "file");

    memset(data, 'a', BIG);
    live_write(srv, &file, 0, data, BIG, UNSTABLE);
    live_read(srv, &file, 0, BIG);
    live_commit(srv, &file, 0, 0);
    live_getattr(srv, &file);
    live_setattr(srv, &file, live_mode(0600));
    live_lookup(srv, &srv->root, "file");
    live_access(srv, &file, 0x3f);
    live_readlink(srv, &link);
    live_mknod(srv, &srv->root, "pipe", NF3FIFO, 0, 0, live_mode(0600));
    live_create_exclusive(srv, &srv->root, "exclusive", "12345678");
    live_link(srv, &file, &dir, "link");
    live_rename(srv, &dir, "link", &dir, "renamed");
    live_readdir(srv, &srv->root, 0, "\0\0\0\0\0\0\0", 8192);
    live_readdirplus(srv, &srv->root, 0, "\0\0\0\0\0\0\0", 8192, 8192);
    live_remove(srv, &dir, "renamed");
    live_rmdir(srv, &srv->root, "dir");
    live_fsstat(srv, &srv->root);
    live_fsinfo(srv, &srv->root);
    live_pathconf(srv, &srv->root);
    live_getacl(srv, &file, 0xf);
    live_remove(srv, &srv->root, "nothing");
    live_mnt(srv, srv->export);
    live_mnt_v1(srv, srv->export);
    live_mnt(srv, "/nothing");
    live_dump(srv);
    live_exports(srv);
    live_umnt(srv, srv->export);
}

static const char *const expected_procs[] = {
    "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE",
    "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT", "GETACL", "MNT", "DUMP",
    "EXPORT", "UMNT",
};

static char *
scratch_name(struct live *srv, const char *name)
{
    char *path = live_keep(srv, PATH_MAX);

    assert_true(snprintf(path, PATH_MAX, "%s/%s", srv->base, name) < PATH_MAX);
    return path;
}

static void
the_journal_has_every_procedure_by_its_fields(void **state)
{
    struct live *srv = *state;
    char *path = scratch_name(srv, "journal"), error[ERROR_MAX], *line = NULL;
    struct observer *observer = server_observer(srv->server);
    bool seen[sizeof(expected_procs) / sizeof(expected_procs[0])] = { false };
    uint64_t lost = 99;
    size_t size = 0, lines = 0;
    FILE *file;

    if (observer_journal_open(observer, path, false, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    assert_int_equal(observer_journal_open(observer, path, false, error, sizeof(error)), -EINVAL);
    make_every_call(srv);
    assert_int_equal(observer_journal_close(observer, &lost, error, sizeof(error)), 0);
    assert_int_equal(lost, 0);
    assert_int_equal(observer_journal_close(observer, &lost, error, sizeof(error)), -EINVAL);
    file = fopen(path, "r");
    assert_non_null(file);
    for (; getline(&line, &size, file) > 0; lines++) {
        json_t *object = json_loads(line, 0, NULL);

        assert_non_null(object);
        if (strstr(line, "\"raw\"") != NULL || strlen(line) > 16384)
            fail_msg("%s", line);
        for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]) && lines > 0; i++)
            seen[i] |= strcmp(json_string_value(json_object_get(object, "proc")), expected_procs[i]) == 0;
        json_decref(object);
    }
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
        if (!seen[i])
            fail_msg("%s is not there", expected_procs[i]);
    fclose(file);
    free(line);
    unlink(path);
}

/* What tshark makes of a capture file: a line a packet, with these fields. */
static FILE *
dissect(const char *path, const char *fields)
{
    char command[PATH_MAX + 256];

    if (system("tshark --version >/dev/null 2>&1") != 0) {
        print_message("tshark is not installed\n");
        skip();
    }
    /* Where the client's port is another protocol's by name, what the bytes look like counts. */
    snprintf(command, sizeof(command), "tshark -o tcp.try_heuristic_first:TRUE -r %s %s 2>/dev/null",
             path, fields);
    return popen(command, "r");
}

static unsigned
count_lines(FILE *stream, bool print)
{
    char line[1024];
    unsigned lines = 0;

    assert_non_null(stream);
    for (; fgets(line, sizeof(line), stream) != NULL; lines++)
        if (print)
            print_message("%s", line);
    assert_int_equal(pclose(stream), 0);
    return lines;
}

static void
the_capture_file_is_understood_by_tshark(void **state)
{
    struct live *srv = *state;
    char *path = scratch_name(srv, "capture"), error[ERROR_MAX];
    struct observer *observer = server_observer(srv->server);
    unsigned calls, replies;
    uint64_t lost = 99;

    keep(srv, KEPT);
    if (observer_capture_open(observer, path, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    make_every_call(srv);
    assert_int_equal(observer_capture_close(observer, &lost, error, sizeof(error)), 0);
    assert_int_equal(lost, 0);
    calls = count_lines(dissect(path, "-Y 'rpc.msgtyp == 0' -T fields -e rpc.procedure"), false);
    replies = count_lines(dissect(path, "-Y 'rpc.msgtyp == 1' -T fields -e rpc.xid"), false);
    assert_counted(srv, "call", (int)calls);
    assert_int_equal(replies, calls);
    assert_int_equal(count_lines(dissect(path, "-o tcp.check_checksum:TRUE -Y '_ws.malformed || tcp.analysis.flags || "
                                               "tcp.checksum.status == 0'"), true), 0);
    assert_int_equal(count_lines(dissect(path, "-Y 'nfs.procedure_v3 == 7 && rpc.msgtyp == 0 && nfs.count3 == 262144'"),
                                 false), 1);
    unlink(path);
}

static void
calls_by_datagrams_are_in_the_capture_file_too(void **state)
{
    struct live *srv = *state;
    char *path = scratch_name(srv, "capture"), error[ERROR_MAX];
    struct observer *observer = server_observer(srv->server);
    struct live_conn tcp = srv->conn;
    uint64_t lost;

    if (observer_capture_open(observer, path, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    srv->conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    live_getattr(srv, &srv->root);
    live_close(&srv->conn);
    srv->conn = tcp;
    assert_int_equal(observer_capture_close(observer, &lost, error, sizeof(error)), 0);
    assert_int_equal(count_lines(dissect(path, "-Y 'udp && nfs.procedure_v3 == 1 && !_ws.malformed'"), false), 2);
    assert_int_equal(count_lines(dissect(path, "-o udp.check_checksum:TRUE -Y 'udp.checksum.status == 1'"), false), 2);
    assert_int_equal(count_lines(dissect(path, "-o ip.check_checksum:TRUE -Y 'ip.checksum.status == 1'"), false), 2);
    unlink(path);
}

static void
a_file_that_cannot_be_written_is_refused_with_its_name(void **state)
{
    struct live *srv = *state;
    struct observer *observer = server_observer(srv->server);
    char error[ERROR_MAX];

    assert_int_equal(observer_journal_open(observer, srv->base, false, error, sizeof(error)), -EISDIR);
    assert_non_null(strstr(error, srv->base));
    assert_int_equal(observer_journal_open(observer, "/dev/null", false, error, sizeof(error)), -EINVAL);
    assert_non_null(strstr(error, "no regular file"));
    assert_int_equal(observer_capture_open(observer, "/nothing/here", error, sizeof(error)), -ENOENT);
}

/* A disk that is full from the start: nothing is written, nobody waits, and all is counted. */
static void
what_the_disk_does_not_take_is_counted(void **state)
{
    struct live *srv = *state;
    struct observer *observer = server_observer(srv->server);
    char *dir = scratch_name(srv, "small"), *path = scratch_name(srv, "small/journal"), command[PATH_MAX + 128];
    char error[ERROR_MAX];
    uint64_t lost = 0;

    snprintf(command, sizeof(command), "mkdir %s && mount -t tmpfs -o size=4k none %s 2>/dev/null", dir, dir);
    if (system(command) != 0) {
        rmdir(dir);
        print_message("no file system can be mounted\n");
        skip();
    }
    if (observer_journal_open(observer, path, false, error, sizeof(error)) < 0)
        fail_msg("%s", error);
    for (int i = 0; i < 100; i++)
        live_getattr(srv, &srv->root);
    assert_int_equal(observer_journal_close(observer, &lost, error, sizeof(error)), 0);
    snprintf(command, sizeof(command), "umount %s && rmdir %s", dir, dir);
    assert_int_equal(system(command), 0);
    assert_true(lost > 0 && lost <= 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_counted_by_what_they_are),
        cmocka_unit_test(files_are_known_by_their_paths),
        cmocka_unit_test(what_is_expected_is_so_or_there_is_a_reason),
        cmocka_unit_test(what_cannot_be_understood_is_refused_with_the_word),
        cmocka_unit_test(a_question_about_more_calls_than_are_kept_has_no_answer),
        cmocka_unit_test(an_unstable_write_is_covered_by_a_commit_of_its_range),
        cmocka_unit_test(a_stable_write_over_it_covers_an_unstable_one),
        cmocka_unit_test(a_commit_before_the_write_covers_nothing),
        cmocka_unit_test(the_journal_has_every_procedure_by_its_fields),
        cmocka_unit_test(the_capture_file_is_understood_by_tshark),
        cmocka_unit_test(calls_by_datagrams_are_in_the_capture_file_too),
        cmocka_unit_test(a_file_that_cannot_be_written_is_refused_with_its_name),
        cmocka_unit_test(what_the_disk_does_not_take_is_counted),
    };

    return live_main("seeing", tests, sizeof(tests) / sizeof(*tests));
}
