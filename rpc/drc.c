/*
 * rpc/drc.c - the duplicate request cache; see drc.h.
 *
 * An entry is made when a call begins, and becomes a reply when it ends. Entries of calls that run are in no list but
 * their bucket's, so that nothing can push them out; those with a reply are in one of two rows, oldest first, for calls
 * that carry data and for others.
 */
#include "rpc/drc.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "rpc/call.h"
#include "rpc/source.h"

#define PARTS_MAX 16
#define PART_ENTRIES 256                /* at least, where there is more than one part */
#define WHOLE_BYTES 1024                /* arguments up to here are digested whole; longer ones carry data ... */
#define HEAD_BYTES 256                  /* ... and of these the beginning, as knfsd does (RC_CSUMLEN) */
#define CACHE_LINE 64
#define USUAL_RESULTS 128               /* bytes of a reply to WRITE */
#define SAVED_HEAD_BYTES 20             /* the key of the digests, and how many entries follow */
#define SAVED_ENTRY_BYTES 80            /* an entry without its results */

enum kind { KIND_NAMES, KIND_DATA, KINDS };

/* What look-ups and the rows need lies together in the first cache line. */
struct drc_entry {
    _Alignas(CACHE_LINE) LIST_ENTRY(drc_entry) chain;   /* in its bucket */
    TAILQ_ENTRY(drc_entry) age;         /* in the row of its kind, or of those that are free */
    uint64_t place;                     /* the hash of its key */
    uint64_t expires_ms;                /* of a reply */
    struct drc_call *waiting;           /* for the end of the call that runs */
    uint16_t len;
    bool running;
    struct drc_key key;
    const void *origin;
    uint8_t results[DRC_REPLY_MAX];
};

LIST_HEAD(bucket, drc_entry);
TAILQ_HEAD(row, drc_entry);

struct counters {
    _Atomic uint64_t hits, misses, dropped, waited, evicted, unkept;
};

struct part {
    _Alignas(64) pthread_mutex_t lock;
    struct drc_entry *entries;
    size_t max, used;                   /* entries; those from `used` on were never touched */
    struct bucket *buckets;
    size_t mask;
    struct row free;
    struct row replies[KINDS];
    size_t held[KINDS];                 /* entries, running ones included */
    struct counters counters;           /* written with the lock held */
};

struct drc {
    struct part parts[PARTS_MAX];
    unsigned nparts;                    /* a power of two */
    uint8_t hash_key[16];
    uint64_t (*hash)(const uint8_t key[16], const void *data, size_t len);
    uint64_t (*now_ms)(void);
};

_Static_assert(sizeof(struct drc_key) == 64, "no padding");
_Static_assert(DRC_REPLY_MAX <= UINT16_MAX, "fits len");

static int
part_init(struct part *part, size_t entries)
{
    size_t buckets = 1;

    while (buckets < entries)
        buckets *= 2;
    pthread_mutex_init(&part->lock, NULL);
    TAILQ_INIT(&part->free);
    for (unsigned kind = 0; kind < KINDS; kind++)
        TAILQ_INIT(&part->replies[kind]);
    part->max = entries;
    part->mask = buckets - 1;
    part->entries = aligned_alloc(CACHE_LINE, entries * sizeof(part->entries[0]));      /* touched as they are used */
    part->buckets = calloc(buckets, sizeof(part->buckets[0]));
    return part->entries == NULL || part->buckets == NULL ? -ENOMEM : 0;
}

static void
part_fini(struct part *part)
{
    free(part->entries);
    free(part->buckets);
    pthread_mutex_destroy(&part->lock);
}

int
drc_new(const struct drc_config *config, struct drc **out)
{
    unsigned nparts = 1;
    struct drc *drc = aligned_alloc(_Alignof(struct drc), sizeof(*drc));
    int err = 0;

    if (drc == NULL)
        return -ENOMEM;
    memset(drc, 0, sizeof(*drc));
    drc->hash = config->hash;
    drc->now_ms = config->now_ms;
    while (nparts < PARTS_MAX && config->entries / (2 * nparts) >= PART_ENTRIES)
        nparts *= 2;
    for (; drc->nparts < nparts && err == 0; drc->nparts++)
        err = part_init(&drc->parts[drc->nparts],
                        config->entries / nparts + (drc->nparts < config->entries % nparts ? 1 : 0));
    if (err == 0 && getrandom(drc->hash_key, sizeof(drc->hash_key), 0) != sizeof(drc->hash_key))
        err = -EIO;
    if (err < 0) {
        drc_free(drc);
        return err;
    }
    *out = drc;
    return 0;
}

