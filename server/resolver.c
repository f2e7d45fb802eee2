/*
 * server/resolver.c - see resolver.h.
 *
 * A question is an entry of the cache, answered or not. Entries are found through a hash table and thrown out in the
 * order of their last use, but for those that are being asked or waited for. All is under one lock, which is never held
 * while the source is asked.
 */
#include "server/resolver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>
#include <time.h>

#include "server/sandbox.h"
#include "storage/fh.h"

#define NEGATIVE_PART 4                 /* "none" and failures are kept for this part of ttl_ms, */
#define NEGATIVE_MAX_MS 30000           /* and no longer than this */
#define FREE_WAIT_S 1                   /* how long the end of a question is waited for */
#define EVICT_TRIES 64                  /* entries that are looked at for one that may go */
#define BUCKETS_MIN 16

enum entry_work { WORK_NONE, WORK_QUEUED, WORK_ASKED };

struct entry {
    LIST_ENTRY(entry) bucket;
    TAILQ_ENTRY(entry) age;
    TAILQ_ENTRY(entry) queue;
    TAILQ_HEAD(, resolver_wait) waiters;
    uint32_t waiting;
    struct resolver_answer *answer;     /* NULL: none */
    enum entry_work work;
    bool urgent;
    bool known;                         /* the answer counts, or did until it expired */
    bool failed;                        /* the last try */
    uint64_t refresh_ms;                /* when it is asked for again, if it is wanted */
    uint64_t expires_ms;
    uint64_t retry_ms;                  /* after a failure */
    uint64_t limit_ms;                  /* when a failing source ends the last answer, or the waiting for a first one */
    size_t key_len;
    _Alignas(max_align_t) unsigned char key[];
};

LIST_HEAD(bucket, entry);
TAILQ_HEAD(entries, entry);

struct resolver {
    const struct resolver_user *user;
    const struct sandbox *sandbox;
    void *context;
    unsigned others_max;
    uint32_t entries_max, waiting_max, waiting_each_max;
    size_t bytes_max;
    uint8_t hash_key[16];               /* nobody outside can choose who shares a bucket */

    pthread_mutex_t lock;               /* of all below */
    pthread_cond_t work;                /* there is a question, or the end */
    uint64_t ttl_ms, negative_ms, stale_ms;
    struct bucket *buckets;
    size_t nbuckets;                    /* a power of two */
    struct entries ages;                /* the one used last is last */
    struct entries queue;               /* urgent ones first */
    uint32_t entries, waiting;
    size_t bytes;                       /* in the answers of all entries */
    pthread_t threads[RESOLVER_THREADS];
    unsigned started;                   /* threads, */
    unsigned running;                   /* of which these still look at something here, */
    unsigned idle;                      /* and these wait for a question */
    unsigned others;                    /* questions being asked that are not urgent */
    bool stopping;
    bool abandoned;                     /* the last thread frees everything */
    bool failing;                       /* and it has been told */
};

struct resolver_answer *
resolver_answer_new(const void *data, size_t len)
{
    struct resolver_answer *answer = malloc(sizeof(*answer) + len);

    if (answer == NULL)
        return NULL;
    atomic_init(&answer->refs, 1);
    answer->len = (uint32_t)len;
    memcpy(answer->data, data, len);
    return answer;
}

void
resolver_answer_put(struct resolver_answer *answer)
{
    if (answer != NULL && atomic_fetch_sub(&answer->refs, 1) == 1)
        free(answer);
}

