/*
 * server/hosts.c - see hosts.h.
 *
 * There are three kinds of questions: the addresses of a name, the names of an address, and whether an address is in a
 * netgroup. Workers keep decisions (export_view.c), so they come here seldom.
 */
#include "server/hosts.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

enum question_kind { QUESTION_ADDRESSES, QUESTION_NAMES, QUESTION_NETGROUP };

/* A key of the resolver: without what lies behind the name's NUL, and without a hole. */
struct question {
    enum question_kind kind;
    struct peer_address peer;           /* NAMES, NETGROUP */
    char name[HOSTS_NAME_BYTES];        /* ADDRESSES, NETGROUP; else "" */
};

/* What comes out: addresses in order, names one behind the other with their NULs, or one byte for a member. */
struct found {
    void *data;                         /* NULL: none */
    size_t len;
};

struct hosts {
    const struct hosts_source *source;
    const struct log *log;
    _Atomic uint64_t stale_ms;
    _Atomic uint64_t generation;
    struct resolver *resolver;
};

static int
holds_address(const void *data, size_t len, const void *want)
{
    const struct peer_address *list = data;

    for (size_t i = 0; i < len / sizeof(*list); i++)
        if (memcmp(&list[i], want, sizeof(*list)) == 0)
            return 1;
    return 0;
}

static int
fits_pattern(const void *data, size_t len, const void *want)
{
    const char *names = data;

    for (size_t at = 0; at < len; at += strlen(names + at) + 1)
        if (fnmatch(want, names + at, FNM_CASEFOLD) == 0)
            return 1;
    return 0;
}

static int
is_member(const void *data, size_t len, const void *want)
{
    (void)data;
    (void)want;
    return len > 0;
}

/*
 * Put a question: `fits` looks at the answer and says 1 or 0. Names that could be none were refused with the exports, so
 * a long one is only a wrong belief of ours. Names that the operator wrote go first, and a thread is kept for them: there are
 * few, everybody else's access depends on them, and no stranger's address should make them wait.
 */
static int
put_question(struct hosts *hosts, enum question_kind kind, const char *name, struct hosts_query *query,
             int (*fits)(const void *data, size_t len, const void *want), const void *want)
{
    size_t name_len = strlen(name);
    struct question question = { .kind = kind };
    struct resolver_query put = {
        .key = &question,
        .key_len = offsetof(struct question, name) + name_len + 1,
        .urgent = kind == QUESTION_ADDRESSES,
        .wait = query->wait,
        .until_ms = query->until_ms,
    };
    struct resolver_answer *answer;
    int result;

    assert(name_len < HOSTS_NAME_BYTES);
    memcpy(question.name, name, name_len);
    if (kind != QUESTION_ADDRESSES)
        question.peer = *query->peer;
    result = resolver_find(hosts->resolver, &put, &answer);
    query->until_ms = put.until_ms;
    if (answer != NULL)
        result = fits(answer->data, answer->len, want);
    resolver_answer_put(answer);
    return result;
}

int
hosts_has_address(struct hosts *hosts, const char *name, struct hosts_query *query)
{
    return put_question(hosts, QUESTION_ADDRESSES, name, query, holds_address, query->peer);
}

int
hosts_name_matches(struct hosts *hosts, const char *pattern, struct hosts_query *query)
{
    return put_question(hosts, QUESTION_NAMES, "", query, fits_pattern, pattern);
}

int
hosts_in_netgroup(struct hosts *hosts, const char *netgroup, struct hosts_query *query)
{
    return put_question(hosts, QUESTION_NETGROUP, netgroup, query, is_member, NULL);
}

void
hosts_prefetch(struct hosts *hosts, const char *name)
{
    static const struct peer_address nobody;
    struct hosts_query query = { .peer = &nobody };

    hosts_has_address(hosts, name, &query);
}

uint64_t
hosts_generation(const struct hosts *hosts)
{
    return atomic_load_explicit(&hosts->generation, memory_order_acquire);
}

uint64_t
hosts_now_ms(const struct hosts *hosts)
{
    return hosts->source->now_ms(hosts->source->context);
}

static int
compare_addresses(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct peer_address));
}

static int
keep(struct found *found, const void *data, size_t len)
{
    void *grown = realloc(found->data, found->len + len);

    if (grown == NULL)
        return -ENOMEM;
    memcpy((char *)grown + found->len, data, len);
    found->data = grown;
    found->len += len;
    return 0;
}

/* In order, so that a name server that turns its list round does not seem to change it. */
static int
ask_addresses(const struct hosts_source *source, const char *name, struct found *found)
{
    struct hosts_addresses addresses = { .count = 0 };
    int err = source->addresses(source->context, name, &addresses);

    if (err < 0 || addresses.count == 0)
        return err;
    qsort(addresses.list, addresses.count, sizeof(addresses.list[0]), compare_addresses);
    return keep(found, addresses.list, addresses.count * sizeof(addresses.list[0]));
}

/* Neither an address, which no name server should pass off as a name, nor anything odd. */
static bool
is_host_name(const char *name)
{
    struct in6_addr address;
    size_t i;

    if (name[0] == '\0' || inet_pton(AF_INET, name, &address) == 1)
        return false;
    for (i = 0; name[i] != '\0'; i++)
        if (!isalnum((unsigned char)name[i]) && strchr("-_.", name[i]) == NULL)
            return false;
    return true;
}

static int
keep_names(struct found *found, const struct hosts_names *names)
{
    int err = 0;

    for (size_t i = 0; i < names->count && err == 0; i++)
        if (is_host_name(names->list[i]))
            err = keep(found, names->list[i], strlen(names->list[i]) + 1);
    return err;
}

