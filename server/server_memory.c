/* server/server_memory.c - a server's memory: exports, for those who put files into them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/server_private.h"
#include "storage/memory.h"

#define SHOWN_MAX 256                   /* bytes of a path that are shown */

int
server_memory_store(struct server *server, const char *path, struct exports **set, struct store **store, char *error,
                    size_t error_size)
{
    struct exports *exports = server_exports(server);
    const struct export *export = server_find_export(exports, path);
    char shown[SHOWN_MAX];

    log_quote(shown, sizeof(shown), path, strlen(path));
    if (export != NULL && memory_is(export->store)) {
        *set = exports;
        *store = export->store;
        return 0;
    }
    exports_put(exports);
    snprintf(error, error_size, export != NULL ? "%s is no memory: export" : "%s is not exported", shown);
    return export != NULL ? -EINVAL : -ENOENT;
}
