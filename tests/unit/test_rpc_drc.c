/*
 * tests/unit/test_rpc_drc.c - the duplicate request cache: what makes two calls the same, and what becomes of the
 * second one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/call.h"
#include "rpc/drc.h"
#include "storage/fh.h"

#define THREADS 4
#define ROUNDS 20000
#define LONG_ARGS 4096                  /* such calls carry data */

static _Atomic uint64_t clock_ms;

static uint64_t
now_ms(void)
{
    return clock_ms;
}

/* The worst there is: everything meets in one bucket with one digest. */
static uint64_t
no_hash(const uint8_t key[16], const void *data, size_t len)
{
    (void)key;
    (void)data;
    (void)len;
    return 0;
}

static struct drc *
cache_hashed(size_t entries, uint64_t (*hash)(const uint8_t key[16], const void *data, size_t len))
{
    const struct drc_config config = { .entries = entries, .hash = hash, .now_ms = now_ms };
    struct drc *drc;

    clock_ms = 1000;
    assert_int_equal(drc_new(&config, &drc), 0);
    return drc;
}

static struct drc *
cache(size_t entries)
{
    return cache_hashed(entries, siphash);
}

/* A call as the transport hands it over, with its arguments. */
struct request {
    struct call call;
    uint8_t args[LONG_ARGS];
    size_t len;
};

static struct sockaddr_in *
address4(struct request *request)
{
    return (struct sockaddr_in *)&request->call.peer;
}

static struct sockaddr_in6 *
address6(struct request *request)
{
    return (struct sockaddr_in6 *)&request->call.peer;
}

static void
fill(struct request *request)
{
    memset(request, 0, sizeof(*request));
    request->call.xid = 7;
    request->call.prog = 100003;
    request->call.vers = 3;
    request->call.proc = 8;
    request->call.stream = true;
    request->call.source = (struct call_source *)request;
    request->call.auth = (struct call_auth){ .flavor = CALL_AUTH_SYS, .uid = 1000, .gid = 100 };
    *address4(request) = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(700), .sin_addr.s_addr = htonl(0x0a000001),
    };
    request->len = 100;
    for (size_t i = 0; i < sizeof(request->args); i++)
        request->args[i] = (uint8_t)i;
}

static void
identify(const struct drc *drc, const struct request *request, struct drc_call *call)
{
    drc_identify(drc, &request->call, (struct wire_in){ request->args, request->args + request->len, false }, call);
    call->ready = NULL;
}

/* What becomes of a request; one that is new is ended with one byte of results. */
static enum drc_verdict
ask(struct drc *drc, const struct request *request)
{
    struct drc_call call;
    struct drc_reply reply;
    enum drc_verdict verdict;

    identify(drc, request, &call);
    verdict = drc_begin(drc, &call, &reply);
    if (verdict == DRC_NEW && call.entry != NULL)
        drc_keep(drc, &call, (const uint8_t *)"r", 1);
    return verdict;
}

static enum drc_verdict
ask_xid(struct drc *drc, uint32_t xid, size_t len)
{
    static struct request request;

    fill(&request);
    request.call.xid = xid;
    request.len = len;
    return ask(drc, &request);
}

/* Requests begun and not ended. */
static void
begin_xid(struct drc *drc, uint32_t xid, struct drc_call *call)
{
    struct request request;
    struct drc_reply reply;

    fill(&request);
    request.call.xid = xid;
    identify(drc, &request, call);
    assert_int_equal(drc_begin(drc, call, &reply), DRC_NEW);
}

static struct drc_stats
stats_of(const struct drc *drc)
{
    struct drc_stats stats;

    drc_read_stats(drc, &stats);
    return stats;
}

static void
the_same_call_gets_the_same_results(void **state)
{
    struct drc *drc = cache(64);
    struct request request;
    struct drc_call first, second;
    struct drc_reply reply;
    uint8_t results[DRC_REPLY_MAX];
    size_t lens[] = { 0, 1, 136, DRC_REPLY_MAX };

    (void)state;
    fill(&request);
    for (size_t i = 0; i < sizeof(results); i++)
        results[i] = (uint8_t)(i * 3 + 1);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        request.call.xid++;
        identify(drc, &request, &first);
        identify(drc, &request, &second);
        assert_int_equal(drc_begin(drc, &first, &reply), DRC_NEW);
        drc_keep(drc, &first, results, lens[i]);
        for (int times = 0; times < 3; times++) {
            assert_int_equal(drc_begin(drc, &second, &reply), DRC_DONE);
            assert_int_equal(reply.len, lens[i]);
            assert_memory_equal(reply.results, results, lens[i]);
            assert_null(second.entry);
        }
    }
    assert_int_equal(stats_of(drc).hits, 12);
    assert_int_equal(stats_of(drc).misses, 4);
    drc_free(drc);
}

