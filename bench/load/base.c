/* bench/load/base.c - errors, time, random numbers, and the contents of files. */
#include "bench/load/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PATTERN 65521                   /* a prime: blocks at other places never look alike */

void
die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "nfsload: ");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

void
complain(const char *fmt, ...)
{
    static int shown;
    va_list ap;

    if (shown++ >= 10)
        return;
    va_start(ap, fmt);
    fprintf(stderr, "nfsload: ");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

void *
xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p)
        die("out of memory");
    return p;
}

uint64_t
now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
rnd(void)
{
    load.rng ^= load.rng << 13;
    load.rng ^= load.rng >> 7;
    load.rng ^= load.rng << 17;
    return load.rng;
}

const uint8_t *
pattern_at(uint64_t content, uint64_t off)
{
    if (content == CONTENT_ZERO)
        return load.zeros;
    return load.pattern + (content * 7919 + off) % PATTERN;
}

void
pattern_init(void)
{
    uint64_t x = 0x9e3779b97f4a7c15u;
    size_t i;

    load.zeros = xcalloc(BLOCK_MAX, 1);
    load.pattern = xcalloc(PATTERN + BLOCK_MAX, 1);
    for (i = 0; i < PATTERN; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        load.pattern[i] = (uint8_t)(x >> 56);
    }
    for (; i < PATTERN + BLOCK_MAX; i++)
        load.pattern[i] = load.pattern[i - PATTERN];
}
