/* server/address.h - what a server listens on, as the operator writes it. */
#ifndef RINGNFS_SERVER_ADDRESS_H
#define RINGNFS_SERVER_ADDRESS_H

#include <stddef.h>
#include <sys/socket.h>

/*
 * Read a numeric IPv4 or IPv6 address, or an absolute path, which is that of a Unix socket. Returns 0, -EINVAL or
 * -ENAMETOOLONG; error then holds one line. Any thread.
 */
int address_parse(const char *text, struct sockaddr_storage *address, char *error, size_t error_size);

#endif
