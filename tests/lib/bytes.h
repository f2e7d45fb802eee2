/* tests/lib/bytes.h - bytes for tests: repeatable random ones, written as hex, compared with a readable difference. */
#ifndef RINGNFS_TESTS_LIB_BYTES_H
#define RINGNFS_TESTS_LIB_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Random numbers that depend on the seed only (xorshift64*); a test prints its seed when it fails. */
struct bytes_random {
    uint64_t state;
};

struct bytes_random bytes_random_seed(uint64_t seed);
uint64_t bytes_random_u64(struct bytes_random *random);
/* 0 to bound-1. */
uint32_t bytes_random_below(struct bytes_random *random, uint32_t bound);
void bytes_random_fill(struct bytes_random *random, void *data, size_t len);

/* "0000 0001 c0ffee" into out (size bytes); white space is skipped. Returns the length; all else fails the test. */
size_t bytes_from_hex(const char *hex, uint8_t *out, size_t size);

/* Fail the test, with both sides in hex around the first difference, unless the two are the same. */
void bytes_assert_same(const char *what, const void *got, size_t got_len, const void *want, size_t want_len);

#endif
