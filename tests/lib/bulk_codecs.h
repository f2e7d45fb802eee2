/* tests/lib/bulk_codecs.h - the codecs of xdr/bulk.h as functions of one type each: get_READ3args(), put_READ3res(). */
#ifndef RINGNFS_TESTS_BULK_CODECS_H
#define RINGNFS_TESTS_BULK_CODECS_H

#include "xdr/bulk.h"

#define GETTER(type) \
    static inline bool \
    get_##type(struct wire_in *in, void *args) \
    { \
        return bulk_get_##type(in, args); \
    }
GETTER(GETATTR3args)
GETTER(SETATTR3args)
GETTER(LOOKUP3args)
GETTER(ACCESS3args)
GETTER(READ3args)
GETTER(WRITE3args)
GETTER(CREATE3args)
GETTER(REMOVE3args)
GETTER(READDIR3args)
GETTER(READDIRPLUS3args)
GETTER(COMMIT3args)
GETTER(READLINK3args)
GETTER(MKDIR3args)
GETTER(SYMLINK3args)
GETTER(MKNOD3args)
GETTER(RMDIR3args)
GETTER(RENAME3args)
GETTER(LINK3args)
GETTER(FSSTAT3args)
GETTER(FSINFO3args)
GETTER(PATHCONF3args)

#define PUTTER(type) \
    static inline void \
    put_##type(struct wire_out *out, const void *res) \
    { \
        bulk_put_##type(out, res); \
    }
PUTTER(GETATTR3res)
PUTTER(SETATTR3res)
PUTTER(LOOKUP3res)
PUTTER(ACCESS3res)
PUTTER(WRITE3res)
PUTTER(CREATE3res)
PUTTER(REMOVE3res)
PUTTER(READDIR3res)
PUTTER(READDIRPLUS3res)
PUTTER(COMMIT3res)

#undef GETTER
#undef PUTTER

/* The caller of bulk_put_READ3res() adds the data. */
static inline void
put_READ3res(struct wire_out *out, const void *value)
{
    const READ3res *res = value;

    bulk_put_READ3res(out, res);
    if (res->status == NFS3_OK)
        wire_put_fixed(out, res->READ3res_u.resok.data.data_val, res->READ3res_u.resok.data.data_len);
}

#endif
