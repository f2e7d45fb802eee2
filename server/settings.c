/* server/settings.c - see settings.h; what may be set is in settings_table.c. */
#include "server/settings.h"

#include <assert.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "server/log.h"
#include "server/settings_table.h"
#include "server/text.h"

#define LINE_MAX_BYTES 190                               /* libinih cuts lines at 200 without a word */
#define SHOWN_MAX 64                                     /* bytes of a wrong word that are shown */
#define HELP_INDENT 26

static const char *
setting_name(size_t i)
{
    return i < settings_table_rows ? settings_table[i].key : NULL;
}

static const struct setting *
find_setting(const char *key)
{
    size_t i;

    for (i = 0; i < settings_table_rows; i++)
        if (strcmp(settings_table[i].key, key) == 0)
            return &settings_table[i];
    return NULL;
}

const struct setting *
settings_find(const char *key, char *error, size_t error_size)
{
    const struct setting *row = find_setting(key);
    char shown[SHOWN_MAX], hint[SHOWN_MAX];

    if (row == NULL)
        snprintf(error, error_size, "unknown setting %s%s", log_quote(shown, sizeof(shown), key, strlen(key)),
                 text_suggest(hint, sizeof(hint), key, setting_name));
    return row;
}

static void
store_number(const struct setting *row, void *field, uint64_t value)
{
    uint32_t narrow = (uint32_t)value;

    if (row->width == sizeof(narrow))
        memcpy(field, &narrow, sizeof(narrow));
    else
        memcpy(field, &value, sizeof(value));
}

static uint64_t
load_number(const struct setting *row, const void *field)
{
    uint32_t narrow;
    uint64_t value;

    if (row->width == sizeof(narrow)) {
        memcpy(&narrow, field, sizeof(narrow));
        return narrow;
    }
    memcpy(&value, field, sizeof(value));
    return value;
}

/* The least that is written as a number: 0 may have a word of its own. */
static uint64_t
least_number(const struct setting *row)
{
    return row->zero != NULL && row->min == 0 ? row->multiple : row->min;
}

static const char *
format_number(const struct setting *row, char *out, size_t size, uint64_t value)
{
    if (row->type == SETTING_SIZE)
        return text_format_size(out, size, value);
    snprintf(out, size, "%llu", (unsigned long long)value);
    return out;
}

static int
set_number(const struct setting *row, void *field, const char *text, const char *shown, char *error, size_t error_size)
{
    char min[24], max[24];
    const char *or = row->zero != NULL ? ", or " : "", *word = row->zero != NULL ? row->zero : "";
    uint64_t value;
    int err;

    if (row->zero != NULL && strcmp(text, row->zero) == 0) {
        store_number(row, field, 0);
        return 0;
    }
    err = row->type == SETTING_SIZE ? text_size(text, &value) : text_number(text, &value);
    if (err == -EINVAL) {
        snprintf(error, error_size, "%s: %s is %s a %s%s%s", row->key, shown, row->zero != NULL ? "neither" : "not",
                 row->type == SETTING_SIZE ? "size (a number, or one with K, M or G behind it)" : "number",
                 row->zero != NULL ? " nor " : "", word);
        return -EINVAL;
    }
    if (err == -ERANGE || value < row->min || value > row->max) {
        snprintf(error, error_size, "%s: %s is out of range (%s to %s%s%s)", row->key, shown,
                 format_number(row, min, sizeof(min), least_number(row)),
                 format_number(row, max, sizeof(max), row->max), or, word);
        return -EINVAL;
    }
    if (value % row->multiple != 0) {
        snprintf(error, error_size, "%s: %s is not a multiple of %llu", row->key, shown,
                 (unsigned long long)row->multiple);
        return -EINVAL;
    }
    store_number(row, field, value);
    return 0;
}

