/* What could not be consumed: it is tried again later, as often as its group may, and then it is a dead letter. */
#include "flow/flow.h"

#include "codec/body_group_config.h"
#include "codec/message_id.h"
#include "codec/properties.h"

#include <stdio.h>

static struct slice property(const struct message *m, const char *name) { return properties_get(m->properties, slice_text(name)); }

static struct send_back_header back(const char *group, int64_t log_offset, int32_t level)
{
    return (struct send_back_header){.group = slice_text(group), .offset = log_offset, .delay_level = level};
}

static int32_t send_back(struct flow *f, const struct send_back_header *h, char *remark)
{
    return flow_code(f, REQUEST_CONSUMER_SEND_MSG_BACK, &send_back_kind, h, NULL, remark);
}

/* Waits for message `offset` of the topic's only queue; the limit is virtual time. */
static struct message wait_for(struct flow *f, const char *topic, int64_t offset, int64_t limit_ms)
{
    int64_t end = sim_now_ms(f->sim) + limit_ms;
    struct pulled p = flow_pull(f, topic, 0, offset, "*");
    while (!p.count && sim_now_ms(f->sim) < end) {
        sim_run_for(f->sim, 50);
        p = flow_pull(f, topic, 0, offset, "*");
    }
    EXPECT_EQ(p.count, 1);
    return p.messages[0];
}

/* Settings of a group, the others as usual. */
static void set_group(struct flow *f, const char *group, int32_t retry_queues, int32_t retry_max_times)
{
    char body[256];
    snprintf(body, sizeof body, "{\"groupName\":\"%s\",\"consumeEnable\":true,\"retryQueueNums\":%d,\"retryMaxTimes\":%d}", group, retry_queues,
             retry_max_times);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, body, NULL), RESPONSE_SUCCESS);
}

static struct message first_message(struct flow *f, const char *properties)
{
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, properties, "body");
    return flow_pull(f, "T", 0, 0, "*").messages[0];
}

TEST(retry, what_is_sent_back_comes_again_after_its_level_and_says_where_it_came_from)
{
    struct flow *f = flow_start(NULL);
    struct message m = first_message(f, "TAGS=A;KEYS=k;UNIQ_KEY=U;WAIT=true");
    int64_t sent_ms = sim_now_ms(f->sim);
    struct send_back_header h = back("G", m.log_offset, 2);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    struct message again = wait_for(f, "%RETRY%G", 0, 10000);
    EXPECT(sim_now_ms(f->sim) - sent_ms >= 5000 && sim_now_ms(f->sim) - sent_ms < 5500);
    char id[MESSAGE_ID_TEXT];
    EXPECT_EQ(again.reconsume_times, 1);
    EXPECT_EQ(again.born_ms, m.born_ms);
    EXPECT_TEXT(again.body, "body");
    EXPECT_TEXT(property(&again, "TAGS"), "A");
    EXPECT_TEXT(property(&again, "UNIQ_KEY"), "U");
    EXPECT_TEXT(property(&again, "RETRY_TOPIC"), "T");
    EXPECT_TEXT(property(&again, "DELAY"), "2");
    EXPECT_TEXT(property(&again, "WAIT"), "false");
    EXPECT(slice_eq(property(&again, "ORIGIN_MESSAGE_ID"), slice_of(id, offset_id_format(&m.store_host, m.log_offset, id))));
    EXPECT(!property(&again, "DLQ_REASON").p);
    flow_stop(f);
}

TEST(retry, each_try_waits_longer_and_the_one_after_the_last_is_a_dead_letter_at_once)
{
    static const int64_t seconds[] = {10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200};
    struct flow *f = flow_start(NULL);
    struct message m = first_message(f, "UNIQ_KEY=U");
    char id[MESSAGE_ID_TEXT];
    size_t id_bytes = offset_id_format(&m.store_host, m.log_offset, id);
    for (int i = 0; i < 16; i++) {
        int64_t sent_ms = sim_now_ms(f->sim);
        struct send_back_header h = back("G", m.log_offset, 0);
        EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
        m = wait_for(f, "%RETRY%G", i, seconds[i] * 1000 + 1000);
        EXPECT(sim_now_ms(f->sim) - sent_ms >= seconds[i] * 1000);
        EXPECT_EQ(m.reconsume_times, i + 1);
    }
    struct send_back_header h = back("G", m.log_offset, 0);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    struct message dead = wait_for(f, "%DLQ%G", 0, 0);
    EXPECT_EQ(dead.reconsume_times, 17);
    EXPECT_TEXT(dead.body, "body");
    EXPECT_TEXT(property(&dead, "RETRY_TOPIC"), "T");
    EXPECT_TEXT(property(&dead, "DELAY"), "0");
    EXPECT_TEXT(property(&dead, "DLQ_REASON"), "tried as often as the group may");
    EXPECT(slice_eq(property(&dead, "ORIGIN_MESSAGE_ID"), slice_of(id, id_bytes)));
    EXPECT_EQ(flow_metric(f, "rocketmq_send_to_dlq_messages_total"), 1);
    EXPECT_EQ(flow_pull(f, "%RETRY%G", 0, 0, "*").max, 16);
    flow_stop(f);
}

