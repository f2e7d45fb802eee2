/* server/seen_json.c - see seen_json.h: from bytes to JSON; seen_unpack.c is the way back. */
#include "server/seen_json.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpc/call.h"
#include "rpc/tap.h"
#include "server/peer.h"
#include "server/seen.h"
#include "storage/fh.h"

#define DEPTH_MAX 16                    /* of the tables */

/* The objects that are open; none of them is owned but the first. */
struct packing {
    json_t *stack[DEPTH_MAX];
    unsigned depth;
    bool whole_data;
    bool failed;                        /* memory is short */
};

static json_t *
hex(const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    char *text = malloc(2 * len + 1);
    json_t *string;

    if (text == NULL)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    string = json_stringn_nocheck(text, 2 * len);
    free(text);
    return string;
}

json_t *
seen_json_name(const void *bytes, size_t len)
{
    json_t *string = json_stringn(bytes, len);

    return string != NULL ? string : json_pack("{s:o}", "hex", hex(bytes, len));
}

static json_t *
data(const struct packing *packing, const struct shape_value *value)
{
    static const uint8_t no_key[16];
    char digest[17];

    if (packing->whole_data)
        return json_pack("{s:I, s:o}", "length", (json_int_t)value->len, "hex", hex(value->bytes, value->len));
    snprintf(digest, sizeof(digest), "%016" PRIx64, siphash(no_key, value->bytes, value->len));
    return json_pack("{s:I, s:s}", "length", (json_int_t)value->len, "siphash", digest);
}

static json_t *
moment(int64_t seconds, uint32_t nanoseconds)
{
    time_t time = (time_t)seconds;
    char text[64];
    struct tm tm;
    size_t used;

    gmtime_r(&time, &tm);
    used = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text + used, sizeof(text) - used, ".%09" PRIu32 "Z", nanoseconds);
    return json_string(text);
}

/* JSON has signed integers only. */
static json_t *
number(uint64_t value)
{
    char text[32];

    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(text, sizeof(text), "%" PRIu64, value);
    return json_string(text);
}

static json_t *
pack_value(const struct packing *packing, const struct shape *shape, const struct shape_value *value)
{
    const char *word = shape_word(shape->words, (uint32_t)value->number);
    char text[32];

    switch (shape->kind) {
    case SHAPE_BOOL:
        return json_boolean(value->number != 0);
    case SHAPE_TIME:
        snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu32, value->number, value->nanoseconds);
        return json_string(text);
    case SHAPE_HANDLE:
    case SHAPE_FIXED:
        return hex(value->bytes, value->len);
    case SHAPE_NAME:
        return seen_json_name(value->bytes, value->len);
    case SHAPE_DATA:
        return data(packing, value);
    case SHAPE_CHAIN:
    case SHAPE_ARRAY:
        return json_array();
    default:
        return word != NULL ? json_string(word) : number(value->number);
    }
}

/* Returns whether to go on. */
static bool
keep(struct packing *packing, int result)
{
    packing->failed |= result < 0;
    return !packing->failed;
}

static bool
take_value(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct packing *packing = context;
    json_t *object = packing->stack[packing->depth];

    if (shape->kind == SHAPE_MAYBE)
        return true;
    if (shape->kind == SHAPE_CHAIN && json_object_get(object, shape->name) != NULL)
        return true;                    /* it only says that the chain goes on, or ends */
    return keep(packing, json_object_set_new(object, shape->name, pack_value(packing, shape, value)));
}

static bool
take_open(void *context, const struct shape *shape)
{
    struct packing *packing = context;
    json_t *object = packing->stack[packing->depth], *inner;

    if (shape->name == NULL)
        return true;
    if (packing->depth + 1 == DEPTH_MAX)
        return keep(packing, -1);
    inner = packing->stack[packing->depth + 1] = json_object();
    packing->depth++;
    if (shape->kind == SHAPE_CHAIN || shape->kind == SHAPE_ARRAY)
        return keep(packing, json_array_append_new(json_object_get(object, shape->name), inner));
    return keep(packing, json_object_set_new(object, shape->name, inner));
}

static bool
take_close(void *context, const struct shape *shape)
{
    struct packing *packing = context;

    packing->depth -= shape->name != NULL;
    return true;
}

json_t *
seen_json_pack(const struct shape *fields, const void *bytes, size_t len, bool whole_data)
{
    static const struct shape_visitor visitor = { .value = take_value, .opens = take_open, .closes = take_close };
    struct packing packing = { .stack = { json_object() }, .whole_data = whole_data };
    struct wire_in in = { bytes, (const uint8_t *)bytes + len, false };
    bool good = packing.stack[0] != NULL && shape_walk(fields, &in, &visitor, &packing) && in.p == in.end;

    if (good && !packing.failed)
        return packing.stack[0];
    json_decref(packing.stack[0]);
    return packing.failed ? NULL : json_pack("{s:o}", "raw", hex(bytes, len));
}

