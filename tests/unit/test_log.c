/* tests/unit/test_log.c - the log: whole lines, what becomes of those that nobody takes, and how many clients can cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/log.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WRITERS 8
#define LINES 400                       /* of each writer */
#define LIMIT 3

static uint64_t now_ms;

static uint64_t
test_now_ms(void)
{
    return now_ms;
}

/* A logger into a pipe; ends[1] is -1 once that is closed. */
struct rig {
    int ends[2];
    struct log log;
    struct log_meter meter;
};

static int
set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    now_ms = 1000000;
    if (rig == NULL || pipe(rig->ends) < 0)
        return -1;
    log_meter_init(&rig->meter, LIMIT, test_now_ms);
    rig->log = (struct log){ .level = LOG_INFO_LEVEL, .fd = rig->ends[1], .meter = &rig->meter };
    *state = rig;
    return 0;
}

static int
tear_down(void **state)
{
    struct rig *rig = *state;

    log_meter_fini(&rig->meter);
    close(rig->ends[0]);
    if (rig->ends[1] >= 0)
        close(rig->ends[1]);
    free(rig);
    return 0;
}

/* What is in the pipe now. */
static char *
told(struct rig *rig)
{
    static char out[1 << 20];
    ssize_t n;

    fcntl(rig->ends[0], F_SETFL, O_NONBLOCK);
    n = read(rig->ends[0], out, sizeof(out) - 1);
    out[n < 0 ? 0 : n] = '\0';
    return out;
}

static void
quoted_bytes_can_be_read(void **state)
{
    char out[32], small[8];

    (void)state;
    assert_string_equal(log_quote(out, sizeof(out), "a b", 3), "a b");
    assert_string_equal(log_quote(out, sizeof(out), "a\n\0\\\xff", 5), "a\\012\\000\\134\\377");
    assert_string_equal(log_quote(out, sizeof(out), "", 0), "");
    assert_string_equal(log_quote(small, sizeof(small), "1234567", 7), "1234567");
    assert_string_equal(log_quote(small, sizeof(small), "12345678", 8), "1234...");
    assert_string_equal(log_quote(small, sizeof(small), "123\n\n", 5), "123...");
}

static void
a_log_line_is_one_line_of_bounded_length(void **state)
{
    struct rig *rig = *state;
    char text[LOG_LINE_MAX + 100];
    const char *out;

    log_debug(&rig->log, "left out");
    log_warn(&rig->log, "%s", "one\ntwo\x1b[1m");
    assert_string_equal(told(rig), "ringnfsd: warning: one?two?[1m\n");
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_info(&rig->log, "%s", text);
    out = told(rig);
    assert_int_equal(strlen(out), LOG_LINE_MAX);
    assert_string_equal(out + LOG_LINE_MAX - 5, "x...\n");
    rig->log.timestamps = true;
    log_error(&rig->log, "late");
    out = told(rig);
    assert_int_equal(out[4], '-');
    assert_string_equal(out + strlen("2026-01-31T12:00:00.000"), "Z error late\n");
    rig->log.fd = -1;
    log_error(&rig->log, "to nobody");
    assert_string_equal(told(rig), "");
}

static void
a_control_character_of_any_kind_does_not_come_through(void **state)
{
    struct rig *rig = *state;

    for (int byte = 1; byte < 0x80; byte++) {
        if (byte >= ' ' && byte != 0x7f)
            continue;
        log_info(&rig->log, "a%cb", byte);
        assert_string_equal(told(rig), "ringnfsd: info: a?b\n");
    }
}

/* Each line of a writer has its number and a tail of another length that can be foretold. */
static size_t
tail_length(unsigned writer, unsigned number)
{
    return (writer * 131 + number * 17) % 300;
}

struct writer {
    pthread_t thread;
    const struct log *log;
    unsigned index;
};

