/* tests/unit/test_groups.c - groups of users as the server knows them: answers, how long they last, who waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/groups.h"
#include "tests/lib/fake_groups.h"
#include "tests/lib/resolver_rig.h"

#define TTL_MS 1000
#define NEGATIVE_MS (TTL_MS / 4)
#define ENTRIES 4
#define WAITING 3
#define WAITING_EACH 2
#define ALICE 1000
#define BOB 1001

struct rig {
    struct fake_groups fake;
    struct resolver_rig base;
    struct groups *groups;
    struct waiter waiter;
};

static int
set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    struct groups_config config = { .entries = ENTRIES, .ttl_ms = TTL_MS, .waiting = WAITING,
                                    .waiting_each = WAITING_EACH };

    assert_non_null(rig);
    fake_groups_init(&rig->fake);
    resolver_rig_init(&rig->base);
    config.source = &rig->fake.source;
    config.log = &rig->base.log;
    assert_int_equal(groups_new(&config, &rig->groups), 0);
    waiter_init(&rig->waiter, &rig->base);
    *state = rig;
    return 0;
}

static int
tear_down(void **state)
{
    struct rig *rig = *state;

    fake_groups_block(&rig->fake, false);
    groups_free(rig->groups);
    resolver_rig_fini(&rig->base);
    waiter_fini(&rig->waiter);
    fake_groups_fini(&rig->fake);
    free(rig);
    return 0;
}

/* Ask until there is an answer; groups_put() it. */
static int
ask(struct rig *rig, uid_t uid, struct groups_list *list)
{
    int err;

    while ((err = groups_find(rig->groups, uid, &rig->waiter.wait, list)) == -EINPROGRESS)
        assert_true(waiter_answered(&rig->waiter, WAITER_PATIENCE_MS));
    return err;
}

/* How many groups a user is in, or the error. */
static int
count(struct rig *rig, uid_t uid)
{
    struct groups_list list;
    int err = ask(rig, uid, &list), found;

    if (err < 0)
        return err;
    found = (int)list.count;
    groups_put(&list);
    return found;
}

/* Wait until the source has been asked so often, and its answer is in. */
static void
wait_asked(struct rig *rig, unsigned times)
{
    for (unsigned tries = 0; tries < 1000 && atomic_load(&rig->fake.asked) < times; tries++)
        usleep(10000);
    assert_int_equal(atomic_load(&rig->fake.asked), times);
}

static void
a_list_is_in_order_and_has_each_group_once(void **state)
{
    struct rig *rig = *state;
    struct groups_list list;

    fake_groups_user(&rig->fake, ALICE, 500, 40);
    fake_groups_root(&rig->fake);
    assert_int_equal(ask(rig, ALICE, &list), 0);
    assert_int_equal(list.count, 40);
    assert_int_equal(list.gids[0], 0);
    for (uint32_t i = 1; i < 40; i++)
        assert_int_equal(list.gids[i], 499 + i);
    groups_put(&list);
}

static void
a_user_may_be_in_as_many_groups_as_linux_allows(void **state)
{
    struct rig *rig = *state;

    fake_groups_user(&rig->fake, ALICE, 1, GROUPS_MAX);
    assert_int_equal(count(rig, ALICE), GROUPS_MAX);
}

static void
the_group_that_means_no_change_is_left_out(void **state)
{
    struct rig *rig = *state;

    fake_groups_user(&rig->fake, ALICE, UINT32_MAX - 2, 3);
    assert_int_equal(count(rig, ALICE), 2);
}

static void
an_answer_is_asked_for_once_and_again_before_its_time_is_over(void **state)
{
    struct rig *rig = *state;

    fake_groups_user(&rig->fake, ALICE, 500, 3);
    assert_int_equal(count(rig, ALICE), 3);
    assert_int_equal(count(rig, ALICE), 3);
    fake_groups_pass_ms(&rig->fake, TTL_MS / 2);
    assert_int_equal(count(rig, ALICE), 3);
    assert_int_equal(atomic_load(&rig->fake.asked), 1);
    fake_groups_pass_ms(&rig->fake, TTL_MS / 4);
    assert_int_equal(count(rig, ALICE), 3);
    wait_asked(rig, 2);
}

