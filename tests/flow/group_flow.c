#include "flow/flow.h"

#include "codec/body_queue.h"

#include <stdio.h>

/* The members that the broker names. */
static size_t members_of(struct flow *f, const char *group, char *ids)
{
    struct consumer_list_header h = {.consumer_group = slice_text(group)};
    struct answer *a = caller_call(f->caller, REQUEST_GET_CONSUMER_LIST_BY_GROUP, &consumer_list_kind, &h, (struct slice){NULL, 0});
    struct consumer_list list = {.client_ids = {NULL, 0}};
    struct arena arena = ARENA_EMPTY;
    if (a->frame.code == RESPONSE_SUCCESS) EXPECT_OK(bean_decode(&consumer_list_bean, a->frame.body, &arena, "list", &list));
    ids[0] = 0;
    for (size_t i = 0; i < list.client_ids.count; i++) sprintf(ids + strlen(ids), "%.*s ", SLICE_ARG(list.client_ids.items[i]));
    answer_free(a);
    arena_done(&arena);
    return list.client_ids.count;
}

TEST(group, members_are_told_when_one_comes_and_when_one_goes)
{
    struct flow *f = flow_start(NULL);
    char ids[256];
    flow_make_topic(f, "T", 1);
    struct caller *one = flow_caller(f), *two = flow_caller(f);
    flow_subscribe(f, one, "one", "G", "T", "*", 1);
    answer_free(caller_asked(one, REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, 1000));
    flow_subscribe(f, two, "two", "G", "T", "*", 1);
    struct answer *told = caller_asked(one, REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, 1000);
    EXPECT(told);
    EXPECT(told->frame.flag & FRAME_FLAG_ONEWAY);
    EXPECT_TEXT(frame_get(&told->frame, SLICE("consumerGroup")), "G");
    answer_free(told);
    EXPECT_EQ(members_of(f, "G", ids), 2);
    assert_string_equal(ids, "one two ");
    caller_close(two);   /* without a word */
    told = caller_asked(one, REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, 1000);
    EXPECT(told);
    answer_free(told);
    EXPECT_EQ(members_of(f, "G", ids), 1);
    caller_close(one);
    flow_stop(f);
}

TEST(group, a_repeated_heartbeat_tells_nobody)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct caller *one = flow_caller(f);
    flow_subscribe(f, one, "one", "G", "T", "A", 1);
    answer_free(caller_asked(one, REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, 1000));
    flow_subscribe(f, one, "one", "G", "T", "A", 1);
    flow_subscribe(f, one, "one", "G", "T", "B", 2);   /* another expression is no other topic */
    EXPECT(!caller_asked(one, REQUEST_NOTIFY_CONSUMER_IDS_CHANGED, 1000));
    caller_close(one);
    flow_stop(f);
}

/* A heartbeat of the second kind; `all` tells the subscriptions with this version. Returns whether the client is asked for all. */
static bool heartbeat_asks(struct caller *c, bool all, int version)
{
    char body[512], subscription[128] = "";
    if (all) snprintf(subscription, sizeof subscription, "{\"topic\":\"T\",\"subString\":\"*\",\"expressionType\":\"TAG\",\"subVersion\":%d}", version);
    snprintf(body, sizeof body,
             "{\"clientID\":\"c\",\"heartbeatFingerprint\":7,\"withoutSub\":%s,\"producerDataSet\":[],\"consumerDataSet\":[{\"groupName\":\"G\","
             "\"consumeType\":\"CONSUME_PASSIVELY\",\"messageModel\":\"CLUSTERING\",\"consumeFromWhere\":\"CONSUME_FROM_LAST_OFFSET\","
             "\"subscriptionDataSet\":[%s]}]}", all ? "false" : "true", subscription);
    struct answer *a = caller_call(c, REQUEST_HEART_BEAT, NULL, NULL, slice_text(body));
    bool asks = slice_eq(frame_get(&a->frame, SLICE("IS_SUB_CHANGE")), SLICE("true"));
    answer_free(a);
    return asks;
}

/* Java clients raise their subscription's version whenever their queues change, and leave out the heartbeat that would tell when another
 * one is under way; from then on their fingerprint is all they send. */
TEST(group, a_member_that_did_not_tell_its_newest_subscription_is_asked_for_it_and_gets_messages_again)
{
    struct flow *f = flow_start(NULL);
    char remark[512];
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    struct pull_header h = {.topic = SLICE("T"), .consumer_group = SLICE("G"), .max_msg_nums = 32, .sub_version = 2};
    heartbeat_asks(f->caller, true, 1);
    EXPECT(!heartbeat_asks(f->caller, false, 0));
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_SUBSCRIPTION_NOT_LATEST);
    EXPECT(heartbeat_asks(f->caller, false, 0));
    EXPECT(!heartbeat_asks(f->caller, true, 2));
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, remark), RESPONSE_SUCCESS);
    EXPECT(!heartbeat_asks(f->caller, false, 0));
    flow_stop(f);
}