static bool
same_answer(const struct resolver_answer *a, const struct resolver_answer *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Let an entry have this answer. */
static void
set_answer(struct resolver *resolver, struct entry *entry, struct resolver_answer *answer)
{
    resolver->bytes -= entry->answer != NULL ? entry->answer->len : 0;
    resolver->bytes += answer != NULL ? answer->len : 0;
    resolver_answer_put(entry->answer);
    entry->answer = answer;
}

/* Throw out the one that was used least recently. */
static bool
evict(struct resolver *resolver)
{
    struct entry *entry;
    unsigned tries = EVICT_TRIES;

    TAILQ_FOREACH(entry, &resolver->ages, age) {
        if (entry->work == WORK_NONE && TAILQ_EMPTY(&entry->waiters)) {
            TAILQ_REMOVE(&resolver->ages, entry, age);
            LIST_REMOVE(entry, bucket);
            resolver->entries--;
            set_answer(resolver, entry, NULL);
            free(entry);
            return true;
        }
        if (--tries == 0)
            return false;
    }
    return false;
}

/* The entry of a question, new if need be; NULL when there is no room. */
static struct entry *
find_entry(struct resolver *resolver, const struct resolver_query *query)
{
    uint64_t hash = siphash(resolver->hash_key, query->key, query->key_len);
    struct bucket *bucket = &resolver->buckets[hash & (resolver->nbuckets - 1)];
    struct entry *entry;

    LIST_FOREACH(entry, bucket, bucket) {
        if (entry->key_len == query->key_len && memcmp(entry->key, query->key, query->key_len) == 0) {
            TAILQ_REMOVE(&resolver->ages, entry, age);
            TAILQ_INSERT_TAIL(&resolver->ages, entry, age);
            return entry;
        }
    }
    if (resolver->entries >= resolver->entries_max && !evict(resolver))
        return NULL;
    entry = calloc(1, sizeof(*entry) + query->key_len);
    if (entry == NULL)
        return NULL;
    entry->key_len = query->key_len;
    memcpy(entry->key, query->key, query->key_len);
    entry->urgent = query->urgent;
    TAILQ_INIT(&entry->waiters);
    LIST_INSERT_HEAD(bucket, entry, bucket);
    TAILQ_INSERT_TAIL(&resolver->ages, entry, age);
    resolver->entries++;
    return entry;
}

static void
enqueue(struct resolver *resolver, struct entry *entry)
{
    if (entry->work != WORK_NONE || resolver->stopping)
        return;
    entry->work = WORK_QUEUED;
    if (entry->urgent)
        TAILQ_INSERT_HEAD(&resolver->queue, entry, queue);
    else
        TAILQ_INSERT_TAIL(&resolver->queue, entry, queue);
    pthread_cond_signal(&resolver->work);
}

static int
wait_for(struct resolver *resolver, struct entry *entry, struct resolver_wait *wait)
{
    if (wait == NULL || resolver->stopping || resolver->waiting >= resolver->waiting_max ||
        entry->waiting >= resolver->waiting_each_max)
        return -EAGAIN;
    resolver->waiting++;
    entry->waiting++;
    TAILQ_INSERT_TAIL(&entry->waiters, wait, link);
    return -EINPROGRESS;
}

static void
run_answered(struct loop_message *message)
{
    struct resolver_wait *wait = (struct resolver_wait *)message;

    wait->answered(wait);
}

static void
wake_waiters(struct resolver *resolver, struct entry *entry)
{
    struct resolver_wait *wait;

    while ((wait = TAILQ_FIRST(&entry->waiters)) != NULL) {
        TAILQ_REMOVE(&entry->waiters, wait, link);
        resolver->waiting--;
        entry->waiting--;
        wait->message.run = run_answered;
        loop_post(wait->loop, &wait->message);
    }
}

static uint64_t
now_ms(const struct resolver *resolver)
{
    return resolver->user->now_ms(resolver->context);
}

static uint64_t
later(uint64_t time_ms, uint64_t ms)
{
    return time_ms + MIN(ms, UINT64_MAX - time_ms);
}

/*
 * What an entry says now: 1 when its answer counts, 0 when it counts as "none", or as resolver_find(); and have it asked
 * for if that is due.
 */
static int
judge(struct resolver *resolver, struct entry *entry, struct resolver_query *query)
{
    uint64_t now = now_ms(resolver), until;
    int counts = 1;

    if (entry->known && now < entry->expires_ms) {
        until = now < entry->refresh_ms ? entry->refresh_ms : entry->expires_ms;
        if (entry->failed && now < entry->retry_ms)
            until = MIN(until, entry->retry_ms);
        else if (now >= entry->refresh_ms)
            enqueue(resolver, entry);
    } else if (!entry->failed || (now < entry->limit_ms && !entry->known)) {
        if (entry->failed && now < entry->retry_ms && entry->work == WORK_NONE)
            return -EAGAIN;
        enqueue(resolver, entry);
        return wait_for(resolver, entry, query->wait);
    } else {
        counts = now < entry->limit_ms;
        until = now < entry->retry_ms ? entry->retry_ms : now + resolver->negative_ms;
        if (counts)
            until = MIN(until, entry->limit_ms);
        if (now >= entry->retry_ms)
            enqueue(resolver, entry);
    }
    query->until_ms = MIN(query->until_ms, until);
    return counts;
}

int
resolver_find(struct resolver *resolver, struct resolver_query *query, struct resolver_answer **answer)
{
    struct entry *entry;
    int result = -EAGAIN;

    *answer = NULL;
    pthread_mutex_lock(&resolver->lock);
    entry = find_entry(resolver, query);
    if (entry != NULL)
        result = judge(resolver, entry, query);
    if (result == 1 && entry->answer != NULL) {
        *answer = entry->answer;
        atomic_fetch_add(&entry->answer->refs, 1);
    }
    pthread_mutex_unlock(&resolver->lock);
    return MIN(result, 0);
}

static void
settle_failure(struct resolver *resolver, struct entry *entry, int err, uint64_t now)
{
    if (!entry->failed && (!entry->known || now >= entry->limit_ms)) {
        entry->known = false;                           /* what it said long ago, before anybody asked again */
        entry->limit_ms = later(now, resolver->stale_ms);
    }
    entry->failed = true;
    entry->retry_ms = now + resolver->negative_ms;
    if (resolver->failing)
        return;
    resolver->failing = true;
    resolver->user->failed(resolver->context, entry->key, err);
}

/* asked_ms: an answer's time begins when it was asked for. */
static void
settle_answer(struct resolver *resolver, struct entry *entry, struct resolver_answer *answer, uint64_t asked_ms)
{
    uint64_t ttl_ms = answer != NULL ? resolver->ttl_ms : resolver->negative_ms;
    bool changed = !entry->known || !same_answer(entry->answer, answer);

    if (entry->failed && resolver->failing) {
        resolver->failing = false;
        resolver->user->recovered(resolver->context);
    }
    set_answer(resolver, entry, answer);
    entry->known = true;
    entry->failed = false;
    entry->refresh_ms = asked_ms + ttl_ms - ttl_ms / 4;
    entry->expires_ms = asked_ms + ttl_ms;
    entry->limit_ms = later(asked_ms, resolver->stale_ms);
    if (changed && resolver->user->changed != NULL)
        resolver->user->changed(resolver->context, entry->key, answer);
}

static void *resolver_main(void *arg);

/* Start one more thread; the lock is held. Signals are for the thread that the server's owner has for them. */
static int
start_thread(struct resolver *resolver)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&resolver->threads[resolver->started], NULL, resolver_main, resolver);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err == 0) {
        resolver->started++;
        resolver->running++;
    }
    return -err;
}

