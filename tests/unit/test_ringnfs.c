/* tests/unit/test_ringnfs.c - the embedded server as its users see it, by its one header. */
#include "tests/lib/embedded_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVERS 6
#define STATUS_MAX 4096

static void
a_server_answers_once_it_is_started_and_no_longer_when_it_is_stopped(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int fd = connect_to(ringnfs_nfs_port(server));
    char byte;

    (void)state;
    assert_int_equal(ringnfs_mount_port(server), ringnfs_nfs_port(server));
    assert_true(answers(fd));
    assert_int_equal(mount_status(fd, "/x"), 0);
    must(server, ringnfs_stop(server));
    assert_true(read(fd, &byte, 1) <= 0);
    close(fd);
    ringnfs_free(server);
}

static void
a_server_that_was_never_started_can_be_freed(void **state)
{
    (void)state;
    ringnfs_free(make(NULL));
    ringnfs_free(make(MEMORY));
    ringnfs_free(NULL);
}

static void
many_servers_live_in_one_process(void **state)
{
    struct ringnfs *servers[SERVERS];
    int fds[SERVERS];

    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = start(i % 2 == 0 ? MEMORY : "memory:/y *(rw,insecure)");
        fds[i] = connect_to(ringnfs_nfs_port(servers[i]));
    }
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(mount_status(fds[i], i % 2 == 0 ? "/x" : "/y"), 0);
    ringnfs_free(servers[0]);
    for (int i = 1; i < SERVERS; i++) {
        assert_true(answers(fds[i]));
        ringnfs_free(servers[i]);
    }
    for (int i = 0; i < SERVERS; i++)
        close(fds[i]);
}

static void *
live_and_die(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++) {
        struct ringnfs *server;
        bool fine = ringnfs_new(&server) == 0 && ringnfs_add_export(server, MEMORY) == 0 && ringnfs_start(server) == 0 &&
                    ringnfs_nfs_port(server) > 0;

        ringnfs_free(server);
        if (!fine)
            return NULL;
    }
    return &live_and_die;
}

static void
several_threads_have_servers_at_once(void **state)
{
    pthread_t threads[SERVERS];
    void *fine;

    (void)state;
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, live_and_die, NULL), 0);
    for (int i = 0; i < SERVERS; i++) {
        pthread_join(threads[i], &fine);
        assert_non_null(fine);
    }
}

static size_t own_threads;              /* without any server; a sanitizer may have one, too */

static void *
do_nothing(void *arg)
{
    return arg;
}

/* See how many threads there are, once there has been a second one. */
static int
count_own_threads(void **state)
{
    pthread_t thread;

    (void)state;
    if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
        return -1;
    pthread_join(thread, NULL);
    usleep(100000);
    own_threads = count_entries("/proc/self/task");
    return 0;
}

/* The kernel lists a thread for a moment after it has been waited for. */
static bool
only_own_threads(void)
{
    for (int i = 0; i < RIG_WAIT_MS / 10 && count_entries("/proc/self/task") > own_threads; i++)
        usleep(10000);
    return count_entries("/proc/self/task") == own_threads;
}

static void
nothing_stays_open_and_no_thread_stays(void **state)
{
    size_t fds = count_entries("/proc/self/fd");
    struct ringnfs *server;
    int fd;

    (void)state;
    assert_true(only_own_threads());                     /* those of the tests before are gone */
    server = start(MEMORY);
    fd = connect_to(ringnfs_nfs_port(server));
    assert_true(answers(fd));
    assert_true(count_entries("/proc/self/task") > own_threads);
    close(fd);
    ringnfs_free(server);
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_true(only_own_threads());
}

/* What the kernel says of this thread's rights, signals and place. */
static void
read_process(char status[STATUS_MAX])
{
    static const char *const names[] = { "Umask", "Uid", "Gid", "Groups", "Sig", "Shd", "Cap", "NoNewPrivs", "Seccomp" };
    FILE *file = fopen("/proc/thread-self/status", "r");
    char line[512];
    size_t used;

    assert_non_null(file);
    assert_non_null(getcwd(status, STATUS_MAX / 2));
    used = strlen(status);
    while (fgets(line, sizeof(line), file) != NULL)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (strncmp(line, names[i], strlen(names[i])) == 0 && strncmp(line, "SigQ", 4) != 0)
                used += (size_t)snprintf(status + used, STATUS_MAX - used, "%s", line);
    fclose(file);
}

