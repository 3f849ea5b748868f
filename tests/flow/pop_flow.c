/* Pops: what they hand out, how it is acknowledged, and what comes back. */
#include "flow/pop_kit.h"

#include "codec/properties.h"
#include "codec/record.h"

#include <stdio.h>

static struct flow *start(const char *const *settings, int32_t queues)
{
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", queues);
    return f;
}

static void send_some(struct flow *f, int32_t queue_id, int from, int count)
{
    char body[16];
    for (int i = from; i < from + count; i++) {
        snprintf(body, sizeof body, "%d", i);
        EXPECT_EQ(flow_send(f, "T", queue_id, i % 2 ? "TAGS=odd" : "TAGS=even", body).code, RESPONSE_SUCCESS);
    }
}

static struct popped pop_for(struct flow *f, int64_t invisible_ms)
{
    struct pop_header h = pop_fields(f);
    h.invisible_time = invisible_ms;
    return pop_with(f, &h);
}

TEST(pop, hands_out_messages_once_and_tells_where_they_lie)
{
    struct flow *f = start(NULL, 2);
    send_some(f, 0, 0, 3);
    send_some(f, 1, 3, 2);
    struct pop_header h = pop_fields(f);
    h.max_msg_nums = 4;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT(!strcmp(p.remark, "FOUND"));
    EXPECT_EQ(p.count, 4);
    EXPECT_EQ(p.reply.rest_num, 1);
    EXPECT_EQ(p.reply.invisible_time, 60000);
    p = pop_once(f);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.reply.rest_num, 0);
    p = pop_once(f);
    EXPECT_EQ(p.code, RESPONSE_POLLING_TIMEOUT);
    EXPECT(!strcmp(p.remark, "NO_MESSAGE_IN_QUEUE"));
    EXPECT(p.reply.start_offset_info.p && !p.reply.start_offset_info.n);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 3);
    EXPECT_EQ(flow_offset(f, "G", "T", 1), 2);
    flow_stop(f);
}

TEST(pop, of_one_queue_leaves_the_others_alone)
{
    struct flow *f = start(NULL, 2);
    send_some(f, 0, 0, 2);
    send_some(f, 1, 2, 1);
    struct pop_header h = pop_fields(f);
    h.queue_id = 1;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].m.queue_id, 1);
    EXPECT_EQ(pop_with(f, &h).count, 0);
    EXPECT_EQ(pop_once(f).count, 2);
    flow_stop(f);
}

TEST(pop, what_is_not_acknowledged_comes_back_as_a_retry_when_its_time_is_over)
{
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 3);
    struct popped p = pop_for(f, 2000);
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1900);
    EXPECT_EQ(pop_once(f).count, 0);
    sim_run_for(f->sim, 200);   /* promptly, and not with the seconds of the wheel */
    int64_t first_ms = p.reply.pop_time, told_ms;
    p = pop_for(f, 2000);
    EXPECT_EQ(p.count, 2);
    for (size_t i = 0; i < p.count; i++) {
        const struct message *m = &p.messages[i].m;
        EXPECT_EQ(m->reconsume_times, 1);
        EXPECT_TEXT(m->topic, "T");
        EXPECT_TEXT(m->body, i ? "2" : "0");
        EXPECT_TEXT(properties_get(m->properties, SLICE("ORIGIN_GROUP")), "G");
        EXPECT(slice_to_i64(properties_get(m->properties, SLICE("1ST_POP_TIME")), &told_ms));
        EXPECT_EQ(told_ms, first_ms);
        EXPECT(!strcmp(p.messages[i].topic, "%RETRY%G_T"));
        EXPECT_EQ(p.messages[i].handle.kind, POP_RETRY_V1);
    }
    sim_run_for(f->sim, 2100);
    p = pop_once(f);
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.messages[0].m.reconsume_times, 2);
    EXPECT(slice_to_i64(properties_get(p.messages[0].m.properties, SLICE("1ST_POP_TIME")), &told_ms));
    EXPECT_EQ(told_ms, first_ms);
    EXPECT_EQ(pop_ack_batch(f, "G", p.messages, p.count), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 0);
    sim_run_for(f->sim, 70000);
    EXPECT_EQ(pop_once(f).count, 0);
    flow_stop(f);
}

