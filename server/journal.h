/* server/journal.h - calls as lines of JSON: a format of recorder.h. ringnfs-journal(5) has the lines. */
#ifndef RINGNFS_SERVER_JOURNAL_H
#define RINGNFS_SERVER_JOURNAL_H

#include <stdbool.h>

#include "server/recorder.h"

#define JOURNAL_FORMAT 1                /* the number in the first line */

extern const struct recorder_format journal_format;

/* Its context; whole_data: with the data of READ and WRITE. NULL when memory is short. */
void *journal_new(bool whole_data);

#endif