static void
process_stays_as_it_was(const char *sandbox)
{
    char before[STATUS_MAX], during[STATUS_MAX], after[STATUS_MAX];
    struct ringnfs *server = make(MEMORY);
    int err, fd;

    read_process(before);
    must(server, ringnfs_set(server, "sandbox", sandbox));
    err = ringnfs_start(server);
    if (err < 0 && strcmp(sandbox, "on") == 0) {
        print_message("%s\n", ringnfs_error(server));
        ringnfs_free(server);
        skip();
    }
    must(server, err);
    fd = connect_to(ringnfs_nfs_port(server));
    assert_int_equal(mount_status(fd, "/x"), 0);
    read_process(during);
    close(fd);
    ringnfs_free(server);
    read_process(after);
    assert_string_equal(before, during);
    assert_string_equal(before, after);
}

static void
the_process_stays_as_it_was(void **state)
{
    (void)state;
    process_stays_as_it_was("off");
}

static void
the_callers_thread_is_not_confined_by_a_sandbox_that_was_asked_for(void **state)
{
    (void)state;
    process_stays_as_it_was("on");
}

/* Whether a thread of this process has a line with these words in its status. */
static bool
some_thread_has(const char *words)
{
    DIR *dir = opendir("/proc/self/task");
    const struct dirent *entry;
    bool found = false;

    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL && !found) {
        char path[300], text[STATUS_MAX];
        FILE *file;
        size_t len;

        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file == NULL)
            continue;
        len = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
        text[len] = '\0';
        found = strstr(text, words) != NULL;
    }
    closedir(dir);
    return found;
}

static void
no_thread_is_confined_unless_that_is_asked_for(void **state)
{
    struct ringnfs *server;

    (void)state;
    assert_true(only_own_threads());
    if (some_thread_has("NoNewPrivs:\t1"))
        skip();                                          /* we are confined ourselves */
    server = start(MEMORY);
    assert_false(some_thread_has("NoNewPrivs:\t1"));
    ringnfs_free(server);
    server = make(MEMORY);
    must(server, ringnfs_set(server, "sandbox", "auto"));
    must(server, ringnfs_start(server));
    if (!some_thread_has("NoNewPrivs:\t1"))
        print_message("no sandbox can be had here, or this is a build with sanitizers\n");
    ringnfs_free(server);
}

static void
nothing_is_said_unless_somebody_listens(void **state)
{
    int ends[2], saved = dup(STDERR_FILENO), saved_out = dup(STDOUT_FILENO);
    struct ringnfs *server;
    char byte;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    dup2(ends[1], STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    server = start(MEMORY);
    (void)ringnfs_set(server, "port", "1");
    ringnfs_free(server);
    dup2(saved, STDERR_FILENO);
    dup2(saved_out, STDOUT_FILENO);
    close(saved);
    close(saved_out);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

struct heard {
    atomic_int lines, mounts;
};

static void
hear(void *context, enum ringnfs_level level, const char *text)
{
    struct heard *heard = context;

    heard->lines++;
    if (level == RINGNFS_INFO && strcmp(text, "127.0.0.1 mounts /x") == 0)
        heard->mounts++;
}

static void
a_function_gets_what_is_told(void **state)
{
    struct heard heard = { 0 };
    struct ringnfs *server = make(MEMORY);
    int fd;

    (void)state;
    must(server, ringnfs_log_to(server, hear, &heard));
    must(server, ringnfs_start(server));
    assert_true(heard.lines > 0);
    fd = connect_to(ringnfs_nfs_port(server));
    assert_int_equal(mount_status(fd, "/x"), 0);
    close(fd);
    ringnfs_free(server);
    assert_int_equal(heard.mounts, 1);
}

static void
log_level_bounds_what_is_told(void **state)
{
    struct heard heard = { 0 };
    struct ringnfs *server = make(MEMORY);

    (void)state;
    must(server, ringnfs_log_to(server, hear, &heard));
    must(server, ringnfs_set(server, "log_level", "error"));
    must(server, ringnfs_start(server));
    ringnfs_free(server);
    assert_int_equal(heard.lines, 0);
}

static void
a_descriptor_gets_what_is_told(void **state)
{
    struct ringnfs *server = make(MEMORY);
    char text[1024] = "";
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    must(server, ringnfs_log_to_fd(server, ends[1]));
    must(server, ringnfs_start(server));
    ringnfs_free(server);
    close(ends[1]);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "serving /x"));
    close(ends[0]);
}

