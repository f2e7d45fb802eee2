/*
 * server/hosts.h - what host names, wildcards and netgroups of the exports mean, without a wait for a name server.
 *
 * A resolver (resolver.h) asks the source, remembers the answers and lets calls wait. "There is no such name" is an
 * answer, kept for a shorter time.
 *
 * A failing source is no answer: the last good one is kept until stale_ms after it came, and no longer, since an
 * address that has changed hands would be a hole. A question that has never been answered stays open for as long; the
 * caller is told to come again meanwhile. After that the name matches nobody, until the source answers. Failing is
 * logged once.
 *
 * As with mountd, a host name is compared by its addresses, and a caller's name (for wildcards and netgroups) counts
 * only if its addresses in turn have the caller's among them.
 */
#ifndef RINGNFS_SERVER_HOSTS_H
#define RINGNFS_SERVER_HOSTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/log.h"
#include "server/peer.h"
#include "server/resolver.h"

#define HOSTS_ADDRESSES_MAX 64          /* of one name; more are not looked at */
#define HOSTS_NAMES_MAX 16              /* of one address, aliases among them */
#define HOSTS_NAME_BYTES 256            /* of a name, with the NUL */

struct hosts;
struct sandbox;

struct hosts_addresses {
    struct peer_address list[HOSTS_ADDRESSES_MAX];
    size_t count;
};

struct hosts_names {
    char list[HOSTS_NAMES_MAX][HOSTS_NAME_BYTES];
    size_t count;
};

/*
 * Where answers come from. The functions may block; they are called by several threads at once. Each returns 0 with an
 * answer, "none" being one, or -errno when it could not be found out for now. Out parameters are empty before.
 */
struct hosts_source {
    void *context;
    int (*addresses)(void *context, const char *name, struct hosts_addresses *addresses);
    int (*name)(void *context, const struct peer_address *address, struct hosts_names *names);      /* one, or none */
    int (*aliases)(void *context, const char *name, struct hosts_names *names);                     /* further ones */
    int (*in_netgroup)(void *context, const char *netgroup, const char *host, bool *member);
    uint64_t (*now_ms)(void *context);  /* never blocks; any thread */
};

/* getaddrinfo(3), getnameinfo(3), gethostbyname2_r(3), innetgr(3) and the monotonic clock. */
extern const struct hosts_source hosts_libc;

struct hosts_config {
    const struct sandbox *sandbox;      /* of the threads that look up; NULL: none */
    const struct hosts_source *source;  /* outlives the hosts and any function of its own that still blocks */
    const struct log *log;
    uint32_t entries;                   /* answers that are kept */
    uint64_t ttl_ms;
    uint64_t stale_ms;                  /* at least ttl_ms is used */
    uint32_t waiting;                   /* calls that may wait at once, */
    uint32_t waiting_each;              /* and for one answer */
};

/* Who asks; used for all questions that one decision needs. */
struct hosts_query {
    const struct peer_address *peer;
    struct resolver_wait *wait;         /* NULL: the caller cannot wait */
    uint64_t until_ms;                  /* lowered to the time when the answer has to be asked for again */
};

/* Returns 0 or -errno. */
int hosts_new(const struct hosts_config *config, struct hosts **hosts);

/* Another ttl_ms and stale_ms, as with resolver_set_times(). */
void hosts_set_times(struct hosts *hosts, uint64_t ttl_ms, uint64_t stale_ms);

/* Wake up everybody who waits, and let nobody wait any more. To be called before the loops end. Any thread. */
void hosts_stop(struct hosts *hosts);

/* A function of the source that still blocks is waited for a second, as with resolver_free(). NULL is none. */
void hosts_free(struct hosts *hosts);

/*
 * Whether the peer has one of the addresses of this host name; has a confirmed name that the pattern fits (`*`, `?` and
 * `[...]`, which match dots as well); is in this netgroup by one of its confirmed names, the first label of the first
 * one, or its address. Case does not matter.
 *
 * Return 1 or 0; else as resolver_find(): -EINPROGRESS when it is not known yet, so that the call waits, or -EAGAIN when
 * the caller must come again by himself. Any thread.
 */
int hosts_has_address(struct hosts *hosts, const char *name, struct hosts_query *query);
int hosts_name_matches(struct hosts *hosts, const char *pattern, struct hosts_query *query);
int hosts_in_netgroup(struct hosts *hosts, const char *netgroup, struct hosts_query *query);

/* Ask for a host name's addresses ahead of time. Any thread, like those below. */
void hosts_prefetch(struct hosts *hosts, const char *name);

/* Goes up whenever an answer differs from the last one: decisions that were kept are to be made again. */
uint64_t hosts_generation(const struct hosts *hosts);

/* The clock of until_ms. */
uint64_t hosts_now_ms(const struct hosts *hosts);

#endif
