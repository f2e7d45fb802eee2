/*
 * server/seen.h - a call as those see it who look on: struct ringnfs_call of the public header, filled from a call on its
 * way (rpc/tap.h). Any thread.
 */
#ifndef RINGNFS_SERVER_SEEN_H
#define RINGNFS_SERVER_SEEN_H

#include "rpc/call.h"
#include "server/ringnfs.h"

#define SEEN_UNKNOWN "?"                /* a name that there is none for */

/* A call that begins, or has begun; it borrows what the call has. */
void seen_begin(struct ringnfs_call *seen, const struct call *call);

/* Its end: how as in call_tap.ends(). */
void seen_end(struct ringnfs_call *seen, const struct call *call, int how, const uint8_t *results, size_t len);

/* Fill the fields that are decoded from arguments and results, which are there. */
void seen_decode_arguments(struct ringnfs_call *seen);
void seen_decode_results(struct ringnfs_call *seen);

/* Whether a call is one of NFS with this number. */
bool seen_is(const struct ringnfs_call *seen, uint32_t procedure);

/* Whether it has results, and their status is OK. */
bool seen_succeeded(const struct ringnfs_call *seen);

/* The handle that the results give for what was named; NULL: none. */
const uint8_t *seen_result_handle(const struct ringnfs_call *seen, size_t *len);

#endif
