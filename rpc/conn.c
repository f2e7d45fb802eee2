/*
 * rpc/conn.c - one stream connection.
 *
 * Receiving: the socket is read into a large buffer, calls are cut from it where they lie, and each holds a reference
 * of the buffer. A buffer that calls still refer to is filled further while there is room, then left to them; only the
 * record that is incomplete moves on. Of a large record no more is read than its end and a few KiB, so that its bytes
 * land where they will stay. A connection that has nothing to say holds no buffer.
 *
 * Sending: replies gather in a queue (send_queue.h). All of it leaves in one sendmsg() before the loop sleeps.
 */
#include "rpc/conn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#include "rpc/message.h"
#include "rpc/record.h"
#include "rpc/send_queue.h"
#include "rpc/source.h"

#define RECEIVE_BYTES ((size_t)256 << 10)   /* of a receive buffer for small calls */
#define LARGE_INPUT ((size_t)320 << 10)     /* a receive buffer beyond this is for one large record */
#define MODEST_BYTES ((size_t)16 << 10)     /* the same while memory is tight; also the least room worth a receive */
#define LARGE_BYTES ((size_t)64 << 10)      /* records from here on are received on their own */
#define AHEAD_BYTES ((size_t)4 << 10)       /* read beyond the end of a large record */
#define STASH_BYTES ((size_t)4 << 10)       /* part of a record that is worth moving to a small buffer meanwhile */
#define TURN_CALLS 256                      /* cut from one connection before others have their turn ... */
#define TURN_LEAST 8                        /* ... and when many others wait for theirs */
#define TURN_READS 8
#define SHARED_BYTES ((size_t)256 << 10)    /* sent at once while other clients have calls: the rest in the next round */
#define SHARED_SMALL ((size_t)16 << 10)     /* received at once while other clients have calls, of small ones ... */
#define SHARED_LARGE ((size_t)128 << 10)    /* ... and of a large one: segments of a few bytes are 1 us each */
#define TURN_LOOKS 4                        /* after so many calls: whether its client's share of the time is used up;
                                               after each one while there are others */
#define SEND_NS 100000                      /* replies do not wait longer for those of calls that came with theirs */
#define WAIT_LOOKS 4                        /* after so many in vain it is cheaper not to watch the socket meanwhile */
#define SCARCE_CALLS 16                     /* of one connection while calls are scarce */
#define MOVED_MIN ((size_t)64 << 10)        /* bytes between two looks at a connection that sits on memory */
#define KEEPALIVE_PROBES 6
#define STARVED_MAX 1000                    /* retries; then a connection that sits on memory is closed */

struct conn {
    struct call_source source;
    struct loop_fd watch;
    int fd;
    struct sockaddr_storage peer, local;
    socklen_t address_len;
    bool throttled;                     /* calls or replies are at their bound, or a call holds it: nothing is cut */
    bool reading;                       /* the socket is watched for reading */
    bool blocked;                       /* ... and for writing: it took less than there was */
    bool eof;                           /* the client has sent all it will */
    bool unread;                        /* could be read, but it was not its client's turn */
    bool resetting;                     /* it is closed by a reset once what is queued has left */
    uint8_t looks;                      /* how often the loop has told of it while it waited for its turn */
    unsigned starved_times;
    uint64_t moved_bytes;               /* either way since conn_stalled() */
    uint64_t held_bytes;                /* that its client was told of */
    uint32_t held_calls;                /* likewise */

    struct record record;
    struct buf *in;
    size_t in_start, in_end;            /* received and not cut yet */
    size_t expected;                    /* length of the last record with its mark, if that was large; else 0 */

    struct send_queue out;
};

static const struct call_source_ops conn_ops;

static struct conn *
conn_of(struct call_source *source)
{
    return (struct conn *)source;
}

static const struct transport_limits *
conn_limits(const struct conn *conn)
{
    return &conn->source.transport->private->shared->limits;
}

static void
conn_watch(struct conn *conn)
{
    int events = (conn->reading ? EV_READ : 0) | (conn->blocked ? EV_WRITE : 0);

    loop_events(conn->source.transport->loop, &conn->watch, conn->source.transport->paused ? 0 : events);
}

static void
conn_rewatch(struct call_source *source)
{
    conn_watch(conn_of(source));
}

