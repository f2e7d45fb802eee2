/* server/throttle.c - see throttle.h. */
#include "server/throttle.h"

#include <errno.h>
#include <stdatomic.h>

#define MS_NS UINT64_C(1000000)

/* Whose options they are: below a mount point (crossmnt) they are those of an export around it, and so is the bucket. */
static const struct export *
owner_of(const struct export *export, const struct export_rights *rights)
{
    const struct export_client *client = (const struct export_client *)((const char *)rights -
                                                                        offsetof(struct export_client, rights));

    while (export->around != NULL && !(client >= export->clients && client < export->clients + export->nclients))
        export = export->around;
    return export;
}

static struct rate_key
key_of(const struct nfs3_call *call)
{
    struct rate_key key = { .export_id = owner_of(call->export, call->rights)->id };

    peer_address_init(&key.peer, (const struct sockaddr *)&call->rpc.peer);
    return key;
}

static void
over(struct delay *delay)
{
    struct nfs3_call *call = (struct nfs3_call *)((char *)delay - offsetof(struct nfs3_call, delay));

    if (call->rpc.stream)
        call_hold(&call->rpc, false);
    else
        call->worker->delayed_datagrams--;
    call->go_on(delay);
}

/* Put it aside. Returns as throttle(). */
static int
put_aside(struct nfs3_call *call, uint64_t wait_ns)
{
    struct worker *worker = call->worker;
    int err;

    if (!call->rpc.stream && worker->delayed_datagrams >= THROTTLE_DATAGRAMS_MAX)
        return -ETIMEDOUT;
    if (buf_tight(call->rpc.transport->buffers))        /* what came with it would be missing for others */
        return -EAGAIN;
    call->delay.over = over;
    err = delay_start(&worker->delays, &call->delay, call->charge.due_ns, sizeof(*call));
    if (err < 0)
        return err == -ECANCELED ? 0 : err;
    atomic_fetch_add_explicit(&worker->stats.delayed, 1, memory_order_relaxed);
    if (!call->rpc.stream)
        worker->delayed_datagrams++;
    else if (wait_ns > THROTTLE_HOLD_MS * MS_NS)
        call_hold(&call->rpc, true);
    return -EINPROGRESS;
}

int
throttle(struct nfs3_call *call, void (*go_on)(struct delay *delay))
{
    const struct rate_limits limits = { call->rights->max_rate, call->rights->max_iops };
    struct rate *rate = call->worker->shared->rate;
    uint64_t patience_ns = call->rpc.stream ? UINT64_MAX : THROTTLE_DATAGRAM_MS * MS_NS;
    struct rate_charge *charge = &call->charge;
    struct rate_key key;
    uint64_t now_ns;
    int err;

    if (limits.bytes == 0 && limits.calls == 0)
        return 0;
    key = key_of(call);
    charge->bytes = call->proc->payload != NULL ? call->proc->payload(call) : 0;
    charge->at_most = !call->proc->payload_in;
    err = rate_charge(rate, &key, &limits, patience_ns, charge);
    call->charged = err == 0;
    now_ns = rate_now_ns(rate);
    if (err == 0 && charge->due_ns < now_ns + MS_NS)            /* not worth a timer: what comes next pays for it */
        return 0;
    call->go_on = go_on;
    err = err == 0 ? put_aside(call, charge->due_ns - now_ns) : -ETIMEDOUT;
    if (err == -ETIMEDOUT || err == -EAGAIN)
        atomic_fetch_add_explicit(&call->worker->stats.delay_refused, 1, memory_order_relaxed);
    return err;
}

void
throttle_settle(struct nfs3_call *call, uint64_t moved)
{
    struct rate_key key;

    if (!call->charged)
        return;
    call->charged = false;
    key = key_of(call);
    rate_settle(call->worker->shared->rate, &key, &call->charge, moved);
}
