/* tests/unit/test_fault_rules.c - rules of faults: how they are read, what is refused and why, and the set of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/fault_words.h"
#include "server/faults.h"
#include "server/nfs3_stats.h"
#include "server/nfs3_status.h"
#include "xdr/mount3.h"

#define ERROR_MAX 1024
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BIT(proc) (UINT64_C(1) << (proc))
#define ROUNDS 2000

static struct fault_rule *
must_parse(const char *text)
{
    struct fault_rule *rule;
    char error[ERROR_MAX];

    if (fault_rule_parse(text, &rule, error, sizeof(error)) < 0)
        fail_msg("%s: %s", text, error);
    return rule;
}

static void
what_is_left_out_is_any(void **state)
{
    struct fault_rule *rule = must_parse("do duplicate");

    (void)state;
    assert_true(rule->procs == BIT(FAULT_PROCS) - 1);
    assert_true(rule->tcp && rule->udp && !rule->has_client);
    assert_true(rule->export == NULL && rule->path == NULL && rule->name == NULL && rule->handle_len == 0);
    assert_true(rule->nth == 1 && rule->times == 0 && rule->billionths == 1000000000);
    assert_int_equal(rule->action, FAULT_DUPLICATE);
    assert_string_equal(rule->text, "do duplicate");
    fault_rule_put(rule);
}

static void
all_conditions_are_read(void **state)
{
    struct fault_rule *rule = must_parse(
        "  when proc=create,LOOKUP client=192.0.2.7/24 over=tcp export=memory:/x/ path=/x/a\\040b/c// name=*.tmp "
        "handle=00aAfF nth=3 times=5 probability=0.125 seed=9  do\terror=nfs3err_io ");
    const uint8_t handle[] = { 0x00, 0xaa, 0xff };

    (void)state;
    assert_true(rule->procs == (BIT(NFSPROC3_CREATE) | BIT(NFSPROC3_LOOKUP)));
    assert_true(rule->has_client && rule->client.prefix == 24 && rule->client.address.bytes[0] == 192);
    assert_true(rule->tcp && !rule->udp);
    assert_string_equal(rule->export, "/x");
    assert_string_equal(rule->path, "/x/a b/c");
    assert_string_equal(rule->name, "*.tmp");
    assert_int_equal(rule->handle_len, 3);
    assert_memory_equal(rule->handle, handle, 3);
    assert_true(rule->nth == 3 && rule->times == 5 && rule->billionths == 125000000 && rule->seed == 9);
    assert_true(rule->action == FAULT_ERROR && rule->value == NFS3ERR_IO);
    fault_rule_put(rule);
}

static void
all_actions_are_read(void **state)
{
    static const struct { const char *text; enum fault_action action; uint64_t value; } cases[] = {
        { "do delay=500us", FAULT_DELAY, 500000 }, { "do delay=20ms", FAULT_DELAY, 20000000 },
        { "do delay=3600s", FAULT_DELAY, UINT64_C(3600000000000) }, { "do error=JUKEBOX", FAULT_ERROR, NFS3ERR_JUKEBOX },
        { "do stale", FAULT_STALE, UINT64_MAX }, { "do short-read=0", FAULT_SHORT_READ, 0 },
        { "do short-write=4K", FAULT_SHORT_WRITE, 4096 }, { "do full=1G", FAULT_FULL, 1 << 30 },
        { "do fail-flush", FAULT_FAIL_FLUSH, UINT64_MAX }, { "do verifier", FAULT_VERIFIER, UINT64_MAX },
        { "do drop-reply", FAULT_DROP_REPLY, UINT64_MAX }, { "do tear", FAULT_TEAR, UINT64_MAX },
        { "do tear=4", FAULT_TEAR, 4 }, { "do duplicate", FAULT_DUPLICATE, UINT64_MAX },
        { "do reorder", FAULT_REORDER, UINT64_MAX }, { "do reset", FAULT_RESET, UINT64_MAX },
        { "do reset=10", FAULT_RESET, 10 }, { "do silence", FAULT_SILENCE, UINT64_MAX },
    };
    uint32_t seen = 0;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fault_rule *rule = must_parse(cases[i].text);

        assert_int_equal(rule->action, cases[i].action);
        assert_true(rule->value == cases[i].value);
        seen |= 1u << rule->action;
        fault_rule_put(rule);
    }
    assert_int_equal(seen, (1u << fault_deeds_rows) - 1);
}

static void
every_procedure_and_every_status_has_its_name(void **state)
{
    char text[128];
    struct fault_rule *rule;
    bool known;

    (void)state;
    for (int proc = 0; proc < FAULT_PROCS; proc++) {
        snprintf(text, sizeof(text), "when proc=%s do silence", fault_proc_name((size_t)proc));
        rule = must_parse(text);
        assert_true((rule->procs & BIT(proc)) != 0);
        fault_rule_put(rule);
    }
    assert_int_equal(fault_proc(NFS_PROGRAM, NFSPROC3_COMMIT), 21);
    assert_int_equal(fault_proc(NFS_PROGRAM, 22), -1);
    assert_int_equal(fault_proc(MOUNT_PROGRAM, MOUNTPROC3_EXPORT), FAULT_PROCS - 1);
    assert_int_equal(fault_proc(MOUNT_PROGRAM, 6), -1);
    assert_int_equal(fault_proc(100021, 0), -1);
    for (unsigned place = 1; place < NFS3_STATS_PLACES; place++) {
        if (nfs3_stats_status(place) == NULL)
            continue;
        snprintf(text, sizeof(text), "do error=%s", nfs3_stats_status(place));
        rule = must_parse(text);
        assert_int_equal(nfs3_status(nfs3_status_errno((nfsstat3)rule->value), true, &known), rule->value);
        fault_rule_put(rule);
    }
}

/* A rule, and what the error says. */
static const struct {
    const char *text, *error;
} wrong[] = {
    { "", "there is no \"do ACTION\" in it" },
    { "when", "there is no condition behind \"when\"" },
    { "when proc=READ", "there is no \"do ACTION\" in it" },
    { "do", "there is no action behind \"do\"" },
    { "READ fails", "column 1: a rule begins with \"when\" or \"do\", not with READ" },
    { "proc=READ do silence", "column 1: a rule begins with" },
    { "when pro=READ do silence", "column 6: unknown condition pro (did you mean proc?)" },
    { "when proc= do silence", "column 6: proc needs a value: proc=NAME[,NAME]..." },
    { "when proc do silence", "proc needs a value" },
    { "when proc=REED do silence", "unknown procedure REED (did you mean READ?)" },
    { "when proc=READ, do silence", "unknown procedure " },
    { "when proc=READ proc=WRITE do silence", "column 16: proc is there twice" },
    { "when delay=1s do silence", "delay is an action: \"do\" comes before it" },
    { "when client=here do silence", "here is neither an address nor a network such as 192.0.2.0/24" },
    { "when client=192.0.2.0/33 do silence", "neither an address nor a network" },
    { "when client=localhost do silence", "neither an address nor a network" },
    { "when client=*.example.org do silence", "neither an address nor a network" },
    { "when client=* do silence", "neither an address nor a network" },
    { "when over=sctp do silence", "sctp is neither tcp nor udp" },
    { "when path=x do silence", "x does not begin with a slash" },
    { "when path=/x/../y do silence", "/x/../y has an empty name" },
    { "when path=/x//y do silence", "has an empty name" },
    { "when export=x do silence", "x does not begin with a slash" },
    { "when name=a/b do silence", "is no pattern for names" },
    { "when handle=abc do silence", "abc is no handle of up to 64 bytes" },
    { "when handle=xy do silence", "xy is no handle" },
    { "when nth=0 do silence", "0 is no number from 1 to 9223372036854775807" },
    { "when nth=-1 do silence", "-1 is no number" },
    { "when times=0 do silence", "0 is no number from 1" },
    { "when times=x do silence", "x is no number" },
    { "when probability=0 do silence", "0 is no probability: more than 0 and up to 1, or up to 100%" },
    { "when probability=1.5 do silence", "1.5 is no probability" },
    { "when probability=101% do silence", "101% is no probability" },
    { "when probability=-0.5 do silence", "-0.5 is no probability" },
    { "when probability=0,5 do silence", "0,5 is no probability" },
    { "when probability=1.. do silence", "1.. is no probability" },
    { "when probability=% do silence", "% is no probability" },
    { "when seed=1 do silence", "seed says nothing without probability" },
    { "do sielnce", "column 4: unknown action sielnce (did you mean silence?)" },
    { "do silence stale", "column 12: a rule does one thing: what is stale for?" },
    { "do proc=READ", "proc is a condition: it goes before \"do\"" },
    { "do silence=1", "silence takes no value" },
    { "do delay", "delay needs a value: delay=TIME" },
    { "do delay=100", "100 is no time: a number and us, ms or s, one hour at most" },
    { "do delay=0s", "0s is no time" },
    { "do delay=3601s", "3601s is no time" },
    { "do delay=99999999999999999999s", "is no time" },
    { "do delay=-1s", "-1s is no time" },
    { "do error=EIO", "EIO is no error of RFC 1813, such as JUKEBOX or NFS3ERR_IO (did you mean IO?)" },
    { "do error=OK", "OK is no error of RFC 1813" },
    { "do error=NFS3_OK", "NFS3_OK is no error of RFC 1813" },
    { "do error=NFS3ERR_", "is no error of RFC 1813" },
    { "do error=", "is no error of RFC 1813" },
    { "do short-read=x", "x is no number of bytes, such as 512 or 64K, up to 4294967295" },
    { "do short-write=8G", "8G is no number of bytes" },
    { "when proc=GETATTR do short-write=1", "no call can match: short-write is for WRITE, not for GETATTR" },
    { "when proc=WRITE do short-read=1", "no call can match: short-read is for READ, not for WRITE" },
    { "when proc=READ do fail-flush", "no call can match: fail-flush is for WRITE, COMMIT, not for READ" },
    { "when proc=READ,GETATTR do verifier", "verifier is for WRITE, COMMIT, not for GETATTR, READ" },
    { "when proc=READ do full=1K", "no call can match: full is for" },
    { "when proc=MNT do error=IO", "no call can match: error is for" },
    { "when proc=NULL do stale", "no call can match: stale is for" },
    { "when proc=MNT path=/x do silence", "no call can match: path is for" },
    { "when proc=NULL export=/x do silence", "no call can match: export is for" },
    { "when proc=DUMP handle=00 do silence", "no call can match: handle is for" },
    { "when proc=READ name=x do silence", "no call can match: name is for" },
    { "when name=x do short-read=1", "no call can match: name is for" },
    { "when over=udp do reset", "no call can match: there is no reset over udp" },
    { "when export=/y path=/x/f do silence", "no call can match: the path is not in the export" },
    { "when proc=READ\ndo silence", "a rule is one line" },
};

