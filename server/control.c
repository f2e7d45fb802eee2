/*
 * server/control.c - the control socket: connections, lines and who may send them. What the lines say is for
 * control_commands.c.
 */
#include "server/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/listen.h"
#include "rpc/loop.h"
#include "server/control_commands.h"
#include "server/sandbox.h"

#define READ_BYTES 4096                 /* room that a connection has for a request at least */

struct control_conn {
    struct loop_fd watch;               /* first */
    struct loop_timer idle;
    LIST_ENTRY(control_conn) next;
    struct control *control;
    int fd;
    char *in;                           /* bytes that have come */
    size_t in_len, in_size;
    size_t scanned;                     /* of them without a newline */
    char *out;                          /* the reply under way, or NULL */
    size_t out_len, sent;
    bool last;                          /* to be closed once the reply is sent */
    bool ended;                         /* the client sends no more */
};

struct control {
    struct server *server;
    const struct log *log;
    const struct sandbox *sandbox;
    struct loop *loop;
    struct listener *listener;
    pthread_t thread;
    bool started;
    int dir_fd, lock_fd;
    int socket_fd;                      /* owned until the listener has it */
    bool listening;                     /* it has */
    bool bound;
    struct loop_message hold_message;
    bool hold;
    sem_t held;
    uint32_t idle_ms;
    LIST_HEAD(, control_conn) conns;
    unsigned nconns;
};

static int
fail(int err, const char *dir, const char *name, const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s/%s: %s", dir, name, what != NULL ? what : strerror(-err));
    return err;
}

/* The address of the socket in a directory, by way of its descriptor where the name would be too long. */
static socklen_t
make_address(const char *dir, int dir_fd, struct sockaddr_un *address)
{
    int len = snprintf(address->sun_path, sizeof(address->sun_path), "%s/" CONTROL_SOCKET, dir);

    address->sun_family = AF_UNIX;
    if (len < 0 || (size_t)len >= sizeof(address->sun_path))
        snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/" CONTROL_SOCKET, dir_fd);
    return sizeof(*address);
}

int
control_connect(const char *dir)
{
    int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, err = 0;
    struct sockaddr_un address;
    socklen_t len;

    if (dir_fd < 0)
        return -errno;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        err = -errno;
    } else {
        len = make_address(dir, dir_fd, &address);
        if (connect(fd, (const struct sockaddr *)&address, len) < 0)
            err = -errno;
    }
    close(dir_fd);
    if (err == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return err;
}

static void
conn_close(struct control_conn *conn)
{
    struct control *control = conn->control;

    loop_unwatch(control->loop, &conn->watch);
    loop_timer_stop(control->loop, &conn->idle);
    LIST_REMOVE(conn, next);
    control->nconns--;
    close(conn->fd);
    free(conn->in);
    free(conn->out);
    free(conn);
}

static void
idle_too_long(struct loop_timer *timer)
{
    conn_close((struct control_conn *)((char *)timer - offsetof(struct control_conn, idle)));
}

static void
restart_idle(struct control_conn *conn)
{
    loop_timer_start(conn->control->loop, &conn->idle, conn->control->idle_ms, idle_too_long);
}

/* Send what is left of the reply. Returns false when the connection is gone. */
static bool
send_reply(struct control_conn *conn)
{
    while (conn->sent < conn->out_len) {
        ssize_t n = send(conn->fd, conn->out + conn->sent, conn->out_len - conn->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            loop_events(conn->control->loop, &conn->watch, EV_WRITE);
            return true;
        }
        if (n < 0) {
            conn_close(conn);
            return false;
        }
        conn->sent += (size_t)n;
        restart_idle(conn);
    }
    free(conn->out);
    conn->out = NULL;
    if (conn->last) {
        conn_close(conn);
        return false;
    }
    return true;
}

/* Begin a reply, which is taken over; NULL: memory is short. Returns as send_reply(). */
static bool
reply(struct control_conn *conn, char *text)
{
    if (text == NULL) {
        conn_close(conn);
        return false;
    }
    conn->out = text;
    conn->out_len = strlen(text);
    conn->sent = 0;
    return send_reply(conn);
}

static bool
refuse(struct control_conn *conn, const char *why)
{
    conn->last = true;
    return reply(conn, control_refusal(why));
}

/* Answer the first whole line that has come, if there is one and no reply is under way. Returns as send_reply(). */
static bool
answer_lines(struct control_conn *conn)
{
    char *newline;
    size_t len;

    char *line;
    bool later;

    while (conn->out == NULL) {
        newline = memchr(conn->in + conn->scanned, '\n', conn->in_len - conn->scanned);
        if (newline == NULL) {
            conn->scanned = conn->in_len;
            if (conn->in_len >= CONTROL_LINE_MAX)
                return refuse(conn, "the request is longer than 1 MiB");
            return true;
        }
        len = (size_t)(newline - conn->in);
        restart_idle(conn);
        line = control_answer(conn->control->server, conn->fd, conn->in, len, &later);
        if (later) {
            conn_close(conn);                            /* somebody else has a descriptor of his own and goes on */
            return false;
        }
        if (!reply(conn, line))
            return false;
        conn->in_len -= len + 1;
        conn->scanned = 0;
        memmove(conn->in, newline + 1, conn->in_len);
    }
    return true;
}

