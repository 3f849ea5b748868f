/* batch_flow.c - topics with queue.type=BatchCQ, over the wire. */
#include "flow/flow.h"

#include "codec/properties.h"
#include "codec/record.h"

#include <stdio.h>
#include <stdlib.h>

static void make_topic(struct flow *f) { flow_make_topic_with(f, "B", 2, "+queue.type=BatchCQ"); }

/* A batch of `count` messages "FIRST", "FIRST+1" …; properties of the request. */
static struct sent send_batch(struct flow *f, int32_t code, int first, int count, const char *properties)
{
    struct buf body = BUF_EMPTY;
    char text[32], inner[64];
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%d", first + i);
        snprintf(inner, sizeof inner, "UNIQ_KEY=U%d;TAGS=A", first + i);
        flow_batch_add(&body, flow_properties(inner), text);
    }
    struct send_header h = flow_send_fields("B", 0);
    h.batch = true;
    header_set(&h, send, batch);
    h.properties = flow_properties(properties);
    struct sent s = flow_send_header(f, code, &h, buf_slice(&body));
    buf_done(&body);
    return s;
}

/* The messages of a record, as a client unwraps them. */
static void expect_unwraps(const struct message *m, int first, int count)
{
    struct slice rest = m->body;
    struct message inner;
    bool broken;
    char text[32];
    EXPECT_EQ(m->sys_flag & (SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP), SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP);
    EXPECT_EQ(m->queue_offset, first);
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%d", first + i);
        EXPECT(batch_next(&rest, &inner, &broken));
        EXPECT_TEXT(inner.body, text);
    }
    EXPECT_EQ(rest.n, 0);
}

TEST(batch_queue, a_batch_is_one_record_with_one_id_and_as_many_offsets_as_messages)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    struct sent s = send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "WAIT=true;UNIQ_KEY=WHOLE");
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    EXPECT_EQ(s.queue_offset, 0);
    EXPECT_EQ(strlen(s.msg_id), 32);
    assert_string_equal(s.transaction_id, "WHOLE");
    assert_string_equal(s.batch_id, "WHOLE");
    EXPECT_EQ(send_batch(f, REQUEST_SEND_MESSAGE_V2, 3, 4, "UNIQ_KEY=SECOND").queue_offset, 3);
    struct pulled p = flow_pull(f, "B", 0, 0, "*");
    EXPECT_EQ(p.code, RESPONSE_SUCCESS);
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.next, 7);
    EXPECT_EQ(p.max, 7);
    expect_unwraps(&p.messages[0], 0, 3);
    expect_unwraps(&p.messages[1], 3, 4);
    EXPECT_TEXT(p.messages[0].properties, "INNER_BASE\x01" "0\x02INNER_NUM\x01" "3\x02WAIT\x01true\x02UNIQ_KEY\x01WHOLE\x02MSG_REGION\x01"
                                          "DefaultRegion\x02TRACE_ON\x01true\x02" "CLUSTER\x01" "DefaultCluster\x02");
    flow_stop(f);
}

TEST(batch_queue, a_pull_from_the_middle_of_a_batch_gets_all_of_it_and_goes_on_behind_it)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=A");
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 3, 4, "UNIQ_KEY=B");
    struct pulled p = flow_pull(f, "B", 0, 2, "*");
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.next, 7);
    expect_unwraps(&p.messages[0], 0, 3);
    p = flow_pull(f, "B", 0, 6, "*");
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.next, 7);
    expect_unwraps(&p.messages[0], 3, 4);
    EXPECT_EQ(flow_pull(f, "B", 0, 7, "*").code, RESPONSE_PULL_NOT_FOUND);
    p = flow_pull(f, "B", 0, 8, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_OFFSET_MOVED);
    EXPECT_EQ(p.next, 7);
    flow_stop(f);
}

