/* tests/fuzz/rig.c - see rig.h. */
#include "tests/fuzz/rig.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rpc/source.h"
#include "server/mount3.h"
#include "server/mount_list.h"
#include "server/nfs3_call.h"
#include "server/nfsacl.h"
#include "server/server.h"
#include "storage/memory.h"
#include "tests/fuzz/rig_replies.h"

#define SECRET "a secret that no reply may hold"
#define MESSAGE_MAX 65536               /* bytes of a call */
#define REPLY_MAX (2 << 20)
#define UDP_REPLY_MAX 65000
#define HANDLES_MAX 32
#define DRC_ENTRIES 64
#define MOUNTS_MAX 16
#define MODE_ENTRIES 3                  /* of the ACL that a mode says */
#define BUDGET (64 << 20)

enum { OPEN, OPEN_FILE, OPEN_DIR, OPEN_LINK, OPEN_PRIVATE, RO, RO_FILE, CLOSED, CLOSED_FILE, FIXED_HANDLES };

/* What must be as it was: the handles of it, by place. */
static const unsigned guarded[] = { OPEN_PRIVATE, RO, RO_FILE, CLOSED, CLOSED_FILE };
#define GUARDED (sizeof(guarded) / sizeof(guarded[0]))

struct handle {
    uint8_t bytes[FH_MAX];
    size_t len;
};

struct look {
    struct store_attr attr;
    bool has_acl;                       /* one that its mode does not say, or a default ACL */
};

/* What lasts for all inputs, and what is made anew for each. */
static struct {
    struct settings settings;
    struct log log;
    struct fh_key key;
    struct worker_shared shared;
    struct worker worker;
    struct call_source source;
    uint64_t resting_bytes;             /* of buffers, when no call is under way */
    struct exports *set;                /* read once; what its stores hold is made anew */
    bool ready;

    struct handle handles[HANDLES_MAX];
    unsigned nhandles;
    struct look looks[GUARDED];
    const struct rig_call *call;
    uint8_t reply[REPLY_MAX];
} rig;

static void
require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "procedure %u of program %u: %s\n", rig.call != NULL ? rig.call->proc : 0,
            rig.call != NULL ? rig.call->prog : 0, what);
    abort();
}

/* ---- Where replies go ---- */

static uint8_t *
give_space(struct call_source *source, size_t bytes)
{
    (void)source;
    require(bytes <= sizeof(rig.reply), "a reply that is too long");
    return rig.reply;
}

static void
keep_handle(void *context, const uint8_t *bytes, size_t len)
{
    struct handle *handle = &rig.handles[rig.nhandles];

    (void)context;
    if (rig.nhandles == HANDLES_MAX || len > FH_MAX)
        return;
    memcpy(handle->bytes, bytes, len);
    handle->len = len;
    rig.nhandles++;
}

/* The whole reply, in one piece. */
static size_t
join_payload(struct call *call)
{
    size_t len = (size_t)(call->reply.p - call->reply_start);
    size_t padding = wire_padding(call->payload_len);

    require(len + call->payload_len + padding <= sizeof(rig.reply), "a reply that is too long");
    if (call->pipe != NULL)
        require(read(call->pipe->out, rig.reply + len, call->payload_len) == (ssize_t)call->payload_len, "an empty pipe");
    else if (call->payload_len > 0)
        memcpy(rig.reply + len, call->payload_data, call->payload_len);
    if (call->pipe != NULL) {
        pipe_put(call->pipe, 0);
        call->pipe = NULL;
    }
    memset(rig.reply + len + call->payload_len, 0, padding);
    return len + call->payload_len + padding;
}

static void
check_reply(struct call_source *source, struct call *call)
{
    size_t len = join_payload(call);
    const char *wrong;

    require(len <= source->reply_max + 24, "a reply longer than may be sent");
    require(memmem(rig.reply, len, SECRET, strlen(SECRET)) == NULL, "a secret in the reply");
    wrong = rig_check_reply(rig.call, rig.reply, len, keep_handle, NULL);
    require(wrong == NULL, wrong);
}

static const struct call_source_ops source_ops = { .space = give_space, .send = check_reply };

/* ---- What is served ---- */

