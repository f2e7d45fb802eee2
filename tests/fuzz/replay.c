/*
 * tests/fuzz/replay.c - run a fuzz target on every file of its corpus, for compilers without libFuzzer and make check.
 *
 *     usage: PROGRAM [FILE...]
 *
 * Without files: all of $srcdir/tests/fuzz/corpus/NAME/; $srcdir is "." by default.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static int
replay(const char *path)
{
    FILE *file = fopen(path, "re");
    uint8_t *data = NULL;
    size_t size = 0, room = 0;

    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    do {
        room += 65536;
        data = realloc(data, room);
        if (data == NULL)
            abort();
        size += fread(data + size, 1, room - size, file);
    } while (size == room);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int
replay_corpus(void)
{
    const char *top = getenv("srcdir");
    char dir[PATH_MAX / 2], path[PATH_MAX];
    struct dirent **names;
    int count, failed = 0, i;

    snprintf(dir, sizeof(dir), "%s/tests/fuzz/corpus/%s", top != NULL ? top : ".", fuzz_name);
    count = scandir(dir, &names, NULL, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s: %s\n", dir, strerror(errno));
        return -1;
    }
    for (i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            failed |= replay(path);
        free(names[i]);
    }
    free(names);
    printf("%d inputs\n", count - 2);                    /* without . and .. */
    return failed;
}

int
main(int argc, char **argv)
{
    int failed = 0, i;

    for (i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    if (argc == 1)
        failed = replay_corpus();
    return failed == 0 ? 0 : 1;
}
