/*
 * xdr/bulk_acl.h - arguments of NFSACL (nfs_acl.x), read by hand as bulk.h reads those of NFS.
 *
 * Nothing is allocated: what the arguments point to lies in the message and lives as long. bulk_get_...() returns false
 * when they cannot be read (GARBAGE_ARGS), which is also said of entries that no ACL can have, as the kernel's server
 * says it; bytes after them are allowed.
 */
#ifndef RINGNFS_XDR_BULK_ACL_H
#define RINGNFS_XDR_BULK_ACL_H

#include <stdbool.h>
#include <stdint.h>

#include "xdr/nfs_acl.h"
#include "xdr/wire.h"

#define BULK_ACL_MASK (NFS_ACL | NFS_ACLCNT | NFS_DFACL | NFS_DFACLCNT)
#define BULK_ACL_ENTRY_BYTES 12         /* of an aclent in a message */

/* Entries as they arrived. */
struct bulk_acl {
    uint32_t count;
    const uint8_t *entries;             /* count times BULK_ACL_ENTRY_BYTES */
};

/* SETACL3args. A list that the mask does not name is empty, whatever was sent. */
struct bulk_SETACL3args {
    nfs_fh3 fh;
    uint32_t mask;
    struct bulk_acl access;
    struct bulk_acl defaults;
};

bool bulk_get_GETACL3args(struct wire_in *in, GETACL3args *args);
bool bulk_get_SETACL3args(struct wire_in *in, struct bulk_SETACL3args *args);

/*
 * An entry of a list that bulk_get_SETACL3args() has filled in: its type without NFS_ACL_DEFAULT, which is not looked at,
 * and 3 bits of perm. i < list->count.
 */
aclent bulk_acl_entry(const struct bulk_acl *list, uint32_t i);

#endif
