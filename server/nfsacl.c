/*
 * server/nfsacl.c - the NFSACL side protocol, version 3: GETACL and SETACL (xdr/nfs_acl.x), answered as the kernel's
 * server does (its fs/nfsd/nfs3acl.c and fs/nfs_common/nfsacl.c).
 *
 * The two procedures go the way of those of NFS (dispatch.c); here are their rows. What Solaris has on the wire is not
 * quite what POSIX has:
 *   - A minimal ACL has a fourth entry there, a mask that says what the group's does.
 *   - The owner's entry and the group's carry their ids; those that name nobody carry 0.
 *   - Entries may come in any order.
 */
#include "server/nfsacl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "server/nfs3_reply.h"

#define MINIMAL 3u                      /* entries of an ACL without a mask */

/* The ACLs of a call, in one pooled buffer: the access ACL, then the default ACL. */
static int
make_room(struct nfs3_call *call, struct store_acl **access, struct store_acl **defaults)
{
    call->data = buf_get_spare(call->rpc.transport->buffers, 2 * STORE_ACL_BYTES);
    if (call->data == NULL)
        return -ENOMEM;
    *access = (struct store_acl *)call->data->data;
    *defaults = (struct store_acl *)(call->data->data + STORE_ACL_BYTES);
    return 0;
}

static int
getacl_begin(struct nfs3_call *call)
{
    uint32_t mask = call->args.getacl.mask;
    struct store_acl *access, *defaults;
    int err;

    if (!call->rights->acl)
        return -EOPNOTSUPP;
    if (mask & ~(uint32_t)BULK_ACL_MASK)
        return -EINVAL;
    err = make_room(call, &access, &defaults);
    if (err < 0)
        return err;
    call->op.u.getacl.access = mask & (NFS_ACL | NFS_ACLCNT) ? access : NULL;
    call->op.u.getacl.defaults = mask & (NFS_DFACL | NFS_DFACLCNT) ? defaults : NULL;
    return store_getacl(call->node, &call->op);
}

/* How many entries an ACL has on the wire. */
static uint32_t
sent_count(const struct store_acl *acl)
{
    return acl == NULL || acl->count == 0 ? 0 : MAX(acl->count, MINIMAL + 1);
}

static aclent
to_sent(const struct nfs3_call *call, const struct store_ace *entry, uint32_t flag)
{
    aclent sent = { .type = entry->tag | flag, .perm = entry->perm };

    if (entry->tag == STORE_ACL_USER_OBJ)
        sent.id = call->op.attr.uid;
    else if (entry->tag == STORE_ACL_GROUP_OBJ)
        sent.id = call->op.attr.gid;
    else if (entry->tag == STORE_ACL_USER || entry->tag == STORE_ACL_GROUP)
        sent.id = entry->id;
    return sent;
}

/* The entries of an ACL as they are sent, sent_count() of them. */
static void
send_entries(const struct nfs3_call *call, const struct store_acl *acl, uint32_t flag, aclent *out)
{
    for (uint32_t i = 0; i < acl->count; i++) {
        *out++ = to_sent(call, &acl->entries[i], flag);
        if (acl->count == MINIMAL && acl->entries[i].tag == STORE_ACL_GROUP_OBJ)
            *out++ = (aclent){ .type = NFS_ACL_CLASS_OBJ | flag, .perm = acl->entries[i].perm };
    }
}

static int
getacl_finish(struct nfs3_call *call)
{
    GETACL3resok *ok = &call->res.getacl.GETACL3res_u.resok;
    const struct store_acl *access = call->op.u.getacl.access, *defaults = call->op.u.getacl.defaults;
    uint32_t mask = call->args.getacl.mask;
    secattr *acl = &ok->acl;
    size_t count;

    if (!call->op.attr.present)
        return -EIO;
    *acl = (secattr){ .mask = mask, .aclcnt = sent_count(access), .dfaclcnt = sent_count(defaults) };
    acl->aclents.aclents_len = mask & NFS_ACL ? acl->aclcnt : 0;
    acl->dfaclents.dfaclents_len = mask & NFS_DFACL ? acl->dfaclcnt : 0;
    count = acl->aclents.aclents_len + acl->dfaclents.dfaclents_len;
    call->list_bytes = count * BULK_ACL_ENTRY_BYTES;
    call->list = buf_get_spare(call->rpc.transport->buffers, MAX(count, 1) * sizeof(aclent));
    if (call->list == NULL)
        return -ENOMEM;
    acl->aclents.aclents_val = (aclent *)call->list->data;
    acl->dfaclents.dfaclents_val = acl->aclents.aclents_val + acl->aclents.aclents_len;
    if (acl->aclents.aclents_len > 0)
        send_entries(call, access, 0, acl->aclents.aclents_val);
    if (acl->dfaclents.dfaclents_len > 0)
        send_entries(call, defaults, NFS_ACL_DEFAULT, acl->dfaclents.dfaclents_val);
    nfs3_post_op(call, &call->op.attr, &ok->attr);
    return 0;
}

