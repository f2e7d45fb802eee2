/* server/channel.c - see channel.h. */
#include "server/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/fh.h"
#include "xdr/wire.h"

#define MAGIC_BYTES 8
#define HEAD_BYTES 32                   /* magic, version, a word of zero, length and digest of what follows */

/* A digest that finds what chance has torn; whoever wants to deceive has the channel anyway. */
static const uint8_t digest_key[16] = "ringnfs document";

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
};

int
channel_send(int fd, enum channel_kind kind, const char *text, const int *fds, size_t nfds)
{
    char letter = (char)kind;
    struct iovec iov[] = { { &letter, 1 }, { (void *)(uintptr_t)text, strnlen(text, CHANNEL_TEXT_MAX - 1) } };
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
    union control control;

    if (nfds > 0) {
        memset(&control, 0, sizeof(control));
        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE(nfds * sizeof(*fds));
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(nfds * sizeof(*fds));
        memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(*fds));
    }
    while (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            return errno == ECONNRESET ? -EPIPE : -errno;
    return 0;
}

int
channel_send_many(int fd, enum channel_kind kind, const char *text, const int *fds, size_t nfds)
{
    int err;

    do {
        size_t now = MIN(nfds, CHANNEL_FDS_MAX);

        err = channel_send(fd, kind, text, fds, now);
        kind = CHANNEL_MORE;
        text = "";
        fds += now;
        nfds -= now;
    } while (err == 0 && nfds > 0);
    return err;
}

static int
wait_readable(int fd, int timeout_ms)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    int n;

    do
        n = poll(&ready, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0;
}

static void
take_fds(struct msghdr *msg, struct channel_message *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        message->nfds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(message->fds, CMSG_DATA(c), message->nfds * sizeof(int));
    }
}

int
channel_receive(int fd, int timeout_ms, struct channel_message *message)
{
    char letter = 0;
    struct iovec iov[] = { { &letter, 1 }, { message->text, CHANNEL_TEXT_MAX - 1 } };
    union control control;
    struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof(control) };
    int err = wait_readable(fd, timeout_ms), resets = 0;
    ssize_t n;

    message->nfds = 0;
    if (err < 0)
        return err;
    do                                  /* a side that goes with messages unread is told of before what it has said last */
        n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
    if (n <= 0)
        return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
    take_fds(&msg, message);
    message->kind = (enum channel_kind)letter;
    message->text[n - 1] = '\0';
    if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0)
        return 0;
    channel_drop(message);
    return -EBADMSG;
}

void
channel_drop(struct channel_message *message)
{
    for (size_t i = 0; i < message->nfds; i++)
        if (message->fds[i] >= 0)
            close(message->fds[i]);
    message->nfds = 0;
}

static int
write_all(int fd, const void *data, size_t len)
{
    const uint8_t *bytes = data;

    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static void
make_head(uint8_t head[HEAD_BYTES], const char *magic, const void *data, size_t len)
{
    struct wire_out out = { head, head + HEAD_BYTES, false };

    wire_put_fixed(&out, magic, MAGIC_BYTES);
    wire_put_u32(&out, CHANNEL_VERSION);
    wire_put_u32(&out, 0);
    wire_put_u64(&out, len);
    wire_put_u64(&out, siphash(digest_key, data, len));
}

int
document_new(const char *magic, const void *data, size_t len)
{
    int fd = memfd_create("ringnfs", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;
    uint8_t head[HEAD_BYTES];

    if (fd < 0)
        return -errno;
    make_head(head, magic, data, len);
    err = write_all(fd, head, sizeof(head));
    if (err == 0)
        err = write_all(fd, data, len);
    if (err == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        err = -errno;
    if (err == 0)
        return fd;
    close(fd);
    return err;
}

static int
read_at(int fd, void *data, size_t len, off_t offset)
{
    while (len > 0) {
        ssize_t n = pread(fd, data, len, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        data = (uint8_t *)data + n;
        offset += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Its kind and version first, so that the reason is the right one. */
static int
check_head(const uint8_t found[HEAD_BYTES], const char *magic)
{
    struct wire_in in = { found, found + HEAD_BYTES, false };

    if (memcmp(wire_get_bytes(&in, MAGIC_BYTES), magic, MAGIC_BYTES) != 0)
        return -EBADMSG;
    return wire_get_u32(&in) == CHANNEL_VERSION ? 0 : -EPROTO;
}

int
document_read(int fd, const char *magic, size_t max, void **data, size_t *len)
{
    uint8_t found[HEAD_BYTES], right[HEAD_BYTES];
    struct stat st;
    int err = fstat(fd, &st) < 0 ? -errno : read_at(fd, found, sizeof(found), 0);

    if (err == 0)
        err = check_head(found, magic);
    if (err == 0 && (uint64_t)st.st_size > (uint64_t)max + HEAD_BYTES)
        err = -EFBIG;
    if (err < 0)
        return err;
    *len = (size_t)st.st_size - HEAD_BYTES;
    *data = malloc(*len + 1);
    if (*data == NULL)
        return -ENOMEM;
    err = read_at(fd, *data, *len, HEAD_BYTES);
    if (err == 0) {
        make_head(right, magic, *data, *len);
        err = memcmp(found, right, sizeof(right)) == 0 ? 0 : -EBADMSG;
    }
    if (err < 0)
        free(*data);
    return err;
}
