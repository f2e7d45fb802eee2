/* tests/live/test_knobs.c - settings take effect: on sockets, threads, rings, replies; and while a server runs. */
#include "tests/lib/live.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#define KIB 1024u
#define MIB (1024u * KIB)
#define DIR_ENTRIES 6000
#define NAME_BYTES 200
#define CROWD 16                        /* connections; a client may have as many whatever auto means */
#define USERS 40                        /* more than a ring remembers */

static void
set(struct live *srv, const char *key, const char *value)
{
    char error[256];

    if (server_set(srv->server, key, value, error, sizeof(error)) != 0)
        fail_msg("%s = %s: %s", key, value, error);
}

/* The server's end of a connection: it is in this process. */
static int
other_end(const struct live_conn *conn)
{
    struct sockaddr_in here, peer;

    for (int fd = 3; fd < 4096; fd++) {
        socklen_t here_len = sizeof(here), peer_len = sizeof(peer);

        assert_int_equal(getsockname(conn->fd, (struct sockaddr *)&here, &here_len), 0);
        if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 && peer_len == sizeof(peer) &&
            peer.sin_family == AF_INET && peer.sin_port == here.sin_port)
            return fd;
    }
    fail_msg("the server has no such connection");
    return -1;
}

/* An option of the server's end of a new connection. */
static int
option_of_new(struct live *srv, int level, int option)
{
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);
    socklen_t len = sizeof(int);
    int value = -1;

    live_assert_served(srv, &conn);
    assert_int_equal(getsockopt(other_end(&conn), level, option, &value, &len), 0);
    live_close(&conn);
    return value;
}

static void
replies_are_not_delayed_unless_tcp_nodelay_is_off(void **state)
{
    struct live *srv = *state;

    assert_int_equal(option_of_new(srv, IPPROTO_TCP, TCP_NODELAY), 1);
    set(srv, "tcp_nodelay", "off");
    assert_int_equal(option_of_new(srv, IPPROTO_TCP, TCP_NODELAY), 0);
    set(srv, "tcp_nodelay", "on");
    assert_int_equal(option_of_new(srv, IPPROTO_TCP, TCP_NODELAY), 1);
}

/* The kernel doubles what it is asked for. */
static void
new_connections_have_the_socket_buffer_that_is_set(void **state)
{
    struct live *srv = *state;
    int usual = option_of_new(srv, SOL_SOCKET, SO_RCVBUF);

    set(srv, "socket_buffer", "48K");
    assert_int_equal(option_of_new(srv, SOL_SOCKET, SO_RCVBUF), 2 * 48 * KIB);
    assert_int_equal(option_of_new(srv, SOL_SOCKET, SO_SNDBUF), 2 * 48 * KIB);
    set(srv, "socket_buffer", "auto");
    assert_int_equal(option_of_new(srv, SOL_SOCKET, SO_RCVBUF), usual);
}

static void
new_connections_are_asked_whether_they_live_as_keepalive_says(void **state)
{
    struct live *srv = *state;

    assert_int_equal(option_of_new(srv, IPPROTO_TCP, TCP_KEEPIDLE), 60);
    set(srv, "keepalive", "17");
    assert_int_equal(option_of_new(srv, IPPROTO_TCP, TCP_KEEPIDLE), 17);
}

static FSINFO3resok
fsinfo(struct live *srv)
{
    FSINFO3res *res = live_fsinfo(srv, &srv->root);

    assert_int_equal(res->status, NFS3_OK);
    return res->FSINFO3res_u.resok;
}

static void
sizes_are_told_and_served_as_they_are_set_while_it_runs(void **state)
{
    struct live *srv = *state;
    char *data = live_keep(srv, 64 * KIB);
    nfs_fh3 file = live_put(srv, "file", data, 64 * KIB);

    set(srv, "rtmax", "8K");
    set(srv, "wtmax", "16K");
    set(srv, "dtpref", "4M");
    assert_int_equal(fsinfo(srv).rtmax, 8 * KIB);
    assert_int_equal(fsinfo(srv).rtpref, 8 * KIB);
    assert_int_equal(fsinfo(srv).wtmax, 16 * KIB);
    assert_int_equal(fsinfo(srv).dtpref, 4 * MIB);
    assert_int_equal(live_read(srv, &file, 0, 64 * KIB)->READ3res_u.resok.count, 8 * KIB);
    assert_int_equal(live_write(srv, &file, 0, data, 64 * KIB, UNSTABLE)->WRITE3res_u.resok.count, 16 * KIB);
    set(srv, "rtmax", "4M");
    set(srv, "rtpref", "512K");
    set(srv, "wtpref", "4K");
    assert_int_equal(fsinfo(srv).rtmax, 4 * MIB);
    assert_int_equal(fsinfo(srv).rtpref, 512 * KIB);
    assert_int_equal(fsinfo(srv).wtpref, 4 * KIB);
    assert_int_equal(live_read(srv, &file, 0, 64 * KIB)->READ3res_u.resok.count, 64 * KIB);
    set(srv, "rtpref", "auto");
    assert_int_equal(fsinfo(srv).rtpref, 4 * MIB);
}

