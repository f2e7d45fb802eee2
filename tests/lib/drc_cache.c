/* tests/lib/drc_cache.c - see drc_cache.h. */
#include "tests/lib/drc_cache.h"

#include <string.h>

#include "storage/fh.h"

_Atomic uint64_t cache_clock_ms;

static uint64_t
now_ms(void)
{
    return cache_clock_ms;
}

struct drc *
cache_new_hashed(size_t entries, uint64_t (*hash)(const uint8_t key[16], const void *data, size_t len))
{
    const struct drc_config config = { .entries = entries, .hash = hash, .now_ms = now_ms };
    struct drc *drc;

    cache_clock_ms = 1000;
    assert_int_equal(drc_new(&config, &drc), 0);
    return drc;
}

struct drc *
cache_new(size_t entries)
{
    return cache_new_hashed(entries, siphash);
}

struct sockaddr_in *
request_address4(struct request *request)
{
    return (struct sockaddr_in *)&request->call.peer;
}

struct sockaddr_in6 *
request_address6(struct request *request)
{
    return (struct sockaddr_in6 *)&request->call.peer;
}

void
request_fill(struct request *request)
{
    memset(request, 0, sizeof(*request));
    request->call.xid = 7;
    request->call.prog = 100003;
    request->call.vers = 3;
    request->call.proc = 8;
    request->call.stream = true;
    request->call.source = (struct call_source *)request;
    request->call.auth = (struct call_auth){ .flavor = CALL_AUTH_SYS, .uid = 1000, .gid = 100 };
    *request_address4(request) = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(700), .sin_addr.s_addr = htonl(0x0a000001),
    };
    request->len = REQUEST_USUAL;
    for (size_t i = 0; i < sizeof(request->args); i++)
        request->args[i] = (uint8_t)i;
}

void
request_identify(const struct drc *drc, const struct request *request, struct drc_call *call)
{
    drc_identify(drc, &request->call, (struct wire_in){ request->args, request->args + request->len, false }, call);
    call->ready = NULL;
}

enum drc_verdict
request_ask(struct drc *drc, const struct request *request)
{
    struct drc_call call;
    struct drc_reply reply;
    enum drc_verdict verdict;

    request_identify(drc, request, &call);
    verdict = drc_begin(drc, &call, &reply);
    if (verdict == DRC_NEW && call.entry != NULL)
        drc_keep(drc, &call, (const uint8_t *)"r", 1);
    return verdict;
}

enum drc_verdict
cache_ask(struct drc *drc, uint32_t xid, size_t len)
{
    static struct request request;

    request_fill(&request);
    request.call.xid = xid;
    request.len = len;
    return request_ask(drc, &request);
}

void
cache_begin(struct drc *drc, uint32_t xid, struct drc_call *call)
{
    struct request request;
    struct drc_reply reply;

    request_fill(&request);
    request.call.xid = xid;
    request_identify(drc, &request, call);
    assert_int_equal(drc_begin(drc, call, &reply), DRC_NEW);
}

struct drc_stats
cache_stats(const struct drc *drc)
{
    struct drc_stats stats;

    drc_read_stats(drc, &stats);
    return stats;
}

int
cache_set_up(void **state)
{
    *state = cache_new(64);
    return 0;
}

int
cache_tear_down(void **state)
{
    drc_free(*state);
    return 0;
}
