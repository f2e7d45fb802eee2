/* server/fill_archive.c - fill a memory: export from a tar archive, which libarchive reads. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "server/fill.h"

#include <errno.h>
#include <unistd.h>

#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)64 << 10)        /* bytes that are read at once */

/* Directories get their times when all is in them. */
struct dir_time {
    char *path;
    struct timespec mtime;
};

struct unpacking {
    const struct tree *tree;
    struct archive *archive;
    struct dir_time *dirs;
    size_t ndirs, room;
};

/* Say what libarchive did not like, of an entry or of all (path NULL). */
static int
fail_archive(const struct unpacking *unpacking, const char *path)
{
    int code = archive_errno(unpacking->archive), err = code > 0 && code != EILSEQ ? -code : -EINVAL;
    const char *why = archive_error_string(unpacking->archive);
    const struct tree *tree = unpacking->tree;

    if (path != NULL)
        return tree_fail(tree, path, err, why);
    snprintf(tree->error, tree->error_size, "%s: %s", tree->source, why != NULL ? why : "it cannot be read");
    return err;
}

/* Names lead nowhere else anyway; one that means to is no archive to go on with. */
static int
check_name(const struct unpacking *unpacking, const char *path)
{
    if (path[0] == '/')
        return tree_fail(unpacking->tree, path, -EINVAL, "it is an absolute name");
    for (const char *at = path; *at != '\0'; at += strcspn(at, "/"), at += strspn(at, "/"))
        if (strcspn(at, "/") == 2 && at[0] == '.' && at[1] == '.')
            return tree_fail(unpacking->tree, path, -EINVAL, "it has .. in it");
    return 0;
}

static struct tree_attr
attr_of(struct archive_entry *entry)
{
    return (struct tree_attr){
        .mode = archive_entry_perm(entry),
        .uid = (uint32_t)archive_entry_uid(entry),
        .gid = (uint32_t)archive_entry_gid(entry),
        .has_mtime = archive_entry_mtime_is_set(entry),
        .mtime = { archive_entry_mtime(entry), archive_entry_mtime_nsec(entry) },
    };
}

static int
copy_data(const struct unpacking *unpacking, const char *path, struct store_node *file)
{
    const void *data;
    size_t len;
    la_int64_t offset;
    int status, err = 0;

    while (err == 0 && (status = archive_read_data_block(unpacking->archive, &data, &len, &offset)) != ARCHIVE_EOF)
        err = status < ARCHIVE_WARN ? fail_archive(unpacking, path)
                                    : tree_write(unpacking->tree, path, file, (uint64_t)offset, data, len);
    return err;
}

static int
put_file(const struct unpacking *unpacking, struct archive_entry *entry, const char *path, const struct tree_attr *attr)
{
    const struct tree *tree = unpacking->tree;
    struct store_node *file;
    int err = archive_entry_size(entry) < 0 ? tree_fail(tree, path, -EINVAL, "its size is negative") : 0;

    if (err == 0)
        err = tree_file(tree, path, attr, &file);
    if (err < 0)
        return err;
    err = copy_data(unpacking, path, file);
    if (err == 0)
        return tree_file_end(tree, path, file, (uint64_t)archive_entry_size(entry), attr);
    store_put(tree->store, file);
    return err;
}

static int
put_dir(struct unpacking *unpacking, const char *path, const struct tree_attr *attr)
{
    int err = tree_dir(unpacking->tree, path, attr);

    if (err < 0)
        return err;
    if (unpacking->ndirs == unpacking->room) {
        size_t room = unpacking->room == 0 ? 16 : 2 * unpacking->room;
        struct dir_time *grown = reallocarray(unpacking->dirs, room, sizeof(*grown));

        if (grown == NULL)
            return tree_fail(unpacking->tree, path, -ENOMEM, NULL);
        unpacking->dirs = grown;
        unpacking->room = room;
    }
    unpacking->dirs[unpacking->ndirs] = (struct dir_time){ strdup(path), attr->mtime };
    if (unpacking->dirs[unpacking->ndirs].path == NULL)
        return tree_fail(unpacking->tree, path, -ENOMEM, NULL);
    unpacking->ndirs += attr->has_mtime;
    if (!attr->has_mtime)
        free(unpacking->dirs[unpacking->ndirs].path);
    return 0;
}

