/*
 * server/nfs3_dir.c - READDIR and READDIRPLUS (RFC 1813 3.3.16, 3.3.17).
 *
 * The store is asked for about as many entries as a reply can hold, some at a time, so that others have their turn in
 * between, and the reply takes the first of them, as many as fit. A cookie is the file system's own place in the directory,
 * so it needs no verifier: that is always zero and never looked at, as in the kernel's server.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/param.h>

#include "server/nfs3_procs.h"
#include "server/nfs3_reply.h"

#define LISTING_FRAME 108               /* bytes of a reply without entries: status, attributes, verifier, end, eof */
#define LISTING_MIN_CUT (64 << 10)      /* bytes; a listing may always be that long */
#define ENTRY_FRAME 24                  /* bytes of an entry3 beside its name */
#define ENTRYPLUS_FRAME 116             /* of an entryplus3 with attributes, beside its name and handle */
#define HANDLE_FRAME 24                 /* of a handle beside the store's id: its length, and what fh.h puts around */
#define NAME_MIN 24                     /* what of it counts for dircount */
#define DIRENT_MAX roundup(sizeof(struct store_dirent) + STORE_NAME_MAX, 8)
#define ENTRIES_MAX (512 << 10)         /* bytes of entries asked of the store at once ... */
#define ENTRIES_SHARE 2                 /* ... unless so many times the reply's size is more */
#define TURN_ENTRIES 64                 /* asked of the store before others have their turn: some 80 us with attributes */

struct plus_entry {
    entryplus3 entry;
    uint8_t fh[FH_MAX];
};

/* How many bytes the entries of a reply may have, when the client takes `count` for all of it. */
static size_t
entries_room(const struct nfs3_call *call, uint32_t count)
{
    size_t cut = MIN(count, MAX(nfs3_dtpref(call), LISTING_MIN_CUT));

    cut = MIN(cut, call_reply_max(&call->rpc) - BULK_REPLY_MAX);
    return cut > LISTING_FRAME ? cut - LISTING_FRAME : 0;
}

static const struct store_dirent *
next_dirent(const struct store_dirent *dirent)
{
    size_t bytes = offsetof(struct store_dirent, name) + dirent->name_len;

    return (const struct store_dirent *)((const uint8_t *)dirent + roundup(bytes, 8));
}

/* Ask for the next entries. */
static int
list_some(struct nfs3_call *call)
{
    struct nfs3_listing *listing = &call->listing;
    struct store_op *op = &call->op;

    op->u.dir.cookie = listing->cookie;
    op->u.dir.buffer = call->data->data + listing->used;
    op->u.dir.size = listing->size - listing->used;
    op->u.dir.max_entries = MIN(listing->max_entries - listing->entries, TURN_ENTRIES);
    op->u.dir.room = listing->room - listing->told;
    return store_readdir(call->node, op);
}

static void
list_on(struct call *rpc)
{
    struct nfs3_call *call = (struct nfs3_call *)rpc;

    nfs3_go(call, list_some(call));
}

/* Add what has come to what there is. Returns whether there may be more that fits. */
static bool
add_some(struct nfs3_call *call)
{
    struct nfs3_listing *listing = &call->listing;
    const struct store_op *op = &call->op;
    const struct store_dirent *dirent = op->u.dir.buffer;

    listing->entries += op->r.dir.entries;
    listing->used += op->r.dir.used;
    listing->told += op->r.dir.told;
    for (uint32_t i = 0; i < op->r.dir.entries; i++, dirent = next_dirent(dirent))
        listing->cookie = dirent->cookie;
    return op->r.dir.entries == TURN_ENTRIES && !op->r.dir.eof && listing->entries < listing->max_entries &&
           listing->told < listing->room;
}

/* An error behind the first entries is told when the client comes for the next. */
static int
listed_some(struct nfs3_call *call, int err)
{
    struct nfs3_listing *listing = &call->listing;
    struct store_op *op = &call->op;

    if (err == 0 && add_some(call)) {
        call_yield(&call->rpc, list_on);
        return STORE_PENDING;
    }
    if (err < 0 && listing->entries > 0) {
        err = 0;
        op->r.dir.eof = false;
    }
    op->r.dir.entries = listing->entries;
    return nfs3_answer(call, err);
}

