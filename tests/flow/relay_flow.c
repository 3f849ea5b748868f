/* What tools ask of clients through the broker, and what they do to the offsets of groups. */
#include "flow/flow.h"

#include "codec/body_progress.h"
#include "codec/message_id.h"
#include "codec/record.h"

#include <stdio.h>

static struct flow *start(const char *const *settings)
{
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 2);
    return f;
}

static struct caller *consume_as(struct flow *f, const char *client_id)
{
    struct caller *c = flow_caller(f);
    flow_subscribe(f, c, client_id, "G", "T", "*", 1);
    return c;
}

static void commit(struct flow *f, const char *group, int32_t queue_id, int64_t offset)
{
    struct update_offset_header h = {.consumer_group = slice_text(group), .topic = SLICE("T"), .queue_id = queue_id, .commit_offset = offset};
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_CONSUMER_OFFSET, &update_offset_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
}

static void read_body(struct flow *f, struct answer *a, const struct bean *bean, void *out)
{
    EXPECT(a);
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(bean_decode(bean, arena_copy(&f->arena, a->frame.body), &f->arena, "answer", out));
    answer_free(a);
}

static void expect_told(struct flow *f, int32_t opaque, int64_t limit_ms, int32_t code, const char *remark)
{
    struct answer *a = caller_reply(f->caller, opaque, limit_ms);
    EXPECT(a);
    EXPECT_EQ(a->frame.code, code);
    if (remark) EXPECT_TEXT(a->frame.remark, remark);
    answer_free(a);
}

/* --- one client --- */

static int32_t ask_running_info(struct flow *f, const char *client_id)
{
    struct running_info_header h = {.consumer_group = SLICE("G"), .client_id = slice_text(client_id), .jstack_enable = true};
    header_set(&h, running_info, jstack_enable);
    return caller_request(f->caller, REQUEST_GET_CONSUMER_RUNNING_INFO, &running_info_kind, &h, SLICE(""));
}

TEST(relay, a_client_is_asked_and_its_answer_comes_back_as_it_is)
{
    struct flow *f = start(NULL);
    struct caller *c = consume_as(f, "c1");
    struct running_info_header h;
    int32_t opaque = ask_running_info(f, "c1");
    struct answer *asked = caller_asked(c, REQUEST_GET_CONSUMER_RUNNING_INFO, 1000);
    EXPECT(asked);
    EXPECT_OK(header_decode(&running_info_kind, &asked->frame, &h));
    EXPECT_TEXT(h.client_id, "c1");
    EXPECT_TEXT(h.consumer_group, "G");
    EXPECT(h.jstack_enable);
    caller_answer(c, asked, 77, SLICE("so it is"), SLICE("{\"any\":1}"));
    struct answer *a = caller_reply(f->caller, opaque, 1000);
    EXPECT(a);
    EXPECT_EQ(a->frame.code, 77);
    EXPECT_TEXT(a->frame.remark, "so it is");
    EXPECT_TEXT(a->frame.body, "{\"any\":1}");
    answer_free(a);
    answer_free(asked);
    expect_told(f, ask_running_info(f, "c2"), 1000, RESPONSE_SYSTEM_ERROR, "The Consumer <G> <c2> not online");
    caller_close(c);
    flow_stop(f);
}

TEST(relay, a_client_that_says_nothing_or_goes_is_told_to_the_tool_once)
{
    struct flow *f = start(NULL);
    struct caller *c = consume_as(f, "c1");
    int32_t opaque = ask_running_info(f, "c1");
    EXPECT(!caller_reply(f->caller, opaque, 9900));
    expect_told(f, opaque, 1000, RESPONSE_CONSUME_MSG_TIMEOUT, "consumer <G> <c1> Timeout: no answer in time");
    struct answer *asked = caller_asked(c, REQUEST_GET_CONSUMER_RUNNING_INFO, 1000);
    caller_answer(c, asked, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE(""));   /* too late */
    answer_free(asked);
    opaque = ask_running_info(f, "c1");
    EXPECT(!caller_reply(f->caller, opaque, 100));
    caller_close(c);
    expect_told(f, opaque, 1000, RESPONSE_SYSTEM_ERROR, "invoke consumer <G> <c1> Exception: the connection is closed");
    EXPECT_EQ(caller_unread(f->caller), 0);
    flow_stop(f);
}

