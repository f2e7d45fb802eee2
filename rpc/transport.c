/*
 * rpc/transport.c - a worker's sources of calls, and what happens to them before the loop sleeps.
 *
 * Then, in this order: sources that had to wait are resumed, the owner's before_wait() runs, all replies that are ready
 * are sent, closed sources are freed.
 */
#include "rpc/transport.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#include "rpc/conn.h"
#include "rpc/handed.h"
#include "rpc/source.h"
#include "rpc/udp.h"

#define STARVED_RETRY_MS 10
#define FIRST_MS UINT64_C(1000)          /* then another one may use what is reserved for one at a time */
#define STALLED_MS 5000                 /* between two looks for clients that sit on memory while it is tight */
#define CLOSE_LOOKS 1024                /* at connections, for one that may be closed */
#define IDLE_LOOKS 8                    /* in idle_ms */
#define YIELDED_LOOKS 64                /* at calls that have let others go first, in one round */
#define PIPES_MAX 64

void
source_opened(struct transport *transport, struct call_source *source, const struct call_source_ops *ops)
{
    source->transport = transport;
    source->ops = ops;
    /* Who is not counted, as on a Unix socket, is a client by himself with each connection. */
    source->lane = (uint16_t)turns_lane(source->client != NULL ? (const void *)source->client : (const void *)source);
    TAILQ_INSERT_TAIL(&transport->private->open, source, all);
    source_moved(source);
}

static void
leave_ready(struct call_source *source)
{
    struct transport_private *private = source->transport->private;
    struct ready_lane *lane = &private->ready[source->lane];

    TAILQ_REMOVE(&lane->sources, source, ready);
    if (TAILQ_EMPTY(&lane->sources)) {
        TAILQ_REMOVE(&private->ready_lanes, lane, next);
        private->nready_lanes--;
    }
    private->nready--;
    source->is_ready = false;
}

static void
forget_waiting(struct call_source *source)
{
    struct transport_private *private = source->transport->private;

    if (source->is_dirty)
        TAILQ_REMOVE(&private->dirty, source, dirty);
    if (source->is_ready)
        leave_ready(source);
    if (source->is_starved)
        TAILQ_REMOVE(&private->starved, source, starved);
    source->is_dirty = source->is_starved = false;
    source_went_first(source);
}

void
source_closed(struct call_source *source)
{
    struct transport_private *private = source->transport->private;

    forget_waiting(source);
    source->is_closed = true;
    TAILQ_REMOVE(&private->open, source, all);
    TAILQ_INSERT_TAIL(&private->closed, source, all);
}

void
source_dirty(struct call_source *source)
{
    if (source->is_dirty || source->is_closed)
        return;
    source->is_dirty = true;
    TAILQ_INSERT_TAIL(&source->transport->private->dirty, source, dirty);
}

void
source_used(struct call_source *source)
{
    struct source_list *open = &source->transport->private->open;

    TAILQ_REMOVE(open, source, all);
    TAILQ_INSERT_TAIL(open, source, all);
    source_moved(source);
}

void
source_moved(struct call_source *source)
{
    source->moved_look = source->transport->private->looks;
}

/*
 * Whoever only connects must not push out those who work, though they may have been silent for longer. Those that have been
 * silent for longest are looked at, not all: this runs for each new connection of a flood.
 */
bool
source_close_idle(struct transport *transport, const struct sockaddr *client)
{
    struct call_source *source, *longest = NULL;
    unsigned looks = CLOSE_LOOKS;

    TAILQ_FOREACH(source, &transport->private->open, all) {
        if (looks-- == 0 || (longest != NULL && !longest->has_called))
            break;
        if (!source->ops->idle(source) || (client != NULL && !clients_is(source->client, client)))
            continue;
        if (longest == NULL || !source->has_called)
            longest = source;
    }
    if (longest == NULL)
        return false;
    longest->ops->close(longest);
    return true;
}

void
source_ready(struct call_source *source)
{
    struct transport_private *private = source->transport->private;
    struct ready_lane *lane;

    if (source->is_ready || source->is_closed)
        return;
    lane = &private->ready[source->lane];
    if (TAILQ_EMPTY(&lane->sources)) {
        TAILQ_INSERT_TAIL(&private->ready_lanes, lane, next);
        private->nready_lanes++;
    }
    source->is_ready = true;
    TAILQ_INSERT_TAIL(&lane->sources, source, ready);
    private->nready++;
}

bool
source_has_waiting(const struct call_source *source)
{
    return !TAILQ_EMPTY(&source->transport->private->ready[source->lane].sources);
}

bool
source_turn_begins(struct call_source *source)
{
    return turns_begin(&source->transport->private->turns, source->lane);
}

