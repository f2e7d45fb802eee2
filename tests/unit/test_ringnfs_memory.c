/*
 * tests/unit/test_ringnfs_memory.c - what an embedded server's memory: exports hold, and replies that are the same each
 * time.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/lib/embedded_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_MEMORY "memory:/x *(rw,insecure,no_root_squash)"
#define GETATTR 1
#define STALE 70
#define NOSPC 28
#define DQUOT 69
#define TAPE_MAX 65536                  /* bytes of replies that are compared */

static char dir[] = "/tmp/ringnfs-memory.XXXXXX";

static int
set_up(void **state)
{
    (void)state;
    strcpy(dir + sizeof(dir) - 7, "XXXXXX");
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

/* All replies to the same calls, one behind the other. */
struct tape {
    uint8_t bytes[TAPE_MAX];
    size_t len;
};

static void
record(struct tape *tape, int fd, struct message *message)
{
    message_send(fd, message);
    assert_true(message_receive(fd, message));
    assert_true(tape->len + message->len <= sizeof(tape->bytes));
    memcpy(tape->bytes + tape->len, message->bytes, message->len);
    tape->len += message->len;
}

static void
begin_on(struct message *message, uint32_t proc, const struct rig_handle *handle)
{
    message_begin(message, NFS, proc, 0);
    message_bytes(message, handle->bytes, handle->len);
}

static struct rig_handle
handle_in(const struct message *reply, size_t offset)
{
    struct rig_handle handle = { .len = message_word(reply, offset) };

    assert_true(handle.len <= sizeof(handle.bytes) && offset + 4 + handle.len <= reply->len);
    memcpy(handle.bytes, reply->bytes + offset + 4, handle.len);
    return handle;
}

static void
numbers(struct message *message, size_t count, const uint32_t *list)
{
    for (size_t i = 0; i < count; i++)
        message_number(message, list[i]);
}
#define NUMBERS(message, ...) \
    numbers(message, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), (uint32_t[]){ __VA_ARGS__ })

/* Every procedure but NULL: what each of them tells is in the tape. */
static void
make_all_calls(struct tape *tape, int fd)
{
    struct message message;
    struct rig_handle root, file, sub;

    message_xid = 1000;
    tape->len = 0;
    message_begin(&message, MOUNT, 1, 0);
    message_bytes(&message, "/x", 2);
    record(tape, fd, &message);
    root = handle_in(&message, 28);
    begin_on(&message, 8, &root);                       /* CREATE */
    message_bytes(&message, "file", 4);
    NUMBERS(&message, 0, 1, 0644, 0, 0, 0, 0, 0);
    record(tape, fd, &message);
    file = handle_in(&message, 32);
    begin_on(&message, 7, &file);                       /* WRITE, UNSTABLE */
    NUMBERS(&message, 0, 0, 4, 0);
    message_bytes(&message, "data", 4);
    record(tape, fd, &message);
    begin_on(&message, 21, &file);                      /* COMMIT */
    NUMBERS(&message, 0, 0, 0);
    record(tape, fd, &message);
    begin_on(&message, 6, &file);                       /* READ */
    NUMBERS(&message, 0, 0, 100);
    record(tape, fd, &message);
    begin_on(&message, 9, &root);                       /* MKDIR */
    message_bytes(&message, "sub", 3);
    NUMBERS(&message, 1, 0755, 0, 0, 0, 0, 0);
    record(tape, fd, &message);
    sub = handle_in(&message, 32);
    begin_on(&message, 10, &sub);                       /* SYMLINK */
    message_bytes(&message, "link", 4);
    NUMBERS(&message, 0, 0, 0, 0, 0, 0);
    message_bytes(&message, "there", 5);
    record(tape, fd, &message);
    begin_on(&message, 15, &file);                      /* LINK */
    message_bytes(&message, sub.bytes, sub.len);
    message_bytes(&message, "hard", 4);
    record(tape, fd, &message);
    begin_on(&message, 2, &file);                       /* SETATTR: mode, times from the server */
    NUMBERS(&message, 1, 0600, 0, 0, 0, 1, 1, 0);
    record(tape, fd, &message);
    begin_on(&message, 3, &root);                       /* LOOKUP */
    message_bytes(&message, "sub", 3);
    record(tape, fd, &message);
    begin_on(&message, 17, &root);                      /* READDIRPLUS */
    NUMBERS(&message, 0, 0, 0, 0, 8192, 32768);
    record(tape, fd, &message);
    begin_on(&message, 16, &sub);                       /* READDIR */
    NUMBERS(&message, 0, 0, 0, 0, 8192);
    record(tape, fd, &message);
    begin_on(&message, 14, &root);                      /* RENAME */
    message_bytes(&message, "file", 4);
    message_bytes(&message, sub.bytes, sub.len);
    message_bytes(&message, "moved", 5);
    record(tape, fd, &message);
    begin_on(&message, 12, &sub);                       /* REMOVE */
    message_bytes(&message, "hard", 4);
    record(tape, fd, &message);
    for (uint32_t proc = 18; proc <= 20; proc++) {      /* FSSTAT, FSINFO, PATHCONF */
        begin_on(&message, proc, &root);
        record(tape, fd, &message);
    }
    begin_on(&message, GETATTR, &root);
    record(tape, fd, &message);
}

