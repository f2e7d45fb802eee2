/* tests/live/test_gss.c - RPCSEC_GSS contexts: how they are made, who is in them, how they end (RFC 2203 5.2, 5.4). */
#include "tests/lib/live.h"

#include <pthread.h>

#include "tests/lib/fake_groups.h"
#include "tests/lib/live_gss.h"

#define USUAL "rw,insecure,sec=sys:krb5:krb5i:krb5p"
#define ANONYMOUS 65534
#define BADCRED (LIVE_AUTH_ERROR + 1)
#define CREDPROBLEM (LIVE_AUTH_ERROR + 13)
#define CONTEXTS 16                     /* as live_start_kerberos() sets it */
#define WAITING 256                     /* calls, that for which the thread is busy among them */
#define SURPLUS 44
#define DCE_STYLE 0x1000                /* GSS_C_DCE_STYLE: the client speaks last */

static const char *const users[] = { "alice", "bob", "root", "stranger", "nfs/client", NULL };
static const struct live_options usual = { .export_options = USUAL };

static int
ask(struct live *srv, struct live_gss *gss)
{
    int outcome;

    srv->security = &gss->security;
    live_try(srv, NFSPROC3_GETATTR, &srv->root, &outcome);
    srv->security = NULL;
    return outcome;
}

/* Who a user is here: the owner of a file that he makes. */
static uint32_t
who_is(struct live *srv, const char *user, const char *name)
{
    struct live_gss gss;
    nfs_fh3 file;

    live_gss_begin(srv, &srv->conn, &gss, user, 1);
    srv->security = &gss.security;
    file = live_file(srv, &srv->root, name, 0644);
    srv->security = NULL;
    live_gss_end(&gss);
    return live_attr(srv, &file).uid;
}

static void
a_context_tells_its_window_and_is_found_by_its_handle(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    assert_int_equal(gss.window, 128);
    assert_true(gss.handle_len > 0);
    assert_int_equal(ask(srv, &gss), LIVE_SUCCESS);
    live_gss_end(&gss);
}

static void
a_context_may_take_more_than_one_step(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    assert_int_equal(live_gss_try(srv, &srv->conn, &gss, "alice", 1, DCE_STYLE, NULL), LIVE_SUCCESS);
    assert_int_equal(gss.proc, 0);
    assert_int_equal(ask(srv, &gss), LIVE_SUCCESS);
    live_gss_end(&gss);
}

static void
users_are_known_by_name_and_others_are_anonymous(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);

    live_need_identities(srv);
    assert_int_equal(who_is(srv, "alice", "a"), ALICE);
    assert_int_equal(who_is(srv, "bob", "b"), BOB);
    assert_int_equal(who_is(srv, "stranger", "s"), ANONYMOUS);
    assert_int_equal(who_is(srv, "nfs/client", "m"), ANONYMOUS);
}

static void
root_is_squashed_like_any_other_root(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);

    live_need_identities(srv);
    assert_int_equal(who_is(srv, "root", "squashed"), ANONYMOUS);
    live_reload(srv, USUAL ",no_root_squash", NULL);
    assert_int_equal(who_is(srv, "root", "root"), 0);
    live_reload(srv, USUAL ",all_squash,anonuid=77", NULL);
    assert_int_equal(who_is(srv, "alice", "all"), 77);
}

static void
groups_are_those_that_the_server_knows(void **state)
{
    struct fake_groups fake;
    const struct live_options options = { .export_options = USUAL ",no_root_squash", .groups = &fake.source };
    struct live *srv;
    struct live_gss gss;
    nfs_fh3 file;

    fake_groups_init(&fake);
    fake_groups_user(&fake, ALICE, 500, 3);
    srv = live_start_kerberos(*state, &options);
    live_need_identities(srv);
    file = live_file(srv, &srv->root, "group's", 0040);
    live_chown(srv, &file, 0, 502);
    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    srv->security = &gss.security;
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3_OK);
    srv->security = NULL;
    live_gss_end(&gss);
    live_gss_begin(srv, &srv->conn, &gss, "bob", 1);
    srv->security = &gss.security;
    assert_int_equal(live_read(srv, &file, 0, 1)->status, NFS3ERR_ACCES);
    srv->security = NULL;
    live_gss_end(&gss);
}