bool
source_turn_is_over(struct call_source *source)
{
    return turns_is_over(&source->transport->private->turns);
}

uint64_t
source_turn_ns(const struct call_source *source)
{
    return turns_lasted_ns(&source->transport->private->turns);
}

void
source_turn_ends(struct call_source *source)
{
    turns_end(&source->transport->private->turns);
}

bool
source_is_among_others(const struct call_source *source)
{
    return turns_are_shared(&source->transport->private->turns);
}

static void
starved_fired(struct loop_timer *timer)
{
    struct transport_private *private =
        (struct transport_private *)((char *)timer - offsetof(struct transport_private, starved_timer));
    struct call_source *source;

    while ((source = TAILQ_FIRST(&private->starved)) != NULL) {
        TAILQ_REMOVE(&private->starved, source, starved);
        source->is_starved = false;
        source_ready(source);
    }
}

void
source_starved(struct call_source *source)
{
    struct transport_private *private = source->transport->private;

    if (source->is_starved || source->is_closed)
        return;
    if (TAILQ_EMPTY(&private->starved))
        loop_timer_start(source->transport->loop, &private->starved_timer, STARVED_RETRY_MS, starved_fired);
    source->is_starved = true;
    TAILQ_INSERT_TAIL(&private->starved, source, starved);
}

bool
source_goes_first(struct call_source *source)
{
    struct transport_private *private = source->transport->private;

    if (private->first == NULL || private->turns.began_ns - private->first_ns >= FIRST_MS * 1000000) {
        private->first = source;
        private->first_ns = private->turns.began_ns;
    }
    return private->first == source;
}

void
source_went_first(struct call_source *source)
{
    struct transport_private *private = source->transport->private;

    if (private->first == source)
        private->first = NULL;
}

/*
 * What one client does not take, or does not finish, is missing for all the others. A look when memory is not tight only
 * starts the count again.
 */
static void
stalled_fired(struct loop_timer *timer)
{
    struct transport_private *private =
        (struct transport_private *)((char *)timer - offsetof(struct transport_private, stalled_timer));
    struct transport *transport = private->transport;
    bool tight = buf_tight(transport->buffers);
    struct call_source *source, *next;

    for (source = TAILQ_FIRST(&private->open); source != NULL; source = next) {
        next = TAILQ_NEXT(source, all);
        if (source->ops->stalled(source) && tight && !transport->paused)
            source->ops->close(source);
    }
    buf_pool_rest(transport->buffers);
    loop_timer_start(transport->loop, timer, STALLED_MS, stalled_fired);
}

/* Who has no call under way and has moved no byte since the eighth look before this one is gone, or does not want more. */
static void
idle_fired(struct loop_timer *timer)
{
    struct transport_private *private =
        (struct transport_private *)((char *)timer - offsetof(struct transport_private, idle_timer));
    struct transport *transport = private->transport;
    struct call_source *source, *next;

    private->looks++;
    for (source = TAILQ_FIRST(&private->open); source != NULL && !transport->paused; source = next) {
        next = TAILQ_NEXT(source, all);
        if (!source->stream || source->outstanding > 0 || private->looks - source->moved_look <= IDLE_LOOKS)
            continue;
        stat_add(&transport->stats.conns_idle, 1);
        source->ops->close(source);
    }
    loop_timer_start(transport->loop, timer, private->shared->limits.idle_ms / IDLE_LOOKS + 1, idle_fired);
}

void
transport_retune(struct transport *transport)
{
    struct transport_private *private = transport->private;
    uint64_t idle_ms = private->shared->limits.idle_ms;

    if (idle_ms > 0)
        loop_timer_start(transport->loop, &private->idle_timer, idle_ms / IDLE_LOOKS + 1, idle_fired);
    else
        loop_timer_stop(transport->loop, &private->idle_timer);
}

static void
free_closed(struct transport_private *private)
{
    struct call_source *source, *next;

    for (source = TAILQ_FIRST(&private->closed); source != NULL; source = next) {
        next = TAILQ_NEXT(source, all);
        if (source->outstanding > 0)
            continue;
        TAILQ_REMOVE(&private->closed, source, all);
        source->ops->free(source);
    }
}

static bool
all_sent(const struct transport *transport)
{
    const struct call_source *source;

    if (transport->outstanding > 0)
        return false;
    TAILQ_FOREACH(source, &transport->private->open, all) {
        if (!source->ops->sent(source))
            return false;
    }
    return true;
}

static void
drain_ended(struct transport *transport)
{
    struct transport_private *private = transport->private;
    void (*drained)(void *context) = private->drained;

    private->drained = NULL;
    loop_timer_stop(transport->loop, &private->drain_timer);
    drained(transport->context);
}

