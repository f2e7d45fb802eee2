/* server/fault_parse.c - rules of faults read from text; see fault_rule.h. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "server/access.h"
#include "server/fault_words.h"
#include "server/log.h"
#include "server/nfs3_stats.h"
#include "server/text.h"

#define SHOWN_MAX 96                    /* bytes of a wrong word that are shown */
#define HINT_MAX 64
#define BILLION 1000000000u
#define BYTES_MAX ((uint64_t)INT64_MAX)
#define TRANSFER_MAX UINT32_MAX

static const char prefix[] = "NFS3ERR_";

static int wrong(char *error, size_t error_size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns -EINVAL. */
static int
wrong(char *error, size_t error_size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, error_size, format, args);
    va_end(args);
    return -EINVAL;
}

static const char *
show(char shown[SHOWN_MAX], const char *text)
{
    return log_quote(shown, SHOWN_MAX, text, strlen(text));
}

static int
parse_number(const char *value, uint64_t min, uint64_t max, uint64_t *number, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];

    if (text_number(value, number) == 0 && *number >= min && *number <= max)
        return 0;
    return wrong(error, error_size, "%s is no number from %llu to %llu", show(shown, value), (unsigned long long)min,
                 (unsigned long long)max);
}

/* Keep a copy of a word, with its octal escapes undone. */
static int
keep(char **out, const char *value, char *error, size_t error_size)
{
    *out = strdup(value);
    if (*out == NULL) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    text_unescape(*out);
    return 0;
}

/* The bits of all procedures of a name. */
static uint64_t
procs_named(const char *name)
{
    uint64_t procs = 0;

    for (int proc = 0; proc < FAULT_PROCS; proc++)
        if (strcasecmp(fault_proc_name((size_t)proc), name) == 0)
            procs |= UINT64_C(1) << proc;
    return procs;
}

int
fault_parse_proc(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    char *names = strdup(value), *at = names, *name, shown[SHOWN_MAX], hint[HINT_MAX];
    uint64_t procs = 0, more = 1;

    if (names == NULL) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    while (more != 0 && (name = strsep(&at, ",")) != NULL) {
        more = procs_named(name);
        procs |= more;
        if (more == 0)
            wrong(error, error_size, "unknown procedure %s%s", show(shown, name),
                  text_suggest(hint, sizeof(hint), name, fault_proc_name));
    }
    free(names);
    rule->procs = procs;
    return more != 0 ? 0 : -EINVAL;
}

int
fault_parse_client(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    struct export_client clients[ACCESS_CLIENTS_MAX];
    char reason[SHOWN_MAX * 2], shown[SHOWN_MAX];
    size_t count = 0;

    memset(clients, 0, sizeof(clients));
    if (access_parse(value, clients, &count, reason, sizeof(reason)) < 0 || count != 1 ||
        (clients[0].match != MATCH_ADDRESS && clients[0].match != MATCH_NETWORK))
        return wrong(error, error_size, "%s is neither an address nor a network such as 192.0.2.0/24", show(shown, value));
    if (clients[0].match == MATCH_ADDRESS)
        clients[0].prefix = clients[0].address.bits;
    clients[0].match = MATCH_NETWORK;
    rule->client = clients[0];
    rule->has_client = true;
    return 0;
}

int
fault_parse_over(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];

    rule->tcp = strcmp(value, "tcp") == 0;
    rule->udp = strcmp(value, "udp") == 0;
    return rule->tcp || rule->udp ? 0 : wrong(error, error_size, "%s is neither tcp nor udp", show(shown, value));
}

/* An absolute path without "." and "..", whose slashes at the end go. */
static int
keep_path(char **out, const char *value, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    size_t len;
    int err = keep(out, value, error, error_size);

    if (err < 0)
        return err;
    if (**out != '/')
        return wrong(error, error_size, "%s does not begin with a slash", show(shown, value));
    for (len = strlen(*out); len > 1 && (*out)[len - 1] == '/'; len--)
        (*out)[len - 1] = '\0';
    for (const char *p = *out + 1; *p != '\0'; p += *p == '/') {
        size_t name_len = strcspn(p, "/");

        if (name_len == 0 || (name_len == 1 && p[0] == '.') || (name_len == 2 && strncmp(p, "..", 2) == 0))
            return wrong(error, error_size, "%s has an empty name, \".\" or \"..\" in it", show(shown, value));
        if (name_len > STORE_NAME_MAX)
            return wrong(error, error_size, "%s has a name of more than %d bytes in it", show(shown, value),
                         STORE_NAME_MAX);
        p += name_len;
    }
    return 0;
}

int
fault_parse_export(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    static const char memory[] = "memory:";

    return keep_path(&rule->export, strncmp(value, memory, sizeof(memory) - 1) == 0 ? value + sizeof(memory) - 1 : value,
                     error, error_size);
}

