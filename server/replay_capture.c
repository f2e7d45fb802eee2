/*
 * server/replay_capture.c - calls out of a capture file; see replay_source.h.
 *
 * pcapng (draft-ietf-opsawg-pcapng) and pcap (draft-ietf-opsawg-pcap), in either byte order. Of each packet what is TCP or
 * UDP over IPv4 or IPv6 is passed on; all else is none of ours.
 */
#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "server/replay_source.h"
#include "server/replay_streams.h"

#define PACKET_MAX ((size_t)1 << 20)    /* bytes; the largest that anybody captures is 256 KiB */
#define INTERFACES_MAX 1024
#define PCAP_MICROSECONDS 0xa1b2c3d4u
#define PCAP_NANOSECONDS 0xa1b23c4du
#define PCAPNG_SECTION 0x0a0d0d0au
#define PCAPNG_ORDER 0x1a2b3c4du
#define PCAPNG_INTERFACE 1u
#define PCAPNG_SIMPLE_PACKET 3u
#define PCAPNG_PACKET 6u

/* What packets begin with: LINKTYPE_... */
enum link { LINK_NULL = 0, LINK_ETHERNET = 1, LINK_RAW = 101, LINK_LINUX = 113, LINK_IPV4 = 228, LINK_IPV6 = 229,
            LINK_LINUX_2 = 276 };

struct capture_source {
    struct replay_source source;        /* first */
    FILE *file;
    struct replay_streams *streams;
    uint64_t number;                    /* of the packet, as others count them */
    bool ng, swapped;
    uint32_t links[INTERFACES_MAX];
    uint32_t ninterfaces;
    uint8_t *packet;                    /* PACKET_MAX bytes */
    bool at_end;
};

static int
refuse(const struct capture_source *source, const char *why, char *error, size_t error_size)
{
    snprintf(error, error_size, "behind packet %" PRIu64 ": %s", source->number, why);
    return -EINVAL;
}

static uint32_t
host32(const struct capture_source *source, const uint8_t *p)
{
    uint32_t value;

    memcpy(&value, p, sizeof(value));
    return source->swapped ? bswap_32(value) : value;
}

static uint32_t
net32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint16_t
net16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* ---- What is in a packet ---- */

static int
add_transport(struct capture_source *source, struct replay_packet *packet, uint8_t protocol, const uint8_t *p, size_t len)
{
    size_t header = protocol == IPPROTO_TCP ? 20 : 8;

    if ((protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) || len < header)
        return 0;
    packet->tcp = protocol == IPPROTO_TCP;
    packet->from_port = net16(p);
    packet->to_port = net16(p + 2);
    if (packet->tcp) {
        header = (size_t)(p[12] >> 4) * 4;
        packet->sequence = net32(p + 4);
        packet->begins = (p[13] & 0x02) != 0;
        if (header < 20 || header > len)
            return 0;
    }
    packet->data = p + header;
    packet->len = len - header;
    return replay_streams_add(source->streams, packet);
}

static int
add_ipv4(struct capture_source *source, const uint8_t *p, size_t len)
{
    struct replay_packet packet = { .tcp = false };
    size_t header, total;

    if (len < 20)
        return 0;
    header = (size_t)(p[0] & 15) * 4;
    total = net16(p + 2) != 0 ? net16(p + 2) : len;     /* 0: the network card was to cut it */
    if (header < 20 || total < header || header > len)
        return 0;
    if ((net16(p + 6) & 0x3fff) != 0) {
        source->source.left_out.torn++;
        return 0;
    }
    memcpy(packet.from, p + 12, 4);
    memcpy(packet.to, p + 16, 4);
    return add_transport(source, &packet, p[9], p + header, (total < len ? total : len) - header);
}

static int
add_ipv6(struct capture_source *source, const uint8_t *p, size_t len)
{
    struct replay_packet packet = { .tcp = false };
    size_t payload;

    if (len < 40)
        return 0;
    payload = net16(p + 4) != 0 ? net16(p + 4) : len - 40;
    memcpy(packet.from, p + 8, 16);
    memcpy(packet.to, p + 24, 16);
    return add_transport(source, &packet, p[6], p + 40, payload < len - 40 ? payload : len - 40);
}