static int
set_bool(const struct setting *row, void *field, const char *text, const char *shown, char *error, size_t error_size)
{
    static const char *const words[] = { "off", "on", "no", "yes", "false", "true", "0", "1" };
    size_t i;
    bool value;

    for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(text, words[i]) != 0)
            continue;
        value = i % 2 == 1;
        memcpy(field, &value, sizeof(value));
        return 0;
    }
    snprintf(error, error_size, "%s: %s is neither on nor off", row->key, shown);
    return -EINVAL;
}

/* "auto, system or off" */
static void
list_choices(const struct setting *row, char *out, size_t size)
{
    size_t i, used = 0;

    out[0] = '\0';
    for (i = 0; row->choices[i] != NULL && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i == 0 ? "" : row->choices[i + 1] == NULL ? " or " : ", ", row->choices[i]);
}

static int
set_choice(const struct setting *row, void *field, const char *text, const char *shown, char *error, size_t error_size)
{
    char words[128];
    uint32_t i;

    for (i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            store_number(row, field, i);
            return 0;
        }
    }
    list_choices(row, words, sizeof(words));
    snprintf(error, error_size, "%s: %s is none of %s", row->key, shown, words);
    return -EINVAL;
}

static int
set_string(const struct setting *row, void *field, const char *text, char *error, size_t error_size)
{
    char *copy = NULL, *old;

    if (*text != '\0') {
        copy = strdup(text);
        if (copy == NULL) {
            snprintf(error, error_size, "%s: out of memory", row->key);
            return -ENOMEM;
        }
    }
    memcpy(&old, field, sizeof(old));
    free(old);
    memcpy(field, &copy, sizeof(copy));
    return 0;
}

int
settings_set(struct settings *settings, const char *key, const char *value, char *error, size_t error_size)
{
    const struct setting *row = settings_find(key, error, error_size);
    char shown[SHOWN_MAX], why[160];
    void *field;

    if (row == NULL)
        return -EINVAL;
    field = (char *)settings + row->offset;
    if (*value == '\0' && (row->type != SETTING_STRING || row->check != NULL)) {
        snprintf(error, error_size, "%s: the value is missing", key);
        return -EINVAL;
    }
    log_quote(shown, sizeof(shown), value, strlen(value));
    switch (row->type) {
    case SETTING_BOOL:
        return set_bool(row, field, value, shown, error, error_size);
    case SETTING_NUMBER:
    case SETTING_SIZE:
        return set_number(row, field, value, shown, error, error_size);
    case SETTING_CHOICE:
        return set_choice(row, field, value, shown, error, error_size);
    case SETTING_STRING:
        if (row->check == NULL || row->check(value, why, sizeof(why)) == 0)
            return set_string(row, field, value, error, error_size);
        snprintf(error, error_size, "%s: %s", key, why);
        break;
    }
    return -EINVAL;
}

const char *
settings_format(const struct settings *settings, const struct setting *row, char *out, size_t size)
{
    const void *field = (const char *)settings + row->offset;
    const char *text;
    uint64_t number;
    bool on;

    switch (row->type) {
    case SETTING_BOOL:
        memcpy(&on, field, sizeof(on));
        snprintf(out, size, "%s", on ? "on" : "off");
        break;
    case SETTING_NUMBER:
    case SETTING_SIZE:
        number = load_number(row, field);
        if (row->zero != NULL && number == 0)
            snprintf(out, size, "%s", row->zero);
        else
            format_number(row, out, size, number);
        break;
    case SETTING_CHOICE:
        snprintf(out, size, "%s", row->choices[load_number(row, field)]);
        break;
    case SETTING_STRING:
        memcpy(&text, field, sizeof(text));
        snprintf(out, size, "%s", text != NULL ? text : "");
        break;
    }
    return out;
}

void
settings_init(struct settings *settings)
{
    char error[128];
    size_t i;
    int err;

    memset(settings, 0, sizeof(*settings));
    for (i = 0; i < settings_table_rows; i++) {
        err = settings_set(settings, settings_table[i].key, settings_table[i].initial, error, sizeof(error));
        assert(err == 0);                                /* the table's own defaults */
        (void)err;
    }
}

