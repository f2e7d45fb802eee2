/* tests/unit/test_hosts.c - host names, names of addresses and netgroups: answers, how long they last, who waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/hosts.h"
#include "tests/lib/fake_hosts.h"
#include "tests/lib/resolver_rig.h"

#define TTL_MS 1000
#define STALE_MS 5000
#define NEGATIVE_MS (TTL_MS / 4)
#define ENTRIES 100
#define WAITING 5
#define WAITING_EACH 3

struct rig {
    struct fake_hosts fake;
    struct resolver_rig base;
    struct hosts *hosts;
};

static struct hosts *
new_hosts(struct rig *rig, uint32_t entries)
{
    const struct hosts_config config = {
        .source = &rig->fake.source, .log = &rig->base.log, .entries = entries, .ttl_ms = TTL_MS, .stale_ms = STALE_MS,
        .waiting = WAITING, .waiting_each = WAITING_EACH
    };
    struct hosts *hosts;

    assert_int_equal(hosts_new(&config, &hosts), 0);
    return hosts;
}

static int
set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    fake_hosts_init(&rig->fake);
    resolver_rig_init(&rig->base);
    rig->hosts = new_hosts(rig, ENTRIES);
    *state = rig;
    return 0;
}

static int
tear_down(void **state)
{
    struct rig *rig = *state;

    fake_block(&rig->fake, false);
    hosts_free(rig->hosts);
    resolver_rig_fini(&rig->base);
    fake_hosts_fini(&rig->fake);
    free(rig);
    return 0;
}

static struct peer_address
address(const char *text)
{
    struct peer_address peer = { .bits = strchr(text, ':') != NULL ? PEER_BITS6 : PEER_BITS4 };

    assert_int_equal(inet_pton(peer.bits == PEER_BITS6 ? AF_INET6 : AF_INET, text, peer.bytes), 1);
    return peer;
}

typedef int (*question)(struct hosts *hosts, const char *name, struct hosts_query *query);

/* Ask once, without waiting. */
static int
ask(struct rig *rig, question put, const char *name, const char *peer_text)
{
    struct peer_address peer = address(peer_text);
    struct hosts_query query = { .peer = &peer, .until_ms = UINT64_MAX };

    return put(rig->hosts, name, &query);
}

static int
ask_waiting(struct rig *rig, question put, const char *name, const char *peer_text, struct waiter *waiter)
{
    struct peer_address peer = address(peer_text);
    struct hosts_query query = { .peer = &peer, .wait = &waiter->wait, .until_ms = UINT64_MAX };

    return put(rig->hosts, name, &query);
}

/* Ask, and wait until there is an answer. */
static int
learn(struct rig *rig, question put, const char *name, const char *peer_text)
{
    struct waiter waiter;
    int result;

    waiter_init(&waiter, &rig->base);
    do
        result = ask_waiting(rig, put, name, peer_text, &waiter);
    while (result == -EINPROGRESS && waiter_answered(&waiter, WAITER_PATIENCE_MS));
    waiter_fini(&waiter);
    return result;
}

/* Wait until so many questions have reached the source and the resolver has nothing left to do. */
static void
await_asked(struct rig *rig, unsigned asked)
{
    for (int i = 0; i < WAITER_PATIENCE_MS && atomic_load(&rig->fake.asked) < asked; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&rig->fake.asked), asked);
}

/* The answer of a question that has been put becomes want, soon. */
static void
assert_becomes(struct rig *rig, question put, const char *name, const char *peer, int want)
{
    int got = 0;

    for (int i = 0; i < WAITER_PATIENCE_MS; i++) {
        got = ask(rig, put, name, peer);
        if (got == want)
            return;
        usleep(1000);
    }
    fail_msg("%s for %s: %d, not %d", name, peer, got, want);
}

