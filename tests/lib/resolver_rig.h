/* tests/lib/resolver_rig.h - what tests of things that are looked up need: a log to read, a loop, calls that wait. */
#ifndef RINGNFS_TESTS_LIB_RESOLVER_RIG_H
#define RINGNFS_TESTS_LIB_RESOLVER_RIG_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>

#include "rpc/loop.h"
#include "server/log.h"
#include "server/resolver.h"

#define WAITER_PATIENCE_MS 10000        /* for what must come */

/* The loop runs on a thread of its own. */
struct resolver_rig {
    struct log log;                     /* everything but what is for debugging */
    FILE *log_file;
    struct loop *loop;
    pthread_t thread;
};

/* A call that waits and counts how often it was told. */
struct waiter {
    struct resolver_wait wait;          /* first */
    sem_t answered;
};

void resolver_rig_init(struct resolver_rig *rig);

/* What posts to the loop has ended before. */
void resolver_rig_fini(struct resolver_rig *rig);

/* How many lines of the log have this text. */
unsigned resolver_rig_logged(struct resolver_rig *rig, const char *text);

void waiter_init(struct waiter *waiter, struct resolver_rig *rig);
void waiter_fini(struct waiter *waiter);

/* Whether it is told within so many milliseconds. */
bool waiter_answered(struct waiter *waiter, unsigned ms);

#endif
