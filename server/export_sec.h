/*
 * server/export_sec.h - the option sec= of exports(5): which security flavours an export accepts, and what may differ
 * between them. What a call needs of it is in exports.h.
 */
#ifndef RINGNFS_SERVER_EXPORT_SEC_H
#define RINGNFS_SERVER_EXPORT_SEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "server/exports.h"

/*
 * Accept the flavours of a list ("sys:krb5") as well, and have the options that follow be for them. Returns 0, or
 * -EINVAL with error.
 */
int export_sec_read(struct export_rights *rights, const char *value, char *error, size_t error_size);

/* Set a bool of struct export_sec for the flavours of the last sec=, or for all when there was none. */
void export_sec_set_flag(struct export_rights *rights, size_t offset, bool flag);

/* Whether both have the same flavours in the same order, with the same flags. */
bool export_sec_same(const struct export_rights *a, const struct export_rights *b);

/* Print the flavours as the value of sec=. */
void export_sec_print(FILE *out, const struct export_rights *rights);

/*
 * The rights as if there were no flavours but those from the place `from` on that have the flags of the first one, which
 * become the usual ones; strings are borrowed. Returns where the next group begins: nsec at the end.
 */
unsigned export_sec_group(const struct export_rights *rights, unsigned from, struct export_rights *group);

#endif
