/* bench/load/receive.c - replies: records cut from the stream, READ payloads that pass by, tasks that go on. */
#include "bench/load/load.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#define RX_SMALL 512                    /* bytes of a receive that looks for the head of a READ reply (--trunc) */
#define REC_MAX (64u << 20)             /* bytes; a longer record is a stream out of step */
#define READ_HEAD (24 + 8 + FATTR_SIZE + 12)

void
start_tasks(struct slot *s)
{
    if (s->step == 0) {
        if (load.draining)
            return;
        if (load.task_limit && load.next_task >= load.task_limit)
            return;
        s->task = load.next_task++;
    }
    load.wl->next(s);
}

void
finish_task(struct slot *s)
{
    s->step = 0;
    load.task_done++;
    if (load.measuring)
        stats.tasks++;
}

/* The next task, at once or after a pause. */
static void
go_on(struct slot *s)
{
    if (options.pause_ms == 0 || s->step != 0 || load.draining)
        start_tasks(s);
    else
        sleep_slot(s, load.now + options.pause_ms * 1000000ull);
}

static void
complete(struct slot *s, struct reply *r)
{
    s->busy = false;
    load.outstanding--;
    load.last_progress = load.now;
    if (load.measuring)
        record(s, r->bytes);
    if (r->status && s->proc != P_NULL) {
        count_status(r->status);
        complain("%s: NFS status %u", proc_names[s->proc], r->status);
        finish_task(s);
    } else {
        stats.compared += s->proc == P_READ && s->verify;
        load.wl->done(s, r);
    }
    go_on(s);
}

static void
abandon(struct slot *s)
{
    s->busy = false;
    load.outstanding--;
    stats.rpc_err++;
    finish_task(s);
    go_on(s);
}

static struct slot *
slot_of(struct conn *c, uint32_t xid)
{
    uint32_t i = xid & ((1u << SLOT_BITS) - 1);

    if (i < options.depth && c->slots[i].busy && c->slots[i].xid == xid)
        return &c->slots[i];
    return NULL;
}

static struct slot *
slot_of_message(struct conn *c, const uint8_t *p, size_t n)
{
    struct in in = { p, p + n, false };

    return slot_of(c, get32(&in));
}

static void
verify_payload(struct slot *s, uint64_t off, const uint8_t *p, size_t n)
{
    if (memcmp(p, pattern_at(s->content, off), n) == 0)
        return;
    stats.verify_err++;
    complain("READ: wrong content in file %td at offset %" PRIu64, s->file - load.files, off);
}

/* The part of a READ reply before its payload. */
static bool
read_head(struct slot *s, struct in *in, struct reply *r)
{
    struct attr a;
    uint32_t count, eof, len;

    if (!get_reply_header(in))
        return false;
    r->status = get32(in);
    if (in->bad || r->status)
        return !in->bad;
    get_post_attr(in, &a);
    count = get32(in);
    eof = get32(in);
    len = get32(in);
    if (in->bad)
        return false;
    r->len = len;
    r->bytes = len;
    check(s, len == count && len == s->len, "short or long count");
    check(s, eof == (s->off + len >= s->file->size), "wrong eof");
    if (a.present)
        check(s, a.type == NF3REG && a.fileid == s->file->fileid && a.size == s->file->size, "wrong attributes");
    return true;
}

static void
message_read(struct slot *s, const uint8_t *p, size_t n)
{
    struct reply r = { .in = { p, p + n, false } };

    if (!read_head(s, &r.in, &r)) {
        complain("READ: undecodable reply");
        abandon(s);
        return;
    }
    if (!r.status) {
        size_t want = r.len + pad4(r.len);

        if (!check(s, (size_t)(r.in.end - r.in.p) == want, "record length differs from count"))
            r.bytes = 0;
        else if (s->verify)
            verify_payload(s, s->off, r.in.p, r.len);
    }
    complete(s, &r);
}

static void
message(struct conn *c, const uint8_t *p, size_t n)
{
    struct reply r = { .in = { p, p + n, false } };
    struct slot *s = slot_of_message(c, p, n);

    if (!s) {
        if (!options.udp) {
            stats.rpc_err++;
            complain("reply with an unknown XID");
        }
        return;
    }
    if (s->proc == P_READ) {
        message_read(s, p, n);
        return;
    }
    if (!get_reply_header(&r.in)) {
        complain("%s: call not executed or bad reply", proc_names[s->proc]);
        abandon(s);
        return;
    }
    if (s->proc != P_NULL)
        r.status = get32(&r.in);
    complete(s, &r);
}

/* Has a READ reply that comes in pieces shown its whole head? */
static void
try_stream(struct conn *c)
{
    struct rx *x = &c->rx;
    struct slot *s = slot_of_message(c, x->body, x->nbody);
    struct reply r = { .in = { x->body, x->body + x->nbody, false } };
    size_t rest;

    if (!s || s->proc != P_READ)
        return;
    if (!read_head(s, &r.in, &r) || r.status)
        return;
    x->stream = s;
    x->stream_off = s->off;
    x->stream_len = x->stream_left = r.len;
    x->stream_pad = (uint32_t)pad4(r.len);
    rest = (size_t)(r.in.end - r.in.p);
    x->nbody = 0;
    if (rest > x->stream_left) {
        stats.check_err++;
        rest = x->stream_left;
    }
    if (s->verify)
        verify_payload(s, x->stream_off, r.in.p, rest);
    x->stream_off += rest;
    x->stream_left -= (uint32_t)rest;
}