void
drc_free(struct drc *drc)
{
    if (drc == NULL)
        return;
    for (unsigned i = 0; i < drc->nparts; i++)
        part_fini(&drc->parts[i]);
    free(drc);
}

static void
put_peer(const struct sockaddr_storage *peer, struct drc_key *key)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)peer;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;

    key->family = (uint8_t)peer->ss_family;
    if (peer->ss_family == AF_INET6) {
        memcpy(key->address, &in6->sin6_addr, sizeof(in6->sin6_addr));
        key->scope = in6->sin6_scope_id;
        key->port = in6->sin6_port;
    } else {
        memcpy(key->address, &in->sin_addr, sizeof(in->sin_addr));
        key->port = in->sin_port;
    }
}

void
drc_identify(const struct drc *drc, const struct call *call, struct wire_in args, struct drc_call *out)
{
    struct drc_key *key = &out->key;
    size_t len = wire_left(&args);

    *key = (struct drc_key){
        .digest = drc->hash(drc->hash_key, args.p, len <= WHOLE_BYTES ? len : HEAD_BYTES),
        .xid = call->xid,
        .prog = call->prog,
        .vers = call->vers,
        .proc = call->proc,
        .args_bytes = (uint32_t)len,
        .flavor = call->auth.flavor,
        .stream = call->stream,
    };
    if (call->auth.flavor == CALL_AUTH_SYS) {
        key->uid = call->auth.uid;
        key->gid = call->auth.gid;
    } else if (call->auth.flavor >= CALL_AUTH_KRB5) {    /* the name, not the context: he may have made a new one */
        key->uid = (uint32_t)call->auth.principal;
        key->gid = (uint32_t)(call->auth.principal >> 32);
    }
    put_peer(&call->peer, key);
    out->place = drc->hash(drc->hash_key, key, sizeof(*key));
    out->origin = call->source;
    out->entry = NULL;
}

static enum kind
kind_of(const struct drc_key *key)
{
    return key->args_bytes <= WHOLE_BYTES ? KIND_NAMES : KIND_DATA;
}

static struct part *
part_of(struct drc *drc, const struct drc_call *call)
{
    return &drc->parts[(call->place >> 32) & (drc->nparts - 1)];
}

/* The lock is held from here on. */

static void
count(_Atomic uint64_t *counter)
{
    stat_add(counter, 1);
}

static struct drc_entry *
find(struct part *part, const struct drc_call *call)
{
    struct drc_entry *entry;

    LIST_FOREACH(entry, &part->buckets[call->place & part->mask], chain)
        if (entry->place == call->place && memcmp(&entry->key, &call->key, sizeof(entry->key)) == 0)
            return entry;
    return NULL;
}

/* Take an entry out of its bucket; it is in no row. */
static void
unhook(struct part *part, struct drc_entry *entry)
{
    LIST_REMOVE(entry, chain);
    part->held[kind_of(&entry->key)]--;
}

static void
take_reply(struct part *part, struct drc_entry *entry)
{
    TAILQ_REMOVE(&part->replies[kind_of(&entry->key)], entry, age);
    unhook(part, entry);
}

/* The reply that makes room: one that has expired, else the oldest of those that have more than their half. */
static struct drc_entry *
oldest(struct part *part, enum kind kind, uint64_t now_ms)
{
    struct drc_entry *mine = TAILQ_FIRST(&part->replies[kind]);
    struct drc_entry *theirs = TAILQ_FIRST(&part->replies[kind == KIND_DATA ? KIND_NAMES : KIND_DATA]);

    if (theirs == NULL || (mine != NULL && now_ms >= mine->expires_ms))
        return mine;
    if (mine == NULL || now_ms >= theirs->expires_ms)
        return theirs;
    return part->held[kind] * 2 < part->max ? theirs : mine;
}

/* An entry that is in no list; NULL when calls that run hold them all. */
static struct drc_entry *
make_room(struct part *part, enum kind kind, uint64_t now_ms)
{
    struct drc_entry *entry = TAILQ_FIRST(&part->free);

    if (entry != NULL) {
        TAILQ_REMOVE(&part->free, entry, age);
        return entry;
    }
    if (part->used < part->max)
        return &part->entries[part->used++];
    entry = oldest(part, kind, now_ms);
    if (entry == NULL)
        return NULL;
    if (now_ms < entry->expires_ms)
        count(&part->counters.evicted);
    take_reply(part, entry);
    return entry;
}

