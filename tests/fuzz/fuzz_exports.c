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

/* One line of printable text that begins with the file. */
static void
check(const struct exports_source *source, const char *file)
{
    char error[ERROR_MAX], again[ERROR_MAX];
    int err = exports_check(source, error, sizeof(error));
    size_t i;

    for (i = 0; error[i] != '\0'; i++)
        require(error[i] >= ' ' && error[i] < 0x7f, "bytes that are not fit to be read", error);
    require(i == 0 || strncmp(error, file, strlen(file)) == 0 || strncmp(error, "exports: ", 9) == 0,
            "no file in front", error);
    require(err == 0 || i > 0, "refused without a word", error);
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
