/* tests/lib/store_rig.c - call a store and wait for it; see store_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/store_rig.h"

static const gid_t no_groups[1];

const struct store_cred rig_root = { 0, 0, 0, no_groups };
const struct store_cred rig_alice = { RIG_ALICE, RIG_ALICE, 0, no_groups };
const struct store_cred rig_bob = { RIG_BOB, RIG_BOB, 0, no_groups };

static void
note_over(struct store_op *op)
{
    struct rig *rig = (struct rig *)((char *)op - offsetof(struct rig, call));

    rig->call.over = true;
}

struct store_op *
rig_op(struct rig *rig, const struct store_cred *cred)
{
    memset(&rig->call, 0, sizeof(rig->call));
    rig->call.op.engine = rig->engine;
    rig->call.op.cred = cred;
    rig->call.op.sync = true;
    rig->call.op.done = note_over;
    return &rig->call.op;
}

int
rig_finish(struct rig *rig, int err)
{
    struct pollfd polled = { .events = POLLIN };

    if (err != STORE_PENDING) {
        assert_int_equal(rig->call.op.err, err);
        return err;
    }
    assert_non_null(rig->engine);
    polled.fd = engine_fd(rig->engine);
    while (!rig->call.over) {
        engine_flush(rig->engine);
        if (rig->call.over)
            break;
        assert_true(poll(&polled, 1, 30000) > 0);        /* an operation got lost */
        engine_reap(rig->engine);
    }
    return rig->call.op.err;
}

static struct store_op *
named_op(struct rig *rig, const struct store_cred *cred, const char *name)
{
    struct store_op *op = rig_op(rig, cred);

    op->name = name;
    op->name_len = strlen(name);
    return op;
}

int
rig_get(struct rig *rig, const struct store_id *id, struct store_node **node)
{
    struct store_id copy = *id;                         /* it may be in the op that is about to be cleared */
    int err = rig_finish(rig, store_get(rig->store, &copy, rig_op(rig, &rig_root)));

    *node = rig->call.op.r.get.node;
    if (err == 0) {
        assert_true(rig->nnodes < RIG_NODES);
        rig->nodes[rig->nnodes++] = *node;
    }
    return err;
}

struct store_attr
rig_attr(struct rig *rig, struct store_node *node)
{
    assert_int_equal(rig_finish(rig, store_getattr(node, rig_op(rig, &rig_root))), 0);
    assert_true(rig->call.op.attr.present);
    return rig->call.op.attr;
}

int
rig_setattr(struct rig *rig, const struct store_cred *cred, struct store_node *node, struct store_setattr set)
{
    struct store_op *op = rig_op(rig, cred);

    op->u.setattr.set = &set;
    return rig_finish(rig, store_setattr(node, op));
}

int
rig_lookup(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name)
{
    return rig_finish(rig, store_lookup(dir, named_op(rig, cred, name)));
}

uint32_t
rig_access(struct rig *rig, const struct store_cred *cred, struct store_node *node, uint32_t mask)
{
    struct store_op *op = rig_op(rig, cred);

    op->u.access.mask = mask;
    assert_int_equal(rig_finish(rig, store_access(node, op)), 0);
    return op->r.access.granted;
}

int
rig_readlink(struct rig *rig, struct store_node *node, char text[STORE_LINK_MAX + 1])
{
    struct store_op *op = rig_op(rig, &rig_bob);
    int err;

    op->u.readlink.text = text;
    op->u.readlink.size = STORE_LINK_MAX + 1;
    err = rig_finish(rig, store_readlink(node, op));
    if (err == 0)
        text[op->r.readlink.len] = '\0';
    return err;
}

int
rig_read(struct rig *rig, const struct store_cred *cred, struct store_node *node, uint64_t offset, uint32_t length,
         void *data)
{
    struct store_op *op = rig_op(rig, cred);

    op->u.read.offset = offset;
    op->u.read.length = length;
    op->u.read.data = data;
    op->u.read.pipe = -1;
    return rig_finish(rig, store_read(node, op));
}

