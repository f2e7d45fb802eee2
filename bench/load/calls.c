/* bench/load/calls.c - single calls, encoded into a slot. */
#include "bench/load/load.h"

uint8_t *
put_sattr(uint8_t *p, uint32_t mode)
{
    p = put32(p, 1);
    p = put32(p, mode);
    p = put32(p, 0); /* uid, gid, size: unset */
    p = put32(p, 0);
    p = put32(p, 0);
    p = put32(p, 0); /* atime, mtime: unchanged */
    return put32(p, 0);
}

uint8_t *
put_name(uint8_t *p, const struct fh *dir, const char *name)
{
    p = put_fh(p, dir);
    return put_str(p, name);
}

void
call_fh(struct slot *s, uint32_t proc, const struct fh *fh)
{
    uint8_t *p = call_begin(s, proc);

    call_end(s, put_fh(p, fh), NULL, 0);
}

void
call_name(struct slot *s, uint32_t proc, const char *name)
{
    uint8_t *p = call_begin(s, proc);

    call_end(s, put_name(p, &load.dir, name), NULL, 0);
}

void
call_access(struct slot *s, const struct fh *fh)
{
    uint8_t *p = call_begin(s, P_ACCESS);

    p = put_fh(p, fh);
    call_end(s, put32(p, 0x3f), NULL, 0);
}

void
call_read(struct slot *s, struct file *f, uint64_t off, uint32_t bs)
{
    uint8_t *p = call_begin(s, P_READ);
    uint64_t left = f->size > off ? f->size - off : 0;

    s->file = f;
    s->off = off;
    s->len = left < bs ? (uint32_t)left : bs;
    s->content = f->content;
    s->verify = options.verify || (options.sample != 0 && load.reads++ % options.sample == 0);
    p = put_fh(p, &f->fh);
    p = put64(p, off);
    call_end(s, put32(p, bs), NULL, 0);
}

void
call_write(struct slot *s, struct file *f, uint64_t off, uint32_t len, uint32_t stable, uint64_t content)
{
    uint8_t *p = call_begin(s, P_WRITE);

    s->file = f;
    s->off = off;
    s->len = len;
    p = put_fh(p, &f->fh);
    p = put64(p, off);
    p = put32(p, len);
    p = put32(p, stable);
    p = put32(p, len);
    call_end(s, p, pattern_at(content, off), len);
}

void
call_commit(struct slot *s, struct file *f, uint64_t off, uint32_t count)
{
    uint8_t *p = call_begin(s, P_COMMIT);

    p = put_fh(p, &f->fh);
    p = put64(p, off);
    call_end(s, put32(p, count), NULL, 0);
}

void
call_create(struct slot *s, const char *name)
{
    uint8_t *p = call_begin(s, P_CREATE);

    p = put_name(p, &load.dir, name);
    p = put32(p, 0); /* UNCHECKED */
    call_end(s, put_sattr(p, 0644), NULL, 0);
}

void
call_mkdir(struct slot *s, const char *name)
{
    uint8_t *p = call_begin(s, P_MKDIR);

    p = put_name(p, &load.dir, name);
    call_end(s, put_sattr(p, 0755), NULL, 0);
}

void
call_symlink(struct slot *s, const char *name, const char *target)
{
    uint8_t *p = call_begin(s, P_SYMLINK);

    p = put_name(p, &load.dir, name);
    p = put_sattr(p, 0777);
    call_end(s, put_str(p, target), NULL, 0);
}

void
call_rename(struct slot *s, const char *from, const char *to)
{
    uint8_t *p = call_begin(s, P_RENAME);

    p = put_name(p, &load.dir, from);
    call_end(s, put_name(p, &load.dir, to), NULL, 0);
}

void
call_readdir(struct slot *s, bool plus)
{
    uint8_t *p = call_begin(s, plus ? P_READDIRPLUS : P_READDIR);

    p = put_fh(p, &load.dir);
    p = put64(p, s->cookie);
    memcpy(p, s->cookieverf, 8);
    p = put32(p + 8, options.dircount);
    if (plus)
        p = put32(p, options.dircount);
    call_end(s, p, NULL, 0);
}

void
call_setattr(struct slot *s, const struct fh *fh, uint32_t mode)
{
    uint8_t *p = call_begin(s, P_SETATTR);

    p = put_sattr(put_fh(p, fh), mode);
    call_end(s, put32(p, 0), NULL, 0);                  /* no guard */
}

void
call_set_size(struct slot *s, struct file *f)
{
    uint8_t *p = call_begin(s, P_SETATTR);

    p = put_fh(p, &f->fh);
    for (int i = 0; i < 3; i++)                         /* mode, uid, gid: unset */
        p = put32(p, 0);
    p = put64(put32(p, 1), f->size);
    for (int i = 0; i < 3; i++)                         /* atime, mtime: unchanged; no guard */
        p = put32(p, 0);
    call_end(s, p, NULL, 0);
}
