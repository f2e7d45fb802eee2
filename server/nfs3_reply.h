/* server/nfs3_reply.h - the parts that many results have in common, and those that many calls have. */
#ifndef RINGNFS_SERVER_NFS3_REPLY_H
#define RINGNFS_SERVER_NFS3_REPLY_H

#include "server/nfs3_call.h"

/* fattr3 (RFC 1813 2.6). attr is present. */
void nfs3_fattr(const struct nfs3_call *call, const struct store_attr *attr, fattr3 *out);

/* post_op_attr: attributes where there are any; of an object of the call's export, or of that one. */
void nfs3_post_op(const struct nfs3_call *call, const struct store_attr *attr, post_op_attr *out);
void nfs3_post_op_of(const struct export *export, const struct store_attr *attr, post_op_attr *out);

/* wcc_data: attributes before and after, where there are any. */
void nfs3_wcc(const struct nfs3_call *call, const struct store_wcc *wcc, wcc_data *out);

/*
 * The handle of what lies in the directory that the call is about, with these attributes, or of an export's root. fh has
 * FH_MAX bytes and stays with out.
 */
void nfs3_handle(const struct nfs3_call *call, const struct store_id *id, const struct store_attr *attr, uint8_t *fh,
                 nfs_fh3 *out);
void nfs3_root_handle(const struct nfs3_call *call, const struct export *export, uint8_t *fh, nfs_fh3 *out);

/* post_op_fh3 of op->child: the handle of what was made, where the store knows it. */
void nfs3_child_handle(struct nfs3_call *call, post_op_fh3 *out);

/*
 * What a client wants set (sattr3). Returns 0, -EINVAL for nanoseconds that are none, -EFBIG for a size that no file
 * can have.
 */
int nfs3_sattr(const sattr3 *in, struct store_setattr *out);

/*
 * Whether a name may be given to the store (RFC 1813 3.2): -EACCES when it is empty or has '/' or NUL inside,
 * -ENAMETOOLONG, and dot_err for "." and ".." (0: they are fine).
 */
int nfs3_check_name(const filename3 *name, int dot_err);

/* 0 when the call's first node is a directory, else -ENOTDIR. */
int nfs3_check_dir(const struct nfs3_call *call);

/* The type of the call's first node, as S_IFMT has it. */
mode_t nfs3_node_type(const struct nfs3_call *call);

/* Whether nothing may be changed through the export: it is read-only itself, or the file system below is. */
bool nfs3_read_only(const struct export *export, const struct export_sec *sec);

/* Largest data of one READ, WRITE and listing for this call, in bytes. */
uint32_t nfs3_rtmax(const struct nfs3_call *call);
uint32_t nfs3_wtmax(const struct nfs3_call *call);
uint32_t nfs3_dtpref(const struct nfs3_call *call);

#endif