static void
drop_input(struct conn *conn)
{
    buf_put(conn->in);
    conn->in = NULL;
    conn->in_start = conn->in_end = 0;
}

/* Memory for replies stays while there are any, queued or begun. */
static void
rest_output(struct conn *conn)
{
    if (conn->source.replying == NULL)
        send_queue_rest(&conn->out);
}

/*
 * Tell its client what it holds for him: replies that he has not taken, a buffer for a large record, calls. Once a turn,
 * not for each call, since all workers share what is counted.
 */
static void
hold(struct conn *conn)
{
    uint64_t bytes = conn->out.bytes;
    uint32_t calls = conn->source.outstanding;

    if (conn->in != NULL && conn->in->capacity > LARGE_INPUT)
        bytes += conn->in->capacity;
    client_hold(conn->source.client, bytes, conn->held_bytes);
    client_count_calls(conn->source.client, calls, conn->held_calls);
    conn->held_bytes = bytes;
    conn->held_calls = calls;
}

/* He has his share of the memory, or of the calls: what is under way for him goes on, and nothing new begins. */
static bool
client_is_full(const struct conn *conn)
{
    const struct transport_limits *limits = conn_limits(conn);
    const struct client *client = conn->source.client;

    return (limits->bytes_per_client > 0 && client_held(client) >= limits->bytes_per_client) ||
           (limits->calls_per_client > 0 && client_calls(client) >= limits->calls_per_client);
}

static void
conn_close(struct call_source *source)
{
    struct conn *conn = conn_of(source);
    struct transport *transport = source->transport;

    if (source->is_closed)
        return;
    loop_unwatch(transport->loop, &conn->watch);
    close(conn->fd);
    drop_input(conn);
    send_queue_drop(&conn->out);
    rest_output(conn);
    atomic_fetch_sub_explicit(&transport->private->shared->connections, 1, memory_order_relaxed);
    hold(conn);
    clients_leave(transport->private->shared->clients, source->client);
    atomic_store_explicit(&transport->connections, transport->connections - 1, memory_order_relaxed);
    stat_add(&transport->stats.conns_closed, 1);
    source_closed(source);
}

static void
conn_free(struct call_source *source)
{
    struct conn *conn = conn_of(source);

    send_queue_fini(&conn->out);
    hold(conn);                         /* calls that outlived the connection are over */
    clients_put(source->transport->private->shared->clients, source->client);
    free(conn);
}

static size_t
conn_held(const struct conn *conn)
{
    return conn->in_end - conn->in_start;
}

/* Go on in another buffer; what calls refer to stays in the old one. */
static int
move_input(struct conn *conn, size_t capacity)
{
    struct buf_pool *buffers = conn->source.transport->buffers;
    size_t held = conn_held(conn);
    struct buf *buf = NULL;

    if (capacity <= LARGE_INPUT || !client_is_full(conn))
        buf = buf_get_spare(buffers, capacity);
    if (buf == NULL && held > 0 && source_goes_first(&conn->source))
        buf = buf_get(buffers, capacity);
    if (buf == NULL)
        return -ENOMEM;
    if (held > 0)
        memcpy(buf->data, conn->in->data + conn->in_start, held);
    buf_put(conn->in);
    conn->in = buf;
    conn->in_start = 0;
    conn->in_end = held;
    hold(conn);
    return 0;
}

/* See that there is room for what comes next. *want: how much to receive. Returns 0 or -ENOMEM. */
static int
make_room(struct conn *conn, size_t *want)
{
    size_t held = conn_held(conn);
    size_t extent = record_extent(&conn->record);
    size_t target;

    if (extent == 0)
        extent = conn->expected;
    target = extent > LARGE_BYTES ? extent + AHEAD_BYTES : RECEIVE_BYTES;
    if (buf_tight(conn->source.transport->buffers))
        target = MIN(target, MAX(MODEST_BYTES, 2 * held));

    if (conn->in != NULL && conn->in->refs == 1 && conn->in_start > 0 && conn->in->capacity >= target &&
        conn->in->capacity - conn->in_start < target) {
        memmove(conn->in->data, conn->in->data + conn->in_start, held);
        conn->in_start = 0;
        conn->in_end = held;
    }
    if (conn->in == NULL || conn->in->capacity - conn->in_start < target) {
        size_t room = conn->in == NULL ? 0 : conn->in->capacity - conn->in_end;

        if (extent <= LARGE_BYTES && room >= MODEST_BYTES) {
            *want = room;
            return 0;
        }
        if (move_input(conn, target) < 0) {
            if (room == 0)
                return -ENOMEM;
            *want = room;
            return 0;
        }
    }
    *want = target - held;
    return 0;
}