/* What has come without a newline by the end is no request. */
static void
go_on(struct control_conn *conn)
{
    if (answer_lines(conn) && conn->ended && conn->out == NULL)
        conn_close(conn);
}

/* Room for more bytes: as much again, up to the bound. Returns 0 or -ENOMEM. */
static int
make_room(struct control_conn *conn)
{
    size_t size = conn->in_size == 0 ? READ_BYTES : conn->in_size * 2;
    char *grown;

    if (conn->in_len < conn->in_size)
        return 0;
    grown = realloc(conn->in, size);
    if (grown == NULL)
        return -ENOMEM;
    conn->in = grown;
    conn->in_size = size;
    return 0;
}

static void
read_more(struct control_conn *conn)
{
    ssize_t n;

    if (make_room(conn) < 0) {
        conn_close(conn);
        return;
    }
    n = recv(conn->fd, conn->in + conn->in_len, conn->in_size - conn->in_len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n < 0) {
        conn_close(conn);
        return;
    }
    conn->ended = n == 0;
    conn->in_len += (size_t)n;
    go_on(conn);
}

static void
conn_ready(struct loop_fd *watch, int events)
{
    struct control_conn *conn = (struct control_conn *)watch;

    (void)events;
    if (conn->out == NULL) {
        read_more(conn);
        return;
    }
    if (!send_reply(conn) || conn->out != NULL)
        return;
    loop_events(conn->control->loop, &conn->watch, EV_READ);
    go_on(conn);
}