TEST(pop, retries_keep_the_name_of_their_topic_where_that_is_wanted)
{
    static const char *const settings[] = {"popResponseReturnActualRetryTopic=true", "enableRetryTopicV2=true", NULL};
    struct flow *f = start(settings, 1);
    send_some(f, 0, 0, 1);
    EXPECT_EQ(pop_for(f, 1000).count, 1);
    sim_run_for(f->sim, 1100);
    struct popped p = pop_once(f);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].m.topic, "%RETRY%G+T");
    EXPECT_EQ(p.messages[0].handle.kind, POP_RETRY_V2);
    EXPECT(!properties_get(p.messages[0].m.properties, SLICE("POP_CK")).n);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    flow_stop(f);
}

TEST(pop, retries_of_the_older_naming_are_found_with_the_newer_one_too)
{
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 1);
    EXPECT_EQ(pop_for(f, 1000).count, 1);
    sim_run_for(f->sim, 1100);
    EXPECT_OK(config_set(&f->config, SLICE("enableRetryTopicV2"), SLICE("true")));
    struct popped p = pop_once(f);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].handle.kind, POP_RETRY_V1);
    EXPECT_EQ(pop_ack_batch(f, "G", p.messages, 1), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 0);
    flow_stop(f);
}

TEST(pop, a_message_whose_time_is_changed_has_a_new_handle_and_the_old_one_changes_nothing)
{
    char remark[512];
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 2);
    struct popped p = pop_for(f, 3000);
    struct popped_message old = p.messages[0];
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(pop_change(f, "G", &p.messages[0], 20000), RESPONSE_SUCCESS);
    EXPECT(p.messages[0].handle.pop_ms > old.handle.pop_ms);
    EXPECT_EQ(pop_ack_remark(f, "G", &old, remark), RESPONSE_NO_MESSAGE);
    EXPECT(strstr(remark, "not valid any more"));
    EXPECT_EQ(pop_change(f, "G", &old, 1000), RESPONSE_NO_MESSAGE);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
    EXPECT_EQ(pop_ack_remark(f, "G", &old, remark), RESPONSE_NO_MESSAGE);   /* also when its check point is over */
    sim_run_for(f->sim, 10000);
    EXPECT_EQ(pop_once(f).count, 0);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);   /* once more does no harm */
    EXPECT_EQ(pop_change(f, "G", &p.messages[0], 1000), RESPONSE_NO_MESSAGE);
    sim_run_for(f->sim, 30000);
    EXPECT_EQ(pop_once(f).count, 0);
    flow_stop(f);
}

TEST(pop, refusals_come_in_the_originals_order_and_words)
{
    struct flow *f = start(NULL, 2);
    struct pop_header h = pop_fields(f);
    h.born_time -= 1000;
    h.max_msg_nums = 33;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_POLLING_TIMEOUT);
    EXPECT(!strcmp(p.remark, "the broker[127.0.0.2] pop message is timeout too much"));
    h = pop_fields(f);
    h.max_msg_nums = 33;
    h.topic = SLICE("NoTopic");
    p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_INVALID_PARAMETER);
    EXPECT(!strcmp(p.remark, "the broker[127.0.0.2] pop message's num is greater than 32"));
    h.max_msg_nums = -1;
    p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_INVALID_PARAMETER);
    EXPECT(!strcmp(p.remark, "the broker[127.0.0.2] pop message's num is negative"));
    h.max_msg_nums = 32;
    p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_TOPIC_NOT_EXIST);
    EXPECT(strstr(p.remark, "topic[NoTopic] not exist, apply first please!"));
    h = pop_fields(f);
    h.queue_id = 9;
    p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_INVALID_PARAMETER);
    EXPECT(strstr(p.remark, "queueId[9] is illegal, topic:[T] topicConfig.readQueueNums:[2] consumer:[/10.0.0.9:"));
    h = pop_fields(f);
    h.consumer_group = SLICE("No!Group");
    p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_SUBSCRIPTION_GROUP_NOT_EXIST);
    h = pop_fields(f);
    h.exp = SLICE("||");
    p = pop_with(f, &h);
    EXPECT_EQ(p.code, RESPONSE_SUBSCRIPTION_PARSE_FAILED);
    EXPECT(!strcmp(p.remark, "parse the consumer's subscription failed"));
    h.exp_type = SLICE("SQL92");
    h.exp = SLICE("a ==");
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_SUBSCRIPTION_PARSE_FAILED);
    flow_stop(f);
}