/* Each change makes another call of it. */
static void change_nothing(struct request *r) { (void)r; }
static void change_xid(struct request *r) { r->call.xid++; }
static void change_prog(struct request *r) { r->call.prog++; }
static void change_vers(struct request *r) { r->call.vers++; }
static void change_proc(struct request *r) { r->call.proc++; }
static void change_port(struct request *r) { address4(r)->sin_port ^= htons(1); }
static void change_address(struct request *r) { address4(r)->sin_addr.s_addr ^= htonl(1); }
static void change_protocol(struct request *r) { r->call.stream = false; }
static void change_uid(struct request *r) { r->call.auth.uid++; }
static void change_gid(struct request *r) { r->call.auth.gid++; }
static void change_flavor(struct request *r) { r->call.auth.flavor = CALL_AUTH_NONE; }
static void change_first_byte(struct request *r) { r->args[0] ^= 1; }
static void change_last_byte(struct request *r) { r->args[r->len - 1] ^= 1; }
static void shorten(struct request *r) { r->len -= 4; }
static void lengthen(struct request *r) { r->len += 4; }

static void
change_family(struct request *r)
{
    struct sockaddr_in old = *address4(r);

    memset(&r->call.peer, 0, sizeof(r->call.peer));
    *address6(r) = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = old.sin_port };
    memcpy(&address6(r)->sin6_addr, &old.sin_addr, sizeof(old.sin_addr));
}

static void (*const changes[])(struct request *r) = {
    change_nothing, change_xid, change_prog, change_vers, change_proc, change_port, change_address, change_protocol,
    change_uid, change_gid, change_flavor, change_family, shorten, lengthen, change_first_byte, change_last_byte,
};
#define CHANGES (sizeof(changes) / sizeof(changes[0]))
#define DIGESTED 2                      /* the last ones change what only the digest tells apart */

static void
assert_told_apart(struct drc *drc, size_t count)
{
    struct request request;

    for (size_t i = 0; i < count; i++) {
        fill(&request);
        changes[i](&request);
        assert_int_equal(ask(drc, &request), DRC_NEW);
    }
    for (size_t i = 0; i < count; i++) {
        fill(&request);
        changes[i](&request);
        assert_int_equal(ask(drc, &request), DRC_DONE);
    }
    drc_free(drc);
}

static void
every_part_of_the_key_makes_another_call(void **state)
{
    (void)state;
    assert_told_apart(cache(64), CHANGES);
    assert_told_apart(cache(4096), CHANGES);
}

static void
calls_that_collide_are_told_apart(void **state)
{
    (void)state;
    assert_told_apart(cache_hashed(64, no_hash), CHANGES - DIGESTED);
}

static void
all_of_an_ipv6_address_counts(void **state)
{
    struct drc *drc = cache(64);
    struct request request;

    (void)state;
    fill(&request);
    memset(&request.call.peer, 0, sizeof(request.call.peer));
    *address6(&request) = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(700), .sin6_scope_id = 2 };
    assert_int_equal(ask(drc, &request), DRC_NEW);
    address6(&request)->sin6_flowinfo = 99;              /* no part of who it is */
    assert_int_equal(ask(drc, &request), DRC_DONE);
    address6(&request)->sin6_addr.s6_addr[15] = 1;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    address6(&request)->sin6_scope_id = 3;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    address6(&request)->sin6_port = htons(701);
    assert_int_equal(ask(drc, &request), DRC_NEW);
    assert_int_equal(ask(drc, &request), DRC_DONE);
    drc_free(drc);
}

static void
without_credentials_nobodys_numbers_count(void **state)
{
    struct drc *drc = cache(64);
    struct request request;

    (void)state;
    fill(&request);
    request.call.auth.flavor = CALL_AUTH_NONE;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    request.call.auth.uid = 5;
    request.call.auth.gid = 6;
    assert_int_equal(ask(drc, &request), DRC_DONE);
    drc_free(drc);
}

