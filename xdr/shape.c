/* xdr/shape.c - see shape.h; the tables are in shape_tables.c. */
#include "xdr/shape.h"

static void
get_value(struct wire_in *in, const struct shape *shape, struct shape_value *value)
{
    *value = (struct shape_value){ 0 };
    switch (shape->kind) {
    case SHAPE_U32:
    case SHAPE_SWITCH:
    case SHAPE_ARRAY:
        value->number = wire_get_u32(in);
        break;
    case SHAPE_U64:
        value->number = wire_get_u64(in);
        break;
    case SHAPE_BOOL:
    case SHAPE_MAYBE:
    case SHAPE_CHAIN:
        value->number = wire_get_bool(in);
        break;
    case SHAPE_TIME:
        value->number = wire_get_u32(in);
        value->nanoseconds = wire_get_u32(in);
        break;
    case SHAPE_HANDLE:
    case SHAPE_NAME:
    case SHAPE_DATA:
        value->bytes = wire_get_opaque(in, shape->size, &value->len);
        break;
    case SHAPE_FIXED:
        value->bytes = wire_get_bytes(in, wire_padded(shape->size));
        value->len = value->bytes != NULL ? shape->size : 0;
        break;
    case SHAPE_STRUCT:
    case SHAPE_END:
        break;
    }
}

void
shape_put(struct wire_out *out, const struct shape *shape, const struct shape_value *value)
{
    switch (shape->kind) {
    case SHAPE_U32:
    case SHAPE_SWITCH:
    case SHAPE_ARRAY:
    case SHAPE_BOOL:
    case SHAPE_MAYBE:
    case SHAPE_CHAIN:
        wire_put_u32(out, (uint32_t)value->number);
        break;
    case SHAPE_U64:
        wire_put_u64(out, value->number);
        break;
    case SHAPE_TIME:
        wire_put_u32(out, (uint32_t)value->number);
        wire_put_u32(out, value->nanoseconds);
        break;
    case SHAPE_HANDLE:
    case SHAPE_NAME:
    case SHAPE_DATA:
        wire_put_opaque(out, value->bytes, value->len);
        break;
    case SHAPE_FIXED:
        wire_put_fixed(out, value->bytes, value->len);
        break;
    case SHAPE_STRUCT:
    case SHAPE_END:
        break;
    }
}

const struct shape *
shape_arm(const struct shape *shape, uint32_t number)
{
    const struct shape_arm *arm = shape->arms;

    for (; !arm->otherwise; arm++)
        if (arm->number == number)
            return arm->fields;
    return arm->fields;
}

static bool
walk_element(const struct shape *shape, struct wire_in *in, const struct shape_visitor *visitor, void *context)
{
    if (visitor->opens != NULL && !visitor->opens(context, shape))
        return false;
    if (!shape_walk(shape->fields, in, visitor, context))
        return false;
    return visitor->closes == NULL || visitor->closes(context, shape);
}

static bool
tell(const struct shape *shape, struct wire_in *in, const struct shape_visitor *visitor, void *context,
     struct shape_value *value)
{
    get_value(in, shape, value);
    return !in->bad && (visitor->value == NULL || visitor->value(context, shape, value));
}

/* What may come more than once. */
static bool
walk_many(const struct shape *shape, struct wire_in *in, const struct shape_visitor *visitor, void *context)
{
    struct shape_value value;
    bool good = tell(shape, in, visitor, context, &value);

    if (shape->kind == SHAPE_ARRAY && value.number > shape->size)
        return false;
    while (good && value.number > 0) {
        good = walk_element(shape, in, visitor, context);
        if (shape->kind == SHAPE_ARRAY)
            value.number--;
        else if (good)
            good = tell(shape, in, visitor, context, &value);
    }
    return good;
}

static bool
walk_field(const struct shape *shape, struct wire_in *in, const struct shape_visitor *visitor, void *context)
{
    struct shape_value value;

    if (shape->kind == SHAPE_STRUCT)
        return walk_element(shape, in, visitor, context);
    if (shape->kind == SHAPE_CHAIN || shape->kind == SHAPE_ARRAY)
        return walk_many(shape, in, visitor, context);
    if (!tell(shape, in, visitor, context, &value))
        return false;
    if (shape->kind == SHAPE_MAYBE && value.number != 0)
        return walk_element(shape, in, visitor, context);
    if (shape->kind == SHAPE_SWITCH)
        return shape_walk(shape_arm(shape, (uint32_t)value.number), in, visitor, context);
    return true;
}

bool
shape_walk(const struct shape *fields, struct wire_in *in, const struct shape_visitor *visitor, void *context)
{
    for (; fields != NULL && fields->kind != SHAPE_END; fields++)
        if (!walk_field(fields, in, visitor, context))
            return false;
    return true;
}

const char *
shape_word(const struct shape_word *words, uint32_t number)
{
    for (; words != NULL && words->word != NULL; words++)
        if (words->number == number)
            return words->word;
    return NULL;
}

int64_t
shape_number(const struct shape_word *words, const char *word)
{
    for (; words != NULL && words->word != NULL; words++)
        if (strcmp(words->word, word) == 0)
            return words->number;
    return -1;
}
