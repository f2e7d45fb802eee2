/*
 * server/covered.c - which data was written unstable and has not been committed since (RFC 1813 3.3.7, 3.3.21).
 *
 * Calls are gone through from the last one to the first. A COMMIT covers what had been written before it began, under the
 * verifier that it tells; a stable WRITE covers what it writes over. What covers is kept in a list as one goes back, so
 * that each unstable WRITE is compared with what came after it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "server/recent_private.h"
#include "xdr/nfs3.h"

/* From here on nothing counts that an unstable WRITE of this range has left behind. */
struct cover {
    const struct recent_call *by;
    uint64_t from, to;
    bool any_verifier;                  /* it was written anew */
};

static bool
is_nfs(const struct recent_call *call, uint32_t procedure)
{
    return call->program == NFS_PROGRAM && call->procedure == procedure && call->succeeded && !call->replayed;
}

static bool
same_file(const struct recent_call *a, const struct recent_call *b)
{
    return a->handle_len == b->handle_len && memcmp(a->handle, b->handle, a->handle_len) == 0;
}

static uint64_t
end_of(uint64_t offset, uint64_t bytes)
{
    return bytes > UINT64_MAX - offset ? UINT64_MAX : offset + bytes;
}

/* COMMIT of no bytes is of all that follow (3.3.21). */
static bool
make_cover(const struct recent_call *call, struct cover *cover)
{
    *cover = (struct cover){ .by = call, .from = call->offset };
    if (is_nfs(call, NFSPROC3_COMMIT)) {
        cover->to = call->count == 0 ? UINT64_MAX : end_of(call->offset, call->count);
        return true;
    }
    cover->any_verifier = true;
    cover->to = end_of(call->offset, call->done);
    return is_nfs(call, NFSPROC3_WRITE) && call->committed != UNSTABLE;
}

static bool
covers(const struct cover *cover, const struct recent_call *write)
{
    return same_file(cover->by, write) && cover->by->ended_before >= write->number &&
           (cover->any_verifier || cover->by->verifier == write->verifier);
}

/* The first byte from `from` on that nothing covers; `to`: all are. */
static uint64_t
first_open(const struct cover *list, size_t count, const struct recent_call *write, uint64_t from, uint64_t to)
{
    bool moved = true;

    while (moved && from < to) {
        moved = false;
        for (size_t i = 0; i < count; i++) {
            if (!covers(&list[i], write) || list[i].from > from || list[i].to <= from)
                continue;
            from = list[i].to;
            moved = true;
        }
    }
    return MIN(from, to);
}

int
recent_uncovered(const struct recent *recent, const struct recent_call **found, uint64_t *from, uint64_t *to)
{
    size_t calls = recent_calls(recent), count = 0;
    struct cover *list = malloc(MAX(calls, 1) * sizeof(*list));

    *found = NULL;
    if (list == NULL)
        return -ENOMEM;
    for (size_t i = calls; i-- > 0;) {
        const struct recent_call *call = recent_call(recent, i);
        uint64_t end = end_of(call->offset, call->done), open;

        if (make_cover(call, &list[count])) {
            count++;
        } else if (is_nfs(call, NFSPROC3_WRITE)) {
            open = first_open(list, count, call, call->offset, end);
            if (open == end)
                continue;
            *found = call;
            *from = open;
            *to = end;
        }
    }
    free(list);
    return 0;
}
