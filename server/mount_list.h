/*
 * server/mount_list.h - who has mounted what, as far as MOUNT tells: for showmount -a and -d, and nothing else.
 *
 * Clients that vanish never say so, so the list is bounded and forgets the oldest. Any thread, but for _new and _free.
 */
#ifndef RINGNFS_SERVER_MOUNT_LIST_H
#define RINGNFS_SERVER_MOUNT_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct mount_list;
struct state;

/* An empty list of at most max entries. Returns 0 or -ENOMEM. */
int mount_list_new(size_t max, struct mount_list **list);
void mount_list_free(struct mount_list *list);

/* Call changed(context) whenever a list that is saved becomes another one, with the list locked. */
void mount_list_on_change(struct mount_list *list, void (*changed)(void *context), void *context);

/* Note that a host has mounted a path: one entry for each pair, and it becomes the newest. Paths have no NUL. */
void mount_list_add(struct mount_list *list, const char *host, const char *path, size_t path_len);

/* Forget one of a host's mounts, or all of them. */
void mount_list_remove(struct mount_list *list, const char *host, const char *path, size_t path_len);
void mount_list_remove_host(struct mount_list *list, const char *host);

/* Call each(context, ...) for all entries, oldest first, with the list locked. */
void mount_list_walk(struct mount_list *list,
                     void (*each)(void *context, const char *host, const char *path, size_t path_len), void *context);

/* How many entries there are. */
size_t mount_list_count(struct mount_list *list);

/* Whether it has been changed since it was saved, or made. */
bool mount_list_is_unsaved(struct mount_list *list);

/*
 * Write the list to the state directory, in the place of one that mount_list_save() has left there; of a list of more than
 * 64 MiB the newest entries. May block. Returns 0, or -errno with error, one line: as below, and then nothing there is
 * touched. One thread at a time.
 */
int mount_list_save(struct mount_list *list, struct state *state, char *error, size_t error_size);

/*
 * Add what mount_list_save() has left in the state directory, behind what there is. Returns 0, also when nothing is there,
 * or -errno with error, one line that names the file: -EBADMSG for one that is torn, or no list, -EPERM for one that is not
 * ours alone.
 */
int mount_list_load(struct mount_list *list, struct state *state, char *error, size_t error_size);

#endif
