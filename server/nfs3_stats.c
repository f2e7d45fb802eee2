/* server/nfs3_stats.c - see nfs3_stats.h. */
#include "server/nfs3_stats.h"

#include <assert.h>
#include <stddef.h>

#define LOW_PLACES (NFS3ERR_REMOTE + 1)
#define PLACE(status) [(status) < LOW_PLACES ? (status) : LOW_PLACES + (status) - NFS3ERR_BADHANDLE] = #status

static const char *const names[NFS3_STATS_PLACES] = {
    PLACE(NFS3_OK), PLACE(NFS3ERR_PERM), PLACE(NFS3ERR_NOENT), PLACE(NFS3ERR_IO), PLACE(NFS3ERR_NXIO),
    PLACE(NFS3ERR_ACCES), PLACE(NFS3ERR_EXIST), PLACE(NFS3ERR_XDEV), PLACE(NFS3ERR_NODEV), PLACE(NFS3ERR_NOTDIR),
    PLACE(NFS3ERR_ISDIR), PLACE(NFS3ERR_INVAL), PLACE(NFS3ERR_FBIG), PLACE(NFS3ERR_NOSPC), PLACE(NFS3ERR_ROFS),
    PLACE(NFS3ERR_MLINK), PLACE(NFS3ERR_NAMETOOLONG), PLACE(NFS3ERR_NOTEMPTY), PLACE(NFS3ERR_DQUOT),
    PLACE(NFS3ERR_STALE), PLACE(NFS3ERR_REMOTE), PLACE(NFS3ERR_BADHANDLE), PLACE(NFS3ERR_NOT_SYNC),
    PLACE(NFS3ERR_BAD_COOKIE), PLACE(NFS3ERR_NOTSUPP), PLACE(NFS3ERR_TOOSMALL), PLACE(NFS3ERR_SERVERFAULT),
    PLACE(NFS3ERR_BADTYPE), PLACE(NFS3ERR_JUKEBOX),
};

void
nfs3_stats_count(struct nfs3_stats *stats, uint32_t proc, nfsstat3 status)
{
    unsigned place = status < LOW_PLACES ? status : LOW_PLACES + status - NFS3ERR_BADHANDLE;
    _Atomic uint64_t *counter;

    assert(proc < NFS3_STATS_PROCS && place < NFS3_STATS_PLACES);
    counter = &stats->replies[proc][place];              /* nobody else writes: no locked addition is needed */
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

const char *
nfs3_stats_status(unsigned place)
{
    return place < NFS3_STATS_PLACES ? names[place] : NULL;
}
