/*
 * server/access.h - clients of an export: read from text, put in order, compared with a caller's address.
 *
 * The most specific client counts: a single address, then the network with the longest prefix, then everyone.
 * access_rights() is in exports.h.
 */
#ifndef RINGNFS_SERVER_ACCESS_H
#define RINGNFS_SERVER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "server/exports.h"

#define ACCESS_CLIENTS_MAX 2            /* that one word can stand for */

/*
 * What a client of exports(5) means: "" or "*", an address, ADDRESS/BITS, ADDRESS/NETMASK, or localhost, which is two.
 * Fills in match, address and prefix of up to ACCESS_CLIENTS_MAX clients. Returns 0, or -EINVAL with what is wrong.
 */
int access_parse(const char *text, struct export_client *clients, size_t *count, char *error, size_t error_size);

/* For sorting: negative when a goes before b, 0 when both are the same addresses. */
int access_compare(const struct export_client *a, const struct export_client *b);

/* Whether both are networks (not single addresses) and all of the inner one is in the outer. */
bool access_contains(const struct export_client *outer, const struct export_client *inner);

#endif
