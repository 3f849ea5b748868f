/* assign_flow.c - consumers that leave it to the broker which queues they read, and how (400 to 402). */
#include "flow/flow.h"

#include "codec/body_assignment.h"
#include "codec/body_route.h"
#include "rpc/rpc.h"

#include <stdio.h>

/* A name server that knows one topic. */
struct names {
    struct rpc_listener *listener;
    const char *route;              /* NULL: it knows none */
    int asked;
};

static void handle(void *ctx, struct call *call)
{
    struct names *n = ctx;
    bool asks = call->code == REQUEST_GET_ROUTEINFO_BY_TOPIC;
    n->asked += asks;
    if (asks && !n->route) call_reply(call, RESPONSE_TOPIC_NOT_EXIST, "no route", NULL, NULL, (struct slice){NULL, 0});
    else call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, slice_text(asks ? n->route : ""));
}

static struct flow *start_with_names(struct names *n, const char *route)
{
    static const char *const settings[] = {"namesrvAddr=10.0.0.3:9876", NULL};
    struct flow *f = flow_start(settings);
    struct rpc_service service = {.handle = handle, .ctx = n};
    struct rpc_options options = rpc_options_default();
    struct addr at = {.port = 9876};
    *n = (struct names){.route = route};
    EXPECT_OK(rpc_listen(sim_loop_new(sim_process_new(f->sim, "10.0.0.3")), &at, 0, &service, &options, &n->listener));
    sim_run_for(f->sim, 35000);
    return f;
}

/* The reply's text; valid until the next call. */
static const char *ask_with(struct flow *f, const char *client, const char *topic, const char *strategy, const char *model)
{
    static char text[2048];
    char body[512];
    snprintf(body, sizeof body, "{\"clientId\":\"%s\",\"consumerGroup\":\"G\",\"messageModel\":\"%s\",\"strategyName\":\"%s\",\"topic\":\"%s\"}",
             client, model, strategy, topic);
    struct answer *a = caller_call(f->caller, REQUEST_QUERY_ASSIGNMENT, NULL, NULL, slice_text(body));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(a->frame.body));
    answer_free(a);
    return text;
}

static const char *ask(struct flow *f, const char *client) { return ask_with(f, client, "T", "AVG", "CLUSTERING"); }

static int32_t set_mode(struct flow *f, const char *topic, const char *mode, int share)
{
    char body[256];
    snprintf(body, sizeof body, "{\"consumerGroup\":\"G\",\"mode\":\"%s\",\"popShareQueueNum\":%d,\"topic\":\"%s\"}", mode, share, topic);
    return flow_code(f, REQUEST_SET_MESSAGE_REQUEST_MODE, NULL, NULL, body, NULL);
}

static void expect_queue(const char *reply, const char *broker, int queue, const char *mode, bool there)
{
    char wanted[256];
    snprintf(wanted, sizeof wanted, "{\"messageQueue\":{\"brokerName\":\"%s\",\"queueId\":%d,\"topic\":\"T\"},\"mode\":\"%s\"}", broker, queue, mode);
    if (!!strstr(reply, wanted) != there) print_error("%s\n", reply);
    EXPECT_EQ(!!strstr(reply, wanted), there);
}

static int queues_in(const char *reply)
{
    int n = 0;
    while ((reply = strstr(reply, "queueId"))) n++, reply++;
    return n;
}

static struct caller *join(struct flow *f, const char *client, const char *topic)
{
    struct caller *c = flow_caller(f);
    flow_subscribe(f, c, client, "G", topic, "*", 1);
    return c;
}

static struct flow *start_with_members(int32_t queues)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", queues);
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    return f;
}

TEST(assign, members_share_the_queues_of_a_topic_by_their_sorted_ids)
{
    struct flow *f = start_with_members(4);
    struct caller *second = join(f, "c0", "T");
    expect_queue(ask(f, "c0"), "broker-a", 0, "PULL", true);
    expect_queue(ask(f, "c0"), "broker-a", 1, "PULL", true);
    EXPECT_EQ(queues_in(ask(f, "c0")), 2);
    expect_queue(ask(f, "c1"), "broker-a", 3, "PULL", true);
    expect_queue(ask_with(f, "c1", "T", "AVG_BY_CIRCLE", "CLUSTERING"), "broker-a", 1, "PULL", true);
    expect_queue(ask_with(f, "c1", "T", "AVG_BY_CIRCLE", "CLUSTERING"), "broker-a", 2, "PULL", false);
    assert_string_equal(ask(f, "nobody"), "{\"messageQueueAssignments\":[]}");
    EXPECT_EQ(queues_in(ask_with(f, "nobody", "T", "AVG", "BROADCASTING")), 4);
    caller_close(second);
    flow_stop(f);
}

TEST(assign, what_cannot_be_said_takes_nothing_away)
{
    struct flow *f = start_with_members(4);
    assert_string_equal(ask_with(f, "c1", "T", "CONSISTENT_HASH", "CLUSTERING"), "{}");
    assert_string_equal(ask_with(f, "c1", "Nowhere", "AVG", "CLUSTERING"), "{}");
    assert_string_equal(ask_with(f, "c1", "T", "AVG", "LITE_SELECTIVE"), "{}");
    assert_string_equal(ask(f, ""), "{}");
    flow_stop(f);
}

