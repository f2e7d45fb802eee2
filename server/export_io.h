/* server/export_io.h - what of an export's options about the way of file data cannot be had where its files are. */
#ifndef RINGNFS_SERVER_EXPORT_IO_H
#define RINGNFS_SERVER_EXPORT_IO_H

#include <stdbool.h>
#include <stddef.h>

#include "server/exports.h"

/* Whether an option of one of its clients does nothing here; then text says which and why. The export has its store. */
bool export_io_explain(const struct export *export, char *text, size_t size);

#endif
