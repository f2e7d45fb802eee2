/*
 * rpc/udp.c - a datagram socket.
 *
 * Datagrams arrive in batches, each in a slot of its own that holds the longest one there can be. Short ones, the usual
 * case, are copied together, so that a call that takes its time does not keep 64 KiB. A reply leaves from the address
 * that was called (IP_PKTINFO); replies are stored one after the other in a chunk and leave in one sendmmsg().
 */
#include "rpc/udp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rpc/message.h"
#include "rpc/source.h"

#define DATAGRAM_MAX 65507              /* what IPv4 carries: 65535 less the headers of IP and UDP */
#define SLOT_BYTES ((size_t)64 << 10)
#define SLOTS 16                        /* datagrams received at once */
#define SHORT_BYTES ((size_t)4 << 10)   /* datagrams up to here are copied together */
#define PACK_BYTES ((size_t)64 << 10)
#define CHUNK_BYTES ((size_t)256 << 10)
#define OUTSTANDING_MAX 512             /* calls; then the socket is not read */
#define REPLIES_MAX 256                 /* queued; then they are sent, or dropped when the socket takes no more */
#define SEND_BATCH 64
#define TURN_BATCHES 4                  /* received before others have their turn */
#define ALIGN ((size_t)16)
#define CONTROL_BYTES CMSG_SPACE(sizeof(struct in6_pktinfo))

/* IPv4 or IPv6. */
union address {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

struct reply {
    union address peer, local;
    struct buf *buf;
    const uint8_t *data;
    size_t len;
    struct buf *payload;                /* NULL: none */
    const uint8_t *payload_data;
    size_t payload_len;
    size_t padding;
};

union control {
    struct cmsghdr align;
    uint8_t bytes[CONTROL_BYTES];
};

struct udp {
    struct call_source source;
    struct loop_fd watch;
    int fd;
    union address bound;
    bool throttled, reading, blocked;

    struct buf *slots;
    unsigned slot;                      /* the first that is not taken */
    struct buf *pack;
    size_t pack_used;

    struct buf *chunk;
    size_t chunk_used;
    struct reply replies[REPLIES_MAX];
    unsigned nreplies;
};

static struct udp *
udp_of(struct call_source *source)
{
    return (struct udp *)source;
}

static socklen_t
address_len(const union address *address)
{
    return address->sa.sa_family == AF_INET6 ? sizeof(address->in6) : sizeof(address->in);
}

static void
udp_watch(struct udp *udp)
{
    int events = (udp->reading ? EV_READ : 0) | (udp->blocked ? EV_WRITE : 0);

    loop_events(udp->source.transport->loop, &udp->watch, udp->source.transport->paused ? 0 : events);
}

static void
udp_rewatch(struct call_source *source)
{
    udp_watch(udp_of(source));
}

static void
drop_replies(struct udp *udp, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf_put(udp->replies[i].buf);
        buf_put(udp->replies[i].payload);
    }
    udp->nreplies -= n;
    memmove(udp->replies, udp->replies + n, udp->nreplies * sizeof(*udp->replies));
}

static void
put_away(struct buf **buf)
{
    buf_put(*buf);
    *buf = NULL;
}

static void
rest_output(struct udp *udp)
{
    if (udp->nreplies == 0 && udp->source.replying == NULL)
        put_away(&udp->chunk);
}

static void
udp_close(struct call_source *source)
{
    struct udp *udp = udp_of(source);

    if (source->is_closed)
        return;
    loop_unwatch(source->transport->loop, &udp->watch);
    close(udp->fd);
    put_away(&udp->slots);
    put_away(&udp->pack);
    drop_replies(udp, udp->nreplies);
    rest_output(udp);
    source_closed(source);
}

static void
udp_free(struct call_source *source)
{
    rest_output(udp_of(source));
    free(source);
}

