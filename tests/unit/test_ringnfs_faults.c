/* tests/unit/test_ringnfs_faults.c - faults, crash and pause of the embedded server, by its one header. */
#include "server/ringnfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY "memory:/x *(rw,insecure)"
#define WAIT_MS 20000                   /* longest wait for a reply */
#define QUIET_MS 150                    /* without a reply for this long, none comes */

static void
must(struct ringnfs *server, int result)
{
    if (result < 0)
        fail_msg("%s (%s)", ringnfs_error(server), strerror(-result));
}

static void
must_fail(struct ringnfs *server, long result, int err, const char *word)
{
    if (result != err || strstr(ringnfs_error(server), word) == NULL)
        fail_msg("%d in place of %d, and \"%s\" says nothing about %s", (int)result, err, ringnfs_error(server), word);
}

static struct ringnfs *
make(const char *line)
{
    struct ringnfs *server;

    assert_int_equal(ringnfs_new(&server), 0);
    must(server, ringnfs_add_export(server, line));
    return server;
}

static struct ringnfs *
start(const char *line)
{
    struct ringnfs *server = make(line);

    must(server, ringnfs_start(server));
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
send_null(int fd)
{
    const uint32_t call[] = { htonl(0x80000028), htonl(1), 0, htonl(2), htonl(100003), htonl(3), 0, 0, 0, 0, 0 };

    assert_int_equal(write(fd, call, sizeof(call)), sizeof(call));
}

/* Whether the reply to NULL comes, 28 bytes with its mark, within that time. */
static bool
answers(int fd, int timeout_ms)
{
    char reply[28];

    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, timeout_ms) > 0 &&
           recv(fd, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply);
}

static void
rules_count_and_are_listed_and_cleared(void **state)
{
    struct ringnfs *server = make(MEMORY);
    int first = ringnfs_fault_add(server, "when proc=NULL times=1 do silence"), second, fd;
    char *list;

    (void)state;
    must(server, first);
    must(server, ringnfs_start(server));
    second = ringnfs_fault_add(server, "when proc=READ do error=JUKEBOX");
    must(server, second);
    assert_true(first > 0 && second > first);
    fd = connect_to(server);
    send_null(fd);
    assert_false(answers(fd, QUIET_MS));
    send_null(fd);
    assert_true(answers(fd, WAIT_MS));
    assert_int_equal(ringnfs_fault_fired(server, first), 1);
    assert_int_equal(ringnfs_fault_fired(server, second), 0);
    must(server, ringnfs_fault_list(server, &list));
    assert_string_equal(list, "1 2 1 when proc=NULL times=1 do silence\n2 0 0 when proc=READ do error=JUKEBOX\n");
    free(list);
    must(server, ringnfs_fault_clear(server, first));
    must_fail(server, ringnfs_fault_fired(server, first), -ENOENT, "no fault rule 1");
    must_fail(server, ringnfs_fault_clear(server, first), -ENOENT, "no fault rule 1");
    must(server, ringnfs_fault_clear(server, 0));
    must(server, ringnfs_fault_clear(server, 0));
    must(server, ringnfs_fault_list(server, &list));
    assert_string_equal(list, "");
    free(list);
    close(fd);
    ringnfs_free(server);
}

static void
a_file_of_rules_is_added(void **state)
{
    struct ringnfs *server = start(MEMORY);
    char path[] = "/tmp/ringnfs-faults.XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "do delay=1ms\nwhen path=/x/f do stale\n", 37), 37);
    assert_int_equal(ringnfs_fault_load(server, path), 2);
    assert_int_equal(write(fd, "when path=/y do stale\n", 22), 22);
    must_fail(server, ringnfs_fault_load(server, path), -EINVAL, "line 3: no call can match: /y is in none of the exports");
    close(fd);
    unlink(path);
    must_fail(server, ringnfs_fault_load(server, path), -ENOENT, path);
    ringnfs_free(server);
}