static uint32_t
calls_max(const struct conn *conn)
{
    uint32_t max = conn_limits(conn)->calls_per_conn;

    return call_scarce(conn->source.transport) ? MIN(max, SCARCE_CALLS) : max;
}

/* Bytes of replies: not taken by the client yet, or to be expected of calls that are under way. */
static uint64_t
reply_bytes(const struct conn *conn)
{
    return conn->out.bytes + conn->source.expected_bytes;
}

static bool
is_full(const struct conn *conn)
{
    const struct transport_limits *limits = conn_limits(conn);

    return conn->source.outstanding >= calls_max(conn) || reply_bytes(conn) >= limits->reply_bytes_per_conn ||
           conn->source.holds > 0;
}

static bool
is_half_empty(const struct conn *conn)
{
    const struct transport_limits *limits = conn_limits(conn);

    return conn->source.outstanding <= calls_max(conn) / 2 &&
           reply_bytes(conn) <= limits->reply_bytes_per_conn / 2 && conn->source.holds == 0;
}

/* No memory for now: the transport resumes us in a moment. */
static void
starve(struct conn *conn)
{
    if (conn->starved_times++ > STARVED_MAX && conn->in != NULL && conn->source.outstanding == 0) {
        conn_close(&conn->source);
        return;
    }
    conn->reading = false;
    conn_watch(conn);
    source_starved(&conn->source);
}

/* Hand one record over. Returns 0, or -EBADMSG when the stream makes no sense. */
static int
deliver(struct conn *conn, struct call *call, const uint8_t *data, size_t size)
{
    memcpy(&call->peer, &conn->peer, conn->address_len);
    memcpy(&call->local, &conn->local, conn->address_len);
    source_went_first(&conn->source);
    return call_deliver(call, conn->in, data, size);
}

/* Send all that the socket takes. Returns 0 or -errno when the connection is broken. */
static int
write_out(struct conn *conn)
{
    size_t sent;
    size_t most = source_is_among_others(&conn->source) ? SHARED_BYTES : SIZE_MAX;
    int err = send_queue_write(&conn->out, conn->fd, most, &sent);

    stat_add(&conn->source.transport->stats.bytes_out, sent);
    conn->moved_bytes += sent;
    if (sent > 0)
        source_moved(&conn->source);
    conn->blocked = err == -EAGAIN;
    return conn->blocked ? 0 : err;
}

/* Hand over the whole calls among what has been received. */
static void
cut_calls(struct conn *conn)
{
    struct transport *transport = conn->source.transport;
    unsigned turn = MAX(TURN_CALLS / (transport->private->nready + 1), TURN_LEAST);
    uint64_t sent_ns = 0;

    if (conn->in == NULL || conn->resetting)
        return;
    for (unsigned n = 0; n < turn; n++) {
        uint8_t *data = conn->in->data + conn->in_start;
        size_t len = conn_held(conn);
        size_t size, used;
        struct call *call;
        int err;

        if (is_full(conn)) {
            conn->throttled = true;
            return;
        }
        if (transport->draining)
            return;
        if (client_is_full(conn)) {     /* maybe with other connections, so it is not this one that will notice the end */
            conn->reading = false;
            conn_watch(conn);
            source_starved(&conn->source);
            return;
        }
        call = call_new(&conn->source);
        if (call == NULL) {
            starve(conn);
            return;
        }
        err = record_cut(&conn->record, data, &len, &size, &used);
        if (err <= 0 || size == 0)
            call_free(call);
        if (err == 0) {
            conn->in_end = conn->in_start + len;
            return;
        }
        if (err > 0) {
            conn->in_start += used;
            conn->expected = used > LARGE_BYTES ? used : 0;
            if (size > 0)
                err = deliver(conn, call, data + RECORD_MARK_BYTES, size);
        } else {
            stat_add(&transport->stats.bad_records, 1);
        }
        if (err < 0) {
            conn_close(&conn->source);
            return;
        }
        if (n % TURN_LOOKS != TURN_LOOKS - 1 && !source_is_among_others(&conn->source))
            continue;
        if (source_turn_is_over(&conn->source))
            break;
        if (source_turn_ns(&conn->source) - sent_ns < SEND_NS)
            continue;
        sent_ns = source_turn_ns(&conn->source);
        if (!send_queue_is_empty(&conn->out) && !conn->blocked && write_out(conn) < 0) {
            conn_close(&conn->source);
            return;
        }
    }
    source_ready(&conn->source);
}

