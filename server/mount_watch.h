/* server/mount_watch.h - tells when something has been mounted on this machine, or unmounted. */
#ifndef RINGNFS_SERVER_MOUNT_WATCH_H
#define RINGNFS_SERVER_MOUNT_WATCH_H

struct mount_watch;

/*
 * Watch with a thread of its own, on which changed(context) runs: once at first, and then some tens of milliseconds after
 * each change, or after several together. Returns 0 or -errno.
 */
int mount_watch_new(void (*changed)(void *context), void *context, struct mount_watch **watch);

/* When it returns, changed() is not running and will not run again. NULL is none. */
void mount_watch_free(struct mount_watch *watch);

#endif
