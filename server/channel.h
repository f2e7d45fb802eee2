/*
 * server/channel.h - what an old and a new server say to each other while one takes over from the other: messages with
 * descriptors over a pair of sockets (SOCK_SEQPACKET), and documents, which are sealed files in memory.
 *
 * Both sides may be of different versions of ringnfs: whatever is not exactly as expected is refused, and the old server
 * goes on. All functions: any thread.
 */
#ifndef RINGNFS_SERVER_CHANNEL_H
#define RINGNFS_SERVER_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#define CHANNEL_VERSION 2               /* of the messages, of what is in the documents, of journal and capture file */
#define CHANNEL_TEXT_MAX 1024           /* bytes of a message's text */
#define CHANNEL_FDS_MAX 200             /* descriptors of a message; the kernel's own bound is 253 */

enum channel_kind {
    CHANNEL_START = 'x',                /* to the starter: a channel, standard output and standard error */
    CHANNEL_OFFER = 'o',                /* old: a document (what it has), the control socket's lock and socket, ... */
    CHANNEL_MORE = 'm',                 /* old: ... and further descriptors, behind an offer or a state */
    CHANNEL_READY = 'r',                /* new: it could serve; text: its number as a process */
    CHANNEL_STATE = 's',                /* old: it rests; documents: replay cache (where there is one), connections */
    CHANNEL_SERVING = 'd',              /* new: it serves from now on, and the old one does not */
    CHANNEL_REFUSED = 'e'               /* either: it does not go on; text: why, one line */
};

struct channel_message {
    enum channel_kind kind;
    char text[CHANNEL_TEXT_MAX];
    int fds[CHANNEL_FDS_MAX];           /* close-on-exec; the receiver closes them, see channel_drop() */
    size_t nfds;
};

/* Never raises SIGPIPE. Returns 0 or -errno. */
int channel_send(int fd, enum channel_kind kind, const char *text, const int *fds, size_t nfds);

/* Likewise, with as many CHANNEL_MORE behind it as all descriptors take. */
int channel_send_many(int fd, enum channel_kind kind, const char *text, const int *fds, size_t nfds);

/*
 * Wait for a message. Returns 0, -EPIPE when the other side is gone, -ETIMEDOUT, or -EBADMSG for what is no message.
 * timeout_ms < 0: as long as it takes.
 */
int channel_receive(int fd, int timeout_ms, struct channel_message *message);

/* Close a message's descriptors, but for those that have been set to -1. */
void channel_drop(struct channel_message *message);

/*
 * A document with these bytes; magic: eight characters that say what it is. Returns a descriptor, which nobody can write
 * by, or -errno.
 */
int document_new(const char *magic, const void *data, size_t len);

/*
 * Read a document whole; *data is to be freed. Returns 0; -EBADMSG for one that is torn or of another kind, -EPROTO for one
 * of another version, -EFBIG for one of more than max bytes, or another -errno.
 */
int document_read(int fd, const char *magic, size_t max, void **data, size_t *len);

#endif