static void
a_host_is_each_of_its_addresses(void **state)
{
    struct rig *rig = *state;

    fake_address(&rig->fake, "two", "10.0.0.1");
    fake_address(&rig->fake, "two", "10.0.0.2");
    fake_address(&rig->fake, "two", "2001:db8::1");
    assert_int_equal(learn(rig, hosts_has_address, "two", "10.0.0.1"), 1);
    assert_int_equal(ask(rig, hosts_has_address, "two", "10.0.0.2"), 1);
    assert_int_equal(ask(rig, hosts_has_address, "two", "2001:db8::1"), 1);
    assert_int_equal(ask(rig, hosts_has_address, "two", "10.0.0.3"), 0);
    assert_int_equal(ask(rig, hosts_has_address, "two", "2001:db8::2"), 0);
    assert_int_equal(atomic_load(&rig->fake.asked), 1);
}

static void
a_host_needs_no_name_of_its_address(void **state)
{
    struct rig *rig = *state;

    fake_address(&rig->fake, "client", "10.0.0.1");
    fake_name(&rig->fake, "10.0.0.1", "something.else");
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
}

static void
what_is_not_known_is_never_guessed(void **state)
{
    struct rig *rig = *state;

    fake_block(&rig->fake, true);
    fake_host(&rig->fake, "client", "10.0.0.1");
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.2"), -EAGAIN);
    assert_int_equal(ask(rig, hosts_name_matches, "*", "10.0.0.1"), -EAGAIN);
    assert_int_equal(ask(rig, hosts_in_netgroup, "group", "10.0.0.1"), -EAGAIN);
    fake_block(&rig->fake, false);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    assert_int_equal(learn(rig, hosts_name_matches, "*", "10.0.0.1"), 1);
    assert_int_equal(learn(rig, hosts_in_netgroup, "group", "10.0.0.1"), 0);
}

static void
patterns_match_the_whole_name(void **state)
{
    static const struct { const char *pattern; int want; } rows[] = {
        { "*", 1 }, { "*.example.org", 1 }, { "*.org", 1 }, { "web1.*.org", 1 }, { "WEB1.LAB.Example.ORG", 1 },
        { "web?.lab.example.org", 1 }, { "web[0-9].*", 1 }, { "web[!2-9].*", 1 }, { "web[^2-9].*", 1 },
        { "w*1.l*", 1 }, { "?eb1*", 1 }, { "*.lab.example.org", 1 }, { "www.example.org", 1 }, { "www.*", 1 },
        { "example.org", 0 }, { "web1", 0 }, { "*.example.com", 0 }, { "web[2-9].*", 0 }, { "web??.lab.*", 0 },
        { "*.lab", 0 }, { "lab.*", 0 }, { "10.0.0.*", 0 }, { "*1", 0 },
    };
    struct rig *rig = *state;

    fake_host(&rig->fake, "web1.lab.example.org", "10.0.0.1");
    fake_alias(&rig->fake, "web1.lab.example.org", "www.example.org");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int got = learn(rig, hosts_name_matches, rows[i].pattern, "10.0.0.1");

        if (got != rows[i].want)
            fail_msg("%s: %d", rows[i].pattern, got);
    }
}

static void
a_name_counts_only_if_it_has_the_address(void **state)
{
    struct rig *rig = *state;

    fake_name(&rig->fake, "192.0.2.66", "trusted.example.org");
    fake_address(&rig->fake, "trusted.example.org", "10.0.0.1");
    fake_name(&rig->fake, "192.0.2.67", "nowhere.example.org");
    fake_name(&rig->fake, "192.0.2.68", "192.0.2.68");
    fake_address(&rig->fake, "192.0.2.68", "192.0.2.68");
    fake_name(&rig->fake, "192.0.2.69", "a b.example.org");
    fake_address(&rig->fake, "a b.example.org", "192.0.2.69");
    fake_member(&rig->fake, "group", "trusted.example.org");
    fake_member(&rig->fake, "group", "trusted");
    assert_int_equal(learn(rig, hosts_name_matches, "*.example.org", "192.0.2.66"), 0);
    assert_int_equal(learn(rig, hosts_name_matches, "*.example.org", "192.0.2.67"), 0);
    assert_int_equal(learn(rig, hosts_name_matches, "192.0.2.*", "192.0.2.68"), 0);
    assert_int_equal(learn(rig, hosts_name_matches, "*.example.org", "192.0.2.69"), 0);
    assert_int_equal(learn(rig, hosts_name_matches, "*.example.org", "192.0.2.70"), 0);
    assert_int_equal(learn(rig, hosts_in_netgroup, "group", "192.0.2.66"), 0);
}

