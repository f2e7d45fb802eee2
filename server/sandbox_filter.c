/*
 * server/sandbox_filter.c - tables of system calls, and the filters that libseccomp makes of them.
 *
 * A call that is in none of a role's tables fails with EPERM. Names that an architecture or an older libseccomp does not
 * know are left out. clone3(2) cannot be looked into and is "not there" (ENOSYS): libc then uses clone(2), which can.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "server/sandbox_filter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>

/* What every thread does: memory, waiting, time, descriptors that are open. */
static const char *const everybody[] = {
    "brk", "mremap", "munmap", "madvise", "membarrier", "rseq",
    "futex", "futex_time64", "futex_waitv", "futex_wake", "futex_wait", "set_robust_list", "get_robust_list",
    "set_tid_address", "sched_yield", "sched_getaffinity", "exit", "exit_group", "restart_syscall", "prctl", "arch_prctl",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigpending", "rt_sigtimedwait",
    "rt_sigtimedwait_time64", "sigaltstack", "sigreturn", "tgkill", "tkill",
    "clock_gettime", "clock_gettime64", "clock_getres", "clock_nanosleep", "clock_nanosleep_time64", "gettimeofday",
    "getrusage", "nanosleep", "time", "getrandom", "getpid", "gettid", "getppid",
    "getuid", "geteuid", "getgid", "getegid", "getuid32", "geteuid32", "getgid32", "getegid32", "getresuid", "getresgid", "getgroups", "getgroups32", "uname", "sysinfo",
    "getrlimit", "ugetrlimit", "prlimit64", "getcwd", "umask", "capget", "capset",
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2", "close",
    "close_range", "dup", "dup2", "dup3", "fcntl", "fcntl64", "lseek", "_llseek", "fstat", "fstat64", "newfstatat",
    "fstatat64", "statx", "stat", "stat64", "lstat", "lstat64", "pipe", "pipe2", "eventfd", "eventfd2", "epoll_create",
    "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_wait", "epoll_pwait", "epoll_pwait2", "timerfd_create",
    "timerfd_settime", "timerfd_settime64", "poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6",
    "pselect6_time64",
    "open", "openat", "openat2", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents64", "statfs",
    "statfs64", "fstatfs", "fstatfs64", "fadvise64", "fadvise64_64", "flock",
    "recv", "recvfrom", "recvmsg", "recvmmsg", "recvmmsg_time64", "send", "sendto", "sendmsg", "sendmmsg", "getsockopt",
    "setsockopt", "getsockname", "getpeername", "shutdown", "accept", "accept4",
    NULL
};

/* What changes files, and acts as another user. */
static const char *const calls[] = {
    "ftruncate", "ftruncate64", "fallocate", "fsync", "fdatasync", "sync_file_range", "syncfs", "readahead", "cachestat",
    "copy_file_range", "splice", "tee", "vmsplice", "sendfile", "sendfile64",
    "name_to_handle_at", "open_by_handle_at", "mkdirat", "mknodat", "unlinkat", "symlinkat", "linkat", "renameat",
    "renameat2", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchown32", "fchownat", "utimensat", "utimensat_time64",
    "fgetxattr", "fsetxattr", "flistxattr", "fremovexattr", "getxattr", "setxattr", "listxattr", "removexattr",
    "lgetxattr", "lsetxattr", "llistxattr", "lremovexattr",
    "setfsuid", "setfsuid32", "setfsgid", "setfsgid32", "setgroups", "setgroups32",
    "io_uring_enter", "io_uring_register",
    NULL
};

/* What shortens a file that is open, and what puts a new one in the place of another. */
static const char *const writes[] = {
    "ftruncate", "ftruncate64", "fsync", "renameat", "renameat2", "unlinkat",
    NULL
};

/* What asks name servers and directory services. */
static const char *const lookups[] = {
    "socketpair", "connect", "bind", "ioctl", "getdents", "memfd_create",
    NULL
};

/* What starts and ends a server, and gives its threads their roles. */
static const char *const operations[] = {
    "listen", "chdir", "fchdir", "chroot", "seccomp", "open_tree", "io_uring_setup", "setsid", "kill", "sched_setaffinity",
    "mkdir", "chmod", "rename", "unlink", "rmdir", "setrlimit",
    NULL
};

/* What each role has besides what everybody has. */
static const struct {
    const char *const *tables[3];
    bool sockets;                       /* may be made */
    bool code;                          /* may be loaded: libc's modules for name services */
} roles[SANDBOX_ROLES] = {
    [SANDBOX_CALLS]    = { .tables = { calls } },
    [SANDBOX_LOOKUP]   = { .tables = { lookups }, .sockets = true, .code = true },
    [SANDBOX_WRITER]   = { .tables = { writes } },
    [SANDBOX_OPERATOR] = { .tables = { calls, lookups, operations }, .sockets = true, .code = true },
};

