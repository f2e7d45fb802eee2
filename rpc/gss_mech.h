/*
 * rpc/gss_mech.h - what RPCSEC_GSS needs of a security mechanism; gss_krb5.c has it from MIT Kerberos.
 *
 * A security context is used by one thread at a time. accept() may block (keytab, replay cache),
 * and so may has_keys(), which any thread may call; nothing else does.
 */
#ifndef RINGNFS_RPC_GSS_MECH_H
#define RINGNFS_RPC_GSS_MECH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSS_MIC_MAX 64                  /* bytes of a checksum */
#define GSS_WRAP_MAX 128                /* bytes in front of or behind what is encrypted */
#define GSS_ERROR_MAX 256               /* bytes of an error line */

/* Of a context, always the same. */
struct gss_sizes {
    size_t mic;                         /* of a checksum */
    size_t wrap_header, wrap_trailer;   /* what wrap() puts in front and behind */
};

/* What a token of the client has led to. */
struct gss_accepted {
    uint32_t major, minor;              /* of GSS-API, as the client is told (RFC 2203 5.2.3.1) */
    bool complete;                      /* the context can be used; else the client has to go on, or it has failed */
    uint8_t *token;                     /* to be sent to the client; the caller's to free, NULL for none */
    size_t token_len;
    char *principal;                    /* complete: who it is; the caller's to free, like local */
    char *local;                        /* his name on this machine; NULL: he has none */
    uint64_t lifetime_s;
    struct gss_sizes sizes;
    char error[GSS_ERROR_MAX];          /* failed: why, in one line */
};

struct gss_mech {
    /* keytab, principal: NULL for the usual. Opens nothing yet. Returns NULL when memory is short. */
    void *(*open)(const char *keytab, const char *principal);
    void (*close)(void *mech);

    /* Whether there are keys for the server's name; else error (GSS_ERROR_MAX bytes) says what is missing. May block. */
    bool (*has_keys)(void *mech, char *error);

    /* Begin a context (*security NULL) or go on with it. It is NULL again when it has failed. May block. */
    void (*accept)(void *mech, void **security, const uint8_t *token, size_t len, struct gss_accepted *accepted);

    /* Store a checksum of sizes.mic bytes. */
    bool (*sign)(void *security, const uint8_t *data, size_t len, uint8_t *mic);
    bool (*verify)(void *security, const uint8_t *data, size_t len, const uint8_t *mic, size_t mic_len);

    /* Encrypt in place; header and trailer have room around the data for what sizes say. */
    bool (*wrap)(void *security, uint8_t *data, size_t len, const struct gss_sizes *sizes);
    /* Decrypt in place; what was encrypted is then at *data. False also for what was only signed. */
    bool (*unwrap)(void *security, uint8_t *token, size_t len, const uint8_t **data, size_t *data_len);

    void (*release)(void *security);    /* NULL is fine */
};

/* Kerberos 5 (RFC 4121). */
extern const struct gss_mech gss_krb5_mech;

#endif
