/*
 * server/mount3.c - MOUNT version 3 (RFC 1813 section 5.2) and version 1 (RFC 1094 appendix A), which differ in the
 * reply to MNT only.
 *
 * MNT walks to a directory below an export as root, as the kernel's mountd does, but follows no symbolic link: there is
 * no way out of the export. Whoever may not mount gets MNT3ERR_ACCES, and the same for a path outside of every export,
 * so that nothing is told about what exists.
 */
#include "server/mount3.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>

#include "server/log.h"
#include "server/mount_list.h"
#include "server/mount_point.h"
#include "server/peer.h"
#include "storage/engine.h"
#include "storage/fh.h"
#include "xdr/mount3.h"

#define MNT_REPLY_MAX (4 + 4 + FHSIZE3 + 4 + 4 * EXPORT_FLAVORS_MAX)    /* bytes: status, handle, flavours */
#define UDP_LIST_MAX 1024               /* bytes of a list that go into a datagram */
#define TURN_STEPS 8                    /* down a path, before others have their turn: some 50 us */
#define LOGGED_PATH 256                 /* bytes of a path, quoted, that go to the log */

/* What a step returns once the call is over: nothing is left to be done. */
#define OVER STORE_PENDING

static const struct store_cred as_root = { .uid = 0, .gid = 0, .ngroups = 0, .groups = NULL };

static void
go(struct mount3_call *call, int err)
{
    while (err != STORE_PENDING)
        err = call->step(call, err);
}

static void
op_done(struct store_op *op)
{
    struct mount3_call *call = (struct mount3_call *)((char *)op - offsetof(struct mount3_call, op));

    go(call, op->err);
}

static void
release(struct mount3_call *call)
{
    if (call->node != NULL)
        store_put(call->export->store, call->node);
    export_view_put(call->view);
}

/* The result is stored: out of the house with it. */
static void
send_reply(struct mount3_call *call, struct wire_out *out)
{
    release(call);
    if (out != NULL)
        call_reply_end(&call->rpc);
    else
        call_drop(&call->rpc);
}

static void
reply_void(struct mount3_call *call)
{
    send_reply(call, call_reply_begin(&call->rpc, 0));
}

static void
reply_garbage(struct mount3_call *call)
{
    release(call);
    call_reply_error(&call->rpc, CALL_GARBAGE_ARGS, 0, 0);
}

static mountstat3
mount_status(int err)
{
    switch (err) {
    case 0:
        return MNT3_OK;
    case -EPERM:
        return MNT3ERR_PERM;
    case -ENOENT:
    case -ESTALE:
        return MNT3ERR_NOENT;
    case -EACCES:
        return MNT3ERR_ACCES;
    case -ENOTDIR:
    case -ELOOP:
        return MNT3ERR_NOTDIR;
    case -EINVAL:
        return MNT3ERR_INVAL;
    case -ENAMETOOLONG:
        return MNT3ERR_NAMETOOLONG;
    case -EOPNOTSUPP:
        return MNT3ERR_NOTSUPP;
    case -EAGAIN:
    case -ENOMEM:
    case -EMFILE:
    case -ENFILE:
        return MNT3ERR_SERVERFAULT;
    default:
        return MNT3ERR_IO;
    }
}

static void
log_mount(const struct mount3_call *call, int err)
{
    const struct log *log = call->worker->shared->log;
    char path[LOGGED_PATH];
    struct peer_text peer;

    log_quote(path, sizeof(path), call->path, call->path_len);
    peer_format(&call->rpc.peer, &peer);
    if (err == 0)
        log_limited(log, LOG_MOUNTS, "%s mounts %s", peer.text, path);
    else
        log_limited(log, LOG_REFUSED_MOUNTS, "%s may not mount %s: %s", peer.text, path, strerror(-err));
}

/* Version 1 has handles of 32 bytes, always; its status is an errno, of the same numbers where they matter. */
static void
put_handle_v1(struct wire_out *out, const uint8_t *fh, size_t fh_len)
{
    uint8_t fixed[FHSIZE] = { 0 };

    memcpy(fixed, fh, fh_len);
    wire_put_u32(out, MNT3_OK);
    wire_put_fixed(out, fixed, FHSIZE);
}

static void
put_handle_v3(struct wire_out *out, const struct export_rights *rights, const uint8_t *fh, size_t fh_len)
{
    enum call_flavor flavors[EXPORT_FLAVORS_MAX];
    size_t count = export_sec_list(rights, flavors);

    wire_put_u32(out, MNT3_OK);
    wire_put_opaque(out, fh, (uint32_t)fh_len);
    wire_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        wire_put_u32(out, flavors[i]);
}

