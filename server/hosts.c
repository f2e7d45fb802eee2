/*
 * server/hosts.c - see hosts.h.
 *
 * A question is an entry of the cache, answered or not. Entries are found through a hash table and thrown out in the
 * order of their last use, but for those that are being asked or waited for. All is under one lock, which is never held
 * while the source is asked; workers keep decisions (export_view.c), so they come here seldom.
 */
#include "server/hosts.h"

#include <assert.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>
#include <sys/random.h>
#include <time.h>

#include "storage/fh.h"

#define NEGATIVE_PART 4                 /* "none" and failures are kept for this part of ttl_ms, */
#define NEGATIVE_MAX_MS 30000           /* and no longer than this */
#define FREE_WAIT_S 1                   /* how long the end of a question is waited for */
#define EVICT_TRIES 64                  /* entries that are looked at for one that may go */

enum question_kind { QUESTION_ADDRESSES, QUESTION_NAMES, QUESTION_NETGROUP };

struct question {
    enum question_kind kind;
    struct peer_address peer;           /* NAMES, NETGROUP */
    const char *name;                   /* ADDRESSES, NETGROUP; else "" */
};

/* What came out: addresses in order, names one behind the other with their NULs, or one byte for a member. */
struct answer {
    void *data;                         /* NULL: none */
    size_t len;
};

enum entry_work { WORK_NONE, WORK_QUEUED, WORK_ASKED };

struct entry {
    LIST_ENTRY(entry) bucket;
    TAILQ_ENTRY(entry) age;
    TAILQ_ENTRY(entry) queue;
    TAILQ_HEAD(, hosts_wait) waiters;
    struct question question;           /* its name is the one below */
    enum entry_work work;
    bool known;
    bool failed;                        /* the last try */
    bool told_missing;
    struct answer answer;
    uint64_t refresh_ms;                /* when it is asked for again, if it is wanted */
    uint64_t expires_ms;
    uint64_t retry_ms;                  /* after a failure */
    uint64_t limit_ms;                  /* when a failing source ends the last answer, or the waiting for a first one */
    char name[];
};

LIST_HEAD(bucket, entry);

struct hosts {
    const struct hosts_source *source;
    const struct log *log;
    uint64_t ttl_ms, negative_ms, stale_ms;
    uint32_t entries_max, waiting_max;
    uint8_t key[16];                    /* of the hash: nobody outside can choose who shares a bucket */
    _Atomic uint64_t generation;
    pthread_t thread;

    pthread_mutex_t lock;               /* of all below */
    pthread_cond_t work;                /* there is a question, or the end */
    struct bucket *buckets;
    size_t nbuckets;                    /* a power of two */
    TAILQ_HEAD(, entry) ages;           /* the one used last is last */
    TAILQ_HEAD(, entry) queue;
    uint32_t entries, waiting;
    bool stopping;
    bool ended;                         /* the thread looks at nothing here any more */
    bool abandoned;                     /* the thread frees everything */
    bool failing;                       /* and it has been told */
};

static size_t
bucket_of(const struct hosts *hosts, const struct question *question)
{
    uint8_t bytes[1 + sizeof(question->peer) + HOSTS_NAME_BYTES];
    size_t name_len = strlen(question->name);

    assert(name_len < HOSTS_NAME_BYTES);
    bytes[0] = (uint8_t)question->kind;
    memcpy(bytes + 1, &question->peer, sizeof(question->peer));
    memcpy(bytes + 1 + sizeof(question->peer), question->name, name_len);
    return siphash(hosts->key, bytes, 1 + sizeof(question->peer) + name_len) & (hosts->nbuckets - 1);
}

static bool
same_question(const struct question *a, const struct question *b)
{
    return a->kind == b->kind && memcmp(&a->peer, &b->peer, sizeof(a->peer)) == 0 && strcmp(a->name, b->name) == 0;
}

static void
entry_free(struct entry *entry)
{
    free(entry->answer.data);
    free(entry);
}

