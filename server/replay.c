/* server/replay.c - see replay.h: each call in its turn. */
#include "server/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpc/tap.h"
#include "server/replay_private.h"
#include "server/seen.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"

#define COME_AGAIN_MAX 100              /* times that a call is sent again when it is told JUKEBOX ... */
#define COME_AGAIN_MS 100               /* ... after so long */
#define OUTCOME_TEXT 32

void
replay_differs(struct replay *replay, const char *field, const char *recorded, const char *now)
{
    const struct replay_difference difference = {
        .at = replay->at,
        .procedure = replay->call->name,
        .path = replay->call->path,
        .field = field,
        .recorded = recorded,
        .now = now,
    };

    replay->counts->differences++;
    replay->config->tell(replay->config->context, &difference);
}

static bool
is_jukebox(const struct ringnfs_call *call, const void *results, size_t len)
{
    uint32_t status;

    if (call->program != NFS_PROGRAM || call->procedure == NFSPROC3_NULL || len < 4)
        return false;
    memcpy(&status, results, sizeof(status));
    return be32toh(status) == NFS3ERR_JUKEBOX;
}

int
replay_send(struct replay *replay, const uint8_t *args, size_t len, struct replay_bytes *results)
{
    const struct timespec pause = { .tv_nsec = COME_AGAIN_MS * 1000000L };
    int outcome;

    replay->counts->calls++;
    for (unsigned i = 0; i < COME_AGAIN_MAX; i++) {
        outcome = replay_target_call(replay->target, replay->call, args, len, &results->data, &results->len, replay->error,
                                     replay->error_size);
        if (outcome != 0 || !is_jukebox(replay->call, results->data, results->len))
            break;
        nanosleep(&pause, NULL);
    }
    return outcome;
}

/* ---- Arguments: recorded handles become the server's ---- */

struct rewriting {
    struct replay *replay;
    struct wire_out out;
    bool unknown;                       /* a handle stands for nothing */
};

/* Ask for the handle of the path that the first unknown one is of. */
static int
mount_root(struct replay *replay, const struct shape_value *handle)
{
    const struct ringnfs_call mnt = { .program = MOUNT_PROGRAM, .version = MOUNT_V3, .procedure = MOUNTPROC3_MNT,
                                      .flavor = replay->call->flavor, .uid = replay->call->uid, .gid = replay->call->gid };
    const char *path = replay->config->root;
    uint8_t args[4 + MNTPATHLEN];
    struct wire_out out = { args, args + sizeof(args), false };
    struct wire_in in;
    const uint8_t *found = NULL;
    uint32_t len = 0;
    size_t results_len;
    int err;

    wire_put_opaque(&out, path, (uint32_t)strlen(path));
    err = out.full ? -ENAMETOOLONG
                   : replay_target_call(replay->target, &mnt, args, (size_t)(out.p - args), &in.p, &results_len,
                                        replay->error, replay->error_size);
    if (err < 0)
        return err;
    in.end = in.p + results_len;
    in.bad = false;
    if (err == 0 && wire_get_u32(&in) == MNT3_OK)
        found = wire_get_opaque(&in, FHSIZE3, &len);
    if (found == NULL) {
        snprintf(replay->error, replay->error_size, "%s cannot be mounted", path);
        return -EACCES;
    }
    replay->root_used = true;
    return replay_map_set(replay->handles, handle->bytes, handle->len, found, len);
}

static bool
rewrite_value(void *context, const struct shape *shape, const struct shape_value *value)
{
    struct rewriting *rewriting = context;
    struct shape_value now = *value;
    size_t len;

    if (shape->kind == SHAPE_HANDLE) {
        now.bytes = replay_map_get(rewriting->replay->handles, value->bytes, value->len, &len);
        rewriting->unknown |= now.bytes == NULL;
        if (now.bytes == NULL)
            return false;
        now.len = (uint32_t)len;
    }
    shape_put(&rewriting->out, shape, &now);
    return !rewriting->out.full;
}

/* What rewrite() finds. */
enum { SEND_NOTHING, SEND_ARGUMENTS, SEND_AS_IT_IS };

