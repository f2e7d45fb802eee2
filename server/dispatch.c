/*
 * server/dispatch.c - the way of every call of NFSv3 and NFSACL: arguments, export, caller, nodes, one operation of the
 * store, reply.
 *
 * A call is a row of steps. Each starts an operation of the store and names the step that takes its outcome; go() runs
 * them for as long as outcomes are there at once, and op_done() goes on when one comes later. So there is one path,
 * whether the store can answer at once or not.
 *
 *     start (-> find_node) -> got_node -> node_inside (-> got_other -> other_inside) -> ask -> answer
 *                                          \-> tell_attributes -> told_node (-> told_other) -> answer
 *
 * Before start the replay cache is asked about procedures that must not be done twice: it may have the reply (drc.h).
 * start waits, and runs again, where what a caller may do depends on a host name, or on groups, that are not known yet
 * (hosts.h, groups.h). Where the export has limits, what follows start waits until the call is due (throttle.h).
 *
 * The lower branch is for calls that are refused without having reached the file: a bad name, a read-only export. Their
 * replies carry the attributes that RFC 1813 gives them as well.
 */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "server/fault_call.h"
#include "server/log.h"
#include "server/nfs3_call.h"
#include "server/nfs3_reply.h"
#include "server/nfs3_status.h"
#include "server/nfsacl.h"
#include "server/peer.h"
#include "server/squash.h"
#include "server/throttle.h"

#define SMALL_DATA 4096                 /* bytes; READ's data up to here is copied into the reply */

/* What a step returns once the call is over: nothing is left to be done. */
#define OVER STORE_PENDING

void
nfs3_go(struct nfs3_call *call, int err)
{
    while (err != STORE_PENDING)
        err = call->step(call, err);
}

static void
op_done(struct store_op *op)
{
    struct nfs3_call *call = (struct nfs3_call *)((char *)op - offsetof(struct nfs3_call, op));

    nfs3_go(call, op->err);
}

static void
forget_groups(struct nfs3_call *call)
{
    groups_put(&call->groups_list);
    free(call->more_groups);
    call->more_groups = NULL;
}

static void
release(struct nfs3_call *call)
{
    if (call->other != NULL)
        store_put(call->export->store, call->other);
    if (call->node != NULL)
        store_put(call->export->store, call->node);
    if (call->pipe != NULL)
        pipe_put(call->pipe, call->op.r.read.in_pipe ? call->op.r.read.done : 0);
    if (call->data != NULL)
        buf_put(call->data);
    if (call->list != NULL)
        buf_put(call->list);
    forget_groups(call);
    export_view_put(call->view);
}

/* Whether READ's data is stored in the reply: little of it, and what is to be signed or encrypted. */
static bool
is_copied(const struct nfs3_call *call)
{
    return call->data_bytes <= SMALL_DATA || call_reply_is_sealed(&call->rpc);
}

static void
put_data(struct nfs3_call *call, struct wire_out *out)
{
    if (call->pipe != NULL && call->op.r.read.in_pipe) {
        call_reply_lend_pipe(&call->rpc, call->pipe, call->data_bytes);
        call->pipe = NULL;
    } else if (call->data != NULL && !is_copied(call)) {
        call_reply_lend(&call->rpc, call->data, call->data_start, call->data_bytes);
    } else {
        wire_put_fixed(out, call->data_start, call->data_bytes);
    }
}

static void
encode(struct nfs3_call *call, struct wire_out *out)
{
    XDR xdrs;

    if (call->proc->encode != NULL) {
        call->proc->encode(out, &call->res);
        if (call->data_bytes > 0)
            put_data(call, out);
        return;
    }
    xdrmem_create(&xdrs, (char *)out->p, (u_int)wire_room(out), XDR_ENCODE);
    if (call->proc->xdr_res(&xdrs, &call->res))
        out->p += xdr_getpos(&xdrs);
    else
        out->full = true;
    XDR_DESTROY(&xdrs);
}

static void
note_unknown(struct nfs3_call *call, int err)
{
    struct peer_text peer;

    atomic_fetch_add_explicit(&call->worker->stats.unknown_errors, 1, memory_order_relaxed);
    log_debug(call->worker->shared->log, "%s by %s on %s: %s, told as an I/O error", call->proc->name,
              peer_format(&call->rpc.peer, &peer), call->export != NULL ? call->export->path : "no export",
              strerror(-err));
}

