/* Kills and power cuts right after a delivery that is not written down yet: what came does not come a second time, and the rest comes. */
#include "flow/flow.h"

#include "codec/properties.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 30 };

static int64_t wall_ms(struct flow *f) { return sim_tune(f->sim)->start_wall_ms + sim_now_ms(f->sim); }
static int64_t max_of(struct flow *f, const char *topic) { return flow_pull(f, topic, 0, 0, "*").max; }

static void wait_for(struct flow *f, const char *topic, int64_t count, int64_t limit_ms)
{
    int64_t end = sim_now_ms(f->sim) + limit_ms;
    while (max_of(f, topic) < count && sim_now_ms(f->sim) < end) sim_run_for(f->sim, 20);
    EXPECT(max_of(f, topic) >= count);
}

static void send_at(struct flow *f, const char *more, int64_t due_ms, const char *body)
{
    char properties[200];
    snprintf(properties, sizeof properties, "%sTIMER_DELIVER_MS=%lld", more, (long long)due_ms);
    EXPECT_EQ(flow_send(f, "T", 0, properties, body).code, RESPONSE_SUCCESS);
}

/* --- each once --- */

struct way {
    const char *flush;
    const char *index;
    void (*end)(struct flow *f);
};

static const struct way ways[] = {
    {"flushDiskType=ASYNC_FLUSH", "messageIndexEnable=true", flow_crash},
    {"flushDiskType=SYNC_FLUSH", "messageIndexEnable=true", flow_crash},
    {"flushDiskType=SYNC_FLUSH", "messageIndexEnable=false", flow_cut_power},
};

static struct flow *begin(const struct way *w)
{
    const char *const settings[] = {w->flush, w->index, "timerRollWindowSlot=8", NULL};
    struct flow *f = flow_start(settings);
    flow_make_topic(f, "T", 1);
    return f;
}

static void expect_each_once(struct flow *f, int count)
{
    int came[MESSAGES * 3] = {0};
    for (int64_t at = 0; at < count;) {
        struct pulled p = flow_pull(f, "T", 0, at, "*");
        EXPECT_EQ(p.code, RESPONSE_SUCCESS);
        EXPECT_EQ(p.max, count);
        for (size_t i = 0; i < p.count; i++) {
            int32_t number;
            EXPECT(slice_to_i32(p.messages[i].body, &number) && number < count);
            came[number]++;
        }
        at = p.next;
    }
    for (int i = 0; i < count; i++) EXPECT_EQ(came[i], 1);
}

static void send_to_level(struct flow *f, int number, int level)
{
    char properties[20], body[16];
    snprintf(properties, sizeof properties, "DELAY=%d", level);
    snprintf(body, sizeof body, "%d", number);
    EXPECT_EQ(flow_send(f, "T", 0, properties, body).code, RESPONSE_SUCCESS);
}

/* The first is written down a second later; what comes between then and ten seconds later is not. */
static void end_after_levels(const struct way *w, int64_t lives_ms)
{
    struct flow *f = begin(w);
    for (int i = 0; i < MESSAGES; i++) send_to_level(f, i, 1);
    wait_for(f, "T", MESSAGES, 3000);
    sim_run_for(f->sim, 1500);
    for (int i = 0; i < MESSAGES; i++) send_to_level(f, MESSAGES + i, 1);
    for (int i = 0; i < MESSAGES; i++) send_to_level(f, 2 * MESSAGES + i, 2);
    sim_run_for(f->sim, lives_ms);
    w->end(f);
    sim_run_for(f->sim, 8000);
    expect_each_once(f, 3 * MESSAGES);
    flow_stop(f);
}

TEST(came, what_came_from_a_level_right_before_a_kill_or_a_power_cut_does_not_come_again)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int64_t lives_ms = 980; lives_ms < 1200; lives_ms += 40) end_after_levels(&ways[i], lives_ms);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) end_after_levels(&ways[i], 5200);
}

static void end_after_timers(const struct way *w, int64_t lives_ms)
{
    struct flow *f = begin(w);
    int64_t begin_ms = wall_ms(f) / 1000 * 1000;
    for (int i = 0; i < 3 * MESSAGES; i++) {
        char body[16];
        snprintf(body, sizeof body, "%d", i);
        send_at(f, "", begin_ms + 3000 + i * 50, body);
    }
    sim_run_for(f->sim, begin_ms + lives_ms - wall_ms(f));
    w->end(f);
    sim_run_for(f->sim, 8000);
    expect_each_once(f, 3 * MESSAGES);
    EXPECT_EQ(flow_metric(f, "timerCongestNum"), 0);
    flow_stop(f);
}

TEST(came, what_came_from_the_wheel_right_before_a_kill_or_a_power_cut_does_not_come_again)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int64_t lives_ms = 4000; lives_ms < 6200; lives_ms += 290) end_after_timers(&ways[i], lives_ms);
}

/* Each time it comes by it is one message more in the timer topic. */
static void end_after_a_roll(const struct way *w, int64_t lives_ms)
{
    struct flow *f = begin(w);
    int64_t rolls = -1;
    send_at(f, "", wall_ms(f) + 30000, "0");
    sim_run_for(f->sim, lives_ms);
    w->end(f);
    wait_for(f, "T", 1, 40000);
    sim_run_for(f->sim, 3000);
    struct pulled p = flow_pull(f, "T", 0, 0, "*");
    EXPECT_EQ(p.max, 1);
    EXPECT(slice_to_i64(properties_get(p.messages[0].properties, SLICE("TIMER_ROLL_TIMES")), &rolls));
    EXPECT_EQ(max_of(f, "rmq_sys_wheel_timer"), rolls + 1);
    flow_stop(f);
}