static void *
write_lines(void *arg)
{
    const struct writer *writer = arg;
    char tail[300];

    memset(tail, 'x', sizeof(tail));
    for (unsigned number = 0; number < LINES; number++)
        log_info(writer->log, "%u %u %.*s.", writer->index, number, (int)tail_length(writer->index, number), tail);
    return NULL;
}

static void
start_writers(struct writer writers[WRITERS], const struct log *log)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){ .log = log, .index = i };
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_lines, &writers[i]), 0);
    }
}

static void
join_writers(struct writer writers[WRITERS])
{
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
}

/* Every line is whole, and those of a writer come in order. Returns their number; *lost: what other lines own up to. */
static unsigned
check_lines(FILE *in, uint64_t *lost)
{
    unsigned next[WRITERS] = { 0 }, writer, number, count = 0, n;
    char line[LOG_LINE_MAX + 1];
    uint64_t some;
    int tail;

    *lost = 0;
    while (fgets(line, sizeof(line), in) != NULL) {
        if (sscanf(line, "ringnfsd: warning: %" SCNu64 " line", &some) == 1) {
            *lost += some;
            continue;
        }
        if (sscanf(line, "ringnfsd: info: %u %u %n", &writer, &number, &tail) != 2 || writer >= WRITERS)
            fail_msg("torn: %s", line);
        n = (unsigned)strspn(line + tail, "x");
        assert_string_equal(line + tail + n, ".\n");
        assert_int_equal(n, tail_length(writer, number));
        assert_true(number >= next[writer]);
        next[writer] = number + 1;
        count++;
    }
    return count;
}

static void
a_file_gets_every_line_of_many_threads_whole_and_in_order(void **state)
{
    struct rig *rig = *state;
    struct writer writers[WRITERS];
    FILE *file = tmpfile();
    uint64_t lost;

    assert_non_null(file);
    rig->log.fd = fileno(file);
    start_writers(writers, &rig->log);
    join_writers(writers);
    rewind(file);
    assert_int_equal(check_lines(file, &lost), WRITERS * LINES);
    assert_int_equal(lost, 0);
    assert_int_equal(rig->meter.lost, 0);
    fclose(file);
}

static void *
check_pipe(void *arg)
{
    static uint64_t counts[2];
    FILE *in = fdopen(dup(*(const int *)arg), "r");

    counts[0] = check_lines(in, &counts[1]);
    fclose(in);
    return counts;
}

static void
a_reader_that_is_too_slow_is_told_how_many_lines_it_missed(void **state)
{
    struct rig *rig = *state;
    struct writer writers[WRITERS];
    const uint64_t *counts;
    pthread_t reader;
    void *result;

    fcntl(rig->ends[1], F_SETPIPE_SZ, getpagesize());
    start_writers(writers, &rig->log);
    while (rig->meter.lost == 0)
        sched_yield();
    assert_int_equal(pthread_create(&reader, NULL, check_pipe, &rig->ends[0]), 0);
    join_writers(writers);
    while (rig->meter.lost_untold > 0)
        log_catch_up(&rig->log, false);
    close(rig->ends[1]);
    rig->ends[1] = -1;
    pthread_join(reader, &result);
    counts = result;
    assert_int_equal(counts[0] + counts[1], WRITERS * LINES);
    assert_int_equal(counts[1], rig->meter.lost);
}

/* Write until a line is lost, since nothing is read from the other end. Returns the number of lines that went in. */
static unsigned
fill(struct rig *rig)
{
    unsigned lines = 0;

    while (rig->meter.lost == 0) {
        log_info(&rig->log, "full");
        lines++;
    }
    return lines - 1;
}

static void
check_that_nobody_waits(struct rig *rig)
{
    unsigned written = fill(rig), lines = 0;
    struct log uncounted = { .level = LOG_INFO_LEVEL, .fd = rig->log.fd };
    char *line, *rest;

    log_info(&rig->log, "lost");
    log_info(&rig->log, "lost, too");
    log_info(&uncounted, "lost and not counted");
    assert_int_equal(rig->meter.lost, 3);
    for (rest = told(rig); (line = strsep(&rest, "\n")) != NULL && *line != '\0'; lines++)
        assert_string_equal(line, "ringnfsd: info: full");
    assert_int_equal(lines, written);
    log_info(&rig->log, "back");
    assert_string_equal(told(rig), "ringnfsd: warning: 3 lines were lost: the log could not be written\n"
                                   "ringnfsd: info: back\n");
    log_info(&rig->log, "as usual");
    assert_string_equal(told(rig), "ringnfsd: info: as usual\n");
}

