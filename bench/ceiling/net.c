/* bench/ceiling/net.c - calls that arrive, replies that leave together: TCP and UDP on one loop. */
#include "bench/ceiling/ceiling.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_SIZE (256 * 1024)            /* bytes */
#define OUT_SIZE (512 * 1024)
#define QUEUED_MAX (2 * 1024 * 1024)    /* with more waiting to be sent, no more calls are looked at */
#define CHUNK (128 * 1024)              /* of a READ by copying */
#define SEGS 1024
#define WRITE_HEAD 512                  /* holds a WRITE call up to its payload */

static uint8_t scratch[CHUNK];

struct seg {
    uint32_t node; /* 0: bytes of the out buffer */
    uint64_t off;  /* in the file, or in the out buffer */
    size_t len;
};

struct conn {
    int fd;
    bool blocked, listener, udp;
    size_t nin, pos;
    uint8_t *in;
    uint8_t *out;
    size_t nout, queued;
    struct seg segs[SEGS];
    uint32_t head, tail;
    /* a WRITE whose payload is arriving */
    uint32_t wnode, wxid, wcount, wpad, wstable;
    uint64_t woff, wleft;
};

static void
push(struct conn *c, uint32_t node, uint64_t off, size_t len)
{
    struct seg *s = c->tail > c->head ? &c->segs[c->tail - 1] : NULL;

    c->queued += len;
    if (s && !node && !s->node && s->off + s->len == off) {
        s->len += len;
        return;
    }
    c->segs[c->tail++] = (struct seg){ node, off, len };
}

static ssize_t
send_copy(struct conn *c, struct seg *s, int more)
{
    size_t n = s->len < CHUNK ? s->len : CHUNK;
    ssize_t r = pread(ceiling.backing, scratch, n, data_at(s->node, s->off));

    if (r <= 0)
        die("pread: %s", r ? strerror(errno) : "short");
    return send(c->fd, scratch, (size_t)r, MSG_DONTWAIT | MSG_NOSIGNAL | more);
}

static ssize_t
send_seg(struct conn *c, struct seg *s)
{
    int more = c->tail - c->head > 1 ? MSG_MORE : 0;
    off_t off;

    if (!s->node)
        return send(c->fd, c->out + s->off, s->len, MSG_DONTWAIT | MSG_NOSIGNAL | more);
    if (ceiling.read_by_copy)
        return send_copy(c, s, s->len > CHUNK ? MSG_MORE : more);
    off = data_at(s->node, s->off);
    return sendfile(c->fd, ceiling.backing, &off, s->len);
}

/* False when the connection is to be closed. */
static bool
flush(struct conn *c)
{
    c->blocked = false;
    while (c->head < c->tail) {
        struct seg *s = &c->segs[c->head];
        ssize_t r = send_seg(c, s);

        if (r < 0 && errno == EAGAIN) {
            c->blocked = true;
            return true;
        }
        if (r <= 0)
            return false;
        s->off += (uint64_t)r;
        s->len -= (size_t)r;
        c->queued -= (size_t)r;
        if (s->len == 0)
            c->head++;
    }
    c->head = c->tail = 0;
    c->nout = 0;
    return true;
}

static bool
out_full(const struct conn *c)
{
    return c->nout + REPLY_MAX > OUT_SIZE || c->queued > QUEUED_MAX || c->tail + 4 > SEGS;
}

static void
end_record(struct conn *c, uint8_t *start, uint8_t *p, size_t extra)
{
    put32(start, LAST_FRAGMENT | (uint32_t)((size_t)(p - start) - 4 + extra));
    push(c, 0, (uint64_t)(start - c->out), (size_t)(p - start));
    c->nout = (size_t)(p - c->out);
}

/* A READ too large to copy: header from memory, payload from the file. */
static bool
stream_read(struct conn *c, struct call *call, struct in *in)
{
    struct in args = *in;
    uint8_t *start = c->out + c->nout, *p;
    uint32_t i, count;
    uint64_t off;

    if (!get_node(&args, &i))
        return false;
    off = get64(&args);
    count = clip(i, off, get32(&args));
    if (count <= ceiling.inline_max)
        return false;
    p = put_reply(start + 4, call->xid);
    p = put_read_head(p, i, off, count);
    end_record(c, start, p, count + pad4(count));
    push(c, i, off, count);
    if (pad4(count)) {
        memset(p, 0, pad4(count));
        push(c, 0, c->nout, pad4(count));
        c->nout += pad4(count);
    }
    return true;
}

static void
whole_record(struct conn *c, const uint8_t *p, size_t n)
{
    struct in in = { p, p + n, false };
    struct call call;
    uint8_t *start = c->out + c->nout;

    if (!get_call(&in, &call))
        die("bad call");
    if (call.prog == NFS_PROG && call.proc == P_READ && stream_read(c, &call, &in))
        return;
    end_record(c, start, answer(&call, &in, start + 4), 0);
}

/* The head of a WRITE whose payload has not arrived in full. */
static size_t
write_head(struct conn *c, const uint8_t *p, size_t have)
{
    struct in in = { p, p + have, false };
    struct call call;

    if (!get_call(&in, &call) || call.proc != P_WRITE || !get_node(&in, &c->wnode))
        die("a long call that is no WRITE");
    c->wxid = call.xid;
    c->woff = get64(&in);
    c->wcount = get32(&in);
    c->wstable = get32(&in);
    c->wleft = get32(&in);
    c->wpad = (uint32_t)pad4(c->wleft);
    return (size_t)(in.p - p);
}

