/* Members of groups, on real connections of the simulated network. */
#include "kit/caller.h"
#include "kit/test.h"

#include "base/config.h"
#include "base/log.h"
#include "broker/members/members.h"
#include "os/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { PORT = 10911, CLIENTS = 3, EXPIRES_MS = 120000 };

struct fixture {
    struct sim *sim;
    struct loop *loop, *client_loop;
    struct rpc_listener *listener;
    struct members members;
    struct caller *callers[CLIENTS];
    struct call *calls[CLIENTS];        /* one of each, kept for its connection */
    int count;
    int changes, views;
    int32_t consistency;
    struct arena arena;                 /* of heartbeats */
};

static void keep(void *ctx, struct call *call)
{
    struct fixture *f = ctx;
    f->calls[f->count++] = call;
}

static void closed(void *ctx, struct rpc_conn *c) { members_closed(&((struct fixture *)ctx)->members, c); }

static void changed(void *ctx, struct member_group *g)
{
    (void)g;
    ((struct fixture *)ctx)->changes++;
}

static void view_changed(void *ctx, struct member_group *g)
{
    (void)g;
    ((struct fixture *)ctx)->views++;
}

static struct fixture *start(void)
{
    struct fixture *f = must_zero(sizeof *f);
    struct sim_options o = sim_options_default(1);
    struct rpc_service service = {keep, closed, f};
    struct rpc_options options = rpc_options_default();
    struct addr at = {.port = PORT};
    options.idle_close_ms = 0;
    log_set_level(LOG_WARN);
    f->arena = ARENA_EMPTY;
    f->sim = sim_new(&o);
    f->loop = sim_loop_new(sim_process_new(f->sim, "10.0.0.1"));
    f->client_loop = sim_loop_new(sim_process_new(f->sim, "10.0.0.2"));
    members_init(&f->members, &f->loop->tasks, &f->consistency, changed, view_changed, f);
    EXPECT_OK(rpc_listen(f->loop, &at, 0, &service, &options, &f->listener));
    for (int i = 0; i < CLIENTS; i++) {
        f->callers[i] = caller_open(f->sim, f->client_loop, "10.0.0.1", PORT);
        caller_request(f->callers[i], 1, NULL, NULL, SLICE(""));
        sim_run_for(f->sim, 100);
    }
    EXPECT_EQ(f->count, CLIENTS);
    return f;
}

static void stop(struct fixture *f)
{
    rpc_listener_close(f->listener);
    for (int i = 0; i < CLIENTS; i++) {
        call_drop(f->calls[i]);
        caller_close(f->callers[i]);
    }
    members_done(&f->members);
    sim_free(f->sim);
    arena_done(&f->arena);
    free(f);
}

/* A heartbeat of client `who` for one group: topics and expressions in pairs, NULL at the end. */
static err_t say(struct fixture *f, int who, const char *group, enum message_model model, int64_t version, const char *const *pairs)
{
    char id[16];
    bool must_tell;
    struct heartbeat_consumer h = {.group = slice_text(group), .type = CONSUME_PASSIVELY, .model = model};
    snprintf(id, sizeof id, "client-%d", who);
    for (; *pairs; pairs += 2) {
        struct subscription *s = arena_list_add(&f->arena, (void **)&h.subscriptions.items, &h.subscriptions.count, sizeof *s);
        EXPECT_OK(subscription_parse(slice_text(pairs[0]), slice_text(pairs[1]), &f->arena, s));
        s->version = version;
    }
    return members_consumer(&f->members, members_client(&f->members, f->calls[who], slice_text(id)), &h, 0, false, &must_tell);
}

static void beat(struct fixture *f, int who, const char *group, int64_t version, const char *const *pairs)
{
    EXPECT_OK(say(f, who, group, MODEL_CLUSTERING, version, pairs));
}

static size_t count_members(struct fixture *f, const char *group)
{
    const struct member_group *g = members_consumers(&f->members, slice_text(group));
    return g ? g->count : 0;
}

