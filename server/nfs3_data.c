/*
 * server/nfs3_data.c - READ, WRITE and COMMIT (RFC 1813 3.3.6, 3.3.7, 3.3.21).
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>

#include "server/fault_call.h"
#include "server/nfs3_procs.h"
#include "server/nfs3_reply.h"
#include "server/throttle.h"

#define SMALL_READ 768                  /* bytes; up to here the call's own memory serves */
#define SPLICE_MIN (512 << 10)          /* bytes; from here on cached pages go to the socket without a copy */
#define PAGE 4096u

/* What offsets have to be multiples of to go past the page cache; 0: file data goes through it. */
static uint32_t
direct_align(const struct nfs3_call *call)
{
    return call->rights->io == STORE_IO_DIRECT ? call->export->store->direct_align : 0;
}

/* Where READ's data goes: the store fills it, and the reply is sent from it. */
static uint8_t *
read_space(struct nfs3_call *call, uint32_t length)
{
    uint32_t around = 2 * direct_align(call);

    if (length <= SMALL_READ && around == 0)
        return call_alloc(&call->rpc, MAX(length, 1));
    call->data = buf_get_spare(call->rpc.transport->buffers, length + around);
    if (call->data == NULL)
        return NULL;
    call->op.u.read.room = length + around;
    if (around > 0)
        call->op.memory = worker_memory(call->rpc.transport->context, call->data);
    return call->data->data;
}

/* A pipe for pages of the file, where that is worth it: one slot for each page that is touched. */
static struct pipe *
read_pipe(struct nfs3_call *call, uint64_t offset, uint32_t length)
{
    bool cached = call->rights->io == STORE_IO_AUTO || call->rights->io == STORE_IO_BUFFERED;

    if (!call->rpc.stream || length < SPLICE_MIN || !cached || call_reply_is_sealed(&call->rpc))
        return NULL;
    return pipe_get(call->rpc.transport->pipes, (offset % PAGE + length + PAGE - 1) / PAGE);
}

uint64_t
nfs3_read_payload(const struct nfs3_call *call)
{
    return MIN(call->args.read.count, nfs3_rtmax(call));
}

int
nfs3_read_begin(struct nfs3_call *call)
{
    const READ3args *args = &call->args.read;
    struct store_op *op = &call->op;
    uint64_t offset = MIN(args->offset, INT64_MAX);     /* no file goes further: the store answers "at the end" */
    uint32_t length = (uint32_t)MIN(MIN(args->count, nfs3_rtmax(call)), INT64_MAX - offset);
    uint8_t *data;

    op->u.read.room = length;
    op->memory = 0;
    data = read_space(call, length);
    if (data == NULL)
        return -ENOMEM;
    call_expect(&call->rpc, length);
    call->data_start = data;
    op->u.read.offset = offset;
    op->u.read.length = length;
    op->u.read.data = data;
    op->u.read.keep_atime = call->rights->noatime;
    op->u.read.io = call->rights->io;
    op->u.read.ahead = call->rights->readahead;
    call->pipe = read_pipe(call, offset, length);
    op->u.read.pipe = call->pipe != NULL ? call->pipe->in : -1;
    return fault_read(fault_of_store(&call->rpc), call->node, op);
}

/* Few bytes in a large buffer move to a small one: they may wait long for a client that is slow to take them. */
static void
fit_data(struct nfs3_call *call, uint32_t done)
{
    struct buf *small;

    if (call->data == NULL || call->op.r.read.in_pipe || done >= call->data->capacity / 2)
        return;
    small = buf_get(call->rpc.transport->buffers, done);
    if (small == NULL)
        return;
    memcpy(small->data, call->data_start, done);
    buf_put(call->data);
    call->data = small;
    call->data_start = small->data;
}

int
nfs3_read_finish(struct nfs3_call *call)
{
    READ3resok *ok = &call->res.read.READ3res_u.resok;

    call->data_start += call->op.r.read.skip;
    fit_data(call, call->op.r.read.done);
    ok->count = call->op.r.read.done;
    ok->eof = call->op.r.read.eof;
    ok->data.data_len = ok->count;
    ok->data.data_val = (char *)call->data_start;
    call->data_bytes = ok->count;
    throttle_settle(call, ok->count);
    nfs3_post_op(call, &call->op.attr, &ok->file_attributes);
    return 0;
}