TEST(assign, a_popping_group_has_all_queues_of_each_broker_or_shares_them_with_those_behind)
{
    struct flow *f = start_with_members(6);
    EXPECT_EQ(set_mode(f, "T", "POP", 0), RESPONSE_SUCCESS);
    expect_queue(ask(f, "c1"), "broker-a", -1, "POP", true);
    EXPECT_EQ(queues_in(ask(f, "c1")), 1);
    struct caller *others[] = {join(f, "c2", "T"), join(f, "c3", "T")};
    EXPECT_EQ(set_mode(f, "T", "POP", 1), RESPONSE_SUCCESS);
    EXPECT_EQ(queues_in(ask(f, "c3")), 4);   /* its own, and those of the next, which is the first */
    expect_queue(ask(f, "c3"), "broker-a", 5, "POP", true);
    expect_queue(ask(f, "c3"), "broker-a", 0, "POP", true);
    expect_queue(ask(f, "c3"), "broker-a", 2, "POP", false);
    EXPECT_EQ(set_mode(f, "T", "POP", 2), RESPONSE_SUCCESS);
    expect_queue(ask(f, "c3"), "broker-a", -1, "POP", true);
    for (int i = 0; i < 2; i++) caller_close(others[i]);
    flow_stop(f);
}

TEST(assign, more_poppers_than_queues_have_one_each)
{
    struct flow *f = start_with_members(2);
    struct caller *others[] = {join(f, "c2", "T"), join(f, "c3", "T"), join(f, "c4", "T")};
    EXPECT_EQ(set_mode(f, "T", "POP", 1), RESPONSE_SUCCESS);
    expect_queue(ask(f, "c3"), "broker-a", 0, "POP", true);
    expect_queue(ask(f, "c4"), "broker-a", 1, "POP", true);
    EXPECT_EQ(queues_in(ask(f, "c4")), 1);
    for (int i = 0; i < 3; i++) caller_close(others[i]);
    flow_stop(f);
}

TEST(assign, the_mode_of_a_group_survives_a_restart_and_is_listed)
{
    struct flow *f = start_with_members(2);
    EXPECT_EQ(set_mode(f, "%RETRY%G", "POP", 0), RESPONSE_NO_PERMISSION);
    EXPECT_EQ(set_mode(f, "Nowhere", "POP", 0), RESPONSE_TOPIC_NOT_EXIST);
    EXPECT_EQ(set_mode(f, "T", "SHOVE", 0), RESPONSE_INVALID_PARAMETER);
    EXPECT_EQ(set_mode(f, "T", "POP", 3), RESPONSE_SUCCESS);
    flow_restart(f);
    struct answer *a = caller_call(f->caller, REQUEST_GET_ALL_MESSAGE_REQUEST_MODE, NULL, NULL, (struct slice){NULL, 0});
    EXPECT_TEXT(a->frame.body, "{\"messageRequestModeMap\":{\"T\":{\"G\":{\"consumerGroup\":\"G\",\"mode\":\"POP\",\"popShareQueueNum\":3,"
                               "\"topic\":\"T\"}}}}");
    answer_free(a);
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    expect_queue(ask(f, "c1"), "broker-a", -1, "POP", true);
    flow_stop(f);
}

TEST(assign, queues_of_all_brokers_are_shared_as_a_name_server_knows_them)
{
    struct names n;
    struct flow *f = start_with_names(&n, "{\"brokerDatas\":[],\"queueDatas\":[{\"brokerName\":\"z\",\"readQueueNums\":1,\"writeQueueNums\":9,"
                                          "\"perm\":6},{\"brokerName\":\"b\",\"readQueueNums\":2,\"perm\":4},{\"brokerName\":\"c\","
                                          "\"readQueueNums\":7,\"perm\":2}]}");
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    struct caller *second = join(f, "c2", "T");
    expect_queue(ask(f, "c1"), "b", 0, "PULL", true);
    expect_queue(ask(f, "c1"), "b", 1, "PULL", true);
    expect_queue(ask(f, "c2"), "z", 0, "PULL", true);
    EXPECT_EQ(queues_in(ask(f, "c2")), 1);
    EXPECT_EQ(n.asked, 1);
    sim_run_for(f->sim, 31000);
    n.route = NULL;
    assert_string_equal(ask(f, "c2"), "{}");
    EXPECT_EQ(n.asked, 2);
    caller_close(second);
    rpc_listener_close(n.listener);
    flow_stop(f);
}

TEST(assign, a_name_server_that_falls_silent_takes_no_queues_away)
{
    struct names n;
    struct flow *f = start_with_names(&n, "{\"queueDatas\":[{\"brokerName\":\"b\",\"readQueueNums\":2,\"perm\":4}]}");
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    EXPECT_EQ(queues_in(ask(f, "c1")), 2);
    rpc_listener_close(n.listener);
    sim_run_for(f->sim, 31000);
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 2);
    EXPECT_EQ(queues_in(ask(f, "c1")), 2);
    flow_stop(f);
}

TEST(assign, members_that_did_not_ask_for_a_topic_have_no_queue_of_it_when_each_gets_what_it_asked_for)
{
    static const char *const settings[] = {"subscriptionConsistency=isolate", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 4);
    flow_make_topic(f, "U", 4);
    flow_subscribe(f, f->caller, "c1", "G", "T", "*", 1);
    struct caller *second = join(f, "c2", "U");
    EXPECT_EQ(queues_in(ask(f, "c1")), 4);
    assert_string_equal(ask(f, "c2"), "{\"messageQueueAssignments\":[]}");
    caller_close(second);
    flow_stop(f);
}
