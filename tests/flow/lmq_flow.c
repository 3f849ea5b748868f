/* Light message queues: messages of other topics are found in them, and neither they nor their groups need to be made. */
#include "flow/flow.h"

#include "codec/properties.h"

static const char *const on[] = {"enableLmq=true", "enableMultiDispatch=true", NULL};

static struct pulled pull_by(struct flow *f, const char *group, const char *topic, int64_t offset)
{
    struct pull_header h = {.topic = slice_text(topic), .consumer_group = slice_text(group), .max_msg_nums = 32, .queue_offset = offset,
                            .sys_flag = 4, .subscription = SLICE("*"), .expression_type = SLICE("TAG")};
    return flow_pull_header(f, &h);
}

static void commit(struct flow *f, const char *group, const char *topic, int32_t queue_id, int64_t offset)
{
    struct update_offset_header h = {.consumer_group = slice_text(group), .topic = slice_text(topic), .queue_id = queue_id, .commit_offset = offset};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
}

TEST(lmq, a_message_wakes_who_waits_in_each_light_queue_that_it_names)
{
    struct flow *f = flow_start(on);
    flow_make_topic(f, "T", 4);
    int32_t a = flow_pull_waiting(f, "%LMQ%a", 0, 0, "*", 10000), b = flow_pull_waiting(f, "%LMQ%$p$b", 0, 0, "A", 10000);
    struct sent s = flow_send(f, "T", 3, "TAGS=A;WAIT=true;INNER_MULTI_DISPATCH=%LMQ%a,%LMQ%$p$b", "to both");
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    EXPECT_EQ(s.queue_id, 3);
    int32_t waiting[] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct pulled p = flow_pulled(f, waiting[i], 1000);
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        EXPECT_EQ(p.count, 1);
        EXPECT_EQ(p.next, 1);
        EXPECT_TEXT(p.messages[0].topic, "T");
        EXPECT_TEXT(p.messages[0].body, "to both");
        EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("INNER_MULTI_QUEUE_OFFSET")), "0,0");
    }
    EXPECT_EQ(flow_pull(f, "T", 3, 0, "A").count, 1);
    flow_stop(f);
}

TEST(lmq, light_topics_and_groups_are_there_unmade_and_their_offsets_survive_in_a_file_of_their_own)
{
    static const char *const strict[] = {"enableLmq=true", "enableMultiDispatch=true", "autoCreateTopicEnable=false", "autoCreateSubscriptionGroup=false", NULL};
    struct flow *f = flow_start(strict);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "%LMQ%x", 0, "", "straight to it").code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_send(f, "%LMQ%x", 1, "", "it has one queue").code, RESPONSE_INVALID_PARAMETER);
    EXPECT_EQ(flow_send(f, "T", 0, "INNER_MULTI_DISPATCH=%LMQ%x", "by way of T").code, RESPONSE_SUCCESS);
    EXPECT_EQ(pull_by(f, "Unknown", "%LMQ%x", 0).code, RESPONSE_SUBSCRIPTION_GROUP_NOT_EXIST);
    struct pulled p = pull_by(f, "%LMQ%g", "%LMQ%x", 0);
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.messages[1].body, "by way of T");
    EXPECT_EQ(flow_offset(f, "%LMQ%g", "%LMQ%x", 0), -1);
    commit(f, "%LMQ%g", "%LMQ%x", 0, 2);
    commit(f, "%LMQ%g", "T", 3, 9);   /* whatever the queue: such a group has one offset of each topic */
    commit(f, "TOOLS_CONSUMER", "T", 0, 1);
    flow_restart(f);
    EXPECT(flow_is_there(f, "/store/config/lmqConsumerOffset.json"));
    EXPECT(!flow_is_there(f, "/store/config/consumerOffset.json"));
    EXPECT_EQ(flow_offset(f, "%LMQ%g", "%LMQ%x", 0), 2);
    EXPECT_EQ(flow_offset(f, "%LMQ%g", "T", 0), 9);
    EXPECT_EQ(flow_offset(f, "TOOLS_CONSUMER", "T", 0), 1);
    EXPECT_EQ(pull_by(f, "%LMQ%g", "%LMQ%x", 0).count, 2);
    flow_stop(f);
}