/*
 * Before a thread may block, see to it that another one waits for the next question, so that no worker ever has to start
 * one. Where none can be started, those that there are do the work.
 */
static void
have_successor(struct resolver *resolver)
{
    if (resolver->idle == 0 && resolver->started < RESOLVER_THREADS && !resolver->stopping)
        start_thread(resolver);
}

/* NULL: there is none, or none that may be asked now; it is looked at again when one of those under way is answered. */
static struct entry *
next_question(struct resolver *resolver)
{
    struct entry *entry = TAILQ_FIRST(&resolver->queue);

    return entry == NULL || entry->urgent || resolver->others < resolver->others_max ? entry : NULL;
}

/* Answer one question; the lock is held before and after. */
static void
work_on(struct resolver *resolver, struct entry *entry)
{
    struct resolver_answer *answer = NULL;
    uint64_t asked_ms = now_ms(resolver);
    int err;

    TAILQ_REMOVE(&resolver->queue, entry, queue);
    entry->work = WORK_ASKED;
    resolver->others += !entry->urgent;
    have_successor(resolver);
    pthread_mutex_unlock(&resolver->lock);
    err = resolver->user->ask(resolver->context, entry->key, &answer);
    pthread_mutex_lock(&resolver->lock);
    if (resolver->stopping)
        resolver_answer_put(answer);
    else if (err < 0)
        settle_failure(resolver, entry, err, now_ms(resolver));
    else
        settle_answer(resolver, entry, answer, asked_ms);
    while (resolver->bytes > resolver->bytes_max && evict(resolver))
        continue;
    entry->work = WORK_NONE;
    resolver->others -= !entry->urgent;
    wake_waiters(resolver, entry);
}

static void
resolver_delete(struct resolver *resolver)
{
    struct entry *entry;

    while ((entry = TAILQ_FIRST(&resolver->ages)) != NULL) {
        TAILQ_REMOVE(&resolver->ages, entry, age);
        resolver_answer_put(entry->answer);
        free(entry);
    }
    pthread_cond_destroy(&resolver->work);
    pthread_mutex_destroy(&resolver->lock);
    free(resolver->buckets);
    free(resolver);
}

static void
resolver_release(struct resolver *resolver)
{
    const struct resolver_user *user = resolver->user;
    void *context = resolver->context;

    resolver_delete(resolver);
    user->release(context);
}