static void
write_reply(struct conn *c)
{
    uint8_t *start = c->out + c->nout, *p;

    p = put_reply(start + 4, c->wxid);
    p = put_written(p, c->wnode, c->wcount, c->wstable);
    end_record(c, start, p, 0);
    c->wcount = 0;
}

static size_t
write_bytes(struct conn *c, const uint8_t *p, size_t n)
{
    size_t take = n < c->wleft ? n : c->wleft, pad;

    if (take)
        store(c->wnode, c->woff, p, take);
    c->woff += take;
    c->wleft -= take;
    if (c->wleft)
        return take;
    pad = n - take < c->wpad ? n - take : c->wpad;
    c->wpad -= (uint32_t)pad;
    if (c->wpad == 0)
        write_reply(c);
    return take + pad;
}

/* Handle one piece of input; false when more is needed. */
static bool
step(struct conn *c)
{
    uint8_t *p = c->in + c->pos;
    size_t have = c->nin - c->pos, len;
    struct in in = { p, p + have, false };
    uint32_t mark;

    if (c->wcount) {
        if (have)
            c->pos += write_bytes(c, p, have);
        return have > 0;
    }
    if (have < 4)
        return false;
    mark = get32(&in);
    len = mark & ~LAST_FRAGMENT;
    if (!(mark & LAST_FRAGMENT))
        die("a call in several fragments");
    if (have - 4 >= len) {
        whole_record(c, p + 4, len);
        c->pos += 4 + len;
        return true;
    }
    if (len <= WRITE_HEAD || have - 4 < WRITE_HEAD)
        return false;
    c->pos += 4 + write_head(c, p + 4, have - 4);
    return true;
}

static bool
consume(struct conn *c)
{
    bool more;

    do {
        while ((more = !out_full(c)) && step(c))
            ;
        more = !more; /* stopped by a full output queue */
        if (!flush(c))
            return false;
    } while (more && !c->blocked);
    if (c->pos == c->nin) {
        c->pos = c->nin = 0;
    } else if (c->pos && c->nin - c->pos < 4096) {
        memmove(c->in, c->in + c->pos, c->nin - c->pos);
        c->nin -= c->pos;
        c->pos = 0;
    }
    return true;
}

static void
watch(int ep, struct conn *c, int op)
{
    struct epoll_event ev = {
        .events = c->blocked ? EPOLLOUT : EPOLLIN,
        .data.ptr = c,
    };

    epoll_ctl(ep, op, c->fd, &ev);
}

/* False when the connection is done. */
static bool
serve(int ep, struct conn *c)
{
    bool was = c->blocked;

    if (c->blocked) {
        if (!flush(c))
            return false;
    } else {
        ssize_t r = recv(c->fd, c->in + c->nin, IN_SIZE - c->nin, MSG_DONTWAIT);

        if (r < 0 && errno == EAGAIN)
            return true;
        if (r <= 0)
            return false;
        c->nin += (size_t)r;
    }
    if (!c->blocked && !consume(c))
        return false;
    if (c->blocked != was)
        watch(ep, c, EPOLL_CTL_MOD);
    return true;
}

static void
accept_conn(int ep, int lfd)
{
    struct conn *c;
    int one = 1, fd = accept(lfd, NULL, NULL);

    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    c = calloc(1, sizeof(*c));
    if (!c)
        die("out of memory");
    c->fd = fd;
    c->in = grow(NULL, IN_SIZE);
    c->out = grow(NULL, OUT_SIZE);
    watch(ep, c, EPOLL_CTL_ADD);
}

static void
close_conn(struct conn *c)
{
    close(c->fd);
    free(c->in);
    free(c->out);
    free(c);
}

static void
serve_udp(struct conn *c)
{
    static uint8_t in[65536], out[REPLY_MAX];
    struct sockaddr_storage from;
    int k;

    for (k = 0; k < 64; k++) {
        socklen_t sl = sizeof(from);
        ssize_t r = recvfrom(c->fd, in, sizeof(in), MSG_DONTWAIT, (struct sockaddr *)&from, &sl);
        struct in x = { in, in + (r > 0 ? r : 0), false };
        struct call call;
        uint8_t *end;

        if (r <= 0)
            return;
        if (!get_call(&x, &call))
            continue;
        end = answer(&call, &x, out);
        sendto(c->fd, out, (size_t)(end - out), MSG_DONTWAIT, (struct sockaddr *)&from, sl);
    }
}

static void
listen_on(int ep, int port, bool udp)
{
    struct sockaddr_in sa = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    struct conn *c = calloc(1, sizeof(*c));
    int one = 1, big = 4 << 20;

    if (!c)
        die("out of memory");
    c->listener = !udp;
    c->udp = udp;
    c->fd = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    setsockopt(c->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (udp)
        setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
    if (bind(c->fd, (struct sockaddr *)&sa, sizeof(sa)) || (!udp && listen(c->fd, 4096)))
        die("port %d: %s", port, strerror(errno));
    watch(ep, c, EPOLL_CTL_ADD);
}

static void
event(int ep, struct conn *c)
{
    if (c->listener)
        accept_conn(ep, c->fd);
    else if (c->udp)
        serve_udp(c);
    else if (!serve(ep, c))
        close_conn(c);
}

void
serve_forever(void)
{
    struct epoll_event ev[64];
    int ep = epoll_create1(0);

    listen_on(ep, ceiling.port, false);
    listen_on(ep, ceiling.port, true);
    if (ceiling.mount_port != ceiling.port) {
        listen_on(ep, ceiling.mount_port, false);
        listen_on(ep, ceiling.mount_port, true);
    }
    for (;;) {
        int n = epoll_wait(ep, ev, 64, -1);

        for (int i = 0; i < n; i++)
            event(ep, ev[i].data.ptr);
    }
}
