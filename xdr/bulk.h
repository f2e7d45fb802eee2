/*
 * xdr/bulk.h - arguments of every call, and results of those that come in numbers, read and written by hand on wire.
 *
 * The types are rpcgen's (nfs3.h), but what they point to lies in the message itself: nothing is allocated, nothing has
 * to be freed, and they live as long as the message. (rpcgen's codecs would allocate what a length announces before they
 * see that it is not there.) They write the rare results and are what these are tested against. bulk_get_...() returns false when the arguments cannot be read (GARBAGE_ARGS); bytes after them are
 * allowed.
 */
#ifndef RINGNFS_XDR_BULK_H
#define RINGNFS_XDR_BULK_H

#include <stdbool.h>
#include <stddef.h>

#include "xdr/nfs3.h"
#include "xdr/wire.h"

#define BULK_REPLY_MAX 512              /* bytes of any result below, but for READDIR's and READDIRPLUS' entries and READ's data */

bool bulk_get_GETATTR3args(struct wire_in *in, GETATTR3args *args);
bool bulk_get_SETATTR3args(struct wire_in *in, SETATTR3args *args);
bool bulk_get_LOOKUP3args(struct wire_in *in, LOOKUP3args *args);
bool bulk_get_ACCESS3args(struct wire_in *in, ACCESS3args *args);
bool bulk_get_READ3args(struct wire_in *in, READ3args *args);
bool bulk_get_WRITE3args(struct wire_in *in, WRITE3args *args);
bool bulk_get_CREATE3args(struct wire_in *in, CREATE3args *args);
bool bulk_get_REMOVE3args(struct wire_in *in, REMOVE3args *args);
bool bulk_get_READDIR3args(struct wire_in *in, READDIR3args *args);
bool bulk_get_READDIRPLUS3args(struct wire_in *in, READDIRPLUS3args *args);
bool bulk_get_COMMIT3args(struct wire_in *in, COMMIT3args *args);
bool bulk_get_READLINK3args(struct wire_in *in, READLINK3args *args);
bool bulk_get_MKDIR3args(struct wire_in *in, MKDIR3args *args);
bool bulk_get_SYMLINK3args(struct wire_in *in, SYMLINK3args *args);
bool bulk_get_MKNOD3args(struct wire_in *in, MKNOD3args *args);
bool bulk_get_RMDIR3args(struct wire_in *in, RMDIR3args *args);
bool bulk_get_RENAME3args(struct wire_in *in, RENAME3args *args);
bool bulk_get_LINK3args(struct wire_in *in, LINK3args *args);
bool bulk_get_FSSTAT3args(struct wire_in *in, FSSTAT3args *args);
bool bulk_get_FSINFO3args(struct wire_in *in, FSINFO3args *args);
bool bulk_get_PATHCONF3args(struct wire_in *in, PATHCONF3args *args);

void bulk_put_GETATTR3res(struct wire_out *out, const GETATTR3res *res);
void bulk_put_SETATTR3res(struct wire_out *out, const SETATTR3res *res);
void bulk_put_LOOKUP3res(struct wire_out *out, const LOOKUP3res *res);
void bulk_put_ACCESS3res(struct wire_out *out, const ACCESS3res *res);
/* Everything up to and including the length of the data; the data itself and its padding follow from the caller. */
void bulk_put_READ3res(struct wire_out *out, const READ3res *res);
void bulk_put_WRITE3res(struct wire_out *out, const WRITE3res *res);
void bulk_put_CREATE3res(struct wire_out *out, const CREATE3res *res);
void bulk_put_REMOVE3res(struct wire_out *out, const REMOVE3res *res);
void bulk_put_READDIR3res(struct wire_out *out, const READDIR3res *res);
void bulk_put_READDIRPLUS3res(struct wire_out *out, const READDIRPLUS3res *res);
void bulk_put_COMMIT3res(struct wire_out *out, const COMMIT3res *res);

/* Encoded size in bytes of one entry of a READDIR or READDIRPLUS reply, its value_follows included. */
size_t bulk_size_entry3(const entry3 *entry);
size_t bulk_size_entryplus3(const entryplus3 *entry);

#endif
