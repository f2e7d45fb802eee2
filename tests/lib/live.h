/*
 * tests/lib/live.h - a whole server in this process, and a client that asks it.
 *
 * Each test gets a server of its own: own directory, own state, a port that the kernel chose. live_main() runs all
 * tests of a file once for each configuration (store, engine, workers) and adds its name to theirs. In the environment,
 * RINGNFS_LIVE=memory leaves only the configurations with that word in their name, RINGNFS_TEST='read_*' only the tests
 * whose names fit, and RINGNFS_LIVE_DIR says where exports on disk are made (/var/tmp).
 *
 * The client is synchronous and uses rpcgen's codecs, never the server's hand-made ones. What it returns lives until
 * live_stop(). A call that gets no RPC-level success fails the test, except through live_call() and live_try().
 */
#ifndef RINGNFS_TESTS_LIB_LIVE_H
#define RINGNFS_TESTS_LIB_LIVE_H

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cmocka.h>

#include "server/server.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"
#include "xdr/nfs_acl.h"
#include "xdr/wire.h"

#define LIVE_GIDS_MAX 16
#define LIVE_WAIT_MS 10000              /* longest wait for a reply */
#define LIVE_MESSAGE_MAX (9 << 20)      /* bytes of a call or reply */
#define LIVE_CALL_MAX 4096              /* bytes of a call that carries little */

enum live_store { LIVE_DISK, LIVE_TMPFS, LIVE_MEMORY };

struct live_config {
    const char *name;
    enum live_store store;
    enum setting_engine engine;
    uint32_t workers;
};

/* What a test may ask for; zero is the usual. */
struct live_options {
    const char *export_options;         /* of the export; NULL: "rw,no_root_squash,insecure" */
    const char *second_options;         /* there is a second export, with these options */
    const char *lines;                  /* exports(5) lines, in place of both; see live_reload_lines() */
    void (*tune)(struct settings *settings);
    const struct hosts_source *hosts;   /* where the server looks up host names; NULL: on this machine */
    const struct groups_source *groups; /* where it looks up groups of users; likewise */
    int log_fd;                         /* where it logs to; 0: errors alone, to standard error */
    const struct principals_source *principals; /* where it looks up users of Kerberos; likewise */
    const struct rate_clock *clock;     /* of its limits; NULL: the real one */
    bool everywhere;                    /* listens on all addresses, not only on 127.0.0.1 and ::1 */
};

/* How a call came out: LIVE_SUCCESS, RFC 5531's accept_stat, or another; auth_stat is added to LIVE_AUTH_ERROR. */
enum live_outcome {
    LIVE_GARBLED = -3,                  /* a reply that is none */
    LIVE_TIMEOUT = -2,
    LIVE_CLOSED = -1,
    LIVE_SUCCESS = 0,
    LIVE_PROG_UNAVAIL = 1,
    LIVE_PROG_MISMATCH = 2,
    LIVE_PROC_UNAVAIL = 3,
    LIVE_GARBAGE_ARGS = 4,
    LIVE_SYSTEM_ERR = 5,
    LIVE_RPC_MISMATCH = 100,
    LIVE_AUTH_ERROR = 200
};

struct live_conn {
    int fd;
    int type;                           /* SOCK_STREAM or SOCK_DGRAM */
    uint32_t low, high;                 /* of the last PROG_MISMATCH or RPC_MISMATCH */
};

struct live_auth {
    uint32_t flavor;                    /* AUTH_NONE or AUTH_SYS */
    uint32_t uid, gid;
    uint32_t ngids;
    uint32_t gids[LIVE_GIDS_MAX];
};

struct live_memory;
struct live;

/* Another way to make calls and to read replies than by struct live_auth; live_gss.h has one. */
struct live_security {
    size_t (*make_call)(struct live_security *security, struct live *srv, uint8_t *message, size_t size, uint32_t prog,
                        uint32_t vers, uint32_t proc, xdrproc_t codec, const void *args);
    int (*take_reply)(struct live_security *security, struct live_conn *conn, const uint8_t *reply, size_t len,
                      uint32_t *xid, struct wire_in *results);
};