TEST(retry, a_consumer_may_ask_for_a_dead_letter_and_every_group_may_read_it)
{
    struct flow *f = flow_start(NULL);
    struct message m = first_message(f, "");
    struct send_back_header h = back("G", m.log_offset, -1);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    struct message dead = wait_for(f, "%DLQ%G", 0, 0);
    EXPECT_EQ(dead.reconsume_times, 1);
    EXPECT_TEXT(property(&dead, "DLQ_REASON"), "the consumer asked for it");
    flow_stop(f);
}

TEST(retry, the_groups_setting_counts_unless_the_client_says_how_often)
{
    struct flow *f = flow_start(NULL);
    struct message m = first_message(f, "");
    set_group(f, "G", 1, 0);
    struct send_back_header h = back("G", m.log_offset, 1);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_pull(f, "%DLQ%G", 0, 0, "*").max, 1);
    h.max_reconsume_times = 1;
    header_set(&h, send_back, max_reconsume_times);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    wait_for(f, "%RETRY%G", 0, 2000);
    EXPECT_EQ(flow_pull(f, "%DLQ%G", 0, 0, "*").max, 1);
    flow_stop(f);
}

TEST(retry, a_group_without_retry_queues_wants_nothing_again)
{
    struct flow *f = flow_start(NULL);
    struct message m = first_message(f, "");
    set_group(f, "G", 0, 16);
    struct send_back_header h = back("G", m.log_offset, 1);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 2000);
    EXPECT_EQ(flow_pull(f, "%RETRY%G", 0, 0, "*").code, RESPONSE_TOPIC_NOT_EXIST);
    flow_stop(f);
}

TEST(retry, what_is_not_there_cannot_be_sent_back)
{
    static const char *const settings[] = {"autoCreateSubscriptionGroup=false", NULL};
    struct flow *f = flow_start(settings);
    char remark[512];
    struct message m = first_message(f, "");
    struct send_back_header h = back("G", m.log_offset, 1);
    EXPECT_EQ(send_back(f, &h, remark), RESPONSE_SUBSCRIPTION_GROUP_NOT_EXIST);
    EXPECT(strstr(remark, "subscription group not exist, G "));
    set_group(f, "G", 1, 16);
    const int64_t nowhere[] = {-1, m.log_offset + 1, m.log_offset + 100000, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        h.offset = nowhere[i];
        EXPECT_EQ(send_back(f, &h, remark), RESPONSE_SYSTEM_ERROR);
        EXPECT(strstr(remark, "look message by offset failed, "));
    }
    EXPECT_EQ(flow_pull(f, "%RETRY%G", 0, 0, "*").max, 0);
    flow_stop(f);
}

static struct send_header to_retry_topic(int32_t reconsume_times)
{
    struct send_header h = flow_send_fields("%RETRY%G", 0);
    h.reconsume_times = reconsume_times;
    header_set(&h, send, reconsume_times);
    h.properties = flow_properties("UNIQ_KEY=U;RETRY_TOPIC=T;DELAY=1");
    return h;
}

