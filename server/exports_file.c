/* server/exports_file.c - see exports_file.h. */
#include "server/exports_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "server/export_options.h"
#include "server/log.h"

#define SHOWN_MAX 128                                    /* bytes of a wrong word that are shown */
#define TEXT_MAX 512                                     /* bytes of what is wrong with an option */

static const char memory_prefix[] = "memory:";

/* A byte of a line and where it stands. */
struct spelled {
    unsigned line, column;
    unsigned char byte;
    bool literal;                                        /* was an octal escape: means only itself */
};

struct reader {
    FILE *stream;
    const char *file;
    struct export_entries *entries;
    struct exports_report *report;
    unsigned next_line;
    struct spelled *line;                                /* EXPORTS_LINE_MAX; with continued lines, no newline */
    size_t line_len;
    size_t at;                                           /* the next byte that is no part of a token yet */
    struct spelled *token;                               /* EXPORTS_LINE_MAX; without quotes, escapes undone */
    size_t token_len;
    struct export_place token_place;
};

/* What a line has said so far. */
struct export_line {
    char *path;
    bool memory;
    struct export_place path_place;
    struct export_rights defaults;
    bool defaults_unused;                                /* no client has followed the last ones */
    struct export_place defaults_place;
    size_t clients;
    const char *bare;                                    /* the last client, if it had no options */
    bool spoiled;                                        /* by a mistake that all clients from here on share */
};

static struct export_place
place_of(const struct reader *reader, const struct spelled *byte)
{
    return (struct export_place){ .file = reader->file, .line = byte->line, .column = byte->column };
}

static int
refuse(const struct reader *reader, const struct spelled *byte, const char *text)
{
    struct export_place place = place_of(reader, byte);

    return exports_report_error(reader->report, &place, -EINVAL, "%s", text);
}

static int
peek(FILE *stream)
{
    int c = getc(stream);

    if (c != EOF)
        ungetc(c, stream);
    return c;
}

/* Whether a comment begins with this byte: a '#' at the beginning of a word, and not between quotes. */
static bool
begins_comment(const struct reader *reader, int c, bool quoted)
{
    return c == '#' && !quoted && (reader->line_len == 0 || isspace(reader->line[reader->line_len - 1].byte));
}

/*
 * Read a line and those that continue it: a backslash, the end of its line and the blanks behind are one blank. A
 * comment ends with its line all the same. Returns 1, 0 at the end of the file, or -errno.
 */
static int
read_line(struct reader *reader)
{
    struct spelled byte = { .line = reader->next_line, .column = 1 };
    bool any = false, quoted = false, comment = false;
    int c;

    reader->line_len = reader->at = 0;
    for (; (c = getc(reader->stream)) != EOF; byte.column++) {
        any = true;
        if (c == '\n')
            break;
        if (c == '\0')
            return refuse(reader, &byte, "a NUL byte");
        if (reader->line_len == EXPORTS_LINE_MAX) {
            byte.column = 1;
            byte.line = reader->next_line;
            return refuse(reader, &byte, "the line is too long (at most 65536 bytes)");
        }
        comment = comment || begins_comment(reader, c, quoted);
        quoted = quoted != (c == '"' && !comment);
        byte.byte = (unsigned char)c;
        if (c == '\\' && !comment && peek(reader->stream) == '\n') {
            byte.byte = ' ';
            reader->line[reader->line_len++] = byte;
            getc(reader->stream);
            byte.line++;
            byte.column = 0;
            while ((c = peek(reader->stream)) == ' ' || c == '\t') {
                getc(reader->stream);
                byte.column++;
            }
            continue;
        }
        reader->line[reader->line_len++] = byte;
    }
    reader->next_line = byte.line + 1;
    if (ferror(reader->stream)) {
        struct export_place place = { .file = reader->file };
        int err = -errno;

        return exports_report_error(reader->report, &place, err, "%s", strerror(-err));
    }
    return any ? 1 : 0;
}

