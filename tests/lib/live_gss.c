/* tests/lib/live_gss.c - see live_gss.h. */
#include "tests/lib/live_gss.h"

#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAVOR 6
#define VERSION 1
#define USERS_MAX 16
#define PATH_BYTES 256
#define MISSING 77

enum { DATA, INIT, CONTINUE_INIT, DESTROY };
enum { NONE = 1, INTEGRITY, PRIVACY };

extern char **environ;

static char realm_dir[PATH_BYTES];      /* a test program has one realm */

static const char *
realm_path(const char *name)
{
    static char path[PATH_BYTES + 64];

    snprintf(path, sizeof(path), "%s/%s", realm_dir, name);
    return path;
}

static int
find_user(void *context, const char *name, uint32_t *uid, uint32_t *gid)
{
    static const struct { const char *name; uint32_t id; } users[] = { { "alice", ALICE }, { "bob", BOB }, { "root", 0 } };

    (void)context;
    *uid = *gid = UINT32_MAX;
    for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
        if (strcmp(users[i].name, name) == 0)
            *uid = *gid = users[i].id;
    return 0;
}

const struct principals_source live_realm_principals = { .find = find_user };

static void
use_keytab(struct settings *settings)
{
    char error[256];

    if (settings_set(settings, "krb5_keytab", realm_path("keytab"), error, sizeof(error)) < 0)
        fail_msg("%s", error);
    settings->gss_contexts = 16;
}

struct live *
live_start_kerberos(struct live *srv, const struct live_options *options)
{
    struct live_options mine = *options;

    mine.tune = use_keytab;
    if (mine.principals == NULL)
        mine.principals = &live_realm_principals;
    return live_start_beside(srv, &mine);
}

/* Run tests/lib/kdc; its exit status. */
static int
run_kdc(const char *command, const char *const *users)
{
    const char *folder = getenv("RINGNFS_TESTS");
    char program[PATH_BYTES];
    char *argv[USERS_MAX + 4] = { program, (char *)command, realm_dir };
    size_t n = 3;
    int status;
    pid_t pid;

    snprintf(program, sizeof(program), "%s/lib/kdc", folder != NULL ? folder : "../tests");
    for (; users != NULL && *users != NULL && n < USERS_MAX + 3; users++)
        argv[n++] = (char *)*users;
    if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool
live_realm_begin(const char *const *users)
{
    int status;

    strcpy(realm_dir, "/tmp/ringnfs-realm-XXXXXX");
    if (mkdtemp(realm_dir) == NULL)
        return false;
    status = run_kdc("start", users);
    if (status == 0) {
        setenv("KRB5_CONFIG", realm_path("krb5.conf"), 1);
        setenv("KRB5RCACHENAME", "none:", 1);           /* another test's may have seen the same second */
        return true;
    }
    printf("left out: %s\n", status == MISSING ? "krb5kdc, kadmin.local or kinit is not installed"
                                               : "there is no Kerberos realm (tests/lib/kdc fails)");
    live_realm_end();
    return false;
}

void
live_realm_end(void)
{
    char command[PATH_BYTES + 16];

    run_kdc("stop", NULL);
    snprintf(command, sizeof(command), "rm -rf '%s'", realm_dir);
    if (system(command) != 0)
        printf("%s is left\n", realm_dir);
}

const char *
live_realm_cache(const char *user)
{
    static char cache[PATH_BYTES + 128];
    char *slash;

    snprintf(cache, sizeof(cache), "FILE:%s", realm_path(user));
    slash = strchr(cache + strlen(realm_dir) + sizeof("FILE:"), '/');
    if (slash != NULL)
        *slash = '-';
    return cache;
}

static gss_cred_id_t
credentials(const char *user)
{
    gss_key_value_element_desc element = { "ccache", live_realm_cache(user) };
    gss_key_value_set_desc store = { 1, &element };
    gss_cred_id_t cred;
    OM_uint32 minor;

    if (gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_INITIATE, &store, &cred,
                              NULL, NULL) != GSS_S_COMPLETE)
        fail_msg("%s has no ticket", user);
    return cred;
}

