/*
 * tests/unit/test_acl.c - the rules of ACLs that acl.c has for stores without a kernel behind them: by examples out of
 * acl(5), and against the kernel itself, which must find of thousands of random ACLs what acl.c finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "storage/acl.h"
#include "tests/lib/bytes.h"

#define SEED 20261130
#define ROUNDS 5000
#define ENTRIES 12                      /* most of a random ACL */
#define OWNER 1000
#define GROUP 100
#define XATTR_BYTES (4 + 8 * ENTRIES)

struct small_acl {
    uint32_t count;
    struct store_ace entries[ENTRIES];
};

static const uint16_t tags[] = { STORE_ACL_USER_OBJ, STORE_ACL_USER, STORE_ACL_GROUP_OBJ, STORE_ACL_GROUP,
                                 STORE_ACL_MASK, STORE_ACL_OTHER };

/* Room for any ACL, zeroed. */
static struct store_acl *
room(void)
{
    struct store_acl *acl = calloc(1, STORE_ACL_BYTES);

    assert_non_null(acl);
    return acl;
}

static struct store_acl *
make(struct small_acl small)
{
    struct store_acl *acl = room();

    memcpy(acl, &small, sizeof(small));
    return acl;
}

#define ACL(n, ...) make((struct small_acl){ n, { __VA_ARGS__ } })
#define ENTRY(tag, perm) { STORE_ACL_##tag, perm, STORE_ACL_NO_ID }
#define NAMED(tag, id, perm) { STORE_ACL_##tag, perm, id }

/* A valid ACL most of the time: entries of all kinds, in order, with a mask where there must be one. */
static struct store_acl *
random_acl(struct bytes_random *seeded)
{
    struct store_acl *acl = room();
    unsigned named = 0;

    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
        bool many = tags[i] == STORE_ACL_USER || tags[i] == STORE_ACL_GROUP;
        uint32_t n = many ? bytes_random_below(seeded, 3) : tags[i] == STORE_ACL_MASK ? named > 0 : 1;

        for (uint32_t k = 0; k < n; k++, named += many)
            acl->entries[acl->count++] = (struct store_ace){ tags[i], (uint16_t)bytes_random_below(seeded, 8),
                                                             many ? 1 + 2 * k : STORE_ACL_NO_ID };
    }
    return acl;
}

/* Change an ACL so that it is maybe none. */
static void
disturb(struct bytes_random *seeded, struct store_acl *acl)
{
    uint32_t at = bytes_random_below(seeded, acl->count), other = bytes_random_below(seeded, acl->count);
    struct store_ace kept = acl->entries[at];

    switch (bytes_random_below(seeded, 6)) {
    case 0:
        acl->entries[at] = acl->entries[other];
        acl->entries[other] = kept;
        break;
    case 1:
        acl->entries[at].tag = (uint16_t)bytes_random_below(seeded, 0x42);
        break;
    case 2:
        acl->entries[at].id = bytes_random_below(seeded, 4) - 1;
        break;
    case 3:
        memmove(&acl->entries[at], &acl->entries[at + 1], (acl->count - at - 1) * sizeof(acl->entries[0]));
        acl->count--;
        break;
    case 4:
        acl->entries[acl->count++] = kept;
        break;
    default:
        break;
    }
}

static size_t
to_xattr(const struct store_acl *acl, uint8_t value[XATTR_BYTES])
{
    const uint32_t version = 2;

    memcpy(value, &version, 4);
    memcpy(value + 4, acl->entries, acl->count * sizeof(acl->entries[0]));      /* the same on little-endian machines */
    return 4 + acl->count * sizeof(acl->entries[0]);
}

