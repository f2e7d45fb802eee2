/*
 * rpc/gss_krb5.c - Kerberos 5 by the GSS-API of MIT Kerberos, for gss_mech.h.
 *
 * Messages are signed and encrypted in the caller's buffers (gss_wrap_iov() and its like). Contexts of encryption types
 * older than RFC 4121, whose headers are of no fixed size, are not accepted.
 */
#include "rpc/gss_mech.h"

#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SMALL_BYTES 8                   /* two lengths of data, to see whether what is around them is the same */
#define LARGE_BYTES (1 << 20)

struct krb5 {
    char *keytab, *principal;           /* NULL: the usual */
    gss_cred_id_t cred;                 /* the thread's that accepts, like the rest */
    OM_uint32 major, minor;             /* why there are no credentials */
    time_t tried_at;                    /* when that was seen, on the monotonic clock; 0: never */
};

static void
krb5_close(void *mech)
{
    struct krb5 *krb5 = mech;
    OM_uint32 minor;

    if (krb5 == NULL)
        return;
    gss_release_cred(&minor, &krb5->cred);
    free(krb5->keytab);
    free(krb5->principal);
    free(krb5);
}

static void *
krb5_open(const char *keytab, const char *principal)
{
    struct krb5 *krb5 = calloc(1, sizeof(*krb5));

    if (krb5 == NULL)
        return NULL;
    krb5->keytab = keytab != NULL ? strdup(keytab) : NULL;
    krb5->principal = principal != NULL ? strdup(principal) : NULL;
    if ((krb5->keytab == NULL) == (keytab == NULL) && (krb5->principal == NULL) == (principal == NULL))
        return krb5;
    krb5_close(krb5);
    return NULL;
}

/* Append what a status means. */
static void
append_status(char *text, OM_uint32 status, int type)
{
    gss_buffer_desc message = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor, more = 0;
    size_t used = strlen(text);

    if (GSS_ERROR(gss_display_status(&minor, status, type, (gss_OID)gss_mech_krb5, &more, &message)))
        return;
    snprintf(text + used, GSS_ERROR_MAX - used, "%s%.*s", used > 0 ? ": " : "", (int)message.length,
             (const char *)message.value);
    gss_release_buffer(&minor, &message);
}

static void
explain(OM_uint32 major, OM_uint32 minor, char *error)
{
    error[0] = '\0';
    append_status(error, major, GSS_C_GSS_CODE);
    if (minor != 0)
        append_status(error, minor, GSS_C_MECH_CODE);
}

static void
failed(struct gss_accepted *accepted, OM_uint32 major, OM_uint32 minor)
{
    accepted->major = major;
    accepted->minor = minor;
    explain(major, minor, accepted->error);
}

/* "nfs" and "nfs@host" are services, "nfs/host@REALM" is a principal. */
static OM_uint32
import_name(const char *principal, gss_name_t *name, OM_uint32 *minor)
{
    gss_buffer_desc text = { strlen(principal), (void *)(uintptr_t)principal };

    return gss_import_name(minor, &text, strchr(principal, '/') != NULL ? (gss_OID)GSS_KRB5_NT_PRINCIPAL_NAME
                                                                       : GSS_C_NT_HOSTBASED_SERVICE, name);
}

/* The server's own credentials. */
static OM_uint32
acquire(const struct krb5 *krb5, gss_cred_id_t *cred, OM_uint32 *minor)
{
    gss_key_value_element_desc element = { "keytab", krb5->keytab };
    gss_key_value_set_desc store = { krb5->keytab != NULL ? 1 : 0, &element };
    gss_OID_set_desc mechs = { 1, (gss_OID)gss_mech_krb5 };
    gss_name_t name = GSS_C_NO_NAME;
    OM_uint32 major = GSS_S_COMPLETE, ignored;

    if (krb5->principal != NULL)
        major = import_name(krb5->principal, &name, minor);
    if (!GSS_ERROR(major))
        major = gss_acquire_cred_from(minor, name, GSS_C_INDEFINITE, &mechs, GSS_C_ACCEPT, &store, cred, NULL, NULL);
    gss_release_name(&ignored, &name);
    return major;
}

/*
 * The same for accept(): the keytab may have come since it was looked for last. Not for every token, as each failure
 * costs memory that MIT Kerberos (1.20) does not give back.
 */
static OM_uint32
acquire_again(struct krb5 *krb5, OM_uint32 *minor)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (krb5->tried_at == 0 || now.tv_sec != krb5->tried_at) {
        krb5->tried_at = now.tv_sec;
        krb5->minor = 0;
        krb5->major = acquire(krb5, &krb5->cred, &krb5->minor);
    }
    *minor = krb5->minor;
    return krb5->major;
}

