/* server/control_print.c - results of commands for people; what is missing in one is printed as nothing. */
#include <inttypes.h>
#include <string.h>

#include "server/control_commands.h"
#include "server/text.h"

#define PATH_COLUMNS 14                 /* exportfs -v: a longer path has a line of its own */

static const char *
text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value != NULL ? value : "";
}

static uint64_t
number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void
print_time(FILE *out, uint64_t seconds)
{
    static const struct { unsigned seconds; const char *unit; } units[] = {
        { 86400, "d" }, { 3600, "h" }, { 60, "min" }
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (seconds >= units[i].seconds)
            fprintf(out, "%" PRIu64 " %s ", seconds / units[i].seconds, units[i].unit);
        seconds %= units[i].seconds;
    }
    fprintf(out, "%" PRIu64 " s", seconds);
}

static void
print_reload(FILE *out, const json_t *reload)
{
    if (!json_is_object(reload))
        fprintf(out, "none since the start\n");
    else if (json_is_true(json_object_get(reload, "ok")))
        fprintf(out, "%s, done\n", text(reload, "at"));
    else
        fprintf(out, "%s, refused: %s\n", text(reload, "at"), text(reload, "error"));
}

static void
print_degraded(FILE *out, const json_t *degraded)
{
    const json_t *export;
    size_t i;

    json_array_foreach(degraded, i, export)
        fprintf(out, "degraded       %s: %s, since %s\n", text(export, "path"), text(export, "error"),
                text(export, "since"));
}

static void
print_pool(FILE *out, const json_t *pool)
{
    uint64_t all_ms = number(pool, "thread_ms");

    fprintf(out, "threads        %" PRIu64 ", %" PRIu64 " busy (%" PRIu64 " %% of the time since the start), %" PRIu64
                 " pieces of work waiting\n",
            number(pool, "threads"), number(pool, "busy"), all_ms > 0 ? 100 * number(pool, "busy_ms") / all_ms : 0,
            number(pool, "queued"));
}

void
control_print_status(FILE *out, const json_t *result)
{
    const json_t *ports = json_object_get(result, "ports");

    fprintf(out, "ringnfsd %s, pid %" PRIu64 ", up ", text(result, "version"), number(result, "pid"));
    print_time(out, number(result, "uptime_ms") / 1000);
    fprintf(out, "\nports          NFS %" PRIu64 ", MOUNT %" PRIu64 "\n", number(ports, "nfs"), number(ports, "mount"));
    fprintf(out, "engine         %s%s\n", text(result, "engine"),
            json_is_true(json_object_get(result, "sqpoll")) ? ", a thread of the kernel takes submissions" : "");
    fprintf(out, "workers        %" PRIu64 "\n", number(result, "workers"));
    print_pool(out, json_object_get(result, "pool"));
    fprintf(out, "connections    %" PRIu64 "\n", number(result, "connections"));
    if (strcmp(text(result, "identity"), "self") == 0)
        fprintf(out, "identity       every caller acts as user %" PRIu64 "\n", number(result, "uid"));
    else
        fprintf(out, "identity       callers act as themselves\n");
    fprintf(out, "exports        %" PRIu64 "\n", number(result, "exports"));
    print_degraded(out, json_object_get(result, "degraded"));
    fprintf(out, "last change    ");
    print_reload(out, json_object_get(result, "last_reload"));
}

static void
print_numbers(FILE *out, const char *title, json_t *object)
{
    const char *key;
    json_t *value;

    fprintf(out, "%s\n", title);
    json_object_foreach(object, key, value)
        fprintf(out, "  %-20s %15" JSON_INTEGER_FORMAT "\n", key, json_integer_value(value));
}

/* Procedures that were called, and the errors of each behind it. */
static void
print_procedures(FILE *out, const char *program, json_t *procedures)
{
    const char *name, *status;
    json_t *procedure, *count;

    fprintf(out, "%-22s %15s %12s\n", program, "calls", "failed");
    json_object_foreach(procedures, name, procedure) {
        if (number(procedure, "calls") == 0)
            continue;
        fprintf(out, "  %-20s %15" PRIu64 " %12" PRIu64, name, number(procedure, "calls"),
                number(procedure, "failed"));
        json_object_foreach(json_object_get(procedure, "errors"), status, count)
            fprintf(out, "  %s %" JSON_INTEGER_FORMAT, status, json_integer_value(count));
        fprintf(out, "\n");
    }
}

void
control_print_stats(FILE *out, const json_t *result)
{
    print_numbers(out, "RPC", json_object_get(result, "rpc"));
    print_procedures(out, "NFS version 3", json_object_get(result, "nfs3"));
    print_procedures(out, "NFSACL version 3", json_object_get(result, "nfsacl"));
    print_numbers(out, "replay cache", json_object_get(result, "replay_cache"));
    print_numbers(out, "kerberos", json_object_get(result, "kerberos"));
    print_numbers(out, "flushes", json_object_get(result, "flushes"));
    print_numbers(out, "calls over limits", json_object_get(result, "limits"));
    print_numbers(out, "threads", json_object_get(result, "pool"));
    print_numbers(out, "buffers", json_object_get(result, "buffers"));
    print_numbers(out, "log lines", json_object_get(result, "log"));
    fprintf(out, "mounts                 %15" PRIu64 "\n", number(result, "mounts"));
    fprintf(out, "unknown errors         %15" PRIu64 "\n", number(result, "unknown_errors"));
    fprintf(out, "disk errors            %15" PRIu64 "\n", number(result, "disk_errors"));
}

