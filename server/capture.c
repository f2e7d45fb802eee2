/*
 * server/capture.c - see capture.h.
 *
 * pcapng: draft-ietf-opsawg-pcapng. Packets begin with their IP header (LINKTYPE_RAW). A TCP connection has numbers that
 * go on from one message to the next, so that who reads it can put the pieces together; it begins with a handshake.
 */
#include "server/capture.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "rpc/call.h"
#include "rpc/tap.h"

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_STATISTICS 5u
#define BLOCK_PACKET 6u
#define LINKTYPE_RAW 101
#define OPTION_END 0
#define OPTION_DROPPED 5                /* of statistics: packets that were lost */
#define OPTION_TSRESOL 9                /* of an interface, the unit of times: 10^-9 s */
#define SEGMENT_MAX 32768u              /* bytes of a message in one packet */
#define CONNECTIONS 4096u               /* whose numbers are known; a further one begins anew */
#define RPC_HEADER_MAX 512              /* bytes before arguments or results: at most 400 of credentials */
#define NS UINT64_C(1000000000)
#define FLAG_SYN 0x02
#define FLAG_ACK 0x10
#define FLAG_PUSH 0x08
#define HEADERS_MAX 60                  /* IPv6 and TCP */

/* One of the two ends. */
struct end {
    uint8_t address[16];
    uint16_t port;
    uint32_t next;                      /* the number of its next byte */
};

struct connection {
    struct end client, server;
    bool v6;
    bool known;
};

struct capture {
    struct connection connections[CONNECTIONS];
    uint64_t lost;                      /* calls */
    uint64_t ns;                        /* when the last call began */
};

/* A message as it is made up before it is cut. */
struct message {
    uint8_t header[RPC_HEADER_MAX];
    size_t header_len;
    const uint8_t *body;
    size_t body_len;
};

void *
capture_new(void)
{
    return calloc(1, sizeof(struct capture));
}

/* ---- pcapng ---- */

static void
put16(uint8_t **p, uint16_t value)
{
    value = htobe16(value);
    memcpy(*p, &value, 2);
    *p += 2;
}

static void
put32(uint8_t **p, uint32_t value)
{
    value = htobe32(value);
    memcpy(*p, &value, 4);
    *p += 4;
}

static void
begin(void *context, struct recorder_bytes *out)
{
    uint8_t block[28 + 32], *p = block;

    (void)context;
    put32(&p, BLOCK_SECTION);
    put32(&p, 28);
    put32(&p, 0x1a2b3c4d);                              /* its order tells that numbers are big-endian */
    put16(&p, 1);
    put16(&p, 0);
    put32(&p, UINT32_MAX);                              /* how long it will get is not known */
    put32(&p, UINT32_MAX);
    put32(&p, 28);
    put32(&p, BLOCK_INTERFACE);
    put32(&p, 32);
    put16(&p, LINKTYPE_RAW);
    put16(&p, 0);
    put32(&p, 0);                                       /* packets are whole */
    put16(&p, OPTION_TSRESOL);
    put16(&p, 1);
    put32(&p, 9u << 24);
    put16(&p, OPTION_END);
    put16(&p, 0);
    put32(&p, 32);
    recorder_add(out, block, (size_t)(p - block));
}

/* A packet out of two parts. */
static void
put_packet(struct recorder_bytes *out, uint64_t ns, const uint8_t *headers, size_t headers_len,
           const uint8_t *payload, size_t payload_len)
{
    size_t len = headers_len + payload_len;
    uint32_t total = (uint32_t)(28 + roundup(len, 4) + 4);
    uint8_t *p = recorder_room(out, total);

    if (p == NULL)
        return;
    put32(&p, BLOCK_PACKET);
    put32(&p, total);
    put32(&p, 0);
    put32(&p, (uint32_t)(ns >> 32));
    put32(&p, (uint32_t)ns);
    put32(&p, (uint32_t)len);
    put32(&p, (uint32_t)len);
    memcpy(p, headers, headers_len);
    if (payload_len > 0)
        memcpy(p + headers_len, payload, payload_len);
    memset(p + len, 0, roundup(len, 4) - len);
    p += roundup(len, 4);
    put32(&p, total);
}