static const char *expression(struct fixture *f, const char *group, const char *topic)
{
    static char text[64];
    struct member_group *g = members_consumers(&f->members, slice_text(group));
    const struct subscription *s = g ? members_subscription(g, slice_text(topic)) : NULL;
    snprintf(text, sizeof text, "%.*s", s ? (int)s->expression.n : 6, s ? (const char *)s->expression.p : "(none)");
    return text;
}

static const char *const a[] = {"T", "A", NULL};
static const char *const b[] = {"T", "B", NULL};
static const char *const other_topic[] = {"U", "*", NULL};

TEST(members, come_and_go_and_the_last_takes_the_group_along)
{
    struct fixture *f = start();
    beat(f, 0, "G", 1, a);
    EXPECT_EQ(f->changes, 1);
    beat(f, 1, "G", 1, a);
    beat(f, 1, "G", 1, a);
    EXPECT_EQ(f->changes, 2);   /* a repetition tells nobody */
    EXPECT_EQ(members_consumers(&f->members, SLICE("G"))->count, 2);
    members_leave(&f->members, f->calls[0]->conn, (struct slice){NULL, 0}, SLICE("G"));
    EXPECT_EQ(f->changes, 3);
    caller_close(f->callers[1]);
    f->callers[1] = NULL;
    sim_run_for(f->sim, 100);
    EXPECT_EQ(f->changes, 4);
    EXPECT(!members_consumers(&f->members, SLICE("G")));
    EXPECT_EQ(f->members.clients.count, 0);
    stop(f);
}

TEST(members, the_newest_subscription_rules_whoever_sent_it)
{
    struct fixture *f = start();
    beat(f, 0, "G", 5, a);
    beat(f, 1, "G", 4, b);
    assert_string_equal(expression(f, "G", "T"), "A");
    beat(f, 1, "G", 6, b);
    assert_string_equal(expression(f, "G", "T"), "B");
    members_closed(&f->members, f->calls[1]->conn);
    assert_string_equal(expression(f, "G", "T"), "A");   /* each member's own is kept */
    stop(f);
}

TEST(members, a_topic_that_one_of_them_leaves_out_stays_with_the_others)
{
    struct fixture *f = start();
    static const char *const both[] = {"T", "A", "U", "*", NULL};
    beat(f, 0, "G", 1, both);
    beat(f, 1, "G", 1, both);
    int before = f->changes;
    beat(f, 1, "G", 2, a);
    EXPECT_EQ(f->changes, before + 1);   /* other topics: queues are shared anew */
    assert_string_equal(expression(f, "G", "U"), "*");
    beat(f, 0, "G", 2, a);
    assert_string_equal(expression(f, "G", "U"), "(none)");
    stop(f);
}

static struct buf warnings(struct fixture *f, void (*play)(struct fixture *f))
{
    char *folder = test_folder(), path[600];
    struct buf text = BUF_EMPTY;
    snprintf(path, sizeof path, "%s/log", folder);
    EXPECT_OK(log_open(path));
    play(f);
    log_close();
    EXPECT_OK(fs_read_file(fs_real(), path, 65536, &text));
    buf_put_u8(&text, 0);
    test_folder_remove(folder);
    return text;
}

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    while ((text = strstr(text, word))) n++, text++;
    return n;
}

static void disagree(struct fixture *f)
{
    beat(f, 0, "G", 1, a);
    beat(f, 1, "G", 1, b);
    beat(f, 1, "G", 1, b);             /* nothing new: not told again */
    beat(f, 2, "G2", 1, a);
    beat(f, 0, "G2", 1, other_topic);
}

