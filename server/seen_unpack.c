/* server/seen_unpack.c - from JSON to the bytes of arguments and results; see seen_json.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/seen_json.h"
#include "server/text.h"

struct unpacking {
    struct wire_out *out;
    char *error;
    size_t error_size;
};

static int unpack_fields(struct unpacking *unpacking, const struct shape *fields, const json_t *object);

static int
refuse(struct unpacking *unpacking, const struct shape *shape, const char *wanted)
{
    snprintf(unpacking->error, unpacking->error_size, "\"%s\" is not %s", shape->name, wanted);
    return -EINVAL;
}

static int
digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
seen_json_from_hex(const char *text, uint8_t *out)
{
    for (; text[0] != '\0'; text += 2) {
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

        if (low < 0)
            return false;
        *out++ = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Store digits as the bytes of an opaque; `most` of them, or exactly `size` where that is not 0. */
static int
unpack_hex(struct unpacking *unpacking, const struct shape *shape, const char *text)
{
    size_t len = text != NULL ? strlen(text) / 2 : 0;
    uint8_t *space;

    if (text == NULL || strlen(text) % 2 != 0 || len > UINT32_MAX ||
        (shape->kind == SHAPE_FIXED ? len != shape->size : len > shape->size))
        return refuse(unpacking, shape, shape->kind == SHAPE_FIXED ? "hexadecimal digits for eight bytes"
                                                                   : "a string of hexadecimal digits of that length");
    if (shape->kind != SHAPE_FIXED)
        wire_put_u32(unpacking->out, (uint32_t)len);
    space = wire_put_space(unpacking->out, wire_padded(len));
    if (space == NULL)
        return -EMSGSIZE;
    memset(space + len, 0, wire_padding(len));
    return seen_json_from_hex(text, space) ? 0 : refuse(unpacking, shape, "made of hexadecimal digits");
}

static int
unpack_name(struct unpacking *unpacking, const struct shape *shape, const json_t *value)
{
    if (json_is_object(value))
        return unpack_hex(unpacking, shape, json_string_value(json_object_get(value, "hex")));
    if (!json_is_string(value) || json_string_length(value) > shape->size)
        return refuse(unpacking, shape, "a name");
    wire_put_opaque(unpacking->out, json_string_value(value), (uint32_t)json_string_length(value));
    return 0;
}

static int
unpack_data(struct unpacking *unpacking, const struct shape *shape, const json_t *value)
{
    if (json_object_get(value, "siphash") != NULL)
        return -ENODATA;
    return unpack_hex(unpacking, shape, json_string_value(json_object_get(value, "hex")));
}

static int
unpack_time(struct unpacking *unpacking, const struct shape *shape, const json_t *value)
{
    const char *text = json_string_value(value);
    uint32_t seconds, nanoseconds;
    int used = -1;

    if (text == NULL || sscanf(text, "%" SCNu32 ".%10" SCNu32 "%n", &seconds, &nanoseconds, &used) != 2 ||
        text[used] != '\0')
        return refuse(unpacking, shape, "a time, \"SECONDS.NANOSECONDS\"");
    wire_put_u32(unpacking->out, seconds);
    wire_put_u32(unpacking->out, nanoseconds);
    return 0;
}

static int
read_number(struct unpacking *unpacking, const struct shape *shape, const json_t *value, uint64_t *number)
{
    const char *text = json_string_value(value);
    int64_t known = text != NULL ? shape_number(shape->words, text) : -1;

    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *number = (uint64_t)json_integer_value(value);
    else if (known >= 0)
        *number = (uint64_t)known;
    else if (text == NULL || text_number(text, number) < 0)
        return refuse(unpacking, shape, shape->words != NULL ? "one of the words that it may be" : "a number");
    if (shape->kind != SHAPE_U64 && *number > UINT32_MAX)
        return refuse(unpacking, shape, "a number of 32 bits");
    return 0;
}

static int
unpack_many(struct unpacking *unpacking, const struct shape *shape, const json_t *list)
{
    const json_t *element;
    size_t i;
    int err = 0;

    if (!json_is_array(list))
        return refuse(unpacking, shape, "a list");
    if (shape->kind == SHAPE_ARRAY)
        wire_put_u32(unpacking->out, (uint32_t)json_array_size(list));
    json_array_foreach(list, i, element) {
        if (shape->kind == SHAPE_CHAIN)
            wire_put_bool(unpacking->out, true);
        err = unpack_fields(unpacking, shape->fields, element);
        if (err < 0)
            return err;
    }
    if (shape->kind == SHAPE_CHAIN)
        wire_put_bool(unpacking->out, false);
    return 0;
}

/* An optional field without a name is there if what it holds is. */
static int
unpack_maybe(struct unpacking *unpacking, const struct shape *shape, const json_t *object)
{
    const json_t *inner = shape->name == NULL ? object : json_object_get(object, shape->name);
    bool there = shape->name == NULL ? json_object_get(object, shape->fields->name) != NULL : inner != NULL;

    wire_put_bool(unpacking->out, there);
    return there ? unpack_fields(unpacking, shape->fields, inner) : 0;
}

static int
unpack_field(struct unpacking *unpacking, const struct shape *shape, const json_t *object)
{
    const json_t *value = shape->name != NULL ? json_object_get(object, shape->name) : object;
    uint64_t number = 0;
    int err;

    switch (shape->kind) {
    case SHAPE_MAYBE:
        return unpack_maybe(unpacking, shape, object);
    case SHAPE_STRUCT:
        return unpack_fields(unpacking, shape->fields, value);
    case SHAPE_HANDLE:
    case SHAPE_FIXED:
        return unpack_hex(unpacking, shape, json_string_value(value));
    case SHAPE_NAME:
        return unpack_name(unpacking, shape, value);
    case SHAPE_DATA:
        return unpack_data(unpacking, shape, value);
    case SHAPE_TIME:
        return unpack_time(unpacking, shape, value);
    case SHAPE_CHAIN:
    case SHAPE_ARRAY:
        return unpack_many(unpacking, shape, value);
    case SHAPE_BOOL:
        if (!json_is_boolean(value))
            return refuse(unpacking, shape, "true or false");
        wire_put_bool(unpacking->out, json_is_true(value));
        return 0;
    default:
        break;
    }
    err = read_number(unpacking, shape, value, &number);
    if (err == 0)
        shape_put(unpacking->out, shape, &(struct shape_value){ .number = number });
    if (err == 0 && shape->kind == SHAPE_SWITCH)
        err = unpack_fields(unpacking, shape_arm(shape, (uint32_t)number), object);
    return err;
}

static int
unpack_fields(struct unpacking *unpacking, const struct shape *fields, const json_t *object)
{
    int err = 0;

    for (; fields != NULL && fields->kind != SHAPE_END && err == 0; fields++)
        err = unpack_field(unpacking, fields, object);
    return err;
}

int
seen_json_unpack(const struct shape *fields, const json_t *object, struct wire_out *out, char *error, size_t error_size)
{
    struct unpacking unpacking = { .out = out, .error = error, .error_size = error_size };
    const char *raw = json_string_value(json_object_get(object, "raw"));
    uint8_t *space;
    int err;

    if (raw != NULL) {
        space = wire_put_space(out, strlen(raw) / 2);
        if (space == NULL)
            return -EMSGSIZE;
        if (strlen(raw) % 2 == 0 && seen_json_from_hex(raw, space))
            return 0;
        snprintf(error, error_size, "\"raw\" is not made of hexadecimal digits");
        return -EINVAL;
    }
    err = unpack_fields(&unpacking, fields, object);
    return err == 0 && out->full ? -EMSGSIZE : err;
}
