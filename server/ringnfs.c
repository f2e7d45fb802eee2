/* server/ringnfs.c - the public interface as a thin layer over server.h; see ringnfs.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "server/ringnfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/address.h"
#include "server/exports.h"
#include "server/reach.h"
#include "server/ringnfs_private.h"

_Static_assert((int)RINGNFS_ERROR == LOG_ERROR_LEVEL && (int)RINGNFS_DEBUG == LOG_DEBUG_LEVEL, "levels are passed on");

int
embed_fail(struct ringnfs *rig, int err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(rig->error, sizeof(rig->error), format, args);
    va_end(args);
    return err;
}

int
embed_check_owner(struct ringnfs *rig)
{
    if (rig == NULL)
        return -EINVAL;
    if (rig->pid == getpid())
        return 0;
    return embed_fail(rig, -EPERM, "the server belongs to process %d, which has forked this one", (int)rig->pid);
}

int
embed_check_fresh(struct ringnfs *rig)
{
    int err = embed_check_owner(rig);

    if (err < 0)
        return err;
    if (rig->stopped)
        return embed_fail(rig, -EINVAL, "the server has been stopped: make another one");
    return rig->server != NULL ? embed_fail(rig, -EINVAL, "the server runs: this goes before the start only") : 0;
}

int
embed_check_running(struct ringnfs *rig)
{
    int err = embed_check_owner(rig);

    if (err < 0 || rig->server != NULL)
        return err;
    return embed_fail(rig, -EINVAL, rig->stopped ? "the server has been stopped"
                                                 : "the server does not run: start it first");
}

int
embed_check_unstopped(struct ringnfs *rig)
{
    return rig != NULL && rig->server != NULL ? embed_check_owner(rig) : embed_check_fresh(rig);
}

int
embed_check_text(struct ringnfs *rig, const char *text, const char *what)
{
    return text != NULL ? 0 : embed_fail(rig, -EINVAL, "%s is missing (NULL)", what);
}

const char *
ringnfs_version(void)
{
    return PACKAGE_VERSION;
}

const char *
ringnfs_error(const struct ringnfs *rig)
{
    return rig != NULL ? rig->error : "there is no server (NULL)";
}

int
ringnfs_new(struct ringnfs **out)
{
    struct ringnfs *rig;

    if (out == NULL)
        return -EINVAL;
    *out = rig = calloc(1, sizeof(*rig));
    if (rig == NULL)
        return -ENOMEM;
    if (faults_new(&rig->faults) < 0) {
        free(rig);
        *out = NULL;
        return -ENOMEM;
    }
    settings_init(&rig->settings);
    rig->settings.port = 0;
    rig->settings.rpcbind = RPCBIND_OFF;
    rig->settings.memory_unstable = true;
    rig->settings.sandbox = SETTING_SANDBOX_OFF;
    rig->log.fd = -1;
    rig->pid = getpid();
    return 0;
}

int
ringnfs_set(struct ringnfs *rig, const char *key, const char *value)
{
    int err = embed_check_unstopped(rig);

    if (err == 0)
        err = embed_check_text(rig, key, "the setting's name");
    if (err == 0)
        err = embed_check_text(rig, value, "the setting's value");
    if (err < 0)
        return err;
    if (rig->server != NULL)
        return server_set(rig->server, key, value, rig->error, sizeof(rig->error));
    return settings_set(&rig->settings, key, value, rig->error, sizeof(rig->error));
}

int
ringnfs_listen_on(struct ringnfs *rig, const char *address)
{
    int err = embed_check_fresh(rig);
    struct sockaddr_storage parsed = { .ss_family = AF_UNSPEC };
    bool none;

    if (err == 0)
        err = embed_check_text(rig, address, "the address");
    if (err < 0)
        return err;
    none = strcmp(address, "none") == 0;
    if (rig->naddresses == RINGNFS_ADDRESSES_MAX)
        return embed_fail(rig, -ENOSPC, "there are %d addresses already", RINGNFS_ADDRESSES_MAX);
    if (rig->naddresses > 0 && none != (rig->addresses[0].ss_family == AF_UNSPEC))
        return embed_fail(rig, -EINVAL, "\"none\" does not go together with an address");
    if (!none)
        err = address_parse(address, &parsed, rig->error, sizeof(rig->error));
    if (err == 0)
        rig->addresses[rig->naddresses++] = parsed;
    return err;
}

/* Keep a line for the start. */
static int
keep_line(struct ringnfs *rig, const char *line)
{
    char **grown = reallocarray(rig->lines, rig->nlines + 1, sizeof(*grown));
    char *copy = strdup(line);

    if (grown != NULL)
        rig->lines = grown;
    if (grown == NULL || copy == NULL) {
        free(copy);
        return embed_fail(rig, -ENOMEM, "the exports: out of memory");
    }
    rig->lines[rig->nlines++] = copy;
    return 0;
}

