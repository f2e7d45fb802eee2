/* rpc/listen.c - the sockets that calls arrive at: made, bound, accepting. */
#include "rpc/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/listen_local.h"
#include "rpc/turns.h"
#include "rpc/udp.h"

#define PORT_TRIES 64                   /* ports the kernel may offer until one is free everywhere */
#define ACCEPT_BATCH 64
#define ACCEPT_NS 50000                 /* and for no longer: to push out another connection for each takes its time */
#define ACCEPT_PAUSE_MS 100

/* What is being opened, for error lines. */
struct opening {
    const struct listen_config *config;
    struct listen_set *set;
    char *error;
    size_t error_size;
};

static uint16_t *
port_of(struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
                                          : &((struct sockaddr_in *)address)->sin_port;
}

static socklen_t
length_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

static bool
has_port(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

static bool
any_has_port(const struct sockaddr_storage *addresses, size_t naddresses)
{
    for (size_t i = 0; i < naddresses; i++)
        if (has_port(&addresses[i]))
            return true;
    return false;
}

/* Write the error line for a Unix socket; returns err. */
static int
explain_local(const struct opening *opening, const struct sockaddr_storage *address, int err)
{
    const char *path = ((const struct sockaddr_un *)address)->sun_path;

    if (err == -EADDRINUSE)
        snprintf(opening->error, opening->error_size, "socket %s is in use", path);
    else if (err == -EEXIST)
        snprintf(opening->error, opening->error_size, "%s is there and no socket", path);
    else
        snprintf(opening->error, opening->error_size, "socket %s: %s", path, strerror(-err));
    return err;
}

/* Write the error line for an address; returns err. */
static int
explain(const struct opening *opening, const struct sockaddr_storage *address, int type, uint16_t port, int err)
{
    const char *protocol = type == SOCK_STREAM ? "TCP" : "UDP";
    const void *ip = address->ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                                                    : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
    char text[INET6_ADDRSTRLEN] = "?";

    inet_ntop(address->ss_family, ip, text, sizeof(text));
    switch (err) {
    case -EADDRINUSE:
        snprintf(opening->error, opening->error_size, "%s port %u on %s is in use", protocol, port, text);
        break;
    case -EACCES:
    case -EPERM:
        snprintf(opening->error, opening->error_size, "no permission to bind %s port %u on %s", protocol, port, text);
        break;
    case -EADDRNOTAVAIL:
        snprintf(opening->error, opening->error_size, "address %s is not one of this machine", text);
        break;
    default:
        snprintf(opening->error, opening->error_size, "cannot open %s port %u on %s: %s", protocol, port, text,
                 strerror(-err));
        break;
    }
    return err;
}

static void
set_receive_buffer(int fd, uint32_t bytes)
{
    const int size = (int)MIN(bytes, INT32_MAX / 2);

    if (size > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/* A socket bound to address, whose port is filled in when it is 0. Returns the descriptor or -errno. */
static int
open_bound(struct sockaddr_storage *address, int type, int reuse_option)
{
    const int on = 1;
    socklen_t len = length_of(address);
    int fd = socket(address->ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int err;

    if (fd < 0)
        return -errno;
    if ((address->ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
        (reuse_option != 0 && setsockopt(fd, SOL_SOCKET, reuse_option, &on, sizeof(on)) < 0) ||
        (type == SOCK_DGRAM && udp_ask_for_local(fd, address->ss_family) < 0) ||
        bind(fd, (struct sockaddr *)address, len) < 0 || getsockname(fd, (struct sockaddr *)address, &len) < 0) {
        err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

/* Whether a socket is bound to this address, port included, and of this type. */
static bool
is_bound_to(int fd, const struct sockaddr_storage *address, int type)
{
    struct sockaddr_storage bound = { .ss_family = AF_UNSPEC };
    const struct sockaddr_in *in = (const struct sockaddr_in *)address, *in_bound = (const struct sockaddr_in *)&bound;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address, *in6_bound = (const struct sockaddr_in6 *)&bound;
    socklen_t len = sizeof(bound), type_len = sizeof(int);
    int bound_type;

    if (getsockname(fd, (struct sockaddr *)&bound, &len) < 0 || bound.ss_family != address->ss_family ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &bound_type, &type_len) < 0 || bound_type != type)
        return false;
    if (bound.ss_family == AF_INET)
        return in->sin_port == in_bound->sin_port && in->sin_addr.s_addr == in_bound->sin_addr.s_addr;
    return in6->sin6_port == in6_bound->sin6_port && in6->sin6_scope_id == in6_bound->sin6_scope_id &&
           memcmp(&in6->sin6_addr, &in6_bound->sin6_addr, sizeof(in6->sin6_addr)) == 0;
}

/* One of the inherited sockets, which is the caller's then; -1: there is none for this address. */
static int
take_inherited(const struct listen_config *config, const struct sockaddr_storage *address, int type)
{
    for (size_t i = 0; i < config->ninherited; i++) {
        int fd = config->inherited[i];

        if (fd < 0 || !is_bound_to(fd, address, type))
            continue;
        config->inherited[i] = -1;
        return fd;
    }
    return -1;
}

static void
add_socket(struct opening *opening, int fd, int type, unsigned worker, const struct sockaddr_storage *address)
{
    opening->set->sockets[opening->set->count++] =
        (struct listen_socket){ .fd = fd, .type = type, .worker = worker, .address = *address };
}

/* Port 0 becomes the one the kernel chose, in address. */
static int
open_stream(struct opening *opening, struct sockaddr_storage *address)
{
    int fd = take_inherited(opening->config, address, SOCK_STREAM);
    int err;

    if (fd < 0)
        fd = open_bound(address, SOCK_STREAM, SO_REUSEADDR);
    if (fd < 0)
        return fd;
    if (listen(fd, opening->config->backlog) < 0) {
        err = -errno;
        close(fd);
        return err;
    }
    add_socket(opening, fd, SOCK_STREAM, 0, address);
    return 0;
}

/* All that there are, be it more than workers: datagrams wait in each. */
static unsigned
take_datagrams(struct opening *opening, const struct sockaddr_storage *address)
{
    unsigned count = 0;
    int fd;

    while ((fd = take_inherited(opening->config, address, SOCK_DGRAM)) >= 0) {
        set_receive_buffer(fd, opening->config->udp_buffer);
        add_socket(opening, fd, SOCK_DGRAM, count++ % MAX(1, opening->config->udp_sockets), address);
    }
    return count;
}

/*
 * Our datagram sockets share the port. A first one, which would not, finds out whether somebody else has it: another
 * server that is ready to share would go unnoticed and take a part of our calls.
 */
static int
open_datagram(struct opening *opening, struct sockaddr_storage *address)
{
    unsigned worker = take_datagrams(opening, address);
    int fd = worker > 0 ? -1 : open_bound(address, SOCK_DGRAM, 0);

    if (worker == 0 && fd < 0)
        return fd;
    if (worker == 0)
        close(fd);
    for (; worker < MAX(1, opening->config->udp_sockets); worker++) {
        fd = open_bound(address, SOCK_DGRAM, SO_REUSEPORT);
        if (fd < 0)
            return fd;
        set_receive_buffer(fd, opening->config->udp_buffer);
        add_socket(opening, fd, SOCK_DGRAM, worker, address);
    }
    return 0;
}

static int
open_address(struct opening *opening, const struct sockaddr_storage *address, int type)
{
    struct sockaddr_storage bound = *address;
    int err;

    *port_of(&bound) = htons(opening->set->port);
    err = type == SOCK_STREAM ? open_stream(opening, &bound) : open_datagram(opening, &bound);
    if (err < 0)
        return explain(opening, address, type, opening->set->port, err);
    opening->set->port = ntohs(*port_of(&bound));
    return 0;
}

static void
close_sockets(struct listen_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->sockets[i].fd >= 0)
            close(set->sockets[i].fd);
        if (set->sockets[i].address.ss_family == AF_UNIX)
            listen_local_remove(&set->sockets[i]);
    }
    set->count = 0;
}

static int
open_all(struct opening *opening, const struct sockaddr_storage *addresses, size_t naddresses)
{
    int err = 0;

    opening->set->port = opening->config->port != 0 ? opening->config->port : opening->config->inherited_port;
    for (size_t i = 0; i < naddresses && err == 0; i++) {
        if (!has_port(&addresses[i]))
            continue;
        if (opening->config->tcp)
            err = open_address(opening, &addresses[i], SOCK_STREAM);
        if (opening->config->udp && err == 0)
            err = open_address(opening, &addresses[i], SOCK_DGRAM);
    }
    if (err < 0)
        close_sockets(opening->set);
    return err;
}

static int
open_locals(struct opening *opening, const struct sockaddr_storage *addresses, size_t naddresses)
{
    int err = 0;

    for (size_t i = 0; i < naddresses && err == 0; i++) {
        if (addresses[i].ss_family != AF_UNIX || opening->config->skip_local)
            continue;
        err = listen_local_open(&addresses[i], opening->config->backlog, &opening->set->sockets[opening->set->count]);
        if (err < 0)
            explain_local(opening, &addresses[i], err);
        else
            opening->set->count++;
    }
    return err;
}

/* All of IPv4 and, where this machine has it, of IPv6. Returns how many addresses that are. */
static size_t
all_addresses(struct sockaddr_storage addresses[2])
{
    struct sockaddr_storage probe;
    int fd;

    memset(addresses, 0, 2 * sizeof(addresses[0]));
    addresses[0].ss_family = AF_INET;
    addresses[1].ss_family = AF_INET6;
    probe = addresses[1];
    fd = open_bound(&probe, SOCK_DGRAM, 0);
    if (fd < 0)
        return 1;
    close(fd);
    return 2;
}

int
listen_open(const struct listen_config *config, struct listen_set *set, char *error, size_t error_size)
{
    struct opening opening = { .config = config, .set = set, .error = error, .error_size = error_size };
    struct sockaddr_storage any[2];
    const struct sockaddr_storage *addresses = config->addresses;
    size_t naddresses = config->naddresses;
    int err = -EADDRINUSE;

    memset(set, 0, sizeof(*set));
    if (naddresses == 0) {
        naddresses = all_addresses(any);
        addresses = any;
    }
    set->sockets = calloc(naddresses * (1 + MAX(1, config->udp_sockets)) + config->ninherited, sizeof(*set->sockets));
    if (set->sockets == NULL) {
        snprintf(error, error_size, "no memory");
        return -ENOMEM;
    }
    for (unsigned i = 0; i < PORT_TRIES && err == -EADDRINUSE; i++) {
        err = open_all(&opening, addresses, naddresses);
        if (config->port != 0 || config->inherited_port != 0)
            break;
    }
    if (err == 0)
        err = open_locals(&opening, addresses, naddresses);
    if (!any_has_port(addresses, naddresses))
        set->port = 0;
    if (err < 0)
        listen_close(set);
    return err;
}

void
listen_close(struct listen_set *set)
{
    close_sockets(set);
    free(set->sockets);
    set->sockets = NULL;
}

struct listener {
    struct loop *loop;
    struct loop_fd watch;
    struct loop_timer pause;
    bool paused;                        /* by listener_pause() */
    int fd;
    void (*accepted)(void *context, int fd);
    void *context;
};

static void
pause_over(struct loop_timer *timer)
{
    struct listener *listener = (struct listener *)((char *)timer - offsetof(struct listener, pause));

    loop_events(listener->loop, &listener->watch, listener->paused ? 0 : EV_READ);
}

void
listener_pause(struct listener *listener, bool pause)
{
    listener->paused = pause;
    loop_events(listener->loop, &listener->watch, pause ? 0 : EV_READ);
}

/* Errors that concern one connection only, which is gone (accept(2)). */
static bool
is_passing(int err)
{
    switch (err) {
    case EINTR:
    case ECONNABORTED:
    case EPERM:
    case EPROTO:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
        return true;
    default:
        return false;
    }
}

static void
listener_ready(struct loop_fd *watch, int events)
{
    struct listener *listener = (struct listener *)((char *)watch - offsetof(struct listener, watch));
    uint64_t end_ns = turns_clock_ns() + ACCEPT_NS;
    int fd;

    (void)events;
    for (unsigned i = 0; i < ACCEPT_BATCH && (i == 0 || turns_clock_ns() < end_ns); i++) {
        fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            listener->accepted(listener->context, fd);
            continue;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        if (is_passing(errno))
            continue;
        loop_events(listener->loop, &listener->watch, 0);
        loop_timer_start(listener->loop, &listener->pause, ACCEPT_PAUSE_MS, pause_over);
        return;
    }
}

int
listener_new(struct loop *loop, int fd, void (*accepted)(void *context, int fd), void *context,
             struct listener **out)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (listener == NULL)
        return -ENOMEM;
    listener->loop = loop;
    listener->fd = fd;
    listener->accepted = accepted;
    listener->context = context;
    loop_watch(loop, &listener->watch, fd, EV_READ, listener_ready);
    *out = listener;
    return 0;
}

void
listener_free(struct listener *listener)
{
    if (listener == NULL)
        return;
    loop_unwatch(listener->loop, &listener->watch);
    loop_timer_stop(listener->loop, &listener->pause);
    close(listener->fd);
    free(listener);
}
