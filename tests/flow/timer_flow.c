/* Messages for any time: through the timer topic and the wheel to their topics, and back out of it. */
#include "flow/flow.h"

#include "codec/properties.h"
#include "codec/recall_handle.h"
#include "codec/timer.h"

#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 1000, LATE_MS = 200 };

static int64_t wall_ms(struct flow *f) { return sim_tune(f->sim)->start_wall_ms + sim_now_ms(f->sim); }
static int64_t max_of(struct flow *f, const char *topic) { return flow_pull(f, topic, 0, 0, "*").max; }
static struct slice property(const struct message *m, const char *name) { return properties_get(m->properties, slice_text(name)); }

static void wait_for(struct flow *f, const char *topic, int64_t count, int64_t limit_ms)
{
    int64_t end = sim_now_ms(f->sim) + limit_ms;
    while (max_of(f, topic) < count && sim_now_ms(f->sim) < end) sim_run_for(f->sim, 50);
    EXPECT_EQ(max_of(f, topic), count);
}

static struct sent send_at(struct flow *f, const char *topic, const char *more, int64_t due_ms, const char *body)
{
    char properties[200];
    snprintf(properties, sizeof properties, "%sTIMER_DELIVER_MS=%lld", more, (long long)due_ms);
    return flow_send(f, topic, 0, properties, body);
}

static struct sent send_in(struct flow *f, const char *topic, int64_t ms, const char *body) { return send_at(f, topic, "", wall_ms(f) + ms, body); }

/* --- one message --- */

static void expect_in_time(struct flow *f, const char *name, int64_t value, int64_t due_ms)
{
    char properties[100], topic[40];
    snprintf(topic, sizeof topic, "T_%s", name);
    flow_make_topic(f, topic, 1);
    snprintf(properties, sizeof properties, "TAGS=A;KEYS=k;UNIQ_KEY=U;%s=%lld", name, (long long)value);
    struct sent s = flow_send(f, topic, 0, properties, "later");
    EXPECT_EQ(s.code, RESPONSE_SUCCESS);
    struct pulled p = flow_pulled(f, flow_pull_waiting(f, topic, 0, 0, "A", 60000), 60000);
    EXPECT_EQ(p.count, 1);
    const struct message *m = &p.messages[0];
    EXPECT(m->store_ms >= due_ms);
    EXPECT(m->store_ms <= due_ms + TICK_MS + LATE_MS);
    EXPECT_TEXT(m->topic, topic);
    EXPECT_TEXT(m->body, "later");
    EXPECT_EQ(m->born_ms, 1795996348596);
    EXPECT_TEXT(property(m, "REAL_TOPIC"), topic);
    EXPECT_TEXT(property(m, "REAL_QID"), "0");
    EXPECT(property(m, name).n);
    int64_t out_ms, enqueued, dequeued;
    EXPECT(slice_to_i64(property(m, "TIMER_OUT_MS"), &out_ms));
    EXPECT(out_ms % TICK_MS == 0 && out_ms >= (due_ms - 1) / TICK_MS * TICK_MS && out_ms < m->store_ms);
    EXPECT(slice_to_i64(property(m, "TIMER_ENQUEUE_MS"), &enqueued) && slice_to_i64(property(m, "TIMER_DEQUEUE_MS"), &dequeued));
    EXPECT(enqueued % TICK_MS == 0 && enqueued < due_ms && dequeued >= due_ms && dequeued <= m->store_ms);
}

TEST(timer, a_message_comes_after_the_time_asked_for_and_within_a_tick_of_it)
{
    struct flow *f = flow_start(NULL);
    expect_in_time(f, "TIMER_DELAY_SEC", 3, wall_ms(f) + 3000);
    expect_in_time(f, "TIMER_DELAY_MS", 2500, wall_ms(f) + 2500);
    expect_in_time(f, "TIMER_DELIVER_MS", wall_ms(f) + 4321, wall_ms(f) + 4321);
    flow_stop(f);
}