static void *
resolver_main(void *arg)
{
    struct resolver *resolver = arg;
    struct entry *entry;
    bool last;

    if (sandbox_enter(resolver->sandbox, SANDBOX_LOOKUP) < 0)
        abort();                        /* sandbox_new() has tried it */
    pthread_mutex_lock(&resolver->lock);
    while (!resolver->stopping) {
        entry = next_question(resolver);
        if (entry != NULL) {
            work_on(resolver, entry);
        } else {
            resolver->idle++;
            pthread_cond_wait(&resolver->work, &resolver->lock);
            resolver->idle--;
        }
    }
    resolver->running--;
    last = resolver->abandoned && resolver->running == 0;
    pthread_mutex_unlock(&resolver->lock);
    if (last)
        resolver_release(resolver);
    return NULL;
}

static size_t
power_of_two(size_t least)
{
    size_t power = BUCKETS_MIN;

    while (power < least)
        power *= 2;
    return power;
}

static void
set_times(struct resolver *resolver, uint64_t ttl_ms, uint64_t stale_ms)
{
    resolver->ttl_ms = ttl_ms;
    resolver->negative_ms = MIN(ttl_ms / NEGATIVE_PART, NEGATIVE_MAX_MS);
    resolver->stale_ms = MAX(stale_ms, ttl_ms);
}

void
resolver_set_times(struct resolver *resolver, uint64_t ttl_ms, uint64_t stale_ms)
{
    pthread_mutex_lock(&resolver->lock);
    set_times(resolver, ttl_ms, stale_ms);
    pthread_mutex_unlock(&resolver->lock);
}

int
resolver_new(const struct resolver_config *config, struct resolver **out)
{
    struct resolver *resolver = calloc(1, sizeof(*resolver));
    int err;

    if (resolver == NULL)
        return -ENOMEM;
    resolver->user = config->user;
    resolver->sandbox = config->sandbox;
    resolver->context = config->context;
    set_times(resolver, config->ttl_ms, config->stale_ms);
    resolver->others_max = RESOLVER_THREADS - config->reserved;
    resolver->entries_max = config->entries;
    resolver->bytes_max = config->bytes;
    resolver->waiting_max = config->waiting;
    resolver->waiting_each_max = config->waiting_each;
    resolver->nbuckets = power_of_two(config->entries);
    TAILQ_INIT(&resolver->ages);
    TAILQ_INIT(&resolver->queue);
    pthread_mutex_init(&resolver->lock, NULL);
    pthread_cond_init(&resolver->work, NULL);
    resolver->buckets = calloc(resolver->nbuckets, sizeof(resolver->buckets[0]));
    err = resolver->buckets == NULL ? -ENOMEM : 0;
    if (err == 0 && getrandom(resolver->hash_key, sizeof(resolver->hash_key), 0) != sizeof(resolver->hash_key))
        err = -EIO;
    if (err == 0) {
        pthread_mutex_lock(&resolver->lock);
        err = start_thread(resolver);
        pthread_mutex_unlock(&resolver->lock);
    }
    if (err < 0) {
        resolver_delete(resolver);
        return err;
    }
    *out = resolver;
    return 0;
}

void
resolver_stop(struct resolver *resolver)
{
    struct entry *entry;

    pthread_mutex_lock(&resolver->lock);
    resolver->stopping = true;
    TAILQ_FOREACH(entry, &resolver->ages, age)
        wake_waiters(resolver, entry);
    pthread_cond_broadcast(&resolver->work);
    pthread_mutex_unlock(&resolver->lock);
}

/* Join those threads that end in time. Returns how many are left, the first ones of the array then. */
static unsigned
join_some(struct resolver *resolver)
{
    struct timespec until;
    unsigned left = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FREE_WAIT_S;
    for (unsigned i = 0; i < resolver->started; i++)
        if (pthread_timedjoin_np(resolver->threads[i], NULL, &until) != 0)
            resolver->threads[left++] = resolver->threads[i];
    return left;
}

/*
 * Whether threads that hang in the source were left to themselves; the last one frees everything then. Those of them that
 * have ended meanwhile are detached as well.
 */
static bool
abandon(struct resolver *resolver, unsigned left)
{
    bool abandoned;

    pthread_mutex_lock(&resolver->lock);
    abandoned = resolver->abandoned = resolver->running > 0;
    for (unsigned i = 0; i < left && abandoned; i++)
        pthread_detach(resolver->threads[i]);
    pthread_mutex_unlock(&resolver->lock);
    return abandoned;
}

void
resolver_free(struct resolver *resolver)
{
    unsigned left;

    resolver_stop(resolver);
    left = join_some(resolver);
    if (left > 0 && abandon(resolver, left))
        return;
    for (unsigned i = 0; i < left; i++)
        pthread_join(resolver->threads[i], NULL);
    resolver_release(resolver);
}