int
fault_parse_path(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    return keep_path(&rule->path, value, error, error_size);
}

int
fault_parse_name(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    int err = keep(&rule->name, value, error, error_size);

    if (err == 0 && (*rule->name == '\0' || strchr(rule->name, '/') != NULL))
        return wrong(error, error_size, "\"%s\" is no pattern for names: they are not empty, and have no slash in them",
                     show(shown, value));
    return err;
}

static int
digit_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = c != '\0' ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return found != NULL ? (int)(found - digits) : -1;
}

int
fault_parse_handle(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    size_t len = strlen(value);
    char shown[SHOWN_MAX];

    if (len == 0 || len % 2 != 0 || len > 2 * FH_MAX || strspn(value, "0123456789abcdefABCDEF") != len)
        return wrong(error, error_size, "%s is no handle of up to %d bytes in hexadecimal digits", show(shown, value),
                     FH_MAX);
    for (size_t i = 0; i < len / 2; i++)
        rule->handle[i] = (uint8_t)(digit_of(value[2 * i]) << 4 | digit_of(value[2 * i + 1]));
    rule->handle_len = (uint32_t)(len / 2);
    return 0;
}

int
fault_parse_nth(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    return parse_number(value, 1, INT64_MAX, &rule->nth, error, error_size);
}

int
fault_parse_times(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    return parse_number(value, 1, INT64_MAX, &rule->times, error, error_size);
}

int
fault_parse_seed(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    return parse_number(value, 0, UINT64_MAX, &rule->seed, error, error_size);
}

/* Decimal digits, of which so many behind a point count: the number times 10^places. */
static bool
parse_decimal(const char *text, size_t len, unsigned places, uint64_t *number)
{
    const char *end = text + len, *point = memchr(text, '.', len);

    *number = 0;
    if (len == 0 || len > 12 || (point != NULL && (size_t)(end - point - 1) > places))
        return false;
    for (; text < end; text++) {
        if (text == point)
            continue;
        if (!isdigit((unsigned char)*text))
            return false;
        *number = *number * 10 + (uint64_t)(*text - '0');
    }
    for (size_t n = point != NULL ? (size_t)(end - point - 1) : 0; n < places; n++)
        *number *= 10;
    return true;
}

/* Not by strtod(3), to which a point is none in many languages. */
int
fault_parse_probability(struct fault_rule *rule, const char *value, char *error, size_t error_size)
{
    size_t len = strlen(value);
    bool percent = len > 0 && value[len - 1] == '%';
    char shown[SHOWN_MAX];
    uint64_t billionths;

    if (!parse_decimal(value, len - percent, percent ? 7 : 9, &billionths) || billionths == 0 || billionths > BILLION)
        return wrong(error, error_size, "%s is no probability: more than 0 and up to 1, or up to 100%%",
                     show(shown, value));
    rule->billionths = (uint32_t)billionths;
    return 0;
}

static int
parse_time(const char *value, uint64_t *ns, char *error, size_t error_size)
{
    static const struct { const char *unit; uint64_t ns; } units[] = {
        { "us", 1000 }, { "ms", 1000000 }, { "s", BILLION }
    };
    size_t len = strspn(value, "0123456789");
    char shown[SHOWN_MAX];
    uint64_t number;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(value + len, units[i].unit) != 0 || !parse_decimal(value, len, 0, &number))
            continue;
        *ns = number * units[i].ns;
        if (number > 0 && *ns <= FAULT_DELAY_MAX_S * (uint64_t)BILLION)
            return 0;
    }
    return wrong(error, error_size, "%s is no time: a number and us, ms or s, one hour at most", show(shown, value));
}

/* Statuses as RFC 1813 calls them, with what all have in front; some places have none. */
static const char *
status_name(size_t place)
{
    const char *name = nfs3_stats_status((unsigned)place);

    if (place >= NFS3_STATS_PLACES)
        return NULL;
    return name != NULL && place != NFS3_OK ? name + sizeof(prefix) - 1 : "";
}

static int
parse_status(const char *value, uint64_t *status, char *error, size_t error_size)
{
    const char *name = strncasecmp(value, prefix, sizeof(prefix) - 1) == 0 ? value + sizeof(prefix) - 1 : value;
    char shown[SHOWN_MAX], hint[HINT_MAX];

    for (unsigned place = 0; place < NFS3_STATS_PLACES && *name != '\0'; place++) {
        if (strcasecmp(name, status_name(place)) != 0)
            continue;
        *status = place <= NFS3ERR_REMOTE ? place : place - (NFS3ERR_REMOTE + 1) + NFS3ERR_BADHANDLE;
        return 0;
    }
    return wrong(error, error_size, "%s is no error of RFC 1813, such as JUKEBOX or NFS3ERR_IO%s", show(shown, value),
                 text_suggest(hint, sizeof(hint), name, status_name));
}

