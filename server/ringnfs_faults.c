/* server/ringnfs_faults.c - the embedded server's rules of faults, crash and pause; see ringnfs.h. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "server/faults.h"
#include "server/ringnfs_private.h"

int
ringnfs_fault_add(struct ringnfs *rig, const char *rule)
{
    int err = embed_check_unstopped(rig);

    if (err == 0)
        err = embed_check_text(rig, rule, "the rule");
    if (err < 0)
        return err;
    if (rig->server != NULL)
        return server_fault_add(rig->server, rule, rig->error, sizeof(rig->error));
    return faults_add(rig->faults, rule, rig->error, sizeof(rig->error));
}

int
ringnfs_fault_load(struct ringnfs *rig, const char *file)
{
    int err = embed_check_unstopped(rig);

    if (err == 0)
        err = embed_check_text(rig, file, "the file's name");
    if (err < 0)
        return err;
    if (rig->server != NULL)
        return server_fault_load(rig->server, file, rig->error, sizeof(rig->error));
    return faults_load(rig->faults, file, rig->error, sizeof(rig->error));
}

int
ringnfs_fault_clear(struct ringnfs *rig, int rule)
{
    int err = embed_check_unstopped(rig);

    if (err < 0)
        return err;
    if (rule < 0)
        return embed_fail(rig, -EINVAL, "%d is not the number of a rule, nor 0 for all", rule);
    return faults_clear(rig->faults, (uint32_t)rule, rig->error, sizeof(rig->error));
}

long
ringnfs_fault_fired(struct ringnfs *rig, int rule)
{
    long fired = -ENOENT;
    struct fault_set *set;
    int err = embed_check_unstopped(rig);

    if (err < 0)
        return err;
    set = faults_get(rig->faults);
    for (size_t i = 0; i < set->count; i++)
        if (rule > 0 && set->rules[i]->id == (uint32_t)rule)
            fired = (long)MIN(atomic_load(&set->rules[i]->fired), (uint64_t)LONG_MAX);
    fault_set_put(set);
    return fired < 0 ? embed_fail(rig, -ENOENT, "there is no fault rule %d", rule) : fired;
}

int
ringnfs_fault_list(struct ringnfs *rig, char **out)
{
    int err = embed_check_unstopped(rig);
    struct fault_set *set;
    size_t size;
    FILE *text;

    if (out != NULL)
        *out = NULL;
    if (err < 0)
        return err;
    if (out == NULL)
        return embed_fail(rig, -EINVAL, "there is no place for the text (NULL)");
    text = open_memstream(out, &size);
    if (text == NULL)
        return embed_fail(rig, -ENOMEM, "out of memory");
    set = faults_get(rig->faults);
    for (size_t i = 0; i < set->count; i++)
        fprintf(text, "%" PRIu32 " %" PRIu64 " %" PRIu64 " %s\n", set->rules[i]->id, atomic_load(&set->rules[i]->matched),
                atomic_load(&set->rules[i]->fired), set->rules[i]->text);
    fault_set_put(set);
    if (fclose(text) == 0)
        return 0;
    free(*out);
    *out = NULL;
    return embed_fail(rig, -ENOMEM, "out of memory");
}

int
ringnfs_crash(struct ringnfs *rig)
{
    int err = embed_check_running(rig);

    return err < 0 ? err : server_crash(rig->server, rig->error, sizeof(rig->error));
}

int
ringnfs_pause(struct ringnfs *rig)
{
    int err = embed_check_running(rig);

    return err < 0 ? err : server_pause(rig->server, true, rig->error, sizeof(rig->error));
}

int
ringnfs_resume(struct ringnfs *rig)
{
    int err = embed_check_running(rig);

    return err < 0 ? err : server_pause(rig->server, false, rig->error, sizeof(rig->error));
}