TEST(pop, acknowledgements_of_what_cannot_be_are_refused)
{
    char remark[512];
    struct flow *f = start(NULL, 2);
    send_some(f, 1, 0, 3);
    struct popped p = pop_once(f);
    struct popped_message m = p.messages[0];
    m.handle.offset = 9999;
    EXPECT_EQ(pop_ack_remark(f, "G", &m, remark), RESPONSE_NO_MESSAGE);
    EXPECT(!strcmp(remark, "offset is illegal, key:T@1, commit:9999, store:0~3"));
    EXPECT_EQ(pop_change(f, "G", &m, 1000), RESPONSE_NO_MESSAGE);
    m = p.messages[0];
    m.handle.queue_id = 55;
    EXPECT_EQ(pop_ack_remark(f, "G", &m, remark), RESPONSE_MESSAGE_ILLEGAL);
    EXPECT(strstr(remark, "queueId[55] is illegal, topic:[T] topicConfig.readQueueNums:[2]"));
    struct ack_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = 1, .extra_info = SLICE("1 2 x"), .offset = 0};
    EXPECT_EQ(flow_code(f, REQUEST_ACK_MESSAGE, &ack_kind, &h, "", remark), RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(remark, "receipt handle"));
    m = p.messages[0];
    m.handle.broker = SLICE("nosuch");
    EXPECT_EQ(pop_ack(f, "G", &m), RESPONSE_NO_MESSAGE);
    EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 3);
    EXPECT_EQ(flow_code(f, REQUEST_BATCH_ACK_MESSAGE, NULL, NULL, "", NULL), RESPONSE_NO_MESSAGE);
    EXPECT_EQ(flow_code(f, REQUEST_BATCH_ACK_MESSAGE, NULL, NULL, "{\"acks\":[{\"c\":\"G\",\"t\":\"T\",\"r\":\"7\",\"b\":\"////\"}]}", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 3);
    flow_stop(f);
}

TEST(pop, by_tags_passes_what_does_not_match)
{
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 5);
    struct pop_header h = pop_fields(f);
    h.exp = SLICE("odd");
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.messages[1].m.body, "3");
    h = pop_fields(f);
    h.exp = SLICE("odd");
    EXPECT_EQ(pop_with(f, &h).count, 0);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 5);
    h = pop_fields(f);
    h.consumer_group = SLICE("G2");
    h.exp_type = SLICE("SQL92");
    h.exp = SLICE("TAGS = 'even'");
    EXPECT_EQ(pop_with(f, &h).count, 3);
    flow_stop(f);
}

TEST(pop, a_new_group_that_wants_the_newest_begins_at_the_end_of_an_old_queue)
{
    static const char *const settings[] = {"initPopOffsetByCheckMsgInMem=false", NULL};
    struct flow *f = start(settings, 1);
    send_some(f, 0, 0, 5);
    struct pop_header h = pop_fields(f);
    h.init_mode = 1;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].m.body, "4");
    EXPECT_OK(config_set(&f->config, SLICE("initPopOffsetByCheckMsgInMem"), SLICE("true")));
    h = pop_fields(f);
    h.consumer_group = SLICE("G2");
    h.init_mode = 1;
    EXPECT_EQ(pop_with(f, &h).count, 5);
    flow_stop(f);
}

TEST(pop, with_a_limit_no_more_than_that_is_out)
{
    static const char *const settings[] = {"enablePopMessageThreshold=true", "popInflightMessageThreshold=3", NULL};
    struct flow *f = start(settings, 1);
    send_some(f, 0, 0, 10);
    struct pop_header h = pop_fields(f);
    h.max_msg_nums = 4;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 4);
    h.poll_time = 5000;
    int32_t waiting = pop_begin_by(f, f->caller, &h);
    EXPECT_EQ(popped_by(f, f->caller, &h, waiting, 100).code, -1);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    EXPECT_EQ(popped_by(f, f->caller, &h, waiting, 100).count, 4);
    flow_stop(f);
}

/* --- after an end --- */

