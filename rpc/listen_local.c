/* rpc/listen_local.c - see listen_local.h. */
#include "rpc/listen_local.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCAL_MODE 0600

static const char *
path_of(const struct sockaddr_storage *address)
{
    return ((const struct sockaddr_un *)address)->sun_path;
}

static bool
is_listened_on(const struct sockaddr_storage *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool answered = fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(struct sockaddr_un)) == 0 ||
                                errno != ECONNREFUSED);

    if (fd >= 0)
        close(fd);
    return answered;
}

/* Something is there already. Returns 0 when it was a dead socket and is gone. */
static int
remove_stale(const struct sockaddr_storage *address)
{
    struct stat st;

    if (lstat(path_of(address), &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;
    if (is_listened_on(address))
        return -EADDRINUSE;
    return unlink(path_of(address)) == 0 || errno == ENOENT ? 0 : -errno;
}

/* The mode is the socket's before it has a name, so nobody gets in between. */
static int
bind_private(int fd, const struct sockaddr_storage *address)
{
    if (fchmod(fd, LOCAL_MODE) < 0 || bind(fd, (const struct sockaddr *)address, sizeof(struct sockaddr_un)) < 0)
        return -errno;
    return 0;
}

int
listen_local_open(const struct sockaddr_storage *address, int backlog, struct listen_socket *made)
{
    struct stat st;
    int err, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    err = bind_private(fd, address);
    if (err == -EADDRINUSE) {
        err = remove_stale(address);
        if (err == 0)
            err = bind_private(fd, address);
    }
    if (err == 0 && (lstat(path_of(address), &st) < 0 || listen(fd, backlog) < 0)) {
        err = -errno;
        unlink(path_of(address));
    }
    if (err < 0) {
        close(fd);
        return err;
    }
    *made = (struct listen_socket){ .fd = fd, .type = SOCK_STREAM, .address = *address, .dev = st.st_dev,
                                    .ino = st.st_ino };
    return 0;
}

void
listen_local_remove(const struct listen_socket *socket)
{
    struct stat st;

    if (lstat(path_of(&socket->address), &st) == 0 && st.st_dev == socket->dev && st.st_ino == socket->ino)
        unlink(path_of(&socket->address));
}