/* The last step of MNT. */
static int
answer(struct mount3_call *call, int err)
{
    const struct worker_shared *shared = call->worker->shared;
    uint8_t fh[FH_MAX];
    size_t fh_len = 0;
    struct peer_text peer;
    struct wire_out *out;

    if (err == 0) {
        fh_len = fh_encode(shared->key, call->export->id, store_node_id(call->export->store, call->node), NULL,
                           fh);
        if (call->rpc.vers == MOUNT_V1 && fh_len > FHSIZE)
            err = -EACCES;
    }
    log_mount(call, err);
    if (err == 0)
        mount_list_add(shared->mounts, peer_format(&call->rpc.peer, &peer), (const char *)call->path, call->path_len);
    out = call_reply_begin(&call->rpc, MNT_REPLY_MAX);
    if (out != NULL && err != 0)
        wire_put_u32(out, mount_status(err));
    else if (out != NULL && call->rpc.vers == MOUNT_V1)
        put_handle_v1(out, fh, fh_len);
    else if (out != NULL)
        put_handle_v3(out, call->rights, fh, fh_len);
    send_reply(call, out);
    return OVER;
}

/* Cut the next name from the path; false when there is none. */
static bool
next_name(struct mount3_call *call, const char **name, size_t *len)
{
    const char *p = call->rest;
    const char *end = p + call->rest_len;
    const char *stop;

    do {
        while (p < end && *p == '/')
            p++;
        for (stop = p; stop < end && *stop != '/'; stop++)
            continue;
        *name = p;
        *len = (size_t)(stop - p);
        p = stop;
    } while (*len == 1 && **name == '.');
    call->rest = stop;
    call->rest_len = (size_t)(end - stop);
    return *len > 0;
}

static int walk(struct mount3_call *call);

/*
 * What the caller may do is not known: with -EINPROGRESS MNT begins anew once it is. Version 3 has no word for "come
 * again", so who must is left without an answer: he asks again by himself.
 */
static int
come_again(struct mount3_call *call, int err)
{
    if (err != -EINPROGRESS)
        send_reply(call, NULL);
    return OVER;
}

static int
got_child(struct mount3_call *call, int err)
{
    if (err < 0)
        return answer(call, err);
    store_put(call->export->store, call->node);
    call->node = call->op.r.get.node;
    return walk(call);
}

/*
 * Something is mounted on the directory that was found: go on in what lies there, if the caller may use it. As with
 * mountd, nobody mounts what is underneath.
 */
static int
enter(struct mount3_call *call, const struct export_mount *mount)
{
    const struct export *to;
    int err = export_view_enter(call->view, call->worker->shared->hosts, mount, call->rights,
                                (const struct sockaddr *)&call->rpc.peer, &call->wait, &to);

    if (err == 0 && to != NULL)
        err = export_view_rights(call->view, call->worker->shared->hosts, to,
                                 (const struct sockaddr *)&call->rpc.peer, &call->wait, &call->rights);
    if (err == 0 && to == NULL)
        return answer(call, -EACCES);
    store_put(call->export->store, call->node);
    call->node = NULL;
    if (err < 0)
        return come_again(call, err);
    call->export = to;
    call->node = to->store->root;
    store_ref(to->store, call->node);
    return walk(call);
}

static int
looked_up(struct mount3_call *call, int err)
{
    const struct store_attr *child = &call->op.child_attr;
    const struct export_mount *mount = NULL;

    if (call->export->nmounts > 0 && child->present)
        mount = exports_find_mount(call->export, child->fsid, child->fileid);
    if (mount != NULL)
        return enter(call, mount);
    if (err < 0)
        return answer(call, err);
    if (call->op.child.len == 0)
        return answer(call, -EIO);
    call->child = call->op.child;
    call->step = got_child;
    return store_get(call->export->store, &call->child, &call->op);
}

static void
walk_on(struct call *rpc)
{
    struct mount3_call *call = (struct mount3_call *)rpc;

    go(call, walk(call));
}

/* One step down, or the end. */
static int
walk(struct mount3_call *call)
{
    const char *name;
    size_t len;

    if (call->steps++ == TURN_STEPS) {
        call->steps = 0;
        call_yield(&call->rpc, walk_on);
        return STORE_PENDING;
    }
    if (!S_ISDIR(store_node_type(call->export->store, call->node)))
        return answer(call, -ENOTDIR);
    if (!next_name(call, &name, &len))
        return answer(call, 0);
    if (len > STORE_NAME_MAX)
        return answer(call, -ENAMETOOLONG);
    call->op.name = name;
    call->op.name_len = len;
    call->step = looked_up;
    return store_lookup(call->node, &call->op);
}

/*
 * The longest export that the path lies in and that this caller may use, and his rights in it; NULL: none.
 * Returns 0, or -EINPROGRESS or -EAGAIN when that is not known yet, as export_view_rights().
 */