/* One operation on a memory store, which never waits. */
static struct store_op *
op_as(uint32_t uid)
{
    static struct store_cred cred;
    static struct store_op op;

    cred = (struct store_cred){ .uid = uid, .gid = uid };
    memset(&op, 0, sizeof(op));
    op.cred = &cred;
    return &op;
}

static struct store_node *
get_node(const struct export *export, const struct store_id *id)
{
    struct store_op *op = op_as(0);

    if (store_get(export->store, id, op) != 0)
        abort();
    return op->r.get.node;
}

/* Handles are numbered in the order in which they are added. */
static void
add_handle(const struct export *export, const struct store_id *id)
{
    struct handle *handle = &rig.handles[rig.nhandles++];

    handle->len = fh_encode(&rig.key, export->id, id, NULL, handle->bytes);
}

static void
add_made(const struct export *export, int err, const struct store_op *op)
{
    require(err == 0, strerror(-err));
    add_handle(export, &op->child);
}

static void
make_file(const struct export *export, const char *name, uint32_t uid, uint32_t mode, const char *text)
{
    const struct store_setattr set = { .set_mode = true, .mode = mode };
    struct store_op *op = op_as(uid);
    struct store_node *node;
    struct store_id id;

    op->name = name;
    op->name_len = strlen(name);
    op->u.create.how = STORE_GUARDED;
    op->u.create.set = &set;
    add_made(export, store_create(export->store->root, op), op);
    id = op->child;
    node = get_node(export, &id);
    op = op_as(uid);
    op->u.write.data = text;
    op->u.write.length = (uint32_t)strlen(text);
    if (store_write(node, op) != 0)
        abort();
    store_put(export->store, node);
}

static void
make_dir_and_link(const struct export *export)
{
    const struct store_setattr set = { .set_mode = true, .mode = 0777 };
    struct store_op *op = op_as(1000);

    op->name = "dir";
    op->name_len = 3;
    op->u.mkdir.set = &set;
    add_made(export, store_mkdir(export->store->root, op), op);
    op = op_as(1000);
    op->name = "link";
    op->name_len = 4;
    op->u.symlink.set = &set;
    op->u.symlink.text = "/etc/passwd";
    op->u.symlink.text_len = 11;
    add_made(export, store_symlink(export->store->root, op), op);
}

static const struct export *
export_of(const char *path)
{
    const struct export *export;
    const char *rest;
    size_t rest_len;

    export = exports_find_path(rig.set, path, strlen(path), NULL, &rest, &rest_len);
    if (export == NULL)
        abort();
    return export;
}

static void
fill_exports(void)
{
    const struct export *open = export_of("/open"), *ro = export_of("/ro"), *closed = export_of("/closed");

    rig.nhandles = 0;
    add_handle(open, store_node_id(open->store, open->store->root));
    make_file(open, "file", 1000, 0666, "what everybody may read and write");
    make_dir_and_link(open);
    make_file(open, "private", 0, 0600, SECRET);
    add_handle(ro, store_node_id(ro->store, ro->store->root));
    make_file(ro, "file", 1000, 0666, "what everybody may read");
    add_handle(closed, store_node_id(closed->store, closed->store->root));
    make_file(closed, "file", 1000, 0666, SECRET);
}

static bool
has_acl(struct store_node *node)
{
    static _Alignas(struct store_acl) uint8_t access[STORE_ACL_BYTES], defaults[STORE_ACL_BYTES];
    struct store_op *op = op_as(0);

    op->u.getacl.access = (struct store_acl *)access;
    op->u.getacl.defaults = (struct store_acl *)defaults;
    if (store_getacl(node, op) != 0)
        abort();
    return op->u.getacl.access->count != MODE_ENTRIES || op->u.getacl.defaults->count != 0;
}