static void
a_wrong_rule_is_refused_with_the_reason(void **state)
{
    struct fault_rule *rule;
    char error[ERROR_MAX];

    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        error[0] = '\0';
        if (fault_rule_parse(wrong[i].text, &rule, error, sizeof(error)) != -EINVAL)
            fail_msg("%s: taken", wrong[i].text);
        if (strstr(error, wrong[i].error) == NULL)
            fail_msg("%s: \"%s\" says nothing of \"%s\"", wrong[i].text, error, wrong[i].error);
    }
}

static void
a_rule_that_is_too_long_is_refused(void **state)
{
    char text[FAULT_RULE_MAX + 2], error[ERROR_MAX];
    struct fault_rule *rule;

    (void)state;
    memset(text, ' ', sizeof(text));
    memcpy(text, "do stale", 8);
    text[FAULT_RULE_MAX + 1] = '\0';
    assert_int_equal(fault_rule_parse(text, &rule, error, sizeof(error)), -EINVAL);
    text[FAULT_RULE_MAX] = '\0';
    fault_rule_put(must_parse(text));
}

static void
times_and_nth_say_which_of_the_calls_that_match(void **state)
{
    static const struct { const char *text; const char *fires; } cases[] = {
        { "do stale", "1111111" }, { "when nth=3 do stale", "0010000" }, { "when times=2 do stale", "1100000" },
        { "when nth=3 times=2 do stale", "0011000" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fault_rule *rule = must_parse(cases[i].text);

        for (const char *p = cases[i].fires; *p != '\0'; p++)
            assert_int_equal(fault_rule_fires(rule), *p == '1');
        assert_int_equal(rule->matched, strlen(cases[i].fires));
        fault_rule_put(rule);
    }
}

static void
a_probability_is_met_and_depends_on_the_seed_alone(void **state)
{
    struct fault_rule *one = must_parse("when probability=10% seed=1 do stale");
    struct fault_rule *again = must_parse("when probability=0.1 seed=1 do drop-reply");
    struct fault_rule *other = must_parse("when probability=10% seed=2 do stale");
    int fired = 0, differ = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        bool fires = fault_rule_fires(one);

        assert_int_equal(fault_rule_fires(again), fires);
        differ += fault_rule_fires(other) != fires;
        fired += fires;
    }
    assert_in_range(fired, 9500, 10500);
    assert_true(differ > 10000);
    fault_rule_put(one);
    fault_rule_put(again);
    fault_rule_put(other);
}

