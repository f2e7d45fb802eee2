/* bench/load/engine.c - the loop, and how long it runs. */
#include "bench/load/load.h"

#include <sys/epoll.h>
#include <sys/param.h>

#define OPS_MIN 16                      /* a run goes on until there are so many: with fewer there is no figure */

static void
conn_init(struct conn *c)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };
    uint32_t i;

    c->fd = dial(options.nfs_port, options.udp);
    if (c->fd < 0)
        die("cannot connect to port %d", options.nfs_port);
    c->xid_seq = (uint32_t)rnd();
    c->slots = xcalloc(options.depth, sizeof(*c->slots));
    c->qcap = 6 * options.depth;
    c->q = xcalloc(c->qcap, sizeof(*c->q));
    for (i = 0; i < options.depth; i++) {
        c->slots[i].conn = c;
        c->slots[i].index = i;
    }
    epoll_ctl(load.ep, EPOLL_CTL_ADD, c->fd, &ev);
}

void
sleep_slot(struct slot *s, uint64_t until)
{
    s->asleep_until = until;
    load.asleep[(load.first_asleep + load.nasleep++) % (options.conns * options.depth)] = s;
}

/* Milliseconds until a slot goes on, 50 at most. */
static int
poll_ms(void)
{
    uint64_t until;

    if (options.busy)
        return 0;
    if (load.nasleep == 0)
        return 50;
    until = load.asleep[load.first_asleep]->asleep_until;
    return until <= load.now ? 0 : (int)MIN((until - load.now) / 1000000 + 1, 50u);
}

static void
wake_slots(void)
{
    while (load.nasleep > 0 && load.asleep[load.first_asleep]->asleep_until <= load.now) {
        struct slot *s = load.asleep[load.first_asleep];

        load.first_asleep = (load.first_asleep + 1) % (options.conns * options.depth);
        load.nasleep--;
        start_tasks(s);
        flush(s->conn);
    }
}

static void
poll_once(void)
{
    struct epoll_event ev[64];
    int i, n = epoll_wait(load.ep, ev, 64, poll_ms());

    load.now = now_ns();
    wake_slots();
    for (i = 0; i < n; i++) {
        struct conn *c = ev[i].data.ptr;

        if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            readable(c);
        flush(c);
    }
    if (options.udp)
        retransmit();
    if (load.now - load.last_progress > STALL_S * 1000000000ull)
        die("no reply for %d s", STALL_S);
}

static void
start_all(void)
{
    uint64_t all = (uint64_t)options.conns * options.depth;
    uint32_t i, k;

    if (options.pause_ms > 0) {         /* spread evenly over the pause */
        for (i = 0; i < all; i++)
            sleep_slot(&load.conns[i % options.conns].slots[i / options.conns],
                       load.now + options.pause_ms * 1000000ull * i / all);
        return;
    }
    for (k = 0; k < options.depth; k++)
        for (i = 0; i < options.conns; i++)
            start_tasks(&load.conns[i].slots[k]);
    for (i = 0; i < options.conns; i++)
        flush(&load.conns[i]);
}

static void
engine_reset(const struct workload *wl, uint64_t limit)
{
    uint32_t i, k;

    load.wl = wl;
    load.next_task = load.task_done = 0;
    load.task_limit = limit;
    load.draining = false;
    load.first_asleep = load.nasleep = 0;
    load.now = load.last_progress = now_ns();
    for (i = 0; i < options.conns; i++)
        for (k = 0; k < options.depth; k++)
            load.conns[i].slots[k].step = 0;
}

static void
drain(void)
{
    load.draining = true;
    while (load.outstanding)
        poll_once();
}

void
run_tasks(const struct workload *wl, uint64_t limit)
{
    if (limit == 0)
        return;
    engine_reset(wl, limit);
    start_all();
    while (load.task_done < limit && (load.outstanding || load.nasleep))
        poll_once();
    drain();
}

static void
run_counted(const struct workload *wl, uint64_t limit)
{
    engine_reset(wl, limit);
    window_open();
    start_all();
    while (load.outstanding || load.nasleep)
        poll_once();
    window_close();
}

static void
run_timed(const struct workload *wl)
{
    uint64_t t;

    engine_reset(wl, 0);
    start_all();
    t = load.now + (uint64_t)(options.warmup * 1e9);
    while (load.now < t && (load.outstanding || load.nasleep))
        poll_once();
    window_open();
    t = load.start + (uint64_t)(options.seconds * 1e9);
    while ((load.now < t || stats.ops < OPS_MIN) && (load.outstanding || load.nasleep))
        poll_once();
    window_close();
    drain();
}

void
run(const struct workload *wl)
{
    if (options.count)
        run_counted(wl, options.count);
    else
        run_timed(wl);
}

void
connect_all(void)
{
    load.hdr_len = (size_t)(put_header(load.hdr, 0, NFS_PROG, 3, 0) - load.hdr);
    load.rxbuf = xcalloc(RX_CHUNK, 1);
    load.ep = epoll_create1(0);
    load.conns = xcalloc(options.conns, sizeof(*load.conns));
    load.asleep = xcalloc((size_t)options.conns * options.depth, sizeof(struct slot *));
    for (uint32_t i = 0; i < options.conns; i++)
        conn_init(&load.conns[i]);
}
