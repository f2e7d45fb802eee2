/* server/fault_rule.c - see fault_rule.h: the tables, and what a rule does that fault_parse.c has read. */
#include "server/fault_rule.h"

#include <stdlib.h>
#include <string.h>

#include "server/fault_words.h"
#include "server/nfs3_call.h"
#include "server/nfsacl.h"
#include "server/text.h"
#include "xdr/mount3.h"

#define HELP_INDENT 30
#define HEAD_MAX 64
#define BILLION 1000000000u
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

#define NFSACL_FIRST 22
#define MOUNT_FIRST 25
#define BIT(proc) (UINT64_C(1) << (proc))
#define NFS(name) BIT(NFSPROC3_##name)
#define ALL (BIT(FAULT_PROCS) - 1)
#define HANDLED ((BIT(MOUNT_FIRST) - 1) & ~(NFS(NULL) | BIT(NFSACL_FIRST)))
#define MAKING (NFS(CREATE) | NFS(MKDIR) | NFS(SYMLINK) | NFS(MKNOD) | NFS(LINK))
#define WRITING (NFS(WRITE) | NFS(COMMIT))

static const char *const mount_names[] = { "NULL", "MNT", "DUMP", "UMNT", "UMNTALL", "EXPORT" };

_Static_assert(FAULT_PROCS == MOUNT_FIRST + sizeof(mount_names) / sizeof(mount_names[0]), "all have a number");

const struct fault_condition fault_conditions[] = {
    { "proc", "NAME[,NAME]...", fault_parse_proc,
      "Calls of these procedures of NFS, NFSACL and MOUNT, such as READ, GETACL and MNT. Without: of all that the action "
      "makes sense for." },
    { "client", "ADDRESS[/BITS]", fault_parse_client,
      "Calls from this IPv4 or IPv6 address, or from this network." },
    { "over", "tcp|udp", fault_parse_over, "Calls over this transport." },
    { "export", "PATH", fault_parse_export, "Calls about files of this export." },
    { "path", "PATH", fault_parse_path,
      "Calls about the file that has this path when the call comes, PATH beginning with the name of its export: by its "
      "handle, or by the directory's handle and its name, as LOOKUP and REMOVE do. Symbolic links are not followed. A "
      "space is written as \\040." },
    { "name", "PATTERN", fault_parse_name,
      "Calls that name something by a name that fits this pattern, as in *.tmp (the source of RENAME, the new name of "
      "LINK)." },
    { "handle", "HEX", fault_parse_handle, "Calls whose first argument is this handle, in hexadecimal digits." },
    { "nth", "N", fault_parse_nth,
      "The N-th call of those that fit all other conditions, and, with times, those behind it." },
    { "times", "N", fault_parse_times, "Not more than N calls. With nth and without times: 1." },
    { "probability", "P", fault_parse_probability, "A part of the calls, such as 0.05 or 5%." },
    { "seed", "N", fault_parse_seed,
      "Which part that is: with the same seed (default 0) the same sequence of calls has the same faults." },
};

const struct fault_deed fault_deeds[] = {
    { "delay", "TIME", FAULT_DELAY, FAULT_PLACE_BEGIN, FAULT_VALUE_TIME, ALL, .udp = true,
      .help = "Begin the call that much later: 500us, 20ms, 2s; one hour at most, and not longer than until the exports "
              "are read again." },
    { "error", "STATUS", FAULT_ERROR, FAULT_PLACE_STORE, FAULT_VALUE_STATUS, HANDLED, .udp = true,
      .help = "Do nothing and answer with this status of RFC 1813: NFS3ERR_IO, or IO." },
    { "stale", NULL, FAULT_STALE, FAULT_PLACE_STORE, FAULT_VALUE_NONE, HANDLED, .udp = true,
      .help = "The handle is stale: NFS3ERR_STALE, without any attributes." },
    { "short-read", "BYTES", FAULT_SHORT_READ, FAULT_PLACE_STORE, FAULT_VALUE_SIZE, NFS(READ), .udp = true,
      .help = "Read so many bytes at most, though there are more." },
    { "short-write", "BYTES", FAULT_SHORT_WRITE, FAULT_PLACE_STORE, FAULT_VALUE_SIZE, NFS(WRITE), .udp = true,
      .help = "Write so many bytes at most, and say so." },
    { "full", "BYTES", FAULT_FULL, FAULT_PLACE_STORE, FAULT_VALUE_SIZE, NFS(WRITE) | MAKING, .udp = true,
      .help = "The disk is full once so many bytes have been written: NFS3ERR_NOSPC for what would write more, and for "
              "what would make a name." },
    { "fail-flush", NULL, FAULT_FAIL_FLUSH, FAULT_PLACE_STORE, FAULT_VALUE_NONE, WRITING, .udp = true,
      .help = "COMMIT, or a WRITE that is not UNSTABLE, cannot flush: NFS3ERR_IO, and the write verifier is another one "
              "from then on. Nothing is flushed on exports with async, so nothing fails there." },
    { "verifier", NULL, FAULT_VERIFIER, FAULT_PLACE_VERIFIER, FAULT_VALUE_NONE, WRITING, .udp = true,
      .help = "The write verifier is another one from this call on, as after a restart; no data is lost." },
    { "drop-reply", NULL, FAULT_DROP_REPLY, FAULT_PLACE_REPLY, FAULT_VALUE_NONE, ALL, .udp = true,
      .help = "Do the call and send no reply." },
    { "tear", "BYTES", FAULT_TEAR, FAULT_PLACE_REPLY, FAULT_VALUE_SOME, ALL, .udp = true,
      .help = "End the reply after so many bytes, or in the middle: so short is its record or datagram." },
    { "duplicate", NULL, FAULT_DUPLICATE, FAULT_PLACE_REPLY, FAULT_VALUE_NONE, ALL, .udp = true,
      .help = "Send the reply twice." },
    { "reorder", NULL, FAULT_REORDER, FAULT_PLACE_REPLY, FAULT_VALUE_NONE, ALL, .udp = true,
      .help = "Send the reply after the next one to the same client, or a second later if there is none." },
    { "reset", "BYTES", FAULT_RESET, FAULT_PLACE_REPLY, FAULT_VALUE_SOME, ALL, .udp = false,
      .help = "Send so many bytes of the reply, or half of it, and reset the connection." },
    { "silence", NULL, FAULT_SILENCE, FAULT_PLACE_REPLY, FAULT_VALUE_NONE, ALL, .udp = true,
      .help = "Neither do the call nor answer it." },
};

