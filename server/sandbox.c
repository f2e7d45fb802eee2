/*
 * server/sandbox.c - capabilities, the place that paths begin in, and the filters of sandbox_filter.c.
 *
 * All of it belongs to a thread, not to the process: capabilities and filters always, the root directory once the thread
 * has a file system context of its own (unshare(CLONE_FS)).
 */
#include "server/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "server/sandbox_filter.h"

#define CAP(name) (UINT64_C(1) << CAP_##name)

/* What acting for callers takes; doc/man/ringnfsd.8.in has the reasons. */
#define CALLS_CAPS (CAP(CHOWN) | CAP(DAC_OVERRIDE) | CAP(DAC_READ_SEARCH) | CAP(FOWNER) | CAP(FSETID) | CAP(SETUID) | \
                    CAP(SETGID) | CAP(MKNOD) | CAP(SYS_RESOURCE))

static const uint64_t kept_caps[SANDBOX_ROLES] = {
    [SANDBOX_CALLS] = CALLS_CAPS,
    [SANDBOX_LOOKUP] = CAP(DAC_READ_SEARCH),
    [SANDBOX_WRITER] = 0,
    [SANDBOX_OPERATOR] = CALLS_CAPS | CAP(SYS_ADMIN) | CAP(SYS_CHROOT) | CAP(NET_BIND_SERVICE),
};

/* Where threads that act for callers have their root: what is in it they can reach anyhow. */
static const char jail[] = "/proc/self/fd";

struct sandbox {
    bool strict;                        /* what cannot be had is an error */
    bool filtered;
    struct sandbox_filter filters[SANDBOX_ROLES];
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

static uint64_t
read_caps(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, caps) < 0)
        return 0;
    return caps[0].permitted | (uint64_t)caps[1].permitted << 32;
}

/* Have these of what there is, and nothing else ever again. */
static int
keep_caps(uint64_t kept)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    kept &= read_caps();
    for (unsigned cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
        if ((kept & UINT64_C(1) << cap) == 0)
            prctl(PR_CAPBSET_DROP, cap);                /* only root can; nobody else would gain any */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    caps[0].permitted = caps[0].effective = (uint32_t)kept;
    caps[1].permitted = caps[1].effective = (uint32_t)(kept >> 32);
    return syscall(SYS_capset, &header, caps) < 0 ? -errno : 0;
}

/* Paths begin in a place with nothing in it. Only a privileged thread can have that. */
static int
enter_jail(void)
{
    if ((read_caps() & CAP(SYS_CHROOT)) == 0)
        return 0;
    return unshare(CLONE_FS) < 0 || chroot(jail) < 0 || chdir("/") < 0 ? -errno : 0;
}

static int
make_filters(struct sandbox *sandbox)
{
    int err = 0;

    for (unsigned role = 0; role < SANDBOX_ROLES && err == 0; role++)
        err = sandbox_filter_make((enum sandbox_role)role, &sandbox->filters[role]);
    sandbox->filtered = err == 0;
    return err;
}

static int
enter_place(enum sandbox_role role)
{
    int err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0, kept;

    if (err == 0 && (role == SANDBOX_CALLS || role == SANDBOX_WRITER))
        err = enter_jail();
    kept = keep_caps(kept_caps[role]);
    return err == 0 ? kept : err;
}

/* A role, tried by a thread that ends with that. */
struct trial {
    const struct sandbox *sandbox;
    enum sandbox_role role;
    int err;
};

static void *
try_role(void *arg)
{
    struct trial *trial = arg;

    trial->err = enter_place(trial->role);
    if (trial->err == 0 && trial->sandbox->filtered)
        trial->err = sandbox_filter_load(&trial->sandbox->filters[trial->role]);
    return NULL;
}

static int
try_all_roles(const struct sandbox *sandbox)
{
    int err = 0;

    for (unsigned role = 0; role < SANDBOX_ROLES && err == 0; role++) {
        struct trial trial = { .sandbox = sandbox, .role = (enum sandbox_role)role };
        pthread_t thread;

        err = -pthread_create(&thread, NULL, try_role, &trial);
        if (err == 0)
            pthread_join(thread, NULL);
        if (err == 0)
            err = trial.err;
    }
    return err;
}

/* With ON an error, with AUTO a warning. */
static int
lacks(const struct sandbox *sandbox, const struct log *log, int err, const char *what, char *error, size_t error_size)
{
    const char *why = err == -ENOSYS ? "this build has no libseccomp, or this kernel no seccomp(2)" : strerror(-err);

    if (sandbox->strict) {
        snprintf(error, error_size, "sandbox: %s: %s", what, why);
        return err;
    }
    log_warn(log, "the sandbox is not whole: %s: %s", what, why);
    return 0;
}

int
sandbox_new(enum setting_sandbox mode, const struct log *log, struct sandbox **out, char *error, size_t error_size)
{
    struct sandbox *sandbox;
    int err;

    *out = NULL;
    if (mode == SETTING_SANDBOX_OFF || (mode == SETTING_SANDBOX_AUTO && SANITIZED))
        return 0;
    sandbox = calloc(1, sizeof(*sandbox));
    if (sandbox == NULL) {
        snprintf(error, error_size, "sandbox: out of memory");
        return -ENOMEM;
    }
    sandbox->strict = mode == SETTING_SANDBOX_ON;
    err = make_filters(sandbox);
    if (err < 0)
        err = lacks(sandbox, log, err, "no filter of system calls", error, error_size);
    if (err == 0) {
        err = try_all_roles(sandbox);
        if (err < 0)
            err = lacks(sandbox, log, err, "a thread cannot give up what it does not need", error, error_size);
    }
    if (err < 0) {
        sandbox_free(sandbox);
        return err;
    }
    *out = sandbox;
    return 0;
}

void
sandbox_free(struct sandbox *sandbox)
{
    if (sandbox == NULL)
        return;
    for (unsigned role = 0; role < SANDBOX_ROLES; role++)
        sandbox_filter_fini(&sandbox->filters[role]);
    free(sandbox);
}

int
sandbox_enter_place(const struct sandbox *sandbox, enum sandbox_role role)
{
    int err;

    if (sandbox == NULL)
        return 0;
    err = enter_place(role);
    return sandbox->strict ? err : 0;
}

int
sandbox_enter_filter(const struct sandbox *sandbox, enum sandbox_role role)
{
    int err;

    if (sandbox == NULL || !sandbox->filtered)
        return 0;
    err = sandbox_filter_load(&sandbox->filters[role]);
    return sandbox->strict ? err : 0;
}

int
sandbox_enter(const struct sandbox *sandbox, enum sandbox_role role)
{
    int err = sandbox_enter_place(sandbox, role);

    return err < 0 ? err : sandbox_enter_filter(sandbox, role);
}

int
sandbox_open_dir(const char *path)
{
    int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), fd, err;

    fd = tree < 0 ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                  : openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    err = -errno;
    if (tree >= 0)
        close(tree);
    return fd < 0 ? err : fd;
}
