/*
 * server/ringnfs_memory.c - what an embedded server's memory: exports hold: filled, read, copied and set back; see
 * ringnfs.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/fill.h"
#include "server/ringnfs_private.h"
#include "storage/memory.h"

/* An export that is worked on: begin() has checked that it may be, end() gives it back. */
struct work {
    struct exports *set;
    struct tree tree;
};

static int
begin(struct ringnfs *rig, const char *export, const char *source, struct work *work)
{
    int err = embed_check_running(rig);

    if (err == 0)
        err = embed_check_text(rig, export, "the export's name");
    if (err < 0)
        return err;
    work->tree = (struct tree){ .source = source, .error = rig->error, .error_size = sizeof(rig->error) };
    return server_memory_store(rig->server, export, &work->set, &work->tree.store, rig->error, sizeof(rig->error));
}

/* Returns err. */
static int
end(struct work *work, int err)
{
    exports_put(work->set);
    return err;
}

int
ringnfs_snapshot(struct ringnfs *rig, const char *export, struct ringnfs_snapshot **out)
{
    struct memory_snapshot *snapshot = NULL;
    struct work work;
    int err;

    if (out != NULL)
        *out = NULL;
    err = begin(rig, export, "", &work);
    if (err < 0)
        return err;
    if (out == NULL)
        return end(&work, embed_fail(rig, -EINVAL, "there is no place for the snapshot (NULL)"));
    err = memory_snapshot_new(work.tree.store, &snapshot);
    *out = (struct ringnfs_snapshot *)snapshot;
    return end(&work, err < 0 ? embed_fail(rig, err, "a snapshot of %s: out of memory", export) : 0);
}

int
ringnfs_restore(struct ringnfs *rig, const char *export, const struct ringnfs_snapshot *snapshot)
{
    struct work work;
    int err = begin(rig, export, "", &work);

    if (err < 0)
        return err;
    if (snapshot == NULL)
        return end(&work, embed_fail(rig, -EINVAL, "the snapshot is missing (NULL)"));
    err = memory_restore(work.tree.store, (const struct memory_snapshot *)snapshot);
    if (err == -EXDEV)
        embed_fail(rig, err, "the snapshot is not one of this %s", export);
    else if (err < 0)
        embed_fail(rig, err, "going back to a snapshot of %s: out of memory", export);
    return end(&work, err);
}

void
ringnfs_snapshot_free(struct ringnfs_snapshot *snapshot)
{
    memory_snapshot_free((struct memory_snapshot *)snapshot);
}

int
ringnfs_fill(struct ringnfs *rig, const char *export, const char *source)
{
    struct work work;
    int err = begin(rig, export, source, &work);

    if (err < 0)
        return err;
    err = embed_check_text(rig, source, "the directory or archive");
    return end(&work, err < 0 ? err : fill_store(&work.tree));
}

/* For calls about one path. mode: what they say of it, or 0. */
static int
begin_path(struct ringnfs *rig, const char *export, const char *path, unsigned mode, struct work *work)
{
    int err = begin(rig, export, "", work);

    if (err < 0)
        return err;
    err = embed_check_text(rig, path, "the path");
    if (err == 0 && (mode & ~07777u) != 0)
        err = embed_fail(rig, -EINVAL, "mode 0%o is more than permission bits (07777)", mode);
    return err < 0 ? end(work, err) : 0;
}

int
ringnfs_put_file(struct ringnfs *rig, const char *export, const char *path, const void *data, size_t len, unsigned mode)
{
    const struct tree_attr attr = { .mode = mode };
    struct store_node *file;
    struct work work;
    int err = begin_path(rig, export, path, mode, &work);

    if (err < 0)
        return err;
    if (data == NULL && len > 0)
        return end(&work, embed_fail(rig, -EINVAL, "the data is missing (NULL)"));
    err = tree_file(&work.tree, path, &attr, &file);
    if (err < 0)
        return end(&work, err);
    err = tree_write(&work.tree, path, file, 0, data, len);
    if (err == 0)
        return end(&work, tree_file_end(&work.tree, path, file, len, &attr));
    store_put(work.tree.store, file);
    return end(&work, err);
}

int
ringnfs_put_dir(struct ringnfs *rig, const char *export, const char *path, unsigned mode)
{
    const struct tree_attr attr = { .mode = mode };
    struct work work;
    int err = begin_path(rig, export, path, mode, &work);

    return err < 0 ? err : end(&work, tree_dir(&work.tree, path, &attr));
}

int
ringnfs_put_symlink(struct ringnfs *rig, const char *export, const char *path, const char *text)
{
    const struct tree_attr attr = { .mode = 0777 };
    struct work work;
    int err = begin_path(rig, export, path, 0, &work);

    if (err < 0)
        return err;
    err = embed_check_text(rig, text, "the link's text");
    return end(&work, err < 0 ? err : tree_symlink(&work.tree, path, text, &attr));
}

int
ringnfs_set_owner(struct ringnfs *rig, const char *export, const char *path, unsigned uid, unsigned gid)
{
    struct work work;
    int err = begin_path(rig, export, path, 0, &work);

    return err < 0 ? err : end(&work, tree_set_owner(&work.tree, path, uid, gid));
}

int
ringnfs_get_file(struct ringnfs *rig, const char *export, const char *path, void **data, size_t *len)
{
    struct work work;
    int err;

    if (data != NULL)
        *data = NULL;
    err = begin_path(rig, export, path, 0, &work);
    if (err < 0)
        return err;
    if (data == NULL || len == NULL)
        return end(&work, embed_fail(rig, -EINVAL, "there is no place for the data or its length (NULL)"));
    return end(&work, tree_read(&work.tree, path, data, len));
}
