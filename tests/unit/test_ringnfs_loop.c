/* tests/unit/test_ringnfs_loop.c - an embedded server that the caller's loop drives. */
#include "tests/lib/embedded_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 5
#define CALLS 200                       /* of each client */

static struct ringnfs *
make_driven(const char *line)
{
    struct ringnfs *server = make(line);

    must(server, ringnfs_drive(server));
    return server;
}

static struct ringnfs *
start_driven(void)
{
    struct ringnfs *server = make_driven(MEMORY);

    must(server, ringnfs_start(server));
    return server;
}

static bool
is_readable(int fd, int ms)
{
    return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, ms) > 0;
}

/* Drive a server until a client has something to read; false: it had nothing to do before that. */
static bool
drive_until(struct ringnfs *server, int client)
{
    struct pollfd fds[2] = { { .fd = ringnfs_fd(server), .events = POLLIN }, { .fd = client, .events = POLLIN } };

    while (poll(fds, 2, RIG_WAIT_MS) > 0) {
        if (fds[1].revents != 0)
            return true;
        must(server, ringnfs_process(server));
    }
    return false;
}

static void
send_null(int fd)
{
    struct message message;

    message_begin(&message, NFS, 0, UINT32_MAX);
    message_send(fd, &message);
}

static bool
got_reply(int fd)
{
    struct message message;

    return message_receive(fd, &message);
}

static void
nothing_is_answered_but_within_process(void **state)
{
    struct ringnfs *server = start_driven();
    int fd = connect_to(ringnfs_nfs_port(server));

    (void)state;
    send_null(fd);
    assert_false(is_readable(fd, 200));
    assert_true(is_readable(ringnfs_fd(server), 0));
    assert_true(drive_until(server, fd));
    assert_true(got_reply(fd));
    close(fd);
    ringnfs_free(server);
}

static void
the_descriptor_rests_when_there_is_nothing_to_do(void **state)
{
    struct ringnfs *server = start_driven();
    int fd = connect_to(ringnfs_nfs_port(server));

    (void)state;
    send_null(fd);
    assert_true(drive_until(server, fd));
    assert_true(got_reply(fd));
    for (int i = 0; i < 3; i++)
        must(server, ringnfs_process(server));
    assert_false(is_readable(ringnfs_fd(server), 0));
    close(fd);
    ringnfs_free(server);
}

static void
a_connection_that_is_handed_over_wakes_the_callers_loop(void **state)
{
    struct ringnfs *server = start_driven();
    int fd;

    (void)state;
    must(server, ringnfs_process(server));
    assert_false(is_readable(ringnfs_fd(server), 0));
    fd = connect_pair(server);
    assert_true(is_readable(ringnfs_fd(server), RIG_WAIT_MS));
    send_null(fd);
    assert_true(drive_until(server, fd));
    assert_true(got_reply(fd));
    close(fd);
    ringnfs_free(server);
}

/* With max_iops=1 the second call has to wait, so the descriptor gets readable by a timer. */
static void
timers_make_the_descriptor_readable(void **state)
{
    struct ringnfs *server = make_driven("memory:/x *(rw,insecure,max_iops=2)");
    struct rig_handle root = { 0 };
    struct message message;
    int fd;

    (void)state;
    must(server, ringnfs_start(server));
    fd = connect_pair(server);
    message_begin(&message, MOUNT, 1, 0);
    message_bytes(&message, "/x", 2);
    message_send(fd, &message);
    assert_true(drive_until(server, fd) && message_receive(fd, &message));
    root.len = message_word(&message, 28);
    memcpy(root.bytes, message.bytes + 32, root.len);
    for (int i = 0; i < 4; i++) {
        message_begin(&message, NFS, 1, 0);
        message_bytes(&message, root.bytes, root.len);
        message_send(fd, &message);
        assert_true(drive_until(server, fd) && message_receive(fd, &message));
        assert_int_equal(message_word(&message, 24), 0);
    }
    close(fd);
    ringnfs_free(server);
}

struct ev_rig {
    struct ringnfs *server;
    ev_io server_io;
    struct ev_client {
        ev_io io;
        int fd;
        unsigned left;
        unsigned *running;
    } clients[CLIENTS];
    unsigned running;
};

static void
server_ready(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    must(io->data, ringnfs_process(io->data));
}

