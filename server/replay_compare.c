/*
 * server/replay_compare.c - two replies field by field: both become lists of values with their names, and values of the
 * same name are compared by what they mean. What only one side has, such as attributes that a server leaves out, is no
 * difference.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log.h"
#include "server/replay_private.h"
#include "xdr/nfs3.h"

#define VALUES_MAX 8192                 /* of one reply: an ACL has at most 6 * 1024 */
#define NAME_MAX_BYTES 128
#define DEPTH_MAX 16
#define SHOWN_MAX 300                   /* bytes of a value that are shown */

struct named_value {
    char name[NAME_MAX_BYTES];
    const struct shape *shape;
    struct shape_value value;
};

struct side {
    struct named_value values[VALUES_MAX];
    size_t count;
    char name[NAME_MAX_BYTES];          /* of what is open */
    size_t ends[DEPTH_MAX];             /* of name, before each that is open */
    unsigned index[DEPTH_MAX];          /* of the next element of an array there */
    unsigned depth;
    unsigned lists;                     /* that are open */
};

struct comparison {
    struct side recorded, now;
};

int
replay_comparison_new(struct comparison **comparison)
{
    *comparison = calloc(1, sizeof(**comparison));
    return *comparison != NULL ? 0 : -ENOMEM;
}

void
replay_comparison_free(struct comparison *comparison)
{
    free(comparison);
}

static bool
take_value(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct side *side = context;
    struct named_value *named = &side->values[side->count];

    if (shape->kind == SHAPE_ARRAY)
        side->index[side->depth] = 0;
    if (side->lists > 0 || shape->kind == SHAPE_CHAIN || shape->kind == SHAPE_MAYBE)
        return true;
    if (side->count == VALUES_MAX)
        return false;
    snprintf(named->name, sizeof(named->name), "%s%s", side->name, shape->name);
    named->shape = shape;
    named->value = *value;
    side->count++;
    return true;
}

static bool
take_open(void *context, const struct shape *shape)
{
    struct side *side = context;
    size_t len = strlen(side->name);

    if (shape->kind == SHAPE_CHAIN)
        side->lists++;
    if (side->lists > 0 || shape->name == NULL)
        return true;
    if (side->depth + 1 == DEPTH_MAX)
        return false;
    if (shape->kind == SHAPE_ARRAY)
        snprintf(side->name + len, sizeof(side->name) - len, "%s[%u].", shape->name, side->index[side->depth]++);
    else
        snprintf(side->name + len, sizeof(side->name) - len, "%s.", shape->name);
    side->ends[side->depth++] = len;
    return true;
}

static bool
take_close(void *context, const struct shape *shape)
{
    struct side *side = context;

    if (side->lists > 0) {
        side->lists -= shape->kind == SHAPE_CHAIN;
    } else if (shape->name != NULL) {
        side->name[side->ends[--side->depth]] = '\0';
    }
    return true;
}

static bool
flatten(struct side *side, const struct shape *fields, const char *prefix, struct replay_bytes bytes)
{
    static const struct shape_visitor visitor = { .value = take_value, .opens = take_open, .closes = take_close };
    struct wire_in in = { bytes.data, bytes.data + bytes.len, false };

    side->count = side->depth = side->lists = 0;
    snprintf(side->name, sizeof(side->name), "%s", prefix);
    return shape_walk(fields, &in, &visitor, side);
}

/* The value of a name; both lists are in the same order, so that it is looked for from where the last one was. */
static const struct named_value *
find(const struct side *side, const char *name, size_t *from)
{
    for (size_t i = 0; i < side->count; i++) {
        const struct named_value *named = &side->values[(*from + i) % side->count];

        if (strcmp(named->name, name) != 0)
            continue;
        *from = (size_t)(named - side->values) + 1;
        return named;
    }
    return NULL;
}

static bool
ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);

    return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

/* Whether the attributes that a size stands among are a directory's: how large one is, is the file system's affair. */
static bool
is_size_of_directory(const struct side *side, const struct named_value *size)
{
    char type[NAME_MAX_BYTES];
    const struct named_value *named;
    size_t from = 0;

    if (!ends_with(size->name, ".size") && strcmp(size->name, "size") != 0)
        return false;
    if (ends_with(size->name, ".before.size"))          /* the attributes behind it have the type */
        snprintf(type, sizeof(type), "%.*s.after.type", (int)(strlen(size->name) - strlen(".before.size")), size->name);
    else
        snprintf(type, sizeof(type), "%.*stype", (int)(strlen(size->name) - strlen("size")), size->name);
    named = find(side, type, &from);
    return named == NULL ? ends_with(size->name, ".before.size") : named->value.number == NF3DIR;
}

