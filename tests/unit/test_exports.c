/*
 * tests/unit/test_exports.c - the language of exports(5): what lines mean, how mistakes in them are told, and where lines
 * come from.
 */
#include "config.h"
#include "tests/lib/exports_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void
lines_are_read_as_exports_5_says(void **state)
{
    static const struct exp_row rows[] = {
        { "", "" },
        { "\n\n  \t\n", "" },
        { "# nothing\n   # here either", "" },
        { "memory:/a *(rw)", "/a: * rw" },
        { "memory:/a *(rw)\n", "/a: * rw" },
        { "memory:/a\t\t*(rw)  \t", "/a: * rw" },
        { "memory:/a *(rw)\r\nmemory:/b\r\n", "/a: * rw; /b: * ro" },
        { "memory:/a", "/a: * ro" },
        { "memory:/a *", "/a: * ro" },
        { "memory:/a *()", "/a: * ro" },
        { "memory:/a (rw)", "/a: * rw" },
        { "memory:/a *(rw) # for all", "/a: * rw" },
        { "memory:/a#b *(rw)", "/a#b: * rw" },
        { "memory:/a \\\n *(rw)", "/a: * rw" },
        { "memory:/a *(rw,\\\nsync)", "exports:1:12: this '(' is not closed (no blanks between the brackets)" },
        { "memory:/a \\\n  10.0.0.1(rw) \\\n  10.0.0.2\nmemory:/b", "/a: 10.0.0.1 rw, 10.0.0.2 ro; /b: * ro" },
        { "\"memory:/a b\" *(rw)", "/a b: * rw" },
        { "memory:\"/a b\" *(rw)", "/a b: * rw" },
        { "memory:/\"a\"\"b\" *(rw)", "/ab: * rw" },
        { "\"memory:/a#b\" *(rw)", "/a#b: * rw" },
        { "memory:/a\\040b *(rw)", "/a b: * rw" },
        { "\"memory:/a\\040 b\" *(rw)", "/a  b: * rw" },
        { "memory:/a\\040\\134053\\040b *(rw)", "/a \\053 b: * rw" },
        { "memory:/a\\b\\04 *(rw)", "/a\\b\\04: * rw" },
        { "memory:/a\\400 *(rw)", "/a\\400: * rw" },
        { "memory:/a\\042b *(rw)", "/a\"b: * rw" },
        { "memory:/\\303\\274 *(rw)", "/\303\274: * rw" },
        { "memory:/\303\274 *(rw)", "/\303\274: * rw" },
        { "memory:/a/ *", "/a: * ro" },
        { "memory:///a//b/// *", "/a/b: * ro" },
        { "memory:/ *", "/: * ro" },
        { "memory:// *", "/: * ro" },
        { "memory:/a.. *", "/a..: * ro" },
        { "memory:/... *", "/...: * ro" },
        { "memory:/b\nmemory:/a", "/a: * ro; /b: * ro" },
        { "# one \\\nmemory:/a", "/a: * ro" },
        { "memory:/a # see\\\nmemory:/b", "/a: * ro; /b: * ro" },
        { "memory:/a \\\n# nothing\nmemory:/b", "/a: * ro; /b: * ro" },
        { "memory:/a \"#\"b", "exports:1:11: #b: " NO_HOST },
        { "\"memory:/a #b\" *(rw)", "/a #b: * rw" },
        { "\"memory:/a \\\n  b\" *(rw)", "/a  b: * rw" },
        { "memory:/a\\\nb *(rw)", "/a: b ro, * rw" },
        { "memory:/a *(rw)\\\n", "/a: * rw" },
        { "memory:/a *(rw)\\", "exports:1:16: a blank is missing behind ')'" },
        { "memory:/a\v*(rw)\f", "/a: * rw" },
        { "memory:/a\\054b *(rw)", "/a,b: * rw" },
        { "memory:/a\\050b\\051 *(rw)", "/a(b): * rw" },
        { "memory:/a\\011b *(rw)", "/a\tb: * rw" },
        { "memory:/a\\377 *(rw)", "/a\377: * rw" },
        { "memory:/a\\0400 *(rw)", "/a 0: * rw" },
        { "memory:/a \\100group", "/a: @group ro" },
        { "memory:/a \\055rw", "/a: -rw ro" },
        { "memory:/a h\\050rw\\051", "exports:1:11: h(rw): " NO_HOST },
        { "memory:/a *(rw)\n\n#\n\nmemory:/b", "/a: * rw; /b: * ro" },
    };

    (void)state;
    exp_check_rows(rows, COUNT(rows));
}

