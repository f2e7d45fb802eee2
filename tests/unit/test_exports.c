/* tests/unit/test_exports.c - the language of exports(5): what lines mean, and how mistakes in them are told. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/export_view.h"
#include "server/exports.h"
#include "tests/lib/fake_hosts.h"

#define ERROR_MAX 1024
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define NO_HOST "this is not a host name (letters, digits, '-', '_' and '.')"
#define NO_ADDRESS "this is not an IPv4 or IPv6 address"
#define NO_PATTERN "this is not a pattern for host names (letters, digits, '-', '_', '.', and * ? [...])"
#define NO_NETWORK "a network is ADDRESS/BITS or ADDRESS/NETMASK, and this does not begin with an address"

static const char file_name[] = "exports";
static struct settings settings;

static void
write_file(const char *name, const void *data, size_t len)
{
    FILE *file = fopen(name, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* Load what a file of this text says. */
static int
load_bytes(const void *text, size_t len, struct exports *old, struct exports **set, char *error)
{
    static const char *const files[] = { file_name };
    const struct exports_source source = { .files = files, .nfiles = 1 };

    write_file(file_name, text, len);
    *set = NULL;
    return exports_load(&source, &settings, old, set, error, ERROR_MAX);
}

static int
load(const char *text, struct exports *old, struct exports **set, char *error)
{
    return load_bytes(text, strlen(text), old, set, error);
}

static struct exports *
must_load(const char *text, struct exports *old)
{
    char error[ERROR_MAX];
    struct exports *set;

    if (load(text, old, &set, error) != 0)
        fail_msg("%s: %s", text, error);
    return set;
}

static void
say(char *out, const char *format, ...)
{
    size_t used = strlen(out);
    va_list args;

    va_start(args, format);
    vsnprintf(out + used, ERROR_MAX - used, format, args);
    va_end(args);
}

/* A client and what differs from the defaults: "10.0.0.1 rw anonuid=7". */
static void
say_client(char *out, const struct export_client *client)
{
    const struct export_rights *rights = &client->rights;
    unsigned i;

    say(out, "%s %s", client->text, rights->usual.read_only ? "ro" : "rw");
    say(out, "%s%s%s", rights->async ? " async" : "", rights->secure ? "" : " insecure",
        rights->wdelay ? "" : " no_wdelay");
    say(out, "%s%s%s", rights->usual.root_squash ? "" : " no_root_squash", rights->usual.all_squash ? " all_squash" : "",
        rights->subtree_check ? " subtree_check" : "");
    for (i = 0; i < rights->nsec; i++)
        say(out, " %u:%s%s%s", rights->sec[i].flavor, rights->sec[i].read_only ? "ro" : "rw",
            rights->sec[i].root_squash ? "" : ":no_root_squash", rights->sec[i].all_squash ? ":all_squash" : "");
    if (rights->anon_uid != 65534)
        say(out, " anonuid=%u", rights->anon_uid);
    if (rights->anon_gid != 65534)
        say(out, " anongid=%u", rights->anon_gid);
    if (rights->has_fsid)
        say(out, " fsid=%llx:%llx", (unsigned long long)rights->fsid[0], (unsigned long long)rights->fsid[1]);
    if (rights->dir != NULL)
        say(out, " path=%s", rights->dir);
    say(out, "%s%s%s%s%s", rights->manage_gids ? " manage_gids" : "", rights->readdirplus ? "" : " nordirplus",
        rights->acl ? "" : " no_acl", rights->noatime ? " noatime" : "", rights->nodiratime ? " nodiratime" : "");
    if (rights->mount_point != NULL)
        say(out, " mountpoint=%s", rights->mount_point);
    if (rights->rtpref != 0 || rights->wtpref != 0)
        say(out, " rtpref=%u wtpref=%u", rights->rtpref, rights->wtpref);
    if (rights->io != STORE_IO_AUTO)
        say(out, " io=%d", rights->io);
    if (rights->readahead != 0)
        say(out, " readahead=%u", rights->readahead);
    if (rights->max_rate != 0 || rights->max_iops != 0)
        say(out, " max_rate=%llu max_iops=%u", (unsigned long long)rights->max_rate, rights->max_iops);
    if (rights->rtmax != 0 || rights->wtmax != 0 || rights->dtpref != 0)
        say(out, " rtmax=%u wtmax=%u dtpref=%u", rights->rtmax, rights->wtmax, rights->dtpref);
}

/* "PATH: CLIENT, CLIENT; PATH: ..." */
static void
say_exports(char *out, const struct exports *set)
{
    size_t i, j;

    out[0] = '\0';
    for (i = 0; i < set->count; i++) {
        say(out, "%s%s:", i > 0 ? "; " : "", set->list[i].path);
        for (j = 0; j < set->list[i].nclients; j++) {
            say(out, "%s", j > 0 ? ", " : " ");
            say_client(out, &set->list[i].clients[j]);
        }
    }
}

struct row {
    const char *text, *want;            /* want: the exports, or the error, or behind a '!' the warning */
};

static void
check_row(const struct row *row)
{
    char error[ERROR_MAX], got[ERROR_MAX + 1];
    struct exports *set;
    int err = load(row->text, NULL, &set, error);

    if (err < 0)
        snprintf(got, sizeof(got), "%s", error);
    else if (row->want[0] == '!')
        snprintf(got, sizeof(got), "!%s", error);
    else
        say_exports(got, set);
    exports_put(set);
    if (strcmp(got, row->want) != 0)
        fail_msg("%s\n   gives %s\n   not   %s", row->text, got, row->want);
}

static void
check_rows(const struct row *rows, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        check_row(&rows[i]);
}

