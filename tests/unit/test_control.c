/* tests/unit/test_control.c - the commands of the control socket, and what they answer. */
#include "tests/lib/control_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/control_commands.h"

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

        assert_true((row->run != NULL) != (row->later != NULL));
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
    struct ctl_rig *rig = *state;
    char file[PATH_MAX + 32], made[PATH_MAX + 64];

    ctl_write_exports(rig, file, "memory:/more *(ro)\n");
    snprintf(made, sizeof(made), "%s-made", file);
    ctl_must(rig, ctl_command(rig, "status", NULL));
    ctl_must(rig, ctl_command(rig, "stats", NULL));
    ctl_must(rig, ctl_command(rig, "show", NULL));
    ctl_must(rig, ctl_command(rig, "set", "key", "threads", "value", "2", NULL));
    ctl_must(rig, ctl_command(rig, "exports show", NULL));
    ctl_must(rig, ctl_command(rig, "exports reload", NULL));
    ctl_must(rig, ctl_command(rig, "exports check", "file", file, NULL));
    ctl_must(rig, ctl_command(rig, "exports diff", "file", file, NULL));
    ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/more *(ro)", NULL));
    ctl_must(rig, ctl_command(rig, "exports remove", "path", "/more", NULL));
    ctl_must(rig, ctl_command(rig, "fault add", "rule", "do delay=1ms", NULL));
    ctl_write_exports(rig, file, "# no rule\n");
    ctl_must(rig, ctl_command(rig, "fault load", "file", file, NULL));
    ctl_must(rig, ctl_command(rig, "fault list", NULL));
    ctl_must(rig, ctl_command(rig, "fault clear", "number", "1", NULL));
    ctl_must(rig, ctl_command(rig, "pause", NULL));
    ctl_must(rig, ctl_command(rig, "resume", NULL));
    ctl_must(rig, ctl_command(rig, "crash", NULL));
    ctl_must(rig, ctl_command(rig, "journal open", "file", made, "data", "whole", NULL));
    ctl_must(rig, ctl_command(rig, "journal close", NULL));
    ctl_must(rig, ctl_command(rig, "capture open", "file", made, NULL));
    ctl_must(rig, ctl_command(rig, "capture close", NULL));
    assert_int_equal(unlink(made), 0);
    ctl_assert_error(rig, ctl_command(rig, "restart", NULL), "not a process of its own");
    assert_int_equal(control_commands_rows, 22);
}

static void
results_are_printed_for_people(void **state)
{
    struct ctl_rig *rig = *state;
    char file[PATH_MAX + 32];
    const char *const commands[] = { "status", "stats", "show", "exports show", "exports reload", "exports diff",
                                     "fault list" };

    ctl_write_exports(rig, file, "memory:/export 10.0.0.0/8(rw)\nmemory:/more *(ro)\n");
    ctl_must(rig, ctl_command(rig, "fault add", "rule", "when proc=READ do stale", NULL));
    ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/a\\040rather\\040long\\040name *(ro)", NULL));
    for (size_t i = 0; i < COUNT(commands); i++) {
        const struct control_command *row = control_find(commands[i], NULL, 0);
        char *printed = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&printed, &len);

        ctl_must(rig, strcmp(commands[i], "exports diff") == 0 ? ctl_command(rig, commands[i], "file", file, NULL)
                                                           : ctl_command(rig, commands[i], NULL));
        row->print(out, json_object_get(rig->answer, "result"));
        fclose(out);
        assert_true(len > 10 && printed[len - 1] == '\n');
        if (strcmp(commands[i], "exports show") == 0)
            assert_non_null(strstr(printed, "memory:/a\\040rather\\040long\\040name\n\t\t<world>(sync,"));
        if (strcmp(commands[i], "exports diff") == 0)
            assert_non_null(strstr(printed, "+ memory:/more *("));
        if (strcmp(commands[i], "fault list") == 0)
            assert_non_null(strstr(printed, "     1          0          0  when proc=READ do stale\n"));
        free(printed);
    }
}

/* ---- What they tell ---- */

