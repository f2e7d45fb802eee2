/* server/seen.c - see seen.h. Fields are found by their names in the RFCs (xdr/shape.h). */
#include "server/seen.h"

#include <endian.h>
#include <string.h>
#include <time.h>

#include "rpc/tap.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/shape.h"

#define NS UINT64_C(1000000000)

static const struct shape_proc unknown_proc = { SEEN_UNKNOWN, NULL, NULL };

static const struct shape_proc *
find_proc(const struct ringnfs_call *seen)
{
    const struct shape_proc *proc = shape_proc(seen->program, seen->version, seen->procedure);

    return proc != NULL ? proc : &unknown_proc;
}

static void
take_handle(struct ringnfs_call *seen, const struct shape_value *value)
{
    if (seen->handle == NULL) {
        seen->handle = value->bytes;
        seen->handle_len = value->len;
    } else {
        seen->to_handle = value->bytes;
        seen->to_handle_len = value->len;
    }
}

static void
take_name(struct ringnfs_call *seen, const struct shape_value *value)
{
    if (seen->to_handle == NULL) {
        seen->file = (const char *)value->bytes;
        seen->file_len = value->len;
    } else {
        seen->to_file = (const char *)value->bytes;
        seen->to_file_len = value->len;
    }
}

static void
take_data(struct ringnfs_call *seen, const struct shape_value *value)
{
    seen->data = value->bytes;
    seen->data_len = value->len;
}

static bool
take_argument(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct ringnfs_call *seen = context;

    if (shape->kind == SHAPE_HANDLE)
        take_handle(seen, value);
    else if (shape->kind == SHAPE_NAME && (strcmp(shape->name, "name") == 0 || strcmp(shape->name, "dirpath") == 0))
        take_name(seen, value);
    else if (shape->kind == SHAPE_DATA)
        take_data(seen, value);
    else if (shape->kind == SHAPE_U64 && strcmp(shape->name, "offset") == 0)
        seen->offset = value->number;
    else if (shape->kind == SHAPE_U32 && strcmp(shape->name, "count") == 0)
        seen->count = (uint32_t)value->number;
    else if (shape->kind == SHAPE_U32 && strcmp(shape->name, "stable") == 0)
        seen->stable = (int)value->number;
    return true;
}

void
seen_decode_arguments(struct ringnfs_call *seen)
{
    static const struct shape_visitor visitor = { .value = take_argument };
    struct wire_in in = { seen->arguments, (const uint8_t *)seen->arguments + seen->arguments_len, false };

    shape_walk(find_proc(seen)->args, &in, &visitor, seen);
}

static bool
take_result(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct ringnfs_call *seen = context;

    if (shape->kind == SHAPE_SWITCH && strcmp(shape->name, "status") == 0) {
        seen->status = (uint32_t)value->number;
        seen->status_name = shape_word(shape->words, seen->status);
    } else if (shape->kind == SHAPE_U32 && strcmp(shape->name, "count") == 0) {
        seen->done = (uint32_t)value->number;
    } else if (shape->kind == SHAPE_U32 && strcmp(shape->name, "committed") == 0) {
        seen->committed = (int)value->number;
    } else if (shape->kind == SHAPE_DATA) {
        take_data(seen, value);
    } else if (shape->role == ROLE_WRITE_VERIFIER) {
        memcpy(&seen->verifier, value->bytes, sizeof(seen->verifier));
        seen->verifier = be64toh(seen->verifier);
    }
    return shape->kind != SHAPE_CHAIN;                  /* what a listing has is not looked for */
}

void
seen_decode_results(struct ringnfs_call *seen)
{
    static const struct shape_visitor visitor = { .value = take_result };
    struct wire_in in = { seen->results, (const uint8_t *)seen->results + seen->results_len, false };

    shape_walk(find_proc(seen)->results, &in, &visitor, seen);
    if (seen->status_name == NULL)
        seen->status_name = find_proc(seen)->results != NULL ? SEEN_UNKNOWN : "OK";
}

void
seen_begin(struct ringnfs_call *seen, const struct call *call)
{
    *seen = (struct ringnfs_call){
        .size = sizeof(*seen),
        .ended_before = call->tap_mark,
        .client = (const struct sockaddr *)&call->peer,
        .server = (const struct sockaddr *)&call->local,
        .stream = call->stream,
        .xid = call->xid,
        .program = call->prog,
        .version = call->vers,
        .procedure = call->proc,
        .flavor = call->auth.flavor,
        .uid = call->auth.flavor != CALL_AUTH_NONE ? call->auth.uid : UINT32_MAX,
        .gid = call->auth.flavor != CALL_AUTH_NONE ? call->auth.gid : UINT32_MAX,
        .stable = -1,
        .committed = -1,
        .arguments = call->args_start,
        .arguments_len = (size_t)(call->args.end - call->args_start),
    };
    seen->name = find_proc(seen)->name;
    if (call->auth.flavor == CALL_AUTH_SYS) {
        seen->groups = call->auth.gids;
        seen->ngroups = call->auth.ngids;
        seen->machine = (const char *)call->auth.machine;
        seen->machine_len = call->auth.machine_len;
    }
    seen_decode_arguments(seen);
}

void
seen_end(struct ringnfs_call *seen, const struct call *call, int how, const uint8_t *results, size_t len)
{
    struct timespec now;
    uint64_t began;

    seen->duration_ns = tap_now_ns() - call->began_ns;
    clock_gettime(CLOCK_REALTIME, &now);
    began = (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec - seen->duration_ns;
    seen->began_s = (int64_t)(began / NS);
    seen->began_ns = (uint32_t)(began % NS);
    seen->outcome = how;
    seen->replayed = call->replayed;
    seen->status_name = SEEN_UNKNOWN;
    if (how != CALL_SUCCESS)
        return;
    seen->status_name = NULL;
    seen->results = results;
    seen->results_len = len;
    seen_decode_results(seen);
}

bool
seen_is(const struct ringnfs_call *seen, uint32_t procedure)
{
    return seen->program == NFS_PROGRAM && seen->version == NFS_V3 && seen->procedure == procedure;
}

bool
seen_succeeded(const struct ringnfs_call *seen)
{
    return seen->outcome == CALL_SUCCESS && seen->status == NFS3_OK;
}

static bool
find_handle(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct shape_value *found = context;

    if (shape->kind == SHAPE_HANDLE)
        *found = *value;
    return shape->kind != SHAPE_CHAIN && found->bytes == NULL;
}

const uint8_t *
seen_result_handle(const struct ringnfs_call *seen, size_t *len)
{
    static const struct shape_visitor visitor = { .value = find_handle };
    struct wire_in in = { seen->results, (const uint8_t *)seen->results + seen->results_len, false };
    struct shape_value found = { .bytes = NULL };

    if (seen_succeeded(seen))
        shape_walk(find_proc(seen)->results, &in, &visitor, &found);
    *len = found.len;
    return found.bytes;
}
