/*
 * rpc/gss_message.h - the bytes of RPCSEC_GSS version 1 (RFC 2203), and the window of its sequence numbers.
 *
 * Bytes only; no allocation; any thread, a window by one at a time.
 */
#ifndef RINGNFS_RPC_GSS_MESSAGE_H
#define RINGNFS_RPC_GSS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSS_FLAVOR 6                    /* of credentials and verifiers (RFC 2203 section 3) */
#define GSS_MAXSEQ 0x80000000u          /* the last sequence number of a context (5.3.3.1) */
#define GSS_WINDOW 128                  /* sequence numbers below the highest one that are still taken */

/* 5.2.1 */
enum gss_proc { GSS_PROC_DATA = 0, GSS_PROC_INIT = 1, GSS_PROC_CONTINUE_INIT = 2, GSS_PROC_DESTROY = 3 };
enum gss_service { GSS_SERVICE_NONE = 1, GSS_SERVICE_INTEGRITY = 2, GSS_SERVICE_PRIVACY = 3 };

/* A credential; handle is in the message. */
struct gss_cred {
    enum gss_proc proc;
    enum gss_service service;
    uint32_t seq;
    const uint8_t *handle;
    uint32_t handle_len;
};

/* What a call's header says, as far as RPCSEC_GSS is about it; all of it is in the message. */
struct gss_header {
    struct gss_cred cred;
    const uint8_t *signed_bytes;        /* from the xid to the end of the credential, which the verifier is for (5.3.1) */
    size_t signed_len;
    const uint8_t *verifier;
    uint32_t verifier_len;
};

/* The numbers that have come: the highest one, and which of those below it. All zero: none. */
struct gss_window {
    uint32_t highest;
    bool begun;
    uint64_t seen[GSS_WINDOW / 64];     /* bit 0: the highest */
};

/* Read the body of a credential. Returns 0, or -EBADMSG for one that is none of version 1. */
int gss_message_read_cred(struct gss_cred *cred, const uint8_t *body, size_t len);

/* Whether a call with this number is to be done: it has not come before, and is not too old to know (5.3.3.1). */
bool gss_window_take(struct gss_window *window, uint32_t seq);

#endif
