/* tests/lib/control_rig.c - see control_rig.h. */
#include "tests/lib/control_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static const struct live_config live_config = { "memory", LIVE_MEMORY, SETTING_ENGINE_POOL, 2 };
const struct log ctl_no_log = { .fd = -1 };

void
ctl_open(struct ctl_rig *rig, uint32_t idle_ms)
{
    const struct control_config config = { .server = rig->srv->server, .dir = rig->dir, .log = &ctl_no_log,
                                           .idle_ms = idle_ms };
    char error[1024];

    if (control_new(&config, &rig->control, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    assert_int_equal(control_start(rig->control), 0);
}

int
ctl_connect(const char *dir)
{
    const struct timeval longest = { .tv_sec = 20 };
    int fd = control_connect(dir);

    if (fd < 0)
        fail_msg("no connection to %s: %s", dir, strerror(-fd));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
    return fd;
}

int
ctl_set_up(void **state)
{
    struct ctl_rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    rig->srv = live_start(&live_config, NULL);
    strcpy(rig->dir, "/tmp/ringnfs-control-XXXXXX");
    assert_non_null(mkdtemp(rig->dir));
    ctl_open(rig, CONTROL_IDLE_MS);
    rig->fd = ctl_connect(rig->dir);
    *state = rig;
    return 0;
}

void
ctl_remove_in(const char *dir, const char *name)
{
    char path[PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
}

void
ctl_remove_dir(const char *dir)
{
    ctl_remove_in(dir, CONTROL_SOCKET);
    ctl_remove_in(dir, CONTROL_LOCK);
    ctl_remove_in(dir, "exports");
    rmdir(dir);
}

int
ctl_tear_down(void **state)
{
    struct ctl_rig *rig = *state;

    close(rig->fd);
    control_free(rig->control);
    live_stop(rig->srv);
    ctl_remove_dir(rig->dir);
    json_decref(rig->answer);
    free(rig->reply);
    free(rig);
    return 0;
}

void
ctl_reopen(struct ctl_rig *rig, uint32_t idle_ms)
{
    close(rig->fd);
    control_free(rig->control);
    ctl_open(rig, idle_ms);
    rig->fd = ctl_connect(rig->dir);
}

bool
ctl_put(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

        if (n < 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

char *
ctl_get_line(int fd)
{
    size_t used = 0, size = 256;
    char *line = malloc(size);

    for (;;) {
        assert_non_null(line);
        if (recv(fd, line + used, 1, 0) <= 0) {
            free(line);
            return NULL;
        }
        if (line[used] == '\n')
            break;
        if (++used == size)
            line = realloc(line, size *= 2);
    }
    line[used] = '\0';
    return line;
}

bool
ctl_read_answer(struct ctl_rig *rig, int fd)
{
    free(rig->reply);
    json_decref(rig->answer);
    rig->answer = NULL;
    rig->reply = ctl_get_line(fd);
    if (rig->reply == NULL)
        fail_msg("the connection ended without an answer");
    rig->answer = json_loads(rig->reply, 0, NULL);
    if (!json_is_object(rig->answer) || !json_is_boolean(json_object_get(rig->answer, "ok")))
        fail_msg("no answer: %s", rig->reply);
    return json_is_true(json_object_get(rig->answer, "ok"));
}

bool
ctl_ask_bytes(struct ctl_rig *rig, const char *line, size_t len)
{
    assert_true(ctl_put(rig->fd, line, len) && ctl_put(rig->fd, "\n", 1));
    return ctl_read_answer(rig, rig->fd);
}

bool
ctl_ask(struct ctl_rig *rig, const char *line)
{
    return ctl_ask_bytes(rig, line, strlen(line));
}

bool
ctl_command(struct ctl_rig *rig, const char *name, ...)
{
    json_t *request = json_pack("{s:s}", "command", name);
    const char *key;
    va_list args;
    char *line;
    bool ok;

    va_start(args, name);
    while ((key = va_arg(args, const char *)) != NULL)
        json_object_set_new(request, key, json_string(va_arg(args, const char *)));
    va_end(args);
    line = json_dumps(request, 0);
    ok = ctl_ask(rig, line);
    free(line);
    json_decref(request);
    return ok;
}

json_t *
ctl_must(struct ctl_rig *rig, bool ok)
{
    if (!ok)
        fail_msg("refused: %s", rig->reply);
    return json_object_get(rig->answer, "result");
}

const char *
ctl_error_of(struct ctl_rig *rig, bool ok)
{
    const char *error = json_string_value(json_object_get(rig->answer, "error"));

    if (ok || error == NULL)
        fail_msg("not refused: %s", rig->reply);
    assert_null(strchr(error, '\n'));
    return error;
}

void
ctl_assert_error(struct ctl_rig *rig, bool ok, const char *part)
{
    if (strstr(ctl_error_of(rig, ok), part) == NULL)
        fail_msg("nothing about \"%s\": %s", part, rig->reply);
}

json_int_t
ctl_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value))
        fail_msg("%s is no number", key);
    return json_integer_value(value);
}

const char *
ctl_text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    if (value == NULL)
        fail_msg("%s is no string", key);
    return value;
}

void
ctl_write_exports(struct ctl_rig *rig, char *path, const char *content)
{
    FILE *file;

    snprintf(path, PATH_MAX + 32, "%s/exports", rig->dir);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}
