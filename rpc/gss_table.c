/*
 * rpc/gss_table.c - see gss_table.h.
 *
 * A handle is a number that this table was given when it was made, the context's slot, and how often slots of its part
 * have been filled: a handle of another server, or of a context that is gone, finds nothing.
 */
#include "rpc/gss_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PARTS_MAX 16
#define PART_ENTRIES 64                 /* fewer are not worth a lock of their own */

TAILQ_HEAD(context_list, gss_context);

struct part {
    pthread_mutex_t lock;
    struct gss_context **slots;
    uint32_t *free;                     /* slots that hold nothing: the first nfree of them */
    uint32_t entries, nfree;
    uint32_t filled;                    /* times that a slot was */
    struct context_list ages;           /* the one used last is last */
    uint64_t evicted;
};

struct gss_table {
    uint64_t (*now_ms)(void);
    uint64_t nonce;
    _Atomic uint32_t next_part;
    unsigned nparts;
    struct part parts[PARTS_MAX];
};

/* A handle, as bytes. */
struct handle {
    uint64_t nonce;
    uint32_t slot;                      /* in all parts: the part is slot % nparts */
    uint32_t filled;
};

_Static_assert(sizeof(struct handle) == GSS_HANDLE_BYTES, "no padding");

struct gss_context *
gss_context_new(const struct gss_mech *mech)
{
    struct gss_context *context = calloc(1, sizeof(*context));

    if (context == NULL)
        return NULL;
    context->mech = mech;
    pthread_mutex_init(&context->lock, NULL);
    atomic_init(&context->refs, 1);
    return context;
}

void
gss_context_put(struct gss_context *context)
{
    if (context == NULL || atomic_fetch_sub(&context->refs, 1) > 1)
        return;
    context->mech->release(context->security);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

static int
part_init(struct part *part, uint32_t entries)
{
    pthread_mutex_init(&part->lock, NULL);
    TAILQ_INIT(&part->ages);
    part->entries = entries;
    part->slots = calloc(entries, sizeof(part->slots[0]));
    part->free = calloc(entries, sizeof(part->free[0]));
    if (part->slots == NULL || part->free == NULL)
        return -ENOMEM;
    for (; part->nfree < entries; part->nfree++)
        part->free[part->nfree] = part->nfree;
    return 0;
}

int
gss_table_new(uint32_t entries, uint64_t (*now_ms)(void), struct gss_table **out)
{
    struct gss_table *table = calloc(1, sizeof(*table));
    unsigned nparts = 1;
    int err = 0;

    if (table == NULL)
        return -ENOMEM;
    table->now_ms = now_ms;
    while (nparts < PARTS_MAX && entries / (2 * nparts) >= PART_ENTRIES)
        nparts *= 2;
    for (; table->nparts < nparts && err == 0; table->nparts++)
        err = part_init(&table->parts[table->nparts],
                        entries / nparts + (table->nparts < entries % nparts ? 1 : 0));
    if (err == 0 && getrandom(&table->nonce, sizeof(table->nonce), 0) != sizeof(table->nonce))
        err = -EIO;
    if (err < 0) {
        gss_table_free(table);
        return err;
    }
    *out = table;
    return 0;
}

/* Take a context out of its part, whose lock is held; its reference is the caller's then. */
static void
unlist(struct gss_table *table, struct part *part, struct gss_context *context)
{
    TAILQ_REMOVE(&part->ages, context, age);
    part->slots[context->slot / table->nparts] = NULL;
    part->free[part->nfree++] = context->slot / table->nparts;
    context->listed = false;
}

void
gss_table_free(struct gss_table *table)
{
    struct gss_context *context;

    if (table == NULL)
        return;
    for (unsigned i = 0; i < table->nparts; i++) {
        struct part *part = &table->parts[i];

        while ((context = TAILQ_FIRST(&part->ages)) != NULL) {
            unlist(table, part, context);
            gss_context_put(context);
        }
        free(part->slots);
        free(part->free);
        pthread_mutex_destroy(&part->lock);
    }
    free(table);
}

void
gss_table_add(struct gss_table *table, struct gss_context *context)
{
    unsigned number = atomic_fetch_add(&table->next_part, 1) % table->nparts;
    struct part *part = &table->parts[number];
    struct gss_context *oldest = NULL;
    struct handle handle;

    pthread_mutex_lock(&part->lock);
    if (part->nfree == 0) {
        oldest = TAILQ_FIRST(&part->ages);
        unlist(table, part, oldest);
        part->evicted++;
    }
    context->slot = part->free[--part->nfree] * table->nparts + number;
    handle = (struct handle){ table->nonce, context->slot, ++part->filled };
    memcpy(context->handle, &handle, sizeof(handle));
    atomic_fetch_add(&context->refs, 1);
    part->slots[context->slot / table->nparts] = context;
    context->listed = true;
    TAILQ_INSERT_TAIL(&part->ages, context, age);
    pthread_mutex_unlock(&part->lock);
    gss_context_put(oldest);
}

struct gss_context *
gss_table_find(struct gss_table *table, const uint8_t *bytes, size_t len)
{
    struct gss_context *context = NULL, *expired = NULL;
    struct handle handle;
    struct part *part;

    if (len != sizeof(handle))
        return NULL;
    memcpy(&handle, bytes, sizeof(handle));
    part = &table->parts[handle.slot % table->nparts];
    pthread_mutex_lock(&part->lock);
    if (handle.slot / table->nparts < part->entries)
        context = part->slots[handle.slot / table->nparts];
    if (context != NULL && memcmp(context->handle, bytes, len) != 0)
        context = NULL;
    if (context != NULL && table->now_ms() >= atomic_load_explicit(&context->expires_ms, memory_order_relaxed)) {
        unlist(table, part, context);
        expired = context;
        context = NULL;
    }
    if (context != NULL) {
        TAILQ_REMOVE(&part->ages, context, age);
        TAILQ_INSERT_TAIL(&part->ages, context, age);
        atomic_fetch_add(&context->refs, 1);
    }
    pthread_mutex_unlock(&part->lock);
    gss_context_put(expired);
    return context;
}

void
gss_table_remove(struct gss_table *table, struct gss_context *context)
{
    struct part *part = &table->parts[context->slot % table->nparts];
    bool listed;

    pthread_mutex_lock(&part->lock);
    listed = context->listed;
    if (listed)
        unlist(table, part, context);
    pthread_mutex_unlock(&part->lock);
    if (listed)
        gss_context_put(context);
}

void
gss_table_count(struct gss_table *table, uint64_t *contexts, uint64_t *evicted)
{
    *contexts = *evicted = 0;
    for (unsigned i = 0; i < table->nparts; i++) {
        struct part *part = &table->parts[i];

        pthread_mutex_lock(&part->lock);
        *contexts += part->entries - part->nfree;
        *evicted += part->evicted;
        pthread_mutex_unlock(&part->lock);
    }
}