static bool
krb5_has_keys(void *mech, char *error)
{
    gss_cred_id_t cred = GSS_C_NO_CREDENTIAL;
    OM_uint32 minor = 0, major = acquire(mech, &cred, &minor), ignored;

    if (GSS_ERROR(major))
        explain(major, minor, error);
    gss_release_cred(&ignored, &cred);
    return !GSS_ERROR(major);
}

static char *
copy_text(const gss_buffer_desc *buffer)
{
    return strndup(buffer->value, buffer->length);
}

/* Who it is; false when memory is short. */
static bool
take_names(gss_name_t client, struct gss_accepted *accepted)
{
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER, local = GSS_C_EMPTY_BUFFER;
    OM_uint32 minor;
    bool taken = false;

    if (!GSS_ERROR(gss_display_name(&minor, client, &text, NULL))) {
        accepted->principal = copy_text(&text);
        taken = accepted->principal != NULL;
    }
    if (taken && !GSS_ERROR(gss_localname(&minor, client, GSS_C_NO_OID, &local))) {
        accepted->local = copy_text(&local);
        taken = accepted->local != NULL;
    }
    gss_release_buffer(&minor, &text);
    gss_release_buffer(&minor, &local);
    return taken;
}

/* What wrapping puts around so much data. */
static bool
wrap_sizes(gss_ctx_id_t security, size_t len, struct gss_sizes *sizes)
{
    gss_iov_buffer_desc iov[4] = {
        { GSS_IOV_BUFFER_TYPE_HEADER, GSS_C_EMPTY_BUFFER },
        { GSS_IOV_BUFFER_TYPE_DATA, { len, NULL } },
        { GSS_IOV_BUFFER_TYPE_PADDING, GSS_C_EMPTY_BUFFER },
        { GSS_IOV_BUFFER_TYPE_TRAILER, GSS_C_EMPTY_BUFFER },
    };
    OM_uint32 minor;

    if (GSS_ERROR(gss_wrap_iov_length(&minor, security, 1, GSS_C_QOP_DEFAULT, NULL, iov, 4)))
        return false;
    sizes->wrap_header = iov[0].buffer.length;
    sizes->wrap_trailer = iov[3].buffer.length;
    return iov[2].buffer.length == 0 && sizes->wrap_header <= GSS_WRAP_MAX && sizes->wrap_trailer <= GSS_WRAP_MAX;
}

/* False for the encryption types of old. */
static bool
take_sizes(gss_ctx_id_t security, struct gss_sizes *sizes)
{
    gss_iov_buffer_desc iov[2] = {
        { GSS_IOV_BUFFER_TYPE_DATA, { SMALL_BYTES, NULL } },
        { GSS_IOV_BUFFER_TYPE_MIC_TOKEN, GSS_C_EMPTY_BUFFER },
    };
    struct gss_sizes large;
    OM_uint32 minor;

    if (GSS_ERROR(gss_get_mic_iov_length(&minor, security, GSS_C_QOP_DEFAULT, iov, 2)))
        return false;
    sizes->mic = iov[1].buffer.length;
    return sizes->mic <= GSS_MIC_MAX && wrap_sizes(security, SMALL_BYTES, sizes) &&
           wrap_sizes(security, LARGE_BYTES, &large) && large.wrap_header == sizes->wrap_header &&
           large.wrap_trailer == sizes->wrap_trailer;
}

/* The mechanism is done: take what is to be known of the context. */
static void
complete(gss_ctx_id_t security, gss_name_t client, OM_uint32 lifetime, struct gss_accepted *accepted)
{
    if (!take_sizes(security, &accepted->sizes)) {
        failed(accepted, GSS_S_FAILURE, 0);
        snprintf(accepted->error, sizeof(accepted->error), "its encryption type is older than RFC 4121");
    } else if (!take_names(client, accepted)) {
        failed(accepted, GSS_S_FAILURE, 0);
    } else {
        accepted->complete = true;
        accepted->lifetime_s = lifetime;
    }
}

