/* storage/memory_pages.c - the pages of a sparse file: a radix tree as high as the greatest page number needs. */
#include "storage/memory_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BRANCH_BITS 6
#define BRANCHES (1u << BRANCH_BITS)

struct branch {
    void *slots[BRANCHES];              /* branches of the level below, or pages */
};

/* Whether a page number has its place in a tree of this height. Sizes below 2^63 keep the height to 9. */
static bool
reaches(unsigned height, uint64_t number)
{
    return number >> (BRANCH_BITS * height) == 0;
}

static unsigned
slot_of(uint64_t number, unsigned level)
{
    return number >> (BRANCH_BITS * (level - 1)) & (BRANCHES - 1);
}

uint8_t *
memory_pages_find(const struct memory_pages *pages, uint64_t number)
{
    void *at = pages->root;
    unsigned level;

    if (!reaches(pages->height, number))
        return NULL;
    for (level = pages->height; level > 0 && at != NULL; level--)
        at = ((struct branch *)at)->slots[slot_of(number, level)];
    return at;
}

/* One level more; what there is becomes the first branch. */
static bool
grow(struct memory_pages *pages)
{
    struct branch *branch;

    if (pages->root != NULL) {
        branch = calloc(1, sizeof(*branch));
        if (branch == NULL)
            return false;
        branch->slots[0] = pages->root;
        pages->root = branch;
    }
    pages->height++;
    return true;
}

uint8_t *
memory_pages_add(struct memory_pages *pages, uint64_t number)
{
    void **slot = &pages->root;
    unsigned level;

    while (!reaches(pages->height, number)) {
        if (!grow(pages))
            return NULL;
    }
    for (level = pages->height; level > 0; level--) {
        if (*slot == NULL)
            *slot = calloc(1, sizeof(struct branch));
        if (*slot == NULL)
            return NULL;
        slot = &((struct branch *)*slot)->slots[slot_of(number, level)];
    }
    *slot = calloc(1, MEMORY_PAGE);
    if (*slot != NULL)
        pages->count++;
    return *slot;
}

/* The same for what is below a slot, whose first page has this number. */
static void
walk(void *slot, unsigned level, uint64_t first, void (*see)(void *context, uint64_t number, uint8_t *page), void *context)
{
    struct branch *branch = slot;

    if (slot == NULL)
        return;
    if (level == 0) {
        see(context, first, slot);
        return;
    }
    for (unsigned i = 0; i < BRANCHES; i++)
        walk(branch->slots[i], level - 1, first + ((uint64_t)i << (BRANCH_BITS * (level - 1))), see, context);
}

void
memory_pages_walk(const struct memory_pages *pages, void (*see)(void *context, uint64_t number, uint8_t *page),
                  void *context)
{
    walk(pages->root, pages->height, 0, see, context);
}

/* Copy what is below a slot. Returns how many pages, or -ENOMEM. */
static int64_t
copy(void **to, const void *from, unsigned level)
{
    const struct branch *branch = from;
    int64_t copied = 0, n;

    if (from == NULL)
        return 0;
    *to = calloc(1, level > 0 ? sizeof(*branch) : MEMORY_PAGE);
    if (*to == NULL)
        return -ENOMEM;
    if (level == 0) {
        memcpy(*to, from, MEMORY_PAGE);
        return 1;
    }
    for (unsigned i = 0; i < BRANCHES; i++, copied += n) {
        n = copy(&((struct branch *)*to)->slots[i], branch->slots[i], level - 1);
        if (n < 0)
            return n;
    }
    return copied;
}

int
memory_pages_copy(struct memory_pages *to, const struct memory_pages *from)
{
    int64_t copied = copy(&to->root, from->root, from->height);

    to->height = from->height;
    to->count = from->count;
    return copied < 0 ? (int)copied : 0;
}

/* Free what is below a slot from the page `from` on, counted from the first page that the slot can hold. */
static uint64_t
cut(void **slot, unsigned level, uint64_t from)
{
    struct branch *branch = *slot;
    uint64_t freed = 0;
    unsigned i, first;

    if (branch == NULL)
        return 0;
    if (level > 0) {
        first = slot_of(from, level);
        for (i = first; i < BRANCHES; i++)
            freed += cut(&branch->slots[i], level - 1,
                         i == first ? from & ((UINT64_C(1) << (BRANCH_BITS * (level - 1))) - 1) : 0);
    } else {
        freed = from == 0;
    }
    if (from == 0) {
        free(branch);
        *slot = NULL;
    }
    return freed;
}

uint64_t
memory_pages_cut(struct memory_pages *pages, uint64_t from)
{
    uint64_t freed;

    if (!reaches(pages->height, from))
        return 0;
    freed = cut(&pages->root, pages->height, from);
    pages->count -= freed;
    if (pages->root == NULL)
        pages->height = 0;
    return freed;
}