static void
record_server(struct tape *tape, const char *seed, const char *clock)
{
    struct ringnfs *server = make(ROOT_MEMORY);
    int fd;

    must(server, ringnfs_set(server, "deterministic", seed));
    must(server, ringnfs_set(server, "memory_clock", clock));
    must(server, ringnfs_start(server));
    fd = connect_pair(server);
    make_all_calls(tape, fd);
    close(fd);
    ringnfs_free(server);
}

static void
the_same_calls_get_the_same_bytes_from_servers_with_the_same_seed(void **state)
{
    static struct tape first, again, other, real;

    (void)state;
    record_server(&first, "7", "auto");
    usleep(20000);
    record_server(&again, "7", "auto");
    record_server(&other, "8", "auto");
    record_server(&real, "7", "real");
    assert_true(first.len > 2000);
    assert_int_equal(first.len, again.len);
    assert_memory_equal(first.bytes, again.bytes, first.len);
    assert_memory_not_equal(first.bytes, other.bytes, first.len);
    assert_memory_not_equal(first.bytes, real.bytes, first.len);
}

static void
without_a_seed_nothing_can_be_foretold(void **state)
{
    static struct tape first, again;

    (void)state;
    record_server(&first, "0", "counted");
    record_server(&again, "0", "counted");
    assert_memory_not_equal(first.bytes, again.bytes, first.len);
}

static void
a_user_over_his_quota_gets_dquot_and_a_full_export_nospc(void **state)
{
    static uint8_t data[4096], most[1 << 20];
    struct ringnfs *server = make(ROOT_MEMORY);
    struct rig_handle root, first, second;
    int fd;

    (void)state;
    must(server, ringnfs_set(server, "memory_bytes", "1M"));
    must(server, ringnfs_set(server, "memory_user_bytes", "4K"));
    must(server, ringnfs_start(server));
    must(server, ringnfs_put_file(server, "/x", "first", "x", 1, 0666));
    must(server, ringnfs_put_file(server, "/x", "second", "", 0, 0666));
    must(server, ringnfs_set_owner(server, "/x", "first", 1000, 1000));
    must(server, ringnfs_set_owner(server, "/x", "second", 1000, 1000));
    fd = connect_pair(server);
    root = root_handle(fd, "/x");
    first = create_file(fd, &root, "first");
    second = create_file(fd, &root, "second");
    assert_int_equal(write_status(fd, &first, 1000, data, sizeof(data)), 0);
    assert_int_equal(write_status(fd, &second, 1000, data, sizeof(data)), DQUOT);
    must(server, ringnfs_put_file(server, "/x", "large", most, sizeof(most) - 6 * sizeof(data), 0666));
    for (int i = 0; i < 4; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%d", i);
        second = create_file(fd, &root, name);
        (void)write_status(fd, &second, 0, data, sizeof(data));
    }
    second = create_file(fd, &root, "last");
    assert_int_equal(write_status(fd, &second, 0, data, sizeof(data)), NOSPC);
    close(fd);
    ringnfs_free(server);
}

