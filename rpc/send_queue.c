/* rpc/send_queue.c - see send_queue.h. */
#include "rpc/send_queue.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rpc/call.h"
#include "rpc/record.h"

#define CHUNK_BYTES ((size_t)64 << 10)
#define COPY_BYTES ((size_t)4 << 10)    /* lent payloads up to here are copied */
#define SEND_IOVS 256
#define SEGMENTS_MIN ((size_t)32)
#define SEGMENTS_PER_REPLY 3

/* Bytes to be sent: in a buffer, or in a pipe. */
struct send_segment {
    struct buf *buf;
    const uint8_t *data;
    size_t len;
    struct pipe *pipe;
};

static void
drop_segment(struct send_segment *segment)
{
    buf_put(segment->buf);
    if (segment->pipe != NULL)
        pipe_put(segment->pipe, segment->len);
}

void
send_queue_drop(struct send_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        drop_segment(&queue->segments[queue->first + i]);
    queue->first = queue->count = 0;
    queue->bytes = 0;
}

void
send_queue_rest(struct send_queue *queue)
{
    if (queue->count > 0)
        return;
    buf_put(queue->chunk);
    queue->chunk = NULL;
}

void
send_queue_fini(struct send_queue *queue)
{
    send_queue_drop(queue);
    send_queue_rest(queue);
    free(queue->segments);
}

/* There is no room for a reply's segments behind the last: move them to the front, or get more. */
static int
grow(struct send_queue *queue)
{
    size_t max = MAX(SEGMENTS_MIN, 2 * queue->max);
    struct send_segment *segments;

    if (queue->first > 0 && queue->count + SEGMENTS_PER_REPLY <= queue->max / 2) {
        memmove(queue->segments, queue->segments + queue->first, queue->count * sizeof(*queue->segments));
        queue->first = 0;
        return 0;
    }
    segments = realloc(queue->segments, max * sizeof(*segments));
    if (segments == NULL)
        return -ENOMEM;
    queue->segments = segments;
    queue->max = max;
    return 0;
}

uint8_t *
send_queue_space(struct send_queue *queue, struct buf_pool *buffers, size_t bytes)
{
    size_t need = RECORD_MARK_BYTES + bytes + wire_padding(1);
    struct buf *chunk;

    if (queue->first + queue->count + SEGMENTS_PER_REPLY > queue->max && grow(queue) < 0)
        return NULL;
    if (queue->chunk == NULL || queue->chunk->capacity - queue->chunk_used < need) {
        chunk = buf_get(buffers, MAX(CHUNK_BYTES, need));
        if (chunk == NULL)
            return NULL;
        buf_put(queue->chunk);
        queue->chunk = chunk;
        queue->chunk_used = 0;
    }
    return queue->chunk->data + queue->chunk_used + RECORD_MARK_BYTES;
}

/* Queue bytes; takes over no reference. */
static void
add_segment(struct send_queue *queue, struct buf *buf, const uint8_t *data, size_t len)
{
    struct send_segment *segment = &queue->segments[queue->first + queue->count];

    queue->bytes += len;
    if (queue->count > 0 && segment[-1].buf == buf && segment[-1].data + segment[-1].len == data) {
        segment[-1].len += len;
        return;
    }
    *segment = (struct send_segment){ .buf = buf_ref(buf), .data = data, .len = len };
    queue->count++;
}

/* Queue what is in a pipe; takes it over. */
static void
add_pipe(struct send_queue *queue, struct pipe *pipe, size_t len)
{
    queue->segments[queue->first + queue->count] = (struct send_segment){ .pipe = pipe, .len = len };
    queue->count++;
    queue->bytes += len;
}

void
send_queue_add(struct send_queue *queue, struct call *call)
{
    uint8_t *start = call->reply_start - RECORD_MARK_BYTES;
    size_t len = (size_t)(call->reply.p - start);
    size_t padding = wire_padding(call->payload_len);
    uint32_t mark = htobe32(RECORD_LAST | (uint32_t)(len - RECORD_MARK_BYTES + call->payload_len + padding));

    memcpy(start, &mark, sizeof(mark));
    queue->chunk_used += len;
    if (call->payload_len == 0) {
        add_segment(queue, queue->chunk, start, len);
    } else if (call->pipe == NULL && call->payload_len <= COPY_BYTES &&
               queue->chunk->capacity - queue->chunk_used >= call->payload_len + padding) {
        memcpy(start + len, call->payload_data, call->payload_len);
        memset(start + len + call->payload_len, 0, padding);
        queue->chunk_used += call->payload_len + padding;
        add_segment(queue, queue->chunk, start, len + call->payload_len + padding);
    } else {
        add_segment(queue, queue->chunk, start, len);
        if (call->pipe != NULL)
            add_pipe(queue, call->pipe, call->payload_len);
        else
            add_segment(queue, call->payload, call->payload_data, call->payload_len);
        call->pipe = NULL;
        if (padding > 0) {
            memset(start + len, 0, padding);
            queue->chunk_used += padding;
            add_segment(queue, queue->chunk, start + len, padding);
        }
    }
}

