/* tests/unit/test_control.c - the control socket: every command, who may send it, and what is not put up with. */
#include "tests/lib/live.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/control.h"
#include "server/control_commands.h"

#define NOBODY 65534
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct live_config live_config = { "memory", LIVE_MEMORY, SETTING_ENGINE_POOL, 2 };
static const struct log no_log = { .fd = -1 };

/* A server in memory, and a control socket for it in a directory of its own. */
struct rig {
    struct live *srv;
    char dir[PATH_MAX];
    struct control *control;
    int fd;                             /* a connection to it */
    char *reply;                        /* the last one, as text */
    json_t *answer;                     /* and taken apart */
};

static void
open_control(struct rig *rig, uint32_t idle_ms)
{
    const struct control_config config = { .server = rig->srv->server, .dir = rig->dir, .log = &no_log,
                                           .idle_ms = idle_ms };
    char error[1024];

    if (control_new(&config, &rig->control, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    assert_int_equal(control_start(rig->control), 0);
}

static int
connect_to(const char *dir)
{
    const struct timeval longest = { .tv_sec = 20 };
    int fd = control_connect(dir);

    if (fd < 0)
        fail_msg("no connection to %s: %s", dir, strerror(-fd));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof(longest));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof(longest));
    return fd;
}

static int
set_up(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    assert_non_null(rig);
    rig->srv = live_start(&live_config, NULL);
    strcpy(rig->dir, "/tmp/ringnfs-control-XXXXXX");
    assert_non_null(mkdtemp(rig->dir));
    open_control(rig, CONTROL_IDLE_MS);
    rig->fd = connect_to(rig->dir);
    *state = rig;
    return 0;
}

static void
remove_in(const char *dir, const char *name)
{
    char path[PATH_MAX + 32];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
}

static void
remove_dir(const char *dir)
{
    remove_in(dir, CONTROL_SOCKET);
    remove_in(dir, CONTROL_LOCK);
    remove_in(dir, "exports");
    rmdir(dir);
}

static int
tear_down(void **state)
{
    struct rig *rig = *state;

    close(rig->fd);
    control_free(rig->control);
    live_stop(rig->srv);
    remove_dir(rig->dir);
    json_decref(rig->answer);
    free(rig->reply);
    free(rig);
    return 0;
}

/* Start anew with other patience. */
static void
reopen_control(struct rig *rig, uint32_t idle_ms)
{
    close(rig->fd);
    control_free(rig->control);
    open_control(rig, idle_ms);
    rig->fd = connect_to(rig->dir);
}

static bool
put(int fd, const char *bytes, size_t len)
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

/* One line; NULL when the connection ends first. */
static char *
get_line(int fd)
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

/* Read an answer on a connection: whether it is "ok". What it says is in rig->answer. */
static bool
read_answer(struct rig *rig, int fd)
{
    free(rig->reply);
    json_decref(rig->answer);
    rig->answer = NULL;
    rig->reply = get_line(fd);
    if (rig->reply == NULL)
        fail_msg("the connection ended without an answer");
    rig->answer = json_loads(rig->reply, 0, NULL);
    if (!json_is_object(rig->answer) || !json_is_boolean(json_object_get(rig->answer, "ok")))
        fail_msg("no answer: %s", rig->reply);
    return json_is_true(json_object_get(rig->answer, "ok"));
}

/* Send a line of len bytes, NULs may be among them, and read its answer. */
static bool
ask_bytes(struct rig *rig, const char *line, size_t len)
{
    assert_true(put(rig->fd, line, len) && put(rig->fd, "\n", 1));
    return read_answer(rig, rig->fd);
}

static bool
ask(struct rig *rig, const char *line)
{
    return ask_bytes(rig, line, strlen(line));
}

/* Send a command with arguments, NAME then TEXT, up to a NULL. */
static bool
command(struct rig *rig, const char *name, ...)
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
    ok = ask(rig, line);
    free(line);
    json_decref(request);
    return ok;
}

static json_t *
must(struct rig *rig, bool ok)
{
    if (!ok)
        fail_msg("refused: %s", rig->reply);
    return json_object_get(rig->answer, "result");
}

static const char *
error_of(struct rig *rig, bool ok)
{
    const char *error = json_string_value(json_object_get(rig->answer, "error"));

    if (ok || error == NULL)
        fail_msg("not refused: %s", rig->reply);
    assert_null(strchr(error, '\n'));
    return error;
}

