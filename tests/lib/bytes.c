/* tests/lib/bytes.c - see bytes.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/bytes.h"

struct bytes_random
bytes_random_seed(uint64_t seed)
{
    struct bytes_random random = { seed * 0x9e3779b97f4a7c15ull + 1 };

    return random;
}

uint64_t
bytes_random_u64(struct bytes_random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return random->state * 0x2545f4914f6cdd1dull;
}

uint32_t
bytes_random_below(struct bytes_random *random, uint32_t bound)
{
    return (uint32_t)((bytes_random_u64(random) >> 32) % bound);
}

void
bytes_random_fill(struct bytes_random *random, void *data, size_t len)
{
    uint8_t *p = data;
    size_t i;

    for (i = 0; i < len; i++)
        p[i] = (uint8_t)(bytes_random_u64(random) >> 56);
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    fail_msg("not a hex digit: '%c'", c);
    return 0;
}

size_t
bytes_from_hex(const char *hex, uint8_t *out, size_t size)
{
    size_t digits = 0;

    for (; *hex != '\0'; hex++) {
        if (*hex == ' ' || *hex == '\n')
            continue;
        if (digits / 2 == size)
            fail_msg("more than %zu bytes of hex", size);
        if (digits % 2 == 0)
            out[digits / 2] = (uint8_t)(hex_digit(*hex) << 4);
        else
            out[digits / 2] |= (uint8_t)hex_digit(*hex);
        digits++;
    }
    if (digits % 2 != 0)
        fail_msg("half a byte at the end of the hex");
    return digits / 2;
}

static void
print_row(const char *side, const uint8_t *data, size_t len, size_t from)
{
    size_t i;

    print_error("  %-4s %5zu:", side, from);
    for (i = from; i < from + 32 && i < len; i++)
        print_error("%s%02x", i % 4 == 0 ? " " : "", data[i]);
    print_error("\n");
}

void
bytes_assert_same(const char *what, const void *got, size_t got_len, const void *want, size_t want_len)
{
    const uint8_t *g = got, *w = want;
    size_t i, row;

    for (i = 0; i < got_len && i < want_len && g[i] == w[i];)
        i++;
    if (i == got_len && i == want_len)
        return;
    print_error("%s: %zu bytes, expected %zu; the first difference is at byte %zu\n", what, got_len, want_len, i);
    for (row = i / 32 * 32; row < i / 32 * 32 + 96; row += 32) {
        if (row < got_len)
            print_row("got", g, got_len, row);
        if (row < want_len)
            print_row("want", w, want_len, row);
    }
    fail_msg("%s: bytes differ", what);
}