TEST(timer, a_time_on_a_tick_and_one_a_millisecond_behind_are_both_kept)
{
    struct flow *f = flow_start(NULL);
    int64_t tick = (wall_ms(f) / TICK_MS + 4) * TICK_MS;
    expect_in_time(f, "TIMER_DELIVER_MS", tick, tick);
    struct pulled p = flow_pull(f, "T_TIMER_DELIVER_MS", 0, 0, "*");
    EXPECT(p.messages[0].store_ms < tick + LATE_MS);   /* no tick later than it need be */
    flow_make_topic(f, "T", 1);
    tick = (wall_ms(f) / TICK_MS + 4) * TICK_MS;
    send_at(f, "T", "", tick + 1, "x");
    wait_for(f, "T", 1, 10000);
    p = flow_pull(f, "T", 0, 0, "*");
    EXPECT(p.messages[0].store_ms > tick && p.messages[0].store_ms <= tick + TICK_MS + LATE_MS);
    flow_stop(f);
}

TEST(timer, times_that_cannot_be_are_refused_as_illegal)
{
    static const char *const wrong[] = {
        "TIMER_DELAY_MS=9223372036854775807", "TIMER_DELAY_SEC=9223372036854775807", "TIMER_DELIVER_MS=9223372036854775807",
        "TIMER_DELAY_SEC=9223372036854775", "TIMER_DELAY_SEC=-9223372036854775808", "TIMER_DELAY_SEC=259201", "TIMER_DELAY_MS=259200001",
        "TIMER_DELAY_SEC=soon", "TIMER_DELAY_MS=99999999999999999999", "TIMER_DELIVER_MS=1.5", "TIMER_DELAY_SEC=259201;TIMER_DELAY_MS=1",
        "TIMER_DEL_UNIQKEY=T+U;TIMER_DELIVER_MS=1",
    };
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sent s = flow_send(f, "T", 0, wrong[i], "x");
        EXPECT_EQ(s.code, RESPONSE_MESSAGE_ILLEGAL);
        EXPECT(strstr(s.remark, "timer message illegal, the delay time should not be bigger than the max delay 259200000ms"));
    }
    EXPECT_EQ(flow_send(f, "T", 0, "TIMER_DELAY_SEC=259200", "x").code, RESPONSE_SUCCESS);
    EXPECT_EQ(max_of(f, "T"), 0);
    EXPECT_EQ(max_of(f, "rmq_sys_wheel_timer"), 1);
    flow_stop(f);
}

TEST(timer, a_time_that_is_past_means_at_once)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(send_in(f, "T", -5000, "x").queue_offset, 0);
    EXPECT_EQ(flow_send(f, "T", 0, "TIMER_DELAY_SEC=0", "x").queue_offset, 1);
    EXPECT_EQ(flow_send(f, "T", 0, "TIMER_DELAY_MS=-1", "x").queue_offset, 2);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.count, 3);
    EXPECT_EQ(property(&p.messages[0], "REAL_TOPIC").n, 0);
    flow_stop(f);
}

TEST(timer, without_a_wheel_times_are_refused_and_requests_say_so)
{
    static const char *const settings[] = {"timerWheelEnable=false", NULL};
    struct flow *f = flow_start(settings);
    char remark[512];
    flow_make_topic(f, "T", 1);
    struct sent s = flow_send(f, "T", 0, "TIMER_DELAY_SEC=3", "x");
    EXPECT_EQ(s.code, RESPONSE_SYSTEM_ERROR);
    assert_string_equal(s.remark, "accurate timer message is not enabled, timerWheelEnable is false");
    EXPECT_EQ(flow_code(f, REQUEST_GET_TIMER_CHECK_POINT, NULL, NULL, NULL, remark), RESPONSE_SYSTEM_ERROR);
    EXPECT_EQ(flow_code(f, REQUEST_GET_TIMER_METRICS, NULL, NULL, NULL, remark), RESPONSE_SYSTEM_ERROR);
    flow_stop(f);
}

