/* Ordered pops: a queue, or a message group, waits for its messages that are out. */
#include "flow/pop_kit.h"

#include "codec/properties.h"

#include <stdio.h>

static struct flow *start(const char *const *settings)
{
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    return f;
}

static void send_in(struct flow *f, const char *group, const char *body)
{
    char properties[64];
    snprintf(properties, sizeof properties, "__SHARDINGKEY=%s", group);
    EXPECT_EQ(flow_send(f, "T", 0, properties, body).code, RESPONSE_SUCCESS);
}

static struct pop_header ordered(struct flow *f, const char *attempt)
{
    struct pop_header h = pop_fields(f);
    h.order = true;
    header_set(&h, pop, order);
    h.max_msg_nums = 2;
    h.invisible_time = 10000;
    h.attempt_id = slice_text(attempt);
    return h;
}

static struct popped pop_ordered(struct flow *f, const char *attempt)
{
    struct pop_header h = ordered(f, attempt);
    return pop_with(f, &h);
}

TEST(pop_order, a_queue_is_blocked_until_all_is_acknowledged_or_visible_again)
{
    struct flow *f = start(NULL);
    for (int i = 0; i < 3; i++) send_in(f, "g", (const char *[]){"0", "1", "2"}[i]);
    struct popped p = pop_ordered(f, "at-1");
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.reply.revive_qid, ORDERED_REVIVE_QUEUE);
    EXPECT_TEXT(p.reply.order_count_info, "0 0 0");
    EXPECT_EQ(p.reply.rest_num, 1);
    struct popped other = pop_ordered(f, "at-2");
    EXPECT_EQ(other.code, RESPONSE_POLLING_TIMEOUT);
    EXPECT_EQ(other.reply.rest_num, 0);
    p = pop_ordered(f, "at-1");   /* the answer was lost: the same once more */
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.reply.order_count_info, "0 0 0");
    int64_t popped_ms = p.messages[0].handle.pop_ms;
    EXPECT_EQ(pop_change(f, "G", &p.messages[0], 2000), RESPONSE_SUCCESS);
    EXPECT_EQ(p.messages[0].handle.pop_ms, popped_ms);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
    char remark[512];
    struct popped_message wrong = p.messages[0];
    wrong.handle.offset = 2;
    EXPECT_EQ(pop_ack_remark(f, "G", &wrong, remark), RESPONSE_MESSAGE_ILLEGAL);
    EXPECT(strstr(remark, "offset is illegal, key:T@G@0, old:0, commit:2, next:-1, /10.0.0.9:"));
    sim_run_for(f->sim, 2100);
    p = pop_ordered(f, "at-3");
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.reply.order_count_info, "0 qo0%0 1;0 qo0%1 1;0 0 1");
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 0);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 1);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 2);
    EXPECT_EQ(pop_ordered(f, "at-4").count, 1);
    flow_stop(f);
}

TEST(pop_order, a_pop_that_waits_is_woken_by_the_acknowledgement_and_by_time_not_by_messages)
{
    struct flow *f = start(NULL);
    send_in(f, "g", "0");
    struct popped p = pop_ordered(f, "a");
    EXPECT_EQ(p.count, 1);
    struct pop_header h = ordered(f, "b");
    h.poll_time = 30000;
    int32_t one = pop_begin_by(f, f->caller, &h);
    for (int i = 0; i < 20; i++) send_in(f, "g", "x");
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 100).code, -1);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
    p = popped_by(f, f->caller, &h, one, 10);
    EXPECT_EQ(p.count, 2);
    h = ordered(f, "c");
    h.poll_time = 30000;
    one = pop_begin_by(f, f->caller, &h);
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 9800).code, -1);
    p = popped_by(f, f->caller, &h, one, 300);
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.messages[0].count, 1);
    flow_stop(f);
}