static void
lines_are_read_as_exports_5_says(void **state)
{
    static const struct row rows[] = {
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
    check_rows(rows, COUNT(rows));
}

static void
options_do_what_they_say(void **state)
{
    static const struct row rows[] = {
        { "memory:/a *(ro)", "/a: * ro" },
        { "memory:/a *(ro,rw)", "/a: * rw" },
        { "memory:/a *(rw,ro)", "/a: * ro" },
        { "memory:/a *(rw,,sync,)", "/a: * rw" },
        { "memory:/a *(async)", "/a: * ro async" },
        { "memory:/a *(async,sync)", "/a: * ro" },
        { "memory:/a *(insecure)", "/a: * ro insecure" },
        { "memory:/a *(insecure,secure)", "/a: * ro" },
        { "memory:/a *(no_wdelay)", "/a: * ro no_wdelay" },
        { "memory:/a *(no_wdelay,wdelay)", "/a: * ro" },
        { "memory:/a *(no_root_squash)", "/a: * ro no_root_squash" },
        { "memory:/a *(no_root_squash,root_squash)", "/a: * ro" },
        { "memory:/a *(all_squash)", "/a: * ro all_squash" },
        { "memory:/a *(all_squash,no_all_squash)", "/a: * ro" },
        { "memory:/a *(anonuid=1000,anongid=100)", "/a: * ro anonuid=1000 anongid=100" },
        { "memory:/a *(anonuid=0)", "/a: * ro anonuid=0" },
        { "memory:/a *(anonuid=-2)", "/a: * ro anonuid=4294967294" },
        { "memory:/a *(anongid=4294967294)", "/a: * ro anongid=4294967294" },
        { "memory:/a *(fsid=0)", "/a: * ro fsid=0:0" },
        { "memory:/a *(fsid=root)", "/a: * ro fsid=0:0" },
        { "memory:/a *(fsid=4294967295)", "/a: * ro fsid=0:ffffffff" },
        { "memory:/a *(fsid=0123456789abcdefFEDCBA9876543210)", "/a: * ro fsid=123456789abcdef:fedcba9876543210" },
        { "memory:/a *(fsid=01234567-89ab-cdef-fedc-ba9876543210)",
          "/a: * ro fsid=123456789abcdef:fedcba9876543210" },
        { "memory:/a *(rtmax=64K,wtmax=131072,dtpref=8k)", "/a: * ro rtmax=65536 wtmax=131072 dtpref=8192" },
        { "memory:/a *(rw,no_subtree_check,hide,nocrossmnt,auth_nlm,secure_locks,no_pnfs,sec=sys)", "/a: * rw 1:rw" },
        { "memory:/a *(no_acl)", "/a: * ro no_acl" },
        { "memory:/a *(acl)", "/a: * ro" },
        { "memory:/a -no_acl 10.0.0.1 *(acl,rw)", "/a: 10.0.0.1 ro no_acl, * rw" },
        { "memory:/a *(sec=none)", "/a: * ro 0:ro" },
        { "memory:/a *(rw,sec=unix:null)", "/a: * rw 1:rw 0:rw" },
        { "memory:/a *(sec=none:sys,rw)", "/a: * ro 0:rw 1:rw" },
        { "memory:/a *(sec=sys:sys:none)", "/a: * ro 1:ro 0:ro" },
        { "memory:/a *(sec=sys,rw,no_root_squash,sec=none,all_squash)", "/a: * ro 1:rw:no_root_squash 0:ro:all_squash" },
        { "memory:/a *(no_root_squash,sec=sys,rw,sec=none)",
          "/a: * ro no_root_squash 1:rw:no_root_squash 0:ro:no_root_squash" },
        { "memory:/a *(sec=sys,rw,sec=none,sec=sys,ro)", "/a: * ro 1:ro 0:ro" },
        { "memory:/a *(sec=sys,async,insecure,sec=none,anonuid=7)", "/a: * ro async insecure 1:ro 0:ro anonuid=7" },
        { "memory:/a -sec=sys,ro 10.0.0.1(rw) *(sec=none,rw)", "/a: 10.0.0.1 rw 1:rw, * ro 1:ro 0:rw" },
#ifdef HAVE_KERBEROS
        { "memory:/a *(sec=krb5p:krb5i:krb5:sys)", "/a: * ro 390005:ro 390004:ro 390003:ro 1:ro" },
        { "memory:/a *(sec=krb5:krb5i,rw,sec=sys,ro)", "/a: * ro 390003:rw 390004:rw 1:ro" },
#endif
        { "memory:/a *(manage_gids)", "/a: * ro manage_gids" },
        { "memory:/a -manage_gids 10.0.0.1 *(rw)", "/a: 10.0.0.1 ro manage_gids, * rw manage_gids" },
        { "memory:/a *(nordirplus)", "/a: * ro nordirplus" },
        { "memory:/a *(noatime)", "/a: * ro noatime" },
        { "memory:/a *(nodiratime,rw)", "/a: * rw nodiratime" },
        { "memory:/a *(rtpref=64K)", "/a: * ro rtpref=65536 wtpref=0" },
        { "memory:/a *(rtpref=4K,wtpref=4M)", "/a: * ro rtpref=4096 wtpref=4194304" },
        { "memory:/a *(max_rate=10m)", "/a: * ro max_rate=10485760 max_iops=0" },
        { "memory:/a *(max_rate=1000000)", "/a: * ro max_rate=1000000 max_iops=0" },
        { "memory:/a *(max_rate=1024G,max_iops=100000000)", "/a: * ro max_rate=1099511627776 max_iops=100000000" },
        { "memory:/a 10.0.0.1(max_iops=1) *", "/a: 10.0.0.1 ro max_rate=0 max_iops=1, * ro" },
        { "memory:/a *(io=auto)", "/a: * ro" },
        { "memory:/a *(io=buffered)", "/a: * ro io=1" },
        { "memory:/a *(io=dontcache)", "/a: * ro io=2" },
        { "memory:/a *(io=direct)", "/a: * ro io=3" },
        { "memory:/a *(io=direct,io=auto)", "/a: * ro" },
        { "memory:/a *(readahead=4M)", "/a: * ro readahead=4194304" },
        { "memory:/a *(readahead=64m,readahead=0)", "/a: * ro" },
        { "memory:/a *(mountpoint=/proc)", "/a: * ro mountpoint=/proc" },
        { "memory:/a *(mp=/proc)", "/a: * ro mountpoint=/proc" },
        { "memory:/a *(mp=/x,mountpoint=/proc)", "/a: * ro mountpoint=/proc" },
        { "memory:/a -mp=/proc 10.0.0.1 10.0.0.2(rw)",
          "/a: 10.0.0.1 ro mountpoint=/proc, 10.0.0.2 rw mountpoint=/proc" },
        { "/x *(path=/,mp)", "/x: * ro path=/ mountpoint=" },
        { "/x *(path=/,mountpoint=/proc)", "/x: * ro path=/ mountpoint=/proc" },
        { "/x *(path=/tmp,mountpoint=/proc,mp)", "/x: * ro path=/tmp mountpoint=" },
        { "memory:/a -rw *", "/a: * rw" },
        { "memory:/a -rw", "/a: * rw" },
        { "memory:/a -rw,async 10.0.0.1 10.0.0.2(sync)", "/a: 10.0.0.1 rw async, 10.0.0.2 rw" },
        { "memory:/a 10.0.0.1 -rw 10.0.0.2 -async 10.0.0.3", "/a: 10.0.0.1 ro, 10.0.0.2 rw, 10.0.0.3 rw async" },
        { "memory:/a -rw *\nmemory:/b *", "/a: * rw; /b: * ro" },
        { "/x *(path=/)", "/x: * ro path=/" },
        { "/x *(path=\"/\")", "/x: * ro path=/" },
    };

    (void)state;
    check_rows(rows, COUNT(rows));
}

static void
clients_are_addresses_networks_and_everyone(void **state)
{
    static const struct row rows[] = {
        { "memory:/a 10.0.0.1", "/a: 10.0.0.1 ro" },
        { "memory:/a 10.0.0.0/8", "/a: 10.0.0.0/8 ro" },
        { "memory:/a 10.0.0.0/255.255.252.0", "/a: 10.0.0.0/255.255.252.0 ro" },
        { "memory:/a 0.0.0.0/0.0.0.0", "/a: 0.0.0.0/0.0.0.0 ro" },
        { "memory:/a 10.0.0.1/32(rw)", "/a: 10.0.0.1/32 rw" },
        { "memory:/a 2001:db8::1(rw)", "/a: 2001:db8::1 rw" },
        { "memory:/a 2001:db8::/32(rw)", "/a: 2001:db8::/32 rw" },
        { "memory:/a ::/0", "/a: ::/0 ro" },
        { "memory:/a localhost(rw)", "/a: localhost rw, ::1 rw" },
        { "memory:/a *(ro) 10.0.0.0/8 10.1.0.0/16 10.1.2.3(rw)",
          "/a: 10.1.2.3 rw, 10.0.0.0/8 ro, 10.1.0.0/16 ro, * ro" },
        { "memory:/a 10.0.0.1(rw)\nmemory:/b *\nmemory:/a 10.0.0.2", "/a: 10.0.0.1 rw, 10.0.0.2 ro; /b: * ro" },
        { "memory:/a 10.0.0.1 10.0.0.1", "/a: 10.0.0.1 ro" },
        { "memory:/a 10.9.9.9/8 10.0.0.0/8", "/a: 10.9.9.9/8 ro" },
        { "memory:/a ::ffff:10.0.0.1 10.0.0.1", "/a: ::ffff:10.0.0.1 ro" },
        { "memory:/a 10.0.0.1 10.0.0.1/32", "/a: 10.0.0.1 ro, 10.0.0.1/32 ro" },
        { "memory:/a ::ffff:10.0.0.0/104 10.0.0.0/8", "/a: ::ffff:10.0.0.0/104 ro" },
        { "memory:/a LOCALHOST", "/a: LOCALHOST ro, ::1 ro" },
        { "memory:/a localhost 127.0.0.1 ::1", "/a: localhost ro, ::1 ro" },
        { "memory:/a fe80::1 FE80::1", "/a: fe80::1 ro" },

        { "memory:/a 10.0.0", "exports:1:11: 10.0.0: this is not an IPv4 or IPv6 address" },
        { "memory:/a 10.0.0.256", "exports:1:11: 10.0.0.256: this is not an IPv4 or IPv6 address" },
        { "memory:/a 2001:db8::g", "exports:1:11: 2001:db8::g: this is not an IPv4 or IPv6 address" },
        { "memory:/a [::1]", "exports:1:11: [::1]: an IPv6 address is written without brackets" },
        { "memory:/a 10.0.0.0/33", "exports:1:11: 33 is not a prefix length (0 to 32)" },
        { "memory:/a 10.0.0.0/", "exports:1:11:  is not a prefix length (0 to 32)" },
        { "memory:/a 10.0.0.0/8x", "exports:1:11: 8x is not a prefix length (0 to 32)" },
        { "memory:/a ::/129", "exports:1:11: 129 is not a prefix length (0 to 128)" },
        { "memory:/a 10.0.0.0/255.0.255.0",
          "exports:1:11: 255.0.255.0 is not a netmask (ones, then zeros, as 255.255.252.0)" },
        { "memory:/a 10.0.0.0/255.0", "exports:1:11: 255.0 is not a netmask (ones, then zeros, as 255.255.252.0)" },
        { "memory:/a ::/255.0.0.0", "exports:1:11: 255.0.0.0 is not a prefix length (0 to 128)" },
        { "memory:/a 10.0.0.1 10.0.0.1(rw)", "exports:1:20: 10.0.0.1 has other options at exports:1:11" },
        { "memory:/a * (rw)", "exports:1:13: everyone has other options at exports:1:11" },
        { "memory:/a 10.0.0.0/8(rw)\n\nmemory:/a 10.1.1.1/8", "exports:3:11: 10.1.1.1/8 has other options at "
                                                             "exports:1:11" },
    };

    (void)state;
    check_rows(rows, COUNT(rows));
}

static void
clients_are_names_patterns_and_netgroups(void **state)
{
    static const struct row rows[] = {
        { "memory:/a host", "/a: host ro" },
        { "memory:/a host.example.org(rw)", "/a: host.example.org rw" },
        { "memory:/a Host_1-a.example.org.(rw)", "/a: Host_1-a.example.org. rw" },
        { "memory:/a 1host 3com.example", "/a: 1host ro, 3com.example ro" },
        { "memory:/a *.example.org(rw)", "/a: *.example.org rw" },
        { "memory:/a web?.example.org web[0-9] [!a-c]*", "/a: web?.example.org ro, web[0-9] ro, [!a-c]* ro" },
        { "memory:/a web[]x] w[^]]", "/a: web[]x] ro, w[^]] ro" },
        { "memory:/a @trusted(rw)", "/a: @trusted rw" },
        { "memory:/a @a/b", "/a: @a/b ro" },
        { "memory:/a ** ?", "/a: ** ro, ? ro" },
        { "memory:/a *(ro) @g(rw) *.x(rw) 10.0.0.0/8(rw) h(rw) 10.0.0.1",
          "/a: h rw, 10.0.0.1 ro, 10.0.0.0/8 rw, *.x rw, @g rw, * ro" },
        { "memory:/a @h @g b*.x a*.x b a", "/a: b ro, a ro, b*.x ro, a*.x ro, @h ro, @g ro" },
        { "memory:/a 10.1.0.0/16 10.0.0.0/8 10.1.2.0/24", "/a: 10.1.0.0/16 ro, 10.0.0.0/8 ro, 10.1.2.0/24 ro" },
        { "memory:/a host HOST", "/a: host ro" },
        { "memory:/a @g @G", "/a: @g ro, @G ro" },
        { "memory:/a host *", "/a: host ro, * ro" },

        { "memory:/a ho!st", "exports:1:11: ho!st: " NO_HOST },
        { "memory:/a host\\040name", "exports:1:11: host name: " NO_HOST },
        { "memory:/a \303\274ber", "exports:1:11: \\303\\274ber: " NO_HOST },
        { "memory:/a host,other", "exports:1:11: host,other: " NO_HOST },
        { "memory:/a host]", "exports:1:11: host]: " NO_HOST },
        { "memory:/a *.exa$mple", "exports:1:11: *.exa$mple: " NO_PATTERN },
        { "memory:/a web[0-9", "exports:1:11: web[0-9: this '[' is not closed" },
        { "memory:/a web[0-9][", "exports:1:11: web[0-9][: this '[' is not closed" },
        { "memory:/a web[]", "exports:1:11: web[]: this '[' is not closed" },
        { "memory:/a web[!", "exports:1:11: web[!: this '[' is not closed" },
        { "memory:/a @", "exports:1:11: @: the name of the netgroup is missing" },
        { "memory:/a @(rw)", "exports:1:11: @: the name of the netgroup is missing" },
        { "memory:/a host/24", "exports:1:11: host/24: " NO_NETWORK },
        { "memory:/a 10.0.0/8", "exports:1:11: 10.0.0/8: " NO_NETWORK },
        { "memory:/a *.example.org/8", "exports:1:11: *.example.org/8: " NO_NETWORK },
        { "memory:/a gss/krb5p(rw)",
          "exports:1:11: gss/krb5p: Kerberos is asked for with the option sec=, not with a client" },
        { "memory:/a host:/b", "exports:1:11: host:/b: " NO_NETWORK },
        { "memory:/a host:b", "exports:1:11: host:b: " NO_ADDRESS },
        { "memory:/a 1.2.3.4.5", "exports:1:11: 1.2.3.4.5: " NO_ADDRESS },
        { "memory:/a 10", "exports:1:11: 10: " NO_ADDRESS },
        { "memory:/a fe80::1%eth0", "exports:1:11: fe80::1%eth0: " NO_ADDRESS },
        { "memory:/a [2001:db8::1]", "exports:1:11: [2001:db8::1]: an IPv6 address is written without brackets" },
        { "memory:/a host(rw) Host(ro)", "exports:1:20: Host has other options at exports:1:11" },
        { "memory:/a @g(rw)\n\n memory:/a @g", "exports:3:12: @g has other options at exports:1:11" },
        { "memory:/a *.x(rw) *.X", "exports:1:19: *.X has other options at exports:1:11" },
    };

    (void)state;
    check_rows(rows, COUNT(rows));
}

static void
names_have_a_longest_length(void **state)
{
    char text[400] = "memory:/a @", error[ERROR_MAX];
    struct exports *set;

    (void)state;
    memset(text + 11, 'n', 255);
    assert_int_equal(load(text, NULL, &set, error), 0);
    exports_put(set);
    text[11 + 255] = 'n';
    assert_int_equal(load(text, NULL, &set, error), -EINVAL);
    assert_non_null(strstr(error, "too long for the name of a netgroup (at most 255 bytes)"));
    text[10] = 'n';
    text[10 + 253] = '\0';
    assert_int_equal(load(text, NULL, &set, error), 0);
    exports_put(set);
    text[10 + 253] = 'n';
    assert_int_equal(load(text, NULL, &set, error), -EINVAL);
    assert_non_null(strstr(error, "too long for a host name (at most 253 bytes)"));
}

static void
mistakes_are_told_with_file_line_and_column(void **state)
{
    static const struct row rows[] = {
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
    check_rows(rows, COUNT(rows));
}

static void
what_may_surprise_is_told_as_a_warning(void **state)
{
    static const struct row rows[] = {
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
    check_rows(rows, COUNT(rows));
}

static void
a_space_before_the_bracket_gives_everyone_the_options(void **state)
{
    struct exports *set = must_load("memory:/a 10.0.0.1 (rw)", NULL);
    char got[ERROR_MAX];

    (void)state;
    say_exports(got, set);
    assert_string_equal(got, "/a: 10.0.0.1 ro, * rw");
    exports_put(set);
}

static void
a_nul_byte_is_refused(void **state)
{
    static const char text[] = "memory:/a *(rw)\nmemory:/b\0 *(rw)\n";
    char error[ERROR_MAX];
    struct exports *set;

    (void)state;
    assert_int_equal(load_bytes(text, sizeof(text) - 1, NULL, &set, error), -EINVAL);
    assert_string_equal(error, "exports:2:10: a NUL byte");
}

static void
a_line_of_ten_megabytes_is_refused(void **state)
{
    size_t len = 10 << 20;
    char *text = malloc(len), error[ERROR_MAX];
    struct exports *set;

    (void)state;
    assert_non_null(text);
    memset(text, 'a', len);
    memcpy(text, "# short\n", 8);
    assert_int_equal(load_bytes(text, len, NULL, &set, error), -EINVAL);
    assert_string_equal(error, "exports:2:1: the line is too long (at most 65536 bytes)");
    free(text);
}

static void
a_path_that_no_client_could_ask_for_is_refused(void **state)
{
    char text[1100] = "memory:/", error[ERROR_MAX];
    struct exports *set;

    (void)state;
    memset(text + 8, 'a', 1024);
    assert_int_equal(load(text, NULL, &set, error), -EINVAL);
    assert_non_null(strstr(error, "is longer than 1024 bytes"));
    text[8 + 1023] = '\0';
    assert_int_equal(load(text, NULL, &set, error), 0);
    exports_put(set);
}

static void
lines_of_the_command_line_are_told_by_their_number(void **state)
{
    static const char *const lines[] = { "memory:/a *(rw)", "memory:/b *(frob)" };
    static const char *const empty[] = { "# nothing" };
    struct exports_source source = { .lines = lines, .nlines = 2 };
    char error[ERROR_MAX];

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
    char error[ERROR_MAX];

    (void)state;
    assert_int_equal(exports_check(&source, error, sizeof(error)), 0);
    assert_string_equal(error, "");
}

static void
a_file_that_cannot_be_read_is_named(void **state)
{
    static const char *const files[] = { "missing" };
    const struct exports_source source = { .files = files, .nfiles = 1 };
    char error[ERROR_MAX];

    (void)state;
    assert_int_equal(exports_check(&source, error, sizeof(error)), -ENOENT);
    assert_string_equal(error, "missing: No such file or directory");
}

static void
a_directory_stands_for_its_exports_files_in_order(void **state)
{
    static const char *const files[] = { "missing.d/", "exports.d/" };
    const struct exports_source source = { .files = files, .nfiles = 2 };
    char error[ERROR_MAX], got[ERROR_MAX];
    struct exports *set;

    (void)state;
    assert_int_equal(mkdir("exports.d", 0700), 0);
    write_file("exports.d/b.exports", "memory:/a *", 11);
    write_file("exports.d/a.exports", "memory:/a 10.0.0.1(rw)\n", 23);
    write_file("exports.d/.hidden.exports", "memory:/h", 9);
    write_file("exports.d/c.exports~", "memory:/c", 9);
    assert_int_equal(exports_load(&source, &settings, NULL, &set, error, sizeof(error)), 0);
    say_exports(got, set);
    assert_string_equal(got, "/a: 10.0.0.1 rw, * ro");
    exports_put(set);
    write_file("exports.d/b.exports", "memory:/a *(x)", 14);
    assert_int_equal(exports_load(&source, &settings, NULL, &set, error, sizeof(error)), -EINVAL);
    assert_string_equal(error, "exports.d/b.exports:1:13: unknown option x");
}

static struct peer_address
peer(const char *text)
{
    struct sockaddr_storage address = { 0 };
    struct sockaddr_in *in = (struct sockaddr_in *)&address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&address;
    struct peer_address bytes;

    if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
        address.ss_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
        address.ss_family = AF_INET6;
    }
    peer_address_init(&bytes, (struct sockaddr *)&address);
    return bytes;
}

/* What a caller may do, once the names are known. hosts: NULL for an export that uses none. */
static const struct export_rights *
rights_of(const struct export *export, struct hosts *hosts, const char *text)
{
    struct peer_address address = peer(text);
    struct hosts_query query = { .peer = &address, .until_ms = UINT64_MAX };
    const struct export_rights *rights;
    int err;

    assert_true(export->uses_names == (hosts != NULL));
    while ((err = access_rights(export, hosts, &query, &rights)) == -EAGAIN)
        usleep(1000);
    assert_int_equal(err, 0);
    return rights;
}

/* The anonuid says which client it is; 0: none. */
struct match_row {
    const char *peer;
    unsigned want;
};

static void
check_matches(const char *text, struct hosts *hosts, const struct match_row *rows, size_t count)
{
    struct exports *set = must_load(text, NULL);
    size_t i;

    for (i = 0; i < count; i++) {
        const struct export_rights *rights = rights_of(&set->list[0], hosts, rows[i].peer);
        unsigned got = rights != NULL ? rights->anon_uid : 0;

        if (got != rows[i].want)
            fail_msg("%s is client %u, not %u", rows[i].peer, got, rows[i].want);
    }
    exports_put(set);
}

static void
an_address_goes_before_the_networks_and_the_first_of_them_counts(void **state)
{
    static const char text[] =
        "memory:/a *(anonuid=1) 10.1.2.128/255.255.255.128(anonuid=7) 10.1.0.0/16(anonuid=3) \\\n"
        "  10.0.0.0/8(anonuid=2) 10.1.9.0/24(anonuid=9) 10.1.2.3(anonuid=4) 10.1.2.4/32(anonuid=10) \\\n"
        "  2001:db8:8000::/33(anonuid=8) 2001:db8::/32(anonuid=5) 2001:db8::1(anonuid=6)";
    static const struct match_row rows[] = {
        { "192.0.2.1", 1 }, { "10.2.0.1", 2 }, { "10.1.3.1", 3 }, { "10.1.2.3", 4 }, { "10.1.2.4", 3 },
        { "10.1.2.128", 7 }, { "10.1.2.255", 7 }, { "10.1.2.127", 3 }, { "9.255.255.255", 1 }, { "11.0.0.0", 1 },
        { "10.1.9.1", 3 }, { "::ffff:10.1.2.3", 4 }, { "::ffff:10.2.0.1", 2 }, { "2001:db8::2", 5 },
        { "2001:db8::1", 6 }, { "2001:db9::1", 1 }, { "2001:db8:8000::1", 8 }, { "::1", 1 },
    };

    (void)state;
    check_matches(text, NULL, rows, COUNT(rows));
}

static void
the_order_of_lines_decides_among_networks_not_their_size(void **state)
{
    static const struct match_row rows[] = { { "10.1.0.1", 1 }, { "10.2.0.1", 1 }, { "11.0.0.1", 3 } };
    static const struct match_row turned[] = { { "10.1.0.1", 2 }, { "10.2.0.1", 1 }, { "11.0.0.1", 3 } };

    (void)state;
    check_matches("memory:/a 10.0.0.0/8(anonuid=1)\nmemory:/a 10.1.0.0/16(anonuid=2)\n"
                  "memory:/a 0.0.0.0/0(anonuid=3)", NULL, rows, COUNT(rows));
    check_matches("memory:/a 10.1.0.0/16(anonuid=2)\nmemory:/a 10.0.0.0/8(anonuid=1)\n"
                  "memory:/a 0.0.0.0/0(anonuid=3)", NULL, turned, COUNT(turned));
}

static struct hosts *
start_hosts(struct fake_hosts *fake)
{
    static const struct log silent = { .fd = -1 };
    const struct hosts_config config = { .source = &fake->source, .log = &silent, .entries = 1000, .ttl_ms = 60000,
                                         .waiting = 1, .waiting_each = 1 };
    struct hosts *hosts;

    fake_hosts_init(fake);
    fake_host(fake, "a.lab.example.org", "10.0.0.1");
    fake_host(fake, "b.lab.example.org", "10.0.0.2");
    fake_alias(fake, "b.lab.example.org", "www.example.org");
    fake_host(fake, "c.example.com", "10.0.0.3");
    fake_host(fake, "d", "2001:db8::4");
    fake_name(fake, "10.0.0.66", "a.lab.example.org");
    fake_address(fake, "both", "10.0.0.5");
    fake_address(fake, "both", "2001:db8::5");
    fake_member(fake, "lab", "a.lab.example.org");
    fake_member(fake, "lab", "b");
    fake_member(fake, "numbers", "10.0.0.9");
    assert_int_equal(hosts_new(&config, &hosts), 0);
    return hosts;
}

static void
kinds_of_clients_have_an_order(void **state)
{
    static const struct match_row by_kind[] = {
        { "10.0.0.1", 1 }, { "10.0.0.2", 2 }, { "10.0.0.3", 2 }, { "192.0.2.1", 5 }, { "2001:db8::4", 4 },
        { "10.0.0.66", 2 }, { "::1", 5 },
    };
    static const struct match_row hosts_first[] = {
        { "10.0.0.1", 1 }, { "10.0.0.2", 1 }, { "10.0.0.5", 3 }, { "2001:db8::5", 3 }, { "10.0.0.3", 0 },
    };
    static const struct match_row wildcards[] = {
        { "10.0.0.1", 1 }, { "10.0.0.2", 1 }, { "10.0.0.3", 2 }, { "2001:db8::4", 3 }, { "10.0.0.66", 0 },
        { "10.0.0.77", 0 }, { "10.0.0.5", 0 },
    };
    static const struct match_row netgroups[] = {
        { "10.0.0.1", 1 }, { "10.0.0.2", 1 }, { "10.0.0.3", 3 }, { "10.0.0.9", 2 }, { "10.0.0.66", 3 },
    };
    struct fake_hosts fake;
    struct hosts *hosts = start_hosts(&fake);

    (void)state;
    check_matches("memory:/a *(anonuid=5) @lab(anonuid=3) ?(anonuid=4) 10.0.0.0/8(anonuid=2) "
                  "a.lab.example.org(anonuid=1)", hosts, by_kind, COUNT(by_kind));
    check_matches("memory:/a a.lab.example.org(anonuid=1) 10.0.0.1(anonuid=2) 10.0.0.2(anonuid=1) "
                  "b.lab.example.org(anonuid=2) both(anonuid=3)", hosts, hosts_first, COUNT(hosts_first));
    check_matches("memory:/a *.org(anonuid=1) *.lab.*(anonuid=2) c.*(anonuid=2) ?(anonuid=3) @lab(anonuid=4)", hosts,
                  wildcards, COUNT(wildcards));
    check_matches("memory:/a @lab(anonuid=1) @numbers(anonuid=2) *(anonuid=3)", hosts, netgroups, COUNT(netgroups));
    hosts_free(hosts);
    fake_hosts_fini(&fake);
}

static void
a_name_that_is_not_known_yet_decides_nothing(void **state)
{
    struct exports *set = must_load("memory:/a client(ro) 10.0.0.1(rw) 10.0.0.0/8(rw) *(rw)", NULL);
    struct peer_address address = peer("10.0.0.1"), other = peer("10.0.0.2");
    struct hosts_query query = { .peer = &address };
    const struct export_rights *rights;
    struct fake_hosts fake;
    struct hosts *hosts = start_hosts(&fake);

    (void)state;
    fake_block(&fake, true);
    assert_int_equal(access_rights(&set->list[0], hosts, &query, &rights), -EAGAIN);
    query.peer = &other;
    assert_int_equal(access_rights(&set->list[0], hosts, &query, &rights), -EAGAIN);
    fake_address(&fake, "client", "10.0.0.1");
    fake_block(&fake, false);
    assert_true(rights_of(&set->list[0], hosts, "10.0.0.1")->usual.read_only);
    assert_false(rights_of(&set->list[0], hosts, "10.0.0.2")->usual.read_only);
    hosts_free(hosts);
    fake_hosts_fini(&fake);
    exports_put(set);
}

static void
host_names_of_a_set_can_be_fetched_ahead(void **state)
{
    struct exports *set = must_load("memory:/a a.lab.example.org *.org @lab\nmemory:/b both", NULL);
    struct fake_hosts fake;
    struct hosts *hosts = start_hosts(&fake);

    (void)state;
    access_prefetch(set, hosts);
    for (int i = 0; i < 10000 && atomic_load(&fake.asked) < 2; i++)
        usleep(1000);
    assert_int_equal(atomic_load(&fake.asked), 2);
    hosts_free(hosts);
    fake_hosts_fini(&fake);
    exports_put(set);
}

static void
decisions_that_are_remembered_are_those_that_would_be_made(void **state)
{
    struct exports *set = must_load("memory:/a 10.1.0.0/16(rw) 10.2.3.4 10.0.0.0/8\nmemory:/b 10.0.0.0/9 *", NULL);
    struct export_view *view = export_view_new(set);
    struct sockaddr_in caller = { .sin_family = AF_INET };
    struct peer_address address;
    struct hosts_query query = { .peer = &address };
    const struct export_rights *got, *want;
    const struct export *export;
    uint32_t i;

    (void)state;
    assert_non_null(view);
    for (i = 0; i < 100000; i++) {
        caller.sin_addr.s_addr = htonl(0x09ff0000 + i % 5000 * 101);
        export = &set->list[i / 3 % 2];
        peer_address_init(&address, (struct sockaddr *)&caller);
        assert_int_equal(access_rights(export, NULL, &query, &want), 0);
        assert_int_equal(export_view_rights(view, NULL, export, (struct sockaddr *)&caller, NULL, &got), 0);
        assert_ptr_equal(got, want);
    }
    export_view_put(view);
    exports_put(set);
}

/* The view's decision on this caller, once the names are known. */
static const struct export_rights *
viewed(struct export_view *view, struct hosts *hosts, const char *text)
{
    struct sockaddr_in caller = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(text) };
    const struct export_rights *rights;

    while (export_view_rights(view, hosts, &view->set->list[0], (struct sockaddr *)&caller, NULL, &rights) < 0)
        usleep(1000);
    return rights;
}

static void
a_decision_about_a_name_holds_until_its_time_or_a_change(void **state)
{
    struct exports *set = must_load("memory:/a both", NULL);
    struct export_view *view = export_view_new(set);
    struct fake_hosts fake;
    struct hosts *hosts = start_hosts(&fake);
    uint64_t generation;

    (void)state;
    assert_non_null(viewed(view, hosts, "10.0.0.5"));
    assert_null(viewed(view, hosts, "10.0.0.6"));
    fake_forget(&fake, "both");
    fake_address(&fake, "both", "10.0.0.6");
    for (int i = 0; i < 1000; i++)
        assert_non_null(viewed(view, hosts, "10.0.0.5"));
    assert_int_equal(atomic_load(&fake.asked), 1);
    generation = hosts_generation(hosts);
    fake_pass_ms(&fake, 50000);                         /* old enough to be asked for again, and still good */
    assert_non_null(viewed(view, hosts, "10.0.0.5"));
    while (hosts_generation(hosts) == generation)
        usleep(1000);
    assert_null(viewed(view, hosts, "10.0.0.5"));
    assert_non_null(viewed(view, hosts, "10.0.0.6"));
    hosts_free(hosts);
    fake_hosts_fini(&fake);
    export_view_put(view);
    exports_put(set);
}

static void
who_is_not_listed_has_no_rights(void **state)
{
    struct exports *set = must_load("memory:/a 10.0.0.0/8 ::1\nmemory:/b 0.0.0.0/0\n"
                                    "memory:/c ::/0\nmemory:/d localhost\nmemory:/e ::ffff:10.0.0.0/104", NULL);
    static const struct { unsigned export; const char *peer; bool allowed; } rows[] = {
        { 0, "10.0.0.1", true }, { 0, "11.0.0.1", false }, { 0, "::1", true }, { 0, "::2", false },
        { 0, "::ffff:10.0.0.1", true }, { 0, "::10.0.0.1", false },
        { 1, "203.0.113.9", true }, { 1, "::1", false }, { 1, "::ffff:203.0.113.9", true },
        { 2, "::1", true }, { 2, "10.0.0.1", false }, { 2, "::ffff:10.0.0.1", false },
        { 3, "127.0.0.1", true }, { 3, "::1", true }, { 3, "127.0.0.2", false },
        { 4, "10.0.0.1", true }, { 4, "::ffff:10.255.0.1", true }, { 4, "11.0.0.1", false }, { 4, "::1", false },
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(rows); i++)
        if ((rights_of(&set->list[rows[i].export], NULL, rows[i].peer) != NULL) != rows[i].allowed)
            fail_msg("%s at %s", rows[i].peer, set->list[rows[i].export].path);
    exports_put(set);
}

static void
who_has_no_address_is_one_of_everyone_only(void **state)
{
    const struct sockaddr local = { .sa_family = AF_UNIX };
    struct exports *set = must_load("memory:/a 0.0.0.0/0 ::/0 host *.org @g *(anonuid=7)\n"
                                    "memory:/b 0.0.0.0/0 ::/0", NULL);
    struct peer_address address;
    struct hosts_query query = { .peer = &address };
    const struct export_rights *rights;

    (void)state;
    peer_address_init(&address, &local);
    assert_int_equal(access_rights(&set->list[0], NULL, &query, &rights), 0);
    assert_int_equal(rights->anon_uid, 7);
    assert_int_equal(access_rights(&set->list[1], NULL, &query, &rights), 0);
    assert_null(rights);
    exports_put(set);
}

static void
a_path_is_found_in_the_longest_export_it_lies_in(void **state)
{
    struct exports *set = must_load("memory:/srv\nmemory:/srv/data\nmemory:/srv/data/deep\nmemory:/home", NULL);
    static const struct { const char *path, *export, *rest; } rows[] = {
        { "/srv", "/srv", "" }, { "/srv/", "/srv", "" }, { "//srv//", "/srv", "" }, { "/srv/x", "/srv", "x" },
        { "/srv/dat", "/srv", "dat" }, { "/srv/data", "/srv/data", "" }, { "/srv//data///x//y/", "/srv/data", "x//y/" },
        { "/srv/database", "/srv", "database" }, { "/srv/data/deeper", "/srv/data", "deeper" },
        { "/srv/data/deep/er", "/srv/data/deep", "er" }, { "/home/u", "/home", "u" }, { "/homer", NULL, NULL },
        { "/", NULL, NULL }, { "", NULL, NULL }, { "srv", NULL, NULL }, { "/sr", NULL, NULL },
        { "/srv/data/..", "/srv/data", ".." },
    };
    const struct export *export;
    const char *rest;
    size_t i, len;

    (void)state;
    for (i = 0; i < COUNT(rows); i++) {
        export = exports_find_path(set, rows[i].path, strlen(rows[i].path), NULL, &rest, &len);
        if (rows[i].export == NULL) {
            assert_null(export);
            continue;
        }
        assert_non_null(export);
        assert_string_equal(export->path, rows[i].export);
        assert_int_equal(len, strlen(rows[i].rest));
        assert_memory_equal(rest, rows[i].rest, len);
    }
    exports_put(set);
    set = must_load("memory:/\nmemory:/a", NULL);
    assert_string_equal(exports_find_path(set, "/b/c", 4, NULL, &rest, &len)->path, "/");
    assert_int_equal(len, 3);
    assert_string_equal(exports_find_path(set, "/", 1, NULL, &rest, &len)->path, "/");
    assert_string_equal(exports_find_path(set, "/a", 2, NULL, &rest, &len)->path, "/a");
    exports_put(set);
}

static void
shorter_exports_that_a_path_lies_in_follow_one_by_one(void **state)
{
    struct exports *set = must_load("memory:/\nmemory:/srv\nmemory:/srv/data\nmemory:/srv/other", NULL);
    static const char *const paths[] = { "/srv/data", "/srv", "/" }, *const rests[] = { "x", "data/x", "srv/data/x" };
    const char path[] = "/srv/data/x", *rest;
    const struct export *export = NULL;
    size_t i, len;

    (void)state;
    for (i = 0; i < COUNT(paths); i++) {
        export = exports_find_path(set, path, strlen(path), export, &rest, &len);
        assert_non_null(export);
        assert_string_equal(export->path, paths[i]);
        assert_int_equal(len, strlen(rests[i]));
        assert_memory_equal(rest, rests[i], len);
    }
    assert_null(exports_find_path(set, path, strlen(path), export, &rest, &len));
    exports_put(set);
}

static uint64_t
id_of(const struct exports *set, const char *path)
{
    const struct export *export;
    const char *rest;
    size_t len;

    export = exports_find_path(set, path, strlen(path), NULL, &rest, &len);
    assert_non_null(export);
    assert_int_equal(len, 0);
    assert_ptr_equal(exports_find_id(set, export->id), export);
    return export->id;
}

static void
ids_do_not_depend_on_the_order_of_lines(void **state)
{
    struct exports *one = must_load("/x *(path=/)\n/y *(path=/)\n/f *(path=/,fsid=7)", NULL);
    struct exports *other = must_load("/f *(path=/,fsid=7)\n/new *(path=/)\n/y 10.0.0.1(rw,path=/)\n"
                                      "/x *(path=/)", NULL);

    (void)state;
    assert_true(id_of(one, "/x") == id_of(other, "/x"));
    assert_true(id_of(one, "/y") == id_of(other, "/y"));
    assert_true(id_of(one, "/f") == id_of(other, "/f"));
    assert_true(id_of(one, "/x") != id_of(one, "/y"));
    assert_null(exports_find_id(one, id_of(other, "/new")));
    exports_put(one);
    exports_put(other);
}

static void
an_fsid_alone_makes_the_id(void **state)
{
    struct exports *one = must_load("/here *(path=/,fsid=7)", NULL);
    struct exports *other = must_load("memory:/there *(fsid=7)", NULL);

    (void)state;
    assert_true(id_of(one, "/here") == id_of(other, "/there"));
    exports_put(one);
    exports_put(other);
}

static void
a_reload_keeps_stores_and_ids(void **state)
{
    struct exports *old = must_load("memory:/m *\n/x *(path=/)\nmemory:/gone", NULL);
    struct exports *set = must_load("/x *(path=/,rw)\nmemory:/m *(rw)\nmemory:/n", old);
    struct store *memory = old->list[1].store, *posix = old->list[2].store;
    uint64_t id = id_of(old, "/m");

    (void)state;
    assert_string_equal(old->list[1].path, "/m");
    assert_string_equal(old->list[2].path, "/x");
    exports_put(old);
    assert_ptr_equal(set->list[0].store, memory);
    assert_ptr_equal(set->list[2].store, posix);
    assert_true(id_of(set, "/m") == id);
    assert_ptr_not_equal(set->list[1].store, memory);
    exports_put(set);
}

static void
two_exports_of_one_directory_share_its_store(void **state)
{
    struct exports *set = must_load("/x *(path=/)\n/y *(path=/)\n/z *(path=/tmp)", NULL);

    (void)state;
    assert_ptr_equal(set->list[0].store, set->list[1].store);
    assert_ptr_not_equal(set->list[0].store, set->list[2].store);
    exports_put(set);
}

static void
a_directory_that_was_replaced_gets_a_store_of_its_own(void **state)
{
    char cwd[256], text[512];
    struct exports *old, *set;

    (void)state;
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    snprintf(text, sizeof(text), "/x *(path=%s/d)", cwd);
    assert_int_equal(mkdir("d", 0700), 0);
    old = must_load(text, NULL);
    assert_int_equal(rename("d", "moved"), 0);
    assert_int_equal(mkdir("d", 0700), 0);
    set = must_load(text, old);
    assert_ptr_not_equal(set->list[0].store, old->list[0].store);
    exports_put(old);
    exports_put(set);
}

static void
a_symbolic_link_is_served_as_what_it_points_to(void **state)
{
    char cwd[256], text[512], want[512];
    struct exports *set;

    (void)state;
    assert_non_null(getcwd(cwd, sizeof(cwd)));
    assert_int_equal(mkdir("target", 0700), 0);
    assert_int_equal(symlink("target", "link"), 0);
    snprintf(text, sizeof(text), "%s/link *", cwd);
    snprintf(want, sizeof(want), "%s/target", cwd);
    set = must_load(text, NULL);
    assert_string_equal(set->list[0].dir, want);
    exports_put(set);
}

static void
a_bad_line_leaves_the_old_set_as_it_was(void **state)
{
    struct exports *old = must_load("memory:/m *(rw)", NULL), *set;
    char error[ERROR_MAX], got[ERROR_MAX];

    (void)state;
    assert_int_equal(load("memory:/m *\nmemory:/n *(frob)", old, &set, error), -EINVAL);
    assert_null(set);
    assert_int_equal(load("memory:/m *\n/nowhere *", old, &set, error), -ENOENT);
    assert_null(set);
    say_exports(got, old);
    assert_string_equal(got, "/m: * rw");
    assert_int_equal(old->refs, 1);
    exports_put(old);
}

static void
a_set_lives_as_long_as_somebody_holds_it(void **state)
{
    struct exports *set = must_load("memory:/m *(rw)", NULL);

    (void)state;
    assert_ptr_equal(exports_ref(set), set);
    exports_put(set);
    assert_string_equal(set->list[0].path, "/m");
    exports_put(set);
    exports_put(NULL);
}

static void
help_and_manual_page_name_each_option(void **state)
{
    static const char *const names[] = { "ro", "no_root_squash", "anonuid=ID", "fsid=NUMBER|root|UUID", "path=DIR" };
    char *help = NULL, *roff = NULL;
    size_t help_len, roff_len, i;
    FILE *out = open_memstream(&help, &help_len);

    (void)state;
    export_options_print_help(out);
    fclose(out);
    out = open_memstream(&roff, &roff_len);
    export_options_print_roff(out);
    fclose(out);
    for (i = 0; i < COUNT(names); i++) {
        assert_non_null(strstr(help, names[i]));
        assert_non_null(strstr(roff, names[i]));
    }
    free(help);
    free(roff);
}

static char directory[] = "/tmp/ringnfs-exports.XXXXXX";

static int
enter_directory(void **state)
{
    (void)state;
    settings_init(&settings);
    return mkdtemp(directory) == NULL || chdir(directory) < 0 ? -1 : 0;
}

static int
leave_directory(void **state)
{
    static const char *const names[] = {
        "exports.d/a.exports", "exports.d/b.exports", "exports.d/.hidden.exports", "exports.d/c.exports~", "exports.d",
        "exports", "d", "moved", "link", "target"
    };
    size_t i;

    (void)state;
    settings_fini(&settings);
    for (i = 0; i < COUNT(names); i++)
        remove(names[i]);
    return chdir("/") < 0 || rmdir(directory) < 0 ? -1 : 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_as_exports_5_says),
        cmocka_unit_test(options_do_what_they_say),
        cmocka_unit_test(clients_are_addresses_networks_and_everyone),
        cmocka_unit_test(clients_are_names_patterns_and_netgroups),
        cmocka_unit_test(names_have_a_longest_length),
        cmocka_unit_test(mistakes_are_told_with_file_line_and_column),
        cmocka_unit_test(what_may_surprise_is_told_as_a_warning),
        cmocka_unit_test(a_space_before_the_bracket_gives_everyone_the_options),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(a_line_of_ten_megabytes_is_refused),
        cmocka_unit_test(a_path_that_no_client_could_ask_for_is_refused),
        cmocka_unit_test(lines_of_the_command_line_are_told_by_their_number),
        cmocka_unit_test(checking_opens_no_directory),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(a_directory_stands_for_its_exports_files_in_order),
        cmocka_unit_test(an_address_goes_before_the_networks_and_the_first_of_them_counts),
        cmocka_unit_test(the_order_of_lines_decides_among_networks_not_their_size),
        cmocka_unit_test(kinds_of_clients_have_an_order),
        cmocka_unit_test(a_name_that_is_not_known_yet_decides_nothing),
        cmocka_unit_test(host_names_of_a_set_can_be_fetched_ahead),
        cmocka_unit_test(decisions_that_are_remembered_are_those_that_would_be_made),
        cmocka_unit_test(a_decision_about_a_name_holds_until_its_time_or_a_change),
        cmocka_unit_test(who_is_not_listed_has_no_rights),
        cmocka_unit_test(who_has_no_address_is_one_of_everyone_only),
        cmocka_unit_test(a_path_is_found_in_the_longest_export_it_lies_in),
        cmocka_unit_test(shorter_exports_that_a_path_lies_in_follow_one_by_one),
        cmocka_unit_test(ids_do_not_depend_on_the_order_of_lines),
        cmocka_unit_test(an_fsid_alone_makes_the_id),
        cmocka_unit_test(a_reload_keeps_stores_and_ids),
        cmocka_unit_test(two_exports_of_one_directory_share_its_store),
        cmocka_unit_test(a_directory_that_was_replaced_gets_a_store_of_its_own),
        cmocka_unit_test(a_symbolic_link_is_served_as_what_it_points_to),
        cmocka_unit_test(a_bad_line_leaves_the_old_set_as_it_was),
        cmocka_unit_test(a_set_lives_as_long_as_somebody_holds_it),
        cmocka_unit_test(help_and_manual_page_name_each_option),
    };

    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
