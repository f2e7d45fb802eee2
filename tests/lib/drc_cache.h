/* tests/lib/drc_cache.h - a duplicate request cache with a clock of its own, and requests to ask it about. */
#ifndef RINGNFS_TESTS_DRC_CACHE_H
#define RINGNFS_TESTS_DRC_CACHE_H

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rpc/call.h"
#include "rpc/drc.h"

#define REQUEST_LONG 4096               /* bytes of arguments: such calls carry data */
#define REQUEST_USUAL 100

/* What the time is; every new cache sets it back. */
extern _Atomic uint64_t cache_clock_ms;

struct drc *cache_new(size_t entries);
struct drc *cache_new_hashed(size_t entries, uint64_t (*hash)(const uint8_t key[16], const void *data, size_t len));

/* A test whose state is a cache of 64 entries. */
#define CACHE_TEST(test) cmocka_unit_test_setup_teardown(test, cache_set_up, cache_tear_down)

int cache_set_up(void **state);
int cache_tear_down(void **state);

/* A call as the transport hands it over, with its arguments. */
struct request {
    struct call call;
    uint8_t args[REQUEST_LONG];
    size_t len;
};

/* Always the same one, with xid 7, of REQUEST_USUAL bytes, over TCP from an IPv4 address. */
void request_fill(struct request *request);

struct sockaddr_in *request_address4(struct request *request);
struct sockaddr_in6 *request_address6(struct request *request);

void request_identify(const struct drc *drc, const struct request *request, struct drc_call *call);

/* What becomes of a request; one that is new is ended with one byte of results. */
enum drc_verdict request_ask(struct drc *drc, const struct request *request);

/* The same for one with this xid and so many bytes of arguments. */
enum drc_verdict cache_ask(struct drc *drc, uint32_t xid, size_t len);

/* Begin a request of this xid, which must be new; it has not ended. */
void cache_begin(struct drc *drc, uint32_t xid, struct drc_call *call);

struct drc_stats cache_stats(const struct drc *drc);

#endif