static void
getacl_fail(struct nfs3_call *call)
{
    call->list_bytes = 0;
    nfs3_post_op(call, &call->op.attr, &call->res.getacl.GETACL3res_u.resfail.attr);
}

static int
compare_entries(const void *a, const void *b)
{
    const struct store_ace *one = a, *two = b;

    if (one->tag != two->tag)
        return one->tag < two->tag ? -1 : 1;
    if (one->id != two->id)
        return one->id < two->id ? -1 : 1;
    return one->perm < two->perm ? -1 : one->perm > two->perm;
}

/* Entries of one tag and id stay in their order, since the first one counts: their places go along above the three bits. */
static void
sort_entries(struct store_acl *acl)
{
    for (uint32_t i = 0; i < acl->count; i++)
        acl->entries[i].perm |= (uint16_t)(i << 3);
    qsort(acl->entries, acl->count, sizeof(acl->entries[0]), compare_entries);
    for (uint32_t i = 0; i < acl->count; i++)
        acl->entries[i].perm &= 7;
}

/* A sorted ACL out of entries that arrived. Whether it is a valid one, the store says. */
static void
receive_entries(const struct bulk_acl *list, struct store_acl *acl)
{
    const struct store_ace *group = NULL;
    struct store_ace *mask = NULL;

    acl->count = list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        aclent sent = bulk_acl_entry(list, i);
        bool named = sent.type == NFS_ACL_USER || sent.type == NFS_ACL_GROUP;

        acl->entries[i] = (struct store_ace){ (uint16_t)sent.type, (uint16_t)sent.perm,
                                              named ? sent.id : STORE_ACL_NO_ID };
    }
    sort_entries(acl);
    if (acl->count != MINIMAL + 1)
        return;
    for (uint32_t i = 0; i < acl->count; i++) {
        if (acl->entries[i].tag == STORE_ACL_GROUP_OBJ)
            group = &acl->entries[i];
        else if (acl->entries[i].tag == STORE_ACL_MASK)
            mask = &acl->entries[i];
    }
    if (group != NULL && mask != NULL && mask->perm == group->perm) {
        acl->count = MINIMAL;           /* it is the fourth entry that a minimal ACL has on the wire */
        memmove(mask, mask + 1, (size_t)(acl->entries + acl->count - mask) * sizeof(*mask));
    }
}

/* An ACL that the mask does not name stays as it is; one that has no entries is removed. */
static int
setacl_begin(struct nfs3_call *call)
{
    const struct bulk_SETACL3args *args = &call->args.setacl;
    struct store_acl *access, *defaults;
    int err;

    if (!call->rights->acl)
        return -EOPNOTSUPP;
    err = make_room(call, &access, &defaults);
    if (err < 0)
        return err;
    receive_entries(&args->access, access);
    receive_entries(&args->defaults, defaults);
    call->op.u.setacl.access = args->mask & NFS_ACL ? access : NULL;
    call->op.u.setacl.defaults = args->mask & NFS_DFACL ? defaults : NULL;
    return store_setacl(call->node, &call->op);
}

static int
setacl_finish(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.setacl.SETACL3res_u.resok.attr);
    return 0;
}

static void
setacl_fail(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.setacl.SETACL3res_u.resfail.attr);
}

static bool
decode_getacl(struct wire_in *in, union nfs3_args *args)
{
    return bulk_get_GETACL3args(in, &args->getacl);
}

static bool
decode_setacl(struct wire_in *in, union nfs3_args *args)
{
    return bulk_get_SETACL3args(in, &args->setacl);
}

static bool_t
xdr_res_getacl(XDR *xdrs, union nfs3_res *res)
{
    return xdr_GETACL3res(xdrs, &res->getacl);
}

static bool_t
xdr_res_setacl(XDR *xdrs, union nfs3_res *res)
{
    return xdr_SETACL3res(xdrs, &res->setacl);
}

#define STEPS(name) .decode = decode_##name, .xdr_res = xdr_res_##name, .begin = name##_begin, .finish = name##_finish, \
                    .fail = name##_fail, .reply_bytes = BULK_REPLY_MAX

static const struct nfs3_proc nfsacl_procs[NFSACL_PROCS] = {
    [ACLPROC3_NULL]   = { .name = "NULL" },
    [ACLPROC3_GETACL] = { "GETACL", STEPS(getacl), .needs = RIGHT_READ },
    [ACLPROC3_SETACL] = { "SETACL", STEPS(setacl), .needs = RIGHT_WRITE, .replay = true },
};

const struct nfs3_proc *
nfsacl_proc(uint32_t number)
{
    return number < NFSACL_PROCS ? &nfsacl_procs[number] : NULL;
}
