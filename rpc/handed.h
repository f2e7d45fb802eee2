/*
 * rpc/handed.h - connections on their way to another process, which goes on with them: bytes that have come and are not
 * cut into calls yet, bytes of replies that have not left, and how far the record that is incomplete has been joined.
 */
#ifndef RINGNFS_RPC_HANDED_H
#define RINGNFS_RPC_HANDED_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/record.h"

struct handed_conn {
    int fd;                             /* owned; -1: whoever took the connection over has it */
    struct record record;               /* max_bytes does not count */
    uint8_t *in, *out;                  /* owned; NULL when there are none */
    size_t in_len, out_len;
};

struct handed_list {
    struct handed_conn *conns;
    size_t count, max;
};

/* Room for one more, all zero and without a descriptor; NULL when memory is short. */
struct handed_conn *handed_add(struct handed_list *list);

/* Close and free everything that is still there. */
void handed_fini(struct handed_list *list);

/* All but the descriptors, as bytes to be freed. Returns 0 or -ENOMEM. */
int handed_save(const struct handed_list *list, void **data, size_t *len);

/*
 * What was saved, without descriptors, into an empty list. Returns 0, -EBADMSG for bytes that are not exactly what
 * handed_save() makes, or -ENOMEM; the list is to be given to handed_fini() in all cases.
 */
int handed_load(struct handed_list *list, const void *data, size_t len);

#endif
