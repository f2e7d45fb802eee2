/*
 * tests/lib/store_each.h - the same tests on every store: on the one in memory, and on the posix store with each engine,
 * on the disk below $TMPDIR and on the tmpfs of /dev/shm.
 *
 * Each test works in a fresh directory that everybody may write to: rig->dir of the struct rig that is its state.
 */
#ifndef RINGNFS_TESTS_STORE_EACH_H
#define RINGNFS_TESTS_STORE_EACH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lib/store_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_each_set_up, store_each_tear_down)

int store_each_set_up(void **state);
int store_each_tear_down(void **state);

/* Run the tests, made by STORE_TEST(), on each store; returns what main() returns. */
int store_each_main(const struct CMUnitTest *tests, size_t count);

/* Tests about who may do what, where the store cannot act for others. */
#define NEEDS_IDENTITIES(rig) do { if (!(rig)->decides) skip(); } while (0)

/* A caller with RIG_GROUP as a further group, or with none. */
struct store_cred rig_member(uid_t uid, gid_t gid, bool in_group);

/* An object as from rig_make(), of RIG_GROUP and without any permission. */
struct store_node *rig_make_of_group(struct rig *rig, const char *name, const char *type);

bool rig_is_later(struct timespec a, struct timespec b);
bool rig_same_time(struct timespec a, struct timespec b);

/* expected: names in order, with a space between them; "." and ".." are left out. */
void rig_assert_names(struct rig *rig, struct store_node *dir, const char *expected);

/* That a failed or successful operation told the truth about what it changed. */
void rig_assert_wcc(const struct store_wcc *wcc, struct store_attr before, struct store_attr after);

#endif
