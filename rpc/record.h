/*
 * rpc/record.h - record marking (RFC 5531 section 11): whole calls cut from a stream of bytes. Bytes only; any thread.
 *
 * The bytes stay where they were received. A record of one fragment is not moved; the fragments of a longer one are
 * joined in place as they arrive, so that each byte moves once.
 */
#ifndef RINGNFS_RPC_RECORD_H
#define RINGNFS_RPC_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_MARK_BYTES 4
#define RECORD_LAST 0x80000000u

/* How far one stream has been cut. */
struct record {
    uint32_t max_bytes;                 /* longest record accepted, marks not counted */
    uint32_t marks;                     /* seen of the current record; 0: it has not begun */
    uint32_t length;                    /* bytes of it joined so far */
    uint32_t left;                      /* bytes of its current fragment still to come */
    bool last;                          /* the current fragment is the last one */
};

void record_init(struct record *record, uint32_t max_bytes);

/*
 * Go on where another one was, of whose stream `held` bytes are there that were not cut. Returns false when that cannot be;
 * then the record is as after record_init().
 */
bool record_restore(struct record *record, const struct record *from, size_t held);

/*
 * Look for a whole record in data[0..*len): what has been received since the end of the last whole record. The caller
 * may move these bytes as a whole between two calls, and appends what it receives.
 *
 * Returns 1 when there is one: its *size bytes begin at data + RECORD_MARK_BYTES, and the next record *used bytes after
 * data. Returns 0 when bytes are missing; *len has then become less by the marks that were squeezed out. Returns
 * -EMSGSIZE as soon as a record is announced to be too long, or has more empty fragments than it may have bytes.
 */
int record_cut(struct record *record, uint8_t *data, size_t *len, size_t *size, size_t *used);

/* How long data[] is when the fragment announced last is complete; 0 while no record has begun. */
size_t record_extent(const struct record *record);

#endif