/* A file on a file system with ACLs, or -1: then the test is skipped. */
static int
open_file(char path[64])
{
    uint8_t value[XATTR_BYTES];
    struct store_acl *acl = ACL(5, ENTRY(USER_OBJ, 6), NAMED(USER, 7, 4), ENTRY(GROUP_OBJ, 4), ENTRY(MASK, 4),
                                ENTRY(OTHER, 0));
    size_t len = to_xattr(acl, value);
    int fd;

    free(acl);
    strcpy(path, "/dev/shm/ringnfs-acl-XXXXXX");
    fd = mkstemp(path);
    if (fd >= 0 && fsetxattr(fd, "system.posix_acl_access", value, len, 0) == 0 && BYTE_ORDER == LITTLE_ENDIAN)
        return fd;
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    print_message("left out: /dev/shm has no ACLs\n");
    skip();
    return -1;
}

static void
an_acl_is_valid_when_the_kernel_takes_it_and_its_mode_is_the_kernels(void **state)
{
    struct bytes_random seeded = bytes_random_seed(SEED);
    unsigned valid = 0;
    char path[64];
    int fd = open_file(path);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct store_acl *acl = random_acl(&seeded);
        uint8_t value[XATTR_BYTES];
        struct stat st;
        bool minimal, taken;
        size_t len;

        disturb(&seeded, acl);
        len = to_xattr(acl, value);
        taken = fsetxattr(fd, "system.posix_acl_access", value, len, 0) == 0;
        if (acl_check(acl) != (taken ? 0 : -EINVAL))
            fail_msg("seed %d, round %d: the kernel %s it", SEED, round, taken ? "takes" : "refuses");
        if (taken) {
            valid++;
            assert_int_equal(fstat(fd, &st), 0);
            assert_int_equal(acl_to_mode(acl, &minimal), st.st_mode & 0777);
            assert_true(minimal == (fgetxattr(fd, "system.posix_acl_access", value, sizeof(value)) < 0));
        }
        free(acl);
    }
    assert_in_range(valid, ROUNDS / 4, ROUNDS - ROUNDS / 4);    /* both have been tried */
    close(fd);
    unlink(path);
}

static void
a_mode_becomes_three_entries_and_comes_back(void **state)
{
    struct store_acl *acl = room();
    bool minimal;

    (void)state;
    for (uint32_t mode = 0; mode < 01000; mode++) {
        acl_from_mode(S_IFREG | 06000 | mode, acl);
        assert_int_equal(acl_check(acl), 0);
        assert_int_equal(acl_to_mode(acl, &minimal), mode);
        assert_true(minimal);
    }
    free(acl);
}

static bool
permits(const struct store_acl *acl, uid_t uid, gid_t gid, gid_t more, unsigned wanted)
{
    const struct store_cred cred = { .uid = uid, .gid = gid, .ngroups = 1, .groups = &more };

    return acl_permits(acl, OWNER, GROUP, &cred, wanted);
}

static void
the_first_entry_that_is_about_a_caller_decides_but_groups_add_up_to_one_that_gives_all(void **state)
{
    struct store_acl *acl = ACL(8, ENTRY(USER_OBJ, 2), NAMED(USER, 7, 4), NAMED(USER, OWNER, 7), ENTRY(GROUP_OBJ, 4),
                                NAMED(GROUP, 200, 2), NAMED(GROUP, 300, 6), ENTRY(MASK, 6), ENTRY(OTHER, 7));

    (void)state;
    assert_int_equal(acl_check(acl), 0);
    assert_true(permits(acl, OWNER, 1, 1, 2));
    assert_false(permits(acl, OWNER, 300, 300, 4));             /* not by his name nor by a group */
    assert_true(permits(acl, 7, 300, 300, 4));
    assert_false(permits(acl, 7, 300, 300, 2));
    assert_true(permits(acl, 8, GROUP, 1, 4));
    assert_true(permits(acl, 8, GROUP, 200, 2));
    assert_false(permits(acl, 8, GROUP, 200, 6));               /* one group reads, the other writes */
    assert_true(permits(acl, 8, 1, 300, 6));
    assert_false(permits(acl, 8, 1, 300, 1));                   /* a member is never one of the others */
    assert_true(permits(acl, 8, 1, 1, 7));                      /* whom the mask does not bound */
    assert_true(permits(acl, 8, 300, 1, 0));
    free(acl);
}