void
control_print_restarted(FILE *out, const json_t *result)
{
    fprintf(out, "process %" JSON_INTEGER_FORMAT " has taken over from %" JSON_INTEGER_FORMAT "\n",
            json_integer_value(json_object_get(result, "pid")), json_integer_value(json_object_get(result, "old_pid")));
}

void
control_print_settings(FILE *out, const json_t *result)
{
    const json_t *setting;
    size_t i;

    json_array_foreach(result, i, setting)
        fprintf(out, "%c %s = %s\n", json_is_true(json_object_get(setting, "live")) ? '*' : ' ', text(setting, "key"),
                text(setting, "value"));
}

/* The line of exportfs -v; it calls everybody "<world>". */
static void
print_client(FILE *out, const char *path, const char *client, const char *options)
{
    fprintf(out, "%-*s%s%s(%s)\n", PATH_COLUMNS, path, strlen(path) > PATH_COLUMNS ? "\n\t\t" : "\t",
            strcmp(client, "*") == 0 ? "<world>" : client, options);
}

void
control_print_exports(FILE *out, const json_t *result)
{
    const json_t *export, *client;
    size_t i, j;

    json_array_foreach(result, i, export)
        json_array_foreach(json_object_get(export, "clients"), j, client)
            print_client(out, text(export, "path"), text(client, "client"), text(client, "options"));
}

void
control_print_loaded(FILE *out, const json_t *result)
{
    fprintf(out, "%" PRIu64 " exports, %" PRIu64 " clients\n", number(result, "exports"), number(result, "clients"));
    if (*text(result, "warnings") != '\0')
        fprintf(out, "warning: %s\n", text(result, "warnings"));
}

/* Whether an option is among others, which stand between commas. */
static bool
has_option(const char *options, const char *option, size_t len)
{
    for (; *options != '\0'; options += strcspn(options, ","), options += *options == ',')
        if (strcspn(options, ",") == len && memcmp(options, option, len) == 0)
            return true;
    return false;
}

/* Those that the others do not have; "nothing" when there is none. */
static void
print_only(FILE *out, const char *options, const char *others)
{
    bool any = false;
    size_t len;

    for (; *options != '\0'; options += len + (options[len] == ',')) {
        len = strcspn(options, ",");
        if (has_option(others, options, len))
            continue;
        fprintf(out, "%s%.*s", any ? "," : "", (int)len, options);
        any = true;
    }
    if (!any)
        fprintf(out, "nothing");
}

static void
print_change(FILE *out, const char *path, const json_t *change)
{
    const char *old = text(change, "old"), *new = text(change, "new");

    if (strcmp(text(change, "change"), "added") == 0) {
        fprintf(out, "+ %s %s(%s)\n", path, text(change, "client"), new);
    } else if (strcmp(text(change, "change"), "removed") == 0) {
        fprintf(out, "- %s %s(%s)\n", path, text(change, "client"), old);
    } else {
        fprintf(out, "! %s %s: ", path, text(change, "client"));
        print_only(out, old, new);
        fprintf(out, " -> ");
        print_only(out, new, old);
        fprintf(out, "\n");
    }
}

static void
print_names(FILE *out, const json_t *names)
{
    const json_t *name;
    size_t i;

    json_array_foreach(names, i, name)
        fprintf(out, " %s", json_string_value(name));
}

/* The clients of an export that are tried in another order. */
static void
print_order(FILE *out, const char *path, const json_t *order)
{
    if (order == NULL)
        return;
    fprintf(out, "! %s order:", path);
    print_names(out, json_object_get(order, "old"));
    fprintf(out, " ->");
    print_names(out, json_object_get(order, "new"));
    fprintf(out, "\n");
}

void
control_print_lost(FILE *out, const json_t *result)
{
    if (number(result, "lost") > 0)
        fprintf(out, "%" PRIu64 " calls were lost\n", number(result, "lost"));
}

void
control_print_diff(FILE *out, const json_t *result)
{
    const json_t *changes = json_object_get(result, "changes"), *export, *client;
    size_t i, j;

    json_array_foreach(changes, i, export) {
        json_array_foreach(json_object_get(export, "clients"), j, client)
            print_change(out, text(export, "path"), client);
        print_order(out, text(export, "path"), json_object_get(export, "order"));
    }
    if (json_array_size(changes) == 0)
        fprintf(out, "nothing would change\n");
    if (*text(result, "warnings") != '\0')
        fprintf(out, "warning: %s\n", text(result, "warnings"));
}
