/* tests/lib/fake_hosts.c - see fake_hosts.h. */
#include "tests/lib/fake_hosts.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool
is_blocked(const struct fake_hosts *fake, const char *about)
{
    return fake->blocked != (fake->except[0] != '\0' && strcmp(fake->except, about) == 0);
}

/* Returns the error that all questions come to; the lock is held then. */
static int
enter(struct fake_hosts *fake, const char *about)
{
    unsigned before;

    pthread_mutex_lock(&fake->lock);
    before = atomic_load(&fake->asked);
    if (before < FAKE_FIRST)
        snprintf(fake->first[before], sizeof(fake->first[before]), "%.63s", about);
    atomic_fetch_add(&fake->asked, 1);                  /* who sees it may look at what was noted */
    fake->inside++;
    pthread_cond_broadcast(&fake->changed);
    while (is_blocked(fake, about))
        pthread_cond_wait(&fake->changed, &fake->lock);
    fake->inside--;
    return fake->err;
}

static void
read_address(struct peer_address *address, const char *text)
{
    memset(address, 0, sizeof(*address));
    address->bits = strchr(text, ':') != NULL ? PEER_BITS6 : PEER_BITS4;
    if (inet_pton(address->bits == PEER_BITS6 ? AF_INET6 : AF_INET, text, address->bytes) != 1)
        assert(!"an address of a test");
}

static int
fake_addresses(void *context, const char *name, struct hosts_addresses *addresses)
{
    struct fake_hosts *fake = context;
    int err = enter(fake, name);

    for (size_t i = 0; err == 0 && i < fake->count; i++) {
        const struct fake_record *record = &fake->records[i];

        if (record->kind == FAKE_ADDRESS && strcasecmp(record->key, name) == 0)
            read_address(&addresses->list[addresses->count++], record->value);
    }
    pthread_mutex_unlock(&fake->lock);
    return err;
}

static int
fake_names(struct fake_hosts *fake, enum fake_kind kind, const char *key, struct hosts_names *names)
{
    int err = enter(fake, key);

    for (size_t i = 0; err == 0 && i < fake->count; i++) {
        const struct fake_record *record = &fake->records[i];

        if (record->kind == kind && strcasecmp(record->key, key) == 0 && names->count < HOSTS_NAMES_MAX)
            snprintf(names->list[names->count++], HOSTS_NAME_BYTES, "%.255s", record->value);
    }
    pthread_mutex_unlock(&fake->lock);
    return err;
}

static int
fake_name_of(void *context, const struct peer_address *address, struct hosts_names *names)
{
    struct peer_text text;

    return fake_names(context, FAKE_NAME, peer_address_format(address, &text), names);
}

static int
fake_aliases(void *context, const char *name, struct hosts_names *names)
{
    return fake_names(context, FAKE_ALIAS, name, names);
}

static int
fake_in_netgroup(void *context, const char *netgroup, const char *host, bool *member)
{
    struct fake_hosts *fake = context;
    int err = enter(fake, netgroup);

    for (size_t i = 0; err == 0 && i < fake->count; i++) {
        const struct fake_record *record = &fake->records[i];

        if (record->kind == FAKE_MEMBER && strcmp(record->key, netgroup) == 0 && strcasecmp(record->value, host) == 0)
            *member = true;
    }
    pthread_mutex_unlock(&fake->lock);
    return err;
}

static uint64_t
fake_now_ms(void *context)
{
    struct fake_hosts *fake = context;

    return atomic_load(&fake->now_ms);
}

void
fake_hosts_init(struct fake_hosts *fake)
{
    memset(fake, 0, sizeof(*fake));
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->changed, NULL);
    atomic_init(&fake->now_ms, 1000000);
    fake->source = (struct hosts_source){
        .context = fake,
        .addresses = fake_addresses,
        .name = fake_name_of,
        .aliases = fake_aliases,
        .in_netgroup = fake_in_netgroup,
        .now_ms = fake_now_ms,
    };
}

void
fake_hosts_fini(struct fake_hosts *fake)
{
    pthread_cond_destroy(&fake->changed);
    pthread_mutex_destroy(&fake->lock);
}

static void
add(struct fake_hosts *fake, enum fake_kind kind, const char *key, const char *value)
{
    struct fake_record *record;

    pthread_mutex_lock(&fake->lock);
    assert(fake->count < FAKE_RECORDS);
    record = &fake->records[fake->count++];
    record->kind = kind;
    snprintf(record->key, sizeof(record->key), "%s", key);
    snprintf(record->value, sizeof(record->value), "%s", value);
    pthread_mutex_unlock(&fake->lock);
}

void
fake_address(struct fake_hosts *fake, const char *name, const char *address)
{
    add(fake, FAKE_ADDRESS, name, address);
}

void
fake_name(struct fake_hosts *fake, const char *address, const char *name)
{
    add(fake, FAKE_NAME, address, name);
}

void
fake_alias(struct fake_hosts *fake, const char *name, const char *alias)
{
    add(fake, FAKE_ALIAS, name, alias);
}

void
fake_member(struct fake_hosts *fake, const char *netgroup, const char *host)
{
    add(fake, FAKE_MEMBER, netgroup, host);
}

void
fake_host(struct fake_hosts *fake, const char *name, const char *address)
{
    fake_address(fake, name, address);
    fake_name(fake, address, name);
}

void
fake_forget(struct fake_hosts *fake, const char *key)
{
    size_t kept = 0;

    pthread_mutex_lock(&fake->lock);
    for (size_t i = 0; i < fake->count; i++)
        if (strcmp(fake->records[i].key, key) != 0)
            fake->records[kept++] = fake->records[i];
    fake->count = kept;
    pthread_mutex_unlock(&fake->lock);
}

void
fake_fail(struct fake_hosts *fake, int err)
{
    pthread_mutex_lock(&fake->lock);
    fake->err = err;
    pthread_mutex_unlock(&fake->lock);
}

void
fake_block(struct fake_hosts *fake, bool blocked)
{
    pthread_mutex_lock(&fake->lock);
    fake->blocked = blocked;
    fake->except[0] = '\0';
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

void
fake_except(struct fake_hosts *fake, const char *about)
{
    pthread_mutex_lock(&fake->lock);
    snprintf(fake->except, sizeof(fake->except), "%s", about);
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

void
fake_wait_blocked(struct fake_hosts *fake, unsigned questions)
{
    pthread_mutex_lock(&fake->lock);
    while (fake->inside < questions)
        pthread_cond_wait(&fake->changed, &fake->lock);
    pthread_mutex_unlock(&fake->lock);
}

void
fake_pass_ms(struct fake_hosts *fake, uint64_t ms)
{
    atomic_fetch_add(&fake->now_ms, ms);
}
