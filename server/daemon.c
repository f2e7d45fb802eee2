/* server/daemon.c - see daemon.h. */
#include "server/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void
wait_for_child(pid_t child, int fd)
{
    char byte;
    ssize_t n;
    int status;

    do
        n = read(fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        _exit(EXIT_SUCCESS);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            _exit(EXIT_FAILURE);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

int
daemon_begin(void)
{
    int ends[2], err;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    child = fork();
    if (child < 0) {
        err = -errno;
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    if (child > 0) {
        close(ends[1]);
        wait_for_child(child, ends[0]);
    }
    close(ends[0]);
    return ends[1];
}

static int
leave_streams(void)
{
    struct stat st;
    bool keep_error = fstat(STDERR_FILENO, &st) == 0 && (S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), err = 0;

    if (null < 0)
        return -errno;
    if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        (!keep_error && dup2(null, STDERR_FILENO) < 0))
        err = -errno;
    if (null > STDERR_FILENO)
        close(null);
    return err;
}

int
daemon_ready(int fd)
{
    int err;

    if (setsid() < 0 || chdir("/") < 0)
        return -errno;
    err = leave_streams();
    if (err < 0)
        return err;
    while (write(fd, "", 1) < 0)                         /* a parent that has been killed is no reason to stop */
        if (errno != EINTR)
            break;
    close(fd);
    return 0;
}
