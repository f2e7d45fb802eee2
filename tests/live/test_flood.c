/*
 * tests/live/test_flood.c - clients that mean harm, many at once, and one that does not: he goes on getting right answers,
 * the server stays within its bounds, and everything is free again once they have gone.
 *
 * The attackers call from 127.0.0.2. What the honest client's calls took, at rest and meanwhile, is printed; nothing here
 * depends on it.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/live.h"

#define ATTACKERS "127.0.0.2"
#ifdef __SANITIZE_THREAD__
#define ROUNDS 3                        /* a flood takes the sanitizer's threads minutes */
#else
#define ROUNDS 30                       /* of the honest client, five calls each */
#endif
#define CALLS_MAX (ROUNDS * 5)
#define SOCKETS 60                      /* of the attackers at once */
#define CONNECTIONS 120                 /* that the server lets in */
#define MEMORY ((uint64_t)32 << 20)
#define SPARE ((uint64_t)1 << 20)       /* bytes that may still be in use when all have gone */
#define DEPTH 100
#define FILE_BYTES (1 << 20)
#define RECORD_LAST 0x80000000u

struct attack;

/* One way of doing harm, gone on with until `ends`, from a thread of its own. */
struct attack_kind {
    const char *name;
    void (*run)(struct attack *attack);
    /* For those that send calls: made beforehand, as a whole record; sent again and again with other xids. */
    size_t (*make)(struct live *srv, uint8_t *message);
    size_t piece;                       /* bytes sent at once; 0: all */
    bool deaf;                          /* reads no reply */
};

struct attack {
    const struct attack_kind *kind;
    uint16_t port;
    uint8_t *record;
    size_t len;
    uint32_t xid;
    _Atomic bool ends;
    _Atomic uint64_t sent;              /* bytes, or connections */
    pthread_t thread;
};

static int
connect_from(const char *from, uint16_t port, int receive_buffer)
{
    struct sockaddr_in here = { .sin_family = AF_INET }, there = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    inet_pton(AF_INET, from, &here.sin_addr);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (receive_buffer > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0 ||
                    connect(fd, (struct sockaddr *)&there, sizeof(there)) < 0)) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

/* ---- Attacks ---- */

/* A sender's socket, and how far its call has gone. */
struct sender {
    int fd;
    size_t at;
    uint8_t *record;
};

static void
close_sender(struct sender *sender)
{
    if (sender->fd >= 0)
        close(sender->fd);
    sender->fd = -1;
    sender->at = 0;
}

/* Some bytes more. */
static void
send_on(struct attack *attack, struct sender *sender)
{
    size_t piece = attack->kind->piece, left = attack->len - sender->at;
    uint8_t rest[65536];
    ssize_t n;

    if (sender->fd < 0)
        sender->fd = connect_from(ATTACKERS, attack->port, attack->kind->deaf ? 4096 : 0);
    if (sender->fd < 0)
        return;
    if (sender->at == 0) {
        uint32_t xid = htonl(attack->xid++);

        memcpy(sender->record + 4, &xid, sizeof(xid));
    }
    n = send(sender->fd, sender->record + sender->at, piece != 0 && piece < left ? piece : left, MSG_NOSIGNAL);
    if (n > 0) {
        sender->at = (sender->at + (size_t)n) % attack->len;
        atomic_fetch_add(&attack->sent, (uint64_t)n);
    }
    if (n < 0 && errno != EAGAIN)
        close_sender(sender);
    while (!attack->kind->deaf && sender->fd >= 0 && (n = recv(sender->fd, rest, sizeof(rest), 0)) >= 0)
        if (n == 0)
            close_sender(sender);
}

static void
send_calls(struct attack *attack)
{
    struct sender senders[SOCKETS];

    for (size_t i = 0; i < SOCKETS; i++) {
        senders[i] = (struct sender){ .fd = -1, .record = malloc(attack->len) };
        memcpy(senders[i].record, attack->record, attack->len);
    }
    while (!atomic_load(&attack->ends))
        for (size_t i = 0; i < SOCKETS; i++)
            send_on(attack, &senders[i]);
    for (size_t i = 0; i < SOCKETS; i++) {
        close_sender(&senders[i]);
        free(senders[i].record);
    }
}

