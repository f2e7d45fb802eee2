/*
 * server/groups.c - see groups.h.
 *
 * A user is an entry of the cache, known or not. Entries are found through a hash table and thrown out in the order of
 * their last use, but for those that are being asked or waited for. All is under one lock, which is never held while the
 * source is asked; it is taken once for each call on an export with manage_gids.
 */
#include "server/groups.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>
#include <time.h>

#include "storage/fh.h"

#define NEGATIVE_PART 4                 /* "not known here" and failures are kept for this part of ttl_ms, */
#define NEGATIVE_MAX_MS 30000           /* and no longer than this */
#define FREE_WAIT_S 1                   /* how long the end of a question is waited for */
#define EVICT_TRIES 64                  /* entries that are looked at for one that may go */
#define GIDS_MAX (8 << 20)              /* gids in all lists that are remembered: 32 MiB */

enum entry_work { WORK_NONE, WORK_QUEUED, WORK_ASKED };

struct entry {
    LIST_ENTRY(entry) bucket;
    TAILQ_ENTRY(entry) age;
    TAILQ_ENTRY(entry) queue;
    TAILQ_HEAD(, groups_wait) waiters;
    uid_t uid;
    enum entry_work work;
    bool failed;                        /* the last try */
    struct groups_list *list;           /* NULL: never known */
    uint64_t refresh_ms;                /* when it is asked for again, if it is wanted */
    uint64_t expires_ms;
    uint64_t retry_ms;                  /* after a failure */
};

LIST_HEAD(bucket, entry);

struct groups {
    const struct groups_source *source;
    const struct log *log;
    uint64_t ttl_ms, negative_ms;
    uint32_t entries_max, waiting_max;
    uint8_t key[16];                    /* of the hash: nobody outside can choose who shares a bucket */
    gid_t *found;                       /* GROUPS_MAX; the thread's */
    pthread_t thread;

    pthread_mutex_t lock;               /* of all below */
    pthread_cond_t work;                /* there is a question, or the end */
    struct bucket *buckets;
    size_t nbuckets;                    /* a power of two */
    TAILQ_HEAD(, entry) ages;           /* the one used last is last */
    TAILQ_HEAD(, entry) queue;
    uint32_t entries, waiting;
    size_t gids;                        /* in the lists of all entries */
    bool stopping;
    bool ended;                         /* the thread looks at nothing here any more */
    bool abandoned;                     /* the thread frees everything */
    bool failing;                       /* and it has been told */
};

void
groups_put(struct groups_list *list)
{
    if (list != NULL && atomic_fetch_sub(&list->refs, 1) == 1)
        free(list);
}

static struct bucket *
bucket_of(struct groups *groups, uid_t uid)
{
    return &groups->buckets[siphash(groups->key, &uid, sizeof(uid)) & (groups->nbuckets - 1)];
}

/* Let an entry have this list, or none. */
static void
set_list(struct groups *groups, struct entry *entry, struct groups_list *list)
{
    groups->gids -= entry->list != NULL ? entry->list->count : 0;
    groups->gids += list != NULL ? list->count : 0;
    groups_put(entry->list);
    entry->list = list;
}

/* Throw out the one that was used least recently. */
static bool
evict(struct groups *groups)
{
    struct entry *entry;
    unsigned tries = EVICT_TRIES;

    TAILQ_FOREACH(entry, &groups->ages, age) {
        if (entry->work == WORK_NONE && TAILQ_EMPTY(&entry->waiters)) {
            TAILQ_REMOVE(&groups->ages, entry, age);
            LIST_REMOVE(entry, bucket);
            groups->entries--;
            set_list(groups, entry, NULL);
            free(entry);
            return true;
        }
        if (--tries == 0)
            return false;
    }
    return false;
}

/* The entry of a user, new if need be; NULL when there is no room. */
static struct entry *
find_entry(struct groups *groups, uid_t uid)
{
    struct bucket *bucket = bucket_of(groups, uid);
    struct entry *entry;

    LIST_FOREACH(entry, bucket, bucket) {
        if (entry->uid == uid) {
            TAILQ_REMOVE(&groups->ages, entry, age);
            TAILQ_INSERT_TAIL(&groups->ages, entry, age);
            return entry;
        }
    }
    if (groups->entries >= groups->entries_max && !evict(groups))
        return NULL;
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL)
        return NULL;
    entry->uid = uid;
    TAILQ_INIT(&entry->waiters);
    LIST_INSERT_HEAD(bucket, entry, bucket);
    TAILQ_INSERT_TAIL(&groups->ages, entry, age);
    groups->entries++;
    return entry;
}