static void
mistakes_are_told_with_file_line_and_column(void **state)
{
    static const struct exp_row rows[] = {
        { "a *(rw)", "exports:1:1: a is not an absolute path" },
        { "  srv/a", "exports:1:3: srv/a is not an absolute path" },
        { "memory:a", "exports:1:1: memory:a is not an absolute path" },
        { "memory:", "exports:1:1: memory: the path is empty" },
        { "\"\" *", "exports:1:1: the path is empty" },
        { "memory:/a/../b", "exports:1:1: memory:/a/../b must not have . or .. in it" },
        { "memory:/a/.", "exports:1:1: memory:/a/. must not have . or .. in it" },
        { "memory:/.. *", "exports:1:1: memory:/.. must not have . or .. in it" },
        { "\n\nmemory:/a *(rw,no_rootsquash)",
          "exports:3:16: unknown option no_rootsquash (did you mean no_root_squash?)" },
        { "memory:/a *(insecrue)", "exports:1:13: unknown option insecrue (did you mean insecure?)" },
        { "memory:/a *(frobnicate)", "exports:1:13: unknown option frobnicate" },
        { "memory:/a *(frobnicate=7,rw)", "exports:1:13: unknown option frobnicate" },
        { "memory:/a *(RW)", "exports:1:13: unknown option RW" },
        { "memory:/a -rw,frob *", "exports:1:15: unknown option frob" },
        { "memory:/a *(a\\033b)", "exports:1:13: unknown option a\\033b" },
        { "memory:/a \\\n  *(rw) \\\n  10.0.0.1(rw,frob)", "exports:3:15: unknown option frob" },
        { "memory:/a *(rw=1)", "exports:1:13: option rw takes no value" },
        { "memory:/a *(anonuid)", "exports:1:13: option anonuid needs a value (anonuid=ID)" },
        { "memory:/a *(anonuid=)", "exports:1:13: option anonuid needs a value (anonuid=ID)" },
        { "memory:/a *(anonuid=nobody)", "exports:1:13: anonuid: nobody is not a number" },
        { "memory:/a *(anonuid=1x)", "exports:1:13: anonuid: 1x is not a number" },
        { "memory:/a *(anonuid=-1)", "exports:1:13: anonuid: -1 is out of range (0 to 4294967294, or -2)" },
        { "memory:/a *(anonuid=4294967295)",
          "exports:1:13: anonuid: 4294967295 is out of range (0 to 4294967294, or -2)" },
        { "memory:/a *(anongid=99999999999999999999)",
          "exports:1:13: anongid: 99999999999999999999 is out of range (0 to 4294967294, or -2)" },
        { "memory:/a *(fsid=x)", "exports:1:13: fsid: x is neither a number (0 to 4294967295) nor root nor a UUID" },
        { "memory:/a *(fsid=4294967296)",
          "exports:1:13: fsid: 4294967296 is neither a number (0 to 4294967295) nor root nor a UUID" },
        { "memory:/a *(rtmax=8M)", "exports:1:13: rtmax: 8M is out of range (4K to 4M)" },
        { "memory:/a *(rtmax=1000)", "exports:1:13: rtmax: 1000 is out of range (4K to 4M)" },
        { "memory:/a *(wtmax=5000)", "exports:1:13: wtmax: 5000 is not a multiple of 512" },
        { "memory:/a *(dtpref=big)",
          "exports:1:13: dtpref: big is not a size (a number, or one with K or M behind it)" },
        { "memory:/a *(path=x)", "exports:1:13: path: x is not an absolute path" },
        { "memory:/a *(path=/tmp)", "exports:1:11: a memory: export has no path=" },
        { "memory:/a *(mp=a)", "exports:1:13: mp: a is not an absolute path" },
        { "memory:/a *(mountpoint=a)", "exports:1:13: mountpoint: a is not an absolute path" },
        { "memory:/a *(mountpoint=)", "exports:1:13: option mountpoint needs a value (mountpoint=DIR)" },
        { "memory:/a *(mp)", "exports:1:11: a memory: export is no mount point (mountpoint=DIR names one)" },
        { "memory:/a 10.0.0.1 10.0.0.1(mp=/proc)", "exports:1:20: 10.0.0.1 has other options at exports:1:11" },
        { "memory:/a 10.0.0.1 10.0.0.1(noatime)", "exports:1:20: 10.0.0.1 has other options at exports:1:11" },
        { "memory:/a *(manage_gids=1)", "exports:1:13: option manage_gids takes no value" },
        { "memory:/a *(manage_gid)", "exports:1:13: unknown option manage_gid (did you mean manage_gids?)" },
        { "memory:/a * *(manage_gids)", "exports:1:13: * has other options at exports:1:11" },
        { "memory:/a *(noatime=1)", "exports:1:13: option noatime takes no value" },
        { "memory:/a *(nordirplus=1)", "exports:1:13: option nordirplus takes no value" },
        { "memory:/a *(rdirplus)", "exports:1:13: unknown option rdirplus (did you mean nordirplus?)" },
        { "memory:/a *(rtpref=8M)", "exports:1:13: rtpref: 8M is out of range (4K to 4M)" },
        { "memory:/a *(wtpref=5000)", "exports:1:13: wtpref: 5000 is not a multiple of 512" },
        { "memory:/a *(wtpref)", "exports:1:13: option wtpref needs a value (wtpref=BYTES)" },
        { "memory:/a *(max_rate)", "exports:1:13: option max_rate needs a value (max_rate=BYTES)" },
        { "memory:/a *(max_rate=1000)", "exports:1:13: max_rate: 1000 is out of range (64K to 1024G)" },
        { "memory:/a *(max_rate=0)", "exports:1:13: max_rate: 0 is out of range (64K to 1024G)" },
        { "memory:/a *(max_rate=1025g)", "exports:1:13: max_rate: 1025g is out of range (64K to 1024G)" },
        { "memory:/a *(max_rate=10MB)",
          "exports:1:13: max_rate: 10MB is not a size (a number, or one with K, M or G behind it)" },
        { "memory:/a *(maxrate=10m)", "exports:1:13: unknown option maxrate (did you mean max_rate?)" },
        { "memory:/a *(max_iops=1k)", "exports:1:13: max_iops: 1k is not a number" },
        { "memory:/a *(max_iops=0)", "exports:1:13: max_iops: 0 is out of range (1 to 100000000)" },
        { "memory:/a *(max_iop=1)", "exports:1:13: unknown option max_iop (did you mean max_iops?)" },
        { "memory:/a 10.0.0.1 10.0.0.1(max_iops=5)", "exports:1:20: 10.0.0.1 has other options at exports:1:11" },
        { "memory:/a 10.0.0.1 10.0.0.1(max_rate=1m)", "exports:1:20: 10.0.0.1 has other options at exports:1:11" },
        { "memory:/a *(io=bufered)",
          "exports:1:13: io: bufered is neither auto nor buffered nor dontcache nor direct (did you mean buffered?)" },
        { "memory:/a *(io=Direct)",
          "exports:1:13: io: Direct is neither auto nor buffered nor dontcache nor direct (did you mean direct?)" },
        { "memory:/a *(io=mmap)", "exports:1:13: io: mmap is neither auto nor buffered nor dontcache nor direct" },
        { "memory:/a *(io)", "exports:1:13: option io needs a value (io=auto|buffered|dontcache|direct)" },
        { "memory:/a 10.0.0.1 10.0.0.1(io=direct)", "exports:1:20: 10.0.0.1 has other options at exports:1:11" },
        { "memory:/a *(readahead=65M)", "exports:1:13: readahead: 65M is out of range (0 to 64M)" },
        { "memory:/a *(readahead=700)", "exports:1:13: readahead: 700 is not a multiple of 512" },
        { "memory:/a *(readahead=4kb)",
          "exports:1:13: readahead: 4kb is not a size (a number, or one with K or M behind it)" },
        { "memory:/a *(read_ahead=4k)", "exports:1:13: unknown option read_ahead (did you mean readahead?)" },
        { "memory:/a *(readahead)", "exports:1:13: option readahead needs a value (readahead=BYTES)" },
        { "memory:/a 10.0.0.1 10.0.0.1(readahead=4k)", "exports:1:20: 10.0.0.1 has other options at exports:1:11" },
        { "memory:/a *(insecure_lock)", "exports:1:13: unknown option insecure_lock (did you mean insecure_locks?)" },
        { "memory:/a *(refer=/a@h)", "exports:1:13: option refer belongs to NFSv4: this server speaks NFSv3" },
        { "memory:/a *(pnfs)", "exports:1:13: option pnfs belongs to NFSv4: this server speaks NFSv3" },
        { "memory:/a *(sec=)", "exports:1:13: option sec needs a value (sec=FLAVOUR:...)" },
        { "memory:/a *(sec=krb)", "exports:1:13: sec: krb is not a security flavour (sys, none, krb5, krb5i or krb5p, "
                                  "with colons between them)" },
        { "memory:/a *(sec=sys::none)", "exports:1:13: sec: an empty word is not a security flavour (sys, none, krb5, "
                                        "krb5i or krb5p, with colons between them)" },
        { "memory:/a *(rw,sec=sys:none:)", "exports:1:16: sec: an empty word is not a security flavour (sys, none, krb5, "
                                           "krb5i or krb5p, with colons between them)" },
        { "memory:/a * *(sec=none)", "exports:1:13: * has other options at exports:1:11" },
        { "memory:/a *(sec=sys:none) *(sec=none:sys)", "exports:1:27: * has other options at exports:1:11" },
#ifndef HAVE_KERBEROS
        { "memory:/a *(sec=sys:krb5p)", "exports:1:13: sec: krb5p: this build has no Kerberos (it was configured without "
                                        "the GSS-API of MIT Kerberos)" },
#endif
        { "memory:/a *(rw", "exports:1:12: this '(' is not closed (no blanks between the brackets)" },
        { "memory:/a *(rw, sync)", "exports:1:12: this '(' is not closed (no blanks between the brackets)" },
        { "memory:/a *rw)", "exports:1:14: a ')' without its '('" },
        { "memory:/a *(rw)(ro)", "exports:1:16: a blank is missing behind ')'" },
        { "memory:/a *(rw)10.0.0.1", "exports:1:16: a blank is missing behind ')'" },
        { "memory:/a \"*(rw)\nmemory:/b", "exports:1:11: this quote is not closed" },
        { "\"memory:/a", "exports:1:1: this quote is not closed" },
        { "memory:/a\\000b *", "exports:1:10: \\000: a NUL byte cannot be part of a name" },
        { "memory:/a 10.0.0.1 -rw", "exports:1:20: default options with no client behind them" },
        { "memory:/a *(fsid=1)\nmemory:/b *(fsid=1)", "exports:2:11: /b has the fsid of /a at exports:1:11" },
        { "memory:/b *(fsid=root)\nmemory:/a *(fsid=0)", "exports:2:11: /a has the fsid of /b at exports:1:11" },
        { "memory:/a 10.0.0.1(fsid=1) 10.0.0.2(fsid=2)", "exports:1:28: /a has another fsid at exports:1:11" },
        { "memory:/a 10.0.0.1(fsid=1)\nmemory:/a *", "exports:2:11: /a has another fsid at exports:1:11" },
        { "memory:/tmp *\n/tmp *", "exports:2:6: /tmp is a memory: export and a directory at exports:1:13" },
        { "/x 10.0.0.1(path=/)\n/x *(path=/tmp)", "exports:2:4: /x has another path= at exports:1:4" },
        { "/nowhere/at/all *(rw)", "exports:1:1: /nowhere/at/all: No such file or directory" },
        { "\n /dev/null *(rw)", "exports:2:2: /dev/null: Not a directory" },
        { "/x *(path=/nowhere)", "exports:1:4: /nowhere: No such file or directory" },
    };

    (void)state;
    exp_check_rows(rows, COUNT(rows));
}