/* Payload bytes of the streamed READ; p is NULL when they were dropped. */
static void
stream_bytes(struct conn *c, const uint8_t *p, size_t n)
{
    struct rx *x = &c->rx;
    size_t take = n < x->stream_left ? n : x->stream_left;

    if (p && x->stream->verify && take)
        verify_payload(x->stream, x->stream_off, p, take);
    x->stream_off += take;
    x->stream_left -= (uint32_t)take;
    n -= take;
    if (n > x->stream_pad) {
        check(x->stream, false, "bytes after the payload");
        n = x->stream_pad;
    }
    x->stream_pad -= (uint32_t)n;
}

static void
body_append(struct rx *x, const uint8_t *p, size_t n)
{
    if (x->nbody + n > x->cap) {
        x->cap = (x->nbody + n) * 2;
        x->body = realloc(x->body, x->cap);
        if (!x->body)
            die("out of memory");
    }
    memcpy(x->body + x->nbody, p, n);
    x->nbody += n;
}

static void
piece(struct conn *c, const uint8_t *p, size_t n)
{
    struct rx *x = &c->rx;

    while (n && !x->stream) {
        size_t take = n;

        if (x->nbody < READ_HEAD && take > READ_HEAD - x->nbody)
            take = READ_HEAD - x->nbody;
        body_append(x, p, take);
        p += take;
        n -= take;
        if (x->nbody == READ_HEAD)
            try_stream(c);
    }
    if (n)
        stream_bytes(c, p, n);
}

static void
message_end(struct conn *c)
{
    struct rx *x = &c->rx;
    struct slot *s = x->stream;

    if (s) {
        struct reply r = { .len = x->stream_len, .bytes = x->stream_len };

        x->stream = NULL;
        check(s, x->stream_left == 0 && x->stream_pad == 0, "record ends inside the payload");
        complete(s, &r);
    } else {
        size_t n = x->nbody;

        x->nbody = 0;
        message(c, x->body, n);
    }
}

static size_t
take_mark(struct rx *x, const uint8_t *p, size_t n)
{
    size_t used = 0;
    struct in in;

    while (x->nmark < 4 && used < n)
        x->mark[x->nmark++] = p[used++];
    if (x->nmark == 4) {
        uint32_t v;

        in = (struct in){ x->mark, x->mark + 4, false };
        v = get32(&in);
        x->last = v & LAST_FRAGMENT;
        x->left = v & ~LAST_FRAGMENT;
        if (x->left > REC_MAX)
            die("record of %u bytes: stream out of step", x->left);
    }
    return used;
}

static void
fragment_end(struct conn *c)
{
    c->rx.nmark = 0;
    if (c->rx.last)
        message_end(c);
}

/* Feed n received bytes to the record parser. */
static void
feed(struct conn *c, const uint8_t *p, size_t n)
{
    struct rx *x = &c->rx;

    while (n) {
        size_t take;

        if (x->nmark < 4) {
            take = take_mark(x, p, n);
            p += take;
            n -= take;
            if (x->nmark == 4 && x->left == 0)
                fragment_end(c);
            if (x->nmark < 4 || n < x->left || !x->last || x->nbody || x->stream)
                continue;
            /* the usual case: a whole message in the buffer */
            take = x->left;
            x->nmark = 0;
            message(c, p, take);
        } else {
            take = n < x->left ? n : x->left;
            piece(c, p, take);
            x->left -= (uint32_t)take;
            if (x->left == 0)
                fragment_end(c);
        }
        p += take;
        n -= take;
    }
}

static void
drop(struct conn *c, size_t n)
{
    stream_bytes(c, NULL, n);
    c->rx.left -= (uint32_t)n;
    if (c->rx.left == 0)
        fragment_end(c);
}

static void
readable_tcp(struct conn *c)
{
    struct rx *x = &c->rx;
    bool drain = options.trunc && x->stream && !x->stream->verify && x->nmark == 4;
    size_t want = drain ? x->left : options.trunc ? RX_SMALL : RX_CHUNK;
    /* With MSG_TRUNC nothing is stored, however much is received: tcp(7). */
    ssize_t r = recv(c->fd, load.rxbuf, want, MSG_DONTWAIT | (drain ? MSG_TRUNC : 0));

    if (r < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (r <= 0)
        die("connection closed by the server%s%s", r ? ": " : "", r ? strerror(errno) : "");
    if (drain)
        drop(c, (size_t)r);
    else
        feed(c, load.rxbuf, (size_t)r);
}

static void
readable_udp(struct conn *c)
{
    int i;

    for (i = 0; i < 64; i++) {
        ssize_t r = recv(c->fd, load.rxbuf, RX_CHUNK, MSG_DONTWAIT);

        if (r < 0 && errno != ECONNREFUSED)
            return;
        load.now = now_ns();
        if (r > 0)
            message(c, load.rxbuf, (size_t)r);
    }
}

void
readable(struct conn *c)
{
    if (options.udp)
        readable_udp(c);
    else
        readable_tcp(c);
}

void
retransmit(void)
{
    static uint64_t last;
    uint32_t i, k;

    if (load.now - last < 50000000)
        return;
    last = load.now;
    for (i = 0; i < options.conns; i++) {
        for (k = 0; k < options.depth; k++) {
            struct slot *s = &load.conns[i].slots[k];

            if (!s->busy || load.now - s->sent_ns < (200000000ull << (s->tries < 5 ? s->tries : 5)))
                continue;
            s->tries++;
            s->sent_ns = load.now;
            stats.retrans++;
            send_datagram(s);
        }
    }
}
