/* server/state.c - see state.h. */
#include "server/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "server/sandbox.h"
#include "storage/seed.h"

#define KEY_FILE "handle-key"
#define KEY_DIGITS (2 * FH_KEY_SIZE)
#define NAME_BYTES_MAX 128                               /* of a file in the directory, temporary ones too */
#define LEFT_OVER_S 3600                                 /* nobody is at a temporary file for so long */

struct state {
    char *dir;
    int fd;                             /* -1, once it is open: there is no directory */
    struct fh_key key;
};

static int fail(int err, char *error, size_t error_size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int
fail(int err, char *error, size_t error_size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, error_size, format, args);
    va_end(args);
    return err;
}

char *
state_default_dir(void)
{
    const char *base = getenv("XDG_STATE_HOME"), *below = "ringnfs";
    char *dir;

    if (geteuid() == 0)
        return strdup("/var/lib/ringnfs");
    if (base == NULL || base[0] != '/') {
        base = getenv("HOME");
        below = ".local/state/ringnfs";
    }
    if (base == NULL || base[0] != '/') {
        errno = ENOENT;
        return NULL;
    }
    return asprintf(&dir, "%s/%s", base, below) < 0 ? NULL : dir;
}

/* Flush the directory that holds dir: without its name, what is in it is lost with the power. */
static int
flush_parent(const char *dir)
{
    char *parent = NULL;
    int fd = -1, err = 0;

    if (asprintf(&parent, "%s/..", dir) < 0)
        return -ENOMEM;
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fsync(fd) < 0 && errno != EINVAL)
        err = -errno;
    if (fd >= 0)                                         /* one that we may not read was made by somebody else */
        close(fd);
    free(parent);
    return err;
}

