/*
 * rpc/turns.h - a worker's time, shared out among its clients: one with many connections, or with calls that take long,
 * gets no more of a round than one with a single call.
 *
 * A loop goes round twice each time: over the sockets that can be read, and over the connections that had calls left. In
 * each round a client has TURN_US, less when many have their turns, or TURN_ALONE_US when there was nobody else for a while;
 * when that is over his connections wait for the next one, in the order in which they would have had their turn. What one
 * call takes is not cut short.
 *
 * Clients are told apart by a hash, so two may have to share. All on the worker's thread.
 */
#ifndef RINGNFS_RPC_TURNS_H
#define RINGNFS_RPC_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#define TURN_US 50
#define TURN_ROUND_US 400               /* all turns of a round together, as long as each ... */
#define TURN_LEAST_US 20                /* ... has this */
#define TURN_ALONE_US 250
#define TURN_ALONE_MS 100               /* without another one's turn */
#define TURN_LANES 1024                 /* a power of two */

struct turns {
    uint32_t round;
    unsigned clients, last_clients;     /* that had a turn in this round so far, and in the last one */
    struct {
        uint32_t round;                 /* the last one in which he had a turn */
        uint32_t used_ns;
    } lanes[TURN_LANES];
    unsigned lane;                      /* whose turn it is or was, and since when */
    uint64_t began_ns;
    uint64_t seen_ns;                   /* when it was last asked whether it is over */
    uint64_t shared_ns;                 /* when another one's turn last followed */
    uint64_t (*now_ns)(void);           /* the monotonic clock */
};

void turns_init(struct turns *turns, uint64_t (*now_ns)(void));

/* Everybody has his share again. */
void turns_next_round(struct turns *turns);

/* The lane of `client`, any address that stands for him: those of one lane are one client. */
unsigned turns_lane(const void *client);

/* Begin the turn of the client of `lane`. Returns false when he has had his share of this round. */
bool turns_begin(struct turns *turns, unsigned lane);

/* Whether the share of the client whose turn it is has been used up. */
bool turns_is_over(struct turns *turns);

/* How long it has lasted, as of the last turns_is_over(). */
uint64_t turns_lasted_ns(const struct turns *turns);

void turns_end(struct turns *turns);

/* Whether turns of different clients have followed one another lately, as of the last one. */
bool turns_are_shared(const struct turns *turns);

/* CLOCK_MONOTONIC. */
uint64_t turns_clock_ns(void);

#endif