/* What a handle names, whoever may see it. */
static struct look
look_at(unsigned place)
{
    const struct handle *handle = &rig.handles[place];
    struct look look = { .attr.present = false };
    const struct export *export;
    struct store_node *node;
    struct store_op *op;
    struct store_id id, dir;
    uint64_t export_id;

    if (fh_decode(&rig.key, handle->bytes, handle->len, &export_id, &id, &dir) != 0)
        abort();
    export = exports_find_id(rig.set, export_id);
    op = op_as(0);
    if (store_get(export->store, &id, op) != 0)
        return look;                    /* it is gone */
    node = op->r.get.node;
    op = op_as(0);
    if (store_getattr(node, op) == 0)
        look.attr = op->attr;
    look.has_acl = has_acl(node);
    store_put(export->store, node);
    return look;
}

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* private may get another name, by whoever may write its directory: that moves its ctime. */
static bool
is_untouched(const struct look *was, const struct look *is, bool may_be_renamed)
{
    const struct store_attr *before = &was->attr, *now = &is->attr;

    if (may_be_renamed && !now->present)
        return true;
    return now->present && now->mode == before->mode && now->uid == before->uid && now->gid == before->gid &&
           now->size == before->size && same_time(&now->mtime, &before->mtime) && is->has_acl == was->has_acl &&
           (may_be_renamed || (now->nlink == before->nlink && same_time(&now->ctime, &before->ctime)));
}

/* ---- The worker ---- */

static void
read_exports(void)
{
    static const char *const lines[] = { "memory:/open *(rw,insecure,sec=sys:none)", "memory:/ro *(ro,insecure,no_root_squash)",
                                         "memory:/closed 192.0.2.1(rw,insecure,no_root_squash)" };
    const struct exports_source source = { .lines = lines, .nlines = 3 };
    char error[1024];

    if (exports_load(&source, &rig.settings, NULL, &rig.set, error, sizeof(error)) < 0)
        abort();
}

/* Bytes of buffers that somebody has: asked for more than there can be, the pool gives back what it keeps for later. */
static uint64_t
lent_bytes(void)
{
    if (buf_get(rig.worker.transport->buffers, BUDGET) != NULL)
        abort();
    return rig.shared.transport.budget.used_bytes;
}

static void
set_up_worker(void)
{
    static const struct program *const programs[] = { &nfs3_program, &nfsacl_program, &mount3_program };
    struct transport_config transport = { .shared = &rig.shared.transport, .context = &rig.worker };
    struct worker_shared *shared = &rig.shared;

    settings_init(&rig.settings);
    rig.settings.memory_bytes = 4 << 20;
    rig.settings.memory_files = 256;
    rig.log = (struct log){ .level = LOG_ERROR_LEVEL, .fd = STDERR_FILENO };
    memset(rig.key.bytes, 7, sizeof(rig.key.bytes));
    shared->settings = &rig.settings;
    shared->sizes.rtmax = rig.settings.rtmax;
    shared->sizes.wtmax = rig.settings.wtmax;
    shared->sizes.dtpref = rig.settings.dtpref;
    shared->log = &rig.log;
    shared->key = &rig.key;
    shared->transport.budget.max_bytes = BUDGET;
    shared->transport.limits = (struct transport_limits){ .record_bytes = MESSAGE_MAX, .calls_per_conn = 1024,
                                                          .reply_bytes_per_conn = BUDGET };
    shared->programs = transport.programs = programs;
    shared->nprograms = transport.nprograms = sizeof(programs) / sizeof(programs[0]);
    shared->call_size = transport.call_size = sizeof(struct nfs3_call) > sizeof(struct mount3_call)
                                                  ? sizeof(struct nfs3_call) : sizeof(struct mount3_call);
    rig.worker.shared = shared;
    if (transport_new(&transport, &rig.worker.transport) < 0)
        abort();
    read_exports();
    rig.source.ops = &source_ops;
    rig.source.transport = rig.worker.transport;
    rig.source.is_dirty = true;         /* nothing is to be flushed */
    call_free(call_new(&rig.source));   /* the first takes memory that stays */
    rig.resting_bytes = lent_bytes();
    rig.ready = true;
}

/* Stores in place of those that the exports were read with: reading them for each input would take most of the time. */
static void
make_stores(void)
{
    const struct memory_config config = { .max_bytes = rig.settings.memory_bytes, .max_files = rig.settings.memory_files,
                                          .root_mode = 01777 };

    for (size_t i = 0; i < rig.set->count; i++)
        if (memory_new(&config, &rig.set->list[i].store) < 0)
            abort();
}

static uint64_t
no_time(void)
{
    return 1;
}