static void
a_change_counts_once_the_time_of_the_answer_is_over(void **state)
{
    struct rig *rig = *state;

    fake_groups_user(&rig->fake, ALICE, 500, 3);
    assert_int_equal(count(rig, ALICE), 3);
    fake_groups_user(&rig->fake, ALICE, 500, 2);
    assert_int_equal(count(rig, ALICE), 3);
    fake_groups_pass_ms(&rig->fake, TTL_MS);
    assert_int_equal(count(rig, ALICE), 2);
}

static void
an_unknown_user_has_no_groups_for_a_shorter_time(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(count(rig, ALICE), 0);
    fake_groups_user(&rig->fake, ALICE, 500, 2);
    assert_int_equal(count(rig, ALICE), 0);
    fake_groups_pass_ms(&rig->fake, NEGATIVE_MS);
    assert_int_equal(count(rig, ALICE), 2);
}

static void
a_failing_service_keeps_the_last_answer_and_is_told_once(void **state)
{
    struct rig *rig = *state;

    fake_groups_user(&rig->fake, ALICE, 500, 3);
    assert_int_equal(count(rig, ALICE), 3);
    fake_groups_fail(&rig->fake, -EIO);
    for (unsigned i = 0; i < 5; i++) {
        fake_groups_pass_ms(&rig->fake, TTL_MS);
        assert_int_equal(count(rig, ALICE), 3);
        assert_int_equal(count(rig, BOB), -EAGAIN);
    }
    assert_int_equal(resolver_rig_logged(&rig->base, "groups of users cannot be looked up"), 1);
    fake_groups_fail(&rig->fake, 0);
    fake_groups_user(&rig->fake, ALICE, 500, 4);
    fake_groups_pass_ms(&rig->fake, TTL_MS);
    for (unsigned tries = 0; tries < 1000 && count(rig, ALICE) != 4; tries++)
        usleep(10000);
    assert_int_equal(count(rig, ALICE), 4);
    assert_int_equal(resolver_rig_logged(&rig->base, "groups of users can be looked up again"), 1);
}

static void
who_was_never_known_is_told_to_come_again_while_the_service_fails(void **state)
{
    struct rig *rig = *state;

    fake_groups_user(&rig->fake, BOB, 500, 3);
    fake_groups_fail(&rig->fake, -EIO);
    assert_int_equal(count(rig, BOB), -EAGAIN);
    assert_int_equal(count(rig, BOB), -EAGAIN);
    assert_int_equal(atomic_load(&rig->fake.asked), 1);
    fake_groups_fail(&rig->fake, 0);
    assert_int_equal(count(rig, BOB), -EAGAIN);
    fake_groups_pass_ms(&rig->fake, NEGATIVE_MS);
    assert_int_equal(count(rig, BOB), 3);
}

static void
waiting_has_a_bound_and_ends_with_the_server(void **state)
{
    struct rig *rig = *state;
    struct waiter waiters[WAITING + 1];
    struct groups_list list;

    fake_groups_block(&rig->fake, true);
    for (unsigned i = 0; i <= WAITING; i++) {
        waiter_init(&waiters[i], &rig->base);
        assert_int_equal(groups_find(rig->groups, ALICE + i, &waiters[i].wait, &list),
                         i < WAITING ? -EINPROGRESS : -EAGAIN);
    }
    groups_stop(rig->groups);
    for (unsigned i = 0; i < WAITING; i++)
        assert_true(waiter_answered(&waiters[i], WAITER_PATIENCE_MS));
    assert_int_equal(groups_find(rig->groups, ALICE, &waiters[0].wait, &list), -EAGAIN);
}

