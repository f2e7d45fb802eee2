/*
 * server/sandbox.h - what the threads of the server may still do: which capabilities they keep, which system calls they may
 * make, and which files they find by path. Whatever is not needed is given up for good, before the first byte of a client
 * is read.
 *
 * Four kinds of threads:
 *   - those that act for callers (event workers, the pool, the stores' own threads) read what clients send. They find no
 *     file by path: their root is a directory of nothing but the process's own descriptors, and no descriptor of a
 *     directory that the server holds leads up and out. They keep the capabilities to act as another user.
 *   - those that look up names and groups read what name servers send. They keep CAP_DAC_READ_SEARCH alone, and may open
 *     files and sockets.
 *   - those that write down what clients have sent keep no capability and find no file by path: theirs, or the state
 *     directory, is open.
 *   - those that do what the operator asks (the daemon's first thread, the control socket) may open directories by path and
 *     mount them privately (open_tree(2)).
 * None can run a program, trace a process, load code into the kernel, mount anything visible or make namespaces.
 *
 * Threads share their memory: this keeps a confused thread from doing harm, and makes it hard, not impossible, for foreign
 * code in one thread to get at what another may do.
 */
#ifndef RINGNFS_SERVER_SANDBOX_H
#define RINGNFS_SERVER_SANDBOX_H

#include <stddef.h>

#include "server/log.h"
#include "server/settings.h"

enum sandbox_role { SANDBOX_CALLS, SANDBOX_LOOKUP, SANDBOX_WRITER, SANDBOX_OPERATOR, SANDBOX_ROLES };

struct sandbox;

/*
 * Prepare everything, and see whether it can be had here. *sandbox is NULL with SETTING_SANDBOX_OFF, and in builds with
 * sanitizers with SETTING_SANDBOX_AUTO. With AUTO what cannot be had is told in the log and left out; with ON it is an
 * error. Returns 0 or -errno with error.
 */
int sandbox_new(enum setting_sandbox mode, const struct log *log, struct sandbox **sandbox, char *error,
                size_t error_size);
void sandbox_free(struct sandbox *sandbox);

/*
 * Give up what the calling thread does not need in its role; threads that it starts later inherit that. The first thread of
 * a program does it before there are others. A NULL sandbox gives up nothing. Returns 0, or -errno when that fails (with
 * AUTO it never does). Any thread.
 */
int sandbox_enter(const struct sandbox *sandbox, enum sandbox_role role);

/*
 * The same in two parts, for event workers: first capabilities and paths, and the system calls once the ring is there,
 * since no further ring can be made then.
 */
int sandbox_enter_place(const struct sandbox *sandbox, enum sandbox_role role);
int sandbox_enter_filter(const struct sandbox *sandbox, enum sandbox_role role);

/*
 * Open a directory so that ".." does not lead out of it, where this process may do that; else as open(2) does. Returns a
 * descriptor or -errno. Any thread that may open files by path.
 */
int sandbox_open_dir(const char *path);

#endif
