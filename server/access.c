/* server/access.c - see access.h, and exports.h for access_rights(). */
#include "server/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "server/log.h"
#include "server/text.h"

#define BITS4 32
#define BITS6 128
#define MAPPED_BITS 96                                   /* of ::ffff:0:0/96, in front of an IPv4 address */
#define SHOWN_MAX 96                                     /* bytes of a wrong word that are shown */

/* The bytes of an address, and how many bits they are; an IPv4-mapped one counts as IPv4. NULL: it is neither. */
static const uint8_t *
address_bytes(const struct sockaddr *address, unsigned *bits)
{
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

    if (address->sa_family == AF_INET) {
        *bits = BITS4;
        return (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr;
    }
    if (address->sa_family != AF_INET6)
        return NULL;
    if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        *bits = BITS4;
        return in6->sin6_addr.s6_addr + MAPPED_BITS / 8;
    }
    *bits = BITS6;
    return in6->sin6_addr.s6_addr;
}

static bool
same_prefix(const uint8_t *a, const uint8_t *b, unsigned prefix)
{
    unsigned whole = prefix / 8, rest = prefix % 8;

    return memcmp(a, b, whole) == 0 && (rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

static bool
matches(const struct export_client *client, const uint8_t *peer, unsigned peer_bits)
{
    const uint8_t *address;
    unsigned bits = 0;

    if (client->match == MATCH_ANYONE)
        return true;
    address = address_bytes((const struct sockaddr *)&client->address, &bits);
    return peer != NULL && bits == peer_bits && same_prefix(address, peer, client->prefix);
}

const struct export_rights *
access_rights(const struct export *export, const struct sockaddr *peer)
{
    unsigned bits = 0;
    const uint8_t *bytes = address_bytes(peer, &bits);
    size_t i;

    for (i = 0; i < export->nclients; i++)
        if (matches(&export->clients[i], bytes, bits))
            return &export->clients[i].rights;
    return NULL;
}

static unsigned
address_bits(const struct export_client *client)
{
    return client->address.ss_family == AF_INET ? BITS4 : BITS6;
}

/* How specific a client is: bits that are left open, fewer first. */
static unsigned
open_bits(const struct export_client *client)
{
    return client->match == MATCH_ANYONE ? BITS6 + 1 : address_bits(client) - client->prefix;
}

int
access_compare(const struct export_client *a, const struct export_client *b)
{
    const uint8_t *a_bytes, *b_bytes;
    unsigned a_open = open_bits(a), b_open = open_bits(b), bits = 0;

    if (a_open != b_open)
        return a_open < b_open ? -1 : 1;
    if (a->match == MATCH_ANYONE)
        return 0;
    if (a->address.ss_family != b->address.ss_family)
        return a->address.ss_family < b->address.ss_family ? -1 : 1;
    a_bytes = address_bytes((const struct sockaddr *)&a->address, &bits);
    b_bytes = address_bytes((const struct sockaddr *)&b->address, &bits);
    return memcmp(a_bytes, b_bytes, bits / 8);
}

bool
access_contains(const struct export_client *outer, const struct export_client *inner)
{
    unsigned bits;

    if (outer->match != MATCH_ADDRESS || inner->match != MATCH_ADDRESS ||
        outer->address.ss_family != inner->address.ss_family || outer->prefix >= inner->prefix ||
        inner->prefix == address_bits(inner))
        return false;
    return same_prefix(address_bytes((const struct sockaddr *)&outer->address, &bits),
                       address_bytes((const struct sockaddr *)&inner->address, &bits), outer->prefix);
}

/* Set the bits that do not count to zero. */
static void
clear_host_bits(uint8_t *bytes, unsigned bits, unsigned prefix)
{
    unsigned i;

    for (i = prefix; i < bits; i++)
        bytes[i / 8] &= (uint8_t)~(0x80 >> (i % 8));
}

static void
set_client4(struct export_client *client, const void *address, unsigned prefix)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&client->address;

    client->match = MATCH_ADDRESS;
    client->prefix = prefix;
    in->sin_family = AF_INET;
    memcpy(&in->sin_addr, address, sizeof(in->sin_addr));
    clear_host_bits((uint8_t *)&in->sin_addr, BITS4, prefix);
}

static void
set_client6(struct export_client *client, const struct in6_addr *address, unsigned prefix)
{
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&client->address;

    if (IN6_IS_ADDR_V4MAPPED(address) && prefix >= MAPPED_BITS) {
        set_client4(client, address->s6_addr + MAPPED_BITS / 8, prefix - MAPPED_BITS);
        return;
    }
    client->match = MATCH_ADDRESS;
    client->prefix = prefix;
    in6->sin6_family = AF_INET6;
    in6->sin6_addr = *address;
    clear_host_bits(in6->sin6_addr.s6_addr, BITS6, prefix);
}

/* "255.255.252.0" is 22; -1 when ones and zeros are mixed. */
static int
netmask_prefix(const struct in_addr *netmask)
{
    uint32_t mask = ntohl(netmask->s_addr);
    int ones = mask == 0 ? 0 : 32 - __builtin_ctz(mask);

    return ones == 0 || mask == UINT32_MAX << (32 - ones) ? ones : -1;
}

static int
parse_prefix(const char *text, unsigned bits, unsigned *prefix, char *error, size_t error_size)
{
    struct in_addr netmask;
    char shown[SHOWN_MAX];
    uint64_t number;
    int ones;

    log_quote(shown, sizeof(shown), text, strlen(text));
    if (bits == BITS4 && strchr(text, '.') != NULL) {
        ones = inet_pton(AF_INET, text, &netmask) == 1 ? netmask_prefix(&netmask) : -1;
        if (ones >= 0) {
            *prefix = (unsigned)ones;
            return 0;
        }
        snprintf(error, error_size, "%s is not a netmask (ones, then zeros, as 255.255.252.0)", shown);
        return -EINVAL;
    }
    if (text_number(text, &number) < 0 || number > bits) {
        snprintf(error, error_size, "%s is not a prefix length (0 to %u)", shown, bits);
        return -EINVAL;
    }
    *prefix = (unsigned)number;
    return 0;
}

/* Say why text (an address, without what follows a slash) is none. */
static int
refuse_name(const char *text, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    const char *why;

    if (text[0] == '[' && strchr(text, ':') != NULL)
        why = "an IPv6 address is written without brackets";
    else if (text[0] != '\0' && (strchr(text, ':') != NULL || text[strspn(text, "0123456789.")] == '\0'))
        why = "this is not an IPv4 or IPv6 address";
    else
        why = "host names are not supported in this version: use an address or a network";
    snprintf(error, error_size, "%s: %s", log_quote(shown, sizeof(shown), text, strlen(text)), why);
    return -EINVAL;
}

static int
parse_localhost(struct export_client *clients, size_t *count)
{
    const struct in_addr loopback4 = { htonl(INADDR_LOOPBACK) };

    set_client4(&clients[0], &loopback4, BITS4);
    set_client6(&clients[1], &in6addr_loopback, BITS6);
    *count = 2;
    return 0;
}

int
access_parse(const char *text, struct export_client *clients, size_t *count, char *error, size_t error_size)
{
    const char *slash = strchr(text, '/');
    size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
    struct in_addr address4;
    struct in6_addr address6;
    char address[INET6_ADDRSTRLEN];
    unsigned bits, prefix;

    memset(clients, 0, ACCESS_CLIENTS_MAX * sizeof(*clients));
    *count = 1;
    clients[0].match = MATCH_ANYONE;
    if (*text == '\0' || strcmp(text, "*") == 0)
        return 0;
    if (strcmp(text, "localhost") == 0)
        return parse_localhost(clients, count);
    if (len >= sizeof(address))
        return refuse_name(text, error, error_size);
    memcpy(address, text, len);
    address[len] = '\0';
    if (inet_pton(AF_INET, address, &address4) == 1)
        bits = BITS4;
    else if (inet_pton(AF_INET6, address, &address6) == 1)
        bits = BITS6;
    else
        return refuse_name(address, error, error_size);
    prefix = bits;
    if (slash != NULL && parse_prefix(slash + 1, bits, &prefix, error, error_size) < 0)
        return -EINVAL;
    if (bits == BITS4)
        set_client4(&clients[0], &address4, prefix);
    else
        set_client6(&clients[0], &address6, prefix);
    return 0;
}
