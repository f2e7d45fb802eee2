/* server/replay_source.c - see replay_source.h: which kind a file is. */
#include "server/replay_source.h"

#include <errno.h>
#include <string.h>

int
replay_source_open(const char *name, struct replay_source **source, char *error, size_t error_size)
{
    static const char line[] = "{\"ri";
    FILE *file = fopen(name, "re");
    char first[4];
    int err;

    if (file == NULL) {
        err = -errno;
        snprintf(error, error_size, "%s", strerror(-err));
        return err;
    }
    if (fread(first, 1, sizeof(first), file) != sizeof(first) || fseek(file, 0, SEEK_SET) < 0) {
        snprintf(error, error_size, "this is no recording: it is too short");
        fclose(file);
        return -EINVAL;
    }
    if (memcmp(first, line, sizeof(first)) == 0)
        return replay_journal_open(file, source, error, error_size);
    return replay_capture_open(file, source, error, error_size);
}

int
replay_source_next(struct replay_source *source, struct ringnfs_call *call, uint64_t *at, char *error, size_t error_size)
{
    return source->ops->next(source, call, at, error, error_size);
}

void
replay_source_free(struct replay_source *source)
{
    if (source != NULL)
        source->ops->free(source);
}
