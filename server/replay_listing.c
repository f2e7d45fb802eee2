/*
 * server/replay_listing.c - READDIR and READDIRPLUS, which servers answer in pieces of their own choice. What is compared
 * is the whole: cookies and verifiers are the server's own, and it is asked on until it has told all the names that the
 * recording has, and at its end to the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log.h"
#include "server/replay_private.h"
#include "storage/fh.h"
#include "xdr/nfs3.h"

#define LISTINGS_MAX 256                /* that are not at their end */
#define NAMES_MAX 2000000u              /* of all of them, of both sides */
#define BUCKETS 8192u
#define SHOWN_MAX 160                   /* bytes of a name that are shown */

/* A name, and what each side says of it. */
struct listed {
    struct listed *next;                /* in its bucket */
    char *name;
    size_t len;
    uint8_t *recorded, *now;            /* an entry's fields; NULL: that side has not told it */
    size_t recorded_len, now_len;
};

struct listing {
    LIST_ENTRY(listing) all;            /* the one that was used last first */
    uint8_t handle[NFS3_FHSIZE];        /* the recorded one */
    size_t handle_len;
    uint32_t procedure;
    uint64_t cookie;                    /* the server's, of its last entry */
    uint8_t verifier[NFS3_COOKIEVERFSIZE];
    bool ended;                         /* the server has told all */
    size_t waiting;                     /* names that are recorded, and not told by the server yet */
    struct listed *buckets[BUCKETS];
};

/* Entries of one reply, on their way into a listing. */
struct reading {
    struct replay *replay;
    struct listing *listing;
    struct wire_in *in;
    bool recorded;                      /* which side it is */
    const uint8_t *start;               /* of an entry */
    const struct shape *entry;          /* its fields */
    struct shape_value name;
    uint64_t cookie;
    unsigned entries;
    bool eof;
    int err;
};

static void
free_listing(struct replay *replay, struct listing *listing)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct listed *listed = listing->buckets[i], *next; listed != NULL; listed = next) {
            next = listed->next;
            free(listed->name);
            free(listed->recorded);
            free(listed->now);
            free(listed);
            replay->names_listed--;
        }
    }
    LIST_REMOVE(listing, all);
    replay->nlistings--;
    free(listing);
}

void
replay_listings_free(struct replay *replay)
{
    while (!LIST_EMPTY(&replay->listings))
        free_listing(replay, LIST_FIRST(&replay->listings));
}

static int
fail(struct replay *replay, int err, const char *why)
{
    snprintf(replay->error, replay->error_size, "%s", why);
    return err;
}

/* ---- Names ---- */

static struct listed *
get_listed(struct reading *reading, const void *name, size_t len)
{
    static const uint8_t no_key[16];
    struct listing *listing = reading->listing;
    struct listed **bucket = &listing->buckets[siphash(no_key, name, len) % BUCKETS], *listed = *bucket;

    while (listed != NULL && (listed->len != len || memcmp(listed->name, name, len) != 0))
        listed = listed->next;
    if (listed != NULL)
        return listed;
    listed = reading->replay->names_listed < NAMES_MAX ? calloc(1, sizeof(*listed)) : NULL;
    if (listed == NULL || (listed->name = malloc(len + 1)) == NULL) {
        free(listed);
        reading->err = fail(reading->replay, -ENOMEM, "the listings have too many names");
        return NULL;
    }
    memcpy(listed->name, name, len);
    listed->name[len] = '\0';
    listed->len = len;
    listed->next = *bucket;
    *bucket = listed;
    reading->replay->names_listed++;
    return listed;
}

static bool
is_dots(const struct shape_value *name)
{
    return name->len > 0 && name->len <= 2 && memcmp(name->bytes, "..", name->len) == 0;
}

/* Both sides have told a name: what they say of it. */
static int
compare_listed(struct reading *reading, const struct listed *listed)
{
    char prefix[SHOWN_MAX], name[SHOWN_MAX - 16];

    snprintf(prefix, sizeof(prefix), "entry \"%s\" ", log_quote(name, sizeof(name), listed->name, listed->len));
    return replay_compare(reading->replay, reading->entry, prefix,
                          (struct replay_bytes){ listed->recorded, listed->recorded_len },
                          (struct replay_bytes){ listed->now, listed->now_len });
}

