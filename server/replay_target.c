/* server/replay_target.c - see replay_target.h. */
#include "server/replay_target.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rpc/rpc.h>
#include <rpc/pmap_clnt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rpc/call.h"
#include "rpc/loop.h"
#include "xdr/mount3.h"
#include "xdr/nfs3.h"

#define NFS_USUAL_PORT 2049
#define MESSAGE_MAX ((size_t)16 << 20)  /* bytes of a call or reply */
#define LAST_FRAGMENT 0x80000000u
#define PORT_TEXT 8

struct replay_target {
    char *host;
    uint16_t port, mount_port;
    int timeout_ms;
    int nfs, mount;                     /* sockets; -1: not connected */
    uint32_t xid;
    uint8_t *message;                   /* MESSAGE_MAX bytes: the call, then the reply */
};

static int
fail(int err, const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s: %s", what, strerror(-err));
    return err;
}

/* Servers often want a port that only root can have. */
static int
new_socket(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_storage any = { .ss_family = (sa_family_t)address->ai_family };

    if (fd < 0)
        return -errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (geteuid() == 0)
        bindresvport_sa(fd, (struct sockaddr *)&any);   /* without one it is tried as well */
    return fd;
}

static int
connect_to(const char *host, uint16_t port, struct sockaddr_storage *peer, char *error, size_t error_size)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *list, *address;
    char text[PORT_TEXT], what[NI_MAXHOST + PORT_TEXT];
    int fd = -1, err;

    snprintf(text, sizeof(text), "%u", port);
    snprintf(what, sizeof(what), "%s, port %u", host, port);
    err = getaddrinfo(host, text, &hints, &list);
    if (err != 0) {
        snprintf(error, error_size, "%s: %s", host, gai_strerror(err));
        return -EINVAL;
    }
    err = -EADDRNOTAVAIL;
    for (address = list; address != NULL && err < 0; address = address->ai_next) {
        fd = new_socket(address);
        err = fd < 0 ? fd : connect(fd, address->ai_addr, address->ai_addrlen) < 0 ? -errno : 0;
        if (err < 0 && fd >= 0)
            close(fd);
        if (err == 0)
            memcpy(peer, address->ai_addr, address->ai_addrlen);
    }
    freeaddrinfo(list);
    return err < 0 ? fail(err, what, error, error_size) : fd;
}

/* MOUNT has the port that it was given, or that rpcbind there tells; else NFS's. */
static uint16_t
find_mount_port(const struct replay_target_config *config, const struct sockaddr_storage *peer)
{
    struct sockaddr_in address;
    uint16_t found;

    if (config->mount_port != 0)
        return config->mount_port;
    if (config->port != 0 || peer->ss_family != AF_INET)
        return config->port != 0 ? config->port : NFS_USUAL_PORT;
    memcpy(&address, peer, sizeof(address));
    found = pmap_getport(&address, MOUNT_PROGRAM, MOUNT_V3, IPPROTO_TCP);
    return found != 0 ? found : NFS_USUAL_PORT;
}

int
replay_target_open(const struct replay_target_config *config, struct replay_target **out, char *error, size_t error_size)
{
    struct replay_target *target = calloc(1, sizeof(*target));
    struct sockaddr_storage peer;

    if (target == NULL)
        return fail(-ENOMEM, config->host, error, error_size);
    target->nfs = target->mount = -1;
    target->host = strdup(config->host);
    target->message = malloc(MESSAGE_MAX);
    target->port = config->port != 0 ? config->port : NFS_USUAL_PORT;
    target->timeout_ms = config->timeout_ms;
    target->xid = (uint32_t)getpid() << 16;
    if (target->host == NULL || target->message == NULL)
        target->nfs = fail(-ENOMEM, config->host, error, error_size);
    else
        target->nfs = connect_to(target->host, target->port, &peer, error, error_size);
    if (target->nfs < 0) {
        int err = target->nfs;

        replay_target_close(target);
        return err;
    }
    target->mount_port = find_mount_port(config, &peer);
    *out = target;
    return 0;
}

void
replay_target_close(struct replay_target *target)
{
    if (target == NULL)
        return;
    if (target->nfs >= 0)
        close(target->nfs);
    if (target->mount >= 0)
        close(target->mount);
    free(target->message);
    free(target->host);
    free(target);
}