TEST(members, who_disagrees_is_named_with_both_clients_and_expressions_once_a_change)
{
    struct fixture *f = start();
    struct buf text = warnings(f, disagree);
    const char *log = (const char *)text.p;
    EXPECT_EQ(count_of(log, "subscription.inconsistent"), 3);
    EXPECT(strstr(log, "group=\"G\" topic=\"T\" client=\"client-1\" expression=\"B\" other_client=\"client-0\" other_expression=\"A\""));
    EXPECT(strstr(log, "group=\"G2\" topic=\"U\" client=\"client-0\" expression=\"*\" other_client=\"client-2\" other_expression=\"(none)\""));
    EXPECT(strstr(log, "group=\"G2\" topic=\"T\" client=\"client-0\" expression=\"(none)\" other_client=\"client-2\" other_expression=\"A\""));
    EXPECT_EQ(f->members.disagreements, 3);
    buf_done(&text);
    stop(f);
}

TEST(members, who_is_silent_for_too_long_is_dropped_with_its_connection)
{
    struct fixture *f = start();
    beat(f, 0, "G", 1, a);
    sim_run_for(f->sim, EXPIRES_MS - 1000);
    beat(f, 1, "G", 1, a);
    sim_run_for(f->sim, 2000);
    members_expire(&f->members, EXPIRES_MS);
    EXPECT_EQ(members_consumers(&f->members, SLICE("G"))->count, 1);
    EXPECT(!rpc_conn_open(f->calls[0]->conn));
    EXPECT(rpc_conn_open(f->calls[1]->conn));
    stop(f);
}

/* --- agreement --- */

static void differ_in_kind(struct fixture *f)
{
    beat(f, 0, "G", 1, a);
    EXPECT_OK(say(f, 1, "G", MODEL_BROADCASTING, 1, a));
    EXPECT_OK(say(f, 1, "G", MODEL_BROADCASTING, 1, a));
}

TEST(members, another_message_model_is_a_disagreement)
{
    struct fixture *f = start();
    struct buf text = warnings(f, differ_in_kind);
    EXPECT_EQ(count_of((const char *)text.p, "subscription.inconsistent"), 1);
    EXPECT(strstr((const char *)text.p, "group=\"G\" what=messageModel client=\"client-1\" value=BROADCASTING other_client=\"client-0\" other_value=CLUSTERING"));
    buf_done(&text);
    stop(f);
}

TEST(members, the_same_tags_in_another_order_are_no_disagreement_nor_are_retry_topics_nor_is_who_says_nothing)
{
    struct fixture *f = start();
    static const char *const one[] = {"T", "A || B", "%RETRY%G", "*", NULL}, *const two[] = {"T", "B||A", NULL}, *const nothing[] = {NULL};
    beat(f, 0, "G", 1, one);
    beat(f, 1, "G", 1, two);
    beat(f, 2, "G", 1, nothing);
    EXPECT_EQ(f->members.disagreements, 0);
    beat(f, 2, "G", 1, a);
    EXPECT_EQ(f->members.disagreements, 1);
    stop(f);
}

static void differ_in_many_topics(struct fixture *f)
{
    const char *pairs[41] = {NULL};
    static char names[20][8];
    for (int i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "T%d", i);
        pairs[2 * i] = names[i];
        pairs[2 * i + 1] = "*";
    }
    beat(f, 0, "G", 1, a);
    beat(f, 1, "G", 1, pairs);
}

TEST(members, many_disagreements_are_counted_and_the_first_of_them_named)
{
    struct fixture *f = start();
    struct buf text = warnings(f, differ_in_many_topics);
    EXPECT_EQ(f->members.disagreements, 21);
    EXPECT_EQ(count_of((const char *)text.p, "subscription.inconsistent"), 9);
    EXPECT(strstr((const char *)text.p, "group=\"G\" client=\"client-1\" more=13"));
    buf_done(&text);
    stop(f);
}

