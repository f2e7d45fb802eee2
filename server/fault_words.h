/* server/fault_words.h - the tables of conditions and actions; between fault_rule.c and fault_parse.c. */
#ifndef RINGNFS_SERVER_FAULT_WORDS_H
#define RINGNFS_SERVER_FAULT_WORDS_H

#include "server/fault_rule.h"

#define FAULT_PROCS 31                  /* of NFS, NFSACL and MOUNT, in this order */

/* A condition's value into the rule. Returns 0, -ENOMEM, or -EINVAL with what is wrong. */
typedef int fault_parse_value(struct fault_rule *rule, const char *value, char *error, size_t error_size);

struct fault_condition {
    const char *name;
    const char *argument;               /* for people */
    fault_parse_value *parse;
    const char *help;
};

enum fault_value {
    FAULT_VALUE_NONE, FAULT_VALUE_TIME, FAULT_VALUE_STATUS, FAULT_VALUE_SIZE,
    FAULT_VALUE_SOME                    /* bytes; without: half of what there is */
};

struct fault_deed {
    const char *name;
    const char *argument;               /* NULL: there is none */
    enum fault_action action;
    enum fault_place place;
    enum fault_value value;
    uint64_t procs;                     /* that it makes sense for */
    bool udp;                           /* it makes sense over UDP, too */
    const char *help;
};

extern const struct fault_condition fault_conditions[];
extern const struct fault_deed fault_deeds[];
extern const size_t fault_conditions_rows, fault_deeds_rows;

/* The name of the i-th procedure; NULL ends them. Those of NULL are the same. */
const char *fault_proc_name(size_t i);

fault_parse_value fault_parse_proc, fault_parse_client, fault_parse_over, fault_parse_export, fault_parse_path,
    fault_parse_name, fault_parse_handle, fault_parse_nth, fault_parse_times, fault_parse_probability, fault_parse_seed;

#endif
