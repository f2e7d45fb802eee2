/* tests/live/test_gss_tirpc.c - libtirpc's client of RPCSEC_GSS, which is not ours: another opinion of the bytes. */
#include "tests/lib/live.h"

#include <netinet/in.h>
#include <rpc/rpc.h>
#include <rpc/auth_gss.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/live_gss.h"

#define USUAL "rw,insecure,sec=sys:krb5:krb5i:krb5p"
#define LARGE 30001                     /* bytes; libtirpc cannot sign more than its buffer of 64 KiB holds */
#define WAIT_S 10

static const char *const users[] = { "alice", NULL };
static const struct live_options usual = { .export_options = USUAL };
static const struct timeval patience = { .tv_sec = WAIT_S };

static CLIENT *
connect_by_tirpc(struct live *srv, int *fd, rpc_gss_svc_t service)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(srv->nfs_port) };
    struct netbuf address = { .maxlen = sizeof(to), .len = sizeof(to), .buf = &to };
    struct rpc_gss_sec sec = { .mech = GSS_C_NO_OID, .qop = GSS_C_QOP_DEFAULT, .svc = service, .cred = GSS_C_NO_CREDENTIAL,
                               .req_flags = GSS_C_MUTUAL_FLAG };
    CLIENT *client;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *fd = live_connect(srv, SOCK_STREAM, AF_INET).fd;
    client = clnt_vc_create(*fd, &address, NFS_PROGRAM, NFS_V3, 1 << 20, 1 << 20);
    assert_non_null(client);
    client->cl_auth = authgss_create_default(client, "nfs@localhost", &sec);
    if (client->cl_auth == NULL)
        fail_msg("libtirpc makes no context");
    return client;
}

/* Any procedure, by libtirpc. */
static void *
call(struct live *srv, CLIENT *client, uint32_t proc, const void *args)
{
    void *res = live_keep(srv, live_res_size(proc));
    enum clnt_stat stat = clnt_call(client, proc, live_args_codec(proc), (caddr_t)(uintptr_t)args,
                                    live_res_codec(proc), res, patience);

    if (stat != RPC_SUCCESS)
        fail_msg("%s: %s", live_proc_name(proc), clnt_sperror(client, "libtirpc"));
    return res;
}

static void
work(struct live *srv, CLIENT *client, const char *name)
{
    char *data = live_keep(srv, LARGE);
    CREATE3args create = { { srv->root, live_name(name) }, { .mode = GUARDED } };
    READDIR3args readdir = { .dir = srv->root, .count = 4096 };
    WRITE3args write = { .count = LARGE, .stable = FILE_SYNC, .data = { LARGE, data } };
    READ3args read = { .count = LARGE };
    GETATTR3args getattr;
    CREATE3res *created;
    GETATTR3res *attr;
    READ3res *got;
    READDIR3res *listed;

    for (size_t i = 0; i < LARGE; i++)
        data[i] = (char)(i * 7 + i / 251);
    create.how.createhow3_u.obj_attributes = live_mode(0600);
    created = call(srv, client, NFSPROC3_CREATE, &create);
    assert_int_equal(created->status, NFS3_OK);
    getattr.object = write.file = read.file = created->CREATE3res_u.resok.obj.post_op_fh3_u.handle;
    assert_int_equal(((WRITE3res *)call(srv, client, NFSPROC3_WRITE, &write))->status, NFS3_OK);
    got = call(srv, client, NFSPROC3_READ, &read);
    assert_int_equal(got->status, NFS3_OK);
    assert_int_equal(got->READ3res_u.resok.count, LARGE);
    assert_memory_equal(got->READ3res_u.resok.data.data_val, data, LARGE);
    attr = call(srv, client, NFSPROC3_GETATTR, &getattr);
    assert_int_equal(attr->status, NFS3_OK);
    if (srv->config->store == LIVE_MEMORY || geteuid() == 0)
        assert_int_equal(attr->GETATTR3res_u.resok.obj_attributes.uid, ALICE);
    listed = call(srv, client, NFSPROC3_READDIR, &readdir);
    assert_int_equal(listed->status, NFS3_OK);
    xdr_free((xdrproc_t)xdr_READDIR3res, listed);
    xdr_free((xdrproc_t)xdr_READ3res, got);
    xdr_free((xdrproc_t)xdr_CREATE3res, created);
}

static void
libtirpc_works_with_every_service(void **state)
{
    static const struct { rpc_gss_svc_t service; const char *name; } services[] = {
        { RPCSEC_GSS_SVC_NONE, "none" }, { RPCSEC_GSS_SVC_INTEGRITY, "integrity" }, { RPCSEC_GSS_SVC_PRIVACY, "privacy" },
    };
    struct live *srv = live_start_kerberos(*state, &usual);
    struct server_stats stats;
    CLIENT *client;
    int fd;

    for (size_t i = 0; i < 3; i++) {
        client = connect_by_tirpc(srv, &fd, services[i].service);
        work(srv, client, services[i].name);
        auth_destroy(client->cl_auth);
        clnt_destroy(client);
        close(fd);
    }
    server_stats(srv->server, &stats);
    assert_int_equal(stats.gss.made, 3);
    assert_int_equal(stats.gss.contexts, 0);             /* it destroys them */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libtirpc_works_with_every_service),
    };
    int status;

    if (!live_realm_begin(users))
        return 77;
    setenv("KRB5CCNAME", live_realm_cache("alice"), 1);
    status = live_main("gss_tirpc", tests, sizeof(tests) / sizeof(*tests));
    live_realm_end();
    return status;
}
