/* server/export_io.c - see export_io.h. */
#include "server/export_io.h"

#include <stdatomic.h>
#include <stddef.h>

/* Why one client's options do nothing; NULL when they do something. */
static const char *
explain(const struct export *export, const struct export_rights *rights)
{
    const struct store *store = export->store;
    bool own_way = rights->io == STORE_IO_DIRECT || rights->io == STORE_IO_DONTCACHE;

    if (export->memory && own_way)
        return "io= does nothing for a memory: export";
    if (export->memory && rights->readahead > 0)
        return "readahead does nothing for a memory: export";
    if (rights->io == STORE_IO_DIRECT && store->direct_align == 0)
        return "io=direct is as io=buffered here: the file system has no direct I/O";
    if (rights->io == STORE_IO_DONTCACHE && !atomic_load_explicit(&store->dontcache, memory_order_relaxed))
        return "io=dontcache is as io=buffered here: that takes Linux 6.14 and a file system such as ext4, xfs or btrfs";
    if (rights->readahead > 0 && own_way)
        return "readahead does nothing without the page cache (io=direct, io=dontcache)";
    return NULL;
}

const char *
export_io_explain(const struct export *export)
{
    const char *why = NULL;

    for (size_t i = 0; i < export->nclients && why == NULL; i++)
        why = explain(export, &export->clients[i].rights);
    return why;
}
