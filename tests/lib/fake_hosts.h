/*
 * tests/lib/fake_hosts.h - a name service that says what a test wants: names that change, fail, or take their time, and
 * a clock that moves when it is told to.
 */
#ifndef RINGNFS_TESTS_LIB_FAKE_HOSTS_H
#define RINGNFS_TESTS_LIB_FAKE_HOSTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "server/hosts.h"

#define FAKE_RECORDS 64
#define FAKE_FIRST 8                    /* questions whose names are kept */

enum fake_kind { FAKE_ADDRESS, FAKE_NAME, FAKE_ALIAS, FAKE_MEMBER };

struct fake_record {
    enum fake_kind kind;
    char key[300];
    char value[300];
};

struct fake_hosts {
    struct hosts_source source;         /* for hosts_config and live_options */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fake_record records[FAKE_RECORDS];
    size_t count;
    int err;                            /* what every question comes to, if not 0 */
    bool blocked;                       /* nothing is answered */
    char except[64];                    /* for questions about this the opposite holds; "": for none */
    unsigned inside;                    /* questions that wait for that to end */
    _Atomic uint64_t now_ms;
    _Atomic unsigned asked;             /* questions in all */
    char first[FAKE_FIRST][64];         /* what the first ones were about, in order */
};

void fake_hosts_init(struct fake_hosts *fake);
void fake_hosts_fini(struct fake_hosts *fake);

/* A name has one more address; an address has this name; a name has one more alias; a host is in a netgroup. */
void fake_address(struct fake_hosts *fake, const char *name, const char *address);
void fake_name(struct fake_hosts *fake, const char *address, const char *name);
void fake_alias(struct fake_hosts *fake, const char *name, const char *alias);
void fake_member(struct fake_hosts *fake, const char *netgroup, const char *host);
/* A name with one address that has this name. */
void fake_host(struct fake_hosts *fake, const char *name, const char *address);

/* Forget everything that was said of a name, an address or a netgroup. */
void fake_forget(struct fake_hosts *fake, const char *key);

/* From now on every question fails with err (negative), or none does (0). */
void fake_fail(struct fake_hosts *fake, int err);

/* From now on questions are not answered, or are again. */
void fake_block(struct fake_hosts *fake, bool blocked);

/* Until the next fake_block() the opposite holds for questions about this name or address. */
void fake_except(struct fake_hosts *fake, const char *about);

/* Wait until so many questions wait for the end of that. */
void fake_wait_blocked(struct fake_hosts *fake, unsigned questions);

void fake_pass_ms(struct fake_hosts *fake, uint64_t ms);

#endif