/* The ids of users that nobody knows here are all the same, and a user's context may be a new one. */
static void
with_kerberos_the_name_counts(void **state)
{
    struct drc *drc = cache(64);
    struct request request;

    (void)state;
    fill(&request);
    request.call.auth = (struct call_auth){ .flavor = CALL_AUTH_KRB5, .uid = UINT32_MAX, .gid = UINT32_MAX,
                                            .principal = UINT64_C(0x1122334455667788) };
    assert_int_equal(ask(drc, &request), DRC_NEW);
    assert_int_equal(ask(drc, &request), DRC_DONE);
    request.call.auth.principal ^= 1;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    request.call.auth.principal ^= UINT64_C(1) << 63;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    request.call.auth.flavor = CALL_AUTH_KRB5I;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    drc_free(drc);
}

static void
long_arguments_are_told_apart_by_beginning_and_length(void **state)
{
    struct drc *drc = cache(64);
    struct request request;

    (void)state;
    fill(&request);
    request.len = LONG_ARGS;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    request.args[255] ^= 1;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    request.len -= 4;
    assert_int_equal(ask(drc, &request), DRC_NEW);
    assert_int_equal(ask(drc, &request), DRC_DONE);
    drc_free(drc);
}

static void
a_call_that_runs_is_not_done_again(void **state)
{
    struct drc *drc = cache(64);
    struct drc_call first, second;
    struct drc_reply reply;

    (void)state;
    begin_xid(drc, 1, &first);
    second = first;
    for (int times = 0; times < 4; times++)
        assert_int_equal(drc_begin(drc, &second, &reply), DRC_RUNNING);
    assert_int_equal(stats_of(drc).dropped, 4);
    drc_keep(drc, &first, (const uint8_t *)"r", 1);
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_DONE);
    drc_free(drc);
}

static void
a_call_that_was_forgotten_is_new(void **state)
{
    struct drc *drc = cache(64);
    struct drc_call call;

    (void)state;
    for (int times = 0; times < 200; times++) {          /* more often than there are entries */
        begin_xid(drc, 1, &call);
        drc_forget(drc, &call);
        assert_null(call.entry);
    }
    assert_int_equal(ask_xid(drc, 1, 100), DRC_NEW);
    assert_int_equal(ask_xid(drc, 1, 100), DRC_DONE);
    drc_free(drc);
}

static void
results_that_are_too_long_are_not_kept(void **state)
{
    static const uint8_t results[DRC_REPLY_MAX + 1];
    struct drc *drc = cache(64);
    struct drc_call call;

    (void)state;
    begin_xid(drc, 1, &call);
    drc_keep(drc, &call, results, sizeof(results));
    begin_xid(drc, 1, &call);
    drc_keep(drc, &call, results, sizeof(results) - 1);
    assert_int_equal(ask_xid(drc, 1, 100), DRC_DONE);
    drc_free(drc);
}

/* Calls from another connection, and how often they were woken. */
struct waiter {
    struct drc_call call;               /* first */
    int woken;
};

static void
count_waking(struct drc_call *call)
{
    ((struct waiter *)call)->woken++;
}

static void
wait_for_first(struct drc *drc, struct waiter *waiters, size_t count)
{
    struct request request;
    struct drc_reply reply;

    for (size_t i = 0; i < count; i++) {
        fill(&request);
        request.call.xid = 1;
        identify(drc, &request, &waiters[i].call);
        waiters[i].woken = 0;
        waiters[i].call.origin = &waiters[i];
        waiters[i].call.ready = count_waking;
        assert_int_equal(drc_begin(drc, &waiters[i].call, &reply), DRC_WAIT);
        assert_int_equal(waiters[i].woken, 0);
    }
    assert_int_equal(stats_of(drc).waited, count);
}

static void
from_another_connection_a_call_waits_for_the_one_that_runs(void **state)
{
    struct drc *drc = cache(64);
    struct waiter waiters[3];
    struct drc_call first;
    struct drc_reply reply;

    (void)state;
    begin_xid(drc, 1, &first);
    wait_for_first(drc, waiters, 3);
    drc_keep(drc, &first, (const uint8_t *)"done", 4);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(waiters[i].woken, 1);
        assert_int_equal(drc_begin(drc, &waiters[i].call, &reply), DRC_DONE);
        assert_int_equal(reply.len, 4);
    }
    drc_free(drc);
}