/* An entry is read: keep what this side says, once. */
static bool
take_entry(struct reading *reading)
{
    struct listed *listed = is_dots(&reading->name) ? NULL : get_listed(reading, reading->name.bytes, reading->name.len);
    uint8_t **place, *copy;
    size_t len = (size_t)(reading->in->p - reading->start);

    if (listed == NULL)
        return reading->err == 0;
    place = reading->recorded ? &listed->recorded : &listed->now;
    if (*place != NULL)
        return true;
    copy = malloc(len);
    if (copy == NULL) {
        reading->err = fail(reading->replay, -ENOMEM, "out of memory");
        return false;
    }
    memcpy(copy, reading->start, len);
    *place = copy;
    *(reading->recorded ? &listed->recorded_len : &listed->now_len) = len;
    if (listed->recorded != NULL && listed->now != NULL) {
        reading->listing->waiting -= !reading->recorded;
        reading->err = compare_listed(reading, listed);
    } else {
        reading->listing->waiting += reading->recorded;
    }
    return reading->err == 0;
}

static bool
take_value(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct reading *reading = context;

    if (shape->kind == SHAPE_NAME)
        reading->name = *value;
    else if (shape->role == ROLE_COOKIE)
        reading->cookie = value->number;
    else if (shape->role == ROLE_COOKIE_VERIFIER && !reading->recorded)
        memcpy(reading->listing->verifier, value->bytes, sizeof(reading->listing->verifier));
    else if (shape->kind == SHAPE_BOOL)
        reading->eof = value->number != 0;
    return true;
}

static bool
take_open(void *context, const struct shape *shape)
{
    struct reading *reading = context;

    if (shape->kind != SHAPE_CHAIN)
        return true;
    reading->start = reading->in->p;
    reading->entry = shape->fields;
    reading->entries++;
    return true;
}

static bool
take_close(void *context, const struct shape *shape)
{
    return shape->kind != SHAPE_CHAIN || take_entry(context);
}

/* Take the entries of a reply that is a success. Returns 0 or -errno. */
static int
read_entries(struct reading *reading, struct replay_bytes results)
{
    static const struct shape_visitor visitor = { .value = take_value, .opens = take_open, .closes = take_close };
    struct wire_in in = { results.data, results.data + results.len, false };

    reading->in = &in;
    reading->entries = 0;
    reading->eof = false;
    shape_walk(reading->replay->proc->results, &in, &visitor, reading);
    return reading->err;
}

/* ---- Listings ---- */

static struct listing *
find_listing(struct replay *replay, const struct ringnfs_call *call)
{
    struct listing *listing;

    LIST_FOREACH(listing, &replay->listings, all)
        if (listing->procedure == call->procedure && listing->handle_len == call->handle_len &&
            memcmp(listing->handle, call->handle, call->handle_len) == 0)
            return listing;
    return NULL;
}

static struct listing *
new_listing(struct replay *replay, const struct ringnfs_call *call)
{
    struct listing *listing = find_listing(replay, call), *last;

    if (listing != NULL)
        free_listing(replay, listing);
    if (replay->nlistings == LISTINGS_MAX) {
        last = LIST_FIRST(&replay->listings);
        while (LIST_NEXT(last, all) != NULL)
            last = LIST_NEXT(last, all);
        free_listing(replay, last);
    }
    listing = calloc(1, sizeof(*listing));
    if (listing == NULL || call->handle_len > sizeof(listing->handle)) {
        free(listing);
        return NULL;
    }
    memcpy(listing->handle, call->handle, call->handle_len);
    listing->handle_len = call->handle_len;
    listing->procedure = call->procedure;
    LIST_INSERT_HEAD(&replay->listings, listing, all);
    replay->nlistings++;
    return listing;
}

