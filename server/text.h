/*
 * server/text.h - small things that all tables of words need: numbers read strictly, near names, help in columns, roff.
 */
#ifndef RINGNFS_SERVER_TEXT_H
#define RINGNFS_SERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Decimal digits and nothing else. Returns 0, -EINVAL for anything that is no number, -ERANGE beyond 64 bits. */
int text_number(const char *text, uint64_t *value);

/* A number with K, M or G (powers of 1024) behind it, or without. Returns as text_number(). */
int text_size(const char *text, uint64_t *value);

/* "4K" for 4096, "1000" for 1000: the shortest that text_size() reads back. Returns out. */
const char *text_format_size(char *out, size_t size, uint64_t value);

/*
 * The name that is most like a mistyped word, at most two letters off (added, left out, changed, swapped), one for
 * short words; NULL when none is. name(i) gives the i-th name; NULL ends them.
 */
const char *text_near(const char *word, const char *(*name)(size_t i));

/* " (did you mean NEAR?)" or "", by text_near(). Returns out. */
const char *text_suggest(char *out, size_t size, const char *word, const char *(*name)(size_t i));

/* Print text behind a head, in lines of 80 columns that begin at column `indent`; a long head has a line of its own. */
void text_print_help(FILE *out, const char *head, unsigned indent, const char *text);

/* Print text as a word that exports(5) would read back: what may mean something else becomes an octal escape. */
void text_print_exports(FILE *out, const char *text);

/* Undo the octal escapes of exports(5) and proc(5), in place. Returns the new length. */
size_t text_unescape(char *text);

/* Print text so that roff takes every byte as it is. */
void text_print_roff(FILE *out, const char *text);

#endif
