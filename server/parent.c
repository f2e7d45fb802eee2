/* server/parent.c - see parent.h. */
#include "server/parent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int
refuse(int err, pid_t pid, char *error, size_t error_size)
{
    snprintf(error, error_size, "--parent-death: process %d: %s", (int)pid,
             err == -ESRCH ? "it has ended already" : strerror(-err));
    return err;
}

int
parent_watch(pid_t pid, char *error, size_t error_size)
{
    pid_t parent = getppid();
    int fd;

    if (pid == 0 && parent == 0) {
        snprintf(error, error_size, "--parent-death: the parent cannot be seen from here (another PID namespace)");
        return -ESRCH;
    }
    fd = (int)syscall(SYS_pidfd_open, pid != 0 ? pid : parent, 0);
    if (fd < 0)
        return refuse(-errno, pid != 0 ? pid : parent, error, error_size);
    if ((pid == 0 || pid == parent) && getppid() != parent) {
        close(fd);                                       /* the number may be somebody else's by now */
        return refuse(-ESRCH, parent, error, error_size);
    }
    return fd;
}