static void
status_tells_what_the_server_is(void **state)
{
    struct ctl_rig *rig = *state;
    const json_t *status;

    live_getattr(rig->srv, &rig->srv->root);            /* the connection has been accepted */
    status = ctl_must(rig, ctl_command(rig, "status", NULL));
    assert_int_equal(ctl_number(status, "pid"), getpid());
    assert_int_equal(ctl_number(status, "workers"), 2);
    assert_string_equal(ctl_text(status, "engine"), "pool");
    assert_int_equal(ctl_number(json_object_get(status, "ports"), "nfs"), rig->srv->nfs_port);
    assert_int_equal(ctl_number(json_object_get(status, "pool"), "threads"), 3);
    assert_int_equal(ctl_number(status, "exports"), 1);
    assert_true(ctl_number(status, "connections") >= 1);
    assert_true(json_is_null(json_object_get(status, "last_reload")));
}

static void
status_names_an_export_whose_disk_fails(void **state)
{
    struct ctl_rig *rig = *state;
    struct exports *set = server_exports(rig->srv->server);
    const json_t *degraded = json_object_get(ctl_must(rig, ctl_command(rig, "status", NULL)), "degraded");

    assert_int_equal(json_array_size(degraded), 0);
    store_disk_failed(set->list[0].store, -EIO);
    exports_put(set);
    degraded = json_object_get(ctl_must(rig, ctl_command(rig, "status", NULL)), "degraded");
    assert_int_equal(json_array_size(degraded), 1);
    assert_string_equal(ctl_text(json_array_get(degraded, 0), "path"), rig->srv->export);
    assert_string_equal(ctl_text(json_array_get(degraded, 0), "error"), strerror(EIO));
    assert_int_equal(ctl_number(json_array_get(degraded, 0), "errors"), 1);
    assert_int_equal(ctl_number(ctl_must(rig, ctl_command(rig, "stats", NULL)), "disk_errors"), 1);
}

static void
stats_count_calls_by_procedure_and_outcome(void **state)
{
    struct ctl_rig *rig = *state;
    const json_t *stats, *lookup, *getattr, *getacl;

    live_getattr(rig->srv, &rig->srv->root);
    live_getattr(rig->srv, &rig->srv->root);
    live_put(rig->srv, "there", "x", 1);
    assert_int_equal(live_lookup(rig->srv, &rig->srv->root, "there")->status, NFS3_OK);
    assert_int_equal(live_lookup(rig->srv, &rig->srv->root, "missing")->status, NFS3ERR_NOENT);
    assert_int_equal(live_getacl(rig->srv, &rig->srv->root, NFS_ACL)->status, NFS3_OK);
    assert_int_equal(live_getacl(rig->srv, &rig->srv->root, ~0u)->status, NFS3ERR_INVAL);
    stats = ctl_must(rig, ctl_command(rig, "stats", NULL));
    getattr = json_object_get(json_object_get(stats, "nfs3"), "GETATTR");
    lookup = json_object_get(json_object_get(stats, "nfs3"), "LOOKUP");
    assert_true(ctl_number(getattr, "calls") >= 2);
    assert_int_equal(ctl_number(getattr, "failed"), 0);
    assert_int_equal(ctl_number(lookup, "calls"), 2);
    assert_int_equal(ctl_number(lookup, "failed"), 1);
    assert_int_equal(ctl_number(json_object_get(lookup, "errors"), "NFS3ERR_NOENT"), 1);
    getacl = json_object_get(json_object_get(stats, "nfsacl"), "GETACL");
    assert_int_equal(ctl_number(getacl, "calls"), 2);
    assert_int_equal(ctl_number(json_object_get(getacl, "errors"), "NFS3ERR_INVAL"), 1);
    assert_int_equal(ctl_number(json_object_get(json_object_get(stats, "nfsacl"), "SETACL"), "calls"), 0);
    assert_true(ctl_number(json_object_get(stats, "rpc"), "bytes_in") > 0);
    assert_true(ctl_number(json_object_get(stats, "buffers"), "max_bytes") > 0);
    assert_int_equal(ctl_number(stats, "mounts"), 1);
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
    struct ctl_rig *rig = *state;
    const json_t *list = ctl_must(rig, ctl_command(rig, "show", NULL)), *one;

    assert_true(json_array_size(list) > 20);
    one = json_array_get(ctl_must(rig, ctl_command(rig, "show", "key", "threads", NULL)), 0);
    assert_string_equal(ctl_text(one, "value"), "3");
    assert_string_equal(ctl_text(one, "default"), "auto");
    assert_true(json_is_true(json_object_get(one, "live")));
    one = json_array_get(ctl_must(rig, ctl_command(rig, "show", "key", "backlog", NULL)), 0);
    assert_string_equal(ctl_text(one, "value"), "1024");
    assert_true(json_is_false(json_object_get(one, "live")));
    ctl_assert_error(rig, ctl_command(rig, "show", "key", "treads", NULL), "did you mean threads?");
}