static void end_somehow(struct flow *f, int how)
{
    if (how == 0) flow_restart(f);
    else if (how == 1) flow_crash(f);
    else flow_cut_power(f);
}

TEST(pop, what_is_out_is_out_after_a_start_and_what_is_acknowledged_is_gone)
{
    for (int how = 0; how < 3; how++) {
        static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
        struct flow *f = start(settings, 1);
        send_some(f, 0, 0, 6);
        struct pop_header h = pop_fields(f);
        h.max_msg_nums = 4;
        h.invisible_time = 8000;
        struct popped p = pop_with(f, &h);
        EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
        EXPECT_EQ(pop_change(f, "G", &p.messages[3], 30000), RESPONSE_SUCCESS);
        end_somehow(f, how);
        struct popped next = pop_once(f);
        EXPECT_EQ(next.count, 2);
        EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 5);
        EXPECT_TEXT(next.messages[0].m.body, "4");
        EXPECT_EQ(pop_ack_batch(f, "G", next.messages, 2), RESPONSE_SUCCESS);
        EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);   /* the handles are those of before */
        sim_run_for(f->sim, 9000);
        struct popped back = pop_once(f);
        EXPECT_EQ(back.count, 1);
        EXPECT_TEXT(back.messages[0].m.body, "2");
        EXPECT_EQ(back.messages[0].m.reconsume_times, 1);
        EXPECT_EQ(pop_ack(f, "G", &back.messages[0]), RESPONSE_SUCCESS);
        EXPECT_EQ(pop_ack(f, "G", &p.messages[3]), RESPONSE_SUCCESS);
        end_somehow(f, how);
        sim_run_for(f->sim, 120000);
        EXPECT_EQ(pop_once(f).count, 0);
        flow_stop(f);
    }
}

TEST(pop, without_its_snapshot_a_start_reads_the_log)
{
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 4);
    struct popped p = pop_for(f, 8000);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    flow_restart(f);
    EXPECT(flow_is_there(f, "/store/config/popLeases"));
    flow_free_broker(f);
    EXPECT_OK(fs_remove(sim_fs_disk(f->disk), "/store/config/popLeases"));
    flow_restart(f);
    EXPECT_EQ(pop_once(f).count, 0);
    EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 3);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 9000);
    EXPECT_EQ(pop_once(f).count, 2);
    flow_stop(f);
}

TEST(pop, goes_on_where_an_administrator_says_and_forgets_what_was_out)
{
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 5);
    struct popped p = pop_for(f, 3000);
    EXPECT_EQ(p.count, 5);
    struct reset_offset_header h = {.topic = SLICE("T"), .group = SLICE("G"), .timestamp = -1, .is_force = true, .queue_id = -1, .offset = -1};
    EXPECT_EQ(flow_code(f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, "", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 0);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    send_some(f, 0, 5, 1);
    sim_run_for(f->sim, 10000);
    p = pop_once(f);
    EXPECT_EQ(p.count, 1);   /* nothing that was out comes back */
    EXPECT_TEXT(p.messages[0].m.body, "5");
    h.queue_id = 0;
    h.offset = 2;
    header_set(&h, reset_offset, queue_id);
    header_set(&h, reset_offset, offset);
    EXPECT_EQ(flow_code(f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, "", NULL), RESPONSE_SUCCESS);
    flow_crash(f);
    p = pop_once(f);
    EXPECT_EQ(p.count, 4);
    EXPECT_TEXT(p.messages[0].m.body, "2");
    flow_stop(f);
}

TEST(pop, of_a_topic_that_was_deleted_and_made_again_begins_anew)
{
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 5);
    EXPECT_EQ(pop_for(f, 3000).count, 5);
    struct delete_topic_header h = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &h, "", NULL), RESPONSE_SUCCESS);
    flow_make_topic(f, "T", 1);
    send_some(f, 0, 10, 2);
    flow_crash(f);
    struct popped p = pop_once(f);
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.messages[0].m.body, "10");
    EXPECT_EQ(pop_ack_batch(f, "G", p.messages, 2), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 10000);
    EXPECT_EQ(pop_once(f).count, 0);
    flow_stop(f);
}

