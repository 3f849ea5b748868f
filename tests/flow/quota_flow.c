/* Quotas of topics and clients: what is over is refused clearly, and nothing else. */
#include "flow/flow.h"

#include <stdio.h>

/* Sends until one is refused; how many were not. */
static int send_many(struct flow *f, const char *topic, int most, char *remark)
{
    for (int n = 0; n < most; n++) {
        struct sent s = flow_send(f, topic, 0, "", "0123456789");
        if (s.code == RESPONSE_SUCCESS) continue;
        EXPECT_EQ(s.code, RESPONSE_SYSTEM_BUSY);
        snprintf(remark, 512, "%s", s.remark);
        return n;
    }
    return most;
}

static struct flow *start(const char *setting)
{
    const char *settings[] = {setting, NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    flow_make_topic(f, "U", 1);
    return f;
}

TEST(quota, a_topic_over_its_messages_is_refused_until_time_has_passed_and_others_are_not)
{
    struct flow *f = start("sendQuotaMessagesPerTopic=20");
    char remark[512] = "";
    int got = send_many(f, "T", 100, remark);
    EXPECT(got >= 20 && got <= 22);   /* a second's worth, and what the time of the sends adds */
    EXPECT(strstr(remark, "[QUOTA]topic T sends more than 20 messages a second, as sendQuotaMessagesPerTopic allows"));
    EXPECT_EQ(flow_metric(f, "skylark_sends_over_quota_total"), 1);
    EXPECT_EQ(flow_send(f, "U", 0, "", "x").code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 500);
    got = send_many(f, "T", 100, remark);
    EXPECT(got >= 9 && got <= 12);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, flow_metric(f, "rocketmq_messages_in_total") - 1);   /* what was refused left nothing */
    sim_run_for(f->sim, 60000);
    got = send_many(f, "T", 100, remark);
    EXPECT(got >= 20 && got <= 22);   /* silence saves up no more than a second's worth */
    flow_stop(f);
}

TEST(quota, bytes_count_too_and_each_message_of_a_batch)
{
    struct flow *f = start("sendQuotaBytesPerTopic=100");
    char remark[512] = "";
    int got = send_many(f, "T", 100, remark);
    EXPECT(got >= 10 && got <= 12);
    EXPECT(strstr(remark, "100 bytes a second"));
    flow_stop(f);

    f = start("sendQuotaMessagesPerTopic=20");
    struct buf batch = BUF_EMPTY;
    for (int i = 0; i < 30; i++) flow_batch_add(&batch, (struct slice){NULL, 0}, "x");
    struct send_header h = flow_send_fields("T", 0);
    h.batch = true;
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_SUCCESS);   /* larger than any quota, once */
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_SYSTEM_BUSY);
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SYSTEM_BUSY);
    sim_run_for(f->sim, 600);
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
    buf_done(&batch);
    flow_stop(f);
}

TEST(quota, a_client_over_its_share_does_not_keep_others_from_sending)
{
    struct flow *f = start("sendQuotaMessagesPerClient=20");
    char remark[512] = "";
    int got = send_many(f, "T", 100, remark);
    EXPECT(got >= 20 && got <= 22);
    EXPECT(strstr(remark, "[QUOTA]client "));
    EXPECT_EQ(flow_send(f, "U", 0, "", "x").code, RESPONSE_SYSTEM_BUSY);   /* whatever the topic */
    struct caller *first = f->caller;
    f->caller = flow_caller(f);
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
    caller_close(f->caller);
    f->caller = first;
    flow_stop(f);
}

TEST(quota, one_may_be_set_and_lifted_while_the_broker_runs)
{
    struct flow *f = start("sendQuotaMessagesPerTopic=0");
    char remark[512] = "";
    EXPECT_EQ(send_many(f, "T", 100, remark), 100);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "sendQuotaMessagesPerTopic=5", NULL), RESPONSE_SUCCESS);
    EXPECT(send_many(f, "T", 100, remark) <= 7);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "sendQuotaMessagesPerTopic=0", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(send_many(f, "T", 100, remark), 100);
    flow_stop(f);
}
