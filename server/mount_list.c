/*
 * server/mount_list.c - the MOUNT list: a bounded queue with two tables to find entries by, their host and path together
 * and their host alone, so that no call goes through all of it; and a file "mounts" of records "HOST PATH", each with a
 * NUL behind it.
 */
#include "server/mount_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "server/state.h"
#include "storage/fh.h"

#define FILE_NAME "mounts"
#define FILE_MAX ((size_t)64 << 20)     /* bytes that are read of it */

struct entry {
    TAILQ_ENTRY(entry) all;
    LIST_ENTRY(entry) same_mount;       /* in the bucket of its host and path */
    LIST_ENTRY(entry) same_host;        /* in that of its host */
    size_t host_len, path_len;
    char text[];                        /* host, NUL, path, NUL */
};

struct mount_list {
    pthread_mutex_t lock;
    size_t max;
    size_t count;
    TAILQ_HEAD(, entry) entries;        /* oldest first */
    uint8_t key[16];                    /* of the hash: nobody outside can choose who shares a bucket */
    size_t nbuckets;                    /* a power of two */
    LIST_HEAD(bucket, entry) *by_mount, *by_host;
};

static const char *
entry_host(const struct entry *entry)
{
    return entry->text;
}

static const char *
entry_path(const struct entry *entry)
{
    return entry->text + entry->host_len + 1;
}

static struct entry *
entry_new(const char *host, size_t host_len, const char *path, size_t path_len)
{
    struct entry *entry = malloc(sizeof(*entry) + host_len + path_len + 2);

    if (entry == NULL)
        return NULL;
    entry->host_len = host_len;
    entry->path_len = path_len;
    memcpy(entry->text, host, host_len);
    entry->text[host_len] = '\0';
    memcpy(entry->text + host_len + 1, path, path_len);
    entry->text[host_len + 1 + path_len] = '\0';
    return entry;
}

static struct bucket *
host_bucket(const struct mount_list *list, const char *host)
{
    return &list->by_host[siphash(list->key, host, strlen(host)) & (list->nbuckets - 1)];
}

static struct bucket *
mount_bucket(const struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    uint64_t hash = siphash(list->key, host, strlen(host)) * 31 + siphash(list->key, path, path_len);

    return &list->by_mount[hash & (list->nbuckets - 1)];
}

static void
drop(struct mount_list *list, struct entry *entry)
{
    TAILQ_REMOVE(&list->entries, entry, all);
    LIST_REMOVE(entry, same_mount);
    LIST_REMOVE(entry, same_host);
    list->count--;
    free(entry);
}

/* Drop the host's mount of a path: there is one entry at most. */
static void
drop_mount(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    struct entry *entry;

    LIST_FOREACH(entry, mount_bucket(list, host, path, path_len), same_mount) {
        if (strcmp(entry_host(entry), host) == 0 && entry->path_len == path_len &&
            memcmp(entry_path(entry), path, path_len) == 0) {
            drop(list, entry);
            return;
        }
    }
}

static void
drop_host(struct mount_list *list, const char *host)
{
    struct entry *entry, *next;

    for (entry = LIST_FIRST(host_bucket(list, host)); entry != NULL; entry = next) {
        next = LIST_NEXT(entry, same_host);
        if (strcmp(entry_host(entry), host) == 0)
            drop(list, entry);
    }
}

static void
append(struct mount_list *list, struct entry *entry)
{
    TAILQ_INSERT_TAIL(&list->entries, entry, all);
    LIST_INSERT_HEAD(mount_bucket(list, entry_host(entry), entry_path(entry), entry->path_len), entry, same_mount);
    LIST_INSERT_HEAD(host_bucket(list, entry_host(entry)), entry, same_host);
    list->count++;
    while (list->count > list->max)
        drop(list, TAILQ_FIRST(&list->entries));
}