static void
a_test_goes_back_to_where_it_began(void **state)
{
    struct ringnfs *server = start(ROOT_MEMORY);
    struct ringnfs_snapshot *snapshot;
    struct rig_handle root, kept, later;
    char back[16];
    size_t len = sizeof(back);
    int fd = connect_pair(server);

    (void)state;
    must(server, ringnfs_put_file(server, "/x", "/kept", "before", 6, 0644));
    must(server, ringnfs_snapshot(server, "/x", &snapshot));
    root = root_handle(fd, "/x");
    kept = create_file(fd, &root, "kept");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write_status(fd, &kept, 0, "after, more", 11), 0);
        later = create_file(fd, &root, "later");
        assert_int_equal(handle_status(fd, GETATTR, &later), 0);
        must(server, ringnfs_restore(server, "/x", snapshot));
        assert_int_equal(read_status(fd, &kept, 0, back, &len), 0);
        assert_int_equal(len, 6);
        assert_memory_equal(back, "before", 6);
        len = sizeof(back);
        assert_int_equal(handle_status(fd, GETATTR, &later), STALE);
    }
    close(fd);
    ringnfs_free(server);
    ringnfs_snapshot_free(snapshot);
}

static void
a_snapshot_is_good_for_its_export_only(void **state)
{
    struct ringnfs *server = start(MEMORY);
    struct ringnfs_snapshot *snapshot;

    (void)state;
    must(server, ringnfs_add_export(server, "memory:/y *(rw,insecure)"));
    must(server, ringnfs_snapshot(server, "/x", &snapshot));
    must_fail(server, ringnfs_restore(server, "/y", snapshot), -EXDEV, "/y");
    must(server, ringnfs_remove_export(server, "/x"));
    must(server, ringnfs_add_export(server, MEMORY));
    must_fail(server, ringnfs_restore(server, "/x", snapshot), -EXDEV, "/x");
    ringnfs_snapshot_free(snapshot);
    ringnfs_free(server);
}

static void
must_hold(struct ringnfs *server, const char *path, const char *text)
{
    void *data;
    size_t len;

    must(server, ringnfs_get_file(server, "/x", path, &data, &len));
    assert_int_equal(len, strlen(text));
    assert_memory_equal(data, text, len);
    free(data);
}

static void
files_are_put_and_got_by_calls(void **state)
{
    struct ringnfs *server = start(ROOT_MEMORY);
    int fd = connect_pair(server);
    struct rig_handle root, file;
    void *data;
    size_t len;

    (void)state;
    must(server, ringnfs_put_file(server, "memory:/x", "a/b/./c//file", "first, longer", 13, 0640));
    must_hold(server, "/a/b/c/file", "first, longer");
    must(server, ringnfs_put_file(server, "/x", "a/b/c/file", "second", 6, 0600));
    must_hold(server, "a/b/c/file", "second");
    must(server, ringnfs_put_dir(server, "/x", "empty", 0711));
    must(server, ringnfs_put_dir(server, "/x", "/", 0755));
    must(server, ringnfs_put_symlink(server, "/x", "link", "a/b"));
    must(server, ringnfs_put_symlink(server, "/x", "link", "elsewhere"));
    must(server, ringnfs_put_file(server, "/x", "nothing", NULL, 0, 0644));
    must_hold(server, "nothing", "");
    root = root_handle(fd, "/x");
    file = create_file(fd, &root, "theirs");
    assert_int_equal(write_status(fd, &file, 0, "from a client", 13), 0);
    must_hold(server, "theirs", "from a client");
    must_fail(server, ringnfs_get_file(server, "/x", "link/c/file", &data, &len), -ENOTDIR, "link/c/file");
    must_fail(server, ringnfs_get_file(server, "/x", "missing", &data, &len), -ENOENT, "missing");
    assert_null(data);
    must_fail(server, ringnfs_get_file(server, "/x", "empty", &data, &len), -EISDIR, "empty");
    must_fail(server, ringnfs_put_file(server, "/x", "empty", "", 0, 0644), -EEXIST, "empty");
    must_fail(server, ringnfs_put_symlink(server, "/x", "empty", "x"), -EISDIR, "empty");
    must_fail(server, ringnfs_put_file(server, "/x", "../up", "", 0, 0644), -EINVAL, "..");
    must_fail(server, ringnfs_put_file(server, "/x", "", "", 0, 0644), -EISDIR, "directory");
    must_fail(server, ringnfs_put_dir(server, "/x", "theirs/below", 0755), -ENOTDIR, "theirs/below");
    must_fail(server, ringnfs_put_dir(server, "/x", "d", 0100755), -EINVAL, "mode");
    close(fd);
    ringnfs_free(server);
}