/* room: of the reply's entries, which take frame bytes each beside their names and handles. */
static int
listing_begin(struct nfs3_call *call, uint64_t cookie, size_t room, uint32_t frame, size_t buffer_bytes,
              uint32_t max_entries)
{
    size_t most = MAX(ENTRIES_MAX, ENTRIES_SHARE * (size_t)nfs3_dtpref(call));
    struct store_op *op = &call->op;

    call->data = buf_get_spare(call->rpc.transport->buffers, MAX(MIN(buffer_bytes, most), DIRENT_MAX));
    if (call->data == NULL)
        return -ENOMEM;
    call_expect(&call->rpc, call->data->capacity);
    call->listing = (struct nfs3_listing){
        .cookie = cookie, .size = MIN(call->data->capacity, MAX(buffer_bytes, DIRENT_MAX)), .room = room,
        .max_entries = max_entries,
    };
    op->u.dir.entry_room = frame;
    op->u.dir.id_room = HANDLE_FRAME;
    op->u.dir.keep_atime = call->rights->noatime || call->rights->nodiratime;
    call->step = listed_some;
    return list_some(call);
}

/* Room for the entries of the reply; 0, -ENOMEM, or -NFS3_ETOOSMALL where not even the first one will fit. */
static int
list_space(struct nfs3_call *call, size_t entry_size, size_t room)
{
    size_t count = call->op.r.dir.entries;

    if (count == 0 && call->op.r.dir.eof)
        return 0;
    if (count == 0 || room == 0)
        return -NFS3_ETOOSMALL;
    call->list = buf_get_spare(call->rpc.transport->buffers, count * entry_size);
    if (call->list == NULL)
        return -ENOMEM;
    call_expect(&call->rpc, call->data->capacity + call->list->capacity);
    return 0;
}

int
nfs3_readdir_begin(struct nfs3_call *call)
{
    const READDIR3args *args = &call->args.readdir;
    size_t room = entries_room(call, args->count);
    int err = nfs3_check_dir(call);

    if (err < 0)
        return err;
    call->op.u.dir.plus = false;
    /* A name of 12 bytes takes 36 in the reply and six times that from the store. */
    return listing_begin(call, args->cookie, room, ENTRY_FRAME, room * 6, (uint32_t)(room / ENTRY_FRAME + 1));
}

int
nfs3_readdir_finish(struct nfs3_call *call)
{
    READDIR3resok *ok = &call->res.readdir.READDIR3res_u.resok;
    size_t room = entries_room(call, call->args.readdir.count);
    uint32_t count = call->op.r.dir.entries;
    const struct store_dirent *dirent = (const struct store_dirent *)call->data->data;
    int err = list_space(call, sizeof(entry3), room);
    entry3 **tail = &ok->reply.entries;
    uint32_t taken = 0;

    if (err < 0)
        return err;
    for (; taken < count; taken++, dirent = next_dirent(dirent)) {
        entry3 *entry = (entry3 *)call->list->data + taken;

        entry->fileid = dirent->fileid;
        entry->name.filename3_len = dirent->name_len;
        entry->name.filename3_val = (char *)dirent->name;
        entry->cookie = dirent->cookie;
        if (call->list_bytes + bulk_size_entry3(entry) > room)
            break;
        call->list_bytes += bulk_size_entry3(entry);
        *tail = entry;
        tail = &entry->nextentry;
    }
    *tail = NULL;
    if (taken == 0 && count > 0)
        return -NFS3_ETOOSMALL;
    ok->reply.eof = call->op.r.dir.eof && taken == count;
    memset(ok->cookieverf, 0, NFS3_COOKIEVERFSIZE);
    nfs3_post_op(call, &call->op.attr, &ok->dir_attributes);
    return 0;
}

