/* rpc/conn_private.h - one stream connection: between conn_input.c, which receives, and conn.c, which does the rest. */
#ifndef RINGNFS_RPC_CONN_PRIVATE_H
#define RINGNFS_RPC_CONN_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rpc/loop.h"
#include "rpc/record.h"
#include "rpc/send_queue.h"
#include "rpc/source.h"

#define LARGE_INPUT ((size_t)320 << 10)     /* a receive buffer beyond this is for one large record */
#define STASH_BYTES ((size_t)4 << 10)       /* part of a record that is worth moving to a small buffer meanwhile */

struct conn {
    struct call_source source;
    struct loop_fd watch;
    int fd;
    struct sockaddr_storage peer, local;
    socklen_t address_len;
    bool throttled;                     /* calls or replies are at their bound, or a call holds it: nothing is cut */
    bool reading;                       /* the socket is watched for reading */
    bool blocked;                       /* ... and for writing: it took less than there was */
    bool eof;                           /* the client has sent all it will */
    bool unread;                        /* could be read, but it was not its client's turn */
    bool resetting;                     /* it is closed by a reset once what is queued has left */
    uint8_t looks;                      /* how often the loop has told of it while it waited for its turn */
    unsigned starved_times;
    uint64_t moved_bytes;               /* either way since conn_stalled() */
    uint64_t held_bytes;                /* that its client was told of */
    uint32_t held_calls;                /* likewise */

    struct record record;
    struct buf *in;
    size_t in_start, in_end;            /* received and not cut yet */
    size_t expected;                    /* length of the last record with its mark, if that was large; else 0 */

    struct send_queue out;
};

static inline struct conn *
conn_of(struct call_source *source)
{
    return (struct conn *)source;
}

static inline size_t
conn_held(const struct conn *conn)
{
    return conn->in_end - conn->in_start;
}

/* conn.c */
/* Have the loop tell of what the connection waits for now. */
void conn_watch(struct conn *conn);
/*
 * Tell its client what it holds for him: replies that he has not taken, a buffer for a large record, calls. Once a turn,
 * not for each call, since all workers share what is counted.
 */
void conn_hold(struct conn *conn);
/* Send all that the socket takes. Returns 0 or -errno when the connection is broken. */
int conn_write_out(struct conn *conn);
/* As the source's close(). */
void conn_close(struct call_source *source);

/* conn_input.c */
/* The socket can be read or written. */
void conn_ready(struct loop_fd *watch, int events);
/* As the source's resume(). */
void conn_resume(struct call_source *source);
/* Whether calls may be cut again that were not while it was full. */
bool conn_is_half_empty(const struct conn *conn);
/* Let go of input buffers that hold nothing, or too little. */
void conn_rest_input(struct conn *conn);
/* Let go of what has been received, whatever it is. */
void conn_drop_input(struct conn *conn);

#endif