static void
shell(const char *command)
{
    char all[2048];

    snprintf(all, sizeof(all), "set -e; cd '%s'; %s", dir, command);
    assert_int_equal(system(all), 0);
}

/* What the server holds, as a client sees it, is compared by reading files and by links' inode numbers. */
static void
must_hold_the_tree(struct ringnfs *server)
{
    void *data;
    size_t len;

    must_hold(server, "file", "contents");
    must_hold(server, "sub/hard", "contents");
    must(server, ringnfs_put_file(server, "/x", "file", "changed", 7, 0644));
    must_hold(server, "sub/hard", "changed");           /* it is one file */
    must_hold(server, "sub/deeper/\303\274ml", "name");
    must(server, ringnfs_get_file(server, "/x", "sub/holes", &data, &len));
    assert_int_equal(len, 1 << 20);
    assert_memory_equal((char *)data + (1 << 20) - 4, "end\n", 4);
    for (int i = 0; i < (1 << 20) - 4; i++)
        assert_int_equal(((char *)data)[i], 0);
    free(data);
    must_fail(server, ringnfs_get_file(server, "/x", "link", &data, &len), -EINVAL, "link");
    must_fail(server, ringnfs_get_file(server, "/x", "pipe", &data, &len), -EINVAL, "pipe");
}

static void
make_tree(void)
{
    shell("mkdir -p tree/sub/deeper; printf contents >tree/file; ln tree/file tree/sub/hard; ln -s file tree/link;"
          " printf name >tree/sub/deeper/\303\274ml; mkfifo tree/pipe; truncate -s 1048572 tree/sub/holes;"
          " echo end >>tree/sub/holes; chmod 751 tree/sub; touch -d @1000000000 tree/sub tree/file");
}

/* Mode and time of modification of a path's first component, by LOOKUP. */
static void
must_have(struct ringnfs *server, const char *name, uint32_t mode, uint32_t mtime)
{
    int fd = connect_pair(server);
    struct rig_handle root = root_handle(fd, "/x");
    struct message message;
    size_t attr;

    begin_on(&message, 3, &root);
    message_bytes(&message, name, strlen(name));
    message_send(fd, &message);
    assert_true(message_receive(fd, &message));
    assert_int_equal(message_word(&message, 24), 0);
    attr = 28 + 4 + message_word(&message, 28) + 4;
    assert_int_equal(message_word(&message, attr + 4), mode);
    assert_int_equal(message_word(&message, attr + 68), mtime);
    close(fd);
}

static void
a_directory_fills_an_export(void **state)
{
    struct ringnfs *server = start(ROOT_MEMORY);
    char source[64];

    (void)state;
    make_tree();
    snprintf(source, sizeof(source), "%s/tree", dir);
    must(server, ringnfs_fill(server, "/x", source));
    must_have(server, "sub", 0751, 1000000000);
    must_hold_the_tree(server);
    must_fail(server, ringnfs_fill(server, "/x", "/nonexistent/dir"), -ENOENT, "/nonexistent/dir");
    ringnfs_free(server);
}

static void
needs_archives(void)
{
#ifndef HAVE_LIBARCHIVE
    skip();
#endif
}

static void
tar_fills_an_export(const char *options)
{
    struct ringnfs *server = start(ROOT_MEMORY);
    char source[64], command[256];

    snprintf(command, sizeof(command), "tar %s -f tree.tar -C tree .", options);
    shell(command);
    snprintf(source, sizeof(source), "%s/tree.tar", dir);
    must(server, ringnfs_fill(server, "/x", source));
    must_have(server, "sub", 0751, 1000000000);
    must_hold_the_tree(server);
    ringnfs_free(server);
}