struct live {
    const struct live_config *config;
    struct live_options options;
    struct server *server;
    struct faults *faults;              /* rules of faults; they stay over a restart */
    char base[PATH_MAX];                /* holds export, second and state */
    char export[PATH_MAX];              /* as clients name it */
    char second[PATH_MAX];
    uint16_t nfs_port, mount_port;
    struct live_conn conn;              /* to the NFS port, TCP over IPv4 */
    struct live_auth auth;              /* whom the client calls as */
    struct live_security *security;     /* NULL: as auth says */
    nfs_fh3 root;                       /* of the export */
    uint32_t xid;
    struct live_memory *kept;
    struct live *beside;                /* further servers of the same test */
    uint8_t *message;                   /* LIVE_MESSAGE_MAX bytes to build calls in */
};

/*
 * Run each test on each configuration; returns what main() returns. Tests get a started struct live as *state.
 */
int live_main(const char *group, const struct CMUnitTest *tests, size_t count);

/* A server like this one beside it, stopped with it. options may be NULL. */
struct live *live_start_beside(struct live *srv, const struct live_options *options);

/* Start and stop by hand; the client calls as root, or as this process where that is not root. */
struct live *live_start(const struct live_config *config, const struct live_options *options);
void live_stop(struct live *srv);

/* Stop the server and start it again on the same directories and state; connections are new, handles stay. */
void live_restart(struct live *srv);

/* Have the exports read again with other options; "" or NULL: the export is gone. */
void live_reload(struct live *srv, const char *export_options, const char *second_options);

/* Have these exports(5) lines read in place of the exports; they are copied. */
void live_reload_lines(struct live *srv, const char *lines);