static void
what_may_surprise_is_told_as_a_warning(void **state)
{
    static const struct exp_row rows[] = {
        { "memory:/a *(rw)", "!" },
        { "memory:/a 10.0.0.1 (rw)",
          "!exports:1:20: these options are for everyone, and 10.0.0.1 has the defaults: is the blank before the "
          "bracket meant?" },
        { "memory:/a (rw)", "!exports:1:11: options without a client are for everyone; write *(...)" },
        { "memory:/a 10.0.0.1(rw) (ro)", "!exports:1:24: options without a client are for everyone; write *(...)" },
        { "memory:/a # see\\\nmemory:/b", "!exports:1:16: a backslash does not continue a comment" },
        { "# memory:/a \\\nmemory:/b \\\n *", "!exports:1:13: a backslash does not continue a comment" },
        { "memory:/a 10.0.0.1 10.0.0.1", "!exports:1:20: 10.0.0.1 is given at exports:1:11 already" },
        { "memory:/a 10.0.0.0/8(rw) 10.1.0.0/16(ro)",
          "!exports:1:26: these options are never used: 10.0.0.0/8 is written before 10.1.0.0/16, and counts for all "
          "of it" },
        { "memory:/a 10.0.0.0/8(rw)\nmemory:/a 10.1.2.3/32(ro)",
          "!exports:2:11: these options are never used: 10.0.0.0/8 is written before 10.1.2.3/32, and counts for all "
          "of it" },
        { "memory:/a 2001:db8::/32(rw) 2001:db8:8000::/33",
          "!exports:1:29: these options are never used: 2001:db8::/32 is written before 2001:db8:8000::/33, and counts "
          "for all of it" },
        { "memory:/a 10.0.0.0/8(rw) 10.1.0.0/16(rw)", "!" },
        { "memory:/a 10.1.0.0/16(ro) 10.0.0.0/8(rw)", "!" },
        { "memory:/a 10.0.0.0/8(rw) 10.1.0.1(ro)", "!" },
        { "memory:/a 10.0.0.0/8(rw) 11.0.0.0/16(ro)", "!" },
        { "memory:/a 0.0.0.0/0(rw) ::/0(ro)", "!" },
        { "memory:/a *(insecure_locks)", "!exports:1:11: insecure_locks does nothing: there are no locks (NLM) yet" },
        { "memory:/a 10.0.0.1 *(no_auth_nlm)", "!exports:1:11: insecure_locks does nothing: there are no locks (NLM) yet" },
        { "memory:/a *(insecure_locks,auth_nlm)", "!" },
        { "memory:/a 10.0.0.*(rw)",
          "!exports:1:11: 10.0.0.* is compared with names, never with addresses: a network is ADDRESS/BITS" },
        { "memory:/a 10.0.[0-3].?(rw)",
          "!exports:1:11: 10.0.[0-3].? is compared with names, never with addresses: a network is ADDRESS/BITS" },
        { "memory:/a *.10.example.org *.*", "!" },
        { "memory:/a Host host", "!exports:1:16: host is given at exports:1:11 already" },
        { "memory:/a @g @g", "!exports:1:14: @g is given at exports:1:11 already" },
        { "memory:/a 10.0.0.1(mp=/nowhere) *", "!exports:1:11: not served to 10.0.0.1: /nowhere is no mount point" },
        { "memory:/a *(io=direct)", "!exports:1:11: io= does nothing for a memory: export" },
        { "memory:/a *(readahead=1M)", "!exports:1:11: readahead does nothing for a memory: export" },
        { "memory:/a *(io=buffered)", "!" },
        { "/x *(path=/dev/shm,io=direct)",
          "!exports:1:4: io=direct is as io=buffered here: the file system has no direct I/O" },
        { "/x *(path=/dev/shm,io=dontcache)",
          "!exports:1:4: io=dontcache is as io=buffered here: that takes Linux 6.14 and a file system such as ext4, xfs "
          "or btrfs" },
        { "", "!exports: there are none" },
    };

    (void)state;
    exp_check_rows(rows, COUNT(rows));
}

