/* bench/load/mount.c - calls one by one: MOUNT, FSINFO, the directory to work in. */
#include "bench/load/load.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

static uint8_t sync_buf[1 << 20];

static bool
read_full(int fd, uint8_t *p, size_t n)
{
    while (n) {
        ssize_t r = recv(fd, p, n, 0);

        if (r <= 0)
            return false;
        p += r;
        n -= (size_t)r;
    }
    return true;
}

static ssize_t
sync_recv_tcp(int fd)
{
    size_t n = 0;
    bool last = false;

    while (!last) {
        uint8_t m[4];
        struct in in = { m, m + 4, false };
        uint32_t v;

        if (!read_full(fd, m, 4))
            return -1;
        v = get32(&in);
        last = v & LAST_FRAGMENT;
        v &= ~LAST_FRAGMENT;
        if (n + v > sizeof(sync_buf) || !read_full(fd, sync_buf + n, v))
            return -1;
        n += v;
    }
    return (ssize_t)n;
}

static ssize_t
sync_exchange(int fd, bool udp, uint8_t *call, size_t n)
{
    int i;

    if (!udp) {
        put32(call, LAST_FRAGMENT | (uint32_t)(n - 4));
        if (send(fd, call, n, MSG_NOSIGNAL) != (ssize_t)n)
            return -1;
        return sync_recv_tcp(fd);
    }
    for (i = 0; i < 5; i++) {
        struct pollfd p = { .fd = fd, .events = POLLIN };

        if (send(fd, call + 4, n - 4, 0) < 0)
            return -1;
        if (poll(&p, 1, 1000) > 0)
            return recv(fd, sync_buf, sizeof(sync_buf), 0);
    }
    return -1;
}

/* One call on an open socket, with at most 1 KiB of arguments. When it was executed, `in` is at the results. */
static bool
sync_call(int fd, bool udp, uint32_t prog, uint32_t vers, uint32_t proc, const uint8_t *args, size_t nargs,
          struct in *in)
{
    uint8_t call[2048], *p;
    ssize_t n;

    p = put_header(call + 4, (uint32_t)rnd(), prog, vers, proc);
    memcpy(p, args, nargs);
    p += nargs;
    n = sync_exchange(fd, udp, call, (size_t)(p - call));
    if (n < 0)
        return false;
    *in = (struct in){ sync_buf, sync_buf + n, false };
    return get_reply_header(in);
}

/* A one-off call on its own connection. */
static bool
port_call(int port, bool udp, uint32_t prog, uint32_t vers, uint32_t proc, const uint8_t *args, size_t nargs,
          struct in *in)
{
    int fd = dial(port, udp);
    bool ok;

    if (fd < 0)
        return false;
    ok = sync_call(fd, udp, prog, vers, proc, args, nargs, in);
    close(fd);
    return ok;
}

static bool
nfs_call(uint32_t proc, const uint8_t *args, const uint8_t *end, struct in *in, uint32_t *status)
{
    if (!sync_call(load.sync_fd, options.udp, NFS_PROG, 3, proc, args, (size_t)(end - args), in))
        die("%s: no valid reply", proc_names[proc]);
    *status = get32(in);
    return *status == 0;
}

static int
rpcbind_port(uint32_t prog, uint32_t vers)
{
    uint8_t args[16], *p = args;
    struct in in;

    p = put32(p, prog);
    p = put32(p, vers);
    p = put32(p, options.udp ? IPPROTO_UDP : IPPROTO_TCP);
    p = put32(p, 0);
    if (!port_call(111, true, PMAP_PROG, 2, PMAP_GETPORT, args, (size_t)(p - args), &in))
        die("rpcbind does not answer; give --nfs-port and --mount-port");
    return (int)get32(&in);
}