void
nfs3_read_fail(struct nfs3_call *call)
{
    throttle_settle(call, 0);
    nfs3_post_op(call, &call->op.attr, &call->res.read.READ3res_u.resfail.file_attributes);
}

static void
put_verifier(uint64_t verifier, writeverf3 out)
{
    memcpy(out, &verifier, NFS3_WRITEVERFSIZE);
}

static enum store_stability
asked_stability(stable_how how)
{
    return how == UNSTABLE ? STORE_UNSTABLE : how == DATA_SYNC ? STORE_DATA_SYNC : STORE_FILE_SYNC;
}

static stable_how
given_stability(enum store_stability stability)
{
    return stability == STORE_UNSTABLE ? UNSTABLE : stability == STORE_DATA_SYNC ? DATA_SYNC : FILE_SYNC;
}

/* All that came, whatever becomes of it. */
uint64_t
nfs3_write_payload(const struct nfs3_call *call)
{
    return call->args.write.data.data_len;
}

/*
 * The data where it can go to the disk from: whole pages of the file at whole pages of memory. Where there is no memory for
 * that, it stays where it was received, and the store takes it through the page cache.
 */
static const void *
write_data(struct nfs3_call *call, uint64_t offset, uint32_t length)
{
    const uint8_t *data = (const uint8_t *)call->args.write.data.data_val;
    uint32_t align = direct_align(call), before;

    if (align == 0 || length < align)
        return data;
    before = (uint32_t)(offset % align);
    if (((uintptr_t)data - before) % call->export->store->direct_memory == 0)
        return data;
    call->data = buf_get_spare(call->rpc.transport->buffers, (size_t)before + length);
    if (call->data == NULL)
        return data;
    call->op.memory = worker_memory(call->rpc.transport->context, call->data);
    memcpy(call->data->data + before, data, length);
    return call->data->data + before;
}

int
nfs3_write_begin(struct nfs3_call *call)
{
    const WRITE3args *args = &call->args.write;
    struct store_op *op = &call->op;

    if (!S_ISREG(nfs3_node_type(call)) || args->count != args->data.data_len)
        return -EINVAL;
    call_expect(&call->rpc, args->data.data_len);
    /* Taken before the data goes down: should a flush fail in between, the client has the older one and sends again. */
    call->verifier = atomic_load(&call->export->store->write_verifier);
    op->u.write.offset = args->offset;
    op->u.write.length = MIN(args->count, nfs3_wtmax(call));
    op->memory = 0;
    op->u.write.data = write_data(call, args->offset, op->u.write.length);
    op->u.write.io = call->rights->io;
    op->u.write.stable = call->rights->async ? STORE_UNSTABLE : asked_stability(args->stable);
    return fault_write(fault_of_store(&call->rpc), call->node, op);
}

int
nfs3_write_finish(struct nfs3_call *call)
{
    WRITE3resok *ok = &call->res.write.WRITE3res_u.resok;

    ok->count = call->op.r.write.done;
    ok->committed = call->rights->async ? call->args.write.stable : given_stability(call->op.r.write.committed);
    put_verifier(call->verifier, ok->verf);
    nfs3_wcc(call, &call->op.wcc, &ok->file_wcc);
    return 0;
}

void
nfs3_write_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.write.WRITE3res_u.resfail.file_wcc);
}

int
nfs3_commit_begin(struct nfs3_call *call)
{
    const COMMIT3args *args = &call->args.commit;
    struct store_op *op = &call->op;

    if (!S_ISREG(nfs3_node_type(call)))
        return -EINVAL;
    if (call->rights->async)                            /* exports(5) async: says yes without flushing */
        return store_getattr(call->node, op);
    op->u.commit.offset = args->offset;
    op->u.commit.length = args->count <= UINT64_MAX - args->offset ? args->count : 0;
    return fault_commit(fault_of_store(&call->rpc), call->node, op);
}

int
nfs3_commit_finish(struct nfs3_call *call)
{
    COMMIT3resok *ok = &call->res.commit.COMMIT3res_u.resok;

    if (call->op.kind == STORE_GETATTR)
        call->op.wcc.after = call->op.attr;
    put_verifier(atomic_load(&call->export->store->write_verifier), ok->verf);
    nfs3_wcc(call, &call->op.wcc, &ok->file_wcc);
    return 0;
}

void
nfs3_commit_fail(struct nfs3_call *call)
{
    nfs3_wcc(call, &call->op.wcc, &call->res.commit.COMMIT3res_u.resfail.file_wcc);
}
