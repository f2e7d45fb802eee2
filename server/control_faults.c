/* server/control_faults.c - the commands that have a server misbehave: rules of faults, a crash, a pause. */
#include <errno.h>
#include <string.h>

#include "server/control_commands.h"
#include "server/faults.h"
#include "server/log.h"
#include "server/text.h"

#define SHOWN_MAX 64                    /* bytes of a wrong word that are shown */

int
control_fault_add(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    int id = server_fault_add(server, texts[0], error, error_size);

    if (id < 0)
        return id;
    *result = json_pack("{s:i}", "number", id);
    return 0;
}

int
control_fault_load(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    int count = server_fault_load(server, texts[0], error, error_size);

    if (count < 0)
        return count;
    *result = json_pack("{s:i}", "rules", count);
    return 0;
}

int
control_fault_list(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    struct fault_set *set;
    int err = server_fault_rules(server, &set, error, error_size);

    (void)texts;
    if (err < 0)
        return err;
    *result = json_array();
    for (size_t i = 0; i < set->count; i++)
        json_array_append_new(*result, json_pack("{s:i, s:I, s:I, s:o}", "number", (int)set->rules[i]->id,
                                                 "matched", (json_int_t)atomic_load(&set->rules[i]->matched),
                                                 "fired", (json_int_t)atomic_load(&set->rules[i]->fired),
                                                 "rule", control_text(set->rules[i]->text)));
    fault_set_put(set);
    return 0;
}

int
control_fault_clear(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    char shown[SHOWN_MAX];
    uint64_t id = 0;
    int err;

    if (texts[0] != NULL && (text_number(texts[0], &id) < 0 || id == 0 || id > INT32_MAX)) {
        snprintf(error, error_size, "%s is not the number of a rule; fault list tells them",
                 log_quote(shown, sizeof(shown), texts[0], strlen(texts[0])));
        return -EINVAL;
    }
    err = server_fault_clear(server, (uint32_t)id, error, error_size);
    if (err == 0)
        *result = json_object();
    return err;
}

int
control_crash(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    int err = server_crash(server, error, error_size);

    (void)texts;
    if (err == 0)
        *result = json_object();
    return err;
}

int
control_pause(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    int err = server_pause(server, true, error, error_size);

    (void)texts;
    if (err == 0)
        *result = json_object();
    return err;
}

int
control_resume(struct server *server, const char *const *texts, json_t **result, char *error, size_t error_size)
{
    int err = server_pause(server, false, error, error_size);

    (void)texts;
    if (err == 0)
        *result = json_object();
    return err;
}

void
control_print_fault(FILE *out, const json_t *result)
{
    fprintf(out, "%" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(result, "number")));
}

void
control_print_fault_load(FILE *out, const json_t *result)
{
    fprintf(out, "%" JSON_INTEGER_FORMAT " rules\n", json_integer_value(json_object_get(result, "rules")));
}

void
control_print_faults(FILE *out, const json_t *result)
{
    const json_t *rule;
    size_t i;

    if (json_array_size(result) > 0)
        fprintf(out, "%6s %10s %10s  %s\n", "number", "matched", "fired", "rule");
    json_array_foreach(result, i, rule)
        fprintf(out, "%6" JSON_INTEGER_FORMAT " %10" JSON_INTEGER_FORMAT " %10" JSON_INTEGER_FORMAT "  %s\n",
                json_integer_value(json_object_get(rule, "number")), json_integer_value(json_object_get(rule, "matched")),
                json_integer_value(json_object_get(rule, "fired")), json_string_value(json_object_get(rule, "rule")));
}
