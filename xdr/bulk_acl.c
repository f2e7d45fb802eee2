/* xdr/bulk_acl.c - see bulk_acl.h. */
#include "xdr/bulk_acl.h"

#define PERM_ALL 7u
#define NO_ID UINT32_MAX                /* -1 names nobody */

static void
get_fh(struct wire_in *in, nfs_fh3 *fh)
{
    fh->data.data_val = (char *)wire_get_opaque(in, NFS3_FHSIZE, &fh->data.data_len);
}

bool
bulk_get_GETACL3args(struct wire_in *in, GETACL3args *args)
{
    get_fh(in, &args->fh);
    args->mask = wire_get_u32(in);
    return !in->bad;
}

static aclent
read_entry(const struct bulk_acl *list, uint32_t i)
{
    const uint8_t *p = list->entries + (size_t)i * BULK_ACL_ENTRY_BYTES;
    struct wire_in in = { p, p + BULK_ACL_ENTRY_BYTES, false };
    aclent entry;

    entry.type = wire_get_u32(&in) & ~(uint32_t)NFS_ACL_DEFAULT;
    entry.id = wire_get_u32(&in);
    entry.perm = wire_get_u32(&in);
    return entry;
}

aclent
bulk_acl_entry(const struct bulk_acl *list, uint32_t i)
{
    aclent entry = read_entry(list, i);

    entry.perm &= PERM_ALL;
    return entry;
}

static bool
is_possible(const aclent *entry)
{
    switch (entry->type) {
    case NFS_ACL_USER:
    case NFS_ACL_GROUP:
        return entry->id != NO_ID && entry->perm <= PERM_ALL;
    case NFS_ACL_USER_OBJ:
    case NFS_ACL_GROUP_OBJ:
    case NFS_ACL_OTHER_OBJ:
        return entry->perm <= PERM_ALL;
    case NFS_ACL_CLASS_OBJ:
        return true;                    /* Solaris sets more bits in a mask, says fs/nfs_common/nfsacl.c */
    default:
        return false;
    }
}

/* A number of entries, and that many of them, where they are wanted; fewer or none where they are not. */
static void
get_list(struct wire_in *in, bool wanted, struct bulk_acl *list)
{
    uint32_t announced = wire_get_u32(in);

    list->count = wire_get_u32(in);
    if (announced > NFS_ACL_MAX_ENTRIES || list->count > announced || (wanted && list->count != announced))
        in->bad = true;
    list->entries = wire_get_bytes(in, in->bad ? 0 : (size_t)list->count * BULK_ACL_ENTRY_BYTES);
    if (in->bad || !wanted)
        list->count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        aclent entry = read_entry(list, i);

        if (!is_possible(&entry))
            in->bad = true;
    }
}

bool
bulk_get_SETACL3args(struct wire_in *in, struct bulk_SETACL3args *args)
{
    get_fh(in, &args->fh);
    args->mask = wire_get_u32(in);
    if (args->mask & ~(uint32_t)BULK_ACL_MASK)
        in->bad = true;
    get_list(in, args->mask & NFS_ACL, &args->access);
    get_list(in, args->mask & NFS_DFACL, &args->defaults);
    return !in->bad;
}
