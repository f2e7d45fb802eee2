/* tests/unit/test_options.c - the daemon's command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/options.h"

#define ERROR_MAX 512
#define WORDS_MAX 32
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Parse words; the list ends with NULL. */
static int
parse(struct options *options, const char *const *words, char *error)
{
    char *argv[WORDS_MAX] = { "ringnfsd" };
    int argc;

    for (argc = 1; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1];
    error[0] = '\0';
    return options_parse(options, argc, argv, error, ERROR_MAX);
}

static void
must_parse(struct options *options, const char *const *words)
{
    char error[ERROR_MAX];

    if (parse(options, words, error) != 0)
        fail_msg("%s", error);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
all_options_are_taken(void **state)
{
    struct options options;
    const struct sockaddr_in *in;
    const struct sockaddr_in6 *in6;
    char text[INET6_ADDRSTRLEN];

    (void)state;
    must_parse(&options, WORDS("-e", "/a *", "--export=/b *(rw)", "-E", "/one", "--exports", "/two", "-p", "0", "-m",
                               "7", "-a", "127.0.0.1", "--address", "::1", "--rpcbind", "off", "--threads=3", "--set",
                               "rtmax=64K", "--ready-fd", "2", "--print-ports", "-f"));
    assert_int_equal(options.action, ACTION_SERVE);
    assert_int_equal(options.nlines, 2);
    assert_string_equal(options.lines[0], "/a *");
    assert_string_equal(options.lines[1], "/b *(rw)");
    assert_int_equal(options.nfiles, 2);
    assert_string_equal(options.files[1], "/two");
    assert_int_equal(options.settings.port, 0);
    assert_int_equal(options.settings.mount_port, 7);
    assert_int_equal(options.settings.rpcbind, RPCBIND_OFF);
    assert_int_equal(options.settings.threads, 3);
    assert_int_equal(options.settings.rtmax, 65536);
    assert_int_equal(options.naddresses, 2);
    in = (const struct sockaddr_in *)&options.addresses[0];
    in6 = (const struct sockaddr_in6 *)&options.addresses[1];
    assert_string_equal(inet_ntop(in->sin_family, &in->sin_addr, text, sizeof(text)), "127.0.0.1");
    assert_string_equal(inet_ntop(in6->sin6_family, &in6->sin6_addr, text, sizeof(text)), "::1");
    assert_int_equal(options.ready_fd, 2);
    assert_true(options.print_ports);
    assert_true(options.foreground);
    options_fini(&options);
    fcntl(2, F_SETFD, 0);
}

static void
what_is_not_said_has_its_default(void **state)
{
    struct options options;
    struct exports_source source;

    (void)state;
    must_parse(&options, WORDS("-e", "/a *"));
    assert_int_equal(options.settings.port, 2049);
    assert_int_equal(options.ready_fd, -1);
    assert_false(options.foreground);
    assert_false(options.print_ports);
    assert_int_equal(options.naddresses, 0);
    source = options_exports(&options);
    assert_int_equal(source.nfiles, 0);
    assert_int_equal(source.nlines, 1);
    options_fini(&options);
}

static void
an_ephemeral_server_has_defaults_of_its_own(void **state)
{
    struct options options;
    char text[INET_ADDRSTRLEN];

    (void)state;
    must_parse(&options, WORDS("-e", "/a *", "--ephemeral"));
    assert_int_equal(options.settings.port, 0);
    assert_int_equal(options.settings.rpcbind, RPCBIND_OFF);
    assert_true(options.foreground);
    assert_int_equal(options.naddresses, 1);
    inet_ntop(AF_INET, &((const struct sockaddr_in *)&options.addresses[0])->sin_addr, text, sizeof(text));
    assert_string_equal(text, "127.0.0.1");
    options_fini(&options);
}

static void
options_before_ephemeral_and_behind_it_override_its_defaults(void **state)
{
    struct options options;

    (void)state;
    must_parse(&options, WORDS("-e", "/a *", "-p", "7", "-a", "::1", "--ephemeral", "--rpcbind", "auto"));
    assert_int_equal(options.settings.port, 7);
    assert_int_equal(options.settings.rpcbind, RPCBIND_AUTO);
    assert_int_equal(options.naddresses, 1);
    assert_int_equal(options.addresses[0].ss_family, AF_INET6);
    options_fini(&options);
}

static void
a_parent_may_be_given_by_its_number(void **state)
{
    struct options options;

    (void)state;
    must_parse(&options, WORDS("-e", "/a *", "--parent-death"));
    assert_true(options.parent_death && options.foreground);
    assert_int_equal(options.parent, 0);
    options_fini(&options);
    must_parse(&options, WORDS("-e", "/a *", "--parent-death=12"));
    assert_true(options.parent_death);
    assert_int_equal(options.parent, 12);
    options_fini(&options);
}

static void
the_last_word_counts(void **state)
{
    struct options options;

    (void)state;
    must_parse(&options, WORDS("-e", "/a *", "-p", "1", "--set", "port=2", "--port", "3"));
    assert_int_equal(options.settings.port, 3);
    options_fini(&options);
}

static void
the_command_line_goes_before_the_file(void **state)
{
    char name[] = "/tmp/ringnfs-options.XXXXXX";
    static const char text[] = "threads = 3\nport = 4\n";
    struct options options;
    int fd = mkstemp(name);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    must_parse(&options, WORDS("-e", "/a *", "-p", "5", "-c", name));
    assert_int_equal(options.settings.threads, 3);
    assert_int_equal(options.settings.port, 5);
    options_fini(&options);
    unlink(name);
}

static void
a_daemon_knows_its_files_by_their_whole_names(void **state)
{
    char want[512], cwd[256];
    struct options options;

    (void)state;
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(want, sizeof(want), "%s/exports", cwd);
    must_parse(&options, WORDS("-E", "exports", "-E", "/etc/exports"));
    assert_string_equal(options.files[0], want);
    assert_string_equal(options.files[1], "/etc/exports");
    options_fini(&options);
    must_parse(&options, WORDS("-f", "-E", "exports"));
    assert_string_equal(options.files[0], "exports");
    options_fini(&options);
}

static void
actions_need_no_exports(void **state)
{
    static const struct { const char *word; enum options_action action; } rows[] = {
        { "--help", ACTION_HELP }, { "-h", ACTION_HELP }, { "--help-settings", ACTION_HELP_SETTINGS },
        { "--help-exports", ACTION_HELP_EXPORTS }, { "--version", ACTION_VERSION }, { "-V", ACTION_VERSION },
        { "--print-roff=options", ACTION_ROFF },
    };
    struct options options;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(rows); i++) {
        must_parse(&options, WORDS(rows[i].word));
        assert_int_equal(options.action, rows[i].action);
        options_fini(&options);
    }
    must_parse(&options, WORDS("--check", "-e", "/a *"));
    assert_int_equal(options.action, ACTION_CHECK);
    options_fini(&options);
}