/* Add a rule of faults (server/fault_rule.h); returns its number. */
uint32_t live_fault(struct live *srv, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* How many calls a rule has matched, and for how many it has fired. */
void live_assert_fault(struct live *srv, uint32_t id, uint64_t matched, uint64_t fired);
void live_clear_faults(struct live *srv);

/* Skip the test, saying why, where it cannot be. */
void live_need_identities(struct live *srv);    /* callers are told apart: root, or a memory export */
void live_need_directory(struct live *srv);     /* the export is a directory of this machine */
void live_need_root(struct live *srv);          /* devices and other users' files can be made on it */
void live_need_ipv6(void);

/* Path on this machine of a name in the export, NULL for a memory export. */
const char *live_local(struct live *srv, const char *name);

/* size zeroed bytes that live as long as the server. */
void *live_keep(struct live *srv, size_t size);

/* Whom to call as from now on. */
void live_as(struct live *srv, uint32_t uid, uint32_t gid);
void live_as_member(struct live *srv, uint32_t uid, uint32_t gid, uint32_t ngids, const uint32_t *gids);
void live_as_nobody(struct live *srv);          /* AUTH_NONE */

/* Milliseconds since some moment in the past. */
uint64_t live_now_ms(void);
/* Wait until the clock of the file system has moved on. */
void live_tick(void);

/* ---- Sockets, calls and replies: live_rpc.c ---- */

/* The port is the NFS one. fails the test when it cannot connect. family: AF_INET or AF_INET6. */
struct live_conn live_connect(struct live *srv, int type, int family);
struct live_conn live_connect_to(const char *address, uint16_t port, int type);
void live_close(struct live_conn *conn);

/*
 * One call and its reply. res (zeroed by the caller) is decoded where codecs are given and the outcome is LIVE_SUCCESS;
 * its memory is the caller's to xdr_free().
 */
int live_call(struct live *srv, struct live_conn *conn, uint32_t prog, uint32_t vers, uint32_t proc,
              xdrproc_t args_codec, const void *args, xdrproc_t res_codec, void *res);

/* Everything in front of the arguments; fields may be changed to something wrong. */
struct live_header {
    uint32_t xid, mtype, rpcvers, prog, vers, proc;
    uint32_t cred_flavor, cred_len;
    uint8_t cred[8192];
    uint32_t verf_flavor, verf_len;
    uint8_t verf[512];
};
void live_make_header(struct live *srv, struct live_header *header, uint32_t prog, uint32_t vers, uint32_t proc);
void live_put_header(struct wire_out *out, const struct live_header *header);

/* A whole call with a fresh xid, without record mark; returns its length. */
size_t live_make_call(struct live *srv, uint8_t *out, size_t size, uint32_t prog, uint32_t vers, uint32_t proc,
                      xdrproc_t codec, const void *args);

/* GETATTR of the export's root as such a call. */
size_t live_getattr_call(struct live *srv, uint8_t call[LIVE_CALL_MAX]);

/* A fragment of a record with its mark; returns its length. */
size_t live_put_fragment(uint8_t *out, const void *bytes, size_t len, bool last);

/* Raw bytes. Returns false when the connection is broken, or would block for longer than LIVE_WAIT_MS. */
bool live_send(struct live_conn *conn, const void *bytes, size_t len);
/* One message: over TCP as a record of one fragment. */
bool live_send_message(struct live_conn *conn, const void *message, size_t len);

/* One reply: its length, LIVE_CLOSED or LIVE_TIMEOUT. The bytes are in *reply until the next call for this server. */
ssize_t live_receive(struct live *srv, struct live_conn *conn, int timeout_ms, const uint8_t **reply);
/* Take a reply apart: the outcome; results begin at *results, the xid is in *xid. */
int live_parse_reply(struct live_conn *conn, const uint8_t *reply, size_t len, uint32_t *xid, struct wire_in *results);

/* Whether the server closes the connection within that time; what it sends until then is thrown away. */
bool live_closes(struct live_conn *conn, int timeout_ms);
/* The next reply is a success of NFS, to the call with this xid. */
void live_assert_answered(struct live *srv, struct live_conn *conn, uint32_t xid);
/* GETATTR over this connection is answered. */
void live_assert_served(struct live *srv, struct live_conn *conn);
/* The server answers a new client: it is alive. */
void live_assert_alive(struct live *srv);

/* ---- NFS: live_nfs.c; names are C strings, and of names that are none the arguments are built by hand ---- */

/* Any NFS procedure over srv->conn: NULL unless the outcome is LIVE_SUCCESS; outcome may be NULL. */
void *live_try(struct live *srv, uint32_t proc, const void *args, int *outcome);
/* The same, and anything but LIVE_SUCCESS fails the test. */
void *live_nfs(struct live *srv, uint32_t proc, const void *args);
/* The codec and size of a procedure's result and arguments. */
xdrproc_t live_args_codec(uint32_t proc);
xdrproc_t live_res_codec(uint32_t proc);
size_t live_res_size(uint32_t proc);
const char *live_proc_name(uint32_t proc);

filename3 live_name(const char *name);
/* len times the letter c. */
filename3 live_long_name(struct live *srv, char c, size_t len);
sattr3 live_keep_all(void);                     /* changes nothing */
sattr3 live_mode(uint32_t mode);                /* sets the mode only */
sattr3 live_size(uint64_t size);
sattr3 live_owner(uint32_t uid, uint32_t gid);  /* UINT32_MAX: as it was */
sattr3 live_client_times(nfstime3 atime, nfstime3 mtime);
sattr3 live_server_times(void);

GETATTR3res *live_getattr(struct live *srv, const nfs_fh3 *file);
SETATTR3res *live_setattr(struct live *srv, const nfs_fh3 *file, sattr3 attr);
SETATTR3res *live_setattr_guarded(struct live *srv, const nfs_fh3 *file, sattr3 attr, nfstime3 ctime);
LOOKUP3res *live_lookup(struct live *srv, const nfs_fh3 *dir, const char *name);
ACCESS3res *live_access(struct live *srv, const nfs_fh3 *file, uint32_t bits);
READLINK3res *live_readlink(struct live *srv, const nfs_fh3 *link);
READ3res *live_read(struct live *srv, const nfs_fh3 *file, uint64_t offset, uint32_t count);
WRITE3res *live_write(struct live *srv, const nfs_fh3 *file, uint64_t offset, const void *data, uint32_t len,
                      stable_how stable);
CREATE3res *live_create(struct live *srv, const nfs_fh3 *dir, const char *name, createmode3 mode, sattr3 attr);
CREATE3res *live_create_exclusive(struct live *srv, const nfs_fh3 *dir, const char *name, const void *verifier);
MKDIR3res *live_mkdir(struct live *srv, const nfs_fh3 *dir, const char *name, sattr3 attr);
SYMLINK3res *live_symlink(struct live *srv, const nfs_fh3 *dir, const char *name, const char *text, sattr3 attr);
MKNOD3res *live_mknod(struct live *srv, const nfs_fh3 *dir, const char *name, ftype3 type, uint32_t major,
                      uint32_t minor, sattr3 attr);
REMOVE3res *live_remove(struct live *srv, const nfs_fh3 *dir, const char *name);
RMDIR3res *live_rmdir(struct live *srv, const nfs_fh3 *dir, const char *name);
RENAME3res *live_rename(struct live *srv, const nfs_fh3 *from, const char *name, const nfs_fh3 *to,
                        const char *new_name);
LINK3res *live_link(struct live *srv, const nfs_fh3 *file, const nfs_fh3 *dir, const char *name);
READDIR3res *live_readdir(struct live *srv, const nfs_fh3 *dir, uint64_t cookie, const char *verifier, uint32_t count);
READDIRPLUS3res *live_readdirplus(struct live *srv, const nfs_fh3 *dir, uint64_t cookie, const char *verifier,
                                  uint32_t dircount, uint32_t maxcount);
FSSTAT3res *live_fsstat(struct live *srv, const nfs_fh3 *file);
FSINFO3res *live_fsinfo(struct live *srv, const nfs_fh3 *file);
PATHCONF3res *live_pathconf(struct live *srv, const nfs_fh3 *file);
COMMIT3res *live_commit(struct live *srv, const nfs_fh3 *file, uint64_t offset, uint32_t count);

/* NFSACL. */
GETACL3res *live_getacl(struct live *srv, const nfs_fh3 *file, uint32_t mask);
SETACL3res *live_setacl(struct live *srv, const nfs_fh3 *file, uint32_t mask, const aclent *access, u_int count,
                        const aclent *defaults, u_int default_count);

/* What must work: the test fails otherwise. */
fattr3 live_attr(struct live *srv, const nfs_fh3 *file);
nfs_fh3 live_put(struct live *srv, const char *name, const void *data, size_t len);     /* in the root, mode 0644 */
nfs_fh3 live_file(struct live *srv, const nfs_fh3 *dir, const char *name, uint32_t mode);
nfs_fh3 live_dir(struct live *srv, const nfs_fh3 *dir, const char *name, uint32_t mode);
nfs_fh3 live_link_to(struct live *srv, const nfs_fh3 *dir, const char *name, const char *text);
nfs_fh3 live_find(struct live *srv, const nfs_fh3 *dir, const char *name);
void live_chown(struct live *srv, const nfs_fh3 *file, uint32_t uid, uint32_t gid);
void live_chmod(struct live *srv, const nfs_fh3 *file, uint32_t mode);
void live_write_all(struct live *srv, const nfs_fh3 *file, uint64_t offset, const void *data, size_t len);
/* How many names a directory holds, "." and ".." left out. */
size_t live_count(struct live *srv, const nfs_fh3 *dir);
bool live_has(struct live *srv, const nfs_fh3 *dir, const char *name);
void live_assert_content(struct live *srv, const nfs_fh3 *file, const void *data, size_t len);
bool live_same_handle(const nfs_fh3 *a, const nfs_fh3 *b);
bool live_same_time(nfstime3 a, nfstime3 b);

/* ---- MOUNT over a connection of its own ---- */

mountres3 *live_mnt(struct live *srv, const char *path);
mountres3 *live_mnt_bytes(struct live *srv, const char *path, size_t len);
fhstatus *live_mnt_v1(struct live *srv, const char *path);
mountlist live_dump(struct live *srv);
void live_umnt(struct live *srv, const char *path);
void live_umntall(struct live *srv);
mount_exports live_exports(struct live *srv);
nfs_fh3 live_mount(struct live *srv, const char *path);         /* must work */

#endif
