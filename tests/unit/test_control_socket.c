/* tests/unit/test_control_socket.c - the control socket itself: what is not put up with, and whose it is. */
#include "tests/lib/control_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

/* ---- What is not put up with ---- */

static void
malformed_requests_are_refused_and_the_connection_goes_on(void **state)
{
    static const char *const lines[] = {
        "", "hello", "{", "[]", "3", "\"status\"", "null", "{}", "{\"command\":1}", "{\"command\":null}",
        "{\"command\":[\"status\"]}", "{\"command\":\"status\"", "{\"command\":\"status\"}{}",
        "{\"command\":\"status\",\"command\":\"stats\"}", "{\"command\":\"sta\xfftus\"}", "{\"command\":\"st\\u0000\"}",
        "{'command':'status'}", "\xff\xfe", "{\"command\":\"show\",\"key\":3}"
    };
    static const char nul[] = "{\"command\":\"stat\0us\"}";
    struct ctl_rig *rig = *state;

    for (size_t i = 0; i < COUNT(lines); i++)
        ctl_error_of(rig, ctl_ask(rig, lines[i]));
    ctl_error_of(rig, ctl_ask_bytes(rig, nul, sizeof(nul) - 1));
    ctl_must(rig, ctl_command(rig, "status", NULL));
}

static void
unknown_words_are_named_with_near_ones(void **state)
{
    struct ctl_rig *rig = *state;

    ctl_assert_error(rig, ctl_command(rig, "exports shwo", NULL),
                     "unknown command exports shwo (did you mean exports show?)");
    ctl_assert_error(rig, ctl_command(rig, "frobnicate", NULL), "unknown command frobnicate");
    ctl_assert_error(rig, ctl_command(rig, "exports add", "lin", "/a *", NULL),
                     "exports add: unknown argument lin (did you mean line?)");
    ctl_assert_error(rig, ctl_command(rig, "status", "lin", "/a *", NULL), "status: unknown argument lin");
    assert_null(strstr(rig->reply, "did you mean"));
    ctl_assert_error(rig, ctl_command(rig, "set", "key", "threads", NULL), "set: value is missing");
    ctl_assert_error(rig, ctl_ask(rig, "{\"command\":\"set\",\"key\":\"threads\",\"value\":4}"), "value must be a string");
}

static void
deep_nesting_is_refused(void **state)
{
    struct ctl_rig *rig = *state;
    size_t len = CONTROL_LINE_MAX - 8;
    char *line = malloc(len);

    assert_non_null(line);
    memset(line, '[', len);
    ctl_error_of(rig, ctl_ask_bytes(rig, line, len));
    free(line);
    ctl_must(rig, ctl_command(rig, "status", NULL));
}

static bool
is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, 0);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void
a_line_without_end_is_refused_and_closed(void **state)
{
    struct ctl_rig *rig = *state;
    char *line = malloc(CONTROL_LINE_MAX);

    assert_non_null(line);
    memset(line, ' ', CONTROL_LINE_MAX);
    assert_true(ctl_put(rig->fd, line, CONTROL_LINE_MAX));
    free(line);
    ctl_assert_error(rig, ctl_read_answer(rig, rig->fd), "longer than 1 MiB");
    assert_true(is_closed(rig->fd));
    close(rig->fd);
    rig->fd = ctl_connect(rig->dir);
    ctl_must(rig, ctl_command(rig, "status", NULL));
}

static void
requests_may_come_in_pieces_and_several_at_once(void **state)
{
    static const char request[] = "{\"command\":\"status\"}\n";
    struct ctl_rig *rig = *state;

    for (size_t i = 0; i < sizeof(request) - 1; i++)
        assert_true(ctl_put(rig->fd, request + i, 1));
    ctl_must(rig, ctl_read_answer(rig, rig->fd));
    for (int i = 0; i < 50; i++)
        assert_true(ctl_put(rig->fd, request, sizeof(request) - 1));
    for (int i = 0; i < 50; i++)
        ctl_must(rig, ctl_read_answer(rig, rig->fd));
    assert_true(ctl_put(rig->fd, request, sizeof(request) - 1));
    shutdown(rig->fd, SHUT_WR);
    ctl_must(rig, ctl_read_answer(rig, rig->fd));
    assert_true(is_closed(rig->fd));
}

static void
half_a_line_is_no_request(void **state)
{
    struct ctl_rig *rig = *state;

    assert_true(ctl_put(rig->fd, "{\"command\":\"status\"}", 20));
    shutdown(rig->fd, SHUT_WR);
    assert_true(is_closed(rig->fd));
}

static void
who_says_nothing_is_closed_after_a_while(void **state)
{
    struct ctl_rig *rig = *state;
    int fd;

    ctl_reopen(rig, 200);
    assert_true(is_closed(rig->fd));
    fd = ctl_connect(rig->dir);
    assert_true(ctl_put(fd, "{\"comm", 7));
    assert_true(is_closed(fd));
    close(fd);
}