/* ---- IP, TCP, UDP ---- */

static uint32_t
sum(uint32_t so_far, const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i + 1 < len; i += 2)
        so_far += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    if (len % 2 != 0)
        so_far += (uint32_t)bytes[len - 1] << 8;
    return so_far;
}

static uint16_t
fold(uint32_t sum_of_all)
{
    while (sum_of_all >> 16 != 0)
        sum_of_all = (sum_of_all & 0xffff) + (sum_of_all >> 16);
    return (uint16_t)~sum_of_all;
}

static size_t
address_len(const struct connection *connection)
{
    return connection->v6 ? 16 : 4;
}

/* The header of IP for len bytes behind it. Returns where it ends. */
static uint8_t *
put_ip(uint8_t *start, const struct connection *connection, const struct end *from, const struct end *to, uint8_t protocol,
       size_t len)
{
    uint8_t *p = start, *check;

    if (connection->v6) {
        put32(&p, 6u << 28);
        put16(&p, (uint16_t)len);
        *p++ = protocol;
        *p++ = 64;
    } else {
        put16(&p, 0x4500);
        put16(&p, (uint16_t)(20 + len));
        put32(&p, 0x4000);                              /* not to be cut */
        *p++ = 64;
        *p++ = protocol;
        put16(&p, 0);
    }
    memcpy(p, from->address, address_len(connection));
    p += address_len(connection);
    memcpy(p, to->address, address_len(connection));
    p += address_len(connection);
    if (!connection->v6) {
        check = start + 10;
        put16(&check, fold(sum(0, start, 20)));
    }
    return p;
}

/* The sum over addresses, header and payload (RFC 9293 3.1, RFC 768). */
static uint16_t
checksum(const struct connection *connection, const struct end *from, const struct end *to, uint8_t protocol,
         const uint8_t *header, size_t header_len, const uint8_t *payload, size_t len)
{
    uint32_t all = protocol + (uint32_t)(header_len + len);

    all = sum(all, from->address, address_len(connection));
    all = sum(all, to->address, address_len(connection));
    all = sum(all, header, header_len);
    return fold(sum(all, payload, len));
}

static void
put_segment(struct recorder_bytes *out, uint64_t ns, const struct connection *connection,
            struct end *from, const struct end *to, uint8_t flags, const uint8_t *payload, size_t len)
{
    uint8_t headers[HEADERS_MAX], *tcp = put_ip(headers, connection, from, to, IPPROTO_TCP, 20 + len), *p = tcp, *check;

    put16(&p, from->port);
    put16(&p, to->port);
    put32(&p, from->next);
    put32(&p, flags & FLAG_ACK ? to->next : 0);
    *p++ = 5 << 4;
    *p++ = flags;
    put16(&p, UINT16_MAX);                              /* the window: nobody ever waits */
    check = p;
    put32(&p, 0);
    put16(&check, checksum(connection, from, to, IPPROTO_TCP, tcp, 20, payload, len));
    put_packet(out, ns, headers, (size_t)(p - headers), payload, len);
    from->next += (uint32_t)len + (flags & FLAG_SYN ? 1 : 0);
}

static void
put_datagram(struct recorder_bytes *out, uint64_t ns, const struct connection *connection,
             const struct end *from, const struct end *to, const uint8_t *payload, size_t len)
{
    uint8_t headers[HEADERS_MAX], *udp = put_ip(headers, connection, from, to, IPPROTO_UDP, 8 + len), *p = udp, *check;
    uint16_t value;

    put16(&p, from->port);
    put16(&p, to->port);
    put16(&p, (uint16_t)(8 + len));
    check = p;
    put16(&p, 0);
    value = checksum(connection, from, to, IPPROTO_UDP, udp, 8, payload, len);
    put16(&check, value != 0 ? value : UINT16_MAX);
    put_packet(out, ns, headers, (size_t)(p - headers), payload, len);
}

