/* Pops and notifications that wait: who is woken, for what, and how long they wait. */
#include "flow/pop_kit.h"

#include <stdio.h>

static struct flow *start(const char *const *settings, int32_t queues)
{
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", queues);
    return f;
}

static struct pop_header waiting_pop(struct flow *f, int64_t poll_ms)
{
    struct pop_header h = pop_fields(f);
    h.poll_time = poll_ms;
    return h;
}

static void send_one(struct flow *f, int32_t queue_id, const char *tag)
{
    char properties[32];
    snprintf(properties, sizeof properties, "TAGS=%s", tag);
    EXPECT_EQ(flow_send(f, "T", queue_id, properties, tag).code, RESPONSE_SUCCESS);
}

static int32_t polling(struct flow *f)
{
    struct polling_info_header h = {.consumer_group = SLICE("G"), .topic = SLICE("T"), .queue_id = -1};
    struct polling_info_reply_header reply;
    struct answer *a = caller_call(f->caller, REQUEST_POLLING_INFO, &polling_info_kind, &h, SLICE(""));
    EXPECT_OK(header_decode(&polling_info_reply_kind, &a->frame, &reply));
    answer_free(a);
    return reply.polling_num;
}

TEST(pop_wait, a_pop_waits_for_any_queue_and_gives_up_in_time)
{
    struct flow *f = start(NULL, 4);
    struct pop_header h = waiting_pop(f, 3000);
    int32_t one = pop_begin_by(f, f->caller, &h);
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 1000).code, -1);
    EXPECT_EQ(polling(f), 1);
    send_one(f, 3, "A");
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 10).count, 1);
    h = waiting_pop(f, 3000);
    one = pop_begin_by(f, f->caller, &h);
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 2900).code, -1);
    struct popped p = popped_by(f, f->caller, &h, one, 100);
    EXPECT_EQ(p.code, RESPONSE_POLLING_TIMEOUT);
    EXPECT_EQ(polling(f), 0);
    flow_stop(f);
}

TEST(pop_wait, one_message_wakes_one_pop_and_what_is_left_wakes_the_next)
{
    struct flow *f = start(NULL, 2);
    struct caller *c[3];
    int32_t opaque[3];
    struct pop_header h[3];
    for (int i = 0; i < 3; i++) {
        c[i] = flow_caller(f);
        h[i] = waiting_pop(f, 10000 + i);
        h[i].max_msg_nums = 1;
        opaque[i] = pop_begin_by(f, c[i], &h[i]);
        sim_run_for(f->sim, 2);
    }
    send_one(f, 0, "A");
    EXPECT_EQ(popped_by(f, c[0], &h[0], opaque[0], 10).count, 1);   /* who gives up first is first */
    EXPECT_EQ(popped_by(f, c[1], &h[1], opaque[1], 10).code, -1);
    struct buf batch = BUF_EMPTY;
    for (int i = 0; i < 2; i++) flow_batch_add(&batch, flow_properties("TAGS=B"), "x");
    struct send_header s = flow_send_fields("T", 1);
    s.batch = true;
    header_set(&s, send, batch);
    EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &s, buf_slice(&batch)).code, RESPONSE_SUCCESS);
    buf_done(&batch);
    EXPECT_EQ(popped_by(f, c[1], &h[1], opaque[1], 10).count, 1);
    EXPECT_EQ(popped_by(f, c[2], &h[2], opaque[2], 10).count, 1);
    for (int i = 0; i < 3; i++) caller_close(c[i]);
    flow_stop(f);
}

TEST(pop_wait, what_does_not_match_lets_it_wait_on)
{
    struct flow *f = start(NULL, 1);
    struct pop_header h = waiting_pop(f, 5000);
    h.exp = SLICE("A");
    int32_t one = pop_begin_by(f, f->caller, &h);
    for (int i = 0; i < 20; i++) send_one(f, 0, "B");
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 100).code, -1);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 20);
    send_one(f, 0, "A");
    struct popped p = popped_by(f, f->caller, &h, one, 10);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].m.queue_offset, 20);
    flow_stop(f);
}

TEST(pop_wait, a_long_queue_of_others_is_gone_through_at_once)
{
    struct flow *f = start(NULL, 1);
    struct buf batch = BUF_EMPTY;
    for (int i = 0; i < 1000; i++) flow_batch_add(&batch, flow_properties("TAGS=B"), "x");
    for (int i = 0; i < 6; i++) {
        struct send_header s = flow_send_fields("T", 0);
        s.batch = true;
        header_set(&s, send, batch);
        EXPECT_EQ(flow_send_header(f, REQUEST_SEND_BATCH_MESSAGE, &s, buf_slice(&batch)).code, RESPONSE_SUCCESS);
    }
    buf_done(&batch);
    send_one(f, 0, "A");
    struct pop_header h = waiting_pop(f, 15000);
    h.exp_type = SLICE("SQL92");
    h.exp = SLICE("TAGS = 'A'");
    struct popped p = popped_by(f, f->caller, &h, pop_begin_by(f, f->caller, &h), 1000);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].m.queue_offset, 6000);
    flow_stop(f);
}