static bool
is_compared(const struct replay *replay, const struct side *recorded, const struct named_value *named)
{
    switch (named->shape->role) {
    case ROLE_COOKIE:
    case ROLE_COOKIE_VERIFIER:
        return false;
    case ROLE_TIME:
    case ROLE_IDENTITY:
        return replay->config->strict;
    default:
        return replay->config->strict || !is_size_of_directory(recorded, named);
    }
}

static bool
same_bytes(const struct shape_value *a, const struct shape_value *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->bytes, b->bytes, a->len) == 0);
}

static void
show(const struct named_value *named, char *out, size_t size)
{
    const struct shape_value *value = &named->value;
    const char *word = shape_word(named->shape->words, (uint32_t)value->number);

    if (named->shape->kind == SHAPE_TIME)
        snprintf(out, size, "%" PRIu64 ".%09" PRIu32, value->number, value->nanoseconds);
    else if (named->shape->kind == SHAPE_BOOL)
        snprintf(out, size, "%s", value->number != 0 ? "true" : "false");
    else if (named->shape->kind == SHAPE_NAME)
        log_quote(out, size, value->bytes, value->len);
    else if (value->bytes != NULL || named->shape->kind == SHAPE_DATA)
        snprintf(out, size, "%" PRIu32 " bytes", value->len);
    else if (word != NULL)
        snprintf(out, size, "%s", word);
    else
        snprintf(out, size, ends_with(named->name, "mode") ? "%04" PRIo64 : "%" PRIu64, value->number);
}

static void
differs(struct replay *replay, const struct named_value *recorded, const struct named_value *now)
{
    char before[SHOWN_MAX], after[SHOWN_MAX];
    uint32_t at = 0;

    show(recorded, before, sizeof(before));
    show(now, after, sizeof(after));
    if (recorded->shape->kind == SHAPE_DATA) {
        while (at < recorded->value.len && at < now->value.len && recorded->value.bytes[at] == now->value.bytes[at])
            at++;
        snprintf(after + strlen(after), sizeof(after) - strlen(after), ", different from byte %" PRIu32 " on", at);
    }
    replay_differs(replay, recorded->name, before, after);
}

/* A handle is learnt: what it is, is told by the attributes beside it. A verifier has to stand for the same one always. */
static int
learn(struct replay *replay, struct replay_map *map, const struct named_value *recorded, const struct named_value *now)
{
    const struct shape_value *a = &recorded->value, *b = &now->value;
    size_t len;
    const uint8_t *known = replay_map_get(map, a->bytes, a->len, &len);
    int err;

    if (map == replay->verifiers && known != NULL && (len != b->len || memcmp(known, b->bytes, len) != 0))
        replay_differs(replay, recorded->name, "the same as before", "another one: the server may have lost data");
    err = replay_map_set(map, a->bytes, a->len, b->bytes, b->len);
    if (err < 0)
        snprintf(replay->error, replay->error_size, err == -ENOSPC ? "there are too many handles" : "out of memory");
    return err;
}

static int
compare_value(struct replay *replay, const struct side *recorded_side, const struct named_value *recorded,
              const struct named_value *now)
{
    const struct shape *shape = recorded->shape;

    if (shape->kind == SHAPE_HANDLE)
        return learn(replay, replay->handles, recorded, now);
    if (shape->role == ROLE_WRITE_VERIFIER)
        return learn(replay, replay->verifiers, recorded, now);
    if (is_compared(replay, recorded_side, recorded) &&
        (recorded->value.number != now->value.number || recorded->value.nanoseconds != now->value.nanoseconds ||
         !same_bytes(&recorded->value, &now->value)))
        differs(replay, recorded, now);
    return 0;
}

int
replay_compare(struct replay *replay, const struct shape *fields, const char *prefix, struct replay_bytes recorded,
               struct replay_bytes now)
{
    struct comparison *comparison = replay->comparison;
    const struct named_value *same;
    size_t from = 0;
    int err = 0;

    if (!flatten(&comparison->recorded, fields, prefix, recorded))
        return 0;                       /* it could not be read when it was recorded either */
    if (!flatten(&comparison->now, fields, prefix, now)) {
        replay_differs(replay, "the results", "can be read", "cannot be read");
        return 0;
    }
    for (size_t i = 0; i < comparison->recorded.count && err == 0; i++) {
        const struct named_value *named = &comparison->recorded.values[i];

        same = find(&comparison->now, named->name, &from);
        if (same == NULL)
            continue;
        err = compare_value(replay, &comparison->recorded, named, same);
        if (named->shape->kind == SHAPE_SWITCH && named->value.number != same->value.number)
            break;                      /* what follows is something else */
    }
    return err;
}