static void
mistakes_are_told_in_one_line(void **state)
{
    static const struct { const char *words[4]; const char *want; } rows[] = {
        { { "--frobnicate" }, "unknown option --frobnicate" },
        { { "--thread-count=3" }, "unknown option --thread-count" },
        { { "--treads", "3" }, "unknown option --treads (did you mean --threads?)" },
        { { "--print-prots" }, "unknown option --print-prots (did you mean --print-ports?)" },
        { { "--p", "1" }, "option --p is ambiguous" },
        { { "-x" }, "unknown option -x" },
        { { "-\xff" }, "unknown option -\\377" },
        { { "--port" }, "option --port needs a value (N)" },
        { { "-fp" }, "option --port needs a value (N)" },
        { { "--help=3" }, "option --help takes no value" },
        { { "-p", "70000" }, "port: 70000 is out of range (0 to 65535)" },
        { { "-p", "2o49" }, "port: 2o49 is not a number" },
        { { "-m", "" }, "mount_port: the value is missing" },
        { { "--threads", "0" }, "threads: 0 is out of range (1 to 1024, or auto)" },
        { { "--rpcbind", "sometimes" }, "rpcbind: sometimes is none of auto, system or off" },
        { { "--fill", "/x" }, "--fill /x: this is not EXPORT=SOURCE" },
        { { "--fill", "=/tmp" }, "--fill =/tmp: this is not EXPORT=SOURCE" },
        { { "-a", "nowhere" },
          "--address: nowhere is neither a numeric IPv4 or IPv6 address nor the absolute path of a socket" },
        { { "-a", "10.0.0.0/8" },
          "--address: 10.0.0.0/8 is neither a numeric IPv4 or IPv6 address nor the absolute path of a socket" },
        { { "--set", "treads=4" }, "unknown setting treads (did you mean threads?)" },
        { { "--set", "threads" }, "--set threads: this is not KEY=VALUE" },
        { { "--set", "=4" }, "--set =4: this is not KEY=VALUE" },
        { { "--set", "rtmax=8M" }, "rtmax: 8M is out of range (4K to 4M)" },
        { { "--ready-fd", "x" }, "--ready-fd: x is not an open descriptor" },
        { { "--ready-fd", "9999" }, "--ready-fd: 9999 is not an open descriptor" },
        { { "--ready-fd", "-1" }, "--ready-fd: -1 is not an open descriptor" },
        { { "-f", "/srv" }, "unexpected argument /srv (directories are exported with -e 'DIR CLIENT(OPTIONS)')" },
        { { "-e", "/a *", "--set=tcp=off" }, NULL },
    };
    struct options options;
    char error[ERROR_MAX];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(rows); i++) {
        assert_int_equal(parse(&options, rows[i].words, error), rows[i].want == NULL ? 0 : -EINVAL);
        if (rows[i].want != NULL)
            assert_string_equal(error, rows[i].want);
        options_fini(&options);
    }
}