static void
assert_error(struct rig *rig, bool ok, const char *part)
{
    if (strstr(error_of(rig, ok), part) == NULL)
        fail_msg("nothing about \"%s\": %s", part, rig->reply);
}

static json_int_t
number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value))
        fail_msg("%s is no number", key);
    return json_integer_value(value);
}

static const char *
text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    if (value == NULL)
        fail_msg("%s is no string", key);
    return value;
}

/* A file of exports in the rig's directory; path has PATH_MAX + 32 bytes. */
static void
write_exports(struct rig *rig, char *path, const char *content)
{
    FILE *file;

    snprintf(path, PATH_MAX + 32, "%s/exports", rig->dir);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}

/* ---- The table ---- */

static void
each_command_is_listed_once_and_explained(void **state)
{
    char *help = NULL, *roff = NULL;
    size_t help_len = 0, roff_len = 0;
    FILE *out;

    (void)state;
    out = open_memstream(&help, &help_len);
    control_print_help(out);
    fclose(out);
    out = open_memstream(&roff, &roff_len);
    control_print_roff(out);
    fclose(out);
    for (size_t i = 0; i < control_commands_rows; i++) {
        const struct control_command *row = &control_commands[i];

        assert_non_null(row->run);
        assert_true(row->help[strlen(row->help) - 1] == '.');
        assert_non_null(strstr(help, row->name));
        assert_non_null(strstr(roff, row->name));
        for (size_t j = i + 1; j < control_commands_rows; j++)
            assert_string_not_equal(row->name, control_commands[j].name);
        for (size_t j = 0; row->arguments[j].name != NULL; j++)
            assert_in_range(j, 0, CONTROL_ARGUMENTS_MAX - 1);
    }
    free(help);
    free(roff);
}

static void
each_command_answers(void **state)
{
    struct rig *rig = *state;
    char file[PATH_MAX + 32];

    write_exports(rig, file, "memory:/more *(ro)\n");
    must(rig, command(rig, "status", NULL));
    must(rig, command(rig, "stats", NULL));
    must(rig, command(rig, "show", NULL));
    must(rig, command(rig, "set", "key", "threads", "value", "2", NULL));
    must(rig, command(rig, "exports show", NULL));
    must(rig, command(rig, "exports reload", NULL));
    must(rig, command(rig, "exports check", "file", file, NULL));
    must(rig, command(rig, "exports diff", "file", file, NULL));
    must(rig, command(rig, "exports add", "line", "memory:/more *(ro)", NULL));
    must(rig, command(rig, "exports remove", "path", "/more", NULL));
    assert_int_equal(control_commands_rows, 10);
}

static void
results_are_printed_for_people(void **state)
{
    struct rig *rig = *state;
    char file[PATH_MAX + 32];
    const char *const commands[] = { "status", "stats", "show", "exports show", "exports reload", "exports diff" };

    write_exports(rig, file, "memory:/export 10.0.0.0/8(rw)\nmemory:/more *(ro)\n");
    must(rig, command(rig, "exports add", "line", "memory:/a\\040rather\\040long\\040name *(ro)", NULL));
    for (size_t i = 0; i < COUNT(commands); i++) {
        const struct control_command *row = control_find(commands[i], NULL, 0);
        char *printed = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&printed, &len);

        must(rig, strcmp(commands[i], "exports diff") == 0 ? command(rig, commands[i], "file", file, NULL)
                                                           : command(rig, commands[i], NULL));
        row->print(out, json_object_get(rig->answer, "result"));
        fclose(out);
        assert_true(len > 10 && printed[len - 1] == '\n');
        if (strcmp(commands[i], "exports show") == 0)
            assert_non_null(strstr(printed, "memory:/a\\040rather\\040long\\040name\n\t\t<world>(sync,"));
        if (strcmp(commands[i], "exports diff") == 0)
            assert_non_null(strstr(printed, "+ memory:/more *("));
        free(printed);
    }
}

/* ---- What they tell ---- */

static void
status_tells_what_the_server_is(void **state)
{
    struct rig *rig = *state;
    const json_t *status;

    live_getattr(rig->srv, &rig->srv->root);            /* the connection has been accepted */
    status = must(rig, command(rig, "status", NULL));
    assert_int_equal(number(status, "pid"), getpid());
    assert_int_equal(number(status, "workers"), 2);
    assert_string_equal(text(status, "engine"), "pool");
    assert_int_equal(number(json_object_get(status, "ports"), "nfs"), rig->srv->nfs_port);
    assert_int_equal(number(json_object_get(status, "pool"), "threads"), 3);
    assert_int_equal(number(status, "exports"), 1);
    assert_true(number(status, "connections") >= 1);
    assert_true(json_is_null(json_object_get(status, "last_reload")));
}