/* What recv() said when it brought nothing. */
static void
receive_ended(struct conn *conn, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n < 0) {
        conn_close(&conn->source);
        return;
    }
    conn->eof = true;
    conn->reading = false;
    conn_watch(conn);
}

/* How much of `want` to receive at once: what a client has sent in tiny segments must not keep the others waiting. */
static size_t
share_of(const struct conn *conn, size_t want)
{
    if (!source_is_among_others(&conn->source))
        return want;
    return MIN(want, record_extent(&conn->record) > LARGE_BYTES ? SHARED_LARGE : SHARED_SMALL);
}

static void
receive_turn(struct conn *conn)
{
    struct call_source *source = &conn->source;
    size_t want;
    ssize_t n;

    conn->unread = false;
    conn->looks = 0;
    source_dirty(source);
    for (unsigned i = 0; i < TURN_READS; i++) {
        if (make_room(conn, &want) < 0) {
            starve(conn);
            return;
        }
        want = share_of(conn, want);
        n = recv(conn->fd, conn->in->data + conn->in_end, want, MSG_DONTWAIT);
        if (n <= 0) {
            receive_ended(conn, n);
            return;
        }
        stat_add(&source->transport->stats.bytes_in, (uint64_t)n);
        conn->starved_times = 0;
        conn->moved_bytes += (uint64_t)n;
        source_used(source);
        conn->in_end += (size_t)n;
        cut_calls(conn);
        if (source->is_closed || source->is_ready || source->is_starved || conn->throttled || (size_t)n < want ||
            source_turn_is_over(source))
            return;
    }
}

/* A buffer that is not needed any more is warm for the next connection. */
static void
receive(struct conn *conn)
{
    receive_turn(conn);
    if (conn->in != NULL && conn->in->refs == 1 && conn_held(conn) == 0)
        drop_input(conn);
}

static void
conn_ready(struct loop_fd *watch, int events)
{
    struct conn *conn = (struct conn *)((char *)watch - offsetof(struct conn, watch));

    if (events & EV_WRITE) {
        conn->blocked = false;
        source_dirty(&conn->source);
    }
    if ((events & EV_READ) == 0)
        return;
    if (conn->throttled || (conn->source.is_ready && ++conn->looks >= WAIT_LOOKS)) {     /* the socket has to wait, too */
        conn->reading = false;
        conn_watch(conn);
        return;
    }
    if (conn->source.is_ready)
        return;
    /* Who has sent half a call holds memory until the rest is here: he does not stand behind those that have yet to begin. */
    if ((conn->in != NULL || !source_has_waiting(&conn->source)) && source_turn_begins(&conn->source)) {
        receive(conn);
        source_turn_ends(&conn->source);
    } else {
        conn->unread = true;
        source_ready(&conn->source);
    }
}

static void
conn_resume(struct call_source *source)
{
    struct conn *conn = conn_of(source);

    source_dirty(source);
    cut_calls(conn);
    if (source->is_closed || source->is_starved || conn->throttled || conn->eof || conn->resetting ||
        source->transport->draining)
        return;
    if (!conn->reading) {
        conn->reading = true;
        conn_watch(conn);
    }
    if (conn->unread && !source->is_ready)
        receive(conn);
}

static uint8_t *
conn_space(struct call_source *source, size_t bytes)
{
    return send_queue_space(&conn_of(source)->out, source->transport->buffers, bytes);
}

static void
conn_send(struct call_source *source, struct call *call)
{
    struct conn *conn = conn_of(source);

    if (!source->is_closed && !conn->resetting)
        send_queue_add(&conn->out, call);
}

/* Close it so that the peer gets a reset (socket(7), SO_LINGER). */
static void
close_by_reset(struct conn *conn)
{
    const struct linger none = { .l_onoff = 1 };

    setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    conn_close(&conn->source);
}