static void
enqueue(struct groups *groups, struct entry *entry)
{
    if (entry->work != WORK_NONE || groups->stopping)
        return;
    entry->work = WORK_QUEUED;
    TAILQ_INSERT_TAIL(&groups->queue, entry, queue);
    pthread_cond_signal(&groups->work);
}

static int
wait_for(struct groups *groups, struct entry *entry, struct groups_wait *wait)
{
    if (groups->stopping || groups->waiting >= groups->waiting_max)
        return -EAGAIN;
    groups->waiting++;
    TAILQ_INSERT_TAIL(&entry->waiters, wait, link);
    return -EINPROGRESS;
}

static void
run_answered(struct loop_message *message)
{
    struct groups_wait *wait = (struct groups_wait *)message;

    wait->answered(wait);
}

static void
wake_waiters(struct groups *groups, struct entry *entry)
{
    struct groups_wait *wait;

    while ((wait = TAILQ_FIRST(&entry->waiters)) != NULL) {
        TAILQ_REMOVE(&entry->waiters, wait, link);
        groups->waiting--;
        wait->message.run = run_answered;
        loop_post(wait->loop, &wait->message);
    }
}

/* Whether an entry's list can be used, 0, or as groups_find(); and have it asked for if that is due. */
static int
judge(struct groups *groups, struct entry *entry, struct groups_wait *wait)
{
    uint64_t now = groups->source->now_ms(groups->source->context);
    bool fresh = entry->list != NULL && now < entry->expires_ms;
    bool may_ask = !entry->failed || now >= entry->retry_ms;

    if (fresh || (entry->list != NULL && entry->failed)) {
        if (may_ask && now >= entry->refresh_ms)
            enqueue(groups, entry);
        return 0;
    }
    if (!may_ask && entry->work == WORK_NONE)
        return -EAGAIN;
    enqueue(groups, entry);
    return wait_for(groups, entry, wait);
}

int
groups_find(struct groups *groups, uid_t uid, struct groups_wait *wait, struct groups_list **list)
{
    struct entry *entry;
    int err = -EAGAIN;

    pthread_mutex_lock(&groups->lock);
    entry = find_entry(groups, uid);
    if (entry != NULL)
        err = judge(groups, entry, wait);
    if (err == 0) {
        *list = entry->list;
        atomic_fetch_add(&entry->list->refs, 1);
    }
    pthread_mutex_unlock(&groups->lock);
    return err;
}

static int
compare_gids(const void *a, const void *b)
{
    const gid_t *one = a, *other = b;

    return *one < *other ? -1 : *one > *other;
}

/* A list of what was found, with one reference; NULL when memory is short. */
static struct groups_list *
make_list(gid_t *gids, uint32_t count)
{
    struct groups_list *list = malloc(sizeof(*list) + count * sizeof(list->gids[0]));

    if (list == NULL)
        return NULL;
    atomic_init(&list->refs, 1);
    list->count = 0;
    qsort(gids, count, sizeof(gids[0]), compare_gids);
    for (uint32_t i = 0; i < count; i++)
        if (gids[i] != (gid_t)-1 && (list->count == 0 || gids[i] != list->gids[list->count - 1]))
            list->gids[list->count++] = gids[i];
    return list;
}

static void
settle_failure(struct groups *groups, struct entry *entry, int err)
{
    entry->failed = true;
    entry->retry_ms = groups->source->now_ms(groups->source->context) + groups->negative_ms;
    if (groups->failing)
        return;
    groups->failing = true;
    log_warn(groups->log, "groups of users cannot be looked up (uid %u: %s); those that are known stay in use",
             (unsigned)entry->uid, strerror(-err));
}

/* asked_ms: an answer's time begins when it was asked for. */
static void
settle_answer(struct groups *groups, struct entry *entry, struct groups_list *list, uint64_t asked_ms)
{
    uint64_t ttl_ms = list->count > 0 ? groups->ttl_ms : groups->negative_ms;

    if (entry->failed && groups->failing) {
        groups->failing = false;
        log_info(groups->log, "groups of users can be looked up again");
    }
    set_list(groups, entry, list);
    entry->failed = false;
    entry->refresh_ms = asked_ms + ttl_ms - ttl_ms / 4;
    entry->expires_ms = asked_ms + ttl_ms;
}