/*
 * The table is larger than the processor's caches, and the reply that is pushed out next the coldest of all. Its lines
 * and its neighbours' are fetched while other calls run.
 */
static void
fetch_oldest(const struct part *part, enum kind kind)
{
    const struct drc_entry *entry = TAILQ_FIRST(&part->replies[kind]);

    if (entry == NULL || part->used < part->max)
        return;
    for (size_t at = CACHE_LINE; at < offsetof(struct drc_entry, results) + USUAL_RESULTS; at += CACHE_LINE)
        __builtin_prefetch((const uint8_t *)entry + at, 1);
    __builtin_prefetch(TAILQ_NEXT(entry, age), 1);
    __builtin_prefetch(entry->chain.le_prev, 1);
    if (LIST_NEXT(entry, chain) != NULL)
        __builtin_prefetch(LIST_NEXT(entry, chain), 1);
}

static enum drc_verdict
begin_new(struct part *part, struct drc_call *call, uint64_t now_ms)
{
    enum kind kind = kind_of(&call->key);
    struct drc_entry *entry = make_room(part, kind, now_ms);

    count(&part->counters.misses);
    call->entry = entry;
    if (entry == NULL) {
        count(&part->counters.unkept);
        return DRC_NEW;
    }
    entry->key = call->key;
    entry->place = call->place;
    entry->origin = call->origin;
    entry->waiting = NULL;
    entry->running = true;
    LIST_INSERT_HEAD(&part->buckets[call->place & part->mask], entry, chain);
    part->held[kind]++;
    fetch_oldest(part, kind);
    return DRC_NEW;
}

static enum drc_verdict
meet(struct part *part, struct drc_entry *running, struct drc_call *call)
{
    if (call->ready == NULL || call->origin == running->origin) {
        count(&part->counters.dropped);
        return DRC_RUNNING;
    }
    count(&part->counters.waited);
    call->next = running->waiting;
    running->waiting = call;
    return DRC_WAIT;
}

static void
put_last(struct part *part, struct drc_entry *entry, uint64_t now_ms)
{
    entry->expires_ms = now_ms + DRC_KEEP_MS;
    TAILQ_INSERT_TAIL(&part->replies[kind_of(&entry->key)], entry, age);
}

static enum drc_verdict
answer(struct part *part, struct drc_entry *entry, struct drc_reply *reply, uint64_t now_ms)
{
    count(&part->counters.hits);
    TAILQ_REMOVE(&part->replies[kind_of(&entry->key)], entry, age);
    put_last(part, entry, now_ms);
    memcpy(reply->results, entry->results, entry->len);
    reply->len = entry->len;
    return DRC_DONE;
}

enum drc_verdict
drc_begin(struct drc *drc, struct drc_call *call, struct drc_reply *reply)
{
    struct part *part = part_of(drc, call);
    uint64_t now_ms = drc->now_ms();
    struct drc_entry *entry;
    enum drc_verdict verdict;

    pthread_mutex_lock(&part->lock);
    entry = find(part, call);
    if (entry != NULL && !entry->running && now_ms >= entry->expires_ms) {
        take_reply(part, entry);
        TAILQ_INSERT_HEAD(&part->free, entry, age);
        entry = NULL;
    }
    if (entry == NULL)
        verdict = begin_new(part, call, now_ms);
    else if (entry->running)
        verdict = meet(part, entry, call);
    else
        verdict = answer(part, entry, reply, now_ms);
    pthread_mutex_unlock(&part->lock);
    return verdict;
}

/* Without the lock; what is woken may be gone when ready() returns. */
static void
wake(struct drc_call *waiting)
{
    struct drc_call *next;

    for (; waiting != NULL; waiting = next) {
        next = waiting->next;
        waiting->ready(waiting);
    }
}

void
drc_keep(struct drc *drc, struct drc_call *call, const uint8_t *results, size_t len)
{
    struct part *part = part_of(drc, call);
    struct drc_entry *entry = call->entry;
    uint64_t now_ms = drc->now_ms();
    struct drc_call *waiting;

    if (len > DRC_REPLY_MAX) {
        drc_forget(drc, call);
        return;
    }
    pthread_mutex_lock(&part->lock);
    assert(entry->running);
    memcpy(entry->results, results, len);
    entry->len = (uint16_t)len;
    entry->running = false;
    waiting = entry->waiting;
    put_last(part, entry, now_ms);
    pthread_mutex_unlock(&part->lock);
    call->entry = NULL;
    wake(waiting);
}

