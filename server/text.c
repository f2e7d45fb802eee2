/* server/text.c - see text.h. */
#include "server/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define HELP_COLUMNS 80
#define NEAR_MAX 2                                       /* letters that a near name may be off; */
#define NEAR_MAX_SHORT 1                                 /* of words of up to 4 letters */
#define WORD_MAX 32                                      /* bytes of a word that is worth comparing */

static int
read_digits(const char *text, const char **end, uint64_t *value)
{
    uint64_t sum = 0;
    const char *p;

    for (p = text; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum))
            return -ERANGE;
    if (p == text)
        return -EINVAL;
    *end = p;
    *value = sum;
    return 0;
}

int
text_number(const char *text, uint64_t *value)
{
    const char *end;
    int err = read_digits(text, &end, value);

    if (err == 0 && *end != '\0')
        return -EINVAL;
    return err;
}

int
text_size(const char *text, uint64_t *value)
{
    static const char units[] = "KMG";
    const char *end, *unit;
    int err = read_digits(text, &end, value);

    if (err < 0 || *end == '\0')
        return err;
    unit = strchr(units, *end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
    if (unit == NULL || end[1] != '\0')
        return -EINVAL;
    if (__builtin_mul_overflow(*value, UINT64_C(1024) << (10 * (unit - units)), value))
        return -ERANGE;
    return 0;
}

const char *
text_format_size(char *out, size_t size, uint64_t value)
{
    static const char *const units[] = { "", "K", "M", "G" };
    unsigned unit = 0;

    while (value != 0 && value % 1024 == 0 && unit < 3) {
        value /= 1024;
        unit++;
    }
    snprintf(out, size, "%llu%s", (unsigned long long)value, units[unit]);
    return out;
}

static unsigned
min3(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;

    return least < c ? least : c;
}

/* Letters to add, leave out, change or swap with their neighbour, to get from one word to the other. */
static unsigned
edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2], *spare;
    size_t i, j;

    for (j = 0; j <= b_len; j++)
        last[j] = (unsigned)j;
    for (i = 1; i <= a_len; i++) {
        row[0] = (unsigned)i;
        for (j = 1; j <= b_len; j++) {
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b_len];
}

const char *
text_near(const char *word, const char *(*name)(size_t i))
{
    const char *best = NULL, *candidate;
    size_t word_len = strlen(word), len, i;
    unsigned best_distance = (word_len > 4 ? NEAR_MAX : NEAR_MAX_SHORT) + 1, distance;

    if (word_len == 0 || word_len > WORD_MAX)
        return NULL;
    for (i = 0; (candidate = name(i)) != NULL; i++) {
        len = strlen(candidate);
        if (len > WORD_MAX)
            continue;
        distance = edit_distance(word, word_len, candidate, len);
        if (distance < best_distance && distance < len) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

const char *
text_suggest(char *out, size_t size, const char *word, const char *(*name)(size_t i))
{
    const char *near = text_near(word, name);

    out[0] = '\0';
    if (near != NULL)
        snprintf(out, size, " (did you mean %s?)", near);
    return out;
}

void
text_print_help(FILE *out, const char *head, unsigned indent, const char *text)
{
    unsigned column = (unsigned)fprintf(out, "  %s", head);
    size_t len;

    if (column + 2 > indent) {
        putc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", (int)(indent - column), "");
    column = indent;
    while (*text != '\0') {
        len = strcspn(text, " ");
        if (column > indent && column + 1 + len > HELP_COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            putc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += (unsigned)len;
        text += len + strspn(text + len, " ");
    }
    putc('\n', out);
}

size_t
text_unescape(char *text)
{
    const char *in = text;
    char *out = text;

    while (*in != '\0') {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' && in[3] >= '0' &&
            in[3] <= '7') {
            *out++ = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
            in += 4;
        } else {
            *out++ = *in++;
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

void
text_print_exports(FILE *out, const char *text)
{
    static const char plain[] = "/._+:@%=*?[]~^-";

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < 0x80 && (isalnum(byte) || strchr(plain, byte) != NULL))
            putc(byte, out);
        else
            fprintf(out, "\\%03o", byte);
    }
}

void
text_print_roff(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            putc(*text, out);
    }
}