void
settings_fini(struct settings *settings)
{
    size_t i;

    for (i = 0; i < settings_table_rows; i++)
        if (settings_table[i].type == SETTING_STRING)
            set_string(&settings_table[i], (char *)settings + settings_table[i].offset, "", NULL, 0);
}

int
settings_copy(struct settings *settings, const struct settings *from)
{
    size_t i;

    *settings = *from;
    for (i = 0; i < settings_table_rows; i++)            /* strings are still the other's, not ours to free */
        if (settings_table[i].type == SETTING_STRING)
            memset((char *)settings + settings_table[i].offset, 0, settings_table[i].width);
    for (i = 0; i < settings_table_rows; i++) {
        const struct setting *row = &settings_table[i];
        const char *text;

        if (row->type != SETTING_STRING)
            continue;
        memcpy(&text, (const char *)from + row->offset, sizeof(text));
        if (text == NULL || set_string(row, (char *)settings + row->offset, text, NULL, 0) == 0)
            continue;
        settings_fini(settings);
        return -ENOMEM;
    }
    return 0;
}

/* A configuration file while libinih goes through it. */
struct ini_source {
    struct settings *settings;
    FILE *file;
    const char *path;
    unsigned line;                                       /* that libinih has now */
    unsigned *set_at;                                    /* for each row: the line that set it, or 0 */
    int err;                                             /* the first */
    char *error;
    size_t error_size;
};

static void
ini_fail(struct ini_source *source, int err, const char *text)
{
    if (source->err != 0)
        return;
    source->err = err;
    snprintf(source->error, source->error_size, "%s:%u: %s", source->path, source->line, text);
}

/*
 * libinih's fgets. White space in front goes, since libinih takes an indented line for more of the value before it.
 * Ends the file at the first error.
 */
static char *
ini_next_line(char *out, int size, void *user)
{
    struct ini_source *source = user;
    int used = 0, c;

    assert(size > LINE_MAX_BYTES + 2);
    if (source->err != 0)
        return NULL;
    source->line++;
    while ((c = getc(source->file)) != EOF && c != '\n') {
        if (used == 0 && (c == ' ' || c == '\t'))
            continue;
        if (c == '\0' || used == LINE_MAX_BYTES) {
            ini_fail(source, -EINVAL, c == '\0' ? "a NUL byte" : "the line is too long (at most 190 bytes)");
            return NULL;
        }
        out[used++] = (char)c;
    }
    if (ferror(source->file)) {
        ini_fail(source, -errno, strerror(errno));
        return NULL;
    }
    if (c == EOF && used == 0)
        return NULL;
    out[used++] = '\n';
    out[used] = '\0';
    return out;
}

static int
ini_value(void *user, const char *section, const char *key, const char *value)
{
    struct ini_source *source = user;
    const struct setting *row = find_setting(key);
    char text[256], shown[SHOWN_MAX];
    unsigned *set_at;
    int err;

    if (source->err != 0)
        return 0;
    if (*section != '\0' && strcmp(section, "ringnfs") != 0) {
        snprintf(text, sizeof(text), "unknown section [%s] (there is [ringnfs] only)",
                 log_quote(shown, sizeof(shown), section, strlen(section)));
        ini_fail(source, -EINVAL, text);
        return 0;
    }
    err = settings_set(source->settings, key, value, text, sizeof(text));
    if (err < 0) {
        ini_fail(source, err, text);
        return 0;
    }
    set_at = &source->set_at[row - settings_table];
    if (*set_at != 0) {
        snprintf(text, sizeof(text), "%s is set in line %u already", key, *set_at);
        ini_fail(source, -EINVAL, text);
        return 0;
    }
    *set_at = source->line;
    return 1;
}