static void
a_wrong_rule_is_refused_before_and_after_the_start(void **state)
{
    struct ringnfs *server = make(MEMORY);

    (void)state;
    must_fail(server, ringnfs_fault_add(server, "do sielnce"), -EINVAL, "did you mean silence?");
    must_fail(server, ringnfs_fault_add(server, "when proc=GETATTR do fail-flush"), -EINVAL, "no call can match");
    must_fail(server, ringnfs_fault_add(server, NULL), -EINVAL, "the rule is missing");
    must_fail(server, ringnfs_fault_load(server, NULL), -EINVAL, "the file's name is missing");
    must_fail(server, ringnfs_fault_clear(server, -1), -EINVAL, "-1 is not the number of a rule");
    must_fail(server, ringnfs_fault_list(server, NULL), -EINVAL, "no place");
    must_fail(server, ringnfs_fault_fired(server, 0), -ENOENT, "no fault rule 0");
    must_fail(server, ringnfs_fault_fired(server, -1), -ENOENT, "no fault rule -1");
    must(server, ringnfs_start(server));
    must_fail(server, ringnfs_fault_add(server, "do"), -EINVAL, "no action");
    must_fail(server, ringnfs_fault_add(server, "when path=/elsewhere do stale"), -EINVAL, "in none of the exports");
    ringnfs_free(server);
}

static void
a_rule_for_no_export_stops_the_start_until_it_is_cleared(void **state)
{
    struct ringnfs *server = make(MEMORY);
    int rule = ringnfs_fault_add(server, "when export=/y do stale");

    (void)state;
    must(server, rule);
    must_fail(server, ringnfs_start(server), -EINVAL, "/y is not exported");
    must(server, ringnfs_fault_clear(server, rule));
    must(server, ringnfs_start(server));
    ringnfs_free(server);
}

static void
there_are_64_rules_at_most(void **state)
{
    struct ringnfs *server = start(MEMORY);

    (void)state;
    for (int i = 0; i < 64; i++)
        must(server, ringnfs_fault_add(server, "do delay=1ms"));
    must_fail(server, ringnfs_fault_add(server, "do delay=1ms"), -ENOSPC, "64 rules");
    ringnfs_free(server);
}

static void
a_paused_server_answers_after_it_was_resumed(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int fd = connect_to(server), late;

    (void)state;
    must_fail(server, ringnfs_resume(server), -EINVAL, "is not paused");
    must(server, ringnfs_pause(server));
    must_fail(server, ringnfs_pause(server), -EINVAL, "is paused already");
    late = connect_to(server);
    send_null(fd);
    send_null(late);
    assert_false(answers(fd, QUIET_MS));
    assert_false(answers(late, QUIET_MS));
    must(server, ringnfs_add_export(server, "memory:/y *(rw,insecure)"));
    must(server, ringnfs_resume(server));
    assert_true(answers(fd, WAIT_MS));
    assert_true(answers(late, WAIT_MS));
    close(fd);
    close(late);
    ringnfs_free(server);
}

static void
a_connection_that_is_given_to_a_paused_server_waits(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int ends[2];

    (void)state;
    must(server, ringnfs_pause(server));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    must(server, ringnfs_add_connection(server, ends[0]));
    send_null(ends[1]);
    assert_false(answers(ends[1], QUIET_MS));
    must(server, ringnfs_resume(server));
    assert_true(answers(ends[1], WAIT_MS));
    close(ends[1]);
    ringnfs_free(server);
}

static void
a_paused_server_stops(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int fd = connect_to(server);

    (void)state;
    must(server, ringnfs_pause(server));
    send_null(fd);
    must(server, ringnfs_stop(server));
    close(fd);
    ringnfs_free(server);
}