static void
client_ready(struct ev_loop *loop, ev_io *io, int events)
{
    struct ev_client *client = (struct ev_client *)io;

    (void)events;
    assert_true(got_reply(client->fd));
    if (--client->left > 0) {
        send_null(client->fd);
        return;
    }
    ev_io_stop(loop, io);
    if (--*client->running == 0)
        ev_break(loop, EVBREAK_ALL);
}

static void
server_and_clients_share_one_loop_and_one_thread(void **state)
{
    struct ringnfs *server = start_driven();
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct ev_rig rig = { .running = CLIENTS };

    (void)state;
    ev_io_init(&rig.server_io, server_ready, ringnfs_fd(server), EV_READ);
    rig.server_io.data = server;
    ev_io_start(loop, &rig.server_io);
    for (int i = 0; i < CLIENTS; i++) {
        struct ev_client *client = &rig.clients[i];

        client->fd = i % 2 == 0 ? connect_to(ringnfs_nfs_port(server)) : connect_pair(server);
        client->left = CALLS;
        client->running = &rig.running;
        ev_io_init(&client->io, client_ready, client->fd, EV_READ);
        ev_io_start(loop, &client->io);
        send_null(client->fd);
    }
    ev_run(loop, 0);
    assert_int_equal(rig.running, 0);
    for (int i = 0; i < CLIENTS; i++)
        close(rig.clients[i].fd);
    ev_loop_destroy(loop);
    ringnfs_free(server);
}

static void
the_descriptor_nests_in_an_epoll_set(void **state)
{
    struct ringnfs *server = start_driven();
    int outer = epoll_create1(0), fd = connect_to(ringnfs_nfs_port(server));
    struct epoll_event event = { .events = EPOLLIN };

    (void)state;
    assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, ringnfs_fd(server), &event), 0);
    send_null(fd);
    while (!is_readable(fd, 0)) {
        assert_int_equal(epoll_wait(outer, &event, 1, RIG_WAIT_MS), 1);
        must(server, ringnfs_process(server));
    }
    close(outer);
    close(fd);
    ringnfs_free(server);
}

static void
exports_change_and_it_stops_without_anybody_driving(void **state)
{
    struct ringnfs *server = start_driven();
    int fd = connect_to(ringnfs_nfs_port(server));

    (void)state;
    send_null(fd);
    must(server, ringnfs_add_export(server, "memory:/y *(rw,insecure)"));
    must(server, ringnfs_remove_export(server, "/x"));
    must(server, ringnfs_stop(server));
    assert_true(got_reply(fd));                         /* adding an export had it turn */
    close(fd);
    ringnfs_free(server);
}

static void
a_pause_and_a_crash_need_nobody_who_drives(void **state)
{
    struct ringnfs *server = start_driven();
    int fd = connect_to(ringnfs_nfs_port(server));

    (void)state;
    must(server, ringnfs_pause(server));
    send_null(fd);
    for (int i = 0; i < 5; i++)
        must(server, ringnfs_process(server));
    assert_false(is_readable(fd, 100));
    must(server, ringnfs_resume(server));
    assert_true(drive_until(server, fd));
    assert_true(got_reply(fd));
    must(server, ringnfs_crash(server));
    assert_true(is_readable(fd, RIG_WAIT_MS));          /* the connection has been reset */
    assert_false(got_reply(fd));
    close(fd);
    ringnfs_free(server);
}

static void
directories_are_refused(void **state)
{
    struct ringnfs *server = make_driven("/tmp *(rw,insecure)");

    (void)state;
    must_fail(server, ringnfs_start(server), -EOPNOTSUPP, "memory: only");
    ringnfs_free(server);
    server = start_driven();
    must_fail(server, ringnfs_add_export(server, "/tmp *(rw,insecure)"), -EOPNOTSUPP, "memory: only");
    ringnfs_free(server);
}

static void
the_callers_thread_keeps_its_signals_and_umask(void **state)
{
    sigset_t before, after;
    mode_t mask = umask(027);
    struct ringnfs *server;
    int fd;

    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    server = start_driven();
    fd = connect_to(ringnfs_nfs_port(server));
    send_null(fd);
    assert_true(drive_until(server, fd));
    close(fd);
    ringnfs_free(server);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < NSIG; i++)
        assert_int_equal(sigismember(&before, i), sigismember(&after, i));
    assert_int_equal(umask(mask), 027);
}

