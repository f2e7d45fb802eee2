/*
 * server/export_view.h - a worker's view of the exports: the set that its new calls use, and older ones whose calls
 * have not ended.
 *
 * A call holds the view that it began with, so a reload never pulls an export away under it; the count belongs to the
 * worker alone and costs no atomic operation. What callers may do is remembered here as well: the lists of clients are
 * gone through once for an address, not once for a call.
 */
#ifndef RINGNFS_SERVER_EXPORT_VIEW_H
#define RINGNFS_SERVER_EXPORT_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "server/exports.h"
#include "server/hosts.h"

#define EXPORT_VIEW_DECISIONS 256       /* that are remembered; a power of two */

/* What an address may do on an export. */
struct export_decision {
    const struct export *export;        /* NULL: an empty slot */
    struct peer_address peer;
    const struct export_rights *rights; /* NULL: nothing */
    uint64_t generation, until_ms;      /* of the names that it depends on, if there are any */
};

struct export_view {
    struct exports *set;                /* a reference */
    size_t holders;                     /* calls under way, and the worker for the view in use */
    struct export_decision decisions[EXPORT_VIEW_DECISIONS];
};

/* A view with one holder and a reference of its own to the set; NULL when memory is short. Any thread. */
struct export_view *export_view_new(struct exports *set);

/* Count a holder. The worker's thread only, like all below. */
struct export_view *export_view_ref(struct export_view *view);

/* The last one frees the view, and gives the set back. */
void export_view_put(struct export_view *view);

/*
 * What a caller may do on an export of the view, as access_rights(). wait: who waits for names that are not known yet;
 * NULL: nobody can.
 */
int export_view_rights(struct export_view *view, struct hosts *hosts, const struct export *export,
                       const struct sockaddr *peer, struct resolver_wait *wait, const struct export_rights **rights);

/*
 * Where something is mounted inside of an export: what a caller with these rights there walks into; *to NULL: nothing.
 * Returns as export_view_rights().
 */
int export_view_enter(struct export_view *view, struct hosts *hosts, const struct export_mount *mount,
                      const struct export_rights *here, const struct sockaddr *peer, struct resolver_wait *wait,
                      const struct export **to);

#endif
