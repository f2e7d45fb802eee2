/* server/faults.c - see faults.h. */
#include "server/faults.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MAX 1024                 /* bytes of an error that a file is put in front of */

struct faults {
    pthread_mutex_t lock;               /* for all of it */
    struct fault_set *set;              /* a reference */
    uint32_t last_id;
    _Atomic bool *armed;                /* NULL: no server uses it */
    int (*check)(void *context, const struct fault_rule *rule, char *error, size_t error_size);
    void *context;
};

/* A set with room for so many rules. */
static struct fault_set *
set_new(size_t count)
{
    struct fault_set *set = calloc(1, sizeof(*set) + count * sizeof(set->rules[0]));

    if (set != NULL)
        atomic_init(&set->refs, 1);
    return set;
}

void
fault_set_put(struct fault_set *set)
{
    if (set == NULL || atomic_fetch_sub(&set->refs, 1) != 1)
        return;
    for (size_t i = 0; i < set->count; i++)
        fault_rule_put(set->rules[i]);
    free(set);
}

static void
append(struct fault_set *set, struct fault_rule *rule)
{
    fault_rule_ref(rule);
    set->rules[set->count++] = rule;
}

/* Use another set, whose reference is taken over. */
static void
replace(struct faults *faults, struct fault_set *set)
{
    struct fault_set *old = faults->set;

    faults->set = set;
    if (faults->armed != NULL)
        atomic_store(faults->armed, set->count > 0);
    fault_set_put(old);
}

static int
no_memory(char *error, size_t error_size)
{
    snprintf(error, error_size, "out of memory");
    return -ENOMEM;
}

int
faults_new(struct faults **out)
{
    struct faults *faults = calloc(1, sizeof(*faults));

    if (faults == NULL)
        return -ENOMEM;
    faults->set = set_new(0);
    if (faults->set == NULL) {
        free(faults);
        return -ENOMEM;
    }
    pthread_mutex_init(&faults->lock, NULL);
    *out = faults;
    return 0;
}

void
faults_free(struct faults *faults)
{
    if (faults == NULL)
        return;
    fault_set_put(faults->set);
    pthread_mutex_destroy(&faults->lock);
    free(faults);
}

int
faults_attach(struct faults *faults, _Atomic bool *armed,
              int (*check)(void *context, const struct fault_rule *rule, char *error, size_t error_size),
              void *context, char *error, size_t error_size)
{
    char reason[REASON_MAX];
    int err = 0;

    pthread_mutex_lock(&faults->lock);
    for (size_t i = 0; i < faults->set->count && err == 0; i++) {
        err = check(context, faults->set->rules[i], reason, sizeof(reason));
        if (err < 0)
            snprintf(error, error_size, "fault rule \"%s\": %s", faults->set->rules[i]->text, reason);
    }
    if (err == 0) {
        faults->armed = armed;
        faults->check = check;
        faults->context = context;
        atomic_store(armed, faults->set->count > 0);
    }
    pthread_mutex_unlock(&faults->lock);
    return err;
}

void
faults_detach(struct faults *faults)
{
    pthread_mutex_lock(&faults->lock);
    faults->armed = NULL;
    faults->check = NULL;
    pthread_mutex_unlock(&faults->lock);
}

/* Read a rule, and ask the server about it. */
static int
read_rule(const struct faults *faults, const char *text, struct fault_rule **rule, char *error, size_t error_size)
{
    int err = fault_rule_parse(text, rule, error, error_size);

    if (err < 0 || faults->check == NULL)
        return err;
    err = faults->check(faults->context, *rule, error, error_size);
    if (err < 0)
        fault_rule_put(*rule);
    return err;
}

/* Add the rules of another set. Returns 0 or -errno with error. */
static int
add_rules(struct faults *faults, struct fault_set *more, char *error, size_t error_size)
{
    struct fault_set *set;

    if (faults->set->count + more->count > FAULT_RULES_MAX) {
        snprintf(error, error_size, "there can be %d rules at once, and there are %zu: clear some", FAULT_RULES_MAX,
                 faults->set->count);
        return -ENOSPC;
    }
    set = set_new(faults->set->count + more->count);
    if (set == NULL)
        return no_memory(error, error_size);
    for (size_t i = 0; i < faults->set->count; i++)
        append(set, faults->set->rules[i]);
    for (size_t i = 0; i < more->count; i++) {
        more->rules[i]->id = ++faults->last_id;
        append(set, more->rules[i]);
    }
    replace(faults, set);
    return 0;
}

