#include "flow/flow.h"

#include "codec/properties.h"

#include <stdio.h>
#include <stdlib.h>

TEST(send, offsets_of_a_queue_are_dense_and_messages_come_back_whole)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 2);
    for (int i = 0; i < 5; i++) EXPECT_EQ(flow_send(f, "T", 1, "TAGS=A;UNIQ_KEY=U;KEYS=k", "hello").queue_offset, i);
    struct pulled p = flow_pull(f, "T", 1, 0, "*");
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 5);
    EXPECT_EQ(p.next, 5);
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ(p.messages[i].queue_offset, i);
        EXPECT_TEXT(p.messages[i].body, "hello");
        EXPECT_TEXT(p.messages[i].topic, "T");
        EXPECT_TEXT(properties_get(p.messages[i].properties, SLICE("TAGS")), "A");
        EXPECT_TEXT(properties_get(p.messages[i].properties, SLICE("MSG_REGION")), "DefaultRegion");
        EXPECT_TEXT(properties_get(p.messages[i].properties, SLICE("CLUSTER")), "DefaultCluster");
    }
    flow_stop(f);
}

TEST(send, a_message_without_a_unique_key_gets_one_and_its_sender_is_told)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct sent s = flow_send(f, "T", 0, "KEYS=k", "x");
    EXPECT_EQ(strlen(s.transaction_id), 32);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("UNIQ_KEY")), s.transaction_id);
    flow_stop(f);
}

TEST(send, a_message_is_stored_when_the_topic_that_was_made_for_it_is_saved_and_not_before)
{
    struct flow *f = flow_start(NULL);
    sim_fs_fail(f->disk, SIM_NAME, 1, true, ERR_IO);
    struct sent s = flow_send(f, "New", 0, "", "x");
    EXPECT_EQ(s.code, RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(s.remark, "save the topic"));
    EXPECT_EQ(flow_pull(f, "New", 0, 0, "*").max, 0);
    sim_fs_heal(f->disk);
    EXPECT_EQ(flow_send(f, "New", 0, "", "x").code, RESPONSE_SUCCESS);
    flow_crash(f);
    EXPECT_EQ(flow_pull(f, "New", 0, 0, "*").count, 1);
    flow_stop(f);
}

TEST(send, all_three_forms_of_the_request_store_the_same)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct send_header h = flow_send_fields("T", 0);
    h.properties = flow_properties("UNIQ_KEY=U");
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE, &h, SLICE("one")).code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("one")).code, RESPONSE_SUCCESS);
    caller_use(f->caller, FRAME_BINARY);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("one")).queue_offset, 2);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.count, 3);
    for (size_t i = 0; i < 3; i++) EXPECT(slice_eq(p.messages[i].properties, p.messages[0].properties));
    flow_stop(f);
}

TEST(send, ids_of_a_batch_are_distinct_and_those_its_sender_was_told)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct buf batch = BUF_EMPTY;
    flow_batch_add(&batch, flow_properties("UNIQ_KEY=U1;TAGS=A"), "a");
    flow_batch_add(&batch, flow_properties("UNIQ_KEY=U2;TAGS=B"), "b");
    flow_batch_add(&batch, flow_properties("UNIQ_KEY=U3;TAGS=A"), "c");
    struct send_header h = flow_send_fields("T", 0);
    h.batch = true;
    header_set(&h, send, batch);
    h.properties = flow_properties("UNIQ_KEY=WHOLE");
    struct sent s = flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch));
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    assert_string_equal(s.transaction_id, "WHOLE");
    EXPECT_EQ(strlen(s.msg_id), 3 * 32 + 2);
    EXPECT(memcmp(s.msg_id, s.msg_id + 33, 32) && memcmp(s.msg_id + 33, s.msg_id + 66, 32));
    struct pulled p = flow_pull(f, "T", 0, 0, "A");
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.messages[0].body, "a");
    EXPECT_TEXT(p.messages[1].body, "c");
    EXPECT_TEXT(properties_get(p.messages[1].properties, SLICE("UNIQ_KEY")), "U3");
    buf_done(&batch);
    flow_stop(f);
}