static void
a_pipe_that_nobody_reads_keeps_nobody_waiting_and_its_losses_are_told(void **state)
{
    check_that_nobody_waits(*state);
}

static void
a_socket_that_nobody_reads_keeps_nobody_waiting_and_its_losses_are_told(void **state)
{
    struct rig *rig = *state;

    close(rig->ends[0]);
    close(rig->ends[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, rig->ends), 0);
    rig->log.fd = rig->ends[1];
    check_that_nobody_waits(rig);
}

static void
losses_are_told_without_a_further_line(void **state)
{
    struct rig *rig = *state;

    fill(rig);
    log_catch_up(&rig->log, false);                      /* still full */
    told(rig);
    log_catch_up(&rig->log, false);
    assert_string_equal(told(rig), "ringnfsd: warning: 1 line was lost: the log could not be written\n");
    log_catch_up(&rig->log, true);
    assert_string_equal(told(rig), "");
}

static void
a_line_that_was_cut_off_by_a_full_disk_is_ended_before_the_next(void **state)
{
    struct rig *rig = *state;
    struct rlimit usual, tight;
    FILE *file = tmpfile();
    char out[256] = "";

    assert_non_null(file);
    signal(SIGXFSZ, SIG_IGN);
    rig->log.fd = fileno(file);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    tight = usual;
    tight.rlim_cur = strlen("ringnfsd: info: one\nringnfsd: in");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    log_info(&rig->log, "one");
    log_info(&rig->log, "two");
    log_info(&rig->log, "three");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    log_info(&rig->log, "four");
    log_info(&rig->log, "five");
    assert_true(pread(fileno(file), out, sizeof(out) - 1, 0) > 0);
    assert_string_equal(out, "ringnfsd: info: one\n"
                             "ringnfsd: in\n"
                             "ringnfsd: warning: 2 lines were lost: the log could not be written\n"
                             "ringnfsd: info: four\n"
                             "ringnfsd: info: five\n");
    fclose(file);
}

static void
refuse(struct rig *rig, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        log_limited(&rig->log, LOG_REFUSED_MOUNTS, "no");
}

#define NO "ringnfsd: info: no\n"

static void
lines_that_clients_cause_are_limited_and_the_rest_is_told_in_one(void **state)
{
    struct rig *rig = *state;

    refuse(rig, LIMIT + 2);
    assert_string_equal(told(rig), NO NO NO);
    now_ms += LOG_WINDOW_MS - 1;
    refuse(rig, 1);
    assert_string_equal(told(rig), "");
    now_ms += 1;
    refuse(rig, LIMIT + 1);
    assert_string_equal(told(rig), "ringnfsd: warning: 3 more lines of refused mounts were left out (log_limit)\n"
                                   NO NO NO);
    now_ms += 10 * LOG_WINDOW_MS;
    refuse(rig, 1);
    assert_string_equal(told(rig), "ringnfsd: warning: 1 more line of refused mounts was left out (log_limit)\n" NO);
    assert_int_equal(rig->meter.left_out, 4);
}

static void
a_flood_of_one_kind_of_lines_leaves_others_alone(void **state)
{
    struct rig *rig = *state;

    refuse(rig, LIMIT + 1);
    told(rig);
    log_limited(&rig->log, LOG_MOUNTS, "yes");
    log_info(&rig->log, "what the operator did");
    assert_string_equal(told(rig), "ringnfsd: info: yes\nringnfsd: info: what the operator did\n");
}