static int
parse_bytes(const char *value, uint64_t max, uint64_t *bytes, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];

    if (text_size(value, bytes) == 0 && *bytes <= max)
        return 0;
    return wrong(error, error_size, "%s is no number of bytes, such as 512 or 64K, up to %llu", show(shown, value),
                 (unsigned long long)max);
}

/* value NULL: there is none. */
static int
parse_deed(struct fault_rule *rule, const struct fault_deed *deed, const char *value, char *error, size_t error_size)
{
    rule->action = deed->action;
    rule->place = deed->place;
    rule->value = UINT64_MAX;
    if (value == NULL && (deed->value == FAULT_VALUE_NONE || deed->value == FAULT_VALUE_SOME))
        return 0;
    if (value == NULL)
        return wrong(error, error_size, "%s needs a value: %s=%s", deed->name, deed->name, deed->argument);
    switch (deed->value) {
    case FAULT_VALUE_NONE:
        return wrong(error, error_size, "%s takes no value", deed->name);
    case FAULT_VALUE_TIME:
        return parse_time(value, &rule->value, error, error_size);
    case FAULT_VALUE_STATUS:
        return parse_status(value, &rule->value, error, error_size);
    case FAULT_VALUE_SIZE:
    case FAULT_VALUE_SOME:
        return parse_bytes(value, deed->action == FAULT_FULL ? BYTES_MAX : TRANSFER_MAX, &rule->value, error, error_size);
    }
    return -EINVAL;
}

static const char *
condition_name(size_t i)
{
    return i < fault_conditions_rows ? fault_conditions[i].name : NULL;
}

static const char *
deed_name(size_t i)
{
    return i < fault_deeds_rows ? fault_deeds[i].name : NULL;
}

/* A rule on its way in. */
struct reading {
    struct fault_rule *rule;
    const struct fault_deed *deed;
    uint32_t given;                     /* conditions, by their rows */
};

static size_t
find_row(const char *word, const char *(*name)(size_t i))
{
    size_t i;

    for (i = 0; name(i) != NULL && strcmp(name(i), word) != 0; i++)
        continue;
    return i;
}

static int
read_condition(struct reading *reading, char *word, char *error, size_t error_size)
{
    char *value = strchr(word, '='), shown[SHOWN_MAX], hint[HINT_MAX];
    size_t row;

    if (value != NULL)
        *value++ = '\0';
    row = find_row(word, condition_name);
    if (row == fault_conditions_rows && find_row(word, deed_name) < fault_deeds_rows)
        return wrong(error, error_size, "%s is an action: \"do\" comes before it", word);
    if (row == fault_conditions_rows)
        return wrong(error, error_size, "unknown condition %s%s", show(shown, word),
                     text_suggest(hint, sizeof(hint), word, condition_name));
    if (value == NULL || *value == '\0')
        return wrong(error, error_size, "%s needs a value: %s=%s", word, word, fault_conditions[row].argument);
    if ((reading->given & 1u << row) != 0)
        return wrong(error, error_size, "%s is there twice", word);
    reading->given |= 1u << row;
    return fault_conditions[row].parse(reading->rule, value, error, error_size);
}

static int
read_deed(struct reading *reading, char *word, char *error, size_t error_size)
{
    char *value = strchr(word, '='), shown[SHOWN_MAX], hint[HINT_MAX];
    size_t row;

    if (reading->deed != NULL)
        return wrong(error, error_size, "a rule does one thing: what is %s for?", show(shown, word));
    if (value != NULL)
        *value++ = '\0';
    row = find_row(word, deed_name);
    if (row == fault_deeds_rows && find_row(word, condition_name) < fault_conditions_rows)
        return wrong(error, error_size, "%s is a condition: it goes before \"do\"", word);
    if (row == fault_deeds_rows)
        return wrong(error, error_size, "unknown action %s%s", show(shown, word),
                     text_suggest(hint, sizeof(hint), word, deed_name));
    reading->deed = &fault_deeds[row];
    return parse_deed(reading->rule, reading->deed, value, error, error_size);
}

