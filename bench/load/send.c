/* bench/load/send.c - sockets, and calls on their way out. */
#include "bench/load/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESERVED_MAX 128                /* with more connections than this, take any port */

static bool
bind_reserved(int fd, struct sockaddr_in sa)
{
    int i, start = 640 + (int)(rnd() % 380);

    for (i = 0; i < 380; i++) {
        sa.sin_port = htons((uint16_t)(640 + (start + i) % 380));
        if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
            return true;
        if (errno == EACCES)
            return false;
    }
    return false;
}

int
dial(int port, bool udp)
{
    struct sockaddr_in sa = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
    };
    struct sockaddr_in own = { .sin_family = AF_INET };
    struct timeval stall = { .tv_sec = STALL_S };
    int fd, one = 1, big = 4 << 20, tries;

    if (inet_pton(AF_INET, options.host, &sa.sin_addr) != 1)
        die("%s is not an IPv4 address", options.host);
    if (options.from != NULL && inet_pton(AF_INET, options.from, &own.sin_addr) != 1)
        die("%s is not an IPv4 address", options.from);
    for (tries = 0; tries < 20; tries++) {
        fd = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
        if (fd < 0)
            die("socket: %s", strerror(errno));
        if ((options.conns > RESERVED_MAX || !bind_reserved(fd, own)) && options.from != NULL &&
            bind(fd, (struct sockaddr *)&own, sizeof(own)) < 0)
            die("%s: %s", options.from, strerror(errno));
        if (udp)
            setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
        else
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof(stall));
        if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
            return fd;
        close(fd);
        if (errno != EADDRNOTAVAIL && errno != EADDRINUSE)
            break;
    }
    return -1;
}

uint8_t *
put_header(uint8_t *p, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc)
{
    uint8_t *len;
    uint32_t i;

    p = put32(p, xid);
    p = put32(p, RPC_CALL);
    p = put32(p, RPC_VERSION);
    p = put32(p, prog);
    p = put32(p, vers);
    p = put32(p, proc);
    p = put32(p, AUTH_SYS);
    len = p;
    p = put32(p, 0);
    p = put32(p, 0);
    p = put_str(p, "nfsload");
    p = put32(p, options.uid);
    p = put32(p, options.gid);
    p = put32(p, options.ngids);
    for (i = 0; i < options.ngids; i++)
        p = put32(p, options.gids[i]);
    put32(len, (uint32_t)(p - len - 4));
    p = put32(p, AUTH_NONE);
    return put32(p, 0);
}

/* Start a call in the slot's buffer: the NFS header with a new XID. */
uint8_t *
call_begin(struct slot *s, uint32_t proc)
{
    uint8_t *p = s->call;

    s->proc = proc;
    s->xid = s->conn->xid_seq++ << SLOT_BITS | s->index;
    s->payload_len = 0;
    memcpy(p + 4, load.hdr, load.hdr_len);
    put32(p + 4, s->xid);
    put32(p + 24, proc);
    return p + 4 + load.hdr_len;
}

static void
queue_push(struct conn *c, const void *p, size_t n)
{
    if (c->qtail == c->qcap) {
        memmove(c->q, c->q + c->qhead, (c->qtail - c->qhead) * sizeof(*c->q));
        c->qtail -= c->qhead;
        c->qhead = 0;
    }
    c->q[c->qtail].iov_base = (void *)(uintptr_t)p;
    c->q[c->qtail++].iov_len = n;
}

static const uint8_t zeros[4];

static int
call_iov(struct slot *s, struct iovec *v, bool udp)
{
    int n = 0;

    v[n].iov_base = s->call + (udp ? 4 : 0);
    v[n++].iov_len = s->call_len - (udp ? 4 : 0);
    if (s->payload_len) {
        v[n].iov_base = (void *)(uintptr_t)s->payload;
        v[n++].iov_len = s->payload_len;
    }
    if (pad4(s->payload_len)) {
        v[n].iov_base = (void *)(uintptr_t)zeros;
        v[n++].iov_len = pad4(s->payload_len);
    }
    return n;
}

void
send_datagram(struct slot *s)
{
    struct iovec v[3];
    struct msghdr m = { .msg_iov = v };

    m.msg_iovlen = (size_t)call_iov(s, v, true);
    while (sendmsg(s->conn->fd, &m, 0) < 0) {
        if (errno == EMSGSIZE)
            die("block size too large for UDP");
        if (errno != EINTR && errno != ECONNREFUSED)
            die("send: %s", strerror(errno));
    }
}

/* Finish the call: args end at p; an optional payload follows them. */
void
call_end(struct slot *s, uint8_t *p, const uint8_t *payload, uint32_t len)
{
    struct iovec v[3];
    int i, n;

    s->call_len = (size_t)(p - s->call);
    s->payload = payload;
    s->payload_len = len;
    put32(s->call, LAST_FRAGMENT | (uint32_t)(s->call_len - 4 + len + pad4(len)));
    s->busy = true;
    s->tries = 0;
    s->sent_ns = s->first_ns = load.now;
    load.outstanding++;
    if (options.udp) {
        send_datagram(s);
        return;
    }
    n = call_iov(s, v, false);
    for (i = 0; i < n; i++)
        queue_push(s->conn, v[i].iov_base, v[i].iov_len);
}

static void
want_out(struct conn *c, bool on)
{
    struct epoll_event ev = {
        .events = EPOLLIN | (on ? EPOLLOUT : 0),
        .data.ptr = c,
    };

    if (c->want_out == on)
        return;
    c->want_out = on;
    epoll_ctl(load.ep, EPOLL_CTL_MOD, c->fd, &ev);
}

static void
queue_consume(struct conn *c, size_t n)
{
    while (n) {
        struct iovec *v = &c->q[c->qhead];

        if (n < v->iov_len) {
            v->iov_base = (uint8_t *)v->iov_base + n;
            v->iov_len -= n;
            return;
        }
        n -= v->iov_len;
        c->qhead++;
    }
}

void
flush(struct conn *c)
{
    while (c->qhead < c->qtail) {
        size_t n = c->qtail - c->qhead;
        struct msghdr m = {
            .msg_iov = c->q + c->qhead,
            .msg_iovlen = n < 512 ? n : 512,
        };
        ssize_t r = sendmsg(c->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (r < 0) {
            if (errno == EAGAIN) {
                want_out(c, true);
                return;
            }
            die("send: %s", strerror(errno));
        }
        queue_consume(c, (size_t)r);
    }
    c->qhead = c->qtail = 0;
    want_out(c, false);
}