static void
netgroups_hold_names_short_names_and_addresses(void **state)
{
    struct rig *rig = *state;

    fake_host(&rig->fake, "a.example.org", "10.0.0.1");
    fake_host(&rig->fake, "b.example.org", "10.0.0.2");
    fake_alias(&rig->fake, "b.example.org", "other.example.org");
    fake_host(&rig->fake, "c.example.org", "10.0.0.3");
    fake_member(&rig->fake, "full", "a.example.org");
    fake_member(&rig->fake, "alias", "other.example.org");
    fake_member(&rig->fake, "short", "c");
    fake_member(&rig->fake, "short", "other");
    fake_member(&rig->fake, "address", "10.0.0.4");
    assert_int_equal(learn(rig, hosts_in_netgroup, "full", "10.0.0.1"), 1);
    assert_int_equal(learn(rig, hosts_in_netgroup, "full", "10.0.0.2"), 0);
    assert_int_equal(learn(rig, hosts_in_netgroup, "alias", "10.0.0.2"), 1);
    assert_int_equal(learn(rig, hosts_in_netgroup, "short", "10.0.0.3"), 1);
    assert_int_equal(learn(rig, hosts_in_netgroup, "short", "10.0.0.2"), 0);
    assert_int_equal(learn(rig, hosts_in_netgroup, "address", "10.0.0.4"), 1);
    assert_int_equal(learn(rig, hosts_in_netgroup, "nothing", "10.0.0.1"), 0);
}

static void
an_answer_lasts_for_its_time_and_is_asked_for_ahead_of_its_end(void **state)
{
    struct rig *rig = *state;

    fake_address(&rig->fake, "client", "10.0.0.1");
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    fake_pass_ms(&rig->fake, TTL_MS / 2);
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    usleep(20000);
    await_asked(rig, 1);
    fake_pass_ms(&rig->fake, TTL_MS / 4);
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    await_asked(rig, 2);
}

static void
a_change_counts_from_the_next_answer_on(void **state)
{
    struct rig *rig = *state;
    uint64_t generation;

    fake_address(&rig->fake, "client", "10.0.0.1");
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    generation = hosts_generation(rig->hosts);
    fake_forget(&rig->fake, "client");
    fake_address(&rig->fake, "client", "10.0.0.2");
    fake_pass_ms(&rig->fake, TTL_MS - 1);
    assert_becomes(rig, hosts_has_address, "client", "10.0.0.1", 0);
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.2"), 1);
    assert_true(hosts_generation(rig->hosts) > generation);
}

static void
the_same_addresses_in_another_order_are_no_change(void **state)
{
    struct rig *rig = *state;
    uint64_t generation;

    fake_address(&rig->fake, "client", "10.0.0.1");
    fake_address(&rig->fake, "client", "10.0.0.2");
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    generation = hosts_generation(rig->hosts);
    fake_forget(&rig->fake, "client");
    fake_address(&rig->fake, "client", "10.0.0.2");
    fake_address(&rig->fake, "client", "10.0.0.1");
    fake_pass_ms(&rig->fake, TTL_MS);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    assert_int_equal(atomic_load(&rig->fake.asked), 2);
    assert_true(hosts_generation(rig->hosts) == generation);
}

static void
an_expired_answer_is_not_used(void **state)
{
    struct rig *rig = *state;

    fake_address(&rig->fake, "client", "10.0.0.1");
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    fake_block(&rig->fake, true);
    fake_pass_ms(&rig->fake, TTL_MS);
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.2"), -EAGAIN);
}