static json_int_t
threads_now(struct ctl_rig *rig)
{
    return ctl_number(json_object_get(ctl_must(rig, ctl_command(rig, "status", NULL)), "pool"), "threads");
}

static void
live_settings_are_changed_and_others_are_not(void **state)
{
    struct ctl_rig *rig = *state;
    const json_t *one;

    ctl_must(rig, ctl_command(rig, "set", "key", "threads", "value", "7", NULL));
    assert_int_equal(threads_now(rig), 7);
    ctl_must(rig, ctl_command(rig, "set", "key", "threads", "value", "1", NULL));
    for (int i = 0; i < 100 && threads_now(rig) != 1; i++)
        usleep(10000);
    assert_int_equal(threads_now(rig), 1);
    ctl_must(rig, ctl_command(rig, "set", "key", "log_level", "value", "debug", NULL));
    one = json_array_get(ctl_must(rig, ctl_command(rig, "show", "key", "log_level", NULL)), 0);
    assert_string_equal(ctl_text(one, "value"), "debug");
    ctl_must(rig, ctl_command(rig, "set", "key", "drain_timeout", "value", "1", NULL));
    ctl_assert_error(rig, ctl_command(rig, "set", "key", "port", "value", "1", NULL), "can be changed only at the start");
    ctl_assert_error(rig, ctl_command(rig, "set", "key", "threads", "value", "0", NULL), "out of range");
    ctl_assert_error(rig, ctl_command(rig, "set", "key", "treads", "value", "4", NULL), "did you mean threads?");
    assert_int_equal(threads_now(rig), 1);
    live_getattr(rig->srv, &rig->srv->root);
}

/* ---- Exports ---- */

static void
exports_are_shown_as_exportfs_orders_their_options(void **state)
{
    struct ctl_rig *rig = *state;
    const json_t *list, *client;

    ctl_must(rig, ctl_command(rig, "exports add", "line",
                              "memory:/more 10.0.0.0/8(rw,anonuid=1000,fsid=5,rtmax=64K,no_root_squash,async)", NULL));
    list = ctl_must(rig, ctl_command(rig, "exports show", NULL));
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(ctl_text(json_array_get(list, 1), "path"), "memory:/more");
    client = json_array_get(json_object_get(json_array_get(list, 1), "clients"), 0);
    assert_string_equal(ctl_text(client, "client"), "10.0.0.0/8");
    assert_string_equal(ctl_text(client, "options"),
                        "async,wdelay,hide,no_subtree_check,fsid=5,anonuid=1000,sec=sys,rw,secure,no_root_squash,"
                        "no_all_squash,rtmax=65536");
    ctl_must(rig, ctl_command(rig, "exports add", "line",
                              "memory:/other *(mp=/proc,crossmnt,nohide,manage_gids,nordirplus,noatime,nodiratime,"
                              "rtpref=8K,wtpref=16K,no_acl,io=direct,readahead=2M,max_rate=1M,max_iops=50)", NULL));
    list = ctl_must(rig, ctl_command(rig, "exports show", NULL));
    client = json_array_get(json_object_get(json_array_get(list, 2), "clients"), 0);
    assert_string_equal(ctl_text(client, "options"),
                        "sync,wdelay,nohide,crossmnt,no_subtree_check,mountpoint=/proc,sec=sys,ro,secure,root_squash,"
                        "no_all_squash,manage_gids,rtpref=8192,wtpref=16384,io=direct,readahead=2097152,"
                        "max_rate=1048576,max_iops=50,nordirplus,noatime,nodiratime,no_acl");
}