/* A slot to receive into, and room for what is copied out of slots. */
static int
make_room(struct udp *udp)
{
    struct buf_pool *buffers = udp->source.transport->buffers;

    if (udp->slots != NULL && udp->slots->refs == 1)
        udp->slot = 0;
    if (udp->slots != NULL && udp->slot == SLOTS)
        put_away(&udp->slots);
    if (udp->slots == NULL) {
        udp->slots = buf_get_spare(buffers, SLOTS * SLOT_BYTES);
        udp->slot = 0;
    }
    if (udp->pack != NULL && udp->pack->refs == 1)
        udp->pack_used = 0;
    if (udp->pack != NULL && udp->pack->capacity - udp->pack_used < SLOTS * SHORT_BYTES / 2)
        put_away(&udp->pack);
    if (udp->pack == NULL) {
        udp->pack = buf_get_spare(buffers, PACK_BYTES);
        udp->pack_used = 0;
    }
    return udp->slots == NULL || udp->pack == NULL ? -ENOMEM : 0;
}

/* The address that a datagram was sent to, with this socket's port. */
static void
read_local(const struct udp *udp, struct msghdr *msg, union address *local)
{
    struct in_pktinfo info;
    struct in6_pktinfo info6;

    *local = udp->bound;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            memcpy(&info, CMSG_DATA(c), sizeof(info));
            local->in.sin_addr = info.ipi_spec_dst;
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            memcpy(&info6, CMSG_DATA(c), sizeof(info6));
            if (!IN6_IS_ADDR_MULTICAST(&info6.ipi6_addr))
                local->in6.sin6_addr = info6.ipi6_addr;
            if (IN6_IS_ADDR_LINKLOCAL(&info6.ipi6_addr) || IN6_IS_ADDR_MULTICAST(&info6.ipi6_addr))
                local->in6.sin6_scope_id = info6.ipi6_ifindex;
        }
    }
}

/* Make the reply leave from `local`. */
static void
put_local(const union address *local, union control *control, struct msghdr *msg)
{
    struct cmsghdr *c = &control->align;

    memset(control, 0, sizeof(*control));
    msg->msg_control = control;
    if (local->sa.sa_family == AF_INET) {
        struct in_pktinfo info = { .ipi_spec_dst = local->in.sin_addr };

        c->cmsg_level = IPPROTO_IP;
        c->cmsg_type = IP_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof(info));
        msg->msg_controllen = CMSG_SPACE(sizeof(info));
        memcpy(CMSG_DATA(c), &info, sizeof(info));
    } else {
        struct in6_pktinfo info = { .ipi6_addr = local->in6.sin6_addr, .ipi6_ifindex = local->in6.sin6_scope_id };

        c->cmsg_level = IPPROTO_IPV6;
        c->cmsg_type = IPV6_PKTINFO;
        c->cmsg_len = CMSG_LEN(sizeof(info));
        msg->msg_controllen = CMSG_SPACE(sizeof(info));
        memcpy(CMSG_DATA(c), &info, sizeof(info));
    }
}

/* One datagram: a call, or nothing. Returns false where it was lost because memory is short. */
static bool
deliver(struct udp *udp, struct msghdr *msg, uint8_t *data, size_t len)
{
    struct buf *buf = udp->slots;
    union address local;
    struct call *call;

    if ((msg->msg_flags & MSG_TRUNC) != 0 || msg->msg_namelen > sizeof(union address)) {
        stat_add(&udp->source.transport->stats.bad_messages, 1);
        return true;
    }
    call = call_new(&udp->source);
    if (call == NULL)
        return false;
    read_local(udp, msg, &local);
    memcpy(&call->peer, msg->msg_name, msg->msg_namelen);
    memcpy(&call->local, &local, address_len(&local));
    if (len <= SHORT_BYTES && len <= udp->pack->capacity - udp->pack_used) {
        buf = udp->pack;
        memcpy(buf->data + udp->pack_used, data, len);
        data = buf->data + udp->pack_used;
        udp->pack_used += roundup(len, ALIGN);
    }
    (void)call_deliver(call, buf, data, len);            /* rubbish is counted there, and not answered */
    return true;
}

