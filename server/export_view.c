/* server/export_view.c - views of the exports, counted per worker. */
#include "server/export_view.h"

#include <stdlib.h>
#include <string.h>

struct export_view *
export_view_new(struct exports *set)
{
    struct export_view *view = calloc(1, sizeof(*view));

    if (view == NULL)
        return NULL;
    view->set = exports_ref(set);
    view->holders = 1;
    return view;
}

struct export_view *
export_view_ref(struct export_view *view)
{
    view->holders++;
    return view;
}

void
export_view_put(struct export_view *view)
{
    if (view == NULL || --view->holders > 0)
        return;
    exports_put(view->set);
    free(view);
}

/* Where the decision on an address is kept; two of them in one place only cost time. */
static struct export_decision *
find_slot(struct export_view *view, const struct export *export, const struct peer_address *peer)
{
    uint64_t words[2], mixed;

    memcpy(words, peer->bytes, sizeof(words));
    mixed = (words[0] ^ words[1] ^ (uint64_t)(export - view->set->list)) * UINT64_C(0x9e3779b97f4a7c15);
    return &view->decisions[mixed >> 32 & (EXPORT_VIEW_DECISIONS - 1)];
}

static bool
still_holds(const struct export_decision *decision, const struct export *export, const struct peer_address *peer,
            const struct hosts *hosts)
{
    if (decision->export != export || memcmp(&decision->peer, peer, sizeof(*peer)) != 0)
        return false;
    return !export->uses_names ||
           (decision->generation == hosts_generation(hosts) && hosts_now_ms(hosts) < decision->until_ms);
}

int
export_view_rights(struct export_view *view, struct hosts *hosts, const struct export *export,
                   const struct sockaddr *peer, struct resolver_wait *wait, const struct export_rights **rights)
{
    struct peer_address address;
    struct hosts_query query = { .peer = &address, .wait = wait, .until_ms = UINT64_MAX };
    struct export_decision *slot;
    uint64_t generation = 0;
    int err;

    if (export->nclients > 0 && export->clients[0].match == MATCH_ANYONE) {     /* the last in order: no others */
        *rights = &export->clients[0].rights;
        return 0;
    }
    peer_address_init(&address, peer);
    slot = find_slot(view, export, &address);
    if (!still_holds(slot, export, &address, hosts)) {
        if (export->uses_names)
            generation = hosts_generation(hosts);       /* before the names are looked at */
        err = access_rights(export, hosts, &query, rights);
        if (err < 0)
            return err;
        *slot = (struct export_decision){ export, address, *rights, generation, query.until_ms };
    }
    *rights = slot->rights;
    return 0;
}

int
export_view_enter(struct export_view *view, struct hosts *hosts, const struct export_mount *mount,
                  const struct export_rights *here, const struct sockaddr *peer, struct resolver_wait *wait,
                  const struct export **to)
{
    const struct export_rights *there;
    int err;

    *to = NULL;
    if (mount->to == NULL)
        return 0;
    err = export_view_rights(view, hosts, mount->to, peer, wait, &there);
    if (err == 0 && exports_cross(here, there))
        *to = mount->to;
    return err;
}
