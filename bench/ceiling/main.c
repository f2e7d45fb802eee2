/* bench/ceiling/main.c - nfsceiling's command line. */
#include "bench/ceiling/ceiling.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct ceiling ceiling = { .iomax = 1 << 20, .inline_max = 16384 };

static const char *const lies[] = {
    [LIE_DAMAGE] = "damage", [LIE_FORGET] = "forget",     [LIE_STATUS] = "status", [LIE_SIZE] = "size",
    [LIE_COUNT] = "count",   [LIE_UNSTABLE] = "unstable", [LIE_ENTRY] = "entry",
};
#define LIES (sizeof(lies) / sizeof(lies[0]))

void
die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fprintf(stderr, "nfsceiling: ");
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

static void
usage(FILE *out)
{
    fprintf(out, "Usage: nfsceiling --port N --mount-port N --file BACKING [OPTION]...\n"
                 "Answer nfsload from memory on 127.0.0.1: what this machine could serve at most.\n\n"
                 "  --read-by-copy  READ payloads leave by pread and send, not by sendfile\n"
                 "  --iomax N       rtmax and wtmax in bytes (1048576)\n"
                 "  --inline N      READs up to N bytes are always copied (16384)\n"
                 "  --lie WHAT      be wrong on purpose, to test nfsload:");
    for (size_t i = 1; i < LIES; i++)
        fprintf(out, " %s", lies[i]);
    fputc('\n', out);
}

static long
number(const char *text, long min, long max)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < min || value > max)
        die("%s is no number from %ld to %ld", text, min, max);
    return value;
}

static enum lie
lie_by_name(const char *name)
{
    for (size_t i = 1; i < LIES; i++)
        if (strcmp(lies[i], name) == 0)
            return (enum lie)i;
    die("there is no lie %s; --help lists them", name);
}

static void
parse(int argc, char **argv)
{
    static const struct option table[] = {
        { "port", 1, 0, 'p' },   { "mount-port", 1, 0, 'm' }, { "file", 1, 0, 'f' }, { "read-by-copy", 0, 0, 'c' },
        { "iomax", 1, 0, 'i' },  { "inline", 1, 0, 'n' },     { "lie", 1, 0, 'l' },  { "help", 0, 0, 'h' },
        { 0 },
    };
    int found;

    while ((found = getopt_long(argc, argv, "", table, NULL)) != -1) {
        switch (found) {
        case 'p':
            ceiling.port = (int)number(optarg, 1, 65535);
            break;
        case 'm':
            ceiling.mount_port = (int)number(optarg, 1, 65535);
            break;
        case 'f':
            ceiling.file = optarg;
            break;
        case 'c':
            ceiling.read_by_copy = true;
            break;
        case 'i':
            ceiling.iomax = (uint32_t)number(optarg, 4096, 8 << 20);
            break;
        case 'n':
            ceiling.inline_max = (uint32_t)number(optarg, 0, REPLY_MAX / 2);
            break;
        case 'l':
            ceiling.lie = lie_by_name(optarg);
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (ceiling.port == 0 || ceiling.mount_port == 0 || ceiling.file == NULL || optind < argc) {
        usage(stderr);
        exit(2);
    }
}

int
main(int argc, char **argv)
{
    parse(argc, argv);
    ceiling.backing = open(ceiling.file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (ceiling.backing < 0)
        die("%s: %s", ceiling.file, strerror(errno));
    unlink(ceiling.file);
    signal(SIGPIPE, SIG_IGN);                           /* a client that went away during sendfile */
    new_node(NF3DIR);
    serve_forever();
}