static void
a_socketpair_is_served(void **state)
{
    struct ringnfs *server = start("memory:/x 127.0.0.1(rw)");          /* secure: from reserved ports only */
    int ends[2];

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        must(server, ringnfs_add_connection(server, ends[0]));
        assert_true(answers(ends[1]));
        assert_int_equal(mount_status(ends[1], "/x"), 0);
        close(ends[1]);
    }
    ringnfs_free(server);
}

static void
other_descriptors_are_refused_and_stay_the_callers(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int ends[2], fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)state;
    must_fail(server, ringnfs_add_connection(server, -1), -EBADF, "-1");
    must_fail(server, ringnfs_add_connection(server, fd), -ENOTCONN, "descriptor");
    assert_int_equal(close(fd), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    must_fail(server, ringnfs_add_connection(server, ends[0]), -EINVAL, "not a stream socket");
    assert_int_equal(close(ends[0]), 0);
    close(ends[1]);
    assert_int_equal(pipe(ends), 0);
    must_fail(server, ringnfs_add_connection(server, ends[0]), -ENOTSOCK, "descriptor");
    assert_int_equal(close(ends[0]), 0);
    close(ends[1]);
    ringnfs_free(server);
}

static void
exports_come_and_go_while_it_runs(void **state)
{
    struct ringnfs *server = start(NULL);
    int fd = connect_to(ringnfs_nfs_port(server));
    char *url;

    (void)state;
    assert_int_not_equal(mount_status(fd, "/x"), 0);
    must(server, ringnfs_add_export(server, MEMORY));
    assert_int_equal(mount_status(fd, "/x"), 0);
    must_fail(server, ringnfs_add_export(server, "memory:/y *(frob)"), -EINVAL, "frob");
    must(server, ringnfs_remove_export(server, "/x"));
    assert_int_not_equal(mount_status(fd, "/x"), 0);
    must_fail(server, ringnfs_remove_export(server, "/x"), -ENOENT, "/x is not exported");
    must_fail(server, ringnfs_url(server, "/x", &url), -ENOENT, "/x is not exported");
    assert_null(url);
    close(fd);
    ringnfs_free(server);
}

static void
command_and_url_name_the_port(void **state)
{
    struct ringnfs *server = start(MEMORY);
    int port = ringnfs_nfs_port(server);
    char *text, expected[256];

    (void)state;
    must(server, ringnfs_mount_command(server, "/x", &text));
    snprintf(expected, sizeof(expected),
             "mount -t nfs -o vers=3,tcp,mountproto=tcp,port=%d,mountport=%d,nolock 127.0.0.1:/x /mnt", port, port);
    assert_string_equal(text, expected);
    free(text);
    must(server, ringnfs_url(server, "/x", &text));
    snprintf(expected, sizeof(expected), "nfs://127.0.0.1/x?nfsport=%d&mountport=%d", port, port);
    assert_string_equal(text, expected);
    free(text);
    ringnfs_free(server);
}

static void
settings_are_checked_and_some_change_while_it_runs(void **state)
{
    struct ringnfs *server = make(MEMORY);

    (void)state;
    must_fail(server, ringnfs_set(server, "treads", "3"), -EINVAL, "did you mean threads?");
    must_fail(server, ringnfs_set(server, "threads", "0"), -EINVAL, "out of range");
    must_fail(server, ringnfs_set(server, "threads", ""), -EINVAL, "threads");
    must(server, ringnfs_set(server, "threads", "3"));
    must(server, ringnfs_start(server));
    must(server, ringnfs_set(server, "threads", "4"));
    must_fail(server, ringnfs_set(server, "port", "1"), -EPERM, "port");
    must_fail(server, ringnfs_set(server, "treads", "3"), -EINVAL, "did you mean threads?");
    ringnfs_free(server);
}

static void
settings_that_do_not_go_together_are_told_at_the_start(void **state)
{
    struct ringnfs *server = make(MEMORY);

    (void)state;
    must(server, ringnfs_set(server, "tcp", "off"));
    must(server, ringnfs_set(server, "udp", "off"));
    must_fail(server, ringnfs_start(server), -EINVAL, "tcp");
    must(server, ringnfs_set(server, "tcp", "on"));
    must(server, ringnfs_start(server));
    ringnfs_free(server);
}