static int
find_longest(struct mount3_call *call)
{
    int err;

    call->rights = NULL;
    call->export = NULL;
    do {
        call->export = exports_find_path(call->view->set, (const char *)call->path, call->path_len, call->export,
                                         &call->rest, &call->rest_len);
        if (call->export == NULL)
            return 0;
        err = export_view_rights(call->view, call->worker->shared->hosts, call->export,
                                 (const struct sockaddr *)&call->rpc.peer, &call->wait, &call->rights);
    } while (err == 0 && call->rights == NULL);
    return err;
}

/* The export to mount from, when this caller may; -EINPROGRESS or -EAGAIN: that is not known yet. */
static int
find_export(struct mount3_call *call)
{
    int err;

    if (memchr(call->path, '\0', call->path_len) != NULL)
        return -EACCES;
    err = find_longest(call);
    if (err < 0)
        return err;
    if (call->rights == NULL || (call->rights->secure && call_peer_port(&call->rpc) >= IPPORT_RESERVED))
        return -EACCES;
    if (call->rights->withheld)
        return -ENOENT;
    call->mount_point = call->rights->mount_point;
    if (call->mount_point != NULL && *call->mount_point == '\0')
        call->mount_point = call->export->dir;
    return 0;
}

/* The one argument of MNT and UMNT, without slashes at the end: one directory is one entry of the list. */
static bool
get_path(struct mount3_call *call)
{
    call->path = wire_get_opaque(&call->rpc.args, MNTPATHLEN, &call->path_len);
    while (call->path_len > 1 && call->path[call->path_len - 1] == '/')
        call->path_len--;
    return !call->rpc.args.bad;
}

static int
begin_walk(struct mount3_call *call, int err)
{
    struct store *store = call->export->store;

    if (err < 0)
        return answer(call, err);
    store_ref(store, store->root);
    call->node = store->root;
    return walk(call);
}

static void
has_looked(struct loop_message *message)
{
    struct mount3_call *call = (struct mount3_call *)((char *)message - offsetof(struct mount3_call, looked));

    go(call, call->is_mounted ? 0 : -ENOENT);
}

/* Not on a thread that acts for callers: those find nothing by path. */
static void
look_for_mount(struct pool_work *work)
{
    struct mount3_call *call = (struct mount3_call *)((char *)work - offsetof(struct mount3_call, look));

    call->is_mounted = mount_point_here(call->mount_point);
    call->looked.run = has_looked;
    loop_post(call->rpc.transport->loop, &call->looked);
}

static void
mount_from_export(struct mount3_call *call)
{
    int err = find_export(call);

    if (err == -EINPROGRESS || err == -EAGAIN) {
        come_again(call, err);
        return;
    }
    if (err < 0) {
        answer(call, err);
        return;
    }
    call->op.engine = call->worker->engine;
    call->op.cred = &as_root;
    call->op.client = clients_hash((const struct sockaddr *)&call->rpc.peer);
    call->op.sync = false;
    call->op.prompt = false;
    call->op.done = op_done;
    call->steps = 0;
    call->step = begin_walk;
    if (call->mount_point == NULL) {
        go(call, 0);
        return;
    }
    call->look.run = look_for_mount;
    call->look.client = call->op.client;
    call->look.object = 0;
    pool_submit(call->worker->shared->paths, &call->look, &call->look, 1);
}

static void
name_known(struct resolver_wait *wait)
{
    mount_from_export((struct mount3_call *)((char *)wait - offsetof(struct mount3_call, wait)));
}

static void
mnt(struct mount3_call *call)
{
    if (!get_path(call)) {
        reply_garbage(call);
        return;
    }
    call->wait.loop = call->rpc.transport->loop;
    call->wait.answered = name_known;
    mount_from_export(call);
}

static void
umnt(struct mount3_call *call)
{
    struct peer_text peer;

    if (!get_path(call)) {
        reply_garbage(call);
        return;
    }
    mount_list_remove(call->worker->shared->mounts, peer_format(&call->rpc.peer, &peer), (const char *)call->path,
                      call->path_len);
    reply_void(call);
}

static void
umntall(struct mount3_call *call)
{
    struct peer_text peer;

    mount_list_remove_host(call->worker->shared->mounts, peer_format(&call->rpc.peer, &peer));
    reply_void(call);
}

/*
 * Whether a list of `bytes` with its end may be sent. A datagram's source may be forged: whoever is named there must not
 * get a flood of what he has not asked for, and a list cut short would tell less than there is. He can ask over TCP.
 */
static bool
may_list(const struct mount3_call *call, size_t bytes)
{
    return call->rpc.stream || bytes + 4 <= UDP_LIST_MAX;
}