TEST(relay, a_tool_that_goes_and_a_broker_that_stops_leave_nothing_behind)
{
    struct flow *f = start(NULL);
    struct caller *c = consume_as(f, "c1");
    ask_running_info(f, "c1");
    struct answer *asked = caller_asked(c, REQUEST_GET_CONSUMER_RUNNING_INFO, 1000);
    caller_close(f->caller);
    f->caller = flow_caller(f);
    caller_answer(c, asked, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE(""));
    answer_free(asked);
    sim_run_for(f->sim, 100);
    ask_running_info(f, "c1");
    answer_free(caller_asked(c, REQUEST_GET_CONSUMER_RUNNING_INFO, 1000));
    flow_free_broker(f);
    caller_close(c);
    flow_stop(f);
}

TEST(relay, a_message_is_handed_to_one_client_with_what_it_needs_to_know)
{
    struct flow *f = start(NULL);
    struct caller *c = consume_as(f, "c1");
    struct sent s = flow_send(f, "T", 1, "TAGS=A", "try me");
    struct consume_directly_header got, h = {
        .consumer_group = SLICE("G"), .client_id = SLICE("c1"), .msg_id = slice_text(s.msg_id), .topic = SLICE("T"),
    };
    flow_evict(f);
    int32_t opaque = caller_request(f->caller, REQUEST_CONSUME_MESSAGE_DIRECTLY, &consume_directly_kind, &h, SLICE(""));
    struct answer *asked = caller_asked(c, REQUEST_CONSUME_MESSAGE_DIRECTLY, 1000);
    struct message m;
    EXPECT(asked);
    EXPECT_OK(header_decode(&consume_directly_kind, &asked->frame, &got));
    EXPECT_TEXT(got.broker_name, "broker-a");
    EXPECT(header_has(&got, consume_directly, topic_sys_flag) && header_has(&got, consume_directly, group_sys_flag));
    EXPECT_EQ(record_read(asked->frame.body, &m), RECORD_WHOLE);
    EXPECT_TEXT(m.body, "try me");
    caller_answer(c, asked, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE("{\"consumeResult\":\"CR_SUCCESS\"}"));
    expect_told(f, opaque, 1000, RESPONSE_SUCCESS, NULL);
    answer_free(asked);
    static const char *const wrong[] = {"", "x", "7F00000200002A9F00000000000FFFFF", "7F00000200002A9FFFFFFFFFFFFFFFFF"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        h.msg_id = slice_text(wrong[i]);
        EXPECT(flow_code(f, REQUEST_CONSUME_MESSAGE_DIRECTLY, &consume_directly_kind, &h, NULL, NULL) != RESPONSE_SUCCESS);
    }
    caller_close(c);
    flow_stop(f);
}

/* --- all clients of a group --- */

static int32_t ask_status(struct flow *f, const char *client_id)
{
    struct consumer_status_header h = {.group = SLICE("G"), .topic = SLICE("T"), .client_addr = slice_text(client_id)};
    return caller_request(f->caller, REQUEST_INVOKE_BROKER_TO_GET_CONSUMER_STATUS, &consumer_status_kind, &h, SLICE(""));
}

static void answer_status(struct caller *c, const char *body)
{
    struct answer *asked = caller_asked(c, REQUEST_GET_CONSUMER_STATUS_FROM_CLIENT, 1000);
    EXPECT(asked);
    caller_answer(c, asked, RESPONSE_SUCCESS, (struct slice){NULL, 0}, slice_text(body));
    answer_free(asked);
}

