/*
 * examples/own_loop.c - a program with a loop of its own (libev), in which an NFS server and its client (libnfs) take
 * turns.
 *
 *     cc -o own_loop own_loop.c $(pkg-config --cflags --libs libringnfs libnfs) -lev && ./own_loop
 *
 * Everything happens in one thread, and nothing beside the loop: between two turns a test can look at both sides. The
 * client makes a directory, and then the program looks for it in the server.
 */
#include <errno.h>
#include <ev.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>                   /* libnfs' header needs it */

#include <nfsc/libnfs.h>
#include <ringnfs.h>

struct program {
    struct ev_loop *loop;
    ev_io server_io, client_io;
    struct ringnfs *server;
    struct nfs_context *client;
    struct nfs_url *url;
    int failed;
};

static void
finish(struct program *program, const char *what, int failed)
{
    if (failed)
        fprintf(stderr, "%s: failed\n", what);
    program->failed = failed;
    ev_break(program->loop, EVBREAK_ALL);
}

static void
server_ready(struct ev_loop *loop, ev_io *io, int events)
{
    struct program *program = io->data;

    (void)loop;
    (void)events;
    if (ringnfs_process(program->server) < 0)
        finish(program, ringnfs_error(program->server), 1);
}

/* libnfs says anew after each turn which descriptor it has, and what it waits for. */
static void
watch_client(struct program *program)
{
    int wanted = nfs_which_events(program->client);

    ev_io_stop(program->loop, &program->client_io);
    ev_io_set(&program->client_io, nfs_get_fd(program->client),
              (wanted & POLLIN ? EV_READ : 0) | (wanted & POLLOUT ? EV_WRITE : 0));
    ev_io_start(program->loop, &program->client_io);
}

static void
client_ready(struct ev_loop *loop, ev_io *io, int events)
{
    struct program *program = io->data;

    (void)loop;
    if (nfs_service(program->client, (events & EV_READ ? POLLIN : 0) | (events & EV_WRITE ? POLLOUT : 0)) < 0)
        finish(program, "libnfs", 1);
    else
        watch_client(program);
}

static void
made(int err, struct nfs_context *client, void *data, void *context)
{
    (void)client;
    (void)data;
    finish(context, "MKDIR", err != 0);
}

static void
mounted(int err, struct nfs_context *client, void *data, void *context)
{
    (void)data;
    if (err != 0 || nfs_mkdir_async(client, "/folder", made, context) != 0)
        finish(context, "MNT", 1);
}

static int
start_server(struct program *program)
{
    int err = ringnfs_new(&program->server);

    if (err == 0)
        err = ringnfs_add_export(program->server, "memory:/x *(rw,insecure)");
    if (err == 0)
        err = ringnfs_drive(program->server);
    if (err == 0)
        err = ringnfs_start(program->server);
    if (err != 0) {
        fprintf(stderr, "%s\n", ringnfs_error(program->server));
        return -1;
    }
    ev_io_init(&program->server_io, server_ready, ringnfs_fd(program->server), EV_READ);
    program->server_io.data = program;
    ev_io_start(program->loop, &program->server_io);
    return 0;
}

static int
start_client(struct program *program)
{
    char *text = NULL;

    program->client = nfs_init_context();
    if (program->client == NULL || ringnfs_url(program->server, "/x", &text) != 0)
        return -1;
    program->url = nfs_parse_url_dir(program->client, text);
    free(text);
    if (program->url == NULL ||
        nfs_mount_async(program->client, program->url->server, program->url->path, mounted, program) != 0)
        return -1;
    ev_init(&program->client_io, client_ready);
    program->client_io.data = program;
    watch_client(program);
    return 0;
}

/* What the client has done, seen from the other side: a directory cannot be read as a file. */
static int
check_server(struct program *program)
{
    void *data;
    size_t len;

    if (ringnfs_get_file(program->server, "/x", "folder", &data, &len) == -EISDIR)
        return puts("the client's directory is there") < 0;
    fprintf(stderr, "%s\n", ringnfs_error(program->server));
    return 1;
}

int
main(void)
{
    struct program program = { 0 };

    program.loop = ev_default_loop(0);
    program.failed = start_server(&program) != 0 || start_client(&program) != 0;
    if (!program.failed)
        ev_run(program.loop, 0);
    if (!program.failed)
        program.failed = check_server(&program);
    if (program.url != NULL)
        nfs_destroy_url(program.url);
    if (program.client != NULL)
        nfs_destroy_context(program.client);
    ringnfs_free(program.server);
    return program.failed;
}
