/* tests/unit/test_ringnfs_seeing.c - looking on as users of the embedded server do it, by its one header. */
#include "server/ringnfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY "memory:/x *(rw,insecure)"
#define WAIT_MS 20000                   /* longest wait for a reply */
#define WORDS_MAX 128                   /* of a call or reply, 4 bytes each */
#define SEEN_MAX 64
#define NFS 100003
#define MOUNT 100005

struct moment {
    enum ringnfs_moment moment;
    char name[16], path[32], status[16];
    uint32_t uid, xid;
    uint64_t number;
    bool has_results;
};

/* What a hook has seen. */
struct seen {
    pthread_mutex_t lock;
    struct moment moments[SEEN_MAX];
    size_t count;
};

static void
must(struct ringnfs *server, int result)
{
    if (result < 0)
        fail_msg("%s (%s)", ringnfs_error(server), strerror(-result));
}

static void
must_fail(struct ringnfs *server, int result, int err, const char *word)
{
    if (result != err || strstr(ringnfs_error(server), word) == NULL)
        fail_msg("%d in place of %d, and \"%s\" says nothing about %s", result, err, ringnfs_error(server), word);
}

static struct ringnfs *
make(void)
{
    struct ringnfs *server;

    assert_int_equal(ringnfs_new(&server), 0);
    must(server, ringnfs_add_export(server, MEMORY));
    return server;
}

