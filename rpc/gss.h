/*
 * rpc/gss.h - RPCSEC_GSS version 1 (RFC 2203): calls whose sender is proved, that nobody can change, or read, on the way.
 *
 * Contexts are made on one thread of its own, since that may block (keytab, replay cache, user database); a call that
 * makes one is parked meanwhile and goes on by a message to its loop. What each call needs - its checksum looked at, its
 * arguments decrypted, its reply signed - is done on its worker, one worker at a time in a context.
 *
 * One struct gss is shared by all workers of a server.
 */
#ifndef RINGNFS_RPC_GSS_H
#define RINGNFS_RPC_GSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/call.h"
#include "rpc/gss_mech.h"
#include "rpc/loop.h"

#define GSS_TOKEN_MAX (64 << 10)        /* bytes of a client's token */

struct gss;

/* How a context came out, for the log: principal NULL when it failed, and then error says why. */
struct gss_outcome {
    const struct sockaddr_storage *peer;
    const char *principal;
    uint32_t uid;                       /* UINT32_MAX: nobody who is known here */
    const char *error;
};

struct gss_config {
    const struct gss_mech *mech;
    const char *keytab, *principal;     /* NULL: the usual */
    uint32_t contexts;                  /* at most */
    uint32_t waiting;                   /* calls that may wait for a context at once */
    uint64_t (*now_ms)(void);           /* any thread */
    uint64_t (*hash)(const uint8_t key[16], const void *data, size_t len);
    /*
     * The ids of a user by his name on this machine. Returns 0, with UINT32_MAX for one whom nobody knows, or -errno when
     * it cannot be found out for now. May block; on the thread of the struct gss. source outlives a call that blocks.
     */
    int (*identify)(void *source, const char *local, uint32_t *uid, uint32_t *gid);
    void *source;
    void (*report)(void *context, const struct gss_outcome *outcome);       /* on the worker of the client's call */
    void *context;
};

struct gss_stats {
    uint64_t contexts;                  /* now */
    uint64_t made, refused;             /* contexts that were made, and attempts that were not */
    uint64_t evicted;                   /* contexts that made room */
    uint64_t replayed;                  /* calls that were dropped: their number had come, or is too old */
};

/* Returns 0 or -errno. */
int gss_new(const struct gss_config *config, struct gss **gss);

/*
 * Whether RPCSEC_GSS is spoken at all; at first it is not. The thread begins when it is first allowed, with the rights of
 * the caller: so this is not for a worker, which may have those of a user. One thread at a time. Returns 0 or -errno, and
 * then nothing has changed.
 */
int gss_allow(struct gss *gss, bool allowed);

/* Whether the server has keys of its own now; else error (GSS_ERROR_MAX bytes) says what is missing. May block. */
bool gss_has_keys(struct gss *gss, char *error);

/*
 * Wake up every call that waits, and let none wait any more. To be called before the loops end. NULL is fine. Any thread.
 */
void gss_stop(struct gss *gss);

/* A thread that still blocks is waited for a second, then left to end once it returns. NULL is fine. */
void gss_free(struct gss *gss);

/* Any thread. */
void gss_read_stats(struct gss *gss, struct gss_stats *stats);

/* ---- For call.c, on the call's worker; all but gss_receive() for calls that have a call->gss ---- */

/*
 * A call with an RPCSEC_GSS credential has arrived: find its context, look at its checksum, decrypt its arguments. Returns
 * true when it is to be given to its program; else it has been answered, dropped, or will be answered.
 */
bool gss_receive(struct gss *gss, struct call *call);

/* Bytes in front of the results of a reply behind the header of an accepted reply, and at most behind them. */
size_t gss_front_bytes(const struct call *call);
size_t gss_tail_bytes(const struct call *call);

/* Whether replies to this call are signed or encrypted as a whole, so that their bytes have to be in one piece. */
bool gss_protects(const struct call *call);

/* Store what is in front of results: header, verifier, room. Returns where the results begin. */
uint8_t *gss_put_front(const struct call *call, uint8_t *p);

/* The whole of an accepted reply without results; returns its end. */
uint8_t *gss_put_error(const struct call *call, uint8_t *p, enum call_accept status, uint32_t low, uint32_t high);

/* Sign or encrypt the results, which end at call->reply.p, as the whole does then. False: it cannot be sent. */
bool gss_seal_reply(struct call *call);

/* The call is over. */
void gss_call_end(struct call *call);

#endif