static void
who_never_reads_is_closed_and_others_are_served(void **state)
{
    static const char request[] = "{\"command\":\"show\"}\n";
    struct ctl_rig *rig = *state;
    struct pollfd ended = { .events = POLLRDHUP };
    int fd;

    ctl_reopen(rig, 500);
    fd = ctl_connect(rig->dir);
    for (int i = 0; i < 2000; i++)
        if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
    ctl_must(rig, ctl_command(rig, "status", NULL));
    ended.fd = fd;
    assert_int_equal(poll(&ended, 1, 10000), 1);
    close(fd);
    live_assert_alive(rig->srv);
}

static void
connections_are_bounded(void **state)
{
    struct ctl_rig *rig = *state;
    int fds[CONTROL_CONNECTIONS_MAX];
    size_t i;

    for (i = 0; i < COUNT(fds) - 1; i++) {
        fds[i] = ctl_connect(rig->dir);
        assert_true(ctl_put(fds[i], "{\"command\":\"status\"}\n", 21));
        ctl_must(rig, ctl_read_answer(rig, fds[i]));
    }
    fds[i] = ctl_connect(rig->dir);
    ctl_assert_error(rig, ctl_read_answer(rig, fds[i]), "16 connections are open");
    assert_true(is_closed(fds[i]));
    close(fds[i]);
    close(fds[0]);
    for (int tries = 0; tries < 200; tries++) {
        fds[0] = ctl_connect(rig->dir);
        if (ctl_put(fds[0], "{\"command\":\"status\"}\n", 21) && ctl_read_answer(rig, fds[0]))
            break;
        close(fds[0]);
        usleep(10000);
    }
    ctl_must(rig, json_is_true(json_object_get(rig->answer, "ok")));
    for (i = 0; i < COUNT(fds) - 1; i++)
        close(fds[i]);
}

/* ---- Whose it is ---- */

static void
the_socket_is_for_its_owner_alone_and_gone_at_the_end(void **state)
{
    struct ctl_rig *rig = *state;
    char path[PATH_MAX + 32];
    struct stat st;

    snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, rig->dir);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    control_free(rig->control);
    rig->control = NULL;
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(control_connect(rig->dir), -ENOENT);
}

/* As another user, after a fork: connect and read a line into out; returns how the attempt ended. */
static int
connect_as_nobody(const char *dir, int out)
{
    char line[256];
    ssize_t n;
    int fd;

    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 99;
    fd = control_connect(dir);
    if (fd < 0)
        return -fd;
    n = recv(fd, line, sizeof(line), 0);
    return n > 0 && write(out, line, (size_t)n) == n ? 0 : 98;
}

static int
attempt_as_nobody(struct ctl_rig *rig, char *line, size_t size)
{
    int ends[2], status;
    ssize_t n;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0)
        _exit(connect_as_nobody(rig->dir, ends[1]));
    close(ends[1]);
    n = read(ends[0], line, size - 1);
    line[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
other_users_are_kept_out_by_mode_and_by_name(void **state)
{
    struct ctl_rig *rig = *state;
    char path[PATH_MAX + 32], line[256];

    if (geteuid() != 0) {
        print_message("left out: needs root\n");
        skip();
    }
    snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, rig->dir);
    assert_int_equal(chmod(rig->dir, 0755), 0);
    assert_int_equal(attempt_as_nobody(rig, line, sizeof(line)), EACCES);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(attempt_as_nobody(rig, line, sizeof(line)), 0);
    assert_non_null(strstr(line, "{\"ok\":false,\"error\":\"user 65534 may not control this server"));
    ctl_must(rig, ctl_command(rig, "status", NULL));
}

static void
a_socket_that_was_left_behind_is_replaced(void **state)
{
    struct ctl_rig *rig = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    close(rig->fd);
    control_free(rig->control);
    snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/" CONTROL_SOCKET, rig->dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    ctl_open(rig, CONTROL_IDLE_MS);
    rig->fd = ctl_connect(rig->dir);
    ctl_must(rig, ctl_command(rig, "status", NULL));
}

static void
a_live_servers_socket_is_respected(void **state)
{
    struct ctl_rig *rig = *state;
    const struct control_config config = { .server = rig->srv->server, .dir = rig->dir, .log = &ctl_no_log };
    struct control *second;
    char error[1024], pid[32];

    assert_int_equal(control_new(&config, &second, error, sizeof(error)), -EADDRINUSE);
    snprintf(pid, sizeof(pid), "(pid %d)", getpid());
    assert_non_null(strstr(error, "another server"));
    assert_non_null(strstr(error, pid));
    ctl_must(rig, ctl_command(rig, "status", NULL));
}