static void
conn_reset(struct call_source *source, struct call *call, size_t bytes)
{
    struct conn *conn = conn_of(source);

    if (call == NULL && !source->is_closed)
        close_by_reset(conn);
    if (source->is_closed || conn->resetting)
        return;
    send_queue_add(&conn->out, call);
    send_queue_trim(&conn->out, (size_t)(call->reply.p - call->reply_start) - bytes);
    conn->resetting = true;
    conn->reading = false;
    conn_watch(conn);
}

/* Let go of input buffers that hold nothing, or too little. */
static void
rest_input(struct conn *conn)
{
    size_t held = conn_held(conn);

    if (conn->in == NULL || conn->source.is_ready || conn->throttled)
        return;
    if (held == 0 && (conn->in->refs == 1 || conn->in->capacity - conn->in_end < MODEST_BYTES))
        drop_input(conn);
    else if (held > 0 && held <= STASH_BYTES && conn->in->refs == 1 && conn->in->capacity > STASH_BYTES)
        (void)move_input(conn, STASH_BYTES);             /* where it cannot be had, the large one stays */
}

static void
conn_flush(struct call_source *source)
{
    struct conn *conn = conn_of(source);

    if (!send_queue_is_empty(&conn->out) && !conn->blocked && write_out(conn) < 0) {
        conn_close(source);
        return;
    }
    if (conn->resetting && send_queue_is_empty(&conn->out)) {
        close_by_reset(conn);
        return;
    }
    if (conn->throttled && is_half_empty(conn)) {
        conn->throttled = false;
        source_ready(source);
    }
    rest_output(conn);
    rest_input(conn);
    hold(conn);
    if (conn->eof && source->outstanding == 0 && send_queue_is_empty(&conn->out) && !source->is_ready &&
        !source->is_starved && !conn->throttled) {
        conn_close(source);
        return;
    }
    conn_watch(conn);
}

static void
conn_stop(struct call_source *source)
{
    struct conn *conn = conn_of(source);

    conn->reading = false;
    conn_watch(conn);
}

static int
conn_copy(struct call_source *source, struct handed_list *list)
{
    struct conn *conn = conn_of(source);
    struct handed_conn *copy = handed_add(list);

    if (copy == NULL)
        return -ENOMEM;
    copy->fd = fcntl(conn->fd, F_DUPFD_CLOEXEC, 0);
    if (copy->fd < 0)
        return -errno;
    copy->record = conn->record;
    if (conn_held(conn) > 0) {
        copy->in = malloc(conn_held(conn));
        if (copy->in == NULL)
            return -ENOMEM;
        copy->in_len = conn_held(conn);
        memcpy(copy->in, conn->in->data + conn->in_start, copy->in_len);
    }
    return send_queue_copy(&conn->out, source->transport->buffers, &copy->out, &copy->out_len);
}

static bool
conn_sent(const struct call_source *source)
{
    return send_queue_is_empty(&((const struct conn *)source)->out);
}

/* Replies that are not taken, or a call that does not go on; calls under way are for us to end. */
static bool
conn_stalled(struct call_source *source)
{
    struct conn *conn = conn_of(source);
    bool slow = conn->moved_bytes < MOVED_MIN;
    bool holds = !send_queue_is_empty(&conn->out) || (source->outstanding == 0 && conn_held(conn) > STASH_BYTES);

    conn->moved_bytes = 0;
    return slow && holds;
}

static bool
conn_idle(const struct call_source *source)
{
    const struct conn *conn = (const struct conn *)source;

    return source->outstanding == 0 && send_queue_is_empty(&conn->out) && conn_held(conn) == 0 && !source->is_ready;
}

static const struct call_source_ops conn_ops = {
    .stalled = conn_stalled,
    .idle = conn_idle,
    .space = conn_space,
    .send = conn_send,
    .reset = conn_reset,
    .watch = conn_rewatch,
    .resume = conn_resume,
    .flush = conn_flush,
    .stop = conn_stop,
    .copy = conn_copy,
    .sent = conn_sent,
    .close = conn_close,
    .free = conn_free,
};

/* A peer that does not answer is given up after twice the time. */
static void
set_keepalive(int fd, int seconds)
{
    const int interval = MAX(seconds / KEEPALIVE_PROBES, 1), probes = KEEPALIVE_PROBES, patience_ms = 2000 * seconds;

    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms));
}