static gss_name_t
server_name(void)
{
    gss_buffer_desc text = { sizeof("nfs@localhost") - 1, "nfs@localhost" };
    gss_name_t name;
    OM_uint32 minor;

    assert_int_equal(gss_import_name(&minor, &text, GSS_C_NT_HOSTBASED_SERVICE, &name), GSS_S_COMPLETE);
    return name;
}

static void
put_cred(struct live_gss *gss, struct live_header *header)
{
    struct wire_out out = { header->cred, header->cred + sizeof(header->cred), false };

    wire_put_u32(&out, gss->version);
    wire_put_u32(&out, gss->proc);
    wire_put_u32(&out, gss->seq);
    wire_put_u32(&out, gss->service);
    wire_put_opaque(&out, gss->handle, gss->handle_len);
    header->cred_flavor = FLAVOR;
    header->cred_len = (uint32_t)(out.p - header->cred);
}

/* Sign the message so far, as its verifier. */
static void
put_verifier(struct live_gss *gss, struct wire_out *out, const uint8_t *message)
{
    gss_buffer_desc text = { (size_t)(out->p - message), (void *)(uintptr_t)message }, mic;
    OM_uint32 minor;

    assert_int_equal(gss_get_mic(&minor, gss->context, GSS_C_QOP_DEFAULT, &text, &mic), GSS_S_COMPLETE);
    wire_put_u32(out, FLAVOR);
    wire_put_opaque(out, mic.value, (uint32_t)mic.length);
    gss_release_buffer(&minor, &mic);
}

static void
put_integrity(struct live_gss *gss, struct wire_out *out, const gss_buffer_desc *body)
{
    gss_buffer_desc text = *body, mic;
    OM_uint32 minor;

    assert_int_equal(gss_get_mic(&minor, gss->context, GSS_C_QOP_DEFAULT, &text, &mic), GSS_S_COMPLETE);
    wire_put_opaque(out, body->value, (uint32_t)body->length);
    wire_put_opaque(out, mic.value, (uint32_t)mic.length);
    gss_release_buffer(&minor, &mic);
}

static void
put_privacy(struct live_gss *gss, struct wire_out *out, const gss_buffer_desc *body)
{
    gss_buffer_desc text = *body, token;
    OM_uint32 minor;
    int encrypted;

    assert_int_equal(gss_wrap(&minor, gss->context, 1, GSS_C_QOP_DEFAULT, &text, &encrypted, &token), GSS_S_COMPLETE);
    assert_true(encrypted);
    wire_put_opaque(out, token.value, (uint32_t)token.length);
    gss_release_buffer(&minor, &token);
}

/* The number and the arguments; freed by the caller. */
static gss_buffer_desc
make_body(struct live_gss *gss, xdrproc_t codec, const void *args, size_t size)
{
    gss_buffer_desc body = { 4, malloc(size) };
    uint32_t seq = htobe32(gss->seq + gss->body_seq);
    XDR xdrs;

    assert_non_null(body.value);
    memcpy(body.value, &seq, 4);
    if (codec == NULL)
        return body;
    xdrmem_create(&xdrs, (char *)body.value + 4, (u_int)size - 4, XDR_ENCODE);
    assert_true(codec(&xdrs, (void *)args));
    body.length += xdr_getpos(&xdrs);
    return body;
}

static size_t
make_call(struct live_security *security, struct live *srv, uint8_t *message, size_t size, uint32_t prog, uint32_t vers,
          uint32_t proc, xdrproc_t codec, const void *args)
{
    struct live_gss *gss = (struct live_gss *)security;
    struct wire_out out = { message, message + size, false };
    struct live_header *header = live_keep(srv, sizeof(*header));
    gss_buffer_desc body;

    gss->seq++;
    live_make_header(srv, header, prog, vers, proc);
    put_cred(gss, header);
    live_put_header(&out, header);
    out.p -= 4 + 4 + wire_padded(header->verf_len);      /* the verifier is another one */
    put_verifier(gss, &out, message);
    body = make_body(gss, codec, args, size / 2);
    if (gss->service == NONE)
        wire_put_fixed(&out, (uint8_t *)body.value + 4, body.length - 4);
    else if (gss->service == INTEGRITY)
        put_integrity(gss, &out, &body);
    else
        put_privacy(gss, &out, &body);
    free(body.value);
    assert_false(out.full);
    return (size_t)(out.p - message);
}

