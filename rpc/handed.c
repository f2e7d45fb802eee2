/* rpc/handed.c - see handed.h. */
#include "rpc/handed.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xdr/wire.h"

#define CONN_BYTES 24                   /* a connection without what has come and what has not left */
#define LIST_MIN 16

struct handed_conn *
handed_add(struct handed_list *list)
{
    size_t max = list->max == 0 ? LIST_MIN : 2 * list->max;
    struct handed_conn *grown;

    if (list->count == list->max) {
        grown = reallocarray(list->conns, max, sizeof(*grown));
        if (grown == NULL)
            return NULL;
        list->conns = grown;
        list->max = max;
    }
    list->conns[list->count] = (struct handed_conn){ .fd = -1 };
    return &list->conns[list->count++];
}

void
handed_fini(struct handed_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->conns[i].fd >= 0)
            close(list->conns[i].fd);
        free(list->conns[i].in);
        free(list->conns[i].out);
    }
    free(list->conns);
    *list = (struct handed_list){ 0 };
}

int
handed_save(const struct handed_list *list, void **data, size_t *len)
{
    struct wire_out out;
    size_t size = sizeof(uint32_t);

    for (size_t i = 0; i < list->count; i++)
        size += CONN_BYTES + wire_padded(list->conns[i].in_len) + wire_padded(list->conns[i].out_len);
    *data = malloc(size);
    if (*data == NULL)
        return -ENOMEM;
    out = (struct wire_out){ *data, (uint8_t *)*data + size, false };
    wire_put_u32(&out, (uint32_t)list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct handed_conn *conn = &list->conns[i];

        wire_put_u32(&out, conn->record.marks);
        wire_put_u32(&out, conn->record.length);
        wire_put_u32(&out, conn->record.left);
        wire_put_bool(&out, conn->record.last);
        wire_put_opaque(&out, conn->in, (uint32_t)conn->in_len);
        wire_put_opaque(&out, conn->out, (uint32_t)conn->out_len);
    }
    assert(!out.full && wire_room(&out) == 0);
    *len = size;
    return 0;
}

/* A copy of opaque bytes; nothing of none. */
static int
get_copy(struct wire_in *in, uint8_t **copy, size_t *copy_len)
{
    uint32_t len;
    const uint8_t *bytes = wire_get_opaque(in, UINT32_MAX, &len);

    if (len == 0)
        return 0;
    *copy = malloc(len);
    if (*copy == NULL)
        return -ENOMEM;
    memcpy(*copy, bytes, len);
    *copy_len = len;
    return 0;
}

int
handed_load(struct handed_list *list, const void *data, size_t len)
{
    struct wire_in in = { data, (const uint8_t *)data + len, false };
    uint32_t count = wire_get_u32(&in);
    int err = 0;

    for (uint32_t i = 0; i < count && err == 0 && !in.bad; i++) {
        struct handed_conn *conn = handed_add(list);

        if (conn == NULL)
            return -ENOMEM;
        conn->record.marks = wire_get_u32(&in);
        conn->record.length = wire_get_u32(&in);
        conn->record.left = wire_get_u32(&in);
        conn->record.last = wire_get_bool(&in);
        err = get_copy(&in, &conn->in, &conn->in_len);
        if (err == 0)
            err = get_copy(&in, &conn->out, &conn->out_len);
    }
    if (err == 0 && (in.bad || wire_left(&in) != 0))
        err = -EBADMSG;
    return err;
}