TEST(batch_queue, a_pull_takes_as_many_batches_as_fit_the_messages_it_asks_for_but_at_least_one)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    for (int i = 0; i < 4; i++) send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 10 * i, 10, "UNIQ_KEY=A");
    struct pull_header h = {.topic = SLICE("B"), .consumer_group = SLICE("G"), .queue_offset = 0, .max_msg_nums = 25, .sys_flag = 4,
                            .subscription = SLICE("*"), .expression_type = SLICE("TAG")};
    EXPECT_EQ(flow_pull_header(f, &h).next, 20);
    h.max_msg_nums = 30;
    EXPECT_EQ(flow_pull_header(f, &h).next, 30);
    h.max_msg_nums = 1;
    EXPECT_EQ(flow_pull_header(f, &h).next, 10);
    flow_stop(f);
}

TEST(batch_queue, a_waiting_pull_is_woken_by_a_batch)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=A");
    int32_t opaque = flow_pull_waiting(f, "B", 0, 3, "*", 15000);
    struct caller *waiting = f->caller;
    f->caller = flow_caller(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 3, 5, "UNIQ_KEY=B");
    caller_close(f->caller);
    f->caller = waiting;
    struct pulled p = flow_pulled(f, opaque, 1000);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.next, 8);
    expect_unwraps(&p.messages[0], 3, 5);
    flow_stop(f);
}

/* The entry has the tag of the batch itself, and those of its messages are the client's to look at. */
TEST(batch_queue, tags_are_those_of_the_batch)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=A");
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 3, 3, "UNIQ_KEY=B;TAGS=A");
    struct pulled p = flow_pull(f, "B", 0, 0, "A");
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.next, 6);
    expect_unwraps(&p.messages[0], 3, 3);
    p = flow_pull(f, "B", 0, 0, "B");
    EXPECT_EQ(p.code, RESPONSE_PULL_RETRY_IMMEDIATELY);
    EXPECT_EQ(p.next, 6);
    flow_stop(f);
}

TEST(batch_queue, single_messages_and_batches_without_a_unique_key_are_records_of_their_own)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    EXPECT_EQ(flow_send(f, "B", 0, "KEYS=single;TAGS=A", "x").queue_offset, 0);
    struct sent s = send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 1, 2, "WAIT=true");
    EXPECT_EQ(s.queue_offset, 1);
    EXPECT_EQ(strlen(s.msg_id), 2 * 32 + 1);
    assert_string_equal(s.batch_id, "");
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 3, 2, "UNIQ_KEY=A").queue_offset, 3);
    EXPECT_EQ(flow_send(f, "B", 0, "KEYS=single", "y").queue_offset, 5);
    struct pulled p = flow_pull(f, "B", 0, 0, "*");
    EXPECT_EQ(p.min, 0);
    EXPECT_EQ(p.max, 6);
    EXPECT_EQ(p.next, 6);
    EXPECT_EQ(p.count, 5);
    EXPECT_TEXT(p.messages[0].body, "x");
    EXPECT_TEXT(p.messages[2].body, "2");
    EXPECT_EQ(p.messages[2].queue_offset, 2);
    expect_unwraps(&p.messages[3], 3, 2);
    EXPECT_TEXT(p.messages[4].body, "y");
    p = flow_pull(f, "B", 0, 0, "A");   /* the single ones by their own tags */
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(p.next, 6);
    flow_stop(f);
}

TEST(batch_queue, a_batch_with_a_delayed_message_is_refused_whole)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    struct buf body = BUF_EMPTY;
    flow_batch_add(&body, flow_properties("KEYS=k"), "a");
    flow_batch_add(&body, flow_properties("DELAY=3"), "b");
    struct send_header h = flow_send_fields("B", 0);
    h.batch = true;
    header_set(&h, send, batch);
    h.properties = flow_properties("UNIQ_KEY=A");
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&body)).code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 2, "UNIQ_KEY=A;DELAY=3").code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(flow_pull(f, "B", 0, 0, "*").max, 0);
    buf_done(&body);
    flow_stop(f);
}

TEST(batch_queue, a_queue_without_messages_begins_and_ends_at_0)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 2, "UNIQ_KEY=A");
    struct pulled p = flow_pull(f, "B", 1, 0, "*");
    EXPECT_EQ(p.code, RESPONSE_PULL_NOT_FOUND);
    EXPECT_EQ(p.min, 0);
    EXPECT_EQ(p.max, 0);
    flow_stop(f);
}