TEST(members, who_disagrees_is_refused_with_both_clients_and_expressions_while_that_is_asked_for)
{
    struct fixture *f = start();
    f->consistency = CONSISTENCY_REJECT;
    log_set_level(LOG_ERROR);
    beat(f, 0, "G", 1, a);
    err_t e = say(f, 1, "G", MODEL_CLUSTERING, 2, b);
    EXPECT(strstr(err_text(e), "group \"G\"") && strstr(err_text(e), "client \"client-1\" asks for \"B\", client \"client-0\" for \"A\""));
    EXPECT_ERR(e, ERR_REFUSED);
    EXPECT_EQ(count_members(f, "G"), 1);
    assert_string_equal(expression(f, "G", "T"), "A");
    EXPECT_ERR(say(f, 1, "G", MODEL_BROADCASTING, 2, a), ERR_REFUSED);
    beat(f, 1, "G", 1, a);
    EXPECT_EQ(count_members(f, "G"), 2);
    stop(f);
}

TEST(members, a_group_whose_members_change_what_they_ask_for_one_after_the_other_gets_there)
{
    struct fixture *f = start();
    f->consistency = CONSISTENCY_REJECT;
    log_set_level(LOG_ERROR);
    beat(f, 0, "G", 1, a);
    beat(f, 1, "G", 1, a);
    EXPECT_ERR(say(f, 0, "G", MODEL_CLUSTERING, 2, b), ERR_REFUSED);   /* and is no member any more */
    EXPECT_EQ(count_members(f, "G"), 1);
    beat(f, 1, "G", 2, b);
    beat(f, 0, "G", 2, b);
    EXPECT_EQ(count_members(f, "G"), 2);
    assert_string_equal(expression(f, "G", "T"), "B");
    stop(f);
}

TEST(members, a_client_that_is_refused_keeps_its_connection)
{
    struct fixture *f = start();
    f->consistency = CONSISTENCY_REJECT;
    log_set_level(LOG_ERROR);
    beat(f, 0, "G", 1, a);
    EXPECT_ERR(say(f, 1, "G", MODEL_CLUSTERING, 2, b), ERR_REFUSED);
    members_expire(&f->members, EXPIRES_MS);
    EXPECT(rpc_conn_open(f->calls[1]->conn));
    sim_run_for(f->sim, EXPIRES_MS + 1000);
    members_expire(&f->members, EXPIRES_MS);
    EXPECT(!rpc_conn_open(f->calls[1]->conn));
    stop(f);
}

TEST(members, each_has_its_own_interest_and_a_stranger_what_all_agree_on)
{
    struct fixture *f = start();
    log_set_level(LOG_ERROR);
    beat(f, 0, "G", 1, a);
    struct member_group *g = members_consumers(&f->members, SLICE("G"));
    EXPECT(!members_member(&f->members, f->calls[2]->conn, g));
    EXPECT_TEXT(members_own_interest(g, NULL, SLICE("T"))->subscription.expression, "A");
    beat(f, 1, "G", 1, b);
    EXPECT_TEXT(members_own_interest(g, members_member(&f->members, f->calls[0]->conn, g), SLICE("T"))->subscription.expression, "A");
    EXPECT_TEXT(members_own_interest(g, members_member(&f->members, f->calls[1]->conn, g), SLICE("T"))->subscription.expression, "B");
    EXPECT(!members_own_interest(g, members_member(&f->members, f->calls[1]->conn, g), SLICE("U")));
    EXPECT(!members_own_interest(g, NULL, SLICE("T")) && !members_own_interest(g, NULL, SLICE("U")));
    stop(f);
}

/* --- heartbeats of the second kind --- */

static bool second_beat(struct fixture *f, struct client *c, const struct heartbeat_consumer *h, int32_t fingerprint, bool without_sub)
{
    bool must_tell;
    EXPECT_OK(members_consumer(&f->members, c, h, fingerprint, without_sub, &must_tell));
    return must_tell;
}