TEST(timer, a_tick_that_is_crowded_takes_no_more_than_twice_what_is_wanted)
{
    static const char *const settings[] = {"timerCongestNumEachSlot=10", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    int64_t due = wall_ms(f) + 30000;
    int stored = 0;
    for (int i = 0; i < 100; i++) {
        struct sent s = send_at(f, "T", "", due, "x");
        if (s.code == RESPONSE_SUCCESS) stored++;
        else EXPECT(strstr(s.remark, "timer message is under flow control, max num limit is 20 or"));
        sim_run_for(f->sim, 5);
    }
    EXPECT(stored > 10 && stored <= 21);
    EXPECT_EQ(send_at(f, "T", "", due + 5000, "x").code, RESPONSE_SUCCESS);
    flow_stop(f);
}

/* --- many --- */

TEST(timer, messages_come_in_the_order_of_their_times_and_of_one_tick_in_that_of_their_sending)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    int64_t tick = (wall_ms(f) / TICK_MS + 10) * TICK_MS;
    for (int i = 0; i < 60; i++) {
        char body[16];
        int at = i * 7 % 5;
        snprintf(body, sizeof body, "%d %02d", at, i);
        send_at(f, "T", "", tick + at * TICK_MS + 500, body);
    }
    wait_for(f, "T", 60, 30000);
    char before[16] = "";
    for (int64_t at = 0; at < 60;) {
        struct pulled p = flow_pull(f, "T", 0, at, "*");
        for (size_t i = 0; i < p.count; i++, at++) {
            char now[16];
            snprintf(now, sizeof now, "%.*s", SLICE_ARG(p.messages[i].body));
            EXPECT(strcmp(now, before) > 0);
            strcpy(before, now);
        }
    }
    flow_stop(f);
}

TEST(timer, thousands_of_one_tick_come_once_each_also_when_their_units_have_left_memory)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    int64_t due = wall_ms(f) + 60000;
    for (int i = 0; i < 1500; i++) EXPECT_EQ(send_at(f, "T", "", due, "x").code, RESPONSE_SUCCESS);
    EXPECT(wall_ms(f) < due - 2000);
    sim_run_for(f->sim, 3000);
    EXPECT_EQ(flow_metric(f, "timerCongestNum"), 1500);
    wait_for(f, "T", 1500, 70000);
    sim_run_for(f->sim, 3000);
    EXPECT_EQ(max_of(f, "T"), 1500);
    EXPECT_EQ(flow_metric(f, "timerCongestNum"), 0);
    flow_stop(f);
}

TEST(timer, what_waits_longer_than_the_wheel_looks_ahead_comes_by_again_and_is_in_time)
{
    static const char *const settings[] = {"timerRollWindowSlot=10", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    int64_t due = wall_ms(f) + 34500;
    send_at(f, "T", "", due, "x");
    wait_for(f, "T", 1, 50000);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT(p.messages[0].store_ms >= due && p.messages[0].store_ms <= due + TICK_MS + LATE_MS);
    int64_t rolls;
    EXPECT(slice_to_i64(property(&p.messages[0], "TIMER_ROLL_TIMES"), &rolls));
    EXPECT(rolls >= 3);
    EXPECT_EQ(max_of(f, "rmq_sys_wheel_timer"), rolls + 1);
    EXPECT_EQ(flow_metric(f, "timerCongestNum"), 0);
    flow_stop(f);
}

/* --- ends and beginnings --- */

TEST(timer, a_restart_forgets_nothing_and_delivers_nothing_twice)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 20; i++) send_in(f, "T", i % 2 ? 2000 : 9000, "x");
    wait_for(f, "T", 10, 5000);
    flow_restart(f);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(max_of(f, "T"), 10);
    wait_for(f, "T", 20, 15000);
    flow_restart(f);
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(max_of(f, "T"), 20);
    flow_stop(f);
}