/* Whether the verifier of a reply is a checksum over a number. */
static bool
is_verified(struct live_gss *gss, uint32_t number, const uint8_t *mic, uint32_t mic_len)
{
    uint32_t text = htobe32(number);
    gss_buffer_desc data = { 4, &text }, checksum = { mic_len, (void *)(uintptr_t)mic };
    OM_uint32 minor;

    return gss_verify_mic(&minor, gss->context, &data, &checksum, NULL) == GSS_S_COMPLETE;
}

static void
take_integrity(struct live_gss *gss, struct wire_in *results)
{
    gss_buffer_desc body = { 0 }, mic = { 0 };
    OM_uint32 minor;
    uint32_t len;

    body.value = (void *)(uintptr_t)wire_get_opaque(results, UINT32_MAX - 3, &len);
    body.length = len;
    mic.value = (void *)(uintptr_t)wire_get_opaque(results, UINT32_MAX - 3, &len);
    mic.length = len;
    assert_true(!results->bad && results->p == results->end);
    assert_int_equal(gss_verify_mic(&minor, gss->context, &body, &mic, NULL), GSS_S_COMPLETE);
    *results = (struct wire_in){ body.value, (uint8_t *)body.value + body.length, false };
}

static void
take_privacy(struct live_gss *gss, struct wire_in *results)
{
    gss_buffer_desc token, body;
    uint8_t *place = (uint8_t *)(uintptr_t)results->p;
    OM_uint32 minor;
    int encrypted = 0;
    uint32_t len;

    token.value = (void *)(uintptr_t)wire_get_opaque(results, UINT32_MAX - 3, &len);
    token.length = len;
    assert_true(!results->bad && results->p == results->end);
    assert_int_equal(gss_unwrap(&minor, gss->context, &token, &body, &encrypted, NULL), GSS_S_COMPLETE);
    assert_true(encrypted);
    memcpy(place, body.value, body.length);              /* over the longer token */
    *results = (struct wire_in){ place, place + body.length, false };
    gss_release_buffer(&minor, &body);
}

static int
take_reply(struct live_security *security, struct live_conn *conn, const uint8_t *reply, size_t len, uint32_t *xid,
           struct wire_in *results)
{
    struct live_gss *gss = (struct live_gss *)security;
    struct wire_in header = { reply, reply + len, false };
    int outcome = live_parse_reply(conn, reply, len, xid, results);
    uint32_t mic_len;
    const uint8_t *mic;

    wire_get_u32(&header);
    wire_get_u32(&header);
    if (wire_get_u32(&header) != 0 || outcome < 0)       /* denied */
        return outcome;
    assert_int_equal(wire_get_u32(&header), FLAVOR);
    mic = wire_get_opaque(&header, 400, &mic_len);
    assert_true(is_verified(gss, gss->seq, mic, mic_len));
    if (outcome != LIVE_SUCCESS || gss->service == NONE || gss->proc != DATA)
        return outcome;
    if (gss->service == INTEGRITY)
        take_integrity(gss, results);
    else
        take_privacy(gss, results);
    assert_int_equal(wire_get_u32(results), gss->seq);
    return outcome;
}