TEST(batch_queue, a_filtered_pull_passes_as_many_offsets_as_it_may_look_at)
{
    struct flow *f = flow_start(NULL);   /* maxFilterMessageSize 16000 */
    make_topic(f);
    for (int i = 0; i < 100; i++) send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 10 * i, 10, "UNIQ_KEY=A;TAGS=A");
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 1000, 10, "UNIQ_KEY=A;TAGS=B");
    struct pulled p = flow_pull(f, "B", 0, 5, "B");
    EXPECT_EQ(p.code, RESPONSE_PULL_RETRY_IMMEDIATELY);
    EXPECT_EQ(p.next, 810);   /* 800 behind 5, and the rest of that batch */
    p = flow_pull(f, "B", 0, p.next, "B");
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.next, 1010);
    flow_stop(f);
}

TEST(batch_queue, a_batch_to_another_topic_is_taken_apart)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic_with(f, "B", 1, "+queue.type=SimpleCQ");
    struct sent s = send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=A");
    EXPECT_EQ(strlen(s.msg_id), 3 * 32 + 2);
    assert_string_equal(s.batch_id, "");
    EXPECT_EQ(flow_pull(f, "B", 0, 0, "*").count, 3);
    flow_stop(f);
}

TEST(batch_queue, what_claims_to_be_a_batch_is_refused)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    flow_make_topic(f, "T", 1);
    static const char *const topics[] = {"B", "T"};
    for (size_t i = 0; i < 2; i++) {
        struct send_header h = flow_send_fields(topics[i], 0);
        h.sys_flag = SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP;
        EXPECT_EQ(flow_send_header(f, REQUEST_SEND_MESSAGE_V2, &h, SLICE("x")).code, RESPONSE_MESSAGE_ILLEGAL);
        EXPECT_EQ(flow_send(f, topics[i], 0, "INNER_NUM=2", "x").code, RESPONSE_MESSAGE_ILLEGAL);
        EXPECT_EQ(flow_pull(f, topics[i], 0, 0, "*").max, 0);
    }
    /* what the sender says of it is not kept */
    struct sent s = send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=A;INNER_BASE=77");
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    struct pulled p = flow_pull(f, "B", 0, 0, "*");
    EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("INNER_BASE")), "0");
    EXPECT_TEXT(properties_get(p.messages[0].properties, SLICE("INNER_NUM")), "3");
    flow_stop(f);
}

TEST(batch_queue, a_batch_of_more_messages_than_an_entry_can_count_is_refused_and_the_largest_one_is_stored)
{
    static const char *const settings[] = {"mappedFileSizeCommitLog=8388608", NULL};
    struct flow *f = flow_start(settings);
    make_topic(f);
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 32768, "UNIQ_KEY=A").code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 32767, "UNIQ_KEY=A").code, RESPONSE_SUCCESS);
    EXPECT_EQ(flow_pull(f, "B", 0, 12345, "*").next, 32767);
    flow_stop(f);
}

TEST(batch_queue, properties_leave_room_for_the_first_offset)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    struct buf body = BUF_EMPTY, text = BUF_EMPTY;
    flow_batch_add(&body, flow_properties("KEYS=k"), "a");
    buf_put_slice(&text, flow_properties("UNIQ_KEY=A"));
    size_t others = text.n + sizeof "INNER_NUM=1;MSG_REGION=DefaultRegion;TRACE_ON=true;CLUSTER=DefaultCluster;" - 1, base = 31;
    char *fill = must_alloc(32767);
    memset(fill, 'x', 32767);
    properties_put(&text, SLICE("k"), slice_of(fill, 32767 - others - base - 3));
    struct send_header h = flow_send_fields("B", 0);
    h.batch = true;
    header_set(&h, send, batch);
    h.properties = buf_slice(&text);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&body)).code, RESPONSE_SUCCESS);
    text.p[text.n - 1] = 'x';
    buf_put_u8(&text, PROPERTY_END);
    h.properties = buf_slice(&text);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &h, buf_slice(&body)).code, RESPONSE_MESSAGE_ILLEGAL);
    EXPECT_EQ(flow_pull(f, "B", 0, 0, "*").max, 1);
    free(fill);
    buf_done(&text);
    buf_done(&body);
    flow_stop(f);
}

