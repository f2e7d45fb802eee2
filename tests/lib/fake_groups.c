/* tests/lib/fake_groups.c - see fake_groups.h. */
#include "tests/lib/fake_groups.h"

#include <string.h>

static int
fake_list(void *context, uid_t uid, gid_t *gids, uint32_t *count)
{
    struct fake_groups *fake = context;
    int err;

    pthread_mutex_lock(&fake->lock);
    atomic_fetch_add(&fake->asked, 1);
    while (fake->blocked)
        pthread_cond_wait(&fake->changed, &fake->lock);
    *count = uid == fake->uid ? fake->count : 0;
    for (uint32_t i = 0; i < *count; i++)
        gids[i] = fake->first + *count - 1 - i;         /* in no good order */
    if (fake->in_root && *count > 0)
        gids[0] = 0;
    err = fake->err;
    pthread_mutex_unlock(&fake->lock);
    return err;
}

static uint64_t
fake_now_ms(void *context)
{
    struct fake_groups *fake = context;

    return atomic_load(&fake->now_ms);
}

void
fake_groups_init(struct fake_groups *fake)
{
    memset(fake, 0, sizeof(*fake));
    pthread_mutex_init(&fake->lock, NULL);
    pthread_cond_init(&fake->changed, NULL);
    atomic_init(&fake->now_ms, 1000000);
    fake->source = (struct groups_source){ .context = fake, .list = fake_list, .now_ms = fake_now_ms };
}

void
fake_groups_fini(struct fake_groups *fake)
{
    pthread_cond_destroy(&fake->changed);
    pthread_mutex_destroy(&fake->lock);
}

void
fake_groups_user(struct fake_groups *fake, uid_t uid, gid_t first, uint32_t count)
{
    pthread_mutex_lock(&fake->lock);
    fake->uid = uid;
    fake->first = first;
    fake->count = count;
    fake->in_root = false;
    pthread_mutex_unlock(&fake->lock);
}

void
fake_groups_root(struct fake_groups *fake)
{
    pthread_mutex_lock(&fake->lock);
    fake->in_root = true;
    pthread_mutex_unlock(&fake->lock);
}

void
fake_groups_fail(struct fake_groups *fake, int err)
{
    pthread_mutex_lock(&fake->lock);
    fake->err = err;
    pthread_mutex_unlock(&fake->lock);
}

void
fake_groups_block(struct fake_groups *fake, bool blocked)
{
    pthread_mutex_lock(&fake->lock);
    fake->blocked = blocked;
    pthread_cond_broadcast(&fake->changed);
    pthread_mutex_unlock(&fake->lock);
}

void
fake_groups_pass_ms(struct fake_groups *fake, uint64_t ms)
{
    atomic_fetch_add(&fake->now_ms, ms);
}
