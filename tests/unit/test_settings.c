/* tests/unit/test_settings.c - the table of settings: values, ranges, the configuration file, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/log.h"
#include "server/settings.h"
#include "server/settings_table.h"
#include "server/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char file_name[] = "ringnfs.conf";

static int
set(const char *key, const char *value, char *error, size_t error_size)
{
    struct settings settings;
    int err;

    settings_init(&settings);
    error[0] = '\0';
    err = settings_set(&settings, key, value, error, error_size);
    settings_fini(&settings);
    return err;
}

static void
values_are_formatted_as_they_would_be_written(void **state)
{
    static const char *const changes[][2] = {
        { "threads", "5" }, { "threads", "auto" }, { "sqpoll", "50" }, { "sqpoll", "off" }, { "cpu_affinity", "0-3,6" },
        { "socket_buffer", "1M" }, { "socket_buffer", "auto" }, { "tcp_nodelay", "off" },
        { "rtmax", "4608" }, { "max_memory", "3G" }, { "udp", "off" }, { "engine", "pool" }, { "state_dir", "/a b" }
    };
    struct settings settings;
    char value[64], error[256];

    (void)state;
    settings_init(&settings);
    for (size_t i = 0; i < settings_table_rows; i++)
        assert_string_equal(settings_format(&settings, &settings_table[i], value, sizeof(value)),
                            settings_table[i].initial);
    for (size_t i = 0; i < COUNT(changes); i++) {
        const struct setting *row = settings_find(changes[i][0], error, sizeof(error));

        assert_non_null(row);
        assert_int_equal(settings_set(&settings, changes[i][0], changes[i][1], error, sizeof(error)), 0);
        assert_string_equal(settings_format(&settings, row, value, sizeof(value)), changes[i][1]);
    }
    assert_null(settings_find("treads", error, sizeof(error)));
    assert_string_equal(error, "unknown setting treads (did you mean threads?)");
    settings_fini(&settings);
}

static void
defaults_are_sensible(void **state)
{
    struct settings settings;
    char error[256];

    (void)state;
    settings_init(&settings);
    assert_int_equal(settings.port, 2049);
    assert_int_equal(settings.mount_port, 0);
    assert_true(settings.tcp);
    assert_true(settings.udp);
    assert_int_equal(settings.rpcbind, RPCBIND_AUTO);
    assert_int_equal(settings.threads, 0);
    assert_int_equal(settings.rtmax, 1 << 20);
    assert_int_equal(settings.dtpref, 64 << 10);
    assert_true(settings.max_memory == 512 << 20);
    assert_int_equal(settings.drain_timeout, 5);
    assert_int_equal(settings.log_level, LOG_INFO_LEVEL);
    assert_null(settings.state_dir);
    assert_int_equal(settings_check(&settings, error, sizeof(error)), 0);
    settings_fini(&settings);
}

static void
each_row_is_whole(void **state)
{
    size_t i, j, len;

    (void)state;
    for (i = 0; i < settings_table_rows; i++) {
        const struct setting *row = &settings_table[i];

        len = strlen(row->help);
        assert_true(len > 0 && row->help[len - 1] == '.');
        assert_true(row->offset + row->width <= sizeof(struct settings));
        assert_non_null(row->initial);
        if (row->type == SETTING_NUMBER || row->type == SETTING_SIZE) {
            assert_true(row->min < row->max && row->multiple > 0);
            assert_true(row->width == 8 || (row->width == 4 && row->max <= UINT32_MAX));
        }
        for (j = 0; j < i; j++) {
            assert_string_not_equal(row->key, settings_table[j].key);
            assert_int_not_equal(row->offset, settings_table[j].offset);
        }
    }
}

static void
values_are_taken(void **state)
{
    static const struct { const char *key, *value; } rows[] = {
        { "port", "0" }, { "port", "65535" }, { "udp", "off" }, { "udp", "no" }, { "tcp", "true" }, { "tcp", "1" },
        { "rtmax", "4K" }, { "rtmax", "4m" }, { "rtmax", "1000448" }, { "wtmax", "65536" }, { "max_memory", "2G" },
        { "engine", "pool" }, { "inline", "on" }, { "rpcbind", "off" }, { "log_level", "debug" },
        { "threads", "auto" }, { "workers", "0" }, { "socket_buffer", "0" }, { "idle_timeout", "0" }, { "dtpref", "4M" },
        { "rtpref", "4K" }, { "wtpref", "auto" }, { "sqpoll", "60000" }, { "cpu_affinity", "auto" },
        { "state_dir", "/var/lib/other" }, { "state_dir", "" }, { "drain_timeout", "0" }, { "threads", "1024" },
    };
    char error[256];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(rows); i++)
        if (set(rows[i].key, rows[i].value, error, sizeof(error)) != 0)
            fail_msg("%s = %s: %s", rows[i].key, rows[i].value, error);
}

static void
what_is_set_is_there(void **state)
{
    struct settings settings;
    char error[256];

    (void)state;
    settings_init(&settings);
    assert_int_equal(settings_set(&settings, "rtmax", "64K", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "memory_bytes", "5G", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "inline", "off", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "udp", "off", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "state_dir", "/a", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "state_dir", "/b", error, sizeof(error)), 0);
    assert_int_equal(settings.rtmax, 65536);
    assert_true(settings.memory_bytes == UINT64_C(5) << 30);
    assert_int_equal(settings.inline_mode, SETTING_INLINE_OFF);
    assert_false(settings.udp);
    assert_true(settings.tcp);
    assert_string_equal(settings.state_dir, "/b");
    settings_fini(&settings);
}

static void
mistakes_name_the_key_and_what_would_be_right(void **state)
{
    static const struct { const char *key, *value, *want; } rows[] = {
        { "treads", "4", "unknown setting treads (did you mean threads?)" },
        { "rtmx", "4", "unknown setting rtmx (did you mean rtmax?)" },
        { "prot", "4", "unknown setting prot (did you mean port?)" },
        { "frobnicate", "4", "unknown setting frobnicate" },
        { "", "4", "unknown setting " },
        { "a\nb", "4", "unknown setting a\\012b" },
        { "inline_mode", "on", "unknown setting inline_mode" },
        { "port", "65536", "port: 65536 is out of range (0 to 65535)" },
        { "port", "-1", "port: -1 is not a number" },
        { "port", "+1", "port: +1 is not a number" },
        { "port", " 1", "port:  1 is not a number" },
        { "port", "0x10", "port: 0x10 is not a number" },
        { "port", "20 49", "port: 20 49 is not a number" },
        { "port", "2049K", "port: 2049K is not a number" },
        { "port", "", "port: the value is missing" },
        { "port", "99999999999999999999999", "port: 99999999999999999999999 is out of range (0 to 65535)" },
        { "threads", "0", "threads: 0 is out of range (1 to 1024, or auto)" },
        { "threads", "many", "threads: many is neither a number nor auto" },
        { "workers", "257", "workers: 257 is out of range (1 to 256, or auto)" },
        { "sqpoll", "0", "sqpoll: 0 is out of range (1 to 60000, or off)" },
        { "sqpoll", "on", "sqpoll: on is neither a number nor off" },
        { "socket_buffer", "2G", "socket_buffer: 2G is out of range (1 to 1G, or auto)" },
        { "socket_buffer", "big",
          "socket_buffer: big is neither a size (a number, or one with K, M or G behind it) nor auto" },
        { "rtpref", "0", "rtpref: 0 is out of range (4K to 4M, or auto)" },
        { "dtpref", "8M", "dtpref: 8M is out of range (4K to 4M)" },
        { "dtpref", "5000", "dtpref: 5000 is not a multiple of 512" },
        { "tcp_nodelay", "auto", "tcp_nodelay: auto is neither on nor off" },
        { "cpu_affinity", "", "cpu_affinity: the value is missing" },
        { "cpu_affinity", "0-3;6",
          "cpu_affinity: 0-3;6 is no list of CPUs such as 0-3,6 (0 to 1023), nor auto or off" },
        { "rtmax", "8M", "rtmax: 8M is out of range (4K to 4M)" },
        { "rtmax", "5000", "rtmax: 5000 is not a multiple of 512" },
        { "rtmax", "1T", "rtmax: 1T is not a size (a number, or one with K, M or G behind it)" },
        { "rtmax", "1KB", "rtmax: 1KB is not a size (a number, or one with K, M or G behind it)" },
        { "rtmax", "1.5M", "rtmax: 1.5M is not a size (a number, or one with K, M or G behind it)" },
        { "rtmax", "K", "rtmax: K is not a size (a number, or one with K, M or G behind it)" },
        { "max_memory", "99999999999G", "max_memory: 99999999999G is out of range (16M to 1024G)" },
        { "udp", "maybe", "udp: maybe is neither on nor off" },
        { "engine", "aio", "engine: aio is none of auto, uring or pool" },
        { "rpcbind", "AUTO", "rpcbind: AUTO is none of auto, system or off" },
        { "log_level", "7", "log_level: 7 is none of error, warn, info or debug" },
    };
    char error[256];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(rows); i++) {
        assert_int_equal(set(rows[i].key, rows[i].value, error, sizeof(error)), -EINVAL);
        assert_string_equal(error, rows[i].want);
    }
}

static void
a_refused_value_changes_nothing(void **state)
{
    struct settings settings;
    char error[256];

    (void)state;
    settings_init(&settings);
    assert_int_equal(settings_set(&settings, "rtmax", "8M", error, sizeof(error)), -EINVAL);
    assert_int_equal(settings.rtmax, 1 << 20);
    settings_fini(&settings);
}

static void
settings_are_checked_together(void **state)
{
    static const struct { const char *first, *first_value, *second, *second_value, *want; } rows[] = {
        { "tcp", "off", "udp", "off", "tcp and udp are both off: nobody could call" },
        { "rtmax", "4M", "max_memory", "16M",
          "rtmax is more than an eighth of max_memory (16M): 32M at least is needed" },
        { "wtmax", "4M", "max_memory", "16M",
          "wtmax is more than an eighth of max_memory (16M): 32M at least is needed" },
        { "dtpref", "4M", "max_memory", "16M",
          "dtpref is more than an eighth of max_memory (16M): 32M at least is needed" },
        { "state_dir", "here", "tcp", "on", "state_dir: here is not an absolute path" },
    };
    struct settings settings;
    char error[256];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(rows); i++) {
        settings_init(&settings);
        assert_int_equal(settings_set(&settings, rows[i].first, rows[i].first_value, error, sizeof(error)), 0);
        assert_int_equal(settings_set(&settings, rows[i].second, rows[i].second_value, error, sizeof(error)), 0);
        assert_int_equal(settings_check(&settings, error, sizeof(error)), -EINVAL);
        assert_string_equal(error, rows[i].want);
        settings_fini(&settings);
    }
}

static void
a_copy_has_strings_of_its_own(void **state)
{
    struct settings settings, copy;
    char error[256];

    (void)state;
    settings_init(&settings);
    assert_int_equal(settings_set(&settings, "state_dir", "/a", error, sizeof(error)), 0);
    assert_int_equal(settings_set(&settings, "threads", "3", error, sizeof(error)), 0);
    assert_int_equal(settings_copy(&copy, &settings), 0);
    settings_fini(&settings);
    assert_string_equal(copy.state_dir, "/a");
    assert_int_equal(copy.threads, 3);
    settings_fini(&copy);
}

static int
load_bytes(struct settings *settings, const char *text, size_t len, char *error, size_t error_size)
{
    FILE *file = fopen(file_name, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    fclose(file);
    return settings_load(settings, file_name, error, error_size);
}

static void
a_file_is_read_with_and_without_a_section(void **state)
{
    static const char text[] =
        "\xef\xbb\xbf# first\n"
        "threads = 3\n"
        "   port: 7 ; why not\n"
        "\n"
        "[ringnfs]\n"
        "; more\n"
        "\trtmax=64K\r\n"
        "inline = off\n"
        "state_dir = /srv/a b";
    struct settings settings;
    char error[256] = "";

    (void)state;
    settings_init(&settings);
    if (load_bytes(&settings, text, sizeof(text) - 1, error, sizeof(error)) != 0)
        fail_msg("%s", error);
    assert_int_equal(settings.threads, 3);
    assert_int_equal(settings.port, 7);
    assert_int_equal(settings.rtmax, 65536);
    assert_int_equal(settings.inline_mode, SETTING_INLINE_OFF);
    assert_string_equal(settings.state_dir, "/srv/a b");
    settings_fini(&settings);
}

static void
mistakes_in_a_file_name_file_and_line(void **state)
{
    static const char nul[] = "port = 1\nthreads = 2\0";
    static const struct { const char *text, *want; } rows[] = {
        { "threads = 4\nrtmax = huge\n",
          "ringnfs.conf:2: rtmax: huge is not a size (a number, or one with K, M or G behind it)" },
        { "\n\n  treads = 4", "ringnfs.conf:3: unknown setting treads (did you mean threads?)" },
        { "threads = 4\n[server]\nport = 1", "ringnfs.conf:3: unknown section [server] (there is [ringnfs] only)" },
        { "threads = 4\nthreads = 5", "ringnfs.conf:2: threads is set in line 1 already" },
        { "threads\n", "ringnfs.conf:1: neither a section nor \"key = value\"" },
        { "port = 1\n[ringnfs\n", "ringnfs.conf:2: neither a section nor \"key = value\"" },
        { "threads =\n", "ringnfs.conf:1: threads: the value is missing" },
        { "threads = 4 # four\n", "ringnfs.conf:1: threads: 4 # four is neither a number nor auto" },
        { "rtmax = huge\nthreads = 0\n",
          "ringnfs.conf:1: rtmax: huge is not a size (a number, or one with K, M or G behind it)" },
    };
    struct settings settings;
    char error[256], long_line[400];
    size_t i;

    (void)state;
    settings_init(&settings);
    for (i = 0; i < COUNT(rows); i++) {
        assert_int_equal(load_bytes(&settings, rows[i].text, strlen(rows[i].text), error, sizeof(error)), -EINVAL);
        assert_string_equal(error, rows[i].want);
    }
    assert_int_equal(load_bytes(&settings, nul, sizeof(nul), error, sizeof(error)), -EINVAL);
    assert_string_equal(error, "ringnfs.conf:2: a NUL byte");
    memset(long_line, 'a', sizeof(long_line));
    assert_int_equal(load_bytes(&settings, long_line, sizeof(long_line), error, sizeof(error)), -EINVAL);
    assert_string_equal(error, "ringnfs.conf:1: the line is too long (at most 190 bytes)");
    settings_fini(&settings);
}

static void
a_file_that_cannot_be_read_is_named(void **state)
{
    struct settings settings;
    char error[256];

    (void)state;
    settings_init(&settings);
    assert_int_equal(settings_load(&settings, "missing.conf", error, sizeof(error)), -ENOENT);
    assert_string_equal(error, "missing.conf: No such file or directory");
    assert_int_equal(settings_load(&settings, ".", error, sizeof(error)), -EISDIR);
    assert_string_equal(error, ".:1: Is a directory");
    settings_fini(&settings);
}

static void
help_and_manual_page_have_each_setting(void **state)
{
    char *help = NULL, *roff = NULL, line[128];
    size_t help_len, roff_len, i;
    FILE *out = open_memstream(&help, &help_len);

    (void)state;
    settings_print_help(out);
    fclose(out);
    out = open_memstream(&roff, &roff_len);
    settings_print_roff(out);
    fclose(out);
    for (i = 0; i < settings_table_rows; i++) {
        snprintf(line, sizeof(line), "  %s = %s", settings_table[i].key, settings_table[i].initial);
        assert_non_null(strstr(help, line));
        snprintf(line, sizeof(line), ".B %s = %s\n", settings_table[i].key, settings_table[i].initial);
        assert_non_null(strstr(roff, line));
    }
    free(help);
    free(roff);
}

static char directory[] = "/tmp/ringnfs-settings.XXXXXX";

static int
enter_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL || chdir(directory) < 0 ? -1 : 0;
}

static int
leave_directory(void **state)
{
    (void)state;
    unlink(file_name);
    return chdir("/") < 0 || rmdir(directory) < 0 ? -1 : 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_formatted_as_they_would_be_written),
        cmocka_unit_test(defaults_are_sensible),
        cmocka_unit_test(each_row_is_whole),
        cmocka_unit_test(values_are_taken),
        cmocka_unit_test(what_is_set_is_there),
        cmocka_unit_test(mistakes_name_the_key_and_what_would_be_right),
        cmocka_unit_test(a_refused_value_changes_nothing),
        cmocka_unit_test(settings_are_checked_together),
        cmocka_unit_test(a_copy_has_strings_of_its_own),
        cmocka_unit_test(a_file_is_read_with_and_without_a_section),
        cmocka_unit_test(mistakes_in_a_file_name_file_and_line),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(help_and_manual_page_have_each_setting),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