static void
flavours_with_the_same_rights_are_shown_together(void **state)
{
    struct ctl_rig *rig = *state;
    const json_t *list, *client;

    ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/more *(sec=none,all_squash,sec=sys,rw,fsid=5)", NULL));
    ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/other *(sec=none:sys,rw)", NULL));
    list = ctl_must(rig, ctl_command(rig, "exports show", NULL));
    client = json_array_get(json_object_get(json_array_get(list, 1), "clients"), 0);
    assert_string_equal(ctl_text(client, "options"),
                        "sync,wdelay,hide,no_subtree_check,fsid=5,sec=none,ro,secure,root_squash,all_squash,sec=sys,rw,"
                        "secure,root_squash,no_all_squash");
    client = json_array_get(json_object_get(json_array_get(list, 2), "clients"), 0);
    assert_string_equal(ctl_text(client, "options"),
                        "sync,wdelay,hide,no_subtree_check,sec=none:sys,rw,secure,root_squash,no_all_squash");
}

static void
an_added_export_lasts_over_reloads(void **state)
{
    struct ctl_rig *rig = *state;

    ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/more *(rw,insecure)", NULL));
    live_mount(rig->srv, "/more");
    ctl_must(rig, ctl_command(rig, "exports reload", NULL));
    live_mount(rig->srv, "/more");
    ctl_must(rig, ctl_command(rig, "exports remove", "path", "memory:/more", NULL));
    assert_int_equal(live_mnt(rig->srv, "/more")->fhs_status, MNT3ERR_ACCES);
    live_getattr(rig->srv, &rig->srv->root);
}

static void
a_removed_export_stays_away_until_it_is_added_again(void **state)
{
    struct ctl_rig *rig = *state;

    ctl_must(rig, ctl_command(rig, "exports remove", "path", "/export/", NULL));
    assert_int_equal(live_getattr(rig->srv, &rig->srv->root)->status, NFS3ERR_STALE);
    ctl_must(rig, ctl_command(rig, "exports reload", NULL));
    assert_int_equal(live_getattr(rig->srv, &rig->srv->root)->status, NFS3ERR_STALE);
    ctl_assert_error(rig, ctl_command(rig, "exports remove", "path", "/export", NULL), "/export is not exported");
    ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/export *(rw,insecure)", NULL));
    live_mount(rig->srv, "/export");
}

static void
changes_hold_from_the_next_call_on(void **state)
{
    struct ctl_rig *rig = *state;

    for (int i = 0; i < 100; i++) {
        ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/more *(rw,insecure)", NULL));
        assert_int_equal(live_mnt(rig->srv, "/more")->fhs_status, MNT3_OK);
        ctl_must(rig, ctl_command(rig, "exports remove", "path", "/more", NULL));
        assert_int_equal(live_mnt(rig->srv, "/more")->fhs_status, MNT3ERR_ACCES);
    }
    live_getattr(rig->srv, &rig->srv->root);
}

static void
a_bad_line_changes_nothing_and_says_where(void **state)
{
    struct ctl_rig *rig = *state;
    const json_t *reload;

    ctl_assert_error(rig, ctl_command(rig, "exports add", "line", "memory:/more *(rw,frob)", NULL),
                     "exports add:1:19: unknown option frob");
    ctl_assert_error(rig, ctl_command(rig, "exports add", "line", "/does/not/exist *(rw)", NULL), "/does/not/exist");
    ctl_assert_error(rig, ctl_command(rig, "exports add", "line", "", NULL), "path");
    ctl_assert_error(rig, ctl_command(rig, "exports add", "line", "# nothing", NULL), "no path");
    ctl_assert_error(rig, ctl_command(rig, "exports add", "line", "memory:/a *\nmemory:/b *", NULL), "one line");
    ctl_assert_error(rig, ctl_command(rig, "exports add", "line", "memory:/export *(ro)", NULL), "has other options");
    reload = json_object_get(ctl_must(rig, ctl_command(rig, "status", NULL)), "last_reload");
    assert_true(json_is_false(json_object_get(reload, "ok")));
    assert_non_null(strstr(ctl_text(reload, "error"), "has other options"));
    assert_int_equal(json_array_size(ctl_must(rig, ctl_command(rig, "exports show", NULL))), 1);
    ctl_must(rig, ctl_command(rig, "exports reload", NULL));
    live_getattr(rig->srv, &rig->srv->root);
}

