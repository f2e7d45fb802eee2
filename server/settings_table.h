/*
 * server/settings_table.h - THE table of settings: a row for each field of struct settings.
 *
 * settings.c reads values, prints help and the manual page from it; what a row says is all that there is to know.
 */
#ifndef RINGNFS_SERVER_SETTINGS_TABLE_H
#define RINGNFS_SERVER_SETTINGS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum setting_type {
    SETTING_BOOL,                       /* bool: on or off */
    SETTING_NUMBER,                     /* uint32_t or uint64_t */
    SETTING_SIZE,                       /* likewise, with K, M or G */
    SETTING_CHOICE,                     /* uint32_t or an enum: the place of the word among choices */
    SETTING_STRING                      /* char *, owned; NULL for "" */
};

struct setting {
    const char *key;
    enum setting_type type;
    size_t offset, width;               /* of the field in struct settings, bytes */
    const char *unit;                   /* "bytes", "seconds", ...; "" for none; STRING: what it is */
    uint64_t min, max;                  /* NUMBER, SIZE */
    uint64_t multiple;                  /* NUMBER, SIZE: of which the value must be a multiple */
    const char *zero;                   /* NUMBER, SIZE: the word for 0, whatever min is; NULL: there is none */
    const char *const *choices;         /* CHOICE: NULL-terminated */
    const char *initial;                /* the default, as it would be written */
    bool live;                          /* may be changed while the server runs */
    int (*check)(const char *text, char *error, size_t error_size);    /* STRING: 0, or -EINVAL with error; NULL: any */
    const char *help;                   /* what it is */
    const char *when;                   /* when to touch it, for the manual; NULL: help says enough */
};

extern const struct setting settings_table[];
extern const size_t settings_table_rows;

#endif
