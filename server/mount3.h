/* server/mount3.h - the MOUNT program, versions 1 and 3. */
#ifndef RINGNFS_SERVER_MOUNT3_H
#define RINGNFS_SERVER_MOUNT3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/call.h"
#include "rpc/loop.h"
#include "rpc/program.h"
#include "server/worker.h"
#include "storage/pool.h"
#include "storage/store.h"

/* One MOUNT call; MNT walks down from the export's root, one operation of the store after the other. */
struct mount3_call {
    struct call rpc;                    /* first */
    struct worker *worker;
    struct export_view *view;           /* keeps the exports; released with the call */
    const struct export *export;
    struct resolver_wait wait;          /* while the caller's name is not known */
    const struct export_rights *rights; /* the caller's, there */
    const char *mount_point;            /* what must be one; NULL: nothing */
    bool is_mounted;                    /* it is one */
    struct pool_work look;              /* at it, on a thread that finds files by path ... */
    struct loop_message looked;         /* ... and back */
    const uint8_t *path;                /* in the request */
    uint32_t path_len;
    const char *rest;                   /* of the path, not walked yet */
    size_t rest_len;
    unsigned steps;                     /* down, since others have had their turn */
    struct store_node *node;            /* how far it has come; a reference */
    struct store_id child;
    int (*step)(struct mount3_call *call, int err);     /* what follows the operation under way */
    struct store_op op;
};

/* For the workers' transports. */
extern const struct program mount3_program;

#endif
