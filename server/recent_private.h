/* server/recent_private.h - what is kept of a call, and what may be asked of it: for recent.c, expect.c and covered.c. */
#ifndef RINGNFS_SERVER_RECENT_PRIVATE_H
#define RINGNFS_SERVER_RECENT_PRIVATE_H

#include <netinet/in.h>
#include <stdbool.h>

#include "server/peer.h"
#include "server/recent.h"
#include "xdr/nfs3.h"

struct recent_call {
    uint64_t number, ended_before;
    uint32_t program, version, procedure;
    const char *name, *status_name;
    int outcome;
    bool succeeded, replayed;
    uint32_t uid;
    struct peer_address client;
    uint8_t handle[NFS3_FHSIZE];
    uint8_t handle_len;
    char *path;                         /* owned; NULL: not known */
    uint64_t offset;
    uint32_t count, done;
    int stable, committed;
    uint64_t verifier;
};

struct recent {
    size_t most;
    uint64_t added;                     /* since the last recent_forget() */
    bool missing;                       /* one could not be kept */
    struct recent_call calls[];         /* the i-th is at i % most */
};

/* How many there are, and the i-th of them, the oldest first. */
size_t recent_calls(const struct recent *recent);
const struct recent_call *recent_call(const struct recent *recent, size_t i);

/* A call as one line, for whoever expected something else. */
void recent_print(const struct recent_call *call, char *out, size_t size);

/* The first WRITE that is not covered (ringnfs_expect()); NULL: there is none. Returns 0 or -ENOMEM. */
int recent_uncovered(const struct recent *recent, const struct recent_call **call, uint64_t *from, uint64_t *to);

#endif
