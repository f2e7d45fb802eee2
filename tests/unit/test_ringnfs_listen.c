/* tests/unit/test_ringnfs_listen.c - an embedded server on Unix sockets, and one that listens on nothing. */
#include "tests/lib/embedded_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SECURE "memory:/x 127.0.0.1(rw)"        /* from this machine's reserved ports only */

static char dir[] = "/tmp/ringnfs-listen.XXXXXX";
static char path[64];

static int
set_up(void **state)
{
    (void)state;
    strcpy(dir + sizeof(dir) - 7, "XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/nfs", dir);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    return rmdir(dir);                                  /* nothing is left in it */
}

static int
open_local(bool listening)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(address.sun_path, path);
    if (listening) {
        assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(fd, 1), 0);
    } else if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static struct ringnfs *
make_on(const char *address)
{
    struct ringnfs *server = make(SECURE);

    must(server, ringnfs_listen_on(server, address));
    return server;
}

static struct ringnfs *
start_on(const char *address)
{
    struct ringnfs *server = make_on(address);

    must(server, ringnfs_start(server));
    return server;
}

static void
a_unix_socket_is_served_as_this_machines_root(void **state)
{
    struct ringnfs *server = start_on(path);
    int fds[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        fds[i] = open_local(false);
        assert_true(fds[i] >= 0);
        assert_true(answers(fds[i]));
        assert_int_equal(mount_status(fds[i], "/x"), 0);
    }
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    assert_int_equal(ringnfs_nfs_port(server), 0);
    ringnfs_free(server);
}

static void
only_the_owner_can_connect_and_the_name_goes_with_the_server(void **state)
{
    struct ringnfs *server = start_on(path);
    struct stat st;

    (void)state;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode, S_IFSOCK | 0600);
    assert_int_equal(st.st_uid, geteuid());
    must(server, ringnfs_stop(server));
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(errno, ENOENT);
    ringnfs_free(server);
}

static void
a_dead_socket_is_replaced(void **state)
{
    struct ringnfs *server;
    int fd;

    (void)state;
    close(open_local(true));                            /* its name stays */
    server = start_on(path);
    fd = open_local(false);
    assert_true(answers(fd));
    close(fd);
    ringnfs_free(server);
}

static void
a_socket_in_use_and_other_files_are_refused_and_stay(void **state)
{
    struct ringnfs *first = start_on(path), *second = make_on(path);
    int fd;

    (void)state;
    must_fail(second, ringnfs_start(second), -EADDRINUSE, path);
    ringnfs_free(second);
    fd = open_local(false);
    assert_true(answers(fd));
    close(fd);
    ringnfs_free(first);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    second = make_on(path);
    must_fail(second, ringnfs_start(second), -EEXIST, path);
    assert_int_equal(unlink(path), 0);
    must(second, ringnfs_start(second));
    ringnfs_free(second);
}

static void
a_name_that_another_has_taken_meanwhile_stays(void **state)
{
    struct ringnfs *server = start_on(path);
    int fd;

    (void)state;
    assert_int_equal(unlink(path), 0);
    fd = open_local(true);
    ringnfs_free(server);
    assert_int_equal(unlink(path), 0);
    close(fd);
}

static void
paths_have_to_fit_and_lie_in_a_directory(void **state)
{
    struct ringnfs *server = make(SECURE);
    char longest[200];

    (void)state;
    memset(longest, 'p', sizeof(longest));
    longest[0] = '/';
    longest[108] = '\0';
    must_fail(server, ringnfs_listen_on(server, longest), -ENAMETOOLONG, "107");
    longest[107] = '\0';
    must(server, ringnfs_listen_on(server, longest));
    longest[107] = 'p';
    must_fail(server, ringnfs_listen_on(server, "nfs"), -EINVAL, "absolute path");
    must_fail(server, ringnfs_listen_on(server, ""), -EINVAL, "absolute path");
    ringnfs_free(server);
    snprintf(longest, sizeof(longest), "%s/missing/nfs", dir);
    server = make_on(longest);
    must_fail(server, ringnfs_start(server), -ENOENT, longest);
    ringnfs_free(server);
}

static void
addresses_and_sockets_go_together(void **state)
{
    struct ringnfs *server = make_on(path);
    char *url;
    int fd;

    (void)state;
    must(server, ringnfs_listen_on(server, "127.0.0.1"));
    must(server, ringnfs_start(server));
    fd = open_local(false);
    assert_int_equal(mount_status(fd, "/x"), 0);
    close(fd);
    fd = connect_to(ringnfs_nfs_port(server));
    assert_true(answers(fd));
    close(fd);
    must(server, ringnfs_url(server, "/x", &url));
    assert_non_null(strstr(url, "127.0.0.1"));
    free(url);
    ringnfs_free(server);
}

static void
another_port_for_mount_leaves_the_socket_alone(void **state)
{
    struct ringnfs *first = start(MEMORY), *server = make_on(path);
    char port[16];
    int fd;

    (void)state;
    snprintf(port, sizeof(port), "%d", ringnfs_nfs_port(first));
    ringnfs_free(first);
    must(server, ringnfs_listen_on(server, "127.0.0.1"));
    must(server, ringnfs_set(server, "mount_port", port));
    must(server, ringnfs_start(server));
    fd = open_local(false);
    assert_int_equal(mount_status(fd, "/x"), 0);
    close(fd);
    ringnfs_free(server);
}

static void
a_server_on_nothing_serves_what_it_is_given(void **state)
{
    struct ringnfs *server = start_on("none");
    char *text;
    int fd = connect_pair(server);

    (void)state;
    assert_int_equal(mount_status(fd, "/x"), 0);
    assert_int_equal(ringnfs_nfs_port(server), 0);
    assert_int_equal(ringnfs_mount_port(server), 0);
    must_fail(server, ringnfs_url(server, "/x", &text), -EADDRNOTAVAIL, "no port");
    must_fail(server, ringnfs_mount_command(server, "/x", &text), -EADDRNOTAVAIL, "no port");
    assert_null(text);
    close(fd);
    ringnfs_free(server);
}

static void
none_goes_with_no_address(void **state)
{
    struct ringnfs *server = make_on("none");

    (void)state;
    must_fail(server, ringnfs_listen_on(server, "127.0.0.1"), -EINVAL, "none");
    ringnfs_free(server);
    server = make_on("127.0.0.1");
    must_fail(server, ringnfs_listen_on(server, "none"), -EINVAL, "none");
    ringnfs_free(server);
}

#define in_a_directory(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        in_a_directory(a_unix_socket_is_served_as_this_machines_root),
        in_a_directory(only_the_owner_can_connect_and_the_name_goes_with_the_server),
        in_a_directory(a_dead_socket_is_replaced),
        in_a_directory(a_socket_in_use_and_other_files_are_refused_and_stay),
        in_a_directory(a_name_that_another_has_taken_meanwhile_stays),
        in_a_directory(paths_have_to_fit_and_lie_in_a_directory),
        in_a_directory(addresses_and_sockets_go_together),
        in_a_directory(another_port_for_mount_leaves_the_socket_alone),
        in_a_directory(a_server_on_nothing_serves_what_it_is_given),
        in_a_directory(none_goes_with_no_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