/* An octal escape at line[at]: the byte that it means, or -1. */
static int
read_escape(const struct reader *reader, size_t at)
{
    const struct spelled *digit = &reader->line[at + 1];

    if (reader->line[at].byte != '\\' || reader->line_len - at < 4)
        return -1;
    if (digit[0].byte < '0' || digit[0].byte > '3' || digit[1].byte < '0' || digit[1].byte > '7' ||
        digit[2].byte < '0' || digit[2].byte > '7')
        return -1;
    return (digit[0].byte - '0') << 6 | (digit[1].byte - '0') << 3 | (digit[2].byte - '0');
}

/* Pass by a comment, which ends with the line; a backslash there looks as if there were more of it. */
static void
skip_comment(struct reader *reader)
{
    const struct spelled *last = &reader->line[reader->line_len - 1];
    struct export_place place = place_of(reader, last);

    if (last->byte == '\\')
        exports_report_warning(reader->report, &place, "a backslash does not continue a comment");
    reader->at = reader->line_len;
}

/* Cut the next word. Returns 1, 0 at the end of the line, or -EINVAL. */
static int
read_token(struct reader *reader)
{
    const struct spelled *quote = NULL, *in;
    int escaped;

    while (reader->at < reader->line_len && isspace(reader->line[reader->at].byte))
        reader->at++;
    if (reader->at < reader->line_len && reader->line[reader->at].byte == '#')
        skip_comment(reader);
    if (reader->at == reader->line_len)
        return 0;
    reader->token_place = place_of(reader, &reader->line[reader->at]);
    reader->token_len = 0;
    for (; reader->at < reader->line_len; reader->at++) {
        in = &reader->line[reader->at];
        if (quote == NULL && isspace(in->byte))
            break;
        if (in->byte == '"') {
            quote = quote == NULL ? in : NULL;
            continue;
        }
        reader->token[reader->token_len] = *in;
        escaped = read_escape(reader, reader->at);
        if (escaped == 0)
            return refuse(reader, in, "\\000: a NUL byte cannot be part of a name");
        if (escaped > 0) {
            reader->token[reader->token_len].byte = (unsigned char)escaped;
            reader->token[reader->token_len].literal = true;
            reader->at += 3;
        }
        reader->token_len++;
    }
    if (quote != NULL)
        return refuse(reader, quote, "this quote is not closed");
    return 1;
}

/* Where a byte with a meaning is in the token, from `from` on; token_len when it is not there. */
static size_t
find_byte(const struct reader *reader, size_t from, char byte)
{
    while (from < reader->token_len && (reader->token[from].literal || reader->token[from].byte != byte))
        from++;
    return from;
}

static char *
copy_bytes(const struct reader *reader, size_t from, size_t to)
{
    char *copy = malloc(to - from + 1);
    size_t i;

    if (copy == NULL)
        return NULL;
    for (i = from; i < to; i++)
        copy[i - from] = (char)reader->token[i].byte;
    copy[to - from] = '\0';
    return copy;
}

static int
out_of_memory(const struct reader *reader)
{
    return exports_report_error(reader->report, &reader->token_place, -ENOMEM, "out of memory");
}

/* Take out the slashes that are too many. */
static void
trim_slashes(char *path)
{
    char *in, *out = path;

    for (in = path; *in != '\0'; in++)
        if (*in != '/' || (in[1] != '/' && in[1] != '\0'))
            *out++ = *in;
    if (out == path)
        *out++ = '/';
    *out = '\0';
}