static void
one_of_those_that_wait_for_a_call_that_is_forgotten_is_new(void **state)
{
    struct drc *drc = cache(64);
    struct waiter waiters[3];
    struct drc_call first;
    struct drc_reply reply;

    (void)state;
    begin_xid(drc, 1, &first);
    wait_for_first(drc, waiters, 3);
    drc_forget(drc, &first);
    assert_int_equal(drc_begin(drc, &waiters[1].call, &reply), DRC_NEW);
    assert_int_equal(drc_begin(drc, &waiters[0].call, &reply), DRC_WAIT);
    assert_int_equal(drc_begin(drc, &waiters[2].call, &reply), DRC_WAIT);
    drc_keep(drc, &waiters[1].call, (const uint8_t *)"r", 1);
    assert_int_equal(waiters[0].woken, 2);
    assert_int_equal(waiters[1].woken, 1);
    assert_int_equal(waiters[2].woken, 2);
    drc_free(drc);
}

static void
a_call_from_the_same_connection_is_dropped_though_it_could_wait(void **state)
{
    struct drc *drc = cache(64);
    struct drc_call first, second;
    struct drc_reply reply;

    (void)state;
    begin_xid(drc, 1, &first);
    second = first;
    second.ready = count_waking;
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_RUNNING);
    drc_forget(drc, &first);
    drc_free(drc);
}

static void
replies_are_good_for_two_minutes_after_they_were_last_sent(void **state)
{
    struct drc *drc = cache(64);

    (void)state;
    assert_int_equal(ask_xid(drc, 1, 100), DRC_NEW);
    clock_ms += DRC_KEEP_MS - 1;
    assert_int_equal(ask_xid(drc, 1, 100), DRC_DONE);
    clock_ms += DRC_KEEP_MS - 1;
    assert_int_equal(ask_xid(drc, 1, 100), DRC_DONE);
    clock_ms += DRC_KEEP_MS;
    assert_int_equal(ask_xid(drc, 1, 100), DRC_NEW);
    assert_int_equal(ask_xid(drc, 1, 100), DRC_DONE);
    assert_int_equal(stats_of(drc).evicted, 0);
    drc_free(drc);
}

static void
a_call_that_runs_does_not_expire(void **state)
{
    struct drc *drc = cache(64);
    struct drc_call first, second;
    struct drc_reply reply;

    (void)state;
    begin_xid(drc, 1, &first);
    second = first;
    clock_ms += 10 * DRC_KEEP_MS;
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_RUNNING);
    drc_keep(drc, &first, (const uint8_t *)"r", 1);
    assert_int_equal(drc_begin(drc, &second, &reply), DRC_DONE);
    drc_free(drc);
}

static void
the_oldest_reply_makes_room(void **state)
{
    struct drc *drc = cache(8);
    uint32_t xid;

    (void)state;
    for (xid = 1; xid <= 8; xid++)
        assert_int_equal(ask_xid(drc, xid, 100), DRC_NEW);
    assert_int_equal(ask_xid(drc, 1, 100), DRC_DONE);    /* so that 2 is the oldest */
    assert_int_equal(stats_of(drc).evicted, 0);
    assert_int_equal(ask_xid(drc, 9, 100), DRC_NEW);
    assert_int_equal(stats_of(drc).evicted, 1);
    assert_int_equal(ask_xid(drc, 1, 100), DRC_DONE);
    for (xid = 3; xid <= 9; xid++)
        assert_int_equal(ask_xid(drc, xid, 100), DRC_DONE);
    assert_int_equal(ask_xid(drc, 2, 100), DRC_NEW);
    drc_free(drc);
}

static void
one_that_has_expired_makes_room_without_being_missed(void **state)
{
    struct drc *drc = cache(2);

    (void)state;
    ask_xid(drc, 1, 100);
    ask_xid(drc, 2, 100);
    clock_ms += DRC_KEEP_MS;
    ask_xid(drc, 3, 100);
    ask_xid(drc, 4, 100);
    assert_int_equal(stats_of(drc).evicted, 0);
    assert_int_equal(ask_xid(drc, 3, 100), DRC_DONE);
    assert_int_equal(ask_xid(drc, 4, 100), DRC_DONE);
    drc_free(drc);
}

