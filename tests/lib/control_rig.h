/*
 * tests/lib/control_rig.h - a server in memory, a control socket for it in a directory of its own, and a client of that.
 */
#ifndef RINGNFS_TESTS_CONTROL_RIG_H
#define RINGNFS_TESTS_CONTROL_RIG_H

#include <jansson.h>
#include <limits.h>

#include "server/control.h"
#include "tests/lib/live.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct ctl_rig {
    struct live *srv;
    char dir[PATH_MAX];
    struct control *control;
    int fd;                             /* a connection to it */
    char *reply;                        /* the last one, as text */
    json_t *answer;                     /* and taken apart */
};

extern const struct log ctl_no_log;

/* A test whose state is a rig. */
#define CTL_TEST(name) cmocka_unit_test_setup_teardown(name, ctl_set_up, ctl_tear_down)

int ctl_set_up(void **state);
int ctl_tear_down(void **state);

/* Open the control socket, with so much patience for clients that say nothing; ctl_reopen() closes the old one first. */
void ctl_open(struct ctl_rig *rig, uint32_t idle_ms);
void ctl_reopen(struct ctl_rig *rig, uint32_t idle_ms);

/* A connection to the control socket in a directory. */
int ctl_connect(const char *dir);

/* Remove a file of a directory; or the directory with what a control socket leaves in it. */
void ctl_remove_in(const char *dir, const char *name);
void ctl_remove_dir(const char *dir);

/* Send bytes. Returns false when the connection has ended. */
bool ctl_put(int fd, const char *bytes, size_t len);

/* One line; NULL when the connection ends first. */
char *ctl_get_line(int fd);

/* Read an answer on a connection: whether it is "ok". What it says is in rig->answer. */
bool ctl_read_answer(struct ctl_rig *rig, int fd);

/* Send a line of len bytes, NULs may be among them, and read its answer. */
bool ctl_ask_bytes(struct ctl_rig *rig, const char *line, size_t len);
bool ctl_ask(struct ctl_rig *rig, const char *line);

/* Send a command with arguments, NAME then TEXT, up to a NULL. */
bool ctl_command(struct ctl_rig *rig, const char *name, ...);

/* What an answer that must be "ok" says. */
json_t *ctl_must(struct ctl_rig *rig, bool ok);

/* The error of an answer that must not be "ok"; and that some words are in it. */
const char *ctl_error_of(struct ctl_rig *rig, bool ok);
void ctl_assert_error(struct ctl_rig *rig, bool ok, const char *part);

/* Members that must be there. */
json_int_t ctl_number(const json_t *object, const char *key);
const char *ctl_text(const json_t *object, const char *key);

/* A file of exports in the rig's directory; path has PATH_MAX + 32 bytes. */
void ctl_write_exports(struct ctl_rig *rig, char *path, const char *content);

#endif