static struct faults *
new_faults(void)
{
    struct faults *faults;

    assert_int_equal(faults_new(&faults), 0);
    return faults;
}

static int
must_add(struct faults *faults, const char *text)
{
    char error[ERROR_MAX];
    int id = faults_add(faults, text, error, sizeof(error));

    if (id <= 0)
        fail_msg("%s: %s", text, error);
    return id;
}

static size_t
count_rules(struct faults *faults)
{
    struct fault_set *set = faults_get(faults);
    size_t count = set->count;

    fault_set_put(set);
    return count;
}

static void
rules_are_added_and_cleared_by_their_numbers(void **state)
{
    struct faults *faults = new_faults();
    int first = must_add(faults, "do stale"), second = must_add(faults, "do silence");
    char error[ERROR_MAX];
    struct fault_set *old = faults_get(faults);

    (void)state;
    assert_int_equal(faults_clear(faults, (uint32_t)first, error, sizeof(error)), 0);
    assert_int_equal(faults_clear(faults, (uint32_t)first, error, sizeof(error)), -ENOENT);
    assert_non_null(strstr(error, "there is no fault rule 1"));
    assert_int_equal(count_rules(faults), 1);
    assert_int_equal(old->count, 2);                     /* who looks at a set has it for himself */
    assert_string_equal(old->rules[0]->text, "do stale");
    fault_set_put(old);
    assert_true(must_add(faults, "do stale") > second);
    assert_int_equal(faults_clear(faults, 0, error, sizeof(error)), 0);
    assert_int_equal(count_rules(faults), 0);
    faults_free(faults);
}