TEST(timer, after_weeks_of_standstill_everything_is_delivered_at_once)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 5; i++) send_in(f, "T", 3000 + i * 40000000, "x");
    sim_run_for(f->sim, 1500);
    flow_free_broker(f);
    sim_tune(f->sim)->start_wall_ms += 60 * 86400000ll;
    flow_restart(f);
    wait_for(f, "T", 5, 2000);
    send_in(f, "T", 2000, "new");
    wait_for(f, "T", 6, 5000);
    flow_stop(f);
}

static void after_a_kill(const char *flush, int64_t lives_ms)
{
    const char *const settings[] = {flush, NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 30; i++) send_in(f, "T", 20000 + i * 10, "x");
    sim_run_for(f->sim, lives_ms);
    for (int i = 0; i < 10; i++) send_in(f, "T", 21000, "x");
    flow_crash(f);
    wait_for(f, "T", 40, 30000);
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(max_of(f, "T"), 40);
    flow_stop(f);
}

TEST(timer, a_kill_takes_nothing_that_waits_whether_it_was_flushed_or_not)
{
    for (int64_t lives = 0; lives < 3000; lives += 500) after_a_kill("flushDiskType=ASYNC_FLUSH", lives);
    for (int64_t lives = 0; lives < 3000; lives += 1000) after_a_kill("flushDiskType=SYNC_FLUSH", lives);
}

TEST(timer, a_lost_wheel_is_found_again_in_the_timer_topic_without_what_was_delivered)
{
    static const char *const lost[] = {"/store/timerwheel", "/store/timerlog/00000000000000000000"};
    for (size_t i = 0; i < 2; i++) {
        struct flow *f = flow_start(NULL);
        flow_make_topic(f, "T", 1);
        for (int k = 0; k < 10; k++) send_in(f, "T", k % 2 ? 2000 : 30000, "x");
        wait_for(f, "T", 5, 5000);
        flow_free_broker(f);
        EXPECT_OK(fs_remove(sim_fs_disk(f->disk), lost[i]));
        flow_restart(f);
        sim_run_for(f->sim, 5000);
        EXPECT_EQ(max_of(f, "T"), 5);
        wait_for(f, "T", 10, 40000);
        flow_stop(f);
    }
}

TEST(timer, a_timer_log_that_is_damaged_while_messages_wait_costs_none_of_them)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    int64_t due = wall_ms(f) + 20000;
    for (int i = 0; i < 10; i++) send_at(f, "T", "", due, "x");
    send_at(f, "T", "", due + 9000, "x");
    sim_run_for(f->sim, 4000);
    sim_fs_flip(f->disk, "/store/timerlog/00000000000000000000", 52 * 4, 0xFF);
    wait_for(f, "T", 10, 30000);
    wait_for(f, "T", 11, 15000);
    sim_run_for(f->sim, 3000);
    EXPECT_EQ(max_of(f, "T"), 11);
    EXPECT(flow_is_there(f, "/store/timerlog.damaged"));
    flow_stop(f);
}

/* --- refusals --- */

TEST(timer, messages_that_are_due_while_the_disk_is_full_come_once_each_when_there_is_room)
{
    static char body[4000];
    struct flow *f = flow_start(NULL);
    struct sent s;
    memset(body, 'x', sizeof body - 1);
    flow_make_topic(f, "T", 1);
    flow_make_topic(f, "Fill", 1);
    for (int i = 0; i < 10; i++) send_in(f, "T", 9000 + i * 300, "due");
    sim_run_for(f->sim, 3000);
    sim_fs_set_space(f->disk, 0);
    do s = flow_send(f, "Fill", 0, "", body);
    while (s.code == RESPONSE_SUCCESS);
    sim_run_for(f->sim, 15000);
    EXPECT_EQ(max_of(f, "T"), 0);
    sim_fs_set_space(f->disk, 64 << 20);
    wait_for(f, "T", 10, 5000);
    sim_run_for(f->sim, 5000);
    flow_restart(f);
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(max_of(f, "T"), 10);
    flow_stop(f);
}