TEST(pop_wait, a_retry_wakes_it_when_the_time_of_the_message_is_over)
{
    struct flow *f = start(NULL, 1);
    send_one(f, 0, "A");
    struct pop_header h = pop_fields(f);
    h.invisible_time = 1500;
    EXPECT_EQ(pop_with(f, &h).count, 1);
    h = waiting_pop(f, 10000);
    int32_t one = pop_begin_by(f, f->caller, &h);
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 1400).code, -1);
    struct popped p = popped_by(f, f->caller, &h, one, 250);
    EXPECT_EQ(p.count, 1);
    EXPECT_EQ(p.messages[0].m.reconsume_times, 1);
    flow_stop(f);
}

TEST(pop_wait, pops_of_closed_connections_take_nothing)
{
    struct flow *f = start(NULL, 1);
    struct caller *gone = flow_caller(f);
    struct pop_header h = waiting_pop(f, 10000);
    pop_begin_by(f, gone, &h);
    sim_run_for(f->sim, 10);
    EXPECT_EQ(polling(f), 1);
    caller_close(gone);
    sim_run_for(f->sim, 10);
    EXPECT_EQ(polling(f), 0);
    send_one(f, 0, "A");
    EXPECT_EQ(flow_metric(f, "skylark_pop_out"), 0);
    EXPECT_EQ(pop_once(f).count, 1);
    flow_stop(f);
}

TEST(pop_wait, no_more_wait_than_may)
{
    static const char *const settings[] = {"maxPopPollingSize=3", "popPollingSize=1", NULL};
    struct flow *f = start(settings, 2);
    struct pop_header h = waiting_pop(f, 1000);
    for (int i = 0; i < 2; i++) pop_begin_by(f, f->caller, &h);   /* the original lets one more wait than it says */
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_POLLING_FULL);
    h.queue_id = 1;
    pop_begin_by(f, f->caller, &h);
    h.queue_id = 0;
    EXPECT_EQ(pop_with(f, &h).code, RESPONSE_POLLING_FULL);
    flow_stop(f);
}

TEST(pop_wait, a_topic_that_is_deleted_ends_it)
{
    struct flow *f = start(NULL, 1);
    struct pop_header h = waiting_pop(f, 10000);
    int32_t one = pop_begin_by(f, f->caller, &h);
    sim_run_for(f->sim, 10);
    struct delete_topic_header d = {.topic = SLICE("T")};
    EXPECT_EQ(flow_code(f, REQUEST_DELETE_TOPIC_IN_BROKER, &delete_topic_kind, &d, "", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 10).code, RESPONSE_TOPIC_NOT_EXIST);
    flow_stop(f);
}

/* --- notifications --- */

TEST(notification, tells_of_messages_and_moves_nothing)
{
    struct flow *f = start(NULL, 2);
    struct notification_header n = note_fields(f);
    struct noted got = note_with(f, &n);
    EXPECT(got.code == RESPONSE_SUCCESS && !got.has_msg);
    send_one(f, 1, "A");
    n = note_fields(f);
    EXPECT(note_with(f, &n).has_msg);
    EXPECT(note_with(f, &n).has_msg);
    n.queue_id = 0;
    EXPECT(!note_with(f, &n).has_msg);
    EXPECT_EQ(pop_once(f).count, 1);
    n.queue_id = -1;
    EXPECT(!note_with(f, &n).has_msg);
    flow_stop(f);
}

TEST(notification, with_an_expression_is_about_what_matches)
{
    struct flow *f = start(NULL, 1);
    for (int i = 0; i < 100; i++) send_one(f, 0, "B");
    struct notification_header n = note_fields(f);
    n.exp_type = SLICE("TAG");
    n.exp = SLICE("A");
    n.poll_time = 5000;
    int32_t one = caller_request(f->caller, REQUEST_NOTIFICATION, &notification_kind, &n, SLICE(""));
    EXPECT_EQ(noted_by(f->caller, one, 100).code, -1);
    send_one(f, 0, "B");
    EXPECT_EQ(noted_by(f->caller, one, 100).code, -1);
    send_one(f, 0, "A");
    EXPECT(noted_by(f->caller, one, 10).has_msg);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), -1);
    flow_stop(f);
}

TEST(notification, all_that_wait_are_told_unless_a_pop_takes_the_message)
{
    struct flow *f = start(NULL, 1);
    struct notification_header n = note_fields(f);
    n.poll_time = 5000;
    int32_t one = caller_request(f->caller, REQUEST_NOTIFICATION, &notification_kind, &n, SLICE(""));
    int32_t two = caller_request(f->caller, REQUEST_NOTIFICATION, &notification_kind, &n, SLICE(""));
    struct pop_header h = waiting_pop(f, 5000);
    int32_t pop = pop_begin_by(f, f->caller, &h);
    sim_run_for(f->sim, 5);
    send_one(f, 0, "A");
    EXPECT_EQ(popped_by(f, f->caller, &h, pop, 10).count, 1);
    EXPECT_EQ(noted_by(f->caller, one, 10).code, -1);
    send_one(f, 0, "A");
    EXPECT(noted_by(f->caller, one, 10).has_msg);
    EXPECT(noted_by(f->caller, two, 10).has_msg);
    n = note_fields(f);
    EXPECT_EQ(pop_once(f).count, 1);
    n.poll_time = 1000;
    struct noted late = note_with(f, &n);
    EXPECT(late.code == RESPONSE_SUCCESS && !late.has_msg && !late.full);
    flow_stop(f);
}