static void *
process_once(void *arg)
{
    must(arg, ringnfs_process(arg));
    return NULL;
}

static void
any_thread_may_drive_it_one_at_a_time(void **state)
{
    struct ringnfs *server = start_driven();
    int fd = connect_to(ringnfs_nfs_port(server));
    pthread_t thread;

    (void)state;
    for (int i = 0; i < 20; i++) {
        send_null(fd);
        while (!is_readable(fd, 0)) {
            assert_int_equal(pthread_create(&thread, NULL, process_once, server), 0);
            pthread_join(thread, NULL);
        }
        assert_true(got_reply(fd));
    }
    close(fd);
    ringnfs_free(server);
}

/* A client that is gone while its replies wait: no SIGPIPE. */
static void
a_client_that_goes_does_no_harm(void **state)
{
    struct ringnfs *server = start_driven();

    (void)state;
    for (int i = 0; i < 20; i++) {
        int fd = connect_pair(server);

        send_null(fd);
        if (i % 2 == 0)
            must(server, ringnfs_process(server));
        close(fd);
        must(server, ringnfs_process(server));
    }
    ringnfs_free(server);
}

static void
wrong_calls_are_errors_with_a_reason(void **state)
{
    struct ringnfs *server = make_driven(MEMORY);

    (void)state;
    must_fail(NULL, ringnfs_drive(NULL), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_fd(NULL), -EINVAL, "NULL");
    must_fail(NULL, ringnfs_process(NULL), -EINVAL, "NULL");
    must_fail(server, ringnfs_fd(server), -EINVAL, "start it first");
    must_fail(server, ringnfs_process(server), -EINVAL, "start it first");
    must(server, ringnfs_set(server, "sandbox", "on"));
    must_fail(server, ringnfs_start(server), -EINVAL, "sandbox");
    must(server, ringnfs_set(server, "sandbox", "auto"));
    must(server, ringnfs_set(server, "engine", "uring"));
    must_fail(server, ringnfs_start(server), -EINVAL, "engine");
    must(server, ringnfs_set(server, "engine", "auto"));
    must(server, ringnfs_start(server));
    must_fail(server, ringnfs_drive(server), -EINVAL, "the server runs");
    must(server, ringnfs_stop(server));
    must_fail(server, ringnfs_process(server), -EINVAL, "stopped");
    must_fail(server, ringnfs_fd(server), -EINVAL, "stopped");
    must_fail(server, ringnfs_drive(server), -EINVAL, "stopped");
    ringnfs_free(server);
    server = start(MEMORY);
    must_fail(server, ringnfs_fd(server), -EINVAL, "ringnfs_drive");
    must_fail(server, ringnfs_process(server), -EINVAL, "ringnfs_drive");
    ringnfs_free(server);
}

static void
a_forked_child_cannot_drive_its_parents_server(void **state)
{
    struct ringnfs *server = start_driven();
    pid_t child = fork();
    int status;

    (void)state;
    if (child == 0) {
        bool fine = ringnfs_process(server) == -EPERM && ringnfs_fd(server) == -EPERM;

        ringnfs_free(server);
        _exit(fine ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ringnfs_free(server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_answered_but_within_process),
        cmocka_unit_test(the_descriptor_rests_when_there_is_nothing_to_do),
        cmocka_unit_test(a_connection_that_is_handed_over_wakes_the_callers_loop),
        cmocka_unit_test(timers_make_the_descriptor_readable),
        cmocka_unit_test(server_and_clients_share_one_loop_and_one_thread),
        cmocka_unit_test(the_descriptor_nests_in_an_epoll_set),
        cmocka_unit_test(exports_change_and_it_stops_without_anybody_driving),
        cmocka_unit_test(a_pause_and_a_crash_need_nobody_who_drives),
        cmocka_unit_test(directories_are_refused),
        cmocka_unit_test(the_callers_thread_keeps_its_signals_and_umask),
        cmocka_unit_test(any_thread_may_drive_it_one_at_a_time),
        cmocka_unit_test(a_client_that_goes_does_no_harm),
        cmocka_unit_test(wrong_calls_are_errors_with_a_reason),
        cmocka_unit_test(a_forked_child_cannot_drive_its_parents_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