/* Where cookie and verifier stand among the arguments: behind the handle. */
static uint8_t *
find_cookie(const uint8_t *args)
{
    return (uint8_t *)(uintptr_t)args + 4 + wire_padded((size_t)args[2] << 8 | args[3]);
}

static uint64_t
get_cookie(const uint8_t *args)
{
    uint64_t cookie;

    memcpy(&cookie, find_cookie(args), sizeof(cookie));
    return be64toh(cookie);
}

/* Ask the server for its next piece. Returns whether that was a success, or -errno. */
static int
ask(struct reading *reading, size_t args_len, struct replay_bytes *results)
{
    struct replay *replay = reading->replay;
    struct listing *listing = reading->listing;
    uint64_t cookie = htobe64(listing->cookie);
    uint8_t *at = find_cookie(replay->args);
    int err;

    memcpy(at, &cookie, sizeof(cookie));
    memcpy(at + sizeof(cookie), listing->verifier, sizeof(listing->verifier));
    err = replay_send(replay, replay->args, args_len, results);
    if (err != 0)
        return err < 0 ? err : 0;
    if (results->len < 4 || memcmp(results->data, "\0\0\0\0", 4) != 0)
        return 0;
    reading->recorded = false;
    err = read_entries(reading, *results);
    listing->cookie = reading->entries > 0 ? reading->cookie : listing->cookie;
    listing->ended = reading->eof || reading->entries == 0;
    return err < 0 ? err : 1;
}

static void
tell_missing(struct replay *replay, const struct listing *listing)
{
    char field[SHOWN_MAX], name[SHOWN_MAX - 16];

    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct listed *listed = listing->buckets[i]; listed != NULL; listed = listed->next) {
            if (listed->recorded != NULL && listed->now != NULL)
                continue;
            snprintf(field, sizeof(field), "entry \"%s\"", log_quote(name, sizeof(name), listed->name, listed->len));
            replay_differs(replay, field, listed->recorded != NULL ? "there" : "not there",
                           listed->now != NULL ? "there" : "not there");
        }
    }
}

/* Whether the recorded reply is a success. */
static bool
succeeded(const struct ringnfs_call *call)
{
    return call->outcome == 0 && call->results_len >= 4 && memcmp(call->results, "\0\0\0\0", 4) == 0;
}

/* The server is asked on: until it has told what the recording has, or to the end where that is at its own. */
static int
catch_up(struct reading *reading, size_t args_len, bool to_end)
{
    struct replay_bytes results;
    int good = 1;

    while (good > 0 && !reading->listing->ended && (to_end || reading->listing->waiting > 0))
        good = ask(reading, args_len, &results);
    if (good == 0)
        replay_differs(reading->replay, "status", "OK", "the listing breaks off");
    return good < 0 ? good : 0;
}

int
replay_listing(struct replay *replay, size_t args_len)
{
    const struct ringnfs_call *call = replay->call;
    const struct replay_bytes recorded = { call->results, call->results_len };
    struct reading reading = { .replay = replay };
    struct replay_bytes now = { NULL, 0 };
    uint64_t cookie = get_cookie(replay->args);
    bool eof;
    int good = 1, err;

    reading.listing = cookie == 0 ? new_listing(replay, call) : find_listing(replay, call);
    if (reading.listing == NULL && cookie == 0)
        return fail(replay, -ENOMEM, "out of memory");
    if (reading.listing == NULL) {
        replay->counts->unknown++;      /* it goes on with a listing that began before the recording did */
        return 0;
    }
    if (!reading.listing->ended) {
        good = ask(&reading, args_len, &now);
        err = good < 0 ? good : replay_compare(replay, replay->proc->results, "", recorded, now);
        if (err < 0)
            return err;
    }
    if (!succeeded(call) || good == 0)
        return 0;
    reading.recorded = true;
    err = read_entries(&reading, recorded);
    eof = reading.eof;
    if (err == 0)
        err = catch_up(&reading, args_len, eof);
    if (err < 0 || !eof)
        return err;
    tell_missing(replay, reading.listing);
    free_listing(replay, reading.listing);
    return 0;
}