static void
refuse_list(struct mount3_call *call)
{
    release(call);
    call_reply_error(&call->rpc, CALL_SYSTEM_ERR, 0, 0);
}

/* Begin a reply that holds a list of `bytes` with its end, or what may be sent of it. */
static struct wire_out *
begin_list(struct mount3_call *call, size_t bytes)
{
    return call_reply_begin(&call->rpc, MIN(bytes + 4, call_reply_max(&call->rpc)));
}

/* Whether an item fits, and the end of its list behind it. */
static bool
has_room(const struct wire_out *out, size_t bytes)
{
    return wire_room(out) >= bytes + 4;
}

static size_t
mount_bytes(const char *host, size_t path_len)
{
    return 4 + 4 + wire_padded(strlen(host)) + 4 + wire_padded(path_len);
}

static void
count_mount(void *context, const char *host, const char *path, size_t path_len)
{
    size_t *bytes = context;

    (void)path;
    *bytes += mount_bytes(host, path_len);
}

static void
put_mount(void *context, const char *host, const char *path, size_t path_len)
{
    struct wire_out *out = context;

    if (!has_room(out, mount_bytes(host, path_len)))
        return;
    wire_put_bool(out, true);
    wire_put_opaque(out, host, (uint32_t)strlen(host));
    wire_put_opaque(out, path, (uint32_t)path_len);
}

static void
dump(struct mount3_call *call)
{
    struct mount_list *mounts = call->worker->shared->mounts;
    struct wire_out *out;
    size_t bytes = 0;

    mount_list_walk(mounts, count_mount, &bytes);
    if (!may_list(call, bytes)) {
        refuse_list(call);
        return;
    }
    out = begin_list(call, bytes);
    if (out != NULL) {
        mount_list_walk(mounts, put_mount, out);        /* one that came in between finds no room */
        wire_put_bool(out, false);
    }
    send_reply(call, out);
}

/* An empty list of groups is everyone (RFC 1813 5.2.5). */
static bool
for_everyone(const struct export *export)
{
    return export->nclients == 1 && export->clients[0].match == MATCH_ANYONE;
}

static size_t
export_bytes(const struct export *export)
{
    size_t bytes = 4 + 4 + wire_padded(export->path_len) + 4;

    for (size_t i = 0; i < export->nclients && !for_everyone(export); i++)
        bytes += 4 + 4 + wire_padded(strlen(export->clients[i].text));
    return bytes;
}

static void
put_export(struct wire_out *out, const struct export *export)
{
    wire_put_bool(out, true);
    wire_put_opaque(out, export->path, (uint32_t)export->path_len);
    for (size_t i = 0; i < export->nclients && !for_everyone(export); i++) {
        wire_put_bool(out, true);
        wire_put_opaque(out, export->clients[i].text, (uint32_t)strlen(export->clients[i].text));
    }
    wire_put_bool(out, false);
}

static void
list_exports(struct mount3_call *call)
{
    const struct exports *set = call->view->set;
    struct wire_out *out;
    size_t bytes = 0;

    for (size_t i = 0; i < set->count; i++)
        bytes += export_bytes(&set->list[i]);
    if (!may_list(call, bytes)) {
        refuse_list(call);
        return;
    }
    out = begin_list(call, bytes);
    if (out != NULL) {
        for (size_t i = 0; i < set->count; i++) {
            if (has_room(out, export_bytes(&set->list[i])))
                put_export(out, &set->list[i]);
        }
        wire_put_bool(out, false);
    }
    send_reply(call, out);
}

/* By number; the same in both versions. */
static void (*const procedures[])(struct mount3_call *call) = {
    [MOUNTPROC3_NULL] = reply_void,
    [MOUNTPROC3_MNT] = mnt,
    [MOUNTPROC3_DUMP] = dump,
    [MOUNTPROC3_UMNT] = umnt,
    [MOUNTPROC3_UMNTALL] = umntall,
    [MOUNTPROC3_EXPORT] = list_exports,
};

static void
mount3_dispatch(struct call *rpc)
{
    struct mount3_call *call = (struct mount3_call *)rpc;

    if (rpc->proc >= sizeof(procedures) / sizeof(procedures[0])) {
        call_reply_error(rpc, CALL_PROC_UNAVAIL, 0, 0);
        return;
    }
    call->worker = rpc->transport->context;
    call->view = export_view_ref(call->worker->view);
    call->export = NULL;
    call->node = NULL;
    procedures[rpc->proc](call);
}

static const uint32_t versions[] = { MOUNT_V1, MOUNT_V3 };

const struct program mount3_program = {
    .number = MOUNT_PROGRAM,
    .versions = versions,
    .nversions = sizeof(versions) / sizeof(versions[0]),
    .dispatch = mount3_dispatch,
};
