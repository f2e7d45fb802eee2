/*
 * server/fault_call.c - see fault_call.h.
 *
 * A call goes through all rules once: what can be seen in its bytes is compared first; where a path is left to be compared,
 * the path is walked to see what it names now; then the rules that match are counted, and those that fire leave a verdict.
 *
 *     fault_take_call -> (walk_next -> found_name -> got_directory ...) -> decide -> the program, now or later, or nobody
 */
#include "server/fault_call.h"

#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "server/access.h"
#include "server/faults.h"
#include "server/nfs3_call.h"
#include "server/nfs3_status.h"

#define BIT(i) (UINT64_C(1) << (i))

/* A call that rules are looked at for; in its memory, until it is over. */
struct fault_case {
    struct fault_verdict verdict;       /* first */
    struct call *call;
    struct worker *worker;
    struct fault_set *set;
    struct delay delay;

    /* what can be seen of it */
    int proc;
    const uint8_t *handle;              /* NULL: it has none */
    uint32_t handle_len;
    const char *name;                   /* NULL: likewise */
    uint32_t name_len;
    bool flushes;                       /* COMMIT, or a WRITE that is not UNSTABLE */
    const struct export *export;        /* of the handle; NULL: it is none of ours */
    struct store_id id, name_dir;       /* what the handle names, and the directory that the name is in; len 0: unknown */

    uint64_t matches;                   /* rules, by their place in the set; less and less */

    /* while a path is walked */
    struct export_view *view;
    size_t rule;
    const char *rest;                   /* of the path: the next name is its first */
    struct store_node *dir;             /* a reference */
    struct store_id next;
    int (*step)(struct fault_case *this, int err);
    struct store_op op;
};

static void
case_end(struct call_fault *fault)
{
    fault_set_put(((struct fault_case *)fault)->set);
}

/* The caller's arguments as far as rules look at them; what is no handle or name is for the program to refuse. */
static void
read_args(struct fault_case *this)
{
    const struct fh_key *key = this->worker->shared->key;
    struct wire_in in = this->call->args;
    struct store_id dir;
    uint64_t export_id, other;
    uint32_t stable;

    if (!fault_proc_has_handle(this->proc))
        return;
    this->handle = wire_get_opaque(&in, FH_MAX, &this->handle_len);
    if (this->handle == NULL || fh_decode(key, this->handle, this->handle_len, &export_id, &this->id, &dir) < 0)
        return;
    this->export = exports_find_id(this->view->set, export_id);
    this->name_dir = this->id;
    if (this->call->prog == NFS_PROGRAM && this->call->proc == NFSPROC3_LINK) {
        const uint8_t *to = wire_get_opaque(&in, FH_MAX, &stable);

        if (to == NULL || fh_decode(key, to, stable, &other, &this->name_dir, &dir) < 0 || other != export_id)
            this->name_dir.len = 0;
    }
    if (fault_proc_has_name(this->proc))
        this->name = (const char *)wire_get_opaque(&in, STORE_NAME_MAX, &this->name_len);
    this->flushes = this->call->proc == NFSPROC3_COMMIT;
    if (this->call->proc == NFSPROC3_WRITE) {
        wire_get_u64(&in);                              /* offset, */
        wire_get_u32(&in);                              /* count */
        stable = wire_get_u32(&in);
        this->flushes = !in.bad && stable != UNSTABLE;
    }
}

static bool
client_fits(const struct fault_rule *rule, const struct call *call)
{
    struct export_client caller = { .match = MATCH_NETWORK };

    peer_address_init(&caller.address, (const struct sockaddr *)&call->peer);
    caller.prefix = caller.address.bits;
    return access_contains(&rule->client, &caller);
}

static bool
name_fits(const struct fault_rule *rule, const struct fault_case *this)
{
    char name[STORE_NAME_MAX + 1];

    if (this->name == NULL)
        return false;
    memcpy(name, this->name, this->name_len);
    name[this->name_len] = '\0';
    return fnmatch(rule->name, name, 0) == 0;
}

