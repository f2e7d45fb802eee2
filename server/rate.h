/*
 * server/rate.h - how fast a client of an export may go: max_rate and max_iops as buckets that leak.
 *
 * Each address has a bucket for each export. What a call costs is poured in as soon as the call has come, and leaks out
 * at the rate of the limit; a call that finds more than RATE_BURST_MS worth of it in the bucket is to begin once so much
 * has leaked. So calls keep their order, the sum is right whatever the sizes are, and nobody has to be woken in turn. Calls
 * that move no bytes wait for the limit of calls alone.
 *
 * Buckets are in a table of fixed size for all workers. One that is empty is as good as none, so it makes room first;
 * where all that could are in use, the one that is empty soonest does, and its client has one burst more.
 */
#ifndef RINGNFS_SERVER_RATE_H
#define RINGNFS_SERVER_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/peer.h"

#define RATE_BURST_MS 100               /* how far a client who has been idle may be ahead */

struct rate;

/* A clock that only goes forward; never blocks; any thread. */
struct rate_clock {
    void *context;
    uint64_t (*now_ns)(void *context);
};

/* The monotonic one. */
extern const struct rate_clock rate_clock_system;

/* Of one second; 0: no limit. */
struct rate_limits {
    uint64_t bytes;
    uint32_t calls;
};

/* Whose bucket. */
struct rate_key {
    uint64_t export_id;
    struct peer_address peer;
};

/* Room for `entries` buckets, rounded up; memory is touched as they are used. clock outlives it. Returns 0 or -ENOMEM. */
int rate_new(uint32_t entries, const struct rate_clock *clock, struct rate **rate);
void rate_free(struct rate *rate);

/* Any thread, like all below. */
uint64_t rate_now_ns(const struct rate *rate);

/* A call that is charged. */
struct rate_charge {
    uint64_t bytes;                     /* given: that it moves */
    bool at_most;                       /* given: or fewer, as a READ does at the end of a file */
    uint64_t paid;                      /* bytes that were charged: a guess from the client's last ones where at_most */
    uint64_t due_ns;                    /* when it may begin: the past, now, or later */
};

/*
 * Charge a call. Returns 0, or -EAGAIN with nothing charged when it could not begin for more than patience_ns.
 */
int rate_charge(struct rate *rate, const struct rate_key *key, const struct rate_limits *limits, uint64_t patience_ns,
                struct rate_charge *charge);

/* A charged call has moved so many bytes: what was guessed wrong is put right. */
void rate_settle(struct rate *rate, const struct rate_key *key, const struct rate_charge *charge, uint64_t moved);

#endif
