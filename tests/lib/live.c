/* tests/lib/live.c - starting and stopping servers for tests; see live.h. */
#include <assert.h>
#include <ftw.h>
#include <liburing.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/live_private.h"

#define CONFIGS_MAX 8
#define TESTS_MAX 128
#define TEST_NAME_MAX 200
#define DEFAULT_OPTIONS "rw,no_root_squash,insecure"

static const struct live_config configs[] = {
    { "tmpfs+uring", LIVE_TMPFS, SETTING_ENGINE_URING, 2 },
    { "disk+pool", LIVE_DISK, SETTING_ENGINE_POOL, 1 },
    { "memory", LIVE_MEMORY, SETTING_ENGINE_POOL, 2 },
};

struct live_memory {
    struct live_memory *next;
    xdrproc_t codec;
    max_align_t bytes[];
};

void *
live_keep_decoded(struct live *srv, size_t size, xdrproc_t codec)
{
    struct live_memory *memory = calloc(1, sizeof(*memory) + size);

    assert_non_null(memory);
    memory->codec = codec;
    memory->next = srv->kept;
    srv->kept = memory;
    return memory->bytes;
}

void *
live_keep(struct live *srv, size_t size)
{
    return live_keep_decoded(srv, size, NULL);
}

static void
free_kept(struct live *srv)
{
    struct live_memory *memory;

    while ((memory = srv->kept) != NULL) {
        srv->kept = memory->next;
        if (memory->codec != NULL)
            xdr_free(memory->codec, memory->bytes);
        free(memory);
    }
}

/* For nftw(): directories may have been left without any permission, so they get it on the way down. */
static int
open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    (void)type;
    if (S_ISDIR(st->st_mode))
        (void)chmod(path, 0700);
    return 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

