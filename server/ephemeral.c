/* server/ephemeral.c - see ephemeral.h. */
#include "server/ephemeral.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
ephemeral_new(char **out, char *error, size_t error_size)
{
    const char *base = getenv("TMPDIR");
    char *dir;
    int err;

    if (base == NULL || base[0] != '/')
        base = "/tmp";
    if (asprintf(&dir, "%s/ringnfs-ephemeral.XXXXXX", base) < 0) {
        snprintf(error, error_size, "a temporary directory: out of memory");
        return -ENOMEM;
    }
    if (mkdtemp(dir) == NULL) {
        err = -errno;
        snprintf(error, error_size, "a temporary directory in %s: %s", base, strerror(-err));
        free(dir);
        return err;
    }
    *out = dir;
    return 0;
}

void
ephemeral_remove(char *path)
{
    DIR *dir = path != NULL ? opendir(path) : NULL;
    const struct dirent *entry;

    if (dir != NULL) {
        while ((entry = readdir(dir)) != NULL)
            if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
                unlinkat(dirfd(dir), entry->d_name, 0);  /* a state directory has no directories in it */
        closedir(dir);
        rmdir(path);
    }
    free(path);
}