TEST(pop, the_revive_group_passes_what_is_over)
{
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 4);
    struct popped p = pop_for(f, 3000);
    EXPECT_EQ(pop_ack_batch(f, "G", p.messages, 2), RESPONSE_SUCCESS);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[2]), RESPONSE_SUCCESS);
    for (int i = 0; i < 3; i++) EXPECT_EQ(pop_ack(f, "G", &p.messages[2]), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 10000);
    struct pulled log = flow_pull(f, "rmq_sys_REVIVE_LOG_DefaultCluster", p.reply.revive_qid, 0, "*");
    EXPECT_EQ(log.count, 4);   /* the check point, two acknowledgements, and that the fourth message was put back */
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_REVIVE_GROUP", "rmq_sys_REVIVE_LOG_DefaultCluster", p.reply.revive_qid), 3);
    EXPECT_EQ(flow_metric(f, "skylark_pop_revive_lag"), 0);
    EXPECT_EQ(flow_metric(f, "rocketmq_pop_revive_out_message_total"), 4);
    flow_stop(f);
}

TEST(pop, a_retry_of_a_delayed_message_does_not_wait_again)
{
    struct flow *f = start(NULL, 1);
    EXPECT_EQ(flow_send(f, "T", 0, "DELAY=2", "late").code, RESPONSE_SUCCESS);   /* 5 s */
    sim_run_for(f->sim, 6000);
    EXPECT_EQ(pop_for(f, 1000).count, 1);
    sim_run_for(f->sim, 1100);
    struct popped p = pop_once(f);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].m.reconsume_times, 1);
    flow_stop(f);
}

TEST(pop, by_priority_begins_with_the_largest)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic_with(f, "T", 4, "+message.type=PRIORITY");
    for (int i = 0; i < 8; i++) {
        char properties[40];
        snprintf(properties, sizeof properties, "_SYS_MSG_PRIORITY_=%d", i % 4);
        EXPECT_EQ(flow_send(f, "T", 0, properties, "x").code, RESPONSE_SUCCESS);
    }
    struct pop_header h = pop_fields(f);
    h.max_msg_nums = 2;
    for (int32_t queue = 3; queue >= 0; queue--) {
        struct popped p = pop_with(f, &h);
        EXPECT_EQ(p.count, 2);
        EXPECT_EQ(p.messages[0].m.queue_id, queue);
        EXPECT_EQ(p.messages[1].m.queue_id, queue);
    }
    flow_stop(f);
}

/* A check point that the table does not know, as an original leaves it: written without us, and acknowledged in part. */
TEST(pop, check_points_of_an_original_are_put_back_when_they_are_due)
{
    char body[300], properties[80];
    struct flow *f = start(NULL, 1);
    send_some(f, 0, 0, 3);
    struct query_offset_header q = {.consumer_group = SLICE("G"), .topic = SLICE("T")};
    flow_code(f, REQUEST_QUERY_CONSUMER_OFFSET, &query_offset_kind, &q, "", NULL);
    struct pop_header h = pop_fields(f);
    h.max_msg_nums = 1;
    EXPECT_EQ(pop_with(f, &h).count, 1);   /* the group is known */
    int64_t now_ms = tasks_wall_ms(rpc_tasks(f->loop));
    snprintf(properties, sizeof properties, "TAGS=ck;TIMER_DELIVER_MS=%lld;UNIQ_KEY=k1", (long long)now_ms + 1000);
    snprintf(body, sizeof body, "{\"bm\":0,\"bn\":\"broker-a\",\"c\":\"G\",\"d\":[0,1],\"it\":2000,\"n\":2,\"pt\":%lld,\"q\":0,\"ro\":0,\"so\":1,\"t\":\"T\"}", (long long)now_ms);
    struct send_header s = flow_send_fields("rmq_sys_REVIVE_LOG_DefaultCluster", 3);
    s.properties = flow_properties(properties);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &s, slice_text(body)).code, RESPONSE_SUCCESS);
    snprintf(properties, sizeof properties, "TAGS=ack;TIMER_DELIVER_MS=%lld;UNIQ_KEY=k2", (long long)now_ms + 2000);
    snprintf(body, sizeof body, "{\"ao\":2,\"bn\":\"broker-a\",\"c\":\"G\",\"pt\":%lld,\"q\":0,\"so\":1,\"t\":\"T\"}", (long long)now_ms);
    s.properties = flow_properties(properties);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &s, slice_text(body)).code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 6000);
    h = pop_fields(f);
    h.queue_id = -1;
    size_t retries = 0;
    for (struct popped p = pop_with(f, &h); p.count; p = pop_with(f, &h)) {
        for (size_t i = 0; i < p.count; i++) {
            if (p.messages[i].handle.kind == POP_NORMAL) continue;
            retries++;
            EXPECT_TEXT(p.messages[i].m.body, "1");
            EXPECT_EQ(p.messages[i].m.reconsume_times, 1);
        }
    }
    EXPECT_EQ(retries, 1);
    EXPECT_EQ(flow_offset(f, "CID_RMQ_SYS_REVIVE_GROUP", "rmq_sys_REVIVE_LOG_DefaultCluster", 3), 2);
    flow_stop(f);
}

