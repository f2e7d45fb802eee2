/*
 * bench/load/flood.c - workloads of the harmful kind: what a server must bear while it serves others.
 *
 * Nothing is measured or checked, only counted: a second nfsload beside this one tells what the others notice. Sockets
 * come from 40 addresses where a flood is of connections, else from one (--from). They are never waited for.
 */
#include "bench/load/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEPTH 400                       /* of the deep tree: its path is within MNTPATHLEN */
#define SENDER_BYTES 16384              /* of a call, at most */
#define LARGE_BYTES (1u << 20)          /* of the file that is read */
#define ADDRESSES 40
#define DEAF_BUFFER 4096                /* of those that do not read */
#define SILENT_US 1000                  /* between two looks at silent connections */

/* A socket, and how far its call has gone. */
struct sender {
    int fd;
    size_t at;
    uint8_t *record;
};

/* What they send, again and again, with other xids. */
struct flood {
    uint8_t record[SENDER_BYTES];
    size_t len;
    int port;
    size_t piece;                       /* bytes sent at once; 0: all */
    bool deaf;                          /* reads no reply */
    uint32_t xid;
    uint64_t end_ns;
};

/* From `from`, or any address of 127.0.1.0/24 by number. Returns a socket that does not block, or -1. */
static int
dial_from(int port, unsigned number, int receive_buffer)
{
    struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    struct sockaddr_in here = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

    inet_pton(AF_INET, options.host, &there.sin_addr);
    if (number > 0)
        here.sin_addr.s_addr = htonl(0x7f000100u + number);
    else if (options.from != NULL)
        inet_pton(AF_INET, options.from, &here.sin_addr);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (receive_buffer > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    if (bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0 ||
        (connect(fd, (struct sockaddr *)&there, sizeof(there)) < 0 && errno != EINPROGRESS)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void
hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int *
no_sockets(size_t n)
{
    int *fds = xcalloc(n, sizeof(*fds));

    for (size_t i = 0; i < n; i++)
        fds[i] = -1;
    return fds;
}

static void
give_up(int *fds)
{
    for (uint32_t i = 0; i < options.sockets; i++)
        hang_up(&fds[i]);
    free(fds);
}

static uint64_t
begin(void)
{
    window_open();
    return load.start + (uint64_t)(options.seconds * 1e9);
}

static void
end(void)
{
    window_close();
    stats.tasks = stats.ops;
}

/* ---- Calls without end ---- */

static void
take_replies(struct sender *sender)
{
    ssize_t n = 1;

    while (n > 0)
        n = recv(sender->fd, load.rxbuf, RX_CHUNK, 0);
    if (n == 0)
        hang_up(&sender->fd);
}

static void
send_on(struct flood *flood, struct sender *sender)
{
    size_t left;
    ssize_t n;

    if (sender->fd < 0) {
        sender->at = 0;
        sender->fd = dial_from(flood->port, 0, flood->deaf ? DEAF_BUFFER : 0);
        if (sender->fd < 0)
            return;
    }
    if (sender->at == 0)
        put32(sender->record + 4, flood->xid++);
    left = flood->len - sender->at;
    n = send(sender->fd, sender->record + sender->at, flood->piece != 0 ? MIN(flood->piece, left) : left, MSG_NOSIGNAL);
    if (n > 0) {
        sender->at = (sender->at + (size_t)n) % flood->len;
        stats.bytes += (uint64_t)n;
        stats.ops += sender->at == 0;
    }
    if (n < 0 && errno != EAGAIN)
        hang_up(&sender->fd);
    else if (!flood->deaf)
        take_replies(sender);
}

static void
send_calls(struct flood *flood)
{
    struct sender *senders = xcalloc(options.sockets, sizeof(*senders));

    put32(flood->record, LAST_FRAGMENT | (uint32_t)(flood->len - 4));
    for (uint32_t i = 0; i < options.sockets; i++) {
        senders[i] = (struct sender){ .fd = -1, .record = xcalloc(flood->len, 1) };
        memcpy(senders[i].record, flood->record, flood->len);
    }
    flood->end_ns = begin();
    while (now_ns() < flood->end_ns)
        for (uint32_t i = 0; i < options.sockets; i++)
            send_on(flood, &senders[i]);
    end();
    for (uint32_t i = 0; i < options.sockets; i++) {
        hang_up(&senders[i].fd);
        free(senders[i].record);
    }
    free(senders);
}

/* The position of the arguments in the flood's call. */
static uint8_t *
begin_call(struct flood *flood, int port, uint32_t prog, uint32_t proc)
{
    memset(flood, 0, sizeof(*flood));
    flood->port = port;
    flood->xid = (uint32_t)rnd();
    return put_header(flood->record + 4, 0, prog, 3, proc);
}

static void
run_call(struct flood *flood, const uint8_t *args_end)
{
    flood->len = (size_t)(args_end - flood->record);
    send_calls(flood);
}

static void
run_bytes(void)
{
    struct flood flood;
    uint8_t *p = begin_call(&flood, options.nfs_port, NFS_PROG, P_WRITE);
    struct fh file;

    sync_make(P_CREATE, &load.dir, "slow", &file);
    p = put32(put64(put_fh(p, &file), 0), 8192);
    p = put_opaque(put32(p, UNSTABLE), load.pattern, 8192);
    flood.piece = 1;
    run_call(&flood, p);
}

static void
run_xids(void)
{
    struct flood flood;
    uint8_t *p = begin_call(&flood, options.nfs_port, NFS_PROG, P_SETATTR);
    struct fh file;

    sync_make(P_CREATE, &load.dir, "changing", &file);
    p = put32(put_sattr(put_fh(p, &file), 0644), 0);    /* no guard */
    run_call(&flood, p);
}

/* READs of a whole file that ask for `count`, and nobody who reads them. */
static void
run_reads(uint32_t count)
{
    struct flood flood;
    uint8_t *p = begin_call(&flood, options.nfs_port, NFS_PROG, P_READ);

    make_files(1, LARGE_BYTES);
    p = put32(put64(put_fh(p, &load.files[0].fh), 0), count);
    flood.deaf = true;
    run_call(&flood, p);
}

static void
run_deaf(void)
{
    run_reads(LARGE_BYTES);
}

static void
run_giant_reads(void)
{
    run_reads(UINT32_MAX);
}

static void
run_giant_lists(void)
{
    struct flood flood;
    uint8_t *p = begin_call(&flood, options.nfs_port, NFS_PROG, P_READDIRPLUS);

    make_files(1000, 0);
    p = put64(put64(put_fh(p, &load.dir), 0), 0);
    p = put32(put32(p, UINT32_MAX), UINT32_MAX);
    run_call(&flood, p);
}

/* DEPTH directories, one in the other. `last` becomes the handle of the innermost. */
static void
make_deep(struct fh *last)
{
    *last = load.dir;
    for (int i = 0; i < DEPTH; i++) {
        struct fh dir = *last;

        sync_make(P_MKDIR, &dir, "d", last);
    }
}

/* From the end of a deep tree, one up: the server has to see whether that is still in the export. */
static void
run_deep(void)
{
    struct flood flood;
    uint8_t *p = begin_call(&flood, options.nfs_port, NFS_PROG, P_LOOKUP);
    struct fh dir;

    make_deep(&dir);
    run_call(&flood, put_name(p, &dir, ".."));
}

static void
run_paths(void)
{
    struct flood flood;
    uint8_t *p = begin_call(&flood, options.mount_port, MOUNT_PROG, MOUNT_MNT);
    char path[2048];
    struct fh dir;
    size_t len;

    make_deep(&dir);
    len = (size_t)snprintf(path, sizeof(path) - 2 * DEPTH, "%s/%s", options.path, load.dirname);
    for (int i = 0; i < DEPTH; i++, len += 2)
        memcpy(path + len, "/d", 3);
    if (len > 1024)
        die("%s is too long for a tree of %d directories below it", options.path, DEPTH);
    run_call(&flood, put_str(p, path));
}

/* ---- Connections without calls ---- */

/* Two bytes of a record's mark, or none, and silence. */
static void
run_silent(void)
{
    int *fds = no_sockets(options.sockets);
    uint64_t end_ns = begin();
    char byte;

    while (now_ns() < end_ns) {
        for (uint32_t i = 0; i < options.sockets; i++) {
            if (fds[i] >= 0 && recv(fds[i], &byte, 1, 0) != 0)
                continue;
            hang_up(&fds[i]);
            fds[i] = dial_from(options.nfs_port, 0, 0);
            if (fds[i] >= 0 && i % 2 == 0)
                send(fds[i], "\x80\0", 2, MSG_NOSIGNAL);
            stats.ops++;
        }
        usleep(SILENT_US);
    }
    end();
    give_up(fds);
}

/* --sockets at once, the oldest given up for a new one each time. */
static void
run_connections(void)
{
    int *fds = no_sockets(options.sockets);
    uint64_t end_ns = begin();

    while (now_ns() < end_ns) {
        for (uint32_t i = 0; i < options.sockets && now_ns() < end_ns; i++, stats.ops++) {
            hang_up(&fds[i]);
            fds[i] = dial_from(options.nfs_port, i % ADDRESSES + 1, 0);
        }
    }
    end();
    give_up(fds);
}

/* Records that are announced to be longer than any may be; half of them say that more will follow. */
static void
run_announcements(void)
{
    uint64_t end_ns = begin();

    for (unsigned turn = 0; now_ns() < end_ns; turn++) {
        int fd = dial_from(options.nfs_port, 0, 0);
        uint8_t mark[4];

        if (fd < 0)
            continue;
        put32(mark, turn % 2 == 0 ? UINT32_MAX : ~LAST_FRAGMENT);
        send(fd, mark, sizeof(mark), MSG_NOSIGNAL);
        send(fd, "and a little of it", 18, MSG_NOSIGNAL);
        close(fd);
        stats.ops++;
    }
    end();
}

const struct workload flood_workloads[] = {
    { "flood-bytes", "flood: WRITEs, a byte at a time", run_bytes, NULL, NULL, NULL, 0 },
    { "flood-silent", "flood: half-open connections", run_silent, NULL, NULL, NULL, 0 },
    { "flood-conns", "flood: --sockets connections, made and given up", run_connections, NULL, NULL, NULL, 0 },
    { "flood-4g", "flood: announcements of records of 4 GiB", run_announcements, NULL, NULL, NULL, 0 },
    { "flood-deaf", "flood: READs whose replies nobody reads", run_deaf, NULL, NULL, NULL, 0 },
    { "flood-xids", "flood: SETATTRs, each with an xid of its own", run_xids, NULL, NULL, NULL, 0 },
    { "flood-reads", "flood: READs of 4 GiB whose replies nobody reads", run_giant_reads, NULL, NULL, NULL, 0 },
    { "flood-lists", "flood: READDIRPLUS of 1000 files, of 4 GiB", run_giant_lists, NULL, NULL, NULL, 0 },
    { "flood-deep", "flood: LOOKUPs of .. 400 directories down", run_deep, NULL, NULL, NULL, 0 },
    { "flood-paths", "flood: MNTs of a path of 400 directories", run_paths, NULL, NULL, NULL, 0 },
    { 0 },
};
