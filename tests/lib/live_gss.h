/*
 * tests/lib/live_gss.h - a client of RPCSEC_GSS (RFC 2203) by hand, over the plain calls of GSS-API (gss_wrap() and its
 * like), which the server does not use; and a Kerberos realm to be one in.
 *
 * While srv->security is set, live_call() and all that is built on it go through it. A reply whose checksum is wrong, or
 * whose results are not protected as they should be, fails the test.
 */
#ifndef RINGNFS_TESTS_LIB_LIVE_GSS_H
#define RINGNFS_TESTS_LIB_LIVE_GSS_H

#include <gssapi/gssapi.h>

#include "tests/lib/live.h"

/*
 * Begin a realm with these users (NULL-terminated; a principal with an instance is a user, too), and have this process be
 * in it. Once, before the first server. Returns false, and says why, where there are no programs for it.
 */
bool live_realm_begin(const char *const *users);
void live_realm_end(void);

/* Where a user's ticket is: a ticket cache's name, until the next call. */
const char *live_realm_cache(const char *user);

#define ALICE 1000                      /* the uid and gid of alice; bob's are one more, root's are 0 */
#define BOB 1001

/*
 * A server like this one beside it that has the realm's keys. Of its users it knows alice, bob and root; options may say
 * otherwise, but for tune.
 */
struct live *live_start_kerberos(struct live *srv, const struct live_options *options);

/* The users that are known. */
extern const struct principals_source live_realm_principals;

struct live_gss {
    struct live_security security;      /* first */
    gss_ctx_id_t context;
    uint32_t version, proc, service, seq;       /* of the next call; seq goes up by itself */
    uint32_t body_seq;                  /* added to the number in the body: not 0 makes it wrong */
    uint8_t handle[64];
    uint32_t handle_len;
    uint32_t window;
    uint32_t major, minor;              /* of the last attempt to make the context */
};

/* Make a context as a user, for calls of this service (1: none, 2: integrity, 3: privacy). It must come about. */
void live_gss_begin(struct live *srv, struct live_conn *conn, struct live_gss *gss, const char *user, uint32_t service);

/*
 * The same with further flags of GSS-API; may fail: the outcome is that of the last call, and gss->major is the server's.
 * spoil, if not NULL, changes a token on its way.
 */
int live_gss_try(struct live *srv, struct live_conn *conn, struct live_gss *gss, const char *user, uint32_t service,
                 OM_uint32 flags, void (*spoil)(uint8_t *token, uint32_t *len));

/* Forget the context, without a word to the server. */
void live_gss_end(struct live_gss *gss);

/* A call of RPCSEC_GSS_DESTROY; its outcome. */
int live_gss_destroy(struct live *srv, struct live_conn *conn, struct live_gss *gss);

#endif
