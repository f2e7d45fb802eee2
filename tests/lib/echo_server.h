/*
 * tests/lib/echo_server.h - a small program behind a transport on a thread of its own, and the sockets to ask it.
 *
 * What is not atomic in struct echo_server belongs to its thread once that runs. All that fails here fails the test.
 */
#ifndef RINGNFS_TESTS_ECHO_SERVER_H
#define RINGNFS_TESTS_ECHO_SERVER_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/call.h"
#include "rpc/listen.h"
#include "rpc/transport.h"
#include "xdr/wire.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ECHO_CALLS_MAX 64               /* of one connection */
#define ECHO_CONNECTIONS_MAX 100
#define ECHO_REPLY_BYTES_MAX ((uint64_t)4 << 20)
#define ECHO_BUDGET ((uint64_t)64 << 20)
#define ECHO_SMALL_BUDGET ((uint64_t)12 << 20)
#define ECHO_YIELD_US 5                 /* that PROC_YIELD computes each time */
#define ECHO_LARGE_REPLY ((size_t)1 << 20)
#define ECHO_TIMEOUT_MS 10000           /* of every socket */

enum {
    PROC_NULL, PROC_ECHO,               /* opaque: the same back */
    PROC_HOLD,                          /* u32: the same back, but not before ... */
    PROC_RELEASE,                       /* ... this one, and then the newest first */
    PROC_LARGE_HOLD,                    /* as PROC_HOLD, and says that its reply will be large */
    PROC_LEND,                          /* u32 n: an opaque of n bytes, lent */
    PROC_PIPE,                          /* u32 n: the same out of a pipe */
    PROC_OVERFLOW,                      /* stores more than it asked room for */
    PROC_DROP,
    PROC_ALLOC,                         /* u32 n: n times 100 bytes of the call's memory */
    PROC_BURN,                          /* u32 us: computes for so long */
    PROC_YIELD,                         /* u32 n: computes and lets others go first, n times, then 0 */
};

struct held_call;

struct echo_server {
    struct transport_shared shared;
    struct listen_set sockets;
    pthread_t thread;
    struct transport *transport;
    struct listener *listeners[2];      /* IPv4 and IPv6 */
    size_t nlisteners;
    struct held_call *held;
    struct buf *pattern;                /* what is lent */
    atomic_uint held_count;
    atomic_uint released_count;         /* of all calls that were held */
    atomic_uint burnt_count;            /* of PROC_BURN */
    atomic_bool drained;                /* a test's */
    pthread_barrier_t started;
};

/* A test whose state is a server, with much or with little memory. */
#define ECHO_TEST(test) cmocka_unit_test_setup_teardown(test, echo_start, echo_stop)
#define ECHO_TEST_SMALL(test) cmocka_unit_test_setup_teardown(test, echo_start_small, echo_stop)

int echo_start(void **state);
int echo_start_small(void **state);
int echo_stop(void **state);

/* Have all calls that are held answered, soon. */
void echo_release(struct echo_server *server);

/* The byte at this place of what is lent. */
uint8_t echo_pattern(size_t i);

/* A socket, SOCK_STREAM or SOCK_DGRAM, connected to an IPv4 address of the server. */
int echo_connect(const struct echo_server *server, int type, const char *host);

/* Store a call, 64 bytes and its arguments at most; the mark is left out for UDP. Returns its length. */
size_t echo_put(uint8_t *p, bool mark, uint32_t xid, uint32_t proc, const void *args, size_t len);
size_t echo_put_u32(uint8_t *p, bool mark, uint32_t xid, uint32_t proc, uint32_t value);

void echo_send(int fd, const void *data, size_t len);

/* One reply over TCP without its mark; returns its length. */
size_t echo_receive(int fd, uint8_t *reply, size_t size);

uint32_t echo_u32_at(const uint8_t *p);

void echo_expect_success(const uint8_t *reply, size_t len, uint32_t xid);

/* A call of PROC_NULL over TCP is answered. */
void echo_expect_works(int fd, uint32_t xid);

/* The server has closed the connection. */
void echo_expect_closed(int fd);

void echo_sleep_ms(unsigned ms);
uint64_t echo_now_ms(void);

#endif
