/*
 * storage/seed.h - numbers that nobody can guess, or the same ones for the same seed: for a server in a test whose replies
 * are to be the same bytes each time.
 */
#ifndef RINGNFS_STORAGE_SEED_H
#define RINGNFS_STORAGE_SEED_H

#include <stddef.h>
#include <stdint.h>

#define SEED_RANDOM UINT64_C(0)         /* no seed: getrandom(2) */

/* Fill in len bytes (at most 256) that depend on the seed and on what they are for. Any thread. */
void seed_fill(uint64_t seed, const char *purpose, void *out, size_t len);

/* A seed made of another and a name; SEED_RANDOM stays that, and nothing else becomes it. Any thread. */
uint64_t seed_for(uint64_t seed, const char *name);

#endif
