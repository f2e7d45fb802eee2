/*
 * storage/memory_crash.c - what of a file in memory is stable, and the loss of the rest (RFC 1813 4.8, "stable storage").
 *
 * A page that is written UNSTABLE leaves behind what it held, once, until it is stable again; a crash puts that back. It
 * is kept beside the file, so a file that is not written UNSTABLE costs nothing.
 */
#include "storage/memory_private.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

int
memory_keep_stable(struct memory_node *node, uint64_t number, const uint8_t *now)
{
    struct memory_pages *stable = &node->file.stable;
    uint8_t *page;

    if (memory_pages_find(stable, number) != NULL)
        return 0;
    page = memory_pages_add(stable, number);
    if (page == NULL)
        return -ENOMEM;
    if (now != NULL)
        memcpy(page, now, MEMORY_PAGE);
    return 0;
}

void
memory_write_stable(struct memory_node *node, uint64_t offset, const uint8_t *from, uint32_t len)
{
    uint8_t *page = memory_pages_find(&node->file.stable, offset / MEMORY_PAGE);

    if (page != NULL)
        memcpy(page + offset % MEMORY_PAGE, from, len);
    if (node->file.unstable)
        node->file.stable_size = MAX(node->file.stable_size, offset + len);
}

void
memory_become_unstable(struct memory_node *node)
{
    if (!node->file.unstable)
        node->file.stable_size = node->size;
    node->file.unstable = true;
}

void
memory_stable_free(struct memory_node *node)
{
    memory_pages_cut(&node->file.stable, 0);
    node->file.unstable = false;
}

/* Of a file: whole pages count, as in a page cache. */
struct range {
    const struct memory_file *file;
    uint64_t offset, end;
};

static void
take_over(void *context, uint64_t number, uint8_t *stable)
{
    const struct range *range = context;
    const uint8_t *now = memory_pages_find(&range->file->pages, number);

    if (now != NULL && number >= range->offset / MEMORY_PAGE && number * MEMORY_PAGE < range->end)
        memcpy(stable, now, MEMORY_PAGE);
}

void
memory_make_stable(struct memory_node *node, uint64_t offset, uint64_t length)
{
    struct memory_file *file = &node->file;
    struct range range = { .file = file, .offset = offset };

    range.end = length == 0 || length > node->size || offset > node->size - length ? node->size : offset + length;
    if (!file->unstable)
        return;
    if (offset == 0 && range.end == node->size) {
        memory_stable_free(node);
        return;
    }
    memory_pages_walk(&file->stable, take_over, &range);
    file->stable_size = MAX(file->stable_size, range.end);
}

void
memory_resize_stable(struct memory_node *node, uint64_t size)
{
    struct memory_file *file = &node->file;
    uint8_t *last;

    if (!file->unstable)
        return;
    memory_pages_cut(&file->stable, (size + MEMORY_PAGE - 1) / MEMORY_PAGE);
    last = memory_pages_find(&file->stable, size / MEMORY_PAGE);
    if (last != NULL)
        memset(last + size % MEMORY_PAGE, 0, MEMORY_PAGE - size % MEMORY_PAGE);
    file->stable_size = size;
}

static void
put_back(void *context, uint64_t number, uint8_t *stable)
{
    uint8_t *page = memory_pages_find(context, number);

    if (page != NULL)
        memcpy(page, stable, MEMORY_PAGE);
}

/* Put back what the pages of a file held; those that did not exist stay, with zeros in them. */
static void
lose(struct memory_store *store, struct memory_node *node)
{
    memory_pages_walk(&node->file.stable, put_back, &node->file.pages);
    memory_stable_free(node);
    memory_resize(store, node, node->file.stable_size);
    memory_modify(node);
}

void
memory_crash(struct store *base)
{
    struct memory_store *store = (struct memory_store *)base;

    pthread_rwlock_wrlock(&store->lock);
    for (size_t i = 0; i < store->nbuckets; i++)
        for (struct memory_node *node = store->buckets[i]; node != NULL; node = node->next)
            if (S_ISREG(node->mode) && node->file.unstable)
                lose(store, node);
    store_renew_verifier(base);
    pthread_rwlock_unlock(&store->lock);
}
