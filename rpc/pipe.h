/*
 * rpc/pipe.h - pipes that carry pages of files to a socket without a copy (splice(2)), pooled per worker and bounded.
 *
 * A pipe belongs to the worker that got it and is used on its thread only.
 */
#ifndef RINGNFS_RPC_PIPE_H
#define RINGNFS_RPC_PIPE_H

#include <stddef.h>

struct pipe_pool;

struct pipe {
    int in;                             /* to be filled */
    int out;                            /* to be emptied */
    size_t slots;                       /* pages it holds, whole or in part */
    struct pipe *next;                  /* pipe.c's, while it is free */
    struct pipe_pool *pool;
};

/* At most `max` pipes. Returns NULL when memory is short. */
struct pipe_pool *pipe_pool_new(unsigned max);

/* Every pipe has been given back. */
void pipe_pool_free(struct pipe_pool *pool);

/* An empty pipe with room for so many pages; NULL when there is none to be had. */
struct pipe *pipe_get(struct pipe_pool *pool, size_t slots);

/* left: how many bytes are still in it; a pipe that is not empty is closed. */
void pipe_put(struct pipe *pipe, size_t left);

#endif
