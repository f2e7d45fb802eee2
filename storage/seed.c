/* storage/seed.c - see seed.h. A seed is the key of a SipHash over the purpose and a counter. */
#include "storage/seed.h"

#include <endian.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>

#include "storage/fh.h"

/* What a seed gives for a purpose, as the number of a word of it. */
static uint64_t
word_of(uint64_t seed, const char *purpose, uint64_t number)
{
    uint64_t words[2] = { htole64(seed), htole64(number) };
    uint8_t key[16];

    memcpy(key, words, sizeof(key));
    return siphash(key, purpose, strlen(purpose));
}

void
seed_fill(uint64_t seed, const char *purpose, void *out, size_t len)
{
    uint8_t *at = out;
    uint64_t word;
    size_t part;

    if (seed == SEED_RANDOM) {
        while (getrandom(out, len, 0) != (ssize_t)len)
            continue;
        return;
    }
    for (uint64_t number = 0; len > 0; number++, at += part, len -= part) {
        word = htole64(word_of(seed, purpose, number));
        part = MIN(len, sizeof(word));
        memcpy(at, &word, part);
    }
}

uint64_t
seed_for(uint64_t seed, const char *name)
{
    uint64_t made;

    if (seed == SEED_RANDOM)
        return SEED_RANDOM;
    made = word_of(seed, name, UINT64_MAX);
    return made != SEED_RANDOM ? made : 1;
}