static void
check_tells_the_place_of_a_mistake(void **state)
{
    struct ctl_rig *rig = *state;
    char file[PATH_MAX + 32];

    ctl_write_exports(rig, file, "/a *(rw)\n/b 10.0.0.0/8(ro) *(rw)\n");
    assert_int_equal(ctl_number(ctl_must(rig, ctl_command(rig, "exports check", "file", file, NULL)), "clients"), 3);
    ctl_write_exports(rig, file, "/a *(rw)\n/b *(rv)\n");
    ctl_assert_error(rig, ctl_command(rig, "exports check", "file", file, NULL), "exports:2:6: unknown option rv");
    ctl_assert_error(rig, ctl_command(rig, "exports check", "file", "/does/not/exist", NULL), "/does/not/exist");
    ctl_assert_error(rig, ctl_command(rig, "exports check", "file", "exports", NULL), "exports is not an absolute path");
    ctl_assert_error(rig, ctl_command(rig, "exports check", "file", "/dev/null", NULL), "neither a file nor a directory");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    ctl_assert_error(rig, ctl_command(rig, "exports diff", "file", file, NULL), "neither a file nor a directory");
}

static void
check_tells_all_mistakes_of_a_file(void **state)
{
    struct ctl_rig *rig = *state;
    char file[PATH_MAX + 32];
    const char *error;

    ctl_write_exports(rig, file, "/a *(frob)\nb *\n/c *(ro)\n/d 10.0.0.0/33\n");
    assert_false(ctl_command(rig, "exports check", "file", file, NULL));
    error = ctl_text(rig->answer, "error");
    assert_non_null(strstr(error, "exports:1:6: unknown option frob\n"));
    assert_non_null(strstr(error, "exports:2:1: b is not an absolute path\n"));
    assert_non_null(strstr(error, "exports:4:4: "));
    assert_null(strstr(error, "exports:3:"));
}

/* The names of an order of clients, with blanks between them. */
static void
join_names(char *out, size_t size, const json_t *names)
{
    const json_t *name;
    size_t i, used = 0;

    out[0] = '\0';
    json_array_foreach(names, i, name)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? " " : "", json_string_value(name));
}

static void
assert_order(const json_t *export, const char *old, const char *new)
{
    const json_t *order = json_object_get(export, "order");
    char have[256];

    assert_non_null(order);
    join_names(have, sizeof(have), json_object_get(order, "old"));
    assert_string_equal(have, old);
    join_names(have, sizeof(have), json_object_get(order, "new"));
    assert_string_equal(have, new);
}

static void
diff_tells_another_order_of_clients(void **state)
{
    struct ctl_rig *rig = *state;
    char file[PATH_MAX + 32];
    const json_t *changes;

    live_reload_lines(rig->srv, "memory:/a 10.1.0.0/24 10.0.0.0/24(rw) 10.0.0.0/16 10.0.1.0/24 10.2.0.0/24 *\n"
                                "memory:/b 10.0.0.1 10.0.0.0/8 *\n");
    ctl_write_exports(rig, file, "memory:/a 10.1.0.0/24 10.0.0.0/16 10.9.0.0/24 10.0.0.0/24(rw) 10.2.0.0/24 *\n"
                                 "memory:/b * 10.0.0.0/8 10.0.0.1\n");
    changes = json_object_get(ctl_must(rig, ctl_command(rig, "exports diff", "file", file, NULL)), "changes");
    assert_int_equal(json_array_size(changes), 1);          /* /b: kinds of clients have their own order */
    assert_order(json_array_get(changes, 0), "10.0.0.0/24 10.0.0.0/16", "10.0.0.0/16 10.0.0.0/24");
    assert_int_equal(json_array_size(json_object_get(json_array_get(changes, 0), "clients")), 2);

    ctl_write_exports(rig, file, "memory:/a 10.0.0.0/24(rw) 10.1.0.0/24 10.0.0.0/16 10.0.1.0/24 10.2.0.0/24 *\n"
                                 "memory:/b *(ro) 10.0.0.1 10.0.0.0/8\n");
    changes = json_object_get(ctl_must(rig, ctl_command(rig, "exports diff", "file", file, NULL)), "changes");
    assert_int_equal(json_array_size(changes), 1);
    assert_string_equal(ctl_text(json_array_get(changes, 0), "change"), "changed");
    assert_int_equal(json_array_size(json_object_get(json_array_get(changes, 0), "clients")), 0);
    assert_order(json_array_get(changes, 0), "10.1.0.0/24 10.0.0.0/24", "10.0.0.0/24 10.1.0.0/24");
}

