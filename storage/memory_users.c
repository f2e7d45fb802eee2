/* storage/memory_users.c - what each user has of the store in memory, where that is limited: quotas, as on a disk. */
#include "storage/memory_private.h"

#include <stdlib.h>

static bool
are_limited(const struct memory_store *store)
{
    return store->config.user_bytes != 0 || store->config.user_files != 0;
}

uint64_t
memory_node_bytes(const struct memory_node *node)
{
    uint64_t bytes = memory_acl_bytes(node->access_acl) + memory_acl_bytes(node->default_acl);

    if (S_ISREG(node->type))
        return bytes + node->file.pages.count * MEMORY_PAGE;
    return S_ISLNK(node->type) && node->text != NULL ? bytes + node->size : bytes;
}

/* Where a user is in his list, or would be. */
static struct memory_user **
place_of(struct memory_user **users, uint32_t uid)
{
    struct memory_user **at = &users[uid % MEMORY_USER_BUCKETS];

    while (*at != NULL && (*at)->uid != uid)
        at = &(*at)->next;
    return at;
}

int
memory_within_quota(const struct memory_store *store, const struct store_cred *cred, uint32_t uid, uint64_t files,
                    uint64_t bytes)
{
    const struct memory_config *config = &store->config;
    const struct memory_user *user;
    uint64_t has_files, has_bytes;

    if (!are_limited(store) || cred->uid == 0)
        return 0;
    user = *place_of((struct memory_user **)store->users, uid);
    has_files = user != NULL ? user->files : 0;
    has_bytes = user != NULL ? user->bytes : 0;
    if (config->user_files != 0 && files > 0 && has_files + files > config->user_files)
        return -EDQUOT;
    return config->user_bytes != 0 && bytes > 0 && has_bytes + bytes > config->user_bytes ? -EDQUOT : 0;
}

void
memory_charge(struct memory_store *store, struct memory_node *node, int64_t bytes)
{
    store->bytes += (uint64_t)bytes;
    if (node->owner != NULL)
        node->owner->bytes += (uint64_t)bytes;
}

void
memory_user_enter(struct memory_store *store, struct memory_node *node)
{
    struct memory_user **at = place_of(store->users, node->uid);

    if (!are_limited(store))
        return;
    if (*at == NULL) {
        *at = calloc(1, sizeof(**at));
        if (*at == NULL)
            return;                                     /* what is not counted is no reason to refuse anything */
        (*at)->uid = node->uid;
    }
    node->owner = *at;
    node->owner->files++;
    node->owner->bytes += memory_node_bytes(node);
}

void
memory_user_leave(struct memory_store *store, struct memory_node *node)
{
    struct memory_user *user = node->owner, **at;

    node->owner = NULL;
    if (user == NULL)
        return;
    user->bytes -= memory_node_bytes(node);
    if (--user->files > 0)
        return;
    at = place_of(store->users, user->uid);
    *at = user->next;
    free(user);
}

void
memory_chown(struct memory_store *store, struct memory_node *node, uint32_t uid)
{
    memory_user_leave(store, node);
    node->uid = uid;
    memory_user_enter(store, node);
}