static void
an_exports_preference_goes_before_the_servers(void **state)
{
    struct live *srv = *state;

    set(srv, "rtpref", "64K");
    live_reload(srv, "rw,insecure,no_root_squash,rtpref=32K", NULL);
    assert_int_equal(fsinfo(srv).rtpref, 32 * KIB);
    live_reload(srv, "rw,insecure,no_root_squash", NULL);
    assert_int_equal(fsinfo(srv).rtpref, 64 * KIB);
}

/* Files with long names in a directory of the export. */
static nfs_fh3
make_many(struct live *srv, const char *name)
{
    nfs_fh3 dir = live_dir(srv, &srv->root, name, 0755);
    char path[PATH_MAX + NAME_BYTES + 16];

    for (unsigned i = 0; i < DIR_ENTRIES; i++) {
        snprintf(path, sizeof(path), "%s/%0*u", live_local(srv, name), NAME_BYTES, i);
        close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    }
    return dir;
}

static unsigned
count_names(const READDIR3res *res)
{
    unsigned names = 0;

    assert_int_equal(res->status, NFS3_OK);
    for (const entry3 *entry = res->READDIR3res_u.resok.reply.entries; entry != NULL; entry = entry->nextentry)
        names++;
    return names;
}

static unsigned
count_plus(const READDIRPLUS3res *res)
{
    unsigned names = 0;

    assert_int_equal(res->status, NFS3_OK);
    for (const entryplus3 *entry = res->READDIRPLUS3res_u.resok.reply.entries; entry != NULL; entry = entry->nextentry)
        names++;
    return names;
}

static void
a_listing_is_as_long_as_dtpref_lets_it(void **state)
{
    static const char verifier[NFS3_COOKIEVERFSIZE];
    struct live *srv = *state;
    nfs_fh3 dir;

    live_need_directory(srv);
    dir = make_many(srv, "many");
    assert_true(count_names(live_readdir(srv, &dir, 0, verifier, 4 * MIB)) < 64 * KIB / NAME_BYTES);
    set(srv, "dtpref", "4M");
    assert_int_equal(count_names(live_readdir(srv, &dir, 0, verifier, 4 * MIB)), DIR_ENTRIES + 2);
    assert_int_equal(count_plus(live_readdirplus(srv, &dir, 0, verifier, 4 * MIB, 4 * MIB)), DIR_ENTRIES + 2);
    assert_int_equal(live_count(srv, &dir), DIR_ENTRIES);
}

static struct server_stats
stats_of(struct live *srv)
{
    struct server_stats stats;

    server_stats(srv->server, &stats);
    return stats;
}

static void
memory_is_bounded_as_it_is_set_while_it_runs(void **state)
{
    struct live *srv = *state;
    char error[256];

    set(srv, "max_memory", "64M");
    assert_int_equal(stats_of(srv).buffer_bytes_max, 64 * MIB);
    assert_int_equal(server_set(srv->server, "rtmax", "4M", error, sizeof(error)), 0);
    assert_int_not_equal(server_set(srv->server, "max_memory", "16M", error, sizeof(error)), 0);
    assert_string_equal(error, "rtmax is more than an eighth of max_memory (16M): 32M at least is needed");
    assert_int_equal(stats_of(srv).buffer_bytes_max, 64 * MIB);
    live_assert_alive(srv);
}

static uint32_t
connections_of(struct live *srv)
{
    struct server_status status;

    server_status(srv->server, &status);
    return status.connections;
}

/* How many of a crowd of new connections there are at once; the server looks at them in its own time. */
static uint32_t
held_of_crowd(struct live *srv)
{
    struct live_conn crowd[CROWD];
    uint64_t seen;
    uint32_t held;

    for (unsigned ms = 0; connections_of(srv) > 1 && ms < LIVE_WAIT_MS; ms++)
        usleep(1000);
    seen = stats_of(srv).connections_opened + stats_of(srv).connections_refused;
    for (unsigned i = 0; i < CROWD; i++)
        crowd[i] = live_connect(srv, SOCK_STREAM, AF_INET);
    for (unsigned ms = 0; ms < LIVE_WAIT_MS; ms++) {
        if (stats_of(srv).connections_opened + stats_of(srv).connections_refused >= seen + CROWD)
            break;
        usleep(1000);
    }
    held = connections_of(srv);
    for (unsigned i = 0; i < CROWD; i++)
        live_close(&crowd[i]);
    return held;
}