/* --- peeking --- */

struct peeked {
    int32_t code;
    int64_t rest;
    size_t count;
    char remark[200];
};

static struct peeked peek_with(struct flow *f, int32_t queue_id, int32_t max)
{
    struct peek_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = queue_id, .max_msg_nums = max};
    struct answer *a = caller_call(f->caller, REQUEST_PEEK_MESSAGE, &peek_kind, &h, SLICE(""));
    struct pop_reply_header reply;
    struct message m;
    struct peeked p = {.code = a->frame.code};
    EXPECT_OK(header_decode(&pop_reply_kind, &a->frame, &reply));
    p.rest = reply.rest_num;
    snprintf(p.remark, sizeof p.remark, "%.*s", SLICE_ARG(a->frame.remark));
    for (struct slice rest = a->frame.body; rest.n; rest = slice_skip(rest, record_read_size(&m)), p.count++) EXPECT_EQ(record_read(rest, &m), RECORD_WHOLE);
    answer_free(a);
    return p;
}

TEST(pop_peek, shows_what_a_pop_would_find_and_leaves_it)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 2);
    EXPECT_EQ(peek_with(f, -1, 32).code, RESPONSE_PULL_NOT_FOUND);
    for (int i = 0; i < 5; i++) EXPECT_EQ(flow_send(f, "T", i % 2, "", "x").code, RESPONSE_SUCCESS);
    struct peeked p = peek_with(f, 0, 32);
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(p.rest, 3);
    EXPECT_TEXT(slice_text(p.remark), "FOUND");
    EXPECT_EQ(peek_with(f, -1, 0).code, RESPONSE_PULL_NOT_FOUND);
    struct pop_header h = pop_fields(f);
    h.invisible_time = 5000;
    h.max_msg_nums = 1;
    h.queue_id = 0;
    EXPECT_EQ(pop_with(f, &h).count, 1);
    p = peek_with(f, 0, 32);
    EXPECT_EQ(p.count, 2);   /* what is out is not there */
    EXPECT_EQ(peek_with(f, 0, 32).count, 2);
    sim_run_for(f->sim, 6000);   /* it comes back as a retry */
    EXPECT_EQ(peek_with(f, 0, 32).count, 3);
    EXPECT_EQ(peek_with(f, 2, 32).code, RESPONSE_INVALID_PARAMETER);
    EXPECT_EQ(peek_with(f, 0, -1).code, RESPONSE_INVALID_PARAMETER);
    flow_stop(f);
}

/* --- a store that refuses --- */