TEST(send, a_batch_property_text_without_its_closing_mark_keeps_the_tag_exact)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct buf batch = BUF_EMPTY;
    struct slice open = flow_properties("TAGS=TagA");
    open.n--;
    flow_batch_add(&batch, open, "a");
    flow_batch_add(&batch, flow_properties("TAGS=TagA"), "b");
    struct send_header h = flow_send_fields("T", 0);
    h.batch = true;
    header_set(&h, send, batch);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_SUCCESS);
    struct pulled p = flow_pull(f, "T", 0, 0, "TagA");
    EXPECT_EQ(p.count, 2);
    for (size_t i = 0; i < 2; i++) EXPECT_TEXT(properties_get(p.messages[i].properties, SLICE("TAGS")), "TagA");
    buf_done(&batch);
    flow_stop(f);
}

static void expect_batch_refused(struct flow *f, const char *properties)
{
    struct buf batch = BUF_EMPTY;
    flow_batch_add(&batch, flow_properties("KEYS=k"), "a");
    flow_batch_add(&batch, flow_properties(properties), "b");
    struct send_header h = flow_send_fields("T", 0);
    h.batch = true;
    header_set(&h, send, batch);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_MESSAGE_ILLEGAL);
    buf_done(&batch);
}

TEST(send, a_batch_with_a_delayed_message_is_refused_whole)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    expect_batch_refused(f, "DELAY=3");
    expect_batch_refused(f, "TIMER_DELAY_SEC=1");
    expect_batch_refused(f, "TIMER_DELAY_MS=1");
    expect_batch_refused(f, "TIMER_DELIVER_MS=1795996348596");
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, 0);
    flow_stop(f);
}

TEST(send, a_batch_that_ends_inside_a_message_is_refused_whole)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct buf batch = BUF_EMPTY;
    flow_batch_add(&batch, flow_properties("KEYS=k"), "a");
    flow_batch_add(&batch, flow_properties("KEYS=k"), "b");
    struct send_header h = flow_send_fields("T", 0);
    h.batch = true;
    header_set(&h, send, batch);
    for (size_t n = 1; n < batch.n; n++) {
        if (n == batch.n / 2) continue;   /* exactly the first message */
        EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, slice_of(batch.p, n)).code, RESPONSE_MESSAGE_ILLEGAL);
    }
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, 0);
    buf_done(&batch);
    flow_stop(f);
}

static struct sent send_with_properties_of(struct flow *f, size_t bytes)
{
    char *text = must_alloc(bytes + 1);
    memset(text, 'x', bytes);
    text[bytes] = 0;
    memcpy(text, "k\1", 2);
    text[bytes - 1] = 2;
    struct send_header h = flow_send_fields("T", 0);
    h.properties = slice_of(text, bytes);
    struct sent s = flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x"));
    free(text);
    return s;
}

TEST(send, properties_that_do_not_fit_the_record_are_refused)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct buf batch = BUF_EMPTY;
    char *text = must_alloc(32768);
    memset(text, 'x', 32768);
    memcpy(text, "k\1", 2);
    flow_batch_add(&batch, slice_of(text, 32767), "largest");   /* in a batch the text is the client's alone */
    struct send_header h = flow_send_fields("T", 0);
    h.batch = true;
    header_set(&h, send, batch);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_SUCCESS);
    buf_clear(&batch);
    flow_batch_add(&batch, slice_of(text, 32768), "over");
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&batch)).code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(send_with_properties_of(f, 32000).code, RESPONSE_SUCCESS);
    EXPECT_EQ(send_with_properties_of(f, 32768).code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(flow_pull(f, "T", 0, 0, "*").max, 2);
    free(text);
    buf_done(&batch);
    flow_stop(f);
}

TEST(send, a_body_of_the_largest_size_is_stored_and_one_byte_more_is_refused)
{
    static const char *const settings[] = {"mappedFileSizeCommitLog=8388608", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    struct send_header h = flow_send_fields("T", 0);
    uint8_t *body = must_zero(4194305);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, slice_of(body, 4194305)).code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, slice_of(body, 4194304)).code, RESPONSE_SUCCESS);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].body.n, 4194304);
    free(body);
    flow_stop(f);
}

TEST(send, a_refused_message_leaves_no_gap_in_the_offsets)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "T", 0, "", "first").queue_offset, 0);
    EXPECT_EQ(send_with_properties_of(f, 32768).code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(flow_send(f, "T", 0, "", "second").queue_offset, 1);
    flow_stop(f);
}