/* The disk below an export has failed, or works again: told once, by whichever call is next. */
static void
tell_of_disk(const struct nfs3_call *call)
{
    const struct log *log = call->worker->shared->log;
    int trouble;

    if (!store_disk_news(call->export->store, &trouble))
        return;
    if (trouble < 0)
        log_error(log, "%s is degraded: the disk fails with \"%s\"; what can be read is still served", call->export->path,
                  strerror(-trouble));
    else
        log_info(log, "%s: the disk works again", call->export->path);
}

/*
 * What was done is not to be done again. A refusal may turn out differently by the time the call is sent again, and
 * whoever is told to come again must not get the same reply then.
 */
static void
remember(struct nfs3_call *call, const uint8_t *results, const struct wire_out *out)
{
    struct drc *drc = call->worker->shared->drc;

    if (out == NULL || out->full || call->refusal != 0 || call->res.status == NFS3ERR_JUKEBOX)
        drc_forget(drc, &call->replay);
    else
        drc_keep(drc, &call->replay, results, (size_t)(out->p - results));
}

int
nfs3_answer(struct nfs3_call *call, int err)
{
    struct call *rpc = &call->rpc;
    const uint8_t *results = NULL;
    uint8_t unsent[BULK_REPLY_MAX];
    struct wire_out lost = { .full = true };
    size_t copied;
    struct wire_out *out;
    bool known;

    if (err == 0)
        err = call->proc->finish(call);
    if (err != 0 && call->proc->fail != NULL)
        call->proc->fail(call);
    call->res.status = nfs3_status(err, call->proc->named || fault_err(&call->rpc) != 0, &known);
    if (!known)
        note_unknown(call, err);
    if (call->export != NULL)
        tell_of_disk(call);
    copied = is_copied(call) ? wire_padded(call->data_bytes) : 0;
    out = call_reply_begin(rpc, call->proc->reply_bytes + call->list_bytes + copied);
    if (out != NULL) {
        results = out->p;
        encode(call, out);
    }
    else if (call->replay.entry != NULL && call->proc->reply_bytes <= sizeof(unsent)) {
        lost = (struct wire_out){ .p = unsent, .end = unsent + sizeof(unsent) };     /* done: he will ask for it again */
        encode(call, &lost);
    }
    if (call->replay.entry != NULL)
        remember(call, results != NULL ? results : unsent, out != NULL ? out : &lost);
    release(call);
    nfs3_stats_count(&call->worker->stats.nfs3, call->counter, call->res.status);
    if (out != NULL)
        call_reply_end(rpc);
    else
        call_drop(rpc);
    return OVER;
}

/* The attributes of the other node are there, or cannot be had. */
static int
told_other(struct nfs3_call *call, int err)
{
    struct store_attr *other = &call->op.wcc_to.after;

    *other = call->op.attr;
    other->present = other->present && err == 0;
    call->op.attr = call->node_attr;
    call->op.wcc.after = call->node_attr;
    return nfs3_answer(call, call->refusal);
}

static int
told_node(struct nfs3_call *call, int err)
{
    call->node_attr = call->op.attr;
    call->node_attr.present = call->op.attr.present && err == 0;
    if (call->other != NULL) {
        call->step = told_other;
        return store_getattr(call->other, &call->op);
    }
    call->op.attr = call->node_attr;
    call->op.wcc.after = call->node_attr;
    return nfs3_answer(call, call->refusal);
}

/* Refused without a node to tell of. */
static int
refuse(struct nfs3_call *call, int err)
{
    call->refusal = err;
    return nfs3_answer(call, err);
}

/* Refused: the nodes that are known tell their attributes. */
static int
tell_attributes(struct nfs3_call *call, int err)
{
    call->refusal = err;
    call->step = told_node;
    return store_getattr(call->node, &call->op);
}

/* What a rule of faults has the call end with before the store is asked; 0: nothing. */
static int
fault_refusal(const struct nfs3_call *call)
{
    const struct fault_verdict *verdict = fault_verdict(&call->rpc);

    return verdict->names_room != NULL && atomic_load(verdict->names_room) == 0 ? -ENOSPC : verdict->err;
}