/* Records that are none are skipped: the list is a courtesy. */
static void
load(struct mount_list *list, const char *data, size_t len)
{
    const char *end = data + len;
    const char *stop;

    for (; data < end; data = stop + 1) {
        const char *space = memchr(data, ' ', (size_t)(end - data));
        struct entry *entry;

        stop = memchr(data, '\0', (size_t)(end - data));
        if (stop == NULL)
            return;
        if (space == NULL || space >= stop)
            continue;
        entry = entry_new(data, (size_t)(space - data), space + 1, (size_t)(stop - space - 1));
        if (entry == NULL)
            continue;
        drop_mount(list, entry_host(entry), entry_path(entry), entry->path_len);
        append(list, entry);
    }
}

void
mount_list_load(struct mount_list *list, struct state *state)
{
    void *data;
    size_t len;

    if (state_read_file(state, FILE_NAME, FILE_MAX, &data, &len) < 0)
        return;
    pthread_mutex_lock(&list->lock);
    load(list, data, len);
    pthread_mutex_unlock(&list->lock);
    free(data);
}

int
mount_list_new(size_t max, struct state *state, struct mount_list **out)
{
    struct mount_list *list = calloc(1, sizeof(*list));

    if (list == NULL)
        return -ENOMEM;
    pthread_mutex_init(&list->lock, NULL);
    list->max = max;
    TAILQ_INIT(&list->entries);
    for (list->nbuckets = 1; list->nbuckets < max;)
        list->nbuckets *= 2;
    list->by_mount = calloc(list->nbuckets, sizeof(list->by_mount[0]));
    list->by_host = calloc(list->nbuckets, sizeof(list->by_host[0]));
    if (list->by_mount == NULL || list->by_host == NULL ||
        getrandom(list->key, sizeof(list->key), 0) != sizeof(list->key)) {
        mount_list_free(list);
        return -ENOMEM;
    }
    if (state != NULL)
        mount_list_load(list, state);
    *out = list;
    return 0;
}

void
mount_list_free(struct mount_list *list)
{
    if (list == NULL)
        return;
    while (!TAILQ_EMPTY(&list->entries))
        drop(list, TAILQ_FIRST(&list->entries));
    pthread_mutex_destroy(&list->lock);
    free(list->by_mount);
    free(list->by_host);
    free(list);
}

void
mount_list_add(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    struct entry *entry = entry_new(host, strlen(host), path, path_len);

    if (entry == NULL)
        return;
    pthread_mutex_lock(&list->lock);
    drop_mount(list, host, path, path_len);
    append(list, entry);
    pthread_mutex_unlock(&list->lock);
}

void
mount_list_remove(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    pthread_mutex_lock(&list->lock);
    drop_mount(list, host, path, path_len);
    pthread_mutex_unlock(&list->lock);
}

void
mount_list_remove_host(struct mount_list *list, const char *host)
{
    pthread_mutex_lock(&list->lock);
    drop_host(list, host);
    pthread_mutex_unlock(&list->lock);
}

void
mount_list_walk(struct mount_list *list,
                void (*each)(void *context, const char *host, const char *path, size_t path_len), void *context)
{
    const struct entry *entry;

    pthread_mutex_lock(&list->lock);
    TAILQ_FOREACH(entry, &list->entries, all)
        each(context, entry_host(entry), entry_path(entry), entry->path_len);
    pthread_mutex_unlock(&list->lock);
}

size_t
mount_list_count(struct mount_list *list)
{
    size_t count;

    pthread_mutex_lock(&list->lock);
    count = list->count;
    pthread_mutex_unlock(&list->lock);
    return count;
}

static void
write_record(void *context, const char *host, const char *path, size_t path_len)
{
    FILE *out = context;

    fprintf(out, "%s ", host);
    fwrite(path, 1, path_len, out);
    fputc('\0', out);
}

int
mount_list_save(struct mount_list *list, struct state *state)
{
    char *data = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&data, &len);
    int err;

    if (out == NULL)
        return -errno;
    mount_list_walk(list, write_record, out);
    err = fclose(out) == 0 ? state_write_file(state, FILE_NAME, data, len) : -ENOMEM;
    free(data);
    return err;
}
