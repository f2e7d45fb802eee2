/*
 * tests/lib/bulk_rows.h - a row for each type that bulk.c decodes or encodes: rpcgen's codec, which is the oracle, the
 * hand-made one, and random values.
 */
#ifndef RINGNFS_TESTS_BULK_ROWS_H
#define RINGNFS_TESTS_BULK_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/lib/bytes.h"
#include "xdr/bulk.h"

/* Every value that a row can hold; large enough for all, and aligned for all. */
union args {
    GETATTR3args getattr;
    SETATTR3args setattr;
    LOOKUP3args lookup;
    ACCESS3args access;
    READ3args read;
    WRITE3args write;
    CREATE3args create;
    REMOVE3args remove;
    READDIR3args readdir;
    READDIRPLUS3args readdirplus;
    COMMIT3args commit;
    READLINK3args readlink;
    MKDIR3args mkdir;
    SYMLINK3args symlink;
    MKNOD3args mknod;
    RMDIR3args rmdir;
    RENAME3args rename;
    LINK3args link;
    FSSTAT3args fsstat;
    FSINFO3args fsinfo;
    PATHCONF3args pathconf;
};

union res {
    GETATTR3res getattr;
    SETATTR3res setattr;
    LOOKUP3res lookup;
    ACCESS3res access;
    READ3res read;
    WRITE3res write;
    CREATE3res create;
    REMOVE3res remove;
    READDIR3res readdir;
    READDIRPLUS3res readdirplus;
    COMMIT3res commit;
};

/* The handles, names and data among arguments; NULL: these have none. */
struct args_place {
    nfs_fh3 *fh, *other_fh;
    filename3 *name, *other_name;
    nfspath3 *text;
    WRITE3args *write;
};

struct args_row {
    const char *name;
    xdrproc_t oracle;
    bool (*get)(struct wire_in *in, void *args);
    void (*make)(union args *args);     /* all but what has a place; NULL: there is nothing else */
    size_t fh_at, other_fh_at, name_at, other_name_at, text_at;         /* in union args; 0: none, but for fh_at */
    bool carries_data;
};

struct res_row {
    const char *name;
    xdrproc_t oracle;
    void (*put)(struct wire_out *out, const void *res);
    void (*make)(union res *res);
};

extern const struct args_row args_rows[];
extern const struct res_row res_rows[];
extern const size_t args_rows_count, res_rows_count;

/* Where all random values come from; a test sets it to its seed. */
extern struct bytes_random bulk_random;

bool bulk_coin(void);

/* Random arguments, results or a directory's entry; what they point to is good until the next ones are made. */
void bulk_make_args(const struct args_row *row, union args *args);
void bulk_make_res(const struct res_row *row, union res *res);
void bulk_make_entry(entryplus3 *entry);

struct args_place bulk_place(const struct args_row *row, union args *args);

#endif