TEST(timer, a_write_that_fails_in_the_middle_delays_messages_and_doubles_none)
{
    for (uint64_t nth = 1; nth < 10; nth++) {
        struct flow *f = flow_start(NULL);
        flow_make_topic(f, "T", 1);
        for (int i = 0; i < 10; i++) send_in(f, "T", 4000 + i * 100, "due");
        sim_run_for(f->sim, 2500);
        sim_fs_fail(f->disk, SIM_WRITE, nth, false, ERR_IO);
        sim_run_for(f->sim, 8000);
        sim_fs_heal(f->disk);
        wait_for(f, "T", 10, 5000);
        sim_run_for(f->sim, 3000);
        EXPECT_EQ(max_of(f, "T"), 10);
        flow_stop(f);
    }
}

/* --- recall --- */

static int32_t recall(struct flow *f, const char *topic, struct slice handle, char *msg_id, char *remark)
{
    struct recall_header h = {.producer_group = SLICE("P"), .topic = slice_text(topic), .recall_handle = handle};
    struct answer *a = caller_call(f->caller, REQUEST_RECALL_MESSAGE, &recall_kind, &h, (struct slice){NULL, 0});
    int32_t code = a->frame.code;
    struct recall_reply_header reply;
    if (code == RESPONSE_SUCCESS) EXPECT_OK(header_decode(&recall_reply_kind, &a->frame, &reply));
    if (code == RESPONSE_SUCCESS && msg_id) snprintf(msg_id, 80, "%.*s", SLICE_ARG(reply.msg_id));
    if (remark) snprintf(remark, 200, "%.*s", SLICE_ARG(a->frame.remark));
    answer_free(a);
    return code;
}

static void metrics_text(struct flow *f, char *out, size_t size)
{
    struct answer *a = caller_call(f->caller, REQUEST_GET_TIMER_METRICS, NULL, NULL, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    snprintf(out, size, "%.*s", SLICE_ARG(a->frame.body));
    answer_free(a);
}

TEST(timer, a_message_that_is_recalled_does_not_come_and_the_others_do)
{
    static const char *const settings[] = {"recallMessageEnable=true", NULL};
    struct flow *f = flow_start(settings);
    char id[80], text[512];
    flow_make_topic(f, "T", 1);
    int64_t due = wall_ms(f) + 6000;
    struct sent stop = send_at(f, "T", "UNIQ_KEY=STOP;", due, "stop");
    struct sent go = send_at(f, "T", "UNIQ_KEY=GO;", due, "go");
    EXPECT(stop.recall_handle[0] && go.recall_handle[0]);
    EXPECT_EQ(recall(f, "T", slice_text(stop.recall_handle), id, NULL), RESPONSE_SUCCESS);
    assert_string_equal(id, "STOP");
    sim_run_for(f->sim, 1500);
    metrics_text(f, text, sizeof text);
    EXPECT(strstr(text, "\"T\":{\"count\":1,\"timeStamp\":"));
    wait_for(f, "T", 1, 10000);
    sim_run_for(f->sim, 5000);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "go");
    metrics_text(f, text, sizeof text);
    EXPECT(strstr(text, "\"T\":{\"count\":0,"));
    EXPECT_EQ(flow_metric(f, "timerCongestNum"), 0);
    flow_stop(f);
}

TEST(timer, a_recall_survives_a_kill)
{
    static const char *const settings[] = {"recallMessageEnable=true", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    struct sent stop = send_at(f, "T", "UNIQ_KEY=STOP;", wall_ms(f) + 8000, "stop");
    send_at(f, "T", "UNIQ_KEY=GO;", wall_ms(f) + 9000, "go");
    sim_run_for(f->sim, 2000);
    EXPECT_EQ(recall(f, "T", slice_text(stop.recall_handle), NULL, NULL), RESPONSE_SUCCESS);
    flow_crash(f);
    sim_run_for(f->sim, 15000);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.count, 1);
    EXPECT_TEXT(p.messages[0].body, "go");
    flow_stop(f);
}