static void
settings_that_do_not_fit_together_are_refused(void **state)
{
    struct options options;
    char error[ERROR_MAX];

    (void)state;
    assert_int_equal(parse(&options, WORDS("-e", "/a *", "--set", "tcp=off", "--set", "udp=off"), error), -EINVAL);
    assert_string_equal(error, "tcp and udp are both off: nobody could call");
    options_fini(&options);
}

static void
a_missing_configuration_file_is_named(void **state)
{
    struct options options;
    char error[ERROR_MAX];

    (void)state;
    assert_int_equal(parse(&options, WORDS("-e", "/a *", "-c", "/nowhere/ringnfs.conf"), error), -ENOENT);
    assert_string_equal(error, "/nowhere/ringnfs.conf: No such file or directory");
    options_fini(&options);
}

static void
without_exports_etc_exports_is_used_or_missed(void **state)
{
    struct options options;
    char error[ERROR_MAX];
    int err = parse(&options, WORDS("-f"), error);

    (void)state;
    if (access("/etc/exports", F_OK) == 0) {
        assert_int_equal(err, 0);
        assert_int_equal(options.nfiles, 2);
        assert_string_equal(options.files[0], "/etc/exports");
        assert_string_equal(options.files[1], "/etc/exports.d/");
    } else {
        assert_int_equal(err, -EINVAL);
        assert_string_equal(error, "nothing to export: use -e 'DIR CLIENT(OPTIONS)' or -E FILE (there is no "
                                   "/etc/exports)");
    }
    options_fini(&options);
}

static void
help_and_manual_page_have_each_option(void **state)
{
    static const char *const names[] = {
        "export", "exports", "config", "port", "mount-port", "address", "rpcbind", "threads", "set", "foreground",
        "print-ports", "ready-fd", "check", "help", "help-settings", "help-exports", "version"
    };
    char *help = NULL, *roff = NULL, word[64];
    size_t help_len, roff_len, i, tables = 0;
    FILE *out = open_memstream(&help, &help_len);

    (void)state;
    options_print_help(out);
    fclose(out);
    out = open_memstream(&roff, &roff_len);
    assert_int_equal(options_print_roff(out, "options"), 0);
    tables += options_print_roff(out, "settings") == 0;
    tables += options_print_roff(out, "exports") == 0;
    assert_int_equal(tables, 2);
    assert_int_equal(options_print_roff(out, "procedures"), -EINVAL);
    fclose(out);
    for (i = 0; i < COUNT(names); i++) {
        char *dash;

        snprintf(word, sizeof(word), "--%s", names[i]);
        assert_non_null(strstr(help, word));
        snprintf(word, sizeof(word), "\\-\\-%s", names[i]);
        dash = strchr(word + 4, '-');
        if (dash != NULL) {
            memmove(dash + 1, dash, strlen(dash) + 1);
            *dash = '\\';
        }
        assert_non_null(strstr(roff, word));
    }
    assert_null(strstr(help, "print-roff"));
    free(help);
    free(roff);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_options_are_taken),
        cmocka_unit_test(what_is_not_said_has_its_default),
        cmocka_unit_test(an_ephemeral_server_has_defaults_of_its_own),
        cmocka_unit_test(options_before_ephemeral_and_behind_it_override_its_defaults),
        cmocka_unit_test(a_parent_may_be_given_by_its_number),
        cmocka_unit_test(the_last_word_counts),
        cmocka_unit_test(the_command_line_goes_before_the_file),
        cmocka_unit_test(a_daemon_knows_its_files_by_their_whole_names),
        cmocka_unit_test(actions_need_no_exports),
        cmocka_unit_test(mistakes_are_told_in_one_line),
        cmocka_unit_test(settings_that_do_not_fit_together_are_refused),
        cmocka_unit_test(a_missing_configuration_file_is_named),
        cmocka_unit_test(without_exports_etc_exports_is_used_or_missed),
        cmocka_unit_test(help_and_manual_page_have_each_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