/* Two bytes of a record's mark, or none, and silence. */
static void
stay_half_open(struct attack *attack)
{
    int fds[SOCKETS];
    char byte;

    memset(fds, -1, sizeof(fds));
    while (!atomic_load(&attack->ends)) {
        for (size_t i = 0; i < SOCKETS; i++) {
            if (fds[i] >= 0 && recv(fds[i], &byte, 1, 0) != 0)
                continue;
            if (fds[i] >= 0)
                close(fds[i]);
            fds[i] = connect_from(ATTACKERS, attack->port, 0);
            if (fds[i] >= 0 && i % 2 == 0)
                send(fds[i], "\x80\0", 2, MSG_NOSIGNAL);
            atomic_fetch_add(&attack->sent, 1);
        }
        usleep(1000);
    }
    for (size_t i = 0; i < SOCKETS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* More connections than anybody may have, from several addresses, given up and made again. */
static void
flood_with_connections(struct attack *attack)
{
    int fds[4 * CONNECTIONS];
    char from[16];
    size_t n = sizeof(fds) / sizeof(fds[0]), at = 0;

    memset(fds, -1, sizeof(fds));
    while (!atomic_load(&attack->ends)) {
        if (fds[at] >= 0)
            close(fds[at]);
        snprintf(from, sizeof(from), "127.0.1.%u", (unsigned)(at % 40) + 1);
        fds[at] = connect_from(from, attack->port, 0);
        at = (at + 1) % n;
        atomic_fetch_add(&attack->sent, 1);
    }
    for (at = 0; at < n; at++)
        if (fds[at] >= 0)
            close(fds[at]);
}

/* Records that are announced to be longer than any may be; half of them say that more will follow. */
static void
announce_much(struct attack *attack)
{
    unsigned turn = 0;

    while (!atomic_load(&attack->ends)) {
        uint32_t mark = htonl(turn++ % 2 == 0 ? 0xffffffffu : 0x7fffffffu);
        int fd = connect_from(ATTACKERS, attack->port, 0);

        if (fd < 0)
            continue;
        send(fd, &mark, sizeof(mark), MSG_NOSIGNAL);
        send(fd, "and a little of it", 18, MSG_NOSIGNAL);
        close(fd);
        atomic_fetch_add(&attack->sent, 1);
    }
}

/* ---- Calls for them ---- */

static size_t
make_call(struct live *srv, uint8_t *message, uint32_t proc, const void *args)
{
    return live_make_call(srv, message, 65536, NFS_PROGRAM, NFS_V3, proc, live_args_codec(proc), args);
}

static nfs_fh3
large_file(struct live *srv, const char *name)
{
    return live_put(srv, name, live_keep(srv, FILE_BYTES), FILE_BYTES);
}

static size_t
make_write(struct live *srv, uint8_t *message)
{
    WRITE3args args = { .file = live_file(srv, &srv->root, "slow", 0666), .count = 8192, .stable = UNSTABLE };

    args.data.data_len = 8192;
    args.data.data_val = live_keep(srv, 8192);
    return make_call(srv, message, NFSPROC3_WRITE, &args);
}

static size_t
make_read(struct live *srv, uint8_t *message)
{
    return make_call(srv, message, NFSPROC3_READ, &(READ3args){ .file = large_file(srv, "large"), .count = FILE_BYTES });
}

static size_t
make_giant_read(struct live *srv, uint8_t *message)
{
    return make_call(srv, message, NFSPROC3_READ, &(READ3args){ .file = large_file(srv, "giant"), .count = UINT32_MAX });
}

static size_t
make_giant_list(struct live *srv, uint8_t *message)
{
    READDIRPLUS3args args = { .dir = srv->root, .dircount = UINT32_MAX, .maxcount = UINT32_MAX };

    return make_call(srv, message, NFSPROC3_READDIRPLUS, &args);
}

/* Something that the replay cache remembers, each with an xid of its own. */
static size_t
make_setattr(struct live *srv, uint8_t *message)
{
    SETATTR3args args = { .object = live_file(srv, &srv->root, "changing", 0666), .new_attributes = live_mode(0666) };

    return make_call(srv, message, NFSPROC3_SETATTR, &args);
}

/* From the end of a deep tree, one up: the server climbs to see whether that is still in the export. */
static size_t
make_climb(struct live *srv, uint8_t *message)
{
    nfs_fh3 dir = live_dir(srv, &srv->root, "deep", 0777);

    for (int i = 0; i < DEPTH; i++)
        dir = live_dir(srv, &dir, "d", 0777);
    return make_call(srv, message, NFSPROC3_LOOKUP, &(LOOKUP3args){ .what = { dir, live_name("..") } });
}

static size_t
make_mnt(struct live *srv, uint8_t *message)
{
    char path[1024];
    mount_dirpath dirpath = { sizeof(path), path };

    memset(path, '/', sizeof(path));
    for (size_t i = 0; i < sizeof(path); i += 2)
        path[i + 1] = 'd';
    memcpy(path, srv->export, strlen(srv->export));
    return live_make_call(srv, message, 65536, MOUNT_PROGRAM, MOUNT_V3, MOUNTPROC3_MNT, (xdrproc_t)xdr_mount_dirpath,
                          &dirpath);
}

static const struct attack_kind attacks[] = {
    { "senders of a byte at a time", .run = send_calls, .make = make_write, .piece = 1 },
    { "half-open connections", .run = stay_half_open },
    { "connections", .run = flood_with_connections },
    { "announcements of 4 GiB", .run = announce_much },
    { "receivers that never read", .run = send_calls, .make = make_read, .deaf = true },
    { "xids", .run = send_calls, .make = make_setattr },
    { "giant counts in READ", .run = send_calls, .make = make_giant_read, .deaf = true },
    { "giant counts in READDIRPLUS", .run = send_calls, .make = make_giant_list },
    { "deep directories", .run = send_calls, .make = make_climb },
    { "long paths in MNT", .run = send_calls, .make = make_mnt },
};

static void *
attack_main(void *arg)
{
    struct attack *attack = arg;

    attack->kind->run(attack);
    return NULL;
}

static void
start_attack(struct attack *attack, const struct attack_kind *kind, struct live *srv)
{
    uint32_t mark;

    memset(attack, 0, sizeof(*attack));
    attack->kind = kind;
    attack->port = srv->nfs_port;
    attack->xid = 0x70000000;
    if (kind->make != NULL) {
        attack->record = live_keep(srv, 65536 + 4);
        attack->len = 4 + kind->make(srv, attack->record + 4);
        mark = htonl(RECORD_LAST | (uint32_t)(attack->len - 4));
        memcpy(attack->record, &mark, sizeof(mark));
    }
    assert_int_equal(pthread_create(&attack->thread, NULL, attack_main, attack), 0);
}

static void
stop_attack(struct attack *attack)
{
    atomic_store(&attack->ends, true);
    pthread_join(attack->thread, NULL);
    assert_true(atomic_load(&attack->sent) > 0);
}

/* ---- The honest client, and the bounds ---- */

static uint64_t
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

struct times {
    uint64_t us[CALLS_MAX];
    size_t count;
};

static int
compare_times(const void *a, const void *b)
{
    const uint64_t *one = a, *other = b;

    return *one < *other ? -1 : *one > *other;
}

static uint64_t
percentile(struct times *times, unsigned percent)
{
    qsort(times->us, times->count, sizeof(times->us[0]), compare_times);
    return times->us[(times->count - 1) * percent / 100];
}

#define TIMED(times, call) \
    do { \
        uint64_t began = now_us(); \
        call; \
        (times)->us[(times)->count++] = now_us() - began; \
    } while (0)

static void
assert_within_bounds(struct live *srv)
{
    struct server_status status;
    struct server_stats stats;

    server_stats(srv->server, &stats);
    server_status(srv->server, &status);
    assert_true(stats.buffer_bytes <= MEMORY);
    assert_true(status.connections <= CONNECTIONS + status.workers);      /* each counts one before it decides */
}

/* Makes a file, writes it, reads it, removes it: each answer is right. */
static void
work(struct live *srv, struct times *times)
{
    char name[32], data[64];
    READ3res *read;
    nfs_fh3 file;

    times->count = 0;
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof(name), "honest-%d", i);
        snprintf(data, sizeof(data), "what the honest client writes in round %d", i);
        TIMED(times, file = live_file(srv, &srv->root, name, 0644));
        TIMED(times, live_write_all(srv, &file, 0, data, strlen(data)));
        TIMED(times, read = live_read(srv, &file, 0, 1000));
        assert_int_equal(read->status, NFS3_OK);
        assert_int_equal(read->READ3res_u.resok.count, strlen(data));
        assert_memory_equal(read->READ3res_u.resok.data.data_val, data, strlen(data));
        TIMED(times, assert_int_equal(live_remove(srv, &srv->root, name)->status, NFS3_OK));
        TIMED(times, assert_int_equal(live_lookup(srv, &srv->root, name)->status, NFS3ERR_NOENT));
        assert_within_bounds(srv);
    }
}