void
find_ports(void)
{
    if (!options.nfs_port)
        options.nfs_port = rpcbind_port(NFS_PROG, 3);
    if (!options.mount_port)
        options.mount_port = rpcbind_port(MOUNT_PROG, 3);
    if (!options.nfs_port || !options.mount_port)
        die("NFS or MOUNT v3 is not registered with rpcbind");
}

bool
ping(void)
{
    struct in in;

    return port_call(options.nfs_port, options.udp, NFS_PROG, 3, P_NULL, NULL, 0, &in) &&
           port_call(options.mount_port, options.udp, MOUNT_PROG, 3, MOUNT_NULL, NULL, 0, &in);
}

void
mount_export(void)
{
    uint8_t args[1100], *p = put_str(args, options.path);
    struct in in;
    uint32_t status;

    if (!port_call(options.mount_port, options.udp, MOUNT_PROG, 3, MOUNT_MNT, args, (size_t)(p - args), &in))
        die("MOUNT: no valid reply on port %d", options.mount_port);
    status = get32(&in);
    if (status)
        die("MOUNT of %s: status %u", options.path, status);
    if (!get_fh(&in, &load.root))
        die("MOUNT: bad file handle");
    load.sync_fd = dial(options.nfs_port, options.udp);
    if (load.sync_fd < 0)
        die("cannot connect to port %d", options.nfs_port);
}

void
unmount_export(void)
{
    uint8_t args[1100], *p = put_str(args, options.path);
    struct in in;

    port_call(options.mount_port, options.udp, MOUNT_PROG, 3, MOUNT_UMNT, args, (size_t)(p - args), &in);
}

void
get_fsinfo(void)
{
    uint8_t args[80], *p = put_fh(args, &load.root);
    struct in in;
    struct attr a;
    uint32_t status;

    if (!nfs_call(P_FSINFO, args, p, &in, &status))
        die("FSINFO: status %u", status);
    get_post_attr(&in, &a);
    load.rtmax = get32(&in);
    load.rtpref = get32(&in);
    get_bytes(&in, 4);                  /* rtmult */
    load.wtmax = get32(&in);
    load.wtpref = get32(&in);
    if (in.bad)
        die("FSINFO: bad reply");
}

static bool
sync_lookup(const struct fh *dir, const char *name, struct fh *fh)
{
    uint8_t args[512], *p = put_name(args, dir, name);
    struct in in;
    uint32_t status;

    return nfs_call(P_LOOKUP, args, p, &in, &status) && get_fh(&in, fh);
}

void
sync_make(uint32_t proc, const struct fh *dir, const char *name, struct fh *fh)
{
    uint8_t args[512], *p = put_name(args, dir, name);
    struct in in;
    uint32_t status;

    if (proc == P_CREATE)
        p = put32(p, 0);                /* UNCHECKED */
    p = put_sattr(p, 0755);
    if (!nfs_call(proc, args, p, &in, &status))
        die("%s %s: status %u", proc_names[proc], name, status);
    if ((get32(&in) != 1 || !get_fh(&in, fh)) && !sync_lookup(dir, name, fh))
        die("%s %s: no file handle", proc_names[proc], name);
}

void
make_dir(void)
{
    snprintf(load.dirname, sizeof(load.dirname), "nfsload.%d.%06x", (int)getpid(), (unsigned)(rnd() & 0xffffff));
    sync_make(P_MKDIR, &load.root, load.dirname, &load.dir);
}

void
remove_dir(void)
{
    uint8_t args[512], *p = put_name(args, &load.root, load.dirname);
    struct in in;
    uint32_t status;

    if (!nfs_call(P_RMDIR, args, p, &in, &status)) {
        count_status(status);
        complain("RMDIR %s: status %u", load.dirname, status);
    }
}

bool
sync_readdirplus(uint32_t *status)
{
    uint8_t args[128], *p = put_fh(args, &load.root);
    struct in in;

    p = put64(put64(p, 0), 0);
    p = put32(put32(p, 4096), 8192);
    return nfs_call(P_READDIRPLUS, args, p, &in, status);
}