static void
a_space_before_the_bracket_gives_everyone_the_options(void **state)
{
    struct exports *set = exp_must_load("memory:/a 10.0.0.1 (rw)", NULL);
    char got[EXP_ERROR_MAX];

    (void)state;
    exp_say(got, set);
    assert_string_equal(got, "/a: 10.0.0.1 ro, * rw");
    exports_put(set);
}

static void
a_nul_byte_is_refused(void **state)
{
    static const char text[] = "memory:/a *(rw)\nmemory:/b\0 *(rw)\n";
    char error[EXP_ERROR_MAX];
    struct exports *set;

    (void)state;
    assert_int_equal(exp_load_bytes(text, sizeof(text) - 1, NULL, &set, error), -EINVAL);
    assert_string_equal(error, "exports:2:10: a NUL byte");
}

static void
a_line_of_ten_megabytes_is_refused(void **state)
{
    size_t len = 10 << 20;
    char *text = malloc(len), error[EXP_ERROR_MAX];
    struct exports *set;

    (void)state;
    assert_non_null(text);
    memset(text, 'a', len);
    memcpy(text, "# short\n", 8);
    assert_int_equal(exp_load_bytes(text, len, NULL, &set, error), -EINVAL);
    assert_string_equal(error, "exports:2:1: the line is too long (at most 65536 bytes)");
    free(text);
}