TEST(lmq, what_comes_by_a_delay_is_in_the_light_queue_when_it_is_due_and_once)
{
    struct flow *f = flow_start(on);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "DELAY=1;INNER_MULTI_DISPATCH=%LMQ%a", "by level").code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_pull(f, "%LMQ%a", 0, 0, "*").max, 0);
    int32_t waiting = flow_pull_waiting(f, "%LMQ%a", 0, 0, "*", 10000);
    struct pulled p = flow_pulled(f, waiting, 10000);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "by level");
    EXPECT_EQ(flow_send(f, "T", 0, "TIMER_DELAY_SEC=2;INNER_MULTI_DISPATCH=%LMQ%a", "by time").code, RESPONSE_SUCCESS);
    p = flow_pulled(f, flow_pull_waiting(f, "%LMQ%a", 0, 1, "*", 10000), 10000);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "by time");
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(flow_pull(f, "%LMQ%a", 0, 0, "*").max, 2);
    flow_stop(f);
}

TEST(lmq, offsets_that_a_client_states_itself_are_dropped)
{
    static const char *const settings[][3] = {{NULL}, {"enableLmq=true", "enableMultiDispatch=true", NULL}};
    for (size_t i = 0; i < 2; i++) {
        struct flow *f = flow_start(settings[i]);
        flow_make_topic(f, "T", 1);
        EXPECT_EQ(flow_send(f, "T", 0, "INNER_MULTI_DISPATCH=%LMQ%a;INNER_MULTI_QUEUE_OFFSET=7;A=b", "x").code, RESPONSE_SUCCESS);
        struct pulled p = flow_pull(f, "T", 0, 0, "*");
        EXPECT_EQ(p.count, 1);
        EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("INNER_MULTI_QUEUE_OFFSET")), i ? "0" : "");
        EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("A")), "b");
        EXPECT_EQ(flow_pull(f, "%LMQ%a", 0, 0, "*").code, i ? RESPONSE_SUCCESS : RESPONSE_TOPIC_NOT_EXIST);
        flow_stop(f);
    }
}

TEST(lmq, a_light_queue_too_many_is_refused_with_the_remark_of_the_original)
{
    static const char *const few[] = {"enableLmq=true", "enableMultiDispatch=true", "enableLmqQuota=true", "maxLmqConsumeQueueNum=1", NULL};
    struct flow *f = flow_start(few);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "INNER_MULTI_DISPATCH=%LMQ%a", "x").code, RESPONSE_SUCCESS);
    struct sent s = flow_send(f, "T", 0, "INNER_MULTI_DISPATCH=%LMQ%a,%LMQ%b", "x");
    EXPECT_EQ(s.code, RESPONSE_LMQ_QUOTA_EXCEEDED);
    EXPECT_TEXT(slice_text(s.remark), "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded.");
    s = flow_send(f, "T", 0, "INNER_MULTI_DISPATCH=%LMQ%a,Other", "x");
    EXPECT_EQ(s.code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT(strstr(s.remark, "\"Other\""));
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, 1);
    EXPECT_EQ(flow_send(f, "T", 0, "INNER_MULTI_DISPATCH=%LMQ%a", "x").code, RESPONSE_SUCCESS);
    flow_stop(f);
}

TEST(lmq, a_message_for_a_lite_topic_is_in_the_light_queue_of_that_name_alone)
{
    struct flow *f = flow_start(on);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "TAGS=A;INNER_MULTI_DISPATCH=%LMQ%other;__LITE_TOPIC=orders;KEYS=k", "lite").code, RESPONSE_SUCCESS);
    struct pulled p = flow_pull(f, "%LMQ%$T$orders", 0, 0, "*");
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "lite");
    EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("INNER_MULTI_DISPATCH")), "%LMQ%$T$orders");
    EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("__LITE_TOPIC")), "orders");
    EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("KEYS")), "k");
    EXPECT_EQ(flow_pull(f, "%LMQ%other", 0, 0, "*").max, 0);
    EXPECT_EQ(flow_send(f, "T", 0, "__LITE_TOPIC=two,three", "x").code, RESPONSE_MESSAGE_ILLEGAL);   /* it would be two names */
    flow_restart(f);
    EXPECT_EQ(flow_pull(f, "%LMQ%$T$orders", 0, 0, "*").count, 1);
    flow_stop(f);
}
