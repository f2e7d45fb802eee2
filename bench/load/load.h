/*
 * bench/load/load.h - what the files of nfsload share: a load generator for NFSv3, as wrk is one for HTTP.
 *
 * One thread drives some connections with a number of calls outstanding on each; a reply makes room for the next call.
 * A workload is a pair of functions: next() encodes a task's next call into its slot, done() checks the reply. A slot
 * is one call that may be outstanding; a task is a sequence of calls, such as CREATE and REMOVE of one file.
 *
 * nfsload does one run and ends: what is told on the command line, the state and the counters of the run are one each.
 * Failures to run at all end the program (die(), exit status 2); bad replies are counted and make the exit status 1.
 */
#ifndef RINGNFS_BENCH_LOAD_H
#define RINGNFS_BENCH_LOAD_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "bench/wire.h"

#define CALL_MAX 1536                   /* bytes of a call without a WRITE's payload */
#define BLOCK_MAX (8u << 20)            /* bytes of one READ or WRITE */
#define RX_CHUNK (256 * 1024)           /* bytes of one receive */
#define SLOT_BITS 10                    /* of an XID, they say which slot it is */
#define STALL_S 20                      /* seconds without any reply that end the run */
#define NAME_SIZE 32                    /* of the names that are made here */
#define CONTENT_ZERO UINT64_MAX         /* content of a sparse file */
#define CONTENT_REWRITTEN 4099          /* added to the content of what a workload has written */
#define HIST_SUB 32                     /* steps between two powers of two of a latency */
#define HIST_SIZE (60 * HIST_SUB)

struct file {
    struct fh fh;
    uint64_t fileid, size;
    uint64_t content;                   /* number of the pattern that it was made with */
    uint8_t *rewritten;                 /* for each block whether the workload wrote it; NULL: none */
    uint32_t acked;                     /* blocks acknowledged since the last COMMIT */
};

struct conn;

struct slot {
    struct conn *conn;
    uint32_t xid, index, proc;
    bool busy;
    bool verify;                        /* READ: the payload is compared with content */
    int step, tries;
    uint64_t sent_ns, first_ns;
    uint64_t asleep_until;

    /* The task in progress. */
    uint64_t task;
    struct file *file;
    uint64_t content, off;
    uint32_t len;
    struct fh fh;
    uint64_t cookie, entries;
    uint8_t cookieverf[8];
    uint8_t *seen;                      /* READDIR: for each entry whether it came already */

    size_t call_len;
    const uint8_t *payload;
    uint32_t payload_len;
    uint8_t call[CALL_MAX];
};

/* Records as they arrive. */
struct rx {
    uint8_t mark[4];
    uint32_t nmark, left;
    bool last;
    uint8_t *body;                      /* a message that came in pieces */
    size_t nbody, cap;
    struct slot *stream;                /* READ reply whose payload is passing by */
    uint64_t stream_off;
    uint32_t stream_len, stream_left, stream_pad;
};

struct conn {
    int fd;
    bool want_out;
    uint32_t xid_seq;
    struct slot *slots;
    struct iovec *q;                    /* calls that wait to be sent */
    size_t qhead, qtail, qcap;
    struct rx rx;
};

struct reply {
    struct in in;                       /* positioned after the NFS status */
    uint32_t status;
    uint32_t len;                       /* READ: payload bytes, already consumed */
    size_t bytes;
};

struct attr {
    bool present;
    uint32_t type;
    uint64_t size, fileid;
};

struct workload {
    const char *name, *help;
    void (*setup)(void);                /* makes the files; without next(): is the whole run */
    void (*next)(struct slot *s);
    void (*done)(struct slot *s, struct reply *r);
    void (*cleanup)(void);
    uint32_t bs;                        /* default block size; 0: moves no data */
};

/* What the command line says. */
struct options {
    const char *host, *from, *path, *workload;
    int nfs_port, mount_port;
    bool udp, verify, json, busy, trunc, keep, sparse, preferred;
    uint32_t conns, sockets, depth, bs, files, uid, gid, dircount, sample;
    uint32_t gids[16], ngids;
    uint64_t size, count, seed;
    double seconds, warmup;
    uint32_t pause_ms;
    int pids[256], npids;
    int cores[256], ncores;
};

/* The counters of the run; all but the errors begin anew when the warm-up is over. */
struct stats {
    uint64_t ops, tasks, bytes, entries, retrans;
    uint64_t compared;                  /* READs whose contents were compared, since the program began */
    uint64_t nfs_err, rpc_err, check_err, verify_err;
    struct { uint32_t code; uint64_t n; } status[32];
    int nstatus;
    uint64_t hist[HIST_SIZE], lat_max, lat_sum;
    double wall_s, client_s, server_s, machine_s;
};