/* Answer one question; the lock is held before and after. */
static void
work_on(struct groups *groups, struct entry *entry)
{
    const struct groups_source *source = groups->source;
    uint64_t asked_ms = source->now_ms(source->context);
    struct groups_list *list = NULL;
    uint32_t count = 0;
    int err;

    TAILQ_REMOVE(&groups->queue, entry, queue);
    entry->work = WORK_ASKED;
    pthread_mutex_unlock(&groups->lock);
    err = source->list(source->context, entry->uid, groups->found, &count);
    if (err == 0) {
        list = make_list(groups->found, count);
        err = list == NULL ? -ENOMEM : 0;
    }
    pthread_mutex_lock(&groups->lock);
    if (groups->stopping)
        groups_put(list);
    else if (err < 0)
        settle_failure(groups, entry, err);
    else
        settle_answer(groups, entry, list, asked_ms);
    while (groups->gids > GIDS_MAX && evict(groups))
        continue;
    entry->work = WORK_NONE;
    wake_waiters(groups, entry);
}

static void
groups_delete(struct groups *groups)
{
    struct entry *entry;

    while ((entry = TAILQ_FIRST(&groups->ages)) != NULL) {
        TAILQ_REMOVE(&groups->ages, entry, age);
        groups_put(entry->list);
        free(entry);
    }
    pthread_cond_destroy(&groups->work);
    pthread_mutex_destroy(&groups->lock);
    free(groups->buckets);
    free(groups->found);
    free(groups);
}

static void *
resolver_main(void *arg)
{
    struct groups *groups = arg;
    struct entry *entry;
    bool abandoned;

    pthread_mutex_lock(&groups->lock);
    while (!groups->stopping) {
        entry = TAILQ_FIRST(&groups->queue);
        if (entry != NULL)
            work_on(groups, entry);
        else
            pthread_cond_wait(&groups->work, &groups->lock);
    }
    groups->ended = true;
    abandoned = groups->abandoned;
    pthread_mutex_unlock(&groups->lock);
    if (abandoned)
        groups_delete(groups);
    return NULL;
}

/* Signals are for the thread that the server's owner has for them. */
static int
start_thread(struct groups *groups)
{
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&groups->thread, NULL, resolver_main, groups);
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
groups_new(const struct groups_config *config, struct groups **out)
{
    struct groups *groups = calloc(1, sizeof(*groups));
    int err;

    if (groups == NULL)
        return -ENOMEM;
    groups->source = config->source != NULL ? config->source : &groups_libc;
    groups->log = config->log;
    groups->ttl_ms = config->ttl_ms;
    groups->negative_ms = MIN(config->ttl_ms / NEGATIVE_PART, NEGATIVE_MAX_MS);
    groups->entries_max = config->entries;
    groups->waiting_max = config->waiting;
    groups->nbuckets = power_of_two(config->entries);
    TAILQ_INIT(&groups->ages);
    TAILQ_INIT(&groups->queue);
    pthread_mutex_init(&groups->lock, NULL);
    pthread_cond_init(&groups->work, NULL);
    groups->buckets = calloc(groups->nbuckets, sizeof(groups->buckets[0]));
    groups->found = calloc(GROUPS_MAX, sizeof(groups->found[0]));
    err = groups->buckets == NULL || groups->found == NULL ? -ENOMEM : 0;
    if (err == 0 && getrandom(groups->key, sizeof(groups->key), 0) != sizeof(groups->key))
        err = -EIO;
    if (err == 0)
        err = start_thread(groups);
    if (err < 0) {
        groups_delete(groups);
        return err;
    }
    *out = groups;
    return 0;
}

void
groups_stop(struct groups *groups)
{
    struct entry *entry;

    pthread_mutex_lock(&groups->lock);
    groups->stopping = true;
    TAILQ_FOREACH(entry, &groups->ages, age)
        wake_waiters(groups, entry);
    pthread_cond_signal(&groups->work);
    pthread_mutex_unlock(&groups->lock);
}

/* Whether the thread that hangs in the source was left to itself; it frees everything then. */
static bool
abandon(struct groups *groups)
{
    bool abandoned;

    pthread_mutex_lock(&groups->lock);
    abandoned = groups->abandoned = !groups->ended;
    if (abandoned)
        pthread_detach(groups->thread);
    pthread_mutex_unlock(&groups->lock);
    return abandoned;
}

void
groups_free(struct groups *groups)
{
    struct timespec until;

    if (groups == NULL)
        return;
    groups_stop(groups);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FREE_WAIT_S;
    if (pthread_timedjoin_np(groups->thread, NULL, &until) != 0) {
        if (abandon(groups))
            return;
        pthread_join(groups->thread, NULL);
    }
    groups_delete(groups);
}
