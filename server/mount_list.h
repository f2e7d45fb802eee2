/*
 * server/mount_list.h - who has mounted what, as far as MOUNT tells: for showmount -a and -d, and nothing else.
 *
 * Clients that vanish never say so, so the list is bounded and forgets the oldest. Any thread, but for _new and _free.
 */
#ifndef RINGNFS_SERVER_MOUNT_LIST_H
#define RINGNFS_SERVER_MOUNT_LIST_H

#include <stddef.h>

struct mount_list;
struct state;

/*
 * A list of at most max entries, with those that mount_list_save() left in the state directory, if it is there at all
 * (state may be NULL). Returns 0 or -ENOMEM.
 */
int mount_list_new(size_t max, struct state *state, struct mount_list **list);

/* Add what another server has saved since, behind what there is; failures are of no consequence. */
void mount_list_load(struct mount_list *list, struct state *state);
void mount_list_free(struct mount_list *list);

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

/* Write the list to the state directory; may block. Returns 0 or -errno. */
int mount_list_save(struct mount_list *list, struct state *state);

#endif
