/* rpc/turns.c - a worker's time, shared out among its clients; see turns.h. */
#include "rpc/turns.h"

#include <string.h>
#include <sys/param.h>
#include <time.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

uint64_t
turns_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void
turns_init(struct turns *turns, uint64_t (*now_ns)(void))
{
    memset(turns, 0, sizeof(*turns));
    turns->round = 1;
    turns->now_ns = now_ns;
}

void
turns_next_round(struct turns *turns)
{
    turns->round++;
    turns->last_clients = turns->clients;
    turns->clients = 0;
}

/* Addresses of what was allocated differ in their middle bits (Knuth's multiplicative hash). */
unsigned
turns_lane(const void *client)
{
    return (unsigned)(((uintptr_t)client >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (TURN_LANES - 1);
}

/* Of a round, for each client. */
static uint64_t
share_ns(const struct turns *turns, uint64_t now_ns)
{
    unsigned clients = MAX(turns->clients, turns->last_clients);

    if (now_ns - turns->shared_ns >= TURN_ALONE_MS * MS)
        return TURN_ALONE_US * US;
    if (clients <= TURN_ROUND_US / TURN_US)
        return TURN_US * US;
    return MAX(TURN_ROUND_US * US / clients, TURN_LEAST_US * US);
}

bool
turns_begin(struct turns *turns, unsigned lane)
{
    uint64_t now_ns = turns->now_ns();

    if (lane != turns->lane)
        turns->shared_ns = now_ns;
    if (turns->lanes[lane].round != turns->round) {
        turns->lanes[lane].round = turns->round;
        turns->lanes[lane].used_ns = 0;
        turns->clients++;
    }
    if (turns->lanes[lane].used_ns >= share_ns(turns, now_ns))
        return false;
    turns->lane = lane;
    turns->began_ns = turns->seen_ns = now_ns;
    return true;
}

bool
turns_are_shared(const struct turns *turns)
{
    return turns->began_ns - turns->shared_ns < TURN_ALONE_MS * MS;
}

bool
turns_is_over(struct turns *turns)
{
    uint64_t now_ns = turns->now_ns();

    turns->seen_ns = now_ns;
    return turns->lanes[turns->lane].used_ns + (now_ns - turns->began_ns) >= share_ns(turns, now_ns);
}

uint64_t
turns_lasted_ns(const struct turns *turns)
{
    return turns->seen_ns - turns->began_ns;
}

void
turns_end(struct turns *turns)
{
    uint64_t used_ns = turns->lanes[turns->lane].used_ns + (turns->now_ns() - turns->began_ns);

    turns->lanes[turns->lane].used_ns = (uint32_t)MIN(used_ns, TURN_ALONE_US * US);
}
