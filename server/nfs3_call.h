/*
 * server/nfs3_call.h - one call of NFSv3, or of its side protocol NFSACL, on its way through the server, and the row that
 * says how its procedure works.
 *
 * A procedure is three functions. begin() asks the store for one operation, or refuses without having asked; finish()
 * turns an outcome that is good into the result; fail() puts into the result what an error carries. dispatch.c has
 * found export, rights, caller and nodes before begin() runs, and sends what finish() or fail() has left in call->res.
 */
#ifndef RINGNFS_SERVER_NFS3_CALL_H
#define RINGNFS_SERVER_NFS3_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/call.h"
#include "rpc/drc.h"
#include "rpc/loop.h"
#include "rpc/program.h"
#include "server/delay.h"
#include "server/export_view.h"
#include "server/exports.h"
#include "server/groups.h"
#include "server/worker.h"
#include "storage/fh.h"
#include "storage/store.h"
#include "xdr/bulk.h"
#include "xdr/bulk_acl.h"
#include "xdr/nfs3.h"
#include "xdr/nfs_acl.h"

#define NFS3_PROCS 22                   /* NULL to COMMIT */
#define NFS3_UDP_MAX (32 << 10)         /* bytes of data in a READ or WRITE over UDP that FSINFO recommends */

/* Errors of procedures that errno.h has no name for; negated like the others. */
#define NFS3_ETOOSMALL EMSGSIZE         /* NFS3ERR_TOOSMALL */

union nfs3_args {
    nfs_fh3 first;                      /* every procedure's arguments begin with a handle */
    GETATTR3args getattr;
    SETATTR3args setattr;
    LOOKUP3args lookup;
    ACCESS3args access;
    READLINK3args readlink;
    READ3args read;
    WRITE3args write;
    CREATE3args create;
    MKDIR3args mkdir;
    SYMLINK3args symlink;
    MKNOD3args mknod;
    REMOVE3args remove;
    RMDIR3args rmdir;
    RENAME3args rename;
    LINK3args link;
    READDIR3args readdir;
    READDIRPLUS3args readdirplus;
    FSSTAT3args fsstat;
    FSINFO3args fsinfo;
    PATHCONF3args pathconf;
    COMMIT3args commit;
    GETACL3args getacl;
    struct bulk_SETACL3args setacl;
};

union nfs3_res {
    nfsstat3 status;                    /* every procedure's result begins with it */
    GETATTR3res getattr;
    SETATTR3res setattr;
    LOOKUP3res lookup;
    ACCESS3res access;
    READLINK3res readlink;
    READ3res read;
    WRITE3res write;
    CREATE3res create;
    MKDIR3res mkdir;
    SYMLINK3res symlink;
    MKNOD3res mknod;
    REMOVE3res remove;
    RMDIR3res rmdir;
    RENAME3res rename;
    LINK3res link;
    READDIR3res readdir;
    READDIRPLUS3res readdirplus;
    FSSTAT3res fsstat;
    FSINFO3res fsinfo;
    PATHCONF3res pathconf;
    COMMIT3res commit;
    GETACL3res getacl;
    SETACL3res setacl;
};

/* What a caller must be allowed to do. */
enum nfs3_right { RIGHT_NONE, RIGHT_READ, RIGHT_WRITE };

struct nfs3_call;

struct nfs3_proc {
    const char *name;
    /* Arguments are read on wire; so are the results of hot calls written, the others by rpcgen's codecs. */
    bool (*decode)(struct wire_in *in, union nfs3_args *args);
    void (*encode)(struct wire_out *out, const union nfs3_res *res);
    bool_t (*xdr_res)(XDR *xdrs, union nfs3_res *res);
    int (*begin)(struct nfs3_call *call);
    int (*finish)(struct nfs3_call *call);
    void (*fail)(struct nfs3_call *call);           /* NULL: an error carries nothing */
    const nfs_fh3 *(*second)(const union nfs3_args *args);      /* the other handle; NULL: there is none */
    uint64_t (*payload)(const struct nfs3_call *call);          /* bytes of data that it asks to move; NULL: none */
    bool payload_in;                    /* they came with the call */
    enum nfs3_right needs;
    bool named;                         /* takes names: "not found" may mean one of them, not the handle */
    bool mounting;                      /* part of mounting: on the root of an export, without Kerberos, too */
    bool replay;                        /* a retransmission must get the first one's reply */
    uint32_t reply_bytes;               /* most that a result has, call->list_bytes and data left out */
};