static void
stats_count_calls_by_procedure_and_outcome(void **state)
{
    struct rig *rig = *state;
    const json_t *stats, *lookup, *getattr;

    live_getattr(rig->srv, &rig->srv->root);
    live_getattr(rig->srv, &rig->srv->root);
    live_put(rig->srv, "there", "x", 1);
    assert_int_equal(live_lookup(rig->srv, &rig->srv->root, "there")->status, NFS3_OK);
    assert_int_equal(live_lookup(rig->srv, &rig->srv->root, "missing")->status, NFS3ERR_NOENT);
    stats = must(rig, command(rig, "stats", NULL));
    getattr = json_object_get(json_object_get(stats, "nfs3"), "GETATTR");
    lookup = json_object_get(json_object_get(stats, "nfs3"), "LOOKUP");
    assert_true(number(getattr, "calls") >= 2);
    assert_int_equal(number(getattr, "failed"), 0);
    assert_int_equal(number(lookup, "calls"), 2);
    assert_int_equal(number(lookup, "failed"), 1);
    assert_int_equal(number(json_object_get(lookup, "errors"), "NFS3ERR_NOENT"), 1);
    assert_true(number(json_object_get(stats, "rpc"), "bytes_in") > 0);
    assert_true(number(json_object_get(stats, "buffers"), "max_bytes") > 0);
    assert_int_equal(number(stats, "mounts"), 1);
}

static void
each_status_has_a_place_among_the_counters(void **state)
{
    static const nfsstat3 statuses[] = {
        NFS3_OK, NFS3ERR_PERM, NFS3ERR_IO, NFS3ERR_STALE, NFS3ERR_REMOTE, NFS3ERR_BADHANDLE, NFS3ERR_JUKEBOX
    };
    static struct nfs3_stats stats;
    unsigned named = 0, counted = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(statuses); i++)
        nfs3_stats_count(&stats, NFS3_STATS_PROCS - 1, statuses[i]);
    for (unsigned place = 0; place < NFS3_STATS_PLACES; place++) {
        bool name = nfs3_stats_status(place) != NULL;

        named += name;
        if (stats.replies[NFS3_STATS_PROCS - 1][place] == 0)
            continue;
        assert_true(name);
        counted++;
    }
    assert_int_equal(counted, COUNT(statuses));
    assert_int_equal(named, 29);                        /* RFC 1813 2.6 */
    assert_null(nfs3_stats_status(NFS3_STATS_PLACES));
}

static void
settings_are_shown_with_what_may_be_changed(void **state)
{
    struct rig *rig = *state;
    const json_t *list = must(rig, command(rig, "show", NULL)), *one;

    assert_true(json_array_size(list) > 20);
    one = json_array_get(must(rig, command(rig, "show", "key", "threads", NULL)), 0);
    assert_string_equal(text(one, "value"), "3");
    assert_string_equal(text(one, "default"), "8");
    assert_true(json_is_true(json_object_get(one, "live")));
    one = json_array_get(must(rig, command(rig, "show", "key", "rtmax", NULL)), 0);
    assert_string_equal(text(one, "value"), "1M");
    assert_true(json_is_false(json_object_get(one, "live")));
    assert_error(rig, command(rig, "show", "key", "treads", NULL), "did you mean threads?");
}

static json_int_t
threads_now(struct rig *rig)
{
    return number(json_object_get(must(rig, command(rig, "status", NULL)), "pool"), "threads");
}

static void
live_settings_are_changed_and_others_are_not(void **state)
{
    struct rig *rig = *state;
    const json_t *one;

    must(rig, command(rig, "set", "key", "threads", "value", "7", NULL));
    assert_int_equal(threads_now(rig), 7);
    must(rig, command(rig, "set", "key", "threads", "value", "1", NULL));
    for (int i = 0; i < 100 && threads_now(rig) != 1; i++)
        usleep(10000);
    assert_int_equal(threads_now(rig), 1);
    must(rig, command(rig, "set", "key", "log_level", "value", "debug", NULL));
    one = json_array_get(must(rig, command(rig, "show", "key", "log_level", NULL)), 0);
    assert_string_equal(text(one, "value"), "debug");
    must(rig, command(rig, "set", "key", "drain_timeout", "value", "1", NULL));
    assert_error(rig, command(rig, "set", "key", "port", "value", "1", NULL), "can be changed only at the start");
    assert_error(rig, command(rig, "set", "key", "threads", "value", "0", NULL), "out of range");
    assert_error(rig, command(rig, "set", "key", "treads", "value", "4", NULL), "did you mean threads?");
    assert_int_equal(threads_now(rig), 1);
    live_getattr(rig->srv, &rig->srv->root);
}