TEST(timer, a_recall_meets_its_message_also_when_both_came_by_again_after_a_standstill)
{
    static const char *const settings[] = {"recallMessageEnable=true", "timerRollWindowSlot=10", NULL};
    for (int64_t away_ms = 5000; away_ms <= 65000; away_ms += 20000) {
        struct flow *f = flow_start(settings);
        flow_make_topic(f, "T", 1);
        struct sent stop = send_at(f, "T", "UNIQ_KEY=STOP;", wall_ms(f) + 30000, "stop");
        sim_run_for(f->sim, 2500);
        EXPECT_EQ(recall(f, "T", slice_text(stop.recall_handle), NULL, NULL), RESPONSE_SUCCESS);
        send_at(f, "T", "UNIQ_KEY=GO;", wall_ms(f) + 27500, "go");
        sim_run_for(f->sim, 3000);
        flow_free_broker(f);
        sim_tune(f->sim)->start_wall_ms += away_ms;
        flow_restart(f);
        wait_for(f, "T", 1, 40000);
        sim_run_for(f->sim, 3000);
        struct pulled p = flow_pull(f, "T", 0, 0, "*");
        EXPECT_EQ(p.count, 1);
        EXPECT_TEXT(p.messages[0].body, "go");
        EXPECT_EQ(flow_metric(f, "timerCongestNum"), 0);
        flow_stop(f);
    }
}

static void handle_of(const char *topic, const char *broker, int64_t time_ms, struct buf *out)
{
    char time[24];
    snprintf(time, sizeof time, "%lld", (long long)time_ms);
    struct recall_handle h = {slice_text(topic), slice_text(broker), slice_text(time), SLICE("U")};
    buf_clear(out);
    recall_handle_encode(&h, out);
}

TEST(timer, recalls_that_cannot_be_are_refused_as_by_the_original)
{
    struct flow *f = flow_start(NULL);
    char remark[200];
    struct buf handle = BUF_EMPTY;
    flow_make_topic(f, "T", 1);
    struct sent s = send_in(f, "T", 5000, "x");
    EXPECT_EQ(recall(f, "T", slice_text(s.recall_handle), NULL, remark), RESPONSE_NO_PERMISSION);
    assert_string_equal(remark, "recall failed, operation is forbidden");
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "recallMessageEnable=true", NULL), RESPONSE_SUCCESS);
    EXPECT_EQ(recall(f, "Nowhere", slice_text(s.recall_handle), NULL, remark), RESPONSE_TOPIC_NOT_EXIST);
    assert_string_equal(remark, "recall failed, the topic[Nowhere] not exist");
    EXPECT_EQ(recall(f, "T", SLICE("no handle"), NULL, remark), RESPONSE_ILLEGAL_OPERATION);
    assert_string_equal(remark, "recall handle is invalid");
    handle_of("U", "broker-a", wall_ms(f) + 5000, &handle);
    EXPECT_EQ(recall(f, "T", buf_slice(&handle), NULL, remark), RESPONSE_ILLEGAL_OPERATION);
    assert_string_equal(remark, "recall failed, topic not match");
    handle_of("T", "broker-b", wall_ms(f) + 5000, &handle);
    EXPECT_EQ(recall(f, "T", buf_slice(&handle), NULL, remark), RESPONSE_ILLEGAL_OPERATION);
    assert_string_equal(remark, "recall failed, broker service not available");
    const int64_t times[] = {wall_ms(f) - 1, 0, -1, INT64_MIN, INT64_MAX, wall_ms(f) + 259300000};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        handle_of("T", "broker-a", times[i], &handle);
        EXPECT_EQ(recall(f, "T", buf_slice(&handle), NULL, remark), RESPONSE_ILLEGAL_OPERATION);
        assert_string_equal(remark, "recall failed, timestamp invalid");
    }
    wait_for(f, "T", 1, 10000);
    EXPECT_EQ(flow_send(f, "T", 0, "", "no timer").recall_handle[0], 0);
    buf_done(&handle);
    flow_stop(f);
}

