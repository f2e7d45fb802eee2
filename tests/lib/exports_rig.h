/*
 * tests/lib/exports_rig.h - lines of exports(5) out of a test's text, and what came of them as text again, in a directory
 * that a test program has for itself.
 */
#ifndef RINGNFS_TESTS_LIB_EXPORTS_RIG_H
#define RINGNFS_TESTS_LIB_EXPORTS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/exports.h"

#define EXP_ERROR_MAX 1024              /* bytes of an error, and of a set that exp_say() prints */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define NO_HOST "this is not a host name (letters, digits, '-', '_' and '.')"

/* Around all tests of a program: its working directory is a fresh one, which goes with all that is in it. */
int exp_set_up(void **state);
int exp_tear_down(void **state);

void exp_write_file(const char *name, const void *data, size_t len);

/*
 * exports_load() with settings as they are by default: what a source says, or a file "exports" of this text. On failure
 * *set is NULL. Errors and warnings are in error, of EXP_ERROR_MAX bytes. exp_must_load() must work.
 */
int exp_load_from(const struct exports_source *source, struct exports *old, struct exports **set, char *error);
int exp_load_bytes(const void *text, size_t len, struct exports *old, struct exports **set, char *error);
int exp_load(const char *text, struct exports *old, struct exports **set, char *error);
struct exports *exp_must_load(const char *text, struct exports *old);

/*
 * A set as "PATH: CLIENT, CLIENT; PATH: ...", where a client comes with "ro" or "rw" and what differs from the defaults:
 * "10.0.0.1 rw anonuid=7". out has EXP_ERROR_MAX bytes.
 */
void exp_say(char *out, const struct exports *set);

struct exp_row {
    const char *text, *want;            /* want: the exports, or the error, or behind a '!' the warning */
};

void exp_check_rows(const struct exp_row *rows, size_t count);

#endif
