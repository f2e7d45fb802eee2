/* tests/live/test_io.c - io= of an export: clients see the same bytes whichever way they and others go. */
#include "tests/lib/live.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USUAL "rw,no_root_squash,insecure"
#define FILE_MAX (1u << 20)
#define PIECE_MAX (150u << 10)
#define STEPS 250
#define UDP_PIECE 8000
#define SMALL_MEMORY (16u << 20)
#define SIZE_ROUNDS 200

static const char *const ways[] = { "auto", "buffered", "dontcache", "direct" };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void
go_by(struct live *srv, const char *way)
{
    char options[64];

    snprintf(options, sizeof(options), USUAL ",io=%s", way);
    live_reload(srv, options, NULL);
}

static uint32_t
draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33) % below;
}

/* A READ of any range gets what the model has. */
static void
check_read(struct live *srv, const nfs_fh3 *file, const uint8_t *model, uint32_t size, uint32_t offset, uint32_t length)
{
    const READ3resok *ok = &live_read(srv, file, offset, length)->READ3res_u.resok;
    uint32_t got = offset >= size ? 0 : offset + length > size ? size - offset : length;

    assert_int_equal(ok->count, got);
    assert_int_equal(ok->data.data_len, got);
    assert_memory_equal(ok->data.data_val, model + offset, got);
    assert_int_equal(ok->eof, offset + got >= size);
}

static void
ranges_of_any_kind_are_written_and_read_by_each_way(void **state)
{
    struct live *srv = *state;
    uint8_t *model = live_keep(srv, FILE_MAX), *piece = live_keep(srv, PIECE_MAX);
    nfs_fh3 file = live_put(srv, "file", "", 0);
    uint64_t seed = 7;
    uint32_t size = 0;

    for (unsigned i = 0; i < STEPS * WAYS; i++) {
        uint32_t offset = draw(&seed, FILE_MAX - PIECE_MAX), length = 1 + draw(&seed, PIECE_MAX);

        if (i % STEPS == 0)
            go_by(srv, ways[i / STEPS]);
        if (draw(&seed, 4) == 0)
            length = 1 + length % 900;
        if (draw(&seed, 4) == 0)
            offset = offset / 4096 * 4096;
        if (draw(&seed, 2) == 0) {
            check_read(srv, &file, model, size, offset, length);
            continue;
        }
        for (uint32_t at = 0; at < length; at++)
            piece[at] = (uint8_t)(seed + at * 11 + at / 256);
        memcpy(model + offset, piece, length);
        size = offset + length > size ? offset + length : size;
        assert_int_equal(live_write(srv, &file, offset, piece, length, i % 16 == 0 ? FILE_SYNC : UNSTABLE)->status,
                         NFS3_OK);
    }
    for (size_t i = 0; i < WAYS; i++) {
        go_by(srv, ways[i]);
        live_assert_content(srv, &file, model, size);
    }
    assert_int_equal(live_commit(srv, &file, 0, 0)->status, NFS3_OK);
    assert_int_equal(live_attr(srv, &file).size, size);
}

static void
two_exports_of_one_directory_may_go_different_ways(void **state)
{
    struct live *srv = *state;
    char options[PATH_MAX + 64];
    uint8_t *data = live_keep(srv, 3 * PIECE_MAX);
    nfs_fh3 file = live_put(srv, "file", data, PIECE_MAX), other, root;

    live_need_directory(srv);
    snprintf(options, sizeof(options), USUAL ",path=%.4000s", srv->export);
    live_reload(srv, USUAL ",io=direct", options);
    root = live_mount(srv, srv->second);
    other = live_find(srv, &root, "file");
    for (unsigned i = 1; i < 40; i++) {
        memset(data, (int)i, 3 * PIECE_MAX);
        assert_int_equal(live_write(srv, &file, i * 1000, data, PIECE_MAX, UNSTABLE)->status, NFS3_OK);
        assert_memory_equal(live_read(srv, &other, i * 1000, PIECE_MAX)->READ3res_u.resok.data.data_val, data, PIECE_MAX);
        data[0] = data[77777] = 200;
        assert_int_equal(live_write(srv, &other, i * 1000, data, 77778, UNSTABLE)->status, NFS3_OK);
        assert_memory_equal(live_read(srv, &file, i * 1000, PIECE_MAX)->READ3res_u.resok.data.data_val, data, PIECE_MAX);
    }
}