static void
lines_are_read_when_they_are_added(void **state)
{
    struct ringnfs *server = make(NULL);

    (void)state;
    must_fail(server, ringnfs_add_export(server, "memory:/x *(frob)"), -EINVAL, "frob");
    must_fail(server, ringnfs_add_export(server, "memory:/x *\nmemory:/y *"), -EINVAL, "one line");
    must_fail(server, ringnfs_add_export(server, "x *(rw)"), -EINVAL, "x");
    must(server, ringnfs_add_export(server, MEMORY));
    must(server, ringnfs_start(server));
    ringnfs_free(server);
}

static void
a_start_that_fails_names_the_directory_and_can_be_tried_again(void **state)
{
    char base[] = "/tmp/ringnfs-embedded.XXXXXX", dir[64], line[96];
    struct ringnfs *server;

    (void)state;
    assert_non_null(mkdtemp(base));
    snprintf(dir, sizeof(dir), "%s/missing", base);
    snprintf(line, sizeof(line), "%s *(rw,insecure)", dir);
    server = make(line);
    must_fail(server, ringnfs_start(server), -ENOENT, dir);
    must_fail(server, ringnfs_nfs_port(server), -EINVAL, "start it first");
    assert_int_equal(mkdir(dir, 0700), 0);
    must(server, ringnfs_start(server));
    ringnfs_free(server);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(rmdir(base), 0);
}

static void
a_port_in_use_is_named(void **state)
{
    struct ringnfs *first = start(MEMORY), *second = make(MEMORY);
    char port[16];

    (void)state;
    snprintf(port, sizeof(port), "%d", ringnfs_nfs_port(first));
    must(second, ringnfs_set(second, "port", port));
    must_fail(second, ringnfs_start(second), -EADDRINUSE, port);
    ringnfs_free(second);
    ringnfs_free(first);
}

static void
addresses_are_checked(void **state)
{
    struct ringnfs *server = make(MEMORY);

    (void)state;
    must_fail(server, ringnfs_listen_on(server, "nowhere"), -EINVAL, "nowhere");
    must(server, ringnfs_listen_on(server, "127.0.0.2"));
    must(server, ringnfs_start(server));
    ringnfs_free(server);
}

static void
a_state_directory_is_used_if_it_is_named(void **state)
{
    char base[] = "/tmp/ringnfs-embedded.XXXXXX", key[64];
    struct ringnfs *server = make(MEMORY);

    (void)state;
    assert_non_null(mkdtemp(base));
    snprintf(key, sizeof(key), "%s/handle-key", base);
    must(server, ringnfs_set(server, "state_dir", base));
    must(server, ringnfs_start(server));
    ringnfs_free(server);
    assert_int_equal(unlink(key), 0);
    snprintf(key, sizeof(key), "%s/mounts", base);
    (void)unlink(key);
    assert_int_equal(rmdir(base), 0);
}

