/*
 * server/mount_point.c - whether a file system is mounted on a directory.
 *
 * The kernel knows (Linux 5.8); before that, the directory's parent tells, as with mountd: it lies on another device, or
 * is the directory itself. That does not see a directory that is mounted once more within its own file system.
 */
#include "server/mount_point.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
differs_from_parent(int dir, const struct statx *here)
{
    struct statx parent;

    if (statx(dir, "..", 0, STATX_INO, &parent) < 0)
        return false;
    return here->stx_dev_major != parent.stx_dev_major || here->stx_dev_minor != parent.stx_dev_minor ||
           here->stx_ino == parent.stx_ino;
}

bool
mount_point_here(const char *path)
{
    int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct statx here;
    bool mounted = false;

    if (dir < 0)
        return false;
    if (statx(dir, "", AT_EMPTY_PATH, STATX_INO, &here) == 0)
        mounted = here.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT ? (here.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0
                                                                   : differs_from_parent(dir, &here);
    close(dir);
    return mounted;
}
