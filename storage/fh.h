/*
 * storage/fh.h - NFS file handles: what is inside, and that nobody else can make one.
 *
 *     byte 0      version (1)
 *     byte 1      length of the store's id
 *     byte 2      length of the id of the directory that the object was found in; 0: it is not told
 *     byte 3      zero
 *     bytes 4-11  the export's id, big endian
 *     then        the store's id, and that of the directory, padded with zeros to a multiple of 4
 *     last 8      SipHash-2-4 of all before, with the server's key
 *
 * 28 bytes for ext4, 32 for tmpfs, never more than 64 (RFC 1813 2.3.3, NFS3_FHSIZE). The same object always has the same
 * bytes. A handle with one bit changed, cut short or extended does not decode.
 */
#ifndef RINGNFS_STORAGE_FH_H
#define RINGNFS_STORAGE_FH_H

#include <stddef.h>
#include <stdint.h>

#include "storage/store.h"

#define FH_MAX 64                       /* bytes of a handle */
#define FH_KEY_SIZE 16                  /* bytes of the key */

struct fh_key {
    uint8_t bytes[FH_KEY_SIZE];
};

/*
 * Write the handle of an object into out (FH_MAX bytes); returns its length. dir: where it was found, which is left out
 * when it does not fit in; NULL: not to be told. Any thread.
 */
size_t fh_encode(const struct fh_key *key, uint64_t export_id, const struct store_id *id, const struct store_id *dir,
                 uint8_t *out);

/* Take a handle apart; dir->len is 0 when it is not told. Returns 0, or -EBADMSG when we did not make it. Any thread. */
int fh_decode(const struct fh_key *key, const uint8_t *fh, size_t len, uint64_t *export_id, struct store_id *id,
              struct store_id *dir);

/* SipHash-2-4 (Aumasson, Bernstein 2012) of len bytes. Any thread. */
uint64_t siphash(const uint8_t key[16], const void *data, size_t len);

#endif