/* Receive and deliver what fits into the free slots. Returns whether there may be more. */
static bool
receive_batch(struct udp *udp)
{
    struct mmsghdr msgs[SLOTS];
    struct iovec iovs[SLOTS];
    union control controls[SLOTS];
    union address peers[SLOTS];
    unsigned first = udp->slot;
    unsigned want = MIN(SLOTS - first, OUTSTANDING_MAX - udp->source.outstanding);
    uint64_t bytes = 0;
    bool starved = false;
    int n;

    for (unsigned i = 0; i < want; i++) {
        iovs[i] = (struct iovec){ udp->slots->data + (first + i) * SLOT_BYTES, SLOT_BYTES };
        msgs[i].msg_hdr = (struct msghdr){
            .msg_name = &peers[i], .msg_namelen = sizeof(peers[i]), .msg_iov = &iovs[i], .msg_iovlen = 1,
            .msg_control = &controls[i], .msg_controllen = sizeof(controls[i]),
        };
    }
    n = recvmmsg(udp->fd, msgs, want, MSG_DONTWAIT, NULL);
    if (n <= 0)
        return false;
    udp->slot += (unsigned)n;
    for (int i = 0; i < n; i++) {
        bytes += msgs[i].msg_len;
        if (!deliver(udp, &msgs[i].msg_hdr, iovs[i].iov_base, msgs[i].msg_len))
            starved = true;
    }
    stat_add(&udp->source.transport->stats.bytes_in, bytes);
    if (starved) {
        udp->reading = false;
        source_starved(&udp->source);
    }
    return !starved && (unsigned)n == want;
}

static void
receive(struct udp *udp)
{
    source_dirty(&udp->source);
    for (unsigned i = 0; i < TURN_BATCHES; i++) {
        if (udp->source.outstanding >= OUTSTANDING_MAX) {
            udp->throttled = true;
            udp->reading = false;
            return;
        }
        if (make_room(udp) < 0) {
            udp->reading = false;
            source_starved(&udp->source);
            return;
        }
        if (!receive_batch(udp))
            return;
    }
}

static void
udp_ready(struct loop_fd *watch, int events)
{
    struct udp *udp = (struct udp *)((char *)watch - offsetof(struct udp, watch));

    if (events & EV_WRITE) {
        udp->blocked = false;
        source_dirty(&udp->source);
    }
    if (events & EV_READ)
        receive(udp);
}

static void
udp_resume(struct call_source *source)
{
    struct udp *udp = udp_of(source);

    udp->reading = !source->transport->draining;
    source_dirty(source);
}

static uint8_t *
udp_space(struct call_source *source, size_t bytes)
{
    struct udp *udp = udp_of(source);
    size_t need = bytes + wire_padding(1);
    struct buf *chunk;

    if (udp->chunk == NULL || udp->chunk->capacity - udp->chunk_used < need) {
        chunk = buf_get(source->transport->buffers, MAX(CHUNK_BYTES, need));
        if (chunk == NULL)
            return NULL;
        buf_put(udp->chunk);
        udp->chunk = chunk;
        udp->chunk_used = 0;
    }
    return udp->chunk->data + udp->chunk_used;
}

/* Send all that the socket takes. */
static void
write_out(struct udp *udp)
{
    static const uint8_t zeros[4];
    struct mmsghdr msgs[SEND_BATCH];
    struct iovec iovs[SEND_BATCH][3];
    union control controls[SEND_BATCH];
    uint64_t bytes = 0;
    unsigned done = 0;

    while (done < udp->nreplies && !udp->blocked) {
        unsigned want = MIN(udp->nreplies - done, SEND_BATCH);
        int n;

        for (unsigned i = 0; i < want; i++) {
            struct reply *reply = &udp->replies[done + i];

            iovs[i][0] = (struct iovec){ (void *)(uintptr_t)reply->data, reply->len };
            iovs[i][1] = (struct iovec){ (void *)(uintptr_t)reply->payload_data, reply->payload_len };
            iovs[i][2] = (struct iovec){ (void *)(uintptr_t)zeros, reply->padding };
            msgs[i].msg_hdr = (struct msghdr){
                .msg_name = &reply->peer, .msg_namelen = address_len(&reply->peer),
                .msg_iov = iovs[i], .msg_iovlen = reply->payload == NULL ? 1 : 3,
            };
            put_local(&reply->local, &controls[i], &msgs[i].msg_hdr);
        }
        n = sendmmsg(udp->fd, msgs, want, MSG_DONTWAIT | MSG_NOSIGNAL);
        for (int i = 0; i < n; i++)
            bytes += msgs[i].msg_len;
        if (n > 0)
            done += (unsigned)n;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            udp->blocked = true;
        else if (errno != EINTR)
            done++;                                      /* this one cannot be sent: no route, say */
    }
    drop_replies(udp, done);
    stat_add(&udp->source.transport->stats.bytes_out, bytes);
}

