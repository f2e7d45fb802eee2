/*
 * tests/unit/test_sandbox.c - what code of an attacker's could still do in a thread of the server.
 *
 * Each attempt is made in a child process that has called the very functions that the server's threads call, with
 * everything at hand that such a thread has: descriptors of programs, of directories, a ring.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "server/sandbox.h"
#include "server/server.h"
#include "storage/cred.h"
#include "storage/engine_uring.c"        /* its ring is nobody else's business */
#include "storage/pool.h"

#define FDS_MAX 256
#define POOL_WAIT_MS 20000

static const struct log quiet = { .level = LOG_ERROR_LEVEL, .fd = STDERR_FILENO };

static struct sandbox *
new_sandbox(void)
{
    struct sandbox *sandbox;
    char error[256] = "";

    if (sandbox_new(SETTING_SANDBOX_ON, &quiet, &sandbox, error, sizeof(error)) < 0) {
        print_message("left out: %s\n", error);
        skip();
    }
    return sandbox;
}

/* Whether the attempt, made in a role, ends as it should: it returns 0, or else a number that says what went wrong. */
static void
assert_held(enum sandbox_role role, int (*attempt)(void))
{
    struct sandbox *sandbox = new_sandbox();
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0)
        _exit(sandbox_enter(sandbox, role) < 0 ? 99 : attempt());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    sandbox_free(sandbox);
}

static void
assert_held_in_all_roles(int (*attempt)(void))
{
    assert_held(SANDBOX_CALLS, attempt);
    assert_held(SANDBOX_LOOKUP, attempt);
    assert_held(SANDBOX_WRITER, attempt);
    assert_held(SANDBOX_OPERATOR, attempt);
}

static bool
refused(long result)
{
    return result < 0 && errno == EPERM;
}

static int program_fd;

static int
run_a_program(void)
{
    char *argv[] = { "true", NULL }, *none[] = { NULL };

    if (!refused(syscall(SYS_execve, "/bin/true", argv, none)))
        return 1;
    return refused(syscall(SYS_execveat, program_fd, "", argv, none, AT_EMPTY_PATH)) ? 0 : 2;
}

static void
nobody_runs_a_program(void **state)
{
    (void)state;
    program_fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    assert_true(program_fd >= 0);
    assert_held_in_all_roles(run_a_program);
    close(program_fd);
}

static int
trace_the_parent(void)
{
    char byte;
    struct iovec mine = { &byte, 1 }, theirs = { (void *)(uintptr_t)&quiet, 1 };

    if (!refused(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL)) || !refused(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL)))
        return 1;
    if (!refused(process_vm_readv(getppid(), &mine, 1, &theirs, 1, 0)))
        return 2;
    return refused(syscall(SYS_pidfd_open, getppid(), 0)) ? 0 : 3;
}

static void
nobody_traces_a_process(void **state)
{
    (void)state;
    assert_held_in_all_roles(trace_the_parent);
}

static int
change_the_system(void)
{
    if (!refused(mount("none", "/", "tmpfs", 0, NULL)) || !refused(umount("/")))
        return 1;
    if (!refused(unshare(CLONE_NEWUSER)) || !refused(unshare(CLONE_NEWNS)) || !refused(syscall(SYS_setns, 0, 0)))
        return 2;
    if (!refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL)) ||
        !refused(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)))
        return 3;
    if (!refused(syscall(SYS_init_module, NULL, 0, "")) || !refused(syscall(SYS_bpf, 0, NULL, 0)) ||
        !refused(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0)) || !refused(syscall(SYS_keyctl, 0, 0)))
        return 4;
    if (!refused(syscall(SYS_setresuid, 0, 0, 0)) || !refused(syscall(SYS_pivot_root, "/", "/")))
        return 5;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 6;
}

static void
nobody_changes_the_system(void **state)
{
    (void)state;
    assert_held_in_all_roles(change_the_system);
}

static int
reach_beyond_the_calls(void)
{
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (code != MAP_FAILED || !refused(-1))
        return 1;
    if (!refused(socket(AF_INET, SOCK_STREAM, 0)) || !refused(socket(AF_UNIX, SOCK_STREAM, 0)))
        return 2;
    if (!refused(syscall(SYS_io_uring_setup, 8, NULL)))
        return 3;
    if (!refused(syscall(SYS_open_tree, AT_FDCWD, "/", 0)) || !refused(chroot("/")) ||
        !refused(syscall(SYS_ioctl, 0, 0, 0)))
        return 4;
    return 0;
}