static uint32_t
connections(struct live *srv)
{
    struct server_status status;

    server_status(srv->server, &status);
    return status.connections;
}

static uint64_t
bytes_in_use(struct live *srv)
{
    struct server_stats stats;

    server_stats(srv->server, &stats);
    return stats.buffer_bytes - stats.call_bytes;
}

/* Until the condition holds, as long as one waits for a reply and twice more. */
#define wait_until(condition) \
    do { \
        for (uint64_t until = live_now_ms() + 3 * LIVE_WAIT_MS; !(condition) && live_now_ms() < until;) \
            usleep(20000); \
        assert_true(condition); \
    } while (0)

static size_t
count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void
bound(struct settings *settings)
{
    settings->max_memory = MEMORY;
    settings->max_connections = CONNECTIONS;
    settings->client_connections = CONNECTIONS / 2;
    settings->fd_cache = 64;
    settings->drc_entries = 1024;
    settings->calls_per_client = 256;
}

static void
an_honest_client_is_served_during_every_flood_and_all_is_free_afterwards(void **state)
{
    const struct live_options options = { .tune = bound, .export_options = "rw,no_root_squash,insecure,async" };
    struct live *srv = live_start_beside(*state, &options);
    struct times idle, busy;
    struct attack attack;
    size_t fds;

    work(srv, &idle);
    fds = count_fds();
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        start_attack(&attack, &attacks[i], srv);
        wait_until(atomic_load(&attack.sent) > 0);
        work(srv, &busy);
        stop_attack(&attack);
        print_message("%-28s the honest client's p50 %6llu us (at rest %llu), p99 %6llu us (at rest %llu)\n",
                      attack.kind->name, (unsigned long long)percentile(&busy, 50),
                      (unsigned long long)percentile(&idle, 50), (unsigned long long)percentile(&busy, 99),
                      (unsigned long long)percentile(&idle, 99));
        wait_until(connections(srv) == 1);
    }
    wait_until(bytes_in_use(srv) <= SPARE);
    wait_until(count_fds() <= fds + 128);                /* files that are kept open for a while */
    live_assert_alive(srv);
}