TEST(pop_order, what_is_out_is_out_after_any_end)
{
    for (int how = 0; how < 3; how++) {
        static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
        struct flow *f = start(settings);
        for (int i = 0; i < 3; i++) send_in(f, "g", "x");
        struct popped p = pop_ordered(f, "a");
        EXPECT_EQ(p.count, 2);
        EXPECT_EQ(pop_ack(f, "G", &p.messages[0]), RESPONSE_SUCCESS);
        if (how == 0) flow_restart(f);
        else if (how == 1) flow_crash(f);
        else flow_cut_power(f);
        EXPECT_EQ(pop_ordered(f, "b").count, 0);
        EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
        p = pop_ordered(f, "b");
        EXPECT_EQ(p.count, 1);
        EXPECT_EQ(p.messages[0].m.queue_offset, 2);
        flow_stop(f);
    }
}

static void reset(struct flow *f, int64_t to)
{
    struct reset_offset_header h = {.topic = SLICE("T"), .group = SLICE("G"), .is_force = true, .queue_id = 0, .offset = to};
    header_set(&h, reset_offset, queue_id);
    header_set(&h, reset_offset, offset);
    EXPECT_EQ(flow_code(f, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, "", NULL), RESPONSE_SUCCESS);
}

static int64_t pop_and_ack(struct flow *f, const char *attempt)
{
    struct popped p = pop_ordered(f, attempt);
    EXPECT(p.count);
    for (size_t i = 0; i < p.count; i++) EXPECT_EQ(pop_ack(f, "G", &p.messages[i]), RESPONSE_SUCCESS);
    return p.messages[0].m.queue_offset;
}

TEST(pop_order, a_group_that_was_reset_is_not_taken_back_there_by_each_start)
{
    static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
    struct flow *f = start(settings);
    for (int i = 0; i < 8; i++) send_in(f, "g", "x");
    EXPECT_EQ(pop_and_ack(f, "a"), 0);
    reset(f, 1);
    sim_run_for(f->sim, 60);
    flow_crash(f);
    EXPECT_EQ(pop_and_ack(f, "b"), 1);
    flow_cut_power(f);
    EXPECT_EQ(pop_and_ack(f, "c"), 3);
    flow_restart(f);
    EXPECT_EQ(pop_and_ack(f, "d"), 5);
    flow_stop(f);
}

TEST(pop_order, what_is_acknowledged_and_not_known_of_moves_the_group_over_nothing)
{
    static const char *const settings[] = {"flushDiskType=ASYNC_FLUSH", NULL};
    struct flow *f = start(settings);
    for (int i = 0; i < 3; i++) send_in(f, "g", "x");
    sim_run_for(f->sim, 10000);
    struct popped p = pop_ordered(f, "a");
    EXPECT_EQ(p.count, 2);
    flow_crash(f);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
    EXPECT_EQ(pop_and_ack(f, "b"), 0);
    EXPECT_EQ(pop_and_ack(f, "c"), 2);
    flow_stop(f);
}

/* --- by message groups --- */

static struct pop_header by_groups(struct flow *f, const char *attempt)
{
    struct pop_header h = ordered(f, attempt);
    h.group_order = true;
    header_set(&h, pop, group_order);
    return h;
}

static struct popped pop_groups(struct flow *f, const char *attempt, int32_t max)
{
    struct pop_header h = by_groups(f, attempt);
    h.max_msg_nums = max;
    return pop_with(f, &h);
}