const size_t fault_conditions_rows = sizeof(fault_conditions) / sizeof(fault_conditions[0]);
const size_t fault_deeds_rows = sizeof(fault_deeds) / sizeof(fault_deeds[0]);

int
fault_proc(uint32_t prog, uint32_t proc)
{
    if (prog == NFS_PROGRAM && proc < NFS3_PROCS)
        return (int)proc;
    if (prog == NFS_ACL_PROGRAM && nfsacl_proc(proc) != NULL)
        return NFSACL_FIRST + (int)proc;
    if (prog == MOUNT_PROGRAM && proc < sizeof(mount_names) / sizeof(mount_names[0]))
        return MOUNT_FIRST + (int)proc;
    return -1;
}

static const struct nfs3_proc *
row_of(int proc)
{
    if (proc >= MOUNT_FIRST)
        return NULL;
    return proc < NFSACL_FIRST ? nfs3_proc((uint32_t)proc) : nfsacl_proc((uint32_t)(proc - NFSACL_FIRST));
}

const char *
fault_proc_name(size_t proc)
{
    if (proc >= FAULT_PROCS)
        return NULL;
    return proc >= MOUNT_FIRST ? mount_names[proc - MOUNT_FIRST] : row_of((int)proc)->name;
}

bool
fault_proc_has_handle(int proc)
{
    return (HANDLED & BIT(proc)) != 0;
}

bool
fault_proc_has_name(int proc)
{
    const struct nfs3_proc *row = row_of(proc);

    return row != NULL && row->named;
}

void
fault_rule_ref(struct fault_rule *rule)
{
    atomic_fetch_add(&rule->refs, 1);
}

void
fault_rule_put(struct fault_rule *rule)
{
    if (rule == NULL || atomic_fetch_sub(&rule->refs, 1) != 1)
        return;
    free(rule->export);
    free(rule->path);
    free(rule->name);
    free(rule->text);
    free(rule);
}

/* The n-th number of a sequence that is chosen by a seed (splitmix64, Steele, Lea and Flood 2014). */
static uint64_t
draw(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + n * GOLDEN;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

bool
fault_rule_fires(struct fault_rule *rule)
{
    uint64_t n = atomic_fetch_add(&rule->matched, 1) + 1;
    uint64_t fired = atomic_load(&rule->fired);

    if (n < rule->nth || (rule->billionths < BILLION && draw(rule->seed, n) % BILLION >= rule->billionths))
        return false;
    do {
        if (rule->times > 0 && fired >= rule->times)
            return false;
    } while (!atomic_compare_exchange_weak(&rule->fired, &fired, fired + 1));
    return true;
}

/* "short-read=BYTES", "tear[=BYTES]" */
static const char *
format_head(const char *name, const char *argument, bool optional, char out[HEAD_MAX])
{
    snprintf(out, HEAD_MAX, argument == NULL ? "%s" : optional ? "%s[=%s]" : "%s=%s", name, argument);
    return out;
}

static void
print_row(FILE *out, const char *head, const char *help, bool roff)
{
    if (!roff) {
        text_print_help(out, head, HELP_INDENT, help);
        return;
    }
    fprintf(out, ".TP\n.B ");
    text_print_roff(out, head);
    fprintf(out, "\n");
    text_print_roff(out, help);
    fprintf(out, "\n");
}

static void
print_conditions(FILE *out, bool roff)
{
    char head[HEAD_MAX];

    for (size_t i = 0; i < fault_conditions_rows; i++)
        print_row(out, format_head(fault_conditions[i].name, fault_conditions[i].argument, false, head),
                  fault_conditions[i].help, roff);
}

static void
print_deeds(FILE *out, bool roff)
{
    char head[HEAD_MAX];

    for (size_t i = 0; i < fault_deeds_rows; i++)
        print_row(out, format_head(fault_deeds[i].name, fault_deeds[i].argument, fault_deeds[i].value == FAULT_VALUE_SOME,
                                   head),
                  fault_deeds[i].help, roff);
}

void
fault_rule_print_help(FILE *out)
{
    fprintf(out, "A rule of faults: [when CONDITION=VALUE...] do ACTION[=VALUE]\n\nConditions:\n");
    print_conditions(out, false);
    fprintf(out, "\nActions:\n");
    print_deeds(out, false);
}

void
fault_rule_print_roff(FILE *out)
{
    fprintf(out, ".SS Conditions\n");
    print_conditions(out, true);
    fprintf(out, ".SS Actions\n");
    print_deeds(out, true);
}