/* ---- Exports ---- */

static void
exports_are_shown_as_exportfs_orders_their_options(void **state)
{
    struct rig *rig = *state;
    const json_t *list, *client;

    must(rig, command(rig, "exports add", "line",
                      "memory:/more 10.0.0.0/8(rw,anonuid=1000,fsid=5,rtmax=64K,no_root_squash,async)", NULL));
    list = must(rig, command(rig, "exports show", NULL));
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(text(json_array_get(list, 1), "path"), "memory:/more");
    client = json_array_get(json_object_get(json_array_get(list, 1), "clients"), 0);
    assert_string_equal(text(client, "client"), "10.0.0.0/8");
    assert_string_equal(text(client, "options"),
                        "async,wdelay,hide,no_subtree_check,fsid=5,anonuid=1000,sec=sys,rw,secure,no_root_squash,"
                        "no_all_squash,rtmax=65536");
    must(rig, command(rig, "exports add", "line",
                      "memory:/other *(mp=/proc,manage_gids,nordirplus,noatime,nodiratime,rtpref=8K,wtpref=16K,"
                      "io=direct,readahead=2M,max_rate=1M,max_iops=50)", NULL));
    list = must(rig, command(rig, "exports show", NULL));
    client = json_array_get(json_object_get(json_array_get(list, 2), "clients"), 0);
    assert_string_equal(text(client, "options"),
                        "sync,wdelay,hide,no_subtree_check,mountpoint=/proc,sec=sys,ro,secure,root_squash,"
                        "no_all_squash,manage_gids,rtpref=8192,wtpref=16384,io=direct,readahead=2097152,"
                        "max_rate=1048576,max_iops=50,"
                        "nordirplus,noatime,nodiratime");
}

static void
an_added_export_lasts_over_reloads(void **state)
{
    struct rig *rig = *state;

    must(rig, command(rig, "exports add", "line", "memory:/more *(rw,insecure)", NULL));
    live_mount(rig->srv, "/more");
    must(rig, command(rig, "exports reload", NULL));
    live_mount(rig->srv, "/more");
    must(rig, command(rig, "exports remove", "path", "memory:/more", NULL));
    assert_int_equal(live_mnt(rig->srv, "/more")->fhs_status, MNT3ERR_ACCES);
    live_getattr(rig->srv, &rig->srv->root);
}

static void
a_removed_export_stays_away_until_it_is_added_again(void **state)
{
    struct rig *rig = *state;

    must(rig, command(rig, "exports remove", "path", "/export/", NULL));
    assert_int_equal(live_getattr(rig->srv, &rig->srv->root)->status, NFS3ERR_STALE);
    must(rig, command(rig, "exports reload", NULL));
    assert_int_equal(live_getattr(rig->srv, &rig->srv->root)->status, NFS3ERR_STALE);
    assert_error(rig, command(rig, "exports remove", "path", "/export", NULL), "/export is not exported");
    must(rig, command(rig, "exports add", "line", "memory:/export *(rw,insecure)", NULL));
    live_mount(rig->srv, "/export");
}

static void
changes_hold_from_the_next_call_on(void **state)
{
    struct rig *rig = *state;

    for (int i = 0; i < 100; i++) {
        must(rig, command(rig, "exports add", "line", "memory:/more *(rw,insecure)", NULL));
        assert_int_equal(live_mnt(rig->srv, "/more")->fhs_status, MNT3_OK);
        must(rig, command(rig, "exports remove", "path", "/more", NULL));
        assert_int_equal(live_mnt(rig->srv, "/more")->fhs_status, MNT3ERR_ACCES);
    }
    live_getattr(rig->srv, &rig->srv->root);
}

