/* tests/unit/test_exports_clients.c - the clients of an export: how they are written, and which of them a caller is. */
#include "tests/lib/exports_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/export_view.h"
#include "tests/lib/fake_hosts.h"

#define NO_ADDRESS "this is not an IPv4 or IPv6 address"
#define NO_PATTERN "this is not a pattern for host names (letters, digits, '-', '_', '.', and * ? [...])"
#define NO_NETWORK "a network is ADDRESS/BITS or ADDRESS/NETMASK, and this does not begin with an address"

static void
clients_are_addresses_networks_and_everyone(void **state)
{
    static const struct exp_row rows[] = {
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
    exp_check_rows(rows, COUNT(rows));
}

static void
clients_are_names_patterns_and_netgroups(void **state)
{
    static const struct exp_row rows[] = {
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
    exp_check_rows(rows, COUNT(rows));
}

static void
names_have_a_longest_length(void **state)
{
    char text[400] = "memory:/a @", error[EXP_ERROR_MAX];
    struct exports *set;

    (void)state;
    memset(text + 11, 'n', 255);
    assert_int_equal(exp_load(text, NULL, &set, error), 0);
    exports_put(set);
    text[11 + 255] = 'n';
    assert_int_equal(exp_load(text, NULL, &set, error), -EINVAL);
    assert_non_null(strstr(error, "too long for the name of a netgroup (at most 255 bytes)"));
    text[10] = 'n';
    text[10 + 253] = '\0';
    assert_int_equal(exp_load(text, NULL, &set, error), 0);
    exports_put(set);
    text[10 + 253] = 'n';
    assert_int_equal(exp_load(text, NULL, &set, error), -EINVAL);
    assert_non_null(strstr(error, "too long for a host name (at most 253 bytes)"));
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
    struct exports *set = exp_must_load(text, NULL);
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
    struct exports *set = exp_must_load("memory:/a client(ro) 10.0.0.1(rw) 10.0.0.0/8(rw) *(rw)", NULL);
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
    struct exports *set = exp_must_load("memory:/a a.lab.example.org *.org @lab\nmemory:/b both", NULL);
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
    struct exports *set = exp_must_load("memory:/a 10.1.0.0/16(rw) 10.2.3.4 10.0.0.0/8\nmemory:/b 10.0.0.0/9 *", NULL);
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
    struct exports *set = exp_must_load("memory:/a both", NULL);
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
    struct exports *set = exp_must_load("memory:/a 10.0.0.0/8 ::1\nmemory:/b 0.0.0.0/0\n"
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
    struct exports *set = exp_must_load("memory:/a 0.0.0.0/0 ::/0 host *.org @g *(anonuid=7)\n"
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_are_addresses_networks_and_everyone),
        cmocka_unit_test(clients_are_names_patterns_and_netgroups),
        cmocka_unit_test(names_have_a_longest_length),
        cmocka_unit_test(an_address_goes_before_the_networks_and_the_first_of_them_counts),
        cmocka_unit_test(the_order_of_lines_decides_among_networks_not_their_size),
        cmocka_unit_test(kinds_of_clients_have_an_order),
        cmocka_unit_test(a_name_that_is_not_known_yet_decides_nothing),
        cmocka_unit_test(host_names_of_a_set_can_be_fetched_ahead),
        cmocka_unit_test(decisions_that_are_remembered_are_those_that_would_be_made),
        cmocka_unit_test(a_decision_about_a_name_holds_until_its_time_or_a_change),
        cmocka_unit_test(who_is_not_listed_has_no_rights),
        cmocka_unit_test(who_has_no_address_is_one_of_everyone_only),
    };

    return cmocka_run_group_tests(tests, exp_set_up, exp_tear_down);
}
