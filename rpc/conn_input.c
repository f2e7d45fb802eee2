/*
 * rpc/conn_input.c - the receiving side of a stream connection.
 *
 * The socket is read into a large buffer, calls are cut from it where they lie, and each holds a reference of the buffer. A
 * buffer that calls still refer to is filled further while there is room, then left to them; only the record that is
 * incomplete moves on. Of a large record no more is read than its end and a few KiB, so that its bytes land where they will
 * stay. A connection that has nothing to say holds no buffer.
 */
#include "rpc/conn_private.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>

#define RECEIVE_BYTES ((size_t)256 << 10)   /* of a receive buffer for small calls */
#define MODEST_BYTES ((size_t)16 << 10)     /* the same while memory is tight; also the least room worth a receive */
#define LARGE_BYTES ((size_t)64 << 10)      /* records from here on are received on their own */
#define AHEAD_BYTES ((size_t)4 << 10)       /* read beyond the end of a large record */
#define TURN_CALLS 256                      /* cut from one connection before others have their turn ... */
#define TURN_LEAST 8                        /* ... and when many others wait for theirs */
#define TURN_READS 8
#define SHARED_SMALL ((size_t)16 << 10)     /* received at once while other clients have calls, of small ones ... */
#define SHARED_LARGE ((size_t)128 << 10)    /* ... and of a large one: segments of a few bytes are 1 us each */
#define TURN_LOOKS 4                        /* after so many calls: whether its client's share of the time is used up;
                                               after each one while there are others */
#define SEND_NS 100000                      /* replies do not wait longer for those of calls that came with theirs */
#define WAIT_LOOKS 4                        /* after so many in vain it is cheaper not to watch the socket meanwhile */
#define SCARCE_CALLS 16                     /* of one connection while calls are scarce */
#define STARVED_MAX 1000                    /* retries; then a connection that sits on memory is closed */

static const struct transport_limits *
conn_limits(const struct conn *conn)
{
    return &conn->source.transport->private->shared->limits;
}

void
conn_drop_input(struct conn *conn)
{
    buf_put(conn->in);
    conn->in = NULL;
    conn->in_start = conn->in_end = 0;
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
    conn_hold(conn);
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

bool
conn_is_half_empty(const struct conn *conn)
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

/* Replies leave SEND_NS after the last; *sent_ns: when that was in this turn. Returns 0, or -errno: the connection is broken. */
static int
send_due(struct conn *conn, uint64_t *sent_ns)
{
    uint64_t now_ns = source_turn_ns(&conn->source);

    if (now_ns - *sent_ns < SEND_NS)
        return 0;
    *sent_ns = now_ns;
    return send_queue_is_empty(&conn->out) || conn->blocked ? 0 : conn_write_out(conn);
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
        if (send_due(conn, &sent_ns) < 0) {
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
        conn_drop_input(conn);
}

void
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

void
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

void
conn_rest_input(struct conn *conn)
{
    size_t held = conn_held(conn);

    if (conn->in == NULL || conn->source.is_ready || conn->throttled)
        return;
    if (held == 0 && (conn->in->refs == 1 || conn->in->capacity - conn->in_end < MODEST_BYTES))
        conn_drop_input(conn);
    else if (held > 0 && held <= STASH_BYTES && conn->in->refs == 1 && conn->in->capacity > STASH_BYTES)
        (void)move_input(conn, STASH_BYTES);             /* where it cannot be had, the large one stays */
}