static void
a_path_that_no_client_could_ask_for_is_refused(void **state)
{
    char text[1100] = "memory:/", error[EXP_ERROR_MAX];
    struct exports *set;

    (void)state;
    memset(text + 8, 'a', 1024);
    assert_int_equal(exp_load(text, NULL, &set, error), -EINVAL);
    assert_non_null(strstr(error, "is longer than 1024 bytes"));
    text[8 + 1023] = '\0';
    assert_int_equal(exp_load(text, NULL, &set, error), 0);
    exports_put(set);
}

/* What exports_check() says of a file when it is to tell all, with '|' between the lines. */
static void
check_all_mistakes(const char *text, const char *want)
{
    static const char *const files[] = { "exports" };
    static char error[EXPORTS_ERROR_MAX];
    const struct exports_source source = { .files = files, .nfiles = 1, .all_mistakes = true };
    int err;

    exp_write_file(files[0], text, strlen(text));
    err = exports_check(&source, error, sizeof(error));
    for (char *newline = error; (newline = strchr(newline, '\n')) != NULL;)
        *newline = '|';
    if (strcmp(error, want) != 0)
        fail_msg("%s\n   gives %s\n   not   %s", text, error, want);
    assert_int_equal(err, *want == '\0' ? 0 : -EINVAL);
}