/*
 * Calls that have let others go first, in the order in which they did; those whose client has had his share are looked at
 * again in the next round. They go on whatever becomes of their connections, and while the transport is paused.
 */
static void
resume_yielded(struct transport_private *private)
{
    for (unsigned n = MIN(private->nyielded, YIELDED_LOOKS); n > 0; n--) {
        struct call *call = private->first_yielded;
        struct call_source *source = call->source;

        private->first_yielded = call->next;
        private->nyielded--;
        call->next = NULL;
        if (source_turn_begins(source)) {
            call->go_on(call);
            source_turn_ends(source);
        } else {
            call_yield(call, call->go_on);
        }
    }
}

/* Those of a client, each once, in the order in which they came. */
static void
resume_lane(struct transport_private *private, struct ready_lane *lane)
{
    unsigned number = (unsigned)(lane - private->ready);
    struct call_source *source, *last = TAILQ_LAST(&lane->sources, source_list);
    bool was_last = false;

    while (!was_last && (source = TAILQ_FIRST(&lane->sources)) != NULL && turns_begin(&private->turns, number)) {
        was_last = source == last;
        leave_ready(source);
        source->ops->resume(source);
        source_turn_ends(source);
    }
}

/* Those that had calls left, or had not had a turn yet, a client after the other. */
static void
resume_ready(struct transport_private *private)
{
    struct ready_lane *lane;

    for (unsigned n = private->nready_lanes; n > 0 && (lane = TAILQ_FIRST(&private->ready_lanes)) != NULL; n--) {
        resume_lane(private, lane);
        if (lane == TAILQ_FIRST(&private->ready_lanes)) {
            TAILQ_REMOVE(&private->ready_lanes, lane, next);
            TAILQ_INSERT_TAIL(&private->ready_lanes, lane, next);
        }
    }
}

/*
 * What has waited. Calls that have begun go before connections of the same client, so that he has no more of them than can be
 * ended: with thousands of listings under way they take memory, and all of the pool's threads.
 */
static void
resume(struct transport *transport)
{
    struct transport_private *private = transport->private;

    turns_next_round(&private->turns);
    resume_yielded(private);
    if (!transport->paused)
        resume_ready(private);
    turns_next_round(&private->turns);
}

/* Whether all calls are answered, and all datagrams have left; streams may be left as they are. */
static bool
may_freeze(const struct transport *transport)
{
    const struct call_source *source;

    if (transport->outstanding > 0)
        return false;
    TAILQ_FOREACH(source, &transport->private->open, all) {
        if (!source->stream && !source->ops->sent(source))
            return false;
    }
    return true;
}

static void
freeze_ended(struct transport *transport, int err)
{
    struct transport_private *private = transport->private;
    void (*frozen)(void *context, int err) = private->frozen;

    private->frozen = NULL;
    private->is_frozen = err == 0;
    loop_timer_stop(transport->loop, &private->drain_timer);
    if (err == 0)
        transport_pause(transport, true);
    frozen(transport->context, err);
}

static void
before_wait(void *context)
{
    struct transport *transport = context;
    struct transport_private *private = transport->private;
    struct call_source *source;

    resume(transport);
    if (private->before_wait != NULL)
        private->before_wait(transport->context);
    while (!transport->paused && (source = TAILQ_FIRST(&private->dirty)) != NULL) {
        TAILQ_REMOVE(&private->dirty, source, dirty);
        source->is_dirty = false;
        source->ops->flush(source);
    }
    if (!TAILQ_EMPTY(&private->closed))
        free_closed(private);
    if (private->drained != NULL && all_sent(transport))
        drain_ended(transport);
    if (private->frozen != NULL && may_freeze(transport))
        freeze_ended(transport, 0);
    loop_busy(transport->loop, (private->nready > 0 && !transport->paused) || private->nyielded > 0);
}

