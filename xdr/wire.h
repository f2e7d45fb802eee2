/*
 * xdr/wire.h - bounded reading and writing of XDR (RFC 4506) in memory.
 *
 * Reading past the end or storing past the end never touches memory outside: it sets a flag that the caller looks at
 * once, after the last field. All functions are inline; none allocates; any thread.
 */
#ifndef RINGNFS_XDR_WIRE_H
#define RINGNFS_XDR_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A reader over bytes that somebody else owns. bad: something did not fit; every value read since is zero. */
struct wire_in {
    const uint8_t *p;
    const uint8_t *end;
    bool bad;
};

/* A writer into a fixed space that somebody else owns. full: something did not fit; what was stored before stays. */
struct wire_out {
    uint8_t *p;
    uint8_t *end;
    bool full;
};

/* How many bytes of padding follow n bytes of opaque data (RFC 4506 section 4.10). */
static inline size_t
wire_padding(size_t n)
{
    return (4 - (n & 3)) & 3;
}

/* n rounded up to a multiple of four, without overflow for any uint32_t. */
static inline size_t
wire_padded(size_t n)
{
    return n + wire_padding(n);
}

static inline size_t
wire_left(const struct wire_in *in)
{
    return (size_t)(in->end - in->p);
}

/* The next n bytes, or NULL where fewer are left. */
static inline const uint8_t *
wire_get_bytes(struct wire_in *in, size_t n)
{
    const uint8_t *p = in->p;

    if (in->bad || wire_left(in) < n) {
        in->bad = true;
        return NULL;
    }
    in->p += n;
    return p;
}

static inline uint32_t
wire_get_u32(struct wire_in *in)
{
    const uint8_t *p = wire_get_bytes(in, 4);
    uint32_t value = 0;

    if (p != NULL)
        memcpy(&value, p, 4);
    return be32toh(value);
}

static inline uint64_t
wire_get_u64(struct wire_in *in)
{
    const uint8_t *p = wire_get_bytes(in, 8);
    uint64_t value = 0;

    if (p != NULL)
        memcpy(&value, p, 8);
    return be64toh(value);
}

/* An XDR bool: 0 or 1; anything else is bad (RFC 4506 section 4.4). */
static inline bool
wire_get_bool(struct wire_in *in)
{
    uint32_t value = wire_get_u32(in);

    if (value > 1)
        in->bad = true;
    return value == 1 && !in->bad;
}

/* A counted opaque of at most max bytes with its padding; the result points into the input. NULL when it does not fit. */
static inline const uint8_t *
wire_get_opaque(struct wire_in *in, uint32_t max, uint32_t *len)
{
    uint32_t n = wire_get_u32(in);
    const uint8_t *p;

    *len = 0;
    if (in->bad || n > max) {
        in->bad = true;
        return NULL;
    }
    p = wire_get_bytes(in, wire_padded(n));
    if (p != NULL)
        *len = n;
    return p;
}

static inline size_t
wire_room(const struct wire_out *out)
{
    return (size_t)(out->end - out->p);
}

/* Room for n bytes, or NULL where fewer are left. */
static inline uint8_t *
wire_put_space(struct wire_out *out, size_t n)
{
    uint8_t *p = out->p;

    if (out->full || wire_room(out) < n) {
        out->full = true;
        return NULL;
    }
    out->p += n;
    return p;
}

static inline void
wire_put_u32(struct wire_out *out, uint32_t value)
{
    uint8_t *p = wire_put_space(out, 4);

    value = htobe32(value);
    if (p != NULL)
        memcpy(p, &value, 4);
}

static inline void
wire_put_u64(struct wire_out *out, uint64_t value)
{
    uint8_t *p = wire_put_space(out, 8);

    value = htobe64(value);
    if (p != NULL)
        memcpy(p, &value, 8);
}

static inline void
wire_put_bool(struct wire_out *out, bool value)
{
    wire_put_u32(out, value ? 1 : 0);
}

/* n bytes and their padding, without a count in front. */
static inline void
wire_put_fixed(struct wire_out *out, const void *data, size_t n)
{
    uint8_t *p = wire_put_space(out, wire_padded(n));

    if (p == NULL)
        return;
    if (n > 0)
        memcpy(p, data, n);
    memset(p + n, 0, wire_padding(n));
}

/* A counted opaque: length, bytes, padding. */
static inline void
wire_put_opaque(struct wire_out *out, const void *data, uint32_t n)
{
    wire_put_u32(out, n);
    wire_put_fixed(out, data, n);
}

#endif
