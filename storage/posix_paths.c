/*
 * storage/posix_paths.c - finding files by parent and name, where the kernel does not open handles for us: without
 * privilege, or on file systems that have none.
 *
 * A bounded table remembers under which name in which directory each id was last seen. To open one, its names up to the
 * root are walked down again, and what is found must have the very id. An id that is not known, or not there any more,
 * makes the whole tree be read - once in a while, since a client may go on asking for a file that is gone. When the table
 * is full it is emptied and filled anew by the same means.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/fh.h"
#include "storage/posix_private.h"

#define PATHS_MAX 1000000               /* files remembered */
#define PATHS_BUCKETS (1u << 18)
#define DEPTH_MAX 512                   /* directories above a file */
#define SCAN_PAUSE_NS 10000000000u      /* between two readings of the tree */

struct path_entry {
    struct path_entry *next;
    uint64_t hash;                      /* of id */
    uint64_t parent;                    /* hash of the parent's id */
    struct store_id id;
    uint8_t name_len;
    char name[];                        /* NUL-terminated */
};

struct posix_paths {
    struct posix_store *ps;
    pthread_mutex_t lock;               /* of the table */
    pthread_mutex_t scan_lock;          /* one reading of the tree at a time */
    uint64_t scanned_ns;                /* when the last one ended; 0: never */
    size_t count;
    struct path_entry **buckets;
};

/* The way from the root to a file: names, the deepest first. */
struct path_way {
    unsigned depth;
    char names[DEPTH_MAX][STORE_NAME_MAX + 1];
};

static uint64_t
hash_of(const struct posix_paths *paths, const struct store_id *id)
{
    return siphash(paths->ps->hash_key, id->bytes, id->len);
}

static struct path_entry **
bucket_of(struct posix_paths *paths, uint64_t hash)
{
    return &paths->buckets[hash % PATHS_BUCKETS];
}

static struct path_entry *
find_entry(struct posix_paths *paths, uint64_t hash)
{
    struct path_entry *entry = *bucket_of(paths, hash);

    while (entry != NULL && entry->hash != hash)
        entry = entry->next;
    return entry;
}

static void
empty(struct posix_paths *paths)
{
    for (size_t i = 0; i < PATHS_BUCKETS; i++) {
        while (paths->buckets[i] != NULL) {
            struct path_entry *entry = paths->buckets[i];

            paths->buckets[i] = entry->next;
            free(entry);
        }
    }
    paths->count = 0;
}

int
posix_paths_new(struct posix_store *ps, struct posix_paths **out)
{
    struct posix_paths *paths = calloc(1, sizeof(*paths));

    if (paths == NULL)
        return -ENOMEM;
    paths->ps = ps;
    paths->buckets = calloc(PATHS_BUCKETS, sizeof(*paths->buckets));
    if (paths->buckets == NULL) {
        free(paths);
        return -ENOMEM;
    }
    pthread_mutex_init(&paths->lock, NULL);
    pthread_mutex_init(&paths->scan_lock, NULL);
    *out = paths;
    return 0;
}

void
posix_paths_free(struct posix_paths *paths)
{
    if (paths == NULL)
        return;
    empty(paths);
    free(paths->buckets);
    pthread_mutex_destroy(&paths->lock);
    pthread_mutex_destroy(&paths->scan_lock);
    free(paths);
}

static void
remove_entry(struct posix_paths *paths, uint64_t hash)
{
    struct path_entry **at = bucket_of(paths, hash), *entry;

    while (*at != NULL && (*at)->hash != hash)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    entry = *at;
    *at = entry->next;
    free(entry);
    paths->count--;
}

void
posix_paths_note(struct posix_paths *paths, const struct store_id *child, const struct store_id *parent,
                 const char *name)
{
    uint64_t hash = hash_of(paths, child), parent_hash = hash_of(paths, parent);
    size_t len = strlen(name);
    struct path_entry *entry;

    pthread_mutex_lock(&paths->lock);
    entry = find_entry(paths, hash);
    if (entry == NULL || entry->parent != parent_hash || strcmp(entry->name, name) != 0) {
        remove_entry(paths, hash);
        if (paths->count >= PATHS_MAX)
            empty(paths);
        entry = malloc(sizeof(*entry) + len + 1);
        if (entry != NULL) {
            entry->hash = hash;
            entry->parent = parent_hash;
            entry->id = *child;
            entry->name_len = (uint8_t)len;
            memcpy(entry->name, name, len + 1);
            entry->next = *bucket_of(paths, hash);
            *bucket_of(paths, hash) = entry;
            paths->count++;
        }
    }
    pthread_mutex_unlock(&paths->lock);
}

/* The names from an id up to the root; false when one is not known. */
static bool
find_way(struct posix_paths *paths, const struct store_id *id, struct path_way *way)
{
    uint64_t root = hash_of(paths, &paths->ps->root->id), hash = hash_of(paths, id);
    bool known = true;

    way->depth = 0;
    pthread_mutex_lock(&paths->lock);
    while (hash != root && known) {
        struct path_entry *entry = find_entry(paths, hash);

        known = entry != NULL && way->depth < DEPTH_MAX;
        if (known) {
            memcpy(way->names[way->depth++], entry->name, entry->name_len + 1u);
            hash = entry->parent;
        }
    }
    pthread_mutex_unlock(&paths->lock);
    return known;
}