static void
that_there_is_none_is_believed_for_a_shorter_time(void **state)
{
    struct rig *rig = *state;

    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 0);
    assert_int_equal(resolver_rig_logged(&rig->base, "client, which has no address"), 1);
    fake_address(&rig->fake, "client", "10.0.0.1");
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.1"), 0);
    fake_pass_ms(&rig->fake, NEGATIVE_MS);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    assert_int_equal(resolver_rig_logged(&rig->base, "has no address"), 1);
}

static void
a_failing_source_leaves_the_last_answer_up_to_the_limit(void **state)
{
    struct rig *rig = *state;
    uint64_t passed;

    fake_address(&rig->fake, "client", "10.0.0.1");
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    fake_fail(&rig->fake, -EAGAIN);
    fake_pass_ms(&rig->fake, TTL_MS);
    for (passed = TTL_MS; passed < STALE_MS; passed += NEGATIVE_MS) {
        assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
        assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.2"), 0);
        fake_pass_ms(&rig->fake, NEGATIVE_MS);
    }
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 0);
    assert_int_equal(resolver_rig_logged(&rig->base, "cannot be looked up"), 1);
    fake_fail(&rig->fake, 0);
    fake_pass_ms(&rig->fake, NEGATIVE_MS);
    assert_becomes(rig, hosts_has_address, "client", "10.0.0.1", 1);
    assert_int_equal(resolver_rig_logged(&rig->base, "can be looked up again"), 1);
}

static void
an_old_answer_is_not_used_after_a_pause_only_because_the_source_fails(void **state)
{
    struct rig *rig = *state;

    fake_address(&rig->fake, "client", "10.0.0.1");
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    fake_fail(&rig->fake, -EAGAIN);
    fake_pass_ms(&rig->fake, STALE_MS);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
}

static void
what_was_never_known_stays_open_while_the_source_fails_and_then_is_none(void **state)
{
    struct rig *rig = *state;

    fake_fail(&rig->fake, -EAGAIN);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
    fake_pass_ms(&rig->fake, STALE_MS - 1);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
    fake_pass_ms(&rig->fake, 1);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 0);
    fake_fail(&rig->fake, 0);
    fake_address(&rig->fake, "client", "10.0.0.1");
    fake_pass_ms(&rig->fake, NEGATIVE_MS);
    assert_becomes(rig, hosts_has_address, "client", "10.0.0.1", 1);
}

static void
a_failing_source_is_not_asked_all_the_time(void **state)
{
    struct rig *rig = *state;
    unsigned asked;

    fake_fail(&rig->fake, -EIO);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
    asked = atomic_load(&rig->fake.asked);
    for (int i = 0; i < 100; i++)
        assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
    assert_int_equal(atomic_load(&rig->fake.asked), asked);
    fake_pass_ms(&rig->fake, NEGATIVE_MS);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), -EAGAIN);
    assert_int_equal(atomic_load(&rig->fake.asked), asked + 1);
}

static void
a_confirmation_that_fails_decides_nothing(void **state)
{
    struct rig *rig = *state;

    fake_host(&rig->fake, "client.example.org", "10.0.0.1");
    assert_int_equal(learn(rig, hosts_name_matches, "*.example.org", "10.0.0.1"), 1);
    fake_fail(&rig->fake, -EAGAIN);
    assert_int_equal(learn(rig, hosts_name_matches, "*.example.org", "10.0.0.2"), -EAGAIN);
    assert_int_equal(learn(rig, hosts_in_netgroup, "group", "10.0.0.2"), -EAGAIN);
}

