/* tests/lib/embedded_rig.c - see embedded_rig.h. */
#include "tests/lib/embedded_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define RESULTS 24                      /* offset of what follows an accepted reply without verifier */
#define READ 6
#define WRITE 7
#define CREATE 8

uint32_t message_xid = 1;

void
must(struct ringnfs *server, int result)
{
    if (result < 0)
        fail_msg("%s (%s)", ringnfs_error(server), strerror(-result));
}

void
must_fail(struct ringnfs *server, int result, int err, const char *word)
{
    if (result != err || strstr(ringnfs_error(server), word) == NULL)
        fail_msg("%d in place of %d, and \"%s\" says nothing about %s", result, err, ringnfs_error(server), word);
}

struct ringnfs *
make(const char *line)
{
    struct ringnfs *server;

    assert_int_equal(ringnfs_new(&server), 0);
    if (line != NULL)
        must(server, ringnfs_add_export(server, line));
    return server;
}

struct ringnfs *
start(const char *line)
{
    struct ringnfs *server = make(line);

    must(server, ringnfs_start(server));
    return server;
}

int
connect_to(int port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) },
                                         .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

int
connect_pair(struct ringnfs *server)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    must(server, ringnfs_add_connection(server, ends[0]));
    return ends[1];
}

void
message_number(struct message *message, uint32_t number)
{
    uint32_t word = htonl(number);

    assert_true(message->len + sizeof(word) <= sizeof(message->bytes));
    memcpy(message->bytes + message->len, &word, sizeof(word));
    message->len += sizeof(word);
}

void
message_bytes(struct message *message, const void *bytes, size_t len)
{
    size_t padded = (len + 3) & ~(size_t)3;

    message_number(message, (uint32_t)len);
    assert_true(message->len + padded <= sizeof(message->bytes));
    memset(message->bytes + message->len, 0, padded);
    if (len > 0)
        memcpy(message->bytes + message->len, bytes, len);
    message->len += padded;
}

void
message_begin(struct message *message, uint32_t prog, uint32_t proc, uint32_t uid)
{
    const uint32_t head[] = { message_xid++, 0, 2, prog, 3, proc };

    message->len = 0;
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        message_number(message, head[i]);
    message_number(message, uid != UINT32_MAX);         /* flavour */
    message_number(message, uid != UINT32_MAX ? 20 : 0);
    if (uid != UINT32_MAX) {
        message_number(message, 0);                     /* stamp */
        message_bytes(message, NULL, 0);                /* machine */
        message_number(message, uid);
        message_number(message, uid);
        message_number(message, 0);                     /* further groups */
    }
    message_number(message, 0);                         /* verifier */
    message_number(message, 0);
}

uint32_t
message_word(const struct message *message, size_t offset)
{
    uint32_t word;

    assert_true(offset + sizeof(word) <= message->len);
    memcpy(&word, message->bytes + offset, sizeof(word));
    return ntohl(word);
}

void
message_send(int fd, const struct message *message)
{
    uint32_t mark = htonl(0x80000000u | (uint32_t)message->len);
    const struct iovec parts[] = { { &mark, sizeof(mark) }, { (void *)(uintptr_t)message->bytes, message->len } };

    assert_int_equal(writev(fd, parts, 2), sizeof(mark) + message->len);
}

static bool
take(int fd, void *bytes, size_t len)
{
    char *at = bytes;
    ssize_t n;

    for (; len > 0; at += n, len -= (size_t)n) {
        if (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, RIG_WAIT_MS) <= 0)
            return false;
        n = read(fd, at, len);
        if (n <= 0)
            return false;
    }
    return true;
}

bool
message_receive(int fd, struct message *reply)
{
    uint32_t mark;

    if (!take(fd, &mark, sizeof(mark)))
        return false;
    reply->len = ntohl(mark) & 0x7fffffffu;
    return reply->len >= RESULTS && reply->len <= sizeof(reply->bytes) && take(fd, reply->bytes, reply->len);
}