static int
ask(struct nfs3_call *call)
{
    int err;

    if (call->refusal == 0 && fault_verdict(&call->rpc) != NULL)
        call->refusal = fault_refusal(call);
    if (call->refusal != 0)
        return tell_attributes(call, call->refusal);
    call->op.kind = STORE_KINDS;
    call->step = nfs3_answer;
    err = call->proc->begin(call);
    if (err != STORE_PENDING && call->op.kind == STORE_KINDS)   /* begin() has refused, the store was not asked */
        return tell_attributes(call, err);
    return err;
}

/* subtree_check: is a node where its handle says, or has somebody taken it out of the export? */
static int
check_inside(struct nfs3_call *call, struct store_node *node, unsigned which,
             int (*step)(struct nfs3_call *call, int err))
{
    if (!call->rights->subtree_check)
        return step(call, 0);
    call->op.u.inside.parent = &call->dirs[which];
    call->step = step;
    return store_inside(node, &call->op);
}

static int
other_inside(struct nfs3_call *call, int err)
{
    if (err < 0) {
        store_put(call->export->store, call->other);
        call->other = NULL;
        call->refusal = err;
    }
    return ask(call);
}

static int
got_other(struct nfs3_call *call, int err)
{
    if (err < 0) {
        call->refusal = err;
        return ask(call);
    }
    call->other = call->op.r.get.node;
    return check_inside(call, call->other, 1, other_inside);
}

static int
node_inside(struct nfs3_call *call, int err)
{
    if (err < 0)
        return refuse(call, err);
    if (call->proc->second == NULL || call->refusal != 0)
        return ask(call);
    call->step = got_other;
    return store_get(call->export->store, &call->ids[1], &call->op);
}

static int
got_node(struct nfs3_call *call, int err)
{
    if (err < 0)
        return refuse(call, err);
    call->node = call->op.r.get.node;
    return check_inside(call, call->node, 0, node_inside);
}

static bool
is_root(const struct export *export, const struct store_id *id)
{
    const struct store_id *root = store_node_id(export->store, export->store->root);

    return id->len == root->len && memcmp(id->bytes, root->bytes, id->len) == 0;
}

/*
 * What holds for calls of this flavour. As RFC 2623 2.3.2 has it, and knfsd does, the calls that clients make while they
 * mount need no Kerberos on the root of an export: they say little, and a client may not know better yet.
 */
static int
find_sec(const struct nfs3_call *call, const struct export *export, const struct export_rights *rights,
         const struct store_id *id, const struct export_sec **sec)
{
    enum call_flavor flavor = call->rpc.auth.flavor;

    *sec = export_sec_find(rights, flavor);
    if (*sec == NULL && call->proc->mounting && flavor < CALL_AUTH_KRB5 && is_root(export, id))
        *sec = &rights->usual;
    return *sec != NULL ? 0 : -EACCES;
}

/* The export that one of the handles names, and this caller's rights in it; -EINPROGRESS: start() will run again. */
static int
find_export(struct nfs3_call *call, const nfs_fh3 *fh, const struct export **export,
            const struct export_rights **rights, const struct export_sec **sec, unsigned which)
{
    const struct fh_key *key = call->worker->shared->key;
    uint64_t export_id;
    int err = fh_decode(key, (const uint8_t *)fh->data.data_val, fh->data.data_len, &export_id,
                        &call->ids[which], &call->dirs[which]);

    if (err < 0)
        return err;
    *export = exports_find_id(call->view->set, export_id);
    if (*export == NULL)
        return -ESTALE;
    err = export_view_rights(call->view, call->worker->shared->hosts, *export, (const struct sockaddr *)&call->rpc.peer,
                             &call->wait, rights);
    if (err < 0)
        return err;
    if (*rights == NULL || (*rights)->withheld)
        return -ESTALE;                                 /* as knfsd: nothing is said about exports of others */
    if ((*rights)->secure && call->rpc.auth.flavor < CALL_AUTH_KRB5 && call_peer_port(&call->rpc) >= IPPORT_RESERVED)
        return -EPERM;
    return find_sec(call, *export, *rights, &call->ids[which], sec);
}

/* RENAME's and LINK's other handle: 0 when the two may be used together. */
static int
check_second(struct nfs3_call *call)
{
    const struct export *export;
    const struct export_rights *rights;
    const struct export_sec *sec;
    int err = find_export(call, call->proc->second(&call->args), &export, &rights, &sec, 1);

    if (err < 0)
        return err;
    if (nfs3_read_only(export, sec))
        return -EROFS;
    return export == call->export ? 0 : -EXDEV;
}

