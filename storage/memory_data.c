/* storage/memory_data.c - READ, WRITE, COMMIT and READLINK (RFC 1813 3.3.5-7, 3.3.21), and setting a file's size. */
#include "storage/memory_private.h"

#include <string.h>
#include <sys/param.h>

static int
must_be_regular(const struct memory_node *node)
{
    if (S_ISDIR(node->mode))
        return -EISDIR;
    return S_ISREG(node->mode) ? 0 : -EINVAL;
}

void
memory_resize(struct memory_store *store, struct memory_node *node, uint64_t size)
{
    struct memory_pages *pages = &node->file.pages;
    uint64_t gone;
    uint8_t *last;

    if (size < node->size) {
        gone = memory_pages_cut(pages, (size + MEMORY_PAGE - 1) / MEMORY_PAGE);
        memory_charge(store, node, -(int64_t)(MEMORY_PAGE * gone));
        last = memory_pages_find(pages, size / MEMORY_PAGE);
        if (last != NULL)                               /* zeros are read there when the file grows again */
            memset(last + size % MEMORY_PAGE, 0, MEMORY_PAGE - size % MEMORY_PAGE);
    }
    node->size = size;
    node->file.exclusive = false;
    memory_resize_stable(node, size);
}

int
memory_readlink(struct memory_store *store, struct store_op *op)
{
    struct memory_node *node = memory_node(op->node);

    (void)store;
    if (!S_ISLNK(node->mode))
        return -EINVAL;
    op->r.readlink.len = MIN(node->size, op->u.readlink.size);
    memcpy(op->u.readlink.text, node->text, op->r.readlink.len);
    return 0;
}

int
memory_read(struct memory_store *store, struct store_op *op)
{
    struct memory_node *node = memory_node(op->node);
    uint64_t offset = op->u.read.offset;
    uint8_t *to = op->u.read.data;
    const uint8_t *page;
    uint32_t left, part;
    int err = must_be_regular(node);

    (void)store;
    if (err < 0)
        return err;
    if (!memory_may_use_data(node, op->cred, MAY_READ))
        return -EACCES;
    left = offset < node->size ? MIN(op->u.read.length, node->size - offset) : 0;
    op->r.read.done = left;
    op->r.read.eof = offset >= node->size || left == node->size - offset;
    for (; left > 0; left -= part, offset += part, to += part) {
        part = MIN(left, MEMORY_PAGE - offset % MEMORY_PAGE);
        page = memory_pages_find(&node->file.pages, offset / MEMORY_PAGE);
        if (page != NULL)
            memcpy(to, page + offset % MEMORY_PAGE, part);
        else
            memset(to, 0, part);
    }
    return 0;
}

/*
 * The page to write to, made if need be; keep: what it holds may be wanted again. Returns 0, -ENOSPC, -EDQUOT or -ENOMEM.
 */
static int
writable_page(struct memory_store *store, const struct store_cred *cred, struct memory_node *node, uint64_t number,
              bool keep, uint8_t **page)
{
    int err;

    *page = memory_pages_find(&node->file.pages, number);
    if (keep && memory_keep_stable(node, number, *page) < 0)
        return -ENOMEM;
    if (*page != NULL)
        return 0;
    if (!memory_has_room(store, 0, MEMORY_PAGE))
        return -ENOSPC;
    err = memory_within_quota(store, cred, node->uid, 0, MEMORY_PAGE);
    if (err < 0)
        return err;
    *page = memory_pages_add(&node->file.pages, number);
    if (*page == NULL)
        return -ENOMEM;
    memory_charge(store, node, MEMORY_PAGE);
    return 0;
}

int
memory_write(struct memory_store *store, struct store_op *op)
{
    struct memory_node *node = memory_node(op->node);
    uint64_t offset = op->u.write.offset;
    const uint8_t *from = op->u.write.data;
    uint32_t left = op->u.write.length;
    bool stable = !store->config.unstable || op->u.write.stable != STORE_UNSTABLE;
    uint32_t part;
    uint8_t *page;
    int err = must_be_regular(node);

    op->r.write.committed = stable ? STORE_FILE_SYNC : STORE_UNSTABLE;
    if (err < 0)
        return err;
    if (!memory_may_use_data(node, op->cred, MAY_WRITE))
        return -EACCES;
    if (left == 0)
        return 0;
    if (offset > MEMORY_SIZE_MAX - left)
        return -EFBIG;
    if (!stable)
        memory_become_unstable(node);
    for (; left > 0; left -= part, offset += part, from += part) {
        err = writable_page(store, op->cred, node, offset / MEMORY_PAGE, !stable, &page);
        if (err < 0)
            break;
        part = MIN(left, MEMORY_PAGE - offset % MEMORY_PAGE);
        memcpy(page + offset % MEMORY_PAGE, from, part);
        if (stable)
            memory_write_stable(node, offset, from, part);
    }
    op->r.write.done = op->u.write.length - left;
    if (op->r.write.done == 0)
        return err;
    node->size = MAX(node->size, offset);
    node->file.exclusive = false;
    if (op->cred->uid != 0)
        memory_drop_setid(node);
    memory_modify(node);
    return 0;
}

int
memory_commit(struct memory_store *store, struct store_op *op)
{
    struct memory_node *node = memory_node(op->node);
    int err = must_be_regular(node);

    (void)store;
    if (err < 0)
        return err;
    if (!memory_may_use_data(node, op->cred, MAY_WRITE))
        return -EACCES;
    memory_make_stable(node, op->u.commit.offset, op->u.commit.length);
    return 0;
}