static struct heartbeat_consumer second_kind(struct fixture *f, bool without)
{
    struct heartbeat_consumer h = {.group = SLICE("G"), .type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING};
    if (without) return h;
    struct subscription *s = arena_list_add(&f->arena, (void **)&h.subscriptions.items, &h.subscriptions.count, sizeof *s);
    EXPECT_OK(subscription_parse(SLICE("T"), SLICE("A"), &f->arena, s));
    return h;
}

TEST(members, a_heartbeat_without_subscriptions_is_enough_for_who_is_known_by_that_fingerprint)
{
    struct fixture *f = start();
    struct client *c = members_client(&f->members, f->calls[0], SLICE("c"));
    struct heartbeat_consumer full = second_kind(f, false), empty = second_kind(f, true);
    EXPECT(second_beat(f, c, &empty, 77, true));      /* not known here: tell everything */
    second_beat(f, c, &full, 77, false);
    EXPECT(!second_beat(f, c, &empty, 77, true));
    assert_string_equal(expression(f, "G", "T"), "A");               /* and what it subscribes to is kept */
    EXPECT(second_beat(f, c, &empty, 78, true));
    stop(f);
}

TEST(members, who_pulls_by_a_newer_subscription_than_it_told_is_asked_for_it_until_it_tells)
{
    struct fixture *f = start();
    struct client *c = members_client(&f->members, f->calls[0], SLICE("c"));
    struct heartbeat_consumer full = second_kind(f, false), empty = second_kind(f, true);
    second_beat(f, c, &full, 77, false);
    members_outdated(&f->members, f->calls[1]->conn, SLICE("G"));    /* somebody else */
    members_outdated(&f->members, f->calls[0]->conn, SLICE("H"));
    EXPECT(!second_beat(f, c, &empty, 77, true));
    members_outdated(&f->members, f->calls[0]->conn, SLICE("G"));
    EXPECT(second_beat(f, c, &empty, 77, true));
    EXPECT(second_beat(f, c, &empty, 77, true));
    EXPECT(!second_beat(f, c, &full, 77, false));
    EXPECT(!second_beat(f, c, &empty, 77, true));
    stop(f);
}

TEST(members, a_client_is_found_by_its_id_as_long_as_one_connection_has_it)
{
    struct fixture *f = start();
    struct client *first = members_client(&f->members, f->calls[0], SLICE("c"));
    members_producer(&f->members, first, SLICE("P"));
    EXPECT(members_producer_by_id(&f->members, SLICE("c")) == first);
    struct client *second = members_client(&f->members, f->calls[1], SLICE("c"));
    EXPECT(!members_producer_by_id(&f->members, SLICE("c")));   /* it does not produce yet */
    members_producer(&f->members, second, SLICE("P"));
    EXPECT(members_producer_by_id(&f->members, SLICE("c")) == second);
    members_client(&f->members, f->calls[1], SLICE("other"));   /* it calls itself otherwise now */
    EXPECT(members_producer_by_id(&f->members, SLICE("other")) == second);
    EXPECT(!members_producer_by_id(&f->members, SLICE("c")));
    members_client(&f->members, f->calls[0], SLICE("c"));       /* the next heartbeat of the first */
    EXPECT(members_producer_by_id(&f->members, SLICE("c")) == first);
    EXPECT(!members_consumer_by_id(&f->members, SLICE("G"), SLICE("c")));
    stop(f);
}

TEST(members, producers_have_groups_of_their_own)
{
    struct fixture *f = start();
    struct client *c = members_client(&f->members, f->calls[0], SLICE("c"));
    members_producer(&f->members, c, SLICE("G"));
    beat(f, 1, "G", 1, a);
    EXPECT_EQ(members_producers(&f->members, SLICE("G"))->count, 1);
    EXPECT_EQ(members_consumers(&f->members, SLICE("G"))->count, 1);
    EXPECT_EQ(f->changes, 1);   /* producers share nothing */
    members_leave(&f->members, f->calls[0]->conn, SLICE("G"), (struct slice){NULL, 0});
    EXPECT(!members_producers(&f->members, SLICE("G")));
    stop(f);
}