TEST(pop_groups, a_group_that_is_busy_does_not_block_the_others)
{
    struct flow *f = start(NULL);
    send_in(f, "a", "a0");
    send_in(f, "a", "a1");
    send_in(f, "b", "b0");
    send_in(f, "a", "a2");
    send_in(f, "b", "b1");
    struct popped a = pop_groups(f, "1", 1);
    EXPECT_EQ(a.count, 1);
    EXPECT_TEXT(a.messages[0].m.body, "a0");
    struct popped b = pop_groups(f, "2", 32);
    EXPECT_EQ(b.count, 2);
    EXPECT_TEXT(b.messages[0].m.body, "b0");
    EXPECT_TEXT(b.messages[1].m.body, "b1");
    EXPECT_EQ(pop_groups(f, "3", 32).count, 0);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 0);
    EXPECT_EQ(pop_ack(f, "G", &b.messages[1]), RESPONSE_SUCCESS);
    EXPECT_EQ(pop_ack(f, "G", &b.messages[0]), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 0);   /* the first that is not acknowledged */
    EXPECT_EQ(pop_ack(f, "G", &a.messages[0]), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 1);
    a = pop_groups(f, "4", 32);
    EXPECT_EQ(a.count, 2);
    EXPECT_TEXT(a.messages[0].m.body, "a1");
    EXPECT_TEXT(a.messages[1].m.body, "a2");
    EXPECT_EQ(pop_ack_batch(f, "G", a.messages, 2), RESPONSE_SUCCESS);
    EXPECT_EQ(flow_offset(f, "G", "T", 0), 5);
    flow_stop(f);
}

TEST(pop_groups, what_comes_back_comes_in_order_and_what_is_acknowledged_does_not)
{
    struct flow *f = start(NULL);
    for (int i = 0; i < 3; i++) send_in(f, "a", (const char *[]){"a0", "a1", "a2"}[i]);
    struct popped p = pop_groups(f, "1", 32);
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(pop_ack(f, "G", &p.messages[1]), RESPONSE_SUCCESS);
    struct pop_header h = by_groups(f, "2");
    h.poll_time = 30000;
    h.max_msg_nums = 32;
    int32_t one = pop_begin_by(f, f->caller, &h);
    EXPECT_EQ(popped_by(f, f->caller, &h, one, 9800).code, -1);
    p = popped_by(f, f->caller, &h, one, 300);
    EXPECT_EQ(p.count, 2);
    EXPECT_TEXT(p.messages[0].m.body, "a0");
    EXPECT_TEXT(p.messages[1].m.body, "a2");
    EXPECT_EQ(p.messages[0].count, 1);
    flow_stop(f);
}

TEST(pop_groups, the_same_attempt_gets_the_same_messages)
{
    struct flow *f = start(NULL);
    send_in(f, "a", "a0");
    send_in(f, "b", "b0");
    EXPECT_EQ(pop_groups(f, "1", 32).count, 2);
    EXPECT_EQ(pop_groups(f, "2", 32).count, 0);
    struct popped p = pop_groups(f, "1", 32);
    EXPECT_EQ(p.count, 2);
    EXPECT_EQ(p.messages[0].count, 0);
    flow_stop(f);
}

TEST(pop_groups, are_known_after_any_end)
{
    for (int how = 0; how < 3; how++) {
        static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", NULL};
        struct flow *f = start(settings);
        send_in(f, "a", "a0");
        send_in(f, "b", "b0");
        send_in(f, "a", "a1");
        struct popped a = pop_groups(f, "1", 1), b = pop_groups(f, "2", 1);
        EXPECT_EQ(pop_ack(f, "G", &b.messages[0]), RESPONSE_SUCCESS);
        if (how == 0) flow_restart(f);
        else if (how == 1) flow_crash(f);
        else flow_cut_power(f);
        EXPECT_EQ(pop_groups(f, "3", 32).count, 0);
        EXPECT_EQ(pop_ack(f, "G", &a.messages[0]), RESPONSE_SUCCESS);
        a = pop_groups(f, "4", 32);
        EXPECT_EQ(a.count, 1);
        EXPECT_TEXT(a.messages[0].m.body, "a1");
        flow_stop(f);
    }
}

TEST(pop_groups, a_notification_knows_of_groups_that_are_free)
{
    struct flow *f = start(NULL);
    send_in(f, "a", "a0");
    send_in(f, "a", "a1");
    EXPECT_EQ(pop_groups(f, "1", 1).count, 1);
    struct notification_header n = note_fields(f);
    n.order = n.group_order = true;
    header_set(&n, notification, order);
    header_set(&n, notification, group_order);
    EXPECT(!note_with(f, &n).has_msg);
    send_in(f, "b", "b0");
    EXPECT(note_with(f, &n).has_msg);
    flow_stop(f);
}