/* Put the arguments into replay->args. Returns what there is to be sent, nothing when a handle is not known, or -errno. */
static int
rewrite(struct replay *replay, size_t *len)
{
    static const struct shape_visitor visitor = { .value = rewrite_value };
    const struct ringnfs_call *call = replay->call;
    struct wire_in in = { call->arguments, (const uint8_t *)call->arguments + call->arguments_len, false };
    struct rewriting rewriting = { .replay = replay, .out = { replay->args, replay->args + REPLAY_ARGS_MAX, false } };
    size_t known;

    if (replay->config->root != NULL && !replay->root_used && call->handle_len > 0 &&
        replay_map_get(replay->handles, call->handle, call->handle_len, &known) == NULL) {
        const struct shape_value root = { .bytes = call->handle, .len = (uint32_t)call->handle_len };
        int err = mount_root(replay, &root);

        if (err < 0)
            return err;
    }
    if (shape_walk(replay->proc->args, &in, &visitor, &rewriting) && in.p == in.end) {
        *len = (size_t)(rewriting.out.p - replay->args);
        return SEND_ARGUMENTS;
    }
    if (rewriting.unknown || call->arguments_len > REPLAY_ARGS_MAX)
        return SEND_NOTHING;
    memcpy(replay->args, call->arguments, call->arguments_len);
    *len = call->arguments_len;
    return SEND_AS_IT_IS;               /* it is no arguments */
}

/* ---- Calls ---- */

static const char *
outcome_text(int outcome, char *text)
{
    snprintf(text, OUTCOME_TEXT, outcome == 0 ? "results" : "RPC error %d", outcome);
    return text;
}

static int
send_and_compare(struct replay *replay, size_t len)
{
    const struct ringnfs_call *call = replay->call;
    const struct replay_bytes recorded = { call->results, call->results_len };
    char before[OUTCOME_TEXT], after[OUTCOME_TEXT];
    struct replay_bytes now;
    int outcome = replay_send(replay, replay->args, len, &now);

    if (outcome == -EPERM) {
        replay_differs(replay, "reply", outcome_text(call->outcome, before), "the credentials are refused");
        return 0;
    }
    if (outcome < 0)
        return outcome;
    if (outcome != call->outcome) {
        replay_differs(replay, "reply", outcome_text(call->outcome, before), outcome_text(outcome, after));
        return 0;
    }
    return outcome == 0 ? replay_compare(replay, replay->proc->results, "", recorded, now) : 0;
}

/* Where the call is in the recording's own tree, for those who read of it. */
static void
find_path(struct replay *replay, struct ringnfs_call *call)
{
    seen_decode_arguments(call);
    if (call->outcome == 0)
        seen_decode_results(call);
    if (call->path == NULL && call->handle != NULL)
        call->path = seen_names_path(replay->names, call->handle, call->handle_len, call->file, call->file_len,
                                     replay->path);
    seen_names_learn(replay->names, call);
}

static bool
is_listing(const struct ringnfs_call *call)
{
    return seen_is(call, NFSPROC3_READDIR) || seen_is(call, NFSPROC3_READDIRPLUS);
}

static int
replay_call(struct replay *replay, struct ringnfs_call *call)
{
    static const struct shape_proc unknown = { SEEN_UNKNOWN, NULL, NULL };
    size_t len = 0;
    int found;

    replay->call = call;
    replay->proc = shape_proc(call->program, call->version, call->procedure);
    if (replay->proc == NULL)
        replay->proc = &unknown;
    find_path(replay, call);
    if (call->replayed || call->outcome == TAP_DROPPED || is_jukebox(call, call->results, call->results_len)) {
        replay->counts->copies++;
        return 0;
    }
    found = rewrite(replay, &len);
    if (found == SEND_NOTHING)
        replay->counts->unknown++;
    if (found < 0 || found == SEND_NOTHING)
        return found;
    return found == SEND_ARGUMENTS && call->outcome == 0 && is_listing(call) ? replay_listing(replay, len)
                                                                             : send_and_compare(replay, len);
}

int
replay_run(struct replay_source *source, struct replay_target *target, const struct replay_config *config,
           struct replay_counts *counts, char *error, size_t error_size)
{
    struct replay replay = { .config = config, .target = target, .counts = counts, .error = error,
                             .error_size = error_size };
    struct ringnfs_call call;
    int err = replay_map_new(&replay.handles), more = 0;

    LIST_INIT(&replay.listings);
    *counts = (struct replay_counts){ 0 };
    replay.args = malloc(REPLAY_ARGS_MAX);
    if (err == 0)
        err = replay.args != NULL ? replay_map_new(&replay.verifiers) : -ENOMEM;
    if (err == 0)
        err = replay_comparison_new(&replay.comparison);
    if (err == 0)
        err = seen_names_new(&replay.names);
    if (err < 0)
        snprintf(error, error_size, "out of memory");
    while (err == 0 && (more = replay_source_next(source, &call, &replay.at, error, error_size)) > 0)
        err = replay_call(&replay, &call);
    replay_listings_free(&replay);
    seen_names_free(replay.names);
    replay_comparison_free(replay.comparison);
    replay_map_free(replay.verifiers);
    replay_map_free(replay.handles);
    free(replay.args);
    return err < 0 ? err : more;
}