static const char *const at_seven = "{\"consumerTable\":{},\"messageQueueTable\":{{\"brokerName\":\"broker-a\",\"queueId\":1,\"topic\":\"T\"}:7}}";

TEST(relay, the_clients_of_a_group_tell_where_they_are_and_those_that_do_not_are_left_out)
{
    struct flow *f = start(NULL);
    struct caller *a = consume_as(f, "a"), *b = consume_as(f, "b"), *silent = consume_as(f, "silent"), *odd = consume_as(f, "odd");
    struct consumer_status status;
    int32_t opaque = ask_status(f, NULL);
    answer_status(a, at_seven);
    answer_status(b, at_seven);
    answer_status(odd, "{\"messageQueueTable\":[[");
    EXPECT(!caller_reply(f->caller, opaque, 4000));
    read_body(f, caller_reply(f->caller, opaque, 2000), &consumer_status_bean, &status);
    EXPECT_EQ(status.clients.count, 2);
    EXPECT(!slice_eq(status.clients.items[0].client, status.clients.items[1].client));   /* in the order of their answers */
    EXPECT_EQ(status.clients.items[0].queues.items[0].offset, 7);
    EXPECT_EQ(status.clients.items[0].queues.items[0].queue.queue_id, 1);
    opaque = ask_status(f, "b");
    answer_status(b, at_seven);
    read_body(f, caller_reply(f->caller, opaque, 1000), &consumer_status_bean, &status);
    EXPECT_EQ(status.clients.count, 1);
    EXPECT_TEXT(status.clients.items[0].client, "b");
    read_body(f, caller_reply(f->caller, ask_status(f, "nobody"), 1000), &consumer_status_bean, &status);
    EXPECT_EQ(status.clients.count, 0);
    struct caller *const all[] = {a, b, silent, odd};
    answer_free(caller_asked(silent, REQUEST_GET_CONSUMER_STATUS_FROM_CLIENT, 1000));   /* of the first time */
    opaque = ask_status(f, NULL);
    for (int i = 0; i < 4; i++) answer_free(caller_asked(all[i], REQUEST_GET_CONSUMER_STATUS_FROM_CLIENT, 1000));
    for (int i = 0; i < 4; i++) caller_close(all[i]);
    read_body(f, caller_reply(f->caller, opaque, 1000), &consumer_status_bean, &status);
    sim_run_for(f->sim, 100);
    expect_told(f, ask_status(f, NULL), 1000, RESPONSE_SYSTEM_ERROR, "No Any Consumer online in the consumer group: [G]");
    flow_stop(f);
}

/* --- resets --- */

static int32_t reset(struct flow *f, int64_t timestamp, bool force, bool dry, char *remark)
{
    struct reset_offset_header h = {.topic = SLICE("T"), .group = SLICE("G"), .timestamp = timestamp, .is_force = force, .dry_run = dry};
    if (dry) header_set(&h, reset_offset, dry_run);
    return flow_code(f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, NULL, remark);
}

static void expect_moved(struct flow *f, struct caller *c, int64_t offset)
{
    struct offset_table table;
    struct answer *asked = caller_asked(c, REQUEST_RESET_CONSUMER_CLIENT_OFFSET, 1000);
    EXPECT(asked);
    EXPECT(asked->frame.flag & FRAME_FLAG_ONEWAY);
    EXPECT_TEXT(frame_get(&asked->frame, SLICE("group")), "G");
    EXPECT_OK(bean_decode(&offset_table_bean, arena_copy(&f->arena, asked->frame.body), &f->arena, "reset", &table));
    EXPECT_EQ(table.queues.count, 2);
    EXPECT_EQ(table.queues.items[0].offset, offset);
    answer_free(asked);
}