static bool
has_id(struct posix_paths *paths, int fd, const struct store_id *id)
{
    struct store_id found;
    struct stat st;

    return fstat(fd, &st) == 0 && posix_id_at(paths->ps, fd, "", AT_EMPTY_PATH, &st, &found) == 0 &&
           found.len == id->len && memcmp(found.bytes, id->bytes, id->len) == 0;
}

/* Walk down and check what is found. Returns a descriptor or -errno. */
static int
follow_way(struct posix_paths *paths, const struct path_way *way, const struct store_id *id, int flags)
{
    int fd = paths->ps->root->fd, next, err;

    if (way->depth == 0)
        return -ESTALE;
    for (unsigned i = way->depth; i > 0; i--) {
        int how = i > 1 ? O_PATH | O_DIRECTORY : flags;

        next = openat(fd, way->names[i - 1], how | O_NOFOLLOW | O_CLOEXEC);
        err = -errno;
        if (fd != paths->ps->root->fd)
            close(fd);
        if (next < 0)
            return err;
        fd = next;
    }
    if (has_id(paths, fd, id))
        return fd;
    close(fd);
    return -ESTALE;
}

bool
posix_paths_name(struct posix_paths *paths, const struct store_id *child, const struct store_id *parent,
                 char name[STORE_NAME_MAX + 1])
{
    const struct path_entry *entry;
    bool known;

    pthread_mutex_lock(&paths->lock);
    entry = find_entry(paths, hash_of(paths, child));
    known = entry != NULL && entry->parent == hash_of(paths, parent);
    if (known)
        memcpy(name, entry->name, entry->name_len + 1u);
    pthread_mutex_unlock(&paths->lock);
    return known;
}

int
posix_paths_check(struct posix_paths *paths, const struct store_id *id)
{
    struct path_way *way = malloc(sizeof(*way));
    int fd;

    if (way == NULL)
        return -ENOMEM;
    fd = find_way(paths, id, way) ? follow_way(paths, way, id, O_PATH) : -ESTALE;
    free(way);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

/* A directory that waits to be read. */
struct scan_dir {
    struct scan_dir *next;
    struct store_id id;
};

/* Note one directory's entries; those that are directories themselves are added to the list of what waits. */
static void
scan_one(struct posix_paths *paths, int dir_fd, const struct store_id *dir_id, struct scan_dir **todo)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    struct scan_dir *below;
    struct store_id id;
    struct stat st;

    if (stream == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (posix_look(paths->ps, dir_fd, paths->ps->dev, entry->d_name, &st, &id) < 0 || st.st_dev != paths->ps->dev)
            continue;
        posix_paths_note(paths, &id, dir_id, entry->d_name);
        below = S_ISDIR(st.st_mode) ? malloc(sizeof(*below)) : NULL;
        if (below != NULL) {
            below->id = id;
            below->next = *todo;
            *todo = below;
        }
    }
    closedir(stream);
}

/* Read the whole tree, depth first. Each directory is found by what has just been noted of it. */
static void
scan(struct posix_paths *paths, struct path_way *way)
{
    struct scan_dir *todo = NULL, *dir;
    int fd;

    scan_one(paths, paths->ps->root->fd, &paths->ps->root->id, &todo);
    while ((dir = todo) != NULL) {
        todo = dir->next;
        fd = find_way(paths, &dir->id, way) ? follow_way(paths, way, &dir->id, O_PATH | O_DIRECTORY) : -1;
        if (fd >= 0) {
            scan_one(paths, fd, &dir->id, &todo);
            close(fd);
        }
        free(dir);
    }
}

/* Read the tree again unless that has just been done; says whether it was since a moment, by us or while we waited. */
static bool
scan_if_due(struct posix_paths *paths, struct path_way *way, uint64_t since_ns)
{
    bool fresh;

    pthread_mutex_lock(&paths->scan_lock);
    if (paths->scanned_ns == 0 || pace_now_ns() - paths->scanned_ns > SCAN_PAUSE_NS) {
        scan(paths, way);
        paths->scanned_ns = pace_now_ns();
    }
    fresh = paths->scanned_ns >= since_ns;
    pthread_mutex_unlock(&paths->scan_lock);
    return fresh;
}

int
posix_paths_open(struct posix_paths *paths, const struct store_id *id, int flags)
{
    struct path_way *way = malloc(sizeof(*way));
    uint64_t began_ns = pace_now_ns();
    int fd = -ESTALE;

    if (way == NULL)
        return -ENOMEM;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (find_way(paths, id, way))
            fd = follow_way(paths, way, id, flags);
        if (fd >= 0 || (fd != -ESTALE && fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP))
            break;
        fd = -ESTALE;
        if (attempt == 0 && !scan_if_due(paths, way, began_ns))
            break;
    }
    free(way);
    return fd;
}
