/* server/replay_streams.c - see replay_streams.h. */
#include "server/replay_streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/queue.h>

#include "rpc/call.h"
#include "server/seen.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/nfs_acl.h"
#include "xdr/shape.h"

#define STREAMS_MAX 4096                /* directions */
#define MESSAGE_MAX ((size_t)16 << 20)  /* bytes of a message */
#define WAITING_MAX ((size_t)32 << 20)  /* bytes of a stream that wait for those before them */
#define CALLS_MAX 16384                 /* that wait for their replies, or tell copies by theirs */
#define CALL_BYTES_MAX ((size_t)256 << 20)
#define BUCKETS 4096u                   /* of calls, by xid */
#define LAST_FRAGMENT 0x80000000u
#define LEAST_CALL 40                   /* bytes of a call: its header with empty credentials */

/* Bytes of a stream that came before those in front of them. */
struct piece {
    TAILQ_ENTRY(piece) next;
    uint32_t sequence;
    size_t len;
    uint8_t data[];
};

/* One direction. */
struct stream {
    TAILQ_ENTRY(stream) all;            /* the one that was used least recently first */
    struct replay_packet name;          /* addresses, ports, tcp */
    uint32_t next;                      /* the number of the byte that comes next */
    bool known;                         /* that it is */
    TAILQ_HEAD(, piece) pieces;         /* in order */
    size_t waiting;                     /* bytes of those */
    uint8_t *bytes;                     /* in order, not cut yet */
    size_t len, size;
};

/* A call that waits for its reply, has it, or tells its copies by its number. */
struct waiting_call {
    TAILQ_ENTRY(waiting_call) all;      /* by age */
    TAILQ_ENTRY(waiting_call) done;
    LIST_ENTRY(waiting_call) by_xid;    /* the youngest first */
    struct replay_packet name;          /* of the direction of the call */
    bool answered;
    struct ringnfs_call call;
    uint32_t groups[CALL_GIDS_MAX];
    uint8_t *args, *results;            /* owned */
};

TAILQ_HEAD(call_list, waiting_call);
TAILQ_HEAD(stream_list, stream);

struct replay_streams {
    struct replay_left_out *left_out;
    struct stream_list streams;
    unsigned nstreams;
    struct call_list calls;
    LIST_HEAD(, waiting_call) buckets[BUCKETS];
    unsigned ncalls;
    size_t call_bytes;
    struct call_list done;
    struct waiting_call *given;         /* what was taken last */
    uint8_t *message;                   /* MESSAGE_MAX bytes */
};

int
replay_streams_new(struct replay_left_out *left_out, struct replay_streams **out)
{
    struct replay_streams *streams = calloc(1, sizeof(*streams));

    if (streams == NULL)
        return -ENOMEM;
    streams->left_out = left_out;
    TAILQ_INIT(&streams->streams);
    TAILQ_INIT(&streams->calls);
    TAILQ_INIT(&streams->done);
    streams->message = malloc(MESSAGE_MAX);
    if (streams->message == NULL) {
        free(streams);
        return -ENOMEM;
    }
    *out = streams;
    return 0;
}

/* ---- Calls and replies ---- */

static bool
same_direction(const struct replay_packet *a, const struct replay_packet *b)
{
    return a->tcp == b->tcp && a->from_port == b->from_port && a->to_port == b->to_port &&
           memcmp(a->from, b->from, sizeof(a->from)) == 0 && memcmp(a->to, b->to, sizeof(a->to)) == 0;
}

static bool
opposite_directions(const struct replay_packet *a, const struct replay_packet *b)
{
    return a->tcp == b->tcp && a->from_port == b->to_port && a->to_port == b->from_port &&
           memcmp(a->from, b->to, sizeof(a->from)) == 0 && memcmp(a->to, b->from, sizeof(a->to)) == 0;
}

static void
drop_call(struct replay_streams *streams, struct waiting_call *waiting)
{
    TAILQ_REMOVE(&streams->calls, waiting, all);
    LIST_REMOVE(waiting, by_xid);
    streams->ncalls--;
    streams->call_bytes -= waiting->call.arguments_len + waiting->call.results_len;
    if (!waiting->answered)
        streams->left_out->unanswered++;
    free(waiting->args);
    free(waiting->results);
    free(waiting);
}

/* Whether the oldest call may go: not while it is still to be taken. */
static bool
make_room(struct replay_streams *streams, size_t bytes)
{
    struct waiting_call *waiting = TAILQ_FIRST(&streams->calls), *following;

    while (waiting != NULL && (streams->ncalls >= CALLS_MAX || streams->call_bytes + bytes > CALL_BYTES_MAX)) {
        following = TAILQ_NEXT(waiting, all);
        if (waiting != streams->given && (!waiting->answered || waiting->results == NULL))
            drop_call(streams, waiting);
        waiting = following;
    }
    return streams->ncalls < CALLS_MAX && streams->call_bytes + bytes <= CALL_BYTES_MAX;
}