static void
who_acts_for_callers_makes_no_sockets_rings_or_code(void **state)
{
    (void)state;
    assert_held(SANDBOX_CALLS, reach_beyond_the_calls);
    assert_held(SANDBOX_WRITER, reach_beyond_the_calls);
}

static int
read_files_by_path(void)
{
    static const char *const paths[] = { "/etc/passwd", "/proc/self/root/etc/passwd", "/proc/1/root/etc/passwd",
                                         "../../../../../etc/passwd", "etc/passwd", "/self/root/etc/passwd" };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (open(paths[i], O_RDONLY | O_CLOEXEC) >= 0)
            return 1;
    return open("/a-new-file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ? 2 : 0;
}

static void
who_acts_for_callers_finds_no_file_by_path(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("left out: only root can move a thread's root\n");
        skip();
    }
    assert_held(SANDBOX_CALLS, read_files_by_path);
    assert_held(SANDBOX_WRITER, read_files_by_path);
}

static int
change_roles(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, caps) < 0 || (caps[0].permitted & (1u << CAP_SYS_ADMIN)) != 0)
        return 1;
    caps[0].permitted |= 1u << CAP_SYS_ADMIN | 1u << CAP_SYS_PTRACE | 1u << CAP_SYS_CHROOT;
    caps[0].effective = caps[0].permitted;
    return refused(syscall(SYS_capset, &header, caps)) ? 0 : 2;
}

static void
what_was_given_up_does_not_come_back(void **state)
{
    (void)state;
    assert_held(SANDBOX_CALLS, change_roles);
    assert_held(SANDBOX_LOOKUP, change_roles);
}

/* ---- In a server that runs ---- */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* A server over a directory, with all that the daemon has. */
static struct server *
start_server(char *dir)
{
    char line[256], state_dir[128], error[SERVER_ERROR_MAX] = "";
    const char *const lines[] = { line };
    struct server_config config = { .exports = { .lines = lines, .nlines = 1 }, .log = quiet, .control = true };
    struct settings settings;
    struct server *server;

    assert_non_null(mkdtemp(dir));
    snprintf(line, sizeof(line), "%s *(rw,insecure)", dir);
    snprintf(state_dir, sizeof(state_dir), "%s/state", dir);
    settings_init(&settings);
    settings.port = 0;
    settings.rpcbind = RPCBIND_OFF;
    settings.sandbox = SETTING_SANDBOX_ON;
    assert_int_equal(settings_set(&settings, "state_dir", state_dir, error, sizeof(error)), 0);
    config.settings = &settings;
    if (server_new(&config, &server, error, sizeof(error)) < 0)
        fail_msg("the server does not start: %s", error);
    settings_fini(&settings);
    return server;
}

static bool had[FDS_MAX];               /* descriptors that were there before the server */