/* Names that do not fit the locale are in UTF-8 all the same, and here they are bytes. */
static const char *
first_of(const char *bytes, const char *utf8)
{
    return bytes != NULL ? bytes : utf8;
}

static int
put_entry(struct unpacking *unpacking, struct archive_entry *entry)
{
    const char *path = first_of(archive_entry_pathname(entry), archive_entry_pathname_utf8(entry));
    const char *hard = first_of(archive_entry_hardlink(entry), archive_entry_hardlink_utf8(entry));
    const char *text = first_of(archive_entry_symlink(entry), archive_entry_symlink_utf8(entry));
    const struct tree_attr attr = attr_of(entry);
    mode_t type = archive_entry_filetype(entry);
    int err;

    if (path == NULL)
        return tree_fail(unpacking->tree, "an entry", -EINVAL, "it has no name");
    err = check_name(unpacking, path);
    if (err == 0 && hard != NULL)
        err = check_name(unpacking, hard);
    if (err < 0)
        return err;
    if (hard != NULL)
        return tree_link(unpacking->tree, path, hard);
    if (S_ISDIR(type))
        return put_dir(unpacking, path, &attr);
    if (S_ISREG(type))
        return put_file(unpacking, entry, path, &attr);
    if (S_ISLNK(type))
        return text != NULL ? tree_symlink(unpacking->tree, path, text, &attr)
                            : tree_fail(unpacking->tree, path, -EINVAL, "it leads nowhere");
    return tree_special(unpacking->tree, path, type, (uint32_t)archive_entry_rdevmajor(entry),
                        (uint32_t)archive_entry_rdevminor(entry), &attr);
}

/* Only tar, and only what is unpacked by a library: no program is started. */
static int
set_up(struct archive *archive, int fd)
{
    static int (*const supports[])(struct archive *archive) = {
        archive_read_support_filter_gzip, archive_read_support_filter_bzip2, archive_read_support_filter_xz,
        archive_read_support_filter_zstd, archive_read_support_format_tar,
    };

    for (size_t i = 0; i < sizeof(supports) / sizeof(supports[0]); i++)
        if (supports[i](archive) < ARCHIVE_WARN)
            return ARCHIVE_FATAL;
    return archive_read_open_fd(archive, fd, BLOCK);
}

static int
unpack(struct unpacking *unpacking)
{
    struct archive_entry *entry;
    int status, err = 0;

    while (err == 0 && (status = archive_read_next_header(unpacking->archive, &entry)) != ARCHIVE_EOF)
        err = status < ARCHIVE_WARN ? fail_archive(unpacking, NULL) : put_entry(unpacking, entry);
    for (size_t i = unpacking->ndirs; i-- > 0; free(unpacking->dirs[i].path))
        if (err == 0)
            err = tree_set_mtime(unpacking->tree, unpacking->dirs[i].path, unpacking->dirs[i].mtime);
    free(unpacking->dirs);
    return err;
}

int
fill_from_archive(const struct tree *tree, int fd)
{
    struct unpacking unpacking = { .tree = tree, .archive = archive_read_new() };
    int err;

    if (unpacking.archive == NULL)
        err = tree_fail(tree, "", -ENOMEM, NULL);
    else if (set_up(unpacking.archive, fd) < ARCHIVE_WARN)
        err = fail_archive(&unpacking, NULL);
    else
        err = unpack(&unpacking);
    archive_read_free(unpacking.archive);
    close(fd);
    return err;
}
#else
int
fill_from_archive(const struct tree *tree, int fd)
{
    close(fd);
    return tree_fail(tree, "an archive", -EOPNOTSUPP, "this build reads none (libarchive was missing), only directories");
}
#endif
