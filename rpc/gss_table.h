/*
 * rpc/gss_table.h - the security contexts of a server: found by the handles that clients have of them, bounded.
 *
 * The table is shared by all workers, since a client may use one context over several connections, and split into parts
 * with a lock each. When it is full, the context that was used least recently makes room; its client makes a new one.
 * Any thread.
 */
#ifndef RINGNFS_RPC_GSS_TABLE_H
#define RINGNFS_RPC_GSS_TABLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/gss_mech.h"
#include "rpc/gss_message.h"

#define GSS_HANDLE_BYTES 16

struct gss_table;

struct gss_context {
    const struct gss_mech *mech;
    pthread_mutex_t lock;               /* of the next two */
    void *security;                     /* the mechanism's */
    struct gss_window window;

    /* Set before `established`, never changed afterwards. */
    uint32_t uid, gid;                  /* UINT32_MAX: nobody who is known here */
    uint64_t principal;                 /* a digest of the name: the same for all contexts of a caller */
    struct gss_sizes sizes;
    _Atomic bool established;

    _Atomic uint64_t expires_ms;        /* on the table's clock */
    uint8_t handle[GSS_HANDLE_BYTES];
    _Atomic uint32_t refs;
    bool listed;                        /* gss_table.c's, like the rest */
    uint32_t slot;
    TAILQ_ENTRY(gss_context) age;
};

/* Room for so many contexts. Returns 0 or -errno. */
int gss_table_new(uint32_t entries, uint64_t (*now_ms)(void), struct gss_table **table);

/* Nobody holds a context any more. NULL is fine. */
void gss_table_free(struct gss_table *table);

/* A context that is not in the table, with one reference; NULL when memory is short. */
struct gss_context *gss_context_new(const struct gss_mech *mech);
void gss_context_put(struct gss_context *context);

/* Give it a handle and list it; the table takes a reference of its own. */
void gss_table_add(struct gss_table *table, struct gss_context *context);

/* A reference to the context with this handle; NULL: there is none, or it has expired. */
struct gss_context *gss_table_find(struct gss_table *table, const uint8_t *handle, size_t len);

/* Take it out, if it is in. */
void gss_table_remove(struct gss_table *table, struct gss_context *context);

/* How many are in it, and how many had to make room since the start. */
void gss_table_count(struct gss_table *table, uint64_t *contexts, uint64_t *evicted);

#endif
