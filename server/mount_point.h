/* server/mount_point.h - whether a file system is mounted on a directory. */
#ifndef RINGNFS_SERVER_MOUNT_POINT_H
#define RINGNFS_SERVER_MOUNT_POINT_H

#include <stdbool.h>

/* False, too, where the directory is not there. May block on the disk. Any thread. */
bool mount_point_here(const char *path);

#endif