void
drc_forget(struct drc *drc, struct drc_call *call)
{
    struct part *part = part_of(drc, call);
    struct drc_entry *entry = call->entry;
    struct drc_call *waiting;

    pthread_mutex_lock(&part->lock);
    assert(entry->running);
    waiting = entry->waiting;
    unhook(part, entry);
    TAILQ_INSERT_HEAD(&part->free, entry, age);
    pthread_mutex_unlock(&part->lock);
    call->entry = NULL;
    wake(waiting);
}

static void
clear_part(struct part *part)
{
    struct drc_entry *entry;

    for (unsigned kind = 0; kind < KINDS; kind++) {
        while ((entry = TAILQ_FIRST(&part->replies[kind])) != NULL) {
            take_reply(part, entry);
            TAILQ_INSERT_HEAD(&part->free, entry, age);
        }
    }
}

void
drc_clear(struct drc *drc)
{
    for (unsigned i = 0; i < drc->nparts; i++) {
        pthread_mutex_lock(&drc->parts[i].lock);
        clear_part(&drc->parts[i]);
        pthread_mutex_unlock(&drc->parts[i].lock);
    }
}

static void
add(uint64_t *sum, const _Atomic uint64_t *counter)
{
    *sum += atomic_load_explicit(counter, memory_order_relaxed);
}

void
drc_read_stats(const struct drc *drc, struct drc_stats *stats)
{
    *stats = (struct drc_stats){ 0 };
    for (unsigned i = 0; i < drc->nparts; i++) {
        const struct counters *counters = &drc->parts[i].counters;

        add(&stats->hits, &counters->hits);
        add(&stats->misses, &counters->misses);
        add(&stats->dropped, &counters->dropped);
        add(&stats->waited, &counters->waited);
        add(&stats->evicted, &counters->evicted);
        add(&stats->unkept, &counters->unkept);
    }
}

/* The locks of all parts are held by whoever saves. */
static void
lock_all(struct drc *drc, bool lock)
{
    for (unsigned i = 0; i < drc->nparts; i++)
        if (lock)
            pthread_mutex_lock(&drc->parts[i].lock);
        else
            pthread_mutex_unlock(&drc->parts[i].lock);
}

static int
compare_ages(const void *a, const void *b)
{
    const struct drc_entry *first = *(const struct drc_entry *const *)a, *second = *(const struct drc_entry *const *)b;

    return (first->expires_ms > second->expires_ms) - (first->expires_ms < second->expires_ms);
}

/* All replies that are good, the oldest first; *held: entries that there are. Returns how many. */
static size_t
list_replies(struct drc *drc, const struct drc_entry **list, size_t *held)
{
    uint64_t now_ms = drc->now_ms();
    struct drc_entry *entry;
    size_t count = 0, replies = 0;

    *held = 0;
    for (unsigned i = 0; i < drc->nparts; i++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            *held += drc->parts[i].held[kind];
            TAILQ_FOREACH(entry, &drc->parts[i].replies[kind], age) {
                replies++;
                if (now_ms < entry->expires_ms)
                    list[count++] = entry;
            }
        }
    }
    *held -= replies;
    qsort(list, count, sizeof(*list), compare_ages);
    return count;
}

static void
put_entry(struct wire_out *out, const struct drc_entry *entry, uint64_t now_ms)
{
    const struct drc_key *key = &entry->key;

    wire_put_fixed(out, key->address, sizeof(key->address));
    wire_put_u64(out, key->digest);
    wire_put_u32(out, key->scope);
    wire_put_u32(out, key->xid);
    wire_put_u32(out, key->prog);
    wire_put_u32(out, key->vers);
    wire_put_u32(out, key->proc);
    wire_put_u32(out, key->args_bytes);
    wire_put_u32(out, key->flavor);
    wire_put_u32(out, key->uid);
    wire_put_u32(out, key->gid);
    wire_put_u32(out, key->port);
    wire_put_u32(out, (uint32_t)key->family << 8 | key->stream);
    wire_put_u64(out, entry->expires_ms - now_ms);
    wire_put_opaque(out, entry->results, entry->len);
}

