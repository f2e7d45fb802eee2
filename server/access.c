/* server/access.c - see access.h, and exports.h for access_rights(). */
#include "server/access.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/log.h"
#include "server/text.h"

#define MAPPED_BITS 96                                   /* of ::ffff:0:0/96, in front of an IPv4 address */
#define SHOWN_MAX 96                                     /* bytes of a wrong word that are shown */
#define HOST_NAME_MAX_BYTES 253                          /* RFC 1035 2.3.4, as text */

static bool
same_prefix(const uint8_t *a, const uint8_t *b, unsigned prefix)
{
    unsigned whole = prefix / 8, rest = prefix % 8;

    return memcmp(a, b, whole) == 0 && (rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

/* 1, 0, or an error as hosts_has_address(). */
static int
matches(const struct export_client *client, struct hosts *hosts, struct hosts_query *query)
{
    const struct peer_address *peer = query->peer;

    switch (client->match) {
    case MATCH_ANYONE:
        return 1;
    case MATCH_ADDRESS:
        return memcmp(&client->address, peer, sizeof(*peer)) == 0;
    case MATCH_NETWORK:
        return client->address.bits == peer->bits && same_prefix(client->address.bytes, peer->bytes, client->prefix);
    case MATCH_HOST:
        return peer->bits == 0 ? 0 : hosts_has_address(hosts, client->text, query);
    case MATCH_WILDCARD:
        return peer->bits == 0 ? 0 : hosts_name_matches(hosts, client->text, query);
    case MATCH_NETGROUP:
        return peer->bits == 0 ? 0 : hosts_in_netgroup(hosts, client->text + 1, query);
    }
    return 0;
}

/* access_rights() by the export's own clients alone. */
static int
own_rights(const struct export *export, struct hosts *hosts, struct hosts_query *query,
           const struct export_rights **rights)
{
    size_t i;
    int fits;

    *rights = NULL;
    for (i = 0; i < export->nclients; i++) {
        fits = matches(&export->clients[i], hosts, query);
        if (fits < 0)
            return fits;
        if (fits == 0)
            continue;
        *rights = &export->clients[i].rights;
        return 0;
    }
    return 0;
}

int
access_rights(const struct export *export, struct hosts *hosts, struct hosts_query *query,
              const struct export_rights **rights)
{
    const struct export *around = export->inherits ? export->around : NULL;
    int err = own_rights(export, hosts, query, rights);

    for (; err == 0 && *rights == NULL && around != NULL; around = around->around) {
        err = own_rights(around, hosts, query, rights);
        if (err == 0 && *rights != NULL && !(*rights)->crossmnt)
            *rights = NULL;
    }
    return err;
}

void
access_prefetch(const struct exports *set, struct hosts *hosts)
{
    size_t i, j;

    for (i = 0; i < set->count; i++)
        for (j = 0; j < set->list[i].nclients; j++)
            if (set->list[i].clients[j].match == MATCH_HOST)
                hosts_prefetch(hosts, set->list[i].clients[j].text);
}

static int
kind_of(const struct export_client *client)
{
    return client->match == MATCH_HOST ? MATCH_ADDRESS : (int)client->match;
}

int
access_compare_kinds(const struct export_client *a, const struct export_client *b)
{
    return kind_of(a) - kind_of(b);
}

int
access_compare(const struct export_client *a, const struct export_client *b)
{
    int by_address;

    if (a->match != b->match)
        return a->match < b->match ? -1 : 1;
    switch (a->match) {
    case MATCH_ADDRESS:
    case MATCH_NETWORK:
        by_address = memcmp(&a->address, &b->address, sizeof(a->address));
        return by_address != 0 ? by_address : (int)a->prefix - (int)b->prefix;
    case MATCH_HOST:
    case MATCH_WILDCARD:
        return strcasecmp(a->text, b->text);
    case MATCH_NETGROUP:
        return strcmp(a->text, b->text);
    case MATCH_ANYONE:
        return 0;
    }
    return 0;
}

bool
access_contains(const struct export_client *outer, const struct export_client *inner)
{
    return outer->match == MATCH_NETWORK && inner->match == MATCH_NETWORK &&
           outer->address.bits == inner->address.bits && outer->prefix <= inner->prefix &&
           same_prefix(outer->address.bytes, inner->address.bytes, outer->prefix);
}

bool
access_is_address_pattern(const struct export_client *client)
{
    const char *text = client->text;

    return client->match == MATCH_WILDCARD && strpbrk(text, "0123456789") != NULL &&
           text[strspn(text, "0123456789.*?[]-^!")] == '\0';
}

/* Set the bits that do not count to zero. */
static void
clear_host_bits(struct export_client *client)
{
    unsigned i;

    for (i = client->prefix; i < client->address.bits; i++)
        client->address.bytes[i / 8] &= (uint8_t)~(0x80 >> (i % 8));
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
    if (bits == PEER_BITS4 && strchr(text, '.') != NULL) {
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

static int
refuse(const char *text, const char *why, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];

    snprintf(error, error_size, "%s: %s", log_quote(shown, sizeof(shown), text, strlen(text)), why);
    return -EINVAL;
}

/* The address in text[0..len), if there is one. */
static bool
read_address(const char *text, size_t len, struct sockaddr_storage *storage)
{
    struct sockaddr_in *in = (struct sockaddr_in *)storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)storage;
    char address[INET6_ADDRSTRLEN];

    if (len >= sizeof(address))
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    memset(storage, 0, sizeof(*storage));
    storage->ss_family = AF_INET;
    if (inet_pton(AF_INET, address, &in->sin_addr) == 1)
        return true;
    storage->ss_family = AF_INET6;
    return inet_pton(AF_INET6, address, &in6->sin6_addr) == 1;
}

/* An address, with the slash behind it, or without one (NULL). An IPv4-mapped one is IPv4, if all of its network is. */
static int
parse_address(const struct sockaddr_storage *storage, const char *slash, struct export_client *client, char *error,
              size_t error_size)
{
    unsigned bits = storage->ss_family == AF_INET ? PEER_BITS4 : PEER_BITS6, prefix = bits;

    if (slash != NULL && parse_prefix(slash + 1, bits, &prefix, error, error_size) < 0)
        return -EINVAL;
    peer_address_init(&client->address, (const struct sockaddr *)storage);
    if (client->address.bits < bits && prefix >= MAPPED_BITS) {
        prefix -= MAPPED_BITS;
    } else if (client->address.bits < bits) {
        client->address.bits = PEER_BITS6;
        memcpy(client->address.bytes, &((const struct sockaddr_in6 *)storage)->sin6_addr, PEER_BITS6 / 8);
    }
    client->match = slash == NULL ? MATCH_ADDRESS : MATCH_NETWORK;
    client->prefix = prefix;
    clear_host_bits(client);
    return 0;
}

static int
parse_localhost(struct export_client *clients, size_t *count)
{
    static const char *const addresses[ACCESS_CLIENTS_MAX] = { "127.0.0.1", "::1" };
    struct sockaddr_storage storage;
    size_t i;

    for (i = 0; i < ACCESS_CLIENTS_MAX; i++) {
        read_address(addresses[i], strlen(addresses[i]), &storage);
        parse_address(&storage, NULL, &clients[i], NULL, 0);
    }
    *count = ACCESS_CLIENTS_MAX;
    return 0;
}

/* Whether text has nothing but letters, digits and what is in `others`. */
static bool
has_only(const char *text, const char *others)
{
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && strchr(others, *text) == NULL)
            return false;
    return true;
}

static bool
brackets_are_closed(const char *pattern)
{
    const char *open = strchr(pattern, '[');

    while (open != NULL) {
        pattern = open + 1 + (open[1] == '^' || open[1] == '!');
        if (*pattern == '\0')
            return false;
        pattern = strchr(pattern + 1, ']');             /* one that is first in the list is part of it */
        if (pattern == NULL)
            return false;
        open = strchr(pattern, '[');
    }
    return true;
}

/* What text is that holds no address and no slash: NULL when it is good, or what is wrong. */
static const char *
parse_name(const char *text, struct export_client *client)
{
    size_t len = strlen(text);

    if (text[0] == '@') {
        client->match = MATCH_NETGROUP;
        return len == 1                 ? "the name of the netgroup is missing"
               : len > HOSTS_NAME_BYTES ? "this is too long for the name of a netgroup (at most 255 bytes)"
                                        : NULL;
    }
    if (strchr(text, ':') != NULL)
        return text[0] == '[' ? "an IPv6 address is written without brackets" : "this is not an IPv4 or IPv6 address";
    if (text[strspn(text, "0123456789.")] == '\0')
        return "this is not an IPv4 or IPv6 address";
    client->match = strpbrk(text, "*?[") != NULL ? MATCH_WILDCARD : MATCH_HOST;
    if (client->match == MATCH_WILDCARD && !has_only(text, "-_.*?[]^!"))
        return "this is not a pattern for host names (letters, digits, '-', '_', '.', and * ? [...])";
    if (client->match == MATCH_WILDCARD && !brackets_are_closed(text))
        return "this '[' is not closed";
    if (client->match == MATCH_HOST && !has_only(text, "-_."))
        return "this is not a host name (letters, digits, '-', '_' and '.')";
    if (len > HOST_NAME_MAX_BYTES)
        return "this is too long for a host name (at most 253 bytes)";
    return NULL;
}

int
access_parse(const char *text, struct export_client *clients, size_t *count, char *error, size_t error_size)
{
    const char *slash = strchr(text, '/'), *wrong;
    struct sockaddr_storage storage;

    memset(clients, 0, ACCESS_CLIENTS_MAX * sizeof(*clients));
    *count = 1;
    clients[0].match = MATCH_ANYONE;
    if (*text == '\0' || strcmp(text, "*") == 0)
        return 0;
    if (strcasecmp(text, "localhost") == 0)
        return parse_localhost(clients, count);
    if (read_address(text, slash != NULL ? (size_t)(slash - text) : strlen(text), &storage))
        return parse_address(&storage, slash, &clients[0], error, error_size);
    if (strncmp(text, "gss/", 4) == 0)
        return refuse(text, "Kerberos is asked for with the option sec=, not with a client", error, error_size);
    if (slash != NULL && text[0] != '@')
        return refuse(text, "a network is ADDRESS/BITS or ADDRESS/NETMASK, and this does not begin with an address",
                      error, error_size);
    wrong = parse_name(text, &clients[0]);
    return wrong == NULL ? 0 : refuse(text, wrong, error, error_size);
}