/* Whether the groups that count are those that this machine knows: a call with Kerberos carries none. */
static bool
groups_are_ours(const struct nfs3_call *call)
{
    return call->rights->manage_gids || call->rpc.auth.flavor >= CALL_AUTH_KRB5;
}

/* Who the caller is on the export; -EINPROGRESS: start() will run again. */
static int
find_caller(struct nfs3_call *call)
{
    bool himself = squash(call->rights, call->sec, &call->rpc.auth, &call->cred, call->groups);
    int err;

    if (!himself || !groups_are_ours(call))
        return 0;
    forget_groups(call);
    err = groups_find(call->worker->shared->groups, call->cred.uid, &call->wait, &call->groups_list);
    return err == 0 ? squash_groups(call->rights, call->sec, &call->groups_list, &call->cred, call->groups,
                                    &call->more_groups)
                    : err;
}

/* A datagram over the limits: nothing was done, and it will be sent again. */
static int
drop(struct nfs3_call *call)
{
    if (call->replay.entry != NULL)
        drc_forget(call->worker->shared->drc, &call->replay);
    release(call);
    call_drop(&call->rpc);
    return OVER;
}

static int
find_node(struct nfs3_call *call)
{
    call->step = got_node;
    return store_get(call->export->store, &call->ids[0], &call->op);
}

static void
is_due(struct delay *delay)
{
    struct nfs3_call *call = (struct nfs3_call *)((char *)delay - offsetof(struct nfs3_call, delay));

    nfs3_go(call, find_node(call));
}

static int
start(struct nfs3_call *call)
{
    struct store_op *op = &call->op;
    int err = find_export(call, &call->args.first, &call->export, &call->rights, &call->sec, 0);

    if (err == 0)
        err = find_caller(call);
    if (err == -EINPROGRESS)
        return STORE_PENDING;
    if (err < 0)
        return refuse(call, err);
    if (fault_verdict(&call->rpc) != NULL && fault_verdict(&call->rpc)->stale)
        return refuse(call, -ESTALE);
    if (call->proc->needs == RIGHT_WRITE && nfs3_read_only(call->export, call->sec))
        call->refusal = -EROFS;
    else if (call->proc->second != NULL)
        call->refusal = check_second(call);
    if (call->refusal == -EINPROGRESS)
        return STORE_PENDING;
    op->engine = call->worker->engine;
    op->cred = &call->cred;
    op->client = clients_hash((const struct sockaddr *)&call->rpc.peer);
    op->sync = !call->rights->async;
    op->prompt = !call->rights->wdelay;
    op->done = op_done;
    err = throttle(call, is_due);
    if (err == -EINPROGRESS)
        return STORE_PENDING;
    if (err == -ETIMEDOUT)
        return drop(call);
    return err < 0 ? refuse(call, err) : find_node(call);
}

static void
caller_known(struct resolver_wait *wait)
{
    struct nfs3_call *call = (struct nfs3_call *)((char *)wait - offsetof(struct nfs3_call, wait));

    call->refusal = 0;
    nfs3_go(call, start(call));
}

/* Everything that release() and fail() look at, before anything is known. */
static void
init(struct nfs3_call *call)
{
    call->worker = call->rpc.transport->context;
    call->view = export_view_ref(call->worker->view);
    call->export = NULL;
    call->rights = NULL;
    call->wait.loop = call->rpc.transport->loop;
    call->wait.answered = caller_known;
    call->groups_list.answer = NULL;
    call->more_groups = NULL;
    call->delay.timer.fired = NULL;
    call->charged = false;
    call->refusal = 0;
    call->crossed = NULL;
    call->node = NULL;
    call->other = NULL;
    call->pipe = NULL;
    call->data = NULL;
    call->data_start = NULL;
    call->data_bytes = 0;
    call->list = NULL;
    call->list_bytes = 0;
    call->op.attr.present = false;
    call->op.wcc.before_present = false;
    call->op.wcc.after.present = false;
    call->op.wcc_to.before_present = false;
    call->op.wcc_to.after.present = false;
}

