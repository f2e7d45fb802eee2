/*
 * server/nfs3_fs.c - FSSTAT, FSINFO and PATHCONF (RFC 1813 3.3.18 to 3.3.20).
 */
#include <sys/param.h>

#include "server/nfs3_procs.h"
#include "server/nfs3_reply.h"

#define TRANSFER_MULTIPLE 4096          /* bytes; a page: what transfers should be a multiple of */

int
nfs3_fsstat_begin(struct nfs3_call *call)
{
    return store_fsstat(call->node, &call->op);
}

int
nfs3_fsstat_finish(struct nfs3_call *call)
{
    FSSTAT3resok *ok = &call->res.fsstat.FSSTAT3res_u.resok;
    const struct store_fs *fs = &call->op.r.fs;

    nfs3_post_op(call, &call->op.attr, &ok->obj_attributes);
    ok->tbytes = fs->total_bytes;
    ok->fbytes = fs->free_bytes;
    ok->abytes = fs->avail_bytes;
    ok->tfiles = fs->total_files;
    ok->ffiles = fs->free_files;
    ok->afiles = fs->avail_files;
    ok->invarsec = 0;                                   /* the numbers may change at any time */
    return 0;
}

void
nfs3_fsstat_fail(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.fsstat.FSSTAT3res_u.resfail.obj_attributes);
}

int
nfs3_fsinfo_begin(struct nfs3_call *call)
{
    return store_fsstat(call->node, &call->op);
}

static uint32_t
properties(const struct store_fs *fs)
{
    return (fs->hard_links ? FSF3_LINK : 0) | (fs->symlinks ? FSF3_SYMLINK : 0) |
           (fs->homogeneous ? FSF3_HOMOGENEOUS : 0) | (fs->can_set_time ? FSF3_CANSETTIME : 0);
}

/* What a client should ask for over the transport that it asks this through. */
static uint32_t
over_transport(const struct nfs3_call *call, uint32_t bytes)
{
    return call->rpc.stream ? bytes : MIN(bytes, NFS3_UDP_MAX);
}

/* An export's own preference goes before the server's. */
static uint32_t
preferred(uint32_t of_export, uint32_t of_server, uint32_t max)
{
    uint32_t wanted = of_export != 0 ? of_export : of_server;

    return wanted != 0 ? MIN(wanted, max) : max;
}

int
nfs3_fsinfo_finish(struct nfs3_call *call)
{
    FSINFO3resok *ok = &call->res.fsinfo.FSINFO3res_u.resok;
    const struct worker_sizes *sizes = &call->worker->shared->sizes;
    const struct store_fs *fs = &call->op.r.fs;

    nfs3_post_op(call, &call->op.attr, &ok->obj_attributes);
    ok->rtmax = over_transport(call, nfs3_rtmax(call));
    ok->wtmax = over_transport(call, nfs3_wtmax(call));
    ok->rtpref = preferred(call->rights->rtpref, sizes->rtpref, ok->rtmax);
    ok->wtpref = preferred(call->rights->wtpref, sizes->wtpref, ok->wtmax);
    ok->rtmult = ok->wtmult = TRANSFER_MULTIPLE;
    ok->dtpref = over_transport(call, nfs3_dtpref(call));
    ok->maxfilesize = fs->max_file_size;
    ok->time_delta.seconds = (uint32_t)fs->time_delta.tv_sec;
    ok->time_delta.nseconds = (uint32_t)fs->time_delta.tv_nsec;
    ok->properties = properties(fs);
    return 0;
}

void
nfs3_fsinfo_fail(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.fsinfo.FSINFO3res_u.resfail.obj_attributes);
}

int
nfs3_pathconf_begin(struct nfs3_call *call)
{
    return store_fsstat(call->node, &call->op);
}

int
nfs3_pathconf_finish(struct nfs3_call *call)
{
    PATHCONF3resok *ok = &call->res.pathconf.PATHCONF3res_u.resok;
    const struct store_fs *fs = &call->op.r.fs;

    nfs3_post_op(call, &call->op.attr, &ok->obj_attributes);
    ok->linkmax = fs->link_max;
    ok->name_max = MIN(fs->name_max, STORE_NAME_MAX);
    ok->no_trunc = fs->no_trunc;
    ok->chown_restricted = fs->chown_restricted;
    ok->case_insensitive = fs->case_insensitive;
    ok->case_preserving = fs->case_preserving;
    return 0;
}

void
nfs3_pathconf_fail(struct nfs3_call *call)
{
    nfs3_post_op(call, &call->op.attr, &call->res.pathconf.PATHCONF3res_u.resfail.obj_attributes);
}