/* How many of the calls from this xid on are still known; asking makes no room for those that are not. */
static unsigned
known(struct drc *drc, uint32_t first, uint32_t count, size_t len)
{
    unsigned found = 0;

    for (uint32_t xid = first + count; xid-- > first;) {
        struct request request;
        struct drc_call call;
        struct drc_reply reply;

        fill(&request);
        request.call.xid = xid;
        request.len = len;
        identify(drc, &request, &call);
        if (drc_begin(drc, &call, &reply) == DRC_DONE)
            found++;
        else
            drc_forget(drc, &call);
    }
    return found;
}

static void
calls_with_data_leave_half_to_others_and_the_other_way_round(void **state)
{
    static const size_t lens[] = { 100, LONG_ARGS };
    struct drc *drc;
    uint32_t xid;

    (void)state;
    for (int i = 0; i < 2; i++) {
        drc = cache(16);
        for (xid = 0; xid < 16; xid++)                   /* alone each kind may have it all */
            ask_xid(drc, xid, lens[i]);
        assert_int_equal(stats_of(drc).evicted, 0);
        for (xid = 100; xid < 200; xid++)
            ask_xid(drc, xid, lens[1 - i]);
        assert_int_equal(stats_of(drc).evicted, 100);
        assert_int_equal(known(drc, 8, 8, lens[i]), 8);
        assert_int_equal(known(drc, 192, 8, lens[1 - i]), 8);
        drc_free(drc);
    }
}

static void
replies_of_the_other_kind_that_have_expired_make_room_first(void **state)
{
    struct drc *drc = cache(16);
    uint32_t xid;

    (void)state;
    for (xid = 0; xid < 8; xid++)
        ask_xid(drc, xid, LONG_ARGS);
    clock_ms += DRC_KEEP_MS;
    for (xid = 100; xid < 116; xid++)
        ask_xid(drc, xid, 100);
    assert_int_equal(stats_of(drc).evicted, 0);
    assert_int_equal(known(drc, 100, 16, 100), 16);
    drc_free(drc);
}

static void
calls_that_run_are_never_pushed_out(void **state)
{
    struct drc *drc = cache(4);
    struct drc_call running[4], beyond, again;
    struct drc_reply reply;

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        begin_xid(drc, i, &running[i]);
    begin_xid(drc, 9, &beyond);
    assert_null(beyond.entry);
    assert_int_equal(stats_of(drc).unkept, 1);
    for (int i = 0; i < 4; i++) {
        again = running[i];
        assert_int_equal(drc_begin(drc, &again, &reply), DRC_RUNNING);
        drc_keep(drc, &running[i], (const uint8_t *)"r", 1);
    }
    assert_int_equal(ask_xid(drc, 9, 100), DRC_NEW);
    assert_int_equal(ask_xid(drc, 9, 100), DRC_DONE);
    drc_free(drc);
}

static void
any_number_of_entries_holds_that_many_replies(void **state)
{
    static const size_t sizes[] = { 1, 2, 3, 511, 512, 513, 4096, 5000 };
    struct drc *drc;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t calls = (uint32_t)sizes[i] * 3;

        drc = cache(sizes[i]);
        for (uint32_t xid = 0; xid < calls; xid++)
            assert_int_equal(ask_xid(drc, xid, 100), DRC_NEW);
        assert_int_equal(stats_of(drc).evicted, calls - sizes[i]);
        assert_int_equal(ask_xid(drc, calls - 1, 100), DRC_DONE);
        drc_free(drc);
    }
}

/* Threads that send each call twice, at about the same time as others do. */
struct crowd {
    struct drc *drc;
    atomic_uint done[ROUNDS];
    pthread_barrier_t begin;
};

static void *
send_all(void *arg)
{
    struct crowd *crowd = arg;
    struct request request;
    struct drc_call call;
    struct drc_reply reply;

    fill(&request);
    pthread_barrier_wait(&crowd->begin);
    for (uint32_t xid = 0; xid < ROUNDS; xid++) {
        request.call.xid = xid;
        identify(crowd->drc, &request, &call);
        switch (drc_begin(crowd->drc, &call, &reply)) {
        case DRC_NEW:
            atomic_fetch_add(&crowd->done[xid], 1);
            drc_keep(crowd->drc, &call, (const uint8_t *)&xid, sizeof(xid));
            break;
        case DRC_DONE:
            if (reply.len != sizeof(xid) || memcmp(reply.results, &xid, sizeof(xid)) != 0)
                atomic_fetch_add(&crowd->done[xid], 1000);
            break;
        default:
            break;
        }
    }
    return NULL;
}