/* The name of an address, if it has the address, and what else it is called. */
static int
ask_names(const struct hosts_source *source, const struct peer_address *peer, struct found *found)
{
    struct hosts_names name = { .count = 0 }, aliases = { .count = 0 };
    struct found addresses = { .data = NULL };
    bool confirmed;
    int err = source->name(source->context, peer, &name);

    if (err < 0 || name.count == 0 || !is_host_name(name.list[0]))
        return err;
    err = ask_addresses(source, name.list[0], &addresses);
    confirmed = err == 0 && holds_address(addresses.data, addresses.len, peer) == 1;
    free(addresses.data);
    if (!confirmed)
        return err;
    name.count = 1;
    err = source->aliases(source->context, name.list[0], &aliases);
    if (err == 0)
        err = keep_names(found, &name);
    if (err == 0)
        err = keep_names(found, &aliases);
    return err;
}

/* Ask for the names of the list, for the first one without its domain, and for the address. */
static int
ask_netgroup(const struct hosts_source *source, const struct question *question, struct found *found)
{
    struct found names = { .data = NULL };
    const char *list;
    char first[HOSTS_NAME_BYTES];
    struct peer_text address;
    bool member = false;
    int named = ask_names(source, &question->peer, &names), err = 0;

    list = names.data;
    for (size_t at = 0; named == 0 && at < names.len && err == 0 && !member; at += strlen(list + at) + 1)
        err = source->in_netgroup(source->context, question->name, list + at, &member);
    if (err == 0 && !member)
        err = source->in_netgroup(source->context, question->name, peer_address_format(&question->peer, &address),
                                  &member);
    if (err == 0 && !member && named == 0 && names.len > 0 && strchr(list, '.') != NULL) {
        memcpy(first, list, strcspn(list, "."));
        first[strcspn(list, ".")] = '\0';
        err = source->in_netgroup(source->context, question->name, first, &member);
    }
    free(names.data);
    if (err == 0 && member)
        return keep(found, &member, 1);
    return err < 0 ? err : named;
}

static int
ask_source(const struct hosts_source *source, const struct question *question, struct found *found)
{
    switch (question->kind) {
    case QUESTION_ADDRESSES:
        return ask_addresses(source, question->name, found);
    case QUESTION_NAMES:
        return ask_names(source, &question->peer, found);
    case QUESTION_NETGROUP:
        return ask_netgroup(source, question, found);
    }
    return -EINVAL;
}

static int
ask(void *context, const void *key, struct resolver_answer **answer)
{
    const struct hosts *hosts = context;
    struct found found = { .data = NULL };
    int err = ask_source(hosts->source, key, &found);

    if (err == 0 && found.len > 0) {
        *answer = resolver_answer_new(found.data, found.len);
        err = *answer == NULL ? -ENOMEM : 0;
    }
    free(found.data);
    return err;
}

static uint64_t
now_ms(void *context)
{
    return hosts_now_ms(context);
}

static void
changed(void *context, const void *key, const struct resolver_answer *answer)
{
    const struct question *question = key;
    struct hosts *hosts = context;

    if (question->kind == QUESTION_ADDRESSES && answer == NULL)
        log_warn(hosts->log, "the exports name the host %s, which has no address: it stands for nobody",
                 question->name);
    atomic_fetch_add_explicit(&hosts->generation, 1, memory_order_release);
}

static void
failed(void *context, const void *key, int err)
{
    const struct question *question = key;
    const struct hosts *hosts = context;
    struct peer_text text;

    log_warn(hosts->log, "host names cannot be looked up (%s: %s); answers that are known are used for %llu s at most",
             question->kind == QUESTION_ADDRESSES ? question->name : peer_address_format(&question->peer, &text),
             strerror(-err), (unsigned long long)(atomic_load(&hosts->stale_ms) / 1000));
}

static void
recovered(void *context)
{
    const struct hosts *hosts = context;

    log_info(hosts->log, "host names can be looked up again");
}

static const struct resolver_user resolver_user = {
    .ask = ask,
    .now_ms = now_ms,
    .changed = changed,
    .failed = failed,
    .recovered = recovered,
    .release = free,
};

int
hosts_new(const struct hosts_config *config, struct hosts **out)
{
    struct hosts *hosts = calloc(1, sizeof(*hosts));
    const struct resolver_config resolver = {
        .user = &resolver_user,
        .context = hosts,
        .reserved = 1,
        .entries = config->entries,
        .bytes = SIZE_MAX,              /* an answer is of HOSTS_ADDRESSES_MAX or of a few HOSTS_NAMES_MAX at most */
        .sandbox = config->sandbox,
        .ttl_ms = config->ttl_ms,
        .stale_ms = config->stale_ms,
        .waiting = config->waiting,
        .waiting_each = config->waiting_each,
    };
    int err;

    if (hosts == NULL)
        return -ENOMEM;
    hosts->source = config->source != NULL ? config->source : &hosts_libc;
    hosts->log = config->log;
    hosts->stale_ms = MAX(config->stale_ms, config->ttl_ms);
    err = resolver_new(&resolver, &hosts->resolver);
    if (err < 0) {
        free(hosts);
        return err;
    }
    *out = hosts;
    return 0;
}

void
hosts_set_times(struct hosts *hosts, uint64_t ttl_ms, uint64_t stale_ms)
{
    atomic_store(&hosts->stale_ms, MAX(stale_ms, ttl_ms));
    resolver_set_times(hosts->resolver, ttl_ms, stale_ms);
}

void
hosts_stop(struct hosts *hosts)
{
    resolver_stop(hosts->resolver);
}

void
hosts_free(struct hosts *hosts)
{
    if (hosts != NULL)
        resolver_free(hosts->resolver);
}