static void
there_are_not_more_rules_than_fit(void **state)
{
    struct faults *faults = new_faults();
    char error[ERROR_MAX];

    (void)state;
    for (int i = 0; i < FAULT_RULES_MAX; i++)
        must_add(faults, "do stale");
    assert_int_equal(faults_add(faults, "do stale", error, sizeof(error)), -ENOSPC);
    assert_non_null(strstr(error, "there can be 64 rules at once"));
    faults_free(faults);
}

static void
write_file(char path[32], const char *text)
{
    int fd;

    strcpy(path, "/tmp/ringnfs-faults.XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void
a_file_is_taken_whole_or_not_at_all(void **state)
{
    struct faults *faults = new_faults();
    char path[32], error[ERROR_MAX], many[FAULT_RULES_MAX * 10 + 100] = "";

    (void)state;
    write_file(path, "# two rules\n\n  do stale\nwhen proc=READ do silence");
    assert_int_equal(faults_load(faults, path, error, sizeof(error)), 2);
    unlink(path);
    assert_int_equal(faults_load(faults, path, error, sizeof(error)), -ENOENT);
    assert_non_null(strstr(error, path));
    write_file(path, "do stale\ndo nothing\n");
    assert_int_equal(faults_load(faults, path, error, sizeof(error)), -EINVAL);
    assert_non_null(strstr(error, ", line 2: column 4: unknown action nothing"));
    unlink(path);
    for (int i = 0; i <= FAULT_RULES_MAX; i++)
        strcat(many, "do stale\n");
    write_file(path, many);
    assert_int_equal(faults_load(faults, path, error, sizeof(error)), -ENOSPC);
    unlink(path);
    assert_int_equal(faults_load(faults, "/tmp", error, sizeof(error)), -EISDIR);
    assert_int_equal(count_rules(faults), 2);
    faults_free(faults);
}

static int
refuse_stale(void *context, const struct fault_rule *rule, char *error, size_t error_size)
{
    (void)context;
    snprintf(error, error_size, "never");
    return rule->action == FAULT_STALE ? -EINVAL : 0;
}

static void
a_server_is_asked_about_rules_and_armed_while_there_are_any(void **state)
{
    struct faults *faults = new_faults();
    char error[ERROR_MAX];
    _Atomic bool armed = false;

    (void)state;
    must_add(faults, "do stale");
    assert_int_equal(faults_attach(faults, &armed, refuse_stale, NULL, error, sizeof(error)), -EINVAL);
    assert_string_equal(error, "fault rule \"do stale\": never");
    assert_false(armed);
    faults_clear(faults, 0, error, sizeof(error));
    assert_int_equal(faults_attach(faults, &armed, refuse_stale, NULL, error, sizeof(error)), 0);
    assert_false(armed);
    assert_int_equal(faults_add(faults, "do stale", error, sizeof(error)), -EINVAL);
    assert_false(armed);
    must_add(faults, "do silence");
    assert_true(armed);
    faults_clear(faults, 0, error, sizeof(error));
    assert_false(armed);
    faults_detach(faults);
    must_add(faults, "do stale");
    assert_false(armed);
    faults_free(faults);
}

static void *
look(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct fault_set *set = faults_get(arg);

        for (size_t at = 0; at < set->count; at++)
            fault_rule_fires(set->rules[at]);
        fault_set_put(set);
    }
    return NULL;
}

static void
rules_change_while_others_look_at_them(void **state)
{
    struct faults *faults = new_faults();
    char error[ERROR_MAX];
    pthread_t threads[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look, faults), 0);
    for (int i = 0; i < ROUNDS; i++) {
        int id = must_add(faults, "do stale");

        must_add(faults, "when probability=50% do silence");
        assert_int_equal(faults_clear(faults, i % 3 == 0 ? 0 : (uint32_t)id, error, sizeof(error)), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    faults_free(faults);
}

static void
the_help_names_all_there_is(void **state)
{
    char *help, *roff;
    size_t size;
    FILE *out = open_memstream(&help, &size);

    (void)state;
    fault_rule_print_help(out);
    fclose(out);
    out = open_memstream(&roff, &size);
    fault_rule_print_roff(out);
    fclose(out);
    for (size_t i = 0; i < fault_conditions_rows; i++)
        assert_true(strstr(help, fault_conditions[i].name) != NULL && strstr(roff, fault_conditions[i].name) != NULL);
    for (size_t i = 0; i < fault_deeds_rows; i++)
        assert_non_null(strstr(help, fault_deeds[i].name));
    free(help);
    free(roff);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_out_is_any),
        cmocka_unit_test(all_conditions_are_read),
        cmocka_unit_test(all_actions_are_read),
        cmocka_unit_test(every_procedure_and_every_status_has_its_name),
        cmocka_unit_test(a_wrong_rule_is_refused_with_the_reason),
        cmocka_unit_test(a_rule_that_is_too_long_is_refused),
        cmocka_unit_test(times_and_nth_say_which_of_the_calls_that_match),
        cmocka_unit_test(a_probability_is_met_and_depends_on_the_seed_alone),
        cmocka_unit_test(rules_are_added_and_cleared_by_their_numbers),
        cmocka_unit_test(there_are_not_more_rules_than_fit),
        cmocka_unit_test(a_file_is_taken_whole_or_not_at_all),
        cmocka_unit_test(a_server_is_asked_about_rules_and_armed_while_there_are_any),
        cmocka_unit_test(rules_change_while_others_look_at_them),
        cmocka_unit_test(the_help_names_all_there_is),
    };

    return cmocka_run_group_tests_name("fault rules", tests, NULL, NULL);
}
