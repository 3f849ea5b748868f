/* Members of groups, on real connections of the simulated network. */
#include "kit/caller.h"
#include "kit/test.h"

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
    int changes;
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
    members_init(&f->members, &f->loop->tasks, changed, f);
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
static bool beat(struct fixture *f, int who, const char *group, int64_t version, const char *const *pairs)
{
    char id[16];
    struct heartbeat_consumer h = {.group = slice_text(group), .type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING};
    snprintf(id, sizeof id, "client-%d", who);
    for (; *pairs; pairs += 2) {
        struct subscription *s = arena_list_add(&f->arena, (void **)&h.subscriptions.items, &h.subscriptions.count, sizeof *s);
        EXPECT_OK(subscription_parse(slice_text(pairs[0]), slice_text(pairs[1]), &f->arena, s));
        s->version = version;
    }
    return members_consumer(&f->members, members_client(&f->members, f->calls[who], slice_text(id)), &h, 0, false);
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
    EXPECT_EQ(count_of(log, "subscription.inconsistent"), 2);
    EXPECT(strstr(log, "group=\"G\" topic=\"T\" client=\"client-1\" expression=\"B\" other_client=\"client-0\" other_expression=\"A\""));
    EXPECT(strstr(log, "group=\"G2\" topic=\"U\" client=\"client-0\" expression=\"*\" other_client=\"client-2\" other_expression=\"(none)\""));
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
    EXPECT(members_consumer(&f->members, c, &empty, 77, true));      /* not known here: tell everything */
    members_consumer(&f->members, c, &full, 77, false);
    EXPECT(!members_consumer(&f->members, c, &empty, 77, true));
    assert_string_equal(expression(f, "G", "T"), "A");               /* and what it subscribes to is kept */
    EXPECT(members_consumer(&f->members, c, &empty, 78, true));
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
