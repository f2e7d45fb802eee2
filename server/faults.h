/*
 * server/faults.h - the rules of faults of one server: added, cleared and listed while calls run.
 *
 * Calls look at a set of rules that never changes: a change makes another set, and the old one goes with the last call
 * that looks at it. A rule that stays keeps its counters. Any thread.
 */
#ifndef RINGNFS_SERVER_FAULTS_H
#define RINGNFS_SERVER_FAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "server/fault_rule.h"

#define FAULT_RULES_MAX 64              /* at once */

struct faults;

struct fault_set {
    _Atomic uint32_t refs;
    size_t count;
    struct fault_rule *rules[];         /* in the order in which they were added; references */
};

/* Returns 0 or -ENOMEM. */
int faults_new(struct faults **faults);

/* Nobody uses it any more. NULL is fine. */
void faults_free(struct faults *faults);

/*
 * From now on a server uses the rules: armed is true as long as there are any, and check() says which of them can never
 * match any of its calls, those that there are already among them. Returns 0, or what check() does, and nothing has
 * changed.
 */
int faults_attach(struct faults *faults, _Atomic bool *armed,
                  int (*check)(void *context, const struct fault_rule *rule, char *error, size_t error_size),
                  void *context, char *error, size_t error_size);
void faults_detach(struct faults *faults);

/* Add a rule behind the others. Returns its number, which is greater than 0 and never used again, or -errno with error. */
int faults_add(struct faults *faults, const char *text, char *error, size_t error_size);

/*
 * Add the rules of a file, one in a line; empty lines, and those that begin with '#', are none. All of them or none.
 * Returns how many, or -errno with error, which names file and line.
 */
int faults_load(struct faults *faults, const char *file, char *error, size_t error_size);

/* Take a rule away; 0: all. Returns 0, -ENOENT or -ENOMEM with error. */
int faults_clear(struct faults *faults, uint32_t id, char *error, size_t error_size);

/* The rules that there are now. Give them back with fault_set_put(). */
struct fault_set *faults_get(struct faults *faults);
void fault_set_put(struct fault_set *set);

#endif