static int
connect_to(struct ringnfs *server)
{
    const struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                                         .sin_port = htons((uint16_t)ringnfs_nfs_port(server)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void
take(int fd, void *bytes, size_t len)
{
    char *at = bytes;
    ssize_t n;

    for (; len > 0; at += n, len -= (size_t)n) {
        assert_true(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, WAIT_MS) > 0);
        n = read(fd, at, len);
        assert_true(n > 0);
    }
}

/* A call as user 7 (AUTH_SYS) with an opaque argument, or none. words: the reply, whose first result is the seventh. */
static void
call(int fd, uint32_t prog, uint32_t proc, const void *argument, size_t len, uint32_t words[WORDS_MAX])
{
    uint32_t message[WORDS_MAX] = { 0, htonl(1), 0, htonl(2), htonl(prog), htonl(3), htonl(proc), htonl(1), htonl(20),
                                    0, 0, htonl(7), htonl(8), 0, 0, 0 };
    size_t count = 16;

    if (argument != NULL) {
        message[count++] = htonl((uint32_t)len);
        memcpy(&message[count], argument, len);
        count += (len + 3) / 4;
    }
    message[0] = htonl(0x80000000u | (uint32_t)(4 * (count - 1)));
    assert_int_equal(write(fd, message, 4 * count), (ssize_t)(4 * count));
    take(fd, words, 4);
    count = ntohl(words[0]) & 0x7fffffffu;
    assert_true(count <= 4 * WORDS_MAX);
    take(fd, words, count);
    assert_int_equal(words[5], 0);
}

/* MNT and then GETATTR of what it gives. */
static void
mount_and_look(int fd)
{
    uint32_t mounted[WORDS_MAX], words[WORDS_MAX];

    call(fd, MOUNT, 1, "/x", 2, mounted);
    assert_int_equal(mounted[6], 0);
    call(fd, NFS, 1, &mounted[8], ntohl(mounted[7]), words);
    assert_int_equal(words[6], 0);
}

static void
note(void *context, enum ringnfs_moment moment, const struct ringnfs_call *called)
{
    struct seen *seen = context;
    struct moment *noted;

    pthread_mutex_lock(&seen->lock);
    noted = &seen->moments[seen->count < SEEN_MAX ? seen->count++ : 0];
    noted->moment = moment;
    snprintf(noted->name, sizeof(noted->name), "%s", called->name);
    snprintf(noted->path, sizeof(noted->path), "%s", called->path != NULL ? called->path : "");
    snprintf(noted->status, sizeof(noted->status), "%s", called->status_name != NULL ? called->status_name : "");
    noted->uid = called->uid;
    noted->xid = called->xid;
    noted->number = called->number;
    noted->has_results = called->results_len > 0;
    if (called->size != sizeof(*called) || called->client->sa_family != AF_INET || called->stream != 1)
        noted->name[0] = '\0';
    pthread_mutex_unlock(&seen->lock);
}

static void
assert_moment(const struct moment *moment, enum ringnfs_moment when, const char *name, const char *path)
{
    assert_int_equal(moment->moment, when);
    assert_string_equal(moment->name, name);
    assert_string_equal(moment->path, path);
    assert_int_equal(moment->uid, 7);
    assert_int_equal(moment->xid, 1);
    assert_int_equal(moment->has_results, when == RINGNFS_ENDS);
    assert_string_equal(moment->status, when == RINGNFS_ENDS ? "OK" : "");
}

static void
a_hook_sees_each_call_before_and_after(void **state)
{
    struct seen seen = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct ringnfs *server = make();
    int fd;

    (void)state;
    must(server, ringnfs_on_call(server, note, &seen));
    must(server, ringnfs_start(server));
    fd = connect_to(server);
    mount_and_look(fd);
    pthread_mutex_lock(&seen.lock);                      /* whoever has his reply finds everything there */
    assert_int_equal(seen.count, 4);
    assert_moment(&seen.moments[0], RINGNFS_BEGINS, "MNT", "/x");
    assert_moment(&seen.moments[1], RINGNFS_ENDS, "MNT", "/x");
    assert_moment(&seen.moments[2], RINGNFS_BEGINS, "GETATTR", "/x");
    assert_moment(&seen.moments[3], RINGNFS_ENDS, "GETATTR", "/x");
    assert_int_equal(seen.moments[0].number, 0);
    assert_int_equal(seen.moments[1].number, 1);
    assert_int_equal(seen.moments[3].number, 2);
    pthread_mutex_unlock(&seen.lock);
    close(fd);
    ringnfs_free(server);
}

static void
a_test_asks_in_words(void **state)
{
    struct ringnfs *server = make();
    int fd;

    (void)state;
    must(server, ringnfs_keep_calls(server, 100));
    must(server, ringnfs_start(server));
    fd = connect_to(server);
    mount_and_look(fd);
    assert_int_equal(ringnfs_count_calls(server, "call of /x"), 2);
    must(server, ringnfs_expect(server, "exactly 1 MNT"));
    must(server, ringnfs_expect(server, "no WRITE"));
    must(server, ringnfs_expect(server, "every call by 7"));
    must_fail(server, ringnfs_expect(server, "no GETATTR"), -EDOM, "GETATTR of /x");
    must_fail(server, ringnfs_expect(server, "never GETATTR"), -EINVAL, "never");
    must(server, ringnfs_forget_calls(server));
    assert_int_equal(ringnfs_count_calls(server, "call"), 0);
    must(server, ringnfs_keep_calls(server, 1));
    mount_and_look(fd);
    must_fail(server, ringnfs_count_calls(server, "call"), -EOVERFLOW, "only the last 1");
    must(server, ringnfs_keep_calls(server, 0));
    must_fail(server, ringnfs_count_calls(server, "call"), -EINVAL, "ringnfs_keep_calls");
    close(fd);
    ringnfs_free(server);
}

static size_t
count_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t lines = 0;
    int c;

    assert_non_null(file);
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static void
a_journal_and_a_capture_file_are_written_while_they_are_open(void **state)
{
    struct ringnfs *server = make();
    char journal[] = "/tmp/ringnfs-journal-XXXXXX", capture[] = "/tmp/ringnfs-capture-XXXXXX";
    int fd;

    (void)state;
    close(mkstemp(journal));
    close(mkstemp(capture));
    must(server, ringnfs_start(server));
    fd = connect_to(server);
    mount_and_look(fd);
    must(server, ringnfs_journal_open(server, journal, 0));
    must(server, ringnfs_capture_open(server, capture));
    mount_and_look(fd);
    must(server, ringnfs_journal_close(server));
    must(server, ringnfs_capture_close(server));
    mount_and_look(fd);
    assert_int_equal(count_lines(journal), 3);
    must(server, ringnfs_journal_open(server, journal, 1));
    mount_and_look(fd);
    mount_and_look(fd);
    close(fd);
    ringnfs_free(server);                               /* closes it */
    assert_int_equal(count_lines(journal), 5);
    unlink(journal);
    unlink(capture);
}

static void
a_wrong_call_is_an_error_with_a_reason(void **state)
{
    struct ringnfs *server = make();

    (void)state;
    must_fail(server, ringnfs_journal_open(server, "/tmp/x", 0), -EINVAL, "does not run");
    must_fail(server, ringnfs_journal_close(server), -EINVAL, "does not run");
    must_fail(server, ringnfs_forget_calls(server), -EINVAL, "does not run");
    must_fail(server, ringnfs_expect(server, "no READ"), -EINVAL, "does not run");
    must_fail(server, ringnfs_keep_calls(server, 1000001), -EINVAL, "1000000");
    must(server, ringnfs_start(server));
    must_fail(server, ringnfs_on_call(server, note, NULL), -EINVAL, "before the start");
    must_fail(server, ringnfs_journal_open(server, NULL, 0), -EINVAL, "NULL");
    must_fail(server, ringnfs_capture_open(server, NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_capture_open(server, "/nothing/here"), -ENOENT, "/nothing/here");
    must_fail(server, ringnfs_journal_close(server), -EINVAL, "no journal");
    must_fail(server, ringnfs_capture_close(server), -EINVAL, "no capture");
    must_fail(server, ringnfs_expect(server, NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_count_calls(server, NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_set(server, "journal", "/tmp/x"), -EPERM, "journal");
    must(server, ringnfs_stop(server));
    must_fail(server, ringnfs_expect(server, "no READ"), -EINVAL, "stopped");
    must_fail(server, ringnfs_keep_calls(server, 1), -EINVAL, "stopped");
    ringnfs_free(server);
    assert_int_equal(ringnfs_on_call(NULL, note, NULL), -EINVAL);
    assert_int_equal(ringnfs_keep_calls(NULL, 1), -EINVAL);
    assert_int_equal(ringnfs_expect(NULL, "no READ"), -EINVAL);
    assert_int_equal(ringnfs_journal_open(NULL, "/tmp/x", 0), -EINVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hook_sees_each_call_before_and_after),
        cmocka_unit_test(a_test_asks_in_words),
        cmocka_unit_test(a_journal_and_a_capture_file_are_written_while_they_are_open),
        cmocka_unit_test(a_wrong_call_is_an_error_with_a_reason),
    };

    return cmocka_run_group_tests_name("ringnfs_seeing", tests, NULL, NULL);
}