static void
a_bad_line_changes_nothing_and_says_where(void **state)
{
    struct rig *rig = *state;
    const json_t *reload;

    assert_error(rig, command(rig, "exports add", "line", "memory:/more *(rw,frob)", NULL),
                 "exports add:1:19: unknown option frob");
    assert_error(rig, command(rig, "exports add", "line", "/does/not/exist *(rw)", NULL), "/does/not/exist");
    assert_error(rig, command(rig, "exports add", "line", "", NULL), "path");
    assert_error(rig, command(rig, "exports add", "line", "# nothing", NULL), "no path");
    assert_error(rig, command(rig, "exports add", "line", "memory:/a *\nmemory:/b *", NULL), "one line");
    assert_error(rig, command(rig, "exports add", "line", "memory:/export *(ro)", NULL), "has other options");
    reload = json_object_get(must(rig, command(rig, "status", NULL)), "last_reload");
    assert_true(json_is_false(json_object_get(reload, "ok")));
    assert_non_null(strstr(text(reload, "error"), "has other options"));
    assert_int_equal(json_array_size(must(rig, command(rig, "exports show", NULL))), 1);
    must(rig, command(rig, "exports reload", NULL));
    live_getattr(rig->srv, &rig->srv->root);
}

static void
check_tells_the_place_of_a_mistake(void **state)
{
    struct rig *rig = *state;
    char file[PATH_MAX + 32];

    write_exports(rig, file, "/a *(rw)\n/b 10.0.0.0/8(ro) *(rw)\n");
    assert_int_equal(number(must(rig, command(rig, "exports check", "file", file, NULL)), "clients"), 3);
    write_exports(rig, file, "/a *(rw)\n/b *(rv)\n");
    assert_error(rig, command(rig, "exports check", "file", file, NULL), "exports:2:6: unknown option rv");
    assert_error(rig, command(rig, "exports check", "file", "/does/not/exist", NULL), "/does/not/exist");
    assert_error(rig, command(rig, "exports check", "file", "exports", NULL), "exports is not an absolute path");
    assert_error(rig, command(rig, "exports check", "file", "/dev/null", NULL), "neither a file nor a directory");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_error(rig, command(rig, "exports diff", "file", file, NULL), "neither a file nor a directory");
}

static void
diff_tells_what_would_change_for_whom(void **state)
{
    struct rig *rig = *state;
    char file[PATH_MAX + 32];
    const json_t *changes, *clients;

    must(rig, command(rig, "exports add", "line", "memory:/second 10.0.0.1(ro) 10.0.0.2(ro)", NULL));
    must(rig, command(rig, "exports remove", "path", "/second", NULL));
    write_exports(rig, file, "memory:/export 10.0.0.1(ro) *(ro,insecure,no_root_squash)\nmemory:/third *\n");
    changes = json_object_get(must(rig, command(rig, "exports diff", "file", file, NULL)), "changes");
    assert_int_equal(json_array_size(changes), 2);
    assert_string_equal(text(json_array_get(changes, 0), "path"), "memory:/export");
    assert_string_equal(text(json_array_get(changes, 0), "change"), "changed");
    clients = json_object_get(json_array_get(changes, 0), "clients");
    assert_int_equal(json_array_size(clients), 2);
    assert_string_equal(text(json_array_get(clients, 0), "client"), "10.0.0.1");
    assert_string_equal(text(json_array_get(clients, 0), "change"), "added");
    assert_string_equal(text(json_array_get(clients, 1), "client"), "*");
    assert_non_null(strstr(text(json_array_get(clients, 1), "old"), ",rw,"));
    assert_non_null(strstr(text(json_array_get(clients, 1), "new"), ",ro,"));
    assert_string_equal(text(json_array_get(changes, 1), "path"), "memory:/third");
    assert_string_equal(text(json_array_get(changes, 1), "change"), "added");

    write_exports(rig, file, "");
    changes = json_object_get(must(rig, command(rig, "exports diff", "file", file, NULL)), "changes");
    assert_int_equal(json_array_size(changes), 1);
    assert_string_equal(text(json_array_get(changes, 0), "change"), "removed");
    changes = json_object_get(must(rig, command(rig, "exports diff", NULL)), "changes");
    assert_int_equal(json_array_size(changes), 0);
    live_getattr(rig->srv, &rig->srv->root);
}

/* ---- What is not put up with ---- */

static void
malformed_requests_are_refused_and_the_connection_goes_on(void **state)
{
    static const char *const lines[] = {
        "", "hello", "{", "[]", "3", "\"status\"", "null", "{}", "{\"command\":1}", "{\"command\":null}",
        "{\"command\":[\"status\"]}", "{\"command\":\"status\"", "{\"command\":\"status\"}{}",
        "{\"command\":\"status\",\"command\":\"stats\"}", "{\"command\":\"sta\xfftus\"}", "{\"command\":\"st\\u0000\"}",
        "{'command':'status'}", "\xff\xfe", "{\"command\":\"show\",\"key\":3}"
    };
    static const char nul[] = "{\"command\":\"stat\0us\"}";
    struct rig *rig = *state;

    for (size_t i = 0; i < COUNT(lines); i++)
        error_of(rig, ask(rig, lines[i]));
    error_of(rig, ask_bytes(rig, nul, sizeof(nul) - 1));
    must(rig, command(rig, "status", NULL));
}

