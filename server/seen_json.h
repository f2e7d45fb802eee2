/*
 * server/seen_json.h - arguments and results as JSON and back, by their shapes; ringnfs-journal(5) describes it.
 *
 * Fields have the names of the RFCs. A handle, a verifier and a name that is no UTF-8 are hexadecimal digits; what is
 * not there, such as attributes that a server left out, has no key. Any thread.
 */
#ifndef RINGNFS_SERVER_SEEN_JSON_H
#define RINGNFS_SERVER_SEEN_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/ringnfs.h"
#include "xdr/shape.h"

/* An object of what a shape says about len bytes: {"raw":HEX} if they are something else. NULL when memory is short. */
json_t *seen_json_pack(const struct shape *fields, const void *bytes, size_t len, bool whole_data);

/*
 * The bytes of such an object. Returns 0, -EINVAL with error (which names the field) for one that is not of this shape, or
 * -ENODATA if it has a digest in place of data; -EMSGSIZE when out is too small.
 */
int seen_json_unpack(const struct shape *fields, const json_t *object, struct wire_out *out, char *error,
                     size_t error_size);

/* A whole call that is over, as one object. NULL when memory is short. */
json_t *seen_json_call(const struct ringnfs_call *seen, bool whole_data);

/* What "error" says: the outcome of a call without results. Returns whether it is one. */
bool seen_json_outcome(const char *word, int *outcome);

/* A name, or {"hex":DIGITS} if it is no UTF-8. NULL when memory is short. */
json_t *seen_json_name(const void *bytes, size_t len);

/* Read hexadecimal digits into out (strlen(text) / 2 bytes). Returns whether they are such, an even number of them. */
bool seen_json_from_hex(const char *text, uint8_t *out);

#endif