int
settings_load(struct settings *settings, const char *path, char *error, size_t error_size)
{
    struct ini_source source = { .settings = settings, .path = path, .error = error, .error_size = error_size };
    int bad_line;

    source.set_at = calloc(settings_table_rows, sizeof(*source.set_at));
    if (source.set_at == NULL) {
        snprintf(error, error_size, "%s: out of memory", path);
        return -ENOMEM;
    }
    source.file = fopen(path, "re");
    if (source.file == NULL) {
        source.err = -errno;
        snprintf(error, error_size, "%s: %s", path, strerror(errno));
        free(source.set_at);
        return source.err;
    }
    bad_line = ini_parse_stream(ini_next_line, &source, ini_value, &source);
    if (bad_line != 0 && source.err == 0) {
        source.line = (unsigned)bad_line;
        ini_fail(&source, -EINVAL, "neither a section nor \"key = value\"");
    }
    fclose(source.file);
    free(source.set_at);
    return source.err;
}

int
settings_check(const struct settings *settings, char *error, size_t error_size)
{
    const struct { const char *key; uint64_t bytes; } sizes[] = {
        { "rtmax", settings->rtmax }, { "wtmax", settings->wtmax }, { "dtpref", settings->dtpref }
    };
    char share[24], needed[24], shown[SHOWN_MAX];

    if (!settings->tcp && !settings->udp) {
        snprintf(error, error_size, "tcp and udp are both off: nobody could call");
        return -EINVAL;
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (sizes[i].bytes <= settings->max_memory / 8)
            continue;
        snprintf(error, error_size, "%s is more than an eighth of max_memory (%s): %s at least is needed", sizes[i].key,
                 text_format_size(share, sizeof(share), settings->max_memory),
                 text_format_size(needed, sizeof(needed), sizes[i].bytes * 8));
        return -EINVAL;
    }
    if (settings->state_dir != NULL && settings->state_dir[0] != '/') {
        snprintf(error, error_size, "state_dir: %s is not an absolute path",
                 log_quote(shown, sizeof(shown), settings->state_dir, strlen(settings->state_dir)));
        return -EINVAL;
    }
    return 0;
}

/* "4K to 4M bytes", "1 to 256, or auto", "auto, system or off"; what a value looks like. */
static void
describe(const struct setting *row, char *out, size_t size)
{
    char min[24], max[24];

    switch (row->type) {
    case SETTING_BOOL:
        snprintf(out, size, "on or off");
        break;
    case SETTING_NUMBER:
    case SETTING_SIZE:
        snprintf(out, size, "%s to %s%s%s%s%s", format_number(row, min, sizeof(min), least_number(row)),
                 format_number(row, max, sizeof(max), row->max), *row->unit == '\0' ? "" : " ", row->unit,
                 row->zero != NULL ? ", or " : "", row->zero != NULL ? row->zero : "");
        break;
    case SETTING_CHOICE:
        list_choices(row, out, size);
        break;
    case SETTING_STRING:
        snprintf(out, size, "%s", row->unit);
        break;
    }
}

void
settings_print_help(FILE *out)
{
    size_t i;

    fprintf(out, "Settings and their defaults, for ringnfs.conf and --set:\n");
    for (i = 0; i < settings_table_rows; i++) {
        const struct setting *row = &settings_table[i];
        char head[64], values[128], text[1024];

        snprintf(head, sizeof(head), "%s = %s", row->key, row->initial);
        describe(row, values, sizeof(values));
        snprintf(text, sizeof(text), "%s (%s%s)", row->help, values, row->live ? "; ringnfsctl can change it" : "");
        text_print_help(out, head, HELP_INDENT, text);
    }
}

void
settings_print_roff(FILE *out)
{
    size_t i;

    for (i = 0; i < settings_table_rows; i++) {
        const struct setting *row = &settings_table[i];
        char values[128];

        describe(row, values, sizeof(values));
        fprintf(out, ".TP\n.B ");
        text_print_roff(out, row->key);
        fprintf(out, " = ");
        text_print_roff(out, row->initial);
        fprintf(out, "\n");
        text_print_roff(out, row->help);
        if (row->when != NULL) {
            fprintf(out, "\n");
            text_print_roff(out, row->when);
        }
        fprintf(out, "\nAllowed: ");
        text_print_roff(out, values);
        fprintf(out, ".\n");
        if (row->live)
            fprintf(out, "Can be changed with\n.BR ringnfsctl (8).\n");
    }
}