static void
truncate_token(uint8_t *token, uint32_t *len)
{
    (void)token;
    *len /= 2;
}

static void
empty_token(uint8_t *token, uint32_t *len)
{
    (void)token;
    *len = 0;
}

static void
change_token(uint8_t *token, uint32_t *len)
{
    token[*len - 5] ^= 1;
}

static void
rubbish_token(uint8_t *token, uint32_t *len)
{
    memset(token, 0x60, *len);
}

static void
a_token_that_is_none_makes_no_context_and_the_client_is_told(void **state)
{
    static void (*const spoils[])(uint8_t *, uint32_t *) = { truncate_token, empty_token, change_token, rubbish_token };
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        assert_int_equal(live_gss_try(srv, &srv->conn, &gss, "alice", 1, 0, spoils[i]), LIVE_SUCCESS);
        assert_true(GSS_ERROR(gss.major));
        assert_int_equal(gss.handle_len, 0);
        live_gss_end(&gss);
    }
    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    assert_int_equal(ask(srv, &gss), LIVE_SUCCESS);
    live_gss_end(&gss);
}

/* Ask for a context with a token of so many zeros, of which `sent` are sent. */
static void
send_init(struct live *srv, uint32_t announced, size_t sent)
{
    static const uint8_t init[20] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1 };    /* no handle */
    struct live_header *header = live_keep(srv, sizeof(*header));
    struct wire_out out = { srv->message, srv->message + LIVE_MESSAGE_MAX, false };

    live_make_header(srv, header, NFS_PROGRAM, NFS_V3, NFSPROC3_NULL);
    header->cred_flavor = 6;
    memcpy(header->cred, init, sizeof(init));
    header->cred_len = sizeof(init);
    live_put_header(&out, header);
    wire_put_u32(&out, announced);
    memset(out.p, 0, sent);
    assert_true(live_send_message(&srv->conn, srv->message, (size_t)(out.p - srv->message) + sent));
}

static int
take_outcome(struct live *srv)
{
    struct wire_in results;
    const uint8_t *reply;
    uint32_t xid;
    ssize_t len = live_receive(srv, &srv->conn, LIVE_WAIT_MS, &reply);

    return len < 0 ? (int)len : live_parse_reply(&srv->conn, reply, (size_t)len, &xid, &results);
}

static void
a_call_to_make_a_context_whose_token_is_cut_short_is_garbage(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);

    send_init(srv, 400, 0);
    assert_int_equal(take_outcome(srv), LIVE_GARBAGE_ARGS);
    send_init(srv, 400, 396);
    assert_int_equal(take_outcome(srv), LIVE_GARBAGE_ARGS);
    send_init(srv, (64 << 10) + 4, (64 << 10) + 4);      /* whole, but longer than any is */
    assert_int_equal(take_outcome(srv), LIVE_GARBAGE_ARGS);
    send_init(srv, 400, 400);
    assert_int_equal(take_outcome(srv), LIVE_SUCCESS);   /* of RPC: the result says that it is no token */
}

static void
credentials_of_other_versions_procedures_and_services_are_refused(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    gss.version = 2;
    assert_int_equal(ask(srv, &gss), BADCRED);
    gss.version = 1;
    gss.proc = 4;
    assert_int_equal(ask(srv, &gss), BADCRED);
    gss.proc = 0;
    assert_int_equal(ask(srv, &gss), LIVE_SUCCESS);
    live_gss_end(&gss);
}

static void
a_handle_that_is_not_known_is_a_credential_problem(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    gss.handle[gss.handle_len - 1] ^= 1;
    assert_int_equal(ask(srv, &gss), CREDPROBLEM);
    gss.handle[gss.handle_len - 1] ^= 1;
    gss.handle_len--;
    assert_int_equal(ask(srv, &gss), CREDPROBLEM);
    gss.handle_len = 0;
    assert_int_equal(ask(srv, &gss), CREDPROBLEM);
    live_gss_end(&gss);
}

