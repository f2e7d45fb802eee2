/* server/export_io.h - what of an export's options about the way of file data cannot be had where its files are. */
#ifndef RINGNFS_SERVER_EXPORT_IO_H
#define RINGNFS_SERVER_EXPORT_IO_H

#include "server/exports.h"

/* Which option of one of its clients does nothing here, and why; NULL: none. The export has its store. */
const char *export_io_explain(const struct export *export);

#endif