static void
note_fds(void)
{
    for (int fd = 0; fd < FDS_MAX; fd++)
        had[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* From no descriptor of the server's, nor from where a thread has its root, a path leads to a file outside. */
static int
walk_out(void)
{
    static const char up[] = "../../../../../../../../etc/passwd";
    char path[128];

    for (int fd = 0; fd < FDS_MAX; fd++) {
        if (had[fd])
            continue;
        if (openat(fd, up, O_RDONLY | O_CLOEXEC) >= 0 || openat(fd, up + sizeof("../../../../../../../.."), O_RDONLY) >= 0)
            return 1;
        snprintf(path, sizeof(path), "/%d/%s", fd, up);
        if (open(path, O_RDONLY | O_CLOEXEC) >= 0)
            return 2;
        snprintf(path, sizeof(path), "%d/root/etc/passwd", fd);
        if (openat(fd, path, O_RDONLY | O_CLOEXEC) >= 0)
            return 3;
    }
    return 0;
}

static void
no_directory_that_a_server_holds_leads_out(void **state)
{
    char dir[] = "/var/tmp/ringnfs-sandbox-XXXXXX";
    struct server *server;

    (void)state;
    if (geteuid() != 0) {
        print_message("left out: only root can hold a directory that leads nowhere\n");
        skip();
    }
    sandbox_free(new_sandbox());        /* or it cannot be tried here */
    note_fds();
    server = start_server(dir);
    assert_held(SANDBOX_CALLS, walk_out);
    server_free(server);
    nftw(dir, remove_one, 8, FTW_PHYS | FTW_DEPTH);
}

static void
assert_ring_is_restricted(unsigned poll_ms)
{
    const struct engine_config config = { .type = ENGINE_URING, .ring_entries = 8, .poll_ms = poll_ms };
    static const uint8_t forbidden[] = { IORING_OP_OPENAT, IORING_OP_OPENAT2, IORING_OP_UNLINKAT, IORING_OP_RENAMEAT,
                                         IORING_OP_CONNECT, IORING_OP_ACCEPT, IORING_OP_SPLICE, IORING_OP_STATX };
    struct engine *engine;
    struct io_uring_cqe *cqe;
    struct io_uring *ring;

    cred_thread_init();
    if (engine_uring_new(&config, &engine) < 0) {
        print_message("left out: there is no io_uring here\n");
        skip();
    }
    ring = &uring_of(engine)->ring;
    for (size_t i = 0; i < sizeof(forbidden); i++) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

        io_uring_prep_openat(sqe, AT_FDCWD, "/etc/passwd", O_RDONLY, 0);
        sqe->opcode = forbidden[i];
        assert_true(io_uring_submit(ring) >= 1);         /* a polled ring counts what has not been taken yet, too */
        assert_int_equal(io_uring_wait_cqe(ring, &cqe), 0);
        assert_int_equal(cqe->res, -EACCES);
        io_uring_cqe_seen(ring, cqe);
    }
    assert_int_equal(register_in(ring, IORING_REGISTER_RESTRICTIONS, NULL, 0), -EACCES);
    assert_int_equal(register_in(ring, IORING_REGISTER_FILES, NULL, 0), -EACCES);
    assert_int_equal(register_in(ring, IORING_REGISTER_BUFFERS2, NULL, 0), -EACCES);   /* slots change, the table does not */
    assert_int_equal(register_in(ring, IORING_UNREGISTER_BUFFERS, NULL, 0), -EACCES);
    engine_free(engine);
}

static void
a_ring_does_nothing_but_read_write_and_flush(void **state)
{
    (void)state;
    assert_ring_is_restricted(0);
}

static void
a_ring_that_the_kernel_polls_does_no_more(void **state)
{
    (void)state;
    assert_ring_is_restricted(20);
}

static sem_t socket_tried;
static bool socket_refused;

static void
wait_for_the_other(struct pool_work *work)
{
    (void)work;
    while (sem_wait(&socket_tried) < 0)
        continue;
}

static void
try_socket(struct pool_work *work)
{
    (void)work;
    socket_refused = refused(socket(AF_INET, SOCK_STREAM, 0));
    sem_post(&socket_tried);
}

static void
enter_calls(void *sandbox)
{
    if (sandbox_enter(sandbox, SANDBOX_CALLS) < 0)
        _exit(98);
}

static void
enter_operator(void *sandbox)
{
    if (sandbox_enter(sandbox, SANDBOX_OPERATOR) < 0)
        _exit(97);
}

/* The only thread waits for what stands behind it: the keeper starts another one for that. */
static int
grow_a_pool(struct sandbox *sandbox)
{
    struct pool_work second = { .run = try_socket }, first = { .next = &second, .run = wait_for_the_other };
    const struct pool_config config = { .min = 1, .max = 2, .begin = enter_calls, .begin_keeper = enter_operator,
                                        .context = sandbox };
    struct pool_stats stats = { .done = 0 };
    struct pool *pool;

    if (sandbox_enter(sandbox, SANDBOX_OPERATOR) < 0 || pool_new_with(&config, &pool) < 0)
        return 99;
    pool_submit(pool, &first, &second, 2);
    for (unsigned ms = 0; stats.done < 2 && ms < POOL_WAIT_MS; ms++) {
        usleep(1000);
        pool_read_stats(pool, &stats);
    }
    return stats.done < 2 ? 2 : socket_refused ? 0 : 1;
}

static void
threads_that_a_pool_starts_by_itself_are_confined(void **state)
{
    struct sandbox *sandbox = new_sandbox();
    int status;
    pid_t child;

    (void)state;
    sem_init(&socket_tried, 0, 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(grow_a_pool(sandbox));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    sem_destroy(&socket_tried);
    sandbox_free(sandbox);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_runs_a_program),
        cmocka_unit_test(nobody_traces_a_process),
        cmocka_unit_test(nobody_changes_the_system),
        cmocka_unit_test(who_acts_for_callers_makes_no_sockets_rings_or_code),
        cmocka_unit_test(who_acts_for_callers_finds_no_file_by_path),
        cmocka_unit_test(what_was_given_up_does_not_come_back),
        cmocka_unit_test(no_directory_that_a_server_holds_leads_out),
        cmocka_unit_test(a_ring_does_nothing_but_read_write_and_flush),
        cmocka_unit_test(a_ring_that_the_kernel_polls_does_no_more),
        cmocka_unit_test(threads_that_a_pool_starts_by_itself_are_confined),
    };

    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
