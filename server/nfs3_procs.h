/* server/nfs3_procs.h - the functions of each procedure; the table in nfs3_procs.c is where they are used. */
#ifndef RINGNFS_SERVER_NFS3_PROCS_H
#define RINGNFS_SERVER_NFS3_PROCS_H

#include "server/nfs3_call.h"

#define NFS3_PROCEDURE(proc) \
    int proc##_begin(struct nfs3_call *call); \
    int proc##_finish(struct nfs3_call *call); \
    void proc##_fail(struct nfs3_call *call)

/* nfs3_attr.c */
int nfs3_getattr_begin(struct nfs3_call *call);
int nfs3_getattr_finish(struct nfs3_call *call);
NFS3_PROCEDURE(nfs3_setattr);
NFS3_PROCEDURE(nfs3_access);
NFS3_PROCEDURE(nfs3_readlink);

/* nfs3_name.c */
NFS3_PROCEDURE(nfs3_lookup);
NFS3_PROCEDURE(nfs3_rename);
NFS3_PROCEDURE(nfs3_link);

/* nfs3_data.c */
NFS3_PROCEDURE(nfs3_read);
NFS3_PROCEDURE(nfs3_write);
NFS3_PROCEDURE(nfs3_commit);
uint64_t nfs3_read_payload(const struct nfs3_call *call);
uint64_t nfs3_write_payload(const struct nfs3_call *call);

/* nfs3_make.c */
NFS3_PROCEDURE(nfs3_create);
NFS3_PROCEDURE(nfs3_mkdir);
NFS3_PROCEDURE(nfs3_symlink);
NFS3_PROCEDURE(nfs3_mknod);

/* nfs3_remove.c */
NFS3_PROCEDURE(nfs3_remove);
NFS3_PROCEDURE(nfs3_rmdir);

/* nfs3_dir.c */
NFS3_PROCEDURE(nfs3_readdir);
NFS3_PROCEDURE(nfs3_readdirplus);

/* nfs3_fs.c */
NFS3_PROCEDURE(nfs3_fsstat);
NFS3_PROCEDURE(nfs3_fsinfo);
NFS3_PROCEDURE(nfs3_pathconf);

#undef NFS3_PROCEDURE

#endif
