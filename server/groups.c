/* server/groups.c - see groups.h. A uid is the question, an array of gids the answer. */
#include "server/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GIDS_MAX (8 << 20)              /* gids in all lists that are remembered: 32 MiB */

struct groups {
    const struct groups_source *source;
    const struct log *log;
    struct resolver *resolver;
};

static int
compare_gids(const void *a, const void *b)
{
    const gid_t *one = a, *other = b;

    return *one < *other ? -1 : *one > *other;
}

/* In order, each once, without -1. Returns how many are left. */
static size_t
tidy(gid_t *gids, size_t count)
{
    size_t kept = 0;

    qsort(gids, count, sizeof(gids[0]), compare_gids);
    for (size_t i = 0; i < count; i++)
        if (gids[i] != (gid_t)-1 && (kept == 0 || gids[i] != gids[kept - 1]))
            gids[kept++] = gids[i];
    return kept;
}

static int
ask(void *context, const void *key, struct resolver_answer **answer)
{
    const struct groups *groups = context;
    gid_t *found = malloc(GROUPS_MAX * sizeof(*found));
    uint32_t count = 0;
    size_t kept;
    int err;

    if (found == NULL)
        return -ENOMEM;
    err = groups->source->list(groups->source->context, *(const uid_t *)key, found, &count);
    kept = err == 0 ? tidy(found, count) : 0;
    if (kept > 0) {
        *answer = resolver_answer_new(found, kept * sizeof(*found));
        err = *answer == NULL ? -ENOMEM : 0;
    }
    free(found);
    return err;
}

static uint64_t
now_ms(void *context)
{
    const struct groups *groups = context;

    return groups->source->now_ms(groups->source->context);
}

static void
failed(void *context, const void *key, int err)
{
    const struct groups *groups = context;

    log_warn(groups->log, "groups of users cannot be looked up (uid %u: %s); those that are known stay in use",
             (unsigned)*(const uid_t *)key, strerror(-err));
}

static void
recovered(void *context)
{
    const struct groups *groups = context;

    log_info(groups->log, "groups of users can be looked up again");
}

static const struct resolver_user resolver_user = {
    .ask = ask,
    .now_ms = now_ms,
    .failed = failed,
    .recovered = recovered,
    .release = free,
};

int
groups_new(const struct groups_config *config, struct groups **out)
{
    struct groups *groups = calloc(1, sizeof(*groups));
    const struct resolver_config resolver = {
        .user = &resolver_user,
        .context = groups,
        .entries = config->entries,
        .bytes = GIDS_MAX * sizeof(gid_t),
        .sandbox = config->sandbox,
        .ttl_ms = config->ttl_ms,
        .stale_ms = RESOLVER_FOREVER,
        .waiting = config->waiting,
        .waiting_each = config->waiting_each,
    };
    int err;

    if (groups == NULL)
        return -ENOMEM;
    groups->source = config->source != NULL ? config->source : &groups_libc;
    groups->log = config->log;
    err = resolver_new(&resolver, &groups->resolver);
    if (err < 0) {
        free(groups);
        return err;
    }
    *out = groups;
    return 0;
}

void
groups_set_ttl(struct groups *groups, uint64_t ttl_ms)
{
    resolver_set_times(groups->resolver, ttl_ms, RESOLVER_FOREVER);
}

void
groups_stop(struct groups *groups)
{
    resolver_stop(groups->resolver);
}

void
groups_free(struct groups *groups)
{
    if (groups != NULL)
        resolver_free(groups->resolver);
}

int
groups_find(struct groups *groups, uid_t uid, struct resolver_wait *wait, struct groups_list *list)
{
    struct resolver_query query = { .key = &uid, .key_len = sizeof(uid), .wait = wait };
    struct resolver_answer *answer;
    int err = resolver_find(groups->resolver, &query, &answer);

    *list = (struct groups_list){ .answer = answer };
    if (answer != NULL) {
        list->gids = (const gid_t *)answer->data;
        list->count = (uint32_t)(answer->len / sizeof(gid_t));
    }
    return err;
}

void
groups_put(struct groups_list *list)
{
    resolver_answer_put(list->answer);
    *list = (struct groups_list){ .answer = NULL };
}