/* AUTH_SYS (RFC 5531 appendix A). */
static bool
read_auth_sys(struct wire_in *body, struct waiting_call *waiting)
{
    struct ringnfs_call *call = &waiting->call;
    uint32_t len;

    wire_get_u32(body);
    wire_get_opaque(body, 255, &len);
    call->uid = wire_get_u32(body);
    call->gid = wire_get_u32(body);
    call->ngroups = wire_get_u32(body);
    if (call->ngroups > CALL_GIDS_MAX)
        return false;
    for (size_t i = 0; i < call->ngroups; i++)
        waiting->groups[i] = wire_get_u32(body);
    call->groups = waiting->groups;
    return !body->bad;
}

static bool
is_served(uint32_t program)
{
    return program == NFS_PROGRAM || program == NFS_ACL_PROGRAM || program == MOUNT_PROGRAM;
}

/* The header of a call, behind its xid and type. Returns whether it is one that can be sent again. */
static bool
read_header(struct replay_streams *streams, struct wire_in *in, struct waiting_call *waiting)
{
    struct ringnfs_call *call = &waiting->call;
    struct wire_in body;
    uint32_t len;

    if (wire_get_u32(in) != 2)
        return false;
    call->program = wire_get_u32(in);
    call->version = wire_get_u32(in);
    call->procedure = wire_get_u32(in);
    call->flavor = wire_get_u32(in);
    body.p = wire_get_opaque(in, 400, &len);
    body.end = body.p + len;
    body.bad = in->bad;
    wire_get_u32(in);
    wire_get_opaque(in, 400, &len);
    if (in->bad || !is_served(call->program))
        return false;
    if (call->flavor == CALL_AUTH_GSS) {
        streams->left_out->sealed++;
        return false;
    }
    return call->flavor == CALL_AUTH_NONE || (call->flavor == CALL_AUTH_SYS && read_auth_sys(&body, waiting));
}

static struct waiting_call *
find_call(struct replay_streams *streams, const struct replay_packet *reply, uint32_t xid)
{
    struct waiting_call *waiting;

    LIST_FOREACH(waiting, &streams->buckets[xid % BUCKETS], by_xid)
        if (waiting->call.xid == xid && opposite_directions(&waiting->name, reply))
            return waiting;
    return NULL;
}

/* A call that was sent again is one call. */
static bool
is_copy(struct replay_streams *streams, const struct replay_packet *name, const struct ringnfs_call *call)
{
    struct waiting_call *waiting;

    LIST_FOREACH(waiting, &streams->buckets[call->xid % BUCKETS], by_xid)
        if (waiting->call.xid == call->xid && same_direction(&waiting->name, name) &&
            waiting->call.procedure == call->procedure && waiting->call.program == call->program)
            return true;
    return false;
}

static int
take_call(struct replay_streams *streams, const struct replay_packet *name, uint32_t xid, struct wire_in *in)
{
    struct waiting_call *waiting = calloc(1, sizeof(*waiting));
    struct ringnfs_call *call;

    if (waiting == NULL)
        return -ENOMEM;
    call = &waiting->call;
    *call = (struct ringnfs_call){ .size = sizeof(*call), .xid = xid, .stream = name->tcp, .stable = -1, .committed = -1,
                                   .uid = UINT32_MAX, .gid = UINT32_MAX };
    if (!read_header(streams, in, waiting) || is_copy(streams, name, call) || !make_room(streams, wire_left(in))) {
        free(waiting);
        return 0;
    }
    waiting->name = *name;
    call->arguments_len = wire_left(in);
    call->arguments = waiting->args = malloc(MAX(call->arguments_len, 1));
    if (waiting->args == NULL) {
        free(waiting);
        return -ENOMEM;
    }
    memcpy(waiting->args, in->p, call->arguments_len);
    streams->call_bytes += call->arguments_len;
    streams->ncalls++;
    TAILQ_INSERT_TAIL(&streams->calls, waiting, all);
    LIST_INSERT_HEAD(&streams->buckets[xid % BUCKETS], waiting, by_xid);
    return 0;
}