TEST(group, members_without_heartbeat_for_two_minutes_are_gone)
{
    static const char *const settings[] = {"serverChannelMaxIdleTimeSeconds=0", NULL};
    struct flow *f = flow_start(settings);
    char ids[256];
    flow_make_topic(f, "T", 1);
    struct caller *one = flow_caller(f), *two = flow_caller(f);
    flow_subscribe(f, one, "one", "G", "T", "*", 1);
    flow_subscribe(f, two, "two", "G", "T", "*", 1);
    sim_run_for(f->sim, 100000);
    flow_subscribe(f, two, "two", "G", "T", "*", 1);
    sim_run_for(f->sim, 60000);
    EXPECT_EQ(members_of(f, "G", ids), 1);
    assert_string_equal(ids, "two ");
    EXPECT(caller_ended(one, 1000));
    caller_close(one);
    caller_close(two);
    flow_stop(f);
}

/* A LOCK_BATCH_MQ for queue 0 of T; how many queues the client holds after it. */
static size_t lock(struct flow *f, const char *client, bool unlock)
{
    char body[256];
    snprintf(body, sizeof body, "{\"clientId\":\"%s\",\"consumerGroup\":\"G\",\"mqSet\":[{\"brokerName\":\"broker-a\",\"queueId\":0,\"topic\":\"T\"}]}", client);
    struct answer *a = caller_call(f->caller, unlock ? REQUEST_UNLOCK_BATCH_MQ : REQUEST_LOCK_BATCH_MQ, NULL, NULL, slice_text(body));
    struct lock_reply reply = {.queues = {NULL, 0}};
    struct arena arena = ARENA_EMPTY;
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    if (!unlock) EXPECT_OK(bean_decode(&lock_reply_bean, a->frame.body, &arena, "locks", &reply));
    answer_free(a);
    arena_done(&arena);
    return reply.queues.count;
}

TEST(group, a_queue_is_locked_by_one_client_until_it_lets_go_or_is_silent)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(lock(f, "one", false), 1);
    EXPECT_EQ(lock(f, "two", false), 0);
    EXPECT_EQ(lock(f, "one", false), 1);
    lock(f, "two", true);   /* not its lock */
    EXPECT_EQ(lock(f, "two", false), 0);
    lock(f, "one", true);
    EXPECT_EQ(lock(f, "two", false), 1);
    sim_run_for(f->sim, 61000);
    EXPECT_EQ(lock(f, "one", false), 1);
    flow_stop(f);
}

TEST(group, a_queue_stays_locked_over_a_clean_stop_for_its_owner_to_go_on)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(lock(f, "one", false), 1);
    flow_restart(f);
    EXPECT_EQ(lock(f, "two", false), 0);   /* though it comes first */
    EXPECT_EQ(lock(f, "one", false), 1);
    sim_run_for(f->sim, 61000);
    EXPECT_EQ(lock(f, "two", false), 1);
    flow_stop(f);
}

TEST(group, the_newest_subscription_of_its_members_rules)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=A", "a");
    struct caller *one = flow_caller(f), *two = flow_caller(f);
    flow_subscribe(f, one, "one", "G2", "T", "A", 10);
    flow_subscribe(f, two, "two", "G2", "T", "B", 11);
    struct pull_header h = {.topic = SLICE("T"), .consumer_group = SLICE("G2"), .max_msg_nums = 32, .sub_version = 10};
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, NULL), RESPONSE_PULL_RETRY_IMMEDIATELY);
    caller_close(two);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    caller_close(one);
    flow_stop(f);
}

TEST(group, a_configuration_without_body_is_refused)
{
    struct flow *f = flow_start(NULL);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, NULL, NULL), RESPONSE_SYSTEM_ERROR);
    flow_stop(f);
}

static int32_t set_readable(struct flow *f, const char *topic, bool readable)
{
    struct group_forbidden_header h = {.group = SLICE("G"), .topic = slice_text(topic), .readable = readable};
    header_set(&h, group_forbidden, readable);
    return flow_code(f, REQUEST_UPDATE_AND_GET_GROUP_FORBIDDEN, &group_forbidden_kind, &h, NULL, NULL);
}

TEST(group, reading_is_forbidden_and_allowed_again)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "", "x");
    flow_subscribe(f, f->caller, "c", "G", "T", "*", 1);
    struct pull_header h = {.topic = SLICE("T"), .consumer_group = SLICE("G"), .max_msg_nums = 32, .sub_version = 1};
    EXPECT_EQ(set_readable(f, "NoTopic", false), RESPONSE_TOPIC_NOT_EXIST);
    EXPECT_EQ(set_readable(f, "T", false), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, NULL), RESPONSE_NO_PERMISSION);
    EXPECT_EQ(set_readable(f, "T", true), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_code(f, REQUEST_PULL_MESSAGE, &pull_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
    flow_stop(f);
}
