/* server/recent.c - see recent.h: what is kept. */
#include "server/recent_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "rpc/tap.h"
#include "server/log.h"
#include "server/seen.h"

#define SHOWN_MAX 128                   /* bytes of a path that are shown */

int
recent_new(size_t most, struct recent **out)
{
    struct recent *recent = calloc(1, sizeof(*recent) + most * sizeof(recent->calls[0]));

    if (recent == NULL)
        return -ENOMEM;
    recent->most = most;
    *out = recent;
    return 0;
}

void
recent_free(struct recent *recent)
{
    if (recent == NULL)
        return;
    recent_forget(recent);
    free(recent);
}

size_t
recent_calls(const struct recent *recent)
{
    return (size_t)MIN(recent->added, recent->most);
}

const struct recent_call *
recent_call(const struct recent *recent, size_t i)
{
    return &recent->calls[(recent->added - recent_calls(recent) + i) % recent->most];
}

void
recent_forget(struct recent *recent)
{
    for (size_t i = 0; i < recent_calls(recent); i++) {
        free(recent->calls[i].path);
        recent->calls[i].path = NULL;
    }
    recent->added = 0;
    recent->missing = false;
}

void
recent_add(struct recent *recent, const struct ringnfs_call *seen)
{
    struct recent_call *call = &recent->calls[recent->added % recent->most];

    free(call->path);
    *call = (struct recent_call){
        .number = seen->number,
        .ended_before = seen->ended_before,
        .program = seen->program,
        .version = seen->version,
        .procedure = seen->procedure,
        .name = seen->name,
        .status_name = seen->status_name,
        .outcome = seen->outcome,
        .succeeded = seen_succeeded(seen),
        .replayed = seen->replayed,
        .uid = seen->uid,
        .path = seen->path != NULL ? strdup(seen->path) : NULL,
        .offset = seen->offset,
        .count = seen->count,
        .done = seen->done,
        .stable = seen->stable,
        .committed = seen->committed,
        .verifier = seen->verifier,
    };
    peer_address_init(&call->client, seen->client);
    if (seen->handle_len <= sizeof(call->handle) && seen->handle_len > 0) {
        memcpy(call->handle, seen->handle, seen->handle_len);
        call->handle_len = (uint8_t)seen->handle_len;
    }
    recent->missing |= seen->path != NULL && call->path == NULL;
    recent->added++;
}

/* "READ of /x/file at 0, 65536 bytes, answered OK, by 0 from 127.0.0.1" */
void
recent_print(const struct recent_call *call, char *out, size_t size)
{
    static const char *const stabilities[] = { "unstable", "data_sync", "file_sync" };
    char path[SHOWN_MAX];
    struct peer_text peer;
    size_t used = (size_t)snprintf(out, size, "%s", call->name);

    if (call->path != NULL && used < size)
        used += (size_t)snprintf(out + used, size - used, " of %s",
                                 log_quote(path, sizeof(path), call->path, strlen(call->path)));
    if (call->count > 0 && used < size)
        used += (size_t)snprintf(out + used, size - used, " at %" PRIu64 ", %" PRIu32 " bytes", call->offset, call->count);
    if (call->stable >= 0 && call->stable <= 2 && used < size)
        used += (size_t)snprintf(out + used, size - used, ", %s", stabilities[call->stable]);
    if (used < size)
        snprintf(out + used, size - used, ", %s%s from %s", call->outcome == TAP_DROPPED ? "dropped" : "answered ",
                 call->outcome == TAP_DROPPED ? "" : call->status_name, peer_address_format(&call->client, &peer));
}