/* splice(2) into a connection that the client has closed raises it, and takes no flag against that. */
static void
block_sigpipe(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int
transport_new(const struct transport_config *config, struct transport **out)
{
    struct transport *transport = calloc(1, sizeof(*transport));
    struct transport_private *private = calloc(1, sizeof(*private));
    int err = -ENOMEM;

    assert(config->call_size >= sizeof(struct call));
    if (!config->driven)
        block_sigpipe();
    if (transport == NULL || private == NULL)
        goto fail;
    transport->private = private;
    transport->context = config->context;
    private->transport = transport;
    private->shared = config->shared;
    private->programs = config->programs;
    private->nprograms = config->nprograms;
    private->call_size = config->call_size;
    private->before_wait = config->before_wait;
    TAILQ_INIT(&private->open);
    TAILQ_INIT(&private->closed);
    TAILQ_INIT(&private->dirty);
    TAILQ_INIT(&private->ready_lanes);
    for (unsigned lane = 0; lane < TURN_LANES; lane++)
        TAILQ_INIT(&private->ready[lane].sources);
    TAILQ_INIT(&private->starved);
    turns_init(&private->turns, turns_clock_ns);
    transport->buffers = buf_pool_new(&config->shared->budget);
    transport->pipes = pipe_pool_new(PIPES_MAX);
    if (transport->buffers == NULL || transport->pipes == NULL)
        goto fail;
    err = config->driven ? loop_new_driven(before_wait, transport, &transport->loop)
                         : loop_new(before_wait, transport, &transport->loop);
    if (err < 0)
        goto fail;
    loop_timer_start(transport->loop, &private->stalled_timer, STALLED_MS, stalled_fired);
    transport_retune(transport);
    *out = transport;
    return 0;
fail:
    if (transport != NULL) {
        buf_pool_free(transport->buffers);
        pipe_pool_free(transport->pipes);
    }
    free(private);
    free(transport);
    return err;
}

void
transport_free(struct transport *transport)
{
    struct transport_private *private;
    struct call_source *source;
    struct buf *next;

    if (transport == NULL)
        return;
    private = transport->private;
    assert(transport->outstanding == 0);
    transport->draining = true;
    while ((source = TAILQ_FIRST(&private->open)) != NULL)
        source->ops->close(source);
    free_closed(private);
    loop_free(transport->loop);
    for (; private->slabs != NULL; private->slabs = next) {
        next = private->slabs->next;
        atomic_fetch_sub_explicit(&private->shared->call_bytes, private->slabs->capacity, memory_order_relaxed);
        buf_put(private->slabs);
    }
    buf_pool_free(transport->buffers);
    pipe_pool_free(transport->pipes);
    free(private);
    free(transport);
}

int
transport_add_connection(struct transport *transport, int fd)
{
    return conn_open(transport, fd, NULL);
}

int
transport_restore_connection(struct transport *transport, struct handed_conn *from)
{
    int fd = from->fd;

    from->fd = -1;
    return conn_open(transport, fd, from);
}

int
transport_add_datagram(struct transport *transport, int fd)
{
    return udp_open(transport, fd);
}

void
transport_pause(struct transport *transport, bool pause)
{
    struct call_source *source;

    transport->paused = pause;
    TAILQ_FOREACH(source, &transport->private->open, all) {
        source->ops->watch(source);
        source_dirty(source);
    }
}

void
transport_reset(struct transport *transport)
{
    struct call_source *source, *next;

    for (source = TAILQ_FIRST(&transport->private->open); source != NULL; source = next) {
        next = TAILQ_NEXT(source, all);
        if (source->stream)
            source->ops->reset(source, NULL, 0);
    }
}

static void
drain_timed_out(struct loop_timer *timer)
{
    struct transport_private *private =
        (struct transport_private *)((char *)timer - offsetof(struct transport_private, drain_timer));

    drain_ended(private->transport);
}

void
transport_drain(struct transport *transport, uint64_t timeout_ms, void (*drained)(void *context))
{
    struct transport_private *private = transport->private;
    struct call_source *source;

    transport->draining = true;
    if (!private->is_frozen)
        transport_pause(transport, false);
    private->drained = drained;
    TAILQ_FOREACH(source, &private->open, all)
        source->ops->stop(source);
    loop_timer_start(transport->loop, &private->drain_timer, private->is_frozen ? 0 : timeout_ms, drain_timed_out);
}

static void
freeze_timed_out(struct loop_timer *timer)
{
    struct transport_private *private =
        (struct transport_private *)((char *)timer - offsetof(struct transport_private, drain_timer));

    freeze_ended(private->transport, -ETIMEDOUT);
}

void
transport_freeze(struct transport *transport, uint64_t timeout_ms, void (*frozen)(void *context, int err))
{
    struct transport_private *private = transport->private;
    struct call_source *source;

    transport->draining = true;
    private->frozen = frozen;
    TAILQ_FOREACH(source, &private->open, all)
        source->ops->stop(source);
    loop_timer_start(transport->loop, &private->drain_timer, timeout_ms, freeze_timed_out);
}

int
transport_copy_connections(struct transport *transport, struct handed_list *list)
{
    struct call_source *source;
    int err = 0;

    assert(transport->private->is_frozen);
    TAILQ_FOREACH(source, &transport->private->open, all) {
        if (source->ops->copy != NULL && err == 0)
            err = source->ops->copy(source, list);
    }
    return err;
}

void
transport_thaw(struct transport *transport)
{
    struct transport_private *private = transport->private;
    struct call_source *source;

    transport->draining = false;
    if (private->is_frozen)
        transport_pause(transport, false);
    private->is_frozen = false;
    TAILQ_FOREACH(source, &private->open, all)
        source_ready(source);
}