static int
read_words(struct reading *reading, char *text, char *error, size_t error_size)
{
    enum { BEFORE, IN_WHEN, IN_DO } where = BEFORE;
    char *at = text, *word, reason[SHOWN_MAX * 4], shown[SHOWN_MAX];
    int err;

    while ((word = strsep(&at, " \t")) != NULL) {
        if (*word == '\0')
            continue;
        if (where == BEFORE && strcmp(word, "when") == 0) {
            where = IN_WHEN;
            continue;
        }
        if (where != IN_DO && strcmp(word, "do") == 0) {
            where = IN_DO;
            continue;
        }
        if (where == BEFORE)
            err = wrong(reason, sizeof(reason), "a rule begins with \"when\" or \"do\", not with %s", show(shown, word));
        else if (where == IN_WHEN)
            err = read_condition(reading, word, reason, sizeof(reason));
        else
            err = read_deed(reading, word, reason, sizeof(reason));
        if (err < 0) {
            snprintf(error, error_size, "column %zu: %s", (size_t)(word - text) + 1, reason);
            return err;
        }
    }
    if (where == IN_WHEN && reading->given == 0)
        return wrong(error, error_size, "there is no condition behind \"when\"");
    if (reading->deed == NULL)
        return wrong(error, error_size, where == IN_DO ? "there is no action behind \"do\""
                                                       : "there is no \"do ACTION\" in it");
    return 0;
}

/* "WRITE, COMMIT": procedures of a set, as far as there is room. */
static const char *
list_procs(uint64_t procs, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int proc = 0; proc < FAULT_PROCS && used < size; proc++)
        if ((procs & UINT64_C(1) << proc) != 0)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", fault_proc_name((size_t)proc));
    return out;
}

/* Leave those procedures of the rule that some part of it makes sense for; an error when there are none. */
static int
narrow(struct fault_rule *rule, uint64_t procs, const char *part, char *error, size_t error_size)
{
    char list[SHOWN_MAX * 2], given[SHOWN_MAX];

    if ((rule->procs & procs) == 0)
        return wrong(error, error_size, "no call can match: %s is for %s, not for %s", part,
                     list_procs(procs, list, sizeof(list)), list_procs(rule->procs, given, sizeof(given)));
    rule->procs &= procs;
    return 0;
}

/* The procedures that have something. */
static uint64_t
procs_with(bool (*has)(int proc))
{
    uint64_t procs = 0;

    for (int proc = 0; proc < FAULT_PROCS; proc++)
        procs |= (uint64_t)has(proc) << proc;
    return procs;
}

/* What belongs together, and what can never be. */
static int
check(struct reading *reading, char *error, size_t error_size)
{
    struct fault_rule *rule = reading->rule;
    const struct fault_deed *deed = reading->deed;
    int err = narrow(rule, deed->procs, deed->name, error, error_size);

    if (err == 0 && (rule->export != NULL || rule->path != NULL || rule->handle_len > 0))
        err = narrow(rule, procs_with(fault_proc_has_handle), rule->path != NULL ? "path" : rule->export != NULL ? "export"
                                                                                                                 : "handle",
                     error, error_size);
    if (err == 0 && rule->name != NULL)
        err = narrow(rule, procs_with(fault_proc_has_name), "name", error, error_size);
    if (err < 0)
        return err;
    if (!deed->udp && !rule->tcp)
        return wrong(error, error_size, "no call can match: there is no %s over udp", deed->name);
    if (rule->export != NULL && rule->path != NULL && strncmp(rule->path, rule->export, strlen(rule->export)) != 0)
        return wrong(error, error_size, "no call can match: the path is not in the export");
    if (!deed->udp)
        rule->udp = false;
    if (rule->billionths == 0 && (reading->given & 1u << find_row("seed", condition_name)) != 0)
        return wrong(error, error_size, "seed says nothing without probability");
    if (rule->nth > 0 && rule->times == 0)
        rule->times = 1;
    rule->nth = MAX(rule->nth, 1);
    rule->billionths = rule->billionths == 0 ? BILLION : rule->billionths;
    if (rule->action == FAULT_FULL)
        atomic_init(&rule->room, rule->value);
    return 0;
}

int
fault_rule_parse(const char *text, struct fault_rule **out, char *error, size_t error_size)
{
    struct reading reading = { .rule = calloc(1, sizeof(*reading.rule)) };
    char *words;
    int err;

    if (strlen(text) > FAULT_RULE_MAX || strpbrk(text, "\r\n") != NULL) {
        free(reading.rule);
        return wrong(error, error_size, "a rule is one line of %d bytes at most", FAULT_RULE_MAX);
    }
    words = strdup(text);
    if (reading.rule != NULL)
        reading.rule->text = strdup(text);
    if (reading.rule == NULL || reading.rule->text == NULL || words == NULL) {
        snprintf(error, error_size, "out of memory");
        err = -ENOMEM;
    } else {
        atomic_init(&reading.rule->refs, 1);
        reading.rule->procs = (UINT64_C(1) << FAULT_PROCS) - 1;
        reading.rule->tcp = reading.rule->udp = true;
        err = read_words(&reading, words, error, error_size);
        if (err == 0)
            err = check(&reading, error, error_size);
    }
    free(words);
    if (err == 0) {
        *out = reading.rule;
        return 0;
    }
    if (reading.rule != NULL && reading.rule->text == NULL)
        free(reading.rule);
    else
        fault_rule_put(reading.rule);
    return err;
}