/* The key and the results, with the time that is left in expires_ms. Returns false where there is no entry. */
static bool
get_entry(struct wire_in *in, struct drc_entry *entry)
{
    struct drc_key *key = &entry->key;
    const uint8_t *address = wire_get_bytes(in, sizeof(key->address)), *results;
    uint32_t port, kind, len;

    *key = (struct drc_key){ .digest = wire_get_u64(in) };
    key->scope = wire_get_u32(in);
    key->xid = wire_get_u32(in);
    key->prog = wire_get_u32(in);
    key->vers = wire_get_u32(in);
    key->proc = wire_get_u32(in);
    key->args_bytes = wire_get_u32(in);
    key->flavor = wire_get_u32(in);
    key->uid = wire_get_u32(in);
    key->gid = wire_get_u32(in);
    port = wire_get_u32(in);
    kind = wire_get_u32(in);
    entry->expires_ms = wire_get_u64(in);
    results = wire_get_opaque(in, DRC_REPLY_MAX, &len);
    if (in->bad || port > UINT16_MAX || kind > UINT16_MAX || entry->expires_ms > DRC_KEEP_MS)
        return false;
    memcpy(key->address, address, sizeof(key->address));
    key->port = (uint16_t)port;
    key->family = (uint8_t)(kind >> 8);
    key->stream = (uint8_t)kind;
    entry->len = (uint16_t)len;
    memcpy(entry->results, results, len);
    return true;
}

/* With the locks held. */
static int
save(struct drc *drc, const struct drc_entry **list, void **data, size_t *len)
{
    uint64_t now_ms = drc->now_ms();
    size_t running, count = list_replies(drc, list, &running), size = SAVED_HEAD_BYTES;
    struct wire_out out;

    if (running > 0)
        return -EBUSY;
    for (size_t i = 0; i < count; i++)
        size += SAVED_ENTRY_BYTES + wire_padded(list[i]->len);
    *data = malloc(size);
    if (*data == NULL)
        return -ENOMEM;
    out = (struct wire_out){ .p = *data, .end = (uint8_t *)*data + size };
    wire_put_fixed(&out, drc->hash_key, sizeof(drc->hash_key));
    wire_put_u32(&out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        put_entry(&out, list[i], now_ms);
    assert(!out.full && wire_room(&out) == 0);
    *len = size;
    return 0;
}

int
drc_save(struct drc *drc, void **data, size_t *len)
{
    const struct drc_entry **list;
    size_t max = 1;
    int err;

    for (unsigned i = 0; i < drc->nparts; i++)
        max += drc->parts[i].max;
    list = calloc(max, sizeof(*list));
    if (list == NULL)
        return -ENOMEM;
    lock_all(drc, true);
    err = save(drc, list, data, len);
    lock_all(drc, false);
    free(list);
    return err;
}

static void
add_reply(struct drc *drc, const struct drc_entry *saved)
{
    struct drc_call call = { .key = saved->key, .place = drc->hash(drc->hash_key, &saved->key, sizeof(saved->key)) };
    struct part *part = part_of(drc, &call);
    uint64_t now_ms = drc->now_ms();
    struct drc_entry *entry = NULL;

    pthread_mutex_lock(&part->lock);
    if (find(part, &call) == NULL)
        entry = make_room(part, kind_of(&call.key), now_ms);
    if (entry != NULL) {
        *entry = *saved;
        entry->place = call.place;
        entry->origin = NULL;
        entry->waiting = NULL;
        entry->running = false;
        entry->expires_ms = now_ms + saved->expires_ms;
        LIST_INSERT_HEAD(&part->buckets[call.place & part->mask], entry, chain);
        part->held[kind_of(&entry->key)]++;
        TAILQ_INSERT_TAIL(&part->replies[kind_of(&entry->key)], entry, age);
    }
    pthread_mutex_unlock(&part->lock);
}

/* Everything is looked at before anything is taken. */
int
drc_load(struct drc *drc, const void *data, size_t len)
{
    struct wire_in in = { data, (const uint8_t *)data + len, false }, entries;
    const uint8_t *hash_key = wire_get_bytes(&in, sizeof(drc->hash_key));
    uint32_t count = wire_get_u32(&in);
    struct drc_entry entry = { .len = 0 };

    entries = in;
    for (uint32_t i = 0; i < count; i++)
        if (!get_entry(&in, &entry))
            return -EBADMSG;
    if (in.bad || wire_left(&in) != 0)
        return -EBADMSG;
    memcpy(drc->hash_key, hash_key, sizeof(drc->hash_key));
    for (uint32_t i = 0; i < count; i++) {
        get_entry(&entries, &entry);
        add_reply(drc, &entry);
    }
    return 0;
}