/* Add a line to those for the start, if all of them can be read then. */
static int
add_line(struct ringnfs *rig, const char *line)
{
    struct exports_source source;
    int err;

    if (strchr(line, '\n') != NULL)
        return embed_fail(rig, -EINVAL, "one line can be added at a time");
    if (rig->nlines == RINGNFS_LINES_MAX)
        return embed_fail(rig, -ENOSPC, "there are %d exports already", RINGNFS_LINES_MAX);
    err = keep_line(rig, line);
    if (err < 0)
        return err;
    source = (struct exports_source){ .lines = (const char *const *)rig->lines, .nlines = rig->nlines };
    err = exports_check(&source, rig->error, sizeof(rig->error));
    if (err < 0)
        free(rig->lines[--rig->nlines]);
    return err;
}

int
ringnfs_add_export(struct ringnfs *rig, const char *line)
{
    int err = embed_check_unstopped(rig);

    if (err == 0)
        err = embed_check_text(rig, line, "the line");
    if (err < 0)
        return err;
    return rig->server != NULL ? server_add_export(rig->server, line, rig->error, sizeof(rig->error)) : add_line(rig, line);
}

int
ringnfs_remove_export(struct ringnfs *rig, const char *path)
{
    int err = embed_check_running(rig);

    if (err == 0)
        err = embed_check_text(rig, path, "the path");
    return err < 0 ? err : server_remove_export(rig->server, path, rig->error, sizeof(rig->error));
}

/* The server's logger speaks of levels of its own. */
static void
pass_on(void *context, enum log_level level, const char *text)
{
    const struct ringnfs *rig = context;

    rig->sink(rig->sink_context, (enum ringnfs_level)level, text);
}

int
ringnfs_log_to(struct ringnfs *rig, ringnfs_log *log, void *context)
{
    int err = embed_check_fresh(rig);

    if (err < 0)
        return err;
    rig->sink = log;
    rig->sink_context = context;
    rig->log.fd = -1;
    rig->log.sink = log != NULL ? pass_on : NULL;
    rig->log.sink_context = rig;
    return 0;
}

int
ringnfs_log_to_fd(struct ringnfs *rig, int fd)
{
    int err = embed_check_fresh(rig);

    if (err < 0)
        return err;
    if (fd != -1 && fcntl(fd, F_GETFD) < 0)
        return embed_fail(rig, -errno, "%d is not an open descriptor", fd);
    rig->log.fd = fd;
    rig->log.sink = NULL;
    return 0;
}

int
ringnfs_start(struct ringnfs *rig)
{
    struct server_config config = { .settings = NULL };
    int err = embed_check_fresh(rig);

    if (err == 0)
        err = settings_check(&rig->settings, rig->error, sizeof(rig->error));
    if (err == 0 && rig->driven)
        err = embed_prepare_driven(rig);
    if (err == 0 && rig->naddresses == 0)
        err = ringnfs_listen_on(rig, "127.0.0.1");
    if (err < 0)
        return err;
    rig->log.level = (enum log_level)rig->settings.log_level;
    config.settings = &rig->settings;
    config.exports.lines = (const char *const *)rig->lines;
    config.exports.nlines = rig->nlines;
    config.addresses = rig->addresses;
    config.naddresses = rig->naddresses;
    config.log = rig->log;
    config.faults = rig->faults;
    config.hook = rig->seeing.hook;
    config.hook_context = rig->seeing.hook_context;
    config.keep_calls = rig->seeing.keep_calls;
    config.driven = rig->driven;
    config.stateless = rig->settings.state_dir == NULL;
    return server_new(&config, &rig->server, rig->error, sizeof(rig->error));
}