static int
take_reply(struct replay_streams *streams, const struct replay_packet *name, uint32_t xid, struct wire_in *in)
{
    struct waiting_call *waiting = find_call(streams, name, xid);
    uint32_t len;

    if (waiting == NULL || waiting->answered)
        return 0;
    if (wire_get_u32(in) != 0) {                        /* denied: what it was is another program's matter */
        waiting->answered = true;
        return 0;
    }
    wire_get_u32(in);
    wire_get_opaque(in, 400, &len);
    waiting->call.outcome = (int)wire_get_u32(in);
    if (in->bad)
        return 0;
    waiting->results = malloc(MAX(wire_left(in), 1));
    if (waiting->results == NULL)
        return -ENOMEM;
    memcpy(waiting->results, in->p, wire_left(in));
    waiting->call.results = waiting->results;
    waiting->call.results_len = wire_left(in);
    streams->call_bytes += waiting->call.results_len;
    waiting->answered = true;
    TAILQ_INSERT_TAIL(&streams->done, waiting, done);
    return 0;
}

static int
take_message(struct replay_streams *streams, const struct replay_packet *name, const uint8_t *bytes, size_t len)
{
    struct wire_in in = { bytes, bytes + len, false };
    uint32_t xid = wire_get_u32(&in), type = wire_get_u32(&in);

    if (in.bad || type > 1)
        return 0;
    return type == 0 ? take_call(streams, name, xid, &in) : take_reply(streams, name, xid, &in);
}

/* What a call has brought is not needed any more; what tells its copies stays. */
static void
let_go(struct replay_streams *streams, struct waiting_call *waiting)
{
    streams->call_bytes -= waiting->call.arguments_len + waiting->call.results_len;
    waiting->call.arguments_len = waiting->call.results_len = 0;
    free(waiting->args);
    free(waiting->results);
    waiting->args = waiting->results = NULL;
}

bool
replay_streams_take(struct replay_streams *streams, struct ringnfs_call *call)
{
    struct waiting_call *waiting = TAILQ_FIRST(&streams->done);
    const struct shape_proc *proc;

    if (streams->given != NULL)
        let_go(streams, streams->given);
    streams->given = waiting;
    if (waiting == NULL)
        return false;
    TAILQ_REMOVE(&streams->done, waiting, done);
    proc = shape_proc(waiting->call.program, waiting->call.version, waiting->call.procedure);
    waiting->call.name = proc != NULL ? proc->name : SEEN_UNKNOWN;
    *call = waiting->call;
    return true;
}

/* ---- Streams ---- */

static void
drop_stream(struct replay_streams *streams, struct stream *stream)
{
    struct piece *piece;

    while ((piece = TAILQ_FIRST(&stream->pieces)) != NULL) {
        TAILQ_REMOVE(&stream->pieces, piece, next);
        streams->left_out->torn++;
        free(piece);
    }
    TAILQ_REMOVE(&streams->streams, stream, all);
    streams->nstreams--;
    free(stream->bytes);
    free(stream);
}

static struct stream *
get_stream(struct replay_streams *streams, const struct replay_packet *packet)
{
    struct stream *stream;

    TAILQ_FOREACH_REVERSE(stream, &streams->streams, stream_list, all)
        if (same_direction(&stream->name, packet))
            break;
    if (stream != NULL) {
        TAILQ_REMOVE(&streams->streams, stream, all);
        TAILQ_INSERT_TAIL(&streams->streams, stream, all);
        return stream;
    }
    if (streams->nstreams == STREAMS_MAX)
        drop_stream(streams, TAILQ_FIRST(&streams->streams));
    stream = calloc(1, sizeof(*stream));
    if (stream == NULL)
        return NULL;
    stream->name = *packet;
    TAILQ_INIT(&stream->pieces);
    TAILQ_INSERT_TAIL(&streams->streams, stream, all);
    streams->nstreams++;
    return stream;
}

static uint32_t
word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Whether a stream that was not seen from its start may begin here: a record with a call or a reply. */
static bool
looks_like_record(const uint8_t *data, size_t len)
{
    if (len < 12 || (word(data) & LAST_FRAGMENT) == 0 || (word(data) & ~LAST_FRAGMENT) > MESSAGE_MAX)
        return false;
    return word(data + 8) == 1 || (word(data + 8) == 0 && len >= 4 + LEAST_CALL && word(data + 12) == 2);
}

/* Cut whole messages from the front. Returns 0, -ENOMEM, or -EBADMSG when this is no stream of records. */
static int
cut_messages(struct replay_streams *streams, struct stream *stream)
{
    size_t at = 0, begin = 0, len = 0;
    int err = 0;

    while (err == 0 && stream->len - at >= 4) {
        uint32_t mark = word(stream->bytes + at);
        size_t fragment = mark & ~LAST_FRAGMENT;

        if (fragment > MESSAGE_MAX - len)
            return -EBADMSG;
        if (stream->len - at - 4 < fragment)
            break;
        memcpy(streams->message + len, stream->bytes + at + 4, fragment);
        len += fragment;
        at += 4 + fragment;
        if ((mark & LAST_FRAGMENT) == 0)
            continue;
        err = take_message(streams, &stream->name, streams->message, len);
        begin = at;
        len = 0;
    }
    memmove(stream->bytes, stream->bytes + begin, stream->len - begin);
    stream->len -= begin;
    return err;
}

