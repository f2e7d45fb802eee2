/*
 * server/mount_keeper.h - keeps the MOUNT list on disk: a thread that saves it some seconds after it has changed.
 *
 * What changes meanwhile goes along, so however many clients mount, one file in MOUNT_KEEPER_S seconds is written. A file
 * that is none of ours is left alone (mount_list.h): the list is in memory only, until that file is moved away.
 */
#ifndef RINGNFS_SERVER_MOUNT_KEEPER_H
#define RINGNFS_SERVER_MOUNT_KEEPER_H

#include <stdbool.h>

#include "server/log.h"
#include "server/mount_list.h"
#include "server/sandbox.h"
#include "server/state.h"

#define MOUNT_KEEPER_S 3                /* between a change and the file that has it */

struct mount_keeper;

/* Begin to keep the list, which has been loaded before. All that is given outlives the keeper. Returns 0 or -errno. */
int mount_keeper_new(struct mount_list *list, struct state *state, const struct sandbox *sandbox, const struct log *log,
                     struct mount_keeper **keeper);

/* Save now what is not saved yet; may block. What keeps it from that is told in the log, once. Any thread. */
void mount_keeper_save(struct mount_keeper *keeper);

/* End, and save what is not saved yet, if wanted. NULL is fine. */
void mount_keeper_free(struct mount_keeper *keeper, bool save);

#endif
