/*
 * tests/fuzz/fuzz_exports.c - any bytes as an exports file: read without harm, and refused in words.
 *
 * With libFuzzer (clang -fsanitize=fuzzer) this finds new inputs; with replay.c it goes through those that were found.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/exports.h"
#include "tests/fuzz/fuzz.h"

#define ERROR_MAX 1024

const char fuzz_name[] = "exports";

static void
require(int holds, const char *what, const char *error)
{
    if (holds)
        return;
    fprintf(stderr, "%s: \"%s\"\n", what, error);
    abort();
}

/* A line of printable text that begins with the file; returns its length. */
static size_t
check_line(const char *error, const char *file)
{
    size_t i;

    for (i = 0; error[i] != '\0' && error[i] != '\n'; i++)
        require(error[i] >= ' ' && error[i] < 0x7f, "bytes that are not fit to be read", error);
    require(i == 0 || strncmp(error, file, strlen(file)) == 0 || strncmp(error, "exports: ", 9) == 0,
            "no file in front", error);
    return i;
}

/* All mistakes: there are some if and only if there is a first one, which is among them. */
static void
check_all(const struct exports_source *source, const char *file, int first_err, const char *first)
{
    static char all[EXPORTS_ERROR_MAX];
    struct exports_source telling = *source;
    unsigned lines = 0;
    int err;

    telling.all_mistakes = true;
    err = exports_check(&telling, all, sizeof(all));
    require((err == 0) == (first_err == 0), "one by one there are others", all);
    if (err == 0)
        return;
    require(strstr(all, first) != NULL, "the first is missing", all);
    for (const char *line = all; *line != '\0'; line += *line == '\n') {
        line += check_line(line, file);
        lines++;
    }
    require(lines <= EXPORTS_MISTAKES_MAX + 1, "more lines than there may be", all);
}

/* One line of printable text that begins with the file. */
static void
check(const struct exports_source *source, const char *file)
{
    char error[ERROR_MAX], again[ERROR_MAX];
    int err = exports_check(source, error, sizeof(error));
    size_t i = check_line(error, file);

    require(error[i] == '\0', "more than a line", error);
    require(err == 0 || i > 0, "refused without a word", error);
    check_all(source, file, err, error);
    require(err <= 0, "a strange result", error);
    require(exports_check(source, again, sizeof(again)) == err, "not the same twice", again);
    require(strcmp(error, again) == 0, "not the same twice", again);
}

static void
check_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char file[64];
    static const char *const files[] = { file };
    const struct exports_source source = { .files = files, .nfiles = 1 };

    if (fd < 0)
        fd = memfd_create("exports", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
    check(&source, file);
}

static void
check_lines(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    const char *const lines[] = { text };
    const struct exports_source source = { .lines = lines, .nlines = 1 };

    if (text == NULL)
        abort();
    check(&source, "--export");
    free(text);
}

/* Both ways lead to one reader; the one without a file is much faster, but cannot hold every byte. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || memchr(data, '\0', size) != NULL)
        check_file(data, size);
    else
        check_lines(data, size);
    return 0;
}
