/* server/replay_journal.c - calls out of a journal; see replay_source.h. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/call.h"
#include "rpc/tap.h"
#include "server/journal.h"
#include "server/replay_source.h"
#include "server/seen.h"
#include "server/seen_json.h"
#include "server/text.h"

#define LINE_MAX_BYTES ((size_t)64 << 20)       /* of 4 MiB of data there are 8 MiB of digits */
#define MESSAGE_MAX ((size_t)16 << 20)          /* bytes of arguments or results; none has more than 4 MiB and a bit */
#define REASON_MAX 256

struct journal_source {
    struct replay_source source;        /* first */
    FILE *file;
    char *line;
    size_t line_size;
    uint64_t number;                    /* of the line */
    json_t *object;                     /* of the line; what a call points to may be in it */
    uint32_t groups[CALL_GIDS_MAX];
    uint8_t *args, *results;            /* MESSAGE_MAX bytes each */
};

static int
refuse(const struct journal_source *source, const char *why, char *error, size_t error_size)
{
    snprintf(error, error_size, "line %" PRIu64 ": %s", source->number, why);
    return -EINVAL;
}

/* Read one line. Returns its length, 0 at the end of the file, or -errno. */
static ssize_t
read_line(struct journal_source *source, char *error, size_t error_size)
{
    size_t used = 0;
    int c;

    source->number++;
    while ((c = getc_unlocked(source->file)) != EOF && c != '\n') {
        if (used == source->line_size) {
            size_t size = source->line_size > 0 ? 2 * source->line_size : 65536;
            char *grown = size <= LINE_MAX_BYTES ? realloc(source->line, size) : NULL;

            if (grown == NULL)
                return refuse(source, "it is too long", error, error_size);
            source->line = grown;
            source->line_size = size;
        }
        source->line[used++] = (char)c;
    }
    if (ferror(source->file))
        return refuse(source, "it cannot be read", error, error_size);
    if (c == EOF && used > 0)
        return refuse(source, "the file ends in the middle of it", error, error_size);
    return c == EOF ? 0 : (ssize_t)used + 1;
}

/* The next line as an object. Returns 1, 0 at the end, or -errno. */
static int
next_object(struct journal_source *source, char *error, size_t error_size)
{
    ssize_t len = read_line(source, error, error_size);
    json_error_t mistake;

    json_decref(source->object);
    source->object = NULL;
    if (len <= 0)
        return (int)len;
    source->object = json_loadb(source->line, (size_t)len - 1, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &mistake);
    if (source->object == NULL)
        return refuse(source, mistake.text, error, error_size);
    return json_is_object(source->object) ? 1 : refuse(source, "it is no object", error, error_size);
}

static bool
get_u32(const json_t *object, const char *key, uint32_t *value)
{
    const json_t *number = json_object_get(object, key);

    if (!json_is_integer(number) || json_integer_value(number) < 0 || json_integer_value(number) > UINT32_MAX)
        return false;
    *value = (uint32_t)json_integer_value(number);
    return true;
}

/* Who called: with Kerberos the user whom it stood for. */
static bool
get_auth(struct journal_source *source, struct ringnfs_call *call)
{
    const json_t *auth = json_object_get(source->object, "auth"), *groups = json_object_get(auth, "groups"), *group;
    const char *flavor = json_string_value(json_object_get(auth, "flavor"));
    size_t i;

    if (flavor == NULL || json_array_size(groups) > CALL_GIDS_MAX)
        return false;
    if (strcmp(flavor, "none") == 0 || !get_u32(auth, "uid", &call->uid) || !get_u32(auth, "gid", &call->gid))
        return true;
    call->flavor = CALL_AUTH_SYS;
    call->groups = source->groups;
    call->ngroups = json_array_size(groups);
    json_array_foreach(groups, i, group) {
        if (!json_is_integer(group))
            return false;
        source->groups[i] = (uint32_t)json_integer_value(group);
    }
    return true;
}

/* The program and procedure, by name or by number. */
static bool
get_procedure(const json_t *object, struct ringnfs_call *call)
{
    const char *program = json_string_value(json_object_get(object, "prog"));
    const char *name = json_string_value(json_object_get(object, "proc"));
    int number;

    if (program != NULL)
        call->program = shape_program_number(program);
    else if (!get_u32(object, "prog", &call->program))
        return false;
    if (!get_u32(object, "vers", &call->version) || !get_u32(object, "xid", &call->xid))
        return false;
    if (name == NULL)
        return get_u32(object, "proc", &call->procedure);
    number = shape_proc_number(call->program, call->version, name);
    call->procedure = (uint32_t)number;
    return number >= 0;
}