/* Make a directory and those above it that are missing; what is there stays as it is. */
static int
make_dirs(char *dir)
{
    char *slash = dir;
    int err;

    do {
        slash = strchr(slash + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        err = mkdir(dir, 0700) == 0 ? flush_parent(dir) : errno == EEXIST ? 0 : -errno;
        if (err < 0)
            return err;                                  /* dir ends where it could not go on: that is what is told */
        if (slash != NULL)
            *slash = '/';
    } while (slash != NULL);
    return 0;
}

static int
open_dir(struct state *state, char *error, size_t error_size)
{
    struct stat st;
    int err = make_dirs(state->dir);

    if (err < 0)
        return fail(err, error, error_size, "state directory: %s: %s", state->dir, strerror(-err));
    state->fd = sandbox_open_dir(state->dir);
    err = state->fd;
    if (err >= 0 && fstat(state->fd, &st) < 0)
        err = -errno;
    if (err < 0)
        return fail(err, error, error_size, "state directory: %s: %s", state->dir, strerror(-err));
    if (st.st_uid != geteuid())
        return fail(-EPERM, error, error_size, "state directory: %s belongs to another user (uid %u)", state->dir,
                    st.st_uid);
    if ((st.st_mode & 022) != 0)
        return fail(-EPERM, error, error_size, "state directory: others may write to %s (mode %04o); chmod 700 it",
                    state->dir, st.st_mode & 07777);
    return 0;
}

/* Whether a name is one of write_temporary()'s, of a file that was written long ago. */
static bool
is_left_over(const struct state *state, const char *name)
{
    const char *salt = strrchr(name, '.');
    struct stat st;

    return name[0] == '.' && salt != name && strlen(salt + 1) == 8 && strspn(salt + 1, "0123456789abcdef") == 8 &&
           fstatat(state->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
           time(NULL) - st.st_mtime > LEFT_OVER_S;
}

/* What a server that died while it wrote has left behind; another that is just writing is not disturbed. */
static void
remove_left_overs(const struct state *state)
{
    int fd = openat(state->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (is_left_over(state, entry->d_name))
            unlinkat(state->fd, entry->d_name, 0);
    }
    closedir(dir);
}

static int
write_all(int fd, const char *data, size_t len)
{
    ssize_t n;

    while (len > 0) {
        n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* A new file, written and on disk, under a name that nobody else has; that name in temporary (NAME_BYTES_MAX). */
static int
write_temporary(const struct state *state, const char *name, const void *data, size_t len, char *temporary)
{
    uint32_t salt;
    int fd, err;

    if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
        return -EIO;
    if (snprintf(temporary, NAME_BYTES_MAX, ".%s.%08x", name, salt) >= NAME_BYTES_MAX)
        return -ENAMETOOLONG;
    fd = openat(state->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    err = write_all(fd, data, len);
    if (err == 0 && fsync(fd) < 0)
        err = -errno;
    if (close(fd) < 0 && err == 0)
        err = -errno;
    if (err < 0)
        unlinkat(state->fd, temporary, 0);
    return err;
}

int
state_write_file(struct state *state, const char *name, const void *data, size_t len)
{
    char temporary[NAME_BYTES_MAX];
    int err;

    if (state->fd < 0)
        return 0;
    err = write_temporary(state, name, data, len, temporary);
    if (err < 0)
        return err;
    if (renameat(state->fd, temporary, state->fd, name) < 0) {
        err = -errno;
        unlinkat(state->fd, temporary, 0);
        return err;
    }
    return fsync(state->fd) < 0 ? -errno : 0;
}

/* Read up to size bytes; *len is how many there were. Returns 0 or -errno. */
static int
read_up_to(int fd, char *data, size_t size, size_t *len)
{
    ssize_t n;

    *len = 0;
    while (*len < size) {
        n = read(fd, data + *len, size - *len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        *len += (size_t)n;
    }
    return 0;
}

int
state_read_file(struct state *state, const char *name, size_t max, void **data, size_t *len)
{
    int fd = state->fd < 0 ? -1 : openat(state->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err;
    struct stat st;
    char *bytes;

    if (fd < 0)
        return state->fd < 0 ? -ENOENT : -errno;
    if (fstat(fd, &st) < 0) {
        err = -errno;
        close(fd);
        return err;
    }
    err = !S_ISREG(st.st_mode) ? -EINVAL
          : st.st_uid != geteuid() || (st.st_mode & 022) != 0 ? -EPERM
          : st.st_size > (off_t)max ? -EFBIG : 0;
    if (err < 0) {
        close(fd);
        return err;
    }
    bytes = malloc((size_t)st.st_size + 1);              /* it does not grow: state_write_file() puts another there */
    err = bytes == NULL ? -ENOMEM : read_up_to(fd, bytes, (size_t)st.st_size, len);
    close(fd);
    if (err < 0) {
        free(bytes);
        return err;
    }
    bytes[*len] = '\0';
    *data = bytes;
    return 0;
}

static void
format_key(const struct fh_key *key, char out[KEY_DIGITS + 2])
{
    size_t i;

    for (i = 0; i < FH_KEY_SIZE; i++)
        snprintf(out + 2 * i, 3, "%02x", key->bytes[i]);
    strcpy(out + KEY_DIGITS, "\n");
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
parse_key(const char *text, size_t len, struct fh_key *key)
{
    size_t i;

    if (len != KEY_DIGITS + 1 || text[KEY_DIGITS] != '\n')
        return false;
    for (i = 0; i < FH_KEY_SIZE; i++) {
        int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        key->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* Put a file where there is none: 0, or -EEXIST when somebody was quicker. */
static int
publish(const struct state *state, const char *temporary, const char *name)
{
    if (renameat2(state->fd, temporary, state->fd, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -errno;
    if (linkat(state->fd, temporary, state->fd, name, 0) < 0)   /* a file system that cannot rename like this */
        return -errno;
    return unlinkat(state->fd, temporary, 0) < 0 ? -errno : 0;
}

/* Make a key, unless another one is there by then. */
static int
make_key(const struct state *state)
{
    char text[KEY_DIGITS + 2], temporary[NAME_BYTES_MAX];
    struct fh_key key;
    int err;

    if (getrandom(key.bytes, sizeof(key.bytes), 0) != (ssize_t)sizeof(key.bytes))
        return -EIO;
    format_key(&key, text);
    err = write_temporary(state, KEY_FILE, text, KEY_DIGITS + 1, temporary);
    explicit_bzero(text, sizeof(text));
    explicit_bzero(&key, sizeof(key));
    if (err < 0)
        return err;
    err = publish(state, temporary, KEY_FILE);
    if (err == 0)
        return fsync(state->fd) < 0 ? -errno : 0;
    unlinkat(state->fd, temporary, 0);
    return err == -EEXIST ? 0 : err;
}

/* -ENOENT when there is none; error is filled in for all else. */
static int
read_key(struct state *state, char *error, size_t error_size)
{
    int fd = openat(state->fd, KEY_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), err;
    char text[KEY_DIGITS + 2];
    struct stat st;
    size_t len;

    if (fd < 0 && errno == ENOENT)
        return -ENOENT;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err = -errno;
        if (fd >= 0)
            close(fd);
        return fail(err, error, error_size, "%s/" KEY_FILE ": %s", state->dir,
                    err == -ELOOP ? "is a symbolic link" : strerror(-err));
    }
    err = S_ISREG(st.st_mode) ? read_up_to(fd, text, sizeof(text), &len) : -EBADMSG;
    close(fd);
    if (err < 0 && err != -EBADMSG)
        return fail(err, error, error_size, "%s/" KEY_FILE ": %s", state->dir, strerror(-err));
    if (st.st_uid != geteuid())
        return fail(-EPERM, error, error_size, "%s/" KEY_FILE " belongs to another user (uid %u)", state->dir,
                    st.st_uid);
    if ((st.st_mode & 077) != 0)
        return fail(-EPERM, error, error_size, "%s/" KEY_FILE " is open to others (mode %04o): chmod 600 it if nobody "
                    "can have read it, or move it away for a new key, which makes all handles stale", state->dir,
                    st.st_mode & 07777);
    if (err < 0 || !parse_key(text, len, &state->key))
        return fail(-EBADMSG, error, error_size, "%s/" KEY_FILE " is not a handle key (32 hexadecimal digits and a "
                    "newline): bring back the right one, or move it away for a new key, which makes all handles stale",
                    state->dir);
    return 0;
}

static int
open_key(struct state *state, char *error, size_t error_size)
{
    int err = read_key(state, error, error_size);

    if (err != -ENOENT)
        return err;
    err = make_key(state);
    if (err < 0)
        return fail(err, error, error_size, "%s/" KEY_FILE ": %s", state->dir, strerror(-err));
    err = read_key(state, error, error_size);            /* ours, or that of somebody who was quicker */
    if (err == -ENOENT)
        return fail(err, error, error_size, "%s/" KEY_FILE ": somebody takes it away", state->dir);
    return err;
}

int
state_open(const char *dir, struct state **out, char *error, size_t error_size)
{
    struct state *state = calloc(1, sizeof(*state));
    int err;

    if (state == NULL)
        return fail(-ENOMEM, error, error_size, "state directory: out of memory");
    state->fd = -1;
    state->dir = dir != NULL ? strdup(dir) : state_default_dir();
    if (state->dir == NULL) {
        err = errno == ENOENT ? -ENOENT : -ENOMEM;
        fail(err, error, error_size, "state directory: %s",
             err == -ENOENT ? "neither XDG_STATE_HOME nor HOME is set; use --set state_dir=DIR" : "out of memory");
        goto failed;
    }
    err = open_dir(state, error, error_size);
    if (err == 0) {
        remove_left_overs(state);
        err = open_key(state, error, error_size);
    }
    if (err < 0)
        goto failed;
    *out = state;
    return 0;
failed:
    state_close(state);
    return err;
}

int
state_new_stateless(struct state **out)
{
    struct state *state = calloc(1, sizeof(*state));

    if (state == NULL)
        return -ENOMEM;
    state->fd = -1;
    if (getrandom(state->key.bytes, sizeof(state->key.bytes), 0) != (ssize_t)sizeof(state->key.bytes)) {
        state_close(state);
        return -EIO;
    }
    *out = state;
    return 0;
}

void
state_seed_key(struct state *state, uint64_t seed)
{
    seed_fill(seed, "key of handles", state->key.bytes, sizeof(state->key.bytes));
}

void
state_close(struct state *state)
{
    if (state == NULL)
        return;
    if (state->fd >= 0)
        close(state->fd);
    explicit_bzero(&state->key, sizeof(state->key));
    free(state->dir);
    free(state);
}

const struct fh_key *
state_key(const struct state *state)
{
    return &state->key;
}

const char *
state_dir(const struct state *state)
{
    return state->dir;
}