static bool
may_control(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

static void
accepted(void *context, int fd)
{
    struct control *control = context;
    struct control_conn *conn = calloc(1, sizeof(*conn));
    struct ucred peer = { .uid = (uid_t)-1 };
    socklen_t len = sizeof(peer);
    char why[128];

    if (conn == NULL || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
        free(conn);
        close(fd);
        return;
    }
    conn->control = control;
    conn->fd = fd;
    LIST_INSERT_HEAD(&control->conns, conn, next);
    loop_watch(control->loop, &conn->watch, fd, EV_READ, conn_ready);
    restart_idle(conn);
    if (control->nconns++ >= CONTROL_CONNECTIONS_MAX) {
        snprintf(why, sizeof(why), "%d connections are open already", CONTROL_CONNECTIONS_MAX);
        refuse(conn, why);
    } else if (!may_control(peer.uid)) {
        snprintf(why, sizeof(why), "user %u may not control this server: root and user %u may", peer.uid, geteuid());
        log_warn(control->log, "the control socket: %s", why);
        refuse(conn, why);
    }
}

/* Hold the lock file, or say who does. */
static int
take_lock(struct control *control, const char *dir, char *error, size_t error_size)
{
    char holder[16] = "", what[192];
    ssize_t n;
    int err;

    control->lock_fd = openat(control->dir_fd, CONTROL_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (control->lock_fd < 0)
        return fail(-errno, dir, CONTROL_LOCK, NULL, error, error_size);
    if (flock(control->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        err = -errno;
        if (err != -EWOULDBLOCK)
            return fail(err, dir, CONTROL_LOCK, NULL, error, error_size);
        n = pread(control->lock_fd, holder, sizeof(holder) - 1, 0);
        holder[n > 0 ? strspn(holder, "0123456789") : 0] = '\0';
        snprintf(what, sizeof(what), "another server%s%s%s is using this state directory; name another one with "
                 "--set state_dir=DIR", *holder != '\0' ? " (pid " : "", holder, *holder != '\0' ? ")" : "");
        return fail(-EADDRINUSE, dir, CONTROL_SOCKET, what, error, error_size);
    }
    return 0;
}

/* For whoever finds the lock taken. */
static int
write_holder(const struct control *control)
{
    return ftruncate(control->lock_fd, 0) < 0 || lseek(control->lock_fd, 0, SEEK_SET) < 0 ||
           dprintf(control->lock_fd, "%d\n", getpid()) < 0 ? -errno : 0;
}

/* What another server has had, if it is of this directory. */
static int
inherit(struct control *control, const struct control_config *config, char *error, size_t error_size)
{
    struct stat here, there;

    if (fstatat(control->dir_fd, CONTROL_LOCK, &here, AT_SYMLINK_NOFOLLOW) < 0 || fstat(config->lock_fd, &there) < 0)
        return fail(-errno, config->dir, CONTROL_LOCK, NULL, error, error_size);
    if (here.st_dev != there.st_dev || here.st_ino != there.st_ino)
        return fail(-EXDEV, config->dir, CONTROL_LOCK, "is not the old server's: a restart cannot change state_dir", error,
                    error_size);
    control->lock_fd = config->lock_fd;
    control->socket_fd = config->socket_fd;
    return 0;
}

/* With the lock held a socket that is there is nobody's any more. */
static int
remove_stale(const struct control *control, const char *dir, char *error, size_t error_size)
{
    struct stat st;

    if (fstatat(control->dir_fd, CONTROL_SOCKET, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : fail(-errno, dir, CONTROL_SOCKET, NULL, error, error_size);
    if (!S_ISSOCK(st.st_mode))
        return fail(-EEXIST, dir, CONTROL_SOCKET, "is there, and is no socket", error, error_size);
    if (unlinkat(control->dir_fd, CONTROL_SOCKET, 0) < 0 && errno != ENOENT)
        return fail(-errno, dir, CONTROL_SOCKET, NULL, error, error_size);
    return 0;
}

/* Nobody can connect before listen(), and by then the mode is what it shall be. */
static int
open_socket(struct control *control, const char *dir, char *error, size_t error_size)
{
    struct sockaddr_un address;
    socklen_t len = make_address(dir, control->dir_fd, &address);

    control->socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (control->socket_fd < 0 || bind(control->socket_fd, (const struct sockaddr *)&address, len) < 0)
        return fail(-errno, dir, CONTROL_SOCKET, NULL, error, error_size);
    control->bound = true;
    if (fchmodat(control->dir_fd, CONTROL_SOCKET, 0600, 0) < 0 ||
        listen(control->socket_fd, CONTROL_CONNECTIONS_MAX) < 0)
        return fail(-errno, dir, CONTROL_SOCKET, NULL, error, error_size);
    return 0;
}

static int
set_up(struct control *control, const struct control_config *config, char *error, size_t error_size)
{
    const char *dir = config->dir;
    int err;

    control->dir_fd = sandbox_open_dir(dir);
    if (control->dir_fd < 0)
        return fail(control->dir_fd, dir, CONTROL_SOCKET, NULL, error, error_size);
    if (config->inherits)
        return inherit(control, config, error, error_size);
    err = take_lock(control, dir, error, error_size);
    if (err == 0)
        err = write_holder(control) < 0 ? fail(-errno, dir, CONTROL_LOCK, NULL, error, error_size) : 0;
    if (err == 0)
        err = remove_stale(control, dir, error, error_size);
    if (err == 0)
        err = open_socket(control, dir, error, error_size);
    return err;
}

int
control_new(const struct control_config *config, struct control **out, char *error, size_t error_size)
{
    struct control *control = calloc(1, sizeof(*control));
    int err;

    if (control == NULL)
        return fail(-ENOMEM, config->dir, CONTROL_SOCKET, NULL, error, error_size);
    control->server = config->server;
    control->log = config->log;
    control->sandbox = config->sandbox;
    control->idle_ms = config->idle_ms;
    control->dir_fd = control->lock_fd = control->socket_fd = -1;
    sem_init(&control->held, 0, 0);
    LIST_INIT(&control->conns);
    err = set_up(control, config, error, error_size);
    if (err < 0) {
        control_free(control);
        return err;
    }
    *out = control;
    return 0;
}

static void *
control_main(void *arg)
{
    struct control *control = arg;
    struct control_conn *conn;

    if (sandbox_enter(control->sandbox, SANDBOX_OPERATOR) < 0)
        abort();                        /* sandbox_new() has tried it */
    loop_run(control->loop);
    while ((conn = LIST_FIRST(&control->conns)) != NULL)
        conn_close(conn);
    listener_free(control->listener);
    return NULL;
}

int
control_start(struct control *control)
{
    sigset_t all, old;
    int err = loop_new(NULL, NULL, &control->loop);

    if (err == 0)
        err = listener_new(control->loop, control->socket_fd, accepted, control, &control->listener);
    if (err < 0)
        return err;
    control->listening = control->bound = true;
    write_holder(control);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&control->thread, NULL, control_main, control);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    control->started = err == 0;
    if (err != 0)
        listener_free(control->listener);
    return -err;
}

void
control_descriptors(const struct control *control, int *lock_fd, int *socket_fd)
{
    *lock_fd = control->lock_fd;
    *socket_fd = control->socket_fd;
}

static void
run_hold(struct loop_message *message)
{
    struct control *control = (struct control *)((char *)message - offsetof(struct control, hold_message));

    listener_pause(control->listener, control->hold);
    sem_post(&control->held);
}

void
control_hold(struct control *control, bool hold)
{
    control->hold = hold;
    control->hold_message.run = run_hold;
    loop_post(control->loop, &control->hold_message);
    while (sem_wait(&control->held) < 0 && errno == EINTR)
        continue;
}

void
control_leave(struct control *control)
{
    if (control != NULL)
        control->bound = false;
}

void
control_free(struct control *control)
{
    if (control == NULL)
        return;
    if (control->started) {
        loop_stop(control->loop);
        pthread_join(control->thread, NULL);
    }
    loop_free(control->loop);
    sem_destroy(&control->held);
    if (control->bound)
        unlinkat(control->dir_fd, CONTROL_SOCKET, 0);
    if (control->socket_fd >= 0 && !control->listening)
        close(control->socket_fd);
    if (control->lock_fd >= 0)
        close(control->lock_fd);
    if (control->dir_fd >= 0)
        close(control->dir_fd);
    free(control);
}
