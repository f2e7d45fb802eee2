/*
 * tests/fuzz/fuzz_control.c - any bytes on the control socket of a running server: a line of JSON for each line, and the
 * server goes on.
 */
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/control.h"
#include "server/server.h"
#include "tests/fuzz/fuzz.h"

#define ANSWERS_MAX (4 << 20)           /* bytes */
#define INPUTS_PER_SERVER 100           /* what they have added and changed is gone then */

const char fuzz_name[] = "control";

static char dir[64], state[80];
static struct server *server;
static struct faults *faults;

static char answers[ANSWERS_MAX];
static size_t answers_len;

static void
require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "control: %s: \"%.*s\"\n", what, (int)answers_len, answers);
    abort();
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void
stop(void)
{
    server_free(server);
    server = NULL;
    faults_free(faults);
    nftw(dir, remove_one, 8, FTW_PHYS | FTW_DEPTH);
}

static void
start(void)
{
    static const char *const lines[] = { "memory:/one *(rw)" };
    struct server_config config = { .exports = { .lines = lines, .nlines = 1 }, .control = true };
    char error[SERVER_ERROR_MAX];
    struct settings settings;

    strcpy(dir, "/tmp/ringnfs-fuzz-XXXXXX");
    require(mkdtemp(dir) != NULL, "no directory for the state");
    snprintf(state, sizeof(state), "%s/state", dir);
    settings_init(&settings);
    settings.port = 0;
    settings.udp = false;
    settings.rpcbind = RPCBIND_OFF;
    settings.engine = SETTING_ENGINE_POOL;
    settings.workers = 1;
    settings.threads = 1;
    settings.memory_files = 64;
    require(settings_set(&settings, "state_dir", state, error, sizeof(error)) == 0, error);
    config.settings = &settings;
    require(faults_new(&faults) == 0, "no rules of faults");
    config.faults = faults;
    config.log = (struct log){ .level = LOG_ERROR_LEVEL, .fd = -1 };
    require(server_new(&config, &server, error, sizeof(error)) == 0, error);
    settings_fini(&settings);
}

static void
send_all(int fd, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return;                     /* refused before the end */
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
}

static void
receive_all(int fd)
{
    ssize_t n;

    answers_len = 0;
    while ((n = recv(fd, answers + answers_len, sizeof(answers) - answers_len, 0)) > 0 || (n < 0 && errno == EINTR))
        answers_len += n > 0 ? (size_t)n : 0;           /* libFuzzer has a timer */
    require(n == 0, "the connection broke");
}

/* Each answer is an object that says whether all is well. */
static size_t
count_answers(void)
{
    size_t count = 0, at = 0;

    while (at < answers_len) {
        const char *end = memchr(answers + at, '\n', answers_len - at);
        json_t *answer;

        require(end != NULL, "half an answer");
        answer = json_loadb(answers + at, (size_t)(end - answers) - at, 0, NULL);
        require(json_is_boolean(json_object_get(answer, "ok")), "an answer that is none");
        require(json_is_true(json_object_get(answer, "ok")) || json_is_string(json_object_get(answer, "error")),
                "refused without a word");
        json_decref(answer);
        at = (size_t)(end - answers) + 1;
        count++;
    }
    return count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned inputs;
    size_t lines = 0;
    int fd;

    if (inputs == 0)
        atexit(stop);
    if (inputs++ % INPUTS_PER_SERVER == 0) {
        if (server != NULL)
            stop();
        start();
    }
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    if (lines > 64)
        return 0;                       /* the answers would fill the socket before anybody reads them */
    fd = control_connect(state);
    require(fd >= 0, "nobody listens");
    send_all(fd, data, size);
    shutdown(fd, SHUT_WR);
    receive_all(fd);
    require(count_answers() == lines, "not one answer for each line");
    close(fd);
    return 0;
}
