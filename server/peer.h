/* server/peer.h - a caller's address: as text, for the log and the MOUNT list, and as bytes that can be compared. */
#ifndef RINGNFS_SERVER_PEER_H
#define RINGNFS_SERVER_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define PEER_BITS4 32
#define PEER_BITS6 128

struct peer_text {
    char text[INET6_ADDRSTRLEN];
};

/* An address without its port. All bytes are set, so that two of them may be compared with memcmp(). */
struct peer_address {
    uint8_t bytes[16];                  /* those behind the bits are zero */
    uint32_t bits;                      /* PEER_BITS4, PEER_BITS6; 0: neither IPv4 nor IPv6 */
};

/* The address without the port; IPv4-mapped IPv6 addresses as IPv4. Returns out->text. Any thread, like all here. */
const char *peer_format(const struct sockaddr_storage *peer, struct peer_text *out);

/* The same as bytes. */
void peer_address_init(struct peer_address *address, const struct sockaddr *peer);

/* And as text. Returns out->text. */
const char *peer_address_format(const struct peer_address *address, struct peer_text *out);

#endif
