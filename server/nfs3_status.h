/* server/nfs3_status.h - the one place where an errno becomes an nfsstat3. */
#ifndef RINGNFS_SERVER_NFS3_STATUS_H
#define RINGNFS_SERVER_NFS3_STATUS_H

#include <stdbool.h>

#include "xdr/nfs3.h"

/*
 * The status for an -errno (0: NFS3_OK). named: the procedure takes a name, else "not found" can only mean the object
 * of the handle. *known is false for an errno that nobody has thought of, which becomes NFS3ERR_IO. Any thread.
 */
nfsstat3 nfs3_status(int err, bool named, bool *known);

/* An -errno that nfs3_status() makes this status of, with named. Any thread. */
int nfs3_status_errno(nfsstat3 status);

#endif
