/*
 * storage/cred.c - switching a thread's rights (setfsuid(2), setfsgid(2), setgroups(2), capset(2)).
 *
 * glibc's setgroups() would switch every thread of the process, so the system call is made directly. setfsuid() takes
 * the file system capabilities away with root and gives them back with it (capabilities(7)); CAP_SYS_RESOURCE is ours to
 * drop and to raise. What a thread acts as is remembered in thread-local variables: a property of the thread, not of a
 * server.
 */
#include "storage/cred.h"

#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REMEMBERED_GROUPS 32            /* longer lists are switched each time */
#define NOBODY 65534                    /* for ids that this user namespace does not have */

struct thread_identity {
    enum cred_mode mode;
    bool is_process;                    /* acts as the process itself */
    uid_t uid;
    gid_t gid;
    uint32_t ngroups;                   /* UINT32_MAX: not remembered */
    gid_t groups[REMEMBERED_GROUPS];
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];      /* as root */
    gid_t own_groups[REMEMBERED_GROUPS];
    gid_t own_gid;
    int own_ngroups;
};

static __thread struct thread_identity self = { .mode = CRED_SELF, .is_process = true };

static const unsigned needed_caps[] = {
    CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID, CAP_SETUID, CAP_SETGID
};

static void
set_capabilities(bool root)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, caps) < 0)
        return;
    if (root)
        memcpy(caps, self.caps, sizeof(caps));
    else
        caps[CAP_TO_INDEX(CAP_SYS_RESOURCE)].effective &= ~CAP_TO_MASK(CAP_SYS_RESOURCE);
    syscall(SYS_capset, &header, caps);
}

/*
 * setfsuid(2) does not fail: an id that has no place in this user namespace leaves the thread with the rights it had,
 * root's maybe. Who has such an id is nobody here.
 */
static bool
set_fsuid(uid_t uid)
{
    setfsuid(uid);
    return (uid_t)setfsuid((uid_t)-1) == uid;
}

static bool
set_fsgid(gid_t gid)
{
    setfsgid(gid);
    return (gid_t)setfsgid((gid_t)-1) == gid;
}

/* Whether there is a nobody to turn to, and groups can be set at all (user_namespaces(7)). */
static bool
can_switch(void)
{
    gid_t groups[REMEMBERED_GROUPS];
    long n = syscall(SYS_getgroups, REMEMBERED_GROUPS, groups);
    uid_t uid = (uid_t)setfsuid((uid_t)-1);
    gid_t gid = (gid_t)setfsgid((gid_t)-1);
    bool can = (n < 0 || syscall(SYS_setgroups, (size_t)n, groups) == 0) && set_fsgid(NOBODY) && set_fsuid(NOBODY);

    set_fsuid(uid);
    set_fsgid(gid);
    return can;
}

/* The thread's capabilities, and whether they are enough to act for others. */
static enum cred_mode
read_mode(struct __user_cap_data_struct *caps)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

    if (geteuid() != 0 || syscall(SYS_capget, &header, caps) < 0)
        return CRED_SELF;
    for (size_t i = 0; i < sizeof(needed_caps) / sizeof(needed_caps[0]); i++) {
        unsigned cap = needed_caps[i];

        if (!(caps[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap)))
            return CRED_SELF;
    }
    return can_switch() ? CRED_SWITCH : CRED_SELF;
}

enum cred_mode
cred_process_mode(void)
{
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

    return read_mode(caps);
}

enum cred_mode
cred_thread_init(void)
{
    if (unshare(CLONE_FS) == 0)
        umask(0);
    memset(&self, 0, sizeof(self));
    self.is_process = true;
    self.mode = read_mode(self.caps);
    if (self.mode == CRED_SWITCH) {
        self.own_gid = getegid();
        self.own_ngroups = (int)syscall(SYS_getgroups, REMEMBERED_GROUPS, self.own_groups);
        if (self.own_ngroups < 0)
            self.own_ngroups = 0;
    }
    return self.mode;
}

enum cred_mode
cred_mode(void)
{
    return self.mode;
}

static bool
remembered(const struct store_cred *cred)
{
    return !self.is_process && self.uid == cred->uid && self.gid == cred->gid && self.ngroups == cred->ngroups &&
           (cred->ngroups == 0 || memcmp(self.groups, cred->groups, cred->ngroups * sizeof(gid_t)) == 0);
}

/*
 * From one identity to another; root's file system capabilities come and go with fsuid 0. Each system call makes the
 * kernel copy credentials and free the old ones later, thousands at once: what stays as it is is not set.
 */
static void
become(uid_t uid, gid_t gid, uint32_t ngroups, const gid_t *groups)
{
    uid_t was_uid = self.is_process ? 0 : self.uid;
    gid_t was_gid = self.is_process ? self.own_gid : self.gid;

    if (syscall(SYS_setgroups, (size_t)ngroups, groups) < 0)
        syscall(SYS_setgroups, (size_t)0, NULL);        /* rather none than those of the caller before */
    if (gid != was_gid && !set_fsgid(gid)) {
        gid = NOBODY;
        set_fsgid(gid);
    }
    if (uid != was_uid && !set_fsuid(uid)) {
        uid = NOBODY;
        set_fsuid(uid);
    }
    if ((was_uid == 0) != (uid == 0))
        set_capabilities(uid == 0);
    self.uid = uid;
    self.gid = gid;
    self.ngroups = UINT32_MAX;
    if (ngroups <= REMEMBERED_GROUPS) {
        self.ngroups = ngroups;
        if (ngroups > 0)
            memcpy(self.groups, groups, ngroups * sizeof(gid_t));
    }
}

void
cred_assume(const struct store_cred *cred)
{
    if (self.mode == CRED_SELF || remembered(cred))
        return;
    become(cred->uid, cred->gid, cred->ngroups, cred->groups);
    self.is_process = false;
}

void
cred_revert(void)
{
    if (self.mode == CRED_SELF || self.is_process)
        return;
    become(0, self.own_gid, (uint32_t)self.own_ngroups, self.own_groups);
    self.is_process = true;
}

bool
cred_is_root(const struct store_cred *cred)
{
    return cred->uid == 0;
}

bool
cred_in_group(const struct store_cred *cred, gid_t gid)
{
    if (cred->gid == gid)
        return true;
    for (uint32_t i = 0; i < cred->ngroups; i++) {
        if (cred->groups[i] == gid)
            return true;
    }
    return false;
}
