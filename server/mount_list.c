/*
 * server/mount_list.c - the MOUNT list: a bounded queue, and a file "mounts" of records "HOST PATH", each with a NUL
 * behind it.
 */
#include "server/mount_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "server/state.h"

#define FILE_NAME "mounts"
#define FILE_MAX ((size_t)64 << 20)     /* bytes that are read of it */

struct entry {
    TAILQ_ENTRY(entry) all;
    size_t host_len, path_len;
    char text[];                        /* host, NUL, path, NUL */
};

struct mount_list {
    pthread_mutex_t lock;
    size_t max;
    size_t count;
    TAILQ_HEAD(, entry) entries;        /* oldest first */
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

static void
drop(struct mount_list *list, struct entry *entry)
{
    TAILQ_REMOVE(&list->entries, entry, all);
    list->count--;
    free(entry);
}

/* Drop the host's mount of a path, or all of his when path is NULL. */
static void
drop_matching(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    struct entry *entry, *next;

    for (entry = TAILQ_FIRST(&list->entries); entry != NULL; entry = next) {
        next = TAILQ_NEXT(entry, all);
        if (strcmp(entry_host(entry), host) != 0)
            continue;
        if (path == NULL || (entry->path_len == path_len && memcmp(entry_path(entry), path, path_len) == 0))
            drop(list, entry);
    }
}

static void
append(struct mount_list *list, struct entry *entry)
{
    TAILQ_INSERT_TAIL(&list->entries, entry, all);
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
        if (entry != NULL)
            append(list, entry);
    }
}

int
mount_list_new(size_t max, struct state *state, struct mount_list **out)
{
    struct mount_list *list = calloc(1, sizeof(*list));
    void *data;
    size_t len;

    if (list == NULL)
        return -ENOMEM;
    pthread_mutex_init(&list->lock, NULL);
    list->max = max;
    TAILQ_INIT(&list->entries);
    if (state != NULL && state_read_file(state, FILE_NAME, FILE_MAX, &data, &len) == 0) {
        load(list, data, len);
        free(data);
    }
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
    free(list);
}

void
mount_list_add(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    struct entry *entry = entry_new(host, strlen(host), path, path_len);

    if (entry == NULL)
        return;
    pthread_mutex_lock(&list->lock);
    drop_matching(list, host, path, path_len);
    append(list, entry);
    pthread_mutex_unlock(&list->lock);
}

void
mount_list_remove(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    pthread_mutex_lock(&list->lock);
    drop_matching(list, host, path, path_len);
    pthread_mutex_unlock(&list->lock);
}

void
mount_list_remove_host(struct mount_list *list, const char *host)
{
    pthread_mutex_lock(&list->lock);
    drop_matching(list, host, NULL, 0);
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