static void
another_users_handle_is_of_no_use(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss alice, bob;

    live_gss_begin(srv, &srv->conn, &alice, "alice", 1);
    live_gss_begin(srv, &srv->conn, &bob, "bob", 1);
    memcpy(bob.handle, alice.handle, sizeof(bob.handle));
    assert_int_equal(ask(srv, &bob), CREDPROBLEM);
    live_gss_end(&alice);
    live_gss_end(&bob);
}

static void
a_destroyed_context_is_gone_for_every_connection(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_conn other = live_connect(srv, SOCK_STREAM, AF_INET);
    struct live_gss gss;

    for (uint32_t service = 1; service <= 3; service++) {
        live_gss_begin(srv, &srv->conn, &gss, "alice", service);
        assert_int_equal(live_gss_destroy(srv, &other, &gss), LIVE_SUCCESS);
        assert_int_equal(ask(srv, &gss), CREDPROBLEM);
        live_gss_end(&gss);
    }
    live_close(&other);
}

static void
nobody_else_destroys_a_context(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss alice, bob;

    live_gss_begin(srv, &srv->conn, &alice, "alice", 1);
    live_gss_begin(srv, &srv->conn, &bob, "bob", 1);
    memcpy(bob.handle, alice.handle, sizeof(bob.handle));
    assert_int_equal(live_gss_destroy(srv, &srv->conn, &bob), CREDPROBLEM);
    assert_int_equal(ask(srv, &alice), LIVE_SUCCESS);
    live_gss_end(&alice);
    live_gss_end(&bob);
}

static uint64_t
contexts(struct live *srv)
{
    struct server_stats stats;

    server_stats(srv->server, &stats);
    return stats.gss.contexts;
}

static void
more_contexts_than_there_is_room_for_push_out_the_one_used_least_recently(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss all[CONTEXTS + 2];
    int i;

    for (i = 0; i < CONTEXTS; i++)
        live_gss_begin(srv, &srv->conn, &all[i], i % 2 == 0 ? "alice" : "bob", 1);
    assert_int_equal(contexts(srv), CONTEXTS);
    assert_int_equal(ask(srv, &all[0]), LIVE_SUCCESS);
    for (; i < CONTEXTS + 2; i++)
        live_gss_begin(srv, &srv->conn, &all[i], "alice", 1);
    assert_int_equal(contexts(srv), CONTEXTS);
    assert_int_equal(ask(srv, &all[0]), LIVE_SUCCESS);
    assert_int_equal(ask(srv, &all[1]), CREDPROBLEM);
    assert_int_equal(ask(srv, &all[2]), CREDPROBLEM);
    assert_int_equal(ask(srv, &all[3]), LIVE_SUCCESS);
    assert_int_equal(ask(srv, &all[CONTEXTS + 1]), LIVE_SUCCESS);
    for (i = 0; i < CONTEXTS + 2; i++)
        live_gss_end(&all[i]);
}

static void
tokens_that_are_refused_take_no_room(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss good, bad;

    live_gss_begin(srv, &srv->conn, &good, "alice", 1);
    for (int i = 0; i < 3 * CONTEXTS; i++) {
        live_gss_try(srv, &srv->conn, &bad, "bob", 1, 0, change_token);
        live_gss_end(&bad);
    }
    assert_int_equal(contexts(srv), 1);
    assert_int_equal(ask(srv, &good), LIVE_SUCCESS);
    live_gss_end(&good);
}

