/* tests/fuzz/fuzz.h - a target: what it is called, and one input; libFuzzer or replay.c has the main(). */
#ifndef RINGNFS_TESTS_FUZZ_FUZZ_H
#define RINGNFS_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

extern const char fuzz_name[];          /* its corpus is in tests/fuzz/corpus/NAME/ */

/* Ends the process when something is wrong. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
