/* bench/load/stats.c - what was counted: errors, latencies, processor time. */
#include "bench/load/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

void
count_status(uint32_t code)
{
    int i;

    stats.nfs_err++;
    for (i = 0; i < stats.nstatus; i++)
        if (stats.status[i].code == code)
            break;
    if (i == 32)
        return;
    if (i == stats.nstatus)
        stats.status[stats.nstatus++].code = code;
    stats.status[i].n++;
}

uint64_t
errors_total(void)
{
    return stats.nfs_err + stats.rpc_err + stats.check_err + stats.verify_err;
}

const char *const proc_names[P_COUNT] = {
    "NULL",    "GETATTR",     "SETATTR", "LOOKUP", "ACCESS",   "READLINK", "READ",   "WRITE",
    "CREATE",  "MKDIR",       "SYMLINK", "MKNOD",  "REMOVE",   "RMDIR",    "RENAME", "LINK",
    "READDIR", "READDIRPLUS", "FSSTAT",  "FSINFO", "PATHCONF", "COMMIT",
};

bool
check(struct slot *s, bool ok, const char *what)
{
    if (!ok) {
        stats.check_err++;
        complain("%s: %s", proc_names[s->proc], what);
    }
    return ok;
}

static unsigned
hist_index(uint64_t ns)
{
    unsigned shift;

    if (ns < 2 * HIST_SUB)
        return (unsigned)ns;
    shift = (unsigned)(63 - __builtin_clzll(ns)) - 5;
    return shift * HIST_SUB + (unsigned)(ns >> shift);
}

static uint64_t
hist_value(unsigned i)
{
    unsigned shift;

    if (i < 2 * HIST_SUB)
        return i;
    shift = i / HIST_SUB - 1;
    return (uint64_t)(i - shift * HIST_SUB) << shift;
}

static double
percentile_us(double p)
{
    uint64_t n = 0, want = (uint64_t)((double)stats.ops * p);
    unsigned i;

    for (i = 0; i < HIST_SIZE; i++) {
        n += stats.hist[i];
        if (n > want)
            return (double)hist_value(i) / 1e3;
    }
    return (double)stats.lat_max / 1e3;
}

void
record(struct slot *s, size_t bytes)
{
    uint64_t lat = load.now - s->first_ns;
    unsigned i = hist_index(lat);

    stats.ops++;
    stats.bytes += bytes;
    stats.hist[i < HIST_SIZE ? i : HIST_SIZE - 1]++;
    stats.lat_sum += lat;
    if (lat > stats.lat_max)
        stats.lat_max = lat;
}

/* Processor time of a process, all its threads together, in seconds. Those that ended count, other users' do, too. */
static double
process_s(int pid)
{
    clockid_t clock;
    struct timespec t;

    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
        die("there is no process %d whose processor time could be read", pid);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
server_s(void)
{
    double sum = 0;

    for (int i = 0; i < options.npids; i++)
        sum += process_s(options.pids[i]);
    return sum;
}

static bool
core_counts(int core)
{
    for (int i = 0; i < options.ncores; i++)
        if (options.cores[i] == core)
            return true;
    return options.ncores == 0;
}

/* What the cores (--cores, or all) have done for anybody since the machine was started, and what was stolen of them. */
static double
machine_s(void)
{
    unsigned long long v[8], sum = 0;
    char line[512];
    int core;
    FILE *f = fopen("/proc/stat", "r");

    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", &core, &v[0], &v[1], &v[2], &v[3], &v[4],
                   &v[5], &v[6], &v[7]) != 9 || !core_counts(core))
            continue;
        sum += v[0] + v[1] + v[2] + v[5] + v[6] + v[7];     /* all but idle and waiting for a disk */
    }
    fclose(f);
    return (double)sum / (double)sysconf(_SC_CLK_TCK);
}