static void
what_was_left_out_is_told_without_a_further_line(void **state)
{
    struct rig *rig = *state;

    refuse(rig, LIMIT + 2);
    told(rig);
    log_catch_up(&rig->log, false);
    assert_string_equal(told(rig), "");                  /* there may be more to come */
    now_ms += LOG_WINDOW_MS;
    log_catch_up(&rig->log, false);
    assert_string_equal(told(rig), "ringnfsd: warning: 2 more lines of refused mounts were left out (log_limit)\n");
    log_catch_up(&rig->log, true);
    assert_string_equal(told(rig), "");
    refuse(rig, LIMIT + 1);
    told(rig);
    log_catch_up(&rig->log, true);
    assert_string_equal(told(rig), "ringnfsd: warning: 1 more line of refused mounts was left out (log_limit)\n");
}

static void
the_limit_can_be_changed_and_taken_away(void **state)
{
    struct rig *rig = *state;

    refuse(rig, LIMIT + 1);
    assert_string_equal(told(rig), NO NO NO);
    rig->meter.limit = LIMIT + 1;
    refuse(rig, 2);
    assert_string_equal(told(rig), NO);
    rig->meter.limit = 0;
    refuse(rig, 3);
    assert_string_equal(told(rig), NO NO NO);
}

static void
lines_that_the_level_leaves_out_count_for_nothing(void **state)
{
    struct rig *rig = *state;

    rig->log.level = LOG_WARN_LEVEL;
    refuse(rig, LIMIT + 1);
    log_catch_up(&rig->log, true);
    assert_int_equal(rig->meter.left_out, 0);
    rig->log.level = LOG_INFO_LEVEL;
    refuse(rig, LIMIT);
    assert_string_equal(told(rig), NO NO NO);
}

/* What a function got last, and how often. */
struct taken {
    enum log_level level;
    char text[LOG_LINE_MAX];
    unsigned count;
};

static void
take_line(void *context, enum log_level level, const char *text)
{
    struct taken *taken = context;

    taken->level = level;
    snprintf(taken->text, sizeof(taken->text), "%s", text);
    taken->count++;
}

static void
a_function_gets_lines_in_place_of_a_descriptor(void **state)
{
    struct rig *rig = *state;
    struct taken taken = { .count = 0 };

    rig->log.sink = take_line;
    rig->log.sink_context = &taken;
    rig->log.timestamps = true;
    log_warn(&rig->log, "%s", "one\ntwo");
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.level, LOG_WARN_LEVEL);
    assert_string_equal(taken.text, "one?two");
    log_debug(&rig->log, "%s", "left out");
    assert_int_equal(taken.count, 1);
    rig->log.fd = -1;
    log_limited(&rig->log, LOG_MOUNTS, "%s", "limited");
    assert_int_equal(taken.count, 2);
    assert_string_equal(taken.text, "limited");
    assert_string_equal(told(rig), "");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quoted_bytes_can_be_read),
        TEST(a_log_line_is_one_line_of_bounded_length),
        TEST(a_control_character_of_any_kind_does_not_come_through),
        TEST(a_file_gets_every_line_of_many_threads_whole_and_in_order),
        TEST(a_reader_that_is_too_slow_is_told_how_many_lines_it_missed),
        TEST(a_pipe_that_nobody_reads_keeps_nobody_waiting_and_its_losses_are_told),
        TEST(a_socket_that_nobody_reads_keeps_nobody_waiting_and_its_losses_are_told),
        TEST(losses_are_told_without_a_further_line),
        TEST(a_line_that_was_cut_off_by_a_full_disk_is_ended_before_the_next),
        TEST(lines_that_clients_cause_are_limited_and_the_rest_is_told_in_one),
        TEST(a_flood_of_one_kind_of_lines_leaves_others_alone),
        TEST(what_was_left_out_is_told_without_a_further_line),
        TEST(the_limit_can_be_changed_and_taken_away),
        TEST(lines_that_the_level_leaves_out_count_for_nothing),
        TEST(a_function_gets_lines_in_place_of_a_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
