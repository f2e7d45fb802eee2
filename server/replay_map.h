/*
 * server/replay_map.h - what stands now for something that was recorded: bytes for bytes, handles and verifiers.
 */
#ifndef RINGNFS_SERVER_REPLAY_MAP_H
#define RINGNFS_SERVER_REPLAY_MAP_H

#include <stddef.h>
#include <stdint.h>

#define REPLAY_BYTES_MAX 64             /* of one */

struct replay_map;

/* Returns 0 or -ENOMEM. */
int replay_map_new(struct replay_map **map);
void replay_map_free(struct replay_map *map);

/* Put `now` in place of what stood for `recorded`. Returns 0, -ENOMEM, or -ENOSPC when there are too many. */
int replay_map_set(struct replay_map *map, const void *recorded, size_t recorded_len, const void *now, size_t now_len);

/* NULL: there is nothing. */
const uint8_t *replay_map_get(const struct replay_map *map, const void *recorded, size_t recorded_len, size_t *now_len);

#endif