static void
without_an_export_for_kerberos_it_is_not_spoken(void **state)
{
    const struct live_options options = { .export_options = "rw,insecure" };
    struct live *srv = live_start_kerberos(*state, &options);
    struct live_gss gss;

    assert_int_equal(live_gss_try(srv, &srv->conn, &gss, "alice", 1, 0, NULL), BADCRED);
    live_gss_end(&gss);
    live_reload(srv, USUAL, NULL);
    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    assert_int_equal(ask(srv, &gss), LIVE_SUCCESS);
    live_reload(srv, "rw,insecure", NULL);
    assert_int_equal(ask(srv, &gss), BADCRED);
    live_gss_end(&gss);
}

static void
two_servers_in_a_process_have_contexts_of_their_own(void **state)
{
    struct live *one = live_start_kerberos(*state, &usual), *other = live_start_kerberos(*state, &usual);
    struct live_gss mine, theirs;

    live_gss_begin(one, &one->conn, &mine, "alice", 3);
    live_gss_begin(other, &other->conn, &theirs, "alice", 3);
    assert_int_equal(ask(other, &mine), CREDPROBLEM);
    assert_int_equal(ask(one, &mine), LIVE_SUCCESS);
    assert_int_equal(ask(other, &theirs), LIVE_SUCCESS);
    live_gss_end(&mine);
    live_gss_end(&theirs);
}

static void
a_restart_forgets_all_contexts(void **state)
{
    struct live *srv = live_start_kerberos(*state, &usual);
    struct live_gss gss;

    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    live_restart(srv);
    assert_int_equal(ask(srv, &gss), CREDPROBLEM);
    live_gss_end(&gss);
}

/* A user database that fails, or does not answer until it is told to. */
struct slow_users {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int err;
    bool blocked, asked;
};

static int
slow_find(void *context, const char *name, uint32_t *uid, uint32_t *gid)
{
    struct slow_users *slow = context;

    pthread_mutex_lock(&slow->lock);
    slow->asked = true;
    pthread_cond_broadcast(&slow->changed);
    while (slow->blocked)
        pthread_cond_wait(&slow->changed, &slow->lock);
    pthread_mutex_unlock(&slow->lock);
    return slow->err != 0 ? slow->err : live_realm_principals.find(NULL, name, uid, gid);
}

static void
a_user_database_that_fails_makes_no_context(void **state)
{
    struct slow_users slow = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .err = -EIO };
    const struct principals_source source = { &slow, slow_find };
    const struct live_options options = { .export_options = USUAL, .principals = &source };
    struct live *srv = live_start_kerberos(*state, &options);
    struct live_gss gss;

    assert_int_equal(live_gss_try(srv, &srv->conn, &gss, "alice", 1, 0, NULL), LIVE_SUCCESS);
    assert_true(GSS_ERROR(gss.major));
    live_gss_end(&gss);
    slow.err = 0;
    live_gss_begin(srv, &srv->conn, &gss, "alice", 1);
    assert_int_equal(ask(srv, &gss), LIVE_SUCCESS);
    live_gss_end(&gss);
}

struct maker {
    struct live *srv;
    struct live_conn conn;
    struct live_gss gss;
    int outcome;
};

static void *
make_one(void *argument)
{
    struct maker *maker = argument;

    maker->outcome = live_gss_try(maker->srv, &maker->conn, &maker->gss, "alice", 1, 0, NULL);
    return NULL;
}

static void
unblock(struct slow_users *slow)
{
    pthread_mutex_lock(&slow->lock);
    slow->blocked = false;
    pthread_cond_broadcast(&slow->changed);
    pthread_mutex_unlock(&slow->lock);
}

static void
wait_until_asked(struct slow_users *slow)
{
    pthread_mutex_lock(&slow->lock);
    while (!slow->asked)
        pthread_cond_wait(&slow->changed, &slow->lock);
    pthread_mutex_unlock(&slow->lock);
}

static void *
free_server(void *server)
{
    server_free(server);
    return NULL;
}

