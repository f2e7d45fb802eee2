/*
 * server/export_options.h - the options of exports(5): what each does to a client's rights.
 *
 * The table feeds the parser, --help-exports and the manual page (export_options_print_... in exports.h).
 */
#ifndef RINGNFS_SERVER_EXPORT_OPTIONS_H
#define RINGNFS_SERVER_EXPORT_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "server/exports.h"

/* What a client may do whose options say nothing. */
void export_rights_init(struct export_rights *rights);

/* Copy, with strings of its own. Returns 0 or -ENOMEM, and then nothing is to be freed. */
int export_rights_copy(struct export_rights *rights, const struct export_rights *from);
void export_rights_fini(struct export_rights *rights);

/* Print all that a client may do as options between commas, in the order of exportfs -v; ours follow. */
void export_rights_print(FILE *out, const struct export_rights *rights);

/* A list of options begins: they are for all flavours, up to the first sec=. */
void export_options_begin(struct export_rights *rights);

/*
 * Apply one option ("rw", "anonuid=1000"). Returns 0, or -EINVAL when it is unknown, unsupported or has a bad value, or
 * -ENOMEM; error then says what was read and what would be right.
 */
int export_option_apply(struct export_rights *rights, const char *option, char *error, size_t error_size);

#endif