int
ringnfs_nfs_port(struct ringnfs *rig)
{
    int err = embed_check_running(rig);
    struct server_ports ports;

    if (err < 0)
        return err;
    server_ports(rig->server, &ports);
    return ports.nfs;
}

int
ringnfs_mount_port(struct ringnfs *rig)
{
    int err = embed_check_running(rig);
    struct server_ports ports;

    if (err < 0)
        return err;
    server_ports(rig->server, &ports);
    return ports.mount;
}

static bool
is_exported(struct server *server, const char *path)
{
    struct exports *set = server_exports(server);
    bool found = false;

    for (size_t i = 0; i < set->count && !found; i++)
        found = strcmp(set->list[i].path, path) == 0;
    exports_put(set);
    return found;
}

/* How to reach an export, as one of reach.h's functions tells it. */
static int
tell(struct ringnfs *rig, const char *path, char **out, char *(*format)(const struct reach *reach, const char *path))
{
    int err = embed_check_running(rig);
    struct reach reach;
    char shown[RINGNFS_SHOWN_MAX];

    if (out != NULL)
        *out = NULL;
    if (err == 0)
        err = embed_check_text(rig, path, "the path");
    if (err < 0)
        return err;
    if (out == NULL)
        return embed_fail(rig, -EINVAL, "there is no place for the text (NULL)");
    if (!is_exported(rig->server, path))
        return embed_fail(rig, -ENOENT, "%s is not exported", log_quote(shown, sizeof(shown), path, strlen(path)));
    reach_init(&reach, rig->server, rig->addresses, rig->naddresses);
    if (reach.ports.nfs == 0)
        return embed_fail(rig, -EADDRNOTAVAIL, "the server listens on no port");
    *out = format(&reach, path);
    return *out != NULL ? 0 : embed_fail(rig, -ENOMEM, "out of memory");
}

int
ringnfs_mount_command(struct ringnfs *rig, const char *path, char **out)
{
    return tell(rig, path, out, reach_command);
}

int
ringnfs_url(struct ringnfs *rig, const char *path, char **out)
{
    return tell(rig, path, out, reach_url);
}

int
ringnfs_add_connection(struct ringnfs *rig, int fd)
{
    int err = embed_check_running(rig), type = 0;
    struct sockaddr_storage peer;
    socklen_t type_len = sizeof(type), peer_len = sizeof(peer);

    if (err < 0)
        return err;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_len) < 0)
        return embed_fail(rig, -errno, "descriptor %d: %s", fd, strerror(errno));
    if (type != SOCK_STREAM)
        return embed_fail(rig, -EINVAL, "descriptor %d is not a stream socket", fd);
    err = server_add_connection(rig->server, fd);
    return err < 0 ? embed_fail(rig, err, "descriptor %d: %s", fd, strerror(-err)) : 0;
}

int
ringnfs_stop(struct ringnfs *rig)
{
    int err = embed_check_running(rig);

    if (err < 0)
        return err;
    server_free(rig->server);
    rig->server = NULL;
    rig->stopped = true;
    return 0;
}

void
ringnfs_free(struct ringnfs *rig)
{
    if (rig == NULL || rig->pid != getpid())
        return;
    server_free(rig->server);
    for (size_t i = 0; i < rig->nlines; i++)
        free(rig->lines[i]);
    free(rig->lines);
    settings_fini(&rig->settings);
    faults_free(rig->faults);
    free(rig);
}