/* ---- Connections ---- */

static void
set_end(struct end *end, const struct sockaddr *address, bool v6)
{
    memset(end, 0, sizeof(*end));
    if (v6) {
        memcpy(end->address, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
        end->port = ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    } else if (address->sa_family == AF_INET) {
        memcpy(end->address, &((const struct sockaddr_in *)address)->sin_addr, 4);
        end->port = ntohs(((const struct sockaddr_in *)address)->sin_port);
    }
}

/* Addresses of IPv4 that came over a socket of IPv6 are shown as what they are. */
static void
set_connection(struct connection *connection, const struct ringnfs_call *seen)
{
    bool v6 = seen->client->sa_family == AF_INET6;

    connection->v6 = v6 && !IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)seen->client)->sin6_addr);
    set_end(&connection->client, seen->client, v6);
    set_end(&connection->server, seen->server, seen->server->sa_family == AF_INET6);
    if (v6 && !connection->v6) {
        memmove(connection->client.address, connection->client.address + 12, 4);
        if (seen->server->sa_family == AF_INET6)
            memmove(connection->server.address, connection->server.address + 12, 4);
    }
}

static bool
same_end(const struct end *a, const struct end *b)
{
    return a->port == b->port && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/* The connection of a call over TCP, which is opened where it is new. */
static struct connection *
find_connection(struct capture *capture, struct recorder_bytes *out, uint64_t ns, const struct connection *wanted)
{
    uint32_t place = wanted->client.port ^ wanted->client.address[3] * 31u ^ wanted->client.address[15] * 131u;
    struct connection *found = &capture->connections[place % CONNECTIONS];

    if (found->known && same_end(&found->client, &wanted->client) && same_end(&found->server, &wanted->server))
        return found;
    *found = *wanted;
    found->known = true;
    found->client.next = found->server.next = (uint32_t)(ns / 4000);    /* RFC 9293 3.4.1: another one each time */
    put_segment(out, ns, found, &found->client, &found->server, FLAG_SYN, NULL, 0);
    put_segment(out, ns, found, &found->server, &found->client, FLAG_SYN | FLAG_ACK, NULL, 0);
    put_segment(out, ns, found, &found->client, &found->server, FLAG_ACK, NULL, 0);
    return found;
}

/* ---- Messages (RFC 5531) ---- */

static void
add_credential(struct wire_out *out, const struct ringnfs_call *seen)
{
    const char *machine = seen->flavor == CALL_AUTH_KRB5 ? "krb5" : seen->flavor == CALL_AUTH_KRB5I ? "krb5i" : "krb5p";
    size_t len = strlen(machine);

    if (seen->flavor == CALL_AUTH_NONE) {
        wire_put_u64(out, CALL_AUTH_NONE);
        return;
    }
    if (seen->flavor == CALL_AUTH_SYS) {
        machine = seen->machine;
        len = MIN(seen->machine_len, 255);
    }
    wire_put_u32(out, CALL_AUTH_SYS);
    wire_put_u32(out, (uint32_t)(20 + wire_padded(len) + 4 * seen->ngroups));
    wire_put_u32(out, 0);                               /* the stamp */
    wire_put_opaque(out, machine, (uint32_t)len);
    wire_put_u32(out, seen->uid);
    wire_put_u32(out, seen->gid);
    wire_put_u32(out, (uint32_t)seen->ngroups);
    for (size_t i = 0; i < seen->ngroups; i++)
        wire_put_u32(out, seen->groups[i]);
}

static void
make_call(struct message *message, const struct ringnfs_call *seen)
{
    struct wire_out out = { message->header, message->header + sizeof(message->header), false };
    const uint32_t words[] = { 0, seen->xid, 0, 2, seen->program, seen->version, seen->procedure };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        wire_put_u32(&out, words[i]);
    add_credential(&out, seen);
    wire_put_u64(&out, 0);                              /* no verifier */
    message->header_len = (size_t)(out.p - message->header);
    message->body = seen->arguments;
    message->body_len = seen->arguments_len;
}

static void
make_reply(struct message *message, const struct ringnfs_call *seen)
{
    struct wire_out out = { message->header, message->header + sizeof(message->header), false };
    const uint32_t words[] = { 0, seen->xid, 1, 0, 0, 0, (uint32_t)seen->outcome };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        wire_put_u32(&out, words[i]);
    if (seen->outcome == CALL_PROG_MISMATCH) {          /* the versions that there are were not kept */
        wire_put_u32(&out, seen->version);
        wire_put_u32(&out, seen->version);
    }
    message->header_len = (size_t)(out.p - message->header);
    message->body = seen->results;
    message->body_len = seen->results_len;
}

/* The first word of a message is the record mark (RFC 5531 section 11), which a datagram does not have. */
static void
put_message(struct recorder_bytes *out, uint64_t ns, struct connection *connection, bool stream,
            bool from_client, struct message *message)
{
    struct end *from = from_client ? &connection->client : &connection->server;
    struct end *to = from_client ? &connection->server : &connection->client;
    size_t len = message->header_len + message->body_len;
    uint8_t *whole = malloc(len), *p = message->header;

    if (whole == NULL) {
        out->err = -ENOMEM;
        return;
    }
    put32(&p, 0x80000000u | (uint32_t)(len - 4));
    memcpy(whole, message->header, message->header_len);
    if (message->body_len > 0)
        memcpy(whole + message->header_len, message->body, message->body_len);
    if (!stream)
        put_datagram(out, ns, connection, from, to, whole + 4, len - 4);
    for (size_t at = 0; stream && at < len; at += SEGMENT_MAX)
        put_segment(out, ns, connection, from, to, FLAG_ACK | FLAG_PUSH, whole + at, MIN(len - at, SEGMENT_MAX));
    free(whole);
}

static void
put_call(void *context, struct recorder_bytes *out, const struct ringnfs_call *seen)
{
    struct capture *capture = context;
    struct connection wanted = { .known = false }, *connection = &wanted;
    uint64_t ns = (uint64_t)seen->began_s * NS + seen->began_ns;
    struct message message;

    capture->ns = ns;
    set_connection(&wanted, seen);
    if (seen->stream)
        connection = find_connection(capture, out, ns, &wanted);
    make_call(&message, seen);
    put_message(out, ns, connection, seen->stream, true, &message);
    if (seen->outcome == TAP_DROPPED)
        return;
    make_reply(&message, seen);
    put_message(out, ns + seen->duration_ns, connection, seen->stream, false, &message);
}

/* As whoever captures packets tells of those that he has missed. */
static void
put_lost(void *context, struct recorder_bytes *out, uint64_t calls)
{
    struct capture *capture = context;
    uint8_t block[40], *p = block;

    capture->lost += calls;
    put32(&p, BLOCK_STATISTICS);
    put32(&p, sizeof(block));
    put32(&p, 0);
    put32(&p, (uint32_t)(capture->ns >> 32));
    put32(&p, (uint32_t)capture->ns);
    put16(&p, OPTION_DROPPED);
    put16(&p, 8);
    put32(&p, (uint32_t)(capture->lost >> 32));
    put32(&p, (uint32_t)capture->lost);
    put32(&p, sizeof(block));
    recorder_add(out, block, sizeof(block));
}

const struct recorder_format capture_format = {
    .name = "capture",
    .begin = begin,
    .call = put_call,
    .lost = put_lost,
    .free = free,
};