/* What a client does when its sending back failed. */
TEST(retry, a_client_may_send_to_the_retry_topic_itself_and_the_same_limit_holds)
{
    struct flow *f = flow_start(NULL);
    set_group(f, "G", 1, 2);
    struct send_header h = to_retry_topic(2);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE, &h, SLICE("x")).code, RESPONSE_SUCCESS);   /* F9: without a limit of its own */
    EXPECT_EQ(wait_for(f, "%RETRY%G", 0, 2000).reconsume_times, 2);
    h = to_retry_topic(3);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_SUCCESS);
    struct message dead = wait_for(f, "%DLQ%G", 0, 0);
    EXPECT_TEXT(property(&dead, "DELAY"), "-1");
    EXPECT_TEXT(property(&dead, "DLQ_REASON"), "tried as often as the group may");
    h = to_retry_topic(3);
    h.max_reconsume_times = 3;
    header_set(&h, send, max_reconsume_times);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE, &h, SLICE("x")).code, RESPONSE_SUCCESS);
    EXPECT_EQ(wait_for(f, "%RETRY%G", 1, 2000).reconsume_times, 3);
    flow_stop(f);
}

TEST(retry, what_a_group_consumes_in_order_and_gives_up_is_a_dead_letter_at_once)
{
    struct flow *f = flow_start(NULL);
    EXPECT_EQ(flow_code(f, REQUEST_LOCK_BATCH_MQ, NULL, NULL,
                        "{\"consumerGroup\":\"G\",\"clientId\":\"c\",\"mqSet\":[{\"topic\":\"T\",\"brokerName\":\"vm\",\"queueId\":0}]}", NULL), RESPONSE_SUCCESS);
    struct send_header h = to_retry_topic(1);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE, &h, SLICE("x")).code, RESPONSE_SUCCESS);
    struct message dead = wait_for(f, "%DLQ%G", 0, 0);
    EXPECT_TEXT(property(&dead, "DLQ_REASON"), "consumed in order, given up by the consumer");
    sim_run_for(f->sim, 61000);   /* the lock has expired */
    h = to_retry_topic(1);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE, &h, SLICE("x")).code, RESPONSE_SUCCESS);
    wait_for(f, "%RETRY%G", 0, 2000);
    EXPECT_EQ(flow_pull(f, "%DLQ%G", 0, 0, "*").max, 1);
    flow_stop(f);
}

TEST(retry, a_crash_loses_nothing_that_was_taken_back)
{
    struct flow *f = flow_start(NULL);
    struct message m = first_message(f, "UNIQ_KEY=U");
    struct send_back_header h = back("G", m.log_offset, 3), dead = back("G", m.log_offset, -1);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(send_back(f, &dead, NULL), RESPONSE_SUCCESS);
    flow_crash(f);
    wait_for(f, "%DLQ%G", 0, 0);
    wait_for(f, "%RETRY%G", 0, 11000);
    flow_stop(f);
}

static struct pulled pull_as_group(struct flow *f, const char *topic, int64_t offset)
{
    struct pull_header h = {.topic = slice_text(topic), .consumer_group = SLICE("G"), .queue_offset = offset, .max_msg_nums = 32};
    return flow_pull_header(f, &h);
}

/* Clients subscribe to a group's retry topic with "*": what its members asked for was judged when it was pulled for the first time. */
TEST(retry, what_failed_comes_again_whatever_its_tag_and_what_nobody_asked_for_does_not)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "TAGS=B;UNIQ_KEY=b", "b");
    flow_send(f, "T", 0, "TAGS=A;UNIQ_KEY=a", "a");
    struct caller *other = flow_caller(f);
    flow_subscribe(f, f->caller, "c1", "G", "T", "A", 1);
    flow_subscribe(f, other, "c2", "G", "%RETRY%G", "*", 1);
    struct pulled p = pull_as_group(f, "T", 0);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "a");
    struct send_back_header h = back("G", p.messages[0].log_offset, 1);
    EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
    wait_for(f, "%RETRY%G", 0, 2000);
    p = pull_as_group(f, "%RETRY%G", 0);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "a");
    EXPECT_TEXT(property(&p.messages[0], "TAGS"), "A");
    caller_close(other);
    flow_stop(f);
}

/* A property that grew with each try would make the message too long in the end. */
TEST(retry, a_message_that_is_tried_often_does_not_grow)
{
    struct flow *f = flow_start(NULL);
    struct message m = first_message(f, "UNIQ_KEY=U;TAGS=A");
    size_t first = 0;
    for (int i = 0; i < 5; i++) {
        struct send_back_header h = back("G", m.log_offset, 1);
        EXPECT_EQ(send_back(f, &h, NULL), RESPONSE_SUCCESS);
        m = wait_for(f, "%RETRY%G", i, 2000);
        if (!i) first = m.properties.n;
        EXPECT_EQ(m.properties.n, first);
    }
    flow_stop(f);
}
