/* Groups for which the disk is read a lot are told to come later; off by default. Facts: docs/protocol/remoting.md (2001 to 2003). */
#include "flow/flow.h"

#include <stdio.h>

enum { MESSAGES = 40, ROUND_MS = 5000, HOLD_MS = 3000 };

static const char remark[] = "This consumer group is reading cold data. It has been flow control";

/* Nothing leaves memory but by cold_pull(). */
static struct flow *filled(const char *const *settings)
{
    struct flow *f = flow_start(settings);
    char body[1001];
    memset(body, 'x', 1000);
    body[1000] = 0;
    f->stays_warm = true;
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < MESSAGES; i++) EXPECT_EQ(flow_send(f, "T", 0, "TAGS=A", body).queue_offset, i);
    sim_run_for(f->sim, 2 * ROUND_MS);
    return f;
}

static struct pull_header fields(const char *group, int64_t offset)
{
    return (struct pull_header){.topic = SLICE("T"), .consumer_group = slice_text(group), .max_msg_nums = 4, .queue_offset = offset, .sys_flag = 4,
                                .subscription = SLICE("*"), .expression_type = SLICE("TAG")};
}

static struct pulled warm_pull(struct flow *f, const char *group, int64_t offset)
{
    struct pull_header h = fields(group, offset);
    return flow_pull_header(f, &h);
}

static struct pulled cold_pull(struct flow *f, const char *group, int64_t offset)
{
    flow_evict(f);
    return warm_pull(f, group, offset);
}

static void heartbeat(struct flow *f, const char *group, enum consume_type type)
{
    struct subscription s = {.topic = SLICE("T"), .expression = SLICE("*"), .type = SLICE("TAG"), .version = 1};
    struct heartbeat_consumer consumer = {.group = slice_text(group), .type = type, .model = MODEL_CLUSTERING, .from = FROM_LAST_OFFSET};
    struct heartbeat hb = {.client_id = SLICE("c1")};
    struct buf body = BUF_EMPTY;
    consumer.subscriptions.items = &s;
    hb.consumers.items = &consumer;
    consumer.subscriptions.count = hb.consumers.count = 1;
    bean_encode(&heartbeat_bean, &hb, JSON_RAW, &body);
    struct answer *a = caller_call(f->caller, REQUEST_HEART_BEAT, NULL, NULL, buf_slice(&body));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    buf_done(&body);
}

static bool info_says(struct flow *f, const char *text)
{
    struct answer *a = caller_call(f->caller, REQUEST_GET_COLD_DATA_FLOW_CTR_INFO, NULL, NULL, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    bool found = memmem(a->frame.body.p, a->frame.body.n, text, strlen(text));
    answer_free(a);
    return found;
}

TEST(cold_control, a_group_for_which_the_disk_was_read_enough_comes_later_and_no_other_does)
{
    static const char *const settings[] = {"coldDataFlowControlEnable=true", "cgColdReadThreshold=1000", NULL};
    struct flow *f = filled(settings);
    EXPECT_EQ(cold_pull(f, "Past", 0).count, 4);
    struct pulled p = cold_pull(f, "Past", 4);
    EXPECT_EQ(p.code, RESPONSE_SYSTEM_BUSY);
    EXPECT_TEXT(slice_text(p.remark), remark);
    EXPECT_EQ(cold_pull(f, "Other", 0).count, 4);         /* whatever that read is in memory now, for all */
    EXPECT_EQ(warm_pull(f, "Past", 0).count, 4);
    EXPECT_EQ(cold_pull(f, "Other", 4).code, RESPONSE_SYSTEM_BUSY);
    EXPECT_EQ(cold_pull(f, "CID_RMQ_SYS_x", 0).count, 4);
    EXPECT_EQ(cold_pull(f, "CID_RMQ_SYS_x", 4).count, 4);
    sim_run_for(f->sim, ROUND_MS);
    EXPECT_EQ(cold_pull(f, "Past", 4).count, 4);
    EXPECT_EQ(cold_pull(f, "Past", 8).code, RESPONSE_SYSTEM_BUSY);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "coldDataFlowControlEnable=false", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(cold_pull(f, "Past", 8).count, 4);
    flow_stop(f);
}

TEST(cold_control, a_consumer_that_pulls_by_itself_waits_and_is_served_then)
{
    static const char *const settings[] = {"coldDataFlowControlEnable=true", "cgColdReadThreshold=1000", NULL};
    struct flow *f = filled(settings);
    heartbeat(f, "Active", CONSUME_ACTIVELY);
    heartbeat(f, "Passive", CONSUME_PASSIVELY);
    EXPECT_EQ(cold_pull(f, "Active", 0).count, 4);
    EXPECT_EQ(cold_pull(f, "Passive", 0).count, 4);
    int64_t begun = sim_now_ms(f->sim);
    struct pulled p = cold_pull(f, "Active", 4);
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 4);
    EXPECT(sim_now_ms(f->sim) - begun >= HOLD_MS && sim_now_ms(f->sim) - begun < HOLD_MS + 500);
    EXPECT_EQ(cold_pull(f, "Passive", 4).code, RESPONSE_SYSTEM_BUSY);
    sim_run_for(f->sim, 2 * ROUND_MS);   /* and one that waits when the broker stops keeps nothing alive */
    EXPECT_EQ(cold_pull(f, "Active", 0).count, 4);
    struct pull_header h = fields("Active", 4);
    flow_evict(f);
    caller_request(f->caller, REQUEST_PULL_MESSAGE, &pull_kind, &h, (struct slice){NULL, 0});
    sim_run_for(f->sim, 500);
    flow_stop(f);
}

