/*
 * bench/ceiling/ceiling.h - nfsceiling: what this machine could serve at most.
 *
 * It answers the calls of nfsload from memory, on one thread: names and attributes live in a table, file data in one
 * backing file in the page cache. No rights are checked, no replies kept, no file system asked for names. What a real
 * server needs, divided by what this one needs, tells what the real work costs - and the waste. It speaks only as much
 * of the protocol as nfsload uses, trusts its caller, and must be used for nothing else.
 *
 * One run a process: its state is one. Errors end it, die() says why.
 */
#ifndef RINGNFS_BENCH_CEILING_H
#define RINGNFS_BENCH_CEILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/wire.h"

#define REPLY_MAX (128 * 1024)          /* bytes of a reply built in memory */
#define REGION 30                       /* log2 of a file's share of the backing file, in bytes */
#define FILE_MAX ((1ull << REGION) - 1)

/* Wrong on purpose, for a test of nfsload: each must be found out. */
enum lie {
    LIE_NONE,
    LIE_DAMAGE,                         /* some bytes of what was written are others when they are read */
    LIE_FORGET,                         /* what is written over existing data is dropped */
    LIE_STATUS,                         /* GETATTR fails */
    LIE_SIZE,                           /* attributes with another size */
    LIE_COUNT,                          /* WRITE takes less than it was given */
    LIE_UNSTABLE,                       /* a stable WRITE is not stable */
    LIE_ENTRY,                          /* an entry is missing in a directory */
};

struct ceiling {
    int port, mount_port;
    const char *file;                   /* the backing file; it has no name once it is open */
    bool read_by_copy;                  /* READ by pread and send instead of sendfile */
    uint32_t iomax;                     /* rtmax and wtmax, bytes */
    uint32_t inline_max;                /* READs up to so many bytes are always copied */
    enum lie lie;
    int backing;
};

/* A file or directory: number 0 is the root. */
struct node {
    uint32_t type, parent, slot, hash_next;
    uint64_t size, mtime;
    char name[40], target[40];
    uint32_t *children;                 /* directories: a node per slot, 0 is free */
    uint32_t nslots, hint;
    bool used;
};

struct call {
    uint32_t xid, prog, proc;
};

extern struct ceiling ceiling;
extern struct node *nodes;
extern uint32_t nnodes;

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* tree.c */
uint32_t find(uint32_t dir, const uint8_t *name, uint32_t len);
void link_node(uint32_t i, uint32_t dir, const uint8_t *name, uint32_t len);
void unlink_node(uint32_t i);
uint32_t new_node(uint32_t type);
void drop_node(uint32_t i);
off_t data_at(uint32_t i, uint64_t off);                /* where in the backing file */
bool set_size(uint32_t i, uint64_t size);               /* false: larger than FILE_MAX */
void store(uint32_t i, uint64_t off, const uint8_t *data, size_t n);
void *grow(void *p, size_t n);

/* calls.c: each put_ function appends to a reply and returns its new end. */
bool get_call(struct in *in, struct call *c);
bool get_node(struct in *in, uint32_t *i);
uint8_t *answer(struct call *call, struct in *in, uint8_t *p);
uint8_t *put_reply(uint8_t *p, uint32_t xid);
uint8_t *put_read_head(uint8_t *p, uint32_t i, uint64_t off, uint32_t count);
uint8_t *put_written(uint8_t *p, uint32_t i, uint32_t count, uint32_t how);
uint32_t clip(uint32_t i, uint64_t off, uint32_t count);

/* net.c: never returns. */
void serve_forever(void);

#endif
