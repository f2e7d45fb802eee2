/*
 * rpc/conn.c - one stream connection: opened, sent to, handed over and closed. conn_input.c receives.
 *
 * Replies gather in a queue (send_queue.h). All of it leaves in one sendmsg() before the loop sleeps.
 */
#include "rpc/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "rpc/conn_private.h"
#include "rpc/message.h"

#define SHARED_BYTES ((size_t)256 << 10)    /* sent at once while other clients have calls: the rest in the next round */
#define MOVED_MIN ((size_t)64 << 10)        /* bytes between two looks at a connection that sits on memory */
#define KEEPALIVE_PROBES 6

static const struct call_source_ops conn_ops;

void
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

/* Memory for replies stays while there are any, queued or begun. */
static void
rest_output(struct conn *conn)
{
    if (conn->source.replying == NULL)
        send_queue_rest(&conn->out);
}

void
conn_hold(struct conn *conn)
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

void
conn_close(struct call_source *source)
{
    struct conn *conn = conn_of(source);
    struct transport *transport = source->transport;

    if (source->is_closed)
        return;
    loop_unwatch(transport->loop, &conn->watch);
    close(conn->fd);
    conn_drop_input(conn);
    send_queue_drop(&conn->out);
    rest_output(conn);
    atomic_fetch_sub_explicit(&transport->private->shared->connections, 1, memory_order_relaxed);
    conn_hold(conn);
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
    conn_hold(conn);                    /* calls that outlived the connection are over */
    clients_put(source->transport->private->shared->clients, source->client);
    free(conn);
}

int
conn_write_out(struct conn *conn)
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

static void
conn_flush(struct call_source *source)
{
    struct conn *conn = conn_of(source);

    if (!send_queue_is_empty(&conn->out) && !conn->blocked && conn_write_out(conn) < 0) {
        conn_close(source);
        return;
    }
    if (conn->resetting && send_queue_is_empty(&conn->out)) {
        close_by_reset(conn);
        return;
    }
    if (conn->throttled && conn_is_half_empty(conn)) {
        conn->throttled = false;
        source_ready(source);
    }
    rest_output(conn);
    conn_rest_input(conn);
    conn_hold(conn);
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
