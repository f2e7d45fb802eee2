/* bench/load/main.c - nfsload's command line, and the order of a run. */
#include "bench/load/load.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

struct options options = {
    .host = "127.0.0.1", .path = "/", .conns = 1, .sockets = 60, .depth = 16, .dircount = 32768, .sample = 64,
    .seconds = 3, .warmup = 0.3, .seed = 1,
};
struct stats stats;
struct load load;

static const struct workload *const workloads[] = {
    names_workloads, dirs_workloads, data_workloads, mixed_workloads, connect_workloads, flood_workloads,
};
#define TABLES (sizeof(workloads) / sizeof(workloads[0]))

static const struct workload *
find_workload(const char *name)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const struct workload *w = workloads[i]; w->name != NULL; w++)
            if (strcmp(w->name, name) == 0)
                return w;
    return NULL;
}

/* How the value of an option is read, and where it goes. */
enum kind { TEXT, FLAG, NUMBER, SIZE, SECONDS, PROTO, GIDS, PIDS, CORES, HELP };

/* One row adds an option. */
static const struct row {
    const char *name, *value;
    enum kind kind;
    void *to;
    uint64_t min, max;
    const char *help;
} rows[] = {
    { "host", "A", TEXT, &options.host, 0, 0, "server address, IPv4 (127.0.0.1)" },
    { "from", "A", TEXT, &options.from, 0, 0, "own address, as the server sees it (any)" },
    { "path", "P", TEXT, &options.path, 0, 0, "exported path to mount (/)" },
    { "nfs-port", "N", NUMBER, &options.nfs_port, 1, 65535, "port of NFS; else rpcbind is asked" },
    { "mount-port", "N", NUMBER, &options.mount_port, 1, 65535, "port of MOUNT; else rpcbind is asked" },
    { "proto", "P", PROTO, &options.udp, 0, 0, "tcp or udp (tcp)" },
    { "conns", "N", NUMBER, &options.conns, 1, 16384, "connections (1)" },
    { "sockets", "N", NUMBER, &options.sockets, 1, 65536, "connections of a flood (60)" },
    { "depth", "N", NUMBER, &options.depth, 1, 1u << SLOT_BITS, "calls outstanding on each (16)" },
    { "pause", "MS", NUMBER, &options.pause_ms, 0, 60000, "time between two tasks of each outstanding call (0)" },
    { "seconds", "S", SECONDS, &options.seconds, 0, 0, "length of the measurement (3)" },
    { "warmup", "S", SECONDS, &options.warmup, 0, 0, "time before it (0.3)" },
    { "count", "N", SIZE, &options.count, 1, UINT64_MAX, "run this many tasks instead of a time" },
    { "bs", "N", NUMBER, &options.bs, 1, BLOCK_MAX, "bytes of a READ or WRITE" },
    { "preferred", NULL, FLAG, &options.preferred, 0, 0, "--bs is what the server prefers, rtpref or wtpref" },
    { "size", "N", SIZE, &options.size, 1, INT64_MAX, "bytes of a file" },
    { "files", "N", NUMBER, &options.files, 1, 10000000, "number of files" },
    { "sparse", NULL, FLAG, &options.sparse, 0, 0, "make the files by SETATTR: they are all holes" },
    { "dircount", "N", NUMBER, &options.dircount, 512, 1u << 20, "bytes of a READDIR reply (32768)" },
    { "uid", "N", NUMBER, &options.uid, 0, UINT32_MAX, "AUTH_SYS: uid (0)" },
    { "gid", "N", NUMBER, &options.gid, 0, UINT32_MAX, "AUTH_SYS: gid (0)" },
    { "gids", "N,N", GIDS, NULL, 0, UINT32_MAX, "AUTH_SYS: more groups, at most 16" },
    { "sample", "N", NUMBER, &options.sample, 0, UINT32_MAX, "compare the contents of each Nth READ (64; 0: of none)" },
    { "verify", NULL, FLAG, &options.verify, 0, 0, "compare all, and read back all that was written" },
    { "trunc", NULL, FLAG, &options.trunc, 0, 0, "drop what is not compared of big READs in the kernel" },
    { "busy", NULL, FLAG, &options.busy, 0, 0, "spin instead of sleeping" },
    { "server-pid", "N,N", PIDS, NULL, 1, INT32_MAX, "processes whose processor time is the server's" },
    { "cores", "N,N", CORES, NULL, 0, 65535, "cores to look at for other load (all)" },
    { "keep", NULL, FLAG, &options.keep, 0, 0, "leave the files" },
    { "seed", "N", SIZE, &options.seed, 0, UINT64_MAX, "of the random offsets (1)" },
    { "json", NULL, FLAG, &options.json, 0, 0, "print a JSON object instead of a line" },
    { "help", NULL, HELP, NULL, 0, 0, "print this" },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void
usage(FILE *out)
{
    fprintf(out, "Usage: nfsload [OPTION]... WORKLOAD\nLoad an NFSv3 server and check its replies.\n\n");
    for (size_t i = 0; i < ROWS; i++)
        fprintf(out, "  --%-10s %-4s %s\n", rows[i].name, rows[i].value != NULL ? rows[i].value : "", rows[i].help);
    fprintf(out, "\nNumbers take the suffixes k, m, g and t. Workloads:\n");
    for (size_t i = 0; i < TABLES; i++)
        for (const struct workload *w = workloads[i]; w->name != NULL; w++)
            fprintf(out, "  %-15s %s\n", w->name, w->help);
    fprintf(out, "  %-15s call NULL of NFS and MOUNT once: does the server answer?\n", "ping");
    fprintf(out, "\nThe exit status is 0, 1 after wrong replies, 2 when the run could not be done.\n");
}

static uint64_t
number(const struct row *row, const char *text)
{
    static const char suffixes[] = "kmgt";
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    const char *suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;

    if (suffix != NULL) {
        unsigned shift = 10 * (unsigned)(suffix - suffixes + 1);

        if (value > UINT64_MAX >> shift)
            die("--%s: %s is too large", row->name, text);
        value <<= shift;
        end++;
    }
    if (end == text || *end != '\0' || *text == '-')
        die("--%s: %s is no number", row->name, text);
    if (value < row->min || value > row->max)
        die("--%s: %s is not from %" PRIu64 " to %" PRIu64, row->name, text, row->min, row->max);
    return value;
}

/* Numbers separated by commas go to list[], which has room for `max`. Returns how many. */
static int
numbers(const struct row *row, char *text, int *list, int max)
{
    int n = 0;

    for (char *p = strtok(text, ","); p != NULL; p = strtok(NULL, ",")) {
        if (n == max)
            die("--%s: more than %d", row->name, max);
        list[n++] = (int)number(row, p);
    }
    return n;
}

static void
set_option(const struct row *row, char *text)
{
    char *end;

    switch (row->kind) {
    case TEXT:
        *(const char **)row->to = text;
        break;
    case FLAG:
        *(bool *)row->to = true;
        break;
    case NUMBER:
        *(uint32_t *)row->to = (uint32_t)number(row, text);
        break;
    case SIZE:
        *(uint64_t *)row->to = number(row, text);
        break;
    case SECONDS:
        *(double *)row->to = strtod(text, &end);
        if (end == text || *end != '\0' || !(*(double *)row->to >= 0 && *(double *)row->to <= 86400))
            die("--%s: %s is no number of seconds from 0 to 86400", row->name, text);
        break;
    case PROTO:
        options.udp = strcmp(text, "udp") == 0;
        if (!options.udp && strcmp(text, "tcp") != 0)
            die("--%s: %s is neither tcp nor udp", row->name, text);
        break;
    case GIDS:
        options.ngids = (uint32_t)numbers(row, text, (int *)options.gids, 16);
        break;
    case PIDS:
        options.npids = numbers(row, text, options.pids, 256);
        break;
    case CORES:
        options.ncores = numbers(row, text, options.cores, 256);
        break;
    case HELP:
        usage(stdout);
        exit(0);
    }
}

static void
parse(int argc, char **argv)
{
    struct option table[ROWS + 1] = { 0 };
    int found, index;

    for (size_t i = 0; i < ROWS; i++) {
        table[i].name = rows[i].name;
        table[i].has_arg = rows[i].value != NULL ? required_argument : no_argument;
    }
    while ((found = getopt_long(argc, argv, "", table, &index)) != -1) {
        if (found == '?')
            exit(2);
        set_option(&rows[index], optarg);
    }
    if (optind + 1 != argc)
        die("one workload, please; --help lists them");
    options.workload = argv[optind];
    if (options.udp)
        options.trunc = false;
    load.rng = options.seed * 0x9e3779b97f4a7c15u | 1;
    load.rng ^= now_ns() << 20;                         /* ports and names differ between runs */
}

/* The default block size gives way to what the server takes; one that was asked for does, too, and is told. */
static void
choose_block_size(const struct workload *wl)
{
    uint32_t max = load.rtmax < load.wtmax ? load.rtmax : load.wtmax;

    load.bs = options.bs ? options.bs : wl->bs;
    if (options.preferred && wl->bs)
        load.bs = strncmp(wl->name, "read", 4) == 0 ? load.rtpref : load.wtpref;
    if (options.udp && !options.bs && load.bs > 32768)
        load.bs = 32768;
    if (wl->bs && max && load.bs > max) {
        fprintf(stderr, "nfsload: block size %u is over the server's %u, using that\n", load.bs, max);
        load.bs = max;
    }
}

/* A descriptor for each connection, and some more. */
static void
raise_limits(void)
{
    struct rlimit limit;
    rlim_t needed = options.conns + options.sockets + options.depth + 64;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= needed)
        return;
    if (limit.rlim_max < needed)
        die("--conns %u, --sockets %u: at most %ju descriptors may be open (ulimit -n)", options.conns, options.sockets,
            (uintmax_t)limit.rlim_max);
    limit.rlim_cur = needed;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int
main(int argc, char **argv)
{
    const struct workload *wl;

    parse(argc, argv);
    wl = find_workload(options.workload);
    if (wl == NULL && strcmp(options.workload, "ping") != 0)
        die("there is no workload %s; --help lists them", options.workload);
    find_ports();
    if (wl == NULL)
        return ping() ? 0 : 1;
    raise_limits();
    pattern_init();
    mount_export();
    get_fsinfo();
    connect_all();
    make_dir();
    choose_block_size(wl);
    if (wl->setup != NULL)
        wl->setup();
    if (wl->next != NULL)
        run(wl);
    if (!options.keep) {
        if (wl->cleanup != NULL)
            wl->cleanup();
        remove_dir();
    }
    unmount_export();
    if (options.json)
        print_json();
    else
        print_line();
    return errors_total() > 0 ? 1 : 0;
}
