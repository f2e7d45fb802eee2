/*
 * tests/lib/embedded_rig.h - for tests of ringnfs.h: servers, and calls made by hand over a socket, so that all that is
 * tested is the library. What goes wrong here fails the test.
 */
#ifndef RINGNFS_TESTS_EMBEDDED_RIG_H
#define RINGNFS_TESTS_EMBEDDED_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/ringnfs.h"

#define MEMORY "memory:/x *(rw,insecure)"
#define RIG_WAIT_MS 20000               /* longest wait for a reply */
#define RIG_MESSAGE_MAX 65536           /* bytes of a call or reply */
#define NFS 100003
#define MOUNT 100005

/* The calls that a test makes have to succeed, or fail as it says, with a reason that has this word in it. */
void must(struct ringnfs *server, int result);
void must_fail(struct ringnfs *server, int result, int err, const char *word);

/* A server, with an export unless line is NULL; and one that has been started. */
struct ringnfs *make(const char *line);
struct ringnfs *start(const char *line);

int connect_to(int port);

/* The other end of a connection that a server has been given. */
int connect_pair(struct ringnfs *server);

/* A call as it is written, and the reply as it was read; both without record mark. */
struct message {
    uint8_t bytes[RIG_MESSAGE_MAX];
    size_t len;
};

/* The xid of the next call; each call moves it on. */
extern uint32_t message_xid;

/* Begin a call by a user (AUTH_SYS; UINT32_MAX: AUTH_NONE); add to its arguments. */
void message_begin(struct message *message, uint32_t prog, uint32_t proc, uint32_t uid);
void message_number(struct message *message, uint32_t number);
void message_bytes(struct message *message, const void *bytes, size_t len);             /* variable length: with it */

/* The word at an offset; results begin at 24. */
uint32_t message_word(const struct message *message, size_t offset);

void message_send(int fd, const struct message *message);

/* Wait for the reply; false: there came none. */
bool message_receive(int fd, struct message *reply);

/*
 * Make a call whose argument is a string, or nothing. Returns whether it succeeded; *result is the first word of the
 * results, if there is one.
 */
bool call(int fd, uint32_t prog, uint32_t proc, const char *text, uint32_t *result);

/* NULL of NFS. */
bool answers(int fd);

/* MNT: mountstat3. */
uint32_t mount_status(int fd, const char *path);

/* How many entries a directory has, such as /proc/self/fd. */
size_t count_entries(const char *path);

/* The handle of an export's root, as bytes with their length in front. */
struct rig_handle {
    uint32_t len;
    uint8_t bytes[64];
};
struct rig_handle root_handle(int fd, const char *path);

/* CREATE (unchecked, mode 0644) by root; the handle. */
struct rig_handle create_file(int fd, const struct rig_handle *dir, const char *name);

/* GETATTR and the like: the status of a procedure whose only argument is a handle. */
uint32_t handle_status(int fd, uint32_t proc, const struct rig_handle *handle);

/* WRITE (FILE_SYNC) and READ by a user, at offset 0; the status. READ: *len is room, then how much there was. */
uint32_t write_status(int fd, const struct rig_handle *file, uint32_t uid, const void *data, size_t len);
uint32_t read_status(int fd, const struct rig_handle *file, uint32_t uid, void *data, size_t *len);

#endif
