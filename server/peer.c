/* server/peer.c - addresses as text and as bytes. */
#include "server/peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define MAPPED_BYTES 12                 /* of ::ffff:0:0/96, in front of an IPv4 address */

void
peer_address_init(struct peer_address *address, const struct sockaddr *peer)
{
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)peer)->sin6_addr;

    memset(address, 0, sizeof(*address));
    if (peer->sa_family == AF_INET) {
        address->bits = PEER_BITS4;
        memcpy(address->bytes, &((const struct sockaddr_in *)peer)->sin_addr, PEER_BITS4 / 8);
    } else if (peer->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(in6)) {
        address->bits = PEER_BITS4;
        memcpy(address->bytes, in6->s6_addr + MAPPED_BYTES, PEER_BITS4 / 8);
    } else if (peer->sa_family == AF_INET6) {
        address->bits = PEER_BITS6;
        memcpy(address->bytes, in6->s6_addr, PEER_BITS6 / 8);
    }
}

const char *
peer_address_format(const struct peer_address *address, struct peer_text *out)
{
    if (address->bits == 0)
        snprintf(out->text, sizeof(out->text), "unknown");
    else
        inet_ntop(address->bits == PEER_BITS4 ? AF_INET : AF_INET6, address->bytes, out->text, sizeof(out->text));
    return out->text;
}

const char *
peer_format(const struct sockaddr_storage *peer, struct peer_text *out)
{
    struct peer_address address;

    peer_address_init(&address, (const struct sockaddr *)peer);
    return peer_address_format(&address, out);
}
