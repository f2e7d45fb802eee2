/*
 * tests/lib/fake_groups.h - a directory service that says what a test wants: groups that change, fail, or take their
 * time, and a clock that moves when it is told to.
 */
#ifndef RINGNFS_TESTS_LIB_FAKE_GROUPS_H
#define RINGNFS_TESTS_LIB_FAKE_GROUPS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/groups.h"

struct fake_groups {
    struct groups_source source;        /* for groups_config and live_options */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uid_t uid;                          /* the one who is known */
    uint32_t count;
    gid_t first;                        /* his groups: first, first + 1, ... */
    bool in_root;                       /* the last of them is root's instead */
    int err;                            /* what every question comes to, if not 0 */
    bool blocked;                       /* nothing is answered */
    _Atomic uint64_t now_ms;
    _Atomic unsigned asked;             /* questions in all */
};

/* Nobody is known. */
void fake_groups_init(struct fake_groups *fake);
void fake_groups_fini(struct fake_groups *fake);

/* This user, and nobody else, is known: in so many groups from `first` on. */
void fake_groups_user(struct fake_groups *fake, uid_t uid, gid_t first, uint32_t count);

/* The last of his groups is root's. */
void fake_groups_root(struct fake_groups *fake);

/* From now on every question fails with err (negative), or none does (0). */
void fake_groups_fail(struct fake_groups *fake, int err);

/* From now on questions are not answered, or are again. */
void fake_groups_block(struct fake_groups *fake, bool blocked);

void fake_groups_pass_ms(struct fake_groups *fake, uint64_t ms);

#endif