static bool
has_dots(const char *path)
{
    const char *part;
    size_t len;

    for (part = path; *part != '\0'; part += len + (part[len] == '/')) {
        len = strcspn(part, "/");
        if ((len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
            return true;
    }
    return false;
}

static int
read_path(struct reader *reader, struct export_line *line)
{
    size_t prefix_len = sizeof(memory_prefix) - 1;
    char shown[SHOWN_MAX];
    const char *wrong = NULL;

    line->path_place = reader->token_place;
    line->path = copy_bytes(reader, 0, reader->token_len);
    if (line->path == NULL)
        return out_of_memory(reader);
    log_quote(shown, sizeof(shown), line->path, reader->token_len);
    if (strncmp(line->path, memory_prefix, prefix_len) == 0) {
        line->memory = true;
        memmove(line->path, line->path + prefix_len, strlen(line->path) - prefix_len + 1);
    }
    if (line->path[0] == '\0')
        wrong = "the path is empty";
    else if (line->path[0] != '/')
        wrong = "is not an absolute path";
    else if (has_dots(line->path))
        wrong = "must not have . or .. in it";
    else if (strlen(line->path) > EXPORTS_PATH_MAX)
        wrong = "is longer than 1024 bytes";
    if (wrong != NULL)
        return exports_report_error(reader->report, &line->path_place, -EINVAL, "%s%s%s", shown,
                                    *shown == '\0' ? "" : " ", wrong);
    trim_slashes(line->path);
    return 0;
}

/* Apply the options in token[from..to), between commas. Returns the error of the first that is wrong. */
static int
read_options(struct reader *reader, size_t from, size_t to, struct export_rights *rights)
{
    char error[TEXT_MAX];
    size_t end;
    int err = 0, one;

    export_options_begin(rights);
    for (; from < to && exports_report_go_on(reader->report, err) == 0; from = end + 1) {
        struct export_place place = place_of(reader, &reader->token[from]);
        char *option;

        end = find_byte(reader, from, ',');
        if (end > to)
            end = to;
        if (end == from)
            continue;
        option = copy_bytes(reader, from, end);
        if (option == NULL)
            return out_of_memory(reader);
        one = export_option_apply(rights, option, error, sizeof(error));
        if (one < 0)
            exports_report_error(reader->report, &place, one, "%s", error);
        if (err == 0)
            err = one;
        free(option);
    }
    return err;
}

static int
read_defaults(struct reader *reader, struct export_line *line)
{
    line->defaults_unused = true;
    line->defaults_place = reader->token_place;
    line->bare = NULL;
    return read_options(reader, 1, reader->token_len, &line->defaults);
}

static void
warn_of_blank(const struct reader *reader, const struct export_line *line)
{
    char shown[SHOWN_MAX];

    if (line->bare == NULL) {
        exports_report_warning(reader->report, &reader->token_place,
                               "options without a client are for everyone; write *(...)");
        return;
    }
    log_quote(shown, sizeof(shown), line->bare, strlen(line->bare));
    exports_report_warning(reader->report, &reader->token_place,
                           "these options are for everyone, and %s has the defaults: is the blank before the bracket "
                           "meant?", shown);
}

static struct export_entry *
add_entry(struct export_entries *entries)
{
    struct export_entry *grown;
    size_t capacity = entries->capacity == 0 ? 16 : entries->capacity * 2;

    if (entries->count == entries->capacity) {
        grown = reallocarray(entries->list, capacity, sizeof(*grown));
        if (grown == NULL)
            return NULL;
        entries->list = grown;
        entries->capacity = capacity;
    }
    entries->list[entries->count] = (struct export_entry){ 0 };
    return &entries->list[entries->count++];
}

/* One more client, token[0..client_len), which begins with the rights of the defaults. */
static int
add_client(struct reader *reader, struct export_line *line, size_t client_len, struct export_entry **out)
{
    struct export_entry *entry = add_entry(reader->entries);

    if (entry == NULL)
        return out_of_memory(reader);
    entry->memory = line->memory;
    entry->path_place = line->path_place;
    entry->place = reader->token_place;
    entry->path = strdup(line->path);
    entry->client = copy_bytes(reader, 0, client_len);
    if (entry->path == NULL || entry->client == NULL || export_rights_copy(&entry->rights, &line->defaults) < 0)
        return out_of_memory(reader);
    line->clients++;
    line->defaults_unused = false;
    *out = entry;
    return 0;
}

static int
read_client(struct reader *reader, struct export_line *line)
{
    size_t open = find_byte(reader, 0, '('), close = find_byte(reader, 0, ')');
    struct export_entry *entry;
    int err;

    if (close < open)
        return refuse(reader, &reader->token[close], "a ')' without its '('");
    if (open < reader->token_len && close == reader->token_len)
        return refuse(reader, &reader->token[open], "this '(' is not closed (no blanks between the brackets)");
    if (open < reader->token_len && close + 1 < reader->token_len)
        return refuse(reader, &reader->token[close + 1], "a blank is missing behind ')'");
    if (open == 0)
        warn_of_blank(reader, line);
    err = add_client(reader, line, open, &entry);
    if (err < 0)
        return err;
    line->bare = open == reader->token_len ? entry->client : NULL;
    if (open == reader->token_len)
        return 0;
    return read_options(reader, open + 1, close, &entry->rights);
}

static void
entry_fini(struct export_entry *entry)
{
    free(entry->path);
    free(entry->client);
    export_rights_fini(&entry->rights);
}

/* A client, or default options. A client with a mistake is not kept: what it says is not compared with anything. */
static int
read_word(struct reader *reader, struct export_line *line)
{
    bool defaults = reader->token_len > 0 && reader->token[0].byte == '-' && !reader->token[0].literal;
    struct export_entries *entries = reader->entries;
    size_t before = entries->count;
    int err = defaults ? read_defaults(reader, line) : read_client(reader, line);

    line->spoiled = line->spoiled || (defaults && err < 0);
    if (entries->count > before && (err < 0 || line->spoiled)) {
        entry_fini(&entries->list[--entries->count]);
        line->bare = NULL;
    }
    return err;
}

/*
 * A path, then clients and default options in any order; no client at all is everyone. Returns the error of the first
 * mistake.
 */
static int
parse_line(struct reader *reader, struct export_line *line)
{
    struct export_entry *entry;
    int found = read_token(reader), err, one;

    if (found <= 0)
        return found;
    err = read_path(reader, line);
    line->spoiled = err < 0;
    while (exports_report_go_on(reader->report, err) == 0 && (found = read_token(reader)) > 0) {
        one = read_word(reader, line);
        if (err == 0)
            err = one;
    }
    if (err < 0 || found < 0)
        return err < 0 ? err : found;
    if (line->clients == 0)
        return add_client(reader, line, 0, &entry);
    if (line->defaults_unused)
        return exports_report_error(reader->report, &line->defaults_place, -EINVAL,
                                    "default options with no client behind them");
    return 0;
}

/* first_line: what the stream's first line is called. */
static int
read_stream(FILE *stream, const char *file, unsigned first_line, struct export_entries *entries,
            struct exports_report *report)
{
    struct reader reader = { .stream = stream, .file = file, .entries = entries, .report = report,
                             .next_line = first_line };
    int err = 0;

    reader.line = reallocarray(NULL, EXPORTS_LINE_MAX, sizeof(*reader.line));
    reader.token = reallocarray(NULL, EXPORTS_LINE_MAX, sizeof(*reader.token));
    reader.token_place = (struct export_place){ .file = file };
    if (reader.line == NULL || reader.token == NULL)
        err = out_of_memory(&reader);
    while (err == 0 && (err = read_line(&reader)) > 0) {
        struct export_line line = { .path = NULL };

        export_rights_init(&line.defaults);
        err = exports_report_go_on(report, parse_line(&reader, &line));
        export_rights_fini(&line.defaults);
        free(line.path);
    }
    free(reader.line);
    free(reader.token);
    return err;
}

static int
read_file(const char *path, struct export_entries *entries, struct exports_report *report)
{
    struct export_place place = { .file = path };
    FILE *stream = fopen(path, "re");
    int err;

    if (stream == NULL) {
        err = -errno;
        return exports_report_error(report, &place, err, "%s", strerror(-err));
    }
    err = read_stream(stream, path, 1, entries, report);
    fclose(stream);
    return err;
}

static int
is_exports_file(const struct dirent *entry)
{
    static const char suffix[] = ".exports";
    size_t len = strlen(entry->d_name), suffix_len = sizeof(suffix) - 1;

    return entry->d_name[0] != '.' && len > suffix_len && strcmp(entry->d_name + len - suffix_len, suffix) == 0;
}

static char *
keep_file_name(struct export_entries *entries, const char *dir, const char *name)
{
    char **grown = reallocarray(entries->files, entries->nfiles + 1, sizeof(*grown));
    size_t dir_len = strlen(dir);

    if (grown == NULL)
        return NULL;
    entries->files = grown;
    if (asprintf(&grown[entries->nfiles], "%s%s%s", dir, dir[dir_len - 1] == '/' ? "" : "/", name) < 0)
        return NULL;
    return grown[entries->nfiles++];
}

static int
read_directory(const char *path, struct export_entries *entries, struct exports_report *report)
{
    struct export_place place = { .file = path };
    struct dirent **names;
    int count = scandir(path, &names, is_exports_file, versionsort), i, err = 0;

    if (count < 0) {
        err = -errno;
        return exports_report_error(report, &place, err, "%s", strerror(-err));
    }
    for (i = 0; i < count; i++) {
        char *file = err == 0 ? keep_file_name(entries, path, names[i]->d_name) : NULL;

        if (file != NULL)
            err = exports_report_go_on(report, read_file(file, entries, report));
        else if (err == 0)
            err = exports_report_error(report, &place, -ENOMEM, "out of memory");
        free(names[i]);
    }
    free(names);
    return err;
}

static int
read_file_or_directory(const char *path, struct export_entries *entries, struct exports_report *report)
{
    size_t len = strlen(path);
    struct stat st;

    if (stat(path, &st) < 0 && errno == ENOENT && len > 0 && path[len - 1] == '/')
        return 0;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return read_directory(path, entries, report);
    return read_file(path, entries, report);
}

/* A line that is in no file; from: what is told instead of the file's name. */
static int
read_single_line(const char *text, const char *from, unsigned number, struct export_entries *entries,
                 struct exports_report *report)
{
    struct export_place place = { .file = from, .line = number, .column = 1 };
    size_t before = entries->count;
    unsigned told = report->told;
    FILE *stream;
    int err;

    if (*text == '\0')
        return exports_report_error(report, &place, -EINVAL, "the path is empty");
    stream = fmemopen((char *)text, strlen(text), "r");
    if (stream == NULL) {
        err = -errno;
        return exports_report_error(report, &place, err, "%s", strerror(-err));
    }
    err = read_stream(stream, place.file, number, entries, report);
    fclose(stream);
    if (err == 0 && entries->count == before && report->told == told)
        return exports_report_error(report, &place, -EINVAL, "no path in this line");
    return err;
}

static bool
is_removed(const struct exports_source *source, const char *path)
{
    size_t i;

    for (i = 0; i < source->nremoved; i++)
        if (strcmp(source->removed[i], path) == 0)
            return true;
    return false;
}

static void
drop_removed(const struct exports_source *source, struct export_entries *entries)
{
    size_t kept = 0, i;

    for (i = 0; i < entries->count; i++) {
        if (is_removed(source, entries->list[i].path))
            entry_fini(&entries->list[i]);
        else
            entries->list[kept++] = entries->list[i];
    }
    entries->count = kept;
}

int
exports_read(const struct exports_source *source, struct export_entries *entries, struct exports_report *report)
{
    size_t i;
    int err = 0;

    for (i = 0; i < source->nfiles && err == 0; i++)
        err = exports_report_go_on(report, read_file_or_directory(source->files[i], entries, report));
    for (i = 0; i < source->nlines && err == 0; i++)
        err = exports_report_go_on(report, read_single_line(source->lines[i], "--export", (unsigned)i + 1, entries,
                                                            report));
    if (err == 0)
        drop_removed(source, entries);
    for (i = 0; i < source->nadded && err == 0; i++)
        err = exports_report_go_on(report, read_single_line(source->added[i], "exports add", (unsigned)i + 1, entries,
                                                            report));
    return err;
}

void
export_entries_fini(struct export_entries *entries)
{
    size_t i;

    for (i = 0; i < entries->count; i++)
        entry_fini(&entries->list[i]);
    for (i = 0; i < entries->nfiles; i++)
        free(entries->files[i]);
    free(entries->list);
    free(entries->files);
}
