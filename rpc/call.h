/*
 * rpc/call.h - one call from its arrival to its reply.
 *
 * The transport makes a call when a whole message has arrived, reads its header (message.h), finds its program
 * (program.h) and hands it over. The program then owns it until it calls one of call_reply_...(), call_drop() - at once
 * or later, in any order among calls, but on the same thread. What the arguments point to and what call_alloc() gave
 * lives until then. A connection that closes meanwhile does not free the call: its reply is dropped in silence.
 */
#ifndef RINGNFS_RPC_CALL_H
#define RINGNFS_RPC_CALL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rpc/buf.h"
#include "rpc/gss_message.h"
#include "rpc/pipe.h"
#include "xdr/wire.h"

struct call_fault;
struct gss_call;
struct transport;
struct program;

/* RFC 5531 section 8.2, and for Kerberos the pseudo flavours of RFC 2623 section 2.1. */
enum call_flavor {
    CALL_AUTH_NONE = 0,
    CALL_AUTH_SYS = 1,
    CALL_AUTH_GSS = 6,                  /* RPCSEC_GSS (RFC 2203), before it is known which of the next three it is */
    CALL_AUTH_KRB5 = 390003,            /* who calls is proved */
    CALL_AUTH_KRB5I = 390004,           /* and that nobody changed anything on the way, */
    CALL_AUTH_KRB5P = 390005            /* and nobody could read it */
};
#define CALL_GIDS_MAX 16                /* RFC 5531 appendix A: gids<16> */

struct call_auth {
    enum call_flavor flavor;
    uint32_t uid;                       /* not with AUTH_NONE, like gid; with Kerberos UINT32_MAX: nobody known here */
    uint32_t gid;
    uint64_t principal;                 /* Kerberos: a digest of the caller's name, the same over all his contexts */
    uint32_t ngids;                     /* AUTH_SYS only, like the rest */
    uint32_t gids[CALL_GIDS_MAX];
    const uint8_t *machine;             /* in the request; not NUL-terminated */
    uint32_t machine_len;
};

/* RFC 5531 section 9: accept_stat. */
enum call_accept {
    CALL_SUCCESS = 0, CALL_PROG_UNAVAIL = 1, CALL_PROG_MISMATCH = 2, CALL_PROC_UNAVAIL = 3, CALL_GARBAGE_ARGS = 4,
    CALL_SYSTEM_ERR = 5
};

/* RFC 5531 section 9: auth_stat. */
enum call_auth_stat {
    CALL_AUTH_OK = 0, CALL_AUTH_BADCRED = 1, CALL_AUTH_REJECTEDCRED = 2, CALL_AUTH_BADVERF = 3,
    CALL_AUTH_REJECTEDVERF = 4, CALL_AUTH_TOOWEAK = 5,
    CALL_AUTH_CREDPROBLEM = 13, CALL_AUTH_CTXPROBLEM = 14       /* RPCSEC_GSS */
};

/* Where a call came from and its reply goes to: a connection or a datagram socket. */
struct call_source;

struct call {
    struct call *next;                  /* call.c's */
    struct transport *transport;
    struct call_source *source;
    uint32_t xid, prog, vers, proc;
    struct call_auth auth;
    struct wire_in args;                /* the arguments, not decoded yet */
    bool stream;                        /* TCP: a reply may be longer than a datagram */
    struct sockaddr_storage peer;       /* the caller's address and port */
    struct sockaddr_storage local;      /* the address that he called */

    /* call.c's */
    struct buf *request;
    struct buf *arena;
    size_t arena_used;
    struct wire_out reply;
    uint8_t *reply_start;
    uint8_t *results;                   /* of the reply: where they begin */
    struct gss_header gss_header;       /* CALL_AUTH_GSS: as it came */
    struct gss_call *gss;               /* gss.c's; NULL: the call is not of RPCSEC_GSS */
    struct buf *payload;
    const uint8_t *payload_data;
    size_t payload_len;
    struct pipe *pipe;                  /* the payload, in place of payload_data */
    size_t expected;                    /* call_expect() */
    bool watched;                       /* the tap is told when it ends (tap.h) */
    bool replayed;                      /* its program gives the reply of an earlier copy; for the tap */
    const uint8_t *args_start;          /* if watched: args as they came, */
    uint64_t began_ns;                  /* when that was, CLOCK_MONOTONIC, */
    uint64_t tap_mark;                  /* and what the tap has noted */
    bool holds;                         /* call_hold() */
    void (*go_on)(struct call *call);   /* call_yield() */
    struct call_fault *fault;           /* what is to go wrong (fault.h); NULL: nothing */
    _Alignas(16) uint8_t small[1024];   /* the arena's first bytes */
};

/* Memory that lives as long as the call, aligned to 16; NULL when the server's memory bound is reached. */
void *call_alloc(struct call *call, size_t size);

/*
 * The call holds, or its reply will hold, about so many bytes. They count towards reply_bytes_per_conn until it ends, so
 * a connection with much under way is not read further.
 */
void call_expect(struct call *call, size_t bytes);

/*
 * As long as a call holds its connection, no further calls are read from it; let go with false, or when the call ends. A
 * datagram socket, which others use as well, is read nevertheless.
 */
void call_hold(struct call *call, bool hold);

/*
 * Let others have their turn: go_on(call) runs in one of its client's next ones (turns.h), never from in here. For what
 * takes long on the worker's thread.
 */
void call_yield(struct call *call, void (*go_on)(struct call *call));

/*
 * Begin the reply of a call that succeeded (accept_stat SUCCESS): the header is stored, and the result has room for
 * max_bytes of results. NULL when memory is short (then use call_drop()) or, over UDP, when max_bytes can never fit.
 */
struct wire_out *call_reply_begin(struct call *call, size_t max_bytes);

/*
 * Let the reply end with len bytes at data inside buf (and padding) after what has been stored; the transport takes a
 * reference and does not copy them, unless they are few. At most once per reply.
 */
void call_reply_lend(struct call *call, struct buf *buf, const uint8_t *data, size_t len);

/*
 * The same with len bytes that are in a pipe, which is the transport's from then on. Over a stream only, at most once and
 * not together with call_reply_lend().
 */
void call_reply_lend_pipe(struct call *call, struct pipe *pipe, size_t len);

/* Send the reply that was begun, and end the call. A writer that ran full becomes SYSTEM_ERR. */
void call_reply_end(struct call *call);

/* Answer with an accept_stat other than SUCCESS, and end the call. low and high: for PROG_MISMATCH only. */
void call_reply_error(struct call *call, enum call_accept status, uint32_t low, uint32_t high);

/* Answer MSG_DENIED AUTH_ERROR, and end the call. */
void call_reply_auth_error(struct call *call, enum call_auth_stat status);

/* Answer MSG_DENIED RPC_MISMATCH, and end the call. */
void call_reply_rpc_mismatch(struct call *call);

/* End the call without an answer. */
void call_drop(struct call *call);

/*
 * The reply is signed or encrypted as a whole, somebody looks at it (tap.h), or something is done to it on its way
 * (fault.h): its bytes have to be stored, and call_reply_lend() and call_reply_lend_pipe() cannot be used.
 */
bool call_reply_is_sealed(const struct call *call);

/* How many bytes of results a reply to this call may have, READ payload included. */
size_t call_reply_max(const struct call *call);

/* The caller's port, in host order. */
uint16_t call_peer_port(const struct call *call);

#endif
