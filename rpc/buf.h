/*
 * rpc/buf.h - buffers for calls and payloads: page-aligned, counted, pooled per worker, bounded for the whole server.
 *
 * A buffer belongs to the worker that got it: references are taken and given back on that thread only. Other threads
 * may read and fill the bytes meanwhile.
 */
#ifndef RINGNFS_RPC_BUF_H
#define RINGNFS_RPC_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf_pool;

/* Memory that all pools of a server may take together. */
struct buf_budget {
    _Atomic uint64_t max_bytes;         /* may be changed while there are pools */
    _Atomic uint64_t used_bytes;
};

struct buf {
    uint8_t *data;                      /* page-aligned */
    size_t capacity;                    /* bytes, whole pages; at most a quarter more than was asked for */
    uint32_t refs;
    struct buf *next;                   /* the holder's; buf.c's while it is free */
    struct buf_pool *pool;
    uint32_t mark;                      /* the owner's of the pool, as long as the memory is the same; 0 at first */
    bool reused;                        /* was given back before, so it will most likely come again */
};

/* Returns NULL when memory is short. The budget outlives the pool. */
struct buf_pool *buf_pool_new(struct buf_budget *budget);

/* From now on released(context, buf) is called before the memory of a buffer that has a mark goes back to the system. */
void buf_pool_watch(struct buf_pool *pool, void (*released)(void *context, struct buf *buf), void *context);

/* Give back to the system what has been kept since the last time this was called, and was never needed meanwhile. */
void buf_pool_rest(struct buf_pool *pool);

/* Every buffer has been given back. */
void buf_pool_free(struct buf_pool *pool);

/* A buffer of at least `size` bytes with one reference, contents undefined; NULL at the bound or without memory. */
struct buf *buf_get(struct buf_pool *pool, size_t size);

struct buf *buf_ref(struct buf *buf);

/* Give back one reference; NULL is fine. */
void buf_put(struct buf *buf);

/*
 * A buffer to receive calls into: like buf_get(), but the last eighth of the budget is left to calls that have begun
 * and to their replies.
 */
struct buf *buf_get_spare(struct buf_pool *pool, size_t size);

/* More than half of the budget is taken: be modest. */
bool buf_tight(const struct buf_pool *pool);

#endif
