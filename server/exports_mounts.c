/*
 * server/exports_mounts.c - what is mounted inside of exports.
 *
 * Each file system that is mounted below an export's directory, with none between the two, is noted at the export by what
 * the directory looks like from above. What is behind it is the export of that path, if a line has it; else, where
 * somebody has crossmnt, one that is made here, which may have others mounted inside of it in turn.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/exports_private.h"
#include "server/mount_point.h"
#include "server/text.h"
#include "storage/fh.h"
#include "storage/posix.h"

#define MOUNTS_MAX 1024                 /* file systems inside of exports that are served, in a set */

/* The kernel's own, which hold no files, or a trigger that must not be pulled: they are never served unasked. */
static const char *const system_types[] = {
    "autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs",
    "fusectl", "hugetlbfs", "mqueue", "nfsd", "nsfs", "proc", "pstore", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs",
    "tracefs",
};

static const uint8_t digest_key[16] = "what is mounted";        /* no secret: nobody gains by two that are alike */

static bool
is_system_type(const char *type)
{
    for (size_t i = 0; i < sizeof(system_types) / sizeof(system_types[0]); i++)
        if (strcmp(type, system_types[i]) == 0)
            return true;
    return false;
}

/* A slash goes before every other byte, so that all that lies below a directory comes right behind it. */
static int
compare_dirs(const void *a, const void *b)
{
    const unsigned char *one = (const unsigned char *)((const struct mounted *)a)->dir;
    const unsigned char *other = (const unsigned char *)((const struct mounted *)b)->dir;

    while (*one != '\0' && *one == *other) {
        one++;
        other++;
    }
    return (*one == '/' ? 1 : *one == '\0' ? 0 : *one + 1) - (*other == '/' ? 1 : *other == '\0' ? 0 : *other + 1);
}

/* By directory, then in the order in which they were mounted. */
static int
compare_mounted(const void *a, const void *b)
{
    int order = compare_dirs(a, b);
    size_t one = ((const struct mounted *)a)->line, other = ((const struct mounted *)b)->line;

    return order != 0 ? order : one < other ? -1 : one > other;
}

/* The last of a directory's mounts is the one on top. */
static void
drop_covered(struct mount_table *table)
{
    size_t kept = 0;

    for (size_t i = 0; i < table->count; i++) {
        if (i + 1 < table->count && strcmp(table->list[i].dir, table->list[i + 1].dir) == 0)
            free(table->list[i].dir);
        else
            table->list[kept++] = table->list[i];
    }
    table->count = kept;
}

static int
add_mount(struct mount_table *table, const char *dir, uint64_t digest)
{
    struct mounted *grown = reallocarray(table->list, table->count + 1, sizeof(*grown));

    if (grown == NULL)
        return -ENOMEM;
    table->list = grown;
    grown[table->count] = (struct mounted){ strdup(dir), table->count, digest };
    if (grown[table->count].dir == NULL)
        return -ENOMEM;
    table->count++;
    return 0;
}

/* proc(5): number, parent, device, root, directory, options, any more fields, "-", type, and so on. */
static int
add_line(struct mount_table *table, char *line)
{
    char *dir = line, *end, *type = strstr(line, " - ");
    uint64_t digest;

    for (size_t i = 0; i < 4 && dir != NULL; i++) {
        dir = strchr(dir, ' ');
        dir = dir != NULL ? dir + 1 : NULL;
    }
    end = dir != NULL ? strchr(dir, ' ') : NULL;
    if (end == NULL || type == NULL)
        return 0;
    digest = siphash(digest_key, line, (size_t)(end - line));
    type += 3;
    type[strcspn(type, " \n")] = '\0';
    *end = '\0';
    text_unescape(dir);
    return is_system_type(type) ? 0 : add_mount(table, dir, digest);
}

int
exports_read_mounts(struct mount_table *table)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0;
    int err = 0;

    *table = (struct mount_table){ .list = NULL };
    if (file == NULL)
        return errno == ENOMEM ? -ENOMEM : 0;
    while (err == 0 && getline(&line, &size, file) > 0)
        err = add_line(table, line);
    free(line);
    fclose(file);
    if (table->count > 0)
        qsort(table->list, table->count, sizeof(*table->list), compare_mounted);
    drop_covered(table);
    return err;
}

void
exports_free_mounts(struct mount_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->list[i].dir);
    free(table->list);
}

/* What of a path is below a directory, without a slash in front; NULL: it is not. */
static const char *
below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (strncmp(path, dir, len) != 0)
        return NULL;
    if (len > 1 && path[len] != '/')
        return NULL;
    path += len + (len > 1);
    return *path != '\0' ? path : NULL;
}

static bool
has_crossmnt(const struct export *export)
{
    for (size_t i = 0; i < export->nclients; i++)
        if (export->clients[i].rights.crossmnt)
            return true;
    return false;
}

/* Somebody may walk from an export into what is mounted there without a line of its own. */
static bool
may_be_crossed(const struct export *export)
{
    while (export != NULL && !has_crossmnt(export))
        export = export->around;
    return export != NULL;
}

size_t
exports_count_mounts(const struct exports *set, const struct mount_table *table)
{
    size_t count = 0;
    bool any = false;

    for (size_t i = 0; i < set->count; i++) {
        any = any || has_crossmnt(&set->list[i]);
        for (size_t j = 0; j < table->count && set->list[i].dir != NULL; j++)
            count += below(table->list[j].dir, set->list[i].dir) != NULL;
    }
    return !any ? 0 : count < MOUNTS_MAX ? count : MOUNTS_MAX;
}