static void
udp_send(struct call_source *source, struct call *call)
{
    struct udp *udp = udp_of(source);
    size_t len = (size_t)(call->reply.p - call->reply_start);
    struct reply *reply;

    if (source->is_closed)
        return;
    if (udp->nreplies == REPLIES_MAX && !udp->blocked && !source->transport->paused)
        write_out(udp);
    if (udp->nreplies == REPLIES_MAX) {
        stat_add(&source->transport->stats.dropped, 1);
        return;
    }
    reply = &udp->replies[udp->nreplies++];
    memcpy(&reply->peer, &call->peer, sizeof(reply->peer));
    memcpy(&reply->local, &call->local, sizeof(reply->local));
    reply->buf = buf_ref(udp->chunk);
    reply->data = call->reply_start;
    reply->len = len;
    reply->payload = call->payload == NULL ? NULL : buf_ref(call->payload);
    reply->payload_data = call->payload_data;
    reply->payload_len = call->payload_len;
    reply->padding = wire_padding(call->payload_len);
    udp->chunk_used += roundup(len, ALIGN);
    udp->chunk_used = MIN(udp->chunk_used, udp->chunk->capacity);
}

static void
udp_flush(struct call_source *source)
{
    struct udp *udp = udp_of(source);

    if (udp->nreplies > 0 && !udp->blocked)
        write_out(udp);
    rest_output(udp);
    if (udp->throttled && source->outstanding <= OUTSTANDING_MAX / 2) {
        udp->throttled = false;
        udp->reading = !source->transport->draining;
    }
    if (source->outstanding == 0) {
        put_away(&udp->slots);
        put_away(&udp->pack);
    }
    udp_watch(udp);
}

static void
udp_stop(struct call_source *source)
{
    struct udp *udp = udp_of(source);

    udp->reading = false;
    udp_watch(udp);
}

static bool
udp_sent(const struct call_source *source)
{
    return ((const struct udp *)source)->nreplies == 0;
}

static bool
udp_stalled(struct call_source *source)
{
    (void)source;
    return false;
}

static bool
udp_idle(const struct call_source *source)
{
    (void)source;
    return false;
}

static const struct call_source_ops udp_ops = {
    .stalled = udp_stalled,
    .idle = udp_idle,
    .space = udp_space,
    .send = udp_send,
    .watch = udp_rewatch,
    .resume = udp_resume,
    .flush = udp_flush,
    .stop = udp_stop,
    .sent = udp_sent,
    .close = udp_close,
    .free = udp_free,
};

int
udp_ask_for_local(int fd, int family)
{
    const int on = 1;
    int err = family == AF_INET6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on))
                                 : setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));

    return err < 0 ? -errno : 0;
}

int
udp_open(struct transport *transport, int fd)
{
    struct udp *udp = calloc(1, sizeof(*udp));
    socklen_t len = sizeof(udp->bound);
    int err = -ENOMEM;

    if (udp == NULL)
        goto fail;
    if (getsockname(fd, &udp->bound.sa, &len) < 0) {
        err = -errno;
        goto fail;
    }
    err = udp_ask_for_local(fd, udp->bound.sa.sa_family);
    if (err < 0)
        goto fail;
    udp->fd = fd;
    udp->reading = !transport->draining;
    udp->source.stream = false;
    udp->source.reply_max = DATAGRAM_MAX - MESSAGE_ACCEPTED_BYTES;
    source_opened(transport, &udp->source, &udp_ops);
    loop_watch(transport->loop, &udp->watch, fd, udp->reading && !transport->paused ? EV_READ : 0, udp_ready);
    return 0;
fail:
    free(udp);
    close(fd);
    return err;
}