TEST(batch_queue, offsets_go_on_after_a_restart_and_after_a_crash)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=A").queue_offset, 0);
    flow_restart(f);
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 3, 4, "UNIQ_KEY=B").queue_offset, 3);
    flow_crash(f);
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 7, 5, "UNIQ_KEY=C").queue_offset, 7);
    struct pulled p = flow_pull(f, "B", 0, 0, "*");
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(p.next, 12);
    expect_unwraps(&p.messages[1], 3, 4);
    flow_stop(f);
}

TEST(batch_queue, a_deleted_topic_made_again_with_the_other_type_begins_at_0)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=A");
    struct delete_topic_header del = {.topic = SLICE("B")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &del, NULL, NULL), RESPONSE_SUCCESS);
    flow_make_topic(f, "B", 2);
    EXPECT_EQ(flow_send(f, "B", 0, "KEYS=k", "single").queue_offset, 0);
    EXPECT_EQ(flow_pull(f, "B", 0, 0, "*").count, 1);
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &del, NULL, NULL), RESPONSE_SUCCESS);
    make_topic(f);
    EXPECT_EQ(send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 2, "UNIQ_KEY=B").queue_offset, 0);
    for (int round = 0; round < 2; round++) {
        struct pulled p = flow_pull(f, "B", 0, 0, "*");
        EXPECT_EQ(p.count, 1);
        expect_unwraps(&p.messages[0], 0, 2);
        if (!round) flow_crash(f);
    }
    flow_stop(f);
}

static int32_t send_back(struct flow *f, int64_t log_offset, const char *id, char *remark)
{
    struct send_back_header h = {.group = SLICE("G"), .offset = log_offset, .delay_level = 1, .origin_msg_id = slice_text(id)};
    header_set(&h, send_back, origin_msg_id);
    return flow_code(f, REQUEST_CONSUMER_SEND_MSG_BACK, &send_back_kind, &h, NULL, remark);
}

TEST(batch_queue, one_message_of_a_batch_is_sent_back_and_comes_again_alone)
{
    struct flow *f = flow_start(NULL);
    make_topic(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "WAIT=true;UNIQ_KEY=WHOLE;SHARED=s;TAGS=no");
    int64_t at = flow_pull(f, "B", 0, 0, "*").messages[0].log_offset;
    EXPECT_EQ(send_back(f, at, "U1", NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1500);
    struct pulled p = flow_pull(f, "%RETRY%G", 0, 0, "*");
    EXPECT_EQ(p.count, 1);
    const struct message *m = &p.messages[0];
    EXPECT_TEXT(m->body, "1");
    EXPECT_EQ(m->sys_flag & (SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP), 0);
    EXPECT_EQ(m->reconsume_times, 1);
    EXPECT_TEXT(properties_get(m->properties, SLICE("UNIQ_KEY")), "U1");
    EXPECT_TEXT(properties_get(m->properties, SLICE("TAGS")), "A");
    EXPECT_TEXT(properties_get(m->properties, SLICE("SHARED")), "s");
    EXPECT_TEXT(properties_get(m->properties, SLICE("RETRY_TOPIC")), "B");
    EXPECT_EQ(properties_get(m->properties, SLICE("INNER_NUM")).n, 0);
    flow_stop(f);
}

TEST(batch_queue, who_sends_back_a_batch_without_saying_which_message_is_refused)
{
    struct flow *f = flow_start(NULL);
    char remark[256];
    make_topic(f);
    send_batch(f, REQUEST_SEND_BATCH_MESSAGE, 0, 3, "UNIQ_KEY=WHOLE");
    int64_t at = flow_pull(f, "B", 0, 0, "*").messages[0].log_offset;
    EXPECT_EQ(send_back(f, at, "U7", remark), RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(remark, "none of its messages has the id [U7]"));
    EXPECT_EQ(send_back(f, at, "", NULL), RESPONSE_SYSTEM_ERROR);
    sim_run_for(f->sim, 1500);
    EXPECT_EQ(flow_pull(f, "%RETRY%G", 0, 0, "*").count, 0);
    flow_stop(f);
}