int
rig_write(struct rig *rig, const struct store_cred *cred, struct store_node *node, uint64_t offset, const void *data,
          uint32_t length)
{
    struct store_op *op = rig_op(rig, cred);

    op->u.write.offset = offset;
    op->u.write.length = length;
    op->u.write.data = data;
    op->u.write.stable = STORE_UNSTABLE;
    return rig_finish(rig, store_write(node, op));
}

int
rig_create(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name,
           enum store_create_how how, struct store_setattr set)
{
    struct store_op *op = named_op(rig, cred, name);

    op->u.create.how = how;
    op->u.create.set = &set;
    return rig_finish(rig, store_create(dir, op));
}

int
rig_exclusive(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name,
              const char verifier[STORE_VERIFIER_SIZE])
{
    struct store_op *op = named_op(rig, cred, name);
    struct store_setattr none = { 0 };

    op->u.create.how = STORE_EXCLUSIVE;
    op->u.create.set = &none;
    op->u.create.verifier = (const uint8_t *)verifier;
    return rig_finish(rig, store_create(dir, op));
}

int
rig_mkdir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name,
          struct store_setattr set)
{
    struct store_op *op = named_op(rig, cred, name);

    op->u.mkdir.set = &set;
    return rig_finish(rig, store_mkdir(dir, op));
}

int
rig_symlink(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name, const char *text,
            size_t len)
{
    struct store_op *op = named_op(rig, cred, name);
    struct store_setattr set = { .set_mode = true, .mode = 0755 };

    op->u.symlink.set = &set;
    op->u.symlink.text = text;
    op->u.symlink.text_len = len;
    return rig_finish(rig, store_symlink(dir, op));
}

int
rig_mknod(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name, mode_t type,
          uint32_t major, uint32_t minor)
{
    struct store_op *op = named_op(rig, cred, name);
    struct store_setattr set = { .set_mode = true, .mode = 0640 };

    op->u.mknod.set = &set;
    op->u.mknod.type = type;
    op->u.mknod.major = major;
    op->u.mknod.minor = minor;
    return rig_finish(rig, store_mknod(dir, op));
}

int
rig_remove(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name)
{
    return rig_finish(rig, store_remove(dir, named_op(rig, cred, name)));
}

int
rig_rmdir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, const char *name)
{
    return rig_finish(rig, store_rmdir(dir, named_op(rig, cred, name)));
}

int
rig_rename(struct rig *rig, const struct store_cred *cred, struct store_node *from, const char *name,
           struct store_node *to, const char *new_name)
{
    struct store_op *op = named_op(rig, cred, name);

    op->u.rename.to = to;
    op->u.rename.name = new_name;
    op->u.rename.name_len = strlen(new_name);
    return rig_finish(rig, store_rename(from, op));
}

int
rig_link(struct rig *rig, const struct store_cred *cred, struct store_node *node, struct store_node *dir,
         const char *name)
{
    struct store_op *op = named_op(rig, cred, name);

    op->u.link.dir = dir;
    return rig_finish(rig, store_link(node, op));
}

int
rig_readdir(struct rig *rig, const struct store_cred *cred, struct store_node *dir, uint64_t cookie, void *buffer,
            size_t size, uint32_t max_entries, bool plus)
{
    struct store_op *op = rig_op(rig, cred);

    op->u.dir.cookie = cookie;
    op->u.dir.buffer = buffer;
    op->u.dir.size = size;
    op->u.dir.max_entries = max_entries;
    op->u.dir.plus = plus;
    return rig_finish(rig, store_readdir(dir, op));
}

int
rig_readdir_room(struct rig *rig, struct store_node *dir, uint64_t cookie, void *buffer, size_t size, size_t room)
{
    struct store_op *op = rig_op(rig, &rig_root);

    op->u.dir.cookie = cookie;
    op->u.dir.buffer = buffer;
    op->u.dir.size = size;
    op->u.dir.max_entries = UINT32_MAX;
    op->u.dir.plus = true;
    op->u.dir.room = room;
    op->u.dir.entry_room = 10;
    op->u.dir.id_room = 5;
    return rig_finish(rig, store_readdir(dir, op));
}

