/* tests/lib/store_each.c - see store_each.h. */
#include "tests/lib/store_each.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/memory.h"
#include "storage/posix.h"

/* One row per store that is tried. */
static const struct store_kind_row {
    const char *name;
    const char *below;                  /* NULL: in memory; "": $TMPDIR */
    enum engine_type engine;
    int inline_mode;
} rows[] = {
    { "memory",                            NULL,       ENGINE_POOL,  POSIX_INLINE_ON },
    { "posix, disk, uring, on the worker", "",         ENGINE_URING, POSIX_INLINE_ON },
    { "posix, disk, uring, on the pool",   "",         ENGINE_URING, POSIX_INLINE_OFF },
    { "posix, disk, pool, on the pool",    "",         ENGINE_POOL,  POSIX_INLINE_OFF },
    { "posix, tmpfs, uring, on the worker", "/dev/shm", ENGINE_URING, POSIX_INLINE_ON },
    { "posix, tmpfs, pool, on the worker", "/dev/shm", ENGINE_POOL,  POSIX_INLINE_ON },
    { "posix, tmpfs, pool, on the pool",   "/dev/shm", ENGINE_POOL,  POSIX_INLINE_OFF },
};
static const struct store_kind_row *row;        /* under test */
static struct rig rig_now;

static int
memory_rig(struct rig *rig)
{
    struct memory_config config = {
        .max_bytes = 64 << 20, .max_files = 10000, .root_mode = 0755, .root_uid = 0, .root_gid = 0
    };

    rig->decides = true;
    return memory_new(&config, &rig->store);
}

static int
posix_rig(struct rig *rig)
{
    struct posix_config config = { .path = rig->path, .max_open = 1024, .inline_mode = row->inline_mode };
    struct engine_config engine = { .type = row->engine, .ring_entries = 64 };
    const char *below = row->below[0] != '\0' ? row->below : getenv("TMPDIR");
    int err;

    rig->decides = cred_thread_init() == CRED_SWITCH;
    snprintf(rig->path, sizeof(rig->path), "%s/ringnfs-store-XXXXXX", below != NULL ? below : "/tmp");
    if (mkdtemp(rig->path) == NULL)
        return -errno;
    err = pool_new(3, &rig->pool);
    if (err < 0)
        return err;
    engine.pool = rig->pool;
    err = engine_new(&engine, &rig->engine);
    if (err < 0)
        return err;
    return posix_new(&config, &rig->store);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int
rig_down(void **state)
{
    struct rig *rig = *state;

    cred_revert();                      /* or the next store's threads would begin with the rights of the last caller */
    store_free(rig->store);
    engine_free(rig->engine);
    if (rig->pool != NULL)
        pool_free(rig->pool);
    if (rig->path[0] != '\0')
        nftw(rig->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}

static int
rig_up(void **state)
{
    struct rig *rig = &rig_now;
    int err;

    memset(rig, 0, sizeof(*rig));
    *state = rig;
    err = row->below == NULL ? memory_rig(rig) : posix_rig(rig);
    if (err < 0) {
        fprintf(stderr, "%s: %s\n", row->name, strerror(-err));
        rig_down(state);
    }
    return err;
}

int
store_each_set_up(void **state)
{
    static unsigned number;
    struct rig *rig = *state;
    char name[32];

    snprintf(name, sizeof(name), "t%u", ++number);
    if (rig_mkdir(rig, &rig_root, rig->store->root, name, MODE(0777)) != 0)
        return -1;
    rig->dir = rig_child(rig);
    return 0;
}

int
store_each_tear_down(void **state)
{
    rig_put_all(*state);
    return 0;
}

struct store_cred
rig_member(uid_t uid, gid_t gid, bool in_group)
{
    static const gid_t group[] = { RIG_GROUP };

    return (struct store_cred){ uid, gid, in_group ? COUNT(group) : 0, in_group ? group : NULL };
}

struct store_node *
rig_make_of_group(struct rig *rig, const char *name, const char *type)
{
    struct store_node *node = rig_make(rig, rig->dir, name, type, 0);

    assert_int_equal(rig_setattr(rig, &rig_root, node, (struct store_setattr){ .set_gid = true, .gid = RIG_GROUP }), 0);
    return node;
}

bool
rig_is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

bool
rig_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

void
rig_assert_names(struct rig *rig, struct store_node *dir, const char *expected)
{
    char text[4096];
    char *names[64], *name, *rest = text;
    unsigned count = 0, i, j;
    char sorted[4096] = "";

    rig_names(rig, dir, 1000, text, sizeof(text));
    while ((name = strsep(&rest, " ")) != NULL && name[0] != '\0')
        names[count++] = name;
    for (i = 0; i < count; i++) {
        for (j = i + 1; j < count; j++) {
            if (strcmp(names[j], names[i]) < 0) {
                name = names[i];
                names[i] = names[j];
                names[j] = name;
            }
        }
        strcat(strcat(sorted, i > 0 ? " " : ""), names[i]);
    }
    assert_string_equal(sorted, expected);
}

void
rig_assert_wcc(const struct store_wcc *wcc, struct store_attr before, struct store_attr after)
{
    if (wcc->before_present) {
        assert_true(wcc->before_size == before.size);
        assert_true(rig_same_time(wcc->before_mtime, before.mtime));
        assert_true(rig_same_time(wcc->before_ctime, before.ctime));
    }
    assert_true(wcc->after.present);
    assert_true(wcc->after.fileid == after.fileid);
    assert_true(wcc->after.size == after.size);
    assert_true(wcc->after.mode == after.mode);
    assert_true(rig_same_time(wcc->after.mtime, after.mtime));
    assert_true(rig_same_time(wcc->after.ctime, after.ctime));
}

int
store_each_main(const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;

    for (size_t i = 0; i < COUNT(rows); i++) {
        row = &rows[i];
        failed += _cmocka_run_group_tests(row->name, tests, count, rig_up, rig_down);
    }
    return failed;
}