static void
programs_of_this_machine_and_direct_clients_see_each_other(void **state)
{
    struct live *srv = *state;
    uint8_t *data = live_keep(srv, PIECE_MAX), *got = live_keep(srv, PIECE_MAX);
    nfs_fh3 file = live_put(srv, "file", data, PIECE_MAX);
    int fd;

    live_need_directory(srv);
    go_by(srv, "direct");
    fd = open(live_local(srv, "file"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (unsigned i = 1; i < 40; i++) {
        memset(data, (int)i, PIECE_MAX);
        assert_int_equal(live_write(srv, &file, 0, data, PIECE_MAX, UNSTABLE)->status, NFS3_OK);
        assert_int_equal(pread(fd, got, PIECE_MAX, 0), PIECE_MAX);
        assert_memory_equal(got, data, PIECE_MAX);
        memset(data, 100 + (int)i, PIECE_MAX);
        assert_int_equal(pwrite(fd, data, PIECE_MAX, 0), PIECE_MAX);
        assert_memory_equal(live_read(srv, &file, 0, PIECE_MAX)->READ3res_u.resok.data.data_val, data, PIECE_MAX);
    }
    close(fd);
}

static void
keep_little(struct settings *settings)
{
    settings->max_memory = SMALL_MEMORY;
}

/*
 * Sizes come again, so buffers are registered; together they are more than is kept, so some go back to the system all the
 * time, and others come in their place.
 */
static void
what_goes_past_the_cache_uses_registered_buffers_until_their_memory_goes(void **state)
{
    static const struct live_config ring = { "disk+auto", LIVE_DISK, SETTING_ENGINE_AUTO, 1 };
    const struct live_options options = { .export_options = USUAL ",io=direct", .tune = keep_little };
    struct live *srv = *state;
    uint8_t *data = live_keep(srv, FILE_MAX);
    bool registered = false;
    nfs_fh3 file;

    if (srv->config->store != LIVE_DISK)                /* once is enough */
        skip();
    srv = live_start(&ring, &options);
    file = live_put(srv, "file", "", 0);
    for (unsigned i = 0; i < SIZE_ROUNDS; i++) {
        uint32_t length = FILE_MAX / 16 * (2 + i / 3 % 15), offset = i * 1000;
        struct server_stats stats;

        memset(data, (int)i + 1, length);
        assert_int_equal(live_write(srv, &file, offset, data, length, UNSTABLE)->status, NFS3_OK);
        assert_memory_equal(live_read(srv, &file, offset, length)->READ3res_u.resok.data.data_val, data, length);
        server_stats(srv->server, &stats);
        registered = registered || stats.registered_bytes > 0;
        assert_true(stats.registered_bytes <= stats.buffer_bytes);
    }
    live_stop(srv);
    if (!registered) {
        print_message("left out: no ring here, no direct I/O, or no memory may be locked\n");
        skip();
    }
}

static void
datagrams_go_by_each_way(void **state)
{
    struct live *srv = *state;
    uint8_t *data = live_keep(srv, UDP_PIECE);
    nfs_fh3 file = live_put(srv, "file", "", 0);
    struct live_conn tcp = srv->conn;

    srv->conn = live_connect(srv, SOCK_DGRAM, AF_INET);
    for (size_t i = 0; i < WAYS; i++) {
        memset(data, (int)i + 1, UDP_PIECE);
        go_by(srv, ways[i]);
        assert_int_equal(live_write(srv, &file, 5 + i, data, UDP_PIECE, UNSTABLE)->status, NFS3_OK);
        assert_memory_equal(live_read(srv, &file, 5 + i, UDP_PIECE)->READ3res_u.resok.data.data_val, data, UDP_PIECE);
    }
    live_close(&srv->conn);
    srv->conn = tcp;
}

static void
what_needs_no_bytes_and_what_is_refused_is_as_ever(void **state)
{
    struct live *srv = *state;
    nfs_fh3 file;

    go_by(srv, "direct");
    file = live_put(srv, "file", "five", 5);
    assert_int_equal(live_read(srv, &file, 0, 0)->READ3res_u.resok.count, 0);
    assert_int_equal(live_write(srv, &file, 3, "", 0, UNSTABLE)->status, NFS3_OK);
    assert_int_equal(live_read(srv, &file, UINT64_MAX, 100)->READ3res_u.resok.count, 0);
    assert_int_equal(live_read(srv, &file, INT64_MAX - 10, 100)->READ3res_u.resok.count, 0);
    assert_int_equal(live_read(srv, &srv->root, 0, 100)->status, NFS3ERR_ISDIR);
    assert_int_equal(live_write(srv, &file, INT64_MAX, "x", 1, UNSTABLE)->status, NFS3ERR_FBIG);
    live_assert_content(srv, &file, "five", 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_any_kind_are_written_and_read_by_each_way),
        cmocka_unit_test(two_exports_of_one_directory_may_go_different_ways),
        cmocka_unit_test(programs_of_this_machine_and_direct_clients_see_each_other),
        cmocka_unit_test(what_goes_past_the_cache_uses_registered_buffers_until_their_memory_goes),
        cmocka_unit_test(datagrams_go_by_each_way),
        cmocka_unit_test(what_needs_no_bytes_and_what_is_refused_is_as_ever),
    };

    return live_main("io", tests, sizeof(tests) / sizeof(*tests));
}