static void
null_is_an_error_with_a_reason(void **state)
{
    struct ringnfs *server = make(MEMORY);
    char *text = (char *)1;

    (void)state;
    assert_int_equal(ringnfs_new(NULL), -EINVAL);
    must_fail(NULL, ringnfs_set(NULL, "port", "0"), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_listen_on(NULL, "127.0.0.1"), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_add_export(NULL, MEMORY), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_remove_export(NULL, "/x"), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_log_to(NULL, hear, NULL), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_log_to_fd(NULL, -1), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_start(NULL), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_nfs_port(NULL), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_mount_port(NULL), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_url(NULL, "/x", &text), -EINVAL, "NULL");
    assert_null(text);
    must_fail(NULL, ringnfs_mount_command(NULL, "/x", NULL), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_add_connection(NULL, 0), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_stop(NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_set(server, NULL, "0"), -EINVAL, "NULL");
    must_fail(server, ringnfs_set(server, "port", NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_listen_on(server, NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_add_export(server, NULL), -EINVAL, "NULL");
    must(server, ringnfs_start(server));
    must_fail(server, ringnfs_add_export(server, NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_remove_export(server, NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_url(server, NULL, &text), -EINVAL, "NULL");
    must_fail(server, ringnfs_url(server, "/x", NULL), -EINVAL, "NULL");
    ringnfs_free(server);
}

static void
calls_before_the_start_that_need_a_running_server_fail(struct ringnfs *server, const char *why)
{
    char *text;

    must_fail(server, ringnfs_remove_export(server, "/x"), -EINVAL, why);
    must_fail(server, ringnfs_nfs_port(server), -EINVAL, why);
    must_fail(server, ringnfs_mount_port(server), -EINVAL, why);
    must_fail(server, ringnfs_url(server, "/x", &text), -EINVAL, why);
    must_fail(server, ringnfs_mount_command(server, "/x", &text), -EINVAL, why);
    must_fail(server, ringnfs_add_connection(server, STDIN_FILENO), -EINVAL, why);
    must_fail(server, ringnfs_stop(server), -EINVAL, why);
}

static void
calls_at_the_wrong_time_are_errors_with_a_reason(void **state)
{
    struct ringnfs *server = make(MEMORY);

    (void)state;
    calls_before_the_start_that_need_a_running_server_fail(server, "start it first");
    must_fail(server, ringnfs_log_to_fd(server, 9999), -EBADF, "9999");
    must(server, ringnfs_start(server));
    must_fail(server, ringnfs_start(server), -EINVAL, "the server runs");
    must_fail(server, ringnfs_listen_on(server, "127.0.0.1"), -EINVAL, "the server runs");
    must_fail(server, ringnfs_log_to(server, NULL, NULL), -EINVAL, "the server runs");
    must_fail(server, ringnfs_log_to_fd(server, -1), -EINVAL, "the server runs");
    must(server, ringnfs_stop(server));
    calls_before_the_start_that_need_a_running_server_fail(server, "stopped");
    must_fail(server, ringnfs_start(server), -EINVAL, "make another one");
    must_fail(server, ringnfs_set(server, "threads", "3"), -EINVAL, "make another one");
    must_fail(server, ringnfs_add_export(server, MEMORY), -EINVAL, "make another one");
    ringnfs_free(server);
}

static void
a_forked_child_cannot_use_its_parents_server(void **state)
{
    struct ringnfs *server = start(MEMORY);
    pid_t child = fork();
    int status, fd;

    (void)state;
    if (child == 0) {
        bool fine = ringnfs_stop(server) == -EPERM && strstr(ringnfs_error(server), "forked") != NULL &&
                    ringnfs_set(server, "threads", "3") == -EPERM && ringnfs_nfs_port(server) == -EPERM;

        ringnfs_free(server);
        _exit(fine ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fd = connect_to(ringnfs_nfs_port(server));
    assert_true(answers(fd));
    close(fd);
    ringnfs_free(server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_answers_once_it_is_started_and_no_longer_when_it_is_stopped),
        cmocka_unit_test(a_server_that_was_never_started_can_be_freed),
        cmocka_unit_test(many_servers_live_in_one_process),
        cmocka_unit_test(several_threads_have_servers_at_once),
        cmocka_unit_test(nothing_stays_open_and_no_thread_stays),
        cmocka_unit_test(the_process_stays_as_it_was),
        cmocka_unit_test(the_callers_thread_is_not_confined_by_a_sandbox_that_was_asked_for),
        cmocka_unit_test(no_thread_is_confined_unless_that_is_asked_for),
        cmocka_unit_test(nothing_is_said_unless_somebody_listens),
        cmocka_unit_test(a_function_gets_what_is_told),
        cmocka_unit_test(log_level_bounds_what_is_told),
        cmocka_unit_test(a_descriptor_gets_what_is_told),
        cmocka_unit_test(a_socketpair_is_served),
        cmocka_unit_test(other_descriptors_are_refused_and_stay_the_callers),
        cmocka_unit_test(exports_come_and_go_while_it_runs),
        cmocka_unit_test(command_and_url_name_the_port),
        cmocka_unit_test(settings_are_checked_and_some_change_while_it_runs),
        cmocka_unit_test(settings_that_do_not_go_together_are_told_at_the_start),
        cmocka_unit_test(lines_are_read_when_they_are_added),
        cmocka_unit_test(a_start_that_fails_names_the_directory_and_can_be_tried_again),
        cmocka_unit_test(a_port_in_use_is_named),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(a_state_directory_is_used_if_it_is_named),
        cmocka_unit_test(null_is_an_error_with_a_reason),
        cmocka_unit_test(calls_at_the_wrong_time_are_errors_with_a_reason),
        cmocka_unit_test(a_forked_child_cannot_use_its_parents_server),
    };

    return cmocka_run_group_tests(tests, count_own_threads, NULL);
}
