/*
 * server/nfs3_status.c - from -errno to nfsstat3 (RFC 1813 2.6).
 *
 * As the kernel's server has it, but where it answers STALE, IO or SERVERFAULT to what passes by itself: there the
 * client is told to come again (JUKEBOX), since it would throw its caches away or tell the application.
 */
#include "server/nfs3_status.h"

#include <errno.h>
#include <stddef.h>

#include "server/nfs3_call.h"
#include "storage/store.h"

static const struct {
    int err;
    nfsstat3 status;
} statuses[] = {
    { ENOENT, NFS3ERR_NOENT },
    { EACCES, NFS3ERR_ACCES },
    { EPERM, NFS3ERR_PERM },
    { EEXIST, NFS3ERR_EXIST },
    { ESTALE, NFS3ERR_STALE },
    { EBADMSG, NFS3ERR_BADHANDLE },
    { ENOTDIR, NFS3ERR_NOTDIR },
    { EISDIR, NFS3ERR_ISDIR },
    { ENOTEMPTY, NFS3ERR_NOTEMPTY },
    { EINVAL, NFS3ERR_INVAL },
    { ENAMETOOLONG, NFS3ERR_NAMETOOLONG },
    { EROFS, NFS3ERR_ROFS },
    { ENOSPC, NFS3ERR_NOSPC },
    { EDQUOT, NFS3ERR_DQUOT },
    { EFBIG, NFS3ERR_FBIG },
    { EXDEV, NFS3ERR_XDEV },
    { EMLINK, NFS3ERR_MLINK },
    { ENXIO, NFS3ERR_NXIO },
    { ENODEV, NFS3ERR_NODEV },
    { EOPNOTSUPP, NFS3ERR_NOTSUPP },
    { ENOSYS, NFS3ERR_NOTSUPP },
    { STORE_ENOTSYNC, NFS3ERR_NOT_SYNC },
    { STORE_EBADCOOKIE, NFS3ERR_BAD_COOKIE },
    { STORE_EBADTYPE, NFS3ERR_BADTYPE },
    { NFS3_ETOOSMALL, NFS3ERR_TOOSMALL },
    { E2BIG, NFS3ERR_FBIG },
    { ELOOP, NFS3ERR_INVAL },           /* a symbolic link where none is followed */
    { EBUSY, NFS3ERR_ACCES },           /* a mount point: version 3 has no better word for it (as knfsd) */
    { ETXTBSY, NFS3ERR_ACCES },         /* a program that runs (as knfsd) */
    { ENOKEY, NFS3ERR_PERM },
    { EREMOTE, NFS3ERR_REMOTE },
    { EFAULT, NFS3ERR_SERVERFAULT },

    /* The disk. */
    { EIO, NFS3ERR_IO },
    { ENODATA, NFS3ERR_IO },
    { EUCLEAN, NFS3ERR_IO },
    { EREMOTEIO, NFS3ERR_IO },
    { EILSEQ, NFS3ERR_IO },
    { ENOLINK, NFS3ERR_IO },
    { ENOMEDIUM, NFS3ERR_IO },

    /* What passes. */
    { EAGAIN, NFS3ERR_JUKEBOX },
    { ENOMEM, NFS3ERR_JUKEBOX },
    { EMFILE, NFS3ERR_JUKEBOX },
    { ENFILE, NFS3ERR_JUKEBOX },
    { ENOBUFS, NFS3ERR_JUKEBOX },
    { ETIMEDOUT, NFS3ERR_JUKEBOX },
    { EINTR, NFS3ERR_JUKEBOX },
    { ECANCELED, NFS3ERR_JUKEBOX },
};

nfsstat3
nfs3_status(int err, bool named, bool *known)
{
    *known = true;
    if (err == 0)
        return NFS3_OK;
    if (err == -ENOENT && !named)
        return NFS3ERR_STALE;
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i].err == -err)
            return statuses[i].status;
    }
    *known = false;
    return NFS3ERR_IO;
}

int
nfs3_status_errno(nfsstat3 status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i].status == status)
            return -statuses[i].err;
    }
    return status == NFS3_OK ? 0 : -EIO;
}