static void
krb5_accept(void *mech, void **security, const uint8_t *token, size_t len, struct gss_accepted *accepted)
{
    gss_buffer_desc in = { len, (void *)(uintptr_t)token }, out = GSS_C_EMPTY_BUFFER;
    gss_name_t client = GSS_C_NO_NAME;
    struct krb5 *krb5 = mech;
    gss_ctx_id_t context = *security;
    OM_uint32 minor = 0, lifetime = 0, major = GSS_S_COMPLETE, ignored;

    if (krb5->cred == GSS_C_NO_CREDENTIAL)
        major = acquire_again(krb5, &minor);
    if (!GSS_ERROR(major))
        major = gss_accept_sec_context(&minor, &context, krb5->cred, &in, GSS_C_NO_CHANNEL_BINDINGS, &client, NULL, &out,
                                       NULL, &lifetime, NULL);
    accepted->major = major;
    accepted->minor = minor;
    if (GSS_ERROR(major))
        failed(accepted, major, minor);
    else if (major == GSS_S_COMPLETE)
        complete(context, client, lifetime, accepted);
    if (out.length > 0) {
        accepted->token = malloc(out.length);
        accepted->token_len = accepted->token != NULL ? out.length : 0;
        if (accepted->token != NULL)
            memcpy(accepted->token, out.value, out.length);
    }
    if (GSS_ERROR(accepted->major))
        gss_delete_sec_context(&ignored, &context, GSS_C_NO_BUFFER);
    *security = context;
    gss_release_buffer(&ignored, &out);
    gss_release_name(&ignored, &client);
}

static bool
krb5_sign(void *security, const uint8_t *data, size_t len, uint8_t *mic)
{
    gss_iov_buffer_desc iov[2] = {
        { GSS_IOV_BUFFER_TYPE_DATA, { len, (void *)(uintptr_t)data } },
        { GSS_IOV_BUFFER_TYPE_MIC_TOKEN, { GSS_MIC_MAX, mic } },
    };
    OM_uint32 minor;

    return !GSS_ERROR(gss_get_mic_iov(&minor, security, GSS_C_QOP_DEFAULT, iov, 2));
}

static bool
krb5_verify(void *security, const uint8_t *data, size_t len, const uint8_t *mic, size_t mic_len)
{
    gss_iov_buffer_desc iov[2] = {
        { GSS_IOV_BUFFER_TYPE_DATA, { len, (void *)(uintptr_t)data } },
        { GSS_IOV_BUFFER_TYPE_MIC_TOKEN, { mic_len, (void *)(uintptr_t)mic } },
    };
    OM_uint32 minor;

    return !GSS_ERROR(gss_verify_mic_iov(&minor, security, NULL, iov, 2));
}

static bool
krb5_wrap(void *security, uint8_t *data, size_t len, const struct gss_sizes *sizes)
{
    gss_iov_buffer_desc iov[4] = {
        { GSS_IOV_BUFFER_TYPE_HEADER, { sizes->wrap_header, data - sizes->wrap_header } },
        { GSS_IOV_BUFFER_TYPE_DATA, { len, data } },
        { GSS_IOV_BUFFER_TYPE_PADDING, GSS_C_EMPTY_BUFFER },
        { GSS_IOV_BUFFER_TYPE_TRAILER, { sizes->wrap_trailer, data + len } },
    };
    OM_uint32 minor;
    int encrypted = 0;

    return !GSS_ERROR(gss_wrap_iov(&minor, security, 1, GSS_C_QOP_DEFAULT, &encrypted, iov, 4)) && encrypted != 0 &&
           iov[0].buffer.length == sizes->wrap_header && iov[3].buffer.length == sizes->wrap_trailer;
}

static bool
krb5_unwrap(void *security, uint8_t *token, size_t len, const uint8_t **data, size_t *data_len)
{
    gss_iov_buffer_desc iov[2] = {
        { GSS_IOV_BUFFER_TYPE_STREAM, { len, token } },
        { GSS_IOV_BUFFER_TYPE_DATA, GSS_C_EMPTY_BUFFER },
    };
    OM_uint32 minor;
    int encrypted = 0;

    if (GSS_ERROR(gss_unwrap_iov(&minor, security, &encrypted, NULL, iov, 2)) || encrypted == 0)
        return false;
    *data = iov[1].buffer.value;
    *data_len = iov[1].buffer.length;
    return true;
}

static void
krb5_release(void *security)
{
    gss_ctx_id_t context = security;
    OM_uint32 minor;

    if (context != GSS_C_NO_CONTEXT)
        gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
}

const struct gss_mech gss_krb5_mech = {
    .open = krb5_open,
    .close = krb5_close,
    .has_keys = krb5_has_keys,
    .accept = krb5_accept,
    .sign = krb5_sign,
    .verify = krb5_verify,
    .wrap = krb5_wrap,
    .unwrap = krb5_unwrap,
    .release = krb5_release,
};
