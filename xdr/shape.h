/*
 * xdr/shape.h - what arguments and results are made of, as tables that programs can walk: to print a call, to read it
 * back, to compare two of them, to put one handle in place of another.
 *
 * A shape is a list of fields with their names in the RFCs. bulk.h is for calls that are to be served, these are for
 * calls that are to be looked at: nothing is allocated, bounds are checked, and the depth of recursion is that of the
 * tables, whatever the bytes say. Any thread.
 */
#ifndef RINGNFS_XDR_SHAPE_H
#define RINGNFS_XDR_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdr/wire.h"

enum shape_kind {
    SHAPE_END,                          /* of a list of fields */
    SHAPE_U32, SHAPE_U64, SHAPE_BOOL,
    SHAPE_TIME,                         /* seconds and nanoseconds, two words */
    SHAPE_HANDLE, SHAPE_NAME, SHAPE_DATA,       /* counted opaques */
    SHAPE_FIXED,                        /* `size` bytes */
    SHAPE_STRUCT,                       /* `fields` */
    SHAPE_MAYBE,                        /* a bool, and if it is true a struct */
    SHAPE_SWITCH,                       /* a number, and what its arm says: as if it stood in its place */
    SHAPE_CHAIN,                        /* as often as a bool in front says: a struct (RFC 4506 4.19) */
    SHAPE_ARRAY                         /* counted structs */
};

/* What a field means beyond its bytes. */
enum shape_role {
    ROLE_PLAIN,
    ROLE_TIME,                          /* when something was done here */
    ROLE_IDENTITY,                      /* a number that only one server gives out, or that depends on its disk */
    ROLE_COOKIE,
    ROLE_COOKIE_VERIFIER,
    ROLE_WRITE_VERIFIER
};

struct shape_word {
    uint32_t number;
    const char *word;
};

struct shape;

/* What follows a number of a SHAPE_SWITCH; the last arm is for all others. */
struct shape_arm {
    uint32_t number;
    bool otherwise;
    const struct shape *fields;
};

struct shape {
    const char *name;
    enum shape_kind kind;
    enum shape_role role;
    uint32_t size;                      /* SHAPE_FIXED: bytes; SHAPE_HANDLE, _NAME, _DATA, _ARRAY: the most there may be */
    const struct shape_word *words;     /* names of numbers, ended by a NULL; NULL: there are none */
    const struct shape *fields;
    const struct shape_arm *arms;
};

/* One value that has been read. */
struct shape_value {
    uint64_t number;                    /* SHAPE_TIME: seconds; _MAYBE, _CHAIN: whether something follows; _ARRAY: how many */
    uint32_t nanoseconds;
    const uint8_t *bytes;               /* of opaques, in the message */
    uint32_t len;
};

/* NULL functions are left out. Returning false ends the walk. */
struct shape_visitor {
    /* Each value in the order of the bytes, with what only says whether more follows. */
    bool (*value)(void *context, const struct shape *shape, const struct shape_value *value);
    /* Around the fields of a struct, and around each element of a chain or an array. */
    bool (*opens)(void *context, const struct shape *shape);
    bool (*closes)(void *context, const struct shape *shape);
};

/* Read what a shape says, and tell of it. Returns false when the bytes do not fit, or the visitor says so. */
bool shape_walk(const struct shape *fields, struct wire_in *in, const struct shape_visitor *visitor, void *context);

/* Write one value as it would be read; a struct has no bytes of its own. */
void shape_put(struct wire_out *out, const struct shape *shape, const struct shape_value *value);

/* The arm of a number; NULL: there is none. */
const struct shape *shape_arm(const struct shape *shape, uint32_t number);

/* The word for a number, or NULL; the number of a word, or -1. */
const char *shape_word(const struct shape_word *words, uint32_t number);
int64_t shape_number(const struct shape_word *words, const char *word);

/* A procedure of one of the programs that are served. */
struct shape_proc {
    const char *name;
    const struct shape *args, *results; /* NULL: void */
};

/* NULL for what is not known. */
const struct shape_proc *shape_proc(uint32_t program, uint32_t version, uint32_t procedure);

/* The name of a program, "NFS"; NULL for one that is not known; and back, 0. */
const char *shape_program_name(uint32_t program);
uint32_t shape_program_number(const char *name);

/* The number of a procedure by its name, or -1. */
int shape_proc_number(uint32_t program, uint32_t version, const char *name);

#endif
