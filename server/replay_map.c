/* server/replay_map.c - see replay_map.h: a hash table with chains that grows. */
#include "server/replay_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "storage/fh.h"

#define FIRST_BUCKETS 1024u
#define ENTRIES_MAX 4000000u

struct entry {
    struct entry *next;
    uint8_t recorded_len, now_len;
    uint8_t recorded[REPLAY_BYTES_MAX], now[REPLAY_BYTES_MAX];
};

struct replay_map {
    struct entry **buckets;
    size_t nbuckets;                    /* a power of two */
    size_t count;
};

static const uint8_t no_key[16];

static struct entry **
bucket_of(const struct replay_map *map, const void *bytes, size_t len)
{
    return &map->buckets[siphash(no_key, bytes, len) & (map->nbuckets - 1)];
}

int
replay_map_new(struct replay_map **out)
{
    struct replay_map *map = calloc(1, sizeof(*map));

    if (map == NULL)
        return -ENOMEM;
    map->nbuckets = FIRST_BUCKETS;
    map->buckets = calloc(map->nbuckets, sizeof(map->buckets[0]));
    if (map->buckets == NULL) {
        free(map);
        return -ENOMEM;
    }
    *out = map;
    return 0;
}

void
replay_map_free(struct replay_map *map)
{
    for (size_t i = 0; map != NULL && i < map->nbuckets; i++) {
        for (struct entry *entry = map->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    if (map != NULL)
        free(map->buckets);
    free(map);
}

static void
grow(struct replay_map *map)
{
    struct replay_map larger = { .nbuckets = 2 * map->nbuckets };

    larger.buckets = calloc(larger.nbuckets, sizeof(larger.buckets[0]));
    if (larger.buckets == NULL)
        return;                         /* chains get longer */
    for (size_t i = 0; i < map->nbuckets; i++) {
        for (struct entry *entry = map->buckets[i], *next; entry != NULL; entry = next) {
            struct entry **bucket = bucket_of(&larger, entry->recorded, entry->recorded_len);

            next = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    free(map->buckets);
    map->buckets = larger.buckets;
    map->nbuckets = larger.nbuckets;
}

static struct entry *
find(const struct replay_map *map, const void *recorded, size_t len)
{
    struct entry *entry = *bucket_of(map, recorded, len);

    while (entry != NULL && (entry->recorded_len != len || memcmp(entry->recorded, recorded, len) != 0))
        entry = entry->next;
    return entry;
}

int
replay_map_set(struct replay_map *map, const void *recorded, size_t recorded_len, const void *now, size_t now_len)
{
    struct entry *entry, **bucket;

    if (recorded_len == 0 || recorded_len > REPLAY_BYTES_MAX || now_len > REPLAY_BYTES_MAX)
        return 0;
    entry = find(map, recorded, recorded_len);
    if (entry == NULL && map->count == ENTRIES_MAX)
        return -ENOSPC;
    if (entry == NULL) {
        entry = malloc(sizeof(*entry));
        if (entry == NULL)
            return -ENOMEM;
        if (map->count++ >= map->nbuckets)
            grow(map);
        bucket = bucket_of(map, recorded, recorded_len);
        memcpy(entry->recorded, recorded, recorded_len);
        entry->recorded_len = (uint8_t)recorded_len;
        entry->next = *bucket;
        *bucket = entry;
    }
    memcpy(entry->now, now, now_len);
    entry->now_len = (uint8_t)now_len;
    return 0;
}

const uint8_t *
replay_map_get(const struct replay_map *map, const void *recorded, size_t recorded_len, size_t *now_len)
{
    const struct entry *entry = NULL;

    if (recorded_len > 0 && recorded_len <= REPLAY_BYTES_MAX)
        entry = find(map, recorded, recorded_len);
    *now_len = entry != NULL ? entry->now_len : 0;
    return entry != NULL ? entry->now : NULL;
}