TEST(pop, what_cannot_be_put_back_is_tried_later_and_later_and_at_once_when_there_is_room)
{
    static char body[4000];
    struct flow *f = start(NULL, 1);
    memset(body, 'x', sizeof body - 1);
    for (int i = 0; i < 11; i++) EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
    struct pop_header h = pop_fields(f);
    h.max_msg_nums = 1;
    h.invisible_time = 1000;
    EXPECT_EQ(pop_with(f, &h).count, 1);
    sim_run_for(f->sim, 3000);   /* the retry topic is made */
    h.born_time = tasks_wall_ms(rpc_tasks(f->loop));
    h.invisible_time = 20000;
    h.queue_id = 0;
    for (int i = 0; i < 10; i++) EXPECT_EQ(pop_with(f, &h).count, 1);
    sim_run_for(f->sim, 2000);
    sim_fs_set_space(f->disk, 0);
    while (flow_send(f, "T", 0, "", body).code == RESPONSE_SUCCESS) continue;
    sim_run_for(f->sim, 20000);
    int64_t before = flow_metric(f, "skylark_pop_revive_refused_total");
    EXPECT(before > 0);
    sim_run_for(f->sim, 60000);
    int64_t in_a_minute = flow_metric(f, "skylark_pop_revive_refused_total") - before;
    EXPECT(in_a_minute > 0 && in_a_minute < 12 * 10);   /* and not 60 for each */
    EXPECT_EQ(flow_metric(f, "rocketmq_pop_revive_retry_messages_total"), 1);
    sim_fs_set_space(f->disk, 64 << 20);
    sim_run_for(f->sim, 35000);
    EXPECT_EQ(flow_metric(f, "rocketmq_pop_revive_retry_messages_total"), 11);
    flow_stop(f);
}

/* --- times that clients choose --- */

TEST(pop, a_message_that_is_given_back_for_ten_seconds_comes_after_them_and_not_after_its_first_time)
{
    struct flow *f = start(NULL, 1);
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
    struct pop_header h = pop_fields(f);
    h.invisible_time = 120000;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(pop_change(f, "G", &p.messages[0], 10000), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 9800);
    EXPECT_EQ(pop_once(f).count, 0);
    sim_run_for(f->sim, 400);
    p = pop_once(f);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].m.reconsume_times, 1);
    flow_stop(f);
}

TEST(pop, half_a_second_is_half_a_second_and_an_acknowledgement_after_it_is_too_late)
{
    struct flow *f = start(NULL, 1);
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
    struct pop_header h = pop_fields(f);
    h.invisible_time = 500;
    struct popped p = pop_with(f, &h);
    EXPECT_EQ(p.count, 1);
    sim_run_for(f->sim, 400);
    EXPECT_EQ(pop_once(f).count, 0);
    sim_run_for(f->sim, 300);
    pop_ack(f, "G", &p.messages[0]);
    struct popped again = pop_once(f);
    EXPECT_EQ(again.count, 1);   /* once, tried once more */
    EXPECT_EQ(again.messages[0].m.reconsume_times, 1);
    EXPECT_EQ(pop_ack(f, "G", &again.messages[0]), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 70000);
    EXPECT_EQ(pop_once(f).count, 0);
    flow_stop(f);
}

/* --- pops that disagree --- */

static size_t pop_tagged(struct flow *f, const char *tag)
{
    struct pop_header h = pop_fields(f);
    h.exp = slice_text(tag);
    return pop_with(f, &h).count;
}

TEST(pop, clients_of_a_group_that_ask_for_other_tags_are_named_once_a_minute)
{
    struct flow *f = start(NULL, 1);
    for (int i = 0; i < 3; i++) {
        pop_tagged(f, "x");
        EXPECT_EQ(flow_send(f, "T", 0, "TAGS=x", "x").code, RESPONSE_SUCCESS);
        EXPECT_EQ(pop_tagged(f, "x"), 1);
    }
    EXPECT_EQ(flow_metric(f, "skylark_subscription_disagreements_total"), 0);
    for (int i = 0; i < 3; i++) {
        pop_tagged(f, "y");
        pop_tagged(f, "x");
    }
    EXPECT_EQ(flow_metric(f, "skylark_subscription_disagreements_total"), 1);
    for (int i = 0; i < 8; i++) {   /* they go on */
        sim_run_for(f->sim, 10000);
        pop_tagged(f, i % 2 ? "x" : "y");
    }
    EXPECT_EQ(flow_metric(f, "skylark_subscription_disagreements_total"), 2);
    struct pop_header other = pop_fields(f);   /* another topic is another matter */
    flow_make_topic(f, "U", 1);
    other.topic = SLICE("U");
    pop_with(f, &other);
    EXPECT_EQ(flow_send(f, "U", 0, "TAGS=y", "y").code, RESPONSE_SUCCESS);
    other.born_time = tasks_wall_ms(rpc_tasks(f->loop));
    EXPECT_EQ(pop_with(f, &other).count, 1);
    EXPECT_EQ(flow_metric(f, "skylark_subscription_disagreements_total"), 2);
    flow_stop(f);
}