static int
get_bytes(const struct journal_source *source, const struct shape *shape, const char *key, uint8_t *space,
          const void **bytes, size_t *len, char *error, size_t error_size)
{
    static const struct shape nothing = { .kind = SHAPE_END };
    struct wire_out out = { space, space + MESSAGE_MAX, false };
    const json_t *object = json_object_get(source->object, key);
    char reason[REASON_MAX] = "it is too long", why[REASON_MAX + 64];
    int err;

    if (!json_is_object(object))
        snprintf(reason, sizeof(reason), "it is missing");
    err = json_is_object(object) ? seen_json_unpack(shape != NULL ? shape : &nothing, object, &out, reason, sizeof(reason))
                                 : -EINVAL;
    *bytes = space;
    *len = (size_t)(out.p - space);
    if (err == 0)
        return 0;
    if (err == -ENODATA)
        snprintf(reason, sizeof(reason), "the journal has a digest only; what is to be sent again has to be recorded with "
                 "whole data (journal_data=whole)");
    snprintf(why, sizeof(why), "\"%s\": %s", key, reason);
    return refuse(source, why, error, error_size);
}

/* A line that is a call. */
static int
get_call(struct journal_source *source, struct ringnfs_call *call, char *error, size_t error_size)
{
    const char *outcome = json_string_value(json_object_get(source->object, "error"));
    const struct shape_proc *proc;
    int err;

    *call = (struct ringnfs_call){ .size = sizeof(*call), .stable = -1, .committed = -1, .uid = UINT32_MAX,
                                   .gid = UINT32_MAX };
    if (!get_procedure(source->object, call) || !get_auth(source, call))
        return refuse(source, "a call has \"auth\", \"xid\", \"prog\", \"vers\" and \"proc\"", error, error_size);
    call->replayed = json_is_true(json_object_get(source->object, "replayed"));
    call->stream = 1;
    proc = shape_proc(call->program, call->version, call->procedure);
    call->name = proc != NULL ? proc->name : SEEN_UNKNOWN;
    call->path = json_string_value(json_object_get(source->object, "path"));
    err = get_bytes(source, proc != NULL ? proc->args : NULL, "args", source->args, &call->arguments, &call->arguments_len,
                    error, error_size);
    if (err < 0)
        return err;
    if (outcome != NULL)
        return seen_json_outcome(outcome, &call->outcome) ? 0 : refuse(source, "\"error\" is no error", error, error_size);
    return get_bytes(source, proc != NULL ? proc->results : NULL, "result", source->results, &call->results,
                     &call->results_len, error, error_size);
}

static int
journal_next(struct replay_source *replay_source, struct ringnfs_call *call, uint64_t *at, char *error, size_t error_size)
{
    struct journal_source *source = (struct journal_source *)replay_source;
    const json_t *lost;
    int err;

    while ((err = next_object(source, error, error_size)) > 0) {
        lost = json_object_get(source->object, "lost");
        if (json_is_integer(lost)) {
            source->source.left_out.lost += (uint64_t)json_integer_value(lost);
            continue;
        }
        err = get_call(source, call, error, error_size);
        *at = source->number;
        return err < 0 ? err : 1;
    }
    return err;
}

static void
journal_free(struct replay_source *replay_source)
{
    struct journal_source *source = (struct journal_source *)replay_source;

    json_decref(source->object);
    free(source->line);
    free(source->args);
    free(source->results);
    fclose(source->file);
    free(source);
}

static const struct replay_source_ops journal_ops = { .next = journal_next, .free = journal_free };

int
replay_journal_open(FILE *file, struct replay_source **out, char *error, size_t error_size)
{
    struct journal_source *source = calloc(1, sizeof(*source));
    uint32_t format;
    int err = -ENOMEM;

    if (source == NULL) {
        fclose(file);
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    source->source.ops = &journal_ops;
    source->file = file;
    source->args = malloc(MESSAGE_MAX);
    source->results = malloc(MESSAGE_MAX);
    if (source->args == NULL || source->results == NULL)
        snprintf(error, error_size, "out of memory");
    else
        err = next_object(source, error, error_size);
    if (err > 0 && !get_u32(source->object, "ringnfs_journal", &format))
        err = refuse(source, "this is no journal of ringnfs", error, error_size);
    if (err > 0 && format != JOURNAL_FORMAT)
        err = refuse(source, "this is a journal of another version", error, error_size);
    if (err <= 0) {
        journal_free(&source->source);
        return err < 0 ? err : -EINVAL;
    }
    *out = &source->source;
    return 0;
}