static void
few(struct settings *settings)
{
    settings->client_connections = 5;
    settings->max_connections = 50;
}

/* How many of the descriptors the server has not closed. */
static size_t
count_open(const int *fds, size_t n)
{
    size_t count = 0;
    char byte;

    for (size_t i = 0; i < n; i++)
        count += fds[i] >= 0 && recv(fds[i], &byte, 1, 0) < 0 && errno == EAGAIN;
    return count;
}

/* The server may close those of his that are idle for new ones: he never has more. */
static void
a_client_has_his_share_of_the_connections_and_no_more(void **state)
{
    const struct live_options options = { .tune = few };
    struct live *srv = live_start_beside(*state, &options);
    struct server_stats stats;
    int fds[30], other = connect_from("127.0.0.3", srv->nfs_port, 0);

    for (size_t i = 0; i < 30; i++)
        fds[i] = connect_from(ATTACKERS, srv->nfs_port, 0);
    wait_until((server_stats(srv->server, &stats), stats.connections_opened + stats.connections_refused >= 32));
    wait_until(count_open(fds, 30) == 5);
    assert_int_equal(count_open(&other, 1), 1);
    live_assert_alive(srv);
    for (size_t i = 0; i < 30; i++)
        close(fds[i]);
    wait_until(connections(srv) == 2);
    close(other);
}

static void
soon(struct settings *settings)
{
    settings->idle_timeout = 1;
    settings->keepalive = 7;
}

static void
who_is_silent_for_too_long_is_let_go_and_who_works_is_not(void **state)
{
    const struct live_options options = { .tune = soon };
    struct live *srv = live_start_beside(*state, &options);
    int fds[3];

    for (size_t i = 0; i < 3; i++)
        fds[i] = connect_from(ATTACKERS, srv->nfs_port, 0);
    assert_int_equal(send(fds[1], "\x80\0", 2, MSG_NOSIGNAL), 2);
    assert_int_equal(send(fds[2], "\x80\0\0\x28half of a call", 18, MSG_NOSIGNAL), 18);
    while (count_open(fds, 3) > 0)
        live_attr(srv, &srv->root);
    wait_until(connections(srv) == 1);
    live_attr(srv, &srv->root);
    for (size_t i = 0; i < 3; i++)
        close(fds[i]);
}

static void
peers_are_asked_whether_they_are_there(void **state)
{
    const struct live_options options = { .tune = soon };
    struct live *srv = live_start_beside(*state, &options);
    int seconds, asked = 0;
    socklen_t len;

    live_attr(srv, &srv->root);
    for (int fd = 0; fd < 1024; fd++) {
        len = sizeof(seconds);
        asked += getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, &len) == 0 && seconds == 7;
    }
    assert_true(asked > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_honest_client_is_served_during_every_flood_and_all_is_free_afterwards),
        cmocka_unit_test(a_client_has_his_share_of_the_connections_and_no_more),
        cmocka_unit_test(who_is_silent_for_too_long_is_let_go_and_who_works_is_not),
        cmocka_unit_test(peers_are_asked_whether_they_are_there),
    };

    return live_main("flood", tests, sizeof(tests) / sizeof(*tests));
}