static double
client_s(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

/* Start measuring; errors seen during the warm-up still count. */
void
window_open(void)
{
    memset(stats.hist, 0, sizeof(stats.hist));
    stats.ops = stats.tasks = stats.bytes = stats.entries = 0;
    stats.lat_max = stats.lat_sum = 0;
    stats.machine_s = machine_s();
    stats.server_s = server_s();
    stats.client_s = client_s();
    load.start = now_ns();
    load.measuring = true;
}

void
window_close(void)
{
    stats.wall_s = (double)(now_ns() - load.start) / 1e9;
    stats.client_s = client_s() - stats.client_s;
    stats.server_s = server_s() - stats.server_s;
    stats.machine_s = machine_s() - stats.machine_s;
    load.measuring = false;
}

static const char *
status_name(uint32_t code, char *buf, size_t n)
{
    static const struct { uint32_t code; const char *name; } t[] = {
        { 1, "PERM" },         { 2, "NOENT" },           { 5, "IO" },
        { 6, "NXIO" },         { 13, "ACCES" },          { 17, "EXIST" },
        { 18, "XDEV" },        { 19, "NODEV" },          { 20, "NOTDIR" },
        { 21, "ISDIR" },       { 22, "INVAL" },          { 27, "FBIG" },
        { 28, "NOSPC" },       { 30, "ROFS" },           { 31, "MLINK" },
        { 63, "NAMETOOLONG" }, { 66, "NOTEMPTY" },       { 69, "DQUOT" },
        { 70, "STALE" },       { 71, "REMOTE" },         { 10001, "BADHANDLE" },
        { 10002, "NOT_SYNC" }, { 10003, "BAD_COOKIE" },  { 10004, "NOTSUPP" },
        { 10005, "TOOSMALL" }, { 10006, "SERVERFAULT" }, { 10007, "BADTYPE" },
        { 10008, "JUKEBOX" },
    };
    size_t i;

    for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
        if (t[i].code == code)
            return t[i].name;
    snprintf(buf, n, "%u", code);
    return buf;
}

static double
ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static double
per_second(uint64_t n)
{
    return ratio((double)n, stats.wall_s);
}

/* Cores that neither the server nor this program used; the machine's clock ticks make it a little wrong. */
static double
others(void)
{
    double s = stats.machine_s - stats.server_s - stats.client_s;

    return s > 0 ? ratio(s, stats.wall_s) : 0;
}

static void
print_status(bool json)
{
    const char *quote = json ? "\"" : "", *separator = json ? "," : " ";
    char buf[16];

    for (int i = 0; i < stats.nstatus; i++)
        printf("%s%s%s%s:%" PRIu64, i > 0 ? separator : "", quote, status_name(stats.status[i].code, buf, sizeof(buf)),
               quote, stats.status[i].n);
}

void
print_line(void)
{
    printf("%s %s c=%u k=%u", options.workload, options.udp ? "udp" : "tcp", options.conns, options.depth);
    if (load.bs)
        printf(" bs=%u", load.bs);
    printf(": %.0f ops/s", per_second(stats.ops));
    if (stats.tasks != stats.ops)
        printf(" %.0f tasks/s", per_second(stats.tasks));
    if (stats.bytes)
        printf(" %.1f MB/s", per_second(stats.bytes) / 1e6);
    if (stats.entries)
        printf(" %.0f entries/s", per_second(stats.entries));
    printf(" | us p50 %.1f p99 %.1f p99.9 %.1f max %.1f", percentile_us(.5), percentile_us(.99), percentile_us(.999),
           (double)stats.lat_max / 1e3);
    if (options.npids)
        printf(" | server %.2f us/op", ratio(stats.server_s * 1e6, (double)stats.ops));
    if (options.npids && stats.bytes)
        printf(" %.3f s/GB", ratio(stats.server_s, (double)stats.bytes / 1e9));
    printf(" | client %.0f%%", ratio(stats.client_s, stats.wall_s) * 100);
    if (stats.retrans)
        printf(" | %" PRIu64 " retransmissions", stats.retrans);
    printf(" | errors %" PRIu64, errors_total());
    if (stats.nstatus) {
        printf(" (");
        print_status(false);
        printf(")");
    }
    printf("\n");
}

void
print_json(void)
{
    printf("{\"workload\":\"%s\",\"proto\":\"%s\",\"conns\":%u,\"depth\":%u,\"bs\":%u,\"rtmax\":%u,\"wtmax\":%u,",
           options.workload, options.udp ? "udp" : "tcp", options.conns, options.depth, load.bs, load.rtmax, load.wtmax);
    printf("\"seconds\":%.4f,\"ops\":%" PRIu64 ",\"tasks\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"entries\":%" PRIu64 ",",
           stats.wall_s, stats.ops, stats.tasks, stats.bytes, stats.entries);
    printf("\"ops_s\":%.1f,\"tasks_s\":%.1f,\"mb_s\":%.3f,\"entries_s\":%.1f,", per_second(stats.ops),
           per_second(stats.tasks), per_second(stats.bytes) / 1e6, per_second(stats.entries));
    printf("\"lat_us\":{\"mean\":%.2f,\"p50\":%.2f,\"p99\":%.2f,\"p999\":%.2f,\"max\":%.2f},",
           ratio((double)stats.lat_sum / 1e3, (double)stats.ops), percentile_us(.5), percentile_us(.99),
           percentile_us(.999), (double)stats.lat_max / 1e3);
    printf("\"server_cpu_s\":%.6f,\"cpu_us_op\":%.4f,\"cpu_s_gb\":%.5f,", stats.server_s,
           ratio(stats.server_s * 1e6, (double)stats.ops), ratio(stats.server_s, (double)stats.bytes / 1e9));
    printf("\"client_cores\":%.3f,\"other_cores\":%.3f,\"retransmissions\":%" PRIu64 ",\"reads_compared\":%" PRIu64 ",",
           ratio(stats.client_s, stats.wall_s), others(), stats.retrans, stats.compared);
    printf("\"errors\":%" PRIu64 ",\"rpc_errors\":%" PRIu64 ",\"check_errors\":%" PRIu64 ",\"content_errors\":%" PRIu64
           ",\"nfs_status\":{", errors_total(), stats.rpc_err, stats.check_err, stats.verify_err);
    print_status(true);
    printf("}}\n");
}