/* Throw out the one that was used least recently. */
static bool
evict(struct hosts *hosts)
{
    struct entry *entry;
    unsigned tries = EVICT_TRIES;

    TAILQ_FOREACH(entry, &hosts->ages, age) {
        if (entry->work == WORK_NONE && TAILQ_EMPTY(&entry->waiters)) {
            TAILQ_REMOVE(&hosts->ages, entry, age);
            LIST_REMOVE(entry, bucket);
            hosts->entries--;
            entry_free(entry);
            return true;
        }
        if (--tries == 0)
            return false;
    }
    return false;
}

/* The entry of a question, new if need be; NULL when there is no room. */
static struct entry *
find_entry(struct hosts *hosts, const struct question *question)
{
    struct bucket *bucket = &hosts->buckets[bucket_of(hosts, question)];
    size_t name_len = strlen(question->name);
    struct entry *entry;

    LIST_FOREACH(entry, bucket, bucket) {
        if (same_question(&entry->question, question)) {
            TAILQ_REMOVE(&hosts->ages, entry, age);
            TAILQ_INSERT_TAIL(&hosts->ages, entry, age);
            return entry;
        }
    }
    if (hosts->entries >= hosts->entries_max && !evict(hosts))
        return NULL;
    entry = calloc(1, sizeof(*entry) + name_len + 1);
    if (entry == NULL)
        return NULL;
    memcpy(entry->name, question->name, name_len);
    entry->question = *question;
    entry->question.name = entry->name;
    TAILQ_INIT(&entry->waiters);
    LIST_INSERT_HEAD(bucket, entry, bucket);
    TAILQ_INSERT_TAIL(&hosts->ages, entry, age);
    hosts->entries++;
    return entry;
}

/* Names that the operator wrote go first: there are few, and everybody else's access depends on them. */
static void
enqueue(struct hosts *hosts, struct entry *entry)
{
    if (entry->work != WORK_NONE || hosts->stopping)
        return;
    entry->work = WORK_QUEUED;
    if (entry->question.kind == QUESTION_ADDRESSES)
        TAILQ_INSERT_HEAD(&hosts->queue, entry, queue);
    else
        TAILQ_INSERT_TAIL(&hosts->queue, entry, queue);
    pthread_cond_signal(&hosts->work);
}

static int
wait_for(struct hosts *hosts, struct entry *entry, struct hosts_wait *wait)
{
    if (wait == NULL || hosts->stopping || hosts->waiting >= hosts->waiting_max)
        return -EAGAIN;
    hosts->waiting++;
    TAILQ_INSERT_TAIL(&entry->waiters, wait, link);
    return -EINPROGRESS;
}

static void
run_answered(struct loop_message *message)
{
    struct hosts_wait *wait = (struct hosts_wait *)message;

    wait->answered(wait);
}

static void
wake_waiters(struct hosts *hosts, struct entry *entry)
{
    struct hosts_wait *wait;

    while ((wait = TAILQ_FIRST(&entry->waiters)) != NULL) {
        TAILQ_REMOVE(&entry->waiters, wait, link);
        hosts->waiting--;
        wait->message.run = run_answered;
        loop_post(wait->loop, &wait->message);
    }
}

/*
 * What an entry says now: 1 when its answer counts, 0 when it counts as "none", or as hosts_has_address(); and have it
 * asked for if that is due.
 */
static int
judge(struct hosts *hosts, struct entry *entry, struct hosts_query *query)
{
    uint64_t now = hosts->source->now_ms(hosts->source->context), until;
    int counts = 1;

    if (entry->known && now < entry->expires_ms) {
        until = now < entry->refresh_ms ? entry->refresh_ms : entry->expires_ms;
        if (entry->failed && now < entry->retry_ms)
            until = MIN(until, entry->retry_ms);
        else if (now >= entry->refresh_ms)
            enqueue(hosts, entry);
    } else if (!entry->failed || (now < entry->limit_ms && !entry->known)) {
        if (entry->failed && now < entry->retry_ms && entry->work == WORK_NONE)
            return -EAGAIN;
        enqueue(hosts, entry);
        return wait_for(hosts, entry, query->wait);
    } else {
        counts = now < entry->limit_ms;
        until = now < entry->retry_ms ? entry->retry_ms : now + hosts->negative_ms;
        if (counts)
            until = MIN(until, entry->limit_ms);
        if (now >= entry->retry_ms)
            enqueue(hosts, entry);
    }
    query->until_ms = MIN(query->until_ms, until);
    return counts;
}