static void
remove_tree(const char *path)
{
    nftw(path, open_up, 16, FTW_PHYS);
    nftw(path, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

static void
make_directory(struct live *srv, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%.4000s/%s", srv->base, name);
    if (mkdir(path, 0700) < 0 || chmod(path, 01777) < 0)
        fail_msg("%s: cannot be made", path);
}

static void
make_directories(struct live *srv)
{
    const char *disk = getenv("RINGNFS_LIVE_DIR");
    char state[PATH_MAX];

    snprintf(srv->base, sizeof(srv->base), "%.4000s/ringnfs-live-XXXXXX",
             srv->config->store == LIVE_TMPFS ? "/dev/shm" : disk != NULL ? disk : "/var/tmp");
    if (mkdtemp(srv->base) == NULL || chmod(srv->base, 0755) < 0)
        fail_msg("%s: cannot be made", srv->base);
    make_directory(srv, "state", state, sizeof(state));
    if (chmod(state, 0700) < 0)
        fail_msg("%s: cannot be made private", state);
    if (srv->config->store == LIVE_MEMORY) {
        strcpy(srv->export, "/export");
        strcpy(srv->second, "/second");
        return;
    }
    make_directory(srv, "export", srv->export, sizeof(srv->export));
    make_directory(srv, "second", srv->second, sizeof(srv->second));
}

static void
set(struct settings *settings, const char *key, const char *value)
{
    char error[512];

    if (settings_set(settings, key, value, error, sizeof(error)) != 0)
        fail_msg("%s", error);
}

/* Write the exports file and give its path. */
static void
write_exports(struct live *srv, char *path, size_t size)
{
    const char *scheme = srv->config->store == LIVE_MEMORY ? "memory:" : "";
    FILE *file;

    snprintf(path, size, "%s/exports", srv->base);
    file = fopen(path, "w");
    assert_non_null(file);
    if (srv->options.lines != NULL)
        fputs(srv->options.lines, file);
    else if (srv->options.export_options[0] != '\0')
        fprintf(file, "%s%s *(%s)\n", scheme, srv->export, srv->options.export_options);
    if (srv->options.lines == NULL && srv->options.second_options != NULL)
        fprintf(file, "%s%s *(%s)\n", scheme, srv->second, srv->options.second_options);
    if (fclose(file) != 0)
        fail_msg("%s: cannot be written", path);
}

static void
start_server(struct live *srv)
{
    struct sockaddr_storage addresses[2] = { { .ss_family = AF_INET }, { .ss_family = AF_INET6 } };
    char state[PATH_MAX + 8], exports[PATH_MAX + 8], error[1024];
    const char *file = exports;
    struct server_config config = { .log = { .level = LOG_ERROR_LEVEL, .fd = STDERR_FILENO } };
    struct server_ports ports;
    struct settings settings;
    int err;

    write_exports(srv, exports, sizeof(exports));
    snprintf(state, sizeof(state), "%s/state", srv->base);
    settings_init(&settings);
    set(&settings, "port", "0");
    set(&settings, "rpcbind", "off");
    set(&settings, "state_dir", state);
    settings.engine = srv->config->engine;
    settings.workers = srv->config->workers;
    settings.threads = 3;
    if (srv->options.tune != NULL)
        srv->options.tune(&settings);
    ((struct sockaddr_in *)&addresses[0])->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ((struct sockaddr_in6 *)&addresses[1])->sin6_addr = in6addr_loopback;
    config.settings = &settings;
    config.exports.files = &file;
    config.exports.nfiles = 1;
    config.addresses = addresses;
    config.hosts = srv->options.hosts;
    config.groups = srv->options.groups;
    if (srv->options.log_fd > 0)
        config.log = (struct log){ .level = LOG_INFO_LEVEL, .fd = srv->options.log_fd };
    config.principals = srv->options.principals;
    config.clock = srv->options.clock;
    config.faults = srv->faults;
    config.naddresses = srv->options.everywhere ? 0 : live_has_ipv6() ? 2 : 1;
    err = server_new(&config, &srv->server, error, sizeof(error));
    settings_fini(&settings);
    if (err < 0)
        fail_msg("the server does not start: %s", error);
    server_ports(srv->server, &ports);
    srv->nfs_port = ports.nfs;
    srv->mount_port = ports.mount;
    srv->conn = live_connect(srv, SOCK_STREAM, AF_INET);
}

struct live *
live_start(const struct live_config *config, const struct live_options *options)
{
    struct live *srv = calloc(1, sizeof(*srv));

    assert_non_null(srv);
    srv->config = config;
    srv->conn.fd = -1;
    srv->xid = 0x10000000 ^ (uint32_t)live_now_ms();
    srv->message = malloc(LIVE_MESSAGE_MAX);
    assert_non_null(srv->message);
    assert_int_equal(faults_new(&srv->faults), 0);
    if (options != NULL)
        srv->options = *options;
    if (srv->options.export_options == NULL)
        srv->options.export_options = DEFAULT_OPTIONS;
    if (config->store == LIVE_MEMORY)
        live_as(srv, 0, 0);
    else
        live_as(srv, geteuid(), getegid());
    make_directories(srv);
    start_server(srv);
    srv->root = live_mount(srv, srv->export);
    return srv;
}

struct live *
live_start_beside(struct live *srv, const struct live_options *options)
{
    struct live *other = live_start(srv->config, options);

    other->beside = srv->beside;
    srv->beside = other;
    return other;
}

static void
stop_server(struct live *srv)
{
    live_close(&srv->conn);
    if (srv->server != NULL)
        server_free(srv->server);
    srv->server = NULL;
}

void
live_stop(struct live *srv)
{
    struct live *next;

    for (; srv != NULL; srv = next) {
        next = srv->beside;
        stop_server(srv);
        free_kept(srv);
        remove_tree(srv->base);
        free(srv->message);
        faults_free(srv->faults);
        free(srv);
    }
}

void
live_restart(struct live *srv)
{
    stop_server(srv);
    start_server(srv);
}

static void
read_again(struct live *srv)
{
    char path[PATH_MAX + 8], error[1024];

    write_exports(srv, path, sizeof(path));
    if (server_reload_exports(srv->server, error, sizeof(error)) < 0)
        fail_msg("the exports cannot be read again: %s", error);
}

void
live_reload(struct live *srv, const char *export_options, const char *second_options)
{
    srv->options.export_options = export_options;
    srv->options.second_options = second_options;
    srv->options.lines = NULL;
    read_again(srv);
}

void
live_reload_lines(struct live *srv, const char *lines)
{
    char *copy = live_keep(srv, strlen(lines) + 1);

    srv->options.lines = strcpy(copy, lines);
    read_again(srv);
}

uint32_t
live_fault(struct live *srv, const char *format, ...)
{
    char rule[PATH_MAX + 256], error[1024];
    va_list args;
    int id;

    va_start(args, format);
    vsnprintf(rule, sizeof(rule), format, args);
    va_end(args);
    id = server_fault_add(srv->server, rule, error, sizeof(error));
    if (id <= 0)
        fail_msg("%s: %s", rule, error);
    return (uint32_t)id;
}

void
live_assert_fault(struct live *srv, uint32_t id, uint64_t matched, uint64_t fired)
{
    struct fault_set *set = faults_get(srv->faults);
    bool found = false;

    for (size_t i = 0; i < set->count; i++) {
        const struct fault_rule *rule = set->rules[i];

        if (rule->id != id)
            continue;
        found = true;
        if (rule->matched != matched || rule->fired != fired)
            fail_msg("%s: %d matched in place of %d, %d fired in place of %d", rule->text, (int)rule->matched, (int)matched,
                     (int)rule->fired, (int)fired);
    }
    fault_set_put(set);
    assert_true(found);
}

void
live_clear_faults(struct live *srv)
{
    char error[1024];

    if (server_fault_clear(srv->server, 0, error, sizeof(error)) < 0)
        fail_msg("%s", error);
}

void
live_need_identities(struct live *srv)
{
    if (srv->config->store == LIVE_MEMORY || geteuid() == 0)
        return;
    print_message("left out: an ordinary user's server acts as himself for everybody\n");
    skip();
}

void
live_need_directory(struct live *srv)
{
    if (srv->config->store != LIVE_MEMORY)
        return;
    print_message("left out: a memory export is no directory and does not outlive its server\n");
    skip();
}

void
live_need_root(struct live *srv)
{
    if (srv->config->store == LIVE_MEMORY || geteuid() == 0)
        return;
    print_message("left out: only root makes devices and gives files away\n");
    skip();
}

void
live_need_ipv6(void)
{
    if (live_has_ipv6())
        return;
    print_message("left out: there is no ::1 here\n");
    skip();
}

const char *
live_local(struct live *srv, const char *name)
{
    char *path;

    if (srv->config->store == LIVE_MEMORY)
        return NULL;
    path = live_keep(srv, strlen(srv->export) + strlen(name) + 2);
    sprintf(path, "%s/%s", srv->export, name);
    return path;
}

void
live_as(struct live *srv, uint32_t uid, uint32_t gid)
{
    live_as_member(srv, uid, gid, 0, NULL);
}

void
live_as_member(struct live *srv, uint32_t uid, uint32_t gid, uint32_t ngids, const uint32_t *gids)
{
    assert_in_range(ngids, 0, LIVE_GIDS_MAX);
    srv->auth = (struct live_auth){ .flavor = AUTH_SYS, .uid = uid, .gid = gid, .ngids = ngids };
    if (ngids > 0)
        memcpy(srv->auth.gids, gids, ngids * sizeof(*gids));
}

void
live_as_nobody(struct live *srv)
{
    srv->auth = (struct live_auth){ .flavor = AUTH_NONE };
}

uint64_t
live_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The kernel stamps files with the time of its last tick, at most 10 ms ago. */
void
live_tick(void)
{
    usleep(15000);
}

static int
start_for_test(void **state)
{
    const struct live_config *config = *state;

    *state = live_start(config, NULL);
    return 0;
}

static int
stop_after_test(void **state)
{
    live_stop(*state);
    return 0;
}

static bool
has_ring(void)
{
    struct io_uring ring;

    if (io_uring_queue_init(8, &ring, 0) < 0)
        return false;
    io_uring_queue_exit(&ring);
    return true;
}

/* NULL, or why this configuration cannot be tried here. */
static const char *
missing(const struct live_config *config)
{
    if (config->engine == SETTING_ENGINE_URING && !has_ring())
        return "there is no io_uring here";
    if (config->store == LIVE_TMPFS && access("/dev/shm", W_OK) < 0)
        return "/dev/shm cannot be written to";
    return NULL;
}

static int
run_group(const char *group, const struct live_config *config, const struct CMUnitTest *tests, size_t count)
{
    static char names[CONFIGS_MAX * TESTS_MAX][TEST_NAME_MAX];
    static size_t nnames;
    struct CMUnitTest named[TESTS_MAX];
    char group_name[TEST_NAME_MAX];
    size_t i;

    assert(count <= TESTS_MAX && nnames + count <= CONFIGS_MAX * TESTS_MAX);
    for (i = 0; i < count; i++, nnames++) {
        snprintf(names[nnames], TEST_NAME_MAX, "%s/%s", tests[i].name, config->name);
        named[i] = tests[i];
        named[i].name = names[nnames];
        named[i].initial_state = (void *)config;
        named[i].setup_func = start_for_test;
        named[i].teardown_func = stop_after_test;
    }
    snprintf(group_name, sizeof(group_name), "%s/%s", group, config->name);
    return _cmocka_run_group_tests(group_name, named, count, NULL, NULL);
}

int
live_main(const char *group, const struct CMUnitTest *tests, size_t count)
{
    const char *wanted = getenv("RINGNFS_LIVE");
    const char *pattern = getenv("RINGNFS_TEST");
    int failed = 0;
    size_t i;

    if (pattern != NULL)
        cmocka_set_test_filter(pattern);
    for (i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
        if (wanted != NULL && strstr(configs[i].name, wanted) == NULL && strstr(wanted, configs[i].name) == NULL)
            continue;
        if (missing(&configs[i]) != NULL)
            printf("%s/%s left out: %s\n", group, configs[i].name, missing(&configs[i]));
        else
            failed += run_group(group, &configs[i], tests, count);
    }
    return failed != 0;
}
