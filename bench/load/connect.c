/* bench/load/connect.c - a workload of its own kind: bursts of --depth connections, each for one call of NULL. */
#include "bench/load/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* One of a burst: its slot has the call, and when it began. */
struct caller {
    struct slot *slot;
    int fd;
};

struct burst {
    struct sockaddr_in server;
    struct slot *slots;
    struct caller *callers;
    uint32_t left;
    int ep;
};

static void
begin(struct burst *burst, struct caller *caller)
{
    struct epoll_event ev = { .events = EPOLLOUT, .data.ptr = caller };

    caller->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (caller->fd < 0)
        die("socket: %s", strerror(errno));
    caller->slot->first_ns = now_ns();
    if (connect(caller->fd, (struct sockaddr *)&burst->server, sizeof(burst->server)) < 0 && errno != EINPROGRESS)
        die("connect: %s", strerror(errno));
    epoll_ctl(burst->ep, EPOLL_CTL_ADD, caller->fd, &ev);
}

static void
end(struct burst *burst, struct caller *caller, bool answered)
{
    close(caller->fd);
    burst->left--;
    load.now = now_ns();
    if (!answered)
        stats.rpc_err++;
    else if (load.measuring)
        record(caller->slot, 0);
}

static void
go_on(struct burst *burst, struct caller *caller)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.ptr = caller };
    struct slot *slot = caller->slot;
    uint8_t reply[64];

    if (slot->busy) {
        end(burst, caller, recv(caller->fd, reply, sizeof(reply), 0) == 4 + 24);      /* a mark, and SUCCESS without results */
        return;
    }
    slot->busy = true;
    if (send(caller->fd, slot->call, slot->call_len, MSG_NOSIGNAL) != (ssize_t)slot->call_len)
        end(burst, caller, false);
    else
        epoll_ctl(burst->ep, EPOLL_CTL_MOD, caller->fd, &ev);
}

static void
one_burst(struct burst *burst)
{
    struct epoll_event ev[64];

    burst->left = options.depth;
    for (uint32_t i = 0; i < options.depth; i++) {
        burst->slots[i].busy = false;
        begin(burst, &burst->callers[i]);
    }
    while (burst->left > 0) {
        int n = epoll_wait(burst->ep, ev, 64, STALL_S * 1000);

        if (n == 0)
            die("no reply for %d s", STALL_S);
        for (int i = 0; i < n; i++)
            go_on(burst, ev[i].data.ptr);
    }
}

static void
run_connect(void)
{
    struct burst burst = {
        .server = { .sin_family = AF_INET, .sin_port = htons((uint16_t)options.nfs_port) },
        .slots = xcalloc(options.depth, sizeof(struct slot)),
        .callers = xcalloc(options.depth, sizeof(struct caller)),
        .ep = epoll_create1(0),
    };
    uint64_t end_ns;

    inet_pton(AF_INET, options.host, &burst.server.sin_addr);
    for (uint32_t i = 0; i < options.depth; i++) {
        struct slot *slot = &burst.slots[i];

        burst.callers[i].slot = slot;
        slot->call_len = 4 + (size_t)(put_header(slot->call + 4, i, NFS_PROG, 3, P_NULL) - (slot->call + 4));
        put32(slot->call, LAST_FRAGMENT | (uint32_t)(slot->call_len - 4));
    }
    end_ns = now_ns() + (uint64_t)(options.warmup * 1e9);
    while (now_ns() < end_ns)
        one_burst(&burst);
    window_open();
    end_ns = load.start + (uint64_t)(options.seconds * 1e9);
    while (now_ns() < end_ns)
        one_burst(&burst);
    window_close();
    stats.tasks = stats.ops;
    close(burst.ep);
}

const struct workload connect_workloads[] = {
    { "connect", "bursts of --depth connections, each for one NULL", run_connect, NULL, NULL, NULL, 0 },
    { 0 },
};