/*
 * Put a question: `fits` looks at the answer, under the lock, and says 1 or 0. Names that could be none were refused
 * with the exports, so a long one is only a wrong belief of ours.
 */
static int
put_question(struct hosts *hosts, const struct question *question, struct hosts_query *query,
             int (*fits)(const struct answer *answer, const void *want), const void *want)
{
    struct entry *entry;
    int result = -EAGAIN;

    pthread_mutex_lock(&hosts->lock);
    entry = find_entry(hosts, question);
    if (entry != NULL)
        result = judge(hosts, entry, query);
    if (result == 1)
        result = fits(&entry->answer, want);
    pthread_mutex_unlock(&hosts->lock);
    return result;
}

static int
holds_address(const struct answer *answer, const void *want)
{
    const struct peer_address *list = answer->data;

    for (size_t i = 0; i < answer->len / sizeof(*list); i++)
        if (memcmp(&list[i], want, sizeof(*list)) == 0)
            return 1;
    return 0;
}

static int
fits_pattern(const struct answer *answer, const void *want)
{
    const char *names = answer->data;

    for (size_t at = 0; at < answer->len; at += strlen(names + at) + 1)
        if (fnmatch(want, names + at, FNM_CASEFOLD) == 0)
            return 1;
    return 0;
}

static int
is_member(const struct answer *answer, const void *want)
{
    (void)want;
    return answer->len > 0;
}

int
hosts_has_address(struct hosts *hosts, const char *name, struct hosts_query *query)
{
    const struct question question = { .kind = QUESTION_ADDRESSES, .name = name };

    return put_question(hosts, &question, query, holds_address, query->peer);
}

int
hosts_name_matches(struct hosts *hosts, const char *pattern, struct hosts_query *query)
{
    const struct question question = { .kind = QUESTION_NAMES, .peer = *query->peer, .name = "" };

    return put_question(hosts, &question, query, fits_pattern, pattern);
}

