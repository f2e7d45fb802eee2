/* rpc/pipe.c - pooled pipes. */
#include "rpc/pipe.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define SLOTS_MIN ((size_t)16)          /* what a new pipe has (pipe(7)) */

struct pipe_pool {
    struct pipe *free;
    unsigned made;
    unsigned max;
};

struct pipe_pool *
pipe_pool_new(unsigned max)
{
    struct pipe_pool *pool = calloc(1, sizeof(*pool));

    if (pool != NULL)
        pool->max = max;
    return pool;
}

static void
destroy(struct pipe *pipe)
{
    close(pipe->in);
    close(pipe->out);
    pipe->pool->made--;
    free(pipe);
}

void
pipe_pool_free(struct pipe_pool *pool)
{
    struct pipe *next;

    if (pool == NULL)
        return;
    for (; pool->free != NULL; pool->free = next) {
        next = pool->free->next;
        destroy(pool->free);
    }
    assert(pool->made == 0);
    free(pool);
}

static struct pipe *
make(struct pipe_pool *pool)
{
    struct pipe *pipe = pool->made < pool->max ? malloc(sizeof(*pipe)) : NULL;
    int fds[2];

    if (pipe == NULL)
        return NULL;
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        free(pipe);
        return NULL;
    }
    pool->made++;
    *pipe = (struct pipe){ .in = fds[1], .out = fds[0], .slots = SLOTS_MIN, .pool = pool };
    return pipe;
}

struct pipe *
pipe_get(struct pipe_pool *pool, size_t slots)
{
    struct pipe *pipe = pool->free;
    int bytes;

    if (pipe != NULL)
        pool->free = pipe->next;
    else
        pipe = make(pool);
    if (pipe == NULL || pipe->slots >= slots)
        return pipe;
    bytes = fcntl(pipe->in, F_SETPIPE_SZ, (int)(slots * PAGE));
    if (bytes > 0)
        pipe->slots = (size_t)bytes / PAGE;
    if (pipe->slots >= slots)
        return pipe;
    pipe_put(pipe, 0);
    return NULL;
}

void
pipe_put(struct pipe *pipe, size_t left)
{
    if (left > 0) {
        destroy(pipe);
        return;
    }
    pipe->next = pipe->pool->free;
    pipe->pool->free = pipe;
}
