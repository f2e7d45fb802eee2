/* tests/unit/test_exports_options.c - the options of exports(5): what each does, and that it is told of. */
#include "config.h"
#include "tests/lib/exports_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
options_do_what_they_say(void **state)
{
    static const struct exp_row rows[] = {
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
    exp_check_rows(rows, COUNT(rows));
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_do_what_they_say),
        cmocka_unit_test(help_and_manual_page_name_each_option),
    };

    return cmocka_run_group_tests(tests, exp_set_up, exp_tear_down);
}
