/* server/cpus.h - which CPUs the event workers run on: what cpu_affinity says. */
#ifndef RINGNFS_SERVER_CPUS_H
#define RINGNFS_SERVER_CPUS_H

#include <stddef.h>
#include <stdint.h>

#define CPUS_MAX 1024                   /* numbers from 0; as many as a cpu_set_t has */

/* CPUs in the order in which they were named; none: workers run wherever the kernel likes. */
struct cpus {
    unsigned count;
    uint16_t list[CPUS_MAX];
};

/* Whether this is "off", "auto", or a list such as 0-3,6. Returns 0, or -EINVAL with error. */
int cpus_check(const char *text, char *error, size_t error_size);

/*
 * What it means here: "auto" is all CPUs that this thread may use. Returns 0 or -errno with error: -ENODEV when a CPU is
 * named that is not there, or not for this thread (cpuset(7), sched_setaffinity(2)).
 */
int cpus_choose(const char *text, struct cpus *cpus, char *error, size_t error_size);

/* How many CPUs this thread may use; at least 1. */
unsigned cpus_usable(void);

#endif
