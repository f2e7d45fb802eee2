/* server/cpus.c - see cpus.h. */
#include "server/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "server/log.h"

#define SHOWN_MAX 64                                     /* bytes of a wrong list that are shown */
#define RANGES_MAX 128                                   /* bytes of a list of those that are there */

_Static_assert(CPUS_MAX == CPU_SETSIZE, "a cpu_set_t has room for all of them");

static int
refuse(const char *text, const char *why, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];

    snprintf(error, error_size, "%s %s", log_quote(shown, sizeof(shown), text, strlen(text)), why);
    return -EINVAL;
}

/* One number; *text moves behind it. Returns CPUS_MAX when there is none, or one that is too large. */
static unsigned
read_cpu(const char **text)
{
    unsigned cpu = 0;

    if (!isdigit((unsigned char)**text))
        return CPUS_MAX;
    for (; isdigit((unsigned char)**text); ++*text)
        cpu = MIN(cpu * 10 + (unsigned)(**text - '0'), CPUS_MAX);
    return cpu;
}

/* Append the CPUs of a list. Returns 0 or -EINVAL with error. */
static int
read_list(const char *text, struct cpus *cpus, char *error, size_t error_size)
{
    const char *at = text;
    bool named[CPUS_MAX] = { false };

    for (;; at++) {
        unsigned first = read_cpu(&at), last = first;

        if (*at == '-') {
            at++;
            last = read_cpu(&at);
        }
        if (first >= CPUS_MAX || last >= CPUS_MAX || (*at != ',' && *at != '\0'))
            return refuse(text, "is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off", error, error_size);
        if (first > last)
            return refuse(text, "has a range that ends before it begins", error, error_size);
        for (; first <= last; first++) {
            if (named[first])
                return refuse(text, "names a CPU twice", error, error_size);
            named[first] = true;
            cpus->list[cpus->count++] = (uint16_t)first;
        }
        if (*at == '\0')
            return 0;
    }
}

int
cpus_check(const char *text, char *error, size_t error_size)
{
    struct cpus cpus = { .count = 0 };

    if (strcmp(text, "off") == 0 || strcmp(text, "auto") == 0)
        return 0;
    return read_list(text, &cpus, error, error_size);
}

/* "0-3,6" */
static const char *
list_ranges(const cpu_set_t *set, char *out, size_t size)
{
    size_t used = 0;
    unsigned last;

    out[0] = '\0';
    for (unsigned cpu = 0; cpu < CPUS_MAX && used < size; cpu = last + 1) {
        last = cpu;
        if (!CPU_ISSET(cpu, set))
            continue;
        while (last + 1 < CPUS_MAX && CPU_ISSET(last + 1, set))
            last++;
        used += (size_t)snprintf(out + used, size - used, cpu == last ? "%s%u" : "%s%u-%u", used > 0 ? "," : "", cpu, last);
    }
    return out;
}

/* Those that this thread may use; where the kernel has more than fit, any may be tried. */
static void
read_usable(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof(*set), set) == 0)
        return;
    for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
        CPU_SET(cpu, set);
}

int
cpus_choose(const char *text, struct cpus *cpus, char *error, size_t error_size)
{
    char ranges[RANGES_MAX];
    cpu_set_t usable;
    int err = 0;

    cpus->count = 0;
    if (strcmp(text, "off") == 0)
        return 0;
    read_usable(&usable);
    if (strcmp(text, "auto") == 0) {
        for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++)
            if (CPU_ISSET(cpu, &usable))
                cpus->list[cpus->count++] = (uint16_t)cpu;
        return 0;
    }
    err = read_list(text, cpus, error, error_size);
    for (unsigned i = 0; i < cpus->count && err == 0; i++) {
        if (CPU_ISSET(cpus->list[i], &usable))
            continue;
        snprintf(error, error_size, "CPU %u is none that this process may use (those are %s)", cpus->list[i],
                 list_ranges(&usable, ranges, sizeof(ranges)));
        err = -ENODEV;
    }
    return err;
}

unsigned
cpus_usable(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

    return (unsigned)MAX(count, 1);
}
