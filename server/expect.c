/*
 * server/expect.c - the language in which questions about calls are asked (ringnfs.h): words, one after the other.
 *
 * A description is a list of conditions, each a row of a table. An expectation is a quantity and a description; what it
 * comes to is a least and a most number of calls that fit.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rpc/tap.h"
#include "server/log.h"
#include "server/recent_private.h"
#include "server/text.h"
#include "xdr/mount3.h"
#include "xdr/nfs_acl.h"
#include "xdr/shape.h"

#define WORDS_MAX 32
#define WORD_MAX 4096                   /* bytes */
#define CONDITIONS_MAX 16
#define SHOWN_MAX 128                   /* bytes of a wrong word that are shown */
#define CALLS_SHOWN 4                   /* of those that were not expected */
#define CALL_SHOWN_MAX 256

struct words {
    char text[WORD_MAX];
    const char *list[WORDS_MAX + 1];    /* ended by a NULL */
    size_t at;
    char *error;
    size_t error_size;
};

struct condition {
    bool (*fits)(const struct recent_call *call, const struct condition *condition);
    const char *text;
    uint64_t number;
    struct peer_address address;
};

struct description {
    struct condition list[CONDITIONS_MAX];
    size_t count;
};

static bool
fits_over(const struct recent_call *call, const struct condition *condition)
{
    return call->count > condition->number;
}

static bool
fits_under(const struct recent_call *call, const struct condition *condition)
{
    return call->count < condition->number;
}

static bool
fits_at(const struct recent_call *call, const struct condition *condition)
{
    return call->offset == condition->number;
}

static bool
fits_path(const struct recent_call *call, const struct condition *condition)
{
    return call->path != NULL && strcmp(call->path, condition->text) == 0;
}

static bool
fits_stable(const struct recent_call *call, const struct condition *condition)
{
    return call->stable == (int)condition->number;
}

static bool
fits_status(const struct recent_call *call, const struct condition *condition)
{
    return call->outcome == 0 && strcasecmp(call->status_name, condition->text) == 0;
}

static bool
fits_failing(const struct recent_call *call, const struct condition *condition)
{
    (void)condition;
    return !call->succeeded;
}

static bool
fits_dropped(const struct recent_call *call, const struct condition *condition)
{
    (void)condition;
    return call->outcome == TAP_DROPPED;
}

static bool
fits_uid(const struct recent_call *call, const struct condition *condition)
{
    return call->uid == condition->number;
}

static bool
fits_client(const struct recent_call *call, const struct condition *condition)
{
    return memcmp(&call->client, &condition->address, sizeof(call->client)) == 0;
}

static bool
fits_procedure(const struct recent_call *call, const struct condition *condition)
{
    return strcasecmp(call->name, condition->text) == 0;
}

enum operand { OPERAND_NONE, OPERAND_NUMBER, OPERAND_SIZE, OPERAND_TEXT, OPERAND_STATUS, OPERAND_ADDRESS };