void
nfs3_readdir_fail(struct nfs3_call *call)
{
    call->list_bytes = 0;
    nfs3_post_op(call, &call->op.attr, &call->res.readdir.READDIR3res_u.resfail.dir_attributes);
}

int
nfs3_readdirplus_begin(struct nfs3_call *call)
{
    const READDIRPLUS3args *args = &call->args.readdirplus;
    size_t room = entries_room(call, args->maxcount);
    int err = call->rights->readdirplus ? nfs3_check_dir(call) : -EOPNOTSUPP;

    if (err < 0)
        return err;
    call->op.u.dir.plus = true;
    /* With attributes an entry of the store takes 1.2 to 1.4 times its room in the reply. */
    return listing_begin(call, args->cookie, room, ENTRYPLUS_FRAME,
                         room + room / 2 + sizeof(struct store_dirent) + STORE_NAME_MAX,
                         (uint32_t)MIN(room / ENTRYPLUS_FRAME, args->dircount / NAME_MIN) + 1);
}

/* A directory that something is mounted on has neither here: the client asks LOOKUP what is there for him. */
static bool
is_mount_point(const struct export *export, const struct store_attr *attr)
{
    const struct export_mount *mount = NULL;

    if (export->nmounts > 0 && attr->present)
        mount = exports_find_mount(export, attr->fsid, attr->fileid);
    return mount != NULL && mount->to != NULL;
}

static void
put_plus_entry(const struct nfs3_call *call, const struct store_dirent *dirent, struct plus_entry *plus)
{
    entryplus3 *entry = &plus->entry;
    bool mounted = is_mount_point(call->export, &dirent->attr);

    entry->fileid = dirent->fileid;
    entry->name.filename3_len = dirent->name_len;
    entry->name.filename3_val = (char *)dirent->name;
    entry->cookie = dirent->cookie;
    nfs3_post_op(call, &dirent->attr, &entry->name_attributes);
    entry->name_attributes.attributes_follow = dirent->attr.present && !mounted;
    entry->name_handle.handle_follows = dirent->id.len > 0 && !mounted;
    if (entry->name_handle.handle_follows)
        nfs3_handle(call, &dirent->id, &dirent->attr, plus->fh, &entry->name_handle.post_op_fh3_u.handle);
}

int
nfs3_readdirplus_finish(struct nfs3_call *call)
{
    READDIRPLUS3resok *ok = &call->res.readdirplus.READDIRPLUS3res_u.resok;
    const READDIRPLUS3args *args = &call->args.readdirplus;
    size_t room = entries_room(call, args->maxcount);
    uint32_t count = call->op.r.dir.entries;
    const struct store_dirent *dirent = (const struct store_dirent *)call->data->data;
    int err = list_space(call, sizeof(struct plus_entry), room);
    entryplus3 **tail = &ok->reply.entries;
    size_t name_bytes = 0;
    uint32_t taken = 0;

    if (err < 0)
        return err;
    for (; taken < count; taken++, dirent = next_dirent(dirent)) {
        struct plus_entry *plus = (struct plus_entry *)call->list->data + taken;

        name_bytes += NAME_MIN - 4 + wire_padded(dirent->name_len);
        if (taken > 0 && name_bytes > args->dircount)
            break;
        put_plus_entry(call, dirent, plus);
        if (call->list_bytes + bulk_size_entryplus3(&plus->entry) > room)
            break;
        call->list_bytes += bulk_size_entryplus3(&plus->entry);
        *tail = &plus->entry;
        tail = &plus->entry.nextentry;
    }
    *tail = NULL;
    if (taken == 0 && count > 0)
        return -NFS3_ETOOSMALL;
    ok->reply.eof = call->op.r.dir.eof && taken == count;
    memset(ok->cookieverf, 0, NFS3_COOKIEVERFSIZE);
    nfs3_post_op(call, &call->op.attr, &ok->dir_attributes);
    return 0;
}

void
nfs3_readdirplus_fail(struct nfs3_call *call)
{
    call->list_bytes = 0;
    nfs3_post_op(call, &call->op.attr, &call->res.readdirplus.READDIRPLUS3res_u.resfail.dir_attributes);
}
