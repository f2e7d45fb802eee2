/* storage/engine_pool.c - file data and flushes by plain calls on the pool's threads, where there is no io_uring. */
#include <stdlib.h>

#include "storage/engine_io.h"

static void
nothing(struct engine *engine)
{
    (void)engine;
}

static void
pool_engine_free(struct engine *engine)
{
    engine_fini(engine);
    free(engine);
}

static const struct engine_kind engine_pool_kind = {
    .name = "pool",
    .start = engine_io_on_pool,
    .flush = nothing,
    .reap = nothing,
    .free = pool_engine_free,
};

int
engine_pool_new(const struct engine_config *config, struct engine **out)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    int err;

    if (engine == NULL)
        return -ENOMEM;
    err = engine_init(engine, &engine_pool_kind, config->pool);
    if (err < 0) {
        free(engine);
        return err;
    }
    *out = engine;
    return 0;
}