/* The call that waits is given up before the user database answers. */
static void
a_context_that_takes_its_time_holds_up_nobody_not_even_the_end(void **state)
{
    struct slow_users slow = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .blocked = true };
    const struct principals_source source = { &slow, slow_find };
    const struct live_options options = { .export_options = USUAL, .principals = &source };
    struct live *client = *state, *srv = live_start_kerberos(*state, &options);
    struct maker maker = { .srv = client, .conn = live_connect(srv, SOCK_STREAM, AF_INET) };
    pthread_t thread, end;

    assert_int_equal(pthread_create(&thread, NULL, make_one, &maker), 0);
    wait_until_asked(&slow);
    assert_int_equal(live_getattr(srv, &srv->root)->status, NFS3_OK);
    live_close(&srv->conn);
    assert_int_equal(pthread_create(&end, NULL, free_server, srv->server), 0);
    srv->server = NULL;
    pthread_join(thread, NULL);
    assert_int_equal(maker.outcome, LIVE_CLOSED);
    unblock(&slow);
    pthread_join(end, NULL);
    live_close(&maker.conn);
    live_gss_end(&maker.gss);
}

/* One is being looked at; those that find no room are told at once, the others once it is over. */
static void
a_bounded_number_of_calls_waits_for_a_context(void **state)
{
    struct slow_users slow = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .blocked = true };
    const struct principals_source source = { &slow, slow_find };
    const struct live_options options = { .export_options = USUAL, .principals = &source };
    struct live *client = *state, *srv = live_start_kerberos(*state, &options);
    struct maker maker = { .srv = client, .conn = live_connect(srv, SOCK_STREAM, AF_INET) };
    pthread_t thread;
    int i;

    assert_int_equal(pthread_create(&thread, NULL, make_one, &maker), 0);
    wait_until_asked(&slow);
    for (i = 0; i < WAITING + SURPLUS - 1; i++)
        send_init(srv, 8, 8);
    for (i = 0; i < SURPLUS; i++)
        assert_int_equal(take_outcome(srv), LIVE_SYSTEM_ERR);
    unblock(&slow);
    for (i = 0; i < WAITING - 1; i++)
        assert_int_equal(take_outcome(srv), LIVE_SUCCESS);
    pthread_join(thread, NULL);
    assert_int_equal(maker.outcome, LIVE_SUCCESS);
    assert_int_equal(ask(srv, &maker.gss), LIVE_SUCCESS);
    live_close(&maker.conn);
    live_gss_end(&maker.gss);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_tells_its_window_and_is_found_by_its_handle),
        cmocka_unit_test(a_context_may_take_more_than_one_step),
        cmocka_unit_test(users_are_known_by_name_and_others_are_anonymous),
        cmocka_unit_test(root_is_squashed_like_any_other_root),
        cmocka_unit_test(groups_are_those_that_the_server_knows),
        cmocka_unit_test(a_token_that_is_none_makes_no_context_and_the_client_is_told),
        cmocka_unit_test(a_call_to_make_a_context_whose_token_is_cut_short_is_garbage),
        cmocka_unit_test(credentials_of_other_versions_procedures_and_services_are_refused),
        cmocka_unit_test(a_handle_that_is_not_known_is_a_credential_problem),
        cmocka_unit_test(another_users_handle_is_of_no_use),
        cmocka_unit_test(a_destroyed_context_is_gone_for_every_connection),
        cmocka_unit_test(nobody_else_destroys_a_context),
        cmocka_unit_test(more_contexts_than_there_is_room_for_push_out_the_one_used_least_recently),
        cmocka_unit_test(tokens_that_are_refused_take_no_room),
        cmocka_unit_test(without_an_export_for_kerberos_it_is_not_spoken),
        cmocka_unit_test(two_servers_in_a_process_have_contexts_of_their_own),
        cmocka_unit_test(a_restart_forgets_all_contexts),
        cmocka_unit_test(a_user_database_that_fails_makes_no_context),
        cmocka_unit_test(a_context_that_takes_its_time_holds_up_nobody_not_even_the_end),
        cmocka_unit_test(a_bounded_number_of_calls_waits_for_a_context),
    };
    int status;

    if (!live_realm_begin(users))
        return 77;
    status = live_main("gss", tests, sizeof(tests) / sizeof(*tests));
    live_realm_end();
    return status;
}
