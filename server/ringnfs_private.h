/*
 * server/ringnfs_private.h - what an embedded server is made of, and the questions that calls of ringnfs.h begin with; for
 * the files named ringnfs*.c.
 */
#ifndef RINGNFS_SERVER_RINGNFS_PRIVATE_H
#define RINGNFS_SERVER_RINGNFS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "server/ringnfs.h"
#include "server/server.h"
#include "server/settings.h"

#define RINGNFS_ADDRESSES_MAX 64
#define RINGNFS_LINES_MAX 65536         /* exports that are added before the start */
#define RINGNFS_SHOWN_MAX 256           /* bytes of a wrong word that are shown */

/* Who is to look on from the start. */
struct ringnfs_seeing {
    ringnfs_hook *hook;
    void *hook_context;
    size_t keep_calls;
};

struct ringnfs {
    struct settings settings;           /* for the start, as all up to the logger */
    char **lines;
    size_t nlines;
    struct sockaddr_storage addresses[RINGNFS_ADDRESSES_MAX];
    size_t naddresses;                  /* 0: 127.0.0.1 */
    bool driven;                        /* by the caller's loop */
    struct log log;
    struct faults *faults;
    struct ringnfs_seeing seeing;
    ringnfs_log *sink;
    void *sink_context;
    struct server *server;              /* NULL: it does not run */
    bool stopped;                       /* it has run */
    pid_t pid;                          /* of the process that has made it */
    char error[SERVER_ERROR_MAX];
};

/* Keep the reason of an error; returns err. */
int embed_fail(struct ringnfs *rig, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/*
 * May this call be made? Returns 0, -EINVAL or -EPERM: whether there is a server and it is this process's; has not been
 * started; runs; has not been stopped; whether an argument is there.
 */
int embed_check_owner(struct ringnfs *rig);
int embed_check_fresh(struct ringnfs *rig);
int embed_check_running(struct ringnfs *rig);
int embed_check_unstopped(struct ringnfs *rig);
int embed_check_text(struct ringnfs *rig, const char *text, const char *what);

/* ringnfs_loop.c: settings for a server that is driven. Returns 0, or -EINVAL when they ask for what it cannot do. */
int embed_prepare_driven(struct ringnfs *rig);

#endif
