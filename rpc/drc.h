/*
 * rpc/drc.h - the duplicate request cache: a call that is sent again gets the first one's reply and is not done again.
 *
 * A call is the same when it comes from the same address and port, over the same protocol, from the same user, and has
 * the same xid, program, version, procedure and arguments. What is kept are the results, as the first call's reply had
 * them: what is in front of them follows from the xid.
 *
 * The table is of a fixed size, shared by all workers and split into parts with a lock each. When it is full, the
 * oldest reply makes room; a call that runs is never pushed out. Calls that carry data have at most half of it where
 * others want it too, so that writing a large file does not push out what is known of names. Any thread.
 */
#ifndef RINGNFS_RPC_DRC_H
#define RINGNFS_RPC_DRC_H

#include <stddef.h>
#include <stdint.h>

#include "xdr/wire.h"

#define DRC_REPLY_MAX 312               /* bytes of results; longer ones are not kept. CREATE has 280 at most */
#define DRC_KEEP_MS 120000              /* how long a reply is good for after it was last sent */

struct call;
struct drc;
struct drc_entry;

struct drc_config {
    size_t entries;                     /* > 0 */
    uint64_t (*hash)(const uint8_t key[16], const void *data, size_t len);     /* nobody guesses it without the key */
    uint64_t (*now_ms)(void);
};

/* Compared and hashed as bytes, so there is no padding in it. */
struct drc_key {
    uint8_t address[16];
    uint64_t digest;                    /* of the arguments, or of their beginning when they are long */
    uint32_t scope;
    uint32_t xid, prog, vers, proc;
    uint32_t args_bytes;
    uint32_t flavor, uid, gid;          /* Kerberos: a digest of the caller's name in place of the ids */
    uint16_t port;
    uint8_t family;
    uint8_t stream;
};

/* One call as the cache sees it; embedded in whatever the call is part of, and valid as long as that. */
struct drc_call {
    struct drc_key key;
    uint64_t place;
    const void *origin;                 /* the connection or datagram socket */
    /*
     * The same call, which was running, is over: ask again. Called on the other call's thread, without locks. NULL: do
     * not wait.
     */
    void (*ready)(struct drc_call *call);
    struct drc_entry *entry;            /* not NULL: to be ended with drc_keep() or drc_forget() */
    struct drc_call *next;              /* drc.c's */
};

struct drc_reply {
    uint8_t results[DRC_REPLY_MAX];
    size_t len;
};

enum drc_verdict {
    DRC_NEW,                            /* do it, then drc_keep() or drc_forget() if there is an entry */
    DRC_DONE,                           /* it was done before; the reply is there */
    DRC_RUNNING,                        /* it is being done, and the reply will go where this one came from: drop it */
    DRC_WAIT                            /* it is being done for another connection: ready() will be called */
};

struct drc_stats {
    uint64_t hits;                      /* answered from the cache */
    uint64_t misses;                    /* new calls */
    uint64_t dropped;                   /* the same call was running */
    uint64_t waited;                    /* likewise, for another connection */
    uint64_t evicted;                   /* replies that made room before their time */
    uint64_t unkept;                    /* new calls that found no room, since all of it was held by calls that ran */
};

/* Returns 0 or -errno. */
int drc_new(const struct drc_config *config, struct drc **drc);

/* No call is running or waiting. NULL is fine. */
void drc_free(struct drc *drc);

/* Fill in what identifies a call; args: all of its arguments. The caller sets ready. */
void drc_identify(const struct drc *drc, const struct call *call, struct wire_in args, struct drc_call *out);

/* Has this call been made before? reply is filled in with DRC_DONE only. */
enum drc_verdict drc_begin(struct drc *drc, struct drc_call *call, struct drc_reply *reply);

/* A new call was done: keep its results. With results that are too long the same as drc_forget(). */
void drc_keep(struct drc *drc, struct drc_call *call, const uint8_t *results, size_t len);

/* A new call was not done, or is worth being tried again: if it is sent again, it is new. */
void drc_forget(struct drc *drc, struct drc_call *call);

/* Forget all replies, as at a restart; calls that run are kept when they end. */
void drc_clear(struct drc *drc);

void drc_read_stats(const struct drc *drc, struct drc_stats *stats);

/*
 * All replies that are still good, with the key of the digests, for drc_load() of the process that goes on with the calls
 * of this one's clients. *data is to be freed. Nothing is changed. Returns 0, -EBUSY while a call runs, or -ENOMEM.
 */
int drc_save(struct drc *drc, void **data, size_t *len);

/*
 * Know what was saved; where there is less room than there was, the oldest replies are left out. For a cache that has not
 * been asked yet. Returns 0, or -EBADMSG for bytes that are not exactly what drc_save() makes: then nothing was taken.
 */
int drc_load(struct drc *drc, const void *data, size_t len);

#endif