/* READDIR and READDIRPLUS: how far the listing has come, and how far it may go. */
struct nfs3_listing {
    uint64_t cookie;                    /* of the last entry */
    size_t used, size;                  /* bytes of the store's entries */
    size_t told, room;                  /* bytes of the reply */
    uint32_t entries, max_entries;
};

struct nfs3_call {
    struct call rpc;                    /* first */
    const struct nfs3_proc *proc;
    uint32_t counter;                   /* of the procedure, in nfs3_stats */
    struct worker *worker;
    struct drc_call replay;             /* of procedures that are replayed */
    struct loop_message again;          /* the same call, made over another connection, is over */
    struct export_view *view;           /* keeps the exports; released with the call */
    const struct export *export;
    const struct export_rights *rights;
    const struct export_sec *sec;       /* those that depend on the flavour of the call */
    struct resolver_wait wait;          /* while the caller's name, or then his groups, are not known */
    struct delay delay;                 /* while the export's limits hold it back */
    void (*go_on)(struct delay *delay); /* throttle.c's */
    struct rate_charge charge;          /* against its limits */
    bool charged;
    struct groups_list groups_list;     /* manage_gids: what cred has; a reference */
    gid_t *more_groups;                 /* a copy of it that root_squash has changed; owned */
    struct store_cred cred;
    gid_t groups[CALL_GIDS_MAX];
    int (*step)(struct nfs3_call *call, int err);   /* what follows the operation under way */
    int refusal;                        /* -errno: answered without having asked the store */
    struct store_attr node_attr;        /* of node, while another one is looked at */
    const struct export *crossed;       /* LOOKUP: the export that what was found is the root of; NULL: still the same */
    struct store_id ids[2];
    struct store_id dirs[2];            /* where those were found, if the handles tell */
    struct store_node *node;            /* what the first handle names; a reference */
    struct store_node *other;           /* RENAME's target directory, LINK's directory; a reference */
    struct store_op op;
    union nfs3_args args;
    union nfs3_res res;

    /* What begin() leaves for finish(), and finish() for the encoding; pooled buffers are given back with the call. */
    struct store_setattr set;
    struct timespec guard;
    uint64_t verifier;                  /* WRITE: the store's, before the data went to it */
    uint8_t fh[FH_MAX];                 /* the handle of a result */
    struct pipe *pipe;                  /* READ's data, when it goes without a copy */
    struct buf *data;                   /* READ's data, READLINK's text, READDIR's entries as the store gave them, ACLs */
    const uint8_t *data_start;
    size_t data_bytes;                  /* of READ's data in the reply */
    struct buf *list;                   /* READDIR's entries, or an ACL's, as they are sent */
    struct nfs3_listing listing;        /* while the store is asked for them */
    size_t list_bytes;                  /* room that they, or READLINK's text, take in the reply */
};

/*
 * The last step of each call: err is the outcome of the operation, or why there was none. begin() may put steps of its
 * own before it, by setting call->step before it starts the operation. Returns what a step does.
 */
int nfs3_answer(struct nfs3_call *call, int err);

/* Go on with the next step, now that the operation under way has had this outcome; STORE_PENDING: it is not over. */
void nfs3_go(struct nfs3_call *call, int err);

/* The row of a procedure; NULL when there is none of that number. */
const struct nfs3_proc *nfs3_proc(uint32_t number);

/* NFS version 3, for the workers' transports. */
extern const struct program nfs3_program;

#endif