static int
add_ip(struct capture_source *source, const uint8_t *p, size_t len)
{
    if (len == 0)
        return 0;
    if (p[0] >> 4 == 4)
        return add_ipv4(source, p, len);
    return p[0] >> 4 == 6 ? add_ipv6(source, p, len) : 0;
}

/* Where IP begins: behind this many bytes. Returns false for a kind that is not known. */
static bool
find_ip(uint32_t link, const uint8_t *p, size_t len, size_t *header)
{
    switch (link) {
    case LINK_NULL:
        *header = 4;
        return true;
    case LINK_ETHERNET:
        *header = 14;
        while (len >= *header && (net16(p + *header - 2) == 0x8100 || net16(p + *header - 2) == 0x88a8))
            *header += 4;               /* a VLAN */
        return true;
    case LINK_LINUX:
        *header = 16;
        return true;
    case LINK_LINUX_2:
        *header = 20;
        return true;
    case LINK_RAW:
    case LINK_IPV4:
    case LINK_IPV6:
        *header = 0;
        return true;
    default:
        return false;
    }
}

static int
add_packet(struct capture_source *source, uint32_t link, const uint8_t *p, size_t len, char *error, size_t error_size)
{
    char why[64];
    size_t header;

    source->number++;
    if (!find_ip(link, p, len, &header)) {
        snprintf(why, sizeof(why), "packets of link type %" PRIu32 " are not understood", link);
        return refuse(source, why, error, error_size);
    }
    return len > header ? add_ip(source, p + header, len - header) : 0;
}

/* ---- Files ---- */

/* Read n bytes. Returns 1, 0 at the end of the file, or -errno. */
static int
take(struct capture_source *source, uint8_t *out, size_t n, char *error, size_t error_size)
{
    size_t got = fread(out, 1, n, source->file);

    if (got == n)
        return 1;
    if (ferror(source->file))
        return refuse(source, "the file cannot be read", error, error_size);
    return got == 0 ? 0 : refuse(source, "the file ends in the middle of one", error, error_size);
}

/* The same, where the end of the file is a mistake. */
static int
take_rest(struct capture_source *source, uint8_t *out, size_t n, char *error, size_t error_size)
{
    int err = n > 0 ? take(source, out, n, error, error_size) : 1;

    return err == 0 ? refuse(source, "the file ends in the middle of one", error, error_size) : err;
}

static int
next_pcap(struct capture_source *source, char *error, size_t error_size)
{
    uint8_t header[16];
    uint32_t len;
    int err = take(source, header, sizeof(header), error, error_size);

    if (err <= 0)
        return err;
    len = host32(source, header + 8);
    if (len > PACKET_MAX)
        return refuse(source, "a packet of such a length is a mistake", error, error_size);
    err = take_rest(source, source->packet, len, error, error_size);
    if (err > 0)
        err = add_packet(source, source->links[0], source->packet, len, error, error_size);
    return err < 0 ? err : 1;
}

static int
add_block(struct capture_source *source, uint32_t type, size_t len, char *error, size_t error_size)
{
    const uint8_t *body = source->packet;
    uint32_t interface, captured;
    uint16_t link;

    if (type == PCAPNG_INTERFACE && len >= 8 && source->ninterfaces < INTERFACES_MAX) {
        memcpy(&link, body, sizeof(link));
        source->links[source->ninterfaces++] = source->swapped ? bswap_16(link) : link;
        return 1;
    }
    if (type != PCAPNG_PACKET && type != PCAPNG_SIMPLE_PACKET)
        return 1;
    if (len < (type == PCAPNG_PACKET ? 20u : 4u))
        return refuse(source, "a block is too short", error, error_size);
    interface = type == PCAPNG_PACKET ? host32(source, body) : 0;
    captured = type == PCAPNG_PACKET ? host32(source, body + 12) : (uint32_t)len - 4;
    body += type == PCAPNG_PACKET ? 20 : 4;
    if (interface >= source->ninterfaces || captured > len - (size_t)(body - source->packet))
        return refuse(source, "a packet is of no interface, or longer than its block", error, error_size);
    return add_packet(source, source->links[interface], body, captured, error, error_size) < 0 ? -EINVAL : 1;
}