/* All conditions but the path. */
static bool
fits(const struct fault_rule *rule, const struct fault_case *this)
{
    if ((rule->procs & BIT(this->proc)) == 0 || !(this->call->stream ? rule->tcp : rule->udp))
        return false;
    if (rule->action == FAULT_FAIL_FLUSH && !this->flushes)
        return false;
    if (rule->has_client && !client_fits(rule, this->call))
        return false;
    if (rule->handle_len > 0 && (this->handle == NULL || this->handle_len != rule->handle_len ||
                                 memcmp(this->handle, rule->handle, rule->handle_len) != 0))
        return false;
    if (rule->export != NULL && (this->export == NULL || strcmp(this->export->path, rule->export) != 0))
        return false;
    return rule->name == NULL || name_fits(rule, this);
}

static bool
same_id(const struct store_id *a, const struct store_id *b)
{
    return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static void decide(struct fault_case *this);

static void
go(struct fault_case *this, int err)
{
    while (err != STORE_PENDING)
        err = this->step(this, err);
}

static void
op_done(struct store_op *op)
{
    go((struct fault_case *)((char *)op - offsetof(struct fault_case, op)), op->err);
}

static int walk_next(struct fault_case *this);

/* The walk for one rule is over: go on with the next. */
static int
walked(struct fault_case *this, bool matches)
{
    if (!matches)
        this->matches &= ~BIT(this->rule);
    store_put(this->export->store, this->dir);
    this->dir = NULL;
    this->rule++;
    return walk_next(this);
}

static int found_name(struct fault_case *this, int err);

/* this->rest begins with a name in this->dir, or is at its end, and then this->dir is what the path names. */
static int
walk_down(struct fault_case *this)
{
    size_t len = strcspn(this->rest, "/");
    const struct store_id *dir = store_node_id(this->export->store, this->dir);

    if (len == 0)
        return walked(this, same_id(dir, &this->id));
    if (this->rest[len] == '\0' && this->name != NULL && this->name_len == len &&
        memcmp(this->name, this->rest, len) == 0 && same_id(dir, &this->name_dir))
        return walked(this, true);
    this->op.name = this->rest;
    this->op.name_len = len;
    this->step = found_name;
    return store_lookup(this->dir, &this->op);
}

static int
got_directory(struct fault_case *this, int err)
{
    if (err < 0)
        return walked(this, false);
    store_put(this->export->store, this->dir);
    this->dir = this->op.r.get.node;
    this->rest += strcspn(this->rest, "/") + 1;
    return walk_down(this);
}

static int
found_name(struct fault_case *this, int err)
{
    if (err < 0)
        return walked(this, false);
    this->next = this->op.child;
    if (this->rest[strcspn(this->rest, "/")] == '\0')
        return walked(this, same_id(&this->next, &this->id));
    this->step = got_directory;
    return store_get(this->export->store, &this->next, &this->op);
}

/* Walk the path of the next rule that matches so far, if it is in the export of the call; decide when there are no more. */
static int
walk_next(struct fault_case *this)
{
    const struct fault_set *set = this->set;
    const struct fault_rule *rule;
    size_t rest_len;

    for (; this->rule < set->count; this->rule++) {
        rule = set->rules[this->rule];
        if ((this->matches & BIT(this->rule)) == 0 || rule->path == NULL)
            continue;
        if (this->export != NULL && exports_find_path(this->view->set, rule->path, strlen(rule->path), NULL, &this->rest,
                                                      &rest_len) == this->export)
            break;
        this->matches &= ~BIT(this->rule);
    }
    if (this->rule == set->count) {
        decide(this);
        return STORE_PENDING;
    }
    this->dir = this->export->store->root;
    store_ref(this->export->store, this->dir);
    return walk_down(this);
}

static void
add_store_fault(struct fault_case *this, struct fault_rule *rule)
{
    struct fault_verdict *verdict = &this->verdict;

    switch (rule->action) {
    case FAULT_ERROR:
        verdict->err = nfs3_status_errno((nfsstat3)rule->value);
        break;
    case FAULT_STALE:
        verdict->stale = true;
        break;
    case FAULT_SHORT_READ:
    case FAULT_SHORT_WRITE:
        verdict->store.cut = true;
        verdict->store.most = (uint32_t)rule->value;
        break;
    case FAULT_FULL:
        verdict->store.room = &rule->room;
        verdict->names_room = this->name != NULL ? &rule->room : NULL;
        break;
    default:
        verdict->store.flush_fails = true;
        break;
    }
}

static void
add_reply_fault(struct fault_case *this, const struct fault_rule *rule)
{
    static const enum fault_reply replies[] = {
        [FAULT_DROP_REPLY] = FAULT_REPLY_DROPPED, [FAULT_TEAR] = FAULT_REPLY_TORN, [FAULT_DUPLICATE] = FAULT_REPLY_TWICE,
        [FAULT_REORDER] = FAULT_REPLY_LATE, [FAULT_RESET] = FAULT_REPLY_RESET, [FAULT_SILENCE] = FAULT_REPLY_DROPPED,
    };

    this->verdict.reply.reply = replies[rule->action];
    this->verdict.reply.bytes = rule->value == UINT64_MAX ? FAULT_HALF : (size_t)rule->value;
}

static void
is_due(struct delay *delay)
{
    fault_go_on(((struct fault_case *)((char *)delay - offsetof(struct fault_case, delay)))->call);
}

/* Let the program have the call once it is due: now, too, when so much is delayed that there is no room for it. */
static void
go_on_later(struct fault_case *this, uint64_t ns)
{
    uint64_t now_ns = rate_now_ns(this->worker->shared->rate);

    this->delay.over = is_due;
    if (delay_start(&this->worker->delays, &this->delay, now_ns + ns, sizeof(struct nfs3_call)) < 0)
        fault_go_on(this->call);
}

/* Count the rules that match, and do what those that fire say. */
static void
decide(struct fault_case *this)
{
    struct call *call = this->call;
    const struct fault_rule *chosen[FAULT_PLACES] = { NULL };
    bool fired = false;

    for (size_t i = 0; i < this->set->count; i++) {
        struct fault_rule *rule = this->set->rules[i];

        if ((this->matches & BIT(i)) == 0 || chosen[rule->place] != NULL || !fault_rule_fires(rule))
            continue;
        chosen[rule->place] = rule;
        fired = true;
        if (rule->place == FAULT_PLACE_STORE)
            add_store_fault(this, rule);
        else if (rule->place == FAULT_PLACE_REPLY)
            add_reply_fault(this, rule);
        else if (rule->place == FAULT_PLACE_VERIFIER && this->export != NULL)
            store_renew_verifier(this->export->store);
    }
    export_view_put(this->view);
    if (fired)
        call->fault = &this->verdict.reply;
    else
        fault_set_put(this->set);
    if (chosen[FAULT_PLACE_REPLY] != NULL && chosen[FAULT_PLACE_REPLY]->action == FAULT_SILENCE)
        call_drop(call);
    else if (chosen[FAULT_PLACE_BEGIN] != NULL)
        go_on_later(this, chosen[FAULT_PLACE_BEGIN]->value);
    else
        fault_go_on(call);
}

/* A case with what can be seen of a call; NULL when memory is short, and then nothing goes wrong. */
static struct fault_case *
case_new(struct faults *faults, struct call *call, int proc)
{
    static const struct store_cred root = { .uid = 0 };
    struct fault_case *this = call_alloc(call, sizeof(*this));

    if (this == NULL)
        return NULL;
    memset(this, 0, sizeof(*this));
    this->verdict.reply.end = case_end;
    this->call = call;
    this->worker = call->transport->context;
    this->view = export_view_ref(this->worker->view);
    this->set = faults_get(faults);
    this->proc = proc;
    this->op.engine = this->worker->engine;
    this->op.cred = &root;
    this->op.done = op_done;
    read_args(this);
    return this;
}

void
fault_take_call(void *context, struct call *call)
{
    int proc = fault_proc(call->prog, call->proc);
    struct fault_case *this = proc >= 0 ? case_new(context, call, proc) : NULL;

    if (this == NULL) {
        fault_go_on(call);
        return;
    }
    for (size_t i = 0; i < this->set->count; i++)
        if (fits(this->set->rules[i], this))
            this->matches |= BIT(i);
    go(this, walk_next(this));
}