static void
unknown_words_are_named_with_near_ones(void **state)
{
    struct rig *rig = *state;

    assert_error(rig, command(rig, "exports shwo", NULL), "unknown command exports shwo (did you mean exports show?)");
    assert_error(rig, command(rig, "frobnicate", NULL), "unknown command frobnicate");
    assert_error(rig, command(rig, "exports add", "lin", "/a *", NULL),
                 "exports add: unknown argument lin (did you mean line?)");
    assert_error(rig, command(rig, "status", "lin", "/a *", NULL), "status: unknown argument lin");
    assert_null(strstr(rig->reply, "did you mean"));
    assert_error(rig, command(rig, "set", "key", "threads", NULL), "set: value is missing");
    assert_error(rig, ask(rig, "{\"command\":\"set\",\"key\":\"threads\",\"value\":4}"), "value must be a string");
}

static void
deep_nesting_is_refused(void **state)
{
    struct rig *rig = *state;
    size_t len = CONTROL_LINE_MAX - 8;
    char *line = malloc(len);

    assert_non_null(line);
    memset(line, '[', len);
    error_of(rig, ask_bytes(rig, line, len));
    free(line);
    must(rig, command(rig, "status", NULL));
}

static bool
is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, 0);

    return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void
a_line_without_end_is_refused_and_closed(void **state)
{
    struct rig *rig = *state;
    char *line = malloc(CONTROL_LINE_MAX);

    assert_non_null(line);
    memset(line, ' ', CONTROL_LINE_MAX);
    assert_true(put(rig->fd, line, CONTROL_LINE_MAX));
    free(line);
    assert_error(rig, read_answer(rig, rig->fd), "longer than 1 MiB");
    assert_true(is_closed(rig->fd));
    close(rig->fd);
    rig->fd = connect_to(rig->dir);
    must(rig, command(rig, "status", NULL));
}

static void
requests_may_come_in_pieces_and_several_at_once(void **state)
{
    static const char request[] = "{\"command\":\"status\"}\n";
    struct rig *rig = *state;

    for (size_t i = 0; i < sizeof(request) - 1; i++)
        assert_true(put(rig->fd, request + i, 1));
    must(rig, read_answer(rig, rig->fd));
    for (int i = 0; i < 50; i++)
        assert_true(put(rig->fd, request, sizeof(request) - 1));
    for (int i = 0; i < 50; i++)
        must(rig, read_answer(rig, rig->fd));
    assert_true(put(rig->fd, request, sizeof(request) - 1));
    shutdown(rig->fd, SHUT_WR);
    must(rig, read_answer(rig, rig->fd));
    assert_true(is_closed(rig->fd));
}

static void
half_a_line_is_no_request(void **state)
{
    struct rig *rig = *state;

    assert_true(put(rig->fd, "{\"command\":\"status\"}", 20));
    shutdown(rig->fd, SHUT_WR);
    assert_true(is_closed(rig->fd));
}

static void
who_says_nothing_is_closed_after_a_while(void **state)
{
    struct rig *rig = *state;
    int fd;

    reopen_control(rig, 200);
    assert_true(is_closed(rig->fd));
    fd = connect_to(rig->dir);
    assert_true(put(fd, "{\"comm", 7));
    assert_true(is_closed(fd));
    close(fd);
}

static void
who_never_reads_is_closed_and_others_are_served(void **state)
{
    static const char request[] = "{\"command\":\"show\"}\n";
    struct rig *rig = *state;
    struct pollfd ended = { .events = POLLRDHUP };
    int fd;

    reopen_control(rig, 500);
    fd = connect_to(rig->dir);
    for (int i = 0; i < 2000; i++)
        if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
    must(rig, command(rig, "status", NULL));
    ended.fd = fd;
    assert_int_equal(poll(&ended, 1, 10000), 1);
    close(fd);
    live_assert_alive(rig->srv);
}