static void
all_mistakes_of_a_file_are_told_in_the_order_of_their_places(void **state)
{
    static const struct { const char *text, *want; } rows[] = {
        { "memory:/a *(rw)\nmemory:/b *", "" },
        { "memory:/a *(frob,rw,rtmax=1)\nb *(frab)",
          "exports:1:13: unknown option frob|exports:1:21: rtmax: 1 is out of range (4K to 4M)|"
          "exports:2:1: b is not an absolute path|exports:2:5: unknown option frab" },
        /* What is found when lines are compared comes in its place. */
        { "memory:/a 10.0.0.1 10.0.0.1(rw)\nmemory:/b *(frob)\nmemory:/c *(fsid=1)\nmemory:/d *(fsid=1)",
          "exports:1:20: 10.0.0.1 has other options at exports:1:11|exports:2:13: unknown option frob|"
          "exports:4:11: /d has the fsid of /c at exports:3:11" },
        { "memory:/a *(frob)\nmemory:/b 10.0.0.0/33 * *(rw)",
          "exports:1:13: unknown option frob|exports:2:11: 33 is not a prefix length (0 to 32)|"
          "exports:2:25: * has other options at exports:2:23" },
        /* A mistake is told once: what it spoils is not compared with the rest. */
        { "memory:/a *(rw,frob)\nmemory:/a *(ro)", "exports:1:16: unknown option frob" },
        { "memory:/a *rw)\nmemory:/a *(ro)", "exports:1:14: a ')' without its '('" },
        { "memory:/a -frob 10.0.0.1 *(rw)\nmemory:/a 10.0.0.1(rw)", "exports:1:12: unknown option frob" },
        { "b 10.0.0.1 10.0.0.1(rw) -rw", "exports:1:1: b is not an absolute path" },
        /* The rest of a line that cannot be taken apart means nothing. */
        { "memory:/a \"*(frob)\nmemory:/b *(frab)",
          "exports:1:11: this quote is not closed|exports:2:13: unknown option frab" },
        { "memory:/a 10.0.0.1(frob) \\\n  *(frab)", "exports:1:20: unknown option frob|exports:2:5: unknown option frab" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        check_all_mistakes(rows[i].text, rows[i].want);
}

static void
no_more_than_twenty_mistakes_are_told(void **state)
{
    char text[22 * 24] = "", want[22 * 64] = "";

    (void)state;
    for (unsigned i = 1; i <= EXPORTS_MISTAKES_MAX + 1; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "memory:/%02u *(frob)\n", i);
        if (i <= EXPORTS_MISTAKES_MAX)
            snprintf(want + strlen(want), sizeof(want) - strlen(want), "exports:%u:14: unknown option frob|", i);
    }
    strcat(want, "exports: no more than these 20 mistakes are told");
    check_all_mistakes(text, want);
}

static void
mistakes_that_do_not_fit_are_left_out(void **state)
{
    static const char *const files[] = { "exports" };
    const struct exports_source source = { .files = files, .nfiles = 1, .all_mistakes = true };
    static const char text[] = "memory:/a *(frob)\nmemory:/b *(frobnicate)\n";
    static const char first[] = "exports:1:13: unknown option frob", second[] = "\nexports:2:13: unknown option frobnicate";
    char error[sizeof(first) + sizeof(second)];

    (void)state;
    exp_write_file(files[0], text, strlen(text));
    assert_int_equal(exports_check(&source, error, strlen(first) + strlen(second) + 1), -EINVAL);
    assert_memory_equal(error, first, strlen(first));
    assert_string_equal(error + strlen(first), second);
    assert_int_equal(exports_check(&source, error, strlen(first) + strlen(second)), -EINVAL);
    assert_string_equal(error, first);
    assert_int_equal(exports_check(&source, error, strlen(first)), -EINVAL);
    assert_string_equal(error, "exports:1:13: unknown option fro");
}

static void
all_mistakes_of_all_files_are_told(void **state)
{
    static const char *const files[] = { "missing", "one", "two" };
    const struct exports_source source = { .files = files, .nfiles = 3, .all_mistakes = true };
    char error[EXPORTS_ERROR_MAX];

    (void)state;
    exp_write_file("one", "memory:/a\0\nb *\n", 14);
    exp_write_file("two", "memory:/a *(frob)\n", 18);
    assert_int_equal(exports_check(&source, error, sizeof(error)), -ENOENT);
    assert_string_equal(error, "missing: No such file or directory\none:1:10: a NUL byte\n"
                               "two:1:13: unknown option frob");
}

static void
all_directories_that_are_missing_are_told(void **state)
{
    static const char *const lines[] = { "/nowhere *(rw)", "/proc *", "/x *(path=/neither)" };
    const struct exports_source source = { .lines = lines, .nlines = 3, .all_mistakes = true };
    char error[EXPORTS_ERROR_MAX];
    struct settings settings;
    struct exports *set;

    (void)state;
    settings_init(&settings);
    assert_int_equal(exports_load(&source, &settings, NULL, &set, error, sizeof(error)), -ENOENT);
    assert_string_equal(error, "--export:1:1: /nowhere: No such file or directory\n"
                               "--export:3:4: /neither: No such file or directory");
    settings_fini(&settings);
}

static void
lines_of_the_command_line_are_told_by_their_number(void **state)
{
    static const char *const lines[] = { "memory:/a *(rw)", "memory:/b *(frob)" };
    static const char *const empty[] = { "# nothing" };
    struct exports_source source = { .lines = lines, .nlines = 2 };
    char error[EXP_ERROR_MAX];

    (void)state;
    assert_int_equal(exports_check(&source, error, sizeof(error)), -EINVAL);
    assert_string_equal(error, "--export:2:13: unknown option frob");
    source.lines = empty;
    source.nlines = 1;
    assert_int_equal(exports_check(&source, error, sizeof(error)), -EINVAL);
    assert_string_equal(error, "--export:1:1: no path in this line");
}

static void
checking_opens_no_directory(void **state)
{
    static const char *const lines[] = { "/nowhere *(rw)" };
    const struct exports_source source = { .lines = lines, .nlines = 1 };
    char error[EXP_ERROR_MAX];

    (void)state;
    assert_int_equal(exports_check(&source, error, sizeof(error)), 0);
    assert_string_equal(error, "");
}

static void
a_file_that_cannot_be_read_is_named(void **state)
{
    static const char *const files[] = { "missing" };
    const struct exports_source source = { .files = files, .nfiles = 1 };
    char error[EXP_ERROR_MAX];

    (void)state;
    assert_int_equal(exports_check(&source, error, sizeof(error)), -ENOENT);
    assert_string_equal(error, "missing: No such file or directory");
}

static void
a_directory_stands_for_its_exports_files_in_order(void **state)
{
    static const char *const files[] = { "missing.d/", "exports.d/" };
    const struct exports_source source = { .files = files, .nfiles = 2 };
    char error[EXP_ERROR_MAX], got[EXP_ERROR_MAX];
    struct exports *set;

    (void)state;
    assert_int_equal(mkdir("exports.d", 0700), 0);
    exp_write_file("exports.d/b.exports", "memory:/a *", 11);
    exp_write_file("exports.d/a.exports", "memory:/a 10.0.0.1(rw)\n", 23);
    exp_write_file("exports.d/.hidden.exports", "memory:/h", 9);
    exp_write_file("exports.d/c.exports~", "memory:/c", 9);
    assert_int_equal(exp_load_from(&source, NULL, &set, error), 0);
    exp_say(got, set);
    assert_string_equal(got, "/a: 10.0.0.1 rw, * ro");
    exports_put(set);
    exp_write_file("exports.d/b.exports", "memory:/a *(x)", 14);
    assert_int_equal(exp_load_from(&source, NULL, &set, error), -EINVAL);
    assert_string_equal(error, "exports.d/b.exports:1:13: unknown option x");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_as_exports_5_says),
        cmocka_unit_test(mistakes_are_told_with_file_line_and_column),
        cmocka_unit_test(what_may_surprise_is_told_as_a_warning),
        cmocka_unit_test(a_space_before_the_bracket_gives_everyone_the_options),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(a_line_of_ten_megabytes_is_refused),
        cmocka_unit_test(a_path_that_no_client_could_ask_for_is_refused),
        cmocka_unit_test(all_mistakes_of_a_file_are_told_in_the_order_of_their_places),
        cmocka_unit_test(no_more_than_twenty_mistakes_are_told),
        cmocka_unit_test(mistakes_that_do_not_fit_are_left_out),
        cmocka_unit_test(all_mistakes_of_all_files_are_told),
        cmocka_unit_test(all_directories_that_are_missing_are_told),
        cmocka_unit_test(lines_of_the_command_line_are_told_by_their_number),
        cmocka_unit_test(checking_opens_no_directory),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(a_directory_stands_for_its_exports_files_in_order),
    };

    return cmocka_run_group_tests(tests, exp_set_up, exp_tear_down);
}