static void
answer_null(struct nfs3_call *call)
{
    struct call *rpc = &call->rpc;
    struct worker *worker = rpc->transport->context;

    nfs3_stats_count(&worker->stats.nfs3, call->counter, NFS3_OK);
    if (call_reply_begin(rpc, 0) != NULL)
        call_reply_end(rpc);
    else
        call_drop(rpc);
}

static void
perform(struct nfs3_call *call)
{
    init(call);
    nfs3_go(call, start(call));
}

static void
replay(struct nfs3_call *call, const struct drc_reply *reply)
{
    struct call *rpc = &call->rpc;
    struct worker *worker = rpc->transport->context;
    struct wire_in results = { reply->results, reply->results + reply->len, false };
    struct wire_out *out = call_reply_begin(rpc, reply->len);

    rpc->replayed = true;
    nfs3_stats_count(&worker->stats.nfs3, call->counter, wire_get_u32(&results));
    if (out == NULL) {
        call_drop(rpc);
        return;
    }
    wire_put_fixed(out, reply->results, reply->len);
    call_reply_end(rpc);
}

/* Do it unless it was done before. */
static void
perform_once(struct nfs3_call *call)
{
    struct worker *worker = call->rpc.transport->context;
    struct drc_reply reply;

    switch (drc_begin(worker->shared->drc, &call->replay, &reply)) {
    case DRC_NEW:
        perform(call);
        break;
    case DRC_DONE:
        replay(call, &reply);
        break;
    case DRC_RUNNING:
        call_drop(&call->rpc);
        break;
    case DRC_WAIT:
        break;
    }
}

static void
run_again(struct loop_message *message)
{
    perform_once((struct nfs3_call *)((char *)message - offsetof(struct nfs3_call, again)));
}

/* On the thread of another worker, maybe. */
static void
other_is_over(struct drc_call *replay_call)
{
    struct nfs3_call *call = (struct nfs3_call *)((char *)replay_call - offsetof(struct nfs3_call, replay));

    call->again.run = run_again;
    loop_post(call->rpc.transport->loop, &call->again);
}

/* The arguments are good; args: as they arrived. */
static void
begin(struct nfs3_call *call, struct wire_in args)
{
    struct worker *worker = call->rpc.transport->context;
    const struct drc *drc = worker->shared->drc;

    call->replay.entry = NULL;
    if (!call->proc->replay || drc == NULL) {
        perform(call);
        return;
    }
    drc_identify(drc, &call->rpc, args, &call->replay);
    call->replay.ready = call->rpc.stream ? other_is_over : NULL;   /* who lost a datagram asks again by himself */
    perform_once(call);
}

/* proc: its row, NULL for none; counters: where those of its program begin. */
static void
dispatch(struct call *rpc, const struct nfs3_proc *proc, uint32_t counters)
{
    struct nfs3_call *call = (struct nfs3_call *)rpc;
    const struct wire_in args = rpc->args;

    call->proc = proc;
    call->counter = counters + rpc->proc;
    if (call->proc == NULL) {
        call_reply_error(rpc, CALL_PROC_UNAVAIL, 0, 0);
    } else if (call->proc->begin == NULL) {
        answer_null(call);
    } else if (!call->proc->decode(&rpc->args, &call->args)) {
        call_reply_error(rpc, CALL_GARBAGE_ARGS, 0, 0);
    } else {
        begin(call, args);
    }
}

static void
nfs3_dispatch(struct call *rpc)
{
    dispatch(rpc, nfs3_proc(rpc->proc), NFS3_STATS_NFS);
}

static void
nfsacl_dispatch(struct call *rpc)
{
    dispatch(rpc, nfsacl_proc(rpc->proc), NFS3_STATS_NFSACL);
}

static const uint32_t nfs3_versions[] = { NFS_V3 };
static const uint32_t nfsacl_versions[] = { NFS_ACL_V3 };

const struct program nfs3_program = {
    .number = NFS_PROGRAM,
    .versions = nfs3_versions,
    .nversions = sizeof(nfs3_versions) / sizeof(nfs3_versions[0]),
    .dispatch = nfs3_dispatch,
};

const struct program nfsacl_program = {
    .number = NFS_ACL_PROGRAM,
    .versions = nfsacl_versions,
    .nversions = sizeof(nfsacl_versions) / sizeof(nfsacl_versions[0]),
    .dispatch = nfsacl_dispatch,
};