TEST(came, what_was_put_into_the_timer_topic_once_more_right_before_an_end_is_not_put_there_again)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int64_t lives_ms = 8000; lives_ms < 10500; lives_ms += 430) end_after_a_roll(&ways[i], lives_ms);
}

TEST(came, one_end_after_the_other_changes_nothing)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct flow *f = begin(&ways[i]);
        for (int k = 0; k < MESSAGES; k++) send_to_level(f, k, 1);
        for (int k = 0; k < MESSAGES; k++) {
            char body[16];
            snprintf(body, sizeof body, "%d", MESSAGES + k);
            send_at(f, "", wall_ms(f) + 1500, body);
        }
        for (int ends = 0; ends < 40; ends++) {
            sim_run_for(f->sim, 40 + 13 * ends % 150);
            ways[i].end(f);
        }
        sim_run_for(f->sim, 5000);
        expect_each_once(f, 2 * MESSAGES);
        flow_stop(f);
    }
}

/* --- who is whose copy --- */

/* A sender that had no answer sends again, in the same millisecond: nobody can tell the two apart. One had come, one had not. */
TEST(came, messages_that_agree_in_everything_are_counted)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct flow *f = begin(&ways[i]);
        flow_send(f, "T", 0, "UNIQ_KEY=U;DELAY=1", "0");
        flow_send(f, "T", 0, "UNIQ_KEY=U;DELAY=1", "0");
        wait_for(f, "T", 2, 3000);
        flow_send(f, "T", 0, "UNIQ_KEY=U;DELAY=1", "0");
        sim_run_for(f->sim, 100);
        ways[i].end(f);
        sim_run_for(f->sim, 4000);
        EXPECT_EQ(max_of(f, "T"), 3);
        flow_stop(f);
    }
}

static void send_back(struct flow *f, const struct message *m)
{
    struct send_back_header h = {.group = SLICE("G"), .offset = m->log_offset, .delay_level = 1};
    EXPECT_EQ(flow_code(f, REQUEST_CONSUMER_SEND_MSG_BACK, &send_back_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
}

/* All tries of a message have its unique key. */
TEST(came, a_try_is_not_taken_for_the_next_one)
{
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct flow *f = begin(&ways[i]);
        flow_send(f, "T", 0, "UNIQ_KEY=U", "0");
        send_back(f, &flow_pull(f, "T", 0, 0, "*").messages[0]);
        wait_for(f, "%RETRY%G", 1, 3000);
        send_back(f, &flow_pull(f, "%RETRY%G", 0, 0, "*").messages[0]);
        ways[i].end(f);
        sim_run_for(f->sim, 4000);
        struct pulled p = flow_pull(f, "%RETRY%G", 0, 0, "*");
        EXPECT_EQ(p.max, 2);
        EXPECT_EQ(p.messages[1].reconsume_times, 2);
        flow_stop(f);
    }
}

TEST(came, a_message_that_was_taken_back_is_not_missed_and_does_not_come)
{
    static const char *const settings[] = {"flushDiskType=SYNC_FLUSH", "recallMessageEnable=true", NULL};
    for (int64_t lives_ms = 2000; lives_ms < 5000; lives_ms += 300) {
        struct flow *f = flow_start(settings);
        char properties[100];
        flow_make_topic(f, "T", 1);
        int64_t due_ms = wall_ms(f) + 3000;
        snprintf(properties, sizeof properties, "UNIQ_KEY=U;TIMER_DELIVER_MS=%lld", (long long)due_ms);
        struct sent s = flow_send(f, "T", 0, properties, "stop");
        send_at(f, "UNIQ_KEY=V;", due_ms, "0");
        struct recall_header h = {.topic = SLICE("T"), .recall_handle = slice_text(s.recall_handle)};
        EXPECT_EQ(flow_code(f, REQUEST_RECALL_MESSAGE, &recall_kind, &h, NULL, NULL), RESPONSE_SUCCESS);
        sim_run_for(f->sim, lives_ms);
        flow_cut_power(f);
        sim_run_for(f->sim, 6000);
        expect_each_once(f, 1);
        flow_stop(f);
    }
}

/* --- how much of the log is read --- */

static int64_t told_place(struct flow *f)
{
    struct buf file = BUF_EMPTY;
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), "/store/config/delayOffset.json", 4096, &file));
    buf_put_u8(&file, 0);
    const char *at = strstr((const char *)file.p, "\"skylarkLogOffset\":");
    int64_t place = at ? atoll(at + strlen("\"skylarkLogOffset\":")) : -1;
    buf_done(&file);
    return place;
}

TEST(came, the_place_in_the_log_follows_what_others_send_while_something_waits_long)
{
    static const char *const settings[] = {"flushDiskType=ASYNC_FLUSH", "mappedFileSizeCommitLog=16777216", NULL};
    struct flow *f = flow_start(settings);
    enum { BODY = 4000000, COUNT = 18 };
    char *body = must_alloc(BODY + 1);
    memset(body, 'x', BODY);
    body[BODY] = 0;
    flow_make_topic(f, "T", 1);
    flow_send(f, "T", 0, "DELAY=18", "0");
    sim_run_for(f->sim, 3000);
    EXPECT(told_place(f) >= 0);
    EXPECT(told_place(f) < BODY);
    for (int i = 0; i < COUNT; i++) EXPECT_EQ(flow_send(f, "T", 0, "", body).code, RESPONSE_SUCCESS);
    sim_run_for(f->sim, 25000);
    EXPECT(told_place(f) >= (int64_t)BODY * COUNT);
    free(body);
    flow_stop(f);
}
