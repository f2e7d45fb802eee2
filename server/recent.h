/*
 * server/recent.h - the last calls of a server, kept in memory, and questions about them. The language is described in
 * ringnfs.h.
 *
 * Not locked. Questions about more calls than are kept have no answer.
 */
#ifndef RINGNFS_SERVER_RECENT_H
#define RINGNFS_SERVER_RECENT_H

#include <stddef.h>
#include <stdint.h>

#include "server/ringnfs.h"

#define RECENT_MOST 1000000u

struct recent;

/* Keep so many calls. Returns 0 or -ENOMEM. */
int recent_new(size_t most, struct recent **recent);
void recent_free(struct recent *recent);

/* A call that is over; what memory is too short for counts as one that is not kept. */
void recent_add(struct recent *recent, const struct ringnfs_call *seen);
void recent_forget(struct recent *recent);

/* As ringnfs_count_calls() and ringnfs_expect(), with error. */
int recent_count(const struct recent *recent, const char *description, char *error, size_t error_size);
int recent_expect(const struct recent *recent, const char *expectation, char *error, size_t error_size);

#endif
