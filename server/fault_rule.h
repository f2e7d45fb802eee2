/*
 * server/fault_rule.h - one rule of faults: which calls go wrong, and how. ringnfs-faults(5) tells how it is written.
 *
 *     [when CONDITION=VALUE...] do ACTION[=VALUE]
 *
 * Conditions and actions are tables, which feed the parser, its error lines, --help-faults and the manual page.
 */
#ifndef RINGNFS_SERVER_FAULT_RULE_H
#define RINGNFS_SERVER_FAULT_RULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "rpc/call.h"
#include "server/exports.h"
#include "storage/fh.h"

#define FAULT_RULE_MAX 1024             /* bytes of a rule's text */
#define FAULT_DELAY_MAX_S 3600

enum fault_action {
    FAULT_DELAY, FAULT_ERROR, FAULT_STALE, FAULT_SHORT_READ, FAULT_SHORT_WRITE, FAULT_FULL, FAULT_FAIL_FLUSH,
    FAULT_VERIFIER, FAULT_DROP_REPLY, FAULT_TEAR, FAULT_DUPLICATE, FAULT_REORDER, FAULT_RESET, FAULT_SILENCE
};

/* What a rule does shows in one of these places; of the rules that fire for a call, the first has it. */
enum fault_place { FAULT_PLACE_BEGIN, FAULT_PLACE_STORE, FAULT_PLACE_VERIFIER, FAULT_PLACE_REPLY, FAULT_PLACES };

struct fault_rule {
    /* when */
    uint64_t procs;                     /* bits by fault_proc() */
    bool tcp, udp;                      /* over which calls may come */
    bool has_client;
    struct export_client client;        /* a network */
    char *export;                       /* its name; NULL: any, like the rest */
    char *path;                         /* in the file system of exports, without a slash at the end */
    char *name;                         /* a pattern */
    uint8_t handle[FH_MAX];
    uint32_t handle_len;                /* 0: any */
    uint64_t nth;                       /* the first that fires; 1: all may */
    uint64_t times;                     /* that fire at most; 0: any number */
    uint32_t billionths;                /* of the calls that fire */
    uint64_t seed;

    /* do */
    enum fault_action action;
    enum fault_place place;
    uint64_t value;                     /* ns, bytes, or an nfsstat3 */

    char *text;                         /* as it was given */
    uint32_t id;
    _Atomic uint64_t matched, fired;
    _Atomic uint64_t room;              /* FAULT_FULL: bytes left */
    _Atomic uint32_t refs;
};

/* The number of a procedure among all that there are; -1: it is none of ours. */
int fault_proc(uint32_t prog, uint32_t proc);

/* Whether the arguments of a procedure begin with a handle, and whether a name comes behind that or behind a second one. */
bool fault_proc_has_handle(int proc);
bool fault_proc_has_name(int proc);

/*
 * Read a rule. Returns 0 and a rule with one reference, -EINVAL with error (one line: the column, what was read, what
 * would be right) for a mistake and for a rule that no call can match, or -ENOMEM with error. Any thread, like all here.
 */
int fault_rule_parse(const char *text, struct fault_rule **rule, char *error, size_t error_size);

void fault_rule_ref(struct fault_rule *rule);
/* The last reference frees it. NULL is fine. */
void fault_rule_put(struct fault_rule *rule);

/*
 * A call has matched: count it, and say whether the rule fires for it. That depends on nothing but the calls that have
 * matched before.
 */
bool fault_rule_fires(struct fault_rule *rule);

/* Print the tables, for people and as roff. */
void fault_rule_print_help(FILE *out);
void fault_rule_print_roff(FILE *out);

#endif