TEST(cold_control, all_groups_together_have_a_limit_and_each_may_have_its_own)
{
    static const char *const settings[] = {"coldDataFlowControlEnable=true", "cgColdReadThreshold=1000", "globalColdReadThreshold=100000000", NULL};
    struct flow *f = filled(settings);
    char text[512];
    EXPECT(info_says(f, "\"runtimeTable\":{},\"configTable\":{},\"cgColdReadThreshold\":1000,\"globalColdReadThreshold\":100000000,\"globalAcc\":0}"));
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_COLD_DATA_FLOW_CTR_CONFIG, NULL, NULL, "Past=50000000\n", NULL), RESPONSE_SUCCESS);
    EXPECT(info_says(f, "\"configTable\":{\"Past\":50000000}"));
    for (int i = 0; i < 3; i++) EXPECT_EQ(cold_pull(f, "Past", i * 4).count, 4);
    EXPECT(info_says(f, "\"runtimeTable\":{\"Past\":{\"coldAcc\":"));
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "globalColdReadThreshold=1000", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(cold_pull(f, "Past", 12).code, RESPONSE_SYSTEM_BUSY);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "globalColdReadThreshold=100000000", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(cold_pull(f, "Past", 12).count, 4);
    EXPECT_EQ(flow_code(f, REQUEST_REMOVE_COLD_DATA_FLOW_CTR_CONFIG, NULL, NULL, "Past", NULL), RESPONSE_SUCCESS);
    EXPECT(info_says(f, "\"configTable\":{}"));
    EXPECT_EQ(cold_pull(f, "Past", 16).code, RESPONSE_SYSTEM_BUSY);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_COLD_DATA_FLOW_CTR_CONFIG, NULL, NULL, "A=5\nB=much\n", text), RESPONSE_INVALID_PARAMETER);
    EXPECT(strstr(text, "line 2"));
    EXPECT(info_says(f, "\"configTable\":{}"));
    sim_run_for(f->sim, 61000);
    EXPECT(info_says(f, "\"runtimeTable\":{}"));   /* who reads no more is forgotten */
    flow_stop(f);
}

TEST(cold_control, nobody_is_held_back_by_default)
{
    struct flow *f = filled(NULL);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_COLD_DATA_FLOW_CTR_CONFIG, NULL, NULL, "Past=1\n", NULL), RESPONSE_SUCCESS);
    for (int i = 0; i < 5; i++) EXPECT_EQ(cold_pull(f, "Past", i * 4).count, 4);
    EXPECT(info_says(f, "\"globalAcc\":0}"));
    flow_stop(f);
}
