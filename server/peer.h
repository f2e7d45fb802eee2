/* server/peer.h - a caller's address as text, for the log and the MOUNT list. */
#ifndef RINGNFS_SERVER_PEER_H
#define RINGNFS_SERVER_PEER_H

#include <netinet/in.h>
#include <sys/socket.h>

struct peer_text {
    char text[INET6_ADDRSTRLEN];
};

/* The address without the port; IPv4-mapped IPv6 addresses as IPv4. Returns out->text. Any thread. */
const char *peer_format(const struct sockaddr_storage *peer, struct peer_text *out);

#endif