static const char *
flavor_word(uint32_t flavor)
{
    static const struct shape_word words[] = {
        { CALL_AUTH_NONE, "none" }, { CALL_AUTH_SYS, "sys" }, { CALL_AUTH_KRB5, "krb5" }, { CALL_AUTH_KRB5I, "krb5i" },
        { CALL_AUTH_KRB5P, "krb5p" }, { 0, NULL }
    };
    const char *word = shape_word(words, flavor);

    return word != NULL ? word : SEEN_UNKNOWN;
}

static json_t *
pack_auth(const struct ringnfs_call *seen)
{
    json_t *auth = json_pack("{s:s}", "flavor", flavor_word(seen->flavor)), *groups;

    if (seen->uid != UINT32_MAX)
        json_object_set_new(auth, "uid", number(seen->uid));
    if (seen->gid != UINT32_MAX)
        json_object_set_new(auth, "gid", number(seen->gid));
    if (seen->flavor != CALL_AUTH_SYS)
        return auth;
    groups = json_array();
    for (size_t i = 0; i < seen->ngroups; i++)
        json_array_append_new(groups, number(seen->groups[i]));
    json_object_set_new(auth, "groups", groups);
    json_object_set_new(auth, "machine", seen_json_name(seen->machine, seen->machine_len));
    return auth;
}

static json_t *
pack_client(const struct ringnfs_call *seen)
{
    struct sockaddr_storage peer;
    struct peer_text text;
    uint16_t port = 0;
    char whole[sizeof(text.text) + 16];

    memset(&peer, 0, sizeof(peer));
    memcpy(&peer, seen->client, seen->client->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                    : sizeof(struct sockaddr_in));
    if (peer.ss_family == AF_INET6)
        port = ntohs(((const struct sockaddr_in6 *)&peer)->sin6_port);
    else if (peer.ss_family == AF_INET)
        port = ntohs(((const struct sockaddr_in *)&peer)->sin_port);
    peer_format(&peer, &text);
    snprintf(whole, sizeof(whole), strchr(text.text, ':') != NULL ? "[%s]:%u" : "%s:%u", text.text, port);
    return json_string(whole);
}

/* RFC 5531 section 9: accept_stat. */
static const struct shape_word outcomes[] = {
    { CALL_PROG_UNAVAIL, "PROG_UNAVAIL" }, { CALL_PROG_MISMATCH, "PROG_MISMATCH" }, { CALL_PROC_UNAVAIL, "PROC_UNAVAIL" },
    { CALL_GARBAGE_ARGS, "GARBAGE_ARGS" }, { CALL_SYSTEM_ERR, "SYSTEM_ERR" }, { (uint32_t)TAP_DROPPED, "dropped" },
    { 0, NULL }
};

static const char *
outcome_word(int outcome)
{
    const char *word = shape_word(outcomes, (uint32_t)outcome);

    return word != NULL ? word : SEEN_UNKNOWN;
}

bool
seen_json_outcome(const char *word, int *outcome)
{
    int64_t number = shape_number(outcomes, word);

    *outcome = (int)(uint32_t)number;
    return number >= 0;
}

/* The program and its procedure: by name where they have one, else by number. */
static void
put_procedure(json_t *object, const struct ringnfs_call *seen)
{
    const char *program = shape_program_name(seen->program);
    const struct shape_proc *proc = shape_proc(seen->program, seen->version, seen->procedure);

    json_object_set_new(object, "prog", program != NULL ? json_string(program) : number(seen->program));
    json_object_set_new(object, "vers", number(seen->version));
    json_object_set_new(object, "proc", proc != NULL ? json_string(proc->name) : number(seen->procedure));
}

json_t *
seen_json_call(const struct ringnfs_call *seen, bool whole_data)
{
    static const struct shape nothing = { .kind = SHAPE_END };
    const struct shape_proc *proc = shape_proc(seen->program, seen->version, seen->procedure);
    const struct shape *args = proc != NULL && proc->args != NULL ? proc->args : &nothing;
    const struct shape *results = proc != NULL && proc->results != NULL ? proc->results : &nothing;
    json_t *object = json_object();

    json_object_set_new(object, "time", moment(seen->began_s, seen->began_ns));
    json_object_set_new(object, "client", pack_client(seen));
    json_object_set_new(object, "transport", json_string(seen->stream ? "tcp" : "udp"));
    json_object_set_new(object, "auth", pack_auth(seen));
    json_object_set_new(object, "xid", number(seen->xid));
    put_procedure(object, seen);
    if (seen->path != NULL)
        json_object_set_new(object, "path", seen_json_name(seen->path, strlen(seen->path)));
    if (seen->to_path != NULL)
        json_object_set_new(object, "to_path", seen_json_name(seen->to_path, strlen(seen->to_path)));
    json_object_set_new(object, "args", seen_json_pack(args, seen->arguments, seen->arguments_len, whole_data));
    if (seen->replayed)
        json_object_set_new(object, "replayed", json_true());
    if (seen->outcome == CALL_SUCCESS)
        json_object_set_new(object, "result", seen_json_pack(results, seen->results, seen->results_len, whole_data));
    else
        json_object_set_new(object, "error", json_string(outcome_word(seen->outcome)));
    json_object_set_new(object, "us", number(seen->duration_ns / 1000));
    return object;
}
