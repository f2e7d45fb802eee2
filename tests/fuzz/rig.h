/*
 * tests/fuzz/rig.h - one worker's way of a call, from its bytes to its reply, without threads and sockets: for targets that
 * make calls out of their input.
 *
 * Each input finds the same three exports in memory, seen from 127.0.0.1, port 700:
 *
 *     /open      rw, root_squash    file, dir, link (another user's, open to all), private (root's, mode 0600)
 *     /ro        ro, no_root_squash    file
 *     /closed    for another address    file
 *
 * What is in /open/private and /closed/file is a secret. The rig ends the process when a reply is none that rpcgen's codecs
 * read to its end, when a secret is in it, when anything under /ro or /closed, or private, was changed or got an ACL, and
 * when a call or a buffer stays behind.
 */
#ifndef RINGNFS_TESTS_FUZZ_RIG_H
#define RINGNFS_TESTS_FUZZ_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rig_call {
    uint32_t prog, vers, proc;
    uint32_t xid;
    bool stream;                        /* over TCP */
    bool auth_sys;                      /* else AUTH_NONE */
    uint32_t uid, gid;
    const uint8_t *args;
    size_t len;
};

/* Begin with an input: the exports as above. */
void rig_begin(void);

/*
 * Make a call. In its arguments "FH", a zero and N as an opaque of four bytes stands for the handle N: 0 to 8 are /open,
 * its file, dir, link and private, /ro and its file, /closed and its file; those behind are what replies have brought.
 */
void rig_call(const struct rig_call *call);

/* Everything is looked at, and taken down. */
void rig_end(void);

#endif
