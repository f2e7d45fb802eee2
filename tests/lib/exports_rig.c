/* tests/lib/exports_rig.c - see exports_rig.h. */
#include "tests/lib/exports_rig.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/ringnfs-exports.XXXXXX";
static struct settings settings;

int
exp_set_up(void **state)
{
    (void)state;
    settings_init(&settings);
    return mkdtemp(directory) == NULL || chdir(directory) < 0 ? -1 : 0;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

int
exp_tear_down(void **state)
{
    (void)state;
    settings_fini(&settings);
    return chdir("/") < 0 || nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0 ? -1 : 0;
}

void
exp_write_file(const char *name, const void *data, size_t len)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

int
exp_load_from(const struct exports_source *source, struct exports *old, struct exports **set, char *error)
{
    *set = NULL;
    return exports_load(source, &settings, old, set, error, EXP_ERROR_MAX);
}

int
exp_load_bytes(const void *text, size_t len, struct exports *old, struct exports **set, char *error)
{
    static const char *const files[] = { "exports" };
    const struct exports_source source = { .files = files, .nfiles = 1 };

    exp_write_file(files[0], text, len);
    return exp_load_from(&source, old, set, error);
}

int
exp_load(const char *text, struct exports *old, struct exports **set, char *error)
{
    return exp_load_bytes(text, strlen(text), old, set, error);
}

struct exports *
exp_must_load(const char *text, struct exports *old)
{
    char error[EXP_ERROR_MAX];
    struct exports *set;

    if (exp_load(text, old, &set, error) != 0)
        fail_msg("%s: %s", text, error);
    return set;
}

static void
say(char *out, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, EXP_ERROR_MAX - used, format, args);
    va_end(args);
}

static void
say_client(char *out, const struct export_client *client)
{
    const struct export_rights *rights = &client->rights;
    unsigned i;

    say(out, "%s %s", client->text, rights->usual.read_only ? "ro" : "rw");
    say(out, "%s%s%s", rights->async ? " async" : "", rights->secure ? "" : " insecure",
        rights->wdelay ? "" : " no_wdelay");
    say(out, "%s%s%s", rights->usual.root_squash ? "" : " no_root_squash", rights->usual.all_squash ? " all_squash" : "",
        rights->subtree_check ? " subtree_check" : "");
    for (i = 0; i < rights->nsec; i++)
        say(out, " %u:%s%s%s", rights->sec[i].flavor, rights->sec[i].read_only ? "ro" : "rw",
            rights->sec[i].root_squash ? "" : ":no_root_squash", rights->sec[i].all_squash ? ":all_squash" : "");
    if (rights->anon_uid != 65534)
        say(out, " anonuid=%u", rights->anon_uid);
    if (rights->anon_gid != 65534)
        say(out, " anongid=%u", rights->anon_gid);
    if (rights->has_fsid)
        say(out, " fsid=%llx:%llx", (unsigned long long)rights->fsid[0], (unsigned long long)rights->fsid[1]);
    if (rights->dir != NULL)
        say(out, " path=%s", rights->dir);
    say(out, "%s%s%s%s%s", rights->manage_gids ? " manage_gids" : "", rights->readdirplus ? "" : " nordirplus",
        rights->acl ? "" : " no_acl", rights->noatime ? " noatime" : "", rights->nodiratime ? " nodiratime" : "");
    if (rights->mount_point != NULL)
        say(out, " mountpoint=%s", rights->mount_point);
    if (rights->rtpref != 0 || rights->wtpref != 0)
        say(out, " rtpref=%u wtpref=%u", rights->rtpref, rights->wtpref);
    if (rights->io != STORE_IO_AUTO)
        say(out, " io=%d", rights->io);
    if (rights->readahead != 0)
        say(out, " readahead=%u", rights->readahead);
    if (rights->max_rate != 0 || rights->max_iops != 0)
        say(out, " max_rate=%llu max_iops=%u", (unsigned long long)rights->max_rate, rights->max_iops);
    if (rights->rtmax != 0 || rights->wtmax != 0 || rights->dtpref != 0)
        say(out, " rtmax=%u wtmax=%u dtpref=%u", rights->rtmax, rights->wtmax, rights->dtpref);
}

void
exp_say(char *out, const struct exports *set)
{
    size_t i, j;

    out[0] = '\0';
    for (i = 0; i < set->count; i++) {
        say(out, "%s%s:", i > 0 ? "; " : "", set->list[i].path);
        for (j = 0; j < set->list[i].nclients; j++) {
            say(out, "%s", j > 0 ? ", " : " ");
            say_client(out, &set->list[i].clients[j]);
        }
    }
}

static void
check_row(const struct exp_row *row)
{
    char error[EXP_ERROR_MAX], got[EXP_ERROR_MAX + 1];
    struct exports *set;
    int err = exp_load(row->text, NULL, &set, error);

    if (err < 0)
        snprintf(got, sizeof(got), "%s", error);
    else if (row->want[0] == '!')
        snprintf(got, sizeof(got), "!%s", error);
    else
        exp_say(got, set);
    exports_put(set);
    if (strcmp(got, row->want) != 0)
        fail_msg("%s\n   gives %s\n   not   %s", row->text, got, row->want);
}

void
exp_check_rows(const struct exp_row *rows, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        check_row(&rows[i]);
}