static void
archives_of_all_kinds_fill_an_export(void **state)
{
    (void)state;
    needs_archives();
    make_tree();
    tar_fills_an_export("-c --format=ustar");
    tar_fills_an_export("-c --format=pax --sparse");
    tar_fills_an_export("-c --format=gnu --sparse");
    tar_fills_an_export("-cz --format=pax");
    tar_fills_an_export("-cJ --format=gnu");
}

static void
long_names_are_whole(void **state)
{
    struct ringnfs *server = start(ROOT_MEMORY);
    char name[201], path[512], source[64], command[1024];

    (void)state;
    needs_archives();
    memset(name, 'n', sizeof(name));
    name[200] = '\0';
    snprintf(path, sizeof(path), "%s/%s", name, name);
    snprintf(command, sizeof(command), "mkdir -p tree/%s; printf long >tree/%s; tar -c --format=pax -f t.tar -C tree .",
             name, path);
    shell(command);
    snprintf(source, sizeof(source), "%s/t.tar", dir);
    must(server, ringnfs_fill(server, "/x", source));
    must_hold(server, path, "long");
    ringnfs_free(server);
}

/* Write an archive of one entry (POSIX.1-1988 ustar). */
static void
write_archive(const char *path, const char *name, char type, const char *link, size_t size)
{
    char header[512] = "", zeros[1024] = "";
    FILE *file = fopen(path, "w");
    unsigned sum = 0;

    assert_non_null(file);
    snprintf(header, 100, "%s", name);
    strcpy(header + 100, "0000644");
    strcpy(header + 108, "0000000");
    strcpy(header + 116, "0000000");
    snprintf(header + 124, 12, "%011zo", size);
    strcpy(header + 136, "00000000000");
    memset(header + 148, ' ', 8);
    header[156] = type;
    snprintf(header + 157, 100, "%s", link);
    memcpy(header + 257, "ustar\00000", 8);
    for (size_t i = 0; i < sizeof(header); i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    assert_int_equal(fwrite(header, 1, sizeof(header), file), sizeof(header));
    if (size == 0)
        assert_int_equal(fwrite(zeros, 1, sizeof(zeros), file), sizeof(zeros));
    fclose(file);
}

static void
archives_that_lead_out_or_are_none_are_refused_by_name(void **state)
{
    static const struct { const char *name, *link, *word; char type; size_t size; int err; } bad[] = {
        { "/etc/passwd", "", "absolute", '0', 0, -EINVAL },
        { "../up", "", "..", '0', 0, -EINVAL },
        { "a/../../up", "", "..", '0', 0, -EINVAL },
        { "hard", "/etc/passwd", "absolute", '1', 0, -EINVAL },
        { "hard", "../../up", "..", '1', 0, -EINVAL },
        { "hard", "missing", "missing", '1', 0, -ENOENT },
        { "cut", "", "cut", '0', 100000, -EINVAL },
    };
    struct ringnfs *server = start(ROOT_MEMORY);
    char source[64];

    (void)state;
    needs_archives();
    snprintf(source, sizeof(source), "%s/bad.tar", dir);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_archive(source, bad[i].name, bad[i].type, bad[i].link, bad[i].size);
        must_fail(server, ringnfs_fill(server, "/x", source), bad[i].err, bad[i].word);
        assert_non_null(strstr(ringnfs_error(server), source));
    }
    write_archive(source, "good", '0', "", 0);
    must(server, ringnfs_fill(server, "/x", source));
    must_hold(server, "good", "");
    shell("head -c 5000 /dev/urandom >bad.tar");
    assert_true(ringnfs_fill(server, "/x", source) < 0);
    assert_non_null(strstr(ringnfs_error(server), source));
    ringnfs_free(server);
}

