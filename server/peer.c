/* server/peer.c - addresses as text. */
#include "server/peer.h"

#include <arpa/inet.h>
#include <stdio.h>

const char *
peer_format(const struct sockaddr_storage *peer, struct peer_text *out)
{
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)peer)->sin6_addr;

    if (peer->ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)peer)->sin_addr, out->text, sizeof(out->text));
    else if (peer->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(in6))
        inet_ntop(AF_INET, &in6->s6_addr[12], out->text, sizeof(out->text));
    else if (peer->ss_family == AF_INET6)
        inet_ntop(AF_INET6, in6, out->text, sizeof(out->text));
    else
        snprintf(out->text, sizeof(out->text), "unknown");
    return out->text;
}
