/*
 * rpc/message.h - the headers of calls and replies (RFC 5531 section 9), and the credentials of AUTH_SYS (appendix A).
 *
 * Read and stored by hand: bytes only, no allocation; any thread.
 */
#ifndef RINGNFS_RPC_MESSAGE_H
#define RINGNFS_RPC_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "rpc/call.h"

#define MESSAGE_ACCEPTED_BYTES 24       /* the header of an accepted reply, to be followed by results */
#define MESSAGE_REFUSED_MAX 32          /* the longest reply without results */
#define MESSAGE_AUTH_BODY_MAX 400       /* RFC 5531 section 8.2 */

/* What a message turns out to be. */
enum message_kind {
    MESSAGE_CALL,                       /* to be given to its program */
    MESSAGE_REPLY,                      /* not for us */
    MESSAGE_UNREADABLE,                 /* no call header, or none that could be answered */
    MESSAGE_RPC_MISMATCH,               /* another version of RPC */
    MESSAGE_AUTH_ERROR,                 /* credential or verifier refused */
    MESSAGE_GARBAGE                     /* the header ends within the credential or the verifier */
};

/*
 * Read the header of a call: xid, program, version, procedure and credential go into the call, and its arguments are
 * what follows. Of an RPCSEC_GSS call nothing is verified: its gss_header says what to look at. xid is valid except with
 * MESSAGE_UNREADABLE. With MESSAGE_AUTH_ERROR, *why says what to answer.
 */
enum message_kind message_read(struct call *call, const uint8_t *data, size_t len, enum call_auth_stat *why);

/* Store a reply's header at p and return its end: SUCCESS with an empty AUTH_NONE verifier. */
uint8_t *message_put_success(uint8_t *p, uint32_t xid);

/* An accepted reply of another status; low and high are stored for PROG_MISMATCH. */
uint8_t *message_put_error(uint8_t *p, uint32_t xid, enum call_accept status, uint32_t low, uint32_t high);

/* The header of an accepted reply to an RPCSEC_GSS call, whose verifier is a checksum (RFC 2203 5.3.3.2). */
uint8_t *message_put_verified(uint8_t *p, uint32_t xid, enum call_accept status, uint32_t low, uint32_t high,
                              const uint8_t *mic, size_t len);

/* MSG_DENIED: RPC_MISMATCH with version 2 as the only one, or AUTH_ERROR. */
uint8_t *message_put_rpc_mismatch(uint8_t *p, uint32_t xid);
uint8_t *message_put_auth_error(uint8_t *p, uint32_t xid, enum call_auth_stat why);

#endif