/* --- clocks, pauses, rest --- */

TEST(timer, a_clock_that_is_set_forward_or_back_loses_and_hurries_nothing)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    send_in(f, "T", 7200000, "x");
    sim_run_for(f->sim, 2000);
    sim_tune(f->sim)->start_wall_ms += 7200000;
    wait_for(f, "T", 1, 12000);
    sim_tune(f->sim)->start_wall_ms -= 3600000;
    int64_t due = wall_ms(f) + 4000;
    send_at(f, "T", "", due, "y");
    wait_for(f, "T", 2, 10000);
    EXPECT(flow_pull(f, "T", 0, 1, "*").messages[0].store_ms >= due);
    flow_stop(f);
}

TEST(timer, enqueueing_and_dequeueing_can_be_paused)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "timerStopDequeue=true", NULL), RESPONSE_SUCCESS);
    send_in(f, "T", 2000, "x");
    sim_run_for(f->sim, 6000);
    EXPECT_EQ(max_of(f, "T"), 0);
    EXPECT(flow_metric(f, "timerReadBehind") >= 3);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "timerStopDequeue=false\ntimerStopEnqueue=true", NULL), RESPONSE_SUCCESS);
    wait_for(f, "T", 1, 2500);
    send_in(f, "T", 2000, "x");
    sim_run_for(f->sim, 6000);
    EXPECT_EQ(max_of(f, "T"), 1);
    EXPECT_EQ(flow_metric(f, "timerCongestNum"), 0);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "timerStopEnqueue=false", NULL), RESPONSE_SUCCESS);
    wait_for(f, "T", 2, 2500);
    flow_stop(f);
}

TEST(timer, a_wheel_at_rest_costs_no_turn)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    send_in(f, "T", 2000, "x");
    wait_for(f, "T", 1, 5000);
    sim_run_for(f->sim, 20000);
    uint64_t before = sim_turns(f->sim);
    sim_run_for(f->sim, 60000);
    uint64_t at_rest = sim_turns(f->sim) - before;
    EXPECT(at_rest < 40);
    flow_stop(f);
}

TEST(timer, how_far_it_is_is_told_and_kept_as_by_the_original)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (int i = 0; i < 3; i++) send_in(f, "T", 2000, "x");
    send_in(f, "T", 60000, "x");
    wait_for(f, "T", 3, 5000);
    sim_run_for(f->sim, 1500);
    struct answer *a = caller_call(f->caller, REQUEST_GET_TIMER_CHECK_POINT, NULL, NULL, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_EQ(a->frame.body.n, 56);
    struct timer_check c;
    timer_check_decode(a->frame.body, &c);
    EXPECT_EQ(c.queue_offset, 4);
    EXPECT_EQ(c.flushed, 4 * 52);
    EXPECT(c.read_ms > wall_ms(f) - 5000 && c.read_ms <= wall_ms(f));
    answer_free(a);
    flow_restart(f);
    struct buf file = BUF_EMPTY;
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), "/store/config/timercheck", 4096, &file));
    timer_check_decode(buf_slice(&file), &c);
    EXPECT_EQ(c.queue_offset, 4);
    EXPECT_EQ(c.tick_ms, 1000);
    buf_clear(&file);
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), "/store/config/timermetrics", 4096, &file));
    buf_put_u8(&file, 0);
    EXPECT(strstr((const char *)file.p, "\"timingCount\":{\"T\":{\"count\":1,\"timeStamp\":"));
    buf_done(&file);
    struct file_info info;
    EXPECT_OK(fs_info(sim_fs_disk(f->disk), "/store/timerwheel", &info));
    EXPECT_EQ(info.size, 38707200);
    EXPECT_OK(fs_info(sim_fs_disk(f->disk), "/store/timerlog/00000000000000000000", &info));
    EXPECT_EQ(info.size, 104857600);
    flow_stop(f);
}