static void
diff_tells_what_would_change_for_whom(void **state)
{
    struct ctl_rig *rig = *state;
    char file[PATH_MAX + 32];
    const json_t *changes, *clients;

    ctl_must(rig, ctl_command(rig, "exports add", "line", "memory:/second 10.0.0.1(ro) 10.0.0.2(ro)", NULL));
    ctl_must(rig, ctl_command(rig, "exports remove", "path", "/second", NULL));
    ctl_write_exports(rig, file, "memory:/export 10.0.0.1(ro) *(ro,insecure,no_root_squash)\nmemory:/third *\n");
    changes = json_object_get(ctl_must(rig, ctl_command(rig, "exports diff", "file", file, NULL)), "changes");
    assert_int_equal(json_array_size(changes), 2);
    assert_string_equal(ctl_text(json_array_get(changes, 0), "path"), "memory:/export");
    assert_string_equal(ctl_text(json_array_get(changes, 0), "change"), "changed");
    assert_null(json_object_get(json_array_get(changes, 0), "order"));
    clients = json_object_get(json_array_get(changes, 0), "clients");
    assert_int_equal(json_array_size(clients), 2);
    assert_string_equal(ctl_text(json_array_get(clients, 0), "client"), "10.0.0.1");
    assert_string_equal(ctl_text(json_array_get(clients, 0), "change"), "added");
    assert_string_equal(ctl_text(json_array_get(clients, 1), "client"), "*");
    assert_non_null(strstr(ctl_text(json_array_get(clients, 1), "old"), ",rw,"));
    assert_non_null(strstr(ctl_text(json_array_get(clients, 1), "new"), ",ro,"));
    assert_string_equal(ctl_text(json_array_get(changes, 1), "path"), "memory:/third");
    assert_string_equal(ctl_text(json_array_get(changes, 1), "change"), "added");

    ctl_write_exports(rig, file, "");
    changes = json_object_get(ctl_must(rig, ctl_command(rig, "exports diff", "file", file, NULL)), "changes");
    assert_int_equal(json_array_size(changes), 1);
    assert_string_equal(ctl_text(json_array_get(changes, 0), "change"), "removed");
    changes = json_object_get(ctl_must(rig, ctl_command(rig, "exports diff", NULL)), "changes");
    assert_int_equal(json_array_size(changes), 0);
    live_getattr(rig->srv, &rig->srv->root);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_command_is_listed_once_and_explained),
        CTL_TEST(each_command_answers),
        CTL_TEST(results_are_printed_for_people),
        CTL_TEST(status_tells_what_the_server_is),
        CTL_TEST(status_names_an_export_whose_disk_fails),
        CTL_TEST(stats_count_calls_by_procedure_and_outcome),
        cmocka_unit_test(each_status_has_a_place_among_the_counters),
        CTL_TEST(settings_are_shown_with_what_may_be_changed),
        CTL_TEST(live_settings_are_changed_and_others_are_not),
        CTL_TEST(exports_are_shown_as_exportfs_orders_their_options),
        CTL_TEST(flavours_with_the_same_rights_are_shown_together),
        CTL_TEST(an_added_export_lasts_over_reloads),
        CTL_TEST(a_removed_export_stays_away_until_it_is_added_again),
        CTL_TEST(changes_hold_from_the_next_call_on),
        CTL_TEST(a_bad_line_changes_nothing_and_says_where),
        CTL_TEST(check_tells_the_place_of_a_mistake),
        CTL_TEST(check_tells_all_mistakes_of_a_file),
        CTL_TEST(diff_tells_what_would_change_for_whom),
        CTL_TEST(diff_tells_another_order_of_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
