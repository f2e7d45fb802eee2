/*
 * server/access.h - clients of an export: read from text, put in order, compared with a caller.
 *
 * As exports(5) has it: hosts and single addresses go first, then networks, wildcards, netgroups, everyone; of one kind
 * the one that is written first. access_rights() is in exports.h.
 */
#ifndef RINGNFS_SERVER_ACCESS_H
#define RINGNFS_SERVER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "server/exports.h"

#define ACCESS_CLIENTS_MAX 2            /* that one word can stand for */

/*
 * What a client of exports(5) means: "" or "*", an address, ADDRESS/BITS, ADDRESS/NETMASK, a host name, a pattern for
 * names, @NETGROUP, or localhost, which is two addresses. Fills in match, address and prefix of ACCESS_CLIENTS_MAX
 * clients at most. Returns 0, or -EINVAL with what is wrong.
 */
int access_parse(const char *text, struct export_client *clients, size_t *count, char *error, size_t error_size);

/* Which kind goes first: negative when a's does, 0 when what is written first counts. */
int access_compare_kinds(const struct export_client *a, const struct export_client *b);

/* Some order in which clients that are the same are side by side; 0 for those. */
int access_compare(const struct export_client *a, const struct export_client *b);

/* Whether both are networks and all of the inner one is in the outer. */
bool access_contains(const struct export_client *outer, const struct export_client *inner);

/* Whether it is a pattern that looks as if it were for addresses, which it will never be compared with. */
bool access_is_address_pattern(const struct export_client *client);

#endif