static void
connections_are_bounded(void **state)
{
    struct rig *rig = *state;
    int fds[CONTROL_CONNECTIONS_MAX];
    size_t i;

    for (i = 0; i < COUNT(fds) - 1; i++) {
        fds[i] = connect_to(rig->dir);
        assert_true(put(fds[i], "{\"command\":\"status\"}\n", 21));
        must(rig, read_answer(rig, fds[i]));
    }
    fds[i] = connect_to(rig->dir);
    assert_error(rig, read_answer(rig, fds[i]), "16 connections are open");
    assert_true(is_closed(fds[i]));
    close(fds[i]);
    close(fds[0]);
    for (int tries = 0; tries < 200; tries++) {
        fds[0] = connect_to(rig->dir);
        if (put(fds[0], "{\"command\":\"status\"}\n", 21) && read_answer(rig, fds[0]))
            break;
        close(fds[0]);
        usleep(10000);
    }
    must(rig, json_is_true(json_object_get(rig->answer, "ok")));
    for (i = 0; i < COUNT(fds) - 1; i++)
        close(fds[i]);
}

/* ---- Whose it is ---- */

static void
the_socket_is_for_its_owner_alone_and_gone_at_the_end(void **state)
{
    struct rig *rig = *state;
    char path[PATH_MAX + 32];
    struct stat st;

    snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, rig->dir);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
    control_free(rig->control);
    rig->control = NULL;
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(control_connect(rig->dir), -ENOENT);
}

/* As another user, after a fork: connect and read a line into out; returns how the attempt ended. */
static int
connect_as_nobody(const char *dir, int out)
{
    char line[256];
    ssize_t n;
    int fd;

    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        return 99;
    fd = control_connect(dir);
    if (fd < 0)
        return -fd;
    n = recv(fd, line, sizeof(line), 0);
    return n > 0 && write(out, line, (size_t)n) == n ? 0 : 98;
}

static int
attempt_as_nobody(struct rig *rig, char *line, size_t size)
{
    int ends[2], status;
    ssize_t n;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0)
        _exit(connect_as_nobody(rig->dir, ends[1]));
    close(ends[1]);
    n = read(ends[0], line, size - 1);
    line[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void
other_users_are_kept_out_by_mode_and_by_name(void **state)
{
    struct rig *rig = *state;
    char path[PATH_MAX + 32], line[256];

    if (geteuid() != 0) {
        print_message("left out: needs root\n");
        skip();
    }
    snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, rig->dir);
    assert_int_equal(chmod(rig->dir, 0755), 0);
    assert_int_equal(attempt_as_nobody(rig, line, sizeof(line)), EACCES);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(attempt_as_nobody(rig, line, sizeof(line)), 0);
    assert_non_null(strstr(line, "{\"ok\":false,\"error\":\"user 65534 may not control this server"));
    must(rig, command(rig, "status", NULL));
}