/* A section has its own byte order and its own interfaces. */
static int
begin_section(struct capture_source *source, char *error, size_t error_size)
{
    uint8_t order[4];
    uint32_t magic;
    int err = take_rest(source, order, sizeof(order), error, error_size);

    if (err <= 0)
        return err;
    memcpy(&magic, order, sizeof(magic));
    if (magic != PCAPNG_ORDER && magic != bswap_32(PCAPNG_ORDER))
        return refuse(source, "a section is of neither byte order", error, error_size);
    source->swapped = magic != PCAPNG_ORDER;
    source->ninterfaces = 0;
    return 1;
}

static int
next_block(struct capture_source *source, char *error, size_t error_size)
{
    uint8_t header[8];
    uint32_t type, len, before = 8;
    int err = take(source, header, sizeof(header), error, error_size);

    if (err <= 0)
        return err;
    type = host32(source, header);
    if (type == PCAPNG_SECTION) {                       /* it is the same in both orders */
        err = begin_section(source, error, error_size);
        if (err <= 0)
            return err;
        before = 12;
    }
    len = host32(source, header + 4);
    if (len < before + 4 || len % 4 != 0 || len > PACKET_MAX)
        return refuse(source, "a block of such a length is a mistake", error, error_size);
    err = take_rest(source, source->packet, len - before, error, error_size);
    if (err <= 0)
        return err;
    if (host32(source, source->packet + len - before - 4) != len)
        return refuse(source, "a block has two lengths", error, error_size);
    return type == PCAPNG_SECTION ? 1 : add_block(source, type, len - before - 4, error, error_size);
}

static int
capture_next(struct replay_source *replay_source, struct ringnfs_call *call, uint64_t *at, char *error, size_t error_size)
{
    struct capture_source *source = (struct capture_source *)replay_source;
    int err = 1;

    error[0] = '\0';
    while (!replay_streams_take(source->streams, call)) {
        err = source->ng ? next_block(source, error, error_size) : next_pcap(source, error, error_size);
        if (err <= 0)
            break;
    }
    *at = source->number;
    if (err == 0)
        source->source.left_out.unanswered += replay_streams_unanswered(source->streams);
    if (err < 0 && error[0] == '\0')
        snprintf(error, error_size, "out of memory");
    return err;
}

static void
capture_free(struct replay_source *replay_source)
{
    struct capture_source *source = (struct capture_source *)replay_source;

    replay_streams_free(source->streams);
    free(source->packet);
    fclose(source->file);
    free(source);
}

static const struct replay_source_ops capture_ops = { .next = capture_next, .free = capture_free };

/* What the file is, by its first bytes. */
static int
begin(struct capture_source *source, char *error, size_t error_size)
{
    uint8_t header[24];
    uint32_t magic;

    if (fread(header, 1, sizeof(header), source->file) == sizeof(header)) {
        memcpy(&magic, header, sizeof(magic));
        source->ng = magic == PCAPNG_SECTION;
        source->swapped = magic == bswap_32(PCAP_MICROSECONDS) || magic == bswap_32(PCAP_NANOSECONDS);
        source->links[0] = host32(source, header + 20) & 0xffff;
        if (source->ng)
            rewind(source->file);
        if (source->ng || source->swapped || magic == PCAP_MICROSECONDS || magic == PCAP_NANOSECONDS)
            return 0;
    }
    snprintf(error, error_size, "this is neither a journal of ringnfs nor a capture file (pcap, pcapng)");
    return -EINVAL;
}

int
replay_capture_open(FILE *file, struct replay_source **out, char *error, size_t error_size)
{
    struct capture_source *source = calloc(1, sizeof(*source));
    int err = source != NULL ? 0 : -ENOMEM;

    if (source == NULL) {
        fclose(file);
    } else {
        source->source.ops = &capture_ops;
        source->file = file;
        source->packet = malloc(PACKET_MAX);
        err = source->packet != NULL ? replay_streams_new(&source->source.left_out, &source->streams) : -ENOMEM;
    }
    if (err < 0)
        snprintf(error, error_size, "out of memory");
    else
        err = begin(source, error, error_size);
    if (err < 0) {
        if (source != NULL)
            capture_free(&source->source);
        return err;
    }
    *out = &source->source;
    return 0;
}