static void
the_wait_for_one_user_leaves_room_for_others(void **state)
{
    struct rig *rig = *state;
    struct waiter waiters[WAITING_EACH + 1];
    struct groups_list list;

    fake_groups_block(&rig->fake, true);
    for (unsigned i = 0; i <= WAITING_EACH; i++) {
        waiter_init(&waiters[i], &rig->base);
        assert_int_equal(groups_find(rig->groups, ALICE, &waiters[i].wait, &list),
                         i < WAITING_EACH ? -EINPROGRESS : -EAGAIN);
    }
    assert_int_equal(groups_find(rig->groups, BOB, &rig->waiter.wait, &list), -EINPROGRESS);
    fake_groups_block(&rig->fake, false);
    for (unsigned i = 0; i < WAITING_EACH; i++)
        assert_true(waiter_answered(&waiters[i], WAITER_PATIENCE_MS));
    assert_true(waiter_answered(&rig->waiter, WAITER_PATIENCE_MS));
    for (unsigned i = 0; i <= WAITING_EACH; i++)
        waiter_fini(&waiters[i]);
}

static void
several_users_are_asked_about_at_once(void **state)
{
    struct rig *rig = *state;
    struct waiter other;
    struct groups_list list;

    waiter_init(&other, &rig->base);
    fake_groups_user(&rig->fake, ALICE, 500, 3);
    fake_groups_block(&rig->fake, true);
    assert_int_equal(groups_find(rig->groups, BOB, &other.wait, &list), -EINPROGRESS);
    wait_asked(rig, 1);
    assert_int_equal(groups_find(rig->groups, ALICE, &rig->waiter.wait, &list), -EINPROGRESS);
    wait_asked(rig, 2);
    fake_groups_block(&rig->fake, false);
    assert_true(waiter_answered(&other, WAITER_PATIENCE_MS));
    assert_true(waiter_answered(&rig->waiter, WAITER_PATIENCE_MS));
    assert_int_equal(count(rig, ALICE), 3);
    assert_int_equal(count(rig, BOB), 0);
    waiter_fini(&other);
}

static void
the_oldest_users_make_room_and_a_list_outlives_its_entry(void **state)
{
    struct rig *rig = *state;
    struct groups_list list;

    fake_groups_user(&rig->fake, ALICE, 500, 3);
    assert_int_equal(ask(rig, ALICE, &list), 0);
    for (uid_t uid = BOB; uid < BOB + 2 * ENTRIES; uid++)
        assert_int_equal(count(rig, uid), 0);
    assert_int_equal(list.gids[2], 502);
    groups_put(&list);
    fake_groups_user(&rig->fake, ALICE, 500, 1);
    assert_int_equal(count(rig, ALICE), 1);
}

static void
this_machine_knows_the_groups_of_its_users(void **state)
{
    const struct passwd *root = getpwuid(0);
    gid_t *gids = calloc(GROUPS_MAX, sizeof(*gids));
    uint32_t found = 0;
    bool has_own = false;

    (void)state;
    assert_non_null(gids);
    assert_non_null(root);
    assert_int_equal(groups_libc.list(NULL, 0, gids, &found), 0);
    for (uint32_t i = 0; i < found; i++)
        has_own = has_own || gids[i] == root->pw_gid;
    assert_true(has_own);
    assert_int_equal(groups_libc.list(NULL, 3999999999u, gids, &found), 0);
    assert_int_equal(found, 0);
    free(gids);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_list_is_in_order_and_has_each_group_once),
        RIG_TEST(a_user_may_be_in_as_many_groups_as_linux_allows),
        RIG_TEST(the_group_that_means_no_change_is_left_out),
        RIG_TEST(an_answer_is_asked_for_once_and_again_before_its_time_is_over),
        RIG_TEST(a_change_counts_once_the_time_of_the_answer_is_over),
        RIG_TEST(an_unknown_user_has_no_groups_for_a_shorter_time),
        RIG_TEST(a_failing_service_keeps_the_last_answer_and_is_told_once),
        RIG_TEST(who_was_never_known_is_told_to_come_again_while_the_service_fails),
        RIG_TEST(waiting_has_a_bound_and_ends_with_the_server),
        RIG_TEST(the_wait_for_one_user_leaves_room_for_others),
        RIG_TEST(several_users_are_asked_about_at_once),
        RIG_TEST(the_oldest_users_make_room_and_a_list_outlives_its_entry),
        cmocka_unit_test(this_machine_knows_the_groups_of_its_users),
    };

    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