TEST(relay, with_resets_on_the_side_of_clients_all_of_a_group_are_told_where_to_go)
{
    static const char *const settings[] = {"useServerSideResetOffset=false", NULL};
    char remark[512];
    struct flow *f = start(settings);
    for (int i = 0; i < 6; i++) flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(reset(f, -1, true, false, remark), RESPONSE_SYSTEM_ERROR);
    assert_string_equal(remark, "THe consumer group <G> not exist");
    commit(f, "G", 0, 4);
    commit(f, "G", 1, 0);
    EXPECT_EQ(reset(f, -1, true, false, remark), RESPONSE_CONSUMER_NOT_ONLINE);
    assert_string_equal(remark, "Consumer not online, so can not reset offset, Group: G Topic: T Timestamp: -1");
    struct caller *a = consume_as(f, "a"), *b = consume_as(f, "b");
    EXPECT_EQ(reset(f, -1, true, false, remark), RESPONSE_SUCCESS);
    expect_moved(f, a, 6);
    expect_moved(f, b, 6);
    EXPECT_EQ(reset(f, -1, false, false, remark), RESPONSE_SUCCESS);   /* without force nobody is moved forward */
    expect_moved(f, a, 4);
    EXPECT_EQ(reset(f, 0, false, true, remark), RESPONSE_SUCCESS);
    expect_moved(f, b, 4);   /* the one from before */
    EXPECT(!caller_asked(b, REQUEST_RESET_CONSUMER_CLIENT_OFFSET, 100));
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 4);   /* theirs to commit */
    caller_close(a);
    caller_close(b);
    flow_stop(f);
}

/* A tool in C++ reads no objects as keys, and neither do its consumers. */
TEST(relay, a_reset_by_a_tool_in_cpp_tells_clients_a_list)
{
    static const char *const settings[] = {"useServerSideResetOffset=false", NULL};
    static const char header[] = "{\"code\":222,\"extFields\":{\"topic\":\"T\",\"group\":\"G\",\"timestamp\":\"-1\",\"isForce\":\"true\"},\"flag\":0,"
                                 "\"language\":\"CPP\",\"opaque\":4711,\"version\":400}";
    struct flow *f = start(settings);
    struct buf frame = BUF_EMPTY;
    struct offset_table table;
    commit(f, "G", 0, 0);
    commit(f, "G", 1, 0);
    struct caller *a = consume_as(f, "a");
    buf_put_be32(&frame, (uint32_t)(4 + sizeof header - 1));
    buf_put_be32(&frame, (uint32_t)(sizeof header - 1));
    buf_put_text(&frame, header);
    caller_send(f->caller, buf_slice(&frame));
    buf_done(&frame);
    struct answer *asked = caller_asked(a, REQUEST_RESET_CONSUMER_CLIENT_OFFSET, 1000);
    EXPECT(asked);
    EXPECT_OK(bean_decode(&offset_list_bean, arena_copy(&f->arena, asked->frame.body), &f->arena, "reset", &table));
    EXPECT_EQ(table.queues.count, 2);
    EXPECT_TEXT(table.queues.items[1].queue.broker, "broker-a");
    answer_free(asked);
    caller_close(a);
    flow_stop(f);
}

TEST(relay, a_dry_run_tells_where_a_group_would_go_and_leaves_it_where_it_is)
{
    char remark[512];
    struct offset_table table;
    struct flow *f = start(NULL);
    for (int i = 0; i < 6; i++) flow_send(f, "T", 0, "", "x");
    commit(f, "G", 0, 4);
    struct reset_offset_header h = {.topic = SLICE("T"), .group = SLICE("G"), .timestamp = -1, .is_force = true, .dry_run = true};
    header_set(&h, reset_offset, dry_run);
    read_body(f, caller_call(f->caller, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, SLICE("")), &offset_table_bean, &table);
    EXPECT_EQ(table.queues.items[0].offset, 6);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 4);
    EXPECT_EQ(flow_pull(f, "T", 0, 4, "*").code, RESPONSE_SUCCESS);   /* no reset is pending */
    EXPECT_EQ(reset(f, 0, true, false, remark), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 0);
    flow_stop(f);
}

/* --- offsets of groups --- */