/* Send or receive all of these bytes. Returns 0 or -errno. */
static int
move(const struct replay_target *target, int fd, uint8_t *bytes, size_t len, bool out)
{
    struct pollfd ready = { .fd = fd, .events = out ? POLLOUT : POLLIN };

    while (len > 0) {
        ssize_t n;

        if (poll(&ready, 1, target->timeout_ms) <= 0)
            return -ETIMEDOUT;
        n = out ? send(fd, bytes, len, MSG_NOSIGNAL) : recv(fd, bytes, len, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ECONNRESET;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static int
receive_record(const struct replay_target *target, int fd, size_t *len)
{
    uint8_t mark_bytes[4];
    uint32_t mark = 0;
    int err = 0;

    for (*len = 0; err == 0 && (mark & LAST_FRAGMENT) == 0; *len += mark & ~LAST_FRAGMENT) {
        err = move(target, fd, mark_bytes, sizeof(mark_bytes), false);
        memcpy(&mark, mark_bytes, sizeof(mark));
        mark = be32toh(mark);
        if (err == 0 && (mark & ~LAST_FRAGMENT) > MESSAGE_MAX - *len)
            err = -EMSGSIZE;
        if (err == 0)
            err = move(target, fd, target->message + *len, mark & ~LAST_FRAGMENT, false);
    }
    return err;
}

static void
put_auth(struct wire_out *out, const struct ringnfs_call *call)
{
    static const char machine[] = "ringnfsctl";

    if (call->flavor == CALL_AUTH_NONE) {
        wire_put_u64(out, 0);
    } else {
        wire_put_u32(out, CALL_AUTH_SYS);
        wire_put_u32(out, (uint32_t)(20 + wire_padded(sizeof(machine) - 1) + 4 * call->ngroups));
        wire_put_u32(out, 0);
        wire_put_opaque(out, machine, sizeof(machine) - 1);
        wire_put_u32(out, call->uid);
        wire_put_u32(out, call->gid);
        wire_put_u32(out, (uint32_t)call->ngroups);
        for (size_t i = 0; i < call->ngroups; i++)
            wire_put_u32(out, call->groups[i]);
    }
    wire_put_u64(out, 0);
}

/* Returns the length of the record, or 0 when it is too long. */
static size_t
make_call(struct replay_target *target, const struct ringnfs_call *call, const uint8_t *args, size_t args_len)
{
    struct wire_out out = { target->message, target->message + MESSAGE_MAX, false };
    const uint32_t words[] = { 0, ++target->xid, 0, 2, call->program, call->version, call->procedure };
    uint32_t mark;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        wire_put_u32(&out, words[i]);
    put_auth(&out, call);
    if (out.full || wire_room(&out) < args_len)
        return 0;
    if (args_len > 0)
        memcpy(out.p, args, args_len);
    out.p += args_len;
    mark = htobe32(LAST_FRAGMENT | (uint32_t)(out.p - target->message - 4));
    memcpy(target->message, &mark, sizeof(mark));
    return (size_t)(out.p - target->message);
}

static int
read_reply(const struct replay_target *target, size_t size, const uint8_t **results, size_t *len, char *error,
           size_t error_size)
{
    struct wire_in in = { target->message, target->message + size, false };
    uint32_t xid = wire_get_u32(&in), type = wire_get_u32(&in), denied = wire_get_u32(&in), verifier_len, outcome;

    if (in.bad || xid != target->xid || type != 1)
        return fail(-EPROTO, target->host, error, error_size);
    if (denied != 0)
        return fail(-EPERM, "the server takes no such credentials", error, error_size);
    wire_get_u32(&in);
    wire_get_opaque(&in, 400, &verifier_len);
    outcome = wire_get_u32(&in);
    if (in.bad || outcome > CALL_SYSTEM_ERR)
        return fail(-EPROTO, target->host, error, error_size);
    *results = in.p;
    *len = wire_left(&in);
    return (int)outcome;
}

int
replay_target_call(struct replay_target *target, const struct ringnfs_call *call, const uint8_t *args, size_t args_len,
                   const uint8_t **results, size_t *len, char *error, size_t error_size)
{
    bool mounts = call->program == MOUNT_PROGRAM && target->mount_port != target->port;
    size_t size = make_call(target, call, args, args_len);
    struct sockaddr_storage peer;
    int err;

    if (mounts && target->mount < 0) {
        target->mount = connect_to(target->host, target->mount_port, &peer, error, error_size);
        if (target->mount < 0)
            return target->mount;
    }
    if (size == 0)
        return fail(-EMSGSIZE, "the call", error, error_size);
    err = move(target, mounts ? target->mount : target->nfs, target->message, size, true);
    if (err == 0)
        err = receive_record(target, mounts ? target->mount : target->nfs, &size);
    return err < 0 ? fail(err, target->host, error, error_size)
                   : read_reply(target, size, results, len, error, error_size);
}