static void
a_crash_resets_connections_and_the_server_goes_on(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int fd = connect_to(server);
    char byte;

    (void)state;
    send_null(fd);
    assert_true(answers(fd, WAIT_MS));
    must(server, ringnfs_crash(server));
    assert_int_equal(recv(fd, &byte, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    close(fd);
    fd = connect_to(server);
    send_null(fd);
    assert_true(answers(fd, WAIT_MS));
    must(server, ringnfs_crash(server));
    close(fd);
    ringnfs_free(server);
}

static void
a_paused_server_can_crash(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int fd = connect_to(server);
    char byte;

    (void)state;
    send_null(fd);
    assert_true(answers(fd, WAIT_MS));
    must(server, ringnfs_pause(server));
    must(server, ringnfs_crash(server));
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    fd = connect_to(server);
    send_null(fd);
    assert_false(answers(fd, QUIET_MS));
    must(server, ringnfs_resume(server));
    assert_true(answers(fd, WAIT_MS));
    close(fd);
    ringnfs_free(server);
}

static void
a_server_with_a_directory_does_not_crash(void **state)
{
    char dir[] = "/tmp/ringnfs-faults.XXXXXX", line[64];
    struct ringnfs *server;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(line, sizeof(line), "%s *(rw,insecure)", dir);
    server = start(line);
    must_fail(server, ringnfs_crash(server), -EOPNOTSUPP, dir);
    ringnfs_free(server);
    rmdir(dir);
}

/* All calls of faults, with one outcome for those that want a running server, and one for the others. */
static void
all_fail(struct ringnfs *server, int err, const char *word, bool rules)
{
    char *list = (char *)&list;

    must_fail(server, ringnfs_crash(server), err, word);
    must_fail(server, ringnfs_pause(server), err, word);
    must_fail(server, ringnfs_resume(server), err, word);
    if (!rules)
        return;
    must_fail(server, ringnfs_fault_add(server, "do stale"), err, word);
    must_fail(server, ringnfs_fault_load(server, "/dev/null"), err, word);
    must_fail(server, ringnfs_fault_clear(server, 0), err, word);
    must_fail(server, ringnfs_fault_fired(server, 1), err, word);
    must_fail(server, ringnfs_fault_list(server, &list), err, word);
    assert_null(list);
}

static void
calls_at_the_wrong_time_are_refused(void **state)
{
    struct ringnfs *server = make(MEMORY);
    int status;
    pid_t pid;

    (void)state;
    all_fail(NULL, -EINVAL, "NULL", true);
    all_fail(server, -EINVAL, "start it first", false);
    must(server, ringnfs_start(server));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool good = ringnfs_crash(server) == -EPERM && ringnfs_pause(server) == -EPERM &&
                    ringnfs_resume(server) == -EPERM && ringnfs_fault_add(server, "do stale") == -EPERM &&
                    ringnfs_fault_clear(server, 0) == -EPERM;

        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    must(server, ringnfs_stop(server));
    all_fail(server, -EINVAL, "has been stopped", true);
    ringnfs_free(server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_count_and_are_listed_and_cleared),
        cmocka_unit_test(a_file_of_rules_is_added),
        cmocka_unit_test(a_wrong_rule_is_refused_before_and_after_the_start),
        cmocka_unit_test(a_rule_for_no_export_stops_the_start_until_it_is_cleared),
        cmocka_unit_test(there_are_64_rules_at_most),
        cmocka_unit_test(a_paused_server_answers_after_it_was_resumed),
        cmocka_unit_test(a_connection_that_is_given_to_a_paused_server_waits),
        cmocka_unit_test(a_paused_server_stops),
        cmocka_unit_test(a_crash_resets_connections_and_the_server_goes_on),
        cmocka_unit_test(a_paused_server_can_crash),
        cmocka_unit_test(a_server_with_a_directory_does_not_crash),
        cmocka_unit_test(calls_at_the_wrong_time_are_refused),
    };

    return cmocka_run_group_tests_name("ringnfs faults", tests, NULL, NULL);
}