TEST(relay, the_times_of_queues_tell_how_long_a_group_is_behind)
{
    struct flow *f = start(NULL);
    struct time_spans spans;
    struct time_span_header h = {.topic = SLICE("T"), .group = SLICE("G")};
    for (int i = 0; i < 3; i++) {
        flow_send(f, "T", 0, "", "x");
        sim_run_for(f->sim, 1000);
    }
    commit(f, "G", 0, 1);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    int64_t now = tasks_wall_ms(rpc_tasks(f->loop));
    read_body(f, caller_call(f->caller, REQUEST_QUERY_CONSUME_TIME_SPAN, &time_span_kind, &h, SLICE("")), &time_spans_bean, &spans);
    EXPECT_EQ(spans.queues.count, 2);
    const struct queue_time_span *q = &spans.queues.items[0];
    EXPECT_EQ(q->min_ms, p.messages[0].store_ms);
    EXPECT_EQ(q->consume_ms, p.messages[0].store_ms);
    EXPECT_EQ(q->max_ms, p.messages[2].store_ms);
    EXPECT(q->delay_ms >= now - p.messages[1].store_ms && q->delay_ms < now - p.messages[1].store_ms + 100);
    EXPECT_EQ(q->min_text.n, strlen("2026-11-29#23:52:20:207"));
    EXPECT_EQ(spans.queues.items[1].min_ms, -1);
    EXPECT_EQ(spans.queues.items[1].delay_ms, 0);
    h.topic = SLICE("nosuch");
    EXPECT_EQ(flow_code(f, REQUEST_QUERY_CONSUME_TIME_SPAN, &time_span_kind, &h, NULL, NULL), RESPONSE_TOPIC_NOT_EXIST);
    flow_stop(f);
}

static int64_t correction(struct flow *f, const char *compare, const char *filter)
{
    struct corrections out;
    struct correction_offset_header h = {.topic = SLICE("T"), .compare_group = slice_text(compare), .filter_groups = slice_text(filter)};
    read_body(f, caller_call(f->caller, REQUEST_QUERY_CORRECTION_OFFSET, &correction_offset_kind, &h, SLICE("")), &corrections_bean, &out);
    return out.offsets.count ? out.offsets.items[0].number : -1;
}

TEST(relay, offsets_to_be_corrected_are_the_smallest_of_all_groups_and_asking_changes_nothing)
{
    struct flow *f = start(NULL);
    EXPECT_EQ(correction(f, "A", NULL), -1);
    commit(f, "A", 0, 9);
    commit(f, "B", 0, 5);
    commit(f, "C", 0, 3);
    EXPECT_EQ(correction(f, "A", NULL), 3);
    EXPECT_EQ(correction(f, "A", "x,C"), 5);
    EXPECT_EQ(correction(f, "C", "C"), INT64_MAX);   /* it is behind the others already */
    EXPECT_EQ(correction(f, "A", NULL), 3);
    EXPECT_EQ(flow_offset(f, "C", "T", 0), 3);
    flow_stop(f);
}

static int32_t clone(struct flow *f, const char *from, const char *to, const char *topic, bool offline)
{
    struct clone_offset_header h = {.src_group = slice_text(from), .dest_group = slice_text(to), .topic = slice_text(topic), .offline = offline};
    header_set(&h, clone_offset, offline);
    return flow_code(f, REQUEST_CLONE_GROUP_OFFSET, &clone_offset_kind, &h, NULL, NULL);
}

TEST(relay, a_group_begins_where_another_one_is)
{
    struct flow *f = start(NULL);
    commit(f, "A", 0, 9);
    EXPECT_EQ(clone(f, "A", "B", "T", false), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "B", "T", 0), 9);
    EXPECT_EQ(clone(f, "A", "C", NULL, true), RESPONSE_SUCCESS);   /* all topics */
    EXPECT_EQ(flow_offset(f, "C", "T", 0), 9);
    struct caller *c = flow_caller(f);
    flow_make_topic(f, "other", 1);
    flow_subscribe(f, c, "c1", "A", "other", "*", 1);
    EXPECT_EQ(clone(f, "A", "D", "T", false), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "D", "T", 0), -1);   /* its consumers have left that topic */
    EXPECT_EQ(clone(f, "A", "D", "T", true), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "D", "T", 0), 9);
    caller_close(c);
    flow_stop(f);
}