/* Make a call, which the server has to accept, and read its reply into the same place. */
static bool
exchange(int fd, struct message *message)
{
    message_send(fd, message);
    return message_receive(fd, message) && message_word(message, 4) == 1 && message_word(message, 8) == 0 &&
           message_word(message, 20) == 0;
}

bool
call(int fd, uint32_t prog, uint32_t proc, const char *text, uint32_t *result)
{
    struct message message;

    message_begin(&message, prog, proc, UINT32_MAX);
    if (text != NULL)
        message_bytes(&message, text, strlen(text));
    if (!exchange(fd, &message))
        return false;
    *result = message.len > RESULTS ? message_word(&message, RESULTS) : 0;
    return true;
}

bool
answers(int fd)
{
    uint32_t none;

    return call(fd, NFS, 0, NULL, &none);
}

uint32_t
mount_status(int fd, const char *path)
{
    uint32_t status;

    if (!call(fd, MOUNT, 1, path, &status))
        fail_msg("no reply to MNT");
    return status;
}

size_t
count_entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;

    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

/* The handle at an offset of a reply. */
static struct rig_handle
handle_at(const struct message *reply, size_t offset)
{
    struct rig_handle handle = { .len = message_word(reply, offset) };

    assert_true(handle.len > 0 && handle.len <= sizeof(handle.bytes) && offset + 4 + handle.len <= reply->len);
    memcpy(handle.bytes, reply->bytes + offset + 4, handle.len);
    return handle;
}

struct rig_handle
root_handle(int fd, const char *path)
{
    struct message message;

    message_begin(&message, MOUNT, 1, 0);
    message_bytes(&message, path, strlen(path));
    assert_true(exchange(fd, &message));
    assert_int_equal(message_word(&message, RESULTS), 0);
    return handle_at(&message, RESULTS + 4);
}

struct rig_handle
create_file(int fd, const struct rig_handle *dir, const char *name)
{
    static const uint32_t attributes[] = { 0, 1, 0644, 0, 0, 0, 0, 0 };       /* unchecked; of sattr3 only the mode */
    struct message message;

    message_begin(&message, NFS, CREATE, 0);
    message_bytes(&message, dir->bytes, dir->len);
    message_bytes(&message, name, strlen(name));
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        message_number(&message, attributes[i]);
    assert_true(exchange(fd, &message));
    assert_int_equal(message_word(&message, RESULTS), 0);
    assert_int_equal(message_word(&message, RESULTS + 4), 1);
    return handle_at(&message, RESULTS + 8);
}

uint32_t
handle_status(int fd, uint32_t proc, const struct rig_handle *handle)
{
    struct message message;

    message_begin(&message, NFS, proc, 0);
    message_bytes(&message, handle->bytes, handle->len);
    assert_true(exchange(fd, &message));
    return message_word(&message, RESULTS);
}

uint32_t
write_status(int fd, const struct rig_handle *file, uint32_t uid, const void *data, size_t len)
{
    struct message message;

    message_begin(&message, NFS, WRITE, uid);
    message_bytes(&message, file->bytes, file->len);
    message_number(&message, 0);
    message_number(&message, 0);                        /* offset */
    message_number(&message, (uint32_t)len);
    message_number(&message, 2);                        /* FILE_SYNC */
    message_bytes(&message, data, len);
    assert_true(exchange(fd, &message));
    return message_word(&message, RESULTS);
}

uint32_t
read_status(int fd, const struct rig_handle *file, uint32_t uid, void *data, size_t *len)
{
    const size_t results = RESULTS + 4 + 4 + 84;        /* behind status and attributes */
    struct message message;

    message_begin(&message, NFS, READ, uid);
    message_bytes(&message, file->bytes, file->len);
    message_number(&message, 0);
    message_number(&message, 0);
    message_number(&message, (uint32_t)*len);
    assert_true(exchange(fd, &message));
    if (message_word(&message, RESULTS) != 0)
        return message_word(&message, RESULTS);
    assert_int_equal(message_word(&message, RESULTS + 4), 1);
    *len = MIN(*len, message_word(&message, results));
    memcpy(data, message.bytes + results + 12, *len);
    return 0;
}
