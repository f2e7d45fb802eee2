/*
 * server/observer.h - who looks on while a server works: hooks, the journal, the capture file, and the calls that are kept
 * in memory. It is told of calls by the workers (rpc/tap.h) and passes them on to those that there are.
 *
 * Every server has one. As long as it has nothing to tell to, no call comes here. Any thread, unless it says otherwise.
 */
#ifndef RINGNFS_SERVER_OBSERVER_H
#define RINGNFS_SERVER_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/tap.h"
#include "server/exports.h"
#include "server/log.h"
#include "server/ringnfs.h"
#include "storage/fh.h"

struct observer;
struct sandbox;

struct observer_config {
    ringnfs_hook *hook;                 /* NULL: none */
    void *hook_context;
    size_t keep_calls;                  /* 0: none are kept */
    size_t queue_bytes;                 /* of the journal, and of the capture file */
    const struct log *log;              /* outlives it, like the rest */
    const struct sandbox *sandbox;      /* NULL: none */
    struct call_tap *tap;               /* set up by observer_new() */
};

/* Returns 0 or -ENOMEM. */
int observer_new(const struct observer_config *config, struct observer **observer);

/* Close what is open; no call is under way any more. NULL is fine. */
void observer_free(struct observer *observer);

/* Learn how these exports are named, so that files have paths whose clients have mounted before anybody looked on. */
void observer_learn_exports(struct observer *observer, const struct fh_key *key, const struct exports *set);

/* As in ringnfs.h, with error, one line. One thread at a time. */
int observer_journal_open(struct observer *observer, const char *file, bool whole_data, char *error, size_t error_size);
int observer_capture_open(struct observer *observer, const char *file, char *error, size_t error_size);
int observer_journal_close(struct observer *observer, uint64_t *lost, char *error, size_t error_size);
int observer_capture_close(struct observer *observer, uint64_t *lost, char *error, size_t error_size);

/* The files that are open, for a process that follows. */
struct observer_files {
    struct observer_file {
        int fd;                         /* -1: none */
        const char *file;
    } journal, capture;
    bool whole_data;                    /* the journal has it */
};

/* What is open, and stays the observer's. Nothing may be opened or closed as long as that is used. */
void observer_files(struct observer *observer, struct observer_files *files);

/* Write all calls that are over; none may be under way. Returns 0 or -errno with error. */
int observer_drain(struct observer *observer, uint64_t timeout_ms, char *error, size_t error_size);

/*
 * Go on in files that another process has opened and drained, and writes to no more once there are calls here. Descriptors
 * that are used become -1. Returns 0 or -errno with error.
 */
int observer_follow(struct observer *observer, struct observer_files *files, char *error, size_t error_size);

int observer_keep(struct observer *observer, size_t most, char *error, size_t error_size);
void observer_forget(struct observer *observer);
int observer_count(struct observer *observer, const char *description, char *error, size_t error_size);
int observer_expect(struct observer *observer, const char *expectation, char *error, size_t error_size);

#endif
