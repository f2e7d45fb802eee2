/*
 * storage/fh.c - file handles; fh.h has the layout. The code at the end is the output of SipHash in its reference
 * byte order, little endian.
 */
#include "storage/fh.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#define FH_VERSION 1
#define FH_HEADER 12                    /* bytes before the store's id */
#define FH_MAC 8

static size_t
padded(size_t len)
{
    return (len + 3) & ~(size_t)3;
}

static uint64_t
rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void
sip_rounds(uint64_t v[4], unsigned rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[0] = rotate(v[0], 32);
        v[2] += v[3];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[2] = rotate(v[2], 32);
    }
}

/* Up to 8 bytes as a little-endian number. */
static uint64_t
little_endian(const uint8_t *bytes, size_t len)
{
    uint64_t word = 0;

    if (len > 0)
        memcpy(&word, bytes, len);
    return le64toh(word);
}

uint64_t
siphash(const uint8_t key[16], const void *data, size_t len)
{
    const uint8_t *bytes = data;
    uint64_t k0 = little_endian(key, 8);
    uint64_t k1 = little_endian(key + 8, 8);
    uint64_t v[4] = {
        k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
        k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573),
    };
    uint64_t word;
    size_t left;

    for (left = len; left >= 8; left -= 8, bytes += 8) {
        word = little_endian(bytes, 8);
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    word = (uint64_t)len << 56 | little_endian(bytes, left);
    v[3] ^= word;
    sip_rounds(v, 2);
    v[0] ^= word;
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

size_t
fh_encode(const struct fh_key *key, uint64_t export_id, const struct store_id *id, const struct store_id *dir,
          uint8_t *out)
{
    size_t dir_len = dir != NULL ? dir->len : 0;
    size_t body;
    uint64_t word;

    assert(id->len > 0 && id->len <= STORE_ID_MAX);
    if (padded(id->len + dir_len) > FH_MAX - FH_HEADER - FH_MAC)
        dir_len = 0;
    body = FH_HEADER + padded(id->len + dir_len);
    memset(out, 0, body);
    out[0] = FH_VERSION;
    out[1] = id->len;
    out[2] = (uint8_t)dir_len;
    word = htobe64(export_id);
    memcpy(out + 4, &word, sizeof(word));
    memcpy(out + FH_HEADER, id->bytes, id->len);
    if (dir_len > 0)
        memcpy(out + FH_HEADER + id->len, dir->bytes, dir_len);
    word = htole64(siphash(key->bytes, out, body));
    memcpy(out + body, &word, FH_MAC);
    return body + FH_MAC;
}

int
fh_decode(const struct fh_key *key, const uint8_t *fh, size_t len, uint64_t *export_id, struct store_id *id,
          struct store_id *dir)
{
    uint64_t mac, word;
    size_t body, i;

    if (len < FH_HEADER + FH_MAC || len > FH_MAX)
        return -EBADMSG;
    if (fh[0] != FH_VERSION || fh[1] == 0 || fh[1] > STORE_ID_MAX || fh[2] > STORE_ID_MAX || fh[3] != 0)
        return -EBADMSG;
    body = FH_HEADER + padded((size_t)fh[1] + fh[2]);
    if (len != body + FH_MAC)
        return -EBADMSG;
    for (i = FH_HEADER + (size_t)fh[1] + fh[2]; i < body; i++) {
        if (fh[i] != 0)
            return -EBADMSG;
    }
    mac = siphash(key->bytes, fh, body);
    if ((mac ^ little_endian(fh + body, FH_MAC)) != 0)  /* one comparison of words: takes the same time for any guess */
        return -EBADMSG;
    memcpy(&word, fh + 4, sizeof(word));
    *export_id = be64toh(word);
    id->len = fh[1];
    memcpy(id->bytes, fh + FH_HEADER, id->len);
    dir->len = fh[2];
    memcpy(dir->bytes, fh + FH_HEADER + id->len, dir->len);
    return 0;
}
