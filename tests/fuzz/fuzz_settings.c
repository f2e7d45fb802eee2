/*
 * tests/fuzz/fuzz_settings.c - any bytes as a file of settings: refused in words, or read, and then what they say is what
 * would be written.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "server/settings.h"
#include "server/settings_table.h"
#include "tests/fuzz/fuzz.h"

#define ERROR_MAX 1024
#define VALUE_MAX 4096

const char fuzz_name[] = "settings";

static void
require(bool holds, const char *what, const char *text)
{
    if (holds)
        return;
    fprintf(stderr, "settings: %s: \"%s\"\n", what, text);
    abort();
}

static void
check_error(const char *error, const char *begin)
{
    require(error[0] != '\0', "refused without a word", "");
    for (const char *p = error; *p != '\0'; p++)
        require(*p >= ' ' && *p < 0x7f, "bytes that are not fit to be read", error);
    require(strncmp(error, begin, strlen(begin)) == 0, "nothing in front that says where", error);
}

/* Every value is one that its row allows: set again it is taken, and stays as it is. */
static void
check_values(struct settings *settings)
{
    char value[VALUE_MAX], again[VALUE_MAX], error[ERROR_MAX];

    for (size_t i = 0; i < settings_table_rows; i++) {
        const struct setting *row = &settings_table[i];

        settings_format(settings, row, value, sizeof(value));
        require(settings_set(settings, row->key, value, error, sizeof(error)) == 0, row->key, error);
        settings_format(settings, row, again, sizeof(again));
        require(strcmp(value, again) == 0, row->key, again);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char file[64], error[ERROR_MAX] = "";
    struct settings settings;
    int err;

    if (fd < 0)
        fd = memfd_create("settings", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
    settings_init(&settings);
    err = settings_load(&settings, file, error, sizeof(error));
    require(err <= 0, "a strange result", error);
    if (err < 0)
        check_error(error, file);
    else
        check_values(&settings);
    if (err == 0 && settings_check(&settings, error, sizeof(error)) < 0)
        check_error(error, "");
    settings_fini(&settings);
    return 0;
}
