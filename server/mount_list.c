/*
 * server/mount_list.c - the MOUNT list: a bounded queue with two tables to find entries by, their host and path together
 * and their host alone, so that no call goes through all of it; and a file "mounts" of records "HOST PATH", each with a
 * NUL behind it. Its first line has the number of their bytes and a digest, so that a file which is
 * torn, or somebody else's, is known as one.
 */
#include "server/mount_list.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "server/log.h"
#include "server/state.h"
#include "storage/fh.h"

#define FILE_NAME "mounts"
#define FILE_MAX ((size_t)64 << 20)     /* bytes; of a longer list the newest entries are kept */
#define FILE_BEGIN "ringnfs-mounts 1 "  /* a name and a version */
#define HEAD_MAX 64

/* A digest that finds what chance has torn; whoever may write here needs no deceit. */
static const uint8_t digest_key[16] = "ringnfs mounts ";

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
    TAILQ_HEAD(queue, entry) entries;   /* oldest first */
    uint8_t key[16];                    /* of the hash: nobody outside can choose who shares a bucket */
    size_t nbuckets;                    /* a power of two */
    LIST_HEAD(bucket, entry) *by_mount, *by_host;
    bool unsaved;
    void (*on_change)(void *context);   /* NULL: nobody wants to know */
    void *context;
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

/* Drop the host's mount of a path: there is one entry at most. Returns whether there was one. */
static bool
drop_mount(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    struct entry *entry;

    LIST_FOREACH(entry, mount_bucket(list, host, path, path_len), same_mount) {
        if (strcmp(entry_host(entry), host) == 0 && entry->path_len == path_len &&
            memcmp(entry_path(entry), path, path_len) == 0) {
            drop(list, entry);
            return true;
        }
    }
    return false;
}