TEST(send, topics_are_created_within_the_limits_of_the_default_topic)
{
    struct flow *f = flow_start(NULL);
    struct send_header h = flow_send_fields("Fresh", -1);
    h.default_topic_queue_nums = 100;
    struct sent s = flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x"));
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    EXPECT(s.queue_id >= 0 && s.queue_id < 8);
    h.queue_id = 8;   /* TBW102 has 8 queues */
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_INVALID_PARAMETER);
    h.default_topic = SLICE("NoDefault");
    h.topic = SLICE("Other");
    s = flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x"));
    EXPECT_EQ(s.code, RESPONSE_TOPIC_NOT_EXIST);
    assert_string_equal(s.remark, "topic[Other] not exist, apply first please!\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details.");
    h.topic = SLICE("Bad Topic!");
    h.queue_id = 0;
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_INVALID_PARAMETER);
    h.topic = SLICE("SCHEDULE_TOPIC_XXXX");
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_NO_PERMISSION);
    flow_stop(f);
}

TEST(send, missing_fields_and_bodies_are_answered_as_errors)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    char remark[512];
    struct topic_stats_header only_topic = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_SEND_MESSAGE, &topic_stats_kind, &only_topic, "x", remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "the custom field <bornTimestamp> is null");
    struct send_header h = flow_send_fields("T", 0);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE, &h, SLICE("")).code, RESPONSE_SYSTEM_ERROR);
    EXPECT_EQ(flow_code(f, 12345, NULL, NULL, NULL, remark), RESPONSE_REQUEST_CODE_NOT_SUPPORTED);
    assert_string_equal(remark, " request type 12345 not supported");
    flow_stop(f);
}

TEST(send, what_was_acknowledged_survives_a_restart_and_a_kill)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 300; i++) EXPECT_EQ(flow_send(f, "T", 0, "TAGS=A", "x").queue_offset, i);
    flow_restart(f);
    EXPECT_EQ(flow_send(f, "T", 0, "TAGS=A", "x").queue_offset, 300);
    flow_crash(f);
    EXPECT_EQ(flow_send(f, "T", 0, "TAGS=A", "x").queue_offset, 301);
    struct pulled p = flow_pull(f, "T", 0, 290, "A");
    EXPECT_EQ(p.count, 12);
    EXPECT_EQ(p.messages[11].queue_offset, 301);
    flow_stop(f);
}

TEST(send, a_priority_chooses_the_queue_of_its_number_or_the_last)
{
    static const struct { const char *properties; int32_t queue_id; bool keeps; } rows[] = {
        {"_SYS_MSG_PRIORITY_=0", 0, true}, {"_SYS_MSG_PRIORITY_=2", 2, true}, {"_SYS_MSG_PRIORITY_=9", 3, true},
        {"_SYS_MSG_PRIORITY_=2147483647", 3, true}, {"_SYS_MSG_PRIORITY_=-1", 1, true}, {"_SYS_MSG_PRIORITY_=99999999999", 1, true},
        {"_SYS_MSG_PRIORITY_=high", 1, true}, {"A=b", 1, false},
        {"_SYS_MSG_PRIORITY_=0;__SHARDINGKEY=k", 1, false},   /* of another kind: it has none */
    };
    struct flow *f = flow_start(NULL);
    flow_make_topic_with(f, "T", 4, "+message.type=PRIORITY");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sent s = flow_send(f, "T", 1, rows[i].properties, "x");
        EXPECT_EQ(s.code, RESPONSE_SUCCESS);
        EXPECT_EQ(s.queue_id, rows[i].queue_id);
        struct pulled p = flow_pull(f, "T", s.queue_id, s.queue_offset, "*");
        EXPECT_EQ(p.count, 1);
        EXPECT_EQ(p.messages[0].queue_id, rows[i].queue_id);
        EXPECT_EQ(properties_get(p.messages[0].properties, SLICE("_SYS_MSG_PRIORITY_")).n > 0, rows[i].keeps);
    }
    struct sent s = flow_send(f, "T", 1, "_SYS_MSG_PRIORITY_=3;DELAY=1", "x");
    EXPECT_EQ(s.queue_id, 1);
    flow_stop(f);
}
