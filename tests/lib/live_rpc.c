/* tests/lib/live_rpc.c - sockets, calls and replies of the tests' client; see live.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/live_private.h"

#define RECORD_LAST 0x80000000u         /* RFC 5531 section 11 */
#define STAMP 0x5eed

bool
live_has_ipv6(void)
{
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

struct live_conn
live_connect_to(const char *text, uint16_t port, int type)
{
    struct live_conn conn = { .type = type };
    struct sockaddr_storage storage = { .ss_family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET };
    struct sockaddr_in *address4 = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *address6 = (struct sockaddr_in6 *)&storage;
    struct timeval patience = { .tv_sec = LIVE_WAIT_MS / 1000 };
    bool v6 = storage.ss_family == AF_INET6;
    int one = 1;

    address4->sin_port = htons(port);                   /* where sin6_port is */
    assert_int_equal(inet_pton(storage.ss_family, text, v6 ? (void *)&address6->sin6_addr : &address4->sin_addr), 1);
    conn.fd = socket(storage.ss_family, type | SOCK_CLOEXEC, 0);
    assert_true(conn.fd >= 0);
    if (connect(conn.fd, (struct sockaddr *)&storage, v6 ? sizeof(*address6) : sizeof(*address4)) < 0)
        fail_msg("%s port %u: %s", text, port, strerror(errno));
    if (type == SOCK_STREAM)
        setsockopt(conn.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(conn.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    return conn;
}

struct live_conn
live_connect(struct live *srv, int type, int family)
{
    return live_connect_to(family == AF_INET6 ? "::1" : "127.0.0.1", srv->nfs_port, type);
}

void
live_close(struct live_conn *conn)
{
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
}

void
live_make_header(struct live *srv, struct live_header *header, uint32_t prog, uint32_t vers, uint32_t proc)
{
    struct wire_out out = { header->cred, header->cred + sizeof(header->cred), false };
    uint32_t i;

    memset(header, 0, sizeof(*header));
    header->xid = ++srv->xid;
    header->rpcvers = 2;
    header->prog = prog;
    header->vers = vers;
    header->proc = proc;
    header->cred_flavor = srv->auth.flavor;
    if (srv->auth.flavor != AUTH_SYS)
        return;
    wire_put_u32(&out, STAMP);
    wire_put_opaque(&out, "tests", 5);
    wire_put_u32(&out, srv->auth.uid);
    wire_put_u32(&out, srv->auth.gid);
    wire_put_u32(&out, srv->auth.ngids);
    for (i = 0; i < srv->auth.ngids; i++)
        wire_put_u32(&out, srv->auth.gids[i]);
    header->cred_len = (uint32_t)(out.p - header->cred);
}

void
live_put_header(struct wire_out *out, const struct live_header *header)
{
    wire_put_u32(out, header->xid);
    wire_put_u32(out, header->mtype);
    wire_put_u32(out, header->rpcvers);
    wire_put_u32(out, header->prog);
    wire_put_u32(out, header->vers);
    wire_put_u32(out, header->proc);
    wire_put_u32(out, header->cred_flavor);
    wire_put_opaque(out, header->cred, header->cred_len);
    wire_put_u32(out, header->verf_flavor);
    wire_put_opaque(out, header->verf, header->verf_len);
    assert_false(out->full);
}

size_t
live_make_call(struct live *srv, uint8_t *message, size_t size, uint32_t prog, uint32_t vers, uint32_t proc,
               xdrproc_t codec, const void *args)
{
    struct wire_out out = { message, message + size, false };
    struct live_header *header = malloc(sizeof(*header));
    XDR xdrs;

    assert_non_null(header);
    live_make_header(srv, header, prog, vers, proc);
    live_put_header(&out, header);
    free(header);
    if (codec == NULL)
        return (size_t)(out.p - message);
    xdrmem_create(&xdrs, (char *)out.p, (u_int)wire_room(&out), XDR_ENCODE);
    if (!codec(&xdrs, (void *)args))
        fail_msg("the arguments of program %u procedure %u do not encode", prog, proc);
    return (size_t)(out.p - message) + xdr_getpos(&xdrs);
}

bool
live_send(struct live_conn *conn, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    ssize_t n;

    do {
        n = send(conn->fd, p, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            n = 0;
        if (n < 0)
            return false;
        p += n;
        len -= (size_t)n;
    } while (len > 0);
    return true;
}

bool
live_send_message(struct live_conn *conn, const void *message, size_t len)
{
    uint32_t mark = htobe32((uint32_t)len | RECORD_LAST);

    if (conn->type == SOCK_DGRAM)
        return live_send(conn, message, len);
    return live_send(conn, &mark, 4) && live_send(conn, message, len);
}

/* Wait for bytes until the deadline. Returns how many came, LIVE_CLOSED or LIVE_TIMEOUT. */
static ssize_t
receive_some(struct live_conn *conn, void *bytes, size_t len, uint64_t deadline_ms)
{
    struct pollfd poller = { .fd = conn->fd, .events = POLLIN };
    ssize_t n;

    for (;;) {
        int64_t left = (int64_t)(deadline_ms - live_now_ms());

        if (left < 0)
            left = 0;
        n = poll(&poller, 1, (int)left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return LIVE_TIMEOUT;
        n = recv(conn->fd, bytes, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        return n > 0 || conn->type == SOCK_DGRAM ? n < 0 ? LIVE_CLOSED : n : LIVE_CLOSED;
    }
}

static int
receive_exactly(struct live_conn *conn, uint8_t *bytes, size_t len, uint64_t deadline_ms)
{
    ssize_t n;

    for (; len > 0; bytes += n, len -= (size_t)n) {
        n = receive_some(conn, bytes, len, deadline_ms);
        if (n < 0)
            return (int)n;
    }
    return 0;
}

ssize_t
live_receive(struct live *srv, struct live_conn *conn, int timeout_ms, const uint8_t **reply)
{
    uint64_t deadline = live_now_ms() + (uint64_t)timeout_ms;
    uint32_t mark, fragment;
    size_t len = 0;
    int err;

    *reply = srv->message;
    if (conn->type == SOCK_DGRAM)
        return receive_some(conn, srv->message, LIVE_MESSAGE_MAX, deadline);
    do {
        err = receive_exactly(conn, (uint8_t *)&mark, 4, deadline);
        fragment = be32toh(mark) & ~RECORD_LAST;
        if (err == 0 && fragment > LIVE_MESSAGE_MAX - len)
            fail_msg("a reply of more than %u bytes is announced", LIVE_MESSAGE_MAX);
        if (err == 0)
            err = receive_exactly(conn, srv->message + len, fragment, deadline);
        if (err < 0)
            return err;
        len += fragment;
    } while ((be32toh(mark) & RECORD_LAST) == 0);
    return (ssize_t)len;
}

static int
parse_accepted(struct live_conn *conn, struct wire_in *in)
{
    uint32_t len, accept;

    wire_get_u32(in);                                   /* the server's verifier */
    wire_get_opaque(in, 400, &len);
    accept = wire_get_u32(in);
    if (accept == LIVE_PROG_MISMATCH) {
        conn->low = wire_get_u32(in);
        conn->high = wire_get_u32(in);
    }
    if (in->bad || accept > LIVE_SYSTEM_ERR)
        return LIVE_GARBLED;
    return (int)accept;
}

static int
parse_denied(struct live_conn *conn, struct wire_in *in)
{
    uint32_t reject = wire_get_u32(in), stat;

    if (reject == 0) {
        conn->low = wire_get_u32(in);
        conn->high = wire_get_u32(in);
        return in->bad ? LIVE_GARBLED : LIVE_RPC_MISMATCH;
    }
    stat = wire_get_u32(in);
    return in->bad || reject != 1 ? LIVE_GARBLED : LIVE_AUTH_ERROR + (int)stat;
}

int
live_parse_reply(struct live_conn *conn, const uint8_t *reply, size_t len, uint32_t *xid, struct wire_in *results)
{
    uint32_t mtype, stat;
    int outcome;

    *results = (struct wire_in){ reply, reply + len, false };
    *xid = wire_get_u32(results);
    mtype = wire_get_u32(results);
    stat = wire_get_u32(results);
    if (results->bad || mtype != 1 || stat > 1)
        return LIVE_GARBLED;
    outcome = stat == 0 ? parse_accepted(conn, results) : parse_denied(conn, results);
    if (outcome != LIVE_SUCCESS && wire_left(results) != 0)
        return LIVE_GARBLED;
    return outcome;
}

int
live_call(struct live *srv, struct live_conn *conn, uint32_t prog, uint32_t vers, uint32_t proc, xdrproc_t args_codec,
          const void *args, xdrproc_t res_codec, void *res)
{
    struct live_security *security = srv->security;
    size_t len = security != NULL ? security->make_call(security, srv, srv->message, LIVE_MESSAGE_MAX, prog, vers, proc,
                                                        args_codec, args)
                                  : live_make_call(srv, srv->message, LIVE_MESSAGE_MAX, prog, vers, proc, args_codec,
                                                   args);
    uint32_t want = srv->xid, xid;
    struct wire_in results;
    const uint8_t *reply;
    ssize_t received;
    int outcome;
    XDR xdrs;

    if (!live_send_message(conn, srv->message, len))
        return LIVE_CLOSED;
    do {
        received = live_receive(srv, conn, LIVE_WAIT_MS, &reply);
        if (received < 0)
            return (int)received;
        outcome = security != NULL
                      ? security->take_reply(security, conn, reply, (size_t)received, &xid, &results)
                      : live_parse_reply(conn, reply, (size_t)received, &xid, &results);
    } while (xid != want);
    if (outcome != LIVE_SUCCESS)
        return outcome;
    if (res_codec == NULL)
        return wire_left(&results) == 0 ? LIVE_SUCCESS : LIVE_GARBLED;
    xdrmem_create(&xdrs, (char *)results.p, (u_int)wire_left(&results), XDR_DECODE);
    if (!res_codec(&xdrs, res) || xdr_getpos(&xdrs) != wire_left(&results)) {
        xdr_free(res_codec, res);
        return LIVE_GARBLED;
    }
    return LIVE_SUCCESS;
}

bool
live_closes(struct live_conn *conn, int timeout_ms)
{
    uint64_t deadline = live_now_ms() + (uint64_t)timeout_ms;
    uint8_t rest[4096];
    ssize_t n;

    do
        n = receive_some(conn, rest, sizeof(rest), deadline);
    while (n > 0);
    return n == LIVE_CLOSED;
}

size_t
live_getattr_call(struct live *srv, uint8_t call[LIVE_CALL_MAX])
{
    return live_make_call(srv, call, LIVE_CALL_MAX, NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR, (xdrproc_t)xdr_GETATTR3args,
                          &(GETATTR3args){ srv->root });
}

size_t
live_put_fragment(uint8_t *out, const void *bytes, size_t len, bool last)
{
    uint32_t mark = htobe32((uint32_t)len | (last ? RECORD_LAST : 0));

    memcpy(out, &mark, 4);
    if (len > 0)
        memcpy(out + 4, bytes, len);
    return len + 4;
}

void
live_assert_answered(struct live *srv, struct live_conn *conn, uint32_t want)
{
    struct wire_in results;
    const uint8_t *reply;
    ssize_t received = live_receive(srv, conn, LIVE_WAIT_MS, &reply);
    uint32_t xid;

    if (received <= 0)
        fail_msg("no reply (%zd)", received);
    assert_int_equal(live_parse_reply(conn, reply, (size_t)received, &xid, &results), LIVE_SUCCESS);
    assert_int_equal(wire_get_u32(&results), NFS3_OK);
    assert_int_equal(xid, want);
}

void
live_assert_served(struct live *srv, struct live_conn *conn)
{
    uint8_t call[LIVE_CALL_MAX];
    size_t len = live_getattr_call(srv, call);

    assert_true(live_send_message(conn, call, len));
    live_assert_answered(srv, conn, srv->xid);
}

void
live_assert_alive(struct live *srv)
{
    struct live_conn conn = live_connect(srv, SOCK_STREAM, AF_INET);

    assert_int_equal(live_call(srv, &conn, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL, NULL, NULL, NULL, NULL), LIVE_SUCCESS);
    live_close(&conn);
}
