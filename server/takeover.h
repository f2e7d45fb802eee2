/*
 * server/takeover.h - the new server's part in a restart; handover.h has the old one's, and the order of things.
 *
 * All functions: the thread that makes the server.
 */
#ifndef RINGNFS_SERVER_TAKEOVER_H
#define RINGNFS_SERVER_TAKEOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/drc.h"
#include "rpc/handed.h"
#include "server/exports.h"
#include "server/log.h"
#include "server/observer.h"

/* Kinds of documents. */
#define TAKEOVER_OFFER "RNFoffer"
#define TAKEOVER_CONNECTIONS "RNFconns"
#define TAKEOVER_REPLIES "RNFreply"

/* What the old server has offered. Descriptors that are used are set to -1; the rest is closed in the end. */
struct takeover {
    int channel;
    int old;                            /* a pidfd, or why there is none: -ESRCH when it was gone already */
    long pid;                           /* of the old server */
    char *state_dir;
    uint16_t nfs_port, mount_port;
    bool registered;                    /* rpcbind knows of it */
    int lock_fd, control_fd;            /* of the control socket */
    int parent;                         /* what it watches because of --parent-death; -1: nothing */
    struct observer_files files;        /* that it writes calls to; names are to be freed */
    int *sockets;                       /* that listen, and for datagrams */
    size_t nsockets;
    struct exports_source changes;      /* exports that were added and removed */
    char **strings;                     /* which these borrow from */
};

/* Take the offer; the channel is taken over, even if that fails. Returns 0 or -errno with error. */
int takeover_new(int channel, struct takeover **takeover, char *error, size_t error_size);

/*
 * Say that all is ready, and get what the old server knows, which rests from then on: what goes into the replay cache
 * (NULL: there is none), and its connections, into an empty list. An old server that has died is no error: what is known
 * of it is used. Returns 0, or -errno with error.
 */
int takeover_finish(struct takeover *takeover, struct drc *drc, struct handed_list *conns, const struct log *log,
                    char *error, size_t error_size);

/*
 * Say that this server serves from now on. Returns 0, and it has to; or -errno with error: the old one does, and this one
 * must touch nothing.
 */
int takeover_serve(struct takeover *takeover, char *error, size_t error_size);

/* Close the channel; why: what to tell the old server if it still waits, or NULL. NULL is fine. */
void takeover_free(struct takeover *takeover, const char *why);

/* Tell the old server why there will be no new one; several lines become one. */
void takeover_refuse(int channel, const char *why);

#endif