#ifdef __s390__
#define CLONE_FLAGS SCMP_A1
#else
#define CLONE_FLAGS SCMP_A0
#endif
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
                    CLONE_NEWNET)

/* Allow a call by name, where there is one; 0 conditions: always. */
static int
allow(scmp_filter_ctx ctx, const char *name, unsigned n, const struct scmp_arg_cmp *conditions)
{
    int number = seccomp_syscall_resolve_name(name);

    if (number == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, number, n, conditions);
}

static int
allow_table(scmp_filter_ctx ctx, const char *const *table)
{
    int err = 0;

    for (; table != NULL && *table != NULL && err == 0; table++)
        err = allow(ctx, *table, 0, NULL);
    return err;
}

/* Threads, but no processes and no namespaces; a file system context of one's own. */
static int
allow_threads(scmp_filter_ctx ctx)
{
    const struct scmp_arg_cmp thread = CLONE_FLAGS(SCMP_CMP_MASKED_EQ, CLONE_THREAD | NAMESPACES, CLONE_THREAD);
    const struct scmp_arg_cmp own_fs = SCMP_A0(SCMP_CMP_EQ, CLONE_FS, 0);
    int err = allow(ctx, "clone", 1, &thread);

    if (err == 0)
        err = allow(ctx, "unshare", 1, &own_fs);
    if (err == 0)
        err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return err;
}

static int
allow_memory(scmp_filter_ctx ctx, bool code)
{
    static const char *const names[] = { "mmap", "mmap2", "mprotect" };
    const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    int err = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && err == 0; i++)
        err = allow(ctx, names[i], code ? 0 : 1, &no_code);
    return err;
}

static int
allow_sockets(scmp_filter_ctx ctx)
{
    static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
    int err = 0;

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && err == 0; i++) {
        const struct scmp_arg_cmp family = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0);

        err = allow(ctx, "socket", 1, &family);
    }
    return err;
}

static int
add_rules(scmp_filter_ctx ctx, enum sandbox_role role)
{
    int err = allow_table(ctx, everybody);

    for (size_t i = 0; i < sizeof(roles[role].tables) / sizeof(roles[role].tables[0]) && err == 0; i++)
        err = allow_table(ctx, roles[role].tables[i]);
    if (err == 0)
        err = allow_threads(ctx);
    if (err == 0)
        err = allow_memory(ctx, roles[role].code);
    if (err == 0 && roles[role].sockets)
        err = allow_sockets(ctx);
    return err;
}

/* What libseccomp would load, as a program of our own: any number of threads may load that at once. */
static int
export_program(scmp_filter_ctx ctx, struct sock_fprog *program)
{
    int fd = memfd_create("seccomp", MFD_CLOEXEC), err;
    struct stat st;

    if (fd < 0)
        return -errno;
    err = seccomp_export_bpf(ctx, fd);
    if (err == 0 && fstat(fd, &st) < 0)
        err = -errno;
    if (err == 0) {
        program->filter = malloc((size_t)st.st_size);
        program->len = (unsigned short)((size_t)st.st_size / sizeof(*program->filter));
        if (program->filter == NULL)
            err = -ENOMEM;
        else if (pread(fd, program->filter, (size_t)st.st_size, 0) != st.st_size)
            err = -EIO;
    }
    close(fd);
    return err;
}

int
sandbox_filter_make(enum sandbox_role role, struct sandbox_filter *filter)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int err;

    memset(filter, 0, sizeof(*filter));
    if (ctx == NULL)
        return -ENOMEM;
    seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree; older ones search from the beginning */
    err = add_rules(ctx, role);
    if (err == 0)
        err = export_program(ctx, &filter->program);
    seccomp_release(ctx);
    if (err < 0)
        sandbox_filter_fini(filter);
    return err;
}

#else

int
sandbox_filter_make(enum sandbox_role role, struct sandbox_filter *filter)
{
    (void)role;
    memset(filter, 0, sizeof(*filter));
    return -ENOSYS;
}

#endif

void
sandbox_filter_fini(struct sandbox_filter *filter)
{
    free(filter->program.filter);
    filter->program.filter = NULL;
}

/* SPEC_ALLOW: the filter is here for calls, not for speculation, and older kernels would slow the thread down. */
int
sandbox_filter_load(const struct sandbox_filter *filter)
{
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter->program) < 0)
        return -errno;
    return 0;
}