/* One call with a token, and its answer: the outcome; gss has the handle and so on, *token the next one from the server. */
static int
exchange(struct live *srv, struct live_conn *conn, struct live_gss *gss, const gss_buffer_desc *sent,
         gss_buffer_desc *token, const uint8_t **mic, uint32_t *mic_len)
{
    struct wire_out out = { srv->message, srv->message + LIVE_MESSAGE_MAX, false };
    struct live_header *header = live_keep(srv, sizeof(*header));
    struct wire_in results, verifier;
    const uint8_t *reply, *handle;
    uint32_t xid, len;
    ssize_t received;
    int outcome;

    live_make_header(srv, header, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL);
    put_cred(gss, header);
    live_put_header(&out, header);
    wire_put_opaque(&out, sent->value, (uint32_t)sent->length);
    if (!live_send_message(conn, srv->message, (size_t)(out.p - srv->message)))
        return LIVE_CLOSED;
    received = live_receive(srv, conn, LIVE_WAIT_MS, &reply);
    if (received < 0)
        return (int)received;
    outcome = live_parse_reply(conn, reply, (size_t)received, &xid, &results);
    assert_int_equal(xid, header->xid);
    if (outcome != LIVE_SUCCESS)
        return outcome;
    verifier = (struct wire_in){ reply + 12, reply + received, false };
    *mic_len = 0;
    if (wire_get_u32(&verifier) == FLAVOR)
        *mic = wire_get_opaque(&verifier, 400, mic_len);
    handle = wire_get_opaque(&results, sizeof(gss->handle), &gss->handle_len);
    gss->major = wire_get_u32(&results);
    gss->minor = wire_get_u32(&results);
    gss->window = wire_get_u32(&results);
    token->value = (void *)(uintptr_t)wire_get_opaque(&results, UINT32_MAX - 3, &len);
    token->length = len;
    assert_true(!results.bad && results.p == results.end);
    memcpy(gss->handle, handle, gss->handle_len);
    return outcome;
}

int
live_gss_try(struct live *srv, struct live_conn *conn, struct live_gss *gss, const char *user, uint32_t service,
             OM_uint32 flags, void (*spoil)(uint8_t *token, uint32_t *len))
{
    gss_cred_id_t cred = credentials(user);
    gss_name_t name = server_name();
    gss_buffer_desc sent = GSS_C_EMPTY_BUFFER, got = GSS_C_EMPTY_BUFFER;
    OM_uint32 major = GSS_S_CONTINUE_NEEDED, minor;
    const uint8_t *mic = NULL;
    uint32_t mic_len = 0, len;
    int outcome = LIVE_SUCCESS;

    *gss = (struct live_gss){ .security = { make_call, take_reply }, .version = VERSION, .proc = INIT, .service = service };
    while (outcome == LIVE_SUCCESS && !GSS_ERROR(gss->major)) {
        major = gss_init_sec_context(&minor, cred, &gss->context, name, (gss_OID)gss_mech_krb5, GSS_C_MUTUAL_FLAG | flags,
                                     0, GSS_C_NO_CHANNEL_BINDINGS, &got, NULL, &sent, NULL, NULL);
        assert_false(GSS_ERROR(major));
        if (sent.length == 0)
            break;
        len = (uint32_t)sent.length;
        if (spoil != NULL)
            spoil(sent.value, &len);
        outcome = exchange(srv, conn, gss, &(gss_buffer_desc){ len, sent.value }, &got, &mic, &mic_len);
        gss_release_buffer(&minor, &sent);
        gss->proc = CONTINUE_INIT;
        if (major == GSS_S_COMPLETE && got.length == 0)
            break;
    }
    gss_release_name(&minor, &name);
    gss_release_cred(&minor, &cred);
    if (outcome != LIVE_SUCCESS || GSS_ERROR(gss->major))
        return outcome;
    assert_int_equal(major, GSS_S_COMPLETE);
    assert_int_equal(gss->major, GSS_S_COMPLETE);
    assert_true(is_verified(gss, gss->window, mic, mic_len));
    gss->proc = DATA;
    return outcome;
}

void
live_gss_begin(struct live *srv, struct live_conn *conn, struct live_gss *gss, const char *user, uint32_t service)
{
    assert_int_equal(live_gss_try(srv, conn, gss, user, service, 0, NULL), LIVE_SUCCESS);
    assert_int_equal(gss->major, GSS_S_COMPLETE);
}

void
live_gss_end(struct live_gss *gss)
{
    OM_uint32 minor;

    gss_delete_sec_context(&minor, &gss->context, GSS_C_NO_BUFFER);
}

int
live_gss_destroy(struct live *srv, struct live_conn *conn, struct live_gss *gss)
{
    struct live_security *before = srv->security;
    int outcome;

    gss->proc = DESTROY;
    srv->security = &gss->security;
    outcome = live_call(srv, conn, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL, NULL, NULL, NULL, NULL);
    srv->security = before;
    gss->proc = DATA;
    return outcome;
}
