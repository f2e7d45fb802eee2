/* server/principals.c - see principals.h. */
#include "server/principals.h"

#include "config.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "server/peer.h"
#include "storage/fh.h"

#define NO_ID UINT32_MAX
#define PASSWD_BYTES (16 << 10)         /* of an entry, at first */
#define PASSWD_BYTES_MAX (1 << 20)
#define WAITING_MAX 256                 /* calls that wait for a ticket to be looked at, each with a copy of it */
#define SHOWN_MAX 256                   /* bytes of a name that are shown */

static int
libc_find(void *context, const char *name, uint32_t *uid, uint32_t *gid)
{
    struct passwd entry, *found = NULL;
    size_t size = PASSWD_BYTES / 2;
    char *memory = NULL;
    int err = ERANGE;

    (void)context;
    *uid = *gid = NO_ID;
    while (err == ERANGE && size < PASSWD_BYTES_MAX) {
        size *= 2;
        free(memory);
        memory = malloc(size);
        if (memory == NULL)
            return -ENOMEM;
        do
            err = getpwnam_r(name, &entry, memory, size, &found);
        while (err == EINTR);
    }
    if (err == 0 && found != NULL) {
        *uid = found->pw_uid;
        *gid = found->pw_gid;
    }
    free(memory);
    return -err;
}

const struct principals_source principals_libc = { .find = libc_find };

#ifdef HAVE_KERBEROS

static int
find(void *context, const char *local, uint32_t *uid, uint32_t *gid)
{
    const struct principals_source *source = context;

    return source->find(source->context, local, uid, gid);
}

/* Tell what came of a caller's ticket; on a worker. */
static void
tell(void *context, const struct gss_outcome *outcome)
{
    const struct log *log = context;
    char name[SHOWN_MAX], error[GSS_ERROR_MAX];
    struct peer_text peer;

    peer_format(outcome->peer, &peer);
    if (outcome->principal == NULL) {
        log_info(log, "%s may not use Kerberos: %s", peer.text,
                 log_quote(error, sizeof(error), outcome->error, strlen(outcome->error)));
        return;
    }
    log_quote(name, sizeof(name), outcome->principal, strlen(outcome->principal));
    if (outcome->uid == NO_ID)
        log_debug(log, "%s at %s is not known here and acts as the anonymous user", name, peer.text);
    else
        log_debug(log, "%s at %s is uid %u", name, peer.text, outcome->uid);
}

static const char *
or_usual(const char *value)
{
    return value != NULL && *value != '\0' ? value : NULL;
}

int
principals_new(const struct settings *settings, const struct principals_source *source, const struct log *log,
               uint64_t (*now_ms)(void), struct gss **gss)
{
    const struct gss_config config = {
        .mech = &gss_krb5_mech,
        .keytab = or_usual(settings->krb5_keytab),
        .principal = or_usual(settings->krb5_principal),
        .contexts = settings->gss_contexts,
        .waiting = WAITING_MAX,
        .now_ms = now_ms,
        .hash = siphash,
        .identify = find,
        .source = (void *)(uintptr_t)(source != NULL ? source : &principals_libc),
        .report = tell,
        .context = (void *)(uintptr_t)log,
    };

    return gss_new(&config, gss);
}

int
principals_follow(struct gss *gss, const struct exports *set, const struct log *log)
{
    char error[GSS_ERROR_MAX], shown[GSS_ERROR_MAX];
    bool wanted = false;

    for (size_t i = 0; i < set->count; i++)
        for (size_t j = 0; j < set->list[i].nclients; j++)
            for (unsigned flavor = CALL_AUTH_KRB5; flavor <= CALL_AUTH_KRB5P; flavor++)
                wanted = wanted || export_sec_find(&set->list[i].clients[j].rights, flavor) != NULL;
    if (wanted && !gss_has_keys(gss, error))
        log_warn(log, "exports with Kerberos cannot be used yet, there are no keys for this server (krb5_keytab, "
                      "krb5_principal): %s", log_quote(shown, sizeof(shown), error, strlen(error)));
    return gss_allow(gss, wanted);
}

#else

int
principals_new(const struct settings *settings, const struct principals_source *source, const struct log *log,
               uint64_t (*now_ms)(void), struct gss **gss)
{
    (void)settings;
    (void)source;
    (void)log;
    (void)now_ms;
    *gss = NULL;
    return 0;
}

int
principals_follow(struct gss *gss, const struct exports *set, const struct log *log)
{
    (void)gss;
    (void)set;
    (void)log;
    return 0;
}

#endif