static void
connections_are_bounded_as_it_is_set_while_it_runs(void **state)
{
    struct live *srv = *state;

    assert_in_range(held_of_crowd(srv), CROWD, CROWD + 2);
    set(srv, "client_connections", "4");
    assert_in_range(held_of_crowd(srv), 1, 6);
    set(srv, "client_connections", "auto");
    assert_true(held_of_crowd(srv) >= CROWD);
    set(srv, "max_connections", "4");
    assert_in_range(held_of_crowd(srv), 1, 6);
    set(srv, "max_connections", "1000");
    assert_true(held_of_crowd(srv) >= CROWD);
}

static void
idle_connections_are_closed_as_it_is_set_while_it_runs(void **state)
{
    struct live *srv = *state;
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

    live_assert_served(srv, &conn);
    set(srv, "idle_timeout", "1");
    assert_true(live_closes(&conn, LIVE_WAIT_MS));
    set(srv, "idle_timeout", "off");
    live_close(&conn);
}

static void
let_threads_be_automatic(struct settings *settings)
{
    settings->threads = 0;
}

static void
threads_follow_a_number_and_auto(void **state)
{
    struct live *srv = live_start_beside(*state, &(struct live_options){ .tune = let_threads_be_automatic });
    char value[32], error[256];

    assert_int_equal(stats_of(srv).pool.min, 8);
    assert_int_equal(stats_of(srv).pool.max, 64);
    assert_int_equal(stats_of(srv).pool.threads, 8);
    set(srv, "threads", "11");
    assert_int_equal(stats_of(srv).pool.threads, 11);
    assert_int_equal(stats_of(srv).pool.max, 11);
    set(srv, "threads", "auto");
    assert_int_equal(stats_of(srv).pool.max, 64);
    assert_int_equal(server_setting(srv->server, "threads", value, sizeof(value), error, sizeof(error)), 0);
    assert_string_equal(value, "auto");
    live_assert_alive(srv);
}

/* How many threads of this process may run on this CPU alone. */
static unsigned
count_pinned(unsigned cpu)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    unsigned count = 0;
    cpu_set_t cpus;

    assert_non_null(tasks);
    while ((task = readdir(tasks)) != NULL)
        count += task->d_name[0] != '.' && sched_getaffinity(atoi(task->d_name), sizeof(cpus), &cpus) == 0 &&
                 CPU_COUNT(&cpus) == 1 && CPU_ISSET(cpu, &cpus);
    closedir(tasks);
    return count;
}

static void
name_two_cpus(struct settings *settings)
{
    char error[256];

    assert_int_equal(settings_set(settings, "cpu_affinity", "1,0", error, sizeof(error)), 0);
    settings->workers = 3;
}

static void
each_worker_runs_on_a_cpu_of_cpu_affinity(void **state)
{
    struct live *srv;
    cpu_set_t mine;
    char error[256];

    assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
    if (!CPU_ISSET(0, &mine) || !CPU_ISSET(1, &mine)) {
        print_message("left out: this process may not use the CPUs 0 and 1\n");
        skip();
    }
    srv = live_start_beside(*state, &(struct live_options){ .tune = name_two_cpus });
    assert_int_equal(count_pinned(0), 1);
    assert_int_equal(count_pinned(1), 2);
    live_assert_alive(srv);
    set(srv, "cpu_affinity", "0");
    assert_int_equal(count_pinned(0), 3);
    assert_int_equal(count_pinned(1), 0);
    assert_int_not_equal(server_set(srv->server, "cpu_affinity", "0,1000", error, sizeof(error)), 0);
    assert_non_null(strstr(error, "cpu_affinity: CPU 1000 is none that this process may use"));
    assert_int_equal(count_pinned(0), 3);
    set(srv, "cpu_affinity", "off");
    assert_int_equal(count_pinned(0), 0);
}

/* Rings of this process that have, or have not, a thread of the kernel that takes submissions. */
static unsigned
count_rings(bool polled)
{
    char path[64], target[64], line[128];
    unsigned count = 0;
    int pid;

    for (int fd = 3; fd < 4096; fd++) {
        FILE *info;
        ssize_t len;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        len = readlink(path, target, sizeof(target) - 1);
        target[MAX(len, 0)] = '\0';
        snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
        if (strcmp(target, "anon_inode:[io_uring]") != 0 || (info = fopen(path, "re")) == NULL)
            continue;
        while (fgets(line, sizeof(line), info) != NULL)
            count += sscanf(line, "SqThread: %d", &pid) == 1 && (pid >= 0) == polled;
        fclose(info);
    }
    return count;
}