/* Failures are of no consequence: a socket of another family knows no such options. */
static void
set_options(const struct transport_limits *limits, int fd)
{
    const int on = 1, nodelay = !limits->delay_small;
    const uint32_t keepalive_s = limits->keepalive_s, buffer = limits->socket_buffer;
    const int size = (int)MIN(buffer, INT32_MAX / 2);

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, sizeof(nodelay));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (keepalive_s > 0)
        set_keepalive(fd, (int)MIN(keepalive_s, INT16_MAX));
    if (size > 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    }
}

/*
 * Who is at the other end. A Unix socket has no address, and somebody on this machine has given us that end himself, or
 * could open a socket that is private to the server's user: he counts as root there does. Returns 0 or -errno.
 */
static int
find_addresses(struct conn *conn, int fd)
{
    const struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                                      .sin_port = htons(IPPORT_RESERVED - 1) };
    socklen_t peer_len = sizeof(conn->peer), local_len = sizeof(conn->local);

    if (getpeername(fd, (struct sockaddr *)&conn->peer, &peer_len) < 0 ||
        getsockname(fd, (struct sockaddr *)&conn->local, &local_len) < 0)
        return -errno;
    if (conn->peer.ss_family == AF_UNIX) {
        memset(&conn->peer, 0, sizeof(conn->peer));
        memcpy(&conn->peer, &here, sizeof(here));
        conn->local = conn->peer;
        peer_len = local_len = sizeof(here);
    }
    conn->address_len = MIN(MAX(peer_len, local_len), sizeof(struct sockaddr_storage));
    return 0;
}

/* Where the other process was: what had come is looked at, and what had not left is sent, before the loop sleeps. */
static int
restore(struct conn *conn, const struct handed_conn *from)
{
    struct buf_pool *buffers = conn->source.transport->buffers;

    if (!record_restore(&conn->record, &from->record, from->in_len))
        return -EBADMSG;
    if (from->in_len > 0) {
        conn->in = buf_get(buffers, from->in_len);
        if (conn->in == NULL)
            return -ENOMEM;
        memcpy(conn->in->data, from->in, from->in_len);
        conn->in_end = from->in_len;
    }
    return send_queue_restore(&conn->out, buffers, from->out, from->out_len);
}

int
conn_open(struct transport *transport, int fd, const struct handed_conn *from)
{
    struct transport_shared *shared = transport->private->shared;
    struct conn *conn;
    int err = 0;

    if (atomic_fetch_add_explicit(&shared->connections, 1, memory_order_relaxed) >= shared->limits.connections &&
        !source_close_idle(transport, NULL))
        err = -EMFILE;
    else if (transport->draining)
        err = -ESHUTDOWN;
    conn = err < 0 ? NULL : calloc(1, sizeof(*conn));
    if (conn == NULL) {
        err = err < 0 ? err : -ENOMEM;
        goto fail;
    }
    err = find_addresses(conn, fd);
    if (err < 0)
        goto fail;
    err = clients_enter(shared->clients, (const struct sockaddr *)&conn->peer, &conn->source.client);
    if (err == -EUSERS && source_close_idle(transport, (const struct sockaddr *)&conn->peer))
        err = clients_enter(shared->clients, (const struct sockaddr *)&conn->peer, &conn->source.client);
    if (err < 0)
        goto fail;
    conn->fd = fd;
    conn->reading = true;
    conn->source.stream = true;
    conn->source.reply_max = (RECORD_LAST - 1) - MESSAGE_ACCEPTED_BYTES;
    record_init(&conn->record, shared->limits.record_bytes);
    set_options(&shared->limits, fd);
    source_opened(transport, &conn->source, &conn_ops);
    loop_watch(transport->loop, &conn->watch, fd, transport->paused ? 0 : EV_READ, conn_ready);
    atomic_store_explicit(&transport->connections, transport->connections + 1, memory_order_relaxed);
    stat_add(&transport->stats.conns_opened, 1);
    if (from == NULL)
        return 0;
    err = restore(conn, from);
    if (err < 0)
        conn_close(&conn->source);
    else
        source_ready(&conn->source);
    return err;
fail:
    stat_add(&transport->stats.conns_refused, 1);
    free(conn);
    atomic_fetch_sub_explicit(&shared->connections, 1, memory_order_relaxed);
    close(fd);
    return err;
}