static void
a_socket_that_was_left_behind_is_replaced(void **state)
{
    struct rig *rig = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    close(rig->fd);
    control_free(rig->control);
    snprintf(address.sun_path, sizeof(address.sun_path), "%.90s/" CONTROL_SOCKET, rig->dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    open_control(rig, CONTROL_IDLE_MS);
    rig->fd = connect_to(rig->dir);
    must(rig, command(rig, "status", NULL));
}

static void
a_live_servers_socket_is_respected(void **state)
{
    struct rig *rig = *state;
    const struct control_config config = { .server = rig->srv->server, .dir = rig->dir, .log = &no_log };
    struct control *second;
    char error[1024], pid[32];

    assert_int_equal(control_new(&config, &second, error, sizeof(error)), -EADDRINUSE);
    snprintf(pid, sizeof(pid), "(pid %d)", getpid());
    assert_non_null(strstr(error, "another server"));
    assert_non_null(strstr(error, pid));
    must(rig, command(rig, "status", NULL));
}

static void
what_is_no_socket_is_left_alone(void **state)
{
    struct rig *rig = *state;
    const struct control_config config = { .server = rig->srv->server, .dir = rig->dir, .log = &no_log };
    char path[PATH_MAX + 32], error[1024];
    struct control *second;
    struct stat st;
    int fd;

    control_free(rig->control);
    rig->control = NULL;
    snprintf(path, sizeof(path), "%s/" CONTROL_SOCKET, rig->dir);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_int_equal(control_new(&config, &second, error, sizeof(error)), -EEXIST);
    assert_non_null(strstr(error, "no socket"));
    assert_int_equal(stat(path, &st), 0);
}

static void
the_directorys_name_may_be_long(void **state)
{
    struct rig *rig = *state;
    char parent[PATH_MAX];

    close(rig->fd);
    control_free(rig->control);
    strcpy(parent, rig->dir);
    memset(rig->dir + strlen(parent), 'x', 200);
    rig->dir[strlen(parent)] = '/';
    rig->dir[strlen(parent) + 200] = '\0';
    remove_in(parent, CONTROL_LOCK);
    assert_int_equal(mkdir(rig->dir, 0700), 0);
    open_control(rig, CONTROL_IDLE_MS);
    rig->fd = connect_to(rig->dir);
    must(rig, command(rig, "status", NULL));
    close(rig->fd);
    control_free(rig->control);
    rig->control = NULL;
    remove_dir(rig->dir);
    strcpy(rig->dir, parent);
    rig->fd = -1;
}

/* ---- By server_new() ---- */

static struct server *
start_server(struct rig *rig, const char *name, const char *line, char *dir, size_t dir_size)
{
    struct sockaddr_storage address = { .ss_family = AF_INET };
    struct settings settings;
    struct server_config config = { .settings = &settings, .exports = { .lines = &line, .nlines = 1 },
                                    .addresses = &address, .naddresses = 1, .log = no_log, .control = true };
    struct server *server;
    char error[1024];

    snprintf(dir, dir_size, "%.4000s/%s", rig->dir, name);
    ((struct sockaddr_in *)&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    settings_init(&settings);
    assert_int_equal(settings_set(&settings, "port", "0", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "rpcbind", "off", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "state_dir", dir, error, sizeof(error)), 0);
    settings.workers = 1;
    if (server_new(&config, &server, error, sizeof(error)) < 0)
        server = NULL;
    settings_fini(&settings);
    return server;
}

static void
end_server(struct server *server, const char *dir)
{
    server_free(server);
    assert_int_equal(control_connect(dir), -ENOENT);
    remove_in(dir, "handle-key");
    remove_in(dir, "mounts");
    remove_dir(dir);
}

static void
two_servers_in_one_process_have_a_socket_each(void **state)
{
    struct rig *rig = *state;
    char dirs[3][PATH_MAX];
    struct server *one = start_server(rig, "one", "memory:/one *", dirs[0], sizeof(dirs[0]));
    struct server *two = start_server(rig, "two", "memory:/two *", dirs[1], sizeof(dirs[1]));

    assert_non_null(one);
    assert_non_null(two);
    for (int i = 0; i < 2; i++) {
        int fd = connect_to(dirs[i]);

        assert_true(put(fd, "{\"command\":\"exports show\"}\n", 27));
        must(rig, read_answer(rig, fd));
        assert_non_null(strstr(rig->reply, i == 0 ? "memory:/one" : "memory:/two"));
        close(fd);
    }
    assert_null(start_server(rig, "one", "memory:/three *", dirs[2], sizeof(dirs[2])));
    end_server(one, dirs[0]);
    end_server(two, dirs[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_command_is_listed_once_and_explained),
        TEST(each_command_answers),
        TEST(results_are_printed_for_people),
        TEST(status_tells_what_the_server_is),
        TEST(stats_count_calls_by_procedure_and_outcome),
        cmocka_unit_test(each_status_has_a_place_among_the_counters),
        TEST(settings_are_shown_with_what_may_be_changed),
        TEST(live_settings_are_changed_and_others_are_not),
        TEST(exports_are_shown_as_exportfs_orders_their_options),
        TEST(an_added_export_lasts_over_reloads),
        TEST(a_removed_export_stays_away_until_it_is_added_again),
        TEST(changes_hold_from_the_next_call_on),
        TEST(a_bad_line_changes_nothing_and_says_where),
        TEST(check_tells_the_place_of_a_mistake),
        TEST(diff_tells_what_would_change_for_whom),
        TEST(malformed_requests_are_refused_and_the_connection_goes_on),
        TEST(unknown_words_are_named_with_near_ones),
        TEST(deep_nesting_is_refused),
        TEST(a_line_without_end_is_refused_and_closed),
        TEST(requests_may_come_in_pieces_and_several_at_once),
        TEST(half_a_line_is_no_request),
        TEST(who_says_nothing_is_closed_after_a_while),
        TEST(who_never_reads_is_closed_and_others_are_served),
        TEST(connections_are_bounded),
        TEST(the_socket_is_for_its_owner_alone_and_gone_at_the_end),
        TEST(other_users_are_kept_out_by_mode_and_by_name),
        TEST(a_socket_that_was_left_behind_is_replaced),
        TEST(a_live_servers_socket_is_respected),
        TEST(what_is_no_socket_is_left_alone),
        TEST(the_directorys_name_may_be_long),
        TEST(two_servers_in_one_process_have_a_socket_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