int
hosts_in_netgroup(struct hosts *hosts, const char *netgroup, struct hosts_query *query)
{
    const struct question question = { .kind = QUESTION_NETGROUP, .peer = *query->peer, .name = netgroup };

    return put_question(hosts, &question, query, is_member, NULL);
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
keep(struct answer *answer, const void *data, size_t len)
{
    void *grown = realloc(answer->data, answer->len + len);

    if (grown == NULL)
        return -ENOMEM;
    memcpy((char *)grown + answer->len, data, len);
    answer->data = grown;
    answer->len += len;
    return 0;
}

/* In order, so that a name server that turns its list round does not seem to change it. */
static int
ask_addresses(const struct hosts_source *source, const char *name, struct answer *answer)
{
    struct hosts_addresses addresses = { .count = 0 };
    int err = source->addresses(source->context, name, &addresses);

    if (err < 0 || addresses.count == 0)
        return err;
    qsort(addresses.list, addresses.count, sizeof(addresses.list[0]), compare_addresses);
    return keep(answer, addresses.list, addresses.count * sizeof(addresses.list[0]));
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
keep_names(struct answer *answer, const struct hosts_names *names)
{
    int err = 0;

    for (size_t i = 0; i < names->count && err == 0; i++)
        if (is_host_name(names->list[i]))
            err = keep(answer, names->list[i], strlen(names->list[i]) + 1);
    return err;
}

/* The name of an address, if it has the address, and what else it is called. */
static int
ask_names(const struct hosts_source *source, const struct peer_address *peer, struct answer *answer)
{
    struct hosts_names name = { .count = 0 }, aliases = { .count = 0 };
    struct answer addresses = { .data = NULL };
    bool confirmed;
    int err = source->name(source->context, peer, &name);

    if (err < 0 || name.count == 0 || !is_host_name(name.list[0]))
        return err;
    err = ask_addresses(source, name.list[0], &addresses);
    confirmed = err == 0 && holds_address(&addresses, peer) == 1;
    free(addresses.data);
    if (!confirmed)
        return err;
    name.count = 1;
    err = source->aliases(source->context, name.list[0], &aliases);
    if (err == 0)
        err = keep_names(answer, &name);
    if (err == 0)
        err = keep_names(answer, &aliases);
    return err;
}

/* Ask for the names of the list, for the first one without its domain, and for the address. */
static int
ask_netgroup(const struct hosts_source *source, const struct question *question, struct answer *answer)
{
    struct answer names = { .data = NULL };
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
        return keep(answer, &member, 1);
    return err < 0 ? err : named;
}

static int
ask(const struct hosts_source *source, const struct question *question, struct answer *answer)
{
    switch (question->kind) {
    case QUESTION_ADDRESSES:
        return ask_addresses(source, question->name, answer);
    case QUESTION_NAMES:
        return ask_names(source, &question->peer, answer);
    case QUESTION_NETGROUP:
        return ask_netgroup(source, question, answer);
    }
    return -EINVAL;
}

static const char *
describe(const struct entry *entry, struct peer_text *text)
{
    return entry->question.kind == QUESTION_ADDRESSES ? entry->name
                                                      : peer_address_format(&entry->question.peer, text);
}

static void
settle_failure(struct hosts *hosts, struct entry *entry, int err, uint64_t now)
{
    struct peer_text text;

    if (!entry->failed && (!entry->known || now >= entry->limit_ms)) {
        entry->known = false;                           /* what it said long ago, before anybody asked again */
        entry->limit_ms = now + hosts->stale_ms;
    }
    entry->failed = true;
    entry->retry_ms = now + hosts->negative_ms;
    if (hosts->failing)
        return;
    hosts->failing = true;
    log_warn(hosts->log, "host names cannot be looked up (%s: %s); answers that are known are used for %llu s at most",
             describe(entry, &text), strerror(-err), (unsigned long long)(hosts->stale_ms / 1000));
}

static void
settle_answer(struct hosts *hosts, struct entry *entry, struct answer *answer, uint64_t now)
{
    uint64_t ttl_ms = answer->len > 0 ? hosts->ttl_ms : hosts->negative_ms;
    bool changed = !entry->known || entry->answer.len != answer->len ||
                   (answer->len > 0 && memcmp(entry->answer.data, answer->data, answer->len) != 0);

    if (entry->failed && hosts->failing) {
        hosts->failing = false;
        log_info(hosts->log, "host names can be looked up again");
    }
    if (entry->question.kind == QUESTION_ADDRESSES && answer->len == 0 && !entry->told_missing)
        log_warn(hosts->log, "the exports name the host %s, which has no address: it stands for nobody", entry->name);
    entry->told_missing = entry->question.kind == QUESTION_ADDRESSES && answer->len == 0;
    free(entry->answer.data);
    entry->answer = *answer;
    answer->data = NULL;
    entry->known = true;
    entry->failed = false;
    entry->refresh_ms = now + ttl_ms - ttl_ms / 4;
    entry->expires_ms = now + ttl_ms;
    entry->limit_ms = now + MAX(ttl_ms, hosts->stale_ms);
    if (changed)
        atomic_fetch_add_explicit(&hosts->generation, 1, memory_order_release);
}

/* Answer one question; the lock is held before and after. An answer's time begins when it was asked for. */
static void
work_on(struct hosts *hosts, struct entry *entry)
{
    struct answer answer = { .data = NULL };
    uint64_t now = hosts_now_ms(hosts);
    int err;

    TAILQ_REMOVE(&hosts->queue, entry, queue);
    entry->work = WORK_ASKED;
    pthread_mutex_unlock(&hosts->lock);
    err = ask(hosts->source, &entry->question, &answer);
    pthread_mutex_lock(&hosts->lock);
    entry->work = WORK_NONE;
    if (!hosts->stopping && err < 0)
        settle_failure(hosts, entry, err, hosts_now_ms(hosts));
    else if (!hosts->stopping)
        settle_answer(hosts, entry, &answer, now);
    free(answer.data);
    wake_waiters(hosts, entry);
}

static void
hosts_delete(struct hosts *hosts)
{
    struct entry *entry;

    while ((entry = TAILQ_FIRST(&hosts->ages)) != NULL) {
        TAILQ_REMOVE(&hosts->ages, entry, age);
        entry_free(entry);
    }
    pthread_cond_destroy(&hosts->work);
    pthread_mutex_destroy(&hosts->lock);
    free(hosts->buckets);
    free(hosts);
}

static void *
resolver_main(void *arg)
{
    struct hosts *hosts = arg;
    struct entry *entry;
    bool abandoned;

    pthread_mutex_lock(&hosts->lock);
    while (!hosts->stopping) {
        entry = TAILQ_FIRST(&hosts->queue);
        if (entry != NULL)
            work_on(hosts, entry);
        else
            pthread_cond_wait(&hosts->work, &hosts->lock);
    }
    hosts->ended = true;
    abandoned = hosts->abandoned;
    pthread_mutex_unlock(&hosts->lock);
    if (abandoned)
        hosts_delete(hosts);
    return NULL;
}

/* Signals are for the thread that the server's owner has for them. */
static int
start_thread(struct hosts *hosts)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&hosts->thread, NULL, resolver_main, hosts);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -err;
}

