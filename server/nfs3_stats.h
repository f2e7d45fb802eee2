/*
 * server/nfs3_stats.h - how calls of each procedure of NFSv3 and NFSACL came out; counted by one worker, read by anyone.
 */
#ifndef RINGNFS_SERVER_NFS3_STATS_H
#define RINGNFS_SERVER_NFS3_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#include "xdr/nfs3.h"

/* Procedures: those of NFS, NULL to COMMIT, and behind them those of NFSACL, NULL to SETACL. */
#define NFS3_STATS_NFS 0
#define NFS3_STATS_NFSACL 22
#define NFS3_STATS_PROCS 25
#define NFS3_STATS_PLACES 80            /* 0 to NFS3ERR_REMOTE, then NFS3ERR_BADHANDLE to NFS3ERR_JUKEBOX */

struct nfs3_stats {
    _Atomic uint64_t replies[NFS3_STATS_PROCS][NFS3_STATS_PLACES];
};

/* Count a reply. The worker's thread only. */
void nfs3_stats_count(struct nfs3_stats *stats, uint32_t proc, nfsstat3 status);

/* The status that a place counts, as RFC 1813 calls it; NULL when there is none. */
const char *nfs3_stats_status(unsigned place);

#endif