static void
have_the_kernel_poll(struct settings *settings)
{
    settings->sqpoll = 20;
}

/* More users than the ring remembers: entries that are handed over may not lose theirs before the kernel looks at them. */
static void
write_as_many_users(struct live *srv, const nfs_fh3 *files)
{
    WRITE3res *written;
    char data[512];

    for (unsigned i = 0; i < 2 * USERS; i++) {
        memset(data, (int)('a' + i % 26), sizeof(data));
        live_as(srv, 2000 + i % USERS, 2000);
        written = live_write(srv, &files[i % USERS], i / USERS * sizeof(data), data, sizeof(data), FILE_SYNC);
        assert_int_equal(written->status, NFS3_OK);
    }
    live_as(srv, 0, 0);
    for (unsigned i = 0; i < USERS; i++) {
        memset(data, (int)('a' + (i + USERS) % 26), sizeof(data));
        assert_memory_equal(live_read(srv, &files[i], sizeof(data), sizeof(data))->READ3res_u.resok.data.data_val, data,
                            sizeof(data));
    }
}

static void
a_thread_of_the_kernel_takes_submissions_where_sqpoll_is_set(void **state)
{
    struct live *srv = *state;
    nfs_fh3 files[USERS];
    struct server_status status;
    char name[16];

    if (srv->config->engine != SETTING_ENGINE_URING)
        skip();
    live_need_root(srv);
    assert_int_equal(count_rings(true), 0);
    srv = live_start_beside(srv, &(struct live_options){ .export_options = "rw,insecure,no_root_squash,io=direct",
                                                         .tune = have_the_kernel_poll });
    server_status(srv->server, &status);
    if (!status.polls) {
        print_message("left out: this kernel gives no such thread\n");
        skip();
    }
    assert_int_equal(count_rings(true), srv->config->workers);
    for (unsigned i = 0; i < USERS; i++) {
        snprintf(name, sizeof(name), "%u", i);
        files[i] = live_file(srv, &srv->root, name, 0600);
        live_chown(srv, &files[i], 2000 + i, 2000);
    }
    write_as_many_users(srv, files);
    usleep(100000);                     /* that thread has gone to sleep */
    write_as_many_users(srv, files);
}

static void
ask_for_too_much(struct settings *settings)
{
    settings->socket_buffer = UINT32_C(1) << 30;
}

static void
what_the_kernel_caps_is_told_with_its_sysctl(void **state)
{
    FILE *file = tmpfile();
    const struct live_options options = { .tune = ask_for_too_much, .log_fd = fileno(file) };
    struct live *srv = live_start(((struct live *)*state)->config, &options);
    unsigned receive = 0, send = 0, others = 0;
    char line[1024];

    set(srv, "socket_buffer", "512M");
    set(srv, "socket_buffer", "4K");
    live_stop(srv);
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strstr(line, "warning: ") == NULL || strstr(line, "the kernel allows") == NULL)
            continue;
        receive += strstr(line, "socket_buffer: ") != NULL && strstr(line, "net.core.rmem_max") != NULL;
        send += strstr(line, "socket_buffer: ") != NULL && strstr(line, "net.core.wmem_max") != NULL;
        others += strstr(line, "socket_buffer: ") == NULL;
    }
    fclose(file);
    assert_int_equal(receive, 2);
    assert_int_equal(send, 2);
    assert_int_equal(others, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_are_not_delayed_unless_tcp_nodelay_is_off),
        cmocka_unit_test(new_connections_have_the_socket_buffer_that_is_set),
        cmocka_unit_test(new_connections_are_asked_whether_they_live_as_keepalive_says),
        cmocka_unit_test(sizes_are_told_and_served_as_they_are_set_while_it_runs),
        cmocka_unit_test(an_exports_preference_goes_before_the_servers),
        cmocka_unit_test(a_listing_is_as_long_as_dtpref_lets_it),
        cmocka_unit_test(memory_is_bounded_as_it_is_set_while_it_runs),
        cmocka_unit_test(connections_are_bounded_as_it_is_set_while_it_runs),
        cmocka_unit_test(idle_connections_are_closed_as_it_is_set_while_it_runs),
        cmocka_unit_test(threads_follow_a_number_and_auto),
        cmocka_unit_test(each_worker_runs_on_a_cpu_of_cpu_affinity),
        cmocka_unit_test(a_thread_of_the_kernel_takes_submissions_where_sqpoll_is_set),
        cmocka_unit_test(what_the_kernel_caps_is_told_with_its_sysctl),
    };

    return live_main("knobs", tests, sizeof(tests) / sizeof(*tests));
}