static size_t
power_of_two(size_t least)
{
    size_t power = 16;

    while (power < least)
        power *= 2;
    return power;
}

int
hosts_new(const struct hosts_config *config, struct hosts **out)
{
    struct hosts *hosts = calloc(1, sizeof(*hosts));
    int err;

    if (hosts == NULL)
        return -ENOMEM;
    hosts->source = config->source != NULL ? config->source : &hosts_libc;
    hosts->log = config->log;
    hosts->ttl_ms = config->ttl_ms;
    hosts->negative_ms = MIN(config->ttl_ms / NEGATIVE_PART, NEGATIVE_MAX_MS);
    hosts->stale_ms = MAX(config->stale_ms, config->ttl_ms);
    hosts->entries_max = config->entries;
    hosts->waiting_max = config->waiting;
    hosts->nbuckets = power_of_two(config->entries);
    TAILQ_INIT(&hosts->ages);
    TAILQ_INIT(&hosts->queue);
    pthread_mutex_init(&hosts->lock, NULL);
    pthread_cond_init(&hosts->work, NULL);
    hosts->buckets = calloc(hosts->nbuckets, sizeof(hosts->buckets[0]));
    err = hosts->buckets == NULL ? -ENOMEM : 0;
    if (err == 0 && getrandom(hosts->key, sizeof(hosts->key), 0) != sizeof(hosts->key))
        err = -EIO;
    if (err == 0)
        err = start_thread(hosts);
    if (err < 0) {
        hosts_delete(hosts);
        return err;
    }
    *out = hosts;
    return 0;
}

void
hosts_stop(struct hosts *hosts)
{
    struct entry *entry;

    pthread_mutex_lock(&hosts->lock);
    hosts->stopping = true;
    TAILQ_FOREACH(entry, &hosts->ages, age)
        wake_waiters(hosts, entry);
    pthread_cond_signal(&hosts->work);
    pthread_mutex_unlock(&hosts->lock);
}

/* Whether the thread that hangs in the source was left to itself; it frees everything then. */
static bool
abandon(struct hosts *hosts)
{
    bool abandoned;

    pthread_mutex_lock(&hosts->lock);
    abandoned = hosts->abandoned = !hosts->ended;
    if (abandoned)
        pthread_detach(hosts->thread);
    pthread_mutex_unlock(&hosts->lock);
    return abandoned;
}

void
hosts_free(struct hosts *hosts)
{
    struct timespec until;

    if (hosts == NULL)
        return;
    hosts_stop(hosts);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FREE_WAIT_S;
    if (pthread_timedjoin_np(hosts->thread, NULL, &until) != 0) {
        if (abandon(hosts))
            return;
        pthread_join(hosts->thread, NULL);
    }
    hosts_delete(hosts);
}