static bool
drop_host(struct mount_list *list, const char *host)
{
    struct entry *entry, *next;
    size_t before = list->count;

    for (entry = LIST_FIRST(host_bucket(list, host)); entry != NULL; entry = next) {
        next = LIST_NEXT(entry, same_host);
        if (strcmp(entry_host(entry), host) == 0)
            drop(list, entry);
    }
    return list->count < before;
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

static void
note_change(struct mount_list *list)
{
    bool first = !list->unsaved;

    list->unsaved = true;
    if (first && list->on_change != NULL)
        list->on_change(list->context);
}

/* Whole records, or so says the digest. */
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

static int
fail(int err, const struct state *state, char *error, size_t error_size, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static int
fail(int err, const struct state *state, char *error, size_t error_size, const char *format, ...)
{
    int used = snprintf(error, error_size, "%s/" FILE_NAME " ", state_dir(state));
    va_list args;

    va_start(args, format);
    if (used >= 0 && (size_t)used < error_size)
        vsnprintf(error + used, error_size - (size_t)used, format, args);
    va_end(args);
    return err;
}

/* The first line of a file with these records behind it; returns its length. */
static size_t
make_head(char head[HEAD_MAX], const char *records, size_t len)
{
    return (size_t)snprintf(head, HEAD_MAX, FILE_BEGIN "%zu %016" PRIx64 "\n", len, siphash(digest_key, records, len));
}

/* Where the records begin in a file; NULL with error: it is none of ours, or torn. */
static const char *
check_file(const struct state *state, const char *data, size_t len, char *error, size_t error_size)
{
    const char *line_end = memchr(data, '\n', MIN(len, HEAD_MAX));
    size_t head_len = line_end != NULL ? (size_t)(line_end + 1 - data) : len;
    char head[HEAD_MAX], begin[HEAD_MAX];

    if (len < strlen(FILE_BEGIN) || memcmp(data, FILE_BEGIN, strlen(FILE_BEGIN)) != 0) {
        log_quote(begin, sizeof(begin), data, MIN(len, strlen(FILE_BEGIN)));
        fail(0, state, error, error_size, "is no MOUNT list of this version: it begins with \"%s\", not with \"%s\"", begin,
             FILE_BEGIN);
        return NULL;
    }
    if (make_head(head, data + head_len, len - head_len) == head_len && memcmp(head, data, head_len) == 0)
        return data + head_len;
    fail(0, state, error, error_size, "is torn: the %zu bytes behind its first line are not those that it was written with",
         len - head_len);
    return NULL;
}

/* *data: the caller's to free, NULL when nothing is there. Returns 0 or -errno with error. */
static int
read_file(struct state *state, char **data, const char **records, size_t *len, char *error, size_t error_size)
{
    void *bytes;
    size_t all;
    int err = state_read_file(state, FILE_NAME, FILE_MAX, &bytes, &all);

    *data = NULL;
    if (err == -ENOENT)
        return 0;
    if (err < 0)
        return fail(err, state, error, error_size, "%s", err == -ELOOP ? "is a symbolic link"
                    : err == -EINVAL ? "is no plain file"
                    : err == -EPERM ? "may be written by others than the server's user: it should be his, with mode 0600"
                    : strerror(-err));
    *records = check_file(state, bytes, all, error, error_size);
    if (*records == NULL) {
        free(bytes);
        return -EBADMSG;
    }
    *data = bytes;
    *len = all - (size_t)(*records - *data);
    return 0;
}

int
mount_list_load(struct mount_list *list, struct state *state, char *error, size_t error_size)
{
    const char *records;
    char *data;
    size_t len;
    int err = read_file(state, &data, &records, &len, error, error_size);

    if (err < 0 || data == NULL)
        return err;
    pthread_mutex_lock(&list->lock);
    load(list, records, len);
    pthread_mutex_unlock(&list->lock);
    free(data);
    return 0;
}

int
mount_list_new(size_t max, struct mount_list **out)
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
    *out = list;
    return 0;
}

void
mount_list_on_change(struct mount_list *list, void (*changed)(void *context), void *context)
{
    pthread_mutex_lock(&list->lock);
    list->on_change = changed;
    list->context = context;
    pthread_mutex_unlock(&list->lock);
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
    note_change(list);
    pthread_mutex_unlock(&list->lock);
}

void
mount_list_remove(struct mount_list *list, const char *host, const char *path, size_t path_len)
{
    pthread_mutex_lock(&list->lock);
    if (drop_mount(list, host, path, path_len))
        note_change(list);
    pthread_mutex_unlock(&list->lock);
}

void
mount_list_remove_host(struct mount_list *list, const char *host)
{
    pthread_mutex_lock(&list->lock);
    if (drop_host(list, host))
        note_change(list);
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

bool
mount_list_is_unsaved(struct mount_list *list)
{
    bool unsaved;

    pthread_mutex_lock(&list->lock);
    unsaved = list->unsaved;
    pthread_mutex_unlock(&list->lock);
    return unsaved;
}

/* The oldest entry that finds room in a file. */
static const struct entry *
oldest_kept(const struct mount_list *list)
{
    const struct entry *entry, *oldest = NULL;
    size_t bytes = HEAD_MAX;

    TAILQ_FOREACH_REVERSE(entry, &list->entries, queue, all) {
        bytes += entry->host_len + entry->path_len + 2;
        if (bytes > FILE_MAX)
            break;
        oldest = entry;
    }
    return oldest;
}

/* All records as they are now, and the list counts as saved. */
static int
take_records(struct mount_list *list, char **records, size_t *len)
{
    FILE *out = open_memstream(records, len);
    const struct entry *entry;

    if (out == NULL)
        return -ENOMEM;
    pthread_mutex_lock(&list->lock);
    for (entry = oldest_kept(list); entry != NULL; entry = TAILQ_NEXT(entry, all)) {
        fprintf(out, "%s ", entry_host(entry));
        fwrite(entry_path(entry), 1, entry->path_len + 1, out);
    }
    list->unsaved = false;
    pthread_mutex_unlock(&list->lock);
    return fclose(out) == 0 ? 0 : -ENOMEM;
}

static int
write_records(struct state *state, const char *records, size_t len)
{
    char head[HEAD_MAX], *data;
    size_t head_len = make_head(head, records, len);
    int err;

    data = malloc(head_len + len);
    if (data == NULL)
        return -ENOMEM;
    memcpy(data, head, head_len);
    memcpy(data + head_len, records, len);
    err = state_write_file(state, FILE_NAME, data, head_len + len);
    free(data);
    return err;
}

/* Only a list of ours is written over. */
int
mount_list_save(struct mount_list *list, struct state *state, char *error, size_t error_size)
{
    char *there, *records = NULL;
    const char *old;
    size_t len = 0;
    int err = read_file(state, &there, &old, &len, error, error_size);

    if (err < 0)
        return err;
    free(there);
    err = take_records(list, &records, &len);
    if (err == 0)
        err = write_records(state, records, len);
    free(records);
    if (err == 0)
        return 0;
    pthread_mutex_lock(&list->lock);
    list->unsaved = true;
    pthread_mutex_unlock(&list->lock);
    return fail(err, state, error, error_size, "cannot be written: %s", strerror(-err));
}