/* The state of the run. */
struct load {
    struct fh root, dir;
    struct conn *conns;
    int sync_fd;                        /* for the calls before and after the workload, one by one */
    struct file *files;
    uint32_t nfiles;
    char dirname[64];
    uint8_t *pattern, *zeros, *rxbuf;
    uint8_t hdr[256];                   /* of an RPC call, to be copied */
    size_t hdr_len;
    int ep;
    uint64_t now, start, last_progress;
    bool measuring, draining;
    uint64_t next_task, task_limit, task_done, outstanding;
    struct slot **asleep;               /* a ring of all slots: those that pause, in the order in which they go on */
    size_t first_asleep, nasleep;
    const struct workload *wl;
    uint32_t rtmax, wtmax, rtpref, wtpref;
    uint64_t rng, reads;
    uint8_t writeverf[8];
    bool have_writeverf;
    uint32_t bs;
};

extern struct options options;
extern struct stats stats;
extern struct load load;

/* Each of these ends with a row without a name. */
extern const struct workload names_workloads[], dirs_workloads[], data_workloads[], mixed_workloads[],
    connect_workloads[], flood_workloads[];

/* base.c */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));      /* the first ten are shown */
void *xcalloc(size_t n, size_t size);
uint64_t now_ns(void);
uint64_t rnd(void);
void pattern_init(void);
const uint8_t *pattern_at(uint64_t content, uint64_t off);                      /* BLOCK_MAX bytes of it */

/* stats.c */
void count_status(uint32_t code);
uint64_t errors_total(void);
bool check(struct slot *s, bool ok, const char *what);                          /* returns ok; counts what is not */
void record(struct slot *s, size_t bytes);
void window_open(void);
void window_close(void);
void print_line(void);
void print_json(void);
extern const char *const proc_names[P_COUNT];

/* send.c */
int dial(int port, bool udp);                                                   /* a connected socket, or -1 */
uint8_t *put_header(uint8_t *p, uint32_t xid, uint32_t prog, uint32_t vers, uint32_t proc);
uint8_t *call_begin(struct slot *s, uint32_t proc);
void call_end(struct slot *s, uint8_t *p, const uint8_t *payload, uint32_t len);
void send_datagram(struct slot *s);
void flush(struct conn *c);

/* receive.c */
void start_tasks(struct slot *s);
void finish_task(struct slot *s);
void readable(struct conn *c);
void retransmit(void);

/* engine.c */
void sleep_slot(struct slot *s, uint64_t until);                                /* by load.now, after those that sleep */
void connect_all(void);
void run(const struct workload *wl);
void run_tasks(const struct workload *wl, uint64_t limit);                      /* to their end, unmeasured */

/* mount.c */
void find_ports(void);
bool ping(void);
void mount_export(void);
void unmount_export(void);
void get_fsinfo(void);
void make_dir(void);
void remove_dir(void);
void sync_make(uint32_t proc, const struct fh *dir, const char *name, struct fh *fh);      /* P_CREATE or P_MKDIR */
bool sync_readdirplus(uint32_t *status);

/* calls.c */
uint8_t *put_sattr(uint8_t *p, uint32_t mode);
uint8_t *put_name(uint8_t *p, const struct fh *dir, const char *name);
void call_fh(struct slot *s, uint32_t proc, const struct fh *fh);
void call_name(struct slot *s, uint32_t proc, const char *name);
void call_access(struct slot *s, const struct fh *fh);
void call_setattr(struct slot *s, const struct fh *fh, uint32_t mode);
void call_set_size(struct slot *s, struct file *f);
void call_read(struct slot *s, struct file *f, uint64_t off, uint32_t bs);
void call_write(struct slot *s, struct file *f, uint64_t off, uint32_t len, uint32_t stable, uint64_t content);
void call_commit(struct slot *s, struct file *f, uint64_t off, uint32_t count);
void call_create(struct slot *s, const char *name);
void call_mkdir(struct slot *s, const char *name);
void call_symlink(struct slot *s, const char *name, const char *target);
void call_rename(struct slot *s, const char *from, const char *to);
void call_readdir(struct slot *s, bool plus);

/* checks.c */
void get_fattr(struct in *in, struct attr *a);
void get_post_attr(struct in *in, struct attr *a);
bool get_reply_header(struct in *in);
void check_attr(struct slot *s, struct reply *r, uint32_t type, struct file *f);
void check_lookup(struct slot *s, struct reply *r, struct file *f);
void check_access(struct slot *s, struct reply *r);
void check_write(struct slot *s, struct reply *r, uint32_t stable);
void check_commit(struct slot *s, struct reply *r);
void check_wcc(struct slot *s, struct reply *r);
void check_created(struct slot *s, struct reply *r, uint32_t type);
void check_readlink(struct slot *s, struct reply *r, const char *want);
bool take_created(struct slot *s, struct reply *r, struct fh *fh, struct attr *a);

/* files.c */
const char *name_of(char *buf, char prefix, uint64_t i);                        /* buf: NAME_SIZE bytes */
struct file *task_file(struct slot *s);
void alloc_files(uint32_t n, uint64_t size);
void populate(void);
void make_files(uint32_t n, uint64_t size);                                     /* unless --files and --size say so */
void remove_files(void);
uint64_t blocks_per_file(void);
void readback(void);
void wcc_done(struct slot *s, struct reply *r);

#endif