static void
what_does_not_fit_is_refused(void **state)
{
    struct ringnfs *server = make(ROOT_MEMORY);
    char source[64];

    (void)state;
    must(server, ringnfs_set(server, "memory_bytes", "1M"));
    must(server, ringnfs_start(server));
    shell("mkdir tree; head -c 2000000 /dev/urandom >tree/large");
    snprintf(source, sizeof(source), "%s/tree", dir);
    must_fail(server, ringnfs_fill(server, "/x", source), -ENOSPC, "large");
    ringnfs_free(server);
}

static void
null_and_the_wrong_time_are_errors_with_a_reason(void **state)
{
    struct ringnfs *server = make(MEMORY);
    struct ringnfs_snapshot *snapshot = (struct ringnfs_snapshot *)1;
    void *data = (void *)1;
    size_t len;

    (void)state;
    for (int i = 0; i < 2; i++) {                       /* without any server, and before the start */
        struct ringnfs *one = i == 0 ? NULL : server;
        const char *word = i == 0 ? "NULL" : "start it first";

        must_fail(one, ringnfs_snapshot(one, "/x", &snapshot), -EINVAL, word);
        assert_null(snapshot);
        must_fail(one, ringnfs_restore(one, "/x", NULL), -EINVAL, word);
        must_fail(one, ringnfs_fill(one, "/x", "/tmp"), -EINVAL, word);
        must_fail(one, ringnfs_put_file(one, "/x", "f", "", 0, 0644), -EINVAL, word);
        must_fail(one, ringnfs_put_dir(one, "/x", "d", 0755), -EINVAL, word);
        must_fail(one, ringnfs_put_symlink(one, "/x", "l", "t"), -EINVAL, word);
        must_fail(one, ringnfs_set_owner(one, "/x", "f", 0, 0), -EINVAL, word);
        must_fail(one, ringnfs_get_file(one, "/x", "f", &data, &len), -EINVAL, word);
        assert_null(data);
    }
    ringnfs_snapshot_free(NULL);
    must(server, ringnfs_start(server));
    must_fail(server, ringnfs_snapshot(server, NULL, &snapshot), -EINVAL, "NULL");
    must_fail(server, ringnfs_snapshot(server, "/x", NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_restore(server, "/x", NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_fill(server, "/x", NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_put_file(server, "/x", NULL, "", 0, 0644), -EINVAL, "NULL");
    must_fail(server, ringnfs_put_file(server, "/x", "f", NULL, 1, 0644), -EINVAL, "NULL");
    must_fail(server, ringnfs_put_dir(server, "/x", NULL, 0755), -EINVAL, "NULL");
    must_fail(server, ringnfs_put_symlink(server, "/x", "l", NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_set_owner(server, "/x", NULL, 0, 0), -EINVAL, "NULL");
    must_fail(server, ringnfs_get_file(server, "/x", "f", NULL, &len), -EINVAL, "NULL");
    must_fail(server, ringnfs_get_file(server, "/x", "f", &data, NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_snapshot(server, "/y", &snapshot), -ENOENT, "/y is not exported");
    must(server, ringnfs_add_export(server, "/tmp *(ro,insecure)"));
    must_fail(server, ringnfs_snapshot(server, "/tmp", &snapshot), -EINVAL, "/tmp is no memory: export");
    must_fail(server, ringnfs_put_dir(server, "/tmp", "d", 0755), -EINVAL, "/tmp is no memory: export");
    ringnfs_free(server);
}

#define in_a_directory(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_calls_get_the_same_bytes_from_servers_with_the_same_seed),
        cmocka_unit_test(without_a_seed_nothing_can_be_foretold),
        cmocka_unit_test(a_user_over_his_quota_gets_dquot_and_a_full_export_nospc),
        cmocka_unit_test(a_test_goes_back_to_where_it_began),
        cmocka_unit_test(a_snapshot_is_good_for_its_export_only),
        cmocka_unit_test(files_are_put_and_got_by_calls),
        in_a_directory(a_directory_fills_an_export),
        in_a_directory(archives_of_all_kinds_fill_an_export),
        in_a_directory(long_names_are_whole),
        in_a_directory(archives_that_lead_out_or_are_none_are_refused_by_name),
        in_a_directory(what_does_not_fit_is_refused),
        cmocka_unit_test(null_and_the_wrong_time_are_errors_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