int
rig_fsstat(struct rig *rig, struct store_node *node)
{
    return rig_finish(rig, store_fsstat(node, rig_op(rig, &rig_root)));
}

int
rig_commit(struct rig *rig, const struct store_cred *cred, struct store_node *node)
{
    return rig_finish(rig, store_commit(node, rig_op(rig, cred)));
}

struct store_node *
rig_child(struct rig *rig)
{
    struct store_node *node;

    assert_int_equal(rig_get(rig, &rig->call.op.child, &node), 0);
    return node;
}

struct store_node *
rig_find(struct rig *rig, struct store_node *dir, const char *name)
{
    assert_int_equal(rig_lookup(rig, &rig_root, dir, name), 0);
    return rig_child(rig);
}

struct store_node *
rig_make(struct rig *rig, struct store_node *dir, const char *name, const char *type, uint32_t mode)
{
    static const struct {
        const char *type;
        mode_t bits;
    } types[] = {
        { "fifo", S_IFIFO }, { "sock", S_IFSOCK }, { "chr", S_IFCHR }, { "blk", S_IFBLK }
    };
    struct store_setattr set = { .set_mode = true, .mode = mode };
    struct store_setattr owner = {
        .set_uid = rig->decides, .set_gid = rig->decides, .uid = RIG_ALICE, .gid = RIG_ALICE
    };
    struct store_node *node;
    unsigned i;

    if (strcmp(type, "file") == 0) {
        assert_int_equal(rig_create(rig, &rig_root, dir, name, STORE_GUARDED, set), 0);
    } else if (strcmp(type, "dir") == 0) {
        assert_int_equal(rig_mkdir(rig, &rig_root, dir, name, set), 0);
    } else if (strcmp(type, "link") == 0) {
        assert_int_equal(rig_symlink(rig, &rig_root, dir, name, "to/nowhere", 10), 0);
    } else {
        for (i = 0; strcmp(types[i].type, type) != 0; i++)
            continue;
        assert_int_equal(rig_mknod(rig, &rig_root, dir, name, types[i].bits, 7, 513), 0);
    }
    node = rig_child(rig);
    assert_int_equal(rig_setattr(rig, &rig_root, node, owner), 0);
    if (strcmp(type, "link") != 0)
        assert_int_equal(rig_setattr(rig, &rig_root, node, set), 0);
    return node;
}

const struct store_dirent *
rig_next_entry(const struct store_dirent *dirent)
{
    size_t size = offsetof(struct store_dirent, name) + dirent->name_len;

    return (const struct store_dirent *)((const char *)dirent + ((size + 7) & ~(size_t)7));
}

void
rig_names(struct rig *rig, struct store_node *dir, uint32_t page, char *text, size_t size)
{
    static _Alignas(8) char buffer[1 << 16];
    uint64_t cookie = 0;
    size_t used = 0;

    text[0] = '\0';
    for (;;) {
        const struct store_dirent *dirent = (const struct store_dirent *)buffer;
        const struct store_op *op = &rig->call.op;
        uint32_t i;

        assert_int_equal(rig_readdir(rig, &rig_root, dir, cookie, buffer, sizeof(buffer), page, false), 0);
        for (i = 0; i < op->r.dir.entries; i++, dirent = rig_next_entry(dirent)) {
            cookie = dirent->cookie;
            assert_true(cookie != 0);
            if (dirent->name[0] == '.' && (dirent->name_len == 1 || (dirent->name_len == 2 && dirent->name[1] == '.')))
                continue;
            assert_true(used + dirent->name_len + 2u <= size);
            used += (size_t)sprintf(text + used, "%.*s ", (int)dirent->name_len, dirent->name);
        }
        if (op->r.dir.eof)
            return;
        assert_true(op->r.dir.entries > 0);
    }
}

void
rig_put_all(struct rig *rig)
{
    while (rig->nnodes > 0)
        store_put(rig->store, rig->nodes[--rig->nnodes]);
}

void
rig_tick(void)
{
    struct timespec pause = { 0, 12000000 };            /* three jiffies of the slowest kernel */

    nanosleep(&pause, NULL);
}