TEST(relay, the_progress_of_all_groups_is_told_with_their_lag)
{
    struct flow *f = start(NULL);
    struct broker_progress all;
    struct broker_consume_stats_header h = {.is_order = false};
    for (int i = 0; i < 5; i++) flow_send(f, "T", 0, "", "x");
    commit(f, "A", 0, 2);
    commit(f, "B", 0, 5);
    read_body(f, caller_call(f->caller, REQUEST_GET_BROKER_CONSUME_STATS, &broker_consume_stats_kind, &h, SLICE("")), &broker_progress_bean, &all);
    EXPECT_EQ(all.lag, 3);
    EXPECT_EQ(all.inflight, 0);
    int found = 0;
    for (size_t i = 0; i < all.groups.count; i++) {
        const struct group_progress *g = &all.groups.items[i];
        if (!slice_eq(g->group, SLICE("A"))) continue;
        found++;
        EXPECT_EQ(g->topics.count, 1);
        EXPECT_EQ(g->topics.items[0].queues.count, 2);
        EXPECT_EQ(g->topics.items[0].queues.items[0].broker_offset, 5);
        EXPECT(g->topics.items[0].queues.items[0].last_ms > 0);
    }
    EXPECT_EQ(found, 1);
    h.is_order = true;
    read_body(f, caller_call(f->caller, REQUEST_GET_BROKER_CONSUME_STATS, &broker_consume_stats_kind, &h, SLICE("")), &broker_progress_bean, &all);
    EXPECT_EQ(all.lag, 0);
    flow_stop(f);
}

TEST(relay, what_a_group_subscribes_to_and_who_produces_is_told)
{
    struct flow *f = start(NULL);
    struct group_subscription s;
    struct producer_table table;
    struct caller *c = flow_caller(f);
    flow_subscribe(f, c, "c1", "G", "T", "A || B", 5);
    struct subscription_by_consumer_header h = {.group = SLICE("G"), .topic = SLICE("T")};
    int32_t code = REQUEST_QUERY_SUBSCRIPTION_BY_CONSUMER;
    read_body(f, caller_call(f->caller, code, &subscription_by_consumer_kind, &h, SLICE("")), &group_subscription_bean, &s);
    EXPECT(s.subscription);
    EXPECT_TEXT(s.subscription->expression, "A || B");
    h.topic = SLICE("other");
    read_body(f, caller_call(f->caller, code, &subscription_by_consumer_kind, &h, SLICE("")), &group_subscription_bean, &s);
    EXPECT(!s.subscription);
    struct slice hello = SLICE("{\"clientID\":\"c1\",\"consumerDataSet\":[],\"producerDataSet\":[{\"groupName\":\"P\"}]}");
    answer_free(caller_call(c, REQUEST_HEART_BEAT, NULL, NULL, hello));
    read_body(f, caller_call(f->caller, REQUEST_GET_ALL_PRODUCER_INFO, NULL, NULL, SLICE("")), &producer_table_bean, &table);
    EXPECT_EQ(table.groups.count, 1);
    EXPECT_TEXT(table.groups.items[0].group, "P");
    EXPECT_TEXT(table.groups.items[0].producers.items[0].client_id, "c1");
    EXPECT_TEXT(table.groups.items[0].producers.items[0].language, "OTHER");
    EXPECT(slice_starts(table.groups.items[0].producers.items[0].address, SLICE("/10.0.0.9:")));
    EXPECT(table.groups.items[0].producers.items[0].seen_ms > 1795996340000);
    caller_close(c);
    flow_stop(f);
}