static bool
is_near(const char *dir, const char *other)
{
    return strcmp(dir, other) == 0 || below(dir, other) != NULL || below(other, dir) != NULL;
}

/* Whether a mount has to do with an export: it lies in it, or around it, or is what it depends on. */
static bool
matters(const struct export *export, const char *dir)
{
    if (export->dir != NULL && is_near(dir, export->dir))
        return true;
    for (size_t i = 0; i < export->nclients; i++) {
        const char *point = export->clients[i].rights.mount_point;      /* "": the export's own directory */

        if (point != NULL && *point != '\0' && is_near(dir, point))
            return true;
    }
    return false;
}

uint64_t
exports_digest_mounts(const struct exports *set, const struct mount_table *table)
{
    uint64_t words[2] = { 0, 0 };

    for (size_t i = 0; i < table->count; i++) {
        size_t j = 0;

        while (j < set->count && !matters(&set->list[j], table->list[i].dir))
            j++;
        if (j == set->count)
            continue;
        words[1] = table->list[i].digest;
        words[0] = siphash(digest_key, words, sizeof(words));
    }
    return words[0];
}

static const struct export_place *
place_of(const struct exports_builder *builder, const struct export *export)
{
    while (builder->set->private->first[export - builder->set->list] == NULL)
        export = export->around;
    return &builder->set->private->first[export - builder->set->list]->path_place;
}

/* An export for what is mounted on a directory; NULL: it is not served, which is told. */
static struct export *
add_mounted(struct exports_builder *builder, const char *path, const char *dir)
{
    struct exports *set = builder->set;
    struct export *export = &set->list[set->total];
    char shown[EXPORTS_SHOWN_MAX];
    int err;

    *export = (struct export){ .path = strdup(path), .dir = strdup(dir), .path_len = strlen(path) };
    set->total++;
    export->around = exports_find_around(set, path);
    err = export->path == NULL || export->dir == NULL ? -ENOMEM : exports_open_store(builder, set->total - 1);
    if (err == 0) {
        export->id = exports_make_id('p', export->store->fsid_hint, path);
        return export;
    }
    exports_report_warning(&builder->report, place_of(builder, export), "what is mounted on %s is not served: %s",
                           exports_show_path(shown, dir), strerror(-err));
    free(export->path);
    free(export->dir);
    *export = (struct export){ .path = NULL };
    set->total--;
    return NULL;
}

/* What lies at a path where something is mounted, seen from an export. NULL: nothing that is exported. */
static struct export *
find_target(struct exports_builder *builder, const struct export *from, const char *path, const char *dir)
{
    struct exports *set = builder->set;
    struct export *export = exports_find_exact(set, path, strlen(path));
    char shown[EXPORTS_SHOWN_MAX];

    for (size_t i = set->count; export == NULL && i < set->total; i++)
        if (strcmp(set->list[i].path, path) == 0)
            export = &set->list[i];
    if (export != NULL || !may_be_crossed(from) || strlen(path) > EXPORTS_PATH_MAX || !mount_point_here(dir))
        return export;
    if (set->total - set->count < builder->nmounts)
        return add_mounted(builder, path, dir);
    exports_report_warning(&builder->report, place_of(builder, from), "what is mounted on %s is not served: there are %zu "
                           "such file systems already", exports_show_path(shown, dir), builder->nmounts);
    return NULL;
}

static int
note_mount(struct exports_builder *builder, struct export *export, const char *dir, const char *name)
{
    struct export_mount mount, *grown = reallocarray(export->mounts, export->nmounts + 1, sizeof(*grown));
    struct export *target;
    char path[2 * EXPORTS_PATH_MAX];
    int len;

    if (grown == NULL)
        return exports_out_of_memory(builder);
    export->mounts = grown;
    if (posix_see(export->store, name, &mount.fsid, &mount.fileid) < 0)
        return 0;                       /* something else is mounted above it, or it is just gone */
    len = snprintf(path, sizeof(path), "%s/%s", export->path_len > 1 ? export->path : "", name);
    target = len < (int)sizeof(path) ? find_target(builder, export, path, dir) : NULL;
    if (target != NULL)
        target->inherits = true;
    mount.to = target;
    grown[export->nmounts++] = mount;
    return 0;
}

static int
compare_mounts(const void *a, const void *b)
{
    const struct export_mount *one = a, *other = b;

    return one->fileid < other->fileid ? -1 : one->fileid > other->fileid;
}

/* What is mounted inside of an export, but not inside of something else that is. */
static int
look_inside(struct exports_builder *builder, struct export *export, const struct mount_table *table)
{
    const char *inner = NULL, *name;
    int err = 0;

    for (size_t i = 0; err == 0 && i < table->count; i++) {
        name = below(table->list[i].dir, export->dir);
        if (name == NULL || (inner != NULL && below(table->list[i].dir, inner) != NULL))
            continue;
        inner = table->list[i].dir;
        err = note_mount(builder, export, inner, name);
    }
    if (export->nmounts > 1)
        qsort(export->mounts, export->nmounts, sizeof(*export->mounts), compare_mounts);
    return err;
}

int
exports_add_mounts(struct exports_builder *builder, const struct mount_table *table)
{
    struct exports *set = builder->set;
    int err = 0;

    for (size_t i = 0; err == 0 && i < set->total; i++)
        if (set->list[i].dir != NULL)
            err = look_inside(builder, &set->list[i], table);
    return err;
}
