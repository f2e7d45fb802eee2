/* tests/lib/live_private.h - between live.c, live_rpc.c and live_nfs.c. */
#ifndef RINGNFS_TESTS_LIB_LIVE_PRIVATE_H
#define RINGNFS_TESTS_LIB_LIVE_PRIVATE_H

#include "tests/lib/live.h"

/* size zeroed bytes that are xdr_free()d by codec when the server stops; codec may be NULL. */
void *live_keep_decoded(struct live *srv, size_t size, xdrproc_t codec);

/* Whether this machine has ::1. */
bool live_has_ipv6(void);

#endif