static const struct condition_row {
    const char *word;
    enum operand operand;
    bool (*fits)(const struct recent_call *call, const struct condition *condition);
    uint64_t number;                    /* OPERAND_NONE */
} rows[] = {
    { "over", OPERAND_SIZE, fits_over, 0 },
    { "under", OPERAND_SIZE, fits_under, 0 },
    { "at", OPERAND_SIZE, fits_at, 0 },
    { "of", OPERAND_TEXT, fits_path, 0 },
    { "unstable", OPERAND_NONE, fits_stable, UNSTABLE },
    { "data_sync", OPERAND_NONE, fits_stable, DATA_SYNC },
    { "file_sync", OPERAND_NONE, fits_stable, FILE_SYNC },
    { "answered", OPERAND_STATUS, fits_status, 0 },
    { "failing", OPERAND_NONE, fits_failing, 0 },
    { "dropped", OPERAND_NONE, fits_dropped, 0 },
    { "by", OPERAND_NUMBER, fits_uid, 0 },
    { "from", OPERAND_ADDRESS, fits_client, 0 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int
refuse(struct words *words, const char *what, const char *wanted)
{
    char shown[SHOWN_MAX];

    if (words->list[words->at] == NULL)
        snprintf(words->error, words->error_size, "%s: it ends where %s should stand", what, wanted);
    else
        snprintf(words->error, words->error_size, "%s: %s is not %s", what,
                 log_quote(shown, sizeof(shown), words->list[words->at], strlen(words->list[words->at])), wanted);
    return -EINVAL;
}

/* Cut text into words; what stands in double quotes is one. */
static int
cut(struct words *words, const char *text)
{
    size_t len = strlen(text), count = 0;
    char *p = words->text;

    words->at = 0;
    words->list[0] = NULL;
    if (len >= sizeof(words->text)) {
        snprintf(words->error, words->error_size, "this is longer than %d bytes", WORD_MAX - 1);
        return -EINVAL;
    }
    memcpy(words->text, text, len + 1);
    while (*(p += strspn(p, " \t")) != '\0') {
        bool quoted = *p == '"';
        char *end;

        p += quoted;
        end = p + strcspn(p, quoted ? "\"" : " \t");
        if (count == WORDS_MAX || (quoted && *end == '\0')) {
            snprintf(words->error, words->error_size, quoted ? "a double quote is missing" : "there are too many words");
            return -EINVAL;
        }
        words->list[count++] = p;
        words->list[count] = NULL;
        if (*end == '\0')
            break;
        *end = '\0';
        p = end + 1;
    }
    return 0;
}

static bool
next_is(struct words *words, const char *word)
{
    bool is = words->list[words->at] != NULL && strcasecmp(words->list[words->at], word) == 0;

    words->at += is;
    return is;
}

static const char *
row_word(size_t i)
{
    return i < ROWS ? rows[i].word : NULL;
}

/* "READ" of NFS, "GETACL" of NFSACL, "MNT" of MOUNT ... */
static bool
is_procedure(const char *word)
{
    static const uint32_t programs[][2] = { { NFS_PROGRAM, NFS_V3 }, { NFS_ACL_PROGRAM, NFS_ACL_V3 },
                                            { MOUNT_PROGRAM, MOUNT_V3 } };
    const struct shape_proc *proc;

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        for (uint32_t j = 0; (proc = shape_proc(programs[i][0], programs[i][1], j)) != NULL; j++)
            if (strcasecmp(proc->name, word) == 0)
                return true;
    return false;
}

static bool
is_status(const char *word)
{
    const struct shape *status = shape_proc(NFS_PROGRAM, NFS_V3, NFSPROC3_GETATTR)->results;

    for (const struct shape_word *known = status->words; known->word != NULL; known++)
        if (strcasecmp(known->word, word) == 0)
            return true;
    return false;
}

static bool
read_address(const char *word, struct peer_address *address)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

    if (inet_pton(AF_INET, word, &v4.sin_addr) == 1)
        peer_address_init(address, (const struct sockaddr *)&v4);
    else if (inet_pton(AF_INET6, word, &v6.sin6_addr) == 1)
        peer_address_init(address, (const struct sockaddr *)&v6);
    else
        return false;
    return true;
}

static int
read_operand(struct words *words, const struct condition_row *row, struct condition *condition)
{
    const char *word = words->list[words->at];

    switch (row->operand) {
    case OPERAND_NONE:
        return 0;
    case OPERAND_NUMBER:
        if (word == NULL || text_number(word, &condition->number) < 0)
            return refuse(words, row->word, "a number");
        break;
    case OPERAND_SIZE:
        if (word == NULL || text_size(word, &condition->number) < 0)
            return refuse(words, row->word, "a number of bytes, such as 65536 or 64K");
        break;
    case OPERAND_TEXT:
        if (word == NULL || word[0] != '/')
            return refuse(words, row->word, "a path that begins with /");
        break;
    case OPERAND_STATUS:
        if (word == NULL || !is_status(word))
            return refuse(words, row->word, "a status, such as OK, NOENT or ACCES");
        break;
    case OPERAND_ADDRESS:
        if (word == NULL || !read_address(word, &condition->address))
            return refuse(words, row->word, "an IPv4 or IPv6 address");
        break;
    }
    words->at++;
    return 0;
}

static int
read_condition(struct words *words, struct description *description)
{
    struct condition *condition = &description->list[description->count];
    char hint[SHOWN_MAX], shown[SHOWN_MAX];
    const char *word = words->list[words->at];

    if (description->count == CONDITIONS_MAX) {
        snprintf(words->error, words->error_size, "there are more than %d conditions", CONDITIONS_MAX);
        return -EINVAL;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (!next_is(words, rows[i].word))
            continue;
        *condition = (struct condition){ .fits = rows[i].fits, .number = rows[i].number, .text = words->list[words->at] };
        description->count++;
        return read_operand(words, &rows[i], condition);
    }
    snprintf(words->error, words->error_size,
             "%s is no condition%s: there are over, under, at, of, unstable, data_sync, file_sync, answered, failing, "
             "dropped, by and from", log_quote(shown, sizeof(shown), word, strlen(word)),
             text_suggest(hint, sizeof(hint), word, row_word));
    return -EINVAL;
}

/* A procedure, or "call". */
static int
read_procedure(struct words *words, struct description *description)
{
    const char *word = words->list[words->at];

    description->count = 0;
    if (next_is(words, "call") || next_is(words, "calls"))
        return 0;
    if (word == NULL || !is_procedure(word))
        return refuse(words, "which calls", "a procedure, such as READ, or \"call\" for any");
    description->list[description->count++] = (struct condition){ .fits = fits_procedure, .text = word };
    words->at++;
    return 0;
}

static int
read_conditions(struct words *words, struct description *description)
{
    int err = 0;

    while (err == 0 && words->list[words->at] != NULL)
        err = read_condition(words, description);
    return err;
}

static int
check_kept(const struct recent *recent, char *error, size_t error_size)
{
    if (recent == NULL) {
        snprintf(error, error_size, "no calls are kept: say how many with ringnfs_keep_calls()");
        return -EINVAL;
    }
    if (recent->added <= recent->most && !recent->missing)
        return 0;
    snprintf(error, error_size, "there were %" PRIu64 " calls, and only the last %zu are kept: keep more, or forget earlier",
             recent->added, recent->most);
    return -EOVERFLOW;
}

static bool
fits(const struct recent_call *call, const struct description *description, size_t from)
{
    for (size_t i = from; i < description->count; i++)
        if (!description->list[i].fits(call, &description->list[i]))
            return false;
    return true;
}

static size_t
count(const struct recent *recent, const struct description *description)
{
    size_t found = 0;

    for (size_t i = 0; i < recent_calls(recent); i++)
        found += fits(recent_call(recent, i), description, 0);
    return found;
}

int
recent_count(const struct recent *recent, const char *text, char *error, size_t error_size)
{
    struct words words = { .error = error, .error_size = error_size };
    struct description description;
    int err = check_kept(recent, error, error_size);

    if (err == 0)
        err = cut(&words, text);
    if (err == 0)
        err = read_procedure(&words, &description);
    if (err == 0)
        err = read_conditions(&words, &description);
    return err < 0 ? err : (int)count(recent, &description);
}

/* Say what there was in place of what was expected; up to `from` the conditions hold, and the others as `holding` says. */
static int
disappoint(const struct recent *recent, const char *text, const struct description *description, size_t found, char *error,
           size_t error_size)
{
    size_t used = (size_t)snprintf(error, error_size, "expected %s, but there were %zu", text, found), shown = 0;
    char line[CALL_SHOWN_MAX];

    for (size_t i = 0; i < recent_calls(recent) && used < error_size; i++) {
        const struct recent_call *call = recent_call(recent, i);

        if (!fits(call, description, 0))
            continue;
        if (shown == CALLS_SHOWN) {
            snprintf(error + used, error_size - used, "; ...");
            break;
        }
        recent_print(call, line, sizeof(line));
        used += (size_t)snprintf(error + used, error_size - used, "%s %s", shown++ == 0 ? ":" : ";", line);
    }
    return -EDOM;
}

/* "every WRITE file_sync": none that is one and not the other. */
static int
expect_every(const struct recent *recent, struct words *words, const char *text)
{
    struct description description;
    char line[CALL_SHOWN_MAX];
    int err = read_procedure(words, &description);
    size_t given = description.count;

    if (err == 0 && words->list[words->at] == NULL)
        return refuse(words, "every", "what each of them has to be");
    if (err == 0)
        err = read_conditions(words, &description);
    for (size_t i = 0; i < recent_calls(recent) && err == 0; i++) {
        const struct recent_call *call = recent_call(recent, i);

        if ((given > 0 && !description.list[0].fits(call, &description.list[0])) || fits(call, &description, given))
            continue;
        recent_print(call, line, sizeof(line));
        snprintf(words->error, words->error_size, "expected %s, but there was: %s", text, line);
        err = -EDOM;
    }
    return err;
}

static int
expect_covered(const struct recent *recent, struct words *words)
{
    const struct recent_call *call;
    char line[CALL_SHOWN_MAX];
    uint64_t from, to;
    int err = recent_uncovered(recent, &call, &from, &to);

    if (err < 0) {
        snprintf(words->error, words->error_size, "out of memory");
        return err;
    }
    if (call == NULL)
        return 0;
    recent_print(call, line, sizeof(line));
    snprintf(words->error, words->error_size, "expected every unstable WRITE covered, but no COMMIT covers bytes %" PRIu64
             " to %" PRIu64 " of: %s", from, to - 1, line);
    return -EDOM;
}

/* "exactly 1", "no", "at least 2", "at most 3", "some" */
static int
read_quantity(struct words *words, uint64_t *least, uint64_t *most)
{
    bool exactly = false, at_least = false;

    *least = 0;
    *most = UINT64_MAX;
    if (next_is(words, "no")) {
        *most = 0;
        return 0;
    }
    if (next_is(words, "some")) {
        *least = 1;
        return 0;
    }
    if (next_is(words, "exactly")) {
        exactly = true;
    } else if (next_is(words, "at")) {
        at_least = next_is(words, "least");
        if (!at_least && !next_is(words, "most"))
            return refuse(words, "at", "\"least\" or \"most\"");
    } else {
        return refuse(words, "how many", "\"exactly\", \"no\", \"some\", \"at least\", \"at most\" or \"every\"");
    }
    if (words->list[words->at] == NULL || text_number(words->list[words->at], exactly || at_least ? least : most) < 0)
        return refuse(words, "how many", "a number");
    if (exactly)
        *most = *least;
    words->at++;
    return 0;
}

int
recent_expect(const struct recent *recent, const char *text, char *error, size_t error_size)
{
    struct words words = { .error = error, .error_size = error_size };
    struct description description = { .count = 0 };
    uint64_t least, most;
    int err = check_kept(recent, error, error_size);
    size_t found;

    if (err == 0)
        err = cut(&words, text);
    if (err < 0)
        return err;
    if (next_is(&words, "every")) {
        if (next_is(&words, "unstable") && next_is(&words, "write") && next_is(&words, "covered") &&
            words.list[words.at] == NULL)
            return expect_covered(recent, &words);
        words.at = 1;
        return expect_every(recent, &words, text);
    }
    err = read_quantity(&words, &least, &most);
    if (err == 0)
        err = read_procedure(&words, &description);
    if (err == 0)
        err = read_conditions(&words, &description);
    if (err < 0)
        return err;
    found = count(recent, &description);
    return found >= least && found <= most ? 0 : disappoint(recent, text, &description, found, error, error_size);
}
