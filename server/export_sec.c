/* server/export_sec.c - see export_sec.h. */
#include "config.h"

#include "server/export_sec.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "server/log.h"

#define SHOWN_MAX 96                                     /* bytes of a wrong word that are shown */

/* The words of sec=; the first one for a flavour is how it is shown. */
static const struct {
    const char *word;
    enum call_flavor flavor;
} flavor_words[] = {
    { "sys", CALL_AUTH_SYS }, { "none", CALL_AUTH_NONE }, { "krb5", CALL_AUTH_KRB5 }, { "krb5i", CALL_AUTH_KRB5I },
    { "krb5p", CALL_AUTH_KRB5P }, { "unix", CALL_AUTH_SYS }, { "null", CALL_AUTH_NONE },
};

#define FLAVOR_WORDS (sizeof(flavor_words) / sizeof(*flavor_words))

static const char *
flavor_word(enum call_flavor flavor)
{
    size_t i = 0;

    while (flavor_words[i].flavor != flavor)
        i++;
    return flavor_words[i].word;
}

/* Whether Kerberos was there when this was built. */
static bool
has_kerberos(void)
{
#ifdef HAVE_KERBEROS
    return true;
#else
    return false;
#endif
}

static int
read_flavor(const char *word, size_t len, enum call_flavor *flavor, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    size_t i;

    log_quote(shown, sizeof(shown), word, len);
    for (i = 0; i < FLAVOR_WORDS; i++)
        if (strlen(flavor_words[i].word) == len && memcmp(flavor_words[i].word, word, len) == 0)
            break;
    if (i == FLAVOR_WORDS) {
        snprintf(error, error_size, "sec: %s is not a security flavour (sys, none, krb5, krb5i or krb5p, with colons "
                                    "between them)", len == 0 ? "an empty word" : shown);
        return -EINVAL;
    }
    *flavor = flavor_words[i].flavor;
    if (*flavor < CALL_AUTH_KRB5 || has_kerberos())
        return 0;
    snprintf(error, error_size, "sec: %s: this build has no Kerberos (it was configured without the GSS-API of MIT "
                                "Kerberos)", shown);
    return -EINVAL;
}

/* Have options that follow be for this flavour, which is accepted from now on. */
static void
open_flavor(struct export_rights *rights, enum call_flavor flavor)
{
    unsigned i;

    for (i = 0; i < rights->nsec && rights->sec[i].flavor != flavor; i++)
        continue;
    if (i == rights->nsec) {
        rights->sec[i] = rights->usual;
        rights->sec[i].flavor = flavor;
        rights->nsec++;
    }
    rights->sec_open |= 1u << i;
}

int
export_sec_read(struct export_rights *rights, const char *value, char *error, size_t error_size)
{
    enum call_flavor flavor;
    size_t len;
    int err;

    rights->sec_open = 0;
    for (;; value += len + 1) {
        len = strcspn(value, ":");
        err = read_flavor(value, len, &flavor, error, error_size);
        if (err < 0)
            return err;
        open_flavor(rights, flavor);
        if (value[len] == '\0')
            return 0;
    }
}

void
export_sec_set_flag(struct export_rights *rights, size_t offset, bool flag)
{
    unsigned i;

    if (rights->sec_open == 0)
        memcpy((char *)&rights->usual + offset, &flag, sizeof(flag));
    for (i = 0; i < rights->nsec; i++)
        if (rights->sec_open == 0 || (rights->sec_open & 1u << i) != 0)
            memcpy((char *)&rights->sec[i] + offset, &flag, sizeof(flag));
}

const struct export_sec *
export_sec_find(const struct export_rights *rights, enum call_flavor flavor)
{
    unsigned i;

    if (rights->nsec == 0)
        return flavor == rights->usual.flavor ? &rights->usual : NULL;
    for (i = 0; i < rights->nsec; i++)
        if (rights->sec[i].flavor == flavor)
            return &rights->sec[i];
    return NULL;
}

size_t
export_sec_list(const struct export_rights *rights, enum call_flavor flavors[EXPORT_FLAVORS_MAX])
{
    size_t count = 0;
    unsigned i;

    for (i = 0; i < rights->nsec; i++)
        if (rights->sec[i].flavor != CALL_AUTH_NONE)
            flavors[count++] = rights->sec[i].flavor;
    if (count == 0)
        flavors[count++] = rights->nsec == 0 ? rights->usual.flavor : CALL_AUTH_NONE;
    return count;
}

static bool
same_flags(const struct export_sec *a, const struct export_sec *b)
{
    return a->read_only == b->read_only && a->root_squash == b->root_squash && a->all_squash == b->all_squash;
}

bool
export_sec_same(const struct export_rights *a, const struct export_rights *b)
{
    const struct export_sec *one, *other;
    unsigned i;

    if (a->nsec != b->nsec)
        return false;
    for (i = 0; i < MAX(a->nsec, 1); i++) {
        one = a->nsec == 0 ? &a->usual : &a->sec[i];
        other = b->nsec == 0 ? &b->usual : &b->sec[i];
        if (one->flavor != other->flavor || !same_flags(one, other))
            return false;
    }
    return true;
}

void
export_sec_print(FILE *out, const struct export_rights *rights)
{
    unsigned i;

    if (rights->nsec == 0)
        fprintf(out, "%s", flavor_word(rights->usual.flavor));
    for (i = 0; i < rights->nsec; i++)
        fprintf(out, "%s%s", i > 0 ? ":" : "", flavor_word(rights->sec[i].flavor));
}

unsigned
export_sec_group(const struct export_rights *rights, unsigned from, struct export_rights *group)
{
    *group = *rights;
    if (rights->nsec == 0)
        return 0;
    group->usual = rights->sec[from];
    for (group->nsec = 0; from < rights->nsec && same_flags(&rights->sec[from], &group->usual); from++)
        group->sec[group->nsec++] = rights->sec[from];
    return from;
}