static void
what_is_no_socket_is_left_alone(void **state)
{
    struct ctl_rig *rig = *state;
    const struct control_config config = { .server = rig->srv->server, .dir = rig->dir, .log = &ctl_no_log };
    char path[PATH_MAX + 32], error[1024];
    struct control *second;
    struct stat st;
    int fd;

    control_free(rig->control);
    rig->control = NULL;
    snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, rig->dir);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_int_equal(control_new(&config, &second, error, sizeof(error)), -EEXIST);
    assert_non_null(strstr(error, "no socket"));
    assert_int_equal(stat(path, &st), 0);
}

static void
the_directorys_name_may_be_long(void **state)
{
    struct ctl_rig *rig = *state;
    char parent[PATH_MAX];

    close(rig->fd);
    control_free(rig->control);
    strcpy(parent, rig->dir);
    memset(rig->dir + strlen(parent), 'x', 200);
    rig->dir[strlen(parent)] = '/';
    rig->dir[strlen(parent) + 200] = '\0';
    ctl_remove_in(parent, CONTROL_LOCK);
    assert_int_equal(mkdir(rig->dir, 0700), 0);
    ctl_open(rig, CONTROL_IDLE_MS);
    rig->fd = ctl_connect(rig->dir);
    ctl_must(rig, ctl_command(rig, "status", NULL));
    close(rig->fd);
    control_free(rig->control);
    rig->control = NULL;
    ctl_remove_dir(rig->dir);
    strcpy(rig->dir, parent);
    rig->fd = -1;
}

/* ---- By server_new() ---- */

static struct server *
start_server(struct ctl_rig *rig, const char *name, const char *line, char *dir, size_t dir_size)
{
    struct sockaddr_storage address = { .ss_family = AF_INET };
    struct settings settings;
    struct server_config config = { .settings = &settings, .exports = { .lines = &line, .nlines = 1 },
                                    .addresses = &address, .naddresses = 1, .log = ctl_no_log, .control = true };
    struct server *server;
    char error[1024];

    snprintf(dir, dir_size, "%.4000s/%s", rig->dir, name);
    ((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    settings_init(&settings);
    assert_int_equal(settings_set(&settings, "port", "0", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "rpcbind", "off", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "state_dir", dir, error, sizeof(error)), 0);
    settings.workers = 1;
    if (server_new(&config, &server, error, sizeof(error)) < 0)
        server = NULL;
    settings_fini(&settings);
    return server;
}

static void
end_server(struct server *server, const char *dir)
{
    server_free(server);
    assert_int_equal(control_connect(dir), -ENOENT);
    ctl_remove_in(dir, "handle-key");
    ctl_remove_in(dir, "mounts");
    ctl_remove_dir(dir);
}

static void
two_servers_in_one_process_have_a_socket_each(void **state)
{
    struct ctl_rig *rig = *state;
    char dirs[3][PATH_MAX];
    struct server *one = start_server(rig, "one", "memory:/one *", dirs[0], sizeof(dirs[0]));
    struct server *two = start_server(rig, "two", "memory:/two *", dirs[1], sizeof(dirs[1]));

    assert_non_null(one);
    assert_non_null(two);
    for (int i = 0; i < 2; i++) {
        int fd = ctl_connect(dirs[i]);

        assert_true(ctl_put(fd, "{\"command\":\"exports show\"}\n", 27));
        ctl_must(rig, ctl_read_answer(rig, fd));
        assert_non_null(strstr(rig->reply, i == 0 ? "memory:/one" : "memory:/two"));
        close(fd);
    }
    assert_null(start_server(rig, "one", "memory:/three *", dirs[2], sizeof(dirs[2])));
    end_server(one, dirs[0]);
    end_server(two, dirs[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CTL_TEST(malformed_requests_are_refused_and_the_connection_goes_on),
        CTL_TEST(unknown_words_are_named_with_near_ones),
        CTL_TEST(deep_nesting_is_refused),
        CTL_TEST(a_line_without_end_is_refused_and_closed),
        CTL_TEST(requests_may_come_in_pieces_and_several_at_once),
        CTL_TEST(half_a_line_is_no_request),
        CTL_TEST(who_says_nothing_is_closed_after_a_while),
        CTL_TEST(who_never_reads_is_closed_and_others_are_served),
        CTL_TEST(connections_are_bounded),
        CTL_TEST(the_socket_is_for_its_owner_alone_and_gone_at_the_end),
        CTL_TEST(other_users_are_kept_out_by_mode_and_by_name),
        CTL_TEST(a_socket_that_was_left_behind_is_replaced),
        CTL_TEST(a_live_servers_socket_is_respected),
        CTL_TEST(what_is_no_socket_is_left_alone),
        CTL_TEST(the_directorys_name_may_be_long),
        CTL_TEST(two_servers_in_one_process_have_a_socket_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