void
send_queue_trim(struct send_queue *queue, size_t bytes)
{
    queue->segments[queue->first + queue->count - 1].len -= bytes;
    queue->bytes -= bytes;
}

/* n bytes of the queue have left. */
static void
take_off(struct send_queue *queue, size_t n)
{
    queue->bytes -= n;
    while (n > 0) {
        struct send_segment *segment = &queue->segments[queue->first];

        if (n < segment->len) {
            if (segment->pipe == NULL)
                segment->data += n;
            segment->len -= n;
            return;
        }
        n -= segment->len;
        segment->len = 0;
        drop_segment(segment);
        queue->first++;
        queue->count--;
    }
    if (queue->count == 0)
        queue->first = 0;
}

/*
 * Send the stretches in memory that are first in the queue, as many as begin in the first `most` bytes; *total: how many
 * bytes they are. As sendmsg(2).
 */
static ssize_t
send_memory(const struct send_queue *queue, int fd, size_t most, size_t *total)
{
    struct iovec iov[SEND_IOVS];
    struct msghdr msg = { .msg_iov = iov };
    const struct send_segment *segment = &queue->segments[queue->first];
    const struct send_segment *end = segment + MIN(queue->count, SEND_IOVS);

    *total = 0;
    for (; segment < end && segment->pipe == NULL && *total < most; segment++) {
        iov[msg.msg_iovlen].iov_base = (void *)(uintptr_t)segment->data;
        iov[msg.msg_iovlen].iov_len = segment->len;
        msg.msg_iovlen++;
        *total += segment->len;
    }
    return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL | (segment < end ? MSG_MORE : 0));
}

/* The same with the pipe that is first. */
static ssize_t
send_pipe(const struct send_queue *queue, int fd, size_t *total)
{
    const struct send_segment *segment = &queue->segments[queue->first];

    *total = segment->len;
    return splice(segment->pipe->out, NULL, fd, NULL, segment->len,
                  SPLICE_F_NONBLOCK | (queue->count > 1 ? SPLICE_F_MORE : 0));
}

int
send_queue_write(struct send_queue *queue, int fd, size_t most, size_t *sent)
{
    size_t total;
    ssize_t n;

    *sent = 0;
    while (queue->count > 0) {
        if (*sent >= most)
            return -EAGAIN;
        if (queue->segments[queue->first].pipe != NULL)
            n = send_pipe(queue, fd, &total);
        else
            n = send_memory(queue, fd, most - *sent, &total);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EWOULDBLOCK ? -EAGAIN : -errno;
        if (n == 0)
            return -EIO;                /* a pipe with less in it than was promised */
        *sent += (size_t)n;
        take_off(queue, (size_t)n);
        if ((size_t)n < total)
            return -EAGAIN;
    }
    return 0;
}

/* What is in a segment's pipe, in a buffer instead. */
static int
empty_pipe(struct send_segment *segment, struct buf_pool *buffers)
{
    struct buf *buf = buf_get(buffers, segment->len);
    size_t have = 0;

    if (buf == NULL)
        return -ENOMEM;
    while (have < segment->len) {
        ssize_t n = read(segment->pipe->out, buf->data + have, segment->len - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            buf_put(buf);
            return -EIO;
        }
        have += (size_t)n;
    }
    pipe_put(segment->pipe, 0);
    *segment = (struct send_segment){ .buf = buf, .data = buf->data, .len = segment->len };
    return 0;
}

int
send_queue_copy(struct send_queue *queue, struct buf_pool *buffers, uint8_t **copy, size_t *len)
{
    uint8_t *to = queue->bytes > 0 ? malloc(queue->bytes) : NULL;
    size_t used = 0;
    int err = 0;

    if (queue->bytes > 0 && to == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < queue->count && err == 0; i++) {
        struct send_segment *segment = &queue->segments[queue->first + i];

        if (segment->pipe != NULL)
            err = empty_pipe(segment, buffers);
        if (err == 0)
            memcpy(to + used, segment->data, segment->len);
        used += segment->len;
    }
    if (err < 0) {
        free(to);
        return err;
    }
    *copy = to;
    *len = used;
    return 0;
}

int
send_queue_restore(struct send_queue *queue, struct buf_pool *buffers, const uint8_t *bytes, size_t len)
{
    struct buf *buf;

    if (len == 0)
        return 0;
    if (queue->first + queue->count + SEGMENTS_PER_REPLY > queue->max && grow(queue) < 0)
        return -ENOMEM;
    buf = buf_get(buffers, len);
    if (buf == NULL)
        return -ENOMEM;
    memcpy(buf->data, bytes, len);
    add_segment(queue, buf, buf->data, len);
    buf_put(buf);
    return 0;
}