static void
who_waits_is_told_once(void **state)
{
    struct rig *rig = *state;
    struct waiter waiters[2];

    fake_block(&rig->fake, true);
    fake_address(&rig->fake, "client", "10.0.0.1");
    for (int i = 0; i < 2; i++) {
        waiter_init(&waiters[i], &rig->base);
        assert_int_equal(ask_waiting(rig, hosts_has_address, "client", "10.0.0.1", &waiters[i]), -EINPROGRESS);
    }
    assert_false(waiter_answered(&waiters[0], 50));
    fake_block(&rig->fake, false);
    for (int i = 0; i < 2; i++) {
        assert_true(waiter_answered(&waiters[i], WAITER_PATIENCE_MS));
        assert_false(waiter_answered(&waiters[i], 20));
        waiter_fini(&waiters[i]);
    }
    assert_int_equal(ask(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    assert_int_equal(atomic_load(&rig->fake.asked), 1);
}

static void
only_so_many_wait(void **state)
{
    struct rig *rig = *state;
    struct waiter waiters[WAITING + 1];
    char name[32];

    fake_block(&rig->fake, true);
    for (int i = 0; i <= WAITING; i++) {
        snprintf(name, sizeof(name), "host%d", i);
        waiter_init(&waiters[i], &rig->base);
        assert_int_equal(ask_waiting(rig, hosts_has_address, name, "10.0.0.1", &waiters[i]),
                         i < WAITING ? -EINPROGRESS : -EAGAIN);
    }
    fake_block(&rig->fake, false);
    for (int i = 0; i < WAITING; i++)
        assert_true(waiter_answered(&waiters[i], WAITER_PATIENCE_MS));
    assert_int_equal(learn(rig, hosts_has_address, "other", "10.0.0.1"), 0);
    for (int i = 0; i <= WAITING; i++)
        waiter_fini(&waiters[i]);
}

/* One client's calls that wait for its own name, which is slow to come, are no reason to turn others away. */
static void
the_wait_for_one_answer_leaves_room_for_others(void **state)
{
    struct rig *rig = *state;
    struct waiter waiters[WAITING_EACH + 1], other;

    fake_block(&rig->fake, true);
    for (int i = 0; i <= WAITING_EACH; i++) {
        waiter_init(&waiters[i], &rig->base);
        assert_int_equal(ask_waiting(rig, hosts_name_matches, "*", "192.0.2.66", &waiters[i]),
                         i < WAITING_EACH ? -EINPROGRESS : -EAGAIN);
    }
    waiter_init(&other, &rig->base);
    assert_int_equal(ask_waiting(rig, hosts_name_matches, "*", "10.0.0.1", &other), -EINPROGRESS);
    fake_block(&rig->fake, false);
    for (int i = 0; i < WAITING_EACH; i++)
        assert_true(waiter_answered(&waiters[i], WAITER_PATIENCE_MS));
    assert_true(waiter_answered(&other, WAITER_PATIENCE_MS));
    fake_block(&rig->fake, true);
    fake_pass_ms(&rig->fake, TTL_MS);
    for (int i = 0; i < WAITING_EACH; i++)              /* those places are free again */
        assert_int_equal(ask_waiting(rig, hosts_name_matches, "*", "192.0.2.66", &waiters[i]), -EINPROGRESS);
    fake_block(&rig->fake, false);
    for (int i = 0; i < WAITING_EACH; i++)
        assert_true(waiter_answered(&waiters[i], WAITER_PATIENCE_MS));
    for (int i = 0; i <= WAITING_EACH; i++)
        waiter_fini(&waiters[i]);
    waiter_fini(&other);
}

static void
stopping_wakes_everybody_and_lets_nobody_wait(void **state)
{
    struct rig *rig = *state;
    struct waiter waiter;

    waiter_init(&waiter, &rig->base);
    fake_block(&rig->fake, true);
    assert_int_equal(ask_waiting(rig, hosts_has_address, "client", "10.0.0.1", &waiter), -EINPROGRESS);
    fake_wait_blocked(&rig->fake, 1);
    hosts_stop(rig->hosts);
    assert_true(waiter_answered(&waiter, WAITER_PATIENCE_MS));
    assert_int_equal(ask_waiting(rig, hosts_has_address, "client", "10.0.0.1", &waiter), -EAGAIN);
    waiter_fini(&waiter);
    fake_block(&rig->fake, false);
}

/* The last thread frees everything once the source lets it go: looked at by the sanitizers. */
static void
a_source_that_hangs_does_not_hold_up_the_end(void **state)
{
    static struct fake_hosts fake;      /* outlives the threads */
    struct rig *rig = *state;
    const struct hosts_config config = {
        .source = &fake.source, .log = &rig->base.log, .entries = 16, .ttl_ms = TTL_MS, .stale_ms = STALE_MS,
        .waiting = WAITING, .waiting_each = WAITING_EACH
    };
    struct hosts *hosts;

    fake_hosts_init(&fake);
    assert_int_equal(hosts_new(&config, &hosts), 0);
    fake_block(&fake, true);
    hosts_prefetch(hosts, "client");
    hosts_prefetch(hosts, "other");
    fake_wait_blocked(&fake, 2);
    hosts_free(hosts);
    fake_block(&fake, false);
    usleep(50000);
}

static void
the_cache_is_bounded_and_forgets_what_was_used_least_recently(void **state)
{
    struct rig *rig = *state;
    unsigned asked;
    char name[32];

    fake_address(&rig->fake, "often", "10.0.0.1");
    for (int i = 0; i < 3 * ENTRIES; i++) {
        snprintf(name, sizeof(name), "host%d", i);
        assert_int_equal(learn(rig, hosts_has_address, name, "10.0.0.1"), 0);
        assert_int_equal(learn(rig, hosts_has_address, "often", "10.0.0.1"), 1);
    }
    asked = atomic_load(&rig->fake.asked);
    assert_int_equal(asked, 3 * ENTRIES + 1);
    assert_int_equal(ask(rig, hosts_has_address, "host299", "10.0.0.1"), 0);
    assert_int_equal(ask(rig, hosts_has_address, "host0", "10.0.0.1"), -EAGAIN);
}

static void
a_cache_full_of_open_questions_takes_no_more(void **state)
{
    struct rig *rig = *state;
    char name[32];

    fake_block(&rig->fake, true);
    for (int i = 0; i < 2 * ENTRIES; i++) {
        snprintf(name, sizeof(name), "10.1.%d.%d", i / 100, i % 100);
        assert_int_equal(ask(rig, hosts_name_matches, "*", name), -EAGAIN);
    }
    fake_block(&rig->fake, false);
    await_asked(rig, ENTRIES);
    assert_int_equal(learn(rig, hosts_name_matches, "*", "10.1.1.99"), 0);
}

static void
a_slow_answer_holds_up_no_other(void **state)
{
    struct rig *rig = *state;
    struct waiter slow;

    waiter_init(&slow, &rig->base);
    fake_host(&rig->fake, "slow.example.org", "192.0.2.66");
    fake_host(&rig->fake, "quick.example.org", "10.0.0.1");
    fake_member(&rig->fake, "group", "quick");
    fake_except(&rig->fake, "192.0.2.66");
    assert_int_equal(ask_waiting(rig, hosts_name_matches, "*", "192.0.2.66", &slow), -EINPROGRESS);
    fake_wait_blocked(&rig->fake, 1);
    assert_int_equal(learn(rig, hosts_name_matches, "*.example.org", "10.0.0.1"), 1);
    assert_int_equal(learn(rig, hosts_in_netgroup, "group", "10.0.0.1"), 1);
    assert_int_equal(learn(rig, hosts_has_address, "quick.example.org", "10.0.0.1"), 1);
    assert_false(waiter_answered(&slow, 0));
    fake_block(&rig->fake, false);
    assert_true(waiter_answered(&slow, WAITER_PATIENCE_MS));
    assert_int_equal(ask(rig, hosts_name_matches, "slow.*", "192.0.2.66"), 1);
    waiter_fini(&slow);
}

/* Strangers whose names are slow to come: as many as there are threads for them, and more. */
static void
slow_names_of_strangers_do_not_hold_up_those_of_the_exports(void **state)
{
    struct rig *rig = *state;
    char name[32];

    fake_address(&rig->fake, "client", "10.0.0.1");
    fake_block(&rig->fake, true);
    fake_except(&rig->fake, "client");
    for (int i = 0; i < 2 * RESOLVER_THREADS; i++) {
        snprintf(name, sizeof(name), "10.1.0.%d", i);
        ask(rig, hosts_name_matches, "*", name);
    }
    fake_wait_blocked(&rig->fake, RESOLVER_THREADS - 1);
    assert_int_equal(learn(rig, hosts_has_address, "client", "10.0.0.1"), 1);
    fake_block(&rig->fake, false);
    await_asked(rig, 2 * RESOLVER_THREADS + 1);
}

static void
names_of_the_exports_go_before_those_of_strangers(void **state)
{
    struct rig *rig = *state;
    char name[32];

    fake_block(&rig->fake, true);
    for (int i = 0; i < ENTRIES / 2; i++) {
        snprintf(name, sizeof(name), "10.1.0.%d", i);
        ask(rig, hosts_name_matches, "*", name);
    }
    fake_wait_blocked(&rig->fake, RESOLVER_THREADS - 1);
    hosts_prefetch(rig->hosts, "first");                /* has a thread that takes no address of a stranger */
    fake_wait_blocked(&rig->fake, RESOLVER_THREADS);
    assert_string_equal(rig->fake.first[RESOLVER_THREADS - 1], "first");
    hosts_prefetch(rig->hosts, "second");
    fake_except(&rig->fake, "10.1.0.0");
    await_asked(rig, RESOLVER_THREADS + 1);
    assert_string_equal(rig->fake.first[RESOLVER_THREADS], "second");
}

static void
what_is_fetched_ahead_is_there(void **state)
{
    struct rig *rig = *state;

    fake_address(&rig->fake, "client", "10.0.0.1");
    hosts_prefetch(rig->hosts, "client");
    await_asked(rig, 1);
    assert_becomes(rig, hosts_has_address, "client", "10.0.0.1", 1);
    assert_int_equal(atomic_load(&rig->fake.asked), 1);
}

static void
the_machine_knows_localhost(void **state)
{
    struct hosts_addresses addresses = { .count = 0 };
    struct peer_address loopback = address("127.0.0.1");
    bool found = false;

    (void)state;
    if (hosts_libc.addresses(NULL, "localhost", &addresses) != 0)
        skip();
    for (size_t i = 0; i < addresses.count; i++)
        found = found || memcmp(&addresses.list[i], &loopback, sizeof(loopback)) == 0;
    assert_true(found);
    assert_true(hosts_libc.now_ms(NULL) > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_host_is_each_of_its_addresses),
        TEST(a_host_needs_no_name_of_its_address),
        TEST(what_is_not_known_is_never_guessed),
        TEST(patterns_match_the_whole_name),
        TEST(a_name_counts_only_if_it_has_the_address),
        TEST(netgroups_hold_names_short_names_and_addresses),
        TEST(an_answer_lasts_for_its_time_and_is_asked_for_ahead_of_its_end),
        TEST(a_change_counts_from_the_next_answer_on),
        TEST(the_same_addresses_in_another_order_are_no_change),
        TEST(an_expired_answer_is_not_used),
        TEST(that_there_is_none_is_believed_for_a_shorter_time),
        TEST(a_failing_source_leaves_the_last_answer_up_to_the_limit),
        TEST(an_old_answer_is_not_used_after_a_pause_only_because_the_source_fails),
        TEST(what_was_never_known_stays_open_while_the_source_fails_and_then_is_none),
        TEST(a_failing_source_is_not_asked_all_the_time),
        TEST(a_confirmation_that_fails_decides_nothing),
        TEST(who_waits_is_told_once),
        TEST(only_so_many_wait),
        TEST(the_wait_for_one_answer_leaves_room_for_others),
        TEST(stopping_wakes_everybody_and_lets_nobody_wait),
        TEST(a_source_that_hangs_does_not_hold_up_the_end),
        TEST(the_cache_is_bounded_and_forgets_what_was_used_least_recently),
        TEST(a_cache_full_of_open_questions_takes_no_more),
        TEST(a_slow_answer_holds_up_no_other),
        TEST(slow_names_of_strangers_do_not_hold_up_those_of_the_exports),
        TEST(names_of_the_exports_go_before_those_of_strangers),
        TEST(what_is_fetched_ahead_is_there),
        TEST(the_machine_knows_localhost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
