/* server/journal.c - see journal.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "server/journal.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "server/seen_json.h"

struct journal {
    bool whole_data;
};

static int
add_text(const char *text, size_t len, void *out)
{
    recorder_add(out, text, len);
    return ((struct recorder_bytes *)out)->err;
}

/* Takes the reference. */
static void
put_line(struct recorder_bytes *out, json_t *object)
{
    size_t before = out->len;

    if (object == NULL || json_dump_callback(object, add_text, out, JSON_COMPACT) < 0) {
        out->len = before;
        out->err = -ENOMEM;
    } else {
        recorder_add(out, "\n", 1);
    }
    json_decref(object);
}

static void
begin(void *context, struct recorder_bytes *out)
{
    const struct journal *journal = context;

    put_line(out, json_pack("{s:i, s:s, s:s}", "ringnfs_journal", JOURNAL_FORMAT, "version", PACKAGE_VERSION, "data",
                            journal->whole_data ? "whole" : "digest"));
}

static void
put_call(void *context, struct recorder_bytes *out, const struct ringnfs_call *seen)
{
    const struct journal *journal = context;

    put_line(out, seen_json_call(seen, journal->whole_data));
}

static void
put_lost(void *context, struct recorder_bytes *out, uint64_t calls)
{
    (void)context;
    put_line(out, json_pack("{s:I}", "lost", (json_int_t)calls));
}

const struct recorder_format journal_format = {
    .name = "journal",
    .begin = begin,
    .call = put_call,
    .lost = put_lost,
    .free = free,
};

void *
journal_new(bool whole_data)
{
    struct journal *journal = malloc(sizeof(*journal));

    if (journal != NULL)
        journal->whole_data = whole_data;
    return journal;
}