static void
the_mask_bounds_users_and_groups(void **state)
{
    struct store_acl *acl = ACL(6, ENTRY(USER_OBJ, 7), NAMED(USER, 7, 7), ENTRY(GROUP_OBJ, 7), NAMED(GROUP, 200, 7),
                                ENTRY(MASK, 1), ENTRY(OTHER, 4));

    (void)state;
    assert_true(permits(acl, OWNER, 1, 1, 7));
    assert_false(permits(acl, 7, 1, 1, 4));
    assert_true(permits(acl, 7, 1, 1, 1));
    assert_false(permits(acl, 8, GROUP, 1, 4));
    assert_false(permits(acl, 8, 200, 1, 4));
    assert_true(permits(acl, 8, 200, 1, 1));
    assert_true(permits(acl, 8, 1, 1, 4));
    free(acl);
}

/* chmod(2) of a file with an ACL, and of one below a default ACL. */
static void
the_kernel_changes_an_acl_by_a_mode_in_the_same_way(void **state)
{
    struct bytes_random seeded = bytes_random_seed(SEED + 1);
    char path[64];
    int fd = open_file(path);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct store_acl *acl = random_acl(&seeded);
        uint32_t mode = bytes_random_below(&seeded, 01000);
        uint8_t value[XATTR_BYTES], got[XATTR_BYTES];
        size_t len = to_xattr(acl, value);

        assert_int_equal(fsetxattr(fd, "system.posix_acl_access", value, len, 0), 0);
        assert_int_equal(fchmod(fd, mode), 0);
        acl_chmod(acl, mode);
        len = to_xattr(acl, value);
        if (acl->count > 3) {
            assert_int_equal(fgetxattr(fd, "system.posix_acl_access", got, sizeof(got)), len);
            assert_memory_equal(got, value, len);
        }
        free(acl);
    }
    close(fd);
    unlink(path);
}

static void
what_is_made_inherits_as_from_the_kernel(void **state)
{
    struct bytes_random seeded = bytes_random_seed(SEED + 2);
    char path[64], dir[64], file[80];
    mode_t mask = umask(0);

    (void)state;
    close(open_file(path));
    unlink(path);
    strcpy(dir, "/dev/shm/ringnfs-acl-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/file", dir);
    for (int round = 0; round < ROUNDS; round++) {
        struct store_acl *acl = random_acl(&seeded);
        uint32_t mode = bytes_random_below(&seeded, 010000), becomes;
        uint8_t value[XATTR_BYTES], got[XATTR_BYTES];
        size_t len = to_xattr(acl, value);
        struct stat st;

        assert_int_equal(setxattr(dir, "system.posix_acl_default", value, len, 0), 0);
        assert_int_equal(mknod(file, S_IFREG | mode, 0), 0);
        assert_int_equal(stat(file, &st), 0);
        becomes = acl_inherit(acl, mode);
        assert_int_equal(becomes, st.st_mode & 07777);
        len = to_xattr(acl, value);
        if (acl->count > 3) {
            assert_int_equal(getxattr(file, "system.posix_acl_access", got, sizeof(got)), len);
            assert_memory_equal(got, value, len);
        } else {
            assert_int_equal(getxattr(file, "system.posix_acl_access", got, sizeof(got)), -1);
        }
        assert_int_equal(unlink(file), 0);
        free(acl);
    }
    rmdir(dir);
    umask(mask);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acl_is_valid_when_the_kernel_takes_it_and_its_mode_is_the_kernels),
        cmocka_unit_test(a_mode_becomes_three_entries_and_comes_back),
        cmocka_unit_test(the_first_entry_that_is_about_a_caller_decides_but_groups_add_up_to_one_that_gives_all),
        cmocka_unit_test(the_mask_bounds_users_and_groups),
        cmocka_unit_test(the_kernel_changes_an_acl_by_a_mode_in_the_same_way),
        cmocka_unit_test(what_is_made_inherits_as_from_the_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
