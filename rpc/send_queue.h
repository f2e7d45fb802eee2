/*
 * rpc/send_queue.h - the replies of one connection that wait to be sent.
 *
 * Replies are stored one after the other in a chunk; the queue is a list of stretches of chunks, of lent payloads and of
 * pipes, in the order in which they leave. Belongs to one connection, on its worker's thread. All zero is an empty queue.
 */
#ifndef RINGNFS_RPC_SEND_QUEUE_H
#define RINGNFS_RPC_SEND_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/buf.h"

struct call;
struct send_segment;

struct send_queue {
    struct buf *chunk;                  /* NULL, or where the next reply is stored */
    size_t chunk_used;
    struct send_segment *segments;
    size_t first, count, max;           /* segments: gone before, in the queue, and that there is room for */
    uint64_t bytes;                     /* in the queue */
};

static inline bool
send_queue_is_empty(const struct send_queue *queue)
{
    return queue->count == 0;
}

/*
 * Room for so many bytes of a reply, with a record mark before and padding behind; valid until the reply is added or room
 * is asked for again. NULL when memory is short.
 */
uint8_t *send_queue_space(struct send_queue *queue, struct buf_pool *buffers, size_t bytes);

/*
 * Queue the reply that was stored at the last send_queue_space(), as one record, with the call's payload: of a buffer a
 * reference is taken, a pipe is taken over.
 */
void send_queue_add(struct send_queue *queue, struct call *call);

/* Take the last bytes of a reply that was just added, and that is no longer than that, off again. */
void send_queue_trim(struct send_queue *queue, size_t bytes);

/*
 * Send what the socket takes, but no further reply or piece of one once `most` bytes have left; *sent: how many did, failure
 * or not. Returns 0, -EAGAIN when there is more, or -errno when the connection is broken.
 */
int send_queue_write(struct send_queue *queue, int fd, size_t most, size_t *sent);

/*
 * Copy all that is queued; what is in pipes is moved to memory for that. *copy is to be freed, NULL when there is nothing.
 * Returns 0 or -errno; the queue is as good as before, unless a pipe had less in it than was promised (-EIO).
 */
int send_queue_copy(struct send_queue *queue, struct buf_pool *buffers, uint8_t **copy, size_t *len);

/* Queue bytes as they are. Returns 0 or -ENOMEM. */
int send_queue_restore(struct send_queue *queue, struct buf_pool *buffers, const uint8_t *bytes, size_t len);

/* Let go of an empty queue's chunk. No reply may be begun. */
void send_queue_rest(struct send_queue *queue);

/* Nothing of it will be sent; the chunk stays, since a reply may be begun. */
void send_queue_drop(struct send_queue *queue);

void send_queue_fini(struct send_queue *queue);

#endif
