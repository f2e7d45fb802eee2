/*
 * server/replay_streams.h - RPC calls and their replies out of packets: TCP streams are put together (RFC 9293), cut into
 * messages (RFC 5531 section 11), and replies are joined with their calls.
 *
 * The numbers of streams, of bytes that wait for others, and of calls that wait for their replies are bounded: what is
 * oldest goes, and is counted.
 */
#ifndef RINGNFS_SERVER_REPLAY_STREAMS_H
#define RINGNFS_SERVER_REPLAY_STREAMS_H

#include <stdbool.h>

#include "server/replay_source.h"

/* One packet's piece of one direction. */
struct replay_packet {
    uint8_t from[16], to[16];           /* IPv4 in the first four bytes */
    uint16_t from_port, to_port;
    bool tcp;
    uint32_t sequence;                  /* TCP */
    bool begins;                        /* TCP: SYN */
    const uint8_t *data;
    size_t len;
};

struct replay_streams;

/* left_out outlives it. Returns 0 or -ENOMEM. */
int replay_streams_new(struct replay_left_out *left_out, struct replay_streams **streams);
void replay_streams_free(struct replay_streams *streams);

/* A packet that is next in the file. Returns 0 or -ENOMEM. */
int replay_streams_add(struct replay_streams *streams, const struct replay_packet *packet);

/* A call that has got its reply, the oldest such; good until the next one is asked for. Returns whether there is one. */
bool replay_streams_take(struct replay_streams *streams, struct ringnfs_call *call);

/* How many calls have no reply yet. */
uint64_t replay_streams_unanswered(const struct replay_streams *streams);

#endif
