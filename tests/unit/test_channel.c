/* tests/unit/test_channel.c - what two servers say to each other in a restart: messages with descriptors, and documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/channel.h"

#define MAGIC "RNFtests"

static int
set_up(void **state)
{
    static int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    *state = ends;
    return 0;
}

static int
tear_down(void **state)
{
    const int *ends = *state;

    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void
messages_arrive_with_text_and_descriptors(void **state)
{
    const int *ends = *state;
    struct channel_message message;
    int fds[] = { ends[0], ends[1] };

    assert_int_equal(channel_send(ends[0], CHANNEL_READY, "123", NULL, 0), 0);
    assert_int_equal(channel_send(ends[0], CHANNEL_OFFER, "", fds, 2), 0);
    assert_int_equal(channel_receive(ends[1], 1000, &message), 0);
    assert_int_equal(message.kind, CHANNEL_READY);
    assert_string_equal(message.text, "123");
    assert_int_equal(message.nfds, 0);
    assert_int_equal(channel_receive(ends[1], 1000, &message), 0);
    assert_int_equal(message.kind, CHANNEL_OFFER);
    assert_string_equal(message.text, "");
    assert_int_equal(message.nfds, 2);
    assert_int_equal(fcntl(message.fds[1], F_GETFD), FD_CLOEXEC);
    channel_drop(&message);
    assert_int_equal(message.nfds, 0);
}

static void
many_descriptors_come_in_several_messages(void **state)
{
    const int *ends = *state;
    struct channel_message message;
    int fds[2 * CHANNEL_FDS_MAX + 1];
    size_t all = sizeof(fds) / sizeof(fds[0]), got = 0;

    for (size_t i = 0; i < all; i++)
        fds[i] = ends[0];
    assert_int_equal(channel_send_many(ends[0], CHANNEL_STATE, "2", fds, all), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(channel_receive(ends[1], 1000, &message), 0);
        assert_int_equal(message.kind, i == 0 ? CHANNEL_STATE : CHANNEL_MORE);
        assert_string_equal(message.text, i == 0 ? "2" : "");
        got += message.nfds;
        channel_drop(&message);
    }
    assert_int_equal(got, all);
    assert_int_equal(channel_receive(ends[1], 0, &message), -ETIMEDOUT);
}

static void
a_side_that_is_gone_is_told_after_its_last_message(void **state)
{
    int *ends = *state;
    struct channel_message message;

    channel_send(ends[0], CHANNEL_OFFER, "nobody reads this", NULL, 0);
    channel_send(ends[1], CHANNEL_REFUSED, "why", NULL, 0);
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(channel_receive(ends[0], 1000, &message), 0);
    assert_int_equal(message.kind, CHANNEL_REFUSED);
    assert_string_equal(message.text, "why");
    assert_int_equal(channel_receive(ends[0], 1000, &message), -EPIPE);
    assert_int_equal(channel_send(ends[0], CHANNEL_READY, "", NULL, 0), -EPIPE);
}

/* The old server cuts the channel; from then on the new one cannot say that it serves. */
static void
behind_a_cut_nothing_is_sent_and_what_was_sent_is_there(void **state)
{
    const int *ends = *state;
    struct channel_message message;

    assert_int_equal(channel_send(ends[1], CHANNEL_SERVING, "", NULL, 0), 0);
    assert_int_equal(channel_send(ends[0], CHANNEL_REFUSED, "too late", NULL, 0), 0);
    shutdown(ends[0], SHUT_RDWR);
    assert_int_equal(channel_send(ends[1], CHANNEL_SERVING, "", NULL, 0), -EPIPE);
    assert_int_equal(channel_receive(ends[0], 0, &message), 0);
    assert_int_equal(message.kind, CHANNEL_SERVING);
    assert_int_equal(channel_receive(ends[0], 0, &message), -EPIPE);
    assert_int_equal(channel_receive(ends[1], 0, &message), 0);
    assert_string_equal(message.text, "too late");
}

static void
what_is_too_long_is_no_message(void **state)
{
    const int *ends = *state;
    static const char text[2 * CHANNEL_TEXT_MAX];
    struct channel_message message;

    assert_int_equal(send(ends[0], text, sizeof(text), 0), sizeof(text));
    assert_int_equal(channel_receive(ends[1], 1000, &message), -EBADMSG);
}

static void
documents_are_read_as_they_were_written(void **state)
{
    static const char text[] = "what a server knows";
    void *data;
    size_t len;

    (void)state;
    for (size_t n = 0; n <= sizeof(text); n++) {
        int fd = document_new(MAGIC, text, n);

        assert_true(fd >= 0);
        assert_int_equal(document_read(fd, MAGIC, n, &data, &len), 0);
        assert_int_equal(len, n);
        assert_memory_equal(data, text, n);
        free(data);
        assert_int_equal(write(fd, "x", 1), -1);         /* sealed */
        assert_int_equal(document_read(fd, "RNFother", n, &data, &len), -EBADMSG);
        if (n > 0)
            assert_int_equal(document_read(fd, MAGIC, n - 1, &data, &len), -EFBIG);
        close(fd);
    }
}

/* A file in memory with any bytes. */
static int
file_of(const uint8_t *bytes, size_t len)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    return fd;
}

static void
every_torn_and_every_flipped_document_is_refused(void **state)
{
    uint8_t bytes[256];
    int fd = document_new(MAGIC, "replies of a cache", 18), err;
    ssize_t len = pread(fd, bytes, sizeof(bytes), 0);
    void *data;
    size_t n;

    (void)state;
    assert_int_equal(len, 32 + 18);
    close(fd);
    for (size_t cut = 0; cut < (size_t)len; cut++) {
        fd = file_of(bytes, cut);
        assert_int_equal(document_read(fd, MAGIC, 1000, &data, &n), -EBADMSG);
        close(fd);
    }
    for (size_t bit = 0; bit < (size_t)len * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        fd = file_of(bytes, (size_t)len);
        err = document_read(fd, MAGIC, 1000, &data, &n);
        assert_int_equal(err, bit / 8 >= 8 && bit / 8 < 12 ? -EPROTO : -EBADMSG);      /* bytes 8 to 11: its version */
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        close(fd);
    }
    fd = file_of(bytes, (size_t)len + 1);                /* something behind it */
    assert_int_equal(document_read(fd, MAGIC, 1000, &data, &n), -EBADMSG);
    close(fd);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_arrive_with_text_and_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_descriptors_come_in_several_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_side_that_is_gone_is_told_after_its_last_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(behind_a_cut_nothing_is_sent_and_what_was_sent_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_too_long_is_no_message, set_up, tear_down),
        cmocka_unit_test(documents_are_read_as_they_were_written),
        cmocka_unit_test(every_torn_and_every_flipped_document_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