void
rig_begin(void)
{
    const struct drc_config drc = { .entries = DRC_ENTRIES, .hash = siphash, .now_ms = no_time };

    if (!rig.ready)
        set_up_worker();
    make_stores();
    if (drc_new(&drc, &rig.shared.drc) < 0 || mount_list_new(MOUNTS_MAX, &rig.shared.mounts) < 0)
        abort();
    rig.worker.view = export_view_new(rig.set);
    fill_exports();
    for (size_t i = 0; i < GUARDED; i++)
        rig.looks[i] = look_at(guarded[i]);
}

void
rig_end(void)
{
    rig.call = NULL;
    for (size_t i = 0; i < GUARDED; i++) {
        const struct look now = look_at(guarded[i]);

        require(is_untouched(&rig.looks[i], &now, guarded[i] == OPEN_PRIVATE), "what nobody may change was changed");
    }
    require(rig.worker.transport->outstanding == 0 && rig.worker.view->holders == 1, "a call stayed behind");
    require(lent_bytes() == rig.resting_bytes, "a buffer stayed behind");
    export_view_put(rig.worker.view);
    mount_list_free(rig.shared.mounts);
    drc_free(rig.shared.drc);
    for (size_t i = 0; i < rig.set->count; i++)
        store_free(rig.set->list[i].store);
}

/* ---- Calls ---- */

/* The number of the handle that is meant at p, or -1. */
static int
handle_at(const uint8_t *p, size_t len)
{
    static const uint8_t begin[] = { 0, 0, 0, 4, 'F', 'H', 0 };

    return len >= 8 && memcmp(p, begin, sizeof(begin)) == 0 ? p[7] : -1;
}

static void
put_args(struct wire_out *out, const uint8_t *args, size_t len)
{
    size_t at = 0;

    while (at < len) {
        int number = handle_at(args + at, len - at);
        size_t step = len - at < 4 ? len - at : 4;

        if (number >= 0 && (unsigned)number < rig.nhandles) {
            wire_put_opaque(out, rig.handles[number].bytes, (uint32_t)rig.handles[number].len);
            at += 8;
            continue;
        }
        for (size_t i = 0; i < step && wire_room(out) > 0; i++)
            *out->p++ = args[at + i];
        at += step;
    }
}

static size_t
put_message(const struct rig_call *call, uint8_t *message)
{
    struct wire_out out = { message, message + MESSAGE_MAX, false };

    wire_put_u32(&out, call->xid);
    wire_put_u32(&out, 0);
    wire_put_u32(&out, 2);
    wire_put_u32(&out, call->prog);
    wire_put_u32(&out, call->vers);
    wire_put_u32(&out, call->proc);
    wire_put_u32(&out, call->auth_sys ? CALL_AUTH_SYS : CALL_AUTH_NONE);
    wire_put_u32(&out, call->auth_sys ? 20 : 0);
    if (call->auth_sys) {
        wire_put_u32(&out, 0);
        wire_put_u32(&out, 0);
        wire_put_u32(&out, call->uid);
        wire_put_u32(&out, call->gid);
        wire_put_u32(&out, 0);
    }
    wire_put_u32(&out, 0);
    wire_put_u32(&out, 0);
    put_args(&out, call->args, call->len);
    return (size_t)(out.p - message);
}

/* Bytes that end where an allocation ends: a sanitizer sees the first one outside. */
void
rig_call(const struct rig_call *asked)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(700),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    static uint8_t message[MESSAGE_MAX];
    size_t len = put_message(asked, message);
    struct buf_pool *pool = rig.worker.transport->buffers;
    struct buf buf = { .data = malloc(len), .capacity = len, .refs = 2, .pool = pool };
    struct call *call;

    rig.call = asked;
    rig.source.stream = asked->stream;
    rig.source.reply_max = asked->stream ? REPLY_MAX - 64 : UDP_REPLY_MAX;
    call = call_new(&rig.source);
    if (call == NULL || buf.data == NULL)
        abort();
    memcpy(buf.data, message, len);
    memcpy(&call->peer, &address, sizeof(address));
    memcpy(&call->local, &address, sizeof(address));
    require(call_deliver(call, &buf, buf.data, len) == 0, "a good header is refused");
    require(buf.refs == 2, "a request stayed behind");
    free(buf.data);
}