static void
many_threads_do_each_call_once(void **state)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    pthread_t threads[THREADS];
    struct drc_stats stats;

    (void)state;
    assert_non_null(crowd);
    crowd->drc = cache(2 * ROUNDS);                      /* room for all, however they spread over the parts */
    pthread_barrier_init(&crowd->begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_all, crowd), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(crowd->done[i], 1);
    stats = stats_of(crowd->drc);
    assert_int_equal(stats.misses, ROUNDS);
    assert_int_equal(stats.hits + stats.dropped, (THREADS - 1) * ROUNDS);
    pthread_barrier_destroy(&crowd->begin);
    drc_free(crowd->drc);
    free(crowd);
}

/* Threads that wait for each other: one runs the call, the others are woken by it. */
struct sleeper {
    struct drc_call call;               /* first */
    atomic_bool woken;
};

static void
wake_sleeper(struct drc_call *call)
{
    atomic_store(&((struct sleeper *)call)->woken, true);
}

static void *
send_and_wait(void *arg)
{
    struct crowd *crowd = arg;
    struct request request;
    struct sleeper sleeper;
    struct drc_reply reply;
    enum drc_verdict verdict;

    fill(&request);
    pthread_barrier_wait(&crowd->begin);
    for (uint32_t xid = 0; xid < ROUNDS; xid++) {
        request.call.xid = xid;
        identify(crowd->drc, &request, &sleeper.call);
        sleeper.call.origin = &sleeper;
        sleeper.call.ready = wake_sleeper;
        do {
            atomic_store(&sleeper.woken, false);
            verdict = drc_begin(crowd->drc, &sleeper.call, &reply);
            while (verdict == DRC_WAIT && !atomic_load(&sleeper.woken))
                sched_yield();
        } while (verdict == DRC_WAIT);
        if (verdict == DRC_NEW) {
            atomic_fetch_add(&crowd->done[xid], 1);
            sched_yield();
            drc_keep(crowd->drc, &sleeper.call, (const uint8_t *)&xid, sizeof(xid));
        }
    }
    return NULL;
}

static void
threads_that_wait_are_all_woken(void **state)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    pthread_t threads[THREADS];

    (void)state;
    assert_non_null(crowd);
    crowd->drc = cache(2 * ROUNDS);
    pthread_barrier_init(&crowd->begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_and_wait, crowd), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(crowd->done[i], 1);
    assert_int_equal(stats_of(crowd->drc).hits, (THREADS - 1) * ROUNDS);
    pthread_barrier_destroy(&crowd->begin);
    drc_free(crowd->drc);
    free(crowd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_call_gets_the_same_results),
        cmocka_unit_test(every_part_of_the_key_makes_another_call),
        cmocka_unit_test(calls_that_collide_are_told_apart),
        cmocka_unit_test(all_of_an_ipv6_address_counts),
        cmocka_unit_test(without_credentials_nobodys_numbers_count),
        cmocka_unit_test(with_kerberos_the_name_counts),
        cmocka_unit_test(long_arguments_are_told_apart_by_beginning_and_length),
        cmocka_unit_test(a_call_that_runs_is_not_done_again),
        cmocka_unit_test(a_call_that_was_forgotten_is_new),
        cmocka_unit_test(results_that_are_too_long_are_not_kept),
        cmocka_unit_test(from_another_connection_a_call_waits_for_the_one_that_runs),
        cmocka_unit_test(one_of_those_that_wait_for_a_call_that_is_forgotten_is_new),
        cmocka_unit_test(a_call_from_the_same_connection_is_dropped_though_it_could_wait),
        cmocka_unit_test(replies_are_good_for_two_minutes_after_they_were_last_sent),
        cmocka_unit_test(a_call_that_runs_does_not_expire),
        cmocka_unit_test(the_oldest_reply_makes_room),
        cmocka_unit_test(one_that_has_expired_makes_room_without_being_missed),
        cmocka_unit_test(calls_with_data_leave_half_to_others_and_the_other_way_round),
        cmocka_unit_test(replies_of_the_other_kind_that_have_expired_make_room_first),
        cmocka_unit_test(calls_that_run_are_never_pushed_out),
        cmocka_unit_test(any_number_of_entries_holds_that_many_replies),
        cmocka_unit_test(many_threads_do_each_call_once),
        cmocka_unit_test(threads_that_wait_are_all_woken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
