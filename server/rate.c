/*
 * server/rate.c - see rate.h.
 *
 * The table is cut into sets: an address on an export has its place in one of them. Levels are in bytes and calls, not in
 * time, so that a limit that is changed holds for what is owed as well.
 */
#include "server/rate.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>

#define WAYS 8                          /* buckets of a set */
#define LOCKS 64
#define GUESSES 8                       /* calls that a guess is made from, about */
#define SECOND_NS 1e9

struct bucket {
    struct rate_key key;                /* peer.bits 0 and empty_ns 0: never used */
    struct rate_limits limits;          /* as they were last */
    double bytes, calls;                /* what is in it, at_ns */
    double moved;                       /* part of the bytes that calls move, of those that they say they move at most */
    uint64_t at_ns;
    uint64_t empty_ns;                  /* when nothing will be left in it */
};

struct set {
    struct bucket buckets[WAYS];
};

struct rate {
    const struct rate_clock *clock;
    pthread_mutex_t locks[LOCKS];
    uint32_t nsets;
    struct set *sets;
};

static uint64_t
system_now_ns(void *context)
{
    struct timespec now;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const struct rate_clock rate_clock_system = { .now_ns = system_now_ns };

int
rate_new(uint32_t entries, const struct rate_clock *clock, struct rate **out)
{
    struct rate *rate = calloc(1, sizeof(*rate));

    if (rate == NULL)
        return -ENOMEM;
    rate->clock = clock;
    rate->nsets = MAX(howmany(entries, WAYS), 1);
    rate->sets = calloc(rate->nsets, sizeof(*rate->sets));
    if (rate->sets == NULL) {
        free(rate);
        return -ENOMEM;
    }
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_init(&rate->locks[i], NULL);
    *out = rate;
    return 0;
}

void
rate_free(struct rate *rate)
{
    if (rate == NULL)
        return;
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&rate->locks[i]);
    free(rate->sets);
    free(rate);
}

uint64_t
rate_now_ns(const struct rate *rate)
{
    return rate->clock->now_ns(rate->clock->context);
}

static uint32_t
set_of(const struct rate *rate, const struct rate_key *key)
{
    uint64_t words[2], mixed;

    memcpy(words, key->peer.bytes, sizeof(words));
    mixed = (words[0] ^ words[1] * UINT64_C(31) ^ key->export_id) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mixed >> 32) % rate->nsets);
}

static bool
is_of(const struct bucket *bucket, const struct rate_key *key)
{
    return bucket->key.export_id == key->export_id && memcmp(&bucket->key.peer, &key->peer, sizeof(key->peer)) == 0;
}

static struct bucket *
find(struct set *set, const struct rate_key *key)
{
    for (size_t i = 0; i < WAYS; i++) {
        if (is_of(&set->buckets[i], key))
            return &set->buckets[i];
    }
    return NULL;
}

/* The bucket of a key, made in place of the one that is empty first if need be. */
static struct bucket *
find_or_make(struct set *set, const struct rate_key *key, uint64_t now_ns)
{
    struct bucket *bucket = find(set, key);

    if (bucket != NULL)
        return bucket;
    bucket = &set->buckets[0];
    for (size_t i = 1; i < WAYS; i++) {
        if (set->buckets[i].empty_ns < bucket->empty_ns)
            bucket = &set->buckets[i];
    }
    *bucket = (struct bucket){ .key = *key, .moved = 1, .at_ns = now_ns };
    return bucket;
}

/* Let leak what has leaked since the last time. Clocks of two threads may be read in the other order. */
static void
leak(struct bucket *bucket, const struct rate_limits *limits, uint64_t now_ns)
{
    double passed = now_ns > bucket->at_ns ? (double)(now_ns - bucket->at_ns) / SECOND_NS : 0;

    bucket->limits = *limits;
    bucket->bytes = limits->bytes > 0 ? MAX(bucket->bytes - passed * (double)limits->bytes, 0) : 0;
    bucket->calls = limits->calls > 0 ? MAX(bucket->calls - passed * limits->calls, 0) : 0;
    bucket->at_ns = MAX(bucket->at_ns, now_ns);
}

/* Seconds until no more than `ahead` seconds' worth is left; of bytes, too, for who moves some. */
static double
seconds_until(const struct bucket *bucket, bool moves, double ahead)
{
    double bytes = moves && bucket->limits.bytes > 0 ? bucket->bytes / (double)bucket->limits.bytes : 0;
    double calls = bucket->limits.calls > 0 ? bucket->calls / bucket->limits.calls : 0;

    return MAX(MAX(bytes, calls) - ahead, 0);
}

static void
pour(struct bucket *bucket, double bytes, double calls)
{
    if (bucket->limits.bytes > 0)
        bucket->bytes = MAX(bucket->bytes + bytes, 0);
    if (bucket->limits.calls > 0)
        bucket->calls += calls;
    bucket->empty_ns = bucket->at_ns + (uint64_t)(seconds_until(bucket, true, 0) * SECOND_NS);
}

int
rate_charge(struct rate *rate, const struct rate_key *key, const struct rate_limits *limits, uint64_t patience_ns,
            struct rate_charge *charge)
{
    uint32_t set = set_of(rate, key);
    pthread_mutex_t *lock = &rate->locks[set % LOCKS];
    uint64_t now_ns = rate_now_ns(rate);
    struct bucket *bucket;
    uint64_t wait_ns;
    int err = 0;

    pthread_mutex_lock(lock);
    bucket = find_or_make(&rate->sets[set], key, now_ns);
    leak(bucket, limits, now_ns);
    wait_ns = (uint64_t)(seconds_until(bucket, charge->bytes > 0, RATE_BURST_MS / 1000.0) * SECOND_NS + 0.5);
    charge->paid = charge->at_most ? (uint64_t)((double)charge->bytes * bucket->moved) : charge->bytes;
    charge->due_ns = bucket->at_ns + wait_ns;
    if (wait_ns > patience_ns)
        err = -EAGAIN;
    else
        pour(bucket, (double)charge->paid, 1);
    pthread_mutex_unlock(lock);
    return err;
}

void
rate_settle(struct rate *rate, const struct rate_key *key, const struct rate_charge *charge, uint64_t moved)
{
    uint32_t set = set_of(rate, key);
    pthread_mutex_t *lock = &rate->locks[set % LOCKS];
    struct bucket *bucket;

    pthread_mutex_lock(lock);
    bucket = find(&rate->sets[set], key);
    if (bucket != NULL) {               /* else it has made room, and nothing is owed */
        pour(bucket, (double)moved - (double)charge->paid, 0);
        if (charge->at_most && charge->bytes > 0)
            bucket->moved += ((double)moved / (double)charge->bytes - bucket->moved) / GUESSES;
    }
    pthread_mutex_unlock(lock);
}