int
faults_add(struct faults *faults, const char *text, char *error, size_t error_size)
{
    struct fault_set *one = set_new(1);
    int err;

    if (one == NULL)
        return no_memory(error, error_size);
    pthread_mutex_lock(&faults->lock);
    err = read_rule(faults, text, &one->rules[0], error, error_size);
    if (err == 0) {
        one->count = 1;
        err = add_rules(faults, one, error, error_size);
    }
    if (err == 0)
        err = (int)faults->last_id;
    pthread_mutex_unlock(&faults->lock);
    fault_set_put(one);
    return err;
}

/* The rules of a file that is open. */
static int
read_file(const struct faults *faults, FILE *in, const char *file, struct fault_set *set, char *error, size_t error_size)
{
    char line[FAULT_RULE_MAX + 3], reason[REASON_MAX];
    unsigned number = 0;
    int err = 0;

    while (err == 0 && fgets(line, sizeof(line), in) != NULL) {
        size_t len = strlen(line), blank = strspn(line, " \t\r\n");

        number++;
        if (len > 0 && line[len - 1] == '\n')
            line[--len] = '\0';
        if (line[blank] == '\0' || line[blank] == '#')
            continue;
        if (set->count == FAULT_RULES_MAX) {
            snprintf(error, error_size, "%s, line %u: there can be %d rules at once", file, number, FAULT_RULES_MAX);
            return -ENOSPC;
        }
        err = read_rule(faults, line, &set->rules[set->count], reason, sizeof(reason));
        if (err == 0)
            set->count++;
        else
            snprintf(error, error_size, "%s, line %u: %s", file, number, reason);
    }
    if (err == 0 && ferror(in)) {
        err = -errno;
        snprintf(error, error_size, "%s: %s", file, strerror(errno));
    }
    return err;
}

int
faults_load(struct faults *faults, const char *file, char *error, size_t error_size)
{
    struct fault_set *set = set_new(FAULT_RULES_MAX);
    FILE *in = set != NULL ? fopen(file, "re") : NULL;
    int err = 0;

    if (set == NULL)
        return no_memory(error, error_size);
    if (in == NULL) {
        err = -errno;
        snprintf(error, error_size, "%s: %s", file, strerror(errno));
        fault_set_put(set);
        return err;
    }
    pthread_mutex_lock(&faults->lock);
    err = read_file(faults, in, file, set, error, error_size);
    if (err == 0)
        err = add_rules(faults, set, error, error_size);
    if (err == 0)
        err = (int)set->count;
    pthread_mutex_unlock(&faults->lock);
    fclose(in);
    fault_set_put(set);
    return err;
}

/* With the lock held. */
static int
clear(struct faults *faults, uint32_t id, char *error, size_t error_size)
{
    const struct fault_set *old = faults->set;
    struct fault_set *set = set_new(old->count);

    if (set == NULL)
        return no_memory(error, error_size);
    for (size_t i = 0; i < old->count; i++)
        if (id != 0 && old->rules[i]->id != id)
            append(set, old->rules[i]);
    if (id != 0 && set->count == old->count) {
        fault_set_put(set);
        snprintf(error, error_size, "there is no fault rule %u", id);
        return -ENOENT;
    }
    replace(faults, set);
    return 0;
}

int
faults_clear(struct faults *faults, uint32_t id, char *error, size_t error_size)
{
    int err;

    pthread_mutex_lock(&faults->lock);
    err = clear(faults, id, error, error_size);
    pthread_mutex_unlock(&faults->lock);
    return err;
}

struct fault_set *
faults_get(struct faults *faults)
{
    struct fault_set *set;

    pthread_mutex_lock(&faults->lock);
    set = faults->set;
    atomic_fetch_add(&set->refs, 1);
    pthread_mutex_unlock(&faults->lock);
    return set;
}