/* Bytes that come next. */
static int
append(struct replay_streams *streams, struct stream *stream, const uint8_t *data, size_t len)
{
    int err;

    if (stream->len + len > stream->size) {
        size_t size = MAX(2 * stream->size, stream->len + len);
        uint8_t *grown = realloc(stream->bytes, size);

        if (grown == NULL)
            return -ENOMEM;
        stream->bytes = grown;
        stream->size = size;
    }
    memcpy(stream->bytes + stream->len, data, len);
    stream->len += len;
    stream->next += (uint32_t)len;
    err = cut_messages(streams, stream);
    if (err == -EBADMSG || stream->len > MESSAGE_MAX + 4096) {
        streams->left_out->torn++;
        stream->len = 0;
        stream->known = false;          /* until something looks like a record again */
        return 0;
    }
    return err;
}

static int
keep_piece(struct replay_streams *streams, struct stream *stream, const struct replay_packet *packet)
{
    struct piece *piece, *before;

    if (stream->waiting + packet->len > WAITING_MAX) {  /* what is missing will not come */
        streams->left_out->torn++;
        stream->known = false;
        stream->len = 0;
        return 0;
    }
    piece = malloc(sizeof(*piece) + packet->len);
    if (piece == NULL)
        return -ENOMEM;
    piece->sequence = packet->sequence;
    piece->len = packet->len;
    memcpy(piece->data, packet->data, packet->len);
    stream->waiting += packet->len;
    TAILQ_FOREACH(before, &stream->pieces, next)
        if ((int32_t)(before->sequence - piece->sequence) > 0)
            break;
    if (before != NULL)
        TAILQ_INSERT_BEFORE(before, piece, next);
    else
        TAILQ_INSERT_TAIL(&stream->pieces, piece, next);
    return 0;
}

/* What of data at a sequence number is new is appended. Returns 0 or -ENOMEM. */
static int
append_new(struct replay_streams *streams, struct stream *stream, uint32_t sequence, const uint8_t *data, size_t len)
{
    uint32_t old = stream->next - sequence;

    return old < len ? append(streams, stream, data + old, len - old) : 0;
}

static int
join_pieces(struct replay_streams *streams, struct stream *stream)
{
    struct piece *piece;
    int err = 0;

    while (err == 0 && (piece = TAILQ_FIRST(&stream->pieces)) != NULL) {
        if (stream->known && (int32_t)(piece->sequence - stream->next) > 0)
            break;
        if (!stream->known && looks_like_record(piece->data, piece->len)) {
            stream->known = true;
            stream->next = piece->sequence;
        }
        TAILQ_REMOVE(&stream->pieces, piece, next);
        stream->waiting -= piece->len;
        if (stream->known)
            err = append_new(streams, stream, piece->sequence, piece->data, piece->len);
        free(piece);
    }
    return err;
}

static int
add_segment(struct replay_streams *streams, const struct replay_packet *packet)
{
    struct stream *stream = get_stream(streams, packet);
    int err;

    if (stream == NULL)
        return -ENOMEM;
    if (packet->begins) {
        stream->len = 0;
        stream->known = true;
        stream->next = packet->sequence + 1;
        return 0;
    }
    if (packet->len == 0)
        return 0;
    if (!stream->known) {
        if (!looks_like_record(packet->data, packet->len))
            return 0;
        stream->known = true;
        stream->next = packet->sequence;
    }
    if ((int32_t)(packet->sequence - stream->next) > 0)
        err = keep_piece(streams, stream, packet);
    else
        err = append_new(streams, stream, packet->sequence, packet->data, packet->len);
    return err < 0 ? err : join_pieces(streams, stream);
}

int
replay_streams_add(struct replay_streams *streams, const struct replay_packet *packet)
{
    return packet->tcp ? add_segment(streams, packet) : take_message(streams, packet, packet->data, packet->len);
}

uint64_t
replay_streams_unanswered(const struct replay_streams *streams)
{
    const struct waiting_call *waiting;
    uint64_t count = 0;

    TAILQ_FOREACH(waiting, &streams->calls, all)
        count += !waiting->answered;
    return count;
}

void
replay_streams_free(struct replay_streams *streams)
{
    struct waiting_call *waiting;

    if (streams == NULL)
        return;
    while (!TAILQ_EMPTY(&streams->streams))
        drop_stream(streams, TAILQ_FIRST(&streams->streams));
    while ((waiting = TAILQ_FIRST(&streams->calls)) != NULL)
        drop_call(streams, waiting);
    free(streams->message);
    free(streams);
}
